// The operations whose signature is regular, by name. tensor.h declares each as a function and as a method
// from these lists; the files in frontend/src define each function once.
#pragma once

#include "tenon/cxx20.h"

// Tensor name(self), and Tensor& name_(self)
#define TENON_UNARY_INPLACE_OPS(X)                                                                       \
  X(abs)                                                                                                 \
  X(absolute)                                                                                            \
  X(neg) X(negative) X(sign) X(sgn) X(square) X(sqrt) X(rsqrt) X(reciprocal) X(exp) X(exp2) X(expm1)     \
      X(log) X(log2) X(log10) X(log1p) X(sin) X(cos) X(tan) X(asin) X(arcsin) X(acos) X(arccos) X(atan)  \
          X(arctan) X(sinh) X(cosh) X(tanh) X(asinh) X(arcsinh) X(acosh) X(arccosh) X(atanh) X(arctanh)  \
              X(sigmoid) X(erf) X(erfc) X(erfinv) X(lgamma) X(floor) X(ceil) X(trunc) X(fix) X(round)    \
                  X(frac) X(logical_not) X(bitwise_not) X(relu) X(deg2rad) X(rad2deg) X(digamma) X(i0)     \
                      X(sinc) X(conj_physical)
// ... and those that are never in place
#define TENON_UNARY_PURE_OPS(X) \
  X(positive) X(signbit) X(isnan) X(isinf) X(isfinite) X(isposinf) X(isneginf) X(isreal) X(angle)
#define TENON_UNARY_OPS(X) TENON_UNARY_INPLACE_OPS(X) TENON_UNARY_PURE_OPS(X)

// Tensor name(self, other), both tensors, and Tensor& name_(self, other)
#define TENON_BINARY_TENSOR_INPLACE_OPS(X) \
  X(atan2) X(arctan2) X(hypot) X(logical_and) X(logical_or) X(logical_xor) X(heaviside) X(nextafter) X(ldexp) X(gcd) X(lcm)
#define TENON_BINARY_TENSOR_PURE_OPS(X) \
  X(maximum) X(minimum) X(fmax) X(fmin) X(logaddexp) X(logaddexp2)
#define TENON_BINARY_TENSOR_OPS(X) TENON_BINARY_TENSOR_INPLACE_OPS(X) TENON_BINARY_TENSOR_PURE_OPS(X)

// Tensor name(self, other), other a tensor or a number, and Tensor& name_(self, other)
#define TENON_BINARY_OPS(X)                                                                              \
  X(mul)                                                                                                 \
  X(multiply)                                                                                            \
  X(remainder) X(fmod) X(floor_divide) X(true_divide) X(copysign) X(xlogy) X(eq) X(ne) X(lt) X(le) X(gt) \
      X(ge) X(not_equal) X(less) X(less_equal) X(greater) X(greater_equal) X(bitwise_and) X(bitwise_or)  \
          X(bitwise_xor) X(bitwise_left_shift) X(bitwise_right_shift)

// Activations that LibTorch has as functions only: Tensor name(self)
#define TENON_ACTIVATIONS(X) \
  X(relu6) X(selu) X(silu) X(mish) X(hardsigmoid) X(hardswish) X(softsign) X(tanhshrink) X(log_sigmoid)

// C++ operators over a tensor and a tensor or number; tensor.h alone wants them, and undefines them
#define TENON_ARITHMETIC_OPERATORS(X) X(+, add) X(-, sub) X(*, mul) X(/, div)
#define TENON_OTHER_OPERATORS(X) X(%, remainder) X(&, bitwise_and) X(|, bitwise_or) X(^, bitwise_xor)
#define TENON_COMPARISON_OPERATORS(X) \
  X(==, eq, eq) X(!=, ne, ne) X(<, lt, gt) X(<=, le, ge) X(>, gt, lt) X(>=, ge, le)
