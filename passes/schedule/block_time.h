// How long one block of a GPU takes for a phase: an estimate, by which launches that are too small for the whole GPU go to one block.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ir/looptree/looptree.h"

namespace tenon::passes {

// Cycles for which each warp of the phase's first block is busy. `sizes`: the value of each size parameter.
std::vector<double> warp_cycles(const ir::LoopTree& tree, const ir::Phase& phase, std::span<const int64_t> sizes);

}  // namespace tenon::passes
