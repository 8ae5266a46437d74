// Printed from frontend/functions.def by scripts/print/make_functions.py.
// LibTorch's functions behind its layers: recurrent networks with their weights in a list, normalisations
// that also give their statistics, resizing by kind. For programs written for LibTorch (tenon/compat.h).
#pragma once

#include "tenon/tensor.h"

namespace tenon {

// --- recurrent networks
// hx: {h, c}; params: of each layer, of each direction, w_ih, w_hh and, with biases, b_ih, b_hh. The output,
// h and c.
std::tuple<Tensor, Tensor, Tensor> lstm(const Operand& input, TensorList hx, TensorList params,
                                        bool has_biases, int64_t num_layers, double dropout, bool train,
                                        bool bidirectional, bool batch_first);
std::tuple<Tensor, Tensor> lstm_cell(const Operand& input, TensorList hx, const Operand& w_ih,
                                     const Operand& w_hh, const optional<Tensor>& b_ih = detail::no_tensor(),
                                     const optional<Tensor>& b_hh = detail::no_tensor());
std::tuple<Tensor, Tensor> gru(const Operand& input, const Operand& hx, TensorList params, bool has_biases,
                               int64_t num_layers, double dropout, bool train, bool bidirectional,
                               bool batch_first);
Tensor gru_cell(const Operand& input, const Operand& hx, const Operand& w_ih, const Operand& w_hh,
                const optional<Tensor>& b_ih = detail::no_tensor(),
                const optional<Tensor>& b_hh = detail::no_tensor());
std::tuple<Tensor, Tensor> rnn_tanh(const Operand& input, const Operand& hx, TensorList params,
                                    bool has_biases, int64_t num_layers, double dropout, bool train,
                                    bool bidirectional, bool batch_first);
Tensor rnn_tanh_cell(const Operand& input, const Operand& hx, const Operand& w_ih, const Operand& w_hh,
                     const optional<Tensor>& b_ih = detail::no_tensor(),
                     const optional<Tensor>& b_hh = detail::no_tensor());
std::tuple<Tensor, Tensor> rnn_relu(const Operand& input, const Operand& hx, TensorList params,
                                    bool has_biases, int64_t num_layers, double dropout, bool train,
                                    bool bidirectional, bool batch_first);
Tensor rnn_relu_cell(const Operand& input, const Operand& hx, const Operand& w_ih, const Operand& w_hh,
                     const optional<Tensor>& b_ih = detail::no_tensor(),
                     const optional<Tensor>& b_hh = detail::no_tensor());

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
Tensor upsample_nearest1d(const Operand& input, IntArrayRef output_size);
Tensor upsample_nearest2d(const Operand& input, IntArrayRef output_size);
Tensor upsample_nearest3d(const Operand& input, IntArrayRef output_size);
Tensor upsample_linear1d(const Operand& input, IntArrayRef output_size, bool align_corners);
Tensor upsample_bilinear2d(const Operand& input, IntArrayRef output_size, bool align_corners);
Tensor upsample_trilinear3d(const Operand& input, IntArrayRef output_size, bool align_corners);
Tensor upsample_bicubic2d(const Operand& input, IntArrayRef output_size, bool align_corners);

}  // namespace tenon
