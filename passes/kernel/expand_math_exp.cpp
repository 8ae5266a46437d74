// exp, exp2, expm1, sinh, cosh, tanh, sigmoid in basic ops. Method: x = n ln2 + r with |r| <= ln2/2 (Cody and Waite's
// two-part reduction, exact by fma), a minimax polynomial in r, and a scaling by 2^n, in two factors or by
// integers, so that the result passes through denormals and to infinity with one rounding.
#include <cmath>
#include <limits>

#include "passes/kernel/expand_math.h"

namespace tenon::passes::math {
namespace {

// Added to a float below 2^22 (2^51) in size, it rounds to an integer n and leaves n + 2*bias in the sum's
// low bits.
double shifter_constant(Expr x) { return is_single(x) ? 0x1.8p23 + 2 * 127 : 0x1.8p52 + 2 * 1023; }

struct Reduced {
  Expr shifter;  // bits of the shifted sum
  Expr n;
  Expr high;  // x - n ln2_high, exact
  Expr low;   // - n ln2_low
};

constexpr double kLog2E = 1.4426950408889634;

Reduced reduce(Expr x, double shift) {
  const Expr shifted = fma(x, kLog2E, shift), n = shifted - shift;
  const Real ln2 = real_for(x, kLn2);
  return {to_bits(shifted), n, fma(n, -ln2.hi, x), n * -ln2.lo};
}
Reduced reduce(Expr x) { return reduce(x, shifter_constant(x)); }

// P(r) in exp(r) = 1 + r + r^2 P(r); error of exp(r) 2^-57 or, if finer, 2^-61, for f32 2^-28 or 2^-30.
Expr exp_tail(Expr r, bool finer = false) {
  if (is_single(r) && finer) {
    return polynomial(r, {0.5, 0.16666667, 0.041666266, 0.008333244, 0.0013946283, 0.00019930972});
  }
  if (is_single(r)) return polynomial(r, {0.5, 0.16666515, 0.041666582, 0.008369311, 0.0013921916});
  if (!finer) {
    return polynomial(r,
                      {0.5, 0.16666666666666433, 0.041666666666603944, 0.008333333333499985, 0.0013888888926801245, 0.0001984126946634027,
                       2.4801508675318588e-05, 2.7557640745246262e-06, 2.762519008385507e-07, 2.4978422828062102e-08});
  }
  return polynomial(r,
                    {0.5, 0.16666666666666685, 0.04166666666666667, 0.008333333333316434, 0.0013888888888884245, 0.00019841269897825204,
                     2.4801587323319074e-05, 2.755723346103681e-06, 2.755727685216981e-07, 2.5112513450623892e-08, 2.0913244690944656e-09});
}

Expr exp_of_rest(Expr r, bool finer = false) { return fma(r, fma(r, exp_tail(r, finer), 1.0), 1.0); }
Expr exp_fraction(const Reduced& t, bool finer) { return exp_of_rest(t.high + t.low, finer); }

// Beyond these the result is 0 or infinity; nan passes. 0 is reached from well below the least denormal
// number: products near that take some processors forty times as long.
constexpr double kLeastExponent = -112;  // of f32
Expr clamp_exponent(Expr x) { return away_from_zero(is_single(x) ? min(max(x, kLeastExponent), 89.0) : min(max(x, -752.0), 720.0)); }

// 2^(n + offset) as one factor; it must be a normal number.
Expr power_of_two(Expr shifter, int offset) {
  const Format& f = format(shifter.dtype());
  return from_bits((shifter + double(offset - f.bias)) << f.mantissa);
}

}  // namespace

// The shifter's low bits are n + 2*bias = (n1 + bias) + (n2 + bias) with n1 and n2 the halves of n: each,
// shifted into the exponent's place, is 2^n1 or 2^n2.
Expr scale_by(Expr fraction, Expr shifter) {
  const int mantissa = format(shifter.dtype()).mantissa;
  const Expr half = shifter >> 1, rest = shifter - half;
  return fraction * from_bits(half << mantissa) * from_bits(rest << mantissa);
}

namespace {

constexpr int kUnits = 149;  // 2^-149 is the least f32
double units_shifter() { return 0x1.8p23 + kUnits; }

// f32: fraction * 2^n, with n + kUnits in the shifter's low bits, where that is below 2^128. By integers, for
// a product near denormals takes some processors forty times as long. `units`, the result in units of the
// least denormal, is a float whose exponent may have wrapped; where the result is denormal, adding 2^23
// rounds it to an integer. The wrong one of the two is the lesser.
Expr scale_in_units(Expr fraction, Expr shifter) {
  const Expr units = to_bits(fraction) + (shifter << 23);
  const Expr normal = units - double(kUnits << 23), denormal = to_bits(from_bits(units) + 0x1p23) - double((kUnits + 1) << 23);
  return from_bits(max(normal, denormal));
}

// Infinity from `bound` on; nan stays.
Expr finite_below(double bound, Expr x, Expr result) { return select(x < bound, result, x + std::numeric_limits<double>::infinity()); }

Expr exp_single(Expr x) {
  const Reduced t = reduce(away_from_zero(max(x, kLeastExponent)), units_shifter());
  const Expr fraction = exp_of_rest(fma(t.n, -real_for(x, kLn2).lo, t.high));
  return finite_below(0x1.62e43p+6, x, scale_in_units(fraction, t.shifter));
}

}  // namespace

Expr exp(Expr x) {
  if (is_single(x)) return exp_single(x);
  const Reduced t = reduce(clamp_exponent(x));
  return scale_by(exp_of_rest(fma(t.n, -kLn2.lo, t.high)), t.shifter);
}

// Without the second factor and the clamp: for x where 2^n is a normal number.
Expr exp_normal(Pair x) {
  Reduced t = reduce(x.hi);
  t.low = t.low + x.lo;
  return exp_fraction(t, true) * power_of_two(t.shifter, 0);
}

Expr exp_normal(Expr x) {
  const Reduced t = reduce(x);
  return exp_of_rest(fma(t.n, -kLn2.lo, t.high)) * power_of_two(t.shifter, 0);
}

// The power goes in by halves, so that the product is rounded once on its way to a denormal.
Expr times_exp(Pair factor, Pair x) {
  const Reduced t = reduce(x.hi);
  const Expr r = t.high + (t.low + x.lo);
  const Expr rest = r * fma(r, exp_tail(r), 1.0);  // exp(r) - 1
  const Expr product = factor.hi + fma(factor.hi, rest, factor.lo);
  return product * power_of_two(t.shifter, 64) * 0x1p-64;
}

// exp(-a^2/2) with a^2 = r - 2 n ln2: halving the square costs nothing in the coefficients. The product of n and the 16
// leading bits of 2 ln2 is exact, and so is a^2 inside the fma.
Expr times_exp_of_half_square(Expr factor, Expr a, Expr up) {
  const double shift = 0x1.8p23;  // the sum's low bits are n, and are added to an exponent
  const double two_ln2_high = 0x1.62e4p+0, two_ln2_low = 2 * 0.6931471805599453 - two_ln2_high;
  const Expr shifted = fma(a * a, -0.5 * kLog2E, shift), n = shifted - shift;
  const Expr r = fma(n, two_ln2_low, fma(a, a, n * two_ln2_high));
  const Expr tail = polynomial(r, {-0.5, 0.124998076, -0.0208338942, 0.00261814573, -0.000259765666});
  return from_bits(to_bits(fma(factor, r * tail, factor)) + ((to_bits(shifted) << 23) + up));
}

// The rounded sum 1 + (r + r^2 P) leaves its error in lo; the input's low part multiplies the whole. The high part is a multiple of the
// low one's last bit, so their sum is exact in either order.
ScaledExp exp_parts(Pair x) {
  const Reduced t = reduce(clamp_exponent(x.hi));
  const Pair r = fast_two_sum(t.high, t.low + x.lo);
  const Expr square = r.hi * r.hi;
  const Pair sum = fast_two_sum(constant(r.hi, 1.0), r.hi);
  const Expr rest = fma(square, exp_tail(r.hi, true), sum.lo) + fma(r.lo, r.hi, r.lo);
  return {fast_two_sum(sum.hi, rest), t.shifter};
}

// As exp for f64, with a polynomial of relative error 2^-45.
Expr exp_short(Expr x) {
  const Reduced t = reduce(clamp_exponent(x));
  const Expr r = t.high;  // its error of n ln2_low is far below the polynomial's
  const Expr p = polynomial(r, {0.4999999999960054, 0.1666666666650564, 0.041666666991968464, 0.008333333418011356, 0.0013888807017739667,
                                0.00019841121175950528, 2.488257754904249e-05, 2.7662200808134962e-06});
  return scale_by(fma(r, fma(r, p, 1.0), 1.0), t.shifter);
}

// x = n + r exactly; 2^r by its own polynomial.
static Expr exp2(Expr x) {
  const bool single = is_single(x);
  const Expr clamped = away_from_zero(single ? max(x, -162.0) : min(max(x, -1086.0), 1025.0));
  const double shift = single ? units_shifter() : shifter_constant(x);
  const Expr shifted = clamped + shift, r = clamped - (shifted - shift);
  const Expr q = single ? polynomial(r, {0.6931472, 0.2402265, 0.05550406, 0.009618065, 0.0013337185, 0.00015461797, 1.4442502e-05})
                        : polynomial(r, {0.6931471805599453, 0.24022650695910072, 0.05550410866482167, 0.009618129107627839,
                                         0.0013333558146389809, 0.00015403530394662157, 1.5252733860318927e-05, 1.3215485710702297e-06,
                                         1.0178048594992936e-07, 7.055313214293521e-09, 4.4571622409388193e-10, 2.5149948359530984e-11});
  const Expr fraction = fma(r, q, 1.0);
  return single ? finite_below(128.0, x, scale_in_units(fraction, to_bits(shifted))) : scale_by(fraction, to_bits(shifted));
}

// exp(x) - 1 = 2^n (r + r^2 P) + (2^n - 1), where 2^n r + (2^n - 1) is kept as a pair: it cancels for n = -1
// and 1. All is halved until the end, for 2^n may overflow where the result does not.
static Expr expm1(Expr x) {
  const Expr normal = is_normal(x);
  const Expr clamped = select(normal, is_single(x) ? min(max(x, -20.0), 89.0) : min(max(x, -40.0), 710.0), 0.0);
  const Reduced t = reduce(clamped);
  const Pair r = fast_two_sum(t.high, t.low);
  const Expr root = zero_if_tiny(r.hi), rest = fma(root * root, exp_tail(r.hi, true), r.lo);
  const Expr power = power_of_two(t.shifter, -1), offset = power - 0.5;
  const Expr sum = fma(power, r.hi, offset);
  const Expr sum_low = fma(power, r.hi, offset - sum) + ((power - offset) - 0.5);
  const Expr scaled = (sum + fma(power, rest, sum_low)) * 2.0;
  // Where n is 0 nothing needs scaling: the result is right to the last denormal bit. -0 and denormal numbers stay.
  const Expr result = select(equal(power, 0.5), r.hi + rest, scaled);
  return select(normal, result, x);
}

// Where |x| < 1 an odd polynomial; beyond, e/2 - 1/(2e) with e/2 from a scaling that cannot overflow early.
static Expr sinh(Expr x) {
  if (is_single(x)) return in_double([](Expr d) { return sinh(d); }, x);
  const Expr z = x * x, a = abs(x);
  const Expr small = fma(x * z,
                         polynomial(z, {0.16666666666666669, 0.008333333333332915, 0.00019841269841589247, 2.7557319108483946e-06,
                                        2.505213067554778e-08, 1.60566871393489e-10, 7.775688731251166e-13}),
                         x);
  const ScaledExp e = exp_parts({a, constant(a, 0.0)});
  const Expr half = scale_by(e.fraction.hi, e.shifter - 1.0);
  const Expr low = scale_by(e.fraction.lo, e.shifter - 1.0);
  const Expr big = half + (low - 0.25 / half);
  return select(a < 1.0, small, with_sign_of(big, x));
}

static Expr cosh(Expr x) {
  if (is_single(x)) return in_double([](Expr d) { return cosh(d); }, x);
  const ScaledExp e = exp_parts({abs(x), constant(x, 0.0)});
  const Expr half = scale_by(e.fraction.hi, e.shifter - 1.0);
  const Expr low = scale_by(e.fraction.lo, e.shifter - 1.0);
  return half + (low + 0.25 / half);
}

// An odd polynomial near 0, else 1 - 2 / (exp(2|x|) + 1).
static Expr tanh(Expr x) {
  const bool single = is_single(x);
  const Expr tiny = abs(x) < (single ? 0x1p-26 : 0x1p-55), a = select(tiny, 0.0, abs(x)), z = a * a;
  const Expr tail = single ? polynomial(z, {-0.33333325, 0.13333002, -0.053922474, 0.021576699, -0.007892933, 0.0019018294})
                           : polynomial(z, {-0.33333333333333326, 0.1333333333333188, -0.05396825396727009, 0.021869488502931817,
                                            -0.00886323487322018, 0.0035921197653261067, -0.001455764718655166, 0.0005896248880989288,
                                            -0.00023752026425821017, 9.250314742091389e-05, -3.119307730313747e-05, 6.510088442184524e-06});
  const Expr small = fma(a * z, tail, a);
  // The result is 1 past 20, in either type.
  const Expr big = 1.0 - 2.0 / (exp_normal({min(a, 20.0) * 2.0, constant(a, -0.0)}) + 1.0);
  return with_sign_of(select(tiny, abs(x), select(a < (single ? 0.7 : 0.6), small, big)), x);
}

// 1 / (1 + exp(-x)), computed as 2^up of it, a normal number where the result is denormal, and scaled back by integers as
// scale_in_units does. The exponent of exp(-x) is lowered by `up` for that, so it cannot overflow either.
static Expr sigmoid(Expr x) {
  const bool single = is_single(x);
  const Format& f = format(x.dtype());
  const int up = single ? 64 : 512, least = up - (f.bias - 1);  // 2^least: 2^up times the least normal number
  const double exponent = std::ldexp(1.0, f.mantissa);          // 1 at the place of a number's exponent
  // As PyTorch's: 0 where exp(-x) overflows.
  const Expr bounded = single ? select(x > -0x1.62e43p+6, min(x, 20.0), -104.0) : select(x > -0x1.62e42fefa39fp+9, min(x, 40.0), -746.0);
  const Reduced t = reduce(-away_from_zero(bounded), (single ? 0x1.8p23 : 0x1.8p52) - up);
  const Expr lowered = from_bits(to_bits(exp_fraction(t, false)) + (t.shifter << f.mantissa));  // 2^-up exp(-x)
  const Expr raised = 1.0 / (lowered + std::ldexp(1.0, -up));
  const Expr normal = to_bits(raised) - exponent * up, denormal = to_bits(raised + std::ldexp(1.0, least)) - exponent * (f.bias + least);
  return select(equal(x, x), from_bits(max(normal, denormal)), x);
}

std::span<const Formula> exp_formulas() {
  static constexpr Formula list[] = {{Op::Exp, exp},   {Op::Exp2, exp2}, {Op::Expm1, expm1},    {Op::Sinh, sinh},
                                     {Op::Cosh, cosh}, {Op::Tanh, tanh}, {Op::Sigmoid, sigmoid}};
  return list;
}

}  // namespace tenon::passes::math
