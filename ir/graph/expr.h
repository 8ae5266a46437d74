// Formulas over graph nodes. All operands of one formula have one dtype and one shape; numbers take theirs. Operands that are moved into a
// formula are not counted twice.
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

inline Expr apply(Op op, Expr x) { return {unary(op, std::move(x.node))}; }
inline Expr apply(Op op, Expr a, Expr b) { return {binary(op, std::move(a.node), std::move(b.node))}; }

#define TENON_EXPR(name, op)                                                             \
  inline Expr name(Expr a, Expr b) { return apply(Op::op, std::move(a), std::move(b)); } \
  inline Expr name(Expr a, double b) {                                                   \
    Expr x = number(a, b);                                                               \
    return apply(Op::op, std::move(a), std::move(x));                                    \
  }                                                                                      \
  inline Expr name(double a, Expr b) {                                                   \
    Expr x = number(b, a);                                                               \
    return apply(Op::op, std::move(x), std::move(b));                                    \
  }
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

inline Expr operator-(Expr x) { return apply(Op::Neg, std::move(x)); }
inline Expr operator&(Expr a, Expr b) { return apply(Op::And, std::move(a), std::move(b)); }
inline Expr operator|(Expr a, Expr b) { return apply(Op::Or, std::move(a), std::move(b)); }
inline Expr operator^(Expr a, Expr b) { return apply(Op::Xor, std::move(a), std::move(b)); }
inline Expr operator!(Expr x) { return apply(Op::Not, std::move(x)); }
inline Expr abs(Expr x) { return apply(Op::Abs, std::move(x)); }
inline Expr exp(Expr x) { return apply(Op::Exp, std::move(x)); }
inline Expr expm1(Expr x) { return apply(Op::Expm1, std::move(x)); }
inline Expr log(Expr x) { return apply(Op::Log, std::move(x)); }
inline Expr log1p(Expr x) { return apply(Op::Log1p, std::move(x)); }
inline Expr sqrt(Expr x) { return apply(Op::Sqrt, std::move(x)); }
inline Expr sin(Expr x) { return apply(Op::Sin, std::move(x)); }
inline Expr cos(Expr x) { return apply(Op::Cos, std::move(x)); }
inline Expr sinh(Expr x) { return apply(Op::Sinh, std::move(x)); }
inline Expr cosh(Expr x) { return apply(Op::Cosh, std::move(x)); }
inline Expr tanh(Expr x) { return apply(Op::Tanh, std::move(x)); }
inline Expr floor(Expr x) { return apply(Op::Floor, std::move(x)); }
inline Expr trunc(Expr x) { return apply(Op::Trunc, std::move(x)); }
inline Expr pow(Expr a, Expr b) { return apply(Op::Pow, std::move(a), std::move(b)); }
inline Expr select(Expr condition, Expr a, Expr b) { return {where(std::move(condition.node), std::move(a.node), std::move(b.node))}; }
inline Expr cast(Expr x, DType to) { return {cast(std::move(x.node), to)}; }
inline Expr reduce(Op op, const Expr& x, const Dims& dims) { return {reduce(op, x.node, dims)}; }

}  // namespace tenon::ir
