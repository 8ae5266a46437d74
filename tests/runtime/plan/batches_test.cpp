// Graphs that give very many values: how few plans they take, that nothing is computed twice, and that another number of
// values compiles nothing.
#include <doctest/doctest.h>

#include "runtime/evaluation_support.h"
#include "runtime/history/history.h"
#include "runtime/plan/batches.h"
#include "runtime/under_switches.h"

using namespace tenon;
using namespace tenon::runtime;
using namespace tenon::test;
using ir::NodeRef;
using ir::Op;

namespace {

using Nodes = std::vector<NodeRef>;
using Shape = std::vector<int64_t>;
const Shape kFour{4};

NodeRef counting(int64_t count) {
  return input_of(Shape{count}, [](int64_t i) { return static_cast<double>(i % 101); });
}
NodeRef part(const NodeRef& x, int64_t i) { return ir::slice(x, Shape{4 * i}, Shape{1}, kFour); }
NodeRef times(const NodeRef& x, double by) { return ir::binary(Op::Mul, x, scalar(by, x->shape())); }
NodeRef plus(const NodeRef& x, double y) { return ir::binary(Op::Add, x, scalar(y, x->shape())); }

// `count` values, each of four elements of x.
Nodes of_parts(const NodeRef& x, int64_t count) {
  Nodes result;
  for (int64_t i = 0; i < count; ++i) result.push_back(plus(times(part(x, i), 2), static_cast<double>(i)));
  return result;
}

void evaluate_all(const Nodes& roots) { runtime::evaluate(std::span<const NodeRef>(roots)); }

std::vector<size_t> sizes_of_batches(const Nodes& roots, int64_t size) {
  GraphKey key;
  key.read(roots, 0);
  std::vector<size_t> sizes;
  for (const Nodes& batch : batches_of(key, size)) sizes.push_back(batch.size());
  return sizes;
}

// How many operations an evaluation runs.
int64_t operations_of(const Nodes& roots) {
  clear_kernel_history();
  evaluate_all(roots);
  int64_t count = 0;
  for (const KernelRecord& record : kernel_history()) count += record.ops;
  return count;
}

}  // namespace

TEST_CASE("batches: values that are alike have few plans, and another number of them compiles nothing") {
  WithOptions options;
  const NodeRef x = counting(4 * 20001);
  for (const bool small_first : {true, false}) {
    CAPTURE(small_first);
    clear_caches();
    reset_counters();
    const int64_t first = small_first ? 1100 : 20000;
    evaluate_all(of_parts(x, first));
    const Counters before = counters();
    CHECK(before.plans_built <= 4);
    CHECK(before.kernels_compiled <= 4);
    const Nodes again = of_parts(x, first + 1);
    evaluate_all(again);
    CHECK(counters().plans_built <= before.plans_built + 1);
    CHECK(counters().kernels_compiled == before.kernels_compiled);
    for (int64_t i : {int64_t{0}, int64_t{1}, int64_t{255}, int64_t{256}, first - 1, first})
      CHECK(element(again[static_cast<size_t>(i)], 3) == static_cast<double>(2 * ((4 * i + 3) % 101) + i));
  }
}

TEST_CASE("batches: a new number of values compiles nothing, below the least too") {
  WithOptions options;
  const NodeRef x = counting(4 * 1001);
  evaluate_all(of_parts(x, 500));
  reset_counters();
  evaluate_all(of_parts(x, 501));
  CHECK(counters().kernels_compiled == 0);
}

TEST_CASE("batches: a value that several of them read is computed once") {
  WithOptions options([](Options& o) { o.batch = 8; });
  const NodeRef x = counting(4 * 100);
  {
    const NodeRef common = ir::unary(Op::Exp, x);
    Nodes roots;
    for (int64_t i = 0; i < 100; ++i) roots.push_back(times(part(common, i), 2.5));
    CHECK(operations_of(roots) == 101);
  }
  {  // each is computed from the one before, and the last one comes first
    Nodes roots{x};
    for (int i = 1; i < 100; ++i) roots.push_back(plus(ir::unary(Op::Tanh, roots.back()), i));
    std::reverse(roots.begin(), roots.end());
    CHECK(operations_of(roots) == 2 * 99);
  }
}

TEST_CASE("batches: what one of them reads of another is a root there; views are read through") {
  const NodeRef x = counting(4 * 16);
  const NodeRef common = ir::unary(Op::Exp, x), view = ir::reshape(common, Shape{16, 4});
  Nodes roots;
  for (int64_t i = 0; i < 16; ++i) roots.push_back(times(ir::slice(view, Shape{i, 0}, Shape{1, 1}, Shape{1, 4}), 2.5));
  CHECK(sizes_of_batches(roots, 4) == std::vector<size_t>{5, 4, 4, 4});
  CHECK(sizes_of_batches(roots, 8) == std::vector<size_t>{9, 8});
  CHECK(sizes_of_batches(roots, 9) == std::vector<size_t>{1, 4, 4, 4, 4});  // as rounds, since there are too few values
  CHECK(sizes_of_batches(roots, 0) == std::vector<size_t>{});
  CHECK(sizes_of_batches(of_parts(x, 16), 3) == std::vector<size_t>{3, 3, 3, 3, 3, 1});
}

TEST_CASE("batches: small operands of a wide cat are computed first") {
  WithOptions options;
  const NodeRef x = counting(4 * 20001);
  const auto joined = [&](int64_t count) {
    const Nodes parts = of_parts(x, count);
    return ir::cat(parts, 0);
  };
  clear_caches();
  reset_counters();
  const NodeRef y = joined(20000);
  evaluate_all({y});
  const Counters before = counters();
  CHECK(before.plans_built <= 4);
  for (int64_t i : {0, 1, 255, 256, 19999}) CHECK(element(y, 4 * i + 3) == static_cast<double>(2 * ((4 * i + 3) % 101) + i));
  evaluate_all({joined(20001)});
  CHECK(counters().kernels_compiled == before.kernels_compiled);
}

TEST_CASE("batches: an update of what others read, and what is held, have the same bits in batches of any size") {
  check(R"(graph @g(%x: f32[24], %y: f32[3]) {
    %0 = exp %x : f32[24]
    %1 = slice %0 starts=[3] steps=[1] sizes=[3] : f32[3]
    %2 = add %1, %y : f32[3]
    %3 = update %0, %2 strides=[1] offset=6 : f32[24]
    %4 = slice %3 starts=[5] steps=[2] sizes=[3] : f32[3]
    %5 = mul %4, %2 : f32[3]
    %6 = update %3, %5 strides=[1] offset=0 : f32[24]
    %7 = cat %2, %5, %y, %1, %4 dim=0 : f32[15]
    %8 = neg %7 : f32[15]
    %9 = reshape %6 [4,6] : f32[4,6]
    %10 = permute %9 [1,0] : f32[6,4]
    %11 = abs %10 : f32[6,4]
    return %11, %8, %5, %2, %10, %7, %6, %4
  })");
}

namespace {
// A loop whose rounds of 29 operations read what the one before made.
NodeRef chain(const NodeRef& x, int64_t rounds) {
  NodeRef h = part(x, 0), sum = h;
  for (int64_t i = 0; i < rounds; ++i) {
    h = ir::unary(Op::Neg, ir::binary(Op::Mul, plus(h, 0.25), part(x, i)));
    for (int k = 0; k < 12; ++k) h = times(ir::unary(Op::Abs, h), 0.5);
    sum = ir::binary(Op::Add, sum, h);
  }
  return sum;
}
}  // namespace

TEST_CASE("batches: rounds of a loop share plans, whatever their number") {
  WithOptions options([](Options& o) { o.backend = Options::Backend::Interpreter; });
  const NodeRef x = counting(4 * 400);
  clear_caches();
  for (const int64_t rounds : {60, 61, 67}) evaluate_all({chain(x, rounds)});
  reset_counters();
  for (const int64_t rounds : {62, 75, 150, 301}) evaluate_all({chain(x, rounds)});
  CHECK(counters().plans_built <= 2);
  const NodeRef in_rounds = chain(x, 97);
  evaluate_all({in_rounds});
  const WithOptions whole([](Options& o) { o.batch = 0; });
  const NodeRef at_once = chain(x, 97);
  evaluate_all({at_once});
  for (int64_t i = 0; i < 4; ++i) CHECK(element(in_rounds, i) == element(at_once, i));
}

TEST_CASE("batches: rounds that read nothing of each other share plans too") {
  WithOptions options([](Options& o) { o.backend = Options::Backend::Interpreter; });
  const NodeRef x = counting(4 * 400);
  const auto sum = [&](int64_t rounds) {
    Nodes parts;
    for (int64_t i = 0; i < rounds; ++i) {
      NodeRef h = part(x, i);
      for (int k = 0; k < 20; ++k) h = times(ir::unary(Op::Neg, h), 0.75);
      parts.push_back(h);
    }
    return ir::reduce(Op::Sum, ir::cat(parts, 0), Shape{0});
  };
  clear_caches();
  for (const int64_t rounds : {60, 61, 67}) evaluate_all({sum(rounds)});
  reset_counters();
  for (const int64_t rounds : {62, 75, 150, 301}) evaluate_all({sum(rounds)});
  CHECK(counters().plans_built <= 8);  // the sums, and a number of rounds that is new
  const NodeRef in_rounds = sum(97);
  evaluate_all({in_rounds});
  const WithOptions whole([](Options& o) { o.batch = 0; });
  const NodeRef at_once = sum(97);
  evaluate_all({at_once});
  CHECK(element(in_rounds) == element(at_once));
}

TEST_CASE("batches: each operation of a loop runs once, and what nobody reads later is not stored") {
  WithOptions options([](Options& o) { o.backend = Options::Backend::Interpreter; });
  const NodeRef x = counting(4 * 400);
  const NodeRef root = chain(x, 80);
  GraphKey key;
  key.read({&root, 1}, 0);
  const auto batches = batches_of(key, 256);
  REQUIRE(batches.size() > 8);
  size_t roots = 0;
  for (const Nodes& batch : batches) roots += batch.size();
  CHECK(roots <= 3 * batches.size());  // h and the sum
}
