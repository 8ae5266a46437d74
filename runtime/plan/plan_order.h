// Which steps of a plan have to come behind which others: those that use the same memory, of which one writes it.
#pragma once

#include <vector>

#include "runtime/plan/plan.h"
#include "runtime/plan/plan_places.h"

namespace tenon::runtime {

// The order of each step; call it after all values have their places.
std::vector<StepOrder> order_of(const Plan& plan, const PlannedValues& planned);

}  // namespace tenon::runtime
