// Views of some elements: one index or a range of a dim, windows, diagonals, lists of parts; and copies in which
// such a part is replaced.
#include <unistd.h>

#include <algorithm>

#include "frontend/src/autograd/grad.h"
#include "frontend/src/tensor/text.h"
#include "frontend/src/views/geometry.h"
#include "tenon/views.h"

namespace tenon {

// --- one part

void take_slice(Geometry& g, int64_t dim, optional<int64_t> start, optional<int64_t> stop, int64_t step) {
  check<ValueError>(step > 0, step == 0 ? "slice step cannot be zero" : "step must be greater than zero");
  const int64_t size = g.sizes[at(dim)];
  const int64_t lo = std::clamp<int64_t>(wrap_index(start.value_or(0), size), 0, size);
  const int64_t hi = std::clamp<int64_t>(wrap_index(stop.value_or(size), size), lo, size);
  const int64_t length = hi - lo;
  g.narrow(dim, lo, length / step + (length % step != 0), step);
}

Tensor select(const Operand& x, int64_t dim, int64_t index) {
  GradScope scope("SelectBackward0", x);
  Geometry g(x);
  check<IndexError>(g.rank() > 0, "select() cannot be applied to a 0-dim tensor.");
  dim = wrap_dim(dim, g.rank());
  const int64_t size = g.sizes[at(dim)];
  check<IndexError>(index >= -size && index < size, "select(): index ", index, " out of range for tensor of size ", x.sizes(),
                    " at dimension ", dim);
  g.select(dim, wrap_index(index, size));
  return g.view_of(x);
}

Tensor slice(const Operand& x, int64_t dim, optional<int64_t> start, optional<int64_t> end, int64_t step) {
  GradScope scope("SliceBackward0", x);
  Geometry g(x);
  check<IndexError>(g.rank() > 0, "slice() cannot be applied to a 0-dim tensor.");
  take_slice(g, wrap_dim(dim, g.rank()), start, end, step);
  return g.view_of(x);
}

Tensor narrow(const Operand& x, int64_t dim, int64_t start, int64_t length) {
  GradScope scope("SliceBackward0", x);
  Geometry g(x);
  check(g.rank() > 0, "narrow() cannot be applied to a 0-dim tensor.");
  check(length >= 0, "narrow(): length must be non-negative.");
  dim = wrap_dim(dim, g.rank());
  const int64_t size = g.sizes[at(dim)];
  check<IndexError>(start >= -size && start <= size, "start out of range (expected to be in range of [", -size, ", ", size, "], but got ",
                    start, ")");
  start = wrap_index(start, size);
  check(start <= size - length, "start (", start, ") + length (", length, ") exceeds dimension size (", size, ").");
  g.narrow(dim, start, length, 1);
  return g.view_of(x);
}

Tensor detail::unfold(const Operand& self, int64_t dimension, int64_t size, int64_t step) {
  const CallScope call("unfold", self);
  Geometry g(self);
  dimension = wrap_dim(dimension, g.rank());
  const int64_t most = g.rank() == 0 ? 1 : g.sizes[at(dimension)];
  check(size >= 0, "size is ", size, " but must be >= 0");
  check(size <= most, "maximum size for tensor at dimension ", dimension, " is ", most, " but size is ", size);
  check(step > 0, "step is ", step, " but must be > 0");
  GradScope scope("UnfoldBackward0", self);
  if (g.rank() == 0) {
    g.insert(0, size, 1, 1);
    return g.view_of(self);
  }
  const int64_t stride = g.strides[at(dimension)], own = g.own.strides[at(dimension)];
  g.narrow(dimension, 0, (most - size) / step + 1, step);
  g.insert(g.rank(), size, stride, own);
  return g.view_of(self);
}

Tensor diagonal(const Operand& x, int64_t offset, int64_t dim1, int64_t dim2) {
  const CallScope call("diagonal", x);
  Geometry g(x);
  dim1 = wrap_dim(dim1, g.rank());
  dim2 = wrap_dim(dim2, g.rank());
  check(dim1 != dim2, "diagonal dimensions cannot be identical ", dim1, ", ", dim2);
  GradScope scope("DiagonalBackward0", x);
  const int64_t rows = g.sizes[at(dim1)], columns = g.sizes[at(dim2)];
  const int64_t skipped_rows = offset < 0 ? std::min(rows, offset < -rows ? rows : -offset) : 0;
  const int64_t skipped_columns = offset > 0 ? std::min(columns, offset) : 0;
  const int64_t length = std::min(rows - skipped_rows, columns - skipped_columns);
  const int64_t stride = g.strides[at(dim1)] + g.strides[at(dim2)], own = g.own.strides[at(dim1)] + g.own.strides[at(dim2)];
  if (length > 0) {
    g.skip(dim1, skipped_rows);
    g.skip(dim2, skipped_columns);
  }
  g.erase(std::max(dim1, dim2));
  g.erase(std::min(dim1, dim2));
  g.insert(g.rank(), length, stride, own);
  return g.view_of(x);
}

// --- lists of parts

namespace {

// Before the first of so many views is made: all of them must fit into memory.
void check_result_count(const char* name, int64_t count) {
  const int64_t each = sizeof(TensorImpl) + sizeof(Tensor);
  const int64_t memory = int64_t{sysconf(_SC_PHYS_PAGES)} * int64_t{sysconf(_SC_PAGESIZE)};
  check<OutOfMemoryError>(count <= memory / each, name, ": ", count, " results of ", each, " bytes each are more than the ", memory >> 20,
                          " MiB of memory");
}

std::vector<int64_t> chunk_sizes(int64_t total, int64_t each) {
  std::vector<int64_t> sizes;
  for (int64_t left = total; left > 0 || sizes.empty(); left -= each) sizes.push_back(std::min(left, each));
  return sizes;
}

// The parts of x along the wrapped dim, of these sizes.
std::vector<Tensor> parts_of(const Operand& x, IntArrayRef sizes, int64_t dim) {
  std::vector<Tensor> parts;
  int64_t start = 0;
  for (int64_t size : sizes) {
    parts.push_back(narrow(x, dim, start, size));
    start += size;
  }
  return parts;
}
std::vector<Tensor> parts_with_sizes(const Operand& x, IntArrayRef split_sizes, int64_t dim) {
  check(x.dim() > 0, "split expects at least a 1-dimensional tensor");
  dim = wrap_dim(dim, x.dim());
  int64_t total = 0;
  for (int64_t size : split_sizes) {
    check(size >= 0, "split_with_sizes expects split_sizes have only non-negative entries, but got split_sizes=", split_sizes);
    total += size;
  }
  check(total == x.size(dim), "split_with_sizes expects split_sizes to sum exactly to ", x.size(dim), " (input tensor's size at dimension ",
        dim, "), but got split_sizes=", split_sizes);
  return parts_of(x, split_sizes, dim);
}
std::vector<Tensor> parts_of_size(const Operand& x, int64_t split_size, int64_t dim) {
  check(x.dim() > 0, "split expects at least a 1-dimensional tensor");
  check(split_size >= 0, "split expects split_size be non-negative, but got split_size=", split_size);
  dim = wrap_dim(dim, x.dim());
  const int64_t size = x.size(dim);
  check(split_size > 0 || size == 0, "split_size can only be 0 if dimension size is 0, but got dimension size of ", size);
  check_result_count("split", split_size > 0 ? size / split_size : 1);
  return parts_of(x, chunk_sizes(size, std::max<int64_t>(split_size, 1)), dim);
}
std::vector<Tensor> equal_chunks(const Operand& x, int64_t chunks, int64_t dim) {
  check(x.dim() > 0, "chunk expects at least a 1-dimensional tensor");
  check(chunks > 0, "chunk expects `chunks` to be greater than 0, got: ", chunks);
  dim = wrap_dim(dim, x.dim());
  const int64_t size = x.size(dim);
  check_result_count("chunk", size == 0 ? chunks : std::min(size, chunks));
  if (size == 0) return parts_of(x, std::vector<int64_t>(at(chunks), 0), dim);
  return parts_of(x, chunk_sizes(size, (size - 1) / chunks + 1), dim);
}

}  // namespace

std::vector<Tensor> split_with_sizes(const Operand& x, IntArrayRef split_sizes, int64_t dim) {
  GradScope scope("SplitWithSizesBackward0", x);
  return scope.several_views(parts_with_sizes(x, split_sizes, dim));
}
std::vector<Tensor> split(const Operand& x, IntArrayRef split_sizes, int64_t dim) {
  const CallScope call("split", x);
  return split_with_sizes(x, split_sizes, dim);
}
std::vector<Tensor> split(const Operand& x, int64_t split_size, int64_t dim) {
  GradScope scope("SplitBackward0", x);
  return scope.several_views(parts_of_size(x, split_size, dim));
}
std::vector<Tensor> chunk(const Operand& x, int64_t chunks, int64_t dim) {
  const Scalar count(chunks);
  const CallScope call("chunk", x, count);
  GradScope scope("SplitBackward0", x);
  return scope.several_views(equal_chunks(x, chunks, dim));
}
std::vector<Tensor> unbind(const Operand& x, int64_t dim) {
  GradScope scope("UnbindBackward0", x);
  dim = wrap_dim(dim, x.dim());
  check<IndexError>(x.dim() > 0, "Dimension specified as ", dim, " but tensor has no dimensions");
  check_result_count("unbind", x.size(dim));
  std::vector<Tensor> parts;
  for (int64_t i = 0; i < x.size(dim); ++i) parts.push_back(select(x, dim, i));
  return scope.several_views(std::move(parts));
}

std::vector<Tensor> tensor_split(const Operand& x, int64_t sections, int64_t dim) {
  const CallScope call("tensor_split", x);
  check(x.dim() > 0, "tensor_split expected at least a 1-dimensional tensor, but got a tensor with ", x.dim(), " dims");
  dim = wrap_dim(dim, x.dim());
  check(sections > 0, "number of sections must be larger than 0, got ", sections);
  check_result_count("tensor_split", sections);
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
std::vector<Tensor> tensor_split(const Operand& x, IntArrayRef indices, int64_t dim) {
  const CallScope call("tensor_split", x);
  check(x.dim() > 0, "tensor_split expected at least a 1-dimensional tensor, but got a tensor with ", x.dim(), " dims");
  dim = wrap_dim(dim, x.dim());
  std::vector<Tensor> parts;
  int64_t start = 0;
  for (int64_t end : indices) {
    parts.push_back(slice(x, dim, start, end));
    start = end;
  }
  parts.push_back(slice(x, dim, start));
  return parts;
}
std::vector<Tensor> tensor_split(const Operand& x, const Operand& indices_or_sections, int64_t dim) {
  const CallScope call("tensor_split", x, indices_or_sections);
  const int64_t rank = indices_or_sections.dim();
  check(indices_or_sections.scalar_type() == kLong, "tensor_split expected tensor_indices_or_sections to have dtype of long, but got ",
        indices_or_sections.scalar_type());
  check(rank <= 1,
        "tensor_split expected tensor_indices_or_sections to be a zero-dimensional or "
        "one-dimensional tensor, but got a tensor with ",
        rank, " dims");
  if (rank == 0) return tensor_split(x, indices_or_sections.item<int64_t>(), dim);
  std::vector<int64_t> indices;
  for (int64_t i = 0; i < indices_or_sections.size(0); ++i) indices.push_back(indices_or_sections.select(0, i).item<int64_t>());
  return tensor_split(x, IntArrayRef(indices), dim);
}

namespace {

// hsplit, vsplit and dsplit: parts of equal size along the first, second or third dim.
int64_t split_dim(const Tensor& x, const char* name, int64_t rank, int64_t dim) {
  check(x.dim() >= rank, "torch.", name, " requires a tensor with at least ", rank, " dimension, but got a tensor with ", x.dim(),
        " dimensions!");
  return x.dim() == 1 ? 0 : dim;
}
std::vector<Tensor> equal_parts(const Tensor& x, const char* name, int64_t dim, int64_t sections) {
  check(sections != 0 && x.size(dim) % sections == 0, "torch.", name, " attempted to split along dimension ", dim,
        ", but the size of the dimension ", x.size(dim), " is not divisible by the split_size ", sections, "!");
  return tensor_split(x, sections, dim);
}

}  // namespace

#define TENON_SPLIT(name, rank, dim)                                        \
  std::vector<Tensor> name(const Operand& x, int64_t sections) {            \
    const CallScope call(#name, x);                                         \
    return equal_parts(x, #name, split_dim(x, #name, rank, dim), sections); \
  }                                                                         \
  std::vector<Tensor> name(const Operand& x, IntArrayRef indices) {         \
    const CallScope call(#name, x);                                         \
    return tensor_split(x, indices, split_dim(x, #name, rank, dim));        \
  }
TENON_SPLIT(hsplit, 1, 1)
TENON_SPLIT(vsplit, 2, 0)
TENON_SPLIT(dsplit, 3, 2)
#undef TENON_SPLIT

namespace {

// They share memory with the tensor and are no views of it: they may be written, and its history knows nothing of that.
std::vector<Tensor> no_views(std::vector<Tensor> parts) {
  for (const Tensor& part : parts) forget_base(part);
  return parts;
}

}  // namespace

std::vector<Tensor> unsafe_chunk(const Operand& x, int64_t chunks, int64_t dim) {
  const CallScope call("unsafe_chunk", x);
  const GradScope scope("UnsafeSplitBackward0", x);
  return no_views(equal_chunks(x, chunks, dim));
}
std::vector<Tensor> unsafe_split(const Operand& x, int64_t split_size, int64_t dim) {
  const CallScope call("unsafe_split", x);
  const GradScope scope("UnsafeSplitBackward0", x);
  return no_views(parts_of_size(x, split_size, dim));
}
std::vector<Tensor> unsafe_split_with_sizes(const Operand& x, IntArrayRef split_sizes, int64_t dim) {
  const CallScope call("unsafe_split_with_sizes", x);
  const GradScope scope("UnsafeSplitWithSizesBackward0", x);
  return no_views(parts_with_sizes(x, split_sizes, dim));
}

// --- a copy in which a part is replaced

namespace {

Tensor replaced(const Tensor& copy, const Tensor& part, const Tensor& src, const char* what) {
  check(part.sizes() == src.sizes(), "expected src to have a size equal to the ", what, " of self. src size = ", src.sizes(), ", ", what,
        " size = ", part.sizes());
  part.copy_(src);
  return copy;
}

}  // namespace

Tensor select_scatter(const Operand& x, const Operand& src, int64_t dim, int64_t index) {
  GradScope scope("SelectScatterBackward0", x, src);
  const Tensor copy = clone(x);
  return replaced(copy, select(copy, dim, index), src, "slice");
}
Tensor slice_scatter(const Operand& x, const Operand& src, int64_t dim, optional<int64_t> start, optional<int64_t> end, int64_t step) {
  GradScope scope("SliceScatterBackward0", x, src);
  const Tensor copy = clone(x);
  return replaced(copy, slice(copy, dim, start, end, step), src, "slice");
}
Tensor diagonal_scatter(const Operand& x, const Operand& src, int64_t offset, int64_t dim1, int64_t dim2) {
  GradScope scope("DiagonalScatterBackward0", x, src);
  const Tensor copy = clone(x);
  return replaced(copy, diagonal(copy, offset, dim1, dim2), src, "slice");
}

}  // namespace tenon
