// The operators of neural networks with ATen's names, argument order and defaults: convolution, pooling,
// normalisation, losses, embedding, resizing. tenon/nn/functional.h wraps them in option structs. Each checks
// its operands at once, records graph operations and computes nothing; what must look at values to be checked
// (class indices) says so.
//
// Batches come first, then channels, then 1 to 3 spatial dims; most functions also take one sample without a
// batch dim.
#pragma once

#include "tenon/tensor.h"

namespace tenon {

using MaybeTensor = optional<Tensor>;  // absent and undefined mean the same

// "same" or "valid". Made of texts alone: a literal 0 is numbers.
class PaddingName {
 public:
  template <typename Text>
  requires std::is_convertible_v<const Text&, std::string_view> PaddingName(const Text& text) : text_(text) {}
  std::string_view text() const { return text_; }

 private:
  std::string_view text_;
};

namespace Reduction {
enum Reduction { None, Mean, Sum, END };
}

// --- convolution
// input [N, C, spatial...], weight [O, C/groups, kernel...], bias [O]; padding "same" or "valid", or numbers.
#define TENON_DECLARE(name)                                                                           \
  Tensor name(const Operand& input, const Operand& weight, const MaybeTensor& bias = {},                \
              IntArrayRef stride = 1, IntArrayRef padding = 0, IntArrayRef dilation = 1,              \
              int64_t groups = 1);                                                                    \
  Tensor name(const Operand& input, const Operand& weight, const MaybeTensor& bias, IntArrayRef stride, \
              PaddingName padding, IntArrayRef dilation = 1, int64_t groups = 1);
TENON_DECLARE(conv1d)
TENON_DECLARE(conv2d)
TENON_DECLARE(conv3d)
#undef TENON_DECLARE
// The gradient of a convolution as an operator: weight [C, O/groups, kernel...].
#define TENON_DECLARE(name)                                                                    \
  Tensor name(const Operand& input, const Operand& weight, const MaybeTensor& bias = {},         \
              IntArrayRef stride = 1, IntArrayRef padding = 0, IntArrayRef output_padding = 0, \
              int64_t groups = 1, IntArrayRef dilation = 1);
TENON_DECLARE(conv_transpose1d)
TENON_DECLARE(conv_transpose2d)
TENON_DECLARE(conv_transpose3d)
#undef TENON_DECLARE
Tensor convolution(const Operand& input, const Operand& weight, const MaybeTensor& bias, IntArrayRef stride,
                   IntArrayRef padding, IntArrayRef dilation, bool transposed, IntArrayRef output_padding,
                   int64_t groups);

// --- pooling; an empty stride is the kernel's size. Indices are positions in the unpadded plane.
#define TENON_DECLARE(dims)                                                                          \
  Tensor max_pool##dims(const Operand& self, IntArrayRef kernel_size, IntArrayRef stride = {},        \
                        IntArrayRef padding = 0, IntArrayRef dilation = 1, bool ceil_mode = false);  \
  std::tuple<Tensor, Tensor> max_pool##dims##_with_indices(                                          \
      const Operand& self, IntArrayRef kernel_size, IntArrayRef stride = {}, IntArrayRef padding = 0, \
      IntArrayRef dilation = 1, bool ceil_mode = false);                                             \
  Tensor adaptive_avg_pool##dims(const Operand& self, IntArrayRef output_size);                       \
  std::tuple<Tensor, Tensor> adaptive_max_pool##dims(const Operand& self, IntArrayRef output_size);
TENON_DECLARE(1d)
TENON_DECLARE(2d)
TENON_DECLARE(3d)
#undef TENON_DECLARE
Tensor avg_pool1d(const Operand& self, IntArrayRef kernel_size, IntArrayRef stride = {},
                  IntArrayRef padding = 0, bool ceil_mode = false, bool count_include_pad = true);
Tensor avg_pool2d(const Operand& self, IntArrayRef kernel_size, IntArrayRef stride = {},
                  IntArrayRef padding = 0, bool ceil_mode = false, bool count_include_pad = true,
                  optional<int64_t> divisor_override = nullopt);
Tensor avg_pool3d(const Operand& self, IntArrayRef kernel_size, IntArrayRef stride = {},
                  IntArrayRef padding = 0, bool ceil_mode = false, bool count_include_pad = true,
                  optional<int64_t> divisor_override = nullopt);

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

// --- normalisation
// Training: by the statistics of the batch, and the running ones, where given, move towards them in place.
Tensor batch_norm(const Operand& input, const MaybeTensor& weight, const MaybeTensor& bias,
                  const MaybeTensor& running_mean, const MaybeTensor& running_var, bool training,
                  double momentum, double eps, bool cudnn_enabled = true);
Tensor instance_norm(const Operand& input, const MaybeTensor& weight, const MaybeTensor& bias,
                     const MaybeTensor& running_mean, const MaybeTensor& running_var, bool use_input_stats,
                     double momentum, double eps, bool cudnn_enabled = true);
Tensor group_norm(const Operand& input, int64_t num_groups, const MaybeTensor& weight = {},
                  const MaybeTensor& bias = {}, double eps = 1e-5, bool cudnn_enabled = true);

// --- activations with operands
Tensor glu(const Operand& self, int64_t dim = -1);
Tensor prelu(const Operand& self, const Operand& weight);

// --- embedding: the rows of weight at indices, which are read and checked
Tensor embedding(const Operand& weight, const Operand& indices, int64_t padding_idx = -1,
                 bool scale_grad_by_freq = false, bool sparse = false);
Tensor one_hot(const Operand& self, int64_t num_classes = -1);  // -1: as many as the largest class wants

// --- losses
Tensor mse_loss(const Operand& self, const Operand& target, int64_t reduction = Reduction::Mean);
Tensor l1_loss(const Operand& self, const Operand& target, int64_t reduction = Reduction::Mean);
Tensor smooth_l1_loss(const Operand& self, const Operand& target, int64_t reduction = Reduction::Mean,
                      double beta = 1.0);
Tensor huber_loss(const Operand& self, const Operand& target, int64_t reduction = Reduction::Mean,
                  double delta = 1.0);
Tensor binary_cross_entropy(const Operand& self, const Operand& target, const MaybeTensor& weight = {},
                            int64_t reduction = Reduction::Mean);  // reads self: it must be in [0, 1]
Tensor binary_cross_entropy_with_logits(const Operand& self, const Operand& target,
                                        const MaybeTensor& weight = {}, const MaybeTensor& pos_weight = {},
                                        int64_t reduction = Reduction::Mean);
Tensor kl_div(const Operand& self, const Operand& target, int64_t reduction = Reduction::Mean,
              bool log_target = false);
// Class indices in [0, C), read and checked. nll_loss: self [C] or [N, C]; nll_loss2d: [N, C, H, W];
// nll_loss_nd: any of them.
Tensor nll_loss(const Operand& self, const Operand& target, const MaybeTensor& weight = {},
                int64_t reduction = Reduction::Mean, int64_t ignore_index = -100);
Tensor nll_loss2d(const Operand& self, const Operand& target, const MaybeTensor& weight = {},
                  int64_t reduction = Reduction::Mean, int64_t ignore_index = -100);
Tensor nll_loss_nd(const Operand& self, const Operand& target, const MaybeTensor& weight = {},
                   int64_t reduction = Reduction::Mean, int64_t ignore_index = -100);
// Class indices, or probabilities in the shape of self.
Tensor cross_entropy_loss(const Operand& self, const Operand& target, const MaybeTensor& weight = {},
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
                         const Scalar& margin = 1, const MaybeTensor& weight = {},
                         int64_t reduction = Reduction::Mean);

// --- distances
Tensor cosine_similarity(const Operand& x1, const Operand& x2, int64_t dim = 1, double eps = 1e-08);
Tensor pairwise_distance(const Operand& x1, const Operand& x2, double p = 2, double eps = 1e-06,
                         bool keepdim = false);
Tensor cdist(const Operand& x1, const Operand& x2, double p = 2, optional<int64_t> compute_mode = nullopt);
Tensor pdist(const Operand& self,
             double p = 2);  // the distances of the rows of one matrix, those of cdist above the diagonal

// --- products
Tensor bilinear(const Operand& input1, const Operand& input2, const Operand& weight,
                const MaybeTensor& bias = {});
// softmax(query @ key.mT * scale + mask) @ value; a bool mask says what takes part.
Tensor scaled_dot_product_attention(const Operand& query, const Operand& key, const Operand& value,
                                    const MaybeTensor& attn_mask = {}, double dropout_p = 0.0,
                                    bool is_causal = false, optional<double> scale = nullopt);

}  // namespace tenon
