// Lets each buffer begin at the first element that the kernel touches and end at the last, so that what happens to one
// row and to another is one kernel, with other addresses.
//
//   kernel @row(x: f32 in[1000], y: f32 out[64])             kernel @row(x: f32 in[64], y: f32 out[64])
//     axes i: 64 parallel                                      axes i: 64 parallel
//     map i : %0 = load x[i + 448] : f32               ->      map i : %0 = load x[i] : f32      # begins 448 elements later
#include <algorithm>
#include <limits>

#include "passes/passes.h"

namespace tenon::passes {

std::vector<int64_t> begin_at_first(ir::Kernel& kernel) {
  constexpr int64_t kUntouched = std::numeric_limits<int64_t>::max();
  const auto accesses = [](const ir::Instr& in) { return in.op == ir::Op::Load || in.op == ir::Op::Store; };
  std::vector<int64_t> first(kernel.buffers.size(), kUntouched), last(kernel.buffers.size(), -1);
  for (const ir::Instr& in : kernel.instrs) {
    if (!accesses(in)) continue;
    const auto b = static_cast<size_t>(in.slot);
    const bool unknown = !in.guards.empty() || in.scale != 0;
    const ir::Bounds reach = in.index.bounds();
    first[b] = unknown ? 0 : std::min(first[b], reach.lo);
    last[b] = unknown ? kernel.buffers[b].numel - 1 : std::max(last[b], reach.hi);
  }
  for (size_t b = 0; b < first.size(); ++b) {
    ir::KernelBuffer& buffer = kernel.buffers[b];
    const bool shrinks = buffer.role == ir::Role::In || buffer.role == ir::Role::InOut;
    if (!shrinks || first[b] < 0 || last[b] < first[b] || last[b] >= buffer.numel) {
      first[b] = 0;
    } else {
      buffer.numel = last[b] + 1 - first[b];
    }
  }
  for (ir::Instr& in : kernel.instrs) {
    if (accesses(in) && first[in.slot] != 0) in.index = in.index - first[in.slot];
  }
  return first;
}

}  // namespace tenon::passes
