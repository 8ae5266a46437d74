// The loop trees of a plan's kernels, and their code. The trees are made with the plan; the code is looked up or compiled by
// the plan's first run, which holds no lock of evaluations. Kernels that do the same to other buffers have one tree: a
// graph of thousands of equal roots has few kernels.
#pragma once

#include <memory>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "compiler/pipeline.h"
#include "runtime/base/options.h"
#include "runtime/device/device.h"
#include "runtime/history/record.h"
#include "runtime/plan/step.h"

namespace tenon::runtime {

// Whether a plan that runs often is worth other code for this kernel.
bool is_better_often(const passes::Lowered& lowered);

// The launch of a step, its turn in that launch, and whether it runs by the tree without barriers (PlanCode::apart).
struct Seat {
  int32_t launch, turn;
  bool apart;
};

class PlanCode {
 public:
  // The number of the tree of a kernel or call. Throws std::runtime_error, naming it.
  size_t lower(ir::Work work, Device& device, const Options& options, const compiler::Settings& settings);
  const passes::Lowered& lowered(size_t tree) const { return *trees_[tree].lowered; }
  // That the next step to be found has this tree; `facts` learn the hash of its code.
  void add_step(size_t step, size_t tree, std::shared_ptr<KernelRecord> facts);
  bool empty() const { return steps_.empty(); }
  const passes::Lowered* lowered_of(size_t step) const;  // null: it has no tree
  // The step's kernel for one block whose threads need not wait for each other, if there is another tree for that, with the same bits
  // and buffers; else null. Where another part of a launch waits, it goes on.
  const passes::Lowered* apart(size_t step, const ir::GpuTarget& target, const Options& options);
  // Steps become launches. Those that share one have a tree together.
  void join(std::span<const Seat> seats, bool verify);
  void set_facts(size_t step, std::shared_ptr<KernelRecord> facts);

  // Fills in the code of the plan's steps. Throws std::runtime_error, naming the kernel, and may then be tried again.
  void find(std::vector<Step>& steps, const Options& options) const;

 private:
  struct Tree {
    std::shared_ptr<const ir::Work> work;  // that it was made from; a joined launch has none
    Device* device;
    std::shared_ptr<const passes::Lowered> lowered;
    std::shared_ptr<const passes::Lowered> apart = nullptr;  // if it was asked for; the same as `lowered` where there is none
  };
  struct StepTree {
    size_t step, tree;
    std::shared_ptr<KernelRecord> facts;
  };
  std::vector<Tree> trees_;
  std::unordered_multimap<uint64_t, size_t> tree_of_;  // by the hash of the work
  std::vector<StepTree> steps_;
  std::vector<int32_t> place_of_;  // by step: its place there, or kNone
};

}  // namespace tenon::runtime
