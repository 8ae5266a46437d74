// Products of vectors and grids, triangles and diagonals, repetition, and statistics of rows. Structured
// matrices are comparisons of index grids, so they fuse with what uses them.
#include "tenon/algebra.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <numeric>

#include "frontend/src/autograd/grad.h"
#include "frontend/src/ops/norm.h"
#include "frontend/src/tensor/expr.h"
#include "frontend/src/tensor/promote.h"
#include "frontend/src/tensor/text.h"
#include "tenon/creation.h"
#include "tenon/linalg.h"

namespace tenon {
namespace {

Expr position(const Dims& shape, int64_t dim) { return {iota_node(shape, dim)}; }
Expr plus(const Expr& x, int64_t value) { return x + number(x, Scalar(value)); }

constexpr int64_t kFar = int64_t{1} << 60;  // beyond every diagonal

}  // namespace

// --- products

Tensor kron(const Operand& a, const Operand& b) {
  GradScope scope("UnsafeViewBackward0", a, b);
  scope.saves(kReadsNothing);
  const int64_t rank = std::max(a.dim(), b.dim());
  Dims left, right, shape;  // every dim of a beside that of b
  for (int64_t d = 0; d < rank; ++d) {
    const int64_t da = d - (rank - a.dim()), db = d - (rank - b.dim());
    const int64_t sa = da < 0 ? 1 : a.size(da), sb = db < 0 ? 1 : b.size(db);
    for (int64_t s : {sa, int64_t{1}}) left.push_back(s);
    for (int64_t s : {int64_t{1}, sb}) right.push_back(s);
    int64_t both = 0;
    check(!__builtin_mul_overflow(sa, sb, &both), "numel: integer multiplication overflow");
    shape.push_back(both);
  }
  return reshape(mul(reshape(a, ref(left)), reshape(b, ref(right))), ref(shape));
}

Tensor inner(const Operand& a, const Operand& b) {
  const CallScope call("inner", a, b);
  if (a.dim() == 0 || b.dim() == 0) return mul(a, b);
  check(a.size(-1) == b.size(-1), "inner() the last dimension must match on both input tensors but got shapes ", a.sizes(), " and ",
        b.sizes());
  return tensordot(a, b, -1, -1);
}
Tensor vdot(const Operand& a, const Operand& b) {
  GradScope scope("VdotBackward0", a, b);
  return dot(a, b);
}
Tensor chain_matmul(TensorList matrices) {
  const CallScope call("chain_matmul", matrices);
  static std::atomic_flag warned;
  warn_user_once(warned,
                 "torch.chain_matmul is deprecated and will be removed in a future PyTorch release. Use "
                 "torch.linalg.multi_dot instead, which accepts a list of two or more tensors rather than multiple "
                 "parameters.");
  check(!matrices.empty(), "chain_matmul(): Expected one or more matrices");
  for (const Tensor& x : matrices) check(x.dim() == 2, "Tensor dimension is ", x.dim(), ", expected 2 instead.");
  return matrices.size() == 1 ? matrices[0] : linalg_multi_dot(matrices);
}

Tensor linalg_cross(const Operand& a, const Operand& b, int64_t dim) {
  GradScope scope("LinalgCrossBackward0", a, b);
  check(a.dim() == b.dim(), "linalg.cross: inputs must have the same number of dimensions.");
  dim = wrap_dim(dim, a.dim());
  check(a.dim() > 0 && a.size(dim) == 3 && b.size(dim) == 3, "linalg.cross: inputs dimension ", dim, " must have length 3. Got ",
        a.dim() ? a.size(dim) : 1, " and ", b.dim() ? b.size(dim) : 1);
  scope.rule(reads_operand(0) | reads_operand(1), [dim](GradCall& c) {
    const Tensor x = c.operand(0), y = c.operand(1);
    c.give(0, gradient_for(x, linalg_cross(y, c.grad(), dim)));
    c.give(1, gradient_for(y, linalg_cross(c.grad(), x, dim)));
  });
  std::vector<Tensor> parts;  // of a row of three: each is loaded once, and lanes are dealt
  for (int64_t i = 0; i < 3; ++i) {
    const int64_t j = (i + 1) % 3, k = (i + 2) % 3;
    parts.push_back(sub(mul(select(a, dim, j), select(b, dim, k)), mul(select(a, dim, k), select(b, dim, j))));
  }
  return stack(parts, dim);
}
Tensor cross(const Operand& a, const Operand& b, optional<int64_t> dim) {
  const CallScope call("cross", a, b);
  if (dim) return linalg_cross(a, b, *dim);
  static std::atomic_flag warned;
  warn_user_once(warned,
                 "Using torch.cross without specifying the dim arg is deprecated.\nPlease either pass the dim explicitly "
                 "or simply use torch.linalg.cross.\nThe default value of dim will change to agree with that of "
                 "linalg.cross in a future release.");
  for (int64_t d = 0; d < a.dim(); ++d) {
    if (a.size(d) == 3) return linalg_cross(a, b, d);
  }
  throw Error("no dimension of size 3 in input");
}

Tensor cartesian_prod(TensorList tensors) {
  const CallScope call("cartesian_prod", tensors);
  check(!tensors.empty(), "meshgrid expects a non-empty TensorList");
  for (const Tensor& x : tensors) check(x.dim() == 1, "Expect a 1D vector, but got shape ", x.sizes());
  if (tensors.size() == 1) return tensors[0];
  std::vector<Tensor> columns;
  for (const Tensor& grid : meshgrid(tensors, "ij")) columns.push_back(flatten(grid));
  return stack(columns, 1);
}

// --- diagonals and triangles

Tensor diag_embed(const Operand& x, int64_t offset, int64_t dim1, int64_t dim2) {
  GradScope scope("DiagEmbedBackward0", x);
  const int64_t rank = x.dim() + 1;
  dim1 = wrap_dim(dim1, rank);
  dim2 = wrap_dim(dim2, rank);
  check(dim1 != dim2, "diagonal dimensions cannot be identical ", dim1, ", ", dim2);
  check(x.dim() > 0, "Dimension out of range (expected to be in range of [-1, 0], but got -2)");
  check(std::abs(offset) < kFar, "offset ", offset, " is too large");
  const int64_t n = x.size(-1), size = n + std::abs(offset);
  // The values stand in the rows of dim1, shifted down below the diagonal and repeated over dim2.
  const Tensor rows = constant_pad_nd(x, {std::max<int64_t>(-offset, 0), std::max<int64_t>(offset, 0)});
  Dims shape(span_of({x.sizes().data(), x.sizes().size() - 1}));
  shape.push_back(size);
  shape.push_back(size);
  checked_numel(ref(shape));
  if (ir::element_count(shape) == 0) return movedim(zeros(ref(shape), x.options()), {rank - 2, rank - 1}, {dim1, dim2});
  const Expr on = plus(position(shape, rank - 2), offset) == position(shape, rank - 1);
  const Expr values = broadcast(Expr{node_of(unsqueeze(rows, -1))}, ref(shape));
  return movedim(record(select(on, values, number(values, Scalar(0))).node), {rank - 2, rank - 1}, {dim1, dim2});
}
Tensor diag(const Operand& x, int64_t diagonal) {
  GradScope scope(x.dim() == 2 ? "DiagonalBackward0_copy" : "DiagEmbedBackward0", x);
  scope.saves(kReadsNothing);
  check(x.dim() == 1 || x.dim() == 2, "diag(): Supports 1D or 2D tensors. Got ", x.dim(), "D");
  return x.dim() == 1 ? diag_embed(x, diagonal) : clone(tenon::diagonal(x, diagonal));
}
Tensor diagflat(const Operand& x, int64_t offset) { return diag(reshape(x, {-1}), offset); }
Tensor trace(const Operand& x) {
  const CallScope call("trace", x);
  check(x.dim() == 2, "trace: expected a matrix, but got tensor with dim ", x.dim());
  GradScope scope("TraceBackward0", x);
  return sum(diagonal(x));
}

namespace {

template <typename F>
Tensor triangle(const char* name, const Tensor& x, int64_t diagonal, F keeps) {
  check(x.dim() >= 2, name, ": input tensor must have at least 2 dimensions");
  if (x.numel() == 0) return clone(x);
  const Expr v{node_of(x)};
  const Dims shape = v.node->shape();
  const int64_t far = std::clamp(diagonal, -kFar, kFar);
  const Expr keep = keeps(position(shape, x.dim() - 1), plus(position(shape, x.dim() - 2), far));
  return record(select(keep, v, number(v, Scalar(0))).node);
}

// How many elements of a [rows, columns] matrix have column < row + bound.
int64_t count_below(int64_t rows, int64_t columns, int64_t bound) {
  using Wide = __int128;
  const Wide first = std::clamp<Wide>(-Wide{bound}, 0, rows);                      // row with such a column, but one
  const Wide full = std::clamp<Wide>(Wide{columns} - bound, first, rows);          // first row with all of them
  const Wide growing = (full - first) * (first + full - 1 + 2 * Wide{bound}) / 2;  // row + bound, row by row
  const Wide count = growing + (rows - full) * columns;
  check(count <= std::numeric_limits<int64_t>::max() / 16, "numel: integer multiplication overflow");
  return static_cast<int64_t>(count);
}

// Pairs (row, column) of a [rows, columns] matrix that lie in the triangle, in row-major order.
Tensor triangle_indices(int64_t rows, int64_t columns, int64_t offset, bool lower, const TensorOptions& options) {
  check(rows >= 0, "row must be non-negative, got", rows);
  check(columns >= 0, "col must be non-negative, got", columns);
  check<NotImplementedError>(!options.has_dtype() || options.dtype() == kLong || options.dtype() == kInt, '"', lower ? "tril" : "triu",
                             "_indices\" not implemented for '", options.dtype().toScalarType(), "'");
  const int64_t far = std::clamp(offset, -kFar, kFar);
  const int64_t count = lower ? count_below(rows, columns, far + 1) : count_below(rows, columns, kFar) - count_below(rows, columns, far);
  const auto buffer = allocate_buffer(static_cast<size_t>(count) * 2 * sizeof(int64_t));
  auto* row = static_cast<int64_t*>(buffer->data());
  int64_t* column = row + count;
  for (int64_t i = lower ? std::clamp<int64_t>(-far, 0, rows) : 0; i < rows; ++i) {  // rows that have some
    const int64_t from = lower ? 0 : std::clamp<int64_t>(i + far, 0, columns);
    const int64_t to = lower ? std::clamp<int64_t>(i + far + 1, 0, columns) : columns;
    if (from == to) break;  // none from here on
    for (int64_t j = from; j < to; ++j) {
      *row++ = i;
      *column++ = j;
    }
  }
  return tensor_from_buffer(DType::I64, {2, count}, buffer).to(options.dtype(options.has_dtype() ? options.dtype().toScalarType() : kLong));
}

}  // namespace

Tensor tril(const Operand& x, int64_t diagonal) {
  GradScope scope("TrilBackward0", x);
  return triangle("tril", x, diagonal, [](const Expr& column, const Expr& limit) { return column <= limit; });
}
Tensor triu(const Operand& x, int64_t diagonal) {
  GradScope scope("TriuBackward0", x);
  return triangle("triu", x, diagonal, [](const Expr& column, const Expr& limit) { return column >= limit; });
}
Tensor tril_indices(int64_t row, int64_t col, int64_t offset, const TensorOptions& options) {
  return triangle_indices(row, col, offset, true, options);
}
Tensor triu_indices(int64_t row, int64_t col, int64_t offset, const TensorOptions& options) {
  return triangle_indices(row, col, offset, false, options);
}

Tensor block_diag(TensorList tensors) {
  GradScope scope("BlockDiagBackward0", tensors);
  if (tensors.empty()) return empty({1, 0});
  int64_t columns = 0;
  for (size_t i = 0; i < tensors.size(); ++i) {
    check(tensors[i].dim() <= 2, "torch.block_diag: Input tensors must have 2 or fewer dimensions. Input ", i, " has ", tensors[i].dim(),
          " dimensions");
    columns += atleast_2d(tensors[i]).size(1);
  }
  std::vector<Tensor> rows;
  int64_t before = 0;
  for (const Tensor& x : tensors) {
    const Tensor block = atleast_2d(x);
    rows.push_back(constant_pad_nd(block, {before, columns - before - block.size(1)}));
    before += block.size(1);
  }
  return cat(rows, 0);
}

// --- rearranging and repeating

Tensor rot90(const Operand& x, int64_t k, IntArrayRef dims) {
  GradScope scope("Rot90Backward0", x);
  check(dims.size() == 2, "expected total rotation dims == 2, but got dims = ", dims.size());
  check(x.dim() >= 2, "expected total dims >= 2, but got total dims = ", x.dim());
  wrap_dim(dims[0], x.dim());
  wrap_dim(dims[1], x.dim());
  check(dims[0] != dims[1] && std::abs(dims[0] - dims[1]) != x.dim(), "expected rotation dims to be different, but got dim0 = ", dims[0],
        " and dim1 = ", dims[1]);
  for (int64_t d : dims)
    check(d < x.dim() && d >= -x.dim(), "Rotation dim", d == dims[0] ? 0 : 1, " out of range, dim", d == dims[0] ? 0 : 1, " = ", d);
  switch (((k % 4) + 4) % 4) {
    case 1: return transpose(flip(x, dims[1]), dims[0], dims[1]);
    case 2: return flip(x, dims);
    case 3: return transpose(flip(x, dims[0]), dims[0], dims[1]);
    default: return clone(x);
  }
}

Tensor repeat_interleave(const Operand& x, int64_t repeats, optional<int64_t> dim) {
  GradScope scope("ViewBackward0", x);
  scope.saves(kReadsNothing);
  check(repeats >= 0, "Repeats must be non-negative");
  if (dim && x.dim() == 0) {
    wrap_dim(*dim, 0);
    check<IndexError>(false, "Dimension out of range (expected to be in range of [-1, 0], but got 1)");  // PyTorch's dim of the copies
  }
  const Tensor rows = dim ? Tensor(x) : flatten(x);
  const int64_t axis = wrap_dim(dim.value_or(0), rows.dim());
  Dims apart = dims_of(rows.sizes()), shape = apart;
  apart.insert(at(axis) + 1, repeats);
  check(!__builtin_mul_overflow(shape[at(axis)], repeats, &shape[at(axis)]), "numel: integer multiplication overflow");
  const Tensor result = reshape(expand(unsqueeze(rows, axis + 1), ref(apart)), ref(shape));
  return result.is_alias_of(x) ? clone(result) : result;
}

Tensor repeat_interleave(const Operand& repeats, optional<int64_t> output_size) {
  const CallScope call("repeat_interleave", repeats);
  check(repeats.dim() == 1, "repeat_interleave only accept 1D vector as repeat");
  check(repeats.scalar_type() == kLong || repeats.scalar_type() == kInt, "repeats has to be Long or Int tensor");
  const NoGradGuard no_grad;
  const Tensor dense = repeats.to(kLong).contiguous();
  const HostView view = host_view(dense);
  const auto* counts = reinterpret_cast<const int64_t*>(view.data);
  int64_t total = 0;
  for (int64_t i = 0; i < dense.numel(); ++i) {
    check(counts[i] >= 0, "repeats can not be negative");
    check(!__builtin_add_overflow(total, counts[i], &total), "numel: integer multiplication overflow");
  }
  check(!output_size || *output_size == total, "allocated size does not match required size");
  checked_numel(total);
  auto buffer = allocate_buffer(at(total) * sizeof(int64_t));
  auto* index = static_cast<int64_t*>(buffer->data());
  for (int64_t i = 0; i < dense.numel(); ++i) index = std::fill_n(index, counts[i], i);
  return tensor_from_buffer(DType::I64, total, std::move(buffer)).to(repeats.scalar_type());
}

Tensor repeat_interleave(const Operand& x, const Operand& repeats, optional<int64_t> dim, optional<int64_t> output_size) {
  const CallScope call("repeat_interleave", x, repeats);
  check<IndexError>(!dim || x.dim() > 0, "Dimension specified as ", dim.value_or(0), " but tensor has no dimensions");
  const Tensor source = dim ? Tensor(x) : flatten(x);
  const int64_t axis = wrap_dim(dim.value_or(0), source.dim());
  const int64_t size = source.size(axis);
  check(repeats.dim() == 0 || (repeats.dim() == 1 && (repeats.size(0) == 1 || repeats.size(0) == size)),
        repeats.dim() > 1
            ? "repeats must be 0-dim or 1-dim tensor"
            : text("repeats must have the same size as input along dim, but got repeats.size(0) = ", repeats.dim() ? repeats.size(0) : 1,
                   " and input.size(", axis, ") = ", size));
  const Tensor counts = expand(reshape(repeats, {repeats.numel()}), {size});
  return index_select(source, axis, repeat_interleave(counts, output_size));
}

Tensor sum_to_size(const Operand& x, IntArrayRef size) {
  const CallScope call("sum_to_size", x);
  const int64_t lead = x.dim() - std::ssize(size);
  bool fits = lead >= 0;
  Dims dims;
  for (int64_t d = 0; fits && d < x.dim(); ++d) {
    const int64_t wanted = d < lead ? 1 : size[at(d - lead)];
    fits = wanted == x.size(d) || wanted == 1 || d < lead;
    if (d < lead || (wanted == 1 && x.size(d) != 1)) dims.push_back(d);
  }
  check(fits, "size {", size, "} is not expandable to size {", x.sizes(), "}.");
  if (dims.empty()) return x;
  const Tensor summed = sum(x, ref(dims), true, x.scalar_type());
  return lead > 0 ? reshape(summed, size) : summed;
}

Tensor diff(const Operand& x, int64_t n, int64_t dim, const optional<Tensor>& prepend, const optional<Tensor>& append) {
  const CallScope call("diff", x, prepend, append);
  check(x.dim() > 0, "diff expects input to be at least one-dimensional");
  check(n >= 0, "order must be non-negative but got ", n);
  dim = wrap_dim(dim, x.dim());
  std::vector<Tensor> parts;
  if (given(prepend)) parts.push_back(*prepend);
  parts.push_back(x);
  if (given(append)) parts.push_back(*append);
  Tensor result = parts.size() == 1 ? Tensor(x) : cat(parts, dim);
  if (n == 0) return clone(result);
  for (int64_t i = 0; i < n && result.size(dim) > 0; ++i) {
    const int64_t size = std::max<int64_t>(result.size(dim) - 1, 0), start = result.size(dim) - size;
    const Tensor later = narrow(result, dim, start, size), earlier = narrow(result, dim, 0, size);
    result = x.scalar_type() == kBool ? logical_xor(later, earlier) : sub(later, earlier);
  }
  return result;
}

// --- statistics

Tensor nanmean(const Operand& x, OptionalIntArrayRef dim, bool keepdim, optional<ScalarType> dtype) {
  const CallScope call("nanmean", x);
  check(x.is_floating_point(), "nanmean(): expected input to have floating point or complex dtype but got ", x.scalar_type());
  return div(nansum(x, dim, keepdim, dtype), sum(logical_not(isnan(x)), dim, keepdim));
}

Tensor cov(const Operand& x, int64_t correction, const optional<Tensor>& fweights, const optional<Tensor>& aweights) {
  const CallScope call("cov", x, fweights, aweights);
  check(x.dim() <= 2, "cov(): expected input to have two or fewer dimensions but got an input with ", x.dim(), " dimensions");
  check(x.scalar_type() != kBool, "cov(): bool dtype is not supported for input");
  const Tensor rows = x.dim() < 2 ? reshape(x, {1, x.numel()}) : Tensor(x);
  const int64_t count = rows.size(1);
  if (!given(fweights) && !given(aweights) && count - correction <= 0)
    warn_user(
        "cov(): degrees of freedom is <= 0. Correction should be strictly less than the number of "
        "observations.");
  Tensor weights;
  for (const auto* w : {&fweights, &aweights}) {
    if (!given(*w)) continue;
    const char* name = w == &fweights ? "fweights" : "aweights";
    check((*w)->dim() <= 1, "cov(): expected ", name, " to have one or fewer dimensions but got ", name, " with ", (*w)->dim(),
          " dimensions");
    check((*w)->numel() == count, "cov(): expected ", name, " to have the same numel as there are observations in the input but got ",
          (*w)->numel(), " != ", count);
    const Tensor flat = reshape(**w, {count});
    weights = weights.defined() ? mul(weights, flat) : flat;
  }
  const ScalarType type = float_type(x.scalar_type());
  const Tensor v = rows.to(type);
  const Tensor total = weights.defined() ? sum(weights.to(type)) : scalar_tensor(count, type);
  const Tensor weighted = weights.defined() ? mul(v, weights.to(type)) : v;
  const Tensor centred = sub(v, div(sum(weighted, 1, true), total));
  Tensor factor = sub(total, correction);
  if (given(aweights) && correction != 0) factor = sub(total, div(mul(sum(mul(weights.to(type), aweights->to(type))), correction), total));
  const Tensor scaled = weights.defined() ? mul(centred, weights.to(type)) : centred;
  return squeeze(div(mm(centred, t(scaled)), clamp_min(factor, 0)));
}

Tensor corrcoef(const Operand& x) {
  const CallScope call("corrcoef", x);
  check(x.dim() <= 2, "corrcoef(): expected input to have two or fewer dimensions but got an input with ", x.dim(), " dimensions");
  const Tensor c = cov(x);
  if (c.dim() == 0) return div(c, c);
  const Tensor deviation = sqrt(diag(c));
  return clamp(div(div(c, unsqueeze(deviation, 1)), unsqueeze(deviation, 0)), Scalar(-1), Scalar(1));
}

namespace {
void check_samples(const Tensor& x, const char* argument) {
  check(x.scalar_type() != kBool, "trapezoid: received a bool input for `", argument, "`, but bool is not supported");
  check<IndexError>(x.dim() > 0, "Dimension specified as -1 but tensor has no dimensions");
}
Tensor neighbours(const Tensor& y, int64_t dim) {  // sums of two adjacent elements
  const int64_t n = std::max<int64_t>(y.size(dim) - 1, 0);
  return add(narrow(y, dim, y.size(dim) - n, n), narrow(y, dim, 0, n));
}
}  // namespace
Tensor trapezoid(const Operand& y, const Scalar& dx, int64_t dim) {
  const CallScope call("trapezoid", y, dx);
  check_samples(y, "y");
  dim = wrap_dim(dim, y.dim());
  return mul(sum(neighbours(y, dim), dim), dx.toDouble() / 2);
}
Tensor trapezoid(const Operand& y, const Operand& x, int64_t dim) {
  const CallScope call("trapezoid", y, x);
  check_samples(y, "y");
  check_samples(x, "x");
  dim = wrap_dim(dim, y.dim());
  check(x.dim() != 1 || x.size(0) == y.size(dim), "trapezoid: There must be one `x` value for each sample point");
  Tensor steps = diff(x, 1, x.dim() == 1 ? 0 : dim);
  if (x.dim() == 1 && y.dim() > 1) {
    Dims shape(at(y.dim()), 1);
    shape[at(dim)] = steps.size(0);
    steps = reshape(steps, ref(shape));
  }
  return div(sum(mul(neighbours(y, dim), steps), dim), 2);
}

Tensor linalg_vector_norm(const Operand& x, const Scalar& ord, OptionalIntArrayRef dim, bool keepdim, optional<ScalarType> dtype) {
  const CallScope call("linalg_vector_norm", x, ord);
  const Tensor v = dtype ? x.to(*dtype) : Tensor(x);
  check(v.is_floating_point(), "linalg.vector_norm: Expected a floating point or complex tensor as input. Got ", v.scalar_type());
  return named_norm("LinalgVectorNormBackward0", v, ord, dim.has_value() ? dim.value() : IntArrayRef(), keepdim);
}

}  // namespace tenon
