// Joining columns, sets, integrals and slopes, choices and grids: composed of other operations.
#include "tenon/arrays.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "frontend/src/autograd/grad.h"
#include "frontend/src/tensor/expr.h"
#include "frontend/src/tensor/promote.h"
#include "frontend/src/tensor/text.h"
#include "tenon/algebra.h"
#include "tenon/creation.h"

namespace tenon {

// --- reductions

namespace {
template <typename Reduce>
Tensor over_dims(const Tensor& self, OptionalIntArrayRef dim, bool keepdim, Reduce reduce) {
  if (!dim.has_value()) {
    const std::vector<int64_t> shape(keepdim ? self.sizes().size() : 0, 1);
    return reshape(reduce(flatten(self), 0), shape);
  }
  const ScalarType type = self.scalar_type() == kByte ? kByte : kBool;
  if (dim.value().empty()) return ne(self, 0).to(type);
  const Dims dims = wrap_dims(dim, self.dim());
  Tensor result = self;
  for (int64_t d : dims) result = reduce(result.dim() ? result : result.unsqueeze(0), d);
  return keepdim ? result : squeeze(result, ref(dims));
}
}  // namespace
Tensor any(const Operand& self, OptionalIntArrayRef dim, bool keepdim) {
  return over_dims(self, dim, keepdim, [](const Tensor& x, int64_t d) { return any(x, d, true); });
}
Tensor all(const Operand& self, OptionalIntArrayRef dim, bool keepdim) {
  return over_dims(self, dim, keepdim, [](const Tensor& x, int64_t d) { return all(x, d, true); });
}
Tensor norm(const Operand& self, const optional<Scalar>& p, ScalarType dtype) { return norm(self.to(dtype), p.value_or(2)); }
Tensor norm(const Operand& self, const optional<Scalar>& p, IntArrayRef dim, bool keepdim, ScalarType dtype) {
  return norm(self.to(dtype), p, dim, keepdim);
}

// --- joining

Tensor column_stack(TensorList tensors) {
  check(!tensors.empty(), "column_stack expects a non-empty TensorList");
  std::vector<Tensor> columns;
  for (const Tensor& x : tensors) columns.push_back(x.dim() <= 1 ? reshape(x, {x.numel(), 1}) : x);
  return hstack(columns);
}

Tensor pad_sequence(TensorList sequences, bool batch_first, double padding_value, std::string_view padding_side) {
  check(!sequences.empty(), "received an empty list of sequences");
  check(padding_side == "left" || padding_side == "right", "Expected padding_side to be one of left or right, but got ", padding_side, ".");
  int64_t longest = 0;
  for (const Tensor& x : sequences) longest = std::max(longest, x.size(0));
  std::vector<Tensor> padded;
  for (const Tensor& x : sequences) {
    std::vector<int64_t> pad(at(2 * x.dim()), 0);  // the first dim's pair is the last
    pad[pad.size() - (padding_side == "left" ? 2 : 1)] = longest - x.size(0);
    padded.push_back(constant_pad_nd(x, pad, padding_value));
  }
  return stack(padded, batch_first ? 0 : 1);
}

// --- sets and counts

namespace {

// Few candidates are compared with each element; the nearest is looked up if they are many.
Tensor is_in(const Tensor& elements, const Tensor& candidates, bool invert) {
  constexpr int64_t kFew = 16;
  const ScalarType type = promoteTypes(elements.scalar_type(), candidates.scalar_type());
  const Tensor x = elements.to(type), set = flatten(candidates.to(type));
  Tensor found;
  if (set.numel() == 0) {
    found = zeros_like(x, kBool);
  } else if (set.numel() <= kFew) {
    found = any(eq(unsqueeze(x, -1), set), -1);
  } else {
    const Tensor sorted = std::get<0>(sort(set));
    const Tensor place = clamp_max(searchsorted(sorted, reshape(x, {-1})), set.numel() - 1);
    found = reshape(eq(take(sorted, place), reshape(x, {-1})), x.sizes());
  }
  return invert ? logical_not(found) : found;
}

}  // namespace

Tensor isin(const Operand& elements, const Operand& test_elements, bool, bool invert) {
  check_same_device(elements, test_elements);
  return is_in(elements, test_elements, invert);
}
Tensor isin(const Operand& elements, const Scalar& test_element, bool, bool invert) {
  return invert ? ne(elements, test_element) : eq(elements, test_element);
}
Tensor isin(const Scalar& element, const Operand& test_elements, bool, bool invert) {
  return is_in(number_operand(element, test_elements), test_elements, invert);
}

Tensor nonzero_static(const Operand& self, int64_t size, int64_t fill_value) {
  check(size >= 0, "nonzero_static: 'size' must be an non-negative integer");
  const Tensor places = nonzero(self);
  const int64_t count = std::min(places.size(0), size);
  return constant_pad_nd(narrow(places, 0, 0, count), {0, 0, 0, size - count}, fill_value);
}

// --- integrals and slopes

Tensor trapz(const Operand& y, double dx, int64_t dim) { return trapezoid(y, Scalar(dx), dim); }

namespace {
Tensor drop_first(const Tensor& x, int64_t dim) { return slice(x, dim, 1); }
Tensor drop_last(const Tensor& x, int64_t dim) { return slice(x, dim, 0, -1); }
void refuse_bool(const Tensor& x, const char* who, const char* argument) {
  check(x.scalar_type() != kBool, who, ": received a bool input for `", argument, "`, but bool is not supported");
}
// A vector along `dim` of a tensor of that rank.
Tensor along(const Tensor& vector, int64_t dim, int64_t rank) {
  Dims shape(at(rank), 1);
  shape[at(dim)] = vector.size(0);
  return reshape(vector, ref(shape));
}
}  // namespace

Tensor cumulative_trapezoid(const Operand& y, const Scalar& dx, int64_t dim) {
  refuse_bool(y, "cumulative_trapezoid", "y");
  check(!dx.isBoolean(), "cumulative_trapezoid: Currently, we only support dx as a real number.");
  dim = wrap_dim(dim, y.dim());
  return cumsum(mul(add(drop_last(y, dim), drop_first(y, dim)), dx.toDouble() / 2), dim);
}
Tensor cumulative_trapezoid(const Operand& y, const Operand& x, int64_t dim) {
  refuse_bool(y, "cumulative_trapezoid", "y");
  refuse_bool(x, "cumulative_trapezoid", "x");
  dim = wrap_dim(dim, y.dim());
  Tensor steps;
  if (x.dim() == 1) {
    check(x.size(0) == y.size(dim), "cumulative_trapezoid: There must be one `x` value for each sample point");
    steps = along(diff(x), dim, y.dim());
  } else {
    check(x.dim() == 0 || x.size(x.dim() < y.dim() ? dim - (y.dim() - x.dim()) : dim) == y.size(dim),
          "cumulative_trapezoid: There must be one `x` value for each sample point");
    steps = diff(x, 1, dim - y.dim());
  }
  return div(cumsum(mul(steps, add(drop_last(y, dim), drop_first(y, dim))), dim), 2.0);
}

namespace {

// Slopes at points a spacing apart.
Tensor slope(const Tensor& x, double spacing, int64_t dim, int64_t edge_order) {
  const int64_t n = x.size(dim);
  const auto point = [&](int64_t i) { return narrow(x, dim, i < 0 ? n + i : i, 1); };
  const auto border = [&](int64_t i, int64_t step) {  // from the border inwards; step is its sign
    const Tensor rise = edge_order == 1 ? sub(point(i + step), point(i))
                                        : add(add(mul(point(i), -1.5), mul(point(i + step), 2)), mul(point(i + 2 * step), -0.5));
    return div(rise, static_cast<double>(step) * spacing);
  };
  const Tensor centre = div(sub(slice(x, dim, 2), slice(x, dim, 0, n - 2)), 2 * spacing);
  return cat({border(0, 1), centre, border(-1, -1)}, dim);
}

// Slopes at coordinates: of the parabola through three neighbours.
Tensor slope(const Tensor& x, const Tensor& coordinates, int64_t dim, int64_t edge_order) {
  const int64_t n = x.size(dim);
  check(coordinates.dim() == 1,
        "torch.gradient expected each element of spacing to have one dimension, but got an "
        "element with ",
        coordinates.dim(), " dimensions!");
  check(coordinates.size(0) == n, "torch.gradient: dim ", dim, " has ", n, " elements, but ", coordinates.size(0),
        " coordinates are given");
  const Tensor steps = along(diff(coordinates), dim, x.dim());
  const auto point = [&](int64_t i) { return narrow(x, dim, i < 0 ? n + i : i, 1); };
  const auto step = [&](int64_t i) { return narrow(steps, dim, i < 0 ? n - 1 + i : i, 1); };
  const Tensor before = drop_last(steps, dim), after = drop_first(steps, dim), both = before + after;
  const Tensor centre = slice(x, dim, 0, n - 2) * (-after / (before * both)) +
                        slice(x, dim, 1, n - 1) * ((after - before) / (before * after)) + slice(x, dim, 2) * (before / (after * both));
  if (edge_order == 1) {
    return cat({(point(1) - point(0)) / step(0), centre, (point(-1) - point(-2)) / step(-1)}, dim);
  }
  const auto border = [&](const Tensor& outer, const Tensor& inner, int64_t i, int64_t by) {
    const Tensor sum = outer + inner;
    const Tensor rise =
        point(i + by) * (sum / (outer * inner)) - point(i) * ((sum + outer) / (outer * sum)) - point(i + 2 * by) * (outer / (inner * sum));
    return by > 0 ? rise : -rise;
  };
  return cat({border(step(0), step(1), 0, 1), centre, border(step(-1), step(-2), -1, -1)}, dim);
}

// The slopes along each of the dims; spacing(i) is the i-th dim's.
template <typename Spacing>
std::vector<Tensor> slopes(const Tensor& x, const Dims& dims, int64_t edge_order, Spacing spacing) {
  check(edge_order == 1 || edge_order == 2, "torch.gradient only supports edge_order=1 and edge_order=2.");
  for (int64_t d : dims) check(x.size(d) >= edge_order + 1, "torch.gradient expected each dimension size to be at least edge_order+1");
  std::vector<Tensor> result;
  for (size_t i = 0; i < dims.size(); ++i) result.push_back(slope(x, spacing(i), dims[i], edge_order));
  return result;
}
Dims gradient_dims(const Tensor& x, IntArrayRef dims) {
  Dims result;
  for (int64_t d : dims) {
    const int64_t dim = wrap_dim(d, x.dim());
    check(std::find(result.begin(), result.end(), dim) == result.end(), "dim ", dim, " appears multiple times in the list of dims");
    result.push_back(dim);
  }
  return result;
}
Dims gradient_dims(const Tensor& x, optional<int64_t> dim) {
  return dim ? gradient_dims(x, IntArrayRef(*dim)) : wrap_dims(nullopt, x.dim());
}
void check_spacings(size_t spacings, size_t dims, bool dims_given) {
  if (spacings == dims) return;
  check(dims_given,
        "torch.gradient expected spacing to be unspecified, a scalar, or a list of length equal to "
        "'self.dim() = ",
        dims, "', since dim argument was not given, but got a list of length ", spacings);
  throw Error(
      text("torch.gradient expected spacing to be unspecified, a scalar or it's spacing and dim arguments to have "
           "the same length, but got a spacing argument of length ",
           spacings, " and a dim argument of length ", dims, "."));
}

}  // namespace

std::vector<Tensor> gradient(const Operand& x, const optional<Scalar>& spacing, optional<int64_t> dim, int64_t edge_order) {
  const double by = spacing ? spacing->toDouble() : 1.0;
  return slopes(x, gradient_dims(x, dim), edge_order, [&](size_t) { return by; });
}
std::vector<Tensor> gradient(const Operand& x, const Scalar& spacing, IntArrayRef dim, int64_t edge_order) {
  return slopes(x, gradient_dims(x, dim), edge_order, [&](size_t) { return spacing.toDouble(); });
}
std::vector<Tensor> gradient(const Operand& x, IntArrayRef dim, int64_t edge_order) { return gradient(x, Scalar(1), dim, edge_order); }
std::vector<Tensor> gradient(const Operand& x, ArrayRef<Scalar> spacing, optional<int64_t> dim, int64_t edge_order) {
  const Dims dims = gradient_dims(x, dim);
  check_spacings(spacing.size(), dims.size(), dim.has_value());
  return slopes(x, dims, edge_order, [&](size_t i) { return spacing[i].toDouble(); });
}
std::vector<Tensor> gradient(const Operand& x, ArrayRef<Scalar> spacing, IntArrayRef dim, int64_t edge_order) {
  check_spacings(spacing.size(), dim.size(), true);
  return slopes(x, gradient_dims(x, dim), edge_order, [&](size_t i) { return spacing[i].toDouble(); });
}
std::vector<Tensor> gradient(const Operand& x, TensorList spacing, optional<int64_t> dim, int64_t edge_order) {
  const Dims dims = gradient_dims(x, dim);
  check_spacings(spacing.size(), dims.size(), dim.has_value());
  return slopes(x, dims, edge_order, [&](size_t i) { return spacing[i]; });
}
std::vector<Tensor> gradient(const Operand& x, TensorList spacing, IntArrayRef dim, int64_t edge_order) {
  check_spacings(spacing.size(), dim.size(), true);
  return slopes(x, gradient_dims(x, dim), edge_order, [&](size_t i) { return spacing[i]; });
}

// --- choices and grids

namespace {

// How many ways there are to choose r of n; an Error where they would not fit in memory.
int64_t choices(int64_t n, int64_t r) {
  if (r > n) return 0;
  int64_t count = 1;
  for (int64_t i = 1; i <= r; ++i) {
    int64_t product = 0;
    check(!__builtin_mul_overflow(count, n - r + i, &product), "numel: integer multiplication overflow");
    count = product / i;
  }
  return count;
}

}  // namespace

Tensor combinations(const Operand& x, int64_t r, bool with_replacement) {
  GradScope scope("IndexBackward0", x);
  check(x.dim() == 1, "Expect a 1D vector, but got shape ", x.sizes());
  check(r >= 0, "Expect a non-negative number, but got ", r);
  const int64_t n = x.numel();
  if (r == 0) return empty({0}, x.options());
  const int64_t count = with_replacement ? (n == 0 ? 0 : choices(n + r - 1, r)) : choices(n, r);
  checked_numel({count, r});
  const auto buffer = allocate_buffer(at(count) * at(r) * sizeof(int64_t));
  auto* out = static_cast<int64_t*>(buffer->data());
  std::vector<int64_t> chosen(at(r));
  for (int64_t i = 0; i < r; ++i) chosen[at(i)] = with_replacement ? 0 : i;
  for (int64_t row = 0; row < count; ++row) {
    out = std::copy(chosen.begin(), chosen.end(), out);
    int64_t i = r - 1;  // the last that can still move on
    while (i >= 0 && chosen[at(i)] == (with_replacement ? n - 1 : n - r + i)) --i;
    if (i < 0) break;
    ++chosen[at(i)];
    for (int64_t j = i + 1; j < r; ++j) chosen[at(j)] = chosen[at(j - 1)] + (with_replacement ? 0 : 1);
  }
  return take(x, tensor_from_buffer(DType::I64, {count, r}, buffer));
}

std::vector<Tensor> unravel_index(const Operand& indices, IntArrayRef shape) {
  check(isIntegralType(indices.scalar_type(), false), "expected 'indices' to be integer dtype, but got ", repr(indices.scalar_type()));
  std::vector<Tensor> coordinates(shape.size());
  Tensor rest = indices.to(kLong);
  for (size_t d = shape.size(); d-- > 0;) {
    check(shape[d] >= 0, "unravel_index(): 'shape' cannot have negative values, but got ", shape);
    coordinates[d] = remainder(rest, shape[d]);
    rest = floor_divide(rest, shape[d]);
  }
  return coordinates;
}

Tensor vander(const Operand& x, optional<int64_t> N, bool increasing) {
  const CallScope call("vander", x);
  check(x.dim() == 1, "x must be a one-dimensional tensor.");
  const int64_t columns = N.value_or(x.size(0));
  check(columns >= 0, "N must be non-negative.");
  const ScalarType type = promoteTypes(x.scalar_type(), kLong);
  if (columns == 0) return zeros({x.size(0), 0}, x.options().dtype(type));
  const Tensor first = ones({x.size(0), 1}, x.options().dtype(type));
  const Tensor factors = cat({first, expand(unsqueeze(x.to(type), 1), {x.size(0), columns - 1})}, 1);
  const Tensor powers = cumprod(factors, 1);
  return increasing ? powers : flip(powers, 1);
}

Tensor range(const Scalar& start, const Scalar& end, const TensorOptions& options) { return range(start, end, 1, options); }
Tensor range(const Scalar& start, const Scalar& end, const Scalar& step, const TensorOptions& options) {
  const double first = start.toDouble(), last = end.toDouble(), by = step.toDouble();
  check(by != 0, "step must be nonzero");
  check(std::isfinite(first) && std::isfinite(last), "unsupported range: ", first, " -> ", last);
  check((by > 0 && last >= first) || (by < 0 && last <= first), "upper bound and lower bound inconsistent with step sign");
  const double count = std::floor((last - first) / by) + 1;
  check(count < 0x1p58, "invalid size, possible overflow?");
  const Tensor i = arange(static_cast<int64_t>(count), kLong);
  const ScalarType type = options.dtype();
  const Tensor values =
      isFloatingType(type) ? add(mul(i.to(kDouble), by), first).to(type) : add(mul(i, step.toLong()), start.toLong()).to(type);
  return options.requires_grad() ? values.requires_grad_() : values;
}

// --- places

bool is_same_size(const Operand& self, const Operand& other) { return self.sizes() == other.sizes(); }

Tensor as_strided_scatter(const Operand& self, const Operand& src, IntArrayRef size, IntArrayRef stride, optional<int64_t> storage_offset) {
  GradScope scope("AsStridedScatterBackward0", self, src);
  scope.saves(kReadsNothing);
  const Tensor result = self.clone();
  const Tensor part = as_strided(result, size, stride, storage_offset);
  check(part.sizes() == src.sizes(), "expected src to have a size equal to the slice of self. src size = ", src.sizes(),
        ", slice size = ", part.sizes());
  part.copy_(src);
  return result;
}

Tensor index_reduce(const Operand& self, int64_t dim, const Operand& index, const Operand& source, std::string_view reduce,
                    bool include_self) {
  GradScope scope("IndexReduceBackward0", self, source);
  scope.saves(reads_operand(0) | reads_operand(1) | kReadsOutput, index);
  check(reduce == "prod" || reduce == "mean" || reduce == "amax" || reduce == "amin",
        "index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got ", reduce, ".");
  check<IndexError>(index.dim() <= 1, "index_reduce_(): Index is supposed to be a vector, but got dim: ", index.dim(),
                    " with type: ", toString(index.scalar_type()), " and size: ", index.sizes());
  check(self.scalar_type() == source.scalar_type(), "index_reduce_(): self (", self.scalar_type(), ") and source (", source.scalar_type(),
        ") must have the same scalar type");
  dim = wrap_dim(dim, self.dim());
  const Tensor places = expand(along(reshape(index, {-1}), source.dim() ? dim : 0, std::max<int64_t>(source.dim(), 1)),
                               source.dim() ? source.sizes() : IntArrayRef(index.numel()));
  return scatter_reduce(self, dim, places.to(kLong), source.dim() ? Tensor(source) : reshape(source, {1}), reduce, include_self);
}

Tensor empty_strided(IntArrayRef size, IntArrayRef stride, const TensorOptions& options) {
  check(size.size() == stride.size(), "dimensionality of sizes (", size.size(), ") must match dimensionality of strides (", stride.size(),
        ")");
  int64_t last = 0;
  for (size_t d = 0; d < size.size(); ++d) {
    int64_t reach = 0;
    check(stride[d] >= 0 && !__builtin_mul_overflow(std::max<int64_t>(size[d] - 1, 0), stride[d], &reach) &&
              !__builtin_add_overflow(last, reach, &last),
          "Storage size calculation overflowed with sizes=", size, " and strides=", stride);
  }
  const int64_t elements = checked_numel(size) == 0 ? 0 : last + 1;
  return as_strided(zeros(elements, options), size, stride, 0);
}
Tensor empty_permuted(IntArrayRef size, IntArrayRef physical_layout, const TensorOptions& options) {
  check(size.size() == physical_layout.size(),
        "Number of dimensions in size does not match the length of the physical_layout; i.e. len(size) = ", size.size(),
        " is not equal to len(physical_layout) = ", physical_layout.size());
  Dims outer(size.size(), 0), inverse(size.size(), 0);
  std::vector<bool> seen(size.size());
  for (size_t d = 0; d < size.size(); ++d) {
    const int64_t dim = physical_layout[d];
    check(dim >= 0 && at(dim) < size.size(), "Dimension out of range (expected to be between 0 and ", size.size() - 1, ", but got ", dim,
          " at index ", d, ").  NB: negative dims not currently supported; file an issue if you want it.");
    check(!seen[at(dim)], "Duplicate dim not allowed");
    seen[at(dim)] = true;
    outer[d] = size[at(dim)];
    inverse[at(dim)] = static_cast<int64_t>(d);
  }
  return permute(zeros(ref(outer), options), ref(inverse));
}
Tensor movedim(const Operand& x, int64_t source, int64_t destination) { return movedim(x, IntArrayRef(source), IntArrayRef(destination)); }

Tensor narrow(const Operand& x, int64_t dim, const Operand& start, int64_t length) {
  check(start.dim() == 0 && isIntegralType(start.scalar_type(), false), "start must be an 0-dim integral Tensor.");
  return narrow(x, dim, start.item<int64_t>(), length);
}
Tensor clone(const Operand& x, MemoryFormat format) {
  if (format == MemoryFormat::Preserve) return clone(x);
  const Tensor result = x.contiguous(format);
  return result.is_alias_of(x) ? clone(result) : result;
}

Tensor flatten_dense_tensors(TensorList tensors) {
  check(!tensors.empty(), "expected a non-empty list of Tensors");
  std::vector<Tensor> flat;
  for (const Tensor& x : tensors) flat.push_back(reshape(x, {-1}));
  return cat(flat);
}
std::vector<Tensor> unflatten_dense_tensors(const Operand& flat, TensorList tensors) {
  std::vector<Tensor> parts;
  int64_t offset = 0;
  for (const Tensor& x : tensors) {
    parts.push_back(view(narrow(flat, 0, offset, x.numel()), x.sizes()));
    offset += x.numel();
  }
  return parts;
}

}  // namespace tenon
