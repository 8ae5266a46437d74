// A small expression language over KernelBuilder, in which the elementary functions of expand_math_*.cpp read
// as formulas, and the lists of those functions. Private to passes/expand_math*.cpp.
//
// All of them are straight-line: every branch of an algorithm is computed and the answer is selected, so that
// they vectorise. Each is written for f32 or f64 arguments; coefficients are minimax fits rounded to the type
// they are used in.
#pragma once

#include <initializer_list>
#include <span>

#include "ir/kernel/kernel_builder.h"

namespace tenon::passes::math {

using ir::DType, ir::Op;

// A value of the kernel being built. The operators append instructions.
struct Expr {
  ir::KernelBuilder* builder;
  ir::Value value;
  DType dtype() const { return builder->dtype(value); }
};

// An operand: an expression, or a number that becomes a constant of the other operands' dtype.
struct Term {
  Term(Expr e) : expr(e), number(0), is_number(false) {}             // NOLINT(implicit)
  Term(double x) : expr{nullptr, -1}, number(x), is_number(true) {}  // NOLINT(implicit)
  Expr in(Expr like) const;                                          // as an expression of like's dtype
  Expr expr;
  double number;
  bool is_number;
};

Expr constant(Expr like, double x);
Expr bits_constant(Expr like, DType dtype, uint64_t bits);
Expr apply(Op op, std::initializer_list<Expr> args, DType to = DType::F32);

inline Expr operator+(Expr a, Term b) { return apply(Op::Add, {a, b.in(a)}); }
inline Expr operator+(double a, Expr b) { return apply(Op::Add, {constant(b, a), b}); }
inline Expr operator-(Expr a, Term b) { return apply(Op::Sub, {a, b.in(a)}); }
inline Expr operator-(double a, Expr b) { return apply(Op::Sub, {constant(b, a), b}); }
inline Expr operator*(Expr a, Term b) { return apply(Op::Mul, {a, b.in(a)}); }
inline Expr operator*(double a, Expr b) { return apply(Op::Mul, {constant(b, a), b}); }
inline Expr operator/(Expr a, Term b) { return apply(Op::Div, {a, b.in(a)}); }
inline Expr operator/(double a, Expr b) { return apply(Op::Div, {constant(b, a), b}); }
inline Expr operator-(Expr a) { return apply(Op::Neg, {a}); }
inline Expr operator&(Expr a, Term b) { return apply(Op::And, {a, b.in(a)}); }
inline Expr operator|(Expr a, Term b) { return apply(Op::Or, {a, b.in(a)}); }
inline Expr operator^(Expr a, Term b) { return apply(Op::Xor, {a, b.in(a)}); }
inline Expr operator<<(Expr a, int count) { return apply(Op::Shl, {a, constant(a, count)}); }
inline Expr operator>>(Expr a, int count) { return apply(Op::Shr, {a, constant(a, count)}); }
inline Expr operator<(Expr a, Term b) { return apply(Op::Lt, {a, b.in(a)}); }
inline Expr operator<=(Expr a, Term b) { return apply(Op::Le, {a, b.in(a)}); }
inline Expr operator>(Expr a, Term b) { return apply(Op::Gt, {a, b.in(a)}); }
inline Expr operator>=(Expr a, Term b) { return apply(Op::Ge, {a, b.in(a)}); }
inline Expr equal(Expr a, Term b) { return apply(Op::Eq, {a, b.in(a)}); }
inline Expr unequal(Expr a, Term b) { return apply(Op::Ne, {a, b.in(a)}); }
inline Expr fma(Expr a, Term b, Term c) { return apply(Op::Fma, {a, b.in(a), c.in(a)}); }  // a*b + c, rounded once
inline Expr sqrt(Expr x) { return apply(Op::Sqrt, {x}); }
inline Expr abs(Expr x) { return apply(Op::Abs, {x}); }
inline Expr floor(Expr x) { return apply(Op::Floor, {x}); }
inline Expr trunc(Expr x) { return apply(Op::Trunc, {x}); }
inline Expr round(Expr x) { return apply(Op::Round, {x}); }               // half to even
inline Expr min(Expr a, Term b) { return apply(Op::Min, {a, b.in(a)}); }  // nan wins
inline Expr max(Expr a, Term b) { return apply(Op::Max, {a, b.in(a)}); }
inline Expr cast(Expr x, DType to) { return x.dtype() == to ? x : apply(Op::Cast, {x}, to); }
inline Expr bitcast(Expr x, DType to) { return apply(Op::Bitcast, {x}, to); }
inline Expr select(Expr condition, Expr yes, Term no) { return apply(Op::Where, {condition, yes, no.in(yes)}); }
inline Expr select(Expr condition, double yes, Expr no) { return apply(Op::Where, {condition, constant(no, yes), no}); }
// Two numbers of like's dtype.
inline Expr select_constant(Expr condition, Expr like, double yes, double no) { return select(condition, constant(like, yes), no); }

// A real number as the sum of two constants of `like`'s dtype, given as the sum of two doubles.
struct Real {
  double hi, lo;
};
Real real_for(Expr like, Real number);
inline constexpr Real kLn2{0.6931471805599453, 2.3190468138462996e-17};

// c[0] + c[1] x + c[2] x^2 + ..., by Horner's rule.
Expr polynomial(Expr x, std::initializer_list<double> c);

// The layout of f32 and f64.
struct Format {
  DType integer;  // the signed integer of the same size
  int mantissa;   // stored bits
  int bias;
  int width;
};
const Format& format(DType dtype);
Expr to_bits(Expr x);                  // the representation, as a signed integer
Expr from_bits(Expr bits);             // and back
Expr sign_bit(Expr x);                 // bool: true for -0 and negative values
Expr with_sign_of(Expr x, Expr sign);  // |x| with the sign bit of `sign`
Expr small_to_float(Expr n);           // an i32, or an i64 below 2^51 in size, as a float of its width
// Some processors take a hundred times as long for a product with a denormal number, or one that gives it. So formulas compute with
// another number in its place, and choose the result at the end where it matters.
Expr is_normal(Expr x);       // neither 0 nor denormal: nan and infinity are
Expr away_from_zero(Expr x);  // x, or close to 0 a normal number or 0 that is within 2^-99 of it: for functions that are 1 there
// x, or 0 where x + x^2 is x: the square of a tiny number may be denormal, and arithmetic on such numbers is slow.
Expr zero_if_tiny(Expr x);

// An unevaluated sum of two floats, |lo| <= ulp(hi)/2.
struct Pair {
  Expr hi, lo;
};
Pair two_sum(Expr a, Expr b);       // exact (Knuth)
Pair fast_two_sum(Expr a, Expr b);  // exact if |a| >= |b| or a == 0 (Dekker)
Pair two_product(Expr a, Expr b);   // exact

// f32: f(x) computed in f64 and rounded.
template <typename F, typename... Args>
Expr in_double(F f, Args... x) {
  return cast(f(cast(x, DType::F64)...), DType::F32);
}
inline bool is_single(Expr x) { return x.dtype() == DType::F32; }

// What an operation is replaced by. Each file has a list of its own; others see only what their formulas need.
struct Formula {
  constexpr Formula(Op op, Expr (*of)(Expr)) : op(op), of_one(of) {}
  constexpr Formula(Op op, Expr (*of)(Expr, Expr)) : op(op), of_two(of) {}
  Expr operator()(const Expr* x) const { return of_one ? of_one(x[0]) : of_two(x[0], x[1]); }
  Op op;
  Expr (*of_one)(Expr) = nullptr;
  Expr (*of_two)(Expr, Expr) = nullptr;
};

// --- expand_math_exp.cpp ---
std::span<const Formula> exp_formulas();
Expr exp(Expr x);
// exp(x) as fraction * 2^n with fraction = hi + lo in about [0.7, 1.5]; for f64 only.
struct ScaledExp {
  Pair fraction;
  Expr shifter;  // n in its low bits, as scale_by expects
};
ScaledExp exp_parts(Pair x);
Expr scale_by(Expr fraction, Expr shifter);  // fraction * 2^n, rounded once, through denormals
Expr exp_normal(Pair x);                     // where the result and 2^n are normal numbers: |x| < 80 for f32
Expr exp_normal(Expr x);                     // the same for f64
Expr times_exp(Pair factor, Pair x);         // factor * exp(x) for f32, -104 < x <= 0 and factors from 2^-40 to 1
// 2^k factor exp(-a^2/2) for f32, where that is a normal number, as the factor is; up: k at the place of the exponent.
Expr times_exp_of_half_square(Expr factor, Expr a, Expr up);
Expr exp_short(Expr x);  // f64 argument, relative error 2^-42: for results that become f32

// --- expand_math_log.cpp ---
std::span<const Formula> log_formulas();
Expr log(Expr x);
Expr log1p(Pair x);      // f64, of an unevaluated sum > 0
Pair log_pair(Expr x);   // f64, 0 < x < inf, relative error 2^-65
Expr log_short(Expr x);  // f64, relative error 2^-42

// --- expand_math_trig.cpp ---
std::span<const Formula> trig_formulas();
Expr sin(Expr x);

// --- expand_math_special.cpp ---
std::span<const Formula> special_formulas();

// --- expand_math_power.cpp ---
std::span<const Formula> power_formulas();

}  // namespace tenon::passes::math
