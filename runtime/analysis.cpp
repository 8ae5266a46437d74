// The pipeline, in order: choose outputs, hide the constants, run the graph passes, bring the constants back,
// fuse.
//
// Constants are hidden so that one plan serves all their values. A pass that met `mul %x, 2.5` might use
// the 2.5; what it meets instead is an input, and only constants whose bits are in the key stay visible:
//   %1 = mul %x, 2.5       %1 = mul %x, %hidden       %1 = mul %x, 2.5
//   %2 = mul %1, 1.0   ->  %2 = mul %1, 1.0       ->  return %1
//   return %2              return %2
#include "runtime/analysis.h"

#include <unordered_set>

#include "codegen/llvm/jit.h"

namespace tenon::runtime {
namespace {

using ir::Node;
using ir::NodeRef;
using ir::Op;

bool is_view(const Node& node) {
  return ir::is_movement(node.op()) && node.op() != Op::Pad && node.op() != Op::Cat;
}

// What to store so that no operation behind a held node runs twice. A view costs nothing: its source is
// stored instead, unless the view is the smaller one; null if the source is a leaf.
Node* stored_for(Node* held) {
  Node* best = held;
  Node* node = held;
  while (is_view(*node)) {
    node = node->inputs()[0];
    if (node->numel() <= best->numel()) best = node;
  }
  return node->is_leaf() ? nullptr : best;
}

std::vector<NodeRef> choose_outputs(const GraphKey& key) {
  std::vector<NodeRef> outputs;
  std::unordered_set<const Node*> chosen;
  auto choose = [&](Node* node) {
    if (node && node->op() != Op::Input && chosen.insert(node).second) outputs.emplace_back(node);
  };
  for (int32_t root : key.roots) choose(key.nodes[static_cast<size_t>(root)]);
  for (Node* node : key.nodes) {
    if (!node->is_leaf() && node->holders.load(std::memory_order_relaxed) > 0) choose(stored_for(node));
  }
  return outputs;
}

// Rebuilds the nodes (operands first) with some leaves replaced. Nothing folds, so nothing else changes.
class Substitution {
 public:
  void replace(const Node* leaf, NodeRef by) { changed_[leaf] = std::move(by); }

  void rebuild(Node* node) {
    std::vector<NodeRef> inputs;
    bool changed = false;
    for (size_t i = 0; i < node->inputs().size(); ++i) {
      Node* input = node->inputs()[i];
      bool fill = node->op() == Op::Pad && i == 1;  // must stay a constant; its bits are in the key
      inputs.push_back(fill ? NodeRef(input) : of(input));
      changed = changed || inputs.back().get() != input;
    }
    if (changed)
      changed_[node] = ir::make_node(node->op(), inputs, node->ints(), node->dtype(), ir::Folding::Off);
  }

  NodeRef of(Node* node) const {
    auto it = changed_.find(node);
    return it == changed_.end() ? NodeRef(node) : it->second;
  }
  std::vector<NodeRef> of(const std::vector<NodeRef>& nodes) const {
    std::vector<NodeRef> result;
    for (const NodeRef& node : nodes) result.push_back(of(node.get()));
    return result;
  }

 private:
  std::unordered_map<const Node*, NodeRef> changed_;
};

// A reshape has its source's elements in the same order: where it is wanted, its source's memory serves.
std::vector<NodeRef> without_reshapes(std::vector<NodeRef> outputs) {
  for (NodeRef& output : outputs) {
    while (output->op() == Op::Reshape) output = NodeRef(output->inputs()[0]);
  }
  return outputs;
}

ir::Graph run_graph_passes(ir::Graph graph, const passes::PassObserver& observer) {
  for (const passes::GraphPass& pass : passes::graph_passes()) {
    graph = pass.run(graph);
    ir::verify(graph);
    if (observer) observer(pass.name, [&] { return ir::print(graph); });
  }
  return graph;
}

}  // namespace

Analysis analyse(const GraphKey& key, const Options& options, const passes::PassObserver& observer) {
  Analysis a;
  a.outputs = choose_outputs(key);
  Substitution hide, show;
  for (size_t i = 0; i < key.nodes.size(); ++i) {
    Node* node = key.nodes[i];
    if (node->op() == Op::Const && !changes_code(node->dtype(), node->bits())) {
      NodeRef hidden = ir::make_input(node->dtype(), node->shape(), nullptr, node->device());
      show.replace(hidden.get(), NodeRef(node));
      hide.replace(node, std::move(hidden));
      a.constants.emplace(node, static_cast<int32_t>(i));
    }
  }
  if (options.simplify) {
    for (Node* node : key.nodes) hide.rebuild(node);
    ir::Graph hidden = run_graph_passes(ir::Graph::of(hide.of(a.outputs)), observer);
    for (Node* node : ir::topological_order(hidden.outputs)) show.rebuild(node);
    a.graph = ir::Graph::of(without_reshapes(show.of(hidden.outputs)));
  } else {
    a.graph = ir::Graph::of(without_reshapes(a.outputs));
  }
  passes::FusionOptions fusion;
  fusion.enabled = options.fusion;
  a.fusion = passes::fuse(a.graph.outputs, fusion);
  return a;
}

passes::CpuTarget cpu_target(const Options& options) {
  passes::CpuTarget target;
  namespace llvm_backend = codegen::llvm_backend;
  if (llvm_backend::available()) target.vector_bits = llvm_backend::host_vector_bits();
  if (options.vector_bits > 0) target.vector_bits = options.vector_bits;
  return target;
}

Scheduled schedule(const ir::Kernel& kernel, const Options& options, const passes::PassObserver& observer) {
  Scheduled s;
  s.kernel = passes::run_kernel_passes(kernel, observer);
  s.lowered = passes::lower_cpu(s.kernel, cpu_target(options));
  return s;
}

}  // namespace tenon::runtime
