// LibTorch's functions behind its layers: recurrent networks with their weights in a list, normalisations
// that also give their statistics, resizing by kind. For programs written for LibTorch (tenon/compat.h).
#pragma once

#include <tuple>

#include "tenon/array_ref.h"
#include "tenon/tensor.h"

namespace tenon {

// --- recurrent networks
// hx: {h, c}; params: of each layer, of each direction, w_ih, w_hh and, with biases, b_ih, b_hh. The output,
// h and c.
std::tuple<Tensor, Tensor, Tensor> lstm(const Operand& input, TensorList hx, TensorList params,
                                        bool has_biases, int64_t num_layers, double dropout, bool train,
                                        bool bidirectional, bool batch_first);
std::tuple<Tensor, Tensor> lstm_cell(const Operand& input, TensorList hx, const Operand& w_ih,
                                     const Operand& w_hh, const optional<Tensor>& b_ih = nullopt,
                                     const optional<Tensor>& b_hh = nullopt);
#define TENON_DECLARE(name)                                                                             \
  std::tuple<Tensor, Tensor> name(const Operand& input, const Operand& hx, TensorList params,           \
                                  bool has_biases, int64_t num_layers, double dropout, bool train,      \
                                  bool bidirectional, bool batch_first);                                \
  Tensor name##_cell(const Operand& input, const Operand& hx, const Operand& w_ih, const Operand& w_hh, \
                     const optional<Tensor>& b_ih = nullopt, const optional<Tensor>& b_hh = nullopt);
TENON_DECLARE(gru)
TENON_DECLARE(rnn_tanh)
TENON_DECLARE(rnn_relu)
#undef TENON_DECLARE

// --- normalisation: the result, the means, and 1 / sqrt(variance + eps)
std::tuple<Tensor, Tensor, Tensor> native_layer_norm(const Operand& input, IntArrayRef normalized_shape,
                                                     const optional<Tensor>& weight,
                                                     const optional<Tensor>& bias, double eps);
// input: [N, C, ...] of N * C * HxW elements.
std::tuple<Tensor, Tensor, Tensor> native_group_norm(const Operand& input, const optional<Tensor>& weight,
                                                     const optional<Tensor>& bias, int64_t N, int64_t C,
                                                     int64_t HxW, int64_t group, double eps);
// Not in training the statistics are empty.
std::tuple<Tensor, Tensor, Tensor> native_batch_norm(const Operand& input, const optional<Tensor>& weight,
                                                     const optional<Tensor>& bias,
                                                     const optional<Tensor>& running_mean,
                                                     const optional<Tensor>& running_var, bool training,
                                                     double momentum, double eps);

Tensor _reshape_alias(const Operand& self, IntArrayRef size, IntArrayRef stride);  // as_strided

// --- resizing
#define TENON_DECLARE(name) Tensor upsample_##name(const Operand& input, IntArrayRef output_size);
TENON_DECLARE(nearest1d)
TENON_DECLARE(nearest2d)
TENON_DECLARE(nearest3d)
#undef TENON_DECLARE
#define TENON_DECLARE(name) \
  Tensor upsample_##name(const Operand& input, IntArrayRef output_size, bool align_corners);
TENON_DECLARE(linear1d)
TENON_DECLARE(bilinear2d)
TENON_DECLARE(trilinear3d)
TENON_DECLARE(bicubic2d)
#undef TENON_DECLARE

}  // namespace tenon
