// Printed from frontend/functions.def by scripts/print/make_functions.py.
// The out forms: the operation, assigned to a tensor of the right shape.
#include "frontend/src/ops/out.h"
#include "frontend/src/tensor/call.h"
#include "tenon/out_forms.h"
#include "tenon/tenon.h"

namespace tenon {

Tensor& abs_out(Tensor& out, const Operand& self) {
  const CallScope call("abs_out", out, self);
  return put_out(out, tenon::abs(self), "abs");
}
Tensor& absolute_out(Tensor& out, const Operand& self) {
  const CallScope call("absolute_out", out, self);
  return put_out(out, tenon::absolute(self), "absolute");
}
Tensor& neg_out(Tensor& out, const Operand& self) {
  const CallScope call("neg_out", out, self);
  return put_out(out, tenon::neg(self), "neg");
}
Tensor& negative_out(Tensor& out, const Operand& self) {
  const CallScope call("negative_out", out, self);
  return put_out(out, tenon::negative(self), "negative");
}
Tensor& sign_out(Tensor& out, const Operand& self) {
  const CallScope call("sign_out", out, self);
  return put_out(out, tenon::sign(self), "sign");
}
Tensor& sgn_out(Tensor& out, const Operand& self) {
  const CallScope call("sgn_out", out, self);
  return put_out(out, tenon::sgn(self), "sgn");
}
Tensor& square_out(Tensor& out, const Operand& self) {
  const CallScope call("square_out", out, self);
  return put_out(out, tenon::square(self), "square");
}
Tensor& sqrt_out(Tensor& out, const Operand& self) {
  const CallScope call("sqrt_out", out, self);
  return put_out(out, tenon::sqrt(self), "sqrt");
}
Tensor& rsqrt_out(Tensor& out, const Operand& self) {
  const CallScope call("rsqrt_out", out, self);
  return put_out(out, tenon::rsqrt(self), "rsqrt");
}
Tensor& reciprocal_out(Tensor& out, const Operand& self) {
  const CallScope call("reciprocal_out", out, self);
  return put_out(out, tenon::reciprocal(self), "reciprocal");
}
Tensor& exp_out(Tensor& out, const Operand& self) {
  const CallScope call("exp_out", out, self);
  return put_out(out, tenon::exp(self), "exp");
}
Tensor& exp2_out(Tensor& out, const Operand& self) {
  const CallScope call("exp2_out", out, self);
  return put_out(out, tenon::exp2(self), "exp2");
}
Tensor& expm1_out(Tensor& out, const Operand& self) {
  const CallScope call("expm1_out", out, self);
  return put_out(out, tenon::expm1(self), "expm1");
}
Tensor& log_out(Tensor& out, const Operand& self) {
  const CallScope call("log_out", out, self);
  return put_out(out, tenon::log(self), "log");
}
Tensor& log2_out(Tensor& out, const Operand& self) {
  const CallScope call("log2_out", out, self);
  return put_out(out, tenon::log2(self), "log2");
}
Tensor& log10_out(Tensor& out, const Operand& self) {
  const CallScope call("log10_out", out, self);
  return put_out(out, tenon::log10(self), "log10");
}
Tensor& log1p_out(Tensor& out, const Operand& self) {
  const CallScope call("log1p_out", out, self);
  return put_out(out, tenon::log1p(self), "log1p");
}
Tensor& sin_out(Tensor& out, const Operand& self) {
  const CallScope call("sin_out", out, self);
  return put_out(out, tenon::sin(self), "sin");
}
Tensor& cos_out(Tensor& out, const Operand& self) {
  const CallScope call("cos_out", out, self);
  return put_out(out, tenon::cos(self), "cos");
}
Tensor& tan_out(Tensor& out, const Operand& self) {
  const CallScope call("tan_out", out, self);
  return put_out(out, tenon::tan(self), "tan");
}
Tensor& asin_out(Tensor& out, const Operand& self) {
  const CallScope call("asin_out", out, self);
  return put_out(out, tenon::asin(self), "asin");
}
Tensor& arcsin_out(Tensor& out, const Operand& self) {
  const CallScope call("arcsin_out", out, self);
  return put_out(out, tenon::arcsin(self), "arcsin");
}
Tensor& acos_out(Tensor& out, const Operand& self) {
  const CallScope call("acos_out", out, self);
  return put_out(out, tenon::acos(self), "acos");
}
Tensor& arccos_out(Tensor& out, const Operand& self) {
  const CallScope call("arccos_out", out, self);
  return put_out(out, tenon::arccos(self), "arccos");
}
Tensor& atan_out(Tensor& out, const Operand& self) {
  const CallScope call("atan_out", out, self);
  return put_out(out, tenon::atan(self), "atan");
}
Tensor& arctan_out(Tensor& out, const Operand& self) {
  const CallScope call("arctan_out", out, self);
  return put_out(out, tenon::arctan(self), "arctan");
}
Tensor& sinh_out(Tensor& out, const Operand& self) {
  const CallScope call("sinh_out", out, self);
  return put_out(out, tenon::sinh(self), "sinh");
}
Tensor& cosh_out(Tensor& out, const Operand& self) {
  const CallScope call("cosh_out", out, self);
  return put_out(out, tenon::cosh(self), "cosh");
}
Tensor& tanh_out(Tensor& out, const Operand& self) {
  const CallScope call("tanh_out", out, self);
  return put_out(out, tenon::tanh(self), "tanh");
}
Tensor& asinh_out(Tensor& out, const Operand& self) {
  const CallScope call("asinh_out", out, self);
  return put_out(out, tenon::asinh(self), "asinh");
}
Tensor& arcsinh_out(Tensor& out, const Operand& self) {
  const CallScope call("arcsinh_out", out, self);
  return put_out(out, tenon::arcsinh(self), "arcsinh");
}
Tensor& acosh_out(Tensor& out, const Operand& self) {
  const CallScope call("acosh_out", out, self);
  return put_out(out, tenon::acosh(self), "acosh");
}
Tensor& arccosh_out(Tensor& out, const Operand& self) {
  const CallScope call("arccosh_out", out, self);
  return put_out(out, tenon::arccosh(self), "arccosh");
}
Tensor& atanh_out(Tensor& out, const Operand& self) {
  const CallScope call("atanh_out", out, self);
  return put_out(out, tenon::atanh(self), "atanh");
}
Tensor& arctanh_out(Tensor& out, const Operand& self) {
  const CallScope call("arctanh_out", out, self);
  return put_out(out, tenon::arctanh(self), "arctanh");
}
Tensor& sigmoid_out(Tensor& out, const Operand& self) {
  const CallScope call("sigmoid_out", out, self);
  return put_out(out, tenon::sigmoid(self), "sigmoid");
}
Tensor& erf_out(Tensor& out, const Operand& self) {
  const CallScope call("erf_out", out, self);
  return put_out(out, tenon::erf(self), "erf");
}
Tensor& erfc_out(Tensor& out, const Operand& self) {
  const CallScope call("erfc_out", out, self);
  return put_out(out, tenon::erfc(self), "erfc");
}
Tensor& erfinv_out(Tensor& out, const Operand& self) {
  const CallScope call("erfinv_out", out, self);
  return put_out(out, tenon::erfinv(self), "erfinv");
}
Tensor& lgamma_out(Tensor& out, const Operand& self) {
  const CallScope call("lgamma_out", out, self);
  return put_out(out, tenon::lgamma(self), "lgamma");
}
Tensor& floor_out(Tensor& out, const Operand& self) {
  const CallScope call("floor_out", out, self);
  return put_out(out, tenon::floor(self), "floor");
}
Tensor& ceil_out(Tensor& out, const Operand& self) {
  const CallScope call("ceil_out", out, self);
  return put_out(out, tenon::ceil(self), "ceil");
}
Tensor& trunc_out(Tensor& out, const Operand& self) {
  const CallScope call("trunc_out", out, self);
  return put_out(out, tenon::trunc(self), "trunc");
}
Tensor& fix_out(Tensor& out, const Operand& self) {
  const CallScope call("fix_out", out, self);
  return put_out(out, tenon::fix(self), "fix");
}
Tensor& round_out(Tensor& out, const Operand& self) {
  const CallScope call("round_out", out, self);
  return put_out(out, tenon::round(self), "round");
}
Tensor& frac_out(Tensor& out, const Operand& self) {
  const CallScope call("frac_out", out, self);
  return put_out(out, tenon::frac(self), "frac");
}
Tensor& logical_not_out(Tensor& out, const Operand& self) {
  const CallScope call("logical_not_out", out, self);
  return put_out(out, tenon::logical_not(self), "logical_not");
}
Tensor& bitwise_not_out(Tensor& out, const Operand& self) {
  const CallScope call("bitwise_not_out", out, self);
  return put_out(out, tenon::bitwise_not(self), "bitwise_not");
}
Tensor& relu_out(Tensor& out, const Operand& self) {
  const CallScope call("relu_out", out, self);
  return put_out(out, tenon::relu(self), "relu");
}
Tensor& deg2rad_out(Tensor& out, const Operand& self) {
  const CallScope call("deg2rad_out", out, self);
  return put_out(out, tenon::deg2rad(self), "deg2rad");
}
Tensor& rad2deg_out(Tensor& out, const Operand& self) {
  const CallScope call("rad2deg_out", out, self);
  return put_out(out, tenon::rad2deg(self), "rad2deg");
}
Tensor& digamma_out(Tensor& out, const Operand& self) {
  const CallScope call("digamma_out", out, self);
  return put_out(out, tenon::digamma(self), "digamma");
}
Tensor& i0_out(Tensor& out, const Operand& self) {
  const CallScope call("i0_out", out, self);
  return put_out(out, tenon::i0(self), "i0");
}
Tensor& sinc_out(Tensor& out, const Operand& self) {
  const CallScope call("sinc_out", out, self);
  return put_out(out, tenon::sinc(self), "sinc");
}
Tensor& conj_physical_out(Tensor& out, const Operand& self) {
  const CallScope call("conj_physical_out", out, self);
  return put_out(out, tenon::conj_physical(self), "conj_physical");
}
Tensor& positive_out(Tensor& out, const Operand& self) {
  const CallScope call("positive_out", out, self);
  return put_out(out, tenon::positive(self), "positive");
}
Tensor& signbit_out(Tensor& out, const Operand& self) {
  const CallScope call("signbit_out", out, self);
  return put_out(out, tenon::signbit(self), "signbit");
}
Tensor& isnan_out(Tensor& out, const Operand& self) {
  const CallScope call("isnan_out", out, self);
  return put_out(out, tenon::isnan(self), "isnan");
}
Tensor& isinf_out(Tensor& out, const Operand& self) {
  const CallScope call("isinf_out", out, self);
  return put_out(out, tenon::isinf(self), "isinf");
}
Tensor& isfinite_out(Tensor& out, const Operand& self) {
  const CallScope call("isfinite_out", out, self);
  return put_out(out, tenon::isfinite(self), "isfinite");
}
Tensor& isposinf_out(Tensor& out, const Operand& self) {
  const CallScope call("isposinf_out", out, self);
  return put_out(out, tenon::isposinf(self), "isposinf");
}
Tensor& isneginf_out(Tensor& out, const Operand& self) {
  const CallScope call("isneginf_out", out, self);
  return put_out(out, tenon::isneginf(self), "isneginf");
}
Tensor& isreal_out(Tensor& out, const Operand& self) {
  const CallScope call("isreal_out", out, self);
  return put_out(out, tenon::isreal(self), "isreal");
}
Tensor& angle_out(Tensor& out, const Operand& self) {
  const CallScope call("angle_out", out, self);
  return put_out(out, tenon::angle(self), "angle");
}
Tensor& silu_out(Tensor& out, const Operand& self) {
  const CallScope call("silu_out", out, self);
  return put_out(out, tenon::silu(self), "silu");
}
Tensor& mish_out(Tensor& out, const Operand& self) {
  const CallScope call("mish_out", out, self);
  return put_out(out, tenon::mish(self), "mish");
}
Tensor& hardsigmoid_out(Tensor& out, const Operand& self) {
  const CallScope call("hardsigmoid_out", out, self);
  return put_out(out, tenon::hardsigmoid(self), "hardsigmoid");
}
Tensor& hardswish_out(Tensor& out, const Operand& self) {
  const CallScope call("hardswish_out", out, self);
  return put_out(out, tenon::hardswish(self), "hardswish");
}
Tensor& log_sigmoid_out(Tensor& out, const Operand& self) {
  const CallScope call("log_sigmoid_out", out, self);
  return put_out(out, tenon::log_sigmoid(self), "log_sigmoid");
}
Tensor& atan2_out(Tensor& out, const Operand& self, const Operand& other) {
  const CallScope call("atan2_out", out, self, other);
  return put_out(out, tenon::atan2(self, other), "atan2");
}
Tensor& arctan2_out(Tensor& out, const Operand& self, const Operand& other) {
  const CallScope call("arctan2_out", out, self, other);
  return put_out(out, tenon::arctan2(self, other), "arctan2");
}
Tensor& hypot_out(Tensor& out, const Operand& self, const Operand& other) {
  const CallScope call("hypot_out", out, self, other);
  return put_out(out, tenon::hypot(self, other), "hypot");
}
Tensor& logical_and_out(Tensor& out, const Operand& self, const Operand& other) {
  const CallScope call("logical_and_out", out, self, other);
  return put_out(out, tenon::logical_and(self, other), "logical_and");
}
Tensor& logical_or_out(Tensor& out, const Operand& self, const Operand& other) {
  const CallScope call("logical_or_out", out, self, other);
  return put_out(out, tenon::logical_or(self, other), "logical_or");
}
Tensor& logical_xor_out(Tensor& out, const Operand& self, const Operand& other) {
  const CallScope call("logical_xor_out", out, self, other);
  return put_out(out, tenon::logical_xor(self, other), "logical_xor");
}
Tensor& heaviside_out(Tensor& out, const Operand& self, const Operand& other) {
  const CallScope call("heaviside_out", out, self, other);
  return put_out(out, tenon::heaviside(self, other), "heaviside");
}
Tensor& nextafter_out(Tensor& out, const Operand& self, const Operand& other) {
  const CallScope call("nextafter_out", out, self, other);
  return put_out(out, tenon::nextafter(self, other), "nextafter");
}
Tensor& ldexp_out(Tensor& out, const Operand& self, const Operand& other) {
  const CallScope call("ldexp_out", out, self, other);
  return put_out(out, tenon::ldexp(self, other), "ldexp");
}
Tensor& gcd_out(Tensor& out, const Operand& self, const Operand& other) {
  const CallScope call("gcd_out", out, self, other);
  return put_out(out, tenon::gcd(self, other), "gcd");
}
Tensor& lcm_out(Tensor& out, const Operand& self, const Operand& other) {
  const CallScope call("lcm_out", out, self, other);
  return put_out(out, tenon::lcm(self, other), "lcm");
}
Tensor& maximum_out(Tensor& out, const Operand& self, const Operand& other) {
  const CallScope call("maximum_out", out, self, other);
  return put_out(out, tenon::maximum(self, other), "maximum");
}
Tensor& minimum_out(Tensor& out, const Operand& self, const Operand& other) {
  const CallScope call("minimum_out", out, self, other);
  return put_out(out, tenon::minimum(self, other), "minimum");
}
Tensor& fmax_out(Tensor& out, const Operand& self, const Operand& other) {
  const CallScope call("fmax_out", out, self, other);
  return put_out(out, tenon::fmax(self, other), "fmax");
}
Tensor& fmin_out(Tensor& out, const Operand& self, const Operand& other) {
  const CallScope call("fmin_out", out, self, other);
  return put_out(out, tenon::fmin(self, other), "fmin");
}
Tensor& logaddexp_out(Tensor& out, const Operand& self, const Operand& other) {
  const CallScope call("logaddexp_out", out, self, other);
  return put_out(out, tenon::logaddexp(self, other), "logaddexp");
}
Tensor& logaddexp2_out(Tensor& out, const Operand& self, const Operand& other) {
  const CallScope call("logaddexp2_out", out, self, other);
  return put_out(out, tenon::logaddexp2(self, other), "logaddexp2");
}
Tensor& mul_out(Tensor& out, const Operand& self, const Operand& other) {
  const CallScope call("mul_out", out, self, other);
  return put_out(out, tenon::mul(self, other), "mul");
}
Tensor& mul_out(Tensor& out, const Operand& self, const Scalar& other) {
  const CallScope call("mul_out", out, self, other);
  return put_out(out, tenon::mul(self, other), "mul");
}
Tensor& multiply_out(Tensor& out, const Operand& self, const Operand& other) {
  const CallScope call("multiply_out", out, self, other);
  return put_out(out, tenon::multiply(self, other), "multiply");
}
Tensor& multiply_out(Tensor& out, const Operand& self, const Scalar& other) {
  const CallScope call("multiply_out", out, self, other);
  return put_out(out, tenon::multiply(self, other), "multiply");
}
Tensor& remainder_out(Tensor& out, const Operand& self, const Operand& other) {
  const CallScope call("remainder_out", out, self, other);
  return put_out(out, tenon::remainder(self, other), "remainder");
}
Tensor& remainder_out(Tensor& out, const Operand& self, const Scalar& other) {
  const CallScope call("remainder_out", out, self, other);
  return put_out(out, tenon::remainder(self, other), "remainder");
}
Tensor& fmod_out(Tensor& out, const Operand& self, const Operand& other) {
  const CallScope call("fmod_out", out, self, other);
  return put_out(out, tenon::fmod(self, other), "fmod");
}
Tensor& fmod_out(Tensor& out, const Operand& self, const Scalar& other) {
  const CallScope call("fmod_out", out, self, other);
  return put_out(out, tenon::fmod(self, other), "fmod");
}
Tensor& floor_divide_out(Tensor& out, const Operand& self, const Operand& other) {
  const CallScope call("floor_divide_out", out, self, other);
  return put_out(out, tenon::floor_divide(self, other), "floor_divide");
}
Tensor& floor_divide_out(Tensor& out, const Operand& self, const Scalar& other) {
  const CallScope call("floor_divide_out", out, self, other);
  return put_out(out, tenon::floor_divide(self, other), "floor_divide");
}
Tensor& true_divide_out(Tensor& out, const Operand& self, const Operand& other) {
  const CallScope call("true_divide_out", out, self, other);
  return put_out(out, tenon::true_divide(self, other), "true_divide");
}
Tensor& true_divide_out(Tensor& out, const Operand& self, const Scalar& other) {
  const CallScope call("true_divide_out", out, self, other);
  return put_out(out, tenon::true_divide(self, other), "true_divide");
}
Tensor& copysign_out(Tensor& out, const Operand& self, const Operand& other) {
  const CallScope call("copysign_out", out, self, other);
  return put_out(out, tenon::copysign(self, other), "copysign");
}
Tensor& copysign_out(Tensor& out, const Operand& self, const Scalar& other) {
  const CallScope call("copysign_out", out, self, other);
  return put_out(out, tenon::copysign(self, other), "copysign");
}
Tensor& xlogy_out(Tensor& out, const Operand& self, const Operand& other) {
  const CallScope call("xlogy_out", out, self, other);
  return put_out(out, tenon::xlogy(self, other), "xlogy");
}
Tensor& xlogy_out(Tensor& out, const Operand& self, const Scalar& other) {
  const CallScope call("xlogy_out", out, self, other);
  return put_out(out, tenon::xlogy(self, other), "xlogy");
}
Tensor& eq_out(Tensor& out, const Operand& self, const Operand& other) {
  const CallScope call("eq_out", out, self, other);
  return put_out(out, tenon::eq(self, other), "eq");
}
Tensor& eq_out(Tensor& out, const Operand& self, const Scalar& other) {
  const CallScope call("eq_out", out, self, other);
  return put_out(out, tenon::eq(self, other), "eq");
}
Tensor& ne_out(Tensor& out, const Operand& self, const Operand& other) {
  const CallScope call("ne_out", out, self, other);
  return put_out(out, tenon::ne(self, other), "ne");
}
Tensor& ne_out(Tensor& out, const Operand& self, const Scalar& other) {
  const CallScope call("ne_out", out, self, other);
  return put_out(out, tenon::ne(self, other), "ne");
}
Tensor& lt_out(Tensor& out, const Operand& self, const Operand& other) {
  const CallScope call("lt_out", out, self, other);
  return put_out(out, tenon::lt(self, other), "lt");
}
Tensor& lt_out(Tensor& out, const Operand& self, const Scalar& other) {
  const CallScope call("lt_out", out, self, other);
  return put_out(out, tenon::lt(self, other), "lt");
}
Tensor& le_out(Tensor& out, const Operand& self, const Operand& other) {
  const CallScope call("le_out", out, self, other);
  return put_out(out, tenon::le(self, other), "le");
}
Tensor& le_out(Tensor& out, const Operand& self, const Scalar& other) {
  const CallScope call("le_out", out, self, other);
  return put_out(out, tenon::le(self, other), "le");
}
Tensor& gt_out(Tensor& out, const Operand& self, const Operand& other) {
  const CallScope call("gt_out", out, self, other);
  return put_out(out, tenon::gt(self, other), "gt");
}
Tensor& gt_out(Tensor& out, const Operand& self, const Scalar& other) {
  const CallScope call("gt_out", out, self, other);
  return put_out(out, tenon::gt(self, other), "gt");
}
Tensor& ge_out(Tensor& out, const Operand& self, const Operand& other) {
  const CallScope call("ge_out", out, self, other);
  return put_out(out, tenon::ge(self, other), "ge");
}
Tensor& ge_out(Tensor& out, const Operand& self, const Scalar& other) {
  const CallScope call("ge_out", out, self, other);
  return put_out(out, tenon::ge(self, other), "ge");
}
Tensor& not_equal_out(Tensor& out, const Operand& self, const Operand& other) {
  const CallScope call("not_equal_out", out, self, other);
  return put_out(out, tenon::not_equal(self, other), "not_equal");
}
Tensor& not_equal_out(Tensor& out, const Operand& self, const Scalar& other) {
  const CallScope call("not_equal_out", out, self, other);
  return put_out(out, tenon::not_equal(self, other), "not_equal");
}
Tensor& less_out(Tensor& out, const Operand& self, const Operand& other) {
  const CallScope call("less_out", out, self, other);
  return put_out(out, tenon::less(self, other), "less");
}
Tensor& less_out(Tensor& out, const Operand& self, const Scalar& other) {
  const CallScope call("less_out", out, self, other);
  return put_out(out, tenon::less(self, other), "less");
}
Tensor& less_equal_out(Tensor& out, const Operand& self, const Operand& other) {
  const CallScope call("less_equal_out", out, self, other);
  return put_out(out, tenon::less_equal(self, other), "less_equal");
}
Tensor& less_equal_out(Tensor& out, const Operand& self, const Scalar& other) {
  const CallScope call("less_equal_out", out, self, other);
  return put_out(out, tenon::less_equal(self, other), "less_equal");
}
Tensor& greater_out(Tensor& out, const Operand& self, const Operand& other) {
  const CallScope call("greater_out", out, self, other);
  return put_out(out, tenon::greater(self, other), "greater");
}
Tensor& greater_out(Tensor& out, const Operand& self, const Scalar& other) {
  const CallScope call("greater_out", out, self, other);
  return put_out(out, tenon::greater(self, other), "greater");
}
Tensor& greater_equal_out(Tensor& out, const Operand& self, const Operand& other) {
  const CallScope call("greater_equal_out", out, self, other);
  return put_out(out, tenon::greater_equal(self, other), "greater_equal");
}
Tensor& greater_equal_out(Tensor& out, const Operand& self, const Scalar& other) {
  const CallScope call("greater_equal_out", out, self, other);
  return put_out(out, tenon::greater_equal(self, other), "greater_equal");
}
Tensor& bitwise_and_out(Tensor& out, const Operand& self, const Operand& other) {
  const CallScope call("bitwise_and_out", out, self, other);
  return put_out(out, tenon::bitwise_and(self, other), "bitwise_and");
}
Tensor& bitwise_and_out(Tensor& out, const Operand& self, const Scalar& other) {
  const CallScope call("bitwise_and_out", out, self, other);
  return put_out(out, tenon::bitwise_and(self, other), "bitwise_and");
}
Tensor& bitwise_or_out(Tensor& out, const Operand& self, const Operand& other) {
  const CallScope call("bitwise_or_out", out, self, other);
  return put_out(out, tenon::bitwise_or(self, other), "bitwise_or");
}
Tensor& bitwise_or_out(Tensor& out, const Operand& self, const Scalar& other) {
  const CallScope call("bitwise_or_out", out, self, other);
  return put_out(out, tenon::bitwise_or(self, other), "bitwise_or");
}
Tensor& bitwise_xor_out(Tensor& out, const Operand& self, const Operand& other) {
  const CallScope call("bitwise_xor_out", out, self, other);
  return put_out(out, tenon::bitwise_xor(self, other), "bitwise_xor");
}
Tensor& bitwise_xor_out(Tensor& out, const Operand& self, const Scalar& other) {
  const CallScope call("bitwise_xor_out", out, self, other);
  return put_out(out, tenon::bitwise_xor(self, other), "bitwise_xor");
}
Tensor& bitwise_left_shift_out(Tensor& out, const Operand& self, const Operand& other) {
  const CallScope call("bitwise_left_shift_out", out, self, other);
  return put_out(out, tenon::bitwise_left_shift(self, other), "bitwise_left_shift");
}
Tensor& bitwise_left_shift_out(Tensor& out, const Operand& self, const Scalar& other) {
  const CallScope call("bitwise_left_shift_out", out, self, other);
  return put_out(out, tenon::bitwise_left_shift(self, other), "bitwise_left_shift");
}
Tensor& bitwise_right_shift_out(Tensor& out, const Operand& self, const Operand& other) {
  const CallScope call("bitwise_right_shift_out", out, self, other);
  return put_out(out, tenon::bitwise_right_shift(self, other), "bitwise_right_shift");
}
Tensor& bitwise_right_shift_out(Tensor& out, const Operand& self, const Scalar& other) {
  const CallScope call("bitwise_right_shift_out", out, self, other);
  return put_out(out, tenon::bitwise_right_shift(self, other), "bitwise_right_shift");
}
Tensor& add_out(Tensor& out, const Operand& self, const Operand& other, const Scalar& alpha) {
  const CallScope call("add_out", out, self, other, alpha);
  return put_out(out, tenon::add(self, other, alpha), "add");
}
Tensor& sub_out(Tensor& out, const Operand& self, const Operand& other, const Scalar& alpha) {
  const CallScope call("sub_out", out, self, other, alpha);
  return put_out(out, tenon::sub(self, other, alpha), "sub");
}
Tensor& rsub_out(Tensor& out, const Operand& self, const Scalar& other, const Scalar& alpha) {
  const CallScope call("rsub_out", out, self, other, alpha);
  return put_out(out, tenon::rsub(self, other, alpha), "rsub");
}
Tensor& div_out(Tensor& out, const Operand& self, const Operand& other) {
  const CallScope call("div_out", out, self, other);
  return put_out(out, tenon::div(self, other), "div");
}
Tensor& pow_out(Tensor& out, const Operand& self, const Operand& exponent) {
  const CallScope call("pow_out", out, self, exponent);
  return put_out(out, tenon::pow(self, exponent), "pow");
}
Tensor& pow_out(Tensor& out, const Operand& self, const Scalar& exponent) {
  const CallScope call("pow_out", out, self, exponent);
  return put_out(out, tenon::pow(self, exponent), "pow");
}
Tensor& float_power_out(Tensor& out, const Operand& self, const Operand& exponent) {
  const CallScope call("float_power_out", out, self, exponent);
  return put_out(out, tenon::float_power(self, exponent), "float_power");
}
Tensor& float_power_out(Tensor& out, const Operand& self, const Scalar& exponent) {
  const CallScope call("float_power_out", out, self, exponent);
  return put_out(out, tenon::float_power(self, exponent), "float_power");
}
Tensor& where_out(Tensor& out, const Operand& condition, const Operand& self, const Operand& other) {
  const CallScope call("where_out", out, condition, self, other);
  return put_out(out, tenon::where(condition, self, other), "where");
}
Tensor& masked_fill_out(Tensor& out, const Operand& self, const Operand& mask, const Scalar& value) {
  const CallScope call("masked_fill_out", out, self, mask, value);
  return put_out(out, tenon::masked_fill(self, mask, value), "masked_fill");
}
Tensor& masked_fill_out(Tensor& out, const Operand& self, const Operand& mask, const Operand& value) {
  const CallScope call("masked_fill_out", out, self, mask, value);
  return put_out(out, tenon::masked_fill(self, mask, value), "masked_fill");
}
Tensor& clamp_out(Tensor& out, const Operand& self, const optional<Scalar>& min,
                  const optional<Scalar>& max) {
  const CallScope call("clamp_out", out, self);
  return put_out(out, tenon::clamp(self, min, max), "clamp");
}
Tensor& clamp_min_out(Tensor& out, const Operand& self, const Scalar& min) {
  const CallScope call("clamp_min_out", out, self, min);
  return put_out(out, tenon::clamp_min(self, min), "clamp_min");
}
Tensor& clamp_min_out(Tensor& out, const Operand& self, const Operand& min) {
  const CallScope call("clamp_min_out", out, self, min);
  return put_out(out, tenon::clamp_min(self, min), "clamp_min");
}
Tensor& clamp_max_out(Tensor& out, const Operand& self, const Scalar& max) {
  const CallScope call("clamp_max_out", out, self, max);
  return put_out(out, tenon::clamp_max(self, max), "clamp_max");
}
Tensor& clamp_max_out(Tensor& out, const Operand& self, const Operand& max) {
  const CallScope call("clamp_max_out", out, self, max);
  return put_out(out, tenon::clamp_max(self, max), "clamp_max");
}
Tensor& lerp_out(Tensor& out, const Operand& self, const Operand& end, const Scalar& weight) {
  const CallScope call("lerp_out", out, self, end, weight);
  return put_out(out, tenon::lerp(self, end, weight), "lerp");
}
Tensor& lerp_out(Tensor& out, const Operand& self, const Operand& end, const Operand& weight) {
  const CallScope call("lerp_out", out, self, end, weight);
  return put_out(out, tenon::lerp(self, end, weight), "lerp");
}
Tensor& addcmul_out(Tensor& out, const Operand& self, const Operand& tensor1, const Operand& tensor2,
                    const Scalar& value) {
  const CallScope call("addcmul_out", out, self, tensor1, tensor2, value);
  return put_out(out, tenon::addcmul(self, tensor1, tensor2, value), "addcmul");
}
Tensor& addcdiv_out(Tensor& out, const Operand& self, const Operand& tensor1, const Operand& tensor2,
                    const Scalar& value) {
  const CallScope call("addcdiv_out", out, self, tensor1, tensor2, value);
  return put_out(out, tenon::addcdiv(self, tensor1, tensor2, value), "addcdiv");
}
Tensor& nan_to_num_out(Tensor& out, const Operand& self, optional<double> nan, optional<double> posinf,
                       optional<double> neginf) {
  const CallScope call("nan_to_num_out", out, self);
  return put_out(out, tenon::nan_to_num(self, nan, posinf, neginf), "nan_to_num");
}
Tensor& logit_out(Tensor& out, const Operand& self, optional<double> eps) {
  const CallScope call("logit_out", out, self);
  return put_out(out, tenon::logit(self, eps), "logit");
}
Tensor& leaky_relu_out(Tensor& out, const Operand& self, const Scalar& negative_slope) {
  const CallScope call("leaky_relu_out", out, self, negative_slope);
  return put_out(out, tenon::leaky_relu(self, negative_slope), "leaky_relu");
}
Tensor& elu_out(Tensor& out, const Operand& self, const Scalar& alpha, const Scalar& scale,
                const Scalar& input_scale) {
  const CallScope call("elu_out", out, self, alpha, scale, input_scale);
  return put_out(out, tenon::elu(self, alpha, scale, input_scale), "elu");
}
Tensor& celu_out(Tensor& out, const Operand& self, const Scalar& alpha) {
  const CallScope call("celu_out", out, self, alpha);
  return put_out(out, tenon::celu(self, alpha), "celu");
}
Tensor& gelu_out(Tensor& out, const Operand& self, std::string_view approximate) {
  const CallScope call("gelu_out", out, self);
  return put_out(out, tenon::gelu(self, approximate), "gelu");
}
Tensor& softplus_out(Tensor& out, const Operand& self, const Scalar& beta, const Scalar& threshold) {
  const CallScope call("softplus_out", out, self, beta, threshold);
  return put_out(out, tenon::softplus(self, beta, threshold), "softplus");
}
Tensor& hardtanh_out(Tensor& out, const Operand& self, const Scalar& min_val, const Scalar& max_val) {
  const CallScope call("hardtanh_out", out, self, min_val, max_val);
  return put_out(out, tenon::hardtanh(self, min_val, max_val), "hardtanh");
}
Tensor& hardshrink_out(Tensor& out, const Operand& self, const Scalar& lambd) {
  const CallScope call("hardshrink_out", out, self, lambd);
  return put_out(out, tenon::hardshrink(self, lambd), "hardshrink");
}
Tensor& softshrink_out(Tensor& out, const Operand& self, const Scalar& lambd) {
  const CallScope call("softshrink_out", out, self, lambd);
  return put_out(out, tenon::softshrink(self, lambd), "softshrink");
}
Tensor& threshold_out(Tensor& out, const Operand& self, const Scalar& threshold, const Scalar& value) {
  const CallScope call("threshold_out", out, self, threshold, value);
  return put_out(out, tenon::threshold(self, threshold, value), "threshold");
}
Tensor& clone_out(Tensor& out, const Operand& self) {
  const CallScope call("clone_out", out, self);
  return put_out(out, tenon::clone(self), "clone");
}
Tensor& flip_out(Tensor& out, const Operand& self, IntArrayRef dims) {
  const CallScope call("flip_out", out, self);
  return put_out(out, tenon::flip(self, dims), "flip");
}
Tensor& roll_out(Tensor& out, const Operand& self, IntArrayRef shifts, IntArrayRef dims) {
  const CallScope call("roll_out", out, self);
  return put_out(out, tenon::roll(self, shifts, dims), "roll");
}
Tensor& concat_out(Tensor& out, TensorList tensors, int64_t dim) {
  const CallScope call("concat_out", out, tensors);
  return put_out(out, tenon::concat(tensors, dim), "concat");
}
Tensor& stack_out(Tensor& out, TensorList tensors, int64_t dim) {
  const CallScope call("stack_out", out, tensors);
  return put_out(out, tenon::stack(tensors, dim), "stack");
}
Tensor& vstack_out(Tensor& out, TensorList tensors) {
  const CallScope call("vstack_out", out, tensors);
  return put_out(out, tenon::vstack(tensors), "vstack");
}
Tensor& hstack_out(Tensor& out, TensorList tensors) {
  const CallScope call("hstack_out", out, tensors);
  return put_out(out, tenon::hstack(tensors), "hstack");
}
Tensor& dstack_out(Tensor& out, TensorList tensors) {
  const CallScope call("dstack_out", out, tensors);
  return put_out(out, tenon::dstack(tensors), "dstack");
}
Tensor& constant_pad_nd_out(Tensor& out, const Operand& self, IntArrayRef pad, const Scalar& value) {
  const CallScope call("constant_pad_nd_out", out, self, value);
  return put_out(out, tenon::constant_pad_nd(self, pad, value), "constant_pad_nd");
}
Tensor& sum_out(Tensor& out, const Operand& self, OptionalIntArrayRef dim, bool keepdim,
                optional<ScalarType> dtype) {
  const CallScope call("sum_out", out, self);
  return put_out(out, tenon::sum(self, dim, keepdim, dtype), "sum");
}
Tensor& nansum_out(Tensor& out, const Operand& self, OptionalIntArrayRef dim, bool keepdim,
                   optional<ScalarType> dtype) {
  const CallScope call("nansum_out", out, self);
  return put_out(out, tenon::nansum(self, dim, keepdim, dtype), "nansum");
}
Tensor& prod_out(Tensor& out, const Operand& self, optional<ScalarType> dtype) {
  const CallScope call("prod_out", out, self);
  return put_out(out, tenon::prod(self, dtype), "prod");
}
Tensor& prod_out(Tensor& out, const Operand& self, int64_t dim, bool keepdim, optional<ScalarType> dtype) {
  const CallScope call("prod_out", out, self);
  return put_out(out, tenon::prod(self, dim, keepdim, dtype), "prod");
}
Tensor& mean_out(Tensor& out, const Operand& self, OptionalIntArrayRef dim, bool keepdim,
                 optional<ScalarType> dtype) {
  const CallScope call("mean_out", out, self);
  return put_out(out, tenon::mean(self, dim, keepdim, dtype), "mean");
}
Tensor& var_out(Tensor& out, const Operand& self, bool unbiased) {
  const CallScope call("var_out", out, self);
  return put_out(out, tenon::var(self, unbiased), "var");
}
Tensor& var_out(Tensor& out, const Operand& self, OptionalIntArrayRef dim, bool unbiased, bool keepdim) {
  const CallScope call("var_out", out, self);
  return put_out(out, tenon::var(self, dim, unbiased, keepdim), "var");
}
Tensor& var_out(Tensor& out, const Operand& self, OptionalIntArrayRef dim, const optional<Scalar>& correction,
                bool keepdim) {
  const CallScope call("var_out", out, self);
  return put_out(out, tenon::var(self, dim, correction, keepdim), "var");
}
Tensor& std_out(Tensor& out, const Operand& self, bool unbiased) {
  const CallScope call("std_out", out, self);
  return put_out(out, tenon::std(self, unbiased), "std");
}
Tensor& std_out(Tensor& out, const Operand& self, OptionalIntArrayRef dim, bool unbiased, bool keepdim) {
  const CallScope call("std_out", out, self);
  return put_out(out, tenon::std(self, dim, unbiased, keepdim), "std");
}
Tensor& std_out(Tensor& out, const Operand& self, OptionalIntArrayRef dim, const optional<Scalar>& correction,
                bool keepdim) {
  const CallScope call("std_out", out, self);
  return put_out(out, tenon::std(self, dim, correction, keepdim), "std");
}
std::tuple<Tensor&, Tensor&> var_mean_out(Tensor& first, Tensor& second, const Operand& self, bool unbiased) {
  const CallScope call("var_mean_out", first, second, self);
  const auto [a, b] = tenon::var_mean(self, unbiased);
  put_out(first, a, "var_mean");
  put_out(second, b, "var_mean");
  return {first, second};
}
std::tuple<Tensor&, Tensor&> var_mean_out(Tensor& first, Tensor& second, const Operand& self,
                                          OptionalIntArrayRef dim, bool unbiased, bool keepdim) {
  const CallScope call("var_mean_out", first, second, self);
  const auto [a, b] = tenon::var_mean(self, dim, unbiased, keepdim);
  put_out(first, a, "var_mean");
  put_out(second, b, "var_mean");
  return {first, second};
}
std::tuple<Tensor&, Tensor&> std_mean_out(Tensor& first, Tensor& second, const Operand& self, bool unbiased) {
  const CallScope call("std_mean_out", first, second, self);
  const auto [a, b] = tenon::std_mean(self, unbiased);
  put_out(first, a, "std_mean");
  put_out(second, b, "std_mean");
  return {first, second};
}
std::tuple<Tensor&, Tensor&> std_mean_out(Tensor& first, Tensor& second, const Operand& self,
                                          OptionalIntArrayRef dim, bool unbiased, bool keepdim) {
  const CallScope call("std_mean_out", first, second, self);
  const auto [a, b] = tenon::std_mean(self, dim, unbiased, keepdim);
  put_out(first, a, "std_mean");
  put_out(second, b, "std_mean");
  return {first, second};
}
Tensor& var_out(Tensor& out, const Operand& self, DimList dim, bool unbiased, bool keepdim) {
  const CallScope call("var_out", out, self);
  return put_out(out, tenon::var(self, dim, unbiased, keepdim), "var");
}
Tensor& std_out(Tensor& out, const Operand& self, DimList dim, bool unbiased, bool keepdim) {
  const CallScope call("std_out", out, self);
  return put_out(out, tenon::std(self, dim, unbiased, keepdim), "std");
}
std::tuple<Tensor&, Tensor&> var_mean_out(Tensor& first, Tensor& second, const Operand& self, DimList dim,
                                          bool unbiased, bool keepdim) {
  const CallScope call("var_mean_out", first, second, self);
  const auto [a, b] = tenon::var_mean(self, dim, unbiased, keepdim);
  put_out(first, a, "var_mean");
  put_out(second, b, "var_mean");
  return {first, second};
}
std::tuple<Tensor&, Tensor&> std_mean_out(Tensor& first, Tensor& second, const Operand& self, DimList dim,
                                          bool unbiased, bool keepdim) {
  const CallScope call("std_mean_out", first, second, self);
  const auto [a, b] = tenon::std_mean(self, dim, unbiased, keepdim);
  put_out(first, a, "std_mean");
  put_out(second, b, "std_mean");
  return {first, second};
}
Tensor& var_out(Tensor& out, const Operand& self, int dim) {
  const CallScope call("var_out", out, self);
  return put_out(out, tenon::var(self, dim), "var");
}
Tensor& var_out(Tensor& out, const Operand& self, int64_t dim) {
  const CallScope call("var_out", out, self);
  return put_out(out, tenon::var(self, dim), "var");
}
Tensor& std_out(Tensor& out, const Operand& self, int dim) {
  const CallScope call("std_out", out, self);
  return put_out(out, tenon::std(self, dim), "std");
}
Tensor& std_out(Tensor& out, const Operand& self, int64_t dim) {
  const CallScope call("std_out", out, self);
  return put_out(out, tenon::std(self, dim), "std");
}
std::tuple<Tensor&, Tensor&> var_mean_out(Tensor& first, Tensor& second, const Operand& self, int dim) {
  const CallScope call("var_mean_out", first, second, self);
  const auto [a, b] = tenon::var_mean(self, dim);
  put_out(first, a, "var_mean");
  put_out(second, b, "var_mean");
  return {first, second};
}
std::tuple<Tensor&, Tensor&> var_mean_out(Tensor& first, Tensor& second, const Operand& self, int64_t dim) {
  const CallScope call("var_mean_out", first, second, self);
  const auto [a, b] = tenon::var_mean(self, dim);
  put_out(first, a, "var_mean");
  put_out(second, b, "var_mean");
  return {first, second};
}
std::tuple<Tensor&, Tensor&> std_mean_out(Tensor& first, Tensor& second, const Operand& self, int dim) {
  const CallScope call("std_mean_out", first, second, self);
  const auto [a, b] = tenon::std_mean(self, dim);
  put_out(first, a, "std_mean");
  put_out(second, b, "std_mean");
  return {first, second};
}
std::tuple<Tensor&, Tensor&> std_mean_out(Tensor& first, Tensor& second, const Operand& self, int64_t dim) {
  const CallScope call("std_mean_out", first, second, self);
  const auto [a, b] = tenon::std_mean(self, dim);
  put_out(first, a, "std_mean");
  put_out(second, b, "std_mean");
  return {first, second};
}
Tensor& max_out(Tensor& out, const Operand& self) {
  const CallScope call("max_out", out, self);
  return put_out(out, tenon::max(self), "max");
}
Tensor& max_out(Tensor& out, const Operand& self, const Operand& other) {
  const CallScope call("max_out", out, self, other);
  return put_out(out, tenon::max(self, other), "max");
}
std::tuple<Tensor&, Tensor&> max_out(Tensor& first, Tensor& second, const Operand& self, int64_t dim,
                                     bool keepdim) {
  const CallScope call("max_out", first, second, self);
  const auto [a, b] = tenon::max(self, dim, keepdim);
  put_out(first, a, "max");
  put_out(second, b, "max");
  return {first, second};
}
Tensor& min_out(Tensor& out, const Operand& self) {
  const CallScope call("min_out", out, self);
  return put_out(out, tenon::min(self), "min");
}
Tensor& min_out(Tensor& out, const Operand& self, const Operand& other) {
  const CallScope call("min_out", out, self, other);
  return put_out(out, tenon::min(self, other), "min");
}
std::tuple<Tensor&, Tensor&> min_out(Tensor& first, Tensor& second, const Operand& self, int64_t dim,
                                     bool keepdim) {
  const CallScope call("min_out", first, second, self);
  const auto [a, b] = tenon::min(self, dim, keepdim);
  put_out(first, a, "min");
  put_out(second, b, "min");
  return {first, second};
}
Tensor& amax_out(Tensor& out, const Operand& self, IntArrayRef dim, bool keepdim) {
  const CallScope call("amax_out", out, self);
  return put_out(out, tenon::amax(self, dim, keepdim), "amax");
}
Tensor& amin_out(Tensor& out, const Operand& self, IntArrayRef dim, bool keepdim) {
  const CallScope call("amin_out", out, self);
  return put_out(out, tenon::amin(self, dim, keepdim), "amin");
}
std::tuple<Tensor&, Tensor&> aminmax_out(Tensor& first, Tensor& second, const Operand& self,
                                         optional<int64_t> dim, bool keepdim) {
  const CallScope call("aminmax_out", first, second, self);
  const auto [a, b] = tenon::aminmax(self, dim, keepdim);
  put_out(first, a, "aminmax");
  put_out(second, b, "aminmax");
  return {first, second};
}
Tensor& argmax_out(Tensor& out, const Operand& self, optional<int64_t> dim, bool keepdim) {
  const CallScope call("argmax_out", out, self);
  return put_out(out, tenon::argmax(self, dim, keepdim), "argmax");
}
Tensor& argmin_out(Tensor& out, const Operand& self, optional<int64_t> dim, bool keepdim) {
  const CallScope call("argmin_out", out, self);
  return put_out(out, tenon::argmin(self, dim, keepdim), "argmin");
}
Tensor& any_out(Tensor& out, const Operand& self) {
  const CallScope call("any_out", out, self);
  return put_out(out, tenon::any(self), "any");
}
Tensor& any_out(Tensor& out, const Operand& self, int64_t dim, bool keepdim) {
  const CallScope call("any_out", out, self);
  return put_out(out, tenon::any(self, dim, keepdim), "any");
}
Tensor& all_out(Tensor& out, const Operand& self) {
  const CallScope call("all_out", out, self);
  return put_out(out, tenon::all(self), "all");
}
Tensor& all_out(Tensor& out, const Operand& self, int64_t dim, bool keepdim) {
  const CallScope call("all_out", out, self);
  return put_out(out, tenon::all(self, dim, keepdim), "all");
}
Tensor& norm_out(Tensor& out, const Operand& self, const Scalar& p) {
  const CallScope call("norm_out", out, self, p);
  return put_out(out, tenon::norm(self, p), "norm");
}
Tensor& norm_out(Tensor& out, const Operand& self, const optional<Scalar>& p, IntArrayRef dim, bool keepdim) {
  const CallScope call("norm_out", out, self);
  return put_out(out, tenon::norm(self, p, dim, keepdim), "norm");
}
Tensor& logsumexp_out(Tensor& out, const Operand& self, IntArrayRef dim, bool keepdim) {
  const CallScope call("logsumexp_out", out, self);
  return put_out(out, tenon::logsumexp(self, dim, keepdim), "logsumexp");
}
Tensor& count_nonzero_out(Tensor& out, const Operand& self, IntArrayRef dim) {
  const CallScope call("count_nonzero_out", out, self);
  return put_out(out, tenon::count_nonzero(self, dim), "count_nonzero");
}
Tensor& softmax_out(Tensor& out, const Operand& self, int64_t dim, optional<ScalarType> dtype) {
  const CallScope call("softmax_out", out, self);
  return put_out(out, tenon::softmax(self, dim, dtype), "softmax");
}
Tensor& log_softmax_out(Tensor& out, const Operand& self, int64_t dim, optional<ScalarType> dtype) {
  const CallScope call("log_softmax_out", out, self);
  return put_out(out, tenon::log_softmax(self, dim, dtype), "log_softmax");
}
Tensor& matmul_out(Tensor& out, const Operand& self, const Operand& other) {
  const CallScope call("matmul_out", out, self, other);
  return put_out(out, tenon::matmul(self, other), "matmul");
}
Tensor& mm_out(Tensor& out, const Operand& self, const Operand& mat2) {
  const CallScope call("mm_out", out, self, mat2);
  return put_out(out, tenon::mm(self, mat2), "mm");
}
Tensor& mv_out(Tensor& out, const Operand& self, const Operand& vec) {
  const CallScope call("mv_out", out, self, vec);
  return put_out(out, tenon::mv(self, vec), "mv");
}
Tensor& bmm_out(Tensor& out, const Operand& self, const Operand& mat2) {
  const CallScope call("bmm_out", out, self, mat2);
  return put_out(out, tenon::bmm(self, mat2), "bmm");
}
Tensor& dot_out(Tensor& out, const Operand& self, const Operand& tensor) {
  const CallScope call("dot_out", out, self, tensor);
  return put_out(out, tenon::dot(self, tensor), "dot");
}
Tensor& outer_out(Tensor& out, const Operand& self, const Operand& vec2) {
  const CallScope call("outer_out", out, self, vec2);
  return put_out(out, tenon::outer(self, vec2), "outer");
}
Tensor& addmm_out(Tensor& out, const Operand& self, const Operand& mat1, const Operand& mat2,
                  const Scalar& beta, const Scalar& alpha) {
  const CallScope call("addmm_out", out, self, mat1, mat2, beta, alpha);
  return put_out(out, tenon::addmm(self, mat1, mat2, beta, alpha), "addmm");
}
Tensor& addmv_out(Tensor& out, const Operand& self, const Operand& mat, const Operand& vec,
                  const Scalar& beta, const Scalar& alpha) {
  const CallScope call("addmv_out", out, self, mat, vec, beta, alpha);
  return put_out(out, tenon::addmv(self, mat, vec, beta, alpha), "addmv");
}
Tensor& baddbmm_out(Tensor& out, const Operand& self, const Operand& batch1, const Operand& batch2,
                    const Scalar& beta, const Scalar& alpha) {
  const CallScope call("baddbmm_out", out, self, batch1, batch2, beta, alpha);
  return put_out(out, tenon::baddbmm(self, batch1, batch2, beta, alpha), "baddbmm");
}
Tensor& subtract_out(Tensor& out, const Operand& self, const Operand& other, const Scalar& alpha) {
  const CallScope call("subtract_out", out, self, other, alpha);
  return put_out(out, tenon::subtract(self, other, alpha), "subtract");
}
Tensor& subtract_out(Tensor& out, const Operand& self, const Scalar& other, const Scalar& alpha) {
  const CallScope call("subtract_out", out, self, other, alpha);
  return put_out(out, tenon::subtract(self, other, alpha), "subtract");
}
Tensor& divide_out(Tensor& out, const Operand& self, const Operand& other) {
  const CallScope call("divide_out", out, self, other);
  return put_out(out, tenon::divide(self, other), "divide");
}
Tensor& divide_out(Tensor& out, const Operand& self, const Scalar& other) {
  const CallScope call("divide_out", out, self, other);
  return put_out(out, tenon::divide(self, other), "divide");
}
Tensor& divide_out(Tensor& out, const Operand& self, const Operand& other,
                   optional<std::string_view> rounding_mode) {
  const CallScope call("divide_out", out, self, other);
  return put_out(out, tenon::divide(self, other, rounding_mode), "divide");
}
Tensor& divide_out(Tensor& out, const Operand& self, const Scalar& other,
                   optional<std::string_view> rounding_mode) {
  const CallScope call("divide_out", out, self, other);
  return put_out(out, tenon::divide(self, other, rounding_mode), "divide");
}
Tensor& clip_out(Tensor& out, const Operand& self, const optional<Scalar>& min, const optional<Scalar>& max) {
  const CallScope call("clip_out", out, self);
  return put_out(out, tenon::clip(self, min, max), "clip");
}
Tensor& clip_out(Tensor& out, const Operand& self, const optional<Tensor>& min, const optional<Tensor>& max) {
  const CallScope call("clip_out", out, self, min, max);
  return put_out(out, tenon::clip(self, min, max), "clip");
}
Tensor& rsub_out(Tensor& out, const Operand& self, const Operand& other, const Scalar& alpha) {
  const CallScope call("rsub_out", out, self, other, alpha);
  return put_out(out, tenon::rsub(self, other, alpha), "rsub");
}
Tensor& float_power_out(Tensor& out, const Scalar& self, const Operand& exponent) {
  const CallScope call("float_power_out", out, self, exponent);
  return put_out(out, tenon::float_power(self, exponent), "float_power");
}
std::tuple<Tensor&, Tensor&> frexp_out(Tensor& first, Tensor& second, const Operand& self) {
  const CallScope call("frexp_out", first, second, self);
  const auto [a, b] = tenon::frexp(self);
  put_out(first, a, "frexp");
  put_out(second, b, "frexp");
  return {first, second};
}
Tensor& polygamma_out(Tensor& out, int64_t n, const Operand& self) {
  const CallScope call("polygamma_out", out, self);
  return put_out(out, tenon::polygamma(n, self), "polygamma");
}
Tensor& mvlgamma_out(Tensor& out, const Operand& self, int64_t p) {
  const CallScope call("mvlgamma_out", out, self);
  return put_out(out, tenon::mvlgamma(self, p), "mvlgamma");
}
Tensor& renorm_out(Tensor& out, const Operand& self, const Scalar& p, int64_t dim, const Scalar& maxnorm) {
  const CallScope call("renorm_out", out, self, p, maxnorm);
  return put_out(out, tenon::renorm(self, p, dim, maxnorm), "renorm");
}
Tensor& tensordot_out(Tensor& out, const Operand& self, const Operand& other, IntArrayRef dims_self,
                      IntArrayRef dims_other) {
  const CallScope call("tensordot_out", out, self, other);
  return put_out(out, tenon::tensordot(self, other, dims_self, dims_other), "tensordot");
}
Tensor& kron_out(Tensor& out, const Operand& self, const Operand& other) {
  const CallScope call("kron_out", out, self, other);
  return put_out(out, tenon::kron(self, other), "kron");
}
Tensor& inner_out(Tensor& out, const Operand& self, const Operand& other) {
  const CallScope call("inner_out", out, self, other);
  return put_out(out, tenon::inner(self, other), "inner");
}
Tensor& vdot_out(Tensor& out, const Operand& self, const Operand& other) {
  const CallScope call("vdot_out", out, self, other);
  return put_out(out, tenon::vdot(self, other), "vdot");
}
Tensor& ger_out(Tensor& out, const Operand& self, const Operand& vec2) {
  const CallScope call("ger_out", out, self, vec2);
  return put_out(out, tenon::ger(self, vec2), "ger");
}
Tensor& addr_out(Tensor& out, const Operand& self, const Operand& vec1, const Operand& vec2,
                 const Scalar& beta, const Scalar& alpha) {
  const CallScope call("addr_out", out, self, vec1, vec2, beta, alpha);
  return put_out(out, tenon::addr(self, vec1, vec2, beta, alpha), "addr");
}
Tensor& addbmm_out(Tensor& out, const Operand& self, const Operand& batch1, const Operand& batch2,
                   const Scalar& beta, const Scalar& alpha) {
  const CallScope call("addbmm_out", out, self, batch1, batch2, beta, alpha);
  return put_out(out, tenon::addbmm(self, batch1, batch2, beta, alpha), "addbmm");
}
Tensor& chain_matmul_out(Tensor& out, TensorList matrices) {
  const CallScope call("chain_matmul_out", out, matrices);
  return put_out(out, tenon::chain_matmul(matrices), "chain_matmul");
}
Tensor& cross_out(Tensor& out, const Operand& self, const Operand& other, optional<int64_t> dim) {
  const CallScope call("cross_out", out, self, other);
  return put_out(out, tenon::cross(self, other, dim), "cross");
}
Tensor& linalg_cross_out(Tensor& out, const Operand& self, const Operand& other, int64_t dim) {
  const CallScope call("linalg_cross_out", out, self, other);
  return put_out(out, tenon::linalg_cross(self, other, dim), "linalg_cross");
}
Tensor& diag_out(Tensor& out, const Operand& self, int64_t diagonal) {
  const CallScope call("diag_out", out, self);
  return put_out(out, tenon::diag(self, diagonal), "diag");
}
Tensor& diag_embed_out(Tensor& out, const Operand& self, int64_t offset, int64_t dim1, int64_t dim2) {
  const CallScope call("diag_embed_out", out, self);
  return put_out(out, tenon::diag_embed(self, offset, dim1, dim2), "diag_embed");
}
Tensor& trace_out(Tensor& out, const Operand& self) {
  const CallScope call("trace_out", out, self);
  return put_out(out, tenon::trace(self), "trace");
}
Tensor& tril_out(Tensor& out, const Operand& self, int64_t diagonal) {
  const CallScope call("tril_out", out, self);
  return put_out(out, tenon::tril(self, diagonal), "tril");
}
Tensor& triu_out(Tensor& out, const Operand& self, int64_t diagonal) {
  const CallScope call("triu_out", out, self);
  return put_out(out, tenon::triu(self, diagonal), "triu");
}
Tensor& tril_indices_out(Tensor& out, int64_t row, int64_t col, int64_t offset) {
  const CallScope call("tril_indices_out", out);
  return put_out(out, tenon::tril_indices(row, col, offset, out.options()), "tril_indices");
}
Tensor& triu_indices_out(Tensor& out, int64_t row, int64_t col, int64_t offset) {
  const CallScope call("triu_indices_out", out);
  return put_out(out, tenon::triu_indices(row, col, offset, out.options()), "triu_indices");
}
Tensor& block_diag_out(Tensor& out, TensorList tensors) {
  const CallScope call("block_diag_out", out, tensors);
  return put_out(out, tenon::block_diag(tensors), "block_diag");
}
Tensor& rot90_out(Tensor& out, const Operand& self, int64_t k, IntArrayRef dims) {
  const CallScope call("rot90_out", out, self);
  return put_out(out, tenon::rot90(self, k, dims), "rot90");
}
Tensor& repeat_interleave_out(Tensor& out, const Operand& self, int64_t repeats, optional<int64_t> dim) {
  const CallScope call("repeat_interleave_out", out, self);
  return put_out(out, tenon::repeat_interleave(self, repeats, dim), "repeat_interleave");
}
Tensor& repeat_interleave_out(Tensor& out, const Operand& self, const Operand& repeats, optional<int64_t> dim,
                              optional<int64_t> output_size) {
  const CallScope call("repeat_interleave_out", out, self, repeats);
  return put_out(out, tenon::repeat_interleave(self, repeats, dim, output_size), "repeat_interleave");
}
Tensor& repeat_interleave_out(Tensor& out, const Operand& repeats, optional<int64_t> output_size) {
  const CallScope call("repeat_interleave_out", out, repeats);
  return put_out(out, tenon::repeat_interleave(repeats, output_size), "repeat_interleave");
}
Tensor& nanmean_out(Tensor& out, const Operand& self, OptionalIntArrayRef dim, bool keepdim,
                    optional<ScalarType> dtype) {
  const CallScope call("nanmean_out", out, self);
  return put_out(out, tenon::nanmean(self, dim, keepdim, dtype), "nanmean");
}
Tensor& diff_out(Tensor& out, const Operand& self, int64_t n, int64_t dim, const optional<Tensor>& prepend,
                 const optional<Tensor>& append) {
  const CallScope call("diff_out", out, self, prepend, append);
  return put_out(out, tenon::diff(self, n, dim, prepend, append), "diff");
}
Tensor& dist_out(Tensor& out, const Operand& self, const Operand& other, const Scalar& p) {
  const CallScope call("dist_out", out, self, other, p);
  return put_out(out, tenon::dist(self, other, p), "dist");
}
Tensor& linalg_vector_norm_out(Tensor& out, const Operand& self, const Scalar& ord, OptionalIntArrayRef dim,
                               bool keepdim, optional<ScalarType> dtype) {
  const CallScope call("linalg_vector_norm_out", out, self, ord);
  return put_out(out, tenon::linalg_vector_norm(self, ord, dim, keepdim, dtype), "linalg_vector_norm");
}
Tensor& any_out(Tensor& out, const Operand& self, OptionalIntArrayRef dim, bool keepdim) {
  const CallScope call("any_out", out, self);
  return put_out(out, tenon::any(self, dim, keepdim), "any");
}
Tensor& all_out(Tensor& out, const Operand& self, OptionalIntArrayRef dim, bool keepdim) {
  const CallScope call("all_out", out, self);
  return put_out(out, tenon::all(self, dim, keepdim), "all");
}
Tensor& norm_out(Tensor& out, const Operand& self, const optional<Scalar>& p, ScalarType dtype) {
  const CallScope call("norm_out", out, self);
  return put_out(out, tenon::norm(self, p, dtype), "norm");
}
Tensor& norm_out(Tensor& out, const Operand& self, const optional<Scalar>& p, IntArrayRef dim, bool keepdim,
                 ScalarType dtype) {
  const CallScope call("norm_out", out, self);
  return put_out(out, tenon::norm(self, p, dim, keepdim, dtype), "norm");
}
Tensor& concatenate_out(Tensor& out, TensorList tensors, int64_t dim) {
  const CallScope call("concatenate_out", out, tensors);
  return put_out(out, tenon::concatenate(tensors, dim), "concatenate");
}
Tensor& column_stack_out(Tensor& out, TensorList tensors) {
  const CallScope call("column_stack_out", out, tensors);
  return put_out(out, tenon::column_stack(tensors), "column_stack");
}
Tensor& row_stack_out(Tensor& out, TensorList tensors) {
  const CallScope call("row_stack_out", out, tensors);
  return put_out(out, tenon::row_stack(tensors), "row_stack");
}
Tensor& isin_out(Tensor& out, const Operand& elements, const Operand& test_elements, bool assume_unique,
                 bool invert) {
  const CallScope call("isin_out", out, elements, test_elements);
  return put_out(out, tenon::isin(elements, test_elements, assume_unique, invert), "isin");
}
Tensor& isin_out(Tensor& out, const Operand& elements, const Scalar& test_element, bool assume_unique,
                 bool invert) {
  const CallScope call("isin_out", out, elements, test_element);
  return put_out(out, tenon::isin(elements, test_element, assume_unique, invert), "isin");
}
Tensor& isin_out(Tensor& out, const Scalar& element, const Operand& test_elements, bool assume_unique,
                 bool invert) {
  const CallScope call("isin_out", out, element, test_elements);
  return put_out(out, tenon::isin(element, test_elements, assume_unique, invert), "isin");
}
Tensor& nonzero_static_out(Tensor& out, const Operand& self, int64_t size, int64_t fill_value) {
  const CallScope call("nonzero_static_out", out, self);
  return put_out(out, tenon::nonzero_static(self, size, fill_value), "nonzero_static");
}
Tensor& range_out(Tensor& out, const Scalar& start, const Scalar& end, const Scalar& step) {
  const CallScope call("range_out", out, start, end, step);
  return put_out(out, tenon::range(start, end, step, out.options()), "range");
}
Tensor& matrix_power_out(Tensor& out, const Operand& self, int64_t n) {
  const CallScope call("matrix_power_out", out, self);
  return put_out(out, tenon::matrix_power(self, n), "matrix_power");
}
Tensor& as_strided_scatter_out(Tensor& out, const Operand& self, const Operand& src, IntArrayRef size,
                               IntArrayRef stride, optional<int64_t> storage_offset) {
  const CallScope call("as_strided_scatter_out", out, self, src);
  return put_out(out, tenon::as_strided_scatter(self, src, size, stride, storage_offset), "as_strided_scatter");
}
Tensor& index_reduce_out(Tensor& out, const Operand& self, int64_t dim, const Operand& index,
                         const Operand& source, std::string_view reduce, bool include_self) {
  const CallScope call("index_reduce_out", out, self, index, source);
  return put_out(out, tenon::index_reduce(self, dim, index, source, reduce, include_self), "index_reduce");
}
Tensor& clone_out(Tensor& out, const Operand& self, MemoryFormat format) {
  const CallScope call("clone_out", out, self);
  return put_out(out, tenon::clone(self, format), "clone");
}
Tensor& cumsum_out(Tensor& out, const Operand& self, int64_t dim, optional<ScalarType> dtype) {
  const CallScope call("cumsum_out", out, self);
  return put_out(out, tenon::cumsum(self, dim, dtype), "cumsum");
}
Tensor& cumprod_out(Tensor& out, const Operand& self, int64_t dim, optional<ScalarType> dtype) {
  const CallScope call("cumprod_out", out, self);
  return put_out(out, tenon::cumprod(self, dim, dtype), "cumprod");
}
std::tuple<Tensor&, Tensor&> cummax_out(Tensor& first, Tensor& second, const Operand& self, int64_t dim) {
  const CallScope call("cummax_out", first, second, self);
  const auto [a, b] = tenon::cummax(self, dim);
  put_out(first, a, "cummax");
  put_out(second, b, "cummax");
  return {first, second};
}
std::tuple<Tensor&, Tensor&> cummin_out(Tensor& first, Tensor& second, const Operand& self, int64_t dim) {
  const CallScope call("cummin_out", first, second, self);
  const auto [a, b] = tenon::cummin(self, dim);
  put_out(first, a, "cummin");
  put_out(second, b, "cummin");
  return {first, second};
}
Tensor& logcumsumexp_out(Tensor& out, const Operand& self, int64_t dim) {
  const CallScope call("logcumsumexp_out", out, self);
  return put_out(out, tenon::logcumsumexp(self, dim), "logcumsumexp");
}
std::tuple<Tensor&, Tensor&> sort_out(Tensor& first, Tensor& second, const Operand& self, int64_t dim,
                                      bool descending) {
  const CallScope call("sort_out", first, second, self);
  const auto [a, b] = tenon::sort(self, dim, descending);
  put_out(first, a, "sort");
  put_out(second, b, "sort");
  return {first, second};
}
std::tuple<Tensor&, Tensor&> sort_out(Tensor& first, Tensor& second, const Operand& self,
                                      optional<bool> stable, int64_t dim, bool descending) {
  const CallScope call("sort_out", first, second, self);
  const auto [a, b] = tenon::sort(self, stable, dim, descending);
  put_out(first, a, "sort");
  put_out(second, b, "sort");
  return {first, second};
}
Tensor& argsort_out(Tensor& out, const Operand& self, int64_t dim, bool descending) {
  const CallScope call("argsort_out", out, self);
  return put_out(out, tenon::argsort(self, dim, descending), "argsort");
}
Tensor& argsort_out(Tensor& out, const Operand& self, bool stable, int64_t dim, bool descending) {
  const CallScope call("argsort_out", out, self);
  return put_out(out, tenon::argsort(self, stable, dim, descending), "argsort");
}
Tensor& msort_out(Tensor& out, const Operand& self) {
  const CallScope call("msort_out", out, self);
  return put_out(out, tenon::msort(self), "msort");
}
std::tuple<Tensor&, Tensor&> topk_out(Tensor& first, Tensor& second, const Operand& self, int64_t k,
                                      int64_t dim, bool largest, bool sorted) {
  const CallScope call("topk_out", first, second, self);
  const auto [a, b] = tenon::topk(self, k, dim, largest, sorted);
  put_out(first, a, "topk");
  put_out(second, b, "topk");
  return {first, second};
}
std::tuple<Tensor&, Tensor&> kthvalue_out(Tensor& first, Tensor& second, const Operand& self, int64_t k,
                                          int64_t dim, bool keepdim) {
  const CallScope call("kthvalue_out", first, second, self);
  const auto [a, b] = tenon::kthvalue(self, k, dim, keepdim);
  put_out(first, a, "kthvalue");
  put_out(second, b, "kthvalue");
  return {first, second};
}
Tensor& median_out(Tensor& out, const Operand& self) {
  const CallScope call("median_out", out, self);
  return put_out(out, tenon::median(self), "median");
}
std::tuple<Tensor&, Tensor&> median_out(Tensor& first, Tensor& second, const Operand& self, int64_t dim,
                                        bool keepdim) {
  const CallScope call("median_out", first, second, self);
  const auto [a, b] = tenon::median(self, dim, keepdim);
  put_out(first, a, "median");
  put_out(second, b, "median");
  return {first, second};
}
Tensor& nanmedian_out(Tensor& out, const Operand& self) {
  const CallScope call("nanmedian_out", out, self);
  return put_out(out, tenon::nanmedian(self), "nanmedian");
}
std::tuple<Tensor&, Tensor&> nanmedian_out(Tensor& first, Tensor& second, const Operand& self, int64_t dim,
                                           bool keepdim) {
  const CallScope call("nanmedian_out", first, second, self);
  const auto [a, b] = tenon::nanmedian(self, dim, keepdim);
  put_out(first, a, "nanmedian");
  put_out(second, b, "nanmedian");
  return {first, second};
}
std::tuple<Tensor&, Tensor&> mode_out(Tensor& first, Tensor& second, const Operand& self, int64_t dim,
                                      bool keepdim) {
  const CallScope call("mode_out", first, second, self);
  const auto [a, b] = tenon::mode(self, dim, keepdim);
  put_out(first, a, "mode");
  put_out(second, b, "mode");
  return {first, second};
}
Tensor& quantile_out(Tensor& out, const Operand& self, double q, optional<int64_t> dim, bool keepdim,
                     std::string_view interpolation) {
  const CallScope call("quantile_out", out, self);
  return put_out(out, tenon::quantile(self, q, dim, keepdim, interpolation), "quantile");
}
Tensor& quantile_out(Tensor& out, const Operand& self, const Operand& q, optional<int64_t> dim, bool keepdim,
                     std::string_view interpolation) {
  const CallScope call("quantile_out", out, self, q);
  return put_out(out, tenon::quantile(self, q, dim, keepdim, interpolation), "quantile");
}
Tensor& nanquantile_out(Tensor& out, const Operand& self, double q, optional<int64_t> dim, bool keepdim,
                        std::string_view interpolation) {
  const CallScope call("nanquantile_out", out, self);
  return put_out(out, tenon::nanquantile(self, q, dim, keepdim, interpolation), "nanquantile");
}
Tensor& nanquantile_out(Tensor& out, const Operand& self, const Operand& q, optional<int64_t> dim,
                        bool keepdim, std::string_view interpolation) {
  const CallScope call("nanquantile_out", out, self, q);
  return put_out(out, tenon::nanquantile(self, q, dim, keepdim, interpolation), "nanquantile");
}
Tensor& histc_out(Tensor& out, const Operand& self, int64_t bins, const Scalar& min, const Scalar& max) {
  const CallScope call("histc_out", out, self, min, max);
  return put_out(out, tenon::histc(self, bins, min, max), "histc");
}
std::tuple<Tensor&, Tensor&> histogram_out(Tensor& first, Tensor& second, const Operand& self,
                                           const Operand& bins, const optional<Tensor>& weight,
                                           bool density) {
  const CallScope call("histogram_out", first, second, self, bins, weight);
  const auto [a, b] = tenon::histogram(self, bins, weight, density);
  put_out(first, a, "histogram");
  put_out(second, b, "histogram");
  return {first, second};
}
std::tuple<Tensor&, Tensor&> histogram_out(Tensor& first, Tensor& second, const Operand& self, int64_t bins,
                                           optional<ArrayRef<double>> range, const optional<Tensor>& weight,
                                           bool density) {
  const CallScope call("histogram_out", first, second, self, weight);
  const auto [a, b] = tenon::histogram(self, bins, range, weight, density);
  put_out(first, a, "histogram");
  put_out(second, b, "histogram");
  return {first, second};
}
Tensor& bincount_out(Tensor& out, const Operand& self, const optional<Tensor>& weights, int64_t minlength) {
  const CallScope call("bincount_out", out, self, weights);
  return put_out(out, tenon::bincount(self, weights, minlength), "bincount");
}
Tensor& searchsorted_out(Tensor& out, const Operand& sorted_sequence, const Operand& self, bool out_int32,
                         bool right, optional<std::string_view> side, const optional<Tensor>& sorter) {
  const CallScope call("searchsorted_out", out, sorted_sequence, self, sorter);
  return put_out(out, tenon::searchsorted(sorted_sequence, self, out_int32, right, side, sorter), "searchsorted");
}
Tensor& searchsorted_out(Tensor& out, const Operand& sorted_sequence, const Scalar& self, bool out_int32,
                         bool right, optional<std::string_view> side, const optional<Tensor>& sorter) {
  const CallScope call("searchsorted_out", out, sorted_sequence, self, sorter);
  return put_out(out, tenon::searchsorted(sorted_sequence, self, out_int32, right, side, sorter), "searchsorted");
}
Tensor& bucketize_out(Tensor& out, const Operand& self, const Operand& boundaries, bool out_int32,
                      bool right) {
  const CallScope call("bucketize_out", out, self, boundaries);
  return put_out(out, tenon::bucketize(self, boundaries, out_int32, right), "bucketize");
}
Tensor& bucketize_out(Tensor& out, const Scalar& self, const Operand& boundaries, bool out_int32,
                      bool right) {
  const CallScope call("bucketize_out", out, self, boundaries);
  return put_out(out, tenon::bucketize(self, boundaries, out_int32, right), "bucketize");
}
Tensor& gather_out(Tensor& out, const Operand& self, int64_t dim, const Operand& index, bool sparse_grad) {
  const CallScope call("gather_out", out, self, index);
  return put_out(out, tenon::gather(self, dim, index, sparse_grad), "gather");
}
Tensor& index_select_out(Tensor& out, const Operand& self, int64_t dim, const Operand& index) {
  const CallScope call("index_select_out", out, self, index);
  return put_out(out, tenon::index_select(self, dim, index), "index_select");
}
Tensor& take_out(Tensor& out, const Operand& self, const Operand& index) {
  const CallScope call("take_out", out, self, index);
  return put_out(out, tenon::take(self, index), "take");
}
Tensor& take_along_dim_out(Tensor& out, const Operand& self, const Operand& indices, optional<int64_t> dim) {
  const CallScope call("take_along_dim_out", out, self, indices);
  return put_out(out, tenon::take_along_dim(self, indices, dim), "take_along_dim");
}
Tensor& masked_select_out(Tensor& out, const Operand& self, const Operand& mask) {
  const CallScope call("masked_select_out", out, self, mask);
  return put_out(out, tenon::masked_select(self, mask), "masked_select");
}
Tensor& nonzero_out(Tensor& out, const Operand& self) {
  const CallScope call("nonzero_out", out, self);
  return put_out(out, tenon::nonzero(self), "nonzero");
}
Tensor& scatter_out(Tensor& out, const Operand& self, int64_t dim, const Operand& index, const Operand& src) {
  const CallScope call("scatter_out", out, self, index, src);
  return put_out(out, tenon::scatter(self, dim, index, src), "scatter");
}
Tensor& scatter_out(Tensor& out, const Operand& self, int64_t dim, const Operand& index,
                    const Scalar& value) {
  const CallScope call("scatter_out", out, self, index, value);
  return put_out(out, tenon::scatter(self, dim, index, value), "scatter");
}
Tensor& scatter_out(Tensor& out, const Operand& self, int64_t dim, const Operand& index, const Operand& src,
                    std::string_view reduce) {
  const CallScope call("scatter_out", out, self, index, src);
  return put_out(out, tenon::scatter(self, dim, index, src, reduce), "scatter");
}
Tensor& scatter_out(Tensor& out, const Operand& self, int64_t dim, const Operand& index, const Scalar& value,
                    std::string_view reduce) {
  const CallScope call("scatter_out", out, self, index, value);
  return put_out(out, tenon::scatter(self, dim, index, value, reduce), "scatter");
}
Tensor& scatter_add_out(Tensor& out, const Operand& self, int64_t dim, const Operand& index,
                        const Operand& src) {
  const CallScope call("scatter_add_out", out, self, index, src);
  return put_out(out, tenon::scatter_add(self, dim, index, src), "scatter_add");
}
Tensor& scatter_reduce_out(Tensor& out, const Operand& self, int64_t dim, const Operand& index,
                           const Operand& src, std::string_view reduce, bool include_self) {
  const CallScope call("scatter_reduce_out", out, self, index, src);
  return put_out(out, tenon::scatter_reduce(self, dim, index, src, reduce, include_self), "scatter_reduce");
}
Tensor& index_add_out(Tensor& out, const Operand& self, int64_t dim, const Operand& index,
                      const Operand& source, const Scalar& alpha) {
  const CallScope call("index_add_out", out, self, index, source, alpha);
  return put_out(out, tenon::index_add(self, dim, index, source, alpha), "index_add");
}
Tensor& index_copy_out(Tensor& out, const Operand& self, int64_t dim, const Operand& index,
                       const Operand& source) {
  const CallScope call("index_copy_out", out, self, index, source);
  return put_out(out, tenon::index_copy(self, dim, index, source), "index_copy");
}
Tensor& index_fill_out(Tensor& out, const Operand& self, int64_t dim, const Operand& index,
                       const Scalar& value) {
  const CallScope call("index_fill_out", out, self, index, value);
  return put_out(out, tenon::index_fill(self, dim, index, value), "index_fill");
}
Tensor& index_fill_out(Tensor& out, const Operand& self, int64_t dim, const Operand& index,
                       const Operand& value) {
  const CallScope call("index_fill_out", out, self, index, value);
  return put_out(out, tenon::index_fill(self, dim, index, value), "index_fill");
}
Tensor& put_out(Tensor& out, const Operand& self, const Operand& index, const Operand& source,
                bool accumulate) {
  const CallScope call("put_out", out, self, index, source);
  return put_out(out, tenon::put(self, index, source, accumulate), "put");
}
Tensor& masked_scatter_out(Tensor& out, const Operand& self, const Operand& mask, const Operand& source) {
  const CallScope call("masked_scatter_out", out, self, mask, source);
  return put_out(out, tenon::masked_scatter(self, mask, source), "masked_scatter");
}
Tensor& select_scatter_out(Tensor& out, const Operand& self, const Operand& src, int64_t dim, int64_t index) {
  const CallScope call("select_scatter_out", out, self, src);
  return put_out(out, tenon::select_scatter(self, src, dim, index), "select_scatter");
}
Tensor& slice_scatter_out(Tensor& out, const Operand& self, const Operand& src, int64_t dim,
                          optional<int64_t> start, optional<int64_t> end, int64_t step) {
  const CallScope call("slice_scatter_out", out, self, src);
  return put_out(out, tenon::slice_scatter(self, src, dim, start, end, step), "slice_scatter");
}
Tensor& diagonal_scatter_out(Tensor& out, const Operand& self, const Operand& src, int64_t offset,
                             int64_t dim1, int64_t dim2) {
  const CallScope call("diagonal_scatter_out", out, self, src);
  return put_out(out, tenon::diagonal_scatter(self, src, offset, dim1, dim2), "diagonal_scatter");
}
Tensor& rand_out(Tensor& out, IntArrayRef size) {
  const CallScope call("rand_out", out);
  return put_out(out, tenon::rand(size, out.options()), "rand");
}
Tensor& rand_out(Tensor& out, IntArrayRef size, const optional<Generator>& generator) {
  const CallScope call("rand_out", out);
  return put_out(out, tenon::rand(size, generator, out.options()), "rand");
}
Tensor& randn_out(Tensor& out, IntArrayRef size) {
  const CallScope call("randn_out", out);
  return put_out(out, tenon::randn(size, out.options()), "randn");
}
Tensor& randn_out(Tensor& out, IntArrayRef size, const optional<Generator>& generator) {
  const CallScope call("randn_out", out);
  return put_out(out, tenon::randn(size, generator, out.options()), "randn");
}
Tensor& rand_like_out(Tensor& out, const Operand& self) {
  const CallScope call("rand_like_out", out, self);
  return put_out(out, tenon::rand_like(self), "rand_like");
}
Tensor& randn_like_out(Tensor& out, const Operand& self) {
  const CallScope call("randn_like_out", out, self);
  return put_out(out, tenon::randn_like(self), "randn_like");
}
Tensor& randint_out(Tensor& out, int64_t high, IntArrayRef size) {
  const CallScope call("randint_out", out);
  return put_out(out, tenon::randint(high, size, out.options()), "randint");
}
Tensor& randint_out(Tensor& out, int64_t high, IntArrayRef size, const optional<Generator>& generator) {
  const CallScope call("randint_out", out);
  return put_out(out, tenon::randint(high, size, generator, out.options()), "randint");
}
Tensor& randint_out(Tensor& out, int64_t low, int64_t high, IntArrayRef size) {
  const CallScope call("randint_out", out);
  return put_out(out, tenon::randint(low, high, size, out.options()), "randint");
}
Tensor& randint_out(Tensor& out, int64_t low, int64_t high, IntArrayRef size,
                    const optional<Generator>& generator) {
  const CallScope call("randint_out", out);
  return put_out(out, tenon::randint(low, high, size, generator, out.options()), "randint");
}
Tensor& randint_like_out(Tensor& out, const Operand& self, int64_t high) {
  const CallScope call("randint_like_out", out, self);
  return put_out(out, tenon::randint_like(self, high), "randint_like");
}
Tensor& randint_like_out(Tensor& out, const Operand& self, int64_t low, int64_t high) {
  const CallScope call("randint_like_out", out, self);
  return put_out(out, tenon::randint_like(self, low, high), "randint_like");
}
Tensor& randperm_out(Tensor& out, int64_t n) {
  const CallScope call("randperm_out", out);
  return put_out(out, tenon::randperm(n, out.options()), "randperm");
}
Tensor& randperm_out(Tensor& out, int64_t n, const optional<Generator>& generator) {
  const CallScope call("randperm_out", out);
  return put_out(out, tenon::randperm(n, generator, out.options()), "randperm");
}
Tensor& bernoulli_out(Tensor& out, const Operand& self, const optional<Generator>& generator) {
  const CallScope call("bernoulli_out", out, self);
  return put_out(out, tenon::bernoulli(self, generator), "bernoulli");
}
Tensor& bernoulli_out(Tensor& out, const Operand& self, double p, const optional<Generator>& generator) {
  const CallScope call("bernoulli_out", out, self);
  return put_out(out, tenon::bernoulli(self, p, generator), "bernoulli");
}
Tensor& normal_out(Tensor& out, const Operand& mean, double std, const optional<Generator>& generator) {
  const CallScope call("normal_out", out, mean);
  return put_out(out, tenon::normal(mean, std, generator), "normal");
}
Tensor& normal_out(Tensor& out, double mean, const Operand& std, const optional<Generator>& generator) {
  const CallScope call("normal_out", out, std);
  return put_out(out, tenon::normal(mean, std, generator), "normal");
}
Tensor& normal_out(Tensor& out, const Operand& mean, const Operand& std,
                   const optional<Generator>& generator) {
  const CallScope call("normal_out", out, mean, std);
  return put_out(out, tenon::normal(mean, std, generator), "normal");
}
Tensor& normal_out(Tensor& out, double mean, double std, IntArrayRef size,
                   const optional<Generator>& generator) {
  const CallScope call("normal_out", out);
  return put_out(out, tenon::normal(mean, std, size, generator, out.options()), "normal");
}
Tensor& multinomial_out(Tensor& out, const Operand& self, int64_t num_samples, bool replacement,
                        const optional<Generator>& generator) {
  const CallScope call("multinomial_out", out, self);
  return put_out(out, tenon::multinomial(self, num_samples, replacement, generator), "multinomial");
}
Tensor& poisson_out(Tensor& out, const Operand& self, const optional<Generator>& generator) {
  const CallScope call("poisson_out", out, self);
  return put_out(out, tenon::poisson(self, generator), "poisson");
}
Tensor& scalar_tensor_out(Tensor& out, const Scalar& value) {
  const CallScope call("scalar_tensor_out", out, value);
  return put_out(out, tenon::scalar_tensor(value, out.options()), "scalar_tensor");
}
Tensor& zeros_out(Tensor& out, IntArrayRef size) {
  const CallScope call("zeros_out", out);
  return put_out(out, tenon::zeros(size, out.options()), "zeros");
}
Tensor& ones_out(Tensor& out, IntArrayRef size) {
  const CallScope call("ones_out", out);
  return put_out(out, tenon::ones(size, out.options()), "ones");
}
Tensor& empty_out(Tensor& out, IntArrayRef size) {
  const CallScope call("empty_out", out);
  return put_out(out, tenon::empty(size, out.options()), "empty");
}
Tensor& full_out(Tensor& out, IntArrayRef size, const Scalar& fill_value) {
  const CallScope call("full_out", out, fill_value);
  return put_out(out, tenon::full(size, fill_value, out.options()), "full");
}
Tensor& zeros_like_out(Tensor& out, const Tensor& self) {
  const CallScope call("zeros_like_out", out, self);
  return put_out(out, tenon::zeros_like(self), "zeros_like");
}
Tensor& ones_like_out(Tensor& out, const Tensor& self) {
  const CallScope call("ones_like_out", out, self);
  return put_out(out, tenon::ones_like(self), "ones_like");
}
Tensor& empty_like_out(Tensor& out, const Tensor& self) {
  const CallScope call("empty_like_out", out, self);
  return put_out(out, tenon::empty_like(self), "empty_like");
}
Tensor& full_like_out(Tensor& out, const Tensor& self, const Scalar& fill_value) {
  const CallScope call("full_like_out", out, self, fill_value);
  return put_out(out, tenon::full_like(self, fill_value), "full_like");
}
Tensor& arange_out(Tensor& out, const Scalar& end) {
  const CallScope call("arange_out", out, end);
  return put_out(out, tenon::arange(end, out.options()), "arange");
}
Tensor& arange_out(Tensor& out, const Scalar& start, const Scalar& end) {
  const CallScope call("arange_out", out, start, end);
  return put_out(out, tenon::arange(start, end, out.options()), "arange");
}
Tensor& arange_out(Tensor& out, const Scalar& start, const Scalar& end, const Scalar& step) {
  const CallScope call("arange_out", out, start, end, step);
  return put_out(out, tenon::arange(start, end, step, out.options()), "arange");
}
Tensor& linspace_out(Tensor& out, const Scalar& start, const Scalar& end, int64_t steps) {
  const CallScope call("linspace_out", out, start, end);
  return put_out(out, tenon::linspace(start, end, steps, out.options()), "linspace");
}
Tensor& linspace_out(Tensor& out, const Tensor& start, const Tensor& end, int64_t steps) {
  const CallScope call("linspace_out", out, start, end);
  return put_out(out, tenon::linspace(start, end, steps, out.options()), "linspace");
}
Tensor& linspace_out(Tensor& out, const Tensor& start, const Scalar& end, int64_t steps) {
  const CallScope call("linspace_out", out, start, end);
  return put_out(out, tenon::linspace(start, end, steps, out.options()), "linspace");
}
Tensor& linspace_out(Tensor& out, const Scalar& start, const Tensor& end, int64_t steps) {
  const CallScope call("linspace_out", out, start, end);
  return put_out(out, tenon::linspace(start, end, steps, out.options()), "linspace");
}
Tensor& logspace_out(Tensor& out, const Scalar& start, const Scalar& end, int64_t steps, double base) {
  const CallScope call("logspace_out", out, start, end);
  return put_out(out, tenon::logspace(start, end, steps, base, out.options()), "logspace");
}
Tensor& logspace_out(Tensor& out, const Tensor& start, const Tensor& end, int64_t steps, double base) {
  const CallScope call("logspace_out", out, start, end);
  return put_out(out, tenon::logspace(start, end, steps, base, out.options()), "logspace");
}
Tensor& logspace_out(Tensor& out, const Tensor& start, const Scalar& end, int64_t steps, double base) {
  const CallScope call("logspace_out", out, start, end);
  return put_out(out, tenon::logspace(start, end, steps, base, out.options()), "logspace");
}
Tensor& logspace_out(Tensor& out, const Scalar& start, const Tensor& end, int64_t steps, double base) {
  const CallScope call("logspace_out", out, start, end);
  return put_out(out, tenon::logspace(start, end, steps, base, out.options()), "logspace");
}
Tensor& eye_out(Tensor& out, int64_t n) {
  const CallScope call("eye_out", out);
  return put_out(out, tenon::eye(n, out.options()), "eye");
}
Tensor& eye_out(Tensor& out, int64_t n, int64_t m) {
  const CallScope call("eye_out", out);
  return put_out(out, tenon::eye(n, m, out.options()), "eye");
}
Tensor& linalg_norm_out(Tensor& out, const Operand& self, const optional<Scalar>& ord,
                        OptionalIntArrayRef dim, bool keepdim, optional<ScalarType> dtype) {
  const CallScope call("linalg_norm_out", out, self);
  return put_out(out, tenon::linalg_norm(self, ord, dim, keepdim, dtype), "linalg_norm");
}
Tensor& linalg_norm_out(Tensor& out, const Operand& self, std::string_view ord, OptionalIntArrayRef dim,
                        bool keepdim, optional<ScalarType> dtype) {
  const CallScope call("linalg_norm_out", out, self);
  return put_out(out, tenon::linalg_norm(self, ord, dim, keepdim, dtype), "linalg_norm");
}
Tensor& linalg_matrix_norm_out(Tensor& out, const Operand& self, const Scalar& ord, IntArrayRef dim,
                               bool keepdim, optional<ScalarType> dtype) {
  const CallScope call("linalg_matrix_norm_out", out, self, ord);
  return put_out(out, tenon::linalg_matrix_norm(self, ord, dim, keepdim, dtype), "linalg_matrix_norm");
}
Tensor& linalg_matrix_norm_out(Tensor& out, const Operand& self, std::string_view ord, IntArrayRef dim,
                               bool keepdim, optional<ScalarType> dtype) {
  const CallScope call("linalg_matrix_norm_out", out, self);
  return put_out(out, tenon::linalg_matrix_norm(self, ord, dim, keepdim, dtype), "linalg_matrix_norm");
}
Tensor& linalg_matrix_power_out(Tensor& out, const Operand& self, int64_t n) {
  const CallScope call("linalg_matrix_power_out", out, self);
  return put_out(out, tenon::linalg_matrix_power(self, n), "linalg_matrix_power");
}
Tensor& linalg_multi_dot_out(Tensor& out, TensorList tensors) {
  const CallScope call("linalg_multi_dot_out", out, tensors);
  return put_out(out, tenon::linalg_multi_dot(tensors), "linalg_multi_dot");
}
Tensor& linalg_vecdot_out(Tensor& out, const Operand& x, const Operand& y, int64_t dim) {
  const CallScope call("linalg_vecdot_out", out, x, y);
  return put_out(out, tenon::linalg_vecdot(x, y, dim), "linalg_vecdot");
}
Tensor& linalg_matmul_out(Tensor& out, const Operand& self, const Operand& other) {
  const CallScope call("linalg_matmul_out", out, self, other);
  return put_out(out, tenon::linalg_matmul(self, other), "linalg_matmul");
}
Tensor& frobenius_norm_out(Tensor& out, const Operand& self, IntArrayRef dim, bool keepdim) {
  const CallScope call("frobenius_norm_out", out, self);
  return put_out(out, tenon::frobenius_norm(self, dim, keepdim), "frobenius_norm");
}
Tensor& special_entr_out(Tensor& out, const Operand& self) {
  const CallScope call("special_entr_out", out, self);
  return put_out(out, tenon::special_entr(self), "special_entr");
}
Tensor& special_erfcx_out(Tensor& out, const Operand& self) {
  const CallScope call("special_erfcx_out", out, self);
  return put_out(out, tenon::special_erfcx(self), "special_erfcx");
}
Tensor& special_ndtr_out(Tensor& out, const Operand& self) {
  const CallScope call("special_ndtr_out", out, self);
  return put_out(out, tenon::special_ndtr(self), "special_ndtr");
}
Tensor& special_ndtri_out(Tensor& out, const Operand& self) {
  const CallScope call("special_ndtri_out", out, self);
  return put_out(out, tenon::special_ndtri(self), "special_ndtri");
}
Tensor& special_log_ndtr_out(Tensor& out, const Operand& self) {
  const CallScope call("special_log_ndtr_out", out, self);
  return put_out(out, tenon::special_log_ndtr(self), "special_log_ndtr");
}
Tensor& special_i0e_out(Tensor& out, const Operand& self) {
  const CallScope call("special_i0e_out", out, self);
  return put_out(out, tenon::special_i0e(self), "special_i0e");
}
Tensor& special_i1_out(Tensor& out, const Operand& self) {
  const CallScope call("special_i1_out", out, self);
  return put_out(out, tenon::special_i1(self), "special_i1");
}
Tensor& special_i1e_out(Tensor& out, const Operand& self) {
  const CallScope call("special_i1e_out", out, self);
  return put_out(out, tenon::special_i1e(self), "special_i1e");
}
Tensor& special_bessel_j0_out(Tensor& out, const Operand& self) {
  const CallScope call("special_bessel_j0_out", out, self);
  return put_out(out, tenon::special_bessel_j0(self), "special_bessel_j0");
}
Tensor& special_bessel_j1_out(Tensor& out, const Operand& self) {
  const CallScope call("special_bessel_j1_out", out, self);
  return put_out(out, tenon::special_bessel_j1(self), "special_bessel_j1");
}
Tensor& special_bessel_y0_out(Tensor& out, const Operand& self) {
  const CallScope call("special_bessel_y0_out", out, self);
  return put_out(out, tenon::special_bessel_y0(self), "special_bessel_y0");
}
Tensor& special_bessel_y1_out(Tensor& out, const Operand& self) {
  const CallScope call("special_bessel_y1_out", out, self);
  return put_out(out, tenon::special_bessel_y1(self), "special_bessel_y1");
}
Tensor& special_modified_bessel_k0_out(Tensor& out, const Operand& self) {
  const CallScope call("special_modified_bessel_k0_out", out, self);
  return put_out(out, tenon::special_modified_bessel_k0(self), "special_modified_bessel_k0");
}
Tensor& special_modified_bessel_k1_out(Tensor& out, const Operand& self) {
  const CallScope call("special_modified_bessel_k1_out", out, self);
  return put_out(out, tenon::special_modified_bessel_k1(self), "special_modified_bessel_k1");
}
Tensor& special_scaled_modified_bessel_k0_out(Tensor& out, const Operand& self) {
  const CallScope call("special_scaled_modified_bessel_k0_out", out, self);
  return put_out(out, tenon::special_scaled_modified_bessel_k0(self), "special_scaled_modified_bessel_k0");
}
Tensor& special_scaled_modified_bessel_k1_out(Tensor& out, const Operand& self) {
  const CallScope call("special_scaled_modified_bessel_k1_out", out, self);
  return put_out(out, tenon::special_scaled_modified_bessel_k1(self), "special_scaled_modified_bessel_k1");
}
Tensor& special_spherical_bessel_j0_out(Tensor& out, const Operand& self) {
  const CallScope call("special_spherical_bessel_j0_out", out, self);
  return put_out(out, tenon::special_spherical_bessel_j0(self), "special_spherical_bessel_j0");
}
Tensor& special_digamma_out(Tensor& out, const Operand& self) {
  const CallScope call("special_digamma_out", out, self);
  return put_out(out, tenon::special_digamma(self), "special_digamma");
}
Tensor& special_psi_out(Tensor& out, const Operand& self) {
  const CallScope call("special_psi_out", out, self);
  return put_out(out, tenon::special_psi(self), "special_psi");
}
Tensor& special_erf_out(Tensor& out, const Operand& self) {
  const CallScope call("special_erf_out", out, self);
  return put_out(out, tenon::special_erf(self), "special_erf");
}
Tensor& special_erfc_out(Tensor& out, const Operand& self) {
  const CallScope call("special_erfc_out", out, self);
  return put_out(out, tenon::special_erfc(self), "special_erfc");
}
Tensor& special_erfinv_out(Tensor& out, const Operand& self) {
  const CallScope call("special_erfinv_out", out, self);
  return put_out(out, tenon::special_erfinv(self), "special_erfinv");
}
Tensor& special_exp2_out(Tensor& out, const Operand& self) {
  const CallScope call("special_exp2_out", out, self);
  return put_out(out, tenon::special_exp2(self), "special_exp2");
}
Tensor& special_expit_out(Tensor& out, const Operand& self) {
  const CallScope call("special_expit_out", out, self);
  return put_out(out, tenon::special_expit(self), "special_expit");
}
Tensor& special_expm1_out(Tensor& out, const Operand& self) {
  const CallScope call("special_expm1_out", out, self);
  return put_out(out, tenon::special_expm1(self), "special_expm1");
}
Tensor& special_gammaln_out(Tensor& out, const Operand& self) {
  const CallScope call("special_gammaln_out", out, self);
  return put_out(out, tenon::special_gammaln(self), "special_gammaln");
}
Tensor& special_i0_out(Tensor& out, const Operand& self) {
  const CallScope call("special_i0_out", out, self);
  return put_out(out, tenon::special_i0(self), "special_i0");
}
Tensor& special_log1p_out(Tensor& out, const Operand& self) {
  const CallScope call("special_log1p_out", out, self);
  return put_out(out, tenon::special_log1p(self), "special_log1p");
}
Tensor& special_sinc_out(Tensor& out, const Operand& self) {
  const CallScope call("special_sinc_out", out, self);
  return put_out(out, tenon::special_sinc(self), "special_sinc");
}
Tensor& special_modified_bessel_i0_out(Tensor& out, const Operand& self) {
  const CallScope call("special_modified_bessel_i0_out", out, self);
  return put_out(out, tenon::special_modified_bessel_i0(self), "special_modified_bessel_i0");
}
Tensor& convolution_out(Tensor& out, const Operand& input, const Operand& weight,
                        const optional<Tensor>& bias, IntArrayRef stride, IntArrayRef padding,
                        IntArrayRef dilation, bool transposed, IntArrayRef output_padding, int64_t groups) {
  const CallScope call("convolution_out", out, input, weight, bias);
  return put_out(out, tenon::convolution(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups), "convolution");
}
Tensor& adaptive_avg_pool1d_out(Tensor& out, const Operand& self, IntArrayRef output_size) {
  const CallScope call("adaptive_avg_pool1d_out", out, self);
  return put_out(out, tenon::adaptive_avg_pool1d(self, output_size), "adaptive_avg_pool1d");
}
std::tuple<Tensor&, Tensor&> max_pool2d_with_indices_out(Tensor& first, Tensor& second, const Operand& self,
                                                         IntArrayRef kernel_size, IntArrayRef stride,
                                                         IntArrayRef padding, IntArrayRef dilation,
                                                         bool ceil_mode) {
  const CallScope call("max_pool2d_with_indices_out", first, second, self);
  const auto [a, b] = tenon::max_pool2d_with_indices(self, kernel_size, stride, padding, dilation, ceil_mode);
  put_out(first, a, "max_pool2d_with_indices");
  put_out(second, b, "max_pool2d_with_indices");
  return {first, second};
}
Tensor& adaptive_avg_pool2d_out(Tensor& out, const Operand& self, IntArrayRef output_size) {
  const CallScope call("adaptive_avg_pool2d_out", out, self);
  return put_out(out, tenon::adaptive_avg_pool2d(self, output_size), "adaptive_avg_pool2d");
}
std::tuple<Tensor&, Tensor&> adaptive_max_pool2d_out(Tensor& first, Tensor& second, const Operand& self,
                                                     IntArrayRef output_size) {
  const CallScope call("adaptive_max_pool2d_out", first, second, self);
  const auto [a, b] = tenon::adaptive_max_pool2d(self, output_size);
  put_out(first, a, "adaptive_max_pool2d");
  put_out(second, b, "adaptive_max_pool2d");
  return {first, second};
}
std::tuple<Tensor&, Tensor&> max_pool3d_with_indices_out(Tensor& first, Tensor& second, const Operand& self,
                                                         IntArrayRef kernel_size, IntArrayRef stride,
                                                         IntArrayRef padding, IntArrayRef dilation,
                                                         bool ceil_mode) {
  const CallScope call("max_pool3d_with_indices_out", first, second, self);
  const auto [a, b] = tenon::max_pool3d_with_indices(self, kernel_size, stride, padding, dilation, ceil_mode);
  put_out(first, a, "max_pool3d_with_indices");
  put_out(second, b, "max_pool3d_with_indices");
  return {first, second};
}
Tensor& adaptive_avg_pool3d_out(Tensor& out, const Operand& self, IntArrayRef output_size) {
  const CallScope call("adaptive_avg_pool3d_out", out, self);
  return put_out(out, tenon::adaptive_avg_pool3d(self, output_size), "adaptive_avg_pool3d");
}
std::tuple<Tensor&, Tensor&> adaptive_max_pool3d_out(Tensor& first, Tensor& second, const Operand& self,
                                                     IntArrayRef output_size) {
  const CallScope call("adaptive_max_pool3d_out", first, second, self);
  const auto [a, b] = tenon::adaptive_max_pool3d(self, output_size);
  put_out(first, a, "adaptive_max_pool3d");
  put_out(second, b, "adaptive_max_pool3d");
  return {first, second};
}
Tensor& avg_pool1d_out(Tensor& out, const Operand& self, IntArrayRef kernel_size, IntArrayRef stride,
                       IntArrayRef padding, bool ceil_mode, bool count_include_pad) {
  const CallScope call("avg_pool1d_out", out, self);
  return put_out(out, tenon::avg_pool1d(self, kernel_size, stride, padding, ceil_mode, count_include_pad), "avg_pool1d");
}
Tensor& avg_pool2d_out(Tensor& out, const Operand& self, IntArrayRef kernel_size, IntArrayRef stride,
                       IntArrayRef padding, bool ceil_mode, bool count_include_pad,
                       optional<int64_t> divisor_override) {
  const CallScope call("avg_pool2d_out", out, self);
  return put_out(out, tenon::avg_pool2d(self, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override), "avg_pool2d");
}
Tensor& avg_pool3d_out(Tensor& out, const Operand& self, IntArrayRef kernel_size, IntArrayRef stride,
                       IntArrayRef padding, bool ceil_mode, bool count_include_pad,
                       optional<int64_t> divisor_override) {
  const CallScope call("avg_pool3d_out", out, self);
  return put_out(out, tenon::avg_pool3d(self, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override), "avg_pool3d");
}
std::tuple<Tensor&, Tensor&> fractional_max_pool2d_out(Tensor& first, Tensor& second, const Operand& self,
                                                       IntArrayRef kernel_size, IntArrayRef output_size,
                                                       const Operand& random_samples) {
  const CallScope call("fractional_max_pool2d_out", first, second, self, random_samples);
  const auto [a, b] = tenon::fractional_max_pool2d(self, kernel_size, output_size, random_samples);
  put_out(first, a, "fractional_max_pool2d");
  put_out(second, b, "fractional_max_pool2d");
  return {first, second};
}
std::tuple<Tensor&, Tensor&> fractional_max_pool3d_out(Tensor& first, Tensor& second, const Operand& self,
                                                       IntArrayRef kernel_size, IntArrayRef output_size,
                                                       const Operand& random_samples) {
  const CallScope call("fractional_max_pool3d_out", first, second, self, random_samples);
  const auto [a, b] = tenon::fractional_max_pool3d(self, kernel_size, output_size, random_samples);
  put_out(first, a, "fractional_max_pool3d");
  put_out(second, b, "fractional_max_pool3d");
  return {first, second};
}
Tensor& im2col_out(Tensor& out, const Operand& self, IntArrayRef kernel_size, IntArrayRef dilation,
                   IntArrayRef padding, IntArrayRef stride) {
  const CallScope call("im2col_out", out, self);
  return put_out(out, tenon::im2col(self, kernel_size, dilation, padding, stride), "im2col");
}
Tensor& col2im_out(Tensor& out, const Operand& self, IntArrayRef output_size, IntArrayRef kernel_size,
                   IntArrayRef dilation, IntArrayRef padding, IntArrayRef stride) {
  const CallScope call("col2im_out", out, self);
  return put_out(out, tenon::col2im(self, output_size, kernel_size, dilation, padding, stride), "col2im");
}
Tensor& reflection_pad1d_out(Tensor& out, const Operand& self, IntArrayRef padding) {
  const CallScope call("reflection_pad1d_out", out, self);
  return put_out(out, tenon::reflection_pad1d(self, padding), "reflection_pad1d");
}
Tensor& reflection_pad2d_out(Tensor& out, const Operand& self, IntArrayRef padding) {
  const CallScope call("reflection_pad2d_out", out, self);
  return put_out(out, tenon::reflection_pad2d(self, padding), "reflection_pad2d");
}
Tensor& reflection_pad3d_out(Tensor& out, const Operand& self, IntArrayRef padding) {
  const CallScope call("reflection_pad3d_out", out, self);
  return put_out(out, tenon::reflection_pad3d(self, padding), "reflection_pad3d");
}
Tensor& replication_pad1d_out(Tensor& out, const Operand& self, IntArrayRef padding) {
  const CallScope call("replication_pad1d_out", out, self);
  return put_out(out, tenon::replication_pad1d(self, padding), "replication_pad1d");
}
Tensor& replication_pad2d_out(Tensor& out, const Operand& self, IntArrayRef padding) {
  const CallScope call("replication_pad2d_out", out, self);
  return put_out(out, tenon::replication_pad2d(self, padding), "replication_pad2d");
}
Tensor& replication_pad3d_out(Tensor& out, const Operand& self, IntArrayRef padding) {
  const CallScope call("replication_pad3d_out", out, self);
  return put_out(out, tenon::replication_pad3d(self, padding), "replication_pad3d");
}
Tensor& pixel_shuffle_out(Tensor& out, const Operand& self, int64_t upscale_factor) {
  const CallScope call("pixel_shuffle_out", out, self);
  return put_out(out, tenon::pixel_shuffle(self, upscale_factor), "pixel_shuffle");
}
Tensor& pixel_unshuffle_out(Tensor& out, const Operand& self, int64_t downscale_factor) {
  const CallScope call("pixel_unshuffle_out", out, self);
  return put_out(out, tenon::pixel_unshuffle(self, downscale_factor), "pixel_unshuffle");
}
Tensor& channel_shuffle_out(Tensor& out, const Operand& self, int64_t groups) {
  const CallScope call("channel_shuffle_out", out, self);
  return put_out(out, tenon::channel_shuffle(self, groups), "channel_shuffle");
}
Tensor& grid_sampler_2d_out(Tensor& out, const Operand& input, const Operand& grid,
                            int64_t interpolation_mode, int64_t padding_mode, bool align_corners) {
  const CallScope call("grid_sampler_2d_out", out, input, grid);
  return put_out(out, tenon::grid_sampler_2d(input, grid, interpolation_mode, padding_mode, align_corners), "grid_sampler_2d");
}
Tensor& grid_sampler_3d_out(Tensor& out, const Operand& input, const Operand& grid,
                            int64_t interpolation_mode, int64_t padding_mode, bool align_corners) {
  const CallScope call("grid_sampler_3d_out", out, input, grid);
  return put_out(out, tenon::grid_sampler_3d(input, grid, interpolation_mode, padding_mode, align_corners), "grid_sampler_3d");
}
Tensor& affine_grid_generator_out(Tensor& out, const Operand& theta, IntArrayRef size, bool align_corners) {
  const CallScope call("affine_grid_generator_out", out, theta);
  return put_out(out, tenon::affine_grid_generator(theta, size, align_corners), "affine_grid_generator");
}
Tensor& glu_out(Tensor& out, const Operand& self, int64_t dim) {
  const CallScope call("glu_out", out, self);
  return put_out(out, tenon::glu(self, dim), "glu");
}
Tensor& embedding_out(Tensor& out, const Operand& weight, const Operand& indices, int64_t padding_idx,
                      bool scale_grad_by_freq, bool sparse) {
  const CallScope call("embedding_out", out, weight, indices);
  return put_out(out, tenon::embedding(weight, indices, padding_idx, scale_grad_by_freq, sparse), "embedding");
}
Tensor& mse_loss_out(Tensor& out, const Operand& self, const Operand& target, int64_t reduction) {
  const CallScope call("mse_loss_out", out, self, target);
  return put_out(out, tenon::mse_loss(self, target, reduction), "mse_loss");
}
Tensor& smooth_l1_loss_out(Tensor& out, const Operand& self, const Operand& target, int64_t reduction,
                           double beta) {
  const CallScope call("smooth_l1_loss_out", out, self, target);
  return put_out(out, tenon::smooth_l1_loss(self, target, reduction, beta), "smooth_l1_loss");
}
Tensor& huber_loss_out(Tensor& out, const Operand& self, const Operand& target, int64_t reduction,
                       double delta) {
  const CallScope call("huber_loss_out", out, self, target);
  return put_out(out, tenon::huber_loss(self, target, reduction, delta), "huber_loss");
}
Tensor& binary_cross_entropy_out(Tensor& out, const Operand& self, const Operand& target,
                                 const optional<Tensor>& weight, int64_t reduction) {
  const CallScope call("binary_cross_entropy_out", out, self, target, weight);
  return put_out(out, tenon::binary_cross_entropy(self, target, weight, reduction), "binary_cross_entropy");
}
Tensor& binary_cross_entropy_with_logits_out(Tensor& out, const Operand& self, const Operand& target,
                                             const optional<Tensor>& weight,
                                             const optional<Tensor>& pos_weight, int64_t reduction) {
  const CallScope call("binary_cross_entropy_with_logits_out", out, self, target, weight, pos_weight);
  return put_out(out, tenon::binary_cross_entropy_with_logits(self, target, weight, pos_weight, reduction), "binary_cross_entropy_with_logits");
}
Tensor& nll_loss_out(Tensor& out, const Operand& self, const Operand& target, const optional<Tensor>& weight,
                     int64_t reduction, int64_t ignore_index) {
  const CallScope call("nll_loss_out", out, self, target, weight);
  return put_out(out, tenon::nll_loss(self, target, weight, reduction, ignore_index), "nll_loss");
}
Tensor& nll_loss2d_out(Tensor& out, const Operand& self, const Operand& target,
                       const optional<Tensor>& weight, int64_t reduction, int64_t ignore_index) {
  const CallScope call("nll_loss2d_out", out, self, target, weight);
  return put_out(out, tenon::nll_loss2d(self, target, weight, reduction, ignore_index), "nll_loss2d");
}
Tensor& soft_margin_loss_out(Tensor& out, const Operand& self, const Operand& target, int64_t reduction) {
  const CallScope call("soft_margin_loss_out", out, self, target);
  return put_out(out, tenon::soft_margin_loss(self, target, reduction), "soft_margin_loss");
}
Tensor& multi_margin_loss_out(Tensor& out, const Operand& self, const Operand& target, const Scalar& p,
                              const Scalar& margin, const optional<Tensor>& weight, int64_t reduction) {
  const CallScope call("multi_margin_loss_out", out, self, target, p, margin, weight);
  return put_out(out, tenon::multi_margin_loss(self, target, p, margin, weight, reduction), "multi_margin_loss");
}
Tensor& multilabel_margin_loss_out(Tensor& out, const Operand& self, const Operand& target,
                                   int64_t reduction) {
  const CallScope call("multilabel_margin_loss_out", out, self, target);
  return put_out(out, tenon::multilabel_margin_loss(self, target, reduction), "multilabel_margin_loss");
}
Tensor& linear_out(Tensor& out, const Operand& input, const Operand& weight, const optional<Tensor>& bias) {
  const CallScope call("linear_out", out, input, weight, bias);
  return put_out(out, tenon::linear(input, weight, bias), "linear");
}
Tensor& hann_window_out(Tensor& out, int64_t window_length) {
  const CallScope call("hann_window_out", out);
  return put_out(out, tenon::hann_window(window_length, out.options()), "hann_window");
}
Tensor& hann_window_out(Tensor& out, int64_t window_length, bool periodic) {
  const CallScope call("hann_window_out", out);
  return put_out(out, tenon::hann_window(window_length, periodic, out.options()), "hann_window");
}
Tensor& hamming_window_out(Tensor& out, int64_t window_length) {
  const CallScope call("hamming_window_out", out);
  return put_out(out, tenon::hamming_window(window_length, out.options()), "hamming_window");
}
Tensor& hamming_window_out(Tensor& out, int64_t window_length, bool periodic) {
  const CallScope call("hamming_window_out", out);
  return put_out(out, tenon::hamming_window(window_length, periodic, out.options()), "hamming_window");
}
Tensor& blackman_window_out(Tensor& out, int64_t window_length) {
  const CallScope call("blackman_window_out", out);
  return put_out(out, tenon::blackman_window(window_length, out.options()), "blackman_window");
}
Tensor& blackman_window_out(Tensor& out, int64_t window_length, bool periodic) {
  const CallScope call("blackman_window_out", out);
  return put_out(out, tenon::blackman_window(window_length, periodic, out.options()), "blackman_window");
}
Tensor& bartlett_window_out(Tensor& out, int64_t window_length) {
  const CallScope call("bartlett_window_out", out);
  return put_out(out, tenon::bartlett_window(window_length, out.options()), "bartlett_window");
}
Tensor& bartlett_window_out(Tensor& out, int64_t window_length, bool periodic) {
  const CallScope call("bartlett_window_out", out);
  return put_out(out, tenon::bartlett_window(window_length, periodic, out.options()), "bartlett_window");
}
Tensor& kaiser_window_out(Tensor& out, int64_t window_length) {
  const CallScope call("kaiser_window_out", out);
  return put_out(out, tenon::kaiser_window(window_length, out.options()), "kaiser_window");
}
Tensor& kaiser_window_out(Tensor& out, int64_t window_length, bool periodic) {
  const CallScope call("kaiser_window_out", out);
  return put_out(out, tenon::kaiser_window(window_length, periodic, out.options()), "kaiser_window");
}
Tensor& hamming_window_out(Tensor& out, int64_t window_length, bool periodic, double alpha) {
  const CallScope call("hamming_window_out", out);
  return put_out(out, tenon::hamming_window(window_length, periodic, alpha, out.options()), "hamming_window");
}
Tensor& hamming_window_out(Tensor& out, int64_t window_length, bool periodic, double alpha, double beta) {
  const CallScope call("hamming_window_out", out);
  return put_out(out, tenon::hamming_window(window_length, periodic, alpha, beta, out.options()), "hamming_window");
}
Tensor& kaiser_window_out(Tensor& out, int64_t window_length, bool periodic, double beta) {
  const CallScope call("kaiser_window_out", out);
  return put_out(out, tenon::kaiser_window(window_length, periodic, beta, out.options()), "kaiser_window");
}
Tensor& index_put_out(Tensor& out, const Operand& self, ArrayRef<indexing::TensorIndex> indices,
                      const Operand& value, bool accumulate) {
  const CallScope call("index_put_out", out, self, value);
  return put_out(out, tenon::detail::index_put(self, indices, value, accumulate), "index_put");
}

}  // namespace tenon
