// Printed from frontend/functions.def by scripts/print/make_functions.py.
// More views: strided windows, diagonals, splits, grids; and copies in which a view is replaced. Included by
// tensor.h.
#pragma once

#include "tenon/function_types.h"

namespace tenon {

// The elements storage[storage_offset + sum(i_d * stride[d])]; places may repeat. Error if the storage ends
// before.
Tensor as_strided(const Operand& self, IntArrayRef size, IntArrayRef stride,
                  optional<int64_t> storage_offset = nullopt);
// The diagonal of two dims as the last dim; offset > 0 lies above the main one. Error if the dims are one.
Tensor diagonal(const Operand& self, int64_t offset = 0, int64_t dim1 = 0, int64_t dim2 = 1);
Tensor moveaxis(const Operand& self, IntArrayRef source, IntArrayRef destination);
Tensor swapdims(const Operand& self, int64_t dim0, int64_t dim1);
Tensor adjoint(const Operand& self);  // the last two dims swapped
Tensor real(const Operand& self);  // itself, like the next two: no type is complex
Tensor conj(const Operand& self);
Tensor resolve_conj(const Operand& self);

// Parts of nearly equal size, the larger ones first; or the parts between the given positions.
std::vector<Tensor> tensor_split(const Operand& self, int64_t sections, int64_t dim = 0);
std::vector<Tensor> tensor_split(const Operand& self, IntArrayRef indices, int64_t dim = 0);
std::vector<Tensor> tensor_split(const Operand& self, const Operand& indices_or_sections, int64_t dim = 0);
// The same along dim 1 (0 of a vector), 0 and 2; sections must divide the size.
std::vector<Tensor> hsplit(const Operand& self, int64_t sections);
std::vector<Tensor> hsplit(const Operand& self, IntArrayRef indices);
std::vector<Tensor> vsplit(const Operand& self, int64_t sections);
std::vector<Tensor> vsplit(const Operand& self, IntArrayRef indices);
std::vector<Tensor> dsplit(const Operand& self, int64_t sections);
std::vector<Tensor> dsplit(const Operand& self, IntArrayRef indices);
// chunk, split and split_with_sizes.
std::vector<Tensor> unsafe_chunk(const Operand& self, int64_t chunks, int64_t dim = 0);
std::vector<Tensor> unsafe_split(const Operand& self, int64_t split_size, int64_t dim = 0);
std::vector<Tensor> unsafe_split_with_sizes(const Operand& self, IntArrayRef split_sizes, int64_t dim = 0);

// Vectors as coordinates of a grid, each a view of the grid's shape. "xy" swaps the first two dims.
std::vector<Tensor> meshgrid(TensorList tensors);  // "ij"
std::vector<Tensor> meshgrid(TensorList tensors, std::string_view indexing);
std::vector<Tensor> atleast_1d(TensorList tensors);
std::vector<Tensor> atleast_2d(TensorList tensors);
std::vector<Tensor> atleast_3d(TensorList tensors);

// A copy of self in which that part is src, which must have its shape.
Tensor select_scatter(const Operand& self, const Operand& src, int64_t dim, int64_t index);
Tensor slice_scatter(const Operand& self, const Operand& src, int64_t dim = 0,
                     optional<int64_t> start = nullopt, optional<int64_t> end = nullopt, int64_t step = 1);
Tensor diagonal_scatter(const Operand& self, const Operand& src, int64_t offset = 0, int64_t dim1 = 0,
                        int64_t dim2 = 1);

}  // namespace tenon
