// Printed from frontend/layers.def by scripts/print/make_layers.py.
// torch::nn::functional: the operators of tenon/neural.h with their options as structs.
//
//   namespace F = tenon::nn::functional;
//   F::conv2d(x, weight, F::Conv2dFuncOptions().bias(b).stride(2).padding(kSame));
//   F::cross_entropy(scores, classes, F::CrossEntropyFuncOptions().label_smoothing(0.1));
#pragma once

#include "tenon/neural.h"
#include "tenon/nn/functional_more.h"  // IWYU pragma: export
#include "tenon/nn/options.h"

namespace tenon::nn::functional {

// --- activations
Tensor selu(Tensor input, const SELUFuncOptions& options = {});
Tensor relu(Tensor input, const ReLUFuncOptions& options = {});
Tensor relu6(Tensor input, const ReLU6FuncOptions& options = {});
Tensor elu(Tensor input, const ELUFuncOptions& options = {});
Tensor celu(Tensor input, const CELUFuncOptions& options = {});
Tensor gelu(const Operand& input, const GELUFuncOptions& options = {});
Tensor glu(const Operand& input, const GLUFuncOptions& options = {});
Tensor leaky_relu(Tensor input, const LeakyReLUFuncOptions& options = {});
Tensor hardtanh(Tensor input, const HardtanhFuncOptions& options = {});
Tensor hardshrink(const Operand& input, const HardshrinkFuncOptions& options = {});
Tensor softshrink(const Operand& input, const SoftshrinkFuncOptions& options = {});
Tensor softplus(const Operand& input, const SoftplusFuncOptions& options = {});
Tensor threshold(Tensor input, const ThresholdFuncOptions& options);
Tensor silu(const Operand& input);
Tensor mish(const Operand& input);
Tensor hardsigmoid(const Operand& input);
Tensor hardswish(const Operand& input);
Tensor softsign(const Operand& input);
Tensor tanhshrink(const Operand& input);
Tensor logsigmoid(const Operand& input);
Tensor softmax(const Operand& input, const SoftmaxFuncOptions& options);
Tensor softmin(const Operand& input, const SoftminFuncOptions& options);
Tensor log_softmax(const Operand& input, const LogSoftmaxFuncOptions& options);
Tensor rrelu(Tensor input, const RReLUFuncOptions& options = {});
Tensor gumbel_softmax(const Operand& logits, const GumbelSoftmaxFuncOptions& options = {});

// --- dropout: the identity unless training
Tensor dropout(Tensor input, const DropoutFuncOptions& options = {});
Tensor dropout2d(Tensor input, const Dropout2dFuncOptions& options = {});
Tensor dropout3d(Tensor input, const Dropout3dFuncOptions& options = {});
Tensor alpha_dropout(Tensor input, const AlphaDropoutFuncOptions& options = {});
Tensor feature_alpha_dropout(Tensor input, const FeatureAlphaDropoutFuncOptions& options = {});

// --- pooling
Tensor max_pool1d(const Operand& input, const MaxPool1dFuncOptions& options);
std::tuple<Tensor, Tensor> max_pool1d_with_indices(const Operand& input, const MaxPool1dFuncOptions& options);
Tensor max_pool2d(const Operand& input, const MaxPool2dFuncOptions& options);
std::tuple<Tensor, Tensor> max_pool2d_with_indices(const Operand& input, const MaxPool2dFuncOptions& options);
Tensor max_pool3d(const Operand& input, const MaxPool3dFuncOptions& options);
std::tuple<Tensor, Tensor> max_pool3d_with_indices(const Operand& input, const MaxPool3dFuncOptions& options);
Tensor avg_pool1d(const Operand& input, const AvgPool1dFuncOptions& options);
Tensor avg_pool2d(const Operand& input, const AvgPool2dFuncOptions& options);
Tensor avg_pool3d(const Operand& input, const AvgPool3dFuncOptions& options);
Tensor lp_pool1d(const Operand& input, const LPPool1dFuncOptions& options);
Tensor lp_pool2d(const Operand& input, const LPPool2dFuncOptions& options);
Tensor lp_pool3d(const Operand& input, const LPPool3dFuncOptions& options);
Tensor adaptive_avg_pool1d(const Operand& input, const AdaptiveAvgPool1dFuncOptions& options);
Tensor adaptive_avg_pool2d(const Operand& input, const AdaptiveAvgPool2dFuncOptions& options);
Tensor adaptive_avg_pool3d(const Operand& input, const AdaptiveAvgPool3dFuncOptions& options);
Tensor adaptive_max_pool1d(const Operand& input, const AdaptiveMaxPool1dFuncOptions& options);
std::tuple<Tensor, Tensor> adaptive_max_pool1d_with_indices(const Operand& input,
                                                            const AdaptiveMaxPool1dFuncOptions& options);
Tensor adaptive_max_pool2d(const Operand& input, const AdaptiveMaxPool2dFuncOptions& options);
std::tuple<Tensor, Tensor> adaptive_max_pool2d_with_indices(const Operand& input,
                                                            const AdaptiveMaxPool2dFuncOptions& options);
Tensor adaptive_max_pool3d(const Operand& input, const AdaptiveMaxPool3dFuncOptions& options);
std::tuple<Tensor, Tensor> adaptive_max_pool3d_with_indices(const Operand& input,
                                                            const AdaptiveMaxPool3dFuncOptions& options);
Tensor fractional_max_pool2d(const Operand& input, const FractionalMaxPool2dFuncOptions& options);
std::tuple<Tensor, Tensor> fractional_max_pool2d_with_indices(const Operand& input,
                                                              const FractionalMaxPool2dFuncOptions& options);
Tensor fractional_max_pool3d(const Operand& input, const FractionalMaxPool3dFuncOptions& options);
std::tuple<Tensor, Tensor> fractional_max_pool3d_with_indices(const Operand& input,
                                                              const FractionalMaxPool3dFuncOptions& options);

// --- windows, padding, resizing
Tensor fold(const Operand& input, const FoldFuncOptions& options);
Tensor unfold(const Operand& input, const UnfoldFuncOptions& options);
Tensor pixel_shuffle(const Operand& input, const PixelShuffleFuncOptions& options);
Tensor pixel_unshuffle(const Operand& input, const PixelUnshuffleFuncOptions& options);
Tensor pad(const Operand& input, const PadFuncOptions& options);
Tensor interpolate(const Operand& input, const InterpolateFuncOptions& options = {});
Tensor grid_sample(const Operand& input, const Operand& grid, const GridSampleFuncOptions& options = {});

// --- normalisation
Tensor local_response_norm(const Operand& input, const LocalResponseNormFuncOptions& options);
Tensor batch_norm(const Operand& input, const Operand& running_mean, const Operand& running_var,
                  const BatchNormFuncOptions& options = {});
Tensor instance_norm(const Operand& input, const InstanceNormFuncOptions& options = {});
Tensor layer_norm(const Operand& input, const LayerNormFuncOptions& options);
Tensor group_norm(const Operand& input, const GroupNormFuncOptions& options);
Tensor normalize(const Operand& input, const NormalizeFuncOptions& options = {});

// --- distances
Tensor cosine_similarity(const Operand& x1, const Operand& x2,
                         const CosineSimilarityFuncOptions& options = {});
Tensor pairwise_distance(const Operand& x1, const Operand& x2,
                         const PairwiseDistanceFuncOptions& options = {});

// --- losses
Tensor l1_loss(const Operand& input, const Operand& target, const L1LossFuncOptions& options = {});
Tensor mse_loss(const Operand& input, const Operand& target, const MSELossFuncOptions& options = {});
Tensor multilabel_margin_loss(const Operand& input, const Operand& target,
                              const MultilabelMarginLossFuncOptions& options = {});
Tensor soft_margin_loss(const Operand& input, const Operand& target,
                        const SoftMarginLossFuncOptions& options = {});
Tensor smooth_l1_loss(const Operand& input, const Operand& target,
                      const SmoothL1LossFuncOptions& options = {});
Tensor huber_loss(const Operand& input, const Operand& target, const HuberLossFuncOptions& options = {});
Tensor kl_div(const Operand& input, const Operand& target, const KLDivFuncOptions& options = {});
Tensor hinge_embedding_loss(const Operand& input, const Operand& target,
                            const HingeEmbeddingLossFuncOptions& options = {});
Tensor poisson_nll_loss(const Operand& input, const Operand& target,
                        const PoissonNLLLossFuncOptions& options = {});
Tensor cross_entropy(const Operand& input, const Operand& target,
                     const CrossEntropyFuncOptions& options = {});
Tensor nll_loss(const Operand& input, const Operand& target, const NLLLossFuncOptions& options = {});
Tensor binary_cross_entropy(const Operand& input, const Operand& target,
                            const BinaryCrossEntropyFuncOptions& options = {});
Tensor binary_cross_entropy_with_logits(const Operand& input, const Operand& target,
                                        const BinaryCrossEntropyWithLogitsFuncOptions& options = {});
Tensor multilabel_soft_margin_loss(const Operand& input, const Operand& target,
                                   const MultilabelSoftMarginLossFuncOptions& options = {});
Tensor multi_margin_loss(const Operand& input, const Operand& target,
                         const MultiMarginLossFuncOptions& options = {});
Tensor cosine_embedding_loss(const Operand& input1, const Operand& input2, const Operand& target,
                             const CosineEmbeddingLossFuncOptions& options = {});
Tensor margin_ranking_loss(const Operand& input1, const Operand& input2, const Operand& target,
                           const MarginRankingLossFuncOptions& options = {});
Tensor triplet_margin_loss(const Operand& anchor, const Operand& positive, const Operand& negative,
                           const TripletMarginLossFuncOptions& options = {});
Tensor triplet_margin_with_distance_loss(const Operand& anchor, const Operand& positive,
                                         const Operand& negative,
                                         const TripletMarginWithDistanceLossFuncOptions& options = {});
Tensor ctc_loss(const Operand& log_probs, const Operand& targets, const Operand& input_lengths,
                const Operand& target_lengths, const CTCLossFuncOptions& options = {});

// --- with parameters, or called otherwise
Tensor conv1d(const Operand& input, const Operand& weight, const Conv1dFuncOptions& options = {});
Tensor conv2d(const Operand& input, const Operand& weight, const Conv2dFuncOptions& options = {});
Tensor conv3d(const Operand& input, const Operand& weight, const Conv3dFuncOptions& options = {});
Tensor conv_transpose1d(const Operand& input, const Operand& weight,
                        const ConvTranspose1dFuncOptions& options = {});
Tensor conv_transpose2d(const Operand& input, const Operand& weight,
                        const ConvTranspose2dFuncOptions& options = {});
Tensor conv_transpose3d(const Operand& input, const Operand& weight,
                        const ConvTranspose3dFuncOptions& options = {});
Tensor embedding(const Operand& input, const Operand& weight, const EmbeddingFuncOptions& options = {});
Tensor embedding_bag(const Operand& input, const Operand& weight,
                     const EmbeddingBagFuncOptions& options = {});

}  // namespace tenon::nn::functional
