// The gradients of attention by the rules of what it is composed of: for whoever has no operation for them, or differentiates them again.
#pragma once

#include "ir/graph/attention.h"

namespace tenon::ir {

// Of query, key, value or mask (`which`: 0 to 3), with its shape.
NodeRef composed_attention_gradient(const Attention& operands, size_t which, const NodeRef& gradient, const AttentionLayout& layout = {});

}  // namespace tenon::ir
