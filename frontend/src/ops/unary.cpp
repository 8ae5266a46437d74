// Elementwise functions of one tensor, and the activations.
#include <cmath>
#include <numbers>

#include "frontend/src/autograd/grad.h"
#include "frontend/src/tensor/expr.h"
#include "frontend/src/tensor/promote.h"
#include "frontend/src/tensor/text.h"

namespace tenon {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

void refuse_bool(const Tensor& x, const char* kernel) {
  check<NotImplementedError>(x.scalar_type() != kBool, '"', kernel, "\" not implemented for 'Bool'");
}

// One float op; integers become the default float type.
Tensor float_op(Op op, const Tensor& x) {
  return record(ir::unary(op, operand(x, float_type(x.scalar_type())).node), x);
}

// Formulas whose result is a float whatever comes in.
template <typename F>
Tensor float_formula(const Tensor& x, F f) {
  return map_formula(x, float_type(x.scalar_type()), f);
}

// Rounding to an integer: integers are already there.
Tensor rounding_op(Op op, const Tensor& x, const char* kernel) {
  refuse_bool(x, kernel);
  return x.is_floating_point() ? record(ir::unary(op, node_of(x)), x) : clone(x);
}

Tensor same_everywhere(const Tensor& like, bool value) {
  return record(constant_node(ir::constant(DType::Bool, int64_t{value}), span_of(like.sizes())), like);
}

// The activations of this file are defined on floats alone.
template <typename F>
Tensor activation(const Tensor& x, const char* kernel, F f) {
  check<NotImplementedError>(x.is_floating_point(), '"', kernel, "\" not implemented for '", x.scalar_type(),
                             "'");
  return map_formula(x, x.scalar_type(), f);
}

Expr clamped(const Expr& x, double lo, double hi) { return smaller(hi, larger(lo, x)); }

}  // namespace

// --- arithmetic

Tensor abs(const Operand& x) {
  GradScope scope("AbsBackward0", x);
  refuse_bool(x, "abs_cpu");
  return record(ir::unary(Op::Abs, node_of(x)), x);
}
Tensor absolute(const Operand& x) { return abs(x); }
Tensor neg(const Operand& x) {
  GradScope scope("NegBackward0", x);
  check<NotImplementedError>(
      x.scalar_type() != kBool,
      "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a mask, "
      "use the `~` "
      "or `logical_not()` operator instead.");
  return record(ir::unary(Op::Neg, node_of(x)), x);
}
Tensor negative(const Operand& x) { return neg(x); }
Tensor positive(const Operand& x) {
  const CallScope call("positive", x);
  check<NotImplementedError>(x.scalar_type() != kBool,
                             "The `+` operator, on a bool tensor is not supported.");
  return x;
}
Tensor sign(const Operand& x) {
  GradScope scope("SignBackward0", x);
  return x.scalar_type() == kBool ? clone(x) : record(ir::unary(Op::Sign, node_of(x)), x);
}
Tensor sgn(const Operand& x) {
  GradScope scope("SgnBackward0", x);
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
  return float_op(Op::Sqrt, x);
}
Tensor rsqrt(const Operand& x) {
  GradScope scope("RsqrtBackward0", x);
  return float_formula(x, [](const Expr& v) { return 1.0 / sqrt(v); });
}
Tensor reciprocal(const Operand& x) {
  GradScope scope("ReciprocalBackward0", x);
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

#define TENON_FLOAT_OP(name, op)         \
  Tensor name(const Operand& x) {         \
    GradScope scope(#op "Backward0", x); \
    return float_op(Op::op, x);          \
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
Tensor fix(const Operand& x) { return trunc(x); }
Tensor round(const Operand& x) {
  GradScope scope("RoundBackward0", x);
  return rounding_op(Op::Round, x, "round_vml_cpu");
}
Tensor round(const Operand& x, int64_t decimals) {
  GradScope scope("RoundBackward1", x);
  check<NotImplementedError>(x.is_floating_point(), decimals ? "\"round_cpu\"" : "\"round_vml_cpu\"",
                             " not implemented for '", x.scalar_type(), "'");
  if (decimals == 0) return round(x);
  const double scale = std::pow(10.0, static_cast<double>(std::abs(decimals)));
  return map_formula(x, x.scalar_type(), [&](const Expr& v) {
    return decimals > 0 ? apply(Op::Round, v * scale) / scale : apply(Op::Round, v / scale) * scale;
  });
}
Tensor frac(const Operand& x) {
  GradScope scope("FracBackward0", x);
  check<NotImplementedError>(x.is_floating_point(), "\"frac_cpu\" not implemented for '", x.scalar_type(),
                             "'");
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
  check<NotImplementedError>(!x.is_floating_point(), "\"bitwise_not_cpu\" not implemented for '",
                             x.scalar_type(), "'");
  return record(ir::unary(Op::Not, node_of(x)), x);
}
Tensor detail::invert(const Operand& self) {
  const CallScope call("bitwise_not", self);
  check<TypeError>(!self.is_floating_point(),
                   "~ (operator.invert) is only implemented on integer and Boolean-type tensors");
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

// --- activations

Tensor sigmoid(const Operand& x) {
  GradScope scope("SigmoidBackward0", x);
  return float_formula(x, [](const Expr& v) { return 1.0 / (1.0 + exp(-v)); });
}
Tensor logit(const Operand& x, optional<double> eps) {
  GradScope scope("LogitBackward0", x);
  return float_formula(x, [&](const Expr& v) {
    const Expr p = eps ? clamped(v, *eps, 1.0 - *eps) : v;
    return log(p / (1.0 - p));
  });
}
Tensor relu(const Operand& x) {
  GradScope scope("ReluBackward0", x);
  check<NotImplementedError>(x.scalar_type() != kBool, "Boolean inputs not supported for relu");
  return record(larger(0.0, Expr{node_of(x)}).node, x);  // in this order -0. and nan stay as they are
}
Tensor relu6(const Operand& x) { return hardtanh(x, 0, 6); }
Tensor leaky_relu(const Operand& x, const Scalar& negative_slope) {
  const CallScope call("leaky_relu", x, negative_slope);
  GradScope scope("LeakyReluBackward0", x);
  return activation(x, "leaky_relu_cpu",
                    [&](const Expr& v) { return select(v > 0.0, v, v * number(v, negative_slope)); });
}
Tensor elu(const Operand& x, const Scalar& alpha, const Scalar& scale, const Scalar& input_scale) {
  const CallScope call("elu", x, alpha, scale, input_scale);
  GradScope scope("EluBackward0", x);
  return activation(x, "elu_cpu", [&](const Expr& v) {
    const Expr low =
        expm1(v * number(v, input_scale)) * number(v, Scalar(alpha.toDouble() * scale.toDouble()));
    return select(v < 0.0, low, v * number(v, scale));
  });
}
Tensor celu(const Operand& x, const Scalar& alpha) {
  const CallScope call("celu", x, alpha);
  GradScope scope("CeluBackward0", x);
  check(alpha.toDouble() != 0, "ZeroDivisionError: alpha cannot be 0 for CELU");
  return elu(x, alpha, 1.0, 1.0 / alpha.toDouble());
}
Tensor selu(const Operand& x) {
  return elu(x, 1.6732632423543772848170429916717, 1.0507009873554804934193349852946);
}
Tensor gelu(const Operand& x, std::string_view approximate) {
  GradScope scope("GeluBackward0", x);
  if (approximate == "tanh") {
    return activation(x, "GeluKernelImpl", [](const Expr& v) {
      const double beta = std::numbers::sqrt2 * std::numbers::inv_sqrtpi;  // sqrt(2 / pi)
      return 0.5 * v * (1.0 + tanh(beta * (v + 0.044715 * (v * v * v))));
    });
  }
  check(approximate == "none", "approximate argument must be either none or tanh.");
  return activation(x, "GeluKernelImpl", [](const Expr& v) { return apply(Op::Gelu, v); });
}
Tensor silu(const Operand& x) {
  GradScope scope("SiluBackward0", x);
  return activation(x, "silu_cpu", [](const Expr& v) { return v / (1.0 + exp(-v)); });
}
Tensor mish(const Operand& x) {
  GradScope scope("MishBackward0", x);
  return activation(x, "mish_cpu", [](const Expr& v) { return v * tanh(log1p(exp(v))); });
}
Tensor softplus(const Operand& x, const Scalar& beta, const Scalar& threshold) {
  const CallScope call("softplus", x, beta, threshold);
  GradScope scope("SoftplusBackward0", x);
  return activation(x, "softplus_cpu", [&](const Expr& v) {
    const Expr scaled = v * number(v, beta);
    return select(apply(Op::Gt, scaled, number(v, threshold)), v, log1p(exp(scaled)) / number(v, beta));
  });
}
Tensor log_sigmoid(const Operand& x) {
  GradScope scope("LogSigmoidBackward0", x);
  return activation(x, "log_sigmoid_cpu",
                    [](const Expr& v) { return smaller(0.0, v) - log1p(exp(-abs(v))); });
}
Tensor hardtanh(const Operand& x, const Scalar& min_val, const Scalar& max_val) {
  const CallScope call("hardtanh", x, min_val, max_val);
  GradScope scope("HardtanhBackward0", x);
  check<NotImplementedError>(x.scalar_type() != kBool, "Bool inputs not supported for hardtanh");
  const Expr v{node_of(x)}, low = bound_number(v, min_val, Bound::Min),
                            high = bound_number(v, max_val, Bound::Max);
  return record(smaller(high, larger(low, v)).node, x);
}
Tensor hardsigmoid(const Operand& x) {
  GradScope scope("HardsigmoidBackward0", x);
  return activation(x, "hardsigmoid_cpu", [](const Expr& v) { return clamped(v + 3.0, 0.0, 6.0) / 6.0; });
}
Tensor hardswish(const Operand& x) {
  GradScope scope("HardswishBackward0", x);
  return activation(x, "hardswish_cpu", [](const Expr& v) { return v * clamped(v + 3.0, 0.0, 6.0) / 6.0; });
}
Tensor softsign(const Operand& x) {
  GradScope scope("DivBackward0", x);
  refuse_bool(x, "abs_cpu");
  return float_formula(x, [](const Expr& v) { return v / (1.0 + abs(v)); });
}
Tensor tanhshrink(const Operand& x) {
  GradScope scope("SubBackward0", x);
  refuse_bool_difference(x.scalar_type() == kBool, false);
  return float_formula(x, [](const Expr& v) { return v - tanh(v); });
}
Tensor hardshrink(const Operand& x, const Scalar& lambd) {
  const CallScope call("hardshrink", x, lambd);
  GradScope scope("HardshrinkBackward0", x);
  return activation(x, "hardshrink_cpu", [&](const Expr& v) {
    const Expr high = rounded_number(v, lambd, x.scalar_type()),
               low = rounded_number(v, -lambd, x.scalar_type());
    return select((v >= low) & (v <= high), number(v, 0.0), v);
  });
}
Tensor softshrink(const Operand& x, const Scalar& lambd) {
  const CallScope call("softshrink", x, lambd);
  GradScope scope("SoftshrinkBackward0", x);
  const double l = lambd.toDouble();
  check(!x.is_floating_point() || (l >= 0 && l <= largest(x.scalar_type())), "lambda must be in range [0, ",
        x.is_floating_point() ? largest(x.scalar_type()) : 0, "] for input dtype ", x.scalar_type(),
        ", but found ", l);
  return activation(x, "softshrink_cpu", [&](const Expr& v) {
    const Expr high = rounded_number(v, lambd, x.scalar_type()),
               low = rounded_number(v, -lambd, x.scalar_type());
    return select(v > high, v - high, select(v < low, v - low, v * 0.0));  // nan stays, and so does the sign
  });
}
Tensor threshold(const Operand& x, const Scalar& threshold, const Scalar& value) {
  const CallScope call("threshold", x, threshold, value);
  GradScope scope("ThresholdBackward0", x);
  refuse_bool(x, "threshold_cpu");
  const ScalarType type = x.scalar_type();
  return map_formula(x, type, [&](const Expr& v) {
    return select(apply(Op::Le, v, number(v, threshold)), rounded_number(v, value, type), v);
  });
}

}  // namespace tenon
