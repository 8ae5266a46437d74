// Printed from frontend/functions.def by scripts/print/make_functions.py.
// Elementwise functions beside those of ops.h: other names, a number as the first operand, the parts of floats,
// bounds on norms. Included by tensor.h, which has the methods.
#pragma once

#include "tenon/function_types.h"

namespace tenon {

// --- other names
Tensor subtract(const Operand& self, const Operand& other, const Scalar& alpha = 1);
Tensor subtract(const Operand& self, const Scalar& other, const Scalar& alpha = 1);
Tensor divide(const Operand& self, const Operand& other);
Tensor divide(const Operand& self, const Scalar& other);
Tensor divide(const Operand& self, const Operand& other, optional<std::string_view> rounding_mode);
Tensor divide(const Operand& self, const Scalar& other, optional<std::string_view> rounding_mode);
Tensor clip(const Operand& self, const optional<Scalar>& min, const optional<Scalar>& max = nullopt);
Tensor clip(const Operand& self, const optional<Tensor>& min, const optional<Tensor>& max);
ScalarType result_type(const Scalar& scalar, const Operand& tensor);
ScalarType result_type(const Scalar& scalar1, const Scalar& scalar2);

// --- a number first
Tensor rsub(const Operand& self, const Operand& other, const Scalar& alpha = 1);  // other - alpha * self
Tensor float_power(const Scalar& self, const Operand& exponent);
Tensor xlogy(const Scalar& self, const Operand& other);
Tensor remainder(const Scalar& self, const Operand& other);
Tensor bitwise_and(const Scalar& self, const Operand& other);
Tensor bitwise_or(const Scalar& self, const Operand& other);
Tensor bitwise_xor(const Scalar& self, const Operand& other);
Tensor bitwise_left_shift(const Scalar& self, const Operand& other);
Tensor bitwise_right_shift(const Scalar& self, const Operand& other);

// x = mantissa * 2^exponent, 0.5 <= |mantissa| < 1; the exponent is int32. 0, inf and nan are their own mantissa.
std::tuple<Tensor, Tensor> frexp(const Operand& self);

// --- of the gamma function
Tensor polygamma(int64_t n, const Operand& self);  // the n-th derivative of digamma
Tensor mvlgamma(const Operand& self, int64_t p);  // the logarithm of the multivariate gamma function

// --- bounds on norms
// The slices along dim, scaled down to a p-norm of maxnorm where it is larger.
Tensor renorm(const Operand& self, const Scalar& p, int64_t dim, const Scalar& maxnorm);
// The p-norm over all dims but one, which stays; over all if dim is -1.
Tensor norm_except_dim(const Operand& v, int64_t pow = 2, int64_t dim = 0);

}  // namespace tenon
