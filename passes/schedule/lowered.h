// What a schedule gives: a loop tree, and what a launch of it needs besides. Also what later kernels of the same form take over.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "ir/kernel/kernel.h"
#include "ir/looptree/looptree.h"
#include "ir/op/target.h"

namespace tenon::passes {

// What a launch of a tree needs besides its buffers and scalars, for the concrete shapes it was lowered from.
struct Lowered {
  ir::LoopTree tree;  // without statements if it is `known`
  std::shared_ptr<const ir::LoopTree> known;
  const ir::LoopTree& whole_tree() const { return known ? *known : tree; }
  std::string schedule;            // its name in the table: "pointwise", "rows", "rows split", ...; of joined launches several
  std::vector<int64_t> sizes;      // value of each size parameter
  std::vector<double> phase_cost;  // estimated ns of one iteration of each phase, for the parallel grain
  // (out, in) buffers of the kernel that may be the same memory: every element of `in` is read only at the
  // place and before the time where `out` writes it.
  std::vector<std::pair<int, int>> donations;
  // An operand that is copied into another layout, `source` of the kernel's buffers, in a phase of its own that does nothing
  // else: into the tree's Global buffer `copy`, where `layout` says what lies where. `copy` is -1 if the operand is not
  // constant: then there is no such phase, and each iteration that needs a part packs it.
  struct Packing {
    int source;
    int32_t copy = -1;
    size_t phase = 0;
    std::vector<int64_t> layout;
    bool operator==(const Packing&) const = default;
  };
  std::optional<Packing> packing;
  bool better_often = false;  // code that runs often would be other code (CpuTarget::often)

  // Which other kernels the code serves, and where a length is among the sizes.
  struct Lengths {
    ir::Kernel kernel;
    ir::Target target;
    std::vector<int64_t> choices;  // what the schedule makes of the lengths in the code
    // sizes[slot] = factor * the schedule's number `length`, or, where that is negative, * the extent of axis ~length
    struct Size {
      int32_t slot;
      int length;
      int64_t factor;
    };
    std::vector<Size> changing;  // all other sizes are the same for all lengths
  };
  std::shared_ptr<const Lengths> lengths;
};

// What was lowered before, from kernels of the same form: a tree that is found among theirs is not made again.
using KnownLowered = std::span<const std::shared_ptr<const Lowered>>;

}  // namespace tenon::passes
