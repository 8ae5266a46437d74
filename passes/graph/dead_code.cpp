// Drops nodes that no output needs. Parameters stay, used or not: they are the graph's interface.
//
//   %0 = exp %x : f32[4]
//   %1 = neg %x : f32[4]                  ->     %0 = neg %x : f32[4]
//   return %1                                    return %0
#include "ir/graph/graph_map.h"
#include "passes/passes.h"

namespace tenon::passes {

ir::Graph dead_code(const ir::Graph& graph) {
  ir::NodeMap<bool> needed;
  for (const ir::NodeRef& input : graph.inputs) needed.insert(input.get());
  for (ir::Node* node : ir::topological_order(graph.outputs)) needed.insert(node);

  ir::Graph result;
  result.name = graph.name;
  result.inputs = graph.inputs;
  result.outputs = graph.outputs;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    if (!needed.contains(graph.nodes[i].get())) continue;
    result.nodes.push_back(graph.nodes[i]);
    result.names.push_back(i < graph.names.size() ? graph.names[i] : "");
  }
  return result;
}

}  // namespace tenon::passes
