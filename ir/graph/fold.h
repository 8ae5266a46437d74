// The algebra that make_node applies: takes a checked operation, gives the simpler node that equals it to the
// bit.
#pragma once

#include <span>

#include "ir/graph/graph_infer.h"

namespace tenon::ir {

struct NodeKey;
struct NodeTable;

// Null if no rule applies. `type` is the operation's inferred type.
// If no rule looks at the operands' operations, and each operand is another node, the answer is the one for inputs.
NodeRef fold(Op op, std::span<const NodeRef> inputs, std::span<const int64_t> ints, const NodeType& type);

// The simplest node that gives the same bits as the operation, its operands in order if they commute; call with the lock of the table held.
NodeRef folded(NodeTable& table, const NodeKey& key, const NodeType& type);

// Whether some rule looks at operands of this operation: at their value, or at what they were made of.
bool rules_look_at(Op op);

}  // namespace tenon::ir
