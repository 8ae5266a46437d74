// Kernels of a GPU as one launch. Those that do not depend on each other are parts side by side: each has some of the blocks. What
// depends on them comes in a later turn: then one block does all, a turn after another.
#pragma once

#include <span>
#include <vector>

#include "passes/schedule/lowered.h"

namespace tenon::passes {

// Parts that do not depend on each other.
using Turn = std::vector<const Lowered*>;

// Whether `next` may be a part beside these: one phase each, blocks of the same threads, and room for their arguments and shared memory.
bool can_join(const Turn& parts, const Lowered& next);
// Whether these may come next in one block: the same threads, and room as above. A part of several phases is a turn of its own.
bool can_follow(std::span<const Turn> turns, const Turn& next);
// Whether threads of a block wait for each other, or leave something in shared memory.
bool waits(const ir::LoopTree& tree, const ir::Phase& phase);
// Cycles that one block takes for a turn (an estimate).
double cycles_in_turn(const Turn& turn);
// Its arguments are those of the parts, one part's buffers behind the other's, and the sizes and scalars alike. Nothing is said of
// donations.
Lowered join_launches(std::span<const Turn> turns);

}  // namespace tenon::passes
