// The plan of a step, its places by row, and the rows one after another.
#include "runtime/run/recurrence.h"

#include <algorithm>
#include <functional>
#include <map>
#include <mutex>
#include <stdexcept>

#include "runtime/base/evaluation_mutex.h"
#include "runtime/plan/graph_key.h"
#include "runtime/run/evaluation.h"

namespace tenon::runtime {
namespace {

using compiler::Place;
using compiler::ValueKind;
using Source = ir::RecurrentStep::Source;
using Lies = RecurrentWork::Lies;

Lies lies_by_row(int32_t operand, const ir::Node& value, int64_t before) {
  return {.operand = operand, .arena = kNone, .offset = 0, .before = before * ir::item_size(value.dtype()), .row = bytes_of(value)};
}

// Where an input of the step lies. The result comes behind the operands.
Lies lies(const Source& source, const ir::Node& input, int32_t result) {
  if (source.whole) return {.operand = source.operand, .arena = kNone, .offset = 0};
  Lies by_row = lies_by_row(source.operand == Source::kMade ? result : source.operand, input, source.before);
  by_row.shift = source.shift;
  by_row.outside = source.outside;
  return by_row;
}

std::vector<Lies> places_of(const Plan& plan, const ir::RecurrentStep& step, const GraphKey& key, int32_t result) {
  const auto find = [&](const std::vector<ir::NodeRef>& nodes, int32_t number) {
    const auto is_it = [&](const ir::NodeRef& node) { return node.get() == key.nodes[static_cast<size_t>(number)]; };
    return static_cast<size_t>(std::ranges::find_if(nodes, is_it) - nodes.begin());
  };
  std::vector<Lies> places;
  for (const Place& place : plan.places) {
    switch (place.base) {
      case ValueKind::Input: {
        const size_t input = find(step.inputs, place.index);
        places.push_back(lies(step.sources.at(input), *step.inputs[input], result));
        break;
      }
      case ValueKind::Output: {
        const size_t output = find(step.outputs, plan.outputs[static_cast<size_t>(place.index)].node);
        places.push_back(lies_by_row(result, *step.outputs.at(output), step.before[output]));
        break;
      }
      case ValueKind::Temporary: places.push_back({.operand = kNone, .arena = place.index, .offset = 0}); break;
    }
    places.back().offset += place.offset;
  }
  return places;
}

// Whether some row begins where a GPU may not read several elements at once.
bool begin_anywhere(const ir::RecurrentStep& step) {
  constexpr int64_t kAlignment = 16;  // bytes
  const auto shifted = [](const ir::Node& row, int64_t before) {
    return (bytes_of(row) | before * ir::item_size(row.dtype())) % kAlignment != 0;
  };
  for (size_t i = 0; i < step.inputs.size(); ++i) {
    if (!step.sources[i].whole && shifted(*step.inputs[i], step.sources[i].before)) return true;
  }
  for (size_t k = 0; k < step.outputs.size(); ++k) {
    if (shifted(*step.outputs[k], step.before[k])) return true;
  }
  return false;
}

class Rows {
 public:
  Rows(const RecurrentWork& work, int64_t rows, const RecurrentMemory& memory, std::span<void* const> buffers,
       const std::function<void(const Step&)>& launched)
      : work_(work), rows_(rows), memory_(memory), buffers_(buffers), launched_(launched) {}

  void run() {
    for (int64_t i = 0; i < rows_; ++i) run_row(work_.last_first ? rows_ - 1 - i : i, i == 0);
  }

 private:
  std::byte* place(const Lies& lies, int64_t row) const {
    if (lies.operand < 0) return static_cast<std::byte*>(memory_.arenas[static_cast<size_t>(lies.arena)]->data()) + lies.offset;
    const int64_t shifted = row + lies.shift;
    if (lies.outside >= 0 && (shifted < 0 || shifted >= rows_)) return static_cast<std::byte*>(buffers_[static_cast<size_t>(lies.outside)]);
    return static_cast<std::byte*>(buffers_[static_cast<size_t>(lies.operand)]) + lies.offset + rows_ * lies.before + shifted * lies.row;
  }

  void run_row(int64_t row, bool first) {
    pointers_.clear();
    for (const Lies& lies : work_.places) pointers_.push_back(place(lies, row));
    const uint64_t* scalars = work_.scalars.data();
    for (size_t s = 0; s < work_.plan->steps.size(); ++s) {
      const Step& step = work_.plan->steps[s];
      run_step(s, step, {scalars, step.scalars.size()}, first);
      scalars += step.scalars.size();
      launched_(step);
    }
  }

  void run_step(size_t s, const Step& step, std::span<const uint64_t> scalars, bool first) {
    arguments_.clear();
    for (const Argument& argument : step.arguments) {
      const int32_t place = argument.at.place;
      arguments_.push_back(place < 0 ? nullptr : static_cast<std::byte*>(pointers_[static_cast<size_t>(place)]) + argument.at.bytes);
    }
    const auto* compiled = std::get_if<CompiledStep>(&step.work);
    std::span<const Phase> phases;
    if (compiled) phases = compiled->phases;
    if (compiled && compiled->packing && compiled->packing->copy >= 0) {
      arguments_[static_cast<size_t>(compiled->packing->copy)] = memory_.packed[s]->data();
      if (!first) phases = phases_but(phases, compiled->packing->phase);
    }
    start(step, arguments_, scalars, phases);
  }

  // What is packed stays packed for all rows.
  std::span<const Phase> phases_but(std::span<const Phase> phases, size_t packing) {
    phases_.assign(phases.begin(), phases.end());
    phases_[packing].count = 0;
    return phases_;
  }

  const RecurrentWork& work_;
  const int64_t rows_;
  const RecurrentMemory& memory_;
  std::span<void* const> buffers_;
  const std::function<void(const Step&)>& launched_;
  std::vector<void*> pointers_, arguments_;
  std::vector<Phase> phases_;
};

// What sets its step apart from those of other nodes.
std::vector<int64_t> key_of_step(const ir::Node& node, const Options& options) {
  std::vector<int64_t> key{static_cast<int64_t>(node.op()),
                           static_cast<int64_t>(node.dtype()),
                           static_cast<int64_t>(node.device()),
                           static_cast<int64_t>(key_salt(options)),
                           options.first_tier,
                           std::ssize(node.inputs())};
  key.insert(key.end(), node.ints().begin(), node.ints().end());
  const ir::Dims& state = node.inputs()[1]->shape();
  key.insert(key.end(), state.begin(), state.end());
  return key;
}

std::shared_ptr<const RecurrentWork> make_work(const ir::Node& node, const Options& compiled) {
  auto work = std::make_shared<RecurrentWork>();
  const ir::RecurrentStep step = ir::recurrent_step(node);
  work->last_first = step.last_first;
  std::vector<ir::NodeRef> constants;
  for (size_t i = 0; i < step.inputs.size(); ++i) {
    if (step.sources[i].whole) constants.push_back(step.inputs[i]);
  }
  GraphKey key;
  const auto find = [&] {
    work->plan = plan_of_step(step.outputs, constants, begin_anywhere(step), key);
    work->plan->find_code(compiled, recurrent_work);
  };
  try {
    find();
  } catch (const JoinRefused&) {  // there is another one then
    find();
  }
  work->places = places_of(*work->plan, step, key, static_cast<int32_t>(node.inputs().size()));
  for (const Step& step : work->plan->steps) {
    if (std::ranges::any_of(step.arguments, [](const Argument& a) { return a.base.place >= 0 || a.at.origin >= 0; }))
      throw std::runtime_error("evaluate: a step of a recurrent layer writes to what it reads");
    for (const ScalarSource& s : step.scalars)
      work->scalars.push_back(s.node >= 0 ? key.nodes[static_cast<size_t>(s.node)]->bits() : s.bits);
  }
  return work;
}

constexpr size_t kMostWorks = 64;

// By their keys, under the lock of evaluations.
std::map<std::vector<int64_t>, std::shared_ptr<const RecurrentWork>>& works() {
  static auto* const all = new std::map<std::vector<int64_t>, std::shared_ptr<const RecurrentWork>>;  // evaluations may come at exit
  return *all;
}

}  // namespace

std::shared_ptr<const RecurrentWork> recurrent_work(const ir::Node& node, const Options& options) {
  Options compiled = options;  // it runs many times
  compiled.first_tier = options.first_tier == 2 ? 2 : 0;
  if (!options.plan_cache) return make_work(node, compiled);
  const std::vector<int64_t> key = key_of_step(node, compiled);
  const auto with_lock = [](const auto& look) {
    evaluation_mutex().lock_to_end();
    const std::lock_guard lock(evaluation_mutex(), std::adopt_lock);
    return look();
  };
  std::shared_ptr<const RecurrentWork> work = with_lock([&] {
    const auto known = works().find(key);
    return known == works().end() ? nullptr : known->second;
  });
  if (work) return work;
  work = make_work(node, compiled);
  with_lock([&] {
    if (works().size() >= kMostWorks) works().clear();
    works()[key] = work;
  });
  return work;
}

void forget_recurrent_works() { works().clear(); }

RecurrentMemory allocate(const RecurrentWork& work) {
  RecurrentMemory memory;
  for (const Plan::Arena& arena : work.plan->arenas)
    memory.arenas.push_back(arena.bytes > 0 ? Buffer::allocate(static_cast<size_t>(arena.bytes), *arena.device) : nullptr);
  memory.packed.resize(work.plan->steps.size());
  for (size_t s : work.plan->packing) {
    const Step& step = work.plan->steps[s];
    memory.packed[s] = Buffer::allocate(std::get<CompiledStep>(step.work).packing->bytes, *step.device);
  }
  return memory;
}

void run_rows(const RecurrentWork& work, int64_t rows, const RecurrentMemory& memory, std::span<void* const> buffers,
              const std::function<void(const Step&)>& launched) {
  Rows(work, rows, memory, buffers, launched).run();
}

}  // namespace tenon::runtime
