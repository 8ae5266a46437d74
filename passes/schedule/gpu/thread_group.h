// Threads that work together: neighbours of a block, a power of two of them. How they are numbered, and what those of one warp tell each
// other without shared memory. Private to passes/schedule/gpu/.
#pragma once

#include <utility>

#include "passes/schedule/gpu/context.h"

namespace tenon::passes::gpu {

inline constexpr int64_t kWarp = 32;

// The number of the thread's group, and of the thread in it, where groups have so many threads.
inline std::pair<ValueId, ValueId> place_in_group(Context& c, int64_t threads) { return c.divide(c.thread(), c.literal(threads)); }

// x of the warp's thread number `from`, or of the one `distance` (an i32) further on.
inline ValueId shuffled(ir::TreeBuilder& b, ValueId x, ValueId from) { return b.let(Op::Shuffle, {x, from}, b.type(x)); }
inline ValueId shuffled_down(ir::TreeBuilder& b, ValueId x, ValueId distance) { return b.let(Op::ShuffleDown, {x, distance}, b.type(x)); }

// What combine(a, b) makes of x of all threads of a group, part of a warp, in each of them; combine must not depend on the order of its
// operands. `lane`: the thread's number in its warp.
template <typename Combine>
ValueId over_group(Context& c, int64_t threads, ValueId lane, ValueId x, const Combine& combine) {
  for (int64_t distance = threads / 2; distance > 0; distance /= 2) {
    x = combine(x, shuffled(c.builder, x, c.builder.op(Op::Xor, {lane, c.literal(distance)})));
  }
  return x;
}

}  // namespace tenon::passes::gpu
