// The graph passes over random graphs: valid, same interface, idempotent, nothing lost. What each does is in
// tests/filecheck/graph.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <random>
#include <string>

#include "ir/graph/graph_evaluate.h"
#include "ir/graph/graph_map.h"
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

// A product with windows of an image, as convolutions and their gradients record it: what is drawn is the shape, the operand that windows
// are, whether they are read transposed, and a result behind it.
struct WindowProduct {
  ir::Graph graph;
  int64_t channels;  // of a group
  bool overlap;
};

WindowProduct window_product(std::mt19937_64& random, ir::DeviceTag device) {
  const auto draw = [&](int64_t lo, int64_t hi) { return std::uniform_int_distribution<int64_t>(lo, hi)(random); };
  constexpr int64_t kChannels[] = {8, 16, 24, 4, 12};
  const auto spatial = static_cast<size_t>(draw(1, 3));
  const int64_t batch = draw(1, 3), groups = draw(1, 2), channels = kChannels[draw(0, 4)], filters = draw(1, 40);
  const bool gradient = draw(0, 2) == 0, turned = draw(0, 2) == 0;
  ir::Dims image{batch, groups * channels}, lo{0, 0}, hi{0, 0}, sizes = image, places;
  std::vector<std::array<int64_t, 3>> steps;  // of taps, of places, and the first
  int64_t taps = 1, positions = 1;
  for (size_t d = 0; d < spatial; ++d) {
    const int64_t kernel = draw(1, 3), stride = draw(1, 2), dilation = draw(1, 2), count = draw(2, spatial == 1 ? 40 : 6),
                  first = draw(0, 1);
    const int64_t padded = first + (kernel - 1) * dilation + (count - 1) * stride + 1 + draw(0, 1);
    lo.push_back(std::min<int64_t>(draw(0, 2), padded - 1));
    hi.push_back(draw(0, 2));
    hi.back() = std::clamp<int64_t>(hi.back(), 0, padded - lo.back() - 1);
    image.push_back(padded - lo.back() - hi.back());
    sizes.push_back(kernel);
    places.push_back(count);
    steps.push_back({dilation, stride, first});
    taps *= kernel;
    positions *= count;
  }
  const ir::NodeRef x = ir::make_input(ir::DType::F16, image, nullptr, device);
  const ir::NodeRef padded = ir::pad(x, ir::make_const(ir::constant(ir::DType::F16, int64_t{0}), ir::Dims{}, device), lo, hi);
  const ir::Dims apart = ir::contiguous_strides(padded->shape());
  ir::Dims strides{apart[0], apart[1]};
  int64_t offset = 0;
  for (size_t d = 0; d < spatial; ++d) strides.push_back(steps[d][0] * apart[2 + d]);
  for (size_t d = 0; d < spatial; ++d) strides.push_back(steps[d][1] * apart[2 + d]);
  for (size_t d = 0; d < spatial; ++d) offset += steps[d][2] * apart[2 + d];
  sizes.append(places.data(), places.size());
  const int64_t k = channels * taps;
  ir::NodeRef windows = ir::reshape(ir::strided(padded, sizes, strides, offset), ir::Dims{batch, groups, k, positions}), y;
  if (turned) windows = ir::permute(windows, ir::Dims{0, 1, 3, 2});
  if (gradient) {
    const ir::NodeRef g = ir::make_input(ir::DType::F16, ir::Dims{batch, groups, positions, filters}, nullptr, device);
    y = turned ? ir::dot(ir::permute(g, ir::Dims{0, 1, 3, 2}), windows) : ir::dot(windows, g);
  } else {
    const ir::NodeRef w = ir::make_input(ir::DType::F16, ir::Dims{1, groups, filters, k}, nullptr, device);
    const ir::NodeRef all = ir::expand(w, ir::Dims{batch, groups, filters, k});
    y = turned ? ir::dot(windows, ir::permute(all, ir::Dims{0, 1, 3, 2})) : ir::dot(all, windows);
  }
  return {ir::Graph::of({&y, 1}), channels, taps > 1};
}

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
  CHECK(names ==
        "expand-attention simplify fold-views fold-constants lay-out-products lay-out-joins lay-out-attention lay-out-operands "
        "lay-out-windows late-reshapes cse dce ");
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
      const ir::Graph once = pass.run(graph, {});
      CHECK_NOTHROW(ir::verify(once));
      CHECK(once.inputs == graph.inputs);
      const std::string text = ir::print(once);
      if (ir::print(ir::parse_graph(text)) != text) FAIL_CHECK("seed " << seed << ": text of " << pass.name);
      if (ir::print(pass.run(once, {})) != text) FAIL_CHECK("seed " << seed << ": not idempotent: " << pass.name);
      if (same_results(run(once, inputs), expected)) continue;
      const ir::Graph small = test::reduce_failing(graph, [&](const ir::Graph& candidate) {
        const auto data = test::random_inputs(candidate, static_cast<uint64_t>(seed));
        const ir::Graph changed = passes::dead_code(pass.run(candidate, {}));
        return !same_results(run(changed, data), run(candidate, data));
      });
      FAIL_CHECK("seed " << seed << ", " << pass.name << " changes a value:\n" << ir::print(small));
    }
  }
}

TEST_CASE("windows of many channels are read channel by channel where tensor cores multiply, and keep what they give") {
  std::mt19937_64 random(20);
  ir::GpuTarget target;
  target.compute = 90;
  target.library = {};
  int changed = 0, stored = 0;
  const int cases = fuzz_cases(200);
  for (int n = 0; n < cases; ++n) {
    CAPTURE(n);
    const auto [graph, channels, overlap] = window_product(random, 1);
    target.gigabytes_per_second = n % 2 ? 1500 : 1e9;
    target.gigahertz = n % 2 ? 1.4 : 1e-4;  // then no launch takes longer than it saves
    const ir::Graph laid_out = passes::lay_out_windows(graph, {{1, target}});
    CHECK_NOTHROW(ir::verify(laid_out));
    CHECK(laid_out.inputs == graph.inputs);
    const bool changes = laid_out.nodes != graph.nodes, may = overlap && channels % 8 == 0;
    if (changes) CHECK(may);
    changed += changes ? 1 : 0;
    stored += std::ranges::any_of(laid_out.nodes, [](const ir::NodeRef& node) { return node->op() == ir::Op::Cast; }) ? 1 : 0;
    target.compute = 75;
    CHECK(passes::lay_out_windows(graph, {{1, target}}).nodes == graph.nodes);
    target.compute = 90;
    CHECK(passes::lay_out_windows(graph, {}).nodes == graph.nodes);
    CHECK(passes::lay_out_windows(laid_out, {{1, target}}).nodes == laid_out.nodes);
    if (!changes) continue;
    auto inputs = test::random_inputs(graph, static_cast<uint64_t>(n));
    for (codegen::HostTensor& input : inputs) {  // whole numbers, whose sums are exact
      for (size_t e = 0; e < input.data.size(); e += 2) {
        const auto bits = static_cast<uint16_t>(ir::constant(ir::DType::F16, static_cast<int64_t>(random() % 5) - 2).bits);
        std::memcpy(input.data.data() + e, &bits, 2);
      }
    }
    CHECK(same_results(run(laid_out, inputs), run(graph, inputs)));
  }
  CHECK(changed * 4 > cases);
  CHECK(stored * 16 > cases);
  CHECK(stored < changed);
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
  for (const passes::GraphPass& pass : passes::graph_passes()) CHECK(pass.run(graph, {}).nodes.size() == 100002);
}
