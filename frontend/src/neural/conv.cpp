// Convolution: windows of the padded input, a strided reading, times the weights. No column matrix is made.
//
//   %w = strided (pad %x)                                 : [N, C, kh, kw, oh, ow]
//   %y = dot [N, G, oh, O/G, K] x [N, G, oh, K, ow]          K = C/G * kh * kw
//
// The gradient of the input is the transposed convolution, that of the weights a contraction over samples and positions. A
// transposed convolution is one of stride 1 with mirrored weights, whose channels are the pixels between two inputs.
// Depthwise ones multiply and add along the planes.
#include <algorithm>

#include "frontend/src/autograd/grad.h"
#include "frontend/src/tensor/expr.h"
#include "frontend/src/tensor/text.h"
#include "frontend/src/views/window.h"
#include "tenon/neural.h"

namespace tenon {
namespace {

// "(4 x 4)"
std::string times(const Dims& sizes) {
  std::string out;
  for (int64_t s : sizes) out += (out.empty() ? "" : " x ") + std::to_string(s);
  return "(" + out + ")";
}

struct Call {
  Tensor input, weight;
  MaybeTensor bias;
  Dims stride, low, high, dilation, output_padding;
  int64_t groups;
  bool transposed;

  NodeRef bias_node() const { return given(bias) ? node_of(*bias) : NodeRef(); }
  size_t dims() const { return stride.size(); }
  int64_t kernel(size_t d) const { return weight.sizes()[2 + d]; }
  int64_t in_channels() const { return transposed ? weight.size(0) : weight.size(1) * groups; }
  int64_t out_channels() const { return transposed ? weight.size(1) * groups : weight.size(0); }
};

Dims parameter(IntArrayRef values, size_t dims, const char* name) {
  check(values.size() == 1 || values.size() == dims, "expected ", name, " to be a single integer value or a list of ", dims,
        " values to match the convolution dimensions, but got ", name, "=", values);
  check_extents(values, name);
  return values.size() == 1 ? Dims(dims, values[0]) : dims_of(values);
}

void check_types(const Call& c) {
  const auto same = [&](const Tensor& other, const char* name) {
    // Without a GPU's kernel PyTorch would take oneDNN's, which says more.
    check(impl(c.input).device() == impl(other).device(), "Input type (", c.input.toString(), ") and ", name, " type (", other.toString(),
          ") should be the same", c.input.is_cpu() ? " or input should be a MKLDNN tensor and weight is a dense tensor" : "");
    check(c.input.scalar_type() == other.scalar_type(), "Input type (", c.input.dtype(), ") and ", name, " type (", other.dtype(),
          ") should be the same");
  };
  if (given(c.bias)) same(*c.bias, "bias");
  same(c.weight, "weight");
  check<NotImplementedError>(c.input.scalar_type() != kBool, "\"slow_conv2d_cpu\" not implemented for 'Bool'");
}

void check_parameters(const Call& c) {
  const auto least = [](const Dims& values) { return *std::min_element(values.begin(), values.end()); };
  check(least(c.low) >= 0 && least(c.high) >= 0, "negative padding is not supported");
  check(least(c.output_padding) >= 0, "negative output_padding is not supported");
  check(least(c.stride) > 0, "non-positive stride is not supported");
  check(least(c.dilation) > 0, "dilation should be greater than zero, but got ", ref(c.dilation));
  check(c.groups > 0, "non-positive groups is not supported");
}

void check_channels(const Call& c) {
  const IntArrayRef weight = c.weight.sizes(), input = c.input.sizes();
  check(input.size() == weight.size(), "Expected ", weight.size(), "-dimensional input for ", weight.size(), "-dimensional weight ", weight,
        ", but got ", input.size(), "-dimensional input of size ", input, " instead");
  check(weight[0] >= c.groups, "Given groups=", c.groups, ", expected weight to be at least ", c.groups,
        " at dimension 0, but got weight of size ", weight, " instead");
  check(weight[0] % c.groups == 0, "Given groups=", c.groups, ", expected weight to be divisible by ", c.groups,
        " at dimension 0, but got weight of size ", weight, " instead");
  const char* kind = c.transposed ? "transposed=" : "groups=";
  const int64_t parameter = c.transposed ? 1 : c.groups;
  check(input[1] == c.in_channels(), "Given ", kind, parameter, ", weight of size ", weight, ", expected input", input, " to have ",
        c.in_channels(), " channels, but got ", input[1], " channels instead");
  if (!given(c.bias)) return;
  const bool fits = c.bias->dim() == 1 && c.bias->size(0) == c.out_channels();
  check(fits, "Given ", c.transposed ? "transposed=1, " : "", "weight of size ", weight, ", expected bias to be 1-dimensional with ",
        c.out_channels(), " elements, but got bias of size ", c.bias->sizes(), " instead");
}

Windows windows_of(const Call& c) {
  Windows windows;
  for (size_t d = 0; d < c.dims(); ++d) {
    check_extents(c.weight.sizes()[2 + d], "kernel size");
    Window w{c.input.sizes()[2 + d], c.kernel(d), c.stride[d], c.low[d], c.high[d], c.dilation[d]};
    w.count = w.fitting();
    windows.push_back(w);
  }
  Dims padded, kernel;
  for (const Window& w : windows) {
    padded.push_back(w.padded());
    kernel.push_back(w.extent());
  }
  const bool fits = std::all_of(windows.begin(), windows.end(), [](const Window& w) { return w.padded() >= w.extent(); });
  check(fits, "Calculated padded input size per channel: ", times(padded), ". Kernel size: ", times(kernel),
        ". Kernel size can't be greater than actual input size");
  return windows;
}

// y plus one number for each channel; those are the dims of y that `channels` lists. Here, before y takes its final
// shape, the sum is part of the product's kernel.
NodeRef with_bias(const NodeRef& y, const NodeRef& bias, const Dims& channels) {
  if (!bias) return y;
  Dims shape(y->shape().size(), 1);
  for (int64_t d : channels) shape[d] = y->shape()[d];
  return (Expr{y} + broadcast(Expr{ir::reshape(bias, shape)}, ref(y->shape()))).node;
}

// A filter or two for each channel: a tile of a product would have hardly a row.
bool is_depthwise(const Dims& weight, int64_t groups) { return weight[1] == 1 && weight[0] / groups < 4; }

// Windows whose positions run on as the input does, row by row: a product takes the rows one by one, and reads a row of
// each tap where it lies. Short rows go together, if that saves much time, and those that many filters see: copying them costs little
// beside that.
bool by_rows(const Windows& windows, int64_t filters, int64_t products) {
  constexpr int64_t kLeastRow = 6, kManyFilters = 24, kFewProducts = 1 << 16;
  const auto is_plain = [](const Window& w) { return w.kernel == 1 && w.stride == 1 && w.count == w.size; };
  const bool plain = std::ranges::all_of(windows, is_plain), long_enough = windows.back().count >= kLeastRow || products < kFewProducts;
  return windows.size() > 1 && !plain && windows.back().stride == 1 && long_enough && filters < kManyFilters;
}

// [O, C/G, kernel...] times the windows of x [N, C, spatial...]. Where a product is taken by rows, R of length L,
//
//   [N, G, R, O/G, K] x [N, G, R, K, L]          elsewhere R = 1
NodeRef product(const NodeRef& x, const NodeRef& weight, const NodeRef& bias, const Windows& windows, int64_t groups) {
  const int64_t batch = x->shape()[0], outs = weight->shape()[0];
  Dims shape{batch, outs};
  for (const Window& w : windows) shape.push_back(w.count);
  checked_numel(ref(shape));
  const ir::Constant zero = ir::constant(x->dtype(), int64_t{0});
  if (ir::element_count(shape) == 0) return ir::make_const(zero, shape, x->device());
  if (weight->numel() == 0) return with_bias(ir::make_const(zero, shape, x->device()), bias, Dims{1});
  const NodeRef seen = sliding_windows(x, windows, zero);
  const int64_t positions = ir::element_count(shape) / (batch * outs), k = weight->numel() / outs;
  if (is_depthwise(weight->shape(), groups)) {
    Dims view{batch, groups, 1, k};
    for (const Window& w : windows) view.push_back(w.count);
    Dims full = view;
    full[2] = outs / groups;
    Dims factors{1, groups, outs / groups, k};
    factors.resize(view.size(), 1);
    const Expr products = broadcast(Expr{ir::reshape(seen, view)}, ref(full)) * broadcast(Expr{ir::reshape(weight, factors)}, ref(full));
    return with_bias(ir::reshape(ir::reduce(Op::Sum, products.node, Dims{3}), shape), bias, Dims{1});
  }
  const int64_t length = by_rows(windows, outs / groups, ir::element_count(shape) * k) ? windows.back().count : positions,
                rows = positions / length;
  const NodeRef taps = ir::permute(ir::reshape(seen, Dims{batch, groups, k, rows, length}), Dims{0, 1, 3, 2, 4});
  const NodeRef filters = ir::reshape(weight, Dims{1, groups, 1, outs / groups, k});
  const NodeRef y = ir::dot(ir::expand(filters, Dims{batch, groups, rows, outs / groups, k}), taps);
  return ir::reshape(ir::permute(with_bias(y, bias, Dims{1, 3}), Dims{0, 1, 3, 2, 4}), shape);
}

// The gradient of the weights, [O, C/G, kernel...], of which x [N, C, spatial...] saw the windows and g [N, O, counts...] is
// the gradient of what they gave. One contraction over samples and positions; S samples at a time, whose products are added. That is
// one sample where the products stay in the first cache:
//
//   [N/S, G, K, S * P] x [N/S, G, S * P, O/G]
NodeRef weight_product(const NodeRef& x, const NodeRef& g, const Dims& weight, const Windows& windows, int64_t groups) {
  constexpr int64_t kLeastLength = 512, kFewResults = 4096;  // of a sum; of all products
  const int64_t batch = x->shape()[0], outs = weight[0], k = ir::element_count(weight) / std::max<int64_t>(outs, 1);
  const ir::Constant zero = ir::constant(x->dtype(), int64_t{0});
  if (x->numel() == 0 || g->numel() == 0 || k == 0) return ir::make_const(zero, weight, x->device());
  const int64_t positions = g->numel() / (batch * outs);
  const NodeRef seen = sliding_windows(x, windows, zero);
  if (is_depthwise(weight, groups)) {
    // Down the lines first, place by place, where they are more than the taps: a line of a tap is a line of the image.
    const int64_t line = windows.back().count, lines = positions / line;
    const bool by_lines = windows.size() > 1 && batch * lines >= k;
    const int64_t length = by_lines ? line : positions, rows = positions / length;
    const Dims full{batch, groups, outs / groups, k, rows, length};
    const Expr products = broadcast(Expr{ir::reshape(seen, Dims{batch, groups, 1, k, rows, length})}, ref(full)) *
                          broadcast(Expr{ir::reshape(g, Dims{batch, groups, outs / groups, 1, rows, length})}, ref(full));
    const NodeRef sums = by_lines ? ir::reduce(Op::Sum, products.node, Dims{0, 4}) : products.node;
    return ir::reshape(ir::reduce(Op::Sum, sums, by_lines ? Dims{5} : Dims{0, 5}), weight);
  }
  int64_t samples = 1;  // S
  while (batch * k * outs > kFewResults && samples < batch && (samples * positions < kLeastLength || batch % samples != 0)) ++samples;
  const int64_t chunks = batch / samples, length = samples * positions;
  const NodeRef taps = ir::permute(ir::reshape(seen, Dims{chunks, samples, groups, k, positions}), Dims{0, 2, 3, 1, 4});
  const NodeRef grads = ir::permute(ir::reshape(g, Dims{chunks, samples, groups, outs / groups, positions}), Dims{0, 2, 1, 4, 3});
  const NodeRef products =
      ir::dot(ir::reshape(taps, Dims{chunks, groups, k, length}), ir::reshape(grads, Dims{chunks, groups, length, outs / groups}));
  const NodeRef sum = ir::reshape(ir::reduce(Op::Sum, products, Dims{0}), Dims{groups, k, outs / groups});
  return ir::reshape(ir::permute(sum, Dims{0, 2, 1}), weight);
}

// [C, O/G, kernel...] with zeros between the positions of the kernel, and behind them up to `sizes`.
NodeRef spread(const NodeRef& weight, const Dims& dilation, const Dims& sizes) {
  const NodeRef zero = ir::make_const(ir::constant(weight->dtype(), int64_t{0}), Dims{}, weight->device());
  Dims apart{weight->shape()[0], weight->shape()[1]}, joined = apart, none(2 + 2 * sizes.size(), 0), gaps{0, 0};
  Dims starts(2 + sizes.size(), 0), steps(2 + sizes.size(), 1), extents = apart, after{0, 0};
  for (size_t d = 0; d < sizes.size(); ++d) {
    const int64_t kernel = weight->shape()[2 + d], extent = dilation[d] * (kernel - 1) + 1;
    for (int64_t s : {kernel, int64_t{1}}) apart.push_back(s);
    for (int64_t g : {int64_t{0}, dilation[d] - 1}) gaps.push_back(g);
    joined.push_back(kernel * dilation[d]);
    extents.push_back(extent);
    after.push_back(sizes[d] - extent);
  }
  const NodeRef dilated = ir::reshape(ir::pad(ir::reshape(weight, apart), zero, none, gaps), joined);
  return ir::pad(ir::slice(dilated, starts, steps, extents), zero, Dims(after.size(), 0), after);
}

// Output s * q + r of a transposed convolution of stride s, before `padding` cuts off its ends, is
//
//   y[s * q + r] = sum over t of x[q - t] * w[s * t + r]
//
// an ordinary convolution that has s channels for each one of the result: these are its pixels.
struct Phases {
  Dims stride, taps, dilation, first, count;  // of each dim; q runs from `first`
};

// [C, O/G, kernel...] -> [G * phases * O/G, C/G, taps...]
NodeRef phase_weights(const Call& c, const Phases& p) {
  Dims sizes, dilation;
  for (size_t d = 0; d < c.dims(); ++d) {
    const bool apart = p.dilation[d] == 1;  // else the windows have the gaps
    dilation.push_back(apart ? c.dilation[d] : 1);
    sizes.push_back(p.taps[d] * p.stride[d]);
  }
  const NodeRef w = spread(node_of(c.weight), dilation, sizes);
  const int64_t groups = c.groups, in = w->shape()[0] / groups, out = w->shape()[1];
  Dims split{groups, in, out}, mirror, order{0}, result{groups * out, in};
  for (size_t d = 0; d < c.dims(); ++d) {
    mirror.push_back(std::ssize(split));
    for (int64_t s : {p.taps[d], p.stride[d]}) split.push_back(s);
    order.push_back(4 + 2 * static_cast<int64_t>(d));
    result[0] *= p.stride[d];
    result.push_back(p.taps[d]);
  }
  for (int64_t d : {2, 1}) order.push_back(d);
  order.append(mirror.data(), mirror.size());
  return ir::reshape(ir::permute(ir::flip(ir::reshape(w, split), mirror), order), result);
}

// A number for each channel, for the channels of all phases.
NodeRef phase_bias(const Call& c, int64_t phases) {
  if (!given(c.bias)) return {};
  const int64_t out = c.out_channels() / c.groups;
  const Dims shape{c.groups, phases, out};
  return ir::reshape(ir::expand(ir::reshape(node_of(*c.bias), Dims{c.groups, 1, out}), shape), Dims{c.groups * phases * out});
}

// [N, G * phases * O/G, count...] -> [N, O, size...]: phases become neighbours, and the ends are cut off.
NodeRef interleaved(const NodeRef& y, const Call& c, const Phases& p, const Dims& size) {
  const int64_t dims = c.dims();
  Dims split{y->shape()[0], c.groups}, order{0, 1, 2 + dims}, joined{size[0], size[1]};
  Dims starts{0, 0}, steps(size.size(), 1);
  for (int64_t s : p.stride) split.push_back(s);
  split.push_back(c.out_channels() / c.groups);
  for (int64_t d = 0; d < dims; ++d) {
    split.push_back(p.count[at(d)]);
    for (int64_t from : {3 + dims + d, 2 + d}) order.push_back(from);
    joined.push_back(p.count[at(d)] * p.stride[at(d)]);
    starts.push_back(c.low[at(d)] - p.first[at(d)] * p.stride[at(d)]);
  }
  return ir::slice(ir::reshape(ir::permute(ir::reshape(y, split), order), joined), starts, steps, size);
}

// The size of the result, [N, O, ...].
Dims transposed_size(const Call& c) {
  Dims in, out;
  for (size_t d = 0; d < c.dims(); ++d) {
    check_extents(c.weight.sizes()[2 + d], "kernel size");
    check(c.output_padding[d] < c.stride[d] || c.output_padding[d] < c.dilation[d],
          "output padding must be smaller than either stride or dilation, but got output_padding: ", c.output_padding[d],
          " stride: ", c.stride[d], " dilation: ", c.dilation[d]);
    in.push_back(c.input.sizes()[2 + d]);
    out.push_back((in[d] - 1) * c.stride[d] - 2 * c.low[d] + c.dilation[d] * (c.kernel(d) - 1) + c.output_padding[d] + 1);
  }
  check(*std::min_element(out.begin(), out.end()) >= 0, "Given input size per channel: ", times(in),
        ". Calculated output size per channel: ", times(out), ". Output size is too small");
  Dims size{c.input.size(0), c.out_channels()};
  size.append(out.data(), out.size());
  checked_numel(ref(size));
  return size;
}

// `size`: of the result.
NodeRef transposed(const Call& c, const Dims& size) {
  if (c.input.numel() == 0 || c.weight.numel() == 0 || std::ranges::find(size, 0) != size.end())
    return with_bias(constant_node(ir::constant(ir_type(c.input.scalar_type()), int64_t{0}), size), c.bias_node(), Dims{1});
  Phases p;
  Windows windows;
  int64_t phases = 1;
  Dims weights{c.weight.size(0), c.weight.size(1)};  // with those of all phases
  for (size_t d = 0; d < c.dims(); ++d) {
    const int64_t extent = c.dilation[d] * (c.kernel(d) - 1) + 1;
    const int64_t stride = c.input.sizes()[2 + d] == 1 ? 1 : c.stride[d];  // of one element it does not matter
    p.stride.push_back(stride);
    p.dilation.push_back(stride == 1 ? c.dilation[d] : 1);
    p.taps.push_back(stride == 1 ? c.kernel(d) : (extent + stride - 1) / stride);
    p.first.push_back(c.low[d] / stride);
    p.count.push_back((c.low[d] + size[2 + d] + stride - 1) / stride - p.first[d]);
    const int64_t low = (p.taps[d] - 1) * p.dilation[d] - p.first[d];
    windows.push_back({c.input.sizes()[2 + d], p.taps[d], 1, low, 0, p.dilation[d], p.count[d]});
    phases *= stride;
    weights.push_back(stride * p.taps[d]);
    checked_numel(ref(weights));
  }
  const NodeRef y = product(node_of(c.input), phase_weights(c, p), phase_bias(c, phases), windows, c.groups);
  return interleaved(y, c, p, size);
}

Tensor convolve(const Call& c) {
  check_types(c);
  check_parameters(c);
  check_channels(c);
  return record(c.transposed ? transposed(c, transposed_size(c))
                             : product(node_of(c.input), node_of(c.weight), c.bias_node(), windows_of(c), c.groups));
}

// The windows that a convolution of x with these weights sees, given the sizes of its result.
Windows windows_over(const Tensor& x, const Call& c, const Tensor& result) {
  Windows windows;
  for (size_t d = 0; d < c.dims(); ++d)
    windows.push_back({x.sizes()[2 + d], c.kernel(d), c.stride[d], c.low[d], c.high[d], c.dilation[d], result.sizes()[2 + d]});
  return windows;
}

// A gradient that is constant has a gradient itself, which is zero, as in PyTorch: a penalty on it is a program's right.
optional<Tensor> unless_tracked(const Tensor& a, const Tensor& b, const Tensor& of) {
  return requires_grad(a) || requires_grad(b) ? nullopt : optional<Tensor>(of);
}

// The gradient of the input of a convolution is g through the transposed one, and the other way round.
Tensor input_gradient(const Tensor& g, Call c, const Tensor& input) {
  GradScope scope("ConvolutionBackwardBackward0", g, c.weight, unless_tracked(g, c.weight, input));
  c.input = g;
  c.bias = nullopt;
  c.transposed = !c.transposed;
  return record(c.transposed ? transposed(c, dims_of(input.sizes()))
                             : product(node_of(g), node_of(c.weight), {}, windows_over(g, c, input), c.groups));
}

Tensor weight_gradient(const Tensor& g, const Tensor& input, const Call& c) {
  GradScope scope("ConvolutionBackwardBackward0", g, input, unless_tracked(g, input, c.weight));
  const Tensor &x = c.transposed ? g : input, &result = c.transposed ? input : g;
  return record(weight_product(node_of(x), node_of(result), dims_of(c.weight.sizes()), windows_over(x, c, result), c.groups));
}

// The gradients of a convolution, each one contraction.
struct ConvolutionRule {
  Call call;  // without its tensors

  explicit ConvolutionRule(const Call& c) : call(c) {
    call.input = call.weight = Tensor();
    call.bias = nullopt;
  }
  void operator()(GradCall& grads) const {
    const bool batched = std::ssize(call.stride) + 2 == grads.operand(0).dim();
    const auto in_batch = [&](const Tensor& x) { return batched ? x : unsqueeze(x, 0); };
    const Tensor g = in_batch(grads.grad()), input = in_batch(grads.operand(0));
    Call c = call;
    c.weight = grads.operand(1);
    if (grads.wants(0)) {
      const Tensor result = input_gradient(g, c, input);
      grads.give(0, batched ? result : squeeze(result, 0));
    }
    if (grads.wants(1)) grads.give(1, weight_gradient(g, input, c));
    if (!grads.wants(2)) return;
    Dims all_but_channels{0};
    for (size_t d = 0; d < c.dims(); ++d) all_but_channels.push_back(static_cast<int64_t>(2 + d));
    grads.give(2, g.sum(ref(all_but_channels)));
  }
};

// One sample is a batch of one.
Tensor with_batch(Call c, const char* name, GradScope& scope) {
  const int64_t dims = static_cast<int64_t>(c.dims());
  const int64_t rank = c.input.dim();
  check(rank == dims + 1 || rank == dims + 2, "Expected ", dims + 1, "D (unbatched) or ", dims + 2, "D (batched) input to ", name,
        ", but got input of size: ", c.input.sizes());
  check(c.weight.dim() == dims + 2, "Expected ", dims + 2, "-dimensional weight for ", name,
        ", but got weight of size: ", c.weight.sizes());
  scope.rule(reads_operand(0) | reads_operand(1), ConvolutionRule(c));
  if (rank == dims + 2) return convolve(c);
  c.input = unsqueeze(c.input, 0);
  return squeeze(convolve(c), 0);
}

Tensor forward(size_t dims, const char* name, const Operand& input, const Operand& weight, const MaybeTensor& bias, IntArrayRef stride,
               IntArrayRef padding, IntArrayRef dilation, int64_t groups) {
  const CallScope call(name, input, weight, bias);
  GradScope scope("ConvolutionBackward0", input, weight, bias);
  scope.derivative_reads(reads_operand(0) | reads_operand(1));
  const Dims pad = parameter(padding, dims, "padding");
  return with_batch({input, weight, bias, parameter(stride, dims, "stride"), pad, pad, parameter(dilation, dims, "dilation"), Dims(dims, 0),
                     groups, false},
                    name, scope);
}

Tensor forward(size_t dims, const char* name, const Operand& input, const Operand& weight, const MaybeTensor& bias, IntArrayRef stride,
               std::string_view padding, IntArrayRef dilation, int64_t groups) {
  const CallScope call(name, input, weight, bias);
  GradScope scope("ConvolutionBackward0", input, weight, bias);
  scope.derivative_reads(reads_operand(0) | reads_operand(1));
  check(padding == "same" || padding == "valid", "Invalid padding string: '", padding, "'");
  Call c{
      input,         weight, bias, parameter(stride, dims, "stride"), Dims(dims, 0), Dims(dims, 0), parameter(dilation, dims, "dilation"),
      Dims(dims, 0), groups, false};
  if (padding == "same") {
    check(std::all_of(c.stride.begin(), c.stride.end(), [](int64_t s) { return s == 1; }),
          "padding='same' is not supported for strided convolutions");
    check(weight.dim() == static_cast<int64_t>(dims) + 2, "Expected ", dims + 2, "-dimensional weight for ", name,
          ", but got weight of size: ", weight.sizes());
    bool uneven = false;
    for (size_t d = 0; d < dims; ++d) {
      check_extents(weight.sizes()[2 + d], "kernel size");
      const int64_t total = c.dilation[d] * (c.kernel(d) - 1);
      uneven = uneven || total % 2 != 0;
      c.low[d] = total / 2;
      c.high[d] = total - total / 2;
    }
    if (uneven)
      warn_user(
          "Using padding='same' with even kernel lengths and odd dilation may require a zero-padded copy of the "
          "input be created");
  }
  return with_batch(std::move(c), name, scope);
}

Tensor backward(size_t dims, const char* name, const Tensor& input, const Tensor& weight, const MaybeTensor& bias, IntArrayRef stride,
                IntArrayRef padding, IntArrayRef output_padding, int64_t groups, IntArrayRef dilation) {
  const CallScope call(name, input, weight, bias);
  GradScope scope("ConvolutionBackward0", input, weight, bias);
  scope.derivative_reads(reads_operand(0) | reads_operand(1));
  const Dims pad = parameter(padding, dims, "padding");
  return with_batch({input, weight, bias, parameter(stride, dims, "stride"), pad, pad, parameter(dilation, dims, "dilation"),
                     parameter(output_padding, dims, "output_padding"), groups, true},
                    name, scope);
}

constexpr size_t dims_in(std::string_view name) { return at(name[name.size() - 2] - '0'); }  // of "conv2d"

}  // namespace

#define TENON_DEFINE(name)                                                                                                   \
  Tensor name(const Operand& input, const Operand& weight, const MaybeTensor& bias, IntArrayRef stride, IntArrayRef padding, \
              IntArrayRef dilation, int64_t groups) {                                                                        \
    return forward(dims_in(#name), #name, input, weight, bias, stride, padding, dilation, groups);                           \
  }                                                                                                                          \
  Tensor name(const Operand& input, const Operand& weight, const MaybeTensor& bias, IntArrayRef stride, PaddingName padding, \
              IntArrayRef dilation, int64_t groups) {                                                                        \
    return forward(dims_in(#name), #name, input, weight, bias, stride, padding.text(), dilation, groups);                    \
  }
TENON_DEFINE(conv1d)
TENON_DEFINE(conv2d)
TENON_DEFINE(conv3d)
#undef TENON_DEFINE
#define TENON_DEFINE(name)                                                                                                   \
  Tensor name(const Operand& input, const Operand& weight, const MaybeTensor& bias, IntArrayRef stride, IntArrayRef padding, \
              IntArrayRef output_padding, int64_t groups, IntArrayRef dilation) {                                            \
    return backward(dims_in(#name), #name, input, weight, bias, stride, padding, output_padding, groups, dilation);          \
  }
TENON_DEFINE(conv_transpose1d)
TENON_DEFINE(conv_transpose2d)
TENON_DEFINE(conv_transpose3d)
#undef TENON_DEFINE

Tensor convolution(const Operand& input, const Operand& weight, const MaybeTensor& bias, IntArrayRef stride, IntArrayRef padding,
                   IntArrayRef dilation, bool transposed, IntArrayRef output_padding, int64_t groups) {
  const CallScope call("convolution", input, weight, bias);
  const int64_t dims = weight.dim() - 2;
  check(dims > 0, "weight should have at least three dimensions");
  check(input.dim() == dims + 2, "Expected ", dims + 2, "-dimensional input for ", dims + 2, "-dimensional weight ", weight.sizes(),
        ", but got ", input.dim(), "-dimensional input of size ", input.sizes(), " instead");
  return transposed ? backward(at(dims), "convolution", input, weight, bias, stride, padding, output_padding, groups, dilation)
                    : forward(at(dims), "convolution", input, weight, bias, stride, padding, dilation, groups);
}

}  // namespace tenon
