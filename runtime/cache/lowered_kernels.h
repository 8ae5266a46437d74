// The loop trees of kernels and calls that were lowered before: rounds of a loop, and whatever a program computes in several graphs,
// have kernels that are one kernel. Kernels of one form, which differ in lengths and places, mostly have one tree, and so have calls:
// their sizes are found without making it again. Under the lock of evaluations.
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "compiler/pipeline.h"
#include "ir/call/work.h"
#include "ir/op/target.h"

namespace tenon::runtime {

class LoweredKernels {
 public:
  static LoweredKernels& global();

  // As compiler::lower; what it made of the same work for the same target is found, unless somebody observes it. Throws IrError.
  std::shared_ptr<const passes::Lowered> lower(const std::shared_ptr<const ir::Work>& work, const ir::Target& target,
                                               const compiler::Settings& settings);
  void clear();

 private:
  static constexpr size_t kMost = 1024;
  static constexpr size_t kMostForms = 256;
  struct Known {
    std::shared_ptr<const ir::Work> work;
    ir::Target target;
    std::shared_ptr<const passes::Lowered> lowered;
  };
  using Alike = std::vector<std::shared_ptr<const passes::Lowered>>;  // each with a tree or lengths of its own; the last used one first
  Alike& of_form(uint64_t form);

  std::unordered_multimap<uint64_t, Known> known_;  // by the hash of the work
  std::unordered_map<uint64_t, Alike> forms_;       // by the hash of its form
};

}  // namespace tenon::runtime
