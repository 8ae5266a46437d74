// LibTorch's functions behind its layers, by the functions of ops.h and neural.h.
#include "tenon/native.h"

#include "frontend/src/tensor/text.h"
#include "tenon/creation.h"
#include "tenon/neural.h"
#include "tenon/nn/functional.h"

namespace tenon {
namespace {

// 1 / sqrt(variance + eps)
Tensor inverse_deviation(const Tensor& x, IntArrayRef dims, bool keepdim, double eps) { return rsqrt(var(x, dims, false, keepdim) + eps); }

Tensor resized(const Tensor& x, IntArrayRef size, int64_t dims, nn::InterpolateMode mode, optional<bool> align_corners) {
  check(x.dim() == dims + 2, "It is expected input_size equals to ", dims + 2, ", but got size ", x.dim());
  check(std::ssize(size) == dims, "It is expected output_size equals to ", dims, ", but got size ", size.size());
  return nn::functional::interpolate(x, nn::functional::InterpolateFuncOptions().size(size.vec()).mode(mode).align_corners(align_corners));
}

}  // namespace

std::tuple<Tensor, Tensor, Tensor> native_layer_norm(const Operand& input, IntArrayRef normalized_shape, const optional<Tensor>& weight,
                                                     const optional<Tensor>& bias, double eps) {
  const Tensor out = layer_norm(input, normalized_shape, weight, bias, eps);
  std::vector<int64_t> dims;
  for (size_t i = normalized_shape.size(); i > 0; --i) dims.push_back(-static_cast<int64_t>(i));
  const NoGradGuard no_derivatives;  // PyTorch has none of these two
  return {out, mean(input, dims, true), inverse_deviation(input, dims, true, eps)};
}

std::tuple<Tensor, Tensor, Tensor> native_group_norm(const Operand& input, const optional<Tensor>& weight, const optional<Tensor>& bias,
                                                     int64_t N, int64_t C, int64_t HxW, int64_t group, double eps) {
  check(input.numel() == N * C * HxW, "Expected input to have ", N * C * HxW, " elements, but got ", input.numel());
  const Tensor out = group_norm(input, group, weight, bias, eps);
  const Tensor groups = input.reshape({N, group, C / group * HxW});
  return {out, mean(groups, 2), inverse_deviation(groups, 2, false, eps)};
}

std::tuple<Tensor, Tensor, Tensor> native_batch_norm(const Operand& input, const optional<Tensor>& weight, const optional<Tensor>& bias,
                                                     const optional<Tensor>& running_mean, const optional<Tensor>& running_var,
                                                     bool training, double momentum, double eps) {
  const Tensor out = batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps);
  if (!training) return {out, empty({0}, input.options()), empty({0}, input.options())};
  const NoGradGuard no_derivatives;
  const Tensor channels = input.transpose(0, 1).flatten(1);
  return {out, mean(channels, 1), inverse_deviation(channels, 1, false, eps)};
}

Tensor _reshape_alias(const Operand& self, IntArrayRef size, IntArrayRef stride) { return as_strided(self, size, stride); }

#define TENON_DEFINE(name, dims, mode) \
  Tensor upsample_##name(const Operand& input, IntArrayRef output_size) { return resized(input, output_size, dims, mode, nullopt); }
TENON_DEFINE(nearest1d, 1, kNearest)
TENON_DEFINE(nearest2d, 2, kNearest)
TENON_DEFINE(nearest3d, 3, kNearest)
#undef TENON_DEFINE
#define TENON_DEFINE(name, dims, mode)                                                        \
  Tensor upsample_##name(const Operand& input, IntArrayRef output_size, bool align_corners) { \
    return resized(input, output_size, dims, mode, align_corners);                            \
  }
TENON_DEFINE(linear1d, 1, kLinear)
TENON_DEFINE(bilinear2d, 2, kBilinear)
TENON_DEFINE(trilinear3d, 3, kTrilinear)
TENON_DEFINE(bicubic2d, 2, kBicubic)
#undef TENON_DEFINE

}  // namespace tenon
