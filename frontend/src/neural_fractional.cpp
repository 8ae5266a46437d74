// Maximum pooling over windows at random places: the windows are gathered, so the maximum and its place fuse.
#include <vector>

#include "grad.h"
#include "tenon/creation.h"
#include "tenon/neural.h"
#include "text.h"

namespace tenon {
namespace {

// Where the windows of one dim begin, [N, C, output]: evenly, shifted by the sample, the last at the end.
Tensor window_starts(const Tensor& sample, int64_t input, int64_t output, int64_t kernel) {
  const TensorOptions longs(kLong);
  const Tensor last = full({1}, input - kernel, longs).expand({sample.size(0), sample.size(1), 1});
  if (output <= 1) return last;
  const Tensor alpha = full({}, input - kernel, sample.options()) / static_cast<double>(output - 1);
  const Tensor u = sample.unsqueeze(-1), i = arange(output - 1, sample.options());
  return cat({((i + u) * alpha).to(kLong) - (u * alpha).to(kLong), last}, -1);
}

std::tuple<Tensor, Tensor> fractional_max_pool(const char* who, const Tensor& self, IntArrayRef kernel, IntArrayRef output,
                                               const Tensor& samples, size_t dims) {
  const auto rank = static_cast<int64_t>(dims);
  const char* const names[] = {"time", "height", "width"};
  check(kernel.size() == dims || kernel.size() == 1, who, ": kernel_size must either be a single Int or tuple of Ints");
  check(output.size() == dims || output.size() == 1, who, ": output_size must either be a single Int or tuple of Ints");
  check(self.dim() == rank + 1 || self.dim() == rank + 2, who, "(): Expected ", rank + 1, "D or ", rank + 2,
        "D tensor, but got: ", self.sizes());
  check(self.is_floating_point(), '"', who, "\" not implemented for '", self.scalar_type(), "'");
  const bool batched = self.dim() == rank + 2;
  const Tensor x = batched ? self : self.unsqueeze(0);
  const int64_t batch = x.size(0), channels = x.size(1);
  for (size_t d = 0; d < dims; ++d) {
    const int64_t k = kernel[kernel.size() == 1 ? 0 : d], out = output[output.size() == 1 ? 0 : d];
    const int64_t size = x.size(2 + static_cast<int64_t>(d));
    check(out + k - 1 <= size, who, "(): pool ", names[3 - dims + d], " ", k, " too large relative to input ",
          names[3 - dims + d], " ", size);
    check(out > 0 && k > 0, who, "(): kernel and output sizes must be greater than zero");
  }
  check(samples.scalar_type() == x.scalar_type(), "Expect _random_samples to have the same dtype as input");
  check(samples.dim() == 3, "Expect _random_samples to have 3 dimensions, got ", samples.dim());
  check(samples.size(0) >= batch, "Expect _random_samples.size(0) no less then input batch size.");
  check(samples.size(1) == channels, "Expect _random_samples.size(1) equals to input channel size.");
  check(samples.size(2) == rank, "Expect _random_samples.size(2) equals to ", rank, "; got ", samples.size(2), ".");
  const Tensor drawn = samples.slice(0, 0, batch);

  Tensor places;  // [N, C, (output, kernel) of each dim]
  std::vector<int64_t> window_order = {0, 1}, shape = {batch, channels};
  int64_t stride = 1, window = 1;
  for (size_t d = dims; d-- > 0;) {
    const int64_t k = kernel[kernel.size() == 1 ? 0 : d], out = output[output.size() == 1 ? 0 : d];
    const int64_t size = x.size(2 + static_cast<int64_t>(d));
    // 2 dims: the first sample is the width's
    const Tensor sample = drawn.select(2, dims == 2 ? static_cast<int64_t>(1 - d) : static_cast<int64_t>(d));
    const Tensor along = (window_starts(sample, size, out, k).unsqueeze(-1) + arange(k, kLong)) * stride;
    std::vector<int64_t> spread = {batch, channels};
    for (size_t e = 0; e < dims; ++e) {
      spread.push_back(e == d ? out : 1);
      spread.push_back(e == d ? k : 1);
    }
    const Tensor part = reshape(along, spread);
    places = places.defined() ? places + part : part;
    stride *= size;
    window *= k;
  }
  for (size_t d = 0; d < dims; ++d) {
    window_order.push_back(static_cast<int64_t>(2 + 2 * d));
    shape.push_back(output[output.size() == 1 ? 0 : d]);
  }
  for (size_t d = 0; d < dims; ++d) window_order.push_back(static_cast<int64_t>(3 + 2 * d));
  shape.push_back(window);
  const Tensor index = clamp(places.permute(window_order).reshape(shape), Scalar(0), Scalar(stride - 1));
  const Tensor values = gather(flatten(x, 2), 2, flatten(index, 2)).reshape(shape);
  const auto [largest, at] = max(values, -1);
  const Tensor where = gather(index, -1, at.unsqueeze(-1)).squeeze(-1);
  return batched ? std::tuple{largest, where} : std::tuple{largest.squeeze(0), where.squeeze(0)};
}

}  // namespace

std::tuple<Tensor, Tensor> fractional_max_pool2d(const Operand& self, IntArrayRef kernel_size, IntArrayRef output_size,
                                                 const Operand& random_samples) {
  GradScope scope("FractionalMaxPool2DBackward0", self);
  return fractional_max_pool("fractional_max_pool2d", self, kernel_size, output_size, random_samples, 2);
}
std::tuple<Tensor, Tensor> fractional_max_pool3d(const Operand& self, IntArrayRef kernel_size, IntArrayRef output_size,
                                                 const Operand& random_samples) {
  GradScope scope("FractionalMaxPool3DBackward0", self);
  return fractional_max_pool("fractional_max_pool3d", self, kernel_size, output_size, random_samples, 3);
}

}  // namespace tenon
