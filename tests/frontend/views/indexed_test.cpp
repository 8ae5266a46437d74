// Reading and writing at indices: where an accumulation starts, what has no dims, results too large for
// memory; and padding that crops on one side.
#include <tenon/tenon.h>

#include <doctest/doctest.h>
#include <cmath>
#include <limits>

#include "runtime/memory/buffer.h"

using namespace tenon;
using indexing::Slice;

TEST_CASE("scatter_reduce without self starts from nothing, in every type") {
  const Tensor index = zeros({3, 2}, kLong);
  for (const ScalarType type : {kByte, kChar, kShort, kInt, kLong, kHalf, kBFloat16, kFloat, kDouble}) {
    CAPTURE(repr(type));
    const Tensor self = full({2, 2}, 1, type), src = tensor({{7, 2}, {5, 4}, {6, 3}}, type);
    const auto reduced = [&](const char* how) { return self.scatter_reduce(0, index, src, how, false); };
    CHECK(reduced("amin").equal(tensor({{5, 2}, {1, 1}}, type)));
    CHECK(reduced("amax").equal(tensor({{7, 4}, {1, 1}}, type)));
    CHECK(reduced("sum").equal(tensor({{18, 9}, {1, 1}}, type)));
    CHECK(reduced("mean").equal(tensor({{6, 3}, {1, 1}}, type)));
  }
  const Tensor negative = tensor({-7, -5}), zero = zeros({2}, kLong);
  CHECK(zeros({1}, kLong).scatter_reduce(0, zero, negative, "amax", false).equal(tensor({-5})));
}

TEST_CASE("take_along_dim needs a dim, or none at all") {
  const Tensor x = tensor(3.f), index = tensor(0);
  CHECK_THROWS_AS(take_along_dim(x, index, 0), IndexError);
  CHECK(take_along_dim(x, index).equal(tensor({3.f})));
}

TEST_CASE("sizes that no memory holds are errors of ours") {
  constexpr int64_t most = std::numeric_limits<int64_t>::max();
  CHECK_THROWS_AS(linspace(0, 1, most), Error);
  CHECK_THROWS_AS(logspace(0, 1, most), Error);
  CHECK_THROWS_AS(histc(ones({3}), most), Error);
  CHECK_THROWS_AS(repeat_interleave(tensor({int64_t{1} << 45})), OutOfMemoryError);
  CHECK(repeat_interleave(tensor({2, 0, 1}, kInt)).equal(tensor({0, 0, 2}, kInt)));
}

TEST_CASE("padding that crops one side reflects and repeats the whole input, and wraps what is left") {
  const Tensor x = arange(5.).reshape({1, 5});
  const auto padded = [&](IntArrayRef sizes, const char* mode) { return pad(x, sizes, mode)[0]; };
  CHECK(padded({-2, 3}, "reflect").equal(tensor({2., 3., 4., 3., 2., 1.})));
  CHECK(padded({3, -4}, "reflect").equal(tensor({3., 2., 1., 0.})));
  CHECK(padded({-7, 4}, "replicate").equal(tensor({4., 4.})));
  CHECK(padded({-3, 2}, "circular").equal(tensor({3., 4., 3., 4.})));
  CHECK_THROWS_WITH(padded({-3, 4}, "circular"), "Padding value causes wrapping around more than once.");
}

// The axes of the product become one axis of the sum, so that the places of what both read are spelt in two
// ways.
TEST_CASE("a centred value that is read in another shape") {
  const Tensor d = arange(12.), w = tensor({1., 2., 3.});
  eval(d, w);
  const auto wanted = [&](const Tensor& h, IntArrayRef shape) {
    const Tensor dense = h.contiguous().clone(), sum = dense.sum();
    eval(dense, sum);
    const Tensor centred = dense + sum;
    eval(centred);
    return centred.reshape(shape) * w;
  };
  const auto shifted = [](const Tensor& h) { return h + h.sum(); };
  CHECK((shifted(d.reshape({3, 4}).slice(1, 0, 2)).reshape({2, 3}) * w).equal(wanted(d.reshape({3, 4}).slice(1, 0, 2), {2, 3})));
  CHECK((shifted(d.reshape({6, 2}) * 2).reshape({4, 3}) * w).equal(wanted(d.reshape({6, 2}) * 2, {4, 3})));
  CHECK((shifted((d.reshape({2, 6}) * 2).t()).reshape({4, 3}) * w).equal(wanted((d.reshape({2, 6}) * 2).t(), {4, 3})));
}

TEST_CASE("what a mask selects takes memory for the result and for the mask, not for each of its elements") {
  constexpr int64_t count = 8'000'000;
  const Tensor mask = zeros({2, count / 2}, kBool), x = (arange(count) % 7).to(kByte).reshape({2, count / 2});
  mask.index_put_({1, 77}, true);
  mask.index_put_({0, 5}, true);
  eval({mask, x});
  const auto grows_by = [](auto&& f) {
    runtime::reset_peak_memory_stats();
    const int64_t before = runtime::memory_stats().allocated;
    f();
    return runtime::memory_stats().peak_allocated - before;
  };
  CHECK(grows_by([&] { CHECK(nonzero(mask).equal(tensor({{0, 5}, {1, 77}}))); }) < count / 4);
  const Tensor there = tensor({int64_t{5}, (count / 2 + 77) % 7}, kByte);
  CHECK(grows_by([&] { CHECK(masked_select(x, mask).equal(there)); }) < count / 4);
  CHECK(grows_by([&] { CHECK(x.index({mask}).equal(there)); }) < count / 4);
  const Tensor values = tensor({4, 5}, kByte);
  CHECK(grows_by([&] {
          x.index_put_({mask}, values);
          eval(x);
        }) < count / 4);
  CHECK(x.index({mask}).equal(values));
}

TEST_CASE("masks over the first dims, over others, and of views, read and written") {
  const Tensor x = arange(24).reshape({2, 3, 4});
  const Tensor rows = tensor({true, false}), both = tensor({{true, false, true}, {false, true, false}}),
               last = tensor({false, true, false, true});
  CHECK(x.index({rows}).equal(x.slice(0, 0, 1)));
  CHECK(x.index({both}).equal(stack({x[0][0], x[0][2], x[1][1]})));
  CHECK(x.index({both, Slice(1, 3)}).equal(stack({x[0][0], x[0][2], x[1][1]}).slice(1, 1, 3)));
  CHECK(x.index({"...", last}).equal(stack({x.select(2, 1), x.select(2, 3)}, 2)));
  CHECK(x.transpose(0, 1).index({both.t()}).equal(stack({x[0][0], x[1][1], x[0][2]})));
  CHECK(x.index({x < 0}).sizes() == IntArrayRef({0}));
  CHECK(x.index({x >= 0}).equal(arange(24)));
  Tensor y = x.clone();
  y.index_put_({both}, -arange(12).reshape({3, 4}));
  CHECK(y.index({both}).equal(-arange(12).reshape({3, 4})));
  CHECK(y.index({both.logical_not()}).equal(x.index({both.logical_not()})));
  y.transpose(0, 1).index_put_({both.t()}, full({4}, 9, kLong));
  CHECK(y.index({both}).eq(9).all().item<bool>());
  y.slice(1, 1, 3).index_put_({both.slice(1, 1, 3)}, zeros({2, 4}, kLong));
  CHECK(y[0][2].eq(0).all().item<bool>());
  CHECK(y[0][0].eq(9).all().item<bool>());
  CHECK_THROWS_WITH_AS(y.index_put_({both}, zeros({2, 4}, kLong)),
                       "shape mismatch: value tensor of shape [2, 4] cannot be broadcast to indexing result of shape [3, 4]", Error);
}

TEST_CASE("order statistics that select give what a sort gives, ties and nan too") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Tensor ties = (arange(3000) * 7 % 11).reshape({3, 1000}).to(kFloat);
  Tensor holes = ties.clone();
  holes.index_put_({1, Slice(3, 900, 50)}, nan);
  for (const Tensor& x : {ties, holes, ties.t().contiguous().t()}) {
    for (const bool largest : {true, false}) {
      const auto [values, order] = x.sort(1, largest);
      for (const int64_t k : {0, 1, 7, 400, 1000}) {
        const auto [top, places] = x.topk(k, 1, largest);
        CHECK(places.equal(order.slice(1, 0, k)));
        CHECK(allclose(top, values.slice(1, 0, k), 0, 0, true));
      }
    }
    const auto [values, order] = x.sort(1);
    for (const int64_t k : {1, 3, 500, 1000}) {
      const auto [value, place] = x.kthvalue(k, 1);
      CHECK(place.equal(order.select(1, k - 1)));
      CHECK(allclose(value, values.select(1, k - 1), 0, 0, true));
    }
  }
  const auto [middle, place] = holes.median(1);
  CHECK(std::isnan(middle[1].item<double>()));
  CHECK(place[1].item<int64_t>() == 3);
  CHECK(place[0].item<int64_t>() == std::get<1>(holes.sort(1))[0][499].item<int64_t>());
  const Tensor even = tensor({1.0, 2.0, 3.0, 4.0, 5.0, 6.0});
  CHECK(even.quantile(0.5, nullopt, false, "nearest").item<double>() == 3);  // of 2.5, the even one
  CHECK(even.quantile(0.3, nullopt, false, "nearest").item<double>() == 3);  // of 1.5
  CHECK(even.quantile(0.5).item<double>() == 3.5);
  CHECK(even.quantile(1.0).item<double>() == 6);
}
