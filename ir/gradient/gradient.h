// Reverse-mode differentiation of recipes, by the table of rules in gradients.def. Each rule emits ordinary nodes, so
// gradients fuse, print and can be differentiated again.
#pragma once

#include "ir/graph/attention.h"
#include "ir/graph/recipe.h"

namespace tenon::ir {

// The steps whose values to keep for later gradients: operands, outputs, leaves, constants, and costly steps in between; what is
// cheap is computed from those again. With these operands alone all of it could be computed again.
std::vector<uint32_t> steps_to_keep(const Recipe& recipe, const Recipe::Flags& tracked);

// The gradients of the operands that are tracked; null if no output depends on one. `values`: by step, the known ones,
// null for others: at least those of steps_to_keep. `gradients`: of the outputs, null for none. Throws IrError if an operation
// in between has no rule.
std::vector<NodeRef> differentiate(const Recipe& recipe, std::vector<NodeRef> values, std::span<const NodeRef> gradients,
                                   const Recipe::Flags& tracked);

// The gradient of attention's query, key, value or mask (`which`: 0 to 3), with its shape, by the rules of what it is composed of: for
// whoever has no operation for it, or differentiates it again.
NodeRef composed_attention_gradient(const Attention& operands, size_t which, const NodeRef& gradient, const AttentionLayout& layout = {});

}  // namespace tenon::ir
