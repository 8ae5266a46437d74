// differentiate() and steps_to_keep() for recipes that come again, as those of a training step do: what these
// say of recipes with the same steps is found (ir/graph/memo.h), and a gradient's graph is made again from
// its template. Thread-safe.
#pragma once

#include "ir/gradient/gradient.h"

namespace tenon::ir {

// As steps_to_keep.
std::vector<uint32_t> replayed_steps_to_keep(const Recipe& recipe, const Recipe::Flags& tracked);

// As differentiate.
std::vector<NodeRef> replayed_gradients(const Recipe& recipe, std::vector<NodeRef> values, std::span<const NodeRef> gradients,
                                        const Recipe::Flags& tracked);

}  // namespace tenon::ir
