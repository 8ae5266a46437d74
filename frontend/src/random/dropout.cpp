// Dropout as PyTorch composes it: a Bernoulli mask of what is kept, drawn at the call, and a scale, applied
// in the graph so that they fuse with their neighbours.
#include <cmath>

#include "frontend/src/tensor/call.h"
#include "frontend/src/tensor/text.h"
#include "tenon/creation.h"
#include "tenon/random.h"

namespace tenon {
namespace {

void check_probability(double p) { check<ValueError>(p >= 0 && p <= 1, "dropout probability has to be between 0 and 1, but got ", p); }

// Whether dropout changes anything; the result is the very input otherwise.
bool drops(const Tensor& input, double p, bool train) {
  check_probability(p);
  if (p == 0 || !train || input.numel() == 0) return false;
  check(input.is_floating_point(), "result type Float can't be cast to the desired output type ", input.scalar_type());
  return true;
}

Tensor elementwise_mask(const Tensor& input, double p) { return empty_like(input, TensorOptions(kBool)).bernoulli_(1 - p); }

// One draw for each (n, c).
Tensor channel_mask(const Tensor& input, double p) {
  check(input.dim() >= 2, "Feature dropout requires at least 2 dimensions in the input");
  std::vector<int64_t> sizes(static_cast<size_t>(input.dim()), 1);
  sizes[0] = input.size(0);
  sizes[1] = input.size(1);
  return empty(sizes, kBool).bernoulli_(1 - p);
}

Tensor zeroed(const Tensor& input) { return input.mul(zeros({}, input.options())); }

Tensor apply_mask(const Tensor& input, const Tensor& mask, double p) { return input.mul(mask.to(input.scalar_type()).div(1 - p)); }

// What is dropped becomes SELU's least value; then mean and variance are brought back.
Tensor apply_alpha_mask(const Tensor& input, const Tensor& mask, double p) {
  constexpr double alpha = 1.7580993408473766;  // lambda * alpha of SELU
  const double scale = 1 / std::sqrt((alpha * alpha * p + 1) * (1 - p));
  const Tensor noise = mask.to(input.scalar_type());
  const Tensor shift = noise.add(-1).mul(alpha * scale).add(alpha * scale * p);
  return input.mul(noise.mul(scale)).add(shift);
}

}  // namespace

Tensor dropout(const Operand& input, double p, bool train) {
  const CallScope call("dropout", input);
  if (!drops(input, p, train)) return input;
  return p == 1 ? zeroed(input) : apply_mask(input, elementwise_mask(input, p), p);
}
Tensor feature_dropout(const Operand& input, double p, bool train) {
  const CallScope call("feature_dropout", input);
  if (!drops(input, p, train)) return input;
  return p == 1 ? zeroed(input) : apply_mask(input, channel_mask(input, p), p);
}
Tensor alpha_dropout(const Operand& input, double p, bool train) {
  const CallScope call("alpha_dropout", input);
  if (!drops(input, p, train)) return input;
  return p == 1 ? zeroed(input) : apply_alpha_mask(input, elementwise_mask(input, p), p);
}
Tensor feature_alpha_dropout(const Operand& input, double p, bool train) {
  const CallScope call("feature_alpha_dropout", input);
  if (!drops(input, p, train)) return input;
  return p == 1 ? zeroed(input) : apply_alpha_mask(input, channel_mask(input, p), p);
}

}  // namespace tenon
