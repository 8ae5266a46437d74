// Special functions as formulas: all branches are computed and one is chosen, so that each fuses with its
// surroundings. Methods and coefficients are those of the Cephes Mathematical Library, as in PyTorch.
#include "tenon/special.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <span>

#include "frontend/src/autograd/grad.h"
#include "frontend/src/ops/special_tables.h"
#include "frontend/src/tensor/expr.h"
#include "frontend/src/tensor/promote.h"
#include "frontend/src/tensor/text.h"
#include "ir/graph/gamma.h"
#include "tenon/creation.h"
#include "tenon/elementary.h"

namespace tenon {
namespace {

using namespace coefficients;
using ir::kInfinity;
using ir::kNan;
using std::numbers::pi;

Expr choose(const Expr& condition, double yes, const Expr& no) { return select(condition, number(no, yes), no); }
bool is_single(const Expr& x) { return x.dtype() == DType::F32; }

template <typename F>
Tensor double_formula(const Tensor& x, F f) {  // float32 too is computed in float64
  const ScalarType type = float_type(x.scalar_type());
  return record_as(f(operand(x, kDouble)), type, x);
}

// c[0] x^n + ... + c[n]
Expr polynomial(const Expr& x, std::span<const double> c) {
  Expr sum = number(x, c[0]);
  for (double term : c.subspan(1)) sum = multiply_add(sum, x, number(x, term));
  return sum;
}
// c[0] T_n(x/2) + ... + c[n] T_0(x/2) / 2, Clenshaw's way. The first terms are the least; float32 leaves out those that would not count,
// beside sums of 1/64 and more.
Expr chebyshev(const Expr& x, std::span<const double> c) {
  for (double left_out = std::abs(c[0]); is_single(x) && left_out < 0x1p-32; left_out += std::abs(c[0])) c = c.subspan(1);
  Expr b0 = number(x, c[0]), b1 = number(x, 0.0), b2 = b1;
  for (double term : c.subspan(1)) {
    b2 = b1;
    b1 = b0;
    b0 = multiply_add(x, b1, term - b2);
  }
  return 0.5 * (b0 - b2);
}

// x less the nearest integer, which functions of period 1 ignore.
Expr centred(const Expr& x) { return x - apply(Op::Round, x); }

// --- gamma and its derivatives

Expr trigamma_of(const Expr& x) {
  const Expr left = x < 0.5;
  Expr y = select(left, 1.0 - x, x), sum = number(x, 0.0);
  for (int i = 0; i < 6; ++i) {
    sum = sum + 1.0 / (y * y);
    y = y + 1.0;
  }
  const Expr z = 1.0 / (y * y);
  sum = sum + (1.0 + 1.0 / (2.0 * y) + z * (1.0 / 6 - z * (1.0 / 30 - z * (1.0 / 42)))) / y;
  const Expr sine = sin(pi * centred(x));
  return select(left, pi * pi / (sine * sine) - sum, sum);
}

// The sum of (q + k)^-s by Euler and Maclaurin, after `terms` terms and those until q + k passes 9. What is
// too small to count ends the series.
Expr zeta_of(Expr s, const Expr& q, int terms) {
  const double series[] = {12.0,
                           -720.0,
                           30240.0,
                           -1209600.0,
                           47900160.0,
                           -1.8924375803183791606e9,
                           7.47242496e10,
                           -2.950130727918164224e12,
                           1.1646782814350067249e14,
                           -4.5979787224074726105e15,
                           1.8152105401943546773e17,
                           -7.1661652561756670113e18};
  const double epsilon = 0x1p-53;
  const Expr at_pole = s == 1.0;
  s = choose(at_pole, 2.0, s);  // or the gradients of what is not chosen were nan
  Expr sum = apply(Op::Pow, q, -s), a = q, b = number(q, 0.0), done = b > 0.0;
  for (int i = 0; i < terms; ++i) {
    const Expr more = i < 9 ? !done : (!done) & (a <= 9.0);
    a = select(more, a + 1.0, a);
    b = select(more, apply(Op::Pow, a, -s), b);
    sum = select(more, sum + b, sum);
    done = done | (more & (b < epsilon * sum) & (b > -epsilon * sum));
  }
  sum = select(done, sum, sum + b * a / (s - 1.0) - 0.5 * b);
  Expr factor = number(s, 1.0);
  double k = 0;
  for (double denominator : series) {
    factor = factor * (s + k);
    b = b / a;
    const Expr term = factor * b / denominator;
    sum = select(done, sum, sum + term);
    done = done | (abs(term / sum) < epsilon);
    factor = factor * (s + (k + 1));
    b = b / a;
    k += 2;
  }
  const Expr pole = (q <= 0.0) & (q == floor(q));
  sum = choose((q <= 0.0) & (s != floor(s)), kNan, sum);
  sum = choose(pole, kInfinity, sum);
  return choose(at_pole, kInfinity, choose(s < 1.0, kNan, select((s != s) | (q != q), s + q, sum)));
}

// The n-th derivative of cot(pi x) in powers of the cotangent, divided by pi^n: P' (-1 - c^2), n times, of c.
Expr cotangent_derivative(const Expr& x, int64_t n) {
  std::vector<double> p = {0, 1};  // lowest degree first
  for (int64_t i = 0; i < n; ++i) {
    std::vector<double> next(p.size() + 1, 0.0);
    for (size_t d = 1; d < p.size(); ++d) {
      next[d - 1] -= p[d] * static_cast<double>(d);
      next[d + 1] -= p[d] * static_cast<double>(d);
    }
    p = next;
  }
  const std::vector<double> highest_first(p.rbegin(), p.rend());
  return polynomial(1.0 / apply(Op::Tan, pi * centred(x)), highest_first);
}

// (-1)^(n+1) n! zeta(n + 1, x); to the left of 0 reflected, where zeta would need -x more terms.
Expr polygamma_of(int64_t n, const Expr& x) {
  const double order = n;
  const double factorial = std::tgamma(order + 1), sign = n % 2 ? 1 : -1;
  const Expr s = number(x, order + 1);
  const Expr left = x < 0.0;
  const Expr at_right = sign * factorial * zeta_of(s, select(left, 1.0 - x, x), 9);
  const Expr reflected = -std::pow(pi, order + 1) * cotangent_derivative(x, n) - sign * at_right;
  return select(left, choose(x == floor(x), sign * kInfinity, reflected), at_right);
}

// --- the normal distribution

// exp(x^2) erfc(x): the square is kept in two parts, whose exponentials multiply; far out a continued
// fraction.
Expr erfcx_of(const Expr& x) {
  const auto fma = [](const Expr& a, const Expr& b, const Expr& c) {
    const NodeRef operands[] = {a.node, b.node, c.node};
    return Expr{ir::make_node(Op::Fma, operands)};
  };
  const Expr square = x * x, rest = fma(x, x, -square);
  const Expr near = exp(square) * apply(Op::Erfc, x);
  const Expr far_out = (1.0 / x) * (1.0 / std::sqrt(pi)) * [&] {
    const Expr z = 0.5 / square;  // 1 - z + 3 z^2 - 15 z^3 + 105 z^4 - 945 z^5 + 10395 z^6
    const double series[] = {10395, -945, 105, -15, 3, -1, 1};
    return polynomial(z, series);
  }();
  return select(x > (is_single(x) ? 8.0 : 22.0), far_out, near * (1.0 + rest));
}

Expr ndtr_of(const Expr& x) { return 0.5 * apply(Op::Erfc, x * (-1 / std::numbers::sqrt2)); }

Expr log_ndtr_of(const Expr& x) {
  const Expr t = x * (1 / std::numbers::sqrt2);
  return select(x < -1.0, log(erfcx_of(-t) / 2.0) - t * t, log1p(apply(Op::Erfc, t) * -0.5));
}

Expr ndtri_of(const Expr& p) {
  const double tail = 0.13533528323661269189;  // exp(-2)
  const Expr upper = p > 1.0 - tail;
  const Expr y = select(upper, 1.0 - p, p);
  const Expr c = y - 0.5, c2 = c * c;
  const Expr middle = (c + c * (c2 * polynomial(c2, kNdtriP0) / polynomial(c2, kNdtriQ0))) * 2.50662827463100050242;
  const Expr x = sqrt(-2.0 * log(y)), z = 1.0 / x;
  const Expr correction =
      select(x < 8.0, z * polynomial(z, kNdtriP1) / polynomial(z, kNdtriQ1), z * polynomial(z, kNdtriP2) / polynomial(z, kNdtriQ2));
  const Expr magnitude = x - log(x) / x - correction;
  const Expr inside = select(y > tail, middle, select(upper, magnitude, -magnitude));
  return choose(p == 0.0, -kInfinity, choose(p == 1.0, kInfinity, choose((p < 0.0) | (p > 1.0), kNan, inside)));
}

// --- Bessel functions

// Scaled by exp(-|x|).
Expr i0e_of(const Expr& x) {
  const Expr a = abs(x);
  return select(a <= 8.0, chebyshev(a / 2.0 - 2.0, kI0Near), chebyshev(32.0 / a - 2.0, kI0Far) / sqrt(a));
}
Expr i1e_of(const Expr& x) {
  const Expr a = abs(x);
  const Expr y = select(a <= 8.0, chebyshev(a / 2.0 - 2.0, kI1Near) * a, chebyshev(32.0 / a - 2.0, kI1Far) / sqrt(a));
  return select(x < 0.0, -y, y);
}
Expr i0_of(const Expr& x) {
  const Expr a = abs(x), e = exp(a);
  return select(a <= 8.0, e * chebyshev(a / 2.0 - 2.0, kI0Near), e * chebyshev(32.0 / a - 2.0, kI0Far) / sqrt(a));
}
Expr i1_of(const Expr& x) {
  const Expr a = abs(x), e = exp(a);
  const Expr y = select(a <= 8.0, e * a * chebyshev(a / 2.0 - 2.0, kI1Near), e * chebyshev(32.0 / a - 2.0, kI1Far) / sqrt(a));
  return select(x < 0.0, -y, y);
}

Expr positive_only(const Expr& x, const Expr& value, double at_zero) { return choose(x == 0.0, at_zero, choose(x < 0.0, kNan, value)); }
// Near 0 a series and the logarithm times I; beyond 2 a series times exp(-x). Scaled by exp(x) if asked for.
Expr k0_of(const Expr& x, bool scaled) {
  const Expr near = chebyshev(x * x - 2.0, kK0Near) - log(0.5 * x) * i0_of(x);
  const Expr beyond = chebyshev(8.0 / x - 2.0, kK0Far);
  const Expr y = scaled ? select(x <= 2.0, near * exp(x), beyond / sqrt(x)) : select(x <= 2.0, near, exp(-x) * beyond / sqrt(x));
  return positive_only(x, y, kInfinity);
}
Expr k1_of(const Expr& x, bool scaled) {
  const Expr near = log(0.5 * x) * i1_of(x) + chebyshev(x * x - 2.0, kK1Near) / x;
  const Expr beyond = chebyshev(8.0 / x - 2.0, kK1Far);
  const Expr y = scaled ? select(x <= 2.0, near * exp(x), beyond / sqrt(x)) : select(x <= 2.0, near, exp(-x) * beyond / sqrt(x));
  return positive_only(x, y, kInfinity);
}

constexpr double kTwoOverPi = 0.636619772367581343075535053490057448;
constexpr double kRootTwoOverPi = 0.797884560802865355879892119868763737;

// sqrt(2 / (pi x)) (P cos(x - phase) - Q sin(x - phase)) for x > 5, or the same turned by a quarter for Y.
Expr bessel_beyond(const Expr& x, const Expr& p, const Expr& q, double phase, bool second_kind) {
  const Expr angle = x - phase;
  const Expr wave = second_kind ? p * sin(angle) + 5.0 / x * q * cos(angle) : p * cos(angle) - 5.0 / x * q * sin(angle);
  return wave * kRootTwoOverPi / sqrt(x);
}
Expr bessel0_beyond(const Expr& x, bool second_kind) {
  const Expr z = 25.0 / (x * x);
  return bessel_beyond(x, polynomial(z, kPTop0) / polynomial(z, kPBottom0), polynomial(z, kQTop0) / polynomial(z, kQBottom0), pi / 4,
                       second_kind);
}
Expr bessel1_beyond(const Expr& x, bool second_kind) {
  const Expr w = 5.0 / x, z = w * w;
  return bessel_beyond(x, polynomial(z, kPTop1) / polynomial(z, kPBottom1), polynomial(z, kQTop1) / polynomial(z, kQBottom1), 3 * pi / 4,
                       second_kind);
}

Expr j0_of(const Expr& signed_x) {
  const Expr x = abs(signed_x), z = x * x;
  const Expr near = (z - 5.78318596294678452118) * (z - 30.4712623436620863991) * polynomial(z, kJTop0) / polynomial(z, kJBottom0);
  return select(x <= 5.0, select(x < 1e-5, 1.0 - z / 4.0, near), bessel0_beyond(x, false));
}
Expr j1_of(const Expr& signed_x) {
  const Expr x = abs(signed_x), z = x * x;
  const Expr near = polynomial(z, kJTop1) / polynomial(z, kJBottom1) * x * (z - 14.6819706421238932572) * (z - 49.2184563216946036703);
  const Expr y = select(x <= 5.0, near, bessel1_beyond(x, false));
  return select(signed_x < 0.0, -y, y);
}
Expr y0_of(const Expr& x) {
  const Expr z = x * x;
  const Expr near = polynomial(z, kYTop0) / polynomial(z, kYBottom0) + kTwoOverPi * log(x) * j0_of(x);
  return positive_only(x, select(x <= 5.0, near, bessel0_beyond(x, true)), -kInfinity);
}
Expr y1_of(const Expr& x) {
  const Expr z = x * x;
  const Expr near = x * (polynomial(z, kYTop1) / polynomial(z, kYBottom1)) + kTwoOverPi * (j1_of(x) * log(x) - 1.0 / x);
  return positive_only(x, select(x <= 5.0, near, bessel1_beyond(x, true)), -kInfinity);
}
Expr spherical_j0_of(const Expr& x) {
  const Expr z = x * x;
  const double series[] = {1.0 / 6227020800, -1.0 / 39916800, 1.0 / 362880, -1.0 / 5040, 1.0 / 120, -1.0 / 6, 1.0};
  return choose(abs(x) == kInfinity, 0.0, select(abs(x) < 0.5, polynomial(z, series), sin(x) / x));
}

// --- orthogonal polynomials by their recurrences

// r(k + 1) = next(k, r(k), r(k - 1)), from r(0) = 1 and r(1).
template <typename Next>
Expr recurrence(const Expr& x, const Expr& first, int64_t n, Next next) {
  Expr before = number(x, 1.0), value = first;
  if (n <= 0) return number(x, n == 0 ? 1.0 : 0.0);
  for (int64_t k = 1; k < n; ++k) {
    const Expr after = next(static_cast<double>(k), value, before);
    before = value;
    value = after;
  }
  return value;
}
constexpr int64_t kMaxDegree = 4096;  // every degree is an operation or two of the formula
int64_t degree(const char* who, const Scalar& n) {
  const int64_t value = n.isFloatingPoint() ? static_cast<int64_t>(n.toDouble()) : n.toLong();
  check(value <= kMaxDegree, who, ": degree ", value, " is greater than ", kMaxDegree);
  return value;
}
Expr chebyshev_recurrence(const Expr& x, const Expr& first, int64_t n) {
  return recurrence(x, first, n, [&](double, const Expr& r, const Expr& before) { return (x + x) * r - before; });
}
Expr chebyshev_t(const Expr& x, int64_t n) { return chebyshev_recurrence(x, x, n); }
Expr chebyshev_u(const Expr& x, int64_t n) { return chebyshev_recurrence(x, x + x, n); }
Expr chebyshev_v(const Expr& x, int64_t n) { return chebyshev_recurrence(x, x + x - 1.0, n); }
Expr chebyshev_w(const Expr& x, int64_t n) { return chebyshev_recurrence(x, x + x + 1.0, n); }
Expr hermite_h(const Expr& x, int64_t n) {
  return recurrence(x, x + x, n, [&](double k, const Expr& r, const Expr& before) { return (x + x) * r - (2 * k) * before; });
}
Expr hermite_he(const Expr& x, int64_t n) {
  return recurrence(x, x, n, [&](double k, const Expr& r, const Expr& before) { return x * r - k * before; });
}
Expr laguerre_l(const Expr& x, int64_t n) {
  return recurrence(x, 1.0 - x, n,
                    [&](double k, const Expr& r, const Expr& before) { return ((2 * k + (1.0 - x)) * r - k * before) / (k + 1); });
}
Expr legendre_p(const Expr& x, int64_t n) {
  return recurrence(x, x, n, [&](double k, const Expr& r, const Expr& before) { return ((2 * k + 1) * x * r - k * before) / (k + 1); });
}
Expr shifted(const Expr& x) { return x + x - 1.0; }

// f(a, b) in the float type that both promote to, computed in at least `inner`.
template <typename F>
Tensor pair_formula(const Tensor& a, const Tensor& b, bool in_double, F f) {
  check_same_device(a, b);
  const ScalarType type = float_type(promoted(a, b));
  const Dims shape = broadcast_shape(a.sizes(), b.sizes());
  const auto in = [&](const Tensor& x) {
    return broadcast(in_double ? cast(operand(x, type), DType::F64) : formula_operand(x, type), ref(shape));
  };
  return record_as(f(in(a), in(b)), type, a, b);
}

}  // namespace

// --- at top level

Tensor digamma(const Operand& x) {
  GradScope scope("DigammaBackward0", x);
  scope.rule(reads_operand(0), [](GradCall& c) { c.give(0, c.grad() * polygamma(1, c.operand(0))); });
  return float_formula(x, ir::digamma);
}
Tensor polygamma(int64_t n, const Operand& x) {
  GradScope scope("PolygammaBackward0", x);
  constexpr int64_t kLargest = 171;  // beyond it the factorial is infinite: only whether n is even counts
  n = std::min(n, kLargest + (n % 2 == 0));
  scope.rule(reads_operand(0), [n](GradCall& c) { c.give(0, c.grad() * polygamma(n + 1, c.operand(0))); });
  check(n >= 0, "polygamma(n, x) does not support negative n.");
  if (n == 0) return digamma(x);
  if (n == 1) return float_formula(x, trigamma_of);
  return double_formula(x, [&](const Expr& v) { return polygamma_of(n, v); });
}
Tensor mvlgamma(const Operand& x, int64_t p) {
  GradScope scope("MvlgammaBackward0", x);
  check(p >= 1, "p has to be greater than or equal to 1");
  return float_formula(x, [&](const Expr& v) {
    Expr sum = number(v, 0.0);
    for (int64_t i = 0; i < p; ++i) sum = sum + apply(Op::Lgamma, v + static_cast<double>(i - p + 1) / 2);
    return sum + static_cast<double>(p * (p - 1)) * std::log(pi) / 4;
  });
}
Tensor i0(const Operand& x) {
  GradScope scope("I0Backward0", x);
  scope.rule(reads_operand(0), [](GradCall& c) { c.give(0, c.grad() * special::i1(c.operand(0))); });
  return float_formula(x, i0_of);
}
Tensor sinc(const Operand& x) {
  GradScope scope("SincBackward0", x);
  scope.rule(reads_operand(0), [](GradCall& c) {
    const Tensor v = c.operand(0), product = pi * v;
    c.give(0, c.grad() * where(product * product == 0, 0, (product * cos(product) - sin(product)) / (product * v)));
  });
  return float_formula(x, [](const Expr& v) {
    const Expr product = pi * v;
    return choose(v == 0.0, 1.0, sin(product) / product);
  });
}

namespace special {

namespace {
constexpr uint32_t kReadsBoth = reads_operand(0) | kReadsOutput;

// y / x of a y that is about x / 2 near 0.
Tensor half_of(const Tensor& y, const Tensor& x) {
  const Tensor at_zero = x == 0;
  return where(at_zero, 0.5, y / where(at_zero, 1, x));
}
Tensor spherical_j0_slope(const Tensor& x, const Tensor& y) {  // its series near 0, as its values
  const Tensor z = x * x, far_out = where(isinf(x), 0, (cos(x) - y) / where(x == 0, 1, x));
  return where(abs(x) < 0.5,
               x * (-1.0 / 3 + z * (1.0 / 30 + z * (-1.0 / 840 + z * (1.0 / 45360 + z * (-1.0 / 3991680 + z * (1.0 / 518918400)))))),
               far_out);
}
}  // namespace

// The slope at x, where the function is y: PyTorch's formulas, and the like where it has none.
#define TENON_DEFINE(name, Name, formula, reads, slope)                                       \
  Tensor name(const Operand& operand) {                                                       \
    GradScope scope("Special" #Name "Backward0", operand);                                    \
    scope.rule(reads, [](GradCall& c) {                                                       \
      [[maybe_unused]] const Tensor x = ((reads)&reads_operand(0)) ? c.operand(0) : Tensor(); \
      [[maybe_unused]] const Tensor y = ((reads)&kReadsOutput) ? c.output() : Tensor();       \
      c.give(0, c.grad() * (slope));                                                          \
    });                                                                                       \
    return float_formula(operand, formula);                                                   \
  }
TENON_DEFINE(erfcx, Erfcx, erfcx_of, kReadsBoth, 2 * x * y - 2 / std::sqrt(pi))
TENON_DEFINE(ndtr, Ndtr, ndtr_of, reads_operand(0), exp(x* x * -0.5) / std::sqrt(2 * pi))
TENON_DEFINE(ndtri, Ndtri, ndtri_of, kReadsOutput, exp(y* y * 0.5) * std::sqrt(2 * pi))
TENON_DEFINE(log_ndtr, LogNdtr, log_ndtr_of, kReadsBoth, std::sqrt(2 / pi) / erfcx(x / -std::numbers::sqrt2))
TENON_DEFINE(i0e, I0E, i0e_of, kReadsBoth, i1e(x) - sign(x) * y)
TENON_DEFINE(i1, I1, i1_of, kReadsBoth, tenon::i0(x) - half_of(y, x))
TENON_DEFINE(i1e, I1E, i1e_of, kReadsBoth, i0e(x) - sign(x) * y - half_of(y, x))
TENON_DEFINE(bessel_j0, BesselJ0, j0_of, reads_operand(0), -bessel_j1(x))
TENON_DEFINE(bessel_j1, BesselJ1, j1_of, kReadsBoth, bessel_j0(x) - half_of(y, x))
TENON_DEFINE(bessel_y0, BesselY0, y0_of, reads_operand(0), -bessel_y1(x))
TENON_DEFINE(bessel_y1, BesselY1, y1_of, kReadsBoth, where(x == 0, kInfinity, bessel_y0(x) - y / x))
TENON_DEFINE(
    modified_bessel_k0, ModifiedBesselK0, [](const Expr& v) { return k0_of(v, false); }, reads_operand(0), -modified_bessel_k1(x))
TENON_DEFINE(
    modified_bessel_k1, ModifiedBesselK1, [](const Expr& v) { return k1_of(v, false); }, kReadsBoth, -modified_bessel_k0(x) - y / x)
TENON_DEFINE(
    scaled_modified_bessel_k0, ScaledModifiedBesselK0, [](const Expr& v) { return k0_of(v, true); }, kReadsBoth,
    where(x == 0, -kInfinity, y - scaled_modified_bessel_k1(x)))
TENON_DEFINE(
    scaled_modified_bessel_k1, ScaledModifiedBesselK1, [](const Expr& v) { return k1_of(v, true); }, kReadsBoth,
    where(x == 0, -kInfinity, y - scaled_modified_bessel_k0(x) - y / x))
TENON_DEFINE(spherical_bessel_j0, SphericalBesselJ0, spherical_j0_of, kReadsBoth, spherical_j0_slope(x, y))
TENON_DEFINE(
    entr, Entr, [](const Expr& v) { return select(v > 0.0, -v * log(v), choose(v == 0.0, 0.0, choose(v < 0.0, -kInfinity, v))); },
    reads_operand(0), -1 - log(x))
#undef TENON_DEFINE

#define TENON_DEFINE(name, Name, formula)                            \
  Tensor name(const Operand& x, const Scalar& n) {                   \
    GradScope scope("Special" #Name "Backward0", x);                 \
    const int64_t order = degree(#name, n);                          \
    return float_formula(x, [&](const Expr& v) { return formula; }); \
  }
TENON_DEFINE(chebyshev_polynomial_t, ChebyshevPolynomialT, chebyshev_t(v, order))
TENON_DEFINE(chebyshev_polynomial_u, ChebyshevPolynomialU, chebyshev_u(v, order))
TENON_DEFINE(chebyshev_polynomial_v, ChebyshevPolynomialV, chebyshev_v(v, order))
TENON_DEFINE(chebyshev_polynomial_w, ChebyshevPolynomialW, chebyshev_w(v, order))
TENON_DEFINE(shifted_chebyshev_polynomial_t, ShiftedChebyshevPolynomialT, chebyshev_t(shifted(v), order))
TENON_DEFINE(shifted_chebyshev_polynomial_u, ShiftedChebyshevPolynomialU, chebyshev_u(shifted(v), order))
TENON_DEFINE(shifted_chebyshev_polynomial_v, ShiftedChebyshevPolynomialV, chebyshev_v(shifted(v), order))
TENON_DEFINE(shifted_chebyshev_polynomial_w, ShiftedChebyshevPolynomialW, chebyshev_w(shifted(v), order))
TENON_DEFINE(hermite_polynomial_h, HermitePolynomialH, hermite_h(v, order))
TENON_DEFINE(hermite_polynomial_he, HermitePolynomialHe, hermite_he(v, order))
TENON_DEFINE(laguerre_polynomial_l, LaguerrePolynomialL, laguerre_l(v, order))
TENON_DEFINE(legendre_polynomial_p, LegendrePolynomialP, legendre_p(v, order))
#undef TENON_DEFINE

Tensor xlogy(const Scalar& self, const Operand& other) { return tenon::xlogy(self, other); }

namespace {
Tensor recorded_xlog1py(const char* name, const Tensor& self, const Tensor& other) {
  GradScope scope(name, self, other);
  scope.rule(reads_operand(0) | reads_operand(1), [](GradCall& c) {
    const Tensor x = c.operand(0), y = c.operand(1);
    c.give(0, gradient_for(x, where(logical_and(x == 0, y <= -1), 0, xlog1py(c.grad(), y))));
    c.give(1, gradient_for(y, c.grad() * x / (y + 1)));
  });
  return pair_formula(self, other, false,
                      [](const Expr& x, const Expr& y) { return choose(y != y, kNan, choose(x == 0.0, 0.0, x * log1p(y))); });
}
}  // namespace

Tensor xlog1py(const Operand& self, const Operand& other) { return recorded_xlog1py("SpecialXlog1PyBackward0", self, other); }
Tensor xlog1py(const Operand& self, const Scalar& other) {
  return recorded_xlog1py("SpecialXlog1PyBackward2", self, number_operand(other, self));
}
Tensor xlog1py(const Scalar& self, const Operand& other) {
  return recorded_xlog1py("SpecialXlog1PyBackward1", number_operand(self, other), other);
}

Tensor zeta(const Operand& self, const Operand& other) {
  GradScope scope("SpecialZetaBackward0", self, other);
  constexpr int kMaxTerms = 2000;
  const Tensor kept = other;  // or a temporary is computed for the check and for the result
  const double least = other.numel() == 0 ? 1.0 : nan_to_num(other.to(kDouble), 1.0).min().item<double>();
  check(least > -kMaxTerms, "zeta: the second operand must be greater than -", kMaxTerms, ", but got ", least);
  const int terms = 9 + static_cast<int>(std::max(0.0, std::ceil(-least)));
  return pair_formula(self, other, true, [&](const Expr& s, const Expr& q) { return zeta_of(s, q, terms); });
}
Tensor zeta(const Operand& self, const Scalar& other) { return zeta(self, number_operand(other, self)); }
Tensor zeta(const Scalar& self, const Operand& other) { return zeta(number_operand(self, other), other); }

}  // namespace special
}  // namespace tenon
