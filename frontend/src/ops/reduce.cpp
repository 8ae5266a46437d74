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

// x over `dims`, which keep size 1. An empty tensor gives the identity.
Expr reduced(Op op, const Expr& x, const Dims& dims) {
  if (dims.empty()) return x;
  if (x.node->numel() > 0) return reduce(op, x, dims);
  Dims shape = x.node->shape();
  for (int64_t d : dims) shape[d] = 1;
  checked_numel(ref(shape));  // without the empty dim the others may be too much
  const bool one = op == Op::Prod || op == Op::All;
  return {constant_node(ir::constant(x.dtype(), int64_t{one}), shape)};
}

Expr without_dims(const Expr& x, const Dims& dims) {
  Dims shape;
  size_t next = 0;
  for (size_t d = 0; d < x.node->shape().size(); ++d) {
    if (next < dims.size() && dims[next] == static_cast<int64_t>(d)) ++next;
    else shape.push_back(x.node->shape()[d]);
  }
  return {ir::reshape(x.node, shape)};
}

Tensor finish(Expr x, const Dims& dims, bool keepdim, ScalarType type) {
  return record_as(keepdim ? std::move(x) : without_dims(x, dims), type);
}

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
  return finish(reduced(op, {node_of(x)}, dims), dims, keepdim, x.scalar_type());
}

Tensor arg_extreme(Op op, const Tensor& x, optional<int64_t> dim, bool keepdim, const char* name) {
  check<NotImplementedError>(x.scalar_type() != kBool, name, "(): does not support bool input");
  const int64_t rank = x.dim();
  const Dims dims = dim ? Dims{wrap_dim(*dim, rank)} : wrap_dims(nullopt, rank);
  require_elements(x, dims, dim.has_value(), name, "");
  if (rank == 0) return record(constant_node(ir::constant(DType::I64, int64_t{0}), Dims{}));
  if (dim) return finish(reduced(op, {node_of(x)}, dims), dims, keepdim, kLong);
  const NodeRef index = ir::reduce(op, ir::reshape(node_of(x), Dims{x.numel()}), Dims{0});
  return record(ir::reshape(index, Dims(keepdim ? static_cast<size_t>(rank) : 0, 1)));
}

std::tuple<Tensor, Tensor> extreme_with_index(Op op, Op arg, const Tensor& x, int64_t dim, bool keepdim, const char* name) {
  dim = wrap_dim(dim, x.dim());
  if (x.dim() == 0) return {clone(x), record(constant_node(ir::constant(DType::I64, int64_t{0}), Dims{}))};
  const Dims dims{dim};
  require_elements(x, dims, true, name, "");
  const Expr v{node_of(x)};
  return {finish(reduced(op, v, dims), dims, keepdim, x.scalar_type()), finish(reduced(arg, v, dims), dims, keepdim, kLong)};
}

Tensor truth(Op op, const Tensor& x, const Dims& dims, bool keepdim) {
  const ScalarType type = x.scalar_type() == kByte ? kByte : kBool;  // as PyTorch
  return finish(reduced(op, operand(x, kBool), dims), dims, keepdim, type);
}

struct Moments {
  Expr mean, variance;  // in formula_type, dims kept
};

Moments moments(const Tensor& x, const Dims& dims, double correction, const char* name = "std and var") {
  check<NotImplementedError>(x.is_floating_point(), name, " only support floating point and complex dtypes");
  const Expr v = formula_operand(x, x.scalar_type());
  const double count = count_of(x, dims);
  const Expr mean = reduced(Op::Sum, v, dims) / count;
  const Expr centred = v - broadcast(mean, v.shape());
  return {mean, reduced(Op::Sum, centred * centred, dims) / std::max(0.0, count - correction)};
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
  return finish(moments(x, dims, correction).variance, dims, keepdim, x.scalar_type());
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
  return finish(sqrt(moments(x, dims, correction).variance), dims, keepdim, x.scalar_type());
}

std::tuple<Tensor, Tensor> with_mean(const Tensor& x, OptionalIntArrayRef dim, bool unbiased, bool keepdim, bool root) {
  GradScope scope(root ? "StdMeanBackward0" : "VarMeanBackward0", x);
  scope.saves(reads_operand(0) | (root ? kReadsFirstOutput : kReadsNothing));
  const Dims dims = wrap_dims(dim, x.dim());
  warn_unless_free(x, dims, unbiased ? 1 : 0, root ? "std_mean" : "var_mean");
  const Moments m = moments(x, dims, unbiased ? 1 : 0, root ? "std_mean" : "var_mean");
  return {finish(root ? sqrt(m.variance) : m.variance, dims, keepdim, x.scalar_type()), finish(m.mean, dims, keepdim, x.scalar_type())};
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

Expr p_norm(const Expr& x, double p, const Dims& dims) {
  if (p == 2) return sqrt(reduced(Op::Sum, x * x, dims));
  if (p == 1) return reduced(Op::Sum, abs(x), dims);
  if (p == kInfinity) return reduced(Op::ReduceMax, abs(x), dims);
  if (p == -kInfinity) return reduced(Op::ReduceMin, abs(x), dims);
  if (p == 0) return reduced(Op::Sum, cast(x != 0.0, x.dtype()), dims);
  const Expr sum = reduced(Op::Sum, apply(Op::Pow, abs(x), number(x, p)), dims);
  return apply(Op::Pow, sum, number(sum, 1 / p));
}

}  // namespace

// --- sums

Tensor sum(const Operand& x, OptionalIntArrayRef dim, bool keepdim, optional<ScalarType> dtype) {
  GradScope scope(dim.has_value() ? "SumBackward1" : "SumBackward0", x);
  const Dims dims = wrap_dims(dim, x.dim());
  const ScalarType type = sum_type(x, dtype);
  return finish(reduced(Op::Sum, operand(x, type == kBool ? kLong : type), dims), dims, keepdim, type);
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
  return finish(reduced(Op::Prod, formula_operand(x, type == kBool ? kLong : type), dims), dims, keepdim, type);
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
  const Expr total = reduced(Op::Sum, formula_operand(x, type), dims);
  return finish(total / static_cast<double>(count_of(x, dims)), dims, keepdim, type);
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
  const Expr v = formula_operand(x, x.scalar_type());
  return finish(p_norm(v, power, dims), dims, keepdim, x.scalar_type());
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
  const Expr v = formula_operand(x, type);
  if (x.numel() == 0) return finish(log(reduced(Op::Sum, exp(v), dims)), dims, keepdim, type);
  const Expr top = reduced(Op::ReduceMax, v, dims);
  const Expr shift = select(abs(top) == kInfinity, number(top, 0.0), top);  // an infinite maximum shifts nothing
  const Expr sum = reduced(Op::Sum, exp(v - broadcast(shift, v.shape())), dims);
  return finish(log(sum) + shift, dims, keepdim, type);
}

}  // namespace tenon
