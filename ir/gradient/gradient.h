// Reverse-mode differentiation of recipes, by the table of rules in gradients.def. Each rule emits ordinary nodes, so
// gradients fuse, print and can be differentiated again.
#pragma once

#include "ir/graph/recipe.h"

namespace tenon::ir {

// The steps whose values to keep for later gradients: operands, outputs, leaves, constants, and dear steps in between; what is
// cheap is computed from those again. With these operands alone all of it could be computed again.
std::vector<uint32_t> steps_to_keep(const Recipe& recipe, const Recipe::Flags& tracked);

// The gradients of the operands that are tracked; null if no output depends on one. `values`: by step, the known ones,
// null for others: at least those of steps_to_keep. `gradients`: of the outputs, null for none. Throws IrError if an operation
// in between has no rule.
std::vector<NodeRef> differentiate(const Recipe& recipe, std::vector<NodeRef> values, std::span<const NodeRef> gradients,
                                   const Recipe::Flags& tracked);

}  // namespace tenon::ir
