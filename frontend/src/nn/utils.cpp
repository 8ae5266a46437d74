#include "tenon/nn/utils.h"

#include <cmath>
#include <limits>

#include "frontend/src/tensor/text.h"
#include "tenon/algebra.h"
#include "tenon/arrays.h"
#include "tenon/creation.h"
#include "tenon/ops.h"

namespace tenon::nn::utils {
namespace {

std::vector<Tensor> gradients_of(TensorList parameters) {
  std::vector<Tensor> gradients;
  for (const Tensor& parameter : parameters) {
    if (const Tensor gradient = parameter.grad(); gradient.defined()) gradients.push_back(gradient.data());
  }
  return gradients;
}

Tensor total_norm(const std::vector<Tensor>& gradients, double order) {
  if (order == 0) return full({}, static_cast<double>(gradients.size()));
  std::vector<Tensor> norms;
  const bool largest = order == std::numeric_limits<double>::infinity();
  for (const Tensor& gradient : gradients) norms.push_back(largest ? gradient.abs().max() : gradient.norm(order));
  if (norms.size() == 1) return norms[0];
  return largest ? stack(norms).max() : stack(norms).norm(order);
}

}  // namespace

TotalNorm clip_grad_norm_(TensorList parameters, double max_norm, double norm_type, bool error_if_nonfinite) {
  const std::vector<Tensor> gradients = gradients_of(parameters);
  if (gradients.empty()) return TotalNorm(zeros({}));
  const Tensor norm = total_norm(gradients, norm_type);
  check(!error_if_nonfinite || std::isfinite(norm.item<double>()), "The total norm of order ", norm_type,
        " for gradients from `parameters` is non-finite, so it cannot be clipped. To disable this error and scale the "
        "gradients with the non-finite norm anyway, set `error_if_nonfinite=false`");
  const Tensor factor = (max_norm / (norm + 1e-6)).clamp_max(1.0);
  for (Tensor gradient : gradients) gradient.mul_(factor);
  return TotalNorm(norm);
}

void clip_grad_value_(TensorList parameters, double clip_value) {
  for (Tensor gradient : gradients_of(parameters)) gradient.clamp_(-clip_value, clip_value);
}

Tensor parameters_to_vector(TensorList parameters) {
  std::vector<Tensor> vectors;
  for (const Tensor& parameter : parameters) vectors.push_back(parameter.view({-1}));
  return cat(vectors);
}

void vector_to_parameters(const Tensor& vec, TensorList parameters) {
  int64_t elements = 0, begin = 0;
  for (const Tensor& parameter : parameters) elements += parameter.numel();
  check(vec.dim() == 1 && vec.numel() >= elements, "vector_to_parameters: expected a vector of ", elements,
        " elements, but got a tensor of shape ", vec.sizes());
  for (Tensor parameter : parameters) {
    const int64_t end = begin + parameter.numel();
    parameter.set_data(vec.slice(0, begin, end).view_as(parameter).data());
    begin = end;
  }
}

}  // namespace tenon::nn::utils
