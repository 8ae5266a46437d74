// Attention as generated code for a GPU, thread by thread on the CPU: one call gives all that comes of the same operands, within
// the rounding errors of its sums of what plain loops in double give, with the same bits in any order of threads and blocks. The
// real NVRTC compiles it without spills. And what the interpreter makes of the operation, by its composition.
#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <random>
#include <sstream>
#include <tuple>

#include "codegen/cuda/emit.h"
#include "codegen/interpreter/interpreter.h"
#include "compiler/pipeline.h"
#include "ir/graph/attention.h"
#include "passes/fusion/fusion.h"
#include "support/attention_cases.h"
#include "support/cuda_sim.h"
#include "support/nvrtc.h"

using namespace tenon;
using ir::Dims;
using ir::DType;
using ir::NodeRef;
using ir::Op;
using namespace test::attention;
using test::CudaSimulator;

namespace {

// In 48 KiB of shared memory the widest heads have no room for two tiles of the other side.
bool on_tensor_cores(const Case& c) {
  const bool widest = c.depth > 112 && c.value_depth > 112;
  return ir::is_half(c.dtype) && c.compute >= 80 && !(widest && c.shared_bytes <= ir::kStaticSharedBytes);
}

ir::GpuTarget target_of(const Case& c) {
  ir::GpuTarget target;
  target.multiprocessors = c.multiprocessors;
  target.compute = c.compute;
  target.shared_bytes = c.shared_bytes;
  return target;
}

// One call of all of them.
passes::FusedKernel one_call(const std::vector<NodeRef>& made, const ir::GpuTarget& target) {
  passes::FusionOptions options;
  options.targets = {{0, target}};
  passes::FusionResult fusion = passes::fuse(made, options);
  REQUIRE(fusion.kernels.size() == 1);
  REQUIRE(fusion.kernels[0].call());
  REQUIRE(fusion.kernels[0].outputs.size() == made.size());
  return std::move(fusion.kernels[0]);
}

passes::Lowered lowered_call(const passes::FusedKernel& fused, const ir::GpuTarget& target) {
  return compiler::compile(fused.work, target, {});
}

void run(const Case& c, Reference& r, Op op, const std::vector<const Array*>& wanted, int64_t first = 0) {
  std::vector<Array*> operands;
  const std::vector<NodeRef> made = nodes(c, r, op, wanted.size(), operands, first);
  const ir::GpuTarget target = target_of(c);
  const passes::FusedKernel fused = one_call(made, target);
  const passes::Lowered lowered = lowered_call(fused, target);
  CHECK(lowered.schedule == (on_tensor_cores(c) ? "attention mma" : "attention"));
  REQUIRE_NOTHROW(ir::verify(lowered.tree));
  const std::string text = ir::print(lowered.tree);
  REQUIRE(ir::print(ir::parse_looptree(text)) == text);
  CudaSimulator simulator(lowered.tree);
  std::vector<std::vector<uint64_t>> before;
  for (const auto order : {CudaSimulator::Order::Forward, CudaSimulator::Order::Random}) {
    std::vector<Array> results;
    for (const ir::Node* output : fused.outputs) {
      const auto at = std::find_if(made.begin(), made.end(), [&](const NodeRef& node) { return node.get() == output; });
      results.emplace_back(wanted[static_cast<size_t>(at - made.begin())]->dtype, output->shape());
    }
    std::vector<void*> buffers;
    for (Array* a : operands) buffers.push_back(a->data());
    for (Array& a : results) buffers.push_back(a.data());
    std::vector<Array> scratch;
    for (const ir::TreeBuffer& buffer : lowered.tree.buffers) {
      if (buffer.space == ir::Space::Global)
        scratch.emplace_back(buffer.dtype, Dims{lowered.sizes[static_cast<size_t>(buffer.size_param)]});
    }
    for (Array& a : scratch) buffers.push_back(a.data());
    REQUIRE_NOTHROW(simulator.run(buffers, lowered.sizes, {}, order, 5));
    for (const Array& a : scratch) CHECK(a.intact());
    for (size_t k = 0; k < results.size(); ++k) {
      CHECK(results[k].intact());
      const auto at = std::find_if(made.begin(), made.end(), [&](const NodeRef& node) { return node.get() == fused.outputs[k]; });
      load_rows_last(results[k], **at);
      CAPTURE(ir::info((*at)->op()).text);
      check_near(results[k], *wanted[static_cast<size_t>(at - made.begin())], c, on_tensor_cores(c));
      if (before.size() > k) CHECK(before[k] == results[k].words);
      else before.push_back(results[k].words);
    }
  }
  for (const Array* a : operands) CHECK(a->intact());
}

void check_case(const Case& c) {
  CAPTURE(c);
  Reference r(c);
  run(c, r, Op::Attention, {&r.result, &r.lse});
  run(c, r, Op::AttentionGrad, {&r.query_grad, &r.key_grad, &r.value_grad});
}

}  // namespace

TEST_CASE("attention: lengths and widths around those of tiles and vectors") {
  for (const int64_t length : {1, 17, 65, 130}) {
    for (const int64_t sources : {1, 31, 97}) check_case({.length = length, .sources = sources, .depth = 8, .value_depth = 8});
  }
  for (const int64_t depth : {1, 3, 8, 15, 16, 17, 20, 33, 64, 65, 100, 128}) {
    check_case({.length = 7, .sources = 35, .depth = depth, .value_depth = depth, .multiprocessors = 108});
    check_case({.length = 37, .sources = 9, .depth = depth, .value_depth = 129 - depth, .causal = true});
  }
}

TEST_CASE("attention: every dtype, every tile, causal and masked") {
  for (const DType dtype : {DType::F32, DType::F64, DType::F16, DType::BF16}) {
    for (const int64_t depth : {16, 64, 112})
      check_case({.dtype = dtype, .length = 70, .sources = 66, .depth = depth, .value_depth = depth});
    check_case({.dtype = dtype,
                .length = 70,
                .sources = 66,
                .depth = 40,
                .value_depth = 40,
                .causal = true,
                .mask = Mask::Bool,
                .multiprocessors = 3});
    check_case({.dtype = dtype, .length = 40, .sources = 36, .depth = 24, .value_depth = 24, .mask = Mask::Add, .multiprocessors = 108});
  }
  constexpr std::pair<int64_t, int64_t> kLengths[] = {{64, 64}, {130, 3}, {3, 130}, {1, 200}, {129, 65}};
  for (const auto& [length, sources] : kLengths)
    check_case({.length = length, .sources = sources, .depth = 32, .value_depth = 24, .causal = true});
}

TEST_CASE("attention: halves on tensor cores, lengths and widths around those of tiles") {
  constexpr int64_t kLengths[] = {1, 7, 16, 17, 65, 129}, kDepths[] = {16, 32, 64, 80, 128, 24, 100, 7};
  int number = 0;
  for (const int64_t length : kLengths) {
    for (const int64_t sources : kLengths) {
      Case c{.dtype = number % 2 ? DType::BF16 : DType::F16, .length = length, .sources = sources};
      c.depth = kDepths[number % 8];
      c.value_depth = kDepths[number % 5 ? number % 8 : (number + 1) % 8];
      c.causal = number % 4 == 1;
      c.mask = c.causal || number % 3 ? Mask::None : number % 2 ? Mask::Bool : Mask::Add;
      c.multiprocessors = number % 3 == 2 ? 108 : 1;
      c.shared_bytes = number % 2 ? int64_t{227} << 10 : ir::kStaticSharedBytes;
      check_case(c);
      ++number;
    }
  }
}

TEST_CASE("attention: halves on tensor cores, every tile, longer than it, causal and masked") {
  int number = 0;
  for (const int64_t depth : {16, 32, 64, 128}) {
    for (const Mask mask : {Mask::None, Mask::Bool, Mask::Add}) {
      Case c{.dtype = number % 4 < 2 ? DType::BF16 : DType::F16, .length = 150, .sources = 134, .depth = depth, .value_depth = depth};
      c.causal = number % 5 < 2;
      c.mask = mask;
      c.shared_bytes = number % 2 ? int64_t{227} << 10 : ir::kStaticSharedBytes;
      check_case(c);
      ++number;
    }
  }
}

TEST_CASE("attention: halves on tensor cores, scales that turn the order of scores, or make them all 0") {
  for (const double scale : {0.0, -0.3, 2.5}) {
    for (const bool causal : {false, true})
      check_case({.dtype = DType::F16, .length = 40, .sources = 36, .depth = 24, .value_depth = 24, .causal = causal, .scale = scale});
  }
}

TEST_CASE("attention: halves are of threads before compute capability 8.0") {
  for (const DType dtype : {DType::F16, DType::BF16})
    check_case({.dtype = dtype, .length = 70, .sources = 66, .depth = 40, .value_depth = 40, .causal = true, .compute = 75});
}

TEST_CASE("attention: batches that repeat in one operand, and masks that repeat") {
  for (const DType dtype : {DType::F32, DType::F16}) {
    for (const Mask mask : {Mask::Bool, Mask::Add}) {
      Case c{.dtype = dtype, .length = 19, .sources = 33, .depth = 12, .value_depth = 20, .mask = mask};
      c.query = {2, 3};
      c.key = {1, 3};
      c.value = {2, 1};
      c.masks = {2, 1};
      check_case(c);
      c.mask_rows = false;
      check_case(c);
      c.query = c.key = c.value = {1, 1};
      c.masks = {2, 2};
      check_case(c);
    }
  }
}

TEST_CASE("attention: results whose rows come before some or all batches") {
  for (const DType dtype : {DType::F32, DType::F16, DType::BF16}) {
    for (const int64_t rows : {0, 1}) {
      Case c{.dtype = dtype, .length = 70, .sources = 35, .depth = 12, .value_depth = 24, .causal = rows == 1, .rows = rows};
      c.query = c.key = c.value = {2, 3};
      c.masks = {1, 1};
      check_case(c);
      c.depth = c.value_depth = 13;
      check_case(c);
    }
  }
}

TEST_CASE("attention: a row that sees nothing is 0; the others are not") {
  for (const DType dtype : {DType::F32, DType::F16}) {
    Case c{.dtype = dtype, .length = 5, .sources = 80, .depth = 8, .value_depth = 8, .mask = Mask::Bool};
    Reference r(c);
    std::fill_n(r.mask.numbers.begin() + 2 * c.sources, c.sources, 0.0);
    std::fill_n(r.mask.numbers.begin() + 4 * c.sources, 75, 0.0);  // row 4 sees nothing in the first tile
    r.mask.store();
    std::vector<Array*> operands;
    const std::vector<NodeRef> made = nodes(c, r, Op::Attention, 1, operands);
    const ir::GpuTarget target = target_of(c);
    const passes::FusedKernel fused = one_call(made, target);
    const passes::Lowered lowered = lowered_call(fused, target);
    Array got(c.dtype, r.result.shape), composed(c.dtype, r.result.shape);
    std::vector<void*> buffers;
    for (Array* a : operands) buffers.push_back(a->data());
    buffers.push_back(got.data());
    CudaSimulator(lowered.tree).run(buffers, lowered.sizes, {});
    buffers.back() = composed.data();
    codegen::interpret(fused.work, buffers.data(), nullptr);
    got.load();
    composed.load();
    for (size_t i = 0; i < got.numbers.size(); ++i) {
      CHECK((got.numbers[i] == 0) == (i / 8 == 2));
      CHECK((composed.numbers[i] == 0) == (i / 8 == 2));
      CHECK(got.numbers[i] == doctest::Approx(composed.numbers[i]).epsilon(dtype == DType::F32 ? 1e-5 : 4e-3));
    }
  }
}

TEST_CASE("attention: the interpreter evaluates each operation by its composition") {
  for (const DType dtype : {DType::F64, DType::F32, DType::F16}) {
    for (const Mask mask : {Mask::None, Mask::Bool, Mask::Add}) {
      Case c{.dtype = dtype, .length = 5, .sources = 7, .depth = 3, .value_depth = 2, .causal = mask == Mask::None, .mask = mask};
      c.query = c.masks = {2};
      c.key = c.value = {1};
      c.rows = mask == Mask::Add ? 0 : Case().rows;
      CAPTURE(c);
      Reference r(c);
      const auto check = [&](Op first, const std::vector<const Array*>& wanted) {
        std::vector<Array*> operands;
        const std::vector<NodeRef> made = nodes(c, r, first, wanted.size(), operands);
        const passes::FusedKernel fused = one_call(made, target_of(Case()));
        std::vector<Array> got;
        std::vector<void*> buffers;
        for (const ir::Node* output : fused.outputs) got.emplace_back(output->dtype(), output->shape());
        for (Array* a : operands) buffers.push_back(a->data());
        for (Array& a : got) buffers.push_back(a.data());
        codegen::interpret(fused.work, buffers.data(), nullptr);
        for (size_t k = 0; k < got.size(); ++k) {
          const auto at = std::find_if(made.begin(), made.end(), [&](const NodeRef& node) { return node.get() == fused.outputs[k]; });
          const Array& expected = *wanted[static_cast<size_t>(at - made.begin())];
          load_rows_last(got[k], **at);
          REQUIRE(got[k].dtype == expected.dtype);
          REQUIRE(got[k].shape == expected.shape);
          check_near(got[k], expected, c, on_tensor_cores(c));
        }
      };
      check(Op::Attention, {&r.result, &r.lse});
      check(Op::AttentionGrad, {&r.query_grad, &r.key_grad, &r.value_grad});
    }
  }
}

TEST_CASE("attention: the text of a graph with it reads back, and malformed operands are refused") {
  const std::string text =
      "graph @g(%q: f32[2,5,4], %k: f32[1,7,4], %v: f32[2,7,3], %m: bool[5,7]) {\n"
      "  %0 = reshape %m [1,5,7] : bool[1,5,7]\n"
      "  %1 = attention %q, %k, %v, %0 causal=0 scale=0.5 rows=0 result=output : f32[5,2,3]\n"
      "  %2 = attention %q, %k, %v, %0 causal=0 scale=0.5 rows=1 result=lse : f32[2,5,1]\n"
      "  return %1, %2\n"
      "}\n";
  CHECK(ir::print(ir::parse_graph(text)) == text);
  std::string unknown = text;
  unknown.replace(unknown.find("result=lse") + 7, 3, "query");
  CHECK_THROWS_WITH_AS(ir::parse_graph(unknown, ir::Folding::Unshared, "t"), doctest::Contains("unknown result"), ir::IrError);
  CHECK_THROWS_WITH_AS(ir::parse_graph(unknown, ir::Folding::Unshared, "t"), doctest::Contains("t:4:"), ir::IrError);
  const auto input = [](DType dtype, Dims shape) { return ir::make_input(dtype, shape); };
  const NodeRef q = input(DType::F32, {5, 4}), k = input(DType::F32, {7, 4}), v = input(DType::F32, {7, 3});
  const auto refused = [](const NodeRef& a, const NodeRef& b, const NodeRef& c, const NodeRef& mask = {}) {
    CHECK_THROWS_AS(ir::attention({a, b, c, mask}), ir::IrError);
  };
  CHECK(ir::attention({q, k, v})->shape() == Dims{5, 3});
  refused(q, v, v);
  refused(q, k, q);
  refused(q, k, input(DType::F16, {7, 3}));
  refused(input(DType::I32, {5, 4}), input(DType::I32, {7, 4}), input(DType::I32, {7, 3}));
  refused(q, k, input(DType::F32, {1, 7, 3}));
  refused(q, k, v, input(DType::F64, {5, 7}));
  refused(q, k, v, input(DType::Bool, {4, 7}));
  refused(q, k, v, input(DType::Bool, {5, 6}));
  for (const int64_t result : {-1, 2}) {
    const int64_t ints[] = {0, std::bit_cast<int64_t>(0.5), 0, result};
    CHECK_THROWS_WITH_AS(ir::make_node(Op::Attention, std::vector<NodeRef>{q, k, v}, ints), doctest::Contains("has no such result"),
                         ir::IrError);
  }
}

TEST_CASE("attention: heads that no tile takes are refused with the reason") {
  const auto accepted = [](DType dtype, int64_t depth, int64_t value_depth) {
    passes::Form form;
    form.call = Op::Attention;
    form.attention = passes::Form::Attention{dtype, depth, value_depth};
    return passes::accepts(form, ir::GpuTarget{});
  };
  for (const DType dtype : {DType::F32, DType::F16, DType::BF16}) CHECK(accepted(dtype, 128, 128).accepted);
  CHECK(accepted(DType::F64, 112, 112).accepted);
  CHECK_FALSE(accepted(DType::F64, 128, 128).accepted);
  CHECK_FALSE(accepted(DType::F32, 129, 64).accepted);
  CHECK_FALSE(accepted(DType::F32, 64, 129).accepted);
  CHECK(accepted(DType::F32, 512, 64).reason.find("shared memory") != std::string_view::npos);
  const NodeRef x = ir::make_input(DType::F32, Dims{1, 4}), y = ir::make_input(DType::F32, Dims{5, 4});
  CHECK_THROWS_WITH_AS(passes::fuse({ir::attention({x, y, y})}), doctest::Contains("nothing on a CPU computes 'attention'"), ir::IrError);
}

TEST_CASE("attention: NVRTC compiles the tiles without spills") {
  const test::Nvrtc nvrtc;
  if (!nvrtc.available()) {
    MESSAGE("NVRTC is not installed: skipped");
    return;
  }
  std::string report;
  const auto compile = [&](Case c, Op first, size_t count, const std::vector<int>& capabilities = {75, 80, 90}) {
    for (const int compute : capabilities) {
      c.compute = compute;
      CAPTURE(c);
      Reference r(c);
      std::vector<Array*> operands;
      const ir::GpuTarget target = target_of(c);
      const passes::Lowered lowered = lowered_call(one_call(nodes(c, r, first, count, operands), target), target);
      const std::string arch = "sm_" + std::to_string(compute);
      const test::Nvrtc::Result result = nvrtc.compile(codegen::cuda::emit(lowered.tree), arch);
      CAPTURE(result.log);
      CHECK(result.compiled);
      CHECK(!result.warns);
      CHECK(!result.spills);
      for (const std::string& registers : result.registers)
        report += "\n" + arch + " " + std::string(ir::info(first).text) + " of " + std::to_string(c.depth) + ": " + registers;
    }
  };
  constexpr std::pair<DType, int64_t> kHeads[] = {{DType::F32, 64}, {DType::F16, 128}, {DType::F64, 33}};
  for (const auto& [dtype, depth] : kHeads) {
    Case c{.dtype = dtype, .length = 70, .sources = 66, .depth = depth, .value_depth = depth};
    c.causal = dtype == DType::F16;
    c.mask = dtype == DType::F16 ? Mask::None : dtype == DType::F32 ? Mask::Bool : Mask::Add;
    if (dtype == DType::F32) compile(c, Op::Attention, 2);
    compile(c, Op::AttentionGrad, 3);
  }
  constexpr std::tuple<int64_t, DType, Mask> kOfWarps[] = {
      {64, DType::F16, Mask::Bool}, {96, DType::F16, Mask::None}, {96, DType::BF16, Mask::Add}, {128, DType::F16, Mask::None}};
  for (const auto& [depth, dtype, mask] : kOfWarps) {
    Case c{.dtype = dtype, .length = 300, .sources = 290, .depth = depth, .value_depth = depth, .causal = depth == 128, .mask = mask};
    c.shared_bytes = 227 << 10;
    compile(c, Op::Attention, 2, {80, 90});
    compile(c, Op::AttentionGrad, 3, {80, 90});
  }
  MESSAGE(report);
}
