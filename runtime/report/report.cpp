// dump and explain, and TENON_DUMP: text of every stage, from the same analysis that makes plans.
#include <algorithm>
#include <map>
#include <stdexcept>

#include "codegen/cuda/accesses.h"
#include "codegen/cuda/emit.h"
#include "ir/base/text.h"
#include "ir/graph/graph_infer.h"
#include "runtime/cache/kernel_cache.h"
#include "runtime/device/device.h"
#include "runtime/plan/dump.h"
#include "runtime/plan/kernel_facts.h"
#include "runtime/plan/past_plans.h"
#include "runtime/report/report.h"
#include "runtime/run/evaluate.h"
#include "runtime/run/evaluation.h"

namespace tenon::runtime {
namespace {

using passes::FusedKernel;

constexpr const char* kStageNames[] = {"graph", "fused",    "kernel", "looptree",
                                       "llvm",  "assembly", "cuda",   "ptx"};

std::string fused_text(const Analysis& a) {
  std::string text = ir::print(a.graph);
  for (const FusedKernel& k : a.fusion.kernels) text += "kernel @" + k.kernel.name + ": " + op_list(k) + "\n";
  return text;
}

// A GPU's kernels are fused for it.
compiler::Settings settings_of(Stage stage, const Options& options) {
  compiler::Settings settings = compiler_settings(options);
  if (stage == Stage::CUDA) settings.fusion.targets[kHostTag] = ir::GpuTarget{};
  return settings;
}

bool is_library_call(const FusedKernel& fused, const ir::Target& target) {
  return fused.routine && !passes::generates(fused.routine->op(), target);
}

passes::Lowered lowered(const FusedKernel& fused, const ir::Target& target) {
  if (!fused.routine) return compiler::compile_kernel(fused.kernel, target, {});
  return compiler::lower_call({compiler::call_kernel(fused), *fused.routine, fused.parts.get(), fused.twins, fused.layouts}, target, {});
}

// The code of a GPU's loop tree: its text, or PTX.
std::string gpu_text(Device& device, const ir::LoopTree& tree, Stage stage) {
  if (stage == Stage::CUDA) return device.intermediate_text(tree);
  if (stage == Stage::PTX) return device.assembly_text(tree);
  return "kernel @" + tree.name + " is for " + name_of(device.tag()) + ": the stages CUDA and PTX have its code.\n";
}

std::string kernel_text(const FusedKernel& fused, Stage stage, const Options& options) {
  Device& device = device_of(*fused.outputs.at(0));
  const bool as_for_gpu = stage == Stage::CUDA && device.is_host();
  const ir::Target target = as_for_gpu ? ir::Target(ir::GpuTarget{}) : device.target(options);
  if (stage == Stage::Kernel || is_library_call(fused, target)) return passes::print(fused);
  const ir::LoopTree tree = lowered(fused, target).tree;
  if (stage == Stage::LoopTree) return ir::print(tree);
  if (ir::kind(device.target(options)) == ir::TargetKind::Cuda) return gpu_text(device, tree, stage);
  if (stage == Stage::CUDA) return codegen::cuda::emit(tree);
  return stage == Stage::LLVM ? device.intermediate_text(tree) : device.assembly_text(tree);
}

std::string kernel_names(const Analysis& a) {
  std::string names;
  for (const FusedKernel& fused : a.fusion.kernels) names += (names.empty() ? "" : ", ") + fused.kernel.name;
  return names;
}

// `wanted`: the stages below Fused have only the kernels with this in their name.
std::string stage_text(const GraphKey& key, const Analysis& a, Stage stage, const Options& options,
                       std::string_view wanted) {
  if (stage == Stage::Graph) return graph_text(key);
  if (stage == Stage::Fused) return fused_text(a);
  const bool on_host = a.fusion.kernels.empty() || device_of(*a.fusion.kernels.front().outputs.at(0)).is_host();
  if (stage == Stage::PTX && on_host) return "PTX is what NVRTC makes of kernels for a CUDA device; the CUDA stage has the source for one.\n";
  bool needs_llvm = (stage == Stage::LLVM || stage == Stage::Assembly) && on_host;
  if (needs_llvm && host_device().info().compiler.empty()) return "This build has no LLVM.\n";
  std::string text;
  for (const FusedKernel& fused : a.fusion.kernels) {
    if (fused.kernel.name.find(wanted) == std::string::npos) continue;
    try {
      text += kernel_text(fused, stage, options);
    } catch (const ir::IrError& e) {
      text += "kernel @" + fused.kernel.name + ": " + e.what() + "\n";
    }
    if (!text.empty() && text.back() != '\n') text += '\n';
  }
  if (!text.empty()) return text;
  if (a.fusion.kernels.empty()) return "Nothing is pending: no kernel.\n";
  return "No kernel has '" + std::string(wanted) + "' in its name; there are: " + kernel_names(a) + "\n";
}

std::string readable(double value, const char* const* units, int count, double base) {
  int unit = 0;
  for (; value >= base && unit + 1 < count; ++unit) value /= base;
  return ir::fixed_text(value, unit == 0 ? 0 : 2) + " " + units[unit];
}

std::string readable_bytes(int64_t bytes) {
  constexpr const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  return readable(static_cast<double>(bytes), units, 5, 1024);
}

std::string readable_flops(int64_t flops) {
  constexpr const char* units[] = {"flop", "Kflop", "Mflop", "Gflop", "Tflop"};
  return readable(static_cast<double>(flops), units, 5, 1000);
}

std::string schedule_name(const FusedKernel& fused, const Options& options) {
  Device& device = device_of(*fused.outputs.at(0));
  if (is_library_call(fused, device.target(options)) && options.backend != Options::Backend::Interpreter) return "routine";
  if (!device.compiles(options)) return "interpreter";
  try {
    return lowered(fused, device.target(options)).schedule;
  } catch (const ir::IrError& e) {
    return std::string("none (") + e.what() + ")";
  }
}

// Who computes a product, and by which estimate.
std::string product_text(const FusedKernel& fused, const Options& options) {
  const auto costs = passes::product_costs(fused, device_of(*fused.outputs.at(0)).target(options));
  if (!costs) return {};
  return std::string("  product    by ") + (fused.routine ? "the library" : "this kernel") + "; estimated: generated " +
         ir::fixed_text(costs->generated_us, 1) + " us, a call of the library " + ir::fixed_text(costs->library_us, 1) + " us\n";
}

// A kernel of a GPU: its loop tree and sizes, and its code.
struct GpuKernel {
  std::shared_ptr<const passes::Lowered> lowered;  // null: it is none
  std::shared_ptr<const CompiledKernel> compiled;  // null: it does not compile
};

// The GPU's kernels among these, by number, compiled if they have not been.
std::vector<GpuKernel> gpu_kernels(const std::vector<FusedKernel>& kernels, const Options& options) {
  std::vector<GpuKernel> all(kernels.size());
  std::map<Device*, std::vector<size_t>> of_device;
  for (size_t k = 0; k < kernels.size(); ++k) {
    Device& device = device_of(*kernels[k].outputs.at(0));
    const ir::Target target = device.target(options);
    if (ir::kind(target) != ir::TargetKind::Cuda || !device.compiles(options) || is_library_call(kernels[k], target)) continue;
    try {
      all[k].lowered = std::make_shared<const passes::Lowered>(lowered(kernels[k], target));
      of_device[&device].push_back(k);
    } catch (const ir::IrError&) {  // the schedule's line says it
    }
  }
  for (const auto& [device, numbers] : of_device) {
    std::vector<WantedKernel> wanted;
    for (const size_t k : numbers) wanted.push_back({{all[k].lowered, &all[k].lowered->tree}});
    try {
      const std::vector<FoundKernel> found = KernelCache::global().get(wanted, *device, options);
      for (size_t i = 0; i < numbers.size(); ++i) all[numbers[i]].compiled = found[i].kernel;
    } catch (const std::exception&) {  // the run says it
    }
  }
  return all;
}

std::string code_text(const CompiledKernel* kernel) {
  std::string text;
  if (!kernel) return text;
  try {
    for (const CodeUse& use : kernel->device->uses(*kernel->code)) {
      text += "  code       " + use.phase + ": " + std::to_string(use.registers) + " registers, " + std::to_string(use.shared_bytes) + " B shared, " +
              (use.local_bytes > 0 ? std::to_string(use.local_bytes) + " B a thread in local memory\n" : "no spills\n");
    }
  } catch (const std::runtime_error&) {  // a device that is lost
  }
  return text;
}

// `whole`: every warp was walked.
std::string access_text(const codegen::cuda::Access& access, const ir::TreeBuffer& buffer, bool whole) {
  using Kind = codegen::cuda::Access::Kind;
  const bool writes = access.kind == Kind::Store || access.kind == Kind::CopyTo, shared = buffer.space == ir::Space::Shared;
  std::string text = (writes ? "writes " : "reads ") + std::string(shared ? "shared " : "") + buffer.name + ", " + std::to_string(access.bytes) + " B a thread: ";
  if (access.warps == 0) return text + (access.places_vary ? "where data say" : whole ? "no warp comes to it" : "behind what is counted");
  const auto of_warp = [&](int64_t n) { return ir::fixed_text(static_cast<double>(n) / static_cast<double>(access.warps), 2); };
  text += of_warp(access.transfers) + (shared ? " rounds of banks a warp, " : " sectors a warp, ") + of_warp(access.least) + " at least";
  if (access.ways > 1) text += ", conflicts of " + std::to_string(access.ways) + " ways";
  return text + (access.places_vary ? "; elsewhere where data say" : access.threads_vary ? "; if all threads take part, which data say" : "");
}

// A line for each access to global and shared memory: what it takes of it (codegen/cuda/accesses.h).
std::string accesses_text(const passes::Lowered* lowered) {
  constexpr int64_t kSteps = 200'000;  // some tens of milliseconds
  std::string text;
  if (!lowered) return text;
  for (const ir::Phase& phase : lowered->tree.phases) {
    const codegen::cuda::AccessCounts counts = codegen::cuda::count_accesses(lowered->tree, phase, lowered->sizes, kSteps);
    const bool whole = counts.blocks == counts.of_blocks;
    for (const codegen::cuda::Access& access : counts.accesses) {
      text += "  access     " + phase.name + ": " + access_text(access, lowered->tree.buffers[static_cast<size_t>(access.buffer)], whole) +
              (whole ? "" : " (" + std::to_string(counts.blocks) + " of " + std::to_string(counts.of_blocks) + " blocks)") + "\n";
    }
  }
  return text;
}

std::string explain_kernel(size_t number, const FusedKernel& fused, const Options& options, const GpuKernel& gpu) {
  KernelRecord facts = kernel_facts(fused);
  int64_t in = moved_bytes(fused, ir::Op::Load), out = moved_bytes(fused, ir::Op::Store);
  const std::string intensity =
      ir::fixed_text(static_cast<double>(facts.flops) / static_cast<double>(std::max<int64_t>(1, in + out)), 2);
  std::string text = "kernel " + std::to_string(number) + " @" + facts.name + "\n";
  text += "  schedule   " + schedule_name(fused, options) + "\n";
  text += "  fuses      " + std::to_string(facts.ops) + (facts.ops == 1 ? " node: " : " nodes: ") +
          op_list(fused) + "\n";
  text += "  reads      " + readable_bytes(in) + " from " + std::to_string(fused.inputs.size()) +
          ", writes " + readable_bytes(out) + " to " + std::to_string(fused.outputs.size()) + "\n";
  text += "  work       " + readable_flops(facts.flops) + ", " + intensity + " flop/byte\n";
  text += product_text(fused, options) + code_text(gpu.compiled.get()) + accesses_text(gpu.lowered.get());
  return text;
}

std::string node_text(const ir::Node& node) {
  return std::string(ir::info(node.op()).text) + " " + runtime::type_text(node);
}

// What a report is about: a pending graph, or that of a plan which has run.
struct Subject {
  const GraphKey& key;
  const Analysis& analysis;
  const Options& options;
  size_t asked;      // of the outputs, the first so many; the others are held by the program, or kept for gradients
  std::string head;  // what there is to say before
  std::vector<ir::NodeRef> kept, computed_again;  // for gradients still to come (GraphKey)
  std::string note = {};  // of the plan
};

// The plans that computed these roots; empty if one of them is pending, or no plan computed any.
std::vector<int> plans_of(std::span<const ir::NodeRef> roots) {
  std::vector<int> plans;
  for (const ir::NodeRef& root : roots) {
    const auto buffer = root->op() == ir::Op::Input ? buffer_of(*root) : nullptr;
    if (!buffer) return {};
    if (buffer->plan >= 0 && std::find(plans.begin(), plans.end(), buffer->plan) == plans.end())
      plans.push_back(buffer->plan);
  }
  return plans;
}

size_t asked_outputs(const GraphKey& key, const Analysis& a) {
  const auto is_root = [&](const ir::NodeRef& node) {
    return std::find(key.roots.begin(), key.roots.end(), key.number(node.get())) != key.roots.end();
  };
  return static_cast<size_t>(std::count_if(a.outputs.begin(), a.outputs.end(), is_root));
}

std::vector<ir::NodeRef> nodes_of(const GraphKey& key, const std::vector<int32_t>& numbers) {
  std::vector<ir::NodeRef> nodes;
  for (const int32_t number : numbers) nodes.emplace_back(key.nodes[number]);
  return nodes;
}

// The pieces of all reports: reads the graph under the lock and analyses it; f makes the text. Values that are computed
// are explained by the graphs of their plans, one after another.
template <typename F>
std::string with_analysis(std::span<const ir::NodeRef> roots, Stage stage, F&& f) {
  const Options o = options();
  const std::lock_guard lock(evaluation_mutex());
  const auto pending = [&] {
    GraphKey key;
    key.read(roots, key_salt(o), o.windows);
    const Analysis a = analyse(key, settings_of(stage, o));
    return f(Subject{key, a, o, asked_outputs(key, a), {}, nodes_of(key, key.kept), nodes_of(key, key.computed_again())});
  };
  const auto computed = [&](const PastPlans::Found& past, int plan) {
    GraphKey key;
    key.read(past.outputs, key_salt(o), o.windows);
    const Analysis a = analyse(key, settings_of(stage, o));
    return f(Subject{key, a, o, past.asked, "already computed by plan " + std::to_string(plan) + ", kernels " + kernel_names(a) + "\n",
                     past.kept, past.computed_again, past.note});
  };
  std::string text;
  for (const int plan : plans_of(roots)) {
    const auto past = past_plans().find(plan);
    text += past ? computed(*past, plan)
                 : "// already computed by plan " + std::to_string(plan) + ", whose graph is not kept any more\n";
  }
  return text.empty() ? pending() : text;
}

}  // namespace

std::string type_text(const ir::Node& node) { return ir::type_text(node.dtype(), node.shape()); }

std::string dump(std::span<const ir::NodeRef> roots, Stage stage, std::string_view kernel) {
  if (static_cast<size_t>(stage) >= std::size(kStageNames))
    throw std::runtime_error("dump: there is no such stage");
  return with_analysis(roots, stage, [&](const Subject& s) {
    return (s.head.empty() ? "" : "// " + s.head) + stage_text(s.key, s.analysis, stage, s.options, kernel);
  });
}

namespace {
// Whether one of the roots is a view of the node, and so stored as it.
bool is_shown(const ir::Node* node, std::span<const ir::NodeRef> roots) {
  return std::any_of(roots.begin(), roots.end(), [&](const ir::NodeRef& root) {
    const ir::Node* shown = root.get();
    while (shown != node && ir::is_movement(shown->op())) shown = shown->inputs()[0];
    return shown == node;
  });
}
}  // namespace

namespace {
// What is stored beside what was asked for, and what gradients will find of this evaluation.
std::string stored_text(const Subject& s) {
  const std::vector<ir::NodeRef>& outputs = s.analysis.outputs;
  const auto is_kept = [&](const ir::NodeRef& node) { return std::find(s.kept.begin(), s.kept.end(), node) != s.kept.end(); };
  const auto is_shared = [&](const ir::NodeRef& node) {
    return std::find(s.key.shared.begin(), s.key.shared.end(), s.key.number(node.get())) != s.key.shared.end();
  };
  std::string text;
  for (size_t k = s.asked; k < outputs.size(); ++k) {
    if (is_kept(outputs[k]) || is_shown(outputs[k].get(), {outputs.data(), s.asked})) continue;
    text += is_shared(outputs[k]) ? "stored because the program holds what reads it: " : "stored because the program holds it: ";
    text += node_text(*outputs[k]) + "\n";
  }
  for (const ir::NodeRef& node : s.kept) text += "kept for gradients: " + node_text(*node) + "\n";
  for (const ir::NodeRef& node : s.computed_again) text += "computed again for gradients: " + node_text(*node) + "\n";
  return text;
}
}  // namespace

namespace {
// Why the target has no schedule for an attention, which expand-attention has replaced.
std::string expanded_text(const Subject& s) {
  std::string text;
  for (const ir::Node* node : s.key.nodes) {
    if (!ir::is_attention(node->op())) continue;
    const passes::Acceptance acceptance = passes::accepts(passes::form_of_attention(*node), device_of(*node).target(s.options));
    if (!acceptance.accepted) text += "expanded: " + node_text(*node) + ": " + std::string(acceptance.reason) + "\n";
  }
  return text;
}
}  // namespace

std::string explain(std::span<const ir::NodeRef> roots) {
  return with_analysis(roots, Stage::Fused, [](const Subject& s) {
    const Analysis& a = s.analysis;
    std::string text = s.head + "graph: " + std::to_string(s.key.nodes.size()) + " nodes, " +
                       std::to_string(a.graph.nodes.size()) + " after the passes; " +
                       std::to_string(a.graph.outputs.size()) + " outputs, " +
                       std::to_string(a.fusion.kernels.size()) + " kernels\n";
    if (!s.note.empty()) text += s.note + "\n";
    const std::vector<GpuKernel> gpu = gpu_kernels(a.fusion.kernels, s.options);
    for (size_t k = 0; k < a.fusion.kernels.size(); ++k) text += explain_kernel(k, a.fusion.kernels[k], s.options, gpu[k]);
    text += expanded_text(s) + stored_text(s);
    if (!a.fusion.refusals.empty()) text += "not fused:\n";
    for (const passes::Refusal& r : a.fusion.refusals) {
      text += "  " + node_text(*r.producer) + " -> ";
      for (size_t i = 0; i < r.readers.size(); ++i) text += (i ? ", " : "") + node_text(*r.readers[i]);
      text += ": " + std::string(r.reason) + (r.where.empty() ? "" : " (" + r.where + ")") + "\n";
    }
    return text;
  });
}

std::string draw_svg(std::span<const ir::NodeRef> roots) {
  return with_analysis(roots, Stage::Fused, [](const Subject& s) { return svg_of(s.analysis); });
}

void dump_new_plan(int plan, const GraphKey& key, const Options& options) {
  for (uint32_t bit = 0; bit < static_cast<uint32_t>(Stage::PTX); ++bit) {
    if ((options.dump >> bit & 1) == 0) continue;
    auto stage = static_cast<Stage>(bit);
    const Analysis a = analyse(key, settings_of(stage, options));
    write_dump(options.dump_dir, plan, kStageNames[bit], stage_text(key, a, stage, options, options.dump_kernel));
  }
}

}  // namespace tenon::runtime
