// Sums of products by formula, structured matrices and index grids, with LibTorch's names, argument order and
// defaults.
#pragma once

#include <string_view>

#include "tenon/tensor.h"

namespace tenon {

// --- products
// einsum("bij,bjk->bik", {a, b}): one letter a dim, "..." for dims that broadcast; letters missing on the
// right are summed.
Tensor einsum(std::string_view equation, TensorList tensors, OptionalIntArrayRef path = nullopt);
Tensor tensordot(const Tensor& self, const Tensor& other, IntArrayRef dims_self, IntArrayRef dims_other);
Tensor kron(const Tensor& self, const Tensor& other);
Tensor inner(const Tensor& self, const Tensor& other);  // over the last dims
Tensor vdot(const Tensor& self, const Tensor& other);
Tensor ger(const Tensor& self, const Tensor& vec2);
Tensor addr(const Tensor& self, const Tensor& vec1, const Tensor& vec2, const Scalar& beta = 1,
            const Scalar& alpha = 1);
Tensor addbmm(const Tensor& self, const Tensor& batch1, const Tensor& batch2, const Scalar& beta = 1,
              const Scalar& alpha = 1);
Tensor chain_matmul(TensorList matrices);
// Along the given dim, which must have size 3; without one, the first that has.
Tensor cross(const Tensor& self, const Tensor& other, optional<int64_t> dim = nullopt);
Tensor linalg_cross(const Tensor& self, const Tensor& other, int64_t dim = -1);
Tensor cartesian_prod(TensorList tensors);  // of vectors: [product of their sizes, vectors]

// --- diagonals and triangles
Tensor diag(const Tensor& self, int64_t diagonal = 0);  // vector -> matrix, matrix -> a copy of its diagonal
Tensor diag_embed(const Tensor& self, int64_t offset = 0, int64_t dim1 = -2, int64_t dim2 = -1);
Tensor diagflat(const Tensor& self, int64_t offset = 0);
Tensor trace(const Tensor& self);
Tensor tril(const Tensor& self, int64_t diagonal = 0);
Tensor triu(const Tensor& self, int64_t diagonal = 0);
// Rows and columns of the places in a triangle, row by row: [2, count].
Tensor tril_indices(int64_t row, int64_t col, int64_t offset = 0, const TensorOptions& options = kLong);
Tensor triu_indices(int64_t row, int64_t col, int64_t offset = 0, const TensorOptions& options = kLong);
Tensor block_diag(TensorList tensors);

// --- rearranging and repeating
Tensor rot90(const Tensor& self, int64_t k = 1, IntArrayRef dims = {0, 1});
Tensor repeat_interleave(const Tensor& self, int64_t repeats, optional<int64_t> dim = nullopt);
// The size of the result depends on `repeats`, which is evaluated.
Tensor repeat_interleave(const Tensor& self, const Tensor& repeats, optional<int64_t> dim = nullopt,
                         optional<int64_t> output_size = nullopt);
// 0 repeats[0] times, 1 repeats[1] times, ...
Tensor repeat_interleave(const Tensor& repeats, optional<int64_t> output_size = nullopt);
Tensor sum_to_size(const Tensor& self, IntArrayRef size);  // the inverse of expanding
Tensor diff(const Tensor& self, int64_t n = 1, int64_t dim = -1, const optional<Tensor>& prepend = nullopt,
            const optional<Tensor>& append = nullopt);

// --- statistics
Tensor nanmean(const Tensor& self, OptionalIntArrayRef dim = nullopt, bool keepdim = false,
               optional<ScalarType> dtype = nullopt);
// Rows are variables, columns observations, weighted by counts (fweights, integers) and by importance: a
// [variables, variables] matrix.
Tensor cov(const Tensor& self, int64_t correction = 1, const optional<Tensor>& fweights = nullopt,
           const optional<Tensor>& aweights = nullopt);
Tensor corrcoef(const Tensor& self);
// The area under y at points dx apart, or at x.
Tensor trapezoid(const Tensor& y, const Scalar& dx = 1, int64_t dim = -1);
Tensor trapezoid(const Tensor& y, const Tensor& x, int64_t dim = -1);
Tensor dist(const Tensor& self, const Tensor& other, const Scalar& p = 2);
Tensor linalg_vector_norm(const Tensor& self, const Scalar& ord = 2, OptionalIntArrayRef dim = nullopt,
                          bool keepdim = false, optional<ScalarType> dtype = nullopt);
namespace linalg {
inline Tensor cross(const Tensor& self, const Tensor& other, int64_t dim = -1) {
  return linalg_cross(self, other, dim);
}
inline Tensor vector_norm(const Tensor& self, const Scalar& ord = 2, OptionalIntArrayRef dim = nullopt,
                          bool keepdim = false, optional<ScalarType> dtype = nullopt) {
  return linalg_vector_norm(self, ord, dim, keepdim, dtype);
}
}  // namespace linalg

// base ** x for x from start to end in equal steps.
Tensor logspace(const Scalar& start, const Scalar& end, int64_t steps, double base = 10.0,
                const TensorOptions& options = {});

}  // namespace tenon
