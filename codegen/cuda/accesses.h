// How the warps of a launch meet memory, counted from the loop tree before anything runs: the sectors that each access to global memory
// touches, and the rounds that the banks take for each access to shared memory. The same for every GPU, which has no such
// counters of single accesses.
//
//   y[2 * thread] = v, f32:   8 sectors a warp, 4 at least        tile[32 * thread], f32:   32 rounds a warp, 1 at least: 32 ways
//
// A walk does what the threads of a warp do together: indices and conditions that come of threads, blocks, sizes and constants alone are
// known, loops go round as often as they would. What comes of data is not known, and said.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ir/looptree/looptree.h"

namespace tenon::codegen::cuda {

constexpr int64_t kSectorBytes = 32;

struct Access {
  enum class Kind : uint8_t { Load, Store, LoadTile, CopyFrom, CopyTo };  // the last two: both sides of an asynchronous copy
  Kind kind;
  int32_t buffer;  // of the tree: in global or shared memory
  int bytes;       // that a thread moves
  // Where the places are known: how often a warp comes to it with a thread that takes part, and then sectors of global memory, or rounds of
  // the banks of shared memory (32 of 4 bytes; accesses of 8 and 16 bytes have two and four rounds). `least`: were the same bytes side
  // by side.
  int64_t warps = 0, transfers = 0, least = 0;
  int ways = 0;               // shared: the most words of one bank that threads want in the same round
  bool places_vary = false;   // with data: not counted there
  bool threads_vary = false;  // whether a thread takes part depends on data: counted as if it did
};

struct AccessCounts {
  std::vector<Access> accesses;       // in the order of the text
  int64_t blocks = 0, of_blocks = 0;  // walked to their end; of the launch
};

// `most_steps`: statements of a warp that are walked, then the walk ends where it is. Blocks come in the order first, last, second,
// third, ...
AccessCounts count_accesses(const ir::LoopTree& tree, const ir::Phase& phase, std::span<const int64_t> sizes, int64_t most_steps);

}  // namespace tenon::codegen::cuda
