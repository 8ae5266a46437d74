// Which of a plan's steps share a launch. Each step goes to the last group that takes it, behind those that write what it reads or that
// read what it would like to write over. The steps of a group are side by side. Then each group goes to the last launch that takes it,
// as its next turn or as a launch of its own; the launches are then the plan's steps.
#include "runtime/plan/plan_launches.h"

#include <algorithm>

#include "passes/schedule/block_time.h"
#include "passes/schedule/join_launches.h"

namespace tenon::runtime {
namespace {

// A launch takes about as long as moving this.
constexpr int64_t kSmallBytes = 1 << 20;
constexpr size_t kMostLaunches = 16;  // that are looked at for a step
constexpr double kLaunchNs = 1300;    // of one that follows another: a node of a graph on an H100
constexpr int64_t kMostBlocks = 128;  // that one block may take the place of: more take it longer than a launch, whatever they do

class Launches {
 public:
  Launches(Plan& plan, PlannedValues& planned, const ir::GpuTarget& target, const Options& options)
      : plan_(plan), planned_(planned), target_(target), options_(options) {}

  std::vector<Seat> run() {
    if (options_.repeats < 0) return {};
    note_uses();
    for (size_t s = 0; s < plan_.steps.size(); ++s) place_beside(s);
    for (size_t g = 0; g < groups_.size(); ++g) place_in_turn(g);
    const bool joins = launches_.size() < plan_.steps.size();
    plan_.may_join = joins && options_.repeats > 0;
    plan_.has_joined = joins && options_.repeats == 0;
    if (!plan_.has_joined) return {};
    for (const int32_t g : group_of_) {
      Seat seat = seat_of_[static_cast<size_t>(g)];
      seat.apart = seat.apart && launches_[static_cast<size_t>(seat.launch)].groups.size() > 1;
      seats_.push_back(seat);
    }
    renumber();
    plan_.code.join(seats_, options_.verify);
    std::vector<Step> steps;
    for (const Launch& launch : launches_) steps.push_back(step_of(launch, steps.size()));
    plan_.steps = std::move(steps);
    for (size_t& s : plan_.recurrent) s = static_cast<size_t>(seats_[s].launch);
    return std::move(seats_);
  }

 private:
  // Steps side by side.
  struct Group {
    std::vector<size_t> steps;
    passes::Turn parts;  // none: no other step may join it
  };
  // Groups in turn.
  struct Launch {
    std::vector<size_t> groups;
    std::vector<passes::Turn> turns;  // none: no other group may come next
    double spare_ns;  // what one block may take longer than the whole GPU before the next turn, for the launches that are saved
  };
  // A group as a turn: how long it takes the whole GPU, and how long one block.
  struct AsTurn {
    passes::Turn parts;  // none: it is no turn
    bool apart = false;  // they are the trees without barriers
    double alone_ns = 0, in_turn_ns = 0;
    size_t launches = 1;
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
    for (const Argument& argument : step.arguments) {
      const int32_t v = argument.at.place;
      if (v >= 0 && std::find(step.writes.begin(), step.writes.end(), v) == step.writes.end()) f(v);
      if (argument.base.place >= 0) f(argument.base.place);
    }
  }

  // The last of `count`, from `first` on, that takes it; `count` if none does.
  template <typename Takes>
  static size_t last_that(size_t first, size_t count, const Takes& takes) {
    const size_t least = std::max(first, count - std::min(count, kMostLaunches));
    for (size_t i = count; i-- > least;) {
      if (takes(i)) return i;
    }
    return count;
  }

  void place_beside(size_t s) {
    const passes::Lowered* part = small_part(s);
    size_t first = 0;
    for_each_earlier(s, [&](size_t other) { first = std::max(first, static_cast<size_t>(group_of_[other]) + 1); });
    const auto takes = [&](size_t g) { return !groups_[g].parts.empty() && passes::can_join(groups_[g].parts, *part); };
    const size_t chosen = part ? last_that(first, groups_.size(), takes) : groups_.size();
    if (chosen == groups_.size()) groups_.emplace_back();
    groups_[chosen].steps.push_back(s);
    if (part) groups_[chosen].parts.push_back(part);
    group_of_.push_back(static_cast<int32_t>(chosen));
  }

  void place_in_turn(size_t g) {
    const AsTurn turn = as_turn(groups_[g]);
    size_t first = 0;
    for (const size_t s : groups_[g].steps) {
      for_each_earlier(s, [&](size_t other) { first = std::max(first, static_cast<size_t>(launch_of_step(other))); });
    }
    // What depends on the launch has to wait for it anyway, so only what one block takes longer counts.
    const auto costs_ns = [&](size_t l) { return turn.in_turn_ns - (depends(g, l) ? turn.alone_ns : 0); };
    const auto saves_ns = static_cast<double>(turn.launches) * kLaunchNs;
    const auto takes = [&](size_t l) {
      const Launch& launch = launches_[l];
      return !launch.turns.empty() && costs_ns(l) <= launch.spare_ns + saves_ns && passes::can_follow(launch.turns, turn.parts);
    };
    const size_t chosen = turn.parts.empty() ? launches_.size() : last_that(first, launches_.size(), takes);
    if (chosen == launches_.size()) launches_.push_back({{}, {}, saves_ns - kLaunchNs - (turn.in_turn_ns - turn.alone_ns)});
    else launches_[chosen].spare_ns = std::min(0.0, launches_[chosen].spare_ns + saves_ns - costs_ns(chosen));
    Launch& launch = launches_[chosen];
    seat_of_.push_back({static_cast<int32_t>(chosen), static_cast<int32_t>(launch.groups.size()), turn.apart});
    launch.groups.push_back(g);
    if (!turn.parts.empty()) launch.turns.push_back(turn.parts);
  }

  int32_t launch_of_step(size_t s) const { return seat_of_[static_cast<size_t>(group_of_[s])].launch; }

  // Whether the group has to come behind something of the launch.
  bool depends(size_t g, size_t launch) const {
    bool result = false;
    for (const size_t s : groups_[g].steps) {
      for_each_earlier(s, [&](size_t other) { result = result || static_cast<size_t>(launch_of_step(other)) == launch; });
    }
    return result;
  }

  // The trees of a group's steps, if one block may do them. What a step starts with is copied before the launch, so nothing of the
  // launch may write that.
  passes::Turn turn_of(const Group& group) const {
    const auto is_copied = [&](size_t s) {
      return std::ranges::any_of(plan_.steps[s].arguments, [](const Argument& argument) { return argument.base.place >= 0; });
    };
    if (std::any_of(group.steps.begin(), group.steps.end(), is_copied)) return {};
    passes::Turn parts = group.parts;
    if (const passes::Lowered* lowered = plan_.code.lowered_of(group.steps[0]); parts.empty() && lowered) parts = {lowered};
    int64_t blocks = 0;
    for (const passes::Lowered* part : parts) {
      for (const ir::Phase& phase : part->whole_tree().phases) blocks += part->sizes[static_cast<size_t>(phase.extent)];
    }
    return blocks <= kMostBlocks && passes::can_follow({}, parts) ? parts : passes::Turn{};
  }

  // One block takes the trees without barriers if it is done sooner with them.
  AsTurn as_turn(const Group& group) {
    AsTurn turn{turn_of(group)};
    if (turn.parts.empty()) return turn;
    for (const passes::Lowered* part : turn.parts) {
      const ir::LoopTree& tree = part->whole_tree();
      double cycles = 0;
      for (const ir::Phase& phase : tree.phases) {
        const std::vector<double> warps = passes::warp_cycles(tree, phase, part->sizes);
        const auto blocks = part->sizes[static_cast<size_t>(phase.extent)];
        cycles += *std::max_element(warps.begin(), warps.end()) *
                  static_cast<double>((blocks + target_.multiprocessors - 1) / target_.multiprocessors);
      }
      turn.alone_ns = std::max(turn.alone_ns, cycles / target_.gigahertz);
      turn.launches = std::max(turn.launches, tree.phases.size());
    }
    double cycles = passes::cycles_in_turn(turn.parts);
    passes::Turn apart = turn.parts;
    for (size_t i = 0; i < apart.size(); ++i) {
      if (const passes::Lowered* other = plan_.code.apart(group.steps[i], target_, options_)) apart[i] = other;
    }
    const double others = apart == turn.parts ? cycles : passes::cycles_in_turn(apart);
    turn.apart = others < cycles;
    if (turn.apart) turn.parts = std::move(apart);
    turn.in_turn_ns = std::min(cycles, others) / target_.gigahertz;
    return turn;
  }

  // The step's tree, if it leaves room on the GPU for others.
  const passes::Lowered* small_part(size_t s) const {
    const passes::Lowered* lowered = plan_.code.lowered_of(s);
    if (!lowered || plan_.steps[s].facts->bytes > kSmallBytes) return nullptr;
    const auto& work = std::get<CompiledStep>(plan_.steps[s].work);
    return work.phases.size() == 1 && work.phases[0].count <= target_.multiprocessors && passes::can_join({}, *lowered) ? lowered : nullptr;
  }

  // Those that it comes behind: steps that write what it reads, or another part of what it writes, and others that read what it would
  // like to write over.
  template <typename F>
  void for_each_earlier(size_t s, const F& f) const {
    const auto come_behind = [&](const std::vector<size_t>& others) {
      for (const size_t other : others) {
        if (other < s) f(other);
      }
    };
    const Step& step = plan_.steps[s];
    for_each_read(step, [&](int32_t v) { come_behind(writers_[static_cast<size_t>(v)]); });
    for (const int32_t v : step.writes) come_behind(writers_[static_cast<size_t>(v)]);
    for (const int32_t from : wishes_[s]) come_behind(readers_[static_cast<size_t>(from)]);
  }

  void renumber() {
    for (size_t v = 0; v < planned_.values.size(); ++v) {
      PlannedValue& value = planned_.values[v];
      if (value.begin >= 0) value.begin = seats_[static_cast<size_t>(value.begin)].launch;
      value.end = value.begin;
      for (const std::vector<size_t>* uses : {&readers_[v], &writers_[v]}) {
        for (const size_t step : *uses) value.end = std::max(value.end, seats_[step].launch);
      }
    }
    // A part beside it, or of a later turn, would read what is written over.
    const auto is_read_beside = [&](const compiler::InPlace& pair) {
      const std::vector<size_t>& readers = readers_[static_cast<size_t>(pair.from)];
      const Seat& seat = seats_[static_cast<size_t>(pair.step)];
      return std::any_of(readers.begin(), readers.end(), [&](size_t reader) {
        return reader != static_cast<size_t>(pair.step) && seats_[reader].launch == seat.launch && seats_[reader].turn >= seat.turn;
      });
    };
    std::erase_if(planned_.in_place, is_read_beside);
    for (compiler::InPlace& pair : planned_.in_place) pair.step = seats_[static_cast<size_t>(pair.step)].launch;
  }

  Step step_of(const Launch& launch, size_t number) {
    const std::vector<size_t>& first = groups_[launch.groups[0]].steps;
    if (launch.groups.size() == 1 && first.size() == 1) return std::move(plan_.steps[first[0]]);
    Step all;
    auto facts = std::make_shared<KernelRecord>();
    CompiledStep work;
    for (const size_t g : launch.groups) {
      for (const size_t s : groups_[g].steps) {
        facts->name += s == first[0] ? "" : s == groups_[g].steps[0] ? " then " : " + ";
        facts->shapes += facts->shapes.empty() ? "" : "; ";
        add_part(plan_.steps[s], all, *facts);
      }
    }
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

  static void add_part(const Step& part, Step& all, KernelRecord& facts) {
    all.device = part.device;
    all.arguments.insert(all.arguments.end(), part.arguments.begin(), part.arguments.end());
    all.writes.append(part.writes.data(), part.writes.size());
    all.scalars.insert(all.scalars.end(), part.scalars.begin(), part.scalars.end());
    facts.name += part.facts->name;
    facts.shapes += part.facts->shapes;
    facts.ops += part.facts->ops;
    facts.bytes += part.facts->bytes;
    facts.flops += part.facts->flops;
  }

  using PlannedValue = compiler::PlannedValue;
  Plan& plan_;
  PlannedValues& planned_;
  const ir::GpuTarget& target_;
  const Options& options_;
  std::vector<std::vector<size_t>> readers_, writers_;  // of each value
  std::vector<std::vector<int32_t>> wishes_;            // by step: values that it would like to write over
  std::vector<Group> groups_;
  std::vector<int32_t> group_of_;  // by step
  std::vector<Launch> launches_;
  std::vector<Seat> seat_of_, seats_;  // by group, by step
};

}  // namespace

std::vector<Seat> join_launches(Plan& plan, PlannedValues& planned, const ir::GpuTarget& target, const Options& options) {
  return Launches(plan, planned, target, options).run();
}

}  // namespace tenon::runtime
