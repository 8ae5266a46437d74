// Reductions, and what is composed of them: statistics, norms, logsumexp.
#include <cmath>

#include "frontend/src/autograd/grad.h"
#include "frontend/src/ops/norm.h"
#include "frontend/src/tensor/expr.h"
#include "frontend/src/tensor/promote.h"
#include "frontend/src/tensor/text.h"

namespace tenon {
namespace {

using ir::kInfinity;

// A reduction of x over `dims`. Its formula has the dims in the order in which they lie in memory, so that `x.t().sum()` runs along x
// and adds in the order of x.
class ReduceOver {
 public:
  ReduceOver(const Tensor& x, const Dims& dims) : sizes_(impl(x).sizes()), dims_(dims), in_order_(dims) {
    const TensorImpl* operand = &impl(x);
    if (operand->contiguous() || x.dim() < 2 || x.numel() == 0) return;
    order_ = order_in_memory({&operand, 1}, sizes_);
    for (int64_t& d : in_order_) d = std::ranges::find(order_, d) - order_.begin();
    std::ranges::sort(in_order_);
  }

  // v has the sizes of x.
  Expr operand(const Expr& v) const { return order_.empty() ? v : Expr{ir::permute(v.node, order_)}; }

  // The reduced dims of an operand keep size 1. An empty tensor gives the identity.
  Expr operator()(Op op, const Expr& v) const {
    if (dims_.empty()) return v;
    if (v.node->numel() > 0) return reduce(op, v, in_order_);
    Dims shape = v.node->shape();
    for (int64_t d : in_order_) shape[d] = 1;
    checked_numel(ref(shape));  // without the empty dim the others may be too much
    const bool one = op == Op::Prod || op == Op::All;
    return {constant_node(ir::constant(v.dtype(), int64_t{one}), shape)};
  }

  // The sum, or another result, as a tensor with the dims in the order of x.
  Tensor result(Expr v, bool keepdim, ScalarType type) const {
    Dims shape, kept;  // kept: the dims that are not reduced, as they lie in memory
    for (size_t d = 0; d < sizes_.size(); ++d) {
      const bool reduced = std::ranges::find(dims_, static_cast<int64_t>(d)) != dims_.end();
      if (!reduced || keepdim) shape.push_back(reduced ? 1 : sizes_[d]);
    }
    for (int64_t d : order_) {
      if (std::ranges::find(dims_, d) == dims_.end()) kept.push_back(d);
    }
    if (!std::ranges::is_sorted(kept)) {
      Dims places(order_.size(), 0);
      for (size_t i = 0; i < order_.size(); ++i) places[order_[i]] = static_cast<int64_t>(i);
      v.node = ir::permute(v.node, places);
    }
    return record_as(Expr{ir::reshape(v.node, shape)}, type);
  }

 private:
  const Dims& sizes_;     // of x, which lives as long
  Dims dims_, in_order_;  // in_order_: dims_ among the operand's
  Dims order_ = {};       // empty: row-major
};

// What a reduction gave, with the reduced dims again.
Tensor with_dims(Tensor x, const Dims& dims) {
  for (int64_t d : dims) x = x.unsqueeze(d);
  return x;
}

int64_t count_of(const Tensor& x, const Dims& dims) {
  Dims sizes;
  for (int64_t d : dims) sizes.push_back(x.size(d));
  return checked_numel(ref(sizes));
}

// The sum of bools and integers is int64 unless the caller wants another type.
ScalarType sum_type(const Tensor& x, optional<ScalarType> wanted) {
  return wanted.value_or(x.is_floating_point() ? x.scalar_type() : kLong);
}

void require_elements(const Tensor& x, const Dims& dims, bool given, const char* name, const char* hint) {
  if (x.numel() > 0) return;
  if (!given) {
    const std::string message = text(name, "(): Expected reduction dim to be specified for input.numel() == 0.", hint);
    if (*hint) throw Error(message);
    throw IndexError(message);
  }
  for (int64_t d : dims) {
    check<IndexError>(x.dim() == 0 || x.size(d) > 0, name, "(): Expected reduction dim ", d, " to have non-zero size.");
  }
}

constexpr const char* kSpecifyDim = " Specify the reduction dim with the 'dim' argument.";

Tensor extreme(Op op, const Tensor& x, OptionalIntArrayRef dim, bool keepdim, const char* name) {
  const Dims dims = wrap_dims(dim, x.dim());
  require_elements(x, dims, dim.has_value() && !dim.value().empty(), name, kSpecifyDim);
  const ReduceOver over(x, dims);
  return over.result(over(op, over.operand({node_of(x)})), keepdim, x.scalar_type());
}

Tensor arg_extreme(Op op, const Tensor& x, optional<int64_t> dim, bool keepdim, const char* name) {
  check<NotImplementedError>(x.scalar_type() != kBool, name, "(): does not support bool input");
  const int64_t rank = x.dim();
  const Dims dims = dim ? Dims{wrap_dim(*dim, rank)} : wrap_dims(nullopt, rank);
  require_elements(x, dims, dim.has_value(), name, "");
  if (rank == 0) return record(constant_node(ir::constant(DType::I64, int64_t{0}), Dims{}));
  if (dim) {
    const ReduceOver over(x, dims);
    return over.result(over(op, over.operand({node_of(x)})), keepdim, kLong);
  }
  const NodeRef index = ir::reduce(op, ir::reshape(node_of(x), Dims{x.numel()}), Dims{0});
  return record(ir::reshape(index, Dims(keepdim ? static_cast<size_t>(rank) : 0, 1)));
}

std::tuple<Tensor, Tensor> extreme_with_index(Op op, Op arg, const Tensor& x, int64_t dim, bool keepdim, const char* name) {
  dim = wrap_dim(dim, x.dim());
  if (x.dim() == 0) return {clone(x), record(constant_node(ir::constant(DType::I64, int64_t{0}), Dims{}))};
  const Dims dims{dim};
  require_elements(x, dims, true, name, "");
  const ReduceOver over(x, dims);
  const Expr v = over.operand({node_of(x)});
  return {over.result(over(op, v), keepdim, x.scalar_type()), over.result(over(arg, v), keepdim, kLong)};
}

Tensor truth(Op op, const Tensor& x, const Dims& dims, bool keepdim) {
  const ScalarType type = x.scalar_type() == kByte ? kByte : kBool;  // as PyTorch
  const ReduceOver over(x, dims);
  return over.result(over(op, over.operand(operand(x, kBool))), keepdim, type);
}

struct Moments {
  ReduceOver over;
  Expr mean, variance;  // of `over`, in formula_type
};

Moments moments(const Tensor& x, const Dims& dims, double correction, const char* name = "std and var") {
  check<NotImplementedError>(x.is_floating_point(), name, " only support floating point and complex dtypes");
  const ReduceOver over(x, dims);
  const Expr v = over.operand(formula_operand(x, x.scalar_type()));
  const double count = count_of(x, dims);
  const Expr mean = over(Op::Sum, v) / count;
  const Expr centred = v - broadcast(mean, v.shape());
  return {over, mean, over(Op::Sum, centred * centred) / std::max(0.0, count - correction)};
}

void warn_unless_free(const Tensor& x, const Dims& dims, double correction, const char* name) {
  if (static_cast<double>(count_of(x, dims)) - correction <= 0)
    warn_user(std::string(name) +
              "(): degrees of freedom is <= 0. Correction should be strictly less than the reduction factor (input "
              "numel divided by output numel).");
}

Tensor variance(const Tensor& x, OptionalIntArrayRef dim, double correction, bool keepdim) {
  GradScope scope("VarBackward0", x);
  const Dims dims = wrap_dims(dim, x.dim());
  warn_unless_free(x, dims, correction, "var");
  const Moments m = moments(x, dims, correction);
  return m.over.result(m.variance, keepdim, x.scalar_type());
}

Tensor deviation(const Tensor& x, OptionalIntArrayRef dim, double correction, bool keepdim) {
  GradScope scope("StdBackward0", x);
  const Dims dims = wrap_dims(dim, x.dim());
  scope.rule(reads_operand(0) | kReadsOutput, [dims, correction, keepdim](GradCall& c) {
    const auto kept = [&](const Tensor& y) { return keepdim ? y : with_dims(y, dims); };
    const Tensor x = c.operand(0), r = kept(c.output());
    const auto count = static_cast<double>(count_of(x, dims));
    const Tensor centred = x - x.mean(ref(dims), true);
    c.give(0, where(r == 0, 0, kept(c.grad()) / (r * (count - correction))) * centred);
  });
  warn_unless_free(x, dims, correction, "std");
  const Moments m = moments(x, dims, correction);
  return m.over.result(sqrt(m.variance), keepdim, x.scalar_type());
}

std::tuple<Tensor, Tensor> with_mean(const Tensor& x, OptionalIntArrayRef dim, bool unbiased, bool keepdim, bool root) {
  GradScope scope(root ? "StdMeanBackward0" : "VarMeanBackward0", x);
  scope.saves(reads_operand(0) | (root ? kReadsFirstOutput : kReadsNothing));
  const Dims dims = wrap_dims(dim, x.dim());
  warn_unless_free(x, dims, unbiased ? 1 : 0, root ? "std_mean" : "var_mean");
  const Moments m = moments(x, dims, unbiased ? 1 : 0, root ? "std_mean" : "var_mean");
  return {m.over.result(root ? sqrt(m.variance) : m.variance, keepdim, x.scalar_type()), m.over.result(m.mean, keepdim, x.scalar_type())};
}

// The gradient by x, whose norm is r. Zero where the norm is.
Tensor norm_gradient(const Tensor& x, const Tensor& r, const Tensor& g, double p) {
  if (p == 2) return x * where(r == 0, 0, g / r);
  if (p < 2) {
    const Tensor powers = p < 1 ? where(x == 0, 0, pow(abs(x), p - 1)) : pow(abs(x), p - 1);
    return sgn(x) * powers * (g * pow(r, 1 - p));
  }
  return x * pow(abs(x), p - 2) * where(r == 0, 0, g / pow(r, p - 1));
}
GradRule norm_rule(double p, const Dims& dims, bool keepdim) {
  return [=](GradCall& c) {
    const auto kept = [&](const Tensor& y) { return keepdim ? y : with_dims(y, dims); };
    c.give(0, norm_gradient(c.operand(0), kept(c.output()), kept(c.grad()), p));
  };
}
bool has_norm_rule(double p) { return std::isfinite(p) && p != 0 && p != 1; }

Expr p_norm(const ReduceOver& over, const Expr& x, double p) {
  if (p == 2) return sqrt(over(Op::Sum, x * x));
  if (p == 1) return over(Op::Sum, abs(x));
  if (p == kInfinity) return over(Op::ReduceMax, abs(x));
  if (p == -kInfinity) return over(Op::ReduceMin, abs(x));
  if (p == 0) return over(Op::Sum, cast(x != 0.0, x.dtype()));
  const Expr sum = over(Op::Sum, apply(Op::Pow, abs(x), number(x, p)));
  return apply(Op::Pow, sum, number(sum, 1 / p));
}

}  // namespace

// --- sums

Tensor sum(const Operand& x, OptionalIntArrayRef dim, bool keepdim, optional<ScalarType> dtype) {
  GradScope scope(dim.has_value() ? "SumBackward1" : "SumBackward0", x);
  const Dims dims = wrap_dims(dim, x.dim());
  const ScalarType type = sum_type(x, dtype);
  const ReduceOver over(x, dims);
  return over.result(over(Op::Sum, over.operand(operand(x, type == kBool ? kLong : type))), keepdim, type);
}
Tensor sum(const Operand& x, optional<ScalarType> dtype) {
  GradScope scope("SumBackward0", x);
  return sum(x, nullopt, false, dtype);
}
Tensor nansum(const Operand& x, OptionalIntArrayRef dim, bool keepdim, optional<ScalarType> dtype) {
  GradScope scope("NansumBackward0", x);
  scope.saves(reads_operand(0));
  return sum(x.is_floating_point() ? where(isnan(x), Scalar(0.0), x) : Tensor(x), dim, keepdim, dtype);
}

namespace {
Tensor prod_over(const Tensor& x, const Dims& dims, bool keepdim, optional<ScalarType> dtype) {
  const ScalarType type = sum_type(x, dtype);
  const ReduceOver over(x, dims);
  return over.result(over(Op::Prod, over.operand(formula_operand(x, type == kBool ? kLong : type))), keepdim, type);
}
}  // namespace
Tensor prod(const Operand& x, optional<ScalarType> dtype) {
  GradScope scope("ProdBackward0", x);
  scope.saves(reads_operand(0) | kReadsOutput);
  return prod_over(x, wrap_dims(nullopt, x.dim()), false, dtype);
}
Tensor prod(const Operand& x, int64_t dim, bool keepdim, optional<ScalarType> dtype) {
  GradScope scope("ProdBackward1", x);
  scope.saves(reads_operand(0) | kReadsOutput);
  return prod_over(x, x.dim() ? Dims{wrap_dim(dim, x.dim())} : wrap_dims(dim, 0), keepdim, dtype);
}

Tensor mean(const Operand& x, OptionalIntArrayRef dim, bool keepdim, optional<ScalarType> dtype) {
  GradScope scope(dim.has_value() ? "MeanBackward1" : "MeanBackward0", x);
  const ScalarType type = dtype.value_or(x.scalar_type());
  check<NotImplementedError>(isFloatingType(type), "mean(): could not infer output dtype. ", dtype ? "Optional" : "Input",
                             " dtype must be either a floating point or complex dtype. Got: ", type);
  const Dims dims = wrap_dims(dim, x.dim());
  const ReduceOver over(x, dims);
  const Expr total = over(Op::Sum, over.operand(formula_operand(x, type)));
  return over.result(total / static_cast<double>(count_of(x, dims)), keepdim, type);
}
Tensor mean(const Operand& x, optional<ScalarType> dtype) {
  GradScope scope("MeanBackward0", x);
  return mean(x, nullopt, false, dtype);
}

// --- spread

namespace {
double correction_of(bool unbiased) { return unbiased ? 1 : 0; }
double correction_of(const optional<Scalar>& correction) { return correction ? correction->toDouble() : 1; }
}  // namespace
Tensor var(const Operand& x, bool unbiased) { return variance(x, nullopt, correction_of(unbiased), false); }
Tensor var(const Operand& x, OptionalIntArrayRef dim, bool unbiased, bool keepdim) {
  const CallScope call("var", x);
  return variance(x, dim, correction_of(unbiased), keepdim);
}
Tensor var(const Operand& x, OptionalIntArrayRef dim, const optional<Scalar>& correction, bool keepdim) {
  const CallScope call("var", x);
  return variance(x, dim, correction_of(correction), keepdim);
}
Tensor std(const Operand& x, bool unbiased) { return deviation(x, nullopt, correction_of(unbiased), false); }
Tensor std(const Operand& x, OptionalIntArrayRef dim, bool unbiased, bool keepdim) {
  const CallScope call("std", x);
  return deviation(x, dim, correction_of(unbiased), keepdim);
}
Tensor std(const Operand& x, OptionalIntArrayRef dim, const optional<Scalar>& correction, bool keepdim) {
  const CallScope call("std", x);
  return deviation(x, dim, correction_of(correction), keepdim);
}
std::tuple<Tensor, Tensor> var_mean(const Operand& x, bool unbiased) {
  const CallScope call("var_mean", x);
  return with_mean(x, nullopt, unbiased, false, false);
}
std::tuple<Tensor, Tensor> var_mean(const Operand& x, OptionalIntArrayRef dim, bool unbiased, bool keepdim) {
  const CallScope call("var_mean", x);
  return with_mean(x, dim, unbiased, keepdim, false);
}
std::tuple<Tensor, Tensor> std_mean(const Operand& x, bool unbiased) {
  const CallScope call("std_mean", x);
  return with_mean(x, nullopt, unbiased, false, true);
}
std::tuple<Tensor, Tensor> std_mean(const Operand& x, OptionalIntArrayRef dim, bool unbiased, bool keepdim) {
  const CallScope call("std_mean", x);
  return with_mean(x, dim, unbiased, keepdim, true);
}
Tensor var(const Operand& x, DimList dim, bool unbiased, bool keepdim) {
  const CallScope call("var", x);
  return var(x, OptionalIntArrayRef(dim), unbiased, keepdim);
}
Tensor std(const Operand& x, DimList dim, bool unbiased, bool keepdim) {
  const CallScope call("std", x);
  return std(x, OptionalIntArrayRef(dim), unbiased, keepdim);
}
std::tuple<Tensor, Tensor> var_mean(const Operand& x, DimList dim, bool unbiased, bool keepdim) {
  const CallScope call("var_mean", x);
  return var_mean(x, OptionalIntArrayRef(dim), unbiased, keepdim);
}
std::tuple<Tensor, Tensor> std_mean(const Operand& x, DimList dim, bool unbiased, bool keepdim) {
  const CallScope call("std_mean", x);
  return std_mean(x, OptionalIntArrayRef(dim), unbiased, keepdim);
}
Tensor var(const Operand& x, int64_t dim) { return var(x, OptionalIntArrayRef(dim)); }
Tensor var(const Operand& x, int dim) { return var(x, int64_t{dim}); }
Tensor std(const Operand& x, int64_t dim) { return std(x, OptionalIntArrayRef(dim)); }
Tensor std(const Operand& x, int dim) { return std(x, int64_t{dim}); }
std::tuple<Tensor, Tensor> var_mean(const Operand& x, int64_t dim) {
  const CallScope call("var_mean", x);
  return var_mean(x, OptionalIntArrayRef(dim));
}
std::tuple<Tensor, Tensor> var_mean(const Operand& x, int dim) { return var_mean(x, int64_t{dim}); }
std::tuple<Tensor, Tensor> std_mean(const Operand& x, int64_t dim) {
  const CallScope call("std_mean", x);
  return std_mean(x, OptionalIntArrayRef(dim));
}
std::tuple<Tensor, Tensor> std_mean(const Operand& x, int dim) { return std_mean(x, int64_t{dim}); }

// --- extremes

void share_among_equals(GradScope& scope) {
  scope.rule(reads_operand(0) | kReadsOutput, [](GradCall& c) {
    const Tensor x = c.operand(0), value = c.output();
    const Tensor equal = logical_or(x == value, logical_and(isnan(x), isnan(value)));
    c.give(0, where(equal, c.grad() / equal.sum(), Scalar(0)));
  });
}

Tensor max(const Operand& x) {
  GradScope scope("MaxBackward1", x);
  share_among_equals(scope);
  return extreme(Op::ReduceMax, x, nullopt, false, "max");
}
Tensor min(const Operand& x) {
  GradScope scope("MinBackward1", x);
  share_among_equals(scope);
  return extreme(Op::ReduceMin, x, nullopt, false, "min");
}
Tensor amax(const Operand& x, IntArrayRef dim, bool keepdim) {
  GradScope scope("AmaxBackward0", x);
  scope.saves(reads_operand(0) | kReadsOutput);
  return extreme(Op::ReduceMax, x, dim, keepdim, "amax");
}
Tensor amin(const Operand& x, IntArrayRef dim, bool keepdim) {
  GradScope scope("AminBackward0", x);
  scope.saves(reads_operand(0) | kReadsOutput);
  return extreme(Op::ReduceMin, x, dim, keepdim, "amin");
}
std::tuple<Tensor, Tensor> max(const Operand& x, int64_t dim, bool keepdim) {
  GradScope scope("MaxBackward0", x);
  scope.saves(kReadsIndices);
  scope.first_of_ties();
  return extreme_with_index(Op::ReduceMax, Op::ArgMax, x, dim, keepdim, "max");
}
std::tuple<Tensor, Tensor> min(const Operand& x, int64_t dim, bool keepdim) {
  GradScope scope("MinBackward0", x);
  scope.saves(kReadsIndices);
  scope.first_of_ties();
  return extreme_with_index(Op::ReduceMin, Op::ArgMin, x, dim, keepdim, "min");
}
std::tuple<Tensor, Tensor> aminmax(const Operand& x, optional<int64_t> dim, bool keepdim) {
  GradScope scope("AminmaxBackward0", x);
  scope.saves(reads_operand(0) | kReadsOutput);
  const OptionalIntArrayRef dims = dim ? OptionalIntArrayRef(*dim) : OptionalIntArrayRef();
  return {extreme(Op::ReduceMin, x, dims, keepdim, "aminmax"), extreme(Op::ReduceMax, x, dims, keepdim, "aminmax")};
}
Tensor argmax(const Operand& x, optional<int64_t> dim, bool keepdim) {
  const CallScope call("argmax", x);
  return arg_extreme(Op::ArgMax, x, dim, keepdim, "argmax");
}
Tensor argmin(const Operand& x, optional<int64_t> dim, bool keepdim) {
  const CallScope call("argmin", x);
  return arg_extreme(Op::ArgMin, x, dim, keepdim, "argmin");
}

// --- truth and counting

Tensor any(const Operand& x) {
  const CallScope call("any", x);
  return truth(Op::Any, x, wrap_dims(nullopt, x.dim()), false);
}
Tensor any(const Operand& x, int64_t dim, bool keepdim) {
  const CallScope call("any", x);
  return truth(Op::Any, x, wrap_dims(dim, x.dim()), keepdim);
}
Tensor all(const Operand& x) {
  const CallScope call("all", x);
  return truth(Op::All, x, wrap_dims(nullopt, x.dim()), false);
}
Tensor all(const Operand& x, int64_t dim, bool keepdim) {
  const CallScope call("all", x);
  return truth(Op::All, x, wrap_dims(dim, x.dim()), keepdim);
}
Tensor count_nonzero(const Operand& x, IntArrayRef dim) {
  const CallScope call("count_nonzero", x);
  return sum(x.to(kBool), dim);
}

// --- norms

Tensor named_norm(const char* grad_fn, const Tensor& x, const optional<Scalar>& p, IntArrayRef dim, bool keepdim) {
  GradScope scope(grad_fn, x);
  check<NotImplementedError>(x.is_floating_point(), "linalg.vector_norm: Expected a floating point or complex tensor as input. Got ",
                             x.scalar_type());
  const Dims dims = wrap_dims(dim, x.dim());
  const double power = p ? p->toDouble() : 2;
  scope.saves(reads_operand(0) | kReadsOutput);
  if (has_norm_rule(power)) scope.rule(reads_operand(0) | kReadsOutput, norm_rule(power, dims, keepdim));
  const ReduceOver over(x, dims);
  return over.result(p_norm(over, over.operand(formula_operand(x, x.scalar_type())), power), keepdim, x.scalar_type());
}
Tensor norm(const Operand& x, const optional<Scalar>& p, IntArrayRef dim, bool keepdim) {
  return named_norm("TensorNormBackward1", x, p, dim, keepdim);
}
Tensor norm(const Operand& x, const Scalar& p) { return named_norm("TensorNormBackward0", x, p, {}, false); }

Tensor dist(const Operand& a, const Operand& b, const Scalar& p) {
  GradScope scope("DistBackward0", a, b);
  constexpr uint32_t reads = reads_operand(0) | reads_operand(1) | kReadsOutput;
  if (const double power = p.toDouble(); has_norm_rule(power)) {
    scope.rule(reads, [power](GradCall& c) {
      const Tensor x = c.operand(0), y = c.operand(1), g = norm_gradient(x - y, c.output(), c.grad(), power);
      c.give(0, gradient_for(x, g));
      c.give(1, gradient_for(y, -g));
    });
  } else {
    scope.saves(reads);
  }
  return norm(sub(a, b), p);
}

Tensor logsumexp(const Operand& x, IntArrayRef dim, bool keepdim) {
  GradScope scope("LogsumexpBackward0", x);
  scope.rule(reads_operand(0) | kReadsOutput, [dims = wrap_dims(dim, x.dim()), keepdim](GradCall& c) {
    const auto kept = [&](const Tensor& y) { return keepdim ? y : with_dims(y, dims); };
    c.give(0, kept(c.grad()) * exp(c.operand(0) - kept(c.output())));
  });
  const ScalarType type = float_type(x.scalar_type());
  const Dims dims = wrap_dims(dim, x.dim());
  const ReduceOver over(x, dims);
  const Expr v = over.operand(formula_operand(x, type));
  if (x.numel() == 0) return over.result(log(over(Op::Sum, exp(v))), keepdim, type);
  const Expr top = over(Op::ReduceMax, v);
  const Expr shift = select(abs(top) == kInfinity, number(top, 0.0), top);  // an infinite maximum shifts nothing
  const Expr sum = over(Op::Sum, exp(v - broadcast(shift, v.shape())));
  return over.result(log(sum) + shift, keepdim, type);
}

}  // namespace tenon
