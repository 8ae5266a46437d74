// Moves a reshape of a contraction's result behind the elementwise operations on it, so that these are part
// of the contraction's kernel: a convolution is made as [N, O, oh * ow] and read as [N, O, oh, ow].
//
//   %d = dot %a, %b : f32[2,8,36]                        %d = dot %a, %b : f32[2,8,36]
//   %y = reshape %d [2,8,6,6] : f32[2,8,6,6]      ->     %r = max %d, %0 : f32[2,8,36]
//   %r = max %y, %0 : f32[2,8,6,6]                       %y = reshape %r [2,8,6,6] : f32[2,8,6,6]
//   return %r                                            return %y
#include <algorithm>

#include "ir/graph/graph_map.h"
#include "passes/graph/rebuild_graph.h"
#include "passes/passes.h"

namespace tenon::passes {
namespace {

using ir::Node, ir::NodeRef, ir::Op;

class Products {
 public:
  void add(const NodeRef& node) {
    if (members_.insert(node.get()).second) alive_.push_back(node);
  }
  // Contractions, and what is computed from them element by element.
  bool contains(const Node* node) { return node->op() == Op::Dot || members_.contains(node); }

 private:
  ir::NodeMap<char> members_;
  std::vector<NodeRef> alive_;  // so that no other node takes their addresses
};

// Can the operand be read in the shape of `product` as cheaply as in its own? It is repeated from memory, or
// was reshaped too.
bool follows(const Node* operand, const Node& product) {
  if (operand->op() == Op::Reshape && operand->inputs()[0]->shape() == product.shape()) return true;
  while (operand->op() == Op::Expand || operand->op() == Op::Reshape) operand = operand->inputs()[0];
  return operand->is_leaf();
}

NodeRef reshaped(const NodeRef& operand, const ir::Dims& shape) {
  if (operand->op() == Op::Const) return ir::make_const({operand->dtype(), operand->bits()}, shape, operand->device());
  return ir::reshape(operand, shape);
}

NodeRef remake(const Node& node, std::span<const NodeRef> operands, Products& products) {
  if (!ir::is_elementwise(node.op())) return remake_as_is(node, operands);
  const auto late = std::ranges::find_if(
      operands, [&](const NodeRef& operand) { return operand->op() == Op::Reshape && products.contains(operand->inputs()[0]); });
  if (late == operands.end()) {
    NodeRef made = remake_as_is(node, operands);
    if (std::ranges::any_of(operands, [&](const NodeRef& o) { return products.contains(o.get()); })) products.add(made);
    return made;
  }
  const Node& product = *(*late)->inputs()[0];
  if (!std::ranges::all_of(operands, [&](const NodeRef& o) { return follows(o.get(), product); })) return remake_as_is(node, operands);
  std::vector<NodeRef> moved;
  for (const NodeRef& operand : operands) moved.push_back(reshaped(operand, product.shape()));
  NodeRef made = remake_as_is(node, moved);
  products.add(made);
  return ir::reshape(made, node.shape());
}

}  // namespace

ir::Graph late_reshapes(const ir::Graph& graph) {
  Products products;
  return rebuild(graph, [&](const Node& node, std::span<const NodeRef> operands) { return remake(node, operands, products); });
}

}  // namespace tenon::passes
