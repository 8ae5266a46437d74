// Elementwise choices: between two tensors by a condition, and of what lies within bounds.
#include "frontend/src/autograd/grad.h"
#include "frontend/src/tensor/expr.h"
#include "frontend/src/tensor/promote.h"
#include "frontend/src/tensor/text.h"
#include "tenon/creation.h"

namespace tenon {
namespace {

NodeRef condition_node(const Tensor& condition) {
  const ScalarType type = condition.scalar_type();
  check(type == kBool || type == kByte, "where expected condition to be a boolean tensor, but got a tensor with dtype ", type);
  return operand(condition, kBool).node;
}

NodeRef value_node(const Tensor& value, ScalarType type) { return operand(value, type).node; }
NodeRef value_node(const Scalar& value, ScalarType type) {  // the 16-bit types alone take any number
  const bool any = ir::is_half(ir_type(type));
  return constant_node(any ? wrapped(value, ir_type(type)) : element_of(value, type), Dims{});
}

template <typename A, typename B>
Tensor where_any(const Tensor& condition, const A& a, const B& b) {
  if (condition.scalar_type() == kByte)
    warn_user(
        "where received a uint8 condition tensor. This behavior is deprecated and will be removed in a future "
        "version of PyTorch. Use a boolean condition instead.");
  const ScalarType type = promoted(a, b);
  const NodeRef c = condition_node(condition), x = value_node(a, type), y = value_node(b, type);
  Dims shape = broadcast_shape(condition.sizes(), ref(x->shape()));
  shape = broadcast_shape(ref(shape), ref(y->shape()));
  return record(ir::where(broadcast(c, ref(shape)), broadcast(x, ref(shape)), broadcast(y, ref(shape))), condition, a, b);
}

}  // namespace

Tensor where(const Operand& condition, const Operand& a, const Operand& b) {
  const CallScope call("where", condition, a, b);
  GradScope scope("WhereBackward0", a, b);
  scope.saves(kReadsNothing, condition);
  check_same_device(condition, a);
  check_same_device(a, b);
  return where_any(condition, a, b);
}
Tensor where(const Operand& condition, const Scalar& a, const Operand& b) {
  const CallScope call("where", condition, a, b);
  GradScope scope("WhereBackward0", b);
  scope.saves(kReadsNothing, condition);
  return where_any(condition, a, b);
}
Tensor where(const Operand& condition, const Operand& a, const Scalar& b) {
  const CallScope call("where", condition, a, b);
  GradScope scope("WhereBackward0", a);
  scope.saves(kReadsNothing, condition);
  return where_any(condition, a, b);
}
Tensor where(const Operand& condition, const Scalar& a, const Scalar& b) {
  const CallScope call("where", condition, a, b);
  return where_any(condition, a, b);
}

Tensor masked_fill(const Operand& self, const Operand& mask, const Scalar& value) {
  const CallScope call("masked_fill", self, mask, value);
  GradScope scope("MaskedFillBackward0", self);
  scope.saves(kReadsNothing, mask);
  return masked_fill(self, mask, scalar_tensor(value, self.options()));
}
Tensor masked_fill(const Operand& self, const Operand& mask, const Operand& value) {
  const CallScope call("masked_fill", self, mask, value);
  GradScope scope("MaskedFillBackward1", self, value);
  scope.saves(kReadsNothing, mask);
  check(mask.scalar_type() == kBool, "masked_fill_ only supports boolean masks, but got mask with dtype ", mask.dtype());
  check(value.dim() == 0, "masked_fill only supports a 0-dimensional value tensor, but got tensor with ", value.dim(), " dimension(s).");
  const ScalarType type = self.scalar_type();
  const Dims shape = broadcast_shape(mask.sizes(), self.sizes());
  return record(ir::where(broadcast(node_of(mask), ref(shape)), broadcast(operand(value, type).node, ref(shape)),
                          broadcast(node_of(self), ref(shape))));
}

// --- bounds

namespace {

// The bound comes first: an element equal to it stays itself, and nan wins from either side.
Expr bounded(Op op, const Expr& x, const Expr& bound) { return apply(op, bound, x); }

Expr between(const Expr& x, const optional<Scalar>& min, const optional<Scalar>& max) {
  Expr v = x;
  if (min) v = bounded(Op::Max, v, bound_number(x, *min, Bound::Min));
  if (max) v = bounded(Op::Min, v, bound_number(x, *max, Bound::Max));
  return v;
}

// Zero at the bounds.
GradRule between_rule(const optional<Scalar>& min, const optional<Scalar>& max) {
  return [=](GradCall& c) {
    Tensor g = c.grad();
    if (min) g = where(c.operand(0) > *min, g, 0);
    if (max) g = where(c.operand(0) < *max, g, 0);
    c.give(0, g);
  };
}

// The gradients of two bounds, as in PyTorch: an x that equals one bound shares with it, and keeps all if both bounds are one number.
// The upper bound takes everything where it is less than the lower bound.
void between_bounds_rule(GradCall& c) {
  const Tensor x = c.operand(0), min = c.operand(1), max = c.operand(2), g = c.grad(), half = g * 0.5;
  const Tensor below = x<min, above = x> max, ordered = min <= max, at_min = x == min, at_max = x == max;
  const Tensor beside_min = logical_and(at_min, logical_not(at_max)), beside_max = logical_and(at_max, logical_not(at_min));
  c.give(0, gradient_for(x, where(logical_or(below, above), 0, where(logical_or(beside_min, beside_max), half, g))));
  c.give(1, gradient_for(min, where(ordered, where(below, g, where(beside_min, half, 0)), 0)));
  c.give(2, gradient_for(max, where(ordered, where(above, g, where(beside_max, half, 0)), where(max < min, g, 0))));
}

}  // namespace

Tensor clamp(const Operand& x, const optional<Scalar>& min, const optional<Scalar>& max) {
  GradScope scope("ClampBackward1", x);
  scope.rule(reads_operand(0), between_rule(min, max));
  check(min || max, "torch.clamp: At least one of 'min' or 'max' must not be None");
  Promotion promotion;
  promotion.add(x);
  if (min) promotion.add(*min);
  if (max) promotion.add(*max);
  const ScalarType type = promotion.result();
  check<NotImplementedError>(type != kBool, '"',
                             !max  ? "clamp_min_scalar"
                             : min ? "clamp_scalar"
                                   : "clamp_max_scalar",
                             "_cpu\" not implemented for 'Bool'");
  return record(between(operand(x, type), min, max).node, x);
}

Tensor clamp(const Operand& x, const optional<Tensor>& min, const optional<Tensor>& max) {
  GradScope scope("ClampBackward0", x, min, max);
  if (given(min) && given(max)) scope.rule(reads_operand(0) | reads_operand(1) | reads_operand(2), between_bounds_rule);
  check(given(min) || given(max), "torch.clamp: At least one of 'min' or 'max' must not be None");
  Promotion promotion;
  promotion.add(x);
  Dims shape = dims_of(x.sizes());
  for (const auto* bound : {&min, &max}) {
    if (!given(*bound)) continue;
    check_same_device(x, **bound);
    promotion.add(**bound);
    shape = broadcast_shape(ref(shape), (*bound)->sizes());
  }
  const ScalarType type = promotion.result();
  Expr v = broadcast(operand(x, type), ref(shape));
  if (given(min)) v = bounded(Op::Max, v, broadcast(operand(*min, type), ref(shape)));
  if (given(max)) v = bounded(Op::Min, v, broadcast(operand(*max, type), ref(shape)));
  return record(v.node, x, min, max);
}
Tensor clamp_min(const Operand& x, const Scalar& min) {
  const CallScope call("clamp_min", x, min);
  GradScope scope("ClampMinBackward0", x);
  scope.rule(reads_operand(0), between_rule(min, nullopt));
  return clamp(x, optional<Scalar>(min), nullopt);
}
Tensor clamp_min(const Operand& x, const Operand& min) {
  GradScope scope("ClampMinBackward1", x, min);
  return clamp(x, optional<Tensor>(min), optional<Tensor>());
}
Tensor clamp_max(const Operand& x, const Scalar& max) {
  const CallScope call("clamp_max", x, max);
  GradScope scope("ClampMaxBackward0", x);
  scope.rule(reads_operand(0), between_rule(nullopt, max));
  return clamp(x, optional<Scalar>(), optional<Scalar>(max));
}
Tensor clamp_max(const Operand& x, const Operand& max) {
  GradScope scope("ClampMaxBackward1", x, max);
  return clamp(x, optional<Tensor>(), optional<Tensor>(max));
}

}  // namespace tenon
