// Where each value of a plan lies: in an input, in an output, or in the arena of its device.
#pragma once

#include <vector>

#include "compiler/memory_plan.h"
#include "runtime/plan/plan.h"

namespace tenon::runtime {

// What the steps of a plan read and write, as the plan is built.
struct PlannedValues {
  std::vector<compiler::PlannedValue> values;
  std::vector<Device*> devices;             // parallel to them
  std::vector<compiler::InPlace> in_place;  // pairs that may share their memory
};

// Fills in the plan's places, arenas, and which outputs may take over an input's memory.
void place_values(Plan& plan, const PlannedValues& planned, const compiler::Settings& settings);

}  // namespace tenon::runtime
