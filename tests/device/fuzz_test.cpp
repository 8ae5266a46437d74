// Random graphs on the tested device, in several orders of its streams: the bits that the host gives.
//
//   TENON_FUZZ_COUNT=2000 TENON_FUZZ_SEED=1 test_device -tc='fuzz*'
#include <doctest/doctest.h>

#include "device/tested_device.h"
#include "runtime/evaluation_support.h"
#include "runtime/run/async_work.h"
#include "support/fuzz_cases.h"
#include "support/random_graph.h"

using namespace tenon;
using namespace tenon::runtime;
using namespace tenon::test;
using codegen::HostTensor;

namespace {

constexpr uint64_t kOrders = 8;

// The outputs of the graph on a device, over these inputs.
std::vector<NodeRef> on(runtime::Device& device, const ir::Graph& graph, const std::vector<HostTensor>& inputs) {
  std::unordered_map<const ir::Node*, NodeRef> made;
  for (size_t i = 0; i < inputs.size(); ++i) {
    auto buffer = Buffer::allocate(inputs[i].data.size(), device);
    if (!inputs[i].data.empty()) device.copy_from_host(buffer->data(), inputs[i].data.data(), inputs[i].data.size(), Stream::Main);
    made[graph.inputs[i].get()] = ir::make_input(inputs[i].dtype, inputs[i].shape, std::move(buffer), device.tag());
  }
  for (ir::Node* node : ir::topological_order(graph.outputs)) {
    if (made.contains(node)) continue;
    if (node->op() == Op::Const) {
      made[node] = ir::make_const({node->dtype(), node->bits()}, node->shape(), device.tag());
    } else if (node->op() == Op::Iota) {
      made[node] = ir::make_iota(node->shape(), node->ints()[0], device.tag());
    } else {
      std::vector<NodeRef> operands;
      for (ir::Node* input : node->inputs()) operands.push_back(made.at(input));
      made[node] = ir::make_node(node->op(), operands, node->ints(), node->dtype(), ir::Folding::Off);
    }
  }
  std::vector<NodeRef> outputs;
  for (const NodeRef& output : graph.outputs) {
    NodeRef root = made.at(output.get());
    if (root->is_leaf() && root->op() != Op::Input)  // what is shared stays what it is
      root = ir::make_node(Op::Reshape, {&root, 1}, root->shape(), root->dtype(), ir::Folding::Off);
    outputs.push_back(std::move(root));
  }
  return outputs;
}

ir::Graph graph_of(uint64_t seed) {
  RandomGraphOptions shape;
  shape.transcendental = seed % 4 == 0;
  return random_graph(seed, shape);
}

// A graph of its own for each run: what hangs on constants alone is shared, and is stored where it stands.
std::vector<HostTensor> values_on(runtime::Device& device, uint64_t seed) {
  const ir::Graph graph = graph_of(seed);
  const std::vector<HostTensor> inputs = random_inputs(graph, seed);
  const std::vector<NodeRef> outputs = on(device, graph, inputs);
  runtime::evaluate(outputs);
  std::vector<HostTensor> values;
  for (const NodeRef& output : outputs) {
    HostTensor value = HostTensor::zeros(output->dtype(), output->shape());
    if (!value.data.empty()) runtime::copy_to_host(value.data.data(), *buffer_of(*output), 0, value.data.size());
    values.push_back(std::move(value));
  }
  return values;
}

}  // namespace

TEST_CASE("fuzz: random graphs on a device give the CPU's bits in every order of streams") {
  const WithOptions options([](Options& o) { o.disk_cache = true; });  // where the device finds what the host compiled
  runtime::Device& device = tested_runtime_device();
  const int64_t count = from_environment("TENON_FUZZ_COUNT", fuzz_cases(60));
  const auto first = static_cast<uint64_t>(from_environment("TENON_FUZZ_SEED", 1));
  int64_t bad = 0;
  for (uint64_t seed = first; seed < first + static_cast<uint64_t>(count); ++seed) {
    const std::vector<HostTensor> want = values_on(host_device(), seed);
    for (uint64_t order = 0; order < kOrders; ++order) {
      test::shuffle(seed * kOrders + order);
      const std::vector<HostTensor> got = values_on(device, seed);
      REQUIRE(got.size() == want.size());
      size_t k = 0;
      while (k < got.size() && same_elements(got[k], want[k])) ++k;
      if (k == got.size()) continue;
      ++bad;
      CHECK_MESSAGE(same_elements(got[k], want[k]), "seed " << seed << " order " << order << ": output " << k << " of "
                                                            << ir::name(want[k].dtype) << ", " << first_difference(got[k], want[k])
                                                            << (order == 0 ? "\n" + ir::print(graph_of(seed)) : ""));
    }
  }
  device.synchronise();
  MESSAGE(count << " graphs in " << kOrders << " orders, seeds from " << first << "; wrong: " << bad);
}
