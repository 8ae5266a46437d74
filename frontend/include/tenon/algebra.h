// Printed from frontend/functions.def by scripts/print/make_functions.py.
// Sums of products by formula, structured matrices and index grids, with LibTorch's names, argument order and
// defaults.
#pragma once

#include "tenon/function_types.h"

namespace tenon {

// --- products
// einsum("bij,bjk->bik", {a, b}): one letter a dim, "..." for dims that broadcast; letters missing on the
// right are summed.
Tensor einsum(std::string_view equation, TensorList tensors, OptionalIntArrayRef path = nullopt);
Tensor tensordot(const Operand& self, const Operand& other, IntArrayRef dims_self, IntArrayRef dims_other);
Tensor kron(const Operand& self, const Operand& other);
Tensor inner(const Operand& self, const Operand& other);  // over the last dims
Tensor vdot(const Operand& self, const Operand& other);
Tensor ger(const Operand& self, const Operand& vec2);
Tensor addr(const Operand& self, const Operand& vec1, const Operand& vec2, const Scalar& beta = 1,
            const Scalar& alpha = 1);
Tensor addbmm(const Operand& self, const Operand& batch1, const Operand& batch2, const Scalar& beta = 1,
              const Scalar& alpha = 1);
Tensor chain_matmul(TensorList matrices);
// Along the given dim, which must have size 3; without one, the first that has.
Tensor cross(const Operand& self, const Operand& other, optional<int64_t> dim = nullopt);
Tensor linalg_cross(const Operand& self, const Operand& other, int64_t dim = -1);
Tensor cartesian_prod(TensorList tensors);  // of vectors: [product of their sizes, vectors]

// --- diagonals and triangles
Tensor diag(const Operand& self, int64_t diagonal = 0);  // vector -> matrix, matrix -> a copy of its diagonal
Tensor diag_embed(const Operand& self, int64_t offset = 0, int64_t dim1 = -2, int64_t dim2 = -1);
Tensor diagflat(const Operand& self, int64_t offset = 0);
Tensor trace(const Operand& self);
Tensor tril(const Operand& self, int64_t diagonal = 0);
Tensor triu(const Operand& self, int64_t diagonal = 0);
// Rows and columns of the places in a triangle, row by row: [2, count].
Tensor tril_indices(int64_t row, int64_t col, int64_t offset = 0, const TensorOptions& options = kLong);
Tensor triu_indices(int64_t row, int64_t col, int64_t offset = 0, const TensorOptions& options = kLong);
Tensor block_diag(TensorList tensors);

// --- rearranging and repeating
Tensor rot90(const Operand& self, int64_t k = 1, IntArrayRef dims = {0, 1});
Tensor repeat_interleave(const Operand& self, int64_t repeats, optional<int64_t> dim = nullopt);
// The size of the result depends on `repeats`, which is evaluated.
Tensor repeat_interleave(const Operand& self, const Operand& repeats, optional<int64_t> dim = nullopt,
                         optional<int64_t> output_size = nullopt);
// 0 repeats[0] times, 1 repeats[1] times, ...
Tensor repeat_interleave(const Operand& repeats, optional<int64_t> output_size = nullopt);
Tensor sum_to_size(const Operand& self, IntArrayRef size);  // the inverse of expanding

// --- statistics
Tensor nanmean(const Operand& self, OptionalIntArrayRef dim = nullopt, bool keepdim = false,
               optional<ScalarType> dtype = nullopt);
// Rows are variables, columns observations, weighted by counts (fweights, integers) and by importance: a
// [variables, variables] matrix.
Tensor cov(const Operand& self, int64_t correction = 1,
           const optional<Tensor>& fweights = detail::no_tensor(),
           const optional<Tensor>& aweights = detail::no_tensor());
Tensor corrcoef(const Operand& self);  // cov over both standard deviations
// Each element minus the one before, n times over.
Tensor diff(const Operand& self, int64_t n = 1, int64_t dim = -1,
            const optional<Tensor>& prepend = detail::no_tensor(),
            const optional<Tensor>& append = detail::no_tensor());
// The area under y at points dx apart, or at x.
Tensor trapezoid(const Operand& y, const Scalar& dx = 1, int64_t dim = -1);
Tensor trapezoid(const Operand& y, const Operand& x, int64_t dim = -1);
Tensor dist(const Operand& self, const Operand& other, const Scalar& p = 2);
Tensor linalg_vector_norm(const Operand& self, const Scalar& ord = 2, OptionalIntArrayRef dim = nullopt,
                          bool keepdim = false, optional<ScalarType> dtype = nullopt);
namespace linalg {
Tensor cross(const Operand& self, const Operand& other, int64_t dim = -1);
Tensor vector_norm(const Operand& self, const Scalar& ord = 2, OptionalIntArrayRef dim = nullopt,
                   bool keepdim = false, optional<ScalarType> dtype = nullopt);
}  // namespace linalg

}  // namespace tenon
