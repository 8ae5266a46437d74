// Equal operations become one. Those of a program are one node from the start, but for nodes that are kept apart for their
// gradients and the order of operands: those that commute are put in order of age, and a > b is b < a.
//
//   %0 = add %x, %y : f32[4]
//   %1 = add %y, %x : f32[4]              ->     %0 = add %x, %y : f32[4]
//   %2 = lt %0, %y : bool[4]                     %1 = lt %0, %y : bool[4]
//   %3 = gt %y, %1 : bool[4]                     return %1, %1
//   return %2, %3
#include "passes/graph/rebuild_graph.h"
#include "passes/passes.h"

namespace tenon::passes {
namespace {

// The order that make_node gives operands that commute: the older first, a constant last.
bool goes_first(const ir::Node& a, const ir::Node& b) {
  const auto rank = [](const ir::Node& node) { return std::pair(node.op() == ir::Op::Const, node.id()); };
  return rank(a) < rank(b);
}

}  // namespace

ir::Graph common_subexpressions(const ir::Graph& graph) {
  return rebuild(graph, [](const ir::Node& node, std::span<const ir::NodeRef> operands) {
    const bool mirrored = node.op() == ir::Op::Gt || node.op() == ir::Op::Ge;
    const bool commutes = ir::has_trait(node.op(), ir::TraitCommutes);
    if (!mirrored && !(commutes && goes_first(*operands[1], *operands[0])))
      return ir::make_node(node.op(), operands, node.ints(), node.dtype(), ir::Folding::Off);
    const ir::NodeRef swapped[] = {operands[1], operands[0]};
    const ir::Op op = node.op() == ir::Op::Gt ? ir::Op::Lt : node.op() == ir::Op::Ge ? ir::Op::Le : node.op();
    return ir::make_node(op, swapped, {}, node.dtype(), ir::Folding::Off);
  });
}

}  // namespace tenon::passes
