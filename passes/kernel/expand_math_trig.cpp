// sin, cos, tan and their inverses in basic ops, right for every finite argument.
//
// sin, cos, tan: x = (4j + q) pi/2 + r with |r| <= pi/4, then minimax polynomials in r. The quarter turns x *
// 2/pi are wanted modulo 4 only, so leading digits of 2/pi whose products with x are multiples of 4 are left
// out (Payne and Hanek): f32 picks one of four pairs of doubles, f64 a window of five 48-bit digits out
// of 25. f32 below 2^14 takes Cody and Waite's reduction instead, and the other one goes behind a branch (passes/schedule/branches.h).
// asin, acos: Cody and Waite's range reduction by (1-x)/2. atan, atan2: reduction by pi/4 to |t| <= tan(pi/8); atan of f32 takes 1/x.
#include <cmath>
#include <vector>

#include "passes/kernel/expand_math.h"

namespace tenon::passes::math {
namespace {

using ir::kInfinity, ir::kNan;
constexpr Real kHalfPi{1.5707963267948966, 6.123233995736766e-17};
constexpr double kQuarterPi = 0.7853981633974483, kQuarterPiLow = 3.061616997868383e-17;

// Adding this to a double below 2^51 rounds it to an integer, which stands in the low bits of the sum.
constexpr double kShift = 0x1.8p52;

struct Turn {
  Pair r;        // radians in [-pi/4, pi/4]
  Expr quarter;  // an integer of the same size, q in its two low bits
};

// x is an f32 widened to f64. Below 2^51 all of 2/pi counts; each further band of 27 exponents takes x *
// 2^-27b, which is still an even integer, and so 2^27b * 2/pi modulo 2, as a sum of two doubles.
Turn quarter_turns_far(Expr x) {
  const Expr a = abs(x);
  Expr scaled = x, high = constant(x, 0x1.45f306dc9c883p-1), low = constant(x, -0x1.6b01ec5417056p-55);
  const auto band = [&](double from, double scale, double c, double c_low) {
    const Expr above = a >= from;
    scaled = select(above, x * scale, scaled);
    high = select(above, c, high);
    low = select(above, c_low, low);
  };
  band(0x1p51, 0x1p-27, -0x1.1b1bbead603d9p-1, 0x1.5f47d4d377037p-55);
  band(0x1p78, 0x1p-54, -0x1.6b01ec5417056p-1, -0x1.6447e493ad4cep-55);
  band(0x1p105, 0x1p-81, 0x1.5f47d4d377037p-1, -0x1.3ad4cd8778df8p-56);
  const Expr shifted = fma(scaled, high, kShift);
  const Expr radians = fma(scaled, low, fma(scaled, high, kShift - shifted)) * kHalfPi.hi;
  const Expr r = cast(radians, DType::F32);
  return {{r, cast(radians - cast(r, DType::F64), DType::F32)}, cast(to_bits(shifted), DType::I32)};
}

// An f32 below 2^14 has less than 2^14 quarter turns n. Of pi/2 = p1 + p2 + p3, p1 is the nearest f32, so x - n p1 is exact in f32, and
// p2 has ten bits, so n p2 is. The error is below 0.08 ulp of r, also where x is next to a multiple of pi/2.
constexpr double kNear = 0x1p14;

Turn quarter_turns_near(Expr x) {
  constexpr double shift = 0x1.8p23, p1 = 0x1.921fb6p+0, p2 = -0x1.778p-25, p3 = 0x1.68c234p-39;
  const Expr shifted = fma(x, 0x1.45f306p-1, shift), n = shifted - shift;
  const Expr left = fma(n, -p1, x), second = n * p2, r = left - second;
  return {{r, fma(n, -p3, (left - r) - second)}, to_bits(shifted)};
}

// An f64 below 2^27 has less than 2^27 quarter turns n. Of pi/2 = p1 + p2 + p3, p1 is the nearest f64: x - n p1 is exact, for it is a
// multiple of 2^-53 and below 1; n p2 is exact as a pair, whose last bit divides that difference, so that their sum is exact too.
constexpr double kNearDouble = 0x1p27;

Turn quarter_turns_near_double(Expr x) {
  constexpr double p3 = -1.4973849048591833e-33;
  const Expr shifted = fma(x, 0x1.45f306dc9c883p-1, kShift), n = shifted - kShift;
  const Pair second = two_product(n, constant(x, kHalfPi.lo));
  const Pair r = fast_two_sum(fma(n, -kHalfPi.hi, x), -second.hi);
  return {{r.hi, r.lo - fma(n, p3, second.lo)}, to_bits(shifted)};
}

// 2/pi in digits of 48 bits; digit i has the weight 2^(-48 (i+1)).
constexpr int kDigitBits = 48;
constexpr int64_t kTwoOverPiDigits[] = {0xa2f9836e4e44, 0x1529fc2757d1, 0xf534ddc0db62, 0x95993c439041, 0xfe5163abdebb,
                                        0xc561b7246e3a, 0x424dd2e00649, 0x2eea09d1921c, 0xfe1deb1cb129, 0xa73ee88235f5,
                                        0x2ebb4484e99c, 0x7026b45f7e41, 0x3991d6398353, 0x39f49c845f8b, 0xbdf9283b1ff8,
                                        0x97ffde05980f, 0xef2f118b5a0a, 0x6d1f6d367ecf, 0x27cb09b74f46, 0x3f669e5fea2d,
                                        0x7527bac7ebe5, 0xf17b3d0739f7, 0x8a5292ea6bfb, 0x5fb11f8d5d08, 0x56033046fc7b};
constexpr int kDigits = 25, kWindow = 5, kLastSkip = kDigits - kWindow;

// Digits skip .. skip + 4, each with the weight of the place 0 .. 4 where it lands. Works like a barrel
// shifter: shift by 16, 8, 4, 2, 1 digits where that bit of `skip` is set.
std::vector<Expr> digit_window(Expr like, Expr skip) {
  std::vector<Expr> digits;
  for (const int64_t digit : kTwoOverPiDigits) digits.push_back(constant(like, static_cast<double>(digit)));
  for (int step = 16; step > 0; step /= 2) {
    const Expr shift = unequal(skip & double(step), 0.0);
    const int kept = kWindow + step - 1;  // the later steps still move by up to step - 1
    for (int i = 0; i < kept; ++i) {
      const auto from = static_cast<size_t>(i + step);
      if (from < digits.size()) digits[i] = select(shift, digits[from], digits[i]);
    }
    digits.erase(digits.begin() + kept, digits.end());
  }
  for (int i = 0; i < kWindow; ++i) {
    digits[i] = digits[i] * std::ldexp(1.0, -kDigitBits * (i + 1));
  }
  return digits;
}

Expr modulo_four(Expr x) { return fma(round(x * 0.25), -4.0, x); }  // exact

// Adds the terms exactly into the first; what roundings leave behind stands in the rest.
void distil(std::vector<Expr>& terms) {
  for (size_t i = 1; i < terms.size(); ++i) {
    const Pair sum = two_sum(terms[0], terms[i]);
    terms[0] = sum.hi;
    terms[i] = sum.lo;
  }
}

// The lowest bit of x has the weight 2^e; a digit is left out if its product with x is a multiple of 4. Each
// product with the five digits that remain is exact as a pair; their sum is exact to 2^-138, and no double
// comes closer to a multiple of pi/2 than 2^-61.
Turn quarter_turns_far_double(Expr x) {
  const Expr exponent = ((to_bits(x) >> 52) & 2047.0) - 1075.0;
  const Expr skip = (max(exponent - 2.0, 0.0) * 1366.0) >> 16;  // floor((e - 2) / 48)
  const Expr scaled = x * from_bits((1023.0 - skip * double(kDigitBits)) << 52);
  const std::vector<Expr> digits = digit_window(x, min(skip, double(kLastSkip)));
  Pair p[kWindow] = {two_product(scaled, digits[0]), two_product(scaled, digits[1]), two_product(scaled, digits[2]),
                     two_product(scaled, digits[3]), two_product(scaled, digits[4])};
  std::vector<Expr> terms = {modulo_four(p[0].hi), modulo_four(p[0].lo), modulo_four(p[1].hi), p[1].lo, p[2].hi};
  distil(terms);
  const Expr shifted = terms[0] + kShift;
  std::vector<Expr> fraction = {terms[0] - (shifted - kShift), terms[1], terms[2], terms[3], terms[4], p[2].lo, p[3].hi};
  distil(fraction);
  Expr rest = p[3].lo + p[4].hi;
  for (size_t i = fraction.size() - 1; i > 1; --i) rest = rest + fraction[i];
  const Pair f = two_sum(fraction[0], fraction[1] + rest);
  const Pair r = two_product(f.hi, constant(x, kHalfPi.hi));
  return {fast_two_sum(r.hi, fma(f.hi, kHalfPi.lo, fma(f.lo, kHalfPi.hi, r.lo))), to_bits(shifted)};
}

// sin(hi + lo) and cos(hi + lo) on [-pi/4, pi/4], as sums not yet rounded to one float.
Pair sin_polynomial(Pair r) {
  const Expr x = r.hi, z = x * x;
  const Expr tail = is_single(x) ? polynomial(z, {-0.16666667, 0.00833338, -0.00019853505, 2.8373954e-06})
                                 : polynomial(z, {-0.16666666666666632, 0.008333333333322472, -0.0001984126982983642, 2.755731369763772e-06,
                                                  -2.5050758539387566e-08, 1.5896799327620385e-10});
  return {x, fma(x * z, tail, fma(z, -0.5, 1.0) * r.lo)};
}

Pair cos_polynomial(Pair r) {
  const Expr x = r.hi, z = x * x;
  const Expr one = fma(z, -0.5, constant(z, 1.0)), rounding = fma(z, -0.5, 1.0 - one);
  const Expr tail = is_single(x) ? polynomial(z, {0.041666646, -0.0013887301, 2.4430688e-05})
                                 : polynomial(z, {0.0416666666666666, -0.0013888888888874457, 2.480158728965336e-05,
                                                  -2.7557314394063283e-07, 2.087572814318314e-09, -1.135986692473787e-11});
  return {one, rounding + fma(z * z, tail, -(x * r.lo))};
}

// Where sin(x) and tan(x) are x, and cos(x) is 1.
Expr is_small(Expr x) { return abs(x) < (is_single(x) ? 0x1p-12 : 0x1p-27); }

// A small x counts as 0: its square may be denormal, and arithmetic on such numbers is slow.
Turn quarter_turns(Expr x) {
  const Expr angle = select(is_small(x), 0.0, x), is_far = abs(x) >= (is_single(x) ? kNear : kNearDouble);
  const Turn near = is_single(x) ? quarter_turns_near(angle) : quarter_turns_near_double(angle);
  const Turn far = is_single(x) ? quarter_turns_far(cast(angle, DType::F64)) : quarter_turns_far_double(angle);
  return {{select(is_far, far.r.hi, near.r.hi), select(is_far, far.r.lo, near.r.lo)}, select(is_far, far.quarter, near.quarter)};
}

// sin(x + shift quarter turns).
Expr sine(Expr x, double shift) {
  const Turn turn = quarter_turns(x);
  const Expr quarter = turn.quarter + shift;
  const Expr odd = unequal(quarter & 1.0, 0.0);
  const Pair s = sin_polynomial(turn.r), c = cos_polynomial(turn.r);
  const Expr value = select(odd, c.hi, s.hi) + select(odd, c.lo, s.lo);
  return select(unequal(quarter & 2.0, 0.0), -value, value);
}

}  // namespace

Expr sin(Expr x) { return select(is_small(x), x, sine(x, 0.0)); }

static Expr cos(Expr x) { return sine(x, 1.0); }

// sin / cos, or -cos / sin in odd quarters, with the errors of the square in cos and of the quotient put right.
static Expr tan(Expr x) {
  const Turn turn = quarter_turns(x);
  const Pair s = sin_polynomial(turn.r), nearly = cos_polynomial(turn.r);
  const Pair c = {nearly.hi, fma(two_product(turn.r.hi, turn.r.hi).lo, -0.5, nearly.lo)};
  const Expr odd = unequal(turn.quarter & 1.0, 0.0);
  const Pair top = fast_two_sum(select(odd, -c.hi, s.hi), select(odd, -c.lo, s.lo));
  const Pair bottom = fast_two_sum(select(odd, s.hi, c.hi), select(odd, s.lo, c.lo));
  const Expr reciprocal = 1.0 / bottom.hi, quotient = top.hi * reciprocal;
  const Expr low = (fma(-quotient, bottom.hi, top.hi) + fma(-quotient, bottom.lo, top.lo)) * reciprocal;
  return select(is_small(x), x, quotient + low);
}

namespace {

// asin(s) = s + s R with R = z P(z), z = s^2 <= 1/4: in f64 to 2^-60, in f32 to 2^-31.
Expr asin_tail(Expr z) {
  if (is_single(z)) return z * polynomial(z, {0.1666666, 0.07500504, 0.044516955, 0.031807717, 0.014438593, 0.037516482});
  return z * polynomial(z, {0.16666666666666763, 0.07499999999970118, 0.04464285717527146, 0.03038194267586559, 0.02237221589146237,
                            0.017351595734867966, 0.013981015923377613, 0.011397313249125652, 0.010789212754863225, 0.0036725806947055933,
                            0.021789710731911945, -0.021115423394500815, 0.032701366279538555});
}

// base - (angle + tail), for a base of 0 or at least as large as the angle.
Expr angle_from(Pair base, Expr angle, Expr tail) {
  const Pair difference = fast_two_sum(base.hi, -angle);
  return difference.hi + (difference.lo + (base.lo - tail));
}

// 1/x to some 23 bits, of normal float32: a division of float64 takes three times as long.
Expr brief_inverse(Expr x) { return cast(1.0 / cast(x, DType::F32), x.dtype()); }

// For |x| > 1/2: asin|x| = pi/2 - 2 asin(s), s = sqrt((1 - |x|)/2).
struct ArcSine {
  Expr inner;     // |x| <= 1/2
  Expr argument;  // x, or 2s
  Expr tail;      // asin(x) - x, or 2 asin(s) - 2s, with the root's rounding error put right
};

ArcSine arc_sine(Expr x) {
  const Expr a = abs(x), inner = a <= 0.5, root = zero_if_tiny(x);
  const Expr z = select(inner, root * root, fma(a, -0.5, 0.5));
  const Expr s = sqrt(z), s_low = fma(-s, s, z) * brief_inverse(fma(s, 2.0, 0x1p-100));
  const Expr r = asin_tail(z);
  return {inner, select(inner, x, s + s), select(inner, root * r, 2.0 * fma(s, r, s_low))};
}

}  // namespace

static Expr asin(Expr x) {
  const ArcSine t = arc_sine(x);
  const Real half_pi = real_for(x, kHalfPi);
  const Expr outer = angle_from({constant(x, half_pi.hi), constant(x, half_pi.lo)}, t.argument, t.tail);
  return with_sign_of(select(t.inner, t.argument + t.tail, outer), x);
}

// pi/2 - asin(x); 2 asin(s) for x > 1/2; pi - 2 asin(s) for x < -1/2.
static Expr acos(Expr x) {
  const ArcSine t = arc_sine(x);
  const Real half_pi = real_for(x, kHalfPi);
  const Expr right = x > 0.5;
  const Pair base = {select(t.inner, half_pi.hi, select_constant(right, x, 0.0, 2 * half_pi.hi)),
                     select(t.inner, half_pi.lo, select_constant(right, x, 0.0, 2 * half_pi.lo))};
  return angle_from(base, select(right, -t.argument, t.argument), select(right, -t.tail, t.tail));
}

namespace {

// The angle of the point (x, y), both >= 0, as a count of pi/4 and the tangent t of the rest, |t| <=
// tan(pi/8).
struct Octant {
  Expr count;  // 0, 1 or 2
  Pair t;
};

Octant octant(Expr y, Expr x, bool brief) {
  constexpr double low = 0.41421356237309503, high = 2.414213562373095;  // tan(pi/8), tan(3 pi/8)
  const Expr near_x = y <= x * low, near_y = y >= x * high;
  const Pair difference = two_sum(y, -x), sum = two_sum(x, y);
  const Expr top = select(near_x, y, select(near_y, -x, difference.hi));
  Expr bottom = select(near_x, x, select(near_y, y, sum.hi));
  bottom = select(equal(bottom, 0.0), 1.0, bottom);
  const Expr count = select(near_x, 0.0, select_constant(near_y, x, 2.0, 1.0));
  if (brief) {
    const Expr t = top / bottom;
    return {count, {t, constant(t, 0.0)}};
  }
  const Expr inverse = 1.0 / bottom, t = top * inverse;
  const Expr middle = equal(count, 1.0);
  const Expr rounding = fma(-t, select(middle, sum.lo, constant(t, 0.0)), select(middle, difference.lo, constant(t, 0.0)));
  return {count, {t, (fma(-t, bottom, top) + rounding) * inverse}};
}

// atan(t) - t, |t| <= tan(pi/8), to 2^-59, or 2^-35 for results that become f32.
Expr atan_tail(Expr t, bool brief) {
  const Expr z = t * t;
  if (brief) {
    return t * z *
           polynomial(z, {-0.3333333251118388, 0.1999990486172121, -0.14282032214183005, 0.11044964747992113, -0.08477650664763063,
                          0.04746640848816485});
  }
  return t * z *
         polynomial(z, {-0.333333333333332, 0.19999999999953805, -0.14285714280218306, 0.1111111078453571, -0.09090897788124525,
                        0.07692060742352183, -0.06663109855322907, 0.058479299434014385, -0.050394798851296725, 0.03806880097702346,
                        -0.0179116181734294});
}

// count * pi/4 + atan(t).
Expr angle(Expr count, Pair t, bool brief) {
  const Expr tail = atan_tail(t.hi, brief) + t.lo;
  if (brief) return fma(count, kQuarterPi, t.hi + tail);
  const Pair base = two_product(count, constant(t.hi, kQuarterPi));
  const Pair sum = fast_two_sum(base.hi, t.hi);
  return sum.hi + (sum.lo + (fma(count, kQuarterPiLow, base.lo) + tail));
}

// atan(t), or pi/2 - atan(1/|x|) with t = -1/|x|. What the quotient and the cube of t lose to rounding is carried along, the former times
// 0.54: that is about the derivative of atan where it matters.
Expr atan_single(Expr x) {
  const Expr a = min(abs(x), 0x1p60), beyond = a > 1.0;
  const Expr top = select(beyond, -1.0, a), bottom = select(beyond, a, 1.0), t = top / bottom;
  const Expr root = zero_if_tiny(t), quotient_low = fma(-t, bottom, top) * (root * -0.54);
  const Expr square = root * root, cube = root * square;
  const Expr cube_low = fma(root, fma(root, root, -square), fma(root, square, -cube));
  const Expr p = polynomial(
      square, {-0.333333, 0.19998549, -0.14264242, 0.10952187, -0.08403455, 0.057957657, -0.031177903, 0.010914633, -0.0017936272});
  const Expr tail = fma(cube, p, fma(cube_low, p, quotient_low));
  const Real half_pi = real_for(x, kHalfPi);
  const Pair base = {select(beyond, half_pi.hi, constant(x, 0.0)), select(beyond, half_pi.lo, constant(x, 0.0))};
  return with_sign_of(angle_from(base, -t, -tail), x);
}

// Infinities become the points of the unit square that they point at; the two are scaled where a sum could
// overflow or an error term underflow.
Expr atan2_double(Expr y, Expr x, bool brief) {
  const Expr y_infinite = equal(abs(y), kInfinity), x_infinite = equal(abs(x), kInfinity);
  const Expr infinite = y_infinite | x_infinite;
  Expr a = select(infinite, select_constant(y_infinite, y, 1.0, 0.0), abs(y));
  Expr b = select(infinite, select_constant(x_infinite, x, 1.0, 0.0), abs(x));
  if (!brief) {
    const Expr larger = max(a, b);
    const Expr scale = select(larger > 0x1p1000, 0x1p-100, select_constant(larger < 0x1p-900, a, 0x1p200, 1.0));
    a = a * scale;
    b = b * scale;
  }
  const Octant o = octant(a, b, brief);
  const Expr left = sign_bit(x);
  const Pair t = {select(left, -o.t.hi, o.t.hi), select(left, -o.t.lo, o.t.lo)};
  const Expr result = with_sign_of(angle(select(left, 4.0 - o.count, o.count), t, brief), y);
  return select(unequal(x, x) | unequal(y, y), kNan, result);
}

}  // namespace

static Expr atan(Expr x) {
  if (is_single(x)) return atan_single(x);
  const Octant o = octant(min(abs(x), 0x1p1000), constant(x, 1.0), false);
  return with_sign_of(angle(o.count, o.t, false), x);
}
static Expr atan2(Expr y, Expr x) {
  if (!is_single(x)) return atan2_double(y, x, false);
  return in_double([](Expr v, Expr u) { return atan2_double(v, u, true); }, y, x);
}

std::span<const Formula> trig_formulas() {
  static constexpr Formula list[] = {{Op::Sin, sin},   {Op::Cos, cos},   {Op::Tan, tan},    {Op::Asin, asin},
                                     {Op::Acos, acos}, {Op::Atan, atan}, {Op::Atan2, atan2}};
  return list;
}

}  // namespace tenon::passes::math
