// Building a plan: analysis, schedules, code, lifetimes, places.
#include "runtime/plan.h"

#include <algorithm>
#include <set>
#include <stdexcept>
#include <unordered_map>

#include "codegen/executable.h"
#include "ir/kernel_equal.h"
#include "runtime/analysis.h"
#include "runtime/dump.h"
#include "runtime/kernel_facts.h"
#include "runtime/profiler.h"

namespace tenon::runtime {
namespace {

using ir::Node;
using ir::Op;
using passes::FusedKernel;
using compiler::InPlace;
using compiler::MemoryPlan;
using compiler::PlannedValue;
using compiler::ValueKind;

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
    for (size_t i = 0; i < key.nodes.size(); ++i) number_.emplace(key.nodes[i], static_cast<int32_t>(i));
  }

  std::unique_ptr<Plan> run() {
    {
      ProfileSpan span("plan", "passes and fusion");
      analysis_ = analyse(key_, settings_);
    }
    list_outputs();
    for (const FusedKernel& fused : analysis_.fusion.kernels) add_step(fused);
    find_code();
    place();
    plan_->key = key_.words;
    if (logs_) write_dump(options_.dump_dir, plan_->number, "passes", log_.text());
    return std::move(plan_);
  }

 private:
  // Of one kernel's steps: only kernels that are asked for are in the log.
  compiler::Settings settings_of(const ir::Kernel& kernel) {
    compiler::Settings settings = settings_;
    if (!logs_) return settings;
    if (kernel.name.find(options_.dump_kernel) == std::string::npos) {
      settings.observer = {};
    } else {
      log_.start("kernel", ir::print(kernel));
    }
    return settings;
  }

  int32_t number_of(const Node* node) const {
    auto it = number_.find(node);
    if (it == number_.end()) throw std::runtime_error("evaluate: a pass made an input of its own");
    return it->second;
  }

  int32_t new_value(PlannedValue value, Device& device) {
    values_.push_back(value);
    devices_.push_back(&device);
    return static_cast<int32_t>(values_.size()) - 1;
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
    if (const Analysis::Window* window = analysis_.window(node)) node = key_.nodes[static_cast<size_t>(window->input)];
    auto [it, fresh] = value_of_.emplace(node, -1);
    if (fresh) {
      if (node->op() != Op::Input) throw std::runtime_error("evaluate: a kernel reads what no kernel writes");
      it->second = new_value({ValueKind::Input, number_of(node), bytes_of(*node), -1, 0}, device_of(*node));
    }
    values_[static_cast<size_t>(it->second)].end = static_cast<int32_t>(plan_->steps.size());
    return it->second;
  }

  int32_t output_value(const Node* node) {
    auto step = static_cast<int32_t>(plan_->steps.size());
    auto [it, fresh] = value_of_.emplace(node, -1);
    if (fresh) it->second = new_value({ValueKind::Temporary, 0, bytes_of(*node), step, step}, device_of(*node));
    PlannedValue& value = values_[static_cast<size_t>(it->second)];
    value.begin = value.end = step;
    return it->second;
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
    Step step;
    step.device = &kernel_device(fused);
    auto facts = std::make_shared<KernelRecord>(kernel_facts(fused));
    facts->shapes = shapes_of(fused, analysis_);
    facts->plan = plan_->number;
    for (const Node* node : fused.scalars) {
      auto it = analysis_.constants.find(node);
      step.scalars.push_back(it == analysis_.constants.end() ? ScalarSource{-1, node->bits()}
                                                             : ScalarSource{it->second, 0});
    }
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
    if (is_copy(fused)) {
      const Node& from = *fused.inputs.at(0);
      facts->schedule = "copy";
      step.work = CopyStep{&device_of(from), static_cast<size_t>(bytes_of(*fused.routine))};
    } else if (fused.routine) {
      const bool interpreted = options_.backend == Options::Backend::Interpreter;
      facts->schedule = interpreted ? "interpreter" : "routine";
      step.work = RoutineStep{fused.routine, fused.parts, std::move(in_memory), interpreted};
      fused.parts ? add_parts(fused, step) : add_in_place(*fused.routine, step);
    } else if (!step.device->compiles(options_)) {
      facts->schedule = "interpreter";
      step.work = InterpretedStep{
          std::make_shared<ir::Kernel>(compiler::basic_kernel(fused.kernel, settings_of(fused.kernel)))};
    } else {
      add_lowered(fused, step);
      facts->schedule = trees_[compiled_.back().second].lowered.schedule;
    }
    step.facts = facts;
    facts_.push_back(std::move(facts));
    plan_->steps.push_back(std::move(step));
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

  // A part that is one block of the result may be written there at once.
  void add_parts(const FusedKernel& fused, const Step& step) {
    const auto number = static_cast<int32_t>(plan_->steps.size());
    const int64_t item = ir::item_size(fused.routine->dtype());
    for (size_t p = 0; p < fused.parts->size(); ++p) {
      const passes::JoinPart& part = (*fused.parts)[p];
      if (step.buffers[p] < 0 || part.dims.size() > 1 || part.from != 0) continue;
      const bool block = part.dims.empty() || (part.dims[0].from == 1 && part.dims[0].to == 1);
      const int64_t bytes = (part.dims.empty() ? 1 : part.dims[0].extent) * item;
      if (!block || bytes != values_[static_cast<size_t>(step.buffers[p])].bytes) continue;
      in_place_.push_back({number, step.buffers[p], step.buffers.back(), false, true, part.to * item});
    }
  }

  // A scatter may write over its base, unless it reads that again as another operand.
  void add_in_place(const Node& routine, const Step& step) {
    if (!ir::writes_over(routine.op())) return;
    const std::vector<int32_t>& b = step.buffers;
    if (b[0] == b[1] || b[0] == b[2]) return;
    in_place_.push_back({static_cast<int32_t>(plan_->steps.size()), b[0], b[3], true});
  }

  // Result and base share their memory, unless the kernel reads the base at other places too.
  void add_update(const FusedKernel& fused, Step& step, const Node* base, const Node* result) {
    const int32_t from = input_value(base), to = output_value(result);
    const auto number = static_cast<int32_t>(plan_->steps.size());
    const bool apart = std::find(fused.inputs.begin(), fused.inputs.end(), base) != fused.inputs.end();
    const Analysis::Window *whole = analysis_.window(first_base(base)), *own = analysis_.window(base);
    const bool is_part = own && own->part;  // the result is of its size: a copy of those elements
    if (!apart && !is_part) in_place_.push_back({number, from, to, true});
    step.bases.push_back({static_cast<int32_t>(step.buffers.size()), from, static_cast<size_t>(bytes_of(*base)),
                          is_part ? own->origin : -1, ir::item_size(base->dtype())});
    if (whole && !whole->part) add_window(step, *base, *whole);
    step.buffers.push_back(to);
  }

  // What the loop tree adds to a step: sizes, phases, scratch, and buffers that may share their memory.
  void add_lowered(const FusedKernel& fused, Step& step) {
    CompiledStep& work = step.work.emplace<CompiledStep>();
    const compiler::Settings settings = settings_of(fused.kernel);
    ir::Kernel kernel = fused.kernel;
    const std::vector<int64_t> begins = compiler::begin_kernel(kernel, settings);
    for (size_t b = 0; b < begins.size(); ++b) {
      if (begins[b] == 0) continue;
      work.begins.push_back({static_cast<int32_t>(b), begins[b] * ir::item_size(kernel.buffers[b].dtype)});
    }
    const size_t tree = lower_once(std::move(kernel), *step.device, settings);
    const passes::Lowered& lowered = trees_[tree].lowered;
    auto number = static_cast<int32_t>(plan_->steps.size());
    for (auto [to, from] : lowered.donations) {
      const int32_t reads = step.buffers[static_cast<size_t>(from)];
      if (begins[static_cast<size_t>(from)] != 0 || read_through_window(step, reads)) continue;
      in_place_.push_back({number, reads, step.buffers[static_cast<size_t>(to)]});
    }
    for (const ir::TreeBuffer& b : lowered.tree.buffers) {
      int64_t count = b.size_param >= 0 ? lowered.sizes[static_cast<size_t>(b.size_param)] : b.count;
      int64_t bytes = count * ir::item_size(b.dtype);
      if (b.space == ir::Space::Global) {
        step.buffers.push_back(new_value({ValueKind::Temporary, 0, bytes, number, number}, *step.device));
      } else if (b.space == ir::Space::Local) {
        constexpr int64_t align = codegen::kLocalAlign;
        work.local_bytes += static_cast<size_t>((bytes + align - 1) / align * align);
      }
    }
    for (size_t p = 0; p < lowered.tree.phases.size(); ++p) {
      work.phases.push_back(
          {lowered.sizes[static_cast<size_t>(lowered.tree.phases[p].extent)], lowered.phase_cost.at(p)});
    }
    work.sizes = lowered.sizes;
    compiled_.push_back({plan_->steps.size(), tree});
  }

  // Kernels that do the same to other buffers have one tree; a graph of thousands of equal roots has few kernels.
  size_t lower_once(ir::Kernel kernel, Device& device, const compiler::Settings& settings) {
    const uint64_t hash = ir::hash_of_work(kernel);
    for (auto [it, end] = tree_of_.equal_range(hash); it != end; ++it) {
      const Tree& tree = trees_[it->second];
      if (tree.device == &device && ir::same_work(tree.kernel, kernel)) return it->second;
    }
    passes::Lowered lowered;
    try {
      ProfileSpan span("plan", "schedule");
      lowered = compiler::lower_kernel(kernel, device.target(options_), settings);
    } catch (const ir::IrError& e) {
      throw std::runtime_error("kernel '" + kernel.name + "' could not be scheduled: " + e.what());
    }
    tree_of_.emplace(hash, trees_.size());
    trees_.push_back({std::move(kernel), &device, std::move(lowered)});
    return trees_.size() - 1;
  }

  // A kernel that sees a part of an input does not know at which places of the whole it lies.
  static bool read_through_window(const Step& step, int32_t value) {
    return std::any_of(step.windows.begin(), step.windows.end(), [&](const Step::Window& w) {
      return step.buffers[static_cast<size_t>(w.argument)] == value;
    });
  }

  void find_code() {
    std::vector<FoundKernel> found(trees_.size());
    std::set<Device*> done;
    for (const Tree& first : trees_) {
      if (!done.insert(first.device).second) continue;
      std::vector<const ir::LoopTree*> trees;
      std::vector<size_t> numbers;
      for (size_t t = 0; t < trees_.size(); ++t) {
        if (trees_[t].device != first.device) continue;
        trees.push_back(&trees_[t].lowered.tree);
        numbers.push_back(t);
      }
      std::vector<FoundKernel> of_device = KernelCache::global().get(trees, *first.device, options_);
      for (size_t i = 0; i < numbers.size(); ++i) found[numbers[i]] = std::move(of_device[i]);
    }
    std::vector<bool> taken(trees_.size(), false);
    for (auto [number, tree] : compiled_) {
      Step& step = plan_->steps[number];
      const auto& kernel = std::get<CompiledStep>(step.work).kernel = found[tree].kernel;
      step.cache = taken[tree] ? CacheState::Memory : found[tree].cache;
      step.compile_ms = step.cache == CacheState::Compiled ? kernel->compile_ms : 0;
      facts_[number]->hash = kernel->hash.low;
      if (taken[tree]) count(Count::MemoryHits);
      taken[tree] = true;
    }
  }

  void place() {
    // An input that is also an output as it stands must keep its contents.
    std::erase_if(in_place_, [&](const InPlace& p) {
      const PlannedValue& from = values_[static_cast<size_t>(p.from)];
      return from.kind == ValueKind::Input && (!options_.donation || aliased_.count(from.index) != 0);
    });
    plan_->places.resize(values_.size());
    std::vector<Device*> devices = devices_;
    std::sort(devices.begin(), devices.end(), [](Device* a, Device* b) { return a->tag() < b->tag(); });
    devices.erase(std::unique(devices.begin(), devices.end()), devices.end());
    for (Device* device : devices) place_on(*device);
  }

  // Each device's values by themselves: none shares memory with one elsewhere.
  void place_on(Device& device) {
    std::vector<int32_t> all, own(values_.size(), -1);  // own number -> number, and back
    std::vector<PlannedValue> values;
    for (size_t v = 0; v < values_.size(); ++v) {
      if (devices_[v] != &device) continue;
      own[v] = static_cast<int32_t>(all.size());
      all.push_back(static_cast<int32_t>(v));
      values.push_back(values_[v]);
    }
    std::vector<InPlace> in_place;
    for (InPlace p : in_place_) {
      p.from = own[static_cast<size_t>(p.from)];
      p.to = own[static_cast<size_t>(p.to)];
      if (p.from >= 0 && p.to >= 0) in_place.push_back(p);
    }
    MemoryPlan memory = compiler::plan_memory(values, in_place, settings_);
    const auto arena = static_cast<int32_t>(plan_->arenas.size());
    for (size_t v = 0; v < all.size(); ++v) {
      if (memory.places[v].base == ValueKind::Temporary) memory.places[v].index = arena;
      plan_->places[static_cast<size_t>(all[v])] = memory.places[v];
    }
    plan_->arenas.push_back({&device, memory.arena_bytes});
    for (const MemoryPlan::Donation& d : memory.donations)
      plan_->outputs[static_cast<size_t>(d.output)].donor = d.input;
    plan_->donates = plan_->donates || !memory.donations.empty();
  }

  const GraphKey& key_;
  const Options& options_;
  compiler::Settings settings_;
  const bool logs_;
  StepLog log_;
  std::unordered_map<const Node*, int32_t> number_;
  Analysis analysis_;
  std::unique_ptr<Plan> plan_ = std::make_unique<Plan>();
  std::vector<PlannedValue> values_;
  std::vector<Device*> devices_;  // of the values
  std::unordered_map<const Node*, int32_t> value_of_;
  std::unordered_map<const Node*, const Node*> first_base_;
  std::set<int32_t> aliased_;  // inputs that are outputs too
  std::vector<InPlace> in_place_;
  struct Tree {
    ir::Kernel kernel;  // that it was made from
    Device* device;
    passes::Lowered lowered;
  };
  std::vector<Tree> trees_;
  std::unordered_multimap<uint64_t, size_t> tree_of_;   // by the hash of the kernel
  std::vector<std::pair<size_t, size_t>> compiled_;  // the steps that have trees, and theirs
  std::vector<std::shared_ptr<KernelRecord>> facts_;
};

}  // namespace

std::unique_ptr<Plan> build_plan(int number, const GraphKey& key, const Options& options) {
  ProfileSpan span("plan", "build plan");
  return Builder(number, key, options).run();
}

}  // namespace tenon::runtime
