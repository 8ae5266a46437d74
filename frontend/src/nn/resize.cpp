// Resizing planes, one dim after another: each output position takes a few taps of the input, read at
// computed indices.
//
//   nearest   x[floor(i * scale)]
//   linear    x[floor(p)] * (1 - t) + x[floor(p) + 1] * t     p = (i + 1/2) * scale - 1/2, t its fraction
//   cubic     four taps around p, Keys' kernel with a = -3/4
#include "frontend/src/nn/resize.h"

#include <algorithm>
#include <cmath>

#include "frontend/src/autograd/grad.h"
#include "frontend/src/tensor/expr.h"
#include "frontend/src/tensor/text.h"
#include "frontend/src/views/window.h"

namespace tenon {
namespace {

// Along one dim: how far apart neighbouring output positions lie in the input.
struct Axis {
  size_t dim;
  int64_t in, out;
  double scale;

  Expr index(const Dims& shape, DType type) const {
    return cast(Expr{iota_node(shape, static_cast<int64_t>(dim))}, type);
  }
};

// x[..., index, ...]; the index has the result's shape.
Expr take(const NodeRef& x, const Expr& index, const Axis& axis) {
  return {ir::gather(x, index.node, static_cast<int64_t>(axis.dim))};
}

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
  if (out % in == 0 &&
      axis.scale == static_cast<double>(in) / static_cast<double>(out)) {  // each element is repeated
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
Expr inner_cubic(const Expr& d) { return ((kCubic + 2) * d - (kCubic + 3)) * d * d + 1.0; }  // |d| <= 1
Expr outer_cubic(const Expr& d) {
  return ((kCubic * d - 5 * kCubic) * d + 8 * kCubic) * d - 4 * kCubic;
}  // 1 < |d| < 2

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

// By the number of dims resized.
const char* grad_name(ResizeMode mode, size_t dims) {
  static constexpr const char* kNames[][3] = {
      {"UpsampleNearest1DBackward0", "UpsampleNearest2DBackward0", "UpsampleNearest3DBackward0"},
      {"UpsampleNearestExact1DBackward0", "UpsampleNearestExact2DBackward0",
       "UpsampleNearestExact3DBackward0"},
      {"UpsampleLinear1DBackward0", "UpsampleBilinear2DBackward0", "UpsampleTrilinear3DBackward0"},
      {"UpsampleBicubic2DBackward0", "UpsampleBicubic2DBackward0", "UpsampleBicubic2DBackward0"}};
  return kNames[static_cast<size_t>(mode)][std::clamp<size_t>(dims, 1, 3) - 1];
}

}  // namespace

Tensor resize_planes(const Tensor& x, IntArrayRef size, ResizeMode mode, bool align_corners,
                     const std::vector<double>& factors) {
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
  const auto positive = [](IntArrayRef v) {
    return std::all_of(v.begin(), v.end(), [](int64_t n) { return n > 0; });
  };
  check(positive(ref(in)) && positive(size),
        "Input and output sizes should be greater than 0, but got input (", ref(in), ") and output (", size,
        ")");
  check_extents(size, "output size");
  const bool gathers_only = mode == ResizeMode::Nearest || mode == ResizeMode::NearestExact;
  check<NotImplementedError>(gathers_only || x.is_floating_point(),
                             "\"compute_indices_weights_linear\" not implemented for '", x.scalar_type(),
                             "'");
  if (checked_numel(ref(shape)) == 0)
    return record(constant_node(ir::constant(ir_type(x.scalar_type()), int64_t{0}), shape));
  NodeRef y = gathers_only ? node_of(x) : formula_operand(x, x.scalar_type()).node;
  for (size_t d = dims; d-- > 0;) {
    Axis axis{lead + d, in[d], size[d], static_cast<double>(in[d]) / static_cast<double>(size[d])};
    if (d < factors.size() && factors[d] > 0) axis.scale = 1.0 / factors[d];
    if (align_corners)
      axis.scale = size[d] > 1 ? static_cast<double>(in[d] - 1) / static_cast<double>(size[d] - 1) : 0.0;
    y = gathers_only                 ? nearest(y, axis, mode == ResizeMode::NearestExact)
        : mode == ResizeMode::Linear ? linear(y, axis, align_corners)
                                     : cubic(y, axis, align_corners);
  }
  return record(ir::cast(y, ir_type(x.scalar_type())));
}

}  // namespace tenon
