// Printed from frontend/functions.def by scripts/print/make_functions.py.
// The operators of neural networks with ATen's names, argument order and defaults: convolution, pooling,
// normalisation, losses, embedding, resizing. tenon/nn/functional.h wraps them in option structs. Each checks
// its operands at once, records graph operations and computes nothing; what must look at values to be checked
// (class indices) says so.
//
// Batches come first, then channels, then 1 to 3 spatial dims; most functions also take one sample without a
// batch dim.
#pragma once

#include "tenon/neural_types.h"

namespace tenon {

// --- convolution
// input [N, C, spatial...], weight [O, C/groups, kernel...], bias [O]; padding "same" or "valid", or numbers.
Tensor conv1d(const Operand& input, const Operand& weight, const optional<Tensor>& bias = detail::no_tensor(),
              IntArrayRef stride = 1, IntArrayRef padding = 0, IntArrayRef dilation = 1, int64_t groups = 1);
Tensor conv1d(const Operand& input, const Operand& weight, const optional<Tensor>& bias, IntArrayRef stride,
              PaddingName padding, IntArrayRef dilation = 1, int64_t groups = 1);
Tensor conv2d(const Operand& input, const Operand& weight, const optional<Tensor>& bias = detail::no_tensor(),
              IntArrayRef stride = 1, IntArrayRef padding = 0, IntArrayRef dilation = 1, int64_t groups = 1);
Tensor conv2d(const Operand& input, const Operand& weight, const optional<Tensor>& bias, IntArrayRef stride,
              PaddingName padding, IntArrayRef dilation = 1, int64_t groups = 1);
Tensor conv3d(const Operand& input, const Operand& weight, const optional<Tensor>& bias = detail::no_tensor(),
              IntArrayRef stride = 1, IntArrayRef padding = 0, IntArrayRef dilation = 1, int64_t groups = 1);
Tensor conv3d(const Operand& input, const Operand& weight, const optional<Tensor>& bias, IntArrayRef stride,
              PaddingName padding, IntArrayRef dilation = 1, int64_t groups = 1);
// The gradient of a convolution as an operator: weight [C, O/groups, kernel...].
Tensor conv_transpose1d(const Operand& input, const Operand& weight,
                        const optional<Tensor>& bias = detail::no_tensor(), IntArrayRef stride = 1,
                        IntArrayRef padding = 0, IntArrayRef output_padding = 0, int64_t groups = 1,
                        IntArrayRef dilation = 1);
Tensor conv_transpose2d(const Operand& input, const Operand& weight,
                        const optional<Tensor>& bias = detail::no_tensor(), IntArrayRef stride = 1,
                        IntArrayRef padding = 0, IntArrayRef output_padding = 0, int64_t groups = 1,
                        IntArrayRef dilation = 1);
Tensor conv_transpose3d(const Operand& input, const Operand& weight,
                        const optional<Tensor>& bias = detail::no_tensor(), IntArrayRef stride = 1,
                        IntArrayRef padding = 0, IntArrayRef output_padding = 0, int64_t groups = 1,
                        IntArrayRef dilation = 1);
Tensor convolution(const Operand& input, const Operand& weight, const optional<Tensor>& bias,
                   IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation, bool transposed,
                   IntArrayRef output_padding, int64_t groups);

// --- pooling; an empty stride is the kernel's size. Indices are positions in the unpadded plane.
Tensor max_pool1d(const Operand& self, IntArrayRef kernel_size, IntArrayRef stride = {},
                  IntArrayRef padding = 0, IntArrayRef dilation = 1, bool ceil_mode = false);
std::tuple<Tensor, Tensor> max_pool1d_with_indices(const Operand& self, IntArrayRef kernel_size,
                                                   IntArrayRef stride = {}, IntArrayRef padding = 0,
                                                   IntArrayRef dilation = 1, bool ceil_mode = false);
Tensor adaptive_avg_pool1d(const Operand& self, IntArrayRef output_size);
std::tuple<Tensor, Tensor> adaptive_max_pool1d(const Operand& self, IntArrayRef output_size);
Tensor max_pool2d(const Operand& self, IntArrayRef kernel_size, IntArrayRef stride = {},
                  IntArrayRef padding = 0, IntArrayRef dilation = 1, bool ceil_mode = false);
std::tuple<Tensor, Tensor> max_pool2d_with_indices(const Operand& self, IntArrayRef kernel_size,
                                                   IntArrayRef stride = {}, IntArrayRef padding = 0,
                                                   IntArrayRef dilation = 1, bool ceil_mode = false);
Tensor adaptive_avg_pool2d(const Operand& self, IntArrayRef output_size);
std::tuple<Tensor, Tensor> adaptive_max_pool2d(const Operand& self, IntArrayRef output_size);
Tensor max_pool3d(const Operand& self, IntArrayRef kernel_size, IntArrayRef stride = {},
                  IntArrayRef padding = 0, IntArrayRef dilation = 1, bool ceil_mode = false);
std::tuple<Tensor, Tensor> max_pool3d_with_indices(const Operand& self, IntArrayRef kernel_size,
                                                   IntArrayRef stride = {}, IntArrayRef padding = 0,
                                                   IntArrayRef dilation = 1, bool ceil_mode = false);
Tensor adaptive_avg_pool3d(const Operand& self, IntArrayRef output_size);
std::tuple<Tensor, Tensor> adaptive_max_pool3d(const Operand& self, IntArrayRef output_size);
Tensor avg_pool1d(const Operand& self, IntArrayRef kernel_size, IntArrayRef stride = {},
                  IntArrayRef padding = 0, bool ceil_mode = false, bool count_include_pad = true);
Tensor avg_pool2d(const Operand& self, IntArrayRef kernel_size, IntArrayRef stride = {},
                  IntArrayRef padding = 0, bool ceil_mode = false, bool count_include_pad = true,
                  optional<int64_t> divisor_override = nullopt);
Tensor avg_pool3d(const Operand& self, IntArrayRef kernel_size, IntArrayRef stride = {},
                  IntArrayRef padding = 0, bool ceil_mode = false, bool count_include_pad = true,
                  optional<int64_t> divisor_override = nullopt);

// Windows at random places, which random_samples [N, C, dims] in [0, 1) say; and the indices of the maxima.
std::tuple<Tensor, Tensor> fractional_max_pool2d(const Operand& self, IntArrayRef kernel_size,
                                                 IntArrayRef output_size, const Operand& random_samples);
std::tuple<Tensor, Tensor> fractional_max_pool3d(const Operand& self, IntArrayRef kernel_size,
                                                 IntArrayRef output_size, const Operand& random_samples);

// Windows as columns, [N, C, H, W] -> [N, C * kernel, windows], and their sum back into a plane.
Tensor im2col(const Operand& self, IntArrayRef kernel_size, IntArrayRef dilation, IntArrayRef padding,
              IntArrayRef stride);
Tensor col2im(const Operand& self, IntArrayRef output_size, IntArrayRef kernel_size, IntArrayRef dilation,
              IntArrayRef padding, IntArrayRef stride);

// --- padding and resizing. `pad` is (before, after) pairs from the last dim backwards.
Tensor reflection_pad1d(const Operand& self, IntArrayRef padding);
Tensor reflection_pad2d(const Operand& self, IntArrayRef padding);
Tensor reflection_pad3d(const Operand& self, IntArrayRef padding);
Tensor replication_pad1d(const Operand& self, IntArrayRef padding);
Tensor replication_pad2d(const Operand& self, IntArrayRef padding);
Tensor replication_pad3d(const Operand& self, IntArrayRef padding);
Tensor pad(const Operand& self, IntArrayRef pad, std::string_view mode = "constant",
           optional<double> value = nullopt);  // or "reflect", "replicate", "circular"
Tensor pixel_shuffle(const Operand& self, int64_t upscale_factor);
Tensor pixel_unshuffle(const Operand& self, int64_t downscale_factor);
Tensor channel_shuffle(const Operand& self, int64_t groups);

// --- sampling. input [N, C, spatial...] at points of grid [N, points..., dims], x first, from -1 to 1.
// interpolation: 0 linear, 1 nearest, 2 cubic; outside: 0 zeros, 1 the border, 2 reflected.
Tensor grid_sampler(const Operand& input, const Operand& grid, int64_t interpolation_mode,
                    int64_t padding_mode, bool align_corners);
Tensor grid_sampler_2d(const Operand& input, const Operand& grid, int64_t interpolation_mode,
                       int64_t padding_mode, bool align_corners);
Tensor grid_sampler_3d(const Operand& input, const Operand& grid, int64_t interpolation_mode,
                       int64_t padding_mode, bool align_corners);
// Points of a grid of that size [N, C, spatial...] under affine maps theta [N, dims, dims + 1].
Tensor affine_grid_generator(const Operand& theta, IntArrayRef size, bool align_corners);

// --- normalisation
// Training: by the statistics of the batch, and the running ones, where given, move towards them in place.
Tensor batch_norm(const Operand& input, const optional<Tensor>& weight, const optional<Tensor>& bias,
                  const optional<Tensor>& running_mean, const optional<Tensor>& running_var, bool training,
                  double momentum, double eps, bool cudnn_enabled = true);
Tensor instance_norm(const Operand& input, const optional<Tensor>& weight, const optional<Tensor>& bias,
                     const optional<Tensor>& running_mean, const optional<Tensor>& running_var,
                     bool use_input_stats, double momentum, double eps, bool cudnn_enabled = true);
Tensor group_norm(const Operand& input, int64_t num_groups,
                  const optional<Tensor>& weight = detail::no_tensor(),
                  const optional<Tensor>& bias = detail::no_tensor(), double eps = 1e-5,
                  bool cudnn_enabled = true);

// Over the last dims, whose shape is `normalized_shape`.
Tensor layer_norm(const Operand& input, IntArrayRef normalized_shape,
                  const optional<Tensor>& weight = detail::no_tensor(),
                  const optional<Tensor>& bias = detail::no_tensor(), double eps = 1e-5);
// Divided by the root of the mean square over the last dims; eps is the type's unless given.
Tensor rms_norm(const Operand& input, IntArrayRef normalized_shape,
                const optional<Tensor>& weight = detail::no_tensor(), optional<double> eps = nullopt);

// --- activations with operands
Tensor glu(const Operand& self, int64_t dim = -1);
// Slopes below 0 are drawn between lower and upper, or lie in the middle if not training. Drawing evaluates self.
Tensor rrelu(const Operand& self, const Scalar& lower = 0.125, const Scalar& upper = 1.0 / 3,
             bool training = false, const optional<Generator>& generator = nullopt);
Tensor& rrelu_(Tensor& self, const Scalar& lower = 0.125, const Scalar& upper = 1.0 / 3,
               bool training = false, const optional<Generator>& generator = nullopt);

// --- embedding: the rows of weight at indices, which are read and checked
Tensor embedding(const Operand& weight, const Operand& indices, int64_t padding_idx = -1,
                 bool scale_grad_by_freq = false, bool sparse = false);
Tensor one_hot(const Operand& self, int64_t num_classes = -1);  // -1: as many as the largest class wants
// Sums, means or maxima (mode 0, 1, 2) of the rows of each bag; bag i begins at offsets[i]. Rows at padding_idx do not
// count. Also the bag of each index and the sizes of the bags.
std::tuple<Tensor, Tensor, Tensor, Tensor> embedding_bag(const Operand& weight, const Operand& indices,
    const Operand& offsets, bool scale_grad_by_freq = false, int64_t mode = 0, bool sparse = false,
    const optional<Tensor>& per_sample_weights = detail::no_tensor(), bool include_last_offset = false,
    optional<int64_t> padding_idx = nullopt);
// The rows at indices scaled down to max_norm where they are longer.
Tensor embedding_renorm(const Operand& weight, const Operand& indices, double max_norm, double norm_type);
Tensor& embedding_renorm_(Tensor& weight, const Operand& indices, double max_norm, double norm_type);

// --- losses
Tensor mse_loss(const Operand& self, const Operand& target, int64_t reduction = Reduction::Mean);
Tensor l1_loss(const Operand& self, const Operand& target, int64_t reduction = Reduction::Mean);
Tensor smooth_l1_loss(const Operand& self, const Operand& target, int64_t reduction = Reduction::Mean,
                      double beta = 1.0);
Tensor huber_loss(const Operand& self, const Operand& target, int64_t reduction = Reduction::Mean,
                  double delta = 1.0);
Tensor binary_cross_entropy(const Operand& self, const Operand& target,
                            const optional<Tensor>& weight = detail::no_tensor(),
                            int64_t reduction = Reduction::Mean);  // reads self: it must be in [0, 1]
Tensor binary_cross_entropy_with_logits(const Operand& self, const Operand& target,
                                        const optional<Tensor>& weight = detail::no_tensor(),
                                        const optional<Tensor>& pos_weight = detail::no_tensor(),
                                        int64_t reduction = Reduction::Mean);
Tensor kl_div(const Operand& self, const Operand& target, int64_t reduction = Reduction::Mean,
              bool log_target = false);
// Class indices in [0, C), read and checked. nll_loss: self [C] or [N, C]; nll_loss2d: [N, C, H, W];
// nll_loss_nd: any of them.
Tensor nll_loss(const Operand& self, const Operand& target,
                const optional<Tensor>& weight = detail::no_tensor(), int64_t reduction = Reduction::Mean,
                int64_t ignore_index = -100);
Tensor nll_loss2d(const Operand& self, const Operand& target,
                  const optional<Tensor>& weight = detail::no_tensor(), int64_t reduction = Reduction::Mean,
                  int64_t ignore_index = -100);
Tensor nll_loss_nd(const Operand& self, const Operand& target,
                   const optional<Tensor>& weight = detail::no_tensor(), int64_t reduction = Reduction::Mean,
                   int64_t ignore_index = -100);
// Class indices, or probabilities in the shape of self.
Tensor cross_entropy_loss(const Operand& self, const Operand& target,
                          const optional<Tensor>& weight = detail::no_tensor(),
                          int64_t reduction = Reduction::Mean, int64_t ignore_index = -100,
                          double label_smoothing = 0.0);
Tensor poisson_nll_loss(const Operand& input, const Operand& target, bool log_input, bool full, double eps,
                        int64_t reduction);
Tensor soft_margin_loss(const Operand& self, const Operand& target, int64_t reduction = Reduction::Mean);
Tensor hinge_embedding_loss(const Operand& self, const Operand& target, double margin = 1.0,
                            int64_t reduction = Reduction::Mean);
Tensor margin_ranking_loss(const Operand& input1, const Operand& input2, const Operand& target,
                           double margin = 0.0, int64_t reduction = Reduction::Mean);
Tensor cosine_embedding_loss(const Operand& input1, const Operand& input2, const Operand& target,
                             double margin = 0.0, int64_t reduction = Reduction::Mean);
Tensor triplet_margin_loss(const Operand& anchor, const Operand& positive, const Operand& negative,
                           double margin = 1.0, double p = 2.0, double eps = 1e-06, bool swap = false,
                           int64_t reduction = Reduction::Mean);
Tensor multi_margin_loss(const Operand& self, const Operand& target, const Scalar& p = 1,
                         const Scalar& margin = 1, const optional<Tensor>& weight = detail::no_tensor(),
                         int64_t reduction = Reduction::Mean);

// Class indices of several classes a sample, up to the first -1.
Tensor multilabel_margin_loss(const Operand& self, const Operand& target,
                              int64_t reduction = Reduction::Mean);
// Connectionist temporal classification. log_probs [T, N, C] (or [T, C]); targets [N, S], or the labels of all
// samples one behind the other; both lengths [N]. Lengths in tensors are evaluated.
Tensor ctc_loss(const Operand& log_probs, const Operand& targets, IntArrayRef input_lengths,
                IntArrayRef target_lengths, int64_t blank = 0, int64_t reduction = Reduction::Mean,
                bool zero_infinity = false);
Tensor ctc_loss(const Operand& log_probs, const Operand& targets, const Operand& input_lengths,
                const Operand& target_lengths, int64_t blank = 0, int64_t reduction = Reduction::Mean,
                bool zero_infinity = false);

// --- distances
Tensor cosine_similarity(const Operand& x1, const Operand& x2, int64_t dim = 1, double eps = 1e-08);
Tensor pairwise_distance(const Operand& x1, const Operand& x2, double p = 2, double eps = 1e-06,
                         bool keepdim = false);
Tensor cdist(const Operand& x1, const Operand& x2, double p = 2, optional<int64_t> compute_mode = nullopt);
// the distances of the rows of one matrix, those of cdist above the diagonal
Tensor pdist(const Operand& self, double p = 2);

// --- products
Tensor linear(const Operand& input, const Operand& weight,
              const optional<Tensor>& bias = detail::no_tensor());  // x @ w.t() + b
Tensor bilinear(const Operand& input1, const Operand& input2, const Operand& weight,
                const optional<Tensor>& bias = detail::no_tensor());
// softmax(query @ key.mT * scale + mask) @ value; a bool mask says what takes part.
Tensor scaled_dot_product_attention(const Operand& query, const Operand& key, const Operand& value,
                                    const optional<Tensor>& attn_mask = detail::no_tensor(),
                                    double dropout_p = 0.0, bool is_causal = false,
                                    optional<double> scale = nullopt);

}  // namespace tenon
