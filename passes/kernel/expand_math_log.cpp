// log, log2, log10, log1p and the inverse hyperbolic functions in basic ops. Method: x = 2^k (1 + f) with 1 +
// f around 1, and log(1 + f) by a minimax polynomial: in f for f32; for f64 in s = f / (2 + f), whose odd
// series is short (the form used in fdlibm). k ln2 is added in two parts.
#include "passes/kernel/expand_math.h"

namespace tenon::passes::math {
namespace {

using ir::kInfinity, ir::kNan;

struct Split {
  Expr k;  // as a float
  Expr f;  // x = 2^k (1 + f)
};

// Bits of the smallest 1 + f: 2/3 for f32, sqrt(1/2) for f64.
Expr lowest_fraction(Expr bits) { return bits_constant(bits, bits.dtype(), bits.dtype() == DType::I32 ? 0x3f2aaaab : 0x3fe6a09e667f3bcd); }

Expr exponent_above(Expr bits) { return (bits - lowest_fraction(bits)) >> format(bits.dtype()).mantissa; }

Split split(Expr x) {
  const bool single = is_single(x);
  const Expr tiny = x < (single ? 0x1p-126 : 0x1p-1022);
  const Expr bits = to_bits(select(tiny, x * (single ? 0x1p23 : 0x1p52), x));
  const Expr k = exponent_above(bits);
  const Expr f = from_bits(bits - (k << format(bits.dtype()).mantissa)) - 1.0;
  return {small_to_float(k) - select_constant(tiny, x, single ? 23.0 : 52.0, 0.0), f};
}

// The values at and beyond the ends of the domain: nan below 0, -inf at 0, inf and nan as they are.
Expr with_log_limits(Expr x, Expr result) {
  const Expr bounded = select(x < kInfinity, result, x);
  return select(x > 0.0, bounded, select(equal(x, 0.0), constant(x, -kInfinity), kNan));
}

// log(1 + f) - f + f^2/2. For f32 a polynomial for |f| <= 1/3, to 2^-27.6 of log(1 + f). For f64, with s = f
// / (2 + f) and R = log((1+s)/(1-s))/s - 2, it is s (f^2/2 + R).
Expr log_tail(Expr f, Expr square) {
  if (is_single(f)) {
    return f * square * polynomial(f, {0.33333197, -0.2499992, 0.20011434, -0.16674452, 0.13989705, -0.1227323, 0.14060824, -0.12488752});
  }
  const Expr s = f / (f + 2.0), z = s * s;
  const Expr r = polynomial(z, {0.6666666666666735, 0.3999999999940934, 0.2857142874369192, 0.2222219842809572, 0.1818357241785579,
                                0.1531383011765239, 0.14798283630021283});
  return s * fma(z, r, square * 0.5);
}

// k ln2 + log(1 + f) + low.
Expr join(Expr k, Expr f, Expr low) {
  const Real ln2 = real_for(f, kLn2);
  const Expr square = f * f, rest = log_tail(f, square) + fma(k, ln2.lo, low);
  return fma(k, ln2.hi, f + fma(square, -0.5, rest));
}

// log(1 + f) * scale, as the product of f and the rest. The first of these and f^2 are exact as pairs.
Pair scaled_log(Expr f, Real scale) {
  const Pair square = two_product(f, f), product = two_product(f, constant(f, scale.hi));
  const Expr tail = log_tail(f, square.hi), rest = fma(square.hi, -0.5, tail), rounding = fma(square.hi, -0.5, tail - rest);
  return {product.hi, fma(rest, scale.hi, fma(fma(square.lo, -0.5, rounding), scale.hi, fma(f, scale.lo, product.lo)))};
}

// k * unit + fraction, where the product is 0 or the larger one.
Expr add_exponent(Expr k, Real unit, Pair fraction) {
  const Expr sum = fma(k, unit.hi, fraction.hi), low = fma(k, unit.hi, -sum) + fraction.hi;
  return sum + (low + fma(k, unit.lo, fraction.lo));
}

}  // namespace

Expr log(Expr x) {
  const Split t = split(x);
  return with_log_limits(x, join(t.k, t.f, constant(x, 0.0)));
}

static Expr log2(Expr x) {
  const Split t = split(x);
  const Pair fraction = scaled_log(t.f, real_for(x, {1.4426950408889634, 2.0355273740931033e-17}));
  const Pair sum = fast_two_sum(t.k, fraction.hi);
  return with_log_limits(x, sum.hi + (sum.lo + fraction.lo));
}

static Expr log10(Expr x) {
  const Split t = split(x);
  const Pair fraction = scaled_log(t.f, real_for(x, {0.4342944819032518, 1.098319650216765e-17}));
  return with_log_limits(x, add_exponent(t.k, real_for(x, {0.3010299956639812, -2.8037281277851704e-18}), fraction));
}

// 1 + x = 2^k (1 + f) with f = x 2^-k + (2^-k - 1) kept as a sum of two, so that no bit of a small x is lost.
// A huge x is scaled down first, where the 1 no longer counts and 2^-k would be denormal.
Expr log1p(Pair x) {
  const Format& layout = format(x.hi.dtype());
  const Expr huge = x.hi >= 0x1p60;
  const Expr scaled = select(huge, x.hi * 0x1p-100, x.hi), one = select_constant(huge, x.hi, 0.0, 1.0);
  const Expr k = exponent_above(to_bits(scaled + one));
  const Expr power = from_bits((double(layout.bias) - k) << layout.mantissa);
  const Pair f = two_sum(scaled * power, fma(one, power, -1.0));
  const Expr low = select(huge, 0.0, fma(x.lo, power, f.lo)) / (f.hi + 1.0);
  return join(small_to_float(k) + select_constant(huge, x.hi, 100.0, 0.0), f.hi, low);
}

static Expr log1p(Expr x) {
  const Expr whole = zero_if_tiny(x);
  const Expr bounded = select(x < kInfinity, log1p(Pair{whole, constant(x, 0.0)}), x);
  const Expr limit = select(equal(x, -1.0), constant(x, -kInfinity), kNan);
  return select(equal(whole, 0.0), x, select(x > -1.0, bounded, limit));
}

// With s = f / (2 + f) and z = s^2: log(1 + f) = 2s (1 + z/3 + z^2 T(z)); 2s and z/3 are carried as pairs,
// z^2 T, which is below 2^-12, as one double.
Pair log_pair(Expr x) {
  const Split t = split(x);
  const Pair divisor = fast_two_sum(constant(x, 2.0), t.f);
  const Expr s = t.f / divisor.hi;
  const Expr s_low = (fma(-s, divisor.hi, t.f) - s * divisor.lo) / divisor.hi;
  const Pair square = two_product(s, s);
  const Expr z = square.hi, z_low = fma(s + s, s_low, square.lo);
  const Expr tail = z * z *
                    polynomial(z, {0.2000000000000113, 0.14285714285048418, 0.11111111260215253, 0.09090892160579574, 0.07693379758083747,
                                   0.06628382687605923, 0.06598413970536593});
  constexpr double third = 1.0 / 3, third_low = 1.850371707708594e-17;
  const Pair first = two_product(z, constant(x, third));
  const Pair w = fast_two_sum(first.hi, tail);
  const Expr w_low = w.lo + (first.lo + fma(z, third_low, z_low * third));
  const Expr twice = s + s;
  const Pair product = two_product(twice, w.hi);
  const Pair sum = fast_two_sum(twice, product.hi);
  const Expr sum_low = sum.lo + (product.lo + fma(twice, w_low, (s_low + s_low) * (w.hi + 1.0)));
  const Pair whole = two_product(t.k, constant(x, kLn2.hi));
  const Pair total = two_sum(whole.hi, sum.hi);
  return fast_two_sum(total.hi, total.lo + (fma(t.k, kLn2.lo, whole.lo) + sum_low));
}

Expr log_short(Expr x) {
  const Split t = split(x);
  const Expr s = t.f / (t.f + 2.0), z = s * s;
  const Expr r = z * polynomial(z, {0.6666666667581952, 0.39999995614934225, 0.2857210994565952, 0.221761536157698, 0.1958468632313497});
  return with_log_limits(x, fma(t.k, kLn2.hi, fma(s, r, s + s)));
}

namespace {

// Of f32 in f64, where the plain logarithms have digits enough, but next to 0: there two terms of the series do.
Expr asinh_brief(Expr x) {
  const Expr a = abs(x), y = log_short(a + sqrt(fma(a, a, 1.0)));
  return with_sign_of(select(a < 0x1p-10, fma(a * a, a * (-1.0 / 6), a), y), x);
}
Expr acosh_brief(Expr x) { return select(x >= 1.0, log_short(x + sqrt((x - 1.0) * (x + 1.0))), kNan); }
Expr atanh_brief(Expr x) {
  const Expr a = abs(x), y = log_short((a + 1.0) / (1.0 - a)) * 0.5;
  return with_sign_of(select(a < 0x1p-10, fma(a * a, a * (1.0 / 3), a), y), x);
}

}  // namespace

// log(a + sqrt(a^2 + 1)) = log1p(a + a^2 / (1 + sqrt(a^2 + 1))); log(1 + (a - 1)) + ln2 for large a, where
// a^2 may overflow.
static Expr asinh(Expr x) {
  if (is_single(x)) return in_double(asinh_brief, x);
  const Expr a = abs(x), big = a > 0x1p30;
  const Expr square = a * a;
  const Pair sum = fast_two_sum(a, square / (sqrt(square + 1.0) + 1.0));
  const Expr y = log1p(Pair{select(big, a, sum.hi), select(big, -1.0, sum.lo)}) + select_constant(big, x, kLn2.hi, 0.0);
  const Expr bounded = select(a < kInfinity, y, a);
  return select(a < 0x1p-28, x, with_sign_of(bounded, x));
}

// With t = x - 1: log1p(t + sqrt(t (t + 2))), the root as a pair; log(1 + (x - 1)) + ln2 for large x.
static Expr acosh(Expr x) {
  if (is_single(x)) return in_double(acosh_brief, x);
  const Expr big = x > 0x1p30, t = x - 1.0;
  const Pair factor = fast_two_sum(constant(x, 2.0), t);  // inexact only where t is large and it does not matter
  const Pair square = two_product(t, factor.hi);
  const Expr root = sqrt(square.hi);
  const Expr root_low = (fma(-root, root, square.hi) + fma(t, factor.lo, square.lo)) / fma(root, 2.0, 0x1p-1000);
  const Pair sum = two_sum(t, root);
  const Expr y = log1p(Pair{select(big, x, sum.hi), select(big, -1.0, sum.lo + root_low)});
  const Expr bounded = select(x < kInfinity, y + select_constant(big, x, kLn2.hi, 0.0), x);
  return select(x >= 1.0, bounded, kNan);
}

// log1p(2a / (1 - a)) / 2, the quotient as a pair.
static Expr atanh(Expr x) {
  if (is_single(x)) return in_double(atanh_brief, x);
  const Expr a = abs(x), twice = a + a;
  const Pair divisor = fast_two_sum(constant(x, 1.0), -a);
  const Expr quotient = twice / divisor.hi;
  const Expr low = (fma(-quotient, divisor.hi, twice) - quotient * divisor.lo) / divisor.hi;
  const Expr y = log1p(Pair{quotient, low}) * 0.5;
  const Expr inside = select(a < 0x1p-28, x, with_sign_of(y, x));
  const Expr limit = with_sign_of(select(equal(a, 1.0), constant(x, kInfinity), kNan), x);
  return select(a < 1.0, inside, limit);
}

std::span<const Formula> log_formulas() {
  static constexpr Formula list[] = {{Op::Log, log},     {Op::Log2, log2},   {Op::Log10, log10}, {Op::Log1p, log1p},
                                     {Op::Asinh, asinh}, {Op::Acosh, acosh}, {Op::Atanh, atanh}};
  return list;
}

}  // namespace tenon::passes::math
