// Stacking and normalising. A batch of samples that lie in memory is made by copying: recorded, its graph
// would hold each sample as a window at a place of its own, so that every batch would need a new plan.
#include "tenon/data/transforms.h"

#include <algorithm>
#include <cstring>

#include "frontend/src/data/elements.h"

namespace tenon::data {

Tensor detail::stacked(const std::vector<Tensor>& tensors) {
  const auto fits = [&](const Tensor& t) {
    return lies_on_host(t) && t.sizes() == tensors[0].sizes() && t.scalar_type() == tensors[0].scalar_type();
  };
  if (tensors.empty() || !std::all_of(tensors.begin(), tensors.end(), fits)) return stack(tensors);
  std::vector<int64_t> sizes = tensors[0].sizes().vec();
  sizes.insert(sizes.begin(), static_cast<int64_t>(tensors.size()));
  NewTensor batch(tensors[0].scalar_type(), sizes);
  auto* out = batch.as<unsigned char>();
  const size_t bytes = tensors[0].nbytes();
  for (size_t i = 0; i < tensors.size() && bytes > 0; ++i) {
    const HostView view = host_view(tensors[i]);
    if (tensors[i].is_contiguous()) std::memcpy(out + i * bytes, view.data, bytes);
    else gather_elements(impl(tensors[i]), view.data, out + i * bytes);
  }
  return std::move(batch).done();
}

Tensor detail::normalized(const Tensor& input, const Tensor& mean, const Tensor& stddev) {
  const auto per_channel = [&](const Tensor& t) {
    return lies_on_host(t) && t.is_contiguous() && (t.numel() == 1 || t.numel() == input.size(0));
  };
  if (!lies_on_host(input) || input.scalar_type() != kFloat || input.dim() != 3 || !per_channel(mean) || !per_channel(stddev))
    return input.sub(mean).div(stddev);
  const HostElementsOf in(input), means(mean), deviations(stddev);
  NewTensor result(kFloat, input.sizes());
  const float* x = in.as<float>();
  auto* y = result.as<float>();
  const int64_t plane = input.size(1) * input.size(2);
  for (int64_t c = 0; c < input.size(0); ++c) {
    const float m = means.as<float>()[mean.numel() == 1 ? 0 : c];
    const float s = deviations.as<float>()[stddev.numel() == 1 ? 0 : c];
    for (int64_t i = c * plane; i < (c + 1) * plane; ++i) y[i] = (x[i] - m) / s;
  }
  return std::move(result).done();
}

namespace {

template <typename Sample>
Tensor stacked_member(const std::vector<Sample>& samples, Tensor Sample::*member) {
  std::vector<Tensor> parts;
  parts.reserve(samples.size());
  for (const Sample& sample : samples) parts.push_back(sample.*member);
  return detail::stacked(parts);
}

}  // namespace

Example<> transforms::Stack<Example<>>::apply_batch(std::vector<Example<>> examples) {
  return {stacked_member(examples, &Example<>::data), stacked_member(examples, &Example<>::target)};
}
TensorExample transforms::Stack<TensorExample>::apply_batch(std::vector<TensorExample> examples) {
  return stacked_member(examples, &TensorExample::data);
}

}  // namespace tenon::data
