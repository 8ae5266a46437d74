// Schedules: a kernel (after run_kernel_passes) becomes a loop tree for one device. Shapes turn into size
// parameters.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "ir/kernel.h"
#include "ir/looptree.h"

namespace tenon::passes {

// What a launch of a tree needs besides its buffers and scalars, for the concrete shapes it was lowered from.
struct Lowered {
  ir::LoopTree tree;
  std::string schedule;            // "pointwise", "transpose", "rows", "split", "columns", "scan lines", ...
  std::vector<int64_t> sizes;      // value of each size parameter
  std::vector<double> phase_cost;  // estimated ns of one iteration of each phase, for the parallel grain
  // (out, in) buffers of the kernel that may be the same memory: every element of `in` is read only at the
  // place and before the time where `out` writes it.
  std::vector<std::pair<int, int>> donations;
};

struct CpuTarget {
  int vector_bits = 256;  // 128, 256 or 512
  bool operator==(const CpuTarget&) const = default;
};
Lowered lower_cpu(const ir::Kernel& kernel, const CpuTarget& target);

struct GpuTarget {
  int threads = 256;
  int max_shared_bytes = 48 << 10;
};
Lowered lower_gpu(const ir::Kernel& kernel, const GpuTarget& target = {});

using Target = std::variant<CpuTarget, GpuTarget>;
Lowered lower(const ir::Kernel& kernel, const Target& target);

// Whether a schedule takes this kernel; the reason if none does. Fusion makes only kernels that pass.
struct Acceptance {
  bool accepted;
  std::string reason;
};
Acceptance accepts(const ir::Kernel& kernel);

}  // namespace tenon::passes
