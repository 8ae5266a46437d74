// Chains of updates, and values with their parts, become one value each. Then come donations, then temporaries in
// the buffers of later outputs, then the arena. Nothing here is worse than n log n in the number of values.
#include "compiler/memory_plan.h"

#include <algorithm>
#include <functional>
#include <map>
#include <queue>
#include <span>
#include <utility>

namespace tenon::compiler {
namespace {

constexpr int64_t kAlign = 64;

int64_t aligned(int64_t bytes) { return (bytes + kAlign - 1) / kAlign * kAlign; }

class Planner {
 public:
  Planner(const std::vector<PlannedValue>& values, const std::vector<InPlace>& in_place, bool reuse_outputs)
      : values_(values), reuse_outputs_(reuse_outputs) {
    plan_.places.resize(values.size());
    donated_.resize(values.size());
    reused_until_.assign(values.size(), -1);
    replaced_.resize(values.size());
    successor_.assign(values.size(), {-1, 0});
    join_chains(in_place);
  }

  MemoryPlan run() {
    for (const InPlace& pair : as_offered_) donate(pair);
    for (size_t v = 0; v < values_.size(); ++v) {
      const PlannedValue& value = values_[v];
      if (value.kind != ValueKind::Temporary) {
        plan_.places[v] = {value.kind, value.index, 0};
        if (value.kind == ValueKind::Output && reuse_outputs_) outputs_.push_back(static_cast<int32_t>(v));
      }
    }
    // Later ones first: they are free for longest among equal buffers.
    std::ranges::stable_sort(
        outputs_, [&](int32_t a, int32_t b) { return at(a).bytes != at(b).bytes ? at(a).bytes < at(b).bytes : at(a).begin > at(b).begin; });
    for (int32_t value : temporaries()) {
      leave_arena_before(at(value).begin);
      if (!take_over(value) && !reuse_output(value)) place_in_arena(value);
    }
    for (size_t v = values_.size(); v-- > 0;) {
      if (successor_[v].value < 0) continue;
      const Successor last = last_of(static_cast<int32_t>(v));
      plan_.places[v] = plan_.places[last.value];
      plan_.places[v].offset += last.offset;
    }
    return std::move(plan_);
  }

 private:
  // The value that one has become part or all of, and where in it.
  struct Successor {
    int32_t value;
    int64_t offset;
  };

  // The last value of a chain stands for all of it: alive from the first one's begin on.
  void join_chains(const std::vector<InPlace>& in_place) {
    for (const InPlace& p : in_place) {
      PlannedValue &from = values_[p.from], &to = values_[p.to];
      const bool joins = (p.part || (p.update && from.bytes == to.bytes)) && from.end == p.step && from.kind == ValueKind::Temporary &&
                         successor_[p.from].value < 0;
      if (!joins) continue;
      successor_[p.from] = {p.to, p.offset};
      to.begin = std::min(to.begin, from.begin);
    }
    for (InPlace p : in_place) {
      if (p.part) continue;
      p.from = last_of(p.from).value;
      p.to = last_of(p.to).value;
      if (p.from != p.to && at(p.to).begin == p.step) in_place_.push_back(p);
    }
    as_offered_ = in_place_;
    std::ranges::stable_sort(in_place_, [](const InPlace& a, const InPlace& b) { return a.to < b.to; });
  }

  Successor last_of(int32_t v) {
    Successor last{v, 0};
    while (successor_[last.value].value >= 0) {
      const Successor& next = successor_[last.value];
      last = {next.value, last.offset + next.offset};
    }
    int64_t left = last.offset;
    while (v != last.value) {  // shorter ways for the next time
      Successor& next = successor_[v];
      v = next.value;
      left -= std::exchange(next, Successor{last.value, left}).offset;
    }
    return last;
  }

  // In the order in which they begin: when a value takes over a place, all values that could be there have
  // theirs.
  std::vector<int32_t> temporaries() const {
    std::vector<int32_t> result;
    for (size_t v = 0; v < values_.size(); ++v) {
      if (values_[v].kind == ValueKind::Temporary && successor_[v].value < 0) result.push_back(static_cast<int32_t>(v));
    }
    std::ranges::stable_sort(result, [&](int32_t a, int32_t b) { return at(a).begin < at(b).begin; });
    return result;
  }

  const PlannedValue& at(int32_t v) const { return values_[v]; }

  // The pairs that write `to`.
  std::span<const InPlace> pairs_into(int32_t to) const {
    const auto [first, last] = std::equal_range(in_place_.begin(), in_place_.end(), InPlace{0, 0, to},
                                                [](const InPlace& a, const InPlace& b) { return a.to < b.to; });
    return {first, last};
  }

  bool may_replace(int32_t from, int32_t to) const {
    const std::span<const InPlace> pairs = pairs_into(to);
    return std::ranges::any_of(
        pairs, [&](const InPlace& p) { return p.from == from && p.step == at(from).end && at(from).bytes == at(to).bytes; });
  }

  void donate(const InPlace& pair) {
    const PlannedValue &from = at(pair.from), &to = at(pair.to);
    bool taken = donated_[pair.from] || donated_[pair.to];
    if (from.kind != ValueKind::Input || to.kind != ValueKind::Output || taken) return;
    if (from.end != pair.step || from.bytes != to.bytes || from.bytes == 0) return;
    donated_[pair.from] = donated_[pair.to] = true;
    plan_.donations.push_back({from.index, to.index});
  }

  // A temporary in the arena written over another that dies in the same step.
  bool take_over(int32_t v) {
    for (const InPlace& p : pairs_into(v)) {
      if (at(p.from).kind != ValueKind::Temporary || !may_replace(p.from, v)) continue;
      const Place& place = plan_.places[p.from];
      if (place.base != ValueKind::Temporary || replaced_[p.from]) continue;
      replaced_[p.from] = true;  // the place stays taken
      plan_.places[v] = place;
      arena_ends_.push({at(v).end, v});
      return true;
    }
    return false;
  }

  // In the smallest buffer of an output that is written after this value is dead (or right over it).
  bool reuse_output(int32_t v) {
    auto candidate =
        std::lower_bound(outputs_.begin(), outputs_.end(), at(v).bytes, [&](int32_t o, int64_t bytes) { return at(o).bytes < bytes; });
    for (int tried = 0; candidate != outputs_.end() && tried < kMostTried; ++candidate, ++tried) {
      const int32_t o = *candidate;
      const bool free_in_time = at(o).begin > at(v).end || may_replace(v, o);
      const bool occupied = reused_until_[o] >= at(v).begin;
      if (!free_in_time || occupied || donated_[o]) continue;
      reused_until_[o] = at(v).end;
      plan_.places[v] = {ValueKind::Output, at(o).index, 0};
      return true;
    }
    return false;
  }

  // Values that are dead when step `begin` starts give their places back.
  void leave_arena_before(int32_t begin) {
    while (!arena_ends_.empty() && arena_ends_.top().first < begin) {
      const int32_t v = arena_ends_.top().second;
      arena_ends_.pop();
      if (replaced_[v]) continue;  // the value that took over is there
      int64_t first = plan_.places[v].offset, last = first + aligned(at(v).bytes);
      auto next = gaps_.lower_bound(first);
      if (next != gaps_.end() && next->first == last) {
        last = next->second;
        next = gaps_.erase(next);
      }
      if (next != gaps_.begin() && std::prev(next)->second == first) {
        std::prev(next)->second = last;
      } else if (first < last) {
        gaps_.emplace(first, last);
      }
    }
  }

  void place_in_arena(int32_t v) {
    const int64_t size = aligned(at(v).bytes);
    auto gap = gaps_.begin();
    while (gap != gaps_.end() && gap->second - gap->first < size && gap->second != plan_.arena_bytes) ++gap;
    int64_t offset = plan_.arena_bytes;
    if (gap != gaps_.end()) {
      offset = gap->first;
      const int64_t end = gap->second;
      gaps_.erase(gap);
      if (offset + size < end) gaps_.emplace(offset + size, end);
    }
    plan_.places[v] = {ValueKind::Temporary, 0, offset};
    plan_.arena_bytes = std::max(plan_.arena_bytes, offset + size);
    arena_ends_.push({at(v).end, v});
  }

  static constexpr int kMostTried = 64;  // outputs that are looked at for one value

  std::vector<PlannedValue> values_;
  bool reuse_outputs_;
  std::vector<InPlace> in_place_;     // by the value that is written
  std::vector<InPlace> as_offered_;   // the better ones of a step first
  std::vector<Successor> successor_;  // of a value that an update takes over, or that is a part; -1: none
  MemoryPlan plan_;
  std::vector<bool> donated_;
  std::vector<int32_t> reused_until_;       // by output value: when the last temporary in its buffer is dead
  std::vector<int32_t> outputs_;            // smallest first
  std::map<int64_t, int64_t> gaps_;         // of the arena, free now: begin -> end
  using End = std::pair<int32_t, int32_t>;  // a value and when it is dead
  std::priority_queue<End, std::vector<End>, std::greater<>> arena_ends_;
  std::vector<bool> replaced_;
};

}  // namespace

std::string print(const MemoryPlan& plan) {
  static constexpr const char* kBase[] = {"input ", "output ", "arena"};
  std::string text = "memory, arena of " + std::to_string(plan.arena_bytes) + " bytes\n";
  for (size_t v = 0; v < plan.places.size(); ++v) {
    const Place& place = plan.places[v];
    text += "  value " + std::to_string(v) + ": " + kBase[static_cast<size_t>(place.base)];
    if (place.base != ValueKind::Temporary) text += std::to_string(place.index);
    text += " + " + std::to_string(place.offset) + "\n";
  }
  for (const MemoryPlan::Donation& d : plan.donations) {
    text += "  output " + std::to_string(d.output) + " takes over input " + std::to_string(d.input) + "\n";
  }
  return text;
}

MemoryPlan plan_memory(const std::vector<PlannedValue>& values, const std::vector<InPlace>& in_place, bool reuse_outputs) {
  return Planner(values, in_place, reuse_outputs).run();
}

}  // namespace tenon::compiler
