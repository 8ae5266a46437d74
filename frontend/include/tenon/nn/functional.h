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
#define TENON_FUNCTION(name, Name)         \
  using Name##FuncOptions = Name##Options; \
  Tensor name(Tensor input, const Name##FuncOptions& options = {});
TENON_FUNCTION(elu, ELU)
TENON_FUNCTION(selu, SELU)
TENON_FUNCTION(celu, CELU)
TENON_FUNCTION(relu, ReLU)
TENON_FUNCTION(relu6, ReLU6)
TENON_FUNCTION(leaky_relu, LeakyReLU)
TENON_FUNCTION(hardtanh, Hardtanh)
#undef TENON_FUNCTION
#define TENON_FUNCTION(name, Name)         \
  using Name##FuncOptions = Name##Options; \
  Tensor name(const Operand& input, const Name##FuncOptions& options = {});
TENON_FUNCTION(glu, GLU)
TENON_FUNCTION(gelu, GELU)
TENON_FUNCTION(hardshrink, Hardshrink)
TENON_FUNCTION(softshrink, Softshrink)
TENON_FUNCTION(softplus, Softplus)
#undef TENON_FUNCTION
using ThresholdFuncOptions = ThresholdOptions;
Tensor threshold(Tensor input, const ThresholdFuncOptions& options);
Tensor logsigmoid(const Operand& input);
Tensor silu(const Operand& input);
Tensor mish(const Operand& input);
Tensor hardsigmoid(const Operand& input);
Tensor hardswish(const Operand& input);
Tensor softsign(const Operand& input);
Tensor tanhshrink(const Operand& input);
Tensor prelu(const Operand& input, const Operand& weight);

struct SoftmaxFuncOptions {
  SoftmaxFuncOptions(int64_t dim) : dim_(dim) {}
  TENON_ARG(int64_t, dim);
  TENON_ARG(optional<ScalarType>, dtype) = nullopt;
};
using SoftminFuncOptions = SoftmaxFuncOptions;
using LogSoftmaxFuncOptions = SoftmaxFuncOptions;
Tensor softmax(const Operand& input, const SoftmaxFuncOptions& options);
Tensor softmin(const Operand& input, const SoftminFuncOptions& options);
Tensor log_softmax(const Operand& input, const LogSoftmaxFuncOptions& options);

// --- linear maps
Tensor linear(const Operand& input, const Operand& weight, const Operand& bias = {});
Tensor bilinear(const Operand& input1, const Operand& input2, const Operand& weight, const Operand& bias = {});

// --- convolution
template <size_t D>
struct ConvFuncOptions {
  TENON_ARG(Tensor, bias) = {};
  TENON_ARG(ExpandingArray<D>, stride) = 1;
  TENON_ARG(ConvPadding<D>, padding) = 0;
  TENON_ARG(ExpandingArray<D>, dilation) = 1;
  TENON_ARG(int64_t, groups) = 1;
};
template <size_t D>
struct ConvTransposeFuncOptions {
  TENON_ARG(Tensor, bias) = {};
  TENON_ARG(ExpandingArray<D>, stride) = 1;
  TENON_ARG(ExpandingArray<D>, padding) = 0;
  TENON_ARG(ExpandingArray<D>, output_padding) = 0;
  TENON_ARG(int64_t, groups) = 1;
  TENON_ARG(ExpandingArray<D>, dilation) = 1;
};
#define TENON_FUNCTION(D)                                                                                    \
  using Conv##D##dFuncOptions = ConvFuncOptions<D>;                                                          \
  using ConvTranspose##D##dFuncOptions = ConvTransposeFuncOptions<D>;                                        \
  Tensor conv##D##d(const Operand& input, const Operand& weight, const Conv##D##dFuncOptions& options = {}); \
  Tensor conv_transpose##D##d(const Operand& input, const Operand& weight, const ConvTranspose##D##dFuncOptions& options = {});
TENON_FUNCTION(1)
TENON_FUNCTION(2)
TENON_FUNCTION(3)
#undef TENON_FUNCTION

// --- pooling
#define TENON_FUNCTION(D)                                                                                                                 \
  using AvgPool##D##dFuncOptions = AvgPool##D##dOptions;                                                                                  \
  using MaxPool##D##dFuncOptions = MaxPool##D##dOptions;                                                                                  \
  using AdaptiveAvgPool##D##dFuncOptions = AdaptiveAvgPool##D##dOptions;                                                                  \
  using AdaptiveMaxPool##D##dFuncOptions = AdaptiveMaxPool##D##dOptions;                                                                  \
  struct MaxUnpool##D##dFuncOptions : MaxUnpoolArgs<D, MaxUnpool##D##dFuncOptions> {                                                      \
    using MaxUnpoolArgs::MaxUnpoolArgs;                                                                                                   \
    MaxUnpool##D##dFuncOptions(const MaxUnpool##D##dOptions& o) : MaxUnpoolArgs(o.kernel_size()) {                                        \
      stride(o.stride()).padding(o.padding());                                                                                            \
    }                                                                                                                                     \
    TENON_ARG(optional<std::vector<int64_t>>, output_size) = nullopt;                                                                     \
  };                                                                                                                                      \
  Tensor avg_pool##D##d(const Operand& input, const AvgPool##D##dFuncOptions& options);                                                   \
  Tensor max_pool##D##d(const Operand& input, const MaxPool##D##dFuncOptions& options);                                                   \
  std::tuple<Tensor, Tensor> max_pool##D##d_with_indices(const Operand& input, const MaxPool##D##dFuncOptions& options);                  \
  Tensor adaptive_avg_pool##D##d(const Operand& input, const AdaptiveAvgPool##D##dFuncOptions& options);                                  \
  Tensor adaptive_max_pool##D##d(const Operand& input, const AdaptiveMaxPool##D##dFuncOptions& options);                                  \
  std::tuple<Tensor, Tensor> adaptive_max_pool##D##d_with_indices(const Operand& input, const AdaptiveMaxPool##D##dFuncOptions& options); \
  Tensor max_unpool##D##d(const Operand& input, const Operand& indices, const MaxUnpool##D##dFuncOptions& options);
TENON_FUNCTION(1)
TENON_FUNCTION(2)
TENON_FUNCTION(3)
#undef TENON_FUNCTION
using LPPool1dFuncOptions = LPPool1dOptions;
using LPPool2dFuncOptions = LPPool2dOptions;
Tensor lp_pool1d(const Operand& input, const LPPool1dFuncOptions& options);
Tensor lp_pool2d(const Operand& input, const LPPool2dFuncOptions& options);
using LPPool3dFuncOptions = LPPool3dOptions;
Tensor lp_pool3d(const Operand& input, const LPPool3dFuncOptions& options);

// --- windows, padding, resizing
using FoldFuncOptions = FoldOptions;
using UnfoldFuncOptions = UnfoldOptions;
using PixelShuffleFuncOptions = PixelShuffleOptions;
using PixelUnshuffleFuncOptions = PixelUnshuffleOptions;
Tensor fold(const Operand& input, const FoldFuncOptions& options);
Tensor unfold(const Operand& input, const UnfoldFuncOptions& options);
Tensor pixel_shuffle(const Operand& input, const PixelShuffleFuncOptions& options);
Tensor pixel_unshuffle(const Operand& input, const PixelUnshuffleFuncOptions& options);

struct PadFuncOptions {
  PadFuncOptions(std::vector<int64_t> pad) : pad_(std::move(pad)) {}
  TENON_ARG(std::vector<int64_t>, pad);
  TENON_ARG(PadMode, mode) = kConstant;
  TENON_ARG(double, value) = 0;
};
Tensor pad(const Operand& input, const PadFuncOptions& options);

struct InterpolateFuncOptions {
  TENON_ARG(optional<std::vector<int64_t>>, size) = nullopt;
  TENON_ARG(optional<std::vector<double>>, scale_factor) = nullopt;
  TENON_ARG(InterpolateMode, mode) = kNearest;
  TENON_ARG(optional<bool>, align_corners) = nullopt;
  TENON_ARG(optional<bool>, recompute_scale_factor) = nullopt;
  TENON_ARG(bool, antialias) = false;
};
Tensor interpolate(const Operand& input, const InterpolateFuncOptions& options);

// --- normalisation
struct BatchNormFuncOptions {
  TENON_ARG(Tensor, weight) = {};
  TENON_ARG(Tensor, bias) = {};
  TENON_ARG(bool, training) = false;
  TENON_ARG(optional<double>, momentum) = 0.1;
  TENON_ARG(double, eps) = 1e-5;
};
struct InstanceNormFuncOptions {
  TENON_ARG(Tensor, running_mean) = {};
  TENON_ARG(Tensor, running_var) = {};
  TENON_ARG(Tensor, weight) = {};
  TENON_ARG(Tensor, bias) = {};
  TENON_ARG(bool, use_input_stats) = true;
  TENON_ARG(double, momentum) = 0.1;
  TENON_ARG(double, eps) = 1e-5;
};
struct LayerNormFuncOptions {
  LayerNormFuncOptions(std::vector<int64_t> normalized_shape) : normalized_shape_(std::move(normalized_shape)) {}
  TENON_ARG(std::vector<int64_t>, normalized_shape);
  TENON_ARG(Tensor, weight) = {};
  TENON_ARG(Tensor, bias) = {};
  TENON_ARG(double, eps) = 1e-5;
};
struct GroupNormFuncOptions {
  GroupNormFuncOptions(int64_t num_groups) : num_groups_(num_groups) {}
  TENON_ARG(int64_t, num_groups);
  TENON_ARG(Tensor, weight) = {};
  TENON_ARG(Tensor, bias) = {};
  TENON_ARG(double, eps) = 1e-5;
};
struct NormalizeFuncOptions {
  TENON_ARG(double, p) = 2.0;
  TENON_ARG(int64_t, dim) = 1;
  TENON_ARG(double, eps) = 1e-12;
  TENON_ARG(optional<Tensor>, out) = nullopt;  // takes the result
};
using LocalResponseNormFuncOptions = LocalResponseNormOptions;
Tensor batch_norm(const Operand& input, const Operand& running_mean, const Operand& running_var, const BatchNormFuncOptions& options = {});
Tensor instance_norm(const Operand& input, const InstanceNormFuncOptions& options = {});
Tensor layer_norm(const Operand& input, const LayerNormFuncOptions& options);
Tensor group_norm(const Operand& input, const GroupNormFuncOptions& options);
Tensor local_response_norm(const Operand& input, const LocalResponseNormFuncOptions& options);
Tensor normalize(const Operand& input, const NormalizeFuncOptions& options = {});

// --- dropout
struct DropoutFuncOptions {
  TENON_ARG(double, p) = 0.5;
  TENON_ARG(bool, training) = true;
  TENON_ARG(bool, inplace) = false;
};
using Dropout2dFuncOptions = DropoutFuncOptions;
using Dropout3dFuncOptions = DropoutFuncOptions;
struct AlphaDropoutFuncOptions {
  TENON_ARG(double, p) = 0.5;
  TENON_ARG(bool, training) = false;
  TENON_ARG(bool, inplace) = false;
};
using FeatureAlphaDropoutFuncOptions = AlphaDropoutFuncOptions;
Tensor dropout(Tensor input, const DropoutFuncOptions& options = {});
Tensor dropout2d(Tensor input, const Dropout2dFuncOptions& options = {});
Tensor dropout3d(Tensor input, const Dropout3dFuncOptions& options = {});
Tensor alpha_dropout(Tensor input, const AlphaDropoutFuncOptions& options = {});
Tensor feature_alpha_dropout(Tensor input, const FeatureAlphaDropoutFuncOptions& options = {});

// --- embedding
struct EmbeddingFuncOptions {
  TENON_ARG(optional<int64_t>, padding_idx) = nullopt;
  TENON_ARG(optional<double>, max_norm) = nullopt;  // rows that are looked up are scaled down to it, in place
  TENON_ARG(double, norm_type) = 2.0;
  TENON_ARG(bool, scale_grad_by_freq) = false;
  TENON_ARG(bool, sparse) = false;
};
Tensor embedding(const Operand& input, const Operand& weight, const EmbeddingFuncOptions& options = {});
Tensor one_hot(const Operand& tensor, int64_t num_classes = -1);

// --- distances
using CosineSimilarityFuncOptions = CosineSimilarityOptions;
using PairwiseDistanceFuncOptions = PairwiseDistanceOptions;
Tensor cosine_similarity(const Operand& x1, const Operand& x2, const CosineSimilarityFuncOptions& options = {});
Tensor pairwise_distance(const Operand& x1, const Operand& x2, const PairwiseDistanceFuncOptions& options = {});
Tensor pdist(const Operand& input, double p = 2.0);

// --- losses
#define TENON_LOSS(name, Name, Options) \
  using Name##FuncOptions = Options;    \
  Tensor name(const Operand& input, const Operand& target, const Name##FuncOptions& options = {});
TENON_LOSS(l1_loss, L1Loss, L1LossOptions)
TENON_LOSS(mse_loss, MSELoss, MSELossOptions)
TENON_LOSS(smooth_l1_loss, SmoothL1Loss, SmoothL1LossOptions)
TENON_LOSS(huber_loss, HuberLoss, HuberLossOptions)
TENON_LOSS(kl_div, KLDiv, KLDivLossOptions)
TENON_LOSS(binary_cross_entropy, BinaryCrossEntropy, BCELossOptions)
TENON_LOSS(binary_cross_entropy_with_logits, BinaryCrossEntropyWithLogits, BCEWithLogitsLossOptions)
TENON_LOSS(hinge_embedding_loss, HingeEmbeddingLoss, HingeEmbeddingLossOptions)
TENON_LOSS(multi_margin_loss, MultiMarginLoss, MultiMarginLossOptions)
TENON_LOSS(soft_margin_loss, SoftMarginLoss, SoftMarginLossOptions)
TENON_LOSS(multilabel_soft_margin_loss, MultilabelSoftMarginLoss, MultiLabelSoftMarginLossOptions)
TENON_LOSS(poisson_nll_loss, PoissonNLLLoss, PoissonNLLLossOptions)
TENON_LOSS(nll_loss, NLLLoss, NLLLossOptions)
TENON_LOSS(cross_entropy, CrossEntropy, CrossEntropyLossOptions)
#undef TENON_LOSS
Tensor smooth_l1_loss(const Operand& input, const Operand& target, const SmoothL1LossFuncOptions& options, double beta);
using CosineEmbeddingLossFuncOptions = CosineEmbeddingLossOptions;
using MarginRankingLossFuncOptions = MarginRankingLossOptions;
using TripletMarginLossFuncOptions = TripletMarginLossOptions;
Tensor cosine_embedding_loss(const Operand& input1, const Operand& input2, const Operand& target,
                             const CosineEmbeddingLossFuncOptions& options = {});
Tensor margin_ranking_loss(const Operand& input1, const Operand& input2, const Operand& target,
                           const MarginRankingLossFuncOptions& options = {});
Tensor triplet_margin_loss(const Operand& anchor, const Operand& positive, const Operand& negative,
                           const TripletMarginLossFuncOptions& options = {});

}  // namespace tenon::nn::functional
