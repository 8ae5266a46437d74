// How the reductions of a kernel follow each other, or its scans, chunk by chunk. Loop l runs over the inner axes; the
// reductions in it need only results of loops before it. A value at full level that several loops need is computed in
// the first and carried to the others through memory if it is worth keeping, else computed again in each.
//
//   %0 = load x        loop 0 and 1 (a load is done again)
//   %1 = max %0        loop 0
//   %3 = exp(%0 - %1)  loop 1, carried to loop 2
//   %4 = sum %3        loop 1
//   store %3 / %4      loop 2
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "passes/schedule/words.h"

namespace tenon::passes {

struct ReduceLoops {
  int loops = 0;
  std::vector<int> available;                  // by instruction: how many loops must be over before it is known
  std::vector<std::vector<Value>> full;        // by loop: full-level instructions and stores computed in it, in order
  std::vector<std::vector<Value>> reductions;  // by loop; or scans
  std::vector<std::vector<Value>> carried_in;  // by loop: values read back
  std::vector<Value> carried;                  // all values that are kept
  std::vector<std::vector<Value>> rows;        // by loops over (0 .. loops): row-level instructions and stores
  // The row-level values that loop l makes known and that something after the next loop's beginning needs.
  std::vector<Value> values_after(const ir::Kernel& kernel, int l) const;
};

// `keep`: what is worth keeping; nothing if it is missing.
ReduceLoops plan_loops(const ir::Kernel& kernel, const std::function<bool(Value)>& keep = {});

// For each value of an element whether it is better kept than computed again from a load: unless that takes a few cheap operations
// on a single element value.
std::vector<bool> costly_values(const ir::Kernel& kernel);

// (out, in) buffers where every read of `in` is at the index at which `out` is written, not after that in time. First come those where
// `out` is computed from `in`, and among them what depends on the fewest: each moment of an optimiser's step takes its own place, then
// the parameter does.
std::vector<std::pair<int, int>> in_place_pairs(const ir::Kernel& kernel, const ReduceLoops& plan);
// The same of results of reductions, for a kernel that passes over its rows once: no pass reads again what the row's one thread has
// stored.
std::vector<std::pair<int, int>> in_place_results(const ir::Kernel& kernel, const ReduceLoops& plan);

}  // namespace tenon::passes
