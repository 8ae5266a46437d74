// Graphs: capture of one stream and of several, replay with new parameters, graphs built by hand, and broken captures.
#include <algorithm>

#include "cuda_sim/gpu.h"

namespace {

const std::string kAdd = R"(
TENON_KERNEL void TENON_LAUNCH(32) k(const float* x, float* y, float add) {
  y[TENON_THREAD] = x[TENON_THREAD] + add;
}
)";

std::vector<float> ones() { return std::vector<float>(32, 1.0f); }

struct Graph {
  Handle handle = nullptr, exec = nullptr;
  ~Graph() {
    if (exec) cuGraphExecDestroy(exec);
    if (handle) cuGraphDestroy(handle);
  }
  void instantiate() { REQUIRE(cuGraphInstantiateWithFlags(&exec, handle, 0) == 0); }
  std::vector<Handle> nodes() const {
    size_t count = 0;
    REQUIRE(cuGraphGetNodes(handle, nullptr, &count) == 0);
    std::vector<Handle> result(count);
    REQUIRE(cuGraphGetNodes(handle, result.data(), &count) == 0);
    return result;
  }
};

}  // namespace

TEST_CASE("graph: captured work is not done, and is done at each launch") {
  const Context context;
  const Kernel add(kAdd);
  const Buffer x(ones()), y(std::vector<float>(32, 0.0f));
  const Stream stream;
  Graph graph;
  int status = -1;
  REQUIRE(cuStreamBeginCapture_v2(stream.handle, 1) == 0);
  REQUIRE(cuStreamIsCapturing(stream.handle, &status) == 0);
  CHECK(status == 1);
  REQUIRE(add.launch(stream.handle, 1, 32, x.address, y.address, 2.0f) == 0);
  REQUIRE(add.launch(stream.handle, 1, 32, y.address, y.address, 3.0f) == 0);
  REQUIRE(cuStreamEndCapture(stream.handle, &graph.handle) == 0);
  REQUIRE(cuStreamIsCapturing(stream.handle, &status) == 0);
  CHECK(status == 0);
  graph.instantiate();
  CHECK(y.read(stream.handle)[0] == 0);
  REQUIRE(cuGraphLaunch(graph.exec, stream.handle) == 0);
  CHECK(y.read(stream.handle) == std::vector<float>(32, 6.0f));

  // One node's parameters anew: of the launches from now on.
  KernelNode node{};
  REQUIRE(graph.nodes().size() == 2);
  REQUIRE(cuGraphKernelNodeGetParams_v2(graph.nodes()[1], &node) == 0);
  CHECK(node.function == add.function);
  CHECK(*static_cast<float*>(node.parameters[2]) == 3);
  float ten = 10;
  std::vector<void*> parameters = {node.parameters[0], node.parameters[1], &ten};
  node.parameters = parameters.data();
  REQUIRE(cuGraphLaunch(graph.exec, stream.handle) == 0);
  REQUIRE(cuGraphExecKernelNodeSetParams_v2(graph.exec, graph.nodes()[1], &node) == 0);
  CHECK(y.read(stream.handle)[0] == 6);
  REQUIRE(cuGraphLaunch(graph.exec, stream.handle) == 0);
  CHECK(y.read(stream.handle)[0] == 13);
}

TEST_CASE("graph: work of two streams joined by events keeps its order, and only that") {
  const Context context;
  const Kernel add(kAdd);
  const Buffer x(ones()), y(32), z(32);
  const Stream main, side;
  const Event fork, join;
  const auto capture = [&](Graph& graph, bool with_join) {
    REQUIRE(cuStreamBeginCapture_v2(main.handle, 0) == 0);
    REQUIRE(cuEventRecord(fork.handle, main.handle) == 0);
    REQUIRE(cuStreamWaitEvent(side.handle, fork.handle, 0) == 0);
    REQUIRE(add.launch(side.handle, 1, 32, x.address, y.address, 1.0f) == 0);
    REQUIRE(cuEventRecord(join.handle, side.handle) == 0);
    if (with_join) REQUIRE(cuStreamWaitEvent(main.handle, join.handle, 0) == 0);
    REQUIRE(add.launch(main.handle, 1, 32, y.address, z.address, 1.0f) == 0);
    return cuStreamEndCapture(main.handle, &graph.handle);
  };
  Graph graph, broken;
  CHECK(capture(broken, false) == 904);
  CHECK(broken.handle == nullptr);
  REQUIRE(capture(graph, true) == 0);
  graph.instantiate();
  for (unsigned seed = 0; seed < 10; ++seed) {
    tenon_sim_seed(seed);
    REQUIRE(cuMemsetD8Async(y.address, 0, 128, main.handle) == 0);
    REQUIRE(cuGraphLaunch(graph.exec, main.handle) == 0);
    CHECK(z.read(main.handle) == std::vector<float>(32, 3.0f));
  }
  CHECK(cuEventQuery(join.handle) == 907);
}

TEST_CASE("graph: built by hand, with a captured graph as a child that is exchanged") {
  const Context context;
  const Kernel add(kAdd);
  const Buffer x(ones()), y(32), z(32);
  const Stream stream;
  const auto capture = [&](Graph& graph, float value) {
    REQUIRE(cuStreamBeginCapture_v2(stream.handle, 1) == 0);
    REQUIRE(add.launch(stream.handle, 1, 32, y.address, z.address, value) == 0);
    REQUIRE(cuStreamEndCapture(stream.handle, &graph.handle) == 0);
  };
  Graph graph, child, other;
  capture(child, 10);
  capture(other, 20);
  REQUIRE(cuGraphCreate(&graph.handle, 0) == 0);
  float one = 1;
  Address from = x.address, to = y.address;
  void* parameters[] = {&from, &to, &one};
  const KernelNode launch{add.function, 1, 1, 1, 32, 1, 1, 0, parameters, nullptr, nullptr, nullptr};
  Handle first = nullptr, second = nullptr;
  REQUIRE(cuGraphAddKernelNode_v2(&first, graph.handle, nullptr, 0, &launch) == 0);
  REQUIRE(cuGraphAddChildGraphNode(&second, graph.handle, &first, 1, child.handle) == 0);
  int type = -1;
  CHECK(cuGraphNodeGetType(second, &type) == 0);
  CHECK(type == 4);
  graph.instantiate();
  REQUIRE(cuGraphLaunch(graph.exec, stream.handle) == 0);
  CHECK(z.read(stream.handle)[0] == 12);
  REQUIRE(cuGraphExecChildGraphNodeSetParams(graph.exec, second, other.handle) == 0);
  REQUIRE(cuGraphLaunch(graph.exec, stream.handle) == 0);
  CHECK(z.read(stream.handle)[0] == 22);
  CHECK(cuGraphExecChildGraphNodeSetParams(graph.exec, second, graph.handle) == 910);
  CHECK(cuGraphExecKernelNodeSetParams_v2(graph.exec, second, &launch) == 1);
}

TEST_CASE("graph: an executable graph takes the parameters of one with the same nodes") {
  const Context context;
  const Kernel add(kAdd);
  const Buffer x(ones()), y(32);
  const Stream stream;
  const auto capture = [&](Graph& graph, float value, int times) {
    REQUIRE(cuStreamBeginCapture_v2(stream.handle, 1) == 0);
    for (int i = 0; i < times; ++i) REQUIRE(add.launch(stream.handle, 1, 32, x.address, y.address, value) == 0);
    REQUIRE(cuStreamEndCapture(stream.handle, &graph.handle) == 0);
  };
  Graph graph, same, longer;
  capture(graph, 1, 1);
  capture(same, 5, 1);
  capture(longer, 5, 2);
  graph.instantiate();
  struct {
    int result;
    Handle node, from;
  } result{};
  CHECK(cuGraphExecUpdate_v2(graph.exec, longer.handle, &result) == 910);
  CHECK(result.result == 2);
  CHECK(cuGraphExecUpdate_v2(graph.exec, same.handle, &result) == 0);
  REQUIRE(cuGraphLaunch(graph.exec, stream.handle) == 0);
  CHECK(y.read(stream.handle)[0] == 6);
}

TEST_CASE("graph: what a capture does not allow ends it") {
  const Context context;
  const Kernel add(kAdd);
  const Buffer x(ones()), y(32);
  const Stream stream, other, blocking(0);
  const Event outside;
  REQUIRE(cuEventRecord(outside.handle, other.handle) == 0);
  float value = 0;
  Address address = 0;
  const auto broken_by = [&](const Stream& captured, auto call, int expected) {
    Graph graph;
    REQUIRE(cuStreamBeginCapture_v2(captured.handle, 0) == 0);
    CHECK(call() == expected);
    CHECK(cuStreamEndCapture(captured.handle, &graph.handle) == 901);
    CHECK(graph.handle == nullptr);
  };
  broken_by(
      stream, [&] { return cuStreamSynchronize(stream.handle); }, 900);
  broken_by(
      stream, [&] { return cuStreamQuery(stream.handle); }, 900);
  broken_by(
      stream, [&] { return cuCtxSynchronize(); }, 900);
  broken_by(
      stream, [&] { return cuMemAlloc_v2(&address, 16); }, 900);
  broken_by(
      stream, [&] { return cuMemcpyDtoHAsync_v2(&value, x.address, 4, stream.handle); }, 900);
  broken_by(
      stream, [&] { return cuStreamWaitEvent(stream.handle, outside.handle, 0); }, 905);
  broken_by(
      blocking, [&] { return add.launch(nullptr, 1, 32, x.address, y.address, 1.0f); }, 906);
  Graph graph;
  CHECK(cuStreamEndCapture(stream.handle, &graph.handle) == 1);
  CHECK(cuStreamBeginCapture_v2(nullptr, 0) == 900);
  // Work of another stream goes on beside a capture.
  REQUIRE(cuStreamBeginCapture_v2(stream.handle, 1) == 0);
  REQUIRE(add.launch(other.handle, 1, 32, x.address, y.address, 1.0f) == 0);
  CHECK(cuStreamSynchronize(other.handle) == 0);
  REQUIRE(cuStreamEndCapture(stream.handle, &graph.handle) == 0);
  CHECK(graph.nodes().empty());
}
