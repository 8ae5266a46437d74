// The pipeline: its steps are the ones listed, in order, for each device; constants are hidden from the passes and come back.
#include "compiler/pipeline.h"

#include <doctest/doctest.h>

#include <map>

#include "support/fuzz_cases.h"
#include "support/random_graph.h"

using namespace tenon;

namespace {

// The steps and texts that an observer sees.
struct Seen {
  std::vector<std::string> names;
  std::map<std::string, std::string> texts;  // the last of each

  compiler::Settings settings() {
    compiler::Settings s;
    s.verify = true;
    s.observer = [this](std::string_view step, const std::function<std::string()>& text) {
      names.emplace_back(step);
      texts[names.back()] = text();
    };
    return s;
  }
};

ir::Graph graph_of(const char* text) { return ir::parse_graph(text, ir::Folding::Off); }

std::vector<ir::Node*> constants_of(const ir::Graph& graph) {
  std::vector<ir::Node*> result;
  for (const ir::NodeRef& node : graph.nodes) {
    if (node->op() == ir::Op::Const) result.push_back(node.get());
  }
  return result;
}

}  // namespace

TEST_CASE("pipeline: the steps that run are the steps that are listed, on each device") {
  const ir::Graph graph =
      graph_of("graph @g(%x: f16[8,16]) {\n  %1 = exp %x : f16[8,16]\n  %2 = reduce.sum %1 dims=[1] : f16[8,1]\n  return %2\n}\n");
  const ir::CpuTarget slow{.slow_denormals = true};
  for (const ir::Target& target : {ir::Target(ir::CpuTarget{256}), ir::Target(slow), ir::Target(ir::GpuTarget{})}) {
    const auto is_for = [&](std::string_view step) {
      return std::ranges::all_of(passes::kernel_passes(),
                                 [&](const passes::KernelPass& pass) { return pass.name != step || pass.is_for(target); });
    };
    Seen seen;
    const compiler::Settings settings = seen.settings();
    const compiler::Program program = compiler::compile_graph(graph.outputs, {}, settings);
    REQUIRE(program.fusion.kernels.size() == 1);
    CHECK(!compiler::compile(program.fusion.kernels[0].work, target, settings).tree.phases.empty());
    compiler::plan_memory({}, {}, settings);
    std::vector<std::string> listed;
    for (const compiler::StepInfo& step : compiler::steps()) {
      if (is_for(step.name)) listed.emplace_back(step.name);
    }
    CHECK(seen.names == listed);
  }
}

TEST_CASE("pipeline: hidden constants are inputs to the passes, and come back; the fill of a pad stays") {
  const ir::Graph graph = graph_of(
      "graph @g(%x: f32[4]) {\n  %0 = const 2.5 : f32[4]\n  %1 = mul %x, %0 : f32[4]\n  %f = const 2.5 : f32[]\n"
      "  %2 = pad %1, %f lo=[1] hi=[0] : f32[5]\n  return %2\n}\n");
  Seen seen;
  const compiler::Program program = compiler::compile_graph(graph.outputs, constants_of(graph), seen.settings());
  CHECK(seen.texts["hide-constants"].find("mul %x0, %x1 : f32[4]") != std::string::npos);
  CHECK(seen.texts["hide-constants"].find("const 2.5 : f32[]") != std::string::npos);
  CHECK(ir::print(program.graph).find("%0 = const 2.5 : f32[4]\n  %1 = mul %x0, %0 : f32[4]") != std::string::npos);
}

TEST_CASE("pipeline: an output that is a reshape, a constant or an input") {
  const ir::Graph graph = graph_of(
      "graph @g(%x: f32[4]) {\n  %0 = neg %x : f32[4]\n  %1 = reshape %0 [2,2] : f32[2,2]\n  %2 = const 3.0 : f32[2]\n"
      "  return %1, %2, %x\n}\n");
  const compiler::Program program = compiler::compile_graph(graph.outputs, constants_of(graph), {});
  CHECK(program.graph.outputs[0]->op() == ir::Op::Neg);
  CHECK(program.graph.outputs[1] == graph.outputs[1]);
  CHECK(program.graph.outputs[2] == graph.outputs[2]);
}

TEST_CASE("pipeline: a kernel that no schedule takes is refused by name") {
  const ir::Kernel kernel = ir::parse_kernel(
      "kernel @both(x: f32 in[64], y: f32 out[8]) {\n  axes i: 8 parallel, r: 8 inner\n"
      "  map i r    : %0 = load x[8*i + r] : f32\n  reduce i|r : %1 = reduce.sum %0 lanes : f32\n"
      "  reduce i|r : %2 = reduce.max %0 columns : f32\n  map i      : %3 = add %1, %2 : f32\n  map i      : store y[i], %3\n}\n");
  for (const ir::Target& target : {ir::Target(ir::CpuTarget{256}), ir::Target(ir::GpuTarget{})}) {
    std::string message;
    try {
      compiler::compile(kernel, target, {});
    } catch (const ir::IrError& error) {
      message = error.what();
    }
    CHECK(message.find("both") != std::string::npos);
  }
}

TEST_CASE("pipeline: a target that cannot be is refused, with the kernel's name") {
  const ir::Kernel rows = ir::parse_kernel(
      "kernel @rows(x: f32 in[640000], y: f32 out[8]) {\n  axes i: 8 parallel, r: 80000 inner\n"
      "  map i r    : %0 = load x[80000*i + r] : f32\n  reduce i|r : %1 = reduce.sum %0 lanes : f32\n"
      "  map i      : store y[i], %1\n}\n");
  ir::CpuTarget no_cache{256};
  no_cache.l2_bytes = 0;
  ir::GpuTarget no_threads, half_warp, no_shared;
  no_threads.threads = 0;
  half_warp.threads = 48;
  no_shared.shared_bytes = 0;
  const std::pair<ir::Target, const char*> cases[] = {
      {ir::CpuTarget{0}, "vector_bits is 0"},
      {ir::CpuTarget{64}, "vector_bits is 64"},
      {no_cache, "l2_bytes is 0"},
      {no_threads, "threads is 0"},
      {half_warp, "threads is 48"},
  };
  const auto message = [&](const ir::Kernel& kernel, const ir::Target& target) -> std::string {
    try {
      compiler::compile(kernel, target, {});
    } catch (const ir::IrError& error) {
      return error.what();
    }
    return "";
  };
  for (const auto& [target, what] : cases) {
    CHECK(message(rows, target).find("'rows'") != std::string::npos);
    CHECK(message(rows, target).find(what) != std::string::npos);
  }
  const ir::Kernel transposed = ir::parse_kernel(
      "kernel @turn(x: f32 in[4096], y: f32 out[4096]) {\n  axes i: 64 parallel, j: 64 parallel\n"
      "  map i j : %0 = load x[64*j + i] : f32\n  map i j : store y[64*i + j], %0\n}\n");
  CHECK(passes::lower(transposed, ir::GpuTarget{}).schedule == "transpose");
  CHECK(passes::lower(transposed, no_shared).schedule == "pointwise");  // needs no shared memory
}

TEST_CASE("pipeline: a row that is no multiple of four into its buffer is read by vectors on a CPU, and by elements on a GPU") {
  for (const char* offset : {"8", "5"}) {
    const ir::Graph graph = graph_of(("graph @g(%x: f32[100]) {\n  %0 = strided %x sizes=[64] strides=[1] offset=" + std::string(offset) +
                                      " : f32[64]\n  %1 = neg %0 : f32[64]\n  return %1\n}\n")
                                         .c_str());
    const auto loads_vectors = [&](const ir::Target& target) {
      compiler::Settings settings;
      settings.fusion.targets = {{0, target}};
      const compiler::Program program = compiler::compile_graph(graph.outputs, {}, settings);
      const std::string tree = ir::print(compiler::compile(program.fusion.kernels.at(0).work, target, settings).tree);
      const size_t load = tree.find("load x0[");
      REQUIRE(load != std::string::npos);
      return tree.substr(load, tree.find('\n', load) - load).find("x4") != std::string::npos;
    };
    CHECK(loads_vectors(ir::CpuTarget{128}));
    CHECK(loads_vectors(ir::GpuTarget{}) == (std::string(offset) == "8"));
  }
}

TEST_CASE("pipeline: whatever fusion makes of a random graph is accepted by its target, and what is accepted lowers") {
  for (uint64_t seed = 0; seed < static_cast<uint64_t>(test::fuzz_cases(200)); ++seed) {
    CAPTURE(seed);
    const ir::Graph graph = test::random_graph(seed);
    for (const ir::Target& target : {ir::Target(ir::CpuTarget{128}), ir::Target(ir::CpuTarget{512}), ir::Target(ir::GpuTarget{})}) {
      compiler::Settings settings;
      settings.fusion.enabled = seed % 4 != 0;
      settings.fusion.targets = {{0, target}};
      const compiler::Program program = compiler::compile_graph(graph.outputs, constants_of(graph), settings);
      for (const passes::FusedKernel& fused : program.fusion.kernels) {
        CHECK_NOTHROW(ir::verify(fused.work));
        CHECK(passes::accepts(passes::form_of(fused.work), target).accepted);
        if (passes::generates(fused.work, target)) CHECK_NOTHROW(compiler::compile(fused.work, target, settings));
      }
      for (const passes::Refusal& refusal : program.fusion.refusals) {
        CHECK(!refusal.reason.empty());
        CHECK(!refusal.readers.empty());
      }
    }
  }
}
