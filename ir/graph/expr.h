// Formulas over graph nodes. All operands of one formula have one dtype and one shape; numbers take theirs.
//
//   Expr silu(Expr x) { return x / (1.0 + exp(-x)); }
#pragma once

#include "ir/graph/graph.h"

namespace tenon::ir {

struct Expr {
  NodeRef node;

  DType dtype() const { return node->dtype(); }
  const Dims& shape() const { return node->shape(); }
};

inline Expr constant_like(const Expr& like, Constant c) { return {make_const(c, like.shape(), like.node->device())}; }
// The number in the dtype and shape of `like`.
inline Expr number(const Expr& like, double value) { return constant_like(like, constant(like.dtype(), value)); }

inline Expr apply(Op op, const Expr& x) { return {unary(op, x.node)}; }
inline Expr apply(Op op, const Expr& a, const Expr& b) { return {binary(op, a.node, b.node)}; }

#define TENON_EXPR(name, op)                                                           \
  inline Expr name(const Expr& a, const Expr& b) { return apply(Op::op, a, b); }       \
  inline Expr name(const Expr& a, double b) { return apply(Op::op, a, number(a, b)); } \
  inline Expr name(double a, const Expr& b) { return apply(Op::op, number(b, a), b); }
TENON_EXPR(operator+, Add)
TENON_EXPR(operator-, Sub)
TENON_EXPR(operator*, Mul)
TENON_EXPR(operator/, Div)
TENON_EXPR(operator<, Lt)
TENON_EXPR(operator<=, Le)
TENON_EXPR(operator>, Gt)
TENON_EXPR(operator>=, Ge)
TENON_EXPR(operator==, Eq)
TENON_EXPR(operator!=, Ne)
TENON_EXPR(larger, Max)
TENON_EXPR(smaller, Min)
TENON_EXPR(rem, Rem)
TENON_EXPR(copysign, CopySign)
#undef TENON_EXPR

inline Expr operator-(const Expr& x) { return apply(Op::Neg, x); }
inline Expr operator&(const Expr& a, const Expr& b) { return apply(Op::And, a, b); }
inline Expr operator|(const Expr& a, const Expr& b) { return apply(Op::Or, a, b); }
inline Expr operator^(const Expr& a, const Expr& b) { return apply(Op::Xor, a, b); }
inline Expr operator!(const Expr& x) { return apply(Op::Not, x); }
inline Expr abs(const Expr& x) { return apply(Op::Abs, x); }
inline Expr exp(const Expr& x) { return apply(Op::Exp, x); }
inline Expr expm1(const Expr& x) { return apply(Op::Expm1, x); }
inline Expr log(const Expr& x) { return apply(Op::Log, x); }
inline Expr log1p(const Expr& x) { return apply(Op::Log1p, x); }
inline Expr sqrt(const Expr& x) { return apply(Op::Sqrt, x); }
inline Expr sin(const Expr& x) { return apply(Op::Sin, x); }
inline Expr cos(const Expr& x) { return apply(Op::Cos, x); }
inline Expr sinh(const Expr& x) { return apply(Op::Sinh, x); }
inline Expr cosh(const Expr& x) { return apply(Op::Cosh, x); }
inline Expr tanh(const Expr& x) { return apply(Op::Tanh, x); }
inline Expr floor(const Expr& x) { return apply(Op::Floor, x); }
inline Expr trunc(const Expr& x) { return apply(Op::Trunc, x); }
inline Expr pow(const Expr& a, const Expr& b) { return apply(Op::Pow, a, b); }
inline Expr select(const Expr& condition, const Expr& a, const Expr& b) { return {where(condition.node, a.node, b.node)}; }
inline Expr cast(Expr x, DType to) { return {cast(std::move(x.node), to)}; }
inline Expr reduce(Op op, const Expr& x, const Dims& dims) { return {reduce(op, x.node, dims)}; }

}  // namespace tenon::ir
