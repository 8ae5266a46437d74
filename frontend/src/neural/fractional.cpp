// Maximum pooling over windows at random places: the windows are gathered, so the maximum and its place fuse.
#include <vector>

#include "frontend/src/autograd/grad.h"
#include "frontend/src/tensor/text.h"
#include "tenon/creation.h"
#include "tenon/neural.h"

namespace tenon {
namespace {

// Where the windows of one dim begin, [N, C, output]: evenly, shifted by the sample, the last at the end.
Tensor window_starts(const Tensor& sample, int64_t input, int64_t output, int64_t kernel) {
  const TensorOptions longs = TensorOptions(kLong).device(sample.device());
  const Tensor last = full({1}, input - kernel, longs).expand({sample.size(0), sample.size(1), 1});
  if (output <= 1) return last;
  const Tensor alpha = full({}, input - kernel, sample.options()) / static_cast<double>(output - 1);
  const Tensor u = sample.unsqueeze(-1), i = arange(output - 1, sample.options());
  return cat({((i + u) * alpha).to(kLong) - (u * alpha).to(kLong), last}, -1);
}

// One pooling: kernel and output size of each dim, the input [N, C, spatial...].
struct Pooling {
  const char* who;
  Tensor x;
  std::vector<int64_t> kernel, output;
  size_t dims() const { return kernel.size(); }
  int64_t size(size_t d) const { return x.size(2 + static_cast<int64_t>(d)); }
};

Pooling checked_pooling(const char* who, const Tensor& self, IntArrayRef kernel, IntArrayRef output, size_t dims) {
  const int64_t rank = dims;
  const char* const names[] = {"time", "height", "width"};
  check(kernel.size() == dims || kernel.size() == 1, who, ": kernel_size must either be a single Int or tuple of Ints");
  check(output.size() == dims || output.size() == 1, who, ": output_size must either be a single Int or tuple of Ints");
  check(self.dim() == rank + 1 || self.dim() == rank + 2, who, "(): Expected ", rank + 1, "D or ", rank + 2,
        "D tensor, but got: ", self.sizes());
  check(self.is_floating_point(), '"', who, "\" not implemented for '", self.scalar_type(), "'");
  Pooling pooling{who, self.dim() == rank + 2 ? self : self.unsqueeze(0), {}, {}};
  for (size_t d = 0; d < dims; ++d) {
    pooling.kernel.push_back(kernel[kernel.size() == 1 ? 0 : d]);
    pooling.output.push_back(output[output.size() == 1 ? 0 : d]);
  }
  for (size_t d = 0; d < dims; ++d) {
    const int64_t k = pooling.kernel[d], out = pooling.output[d], size = pooling.size(d);
    const char* const name = names[3 - dims + d];
    check(out + k - 1 <= size, who, "(): pool ", name, " ", k, " too large relative to input ", name, " ", size);
    check(out > 0 && k > 0, who, "(): kernel and output sizes must be greater than zero");
  }
  return pooling;
}

void check_samples(const Pooling& pooling, const Tensor& samples) {
  const Tensor& x = pooling.x;
  const int64_t dims = pooling.dims();
  check(samples.scalar_type() == x.scalar_type(), "Expect _random_samples to have the same dtype as input");
  check(samples.dim() == 3, "Expect _random_samples to have 3 dimensions, got ", samples.dim());
  check(samples.size(0) >= x.size(0), "Expect _random_samples.size(0) no less then input batch size.");
  check(samples.size(1) == x.size(1), "Expect _random_samples.size(1) equals to input channel size.");
  check(samples.size(2) == dims, "Expect _random_samples.size(2) equals to ", dims, "; got ", samples.size(2), ".");
}

// Positions in the flat plane of every window's elements, [N, C, output..., elements of a window].
Tensor window_places(const Pooling& pooling, const Tensor& samples) {
  const int64_t batch = pooling.x.size(0), channels = pooling.x.size(1);
  const size_t dims = pooling.dims();
  const Tensor drawn = samples.slice(0, 0, batch);
  Tensor places;  // [N, C, (output, kernel) of each dim]
  int64_t stride = 1, window = 1;
  for (size_t d = dims; d-- > 0;) {
    const int64_t k = pooling.kernel[d];
    // 2 dims: the first sample is the width's
    const Tensor sample = drawn.select(2, static_cast<int64_t>(dims == 2 ? 1 - d : d));
    const Tensor starts = window_starts(sample, pooling.size(d), pooling.output[d], k);
    std::vector<int64_t> spread = {batch, channels};
    for (size_t e = 0; e < dims; ++e) {
      spread.push_back(e == d ? pooling.output[d] : 1);
      spread.push_back(e == d ? k : 1);
    }
    const Tensor along = reshape((starts.unsqueeze(-1) + arange(k, starts.options())) * stride, spread);
    places = places.defined() ? places + along : along;
    stride *= pooling.size(d);
    window *= k;
  }
  std::vector<int64_t> order = {0, 1}, shape = {batch, channels};
  for (size_t d = 0; d < dims; ++d) order.push_back(static_cast<int64_t>(2 + 2 * d));
  for (size_t d = 0; d < dims; ++d) order.push_back(static_cast<int64_t>(3 + 2 * d));
  shape.insert(shape.end(), pooling.output.begin(), pooling.output.end());
  shape.push_back(window);
  return clamp(places.permute(order).reshape(shape), Scalar(0), Scalar(stride - 1));
}

std::tuple<Tensor, Tensor> fractional_max_pool(const char* who, const char* grad_name, const Tensor& self, IntArrayRef kernel,
                                               IntArrayRef output, const Tensor& samples, size_t dims) {
  GradScope scope(grad_name, self);
  check_not_differentiated(samples, who, "random_samples");
  scope.derivative_reads(reads_operand(0));
  const Pooling pooling = checked_pooling(who, self, kernel, output, dims);
  check_samples(pooling, samples);
  const Tensor index = window_places(pooling, samples);
  const Tensor values = gather(flatten(pooling.x, 2), 2, flatten(index, 2)).reshape(index.sizes());
  const auto [largest, at] = max(values, -1);
  const Tensor where = gather(index, -1, at.unsqueeze(-1)).squeeze(-1);
  const bool batched = pooling.x.dim() == self.dim();
  return batched ? std::tuple{largest, where} : std::tuple{largest.squeeze(0), where.squeeze(0)};
}

}  // namespace

std::tuple<Tensor, Tensor> fractional_max_pool2d(const Operand& self, IntArrayRef kernel_size, IntArrayRef output_size,
                                                 const Operand& random_samples) {
  return fractional_max_pool("fractional_max_pool2d", "FractionalMaxPool2DBackward0", self, kernel_size, output_size, random_samples, 2);
}
std::tuple<Tensor, Tensor> fractional_max_pool3d(const Operand& self, IntArrayRef kernel_size, IntArrayRef output_size,
                                                 const Operand& random_samples) {
  return fractional_max_pool("fractional_max_pool3d", "FractionalMaxPool3DBackward0", self, kernel_size, output_size, random_samples, 3);
}

}  // namespace tenon
