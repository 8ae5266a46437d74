// The loop trees of kernels that were lowered before: rounds of a loop, and whatever a program computes in several graphs, have kernels that
// are one kernel. Kernels of one form, which differ in lengths and places, mostly have one tree, and so have calls: their sizes are found
// without making it again. Under the lock of evaluations.
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "compiler/pipeline.h"
#include "ir/kernel/kernel.h"
#include "ir/op/target.h"

namespace tenon::runtime {

class LoweredKernels {
 public:
  static LoweredKernels& global();

  // As compiler::lower_kernel; what it made of the same work for the same target is found, unless somebody observes it. Throws IrError.
  std::shared_ptr<const passes::Lowered> lower(const std::shared_ptr<const ir::Kernel>& kernel, const ir::Target& target,
                                               const compiler::Settings& settings);
  // As compiler::lower_call, likewise; calls with other lengths mostly have one tree too.
  std::shared_ptr<const passes::Lowered> lower(const passes::Call& call, const ir::Target& target, const compiler::Settings& settings);
  void clear();

 private:
  static constexpr size_t kMost = 1024;       // kernels
  static constexpr size_t kMostForms = 256;
  struct Known {
    std::shared_ptr<const ir::Kernel> kernel;
    ir::Target target;
    std::shared_ptr<const passes::Lowered> lowered;
  };
  using Alike = std::vector<std::shared_ptr<const passes::Lowered>>;  // each with a tree or lengths of its own; the last used one first
  Alike& of_form(uint64_t form);

  std::unordered_multimap<uint64_t, Known> known_;  // by the hash of the kernel
  std::unordered_map<uint64_t, Alike> forms_;  // by the hash of the kernel's form
};

}  // namespace tenon::runtime
