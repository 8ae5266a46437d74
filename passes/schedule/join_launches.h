// Kernels of a GPU that do not depend on each other as one launch: each has some of the blocks.
#pragma once

#include <span>

#include "passes/schedule/schedule.h"

namespace tenon::passes {

// Whether `next` may be a part beside these: one phase each, blocks of the same threads, and room for their arguments and shared memory.
bool can_join(std::span<const Lowered* const> parts, const Lowered& next);
// Its arguments are those of the parts, one part's buffers behind the other's, and the sizes and scalars alike. Nothing is said of donations.
Lowered join_launches(std::span<const Lowered* const> parts);

}  // namespace tenon::passes
