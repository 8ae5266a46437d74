// The walk under the graph passes: takes a graph and a function on nodes, gives the graph of the new nodes.
#include "passes/graph/rebuild_graph.h"

#include <algorithm>

namespace tenon::passes {

using ir::Node;
using ir::NodeRef;

NodeRef remake_as_is(const Node& node, std::span<const NodeRef> operands) {
  const bool same = std::equal(operands.begin(), operands.end(), node.inputs().begin(), node.inputs().end(),
                               [](const NodeRef& operand, const Node* input) { return operand.get() == input; });
  if (same) return NodeRef(const_cast<Node*>(&node));
  return ir::make_node(node.op(), operands, node.ints(), node.dtype(), ir::Folding::Off);
}

ir::Graph rebuild(const ir::Graph& graph, const Remake& remake) {
  ir::NodeMap<NodeRef> image;
  std::vector<NodeRef> images, operands;
  bool changed = false;
  for (const NodeRef& node : graph.nodes) {
    operands.clear();
    for (Node* input : node->inputs()) operands.push_back(image[input]);
    images.push_back(node->is_leaf() ? node : remake(*node, operands));
    image[node.get()] = images.back();
    changed = changed || images.back() != node;
  }
  if (!changed) return graph;

  ir::Graph result;
  result.name = graph.name;
  result.inputs = graph.inputs;
  for (const NodeRef& output : graph.outputs) result.outputs.push_back(image[output.get()]);
  ir::NodeMap<size_t> position;
  for (Node* node : ir::topological_order(images)) {
    position[node] = result.nodes.size();
    result.nodes.emplace_back(node);
  }
  result.names.resize(result.nodes.size());
  for (size_t i = 0; i < graph.nodes.size() && i < graph.names.size(); ++i) {
    std::string& name = result.names[position[images[i].get()]];
    if (name.empty()) name = graph.names[i];
  }
  return result;
}

}  // namespace tenon::passes
