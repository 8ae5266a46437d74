// Printed from frontend/functions.def by scripts/print/make_functions.py.
// The methods of a tensor that record an operation, as declared in the class TensorMethods. tensor.h includes this
// file twice: for tensors with a name, and for temporaries, whose values nobody will want again (see Operand there).
// TENON_KIND is the kind of object, `const&` or `&&`; TENON_SELF is the object as an argument. Each method is the
// function of its name, whose header says what it does. Tensor is Self here: optional<Tensor> needs the whole class.

  // --- elementwise
  Self abs() TENON_KIND { return tenon::abs(TENON_SELF); }
  Self absolute() TENON_KIND { return tenon::absolute(TENON_SELF); }
  Self neg() TENON_KIND { return tenon::neg(TENON_SELF); }
  Self negative() TENON_KIND { return tenon::negative(TENON_SELF); }
  Self sign() TENON_KIND { return tenon::sign(TENON_SELF); }
  Self sgn() TENON_KIND { return tenon::sgn(TENON_SELF); }
  Self square() TENON_KIND { return tenon::square(TENON_SELF); }
  Self sqrt() TENON_KIND { return tenon::sqrt(TENON_SELF); }
  Self rsqrt() TENON_KIND { return tenon::rsqrt(TENON_SELF); }
  Self reciprocal() TENON_KIND { return tenon::reciprocal(TENON_SELF); }
  Self exp() TENON_KIND { return tenon::exp(TENON_SELF); }
  Self exp2() TENON_KIND { return tenon::exp2(TENON_SELF); }
  Self expm1() TENON_KIND { return tenon::expm1(TENON_SELF); }
  Self log() TENON_KIND { return tenon::log(TENON_SELF); }
  Self log2() TENON_KIND { return tenon::log2(TENON_SELF); }
  Self log10() TENON_KIND { return tenon::log10(TENON_SELF); }
  Self log1p() TENON_KIND { return tenon::log1p(TENON_SELF); }
  Self sin() TENON_KIND { return tenon::sin(TENON_SELF); }
  Self cos() TENON_KIND { return tenon::cos(TENON_SELF); }
  Self tan() TENON_KIND { return tenon::tan(TENON_SELF); }
  Self asin() TENON_KIND { return tenon::asin(TENON_SELF); }
  Self arcsin() TENON_KIND { return tenon::arcsin(TENON_SELF); }
  Self acos() TENON_KIND { return tenon::acos(TENON_SELF); }
  Self arccos() TENON_KIND { return tenon::arccos(TENON_SELF); }
  Self atan() TENON_KIND { return tenon::atan(TENON_SELF); }
  Self arctan() TENON_KIND { return tenon::arctan(TENON_SELF); }
  Self sinh() TENON_KIND { return tenon::sinh(TENON_SELF); }
  Self cosh() TENON_KIND { return tenon::cosh(TENON_SELF); }
  Self tanh() TENON_KIND { return tenon::tanh(TENON_SELF); }
  Self asinh() TENON_KIND { return tenon::asinh(TENON_SELF); }
  Self arcsinh() TENON_KIND { return tenon::arcsinh(TENON_SELF); }
  Self acosh() TENON_KIND { return tenon::acosh(TENON_SELF); }
  Self arccosh() TENON_KIND { return tenon::arccosh(TENON_SELF); }
  Self atanh() TENON_KIND { return tenon::atanh(TENON_SELF); }
  Self arctanh() TENON_KIND { return tenon::arctanh(TENON_SELF); }
  Self sigmoid() TENON_KIND { return tenon::sigmoid(TENON_SELF); }
  Self erf() TENON_KIND { return tenon::erf(TENON_SELF); }
  Self erfc() TENON_KIND { return tenon::erfc(TENON_SELF); }
  Self erfinv() TENON_KIND { return tenon::erfinv(TENON_SELF); }
  Self lgamma() TENON_KIND { return tenon::lgamma(TENON_SELF); }
  Self floor() TENON_KIND { return tenon::floor(TENON_SELF); }
  Self ceil() TENON_KIND { return tenon::ceil(TENON_SELF); }
  Self trunc() TENON_KIND { return tenon::trunc(TENON_SELF); }
  Self fix() TENON_KIND { return tenon::fix(TENON_SELF); }
  Self round() TENON_KIND { return tenon::round(TENON_SELF); }
  Self frac() TENON_KIND { return tenon::frac(TENON_SELF); }
  Self logical_not() TENON_KIND { return tenon::logical_not(TENON_SELF); }
  Self bitwise_not() TENON_KIND { return tenon::bitwise_not(TENON_SELF); }
  Self relu() TENON_KIND { return tenon::relu(TENON_SELF); }
  Self deg2rad() TENON_KIND { return tenon::deg2rad(TENON_SELF); }
  Self rad2deg() TENON_KIND { return tenon::rad2deg(TENON_SELF); }
  Self digamma() TENON_KIND { return tenon::digamma(TENON_SELF); }
  Self i0() TENON_KIND { return tenon::i0(TENON_SELF); }
  Self sinc() TENON_KIND { return tenon::sinc(TENON_SELF); }
  Self conj_physical() TENON_KIND { return tenon::conj_physical(TENON_SELF); }
  Self positive() TENON_KIND { return tenon::positive(TENON_SELF); }
  Self signbit() TENON_KIND { return tenon::signbit(TENON_SELF); }
  Self isnan() TENON_KIND { return tenon::isnan(TENON_SELF); }
  Self isinf() TENON_KIND { return tenon::isinf(TENON_SELF); }
  Self isfinite() TENON_KIND { return tenon::isfinite(TENON_SELF); }
  Self isposinf() TENON_KIND { return tenon::isposinf(TENON_SELF); }
  Self isneginf() TENON_KIND { return tenon::isneginf(TENON_SELF); }
  Self isreal() TENON_KIND { return tenon::isreal(TENON_SELF); }
  Self angle() TENON_KIND { return tenon::angle(TENON_SELF); }
  Self atan2(const Operand& other) TENON_KIND { return tenon::atan2(TENON_SELF, other); }
  Self arctan2(const Operand& other) TENON_KIND { return tenon::arctan2(TENON_SELF, other); }
  Self hypot(const Operand& other) TENON_KIND { return tenon::hypot(TENON_SELF, other); }
  Self logical_and(const Operand& other) TENON_KIND { return tenon::logical_and(TENON_SELF, other); }
  Self logical_or(const Operand& other) TENON_KIND { return tenon::logical_or(TENON_SELF, other); }
  Self logical_xor(const Operand& other) TENON_KIND { return tenon::logical_xor(TENON_SELF, other); }
  Self heaviside(const Operand& other) TENON_KIND { return tenon::heaviside(TENON_SELF, other); }
  Self nextafter(const Operand& other) TENON_KIND { return tenon::nextafter(TENON_SELF, other); }
  Self ldexp(const Operand& other) TENON_KIND { return tenon::ldexp(TENON_SELF, other); }
  Self gcd(const Operand& other) TENON_KIND { return tenon::gcd(TENON_SELF, other); }
  Self lcm(const Operand& other) TENON_KIND { return tenon::lcm(TENON_SELF, other); }
  Self maximum(const Operand& other) TENON_KIND { return tenon::maximum(TENON_SELF, other); }
  Self minimum(const Operand& other) TENON_KIND { return tenon::minimum(TENON_SELF, other); }
  Self fmax(const Operand& other) TENON_KIND { return tenon::fmax(TENON_SELF, other); }
  Self fmin(const Operand& other) TENON_KIND { return tenon::fmin(TENON_SELF, other); }
  Self logaddexp(const Operand& other) TENON_KIND { return tenon::logaddexp(TENON_SELF, other); }
  Self logaddexp2(const Operand& other) TENON_KIND { return tenon::logaddexp2(TENON_SELF, other); }
  Self mul(const Operand& other) TENON_KIND { return tenon::mul(TENON_SELF, other); }
  Self mul(const Scalar& other) TENON_KIND { return tenon::mul(TENON_SELF, other); }
  Self multiply(const Operand& other) TENON_KIND { return tenon::multiply(TENON_SELF, other); }
  Self multiply(const Scalar& other) TENON_KIND { return tenon::multiply(TENON_SELF, other); }
  Self remainder(const Operand& other) TENON_KIND { return tenon::remainder(TENON_SELF, other); }
  Self remainder(const Scalar& other) TENON_KIND { return tenon::remainder(TENON_SELF, other); }
  Self fmod(const Operand& other) TENON_KIND { return tenon::fmod(TENON_SELF, other); }
  Self fmod(const Scalar& other) TENON_KIND { return tenon::fmod(TENON_SELF, other); }
  Self floor_divide(const Operand& other) TENON_KIND { return tenon::floor_divide(TENON_SELF, other); }
  Self floor_divide(const Scalar& other) TENON_KIND { return tenon::floor_divide(TENON_SELF, other); }
  Self true_divide(const Operand& other) TENON_KIND { return tenon::true_divide(TENON_SELF, other); }
  Self true_divide(const Scalar& other) TENON_KIND { return tenon::true_divide(TENON_SELF, other); }
  Self copysign(const Operand& other) TENON_KIND { return tenon::copysign(TENON_SELF, other); }
  Self copysign(const Scalar& other) TENON_KIND { return tenon::copysign(TENON_SELF, other); }
  Self xlogy(const Operand& other) TENON_KIND { return tenon::xlogy(TENON_SELF, other); }
  Self xlogy(const Scalar& other) TENON_KIND { return tenon::xlogy(TENON_SELF, other); }
  Self eq(const Operand& other) TENON_KIND { return tenon::eq(TENON_SELF, other); }
  Self eq(const Scalar& other) TENON_KIND { return tenon::eq(TENON_SELF, other); }
  Self ne(const Operand& other) TENON_KIND { return tenon::ne(TENON_SELF, other); }
  Self ne(const Scalar& other) TENON_KIND { return tenon::ne(TENON_SELF, other); }
  Self lt(const Operand& other) TENON_KIND { return tenon::lt(TENON_SELF, other); }
  Self lt(const Scalar& other) TENON_KIND { return tenon::lt(TENON_SELF, other); }
  Self le(const Operand& other) TENON_KIND { return tenon::le(TENON_SELF, other); }
  Self le(const Scalar& other) TENON_KIND { return tenon::le(TENON_SELF, other); }
  Self gt(const Operand& other) TENON_KIND { return tenon::gt(TENON_SELF, other); }
  Self gt(const Scalar& other) TENON_KIND { return tenon::gt(TENON_SELF, other); }
  Self ge(const Operand& other) TENON_KIND { return tenon::ge(TENON_SELF, other); }
  Self ge(const Scalar& other) TENON_KIND { return tenon::ge(TENON_SELF, other); }
  Self not_equal(const Operand& other) TENON_KIND { return tenon::not_equal(TENON_SELF, other); }
  Self not_equal(const Scalar& other) TENON_KIND { return tenon::not_equal(TENON_SELF, other); }
  Self less(const Operand& other) TENON_KIND { return tenon::less(TENON_SELF, other); }
  Self less(const Scalar& other) TENON_KIND { return tenon::less(TENON_SELF, other); }
  Self less_equal(const Operand& other) TENON_KIND { return tenon::less_equal(TENON_SELF, other); }
  Self less_equal(const Scalar& other) TENON_KIND { return tenon::less_equal(TENON_SELF, other); }
  Self greater(const Operand& other) TENON_KIND { return tenon::greater(TENON_SELF, other); }
  Self greater(const Scalar& other) TENON_KIND { return tenon::greater(TENON_SELF, other); }
  Self greater_equal(const Operand& other) TENON_KIND { return tenon::greater_equal(TENON_SELF, other); }
  Self greater_equal(const Scalar& other) TENON_KIND { return tenon::greater_equal(TENON_SELF, other); }
  Self bitwise_and(const Operand& other) TENON_KIND { return tenon::bitwise_and(TENON_SELF, other); }
  Self bitwise_and(const Scalar& other) TENON_KIND { return tenon::bitwise_and(TENON_SELF, other); }
  Self bitwise_or(const Operand& other) TENON_KIND { return tenon::bitwise_or(TENON_SELF, other); }
  Self bitwise_or(const Scalar& other) TENON_KIND { return tenon::bitwise_or(TENON_SELF, other); }
  Self bitwise_xor(const Operand& other) TENON_KIND { return tenon::bitwise_xor(TENON_SELF, other); }
  Self bitwise_xor(const Scalar& other) TENON_KIND { return tenon::bitwise_xor(TENON_SELF, other); }
  Self bitwise_left_shift(const Operand& other) TENON_KIND { return tenon::bitwise_left_shift(TENON_SELF, other); }
  Self bitwise_left_shift(const Scalar& other) TENON_KIND { return tenon::bitwise_left_shift(TENON_SELF, other); }
  Self bitwise_right_shift(const Operand& other) TENON_KIND { return tenon::bitwise_right_shift(TENON_SELF, other); }
  Self bitwise_right_shift(const Scalar& other) TENON_KIND { return tenon::bitwise_right_shift(TENON_SELF, other); }
  Self round(int64_t decimals) TENON_KIND { return tenon::round(TENON_SELF, decimals); }
  Self add(const Operand& other, const Scalar& alpha = 1) TENON_KIND { return tenon::add(TENON_SELF, other, alpha); }
  Self add(const Scalar& other, const Scalar& alpha = 1) TENON_KIND { return tenon::add(TENON_SELF, other, alpha); }
  Self sub(const Operand& other, const Scalar& alpha = 1) TENON_KIND { return tenon::sub(TENON_SELF, other, alpha); }
  Self sub(const Scalar& other, const Scalar& alpha = 1) TENON_KIND { return tenon::sub(TENON_SELF, other, alpha); }
  Self div(const Operand& other) TENON_KIND { return tenon::div(TENON_SELF, other); }
  Self div(const Scalar& other) TENON_KIND { return tenon::div(TENON_SELF, other); }
  Self div(const Operand& other, optional<std::string_view> rounding_mode) TENON_KIND {
    return tenon::div(TENON_SELF, other, rounding_mode);
  }
  Self div(const Scalar& other, optional<std::string_view> rounding_mode) TENON_KIND {
    return tenon::div(TENON_SELF, other, rounding_mode);
  }
  Self pow(const Operand& exponent) TENON_KIND { return tenon::pow(TENON_SELF, exponent); }
  Self pow(const Scalar& exponent) TENON_KIND { return tenon::pow(TENON_SELF, exponent); }
  Self float_power(const Operand& exponent) TENON_KIND { return tenon::float_power(TENON_SELF, exponent); }
  Self float_power(const Scalar& exponent) TENON_KIND { return tenon::float_power(TENON_SELF, exponent); }
  Self where(const Operand& condition, const Operand& other) TENON_KIND {
    return tenon::where(condition, TENON_SELF, other);
  }
  Self where(const Operand& condition, const Scalar& other) TENON_KIND {
    return tenon::where(condition, TENON_SELF, other);
  }
  Self masked_fill(const Operand& mask, const Scalar& value) TENON_KIND {
    return tenon::masked_fill(TENON_SELF, mask, value);
  }
  Self masked_fill(const Operand& mask, const Operand& value) TENON_KIND {
    return tenon::masked_fill(TENON_SELF, mask, value);
  }
  Self clamp(const optional<Scalar>& min, const optional<Scalar>& max = nullopt) TENON_KIND {
    return tenon::clamp(TENON_SELF, min, max);
  }
  Self clamp(const optional<Self>& min, const optional<Self>& max) TENON_KIND {
    return tenon::clamp(TENON_SELF, min, max);
  }
  Self clamp_min(const Scalar& min) TENON_KIND { return tenon::clamp_min(TENON_SELF, min); }
  Self clamp_min(const Operand& min) TENON_KIND { return tenon::clamp_min(TENON_SELF, min); }
  Self clamp_max(const Scalar& max) TENON_KIND { return tenon::clamp_max(TENON_SELF, max); }
  Self clamp_max(const Operand& max) TENON_KIND { return tenon::clamp_max(TENON_SELF, max); }
  Self lerp(const Operand& end, const Scalar& weight) TENON_KIND { return tenon::lerp(TENON_SELF, end, weight); }
  Self lerp(const Operand& end, const Operand& weight) TENON_KIND { return tenon::lerp(TENON_SELF, end, weight); }
  Self addcmul(const Operand& tensor1, const Operand& tensor2, const Scalar& value = 1) TENON_KIND {
    return tenon::addcmul(TENON_SELF, tensor1, tensor2, value);
  }
  Self addcdiv(const Operand& tensor1, const Operand& tensor2, const Scalar& value = 1) TENON_KIND {
    return tenon::addcdiv(TENON_SELF, tensor1, tensor2, value);
  }
  Self nan_to_num(optional<double> nan = nullopt, optional<double> posinf = nullopt,
                  optional<double> neginf = nullopt) TENON_KIND {
    return tenon::nan_to_num(TENON_SELF, nan, posinf, neginf);
  }
  Self logit(optional<double> eps = nullopt) TENON_KIND { return tenon::logit(TENON_SELF, eps); }
  Self prelu(const Operand& weight) TENON_KIND { return tenon::prelu(TENON_SELF, weight); }
  Self hardshrink(const Scalar& lambd = 0.5) TENON_KIND { return tenon::hardshrink(TENON_SELF, lambd); }

  // --- shape: views where PyTorch makes views
  Self reshape(IntArrayRef shape) TENON_KIND { return tenon::reshape(TENON_SELF, shape); }
  Self view(IntArrayRef shape) TENON_KIND { return tenon::view(TENON_SELF, shape); }
  Self flatten(int64_t start_dim = 0, int64_t end_dim = -1) TENON_KIND {
    return tenon::flatten(TENON_SELF, start_dim, end_dim);
  }
  Self unflatten(int64_t dim, IntArrayRef sizes) TENON_KIND { return tenon::unflatten(TENON_SELF, dim, sizes); }
  Self ravel() TENON_KIND { return tenon::ravel(TENON_SELF); }
  Self permute(IntArrayRef dims) TENON_KIND { return tenon::permute(TENON_SELF, dims); }
  Self transpose(int64_t dim0, int64_t dim1) TENON_KIND { return tenon::transpose(TENON_SELF, dim0, dim1); }
  Self swapaxes(int64_t axis0, int64_t axis1) TENON_KIND { return tenon::swapaxes(TENON_SELF, axis0, axis1); }
  Self t() TENON_KIND { return tenon::t(TENON_SELF); }
  Self movedim(IntArrayRef source, IntArrayRef destination) TENON_KIND {
    return tenon::movedim(TENON_SELF, source, destination);
  }
  Self expand(IntArrayRef size) TENON_KIND { return tenon::expand(TENON_SELF, size); }
  Self broadcast_to(IntArrayRef size) TENON_KIND { return tenon::broadcast_to(TENON_SELF, size); }
  Self squeeze() TENON_KIND { return tenon::squeeze(TENON_SELF); }
  Self squeeze(int64_t dim) TENON_KIND { return tenon::squeeze(TENON_SELF, dim); }
  Self squeeze(IntArrayRef dims) TENON_KIND { return tenon::squeeze(TENON_SELF, dims); }
  Self unsqueeze(int64_t dim) TENON_KIND { return tenon::unsqueeze(TENON_SELF, dim); }
  Self select(int64_t dim, int64_t index) TENON_KIND { return tenon::select(TENON_SELF, dim, index); }
  Self slice(int64_t dim = 0, optional<int64_t> start = nullopt, optional<int64_t> end = nullopt,
             int64_t step = 1) TENON_KIND {
    return tenon::slice(TENON_SELF, dim, start, end, step);
  }
  Self narrow(int64_t dim, int64_t start, int64_t length) TENON_KIND {
    return tenon::narrow(TENON_SELF, dim, start, length);
  }
  Self index(ArrayRef<indexing::TensorIndex> indices) TENON_KIND { return tenon::index(TENON_SELF, indices); }
  std::vector<Self> chunk(int64_t chunks, int64_t dim = 0) TENON_KIND { return tenon::chunk(TENON_SELF, chunks, dim); }
  std::vector<Self> split(int64_t split_size, int64_t dim = 0) TENON_KIND {
    return tenon::split(TENON_SELF, split_size, dim);
  }
  std::vector<Self> split(IntArrayRef split_sizes, int64_t dim = 0) TENON_KIND {
    return tenon::split(TENON_SELF, split_sizes, dim);
  }
  std::vector<Self> split_with_sizes(IntArrayRef split_sizes, int64_t dim = 0) TENON_KIND {
    return tenon::split_with_sizes(TENON_SELF, split_sizes, dim);
  }
  std::vector<Self> unbind(int64_t dim = 0) TENON_KIND { return tenon::unbind(TENON_SELF, dim); }

  // --- shape: new tensors
  Self clone() TENON_KIND { return tenon::clone(TENON_SELF); }
  Self flip(IntArrayRef dims) TENON_KIND { return tenon::flip(TENON_SELF, dims); }
  Self fliplr() TENON_KIND { return tenon::fliplr(TENON_SELF); }
  Self flipud() TENON_KIND { return tenon::flipud(TENON_SELF); }
  Self roll(IntArrayRef shifts, IntArrayRef dims = {}) TENON_KIND { return tenon::roll(TENON_SELF, shifts, dims); }
  Self tile(IntArrayRef dims) TENON_KIND { return tenon::tile(TENON_SELF, dims); }

  // --- reductions
  Self sum(optional<ScalarType> dtype = nullopt) TENON_KIND { return tenon::sum(TENON_SELF, dtype); }
  Self sum(OptionalIntArrayRef dim, bool keepdim = false, optional<ScalarType> dtype = nullopt) TENON_KIND {
    return tenon::sum(TENON_SELF, dim, keepdim, dtype);
  }
  Self nansum(OptionalIntArrayRef dim = nullopt, bool keepdim = false,
              optional<ScalarType> dtype = nullopt) TENON_KIND {
    return tenon::nansum(TENON_SELF, dim, keepdim, dtype);
  }
  Self prod(optional<ScalarType> dtype = nullopt) TENON_KIND { return tenon::prod(TENON_SELF, dtype); }
  Self prod(int64_t dim, bool keepdim = false, optional<ScalarType> dtype = nullopt) TENON_KIND {
    return tenon::prod(TENON_SELF, dim, keepdim, dtype);
  }
  Self mean(optional<ScalarType> dtype = nullopt) TENON_KIND { return tenon::mean(TENON_SELF, dtype); }
  Self mean(OptionalIntArrayRef dim, bool keepdim = false, optional<ScalarType> dtype = nullopt) TENON_KIND {
    return tenon::mean(TENON_SELF, dim, keepdim, dtype);
  }
  Self var(bool unbiased = true) TENON_KIND { return tenon::var(TENON_SELF, unbiased); }
  Self var(OptionalIntArrayRef dim, bool unbiased = true, bool keepdim = false) TENON_KIND {
    return tenon::var(TENON_SELF, dim, unbiased, keepdim);
  }
  Self var(OptionalIntArrayRef dim, const optional<Scalar>& correction, bool keepdim = false) TENON_KIND {
    return tenon::var(TENON_SELF, dim, correction, keepdim);
  }
  Self std(bool unbiased = true) TENON_KIND { return tenon::std(TENON_SELF, unbiased); }
  Self std(OptionalIntArrayRef dim, bool unbiased = true, bool keepdim = false) TENON_KIND {
    return tenon::std(TENON_SELF, dim, unbiased, keepdim);
  }
  Self std(OptionalIntArrayRef dim, const optional<Scalar>& correction, bool keepdim = false) TENON_KIND {
    return tenon::std(TENON_SELF, dim, correction, keepdim);
  }
  Self var(DimList dim, bool unbiased = true, bool keepdim = false) TENON_KIND {
    return tenon::var(TENON_SELF, dim, unbiased, keepdim);
  }
  Self std(DimList dim, bool unbiased = true, bool keepdim = false) TENON_KIND {
    return tenon::std(TENON_SELF, dim, unbiased, keepdim);
  }
  Self var(int dim) TENON_KIND { return tenon::var(TENON_SELF, dim); }
  Self var(int64_t dim) TENON_KIND { return tenon::var(TENON_SELF, dim); }
  Self std(int dim) TENON_KIND { return tenon::std(TENON_SELF, dim); }
  Self std(int64_t dim) TENON_KIND { return tenon::std(TENON_SELF, dim); }
  Self max() TENON_KIND { return tenon::max(TENON_SELF); }
  Self max(const Operand& other) TENON_KIND { return tenon::max(TENON_SELF, other); }
  std::tuple<Self, Self> max(int64_t dim, bool keepdim = false) TENON_KIND {
    return tenon::max(TENON_SELF, dim, keepdim);
  }
  Self min() TENON_KIND { return tenon::min(TENON_SELF); }
  Self min(const Operand& other) TENON_KIND { return tenon::min(TENON_SELF, other); }
  std::tuple<Self, Self> min(int64_t dim, bool keepdim = false) TENON_KIND {
    return tenon::min(TENON_SELF, dim, keepdim);
  }
  Self amax(IntArrayRef dim = {}, bool keepdim = false) TENON_KIND { return tenon::amax(TENON_SELF, dim, keepdim); }
  Self amin(IntArrayRef dim = {}, bool keepdim = false) TENON_KIND { return tenon::amin(TENON_SELF, dim, keepdim); }
  std::tuple<Self, Self> aminmax(optional<int64_t> dim = nullopt, bool keepdim = false) TENON_KIND {
    return tenon::aminmax(TENON_SELF, dim, keepdim);
  }
  Self argmax(optional<int64_t> dim = nullopt, bool keepdim = false) TENON_KIND {
    return tenon::argmax(TENON_SELF, dim, keepdim);
  }
  Self argmin(optional<int64_t> dim = nullopt, bool keepdim = false) TENON_KIND {
    return tenon::argmin(TENON_SELF, dim, keepdim);
  }
  Self any() TENON_KIND { return tenon::any(TENON_SELF); }
  Self any(int64_t dim, bool keepdim = false) TENON_KIND { return tenon::any(TENON_SELF, dim, keepdim); }
  Self all() TENON_KIND { return tenon::all(TENON_SELF); }
  Self all(int64_t dim, bool keepdim = false) TENON_KIND { return tenon::all(TENON_SELF, dim, keepdim); }
  Self norm(const Scalar& p = 2) TENON_KIND { return tenon::norm(TENON_SELF, p); }
  Self norm(const optional<Scalar>& p, IntArrayRef dim, bool keepdim = false) TENON_KIND {
    return tenon::norm(TENON_SELF, p, dim, keepdim);
  }
  Self logsumexp(IntArrayRef dim, bool keepdim = false) TENON_KIND {
    return tenon::logsumexp(TENON_SELF, dim, keepdim);
  }
  Self count_nonzero(IntArrayRef dim = {}) TENON_KIND { return tenon::count_nonzero(TENON_SELF, dim); }
  Self softmax(int64_t dim, optional<ScalarType> dtype = nullopt) TENON_KIND {
    return tenon::softmax(TENON_SELF, dim, dtype);
  }
  Self log_softmax(int64_t dim, optional<ScalarType> dtype = nullopt) TENON_KIND {
    return tenon::log_softmax(TENON_SELF, dim, dtype);
  }

  // --- matrix products
  Self matmul(const Operand& other) TENON_KIND { return tenon::matmul(TENON_SELF, other); }
  Self mm(const Operand& mat2) TENON_KIND { return tenon::mm(TENON_SELF, mat2); }
  Self mv(const Operand& vec) TENON_KIND { return tenon::mv(TENON_SELF, vec); }
  Self bmm(const Operand& mat2) TENON_KIND { return tenon::bmm(TENON_SELF, mat2); }
  Self dot(const Operand& tensor) TENON_KIND { return tenon::dot(TENON_SELF, tensor); }
  Self outer(const Operand& vec2) TENON_KIND { return tenon::outer(TENON_SELF, vec2); }
  Self addmm(const Operand& mat1, const Operand& mat2, const Scalar& beta = 1, const Scalar& alpha = 1) TENON_KIND {
    return tenon::addmm(TENON_SELF, mat1, mat2, beta, alpha);
  }
  Self addmv(const Operand& mat, const Operand& vec, const Scalar& beta = 1, const Scalar& alpha = 1) TENON_KIND {
    return tenon::addmv(TENON_SELF, mat, vec, beta, alpha);
  }
  Self baddbmm(const Operand& batch1, const Operand& batch2, const Scalar& beta = 1,
               const Scalar& alpha = 1) TENON_KIND {
    return tenon::baddbmm(TENON_SELF, batch1, batch2, beta, alpha);
  }

  // --- comparing whole tensors: these evaluate
  bool equal(const Operand& other) TENON_KIND { return tenon::equal(TENON_SELF, other); }
  bool allclose(const Operand& other, double rtol = 1e-05, double atol = 1e-08, bool equal_nan = false) TENON_KIND {
    return tenon::allclose(TENON_SELF, other, rtol, atol, equal_nan);
  }
  Self isclose(const Operand& other, double rtol = 1e-05, double atol = 1e-08, bool equal_nan = false) TENON_KIND {
    return tenon::isclose(TENON_SELF, other, rtol, atol, equal_nan);
  }

  // --- other names
  Self subtract(const Operand& other, const Scalar& alpha = 1) TENON_KIND {
    return tenon::subtract(TENON_SELF, other, alpha);
  }
  Self subtract(const Scalar& other, const Scalar& alpha = 1) TENON_KIND {
    return tenon::subtract(TENON_SELF, other, alpha);
  }
  Self divide(const Operand& other) TENON_KIND { return tenon::divide(TENON_SELF, other); }
  Self divide(const Scalar& other) TENON_KIND { return tenon::divide(TENON_SELF, other); }
  Self divide(const Operand& other, optional<std::string_view> rounding_mode) TENON_KIND {
    return tenon::divide(TENON_SELF, other, rounding_mode);
  }
  Self divide(const Scalar& other, optional<std::string_view> rounding_mode) TENON_KIND {
    return tenon::divide(TENON_SELF, other, rounding_mode);
  }
  Self clip(const optional<Scalar>& min, const optional<Scalar>& max = nullopt) TENON_KIND {
    return tenon::clip(TENON_SELF, min, max);
  }
  Self clip(const optional<Self>& min, const optional<Self>& max) TENON_KIND {
    return tenon::clip(TENON_SELF, min, max);
  }

  // --- a number first
  std::tuple<Self, Self> frexp() TENON_KIND { return tenon::frexp(TENON_SELF); }

  // --- of the gamma function
  Self polygamma(int64_t n) TENON_KIND { return tenon::polygamma(n, TENON_SELF); }
  Self mvlgamma(int64_t p) TENON_KIND { return tenon::mvlgamma(TENON_SELF, p); }

  // --- bounds on norms
  Self renorm(const Scalar& p, int64_t dim, const Scalar& maxnorm) TENON_KIND {
    return tenon::renorm(TENON_SELF, p, dim, maxnorm);
  }

  // --- products
  Self kron(const Operand& other) TENON_KIND { return tenon::kron(TENON_SELF, other); }
  Self inner(const Operand& other) TENON_KIND { return tenon::inner(TENON_SELF, other); }
  Self vdot(const Operand& other) TENON_KIND { return tenon::vdot(TENON_SELF, other); }
  Self ger(const Operand& vec2) TENON_KIND { return tenon::ger(TENON_SELF, vec2); }
  Self addr(const Operand& vec1, const Operand& vec2, const Scalar& beta = 1, const Scalar& alpha = 1) TENON_KIND {
    return tenon::addr(TENON_SELF, vec1, vec2, beta, alpha);
  }
  Self addbmm(const Operand& batch1, const Operand& batch2, const Scalar& beta = 1,
              const Scalar& alpha = 1) TENON_KIND {
    return tenon::addbmm(TENON_SELF, batch1, batch2, beta, alpha);
  }
  Self cross(const Operand& other, optional<int64_t> dim = nullopt) TENON_KIND {
    return tenon::cross(TENON_SELF, other, dim);
  }

  // --- diagonals and triangles
  Self diag(int64_t diagonal = 0) TENON_KIND { return tenon::diag(TENON_SELF, diagonal); }
  Self diag_embed(int64_t offset = 0, int64_t dim1 = -2, int64_t dim2 = -1) TENON_KIND {
    return tenon::diag_embed(TENON_SELF, offset, dim1, dim2);
  }
  Self diagflat(int64_t offset = 0) TENON_KIND { return tenon::diagflat(TENON_SELF, offset); }
  Self trace() TENON_KIND { return tenon::trace(TENON_SELF); }
  Self tril(int64_t diagonal = 0) TENON_KIND { return tenon::tril(TENON_SELF, diagonal); }
  Self triu(int64_t diagonal = 0) TENON_KIND { return tenon::triu(TENON_SELF, diagonal); }

  // --- rearranging and repeating
  Self rot90(int64_t k = 1, IntArrayRef dims = {0, 1}) TENON_KIND { return tenon::rot90(TENON_SELF, k, dims); }
  Self repeat_interleave(int64_t repeats, optional<int64_t> dim = nullopt) TENON_KIND {
    return tenon::repeat_interleave(TENON_SELF, repeats, dim);
  }
  Self repeat_interleave(const Operand& repeats, optional<int64_t> dim = nullopt,
                         optional<int64_t> output_size = nullopt) TENON_KIND {
    return tenon::repeat_interleave(TENON_SELF, repeats, dim, output_size);
  }
  Self sum_to_size(IntArrayRef size) TENON_KIND { return tenon::sum_to_size(TENON_SELF, size); }

  // --- statistics
  Self nanmean(OptionalIntArrayRef dim = nullopt, bool keepdim = false,
               optional<ScalarType> dtype = nullopt) TENON_KIND {
    return tenon::nanmean(TENON_SELF, dim, keepdim, dtype);
  }
  Self cov(int64_t correction = 1, const optional<Self>& fweights = nullopt,
           const optional<Self>& aweights = nullopt) TENON_KIND {
    return tenon::cov(TENON_SELF, correction, fweights, aweights);
  }
  Self corrcoef() TENON_KIND { return tenon::corrcoef(TENON_SELF); }
  Self diff(int64_t n = 1, int64_t dim = -1, const optional<Self>& prepend = nullopt,
            const optional<Self>& append = nullopt) TENON_KIND {
    return tenon::diff(TENON_SELF, n, dim, prepend, append);
  }
  Self dist(const Operand& other, const Scalar& p = 2) TENON_KIND { return tenon::dist(TENON_SELF, other, p); }

  // --- reductions, with more ways to say what
  Self any(OptionalIntArrayRef dim, bool keepdim = false) TENON_KIND { return tenon::any(TENON_SELF, dim, keepdim); }
  Self all(OptionalIntArrayRef dim, bool keepdim = false) TENON_KIND { return tenon::all(TENON_SELF, dim, keepdim); }
  Self norm(const optional<Scalar>& p, ScalarType dtype) TENON_KIND { return tenon::norm(TENON_SELF, p, dtype); }
  Self norm(const optional<Scalar>& p, IntArrayRef dim, bool keepdim, ScalarType dtype) TENON_KIND {
    return tenon::norm(TENON_SELF, p, dim, keepdim, dtype);
  }

  // --- sets and counts
  Self nonzero_static(int64_t size, int64_t fill_value = -1) TENON_KIND {
    return tenon::nonzero_static(TENON_SELF, size, fill_value);
  }

  // --- choices and grids
  Self matrix_power(int64_t n) TENON_KIND { return tenon::matrix_power(TENON_SELF, n); }

  // --- places
  Self as_strided_scatter(const Operand& src, IntArrayRef size, IntArrayRef stride,
                          optional<int64_t> storage_offset = nullopt) TENON_KIND {
    return tenon::as_strided_scatter(TENON_SELF, src, size, stride, storage_offset);
  }
  Self index_reduce(int64_t dim, const Operand& index, const Operand& source, std::string_view reduce,
                    bool include_self = true) TENON_KIND {
    return tenon::index_reduce(TENON_SELF, dim, index, source, reduce, include_self);
  }
  Self movedim(int64_t source, int64_t destination) TENON_KIND {
    return tenon::movedim(TENON_SELF, source, destination);
  }
  Self moveaxis(int64_t source, int64_t destination) TENON_KIND {
    return tenon::moveaxis(TENON_SELF, source, destination);
  }
  Self narrow(int64_t dim, const Operand& start, int64_t length) TENON_KIND {
    return tenon::narrow(TENON_SELF, dim, start, length);
  }
  Self clone(MemoryFormat format) TENON_KIND { return tenon::clone(TENON_SELF, format); }

  // --- running along a dim; sums and products of bools and integers are int64
  Self cumsum(int64_t dim, optional<ScalarType> dtype = nullopt) TENON_KIND {
    return tenon::cumsum(TENON_SELF, dim, dtype);
  }
  Self cumprod(int64_t dim, optional<ScalarType> dtype = nullopt) TENON_KIND {
    return tenon::cumprod(TENON_SELF, dim, dtype);
  }
  std::tuple<Self, Self> cummax(int64_t dim) TENON_KIND { return tenon::cummax(TENON_SELF, dim); }
  std::tuple<Self, Self> cummin(int64_t dim) TENON_KIND { return tenon::cummin(TENON_SELF, dim); }
  Self logcumsumexp(int64_t dim) TENON_KIND { return tenon::logcumsumexp(TENON_SELF, dim); }

  // --- sorting: always stable; nan is greater than every number
  std::tuple<Self, Self> sort(int64_t dim = -1, bool descending = false) TENON_KIND {
    return tenon::sort(TENON_SELF, dim, descending);
  }
  std::tuple<Self, Self> sort(optional<bool> stable, int64_t dim = -1, bool descending = false) TENON_KIND {
    return tenon::sort(TENON_SELF, stable, dim, descending);
  }
  Self argsort(int64_t dim = -1, bool descending = false) TENON_KIND {
    return tenon::argsort(TENON_SELF, dim, descending);
  }
  Self argsort(bool stable, int64_t dim, bool descending = false) TENON_KIND {
    return tenon::argsort(TENON_SELF, stable, dim, descending);
  }
  Self msort() TENON_KIND { return tenon::msort(TENON_SELF); }
  std::tuple<Self, Self> topk(int64_t k, int64_t dim = -1, bool largest = true, bool sorted = true) TENON_KIND {
    return tenon::topk(TENON_SELF, k, dim, largest, sorted);
  }
  std::tuple<Self, Self> kthvalue(int64_t k, int64_t dim = -1, bool keepdim = false) TENON_KIND {
    return tenon::kthvalue(TENON_SELF, k, dim, keepdim);
  }
  Self median() TENON_KIND { return tenon::median(TENON_SELF); }
  std::tuple<Self, Self> median(int64_t dim, bool keepdim = false) TENON_KIND {
    return tenon::median(TENON_SELF, dim, keepdim);
  }
  Self nanmedian() TENON_KIND { return tenon::nanmedian(TENON_SELF); }
  std::tuple<Self, Self> nanmedian(int64_t dim, bool keepdim = false) TENON_KIND {
    return tenon::nanmedian(TENON_SELF, dim, keepdim);
  }
  std::tuple<Self, Self> mode(int64_t dim = -1, bool keepdim = false) TENON_KIND {
    return tenon::mode(TENON_SELF, dim, keepdim);
  }
  Self quantile(double q, optional<int64_t> dim = nullopt, bool keepdim = false,
                std::string_view interpolation = "linear") TENON_KIND {
    return tenon::quantile(TENON_SELF, q, dim, keepdim, interpolation);
  }
  Self quantile(const Operand& q, optional<int64_t> dim = nullopt, bool keepdim = false,
                std::string_view interpolation = "linear") TENON_KIND {
    return tenon::quantile(TENON_SELF, q, dim, keepdim, interpolation);
  }
  Self nanquantile(double q, optional<int64_t> dim = nullopt, bool keepdim = false,
                   std::string_view interpolation = "linear") TENON_KIND {
    return tenon::nanquantile(TENON_SELF, q, dim, keepdim, interpolation);
  }

  // --- sets and counts. The sizes of these results depend on values: the operand is evaluated at the call.
  Self histc(int64_t bins = 100, const Scalar& min = 0, const Scalar& max = 0) TENON_KIND {
    return tenon::histc(TENON_SELF, bins, min, max);
  }
  std::tuple<Self, Self> histogram(const Operand& bins, const optional<Self>& weight = nullopt,
                                   bool density = false) TENON_KIND {
    return tenon::histogram(TENON_SELF, bins, weight, density);
  }
  std::tuple<Self, Self> histogram(int64_t bins = 100, optional<ArrayRef<double>> range = nullopt,
                                   const optional<Self>& weight = nullopt, bool density = false) TENON_KIND {
    return tenon::histogram(TENON_SELF, bins, range, weight, density);
  }
  Self bincount(const optional<Self>& weights = nullopt, int64_t minlength = 0) TENON_KIND {
    return tenon::bincount(TENON_SELF, weights, minlength);
  }

  // --- reading
  Self gather(int64_t dim, const Operand& index, bool sparse_grad = false) TENON_KIND {
    return tenon::gather(TENON_SELF, dim, index, sparse_grad);
  }
  Self index_select(int64_t dim, const Operand& index) TENON_KIND {
    return tenon::index_select(TENON_SELF, dim, index);
  }
  Self take(const Operand& index) TENON_KIND { return tenon::take(TENON_SELF, index); }
  Self take_along_dim(const Operand& indices, optional<int64_t> dim = nullopt) TENON_KIND {
    return tenon::take_along_dim(TENON_SELF, indices, dim);
  }

  // --- where something holds: these sizes depend on values, so the mask is evaluated at the call
  Self masked_select(const Operand& mask) TENON_KIND { return tenon::masked_select(TENON_SELF, mask); }
  Self nonzero() TENON_KIND { return tenon::nonzero(TENON_SELF); }
  std::vector<Self> nonzero_numpy() TENON_KIND { return tenon::nonzero_numpy(TENON_SELF); }
  Self argwhere() TENON_KIND { return tenon::argwhere(TENON_SELF); }

  // --- writing: copies of self with some elements replaced or combined, in order where places repeat
  Self scatter(int64_t dim, const Operand& index, const Operand& src) TENON_KIND {
    return tenon::scatter(TENON_SELF, dim, index, src);
  }
  Self scatter(int64_t dim, const Operand& index, const Scalar& value) TENON_KIND {
    return tenon::scatter(TENON_SELF, dim, index, value);
  }
  Self scatter(int64_t dim, const Operand& index, const Operand& src, std::string_view reduce) TENON_KIND {
    return tenon::scatter(TENON_SELF, dim, index, src, reduce);
  }
  Self scatter(int64_t dim, const Operand& index, const Scalar& value, std::string_view reduce) TENON_KIND {
    return tenon::scatter(TENON_SELF, dim, index, value, reduce);
  }
  Self scatter_add(int64_t dim, const Operand& index, const Operand& src) TENON_KIND {
    return tenon::scatter_add(TENON_SELF, dim, index, src);
  }
  Self scatter_reduce(int64_t dim, const Operand& index, const Operand& src, std::string_view reduce,
                      bool include_self = true) TENON_KIND {
    return tenon::scatter_reduce(TENON_SELF, dim, index, src, reduce, include_self);
  }
  Self index_add(int64_t dim, const Operand& index, const Operand& source, const Scalar& alpha = 1) TENON_KIND {
    return tenon::index_add(TENON_SELF, dim, index, source, alpha);
  }
  Self index_copy(int64_t dim, const Operand& index, const Operand& source) TENON_KIND {
    return tenon::index_copy(TENON_SELF, dim, index, source);
  }
  Self index_fill(int64_t dim, const Operand& index, const Scalar& value) TENON_KIND {
    return tenon::index_fill(TENON_SELF, dim, index, value);
  }
  Self index_fill(int64_t dim, const Operand& index, const Operand& value) TENON_KIND {
    return tenon::index_fill(TENON_SELF, dim, index, value);
  }
  Self put(const Operand& index, const Operand& source, bool accumulate = false) TENON_KIND {
    return tenon::put(TENON_SELF, index, source, accumulate);
  }
  Self masked_scatter(const Operand& mask, const Operand& source) TENON_KIND {
    return tenon::masked_scatter(TENON_SELF, mask, source);
  }

  // --- views.h
  Self as_strided(IntArrayRef size, IntArrayRef stride, optional<int64_t> storage_offset = nullopt) TENON_KIND {
    return tenon::as_strided(TENON_SELF, size, stride, storage_offset);
  }
  Self diagonal(int64_t offset = 0, int64_t dim1 = 0, int64_t dim2 = 1) TENON_KIND {
    return tenon::diagonal(TENON_SELF, offset, dim1, dim2);
  }
  Self moveaxis(IntArrayRef source, IntArrayRef destination) TENON_KIND {
    return tenon::moveaxis(TENON_SELF, source, destination);
  }
  Self swapdims(int64_t dim0, int64_t dim1) TENON_KIND { return tenon::swapdims(TENON_SELF, dim0, dim1); }
  Self adjoint() TENON_KIND { return tenon::adjoint(TENON_SELF); }
  Self conj() TENON_KIND { return tenon::conj(TENON_SELF); }
  Self resolve_conj() TENON_KIND { return tenon::resolve_conj(TENON_SELF); }
  std::vector<Self> tensor_split(int64_t sections, int64_t dim = 0) TENON_KIND {
    return tenon::tensor_split(TENON_SELF, sections, dim);
  }
  std::vector<Self> tensor_split(IntArrayRef indices, int64_t dim = 0) TENON_KIND {
    return tenon::tensor_split(TENON_SELF, indices, dim);
  }
  std::vector<Self> tensor_split(const Operand& indices_or_sections, int64_t dim = 0) TENON_KIND {
    return tenon::tensor_split(TENON_SELF, indices_or_sections, dim);
  }
  std::vector<Self> hsplit(int64_t sections) TENON_KIND { return tenon::hsplit(TENON_SELF, sections); }
  std::vector<Self> hsplit(IntArrayRef indices) TENON_KIND { return tenon::hsplit(TENON_SELF, indices); }
  std::vector<Self> vsplit(int64_t sections) TENON_KIND { return tenon::vsplit(TENON_SELF, sections); }
  std::vector<Self> vsplit(IntArrayRef indices) TENON_KIND { return tenon::vsplit(TENON_SELF, indices); }
  std::vector<Self> dsplit(int64_t sections) TENON_KIND { return tenon::dsplit(TENON_SELF, sections); }
  std::vector<Self> dsplit(IntArrayRef indices) TENON_KIND { return tenon::dsplit(TENON_SELF, indices); }
  std::vector<Self> unsafe_chunk(int64_t chunks, int64_t dim = 0) TENON_KIND {
    return tenon::unsafe_chunk(TENON_SELF, chunks, dim);
  }
  std::vector<Self> unsafe_split(int64_t split_size, int64_t dim = 0) TENON_KIND {
    return tenon::unsafe_split(TENON_SELF, split_size, dim);
  }
  std::vector<Self> unsafe_split_with_sizes(IntArrayRef split_sizes, int64_t dim = 0) TENON_KIND {
    return tenon::unsafe_split_with_sizes(TENON_SELF, split_sizes, dim);
  }
  Self select_scatter(const Operand& src, int64_t dim, int64_t index) TENON_KIND {
    return tenon::select_scatter(TENON_SELF, src, dim, index);
  }
  Self slice_scatter(const Operand& src, int64_t dim = 0, optional<int64_t> start = nullopt,
                     optional<int64_t> end = nullopt, int64_t step = 1) TENON_KIND {
    return tenon::slice_scatter(TENON_SELF, src, dim, start, end, step);
  }
  Self diagonal_scatter(const Operand& src, int64_t offset = 0, int64_t dim1 = 0, int64_t dim2 = 1) TENON_KIND {
    return tenon::diagonal_scatter(TENON_SELF, src, offset, dim1, dim2);
  }

  // --- draws that depend on tensors: those whose checks need values evaluate them
  Self bernoulli(const optional<Generator>& generator = nullopt) TENON_KIND { return tenon::bernoulli(TENON_SELF, generator); }
  Self bernoulli(double p, const optional<Generator>& generator = nullopt) TENON_KIND {
    return tenon::bernoulli(TENON_SELF, p, generator);
  }
  Self multinomial(int64_t num_samples, bool replacement = false,
                   const optional<Generator>& generator = nullopt) TENON_KIND {
    return tenon::multinomial(TENON_SELF, num_samples, replacement, generator);
  }

  // --- more methods: they have no function of their own
  Self contiguous() TENON_KIND { return tenon::detail::contiguous(TENON_SELF); }  // itself when contiguous
  Self contiguous(MemoryFormat format) TENON_KIND { return tenon::detail::contiguous(TENON_SELF, format); }
  // the same bits; the last dim shrinks or grows if the item size changes
  Self view(ScalarType dtype) TENON_KIND { return tenon::detail::view(TENON_SELF, dtype); }
  Self mT() TENON_KIND { return tenon::detail::mT(TENON_SELF); }  // the last two dims swapped
  Self mH() TENON_KIND { return tenon::detail::mH(TENON_SELF); }
  Self H() TENON_KIND { return tenon::detail::H(TENON_SELF); }
  Self numpy_T() TENON_KIND { return tenon::detail::numpy_T(TENON_SELF); }  // all dims reversed: Python's x.T
  Self unfold(int64_t dimension, int64_t size, int64_t step) TENON_KIND {
    return tenon::detail::unfold(TENON_SELF, dimension, size, step);
  }  // windows; their elements as a new last dim
  Self repeat(IntArrayRef repeats) TENON_KIND { return tenon::detail::repeat(TENON_SELF, repeats); }
  Self index_put(ArrayRef<indexing::TensorIndex> indices, const Operand& value, bool accumulate = false) TENON_KIND {
    return tenon::detail::index_put(TENON_SELF, indices, value, accumulate);
  }
