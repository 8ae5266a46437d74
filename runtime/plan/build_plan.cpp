// Building a plan: analysis, outputs, a step for each kernel, lifetimes, places.
#include "runtime/plan/build_plan.h"

#include <algorithm>
#include <set>
#include <stdexcept>
#include <utility>
#include <unordered_map>

#include "codegen/executable.h"
#include "runtime/history/profiler.h"
#include "runtime/plan/analysis.h"
#include "runtime/plan/dump.h"
#include "runtime/plan/kernel_facts.h"
#include "runtime/plan/plan_launches.h"
#include "runtime/plan/plan_order.h"
#include "runtime/plan/plan_places.h"

namespace tenon::runtime {
namespace {

using ir::Node;
using ir::Op;
using passes::FusedKernel;
using compiler::PlannedValue;
using compiler::ValueKind;

constexpr int64_t kAlignment = 16;  // bytes, of what a device's kernels move at once

class Builder {
 public:
  Builder(int number, const GraphKey& key, const Options& options)
      : key_(key), options_(options), settings_(compiler_settings(options)), logs_((options.dump & kDumpPasses) != 0) {
    plan_->number = number;
    if (logs_) {
      log_.start("graph", graph_text(key));
      settings_.observer = [this](std::string_view step, const std::function<std::string()>& text) {
        log_.add(step, text());
      };
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
    if (!only || only->is_host() || std::any_of(plan_->steps.begin(), plan_->steps.end(), is_elsewhere)) return nullptr;
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
    if (fused.kernel.name.find(options_.dump_kernel) == std::string::npos) {
      settings.observer = {};
    } else {
      log_.start("kernel", passes::print(fused));
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
    plan_->on_host = plan_->on_host && device.is_host();
    return static_cast<int32_t>(planned_.values.size()) - 1;
  }

  static int64_t bytes_of(const Node& node) { return node.numel() * ir::item_size(node.dtype()); }

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
    auto [it, fresh] = value_of_.emplace(node, -1);
    if (fresh) {
      if (node->op() != Op::Input) throw std::runtime_error("evaluate: a kernel reads what no kernel writes");
      it->second = new_value({ValueKind::Input, number_of(node), bytes_of(*node), -1, 0}, device_of(*node));
    }
    planned_.values[it->second].end = static_cast<int32_t>(plan_->steps.size());
    return it->second;
  }

  int32_t output_value(const Node* node) {
    auto step = static_cast<int32_t>(plan_->steps.size());
    auto [it, fresh] = value_of_.emplace(node, -1);
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

  static bool is_copy(const FusedKernel& fused) { return fused.routine && fused.routine->op() == Op::Copy; }

  // All of a kernel lies on one device.
  static Device& kernel_device(const FusedKernel& fused) {
    const ir::DeviceTag tag = fused.outputs.at(0)->device();
    if (is_copy(fused)) return device_of(tag);
    const auto elsewhere = [&](const Node* node) { return node->device() != tag; };
    if (std::any_of(fused.inputs.begin(), fused.inputs.end(), elsewhere) ||
        std::any_of(fused.outputs.begin(), fused.outputs.end(), elsewhere))
      throw std::runtime_error("kernel '" + fused.kernel.name + "' has values on different devices");
    return device_of(tag);
  }

  void add_step(const FusedKernel& fused) {
    if (is_generated_call(fused)) return fused.parts ? add_join(fused) : add_call(fused);
    if (!fused.twins.empty()) return add_one_by_one(fused);
    Step step;
    step.device = &kernel_device(fused);
    const std::shared_ptr<KernelRecord> facts = record_of(fused);
    for (const Node* node : fused.scalars) step.scalars.push_back(scalar_source(node));
    size_t in = 0, out = 0, base = 0;
    int32_t constants = 0;
    std::vector<LibraryCall::InMemory> in_memory;
    for (const ir::KernelBuffer& b : fused.kernel.buffers) {
      if (b.role == ir::Role::InOut) {
        add_update(fused, step, fused.bases.at(base++), fused.outputs.at(out++));
      } else if (b.role == ir::Role::Out) {
        step.buffers.push_back(output_value(fused.outputs.at(out++)));
      } else {
        const Node* input = fused.inputs.at(in++);
        if (const Analysis::Window* window = analysis_.window(input)) add_window(step, *input, *window);
        if (fused.parts && input->op() == Op::Const) {
          in_memory.push_back({static_cast<int32_t>(step.buffers.size()), constants});
          step.buffers.push_back(-2 - constants++);
        } else {
          step.buffers.push_back(b.numel == 0 ? -1 : input_value(input));
        }
      }
    }
    if (fused.routine && ir::is_recurrence(fused.routine->op()) && step.device->compiles(options_)) {
      facts->schedule = "rows one after another";
      step.work = RecurrentLayerStep{fused.routine, nullptr};
      plan_->recurrent.push_back(plan_->steps.size());
    } else if (is_copy(fused)) {
      const Node& from = *fused.inputs.at(0);
      facts->schedule = "copy";
      step.work = CopyStep{&device_of(from), static_cast<size_t>(bytes_of(*fused.routine))};
    } else if (fused.routine) {
      const bool interpreted = options_.backend == Options::Backend::Interpreter;
      facts->schedule = interpreted ? "interpreter" : "routine";
      if (fused.routine->op() == Op::Dot && !interpreted) note_library(*step.device);
      step.work = RoutineStep{fused.routine, fused.parts, std::move(in_memory), interpreted};
      fused.parts ? add_parts(fused, step) : add_in_place(*fused.routine, step);
    } else if (!step.device->compiles(options_)) {
      facts->schedule = "interpreter";
      step.work = InterpretedStep{
          std::make_shared<ir::Kernel>(compiler::basic_kernel(fused.kernel, settings_of(fused)))};
    } else {
      add_lowered(fused, step, facts);
    }
    step.facts = std::move(facts);
    push(std::move(step));
  }

  std::shared_ptr<KernelRecord> record_of(const FusedKernel& fused) {
    auto facts = std::make_shared<KernelRecord>(kernel_facts(fused));
    facts->shapes = shapes_of(fused, analysis_);
    facts->plan = plan_->number;
    return facts;
  }

  ScalarSource scalar_source(const Node* constant) const {
    if (const auto place = analysis_.places.find(constant); place != analysis_.places.end()) return {place->second.pad, 0, place->second.dim};
    auto it = analysis_.constants.find(constant);
    return it == analysis_.constants.end() ? ScalarSource{-1, constant->bits()} : ScalarSource{it->second, 0};
  }

  // The next argument begins at the window's origin.
  static void add_window(Step& step, const Node& node, const Analysis::Window& window) {
    step.windows.push_back(
        {static_cast<int32_t>(step.buffers.size()), window.origin, ir::item_size(node.dtype())});
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

  void add_parts(const FusedKernel& fused, const Step& step) {
    for (size_t p = 0; p < fused.parts->size(); ++p)
      offer_part(fused, p, plan_->steps.size(), step.buffers[p], step.buffers.back());
  }

  // A part that is one block of the result may be written there at once.
  void offer_part(const FusedKernel& fused, size_t p, size_t step, int32_t value, int32_t result) {
    const passes::JoinPart& part = (*fused.parts)[p];
    if (value < 0 || part.dims.size() > 1 || part.from != 0) return;
    const int64_t item = ir::item_size(fused.routine->dtype()), offset = part.to * item;
    const bool block = part.dims.empty() || (part.dims[0].from == 1 && part.dims[0].to == 1);
    const int64_t bytes = (part.dims.empty() ? 1 : part.dims[0].extent) * item;
    if (!block || bytes != planned_.values[value].bytes) return;
    if (!planned_.devices[value]->is_host() && offset % kAlignment != 0) return;  // who writes it may move vectors
    planned_.in_place.push_back({static_cast<int32_t>(step), value, result, false, true, offset});
  }

  // A scatter may write over its base, unless it reads that again as another operand.
  void add_in_place(const Node& routine, const Step& step) {
    if (!ir::writes_over(routine.op())) return;
    const std::vector<int32_t>& b = step.buffers;
    if (b[0] == b[1] || b[0] == b[2]) return;
    planned_.in_place.push_back({static_cast<int32_t>(plan_->steps.size()), b[0], b[3], true});
  }

  // Result and base share their memory, unless the kernel reads the base at other places too.
  void add_update(const FusedKernel& fused, Step& step, const Node* base, const Node* result) {
    const int32_t from = input_value(base), to = output_value(result);
    const auto number = static_cast<int32_t>(plan_->steps.size());
    const bool apart = std::find(fused.inputs.begin(), fused.inputs.end(), base) != fused.inputs.end();
    const Analysis::Window *whole = analysis_.window(first_base(base)), *own = analysis_.window(base);
    const bool is_part = own && own->part;  // the result is of its size: a copy of those elements
    if (!apart && !is_part) planned_.in_place.push_back({number, from, to, true});
    step.bases.push_back({static_cast<int32_t>(step.buffers.size()), from, static_cast<size_t>(bytes_of(*base)),
                          is_part ? own->origin : -1, ir::item_size(base->dtype())});
    if (whole && !whole->part) add_window(step, *base, *whole);
    step.buffers.push_back(to);
  }

  // What the loop tree adds to a step: sizes, phases, scratch, and buffers that may share their memory.
  void add_lowered(const FusedKernel& fused, Step& step, const std::shared_ptr<KernelRecord>& facts) {
    CompiledStep& work = step.work.emplace<CompiledStep>();
    const compiler::Settings settings = settings_of(fused);
    ir::Kernel kernel = fused.kernel;
    const std::vector<int64_t> begins = compiler::begin_kernel(kernel, step.device->target(options_), settings);
    for (size_t b = 0; b < begins.size(); ++b) {
      if (begins[b] == 0) continue;
      work.begins.push_back({static_cast<int32_t>(b), begins[b] * ir::item_size(kernel.buffers[b].dtype)});
    }
    for (size_t b = 0; b < kernel.buffers.size(); ++b) {
      kernel.buffers[b].constant = kernel.buffers[b].role == ir::Role::In && begins[b] == 0 && is_constant(step, step.buffers[b]);
    }
    note_unaligned(kernel, step);
    const size_t tree = plan_->code.lower(std::move(kernel), *step.device, options_, settings);
    const passes::Lowered& lowered = plan_->code.lowered(tree);
    auto number = static_cast<int32_t>(plan_->steps.size());
    for (auto [to, from] : lowered.donations) {
      const int32_t reads = step.buffers[from];
      if (begins[from] != 0 || read_through_window(step, reads)) continue;
      planned_.in_place.push_back({number, reads, step.buffers[to]});
    }
    if (lowered.packing && step.device->is_host())
      work.packing = {lowered.packing->source, -1, lowered.packing->phase, 0, lowered.packing->layout};
    add_tree(plan_->steps.size(), step, work, tree, facts);
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
        work.packing->copy = static_cast<int32_t>(step.buffers.size());
        work.packing->bytes = static_cast<size_t>(bytes);
        plan_->packing.push_back(s);
        step.buffers.push_back(-1);  // a packed copy, which has memory of its own
      } else if (b.space == ir::Space::Global) {
        step.buffers.push_back(new_value({ValueKind::Temporary, 0, bytes, number, number}, *step.device));
        step.writes.push_back(step.buffers.back());
      } else if (b.space == ir::Space::Local) {
        constexpr int64_t align = codegen::kLocalAlign;
        work.local_bytes += static_cast<size_t>((bytes + align - 1) / align * align);
      }
    }
    for (size_t p = 0; p < code.phases.size(); ++p) work.phases.push_back({lowered.sizes[code.phases[p].extent], lowered.phase_cost.at(p)});
    work.sizes = lowered.sizes;
    plan_->code.add_step(s, tree, facts);
  }

  // --- operations on whole buffers that are generated code

  bool is_generated_call(const FusedKernel& fused) const {
    if (!fused.routine || is_copy(fused)) return false;
    Device& device = kernel_device(fused);
    return device.compiles(options_) && passes::generates(fused.routine->op(), device.target(options_));
  }

  // Where no code is generated, each result is a call of its own.
  void add_one_by_one(const FusedKernel& fused) {
    const size_t inputs = fused.inputs.size();
    for (size_t k = 0; k < fused.outputs.size(); ++k) {
      FusedKernel one = fused;
      one.twins.clear();
      one.outputs = one.fused = {fused.outputs[k]};
      if (k > 0) one.routine = fused.twins[k - 1];
      one.kernel.buffers.resize(inputs);
      one.kernel.buffers.push_back(fused.kernel.buffers[inputs + k]);
      add_step(one);
    }
  }

  void add_call(const FusedKernel& fused) {
    Step step;
    step.device = &kernel_device(fused);
    const std::shared_ptr<KernelRecord> facts = record_of(fused);
    const size_t first = ir::writes_over(fused.routine->op()) ? 1 : 0;
    for (size_t i = first; i < fused.inputs.size(); ++i) add_operand(step, *fused.inputs[i]);
    const Node* base = first ? fused.inputs[0] : nullptr;
    const int32_t from = base ? input_value(base) : -1;
    for (const Node* result : fused.outputs) {
      const int32_t to = output_value(result);
      if (base) add_base(fused, step, from, to);
      step.buffers.push_back(to);
    }
    lower_call(fused, compiler::call_kernel(fused), nullptr, plan_->steps.size(), step, facts);
    step.facts = facts;
    push(std::move(step));
  }

  void lower_call(const FusedKernel& fused, ir::Kernel kernel, const std::vector<passes::JoinPart>* parts, size_t number, Step& step,
                  const std::shared_ptr<KernelRecord>& facts) {
    note_unaligned(kernel, step);
    const size_t tree = plan_->code.lower(passes::Call{kernel, *fused.routine, parts, fused.twins, fused.layouts}, *step.device, options_, settings_of(fused));
    add_tree(number, step, step.work.emplace<CompiledStep>(), tree, facts);
  }

  void add_operand(Step& step, const Node& input) {
    if (const Analysis::Window* window = analysis_.window(&input)) add_window(step, input, *window);
    step.buffers.push_back(input.numel() == 0 ? -1 : input_value(&input));
  }

  // The result starts with the base's elements; it lies over the base, unless that is a part of a buffer or read as another
  // operand too.
  void add_base(const FusedKernel& fused, Step& step, int32_t from, int32_t to) {
    const Node& base = *fused.inputs[0];
    const Analysis::Window* window = analysis_.window(&base);
    const bool apart = std::find(fused.inputs.begin() + 1, fused.inputs.end(), &base) != fused.inputs.end();
    if (!apart && !window) planned_.in_place.push_back({static_cast<int32_t>(plan_->steps.size()), from, to, true});
    step.bases.push_back({static_cast<int32_t>(step.buffers.size()), from, static_cast<size_t>(bytes_of(base)),
                          window ? window->origin : -1, ir::item_size(base.dtype())});
  }

  // Some parts of a Cat. Which of them lie in place already is known when all values have their places: the step gets its
  // buffers and its code then.
  struct Join {
    const FusedKernel* fused;
    size_t step, first, count;  // parts
    std::vector<int32_t> values;  // of the parts; -1: a constant
    int32_t result;
    std::shared_ptr<KernelRecord> facts;
  };

  // A launch has room for so many arguments only: as many steps as it takes.
  void add_join(const FusedKernel& fused) {
    constexpr size_t kMostParts = 16;
    const size_t count = fused.inputs.size();
    const int32_t result = output_value(fused.outputs[0]);
    for (size_t first = 0; first < count; first += kMostParts) {
      Join join{&fused, plan_->steps.size(), first, std::min(kMostParts, count - first), {}, result, record_of(fused)};
      planned_.values[result].end = static_cast<int32_t>(join.step);
      for (size_t p = first; p < first + join.count; ++p) {
        const bool constant = (*fused.parts)[p].constant;
        join.values.push_back(constant || fused.inputs[p]->numel() == 0 ? -1 : input_value(fused.inputs[p]));
        offer_part(fused, p, join.step, join.values.back(), result);
      }
      Step step;
      step.device = &kernel_device(fused);
      step.facts = join.facts;
      step.buffers = join.values;  // as long as it is not known which of them it reads
      step.buffers.push_back(result);
      writes_ = {result};
      push(std::move(step));
      joins_.push_back(std::move(join));
    }
  }

  void finish(const Join& join) {
    const FusedKernel& fused = *join.fused;
    Step& step = plan_->steps[join.step];
    step.buffers.clear();
    join.facts->bytes = 0;  // of these parts
    ir::Kernel kernel;
    kernel.name = fused.kernel.name;
    std::vector<passes::JoinPart> parts;
    for (size_t p = join.first; p < join.first + join.count; ++p) {
      const passes::JoinPart& part = (*fused.parts)[p];
      const ir::KernelBuffer& buffer = fused.kernel.buffers[p];
      if (part.constant) {
        kernel.add_scalar("a" + std::to_string(p), buffer.dtype);
        step.scalars.push_back(scalar_source(fused.inputs[p]));
      } else {
        if (lies_there(part, join.values[p - join.first], join.result, ir::item_size(buffer.dtype))) continue;
        kernel.buffers.push_back(buffer);
        add_operand(step, *fused.inputs[p]);
      }
      parts.push_back(part);
      int64_t elements = 1;
      for (const passes::JoinPart::Dim& dim : part.dims) elements *= dim.extent;
      join.facts->bytes += (part.constant ? 1 : 2) * elements * ir::item_size(buffer.dtype);
    }
    if (parts.empty()) {
      join.facts->schedule = "in place";
      step.work = InPlaceStep{};
      return;
    }
    kernel.buffers.push_back(fused.kernel.buffers.back());
    step.buffers.push_back(join.result);
    lower_call(fused, std::move(kernel), &parts, join.step, step, join.facts);
  }

  bool lies_there(const passes::JoinPart& part, int32_t value, int32_t result, int64_t item) const {
    if (value < 0) return true;  // no elements
    const compiler::Place &from = plan_->places[value], &to = plan_->places[result];
    return from.base == to.base && from.index == to.index && from.offset == to.offset + part.to * item;
  }

  // Whether all of the value is an input that counts as constant.
  bool is_constant(const Step& step, int32_t value) const {
    return value >= 0 && step.device->is_host() && planned_.values[value].kind == ValueKind::Input && !read_through_window(step, value) &&
           std::binary_search(key_.constants.begin(), key_.constants.end(), planned_.values[value].index);
  }

  // Argument by argument: what a window begins lies anywhere.
  void note_unaligned(ir::Kernel& kernel, const Step& step) const {
    if (step.device->is_host()) return;
    for (size_t b = 0; key_.anywhere && b < step.buffers.size(); ++b) {
      if (step.buffers[b] >= 0 && planned_.values[step.buffers[b]].kind != ValueKind::Temporary) kernel.buffers.at(b).unaligned = true;
    }
    for (const Step::Window& window : step.windows) kernel.buffers.at(static_cast<size_t>(window.argument)).unaligned = true;
  }

  // A kernel that sees a part of an input does not know at which places of the whole it lies.
  static bool read_through_window(const Step& step, int32_t value) {
    return std::any_of(step.windows.begin(), step.windows.end(), [&](const Step::Window& w) {
      return step.buffers[w.argument] == value;
    });
  }

  void place() {
    // An input that is also an output as it stands must keep its contents; one of any size fits no output.
    std::erase_if(planned_.in_place, [&](const compiler::InPlace& p) {
      const PlannedValue& from = planned_.values[p.from];
      return from.kind == ValueKind::Input &&
             (!options_.donation || aliased_.count(from.index) != 0 ||
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
