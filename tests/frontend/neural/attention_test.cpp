// scaled_dot_product_attention on a CPU: one generated call forward, one backward, whose values and gradients are those of the
// composition in float64, with the same bits on any number of threads; and what is composed.
#include <tenon/tenon.h>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "support/same_bits.h"

using tenon::Tensor;
using tenon::test::same_bits;

namespace {

bool is_attention(const tenon::KernelRecord& kernel) { return kernel.schedule == "attention"; }
int calls_of_attention() {
  const auto history = tenon::kernel_history();
  return static_cast<int>(std::count_if(history.begin(), history.end(), is_attention));
}

struct Case {
  std::vector<int64_t> query, key, value, mask = {};  // no mask where it has no dims
  bool mask_adds = false, causal = false, turned = false;
};

Tensor composed(const Tensor& q, const Tensor& k, const Tensor& v, const tenon::MaybeTensor& mask, bool causal) {
  Tensor scores = tenon::matmul(q, k.transpose(-2, -1)) / std::sqrt(static_cast<double>(q.size(-1)));
  const double out = -std::numeric_limits<double>::infinity();
  if (mask) scores = mask->scalar_type() == tenon::kBool ? scores.masked_fill(mask->logical_not(), out) : scores + *mask;
  if (causal) scores = scores.masked_fill(tenon::ones({q.size(-2), k.size(-2)}, tenon::kBool).tril().logical_not(), out);
  return tenon::matmul(tenon::softmax(scores, -1), v);
}

// Results, then gradients of query, key and value.
std::vector<Tensor> results(const Case& c, const std::vector<Tensor>& data, bool in_double) {
  std::vector<Tensor> x;
  for (const Tensor& t : data) {
    const bool floats = t.scalar_type() != tenon::kBool;
    x.push_back((in_double && floats ? t.to(tenon::kDouble) : t).detach().clone());
    if (x.size() <= 3) x.back().set_requires_grad(true);
  }
  const auto operand = [&](size_t i) { return c.turned ? x[i].transpose(-3, -2) : x[i]; };
  const tenon::MaybeTensor mask = x.size() > 3 ? tenon::MaybeTensor(x[3]) : tenon::MaybeTensor();
  const Tensor y = in_double ? composed(operand(0), operand(1), operand(2), mask, c.causal)
                             : tenon::scaled_dot_product_attention(operand(0), operand(1), operand(2), mask, 0.0, c.causal);
  const Tensor weight = tenon::linspace(-1, 1, y.numel(), y.options().dtype(tenon::kDouble)).reshape(y.sizes()).to(y.scalar_type());
  (y * weight).sum().backward();
  std::vector<Tensor> all{y.detach(), x[0].grad(), x[1].grad(), x[2].grad()};
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

double distance(const Tensor& a, const Tensor& b) {
  REQUIRE(a.sizes() == b.sizes());
  return ((a.to(tenon::kDouble) - b).abs().max() / b.abs().max().clamp_min(1e-3)).item<double>();
}

const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {.query = {5, 4}, .key = {7, 4}, .value = {7, 3}},
      {.query = {2, 3, 33, 16}, .key = {2, 3, 35, 16}, .value = {2, 3, 35, 16}, .causal = true},
      {.query = {2, 3, 9, 8}, .key = {3, 11, 8}, .value = {2, 1, 11, 8}, .mask = {9, 11}},
      {.query = {2, 3, 9, 8}, .key = {2, 3, 11, 8}, .value = {2, 3, 11, 8}, .mask = {2, 1, 1, 11}, .mask_adds = true},
      {.query = {9, 8}, .key = {11, 8}, .value = {11, 8}, .mask = {2, 9, 11}, .mask_adds = true},
      {.query = {2, 17, 3, 8}, .key = {2, 19, 3, 8}, .value = {2, 19, 3, 8}, .turned = true},
      {.query = {70, 24}, .key = {400, 24}, .value = {400, 24}},
  };
  return all;
}

}  // namespace

TEST_CASE("attention: values and gradients are those of the composition in float64") {
  for (const Case& c : cases()) {
    for (const auto& [dtype, tolerance] :
         {std::pair(tenon::kFloat, 2e-5), {tenon::kDouble, 1e-13}, {tenon::kHalf, 8e-3}, {tenon::kBFloat16, 6e-2}}) {
      CAPTURE(tenon::IntArrayRef(c.query));
      const std::vector<Tensor> data = data_of(c, dtype), got = results(c, data, false), wanted = results(c, data, true);
      for (size_t i = 0; i < got.size(); ++i) {
        CAPTURE(i);
        CHECK(distance(got[i], wanted[i]) <= tolerance);
      }
    }
  }
}

TEST_CASE("attention: scores that lie far apart, whose weights would be denormal") {
  const Case c{.query = {70, 16}, .key = {90, 16}, .value = {90, 16}};
  for (const auto& [dtype, tolerance] : {std::pair(tenon::kFloat, 2e-4), {tenon::kDouble, 1e-12}}) {
    std::vector<Tensor> data = data_of(c, dtype);
    for (size_t i : {0, 1}) data[i] = data[i] * 5;  // scores of -300 to 300
    const std::vector<Tensor> got = results(c, data, false), wanted = results(c, data, true);
    for (size_t i = 0; i < got.size(); ++i) {
      CAPTURE(i);
      CHECK(distance(got[i], wanted[i]) <= tolerance);
    }
  }
}

TEST_CASE("attention: forward and backward are a call each, and any number of threads gives the same bits") {
  const int threads = tenon::get_num_threads();
  for (const Case& c : cases()) {
    const std::vector<Tensor> data = data_of(c, tenon::kFloat);
    tenon::set_num_threads(1);
    const int before = calls_of_attention();
    const std::vector<Tensor> one = results(c, data, false);
    CHECK(calls_of_attention() == before + 2);
    tenon::set_num_threads(2);
    const std::vector<Tensor> two = results(c, data, false);
    for (size_t i = 0; i < one.size(); ++i) CHECK(same_bits(one[i], two[i]));
  }
  tenon::set_num_threads(threads);
}

TEST_CASE("attention: finite differences, of the gradients too") {
  tenon::manual_seed(2);
  const auto options = tenon::TensorOptions().dtype(tenon::kDouble).requires_grad(true);
  const Tensor q = tenon::randn({2, 3, 4}, options), k = tenon::randn({1, 5, 4}, options), v = tenon::randn({2, 5, 2}, options),
               mask = tenon::randn({3, 5}, options);
  const auto attend = [](const std::vector<Tensor>& x) { return tenon::scaled_dot_product_attention(x[0], x[1], x[2], x[3]); };
  for (const int64_t queries : {3, 1}) {  // of which the second is expanded
    const Tensor first = q.slice(1, 0, queries).detach().set_requires_grad(true),
                 seen = mask.slice(0, 0, queries).detach().set_requires_grad(true);
    CHECK(tenon::autograd::gradcheck(attend, std::vector<Tensor>{first, k, v, seen}));
    CHECK(tenon::autograd::gradgradcheck(attend, std::vector<Tensor>{first, k, v, seen}));
  }
}

// Few queries of many keys, which no CPU schedule takes.
TEST_CASE("attention: the graph is the same for all lengths, and has the bits of the composition where it is expanded") {
  const std::vector<Case> few = {
      {.query = {2, 3, 5, 16}, .key = {2, 3, 40, 16}, .value = {2, 3, 40, 20}},
      {.query = {2, 3, 1, 16}, .key = {2, 1, 40, 16}, .value = {2, 1, 40, 20}},
      {.query = {1, 16}, .key = {40, 16}, .value = {40, 20}, .mask = {1, 40}},
      {.query = {2, 5, 3, 16}, .key = {2, 40, 3, 16}, .value = {2, 40, 3, 16}, .causal = true, .turned = true},
      {.query = {2, 3, 5, 16}, .key = {2, 3, 40, 16}, .value = {2, 3, 40, 16}, .mask = {2, 1, 1, 40}, .mask_adds = true},
  };
  const tenon::Config before = tenon::get_config();
  for (const Case& c : few) {
    for (const auto& [dtype, tolerance] :
         {std::pair(tenon::kFloat, 2e-5), {tenon::kDouble, 1e-13}, {tenon::kHalf, 8e-3}, {tenon::kBFloat16, 6e-2}}) {
      CAPTURE(tenon::IntArrayRef(c.query));
      const std::vector<Tensor> data = data_of(c, dtype);
      const auto operand = [&](size_t i) { return c.turned ? data[i].transpose(-3, -2) : data[i]; };
      const tenon::MaybeTensor mask = data.size() > 3 ? tenon::MaybeTensor(data[3]) : tenon::MaybeTensor();
      const Tensor pending = tenon::scaled_dot_product_attention(operand(0), operand(1), operand(2), mask, 0.0, c.causal);
      CHECK(tenon::dump(pending, tenon::Stage::Graph).find(" = attention ") != std::string::npos);
      CHECK(tenon::explain(pending).find("expanded: attention ") != std::string::npos);
      CHECK(tenon::explain(pending).find("vectors lie along the queries, which are few") != std::string::npos);
      CHECK(same_bits(pending, composed(operand(0), operand(1), operand(2), mask, c.causal)));
      const std::vector<Tensor> got = results(c, data, false), wanted = results(c, data, true);
      for (size_t i = 0; i < got.size(); ++i) CHECK(distance(got[i], wanted[i]) <= tolerance);
      for (auto set :
           {+[](tenon::Config& config) { config.simplify = false; }, +[](tenon::Config& config) { config.interpreter = true; }}) {
        tenon::Config config = before;
        set(config);
        tenon::set_config(config);
        const std::vector<Tensor> again = results(c, data, false);
        tenon::set_config(before);
        for (size_t i = 0; i < got.size(); ++i) CHECK(same_bits(got[i], again[i]));
      }
    }
  }
}

TEST_CASE("attention: what is composed") {
  const auto attended = [](const Tensor& q, const Tensor& k, double dropout) {
    const int before = calls_of_attention();
    tenon::eval(tenon::scaled_dot_product_attention(q, k, k, {}, dropout));
    return calls_of_attention() - before;
  };
  const Tensor q = tenon::randn({2, 9, 8}), one = tenon::randn({2, 1, 8}), many = tenon::randn({2, 40, 8});
  CHECK(attended(q, many, 0.0) == 1);
  CHECK(attended(q, many, 0.5) == 0);
  CHECK(attended(one, many, 0.0) == 0);  // a step of a cache
  const Tensor none = tenon::scaled_dot_product_attention(q, tenon::randn({2, 0, 8}), tenon::randn({2, 0, 3}));
  CHECK(none.sizes() == tenon::IntArrayRef({2, 9, 3}));
  CHECK(none.eq(0).all().item<bool>());
  CHECK(tenon::scaled_dot_product_attention(tenon::randn({0, 9, 8}), q.slice(0, 0, 1), q.slice(0, 0, 1)).sizes() ==
        tenon::IntArrayRef({0, 9, 8}));
  CHECK_THROWS_AS(tenon::scaled_dot_product_attention(q, tenon::randn({2, 9, 7}), q), tenon::Error);
  CHECK_THROWS_AS(tenon::scaled_dot_product_attention(q, tenon::randn({3, 9, 8}), q), tenon::Error);
}

TEST_CASE("attention: a query whose mask leaves no key gives 0, and its gradients are 0") {
  const Tensor keep = tenon::arange(9).remainder(3).ne(1).unsqueeze(1).expand({9, 40}).contiguous();
  const Tensor added = tenon::where(keep, 0.0, -std::numeric_limits<double>::infinity()).to(tenon::kFloat);
  tenon::manual_seed(6);
  const Tensor k = tenon::randn({2, 40, 8}).set_requires_grad(true), v = tenon::randn({2, 40, 8}).set_requires_grad(true);
  for (const Tensor& mask : {keep, added}) {
    for (const int64_t length : {9, 1}) {  // by a schedule; composed
      for (const double dropout : {0.0, 0.5}) {
        const Tensor q = tenon::randn({2, length, 8}).set_requires_grad(true);
        const Tensor y = tenon::scaled_dot_product_attention(q, k, v, length == 9 ? mask : mask.slice(0, 1, 2), dropout);
        const std::vector<Tensor> first = tenon::autograd::grad({y.pow(2).sum()}, {q, k, v}, {}, true, true);
        const Tensor second = tenon::autograd::grad({(first[0] * first[0]).sum() + first[1].sum()}, {q}, {}, true)[0];
        const Tensor blind = length == 9 ? tenon::arange(9).remainder(3).eq(1) : tenon::ones({1}, tenon::kBool);
        for (const Tensor& x : {y.detach(), first[0].detach(), second.detach()}) {
          CHECK(x.isfinite().all().item<bool>());
          CHECK(x.index_select(1, blind.nonzero().squeeze(1)).eq(0).all().item<bool>());
        }
        CHECK(first[1].isfinite().all().item<bool>());
        CHECK(first[2].isfinite().all().item<bool>());
        CHECK(y.detach().ne(0).any().item<bool>() == (length == 9));
      }
    }
  }
}

TEST_CASE("attention: values that are infinite or nan reach the queries that see them") {
  const double inf = std::numeric_limits<double>::infinity();
  Tensor q = tenon::randn({150, 8}), k = tenon::randn({150, 8}), v = tenon::randn({150, 8});
  v[140][3].fill_(inf);
  k[145][0].fill_(std::nan(""));
  for (const bool causal : {false, true}) {
    const Tensor got = tenon::scaled_dot_product_attention(q, k, v, {}, 0.0, causal), wanted = composed(q, k, v, {}, causal);
    if (!causal) CHECK(got.isnan().all().item<bool>());
    CHECK(got.slice(0, 0, 96).isfinite().all().item<bool>() == causal);
    CHECK(got.slice(0, 145).isnan().all().item<bool>());
    CHECK(wanted.slice(0, 145).isnan().all().item<bool>());
  }
}

TEST_CASE("attention: operands that are views are read where they lie") {
  const Tensor packed = tenon::randn({2, 17, 3, 4, 8});  // [batch, length, which, heads, depth]
  tenon::eval(packed);
  const auto part = [&](int64_t which) { return packed.select(2, which).transpose(1, 2); };
  const Tensor pending = tenon::scaled_dot_product_attention(part(0), part(1), part(2));
  CHECK(tenon::explain(pending).find("1 kernels") != std::string::npos);
  CHECK(distance(pending, composed(part(0).to(tenon::kDouble), part(1).to(tenon::kDouble), part(2).to(tenon::kDouble), {}, false)) < 1e-5);
}

// Equal calls of a plan have one tree: the tree knows no tensor, only which operand lies where.
TEST_CASE("attention: in one evaluation, the same tensors in other roles") {
  const Tensor x = tenon::randn({2, 4, 9, 16}), y = tenon::randn({2, 4, 9, 16});
  const std::vector<std::array<Tensor, 3>> roles = {{x, y, x}, {x, x, y}, {y, x, x}, {x, x, x}, {x, y, y}};
  std::vector<Tensor> together;
  for (const auto& [q, k, v] : roles) together.push_back(tenon::scaled_dot_product_attention(q, k, v));
  tenon::eval(together);
  for (size_t i = 0; i < roles.size(); ++i) {
    CAPTURE(i);
    const auto& [q, k, v] = roles[i];
    CHECK(same_bits(together[i], tenon::scaled_dot_product_attention(q, k, v)));
  }
}
