// What the library promises about laziness, fusion and caching, seen from the public API: kernel counts from
// the kernel history, counters for passes and compilations, and chains of a million operations.
#include <doctest/doctest.h>
#include <tenon/tenon.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <numeric>
#include <string>

#include "support/fuzz_cases.h"

namespace {

using tenon::Tensor;

Tensor data(std::vector<int64_t> shape, double scale = 0.01) {
  int64_t numel = std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
  std::vector<float> values(static_cast<size_t>(numel));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(static_cast<double>(i % 97) * scale - 0.3);
  Tensor t = tenon::tensor(values).view(shape);
  tenon::eval({t});
  return t;
}

// Kernels launched while the expression is evaluated.
size_t kernels(const std::function<std::vector<Tensor>()>& expression) {
  std::vector<Tensor> results = expression();
  tenon::clear_kernel_history();
  tenon::eval(results);
  return tenon::kernel_history().size();
}

TEST_CASE(
    "one kernel each: a chain, softmax, layer norm, mean with variance, a dot product, gelu, a transposed "
    "sum") {
  Tensor x = data({64, 48}), y = data({64, 48}), square = data({48, 48}), bias = data({48});
  CHECK(kernels([&] { return std::vector{((((x * 2 + y) / 3 - x).abs() + 1).sqrt() * y - 4).neg().relu() + x}; }) == 1);
  CHECK(kernels([&] { return std::vector{tenon::softmax(x, 1)}; }) == 1);
  CHECK(kernels([&] { return std::vector{tenon::log_softmax(x, 1)}; }) == 1);
  CHECK(kernels([&] { return std::vector{tenon::layer_norm(x, {48}, bias, bias)}; }) == 1);
  CHECK(kernels([&] { return std::vector{x.mean(1), x.var({1}, true)}; }) == 1);
  CHECK(kernels([&] { return std::vector{x.mean(), x.var()}; }) == 1);
  CHECK(kernels([&] { return std::vector{(x * y).sum()}; }) == 1);
  CHECK(kernels([&] { return std::vector{tenon::gelu(x + bias)}; }) == 1);
  CHECK(kernels([&] { return std::vector{square.t() + square}; }) == 1);
}

TEST_CASE("a product with a side of 1 is a reduction along memory, with what follows in its kernel; a small row stays a product") {
  Tensor row = data({1, 48}), weight = data({32, 48}), bias = data({32}), matrix = data({48, 40}), column = data({48, 1});
  Tensor long_row = data({1, 300}), wide_weight = data({256, 300}), wide_bias = data({256});
  Tensor rows = data({5, 1, 48}), batch = data({5, 48, 40}), columns = data({5, 40, 1});
  auto schedule = [](const Tensor& product, const Tensor& as_rows_of_two) {
    tenon::clear_kernel_history();
    tenon::eval({product});
    REQUIRE(tenon::kernel_history().size() == 1);
    std::string result = tenon::kernel_history()[0].schedule;
    CHECK(tenon::allclose(product, as_rows_of_two, 1e-5, 1e-5));
    return result;
  };
  auto twice = [](const Tensor& x, int64_t dim) { return tenon::cat({x, x}, dim); };
  for (const bool small : {false, true}) {
    CAPTURE(small);
    const Tensor &x = small ? row : long_row, &w = small ? weight : wide_weight, &b = small ? bias : wide_bias;
    CHECK(schedule(tenon::gelu(tenon::linear(x, w, b)), tenon::gelu(tenon::linear(twice(x, 0), w, b)).narrow(0, 1, 1)) ==
          (small ? "contraction" : "rows"));
    const Tensor m = w.t().contiguous();
    CHECK(schedule(x.mm(m), twice(x, 0).mm(m).narrow(0, 0, 1)) == (small ? "contraction" : "columns"));
  }
  CHECK(schedule(weight.mm(column), weight.mm(twice(column, 1)).narrow(1, 0, 1)) == "rows");
  CHECK(schedule(matrix.t().mm(column), matrix.t().mm(twice(column, 1)).narrow(1, 1, 1)) == "columns");
  CHECK(schedule(matrix.t().mv(column.squeeze(1)), matrix.t().mm(twice(column, 1)).select(1, 1)) == "columns");
  CHECK(schedule(rows.bmm(batch), twice(rows, 1).bmm(batch).narrow(1, 0, 1)) == "columns");
  CHECK(schedule(batch.bmm(columns), batch.bmm(twice(columns, 2)).narrow(2, 0, 1)) == "rows");
}

TEST_CASE("a convolution of one input channel is a product; of one channel each, it is not") {
  auto schedule = [](const Tensor& result) {
    tenon::clear_kernel_history();
    tenon::eval({result});
    return tenon::kernel_history().back().schedule;  // a border is made first
  };
  Tensor images = data({2, 1, 9, 9}), planes = data({2, 4, 9, 9}), filters = data({4, 1, 3, 3});
  for (int padding : {0, 1}) {
    CHECK(schedule(tenon::conv2d(images, filters, {}, 1, padding)) == "contraction");
    CHECK(schedule(tenon::conv2d(planes, filters, {}, 1, padding, 1, 4)) == "columns");
    // The same sums, one filter at a time.
    Tensor each = tenon::cat(
        {tenon::conv2d(images, filters.narrow(0, 0, 1), {}, 1, padding), tenon::conv2d(images, filters.narrow(0, 1, 1), {}, 1, padding),
         tenon::conv2d(images, filters.narrow(0, 2, 2), {}, 1, padding)},
        1);
    CHECK(tenon::allclose(tenon::conv2d(images, filters, {}, 1, padding), each, 1e-5, 1e-5));
  }
}

TEST_CASE("a pending value that is still held is computed once, as one more output") {
  Tensor x = data({32, 32});
  Tensor e = x.exp(), s = e.sum(1);
  CHECK(kernels([&] { return std::vector{s}; }) == 1);
  tenon::clear_kernel_history();
  e.data_ptr<float>();
  CHECK(tenon::kernel_history().empty());
}

TEST_CASE("the same computation again: no pass and no compiler; other scalars and sizes: no compiler") {
  auto run = [](const Tensor& x, double scalar) { return ((x * scalar + 1.5).exp().sum(1) - scalar).sum().item<float>(); };
  Tensor x = data({40, 300}), longer = data({41, 301});
  run(x, 0.25);
  tenon::reset_counters();
  run(x, 0.25);
  run(x, 0.75);
  tenon::Counters same = tenon::counters();
  CHECK(same.plans_built == 0);
  CHECK(same.plan_hits == 2);
  CHECK(same.kernels_compiled == 0);
  tenon::reset_counters();
  run(longer, 0.75);
  CHECK(tenon::counters().kernels_compiled == 0);
  CHECK(tenon::counters().disk_hits == 0);
}

TEST_CASE("kernels outlive the process on disk") {
  tenon::Config before = tenon::get_config(), config = before;
  config.cache_dir = (std::filesystem::temp_directory_path() / ("tenon-promises-" + std::to_string(std::rand()))).string();
  config.first_tier = true;
  tenon::set_config(config);
  tenon::clear_caches();
  auto run = [] { return (data({10, 20}).tanh() + 3).sum(0).sum().item<float>(); };
  tenon::reset_counters();
  float first = run();
  CHECK(tenon::counters().kernels_compiled > 0);
  CHECK(run() == first);  // what runs once is bytecode
  CHECK(tenon::counters().kernels_promoted >= tenon::counters().kernels_compiled);
  tenon::clear_caches();  // as a new process would start
  tenon::reset_counters();
  CHECK(run() == first);
  CHECK(tenon::counters().kernels_compiled == 0);
  CHECK(tenon::counters().disk_hits > 0);
  tenon::set_config(before);
  std::filesystem::remove_all(config.cache_dir);
}

TEST_CASE("a chain of a million pending operations builds, evaluates and is destroyed") {
  Tensor x = data({16}), start = x;
  for (int i = 0, operations = tenon::test::fuzz_cases(500'000); i < operations; ++i) x = x * 0.5 + 1;
  CHECK(x[3].item<float>() == doctest::Approx(2));
  Tensor never = start;
  for (int i = 0, operations = tenon::test::fuzz_cases(1'000'000); i < operations; ++i) never = never + start;
}

TEST_CASE("a steady loop costs the same in round 1000 as in round 10") {
  Tensor x = data({1000});
  float sum = 0;
  auto round = [&] {
    x = x * 0.5 + 1;
    sum = x.sum().item<float>();
  };
  for (int i = 0; i < 10; ++i) round();
  int64_t nodes_before = tenon::memory_stats().allocated;
  tenon::reset_counters();
  for (int i = 10; i < 1000; ++i) round();
  tenon::Counters steady = tenon::counters();
  CHECK(steady.plans_built == 0);
  CHECK(steady.plan_hits == 990);
  CHECK(steady.launches <= 990 * 2);
  CHECK(tenon::memory_stats().allocated == nodes_before);
  CHECK(sum == doctest::Approx(2000));
}

TEST_CASE("dump shows every level") {
  Tensor y = tenon::softmax(data({8, 16}), 1);
  CHECK(tenon::dump(y, tenon::Stage::Graph).starts_with("graph @"));
  CHECK(tenon::dump(y, tenon::Stage::Fused).find("reduce.max") != std::string::npos);
  CHECK(tenon::dump(y, tenon::Stage::Kernel).find("reduce i|r") != std::string::npos);
  CHECK(tenon::dump(y, tenon::Stage::LoopTree).find("looptree @") != std::string::npos);
  CHECK(tenon::dump(y, tenon::Stage::CUDA).find("TENON_KERNEL") != std::string::npos);
  CHECK(tenon::draw_dot(y).find("subgraph cluster_") != std::string::npos);
}

}  // namespace
