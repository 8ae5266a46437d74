// The less common views. As in view.cpp they compute sizes, strides and an offset.
#include "tenon/views.h"

#include <algorithm>

#include "geometry.h"
#include "grad.h"
#include "inplace.h"
#include "text.h"

namespace tenon {

// --- strides given or changed
// -----------------------------------------------------------------------------------------

Tensor as_strided(const Tensor& x, IntArrayRef size, IntArrayRef stride, optional<int64_t> storage_offset) {
  check(size.size() == stride.size(), "mismatch in length of strides and shape");
  const NodeRef base = impl(x).storage().value();
  const int64_t item = x.element_size(), bytes = base->numel() * ir::item_size(base->dtype());
  const int64_t offset = storage_offset.value_or(x.storage_offset());
  check(offset >= 0, "Tensor: invalid storage offset ", offset);
  int64_t reach = offset;  // the last element
  bool inside = true;
  for (size_t d = 0; d < size.size(); ++d) {
    check(stride[d] >= 0,
          "as_strided: Negative strides are not supported at the moment, got strides: ", stride);
    int64_t along = 0;
    inside = inside && !__builtin_mul_overflow(std::max<int64_t>(size[d] - 1, 0), stride[d], &along) &&
             !__builtin_add_overflow(reach, along, &reach);
  }
  const bool none = checked_numel(size) == 0;
  check(none || (inside && reach < bytes / item), "setStorage: sizes ", size, ", strides ", stride,
        ", storage offset ", offset, ", and itemsize ", item, " requiring a storage size of ",
        static_cast<int64_t>((static_cast<uint64_t>(reach) + 1) * static_cast<uint64_t>(item)),
        " are out of bounds for storage of size ", bytes);
  GradScope scope("AsStridedBackward0", x);
  return make_view(x, size, stride, offset);
}
Tensor Tensor::as_strided(IntArrayRef size, IntArrayRef stride, optional<int64_t> storage_offset) const {
  return tenon::as_strided(*this, size, stride, storage_offset);
}
Tensor& Tensor::as_strided_(IntArrayRef size, IntArrayRef stride, optional<int64_t> storage_offset) const {
  return reshape_in_place(*this, as_strided(size, stride, storage_offset));
}

Tensor Tensor::unfold(int64_t dimension, int64_t size, int64_t step) const {
  Geometry g(*this);
  dimension = wrap_dim(dimension, g.rank());
  const int64_t most = g.rank() == 0 ? 1 : g.sizes[at(dimension)];
  check(size >= 0, "size is ", size, " but must be >= 0");
  check(size <= most, "maximum size for tensor at dimension ", dimension, " is ", most, " but size is ",
        size);
  check(step > 0, "step is ", step, " but must be > 0");
  GradScope scope("UnfoldBackward0", *this);
  if (g.rank() == 0) {
    g.insert(0, size, 1);
    return g.view_of(*this);
  }
  const int64_t stride = g.strides[at(dimension)];
  g.narrow(dimension, 0, (most - size) / step + 1, step);
  g.insert(g.rank(), size, stride);
  return g.view_of(*this);
}

Tensor diagonal(const Tensor& x, int64_t offset, int64_t dim1, int64_t dim2) {
  Geometry g(x);
  dim1 = wrap_dim(dim1, g.rank());
  dim2 = wrap_dim(dim2, g.rank());
  check(dim1 != dim2, "diagonal dimensions cannot be identical ", dim1, ", ", dim2);
  GradScope scope("DiagonalBackward0", x);
  const int64_t rows = g.sizes[at(dim1)], columns = g.sizes[at(dim2)];
  const int64_t skipped_rows = offset < 0 ? std::min(rows, offset < -rows ? rows : -offset) : 0;
  const int64_t skipped_columns = offset > 0 ? std::min(columns, offset) : 0;
  const int64_t length = std::min(rows - skipped_rows, columns - skipped_columns);
  const int64_t row = g.strides[at(dim1)], column = g.strides[at(dim2)];
  if (length > 0) g.offset += skipped_rows * row + skipped_columns * column;
  g.erase(std::max(dim1, dim2));
  g.erase(std::min(dim1, dim2));
  g.insert(g.rank(), length, row + column);
  return g.view_of(x);
}
Tensor Tensor::diagonal(int64_t offset, int64_t dim1, int64_t dim2) const {
  return tenon::diagonal(*this, offset, dim1, dim2);
}

// --- the bits as another type
// ------------------------------------------------------------------------------------------

namespace {

// The last dim shrinks or grows by the ratio of the item sizes; all places are counted in new items.
void rescale(Geometry& g, ScalarType from, ScalarType to) {
  const int64_t old_size = elementSize(from), new_size = elementSize(to);
  check(g.rank() > 0, "self.dim() cannot be 0 to view ", from, " as ", to, " (different element sizes)");
  check(g.strides.back() == 1, "self.stride(-1) must be 1 to view ", from, " as ", to,
        " (different element sizes), but got ", g.strides.back());
  if (old_size > new_size) {
    const int64_t ratio = old_size / new_size;
    for (size_t d = 0; d + 1 < g.strides.size(); ++d) g.strides[d] *= ratio;
    g.sizes.back() *= ratio;
    g.offset *= ratio;
    return;
  }
  const int64_t ratio = new_size / old_size;
  check(g.sizes.back() % ratio == 0, "self.size(-1) must be divisible by ", ratio, " to view ", from, " as ",
        to, " (different element sizes), but got ", g.sizes.back());
  check(g.offset % ratio == 0, "self.storage_offset() must be divisible by ", ratio, " to view ", from,
        " as ", to, " (different element sizes), but got ", g.offset);
  for (size_t d = 0; d + 1 < g.strides.size(); ++d) {
    check(g.strides[d] % ratio == 0, "self.stride(", d, ") must be divisible by ", ratio, " to view ", from,
          " as ", to, " (different element sizes), but got ", g.strides[d]);
    g.strides[d] /= ratio;
  }
  g.sizes.back() /= ratio;
  g.offset /= ratio;
}

}  // namespace

Tensor Tensor::view(ScalarType dtype) const {
  Geometry g(*this);
  if (elementSize(dtype) != element_size()) rescale(g, scalar_type(), dtype);
  Tensor result(new TensorImpl(impl(*this), ir_type(dtype), ref(g.sizes), ref(g.strides), g.offset), false);
  if (isFloatingType(dtype)) adopt_view(*this, result);
  return result;
}

// --- names for other views
// --------------------------------------------------------------------------------------------

Tensor moveaxis(const Tensor& x, IntArrayRef source, IntArrayRef destination) {
  return movedim(x, source, destination);
}
Tensor swapdims(const Tensor& x, int64_t dim0, int64_t dim1) { return transpose(x, dim0, dim1); }
Tensor adjoint(const Tensor& x) {
  check(x.dim() >= 2, "tensor.adjoint() is only supported on matrices or batches of matrices. Got ", x.dim(),
        "-D tensor.");
  return transpose(x, -2, -1);
}
Tensor Tensor::adjoint() const { return tenon::adjoint(*this); }
Tensor Tensor::mH() const {
  check(dim() >= 2, "tensor.mH is only supported on matrices or batches of matrices. Got ", dim(),
        "-D tensor.");
  return transpose(-2, -1);
}
Tensor Tensor::H() const {
  check(dim() == 0 || dim() == 2, "tensor.H is only supported on matrices (2-D tensors). Got ", dim(),
        "-D tensor.", dim() > 2 ? " For batches of matrices, consider using tensor.mH" : "");
  return dim() == 0 ? *this : transpose(0, 1);
}
Tensor real(const Tensor& x) { return x; }
Tensor conj(const Tensor& x) { return x; }
Tensor resolve_conj(const Tensor& x) { return x; }

bool Tensor::is_set_to(const Tensor& other) const {
  return is_alias_of(other) && storage_offset() == other.storage_offset() && sizes() == other.sizes() &&
         strides() == other.strides();
}

// --- memory formats
// ----------------------------------------------------------------------------------------------------

namespace {

// The dims from the outermost to the innermost in memory.
Dims memory_order(const Tensor& x, MemoryFormat format) {
  const int64_t rank = format == MemoryFormat::ChannelsLast ? 4 : 5;
  check(x.dim() == rank, "required rank ", rank, " tensor to use channels_last", rank == 5 ? "_3d" : "",
        " format");
  return rank == 4 ? Dims{0, 2, 3, 1} : Dims{0, 2, 3, 4, 1};
}

}  // namespace

bool Tensor::is_contiguous(MemoryFormat format) const {
  if (format == MemoryFormat::Contiguous || format == MemoryFormat::Preserve) return is_contiguous();
  const int64_t rank = format == MemoryFormat::ChannelsLast ? 4 : 5;
  return dim() == rank && permute(ref(memory_order(*this, format))).is_contiguous();
}

Tensor Tensor::contiguous(MemoryFormat format) const {
  check(format != MemoryFormat::Preserve, "preserve memory format is unsupported by the contiguous operator");
  if (is_contiguous(format)) return *this;
  if (format == MemoryFormat::Contiguous) return contiguous();
  const Dims order = memory_order(*this, format);
  Dims back(order.size(), 0);
  for (size_t i = 0; i < order.size(); ++i) back[at(order[i])] = static_cast<int64_t>(i);
  return permute(ref(order)).contiguous().permute(ref(back));
}

// --- several parts
// -----------------------------------------------------------------------------------------------------

std::vector<Tensor> tensor_split(const Tensor& x, int64_t sections, int64_t dim) {
  check(x.dim() > 0, "tensor_split expected at least a 1-dimensional tensor, but got a tensor with ", x.dim(),
        " dims");
  dim = wrap_dim(dim, x.dim());
  check(sections > 0, "number of sections must be larger than 0, got ", sections);
  GradScope scope("SplitBackward0", x);
  scope.several_views();
  const int64_t size = x.size(dim);
  std::vector<Tensor> parts;
  int64_t start = 0;
  for (int64_t i = 0; i < sections; ++i) {
    const int64_t length = size / sections + (i < size % sections);
    parts.push_back(narrow(x, dim, start, length));
    start += length;
  }
  return parts;
}
std::vector<Tensor> tensor_split(const Tensor& x, IntArrayRef indices, int64_t dim) {
  check(x.dim() > 0, "tensor_split expected at least a 1-dimensional tensor, but got a tensor with ", x.dim(),
        " dims");
  dim = wrap_dim(dim, x.dim());
  GradScope scope("SplitBackward0", x);
  scope.several_views();
  std::vector<Tensor> parts;
  int64_t start = 0;
  for (int64_t end : indices) {
    parts.push_back(slice(x, dim, start, end));
    start = end;
  }
  parts.push_back(slice(x, dim, start));
  return parts;
}
std::vector<Tensor> tensor_split(const Tensor& x, const Tensor& indices_or_sections, int64_t dim) {
  const int64_t rank = indices_or_sections.dim();
  check(indices_or_sections.scalar_type() == kLong,
        "tensor_split expected tensor_indices_or_sections to have dtype of long, but got ",
        indices_or_sections.scalar_type());
  check(rank <= 1,
        "tensor_split expected tensor_indices_or_sections to be a zero-dimensional or "
        "one-dimensional tensor, but got a tensor with ",
        rank, " dims");
  if (rank == 0) return tensor_split(x, indices_or_sections.item<int64_t>(), dim);
  std::vector<int64_t> indices;
  for (int64_t i = 0; i < indices_or_sections.size(0); ++i)
    indices.push_back(indices_or_sections.select(0, i).item<int64_t>());
  return tensor_split(x, IntArrayRef(indices), dim);
}

namespace {

// hsplit, vsplit and dsplit: parts of equal size along the first, second or third dim.
int64_t split_dim(const Tensor& x, const char* name, int64_t rank, int64_t dim) {
  check(x.dim() >= rank, "torch.", name, " requires a tensor with at least ", rank,
        " dimension, but got a tensor with ", x.dim(), " dimensions!");
  return x.dim() == 1 ? 0 : dim;
}
std::vector<Tensor> equal_parts(const Tensor& x, const char* name, int64_t dim, int64_t sections) {
  check(sections != 0 && x.size(dim) % sections == 0, "torch.", name, " attempted to split along dimension ",
        dim, ", but the size of the dimension ", x.size(dim), " is not divisible by the split_size ",
        sections, "!");
  return tensor_split(x, sections, dim);
}

}  // namespace

#define TENON_SPLIT(name, rank, dim)                                        \
  std::vector<Tensor> name(const Tensor& x, int64_t sections) {             \
    return equal_parts(x, #name, split_dim(x, #name, rank, dim), sections); \
  }                                                                         \
  std::vector<Tensor> name(const Tensor& x, IntArrayRef indices) {          \
    return tensor_split(x, indices, split_dim(x, #name, rank, dim));        \
  }
TENON_SPLIT(hsplit, 1, 1)
TENON_SPLIT(vsplit, 2, 0)
TENON_SPLIT(dsplit, 3, 2)
#undef TENON_SPLIT

#define TENON_METHOD(name, type) \
  std::vector<Tensor> Tensor::name(type where) const { return tenon::name(*this, where); }
TENON_METHOD(hsplit, int64_t)
TENON_METHOD(hsplit, IntArrayRef)
TENON_METHOD(vsplit, int64_t)
TENON_METHOD(vsplit, IntArrayRef)
TENON_METHOD(dsplit, int64_t)
TENON_METHOD(dsplit, IntArrayRef)
#undef TENON_METHOD
std::vector<Tensor> Tensor::tensor_split(int64_t sections, int64_t dim) const {
  return tenon::tensor_split(*this, sections, dim);
}
std::vector<Tensor> Tensor::tensor_split(IntArrayRef indices, int64_t dim) const {
  return tenon::tensor_split(*this, indices, dim);
}
std::vector<Tensor> Tensor::tensor_split(const Tensor& indices_or_sections, int64_t dim) const {
  return tenon::tensor_split(*this, indices_or_sections, dim);
}

std::vector<Tensor> unsafe_chunk(const Tensor& x, int64_t chunks, int64_t dim) {
  return chunk(x, chunks, dim);
}
std::vector<Tensor> unsafe_split(const Tensor& x, int64_t split_size, int64_t dim) {
  return split(x, split_size, dim);
}
std::vector<Tensor> unsafe_split_with_sizes(const Tensor& x, IntArrayRef split_sizes, int64_t dim) {
  return split_with_sizes(x, split_sizes, dim);
}

// --- several tensors
// ---------------------------------------------------------------------------------------------------

std::vector<Tensor> meshgrid(TensorList tensors, std::string_view indexing) {
  check(!tensors.empty(), "meshgrid expects a non-empty TensorList");
  check(indexing == "ij" || indexing == "xy",
        "torch.meshgrid: indexing must be one of \"xy\" or \"ij\", but received: ", indexing);
  for (const Tensor& x : tensors) {
    check(x.dim() <= 1, "torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: ", x);
    check(x.scalar_type() == tensors[0].scalar_type(),
          "torch.meshgrid expects all tensors to have the same dtype");
  }
  std::vector<Tensor> axes(tensors.begin(), tensors.end());
  const bool swaps = indexing == "xy" && axes.size() >= 2;
  if (swaps) std::swap(axes[0], axes[1]);
  Dims shape;
  for (const Tensor& x : axes) shape.push_back(x.numel());
  std::vector<Tensor> grids;
  for (size_t i = 0; i < axes.size(); ++i) {
    Dims line(axes.size(), 1);
    line[i] = shape[i];
    grids.push_back(expand(view(axes[i], ref(line)), ref(shape)));
  }
  if (swaps) std::swap(grids[0], grids[1]);
  return grids;
}

#define TENON_EACH(name)                                       \
  std::vector<Tensor> name(TensorList tensors) {               \
    std::vector<Tensor> result;                                \
    for (const Tensor& x : tensors) result.push_back(name(x)); \
    return result;                                             \
  }
TENON_EACH(atleast_1d)
TENON_EACH(atleast_2d)
TENON_EACH(atleast_3d)
#undef TENON_EACH

// --- a copy in which a view is replaced
// ---------------------------------------------------------------------------------

namespace {

Tensor replaced(const Tensor& copy, const Tensor& part, const Tensor& src, const char* what) {
  check(part.sizes() == src.sizes(), "expected src to have a size equal to the ", what,
        " of self. src size = ", src.sizes(), ", ", what, " size = ", part.sizes());
  part.copy_(src);
  return copy;
}

}  // namespace

Tensor select_scatter(const Tensor& x, const Tensor& src, int64_t dim, int64_t index) {
  GradScope scope("SelectScatterBackward0", x, src);
  const Tensor copy = clone(x);
  return replaced(copy, select(copy, dim, index), src, "slice");
}
Tensor slice_scatter(const Tensor& x, const Tensor& src, int64_t dim, optional<int64_t> start,
                     optional<int64_t> end, int64_t step) {
  GradScope scope("SliceScatterBackward0", x, src);
  const Tensor copy = clone(x);
  return replaced(copy, slice(copy, dim, start, end, step), src, "slice");
}
Tensor diagonal_scatter(const Tensor& x, const Tensor& src, int64_t offset, int64_t dim1, int64_t dim2) {
  GradScope scope("DiagonalScatterBackward0", x, src);
  const Tensor copy = clone(x);
  return replaced(copy, diagonal(copy, offset, dim1, dim2), src, "slice");
}

}  // namespace tenon
