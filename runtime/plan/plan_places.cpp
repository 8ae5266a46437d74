// One memory plan for each device: no value shares memory with one that lies elsewhere.
#include "runtime/plan/plan_places.h"

#include <algorithm>

namespace tenon::runtime {
namespace {

using compiler::InPlace;
using compiler::MemoryPlan;
using compiler::PlannedValue;
using compiler::ValueKind;

// On a device that runs steps side by side, small intermediates keep their memory to themselves: a step that came to use it next would
// wait for all who read it before. What is updated in place, or laid beside others, stays free to go on.
void keep_apart(std::vector<PlannedValue>& values, const std::vector<InPlace>& in_place, size_t steps) {
  constexpr int64_t kSmall = int64_t{256} << 10, kMost = int64_t{8} << 20;  // bytes of one, and of all
  std::vector<bool> goes_on(values.size());
  for (const InPlace& pair : in_place) {
    if (pair.update || pair.part) goes_on[static_cast<size_t>(pair.from)] = true;
  }
  int64_t bytes = 0;
  for (size_t v = 0; v < values.size(); ++v) {
    PlannedValue& value = values[v];
    if (value.kind != ValueKind::Temporary || goes_on[v] || value.bytes > kSmall || bytes + value.bytes > kMost) continue;
    bytes += value.bytes;
    value.end = static_cast<int32_t>(steps);
  }
}

void place_on(Device& device, Plan& plan, const PlannedValues& planned, const compiler::Settings& settings) {
  std::vector<int32_t> all, own(planned.values.size(), -1);  // own number -> number, and back
  std::vector<PlannedValue> values;
  for (size_t v = 0; v < planned.values.size(); ++v) {
    if (planned.devices[v] != &device) continue;
    own[v] = static_cast<int32_t>(all.size());
    all.push_back(static_cast<int32_t>(v));
    values.push_back(planned.values[v]);
  }
  std::vector<InPlace> in_place;
  for (InPlace p : planned.in_place) {
    p.from = own[p.from];
    p.to = own[p.to];
    if (p.from >= 0 && p.to >= 0) in_place.push_back(p);
  }
  if (plan.device == &device) keep_apart(values, in_place, plan.steps.size());
  MemoryPlan memory = compiler::plan_memory(values, in_place, settings, !device.works_async());
  const auto arena = static_cast<int32_t>(plan.arenas.size());
  for (size_t v = 0; v < all.size(); ++v) {
    if (memory.places[v].base == ValueKind::Temporary) memory.places[v].index = arena;
    plan.places[all[v]] = memory.places[v];
  }
  plan.arenas.push_back({&device, memory.arena_bytes});
  for (const MemoryPlan::Donation& d : memory.donations) plan.outputs[d.output].donor = d.input;
}

}  // namespace

void place_values(Plan& plan, const PlannedValues& planned, const compiler::Settings& settings) {
  plan.places.resize(planned.values.size());
  std::vector<Device*> devices = planned.devices;
  std::sort(devices.begin(), devices.end(), [](Device* a, Device* b) { return a->tag() < b->tag(); });
  devices.erase(std::unique(devices.begin(), devices.end()), devices.end());
  for (Device* device : devices) place_on(*device, plan, planned, settings);
}

}  // namespace tenon::runtime
