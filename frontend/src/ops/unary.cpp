// Elementwise functions of one tensor.
#include <cmath>
#include <numbers>

#include "frontend/src/autograd/replayed_call.h"
#include "frontend/src/tensor/expr.h"
#include "frontend/src/tensor/promote.h"
#include "frontend/src/tensor/text.h"

namespace tenon {
namespace {

using ir::kInfinity;

// One float op; integers become the default float type.
Tensor float_op(Op op, const Tensor& x) { return record(ir::unary(op, operand(x, float_type(x.scalar_type())).node), x); }

// Rounding to an integer: integers are already there.
Tensor rounding_op(Op op, const Tensor& x, const char* kernel) {
  refuse_bool(x, kernel);
  return x.is_floating_point() ? record(ir::unary(op, node_of(x)), x) : clone(x);
}

Tensor same_everywhere(const Tensor& like, bool value) {
  return record(constant_node(ir::constant(DType::Bool, int64_t{value}), span_of(like.sizes())), like);
}

}  // namespace

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
Tensor sqrt(const Operand& x) {
  GradScope scope("SqrtBackward0", x);
  scope.saves(kReadsOutput);
  return float_op(Op::Sqrt, x);
}
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

// --- functions with an op of their own

// What PyTorch saves, where something else may be kept here: the operand if the result has another order than the operand's memory,
// a transposed one; nothing if there is nothing to say.
constexpr uint32_t saved_by(Op op) {
  const bool result = op == Op::Exp || op == Op::Exp2 || op == Op::Expm1 || op == Op::Tan || op == Op::Tanh || op == Op::Sigmoid;
  return result ? kReadsOutput : op == Op::Erfinv ? reads_operand(0) : kReadsNothing;
}

#define TENON_FLOAT_OP(name, op)                                       \
  Tensor name(const Operand& x) {                                      \
    const auto recorded = [&] {                                        \
      GradScope scope(#op "Backward0", x);                             \
      if (const uint32_t saved = saved_by(Op::op)) scope.saves(saved); \
      return float_op(Op::op, x);                                      \
    };                                                                 \
    return replayed_call(#name, {}, recorded, x);                      \
  }
TENON_FLOAT_OP(exp, Exp)
TENON_FLOAT_OP(exp2, Exp2)
TENON_FLOAT_OP(expm1, Expm1)
TENON_FLOAT_OP(log, Log)
TENON_FLOAT_OP(log2, Log2)
TENON_FLOAT_OP(log10, Log10)
TENON_FLOAT_OP(sin, Sin)
TENON_FLOAT_OP(cos, Cos)
TENON_FLOAT_OP(tan, Tan)
TENON_FLOAT_OP(asin, Asin)
TENON_FLOAT_OP(acos, Acos)
TENON_FLOAT_OP(atan, Atan)
TENON_FLOAT_OP(sinh, Sinh)
TENON_FLOAT_OP(cosh, Cosh)
TENON_FLOAT_OP(tanh, Tanh)
TENON_FLOAT_OP(sigmoid, Sigmoid)
TENON_FLOAT_OP(asinh, Asinh)
TENON_FLOAT_OP(acosh, Acosh)
TENON_FLOAT_OP(atanh, Atanh)
TENON_FLOAT_OP(erf, Erf)
TENON_FLOAT_OP(erfc, Erfc)
TENON_FLOAT_OP(erfinv, Erfinv)
TENON_FLOAT_OP(lgamma, Lgamma)
TENON_FLOAT_OP(arcsin, Asin)
TENON_FLOAT_OP(arccos, Acos)
TENON_FLOAT_OP(arctan, Atan)
TENON_FLOAT_OP(arcsinh, Asinh)
TENON_FLOAT_OP(arccosh, Acosh)
TENON_FLOAT_OP(arctanh, Atanh)
#undef TENON_FLOAT_OP
Tensor log1p(const Operand& x) {
  GradScope scope("Log1PBackward0", x);
  return float_op(Op::Log1p, x);
}

// --- rounding

Tensor floor(const Operand& x) {
  GradScope scope("FloorBackward0", x);
  return rounding_op(Op::Floor, x, "floor_vml_cpu");
}
Tensor ceil(const Operand& x) {
  GradScope scope("CeilBackward0", x);
  return rounding_op(Op::Ceil, x, "ceil_vml_cpu");
}
Tensor trunc(const Operand& x) {
  GradScope scope("TruncBackward0", x);
  return rounding_op(Op::Trunc, x, "trunc_vml_cpu");
}
Tensor round(const Operand& x) {
  GradScope scope("RoundBackward0", x);
  return rounding_op(Op::Round, x, "round_vml_cpu");
}
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
