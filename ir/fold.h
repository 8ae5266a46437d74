// The algebra that make_node applies: takes a checked operation, gives the simpler node that equals it to the
// bit.
#pragma once

#include <span>

#include "ir/graph_infer.h"

namespace tenon::ir {

// Null if no rule applies. `type` is the operation's inferred type.
NodeRef fold(Op op, std::span<const NodeRef> inputs, std::span<const int64_t> ints, const NodeType& type);

}  // namespace tenon::ir
