// Running a plan: memory first, then the steps one after another, then the nodes are given their buffers.
#include "runtime/run/run.h"

#include <algorithm>
#include <utility>

#include "ir/graph/node.h"
#include "runtime/history/profiler.h"
#include "runtime/memory/packed_copies.h"

namespace tenon::runtime {
namespace {

using compiler::Place;
using compiler::ValueKind;
using ir::Node;

void copy_bytes(Device& device, void* to, const void* from, size_t bytes) {
  if (bytes > 0) device.copy(to, from, bytes, Stream::Main);
}

// An output must not change when outsiders write memory that they know of.
std::shared_ptr<Buffer> unshared(std::shared_ptr<Buffer> buffer) {
  if (!buffer->exposed) return buffer;
  auto copy = Buffer::allocate(buffer->bytes(), buffer->device());
  copy_bytes(copy->device(), copy->data(), buffer->data(), buffer->bytes());
  return copy;
}

// Within a handler: what a late device says, with the kernel's name; errors of the program's and of work
// within a call as they are.
[[noreturn]] void name_failure(const Step& step) {
  const auto* copy = std::get_if<CopyStep>(&step.work);
  const Device& device = copy && step.device->host_accesses_memory() ? *copy->from : *step.device;
  try {
    throw;
  } catch (const OutOfMemory&) {
    throw;
  } catch (const Error&) {
    throw;
  } catch (const AsyncFailure&) {
    throw;
  } catch (const std::runtime_error& e) {
    if (!device.works_async()) throw;
    throw std::runtime_error("kernel '" + step.facts->name + "' failed on " + name_of(device.tag()) + ": " + e.what());
  }
}

// An input whose memory is given away has an empty buffer instead: were it to be read again after a failure, it is lost.
void empty(Node& node, Device& device, uint64_t number) {
  auto nothing = Buffer::allocate(0, device);
  nothing->written = number;
  node.store(std::move(nothing));
}

}  // namespace

bool Run::take() {
  if (taken_.load(std::memory_order_acquire)) return false;
  taken_.store(true, std::memory_order_relaxed);
  return true;
}

void Run::start(std::shared_ptr<Plan> plan, std::span<const ir::NodeRef> replaced) {
  plan_ = std::move(plan);
  const size_t count = plan_->outputs.size();
  nodes_.reserve(count);
  definitions_.reserve(count);
  sources_.reserve(count);
  const auto held = ir::hold_graph();  // no thread gets hold of an input between the look at its references and the end of all ways to it
  read_last_work();
  lives_on_.clear();
  for (const PlanOutput& output : plan_->outputs) sources_.push_back(source(output, replaced));
  read_inputs();
  for (const PlanOutput& output : plan_->outputs) {
    nodes_.emplace_back(node(output.node));
    definitions_.emplace_back(*nodes_.back());
  }
  computing_ = true;
}

void Run::compute(const Options& options) {
  let_go_.clear();
  launches_.clear();
  first_ = plan_->find_code(options, recurrent_work);
  number_ = 0;
  launched_ = 0;
  dropped_ = false;
  try {
    if (!plan_->works_async) return submit();
    AsyncWork& late = AsyncWork::global();
    late.alone([&] {
      number_ = late.begin();
      submit();
      for (const Plan::Arena& arena : plan_->arenas) late.end(number_, *arena.device);
      for (size_t k = 0; k < buffers_.size(); ++k) {
        const bool is_another = plan_->outputs[k].alias >= 0 && buffers_[k] == sources_[k];
        if (!is_another && buffers_[k]->device().works_async()) buffers_[k]->written = number_;
      }
    });
  } catch (const std::exception& e) {
    if (!dropped_) lose_overwritten(e.what());
    throw;
  }
}

void Run::submit() {
  for (const auto& input : inputs_) AsyncWork::global().check(*input);
  launches_.reserve(plan_->steps.size());
  try {
    if (plan_->device) plan_->device->begin_plan(plan_->recording, plan_->is_again, plan_->order);
    allocate_outputs();
    allocate_arenas();
    bind_places();
    allocate_packed();
    allocate_layers();
    uint64_t* scalars = scalars_.data();
    Ticks time = ticks();
    for (const Step& step : plan_->steps) {
      if (plan_->device) plan_->device->begin_step(launched_);
      time = launch(step, scalars, time);
      scalars += step.scalars.size();
      ++launched_;
    }
    if (plan_->device) plan_->device->end_plan();
  } catch (...) {
    if (plan_->device) dropped_ = plan_->device->drop_plan();
    throw;
  }
}

// Whether the steps so far, or the copies of bases for the next one, have written to an output.
bool Run::wrote(size_t output) const {
  const auto lies_there = [&](int32_t place) {
    if (place < 0) return false;
    const Place& p = plan_->places[place];
    const int32_t index = p.base == ValueKind::Input ? plan_->outputs[output].donor : static_cast<int32_t>(output);
    return p.base != ValueKind::Temporary && p.index == index;
  };
  const size_t count = plan_->steps.size();
  for (size_t s = 0; s < std::min(launched_ + 1, count); ++s) {
    const bool is_next = s == launched_;  // its base, if it lies elsewhere, may be copied
    const auto writes = [&](const Argument& a) {
      const bool is_output = lies_there(a.at.place) && plan_->places[a.at.place].base == ValueKind::Output;
      return is_output && (!is_next || (a.base.place >= 0 && (a.base.origin >= 0 || !lies_there(a.base.place))));
    };
    if (std::any_of(plan_->steps[s].arguments.begin(), plan_->steps[s].arguments.end(), writes)) return true;
  }
  return false;
}

// After a failure in the middle: an input is no longer what it was if an output that took over its memory is written.
void Run::lose_overwritten(const std::string& why) {
  for (size_t k = 0; k < buffers_.size(); ++k) {
    if (plan_->outputs[k].donor >= 0 && sources_[k] && wrote(k)) AsyncWork::global().lose(*sources_[k], why);
  }
}

// Called at the end: steps that read an input may just have made copies of it before another step wrote its memory.
void Run::drop_overwritten_copies() {
  for (size_t k = 0; k < sources_.size(); ++k) {
    if (plan_->outputs[k].donor >= 0 && sources_[k]) sources_[k]->drop_packed();
  }
}

void Run::finish() {
  record_launches(launches_);
  drop_overwritten_copies();
  for (size_t k = 0; k < nodes_.size(); ++k) {
    if (plan_->outputs[k].alias < 0) buffers_[k]->plan = plan_->number;
    const bool may_fail = buffers_[k]->device().works_async() && number_ != 0;
    nodes_[k]->store(std::move(buffers_[k]));
    if (may_fail) keep_definition(k);
  }
  plan_->last_work = number_;
  computing_ = false;
}

void Run::keep_definition(size_t output) {
  nodes_[output]->keep(std::move(definitions_[output]), number_);
  const PlanOutput& o = plan_->outputs[output];
  if (o.donor >= 0 && sources_[output]) empty(*node(o.donor), *o.device, number_);
}

// A value of the plan's last work may have no readers but the kept definitions of that work: a gradient whose update is not known to be
// done, say. Its memory is for this run, which finds it where it was. Or this run is its last reader beside those, and may take it over.
void Run::read_last_work() {
  last_values_.clear();
  if (plan_->last_work == 0) return;
  last_values_ = ir::references_of_kept_definitions(plan_->last_work);
  for (const auto& [value, count] : last_values_) {
    if (value->references() != count || value->holders.load(std::memory_order_relaxed) > 0) continue;
    let_go_.push_back(buffer_of(*value));
    empty(*value, let_go_.back()->device(), plan_->last_work);
  }
}

void Run::undo() {
  record_launches(launches_);
  drop_overwritten_copies();
  for (size_t k = 0; k < nodes_.size(); ++k) nodes_[k]->give_back(std::move(definitions_[k]));
  computing_ = false;
}

void Run::clear() {
  buffers_.clear();
  sources_.clear();
  let_go_.clear();
  packed_.clear();
  layers_.clear();
  arenas_.clear();
  inputs_.clear();
  ir::drop(definitions_);
  nodes_.clear();
  key.let_go();
  taken_.store(false, std::memory_order_release);
}

bool Run::computes(const Node* node) const {
  return computing_ && std::any_of(nodes_.begin(), nodes_.end(), [&](const ir::NodeRef& n) { return n.get() == node; });
}

bool Run::reads(const Node* node) const { return computing_ && std::find(key.nodes.begin(), key.nodes.end(), node) != key.nodes.end(); }

void Run::read_inputs() {
  for (const Place& place : plan_->places) {
    if (place.base == ValueKind::Input) inputs_.push_back(buffer(place.index));
  }
  scalars_.clear();
  for (const Step& step : plan_->steps) {
    for (const ScalarSource& s : step.scalars) {
      if (s.dim >= 0) scalars_.push_back(static_cast<uint64_t>(node(s.node)->ints()[static_cast<size_t>(s.dim)]));
      else scalars_.push_back(s.node >= 0 ? node(s.node)->bits() : s.bits);
    }
  }
}

// A node is dying if materialising the outputs frees it: all references to it are of outputs or dying nodes
// of this graph. An input may give its memory away if all its readers are such and its buffer has no other
// owner. The caller of the evaluation refers once to each of `replaced`, and reads it no more.
void Run::find_dying(std::span<const ir::NodeRef> replaced) {
  const size_t count = key.nodes.size();
  lives_on_.assign(count, 0);
  is_output_.assign(count, 0);
  key.count_readers(readers_);
  uint32_t* const readers = readers_.data();
  uint8_t *const lives_on = lives_on_.data(), *const is_output = is_output_.data();
  Node* const* const nodes = key.nodes.data();
  for (const PlanOutput& o : plan_->outputs) is_output[o.node] = 1;
  for (const ir::NodeRef& value : replaced) {
    if (const int32_t number = key.number(value.get()); number >= 0) readers[number] += 2;  // by the list too
  }
  for (const auto& [value, references] : last_values_) {
    if (const int32_t number = key.number(value); number >= 0) readers[number] += references;
  }
  for (size_t i = count; i-- > 0;) {  // readers come after their operands
    const Node* n = nodes[i];
    if (lives_on[i] == 0) lives_on[i] = n->references() != readers[i] || n->holders.load(std::memory_order_relaxed) > 0;
    if (lives_on[i] == 0 || is_output[i] != 0) continue;
    for (const Node* input : n->inputs()) lives_on[input->mark_value] = 1;
  }
}

std::shared_ptr<Buffer> Run::source(const PlanOutput& output, std::span<const ir::NodeRef> replaced) {
  if (output.alias >= 0) return buffer(output.alias);
  if (output.donor < 0) return nullptr;
  const Node& donor = *node(output.donor);
  const auto& memory = static_cast<const Buffer&>(*donor.payload());
  const bool held = donor.holders.load(std::memory_order_relaxed) > 0 || donor.payload().use_count() > 1;
  if (held || memory.adopted() || memory.exposed) return nullptr;
  if (lives_on_.empty()) find_dying(replaced);
  return lives_on_[output.donor] != 0 ? nullptr : buffer(output.donor);
}

void Run::allocate_outputs() {
  for (size_t k = 0; k < nodes_.size(); ++k) {
    const PlanOutput& o = plan_->outputs[k];
    if (o.origin >= 0) {
      buffers_.push_back(Buffer::allocate(o.bytes, *o.device));
      const auto* from = static_cast<const std::byte*>(sources_[k]->data()) + origin(o.origin) * o.item_size;
      copy_bytes(*o.device, buffers_.back()->data(), from, o.bytes);
    } else if (o.alias >= 0) {
      buffers_.push_back(unshared(sources_[k]));
    } else if (o.same_as >= 0) {
      buffers_.push_back(buffers_[o.same_as]);
    } else {
      buffers_.push_back(sources_[k] ? sources_[k] : at_home(k, o.bytes, *o.device));
    }
  }
}

void Run::allocate_arenas() {
  for (const Plan::Arena& arena : plan_->arenas) {
    const size_t home = nodes_.size() + arenas_.size();
    arenas_.push_back(arena.bytes > 0 ? at_home(home, static_cast<size_t>(arena.bytes), *arena.device) : nullptr);
  }
}

// Where the plan had it in its last run, so that what a device has recorded of the plan need not be changed.
std::shared_ptr<Buffer> Run::at_home(size_t home, size_t bytes, Device& device) {
  if (!plan_->device) return Buffer::allocate(bytes, device);
  plan_->homes.resize(nodes_.size() + plan_->arenas.size());
  auto buffer = Buffer::allocate_at(plan_->homes[home], bytes, device);
  plan_->homes[home] = buffer->data();
  return buffer;
}

void Run::bind_places() {
  pointers_.clear();
  owners_.clear();
  auto input = inputs_.begin();
  for (const Place& p : plan_->places) {
    void* first = nullptr;
    owners_.push_back(p.base == ValueKind::Input ? (input++)->get() : nullptr);
    switch (p.base) {
      case ValueKind::Input: first = owners_.back()->data(); break;
      case ValueKind::Output: first = buffers_[p.index]->data(); break;
      case ValueKind::Temporary: first = arenas_[p.index]->data(); break;
    }
    pointers_.push_back(static_cast<std::byte*>(first) + p.offset);
  }
}

std::byte* Run::begin(const Argument::Begin& begin) const {
  if (begin.place < 0) return nullptr;
  return static_cast<std::byte*>(pointers_[begin.place]) + begin.bytes + (begin.origin >= 0 ? origin(begin.origin) * begin.item_size : 0);
}

int64_t Run::lay_out(const Step& step) {
  arguments_.clear();
  int64_t copied = 0;
  for (const Argument& argument : step.arguments) {
    arguments_.push_back(begin(argument.at));
    if (argument.base.place < 0) continue;
    void* to = pointers_[argument.at.place];
    const std::byte* from = begin(argument.base);
    if (to == from) continue;
    copy_bytes(*step.device, to, from, argument.base_bytes);
    copied += 2 * static_cast<int64_t>(argument.base_bytes);
  }
  return copied;
}

Ticks Run::launch(const Step& step, uint64_t* scalars, Ticks begin) {
  const int64_t copied = lay_out(step);
  try {
    if (const auto* layer = std::get_if<RecurrentLayerStep>(&step.work)) return run_layer(*layer, begin);
    start_step(step, scalars);
  } catch (...) {
    name_failure(step);
  }
  const Ticks end = ticks();
  launches_.push_back({&step.facts, end - begin, first_ ? step.compile_ms : 0, first_ ? step.cache : CacheState::Memory, copied});
  if (Profiler::global().enabled()) Profiler::global().add("launch", step.facts->name, begin, end, step.facts, copied);
  return end;
}

// Nothing is launched unless there is room for the copies too.
void Run::allocate_packed() {
  if (plan_->packing.empty()) return;
  packed_.resize(plan_->steps.size());
  for (size_t s : plan_->packing) {
    const Step& step = plan_->steps[s];
    const CompiledStep::Packing& packing = *std::get<CompiledStep>(step.work).packing;
    Buffer* source = owners_[step.arguments[packing.source].at.place];
    if (source && !PackedCopies::global().find(*source, packing.layout)) packed_[s] = Buffer::allocate(packing.bytes, *step.device);
  }
}

void Run::allocate_layers() {
  next_layer_ = 0;
  for (size_t s : plan_->recurrent) layers_.push_back(allocate(*std::get<RecurrentLayerStep>(plan_->steps[s].work).work));
}

// Its launches are recorded as those of other steps.
Ticks Run::run_layer(const RecurrentLayerStep& layer, Ticks begin) {
  const size_t before = launches_.size();
  run_rows(*layer.work, ir::recurrent_rows(*layer.node), layers_[next_layer_++], arguments_, [&](const Step& step) {
    const Ticks end = ticks();
    const bool compiled = first_ && launches_.size() - before < layer.work->plan->steps.size();  // in the first row
    launches_.push_back({&step.facts, end - begin, compiled ? step.compile_ms : 0, compiled ? step.cache : CacheState::Memory, 0});
    if (Profiler::global().enabled()) Profiler::global().add("launch", step.facts->name, begin, end, step.facts, 0);
    begin = end;
  });
  return begin;
}

// A packed copy takes the place of what the kernel would pack: found, or made by this launch and kept.
void Run::start_compiled(const Step& step, const CompiledStep& work, std::span<const uint64_t> scalars) {
  std::span<const Phase> phases = work.phases;
  Buffer* source = work.packing ? owners_[step.arguments[work.packing->source].at.place] : nullptr;
  std::shared_ptr<Buffer> copy;
  if (source && work.packing->copy < 0) {
    source->note_packing();
  } else if (source) {
    copy = PackedCopies::global().find(*source, work.packing->layout);
    if (copy) {
      phases_.assign(phases.begin(), phases.end());
      phases_[work.packing->phase].count = 0;
      phases = phases_;
    } else {
      copy = std::move(packed_[launched_]);
      if (!copy) copy = Buffer::allocate(work.packing->bytes, *step.device);  // another thread has just dropped it
    }
    arguments_[work.packing->copy] = copy->data();
  }
  runtime::start(step, arguments_, scalars, phases);
  if (!copy || phases.data() == phases_.data()) return;
  if (!PackedCopies::global().keep(*source, work.packing->layout, copy)) source->refuse_packed();
}

// What a step does, on the arguments that are laid out.
void Run::start_step(const Step& step, uint64_t* first) {
  const std::span<const uint64_t> scalars(first, step.scalars.size());
  if (const auto* work = std::get_if<CompiledStep>(&step.work)) start_compiled(step, *work, scalars);
  else runtime::start(step, arguments_, scalars, {});
}

}  // namespace tenon::runtime
