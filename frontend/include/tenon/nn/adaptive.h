// A softmax over many classes in clusters, the frequent ones first: AdaptiveLogSoftmaxWithLoss (Grave et al., "Efficient softmax
// approximation for GPUs", 2017).
#pragma once

#include "tenon/nn/containers.h"
#include "tenon/nn/layers.h"

namespace tenon::nn {

struct ASMoutput {
  ASMoutput(Tensor output_, double loss_) : output(std::move(output_)), loss(loss_) {}
  Tensor output;  // [N]: the log-probability of each target
  double loss;    // the negative mean of these
};
class AdaptiveLogSoftmaxWithLossImpl : public Module {  // input [N, in_features] or [in_features]
 public:
  AdaptiveLogSoftmaxWithLossImpl(int64_t in_features, int64_t n_classes, std::vector<int64_t> cutoffs_)
      : AdaptiveLogSoftmaxWithLossImpl(AdaptiveLogSoftmaxWithLossOptions(in_features, n_classes, std::move(cutoffs_))) {}
  explicit AdaptiveLogSoftmaxWithLossImpl(AdaptiveLogSoftmaxWithLossOptions options);
  void reset_parameters();
  ASMoutput forward(const Operand& input, const Operand& target) const;  // target [N] or []: class indices, which are read and checked
  Tensor log_prob(const Operand& input) const;                           // [N, n_classes]
  Tensor predict(const Operand& input) const;                            // [N]: the most likely class
  Tensor _get_full_log_prob(const Operand& input, const Operand& head_output) const;
  AdaptiveLogSoftmaxWithLossOptions options;
  std::vector<int64_t> cutoffs;  // and n_classes
  int64_t shortlist_size, n_clusters, head_size;
  Linear head{nullptr};
  ModuleList tail;
};
TENON_MODULE(AdaptiveLogSoftmaxWithLoss);

}  // namespace tenon::nn
