// erf, erfc, gelu, erfinv and lgamma in basic ops, from minimax fits of our own: x P(x^2) for erf near 0, (x + 2)
// erfcx(x) as a polynomial in (x - 2)/(x + 2) for erfc (Shepherd and Laframboise), exp(x^2/2) ndtr(-x), ndtr the
// normal distribution function, as a quotient of two polynomials for gelu, erfinv(x)/x in -log(1 - x^2) (Giles), and for lgamma the
// recurrence to [1.5, 2.5], Stirling's series from 7.5 on and the reflection formula below 0.
#include "passes/kernel/expand_math.h"

namespace tenon::passes::math {
namespace {

using ir::kInfinity;

// erf(x) - x for |x| <= 1, or 0.47; error 2^-57 of erf, or 2^-59.
Expr erf_tail_double(Expr x, bool to_1 = false) {
  const Expr z = x * x;
  if (to_1) {
    return x * polynomial(z, {0.12837916709551256, -0.3761263890318352, 0.11283791670944185, -0.02686617064311144, 0.005223977606118201,
                              -0.0008548325929299091, 0.00012055293576376877, -1.4924712290809522e-05, 1.6447131419736117e-06,
                              -1.6206312501034674e-07, 1.3710974565233476e-08, -7.77945691823603e-10});
  }
  return x * polynomial(z, {0.12837916709551256, -0.37612638903183643, 0.11283791670942214, -0.026866170639147254, 0.005223977486330943,
                            -0.000854830882893833, 0.0001205393203475047, -1.4862536806169283e-05, 1.491479034646308e-06});
}

// factor erfc(a) for a >= 0.46: t = 1/(a + 2) is taken as a pair, and exp(-a^2) with a^2 as a pair.
Expr erfc_beyond(Pair a, Term factor = 1.0) {
  const Expr bounded = min(a.hi, 28.0);
  const Pair divisor = fast_two_sum(constant(bounded, 2.0), bounded);  // exact: 2 is a multiple of the other's last bit
  const Expr t = 1.0 / divisor.hi;
  const Expr t_low = t * (fma(-t, divisor.hi, 1.0) - t * (divisor.lo + a.lo));
  const Expr q = fma(t, -4.0, 1.0) - 4.0 * t_low;  // (a - 2)/(a + 2)
  const Expr p = polynomial(
      q, {1.021582705242023,       -0.6871606844138108,    0.2794720925560468,      -0.03644223150683397,    -0.021510661888892453,
          0.006479185065280369,    0.0030906120422543493,  -0.0008372959999492526,  -0.0006630732682117713,  3.437055745959074e-05,
          0.00014446896423136947,  3.4156290737173075e-05, -2.1689250283936648e-05, -1.615945413808412e-05,  -1.134125200157068e-06,
          3.767662438055904e-06,   1.9652498228882885e-06, -2.3002545494430198e-07, -4.0207319974947017e-07, -1.1567841621776453e-07,
          -2.6963147824638476e-07, 9.929411668121915e-08,  2.006329368336348e-07,   -9.269953905719426e-08});
  const Pair value = two_product(t, p);
  const Pair square = two_product(bounded, bounded);
  const ScaledExp e = exp_parts({-square.hi, fma(-2.0 * bounded, a.lo, -square.lo)});
  const Expr low = fma(e.fraction.lo, value.hi, e.fraction.hi * fma(t_low, p, value.lo));
  return scale_by(fma(e.fraction.hi, value.hi, low) * factor, e.shifter);
}

// erfc(a) for a >= 1, to 2^-55 of erf: exp of a fit of its logarithm.
Expr erfc_from_1(Expr a) {
  const Expr u = min(a, 5.95) - 1.0;
  return exp_normal(
      polynomial(u, {-1.8496055099332482, -2.638967514234789, -0.8431072563589133, -0.041561098033320365, 0.010033825252606725,
                     -0.00197790161508663, 0.00023731785684581757, 2.6292844687788206e-05, -2.719291959585958e-05, 9.66375035220315e-06,
                     -2.1248908377193943e-06, 2.0001388234277497e-07, 6.040597531436586e-08, -3.4254435816980245e-08, 8.737023848969883e-09,
                     -1.3557390957840706e-09, 1.229851258770315e-10, -5.029295521875548e-12}));
}

}  // namespace

// x + x P(x^2) up to 1, for f32 up to 0.92; beyond it 1 - exp(Q(|x|)), Q a fit of log erfc. Past 5.95 and 4 the result is 1.
static Expr erf(Expr x) {
  const Expr a = abs(x);
  if (!is_single(x)) return select(a < 1.0, x + erf_tail_double(x, true), with_sign_of(1.0 - erfc_from_1(a), x));
  const Expr root = zero_if_tiny(x), z = root * root;
  const Expr small = fma(x, polynomial(z, {0.12837917, -0.37612632, 0.11283697, -0.0268601, 0.0052032904, -0.00081696134, 8.48095e-05}), x);
  const Expr t = min(abs(root), 4.0);
  const Expr g = polynomial(t, {-0.12864849, -0.6351513, -0.106236845, 0.02376202, -0.0036424296, 0.00032279402, -1.1230015e-05});
  const Expr exponent = fma(g, t, -t), rounding = fma(g, t, -t - exponent);
  const Expr big = 1.0 - exp_normal({exponent, rounding});
  return select(a < 0.92, small, with_sign_of(big, x));
}

namespace {

// 1 - erf(x) up to 0.65; beyond, exp(-a^2) P / (a + 1.5) with P a polynomial in (a - 1.5)/(a + 1.5). What the
// quotient, the square and the product lose to rounding is carried along. The result is 0 from 10.1 on.
Expr erfc_single(Expr x) {
  const Expr a = abs(x), bounded = zero_if_tiny(abs(min(max(x, -4.5), 10.1)));
  const Expr square = bounded * bounded, square_low = fma(bounded, bounded, -square);
  const Expr near = 1.0 - fma(x, polynomial(square, {0.12837905, -0.37612087, 0.11276595, -0.026480662, 0.00430441}), x);
  const Expr divisor = bounded + 1.5, divisor_low = bounded - (divisor - 1.5);
  const Expr t = 1.0 / divisor;
  const Expr t_low = t * fma(-t, divisor_low, fma(-t, divisor, 1.0));
  const Expr q = fma(t_low, -3.0, fma(t, -3.0, 1.0));  // (a - 1.5)/(a + 1.5)
  const Expr p = polynomial(q, {0.96475625, -0.5078504, 0.0756217, 0.04778414, -0.008130252, -0.009625283, -0.0006045113, 0.0022655305});
  const Expr value = t * p, value_low = fma(t_low, p, fma(t, p, -value));
  const Expr far = times_exp({value, value_low}, {-square, -square_low});
  return select(a < 0.65, near, select(x < 0.0, 2.0 - far, far));
}

}  // namespace

static Expr erfc(Expr x) {
  if (is_single(x)) return erfc_single(x);
  const Expr a = abs(x), far = erfc_beyond({a, constant(a, 0.0)});
  const Expr near = 1.0 - (x + erf_tail_double(x));
  return select(a < 0.47, near, select(x < 0.0, 2.0 - far, far));
}

namespace {

// max(x, 0), but -0 from -0 down and nan for -infinity, as PyTorch's x ndtr(x) has it.
Expr positive_part(Expr x) { return select(x < 0.0, x * 0.0, x); }

// max(x, 0) - a ndtr(-a) with a = |x|, and ndtr(-a) = exp(-a^2/2) P(a) / Q(a). Past 8 the tail is raised by 2^64, and a lowered; past
// 13.146, where the result is denormal, it is rounded as a part of the least normal number. From 14.5 on it is 0 in any case, at 15.2
// far below the least denormal number. Half of a denormal number is half of its bits.
Expr gelu_single(Expr x) {
  const Expr normal = is_normal(x), y = select(normal, x, 0.0), a = min(abs(y), 15.2), positive = a + 0x1p-50;
  const Expr p = polynomial(positive, {0.499999926, 0.342403103, 0.108947104, 0.0146589048, 2.01979601e-07});
  const Expr q = polynomial(positive, {1.0, 1.48268281, 0.900972191, 0.272577556, 0.0367692542});
  const Expr up = cast(a > 8.0, DType::I32) << (23 + 6);
  const Expr tail = times_exp_of_half_square(p / q, positive, up);
  const Expr far = (y < -13.146247) & (y > -ir::kInfinity);
  const Expr above = select(far, -0x1p-126, positive_part(y));
  const Expr sum = to_bits(fma(-from_bits(to_bits(a) - up), tail, above));
  const Expr bits = to_bits(x), half = (bits >> 1) & bits_constant(bits, DType::I32, 0xBFFFFFFF);
  return from_bits(select(normal, select(far, sum - double(1 << 23), sum), half));
}

// The same from a/sqrt(2) = 0.47 on, with ndtr(-a) as erfc(a/sqrt(2))/2.
Expr gelu_double(Expr x) {
  const Real half_root{0.7071067811865476, -4.833646656726457e-17};
  const Expr a = min(abs(x), 40.0), y = a * half_root.hi;
  const Expr y_low = fma(a, half_root.lo, fma(a, half_root.hi, -y));
  const Expr z = x * half_root.hi;
  const Expr near = x * (0.5 + 0.5 * (z + erf_tail_double(z)));
  const Expr far = positive_part(x) - erfc_beyond({y, y_low}, 0.5 * a);
  return select(a < 0.66, near, far);
}

}  // namespace

// x erfc(-x / sqrt(2)) / 2, without the rounding of that argument.
static Expr gelu(Expr x) { return is_single(x) ? gelu_single(x) : gelu_double(x); }

namespace {

// The derivative of gelu is t(-x) for x < 0 and 1 - t(x) from 0 on, t(a) = ndtr(-a) - a exp(-a^2/2)/sqrt(2 pi), which is
// (r - a) exp(-a^2/2 + Q(a)), r its root and Q a fit to 2^-24 of what t is then. Past 7, where t is below 2^-33, it is taken as 0.
Expr gelu_grad_single(Expr x) {
  const Expr a = abs(x), bounded = min(a, 7.0) + 0x1p-50;  // no denormal square
  const Real root{0.751791536808014, -1.21144495e-8};
  const Expr q = polynomial(bounded, {-0.407850906, -0.265616465, 0.111452182, -0.0382579085, 0.0105973381, -0.00228478434, 0.000362367186,
                                      -3.89881215e-5, 2.49781697e-6, -7.0968812e-8});
  const Expr half = -0.5 * bounded, exponent = fma(half, bounded, q), rounding = fma(half, bounded, q - exponent);
  const Expr near = ((root.hi - bounded) + root.lo) * exp_normal({exponent, rounding});
  const Expr tail = select(a < 7.0, near, max(a, 7.0) * -0.0);  // nan at the infinities, as PyTorch has it
  return select(x < 0.0, tail, 1.0 - tail);
}

// The same with ndtr(-a) as for gelu.
Expr gelu_grad_double(Expr x) {
  const Real half_root{0.7071067811865476, -4.833646656726457e-17};
  const Expr size = abs(x), a = min(size, 37.0), y = a * half_root.hi;
  const Expr y_low = fma(a, half_root.lo, fma(a, half_root.hi, -y));
  const Pair square = two_product(a, a);
  const Expr density = exp_normal({-0.5 * square.hi, -0.5 * square.lo}) * 0.3989422804014327;  // 1/sqrt(2 pi)
  const Expr z = x * half_root.hi;
  const Expr near = fma(x, density, 0.5 + 0.5 * (z + erf_tail_double(z)));
  const Expr tail = select(size < 37.0, fma(-a, density, erfc_beyond({y, y_low}, 0.5)), size * -0.0);
  return select(a < 0.66, near, select(x < 0.0, tail, 1.0 - tail));
}

}  // namespace

static Expr gelu_grad(Expr x) { return is_single(x) ? gelu_grad_single(x) : gelu_grad_double(x); }

namespace {

// erfinv(x)/x as a function of w = -log(1 - x^2), by ranges of w; in r = sqrt(w) for the outer ones.
Expr erfinv_factor(Expr w, bool brief) {
  const Expr r = sqrt(w);
  if (brief) {
    const Expr centre =
        polynomial(w - 2.5, {1.5014093511464024, 0.24664027674029917, -0.004177318238062865, -0.001252707927837682, 0.00021825147547434453,
                             -4.9960296451514495e-06, -3.4176947337493334e-06, 4.787016043042759e-07, 1.387436908181159e-08,
                             -1.0863825109483647e-08, 8.061997161896479e-10, 1.2359421493865005e-10, -1.9767647468568887e-11});
    const Expr outer =
        polynomial(r - 3.125, {2.9583201501322005, 1.0037186965090668, 0.007047896638817366, -0.005301164914608998, 0.003794210272971974,
                               -0.0025184208077904343, 0.0012619370671416205, -0.00033470902104445625, -9.291616089582027e-05,
                               0.00014863028625300708, -5.4922458790119414e-05, -1.1002335240049676e-05, 1.0136380076526398e-05});
    return select(w < 5.0, centre, outer);
  }
  const Expr centre =
      polynomial(w - 3.125, {1.6536545626831027,      0.24015818242558767,     -0.006033670871427579,   -0.0007407025341486408,
                             0.00018673420802350752,  -1.3882523409884848e-05, -1.3654691831935725e-06, 4.234788363310895e-07,
                             -2.9070383824697874e-08, -4.112673714535002e-09,  1.0512189142940866e-09,  -5.4137511610276425e-11,
                             -1.2977115804037342e-11, 2.6290522335661674e-12,  -8.113927998998977e-14,  -3.976185334587518e-14,
                             6.590838077886192e-15,   -6.887598804296553e-17,  -1.2973900847291048e-16, 1.7623757255319045e-17,
                             1.1312566075298491e-18,  -4.336988406383194e-19,  -7.603587605345953e-22,  4.7284709540310405e-21});
  const Expr middle = polynomial(
      r - 3.25, {3.0838856104922203, 1.0052589676941586, 0.005370914553663046, -0.0037512085075009477, 0.002491442092559516,
                 -0.0016882755579340969, 0.000953289445973038, -0.0003550374968336236, 2.4030492508151607e-05, 6.828470008575334e-05,
                 -4.731499786269428e-05, 1.2475850496437442e-05, 2.913536875569309e-06, -4.014978810154426e-06, 1.5204202038087305e-06,
                 1.9430701500172953e-08, -2.921634918850778e-07, 9.023417377381664e-08, 9.008133902050116e-09});
  const Expr outer = polynomial(
      r - 5.0, {4.849906401408584, 1.0103004648645493, -0.00013871931839098983, -0.00021503012001459606, 7.599527834563558e-05,
                -1.9681768125911936e-05, 4.526050246567501e-06, -9.930452609663466e-07, 2.2906366413968565e-07, -6.750438196570843e-08,
                2.8988679893369977e-08, -1.535088623196856e-08, 7.871437739139977e-09, -3.370466513778595e-09, 1.266342605791548e-09,
                -4.938935353844877e-10, 9.654613679987427e-11, 5.582642705799795e-11, -2.6556729981274934e-11});
  return select(w < 6.25, centre, select(w < 16.0, middle, outer));
}

Expr erfinv_double(Expr x, bool brief) {
  const Expr a = abs(x), product = (1.0 - a) * (a + 1.0);
  const Expr w = -(brief ? log_short(product) : log(product));
  return select(equal(a, 1.0), x * kInfinity, x * erfinv_factor(max(w, 0.0), brief));
}

// lgamma(2 + t)/t for |t| <= 1/2, and Stirling's remainder x (lgamma(x) - ...) in 1/x^2 for x >= 7.5.
Expr lgamma_centre(Expr t) {
  return polynomial(
      t, {0.42278433509846713, 0.3224670334241133, -0.0673523010531949, 0.020580808427765822, -0.007385551029012322, 0.0028905103318220666,
          -0.0011927538979420946, 0.0005096694962783114, -0.00022315503802574306, 9.945791988803365e-05, -4.4923056982935856e-05,
          2.050379249942119e-05, -9.460629322171448e-06, 4.392177437187336e-06, -1.9580076175626507e-06, 9.035825708389057e-07,
          -6.140023792199412e-07, 2.936795693959302e-07, 2.7498672900158392e-08});
}

Expr stirling_tail(Expr x) {
  const Expr inverse = 1.0 / x, z = inverse * inverse;
  return inverse * polynomial(z, {0.08333333333333333, -0.0027777777777609268, 0.0007936507831645696, -0.0005952353384021625,
                                  0.0008413565631439156, -0.0018852154518166895, 0.004970107542396893});
}

// lgamma(a) for a > 0. Below 7.5, a is moved by whole steps to 2 + t, |t| <= 1/2, and the steps' product is
// p: lgamma(a) = lgamma(2 + t) + log p, or - log p if the steps went up.
Expr lgamma_positive(Expr a) {
  const Expr large = a >= 7.5;
  Expr t = a - 2.0, product = constant(a, 1.0);
  for (int step = 0; step < 5; ++step) {  // down from a > 2.5
    const Expr above = t > 0.5;
    product = select(above, product * (t + 1.0), product);
    t = select(above, t - 1.0, t);
  }
  const Expr up = a < 1.5, twice = a < 0.5;
  t = select(up, select(twice, a, a - 1.0), t);
  product = select(up, select(twice, a * (a + 1.0), a), product);
  const Expr l = log(select(large, a, product));
  const Expr centre = fma(t, lgamma_centre(t), select(up, -l, l));
  const Expr stirling = fma(a - 0.5, l - 1.0, stirling_tail(a) + 0.4189385332046727);  // (log(2 pi) - 1)/2
  return select(large, stirling, centre);
}

// lgamma(-a) = log(pi / (a |sin(pi a)|)) - lgamma(a). So close to 0 that the two logarithms meet, it is -log
// a.
Expr lgamma_double(Expr x) {
  const Expr a = abs(x), positive = lgamma_positive(a);
  const Expr r = a - round(a), z = r * r;
  const Expr sine =
      abs(r) * fma(z,
                   polynomial(z, {-5.167712780049969, 2.550164039877268, -0.5992645293176792, 0.08214588655080872, -0.007370430299781929,
                                  0.00046629878015227956, -2.1900818213466216e-05, 7.6699222224376e-07}),
                   3.141592653589793);
  const Expr factor = 3.141592653589793 / (a * sine);
  const Expr reflected = log(factor) - positive;
  const Expr pole = equal(r, 0.0) | equal(a, kInfinity);
  const Expr negative = select(pole, kInfinity, reflected);
  const Expr result = select((x < 0.0) & (a > 0x1p-60), negative, positive);
  return select(a < kInfinity, result, a);
}

}  // namespace

static Expr erfinv(Expr x) {
  if (!is_single(x)) return erfinv_double(x, false);
  return in_double([](Expr d) { return erfinv_double(d, true); }, x);
}

// f32 needs all of the double's digits near the roots left of 0.
static Expr lgamma(Expr x) {
  return is_single(x) ? in_double([](Expr d) { return lgamma_double(d); }, x) : lgamma_double(x);
}

std::span<const Formula> special_formulas() {
  static constexpr Formula list[] = {{Op::Erf, erf},       {Op::Erfc, erfc},    {Op::Gelu, gelu}, {Op::GeluGrad, gelu_grad},
                                     {Op::Erfinv, erfinv}, {Op::Lgamma, lgamma}};
  return list;
}

}  // namespace tenon::passes::math
