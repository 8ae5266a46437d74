// The graph interpreter against values worked out by hand or by an independent few lines.
#include <doctest/doctest.h>

#include <cmath>
#include <string>

#include "codegen/interpreter/interpreter.h"
#include "ir/graph/graph_evaluate.h"
#include "ir/kernel/reduce_tree.h"
#include "ir/op/scan_order.h"

using namespace tenon;
using codegen::HostTensor;
using ir::DType;

namespace {

HostTensor tensor(DType dtype, ir::Dims shape, std::vector<double> values) {
  HostTensor result = HostTensor::zeros(dtype, shape);
  for (size_t i = 0; i < values.size(); ++i) result.set(static_cast<int64_t>(i), ir::constant(dtype, values[i]));
  return result;
}

std::vector<double> values(const HostTensor& t) {
  std::vector<double> result;
  for (int64_t i = 0; i < t.numel(); ++i) result.push_back(ir::to_double(t.get(i)));
  return result;
}

// The first output of a one-line graph on %x: f32[2,3] = 0..5.
std::vector<double> on_counting(const std::string& line) {
  const ir::Graph graph = ir::parse_graph("graph @g(%x: f32[2,3]) {\n %r = " + line + "\n return %r }");
  return values(codegen::interpret(graph, {tensor(DType::F32, {2, 3}, {0, 1, 2, 3, 4, 5})})[0]);
}

using List = std::vector<double>;

}  // namespace

TEST_CASE("movement") {
  CHECK(on_counting("permute %x [1,0] : f32[3,2]") == List{0, 3, 1, 4, 2, 5});
  CHECK(on_counting("reshape %x [3,2] : f32[3,2]") == List{0, 1, 2, 3, 4, 5});
  CHECK(on_counting("slice %x starts=[1,0] steps=[1,2] sizes=[1,2] : f32[1,2]") == List{3, 5});
  CHECK(on_counting("flip %x dims=[1] : f32[2,3]") == List{2, 1, 0, 5, 4, 3});
  CHECK(on_counting("flip %x dims=[0,1] : f32[2,3]") == List{5, 4, 3, 2, 1, 0});
  CHECK(on_counting("cat %x, %x dim=1 : f32[2,6]") == List{0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5});
  CHECK(on_counting("cat %x, %x dim=0 : f32[4,3]") == List{0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5});
  CHECK(on_counting("iota dim=1 : i64[2,3]") == List{0, 1, 2, 0, 1, 2});
}

TEST_CASE("pad and expand") {
  const ir::Graph graph = ir::parse_graph(
      "graph @g(%x: i32[2,1]) {\n %k = const 7 : i32[]\n %p = pad %x, %k lo=[0,1] hi=[1,0] : i32[3,2]\n"
      " %e = expand %x [2,3] : i32[2,3]\n return %p, %e }");
  const auto results = codegen::interpret(graph, {tensor(DType::I32, {2, 1}, {1, 2})});
  CHECK(values(results[0]) == List{7, 1, 7, 2, 7, 7});
  CHECK(values(results[1]) == List{1, 1, 1, 2, 2, 2});
}

TEST_CASE("reductions") {
  CHECK(on_counting("reduce.sum %x dims=[1] : f32[2,1]") == List{3, 12});
  CHECK(on_counting("reduce.sum %x dims=[0] : f32[1,3]") == List{3, 5, 7});
  CHECK(on_counting("reduce.prod %x dims=[0,1] : f32[1,1]") == List{0});
  CHECK(on_counting("reduce.max %x dims=[0,1] : f32[1,1]") == List{5});
  CHECK(on_counting("reduce.argmax %x dims=[0,1] : i64[1,1]") == List{5});
  CHECK(on_counting("reduce.argmin %x dims=[1] : i64[2,1]") == List{0, 0});
}

TEST_CASE("argmax: the first of equals, the first nan before every number, 0 of nothing") {
  const ir::Graph graph = ir::parse_graph("graph @g(%x: f32[6]) {\n %r = reduce.argmax %x dims=[0] : i64[1]\n return %r }");
  const auto argmax = [&](List list) { return values(codegen::interpret(graph, {tensor(DType::F32, {6}, list)})[0])[0]; };
  const double nan = std::nan(""), inf = HUGE_VAL;
  CHECK(argmax({1, 3, 2, 3, 3, 0}) == 1);
  CHECK(argmax({1, inf, nan, 3, nan, 0}) == 2);
  CHECK(argmax({-inf, -inf, -inf, -inf, -inf, -inf}) == 0);
  CHECK(argmax({-0.0, 0.0, -0.0, 0.0, 0.0, 0.0}) == 0);
  const ir::Graph empty = ir::parse_graph("graph @g(%x: f32[0]) {\n %r = reduce.argmin %x dims=[0] : i64[1]\n return %r }");
  CHECK(values(codegen::interpret(empty, {tensor(DType::F32, {0}, {})})[0]) == List{0});
}

TEST_CASE("the tree of a reduction is chosen by its dims") {
  using ir::ReduceTree;
  CHECK(ir::reduce_tree(ir::Dims{4, 5}, ir::Dims{1}) == ReduceTree::Lanes);
  CHECK(ir::reduce_tree(ir::Dims{4, 5}, ir::Dims{0}) == ReduceTree::Columns);
  CHECK(ir::reduce_tree(ir::Dims{4, 1}, ir::Dims{0}) == ReduceTree::Lanes);
  CHECK(ir::reduce_tree(ir::Dims{4, 5, 1}, ir::Dims{0, 2}) == ReduceTree::Columns);
  CHECK(ir::reduce_tree(ir::Dims{1, 1}, ir::Dims{0}) == ReduceTree::Lanes);
}

TEST_CASE("sums follow the lanes, blocks and columns of kernel.h") {
  // Written out once more from the definition, on plain arrays: products of floats, which keep plain order. Sums:
  // kernel_interpreter_test.cpp.
  const auto lanes_of = [](const std::vector<float>& x, size_t begin, size_t end) {
    std::vector<float> lane(64, 1.0f);
    for (size_t i = begin; i < end; ++i) lane[i % 64] *= x[i];
    for (size_t half = 32; half; half /= 2) {
      for (size_t j = 0; j < half; ++j) lane[j] *= lane[j + half];
    }
    return lane[0];
  };
  for (size_t n : {1u, 63u, 64u, 65u, 4095u, 4096u, 4097u, 20000u, 300000u}) {
    std::vector<float> x(n);
    for (size_t i = 0; i < n; ++i) x[i] = 1 + (static_cast<float>((i * 2654435761u) % 1000003) * 1e-6f - 0.5f) * 1e-3f;
    std::vector<float> blocks;
    for (size_t begin = 0; begin < n; begin += 4096) blocks.push_back(lanes_of(x, begin, std::min(n, begin + 4096)));
    const float expected = blocks.size() == 1 ? blocks[0] : lanes_of(blocks, 0, blocks.size());
    const auto product = [](float a, float b) { return a * b; };
    const auto at = [&](int64_t i) { return x[static_cast<size_t>(i)]; };
    const ir::Dims extents{static_cast<int64_t>(n)};
    CHECK(ir::reduce_in_order(ir::ReduceTree::Lanes, extents, 1.0f, at, product) == expected);

    float columns = 1;
    for (size_t begin = 0; begin < n; begin += 256) {
      float block = 1;
      for (size_t i = begin; i < std::min(n, begin + 256); ++i) block *= x[i];
      columns *= block;
    }
    CHECK(ir::reduce_in_order(ir::ReduceTree::Columns, extents, 1.0f, at, product) == columns);
  }
  // Short rows share a block: 4096 / 100 = 40 rows of 100, each element in lane i mod 64 of its row.
  std::vector<float> x(9300), lane(64, 1.0f), blocks;
  for (size_t i = 0; i < x.size(); ++i) x[i] = 1 + std::sin(static_cast<float>(i)) * 1e-3f;
  for (size_t row = 0; row < 93; ++row) {
    for (size_t i = 0; i < 100; ++i) lane[i % 64] *= x[row * 100 + i];
    if (row % 40 != 39 && row != 92) continue;
    blocks.push_back(lanes_of(lane, 0, 64));
    lane.assign(64, 1.0f);
  }
  const ir::Dims extents{3, 31, 100};
  const float total = ir::reduce_in_order(
      ir::ReduceTree::Lanes, extents, 1.0f, [&](int64_t i) { return x[static_cast<size_t>(i)]; }, [](float a, float b) { return a * b; });
  CHECK(total == lanes_of(blocks, 0, blocks.size()));
}

TEST_CASE("running sums follow the runs, blocks and spans of scan_order.h") {
  // Written out once more from the definition, on plain arrays.
  constexpr size_t kCount = 600000, kRun = 64, kBlock = 4096, kSpan = 262144;
  std::vector<float> x(kCount);
  for (size_t i = 0; i < kCount; ++i) x[i] = static_cast<float>((i * 2654435761u) % 1000003) * 1e-4f - 40.0f;
  // The sum of parts[first..end), in order.
  const auto in_order = [](const std::vector<float>& parts, size_t first, size_t end) {
    float sum = -0.0f;
    for (size_t i = first; i < end; ++i) sum += parts[i];
    return sum;
  };
  std::vector<float> runs, blocks, spans;
  for (size_t i = 0; i < kCount; i += kRun) runs.push_back(in_order(x, i, std::min(kCount, i + kRun)));
  for (size_t i = 0; i < runs.size(); i += 64) blocks.push_back(in_order(runs, i, std::min(runs.size(), i + 64)));
  for (size_t i = 0; i < blocks.size(); i += 64) spans.push_back(in_order(blocks, i, std::min(blocks.size(), i + 64)));
  const auto sum = [](float a, float b) { return a + b; };
  ir::ScanInOrder by_runs(true, -0.0f, sum), plain(false, -0.0f, sum);
  float before = -0.0f, run = -0.0f, total = -0.0f;
  size_t wrong = 0;
  for (size_t s = 0; s < kCount; ++s) {
    if (s % kRun == 0) {
      before = in_order(spans, 0, s / kSpan) + in_order(blocks, s / kSpan * 64, s / kBlock);
      before += in_order(runs, s / kBlock * 64, s / kRun);
      run = -0.0f;
    }
    run += x[s];
    total += x[s];
    wrong += by_runs.next(x[s]) != before + run;
    wrong += plain.next(x[s]) != total;
  }
  CHECK(wrong == 0);
  CHECK(ir::scan_by_runs(ir::Op::ScanSum, ir::DType::F32));
  CHECK_FALSE(ir::scan_by_runs(ir::Op::ScanSum, ir::DType::I32));
  CHECK_FALSE(ir::scan_by_runs(ir::Op::ScanProd, ir::DType::F32));
}

TEST_CASE("halves accumulate in float and round once; integers wrap") {
  HostTensor ones = HostTensor::zeros(DType::F16, ir::Dims{4096});
  for (int64_t i = 0; i < 4096; ++i) ones.set(i, ir::constant(DType::F16, i ? 1.0 : 0.25));
  const ir::Graph sum = ir::parse_graph("graph @g(%x: f16[4096]) {\n %r = reduce.sum %x dims=[0] : f16[1]\n return %r }");
  CHECK(values(codegen::interpret(sum, {ones})[0]) == List{4096});  // 4095.25, rounded at the end
  const ir::Graph wrap = ir::parse_graph("graph @g(%x: i8[3]) {\n %r = reduce.sum %x dims=[0] : i8[1]\n return %r }");
  CHECK(values(codegen::interpret(wrap, {tensor(DType::I8, {3}, {100, 100, 100})})[0]) == List{44});
}

TEST_CASE("dot: batches, one fused rounding a step, halves through float") {
  const ir::Graph graph = ir::parse_graph(
      "graph @g(%a: f32[2,1,2], %b: f32[2,2,2], %i: u8[1,2], %j: u8[2,1], %h: f16[1,3], %k: f16[3,1]) {\n"
      " %r = dot %a, %b : f32[2,1,2]\n %s = dot %i, %j : u8[1,1]\n %t = dot %h, %k : f16[1,1]\n return %r, "
      "%s, %t }");
  const auto results =
      codegen::interpret(graph, {tensor(DType::F32, {2, 1, 2}, {1, 2, 3, 4}), tensor(DType::F32, {2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8}),
                                 tensor(DType::U8, {1, 2}, {16, 1}), tensor(DType::U8, {2, 1}, {16, 3}),
                                 tensor(DType::F16, {1, 3}, {300, 300, 1}), tensor(DType::F16, {3, 1}, {300, -300, 5})});
  CHECK(values(results[0]) == List{7, 10, 43, 50});
  CHECK(values(results[1]) == List{3});
  CHECK(values(results[2]) == List{5});
  const ir::Graph fused = ir::parse_graph("graph @g(%a: f32[1,2], %b: f32[2,1]) {\n %r = dot %a, %b : f32[1,1]\n return %r }");
  const double e = 1 + 0x1p-12;
  const auto r = codegen::interpret(fused, {tensor(DType::F32, {1, 2}, {-1 - 0x1p-11, e}), tensor(DType::F32, {2, 1}, {1, e})});
  CHECK(values(r[0]) == List{0x1p-24});
}

TEST_CASE("inputs must fit the graph") {
  const ir::Graph graph = ir::parse_graph("graph @g(%x: f32[2]) {\n return %x }");
  CHECK_THROWS_AS(codegen::interpret(graph, {}), ir::IrError);
  CHECK_THROWS_AS(codegen::interpret(graph, {HostTensor::zeros(DType::F32, ir::Dims{3})}), ir::IrError);
  CHECK_THROWS_AS(codegen::interpret(graph, {HostTensor::zeros(DType::F64, ir::Dims{2})}), ir::IrError);
  CHECK(values(codegen::interpret(graph, {tensor(DType::F32, {2}, {1, 2})})[0]) == List{1, 2});
}
