// A graph that gives very many values is evaluated in batches, each with a plan of its own. What a plan costs grows a
// little faster than the graph, and values that are made alike make batches that are alike: they share one plan, so that
// of 100,000 roots only some hundreds are ever planned.
//
//   y[i] = x[i] * 2 + i, for 100,000 i      the values 0..255, 256..511, ...: three plans (the constants 0 and 1 are
//                                           code, so the first batch has its own, and so has the rest at the end)
//   stack of 100,000 pending values         the values in batches; then the stack, of what lies in memory
//
// So is one that records a loop with many rounds (repeats.h), each of which reads what the one before made:
//
//   an LSTM over 80 steps   8 rounds a batch; then its gradient, 4 rounds a batch: lengths of 81 and 200 find the same plans
#pragma once

#include <vector>

#include "runtime/plan/graph_key.h"

namespace tenon::runtime {

// The roots of each batch, in the order in which to evaluate them; none if the graph stays whole. A batch has the next
// `size` values in the order of their creation, if they make kFewestBatches or more, or as many rounds as have `size` nodes. What one batch
// computes and a later one reads is a root too, so that nothing is computed twice. Call under the evaluation lock.
std::vector<std::vector<ir::NodeRef>> batches_of(const GraphKey& key, int64_t size);

inline constexpr int64_t kFewestBatches = 2;

}  // namespace tenon::runtime
