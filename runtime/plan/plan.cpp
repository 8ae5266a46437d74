// Finding the code of a plan's steps.
#include "runtime/plan/plan.h"

#include <algorithm>
#include <numeric>
#include <stdexcept>

#include "runtime/cache/kernel_cache.h"

namespace tenon::runtime {

bool Plan::find_code(const Options& options, const FindLayerWork& find_layer_work) {
  if (found_.load(std::memory_order_acquire)) {
    if (in_first_tier_.load(std::memory_order_relaxed) && options.first_tier != 2) leave_first_tier(options);
    return false;
  }
  const std::lock_guard lock(finding_);
  if (found_.load(std::memory_order_relaxed)) return false;
  try {
    code.find(steps, options);
  } catch (const std::exception& e) {
    if (!has_joined) throw;
    if (!join_refused_.load(std::memory_order_relaxed)) join_refusal_ = e.what();
    join_refused_.store(true, std::memory_order_release);
    throw JoinRefused(join_refusal_);
  }
  for (size_t s : recurrent) {
    auto& layer = std::get<RecurrentLayerStep>(steps[s].work);
    layer.work = find_layer_work(*layer.node, options);
  }
  code = {};
  const auto is_first = [](const Step& step) {
    const auto* work = std::get_if<CompiledStep>(&step.work);
    return work && work->kernel->is_first_tier();
  };
  in_first_tier_.store(std::any_of(steps.begin(), steps.end(), is_first), std::memory_order_relaxed);
  found_.store(true, std::memory_order_release);
  return true;
}

void Plan::leave_first_tier(const Options& options) {
  std::vector<KernelAgain> again;
  for (const Step& step : steps) {
    const auto* work = std::get_if<CompiledStep>(&step.work);
    if (!work || !work->kernel->is_first_tier()) continue;
    const auto add_phase = [](double ns, const Phase& phase) { return ns + static_cast<double>(phase.count) * phase.ns; };
    again.push_back({work->kernel, std::accumulate(work->phases.begin(), work->phases.end(), 0.0, add_phase)});
  }
  if (again.empty()) in_first_tier_.store(false, std::memory_order_relaxed);
  else KernelCache::global().leave_first_tier(again, options);
}

bool is_outdated(const Plan& plan) {
  return std::any_of(plan.libraries.begin(), plan.libraries.end(), [](Device* device) { return !device->library_works(); });
}

}  // namespace tenon::runtime
