// LibTorch's namespace linalg, as far as it needs no decomposition; the rest is named in absent.h.
#pragma once

#include "tenon/tensor.h"

namespace tenon {

// ord of vectors: any number. Of matrices: 1 and -1 (columns), inf and -inf (rows), "fro". Without one the
// 2-norm of all elements of the dims.
Tensor linalg_norm(const Operand& self, const optional<Scalar>& ord = nullopt, OptionalIntArrayRef dim = nullopt,
                   bool keepdim = false, optional<ScalarType> dtype = nullopt);
Tensor linalg_norm(const Operand& self, std::string_view ord, OptionalIntArrayRef dim = nullopt, bool keepdim = false,
                   optional<ScalarType> dtype = nullopt);
Tensor linalg_matrix_norm(const Operand& self, const Scalar& ord, IntArrayRef dim = {-2, -1}, bool keepdim = false,
                          optional<ScalarType> dtype = nullopt);
Tensor linalg_matrix_norm(const Operand& self, std::string_view ord = "fro", IntArrayRef dim = {-2, -1},
                          bool keepdim = false, optional<ScalarType> dtype = nullopt);
Tensor linalg_matrix_power(const Operand& self, int64_t n);  // n >= 0
Tensor linalg_multi_dot(TensorList tensors);                // in the order that needs the fewest products
Tensor linalg_vecdot(const Operand& x, const Operand& y, int64_t dim = -1);
Tensor linalg_diagonal(const Operand& A, int64_t offset = 0, int64_t dim1 = -2, int64_t dim2 = -1);
Tensor linalg_matmul(const Operand& self, const Operand& other);
Tensor linalg_vander(const Operand& x, optional<int64_t> N = nullopt);  // powers 0, 1, ... as a new last dim
Tensor frobenius_norm(const Operand& self, IntArrayRef dim, bool keepdim = false);

namespace linalg {
inline Tensor norm(const Operand& self, const optional<Scalar>& ord, OptionalIntArrayRef dim, bool keepdim,
                   optional<ScalarType> dtype) {
  return linalg_norm(self, ord, dim, keepdim, dtype);
}
inline Tensor norm(const Operand& self, std::string_view ord, OptionalIntArrayRef dim, bool keepdim,
                   optional<ScalarType> dtype) {
  return linalg_norm(self, ord, dim, keepdim, dtype);
}
inline Tensor norm(const Operand& self) { return linalg_norm(self); }
inline Tensor matrix_norm(const Operand& self, const Scalar& ord, IntArrayRef dim = {-2, -1}, bool keepdim = false,
                          optional<ScalarType> dtype = nullopt) {
  return linalg_matrix_norm(self, ord, dim, keepdim, dtype);
}
inline Tensor matrix_norm(const Operand& self, std::string_view ord = "fro", IntArrayRef dim = {-2, -1},
                          bool keepdim = false, optional<ScalarType> dtype = nullopt) {
  return linalg_matrix_norm(self, ord, dim, keepdim, dtype);
}
inline Tensor matrix_power(const Operand& self, int64_t n) { return linalg_matrix_power(self, n); }
inline Tensor multi_dot(TensorList tensors) { return linalg_multi_dot(tensors); }
inline Tensor vecdot(const Operand& x, const Operand& y, int64_t dim = -1) { return linalg_vecdot(x, y, dim); }
inline Tensor diagonal(const Operand& A, int64_t offset = 0, int64_t dim1 = -2, int64_t dim2 = -1) {
  return linalg_diagonal(A, offset, dim1, dim2);
}
inline Tensor matmul(const Operand& self, const Operand& other) { return linalg_matmul(self, other); }
inline Tensor vander(const Operand& x, optional<int64_t> N = nullopt) { return linalg_vander(x, N); }
}  // namespace linalg

}  // namespace tenon
