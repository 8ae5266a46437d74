// Rows that a CUDA block keeps from one pass to the next. Private to passes/schedule/gpu/.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "passes/schedule/gpu/context.h"

namespace tenon::passes::gpu {

// A thread has chains one behind the other of each lane that it takes, `in_registers` and then others in shared memory. Kept values
// that no pass needs at the same time have one place: an array of registers, and one in shared memory.
struct BlockRow {
  int64_t threads = 0, lanes = 1, rounds = 0, in_registers = 0;  // a round: a chain of each of the thread's `lanes` neighbours
  std::vector<DType> places;
  std::map<Value, size_t> place_of;
  int64_t groups() const;  // of threads that take all lanes together
  int64_t chains() const;  // of each lane
  int64_t slots() const;
  int64_t shared_slots() const;
};

// How a block keeps rows of this length, if it can: a reduction may take chains apart.
std::optional<BlockRow> block_row(const ir::Kernel& kernel, const ir::GpuTarget& target, const ReduceLoops& plan, int64_t length,
                                  bool vectors);
void lower_rows_in_block(Context& c, const BlockRow& row);

}  // namespace tenon::passes::gpu
