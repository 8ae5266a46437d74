// Elementwise functions of one tensor.
#include <cmath>
#include <numbers>

#include "frontend/src/autograd/replayed_call.h"
#include "frontend/src/ops/elementwise.h"
#include "frontend/src/tensor/expr.h"
#include "frontend/src/tensor/promote.h"
#include "frontend/src/tensor/text.h"

namespace tenon {
namespace {

using ir::kInfinity;

// One float op; integers become the default float type.
Tensor float_op(Op op, const Tensor& x) { return record(ir::unary(op, operand(x, float_type(x.scalar_type())).node), x); }

Tensor same_everywhere(const Tensor& like, bool value) {
  return record(constant_node(ir::constant(DType::Bool, int64_t{value}), span_of(like.sizes())), like);
}

}  // namespace

Tensor replayed_float_op(const char* name, const char* grad_name, uint32_t saved, Op op, const Tensor& x) {
  const auto recorded = [&] {
    GradScope scope(grad_name, x);
    if (saved) scope.saves(saved);
    return float_op(op, x);
  };
  return replayed_call(name, {}, recorded, x);
}
Tensor rounding_op(const char* grad_name, const char* kernel, Op op, const Tensor& x) {
  GradScope scope(grad_name, x);
  refuse_bool(x, kernel);
  return x.is_floating_point() ? record(ir::unary(op, node_of(x)), x) : clone(x);
}

// --- arithmetic

Tensor abs(const Operand& x) {
  GradScope scope("AbsBackward0", x);
  refuse_bool(x, "abs_cpu");
  return record(ir::unary(Op::Abs, node_of(x)), x);
}
Tensor neg(const Operand& x) {
  GradScope scope("NegBackward0", x);
  check<NotImplementedError>(x.scalar_type() != kBool,
                             "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a mask, "
                             "use the `~` "
                             "or `logical_not()` operator instead.");
  return record(ir::unary(Op::Neg, node_of(x)), x);
}
Tensor positive(const Operand& x) {
  const CallScope call("positive", x);
  check<NotImplementedError>(x.scalar_type() != kBool, "The `+` operator, on a bool tensor is not supported.");
  return x;
}
Tensor sign(const Operand& x) {
  GradScope scope("SignBackward0", x);
  return x.scalar_type() == kBool ? clone(x) : record(ir::unary(Op::Sign, node_of(x)), x);
}
Tensor sgn(const Operand& x) {
  GradScope scope("SgnBackward0", x);
  scope.saves(reads_operand(0) | kReadsOutput);
  return sign(x);
}
Tensor signbit(const Operand& x) {
  const DType type = ir_type(x.scalar_type());
  if (!ir::is_signed(type)) return same_everywhere(x, false);
  NodeRef node = node_of(x);
  if (ir::is_float(type)) {
    const DType bits = ir::item_size(type) == 2 ? DType::I16 : type == DType::F32 ? DType::I32 : DType::I64;
    node = ir::make_node(Op::Bitcast, {&node, 1}, {}, bits);
  }
  return record((Expr{node} < 0.0).node, x);
}
Tensor square(const Operand& x) { return pow(x, 2); }
Tensor rsqrt(const Operand& x) {
  GradScope scope("RsqrtBackward0", x);
  scope.saves(kReadsOutput);
  return float_formula(x, [](const Expr& v) { return 1.0 / sqrt(v); });
}
Tensor reciprocal(const Operand& x) {
  GradScope scope("ReciprocalBackward0", x);
  scope.saves(kReadsOutput);
  return float_formula(x, [](const Expr& v) { return 1.0 / v; });
}
Tensor deg2rad(const Operand& x) {
  GradScope scope("Deg2RadBackward0", x);
  return float_formula(x, [](const Expr& v) { return v * (std::numbers::pi / 180); });
}
Tensor rad2deg(const Operand& x) {
  GradScope scope("Rad2DegBackward0", x);
  return float_formula(x, [](const Expr& v) { return v * (180 / std::numbers::pi); });
}

Tensor log1p(const Operand& x) {
  GradScope scope("Log1PBackward0", x);
  return float_op(Op::Log1p, x);
}

// --- rounding

Tensor round(const Operand& x, int64_t decimals) {
  GradScope scope("RoundBackward1", x);
  check<NotImplementedError>(x.is_floating_point(), decimals ? "\"round_cpu\"" : "\"round_vml_cpu\"", " not implemented for '",
                             x.scalar_type(), "'");
  if (decimals == 0) return round(x);
  const double scale = std::pow(10.0, static_cast<double>(std::abs(decimals)));
  return map_formula(x, x.scalar_type(), [&](const Expr& v) {
    return decimals > 0 ? apply(Op::Round, v * scale) / scale : apply(Op::Round, v / scale) * scale;
  });
}
Tensor frac(const Operand& x) {
  GradScope scope("FracBackward0", x);
  check<NotImplementedError>(x.is_floating_point(), "\"frac_cpu\" not implemented for '", x.scalar_type(), "'");
  return map_formula(x, x.scalar_type(), [](const Expr& v) { return v - trunc(v); });
}

// --- questions

Tensor isnan(const Operand& x) {
  const CallScope call("isnan", x);
  if (!x.is_floating_point()) return same_everywhere(x, false);
  const Expr v{node_of(x)};
  return record((v != v).node, x);
}
Tensor isinf(const Operand& x) {
  const CallScope call("isinf", x);
  if (!x.is_floating_point()) return same_everywhere(x, false);
  return record((abs(Expr{node_of(x)}) == kInfinity).node, x);
}
Tensor isfinite(const Operand& x) {
  const CallScope call("isfinite", x);
  if (!x.is_floating_point()) return same_everywhere(x, true);
  return record((abs(Expr{node_of(x)}) < kInfinity).node, x);
}
Tensor logical_not(const Operand& x) {
  const CallScope call("logical_not", x);
  return record((!operand(x, kBool)).node, x);
}
Tensor bitwise_not(const Operand& x) {
  const CallScope call("bitwise_not", x);
  check<NotImplementedError>(!x.is_floating_point(), "\"bitwise_not_cpu\" not implemented for '", x.scalar_type(), "'");
  return record(ir::unary(Op::Not, node_of(x)), x);
}
Tensor detail::invert(const Operand& self) {
  const CallScope call("bitwise_not", self);
  check<TypeError>(!self.is_floating_point(), "~ (operator.invert) is only implemented on integer and Boolean-type tensors");
  return bitwise_not(self);
}
Tensor nan_to_num(const Operand& x, optional<double> nan, optional<double> posinf, optional<double> neginf) {
  GradScope scope("NanToNumBackward0", x);
  if (!x.is_floating_point()) return clone(x);
  const Expr v{node_of(x)};
  const double limit = largest(x.scalar_type());
  Expr result = select(v == kInfinity, number(v, posinf.value_or(limit)), v);
  result = select(v == -kInfinity, number(v, neginf.value_or(-limit)), result);
  return record(select(v != v, number(v, nan.value_or(0.0)), result).node, x);
}

}  // namespace tenon
