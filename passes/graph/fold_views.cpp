// Makes chains of movement ops one op or none, and leaves all arithmetic alone.
//
//   %0 = permute %x [1,0] : f32[3,2]
//   %1 = permute %0 [1,0] : f32[2,3]
//   %2 = reshape %1 [6] : f32[6]          ->     %0 = permute %x [1,0] : f32[3,2]
//   %3 = reshape %2 [1,6] : f32[1,6]             %1 = reshape %x [6] : f32[6]
//   return %3                                    %2 = reshape %x [1,6] : f32[1,6]
//                                                return %2
#include "passes/graph/rebuild_graph.h"
#include "passes/passes.h"

namespace tenon::passes {

ir::Graph fold_views(const ir::Graph& graph) {
  return rebuild(graph, [](const ir::Node& node, std::span<const ir::NodeRef> operands) {
    if (!ir::is_movement(node.op())) return remake_as_is(node, operands);
    return ir::make_node(node.op(), operands, node.ints(), node.dtype(), ir::Folding::On);
  });
}

}  // namespace tenon::passes
