// Chains of updates become one value each. Then donations, then hosts for temporaries in the buffers of later
// outputs, then the arena.
#include "passes/memory_plan.h"

#include <algorithm>
#include <set>

namespace tenon::passes {
namespace {

constexpr int64_t kAlign = 64;

int64_t aligned(int64_t bytes) { return (bytes + kAlign - 1) / kAlign * kAlign; }

class Planner {
 public:
  Planner(const std::vector<PlannedValue>& values, const std::vector<InPlace>& in_place) : values_(values) {
    plan_.places.resize(values.size());
    donated_.resize(values.size());
    guests_.resize(values.size());
    successor_.assign(values.size(), -1);
    join_updates(in_place);
  }

  MemoryPlan run() {
    for (const InPlace& pair : in_place_) donate(pair);
    for (size_t v = 0; v < values_.size(); ++v) {
      const PlannedValue& value = values_[v];
      if (value.kind != ValueKind::Temporary) {
        plan_.places[v] = {value.kind, value.index, 0};
        if (value.kind == ValueKind::Output) outputs_.push_back(static_cast<int32_t>(v));
      }
    }
    for (int32_t value : temporaries()) {
      if (!take_over(value) && !lodge(value)) place_in_arena(value);
    }
    for (size_t v = values_.size(); v-- > 0;) {
      if (successor_[v] >= 0)
        plan_.places[v] = plan_.places[static_cast<size_t>(last_of(static_cast<int32_t>(v)))];
    }
    return std::move(plan_);
  }

 private:
  // The last value of a chain stands for all of it: alive from the first one's begin on.
  void join_updates(const std::vector<InPlace>& in_place) {
    for (const InPlace& p : in_place) {
      PlannedValue &from = values_[static_cast<size_t>(p.from)], &to = values_[static_cast<size_t>(p.to)];
      const bool joins = p.update && from.kind == ValueKind::Temporary && from.end == p.step &&
                         from.bytes == to.bytes && successor_[static_cast<size_t>(p.from)] < 0;
      if (!joins) continue;
      successor_[static_cast<size_t>(p.from)] = p.to;
      to.begin = from.begin;
    }
    for (InPlace p : in_place) {
      p.from = last_of(p.from);
      p.to = last_of(p.to);
      if (p.from != p.to && at(p.to).begin == p.step) in_place_.push_back(p);
    }
  }

  int32_t last_of(int32_t v) {
    int32_t last = v;
    while (successor_[static_cast<size_t>(last)] >= 0) last = successor_[static_cast<size_t>(last)];
    while (successor_[static_cast<size_t>(v)] >= 0) {  // shorter ways for the next time
      int32_t next = successor_[static_cast<size_t>(v)];
      if (next != last) successor_[static_cast<size_t>(v)] = last;
      v = next;
    }
    return last;
  }

  // In the order in which they begin: whoever takes over a place then knows that all who could be there are
  // placed.
  std::vector<int32_t> temporaries() const {
    std::vector<int32_t> result;
    for (size_t v = 0; v < values_.size(); ++v) {
      if (values_[v].kind == ValueKind::Temporary && successor_[v] < 0)
        result.push_back(static_cast<int32_t>(v));
    }
    std::stable_sort(result.begin(), result.end(),
                     [&](int32_t a, int32_t b) { return at(a).begin < at(b).begin; });
    return result;
  }

  const PlannedValue& at(int32_t v) const { return values_[static_cast<size_t>(v)]; }

  bool may_replace(int32_t from, int32_t to) const {
    return std::any_of(in_place_.begin(), in_place_.end(), [&](const InPlace& p) {
      return p.from == from && p.to == to && p.step == at(from).end && at(from).bytes == at(to).bytes;
    });
  }

  void donate(const InPlace& pair) {
    const PlannedValue &from = at(pair.from), &to = at(pair.to);
    bool taken = donated_[static_cast<size_t>(pair.from)] || donated_[static_cast<size_t>(pair.to)];
    if (from.kind != ValueKind::Input || to.kind != ValueKind::Output || taken) return;
    if (from.end != pair.step || from.bytes != to.bytes || from.bytes == 0) return;
    donated_[static_cast<size_t>(pair.from)] = donated_[static_cast<size_t>(pair.to)] = true;
    plan_.donations.push_back({from.index, to.index});
  }

  // A temporary in the arena written over another that dies in the same step.
  bool take_over(int32_t v) {
    for (const InPlace& p : in_place_) {
      if (p.to != v || at(p.from).kind != ValueKind::Temporary || !may_replace(p.from, v)) continue;
      const Place& place = plan_.places[static_cast<size_t>(p.from)];
      if (place.base != ValueKind::Temporary || replaced_.count(p.from)) continue;
      replaced_.insert(p.from);
      plan_.places[static_cast<size_t>(v)] = place;
      in_arena_.push_back(v);
      return true;
    }
    return false;
  }

  // In the smallest buffer of an output that is written after this value is dead (or right over it).
  bool lodge(int32_t v) {
    int32_t best = -1;
    for (int32_t o : outputs_) {
      bool free_in_time = at(o).begin > at(v).end || may_replace(v, o);
      if (!free_in_time || donated_[static_cast<size_t>(o)] || at(o).bytes < at(v).bytes) continue;
      if (best >= 0 && at(best).bytes <= at(o).bytes) continue;
      if (!crowded(o, v)) best = o;
    }
    if (best < 0) return false;
    guests_[static_cast<size_t>(best)].push_back(v);
    plan_.places[static_cast<size_t>(v)] = {ValueKind::Output, at(best).index, 0};
    return true;
  }

  bool alive_together(int32_t a, int32_t b) const {
    return at(a).begin <= at(b).end && at(b).begin <= at(a).end;
  }

  bool crowded(int32_t output, int32_t v) const {
    const std::vector<int32_t>& guests = guests_[static_cast<size_t>(output)];
    return std::any_of(guests.begin(), guests.end(), [&](int32_t g) { return alive_together(g, v); });
  }

  void place_in_arena(int32_t v) {
    struct Gap {
      int64_t begin, end;
    };
    std::vector<Gap> taken;
    for (int32_t other : in_arena_) {
      if (!alive_together(other, v)) continue;
      int64_t begin = plan_.places[static_cast<size_t>(other)].offset;
      taken.push_back({begin, begin + aligned(at(other).bytes)});
    }
    std::sort(taken.begin(), taken.end(), [](const Gap& a, const Gap& b) { return a.begin < b.begin; });
    int64_t offset = 0, size = aligned(at(v).bytes);
    for (const Gap& g : taken) {
      if (offset + size <= g.begin) break;
      offset = std::max(offset, g.end);
    }
    plan_.places[static_cast<size_t>(v)] = {ValueKind::Temporary, 0, offset};
    plan_.arena_bytes = std::max(plan_.arena_bytes, offset + size);
    in_arena_.push_back(v);
  }

  std::vector<PlannedValue> values_;
  std::vector<InPlace> in_place_;
  std::vector<int32_t> successor_;  // the update that takes this value's place; -1: none
  MemoryPlan plan_;
  std::vector<bool> donated_;
  std::vector<std::vector<int32_t>> guests_;  // by output value: temporaries in its buffer
  std::vector<int32_t> outputs_, in_arena_;
  std::set<int32_t> replaced_;
};

}  // namespace

MemoryPlan plan_memory(const std::vector<PlannedValue>& values, const std::vector<InPlace>& in_place) {
  return Planner(values, in_place).run();
}

}  // namespace tenon::passes
