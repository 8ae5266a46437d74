// Attention as generated code for a CPU: within the rounding errors of its sums of what plain loops in double give, with the same
// bits at every vector width and in any order of its parallel iterations.
#include <doctest/doctest.h>

#include <map>
#include <string>
#include <utility>

#include "codegen/llvm/jit.h"
#include "compiler/pipeline.h"
#include "passes/fusion/fusion.h"
#include "support/attention_cases.h"
#include "support/launch.h"

using namespace tenon;
using namespace test::attention;
namespace jit = codegen::llvm_backend;

namespace {

// One call of all of them.
passes::FusedKernel one_call(const std::vector<NodeRef>& made) {
  passes::FusionOptions options;
  options.targets = {{0, ir::CpuTarget{}}};
  passes::FusionResult fusion = passes::fuse(made, options);
  REQUIRE(fusion.kernels.size() == 1);
  REQUIRE(fusion.kernels[0].call());
  REQUIRE(fusion.kernels[0].outputs.size() == made.size());
  return std::move(fusion.kernels[0]);
}

passes::Lowered lowered_call(const passes::FusedKernel& fused, int bits = 256) {
  return passes::lower(fused.work, ir::CpuTarget{.vector_bits = bits});
}

using Code = decltype(jit::load_object({}, 0));
// One for each text: lengths and heads share it.
const codegen::Executable& code_of(const ir::LoopTree& tree) {
  static std::map<std::string, Code> known;
  Code& code = known[ir::print(tree, false)];
  if (!code) code = jit::load_object(jit::compile_object(tree), static_cast<int>(tree.phases.size()));
  return *code;
}

// `wanted`: the results of the operation from number `first` on, in their order.
void run(const Case& c, Reference& r, Op op, const std::vector<const Array*>& wanted, int64_t first = 0) {
  std::vector<Array*> operands;
  const std::vector<NodeRef> made = nodes(c, r, op, wanted.size(), operands, first);
  const passes::FusedKernel fused = one_call(made);
  std::vector<std::vector<uint64_t>> before;
  for (const int bits : {128, 256, 512}) {
    const passes::Lowered lowered = lowered_call(fused, bits);
    CHECK(lowered.schedule == "attention");
    REQUIRE_NOTHROW(ir::verify(lowered.tree));
    if (bits == 256) {
      const std::string text = ir::print(lowered.tree);
      REQUIRE(ir::print(ir::parse_looptree(text)) == text);
    }
    if (!jit::available() || bits > jit::host_vector_bits()) continue;
    const auto bytecode = codegen::Bytecode::of(lowered.tree);
    REQUIRE(bytecode);
    for (const int64_t piece : {1, 1000000, 0}) {  // 0: as bytecode
      std::vector<Array> results;
      for (const NodeRef& node : made) results.emplace_back(node->dtype(), node->shape());
      std::vector<void*> buffers;
      for (Array* a : operands) buffers.push_back(a->data());
      for (const ir::Node* output : fused.outputs) {
        const auto at = std::find_if(made.begin(), made.end(), [&](const NodeRef& node) { return node.get() == output; });
        buffers.push_back(results[static_cast<size_t>(at - made.begin())].data());
      }
      piece == 0 ? test::launch(lowered, *bytecode, buffers, {}, 1000000)
                 : test::launch(lowered, code_of(lowered.tree), buffers, {}, piece);
      for (size_t k = 0; k < results.size(); ++k) {
        CAPTURE(ir::info(made[k]->op()).text);
        CAPTURE(bits);
        CHECK(results[k].intact());
        load_rows_last(results[k], *made[k]);
        check_near(results[k], *wanted[k], c, false);
        if (before.size() > k) CHECK(before[k] == results[k].words);
        else before.push_back(results[k].words);
      }
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

TEST_CASE("cpu attention: lengths and widths around those of tiles and vectors") {
  for (const int64_t length : {1, 17, 33, 65, 130}) {
    for (const int64_t sources : {1, 31, 97, 129}) {
      if (sources <= 2 * length || length >= 8) check_case({.length = length, .sources = sources, .depth = 8, .value_depth = 8});
    }
  }
  for (const int64_t depth : {1, 3, 16, 20, 33, 64, 80, 300}) {
    check_case({.length = 9, .sources = 35, .depth = depth, .value_depth = depth});
    check_case({.length = 37, .sources = 9, .depth = depth, .value_depth = 301 - depth, .causal = true});
  }
}

TEST_CASE("cpu attention: every dtype, causal and masked") {
  for (const DType dtype : {DType::F32, DType::F64, DType::F16, DType::BF16}) {
    check_case({.dtype = dtype, .length = 140, .sources = 135, .depth = 16, .value_depth = 16});
    check_case({.dtype = dtype, .length = 70, .sources = 66, .depth = 20, .value_depth = 20, .causal = true, .mask = Mask::Bool});
  }
  for (const DType dtype : {DType::F32, DType::BF16})
    check_case({.dtype = dtype, .length = 40, .sources = 137, .depth = 20, .value_depth = 20, .mask = Mask::Add});
  constexpr std::pair<int64_t, int64_t> kLengths[] = {{64, 64}, {130, 3}, {9, 130}, {129, 65}, {40, 40}, {200, 200}, {100, 300}};
  for (const auto& [length, sources] : kLengths)
    check_case({.length = length, .sources = sources, .depth = 32, .value_depth = 24, .causal = true, .scale = -0.3});
}

TEST_CASE("cpu attention: keys are shared out where batches are few, and the sums over them have parts") {
  for (const DType dtype : {DType::F32, DType::BF16}) {
    Case c{.dtype = dtype, .length = 70, .sources = 500, .depth = 12, .value_depth = 8, .causal = dtype == DType::F32};
    check_case(c);
    c.query = c.key = c.value = {3};
    check_case(c);
  }
}

TEST_CASE("cpu attention: batches that repeat in one operand, and masks that repeat") {
  for (const Mask mask : {Mask::Bool, Mask::Add}) {
    Case c{
        .dtype = mask == Mask::Bool ? DType::F32 : DType::F16, .length = 19, .sources = 33, .depth = 12, .value_depth = 20, .mask = mask};
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

TEST_CASE("cpu attention: results whose rows come before some or all batches") {
  for (const DType dtype : {DType::F32, DType::F16}) {
    for (const int64_t rows : {0, 1}) {
      Case c{.dtype = dtype, .length = 70, .sources = 66, .depth = 16, .value_depth = 20, .causal = rows == 1, .rows = rows};
      c.query = c.key = c.value = {2, 3};
      c.masks = {1, 1};
      check_case(c);
      c.query = c.key = c.value = {1, 2};  // so few that keys are shared out
      c.sources = 500;
      check_case(c);
    }
  }
}

TEST_CASE("cpu attention: some of the results are a call too") {
  const Case c{.length = 70, .sources = 66, .depth = 16, .value_depth = 12};
  Reference r(c);
  run(c, r, Op::AttentionGrad, {&r.query_grad});
  run(c, r, Op::AttentionGrad, {&r.query_grad, &r.key_grad});
  run(c, r, Op::AttentionGrad, {&r.key_grad, &r.value_grad}, 1);
  run(c, r, Op::AttentionGrad, {&r.value_grad}, 2);
  run(c, r, Op::Attention, {&r.lse}, 1);
}

TEST_CASE("cpu attention: all lengths and heads are the same code, but for the scale and whether heads fill their vectors") {
  const auto text_of = [](const Case& c, Op first, size_t count) {
    Reference r(c);
    std::vector<Array*> operands;
    return ir::print(lowered_call(one_call(nodes(c, r, first, count, operands))).tree, false);
  };
  const auto of_length = [](int64_t length, int64_t depth) {
    return Case{
        .length = length, .sources = length, .depth = depth, .value_depth = depth, .query = {2}, .key = {2}, .value = {2}, .scale = 0.25};
  };
  for (const auto& [first, count] : {std::pair(Op::Attention, 1), {Op::Attention, 2}, {Op::AttentionGrad, 3}}) {
    const auto results = static_cast<size_t>(count);
    const std::string text = text_of(of_length(64, 16), first, results);
    for (const int64_t length : {2, 5, 16, 33, 150}) CHECK(text_of(of_length(length, 16), first, results) == text);
    CHECK(text_of(of_length(20, 48), first, results) == text);
    Case rows_first = of_length(33, 16);
    rows_first.rows = 0;
    CHECK(text_of(rows_first, first, results) == text);
    CHECK(text_of(of_length(20, 20), first, results) != text);
  }
}

TEST_CASE("cpu attention: a row that sees nothing is 0; the others are not") {
  if (!jit::available()) return;
  for (const DType dtype : {DType::F32, DType::F16}) {
    const Case c{.dtype = dtype, .length = 9, .sources = 150, .depth = 8, .value_depth = 8, .mask = Mask::Bool};
    Reference r(c);
    std::fill_n(r.mask.numbers.begin() + 2 * c.sources, c.sources, 0.0);
    std::fill_n(r.mask.numbers.begin() + 4 * c.sources, 140, 0.0);  // row 4 sees nothing in the first tile
    r.mask.store();
    std::vector<Array*> operands;
    const std::vector<NodeRef> made = nodes(c, r, Op::Attention, 1, operands);
    const passes::Lowered lowered = lowered_call(one_call(made), 128);
    Array result(dtype, made[0]->shape());
    std::vector<void*> buffers;
    for (Array* a : operands) buffers.push_back(a->data());
    buffers.push_back(result.data());
    test::launch(lowered, code_of(lowered.tree), buffers, {}, 1);
    result.load();
    for (int64_t row = 0; row < c.length; ++row) CHECK((result.numbers[static_cast<size_t>(row * c.value_depth)] == 0) == (row == 2));
  }
}
