// Writing graphs down and making them again.
#include "runtime/plan/past_plans.h"

#include <algorithm>
#include <utility>

#include "runtime/plan/plan.h"

namespace tenon::runtime {

void PastPlans::add(int plan, const GraphKey& key, const std::vector<PlanOutput>& outputs, std::string note) {
  if (key.nodes.size() > kMostNodes) return;
  Graph graph{plan, {}, {}, 0, key.kept, key.computed_again(), std::move(note)};
  graph.nodes.reserve(key.nodes.size());
  for (const ir::Node* node : key.nodes) {
    Node copy{node->op(), node->dtype(), node->device(), node->bits(), {}, node->ints(), {}};
    for (const ir::Node* input : node->inputs()) copy.inputs.push_back(key.number(input));
    if (node->is_leaf()) copy.shape = node->shape();
    graph.nodes.push_back(std::move(copy));
  }
  for (const PlanOutput& output : outputs) graph.outputs.push_back(output.node);
  graph.asked = static_cast<size_t>(std::count_if(graph.outputs.begin(), graph.outputs.end(), [&](int32_t node) {
    return std::find(key.roots.begin(), key.roots.end(), node) != key.roots.end();
  }));
  nodes_ += graph.nodes.size();
  graphs_.push_back(std::move(graph));
  while (nodes_ > kMostNodes) {
    nodes_ -= graphs_.front().nodes.size();
    graphs_.pop_front();
  }
}

std::optional<PastPlans::Found> PastPlans::find(int plan) const {
  const auto graph = std::find_if(graphs_.begin(), graphs_.end(), [&](const Graph& g) { return g.plan == plan; });
  if (graph == graphs_.end()) return std::nullopt;
  std::vector<ir::NodeRef> nodes;
  for (const Node& n : graph->nodes) {
    std::vector<ir::NodeRef> inputs;
    for (const int32_t input : n.inputs) inputs.push_back(nodes[input]);
    switch (n.op) {
      case ir::Op::Input: nodes.push_back(ir::make_input(n.dtype, n.shape, nullptr, n.device)); break;
      case ir::Op::Const: nodes.push_back(ir::make_const({n.dtype, n.bits}, n.shape, n.device)); break;
      case ir::Op::Iota: nodes.push_back(ir::make_iota(n.shape, n.ints[0], n.device)); break;
      default: nodes.push_back(ir::make_node(n.op, inputs, n.ints, n.dtype, ir::Folding::Off));
    }
  }
  const auto all = [&](const std::vector<int32_t>& numbers) {
    std::vector<ir::NodeRef> result;
    for (const int32_t number : numbers) result.push_back(nodes[number]);
    return result;
  };
  return Found{all(graph->outputs), graph->asked, all(graph->kept), all(graph->computed_again), graph->note};
}

}  // namespace tenon::runtime
