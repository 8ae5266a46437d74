// The walk under the graph passes: takes a graph and a function on nodes, gives the graph of the new nodes.
#include "passes/graph/rebuild_graph.h"

#include <algorithm>

namespace tenon::passes {

using ir::Node, ir::NodeRef;

NodeRef remake_as_is(const Node& node, std::span<const NodeRef> operands) {
  const bool same = std::equal(operands.begin(), operands.end(), node.inputs().begin(), node.inputs().end(),
                               [](const NodeRef& operand, const Node* input) { return operand.get() == input; });
  if (same) return NodeRef(const_cast<Node*>(&node));
  return ir::make_like(node, operands);
}

namespace {

// Each of `order` gets the first name that a node had whose image it is.
std::vector<std::string> names_of(std::span<Node* const> order, std::span<const NodeRef> images, std::span<const std::string> names) {
  std::vector<std::string> result(order.size());
  if (std::ranges::all_of(names, [](const std::string& name) { return name.empty(); })) return result;
  ir::NodeMap<size_t> position;
  for (size_t i = 0; i < order.size(); ++i) position[order[i]] = i;
  for (size_t i = 0; i < std::min(images.size(), names.size()); ++i) {
    std::string& name = result[position.at(images[i].get())];
    if (name.empty()) name = names[i];
  }
  return result;
}

}  // namespace

ir::Graph rebuild(const ir::Graph& graph, const Remake& remake) {
  ir::NodeMap<size_t> position;  // in graph.nodes
  std::vector<NodeRef> images, operands;
  position.reserve(graph.nodes.size());
  images.reserve(graph.nodes.size());
  bool changed = false;
  for (const NodeRef& node : graph.nodes) {
    operands.clear();
    for (const Node* input : node->inputs()) operands.push_back(images[position.at(input)]);
    position[node.get()] = images.size();
    images.push_back(node->is_leaf() ? node : remake(*node, operands));
    changed = changed || images.back() != node;
  }
  if (!changed) return graph;

  ir::Graph result;
  result.name = graph.name;
  result.inputs = graph.inputs;
  result.outputs.reserve(graph.outputs.size());
  for (const NodeRef& output : graph.outputs) result.outputs.push_back(images[position.at(output.get())]);
  const std::vector<Node*> order = ir::topological_order(images);
  result.nodes.reserve(order.size());
  for (Node* node : order) result.nodes.emplace_back(node);
  result.names = names_of(order, images, graph.names);
  return result;
}

ir::Graph rebuild_some(const ir::Graph& graph, const std::function<bool(const Node&)>& is_wanted, const Remake& remake) {
  if (std::ranges::none_of(graph.nodes, [&](const NodeRef& node) { return is_wanted(*node); })) return graph;
  return rebuild(graph, [&](const Node& node, std::span<const NodeRef> operands) {
    return is_wanted(node) ? remake(node, operands) : remake_as_is(node, operands);
  });
}

Readers readers_of(const ir::Graph& graph) {
  Readers readers;
  for (const NodeRef& node : graph.nodes) readers[node.get()];  // also those that have no readers any more
  for (const ir::Node* node : ir::topological_order(graph.outputs)) {
    for (const ir::Node* operand : node->inputs()) readers[operand].push_back(node);
  }
  for (const ir::NodeRef& output : graph.outputs) readers[output.get()].push_back(nullptr);
  return readers;
}

NodeRef copied(const NodeRef& value) { return ir::make_node(ir::Op::Cast, {&value, 1}, {}, value->dtype(), ir::Folding::Off); }

bool lies_along_rows(const ir::Node* x) {
  using ir::Op;
  while (x->op() == Op::Expand || (x->op() == Op::Reshape && same_but_for_ones(x->shape(), x->inputs()[0]->shape()))) x = x->inputs()[0];
  const auto rank = static_cast<size_t>(x->rank());
  if (rank < 2 || x->shape()[rank - 2] == 1) return true;
  if (x->op() == Op::Permute) return x->ints()[rank - 1] > x->ints()[rank - 2];
  return x->op() != Op::Strided || x->ints()[2 * rank - 1] <= x->ints()[2 * rank - 2];
}

bool joins_moved_dims(const Node& reshape) {
  const Node& view = *reshape.inputs()[0];
  const ir::Dims strides = ir::contiguous_strides(view.inputs()[0]->shape());
  const ir::Dims &from = view.shape(), &to = reshape.shape();
  int64_t parts = 1, whole = 1;  // of the dims that are joined now
  size_t t = 0;
  int64_t outer = -1;  // the stride of the last of them
  for (size_t d = 0; d < from.size(); ++d) {
    if (from[d] == 1) continue;
    const int64_t stride = strides[view.ints()[d]];
    if (parts < whole && outer != stride * from[d]) return true;
    parts *= from[d];
    while (whole < parts && t < to.size()) whole *= to[t++];
    outer = stride;
  }
  return false;
}

ir::Dims long_dims(const ir::Dims& shape) {
  ir::Dims result;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] != 1) result.push_back(static_cast<int64_t>(d));
  }
  return result;
}

bool same_but_for_ones(const ir::Dims& a, const ir::Dims& b) {
  const ir::Dims x = long_dims(a), y = long_dims(b);
  return std::ranges::equal(
      x, y, {}, [&](int64_t d) { return a[d]; }, [&](int64_t d) { return b[d]; });
}

}  // namespace tenon::passes
