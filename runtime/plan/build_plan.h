// Making a plan for a graph.
#pragma once

#include <memory>

#include "runtime/plan/graph_key.h"
#include "runtime/plan/plan.h"

namespace tenon::runtime {

// Runs the passes and schedules the kernels. Throws std::runtime_error, naming the kernel where there is one.
std::shared_ptr<Plan> build_plan(int number, const GraphKey& key, const Options& options);

}  // namespace tenon::runtime
