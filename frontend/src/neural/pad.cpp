// Padding by what lies inside, and rearrangements of planes: windows as columns, channels as pixels.
//
//   reflect    c b | a b c d | c b        pieces are mirrored, repeated or wrapped parts of the input, joined
//   replicate  a a | a b c d | d d
//   circular   c d | a b c d | a b
#include <algorithm>

#include "frontend/src/autograd/grad.h"
#include "frontend/src/tensor/expr.h"
#include "frontend/src/tensor/text.h"
#include "frontend/src/views/window.h"
#include "tenon/neural.h"

namespace tenon {
namespace {

enum class Mode : uint8_t { Reflect, Replicate, Circular };

NodeRef part(const NodeRef& x, size_t dim, int64_t start, int64_t size) {
  Dims starts(x->shape().size(), 0), steps(x->shape().size(), 1), sizes = x->shape();
  starts[dim] = start;
  sizes[dim] = size;
  return ir::slice(x, starts, steps, sizes);
}

NodeRef mirrored(const NodeRef& x, size_t dim, int64_t start, int64_t size) {
  return ir::flip(part(x, dim, start, size), Dims{static_cast<int64_t>(dim)});
}

NodeRef repeated(const NodeRef& x, size_t dim, int64_t position, int64_t times) {
  Dims shape = x->shape();
  shape[dim] = times;
  return ir::expand(part(x, dim, position, 1), shape);
}

// x with `low` and `high` more elements along a dim.
NodeRef extended(const NodeRef& x, size_t dim, int64_t low, int64_t high, Mode mode) {
  const int64_t n = x->shape()[dim];
  std::vector<NodeRef> parts;
  if (low > 0) {
    parts.push_back(mode == Mode::Reflect     ? mirrored(x, dim, 1, low)
                    : mode == Mode::Replicate ? repeated(x, dim, 0, low)
                                              : part(x, dim, n - low, low));
  }
  parts.push_back(x);
  if (high > 0) {
    parts.push_back(mode == Mode::Reflect     ? mirrored(x, dim, n - 1 - high, high)
                    : mode == Mode::Replicate ? repeated(x, dim, n - 1, high)
                                              : part(x, dim, 0, high));
  }
  return parts.size() == 1 ? x : ir::cat(parts, static_cast<int64_t>(dim));
}

// x without the elements that negative padding takes away.
NodeRef cropped(const NodeRef& x, size_t dim, int64_t low, int64_t high) {
  const int64_t start = std::max<int64_t>(-low, 0), stop = x->shape()[dim] - std::max<int64_t>(-high, 0);
  return part(x, dim, start, stop - start);
}

void check_room(const Tensor& x, IntArrayRef pad, size_t pair, int64_t dim, Mode mode) {
  const int64_t size = x.size(dim), low = pad[2 * pair], high = pad[2 * pair + 1];
  if (mode == Mode::Reflect) {
    check(low < size && high < size, "Argument #", 4 + 2 * pair,
          ": Padding size should be less than the corresponding input dimension, but got: padding (", low, ", ", high, ") at dimension ",
          dim, " of input ", x.sizes());
  } else if (mode == Mode::Circular) {
    const int64_t kept = std::max<int64_t>(size + std::min<int64_t>(low, 0) + std::min<int64_t>(high, 0), 0);
    check(low <= kept && high <= kept, "Padding value causes wrapping around more than once.");
  }
  check(size > 0 || (low <= 0 && high <= 0), "Expected input with possible batch dimension and non-zero sizes, but got ", x.sizes());
  check(size + low + high > 0 || (mode != Mode::Circular), "Negative padding value is resulting in an empty dimension");
  check(size + low + high >= 0, "The input size ", size, ", plus negative padding ", low, " and ", high,
        " resulted in a negative output size, which is invalid. Check dimension ", dim, " of your input.");
}

Tensor pad_inside(const Tensor& x, IntArrayRef pad, Mode mode) {
  const size_t pairs = pad.size() / 2;
  check(pad.size() % 2 == 0, "Padding length must be divisible by 2");
  check(static_cast<int64_t>(pairs) <= x.dim(),
        "Padding length should be less than or equal to two times the input dimension but got padding length ", pad.size(),
        " and input of dimension ", x.dim());
  check_extents(pad, "padding");
  Dims shape = dims_of(x.sizes());
  for (size_t i = 0; i < pairs; ++i) {
    check_room(x, pad, i, x.dim() - 1 - static_cast<int64_t>(i), mode);
    shape[shape.size() - 1 - i] += pad[2 * i] + pad[2 * i + 1];
  }
  if (checked_numel(ref(shape)) == 0) return record(constant_node(ir::constant(ir_type(x.scalar_type()), int64_t{0}), shape));
  NodeRef y = node_of(x);
  for (size_t i = 0; i < pairs; ++i) {
    const size_t dim = shape.size() - 1 - i;
    const int64_t low = pad[2 * i], high = pad[2 * i + 1];
    if (mode == Mode::Circular) y = cropped(y, dim, low, high);  // what is left goes round
    y = extended(y, dim, std::max<int64_t>(low, 0), std::max<int64_t>(high, 0), mode);
    if (mode != Mode::Circular) y = cropped(y, dim, low, high);
  }
  return record(y);
}

Tensor pad_planes(const Tensor& x, IntArrayRef padding, int64_t dims, Mode mode) {
  check(std::ssize(padding) == 2 * dims, "padding size is expected to be ", 2 * dims, ", but got: ", padding.size());
  check(x.dim() == dims + 1 || x.dim() == dims + 2, "Expected ", dims + 1, "D or ", dims + 2,
        "D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for input, but got: ", x.sizes());
  return pad_inside(x, padding, mode);
}

}  // namespace

#define TENON_DEFINE(dims)                                                    \
  Tensor reflection_pad##dims##d(const Operand& self, IntArrayRef padding) {  \
    GradScope scope("ReflectionPad" #dims "DBackward0", self);                \
    scope.derivative_reads(reads_operand(0));                                 \
    scope.saves(reads_operand(0));                                            \
    return pad_planes(self, padding, dims, Mode::Reflect);                    \
  }                                                                           \
  Tensor replication_pad##dims##d(const Operand& self, IntArrayRef padding) { \
    GradScope scope("ReplicationPad" #dims "DBackward0", self);               \
    scope.derivative_reads(reads_operand(0));                                 \
    scope.saves(reads_operand(0));                                            \
    return pad_planes(self, padding, dims, Mode::Replicate);                  \
  }
TENON_DEFINE(1)
TENON_DEFINE(2)
TENON_DEFINE(3)
#undef TENON_DEFINE

Tensor pad(const Operand& x, IntArrayRef pad, std::string_view mode, optional<double> value) {
  const CallScope call("pad", x);
  if (mode == "constant") return constant_pad_nd(x, pad, value.value_or(0.0));
  check(!value || *value == 0, "Padding mode \"", mode, "\" doesn't take in value argument");
  const int64_t pairs = std::ssize(pad) / 2;
  check(pad.size() % 2 == 0, "Padding length must be divisible by 2");
  const bool fits = pairs >= 1 && pairs <= 3 && (x.dim() == pairs + 1 || x.dim() == pairs + 2);
  check(fits, "Only 2D, 3D, 4D, 5D padding with non-constant padding are supported for now");
  static constexpr Tensor (*reflect[])(const Operand&, IntArrayRef) = {reflection_pad1d, reflection_pad2d, reflection_pad3d};
  static constexpr Tensor (*replicate[])(const Operand&, IntArrayRef) = {replication_pad1d, replication_pad2d, replication_pad3d};
  if (mode == "reflect") return reflect[pairs - 1](x, pad);
  if (mode == "replicate") return replicate[pairs - 1](x, pad);
  check(mode == "circular", "Unrecognised padding mode ", mode);
  GradScope scope("SliceBackward0", x);
  return pad_inside(x, pad, Mode::Circular);
}

// --- columns

namespace {

struct Columns {
  Dims kernel, dilation, padding, stride;
};

Columns columns(IntArrayRef kernel, IntArrayRef dilation, IntArrayRef padding, IntArrayRef stride) {
  const auto two = [](IntArrayRef values, const char* name, int64_t least) {
    check(values.size() == 1 || values.size() == 2, "It is expected ", name, " equals to 2, but got size ", values.size());
    check_extents(values, name);
    for (int64_t v : values) check(v >= least, name, " should be ", least ? "greater than zero" : "non-negative", ", but got ", values);
    return values.size() == 1 ? Dims(2, values[0]) : dims_of(values);
  };
  return {two(kernel, "kernel_size", 1), two(dilation, "dilation", 1), two(padding, "padding", 0), two(stride, "stride", 1)};
}

Windows windows_of(const Columns& c, int64_t height, int64_t width) {
  Windows windows;
  for (size_t d = 0; d < 2; ++d) {
    windows.push_back({d == 0 ? height : width, c.kernel[d], c.stride[d], c.padding[d], c.padding[d], c.dilation[d]});
    windows[d].count = windows[d].fitting();
  }
  return windows;
}

}  // namespace

Tensor im2col(const Operand& x, IntArrayRef kernel_size, IntArrayRef dilation, IntArrayRef padding, IntArrayRef stride) {
  GradScope scope("Im2ColBackward0", x);
  const Columns c = columns(kernel_size, dilation, padding, stride);
  check(x.dim() == 3 || x.dim() == 4,
        "Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero "
        "dimensions for input, but got: ",
        x.sizes());
  const Windows windows = windows_of(c, x.size(-2), x.size(-1));
  check(windows[0].count > 0 && windows[1].count > 0, "Given input with spatial size (", x.size(-2), ", ", x.size(-1), "), kernel_size=(",
        c.kernel[0], ", ", c.kernel[1], "), dilation=(", c.dilation[0], ", ", c.dilation[1], "), padding=(", c.padding[0], ", ",
        c.padding[1], "), calculated shape of the array of sliding blocks as (", windows[0].count, ", ", windows[1].count,
        "), but its components must be at least one.");
  Dims shape(span_of({x.sizes().data(), x.sizes().size() - 3}));
  shape.push_back(x.size(-3) * c.kernel[0] * c.kernel[1]);
  shape.push_back(windows[0].count * windows[1].count);
  const NodeRef node = node_of(x);
  return record(ir::reshape(sliding_windows(node, windows, ir::constant(node->dtype(), int64_t{0})), shape));
}

// Each kernel position's columns are a plane with gaps: spread out, shifted and added to the others.
Tensor col2im(const Operand& x, IntArrayRef output_size, IntArrayRef kernel_size, IntArrayRef dilation, IntArrayRef padding,
              IntArrayRef stride) {
  GradScope scope("Col2ImBackward0", x);
  const Columns c = columns(kernel_size, dilation, padding, stride);
  check(output_size.size() == 2, "It is expected output_size equals to 2, but got size ", output_size.size());
  check_extents(output_size, "output_size");
  check(x.dim() == 2 || x.dim() == 3,
        "Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and "
        "non-zero dimensions for input, but got: ",
        x.sizes());
  const int64_t area = c.kernel[0] * c.kernel[1], rows = x.size(-2), length = x.size(-1);
  check(rows % area == 0,
        "Expected size of input's dimension 1 to be divisible by the product of kernel_size, but got "
        "input.size(1)=",
        rows, " and kernel_size=(", c.kernel[0], ", ", c.kernel[1], ").");
  const Windows w = windows_of(c, output_size[0], output_size[1]);
  const bool fits = w[0].count > 0 && w[1].count > 0 && w[0].count * w[1].count == length;
  check(fits, "Given output_size=(", output_size[0], ", ", output_size[1], "), kernel_size=(", c.kernel[0], ", ", c.kernel[1],
        "), dilation=(", c.dilation[0], ", ", c.dilation[1], "), padding=(", c.padding[0], ", ", c.padding[1], "), stride=(", c.stride[0],
        ", ", c.stride[1], "), expected size of input's dimension 2 to match the calculated number of sliding blocks ", w[0].count, " * ",
        w[1].count, " = ", w[0].count * w[1].count, ", but got input.size(2)=", length, ".");
  const int64_t batch = x.dim() == 3 ? x.size(0) : 1, channels = rows / area;
  Dims shape(span_of({x.sizes().data(), x.sizes().size() - 2}));
  for (int64_t size : {channels, output_size[0], output_size[1]}) shape.push_back(size);
  const ScalarType type = x.scalar_type();
  if (checked_numel(ref(shape)) == 0) return record(constant_node(ir::constant(ir_type(type), int64_t{0}), shape));
  const NodeRef planes =
      ir::reshape(formula_operand(x, type).node, Dims{batch, channels, c.kernel[0], c.kernel[1], w[0].count, w[1].count});
  const NodeRef zero = constant_node(ir::constant(planes->dtype(), int64_t{0}), Dims{});
  Expr sum{};
  for (int64_t i = 0; i < area; ++i) {
    const int64_t at[] = {i / c.kernel[1], i % c.kernel[1]};
    NodeRef plane = part(part(planes, 2, at[0], 1), 3, at[1], 1);
    Dims gaps{batch, channels}, joined{batch, channels}, starts{0, 0}, sizes{batch, channels}, lo{0, 0}, hi{0, 0};
    for (size_t d = 0; d < 2; ++d) {
      for (int64_t s : {w[d].count, int64_t{1}}) gaps.push_back(s);
      joined.push_back(w[d].count * c.stride[d]);
      // The first position of this plane in the output; what lies outside of the output is cut off.
      const int64_t first = at[d] * c.dilation[d] - c.padding[d], size = output_size[d];
      const int64_t cut = std::clamp<int64_t>(-first, 0, joined.back());
      starts.push_back(cut);
      lo.push_back(std::clamp<int64_t>(first, 0, size));
      sizes.push_back(std::clamp<int64_t>(size - lo.back(), 0, joined.back() - cut));
      hi.push_back(size - lo.back() - sizes.back());
    }
    if (ir::element_count(sizes) == 0) continue;
    plane = ir::reshape(ir::pad(ir::reshape(plane, gaps), zero, Dims(6, 0), Dims{0, 0, 0, c.stride[0] - 1, 0, c.stride[1] - 1}), joined);
    plane = ir::pad(ir::slice(plane, starts, Dims(4, 1), sizes), zero, lo, hi);
    sum = sum.node ? sum + Expr{plane} : Expr{plane};
  }
  if (!sum.node) return record(constant_node(ir::constant(ir_type(type), int64_t{0}), shape));  // all windows lie outside
  return record_as({ir::reshape(sum.node, shape)}, type);
}

// --- channels

Tensor pixel_shuffle(const Operand& x, int64_t factor) {
  GradScope scope("PixelShuffleBackward0", x);
  check(x.dim() >= 3, "pixel_shuffle expects input to have at least 3 dimensions, but got input with ", x.dim(), " dimension(s)");
  check(factor > 0, "pixel_shuffle expects a positive upscale_factor, but got ", factor);
  check_extents(factor, "upscale_factor");
  const int64_t channels = x.size(-3), height = x.size(-2), width = x.size(-1), square = factor * factor;
  check(channels % square == 0,
        "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of "
        "upscale_factor, but input.size(-3)=",
        channels, " is not divisible by ", square);
  const Dims lead(span_of({x.sizes().data(), x.sizes().size() - 3}));
  const int64_t batch = checked_numel(ref(lead));
  const Tensor blocks = reshape(x, {batch, channels / square, factor, factor, height, width});
  Dims shape = lead;
  for (int64_t size : {channels / square, height * factor, width * factor}) shape.push_back(size);
  return reshape(permute(blocks, {0, 1, 4, 2, 5, 3}), ref(shape));
}

Tensor pixel_unshuffle(const Operand& x, int64_t factor) {
  GradScope scope("PixelUnshuffleBackward0", x);
  check(x.dim() >= 3, "pixel_unshuffle expects input to have at least 3 dimensions, but got input with ", x.dim(), " dimension(s)");
  check(factor > 0, "pixel_unshuffle expects a positive downscale_factor, but got ", factor);
  check_extents(factor, "downscale_factor");
  const int64_t channels = x.size(-3), height = x.size(-2), width = x.size(-1);
  check(height % factor == 0, "pixel_unshuffle expects height to be divisible by downscale_factor, but input.size(-2)=", height,
        " is not divisible by ", factor);
  check(width % factor == 0, "pixel_unshuffle expects width to be divisible by downscale_factor, but input.size(-1)=", width,
        " is not divisible by ", factor);
  const Dims lead(span_of({x.sizes().data(), x.sizes().size() - 3}));
  const Tensor blocks = reshape(x, {checked_numel(ref(lead)), channels, height / factor, factor, width / factor, factor});
  Dims shape = lead;
  int64_t result = 0;
  check(!__builtin_mul_overflow(channels, factor * factor, &result), "numel: integer multiplication overflow");
  for (int64_t size : {result, height / factor, width / factor}) shape.push_back(size);
  return reshape(permute(blocks, {0, 1, 3, 5, 2, 4}), ref(shape));
}

Tensor channel_shuffle(const Operand& x, int64_t groups) {
  GradScope scope("ChannelShuffleBackward0", x);
  check(x.dim() > 2, "channel_shuffle expects input with > 2 dims, but got input with sizes ", x.sizes());
  check(groups > 0, "Number of groups to divide channels in must be positive. Value of groups:", groups);
  check(x.size(1) % groups == 0, "Number of channels must be divisible by groups. Got ", x.size(1), " channels and ", groups, " groups.");
  return reshape(transpose(unflatten(x, 1, {groups, x.size(1) / groups}), 1, 2), x.sizes());
}

}  // namespace tenon
