// Printed from frontend/functions.def by scripts/print/make_functions.py.
// What programs that come from NumPy look for: joining columns, sets, integrals and slopes, choices
// and grids. Included by tensor.h, which has the methods.
#pragma once

#include "tenon/function_types.h"

namespace tenon {

// --- reductions, with more ways to say what
// Over several dims; over all without any, over none if the list is empty.
Tensor any(const Operand& self, OptionalIntArrayRef dim, bool keepdim = false);
Tensor all(const Operand& self, OptionalIntArrayRef dim, bool keepdim = false);
Tensor norm(const Operand& self, const optional<Scalar>& p, ScalarType dtype);
Tensor norm(const Operand& self, const optional<Scalar>& p, IntArrayRef dim, bool keepdim, ScalarType dtype);

// --- joining
Tensor concatenate(TensorList tensors, int64_t dim = 0);
Tensor column_stack(TensorList tensors);  // vectors become columns
Tensor row_stack(TensorList tensors);  // vstack
// Sequences [length, ...] of different lengths in one tensor [longest, n, ...], or [n, longest, ...] if batch_first;
// padding_side is "right" or "left".
Tensor pad_sequence(TensorList sequences, bool batch_first = false, double padding_value = 0.0,
                    std::string_view padding_side = "right");

// --- sets and counts
Tensor isin(const Operand& elements, const Operand& test_elements, bool assume_unique = false,
            bool invert = false);
Tensor isin(const Operand& elements, const Scalar& test_element, bool assume_unique = false,
            bool invert = false);
Tensor isin(const Scalar& element, const Operand& test_elements, bool assume_unique = false,
            bool invert = false);
// The first `size` places that are not 0, [size, dims]; rows of fill_value where there are fewer.
Tensor nonzero_static(const Operand& self, int64_t size, int64_t fill_value = -1);

// --- integrals and slopes
Tensor trapz(const Operand& y, double dx = 1, int64_t dim = -1);
Tensor trapz(const Operand& y, const Operand& x, int64_t dim = -1);
Tensor cumulative_trapezoid(const Operand& y, const Scalar& dx = 1, int64_t dim = -1);
Tensor cumulative_trapezoid(const Operand& y, const Operand& x, int64_t dim = -1);
// The slope along each dim by central differences; at the borders by 2 points, or 3 if edge_order is 2. Spacing: one
// number, one for each dim, or the coordinates of each dim.
std::vector<Tensor> gradient(const Operand& self, const optional<Scalar>& spacing = nullopt,
                             optional<int64_t> dim = nullopt, int64_t edge_order = 1);
std::vector<Tensor> gradient(const Operand& self, const Scalar& spacing, IntArrayRef dim,
                             int64_t edge_order = 1);
std::vector<Tensor> gradient(const Operand& self, IntArrayRef dim, int64_t edge_order = 1);
std::vector<Tensor> gradient(const Operand& self, ArrayRef<Scalar> spacing, optional<int64_t> dim = nullopt,
                             int64_t edge_order = 1);
std::vector<Tensor> gradient(const Operand& self, ArrayRef<Scalar> spacing, IntArrayRef dim,
                             int64_t edge_order = 1);
std::vector<Tensor> gradient(const Operand& self, TensorList spacing, optional<int64_t> dim = nullopt,
                             int64_t edge_order = 1);
std::vector<Tensor> gradient(const Operand& self, TensorList spacing, IntArrayRef dim,
                             int64_t edge_order = 1);

// --- choices and grids
Tensor combinations(const Operand& self, int64_t r = 2, bool with_replacement = false);  // [count, r]
// Coordinates, one tensor a dim, of positions in a row-major array of that shape.
std::vector<Tensor> unravel_index(const Operand& indices, IntArrayRef shape);
// Powers 0..N-1 of a vector as columns, the highest first unless increasing.
Tensor vander(const Operand& x, optional<int64_t> N = nullopt, bool increasing = false);
Tensor range(const Scalar& start, const Scalar& end, const TensorOptions& options);  // with the end
Tensor range(const Scalar& start, const Scalar& end, const Scalar& step = 1,
             const TensorOptions& options = {});

Tensor matrix_power(const Operand& self, int64_t n);  // linalg::matrix_power

// --- places
bool is_same_size(const Operand& self, const Operand& other);
Tensor as_strided_scatter(const Operand& self, const Operand& src, IntArrayRef size, IntArrayRef stride,
                          optional<int64_t> storage_offset = nullopt);
// self's slices at index along dim, combined with those of source by "prod", "mean", "amax" or "amin".
Tensor index_reduce(const Operand& self, int64_t dim, const Operand& index, const Operand& source,
                    std::string_view reduce, bool include_self = true);
Tensor empty_strided(IntArrayRef size, IntArrayRef stride, const TensorOptions& options = {});
// A tensor of that size, its dims in memory in the order of physical_layout, outermost first.
Tensor empty_permuted(IntArrayRef size, IntArrayRef physical_layout, const TensorOptions& options = {});
Tensor movedim(const Operand& self, int64_t source, int64_t destination);
Tensor moveaxis(const Operand& self, int64_t source, int64_t destination);
Tensor narrow(const Operand& self, int64_t dim, const Operand& start, int64_t length);  // start: 0-dim, evaluated
Tensor clone(const Operand& self, MemoryFormat format);
Tensor flatten_dense_tensors(TensorList tensors);
std::vector<Tensor> unflatten_dense_tensors(const Operand& flat, TensorList tensors);

}  // namespace tenon
