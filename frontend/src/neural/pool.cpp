// Pooling: windows of the padded input, reduced. Adaptive pooling has windows of different sizes: each takes
// the positions from floor(i * in / out) to ceil((i + 1) * in / out), gathered and masked.
#include <algorithm>

#include "frontend/src/autograd/grad.h"
#include "frontend/src/tensor/expr.h"
#include "frontend/src/tensor/text.h"
#include "frontend/src/views/window.h"
#include "tenon/neural.h"
#include "tenon/nn/options.h"

namespace tenon {
namespace {

using ir::kInfinity;

// The smallest element of a type, below which nothing is padded in for a maximum.
ir::Constant lowest(DType type) {
  if (ir::is_float(type)) return ir::constant(type, -kInfinity);
  const int bits = 8 * static_cast<int>(ir::item_size(type));
  const bool is_signed = type != DType::U8 && type != DType::Bool;
  return ir::constant(type, is_signed ? -(int64_t{1} << (bits - 2)) * 2 : int64_t{0});
}

struct Pool {
  const char* name;
  Tensor input;
  size_t dims;
  Dims kernel, stride, padding, dilation;
  bool ceil_mode;

  size_t lead() const { return input.sizes().size() - dims; }
};

Dims parameter(IntArrayRef values, size_t dims, const char* function, const char* name, const char* what) {
  static constexpr const char* kTuples[] = {"", "one int", "two ints", "three ints"};
  check(values.size() == 1 || values.size() == dims, function, ": ", name, " must ", what, "be a single int, or a tuple of ",
        kTuples[dims]);
  check_extents(values, name);
  return values.size() == 1 ? Dims(dims, values[0]) : dims_of(values);
}

void check_input(const char* name, const Tensor& x, size_t dims) {
  const int64_t d = static_cast<int64_t>(dims);
  bool fits = x.dim() == d + 1 || x.dim() == d + 2;
  for (int64_t i = x.dim() - 1; fits && i >= x.dim() - d - (x.dim() == d + 1); --i) fits = x.size(i) > 0;
  check(fits || dims == 2, name, "(): Expected ", d + 1, "D or ", d + 2,
        "D (batch mode) tensor with optional 0 dim batch size for input, but got: ", x.sizes());
  check(fits, "non-empty 3D or 4D (batch mode) tensor expected for input");
}

Pool make_pool(const char* name, const Tensor& x, size_t dims, IntArrayRef kernel, IntArrayRef stride, IntArrayRef padding,
               IntArrayRef dilation, bool ceil_mode) {
  Pool p{name, x, dims, parameter(kernel, dims, name, "kernel_size", "either "), {}, {}, {}, ceil_mode};
  p.stride = stride.empty() ? p.kernel : parameter(stride, dims, name, "stride", "either be omitted, ");
  p.padding = parameter(padding, dims, name, "padding", "either ");
  p.dilation = parameter(dilation, dims, name, "dilation", "either ");
  check_input(name, x, dims);
  return p;
}

std::string sizes_text(int64_t planes, const Windows& windows, int64_t Window::*field) {
  std::string out = "(" + std::to_string(planes);
  for (const Window& w : windows) out += "x" + std::to_string(w.*field);
  return out + ")";
}

Windows windows_of(const Pool& p) {
  Windows windows;
  for (size_t d = 0; d < p.dims; ++d) {
    check(p.kernel[d] > 0, "kernel size should be greater than zero, but got ", ref(p.kernel));
    check(p.stride[d] != 0, "stride should not be zero");
    check(p.stride[d] > 0, "stride should be greater than zero, but got ", ref(p.stride));
    check(p.dilation[d] > 0, "dilation should be greater than zero, but got ", ref(p.dilation));
    check(p.padding[d] >= 0, "pad must be non-negative, but got pad: ", p.padding[d]);
    check(p.padding[d] <= ((p.kernel[d] - 1) * p.dilation[d] + 1) / 2,
          "pad should be at most half of effective kernel size, but got pad=", p.padding[d], ", kernel_size=", p.kernel[d],
          " and dilation=", p.dilation[d]);
    Window w{p.input.sizes()[p.lead() + d], p.kernel[d], p.stride[d], p.padding[d], p.padding[d], p.dilation[d]};
    w.count = w.fitting(p.ceil_mode);
    windows.push_back(w);
  }
  const int64_t planes = p.input.size(-static_cast<int64_t>(p.dims) - 1);
  const bool fits = std::all_of(windows.begin(), windows.end(), [](const Window& w) { return w.count > 0; });
  check(fits, "Given input size: ", sizes_text(planes, windows, &Window::size),
        ". Calculated output size: ", sizes_text(planes, windows, &Window::count), ". Output size is too small");
  return windows;
}

Dims result_shape(const Pool& p, const Windows& windows) {
  Dims shape(span_of({p.input.sizes().data(), p.lead()}));
  for (const Window& w : windows) shape.push_back(w.count);
  checked_numel(ref(shape));
  return shape;
}

// The index along a dim of `shape`, as int64.
Expr position(const Dims& shape, size_t dim) { return {iota_node(shape, static_cast<int64_t>(dim))}; }

Expr integer(const Expr& like, int64_t value) { return number(like, Scalar(value)); }

// --- maximum

// Windows with the dims of each window as one: [lead..., kernel, counts...].
NodeRef flat_windows(const Pool& p, const Windows& windows) {
  const NodeRef seen = sliding_windows(node_of(p.input), windows, lowest(ir_type(p.input.scalar_type())));
  Dims shape(std::span(seen->shape().data(), p.lead()));
  int64_t each = 1;
  for (const Window& w : windows) each *= w.kernel;
  shape.push_back(each);
  for (const Window& w : windows) shape.push_back(w.count);
  return ir::reshape(seen, shape);
}

// From the place of the maximum in its window, counted in row-major order, to its place in the plane. A
// window without anything above the padding says place 0, which may lie before the plane: then it is the
// first position inside.
Expr plane_index(const Expr& place, const Windows& windows, size_t lead) {
  const Dims& shape = place.node->shape();
  Expr result = integer(place, 0), rest = place;
  int64_t plane = 1;
  for (size_t d = windows.size(); d-- > 0;) {
    const Window& w = windows[d];
    const Expr kernel = integer(rest, w.kernel);
    const Expr within = d == 0 ? rest : rest - rest / kernel * kernel;
    const Expr first = position(shape, lead + d) * integer(rest, w.stride) - integer(rest, w.low);
    Expr where = first + within * integer(rest, w.dilation);
    if (w.low > 0) {
      const Expr missing = -where + integer(rest, w.dilation - 1);
      const Expr inside = where + missing / integer(rest, w.dilation) * integer(rest, w.dilation);
      where = select(where < 0.0, inside, where);
    }
    result = result + where * integer(rest, plane);
    rest = rest / kernel;
    plane *= w.size;
  }
  return result;
}

Tensor max_values(const Pool& p) {
  const Windows windows = windows_of(p);
  const Dims shape = result_shape(p, windows);
  if (ir::element_count(shape) == 0) return record(constant_node(lowest(ir_type(p.input.scalar_type())), shape));
  const NodeRef best = ir::reduce(Op::ReduceMax, flat_windows(p, windows), Dims{static_cast<int64_t>(p.lead())});
  return record(ir::reshape(best, shape));
}

Tensor max_indices(const Pool& p) {
  const Windows windows = windows_of(p);
  const Dims shape = result_shape(p, windows);
  if (ir::element_count(shape) == 0) return record(constant_node(ir::constant(DType::I64, int64_t{0}), shape));
  const NodeRef place = ir::reduce(Op::ArgMax, flat_windows(p, windows), Dims{static_cast<int64_t>(p.lead())});
  return record(plane_index({ir::reshape(place, shape)}, windows, p.lead()).node);
}

// --- average

// How many positions of window i along a dim count: those within the input, or within the padded input.
Expr counted(const Window& w, const Dims& shape, size_t dim, bool include_pad) {
  const Expr first = position(shape, dim) * integer({iota_node(shape, 0)}, w.stride) - integer({iota_node(shape, 0)}, w.low);
  const Expr end = apply(Op::Min, first + integer(first, w.kernel), integer(first, w.size + (include_pad ? w.high : 0)));
  return end - (include_pad ? first : apply(Op::Max, first, integer(first, 0)));
}

bool all_alike(const Window& w, bool include_pad) {
  const bool inside = (w.count - 1) * w.stride + w.kernel <= w.padded();
  return inside && (include_pad || w.low == 0);
}

Tensor average(const Pool& p, bool count_include_pad, optional<int64_t> divisor) {
  check<NotImplementedError>(p.input.is_floating_point() || p.input.scalar_type() == kLong, '"', p.name,
                             "_out_frame\" not implemented for '", p.input.scalar_type(), "'");
  const ScalarType type = p.input.scalar_type();
  const Windows windows = windows_of(p);
  const Dims shape = result_shape(p, windows);
  if (ir::element_count(shape) == 0) return record(constant_node(ir::constant(ir_type(type), int64_t{0}), shape));
  const NodeRef x = formula_operand(p.input, type).node;
  Dims window_dims;
  for (size_t d = 0; d < p.dims; ++d) window_dims.push_back(static_cast<int64_t>(p.lead() + d));
  const NodeRef seen = sliding_windows(x, windows, ir::constant(x->dtype(), int64_t{0}));
  const Expr total{ir::reshape(ir::reduce(Op::Sum, seen, window_dims), shape)};
  if (divisor) return record_as(total / number(total, Scalar(*divisor)), type);
  int64_t constant = 1;
  Expr varying{};
  for (size_t d = 0; d < p.dims; ++d) {
    if (all_alike(windows[d], count_include_pad)) {
      constant *= windows[d].kernel;
      continue;
    }
    const Expr count = counted(windows[d], shape, p.lead() + d, count_include_pad);
    varying = varying.node ? varying * count : count;
  }
  if (!varying.node) return record_as(total / number(total, Scalar(constant)), type);
  return record_as(total / cast(varying * integer(varying, constant), total.dtype()), type);
}

// --- adaptive

struct Adaptive {
  const char* name;
  Tensor input;
  Dims output;

  size_t dims() const { return output.size(); }
  size_t lead() const { return input.sizes().size() - dims(); }
  int64_t in(size_t d) const { return input.sizes()[lead() + d]; }
  // Windows of one size that tile the dim.
  bool regular() const {
    for (size_t d = 0; d < dims(); ++d) {
      if (output[d] == 0 || in(d) % output[d] != 0) return false;
    }
    return true;
  }
};

std::string braced(const Dims& sizes) {
  std::string list = text(ref(sizes));
  list.front() = '{';
  list.back() = '}';
  return list;
}

Adaptive make_adaptive(const char* name, const Tensor& x, size_t dims, IntArrayRef output) {
  check(output.size() == 1 || output.size() == dims, name, ": output_size must be ", dims);
  const int64_t rank = x.dim(), d = static_cast<int64_t>(dims);
  check(rank == d + 1 || rank == d + 2, name, "(): Expected ", d + 1, "D or ", d + 2, "D tensor, but got ", x.sizes());
  for (int64_t i = rank - d; i < rank; ++i) {
    check(x.size(i) > 0, name, "(): Expected input to have non-zero size for non-batch dimensions, but input has sizes ", x.sizes(),
          " with dimension ", i, " being empty");
  }
  Adaptive a{name, x, output.size() == 1 ? Dims(dims, output[0]) : dims_of(output)};
  for (size_t i = 0; i < dims; ++i) {
    if (a.output[i] == ExpandingArrayWithOptionalElem<1>::kAbsent) a.output[i] = a.in(i);
    check(a.output[i] >= 0, name, ": elements of output_size must be greater than or equal to 0 but received ", braced(a.output));
  }
  return a;
}

Pool regular_pool(const Adaptive& a) {
  Pool p{a.name, a.input, a.dims(), {}, {}, Dims(a.dims(), 0), Dims(a.dims(), 1), false};
  for (size_t d = 0; d < a.dims(); ++d) p.kernel.push_back(a.in(d) / a.output[d]);
  p.stride = p.kernel;
  return p;
}

int64_t start_of(int64_t i, int64_t in, int64_t out) { return i * in / out; }
int64_t end_of(int64_t i, int64_t in, int64_t out) { return ((i + 1) * in + out - 1) / out; }

struct Gathered {
  Expr values;  // [..., out, widest, ...] in place of [..., in, ...]
  Expr inside;  // does this position belong to the window?
  Expr where;   // its index in the input's dim
};

// A line's values along one dim of a shape; `dims` of them together.
Expr along(const Expr& line, const Dims& shape, size_t dim, size_t dims = 1) {
  Dims lined(shape.size() - dim, 1);
  std::copy_n(line.shape().begin(), dims, lined.begin());
  return broadcast(Expr{ir::reshape(line.node, lined)}, shape);
}

// The windows along one dim, each as wide as the widest.
Gathered gather_windows(const NodeRef& x, size_t dim, int64_t out) {
  const int64_t in = x->shape()[dim];
  int64_t widest = 0;
  for (int64_t i = 0; i < out; ++i) widest = std::max(widest, end_of(i, in, out) - start_of(i, in, out));
  Dims shape = x->shape(), flat = x->shape();
  shape[dim] = out;
  shape.insert(dim + 1, widest);
  flat[dim] = out * widest;
  checked_numel(ref(shape));
  const Dims windows{out, widest};
  const Expr i = position(windows, 0), k = position(windows, 1);
  const Expr start = i * integer(i, in) / integer(i, out);
  const Expr end = ((i + integer(i, 1)) * integer(i, in) + integer(i, out - 1)) / integer(i, out);
  const Expr where = apply(Op::Min, start + k, integer(i, in - 1));
  const Expr index = along({ir::reshape(where.node, Dims{out * widest})}, flat, dim);
  const NodeRef values = ir::gather(x, index.node, static_cast<int64_t>(dim));
  return {{ir::reshape(values, shape)}, along(start + k < end, shape, dim, 2), along(where, shape, dim, 2)};
}

NodeRef without_dim(const NodeRef& x, size_t dim) {
  Dims shape = x->shape();
  shape.erase(dim);
  return ir::reshape(x, shape);
}

NodeRef reduce_dim(Op op, const Expr& x, size_t dim) { return without_dim(ir::reduce(op, x.node, Dims{static_cast<int64_t>(dim)}), dim); }

// The sums of windows, along the dims from `lead` on.
NodeRef window_sums(NodeRef x, size_t lead, const Dims& output) {
  for (size_t d = 0; d < output.size(); ++d) {
    const Gathered g = gather_windows(x, lead + d, output[d]);
    x = reduce_dim(Op::Sum, select(g.inside, g.values, number(g.values, 0.0)), lead + d + 1);
  }
  return x;
}

// How many elements each window has.
Expr window_counts(const Dims& result, size_t lead, const Dims& input) {
  Expr count = integer(position(result, 0), 1);
  for (size_t d = lead; d < result.size(); ++d) {
    const Expr i = position(Dims{result[d]}, 0), in = integer(i, input[d]), out = integer(i, result[d]);
    count = count * along(((i + integer(i, 1)) * in + integer(i, result[d] - 1)) / out - i * in / out, result, d);
  }
  return count;
}

Dims last_of(const Dims& dims, size_t count) { return Dims(span_of({dims.data() + dims.size() - count, count})); }
Tensor adaptive_average(const Adaptive& a);

// The gradient of the means of windows. Position p lies in those windows that would be its own if the output were pooled to the input's
// size: from floor(p * out / in) to ceil((p + 1) * out / in).
Tensor adaptive_average_gradient(const char* name, const Tensor& grad, const Dims& input, size_t dims) {
  GradScope scope("AdaptiveAvgPool2DBackwardBackward0", grad);
  const ScalarType type = grad.scalar_type();
  const Dims output = last_of(dims_of(grad.sizes()), dims);
  scope.rule(kReadsNothing, [name, output](GradCall& c) { c.give(0, adaptive_average({name, c.grad(), output})); });
  const Expr g = formula_operand(grad, type);
  const Expr share = g / cast(window_counts(g.shape(), g.shape().size() - dims, input), g.dtype());
  return record_as({window_sums(share.node, input.size() - dims, last_of(input, dims))}, type);
}

void set_adaptive_average_rule(GradScope& scope, const Adaptive& a) {
  if (a.regular() || std::ranges::count(a.output, 0) > 0 || a.input.numel() == 0) return;
  scope.rule(kReadsNothing, [name = a.name, input = dims_of(a.input.sizes()), dims = a.dims()](GradCall& c) {
    c.give(0, adaptive_average_gradient(name, c.grad(), input, dims));
  });
}

Tensor adaptive_average(const Adaptive& a) {
  const ScalarType type = a.input.scalar_type();
  check<NotImplementedError>(a.input.is_floating_point(), "\"adaptive_avg_pool2d_cpu\" not implemented for '", type, "'");
  if (a.regular()) return average(regular_pool(a), true, nullopt);
  Dims result(span_of({a.input.sizes().data(), a.lead()}));
  result.append(a.output.data(), a.output.size());
  if (checked_numel(ref(result)) == 0) return record(constant_node(ir::constant(ir_type(type), int64_t{0}), result));
  const Expr sum{window_sums(formula_operand(a.input, type).node, a.lead(), a.output)};
  return record_as(sum / cast(window_counts(result, a.lead(), dims_of(a.input.sizes())), sum.dtype()), type);
}

// The index of the maximum is found dim by dim, from the last: where along it, then, among those, which row.
std::tuple<Tensor, Tensor> adaptive_maximum(const Adaptive& a) {
  if (a.regular()) {
    const Pool p = regular_pool(a);
    return {max_values(p), max_indices(p)};
  }
  Dims result(span_of({a.input.sizes().data(), a.lead()}));
  result.append(a.output.data(), a.output.size());
  const ir::Constant low = lowest(ir_type(a.input.scalar_type())), zero = ir::constant(DType::I64, int64_t{0});
  if (checked_numel(ref(result)) == 0) return {record(constant_node(low, result)), record(constant_node(zero, result))};
  NodeRef best = node_of(a.input);
  NodeRef index = iota_node(best->shape(), static_cast<int64_t>(a.lead() + a.dims() - 1));
  int64_t plane = a.in(a.dims() - 1);
  for (size_t d = a.dims(); d-- > 0;) {
    const size_t dim = a.lead() + d;
    if (d + 1 < a.dims()) {  // the rows above
      const Expr row{iota_node(index->shape(), static_cast<int64_t>(dim))};
      index = (Expr{index} + row * integer(row, plane)).node;
      plane *= a.in(d);
    }
    const Gathered g = gather_windows(best, dim, a.output[d]);
    const Gathered from = gather_windows(index, dim, a.output[d]);
    const Expr masked = select(g.inside, g.values, {constant_node(low, g.values.node->shape())});
    const NodeRef place = ir::reduce(Op::ArgMax, masked.node, Dims{static_cast<int64_t>(dim + 1)});
    best = reduce_dim(Op::ReduceMax, masked, dim + 1);
    index = without_dim(ir::gather(from.values.node, place, static_cast<int64_t>(dim + 1)), dim + 1);
  }
  return {record(best), record(index)};
}

// PyTorch makes a pool with two dims of the pool with one.
constexpr const char* kMaxPoolGrad[] = {"SqueezeBackward1", "MaxPool2DWithIndicesBackward0", "MaxPool3DWithIndicesBackward0"};
constexpr const char* kAdaptiveMaxPoolGrad[] = {"SqueezeBackward1", "AdaptiveMaxPool2DBackward0", "AdaptiveMaxPool3DBackward0"};
constexpr const char* kAdaptiveAvgPoolGrad[] = {"SqueezeBackward1", "AdaptiveAvgPool2DBackward0", "AdaptiveAvgPool3DBackward0"};

}  // namespace

#define TENON_DEFINE(dims, count)                                                                                                    \
  Tensor max_pool##dims(const Operand& self, IntArrayRef kernel_size, IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation, \
                        bool ceil_mode) {                                                                                            \
    const CallScope call("max_pool" #dims, self);                                                                                    \
    GradScope scope(kMaxPoolGrad[count - 1], self);                                                                                  \
    scope.derivative_reads(reads_operand(0));                                                                                        \
    scope.saves(reads_operand(0) | kReadsIndices);                                                                                   \
    scope.first_of_ties();                                                                                                           \
    return max_values(make_pool("max_pool" #dims, self, count, kernel_size, stride, padding, dilation, ceil_mode));                  \
  }                                                                                                                                  \
  std::tuple<Tensor, Tensor> max_pool##dims##_with_indices(const Operand& self, IntArrayRef kernel_size, IntArrayRef stride,         \
                                                           IntArrayRef padding, IntArrayRef dilation, bool ceil_mode) {              \
    GradScope scope(kMaxPoolGrad[count - 1], self);                                                                                  \
    scope.derivative_reads(reads_operand(0));                                                                                        \
    scope.saves(reads_operand(0) | kReadsIndices);                                                                                   \
    scope.first_of_ties();                                                                                                           \
    const Pool p = make_pool("max_pool" #dims, self, count, kernel_size, stride, padding, dilation, ceil_mode);                      \
    return {max_values(p), max_indices(p)};                                                                                          \
  }                                                                                                                                  \
  Tensor adaptive_avg_pool##dims(const Operand& self, IntArrayRef output_size) {                                                     \
    const bool whole = count > 1 && std::ranges::all_of(output_size, [](int64_t size) { return size == 1; });                        \
    GradScope scope(whole ? "MeanBackward1" : kAdaptiveAvgPoolGrad[count - 1], self);                                                \
    if (!whole) scope.derivative_reads(reads_operand(0));                                                                            \
    scope.saves(whole ? kReadsNothing : reads_operand(0));                                                                           \
    const Adaptive pool = make_adaptive("adaptive_avg_pool" #dims, self, count, output_size);                                        \
    set_adaptive_average_rule(scope, pool);                                                                                          \
    return adaptive_average(pool);                                                                                                   \
  }                                                                                                                                  \
  std::tuple<Tensor, Tensor> adaptive_max_pool##dims(const Operand& self, IntArrayRef output_size) {                                 \
    GradScope scope(kAdaptiveMaxPoolGrad[count - 1], self);                                                                          \
    scope.derivative_reads(reads_operand(0));                                                                                        \
    scope.saves(reads_operand(0) | kReadsIndices);                                                                                   \
    scope.first_of_ties();                                                                                                           \
    return adaptive_maximum(make_adaptive("adaptive_max_pool" #dims, self, count, output_size));                                     \
  }
TENON_DEFINE(1d, 1)
TENON_DEFINE(2d, 2)
TENON_DEFINE(3d, 3)
#undef TENON_DEFINE

Tensor avg_pool1d(const Operand& self, IntArrayRef kernel_size, IntArrayRef stride, IntArrayRef padding, bool ceil_mode,
                  bool count_include_pad) {
  GradScope scope("SqueezeBackward1", self);
  scope.derivative_reads(reads_operand(0));
  scope.saves(reads_operand(0));
  return average(make_pool("avg_pool1d", self, 1, kernel_size, stride, padding, 1, ceil_mode), count_include_pad, nullopt);
}
Tensor avg_pool2d(const Operand& self, IntArrayRef kernel_size, IntArrayRef stride, IntArrayRef padding, bool ceil_mode,
                  bool count_include_pad, optional<int64_t> divisor_override) {
  GradScope scope("AvgPool2DBackward0", self);
  scope.derivative_reads(reads_operand(0));
  scope.saves(reads_operand(0));
  check(!divisor_override || *divisor_override != 0, "divisor must be not zero");
  return average(make_pool("avg_pool2d", self, 2, kernel_size, stride, padding, 1, ceil_mode), count_include_pad, divisor_override);
}
Tensor avg_pool3d(const Operand& self, IntArrayRef kernel_size, IntArrayRef stride, IntArrayRef padding, bool ceil_mode,
                  bool count_include_pad, optional<int64_t> divisor_override) {
  GradScope scope("AvgPool3DBackward0", self);
  scope.derivative_reads(reads_operand(0));
  scope.saves(reads_operand(0));
  check(!divisor_override || *divisor_override != 0, "divisor must be not zero");
  return average(make_pool("avg_pool3d", self, 3, kernel_size, stride, padding, 1, ceil_mode), count_include_pad, divisor_override);
}

}  // namespace tenon
