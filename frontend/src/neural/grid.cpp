// Sampling images at the points of a grid. Each neighbour of a point is one gather from the flat planes, so
// that weights, sum and what follows are one kernel.
#include <vector>

#include "frontend/src/autograd/grad.h"
#include "frontend/src/tensor/text.h"
#include "tenon/creation.h"
#include "tenon/neural.h"

namespace tenon {
namespace {

enum class Interpolation : int64_t { Linear, Nearest, Cubic };
enum class Padding : int64_t { Zeros, Border, Reflection };

void check_grid(const Tensor& input, const Tensor& grid) {
  check(input.defined(), "grid_sampler(): expected input to not be undefined");
  check(grid.defined(), "grid_sampler(): expected grid to not be undefined");
  check(input.device() == grid.device(), "grid_sampler(): expected input and grid to be on same device, but input is on ", input.device(),
        " and grid is on ", grid.device());
  check((input.dim() == 4 || input.dim() == 5) && input.dim() == grid.dim(), "grid_sampler(): expected ", input.dim() == 5 ? "5D" : "4D",
        " input and grid with same number of dimensions, but got input with sizes ", input.sizes(), " and grid with sizes ", grid.sizes());
  check(input.size(0) == grid.size(0),
        "grid_sampler(): expected grid and input to have same batch size, but got input "
        "with sizes ",
        input.sizes(), " and grid with sizes ", grid.sizes());
  check(grid.size(-1) == input.dim() - 2, "grid_sampler(): expected grid to have size ", input.dim() - 2,
        " in last dimension, but got grid with sizes ", grid.sizes());
  for (int64_t d = 2; d < input.dim(); ++d)
    check(input.size(d) > 0, "grid_sampler(): expected input to have non-empty spatial dimensions, but input has sizes ", input.sizes(),
          " with dimension ", d, " being empty");
  check(input.scalar_type() == grid.scalar_type(), "expected scalar type ", input.scalar_type(), " but found ", grid.scalar_type());
}

// -1 ... 1 to the numbers of pixels: their centres, or with align_corners the outermost centres, are at the
// ends.
Tensor pixel(const Tensor& coordinate, int64_t size, bool align_corners) {
  const double n = size;
  return align_corners ? (coordinate + 1) / 2 * (n - 1) : ((coordinate + 1) * n - 1) / 2;
}

// Back and forth between the borders.
Tensor reflected(const Tensor& x, int64_t size, bool align_corners) {
  const double low = align_corners ? 0 : -0.5, span = static_cast<double>(align_corners ? size - 1 : size);
  if (span == 0) return zeros_like(x);
  const Tensor distance = abs(x - low), extra = fmod(distance, span), flips = floor(distance / span);
  return where(fmod(flips, 2) == 0, extra + low, (span - extra) + low);
}

Tensor padded(const Tensor& x, int64_t size, Padding padding, bool align_corners) {
  if (padding == Padding::Zeros) return x;
  const Tensor y = padding == Padding::Reflection ? reflected(x, size, align_corners) : x;
  const Tensor known = nan_to_num(y, -1.0);
  return where(known <= 0, 0, where(known >= size - 1, size - 1, known));  // on the border itself the slope is 0
}

// The planes [N, C, spatial...] that are read, and where.
class Sampler {
 public:
  Sampler(const Tensor& input, const Tensor& grid) : input_(input), planes_(flatten(input, 2)) {
    shape_ = {input.size(0), input.size(1)};
    for (int64_t d = 1; d < grid.dim() - 1; ++d) shape_.push_back(grid.size(d));
  }

  int64_t dims() const { return input_.dim() - 2; }
  int64_t size(int64_t axis) const { return input_.size(-1 - axis); }  // axis 0 is x

  // The pixels at whole coordinates, one tensor [N, points...] an axis; 0 outside.
  Tensor at(const std::vector<Tensor>& point) const {
    Tensor place, inside;
    int64_t stride = 1;
    for (int64_t axis = 0; axis < dims(); ++axis) {
      const Tensor& x = point[tenon::at(axis)];
      const int64_t last = size(axis) - 1;
      const Tensor fits = logical_and(x >= 0, x <= last);
      const Tensor offset = clamp(clamp(nan_to_num(x), Scalar(0), Scalar(last)).to(kLong), Scalar(0), Scalar(last)) * stride;
      place = place.defined() ? place + offset : offset;
      inside = inside.defined() ? logical_and(inside, fits) : fits;
      stride *= size(axis);
    }
    const std::vector<int64_t> flat = {shape_[0], shape_[1], -1};
    const Tensor index = clamp(place, Scalar(0), Scalar(stride - 1)).reshape({shape_[0], 1, -1}).expand(flat);
    const Tensor values = gather(planes_, 2, index).reshape(shape_);
    return where(inside.unsqueeze(1), values, zeros({}, values.options().requires_grad(false)));
  }

 private:
  Tensor input_, planes_;
  std::vector<int64_t> shape_;  // of the result
};

Tensor nearest(const Sampler& sampler, const std::vector<Tensor>& point) {
  std::vector<Tensor> rounded;
  for (const Tensor& x : point) rounded.push_back(round(x));
  return sampler.at(rounded);
}

Tensor linear(const Sampler& sampler, const std::vector<Tensor>& point) {
  std::vector<Tensor> below;
  for (const Tensor& x : point) below.push_back(floor(x));
  Tensor sum;
  for (size_t corner = 0; corner < size_t{1} << point.size(); ++corner) {
    std::vector<Tensor> place;
    Tensor weight;
    for (size_t axis = 0; axis < point.size(); ++axis) {
      const bool above = (corner >> axis) & 1;
      place.push_back(above ? below[axis] + 1 : below[axis]);
      const Tensor share = above ? point[axis] - below[axis] : below[axis] + 1 - point[axis];
      weight = weight.defined() ? weight * share : share;
    }
    const Tensor part = sampler.at(place) * weight.unsqueeze(1);
    sum = sum.defined() ? sum + part : part;
  }
  return sum;
}

// The weights of the four neighbours at distances 1 + t, t, 1 - t, 2 - t: Keys's cubic with A = -0.75.
std::vector<Tensor> cubic_weights(const Tensor& t) {
  constexpr double a = -0.75;
  const auto inner = [](const Tensor& x) { return ((a + 2) * x - (a + 3)) * x * x + 1; };
  const auto outer = [](const Tensor& x) { return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a; };
  return {outer(t + 1), inner(t), inner(1 - t), outer(2 - t)};
}

// The sum over the four neighbours along each axis from this one down to x; those beyond it are in `place`.
Tensor cubic(const Sampler& sampler, const std::vector<Tensor>& point, int64_t axis, Padding padding, bool align_corners,
             std::vector<Tensor>& place) {
  if (axis < 0) return sampler.at(place);
  const Tensor& x = point[at(axis)];
  const Tensor first = floor(x);
  const std::vector<Tensor> weights = cubic_weights(x - first);
  Tensor sum;
  for (size_t i = 0; i < weights.size(); ++i) {
    place[at(axis)] = padded(first + (static_cast<double>(i) - 1), sampler.size(axis), padding, align_corners);
    const Tensor part = cubic(sampler, point, axis - 1, padding, align_corners, place) * weights[i].unsqueeze(1);
    sum = sum.defined() ? sum + part : part;
  }
  return sum;
}

}  // namespace

Tensor grid_sampler(const Operand& input, const Operand& grid, int64_t interpolation_mode, int64_t padding_mode, bool align_corners) {
  GradScope scope(input.dim() == 5 ? "GridSampler3DBackward0" : "GridSampler2DBackward0", input, grid);
  scope.derivative_reads(reads_operand(0) | reads_operand(1));
  const auto mode = static_cast<Interpolation>(interpolation_mode);
  const auto padding = static_cast<Padding>(padding_mode);
  check_grid(input, grid);
  const ScalarType type = input.scalar_type();
  const bool half = type == kHalf || type == kBFloat16;
  const Tensor points = half ? grid.to(kFloat) : Tensor(grid);
  const Sampler sampler(half ? input.to(kFloat) : Tensor(input), points);
  std::vector<Tensor> point;
  for (int64_t axis = 0; axis < sampler.dims(); ++axis) {
    const Tensor x = pixel(points.select(-1, axis), sampler.size(axis), align_corners);
    point.push_back(mode == Interpolation::Cubic ? x : padded(x, sampler.size(axis), padding, align_corners));
  }
  std::vector<Tensor> place(point.size());
  const Tensor result = mode == Interpolation::Nearest  ? nearest(sampler, point)
                        : mode == Interpolation::Linear ? linear(sampler, point)
                                                        : cubic(sampler, point, sampler.dims() - 1, padding, align_corners, place);
  return half ? result.to(type) : result;
}
Tensor grid_sampler_2d(const Operand& input, const Operand& grid, int64_t interpolation_mode, int64_t padding_mode, bool align_corners) {
  check(input.dim() == 4,
        "grid_sampler(): expected 4D input and grid with same number of dimensions, but got input with "
        "sizes ",
        input.sizes(), " and grid with sizes ", grid.sizes());
  return grid_sampler(input, grid, interpolation_mode, padding_mode, align_corners);
}
Tensor grid_sampler_3d(const Operand& input, const Operand& grid, int64_t interpolation_mode, int64_t padding_mode, bool align_corners) {
  check(input.dim() == 5,
        "grid_sampler(): expected 5D input and grid with same number of dimensions, but got input with "
        "sizes ",
        input.sizes(), " and grid with sizes ", grid.sizes());
  return grid_sampler(input, grid, interpolation_mode, padding_mode, align_corners);
}

namespace {

// The coordinates of `count` pixels between -1 and 1.
Tensor centres(int64_t count, bool align_corners, const TensorOptions& options) {
  if (count <= 1) return zeros(count, options);
  const Tensor ends = linspace(-1, 1, count, options);
  return align_corners ? ends : ends * static_cast<double>(count - 1) / static_cast<double>(count);
}

}  // namespace

Tensor affine_grid_generator(const Operand& theta, IntArrayRef size, bool align_corners) {
  check(size.size() == 4 || size.size() == 5, "AffineGridGenerator needs 4d (spatial) or 5d (volumetric) inputs.");
  GradScope scope("AffineGridGeneratorBackward0", theta);
  scope.saves(kReadsNothing);
  const TensorOptions options = theta.options().requires_grad(false);
  const int64_t dims = std::ssize(size) - 2, batch = size[0];
  std::vector<int64_t> shape(size.begin() + 2, size.end());
  std::vector<Tensor> columns;  // x, y, z and 1 of every point
  for (int64_t axis = 0; axis < dims; ++axis) {
    std::vector<int64_t> line(at(dims), 1);
    line[at(dims - 1 - axis)] = shape[at(dims - 1 - axis)];
    columns.push_back(expand(reshape(centres(shape[at(dims - 1 - axis)], align_corners, options), line), shape));
  }
  columns.push_back(ones(shape, options));
  const Tensor points = stack(columns, -1).reshape({1, -1, dims + 1}).expand({batch, -1, dims + 1});
  std::vector<int64_t> result = {batch};
  result.insert(result.end(), shape.begin(), shape.end());
  result.push_back(dims);
  return bmm(points, theta.transpose(1, 2)).view(result);
}

}  // namespace tenon
