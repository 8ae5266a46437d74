// Small steps of a GPU become one launch: what a launch costs is more than what they compute. Steps that do not depend on each other
// are parts side by side: each step goes to the last launch that it may be a part of, or is one itself, so that steps mostly stay in
// their order. The updates of an optimiser are such steps: nobody reads what they write. Launches that come one after another then
// become one of a single block, which does them in turn, as long as that takes it no longer than the launches that are saved.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/plan/plan.h"
#include "runtime/plan/plan_places.h"

namespace tenon::runtime {

// Before values have their places: steps, and the numbers of steps in `planned`, become those of launches. A plan that may never come
// again stays as it is, since what is joined is code of its own. Gives the seat of each step; nothing if all stays as it is.
std::vector<Seat> join_launches(Plan& plan, PlannedValues& planned, const ir::GpuTarget& target, const Options& options);

}  // namespace tenon::runtime
