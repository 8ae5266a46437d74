// Running a plan: memory first, then the steps one after another, then the nodes are given their buffers.
// This is the path that a training step takes each time round, so it allocates nothing but the outputs and
// the arena.
#include <algorithm>
#include <chrono>

#include "runtime/plan.h"
#include "runtime/profiler.h"

namespace tenon::runtime {
namespace {

using ir::Node;
using ir::NodeRef;
using compiler::Place;
using compiler::ValueKind;

// The buffers of one run, and scratch vectors that keep their memory between runs.
class Run {
 public:
  Leftovers operator()(Plan& plan, const GraphKey& key) {
    plan_ = &plan;
    key_ = &key;
    Leftovers leftovers;
    try {
      allocate();
      bind_places();
      for (Step& step : plan.steps) launch(step);
      leftovers = adopted_inputs();
      for (size_t k = 0; k < nodes_.size(); ++k) {
        if (plan.outputs[k].alias < 0) buffers_[k]->plan = plan.number;
        nodes_[k]->materialise(std::move(buffers_[k]));
      }
    } catch (...) {
      clear();
      throw;
    }
    clear();
    return leftovers;
  }

 private:
  Node* node(int32_t number) const { return key_->nodes[static_cast<size_t>(number)]; }

  void allocate() {
    if (plan_->donates) find_donors();
    for (const PlanOutput& o : plan_->outputs) {
      nodes_.emplace_back(node(o.node));
      if (o.origin >= 0) {
        buffers_.push_back(window_copy(o));
      } else if (o.alias >= 0) {
        buffers_.push_back(unshared(buffer_of(*node(o.alias))));
      } else if (o.same_as >= 0) {
        buffers_.push_back(buffers_[static_cast<size_t>(o.same_as)]);
      } else if (o.donor >= 0 && donates(o.donor)) {
        buffers_.push_back(buffer_of(*node(o.donor)));
      } else {
        buffers_.push_back(Buffer::allocate(o.bytes, *o.device));
      }
    }
    for (const Plan::Arena& arena : plan_->arenas)
      arenas_.push_back(arena.bytes > 0 ? Buffer::allocate(static_cast<size_t>(arena.bytes), *arena.device) : nullptr);
  }

  static void copy_bytes(Device& device, void* to, const void* from, size_t bytes) {
    if (bytes > 0) device.copy(to, from, bytes, Stream::Main);
  }

  // An output must not change when outsiders write memory that they know of.
  static std::shared_ptr<Buffer> unshared(std::shared_ptr<Buffer> buffer) {
    if (!buffer->exposed) return buffer;
    auto copy = Buffer::allocate(buffer->bytes(), buffer->device());
    copy_bytes(copy->device(), copy->data(), buffer->data(), buffer->bytes());
    return copy;
  }

  std::shared_ptr<Buffer> window_copy(const PlanOutput& o) const {
    const Node& input = *node(o.alias);
    auto copy = Buffer::allocate(o.bytes, *o.device);
    const auto* from = static_cast<const std::byte*>(static_cast<const Buffer&>(*input.payload()).data());
    copy_bytes(*o.device, copy->data(), from + origin(o.origin) * ir::item_size(input.dtype()), o.bytes);
    return copy;
  }

  int64_t origin(int32_t number) const { return key_->origins[static_cast<size_t>(number)]; }

  Leftovers adopted_inputs() const {
    Leftovers result;
    for (const Node* n : key_->nodes) {
      if (n->op() == ir::Op::Input && static_cast<const Buffer&>(*n->payload()).adopted())
        result.push_back(n->payload());
    }
    return result;
  }

  void bind_places() {
    pointers_.clear();
    for (const Place& p : plan_->places) {
      switch (p.base) {
        case ValueKind::Input:
          pointers_.push_back(static_cast<Buffer&>(*node(p.index)->payload()).data());
          break;
        case ValueKind::Output:
          pointers_.push_back(static_cast<std::byte*>(buffers_[static_cast<size_t>(p.index)]->data()) + p.offset);
          break;
        case ValueKind::Temporary:
          pointers_.push_back(static_cast<std::byte*>(arenas_[static_cast<size_t>(p.index)]->data()) + p.offset);
          break;
      }
    }
  }

  // A node is dying if materialising the outputs frees it: whoever refers to it is an output or a dying node
  // of this graph. An input may give its memory away if all its readers are such and nobody else has a hold
  // on its buffer.
  void find_donors() {
    size_t count = key_->nodes.size();
    readers_.assign(count, 0);
    is_output_.assign(count, false);
    lives_on_.assign(count, false);
    for (const PlanOutput& o : plan_->outputs) is_output_[static_cast<size_t>(o.node)] = true;
    for (const Node* n : key_->nodes) {
      for (const Node* input : n->inputs()) ++readers_[static_cast<size_t>(key_->number(input))];
    }
    for (size_t i = count; i-- > 0;) {  // readers come after their operands
      const Node* n = key_->nodes[i];
      lives_on_[i] =
          lives_on_[i] || n->references() != readers_[i] || n->holders.load(std::memory_order_relaxed) > 0;
      if (!lives_on_[i] || is_output_[i]) continue;
      for (const Node* input : n->inputs()) lives_on_[static_cast<size_t>(key_->number(input))] = true;
    }
  }

  bool donates(int32_t input) const {
    const std::shared_ptr<ir::Payload>& payload = node(input)->payload();
    return !lives_on_[static_cast<size_t>(input)] && payload.use_count() == 1 &&
           !static_cast<const Buffer&>(*payload).adopted() && !static_cast<const Buffer&>(*payload).exposed;
  }

  void* argument(int32_t place) {
    if (place >= 0) return pointers_[static_cast<size_t>(place)];
    return place == -1 ? nullptr : &scalars_[static_cast<size_t>(-2 - place)];
  }

  void launch(Step& step) {
    auto begin = Profiler::Clock::now();
    scalars_.clear();
    for (const ScalarSource& s : step.scalars)
      scalars_.push_back(s.node >= 0 ? node(s.node)->bits() : s.bits);
    arguments_.clear();
    for (int32_t place : step.buffers) arguments_.push_back(argument(place));
    int64_t copied = 0;
    for (const Step::Base& base : step.bases) {
      void* to = arguments_[static_cast<size_t>(base.argument)];
      const auto* from = static_cast<const std::byte*>(pointers_[static_cast<size_t>(base.place)]);
      if (base.origin >= 0) from += origin(base.origin) * base.item_size;
      if (to == from) continue;
      copy_bytes(*step.device, to, from, base.bytes);
      copied += 2 * static_cast<int64_t>(base.bytes);
    }
    for (const Step::Window& window : step.windows) {
      void*& argument = arguments_[static_cast<size_t>(window.argument)];
      argument = static_cast<std::byte*>(argument) + origin(window.origin) * window.item_size;
    }
    if (const auto* work = std::get_if<CompiledStep>(&step.work)) {
      for (const CompiledStep::Begin& begin : work->begins) {
        void*& argument = arguments_[static_cast<size_t>(begin.argument)];
        argument = static_cast<std::byte*>(argument) + begin.bytes;
      }
    }
    try {
      start(step);
    } catch (...) {
      name_failure(step);
    }
    auto end = Profiler::Clock::now();
    double us = std::chrono::duration<double, std::micro>(end - begin).count();
    record_launch(step.facts, us, std::exchange(step.cache, CacheState::Memory),
                  std::exchange(step.compile_ms, 0.0), copied);
    if (Profiler::global().enabled()) Profiler::global().add("launch", step.facts->name, begin, end, step.facts, copied);
  }

  // Within a handler: what a device says, with the kernel's name; errors of the program's and of the host as they are.
  [[noreturn]] static void name_failure(const Step& step) {
    const auto* copy = std::get_if<CopyStep>(&step.work);
    const Device& device = copy && step.device->is_host() ? *copy->from : *step.device;
    try {
      throw;
    } catch (const OutOfMemory&) {
      throw;
    } catch (const Error&) {
      throw;
    } catch (const LateFailure&) {
      throw;
    } catch (const std::runtime_error& e) {
      if (device.is_host()) throw;
      throw std::runtime_error("kernel '" + step.facts->name + "' failed on " + name_of(device.tag()) + ": " + e.what());
    }
  }

  // What a step does, on the arguments that are laid out.
  void start(const Step& step) {
    const std::string& name = step.facts->name;
    if (const auto* work = std::get_if<CompiledStep>(&step.work)) {
      step.device->launch({work->kernel->code, name, arguments_, work->sizes, scalars_, work->phases, work->local_bytes},
                          Stream::Main);
    } else if (const auto* routine = std::get_if<RoutineStep>(&step.work)) {
      step.device->call_library({routine->node, routine->parts, name, arguments_, scalars_, routine->in_memory,
                                 routine->interpreted},
                                Stream::Main);
    } else if (const auto* copy = std::get_if<CopyStep>(&step.work)) {
      if (copy->bytes > 0) copy_between(*step.device, arguments_[1], *copy->from, arguments_[0], copy->bytes);
    } else {
      step.device->interpret({std::get<InterpretedStep>(step.work).kernel, name, arguments_, scalars_}, Stream::Main);
    }
  }

  void clear() {
    nodes_.clear();
    buffers_.clear();
    arenas_.clear();
  }

  Plan* plan_ = nullptr;
  const GraphKey* key_ = nullptr;
  std::vector<NodeRef> nodes_;                    // of the outputs: a handle may go while we run
  std::vector<std::shared_ptr<Buffer>> buffers_;  // parallel to them
  std::vector<std::shared_ptr<Buffer>> arenas_;   // parallel to the plan's
  std::vector<void*> pointers_;   // by place
  std::vector<void*> arguments_;  // of the current launch
  std::vector<uint64_t> scalars_;
  std::vector<uint32_t> readers_;  // by node number
  std::vector<bool> is_output_, lives_on_;
};

}  // namespace

Leftovers run_plan(Plan& plan, const GraphKey& key) {
  static auto* run = new Run;  // under the evaluation lock
  return (*run)(plan, key);
}

}  // namespace tenon::runtime
