// The context of the GPU schedules: threads, and how wide an index must be.
#include "passes/schedule/gpu/context.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tenon::passes::gpu {

namespace {

// The largest magnitude that any partial sum of the index can take.
double magnitude(const Index& index) {
  double total = std::abs(static_cast<double>(index.constant_part()));
  for (const Index::Term& term : index.terms()) {
    double largest = static_cast<double>(term.extent);
    if (term.axis < 0) largest = magnitude(term.inner_index());
    total += std::abs(static_cast<double>(term.coefficient)) * std::max(largest, 1.0);
    total = std::max(total, static_cast<double>(std::max(term.modulus, term.divisor)));
  }
  return total;
}

constexpr int64_t kOverhang = 1 << 20;  // more than one grid's idle threads and one row's idle lanes

// I32 if every index of the kernel, and its points plus one grid's overhang, provably fits. The points of a contraction are
// those of its result: nothing counts the others.
DType index_type(const ir::Kernel& kernel) {
  double largest = 1, depth = 1;
  for (const ir::Axis& axis : kernel.axes) (axis.kind == AxisKind::Contract ? depth : largest) *= static_cast<double>(axis.extent);
  largest = std::max(largest, depth);
  for (const ir::KernelBuffer& buffer : kernel.buffers) largest = std::max(largest, static_cast<double>(buffer.numel));
  for (const Instr& instr : kernel.instrs) {
    largest = std::max(largest, magnitude(instr.index));
    for (const ir::Guard& guard : instr.guards) {
      largest =
          std::max({largest, magnitude(guard.value), std::abs(static_cast<double>(guard.lo)), std::abs(static_cast<double>(guard.hi))});
    }
  }
  return largest < static_cast<double>(std::numeric_limits<int32_t>::max() - kOverhang) ? DType::I32 : DType::I64;
}

}  // namespace

Context::Context(const ir::Kernel& k, Lowered& lowered, const ir::GpuTarget& machine, KnownLowered known)
    : passes::Context(k, lowered, ir::TargetKind::Cuda, index_type(k), known), target(machine) {
  out.tree.threads = target.threads;
}

int resident_blocks(int64_t blocks, int64_t threads, int64_t registers_of_thread) {
  constexpr int64_t kRegisters = 65536;  // of a multiprocessor
  return static_cast<int>(std::clamp<int64_t>(kRegisters / (threads * registers_of_thread), 1, blocks));
}

void Context::ask_for_blocks(int64_t blocks, int64_t registers_of_thread) {
  out.tree.resident = resident_blocks(blocks, out.tree.threads, registers_of_thread);
}

ValueId Context::begin_phase(std::string name, int64_t blocks) {
  const ValueId block = passes::Context::begin_phase(std::move(name), blocks);
  thread_ = builder.let(Op::ThreadId, {}, {out.tree.index_type, 1});
  return block;
}

}  // namespace tenon::passes::gpu
