// Activations: of each element, of two halves, with slopes, and softmax along a dim.
#include <numbers>

#include "frontend/src/autograd/replayed_call.h"
#include "frontend/src/random/philox.h"
#include "frontend/src/tensor/expr.h"
#include "frontend/src/tensor/promote.h"
#include "frontend/src/tensor/text.h"
#include "tenon/creation.h"
#include "tenon/neural.h"

namespace tenon {
namespace {

// Most activations are defined on floats alone.
template <typename F>
Tensor activation(const Tensor& x, const char* kernel, F f) {
  check<NotImplementedError>(x.is_floating_point(), '"', kernel, "\" not implemented for '", x.scalar_type(), "'");
  return map_formula(x, x.scalar_type(), f);
}

Expr clamped(const Expr& x, double lo, double hi) { return smaller(hi, larger(lo, x)); }

GradRule elu_rule(double alpha, double scale, double input_scale) {
  return [=](GradCall& c) {
    const Tensor x = c.operand(0), g = c.grad();
    const Tensor low = exp(x.clamp_max(0) * input_scale) * (alpha * scale * input_scale);
    c.give(0, g * where(x <= 0, low, scale));
  };
}

}  // namespace

Tensor logit(const Operand& x, optional<double> eps) {
  GradScope scope("LogitBackward0", x);
  scope.rule(reads_operand(0), [eps](GradCall& c) {
    const double low = eps.value_or(0);
    const Tensor outside = logical_or(c.operand(0) < low, c.operand(0) > 1 - low);
    const Tensor v = where(outside, 0.5, c.operand(0));  // or the gradient of what is not chosen were nan
    c.give(0, where(outside, eps ? 0 : std::numeric_limits<double>::quiet_NaN(), c.grad() / (v * (1 - v))));
  });
  return float_formula(x, [&](const Expr& v) {
    const Expr p = eps ? clamped(v, *eps, 1.0 - *eps) : v;
    return log(p / (1.0 - p));
  });
}
Tensor relu(const Operand& x) {
  const auto recorded = [&] {
    GradScope scope("ReluBackward0", x);
    scope.derivative_reads(kReadsOutput);
    scope.rule(kReadsOutput, [](GradCall& c) { c.give(0, where(c.output() <= 0, 0, c.grad())); });
    check<NotImplementedError>(x.scalar_type() != kBool, "Boolean inputs not supported for relu");
    return record(larger(0.0, Expr{node_of(x)}).node, x);  // in this order -0. and nan stay as they are
  };
  return replayed_call("relu", {}, recorded, x);
}
Tensor relu6(const Operand& x) { return hardtanh(x, 0, 6); }
Tensor leaky_relu(const Operand& x, const Scalar& negative_slope) {
  const CallScope call("leaky_relu", x, negative_slope);
  GradScope scope("LeakyReluBackward0", x);
  scope.derivative_reads(reads_operand(0));
  return activation(x, "leaky_relu_cpu", [&](const Expr& v) { return select(v > 0.0, v, v * number(v, negative_slope)); });
}
Tensor elu(const Operand& x, const Scalar& alpha, const Scalar& scale, const Scalar& input_scale) {
  const CallScope call("elu", x, alpha, scale, input_scale);
  GradScope scope("EluBackward0", x);
  scope.rule(reads_operand(0), elu_rule(alpha.toDouble(), scale.toDouble(), input_scale.toDouble()));
  return activation(x, "elu_cpu", [&](const Expr& v) {
    const Expr low = expm1(v * number(v, input_scale)) * number(v, Scalar(alpha.toDouble() * scale.toDouble()));
    return select(v < 0.0, low, v * number(v, scale));
  });
}
Tensor celu(const Operand& x, const Scalar& alpha) {
  const CallScope call("celu", x, alpha);
  GradScope scope("CeluBackward0", x);
  scope.rule(reads_operand(0), elu_rule(alpha.toDouble(), 1, 1.0 / alpha.toFloat()));  // PyTorch rounds it to float32
  check(alpha.toDouble() != 0, "ZeroDivisionError: alpha cannot be 0 for CELU");
  return elu(x, alpha, 1.0, 1.0 / alpha.toDouble());
}
Tensor selu(const Operand& x) { return elu(x, 1.6732632423543772848170429916717, 1.0507009873554804934193349852946); }
Tensor gelu(const Operand& x, std::string_view approximate) {
  const bool by_tanh = approximate == "tanh";
  const auto recorded = [&] {
    GradScope scope("GeluBackward0", x);
    check(by_tanh || approximate == "none", "approximate argument must be either none or tanh.");
    return activation(x, "GeluKernelImpl", [&](const Expr& v) {
      const double beta = std::numbers::sqrt2 * std::numbers::inv_sqrtpi;  // sqrt(2 / pi)
      return by_tanh ? 0.5 * v * (1.0 + tanh(beta * (v + 0.044715 * (v * v * v)))) : apply(Op::Gelu, v);
    });
  };
  return by_tanh ? replayed_formula("gelu_tanh", {}, recorded, x) : recorded();
}
Tensor silu(const Operand& x) {
  const auto recorded = [&] {
    GradScope scope("SiluBackward0", x);
    scope.rule(reads_operand(0), [](GradCall& c) {
      const Tensor x = c.operand(0), s = sigmoid(x);
      c.give(0, c.grad() * (s * (1 + x * (1 - s))));
    });
    return activation(x, "silu_cpu", [](const Expr& v) { return v / (1.0 + exp(-v)); });
  };
  return replayed_formula("silu", {}, recorded, x);
}
Tensor mish(const Operand& x) {
  GradScope scope("MishBackward0", x);
  scope.rule(reads_operand(0), [](GradCall& c) {
    const Tensor x = c.operand(0), t = tanh(softplus(x));
    c.give(0, c.grad() * (t + x * sigmoid(x) * (1 - t * t)));
  });
  return activation(x, "mish_cpu", [](const Expr& v) { return v * tanh(log1p(exp(v))); });
}
Tensor softplus(const Operand& x, const Scalar& beta, const Scalar& threshold) {
  const CallScope call("softplus", x, beta, threshold);
  GradScope scope("SoftplusBackward0", x);
  scope.rule(reads_operand(0), [beta, threshold](GradCall& c) {
    const Tensor scaled = c.operand(0) * beta;
    c.give(0, c.grad() * where(scaled > threshold, 1, sigmoid(scaled)));
  });
  return activation(x, "softplus_cpu", [&](const Expr& v) {
    const Expr scaled = v * number(v, beta);
    return select(apply(Op::Gt, scaled, number(v, threshold)), v, log1p(exp(scaled)) / number(v, beta));
  });
}
Tensor log_sigmoid(const Operand& x) {
  GradScope scope("LogSigmoidBackward0", x);
  return activation(x, "log_sigmoid_cpu", [](const Expr& v) { return log_sigmoid(v); });
}
Tensor hardtanh(const Operand& x, const Scalar& min_val, const Scalar& max_val) {
  const CallScope call("hardtanh", x, min_val, max_val);
  GradScope scope("HardtanhBackward0", x);
  scope.derivative_reads(reads_operand(0));
  scope.rule(reads_operand(0), [min_val, max_val](GradCall& c) {
    const Tensor x = c.operand(0);
    c.give(0, where((x <= min_val).logical_or(x >= max_val), 0, c.grad()));
  });
  check<NotImplementedError>(x.scalar_type() != kBool, "Bool inputs not supported for hardtanh");
  const Expr v{node_of(x)}, low = bound_number(v, min_val, Bound::Min), high = bound_number(v, max_val, Bound::Max);
  return record(smaller(high, larger(low, v)).node, x);
}
Tensor hardsigmoid(const Operand& x) {
  GradScope scope("HardsigmoidBackward0", x);
  scope.derivative_reads(reads_operand(0));
  scope.rule(reads_operand(0), [](GradCall& c) {
    const Tensor x = c.operand(0);
    c.give(0, where((x > -3).logical_and(x < 3), c.grad() * double{1.0f / 6.0f}, 0));
  });
  return activation(x, "hardsigmoid_cpu", [](const Expr& v) { return clamped(v + 3.0, 0.0, 6.0) / 6.0; });
}
Tensor hardswish(const Operand& x) {
  GradScope scope("HardswishBackward0", x);
  scope.rule(reads_operand(0), [](GradCall& c) {
    const Tensor x = c.operand(0);
    c.give(0, where(x <= -3, 0, where(x < 3, c.grad() * (x / 3 + 0.5), c.grad())));
  });
  return activation(x, "hardswish_cpu", [](const Expr& v) { return v * clamped(v + 3.0, 0.0, 6.0) / 6.0; });
}
Tensor softsign(const Operand& x) {
  GradScope scope("DivBackward0", x);
  refuse_bool(x, "abs_cpu");
  return float_formula(x, [](const Expr& v) { return v / (1.0 + abs(v)); });
}
Tensor tanhshrink(const Operand& x) {
  GradScope scope("SubBackward0", x);
  scope.saves(kReadsNothing);  // the tangent
  refuse_bool_difference(x.scalar_type() == kBool, false);
  return float_formula(x, [](const Expr& v) { return v - tanh(v); });
}
Tensor hardshrink(const Operand& x, const Scalar& lambd) {
  const CallScope call("hardshrink", x, lambd);
  GradScope scope("HardshrinkBackward0", x);
  scope.derivative_reads(reads_operand(0));
  return activation(x, "hardshrink_cpu", [&](const Expr& v) {
    const Expr high = rounded_number(v, lambd, x.scalar_type()), low = rounded_number(v, -lambd, x.scalar_type());
    return select((v >= low) & (v <= high), number(v, 0.0), v);
  });
}
Tensor softshrink(const Operand& x, const Scalar& lambd) {
  const CallScope call("softshrink", x, lambd);
  GradScope scope("SoftshrinkBackward0", x);
  scope.derivative_reads(reads_operand(0));
  const double l = lambd.toDouble();
  check(!x.is_floating_point() || (l >= 0 && l <= largest(x.scalar_type())), "lambda must be in range [0, ",
        x.is_floating_point() ? largest(x.scalar_type()) : 0, "] for input dtype ", x.scalar_type(), ", but found ", l);
  return activation(x, "softshrink_cpu", [&](const Expr& v) {
    const Expr high = rounded_number(v, lambd, x.scalar_type()), low = rounded_number(v, -lambd, x.scalar_type());
    return select(v > high, v - high, select(v < low, v - low, v * 0.0));  // nan stays, and so does the sign
  });
}
Tensor threshold(const Operand& x, const Scalar& threshold, const Scalar& value) {
  const CallScope call("threshold", x, threshold, value);
  GradScope scope("ThresholdBackward0", x);
  scope.derivative_reads(reads_operand(0));
  refuse_bool(x, "threshold_cpu");
  const ScalarType type = x.scalar_type();
  return map_formula(x, type,
                     [&](const Expr& v) { return select(apply(Op::Le, v, number(v, threshold)), rounded_number(v, value, type), v); });
}

// --- with a second operand, or slopes

Tensor glu(const Operand& x, int64_t dim) {
  GradScope scope("GluBackward0", x);
  check(x.dim() > 0, "glu does not support 0-dimensional tensors");
  dim = wrap_dim(dim, x.dim());
  const int64_t size = x.size(dim);
  check(size % 2 == 0, "Halving dimension must be even, but dimension ", dim, " is size ", size);
  return mul(narrow(x, dim, 0, size / 2), sigmoid(narrow(x, dim, size / 2, size / 2)));
}

Tensor prelu(const Operand& x, const Operand& weight) {
  GradScope scope("PreluKernelBackward0", x, weight);
  scope.derivative_reads(reads_operand(0) | reads_operand(1));
  check(x.scalar_type() == weight.scalar_type(), "prelu: Type promoting not supported. Got ", x.scalar_type(), " and ",
        weight.scalar_type());
  check(weight.dim() <= 1, "prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = ", weight.dim());
  Dims shape(static_cast<size_t>(x.dim()), 1);
  if (weight.numel() != 1) {
    check(x.dim() > 0, "Not allow zero-dim input tensor.");
    const int64_t channels = x.dim() > 1 ? x.size(1) : 1;
    check(channels == weight.numel(), "Mismatch of parameter numbers and input channel size. Found parameter numbers = ", weight.numel(),
          " and channel size = ", channels, ".");
    shape[1] = channels;
  }
  return where(x > 0, x, mul(x, reshape(weight, ref(shape))));
}

namespace {

void check_rrelu(const Tensor& self, const Scalar& lower, const Scalar& upper, bool training) {
  check(lower.toDouble() <= upper.toDouble(), "Lower bound should be less than or equal to the upper bound");
  check(self.is_floating_point(), '"', training ? "rrelu_with_noise_out_cpu" : "leaky_relu_cpu", "\" not implemented for '",
        self.scalar_type(), "'");
}

}  // namespace

// PyTorch draws one number for each element that is not positive, in their order; on a GPU one for every element.
Tensor rrelu(const Operand& self, const Scalar& lower, const Scalar& upper, bool training, const optional<Generator>& generator) {
  check_rrelu(self, lower, upper, training);
  GradScope scope("RreluWithNoiseBackward0", self);
  scope.derivative_reads(reads_operand(0));
  if (!training) return leaky_relu(self, (lower.toDouble() + upper.toDouble()) / 2);
  const Tensor kept = self;  // or a temporary is computed for the count and for the result
  const Tensor below = self <= 0, ones = ones_like(self);
  if (draws_philox(impl(self).device()))
    return self * where(below, empty_like(self).uniform_(lower.toDouble(), upper.toDouble(), generator), ones);
  const auto count = sum(below).item<int64_t>();
  const Tensor slopes =
      empty({count}, TensorOptions(kDouble).device(self.device())).uniform_(lower.toDouble(), upper.toDouble(), generator);
  return self * masked_scatter(ones, below, slopes.to(self.scalar_type()));
}
Tensor& rrelu_(Tensor& self, const Scalar& lower, const Scalar& upper, bool training, const optional<Generator>& generator) {
  return self.copy_(rrelu(self.clone(), lower, upper, training, std::move(generator)));
}

// --- softmax

namespace {

// x over `dims`, which may be none.
Expr reduced(Op op, const Expr& x, const Dims& dims) { return dims.empty() ? x : reduce(op, x, dims); }

template <typename F>
Tensor softmax_like(const Tensor& self, int64_t dim, optional<ScalarType> dtype, const char* prefix, F f) {
  const Tensor x = dtype ? self.to(*dtype) : self;
  dim = wrap_dim(dim, x.dim());
  const bool last = dim == x.dim() - 1 || x.dim() == 0;
  check<NotImplementedError>(x.is_floating_point() || x.numel() == 0, '"', prefix,
                             last ? "softmax_lastdim_kernel_impl" : "softmax_kernel_impl", "\" not implemented for '", x.scalar_type(),
                             "'");
  if (x.numel() == 0) return clone(x);
  const Dims dims = x.dim() ? Dims{dim} : Dims{};
  const Expr v = formula_operand(x, x.scalar_type());
  return record_as(f(v - broadcast(reduced(Op::ReduceMax, v, dims), v.shape()), dims), x.scalar_type());
}

uint64_t type_or_none(optional<ScalarType> type) { return type ? 1 + static_cast<uint64_t>(*type) : 0; }

}  // namespace

Tensor softmax(const Operand& x, int64_t dim, optional<ScalarType> dtype) {
  const auto recorded = [&] {
    GradScope scope("SoftmaxBackward0", x);
    scope.rule(kReadsOutput, [dim, type = x.scalar_type()](GradCall& c) {
      const Tensor weighted = c.grad() * c.output();
      c.give(0, (weighted - c.output() * weighted.sum(dim, true)).to(type));
    });
    return softmax_like(x, dim, dtype, "", [](const Expr& shifted, const Dims& dims) {
      const Expr e = exp(shifted);
      return e * broadcast(1.0 / reduced(Op::Sum, e, dims), e.shape());  // a division of each element is slow where the result is denormal
    });
  };
  return replayed_formula("softmax", {static_cast<uint64_t>(dim), type_or_none(dtype)}, recorded, x);
}
Tensor log_softmax(const Operand& x, int64_t dim, optional<ScalarType> dtype) {
  const auto recorded = [&] {
    GradScope scope("LogSoftmaxBackward0", x);
    scope.rule(kReadsOutput,
               [dim, type = x.scalar_type()](GradCall& c) { c.give(0, (c.grad() - exp(c.output()) * c.grad().sum(dim, true)).to(type)); });
    return softmax_like(x, dim, dtype, "log_", [](const Expr& shifted, const Dims& dims) {
      return shifted - broadcast(log(reduced(Op::Sum, exp(shifted), dims)), shifted.shape());
    });
  };
  return replayed_formula("log_softmax", {static_cast<uint64_t>(dim), type_or_none(dtype)}, recorded, x);
}

}  // namespace tenon
