// The graph passes over random graphs: valid, same interface, idempotent, nothing lost. What each does is in
// tests/filecheck/graph.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "ir/graph_evaluate.h"
#include "ir/graph_map.h"
#include "passes/passes.h"
#include "support/fuzz_cases.h"
#include "support/random_graph.h"

using namespace tenon;
using tenon::test::fuzz_cases;

namespace {

// Values of a graph's outputs on inputs of its own, through the definition of each node.
std::vector<codegen::HostTensor> run(const ir::Graph& graph, const std::vector<codegen::HostTensor>& inputs) {
  ir::NodeMap<ir::ElementBits> values;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const auto size = static_cast<size_t>(ir::item_size(inputs[i].dtype));
    ir::ElementBits bits(inputs[i].data.size() / size);
    for (size_t e = 0; e < bits.size(); ++e) std::memcpy(&bits[e], inputs[i].data.data() + e * size, size);
    values[graph.inputs[i].get()] = std::move(bits);
  }
  for (ir::Node* node : ir::topological_order(graph.outputs)) {
    if (node->op() == ir::Op::Input) continue;
    values.insert(node);
    std::vector<const ir::ElementBits*> operands;
    for (ir::Node* input : node->inputs()) operands.push_back(values.find(input));
    ir::ElementBits bits = ir::evaluate_node(*node, operands);
    values[node] = std::move(bits);
  }
  std::vector<codegen::HostTensor> results;
  for (const ir::NodeRef& output : graph.outputs) {
    const auto size = static_cast<size_t>(ir::item_size(output->dtype()));
    const ir::ElementBits& bits = values[output.get()];
    codegen::HostTensor tensor{output->dtype(), output->shape(), std::vector<std::byte>(bits.size() * size)};
    for (size_t e = 0; e < bits.size(); ++e) std::memcpy(tensor.data.data() + e * size, &bits[e], size);
    results.push_back(std::move(tensor));
  }
  return results;
}

bool same_results(const std::vector<codegen::HostTensor>& a, const std::vector<codegen::HostTensor>& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (!test::same_elements(a[i], b[i])) return false;
  }
  return true;
}

}  // namespace

TEST_CASE("values that an earlier pass has left without readers are no obstacle") {
  const ir::Graph graph = ir::parse_graph(
      "graph @g(%a: f32[4,8], %b: f32[8,6]) {\n"
      "  %0 = dot %a, %b : f32[4,6]\n"
      "  %1 = permute %0 [1,0] : f32[6,4]\n"
      "  %2 = neg %a : f32[4,8]\n"
      "  return %2\n"
      "}\n");
  const auto is_product = [](const ir::NodeRef& node) { return node->op() == ir::Op::Dot; };
  REQUIRE(std::ranges::any_of(graph.nodes, is_product));
  CHECK(passes::lay_out_products(graph).outputs[0]->op() == ir::Op::Neg);
}

TEST_CASE("the table of passes") {
  std::string names;
  for (const passes::GraphPass& pass : passes::graph_passes()) names += std::string(pass.name) + " ";
  CHECK(names == "simplify fold-views fold-constants lay-out-products lay-out-attention late-reshapes cse dce ");
}

TEST_CASE(
    "on random graphs every pass keeps validity, interface and values, and has nothing left to do the second "
    "time") {
  for (int seed = 0; seed < fuzz_cases(200); ++seed) {
    test::RandomGraphOptions options;
    options.folding = ir::Folding::Off;
    options.max_numel = 600;
    const ir::Graph graph = test::random_graph(static_cast<uint64_t>(seed), options);
    const auto inputs = test::random_inputs(graph, static_cast<uint64_t>(seed));
    const auto expected = run(graph, inputs);
    for (const passes::GraphPass& pass : passes::graph_passes()) {
      const ir::Graph once = pass.run(graph);
      CHECK_NOTHROW(ir::verify(once));
      CHECK(once.inputs == graph.inputs);
      const std::string text = ir::print(once);
      if (ir::print(ir::parse_graph(text)) != text) FAIL_CHECK("seed " << seed << ": text of " << pass.name);
      if (ir::print(pass.run(once)) != text) FAIL_CHECK("seed " << seed << ": not idempotent: " << pass.name);
      if (same_results(run(once, inputs), expected)) continue;
      const ir::Graph small = test::reduce_failing(graph, [&](const ir::Graph& candidate) {
        const auto data = test::random_inputs(candidate, static_cast<uint64_t>(seed));
        const ir::Graph changed = passes::dead_code(pass.run(candidate));
        return !same_results(run(changed, data), run(candidate, data));
      });
      FAIL_CHECK("seed " << seed << ", " << pass.name << " changes a value:\n" << ir::print(small));
    }
  }
}

TEST_CASE("the reducer finds the node at fault") {
  const auto has_exp = [](const ir::Graph& graph) {
    for (const ir::NodeRef& node : graph.nodes) {
      if (node->op() == ir::Op::Exp) return true;
    }
    return false;
  };
  int found = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    test::RandomGraphOptions options;
    options.transcendental = true;
    const ir::Graph graph = test::random_graph(seed, options);
    if (!has_exp(graph)) continue;
    ++found;
    const ir::Graph small = test::reduce_failing(graph, has_exp);
    CHECK(small.nodes.size() == 2);
    CHECK(small.outputs.size() == 1);
  }
  CHECK(found > 5);
}

TEST_CASE("passes take linear time and no recursion") {
  ir::NodeRef x = ir::make_input(ir::DType::F32, ir::Dims{4});
  const ir::NodeRef y = ir::make_input(ir::DType::F32, ir::Dims{4});
  for (int i = 0; i < 100000; ++i) {
    const ir::NodeRef operands[] = {y, x};
    x = ir::make_node(i % 2 ? ir::Op::Add : ir::Op::Sub, operands, {}, ir::DType::F32, ir::Folding::Off);
  }
  const ir::Graph graph = ir::Graph::of({&x, 1});
  for (const passes::GraphPass& pass : passes::graph_passes()) CHECK(pass.run(graph).nodes.size() == 100002);
}
