// Updates, indexed access, scans and sorting through evaluate(), against the graph interpreter: alone,
// between other operations, through views, and under every switch.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "runtime/cpu/index_bounds.h"
#include "runtime/evaluation_support.h"
#include "runtime/under_switches.h"
#include "support/random_graph.h"

using namespace tenon;
using namespace tenon::runtime;
using namespace tenon::test;
using codegen::HostTensor;

namespace {

// Values with nan, infinities, zeros of both signs and small ones among them; of an integer type, with its wrapping sums.
HostTensor mixed_values(ir::DType dtype, const ir::Dims& shape, int64_t seed) {
  const double odd[] = {0.0, -0.0, std::nan(""), HUGE_VAL, -HUGE_VAL, 1e-40, -6e-8, 65504.0, 0.1, -3.7};
  HostTensor x = HostTensor::zeros(dtype, shape);
  for (int64_t i = 0; i < x.numel(); ++i) {
    const int64_t mixed = (i + seed) * 7919 % 1009;
    const bool is_odd = mixed % 7 == 0 && ir::is_float(dtype);
    x.set(i, is_odd ? ir::constant(dtype, odd[mixed % 10]) : ir::constant(dtype, (mixed - 500) % 101));
  }
  return x;
}

}  // namespace

TEST_CASE("each indexed operation, alone and between others") {
  check(R"(graph @g(%x: f32[4,5], %y: f32[2,3]) {
    %0 = neg %x : f32[4,5]
    %1 = exp %y : f32[2,3]
    %2 = update %0, %1 strides=[5,1] offset=6 : f32[4,5]
    %3 = add %2, %0 : f32[4,5]
    return %3
  })");
  for (const char* op : {"scatter.set", "scatter.add", "scatter.mul", "scatter.max", "scatter.min"}) {
    check(std::string("graph @g(%x: f32[5,3], %i: i64[4,3], %v: f32[4,3]) {\n  %0 = ") + op +
          " %x, %i, %v dim=0 : f32[5,3]\n  %1 = mul %0, %0 : f32[5,3]\n  return %0, %1\n}");
    check(std::string("graph @g(%x: f32[3,5], %i: i64[3,4], %v: f32[3,4]) {\n  %n = neg %x : f32[3,5]\n  %0 = ") + op +
          " %n, %i, %v dim=1 : f32[3,5]\n  %1 = mul %0, %n : f32[3,5]\n  return %1\n}");
  }
  check(R"(graph @g(%x: f32[5,3], %i: i64[4,3]) {
    %0 = neg %x : f32[5,3]
    %1 = gather %0, %i dim=0 : f32[4,3]
    %2 = exp %1 : f32[4,3]
    return %2
  })");
}

TEST_CASE("a scatter's index that is the same along a row is read once a row") {
  for (const char* index : {"[4,1]", "[1,6]", "[1,1]"}) {
    for (const char* dim : {"0", "1"}) {
      check(std::string("graph @g(%x: f32[5,6], %i: i64") + index + ", %v: f32[4,6]) {\n  %0 = expand %i [4,6] : i64[4,6]\n" +
            "  %1 = scatter.add %x, %0, %v dim=" + dim + " : f32[5,6]\n  return %1\n}");
    }
  }
  check(R"(graph @g(%i: i64[5,1]) {
    %0 = expand %i [5,5] : i64[5,5]
    %1 = scatter.add %0, %0, %0 dim=1 : i64[5,5]
    return %1
  })");
}

TEST_CASE("a transposed matrix that becomes a vector, or is written into a part of one") {
  for (const std::string type : {"f32", "f16", "i64", "u8"}) {
    for (const auto& [rows, columns] : {std::pair{9, 8}, std::pair{37, 50}, std::pair{64, 130}}) {
      const int count = rows * columns;
      const std::string r = std::to_string(rows), c = std::to_string(columns), n = std::to_string(count), m = std::to_string(2 * count);
      const std::string whole = type + "[" + m + "]", turned = "  %0 = permute %x [0,2,1] : " + type + "[2," + c + "," + r + "]\n";
      check("graph @g(%x: " + type + "[2," + r + "," + c + "]) {\n" + turned + "  %1 = reshape %0 [" + m + "] : " + whole +
            "\n  %2 = add %1, %1 : " + whole + "\n  return %2\n}");
      check("graph @g(%x: " + type + "[" + r + "," + c + "], %y: " + whole + ") {\n  %0 = permute %x [1,0] : " + type + "[" + c + "," + r +
            "]\n  %1 = reshape %0 [" + n + "] : " + type + "[" + n + "]\n  %2 = update %y, %1 strides=[1] offset=3 : " + whole +
            "\n  return %2\n}");
    }
  }
}

TEST_CASE("scans along the last dim, another one, and of one line") {
  constexpr const char* types[] = {"f32", "f16", "i32"};
  size_t next = 0;
  for (const char* op : {"scan.sum", "scan.prod", "scan.max", "scan.min"}) {
    for (const char* of : {"[37] dim=0", "[6,70] dim=0", "[6,70] dim=1", "[6,1] dim=1"}) {
      const std::string text = of;
      const auto space = text.find(' ');
      const std::string t = types[next++ % 3] + text.substr(0, space);
      check("graph @g(%x: " + t + ") {\n  %0 = neg %x : " + t + "\n  %1 = " + op + " %0" + text.substr(space) + " : " + t +
            "\n  %2 = mul %1, %x : " + t + "\n  return %1, %2\n}");
    }
  }
}

TEST_CASE("scans side by side: every dtype, lengths around those of parts and chunks, few lines and many") {
  for (int t = 0; t < ir::kDTypeCount; ++t) {
    const auto dtype = static_cast<ir::DType>(t);
    CAPTURE(ir::name(dtype));
    for (const ir::Dims& shape :
         {ir::Dims{3, 31}, ir::Dims{3, 64}, ir::Dims{2, 255}, ir::Dims{2, 256}, ir::Dims{2, 403}, ir::Dims{2, 1024}, ir::Dims{2, 1091},
          ir::Dims{1, 5000}, ir::Dims{33, 31}, ir::Dims{34, 66}, ir::Dims{35, 257}, ir::Dims{32, 600}}) {
      const HostTensor x = mixed_values(dtype, shape, shape[1]);
      for (ir::Op op : {ir::Op::ScanSum, ir::Op::ScanProd, ir::Op::ScanMax, ir::Op::ScanMin}) {
        if (dtype == ir::DType::Bool) continue;
        const auto made = [&](const ir::NodeRef& input) {  // two, the second over the first, and something beside them
          const ir::NodeRef first = ir::scan(op, ir::unary(ir::Op::Neg, input), 1);
          return std::vector<ir::NodeRef>{first, ir::scan(ir::Op::ScanMax, ir::binary(ir::Op::Add, first, input), 1)};
        };
        std::vector<HostTensor> expected = codegen::interpret(ir::Graph::of(made(ir::make_input(dtype, shape))), {x});
        for (int threads : {1, 2}) {
          WithOptions options([&](Options& o) { o.threads = threads, o.first_tier = threads - 1; });  // compiled; as bytecode
          std::vector<ir::NodeRef> results = made(input_of(x));
          evaluate(results);
          for (size_t r = 0; r < results.size(); ++r) CHECK(same_elements(value_of(*results[r]), expected[r]));
        }
      }
    }
  }
}

TEST_CASE("sorting, through views and constants") {
  for (const char* attributes : {"dim=0 descending=0", "dim=1 descending=0", "dim=0 descending=1", "dim=1 descending=1"}) {
    check(std::string(R"(graph @g(%x: f32[7,40]) {
    %0 = permute %x [1,0] : f32[40,7]
    %1 = sort %0 )") +
          attributes + R"( : i64[40,7]
    %2 = neg %x : f32[7,40]
    %3 = reshape %2 [40,7] : f32[40,7]
    %4 = sort %3 )" +
          attributes + R"( : i64[40,7]
    %5 = add %1, %4 : i64[40,7]
    return %1, %5
  })");
  }
}

TEST_CASE("a routine reads what the kernel that reads its result reads too") {
  check(R"(graph @g(%x: f32[5,8]) {
    %0 = neg %x : f32[5,8]
    %1 = sort %0 dim=1 descending=0 : i64[5,8]
    %2 = cast %1 : f32[5,8]
    %3 = add %0, %2 : f32[5,8]
    %4 = sort %3 dim=0 descending=0 : i64[5,8]
    %5 = add %4, %1 : i64[5,8]
    return %5, %0
  })");
}

TEST_CASE("sorting: every dtype, every kind of line, nan and signed zeros, the same on any number of threads") {
  const double odd[] = {0.0, -0.0, std::nan(""), HUGE_VAL, -HUGE_VAL, -1.0, 1.0, 1e-40, -1e-40, 65504.0};
  for (int t = 0; t < ir::kDTypeCount; ++t) {
    const auto dtype = static_cast<ir::DType>(t);
    CAPTURE(ir::name(dtype));
    for (const ir::Dims& shape : {ir::Dims{1}, ir::Dims{3, 40}, ir::Dims{41, 5}, ir::Dims{70, 24}, ir::Dims{2, 700, 3}}) {
      HostTensor x = HostTensor::zeros(dtype, shape);
      for (int64_t i = 0; i < x.numel(); ++i) {
        const int64_t mixed = i * 7919 % 251;
        x.set(i, mixed % 5 == 0 ? ir::constant(dtype, ir::is_float(dtype) ? odd[mixed % 10] : 0.0) : ir::constant(dtype, mixed - 100));
      }
      for (int64_t dim = 0; dim < static_cast<int64_t>(shape.size()); ++dim) {
        for (bool descending : {false, true}) {
          ir::NodeRef node = ir::sort(ir::make_input(dtype, shape), dim, descending);
          HostTensor expected = codegen::interpret(ir::Graph::of({{node}}), {x})[0];
          ir::NodeRef sorted = ir::sort(input_of(x), dim, descending);
          WithOptions options;
          evaluate({sorted});
          CHECK(same_elements(value_of(*sorted), expected));
        }
      }
    }
  }
}

TEST_CASE("sorting: one long line is cut into pieces for the threads") {
  const int64_t count = 300'001;
  ir::NodeRef x = input_of(ir::Dims{count}, [](int64_t i) { return static_cast<double>(i * 7919 % 1009) - 500; });
  const auto* values = static_cast<const float*>(buffer_of(*x)->data());
  std::vector<int64_t> expected(static_cast<size_t>(count));
  std::iota(expected.begin(), expected.end(), 0);
  std::stable_sort(expected.begin(), expected.end(), [&](int64_t a, int64_t b) { return values[a] < values[b]; });
  for (int threads : {1, 2, 3}) {
    CAPTURE(threads);
    WithOptions options([&](Options& o) { o.threads = threads; });
    ir::NodeRef order = ir::sort(x, 0, false);
    evaluate({order});
    const auto* got = static_cast<const int64_t*>(buffer_of(*order)->data());
    CHECK(std::equal(expected.begin(), expected.end(), got));
  }
}

TEST_CASE("scatter: wide rows on several threads, sums in order") {
  WithOptions options([](Options& o) { o.threads = 3; });
  const ir::Dims shape{500, 70};
  ir::NodeRef base = input_of(ir::Dims{5, 70}, [](int64_t i) { return static_cast<double>(i); });
  ir::NodeRef index = input_of(
      shape, [](int64_t i) { return static_cast<double>(i * 31 % 5); }, ir::DType::I64);
  ir::NodeRef value = input_of(shape, [](int64_t i) { return static_cast<double>(i % 97) / 3; });
  for (ir::Op op : {ir::Op::Scatter, ir::Op::ScatterAdd, ir::Op::ScatterMul, ir::Op::ScatterMax, ir::Op::ScatterMin}) {
    auto placeholder = [](const ir::NodeRef& n) { return ir::make_input(n->dtype(), n->shape()); };
    ir::NodeRef node = ir::scatter(op, placeholder(base), placeholder(index), placeholder(value), 0);
    HostTensor expected = codegen::interpret(ir::Graph::of({{node}}), {value_of(*base), value_of(*index), value_of(*value)})[0];
    ir::NodeRef result = ir::scatter(op, base, index, value, 0);
    evaluate({result});
    CHECK(same_elements(value_of(*result), expected));
  }
}

TEST_CASE("scatter: every dtype, every way in which runs lie, the same on any number of threads") {
  struct Form {
    ir::Dims base, shape;  // of base; of index and value
    int64_t dim;
    ir::Dims stored;  // of the index, which is expanded
  };
  const Form forms[] = {
      {{9}, {40}, 0, {40}},                    // elements
      {{30, 9}, {30, 21}, 1, {30, 21}},        // rows of elements
      {{30, 9}, {20, 21}, 1, {1, 21}},         // the index of each row alike
      {{9, 40}, {21, 33}, 0, {21, 33}},        // runs whose elements have places of their own
      {{9, 40}, {21, 40}, 0, {21, 1}},         // runs with one place
      {{9, 4, 5}, {21, 4, 5}, 0, {21, 1, 1}},  // two dims that are one run
      {{9, 4, 5}, {21, 4, 3}, 0, {21, 1, 1}},  // two that are not
      {{3, 9, 5}, {3, 21, 5}, 1, {1, 21, 1}},  // a dim on each side
      {{3, 9, 5}, {2, 21, 1}, 1, {2, 21, 1}},  // runs of one element
      {{2, 3, 9}, {2, 3, 21}, 2, {1, 1, 21}},  // rows of two dims
  };
  for (int t = 0; t < ir::kDTypeCount; ++t) {
    const auto dtype = static_cast<ir::DType>(t);
    CAPTURE(ir::name(dtype));
    for (const Form& form : forms) {
      const HostTensor base = mixed_values(dtype, form.base, 1), value = mixed_values(dtype, form.shape, 5);
      HostTensor index = HostTensor::zeros(ir::DType::I64, form.stored);
      for (int64_t i = 0; i < index.numel(); ++i) index.set(i, ir::constant(ir::DType::I64, i * 31 % 9));
      for (ir::Op op : {ir::Op::Scatter, ir::Op::ScatterAdd, ir::Op::ScatterMul, ir::Op::ScatterMax, ir::Op::ScatterMin}) {
        if (dtype == ir::DType::Bool && (op == ir::Op::ScatterAdd || op == ir::Op::ScatterMul)) continue;
        const auto made = [&](const ir::NodeRef& x, const ir::NodeRef& i, const ir::NodeRef& v) {
          return ir::scatter(op, x, form.stored == form.shape ? i : ir::expand(i, form.shape), v, form.dim);
        };
        const ir::NodeRef node =
            made(ir::make_input(dtype, form.base), ir::make_input(ir::DType::I64, form.stored), ir::make_input(dtype, form.shape));
        const HostTensor expected = codegen::interpret(ir::Graph::of({{node}}), {base, index, value})[0];
        for (int threads : {1, 2, 3}) {
          WithOptions options([&](Options& o) { o.threads = threads; });
          ir::NodeRef result = made(input_of(base), input_of(index), input_of(value));
          evaluate({result});
          CHECK(same_elements(value_of(*result), expected));
        }
      }
    }
  }
}

TEST_CASE("the bounds of indices, and the first beyond them") {
  constexpr int64_t kMost = INT64_MAX, kLeast = INT64_MIN;
  for (int64_t bad : {kMost, kLeast, kLeast + 1, int64_t{7}, int64_t{-8}}) {
    for (size_t count : {1, 5, 70}) {
      std::vector<int64_t> index(count);
      for (size_t i = 0; i < count; ++i) index[i] = static_cast<int64_t>(i % 14) - 7;
      const auto size = static_cast<int64_t>(count);
      CHECK(!bounds_of(index.data(), size, -7, 6).outside);
      CHECK(bounds_of(index.data(), size, -7, 6).negative);
      CHECK(!first_outside(index.data(), size, -7, 6));
      for (size_t at = 0; at < count; ++at) {
        std::vector<int64_t> wrong = index;
        wrong[at] = wrong.back() = bad;
        CHECK(bounds_of(wrong.data(), size, -7, 6).outside);
        CHECK(first_outside(wrong.data(), size, -7, 6) == bad);
      }
    }
  }
  const std::vector<int64_t> index{0, 3, 2};
  CHECK(!bounds_of(index.data(), 3, 0, 3).outside);
  CHECK(!bounds_of(index.data(), 3, 0, 3).negative);
  CHECK(bounds_of(index.data(), 1, 0, -1).outside);  // no index of a dim of size 0 is right
  CHECK(!bounds_of(nullptr, 0, 0, -1).outside);
}

TEST_CASE("scatter: an index out of range is an error and nothing is written") {
  WithOptions options;
  for (double bad : {5.0, -1.0}) {
    ir::NodeRef base = input_of(ir::Dims{5}, [](int64_t i) { return static_cast<double>(i); });
    std::shared_ptr<Buffer> kept = buffer_of(*base);
    ir::NodeRef index = input_of(
        ir::Dims{3}, [&](int64_t i) { return i == 0   ? 0
                                             : i == 1 ? bad
                                                      : 77; }, ir::DType::I64);
    ir::NodeRef result = ir::scatter(ir::Op::ScatterAdd, base, index, scalar(1, ir::Dims{3}), 0);
    const std::string first = "index " + std::to_string(static_cast<int>(bad)) + " is out of bounds for dimension 0 with size 5";
    CHECK_THROWS_WITH(evaluate({result}), doctest::Contains(first.c_str()));
    CHECK(result->op() == ir::Op::ScatterAdd);
    CHECK(static_cast<const float*>(kept->data())[0] == 0);
  }
}

TEST_CASE("scatter: a base that nobody else needs is written in place") {
  WithOptions options;
  ir::NodeRef base = input_of(ir::Dims{1000}, [](int64_t) { return 1.0; });
  const void* memory = buffer_of(*base)->data();
  ir::NodeRef index = input_of(
      ir::Dims{3}, [](int64_t i) { return static_cast<double>(i); }, ir::DType::I64);
  ir::NodeRef result = ir::scatter(ir::Op::ScatterAdd, base, index, scalar(1, ir::Dims{3}), 0);
  base = {};
  evaluate({result});
  CHECK(buffer_of(*result)->data() == memory);
  CHECK(element(result, 2) == 2);
  CHECK(element(result, 3) == 1);
}

TEST_CASE("routines are seen in history, explain and dump") {
  WithOptions options;
  ir::NodeRef sorted = ir::sort(input_of(ir::Dims{10}, [](int64_t i) { return static_cast<double>(-i); }), 0, true);
  CHECK(explain({&sorted, 1}).find("kernel 0 @sort\n  schedule   routine\n") != std::string::npos);
  CHECK(dump({&sorted, 1}, Stage::Kernel).find("call @sort(") == 0);
  CHECK(dump({&sorted, 1}, Stage::LLVM).find("sort %0 dim=0 descending=1") != std::string::npos);
  clear_kernel_history();
  evaluate({sorted});
  REQUIRE(kernel_history().size() == 1);
  CHECK(kernel_history()[0].name == "sort");
  CHECK(kernel_history()[0].schedule == "routine");
  CHECK(kernel_history()[0].bytes == 10 * 4 + 10 * 8);
}
