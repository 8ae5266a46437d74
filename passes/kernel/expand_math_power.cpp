// pow, hypot, rem and sign in basic ops, for floats and integers. pow is exp(y log x) with the logarithm as a
// pair of doubles; rem is exact: one division where the type holds the whole quotient, else long division for f32, modular exponentiation
// of the exponent gap for f64.
#include <algorithm>
#include <bit>

#include "passes/kernel/expand_math.h"

namespace tenon::passes::math {
namespace {

using ir::kInfinity, ir::kNan;

// |x|^y without the cases that logarithms cannot give; f64.
Expr power_of_magnitude(Expr a, Expr y, bool brief) {
  if (brief) return exp_short(y * log_short(a));
  const Pair l = log_pair(a);
  const Expr high = select(a < kInfinity, select(equal(a, 0.0), constant(a, -kInfinity), l.hi), a);
  const Pair product = two_product(y, high);
  const Expr bounded = abs(product.hi) < 1000.0;
  const ScaledExp e = exp_parts({product.hi, select(bounded, fma(y, l.lo, product.lo), 0.0)});
  return scale_by(e.fraction.hi, e.shifter);
}

Expr pow_double(Expr x, Expr y, bool brief) {
  const Expr a = abs(x);
  const Expr whole = equal(floor(y), y), half = y * 0.5;
  const Expr odd = whole & unequal(floor(half), half);
  Expr result = power_of_magnitude(a, y, brief);
  result = select(apply(Op::Not, {whole}) & (x < 0.0) & (a < kInfinity), kNan, result);
  result = select(sign_bit(x) & odd, -result, result);
  const Expr one = equal(y, 0.0) | equal(x, 1.0) | (equal(a, 1.0) & equal(abs(y), kInfinity));
  return select(one, 1.0, result);
}

// Square and multiply over the k low bits of a non-negative exponent y = n 2^k + rest. The others take no more squares, since for an odd
// x d = x^(2^k) - 1 is a multiple of 2^(k + 2), so that of (1 + d)^n = 1 + n d + n (n - 1) / 2 d^2 + ... the terms behind these are
// multiples of 2^bits. An even x is 0 from x^bits on. A negative exponent gives the truncated reciprocal.
Expr pow_integer(Expr x, Expr y) {
  const int bits = 8 * ir::item_size(x.dtype());
  const int k = std::max<int>((bits + 2) / 3 - 2, std::bit_width(static_cast<unsigned>(bits)) - 1);
  Expr low = constant(x, 1.0), square = x;
  for (int i = 0; i < k; ++i) {
    const Expr bit = unequal((i ? y >> i : y) & 1.0, 0.0);
    low = select(bit, low * square, low);
    square = square * square;
  }
  const Expr n = y >> k, d = square - 1.0, odd_n = unequal(n & 1.0, 0.0);
  const Expr pairs = select(odd_n, n * ((n - 1.0) >> 1), (n >> 1) * (n - 1.0));
  const Expr vanishes = equal(x & 1.0, 0.0) & unequal(n, 0.0);
  const Expr result = select(vanishes, 0.0, low * (d * (n + pairs * d) + 1.0));
  if (!ir::is_signed(x.dtype())) return result;
  const Expr odd = unequal(y & 1.0, 0.0);
  const Expr reciprocal = select(equal(x, 1.0), 1.0, select(equal(x, -1.0), select_constant(odd, x, -1.0, 1.0), 0.0));
  return select(y < 0.0, reciprocal, result);
}

// x mod y for f32 values held in f64, x >= 0, y > 0: long division by y 2^(29 i), 29 bits of quotient at a
// time. Each quotient is at most one too large and each remainder fits in 53 bits, so every step is exact.
Expr rem_single(Expr x, Expr y) {
  constexpr int bits = 29, steps = 10;  // 2^128 / 2^-149 is less than 2^(29 * 10)
  Expr divisor[steps] = {y};
  for (int i = 1; i < steps; ++i) divisor[i] = divisor[i - 1] * static_cast<double>(1 << bits);
  Expr left = x;
  for (int i = steps - 1; i >= 0; --i) {
    const Expr rest = fma(-trunc(left / divisor[i]), divisor[i], left);
    left = select(rest < 0.0, rest + divisor[i], rest);
  }
  return left;
}

// a b mod m for integers 0 <= a, b < m < 2^53 held in doubles. The product is h + l exactly; h - q m lies in
// [-m, m].
Expr multiply_modulo(Expr a, Expr b, Expr m) {
  const Pair product = two_product(a, b);
  const Expr h = fma(-round(product.hi / m), m, product.hi);
  const Expr above = select(h < 0.0, h + m, h);
  const Expr r = select(product.lo < 0.0, above, above - m) + product.lo;
  return select(r < 0.0, r + m, r);
}

// |x| = mantissa * 2^(exponent - 1075) with an integer mantissa in [2^52, 2^53).
struct Parts {
  Expr mantissa;
  Expr exponent;
};

Parts parts(Expr magnitude) {
  const Expr tiny = magnitude < 0x1p-1022;
  const Expr bits = to_bits(select(tiny, magnitude * 0x1p54, magnitude));
  const Expr fraction = bits & bits_constant(bits, DType::I64, (uint64_t{1} << 52) - 1);
  const Expr mantissa = from_bits(fraction | bits_constant(bits, DType::I64, uint64_t{1075} << 52));
  return {mantissa, (bits >> 52) - select_constant(tiny, bits, 54.0, 0.0)};
}

// (mx 2^gap) mod my with 2^gap mod my by squaring over the bits of the gap; its upper bits give at most 2^32,
// below my.
Expr rem_double(Expr x, Expr y) {
  const Parts px = parts(x), py = parts(y);
  const Expr m = py.mantissa, gap = max(px.exponent - py.exponent, 0.0);
  Expr power = from_bits(((gap >> 6) + 1023.0) << 52);
  for (int bit = 5; bit >= 0; --bit) {
    power = multiply_modulo(power, power, m);
    const Expr room = m - power;
    const Expr doubled = select(power >= room, power - room, power + power);
    power = select(unequal(gap & double(1 << bit), 0.0), doubled, power);
  }
  const Expr reduced = select(px.mantissa >= m, px.mantissa - m, px.mantissa);
  const Expr rest = multiply_modulo(reduced, power, m);
  const Expr exponent = py.exponent - 1075.0, half = exponent >> 1;
  const Expr scaled = rest * from_bits((half + 1023.0) << 52) * from_bits((exponent - half + 1023.0) << 52);
  return select(x < y, x, scaled);
}

// The whole part of the quotient is at most one too large, from rounding; what is left is a multiple of y's last bit, so it is exact.
Expr rem_near(Expr x, Expr y, Expr quotient) {
  const Expr rest = fma(-trunc(quotient), y, x);
  return select(rest < 0.0, rest + y, rest);
}

// Where the quotient is too large for that, the other way is taken, behind a branch (passes/schedule/branches.h).
Expr rem_float(Expr x, Expr y) {
  const Expr a = abs(x), b = abs(y), quotient = a / b;
  const Expr valid = (a < kInfinity) & (b > 0.0);
  const Expr far = is_single(x) ? in_double([](Expr p, Expr q) { return rem_single(p, q); }, a, b) : rem_double(a, b);
  const Expr is_far = valid & (quotient >= (is_single(x) ? 0x1p22 : 0x1p51));
  const Expr rest = select(is_far, far, rem_near(a, b, quotient));
  const Expr within = select(equal(b, kInfinity), x, with_sign_of(rest, x));
  return select(valid, within, kNan);
}

// a^2 + b^2 as a pair, and the root's own error put right; scaled so that the squares neither overflow nor
// vanish.
Expr hypot_double(Expr x, Expr y) {
  const Expr larger = max(abs(x), abs(y));
  const Expr scale = select(larger > 0x1p500, 0x1p-600, select_constant(larger < 0x1p-400, x, 0x1p600, 1.0));
  const Expr back = select(larger > 0x1p500, 0x1p600, select_constant(larger < 0x1p-400, x, 0x1p-600, 1.0));
  const Expr a = larger * scale, b = min(abs(x), abs(y)) * scale;
  const Pair a2 = two_product(a, a), b2 = two_product(b, b), sum = fast_two_sum(a2.hi, b2.hi);
  const Expr root = sqrt(sum.hi);
  const Expr error = fma(-root, root, sum.hi) + (sum.lo + (a2.lo + b2.lo));
  return (root + error / fma(root, 2.0, 0x1p-1000)) * back;
}

}  // namespace

static Expr pow(Expr x, Expr y) {
  if (ir::is_int(x.dtype())) return pow_integer(x, y);
  if (!is_single(x)) return pow_double(x, y, false);
  return in_double([](Expr a, Expr b) { return pow_double(a, b, true); }, x, y);
}

// f32: the squares are exact in f64. An infinity wins over nan.
static Expr hypot(Expr x, Expr y) {
  const Expr length = is_single(x) ? in_double([](Expr a, Expr b) { return sqrt(fma(a, a, b * b)); }, x, y) : hypot_double(x, y);
  return select(equal(abs(x), kInfinity) | equal(abs(y), kInfinity), kInfinity, length);
}

// Integers: what truncating division leaves; 0 for a zero divisor.
static Expr rem(Expr x, Expr y) {
  if (!ir::is_int(x.dtype())) return rem_float(x, y);
  const Expr zero = equal(y, 0.0), quotient = x / y, left = x - quotient * y;
  return select(zero, 0.0, left);
}

// 0 for both zeros and for nan.
static Expr sign(Expr x) {
  if (!ir::is_signed(x.dtype())) return select_constant(x > 0.0, x, 1.0, 0.0);
  return select(x > 0.0, 1.0, select_constant(x < 0.0, x, -1.0, 0.0));
}

std::span<const Formula> power_formulas() {
  static constexpr Formula list[] = {{Op::Pow, pow}, {Op::Hypot, hypot}, {Op::Rem, rem}, {Op::Sign, sign}, {Op::CopySign, with_sign_of}};
  return list;
}

}  // namespace tenon::passes::math
