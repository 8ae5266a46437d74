// Formulas over graph nodes. All operands of one formula have one dtype and one shape; numbers take theirs.
//
//   Expr silu(Expr x) { return x / (1.0 + exp(-x)); }
#pragma once

#include "frontend/src/tensor/impl.h"

namespace tenon {

struct Expr {
  NodeRef node;

  DType dtype() const { return node->dtype(); }
  IntArrayRef shape() const { return ref(node->shape()); }
};

// The number in the dtype and shape of `like`.
inline Expr number(const Expr& like, double value) {
  return {ir::make_const(ir::constant(like.dtype(), value), like.node->shape(), like.node->device())};
}
inline Expr constant_like(const Expr& like, ir::Constant c) {
  return {ir::make_const(c, like.node->shape(), like.node->device())};
}
inline Expr number(const Expr& like, const Scalar& value) {  // an Error if it does not fit
  return constant_like(like, element_of(value, scalar_type(like.dtype())));
}
// The number as `type` rounds it, in the dtype of `like`.
inline Expr rounded_number(const Expr& like, const Scalar& value, ScalarType type) {
  return constant_like(like, ir::cast(element_of(value, type), like.dtype()));
}
// A bound of clamp. One on integers may lie outside their range where it excludes nothing; if it excludes
// all, that is an Error.
enum class Bound : uint8_t { Min, Max };
Expr bound_number(const Expr& like, const Scalar& value, Bound which);

inline Expr apply(Op op, const Expr& x) { return {ir::unary(op, x.node)}; }
inline Expr apply(Op op, const Expr& a, const Expr& b) { return {ir::binary(op, a.node, b.node)}; }
// x * y + z, of floats rounded once.
Expr multiply_add(const Expr& x, const Expr& y, const Expr& z);

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
inline Expr tanh(const Expr& x) { return apply(Op::Tanh, x); }
inline Expr floor(const Expr& x) { return apply(Op::Floor, x); }
inline Expr trunc(const Expr& x) { return apply(Op::Trunc, x); }
inline Expr select(const Expr& condition, const Expr& a, const Expr& b) {
  return {ir::where(condition.node, a.node, b.node)};
}
inline Expr cast(const Expr& x, DType to) { return {ir::cast(x.node, to)}; }

// The values over `shape`: size-1 dims repeated, dims added in front.
NodeRef broadcast(const NodeRef& node, IntArrayRef shape);
inline Expr broadcast(const Expr& x, IntArrayRef shape) { return {broadcast(x.node, shape)}; }
inline Expr reduce(Op op, const Expr& x, const Dims& dims) { return {ir::reduce(op, x.node, dims)}; }

// What a formula is computed in: PyTorch computes the 16-bit floats in float32 and rounds once at the end.
constexpr DType formula_type(DType t) { return ir::is_half(t) ? DType::F32 : t; }

// The tensor's elements as `type`, whose formulas are computed in formula_type.
Expr operand(const Tensor& tensor, ScalarType type);
Expr formula_operand(const Tensor& tensor, ScalarType type);
template <typename... Operands>
Tensor record_as(const Expr& x, ScalarType type, const Operands&... operands) {
  return record(ir::cast(x.node, ir_type(type)), operands...);
}

// f over the elements of one tensor. Float formulas turn integers into the default float type.
template <typename F>
Tensor map_formula(const Tensor& x, ScalarType type, F f) {
  return record_as(f(formula_operand(x, type)), type, x);
}

// Common shape of operands that broadcast, or PyTorch's Error about the first dim from the end that does not
// fit.
Dims broadcast_shape(IntArrayRef a, IntArrayRef b);
// Error, unless one of them is a number (0-dim) of the host, which `operand` moves to the call's device.
void check_same_device(const Tensor& a, const Tensor& b);
// Which operands of a difference are bools: none may be.
void refuse_bool_difference(bool a, bool b);

}  // namespace tenon
