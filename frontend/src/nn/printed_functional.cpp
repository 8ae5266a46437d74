// Printed from frontend/layers.def by scripts/print/make_layers.py.
// The functions of nn::functional that pass their options to a function of tenon.
#include "frontend/src/nn/call_options.h"
#include "tenon/nn/functional.h"
#include "tenon/tenon.h"

namespace tenon::nn::functional {

// --- activations
Tensor selu(Tensor input, const SELUFuncOptions& options) {
  return placed(input, options.inplace(), [&](const Tensor& input) { return tenon::selu(input); });
}
Tensor relu(Tensor input, const ReLUFuncOptions& options) {
  return placed(input, options.inplace(), [&](const Tensor& input) { return tenon::relu(input); });
}
Tensor relu6(Tensor input, const ReLU6FuncOptions& options) {
  return placed(input, options.inplace(), [&](const Tensor& input) { return tenon::relu6(input); });
}
Tensor elu(Tensor input, const ELUFuncOptions& options) {
  return placed(input, options.inplace(), [&](const Tensor& input) { return tenon::elu(input, options.alpha()); });
}
Tensor celu(Tensor input, const CELUFuncOptions& options) {
  return placed(input, options.inplace(), [&](const Tensor& input) { return tenon::celu(input, options.alpha()); });
}
Tensor gelu(const Operand& input, const GELUFuncOptions& options) {
  return tenon::gelu(input, options.approximate());
}
Tensor leaky_relu(Tensor input, const LeakyReLUFuncOptions& options) {
  return placed(input, options.inplace(), [&](const Tensor& input) { return tenon::leaky_relu(input, options.negative_slope()); });
}
Tensor hardtanh(Tensor input, const HardtanhFuncOptions& options) {
  return placed(input, options.inplace(), [&](const Tensor& input) { return tenon::hardtanh(input, options.min_val(), options.max_val()); });
}
Tensor hardshrink(const Operand& input, const HardshrinkFuncOptions& options) {
  return tenon::hardshrink(input, options.lambda());
}
Tensor softshrink(const Operand& input, const SoftshrinkFuncOptions& options) {
  return tenon::softshrink(input, options.lambda());
}
Tensor softplus(const Operand& input, const SoftplusFuncOptions& options) {
  return tenon::softplus(input, options.beta(), options.threshold());
}
Tensor threshold(Tensor input, const ThresholdFuncOptions& options) {
  return placed(input, options.inplace(), [&](const Tensor& input) { return tenon::threshold(input, options.threshold(), options.value()); });
}
Tensor silu(const Operand& input) {
  return tenon::silu(input);
}
Tensor mish(const Operand& input) {
  return tenon::mish(input);
}
Tensor hardsigmoid(const Operand& input) {
  return tenon::hardsigmoid(input);
}
Tensor hardswish(const Operand& input) {
  return tenon::hardswish(input);
}
Tensor softsign(const Operand& input) {
  return tenon::softsign(input);
}
Tensor tanhshrink(const Operand& input) {
  return tenon::tanhshrink(input);
}
Tensor logsigmoid(const Operand& input) {
  return tenon::log_sigmoid(input);
}
Tensor softmax(const Operand& input, const SoftmaxFuncOptions& options) {
  return tenon::softmax(input, options.dim(), options.dtype());
}
Tensor log_softmax(const Operand& input, const LogSoftmaxFuncOptions& options) {
  return tenon::log_softmax(input, options.dim(), options.dtype());
}

// --- pooling
Tensor max_pool1d(const Operand& input, const MaxPool1dFuncOptions& options) {
  return tenon::max_pool1d(input, options.kernel_size(), options.stride(), options.padding(),
                           options.dilation(), options.ceil_mode());
}
std::tuple<Tensor, Tensor> max_pool1d_with_indices(const Operand& input,
                                                   const MaxPool1dFuncOptions& options) {
  return tenon::max_pool1d_with_indices(input, options.kernel_size(), options.stride(), options.padding(),
                                        options.dilation(), options.ceil_mode());
}
Tensor max_pool2d(const Operand& input, const MaxPool2dFuncOptions& options) {
  return tenon::max_pool2d(input, options.kernel_size(), options.stride(), options.padding(),
                           options.dilation(), options.ceil_mode());
}
std::tuple<Tensor, Tensor> max_pool2d_with_indices(const Operand& input,
                                                   const MaxPool2dFuncOptions& options) {
  return tenon::max_pool2d_with_indices(input, options.kernel_size(), options.stride(), options.padding(),
                                        options.dilation(), options.ceil_mode());
}
Tensor max_pool3d(const Operand& input, const MaxPool3dFuncOptions& options) {
  return tenon::max_pool3d(input, options.kernel_size(), options.stride(), options.padding(),
                           options.dilation(), options.ceil_mode());
}
std::tuple<Tensor, Tensor> max_pool3d_with_indices(const Operand& input,
                                                   const MaxPool3dFuncOptions& options) {
  return tenon::max_pool3d_with_indices(input, options.kernel_size(), options.stride(), options.padding(),
                                        options.dilation(), options.ceil_mode());
}
Tensor avg_pool2d(const Operand& input, const AvgPool2dFuncOptions& options) {
  return tenon::avg_pool2d(input, options.kernel_size(), options.stride(), options.padding(),
                           options.ceil_mode(), options.count_include_pad(), options.divisor_override());
}
Tensor avg_pool3d(const Operand& input, const AvgPool3dFuncOptions& options) {
  return tenon::avg_pool3d(input, options.kernel_size(), options.stride(), options.padding(),
                           options.ceil_mode(), options.count_include_pad(), options.divisor_override());
}
Tensor adaptive_avg_pool1d(const Operand& input, const AdaptiveAvgPool1dFuncOptions& options) {
  return tenon::adaptive_avg_pool1d(input, options.output_size());
}
Tensor adaptive_avg_pool2d(const Operand& input, const AdaptiveAvgPool2dFuncOptions& options) {
  return tenon::adaptive_avg_pool2d(input, options.output_size());
}
Tensor adaptive_avg_pool3d(const Operand& input, const AdaptiveAvgPool3dFuncOptions& options) {
  return tenon::adaptive_avg_pool3d(input, options.output_size());
}
Tensor adaptive_max_pool1d(const Operand& input, const AdaptiveMaxPool1dFuncOptions& options) {
  return std::get<0>(tenon::adaptive_max_pool1d(input, options.output_size()));
}
std::tuple<Tensor, Tensor> adaptive_max_pool1d_with_indices(const Operand& input,
                                                            const AdaptiveMaxPool1dFuncOptions& options) {
  return tenon::adaptive_max_pool1d(input, options.output_size());
}
Tensor adaptive_max_pool2d(const Operand& input, const AdaptiveMaxPool2dFuncOptions& options) {
  return std::get<0>(tenon::adaptive_max_pool2d(input, options.output_size()));
}
std::tuple<Tensor, Tensor> adaptive_max_pool2d_with_indices(const Operand& input,
                                                            const AdaptiveMaxPool2dFuncOptions& options) {
  return tenon::adaptive_max_pool2d(input, options.output_size());
}
Tensor adaptive_max_pool3d(const Operand& input, const AdaptiveMaxPool3dFuncOptions& options) {
  return std::get<0>(tenon::adaptive_max_pool3d(input, options.output_size()));
}
std::tuple<Tensor, Tensor> adaptive_max_pool3d_with_indices(const Operand& input,
                                                            const AdaptiveMaxPool3dFuncOptions& options) {
  return tenon::adaptive_max_pool3d(input, options.output_size());
}

// --- windows, padding, resizing
Tensor fold(const Operand& input, const FoldFuncOptions& options) {
  return tenon::col2im(input, options.output_size(), options.kernel_size(), options.dilation(),
                       options.padding(), options.stride());
}
Tensor unfold(const Operand& input, const UnfoldFuncOptions& options) {
  return tenon::im2col(input, options.kernel_size(), options.dilation(), options.padding(), options.stride());
}
Tensor pixel_shuffle(const Operand& input, const PixelShuffleFuncOptions& options) {
  return tenon::pixel_shuffle(input, options.upscale_factor());
}
Tensor pixel_unshuffle(const Operand& input, const PixelUnshuffleFuncOptions& options) {
  return tenon::pixel_unshuffle(input, options.downscale_factor());
}

// --- normalisation
Tensor layer_norm(const Operand& input, const LayerNormFuncOptions& options) {
  return tenon::layer_norm(input, options.normalized_shape(), options.weight(), options.bias(), options.eps());
}
Tensor group_norm(const Operand& input, const GroupNormFuncOptions& options) {
  return tenon::group_norm(input, options.num_groups(), options.weight(), options.bias(), options.eps());
}

// --- distances
Tensor cosine_similarity(const Operand& x1, const Operand& x2, const CosineSimilarityFuncOptions& options) {
  return tenon::cosine_similarity(x1, x2, options.dim(), options.eps());
}
Tensor pairwise_distance(const Operand& x1, const Operand& x2, const PairwiseDistanceFuncOptions& options) {
  return tenon::pairwise_distance(x1, x2, options.p(), options.eps(), options.keepdim());
}

// --- losses
Tensor l1_loss(const Operand& input, const Operand& target, const L1LossFuncOptions& options) {
  return tenon::l1_loss(input, target, reduction_of(options));
}
Tensor multilabel_margin_loss(const Operand& input, const Operand& target,
                              const MultilabelMarginLossFuncOptions& options) {
  return tenon::multilabel_margin_loss(input, target, reduction_of(options));
}
Tensor soft_margin_loss(const Operand& input, const Operand& target,
                        const SoftMarginLossFuncOptions& options) {
  return tenon::soft_margin_loss(input, target, reduction_of(options));
}
Tensor hinge_embedding_loss(const Operand& input, const Operand& target,
                            const HingeEmbeddingLossFuncOptions& options) {
  return tenon::hinge_embedding_loss(input, target, options.margin(), reduction_of(options));
}
Tensor poisson_nll_loss(const Operand& input, const Operand& target,
                        const PoissonNLLLossFuncOptions& options) {
  return tenon::poisson_nll_loss(input, target, options.log_input(), options.full(), options.eps(),
                                 reduction_of(options));
}
Tensor cross_entropy(const Operand& input, const Operand& target, const CrossEntropyFuncOptions& options) {
  return tenon::cross_entropy_loss(input, target, options.weight(), reduction_of(options),
                                   options.ignore_index(), options.label_smoothing());
}
Tensor nll_loss(const Operand& input, const Operand& target, const NLLLossFuncOptions& options) {
  return tenon::nll_loss_nd(input, target, options.weight(), reduction_of(options), options.ignore_index());
}
Tensor multi_margin_loss(const Operand& input, const Operand& target,
                         const MultiMarginLossFuncOptions& options) {
  return tenon::multi_margin_loss(input, target, options.p(), options.margin(), options.weight(),
                                  reduction_of(options));
}
Tensor cosine_embedding_loss(const Operand& input1, const Operand& input2, const Operand& target,
                             const CosineEmbeddingLossFuncOptions& options) {
  return tenon::cosine_embedding_loss(input1, input2, target, options.margin(), reduction_of(options));
}
Tensor triplet_margin_loss(const Operand& anchor, const Operand& positive, const Operand& negative,
                           const TripletMarginLossFuncOptions& options) {
  return tenon::triplet_margin_loss(anchor, positive, negative, options.margin(), options.p(), options.eps(),
                                    options.swap(), reduction_of(options));
}
Tensor ctc_loss(const Operand& log_probs, const Operand& targets, const Operand& input_lengths,
                const Operand& target_lengths, const CTCLossFuncOptions& options) {
  return tenon::ctc_loss(log_probs, targets, input_lengths, target_lengths, options.blank(),
                         reduction_of(options), options.zero_infinity());
}

// --- with parameters, or called otherwise
Tensor conv_transpose1d(const Operand& input, const Operand& weight,
                        const ConvTranspose1dFuncOptions& options) {
  return tenon::conv_transpose1d(input, weight, options.bias(), options.stride(), options.padding(),
                                 options.output_padding(), options.groups(), options.dilation());
}
Tensor conv_transpose2d(const Operand& input, const Operand& weight,
                        const ConvTranspose2dFuncOptions& options) {
  return tenon::conv_transpose2d(input, weight, options.bias(), options.stride(), options.padding(),
                                 options.output_padding(), options.groups(), options.dilation());
}
Tensor conv_transpose3d(const Operand& input, const Operand& weight,
                        const ConvTranspose3dFuncOptions& options) {
  return tenon::conv_transpose3d(input, weight, options.bias(), options.stride(), options.padding(),
                                 options.output_padding(), options.groups(), options.dilation());
}

}  // namespace tenon::nn::functional
