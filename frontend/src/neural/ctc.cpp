// Connectionist temporal classification: the probability of a labelling, summed over all its alignments.
#include <vector>

#include "frontend/src/autograd/grad.h"
#include "frontend/src/tensor/text.h"
#include "tenon/creation.h"
#include "tenon/neural.h"

namespace tenon {
namespace {

using ir::kInfinity;

std::vector<int64_t> lengths_of(const Tensor& x, const char* name) {
  check(isIntegralType(x.scalar_type(), false), name, " must be integral");
  const Tensor dense = reshape(x.to(kLong), {-1}).contiguous().cpu();
  const auto* values = dense.const_data_ptr<int64_t>();
  return {values, values + dense.numel()};
}

// The labels of each sequence as rows of one matrix; `targets` has them so, or one behind the other.
Tensor label_rows(const Tensor& targets, const std::vector<int64_t>& lengths, int64_t longest) {
  const int64_t batch = lengths.size();
  if (targets.dim() == 2) return targets.to(kLong).slice(1, 0, longest);
  std::vector<int64_t> places;
  int64_t start = 0;
  for (int64_t length : lengths) {
    for (int64_t s = 0; s < longest; ++s) places.push_back(s < length ? start + s : 0);
    start += length;
  }
  return take(targets.to(kLong), tensor(places, kLong)).reshape({batch, longest});
}

// log(exp(a) + exp(b) + exp(c)), where all may be -inf: then the gradients are 0, not those of log(0).
Tensor log_sum(const Tensor& a, const Tensor& b, const Tensor& c) {
  const Tensor top = maximum(maximum(a, b), c).detach();
  const Tensor none = top == -kInfinity;
  const Tensor shift = where(none, 0, top);
  const Tensor sum = exp(a - shift) + exp(b - shift) + exp(c - shift);
  return where(none, -kInfinity, log(where(none, 1, sum)) + shift);
}

// The negative logarithms of the probabilities, [N]. States: blank, label, blank, label, ..., blank. A path
// stays, moves on, or skips what lies between two different labels.
Tensor ctc_negative_log_likelihood(const Tensor& log_probs, const Tensor& labels, const std::vector<int64_t>& inputs,
                                   const std::vector<int64_t>& lengths, int64_t blank) {
  const int64_t steps = log_probs.size(0), batch = log_probs.size(1), longest = labels.size(1);
  const int64_t states = 2 * longest + 1;
  const Tensor blanks = full({batch, 1}, blank, labels.options());
  const Tensor state_labels =
      longest == 0 ? blanks : cat({stack({blanks.expand({batch, longest}), labels}, 2).reshape({batch, 2 * longest}), blanks}, 1);
  const Tensor probability = gather(log_probs, 2, state_labels.unsqueeze(0).expand({steps, batch, states}));
  const TensorOptions options = log_probs.options().requires_grad(false);
  const Tensor never = full({}, -kInfinity, options);
  const Tensor before_last = constant_pad_nd(state_labels, {2, -2}, blank);
  const Tensor skips = state_labels != before_last;
  const Tensor starts = arange(states, labels.options()) < 2;
  const Tensor input_lengths = tensor(inputs, labels.options()).unsqueeze(1);

  Tensor alpha = where(starts, probability.select(0, 0), never);
  for (int64_t t = 1; t < steps; ++t) {
    const Tensor moved = constant_pad_nd(alpha, {1, -1}, -kInfinity);
    const Tensor skipped = where(skips, constant_pad_nd(alpha, {2, -2}, -kInfinity), never);
    const Tensor next = log_sum(alpha, moved, skipped) + probability.select(0, t);
    alpha = where(input_lengths > t, next, alpha);
  }
  const Tensor ends = (tensor(lengths, kLong) * 2).unsqueeze(1);
  const Tensor at_blank = gather(alpha, 1, ends);
  const Tensor at_label = where(ends > 0, gather(alpha, 1, clamp_min(ends - 1, 0)), never);
  const Tensor likelihood = log_sum(at_blank, at_label, never.expand({batch, 1})).squeeze(1);
  return where(tensor(inputs, kLong) > 0, -likelihood, where(tensor(lengths, kLong) > 0, full({}, kInfinity, options), zeros({}, options)));
}

// 0 for each sequence, whose gradient is the probabilities.
Tensor probability_gradient(const Tensor& log_probs, const std::vector<int64_t>& inputs) {
  const Tensor step = arange(log_probs.size(0), kLong).unsqueeze(1);
  const Tensor sum = where((step < tensor(inputs, kLong)).unsqueeze(2), exp(log_probs), 0).sum({0, 2});
  return sum - sum.detach();
}

}  // namespace

Tensor ctc_loss(const Operand& log_probs, const Operand& targets, IntArrayRef input_lengths, IntArrayRef target_lengths, int64_t blank,
                int64_t reduction, bool zero_infinity) {
  const CallScope call("ctc_loss", log_probs);
  check(log_probs.dim() == 2 || log_probs.dim() == 3, "log_probs must be 2D or 3D, but got ", log_probs.dim(), "D");
  const bool batched = log_probs.dim() == 3;
  const Tensor probs = batched ? Tensor(log_probs) : log_probs.unsqueeze(1);
  const int64_t steps = probs.size(0), batch = probs.size(1), classes = probs.size(2);
  const Tensor labels = !batched && targets.dim() == 1 ? targets.unsqueeze(0) : Tensor(targets);
  check(probs.scalar_type() == kFloat || probs.scalar_type() == kDouble, "\"ctc_loss_cpu\" not implemented for '", probs.scalar_type(),
        "'");
  check(blank >= 0 && blank < classes, "blank must be in label range");
  check(std::ssize(input_lengths) == batch, "input_lengths must be of size batch_size");
  check(std::ssize(target_lengths) == batch, "target_lengths must be of size batch_size");
  int64_t longest = 0, total = 0;
  for (size_t i = 0; i < target_lengths.size(); ++i) {
    check(input_lengths[i] >= 0, "Expected input_lengths to have value at least 0, but got value ", input_lengths[i],
          " (while checking arguments for ctc_loss_allocate_outputs)");
    check(input_lengths[i] <= steps, "Expected input_lengths to have value at most ", steps, ", but got value ", input_lengths[i],
          " (while checking arguments for ctc_loss_allocate_outputs)");
    check(target_lengths[i] >= 0, "Expected target_lengths to have value at least 0, but got value ", target_lengths[i],
          " (while checking arguments for ctc_loss_allocate_outputs)");
    longest = std::max(longest, target_lengths[i]);
    total += target_lengths[i];
  }
  const char* const place = " for argument #2 'targets' (while checking arguments for ctc_loss_allocate_outputs)";
  check(labels.dim() == 1 || labels.dim() == 2, "Expected 1 to 2 dimensions, but got ", labels.dim(), "-dimensional tensor", place);
  const int64_t wanted = labels.dim() == 1 ? total : batch;
  check(labels.size(0) == wanted, "Expected tensor to have size ", wanted, " at dimension 0, but got size ", labels.size(0), place);
  check(labels.dim() == 1 || labels.size(1) >= longest, "Expected tensor to have size at least ", longest, " at dimension 1, but got size ",
        labels.size(-1), place);
  const std::vector<int64_t> inputs = input_lengths.vec(), lengths = target_lengths.vec();
  const Tensor rows = label_rows(labels, lengths, longest);
  Tensor losses;
  {
    GradScope scope("CtcLossBackward0", probs);
    losses = batch == 0 ? zeros(0, probs.options()) : ctc_negative_log_likelihood(probs, rows, inputs, lengths, blank);
  }
  // PyTorch's gradient is that of the logits before a log_softmax.
  if (batch > 0 && requires_grad(probs) && GradMode::is_enabled()) losses = losses + probability_gradient(probs, inputs);
  if (zero_infinity) losses = where(losses == kInfinity, zeros({}, losses.options().requires_grad(false)), losses);
  if (reduction == Reduction::Mean) return mean(losses / clamp_min(tensor(lengths, kLong).to(losses.scalar_type()), 1));
  if (reduction == Reduction::Sum) return sum(losses);
  return batched ? losses : losses.squeeze(0);
}
Tensor ctc_loss(const Operand& log_probs, const Operand& targets, const Operand& input_lengths, const Operand& target_lengths,
                int64_t blank, int64_t reduction, bool zero_infinity) {
  return ctc_loss(log_probs, targets, lengths_of(input_lengths, "input_lengths"), lengths_of(target_lengths, "target_lengths"), blank,
                  reduction, zero_infinity);
}

}  // namespace tenon
