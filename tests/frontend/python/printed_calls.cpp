// Printed from frontend/functions.def by scripts/print/make_functions.py.
// The tests' calls of public functions and of methods in place, by name: the overloads in the order of the table.
#include <tenon/native.h>

#include "frontend/python/overloads.h"

namespace python {

void add_printed(Table& t) {
  t["abs"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::abs(a.tensor(0)); }}});
  t["abs_"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return a.tensor(0).abs_(); }}});
  t["absolute"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::absolute(a.tensor(0)); }}});
  t["absolute_"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return a.tensor(0).absolute_(); }}});
  t["neg"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::neg(a.tensor(0)); }}});
  t["neg_"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return a.tensor(0).neg_(); }}});
  t["negative"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::negative(a.tensor(0)); }}});
  t["negative_"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return a.tensor(0).negative_(); }}});
  t["sign"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::sign(a.tensor(0)); }}});
  t["sign_"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return a.tensor(0).sign_(); }}});
  t["sgn"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::sgn(a.tensor(0)); }}});
  t["sgn_"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return a.tensor(0).sgn_(); }}});
  t["square"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::square(a.tensor(0)); }}});
  t["square_"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return a.tensor(0).square_(); }}});
  t["sqrt"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::sqrt(a.tensor(0)); }}});
  t["sqrt_"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return a.tensor(0).sqrt_(); }}});
  t["rsqrt"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::rsqrt(a.tensor(0)); }}});
  t["rsqrt_"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return a.tensor(0).rsqrt_(); }}});
  t["reciprocal"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::reciprocal(a.tensor(0)); }}});
  t["reciprocal_"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return a.tensor(0).reciprocal_(); }}});
  t["exp"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::exp(a.tensor(0)); }}});
  t["exp_"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return a.tensor(0).exp_(); }}});
  t["exp2"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::exp2(a.tensor(0)); }}});
  t["exp2_"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return a.tensor(0).exp2_(); }}});
  t["expm1"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::expm1(a.tensor(0)); }}});
  t["expm1_"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return a.tensor(0).expm1_(); }}});
  t["log"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::log(a.tensor(0)); }}});
  t["log_"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return a.tensor(0).log_(); }}});
  t["log2"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::log2(a.tensor(0)); }}});
  t["log2_"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return a.tensor(0).log2_(); }}});
  t["log10"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::log10(a.tensor(0)); }}});
  t["log10_"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return a.tensor(0).log10_(); }}});
  t["log1p"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::log1p(a.tensor(0)); }}});
  t["log1p_"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return a.tensor(0).log1p_(); }}});
  t["sin"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::sin(a.tensor(0)); }}});
  t["sin_"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return a.tensor(0).sin_(); }}});
  t["cos"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::cos(a.tensor(0)); }}});
  t["cos_"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return a.tensor(0).cos_(); }}});
  t["tan"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::tan(a.tensor(0)); }}});
  t["tan_"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return a.tensor(0).tan_(); }}});
  t["asin"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::asin(a.tensor(0)); }}});
  t["asin_"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return a.tensor(0).asin_(); }}});
  t["arcsin"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::arcsin(a.tensor(0)); }}});
  t["arcsin_"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return a.tensor(0).arcsin_(); }}});
  t["acos"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::acos(a.tensor(0)); }}});
  t["acos_"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return a.tensor(0).acos_(); }}});
  t["arccos"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::arccos(a.tensor(0)); }}});
  t["arccos_"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return a.tensor(0).arccos_(); }}});
  t["atan"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::atan(a.tensor(0)); }}});
  t["atan_"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return a.tensor(0).atan_(); }}});
  t["arctan"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::arctan(a.tensor(0)); }}});
  t["arctan_"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return a.tensor(0).arctan_(); }}});
  t["sinh"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::sinh(a.tensor(0)); }}});
  t["sinh_"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return a.tensor(0).sinh_(); }}});
  t["cosh"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::cosh(a.tensor(0)); }}});
  t["cosh_"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return a.tensor(0).cosh_(); }}});
  t["tanh"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::tanh(a.tensor(0)); }}});
  t["tanh_"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return a.tensor(0).tanh_(); }}});
  t["asinh"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::asinh(a.tensor(0)); }}});
  t["asinh_"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return a.tensor(0).asinh_(); }}});
  t["arcsinh"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::arcsinh(a.tensor(0)); }}});
  t["arcsinh_"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return a.tensor(0).arcsinh_(); }}});
  t["acosh"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::acosh(a.tensor(0)); }}});
  t["acosh_"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return a.tensor(0).acosh_(); }}});
  t["arccosh"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::arccosh(a.tensor(0)); }}});
  t["arccosh_"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return a.tensor(0).arccosh_(); }}});
  t["atanh"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::atanh(a.tensor(0)); }}});
  t["atanh_"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return a.tensor(0).atanh_(); }}});
  t["arctanh"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::arctanh(a.tensor(0)); }}});
  t["arctanh_"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return a.tensor(0).arctanh_(); }}});
  t["sigmoid"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::sigmoid(a.tensor(0)); }}});
  t["sigmoid_"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return a.tensor(0).sigmoid_(); }}});
  t["erf"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::erf(a.tensor(0)); }}});
  t["erf_"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return a.tensor(0).erf_(); }}});
  t["erfc"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::erfc(a.tensor(0)); }}});
  t["erfc_"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return a.tensor(0).erfc_(); }}});
  t["erfinv"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::erfinv(a.tensor(0)); }}});
  t["erfinv_"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return a.tensor(0).erfinv_(); }}});
  t["lgamma"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::lgamma(a.tensor(0)); }}});
  t["lgamma_"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return a.tensor(0).lgamma_(); }}});
  t["floor"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::floor(a.tensor(0)); }}});
  t["floor_"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return a.tensor(0).floor_(); }}});
  t["ceil"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::ceil(a.tensor(0)); }}});
  t["ceil_"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return a.tensor(0).ceil_(); }}});
  t["trunc"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::trunc(a.tensor(0)); }}});
  t["trunc_"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return a.tensor(0).trunc_(); }}});
  t["fix"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::fix(a.tensor(0)); }}});
  t["fix_"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return a.tensor(0).fix_(); }}});
  t["round"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::round(a.tensor(0)); }},
      {"Tensor self, *, int decimals",
       [](const Arguments& a) -> Value { return tenon::round(a.tensor(0), a.integer(1)); }}});
  t["round_"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return a.tensor(0).round_(); }},
      {"Tensor self, *, int decimals",
       [](const Arguments& a) -> Value { return a.tensor(0).round_(a.integer(1)); }}});
  t["frac"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::frac(a.tensor(0)); }}});
  t["frac_"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return a.tensor(0).frac_(); }}});
  t["logical_not"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::logical_not(a.tensor(0)); }}});
  t["logical_not_"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return a.tensor(0).logical_not_(); }}});
  t["bitwise_not"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::bitwise_not(a.tensor(0)); }}});
  t["bitwise_not_"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return a.tensor(0).bitwise_not_(); }}});
  t["relu"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::relu(a.tensor(0)); }}});
  t["relu_"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return a.tensor(0).relu_(); }}});
  t["deg2rad"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::deg2rad(a.tensor(0)); }}});
  t["deg2rad_"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return a.tensor(0).deg2rad_(); }}});
  t["rad2deg"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::rad2deg(a.tensor(0)); }}});
  t["rad2deg_"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return a.tensor(0).rad2deg_(); }}});
  t["digamma"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::digamma(a.tensor(0)); }}});
  t["digamma_"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return a.tensor(0).digamma_(); }}});
  t["i0"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::i0(a.tensor(0)); }}});
  t["i0_"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return a.tensor(0).i0_(); }}});
  t["sinc"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::sinc(a.tensor(0)); }}});
  t["sinc_"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return a.tensor(0).sinc_(); }}});
  t["conj_physical"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::conj_physical(a.tensor(0)); }}});
  t["conj_physical_"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return a.tensor(0).conj_physical_(); }}});
  t["positive"] = overloads({
      {"Tensor(a) self",
       [](const Arguments& a) -> Value { return tenon::positive(a.tensor(0)); }}});
  t["signbit"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::signbit(a.tensor(0)); }}});
  t["isnan"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::isnan(a.tensor(0)); }}});
  t["isinf"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::isinf(a.tensor(0)); }}});
  t["isfinite"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::isfinite(a.tensor(0)); }}});
  t["isposinf"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::isposinf(a.tensor(0)); }}});
  t["isneginf"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::isneginf(a.tensor(0)); }}});
  t["isreal"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::isreal(a.tensor(0)); }}});
  t["angle"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::angle(a.tensor(0)); }}});
  t["relu6"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::relu6(a.tensor(0)); }}});
  t["selu"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::selu(a.tensor(0)); }}});
  t["silu"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::silu(a.tensor(0)); }}});
  t["mish"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::mish(a.tensor(0)); }}});
  t["hardsigmoid"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::hardsigmoid(a.tensor(0)); }}});
  t["hardswish"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::hardswish(a.tensor(0)); }}});
  t["softsign"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::softsign(a.tensor(0)); }}});
  t["tanhshrink"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::tanhshrink(a.tensor(0)); }}});
  t["log_sigmoid"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::log_sigmoid(a.tensor(0)); }}});
  t["atan2"] = overloads({
      {"Tensor self, Tensor other",
       [](const Arguments& a) -> Value { return tenon::atan2(a.tensor(0), a.tensor(1)); }}});
  t["atan2_"] = overloads({
      {"Tensor self, Tensor other",
       [](const Arguments& a) -> Value { return a.tensor(0).atan2_(a.tensor(1)); }}});
  t["arctan2"] = overloads({
      {"Tensor self, Tensor other",
       [](const Arguments& a) -> Value { return tenon::arctan2(a.tensor(0), a.tensor(1)); }}});
  t["arctan2_"] = overloads({
      {"Tensor self, Tensor other",
       [](const Arguments& a) -> Value { return a.tensor(0).arctan2_(a.tensor(1)); }}});
  t["hypot"] = overloads({
      {"Tensor self, Tensor other",
       [](const Arguments& a) -> Value { return tenon::hypot(a.tensor(0), a.tensor(1)); }}});
  t["hypot_"] = overloads({
      {"Tensor self, Tensor other",
       [](const Arguments& a) -> Value { return a.tensor(0).hypot_(a.tensor(1)); }}});
  t["logical_and"] = overloads({
      {"Tensor self, Tensor other",
       [](const Arguments& a) -> Value { return tenon::logical_and(a.tensor(0), a.tensor(1)); }}});
  t["logical_and_"] = overloads({
      {"Tensor self, Tensor other",
       [](const Arguments& a) -> Value { return a.tensor(0).logical_and_(a.tensor(1)); }}});
  t["logical_or"] = overloads({
      {"Tensor self, Tensor other",
       [](const Arguments& a) -> Value { return tenon::logical_or(a.tensor(0), a.tensor(1)); }}});
  t["logical_or_"] = overloads({
      {"Tensor self, Tensor other",
       [](const Arguments& a) -> Value { return a.tensor(0).logical_or_(a.tensor(1)); }}});
  t["logical_xor"] = overloads({
      {"Tensor self, Tensor other",
       [](const Arguments& a) -> Value { return tenon::logical_xor(a.tensor(0), a.tensor(1)); }}});
  t["logical_xor_"] = overloads({
      {"Tensor self, Tensor other",
       [](const Arguments& a) -> Value { return a.tensor(0).logical_xor_(a.tensor(1)); }}});
  t["heaviside"] = overloads({
      {"Tensor self, Tensor other",
       [](const Arguments& a) -> Value { return tenon::heaviside(a.tensor(0), a.tensor(1)); }}});
  t["heaviside_"] = overloads({
      {"Tensor self, Tensor other",
       [](const Arguments& a) -> Value { return a.tensor(0).heaviside_(a.tensor(1)); }}});
  t["nextafter"] = overloads({
      {"Tensor self, Tensor other",
       [](const Arguments& a) -> Value { return tenon::nextafter(a.tensor(0), a.tensor(1)); }}});
  t["nextafter_"] = overloads({
      {"Tensor self, Tensor other",
       [](const Arguments& a) -> Value { return a.tensor(0).nextafter_(a.tensor(1)); }}});
  t["ldexp"] = overloads({
      {"Tensor self, Tensor other",
       [](const Arguments& a) -> Value { return tenon::ldexp(a.tensor(0), a.tensor(1)); }}});
  t["ldexp_"] = overloads({
      {"Tensor self, Tensor other",
       [](const Arguments& a) -> Value { return a.tensor(0).ldexp_(a.tensor(1)); }}});
  t["gcd"] = overloads({
      {"Tensor self, Tensor other",
       [](const Arguments& a) -> Value { return tenon::gcd(a.tensor(0), a.tensor(1)); }}});
  t["gcd_"] = overloads({
      {"Tensor self, Tensor other",
       [](const Arguments& a) -> Value { return a.tensor(0).gcd_(a.tensor(1)); }}});
  t["lcm"] = overloads({
      {"Tensor self, Tensor other",
       [](const Arguments& a) -> Value { return tenon::lcm(a.tensor(0), a.tensor(1)); }}});
  t["lcm_"] = overloads({
      {"Tensor self, Tensor other",
       [](const Arguments& a) -> Value { return a.tensor(0).lcm_(a.tensor(1)); }}});
  t["maximum"] = overloads({
      {"Tensor self, Tensor other",
       [](const Arguments& a) -> Value { return tenon::maximum(a.tensor(0), a.tensor(1)); }}});
  t["minimum"] = overloads({
      {"Tensor self, Tensor other",
       [](const Arguments& a) -> Value { return tenon::minimum(a.tensor(0), a.tensor(1)); }}});
  t["fmax"] = overloads({
      {"Tensor self, Tensor other",
       [](const Arguments& a) -> Value { return tenon::fmax(a.tensor(0), a.tensor(1)); }}});
  t["fmin"] = overloads({
      {"Tensor self, Tensor other",
       [](const Arguments& a) -> Value { return tenon::fmin(a.tensor(0), a.tensor(1)); }}});
  t["logaddexp"] = overloads({
      {"Tensor self, Tensor other",
       [](const Arguments& a) -> Value { return tenon::logaddexp(a.tensor(0), a.tensor(1)); }}});
  t["logaddexp2"] = overloads({
      {"Tensor self, Tensor other",
       [](const Arguments& a) -> Value { return tenon::logaddexp2(a.tensor(0), a.tensor(1)); }}});
  t["mul"] = overloads({
      {"Tensor self, Tensor other",
       [](const Arguments& a) -> Value { return tenon::mul(a.tensor(0), a.tensor(1)); }},
      {"Tensor self, Scalar other",
       [](const Arguments& a) -> Value { return tenon::mul(a.tensor(0), a.scalar(1)); }}});
  t["mul_"] = overloads({
      {"Tensor self, Tensor other",
       [](const Arguments& a) -> Value { return a.tensor(0).mul_(a.tensor(1)); }},
      {"Tensor self, Scalar other",
       [](const Arguments& a) -> Value { return a.tensor(0).mul_(a.scalar(1)); }}});
  t["multiply"] = overloads({
      {"Tensor self, Tensor other",
       [](const Arguments& a) -> Value { return tenon::multiply(a.tensor(0), a.tensor(1)); }},
      {"Tensor self, Scalar other",
       [](const Arguments& a) -> Value { return tenon::multiply(a.tensor(0), a.scalar(1)); }}});
  t["multiply_"] = overloads({
      {"Tensor self, Tensor other",
       [](const Arguments& a) -> Value { return a.tensor(0).multiply_(a.tensor(1)); }},
      {"Tensor self, Scalar other",
       [](const Arguments& a) -> Value { return a.tensor(0).multiply_(a.scalar(1)); }}});
  t["remainder"] = overloads({
      {"Tensor self, Tensor other",
       [](const Arguments& a) -> Value { return tenon::remainder(a.tensor(0), a.tensor(1)); }},
      {"Tensor self, Scalar other",
       [](const Arguments& a) -> Value { return tenon::remainder(a.tensor(0), a.scalar(1)); }},
      {"Scalar self, Tensor other",
       [](const Arguments& a) -> Value { return tenon::remainder(a.scalar(0), a.tensor(1)); }}});
  t["remainder_"] = overloads({
      {"Tensor self, Tensor other",
       [](const Arguments& a) -> Value { return a.tensor(0).remainder_(a.tensor(1)); }},
      {"Tensor self, Scalar other",
       [](const Arguments& a) -> Value { return a.tensor(0).remainder_(a.scalar(1)); }}});
  t["fmod"] = overloads({
      {"Tensor self, Tensor other",
       [](const Arguments& a) -> Value { return tenon::fmod(a.tensor(0), a.tensor(1)); }},
      {"Tensor self, Scalar other",
       [](const Arguments& a) -> Value { return tenon::fmod(a.tensor(0), a.scalar(1)); }}});
  t["fmod_"] = overloads({
      {"Tensor self, Tensor other",
       [](const Arguments& a) -> Value { return a.tensor(0).fmod_(a.tensor(1)); }},
      {"Tensor self, Scalar other",
       [](const Arguments& a) -> Value { return a.tensor(0).fmod_(a.scalar(1)); }}});
  t["floor_divide"] = overloads({
      {"Tensor self, Tensor other",
       [](const Arguments& a) -> Value { return tenon::floor_divide(a.tensor(0), a.tensor(1)); }},
      {"Tensor self, Scalar other",
       [](const Arguments& a) -> Value { return tenon::floor_divide(a.tensor(0), a.scalar(1)); }}});
  t["floor_divide_"] = overloads({
      {"Tensor self, Tensor other",
       [](const Arguments& a) -> Value { return a.tensor(0).floor_divide_(a.tensor(1)); }},
      {"Tensor self, Scalar other",
       [](const Arguments& a) -> Value { return a.tensor(0).floor_divide_(a.scalar(1)); }}});
  t["true_divide"] = overloads({
      {"Tensor self, Tensor other",
       [](const Arguments& a) -> Value { return tenon::true_divide(a.tensor(0), a.tensor(1)); }},
      {"Tensor self, Scalar other",
       [](const Arguments& a) -> Value { return tenon::true_divide(a.tensor(0), a.scalar(1)); }}});
  t["true_divide_"] = overloads({
      {"Tensor self, Tensor other",
       [](const Arguments& a) -> Value { return a.tensor(0).true_divide_(a.tensor(1)); }},
      {"Tensor self, Scalar other",
       [](const Arguments& a) -> Value { return a.tensor(0).true_divide_(a.scalar(1)); }}});
  t["copysign"] = overloads({
      {"Tensor self, Tensor other",
       [](const Arguments& a) -> Value { return tenon::copysign(a.tensor(0), a.tensor(1)); }},
      {"Tensor self, Scalar other",
       [](const Arguments& a) -> Value { return tenon::copysign(a.tensor(0), a.scalar(1)); }}});
  t["copysign_"] = overloads({
      {"Tensor self, Tensor other",
       [](const Arguments& a) -> Value { return a.tensor(0).copysign_(a.tensor(1)); }},
      {"Tensor self, Scalar other",
       [](const Arguments& a) -> Value { return a.tensor(0).copysign_(a.scalar(1)); }}});
  t["xlogy"] = overloads({
      {"Tensor self, Tensor other",
       [](const Arguments& a) -> Value { return tenon::xlogy(a.tensor(0), a.tensor(1)); }},
      {"Tensor self, Scalar other",
       [](const Arguments& a) -> Value { return tenon::xlogy(a.tensor(0), a.scalar(1)); }},
      {"Scalar self, Tensor other",
       [](const Arguments& a) -> Value { return tenon::xlogy(a.scalar(0), a.tensor(1)); }}});
  t["xlogy_"] = overloads({
      {"Tensor self, Tensor other",
       [](const Arguments& a) -> Value { return a.tensor(0).xlogy_(a.tensor(1)); }},
      {"Tensor self, Scalar other",
       [](const Arguments& a) -> Value { return a.tensor(0).xlogy_(a.scalar(1)); }}});
  t["eq"] = overloads({
      {"Tensor self, Tensor other",
       [](const Arguments& a) -> Value { return tenon::eq(a.tensor(0), a.tensor(1)); }},
      {"Tensor self, Scalar other",
       [](const Arguments& a) -> Value { return tenon::eq(a.tensor(0), a.scalar(1)); }}});
  t["eq_"] = overloads({
      {"Tensor self, Tensor other",
       [](const Arguments& a) -> Value { return a.tensor(0).eq_(a.tensor(1)); }},
      {"Tensor self, Scalar other",
       [](const Arguments& a) -> Value { return a.tensor(0).eq_(a.scalar(1)); }}});
  t["ne"] = overloads({
      {"Tensor self, Tensor other",
       [](const Arguments& a) -> Value { return tenon::ne(a.tensor(0), a.tensor(1)); }},
      {"Tensor self, Scalar other",
       [](const Arguments& a) -> Value { return tenon::ne(a.tensor(0), a.scalar(1)); }}});
  t["ne_"] = overloads({
      {"Tensor self, Tensor other",
       [](const Arguments& a) -> Value { return a.tensor(0).ne_(a.tensor(1)); }},
      {"Tensor self, Scalar other",
       [](const Arguments& a) -> Value { return a.tensor(0).ne_(a.scalar(1)); }}});
  t["lt"] = overloads({
      {"Tensor self, Tensor other",
       [](const Arguments& a) -> Value { return tenon::lt(a.tensor(0), a.tensor(1)); }},
      {"Tensor self, Scalar other",
       [](const Arguments& a) -> Value { return tenon::lt(a.tensor(0), a.scalar(1)); }}});
  t["lt_"] = overloads({
      {"Tensor self, Tensor other",
       [](const Arguments& a) -> Value { return a.tensor(0).lt_(a.tensor(1)); }},
      {"Tensor self, Scalar other",
       [](const Arguments& a) -> Value { return a.tensor(0).lt_(a.scalar(1)); }}});
  t["le"] = overloads({
      {"Tensor self, Tensor other",
       [](const Arguments& a) -> Value { return tenon::le(a.tensor(0), a.tensor(1)); }},
      {"Tensor self, Scalar other",
       [](const Arguments& a) -> Value { return tenon::le(a.tensor(0), a.scalar(1)); }}});
  t["le_"] = overloads({
      {"Tensor self, Tensor other",
       [](const Arguments& a) -> Value { return a.tensor(0).le_(a.tensor(1)); }},
      {"Tensor self, Scalar other",
       [](const Arguments& a) -> Value { return a.tensor(0).le_(a.scalar(1)); }}});
  t["gt"] = overloads({
      {"Tensor self, Tensor other",
       [](const Arguments& a) -> Value { return tenon::gt(a.tensor(0), a.tensor(1)); }},
      {"Tensor self, Scalar other",
       [](const Arguments& a) -> Value { return tenon::gt(a.tensor(0), a.scalar(1)); }}});
  t["gt_"] = overloads({
      {"Tensor self, Tensor other",
       [](const Arguments& a) -> Value { return a.tensor(0).gt_(a.tensor(1)); }},
      {"Tensor self, Scalar other",
       [](const Arguments& a) -> Value { return a.tensor(0).gt_(a.scalar(1)); }}});
  t["ge"] = overloads({
      {"Tensor self, Tensor other",
       [](const Arguments& a) -> Value { return tenon::ge(a.tensor(0), a.tensor(1)); }},
      {"Tensor self, Scalar other",
       [](const Arguments& a) -> Value { return tenon::ge(a.tensor(0), a.scalar(1)); }}});
  t["ge_"] = overloads({
      {"Tensor self, Tensor other",
       [](const Arguments& a) -> Value { return a.tensor(0).ge_(a.tensor(1)); }},
      {"Tensor self, Scalar other",
       [](const Arguments& a) -> Value { return a.tensor(0).ge_(a.scalar(1)); }}});
  t["not_equal"] = overloads({
      {"Tensor self, Tensor other",
       [](const Arguments& a) -> Value { return tenon::not_equal(a.tensor(0), a.tensor(1)); }},
      {"Tensor self, Scalar other",
       [](const Arguments& a) -> Value { return tenon::not_equal(a.tensor(0), a.scalar(1)); }}});
  t["not_equal_"] = overloads({
      {"Tensor self, Tensor other",
       [](const Arguments& a) -> Value { return a.tensor(0).not_equal_(a.tensor(1)); }},
      {"Tensor self, Scalar other",
       [](const Arguments& a) -> Value { return a.tensor(0).not_equal_(a.scalar(1)); }}});
  t["less"] = overloads({
      {"Tensor self, Tensor other",
       [](const Arguments& a) -> Value { return tenon::less(a.tensor(0), a.tensor(1)); }},
      {"Tensor self, Scalar other",
       [](const Arguments& a) -> Value { return tenon::less(a.tensor(0), a.scalar(1)); }}});
  t["less_"] = overloads({
      {"Tensor self, Tensor other",
       [](const Arguments& a) -> Value { return a.tensor(0).less_(a.tensor(1)); }},
      {"Tensor self, Scalar other",
       [](const Arguments& a) -> Value { return a.tensor(0).less_(a.scalar(1)); }}});
  t["less_equal"] = overloads({
      {"Tensor self, Tensor other",
       [](const Arguments& a) -> Value { return tenon::less_equal(a.tensor(0), a.tensor(1)); }},
      {"Tensor self, Scalar other",
       [](const Arguments& a) -> Value { return tenon::less_equal(a.tensor(0), a.scalar(1)); }}});
  t["less_equal_"] = overloads({
      {"Tensor self, Tensor other",
       [](const Arguments& a) -> Value { return a.tensor(0).less_equal_(a.tensor(1)); }},
      {"Tensor self, Scalar other",
       [](const Arguments& a) -> Value { return a.tensor(0).less_equal_(a.scalar(1)); }}});
  t["greater"] = overloads({
      {"Tensor self, Tensor other",
       [](const Arguments& a) -> Value { return tenon::greater(a.tensor(0), a.tensor(1)); }},
      {"Tensor self, Scalar other",
       [](const Arguments& a) -> Value { return tenon::greater(a.tensor(0), a.scalar(1)); }}});
  t["greater_"] = overloads({
      {"Tensor self, Tensor other",
       [](const Arguments& a) -> Value { return a.tensor(0).greater_(a.tensor(1)); }},
      {"Tensor self, Scalar other",
       [](const Arguments& a) -> Value { return a.tensor(0).greater_(a.scalar(1)); }}});
  t["greater_equal"] = overloads({
      {"Tensor self, Tensor other",
       [](const Arguments& a) -> Value { return tenon::greater_equal(a.tensor(0), a.tensor(1)); }},
      {"Tensor self, Scalar other",
       [](const Arguments& a) -> Value { return tenon::greater_equal(a.tensor(0), a.scalar(1)); }}});
  t["greater_equal_"] = overloads({
      {"Tensor self, Tensor other",
       [](const Arguments& a) -> Value { return a.tensor(0).greater_equal_(a.tensor(1)); }},
      {"Tensor self, Scalar other",
       [](const Arguments& a) -> Value { return a.tensor(0).greater_equal_(a.scalar(1)); }}});
  t["bitwise_and"] = overloads({
      {"Tensor self, Tensor other",
       [](const Arguments& a) -> Value { return tenon::bitwise_and(a.tensor(0), a.tensor(1)); }},
      {"Tensor self, Scalar other",
       [](const Arguments& a) -> Value { return tenon::bitwise_and(a.tensor(0), a.scalar(1)); }},
      {"Scalar self, Tensor other",
       [](const Arguments& a) -> Value { return tenon::bitwise_and(a.scalar(0), a.tensor(1)); }}});
  t["bitwise_and_"] = overloads({
      {"Tensor self, Tensor other",
       [](const Arguments& a) -> Value { return a.tensor(0).bitwise_and_(a.tensor(1)); }},
      {"Tensor self, Scalar other",
       [](const Arguments& a) -> Value { return a.tensor(0).bitwise_and_(a.scalar(1)); }}});
  t["bitwise_or"] = overloads({
      {"Tensor self, Tensor other",
       [](const Arguments& a) -> Value { return tenon::bitwise_or(a.tensor(0), a.tensor(1)); }},
      {"Tensor self, Scalar other",
       [](const Arguments& a) -> Value { return tenon::bitwise_or(a.tensor(0), a.scalar(1)); }},
      {"Scalar self, Tensor other",
       [](const Arguments& a) -> Value { return tenon::bitwise_or(a.scalar(0), a.tensor(1)); }}});
  t["bitwise_or_"] = overloads({
      {"Tensor self, Tensor other",
       [](const Arguments& a) -> Value { return a.tensor(0).bitwise_or_(a.tensor(1)); }},
      {"Tensor self, Scalar other",
       [](const Arguments& a) -> Value { return a.tensor(0).bitwise_or_(a.scalar(1)); }}});
  t["bitwise_xor"] = overloads({
      {"Tensor self, Tensor other",
       [](const Arguments& a) -> Value { return tenon::bitwise_xor(a.tensor(0), a.tensor(1)); }},
      {"Tensor self, Scalar other",
       [](const Arguments& a) -> Value { return tenon::bitwise_xor(a.tensor(0), a.scalar(1)); }},
      {"Scalar self, Tensor other",
       [](const Arguments& a) -> Value { return tenon::bitwise_xor(a.scalar(0), a.tensor(1)); }}});
  t["bitwise_xor_"] = overloads({
      {"Tensor self, Tensor other",
       [](const Arguments& a) -> Value { return a.tensor(0).bitwise_xor_(a.tensor(1)); }},
      {"Tensor self, Scalar other",
       [](const Arguments& a) -> Value { return a.tensor(0).bitwise_xor_(a.scalar(1)); }}});
  t["bitwise_left_shift"] = overloads({
      {"Tensor self, Tensor other",
       [](const Arguments& a) -> Value { return tenon::bitwise_left_shift(a.tensor(0), a.tensor(1)); }},
      {"Tensor self, Scalar other",
       [](const Arguments& a) -> Value { return tenon::bitwise_left_shift(a.tensor(0), a.scalar(1)); }},
      {"Scalar self, Tensor other",
       [](const Arguments& a) -> Value { return tenon::bitwise_left_shift(a.scalar(0), a.tensor(1)); }}});
  t["bitwise_left_shift_"] = overloads({
      {"Tensor self, Tensor other",
       [](const Arguments& a) -> Value { return a.tensor(0).bitwise_left_shift_(a.tensor(1)); }},
      {"Tensor self, Scalar other",
       [](const Arguments& a) -> Value { return a.tensor(0).bitwise_left_shift_(a.scalar(1)); }}});
  t["bitwise_right_shift"] = overloads({
      {"Tensor self, Tensor other",
       [](const Arguments& a) -> Value { return tenon::bitwise_right_shift(a.tensor(0), a.tensor(1)); }},
      {"Tensor self, Scalar other",
       [](const Arguments& a) -> Value { return tenon::bitwise_right_shift(a.tensor(0), a.scalar(1)); }},
      {"Scalar self, Tensor other",
       [](const Arguments& a) -> Value { return tenon::bitwise_right_shift(a.scalar(0), a.tensor(1)); }}});
  t["bitwise_right_shift_"] = overloads({
      {"Tensor self, Tensor other",
       [](const Arguments& a) -> Value { return a.tensor(0).bitwise_right_shift_(a.tensor(1)); }},
      {"Tensor self, Scalar other",
       [](const Arguments& a) -> Value { return a.tensor(0).bitwise_right_shift_(a.scalar(1)); }}});
  t["add"] = overloads({
      {"Tensor self, Tensor other, *, Scalar alpha=1",
       [](const Arguments& a) -> Value { return tenon::add(a.tensor(0), a.tensor(1), a.scalar(2)); }},
      {"Tensor self, Scalar other, Scalar alpha=1",
       [](const Arguments& a) -> Value { return tenon::add(a.tensor(0), a.scalar(1), a.scalar(2)); }}});
  t["add_"] = overloads({
      {"Tensor self, Tensor other, *, Scalar alpha=1",
       [](const Arguments& a) -> Value { return a.tensor(0).add_(a.tensor(1), a.scalar(2)); }},
      {"Tensor self, Scalar other, Scalar alpha=1",
       [](const Arguments& a) -> Value { return a.tensor(0).add_(a.scalar(1), a.scalar(2)); }}});
  t["sub"] = overloads({
      {"Tensor self, Tensor other, *, Scalar alpha=1",
       [](const Arguments& a) -> Value { return tenon::sub(a.tensor(0), a.tensor(1), a.scalar(2)); }},
      {"Tensor self, Scalar other, Scalar alpha=1",
       [](const Arguments& a) -> Value { return tenon::sub(a.tensor(0), a.scalar(1), a.scalar(2)); }}});
  t["sub_"] = overloads({
      {"Tensor self, Tensor other, *, Scalar alpha=1",
       [](const Arguments& a) -> Value { return a.tensor(0).sub_(a.tensor(1), a.scalar(2)); }},
      {"Tensor self, Scalar other, Scalar alpha=1",
       [](const Arguments& a) -> Value { return a.tensor(0).sub_(a.scalar(1), a.scalar(2)); }}});
  t["rsub"] = overloads({
      {"Tensor self, Scalar other, Scalar alpha=1",
       [](const Arguments& a) -> Value { return tenon::rsub(a.tensor(0), a.scalar(1), a.scalar(2)); }},
      {"Tensor self, Tensor other, *, Scalar alpha=1",
       [](const Arguments& a) -> Value { return tenon::rsub(a.tensor(0), a.tensor(1), a.scalar(2)); }}});
  t["div"] = overloads({
      {"Tensor self, Tensor other",
       [](const Arguments& a) -> Value { return tenon::div(a.tensor(0), a.tensor(1)); }},
      {"Tensor self, Scalar other",
       [](const Arguments& a) -> Value { return tenon::div(a.tensor(0), a.scalar(1)); }},
      {"Tensor self, Tensor other, *, str? rounding_mode",
       [](const Arguments& a) -> Value { return tenon::div(a.tensor(0), a.tensor(1), a.maybe_string(2)); }},
      {"Tensor self, Scalar other, *, str? rounding_mode",
       [](const Arguments& a) -> Value { return tenon::div(a.tensor(0), a.scalar(1), a.maybe_string(2)); }}});
  t["div_"] = overloads({
      {"Tensor self, Tensor other",
       [](const Arguments& a) -> Value { return a.tensor(0).div_(a.tensor(1)); }},
      {"Tensor self, Scalar other",
       [](const Arguments& a) -> Value { return a.tensor(0).div_(a.scalar(1)); }},
      {"Tensor self, Tensor other, *, str? rounding_mode",
       [](const Arguments& a) -> Value { return a.tensor(0).div_(a.tensor(1), a.maybe_string(2)); }},
      {"Tensor self, Scalar other, *, str? rounding_mode",
       [](const Arguments& a) -> Value { return a.tensor(0).div_(a.scalar(1), a.maybe_string(2)); }}});
  t["pow"] = overloads({
      {"Tensor self, Tensor exponent",
       [](const Arguments& a) -> Value { return tenon::pow(a.tensor(0), a.tensor(1)); }},
      {"Tensor self, Scalar exponent",
       [](const Arguments& a) -> Value { return tenon::pow(a.tensor(0), a.scalar(1)); }},
      {"Scalar self, Tensor exponent",
       [](const Arguments& a) -> Value { return tenon::pow(a.scalar(0), a.tensor(1)); }}});
  t["pow_"] = overloads({
      {"Tensor self, Tensor exponent",
       [](const Arguments& a) -> Value { return a.tensor(0).pow_(a.tensor(1)); }},
      {"Tensor self, Scalar exponent",
       [](const Arguments& a) -> Value { return a.tensor(0).pow_(a.scalar(1)); }}});
  t["float_power"] = overloads({
      {"Tensor self, Tensor exponent",
       [](const Arguments& a) -> Value { return tenon::float_power(a.tensor(0), a.tensor(1)); }},
      {"Tensor self, Scalar exponent",
       [](const Arguments& a) -> Value { return tenon::float_power(a.tensor(0), a.scalar(1)); }},
      {"Scalar self, Tensor exponent",
       [](const Arguments& a) -> Value { return tenon::float_power(a.scalar(0), a.tensor(1)); }}});
  t["where"] = overloads({
      {"Tensor condition, Tensor self, Tensor other",
       [](const Arguments& a) -> Value { return tenon::where(a.tensor(0), a.tensor(1), a.tensor(2)); }},
      {"Tensor condition, Scalar self, Tensor other",
       [](const Arguments& a) -> Value { return tenon::where(a.tensor(0), a.scalar(1), a.tensor(2)); }},
      {"Tensor condition, Tensor self, Scalar other",
       [](const Arguments& a) -> Value { return tenon::where(a.tensor(0), a.tensor(1), a.scalar(2)); }},
      {"Tensor condition, Scalar self, Scalar other",
       [](const Arguments& a) -> Value { return tenon::where(a.tensor(0), a.scalar(1), a.scalar(2)); }},
      {"Tensor condition",
       [](const Arguments& a) -> Value { return list_of(tenon::where(a.tensor(0))); }}});
  t["masked_fill"] = overloads({
      {"Tensor self, Tensor mask, Scalar value",
       [](const Arguments& a) -> Value { return tenon::masked_fill(a.tensor(0), a.tensor(1), a.scalar(2)); }},
      {"Tensor self, Tensor mask, Tensor value",
       [](const Arguments& a) -> Value { return tenon::masked_fill(a.tensor(0), a.tensor(1), a.tensor(2)); }}});
  t["clamp"] = overloads({
      {"Tensor self, Scalar? min, Scalar? max=None",
       [](const Arguments& a) -> Value { return tenon::clamp(a.tensor(0), a.maybe_scalar(1), a.maybe_scalar(2)); }},
      {"Tensor self, Tensor? min, Tensor? max",
       [](const Arguments& a) -> Value { return tenon::clamp(a.tensor(0), a.maybe_tensor(1), a.maybe_tensor(2)); }}});
  t["clamp_"] = overloads({
      {"Tensor self, Scalar? min, Scalar? max=None",
       [](const Arguments& a) -> Value { return a.tensor(0).clamp_(a.maybe_scalar(1), a.maybe_scalar(2)); }},
      {"Tensor self, Tensor? min, Tensor? max",
       [](const Arguments& a) -> Value { return a.tensor(0).clamp_(a.maybe_tensor(1), a.maybe_tensor(2)); }}});
  t["clamp_min"] = overloads({
      {"Tensor self, Scalar min",
       [](const Arguments& a) -> Value { return tenon::clamp_min(a.tensor(0), a.scalar(1)); }},
      {"Tensor self, Tensor min",
       [](const Arguments& a) -> Value { return tenon::clamp_min(a.tensor(0), a.tensor(1)); }}});
  t["clamp_min_"] = overloads({
      {"Tensor self, Scalar min",
       [](const Arguments& a) -> Value { return a.tensor(0).clamp_min_(a.scalar(1)); }},
      {"Tensor self, Tensor min",
       [](const Arguments& a) -> Value { return a.tensor(0).clamp_min_(a.tensor(1)); }}});
  t["clamp_max"] = overloads({
      {"Tensor self, Scalar max",
       [](const Arguments& a) -> Value { return tenon::clamp_max(a.tensor(0), a.scalar(1)); }},
      {"Tensor self, Tensor max",
       [](const Arguments& a) -> Value { return tenon::clamp_max(a.tensor(0), a.tensor(1)); }}});
  t["clamp_max_"] = overloads({
      {"Tensor self, Scalar max",
       [](const Arguments& a) -> Value { return a.tensor(0).clamp_max_(a.scalar(1)); }},
      {"Tensor self, Tensor max",
       [](const Arguments& a) -> Value { return a.tensor(0).clamp_max_(a.tensor(1)); }}});
  t["lerp"] = overloads({
      {"Tensor self, Tensor end, Scalar weight",
       [](const Arguments& a) -> Value { return tenon::lerp(a.tensor(0), a.tensor(1), a.scalar(2)); }},
      {"Tensor self, Tensor end, Tensor weight",
       [](const Arguments& a) -> Value { return tenon::lerp(a.tensor(0), a.tensor(1), a.tensor(2)); }}});
  t["lerp_"] = overloads({
      {"Tensor self, Tensor end, Scalar weight",
       [](const Arguments& a) -> Value { return a.tensor(0).lerp_(a.tensor(1), a.scalar(2)); }},
      {"Tensor self, Tensor end, Tensor weight",
       [](const Arguments& a) -> Value { return a.tensor(0).lerp_(a.tensor(1), a.tensor(2)); }}});
  t["addcmul"] = overloads({
      {"Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1",
       [](const Arguments& a) -> Value { return tenon::addcmul(a.tensor(0), a.tensor(1), a.tensor(2), a.scalar(3)); }}});
  t["addcmul_"] = overloads({
      {"Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1",
       [](const Arguments& a) -> Value { return a.tensor(0).addcmul_(a.tensor(1), a.tensor(2), a.scalar(3)); }}});
  t["addcdiv"] = overloads({
      {"Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1",
       [](const Arguments& a) -> Value { return tenon::addcdiv(a.tensor(0), a.tensor(1), a.tensor(2), a.scalar(3)); }}});
  t["addcdiv_"] = overloads({
      {"Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1",
       [](const Arguments& a) -> Value { return a.tensor(0).addcdiv_(a.tensor(1), a.tensor(2), a.scalar(3)); }}});
  t["nan_to_num"] = overloads({
      {"Tensor self, float? nan=None, float? posinf=None, float? neginf=None",
       [](const Arguments& a) -> Value { return tenon::nan_to_num(a.tensor(0), a.maybe_real(1), a.maybe_real(2), a.maybe_real(3)); }}});
  t["nan_to_num_"] = overloads({
      {"Tensor self, float? nan=None, float? posinf=None, float? neginf=None",
       [](const Arguments& a) -> Value { return a.tensor(0).nan_to_num_(a.maybe_real(1), a.maybe_real(2), a.maybe_real(3)); }}});
  t["logit"] = overloads({
      {"Tensor self, float? eps=None",
       [](const Arguments& a) -> Value { return tenon::logit(a.tensor(0), a.maybe_real(1)); }}});
  t["logit_"] = overloads({
      {"Tensor self, float? eps=None",
       [](const Arguments& a) -> Value { return a.tensor(0).logit_(a.maybe_real(1)); }}});
  t["leaky_relu"] = overloads({
      {"Tensor self, Scalar negative_slope=0.01",
       [](const Arguments& a) -> Value { return tenon::leaky_relu(a.tensor(0), a.scalar(1)); }}});
  t["prelu"] = overloads({
      {"Tensor self, Tensor weight",
       [](const Arguments& a) -> Value { return tenon::prelu(a.tensor(0), a.tensor(1)); }}});
  t["elu"] = overloads({
      {"Tensor self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1",
       [](const Arguments& a) -> Value { return tenon::elu(a.tensor(0), a.scalar(1), a.scalar(2), a.scalar(3)); }}});
  t["celu"] = overloads({
      {"Tensor self, Scalar alpha=1.0",
       [](const Arguments& a) -> Value { return tenon::celu(a.tensor(0), a.scalar(1)); }}});
  t["gelu"] = overloads({
      {"Tensor self, *, str approximate='none'",
       [](const Arguments& a) -> Value { return tenon::gelu(a.tensor(0), a.string(1)); }}});
  t["softplus"] = overloads({
      {"Tensor self, Scalar beta=1, Scalar threshold=20",
       [](const Arguments& a) -> Value { return tenon::softplus(a.tensor(0), a.scalar(1), a.scalar(2)); }}});
  t["hardtanh"] = overloads({
      {"Tensor self, Scalar min_val=-1, Scalar max_val=1",
       [](const Arguments& a) -> Value { return tenon::hardtanh(a.tensor(0), a.scalar(1), a.scalar(2)); }}});
  t["hardshrink"] = overloads({
      {"Tensor self, Scalar lambd=0.5",
       [](const Arguments& a) -> Value { return tenon::hardshrink(a.tensor(0), a.scalar(1)); }}});
  t["softshrink"] = overloads({
      {"Tensor self, Scalar lambd=0.5",
       [](const Arguments& a) -> Value { return tenon::softshrink(a.tensor(0), a.scalar(1)); }}});
  t["threshold"] = overloads({
      {"Tensor self, Scalar threshold, Scalar value",
       [](const Arguments& a) -> Value { return tenon::threshold(a.tensor(0), a.scalar(1), a.scalar(2)); }}});
  t["reshape"] = overloads({
      {"Tensor(a) self, int[] shape",
       [](const Arguments& a) -> Value { return tenon::reshape(a.tensor(0), a.ints(1)); }}});
  t["view"] = overloads({
      {"Tensor(a) self, int[] shape",
       [](const Arguments& a) -> Value { return tenon::view(a.tensor(0), a.ints(1)); }}});
  t["flatten"] = overloads({
      {"Tensor(a) self, int start_dim=0, int end_dim=-1",
       [](const Arguments& a) -> Value { return tenon::flatten(a.tensor(0), a.integer(1), a.integer(2)); }}});
  t["unflatten"] = overloads({
      {"Tensor(a) self, int dim, int[] sizes",
       [](const Arguments& a) -> Value { return tenon::unflatten(a.tensor(0), a.integer(1), a.ints(2)); }}});
  t["ravel"] = overloads({
      {"Tensor(a) self",
       [](const Arguments& a) -> Value { return tenon::ravel(a.tensor(0)); }}});
  t["permute"] = overloads({
      {"Tensor(a) self, int[] dims",
       [](const Arguments& a) -> Value { return tenon::permute(a.tensor(0), a.ints(1)); }}});
  t["transpose"] = overloads({
      {"Tensor(a) self, int dim0, int dim1",
       [](const Arguments& a) -> Value { return tenon::transpose(a.tensor(0), a.integer(1), a.integer(2)); }}});
  t["transpose_"] = overloads({
      {"Tensor(a) self, int dim0, int dim1",
       [](const Arguments& a) -> Value { return a.tensor(0).transpose_(a.integer(1), a.integer(2)); }}});
  t["swapaxes"] = overloads({
      {"Tensor(a) self, int axis0, int axis1",
       [](const Arguments& a) -> Value { return tenon::swapaxes(a.tensor(0), a.integer(1), a.integer(2)); }}});
  t["swapaxes_"] = overloads({
      {"Tensor(a) self, int axis0, int axis1",
       [](const Arguments& a) -> Value { return a.tensor(0).swapaxes_(a.integer(1), a.integer(2)); }}});
  t["t"] = overloads({
      {"Tensor(a) self",
       [](const Arguments& a) -> Value { return tenon::t(a.tensor(0)); }}});
  t["t_"] = overloads({
      {"Tensor(a) self",
       [](const Arguments& a) -> Value { return a.tensor(0).t_(); }}});
  t["movedim"] = overloads({
      {"Tensor(a) self, int[] source, int[] destination",
       [](const Arguments& a) -> Value { return tenon::movedim(a.tensor(0), a.ints(1), a.ints(2)); }},
      {"Tensor(a) self, int source, int destination",
       [](const Arguments& a) -> Value { return tenon::movedim(a.tensor(0), a.integer(1), a.integer(2)); }}});
  t["expand"] = overloads({
      {"Tensor(a) self, int[] size",
       [](const Arguments& a) -> Value { return tenon::expand(a.tensor(0), a.ints(1)); }}});
  t["broadcast_to"] = overloads({
      {"Tensor(a) self, int[] size",
       [](const Arguments& a) -> Value { return tenon::broadcast_to(a.tensor(0), a.ints(1)); }}});
  t["broadcast_tensors"] = overloads({
      {"Tensor[] tensors",
       [](const Arguments& a) -> Value { return list_of(tenon::broadcast_tensors(a.tensors(0))); }}});
  t["squeeze"] = overloads({
      {"Tensor(a) self",
       [](const Arguments& a) -> Value { return tenon::squeeze(a.tensor(0)); }},
      {"Tensor(a) self, int dim",
       [](const Arguments& a) -> Value { return tenon::squeeze(a.tensor(0), a.integer(1)); }},
      {"Tensor(a) self, int[] dims",
       [](const Arguments& a) -> Value { return tenon::squeeze(a.tensor(0), a.ints(1)); }}});
  t["squeeze_"] = overloads({
      {"Tensor(a) self",
       [](const Arguments& a) -> Value { return a.tensor(0).squeeze_(); }},
      {"Tensor(a) self, int dim",
       [](const Arguments& a) -> Value { return a.tensor(0).squeeze_(a.integer(1)); }},
      {"Tensor(a) self, int[] dims",
       [](const Arguments& a) -> Value { return a.tensor(0).squeeze_(a.ints(1)); }}});
  t["unsqueeze"] = overloads({
      {"Tensor(a) self, int dim",
       [](const Arguments& a) -> Value { return tenon::unsqueeze(a.tensor(0), a.integer(1)); }}});
  t["unsqueeze_"] = overloads({
      {"Tensor(a) self, int dim",
       [](const Arguments& a) -> Value { return a.tensor(0).unsqueeze_(a.integer(1)); }}});
  t["select"] = overloads({
      {"Tensor(a) self, int dim, int index",
       [](const Arguments& a) -> Value { return tenon::select(a.tensor(0), a.integer(1), a.integer(2)); }}});
  t["slice"] = overloads({
      {"Tensor(a) self, int dim=0, int? start=None, int? end=None, int step=1",
       [](const Arguments& a) -> Value { return tenon::slice(a.tensor(0), a.integer(1), a.maybe_integer(2), a.maybe_integer(3), a.integer(4)); }}});
  t["narrow"] = overloads({
      {"Tensor(a) self, int dim, int start, int length",
       [](const Arguments& a) -> Value { return tenon::narrow(a.tensor(0), a.integer(1), a.integer(2), a.integer(3)); }},
      {"Tensor(a) self, int dim, Tensor start, int length",
       [](const Arguments& a) -> Value { return tenon::narrow(a.tensor(0), a.integer(1), a.tensor(2), a.integer(3)); }}});
  t["chunk"] = overloads({
      {"Tensor(a) self, int chunks, int dim=0",
       [](const Arguments& a) -> Value { return list_of(tenon::chunk(a.tensor(0), a.integer(1), a.integer(2))); }}});
  t["split"] = overloads({
      {"Tensor(a) self, int split_size, int dim=0",
       [](const Arguments& a) -> Value { return list_of(tenon::split(a.tensor(0), a.integer(1), a.integer(2))); }},
      {"Tensor(a) self, int[] split_sizes, int dim=0",
       [](const Arguments& a) -> Value { return list_of(tenon::split(a.tensor(0), a.ints(1), a.integer(2))); }}});
  t["split_with_sizes"] = overloads({
      {"Tensor(a) self, int[] split_sizes, int dim=0",
       [](const Arguments& a) -> Value { return list_of(tenon::split_with_sizes(a.tensor(0), a.ints(1), a.integer(2))); }}});
  t["unbind"] = overloads({
      {"Tensor(a) self, int dim=0",
       [](const Arguments& a) -> Value { return list_of(tenon::unbind(a.tensor(0), a.integer(1))); }}});
  t["clone"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::clone(a.tensor(0)); }}});
  t["flip"] = overloads({
      {"Tensor self, int[] dims",
       [](const Arguments& a) -> Value { return tenon::flip(a.tensor(0), a.ints(1)); }}});
  t["fliplr"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::fliplr(a.tensor(0)); }}});
  t["flipud"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::flipud(a.tensor(0)); }}});
  t["roll"] = overloads({
      {"Tensor self, int[] shifts, int[] dims=[]",
       [](const Arguments& a) -> Value { return tenon::roll(a.tensor(0), a.ints(1), a.ints(2)); }}});
  t["tile"] = overloads({
      {"Tensor self, int[] dims",
       [](const Arguments& a) -> Value { return tenon::tile(a.tensor(0), a.ints(1)); }}});
  t["cat"] = overloads({
      {"Tensor[] tensors, int dim=0",
       [](const Arguments& a) -> Value { return tenon::cat(a.tensors(0), a.integer(1)); }}});
  t["concat"] = overloads({
      {"Tensor[] tensors, int dim=0",
       [](const Arguments& a) -> Value { return tenon::concat(a.tensors(0), a.integer(1)); }}});
  t["stack"] = overloads({
      {"Tensor[] tensors, int dim=0",
       [](const Arguments& a) -> Value { return tenon::stack(a.tensors(0), a.integer(1)); }}});
  t["vstack"] = overloads({
      {"Tensor[] tensors",
       [](const Arguments& a) -> Value { return tenon::vstack(a.tensors(0)); }}});
  t["hstack"] = overloads({
      {"Tensor[] tensors",
       [](const Arguments& a) -> Value { return tenon::hstack(a.tensors(0)); }}});
  t["dstack"] = overloads({
      {"Tensor[] tensors",
       [](const Arguments& a) -> Value { return tenon::dstack(a.tensors(0)); }}});
  t["atleast_1d"] = overloads({
      {"Tensor& self",
       [](const Arguments& a) -> Value { return tenon::atleast_1d(a.tensor(0)); }},
      {"Tensor[] tensors",
       [](const Arguments& a) -> Value { return list_of(tenon::atleast_1d(a.tensors(0))); }}});
  t["atleast_2d"] = overloads({
      {"Tensor& self",
       [](const Arguments& a) -> Value { return tenon::atleast_2d(a.tensor(0)); }},
      {"Tensor[] tensors",
       [](const Arguments& a) -> Value { return list_of(tenon::atleast_2d(a.tensors(0))); }}});
  t["atleast_3d"] = overloads({
      {"Tensor& self",
       [](const Arguments& a) -> Value { return tenon::atleast_3d(a.tensor(0)); }},
      {"Tensor[] tensors",
       [](const Arguments& a) -> Value { return list_of(tenon::atleast_3d(a.tensors(0))); }}});
  t["constant_pad_nd"] = overloads({
      {"Tensor self, int[] pad, Scalar value=0",
       [](const Arguments& a) -> Value { return tenon::constant_pad_nd(a.tensor(0), a.ints(1), a.scalar(2)); }}});
  t["sum"] = overloads({
      {"Tensor self, *, ScalarType? dtype=None",
       [](const Arguments& a) -> Value { return tenon::sum(a.tensor(0), a.maybe_type(1)); }},
      {"Tensor self, int[]? dim, bool keepdim=False, *, ScalarType? dtype=None",
       [](const Arguments& a) -> Value { return tenon::sum(a.tensor(0), a.maybe_ints(1), a.flag(2), a.maybe_type(3)); }}});
  t["nansum"] = overloads({
      {"Tensor self, int[]? dim=None, bool keepdim=False, *, ScalarType? dtype=None",
       [](const Arguments& a) -> Value { return tenon::nansum(a.tensor(0), a.maybe_ints(1), a.flag(2), a.maybe_type(3)); }}});
  t["prod"] = overloads({
      {"Tensor self, *, ScalarType? dtype=None",
       [](const Arguments& a) -> Value { return tenon::prod(a.tensor(0), a.maybe_type(1)); }},
      {"Tensor self, int dim, bool keepdim=False, *, ScalarType? dtype=None",
       [](const Arguments& a) -> Value { return tenon::prod(a.tensor(0), a.integer(1), a.flag(2), a.maybe_type(3)); }}});
  t["mean"] = overloads({
      {"Tensor self, *, ScalarType? dtype=None",
       [](const Arguments& a) -> Value { return tenon::mean(a.tensor(0), a.maybe_type(1)); }},
      {"Tensor self, int[]? dim, bool keepdim=False, *, ScalarType? dtype=None",
       [](const Arguments& a) -> Value { return tenon::mean(a.tensor(0), a.maybe_ints(1), a.flag(2), a.maybe_type(3)); }}});
  t["var"] = overloads({
      {"Tensor self, bool unbiased=True",
       [](const Arguments& a) -> Value { return tenon::var(a.tensor(0), a.flag(1)); }},
      {"Tensor self, int[]? dim, bool unbiased=True, bool keepdim=False",
       [](const Arguments& a) -> Value { return tenon::var(a.tensor(0), a.maybe_ints(1), a.flag(2), a.flag(3)); }},
      {"Tensor self, int[]? dim, *, Scalar? correction, bool keepdim=False",
       [](const Arguments& a) -> Value { return tenon::var(a.tensor(0), a.maybe_ints(1), a.maybe_scalar(2), a.flag(3)); }},
      {"Tensor self, int dim",
       [](const Arguments& a) -> Value { return tenon::var(a.tensor(0), a.integer(1)); }}});
  t["std"] = overloads({
      {"Tensor self, bool unbiased=True",
       [](const Arguments& a) -> Value { return tenon::std(a.tensor(0), a.flag(1)); }},
      {"Tensor self, int[]? dim, bool unbiased=True, bool keepdim=False",
       [](const Arguments& a) -> Value { return tenon::std(a.tensor(0), a.maybe_ints(1), a.flag(2), a.flag(3)); }},
      {"Tensor self, int[]? dim, *, Scalar? correction, bool keepdim=False",
       [](const Arguments& a) -> Value { return tenon::std(a.tensor(0), a.maybe_ints(1), a.maybe_scalar(2), a.flag(3)); }},
      {"Tensor self, int dim",
       [](const Arguments& a) -> Value { return tenon::std(a.tensor(0), a.integer(1)); }}});
  t["var_mean"] = overloads({
      {"Tensor self, bool unbiased=True",
       [](const Arguments& a) -> Value { return fields("var_mean", {}, tenon::var_mean(a.tensor(0), a.flag(1))); }},
      {"Tensor self, int[]? dim, bool unbiased=True, bool keepdim=False",
       [](const Arguments& a) -> Value { return fields("var_mean", {}, tenon::var_mean(a.tensor(0), a.maybe_ints(1), a.flag(2), a.flag(3))); }},
      {"Tensor self, int dim",
       [](const Arguments& a) -> Value { return fields("var_mean", {}, tenon::var_mean(a.tensor(0), a.integer(1))); }}});
  t["std_mean"] = overloads({
      {"Tensor self, bool unbiased=True",
       [](const Arguments& a) -> Value { return fields("std_mean", {}, tenon::std_mean(a.tensor(0), a.flag(1))); }},
      {"Tensor self, int[]? dim, bool unbiased=True, bool keepdim=False",
       [](const Arguments& a) -> Value { return fields("std_mean", {}, tenon::std_mean(a.tensor(0), a.maybe_ints(1), a.flag(2), a.flag(3))); }},
      {"Tensor self, int dim",
       [](const Arguments& a) -> Value { return fields("std_mean", {}, tenon::std_mean(a.tensor(0), a.integer(1))); }}});
  t["max"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::max(a.tensor(0)); }},
      {"Tensor self, Tensor other",
       [](const Arguments& a) -> Value { return tenon::max(a.tensor(0), a.tensor(1)); }},
      {"Tensor self, int dim, bool keepdim=False",
       [](const Arguments& a) -> Value { return fields("max", {"values", "indices"}, tenon::max(a.tensor(0), a.integer(1), a.flag(2))); }}});
  t["min"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::min(a.tensor(0)); }},
      {"Tensor self, Tensor other",
       [](const Arguments& a) -> Value { return tenon::min(a.tensor(0), a.tensor(1)); }},
      {"Tensor self, int dim, bool keepdim=False",
       [](const Arguments& a) -> Value { return fields("min", {"values", "indices"}, tenon::min(a.tensor(0), a.integer(1), a.flag(2))); }}});
  t["amax"] = overloads({
      {"Tensor self, int[] dim=[], bool keepdim=False",
       [](const Arguments& a) -> Value { return tenon::amax(a.tensor(0), a.ints(1), a.flag(2)); }}});
  t["amin"] = overloads({
      {"Tensor self, int[] dim=[], bool keepdim=False",
       [](const Arguments& a) -> Value { return tenon::amin(a.tensor(0), a.ints(1), a.flag(2)); }}});
  t["aminmax"] = overloads({
      {"Tensor self, *, int? dim=None, bool keepdim=False",
       [](const Arguments& a) -> Value { return fields("aminmax", {"min", "max"}, tenon::aminmax(a.tensor(0), a.maybe_integer(1), a.flag(2))); }}});
  t["argmax"] = overloads({
      {"Tensor self, int? dim=None, bool keepdim=False",
       [](const Arguments& a) -> Value { return tenon::argmax(a.tensor(0), a.maybe_integer(1), a.flag(2)); }}});
  t["argmin"] = overloads({
      {"Tensor self, int? dim=None, bool keepdim=False",
       [](const Arguments& a) -> Value { return tenon::argmin(a.tensor(0), a.maybe_integer(1), a.flag(2)); }}});
  t["any"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::any(a.tensor(0)); }},
      {"Tensor self, int dim, bool keepdim=False",
       [](const Arguments& a) -> Value { return tenon::any(a.tensor(0), a.integer(1), a.flag(2)); }},
      {"Tensor self, int[]? dim, bool keepdim=False",
       [](const Arguments& a) -> Value { return tenon::any(a.tensor(0), a.maybe_ints(1), a.flag(2)); }}});
  t["all"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::all(a.tensor(0)); }},
      {"Tensor self, int dim, bool keepdim=False",
       [](const Arguments& a) -> Value { return tenon::all(a.tensor(0), a.integer(1), a.flag(2)); }},
      {"Tensor self, int[]? dim, bool keepdim=False",
       [](const Arguments& a) -> Value { return tenon::all(a.tensor(0), a.maybe_ints(1), a.flag(2)); }}});
  t["norm"] = overloads({
      {"Tensor self, Scalar p=2",
       [](const Arguments& a) -> Value { return tenon::norm(a.tensor(0), a.scalar(1)); }},
      {"Tensor self, Scalar? p, int[] dim, bool keepdim=False",
       [](const Arguments& a) -> Value { return tenon::norm(a.tensor(0), a.maybe_scalar(1), a.ints(2), a.flag(3)); }},
      {"Tensor self, Scalar? p, *, ScalarType dtype",
       [](const Arguments& a) -> Value { return tenon::norm(a.tensor(0), a.maybe_scalar(1), a.type(2)); }},
      {"Tensor self, Scalar? p, int[] dim, bool keepdim, *, ScalarType dtype",
       [](const Arguments& a) -> Value { return tenon::norm(a.tensor(0), a.maybe_scalar(1), a.ints(2), a.flag(3), a.type(4)); }}});
  t["logsumexp"] = overloads({
      {"Tensor self, int[] dim, bool keepdim=False",
       [](const Arguments& a) -> Value { return tenon::logsumexp(a.tensor(0), a.ints(1), a.flag(2)); }}});
  t["count_nonzero"] = overloads({
      {"Tensor self, int[] dim=[]",
       [](const Arguments& a) -> Value { return tenon::count_nonzero(a.tensor(0), a.ints(1)); }}});
  t["softmax"] = overloads({
      {"Tensor self, int dim, ScalarType? dtype=None",
       [](const Arguments& a) -> Value { return tenon::softmax(a.tensor(0), a.integer(1), a.maybe_type(2)); }}});
  t["log_softmax"] = overloads({
      {"Tensor self, int dim, ScalarType? dtype=None",
       [](const Arguments& a) -> Value { return tenon::log_softmax(a.tensor(0), a.integer(1), a.maybe_type(2)); }}});
  t["matmul"] = overloads({
      {"Tensor self, Tensor other",
       [](const Arguments& a) -> Value { return tenon::matmul(a.tensor(0), a.tensor(1)); }}});
  t["mm"] = overloads({
      {"Tensor self, Tensor mat2",
       [](const Arguments& a) -> Value { return tenon::mm(a.tensor(0), a.tensor(1)); }}});
  t["mv"] = overloads({
      {"Tensor self, Tensor vec",
       [](const Arguments& a) -> Value { return tenon::mv(a.tensor(0), a.tensor(1)); }}});
  t["bmm"] = overloads({
      {"Tensor self, Tensor mat2",
       [](const Arguments& a) -> Value { return tenon::bmm(a.tensor(0), a.tensor(1)); }}});
  t["dot"] = overloads({
      {"Tensor self, Tensor tensor",
       [](const Arguments& a) -> Value { return tenon::dot(a.tensor(0), a.tensor(1)); }}});
  t["outer"] = overloads({
      {"Tensor self, Tensor vec2",
       [](const Arguments& a) -> Value { return tenon::outer(a.tensor(0), a.tensor(1)); }}});
  t["addmm"] = overloads({
      {"Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1",
       [](const Arguments& a) -> Value { return tenon::addmm(a.tensor(0), a.tensor(1), a.tensor(2), a.scalar(3), a.scalar(4)); }}});
  t["addmm_"] = overloads({
      {"Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1",
       [](const Arguments& a) -> Value { return a.tensor(0).addmm_(a.tensor(1), a.tensor(2), a.scalar(3), a.scalar(4)); }}});
  t["addmv"] = overloads({
      {"Tensor self, Tensor mat, Tensor vec, *, Scalar beta=1, Scalar alpha=1",
       [](const Arguments& a) -> Value { return tenon::addmv(a.tensor(0), a.tensor(1), a.tensor(2), a.scalar(3), a.scalar(4)); }}});
  t["addmv_"] = overloads({
      {"Tensor self, Tensor mat, Tensor vec, *, Scalar beta=1, Scalar alpha=1",
       [](const Arguments& a) -> Value { return a.tensor(0).addmv_(a.tensor(1), a.tensor(2), a.scalar(3), a.scalar(4)); }}});
  t["baddbmm"] = overloads({
      {"Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1",
       [](const Arguments& a) -> Value { return tenon::baddbmm(a.tensor(0), a.tensor(1), a.tensor(2), a.scalar(3), a.scalar(4)); }}});
  t["baddbmm_"] = overloads({
      {"Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1",
       [](const Arguments& a) -> Value { return a.tensor(0).baddbmm_(a.tensor(1), a.tensor(2), a.scalar(3), a.scalar(4)); }}});
  t["equal"] = overloads({
      {"Tensor self, Tensor other",
       [](const Arguments& a) -> Value { return tenon::equal(a.tensor(0), a.tensor(1)); }}});
  t["allclose"] = overloads({
      {"Tensor self, Tensor other, float rtol=1e-05, float atol=1e-08, bool equal_nan=False",
       [](const Arguments& a) -> Value { return tenon::allclose(a.tensor(0), a.tensor(1), a.real(2), a.real(3), a.flag(4)); }}});
  t["isclose"] = overloads({
      {"Tensor self, Tensor other, float rtol=1e-05, float atol=1e-08, bool equal_nan=False",
       [](const Arguments& a) -> Value { return tenon::isclose(a.tensor(0), a.tensor(1), a.real(2), a.real(3), a.flag(4)); }}});
  t["subtract"] = overloads({
      {"Tensor self, Tensor other, *, Scalar alpha=1",
       [](const Arguments& a) -> Value { return tenon::subtract(a.tensor(0), a.tensor(1), a.scalar(2)); }},
      {"Tensor self, Scalar other, Scalar alpha=1",
       [](const Arguments& a) -> Value { return tenon::subtract(a.tensor(0), a.scalar(1), a.scalar(2)); }}});
  t["subtract_"] = overloads({
      {"Tensor self, Tensor other, *, Scalar alpha=1",
       [](const Arguments& a) -> Value { return a.tensor(0).subtract_(a.tensor(1), a.scalar(2)); }},
      {"Tensor self, Scalar other, Scalar alpha=1",
       [](const Arguments& a) -> Value { return a.tensor(0).subtract_(a.scalar(1), a.scalar(2)); }}});
  t["divide"] = overloads({
      {"Tensor self, Tensor other",
       [](const Arguments& a) -> Value { return tenon::divide(a.tensor(0), a.tensor(1)); }},
      {"Tensor self, Scalar other",
       [](const Arguments& a) -> Value { return tenon::divide(a.tensor(0), a.scalar(1)); }},
      {"Tensor self, Tensor other, *, str? rounding_mode",
       [](const Arguments& a) -> Value { return tenon::divide(a.tensor(0), a.tensor(1), a.maybe_string(2)); }},
      {"Tensor self, Scalar other, *, str? rounding_mode",
       [](const Arguments& a) -> Value { return tenon::divide(a.tensor(0), a.scalar(1), a.maybe_string(2)); }}});
  t["divide_"] = overloads({
      {"Tensor self, Tensor other",
       [](const Arguments& a) -> Value { return a.tensor(0).divide_(a.tensor(1)); }},
      {"Tensor self, Scalar other",
       [](const Arguments& a) -> Value { return a.tensor(0).divide_(a.scalar(1)); }},
      {"Tensor self, Tensor other, *, str? rounding_mode",
       [](const Arguments& a) -> Value { return a.tensor(0).divide_(a.tensor(1), a.maybe_string(2)); }},
      {"Tensor self, Scalar other, *, str? rounding_mode",
       [](const Arguments& a) -> Value { return a.tensor(0).divide_(a.scalar(1), a.maybe_string(2)); }}});
  t["clip"] = overloads({
      {"Tensor self, Scalar? min, Scalar? max=None",
       [](const Arguments& a) -> Value { return tenon::clip(a.tensor(0), a.maybe_scalar(1), a.maybe_scalar(2)); }},
      {"Tensor self, Tensor? min, Tensor? max",
       [](const Arguments& a) -> Value { return tenon::clip(a.tensor(0), a.maybe_tensor(1), a.maybe_tensor(2)); }}});
  t["clip_"] = overloads({
      {"Tensor self, Scalar? min, Scalar? max=None",
       [](const Arguments& a) -> Value { return a.tensor(0).clip_(a.maybe_scalar(1), a.maybe_scalar(2)); }},
      {"Tensor self, Tensor? min, Tensor? max",
       [](const Arguments& a) -> Value { return a.tensor(0).clip_(a.maybe_tensor(1), a.maybe_tensor(2)); }}});
  t["frexp"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return fields("frexp", {"mantissa", "exponent"}, tenon::frexp(a.tensor(0))); }}});
  t["polygamma"] = overloads({
      {"int n, Tensor self",
       [](const Arguments& a) -> Value { return tenon::polygamma(a.integer(0), a.tensor(1)); }}});
  t["polygamma_"] = overloads({
      {"int n, Tensor self",
       [](const Arguments& a) -> Value { return a.tensor(1).polygamma_(a.integer(0)); }}});
  t["mvlgamma"] = overloads({
      {"Tensor self, int p",
       [](const Arguments& a) -> Value { return tenon::mvlgamma(a.tensor(0), a.integer(1)); }}});
  t["mvlgamma_"] = overloads({
      {"Tensor self, int p",
       [](const Arguments& a) -> Value { return a.tensor(0).mvlgamma_(a.integer(1)); }}});
  t["renorm"] = overloads({
      {"Tensor self, Scalar p, int dim, Scalar maxnorm",
       [](const Arguments& a) -> Value { return tenon::renorm(a.tensor(0), a.scalar(1), a.integer(2), a.scalar(3)); }}});
  t["renorm_"] = overloads({
      {"Tensor self, Scalar p, int dim, Scalar maxnorm",
       [](const Arguments& a) -> Value { return a.tensor(0).renorm_(a.scalar(1), a.integer(2), a.scalar(3)); }}});
  t["norm_except_dim"] = overloads({
      {"Tensor v, int pow=2, int dim=0",
       [](const Arguments& a) -> Value { return tenon::norm_except_dim(a.tensor(0), a.integer(1), a.integer(2)); }}});
  t["einsum"] = overloads({
      {"str equation, Tensor[] tensors, *, int[]? path=None",
       [](const Arguments& a) -> Value { return tenon::einsum(a.string(0), a.tensors(1), a.maybe_ints(2)); }}});
  t["tensordot"] = overloads({
      {"Tensor self, Tensor other, int[] dims_self, int[] dims_other",
       [](const Arguments& a) -> Value { return tenon::tensordot(a.tensor(0), a.tensor(1), a.ints(2), a.ints(3)); }}});
  t["kron"] = overloads({
      {"Tensor self, Tensor other",
       [](const Arguments& a) -> Value { return tenon::kron(a.tensor(0), a.tensor(1)); }}});
  t["inner"] = overloads({
      {"Tensor self, Tensor other",
       [](const Arguments& a) -> Value { return tenon::inner(a.tensor(0), a.tensor(1)); }}});
  t["vdot"] = overloads({
      {"Tensor self, Tensor other",
       [](const Arguments& a) -> Value { return tenon::vdot(a.tensor(0), a.tensor(1)); }}});
  t["ger"] = overloads({
      {"Tensor self, Tensor vec2",
       [](const Arguments& a) -> Value { return tenon::ger(a.tensor(0), a.tensor(1)); }}});
  t["addr"] = overloads({
      {"Tensor self, Tensor vec1, Tensor vec2, *, Scalar beta=1, Scalar alpha=1",
       [](const Arguments& a) -> Value { return tenon::addr(a.tensor(0), a.tensor(1), a.tensor(2), a.scalar(3), a.scalar(4)); }}});
  t["addr_"] = overloads({
      {"Tensor self, Tensor vec1, Tensor vec2, *, Scalar beta=1, Scalar alpha=1",
       [](const Arguments& a) -> Value { return a.tensor(0).addr_(a.tensor(1), a.tensor(2), a.scalar(3), a.scalar(4)); }}});
  t["addbmm"] = overloads({
      {"Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1",
       [](const Arguments& a) -> Value { return tenon::addbmm(a.tensor(0), a.tensor(1), a.tensor(2), a.scalar(3), a.scalar(4)); }}});
  t["addbmm_"] = overloads({
      {"Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1",
       [](const Arguments& a) -> Value { return a.tensor(0).addbmm_(a.tensor(1), a.tensor(2), a.scalar(3), a.scalar(4)); }}});
  t["chain_matmul"] = overloads({
      {"Tensor[] matrices",
       [](const Arguments& a) -> Value { return tenon::chain_matmul(a.tensors(0)); }}});
  t["cross"] = overloads({
      {"Tensor self, Tensor other, int? dim=None",
       [](const Arguments& a) -> Value { return tenon::cross(a.tensor(0), a.tensor(1), a.maybe_integer(2)); }}});
  t["linalg_cross"] = overloads({
      {"Tensor self, Tensor other, *, int dim=-1",
       [](const Arguments& a) -> Value { return tenon::linalg_cross(a.tensor(0), a.tensor(1), a.integer(2)); }}});
  t["cartesian_prod"] = overloads({
      {"Tensor[] tensors",
       [](const Arguments& a) -> Value { return tenon::cartesian_prod(a.tensors(0)); }}});
  t["diag"] = overloads({
      {"Tensor self, int diagonal=0",
       [](const Arguments& a) -> Value { return tenon::diag(a.tensor(0), a.integer(1)); }}});
  t["diag_embed"] = overloads({
      {"Tensor self, int offset=0, int dim1=-2, int dim2=-1",
       [](const Arguments& a) -> Value { return tenon::diag_embed(a.tensor(0), a.integer(1), a.integer(2), a.integer(3)); }}});
  t["diagflat"] = overloads({
      {"Tensor self, int offset=0",
       [](const Arguments& a) -> Value { return tenon::diagflat(a.tensor(0), a.integer(1)); }}});
  t["trace"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::trace(a.tensor(0)); }}});
  t["tril"] = overloads({
      {"Tensor self, int diagonal=0",
       [](const Arguments& a) -> Value { return tenon::tril(a.tensor(0), a.integer(1)); }}});
  t["tril_"] = overloads({
      {"Tensor self, int diagonal=0",
       [](const Arguments& a) -> Value { return a.tensor(0).tril_(a.integer(1)); }}});
  t["triu"] = overloads({
      {"Tensor self, int diagonal=0",
       [](const Arguments& a) -> Value { return tenon::triu(a.tensor(0), a.integer(1)); }}});
  t["triu_"] = overloads({
      {"Tensor self, int diagonal=0",
       [](const Arguments& a) -> Value { return a.tensor(0).triu_(a.integer(1)); }}});
  t["block_diag"] = overloads({
      {"Tensor[] tensors",
       [](const Arguments& a) -> Value { return tenon::block_diag(a.tensors(0)); }}});
  t["rot90"] = overloads({
      {"Tensor self, int k=1, int[] dims=[0, 1]",
       [](const Arguments& a) -> Value { return tenon::rot90(a.tensor(0), a.integer(1), a.ints(2)); }}});
  t["repeat_interleave"] = overloads({
      {"Tensor self, int repeats, int? dim=None",
       [](const Arguments& a) -> Value { return tenon::repeat_interleave(a.tensor(0), a.integer(1), a.maybe_integer(2)); }},
      {"Tensor self, Tensor repeats, int? dim=None, *, int? output_size=None",
       [](const Arguments& a) -> Value { return tenon::repeat_interleave(a.tensor(0), a.tensor(1), a.maybe_integer(2), a.maybe_integer(3)); }},
      {"Tensor repeats, *, int? output_size=None",
       [](const Arguments& a) -> Value { return tenon::repeat_interleave(a.tensor(0), a.maybe_integer(1)); }}});
  t["sum_to_size"] = overloads({
      {"Tensor self, int[] size",
       [](const Arguments& a) -> Value { return tenon::sum_to_size(a.tensor(0), a.ints(1)); }}});
  t["nanmean"] = overloads({
      {"Tensor self, int[]? dim=None, bool keepdim=False, *, ScalarType? dtype=None",
       [](const Arguments& a) -> Value { return tenon::nanmean(a.tensor(0), a.maybe_ints(1), a.flag(2), a.maybe_type(3)); }}});
  t["cov"] = overloads({
      {"Tensor self, *, int correction=1, Tensor? fweights=None, Tensor? aweights=None",
       [](const Arguments& a) -> Value { return tenon::cov(a.tensor(0), a.integer(1), a.maybe_tensor(2), a.maybe_tensor(3)); }}});
  t["corrcoef"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::corrcoef(a.tensor(0)); }}});
  t["diff"] = overloads({
      {"Tensor self, int n=1, int dim=-1, Tensor? prepend=None, Tensor? append=None",
       [](const Arguments& a) -> Value { return tenon::diff(a.tensor(0), a.integer(1), a.integer(2), a.maybe_tensor(3), a.maybe_tensor(4)); }}});
  t["trapezoid"] = overloads({
      {"Tensor y, *, Scalar dx=1, int dim=-1",
       [](const Arguments& a) -> Value { return tenon::trapezoid(a.tensor(0), a.scalar(1), a.integer(2)); }},
      {"Tensor y, Tensor x, *, int dim=-1",
       [](const Arguments& a) -> Value { return tenon::trapezoid(a.tensor(0), a.tensor(1), a.integer(2)); }}});
  t["dist"] = overloads({
      {"Tensor self, Tensor other, Scalar p=2",
       [](const Arguments& a) -> Value { return tenon::dist(a.tensor(0), a.tensor(1), a.scalar(2)); }}});
  t["linalg_vector_norm"] = overloads({
      {"Tensor self, Scalar ord=2, int[]? dim=None, bool keepdim=False, *, ScalarType? dtype=None",
       [](const Arguments& a) -> Value { return tenon::linalg_vector_norm(a.tensor(0), a.scalar(1), a.maybe_ints(2), a.flag(3), a.maybe_type(4)); }}});
  t["linalg.cross"] = overloads({
      {"Tensor self, Tensor other, *, int dim=-1",
       [](const Arguments& a) -> Value { return tenon::linalg::cross(a.tensor(0), a.tensor(1), a.integer(2)); }}});
  t["linalg.vector_norm"] = overloads({
      {"Tensor self, Scalar ord=2, int[]? dim=None, bool keepdim=False, *, ScalarType? dtype=None",
       [](const Arguments& a) -> Value { return tenon::linalg::vector_norm(a.tensor(0), a.scalar(1), a.maybe_ints(2), a.flag(3), a.maybe_type(4)); }}});
  t["concatenate"] = overloads({
      {"Tensor[] tensors, int dim=0",
       [](const Arguments& a) -> Value { return tenon::concatenate(a.tensors(0), a.integer(1)); }}});
  t["column_stack"] = overloads({
      {"Tensor[] tensors",
       [](const Arguments& a) -> Value { return tenon::column_stack(a.tensors(0)); }}});
  t["row_stack"] = overloads({
      {"Tensor[] tensors",
       [](const Arguments& a) -> Value { return tenon::row_stack(a.tensors(0)); }}});
  t["pad_sequence"] = overloads({
      {"Tensor[] sequences, bool batch_first=False, float padding_value=0.0, str padding_side='right'",
       [](const Arguments& a) -> Value { return tenon::pad_sequence(a.tensors(0), a.flag(1), a.real(2), a.string(3)); }}});
  t["isin"] = overloads({
      {"Tensor elements, Tensor test_elements, *, bool assume_unique=False, bool invert=False",
       [](const Arguments& a) -> Value { return tenon::isin(a.tensor(0), a.tensor(1), a.flag(2), a.flag(3)); }},
      {"Tensor elements, Scalar test_element, *, bool assume_unique=False, bool invert=False",
       [](const Arguments& a) -> Value { return tenon::isin(a.tensor(0), a.scalar(1), a.flag(2), a.flag(3)); }},
      {"Scalar element, Tensor test_elements, *, bool assume_unique=False, bool invert=False",
       [](const Arguments& a) -> Value { return tenon::isin(a.scalar(0), a.tensor(1), a.flag(2), a.flag(3)); }}});
  t["nonzero_static"] = overloads({
      {"Tensor self, *, int size, int fill_value=-1",
       [](const Arguments& a) -> Value { return tenon::nonzero_static(a.tensor(0), a.integer(1), a.integer(2)); }}});
  t["trapz"] = overloads({
      {"Tensor y, *, float dx=1, int dim=-1",
       [](const Arguments& a) -> Value { return tenon::trapz(a.tensor(0), a.real(1), a.integer(2)); }},
      {"Tensor y, Tensor x, *, int dim=-1",
       [](const Arguments& a) -> Value { return tenon::trapz(a.tensor(0), a.tensor(1), a.integer(2)); }}});
  t["cumulative_trapezoid"] = overloads({
      {"Tensor y, *, Scalar dx=1, int dim=-1",
       [](const Arguments& a) -> Value { return tenon::cumulative_trapezoid(a.tensor(0), a.scalar(1), a.integer(2)); }},
      {"Tensor y, Tensor x, *, int dim=-1",
       [](const Arguments& a) -> Value { return tenon::cumulative_trapezoid(a.tensor(0), a.tensor(1), a.integer(2)); }}});
  t["gradient"] = overloads({
      {"Tensor self, *, Scalar? spacing=None, int? dim=None, int edge_order=1",
       [](const Arguments& a) -> Value { return list_of(tenon::gradient(a.tensor(0), a.maybe_scalar(1), a.maybe_integer(2), a.integer(3))); }},
      {"Tensor self, *, Scalar spacing, int[] dim, int edge_order=1",
       [](const Arguments& a) -> Value { return list_of(tenon::gradient(a.tensor(0), a.scalar(1), a.ints(2), a.integer(3))); }},
      {"Tensor self, *, int[] dim, int edge_order=1",
       [](const Arguments& a) -> Value { return list_of(tenon::gradient(a.tensor(0), a.ints(1), a.integer(2))); }},
      {"Tensor self, *, Tensor[] spacing, int? dim=None, int edge_order=1",
       [](const Arguments& a) -> Value { return list_of(tenon::gradient(a.tensor(0), a.tensors(1), a.maybe_integer(2), a.integer(3))); }},
      {"Tensor self, *, Tensor[] spacing, int[] dim, int edge_order=1",
       [](const Arguments& a) -> Value { return list_of(tenon::gradient(a.tensor(0), a.tensors(1), a.ints(2), a.integer(3))); }}});
  t["combinations"] = overloads({
      {"Tensor self, int r=2, bool with_replacement=False",
       [](const Arguments& a) -> Value { return tenon::combinations(a.tensor(0), a.integer(1), a.flag(2)); }}});
  t["unravel_index"] = overloads({
      {"Tensor indices, int[] shape",
       [](const Arguments& a) -> Value { return list_of(tenon::unravel_index(a.tensor(0), a.ints(1))); }}});
  t["vander"] = overloads({
      {"Tensor x, int? N=None, bool increasing=False",
       [](const Arguments& a) -> Value { return tenon::vander(a.tensor(0), a.maybe_integer(1), a.flag(2)); }}});
  t["matrix_power"] = overloads({
      {"Tensor self, int n",
       [](const Arguments& a) -> Value { return tenon::matrix_power(a.tensor(0), a.integer(1)); }}});
  t["is_same_size"] = overloads({
      {"Tensor self, Tensor other",
       [](const Arguments& a) -> Value { return tenon::is_same_size(a.tensor(0), a.tensor(1)); }}});
  t["as_strided_scatter"] = overloads({
      {"Tensor self, Tensor src, int[] size, int[] stride, int? storage_offset=None",
       [](const Arguments& a) -> Value { return tenon::as_strided_scatter(a.tensor(0), a.tensor(1), a.ints(2), a.ints(3), a.maybe_integer(4)); }}});
  t["index_reduce"] = overloads({
      {"Tensor self, int dim, Tensor index, Tensor source, str reduce, *, bool include_self=True",
       [](const Arguments& a) -> Value { return tenon::index_reduce(a.tensor(0), a.integer(1), a.tensor(2), a.tensor(3), a.string(4), a.flag(5)); }}});
  t["index_reduce_"] = overloads({
      {"Tensor self, int dim, Tensor index, Tensor source, str reduce, *, bool include_self=True",
       [](const Arguments& a) -> Value { return a.tensor(0).index_reduce_(a.integer(1), a.tensor(2), a.tensor(3), a.string(4), a.flag(5)); }}});
  t["moveaxis"] = overloads({
      {"Tensor(a) self, int source, int destination",
       [](const Arguments& a) -> Value { return tenon::moveaxis(a.tensor(0), a.integer(1), a.integer(2)); }},
      {"Tensor(a) self, int[] source, int[] destination",
       [](const Arguments& a) -> Value { return tenon::moveaxis(a.tensor(0), a.ints(1), a.ints(2)); }}});
  t["flatten_dense_tensors"] = overloads({
      {"Tensor[] tensors",
       [](const Arguments& a) -> Value { return tenon::flatten_dense_tensors(a.tensors(0)); }}});
  t["unflatten_dense_tensors"] = overloads({
      {"Tensor flat, Tensor[] tensors",
       [](const Arguments& a) -> Value { return list_of(tenon::unflatten_dense_tensors(a.tensor(0), a.tensors(1))); }}});
  t["cumsum"] = overloads({
      {"Tensor self, int dim, *, ScalarType? dtype=None",
       [](const Arguments& a) -> Value { return tenon::cumsum(a.tensor(0), a.integer(1), a.maybe_type(2)); }}});
  t["cumprod"] = overloads({
      {"Tensor self, int dim, *, ScalarType? dtype=None",
       [](const Arguments& a) -> Value { return tenon::cumprod(a.tensor(0), a.integer(1), a.maybe_type(2)); }}});
  t["cummax"] = overloads({
      {"Tensor self, int dim",
       [](const Arguments& a) -> Value { return fields("cummax", {"values", "indices"}, tenon::cummax(a.tensor(0), a.integer(1))); }}});
  t["cummin"] = overloads({
      {"Tensor self, int dim",
       [](const Arguments& a) -> Value { return fields("cummin", {"values", "indices"}, tenon::cummin(a.tensor(0), a.integer(1))); }}});
  t["logcumsumexp"] = overloads({
      {"Tensor self, int dim",
       [](const Arguments& a) -> Value { return tenon::logcumsumexp(a.tensor(0), a.integer(1)); }}});
  t["sort"] = overloads({
      {"Tensor self, int dim=-1, bool descending=False",
       [](const Arguments& a) -> Value { return fields("sort", {"values", "indices"}, tenon::sort(a.tensor(0), a.integer(1), a.flag(2))); }},
      {"Tensor self, *, bool? stable, int dim=-1, bool descending=False",
       [](const Arguments& a) -> Value { return fields("sort", {"values", "indices"}, tenon::sort(a.tensor(0), a.maybe_flag(1), a.integer(2), a.flag(3))); }}});
  t["argsort"] = overloads({
      {"Tensor self, int dim=-1, bool descending=False",
       [](const Arguments& a) -> Value { return tenon::argsort(a.tensor(0), a.integer(1), a.flag(2)); }},
      {"Tensor self, *, bool stable, int dim, bool descending=False",
       [](const Arguments& a) -> Value { return tenon::argsort(a.tensor(0), a.flag(1), a.integer(2), a.flag(3)); }}});
  t["msort"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::msort(a.tensor(0)); }}});
  t["topk"] = overloads({
      {"Tensor self, int k, int dim=-1, bool largest=True, bool sorted=True",
       [](const Arguments& a) -> Value { return fields("topk", {"values", "indices"}, tenon::topk(a.tensor(0), a.integer(1), a.integer(2), a.flag(3), a.flag(4))); }}});
  t["kthvalue"] = overloads({
      {"Tensor self, int k, int dim=-1, bool keepdim=False",
       [](const Arguments& a) -> Value { return fields("kthvalue", {"values", "indices"}, tenon::kthvalue(a.tensor(0), a.integer(1), a.integer(2), a.flag(3))); }}});
  t["median"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::median(a.tensor(0)); }},
      {"Tensor self, int dim, bool keepdim=False",
       [](const Arguments& a) -> Value { return fields("median", {"values", "indices"}, tenon::median(a.tensor(0), a.integer(1), a.flag(2))); }}});
  t["nanmedian"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::nanmedian(a.tensor(0)); }},
      {"Tensor self, int dim, bool keepdim=False",
       [](const Arguments& a) -> Value { return fields("nanmedian", {"values", "indices"}, tenon::nanmedian(a.tensor(0), a.integer(1), a.flag(2))); }}});
  t["mode"] = overloads({
      {"Tensor self, int dim=-1, bool keepdim=False",
       [](const Arguments& a) -> Value { return fields("mode", {"values", "indices"}, tenon::mode(a.tensor(0), a.integer(1), a.flag(2))); }}});
  t["quantile"] = overloads({
      {"Tensor self, float q, int? dim=None, bool keepdim=False, *, str interpolation='linear'",
       [](const Arguments& a) -> Value { return tenon::quantile(a.tensor(0), a.real(1), a.maybe_integer(2), a.flag(3), a.string(4)); }},
      {"Tensor self, Tensor q, int? dim=None, bool keepdim=False, *, str interpolation='linear'",
       [](const Arguments& a) -> Value { return tenon::quantile(a.tensor(0), a.tensor(1), a.maybe_integer(2), a.flag(3), a.string(4)); }}});
  t["nanquantile"] = overloads({
      {"Tensor self, float q, int? dim=None, bool keepdim=False, *, str interpolation='linear'",
       [](const Arguments& a) -> Value { return tenon::nanquantile(a.tensor(0), a.real(1), a.maybe_integer(2), a.flag(3), a.string(4)); }},
      {"Tensor self, Tensor q, int? dim=None, bool keepdim=False, *, str interpolation='linear'",
       [](const Arguments& a) -> Value { return tenon::nanquantile(a.tensor(0), a.tensor(1), a.maybe_integer(2), a.flag(3), a.string(4)); }}});
  t["_unique2"] = overloads({
      {"Tensor self, bool sorted=True, bool return_inverse=False, bool return_counts=False",
       [](const Arguments& a) -> Value { return fields("_unique2", {}, tenon::_unique2(a.tensor(0), a.flag(1), a.flag(2), a.flag(3))); }}});
  t["unique_consecutive"] = overloads({
      {"Tensor self, bool return_inverse=False, bool return_counts=False, int? dim=None",
       [](const Arguments& a) -> Value { return fields("unique_consecutive", {}, tenon::unique_consecutive(a.tensor(0), a.flag(1), a.flag(2), a.maybe_integer(3))); }}});
  t["unique_dim"] = overloads({
      {"Tensor self, int dim, bool sorted=True, bool return_inverse=False, bool return_counts=False",
       [](const Arguments& a) -> Value { return fields("unique_dim", {}, tenon::unique_dim(a.tensor(0), a.integer(1), a.flag(2), a.flag(3), a.flag(4))); }}});
  t["histc"] = overloads({
      {"Tensor self, int bins=100, Scalar min=0, Scalar max=0",
       [](const Arguments& a) -> Value { return tenon::histc(a.tensor(0), a.integer(1), a.scalar(2), a.scalar(3)); }}});
  t["histogram"] = overloads({
      {"Tensor self, Tensor bins, *, Tensor? weight=None, bool density=False",
       [](const Arguments& a) -> Value { return fields("histogram", {"hist", "bin_edges"}, tenon::histogram(a.tensor(0), a.tensor(1), a.maybe_tensor(2), a.flag(3))); }}});
  t["bincount"] = overloads({
      {"Tensor self, Tensor? weights=None, int minlength=0",
       [](const Arguments& a) -> Value { return tenon::bincount(a.tensor(0), a.maybe_tensor(1), a.integer(2)); }}});
  t["searchsorted"] = overloads({
      {"Tensor sorted_sequence, Tensor self, *, bool out_int32=False, bool right=False, str? side=None, Tensor? sorter=None",
       [](const Arguments& a) -> Value { return tenon::searchsorted(a.tensor(0), a.tensor(1), a.flag(2), a.flag(3), a.maybe_string(4), a.maybe_tensor(5)); }},
      {"Tensor sorted_sequence, Scalar self, *, bool out_int32=False, bool right=False, str? side=None, Tensor? sorter=None",
       [](const Arguments& a) -> Value { return tenon::searchsorted(a.tensor(0), a.scalar(1), a.flag(2), a.flag(3), a.maybe_string(4), a.maybe_tensor(5)); }}});
  t["bucketize"] = overloads({
      {"Tensor self, Tensor boundaries, *, bool out_int32=False, bool right=False",
       [](const Arguments& a) -> Value { return tenon::bucketize(a.tensor(0), a.tensor(1), a.flag(2), a.flag(3)); }},
      {"Scalar self, Tensor boundaries, *, bool out_int32=False, bool right=False",
       [](const Arguments& a) -> Value { return tenon::bucketize(a.scalar(0), a.tensor(1), a.flag(2), a.flag(3)); }}});
  t["gather"] = overloads({
      {"Tensor self, int dim, Tensor index, *, bool sparse_grad=False",
       [](const Arguments& a) -> Value { return tenon::gather(a.tensor(0), a.integer(1), a.tensor(2), a.flag(3)); }}});
  t["index_select"] = overloads({
      {"Tensor self, int dim, Tensor index",
       [](const Arguments& a) -> Value { return tenon::index_select(a.tensor(0), a.integer(1), a.tensor(2)); }}});
  t["take"] = overloads({
      {"Tensor self, Tensor index",
       [](const Arguments& a) -> Value { return tenon::take(a.tensor(0), a.tensor(1)); }}});
  t["take_along_dim"] = overloads({
      {"Tensor self, Tensor indices, int? dim=None",
       [](const Arguments& a) -> Value { return tenon::take_along_dim(a.tensor(0), a.tensor(1), a.maybe_integer(2)); }}});
  t["masked_select"] = overloads({
      {"Tensor self, Tensor mask",
       [](const Arguments& a) -> Value { return tenon::masked_select(a.tensor(0), a.tensor(1)); }}});
  t["nonzero"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::nonzero(a.tensor(0)); }}});
  t["nonzero_numpy"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return list_of(tenon::nonzero_numpy(a.tensor(0))); }}});
  t["argwhere"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::argwhere(a.tensor(0)); }}});
  t["scatter"] = overloads({
      {"Tensor self, int dim, Tensor index, Tensor src",
       [](const Arguments& a) -> Value { return tenon::scatter(a.tensor(0), a.integer(1), a.tensor(2), a.tensor(3)); }},
      {"Tensor self, int dim, Tensor index, Scalar value",
       [](const Arguments& a) -> Value { return tenon::scatter(a.tensor(0), a.integer(1), a.tensor(2), a.scalar(3)); }},
      {"Tensor self, int dim, Tensor index, Tensor src, *, str reduce",
       [](const Arguments& a) -> Value { return tenon::scatter(a.tensor(0), a.integer(1), a.tensor(2), a.tensor(3), a.string(4)); }},
      {"Tensor self, int dim, Tensor index, Scalar value, *, str reduce",
       [](const Arguments& a) -> Value { return tenon::scatter(a.tensor(0), a.integer(1), a.tensor(2), a.scalar(3), a.string(4)); }}});
  t["scatter_"] = overloads({
      {"Tensor self, int dim, Tensor index, Tensor src",
       [](const Arguments& a) -> Value { return a.tensor(0).scatter_(a.integer(1), a.tensor(2), a.tensor(3)); }},
      {"Tensor self, int dim, Tensor index, Scalar value",
       [](const Arguments& a) -> Value { return a.tensor(0).scatter_(a.integer(1), a.tensor(2), a.scalar(3)); }},
      {"Tensor self, int dim, Tensor index, Tensor src, *, str reduce",
       [](const Arguments& a) -> Value { return a.tensor(0).scatter_(a.integer(1), a.tensor(2), a.tensor(3), a.string(4)); }},
      {"Tensor self, int dim, Tensor index, Scalar value, *, str reduce",
       [](const Arguments& a) -> Value { return a.tensor(0).scatter_(a.integer(1), a.tensor(2), a.scalar(3), a.string(4)); }}});
  t["scatter_add"] = overloads({
      {"Tensor self, int dim, Tensor index, Tensor src",
       [](const Arguments& a) -> Value { return tenon::scatter_add(a.tensor(0), a.integer(1), a.tensor(2), a.tensor(3)); }}});
  t["scatter_add_"] = overloads({
      {"Tensor self, int dim, Tensor index, Tensor src",
       [](const Arguments& a) -> Value { return a.tensor(0).scatter_add_(a.integer(1), a.tensor(2), a.tensor(3)); }}});
  t["scatter_reduce"] = overloads({
      {"Tensor self, int dim, Tensor index, Tensor src, str reduce, *, bool include_self=True",
       [](const Arguments& a) -> Value { return tenon::scatter_reduce(a.tensor(0), a.integer(1), a.tensor(2), a.tensor(3), a.string(4), a.flag(5)); }}});
  t["scatter_reduce_"] = overloads({
      {"Tensor self, int dim, Tensor index, Tensor src, str reduce, *, bool include_self=True",
       [](const Arguments& a) -> Value { return a.tensor(0).scatter_reduce_(a.integer(1), a.tensor(2), a.tensor(3), a.string(4), a.flag(5)); }}});
  t["index_add"] = overloads({
      {"Tensor self, int dim, Tensor index, Tensor source, *, Scalar alpha=1",
       [](const Arguments& a) -> Value { return tenon::index_add(a.tensor(0), a.integer(1), a.tensor(2), a.tensor(3), a.scalar(4)); }}});
  t["index_add_"] = overloads({
      {"Tensor self, int dim, Tensor index, Tensor source, *, Scalar alpha=1",
       [](const Arguments& a) -> Value { return a.tensor(0).index_add_(a.integer(1), a.tensor(2), a.tensor(3), a.scalar(4)); }}});
  t["index_copy"] = overloads({
      {"Tensor self, int dim, Tensor index, Tensor source",
       [](const Arguments& a) -> Value { return tenon::index_copy(a.tensor(0), a.integer(1), a.tensor(2), a.tensor(3)); }}});
  t["index_copy_"] = overloads({
      {"Tensor self, int dim, Tensor index, Tensor source",
       [](const Arguments& a) -> Value { return a.tensor(0).index_copy_(a.integer(1), a.tensor(2), a.tensor(3)); }}});
  t["index_fill"] = overloads({
      {"Tensor self, int dim, Tensor index, Scalar value",
       [](const Arguments& a) -> Value { return tenon::index_fill(a.tensor(0), a.integer(1), a.tensor(2), a.scalar(3)); }},
      {"Tensor self, int dim, Tensor index, Tensor value",
       [](const Arguments& a) -> Value { return tenon::index_fill(a.tensor(0), a.integer(1), a.tensor(2), a.tensor(3)); }}});
  t["index_fill_"] = overloads({
      {"Tensor self, int dim, Tensor index, Scalar value",
       [](const Arguments& a) -> Value { return a.tensor(0).index_fill_(a.integer(1), a.tensor(2), a.scalar(3)); }},
      {"Tensor self, int dim, Tensor index, Tensor value",
       [](const Arguments& a) -> Value { return a.tensor(0).index_fill_(a.integer(1), a.tensor(2), a.tensor(3)); }}});
  t["put"] = overloads({
      {"Tensor self, Tensor index, Tensor source, bool accumulate=False",
       [](const Arguments& a) -> Value { return tenon::put(a.tensor(0), a.tensor(1), a.tensor(2), a.flag(3)); }}});
  t["put_"] = overloads({
      {"Tensor self, Tensor index, Tensor source, bool accumulate=False",
       [](const Arguments& a) -> Value { return a.tensor(0).put_(a.tensor(1), a.tensor(2), a.flag(3)); }}});
  t["masked_scatter"] = overloads({
      {"Tensor self, Tensor mask, Tensor source",
       [](const Arguments& a) -> Value { return tenon::masked_scatter(a.tensor(0), a.tensor(1), a.tensor(2)); }}});
  t["as_strided"] = overloads({
      {"Tensor(a) self, int[] size, int[] stride, int? storage_offset=None",
       [](const Arguments& a) -> Value { return tenon::as_strided(a.tensor(0), a.ints(1), a.ints(2), a.maybe_integer(3)); }}});
  t["diagonal"] = overloads({
      {"Tensor(a) self, int offset=0, int dim1=0, int dim2=1",
       [](const Arguments& a) -> Value { return tenon::diagonal(a.tensor(0), a.integer(1), a.integer(2), a.integer(3)); }}});
  t["swapdims"] = overloads({
      {"Tensor(a) self, int dim0, int dim1",
       [](const Arguments& a) -> Value { return tenon::swapdims(a.tensor(0), a.integer(1), a.integer(2)); }}});
  t["swapdims_"] = overloads({
      {"Tensor(a) self, int dim0, int dim1",
       [](const Arguments& a) -> Value { return a.tensor(0).swapdims_(a.integer(1), a.integer(2)); }}});
  t["adjoint"] = overloads({
      {"Tensor(a) self",
       [](const Arguments& a) -> Value { return tenon::adjoint(a.tensor(0)); }}});
  t["real"] = overloads({
      {"Tensor(a) self",
       [](const Arguments& a) -> Value { return tenon::real(a.tensor(0)); }}});
  t["conj"] = overloads({
      {"Tensor(a) self",
       [](const Arguments& a) -> Value { return tenon::conj(a.tensor(0)); }}});
  t["resolve_conj"] = overloads({
      {"Tensor(a) self",
       [](const Arguments& a) -> Value { return tenon::resolve_conj(a.tensor(0)); }}});
  t["tensor_split"] = overloads({
      {"Tensor(a) self, int sections, int dim=0",
       [](const Arguments& a) -> Value { return list_of(tenon::tensor_split(a.tensor(0), a.integer(1), a.integer(2))); }},
      {"Tensor(a) self, int[] indices, int dim=0",
       [](const Arguments& a) -> Value { return list_of(tenon::tensor_split(a.tensor(0), a.ints(1), a.integer(2))); }},
      {"Tensor self, Tensor indices_or_sections, int dim=0",
       [](const Arguments& a) -> Value { return list_of(tenon::tensor_split(a.tensor(0), a.tensor(1), a.integer(2))); }}});
  t["hsplit"] = overloads({
      {"Tensor(a) self, int sections",
       [](const Arguments& a) -> Value { return list_of(tenon::hsplit(a.tensor(0), a.integer(1))); }},
      {"Tensor(a) self, int[] indices",
       [](const Arguments& a) -> Value { return list_of(tenon::hsplit(a.tensor(0), a.ints(1))); }}});
  t["vsplit"] = overloads({
      {"Tensor(a) self, int sections",
       [](const Arguments& a) -> Value { return list_of(tenon::vsplit(a.tensor(0), a.integer(1))); }},
      {"Tensor(a) self, int[] indices",
       [](const Arguments& a) -> Value { return list_of(tenon::vsplit(a.tensor(0), a.ints(1))); }}});
  t["dsplit"] = overloads({
      {"Tensor(a) self, int sections",
       [](const Arguments& a) -> Value { return list_of(tenon::dsplit(a.tensor(0), a.integer(1))); }},
      {"Tensor(a) self, int[] indices",
       [](const Arguments& a) -> Value { return list_of(tenon::dsplit(a.tensor(0), a.ints(1))); }}});
  t["unsafe_chunk"] = overloads({
      {"Tensor self, int chunks, int dim=0",
       [](const Arguments& a) -> Value { return list_of(tenon::unsafe_chunk(a.tensor(0), a.integer(1), a.integer(2))); }}});
  t["unsafe_split"] = overloads({
      {"Tensor self, int split_size, int dim=0",
       [](const Arguments& a) -> Value { return list_of(tenon::unsafe_split(a.tensor(0), a.integer(1), a.integer(2))); }}});
  t["unsafe_split_with_sizes"] = overloads({
      {"Tensor self, int[] split_sizes, int dim=0",
       [](const Arguments& a) -> Value { return list_of(tenon::unsafe_split_with_sizes(a.tensor(0), a.ints(1), a.integer(2))); }}});
  t["meshgrid"] = overloads({
      {"Tensor[] tensors",
       [](const Arguments& a) -> Value { return list_of(tenon::meshgrid(a.tensors(0))); }},
      {"Tensor[] tensors, *, str indexing",
       [](const Arguments& a) -> Value { return list_of(tenon::meshgrid(a.tensors(0), a.string(1))); }}});
  t["select_scatter"] = overloads({
      {"Tensor self, Tensor src, int dim, int index",
       [](const Arguments& a) -> Value { return tenon::select_scatter(a.tensor(0), a.tensor(1), a.integer(2), a.integer(3)); }}});
  t["slice_scatter"] = overloads({
      {"Tensor self, Tensor src, int dim=0, int? start=None, int? end=None, int step=1",
       [](const Arguments& a) -> Value { return tenon::slice_scatter(a.tensor(0), a.tensor(1), a.integer(2), a.maybe_integer(3), a.maybe_integer(4), a.integer(5)); }}});
  t["diagonal_scatter"] = overloads({
      {"Tensor self, Tensor src, int offset=0, int dim1=0, int dim2=1",
       [](const Arguments& a) -> Value { return tenon::diagonal_scatter(a.tensor(0), a.tensor(1), a.integer(2), a.integer(3), a.integer(4)); }}});
  t["dropout"] = overloads({
      {"Tensor input, float p, bool train",
       [](const Arguments& a) -> Value { return tenon::dropout(a.tensor(0), a.real(1), a.flag(2)); }}});
  t["feature_dropout"] = overloads({
      {"Tensor input, float p, bool train",
       [](const Arguments& a) -> Value { return tenon::feature_dropout(a.tensor(0), a.real(1), a.flag(2)); }}});
  t["alpha_dropout"] = overloads({
      {"Tensor input, float p, bool train",
       [](const Arguments& a) -> Value { return tenon::alpha_dropout(a.tensor(0), a.real(1), a.flag(2)); }}});
  t["feature_alpha_dropout"] = overloads({
      {"Tensor input, float p, bool train",
       [](const Arguments& a) -> Value { return tenon::feature_alpha_dropout(a.tensor(0), a.real(1), a.flag(2)); }}});
  t["linalg_norm"] = overloads({
      {"Tensor self, Scalar? ord=None, int[]? dim=None, bool keepdim=False, *, ScalarType? dtype=None",
       [](const Arguments& a) -> Value { return tenon::linalg_norm(a.tensor(0), a.maybe_scalar(1), a.maybe_ints(2), a.flag(3), a.maybe_type(4)); }},
      {"Tensor self, str ord, int[]? dim=None, bool keepdim=False, *, ScalarType? dtype=None",
       [](const Arguments& a) -> Value { return tenon::linalg_norm(a.tensor(0), a.string(1), a.maybe_ints(2), a.flag(3), a.maybe_type(4)); }}});
  t["linalg_matrix_norm"] = overloads({
      {"Tensor self, Scalar ord, int[] dim=[-2, -1], bool keepdim=False, *, ScalarType? dtype=None",
       [](const Arguments& a) -> Value { return tenon::linalg_matrix_norm(a.tensor(0), a.scalar(1), a.ints(2), a.flag(3), a.maybe_type(4)); }},
      {"Tensor self, str ord='fro', int[] dim=[-2, -1], bool keepdim=False, *, ScalarType? dtype=None",
       [](const Arguments& a) -> Value { return tenon::linalg_matrix_norm(a.tensor(0), a.string(1), a.ints(2), a.flag(3), a.maybe_type(4)); }}});
  t["linalg_matrix_power"] = overloads({
      {"Tensor self, int n",
       [](const Arguments& a) -> Value { return tenon::linalg_matrix_power(a.tensor(0), a.integer(1)); }}});
  t["linalg_multi_dot"] = overloads({
      {"Tensor[] tensors",
       [](const Arguments& a) -> Value { return tenon::linalg_multi_dot(a.tensors(0)); }}});
  t["linalg_vecdot"] = overloads({
      {"Tensor x, Tensor y, *, int dim=-1",
       [](const Arguments& a) -> Value { return tenon::linalg_vecdot(a.tensor(0), a.tensor(1), a.integer(2)); }}});
  t["linalg_diagonal"] = overloads({
      {"Tensor(a) A, *, int offset=0, int dim1=-2, int dim2=-1",
       [](const Arguments& a) -> Value { return tenon::linalg_diagonal(a.tensor(0), a.integer(1), a.integer(2), a.integer(3)); }}});
  t["linalg_matmul"] = overloads({
      {"Tensor self, Tensor other",
       [](const Arguments& a) -> Value { return tenon::linalg_matmul(a.tensor(0), a.tensor(1)); }}});
  t["linalg_vander"] = overloads({
      {"Tensor x, *, int? N=None",
       [](const Arguments& a) -> Value { return tenon::linalg_vander(a.tensor(0), a.maybe_integer(1)); }}});
  t["frobenius_norm"] = overloads({
      {"Tensor self, int[] dim, bool keepdim=False",
       [](const Arguments& a) -> Value { return tenon::frobenius_norm(a.tensor(0), a.ints(1), a.flag(2)); }}});
  t["linalg.norm"] = overloads({
      {"Tensor self, Scalar? ord, int[]? dim, bool keepdim, *, ScalarType? dtype",
       [](const Arguments& a) -> Value { return tenon::linalg::norm(a.tensor(0), a.maybe_scalar(1), a.maybe_ints(2), a.flag(3), a.maybe_type(4)); }},
      {"Tensor self, str ord, int[]? dim, bool keepdim, *, ScalarType? dtype",
       [](const Arguments& a) -> Value { return tenon::linalg::norm(a.tensor(0), a.string(1), a.maybe_ints(2), a.flag(3), a.maybe_type(4)); }},
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::linalg::norm(a.tensor(0)); }}});
  t["linalg.matrix_norm"] = overloads({
      {"Tensor self, Scalar ord, int[] dim=[-2, -1], bool keepdim=False, *, ScalarType? dtype=None",
       [](const Arguments& a) -> Value { return tenon::linalg::matrix_norm(a.tensor(0), a.scalar(1), a.ints(2), a.flag(3), a.maybe_type(4)); }},
      {"Tensor self, str ord='fro', int[] dim=[-2, -1], bool keepdim=False, *, ScalarType? dtype=None",
       [](const Arguments& a) -> Value { return tenon::linalg::matrix_norm(a.tensor(0), a.string(1), a.ints(2), a.flag(3), a.maybe_type(4)); }}});
  t["linalg.matrix_power"] = overloads({
      {"Tensor self, int n",
       [](const Arguments& a) -> Value { return tenon::linalg::matrix_power(a.tensor(0), a.integer(1)); }}});
  t["linalg.multi_dot"] = overloads({
      {"Tensor[] tensors",
       [](const Arguments& a) -> Value { return tenon::linalg::multi_dot(a.tensors(0)); }}});
  t["linalg.vecdot"] = overloads({
      {"Tensor x, Tensor y, *, int dim=-1",
       [](const Arguments& a) -> Value { return tenon::linalg::vecdot(a.tensor(0), a.tensor(1), a.integer(2)); }}});
  t["linalg.diagonal"] = overloads({
      {"Tensor(a) A, *, int offset=0, int dim1=-2, int dim2=-1",
       [](const Arguments& a) -> Value { return tenon::linalg::diagonal(a.tensor(0), a.integer(1), a.integer(2), a.integer(3)); }}});
  t["linalg.matmul"] = overloads({
      {"Tensor self, Tensor other",
       [](const Arguments& a) -> Value { return tenon::linalg::matmul(a.tensor(0), a.tensor(1)); }}});
  t["linalg.vander"] = overloads({
      {"Tensor x, *, int? N=None",
       [](const Arguments& a) -> Value { return tenon::linalg::vander(a.tensor(0), a.maybe_integer(1)); }}});
  t["special.entr"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::special::entr(a.tensor(0)); }}});
  t["special.erfcx"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::special::erfcx(a.tensor(0)); }}});
  t["special.ndtr"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::special::ndtr(a.tensor(0)); }}});
  t["special.ndtri"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::special::ndtri(a.tensor(0)); }}});
  t["special.log_ndtr"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::special::log_ndtr(a.tensor(0)); }}});
  t["special.i0e"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::special::i0e(a.tensor(0)); }}});
  t["special.i1"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::special::i1(a.tensor(0)); }}});
  t["special.i1e"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::special::i1e(a.tensor(0)); }}});
  t["special.bessel_j0"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::special::bessel_j0(a.tensor(0)); }}});
  t["special.bessel_j1"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::special::bessel_j1(a.tensor(0)); }}});
  t["special.bessel_y0"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::special::bessel_y0(a.tensor(0)); }}});
  t["special.bessel_y1"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::special::bessel_y1(a.tensor(0)); }}});
  t["special.modified_bessel_k0"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::special::modified_bessel_k0(a.tensor(0)); }}});
  t["special.modified_bessel_k1"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::special::modified_bessel_k1(a.tensor(0)); }}});
  t["special.scaled_modified_bessel_k0"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::special::scaled_modified_bessel_k0(a.tensor(0)); }}});
  t["special.scaled_modified_bessel_k1"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::special::scaled_modified_bessel_k1(a.tensor(0)); }}});
  t["special.spherical_bessel_j0"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::special::spherical_bessel_j0(a.tensor(0)); }}});
  t["special.chebyshev_polynomial_t"] = overloads({
      {"Tensor x, Scalar n",
       [](const Arguments& a) -> Value { return tenon::special::chebyshev_polynomial_t(a.tensor(0), a.scalar(1)); }}});
  t["special.chebyshev_polynomial_u"] = overloads({
      {"Tensor x, Scalar n",
       [](const Arguments& a) -> Value { return tenon::special::chebyshev_polynomial_u(a.tensor(0), a.scalar(1)); }}});
  t["special.chebyshev_polynomial_v"] = overloads({
      {"Tensor x, Scalar n",
       [](const Arguments& a) -> Value { return tenon::special::chebyshev_polynomial_v(a.tensor(0), a.scalar(1)); }}});
  t["special.chebyshev_polynomial_w"] = overloads({
      {"Tensor x, Scalar n",
       [](const Arguments& a) -> Value { return tenon::special::chebyshev_polynomial_w(a.tensor(0), a.scalar(1)); }}});
  t["special.shifted_chebyshev_polynomial_t"] = overloads({
      {"Tensor x, Scalar n",
       [](const Arguments& a) -> Value { return tenon::special::shifted_chebyshev_polynomial_t(a.tensor(0), a.scalar(1)); }}});
  t["special.shifted_chebyshev_polynomial_u"] = overloads({
      {"Tensor x, Scalar n",
       [](const Arguments& a) -> Value { return tenon::special::shifted_chebyshev_polynomial_u(a.tensor(0), a.scalar(1)); }}});
  t["special.shifted_chebyshev_polynomial_v"] = overloads({
      {"Tensor x, Scalar n",
       [](const Arguments& a) -> Value { return tenon::special::shifted_chebyshev_polynomial_v(a.tensor(0), a.scalar(1)); }}});
  t["special.shifted_chebyshev_polynomial_w"] = overloads({
      {"Tensor x, Scalar n",
       [](const Arguments& a) -> Value { return tenon::special::shifted_chebyshev_polynomial_w(a.tensor(0), a.scalar(1)); }}});
  t["special.hermite_polynomial_h"] = overloads({
      {"Tensor x, Scalar n",
       [](const Arguments& a) -> Value { return tenon::special::hermite_polynomial_h(a.tensor(0), a.scalar(1)); }}});
  t["special.hermite_polynomial_he"] = overloads({
      {"Tensor x, Scalar n",
       [](const Arguments& a) -> Value { return tenon::special::hermite_polynomial_he(a.tensor(0), a.scalar(1)); }}});
  t["special.laguerre_polynomial_l"] = overloads({
      {"Tensor x, Scalar n",
       [](const Arguments& a) -> Value { return tenon::special::laguerre_polynomial_l(a.tensor(0), a.scalar(1)); }}});
  t["special.legendre_polynomial_p"] = overloads({
      {"Tensor x, Scalar n",
       [](const Arguments& a) -> Value { return tenon::special::legendre_polynomial_p(a.tensor(0), a.scalar(1)); }}});
  t["special.digamma"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::special::digamma(a.tensor(0)); }}});
  t["special.psi"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::special::psi(a.tensor(0)); }}});
  t["special.erf"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::special::erf(a.tensor(0)); }}});
  t["special.erfc"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::special::erfc(a.tensor(0)); }}});
  t["special.erfinv"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::special::erfinv(a.tensor(0)); }}});
  t["special.exp2"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::special::exp2(a.tensor(0)); }}});
  t["special.expit"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::special::expit(a.tensor(0)); }}});
  t["special.expm1"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::special::expm1(a.tensor(0)); }}});
  t["special.gammaln"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::special::gammaln(a.tensor(0)); }}});
  t["special.i0"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::special::i0(a.tensor(0)); }}});
  t["special.log1p"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::special::log1p(a.tensor(0)); }}});
  t["special.sinc"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::special::sinc(a.tensor(0)); }}});
  t["special.modified_bessel_i0"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::special::modified_bessel_i0(a.tensor(0)); }}});
  t["special.modified_bessel_i1"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::special::modified_bessel_i1(a.tensor(0)); }}});
  t["special.round"] = overloads({
      {"Tensor self, *, int decimals=0",
       [](const Arguments& a) -> Value { return tenon::special::round(a.tensor(0), a.integer(1)); }}});
  t["special.logit"] = overloads({
      {"Tensor self, float? eps=None",
       [](const Arguments& a) -> Value { return tenon::special::logit(a.tensor(0), a.maybe_real(1)); }}});
  t["special.polygamma"] = overloads({
      {"int n, Tensor self",
       [](const Arguments& a) -> Value { return tenon::special::polygamma(a.integer(0), a.tensor(1)); }}});
  t["special.multigammaln"] = overloads({
      {"Tensor self, int p",
       [](const Arguments& a) -> Value { return tenon::special::multigammaln(a.tensor(0), a.integer(1)); }}});
  t["special.logsumexp"] = overloads({
      {"Tensor self, int[] dim, bool keepdim=False",
       [](const Arguments& a) -> Value { return tenon::special::logsumexp(a.tensor(0), a.ints(1), a.flag(2)); }}});
  t["special.softmax"] = overloads({
      {"Tensor self, int dim, ScalarType? dtype=None",
       [](const Arguments& a) -> Value { return tenon::special::softmax(a.tensor(0), a.integer(1), a.maybe_type(2)); }}});
  t["special.log_softmax"] = overloads({
      {"Tensor self, int dim, *, ScalarType? dtype=None",
       [](const Arguments& a) -> Value { return tenon::special::log_softmax(a.tensor(0), a.integer(1), a.maybe_type(2)); }}});
  t["special.xlogy"] = overloads({
      {"Tensor self, Tensor other",
       [](const Arguments& a) -> Value { return tenon::special::xlogy(a.tensor(0), a.tensor(1)); }},
      {"Tensor self, Scalar other",
       [](const Arguments& a) -> Value { return tenon::special::xlogy(a.tensor(0), a.scalar(1)); }},
      {"Scalar self, Tensor other",
       [](const Arguments& a) -> Value { return tenon::special::xlogy(a.scalar(0), a.tensor(1)); }}});
  t["special.xlog1py"] = overloads({
      {"Tensor self, Tensor other",
       [](const Arguments& a) -> Value { return tenon::special::xlog1py(a.tensor(0), a.tensor(1)); }},
      {"Tensor self, Scalar other",
       [](const Arguments& a) -> Value { return tenon::special::xlog1py(a.tensor(0), a.scalar(1)); }},
      {"Scalar self, Tensor other",
       [](const Arguments& a) -> Value { return tenon::special::xlog1py(a.scalar(0), a.tensor(1)); }}});
  t["special.zeta"] = overloads({
      {"Tensor self, Tensor other",
       [](const Arguments& a) -> Value { return tenon::special::zeta(a.tensor(0), a.tensor(1)); }},
      {"Tensor self, Scalar other",
       [](const Arguments& a) -> Value { return tenon::special::zeta(a.tensor(0), a.scalar(1)); }},
      {"Scalar self, Tensor other",
       [](const Arguments& a) -> Value { return tenon::special::zeta(a.scalar(0), a.tensor(1)); }}});
  t["special_entr"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::special_entr(a.tensor(0)); }}});
  t["special_erfcx"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::special_erfcx(a.tensor(0)); }}});
  t["special_ndtr"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::special_ndtr(a.tensor(0)); }}});
  t["special_ndtri"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::special_ndtri(a.tensor(0)); }}});
  t["special_log_ndtr"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::special_log_ndtr(a.tensor(0)); }}});
  t["special_i0e"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::special_i0e(a.tensor(0)); }}});
  t["special_i1"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::special_i1(a.tensor(0)); }}});
  t["special_i1e"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::special_i1e(a.tensor(0)); }}});
  t["special_bessel_j0"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::special_bessel_j0(a.tensor(0)); }}});
  t["special_bessel_j1"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::special_bessel_j1(a.tensor(0)); }}});
  t["special_bessel_y0"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::special_bessel_y0(a.tensor(0)); }}});
  t["special_bessel_y1"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::special_bessel_y1(a.tensor(0)); }}});
  t["special_modified_bessel_k0"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::special_modified_bessel_k0(a.tensor(0)); }}});
  t["special_modified_bessel_k1"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::special_modified_bessel_k1(a.tensor(0)); }}});
  t["special_scaled_modified_bessel_k0"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::special_scaled_modified_bessel_k0(a.tensor(0)); }}});
  t["special_scaled_modified_bessel_k1"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::special_scaled_modified_bessel_k1(a.tensor(0)); }}});
  t["special_spherical_bessel_j0"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::special_spherical_bessel_j0(a.tensor(0)); }}});
  t["special_digamma"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::special_digamma(a.tensor(0)); }}});
  t["special_psi"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::special_psi(a.tensor(0)); }}});
  t["special_erf"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::special_erf(a.tensor(0)); }}});
  t["special_erfc"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::special_erfc(a.tensor(0)); }}});
  t["special_erfinv"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::special_erfinv(a.tensor(0)); }}});
  t["special_exp2"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::special_exp2(a.tensor(0)); }}});
  t["special_expit"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::special_expit(a.tensor(0)); }}});
  t["special_expm1"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::special_expm1(a.tensor(0)); }}});
  t["special_gammaln"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::special_gammaln(a.tensor(0)); }}});
  t["special_i0"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::special_i0(a.tensor(0)); }}});
  t["special_log1p"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::special_log1p(a.tensor(0)); }}});
  t["special_sinc"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::special_sinc(a.tensor(0)); }}});
  t["special_modified_bessel_i0"] = overloads({
      {"Tensor self",
       [](const Arguments& a) -> Value { return tenon::special_modified_bessel_i0(a.tensor(0)); }}});
  t["conv1d"] = overloads({
      {"Tensor input, Tensor weight, Tensor? bias=None, int[] stride=1, int[] padding=0, int[] dilation=1, int groups=1",
       [](const Arguments& a) -> Value { return tenon::conv1d(a.tensor(0), a.tensor(1), a.maybe_tensor(2), a.ints(3), a.ints(4), a.ints(5), a.integer(6)); }}});
  t["conv2d"] = overloads({
      {"Tensor input, Tensor weight, Tensor? bias=None, int[] stride=1, int[] padding=0, int[] dilation=1, int groups=1",
       [](const Arguments& a) -> Value { return tenon::conv2d(a.tensor(0), a.tensor(1), a.maybe_tensor(2), a.ints(3), a.ints(4), a.ints(5), a.integer(6)); }}});
  t["conv3d"] = overloads({
      {"Tensor input, Tensor weight, Tensor? bias=None, int[] stride=1, int[] padding=0, int[] dilation=1, int groups=1",
       [](const Arguments& a) -> Value { return tenon::conv3d(a.tensor(0), a.tensor(1), a.maybe_tensor(2), a.ints(3), a.ints(4), a.ints(5), a.integer(6)); }}});
  t["conv_transpose1d"] = overloads({
      {"Tensor input, Tensor weight, Tensor? bias=None, int[] stride=1, int[] padding=0, int[] output_padding=0, int groups=1, int[] dilation=1",
       [](const Arguments& a) -> Value { return tenon::conv_transpose1d(a.tensor(0), a.tensor(1), a.maybe_tensor(2), a.ints(3), a.ints(4), a.ints(5), a.integer(6), a.ints(7)); }}});
  t["conv_transpose2d"] = overloads({
      {"Tensor input, Tensor weight, Tensor? bias=None, int[] stride=1, int[] padding=0, int[] output_padding=0, int groups=1, int[] dilation=1",
       [](const Arguments& a) -> Value { return tenon::conv_transpose2d(a.tensor(0), a.tensor(1), a.maybe_tensor(2), a.ints(3), a.ints(4), a.ints(5), a.integer(6), a.ints(7)); }}});
  t["conv_transpose3d"] = overloads({
      {"Tensor input, Tensor weight, Tensor? bias=None, int[] stride=1, int[] padding=0, int[] output_padding=0, int groups=1, int[] dilation=1",
       [](const Arguments& a) -> Value { return tenon::conv_transpose3d(a.tensor(0), a.tensor(1), a.maybe_tensor(2), a.ints(3), a.ints(4), a.ints(5), a.integer(6), a.ints(7)); }}});
  t["convolution"] = overloads({
      {"Tensor input, Tensor weight, Tensor? bias, int[] stride, int[] padding, int[] dilation, bool transposed, int[] output_padding, int groups",
       [](const Arguments& a) -> Value { return tenon::convolution(a.tensor(0), a.tensor(1), a.maybe_tensor(2), a.ints(3), a.ints(4), a.ints(5), a.flag(6), a.ints(7), a.integer(8)); }}});
  t["max_pool1d"] = overloads({
      {"Tensor self, int[] kernel_size, int[] stride=[], int[] padding=0, int[] dilation=1, bool ceil_mode=False",
       [](const Arguments& a) -> Value { return tenon::max_pool1d(a.tensor(0), a.ints(1), a.ints(2), a.ints(3), a.ints(4), a.flag(5)); }}});
  t["max_pool1d_with_indices"] = overloads({
      {"Tensor self, int[] kernel_size, int[] stride=[], int[] padding=0, int[] dilation=1, bool ceil_mode=False",
       [](const Arguments& a) -> Value { return fields("max_pool1d_with_indices", {}, tenon::max_pool1d_with_indices(a.tensor(0), a.ints(1), a.ints(2), a.ints(3), a.ints(4), a.flag(5))); }}});
  t["adaptive_avg_pool1d"] = overloads({
      {"Tensor self, int[] output_size",
       [](const Arguments& a) -> Value { return tenon::adaptive_avg_pool1d(a.tensor(0), a.ints(1)); }}});
  t["adaptive_max_pool1d"] = overloads({
      {"Tensor self, int[] output_size",
       [](const Arguments& a) -> Value { return fields("adaptive_max_pool1d", {}, tenon::adaptive_max_pool1d(a.tensor(0), a.ints(1))); }}});
  t["max_pool2d"] = overloads({
      {"Tensor self, int[] kernel_size, int[] stride=[], int[] padding=0, int[] dilation=1, bool ceil_mode=False",
       [](const Arguments& a) -> Value { return tenon::max_pool2d(a.tensor(0), a.ints(1), a.ints(2), a.ints(3), a.ints(4), a.flag(5)); }}});
  t["max_pool2d_with_indices"] = overloads({
      {"Tensor self, int[] kernel_size, int[] stride=[], int[] padding=0, int[] dilation=1, bool ceil_mode=False",
       [](const Arguments& a) -> Value { return fields("max_pool2d_with_indices", {}, tenon::max_pool2d_with_indices(a.tensor(0), a.ints(1), a.ints(2), a.ints(3), a.ints(4), a.flag(5))); }}});
  t["adaptive_avg_pool2d"] = overloads({
      {"Tensor self, int[] output_size",
       [](const Arguments& a) -> Value { return tenon::adaptive_avg_pool2d(a.tensor(0), a.ints(1)); }}});
  t["adaptive_max_pool2d"] = overloads({
      {"Tensor self, int[] output_size",
       [](const Arguments& a) -> Value { return fields("adaptive_max_pool2d", {}, tenon::adaptive_max_pool2d(a.tensor(0), a.ints(1))); }}});
  t["max_pool3d"] = overloads({
      {"Tensor self, int[] kernel_size, int[] stride=[], int[] padding=0, int[] dilation=1, bool ceil_mode=False",
       [](const Arguments& a) -> Value { return tenon::max_pool3d(a.tensor(0), a.ints(1), a.ints(2), a.ints(3), a.ints(4), a.flag(5)); }}});
  t["max_pool3d_with_indices"] = overloads({
      {"Tensor self, int[] kernel_size, int[] stride=[], int[] padding=0, int[] dilation=1, bool ceil_mode=False",
       [](const Arguments& a) -> Value { return fields("max_pool3d_with_indices", {}, tenon::max_pool3d_with_indices(a.tensor(0), a.ints(1), a.ints(2), a.ints(3), a.ints(4), a.flag(5))); }}});
  t["adaptive_avg_pool3d"] = overloads({
      {"Tensor self, int[] output_size",
       [](const Arguments& a) -> Value { return tenon::adaptive_avg_pool3d(a.tensor(0), a.ints(1)); }}});
  t["adaptive_max_pool3d"] = overloads({
      {"Tensor self, int[] output_size",
       [](const Arguments& a) -> Value { return fields("adaptive_max_pool3d", {}, tenon::adaptive_max_pool3d(a.tensor(0), a.ints(1))); }}});
  t["avg_pool1d"] = overloads({
      {"Tensor self, int[] kernel_size, int[] stride=[], int[] padding=0, bool ceil_mode=False, bool count_include_pad=True",
       [](const Arguments& a) -> Value { return tenon::avg_pool1d(a.tensor(0), a.ints(1), a.ints(2), a.ints(3), a.flag(4), a.flag(5)); }}});
  t["avg_pool2d"] = overloads({
      {"Tensor self, int[] kernel_size, int[] stride=[], int[] padding=0, bool ceil_mode=False, bool count_include_pad=True, int? divisor_override=None",
       [](const Arguments& a) -> Value { return tenon::avg_pool2d(a.tensor(0), a.ints(1), a.ints(2), a.ints(3), a.flag(4), a.flag(5), a.maybe_integer(6)); }}});
  t["avg_pool3d"] = overloads({
      {"Tensor self, int[] kernel_size, int[] stride=[], int[] padding=0, bool ceil_mode=False, bool count_include_pad=True, int? divisor_override=None",
       [](const Arguments& a) -> Value { return tenon::avg_pool3d(a.tensor(0), a.ints(1), a.ints(2), a.ints(3), a.flag(4), a.flag(5), a.maybe_integer(6)); }}});
  t["fractional_max_pool2d"] = overloads({
      {"Tensor self, int[] kernel_size, int[] output_size, Tensor random_samples",
       [](const Arguments& a) -> Value { return fields("fractional_max_pool2d", {}, tenon::fractional_max_pool2d(a.tensor(0), a.ints(1), a.ints(2), a.tensor(3))); }}});
  t["fractional_max_pool3d"] = overloads({
      {"Tensor self, int[] kernel_size, int[] output_size, Tensor random_samples",
       [](const Arguments& a) -> Value { return fields("fractional_max_pool3d", {}, tenon::fractional_max_pool3d(a.tensor(0), a.ints(1), a.ints(2), a.tensor(3))); }}});
  t["im2col"] = overloads({
      {"Tensor self, int[] kernel_size, int[] dilation, int[] padding, int[] stride",
       [](const Arguments& a) -> Value { return tenon::im2col(a.tensor(0), a.ints(1), a.ints(2), a.ints(3), a.ints(4)); }}});
  t["col2im"] = overloads({
      {"Tensor self, int[] output_size, int[] kernel_size, int[] dilation, int[] padding, int[] stride",
       [](const Arguments& a) -> Value { return tenon::col2im(a.tensor(0), a.ints(1), a.ints(2), a.ints(3), a.ints(4), a.ints(5)); }}});
  t["reflection_pad1d"] = overloads({
      {"Tensor self, int[] padding",
       [](const Arguments& a) -> Value { return tenon::reflection_pad1d(a.tensor(0), a.ints(1)); }}});
  t["reflection_pad2d"] = overloads({
      {"Tensor self, int[] padding",
       [](const Arguments& a) -> Value { return tenon::reflection_pad2d(a.tensor(0), a.ints(1)); }}});
  t["reflection_pad3d"] = overloads({
      {"Tensor self, int[] padding",
       [](const Arguments& a) -> Value { return tenon::reflection_pad3d(a.tensor(0), a.ints(1)); }}});
  t["replication_pad1d"] = overloads({
      {"Tensor self, int[] padding",
       [](const Arguments& a) -> Value { return tenon::replication_pad1d(a.tensor(0), a.ints(1)); }}});
  t["replication_pad2d"] = overloads({
      {"Tensor self, int[] padding",
       [](const Arguments& a) -> Value { return tenon::replication_pad2d(a.tensor(0), a.ints(1)); }}});
  t["replication_pad3d"] = overloads({
      {"Tensor self, int[] padding",
       [](const Arguments& a) -> Value { return tenon::replication_pad3d(a.tensor(0), a.ints(1)); }}});
  t["pad"] = overloads({
      {"Tensor self, int[] pad, str mode='constant', float? value=None",
       [](const Arguments& a) -> Value { return tenon::pad(a.tensor(0), a.ints(1), a.string(2), a.maybe_real(3)); }}});
  t["pixel_shuffle"] = overloads({
      {"Tensor self, int upscale_factor",
       [](const Arguments& a) -> Value { return tenon::pixel_shuffle(a.tensor(0), a.integer(1)); }}});
  t["pixel_unshuffle"] = overloads({
      {"Tensor self, int downscale_factor",
       [](const Arguments& a) -> Value { return tenon::pixel_unshuffle(a.tensor(0), a.integer(1)); }}});
  t["channel_shuffle"] = overloads({
      {"Tensor self, int groups",
       [](const Arguments& a) -> Value { return tenon::channel_shuffle(a.tensor(0), a.integer(1)); }}});
  t["grid_sampler"] = overloads({
      {"Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners",
       [](const Arguments& a) -> Value { return tenon::grid_sampler(a.tensor(0), a.tensor(1), a.integer(2), a.integer(3), a.flag(4)); }}});
  t["grid_sampler_2d"] = overloads({
      {"Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners",
       [](const Arguments& a) -> Value { return tenon::grid_sampler_2d(a.tensor(0), a.tensor(1), a.integer(2), a.integer(3), a.flag(4)); }}});
  t["grid_sampler_3d"] = overloads({
      {"Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners",
       [](const Arguments& a) -> Value { return tenon::grid_sampler_3d(a.tensor(0), a.tensor(1), a.integer(2), a.integer(3), a.flag(4)); }}});
  t["affine_grid_generator"] = overloads({
      {"Tensor theta, int[] size, bool align_corners",
       [](const Arguments& a) -> Value { return tenon::affine_grid_generator(a.tensor(0), a.ints(1), a.flag(2)); }}});
  t["batch_norm"] = overloads({
      {"Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool training, float momentum, float eps, bool cudnn_enabled=True",
       [](const Arguments& a) -> Value { return tenon::batch_norm(a.tensor(0), a.maybe_tensor(1), a.maybe_tensor(2), a.maybe_tensor(3), a.maybe_tensor(4), a.flag(5), a.real(6), a.real(7), a.flag(8)); }}});
  t["instance_norm"] = overloads({
      {"Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool use_input_stats, float momentum, float eps, bool cudnn_enabled=True",
       [](const Arguments& a) -> Value { return tenon::instance_norm(a.tensor(0), a.maybe_tensor(1), a.maybe_tensor(2), a.maybe_tensor(3), a.maybe_tensor(4), a.flag(5), a.real(6), a.real(7), a.flag(8)); }}});
  t["group_norm"] = overloads({
      {"Tensor input, int num_groups, Tensor? weight=None, Tensor? bias=None, float eps=1e-5, bool cudnn_enabled=True",
       [](const Arguments& a) -> Value { return tenon::group_norm(a.tensor(0), a.integer(1), a.maybe_tensor(2), a.maybe_tensor(3), a.real(4), a.flag(5)); }}});
  t["layer_norm"] = overloads({
      {"Tensor input, int[] normalized_shape, Tensor? weight=None, Tensor? bias=None, float eps=1e-5",
       [](const Arguments& a) -> Value { return tenon::layer_norm(a.tensor(0), a.ints(1), a.maybe_tensor(2), a.maybe_tensor(3), a.real(4)); }}});
  t["rms_norm"] = overloads({
      {"Tensor input, int[] normalized_shape, Tensor? weight=None, float? eps=None",
       [](const Arguments& a) -> Value { return tenon::rms_norm(a.tensor(0), a.ints(1), a.maybe_tensor(2), a.maybe_real(3)); }}});
  t["glu"] = overloads({
      {"Tensor self, int dim=-1",
       [](const Arguments& a) -> Value { return tenon::glu(a.tensor(0), a.integer(1)); }}});
  t["embedding"] = overloads({
      {"Tensor weight, Tensor indices, int padding_idx=-1, bool scale_grad_by_freq=False, bool sparse=False",
       [](const Arguments& a) -> Value { return tenon::embedding(a.tensor(0), a.tensor(1), a.integer(2), a.flag(3), a.flag(4)); }}});
  t["one_hot"] = overloads({
      {"Tensor self, int num_classes=-1",
       [](const Arguments& a) -> Value { return tenon::one_hot(a.tensor(0), a.integer(1)); }}});
  t["embedding_bag"] = overloads({
      {"Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq=False, int mode=0, bool sparse=False, Tensor? per_sample_weights=None, bool include_last_offset=False, int? padding_idx=None",
       [](const Arguments& a) -> Value { return fields("embedding_bag", {}, tenon::embedding_bag(a.tensor(0), a.tensor(1), a.tensor(2), a.flag(3), a.integer(4), a.flag(5), a.maybe_tensor(6), a.flag(7), a.maybe_integer(8))); }}});
  t["embedding_renorm"] = overloads({
      {"Tensor weight, Tensor indices, float max_norm, float norm_type",
       [](const Arguments& a) -> Value { return tenon::embedding_renorm(a.tensor(0), a.tensor(1), a.real(2), a.real(3)); }}});
  t["mse_loss"] = overloads({
      {"Tensor self, Tensor target, int reduction=Mean",
       [](const Arguments& a) -> Value { return tenon::mse_loss(a.tensor(0), a.tensor(1), a.integer(2)); }}});
  t["l1_loss"] = overloads({
      {"Tensor self, Tensor target, int reduction=Mean",
       [](const Arguments& a) -> Value { return tenon::l1_loss(a.tensor(0), a.tensor(1), a.integer(2)); }}});
  t["smooth_l1_loss"] = overloads({
      {"Tensor self, Tensor target, int reduction=Mean, float beta=1.0",
       [](const Arguments& a) -> Value { return tenon::smooth_l1_loss(a.tensor(0), a.tensor(1), a.integer(2), a.real(3)); }}});
  t["huber_loss"] = overloads({
      {"Tensor self, Tensor target, int reduction=Mean, float delta=1.0",
       [](const Arguments& a) -> Value { return tenon::huber_loss(a.tensor(0), a.tensor(1), a.integer(2), a.real(3)); }}});
  t["binary_cross_entropy"] = overloads({
      {"Tensor self, Tensor target, Tensor? weight=None, int reduction=Mean",
       [](const Arguments& a) -> Value { return tenon::binary_cross_entropy(a.tensor(0), a.tensor(1), a.maybe_tensor(2), a.integer(3)); }}});
  t["binary_cross_entropy_with_logits"] = overloads({
      {"Tensor self, Tensor target, Tensor? weight=None, Tensor? pos_weight=None, int reduction=Mean",
       [](const Arguments& a) -> Value { return tenon::binary_cross_entropy_with_logits(a.tensor(0), a.tensor(1), a.maybe_tensor(2), a.maybe_tensor(3), a.integer(4)); }}});
  t["kl_div"] = overloads({
      {"Tensor self, Tensor target, int reduction=Mean, *, bool log_target=False",
       [](const Arguments& a) -> Value { return tenon::kl_div(a.tensor(0), a.tensor(1), a.integer(2), a.flag(3)); }}});
  t["nll_loss"] = overloads({
      {"Tensor self, Tensor target, Tensor? weight=None, int reduction=Mean, int ignore_index=-100",
       [](const Arguments& a) -> Value { return tenon::nll_loss(a.tensor(0), a.tensor(1), a.maybe_tensor(2), a.integer(3), a.integer(4)); }}});
  t["nll_loss2d"] = overloads({
      {"Tensor self, Tensor target, Tensor? weight=None, int reduction=Mean, int ignore_index=-100",
       [](const Arguments& a) -> Value { return tenon::nll_loss2d(a.tensor(0), a.tensor(1), a.maybe_tensor(2), a.integer(3), a.integer(4)); }}});
  t["nll_loss_nd"] = overloads({
      {"Tensor self, Tensor target, Tensor? weight=None, int reduction=Mean, int ignore_index=-100",
       [](const Arguments& a) -> Value { return tenon::nll_loss_nd(a.tensor(0), a.tensor(1), a.maybe_tensor(2), a.integer(3), a.integer(4)); }}});
  t["cross_entropy_loss"] = overloads({
      {"Tensor self, Tensor target, Tensor? weight=None, int reduction=Mean, int ignore_index=-100, float label_smoothing=0.0",
       [](const Arguments& a) -> Value { return tenon::cross_entropy_loss(a.tensor(0), a.tensor(1), a.maybe_tensor(2), a.integer(3), a.integer(4), a.real(5)); }}});
  t["poisson_nll_loss"] = overloads({
      {"Tensor input, Tensor target, bool log_input, bool full, float eps, int reduction",
       [](const Arguments& a) -> Value { return tenon::poisson_nll_loss(a.tensor(0), a.tensor(1), a.flag(2), a.flag(3), a.real(4), a.integer(5)); }}});
  t["soft_margin_loss"] = overloads({
      {"Tensor self, Tensor target, int reduction=Mean",
       [](const Arguments& a) -> Value { return tenon::soft_margin_loss(a.tensor(0), a.tensor(1), a.integer(2)); }}});
  t["hinge_embedding_loss"] = overloads({
      {"Tensor self, Tensor target, float margin=1.0, int reduction=Mean",
       [](const Arguments& a) -> Value { return tenon::hinge_embedding_loss(a.tensor(0), a.tensor(1), a.real(2), a.integer(3)); }}});
  t["margin_ranking_loss"] = overloads({
      {"Tensor input1, Tensor input2, Tensor target, float margin=0.0, int reduction=Mean",
       [](const Arguments& a) -> Value { return tenon::margin_ranking_loss(a.tensor(0), a.tensor(1), a.tensor(2), a.real(3), a.integer(4)); }}});
  t["cosine_embedding_loss"] = overloads({
      {"Tensor input1, Tensor input2, Tensor target, float margin=0.0, int reduction=Mean",
       [](const Arguments& a) -> Value { return tenon::cosine_embedding_loss(a.tensor(0), a.tensor(1), a.tensor(2), a.real(3), a.integer(4)); }}});
  t["triplet_margin_loss"] = overloads({
      {"Tensor anchor, Tensor positive, Tensor negative, float margin=1.0, float p=2.0, float eps=1e-06, bool swap=False, int reduction=Mean",
       [](const Arguments& a) -> Value { return tenon::triplet_margin_loss(a.tensor(0), a.tensor(1), a.tensor(2), a.real(3), a.real(4), a.real(5), a.flag(6), a.integer(7)); }}});
  t["multi_margin_loss"] = overloads({
      {"Tensor self, Tensor target, Scalar p=1, Scalar margin=1, Tensor? weight=None, int reduction=Mean",
       [](const Arguments& a) -> Value { return tenon::multi_margin_loss(a.tensor(0), a.tensor(1), a.scalar(2), a.scalar(3), a.maybe_tensor(4), a.integer(5)); }}});
  t["multilabel_margin_loss"] = overloads({
      {"Tensor self, Tensor target, int reduction=Mean",
       [](const Arguments& a) -> Value { return tenon::multilabel_margin_loss(a.tensor(0), a.tensor(1), a.integer(2)); }}});
  t["ctc_loss"] = overloads({
      {"Tensor log_probs, Tensor targets, int[] input_lengths, int[] target_lengths, int blank=0, int reduction=Mean, bool zero_infinity=False",
       [](const Arguments& a) -> Value { return tenon::ctc_loss(a.tensor(0), a.tensor(1), a.ints(2), a.ints(3), a.integer(4), a.integer(5), a.flag(6)); }},
      {"Tensor log_probs, Tensor targets, Tensor input_lengths, Tensor target_lengths, int blank=0, int reduction=Mean, bool zero_infinity=False",
       [](const Arguments& a) -> Value { return tenon::ctc_loss(a.tensor(0), a.tensor(1), a.tensor(2), a.tensor(3), a.integer(4), a.integer(5), a.flag(6)); }}});
  t["cosine_similarity"] = overloads({
      {"Tensor x1, Tensor x2, int dim=1, float eps=1e-08",
       [](const Arguments& a) -> Value { return tenon::cosine_similarity(a.tensor(0), a.tensor(1), a.integer(2), a.real(3)); }}});
  t["pairwise_distance"] = overloads({
      {"Tensor x1, Tensor x2, float p=2, float eps=1e-06, bool keepdim=False",
       [](const Arguments& a) -> Value { return tenon::pairwise_distance(a.tensor(0), a.tensor(1), a.real(2), a.real(3), a.flag(4)); }}});
  t["cdist"] = overloads({
      {"Tensor x1, Tensor x2, float p=2, int? compute_mode=None",
       [](const Arguments& a) -> Value { return tenon::cdist(a.tensor(0), a.tensor(1), a.real(2), a.maybe_integer(3)); }}});
  t["pdist"] = overloads({
      {"Tensor self, float p=2",
       [](const Arguments& a) -> Value { return tenon::pdist(a.tensor(0), a.real(1)); }}});
  t["linear"] = overloads({
      {"Tensor input, Tensor weight, Tensor? bias=None",
       [](const Arguments& a) -> Value { return tenon::linear(a.tensor(0), a.tensor(1), a.maybe_tensor(2)); }}});
  t["bilinear"] = overloads({
      {"Tensor input1, Tensor input2, Tensor weight, Tensor? bias=None",
       [](const Arguments& a) -> Value { return tenon::bilinear(a.tensor(0), a.tensor(1), a.tensor(2), a.maybe_tensor(3)); }}});
  t["scaled_dot_product_attention"] = overloads({
      {"Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, float dropout_p=0.0, bool is_causal=False, float? scale=None",
       [](const Arguments& a) -> Value { return tenon::scaled_dot_product_attention(a.tensor(0), a.tensor(1), a.tensor(2), a.maybe_tensor(3), a.real(4), a.flag(5), a.maybe_real(6)); }}});
  t["lstm"] = overloads({
      {"Tensor input, Tensor[] hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional, bool batch_first",
       [](const Arguments& a) -> Value { return fields("lstm", {}, tenon::lstm(a.tensor(0), a.tensors(1), a.tensors(2), a.flag(3), a.integer(4), a.real(5), a.flag(6), a.flag(7), a.flag(8))); }}});
  t["lstm_cell"] = overloads({
      {"Tensor input, Tensor[] hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None",
       [](const Arguments& a) -> Value { return fields("lstm_cell", {}, tenon::lstm_cell(a.tensor(0), a.tensors(1), a.tensor(2), a.tensor(3), a.maybe_tensor(4), a.maybe_tensor(5))); }}});
  t["gru"] = overloads({
      {"Tensor input, Tensor hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional, bool batch_first",
       [](const Arguments& a) -> Value { return fields("gru", {}, tenon::gru(a.tensor(0), a.tensor(1), a.tensors(2), a.flag(3), a.integer(4), a.real(5), a.flag(6), a.flag(7), a.flag(8))); }}});
  t["gru_cell"] = overloads({
      {"Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None",
       [](const Arguments& a) -> Value { return tenon::gru_cell(a.tensor(0), a.tensor(1), a.tensor(2), a.tensor(3), a.maybe_tensor(4), a.maybe_tensor(5)); }}});
  t["rnn_tanh"] = overloads({
      {"Tensor input, Tensor hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional, bool batch_first",
       [](const Arguments& a) -> Value { return fields("rnn_tanh", {}, tenon::rnn_tanh(a.tensor(0), a.tensor(1), a.tensors(2), a.flag(3), a.integer(4), a.real(5), a.flag(6), a.flag(7), a.flag(8))); }}});
  t["rnn_tanh_cell"] = overloads({
      {"Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None",
       [](const Arguments& a) -> Value { return tenon::rnn_tanh_cell(a.tensor(0), a.tensor(1), a.tensor(2), a.tensor(3), a.maybe_tensor(4), a.maybe_tensor(5)); }}});
  t["rnn_relu"] = overloads({
      {"Tensor input, Tensor hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional, bool batch_first",
       [](const Arguments& a) -> Value { return fields("rnn_relu", {}, tenon::rnn_relu(a.tensor(0), a.tensor(1), a.tensors(2), a.flag(3), a.integer(4), a.real(5), a.flag(6), a.flag(7), a.flag(8))); }}});
  t["rnn_relu_cell"] = overloads({
      {"Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None",
       [](const Arguments& a) -> Value { return tenon::rnn_relu_cell(a.tensor(0), a.tensor(1), a.tensor(2), a.tensor(3), a.maybe_tensor(4), a.maybe_tensor(5)); }}});
  t["native_layer_norm"] = overloads({
      {"Tensor input, int[] normalized_shape, Tensor? weight, Tensor? bias, float eps",
       [](const Arguments& a) -> Value { return fields("native_layer_norm", {}, tenon::native_layer_norm(a.tensor(0), a.ints(1), a.maybe_tensor(2), a.maybe_tensor(3), a.real(4))); }}});
  t["native_group_norm"] = overloads({
      {"Tensor input, Tensor? weight, Tensor? bias, int N, int C, int HxW, int group, float eps",
       [](const Arguments& a) -> Value { return fields("native_group_norm", {}, tenon::native_group_norm(a.tensor(0), a.maybe_tensor(1), a.maybe_tensor(2), a.integer(3), a.integer(4), a.integer(5), a.integer(6), a.real(7))); }}});
  t["native_batch_norm"] = overloads({
      {"Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool training, float momentum, float eps",
       [](const Arguments& a) -> Value { return fields("native_batch_norm", {}, tenon::native_batch_norm(a.tensor(0), a.maybe_tensor(1), a.maybe_tensor(2), a.maybe_tensor(3), a.maybe_tensor(4), a.flag(5), a.real(6), a.real(7))); }}});
  t["_reshape_alias"] = overloads({
      {"Tensor(a) self, int[] size, int[] stride",
       [](const Arguments& a) -> Value { return tenon::_reshape_alias(a.tensor(0), a.ints(1), a.ints(2)); }}});
  t["upsample_nearest1d"] = overloads({
      {"Tensor input, int[] output_size",
       [](const Arguments& a) -> Value { return tenon::upsample_nearest1d(a.tensor(0), a.ints(1)); }}});
  t["upsample_nearest2d"] = overloads({
      {"Tensor input, int[] output_size",
       [](const Arguments& a) -> Value { return tenon::upsample_nearest2d(a.tensor(0), a.ints(1)); }}});
  t["upsample_nearest3d"] = overloads({
      {"Tensor input, int[] output_size",
       [](const Arguments& a) -> Value { return tenon::upsample_nearest3d(a.tensor(0), a.ints(1)); }}});
  t["upsample_linear1d"] = overloads({
      {"Tensor input, int[] output_size, bool align_corners",
       [](const Arguments& a) -> Value { return tenon::upsample_linear1d(a.tensor(0), a.ints(1), a.flag(2)); }}});
  t["upsample_bilinear2d"] = overloads({
      {"Tensor input, int[] output_size, bool align_corners",
       [](const Arguments& a) -> Value { return tenon::upsample_bilinear2d(a.tensor(0), a.ints(1), a.flag(2)); }}});
  t["upsample_trilinear3d"] = overloads({
      {"Tensor input, int[] output_size, bool align_corners",
       [](const Arguments& a) -> Value { return tenon::upsample_trilinear3d(a.tensor(0), a.ints(1), a.flag(2)); }}});
  t["upsample_bicubic2d"] = overloads({
      {"Tensor input, int[] output_size, bool align_corners",
       [](const Arguments& a) -> Value { return tenon::upsample_bicubic2d(a.tensor(0), a.ints(1), a.flag(2)); }}});
  t["copy_"] = overloads({
      {"Tensor(a!) self, Tensor src, bool non_blocking=False",
       [](const Arguments& a) -> Value { return a.tensor(0).copy_(a.tensor(1), a.flag(2)); }}});
  t["fill_"] = overloads({
      {"Tensor(a!) self, Scalar value",
       [](const Arguments& a) -> Value { return a.tensor(0).fill_(a.scalar(1)); }},
      {"Tensor(a!) self, Tensor value",
       [](const Arguments& a) -> Value { return a.tensor(0).fill_(a.tensor(1)); }}});
  t["zero_"] = overloads({
      {"Tensor(a!) self",
       [](const Arguments& a) -> Value { return a.tensor(0).zero_(); }}});
  t["fill_diagonal_"] = overloads({
      {"Tensor(a!) self, Scalar fill_value, bool wrap=False",
       [](const Arguments& a) -> Value { return a.tensor(0).fill_diagonal_(a.scalar(1), a.flag(2)); }}});
  t["float_power_"] = overloads({
      {"Tensor(a!) self, Tensor exponent",
       [](const Arguments& a) -> Value { return a.tensor(0).float_power_(a.tensor(1)); }},
      {"Tensor(a!) self, Scalar exponent",
       [](const Arguments& a) -> Value { return a.tensor(0).float_power_(a.scalar(1)); }}});
  t["cumsum_"] = overloads({
      {"Tensor(a!) self, int dim, *, ScalarType? dtype=None",
       [](const Arguments& a) -> Value { return a.tensor(0).cumsum_(a.integer(1), a.maybe_type(2)); }}});
  t["cumprod_"] = overloads({
      {"Tensor(a!) self, int dim, *, ScalarType? dtype=None",
       [](const Arguments& a) -> Value { return a.tensor(0).cumprod_(a.integer(1), a.maybe_type(2)); }}});
  t["masked_fill_"] = overloads({
      {"Tensor(a!) self, Tensor mask, Scalar value",
       [](const Arguments& a) -> Value { return a.tensor(0).masked_fill_(a.tensor(1), a.scalar(2)); }},
      {"Tensor(a!) self, Tensor mask, Tensor value",
       [](const Arguments& a) -> Value { return a.tensor(0).masked_fill_(a.tensor(1), a.tensor(2)); }}});
  t["masked_scatter_"] = overloads({
      {"Tensor(a!) self, Tensor mask, Tensor source",
       [](const Arguments& a) -> Value { return a.tensor(0).masked_scatter_(a.tensor(1), a.tensor(2)); }}});
  t["resize_"] = overloads({
      {"Tensor(a!) self, int[] size",
       [](const Arguments& a) -> Value { return a.tensor(0).resize_(a.ints(1)); }}});
  t["resize_as_"] = overloads({
      {"Tensor(a!) self, Tensor& the_template",
       [](const Arguments& a) -> Value { return a.tensor(0).resize_as_(a.tensor(1)); }}});
  t["set_"] = overloads({
      {"Tensor(a!) self, Tensor& source",
       [](const Arguments& a) -> Value { return a.tensor(0).set_(a.tensor(1)); }},
      {"Tensor(a!) self, Tensor& source, int storage_offset, int[] size, int[] stride=[]",
       [](const Arguments& a) -> Value { return a.tensor(0).set_(a.tensor(1), a.integer(2), a.ints(3), a.ints(4)); }},
      {"Tensor(a!) self",
       [](const Arguments& a) -> Value { return a.tensor(0).set_(); }}});
  t["as_strided_"] = overloads({
      {"Tensor(a!) self, int[] size, int[] stride, int? storage_offset=None",
       [](const Arguments& a) -> Value { return a.tensor(0).as_strided_(a.ints(1), a.ints(2), a.maybe_integer(3)); }}});
}

}  // namespace python
