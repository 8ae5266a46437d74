// Extreme arguments of the public API: every mistake is a tenon::Error at the call that makes it, and nothing
// that is merely empty is a mistake.
#include <doctest/doctest.h>
#include <tenon/tenon.h>

#include <cstdint>
#include <limits>
#include <tuple>
#include <vector>

namespace {

using namespace tenon;

constexpr int64_t kHuge = int64_t{1} << 62;

TEST_CASE("shapes beyond all memory are errors of the call, whatever makes them") {
  const char* overflow = "numel: integer multiplication overflow";
  const Tensor two = ones({2}), wide = ones({1}).expand({int64_t{1} << 57});
  CHECK_THROWS_WITH_AS(eye(int64_t{1} << 33), overflow, Error);
  CHECK_THROWS_WITH_AS(outer(ones({int64_t{1} << 32}), ones({int64_t{1} << 31})), overflow, Error);
  CHECK_THROWS_WITH_AS(wide + ones({8, 1}), overflow, Error);
  CHECK_THROWS_WITH_AS(cat(std::vector<Tensor>(64, wide)), overflow, Error);
  CHECK_THROWS_WITH_AS(stack(std::vector<Tensor>(64, wide)), overflow, Error);
  const Tensor none = zeros({0, int64_t{1} << 40, int64_t{1} << 40});
  CHECK_THROWS_WITH_AS(none.sum({0}), overflow, Error);
  CHECK_THROWS_WITH_AS(none.mean({1, 2}), overflow, Error);
  const Tensor long_and_empty = zeros({0, int64_t{1} << 40});
  CHECK_THROWS_WITH_AS(mm(long_and_empty.t(), long_and_empty), overflow, Error);
  CHECK_THROWS_WITH_AS(two.repeat({kHuge}), overflow, Error);
  CHECK_THROWS_WITH_AS(two.repeat({std::numeric_limits<int64_t>::min()}), overflow, Error);
  for (int64_t amount : {kHuge, std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min()})
    CHECK_THROWS_AS(constant_pad_nd(two, {amount, amount}), Error);
}

TEST_CASE("more chunks than elements: one each") {
  CHECK(ones({4}).chunk(std::numeric_limits<int64_t>::max()).size() == 4);
  CHECK(ones({7}).chunk(3)[2].size(0) == 1);
}

TEST_CASE("products with empty batches, rows, sums and columns") {
  CHECK(equal(matmul(ones({2, 3, 0}), ones({0})), zeros({2, 3})));
  CHECK(equal(matmul(ones({2, 3, 0}), ones({0, 4})), zeros({2, 3, 4})));
  CHECK(matmul(ones({2, 3, 4}), ones({4, 0})).sizes() == IntArrayRef({2, 3, 0}));
  CHECK(matmul(ones({0, 3, 4}), ones({4, 5})).sizes() == IntArrayRef({0, 3, 5}));
  CHECK(matmul(ones({0, 3, 0}), ones({0})).sizes() == IntArrayRef({0, 3}));
}

TEST_CASE("a number or braces in var and std are a dim, only a bool is the flag unbiased") {
  const Tensor x = tensor({{1.0, 2.0, 6.0}, {4.0, 5.0, 9.0}});
  CHECK(x.var({1}).sizes() == IntArrayRef({2}));
  CHECK(x.std({0}).sizes() == IntArrayRef({3}));
  CHECK(var(x, {1}, false, true).sizes() == IntArrayRef({2, 1}));
  CHECK(equal(var(x, {0}), x.var(std::vector<int64_t>{0})));
  CHECK(equal(tenon::std(x, {0, 1}), x.std()));
  CHECK(std::get<0>(var_mean(x, {1})).sizes() == IntArrayRef({2}));
  CHECK(std::get<1>(std_mean(x, {0})).sizes() == IntArrayRef({3}));
  CHECK(x.var(false).dim() == 0);
  CHECK(equal(x.var(0), tensor({4.5, 4.5, 4.5})));
  CHECK(equal(x.var(x.dim() - 1), x.var({1})));
  CHECK(equal(x.std(1), x.var({1}).sqrt()));
  CHECK(equal(tenon::std(x, int64_t{-1}), x.std({1})));
  CHECK(equal(var(x, 0), x.var({0})));
  CHECK(equal(x.var(0, false), x.var({0}, false)));
  const auto [variance, mean] = var_mean(x, 0);
  CHECK(equal(variance, x.var({0})));
  CHECK(equal(mean, x.mean(0)));
  const auto [deviation, same_mean] = std_mean(x, int64_t{1});
  CHECK(equal(deviation, x.std({1})));
  CHECK(equal(same_mean, x.mean(1)));
  CHECK_THROWS_AS(x.var(2), IndexError);
  CHECK_THROWS_AS(var_mean(x, -3), IndexError);
}

TEST_CASE("settings out of range are refused and change nothing") {
  const Config before = get_config();
  Config c = before;
  c.threads = 1025;
  CHECK_THROWS_AS(set_config(c), ValueError);
  CHECK_THROWS_AS(set_num_threads(1025), ValueError);
  c = before;
  for (int64_t limit : {int64_t{-1}, (int64_t{1} << 40) + 1}) {
    c.memory_limit_mb = limit;
    CHECK_THROWS_AS(set_config(c), ValueError);
  }
  CHECK(get_config().threads == before.threads);
  CHECK(get_config().memory_limit_mb == before.memory_limit_mb);
}

}  // namespace

TEST_CASE("a number is searched among values that are still to be sorted") {  // each step's place is computed from the one before
  manual_seed(3);
  const Tensor x = rand({300000});
  const float there = x[777].item<float>();
  CHECK(isin(Scalar(there), x * 1).item<bool>());
  CHECK_FALSE(isin(Scalar(1.5), x * 1).item<bool>());
  const Tensor sorted = std::get<0>(sort(x * 1));
  const int64_t place = searchsorted(sorted, tensor({there})).item<int64_t>();
  CHECK(sorted[place].item<float>() == there);
}
