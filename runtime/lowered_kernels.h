// The loop trees of kernels that were lowered before: rounds of a loop, and whatever a program computes in several graphs, have kernels that
// are one kernel. Under the lock of evaluations.
#pragma once

#include <memory>
#include <unordered_map>

#include "compiler/pipeline.h"
#include "ir/kernel.h"
#include "ir/target.h"

namespace tenon::runtime {

class LoweredKernels {
 public:
  static LoweredKernels& global();

  // As compiler::lower_kernel; what it made of the same work for the same target is found, unless somebody observes it. Throws IrError.
  std::shared_ptr<const passes::Lowered> lower(const ir::Kernel& kernel, const ir::Target& target, const compiler::Settings& settings);
  void clear() { known_.clear(); }

 private:
  static constexpr size_t kMost = 1024;
  struct Known {
    ir::Kernel kernel;
    ir::Target target;
    std::shared_ptr<const passes::Lowered> lowered;
  };
  std::unordered_multimap<uint64_t, Known> known_;  // by the hash of the kernel
};

}  // namespace tenon::runtime
