// Computes what depends on constants and indices alone, and keeps what turns out to be one value everywhere.
// Work is capped at kFoldLimit elements a node; ops whose generated code has its own last bits (see fold.cpp)
// stay.
//
//   %0 = const 2.0 : f32[8]
//   %1 = reduce.sum %0 dims=[0] : f32[1]         %0 = const 2.0 : f32[8]
//   %2 = iota dim=0 : i64[8]                     %1 = iota dim=0 : i64[8]
//   %3 = const 8 : i64[8]                 ->     %2 = const 8 : i64[8]
//   %4 = lt %2, %3 : bool[8]                     %3 = const 16.0 : f32[1]
//   return %1, %4                                %4 = const true : bool[8]
//                                                return %3, %4
#include <algorithm>
#include <memory>

#include "ir/graph/graph_evaluate.h"
#include "passes/graph/rebuild_graph.h"
#include "passes/passes.h"

namespace tenon::passes {
namespace {

using ir::ElementBits, ir::Node, ir::NodeRef;

// The elements of each node that can be computed here.
class ConstantValues {
 public:
  // Null if the node is not constant, too large, or not for us to compute. Its operands that are no leaves were asked for before.
  const ElementBits* of(const NodeRef& node) {
    if (const ElementBits* value = known(node.get())) return value;
    if (!foldable(*node)) return nullptr;
    std::vector<const ElementBits*> operands;
    for (Node* input : node->inputs()) {
      const ElementBits* operand = input->is_leaf() ? of(NodeRef(input)) : known(input);
      if (!operand) return nullptr;
      operands.push_back(operand);
    }
    keys_.push_back(node);
    return (values_[node.get()] = std::make_unique<ElementBits>(ir::evaluate_node(*node, operands))).get();
  }

 private:
  const ElementBits* known(const Node* node) const {
    const auto* value = values_.find(node);
    return value ? value->get() : nullptr;
  }

  static bool foldable(const Node& node) {
    if (node.op() == ir::Op::Input || node.op() == ir::Op::Dot || ir::is_attention(node.op()) || node.numel() > kFoldLimit) return false;
    return node.is_leaf() || !ir::has_trait(node.op(), ir::TraitExpands) || !ir::is_float(node.inputs()[0]->dtype());
  }

  ir::NodeMap<std::unique_ptr<ElementBits>> values_;
  std::vector<NodeRef> keys_;  // alive, so that no other node takes their addresses
};

}  // namespace

ir::Graph fold_constants(const ir::Graph& graph) {
  ConstantValues values;
  return rebuild(graph, [&](const Node& node, std::span<const NodeRef> operands) {
    NodeRef made = remake_as_is(node, operands);
    const ElementBits* bits = values.of(made);
    if (!bits || bits->empty()) return made;
    const bool splat = std::all_of(bits->begin(), bits->end(), [&](uint64_t element) { return element == bits->front(); });
    if (!splat) return made;
    made = ir::make_const({node.dtype(), bits->front()}, node.shape(), node.device());
    values.of(made);
    return made;
  });
}

}  // namespace tenon::passes
