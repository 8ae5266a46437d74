// Normalisation by batch, group, instance, layer and neighbouring channels.
//
//   y = (x - mean) * (1 / sqrt(variance + eps)) * weight + bias      mean and variance over some of the dims
#include <bit>

#include "frontend/src/autograd/aliases.h"
#include "frontend/src/autograd/replayed_call.h"
#include "frontend/src/tensor/expr.h"
#include "frontend/src/tensor/text.h"
#include "frontend/src/views/window.h"
#include "tenon/nn/functional.h"

namespace tenon {
namespace {

struct Moments {
  Expr mean, variance;  // the reduced dims are kept
};

Moments moments(const Expr& x, const Dims& dims) {
  double count = 1;
  for (int64_t d : dims) count *= static_cast<double>(x.node->shape()[d]);
  const Expr mean = reduce(Op::Sum, x, dims) / count;
  const Expr centred = x - broadcast(mean, x.shape());
  return {mean, reduce(Op::Sum, centred * centred, dims) / count};
}

// A value for each channel, over the shape of x: [N, C, ...].
Expr per_channel(const Tensor& values, const Expr& x) {
  Dims shape(x.node->shape().size(), 1);
  shape[1] = values.numel();
  return broadcast(Expr{ir::reshape(ir::cast(node_of(values), x.dtype()), shape)}, x.shape());
}

Expr normalised(const Expr& x, const Expr& mean, const Expr& variance, double eps) {
  return (x - broadcast(mean, x.shape())) * broadcast(1.0 / sqrt(variance + eps), x.shape());
}

Expr scaled(Expr y, const MaybeTensor& weight, const MaybeTensor& bias) {
  if (given(weight)) y = y * per_channel(*weight, y);
  if (given(bias)) y = y + per_channel(*bias, y);
  return y;
}

void check_parameter(const MaybeTensor& t, const char* name, int64_t channels) {
  check(!given(t) || t->numel() == channels, name, " should contain ", channels, " elements not ", given(t) ? t->numel() : 0);
}
void check_parameters(const MaybeTensor& running_mean, const MaybeTensor& running_var, const MaybeTensor& weight, const MaybeTensor& bias,
                      int64_t channels) {
  check_parameter(running_mean, "running_mean", channels);
  check_parameter(running_var, "running_var", channels);
  check_parameter(weight, "weight", channels);
  check_parameter(bias, "bias", channels);
  check_not_differentiated(running_mean, "native_batch_norm", "running_mean");
  check_not_differentiated(running_var, "native_batch_norm", "running_var");
}

void check_float(const Tensor& x, const char* kernel) {
  check<NotImplementedError>(x.is_floating_point(), '"', kernel, "\" not implemented for '", x.scalar_type(), "'");
}

// running = (1 - momentum) * running + momentum * batch, in place.
void move_running(const MaybeTensor& running, const Expr& batch, double momentum) {
  if (!given(running)) return;
  const NoGradGuard no_grad;
  check(running->is_floating_point(), "mixed dtype (CPU): expect parameter to have scalar type of Float");
  const DType type = ir_type(running->scalar_type());
  const Expr old = cast(Expr{node_of(*running)}, formula_type(type));
  const Expr now = cast(Expr{ir::reshape(batch.node, span_of(running->sizes()))}, old.dtype());
  write(*running, ir::cast((old * (1 - momentum) + now * momentum).node, type));
}

Expr unbiased(const Expr& variance, int64_t count) {
  const double n = static_cast<double>(count);
  return variance * (n / (n - 1));
}

// [N, C, ...] with the mean over N of values [N * C] as [C].
Expr mean_of_samples(const Expr& x, int64_t samples, int64_t channels) {
  const Expr rows{ir::reshape(x.node, Dims{samples, channels})};
  return reduce(Op::Sum, rows, Dims{0}) / static_cast<double>(samples);
}

}  // namespace

Tensor batch_norm(const Operand& x, const MaybeTensor& weight, const MaybeTensor& bias, const MaybeTensor& running_mean,
                  const MaybeTensor& running_var, bool training, double momentum, double eps, bool) {
  const CallScope call("batch_norm", x, weight, bias, running_mean, running_var);
  const BufferScope buffers;
  GradScope scope("NativeBatchNormBackward0", x, weight, bias);
  scope.derivative_reads(reads_operand(0) | reads_operand(1));
  check(x.dim() >= 2, "batch_norm: expected an input of at least 2 dimensions, got ", x.dim());
  const int64_t channels = x.size(1);
  check(training || (given(running_mean) && given(running_var)), given(running_mean) ? "running_var" : "running_mean",
        " must be defined in evaluation mode");
  check_parameters(running_mean, running_var, weight, bias, channels);
  check_float(x, "batch_norm");
  if (x.numel() == 0) return clone(x);
  const Expr v = formula_operand(x, x.scalar_type());
  if (!training) {
    const Expr mean = per_channel(*running_mean, v), variance = per_channel(*running_var, v);
    return record_as(scaled((v - mean) * (1.0 / sqrt(variance + eps)), weight, bias), x.scalar_type());
  }
  Dims dims{0};
  for (int64_t d = 2; d < x.dim(); ++d) dims.push_back(d);
  const Moments m = moments(v, dims);
  move_running(running_mean, m.mean, momentum);
  move_running(running_var, unbiased(m.variance, x.numel() / channels), momentum);
  return record_as(scaled(normalised(v, m.mean, m.variance, eps), weight, bias), x.scalar_type());
}

Tensor instance_norm(const Operand& x, const MaybeTensor& weight, const MaybeTensor& bias, const MaybeTensor& running_mean,
                     const MaybeTensor& running_var, bool use_input_stats, double momentum, double eps, bool cudnn) {
  const CallScope call("instance_norm", x, weight, bias, running_mean, running_var);
  const BufferScope buffers;
  check(x.dim() >= 2, "Expected at least 2D input to instance_norm, got ", x.dim(), "D");
  check(use_input_stats || (given(running_mean) && given(running_var)),
        "Expected running_mean and running_var to be defined when use_input_stats is false");
  if (!use_input_stats) return batch_norm(x, weight, bias, running_mean, running_var, false, momentum, eps, cudnn);
  GradScope scope("NativeBatchNormBackward0", x, weight, bias);
  scope.derivative_reads(reads_operand(0) | reads_operand(1));
  const int64_t channels = x.size(1);
  check_parameters(running_mean, running_var, weight, bias, channels);
  check_float(x, "instance_norm");
  if (x.numel() == 0) return clone(x);
  const Expr v = formula_operand(x, x.scalar_type());
  Dims dims;
  for (int64_t d = 2; d < x.dim(); ++d) dims.push_back(d);
  const Moments m = dims.empty() ? Moments{v, number(v, 0.0)} : moments(v, dims);
  move_running(running_mean, mean_of_samples(m.mean, x.size(0), channels), momentum);
  move_running(running_var, mean_of_samples(unbiased(m.variance, x.numel() / (x.size(0) * channels)), x.size(0), channels), momentum);
  return record_as(scaled(normalised(v, m.mean, m.variance, eps), weight, bias), x.scalar_type());
}

Tensor group_norm(const Operand& x, int64_t num_groups, const MaybeTensor& weight, const MaybeTensor& bias, double eps, bool) {
  GradScope scope("NativeGroupNormBackward0", x, weight, bias);
  scope.saves(reads_operand(0) | reads_operand(1));
  scope.derivative_reads(reads_operand(0) | reads_operand(1));
  check(x.dim() >= 2, "Expected at least 2 dimensions for input tensor but received ", x.dim());
  check(num_groups > 0, "Expected num groups to be greater than 0, got ", num_groups);
  const int64_t channels = x.size(1);
  check(channels % num_groups == 0, "Expected number of channels in input to be divisible by num_groups, but got input of shape ",
        x.sizes(), " and num_groups=", num_groups);
  for (const auto& [t, name] : {std::pair{&weight, "weight"}, std::pair{&bias, "bias"}}) {
    check(!given(*t) || ((*t)->dim() == 1 && (*t)->numel() == channels), "Expected ", name,
          " to be a vector of size equal to the number of channels in input, but got ", name, " of shape ",
          given(*t) ? (*t)->sizes() : IntArrayRef(), " and input of shape ", x.sizes());
  }
  check_float(x, "GroupNormKernelImpl");
  if (x.numel() == 0) return clone(x);
  const Expr v = formula_operand(x, x.scalar_type());
  const Expr rows{ir::reshape(v.node, Dims{x.size(0), num_groups, x.numel() / (x.size(0) * num_groups)})};
  const Moments m = moments(rows, Dims{2});
  const Expr y{ir::reshape(normalised(rows, m.mean, m.variance, eps).node, v.node->shape())};
  return record_as(scaled(y, weight, bias), x.scalar_type());
}

Tensor layer_norm(const Operand& x, IntArrayRef normalized_shape, const optional<Tensor>& weight, const optional<Tensor>& bias,
                  double eps) {
  const CallScope call("layer_norm", x, weight, bias);
  const int64_t kept = x.dim() - std::ssize(normalized_shape);
  bool fits = kept >= 0 && !normalized_shape.empty();
  for (size_t d = 0; fits && d < normalized_shape.size(); ++d) {
    fits = x.size(kept + static_cast<int64_t>(d)) == normalized_shape[d];
  }
  if (!fits) {
    std::string wanted = "[*";
    for (int64_t size : normalized_shape) wanted += ", " + std::to_string(size);
    throw Error(
        text("Given normalized_shape=", normalized_shape, ", expected input with shape ", wanted, "], but got input of size", x.sizes()));
  }
  for (const auto* affine : {&weight, &bias}) {
    check(!given(*affine) || (*affine)->sizes() == normalized_shape, "Expected ", affine == &weight ? "weight" : "bias",
          " to be of same shape as normalized_shape, but got ", affine == &weight ? "weight" : "bias", " of shape ",
          given(*affine) ? (*affine)->sizes() : IntArrayRef(), " and normalized_shape = ", normalized_shape);
  }
  check<NotImplementedError>(x.is_floating_point(), "std and var only support floating point and complex dtypes");
  const auto recorded = [&] {
    GradScope scope("NativeLayerNormBackward0", x, weight, bias);
    scope.derivative_reads(reads_operand(0) | reads_operand(1) | reads_operand(2));
    scope.saves(reads_operand(0) | reads_operand(1) | reads_operand(2));
    const Expr v = formula_operand(x, x.scalar_type());
    if (x.numel() == 0) return record_as(v, x.scalar_type());
    Dims dims;
    for (int64_t d = kept; d < x.dim(); ++d) dims.push_back(d);
    const Moments m = moments(v, dims);
    Expr y = normalised(v, m.mean, m.variance, eps);
    if (given(weight)) y = y * broadcast(formula_operand(*weight, x.scalar_type()), v.shape());
    if (given(bias)) y = y + broadcast(formula_operand(*bias, x.scalar_type()), v.shape());
    return record_as(y, x.scalar_type());
  };
  return replayed_formula("layer_norm", {static_cast<uint64_t>(kept), std::bit_cast<uint64_t>(eps)}, recorded, x, weight, bias);
}

Tensor rms_norm(const Operand& input, IntArrayRef normalized_shape, const MaybeTensor& weight, optional<double> eps) {
  GradScope scope("MulBackward0", input, weight);
  check(!normalized_shape.empty(),
        "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element, but "
        "got "
        "normalized_shape = ",
        normalized_shape);
  check(!given(weight) || weight->sizes() == normalized_shape,
        "Expected weight to be of same shape as normalized_shape, but got weight of shape ",
        given(weight) ? weight->sizes() : IntArrayRef(), " and normalized_shape = ", normalized_shape);
  const size_t rank = input.sizes().size(), count = normalized_shape.size();
  if (rank < count || !(input.sizes().slice(rank - count) == normalized_shape)) {
    std::string shape;
    for (int64_t size : normalized_shape) shape += text(size, ", ");
    throw Error(text("Given normalized_shape=", normalized_shape, ", expected input with shape [*", shape.substr(0, shape.size() - 2),
                     "], but got input of size", input.sizes()));
  }
  const ScalarType type = input.scalar_type();
  check(isFloatingType(type), "\"rms_norm\" not implemented for '", type, "'");
  const double epsilons[] = {0x1p-10, 0x1p-7, 0x1p-23, 0x1p-52};
  const double epsilon = eps.value_or(epsilons[static_cast<int>(type) - static_cast<int>(kHalf)]);
  std::vector<int64_t> dims;
  for (size_t d = rank - count; d < rank; ++d) dims.push_back(static_cast<int64_t>(d));
  const Tensor x = type == kHalf || type == kBFloat16 ? input.to(kFloat) : Tensor(input);
  const Tensor normed = x * rsqrt(mean(square(x), dims, true) + epsilon);
  return (given(weight) ? normed * *weight : normed).to(type);
}

// x / (k + alpha * the mean of the squares of `size` neighbouring channels) ** beta
Tensor nn::functional::local_response_norm(const Operand& x, const LocalResponseNormFuncOptions& options) {
  const int64_t size = options.size();
  check<ValueError>(x.dim() >= 3, "Expected 3D or higher dimensionality                          input (got ", x.dim(), " dimensions)");
  check(size > 0, "kernel size should be greater than zero, but got ", size);
  check_extents(size, "size");
  if (x.scalar_type() == kLong) return nn::functional::local_response_norm(x.to(get_default_dtype()), options);
  check_float(x, "local_response_norm");
  GradScope scope("DivBackward0", x);
  if (x.numel() == 0) return clone(x);
  const Expr v = formula_operand(x, x.scalar_type());
  const int64_t channels = x.size(1), plane = x.numel() / (x.size(0) * channels);
  const NodeRef squares = ir::reshape((v * v).node, Dims{x.size(0), channels, plane});
  Window along_channels{channels, size, 1, size / 2, (size - 1) / 2};
  along_channels.count = channels;
  Window positions{plane, 1};
  positions.count = plane;
  const NodeRef seen = sliding_windows(squares, {along_channels, positions}, ir::constant(v.dtype(), int64_t{0}));
  const Expr total{ir::reshape(ir::reduce(Op::Sum, seen, Dims{1, 2}), v.node->shape())};
  const Expr base = total / static_cast<double>(size) * options.alpha() + options.k();
  return record_as(v / apply(Op::Pow, base, number(base, options.beta())), x.scalar_type());
}

}  // namespace tenon
