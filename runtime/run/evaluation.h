// What stands below evaluate() and asks something of it: asynchronous work, recurrent layers, reports.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "ir/graph/graph.h"
#include "runtime/base/options.h"

namespace tenon::runtime {

// After a AsyncFailure: values that were not computed are pending again (async_work.h). For callers that hold no lock and compute nothing.
void recover();

// The plan of a graph over inputs without data, of which `constants` are the same in many runs; the others and the results may lie
// `anywhere`. It writes to no input. Called while an evaluation computes, without the lock. `key`: the graph's, with the numbers of its
// nodes.
std::shared_ptr<struct Plan> plan_of_step(std::span<const ir::NodeRef> roots, std::span<const ir::NodeRef> constants, bool anywhere,
                                          struct GraphKey& key);

// The options that change what a plan does, as the first word of its key.
uint64_t key_salt(const Options& options);

// The graphs of the last plans. Under the lock.
const class PastPlans& past_plans();

// Prints the stages that TENON_DUMP asks for, but for the log of the steps, which building the plan writes. Called for each new plan,
// under the lock.
void dump_new_plan(int plan, const struct GraphKey& key, const Options& options);

}  // namespace tenon::runtime
