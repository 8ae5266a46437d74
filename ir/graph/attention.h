// Attention as one operation of the graph (ops.def), and what it is made of. Devices that have generated code for it never
// store the scores; whoever evaluates it plainly, or differentiates its gradient again, takes the composition.
//
//   scores = scale q k^T + mask,  p = softmax(scores),  result = p v
//   g v^T = gradient of p,  delta = sum(p * that) = sum(g * result):  gradient of the scores = p * (g v^T - delta)
//
// The operation of a gradient takes the result and computes delta itself.
#pragma once

#include <span>

#include "ir/graph/graph.h"

namespace tenon::ir {

// Shapes and dtypes as in ops.def.
struct Attention {
  NodeRef query, key, value;
  NodeRef mask = {};  // null if there is none
  bool causal = false;
  double scale = 1;
};

NodeRef attention(const Attention& operands);
double attention_scale(std::span<const int64_t> ints);
int64_t attention_rows(std::span<const int64_t> ints);  // which dim of the result its rows are
// The same operation with rows at that dim, as a view [N.., L, Ev].
NodeRef attention_with_rows(const Node& node, std::span<const NodeRef> inputs, int64_t rows);
// The dims of a result in the order N.., L, Ev.
Dims attention_dims(const Node& node);

inline bool is_attention_gradient(Op op) { return op >= Op::AttentionGradQuery && op <= Op::AttentionGradValue; }

// The gradient of query, key, value or mask (`which`: 0 to 3), with the batch dims of the result, from the result and its
// gradient. Under a tape it is made of basic operations, which can be differentiated again; that of a mask always.
NodeRef attention_gradient(const Attention& operands, size_t which, const NodeRef& gradient, const NodeRef& result);

// Any operation of the class, of basic ones. Sums of f16 and bf16 are f32, rounded once, at the end.
NodeRef composed_attention(Op op, std::span<const NodeRef> inputs, std::span<const int64_t> ints);

}  // namespace tenon::ir
