// Printed from frontend/functions.def by scripts/print/make_functions.py.
// Methods that write into their tensor, as functions: relu_(x) is x.relu_(). Included by tenon.h.
#pragma once

#include "tenon/tensor.h"

namespace tenon {

// --- elementwise
Tensor& abs_(Tensor& self);
Tensor& absolute_(Tensor& self);
Tensor& neg_(Tensor& self);
Tensor& negative_(Tensor& self);
Tensor& sign_(Tensor& self);
Tensor& sgn_(Tensor& self);
Tensor& square_(Tensor& self);
Tensor& sqrt_(Tensor& self);
Tensor& rsqrt_(Tensor& self);
Tensor& reciprocal_(Tensor& self);
Tensor& exp_(Tensor& self);
Tensor& exp2_(Tensor& self);
Tensor& expm1_(Tensor& self);
Tensor& log_(Tensor& self);
Tensor& log2_(Tensor& self);
Tensor& log10_(Tensor& self);
Tensor& log1p_(Tensor& self);
Tensor& sin_(Tensor& self);
Tensor& cos_(Tensor& self);
Tensor& tan_(Tensor& self);
Tensor& asin_(Tensor& self);
Tensor& arcsin_(Tensor& self);
Tensor& acos_(Tensor& self);
Tensor& arccos_(Tensor& self);
Tensor& atan_(Tensor& self);
Tensor& arctan_(Tensor& self);
Tensor& sinh_(Tensor& self);
Tensor& cosh_(Tensor& self);
Tensor& tanh_(Tensor& self);
Tensor& asinh_(Tensor& self);
Tensor& arcsinh_(Tensor& self);
Tensor& acosh_(Tensor& self);
Tensor& arccosh_(Tensor& self);
Tensor& atanh_(Tensor& self);
Tensor& arctanh_(Tensor& self);
Tensor& sigmoid_(Tensor& self);
Tensor& erf_(Tensor& self);
Tensor& erfc_(Tensor& self);
Tensor& erfinv_(Tensor& self);
Tensor& lgamma_(Tensor& self);
Tensor& floor_(Tensor& self);
Tensor& ceil_(Tensor& self);
Tensor& trunc_(Tensor& self);
Tensor& fix_(Tensor& self);
Tensor& round_(Tensor& self);
Tensor& frac_(Tensor& self);
Tensor& logical_not_(Tensor& self);
Tensor& bitwise_not_(Tensor& self);
Tensor& relu_(Tensor& self);
Tensor& deg2rad_(Tensor& self);
Tensor& rad2deg_(Tensor& self);
Tensor& digamma_(Tensor& self);
Tensor& i0_(Tensor& self);
Tensor& sinc_(Tensor& self);
Tensor& conj_physical_(Tensor& self);
Tensor& relu6_(Tensor& self);
Tensor& selu_(Tensor& self);
Tensor& silu_(Tensor& self);
Tensor& mish_(Tensor& self);
Tensor& hardsigmoid_(Tensor& self);
Tensor& hardswish_(Tensor& self);
Tensor& atan2_(Tensor& self, const Operand& other);
Tensor& arctan2_(Tensor& self, const Operand& other);
Tensor& hypot_(Tensor& self, const Operand& other);
Tensor& logical_and_(Tensor& self, const Operand& other);
Tensor& logical_or_(Tensor& self, const Operand& other);
Tensor& logical_xor_(Tensor& self, const Operand& other);
Tensor& heaviside_(Tensor& self, const Operand& other);
Tensor& nextafter_(Tensor& self, const Operand& other);
Tensor& ldexp_(Tensor& self, const Operand& other);
Tensor& gcd_(Tensor& self, const Operand& other);
Tensor& lcm_(Tensor& self, const Operand& other);
Tensor& xlogy_(Tensor& self, const Operand& other);
Tensor& xlogy_(Tensor& self, const Scalar& other);
Tensor& clamp_(Tensor& self, const optional<Scalar>& min, const optional<Scalar>& max = nullopt);
Tensor& clamp_(Tensor& self, const optional<Tensor>& min, const optional<Tensor>& max);
Tensor& clamp_min_(Tensor& self, const Scalar& min);
Tensor& clamp_max_(Tensor& self, const Scalar& max);
Tensor& nan_to_num_(Tensor& self, optional<double> nan = nullopt, optional<double> posinf = nullopt,
                    optional<double> neginf = nullopt);
Tensor& logit_(Tensor& self, optional<double> eps = nullopt);
Tensor& leaky_relu_(Tensor& self, const Scalar& negative_slope = 0.01);
Tensor& elu_(Tensor& self, const Scalar& alpha = 1, const Scalar& scale = 1, const Scalar& input_scale = 1);
Tensor& celu_(Tensor& self, const Scalar& alpha = 1.0);
Tensor& gelu_(Tensor& self, std::string_view approximate = "none");
Tensor& hardtanh_(Tensor& self, const Scalar& min_val = -1, const Scalar& max_val = 1);
Tensor& threshold_(Tensor& self, const Scalar& threshold, const Scalar& value);

// --- matrix products
Tensor& addmv_(Tensor& self, const Operand& mat, const Operand& vec, const Scalar& beta = 1,
               const Scalar& alpha = 1);

// --- other names
Tensor& clip_(Tensor& self, const optional<Scalar>& min, const optional<Scalar>& max = nullopt);

// --- values from elsewhere
Tensor& fill_(Tensor& self, const Scalar& value);
Tensor& fill_(Tensor& self, const Operand& value);
Tensor& zero_(Tensor& self);

// --- the memory that a tensor shows
const Tensor& resize_as_(const Tensor& self, const Tensor& the_template);

}  // namespace tenon
