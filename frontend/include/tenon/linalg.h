// Printed from frontend/functions.def by scripts/print/make_functions.py.
// LibTorch's namespace linalg, as far as it needs no decomposition; the rest is named in absent.h.
#pragma once

#include "tenon/tensor.h"

namespace tenon {

// ord is any number for vectors; 1 and -1 (columns), inf and -inf (rows) or "fro" for matrices. Without one: the
// 2-norm of all elements of the dims.
Tensor linalg_norm(const Operand& self, const optional<Scalar>& ord = nullopt,
                   OptionalIntArrayRef dim = nullopt, bool keepdim = false,
                   optional<ScalarType> dtype = nullopt);
Tensor linalg_norm(const Operand& self, std::string_view ord, OptionalIntArrayRef dim = nullopt,
                   bool keepdim = false, optional<ScalarType> dtype = nullopt);
Tensor linalg_matrix_norm(const Operand& self, const Scalar& ord, IntArrayRef dim = {-2, -1},
                          bool keepdim = false, optional<ScalarType> dtype = nullopt);
Tensor linalg_matrix_norm(const Operand& self, std::string_view ord = "fro", IntArrayRef dim = {-2, -1},
                          bool keepdim = false, optional<ScalarType> dtype = nullopt);
Tensor linalg_matrix_power(const Operand& self, int64_t n);  // n >= 0
Tensor linalg_multi_dot(TensorList tensors);  // in the order that needs the fewest products
Tensor linalg_vecdot(const Operand& x, const Operand& y, int64_t dim = -1);
Tensor linalg_diagonal(const Operand& A, int64_t offset = 0, int64_t dim1 = -2, int64_t dim2 = -1);
Tensor linalg_matmul(const Operand& self, const Operand& other);
Tensor linalg_vander(const Operand& x, optional<int64_t> N = nullopt);  // powers 0, 1, ... as a new last dim
Tensor frobenius_norm(const Operand& self, IntArrayRef dim, bool keepdim = false);

namespace linalg {
Tensor norm(const Operand& self, const optional<Scalar>& ord, OptionalIntArrayRef dim, bool keepdim,
            optional<ScalarType> dtype);
Tensor norm(const Operand& self, std::string_view ord, OptionalIntArrayRef dim, bool keepdim,
            optional<ScalarType> dtype);
Tensor norm(const Operand& self);
Tensor matrix_norm(const Operand& self, const Scalar& ord, IntArrayRef dim = {-2, -1}, bool keepdim = false,
                   optional<ScalarType> dtype = nullopt);
Tensor matrix_norm(const Operand& self, std::string_view ord = "fro", IntArrayRef dim = {-2, -1},
                   bool keepdim = false, optional<ScalarType> dtype = nullopt);
Tensor matrix_power(const Operand& self, int64_t n);
Tensor multi_dot(TensorList tensors);
Tensor vecdot(const Operand& x, const Operand& y, int64_t dim = -1);
Tensor diagonal(const Operand& A, int64_t offset = 0, int64_t dim1 = -2, int64_t dim2 = -1);
Tensor matmul(const Operand& self, const Operand& other);
Tensor vander(const Operand& x, optional<int64_t> N = nullopt);
}  // namespace linalg

}  // namespace tenon
