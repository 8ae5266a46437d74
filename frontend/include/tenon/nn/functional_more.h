// torch::nn::functional, second part: sampling of images, bags of embeddings, pooling at random places, randomised
// activations, and losses over alignments and label sets. Included by tenon/nn/functional.h.
#pragma once

#include "tenon/neural.h"
#include "tenon/nn/options.h"

namespace tenon {
namespace nn {

using EmbeddingBagMode = OneOf<Tag::Sum, Tag::Mean, Tag::Max>;

namespace functional {

// --- sampling
struct GridSampleFuncOptions {
  using Mode = OneOf<Tag::Bilinear, Tag::Nearest, Tag::Bicubic>;
  using PaddingMode = OneOf<Tag::Zeros, Tag::Border, Tag::Reflection>;
  TENON_ARG(Mode, mode) = kBilinear;
  TENON_ARG(PaddingMode, padding_mode) = kZeros;
  TENON_ARG(optional<bool>, align_corners) = nullopt;
};
Tensor affine_grid(const Tensor& theta, IntArrayRef size, bool align_corners = false);
Tensor grid_sample(const Tensor& input, const Tensor& grid, const GridSampleFuncOptions& options = {});

// --- embedding
struct EmbeddingBagFuncOptions {
  TENON_ARG(Tensor, offsets) = {};
  TENON_ARG(optional<double>, max_norm) = nullopt;
  TENON_ARG(double, norm_type) = 2.0;
  TENON_ARG(bool, scale_grad_by_freq) = false;
  TENON_ARG(EmbeddingBagMode, mode) = kMean;
  TENON_ARG(bool, sparse) = false;
  TENON_ARG(Tensor, per_sample_weights) = {};
  TENON_ARG(bool, include_last_offset) = false;
  TENON_ARG(optional<int64_t>, padding_idx) = nullopt;
};
// input: [bags, indices], or [indices] with offsets.
Tensor embedding_bag(const Tensor& input, const Tensor& weight, const EmbeddingBagFuncOptions& options = {});

// --- pooling
using FractionalMaxPool2dFuncOptions = FractionalMaxPool2dOptions;
using FractionalMaxPool3dFuncOptions = FractionalMaxPool3dOptions;
#define TENON_FUNCTION(D)                                                                                   \
  Tensor fractional_max_pool##D##d(const Tensor& input, const FractionalMaxPool##D##dFuncOptions& options); \
  std::tuple<Tensor, Tensor> fractional_max_pool##D##d_with_indices(const Tensor& input, const FractionalMaxPool##D##dFuncOptions& options);
TENON_FUNCTION(2)
TENON_FUNCTION(3)
#undef TENON_FUNCTION

// --- randomised activations
struct RReLUFuncOptions {
  TENON_ARG(double, lower) = 1.0 / 8.0;
  TENON_ARG(double, upper) = 1.0 / 3.0;
  TENON_ARG(bool, training) = false;
  TENON_ARG(bool, inplace) = false;
};
struct GumbelSoftmaxFuncOptions {
  TENON_ARG(double, tau) = 1.0;
  TENON_ARG(bool, hard) = false;
  TENON_ARG(int, dim) = -1;
};
Tensor rrelu(Tensor input, const RReLUFuncOptions& options = {});
Tensor gumbel_softmax(const Tensor& logits, const GumbelSoftmaxFuncOptions& options = {});

// --- losses
using MultilabelMarginLossFuncOptions = MultiLabelMarginLossOptions;
using CTCLossFuncOptions = CTCLossOptions;
using TripletMarginWithDistanceLossFuncOptions = TripletMarginWithDistanceLossOptions;
Tensor multilabel_margin_loss(const Tensor& input, const Tensor& target, const MultilabelMarginLossFuncOptions& options = {});
Tensor ctc_loss(const Tensor& log_probs, const Tensor& targets, const Tensor& input_lengths, const Tensor& target_lengths,
                const CTCLossFuncOptions& options = {});
Tensor triplet_margin_with_distance_loss(const Tensor& anchor, const Tensor& positive, const Tensor& negative,
                                         const TripletMarginWithDistanceLossFuncOptions& options = {});

}  // namespace functional
}  // namespace nn
}  // namespace tenon
