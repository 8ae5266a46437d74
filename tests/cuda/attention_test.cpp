// scaled_dot_product_attention and MultiheadAttention on a CUDA device: one generated call forward, one backward, whose values
// and gradients are those of the composition, computed on the CPU in float64.
#include <tenon/tenon.h>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <tuple>
#include <vector>

#include "support/same_bits.h"

using tenon::kCUDA;
using tenon::Tensor;
using tenon::test::same_bits;

namespace {

// How far a is from b, relative to the greatest element of b.
double distance(const Tensor& a, const Tensor& b) {
  const Tensor x = a.cpu().to(tenon::kDouble), y = b.cpu().to(tenon::kDouble);
  REQUIRE(x.sizes() == y.sizes());
  return ((x - y).abs().max() / y.abs().max().clamp_min(1e-3)).item<double>();
}

bool is_attention(const tenon::KernelRecord& kernel) { return kernel.schedule == "attention" || kernel.schedule == "attention mma"; }

int calls_of_attention() {
  const auto history = tenon::kernel_history();
  return static_cast<int>(std::count_if(history.begin(), history.end(), is_attention));
}

struct Case {
  std::vector<int64_t> query, key, value, mask = {};  // no mask where it has no dims
  bool mask_adds = false, causal = false, turned = false;
  tenon::optional<double> scale = tenon::nullopt;
};

// On the device and in float64 on the CPU: results, then gradients of all operands that have one.
std::vector<Tensor> results(const Case& c, const std::vector<Tensor>& data, bool on_device) {
  std::vector<Tensor> operands;
  for (const Tensor& x : data) {
    const bool floats = x.scalar_type() != tenon::kBool;
    Tensor own = on_device ? x.to(kCUDA) : floats ? x.to(tenon::kDouble) : x;
    operands.push_back(own.detach().clone().set_requires_grad(floats));
  }
  const auto operand = [&](size_t i) {
    return c.turned ? operands[i].transpose(-3, -2) : operands[i];  // heads beside their elements, as a projection leaves them
  };
  const tenon::MaybeTensor mask = data.size() > 3 ? tenon::MaybeTensor(operands[3]) : tenon::MaybeTensor();
  const Tensor y = tenon::scaled_dot_product_attention(operand(0), operand(1), operand(2), mask, 0.0, c.causal, c.scale);
  const Tensor weight = tenon::linspace(-1, 1, y.numel(), y.options().dtype(tenon::kDouble)).reshape(y.sizes()).to(y.scalar_type());
  (y * weight).sum().backward();
  std::vector<Tensor> all{y.detach()};
  for (const Tensor& x : operands) {
    if (x.requires_grad()) all.push_back(x.grad());
  }
  tenon::eval(all);
  return all;
}

std::vector<Tensor> data_of(const Case& c, tenon::ScalarType dtype) {
  tenon::manual_seed(5);
  std::vector<Tensor> data;
  for (const auto& sizes : {c.query, c.key, c.value}) data.push_back(tenon::randn(sizes).to(dtype));
  if (!c.mask.empty()) data.push_back(c.mask_adds ? tenon::randn(c.mask).to(dtype) : tenon::rand(c.mask) < 0.8);
  if (!c.mask.empty() && !c.mask_adds) data[3].select(-1, 0).fill_(true);  // each row sees a key
  return data;
}

void check_case(const Case& c, tenon::ScalarType dtype, double tolerance) {
  CAPTURE(tenon::IntArrayRef(c.query));
  const std::vector<Tensor> data = data_of(c, dtype);
  const int before = calls_of_attention();
  const std::vector<Tensor> got = results(c, data, true);
  CHECK(calls_of_attention() == before + 2);
  const std::vector<Tensor> wanted = results(c, data, false);
  REQUIRE(got.size() == wanted.size());
  for (size_t i = 0; i < got.size(); ++i) {
    CAPTURE(i);
    CHECK(distance(got[i], wanted[i]) <= tolerance);
  }
}

}  // namespace

TEST_CASE("cuda attention: values and gradients are those of the composition in float64") {
  const std::vector<Case> cases = {
      {.query = {5, 4}, .key = {7, 4}, .value = {7, 3}},
      {.query = {2, 3, 33, 16}, .key = {2, 3, 35, 16}, .value = {2, 3, 35, 16}, .causal = true},
      {.query = {2, 3, 9, 8}, .key = {3, 11, 8}, .value = {2, 1, 11, 8}, .mask = {9, 11}},
      {.query = {2, 3, 9, 8}, .key = {2, 3, 11, 8}, .value = {2, 3, 11, 8}, .mask = {2, 1, 1, 11}, .mask_adds = true},
      {.query = {9, 8}, .key = {11, 8}, .value = {11, 8}, .mask = {2, 9, 11}, .mask_adds = true},
      {.query = {2, 17, 3, 8}, .key = {2, 19, 3, 8}, .value = {2, 19, 3, 8}, .turned = true, .scale = 0.3},
  };
  for (const Case& c : cases) {
    check_case(c, tenon::kFloat, 2e-5);
    check_case(c, tenon::kDouble, 1e-13);
  }
  check_case(cases[1], tenon::kHalf, 4e-3);
  check_case(cases[3], tenon::kBFloat16, 3e-2);
}

// The error of a result is bounded by a rounding of it (u: 2^-11 or 2^-8) and one of each p or ds, whose sum is of the size of what
// is added: some of u times the greatest element (docs/cuda.md).
TEST_CASE("cuda attention: halves, forward and gradients, against the composition") {
  const bool has_mma = tenon::cuda::get_device_properties().major >= 8;
  constexpr int64_t kLengths[] = {1, 7, 16, 17, 65, 100}, kDepths[] = {16, 32, 40, 64, 80, 128};
  int number = 0;
  for (const int64_t length : kLengths) {
    for (const int64_t sources : {kLengths[number % 6], kLengths[(number + 2) % 6]}) {
      const int64_t depth = kDepths[number % 6], value_depth = kDepths[(number + 1) % 6];
      Case c{.query = {2, length, depth}, .key = {2, sources, depth}, .value = {2, sources, value_depth}};
      c.causal = number % 3 == 0;
      if (number % 3 == 1) c.mask = {length, sources};
      c.mask_adds = number % 2 == 1;
      check_case(c, tenon::kHalf, 8 * 0x1p-11);
      check_case(c, tenon::kBFloat16, 8 * 0x1p-8);
      ++number;
    }
  }
  check_case({.query = {2, 17, 3, 8}, .key = {2, 19, 3, 8}, .value = {2, 19, 3, 8}, .turned = true}, tenon::kHalf, 8 * 0x1p-11);
  check_case({.query = {2, 3, 9, 20}, .key = {3, 11, 20}, .value = {2, 1, 11, 20}, .mask = {9, 11}}, tenon::kHalf, 8 * 0x1p-11);
  for (const tenon::KernelRecord& kernel : tenon::kernel_history()) {
    const bool halves = kernel.shapes.find("f16[") != std::string::npos;  // bf16 too
    if (is_attention(kernel)) CHECK((kernel.schedule == "attention mma") == (halves && has_mma));
  }
}

TEST_CASE("cuda attention: finite differences, of the gradients too") {
  tenon::manual_seed(2);
  const auto options = tenon::TensorOptions().dtype(tenon::kDouble).requires_grad(true);
  const Tensor q = tenon::randn({2, 3, 4}, options), k = tenon::randn({1, 5, 4}, options), v = tenon::randn({2, 5, 2}, options),
               mask = tenon::randn({3, 5}, options);
  const auto attend = [](const std::vector<Tensor>& x) {
    return tenon::scaled_dot_product_attention(x[0].to(kCUDA), x[1].to(kCUDA), x[2].to(kCUDA), x[3].to(kCUDA)).cpu();
  };
  CHECK(tenon::autograd::gradcheck(attend, std::vector<Tensor>{q, k, v, mask}));
  CHECK(tenon::autograd::gradgradcheck(attend, std::vector<Tensor>{q, k, v, mask}));
}

TEST_CASE("cuda attention: two runs give the same bits") {
  const Case c{.query = {2, 2, 40, 24}, .key = {2, 2, 50, 24}, .value = {2, 2, 50, 24}, .causal = true};
  for (const tenon::ScalarType dtype : {tenon::kFloat, tenon::kHalf}) {
    const std::vector<Tensor> data = data_of(c, dtype);
    const std::vector<Tensor> first = results(c, data, true), second = results(c, data, true);
    for (size_t i = 0; i < first.size(); ++i) CHECK(same_bits(first[i], second[i]));
  }
}

TEST_CASE("cuda attention: one kernel, and nothing of the size of the scores") {
  constexpr int64_t kLength = 512, kDepth = 8;
  const auto options = tenon::TensorOptions().device(kCUDA).requires_grad(true);
  const Tensor q = tenon::randn({kLength, kDepth}, options), k = tenon::randn({kLength, kDepth}, options),
               v = tenon::randn({kLength, kDepth}, options);
  tenon::eval(q, k, v);
  const Tensor pending = tenon::scaled_dot_product_attention(q, k, v);
  const std::string text = tenon::explain(pending);
  CHECK(text.find("1 kernels") != std::string::npos);
  CHECK(text.find("attention") != std::string::npos);
  CHECK(tenon::dump(pending, tenon::Stage::CUDA).find("attention_attend") != std::string::npos);
  tenon::cuda::synchronize();
  tenon::cuda::reset_max_memory_allocated();
  const int64_t before = tenon::cuda::memory_allocated();
  pending.square().sum().backward();
  q.grad().sum().item<float>();
  k.grad().sum().item<float>();
  const int64_t scores = kLength * kLength * int64_t{sizeof(float)};
  CHECK(tenon::cuda::max_memory_allocated() - before < scores / 4);
}

TEST_CASE("cuda attention: operands that are views are read where they lie") {
  const auto on_device = tenon::TensorOptions().device(kCUDA);
  constexpr std::tuple<tenon::ScalarType, int64_t, double> kKinds[] = {
      {tenon::kFloat, 8, 1e-5}, {tenon::kHalf, 8, 4e-3}, {tenon::kHalf, 12, 4e-3}};  // of 12 halves not every row is at a multiple of eight
  for (const auto& [dtype, depth, tolerance] : kKinds) {
    const Tensor packed = tenon::randn({2, 7, 3, 4, depth}, on_device).to(dtype);  // [batch, length, which, heads, depth]
    const auto part = [](const Tensor& x, int64_t which) { return x.select(2, which).transpose(1, 2); };
    const Tensor whole = packed.select(2, 0).transpose(1, 2);
    const Tensor row = tenon::rand({7}, on_device).to(dtype), mask = row.expand({7, 7});
    tenon::eval(packed, row);
    const Tensor pending = tenon::scaled_dot_product_attention(whole, part(packed, 1), part(packed, 2), mask);
    CHECK(tenon::explain(pending).find("1 kernels") != std::string::npos);
    const Tensor here = packed.cpu().to(tenon::kDouble), mask_here = mask.cpu().to(tenon::kDouble);
    CHECK(distance(pending, tenon::scaled_dot_product_attention(part(here, 0), part(here, 1), part(here, 2), mask_here)) < tolerance);
    const Tensor backwards = tenon::scaled_dot_product_attention(whole.flip(2), whole.transpose(2, 3).contiguous().transpose(2, 3), whole);
    CHECK(distance(backwards, tenon::scaled_dot_product_attention(part(here, 0).flip(2), part(here, 0), part(here, 0))) < tolerance);
  }
}

TEST_CASE("cuda attention: operands begin at any element of memory, after those of an aligned run") {
  constexpr int64_t kCount = int64_t{2} * 20 * 16;
  for (const tenon::ScalarType dtype : {tenon::kFloat, tenon::kHalf}) {
    const Tensor memory = tenon::randn({kCount + 8}, tenon::TensorOptions().device(kCUDA)).to(dtype);
    tenon::eval(memory);
    for (const int64_t first : {0, 8, 4, 3, 0}) {
      CAPTURE(first);
      const Tensor x = memory.slice(0, first, first + kCount).reshape({2, 20, 16}), here = x.cpu().to(tenon::kDouble);
      const double tolerance = dtype == tenon::kFloat ? 1e-5 : 4e-3;
      CHECK(distance(tenon::scaled_dot_product_attention(x, x, x), tenon::scaled_dot_product_attention(here, here, here)) < tolerance);
    }
  }
}

TEST_CASE("cuda attention: forward and backward of one graph are two calls, with the sums of the forward one") {
  tenon::clear_kernel_history();
  const auto options = tenon::TensorOptions().device(kCUDA).requires_grad(true);
  const Tensor q = tenon::randn({2, 33, 16}, options), k = tenon::randn({2, 40, 16}, options), v = tenon::randn({2, 40, 16}, options);
  tenon::scaled_dot_product_attention(q, k, v).square().sum().backward();
  tenon::eval({q.grad(), k.grad(), v.grad()});
  tenon::cuda::synchronize();
  std::vector<std::string> shapes;
  for (const tenon::KernelRecord& kernel : tenon::kernel_history()) {
    if (is_attention(kernel)) shapes.push_back(kernel.shapes);
  }
  REQUIRE(shapes.size() == 2);
  CHECK(shapes[0].find("f32[2,33,1]") != std::string::npos);  // log(sum(exp)) of each row
}

TEST_CASE("cuda attention: what it does not take is composed") {
  const auto attended = [](const auto& run) {
    const int before = calls_of_attention();
    run();
    tenon::cuda::synchronize();
    return calls_of_attention() - before;
  };
  const auto on_device = [](std::vector<int64_t> sizes) { return tenon::randn(sizes, tenon::TensorOptions().device(kCUDA)); };
  const Tensor q = on_device({2, 5, 8}), wide = on_device({2, 5, 300});
  CHECK(attended([&] { tenon::eval(tenon::scaled_dot_product_attention(q, q, q)); }) == 1);
  CHECK(attended([&] { tenon::eval(tenon::scaled_dot_product_attention(q, q, q, {}, 0.5)); }) == 0);
  CHECK(attended([&] { tenon::eval(tenon::scaled_dot_product_attention(wide, wide, wide)); }) == 0);
  const Tensor none = tenon::scaled_dot_product_attention(q, on_device({2, 0, 8}), on_device({2, 0, 3}));
  CHECK(none.sizes() == tenon::IntArrayRef({2, 5, 3}));
  CHECK(none.eq(0).all().item<bool>());
  CHECK(tenon::scaled_dot_product_attention(on_device({0, 5, 8}), q.slice(0, 0, 1), q.slice(0, 0, 1)).numel() == 0);
  CHECK_THROWS_AS(tenon::scaled_dot_product_attention(q, on_device({2, 5, 7}), q), tenon::Error);
  CHECK_THROWS_AS(tenon::scaled_dot_product_attention(q, on_device({3, 5, 8}), q), tenon::Error);
  const Tensor nothing = tenon::zeros({5, 5}, tenon::TensorOptions().dtype(tenon::kBool).device(kCUDA));
  CHECK(tenon::scaled_dot_product_attention(q, q, q, nothing).eq(0).all().item<bool>());
}

TEST_CASE("cuda attention: MultiheadAttention without weights is one call and gives what it gives on the CPU") {
  tenon::manual_seed(7);
  tenon::nn::MultiheadAttention there(tenon::nn::MultiheadAttentionOptions(12, 3));
  const Tensor x = tenon::randn({6, 2, 12}), y = tenon::randn({9, 2, 12});
  const Tensor adds = tenon::randn({6, 9}), out = tenon::rand({6, 9}) < 0.3, padding = tenon::zeros({2, 9}, tenon::kBool);
  padding.select(1, 8).fill_(true);
  out.select(1, 0).fill_(false);
  auto here = std::dynamic_pointer_cast<tenon::nn::MultiheadAttentionImpl>(there->clone());
  there->to(kCUDA);
  const std::vector<std::pair<Tensor, Tensor>> masks = {{{}, {}}, {adds, {}}, {out, {}}, {{}, padding}, {adds, padding}, {out, padding}};
  for (const auto& [mask, pads] : masks) {
    const auto moved = [](const Tensor& t) { return t.defined() ? t.to(kCUDA) : t; };
    const int before = calls_of_attention();
    const Tensor a = std::get<0>(there->forward(x.to(kCUDA), y.to(kCUDA), y.to(kCUDA), moved(pads), false, moved(mask)));
    tenon::eval(a);
    CHECK(calls_of_attention() == before + 1);
    const Tensor b = std::get<0>(here->forward(x, y, y, pads, false, mask));
    CHECK(distance(a, b) < 1e-5);
    const auto [c, weights] = there->forward(x.to(kCUDA), y.to(kCUDA), y.to(kCUDA), moved(pads), true, moved(mask));
    CHECK(distance(c, b) < 1e-5);
    CHECK(weights.size(-1) == 9);
    there->zero_grad();
    here->zero_grad();
    a.square().sum().backward();
    b.square().sum().backward();
    CHECK(distance(there->in_proj_weight.grad(), here->in_proj_weight.grad()) < 1e-5);
  }
}
