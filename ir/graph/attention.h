// Attention as one operation of the graph (ops.def), and what it is made of. Schedules that have it never store the scores; where a target
// has none, or a gradient is differentiated again, the composition takes its place.
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
// Those of a node of the class, on these inputs; and these with all batch dims of its result.
Attention attention_of(const Node& node, std::span<const NodeRef> inputs);
Attention whole_attention_of(const Node& node, std::span<const NodeRef> inputs);

NodeRef attention(const Attention& operands);
double attention_scale(std::span<const int64_t> ints);
int64_t attention_rows(std::span<const int64_t> ints);  // which dim of the result its rows are
// The same operation with rows at that dim, as a view [N.., L, Ev].
NodeRef attention_with_rows(const Node& node, std::span<const NodeRef> inputs, int64_t rows);
// The dims of a result in the order N.., L, Ev.
Dims attention_dims(const Node& node);
NodeRef with_rows_at(const NodeRef& whole, int64_t rows);  // of N.., L, Ev, with L at that dim

inline bool is_attention_gradient(Op op) { return op >= Op::AttentionGradQuery && op <= Op::AttentionGradValue; }
inline size_t gradient_number(Op op) { return static_cast<size_t>(op) - static_cast<size_t>(Op::AttentionGradQuery); }

// The operation that is the gradient of query, key or value (`which`: 0 to 2), with the batch dims of the result, from the result and its gradient.
NodeRef attention_gradient(const Attention& operands, size_t which, const NodeRef& gradient, const NodeRef& result);

// Whether neighbours in a row of keys, or of values, are nearer in memory than neighbours in a column: a product of one query goes along memory.
struct AttentionLayout {
  bool keys_along_rows = true, values_along_rows = true;
};
// Attention of basic operations, each rounded to the operands' dtype as if the program had asked for it.
NodeRef composed_attention(const Attention& operands, const AttentionLayout& layout = {});

// What evaluates any operation of the class, of basic ones.
NodeRef evaluated_attention(const Node& node, std::span<const NodeRef> inputs);

}  // namespace tenon::ir
