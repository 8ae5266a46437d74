// Where a node's operands are read, as index maps. In: a node of a group and the map of its element. Out: the map of each operand's, or
// its place in a buffer.
#include "passes/fusion/reads.h"

#include "ir/graph/graph_evaluate.h"

namespace tenon::passes::fusion {

namespace {

// The kept dims from the map, the reduced ones along the inner axes.
std::vector<Read> reads_of_reduction(const Group& g, const Node& node, const Map& map) {
  Map from = map;
  const ReduceShape shape = reduce_shape(node);
  for (size_t run = 0; run < shape.runs.size(); ++run) {
    std::vector<int64_t> extents;
    for (int d : shape.runs[run]) extents.push_back(node.inputs()[0]->shape()[d]);
    const auto parts = ir::unflatten(g.axis(g.reduction->axes[run]), extents);
    for (size_t i = 0; i < parts.size(); ++i) from[shape.runs[run][i]] = parts[i];
  }
  return {{node.inputs()[0], std::move(from)}};
}

std::vector<Read> reads_of_dot(const Group& g, const Node& node, const Map& map) {
  Map a = map, b = map;
  a.back() = b[b.size() - 2] = g.axis(*g.contraction);
  return {{node.inputs()[0], std::move(a), Access::Left}, {node.inputs()[1], std::move(b), Access::Right}};
}

std::vector<Read> reads_of_pad(const Node& node, const Map& map) {
  Node* x = node.inputs()[0];
  Read inside{x, map, Access::Guarded};
  for (size_t d = 0; d < map.size(); ++d) {
    inside.map[d] = map[d] - node.ints()[d];
    if (node.shape()[d] != x->shape()[d]) inside.guards.push_back({inside.map[d], 0, x->shape()[d]});
  }
  return {std::move(inside), {node.inputs()[1], {}}};
}

std::vector<Read> reads_of_cat(const Node& node, const Map& map) {
  std::vector<Read> parts;
  const auto dim = static_cast<size_t>(node.ints()[0]);
  int64_t start = 0;
  for (Node* part : node.inputs()) {
    const int64_t size = part->shape()[dim];
    parts.push_back({part, map, Access::Guarded});
    parts.back().map[dim] = map[dim] - start;
    parts.back().guards.push_back({parts.back().map[dim], 0, size});
    start += size;
  }
  return parts;
}

// The index is a value like others; the elements lie in memory, anywhere along the gathered dim.
std::vector<Read> reads_of_gather(const Node& node, const Map& map) {
  const GatherSource source = gather_source(node);
  Read from{source.buffer, {}, Access::Whole};
  if (source.through_views) {
    from = {node.inputs()[0], map, Access::Picked};
    from.map[node.ints()[0]] = Index();
  }
  return {std::move(from), {node.inputs()[1], map}};
}

std::vector<Read> reads_of_update(const Group& g, const Node& node, const Map& map) {
  if (!is_update(node)) return {{node.inputs()[0], map}};
  Read value{node.inputs()[1], map};
  if (g.update->from_memory) value.access = Access::Whole;
  return {{buffer_behind(node.inputs()[0]), {}, Access::Whole}, std::move(value)};
}

std::vector<Read> reads_of_call(const Node& node) {
  std::vector<Read> sources;
  for (Node* operand : node.inputs()) {
    Node* source = operand_source(node, operand).buffer;
    if (node.op() != Op::Cat || source->op() != Op::Const) sources.push_back({source, {}, Access::Whole});
  }
  return sources;
}

}  // namespace

std::vector<Read> reads(const Group& g, const Node& node, const Map& map) {
  if (g.call) return reads_of_call(node);
  const Op op = node.op();
  if (op == Op::Const || op == Op::Iota || is_empty_reduce(node)) return {};
  if (is_view(op)) return {{node.inputs()[0], through_view(node, map)}};
  if (ir::is_reduce(op)) return reads_of_reduction(g, node, map);
  switch (op) {
    case Op::Dot: return reads_of_dot(g, node, map);
    case Op::Pad: return reads_of_pad(node, map);
    case Op::Cat: return reads_of_cat(node, map);
    case Op::Gather: return reads_of_gather(node, map);
    case Op::Update: return reads_of_update(g, node, map);
    default: break;
  }
  std::vector<Read> operands;
  operands.reserve(node.inputs().size());
  for (Node* input : node.inputs()) operands.push_back({input, map});
  return operands;
}

}  // namespace tenon::passes::fusion
