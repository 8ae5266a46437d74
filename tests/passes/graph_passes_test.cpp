// Each graph pass, text in and text out; and over random graphs: valid, same interface, idempotent, nothing
// lost.
#include <doctest/doctest.h>

#include <cstring>
#include <string>

#include "ir/graph_evaluate.h"
#include "ir/graph_map.h"
#include "passes/passes.h"
#include "support/random_graph.h"

using namespace tenon;
using tenon::test::fuzz_cases;

namespace {

const std::string kHead = "graph @g(%x: f32[2,3], %y: f32[2,3]) {\n";

// The body that `pass` makes of a body over %x and %y.
std::string after(ir::Graph (*pass)(const ir::Graph&), const std::string& body) {
  const ir::Graph graph = pass(ir::parse_graph(kHead + body + "}\n"));
  ir::verify(graph);
  const std::string text = ir::print(graph);
  REQUIRE(text.starts_with(kHead));
  return text.substr(kHead.size(), text.size() - kHead.size() - 2);
}

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

TEST_CASE("the table of passes") {
  std::string names;
  for (const passes::GraphPass& pass : passes::graph_passes()) names += std::string(pass.name) + " ";
  CHECK(names == "simplify fold-views fold-constants late-reshapes cse dce ");
}

TEST_CASE("simplify") {
  CHECK(after(passes::simplify,
              "  %one = const 1.0 : f32[2,3]\n"
              "  %1 = mul %x, %one : f32[2,3]\n"
              "  %2 = neg %1 : f32[2,3]\n"
              "  %3 = abs %2 : f32[2,3]\n"
              "  return %3\n") ==
        "  %one = const 1.0 : f32[2,3]\n"
        "  %0 = neg %x : f32[2,3]\n"
        "  %1 = abs %x : f32[2,3]\n"
        "  return %1\n");
  CHECK(after(passes::simplify,
              "  %k = const 4.0 : f32[2,3]\n"
              "  %q = div %x, %k : f32[2,3]\n"
              "  return %q, %x, %q\n") ==
        "  %k = const 4.0 : f32[2,3]\n"
        "  %0 = const 0.25 : f32[2,3]\n"
        "  %q = mul %x, %0 : f32[2,3]\n"
        "  return %q, %x, %q\n");
  CHECK(after(passes::simplify, "  %a = neg %x : f32[2,3]\n  %b = neg %a : f32[2,3]\n  return %b\n") ==
        "  %a = neg %x : f32[2,3]\n  return %x\n");
}

TEST_CASE("fold-views leaves arithmetic alone") {
  CHECK(after(passes::fold_views,
              "  %0 = permute %x [1,0] : f32[3,2]\n"
              "  %1 = permute %0 [1,0] : f32[2,3]\n"
              "  %2 = reshape %1 [6] : f32[6]\n"
              "  %3 = reshape %2 [1,6] : f32[1,6]\n"
              "  return %3\n") ==
        "  %0 = permute %x [1,0] : f32[3,2]\n"
        "  %1 = reshape %x [6] : f32[6]\n"
        "  %2 = reshape %x [1,6] : f32[1,6]\n"
        "  return %2\n");
  CHECK(after(passes::fold_views,
              "  %0 = neg %x : f32[2,3]\n"
              "  %1 = neg %0 : f32[2,3]\n"
              "  %2 = flip %1 dims=[1] : f32[2,3]\n"
              "  %3 = flip %2 dims=[0,1] : f32[2,3]\n"
              "  return %3\n") ==
        "  %0 = neg %x : f32[2,3]\n"
        "  %1 = neg %0 : f32[2,3]\n"
        "  %2 = flip %1 dims=[1] : f32[2,3]\n"
        "  %3 = flip %1 dims=[0] : f32[2,3]\n"
        "  return %3\n");
}

TEST_CASE("late-reshapes brings what is done to a contraction's result to it") {
  const std::string product =
      "  %w = reshape %y [3,2] : f32[3,2]\n"
      "  %d = dot %x, %w : f32[2,2]\n"
      "  %k = const 0.5 : f32[4]\n"
      "  %v = reshape %d [4] : f32[4]\n";
  CHECK(after(passes::late_reshapes, product +
                                         "  %m = mul %v, %k : f32[4]\n"
                                         "  %e = exp %m : f32[4]\n"
                                         "  return %e\n") ==
        "  %w = reshape %y [3,2] : f32[3,2]\n"
        "  %d = dot %x, %w : f32[2,2]\n"
        "  %k = const 0.5 : f32[4]\n"
        "  %v = reshape %d [4] : f32[4]\n"
        "  %0 = const 0.5 : f32[2,2]\n"
        "  %1 = mul %d, %0 : f32[2,2]\n"
        "  %m = reshape %1 [4] : f32[4]\n"
        "  %2 = exp %1 : f32[2,2]\n"
        "  %e = reshape %2 [4] : f32[4]\n"
        "  return %e\n");
  // Beside a value that is computed elsewhere, the reshape stays.
  const std::string beside = product +
                             "  %p = permute %d [1,0] : f32[2,2]\n"
                             "  %q = reshape %p [4] : f32[4]\n"
                             "  %r = neg %q : f32[4]\n"
                             "  %s = sub %v, %r : f32[4]\n"
                             "  return %s\n";
  CHECK(after(passes::late_reshapes, beside) == beside);
}

TEST_CASE("fold-constants") {
  CHECK(after(passes::fold_constants,
              "  %0 = const 2.0 : f32[8]\n"
              "  %1 = reduce.sum %0 dims=[0] : f32[1]\n"
              "  %2 = iota dim=0 : i64[8]\n"
              "  %3 = const 8 : i64[8]\n"
              "  %4 = lt %2, %3 : bool[8]\n"
              "  return %1, %4\n") ==
        "  %0 = const 2.0 : f32[8]\n"
        "  %1 = const 16.0 : f32[1]\n"
        "  %2 = iota dim=0 : i64[8]\n"
        "  %3 = const 8 : i64[8]\n"
        "  %4 = const true : bool[8]\n"
        "  return %1, %4\n");
  // Not one value everywhere, not ours to compute, too much work: all stay.
  const std::string stays =
      "  %0 = iota dim=0 : i64[8]\n"
      "  %1 = neg %0 : i64[8]\n"
      "  %2 = const 2.0 : f32[8]\n"
      "  %3 = exp %2 : f32[8]\n"
      "  %4 = reduce.sum %3 dims=[0] : f32[1]\n"
      "  %5 = const 1.0 : f32[4097]\n"
      "  %6 = reduce.sum %5 dims=[0] : f32[1]\n"
      "  return %1, %4, %6\n";
  CHECK(after(passes::fold_constants, stays) == stays);
  // A value that is not one everywhere serves one that is.
  CHECK(after(passes::fold_constants,
              "  %0 = iota dim=0 : i64[8]\n"
              "  %1 = mul %0, %0 : i64[8]\n"
              "  %2 = slice %1 starts=[3] steps=[1] sizes=[1] : i64[1]\n"
              "  %3 = reduce.sum %1 dims=[0] : i64[1]\n"
              "  return %2, %3\n") ==
        "  %0 = iota dim=0 : i64[8]\n"
        "  %1 = mul %0, %0 : i64[8]\n"
        "  %2 = const 9 : i64[1]\n"
        "  %3 = const 140 : i64[1]\n"
        "  return %2, %3\n");
}

TEST_CASE("cse sees through operand order and mirrored comparisons") {
  CHECK(after(passes::common_subexpressions,
              "  %0 = add %x, %y : f32[2,3]\n"
              "  %1 = add %y, %x : f32[2,3]\n"
              "  %2 = lt %0, %y : bool[2,3]\n"
              "  %3 = gt %y, %1 : bool[2,3]\n"
              "  return %2, %3\n") ==
        "  %0 = add %x, %y : f32[2,3]\n"
        "  %1 = lt %0, %y : bool[2,3]\n"
        "  return %1, %1\n");
  const std::string different =
      "  %0 = sub %x, %y : f32[2,3]\n"
      "  %1 = sub %y, %x : f32[2,3]\n"
      "  %2 = max %x, %y : f32[2,3]\n"
      "  %3 = max %y, %x : f32[2,3]\n"  // the sign of a zero tells them apart
      "  return %0, %1, %2, %3\n";
  CHECK(after(passes::common_subexpressions, different) == different);
}

TEST_CASE("dce keeps parameters and whatever an output needs") {
  CHECK(after(passes::dead_code,
              "  %0 = exp %x : f32[2,3]\n"
              "  %keep = neg %x : f32[2,3]\n"
              "  %2 = sin %0 : f32[2,3]\n"
              "  return %keep\n") == "  %keep = neg %x : f32[2,3]\n  return %keep\n");
  CHECK(after(passes::dead_code, "  %0 = exp %x : f32[2,3]\n  return\n") == "  return\n");
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
