// Windows of many channels are read channel by channel. Tensor cores take 16 k of a convolution of halves at once, and those that lie
// side by side are copied to them by 16 bytes. So the channels become the innermost part of k, or of the rows of the weights' gradient,
// and where that pays, the image is stored so:
//
//   %p = pad %x ... : f16[N,C,H,W]                              %c = cast (permute %x [0,2,3,1]) : f16[N,h,w,C]
//   %s = strided %p ... : f16[N,C,3,3,h,w]               ->     %s = strided (pad %c) ... : f16[N,1,3,3,C,h,w]
//   %t = reshape, permute %s : f16[N,1,1,9*C,h*w]               %t = reshape, permute %s : f16[N,1,1,9*C,h*w]
//   %d = dot (expand %f : f16[N,1,1,F,9*C]), %t                 %d = dot (expand (cast of %f in the same order)), %t
//
// The sum takes its k in another order then, which tensor cores do in any case. Everything else keeps its bits.
#include <algorithm>
#include <numeric>
#include <optional>

#include "passes/graph/rebuild_graph.h"
#include "passes/passes.h"
#include "passes/schedule/schedule.h"

namespace tenon::passes {
namespace {

using ir::Dims, ir::Node, ir::NodeRef, ir::Op;

constexpr int64_t kPiece = 8;  // halves of 16 bytes

// An operand of a product: views of overlapping windows [N, C, taps.., places..] of an image [N, C, sizes..], of which one dim is channels
// and taps, those of one group.
struct ChannelWindows {
  const Node* windows = nullptr;
  std::vector<const Node*> views;  // of the windows, the first first
  int64_t groups = 1, channels = 1, taps = 1;
  size_t dim = 0;  // of the operand

  const Node& image() const { return *windows->inputs()[0]; }
  size_t spatial() const { return image().shape().size() - 2; }
  Dims sizes() const { return part(0); }
  Dims strides() const { return part(1); }
  int64_t offset() const { return windows->ints().back(); }

 private:
  Dims part(size_t number) const {
    const size_t rank = windows->shape().size();
    return Dims(std::span(windows->ints()).subspan(number * rank, rank));
  }
};

// Steps and an offset in places of the image's spatial dims, for any order in which these lie.
struct Steps {
  Dims tap, place, first;
};

// Nothing if a window runs over the end of a line.
std::optional<Steps> steps_of(const ChannelWindows& w) {
  const Dims image = w.image().shape(), of_image = ir::contiguous_strides(image), sizes = w.sizes(), strides = w.strides();
  const size_t spatial = w.spatial();
  if (sizes[0] != image[0] || sizes[1] != image[1] || strides[1] != of_image[1] || (image[0] > 1 && strides[0] != of_image[0])) return {};
  Steps steps;
  int64_t rest = w.offset();
  for (size_t d = 0; d < spatial; ++d) {
    const int64_t apart = of_image[2 + d], tap = strides[2 + d], place = strides[2 + spatial + d], first = rest / apart;
    if (tap % apart != 0 || place % apart != 0) return {};
    const int64_t last = first + (sizes[2 + d] - 1) * (tap / apart) + (sizes[2 + spatial + d] - 1) * (place / apart);
    if (last >= image[2 + d]) return {};
    steps.tap.push_back(tap / apart);
    steps.place.push_back(place / apart);
    steps.first.push_back(first);
    rest %= apart;
  }
  return steps;
}

// The dim of the windows' first view that is channels and taps, with the number of groups; nothing if there is none.
bool find_channels(ChannelWindows& w) {
  const Dims sizes = w.sizes();
  w.taps = std::accumulate(sizes.begin() + 2, sizes.begin() + 2 + static_cast<std::ptrdiff_t>(w.spatial()), int64_t{1}, std::multiplies());
  const Node& view = *w.views.front();
  if (view.op() != Op::Reshape || w.taps == 1) return false;
  int64_t before = 1;  // elements of the dims before
  for (size_t d = 0; d < view.shape().size(); before *= view.shape()[d++]) {
    if (before % sizes[0] != 0 || sizes[1] % (before / sizes[0]) != 0) continue;
    w.groups = before / sizes[0];
    w.channels = sizes[1] / w.groups;
    w.dim = d;
    if (view.shape()[d] == w.channels * w.taps && w.channels > 1) return true;
  }
  return false;
}

// Where the further views have that dim; nothing if one takes it apart.
bool follow_channels(ChannelWindows& w) {
  for (const Node* view : std::span(w.views).subspan(1)) {
    if (view->op() == Op::Permute) {
      w.dim = static_cast<size_t>(std::ranges::find(view->ints(), static_cast<int64_t>(w.dim)) - view->ints().begin());
      continue;
    }
    const Dims &from = view->inputs()[0]->shape(), &to = view->shape();
    const auto elements = [](const Dims& shape, size_t dims) { return ir::element_count(std::span(shape.data(), dims)); };
    size_t d = 0;
    while (d < to.size() && (elements(to, d) != elements(from, w.dim) || to[d] != from[w.dim])) ++d;
    if (d == to.size()) return false;
    w.dim = d;
  }
  return true;
}

std::optional<ChannelWindows> channel_windows(const NodeRef& operand) {
  ChannelWindows w;
  const Node* node = operand.get();
  for (; node->op() == Op::Reshape || node->op() == Op::Permute; node = node->inputs()[0]) w.views.push_back(node);
  const size_t rank = node->op() == Op::Strided ? node->inputs()[0]->shape().size() : 0;
  if (rank < 3 || node->shape().size() != 2 * rank - 2 || w.views.empty()) return {};
  std::reverse(w.views.begin(), w.views.end());
  w.windows = node;
  if (!find_channels(w) || !follow_channels(w) || w.channels % kPiece != 0) return {};
  return w;
}

// --- what is made

// [N, C, sizes..] as [N, sizes.., C].
NodeRef channels_last(const NodeRef& x) {
  Dims order(x->shape().size(), 0);
  std::iota(order.begin(), order.end(), int64_t{0});
  std::rotate(order.begin() + 1, order.begin() + 2, order.end());
  return ir::permute(x, order);
}

// The image with its channels last, stored so; its border is no part of that.
NodeRef stored_channels_last(const Node& image) {
  if (image.op() != Op::Pad) return copied(channels_last(NodeRef(const_cast<Node*>(&image))));
  const size_t rank = image.shape().size();
  const auto moved = [&](size_t first) {
    Dims dims(std::span(image.ints()).subspan(first, rank));
    std::rotate(dims.begin() + 1, dims.begin() + 2, dims.end());
    return dims;
  };
  return ir::pad(copied(channels_last(NodeRef(image.inputs()[0]))), NodeRef(image.inputs()[1]), moved(0), moved(rank));
}

// The windows as [N, G, taps.., C/G, places..], and their views.
NodeRef by_taps(const ChannelWindows& w, const Steps& steps, bool stores) {
  const NodeRef image = stores ? stored_channels_last(w.image()) : NodeRef(w.windows->inputs()[0]);
  const Dims apart = ir::contiguous_strides(image->shape()), old = w.sizes();
  const size_t spatial = w.spatial(), first = stores ? 1 : 2;  // of its spatial dims
  const int64_t channel = apart[stores ? spatial + 1 : 1];
  Dims sizes{old[0], w.groups}, strides{apart[0], channel * w.channels};
  int64_t offset = 0;
  for (size_t d = 0; d < spatial; ++d) {
    sizes.push_back(old[2 + d]);
    strides.push_back(steps.tap[d] * apart[first + d]);
    offset += steps.first[d] * apart[first + d];
  }
  sizes.push_back(w.channels);
  strides.push_back(channel);
  for (size_t d = 0; d < spatial; ++d) {
    sizes.push_back(old[2 + spatial + d]);
    strides.push_back(steps.place[d] * apart[first + d]);
  }
  NodeRef node = ir::strided(image, sizes, strides, offset);
  for (const Node* view : w.views) node = view->op() == Op::Reshape ? ir::reshape(node, view->shape()) : ir::permute(node, view->ints());
  return node;
}

// x with its dim `dim`, so many outer ones times inner ones, in the other order.
NodeRef exchanged(const NodeRef& x, size_t dim, int64_t outer, int64_t inner) {
  Dims split(std::span(x->shape().data(), dim)), order(x->shape().size() + 1, 0);
  for (const int64_t size : {outer, inner}) split.push_back(size);
  split.append(x->shape().data() + dim + 1, x->shape().size() - dim - 1);
  std::iota(order.begin(), order.end(), int64_t{0});
  std::swap(order[dim], order[dim + 1]);
  return ir::reshape(ir::permute(ir::reshape(x, split), order), x->shape());
}

// The partner of windows whose k is in another order; what is the same for all products is so once.
NodeRef partner(const NodeRef& x, size_t dim, const ChannelWindows& w, bool stores) {
  if (x->op() == Op::Expand && x->inputs()[0]->shape().size() == x->shape().size() && x->inputs()[0]->shape()[dim] == x->shape()[dim])
    return ir::expand(partner(NodeRef(x->inputs()[0]), dim, w, stores), x->shape());
  const NodeRef moved = exchanged(x, dim, w.channels, w.taps);
  return stores ? copied(moved) : moved;
}

NodeRef product(const Node& dot, std::span<const NodeRef> operands, size_t side, const ChannelWindows& w, const Steps& steps, bool stores) {
  const size_t rank = dot.shape().size(), k = side == 0 ? rank - 1 : rank - 2;  // of the windows
  NodeRef factors[2] = {operands[0], operands[1]};
  factors[side] = by_taps(w, steps, stores);
  if (w.dim == k) {
    factors[1 - side] = partner(operands[1 - side], side == 0 ? rank - 2 : rank - 1, w, stores);
    return ir::dot(factors[0], factors[1]);
  }
  return exchanged(ir::dot(factors[0], factors[1]), side == 0 ? rank - 2 : rank - 1, w.taps, w.channels);
}

}  // namespace

ir::Graph lay_out_windows(const ir::Graph& graph, const ir::Targets& targets) {
  const auto may_change = [&](const Node& node) {
    return node.op() == Op::Dot && ir::is_half(node.dtype()) && ir::kind(ir::target_of(targets, node.device())) == ir::TargetKind::Cuda;
  };
  return rebuild_some(graph, may_change, [&](const Node& node, std::span<const NodeRef> operands) {
    for (const size_t side : {1, 0}) {
      const std::optional<ChannelWindows> w = channel_windows(operands[side]);
      const std::optional<Steps> steps = w ? steps_of(*w) : std::nullopt;
      if (!steps || w->dim + 2 < node.shape().size()) continue;
      const int64_t bytes = 2 * (w->image().numel() + w->channels * w->taps) * ir::item_size(node.dtype());
      const WindowOrder order = window_order(product_of(node), bytes, ir::target_of(targets, node.device()));
      if (order == WindowOrder::ByChannel) break;
      return product(node, operands, side, *w, *steps, order == WindowOrder::ByTapStored);
    }
    return remake_as_is(node, operands);
  });
}

}  // namespace tenon::passes
