// Attention that no schedule of its target takes becomes products, a mask and a softmax, each rounded as if the program had asked for it:
//
//   %a = attention %q, %k, %v ...       ->    %t = permute %k [0,2,1]
//                                             %s = mul (dot %q, %t), 0.25
//                                             %e = exp (sub %s, (reduce.max %s))
//                                             %p = mul %e, (div 1, (reduce.sum %e))
//                                             %a = dot %p, %v
//
// A gradient becomes what the rules of gradients (ir/gradient/gradients.def) make of that. It computes the scores again, which are those of
// the forward pass where both are in one graph: equal nodes are one.
#include <algorithm>

#include "ir/gradient/gradient.h"
#include "passes/graph/rebuild_graph.h"
#include "passes/passes.h"
#include "passes/schedule/schedule.h"

namespace tenon::passes {
namespace {

using ir::Node, ir::NodeRef, ir::Op;

NodeRef expanded(const Node& node, std::span<const NodeRef> inputs) {
  const ir::AttentionLayout layout{lies_along_rows(inputs[1].get()), lies_along_rows(inputs[2].get())};
  const int64_t rows = ir::attention_rows(node.ints());
  if (ir::is_attention_gradient(node)) {
    const auto which = static_cast<size_t>(ir::gradient_of_attention(node));
    return ir::with_rows_at(ir::composed_attention_gradient(ir::whole_attention_of(node, inputs), which, inputs[3], layout), rows);
  }
  if (ir::result_of_attention(node) == ir::AttentionResult::Lse) return ir::evaluated_attention(node, inputs);
  return ir::with_rows_at(ir::composed_attention(ir::attention_of(node, inputs), layout), rows);
}

}  // namespace

ir::Graph expand_attention(const ir::Graph& graph, const ir::Targets& targets) {
  const auto is_refused = [&](const Node& node) {
    return ir::is_attention(node.op()) && !accepts(form_of_attention(node), ir::target_of(targets, node.device())).accepted;
  };
  return rebuild_some(graph, is_refused, expanded);
}

}  // namespace tenon::passes
