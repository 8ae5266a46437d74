// AdaptiveLogSoftmaxWithLoss: the head tells the frequent classes and the clusters apart, each cluster has a projection of its own.
#include "tenon/nn/adaptive.h"

#include <cmath>
#include <ostream>

#include "frontend/src/nn/layer_text.h"
#include "frontend/src/tensor/text.h"
#include "tenon/arrays.h"
#include "tenon/creation.h"

namespace tenon::nn {

AdaptiveLogSoftmaxWithLossImpl::AdaptiveLogSoftmaxWithLossImpl(AdaptiveLogSoftmaxWithLossOptions given)
    : options(std::move(given)), cutoffs(options.cutoffs()) {
  bool rising = !cutoffs.empty() && cutoffs[0] > 0 && cutoffs.back() <= options.n_classes() - 1;
  for (size_t i = 1; i < cutoffs.size(); ++i) rising = rising && cutoffs[i - 1] < cutoffs[i];
  check(rising, "cutoffs should be a sequence of unique, positive integers sorted in an increasing order, ",
        "where each value is between 1 and n_classes-1");
  check(options.div_value() != 0, "div_value should not be equal to 0");
  cutoffs.push_back(options.n_classes());
  shortlist_size = cutoffs[0];
  n_clusters = std::ssize(cutoffs) - 1;
  head_size = shortlist_size + n_clusters;
  head = register_module("head", Linear(LinearOptions(options.in_features(), head_size).bias(options.head_bias())));
  tail = register_module("tail", ModuleList());
  for (int64_t i = 0; i < n_clusters; ++i) {
    const auto width = static_cast<int64_t>(static_cast<double>(options.in_features()) / std::pow(options.div_value(), i + 1));
    const int64_t classes = cutoffs[static_cast<size_t>(i) + 1] - cutoffs[static_cast<size_t>(i)];
    tail->push_back(
        Sequential(Linear(LinearOptions(options.in_features(), width).bias(false)), Linear(LinearOptions(width, classes).bias(false))));
  }
}

void AdaptiveLogSoftmaxWithLossImpl::reset_parameters() {
  head->reset_parameters();
  for (const auto& cluster : *tail) {
    for (const auto& linear : cluster->children()) linear->as<Linear>()->reset_parameters();
  }
}

ASMoutput AdaptiveLogSoftmaxWithLossImpl::forward(const Operand& input, const Operand& target) const {
  const bool batched = target.dim() > 0;
  if (batched) check(input.size(0) == target.size(0), "Input and target should have the same size in the batch dimension.");
  if (batched) check(input.dim() == 2, "1D target tensor expects 2D input tensors, but found inputs with sizes ", input.sizes(), ".");
  else check(input.dim() == 1, "0D target tensor expects 1D input tensors, but found inputs with sizes ", input.sizes(), ".");
  const Tensor x = input.dim() == 2 ? Tensor(input) : input.unsqueeze(0), classes = batched ? Tensor(target) : target.unsqueeze(0);
  const Tensor wrong = classes.lt(0).logical_or(classes.ge(options.n_classes()));
  if (wrong.any().item<bool>())
    throw Error(text("Target values should be in [0, n_classes - 1], but values in range [", classes.min().item<int64_t>(), ", ",
                     classes.max().item<int64_t>(), "] were found. "));
  const Tensor head_logprob = log_softmax(head(x), 1);
  // Each cluster for all samples, of which it tells only its own: shapes do not depend on the targets.
  Tensor output = head_logprob.gather(1, classes.clamp_max(shortlist_size - 1).unsqueeze(1)).squeeze(1);
  for (int64_t i = 0; i < n_clusters; ++i) {
    const int64_t low = cutoffs[static_cast<size_t>(i)], high = cutoffs[static_cast<size_t>(i) + 1];
    const Tensor inside = classes.ge(low).logical_and(classes.lt(high));
    const Tensor relative = (classes - low).clamp(0, high - low - 1).unsqueeze(1);
    const Tensor logprob = log_softmax(tail[static_cast<size_t>(i)]->as<Sequential>()->forward(x), 1).gather(1, relative).squeeze(1);
    output = where(inside, head_logprob.select(1, shortlist_size + i) + logprob, output);
  }
  const double loss = (-output).mean().item<double>();
  return {batched ? output : output.squeeze(0), loss};
}

Tensor AdaptiveLogSoftmaxWithLossImpl::_get_full_log_prob(const Operand& input, const Operand& head_output) const {
  const Tensor head_logprob = log_softmax(head_output, 1);
  std::vector<Tensor> parts{head_logprob.narrow(1, 0, shortlist_size)};
  for (int64_t i = 0; i < n_clusters; ++i) {
    const Tensor cluster = log_softmax(tail[static_cast<size_t>(i)]->as<Sequential>()->forward(Tensor(input)), 1);
    parts.push_back(cluster + head_logprob.select(1, shortlist_size + i).unsqueeze(1));
  }
  return cat(parts, 1);
}

Tensor AdaptiveLogSoftmaxWithLossImpl::log_prob(const Operand& input) const { return _get_full_log_prob(input, head(input)); }
Tensor AdaptiveLogSoftmaxWithLossImpl::predict(const Operand& input) const { return log_prob(input).argmax(1); }

}  // namespace tenon::nn
