// Joining tensors: what a Cat of anything gives under every switch, how many kernels it takes, and how much it takes of
// many parts.
#include <doctest/doctest.h>

#include "runtime/evaluation_support.h"
#include "runtime/history/history.h"
#include "runtime/under_switches.h"

using namespace tenon;
using namespace tenon::runtime;
using namespace tenon::test;
using codegen::HostTensor;

namespace {

std::vector<std::string> kernels_of(std::initializer_list<ir::NodeRef> roots) {
  clear_kernel_history();
  test::evaluate(roots);
  std::vector<std::string> names;
  for (const KernelRecord& record : kernel_history()) names.push_back(record.name);
  return names;
}

using Names = std::vector<std::string>;

ir::NodeRef counting(ir::Dims shape, ir::DType dtype = ir::DType::F32) {
  return input_of(
      shape, [](int64_t i) { return static_cast<double>(i % 101); }, dtype);
}

}  // namespace

TEST_CASE("cat of parts in memory, of views of them, of values and of constants") {
  for (const char* dtype : {"f32", "f64", "i64", "f16", "u8", "bool"}) {
    const std::string t = dtype;
    for (const char* dim : {"0", "1", "2"}) {  // whole blocks, rows, and elements apart
      check("graph @g(%x: " + t + "[3,4,5], %y: " + t + "[3,4,5]) {\n  %0 = cat %x, %y, %x dim=" + dim + " : " + t +
            (*dim == '0'   ? "[9,4,5]"
             : *dim == '1' ? "[3,12,5]"
                           : "[3,4,15]") +
            "\n  return %0\n}");
    }
  }
  check(R"(graph @roll(%x: f32[40,17]) {
    %0 = slice %x starts=[33,0] steps=[1,1] sizes=[7,17] : f32[7,17]
    %1 = slice %x starts=[0,0] steps=[1,1] sizes=[33,17] : f32[33,17]
    %2 = cat %0, %1 dim=0 : f32[40,17]
    %3 = slice %2 starts=[0,12] steps=[1,1] sizes=[40,5] : f32[40,5]
    %4 = slice %2 starts=[0,0] steps=[1,1] sizes=[40,12] : f32[40,12]
    %5 = cat %3, %4 dim=1 : f32[40,17]
    return %5
  })");
  check(R"(graph @views(%x: f32[6,8], %y: f32[8,6]) {
    %0 = permute %y [1,0] : f32[6,8]
    %1 = flip %x dims=[1] : f32[6,8]
    %2 = slice %x starts=[0,1] steps=[1,3] sizes=[6,2] : f32[6,2]
    %3 = slice %x starts=[2,0] steps=[1,1] sizes=[1,8] : f32[1,8]
    %4 = expand %3 [6,8] : f32[6,8]
    %5 = slice %x starts=[0,3] steps=[1,1] sizes=[6,1] : f32[6,1]
    %6 = expand %5 [6,4] : f32[6,4]
    %7 = strided %x sizes=[6,3] strides=[5,1] offset=2 : f32[6,3]
    %8 = cat %0, %1, %2, %4, %6, %7, %5 dim=1 : f32[6,34]
    return %8
  })");
  check(R"(graph @values(%x: f32[5,4], %y: f32[5,4]) {
    %0 = add %x, %y : f32[5,4]
    %1 = mul %x, %y : f32[5,4]
    %2 = const 2.5 : f32[2,4]
    %3 = const -1.5 : f32[1,4]
    %4 = cat %2, %0, %0, %3, %1 dim=0 : f32[18,4]
    %5 = neg %1 : f32[5,4]
    %6 = cat %4, %5 dim=0 : f32[23,4]
    %7 = abs %0 : f32[5,4]
    return %6, %7, %1
  })");
  check(R"(graph @inner(%x: f32[5,4], %y: f32[5,3]) {
    %0 = abs %x : f32[5,4]
    %1 = neg %y : f32[5,3]
    %2 = const 7.0 : f32[5,2]
    %3 = iota dim=1 : i64[5,4]
    %4 = cast %3 : f32[5,4]
    %5 = cat %0, %1, %2, %x, %4 dim=1 : f32[5,17]
    %6 = reduce.sum %5 dims=[1] : f32[5,1]
    return %5, %6
  })");
  check(R"(graph @nothing(%x: f32[0,4], %y: f32[3,4]) {
    %0 = neg %y : f32[3,4]
    %1 = cat %x, %0, %x, %y dim=0 : f32[6,4]
    return %1
  })");
}

TEST_CASE("a cat larger than the caches, of blocks and of rows that begin anywhere in a line") {
  const auto numbers = [](ir::Dims shape) {
    return input_of(
        shape, [](int64_t i) { return static_cast<double>(i); }, ir::DType::I64);
  };
  const auto check_elements = [](const ir::NodeRef& x, const ir::NodeRef& y, const ir::NodeRef& joined, int64_t dim) {
    const HostTensor result = value_of(*joined);
    const int64_t rows = dim == 0 ? 1 : x->shape()[0], left = x->numel() / rows, right = y->numel() / rows;
    REQUIRE(result.numel() * 8 >= 32 << 20);
    int64_t wrong = 0;
    const auto* at = reinterpret_cast<const int64_t*>(result.data.data());
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t i = 0; i < left; ++i) wrong += *at++ != r * left + i;
      for (int64_t i = 0; i < right; ++i) wrong += *at++ != r * right + i;
    }
    CHECK(wrong == 0);
  };
  for (int threads : {1, 2}) {
    WithOptions options([&](Options& o) { o.threads = threads; });
    for (auto [rows, left, right] : {std::tuple{6007, 531, 187}, {4202, 1001, 2}, {66, 40001, 24000}}) {
      const ir::NodeRef x = numbers({rows, left}), y = numbers({rows, right}), joined = ir::cat({{x, y}}, 1);
      test::evaluate({joined});
      check_elements(x, y, joined, 1);
    }
    const ir::NodeRef x = numbers({2100001}), y = numbers({2200003}), joined = ir::cat({{x, y}}, 0);
    test::evaluate({joined});
    check_elements(x, y, joined, 0);
  }
}

TEST_CASE("what reads a cat of few parts takes it in, and loads at the borders what is there") {
  for (const char* shape : {"[7,3]", "[7,16]", "[7,40]", "[1,5]"}) {
    const std::string s = shape, n = s.substr(1, s.find(',') - 1), m = s.substr(s.find(',') + 1, s.size() - s.find(',') - 2);
    const std::string wide = "[" + n + "," + std::to_string(2 * std::stoi(m)) + "]";
    check("graph @g(%x: f32" + s + ", %y: f32" + s + ") {\n  %0 = cat %x, %y dim=1 : f32" + wide + "\n  %1 = abs %0 : f32" + wide +
          "\n  %2 = reduce.sum %1 dims=[1] : f32[" + n + ",1]\n  return %1, %2\n}");
    check("graph @p(%x: u8" + s + ") {\n  %c = const 3 : u8[]\n  %0 = pad %x, %c lo=[1,2] hi=[0,1] : u8[" +
          std::to_string(std::stoi(n) + 1) + "," + std::to_string(std::stoi(m) + 3) + "]\n  %1 = add %0, %0 : u8[" +
          std::to_string(std::stoi(n) + 1) + "," + std::to_string(std::stoi(m) + 3) + "]\n  return %1\n}");
  }
  check(R"(graph @short(%x: f32[200,1,8,1]) {
    %c = const 2.0 : f32[]
    %0 = pad %x, %c lo=[0,0,0,0] hi=[0,1,0,2] : f32[200,2,8,3]
    return %0
  })");
  WithOptions options;
  const ir::NodeRef x = counting({64, 32}), y = counting({64, 32});
  const ir::NodeRef parts[] = {x, y};
  CHECK(kernels_of({ir::unary(ir::Op::Exp, ir::cat(parts, 1))}) == Names{"cat_exp"});
  CHECK(kernels_of({ir::cat(parts, 1)}) == Names{"cat"});
}

TEST_CASE("parts that are computed are written where they belong if that is one block") {
  WithOptions options;
  const ir::NodeRef x = counting({64, 32}), y = counting({64, 32}), z = counting({64, 32});
  const auto joined = [&](int64_t dim) {
    const ir::NodeRef parts[] = {ir::unary(ir::Op::Exp, x), ir::unary(ir::Op::Neg, y), ir::unary(ir::Op::Abs, z)};
    return ir::cat(parts, dim);
  };
  const auto allocated = [&](const ir::NodeRef& root) {
    reset_peak_memory_stats();
    const int64_t before = memory_stats().allocated;
    test::evaluate({root});
    return memory_stats().peak_allocated - before;
  };
  const int64_t result = 3 * 64 * 32 * 4;
  CHECK(allocated(joined(0)) < result * 5 / 4);
  CHECK(allocated(joined(1)) >= 2 * result);
  CHECK(kernels_of({ir::unary(ir::Op::Sqrt, joined(0))}) == Names{"exp", "neg", "abs", "cat", "sqrt"});
}

TEST_CASE("another number of parts compiles nothing, and thousands of equal parts are one kernel") {
  WithOptions options;
  const ir::NodeRef x = counting({3000, 4});
  const auto rows = [&](int64_t count, bool computed) {
    std::vector<ir::NodeRef> parts;
    for (int64_t i = 0; i < count; ++i) {
      const int64_t start[] = {i, 0}, step[] = {1, 1}, size[] = {1, 4};
      ir::NodeRef row = ir::slice(x, start, step, size);
      parts.push_back(computed ? ir::binary(ir::Op::Mul, row, scalar(2.5, size)) : row);
    }
    return ir::cat(parts, 0);
  };
  reset_counters();
  for (int64_t count : {2, 3, 5, 8, 17, 1000}) {
    const ir::NodeRef y = rows(count, false);
    test::evaluate({y});
    REQUIRE(element(y, 4 * count - 1) == (4 * count - 1) % 101);
  }
  CHECK(counters().kernels_compiled == 0);
  for (int64_t count : {2, 3, 5, 8, 17, 3000}) {
    const ir::NodeRef y = rows(count, true);
    test::evaluate({y});
    REQUIRE(element(y, 4 * count - 1) == 2.5 * ((4 * count - 1) % 101));
  }
  CHECK(counters().kernels_compiled <= 1);
}

TEST_CASE("many roots that read one value share kernels, eight to a kernel") {
  WithOptions options;
  const ir::NodeRef x = counting({16});
  const int64_t shape[] = {16};
  std::vector<ir::NodeRef> roots;
  for (int i = 0; i < 3000; ++i) roots.push_back(ir::binary(ir::Op::Add, x, scalar(i + 0.5, shape)));
  reset_counters();
  clear_kernel_history();
  runtime::evaluate(std::span<const ir::NodeRef>(roots));
  CHECK(counters().launches <= 3000 / 8);
  CHECK(counters().kernels_compiled <= 3);
  for (int i = 0; i < 3000; ++i) REQUIRE(element(roots[static_cast<size_t>(i)], 7) == i + 7.5);
}

TEST_CASE("an update of a part of an input starts from that part") {
  check(R"(graph @part(%x: bool[5,3,7]) {
    %0 = slice %x starts=[0,2,0] steps=[1,1,1] sizes=[1,1,3] : bool[1,1,3]
    %1 = strided %0 sizes=[1,1,1] strides=[6,3,1] offset=0 : bool[1,1,1]
    %2 = update %0, %1 strides=[6,3,1] offset=0 : bool[1,1,3]
    return %2
  })");
}
