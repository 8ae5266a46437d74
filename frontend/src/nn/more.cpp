// Root-mean-square norm, randomised leaky relu, and the margin loss of several labels.
#include <limits>
#include <vector>

#include "frontend/src/autograd/grad.h"
#include "frontend/src/tensor/text.h"
#include "tenon/creation.h"
#include "tenon/neural.h"

namespace tenon {

Tensor rms_norm(const Operand& input, IntArrayRef normalized_shape, const MaybeTensor& weight,
                optional<double> eps) {
  GradScope scope("FusedRmsNormBackward0", input, weight);
  check(!normalized_shape.empty(),
        "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element, but "
        "got "
        "normalized_shape = ",
        normalized_shape);
  check(!given(weight) || weight->sizes() == normalized_shape,
        "Expected weight to be of same shape as normalized_shape, but got weight of shape ",
        given(weight) ? weight->sizes() : IntArrayRef(), " and normalized_shape = ", normalized_shape);
  const size_t rank = input.sizes().size(), count = normalized_shape.size();
  if (rank < count || !(input.sizes().slice(rank - count) == normalized_shape)) {
    std::string shape;
    for (int64_t size : normalized_shape) shape += text(size, ", ");
    throw Error(text("Given normalized_shape=", normalized_shape, ", expected input with shape [*",
                     shape.substr(0, shape.size() - 2), "], but got input of size", input.sizes()));
  }
  const ScalarType type = input.scalar_type();
  check(isFloatingType(type), "\"rms_norm\" not implemented for '", type, "'");
  const double epsilons[] = {0x1p-10, 0x1p-7, 0x1p-23, 0x1p-52};
  const double epsilon = eps.value_or(epsilons[static_cast<int>(type) - static_cast<int>(kHalf)]);
  std::vector<int64_t> dims;
  for (size_t d = rank - count; d < rank; ++d) dims.push_back(static_cast<int64_t>(d));
  const Tensor x = type == kHalf || type == kBFloat16 ? input.to(kFloat) : Tensor(input);
  const Tensor normed = x * rsqrt(mean(square(x), dims, true) + epsilon);
  return (given(weight) ? normed * *weight : normed).to(type);
}

namespace {

void check_rrelu(const Tensor& self, const Scalar& lower, const Scalar& upper, bool training) {
  check(lower.toDouble() <= upper.toDouble(), "Lower bound should be less than or equal to the upper bound");
  check(self.is_floating_point(), '"', training ? "rrelu_with_noise_out_cpu" : "leaky_relu_cpu",
        "\" not implemented for '", self.scalar_type(), "'");
}

}  // namespace

// PyTorch draws one number for each element that is not positive, in their order.
Tensor rrelu(const Operand& self, const Scalar& lower, const Scalar& upper, bool training,
             optional<Generator> generator) {
  check_rrelu(self, lower, upper, training);
  if (!training) {
    return leaky_relu(self, (lower.toDouble() + upper.toDouble()) / 2);
  }
  GradScope scope("RreluWithNoiseBackward0", self);
  const Tensor kept = self;  // or a temporary is computed for the count and for the result
  const Tensor below = self <= 0;
  const auto count = sum(below).item<int64_t>();
  const Tensor slopes = empty({count}, TensorOptions(kDouble).device(self.device())).uniform_(lower.toDouble(), upper.toDouble(), generator);
  const Tensor factor = masked_scatter(ones_like(self), below, slopes.to(self.scalar_type()));
  return self * factor;
}
Tensor& rrelu_(Tensor& self, const Scalar& lower, const Scalar& upper, bool training,
               optional<Generator> generator) {
  return self.copy_(rrelu(self, lower, upper, training, std::move(generator)));
}

Tensor multilabel_margin_loss(const Operand& self, const Operand& target, int64_t reduction) {
  GradScope scope("MultilabelMarginLossBackward0", self);
  check(self.dim() <= 2 && (self.dim() == 0 || self.size(-1) != 0),
        "Expected non-empty vector or matrix with optional 0-dim batch size, but got: ", self.sizes());
  check(
      self.dim() == 2 ? target.sizes() == self.sizes() : target.dim() <= 1 && target.numel() == self.numel(),
      "inconsistent target size: ", target.sizes(), " for input of size: ", self.sizes());
  check(target.scalar_type() == kLong, "expected scalar type Long but found ", target.scalar_type());
  check(self.is_floating_point(), "\"multilabel_margin_loss_forward_out_frame\" not implemented for '",
        self.scalar_type(), "'");
  const int64_t classes = self.dim() == 0 ? 1 : self.size(-1);
  const Tensor x = reshape(self, {-1, classes}), labels = reshape(target, {-1, classes});
  if (target.numel() > 0)
    check(target.min().item<int64_t>() >= -1 && target.max().item<int64_t>() < classes,
          "argument #2 'target' is out of range");
  const Tensor counts = cumprod((labels >= 0).to(kLong), 1) > 0;  // up to the first -1
  const Tensor label = clamp(labels, Scalar(0), Scalar(classes - 1));
  const Tensor picked = logical_and(counts.unsqueeze(2), label.unsqueeze(2) == arange(classes, label.options()));
  const Tensor is_label = any(picked, 1);                                       // [N, classes]
  const Tensor margin = 1 - gather(x, 1, label).unsqueeze(2) + x.unsqueeze(1);  // [N, labels, classes]
  const Tensor matters = logical_and(counts.unsqueeze(2), logical_not(is_label).unsqueeze(1));
  const Tensor losses =
      sum(where(matters, relu(margin), zeros({}, x.options().requires_grad(false))), {1, 2}) /
      static_cast<double>(classes);
  if (reduction == Reduction::Mean) return mean(losses);
  if (reduction == Reduction::Sum) return sum(losses);
  return self.dim() == 2 ? losses : reshape(losses, {});
}

}  // namespace tenon
