// Printed from frontend/functions.def by scripts/print/make_functions.py.
// The bodies of the methods that tenon/tensor_methods.h declares. frontend/src/ops/methods.cpp includes this file twice:
// TENON_KIND is the kind of object, `const&` or `&&`; TENON_SELF is the object as an argument.

Tensor Tensor::abs() TENON_KIND {
  return tenon::abs(TENON_SELF);
}
Tensor Tensor::absolute() TENON_KIND {
  return tenon::absolute(TENON_SELF);
}
Tensor Tensor::neg() TENON_KIND {
  return tenon::neg(TENON_SELF);
}
Tensor Tensor::negative() TENON_KIND {
  return tenon::negative(TENON_SELF);
}
Tensor Tensor::sign() TENON_KIND {
  return tenon::sign(TENON_SELF);
}
Tensor Tensor::sgn() TENON_KIND {
  return tenon::sgn(TENON_SELF);
}
Tensor Tensor::square() TENON_KIND {
  return tenon::square(TENON_SELF);
}
Tensor Tensor::sqrt() TENON_KIND {
  return tenon::sqrt(TENON_SELF);
}
Tensor Tensor::rsqrt() TENON_KIND {
  return tenon::rsqrt(TENON_SELF);
}
Tensor Tensor::reciprocal() TENON_KIND {
  return tenon::reciprocal(TENON_SELF);
}
Tensor Tensor::exp() TENON_KIND {
  return tenon::exp(TENON_SELF);
}
Tensor Tensor::exp2() TENON_KIND {
  return tenon::exp2(TENON_SELF);
}
Tensor Tensor::expm1() TENON_KIND {
  return tenon::expm1(TENON_SELF);
}
Tensor Tensor::log() TENON_KIND {
  return tenon::log(TENON_SELF);
}
Tensor Tensor::log2() TENON_KIND {
  return tenon::log2(TENON_SELF);
}
Tensor Tensor::log10() TENON_KIND {
  return tenon::log10(TENON_SELF);
}
Tensor Tensor::log1p() TENON_KIND {
  return tenon::log1p(TENON_SELF);
}
Tensor Tensor::sin() TENON_KIND {
  return tenon::sin(TENON_SELF);
}
Tensor Tensor::cos() TENON_KIND {
  return tenon::cos(TENON_SELF);
}
Tensor Tensor::tan() TENON_KIND {
  return tenon::tan(TENON_SELF);
}
Tensor Tensor::asin() TENON_KIND {
  return tenon::asin(TENON_SELF);
}
Tensor Tensor::arcsin() TENON_KIND {
  return tenon::arcsin(TENON_SELF);
}
Tensor Tensor::acos() TENON_KIND {
  return tenon::acos(TENON_SELF);
}
Tensor Tensor::arccos() TENON_KIND {
  return tenon::arccos(TENON_SELF);
}
Tensor Tensor::atan() TENON_KIND {
  return tenon::atan(TENON_SELF);
}
Tensor Tensor::arctan() TENON_KIND {
  return tenon::arctan(TENON_SELF);
}
Tensor Tensor::sinh() TENON_KIND {
  return tenon::sinh(TENON_SELF);
}
Tensor Tensor::cosh() TENON_KIND {
  return tenon::cosh(TENON_SELF);
}
Tensor Tensor::tanh() TENON_KIND {
  return tenon::tanh(TENON_SELF);
}
Tensor Tensor::asinh() TENON_KIND {
  return tenon::asinh(TENON_SELF);
}
Tensor Tensor::arcsinh() TENON_KIND {
  return tenon::arcsinh(TENON_SELF);
}
Tensor Tensor::acosh() TENON_KIND {
  return tenon::acosh(TENON_SELF);
}
Tensor Tensor::arccosh() TENON_KIND {
  return tenon::arccosh(TENON_SELF);
}
Tensor Tensor::atanh() TENON_KIND {
  return tenon::atanh(TENON_SELF);
}
Tensor Tensor::arctanh() TENON_KIND {
  return tenon::arctanh(TENON_SELF);
}
Tensor Tensor::sigmoid() TENON_KIND {
  return tenon::sigmoid(TENON_SELF);
}
Tensor Tensor::erf() TENON_KIND {
  return tenon::erf(TENON_SELF);
}
Tensor Tensor::erfc() TENON_KIND {
  return tenon::erfc(TENON_SELF);
}
Tensor Tensor::erfinv() TENON_KIND {
  return tenon::erfinv(TENON_SELF);
}
Tensor Tensor::lgamma() TENON_KIND {
  return tenon::lgamma(TENON_SELF);
}
Tensor Tensor::floor() TENON_KIND {
  return tenon::floor(TENON_SELF);
}
Tensor Tensor::ceil() TENON_KIND {
  return tenon::ceil(TENON_SELF);
}
Tensor Tensor::trunc() TENON_KIND {
  return tenon::trunc(TENON_SELF);
}
Tensor Tensor::fix() TENON_KIND {
  return tenon::fix(TENON_SELF);
}
Tensor Tensor::round() TENON_KIND {
  return tenon::round(TENON_SELF);
}
Tensor Tensor::frac() TENON_KIND {
  return tenon::frac(TENON_SELF);
}
Tensor Tensor::logical_not() TENON_KIND {
  return tenon::logical_not(TENON_SELF);
}
Tensor Tensor::bitwise_not() TENON_KIND {
  return tenon::bitwise_not(TENON_SELF);
}
Tensor Tensor::relu() TENON_KIND {
  return tenon::relu(TENON_SELF);
}
Tensor Tensor::deg2rad() TENON_KIND {
  return tenon::deg2rad(TENON_SELF);
}
Tensor Tensor::rad2deg() TENON_KIND {
  return tenon::rad2deg(TENON_SELF);
}
Tensor Tensor::digamma() TENON_KIND {
  return tenon::digamma(TENON_SELF);
}
Tensor Tensor::i0() TENON_KIND {
  return tenon::i0(TENON_SELF);
}
Tensor Tensor::sinc() TENON_KIND {
  return tenon::sinc(TENON_SELF);
}
Tensor Tensor::conj_physical() TENON_KIND {
  return tenon::conj_physical(TENON_SELF);
}
Tensor Tensor::positive() TENON_KIND {
  return tenon::positive(TENON_SELF);
}
Tensor Tensor::signbit() TENON_KIND {
  return tenon::signbit(TENON_SELF);
}
Tensor Tensor::isnan() TENON_KIND {
  return tenon::isnan(TENON_SELF);
}
Tensor Tensor::isinf() TENON_KIND {
  return tenon::isinf(TENON_SELF);
}
Tensor Tensor::isfinite() TENON_KIND {
  return tenon::isfinite(TENON_SELF);
}
Tensor Tensor::isposinf() TENON_KIND {
  return tenon::isposinf(TENON_SELF);
}
Tensor Tensor::isneginf() TENON_KIND {
  return tenon::isneginf(TENON_SELF);
}
Tensor Tensor::isreal() TENON_KIND {
  return tenon::isreal(TENON_SELF);
}
Tensor Tensor::angle() TENON_KIND {
  return tenon::angle(TENON_SELF);
}
Tensor Tensor::atan2(const Operand& other) TENON_KIND {
  return tenon::atan2(TENON_SELF, other);
}
Tensor Tensor::arctan2(const Operand& other) TENON_KIND {
  return tenon::arctan2(TENON_SELF, other);
}
Tensor Tensor::hypot(const Operand& other) TENON_KIND {
  return tenon::hypot(TENON_SELF, other);
}
Tensor Tensor::logical_and(const Operand& other) TENON_KIND {
  return tenon::logical_and(TENON_SELF, other);
}
Tensor Tensor::logical_or(const Operand& other) TENON_KIND {
  return tenon::logical_or(TENON_SELF, other);
}
Tensor Tensor::logical_xor(const Operand& other) TENON_KIND {
  return tenon::logical_xor(TENON_SELF, other);
}
Tensor Tensor::heaviside(const Operand& other) TENON_KIND {
  return tenon::heaviside(TENON_SELF, other);
}
Tensor Tensor::nextafter(const Operand& other) TENON_KIND {
  return tenon::nextafter(TENON_SELF, other);
}
Tensor Tensor::ldexp(const Operand& other) TENON_KIND {
  return tenon::ldexp(TENON_SELF, other);
}
Tensor Tensor::gcd(const Operand& other) TENON_KIND {
  return tenon::gcd(TENON_SELF, other);
}
Tensor Tensor::lcm(const Operand& other) TENON_KIND {
  return tenon::lcm(TENON_SELF, other);
}
Tensor Tensor::maximum(const Operand& other) TENON_KIND {
  return tenon::maximum(TENON_SELF, other);
}
Tensor Tensor::minimum(const Operand& other) TENON_KIND {
  return tenon::minimum(TENON_SELF, other);
}
Tensor Tensor::fmax(const Operand& other) TENON_KIND {
  return tenon::fmax(TENON_SELF, other);
}
Tensor Tensor::fmin(const Operand& other) TENON_KIND {
  return tenon::fmin(TENON_SELF, other);
}
Tensor Tensor::logaddexp(const Operand& other) TENON_KIND {
  return tenon::logaddexp(TENON_SELF, other);
}
Tensor Tensor::logaddexp2(const Operand& other) TENON_KIND {
  return tenon::logaddexp2(TENON_SELF, other);
}
Tensor Tensor::mul(const Operand& other) TENON_KIND {
  return tenon::mul(TENON_SELF, other);
}
Tensor Tensor::mul(const Scalar& other) TENON_KIND {
  return tenon::mul(TENON_SELF, other);
}
Tensor Tensor::multiply(const Operand& other) TENON_KIND {
  return tenon::multiply(TENON_SELF, other);
}
Tensor Tensor::multiply(const Scalar& other) TENON_KIND {
  return tenon::multiply(TENON_SELF, other);
}
Tensor Tensor::remainder(const Operand& other) TENON_KIND {
  return tenon::remainder(TENON_SELF, other);
}
Tensor Tensor::remainder(const Scalar& other) TENON_KIND {
  return tenon::remainder(TENON_SELF, other);
}
Tensor Tensor::fmod(const Operand& other) TENON_KIND {
  return tenon::fmod(TENON_SELF, other);
}
Tensor Tensor::fmod(const Scalar& other) TENON_KIND {
  return tenon::fmod(TENON_SELF, other);
}
Tensor Tensor::floor_divide(const Operand& other) TENON_KIND {
  return tenon::floor_divide(TENON_SELF, other);
}
Tensor Tensor::floor_divide(const Scalar& other) TENON_KIND {
  return tenon::floor_divide(TENON_SELF, other);
}
Tensor Tensor::true_divide(const Operand& other) TENON_KIND {
  return tenon::true_divide(TENON_SELF, other);
}
Tensor Tensor::true_divide(const Scalar& other) TENON_KIND {
  return tenon::true_divide(TENON_SELF, other);
}
Tensor Tensor::copysign(const Operand& other) TENON_KIND {
  return tenon::copysign(TENON_SELF, other);
}
Tensor Tensor::copysign(const Scalar& other) TENON_KIND {
  return tenon::copysign(TENON_SELF, other);
}
Tensor Tensor::xlogy(const Operand& other) TENON_KIND {
  return tenon::xlogy(TENON_SELF, other);
}
Tensor Tensor::xlogy(const Scalar& other) TENON_KIND {
  return tenon::xlogy(TENON_SELF, other);
}
Tensor Tensor::eq(const Operand& other) TENON_KIND {
  return tenon::eq(TENON_SELF, other);
}
Tensor Tensor::eq(const Scalar& other) TENON_KIND {
  return tenon::eq(TENON_SELF, other);
}
Tensor Tensor::ne(const Operand& other) TENON_KIND {
  return tenon::ne(TENON_SELF, other);
}
Tensor Tensor::ne(const Scalar& other) TENON_KIND {
  return tenon::ne(TENON_SELF, other);
}
Tensor Tensor::lt(const Operand& other) TENON_KIND {
  return tenon::lt(TENON_SELF, other);
}
Tensor Tensor::lt(const Scalar& other) TENON_KIND {
  return tenon::lt(TENON_SELF, other);
}
Tensor Tensor::le(const Operand& other) TENON_KIND {
  return tenon::le(TENON_SELF, other);
}
Tensor Tensor::le(const Scalar& other) TENON_KIND {
  return tenon::le(TENON_SELF, other);
}
Tensor Tensor::gt(const Operand& other) TENON_KIND {
  return tenon::gt(TENON_SELF, other);
}
Tensor Tensor::gt(const Scalar& other) TENON_KIND {
  return tenon::gt(TENON_SELF, other);
}
Tensor Tensor::ge(const Operand& other) TENON_KIND {
  return tenon::ge(TENON_SELF, other);
}
Tensor Tensor::ge(const Scalar& other) TENON_KIND {
  return tenon::ge(TENON_SELF, other);
}
Tensor Tensor::not_equal(const Operand& other) TENON_KIND {
  return tenon::not_equal(TENON_SELF, other);
}
Tensor Tensor::not_equal(const Scalar& other) TENON_KIND {
  return tenon::not_equal(TENON_SELF, other);
}
Tensor Tensor::less(const Operand& other) TENON_KIND {
  return tenon::less(TENON_SELF, other);
}
Tensor Tensor::less(const Scalar& other) TENON_KIND {
  return tenon::less(TENON_SELF, other);
}
Tensor Tensor::less_equal(const Operand& other) TENON_KIND {
  return tenon::less_equal(TENON_SELF, other);
}
Tensor Tensor::less_equal(const Scalar& other) TENON_KIND {
  return tenon::less_equal(TENON_SELF, other);
}
Tensor Tensor::greater(const Operand& other) TENON_KIND {
  return tenon::greater(TENON_SELF, other);
}
Tensor Tensor::greater(const Scalar& other) TENON_KIND {
  return tenon::greater(TENON_SELF, other);
}
Tensor Tensor::greater_equal(const Operand& other) TENON_KIND {
  return tenon::greater_equal(TENON_SELF, other);
}
Tensor Tensor::greater_equal(const Scalar& other) TENON_KIND {
  return tenon::greater_equal(TENON_SELF, other);
}
Tensor Tensor::bitwise_and(const Operand& other) TENON_KIND {
  return tenon::bitwise_and(TENON_SELF, other);
}
Tensor Tensor::bitwise_and(const Scalar& other) TENON_KIND {
  return tenon::bitwise_and(TENON_SELF, other);
}
Tensor Tensor::bitwise_or(const Operand& other) TENON_KIND {
  return tenon::bitwise_or(TENON_SELF, other);
}
Tensor Tensor::bitwise_or(const Scalar& other) TENON_KIND {
  return tenon::bitwise_or(TENON_SELF, other);
}
Tensor Tensor::bitwise_xor(const Operand& other) TENON_KIND {
  return tenon::bitwise_xor(TENON_SELF, other);
}
Tensor Tensor::bitwise_xor(const Scalar& other) TENON_KIND {
  return tenon::bitwise_xor(TENON_SELF, other);
}
Tensor Tensor::bitwise_left_shift(const Operand& other) TENON_KIND {
  return tenon::bitwise_left_shift(TENON_SELF, other);
}
Tensor Tensor::bitwise_left_shift(const Scalar& other) TENON_KIND {
  return tenon::bitwise_left_shift(TENON_SELF, other);
}
Tensor Tensor::bitwise_right_shift(const Operand& other) TENON_KIND {
  return tenon::bitwise_right_shift(TENON_SELF, other);
}
Tensor Tensor::bitwise_right_shift(const Scalar& other) TENON_KIND {
  return tenon::bitwise_right_shift(TENON_SELF, other);
}
Tensor Tensor::round(int64_t decimals) TENON_KIND {
  return tenon::round(TENON_SELF, decimals);
}
Tensor Tensor::add(const Operand& other, const Scalar& alpha) TENON_KIND {
  return tenon::add(TENON_SELF, other, alpha);
}
Tensor Tensor::add(const Scalar& other, const Scalar& alpha) TENON_KIND {
  return tenon::add(TENON_SELF, other, alpha);
}
Tensor Tensor::sub(const Operand& other, const Scalar& alpha) TENON_KIND {
  return tenon::sub(TENON_SELF, other, alpha);
}
Tensor Tensor::sub(const Scalar& other, const Scalar& alpha) TENON_KIND {
  return tenon::sub(TENON_SELF, other, alpha);
}
Tensor Tensor::div(const Operand& other) TENON_KIND {
  return tenon::div(TENON_SELF, other);
}
Tensor Tensor::div(const Scalar& other) TENON_KIND {
  return tenon::div(TENON_SELF, other);
}
Tensor Tensor::div(const Operand& other, optional<std::string_view> rounding_mode) TENON_KIND {
  return tenon::div(TENON_SELF, other, rounding_mode);
}
Tensor Tensor::div(const Scalar& other, optional<std::string_view> rounding_mode) TENON_KIND {
  return tenon::div(TENON_SELF, other, rounding_mode);
}
Tensor Tensor::pow(const Operand& exponent) TENON_KIND {
  return tenon::pow(TENON_SELF, exponent);
}
Tensor Tensor::pow(const Scalar& exponent) TENON_KIND {
  return tenon::pow(TENON_SELF, exponent);
}
Tensor Tensor::float_power(const Operand& exponent) TENON_KIND {
  return tenon::float_power(TENON_SELF, exponent);
}
Tensor Tensor::float_power(const Scalar& exponent) TENON_KIND {
  return tenon::float_power(TENON_SELF, exponent);
}
Tensor Tensor::where(const Operand& condition, const Operand& other) TENON_KIND {
  return tenon::where(condition, TENON_SELF, other);
}
Tensor Tensor::where(const Operand& condition, const Scalar& other) TENON_KIND {
  return tenon::where(condition, TENON_SELF, other);
}
Tensor Tensor::masked_fill(const Operand& mask, const Scalar& value) TENON_KIND {
  return tenon::masked_fill(TENON_SELF, mask, value);
}
Tensor Tensor::masked_fill(const Operand& mask, const Operand& value) TENON_KIND {
  return tenon::masked_fill(TENON_SELF, mask, value);
}
Tensor Tensor::clamp(const optional<Scalar>& min, const optional<Scalar>& max) TENON_KIND {
  return tenon::clamp(TENON_SELF, min, max);
}
Tensor Tensor::clamp(const optional<Tensor>& min, const optional<Tensor>& max) TENON_KIND {
  return tenon::clamp(TENON_SELF, min, max);
}
Tensor Tensor::clamp_min(const Scalar& min) TENON_KIND {
  return tenon::clamp_min(TENON_SELF, min);
}
Tensor Tensor::clamp_min(const Operand& min) TENON_KIND {
  return tenon::clamp_min(TENON_SELF, min);
}
Tensor Tensor::clamp_max(const Scalar& max) TENON_KIND {
  return tenon::clamp_max(TENON_SELF, max);
}
Tensor Tensor::clamp_max(const Operand& max) TENON_KIND {
  return tenon::clamp_max(TENON_SELF, max);
}
Tensor Tensor::lerp(const Operand& end, const Scalar& weight) TENON_KIND {
  return tenon::lerp(TENON_SELF, end, weight);
}
Tensor Tensor::lerp(const Operand& end, const Operand& weight) TENON_KIND {
  return tenon::lerp(TENON_SELF, end, weight);
}
Tensor Tensor::addcmul(const Operand& tensor1, const Operand& tensor2, const Scalar& value) TENON_KIND {
  return tenon::addcmul(TENON_SELF, tensor1, tensor2, value);
}
Tensor Tensor::addcdiv(const Operand& tensor1, const Operand& tensor2, const Scalar& value) TENON_KIND {
  return tenon::addcdiv(TENON_SELF, tensor1, tensor2, value);
}
Tensor Tensor::nan_to_num(optional<double> nan, optional<double> posinf, optional<double> neginf) TENON_KIND {
  return tenon::nan_to_num(TENON_SELF, nan, posinf, neginf);
}
Tensor Tensor::logit(optional<double> eps) TENON_KIND {
  return tenon::logit(TENON_SELF, eps);
}
Tensor Tensor::prelu(const Operand& weight) TENON_KIND {
  return tenon::prelu(TENON_SELF, weight);
}
Tensor Tensor::hardshrink(const Scalar& lambd) TENON_KIND {
  return tenon::hardshrink(TENON_SELF, lambd);
}
Tensor Tensor::reshape(IntArrayRef shape) TENON_KIND {
  return tenon::reshape(TENON_SELF, shape);
}
Tensor Tensor::view(IntArrayRef shape) TENON_KIND {
  return tenon::view(TENON_SELF, shape);
}
Tensor Tensor::flatten(int64_t start_dim, int64_t end_dim) TENON_KIND {
  return tenon::flatten(TENON_SELF, start_dim, end_dim);
}
Tensor Tensor::unflatten(int64_t dim, IntArrayRef sizes) TENON_KIND {
  return tenon::unflatten(TENON_SELF, dim, sizes);
}
Tensor Tensor::ravel() TENON_KIND {
  return tenon::ravel(TENON_SELF);
}
Tensor Tensor::permute(IntArrayRef dims) TENON_KIND {
  return tenon::permute(TENON_SELF, dims);
}
Tensor Tensor::transpose(int64_t dim0, int64_t dim1) TENON_KIND {
  return tenon::transpose(TENON_SELF, dim0, dim1);
}
Tensor Tensor::swapaxes(int64_t axis0, int64_t axis1) TENON_KIND {
  return tenon::swapaxes(TENON_SELF, axis0, axis1);
}
Tensor Tensor::t() TENON_KIND {
  return tenon::t(TENON_SELF);
}
Tensor Tensor::movedim(IntArrayRef source, IntArrayRef destination) TENON_KIND {
  return tenon::movedim(TENON_SELF, source, destination);
}
Tensor Tensor::expand(IntArrayRef size) TENON_KIND {
  return tenon::expand(TENON_SELF, size);
}
Tensor Tensor::broadcast_to(IntArrayRef size) TENON_KIND {
  return tenon::broadcast_to(TENON_SELF, size);
}
Tensor Tensor::squeeze() TENON_KIND {
  return tenon::squeeze(TENON_SELF);
}
Tensor Tensor::squeeze(int64_t dim) TENON_KIND {
  return tenon::squeeze(TENON_SELF, dim);
}
Tensor Tensor::squeeze(IntArrayRef dims) TENON_KIND {
  return tenon::squeeze(TENON_SELF, dims);
}
Tensor Tensor::unsqueeze(int64_t dim) TENON_KIND {
  return tenon::unsqueeze(TENON_SELF, dim);
}
Tensor Tensor::select(int64_t dim, int64_t index) TENON_KIND {
  return tenon::select(TENON_SELF, dim, index);
}
Tensor Tensor::slice(int64_t dim, optional<int64_t> start, optional<int64_t> end, int64_t step) TENON_KIND {
  return tenon::slice(TENON_SELF, dim, start, end, step);
}
Tensor Tensor::narrow(int64_t dim, int64_t start, int64_t length) TENON_KIND {
  return tenon::narrow(TENON_SELF, dim, start, length);
}
Tensor Tensor::index(ArrayRef<indexing::TensorIndex> indices) TENON_KIND {
  return tenon::index(TENON_SELF, indices);
}
std::vector<Tensor> Tensor::chunk(int64_t chunks, int64_t dim) TENON_KIND {
  return tenon::chunk(TENON_SELF, chunks, dim);
}
std::vector<Tensor> Tensor::split(int64_t split_size, int64_t dim) TENON_KIND {
  return tenon::split(TENON_SELF, split_size, dim);
}
std::vector<Tensor> Tensor::split(IntArrayRef split_sizes, int64_t dim) TENON_KIND {
  return tenon::split(TENON_SELF, split_sizes, dim);
}
std::vector<Tensor> Tensor::split_with_sizes(IntArrayRef split_sizes, int64_t dim) TENON_KIND {
  return tenon::split_with_sizes(TENON_SELF, split_sizes, dim);
}
std::vector<Tensor> Tensor::unbind(int64_t dim) TENON_KIND {
  return tenon::unbind(TENON_SELF, dim);
}
Tensor Tensor::clone() TENON_KIND {
  return tenon::clone(TENON_SELF);
}
Tensor Tensor::flip(IntArrayRef dims) TENON_KIND {
  return tenon::flip(TENON_SELF, dims);
}
Tensor Tensor::fliplr() TENON_KIND {
  return tenon::fliplr(TENON_SELF);
}
Tensor Tensor::flipud() TENON_KIND {
  return tenon::flipud(TENON_SELF);
}
Tensor Tensor::roll(IntArrayRef shifts, IntArrayRef dims) TENON_KIND {
  return tenon::roll(TENON_SELF, shifts, dims);
}
Tensor Tensor::tile(IntArrayRef dims) TENON_KIND {
  return tenon::tile(TENON_SELF, dims);
}
Tensor Tensor::sum(optional<ScalarType> dtype) TENON_KIND {
  return tenon::sum(TENON_SELF, dtype);
}
Tensor Tensor::sum(OptionalIntArrayRef dim, bool keepdim, optional<ScalarType> dtype) TENON_KIND {
  return tenon::sum(TENON_SELF, dim, keepdim, dtype);
}
Tensor Tensor::nansum(OptionalIntArrayRef dim, bool keepdim, optional<ScalarType> dtype) TENON_KIND {
  return tenon::nansum(TENON_SELF, dim, keepdim, dtype);
}
Tensor Tensor::prod(optional<ScalarType> dtype) TENON_KIND {
  return tenon::prod(TENON_SELF, dtype);
}
Tensor Tensor::prod(int64_t dim, bool keepdim, optional<ScalarType> dtype) TENON_KIND {
  return tenon::prod(TENON_SELF, dim, keepdim, dtype);
}
Tensor Tensor::mean(optional<ScalarType> dtype) TENON_KIND {
  return tenon::mean(TENON_SELF, dtype);
}
Tensor Tensor::mean(OptionalIntArrayRef dim, bool keepdim, optional<ScalarType> dtype) TENON_KIND {
  return tenon::mean(TENON_SELF, dim, keepdim, dtype);
}
Tensor Tensor::var(bool unbiased) TENON_KIND {
  return tenon::var(TENON_SELF, unbiased);
}
Tensor Tensor::var(OptionalIntArrayRef dim, bool unbiased, bool keepdim) TENON_KIND {
  return tenon::var(TENON_SELF, dim, unbiased, keepdim);
}
Tensor Tensor::var(OptionalIntArrayRef dim, const optional<Scalar>& correction, bool keepdim) TENON_KIND {
  return tenon::var(TENON_SELF, dim, correction, keepdim);
}
Tensor Tensor::std(bool unbiased) TENON_KIND {
  return tenon::std(TENON_SELF, unbiased);
}
Tensor Tensor::std(OptionalIntArrayRef dim, bool unbiased, bool keepdim) TENON_KIND {
  return tenon::std(TENON_SELF, dim, unbiased, keepdim);
}
Tensor Tensor::std(OptionalIntArrayRef dim, const optional<Scalar>& correction, bool keepdim) TENON_KIND {
  return tenon::std(TENON_SELF, dim, correction, keepdim);
}
Tensor Tensor::var(DimList dim, bool unbiased, bool keepdim) TENON_KIND {
  return tenon::var(TENON_SELF, dim, unbiased, keepdim);
}
Tensor Tensor::std(DimList dim, bool unbiased, bool keepdim) TENON_KIND {
  return tenon::std(TENON_SELF, dim, unbiased, keepdim);
}
Tensor Tensor::var(int dim) TENON_KIND {
  return tenon::var(TENON_SELF, dim);
}
Tensor Tensor::var(int64_t dim) TENON_KIND {
  return tenon::var(TENON_SELF, dim);
}
Tensor Tensor::std(int dim) TENON_KIND {
  return tenon::std(TENON_SELF, dim);
}
Tensor Tensor::std(int64_t dim) TENON_KIND {
  return tenon::std(TENON_SELF, dim);
}
Tensor Tensor::max() TENON_KIND {
  return tenon::max(TENON_SELF);
}
Tensor Tensor::max(const Operand& other) TENON_KIND {
  return tenon::max(TENON_SELF, other);
}
std::tuple<Tensor, Tensor> Tensor::max(int64_t dim, bool keepdim) TENON_KIND {
  return tenon::max(TENON_SELF, dim, keepdim);
}
Tensor Tensor::min() TENON_KIND {
  return tenon::min(TENON_SELF);
}
Tensor Tensor::min(const Operand& other) TENON_KIND {
  return tenon::min(TENON_SELF, other);
}
std::tuple<Tensor, Tensor> Tensor::min(int64_t dim, bool keepdim) TENON_KIND {
  return tenon::min(TENON_SELF, dim, keepdim);
}
Tensor Tensor::amax(IntArrayRef dim, bool keepdim) TENON_KIND {
  return tenon::amax(TENON_SELF, dim, keepdim);
}
Tensor Tensor::amin(IntArrayRef dim, bool keepdim) TENON_KIND {
  return tenon::amin(TENON_SELF, dim, keepdim);
}
std::tuple<Tensor, Tensor> Tensor::aminmax(optional<int64_t> dim, bool keepdim) TENON_KIND {
  return tenon::aminmax(TENON_SELF, dim, keepdim);
}
Tensor Tensor::argmax(optional<int64_t> dim, bool keepdim) TENON_KIND {
  return tenon::argmax(TENON_SELF, dim, keepdim);
}
Tensor Tensor::argmin(optional<int64_t> dim, bool keepdim) TENON_KIND {
  return tenon::argmin(TENON_SELF, dim, keepdim);
}
Tensor Tensor::any() TENON_KIND {
  return tenon::any(TENON_SELF);
}
Tensor Tensor::any(int64_t dim, bool keepdim) TENON_KIND {
  return tenon::any(TENON_SELF, dim, keepdim);
}
Tensor Tensor::all() TENON_KIND {
  return tenon::all(TENON_SELF);
}
Tensor Tensor::all(int64_t dim, bool keepdim) TENON_KIND {
  return tenon::all(TENON_SELF, dim, keepdim);
}
Tensor Tensor::norm(const Scalar& p) TENON_KIND {
  return tenon::norm(TENON_SELF, p);
}
Tensor Tensor::norm(const optional<Scalar>& p, IntArrayRef dim, bool keepdim) TENON_KIND {
  return tenon::norm(TENON_SELF, p, dim, keepdim);
}
Tensor Tensor::logsumexp(IntArrayRef dim, bool keepdim) TENON_KIND {
  return tenon::logsumexp(TENON_SELF, dim, keepdim);
}
Tensor Tensor::count_nonzero(IntArrayRef dim) TENON_KIND {
  return tenon::count_nonzero(TENON_SELF, dim);
}
Tensor Tensor::softmax(int64_t dim, optional<ScalarType> dtype) TENON_KIND {
  return tenon::softmax(TENON_SELF, dim, dtype);
}
Tensor Tensor::log_softmax(int64_t dim, optional<ScalarType> dtype) TENON_KIND {
  return tenon::log_softmax(TENON_SELF, dim, dtype);
}
Tensor Tensor::matmul(const Operand& other) TENON_KIND {
  return tenon::matmul(TENON_SELF, other);
}
Tensor Tensor::mm(const Operand& mat2) TENON_KIND {
  return tenon::mm(TENON_SELF, mat2);
}
Tensor Tensor::mv(const Operand& vec) TENON_KIND {
  return tenon::mv(TENON_SELF, vec);
}
Tensor Tensor::bmm(const Operand& mat2) TENON_KIND {
  return tenon::bmm(TENON_SELF, mat2);
}
Tensor Tensor::dot(const Operand& tensor) TENON_KIND {
  return tenon::dot(TENON_SELF, tensor);
}
Tensor Tensor::outer(const Operand& vec2) TENON_KIND {
  return tenon::outer(TENON_SELF, vec2);
}
Tensor Tensor::addmm(const Operand& mat1, const Operand& mat2, const Scalar& beta, const Scalar& alpha) TENON_KIND {
  return tenon::addmm(TENON_SELF, mat1, mat2, beta, alpha);
}
Tensor Tensor::addmv(const Operand& mat, const Operand& vec, const Scalar& beta, const Scalar& alpha) TENON_KIND {
  return tenon::addmv(TENON_SELF, mat, vec, beta, alpha);
}
Tensor Tensor::baddbmm(const Operand& batch1, const Operand& batch2, const Scalar& beta,
                       const Scalar& alpha) TENON_KIND {
  return tenon::baddbmm(TENON_SELF, batch1, batch2, beta, alpha);
}
bool Tensor::equal(const Operand& other) TENON_KIND {
  return tenon::equal(TENON_SELF, other);
}
bool Tensor::allclose(const Operand& other, double rtol, double atol, bool equal_nan) TENON_KIND {
  return tenon::allclose(TENON_SELF, other, rtol, atol, equal_nan);
}
Tensor Tensor::isclose(const Operand& other, double rtol, double atol, bool equal_nan) TENON_KIND {
  return tenon::isclose(TENON_SELF, other, rtol, atol, equal_nan);
}
Tensor Tensor::subtract(const Operand& other, const Scalar& alpha) TENON_KIND {
  return tenon::subtract(TENON_SELF, other, alpha);
}
Tensor Tensor::subtract(const Scalar& other, const Scalar& alpha) TENON_KIND {
  return tenon::subtract(TENON_SELF, other, alpha);
}
Tensor Tensor::divide(const Operand& other) TENON_KIND {
  return tenon::divide(TENON_SELF, other);
}
Tensor Tensor::divide(const Scalar& other) TENON_KIND {
  return tenon::divide(TENON_SELF, other);
}
Tensor Tensor::divide(const Operand& other, optional<std::string_view> rounding_mode) TENON_KIND {
  return tenon::divide(TENON_SELF, other, rounding_mode);
}
Tensor Tensor::divide(const Scalar& other, optional<std::string_view> rounding_mode) TENON_KIND {
  return tenon::divide(TENON_SELF, other, rounding_mode);
}
Tensor Tensor::clip(const optional<Scalar>& min, const optional<Scalar>& max) TENON_KIND {
  return tenon::clip(TENON_SELF, min, max);
}
Tensor Tensor::clip(const optional<Tensor>& min, const optional<Tensor>& max) TENON_KIND {
  return tenon::clip(TENON_SELF, min, max);
}
std::tuple<Tensor, Tensor> Tensor::frexp() TENON_KIND {
  return tenon::frexp(TENON_SELF);
}
Tensor Tensor::polygamma(int64_t n) TENON_KIND {
  return tenon::polygamma(n, TENON_SELF);
}
Tensor Tensor::mvlgamma(int64_t p) TENON_KIND {
  return tenon::mvlgamma(TENON_SELF, p);
}
Tensor Tensor::renorm(const Scalar& p, int64_t dim, const Scalar& maxnorm) TENON_KIND {
  return tenon::renorm(TENON_SELF, p, dim, maxnorm);
}
Tensor Tensor::kron(const Operand& other) TENON_KIND {
  return tenon::kron(TENON_SELF, other);
}
Tensor Tensor::inner(const Operand& other) TENON_KIND {
  return tenon::inner(TENON_SELF, other);
}
Tensor Tensor::vdot(const Operand& other) TENON_KIND {
  return tenon::vdot(TENON_SELF, other);
}
Tensor Tensor::ger(const Operand& vec2) TENON_KIND {
  return tenon::ger(TENON_SELF, vec2);
}
Tensor Tensor::addr(const Operand& vec1, const Operand& vec2, const Scalar& beta, const Scalar& alpha) TENON_KIND {
  return tenon::addr(TENON_SELF, vec1, vec2, beta, alpha);
}
Tensor Tensor::addbmm(const Operand& batch1, const Operand& batch2, const Scalar& beta, const Scalar& alpha) TENON_KIND {
  return tenon::addbmm(TENON_SELF, batch1, batch2, beta, alpha);
}
Tensor Tensor::cross(const Operand& other, optional<int64_t> dim) TENON_KIND {
  return tenon::cross(TENON_SELF, other, dim);
}
Tensor Tensor::diag(int64_t diagonal) TENON_KIND {
  return tenon::diag(TENON_SELF, diagonal);
}
Tensor Tensor::diag_embed(int64_t offset, int64_t dim1, int64_t dim2) TENON_KIND {
  return tenon::diag_embed(TENON_SELF, offset, dim1, dim2);
}
Tensor Tensor::diagflat(int64_t offset) TENON_KIND {
  return tenon::diagflat(TENON_SELF, offset);
}
Tensor Tensor::trace() TENON_KIND {
  return tenon::trace(TENON_SELF);
}
Tensor Tensor::tril(int64_t diagonal) TENON_KIND {
  return tenon::tril(TENON_SELF, diagonal);
}
Tensor Tensor::triu(int64_t diagonal) TENON_KIND {
  return tenon::triu(TENON_SELF, diagonal);
}
Tensor Tensor::rot90(int64_t k, IntArrayRef dims) TENON_KIND {
  return tenon::rot90(TENON_SELF, k, dims);
}
Tensor Tensor::repeat_interleave(int64_t repeats, optional<int64_t> dim) TENON_KIND {
  return tenon::repeat_interleave(TENON_SELF, repeats, dim);
}
Tensor Tensor::repeat_interleave(const Operand& repeats, optional<int64_t> dim,
                                 optional<int64_t> output_size) TENON_KIND {
  return tenon::repeat_interleave(TENON_SELF, repeats, dim, output_size);
}
Tensor Tensor::sum_to_size(IntArrayRef size) TENON_KIND {
  return tenon::sum_to_size(TENON_SELF, size);
}
Tensor Tensor::nanmean(OptionalIntArrayRef dim, bool keepdim, optional<ScalarType> dtype) TENON_KIND {
  return tenon::nanmean(TENON_SELF, dim, keepdim, dtype);
}
Tensor Tensor::cov(int64_t correction, const optional<Tensor>& fweights, const optional<Tensor>& aweights) TENON_KIND {
  return tenon::cov(TENON_SELF, correction, fweights, aweights);
}
Tensor Tensor::corrcoef() TENON_KIND {
  return tenon::corrcoef(TENON_SELF);
}
Tensor Tensor::diff(int64_t n, int64_t dim, const optional<Tensor>& prepend, const optional<Tensor>& append) TENON_KIND {
  return tenon::diff(TENON_SELF, n, dim, prepend, append);
}
Tensor Tensor::dist(const Operand& other, const Scalar& p) TENON_KIND {
  return tenon::dist(TENON_SELF, other, p);
}
Tensor Tensor::any(OptionalIntArrayRef dim, bool keepdim) TENON_KIND {
  return tenon::any(TENON_SELF, dim, keepdim);
}
Tensor Tensor::all(OptionalIntArrayRef dim, bool keepdim) TENON_KIND {
  return tenon::all(TENON_SELF, dim, keepdim);
}
Tensor Tensor::norm(const optional<Scalar>& p, ScalarType dtype) TENON_KIND {
  return tenon::norm(TENON_SELF, p, dtype);
}
Tensor Tensor::norm(const optional<Scalar>& p, IntArrayRef dim, bool keepdim, ScalarType dtype) TENON_KIND {
  return tenon::norm(TENON_SELF, p, dim, keepdim, dtype);
}
Tensor Tensor::nonzero_static(int64_t size, int64_t fill_value) TENON_KIND {
  return tenon::nonzero_static(TENON_SELF, size, fill_value);
}
Tensor Tensor::matrix_power(int64_t n) TENON_KIND {
  return tenon::matrix_power(TENON_SELF, n);
}
Tensor Tensor::as_strided_scatter(const Operand& src, IntArrayRef size, IntArrayRef stride,
                                  optional<int64_t> storage_offset) TENON_KIND {
  return tenon::as_strided_scatter(TENON_SELF, src, size, stride, storage_offset);
}
Tensor Tensor::index_reduce(int64_t dim, const Operand& index, const Operand& source, std::string_view reduce,
                            bool include_self) TENON_KIND {
  return tenon::index_reduce(TENON_SELF, dim, index, source, reduce, include_self);
}
Tensor Tensor::movedim(int64_t source, int64_t destination) TENON_KIND {
  return tenon::movedim(TENON_SELF, source, destination);
}
Tensor Tensor::moveaxis(int64_t source, int64_t destination) TENON_KIND {
  return tenon::moveaxis(TENON_SELF, source, destination);
}
Tensor Tensor::narrow(int64_t dim, const Operand& start, int64_t length) TENON_KIND {
  return tenon::narrow(TENON_SELF, dim, start, length);
}
Tensor Tensor::clone(MemoryFormat format) TENON_KIND {
  return tenon::clone(TENON_SELF, format);
}
Tensor Tensor::cumsum(int64_t dim, optional<ScalarType> dtype) TENON_KIND {
  return tenon::cumsum(TENON_SELF, dim, dtype);
}
Tensor Tensor::cumprod(int64_t dim, optional<ScalarType> dtype) TENON_KIND {
  return tenon::cumprod(TENON_SELF, dim, dtype);
}
std::tuple<Tensor, Tensor> Tensor::cummax(int64_t dim) TENON_KIND {
  return tenon::cummax(TENON_SELF, dim);
}
std::tuple<Tensor, Tensor> Tensor::cummin(int64_t dim) TENON_KIND {
  return tenon::cummin(TENON_SELF, dim);
}
Tensor Tensor::logcumsumexp(int64_t dim) TENON_KIND {
  return tenon::logcumsumexp(TENON_SELF, dim);
}
std::tuple<Tensor, Tensor> Tensor::sort(int64_t dim, bool descending) TENON_KIND {
  return tenon::sort(TENON_SELF, dim, descending);
}
std::tuple<Tensor, Tensor> Tensor::sort(optional<bool> stable, int64_t dim, bool descending) TENON_KIND {
  return tenon::sort(TENON_SELF, stable, dim, descending);
}
Tensor Tensor::argsort(int64_t dim, bool descending) TENON_KIND {
  return tenon::argsort(TENON_SELF, dim, descending);
}
Tensor Tensor::argsort(bool stable, int64_t dim, bool descending) TENON_KIND {
  return tenon::argsort(TENON_SELF, stable, dim, descending);
}
Tensor Tensor::msort() TENON_KIND {
  return tenon::msort(TENON_SELF);
}
std::tuple<Tensor, Tensor> Tensor::topk(int64_t k, int64_t dim, bool largest, bool sorted) TENON_KIND {
  return tenon::topk(TENON_SELF, k, dim, largest, sorted);
}
std::tuple<Tensor, Tensor> Tensor::kthvalue(int64_t k, int64_t dim, bool keepdim) TENON_KIND {
  return tenon::kthvalue(TENON_SELF, k, dim, keepdim);
}
Tensor Tensor::median() TENON_KIND {
  return tenon::median(TENON_SELF);
}
std::tuple<Tensor, Tensor> Tensor::median(int64_t dim, bool keepdim) TENON_KIND {
  return tenon::median(TENON_SELF, dim, keepdim);
}
Tensor Tensor::nanmedian() TENON_KIND {
  return tenon::nanmedian(TENON_SELF);
}
std::tuple<Tensor, Tensor> Tensor::nanmedian(int64_t dim, bool keepdim) TENON_KIND {
  return tenon::nanmedian(TENON_SELF, dim, keepdim);
}
std::tuple<Tensor, Tensor> Tensor::mode(int64_t dim, bool keepdim) TENON_KIND {
  return tenon::mode(TENON_SELF, dim, keepdim);
}
Tensor Tensor::quantile(double q, optional<int64_t> dim, bool keepdim, std::string_view interpolation) TENON_KIND {
  return tenon::quantile(TENON_SELF, q, dim, keepdim, interpolation);
}
Tensor Tensor::quantile(const Operand& q, optional<int64_t> dim, bool keepdim,
                        std::string_view interpolation) TENON_KIND {
  return tenon::quantile(TENON_SELF, q, dim, keepdim, interpolation);
}
Tensor Tensor::nanquantile(double q, optional<int64_t> dim, bool keepdim, std::string_view interpolation) TENON_KIND {
  return tenon::nanquantile(TENON_SELF, q, dim, keepdim, interpolation);
}
Tensor Tensor::histc(int64_t bins, const Scalar& min, const Scalar& max) TENON_KIND {
  return tenon::histc(TENON_SELF, bins, min, max);
}
std::tuple<Tensor, Tensor> Tensor::histogram(const Operand& bins, const optional<Tensor>& weight,
                                             bool density) TENON_KIND {
  return tenon::histogram(TENON_SELF, bins, weight, density);
}
std::tuple<Tensor, Tensor> Tensor::histogram(int64_t bins, optional<ArrayRef<double>> range,
                                             const optional<Tensor>& weight, bool density) TENON_KIND {
  return tenon::histogram(TENON_SELF, bins, range, weight, density);
}
Tensor Tensor::bincount(const optional<Tensor>& weights, int64_t minlength) TENON_KIND {
  return tenon::bincount(TENON_SELF, weights, minlength);
}
Tensor Tensor::gather(int64_t dim, const Operand& index, bool sparse_grad) TENON_KIND {
  return tenon::gather(TENON_SELF, dim, index, sparse_grad);
}
Tensor Tensor::index_select(int64_t dim, const Operand& index) TENON_KIND {
  return tenon::index_select(TENON_SELF, dim, index);
}
Tensor Tensor::take(const Operand& index) TENON_KIND {
  return tenon::take(TENON_SELF, index);
}
Tensor Tensor::take_along_dim(const Operand& indices, optional<int64_t> dim) TENON_KIND {
  return tenon::take_along_dim(TENON_SELF, indices, dim);
}
Tensor Tensor::masked_select(const Operand& mask) TENON_KIND {
  return tenon::masked_select(TENON_SELF, mask);
}
Tensor Tensor::nonzero() TENON_KIND {
  return tenon::nonzero(TENON_SELF);
}
std::vector<Tensor> Tensor::nonzero_numpy() TENON_KIND {
  return tenon::nonzero_numpy(TENON_SELF);
}
Tensor Tensor::argwhere() TENON_KIND {
  return tenon::argwhere(TENON_SELF);
}
Tensor Tensor::scatter(int64_t dim, const Operand& index, const Operand& src) TENON_KIND {
  return tenon::scatter(TENON_SELF, dim, index, src);
}
Tensor Tensor::scatter(int64_t dim, const Operand& index, const Scalar& value) TENON_KIND {
  return tenon::scatter(TENON_SELF, dim, index, value);
}
Tensor Tensor::scatter(int64_t dim, const Operand& index, const Operand& src, std::string_view reduce) TENON_KIND {
  return tenon::scatter(TENON_SELF, dim, index, src, reduce);
}
Tensor Tensor::scatter(int64_t dim, const Operand& index, const Scalar& value, std::string_view reduce) TENON_KIND {
  return tenon::scatter(TENON_SELF, dim, index, value, reduce);
}
Tensor Tensor::scatter_add(int64_t dim, const Operand& index, const Operand& src) TENON_KIND {
  return tenon::scatter_add(TENON_SELF, dim, index, src);
}
Tensor Tensor::scatter_reduce(int64_t dim, const Operand& index, const Operand& src, std::string_view reduce,
                              bool include_self) TENON_KIND {
  return tenon::scatter_reduce(TENON_SELF, dim, index, src, reduce, include_self);
}
Tensor Tensor::index_add(int64_t dim, const Operand& index, const Operand& source, const Scalar& alpha) TENON_KIND {
  return tenon::index_add(TENON_SELF, dim, index, source, alpha);
}
Tensor Tensor::index_copy(int64_t dim, const Operand& index, const Operand& source) TENON_KIND {
  return tenon::index_copy(TENON_SELF, dim, index, source);
}
Tensor Tensor::index_fill(int64_t dim, const Operand& index, const Scalar& value) TENON_KIND {
  return tenon::index_fill(TENON_SELF, dim, index, value);
}
Tensor Tensor::index_fill(int64_t dim, const Operand& index, const Operand& value) TENON_KIND {
  return tenon::index_fill(TENON_SELF, dim, index, value);
}
Tensor Tensor::put(const Operand& index, const Operand& source, bool accumulate) TENON_KIND {
  return tenon::put(TENON_SELF, index, source, accumulate);
}
Tensor Tensor::masked_scatter(const Operand& mask, const Operand& source) TENON_KIND {
  return tenon::masked_scatter(TENON_SELF, mask, source);
}
Tensor Tensor::as_strided(IntArrayRef size, IntArrayRef stride, optional<int64_t> storage_offset) TENON_KIND {
  return tenon::as_strided(TENON_SELF, size, stride, storage_offset);
}
Tensor Tensor::diagonal(int64_t offset, int64_t dim1, int64_t dim2) TENON_KIND {
  return tenon::diagonal(TENON_SELF, offset, dim1, dim2);
}
Tensor Tensor::moveaxis(IntArrayRef source, IntArrayRef destination) TENON_KIND {
  return tenon::moveaxis(TENON_SELF, source, destination);
}
Tensor Tensor::swapdims(int64_t dim0, int64_t dim1) TENON_KIND {
  return tenon::swapdims(TENON_SELF, dim0, dim1);
}
Tensor Tensor::adjoint() TENON_KIND {
  return tenon::adjoint(TENON_SELF);
}
Tensor Tensor::conj() TENON_KIND {
  return tenon::conj(TENON_SELF);
}
Tensor Tensor::resolve_conj() TENON_KIND {
  return tenon::resolve_conj(TENON_SELF);
}
std::vector<Tensor> Tensor::tensor_split(int64_t sections, int64_t dim) TENON_KIND {
  return tenon::tensor_split(TENON_SELF, sections, dim);
}
std::vector<Tensor> Tensor::tensor_split(IntArrayRef indices, int64_t dim) TENON_KIND {
  return tenon::tensor_split(TENON_SELF, indices, dim);
}
std::vector<Tensor> Tensor::tensor_split(const Operand& indices_or_sections, int64_t dim) TENON_KIND {
  return tenon::tensor_split(TENON_SELF, indices_or_sections, dim);
}
std::vector<Tensor> Tensor::hsplit(int64_t sections) TENON_KIND {
  return tenon::hsplit(TENON_SELF, sections);
}
std::vector<Tensor> Tensor::hsplit(IntArrayRef indices) TENON_KIND {
  return tenon::hsplit(TENON_SELF, indices);
}
std::vector<Tensor> Tensor::vsplit(int64_t sections) TENON_KIND {
  return tenon::vsplit(TENON_SELF, sections);
}
std::vector<Tensor> Tensor::vsplit(IntArrayRef indices) TENON_KIND {
  return tenon::vsplit(TENON_SELF, indices);
}
std::vector<Tensor> Tensor::dsplit(int64_t sections) TENON_KIND {
  return tenon::dsplit(TENON_SELF, sections);
}
std::vector<Tensor> Tensor::dsplit(IntArrayRef indices) TENON_KIND {
  return tenon::dsplit(TENON_SELF, indices);
}
std::vector<Tensor> Tensor::unsafe_chunk(int64_t chunks, int64_t dim) TENON_KIND {
  return tenon::unsafe_chunk(TENON_SELF, chunks, dim);
}
std::vector<Tensor> Tensor::unsafe_split(int64_t split_size, int64_t dim) TENON_KIND {
  return tenon::unsafe_split(TENON_SELF, split_size, dim);
}
std::vector<Tensor> Tensor::unsafe_split_with_sizes(IntArrayRef split_sizes, int64_t dim) TENON_KIND {
  return tenon::unsafe_split_with_sizes(TENON_SELF, split_sizes, dim);
}
Tensor Tensor::select_scatter(const Operand& src, int64_t dim, int64_t index) TENON_KIND {
  return tenon::select_scatter(TENON_SELF, src, dim, index);
}
Tensor Tensor::slice_scatter(const Operand& src, int64_t dim, optional<int64_t> start, optional<int64_t> end,
                             int64_t step) TENON_KIND {
  return tenon::slice_scatter(TENON_SELF, src, dim, start, end, step);
}
Tensor Tensor::diagonal_scatter(const Operand& src, int64_t offset, int64_t dim1, int64_t dim2) TENON_KIND {
  return tenon::diagonal_scatter(TENON_SELF, src, offset, dim1, dim2);
}
Tensor Tensor::bernoulli(const optional<Generator>& generator) TENON_KIND {
  return tenon::bernoulli(TENON_SELF, generator);
}
Tensor Tensor::bernoulli(double p, const optional<Generator>& generator) TENON_KIND {
  return tenon::bernoulli(TENON_SELF, p, generator);
}
Tensor Tensor::multinomial(int64_t num_samples, bool replacement, const optional<Generator>& generator) TENON_KIND {
  return tenon::multinomial(TENON_SELF, num_samples, replacement, generator);
}
Tensor Tensor::contiguous() TENON_KIND {
  return tenon::detail::contiguous(TENON_SELF);
}
Tensor Tensor::contiguous(MemoryFormat format) TENON_KIND {
  return tenon::detail::contiguous(TENON_SELF, format);
}
Tensor Tensor::view(ScalarType dtype) TENON_KIND {
  return tenon::detail::view(TENON_SELF, dtype);
}
Tensor Tensor::mT() TENON_KIND {
  return tenon::detail::mT(TENON_SELF);
}
Tensor Tensor::mH() TENON_KIND {
  return tenon::detail::mH(TENON_SELF);
}
Tensor Tensor::H() TENON_KIND {
  return tenon::detail::H(TENON_SELF);
}
Tensor Tensor::numpy_T() TENON_KIND {
  return tenon::detail::numpy_T(TENON_SELF);
}
Tensor Tensor::unfold(int64_t dimension, int64_t size, int64_t step) TENON_KIND {
  return tenon::detail::unfold(TENON_SELF, dimension, size, step);
}
Tensor Tensor::repeat(IntArrayRef repeats) TENON_KIND {
  return tenon::detail::repeat(TENON_SELF, repeats);
}
Tensor Tensor::index_put(ArrayRef<indexing::TensorIndex> indices, const Operand& value, bool accumulate) TENON_KIND {
  return tenon::detail::index_put(TENON_SELF, indices, value, accumulate);
}
