// The rows of the operation table, and what each elementwise op computes on single elements: the definition
// that the interpreters use and that generated code is tested against.
#include "ir/op/ops.h"

#include <math.h>  // lgamma_r, which unlike std::lgamma writes no global

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <unordered_map>

#include "ir/base/fork.h"

namespace tenon::ir {
namespace {

constexpr uint8_t B = DomainBool, I = DomainInt, F = DomainFloat;
constexpr uint8_t Commutes = TraitCommutes, Expands = TraitExpands;

// --- integers: computed in 64 bits with unsigned wraparound, then cut to the type

int64_t wrapped(uint64_t a) { return static_cast<int64_t>(a); }

int64_t divide(int64_t a, int64_t b) {
  if (b == 0) return 0;
  return b == -1 ? wrapped(0 - static_cast<uint64_t>(a)) : a / b;
}

int64_t remainder(int64_t a, int64_t b) { return b == 0 || b == -1 ? 0 : a % b; }

// A power by squaring; a negative exponent gives the truncated reciprocal, as in PyTorch.
int64_t power(int64_t base, int64_t exponent) {
  if (exponent < 0) {
    if (base == 1) return 1;
    if (base == -1) return exponent % 2 ? -1 : 1;
    return 0;
  }
  uint64_t result = 1;
  auto factor = static_cast<uint64_t>(base);
  for (auto left = static_cast<uint64_t>(exponent); left; left >>= 1) {
    if (left & 1) result *= factor;
    factor *= factor;
  }
  return wrapped(result);
}

// The upper half of the product of the lowest `width` bits of each, without sign, by halves of 32 bits.
uint64_t upper_half(uint64_t a, uint64_t b, int width) {
  constexpr uint64_t kLow = 0xffffffffu;
  if (width <= 32) {
    const uint64_t mask = kLow >> (32 - width);
    return (a & mask) * (b & mask) >> width;
  }
  const uint64_t low = (a & kLow) * (b & kLow), across = (a >> 32) * (b & kLow) + (low >> 32);
  const uint64_t other = (a & kLow) * (b >> 32) + (across & kLow);
  return (a >> 32) * (b >> 32) + (across >> 32) + (other >> 32);
}

int64_t integer_unary(Op op, int64_t a) {
  switch (op) {
    case Op::Neg: return wrapped(0 - static_cast<uint64_t>(a));
    case Op::Abs: return a < 0 ? wrapped(0 - static_cast<uint64_t>(a)) : a;
    case Op::Sign: return (a > 0) - (a < 0);
    case Op::Not: return ~a;
    default: throw IrError("no integer value for " + std::string(info(op).text));
  }
}

int64_t integer_binary(Op op, int64_t a, int64_t b, int width) {
  const auto ua = static_cast<uint64_t>(a), ub = static_cast<uint64_t>(b);
  const bool in_range = b >= 0 && b < width;
  switch (op) {
    case Op::Add: return wrapped(ua + ub);
    case Op::Sub: return wrapped(ua - ub);
    case Op::Mul: return wrapped(ua * ub);
    case Op::Div: return divide(a, b);
    case Op::Rem: return remainder(a, b);
    case Op::MulHi: return wrapped(upper_half(ua, ub, width));
    case Op::Gcd: return wrapped(std::gcd(a < 0 ? 0 - ua : ua, b < 0 ? 0 - ub : ub));
    case Op::Max: return a > b ? a : b;
    case Op::Min: return a < b ? a : b;
    case Op::Pow: return power(a, b);
    case Op::And: return a & b;
    case Op::Or: return a | b;
    case Op::Xor: return a ^ b;
    case Op::Shl: return in_range ? wrapped(ua << b) : 0;
    case Op::Shr: return in_range ? a >> b : -static_cast<int64_t>(a < 0);
    default: throw IrError("no integer value for " + std::string(info(op).text));
  }
}

// --- floats: T is float or double; what is not correctly rounded goes through libm in double

// Newton's method on erf, or on erfc near 1 where erf has no digits left.
double inverse_erf(double x) {
  if (!(std::fabs(x) < 1)) return std::fabs(x) == 1 ? x * HUGE_VAL : std::numeric_limits<double>::quiet_NaN();
  if (std::fabs(x) < 1e-8) return x * 0.88622692545275801365;  // sqrt(pi)/2, the series' first term
  // Winitzki's approximation, good to 2e-3, starts it.
  const double a = std::fabs(x), l = std::log1p(-a * a), k = 2 / (3.14159265358979323846 * 0.147) + l / 2;
  double y = std::sqrt(std::sqrt(k * k - l / 0.147) - k);
  for (int i = 0; i < 4; ++i) {
    const double error = a < 0.5 ? std::erf(y) - a : (1 - a) - std::erfc(y);
    const double step = error / (1.12837916709551257390 * std::exp(-y * y));  // 2/sqrt(pi)
    y -= step / (1 + y * step);                                               // Halley's correction
  }
  return std::copysign(y, x);
}

double log_gamma(double x) {
  int sign;
  return lgamma_r(x, &sign);
}

double transcendental(Op op, double x) {
  switch (op) {
    case Op::Exp: return std::exp(x);
    case Op::Exp2: return std::exp2(x);
    case Op::Expm1: return std::expm1(x);
    case Op::Log: return std::log(x);
    case Op::Log2: return std::log2(x);
    case Op::Log10: return std::log10(x);
    case Op::Log1p: return std::log1p(x);
    case Op::Sin: return std::sin(x);
    case Op::Cos: return std::cos(x);
    case Op::Tan: return std::tan(x);
    case Op::Asin: return std::asin(x);
    case Op::Acos: return std::acos(x);
    case Op::Atan: return std::atan(x);
    case Op::Sinh: return std::sinh(x);
    case Op::Cosh: return std::cosh(x);
    case Op::Tanh: return std::tanh(x);
    case Op::Asinh: return std::asinh(x);
    case Op::Acosh: return std::acosh(x);
    case Op::Atanh: return std::atanh(x);
    case Op::Erf: return std::erf(x);
    case Op::Erfc: return std::erfc(x);
    case Op::Gelu: return 0.5 * x * std::erfc(-x / std::numbers::sqrt2);
    case Op::GeluGrad:
      return 0.5 * std::erfc(-x / std::numbers::sqrt2) + x * std::exp(-0.5 * x * x) * std::numbers::inv_sqrtpi / std::numbers::sqrt2;
    case Op::Erfinv: return inverse_erf(x);
    case Op::Lgamma: return log_gamma(x);
    default: throw IrError("no float value for " + std::string(info(op).text));
  }
}

template <typename T>
T float_unary(Op op, T x) {
  switch (op) {
    case Op::Neg: return -x;
    case Op::Abs: return std::fabs(x);
    case Op::Sign: return static_cast<T>((x > 0) - (x < 0));
    case Op::Floor: return std::floor(x);
    case Op::Ceil: return std::ceil(x);
    case Op::Trunc: return std::trunc(x);
    case Op::Round: return std::nearbyint(x);
    case Op::Sqrt: return std::sqrt(x);
    case Op::Sigmoid: {
      const double e = std::exp(-static_cast<double>(x));
      return std::isinf(static_cast<T>(e)) ? T(0) : static_cast<T>(1 / (1 + e));
    }
    default: return static_cast<T>(transcendental(op, static_cast<double>(x)));
  }
}

template <typename T>
T float_binary(Op op, T a, T b) {
  const double wide_a = static_cast<double>(a), wide_b = static_cast<double>(b);
  switch (op) {
    case Op::Add: return a + b;
    case Op::Sub: return a - b;
    case Op::Mul: return a * b;
    case Op::Div: return a / b;
    case Op::Rem: return std::fmod(a, b);
    case Op::Max: return a > b || std::isnan(a) ? a : b;
    case Op::Min: return a < b || std::isnan(a) ? a : b;
    case Op::CopySign: return std::copysign(a, b);
    case Op::Pow: return static_cast<T>(std::pow(wide_a, wide_b));
    case Op::Atan2: return static_cast<T>(std::atan2(wide_a, wide_b));
    case Op::Hypot: return static_cast<T>(std::hypot(wide_a, wide_b));
    default: throw IrError("no float value for " + std::string(info(op).text));
  }
}

template <typename T>
bool compare(Op op, T a, T b) {
  switch (op) {
    case Op::Eq: return a == b;
    case Op::Ne: return a != b;
    case Op::Lt: return a < b;
    case Op::Le: return a <= b;
    case Op::Gt: return a > b;
    default: return a >= b;
  }
}

template <typename T>
T float_value(Op op, std::span<const Constant> args) {
  T v[3] = {};
  for (size_t i = 0; i < args.size(); ++i) v[i] = static_cast<T>(to_double(args[i]));  // exact
  if (op == Op::Fma) return std::fma(v[0], v[1], v[2]);
  return args.size() == 1 ? float_unary(op, v[0]) : float_binary(op, v[0], v[1]);
}

// Sign and payload of a nan survive these two, and a half needs no widening.
Constant sign_bit_value(Op op, Constant x) {
  const uint64_t sign = uint64_t{1} << (8 * item_size(x.dtype) - 1);
  return {x.dtype, op == Op::Neg ? x.bits ^ sign : x.bits & ~sign};
}

Constant bool_value(Op op, std::span<const Constant> args) {
  const bool a = args[0].bits != 0, b = args.size() > 1 && args[1].bits != 0;
  switch (op) {
    case Op::Not: return {DType::Bool, !a};
    case Op::And:
    case Op::Min: return {DType::Bool, a && b};
    case Op::Or:
    case Op::Max: return {DType::Bool, a || b};
    case Op::Xor: return {DType::Bool, a != b};
    default: throw IrError("no bool value for " + std::string(info(op).text));
  }
}

}  // namespace

const OpInfo kOpTable[] = {
#define OP(Name, text, cls, arity, rule, domain, cost, traits) \
  {text, OpClass::cls, arity, TypeRule::rule, static_cast<uint8_t>(domain), cost, static_cast<uint8_t>(traits)},
#include "ir/op/ops.def"
};

const int kOpCount = static_cast<int>(sizeof kOpTable / sizeof kOpTable[0]);

std::optional<Op> op_from_text(std::string_view text) {
  static const auto* const by_text = [] {
    auto* map = new std::unordered_map<std::string_view, Op>;
    for (int i = 0; i < kOpCount; ++i) map->emplace(kOpTable[i].text, static_cast<Op>(i));
    return map;
  }();
  const auto found = by_text->find(text);
  if (found == by_text->end()) return std::nullopt;
  return found->second;
}

[[maybe_unused]] const bool made_before_fork = make_before_fork([] { op_from_text(""); });

Constant evaluate(Op op, std::span<const Constant> args, DType to) {
  const DType dtype = args[0].dtype;
  if (op == Op::Where) return args[0].bits ? args[1] : args[2];
  if (op == Op::Cast) return cast(args[0], to);
  if (op == Op::Bitcast) return {to, args[0].bits};
  if (info(op).rule == TypeRule::Compare) {
    if (is_float(dtype)) return {DType::Bool, compare(op, to_double(args[0]), to_double(args[1]))};
    return {DType::Bool, compare(op, to_int64(args[0]), to_int64(args[1]))};
  }
  if (dtype == DType::Bool) return bool_value(op, args);
  if (is_int(dtype)) {
    const int64_t a = to_int64(args[0]);
    if (op == Op::Check) return {dtype, a >= 0 && a < to_int64(args[1]) ? args[0].bits : 0};
    if (args.size() == 1) return constant(dtype, integer_unary(op, a));
    return constant(dtype, integer_binary(op, a, to_int64(args[1]), 8 * item_size(dtype)));
  }
  if (op == Op::Neg || op == Op::Abs) return sign_bit_value(op, args[0]);
  if (dtype == DType::F64) return constant(dtype, float_value<double>(op, args));
  return constant(dtype, static_cast<double>(float_value<float>(op, args)));
}

namespace {

enum class Start : uint8_t { Zero, MinusZero, One, Lowest, Greatest };
struct Combination {
  Op op, combine;
  Start start;
};
constexpr Combination kCombinations[] = {
#define COMBINE(Name, Combining, From) {Op::Name, Op::Combining, Start::From},
#include "ir/op/ops.def"
};

const Combination& combination(Op op) {
  const auto found = std::find_if(std::begin(kCombinations), std::end(kCombinations), [&](const Combination& c) { return c.op == op; });
  if (found == std::end(kCombinations)) throw IrError(std::string(info(op).text) + ": combines nothing");
  return *found;
}

// The least (or greatest) value of a type.
Constant extreme(DType dtype, bool lowest) {
  if (is_float(dtype)) return constant(dtype, lowest ? -HUGE_VAL : HUGE_VAL);
  if (dtype == DType::Bool) return {dtype, !lowest};
  const int width = 8 * item_size(dtype);
  const uint64_t all = ~uint64_t{0} >> (64 - width), sign = uint64_t{1} << (width - 1);
  if (!is_signed(dtype)) return {dtype, lowest ? 0 : all};
  return {dtype, lowest ? sign : sign - 1};
}

}  // namespace

Op combining_op(Op op) { return combination(op).combine; }

Constant combine_start(Op op, DType dtype) {
  switch (combination(op).start) {
    case Start::Zero: return {dtype, 0};
    case Start::MinusZero: return is_float(dtype) ? constant(dtype, -0.0) : Constant{dtype, 0};
    case Start::One: return constant(dtype, 1.0);
    case Start::Lowest: return extreme(dtype, true);
    default: return extreme(dtype, false);
  }
}

Constant reduce_identity(Op reduction, DType dtype) {
  const bool position = reduction == Op::ArgMax || reduction == Op::ArgMin;
  return position || reduction == Op::Dot ? Constant{dtype, 0} : combine_start(reduction, dtype);
}

}  // namespace tenon::ir
