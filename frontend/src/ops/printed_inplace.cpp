// Printed from frontend/functions.def by scripts/print/make_functions.py.
// The methods that write into their tensor and have no body by hand: the operation without the underscore, assigned.
#include "frontend/src/autograd/aliases.h"
#include "frontend/src/tensor/call.h"
#include "tenon/tenon.h"

namespace tenon {

Tensor& Tensor::abs_() const {
  const CallScope call("abs_", *this);
  return assign(*this, tenon::abs(*this));
}
Tensor& Tensor::absolute_() const {
  const CallScope call("absolute_", *this);
  return assign(*this, tenon::absolute(*this));
}
Tensor& Tensor::neg_() const {
  const CallScope call("neg_", *this);
  return assign(*this, tenon::neg(*this));
}
Tensor& Tensor::negative_() const {
  const CallScope call("negative_", *this);
  return assign(*this, tenon::negative(*this));
}
Tensor& Tensor::sign_() const {
  const CallScope call("sign_", *this);
  return assign(*this, tenon::sign(*this));
}
Tensor& Tensor::sgn_() const {
  const CallScope call("sgn_", *this);
  return assign(*this, tenon::sgn(*this));
}
Tensor& Tensor::square_() const {
  const CallScope call("square_", *this);
  return assign(*this, tenon::square(*this));
}
Tensor& Tensor::sqrt_() const {
  const CallScope call("sqrt_", *this);
  return assign(*this, tenon::sqrt(*this));
}
Tensor& Tensor::rsqrt_() const {
  const CallScope call("rsqrt_", *this);
  return assign(*this, tenon::rsqrt(*this));
}
Tensor& Tensor::reciprocal_() const {
  const CallScope call("reciprocal_", *this);
  return assign(*this, tenon::reciprocal(*this));
}
Tensor& Tensor::exp_() const {
  const CallScope call("exp_", *this);
  return assign(*this, tenon::exp(*this));
}
Tensor& Tensor::exp2_() const {
  const CallScope call("exp2_", *this);
  return assign(*this, tenon::exp2(*this));
}
Tensor& Tensor::expm1_() const {
  const CallScope call("expm1_", *this);
  return assign(*this, tenon::expm1(*this));
}
Tensor& Tensor::log_() const {
  const CallScope call("log_", *this);
  return assign(*this, tenon::log(*this));
}
Tensor& Tensor::log2_() const {
  const CallScope call("log2_", *this);
  return assign(*this, tenon::log2(*this));
}
Tensor& Tensor::log10_() const {
  const CallScope call("log10_", *this);
  return assign(*this, tenon::log10(*this));
}
Tensor& Tensor::log1p_() const {
  const CallScope call("log1p_", *this);
  return assign(*this, tenon::log1p(*this));
}
Tensor& Tensor::sin_() const {
  const CallScope call("sin_", *this);
  return assign(*this, tenon::sin(*this));
}
Tensor& Tensor::cos_() const {
  const CallScope call("cos_", *this);
  return assign(*this, tenon::cos(*this));
}
Tensor& Tensor::tan_() const {
  const CallScope call("tan_", *this);
  return assign(*this, tenon::tan(*this));
}
Tensor& Tensor::asin_() const {
  const CallScope call("asin_", *this);
  return assign(*this, tenon::asin(*this));
}
Tensor& Tensor::arcsin_() const {
  const CallScope call("arcsin_", *this);
  return assign(*this, tenon::arcsin(*this));
}
Tensor& Tensor::acos_() const {
  const CallScope call("acos_", *this);
  return assign(*this, tenon::acos(*this));
}
Tensor& Tensor::arccos_() const {
  const CallScope call("arccos_", *this);
  return assign(*this, tenon::arccos(*this));
}
Tensor& Tensor::atan_() const {
  const CallScope call("atan_", *this);
  return assign(*this, tenon::atan(*this));
}
Tensor& Tensor::arctan_() const {
  const CallScope call("arctan_", *this);
  return assign(*this, tenon::arctan(*this));
}
Tensor& Tensor::sinh_() const {
  const CallScope call("sinh_", *this);
  return assign(*this, tenon::sinh(*this));
}
Tensor& Tensor::cosh_() const {
  const CallScope call("cosh_", *this);
  return assign(*this, tenon::cosh(*this));
}
Tensor& Tensor::tanh_() const {
  const CallScope call("tanh_", *this);
  return assign(*this, tenon::tanh(*this));
}
Tensor& Tensor::asinh_() const {
  const CallScope call("asinh_", *this);
  return assign(*this, tenon::asinh(*this));
}
Tensor& Tensor::arcsinh_() const {
  const CallScope call("arcsinh_", *this);
  return assign(*this, tenon::arcsinh(*this));
}
Tensor& Tensor::acosh_() const {
  const CallScope call("acosh_", *this);
  return assign(*this, tenon::acosh(*this));
}
Tensor& Tensor::arccosh_() const {
  const CallScope call("arccosh_", *this);
  return assign(*this, tenon::arccosh(*this));
}
Tensor& Tensor::atanh_() const {
  const CallScope call("atanh_", *this);
  return assign(*this, tenon::atanh(*this));
}
Tensor& Tensor::arctanh_() const {
  const CallScope call("arctanh_", *this);
  return assign(*this, tenon::arctanh(*this));
}
Tensor& Tensor::sigmoid_() const {
  const CallScope call("sigmoid_", *this);
  return assign(*this, tenon::sigmoid(*this));
}
Tensor& Tensor::erf_() const {
  const CallScope call("erf_", *this);
  return assign(*this, tenon::erf(*this));
}
Tensor& Tensor::erfc_() const {
  const CallScope call("erfc_", *this);
  return assign(*this, tenon::erfc(*this));
}
Tensor& Tensor::erfinv_() const {
  const CallScope call("erfinv_", *this);
  return assign(*this, tenon::erfinv(*this));
}
Tensor& Tensor::lgamma_() const {
  const CallScope call("lgamma_", *this);
  return assign(*this, tenon::lgamma(*this));
}
Tensor& Tensor::floor_() const {
  const CallScope call("floor_", *this);
  return assign(*this, tenon::floor(*this));
}
Tensor& Tensor::ceil_() const {
  const CallScope call("ceil_", *this);
  return assign(*this, tenon::ceil(*this));
}
Tensor& Tensor::trunc_() const {
  const CallScope call("trunc_", *this);
  return assign(*this, tenon::trunc(*this));
}
Tensor& Tensor::fix_() const {
  const CallScope call("fix_", *this);
  return assign(*this, tenon::fix(*this));
}
Tensor& Tensor::round_() const {
  const CallScope call("round_", *this);
  return assign(*this, tenon::round(*this));
}
Tensor& Tensor::frac_() const {
  const CallScope call("frac_", *this);
  return assign(*this, tenon::frac(*this));
}
Tensor& Tensor::logical_not_() const {
  const CallScope call("logical_not_", *this);
  return assign(*this, tenon::logical_not(*this));
}
Tensor& Tensor::bitwise_not_() const {
  const CallScope call("bitwise_not_", *this);
  return assign(*this, tenon::bitwise_not(*this));
}
Tensor& Tensor::relu_() const {
  const CallScope call("relu_", *this);
  return assign(*this, tenon::relu(*this));
}
Tensor& Tensor::deg2rad_() const {
  const CallScope call("deg2rad_", *this);
  return assign(*this, tenon::deg2rad(*this));
}
Tensor& Tensor::rad2deg_() const {
  const CallScope call("rad2deg_", *this);
  return assign(*this, tenon::rad2deg(*this));
}
Tensor& Tensor::digamma_() const {
  const CallScope call("digamma_", *this);
  return assign(*this, tenon::digamma(*this));
}
Tensor& Tensor::i0_() const {
  const CallScope call("i0_", *this);
  return assign(*this, tenon::i0(*this));
}
Tensor& Tensor::sinc_() const {
  const CallScope call("sinc_", *this);
  return assign(*this, tenon::sinc(*this));
}
Tensor& Tensor::conj_physical_() const {
  const CallScope call("conj_physical_", *this);
  return assign(*this, tenon::conj_physical(*this));
}
Tensor& Tensor::atan2_(const Operand& other) const {
  const CallScope call("atan2_", *this, other);
  return assign(*this, tenon::atan2(*this, other));
}
Tensor& Tensor::arctan2_(const Operand& other) const {
  const CallScope call("arctan2_", *this, other);
  return assign(*this, tenon::arctan2(*this, other));
}
Tensor& Tensor::hypot_(const Operand& other) const {
  const CallScope call("hypot_", *this, other);
  return assign(*this, tenon::hypot(*this, other));
}
Tensor& Tensor::logical_and_(const Operand& other) const {
  const CallScope call("logical_and_", *this, other);
  return assign(*this, tenon::logical_and(*this, other));
}
Tensor& Tensor::logical_or_(const Operand& other) const {
  const CallScope call("logical_or_", *this, other);
  return assign(*this, tenon::logical_or(*this, other));
}
Tensor& Tensor::logical_xor_(const Operand& other) const {
  const CallScope call("logical_xor_", *this, other);
  return assign(*this, tenon::logical_xor(*this, other));
}
Tensor& Tensor::heaviside_(const Operand& other) const {
  const CallScope call("heaviside_", *this, other);
  return assign(*this, tenon::heaviside(*this, other));
}
Tensor& Tensor::nextafter_(const Operand& other) const {
  const CallScope call("nextafter_", *this, other);
  return assign(*this, tenon::nextafter(*this, other));
}
Tensor& Tensor::ldexp_(const Operand& other) const {
  const CallScope call("ldexp_", *this, other);
  return assign(*this, tenon::ldexp(*this, other));
}
Tensor& Tensor::gcd_(const Operand& other) const {
  const CallScope call("gcd_", *this, other);
  return assign(*this, tenon::gcd(*this, other));
}
Tensor& Tensor::lcm_(const Operand& other) const {
  const CallScope call("lcm_", *this, other);
  return assign(*this, tenon::lcm(*this, other));
}
Tensor& Tensor::mul_(const Operand& other) const {
  const CallScope call("mul_", *this, other);
  return assign(*this, tenon::mul(*this, other));
}
Tensor& Tensor::mul_(const Scalar& other) const {
  const CallScope call("mul_", *this, other);
  return assign(*this, tenon::mul(*this, other));
}
Tensor& Tensor::multiply_(const Operand& other) const {
  const CallScope call("multiply_", *this, other);
  return assign(*this, tenon::multiply(*this, other));
}
Tensor& Tensor::multiply_(const Scalar& other) const {
  const CallScope call("multiply_", *this, other);
  return assign(*this, tenon::multiply(*this, other));
}
Tensor& Tensor::remainder_(const Operand& other) const {
  const CallScope call("remainder_", *this, other);
  return assign(*this, tenon::remainder(*this, other));
}
Tensor& Tensor::remainder_(const Scalar& other) const {
  const CallScope call("remainder_", *this, other);
  return assign(*this, tenon::remainder(*this, other));
}
Tensor& Tensor::fmod_(const Operand& other) const {
  const CallScope call("fmod_", *this, other);
  return assign(*this, tenon::fmod(*this, other));
}
Tensor& Tensor::fmod_(const Scalar& other) const {
  const CallScope call("fmod_", *this, other);
  return assign(*this, tenon::fmod(*this, other));
}
Tensor& Tensor::floor_divide_(const Operand& other) const {
  const CallScope call("floor_divide_", *this, other);
  return assign(*this, tenon::floor_divide(*this, other));
}
Tensor& Tensor::floor_divide_(const Scalar& other) const {
  const CallScope call("floor_divide_", *this, other);
  return assign(*this, tenon::floor_divide(*this, other));
}
Tensor& Tensor::true_divide_(const Operand& other) const {
  const CallScope call("true_divide_", *this, other);
  return assign(*this, tenon::true_divide(*this, other));
}
Tensor& Tensor::true_divide_(const Scalar& other) const {
  const CallScope call("true_divide_", *this, other);
  return assign(*this, tenon::true_divide(*this, other));
}
Tensor& Tensor::copysign_(const Operand& other) const {
  const CallScope call("copysign_", *this, other);
  return assign(*this, tenon::copysign(*this, other));
}
Tensor& Tensor::copysign_(const Scalar& other) const {
  const CallScope call("copysign_", *this, other);
  return assign(*this, tenon::copysign(*this, other));
}
Tensor& Tensor::xlogy_(const Operand& other) const {
  const CallScope call("xlogy_", *this, other);
  return assign(*this, tenon::xlogy(*this, other));
}
Tensor& Tensor::xlogy_(const Scalar& other) const {
  const CallScope call("xlogy_", *this, other);
  return assign(*this, tenon::xlogy(*this, other));
}
Tensor& Tensor::eq_(const Operand& other) const {
  const CallScope call("eq_", *this, other);
  return assign(*this, tenon::eq(*this, other));
}
Tensor& Tensor::eq_(const Scalar& other) const {
  const CallScope call("eq_", *this, other);
  return assign(*this, tenon::eq(*this, other));
}
Tensor& Tensor::ne_(const Operand& other) const {
  const CallScope call("ne_", *this, other);
  return assign(*this, tenon::ne(*this, other));
}
Tensor& Tensor::ne_(const Scalar& other) const {
  const CallScope call("ne_", *this, other);
  return assign(*this, tenon::ne(*this, other));
}
Tensor& Tensor::lt_(const Operand& other) const {
  const CallScope call("lt_", *this, other);
  return assign(*this, tenon::lt(*this, other));
}
Tensor& Tensor::lt_(const Scalar& other) const {
  const CallScope call("lt_", *this, other);
  return assign(*this, tenon::lt(*this, other));
}
Tensor& Tensor::le_(const Operand& other) const {
  const CallScope call("le_", *this, other);
  return assign(*this, tenon::le(*this, other));
}
Tensor& Tensor::le_(const Scalar& other) const {
  const CallScope call("le_", *this, other);
  return assign(*this, tenon::le(*this, other));
}
Tensor& Tensor::gt_(const Operand& other) const {
  const CallScope call("gt_", *this, other);
  return assign(*this, tenon::gt(*this, other));
}
Tensor& Tensor::gt_(const Scalar& other) const {
  const CallScope call("gt_", *this, other);
  return assign(*this, tenon::gt(*this, other));
}
Tensor& Tensor::ge_(const Operand& other) const {
  const CallScope call("ge_", *this, other);
  return assign(*this, tenon::ge(*this, other));
}
Tensor& Tensor::ge_(const Scalar& other) const {
  const CallScope call("ge_", *this, other);
  return assign(*this, tenon::ge(*this, other));
}
Tensor& Tensor::not_equal_(const Operand& other) const {
  const CallScope call("not_equal_", *this, other);
  return assign(*this, tenon::not_equal(*this, other));
}
Tensor& Tensor::not_equal_(const Scalar& other) const {
  const CallScope call("not_equal_", *this, other);
  return assign(*this, tenon::not_equal(*this, other));
}
Tensor& Tensor::less_(const Operand& other) const {
  const CallScope call("less_", *this, other);
  return assign(*this, tenon::less(*this, other));
}
Tensor& Tensor::less_(const Scalar& other) const {
  const CallScope call("less_", *this, other);
  return assign(*this, tenon::less(*this, other));
}
Tensor& Tensor::less_equal_(const Operand& other) const {
  const CallScope call("less_equal_", *this, other);
  return assign(*this, tenon::less_equal(*this, other));
}
Tensor& Tensor::less_equal_(const Scalar& other) const {
  const CallScope call("less_equal_", *this, other);
  return assign(*this, tenon::less_equal(*this, other));
}
Tensor& Tensor::greater_(const Operand& other) const {
  const CallScope call("greater_", *this, other);
  return assign(*this, tenon::greater(*this, other));
}
Tensor& Tensor::greater_(const Scalar& other) const {
  const CallScope call("greater_", *this, other);
  return assign(*this, tenon::greater(*this, other));
}
Tensor& Tensor::greater_equal_(const Operand& other) const {
  const CallScope call("greater_equal_", *this, other);
  return assign(*this, tenon::greater_equal(*this, other));
}
Tensor& Tensor::greater_equal_(const Scalar& other) const {
  const CallScope call("greater_equal_", *this, other);
  return assign(*this, tenon::greater_equal(*this, other));
}
Tensor& Tensor::bitwise_and_(const Operand& other) const {
  const CallScope call("bitwise_and_", *this, other);
  return assign(*this, tenon::bitwise_and(*this, other));
}
Tensor& Tensor::bitwise_and_(const Scalar& other) const {
  const CallScope call("bitwise_and_", *this, other);
  return assign(*this, tenon::bitwise_and(*this, other));
}
Tensor& Tensor::bitwise_or_(const Operand& other) const {
  const CallScope call("bitwise_or_", *this, other);
  return assign(*this, tenon::bitwise_or(*this, other));
}
Tensor& Tensor::bitwise_or_(const Scalar& other) const {
  const CallScope call("bitwise_or_", *this, other);
  return assign(*this, tenon::bitwise_or(*this, other));
}
Tensor& Tensor::bitwise_xor_(const Operand& other) const {
  const CallScope call("bitwise_xor_", *this, other);
  return assign(*this, tenon::bitwise_xor(*this, other));
}
Tensor& Tensor::bitwise_xor_(const Scalar& other) const {
  const CallScope call("bitwise_xor_", *this, other);
  return assign(*this, tenon::bitwise_xor(*this, other));
}
Tensor& Tensor::bitwise_left_shift_(const Operand& other) const {
  const CallScope call("bitwise_left_shift_", *this, other);
  return assign(*this, tenon::bitwise_left_shift(*this, other));
}
Tensor& Tensor::bitwise_left_shift_(const Scalar& other) const {
  const CallScope call("bitwise_left_shift_", *this, other);
  return assign(*this, tenon::bitwise_left_shift(*this, other));
}
Tensor& Tensor::bitwise_right_shift_(const Operand& other) const {
  const CallScope call("bitwise_right_shift_", *this, other);
  return assign(*this, tenon::bitwise_right_shift(*this, other));
}
Tensor& Tensor::bitwise_right_shift_(const Scalar& other) const {
  const CallScope call("bitwise_right_shift_", *this, other);
  return assign(*this, tenon::bitwise_right_shift(*this, other));
}
Tensor& Tensor::round_(int64_t decimals) const {
  const CallScope call("round_", *this);
  return assign(*this, tenon::round(*this, decimals));
}
Tensor& Tensor::add_(const Operand& other, const Scalar& alpha) const {
  const CallScope call("add_", *this, other, alpha);
  return assign(*this, tenon::add(*this, other, alpha));
}
Tensor& Tensor::add_(const Scalar& other, const Scalar& alpha) const {
  const CallScope call("add_", *this, other, alpha);
  return assign(*this, tenon::add(*this, other, alpha));
}
Tensor& Tensor::sub_(const Operand& other, const Scalar& alpha) const {
  const CallScope call("sub_", *this, other, alpha);
  return assign(*this, tenon::sub(*this, other, alpha));
}
Tensor& Tensor::sub_(const Scalar& other, const Scalar& alpha) const {
  const CallScope call("sub_", *this, other, alpha);
  return assign(*this, tenon::sub(*this, other, alpha));
}
Tensor& Tensor::div_(const Operand& other) const {
  const CallScope call("div_", *this, other);
  return assign(*this, tenon::div(*this, other));
}
Tensor& Tensor::div_(const Scalar& other) const {
  const CallScope call("div_", *this, other);
  return assign(*this, tenon::div(*this, other));
}
Tensor& Tensor::div_(const Operand& other, optional<std::string_view> rounding_mode) const {
  const CallScope call("div_", *this, other);
  return assign(*this, tenon::div(*this, other, rounding_mode));
}
Tensor& Tensor::div_(const Scalar& other, optional<std::string_view> rounding_mode) const {
  const CallScope call("div_", *this, other);
  return assign(*this, tenon::div(*this, other, rounding_mode));
}
Tensor& Tensor::pow_(const Operand& exponent) const {
  const CallScope call("pow_", *this, exponent);
  return assign(*this, tenon::pow(*this, exponent));
}
Tensor& Tensor::pow_(const Scalar& exponent) const {
  const CallScope call("pow_", *this, exponent);
  return assign(*this, tenon::pow(*this, exponent));
}
Tensor& Tensor::clamp_(const optional<Scalar>& min, const optional<Scalar>& max) const {
  const CallScope call("clamp_", *this);
  return assign(*this, tenon::clamp(*this, min, max));
}
Tensor& Tensor::clamp_(const optional<Tensor>& min, const optional<Tensor>& max) const {
  const CallScope call("clamp_", *this, min, max);
  return assign(*this, tenon::clamp(*this, min, max));
}
Tensor& Tensor::clamp_min_(const Scalar& min) const {
  const CallScope call("clamp_min_", *this, min);
  return assign(*this, tenon::clamp_min(*this, min));
}
Tensor& Tensor::clamp_min_(const Operand& min) const {
  const CallScope call("clamp_min_", *this, min);
  return assign(*this, tenon::clamp_min(*this, min));
}
Tensor& Tensor::clamp_max_(const Scalar& max) const {
  const CallScope call("clamp_max_", *this, max);
  return assign(*this, tenon::clamp_max(*this, max));
}
Tensor& Tensor::clamp_max_(const Operand& max) const {
  const CallScope call("clamp_max_", *this, max);
  return assign(*this, tenon::clamp_max(*this, max));
}
Tensor& Tensor::lerp_(const Operand& end, const Scalar& weight) const {
  const CallScope call("lerp_", *this, end, weight);
  return assign(*this, tenon::lerp(*this, end, weight));
}
Tensor& Tensor::lerp_(const Operand& end, const Operand& weight) const {
  const CallScope call("lerp_", *this, end, weight);
  return assign(*this, tenon::lerp(*this, end, weight));
}
Tensor& Tensor::addcmul_(const Operand& tensor1, const Operand& tensor2, const Scalar& value) const {
  const CallScope call("addcmul_", *this, tensor1, tensor2, value);
  return assign(*this, tenon::addcmul(*this, tensor1, tensor2, value));
}
Tensor& Tensor::addcdiv_(const Operand& tensor1, const Operand& tensor2, const Scalar& value) const {
  const CallScope call("addcdiv_", *this, tensor1, tensor2, value);
  return assign(*this, tenon::addcdiv(*this, tensor1, tensor2, value));
}
Tensor& Tensor::nan_to_num_(optional<double> nan, optional<double> posinf, optional<double> neginf) const {
  const CallScope call("nan_to_num_", *this);
  return assign(*this, tenon::nan_to_num(*this, nan, posinf, neginf));
}
Tensor& Tensor::logit_(optional<double> eps) const {
  const CallScope call("logit_", *this);
  return assign(*this, tenon::logit(*this, eps));
}
Tensor& Tensor::transpose_(int64_t dim0, int64_t dim1) const {
  const CallScope call("transpose_", *this);
  return reshape_in_place(*this, tenon::transpose(*this, dim0, dim1));
}
Tensor& Tensor::swapaxes_(int64_t axis0, int64_t axis1) const {
  const CallScope call("swapaxes_", *this);
  return reshape_in_place(*this, tenon::swapaxes(*this, axis0, axis1));
}
Tensor& Tensor::t_() const {
  const CallScope call("t_", *this);
  return reshape_in_place(*this, tenon::t(*this));
}
Tensor& Tensor::squeeze_() const {
  const CallScope call("squeeze_", *this);
  return reshape_in_place(*this, tenon::squeeze(*this));
}
Tensor& Tensor::squeeze_(int64_t dim) const {
  const CallScope call("squeeze_", *this);
  return reshape_in_place(*this, tenon::squeeze(*this, dim));
}
Tensor& Tensor::squeeze_(IntArrayRef dims) const {
  const CallScope call("squeeze_", *this);
  return reshape_in_place(*this, tenon::squeeze(*this, dims));
}
Tensor& Tensor::unsqueeze_(int64_t dim) const {
  const CallScope call("unsqueeze_", *this);
  return reshape_in_place(*this, tenon::unsqueeze(*this, dim));
}
Tensor& Tensor::addmm_(const Operand& mat1, const Operand& mat2, const Scalar& beta, const Scalar& alpha) const {
  const CallScope call("addmm_", *this, mat1, mat2, beta, alpha);
  return assign(*this, tenon::addmm(*this, mat1, mat2, beta, alpha));
}
Tensor& Tensor::addmv_(const Operand& mat, const Operand& vec, const Scalar& beta, const Scalar& alpha) const {
  const CallScope call("addmv_", *this, mat, vec, beta, alpha);
  return assign(*this, tenon::addmv(*this, mat, vec, beta, alpha));
}
Tensor& Tensor::baddbmm_(const Operand& batch1, const Operand& batch2, const Scalar& beta,
                         const Scalar& alpha) const {
  const CallScope call("baddbmm_", *this, batch1, batch2, beta, alpha);
  return assign(*this, tenon::baddbmm(*this, batch1, batch2, beta, alpha));
}
Tensor& Tensor::subtract_(const Operand& other, const Scalar& alpha) const {
  const CallScope call("subtract_", *this, other, alpha);
  return assign(*this, tenon::subtract(*this, other, alpha));
}
Tensor& Tensor::subtract_(const Scalar& other, const Scalar& alpha) const {
  const CallScope call("subtract_", *this, other, alpha);
  return assign(*this, tenon::subtract(*this, other, alpha));
}
Tensor& Tensor::divide_(const Operand& other) const {
  const CallScope call("divide_", *this, other);
  return assign(*this, tenon::divide(*this, other));
}
Tensor& Tensor::divide_(const Scalar& other) const {
  const CallScope call("divide_", *this, other);
  return assign(*this, tenon::divide(*this, other));
}
Tensor& Tensor::divide_(const Operand& other, optional<std::string_view> rounding_mode) const {
  const CallScope call("divide_", *this, other);
  return assign(*this, tenon::divide(*this, other, rounding_mode));
}
Tensor& Tensor::divide_(const Scalar& other, optional<std::string_view> rounding_mode) const {
  const CallScope call("divide_", *this, other);
  return assign(*this, tenon::divide(*this, other, rounding_mode));
}
Tensor& Tensor::clip_(const optional<Scalar>& min, const optional<Scalar>& max) const {
  const CallScope call("clip_", *this);
  return assign(*this, tenon::clip(*this, min, max));
}
Tensor& Tensor::clip_(const optional<Tensor>& min, const optional<Tensor>& max) const {
  const CallScope call("clip_", *this, min, max);
  return assign(*this, tenon::clip(*this, min, max));
}
Tensor& Tensor::polygamma_(int64_t n) const {
  const CallScope call("polygamma_", *this);
  return assign(*this, tenon::polygamma(n, *this));
}
Tensor& Tensor::mvlgamma_(int64_t p) const {
  const CallScope call("mvlgamma_", *this);
  return assign(*this, tenon::mvlgamma(*this, p));
}
Tensor& Tensor::renorm_(const Scalar& p, int64_t dim, const Scalar& maxnorm) const {
  const CallScope call("renorm_", *this, p, maxnorm);
  return assign(*this, tenon::renorm(*this, p, dim, maxnorm));
}
Tensor& Tensor::addr_(const Operand& vec1, const Operand& vec2, const Scalar& beta, const Scalar& alpha) const {
  const CallScope call("addr_", *this, vec1, vec2, beta, alpha);
  return assign(*this, tenon::addr(*this, vec1, vec2, beta, alpha));
}
Tensor& Tensor::addbmm_(const Operand& batch1, const Operand& batch2, const Scalar& beta,
                        const Scalar& alpha) const {
  const CallScope call("addbmm_", *this, batch1, batch2, beta, alpha);
  return assign(*this, tenon::addbmm(*this, batch1, batch2, beta, alpha));
}
Tensor& Tensor::tril_(int64_t diagonal) const {
  const CallScope call("tril_", *this);
  return assign(*this, tenon::tril(*this, diagonal));
}
Tensor& Tensor::triu_(int64_t diagonal) const {
  const CallScope call("triu_", *this);
  return assign(*this, tenon::triu(*this, diagonal));
}
Tensor& Tensor::index_reduce_(int64_t dim, const Operand& index, const Operand& source,
                              std::string_view reduce, bool include_self) const {
  const CallScope call("index_reduce_", *this, index, source);
  return assign(*this, tenon::index_reduce(*this, dim, index, source, reduce, include_self));
}
Tensor& Tensor::scatter_(int64_t dim, const Operand& index, const Operand& src) const {
  const CallScope call("scatter_", *this, index, src);
  return assign(*this, tenon::scatter(*this, dim, index, src));
}
Tensor& Tensor::scatter_(int64_t dim, const Operand& index, const Scalar& value) const {
  const CallScope call("scatter_", *this, index, value);
  return assign(*this, tenon::scatter(*this, dim, index, value));
}
Tensor& Tensor::scatter_(int64_t dim, const Operand& index, const Operand& src, std::string_view reduce) const {
  const CallScope call("scatter_", *this, index, src);
  return assign(*this, tenon::scatter(*this, dim, index, src, reduce));
}
Tensor& Tensor::scatter_(int64_t dim, const Operand& index, const Scalar& value, std::string_view reduce) const {
  const CallScope call("scatter_", *this, index, value);
  return assign(*this, tenon::scatter(*this, dim, index, value, reduce));
}
Tensor& Tensor::scatter_add_(int64_t dim, const Operand& index, const Operand& src) const {
  const CallScope call("scatter_add_", *this, index, src);
  return assign(*this, tenon::scatter_add(*this, dim, index, src));
}
Tensor& Tensor::scatter_reduce_(int64_t dim, const Operand& index, const Operand& src,
                                std::string_view reduce, bool include_self) const {
  const CallScope call("scatter_reduce_", *this, index, src);
  return assign(*this, tenon::scatter_reduce(*this, dim, index, src, reduce, include_self));
}
Tensor& Tensor::index_add_(int64_t dim, const Operand& index, const Operand& source, const Scalar& alpha) const {
  const CallScope call("index_add_", *this, index, source, alpha);
  return assign(*this, tenon::index_add(*this, dim, index, source, alpha));
}
Tensor& Tensor::index_copy_(int64_t dim, const Operand& index, const Operand& source) const {
  const CallScope call("index_copy_", *this, index, source);
  return assign(*this, tenon::index_copy(*this, dim, index, source));
}
Tensor& Tensor::index_fill_(int64_t dim, const Operand& index, const Scalar& value) const {
  const CallScope call("index_fill_", *this, index, value);
  return assign(*this, tenon::index_fill(*this, dim, index, value));
}
Tensor& Tensor::index_fill_(int64_t dim, const Operand& index, const Operand& value) const {
  const CallScope call("index_fill_", *this, index, value);
  return assign(*this, tenon::index_fill(*this, dim, index, value));
}
Tensor& Tensor::put_(const Operand& index, const Operand& source, bool accumulate) const {
  const CallScope call("put_", *this, index, source);
  return assign(*this, tenon::put(*this, index, source, accumulate));
}
Tensor& Tensor::swapdims_(int64_t dim0, int64_t dim1) const {
  const CallScope call("swapdims_", *this);
  return reshape_in_place(*this, tenon::swapdims(*this, dim0, dim1));
}

// --- as functions

Tensor& abs_(Tensor& self) {
  return self.abs_();
}
Tensor& absolute_(Tensor& self) {
  return self.absolute_();
}
Tensor& neg_(Tensor& self) {
  return self.neg_();
}
Tensor& negative_(Tensor& self) {
  return self.negative_();
}
Tensor& sign_(Tensor& self) {
  return self.sign_();
}
Tensor& sgn_(Tensor& self) {
  return self.sgn_();
}
Tensor& square_(Tensor& self) {
  return self.square_();
}
Tensor& sqrt_(Tensor& self) {
  return self.sqrt_();
}
Tensor& rsqrt_(Tensor& self) {
  return self.rsqrt_();
}
Tensor& reciprocal_(Tensor& self) {
  return self.reciprocal_();
}
Tensor& exp_(Tensor& self) {
  return self.exp_();
}
Tensor& exp2_(Tensor& self) {
  return self.exp2_();
}
Tensor& expm1_(Tensor& self) {
  return self.expm1_();
}
Tensor& log_(Tensor& self) {
  return self.log_();
}
Tensor& log2_(Tensor& self) {
  return self.log2_();
}
Tensor& log10_(Tensor& self) {
  return self.log10_();
}
Tensor& log1p_(Tensor& self) {
  return self.log1p_();
}
Tensor& sin_(Tensor& self) {
  return self.sin_();
}
Tensor& cos_(Tensor& self) {
  return self.cos_();
}
Tensor& tan_(Tensor& self) {
  return self.tan_();
}
Tensor& asin_(Tensor& self) {
  return self.asin_();
}
Tensor& arcsin_(Tensor& self) {
  return self.arcsin_();
}
Tensor& acos_(Tensor& self) {
  return self.acos_();
}
Tensor& arccos_(Tensor& self) {
  return self.arccos_();
}
Tensor& atan_(Tensor& self) {
  return self.atan_();
}
Tensor& arctan_(Tensor& self) {
  return self.arctan_();
}
Tensor& sinh_(Tensor& self) {
  return self.sinh_();
}
Tensor& cosh_(Tensor& self) {
  return self.cosh_();
}
Tensor& tanh_(Tensor& self) {
  return self.tanh_();
}
Tensor& asinh_(Tensor& self) {
  return self.asinh_();
}
Tensor& arcsinh_(Tensor& self) {
  return self.arcsinh_();
}
Tensor& acosh_(Tensor& self) {
  return self.acosh_();
}
Tensor& arccosh_(Tensor& self) {
  return self.arccosh_();
}
Tensor& atanh_(Tensor& self) {
  return self.atanh_();
}
Tensor& arctanh_(Tensor& self) {
  return self.arctanh_();
}
Tensor& sigmoid_(Tensor& self) {
  return self.sigmoid_();
}
Tensor& erf_(Tensor& self) {
  return self.erf_();
}
Tensor& erfc_(Tensor& self) {
  return self.erfc_();
}
Tensor& erfinv_(Tensor& self) {
  return self.erfinv_();
}
Tensor& lgamma_(Tensor& self) {
  return self.lgamma_();
}
Tensor& floor_(Tensor& self) {
  return self.floor_();
}
Tensor& ceil_(Tensor& self) {
  return self.ceil_();
}
Tensor& trunc_(Tensor& self) {
  return self.trunc_();
}
Tensor& fix_(Tensor& self) {
  return self.fix_();
}
Tensor& round_(Tensor& self) {
  return self.round_();
}
Tensor& frac_(Tensor& self) {
  return self.frac_();
}
Tensor& logical_not_(Tensor& self) {
  return self.logical_not_();
}
Tensor& bitwise_not_(Tensor& self) {
  return self.bitwise_not_();
}
Tensor& relu_(Tensor& self) {
  return self.relu_();
}
Tensor& deg2rad_(Tensor& self) {
  return self.deg2rad_();
}
Tensor& rad2deg_(Tensor& self) {
  return self.rad2deg_();
}
Tensor& digamma_(Tensor& self) {
  return self.digamma_();
}
Tensor& i0_(Tensor& self) {
  return self.i0_();
}
Tensor& sinc_(Tensor& self) {
  return self.sinc_();
}
Tensor& conj_physical_(Tensor& self) {
  return self.conj_physical_();
}
Tensor& relu6_(Tensor& self) {
  const CallScope call("relu6_", self);
  return self.copy_(tenon::relu6(self.clone()));
}
Tensor& selu_(Tensor& self) {
  const CallScope call("selu_", self);
  return self.copy_(tenon::selu(self.clone()));
}
Tensor& silu_(Tensor& self) {
  const CallScope call("silu_", self);
  return self.copy_(tenon::silu(self.clone()));
}
Tensor& mish_(Tensor& self) {
  const CallScope call("mish_", self);
  return self.copy_(tenon::mish(self.clone()));
}
Tensor& hardsigmoid_(Tensor& self) {
  const CallScope call("hardsigmoid_", self);
  return self.copy_(tenon::hardsigmoid(self.clone()));
}
Tensor& hardswish_(Tensor& self) {
  const CallScope call("hardswish_", self);
  return self.copy_(tenon::hardswish(self.clone()));
}
Tensor& atan2_(Tensor& self, const Operand& other) {
  return self.atan2_(other);
}
Tensor& arctan2_(Tensor& self, const Operand& other) {
  return self.arctan2_(other);
}
Tensor& hypot_(Tensor& self, const Operand& other) {
  return self.hypot_(other);
}
Tensor& logical_and_(Tensor& self, const Operand& other) {
  return self.logical_and_(other);
}
Tensor& logical_or_(Tensor& self, const Operand& other) {
  return self.logical_or_(other);
}
Tensor& logical_xor_(Tensor& self, const Operand& other) {
  return self.logical_xor_(other);
}
Tensor& heaviside_(Tensor& self, const Operand& other) {
  return self.heaviside_(other);
}
Tensor& nextafter_(Tensor& self, const Operand& other) {
  return self.nextafter_(other);
}
Tensor& ldexp_(Tensor& self, const Operand& other) {
  return self.ldexp_(other);
}
Tensor& gcd_(Tensor& self, const Operand& other) {
  return self.gcd_(other);
}
Tensor& lcm_(Tensor& self, const Operand& other) {
  return self.lcm_(other);
}
Tensor& xlogy_(Tensor& self, const Operand& other) {
  return self.xlogy_(other);
}
Tensor& xlogy_(Tensor& self, const Scalar& other) {
  return self.xlogy_(other);
}
Tensor& clamp_(Tensor& self, const optional<Scalar>& min, const optional<Scalar>& max) {
  return self.clamp_(min, max);
}
Tensor& clamp_(Tensor& self, const optional<Tensor>& min, const optional<Tensor>& max) {
  return self.clamp_(min, max);
}
Tensor& clamp_min_(Tensor& self, const Scalar& min) {
  return self.clamp_min_(min);
}
Tensor& clamp_max_(Tensor& self, const Scalar& max) {
  return self.clamp_max_(max);
}
Tensor& nan_to_num_(Tensor& self, optional<double> nan, optional<double> posinf, optional<double> neginf) {
  return self.nan_to_num_(nan, posinf, neginf);
}
Tensor& logit_(Tensor& self, optional<double> eps) {
  return self.logit_(eps);
}
Tensor& leaky_relu_(Tensor& self, const Scalar& negative_slope) {
  const CallScope call("leaky_relu_", self, negative_slope);
  return self.copy_(tenon::leaky_relu(self.clone(), negative_slope));
}
Tensor& elu_(Tensor& self, const Scalar& alpha, const Scalar& scale, const Scalar& input_scale) {
  const CallScope call("elu_", self, alpha, scale, input_scale);
  return self.copy_(tenon::elu(self.clone(), alpha, scale, input_scale));
}
Tensor& celu_(Tensor& self, const Scalar& alpha) {
  const CallScope call("celu_", self, alpha);
  return self.copy_(tenon::celu(self.clone(), alpha));
}
Tensor& gelu_(Tensor& self, std::string_view approximate) {
  const CallScope call("gelu_", self);
  return self.copy_(tenon::gelu(self.clone(), approximate));
}
Tensor& hardtanh_(Tensor& self, const Scalar& min_val, const Scalar& max_val) {
  const CallScope call("hardtanh_", self, min_val, max_val);
  return self.copy_(tenon::hardtanh(self.clone(), min_val, max_val));
}
Tensor& threshold_(Tensor& self, const Scalar& threshold, const Scalar& value) {
  const CallScope call("threshold_", self, threshold, value);
  return self.copy_(tenon::threshold(self.clone(), threshold, value));
}
Tensor& addmv_(Tensor& self, const Operand& mat, const Operand& vec, const Scalar& beta,
               const Scalar& alpha) {
  return self.addmv_(mat, vec, beta, alpha);
}
Tensor& clip_(Tensor& self, const optional<Scalar>& min, const optional<Scalar>& max) {
  return self.clip_(min, max);
}
Tensor& fill_(Tensor& self, const Scalar& value) {
  return self.fill_(value);
}
Tensor& fill_(Tensor& self, const Operand& value) {
  return self.fill_(value);
}
Tensor& zero_(Tensor& self) {
  return self.zero_();
}
const Tensor& resize_as_(const Tensor& self, const Tensor& the_template) {
  return self.resize_as_(the_template);
}

}  // namespace tenon
