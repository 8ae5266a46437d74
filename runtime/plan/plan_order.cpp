// One walk over the steps. It knows for each piece of memory which step wrote it last, and which have read it since:
//
//   a reader   comes behind the writers of what it reads
//   a writer   comes behind the writers and the readers of what it writes, and stands for them from there on
//
// Pieces are by address, not by value: values that share a place in the arena, one after another, are one piece, and so are an
// output and the input whose memory it may take over.
#include "runtime/plan/plan_order.h"

#include <algorithm>
#include <map>
#include <utility>

namespace tenon::runtime {
namespace {

using compiler::Place;
using compiler::ValueKind;

struct Use {
  int64_t begin, end;  // bytes of the memory
  int32_t step;
};
struct Memory {
  std::vector<Use> writes, reads;  // that no later write covers
};

class Orders {
 public:
  Orders(const Plan& plan, const PlannedValues& planned) : plan_(plan), planned_(planned) {}

  std::vector<StepOrder> run() {
    std::vector<StepOrder> orders;
    for (const Step& step : plan_.steps) {
      StepOrder& order = orders.emplace_back();
      const auto number = static_cast<int32_t>(orders.size()) - 1;
      for (const Argument& argument : step.arguments) {
        read(argument.at.place, number, order);
        read(argument.base.place, number, order);
      }
      for (const int32_t value : step.writes) write(value, number, order);
      reduce(order.after, orders);
    }
    return orders;
  }

 private:
  bool takes_over(const Place& place) const {
    return place.base == ValueKind::Output && plan_.outputs[static_cast<size_t>(place.index)].donor >= 0;
  }

  Memory& memory_of(const Place& place) {
    if (takes_over(place)) return memory_[{ValueKind::Input, plan_.outputs[static_cast<size_t>(place.index)].donor}];
    return memory_[{place.base, place.index}];
  }
  Use use_of(int32_t value, int32_t step) const {
    const int64_t begin = plan_.places[static_cast<size_t>(value)].offset;
    return {begin, begin + planned_.values[static_cast<size_t>(value)].bytes, step};
  }

  // What is written is among these too: no harm is done, since the write comes next.
  void read(int32_t value, int32_t step, StepOrder& order) {
    if (value < 0) return;
    Memory& memory = memory_of(plan_.places[static_cast<size_t>(value)]);
    const Use use = use_of(value, step);
    come_behind(memory.writes, use, order);
    memory.reads.push_back(use);
  }

  void write(int32_t value, int32_t step, StepOrder& order) {
    const Place& place = plan_.places[static_cast<size_t>(value)];
    order.overwrites = order.overwrites || takes_over(place);
    Memory& memory = memory_of(place);
    const Use use = use_of(value, step);
    for (std::vector<Use>* others : {&memory.writes, &memory.reads}) {
      come_behind(*others, use, order);
      std::erase_if(*others, [&](const Use& other) { return use.begin <= other.begin && other.end <= use.end; });
    }
    memory.writes.push_back(use);
  }

  static void come_behind(const std::vector<Use>& others, const Use& use, StepOrder& order) {
    for (const Use& other : others) {
      if (other.step != use.step && other.begin < use.end && use.begin < other.end) order.after.push_back(other.step);
    }
  }

  // Leaves out what another one that is left comes behind anyway.
  static void reduce(std::vector<int32_t>& after, const std::vector<StepOrder>& orders) {
    std::sort(after.begin(), after.end());
    after.erase(std::unique(after.begin(), after.end()), after.end());
    const std::vector<int32_t> all = after;
    std::erase_if(after, [&](int32_t step) {
      return std::any_of(all.begin(), all.end(), [&](int32_t other) {
        const std::vector<int32_t>& before = orders[static_cast<size_t>(other)].after;
        return std::find(before.begin(), before.end(), step) != before.end();
      });
    });
  }

  const Plan& plan_;
  const PlannedValues& planned_;
  std::map<std::pair<ValueKind, int32_t>, Memory> memory_;
};

}  // namespace

std::vector<StepOrder> order_of(const Plan& plan, const PlannedValues& planned) { return Orders(plan, planned).run(); }

}  // namespace tenon::runtime
