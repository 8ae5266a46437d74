// Launches that are joined: each part has the bits that it has alone, whatever order blocks and threads run in.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "codegen/interpreter/interpreter.h"
#include "compiler/pipeline.h"
#include "ir/graph.h"
#include "passes/schedule/join_launches.h"
#include "support/cuda_sim.h"
#include "support/nvrtc.h"

using namespace tenon;
using test::CudaSimulator;

namespace {

struct Part {
  ir::Kernel kernel;
  passes::Lowered lowered;
  std::vector<uint64_t> scalars;
  std::vector<std::vector<float>> want, got;  // by buffer
};

Part part_of(const std::string& text) {
  ir::GpuTarget target;
  target.library = {};
  compiler::Settings settings;
  settings.simplify = false;
  settings.fusion.targets = {{0, ir::Target(target)}};
  const ir::Graph graph = ir::parse_graph(text);
  const compiler::Program program = compiler::compile_graph(graph.outputs, {}, settings);
  REQUIRE(program.fusion.kernels.size() == 1);
  const passes::FusedKernel& fused = program.fusion.kernels[0];
  Part part{compiler::basic_kernel(fused.kernel, settings), compiler::compile_kernel(fused.kernel, target, {}), {}, {}, {}};
  for (const ir::Node* node : fused.scalars) part.scalars.push_back(node->bits());
  for (const ir::KernelBuffer& b : part.kernel.buffers) {
    std::vector<float> elements(static_cast<size_t>(b.numel));
    for (size_t i = 0; i < elements.size(); ++i) elements[i] = static_cast<float>(i * 7 % 31) / 16 - 1;
    part.want.push_back(elements);
  }
  part.got = part.want;
  std::vector<void*> buffers;
  for (std::vector<float>& elements : part.want) buffers.push_back(elements.data());
  codegen::interpret(part.kernel, buffers.data(), part.scalars.data());
  return part;
}

int64_t shared_buffers(const ir::LoopTree& tree) {
  return std::count_if(tree.buffers.begin(), tree.buffers.end(), [](const ir::TreeBuffer& b) { return b.space == ir::Space::Shared; });
}

// Maps, with scalars and without, rows, columns, products through shared memory.
const std::vector<std::string> kGraphs = {
    "graph @g(%a: f32[40,64]) {\n  %0 = const 1.5 : f32[40,64]\n  %1 = mul %a, %0 : f32[40,64]\n  return %1\n}\n",
    "graph @g(%a: f32[37,100]) {\n  %0 = reduce.sum %a dims=[1] : f32[37,1]\n  return %0\n}\n",
    "graph @g(%a: f32[33,70], %b: f32[70,45]) {\n  %0 = dot %a, %b : f32[33,45]\n  return %0\n}\n",
    "graph @g(%a: f32[20,90], %b: f32[90,130]) {\n  %0 = dot %a, %b : f32[20,130]\n  return %0\n}\n",
    "graph @g(%a: f32[64,64], %b: f32[64,64]) {\n  %0 = permute %a [1,0] : f32[64,64]\n  %1 = add %0, %b : f32[64,64]\n  return %1\n}\n",
    "graph @g(%a: f32[300,40]) {\n  %0 = reduce.sum %a dims=[0] : f32[1,40]\n  return %0\n}\n",
    "graph @g(%a: f32[999]) {\n  %0 = const 0.25 : f32[999]\n  %1 = add %a, %0 : f32[999]\n  %2 = mul %1, %a : f32[999]\n  return %2\n}\n",
};

}  // namespace

TEST_CASE("joined launches: each part has its own bits") {
  std::vector<Part> parts;
  for (const std::string& graph : kGraphs) parts.push_back(part_of(graph));
  for (size_t first = 0; first < parts.size(); ++first) {  // behind this one as many others as it takes
    std::vector<size_t> launch;
    std::vector<const passes::Lowered*> trees;
    for (size_t i = 0; i < parts.size(); ++i) {
      const size_t p = (first + i) % parts.size();
      if (!passes::can_join(trees, parts[p].lowered)) continue;
      trees.push_back(&parts[p].lowered);
      launch.push_back(p);
    }
    CHECK(launch.size() == parts.size());
    const passes::Lowered joined = passes::join_launches(trees);
    const std::string text = ir::print(joined.tree);
    CAPTURE(text);
    REQUIRE_NOTHROW(ir::verify(joined.tree));
    CHECK(ir::print(ir::parse_looptree(text)) == text);
    std::vector<uint64_t> scalars;
    CHECK(shared_buffers(joined.tree) == 3);  // of both products
    for (const size_t p : launch) scalars.insert(scalars.end(), parts[p].scalars.begin(), parts[p].scalars.end());
    CudaSimulator simulator(joined.tree);
    for (const auto order : {CudaSimulator::Order::Forward, CudaSimulator::Order::Backward, CudaSimulator::Order::Random}) {
      std::vector<void*> buffers;
      for (const size_t p : launch) {
        for (size_t b = 0; b < parts[p].got.size(); ++b) {
          if (parts[p].kernel.buffers[b].role == ir::Role::Out) std::fill(parts[p].got[b].begin(), parts[p].got[b].end(), NAN);
          buffers.push_back(parts[p].got[b].data());
        }
      }
      REQUIRE_NOTHROW(simulator.run(buffers, joined.sizes, scalars, order));
      for (const size_t p : launch) CHECK(parts[p].got == parts[p].want);
    }
  }
}

TEST_CASE("joined launches: NVRTC compiles them without spills") {
  const test::Nvrtc nvrtc;
  if (!nvrtc.available()) return;
  std::vector<Part> parts;
  std::vector<const passes::Lowered*> trees;
  for (const std::string& graph : kGraphs) parts.push_back(part_of(graph));
  for (const Part& part : parts) {
    if (passes::can_join(trees, part.lowered)) trees.push_back(&part.lowered);
  }
  const test::Nvrtc::Result result = nvrtc.compile(codegen::cuda::emit(passes::join_launches(trees).tree), "sm_90");
  CAPTURE(result.log);
  CHECK(result.compiled);
  CHECK(!result.warns);
  CHECK(!result.spills);
}

TEST_CASE("joined launches: other threads, several phases, and more arguments than a launch may bring are refused") {
  const Part map = part_of(kGraphs[0]);
  passes::Lowered other = map.lowered;
  other.tree = map.lowered.whole_tree();
  other.known = nullptr;
  std::vector<const passes::Lowered*> parts = {&map.lowered};
  CHECK(passes::can_join(parts, other));
  other.tree.threads /= 2;
  CHECK(!passes::can_join(parts, other));
  other.tree.threads *= 2;
  other.tree.size_count = 500;
  CHECK(!passes::can_join(parts, other));
  other.tree.size_count = map.lowered.whole_tree().size_count;
  other.tree.phases.push_back(other.tree.phases[0]);
  CHECK(!passes::can_join(parts, other));
  CHECK(!passes::can_join({}, other));
  while (passes::can_join(parts, map.lowered)) parts.push_back(&map.lowered);
  CHECK(parts.size() == 8);
}
