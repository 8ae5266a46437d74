// Constants are hidden so that one program serves all their values. A pass that met `mul %x, 2.5` might use the 2.5; what it
// meets instead is an input, and only constants whose bits belong to the code stay visible:
//
//   %1 = mul %x, 2.5       %1 = mul %x, %hidden       %1 = mul %x, 2.5
//   %2 = mul %1, 1.0   ->  %2 = mul %1, 1.0       ->  return %1
//   return %2              return %2
#include "compiler/pipeline.h"

#include "compiler/round_trip.h"
#include "passes/graph/substitution.h"

namespace tenon::compiler {
namespace {

using ir::Node, ir::NodeRef, ir::Op;

constexpr StepInfo kHide = {"hide-constants", "constants whose value is no part of the code become inputs"};
constexpr StepInfo kShow = {"show-constants", "the constants come back"};
constexpr StepInfo kDropReshapes = {"drop-reshapes", "an output that is a reshape becomes what it reshapes"};
constexpr StepInfo kFuse = {"fuse", "the graph falls into kernels"};
constexpr StepInfo kBegin = {"begin-at-first", "buffers begin at the first element that is touched"};
constexpr StepInfo kMemory = {"memory-plan", "the values of all kernels get their places"};
constexpr StepInfo kSchedule = {"schedule", "a kernel becomes a loop tree"};

// Called with the text of what each step made: shows it to the observer, and reads it back.
passes::PassObserver observer_of(const Settings& settings) {
  if (!settings.verify) return settings.observer;
  return [&settings](std::string_view step, const std::function<std::string()>& text) {
    check_round_trip(text());
    if (settings.observer) settings.observer(step, text);
  };
}

// Constants that the passes are not to see: inputs stand for them meanwhile.
class HiddenConstants {
 public:
  explicit HiddenConstants(std::span<Node* const> constants) {
    for (Node* constant : constants) {
      NodeRef input = ir::make_input(constant->dtype(), constant->shape(), nullptr, constant->device());
      show_.replace(input.get(), NodeRef(constant));
      hide_.replace(constant, std::move(input));
    }
  }
  ir::Graph hide(const ir::Graph& graph) const { return replaced(graph, hide_); }
  ir::Graph show(const ir::Graph& graph) const { return replaced(graph, show_); }

 private:
  static ir::Graph replaced(const ir::Graph& graph, passes::Substitution substitution) {
    if (substitution.empty()) return graph;
    for (const NodeRef& node : graph.nodes) {
      if (node->is_leaf()) continue;
      substitution.rebuild(node.get(), node->op() == Op::Pad ? 1 : -1);  // the fill of a pad is a part of the code
    }
    return ir::Graph::of(substitution.of(graph.outputs), graph.name);
  }

  passes::Substitution hide_, show_;
};

// A reshape has its source's elements in the same order: where it is wanted, its source's memory serves.
ir::Graph drop_reshapes(const ir::Graph& graph) {
  std::vector<NodeRef> outputs = graph.outputs;
  for (NodeRef& output : outputs) {
    while (output->op() == Op::Reshape) output = NodeRef(output->inputs()[0]);
  }
  return outputs == graph.outputs ? graph : ir::Graph::of(outputs, graph.name);
}

std::string kernels_text(const passes::FusionResult& fusion) {
  std::string text;
  for (const passes::FusedKernel& fused : fusion.kernels) text += ir::print(fused.work);
  return text;
}

}  // namespace

std::vector<StepInfo> steps() {
  std::vector<StepInfo> all{kHide};
  for (const passes::GraphPass& pass : passes::graph_passes()) all.push_back({pass.name, pass.summary});
  all.insert(all.end(), {kShow, kDropReshapes, kFuse, kBegin});
  for (const passes::KernelPass& pass : passes::kernel_passes()) all.push_back({pass.name, pass.summary});
  all.insert(all.end(), {kSchedule, kMemory});
  return all;
}

Program compile_graph(const std::vector<NodeRef>& outputs, std::span<Node* const> hidden, const Settings& settings) {
  const passes::PassObserver observer = observer_of(settings);
  const HiddenConstants constants(settings.simplify ? hidden : std::span<Node* const>());
  Program program{ir::Graph::of(outputs), {}};
  const auto step = [&](std::string_view name, const auto& run) {
    ir::Graph made = run(program.graph);
    const bool changed = made.nodes != program.graph.nodes;
    program.graph = std::move(made);
    if (changed && settings.verify) ir::verify(program.graph);
    if (observer) observer(name, [&] { return ir::print(program.graph); });
  };
  if (settings.simplify) step(kHide.name, [&](const ir::Graph& graph) { return constants.hide(graph); });
  for (const passes::GraphPass& pass : passes::graph_passes()) {
    if (!settings.simplify && !pass.is_needed) continue;
    step(pass.name, [&](const ir::Graph& graph) { return pass.run(graph, settings.fusion.targets); });
  }
  if (settings.simplify) step(kShow.name, [&](const ir::Graph& graph) { return constants.show(graph); });
  step(kDropReshapes.name, drop_reshapes);
  ir::verify(program.graph);
  program.fusion = passes::fuse(program.graph.outputs, settings.fusion);
  for (const passes::FusedKernel& fused : program.fusion.kernels) {
    if (settings.verify && fused.call()) check_round_trip(ir::print(fused.work));
  }
  if (settings.observer) settings.observer(kFuse.name, [&] { return kernels_text(program.fusion); });
  return program;
}

std::vector<int64_t> begin_work(ir::Work& work, const ir::Target& target, const Settings& settings) {
  auto* kernel = std::get_if<ir::Kernel>(&work);
  std::vector<int64_t> begins(ir::signature(work).buffers.size());
  if (!kernel) return begins;
  if (ir::kind(target) == ir::TargetKind::Cpu) begins = passes::begin_at_first(*kernel);
  if (const passes::PassObserver observer = observer_of(settings)) observer(kBegin.name, [&] { return ir::print(*kernel); });
  return begins;
}

ir::Kernel basic_kernel(const ir::Kernel& kernel, const Settings& settings, const ir::Target& target) {
  return passes::run_kernel_passes(kernel, observer_of(settings), target);
}

namespace {

// What `lower` gives with these trees. An observer or a check sees what it gives without them.
template <typename Lower>
passes::Lowered lowered_like(const std::string& name, const Settings& settings, passes::KnownLowered known, const Lower& lower) {
  if (!settings.verify && !settings.observer) return lower(known);
  passes::Lowered lowered = lower({});
  observer_of(settings)(kSchedule.name, [&] { return ir::print(lowered.tree); });
  if (known.empty()) return lowered;
  const passes::Lowered found = lower(known);
  const bool same = found.sizes == lowered.sizes && found.phase_cost == lowered.phase_cost && found.donations == lowered.donations &&
                    found.packing == lowered.packing && found.better_often == lowered.better_often &&
                    ir::same_code(found.whole_tree(), lowered.tree);
  if (!same) throw ir::IrError("kernel '" + name + "' was taken for another one with a known tree");
  return lowered;
}

}  // namespace

passes::Lowered lower(const ir::Work& work, const ir::Target& target, const Settings& settings, passes::KnownLowered known) {
  const auto* kernel = std::get_if<ir::Kernel>(&work);
  if (settings.verify && !kernel) ir::verify(work);
  const ir::Work basic = kernel ? ir::Work(basic_kernel(*kernel, settings, target)) : work;
  return lowered_like(ir::signature(work).name, settings, known,
                      [&](passes::KnownLowered others) { return passes::lower(basic, target, others); });
}

passes::Lowered compile(ir::Work work, const ir::Target& target, const Settings& settings) {
  begin_work(work, target, settings);
  return lower(work, target, settings);
}

MemoryPlan plan_memory(const std::vector<PlannedValue>& values, const std::vector<InPlace>& in_place, const Settings& settings,
                       bool reuse_outputs) {
  MemoryPlan plan = plan_memory(values, in_place, reuse_outputs);
  if (settings.observer) settings.observer(kMemory.name, [&] { return print(plan); });
  return plan;
}

}  // namespace tenon::compiler
