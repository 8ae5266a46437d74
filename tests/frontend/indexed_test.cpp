// Reading and writing at indices: where an accumulation starts, what has no dims, results too large for
// memory; and padding that crops on one side.
#include <tenon/tenon.h>

#include <doctest/doctest.h>
#include <limits>

using namespace tenon;

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
  CHECK((shifted(d.reshape({3, 4}).slice(1, 0, 2)).reshape({2, 3}) * w)
            .equal(wanted(d.reshape({3, 4}).slice(1, 0, 2), {2, 3})));
  CHECK((shifted(d.reshape({6, 2}) * 2).reshape({4, 3}) * w).equal(wanted(d.reshape({6, 2}) * 2, {4, 3})));
  CHECK((shifted((d.reshape({2, 6}) * 2).t()).reshape({4, 3}) * w)
            .equal(wanted((d.reshape({2, 6}) * 2).t(), {4, 3})));
}
