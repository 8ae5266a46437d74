// Which of a plan's steps share a launch. Each step goes to the last launch that takes it, behind those that write what it reads or that read what
// it would like to write over; the launches are then the plan's steps.
#include "runtime/plan_launches.h"

#include <algorithm>

#include "passes/schedule/join_launches.h"

namespace tenon::runtime {
namespace {

// A launch takes about as long as moving this.
constexpr int64_t kSmallBytes = 1 << 20;
constexpr size_t kMostLaunches = 16;  // that are looked at for a step

class Launches {
 public:
  Launches(Plan& plan, PlannedValues& planned, const ir::GpuTarget& target) : plan_(plan), planned_(planned), target_(target) {}

  std::vector<int32_t> run(const Options& options) {
    note_uses();
    for (size_t s = 0; s < plan_.steps.size(); ++s) place(s);
    const bool joins = launches_.size() < plan_.steps.size();
    plan_.may_join = joins && options.repeats > 0;
    plan_.has_joined = joins && options.repeats == 0;
    if (!plan_.has_joined) return {};
    renumber();
    plan_.code.join(launch_of_, options.verify);
    std::vector<Step> steps;
    for (const Launch& launch : launches_) steps.push_back(step_of(launch, steps.size()));
    plan_.steps = std::move(steps);
    for (size_t& s : plan_.recurrent) s = static_cast<size_t>(launch_of_[s]);
    return std::move(launch_of_);
  }

 private:
  struct Launch {
    std::vector<size_t> steps;
    std::vector<const passes::Lowered*> parts;  // none: no other step may join it
  };

  void note_uses() {
    readers_.resize(planned_.values.size());
    writers_.resize(planned_.values.size());
    for (size_t s = 0; s < plan_.steps.size(); ++s) {
      const Step& step = plan_.steps[s];
      for (const int32_t v : step.writes) writers_[static_cast<size_t>(v)].push_back(s);
      for_each_read(step, [&](int32_t v) { readers_[static_cast<size_t>(v)].push_back(s); });
    }
    wishes_.resize(plan_.steps.size());
    for (const compiler::InPlace& pair : planned_.in_place) wishes_[static_cast<size_t>(pair.step)].push_back(pair.from);
  }
  template <typename F>
  static void for_each_read(const Step& step, const F& f) {
    for (const int32_t v : step.buffers) {
      if (v >= 0 && std::find(step.writes.begin(), step.writes.end(), v) == step.writes.end()) f(v);
    }
    for (const Step::Base& base : step.bases) f(base.place);
  }

  void place(size_t s) {
    const passes::Lowered* part = small_part(s);
    const size_t first = first_launch(s), none = launches_.size();
    size_t chosen = none;
    if (part) {
      const size_t least = std::max(first, none - std::min(none, kMostLaunches));
      for (size_t l = none; chosen == none && l-- > least;) {
        if (!launches_[l].parts.empty() && passes::can_join(launches_[l].parts, *part)) chosen = l;
      }
    }
    if (chosen == none) launches_.emplace_back();
    launches_[chosen].steps.push_back(s);
    if (part) launches_[chosen].parts.push_back(part);
    launch_of_.push_back(static_cast<int32_t>(chosen));
  }

  // The step's tree, if it leaves room on the GPU for others.
  const passes::Lowered* small_part(size_t s) const {
    const passes::Lowered* lowered = plan_.code.lowered_of(s);
    if (!lowered || plan_.steps[s].facts->bytes > kSmallBytes) return nullptr;
    const auto& work = std::get<CompiledStep>(plan_.steps[s].work);
    return work.phases.size() == 1 && work.phases[0].count <= target_.multiprocessors && passes::can_join({}, *lowered) ? lowered : nullptr;
  }

  // Behind who writes what the step reads, or another part of what it writes, and behind who else reads what it would like to write over.
  size_t first_launch(size_t s) const {
    size_t first = 0;
    const auto come_behind = [&](const std::vector<size_t>& others) {
      for (const size_t other : others) {
        if (other < s) first = std::max(first, static_cast<size_t>(launch_of_[other]) + 1);
      }
    };
    const Step& step = plan_.steps[s];
    for_each_read(step, [&](int32_t v) { come_behind(writers_[static_cast<size_t>(v)]); });
    for (const int32_t v : step.writes) come_behind(writers_[static_cast<size_t>(v)]);
    for (const int32_t from : wishes_[s]) come_behind(readers_[static_cast<size_t>(from)]);
    return first;
  }

  void renumber() {
    for (size_t v = 0; v < planned_.values.size(); ++v) {
      PlannedValue& value = planned_.values[v];
      if (value.begin >= 0) value.begin = launch_of_[static_cast<size_t>(value.begin)];
      value.end = value.begin;
      for (const std::vector<size_t>* uses : {&readers_[v], &writers_[v]}) {
        for (const size_t step : *uses) value.end = std::max(value.end, launch_of_[step]);
      }
    }
    // Another part of the launch would read what is written over.
    const auto is_read_beside = [&](const compiler::InPlace& pair) {
      const std::vector<size_t>& readers = readers_[static_cast<size_t>(pair.from)];
      return std::any_of(readers.begin(), readers.end(), [&](size_t reader) {
        return reader != static_cast<size_t>(pair.step) && launch_of_[reader] == launch_of_[static_cast<size_t>(pair.step)];
      });
    };
    std::erase_if(planned_.in_place, is_read_beside);
    for (compiler::InPlace& pair : planned_.in_place) pair.step = launch_of_[static_cast<size_t>(pair.step)];
  }

  Step step_of(const Launch& launch, size_t number) {
    if (launch.steps.size() == 1) return std::move(plan_.steps[launch.steps[0]]);
    Step all;
    auto facts = std::make_shared<KernelRecord>();
    CompiledStep work;
    for (const size_t s : launch.steps) add_part(plan_.steps[s], all, work, *facts);
    const passes::Lowered& joined = *plan_.code.lowered_of(number);
    facts->schedule = joined.schedule;
    facts->plan = plan_.number;
    work.sizes = joined.sizes;
    work.phases = {{joined.sizes.back(), joined.phase_cost[0]}};
    all.work = std::move(work);
    plan_.code.set_facts(number, facts);
    all.facts = std::move(facts);
    return all;
  }

  static void add_part(Step& part, Step& all, CompiledStep& work, KernelRecord& facts) {
    const auto before = static_cast<int32_t>(all.buffers.size());
    all.device = part.device;
    all.buffers.insert(all.buffers.end(), part.buffers.begin(), part.buffers.end());
    all.writes.append(part.writes.data(), part.writes.size());
    all.scalars.insert(all.scalars.end(), part.scalars.begin(), part.scalars.end());
    const auto add_shifted = [&](auto& to, const auto& list) {
      for (auto entry : list) {
        entry.argument += before;
        to.push_back(entry);
      }
    };
    add_shifted(all.bases, part.bases);
    add_shifted(all.windows, part.windows);
    add_shifted(work.begins, std::get<CompiledStep>(part.work).begins);
    facts.name += (facts.name.empty() ? "" : " + ") + part.facts->name;
    facts.shapes += (facts.shapes.empty() ? "" : "; ") + part.facts->shapes;
    facts.ops += part.facts->ops;
    facts.bytes += part.facts->bytes;
    facts.flops += part.facts->flops;
  }

  using PlannedValue = compiler::PlannedValue;
  Plan& plan_;
  PlannedValues& planned_;
  const ir::GpuTarget& target_;
  std::vector<std::vector<size_t>> readers_, writers_;  // of each value
  std::vector<std::vector<int32_t>> wishes_;  // by step: values that it would like to write over
  std::vector<Launch> launches_;
  std::vector<int32_t> launch_of_;  // by step
};

}  // namespace

std::vector<int32_t> join_launches(Plan& plan, PlannedValues& planned, const ir::GpuTarget& target, const Options& options) {
  return Launches(plan, planned, target).run(options);
}

}  // namespace tenon::runtime
