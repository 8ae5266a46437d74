// Branches around what a choice seldom takes: the last step before code is made of a loop tree.
#pragma once

#include <optional>

#include "ir/looptree/looptree.h"

namespace tenon::passes {

// The tree with each long arm of a choice computed only where a lane takes it; nothing if there is none. Bits stay.
std::optional<ir::LoopTree> branch_around_arms(const ir::LoopTree& tree);

}  // namespace tenon::passes
