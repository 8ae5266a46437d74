// Operations that make views: they compute sizes, strides and an offset; no node is made until the view is
// read.
#include <algorithm>
#include <numeric>

#include "geometry.h"
#include "grad.h"
#include "text.h"

namespace tenon {
namespace {

// The shape with its -1 filled in, checked against the number of elements.
Dims infer_shape(IntArrayRef shape, int64_t numel) {
  Dims result = dims_of(shape);
  int64_t known = 1, unknown = -1;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == -1) {
      check(unknown < 0, "only one dimension can be inferred");
      unknown = static_cast<int64_t>(d);
    } else {
      check(shape[d] >= 0, "invalid shape dimension ", shape[d]);
      check(!__builtin_mul_overflow(known, shape[d], &known), "numel: integer multiplication overflow");
    }
  }
  if (unknown >= 0 && known > 0 && numel % known == 0) {
    result[at(unknown)] = numel / known;
    return result;
  }
  check(unknown < 0 || known != 0 || numel != 0, "cannot reshape tensor of 0 elements into shape ", shape,
        " because the unspecified dimension size -1 can be any value and is ambiguous");
  check(unknown < 0 && known == numel, "shape '", shape, "' is invalid for input of size ", numel);
  return result;
}

// Strides that show the same memory in another shape, if there are any. Old dims are grouped into runs with
// stride[i] == stride[i+1] * size[i+1]; each new dim must lie inside one run.
optional<Dims> view_strides(const Dims& sizes, const Dims& strides, const Dims& shape) {
  if (ir::element_count(sizes) == 0) {
    return sizes == shape ? strides : ir::contiguous_strides(shape);
  }
  Dims result(shape.size(), 1);
  int64_t next = static_cast<int64_t>(shape.size()) - 1;
  int64_t run_stride = strides.empty() ? 1 : strides.back();
  int64_t run = 1, placed = 1;
  for (int64_t d = static_cast<int64_t>(sizes.size()) - 1; d >= 0; --d) {
    run *= sizes[at(d)];
    const bool ends = d == 0 || (sizes[at(d - 1)] != 1 && strides[at(d - 1)] != run * run_stride);
    if (!ends) continue;
    while (next >= 0 && (placed < run || shape[at(next)] == 1)) {
      result[at(next)] = placed * run_stride;
      placed *= shape[at(next--)];
    }
    if (placed != run) return nullopt;
    if (d > 0) {
      run_stride = strides[at(d - 1)];
      run = placed = 1;
    }
  }
  if (sizes.empty()) return ir::contiguous_strides(shape);  // all sizes are 1
  return next < 0 ? optional<Dims>(result) : nullopt;
}

std::vector<int64_t> chunk_sizes(int64_t total, int64_t each) {
  std::vector<int64_t> sizes;
  for (int64_t left = total; left > 0 || sizes.empty(); left -= each) sizes.push_back(std::min(left, each));
  return sizes;
}

}  // namespace

void take_slice(Geometry& g, int64_t dim, optional<int64_t> start, optional<int64_t> stop, int64_t step) {
  check<ValueError>(step > 0, step == 0 ? "slice step cannot be zero" : "step must be greater than zero");
  const int64_t size = g.sizes[at(dim)];
  const int64_t lo = std::clamp<int64_t>(wrap_index(start.value_or(0), size), 0, size);
  const int64_t hi = std::clamp<int64_t>(wrap_index(stop.value_or(size), size), lo, size);
  const int64_t length = hi - lo;
  g.narrow(dim, lo, length / step + (length % step != 0), step);
}

// --- reshaping
// --------------------------------------------------------------------------------------------------------

Tensor reshape(const Tensor& x, IntArrayRef shape) {
  const TensorImpl& t = impl(x);
  const Dims wanted = infer_shape(shape, t.numel());
  const auto strides = view_strides(t.sizes(), t.strides(), wanted);
  GradScope scope(strides ? "ReshapeAliasBackward0" : "UnsafeViewBackward0", x);
  return strides ? make_view(x, ref(wanted), ref(*strides), t.offset())
                 : record(ir::reshape(node_of(x), wanted));
}

Tensor view(const Tensor& x, IntArrayRef shape) {
  GradScope scope("ViewBackward0", x);
  const TensorImpl& t = impl(x);
  const Dims wanted = infer_shape(shape, t.numel());
  const auto strides = view_strides(t.sizes(), t.strides(), wanted);
  check(strides.has_value(),
        "view size is not compatible with input tensor's size and stride (at least one dimension spans "
        "across two "
        "contiguous subspaces). Use .reshape(...) instead.");
  return make_view(x, ref(wanted), ref(*strides), t.offset());
}

Tensor flatten(const Tensor& x, int64_t start_dim, int64_t end_dim) {
  const int64_t rank = x.dim();
  start_dim = wrap_dim(start_dim, rank);
  end_dim = wrap_dim(end_dim, rank);
  check(start_dim <= end_dim, "flatten() has invalid args: start_dim cannot come after end_dim");
  if (rank == 0) return reshape(x, {1});
  if (start_dim == end_dim) return x;
  Dims shape;
  for (int64_t d = 0; d < rank; ++d) {
    if (d <= start_dim || d > end_dim)
      shape.push_back(x.size(d));
    else
      shape.back() *= x.size(d);
  }
  return reshape(x, ref(shape));
}

Tensor unflatten(const Tensor& x, int64_t dim, IntArrayRef sizes) {
  dim = wrap_dim(dim, x.dim());
  check(!sizes.empty(), "unflatten: sizes must be non-empty");
  int64_t product = 1, inferred = -1;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == -1)
      inferred = static_cast<int64_t>(i);
    else
      product *= sizes[i];
  }
  const int64_t size = x.dim() ? x.size(dim) : 1;
  check(inferred < 0 ? product == size : product != 0 && size % product == 0, "unflatten: Provided sizes ",
        sizes, " don't multiply up to the size of dim ", dim, " (", size, ") in the input tensor");
  Dims shape;
  for (int64_t d = 0; d < x.dim(); ++d) {
    if (d != dim)
      shape.push_back(x.size(d));
    else
      for (int64_t s : sizes) shape.push_back(s == -1 ? size / product : s);
  }
  return view(x, ref(shape));
}

Tensor ravel(const Tensor& x) {
  GradScope scope("ViewBackward0", x);
  return reshape(x, {-1});
}

// --- reordering
// -------------------------------------------------------------------------------------------------------

Tensor permute(const Tensor& x, IntArrayRef dims) {
  GradScope scope("PermuteBackward0", x);
  const Geometry from(x);
  check(static_cast<int64_t>(dims.size()) == from.rank(),
        "permute(sparse_coo): number of dimensions in the tensor input does not match the length of the "
        "desired ordering "
        "of dimensions i.e. input.dim() = ",
        from.rank(), " is not equal to len(dims) = ", dims.size());
  Geometry to = from;
  std::vector<bool> seen(dims.size());
  for (size_t i = 0; i < dims.size(); ++i) {
    const size_t d = at(wrap_dim(dims[i], from.rank()));
    check(!seen[d], "permute(): duplicate dims are not allowed.");
    seen[d] = true;
    to.sizes[i] = from.sizes[d];
    to.strides[i] = from.strides[d];
  }
  return to.view_of(x);
}

Tensor transpose(const Tensor& x, int64_t dim0, int64_t dim1) {
  GradScope scope("TransposeBackward0", x);
  Geometry g(x);
  dim0 = wrap_dim(dim0, g.rank());
  dim1 = wrap_dim(dim1, g.rank());
  if (g.rank() == 0) return g.view_of(x);
  std::swap(g.sizes[at(dim0)], g.sizes[at(dim1)]);
  std::swap(g.strides[at(dim0)], g.strides[at(dim1)]);
  return g.view_of(x);
}
Tensor swapaxes(const Tensor& x, int64_t axis0, int64_t axis1) { return transpose(x, axis0, axis1); }

Tensor t(const Tensor& x) {
  GradScope scope("TBackward0", x);
  check(x.dim() <= 2, "t() expects a tensor with <= 2 dimensions, but self is ", x.dim(), "D");
  return transpose(x, 0, x.dim() < 2 ? 0 : 1);
}

Tensor Tensor::mT() const {
  check(dim() >= 2, "tensor.mT is only supported on matrices or batches of matrices. Got ", dim(),
        "-D tensor.");
  return transpose(-2, -1);
}

Tensor Tensor::numpy_T() const {
  std::vector<int64_t> dims(at(dim()));
  std::iota(dims.rbegin(), dims.rend(), int64_t{0});
  return permute(dims);
}

Tensor movedim(const Tensor& x, IntArrayRef source, IntArrayRef destination) {
  check(source.size() == destination.size(), "movedim: Invalid source or destination dims: source (", source,
        " dims) should contain the same number of dims as destination (", destination, " dims)");
  const int64_t rank = x.dim();
  std::vector<int64_t> order(at(rank), -1);
  std::vector<bool> moved(at(rank));
  for (size_t i = 0; i < source.size(); ++i) {
    const int64_t from = wrap_dim(source[i], rank), to = wrap_dim(destination[i], rank);
    check(rank == 0 || !moved[at(from)], "movedim: repeated dim in `source` (", source, ")");
    check(rank == 0 || order[at(to)] < 0, "movedim: repeated dim in `destination` (", destination, ")");
    if (rank == 0) return x;
    moved[at(from)] = true;
    order[at(to)] = from;
  }
  int64_t next = 0;
  for (int64_t& d : order) {
    if (d >= 0) continue;
    while (moved[at(next)]) ++next;
    d = next++;
  }
  return permute(x, order);
}

// --- size-1 dims and repetition
// ---------------------------------------------------------------------------------------

Tensor expand(const Tensor& x, IntArrayRef size) {
  GradScope scope("ExpandBackward0", x);
  Geometry g(x);
  const int64_t added = static_cast<int64_t>(size.size()) - g.rank();
  if (added < 0) {
    throw Error(text("expand(torch.", x.scalar_type(), "Tensor{", x.sizes(), "}, size=", size,
                     "): the number of sizes provided (", size.size(),
                     ") must be greater or equal to the number of dimensions in the tensor (", g.rank(),
                     ")"));
  }
  const Dims old = g.sizes;
  for (int64_t i = 0; i < added; ++i) g.insert(0, 1, 0);
  for (int64_t d = g.rank() - 1; d >= 0; --d) {
    const int64_t wanted = size[at(d)], existing = g.sizes[at(d)];
    if (wanted == -1) {
      check(d >= added,
            "The expanded size of the tensor (-1) isn't allowed in a leading, non-existing dimension ", d);
      continue;
    }
    if (wanted == existing && d >= added) continue;
    check(existing == 1 && wanted >= 0, "The expanded size of the tensor (", wanted,
          ") must match the existing size (", existing, ") at non-singleton dimension ", d,
          ".  Target sizes: ", size, ".  Tensor sizes: ", ref(old));
    g.sizes[at(d)] = wanted;
    g.strides[at(d)] = 0;
  }
  checked_numel(ref(g.sizes));
  return g.view_of(x);
}
Tensor broadcast_to(const Tensor& x, IntArrayRef size) { return expand(x, size); }

Tensor squeeze(const Tensor& x) {
  GradScope scope("SqueezeBackward0", x);
  Geometry g(x);
  for (int64_t d = g.rank() - 1; d >= 0; --d) {
    if (g.sizes[at(d)] == 1) g.erase(d);
  }
  return g.view_of(x);
}
Tensor squeeze(const Tensor& x, int64_t dim) {
  GradScope scope("SqueezeBackward1", x);
  Geometry g(x);
  dim = wrap_dim(dim, g.rank());
  if (g.rank() > 0 && g.sizes[at(dim)] == 1) g.erase(dim);
  return g.view_of(x);
}
Tensor squeeze(const Tensor& x, IntArrayRef dims) {
  GradScope scope("SqueezeBackward2", x);
  Geometry g(x);
  const Dims wrapped = wrap_dims(dims, g.rank());
  if (dims.empty()) return g.view_of(x);
  for (size_t i = wrapped.size(); i-- > 0;) {
    if (g.sizes[at(wrapped[i])] == 1) g.erase(wrapped[i]);
  }
  return g.view_of(x);
}
Tensor unsqueeze(const Tensor& x, int64_t dim) {
  GradScope scope("UnsqueezeBackward0", x);
  Geometry g(x);
  dim = wrap_dim(dim, g.rank() + 1);
  g.insert(dim, 1, dim < g.rank() ? g.sizes[at(dim)] * g.strides[at(dim)] : 1);
  return g.view_of(x);
}

// --- parts
// ------------------------------------------------------------------------------------------------------------

Tensor select(const Tensor& x, int64_t dim, int64_t index) {
  GradScope scope("SelectBackward0", x);
  Geometry g(x);
  check<IndexError>(
      g.rank() > 0,
      "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to "
      "convert a 0-dim tensor to a number");
  dim = wrap_dim(dim, g.rank());
  const int64_t size = g.sizes[at(dim)];
  check<IndexError>(index >= -size && index < size, "select(): index ", index,
                    " out of range for tensor of size ", x.sizes(), " at dimension ", dim);
  g.offset += wrap_index(index, size) * g.strides[at(dim)];
  g.erase(dim);
  return g.view_of(x);
}

Tensor slice(const Tensor& x, int64_t dim, optional<int64_t> start, optional<int64_t> end, int64_t step) {
  GradScope scope("SliceBackward0", x);
  Geometry g(x);
  check(g.rank() > 0, "slice() cannot be applied to a 0-dim tensor.");
  take_slice(g, wrap_dim(dim, g.rank()), start, end, step);
  return g.view_of(x);
}

Tensor narrow(const Tensor& x, int64_t dim, int64_t start, int64_t length) {
  GradScope scope("SliceBackward0", x);
  Geometry g(x);
  check(g.rank() > 0, "narrow() cannot be applied to a 0-dim tensor.");
  check(length >= 0, "narrow(): length must be non-negative.");
  dim = wrap_dim(dim, g.rank());
  const int64_t size = g.sizes[at(dim)];
  check<IndexError>(start >= -size && start <= size, "start out of range (expected to be in range of [",
                    -size, ", ", size, "], but got ", start, ")");
  start = wrap_index(start, size);
  check(start <= size - length, "start (", start, ") + length (", length, ") exceeds dimension size (", size,
        ").");
  g.narrow(dim, start, length, 1);
  return g.view_of(x);
}

// --- several parts
// ----------------------------------------------------------------------------------------------------

std::vector<Tensor> split_with_sizes(const Tensor& x, IntArrayRef split_sizes, int64_t dim) {
  GradScope scope("SplitWithSizesBackward0", x);
  scope.several_views();
  check(x.dim() > 0, "split expects at least a 1-dimensional tensor");
  dim = wrap_dim(dim, x.dim());
  int64_t total = 0;
  for (int64_t size : split_sizes) {
    check(size >= 0,
          "split_with_sizes expects split_sizes have only non-negative entries, but got split_sizes=",
          split_sizes);
    total += size;
  }
  check(total == x.size(dim), "split_with_sizes expects split_sizes to sum exactly to ", x.size(dim),
        " (input tensor's size at dimension ", dim, "), but got split_sizes=", split_sizes);
  std::vector<Tensor> parts;
  int64_t start = 0;
  for (int64_t size : split_sizes) {
    parts.push_back(narrow(x, dim, start, size));
    start += size;
  }
  return parts;
}
std::vector<Tensor> split(const Tensor& x, IntArrayRef split_sizes, int64_t dim) {
  return split_with_sizes(x, split_sizes, dim);
}
std::vector<Tensor> split(const Tensor& x, int64_t split_size, int64_t dim) {
  GradScope scope("SplitBackward0", x);
  scope.several_views();
  check(x.dim() > 0, "split expects at least a 1-dimensional tensor");
  check(split_size >= 0, "split expects split_size be non-negative, but got split_size=", split_size);
  dim = wrap_dim(dim, x.dim());
  const int64_t size = x.size(dim);
  check(split_size > 0 || size == 0,
        "split_size can only be 0 if dimension size is 0, but got dimension size of ", size);
  return split_with_sizes(x, chunk_sizes(size, std::max<int64_t>(split_size, 1)), dim);
}
std::vector<Tensor> chunk(const Tensor& x, int64_t chunks, int64_t dim) {
  GradScope scope("SplitBackward0", x);
  scope.several_views();
  check(x.dim() > 0, "chunk expects at least a 1-dimensional tensor");
  check(chunks > 0, "chunk expects `chunks` to be greater than 0, got: ", chunks);
  dim = wrap_dim(dim, x.dim());
  const int64_t size = x.size(dim);
  if (size == 0) return split_with_sizes(x, std::vector<int64_t>(at(chunks), 0), dim);
  return split_with_sizes(x, chunk_sizes(size, (size - 1) / chunks + 1), dim);
}
std::vector<Tensor> unbind(const Tensor& x, int64_t dim) {
  GradScope scope("UnbindBackward0", x);
  scope.several_views();
  dim = wrap_dim(dim, x.dim());
  check(x.dim() > 0, "Dimension specified as ", dim, " but tensor has no dimensions");
  std::vector<Tensor> parts;
  for (int64_t i = 0; i < x.size(dim); ++i) parts.push_back(select(x, dim, i));
  return parts;
}

}  // namespace tenon
