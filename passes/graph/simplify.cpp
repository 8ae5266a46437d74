// Applies the algebra of ir/graph/fold.cpp to a graph that was built without it, bottom up. One walk suffices: a
// rule looks at operands that are already simple, and what it makes is simplified as it is made.
//
//   %0 = const 1.0 : f32[4]                      %0 = const 1.0 : f32[4]
//   %1 = mul %x, %0 : f32[4]              ->     %1 = neg %x : f32[4]
//   %2 = neg %1 : f32[4]                         %2 = abs %x : f32[4]
//   %3 = abs %2 : f32[4]                         return %2
//   return %3
#include "passes/graph/rebuild_graph.h"
#include "passes/passes.h"

namespace tenon::passes {

ir::Graph simplify(const ir::Graph& graph) {
  return rebuild(graph, [](const ir::Node& node, std::span<const ir::NodeRef> operands) {
    return ir::make_node(node.op(), operands, node.ints(), node.dtype(), ir::Folding::On);
  });
}

}  // namespace tenon::passes
