// Resizing planes, one dim after another: each output position takes a few taps of the input, read at
// computed indices.
//
//   nearest   x[floor(i * scale)]
//   linear    x[floor(p)] * (1 - t) + x[floor(p) + 1] * t     p = (i + 1/2) * scale - 1/2, t its fraction
//   cubic     four taps around p, Keys' kernel with a = -3/4
#include "frontend/src/neural/resize.h"

#include <algorithm>
#include <cmath>

#include "frontend/src/autograd/grad.h"
#include "frontend/src/tensor/expr.h"
#include "frontend/src/tensor/text.h"
#include "frontend/src/views/window.h"
#include "tenon/creation.h"

namespace tenon {
namespace {

// Along one dim: how far apart neighbouring output positions lie in the input.
struct Axis {
  size_t dim;
  int64_t in, out;
  double scale;

  Expr index(const Dims& shape, DType type) const { return cast(Expr{iota_node(shape, static_cast<int64_t>(dim))}, type); }
};

// x[..., index, ...]; the index has the result's shape.
Expr take(const NodeRef& x, const Expr& index, const Axis& axis) { return {ir::gather(x, index.node, static_cast<int64_t>(axis.dim))}; }

// The index as int64 within the input.
Expr clamped(const Expr& position, const Axis& axis) {
  const Expr i = cast(position, DType::I64);
  return apply(Op::Max, apply(Op::Min, i, number(i, Scalar(axis.in - 1))), number(i, Scalar(0)));
}

Dims resized_shape(const NodeRef& x, const Axis& axis) {
  Dims shape = x->shape();
  shape[axis.dim] = axis.out;
  return shape;
}

NodeRef nearest(const NodeRef& x, const Axis& axis, bool exact) {
  const int64_t in = axis.in, out = axis.out;
  if (out % in == 0 && axis.scale == static_cast<double>(in) / static_cast<double>(out)) {  // each element is repeated
    Dims apart = x->shape(), repeated;
    apart.insert(axis.dim + 1, 1);
    repeated = apart;
    repeated[axis.dim + 1] = out / in;
    return ir::reshape(ir::expand(ir::reshape(x, apart), repeated), resized_shape(x, axis));
  }
  const Expr i = axis.index(resized_shape(x, axis), DType::F32);
  const auto scale = static_cast<double>(static_cast<float>(axis.scale));
  return take(x, clamped(floor(exact ? (i + 0.5) * scale : i * scale), axis), axis).node;
}

// The position of output i in the input.
Expr source(const Axis& axis, const Dims& shape, DType type, bool align_corners) {
  const Expr i = axis.index(shape, type);
  return align_corners ? i * axis.scale : (i + 0.5) * axis.scale - 0.5;
}

NodeRef linear(const NodeRef& x, const Axis& axis, bool align_corners) {
  if (axis.in == axis.out) return x;
  const Expr p = larger(0.0, source(axis, resized_shape(x, axis), x->dtype(), align_corners));
  const Expr low = clamped(p, axis);
  const Expr high = apply(Op::Min, low + number(low, Scalar(1)), number(low, Scalar(axis.in - 1)));
  const Expr t = smaller(1.0, larger(0.0, p - cast(low, p.dtype())));
  return (take(x, low, axis) * (1.0 - t) + take(x, high, axis) * t).node;
}

constexpr double kCubic = -0.75;
Expr inner_cubic(const Expr& d) { return ((kCubic + 2) * d - (kCubic + 3)) * d * d + 1.0; }                // |d| <= 1
Expr outer_cubic(const Expr& d) { return ((kCubic * d - 5 * kCubic) * d + 8 * kCubic) * d - 4 * kCubic; }  // 1 < |d| < 2

NodeRef cubic(const NodeRef& x, const Axis& axis, bool align_corners) {
  if (axis.in == axis.out) return x;
  const Expr p = source(axis, resized_shape(x, axis), x->dtype(), align_corners);
  const Expr base = floor(p), t = p - base;
  const Expr weights[] = {outer_cubic(t + 1.0), inner_cubic(t), inner_cubic(1.0 - t), outer_cubic(2.0 - t)};
  Expr sum{};
  for (int tap = 0; tap < 4; ++tap) {
    const Expr term = take(x, clamped(base + static_cast<double>(tap - 1), axis), axis) * weights[tap];
    sum = sum.node ? sum + term : term;
  }
  return sum.node;
}

// PyTorch's name by the number of dims resized.
const char* grad_name(ResizeMode mode, size_t dims) {
  static constexpr const char* kNames[][3] = {
      {"UpsampleNearest1DBackward0", "UpsampleNearest2DBackward0", "UpsampleNearest3DBackward0"},
      {"UpsampleNearestExact1DBackward0", "UpsampleNearestExact2DBackward0", "UpsampleNearestExact3DBackward0"},
      {"UpsampleLinear1DBackward0", "UpsampleBilinear2DBackward0", "UpsampleTrilinear3DBackward0"},
      {"UpsampleBicubic2DBackward0", "UpsampleBicubic2DBackward0", "UpsampleBicubic2DBackward0"}};
  return kNames[static_cast<size_t>(mode)][std::clamp<size_t>(dims, 1, 3) - 1];
}

// The distance of output positions in the input.
double scale_of(int64_t in, int64_t out, bool align_corners, double factor) {
  if (align_corners) return out > 1 ? static_cast<double>(in - 1) / static_cast<double>(out - 1) : 0.0;
  return factor > 0 ? 1.0 / factor : static_cast<double>(in) / static_cast<double>(out);
}

// [in, out]: the weights of the input for each output position, a triangle or Keys' kernel with a = -1/2, as wide as the
// output's elements; computed in the operand's type, as in PyTorch.
template <typename T>
Tensor antialias_weights(int64_t in, int64_t out, ResizeMode mode, T scale, const TensorOptions& options) {
  const T inverse = scale >= 1 ? 1 / scale : 1, half = mode == ResizeMode::Cubic ? 2 : 1, support = std::max(scale, T{1}) * half;
  const auto kernel = [&](T d) {
    d = std::abs(d);
    if (mode == ResizeMode::Linear) return std::max(1 - d, T{0});
    constexpr T a = -0.5;
    return d < 1 ? ((a + 2) * d - (a + 3)) * d * d + 1 : d < 2 ? ((a * d - 5 * a) * d + 8 * a) * d - 4 * a : T{0};
  };
  std::vector<T> weights(static_cast<size_t>(in * out), T{0});
  for (int64_t i = 0; i < out; ++i) {
    const T centre = scale * (static_cast<T>(i) + T(0.5));
    const int64_t first = std::max(static_cast<int64_t>(centre - support + T(0.5)), int64_t{0});
    const int64_t end = std::min(static_cast<int64_t>(centre + support + T(0.5)), in);
    const auto at = [&](int64_t j) -> T& { return weights[static_cast<size_t>(j * out + i)]; };
    T total = 0;
    for (int64_t j = first; j < end; ++j) total += at(j) = kernel((static_cast<T>(j) - centre + T(0.5)) * inverse);
    for (int64_t j = first; j < end && total != 0; ++j) at(j) /= total;
  }
  return tensor(weights, options).view({in, out});
}

}  // namespace

Tensor resize_antialiased(const Tensor& x, IntArrayRef size, ResizeMode mode, bool align_corners, const std::vector<double>& factors) {
  GradScope scope(mode == ResizeMode::Linear ? "UpsampleBilinear2DAaBackward0" : "UpsampleBicubic2DAaBackward0", x);
  scope.saves(kReadsNothing);
  const ScalarType type = x.scalar_type();
  check<NotImplementedError>(type == kFloat || type == kDouble, "\"compute_index_ranges_weights\" not implemented for '", type, "'");
  for (int64_t d : {2, 3}) {
    check(x.size(d) > 0 && size[d - 2] > 0, "Input and output sizes should be greater than 0, but got input (H: ", x.size(2),
          ", W: ", x.size(3), ") output (H: ", size[0], ", W: ", size[1], ")");
  }
  const TensorOptions options = x.options().requires_grad(false);
  const auto weights = [&](size_t d) {
    const int64_t in = x.size(static_cast<int64_t>(d) + 2);
    const double scale = scale_of(in, size[d], align_corners, d < factors.size() ? factors[d] : 0);
    return type == kDouble ? antialias_weights<double>(in, size[d], mode, scale, options)
                           : antialias_weights<float>(in, size[d], mode, static_cast<float>(scale), options);
  };
  return matmul(weights(0).transpose(0, 1), matmul(x, weights(1)));
}

Tensor resize_planes(const Tensor& x, IntArrayRef size, ResizeMode mode, bool align_corners, const std::vector<double>& factors) {
  const size_t dims = size.size(), lead = 2;
  GradScope scope(grad_name(mode, dims), x);
  check(x.dim() == static_cast<int64_t>(lead + dims),
        "Input and output must have the same number of spatial dimensions, but got input with spatial "
        "dimensions of ",
        x.dim() - 2, " and output size of ", size);
  Dims shape(span_of({x.sizes().data(), lead})), in;
  for (size_t d = 0; d < dims; ++d) {
    in.push_back(x.sizes()[lead + d]);
    shape.push_back(size[d]);
  }
  const auto positive = [](IntArrayRef v) { return std::all_of(v.begin(), v.end(), [](int64_t n) { return n > 0; }); };
  check(positive(ref(in)) && positive(size), "Input and output sizes should be greater than 0, but got input (", ref(in), ") and output (",
        size, ")");
  check_extents(size, "output size");
  const bool gathers_only = mode == ResizeMode::Nearest || mode == ResizeMode::NearestExact;
  check<NotImplementedError>(gathers_only || x.is_floating_point(), "\"compute_indices_weights_linear\" not implemented for '",
                             x.scalar_type(), "'");
  if (checked_numel(ref(shape)) == 0) return record(constant_node(ir::constant(ir_type(x.scalar_type()), int64_t{0}), shape));
  NodeRef y = gathers_only ? node_of(x) : formula_operand(x, x.scalar_type()).node;
  for (size_t d = dims; d-- > 0;) {
    const Axis axis{lead + d, in[d], size[d], scale_of(in[d], size[d], align_corners, d < factors.size() ? factors[d] : 0)};
    y = gathers_only                 ? nearest(y, axis, mode == ResizeMode::NearestExact)
        : mode == ResizeMode::Linear ? linear(y, axis, align_corners)
                                     : cubic(y, axis, align_corners);
  }
  return record(ir::cast(y, ir_type(x.scalar_type())));
}

}  // namespace tenon
