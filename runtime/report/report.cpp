// dump, explain, the drawings and TENON_DUMP: text of every stage, from the same analysis that makes plans.
#include <algorithm>
#include <map>
#include <optional>
#include <stdexcept>
#include <unordered_map>

#include "ir/base/text.h"
#include "ir/graph/graph_infer.h"
#include "ir/graph/node_text.h"
#include "runtime/base/evaluation_mutex.h"
#include "runtime/base/memory_sizes.h"
#include "runtime/cache/kernel_cache.h"
#include "runtime/device/device.h"
#include "runtime/history/history.h"
#include "runtime/plan/dump.h"
#include "runtime/plan/kernel_facts.h"
#include "runtime/plan/past_plans.h"
#include "runtime/report/report.h"
#include "runtime/run/evaluate.h"
#include "runtime/run/evaluation.h"

namespace tenon::runtime {
namespace {

using passes::FusedKernel;

constexpr const char* kStageNames[] = {"graph", "fused", "kernel", "looptree", "llvm", "assembly", "cuda", "ptx"};

std::string fused_text(const Analysis& a) {
  std::string text = ir::print(a.graph);
  for (const FusedKernel& k : a.fusion.kernels) text += "kernel @" + k.name() + ": " + op_list(k) + "\n";
  return text;
}

// The form of code that a stage shows; none of those above the code.
std::optional<CodeForm> form_of(Stage stage) {
  if (stage < Stage::LLVM) return std::nullopt;
  return static_cast<CodeForm>(static_cast<int>(stage) - static_cast<int>(Stage::LLVM));
}
static_assert(std::size(kStageNames) - static_cast<size_t>(Stage::LLVM) == std::size(kCodeForms));

bool has_form(const Device& device, CodeForm form) {
  const std::vector<CodeForm> forms = device.code_forms();
  return std::find(forms.begin(), forms.end(), form) != forms.end();
}

// How a stage shows code which the device does not have; null if it has it, or if nothing is registered.
const CodeSketch* sketch_for(const Device& device, Stage stage) {
  const std::optional<CodeForm> form = form_of(stage);
  return form && !has_form(device, *form) ? sketch_of(*form) : nullptr;
}

// Kernels that are shown for another target are fused for it.
compiler::Settings settings_of(Stage stage, const Options& options) {
  compiler::Settings settings = compiler_settings(options);
  for (const Device* device : all_devices()) {
    const CodeSketch* sketch = sketch_for(*device, stage);
    if (sketch && sketch->text) settings.fusion.targets[device->tag()] = sketch->target;
  }
  return settings;
}

bool is_library_call(const FusedKernel& fused, const ir::Target& target) { return !passes::generates(fused.work, target); }

// Stands for the code of a kernel whose device does not have the form that is asked for.
std::string other_stages_text(const Device& device, const std::string& kernel) {
  std::string stages;
  for (const CodeForm form : device.code_forms())
    stages += (stages.empty() ? "" : " and ") + std::string(kCodeForms[static_cast<size_t>(form)]);
  return "kernel @" + kernel + " is for " + name_of(device.tag()) +
         (stages.empty() ? ", which shows no code.\n" : ": the stages " + stages + " have its code.\n");
}

std::string kernel_text(const FusedKernel& fused, Stage stage, const Options& options) {
  Device& device = device_of(*fused.outputs.at(0));
  const CodeSketch* sketch = sketch_for(device, stage);
  const bool is_sketched = sketch && sketch->text;
  const ir::Target target = is_sketched ? sketch->target : device.target(options);
  if (stage == Stage::Kernel || is_library_call(fused, target)) return ir::print(fused.work);
  const ir::LoopTree tree = compiler::compile(fused.work, target, {}).tree;
  if (stage == Stage::LoopTree) return ir::print(tree);
  if (is_sketched) return sketch->text(tree);
  const CodeForm form = *form_of(stage);
  return has_form(device, form) ? device.code_text(tree, form) : other_stages_text(device, tree.name);
}

std::string kernel_names(const Analysis& a) {
  std::string names;
  for (const FusedKernel& fused : a.fusion.kernels) names += (names.empty() ? "" : ", ") + fused.name();
  return names;
}

// `wanted`: the stages below Fused have only the kernels with this in their name.
std::string stage_text(const GraphKey& key, const Analysis& a, Stage stage, const Options& options, std::string_view wanted) {
  if (stage == Stage::Graph) return graph_text(key);
  if (stage == Stage::Fused) return fused_text(a);
  const Device& first = a.fusion.kernels.empty() ? host_device() : device_of(*a.fusion.kernels.front().outputs.at(0));
  const CodeSketch* sketch = first.tag() == kHostTag ? sketch_for(first, stage) : nullptr;
  if (sketch && !sketch->text) return sketch->why_none;
  std::string text;
  for (const FusedKernel& fused : a.fusion.kernels) {
    if (fused.name().find(wanted) == std::string::npos) continue;
    try {
      text += kernel_text(fused, stage, options);
    } catch (const ir::IrError& e) {
      text += "kernel @" + fused.name() + ": " + e.what() + "\n";
    }
    if (!text.empty() && text.back() != '\n') text += '\n';
  }
  if (!text.empty()) return text;
  if (a.fusion.kernels.empty()) return "Nothing is pending: no kernel.\n";
  return "No kernel has '" + std::string(wanted) + "' in its name; there are: " + kernel_names(a) + "\n";
}

std::string bytes_text(int64_t bytes) {
  constexpr const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  return readable(static_cast<double>(bytes), units, 1024);
}

std::string flops_text(int64_t flops) {
  constexpr const char* units[] = {"flop", "Kflop", "Mflop", "Gflop", "Tflop"};
  return readable(static_cast<double>(flops), units, 1000);
}

std::string schedule_name(const FusedKernel& fused, const Options& options) {
  Device& device = device_of(*fused.outputs.at(0));
  if (is_library_call(fused, device.target(options)) && options.backend != Options::Backend::Interpreter) return "routine";
  if (!device.compiles(options)) return "interpreter";
  try {
    return compiler::compile(fused.work, device.target(options), {}).schedule;
  } catch (const ir::IrError& e) {
    return std::string("none (") + e.what() + ")";
  }
}

// Whether the library or the kernel computes a product, and by which estimate.
std::string product_text(const FusedKernel& fused, const Options& options) {
  const auto costs = passes::product_costs(fused, device_of(*fused.outputs.at(0)).target(options));
  if (!costs) return {};
  return std::string("  product    by ") + (fused.call() ? "the library" : "this kernel") + "; estimated: generated " +
         ir::fixed_text(costs->generated_us, 1) + " us, a call of the library " + ir::fixed_text(costs->library_us, 1) + " us\n";
}

// A kernel whose device knows more of it than its time: its loop tree and sizes, and its code.
struct ReportedKernel {
  std::shared_ptr<const passes::Lowered> lowered;  // null: it is none
  std::shared_ptr<const CompiledKernel> compiled;  // null: it does not compile
};

// Those among these, by number, compiled if they have not been.
std::vector<ReportedKernel> reported_kernels(const std::vector<FusedKernel>& kernels, const Options& options) {
  std::vector<ReportedKernel> all(kernels.size());
  std::map<Device*, std::vector<size_t>> of_device;
  for (size_t k = 0; k < kernels.size(); ++k) {
    Device& device = device_of(*kernels[k].outputs.at(0));
    const ir::Target target = device.target(options);
    if (!device.reports_code() || !device.compiles(options) || is_library_call(kernels[k], target)) continue;
    try {
      all[k].lowered = std::make_shared<const passes::Lowered>(compiler::compile(kernels[k].work, target, {}));
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
      text += "  code       " + use.phase + ": " + std::to_string(use.registers) + " registers, " + std::to_string(use.shared_bytes) +
              " B shared, " + (use.local_bytes > 0 ? std::to_string(use.local_bytes) + " B a thread in local memory\n" : "no spills\n");
    }
  } catch (const std::runtime_error&) {  // a device that is lost
  }
  return text;
}

// Why it runs in the first tier for ever, if it does.
std::string refusal_text(const FusedKernel& fused, const Options& options) {
  Device& device = device_of(*fused.outputs.at(0));
  const ir::Target target = device.target(options);
  if (!KernelCache::global().has_refused() || !device.compiles(options) || is_library_call(fused, target)) return {};
  try {
    const std::string refusal = KernelCache::global().refusal(compiler::compile(fused.work, target, {}).tree, device);
    return refusal.empty() ? std::string() : "  code       bytecode, as the compiler refuses: " + refusal + "\n";
  } catch (const ir::IrError&) {  // the schedule's line says it
    return {};
  }
}

// A line for each access to memory: what it takes of it.
std::string accesses_text(const Device& device, const passes::Lowered* lowered) {
  std::string text;
  if (!lowered) return text;
  for (const std::string& line : device.access_lines(lowered->tree, lowered->sizes)) text += "  access     " + line + "\n";
  return text;
}

std::string explain_kernel(size_t number, const FusedKernel& fused, const Options& options, const ReportedKernel& reported) {
  KernelRecord facts = kernel_facts(fused);
  int64_t in = moved_bytes(fused.work, ir::Op::Load), out = moved_bytes(fused.work, ir::Op::Store);
  const std::string intensity = ir::fixed_text(static_cast<double>(facts.flops) / static_cast<double>(std::max<int64_t>(1, in + out)), 2);
  std::string text = "kernel " + std::to_string(number) + " @" + facts.name + "\n";
  text += "  schedule   " + schedule_name(fused, options) + "\n";
  text += "  fuses      " + std::to_string(facts.ops) + (facts.ops == 1 ? " node: " : " nodes: ") + op_list(fused) + "\n";
  text += "  reads      " + bytes_text(in) + " from " + std::to_string(fused.inputs.size()) + ", writes " + bytes_text(out) + " to " +
          std::to_string(fused.outputs.size()) + "\n";
  text += "  work       " + flops_text(facts.flops) + ", " + intensity + " flop/byte\n";
  text += product_text(fused, options) + code_text(reported.compiled.get()) + refusal_text(fused, options) +
          accesses_text(device_of(*fused.outputs.at(0)), reported.lowered.get());
  return text;
}

std::string node_text(const ir::Node& node) { return ir::operation_text(node) + " " + ir::type_text(node.dtype(), node.shape()); }

// What a report is about: a pending graph, or that of a plan which has run.
struct Subject {
  const GraphKey& key;
  const Analysis& analysis;
  const Options& options;
  size_t asked;      // of the outputs, the first so many; the others are held by the program, or kept for gradients
  std::string head;  // what there is to say before
  std::vector<ir::NodeRef> kept, computed_again;  // for gradients still to come (GraphKey)
  std::string note = {};                          // of the plan
  int plan = -1;                                  // that has run; -1: the graph is pending
};

// The plans that computed these roots; empty if one of them is pending, or no plan computed any.
std::vector<int> plans_of(std::span<const ir::NodeRef> roots) {
  std::vector<int> plans;
  for (const ir::NodeRef& root : roots) {
    const auto buffer = root->op() == ir::Op::Input ? buffer_of(*root) : nullptr;
    if (!buffer) return {};
    if (buffer->plan >= 0 && std::find(plans.begin(), plans.end(), buffer->plan) == plans.end()) plans.push_back(buffer->plan);
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
  const auto about = [&](std::span<const ir::NodeRef> outputs, const PastPlans::Found* past, int plan) {
    GraphKey key;
    key.read(outputs, key_salt(o), o.windows);
    const Analysis a = analyse(key, settings_of(stage, o));
    if (!past) return f(Subject{key, a, o, asked_outputs(key, a), {}, nodes_of(key, key.kept), nodes_of(key, key.computed_again())});
    return f(Subject{key, a, o, past->asked, "already computed by plan " + std::to_string(plan) + ", kernels " + kernel_names(a) + "\n",
                     past->kept, past->computed_again, past->note, plan});
  };
  std::string text;
  for (const int plan : plans_of(roots)) {
    const auto past = past_plans().find(plan);
    text += past ? about(past->outputs, &*past, plan)
                 : "// already computed by plan " + std::to_string(plan) + ", whose graph is not kept any more\n";
  }
  return text.empty() ? about(roots, nullptr, -1) : text;
}

}  // namespace

std::string dump(std::span<const ir::NodeRef> roots, Stage stage, std::string_view kernel) {
  if (static_cast<size_t>(stage) >= std::size(kStageNames)) throw std::runtime_error("dump: there is no such stage");
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
    std::string text = s.head + "graph: " + std::to_string(s.key.nodes.size()) + " nodes, " + std::to_string(a.graph.nodes.size()) +
                       " after the passes; " + std::to_string(a.graph.outputs.size()) + " outputs, " +
                       std::to_string(a.fusion.kernels.size()) + " kernels\n";
    if (!s.note.empty()) text += s.note + "\n";
    const std::vector<ReportedKernel> reported = reported_kernels(a.fusion.kernels, s.options);
    for (size_t k = 0; k < a.fusion.kernels.size(); ++k) text += explain_kernel(k, a.fusion.kernels[k], s.options, reported[k]);
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

namespace {
// The last launch of each of a plan's kernels, as far as the history goes back: kernels of one name are launched in their order.
std::vector<const KernelRecord*> last_launches(const std::vector<FusedKernel>& kernels, int plan,
                                               const std::vector<KernelRecord>& history) {
  std::vector<const KernelRecord*> launches(kernels.size(), nullptr);
  std::unordered_map<std::string_view, std::vector<size_t>> wanted;  // by name, the last one behind
  for (size_t k = 0; k < kernels.size(); ++k) wanted[kernels[k].name()].push_back(k);
  for (size_t i = history.size(); i-- > 0 && !wanted.empty();) {
    const auto it = history[i].plan == plan ? wanted.find(history[i].name) : wanted.end();
    if (it == wanted.end()) continue;
    launches[it->second.back()] = &history[i];
    it->second.pop_back();
    if (it->second.empty()) wanted.erase(it);
  }
  return launches;
}
}  // namespace

std::string draw_dot(std::span<const ir::NodeRef> roots) {
  const std::vector<KernelRecord> history = kernel_history();
  const std::string graphs = with_analysis(roots, Stage::Fused, [&](const Subject& s) {
    const std::string prefix = s.plan < 0 ? "" : "p" + std::to_string(s.plan) + "_";
    return dot_of(s.analysis, s.asked, last_launches(s.analysis.fusion.kernels, s.plan, history), prefix);
  });
  return "digraph tenon {\n"
         "  node [shape=box, style=\"rounded,filled\", fillcolor=white, fontname=monospace, fontsize=10];\n"
         "  edge [fontname=monospace, fontsize=9, color=\"#666666\", fontcolor=\"#666666\"];\n"
         "  graph [fontname=monospace, fontsize=10, nslimit=2, nslimit1=2, mclimit=0.3];\n" +  // a third of the time, for large ones
         graphs +
         "}\n";
}

std::string draw_svg(std::span<const ir::NodeRef> roots) { return svg_of(draw_dot(roots), std::chrono::minutes(1)); }

void dump_new_plan(int plan, const GraphKey& key, const Options& options) {
  for (uint32_t bit = 0; bit < static_cast<uint32_t>(Stage::PTX); ++bit) {
    if ((options.dump >> bit & 1) == 0) continue;
    auto stage = static_cast<Stage>(bit);
    const Analysis a = analyse(key, settings_of(stage, options));
    write_dump(options.dump_dir, plan, kStageNames[bit], stage_text(key, a, stage, options, options.dump_kernel));
  }
}

}  // namespace tenon::runtime
