// Launches that are joined: each part has the bits that it has alone, whatever order blocks and threads run in.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "codegen/interpreter/interpreter.h"
#include "compiler/pipeline.h"
#include "ir/graph/graph.h"
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
  Part part{compiler::basic_kernel(fused.kernel(), settings), compiler::compile(fused.work, target, {}), {}, {}, {}};
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
    passes::Turn trees;
    for (size_t i = 0; i < parts.size(); ++i) {
      const size_t p = (first + i) % parts.size();
      if (!passes::can_join(trees, parts[p].lowered)) continue;
      trees.push_back(&parts[p].lowered);
      launch.push_back(p);
    }
    CHECK(launch.size() == parts.size());
    const passes::Lowered joined = passes::join_launches({{trees}});
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

namespace {

// Parts of which each turn reads what the turns before it wrote, the last one in two phases. Values are numbered; 0, 1 and 9 are there
// to begin with.
struct Chain {
  std::vector<Part> parts;
  std::vector<std::vector<size_t>> uses;        // by part: the value of each of the kernel's buffers
  std::vector<std::vector<size_t>> turns;       // parts
  std::vector<std::vector<float>> start, want;  // values

  Chain() {
    const auto add = [&](size_t turn, const std::string& graph, std::vector<size_t> values) {
      turns.resize(turn + 1);
      turns[turn].push_back(parts.size());
      parts.push_back(part_of(graph));
      uses.push_back(std::move(values));
    };
    add(0,
        "graph @g(%a: f32[45,45], %b: f32[45,45]) {\n  %0 = permute %a [1,0] : f32[45,45]\n  %1 = add %0, %b : f32[45,45]\n  return "
        "%1\n}\n",
        {0, 1, 2});
    add(0, "graph @g(%a: f32[45,45]) {\n  %0 = const 0.75 : f32[45,45]\n  %1 = mul %a, %0 : f32[45,45]\n  return %1\n}\n", {0, 3});
    add(1, "graph @g(%a: f32[45,45], %b: f32[45,45]) {\n  %0 = dot %a, %b : f32[45,45]\n  return %0\n}\n", {2, 3, 4});
    add(2, "graph @g(%a: f32[45,45]) {\n  %0 = reduce.sum %a dims=[0,1] : f32[1,1]\n  return %0\n}\n", {4, 5});
    add(3,
        "graph @g(%a: f32[45,45], %s: f32[1,1]) {\n  %0 = expand %s [45,45] : f32[45,45]\n  %1 = sub %a, %0 : f32[45,45]\n  return %1\n}\n",
        {4, 5, 6});
    add(4, "graph @g(%a: f32[45,45]) {\n  %0 = reduce.sum %a dims=[1] : f32[45,1]\n  return %0\n}\n", {6, 7});
    add(4, "graph @g(%a: f32[45,45]) {\n  %0 = reduce.max %a dims=[0] : f32[1,45]\n  return %0\n}\n", {6, 8});
    add(5,
        "graph @g(%a: f32[1,100000], %s: f32[1,45]) {\n  %0 = slice %s starts=[0,40] steps=[1,1] sizes=[1,1] : f32[1,1]\n  %1 = expand %0 "
        "[1,100000] : f32[1,100000]\n"
        "  %2 = sub %a, %1 : f32[1,100000]\n  %3 = reduce.sum %2 dims=[1] : f32[1,1]\n  return %3\n}\n",
        {9, 8, 10});
    REQUIRE(parts.back().lowered.whole_tree().phases.size() == 2);
    for (size_t p = 0; p < parts.size(); ++p) {
      for (size_t b = 0; b < uses[p].size(); ++b) {
        if (uses[p][b] >= start.size()) start.resize(uses[p][b] + 1);
        start[uses[p][b]].resize(parts[p].want[b].size(), NAN);
      }
    }
    for (const size_t v : {0, 1, 9}) {
      for (size_t i = 0; i < start[v].size(); ++i) start[v][i] = static_cast<float>((i + v) * 7 % 31) / 16 - 1;
    }
    want = start;
    for (size_t p = 0; p < parts.size(); ++p) {
      std::vector<void*> buffers;
      for (const size_t v : uses[p]) buffers.push_back(want[v].data());
      codegen::interpret(parts[p].kernel, buffers.data(), parts[p].scalars.data());
    }
  }

  std::vector<passes::Turn> trees() const {
    std::vector<passes::Turn> trees;
    for (const std::vector<size_t>& turn : turns) {
      trees.emplace_back();
      for (const size_t p : turn) trees.back().push_back(&parts[p].lowered);
    }
    return trees;
  }

  // The values that a launch leaves behind.
  std::vector<std::vector<float>> run(const passes::Lowered& joined, CudaSimulator& simulator, CudaSimulator::Order order,
                                      uint64_t seed) const {
    std::vector<std::vector<float>> values = start;
    std::vector<std::vector<uint64_t>> scratch;
    std::vector<void*> buffers;
    std::vector<uint64_t> scalars;
    std::vector<size_t> all;
    for (size_t p = 0; p < parts.size(); ++p) {
      all.insert(all.end(), uses[p].begin(), uses[p].end());
      scalars.insert(scalars.end(), parts[p].scalars.begin(), parts[p].scalars.end());
    }
    size_t next = 0;
    for (const ir::TreeBuffer& b : joined.tree.buffers) {
      if (b.space == ir::Space::In || b.space == ir::Space::Out) buffers.push_back(values[all[next++]].data());
      if (b.space == ir::Space::Global)
        buffers.push_back(scratch.emplace_back(static_cast<size_t>(joined.sizes[static_cast<size_t>(b.size_param)]), ~0ULL).data());
    }
    simulator.run(buffers, joined.sizes, scalars, order, seed);
    return values;
  }
};

bool same_bits(const std::vector<std::vector<float>>& a, const std::vector<std::vector<float>>& b) {
  for (size_t v = 0; v < a.size(); ++v) {
    if (std::memcmp(a[v].data(), b[v].data(), a[v].size() * sizeof(float)) != 0) return false;
  }
  return true;
}

constexpr CudaSimulator::Order kOrders[] = {CudaSimulator::Order::Forward, CudaSimulator::Order::Backward, CudaSimulator::Order::Random};

// The barriers of a tree that stand outside of the parts' own statements: between turns, and at the end of rounds.
std::vector<std::pair<std::vector<ir::Stmt>*, size_t>> barriers_of_turns(ir::LoopTree& tree) {
  std::vector<std::pair<std::vector<ir::Stmt>*, size_t>> found;
  std::vector<ir::Stmt>& body = tree.phases[0].body;
  for (size_t i = 0; i < body.size(); ++i) {
    if (body[i].kind == ir::StmtKind::Barrier) found.emplace_back(&body, i);
    if (body[i].kind == ir::StmtKind::For && body[i].body.back().kind == ir::StmtKind::Barrier)
      found.emplace_back(&body[i].body, body[i].body.size() - 1);
  }
  return found;
}

}  // namespace

TEST_CASE("launches in turn: one block has the bits of a launch for each, and shows a barrier that is left out") {
  const Chain chain;
  const std::vector<passes::Turn> turns = chain.trees();
  for (size_t t = 1; t < turns.size(); ++t) REQUIRE(passes::can_follow(std::span(turns).first(t), turns[t]));
  passes::Lowered joined = passes::join_launches(turns);
  CHECK(joined.sizes[static_cast<size_t>(joined.tree.phases[0].extent)] == 1);
  const std::string text = ir::print(joined.tree);
  CAPTURE(text);
  REQUIRE_NOTHROW(ir::verify(joined.tree));
  CHECK(ir::print(ir::parse_looptree(text)) == text);
  {
    CudaSimulator simulator(joined.tree);
    for (const auto order : kOrders) {
      for (uint64_t seed = 0; seed < 3; ++seed) CHECK(same_bits(chain.run(joined, simulator, order, seed), chain.want));
    }
  }
  const size_t barriers = barriers_of_turns(joined.tree).size();
  CHECK(barriers == 7);
  for (size_t b = 0; b < barriers; ++b) {
    CAPTURE(b);
    passes::Lowered without = joined;
    const auto [block, place] = barriers_of_turns(without.tree)[b];
    block->erase(block->begin() + static_cast<std::ptrdiff_t>(place));
    CudaSimulator simulator(without.tree);
    bool shown = false;
    for (const auto order : kOrders) {
      for (uint64_t seed = 0; seed < 8 && !shown; ++seed) {
        try {
          shown = !same_bits(chain.run(without, simulator, order, seed), chain.want);
        } catch (const std::runtime_error&) {
          shown = true;
        }
      }
    }
    const bool hidden = b == 1 || b == 2;  // the product's own first and last barriers do for it
    CHECK(shown != hidden);
  }
}

TEST_CASE("launches in turn: NVRTC compiles them without spills") {
  const test::Nvrtc nvrtc;
  if (!nvrtc.available()) return;
  const Chain chain;
  const std::string text = codegen::cuda::emit(passes::join_launches(chain.trees()).tree);
  for (const char* arch : {"sm_75", "sm_80", "sm_90"}) {
    CAPTURE(arch);
    const test::Nvrtc::Result result = nvrtc.compile(text, arch);
    CAPTURE(result.log);
    CHECK(result.compiled);
    CHECK(!result.warns);
    CHECK(!result.spills);
  }
}

TEST_CASE("joined launches: NVRTC compiles them without spills") {
  const test::Nvrtc nvrtc;
  if (!nvrtc.available()) return;
  std::vector<Part> parts;
  passes::Turn trees;
  for (const std::string& graph : kGraphs) parts.push_back(part_of(graph));
  for (const Part& part : parts) {
    if (passes::can_join(trees, part.lowered)) trees.push_back(&part.lowered);
  }
  const test::Nvrtc::Result result = nvrtc.compile(codegen::cuda::emit(passes::join_launches({{trees}}).tree), "sm_90");
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
  passes::Turn parts = {&map.lowered};
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
