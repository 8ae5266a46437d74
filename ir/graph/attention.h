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

// Which result a node of the class is: of Op::Attention, and of Op::AttentionGrad.
enum class AttentionResult : uint8_t { Output, Lse };
enum class AttentionGradient : uint8_t { Query, Key, Value };
bool is_attention_gradient(const Node& node);  // Op::AttentionGrad
AttentionResult result_of_attention(const Node& node);
AttentionGradient gradient_of_attention(const Node& node);

NodeRef attention(const Attention& operands, AttentionResult result = AttentionResult::Output);
double attention_scale(std::span<const int64_t> ints);
int64_t attention_rows(std::span<const int64_t> ints);  // which dim of the result its rows are
// The same operation with rows at that dim, as a view [N.., L, Ev].
NodeRef attention_with_rows(const Node& node, std::span<const NodeRef> inputs, int64_t rows);
// The dims of a result in the order N.., L, Ev.
Dims attention_dims(const Node& node);
NodeRef with_rows_at(const NodeRef& whole, int64_t rows);  // of N.., L, Ev, with L at that dim

// The gradient of one operand, with the batch dims of the output, from the output and its gradient.
NodeRef attention_gradient(const Attention& operands, AttentionGradient which, const NodeRef& gradient, const NodeRef& output);

// Whether neighbours in a row of keys, or of values, are nearer in memory than neighbours in a column: a product of one query goes
// along memory.
struct AttentionLayout {
  bool keys_along_rows = true, values_along_rows = true;
};
// Attention of basic operations, each rounded to the operands' dtype as if the program had asked for it.
NodeRef composed_attention(const Attention& operands, const AttentionLayout& layout = {});

// What evaluates any operation of the class, of basic ones.
NodeRef evaluated_attention(const Node& node, std::span<const NodeRef> inputs);

}  // namespace tenon::ir
