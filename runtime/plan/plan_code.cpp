// Lowering each kernel and call once, and finding the code of all trees of a device in one call.
#include "runtime/plan/plan_code.h"

#include <algorithm>
#include <map>
#include <set>
#include <stdexcept>
#include <string_view>

#include "passes/schedule/join_launches.h"
#include "runtime/cache/kernel_cache.h"
#include "runtime/cache/lowered_kernels.h"
#include "runtime/history/profiler.h"
#include "runtime/plan/analysis.h"

namespace tenon::runtime {
namespace {

// Whether a schedule that needs no shared memory sums in the order of the one that was taken; tensor cores have an order of their own.
bool has_its_bits(std::string_view apart, std::string_view taken) {
  return (taken == "contraction" && apart == "contraction outputs") || (taken == "rows in blocks" && apart == "rows");
}

// A plan that runs often has other code only for those kernels for which that is better, and that take the time to show it.
std::shared_ptr<const passes::Lowered> lower_work(const std::shared_ptr<const ir::Work>& work, const Device& device, const Options& options,
                                                  const compiler::Settings& settings) {
  Options seldom = options;
  seldom.often = 1;
  std::shared_ptr<const passes::Lowered> lowered = LoweredKernels::global().lower(work, device.target(seldom), settings);
  if (options.often != 0 || !is_better_often(*lowered)) return lowered;
  return LoweredKernels::global().lower(work, device.target(options), settings);
}

// About how long a launch takes.
double launch_ns(const passes::Lowered& lowered) {
  double ns = 0;
  const std::vector<ir::Phase>& phases = lowered.whole_tree().phases;
  for (size_t p = 0; p < phases.size(); ++p) ns += static_cast<double>(lowered.sizes[phases[p].extent]) * lowered.phase_cost.at(p);
  return ns;
}

}  // namespace

// Compiling takes some 20 ms: what a launch of less could gain is not worth that.
bool is_better_often(const passes::Lowered& lowered) {
  constexpr double kLeastNs = 300;
  return lowered.better_often && launch_ns(lowered) >= kLeastNs;
}

size_t PlanCode::lower(ir::Work one, Device& device, const Options& options, const compiler::Settings& settings) {
  const auto work = std::make_shared<const ir::Work>(std::move(one));
  const uint64_t hash = ir::hash_of_work(*work);
  for (auto [it, end] = tree_of_.equal_range(hash); it != end; ++it) {
    const Tree& tree = trees_[it->second];
    if (tree.device == &device && ir::same_work(*tree.work, *work)) return it->second;
  }
  std::shared_ptr<const passes::Lowered> lowered;
  try {
    ProfileSpan span("plan", "schedule");
    lowered = lower_work(work, device, options, settings);
  } catch (const ir::IrError& e) {
    throw std::runtime_error("kernel '" + ir::signature(*work).name + "' could not be scheduled: " + e.what());
  }
  tree_of_.emplace(hash, trees_.size());
  trees_.push_back({work, &device, std::move(lowered)});
  return trees_.size() - 1;
}

void PlanCode::add_step(size_t step, size_t tree, std::shared_ptr<KernelRecord> facts) {
  if (place_of_.size() <= step) place_of_.resize(step + 1, kNone);
  place_of_[step] = static_cast<int32_t>(steps_.size());
  steps_.push_back({step, tree, std::move(facts)});
}

const passes::Lowered* PlanCode::lowered_of(size_t step) const {
  const int32_t place = step < place_of_.size() ? place_of_[step] : kNone;
  return place < 0 ? nullptr : trees_[steps_[static_cast<size_t>(place)].tree].lowered.get();
}

// Without shared memory a product is a thread's for each output.
const passes::Lowered* PlanCode::apart(size_t step, const ir::GpuTarget& target, const Options& options) {
  Tree& tree = trees_[steps_[static_cast<size_t>(place_of_.at(step))].tree];
  const ir::LoopTree& known = tree.lowered->whole_tree();
  if (!tree.work || !std::holds_alternative<ir::Kernel>(*tree.work) || known.phases.size() != 1 || !passes::waits(known, known.phases[0]))
    return nullptr;
  if (!tree.apart) {
    ir::GpuTarget without = target;
    without.shared_bytes = 0;
    try {
      tree.apart = LoweredKernels::global().lower(tree.work, without, compiler_settings(options));
    } catch (const ir::IrError&) {
      tree.apart = tree.lowered;
    }
    const ir::LoopTree& other = tree.apart->whole_tree();
    const auto is_global = [](const ir::TreeBuffer& b) { return b.space == ir::Space::Global; };
    const bool serves =
        other.phases.size() == 1 && !passes::waits(other, other.phases[0]) && tree.apart->donations == tree.lowered->donations &&
        std::none_of(known.buffers.begin(), known.buffers.end(), is_global) &&
        std::none_of(other.buffers.begin(), other.buffers.end(), is_global) && has_its_bits(tree.apart->schedule, tree.lowered->schedule);
    if (!serves) tree.apart = tree.lowered;
  }
  return tree.apart == tree.lowered ? nullptr : tree.apart.get();
}

void PlanCode::join(std::span<const Seat> seats, bool verify) {
  std::map<int32_t, std::vector<StepTree>> parts_of;
  const auto turn_of = [&](const StepTree& s) { return seats[s.step].turn; };
  for (StepTree& s : steps_) parts_of[seats[s.step].launch].push_back(std::move(s));
  steps_.clear();
  place_of_.clear();
  for (auto& [launch, parts] : parts_of) {
    size_t tree = parts[0].tree;
    if (parts.size() > 1) {
      std::vector<passes::Turn> turns(1);
      std::stable_sort(parts.begin(), parts.end(), [&](const StepTree& a, const StepTree& b) { return turn_of(a) < turn_of(b); });
      for (size_t i = 0; i < parts.size(); ++i) {
        if (i > 0 && turn_of(parts[i]) != turn_of(parts[i - 1])) turns.emplace_back();
        const Tree& of_part = trees_[parts[i].tree];
        turns.back().push_back((seats[parts[i].step].apart && of_part.apart ? of_part.apart : of_part.lowered).get());
      }
      Device* device = trees_[tree].device;
      tree = trees_.size();
      trees_.push_back({{}, device, std::make_shared<const passes::Lowered>(passes::join_launches(turns))});
      if (verify) ir::verify(trees_[tree].lowered->tree);
    }
    add_step(static_cast<size_t>(launch), tree, std::move(parts[0].facts));
  }
}

void PlanCode::set_facts(size_t step, std::shared_ptr<KernelRecord> facts) {
  steps_[static_cast<size_t>(place_of_.at(step))].facts = std::move(facts);
}

void PlanCode::find(std::vector<Step>& steps, const Options& options) const {
  std::vector<FoundKernel> found(trees_.size());
  std::vector<int> uses(trees_.size(), 0);
  for (const StepTree& s : steps_) ++uses[s.tree];
  std::set<Device*> done;
  for (const Tree& first : trees_) {
    if (!done.insert(first.device).second) continue;
    std::vector<WantedKernel> wanted;
    std::vector<size_t> numbers;
    for (size_t t = 0; t < trees_.size(); ++t) {
      if (trees_[t].device != first.device || uses[t] == 0) continue;
      const std::shared_ptr<const passes::Lowered>& lowered = trees_[t].lowered;
      wanted.push_back({{lowered, &lowered->whole_tree()}, uses[t] * launch_ns(*lowered)});
      numbers.push_back(t);
    }
    std::vector<FoundKernel> of_device = KernelCache::global().get(wanted, *first.device, options);
    for (size_t i = 0; i < numbers.size(); ++i) found[numbers[i]] = std::move(of_device[i]);
  }
  std::vector<bool> taken(trees_.size(), false);
  for (const StepTree& s : steps_) {
    Step& step = steps[s.step];
    const auto& kernel = std::get<CompiledStep>(step.work).kernel = found[s.tree].kernel;
    step.cache = taken[s.tree] ? CacheState::Memory : found[s.tree].cache;
    step.compile_ms = step.cache == CacheState::Compiled ? kernel->compile_ms : 0;
    s.facts->hash = kernel->hash.low;
    if (taken[s.tree]) count(Count::MemoryHits);
    taken[s.tree] = true;
  }
}

}  // namespace tenon::runtime
