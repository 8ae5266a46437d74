// Lets each buffer begin at the first element that the kernel touches, so that what happens to one row and to another is
// one kernel, with other addresses.
//
//   buffers x0: f32 in[1000]                                 buffers x0: f32 in[552]      # begins 448 elements later
//   map i : %0 = load x0[i + 448] : f32              ->      map i : %0 = load x0[i] : f32
#include <algorithm>
#include <limits>

#include "passes/passes.h"

namespace tenon::passes {

std::vector<int64_t> begin_at_first(ir::Kernel& kernel) {
  constexpr int64_t kUntouched = std::numeric_limits<int64_t>::max();
  const auto accesses = [](const ir::Instr& in) { return in.op == ir::Op::Load || in.op == ir::Op::Store; };
  std::vector<int64_t> first(kernel.buffers.size(), kUntouched);
  for (const ir::Instr& in : kernel.instrs) {
    if (!accesses(in)) continue;
    int64_t& lowest = first[static_cast<size_t>(in.slot)];
    const bool unknown = !in.guards.empty() || in.scale != 0;
    lowest = unknown ? 0 : std::min(lowest, in.index.bounds().lo);
  }
  for (size_t b = 0; b < first.size(); ++b) {
    const ir::Role role = kernel.buffers[b].role;
    const bool moves = (role == ir::Role::In || role == ir::Role::InOut) && first[b] > 0 && first[b] != kUntouched;
    if (!moves) first[b] = 0;
    kernel.buffers[b].numel -= first[b];
  }
  for (ir::Instr& in : kernel.instrs) {
    if (accesses(in) && first[static_cast<size_t>(in.slot)] != 0) in.index = in.index - first[static_cast<size_t>(in.slot)];
  }
  return first;
}

}  // namespace tenon::passes
