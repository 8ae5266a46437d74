// Building a plan: analysis, outputs, a step for each kernel, lifetimes, places.
#include "runtime/plan/build_plan.h"

#include <algorithm>
#include <set>
#include <stdexcept>
#include <unordered_map>
#include <utility>

#include "codegen/executable.h"
#include "runtime/history/profiler.h"
#include "runtime/memory/buffer.h"
#include "runtime/plan/analysis.h"
#include "runtime/plan/dump.h"
#include "runtime/plan/kernel_facts.h"
#include "runtime/plan/plan_launches.h"
#include "runtime/plan/plan_order.h"
#include "runtime/plan/plan_places.h"

namespace tenon::runtime {
namespace {

using compiler::PlannedValue;
using compiler::ValueKind;
using ir::Node;
using ir::Op;
using passes::FusedKernel;

constexpr int64_t kAlignment = 16;  // bytes that a device's kernels move at once

class Builder {
 public:
  Builder(int number, const GraphKey& key, const Options& options)
      : key_(key), options_(options), settings_(compiler_settings(options)), logs_((options.dump & kDumpPasses) != 0) {
    plan_->number = number;
    if (logs_) {
      log_.start("graph", graph_text(key));
      settings_.observer = [this](std::string_view step, const std::function<std::string()>& text) { log_.add(step, text()); };
    }
  }

  std::shared_ptr<Plan> run() {
    {
      ProfileSpan span("plan", "passes and fusion");
      analysis_ = analyse(key_, settings_);
    }
    list_outputs();
    for (const FusedKernel& fused : analysis_.fusion.kernels) add_step(fused);
    plan_->device = only_device();
    join_on_gpu();
    place();
    plan_->key = key_.words;
    if (logs_) write_dump(options_.dump_dir, plan_->number, "passes", log_.text());
    return std::move(plan_);
  }

 private:
  Device* only_device() const {
    Device* only = plan_->steps.empty() ? nullptr : plan_->steps.front().device;
    const auto is_elsewhere = [&](const Step& step) { return step.device != only || std::holds_alternative<CopyStep>(step.work); };
    if (!only || !only->works_async() || std::any_of(plan_->steps.begin(), plan_->steps.end(), is_elsewhere)) return nullptr;
    return only;
  }

  // The steps of a Cat, whose code depends on where its parts lie, stay launches of their own.
  void join_on_gpu() {
    if (!plan_->device || !plan_->device->compiles(options_)) return;
    const ir::Target target = plan_->device->target(options_);
    const auto* gpu = std::get_if<ir::GpuTarget>(&target);
    if (!gpu) return;
    const std::vector<Seat> seats = join_launches(*plan_, planned_, *gpu, options_);
    if (seats.empty()) return;
    for (Join& join : joins_) join.step = static_cast<size_t>(seats[join.step].launch);
  }

  // The settings for one kernel's steps: only kernels that are asked for are in the log.
  compiler::Settings settings_of(const FusedKernel& fused) {
    compiler::Settings settings = settings_;
    if (!logs_) return settings;
    if (fused.name().find(options_.dump_kernel) == std::string::npos) {
      settings.observer = {};
    } else {
      log_.start("kernel", ir::print(fused.work));
    }
    return settings;
  }

  int32_t number_of(const Node* node) const {
    const int32_t number = key_.number(node);
    if (number < 0) throw std::runtime_error("evaluate: a pass made an input of its own");
    return number;
  }

  int32_t new_value(PlannedValue value, Device& device) {
    planned_.values.push_back(value);
    planned_.devices.push_back(&device);
    plan_->works_async = plan_->works_async || device.works_async();
    return static_cast<int32_t>(planned_.values.size()) - 1;
  }

  // Output k of the graph is node k of analysis_.outputs, whatever the passes made of it.
  void list_outputs() {
    std::unordered_map<const Node*, int32_t> first;
    for (size_t k = 0; k < analysis_.outputs.size(); ++k) {
      const Node* result = analysis_.graph.outputs[k].get();
      PlanOutput output{number_of(analysis_.outputs[k].get()), &device_of(*result), static_cast<size_t>(bytes_of(*result))};
      auto [it, fresh] = first.emplace(result, static_cast<int32_t>(k));
      if (result->op() == Op::Input) {
        const Analysis::Window* window = analysis_.window(result);
        output.alias = window ? window->input : number_of(result);
        if (window && window->part) {
          output.origin = window->origin;
          output.item_size = ir::item_size(result->dtype());
        } else {
          aliased_.insert(output.alias);
        }
      } else if (!fresh) {
        output.same_as = it->second;
      } else {
        value_of_.emplace(result, new_value({ValueKind::Output, it->second, bytes_of(*result), 0, 0}, *output.device));
      }
      plan_->outputs.push_back(output);
    }
  }

  int32_t input_value(const Node* node) {
    if (const Analysis::Window* window = analysis_.window(node)) node = key_.nodes[window->input];
    auto [it, fresh] = value_of_.emplace(node, kNone);
    if (fresh) {
      if (node->op() != Op::Input) throw std::runtime_error("evaluate: a kernel reads what no kernel writes");
      it->second = new_value({ValueKind::Input, number_of(node), bytes_of(*node), -1, 0}, device_of(*node));
    }
    planned_.values[it->second].end = static_cast<int32_t>(plan_->steps.size());
    return it->second;
  }

  int32_t output_value(const Node* node) {
    auto step = static_cast<int32_t>(plan_->steps.size());
    auto [it, fresh] = value_of_.emplace(node, kNone);
    if (fresh) it->second = new_value({ValueKind::Temporary, 0, bytes_of(*node), step, step}, device_of(*node));
    PlannedValue& value = planned_.values[it->second];
    value.begin = value.end = step;
    writes_.push_back(it->second);
    return it->second;
  }

  void note_library(Device& device) {
    std::vector<Device*>& noted = plan_->libraries;
    if (std::find(noted.begin(), noted.end(), &device) == noted.end()) noted.push_back(&device);
  }

  // What the last values were that are written is what it writes.
  void push(Step step) {
    step.writes.append(writes_.data(), writes_.size());
    writes_.clear();
    plan_->steps.push_back(std::move(step));
  }

  static bool is_copy(const FusedKernel& fused) { return fused.call() && fused.call()->op() == Op::Copy; }

  // All of a kernel lies on one device.
  static Device& kernel_device(const FusedKernel& fused) {
    const ir::DeviceTag tag = fused.outputs.at(0)->device();
    if (is_copy(fused)) return device_of(tag);
    const auto elsewhere = [&](const Node* node) { return node->device() != tag; };
    if (std::any_of(fused.inputs.begin(), fused.inputs.end(), elsewhere) ||
        std::any_of(fused.outputs.begin(), fused.outputs.end(), elsewhere))
      throw std::runtime_error("kernel '" + fused.name() + "' has values on different devices");
    return device_of(tag);
  }

  void add_step(const FusedKernel& fused) {
    Step step;
    step.device = &kernel_device(fused);
    const ir::Call* call = fused.call();
    const bool compiles = step.device->compiles(options_);
    const bool generated = compiles && (!call || passes::generates(fused.work, step.device->target(options_)));
    if (generated && call && call->op() == Op::Cat) return add_join(fused);
    const std::shared_ptr<KernelRecord> facts = record_of(fused);
    add_arguments(fused, step);
    if (is_copy(fused)) {
      const Node& from = *fused.inputs.at(0);
      facts->schedule = "copy";
      step.work = CopyStep{&device_of(from), static_cast<size_t>(bytes_of(call->node()))};
    } else if (call && ir::is_recurrence(call->op()) && compiles) {
      facts->schedule = "rows one after another";
      step.work = RecurrentLayerStep{call->results[0], nullptr};
      plan_->recurrent.push_back(plan_->steps.size());
    } else if (generated) {
      add_lowered(fused.work, settings_of(fused), plan_->steps.size(), step, facts);
    } else {
      add_uncompiled(fused, step, *facts);
    }
    step.facts = facts;
    push(std::move(step));
  }

  void add_uncompiled(const FusedKernel& fused, Step& step, KernelRecord& facts) {
    const ir::Call* call = fused.call();
    const bool interpreted = !call || options_.backend == Options::Backend::Interpreter;
    facts.schedule = interpreted ? "interpreter" : "routine";
    if (call && call->op() == Op::Dot && !interpreted) note_library(*step.device);
    step.work = UncompiledStep{
        std::make_shared<const ir::Work>(call ? fused.work : compiler::basic_kernel(fused.kernel(), settings_of(fused))), interpreted};
    if (!call || call->op() != Op::Cat) return;
    const std::vector<ir::View> places = ir::places_of_parts(*call);
    for (size_t p = 0; p < places.size(); ++p) {
      if (const int32_t buffer = call->operands[p].buffer; buffer >= 0)
        offer_part(*call, p, places[p], plan_->steps.size(), step.arguments[static_cast<size_t>(buffer)].at.place,
                   step.arguments.back().at.place);
    }
  }

  // One for each buffer, and the scalars.
  void add_arguments(const FusedKernel& fused, Step& step) {
    for (const Node* node : fused.scalars) step.scalars.push_back(scalar_source(node));
    auto input = fused.inputs.begin(), output = fused.outputs.begin(), base = fused.bases.begin();
    for (const ir::KernelBuffer& b : fused.signature().buffers) {
      if (b.role == ir::Role::InOut) step.arguments.push_back(update_argument(fused, *base++, *output++));
      else if (b.role == ir::Role::Out) step.arguments.push_back({{output_value(*output++)}});
      else step.arguments.push_back(input_argument(**input++));
    }
  }

  Argument input_argument(const Node& node) {
    Argument argument;
    if (const Analysis::Window* window = analysis_.window(&node)) set_origin(argument.at, node, *window);
    if (node.numel() > 0) argument.at.place = input_value(&node);
    return argument;
  }

  static void set_origin(Argument::Begin& begin, const Node& node, const Analysis::Window& window) {
    begin.origin = window.origin;
    begin.item_size = ir::item_size(node.dtype());
  }

  std::shared_ptr<KernelRecord> record_of(const FusedKernel& fused) {
    auto facts = std::make_shared<KernelRecord>(kernel_facts(fused));
    facts->shapes = shapes_of(fused, analysis_);
    facts->plan = plan_->number;
    return facts;
  }

  ScalarSource scalar_source(const Node* constant) const {
    if (const auto place = analysis_.places.find(constant); place != analysis_.places.end())
      return {place->second.pad, 0, place->second.dim};
    auto it = analysis_.constants.find(constant);
    return it == analysis_.constants.end() ? ScalarSource{kNone, constant->bits()} : ScalarSource{it->second, 0};
  }

  // What a chain of updates begins with; those that were asked for before it know.
  const Node* first_base(const Node* update) {
    const Node* first = update;
    while (first->op() == Op::Update || first->op() == Op::Reshape) {
      auto known = first_base_.find(first);
      first = known == first_base_.end() ? first->inputs()[0] : known->second;
    }
    return first_base_[update] = first;
  }

  // A part that is one block of the result may be written there at once.
  void offer_part(const ir::Call& cat, size_t p, const ir::View& place, size_t step, int32_t value, int32_t result) {
    const ir::View& from = cat.operands[p];
    const ir::Dims& shape = cat.shape(p);
    if (value < 0 || from.offset != 0 || from.strides != ir::row_major_strides(shape) || place.strides != from.strides) return;
    const int64_t item = ir::item_size(cat.node().dtype()), offset = place.offset * item;
    if (ir::element_count(shape) * item != planned_.values[value].bytes) return;
    if (planned_.devices[value]->needs_alignment() && offset % kAlignment != 0) return;  // the kernel that writes it may move vectors
    planned_.in_place.push_back({static_cast<int32_t>(step), value, result, false, true, offset});
  }

  // Result and base share their memory, unless the work reads the base at other places too.
  Argument update_argument(const FusedKernel& fused, const Node* base, const Node* result) {
    Argument argument;
    argument.base.place = input_value(base);
    argument.base_bytes = static_cast<size_t>(bytes_of(*base));
    argument.at.place = output_value(result);
    const bool apart = std::find(fused.inputs.begin(), fused.inputs.end(), base) != fused.inputs.end();
    const Analysis::Window *whole = analysis_.window(first_base(base)), *own = analysis_.window(base);
    const bool is_part = own && own->part;  // the result is of its size: a copy of those elements
    if (is_part) set_origin(argument.base, *base, *own);
    else if (whole && !whole->part) set_origin(argument.at, *base, *whole);
    const auto number = static_cast<int32_t>(plan_->steps.size());
    if (!apart && !is_part) planned_.in_place.push_back({number, argument.base.place, argument.at.place, true});
    return argument;
  }

  // What the loop tree adds to step `s`: sizes, phases, scratch, and buffers that may share their memory.
  void add_lowered(ir::Work work, const compiler::Settings& settings, size_t s, Step& step, const std::shared_ptr<KernelRecord>& facts) {
    CompiledStep& compiled = step.work.emplace<CompiledStep>();
    const std::vector<int64_t> begins = compiler::begin_work(work, step.device->target(options_), settings);
    ir::Signature& signature = ir::signature(work);
    for (size_t b = 0; b < begins.size(); ++b) {
      ir::KernelBuffer& buffer = signature.buffers[b];
      step.arguments[b].at.bytes = begins[b] * ir::item_size(buffer.dtype);
      buffer.constant = buffer.role == ir::Role::In && begins[b] == 0 && is_constant(step, step.arguments[b].at.place);
      buffer.unaligned = is_unaligned(step, step.arguments[b].at);
    }
    const size_t tree = plan_->code.lower(std::move(work), *step.device, options_, settings);
    const passes::Lowered& lowered = plan_->code.lowered(tree);
    for (auto [to, from] : lowered.donations) {
      const int32_t reads = step.arguments[from].at.place;
      if (begins[from] != 0 || read_through_window(step, reads)) continue;
      planned_.in_place.push_back({static_cast<int32_t>(s), reads, step.arguments[to].at.place});
    }
    if (lowered.packing && step.device->keeps_packed_copies())
      compiled.packing = {lowered.packing->source, kNone, lowered.packing->phase, 0, lowered.packing->layout};
    add_tree(s, step, compiled, tree, facts);
  }

  // The tree's scratch, phases and sizes, and that step `s` has its code.
  void add_tree(size_t s, Step& step, CompiledStep& work, size_t tree, const std::shared_ptr<KernelRecord>& facts) {
    const passes::Lowered& lowered = plan_->code.lowered(tree);
    const auto number = static_cast<int32_t>(s);
    facts->schedule = lowered.schedule;
    plan_->better_often = plan_->better_often || is_better_often(lowered);
    const ir::LoopTree& code = lowered.whole_tree();
    for (size_t i = 0; i < code.buffers.size(); ++i) {
      const ir::TreeBuffer& b = code.buffers[i];
      int64_t count = b.size_param >= 0 ? lowered.sizes[b.size_param] : b.count;
      int64_t bytes = count * ir::item_size(b.dtype);
      if (work.packing && lowered.packing->copy == static_cast<int32_t>(i)) {
        work.packing->copy = static_cast<int32_t>(step.arguments.size());
        work.packing->bytes = static_cast<size_t>(bytes);
        plan_->packing.push_back(s);
        step.arguments.emplace_back();
      } else if (b.space == ir::Space::Global) {
        step.writes.push_back(new_value({ValueKind::Temporary, 0, bytes, number, number}, *step.device));
        step.arguments.push_back({{step.writes.back()}});
      } else if (b.space == ir::Space::Local) {
        constexpr int64_t align = codegen::kLocalAlign;
        work.local_bytes += static_cast<size_t>((bytes + align - 1) / align * align);
      }
    }
    for (size_t p = 0; p < code.phases.size(); ++p) work.phases.push_back({lowered.sizes[code.phases[p].extent], lowered.phase_cost.at(p)});
    work.sizes = lowered.sizes;
    plan_->code.add_step(s, tree, facts);
  }

  // Parts of a Cat, as many as a launch has room for. Which of them lie in place already is known when all values have their places: the
  // step gets its arguments and its code then.
  struct Join {
    const FusedKernel* fused;
    size_t step, first, count;    // parts
    std::vector<int32_t> values;  // of the parts; kNone: a scalar, or no elements
    int32_t result;
  };

  void add_join(const FusedKernel& fused) {
    constexpr size_t kMostParts = 16;
    const ir::Call& call = *fused.call();
    const std::vector<ir::View> places = ir::places_of_parts(call);
    const size_t count = call.operands.size();
    const int32_t result = output_value(fused.outputs[0]);
    for (size_t first = 0; first < count; first += kMostParts) {
      Join join{&fused, plan_->steps.size(), first, std::min(kMostParts, count - first), {}, result};
      planned_.values[result].end = static_cast<int32_t>(join.step);
      Step step;
      step.device = &kernel_device(fused);
      step.facts = record_of(fused);
      for (size_t p = first; p < first + join.count; ++p) {
        const int32_t buffer = ir::element_count(call.shape(p)) == 0 ? kNone : call.operands[p].buffer;
        join.values.push_back(buffer < 0 ? kNone : input_value(fused.inputs[static_cast<size_t>(buffer)]));
        offer_part(call, p, places[p], join.step, join.values.back(), result);
        step.arguments.push_back({{join.values.back()}});  // as long as it is not known which of them it reads
      }
      step.arguments.push_back({{result}});
      writes_ = {result};
      push(std::move(step));
      joins_.push_back(std::move(join));
    }
  }

  // The call of these parts alone, into their part of the result; one that lies there is no buffer of its own.
  void finish(const Join& join) {
    const FusedKernel& fused = *join.fused;
    const ir::Call& all = *fused.call();
    Step& step = plan_->steps[join.step];
    const auto facts = std::make_shared<KernelRecord>(*step.facts);
    step.arguments.clear();
    step.facts = facts;
    ir::Call call;
    call.name = all.name;
    std::vector<ir::NodeRef> placeholders;
    const std::vector<ir::View> places = ir::places_of_parts(all);
    bool has_part_in_place = false;
    for (size_t p = join.first; p < join.first + join.count; ++p) {
      ir::View view = all.operands[p];
      placeholders.emplace_back(all.node().inputs()[p]);
      if (view.scalar >= 0) {
        step.scalars.push_back(scalar_source(fused.scalars[static_cast<size_t>(view.scalar)]));
        call.scalars.push_back(all.scalars[static_cast<size_t>(view.scalar)]);
        view.scalar = static_cast<int32_t>(call.scalars.size()) - 1;
      } else if (lies_there(places[p].offset * ir::item_size(all.node().dtype()), join.values[p - join.first], join.result)) {
        view = places[p];
        view.buffer = -1;
        has_part_in_place = true;
      } else {
        step.arguments.push_back(input_argument(*fused.inputs[static_cast<size_t>(view.buffer)]));
        call.buffers.push_back(all.buffer(view.buffer));
        view.buffer = static_cast<int32_t>(call.buffers.size()) - 1;
      }
      call.operands.push_back(std::move(view));
    }
    const bool has_copies = !call.buffers.empty() || !call.scalars.empty();
    const auto result = static_cast<int32_t>(call.buffers.size());
    call.buffers.push_back(all.buffer(all.stored[0].buffer));
    if (has_part_in_place) call.buffers.back().role = ir::Role::InOut;
    step.arguments.push_back({{join.result}});
    for (ir::View& view : call.operands) {
      if (view.buffer < 0 && view.scalar < 0) view.buffer = result;
    }
    call.results.push_back(ir::make_node(Op::Cat, placeholders, all.node().ints(), all.node().dtype(), ir::Folding::Off));
    call.stored.push_back({result, -1, places[join.first].offset, all.stored[0].strides});
    for (size_t d = 0; d < call.stored[0].strides.size(); ++d) {
      if (call.results[0]->shape()[d] == 1) call.stored[0].strides[d] = 0;
    }
    const ir::Work work = std::move(call);
    facts->bytes = moved_bytes(work, Op::Load) + moved_bytes(work, Op::Store);
    if (has_copies) return add_lowered(work, settings_of(fused), join.step, step, facts);
    facts->schedule = "in place";
    step.work = InPlaceStep{};
  }

  bool lies_there(int64_t offset, int32_t value, int32_t result) const {
    if (value < 0) return true;  // no elements
    const compiler::Place &from = plan_->places[value], &to = plan_->places[result];
    return from.base == to.base && from.index == to.index && from.offset == to.offset + offset;
  }

  // Whether all of the value is an input that counts as constant, for a device that does something with that.
  bool is_constant(const Step& step, int32_t value) const {
    return value >= 0 && step.device->keeps_packed_copies() && planned_.values[value].kind == ValueKind::Input &&
           !read_through_window(step, value) &&
           std::binary_search(key_.constants.begin(), key_.constants.end(), planned_.values[value].index);
  }

  // On a device that moves vectors: what a window begins lies anywhere.
  bool is_unaligned(const Step& step, const Argument::Begin& begin) const {
    if (!step.device->needs_alignment()) return false;
    return begin.origin >= 0 || (key_.anywhere && begin.place >= 0 && planned_.values[begin.place].kind != ValueKind::Temporary);
  }

  // A kernel that sees a part of an input does not know at which places of the whole it lies.
  static bool read_through_window(const Step& step, int32_t value) {
    return std::any_of(step.arguments.begin(), step.arguments.end(),
                       [&](const Argument& a) { return a.at.origin >= 0 && a.at.place == value; });
  }

  void place() {
    // An input that is also an output as it stands must keep its contents; one of any size fits no output.
    std::erase_if(planned_.in_place, [&](const compiler::InPlace& p) {
      const PlannedValue& from = planned_.values[p.from];
      return from.kind == ValueKind::Input && (!options_.donation || aliased_.count(from.index) != 0 ||
                                               std::binary_search(key_.any_size.begin(), key_.any_size.end(), from.index));
    });
    place_values(*plan_, planned_, settings_);
    for (const Join& join : joins_) finish(join);
    if (plan_->device) plan_->order = order_of(*plan_, planned_);
  }

  const GraphKey& key_;
  const Options& options_;
  compiler::Settings settings_;
  const bool logs_;
  StepLog log_;
  Analysis analysis_;
  std::shared_ptr<Plan> plan_ = std::make_shared<Plan>();
  PlannedValues planned_;
  std::unordered_map<const Node*, int32_t> value_of_;
  std::unordered_map<const Node*, const Node*> first_base_;
  std::set<int32_t> aliased_;  // inputs that are outputs too
  std::vector<Join> joins_;
  std::vector<int32_t> writes_;  // what the next step writes
};

}  // namespace

std::shared_ptr<Plan> build_plan(int number, const GraphKey& key, const Options& options) {
  ProfileSpan span("plan", "build plan");
  std::shared_ptr<Plan> plan = Builder(number, key, options).run();
  return is_outdated(*plan) ? Builder(number, key, options).run() : plan;
}

}  // namespace tenon::runtime
