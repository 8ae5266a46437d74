// Writing in place: what is written, who sees it, what it may not do, and what it costs.
#include <tenon/inspect.h>
#include <tenon/tenon.h>

#include <doctest/doctest.h>

#include "frontend/golden.h"
#include "frontend/values.h"

using namespace tenon;
using indexing::None;
using indexing::Slice;
using test::error_of;
using test::Values;
using test::values;

TEST_CASE("in place: aliases see a write, pending readers do not") {
  Tensor x = arange(9.).reshape({3, 3});
  const Tensor flat = x.view({1, 9}), turned = x.t();
  Tensor row = x[1];
  const Tensor before = x * 10;
  flat.index({Slice(), 0}) = 5;
  CHECK(values(turned[0]) == Values{5, 3, 6});
  row += 100;
  CHECK(values(x) == Values{5, 1, 2, 103, 104, 105, 6, 7, 8});
  turned[2].fill_(-1);
  CHECK(values(flat) == Values{5, 1, -1, 103, 104, -1, 6, 7, -1});
  CHECK(values(before) == Values{0, 10, 20, 30, 40, 50, 60, 70, 80});
  CHECK(x._version() == 3);
  CHECK(turned._version() == 3);
  CHECK(x.detach()._version() == 3);
  CHECK(x.data()._version() == 0);
  Tensor y = x;
  y = y + 1;  // another tensor
  CHECK(values(x[0]) == Values{5, 1, -1});
}

TEST_CASE("in place: assignment to what is indexed") {
  Tensor x = zeros({2, 3});
  x[0][1] = 4;
  x[1] = tensor({1., 2., 3.});
  CHECK(values(x) == Values{0, 4, 0, 1, 2, 3});
  x.index({Slice(), 0}) = tensor({7, 8});  // another dtype
  x.index({"...", Slice(1, None)}) += 1;
  CHECK(values(x) == Values{7, 5, 1, 8, 3, 4});
  x.index_put_({x > 4}, 0);
  CHECK(values(x) == Values{0, 0, 1, 0, 3, 4});
  x.index_put_({tensor({0, 1}), tensor({0, 2})}, tensor({10., 20.}));
  CHECK(values(x) == Values{10, 0, 1, 0, 3, 20});
  x.index_put_({tensor({0, 0, 0})}, ones({3}), true);
  CHECK(values(x) == Values{13, 3, 4, 0, 3, 20});
  x.index_put_({Slice(), tensor({true, false, true})}, tensor({{1., 2.}, {3., 4.}}));
  CHECK(values(x) == Values{1, 3, 2, 3, 3, 4});
  x.t().index_put_({tensor({-1})}, tensor({5., 6.}));
  CHECK(values(x) == Values{1, 3, 5, 3, 3, 6});
  x[0] = 9;
  CHECK(values(x[0]) == Values{9, 9, 9});
  CHECK(error_of([&] {
          x.index_put_({tensor({0})}, tensor({1, 2, 3}));
        }) ==
        "Index put requires the source and destination dtypes match, got Float for the destination and Long "
        "for "
        "the source.");
  CHECK(error_of([&] {
          x.index_put_({tensor({0, 1})}, ones({4}));
        }) == "shape mismatch: value tensor of shape [4] cannot be broadcast to indexing result of shape [2, 3]");
  CHECK(error_of([&] { x.index_put_({Slice()}, ones({4})); }) ==
        "The expanded size of the tensor (3) must match the existing size (4) at non-singleton dimension 1.  "
        "Target sizes: [2, 3].  Tensor sizes: [4]");
}

TEST_CASE("in place: operations") {
  Tensor x = tensor({1., 4., 9.});
  CHECK(values(x.sqrt_()) == Values{1, 2, 3});
  CHECK(values(x.add_(tensor({1., 1., 1.}), 2).sub_(1).mul_(3).div_(2)) == Values{3, 4.5, 6});
  CHECK(values(x.div_(2, "floor").pow_(2).clamp_(2, 8)) == Values{2, 4, 8});
  CHECK(values(x.lerp_(zeros({3}), 0.5).addcmul_(x, ones({3}), 2)) == Values{3, 6, 12});
  CHECK(values(x.eq_(6)) == Values{0, 1, 0});
  CHECK(values(x.copy_(tensor({7}))) == Values{7, 7, 7});
  CHECK(values(x.masked_fill_(tensor({true, false, true}), 1)) == Values{1, 7, 1});
  CHECK(values(x.masked_scatter_(tensor({true, false, true}), tensor({5., 6.}))) == Values{5, 7, 6});
  CHECK(values(x.index_add_(0, tensor({0, 0}), ones({2}))) == Values{7, 7, 6});
  CHECK(values(x.scatter_(0, tensor({2}), tensor({0.}))) == Values{7, 7, 0});
  CHECK(values(x.index_fill_(0, tensor({1}), 3)) == Values{7, 3, 0});
  CHECK(values(x.cumsum_(0)) == Values{7, 10, 10});
  CHECK(values(x.zero_()) == Values{0, 0, 0});
  Tensor n = tensor({5, 6, 7});
  n &= 6;
  n |= 8;
  n ^= 1;
  n <<= 2;
  n >>= 1;
  n %= 25;
  CHECK(values(n) == Values{1, 5, 5});
  Tensor m = ones({3, 3});
  CHECK(values(m.tril_(-1)) == Values{0, 0, 0, 1, 0, 0, 1, 1, 0});
  CHECK(values(m.fill_diagonal_(4)) == Values{4, 0, 0, 1, 4, 0, 1, 1, 4});
  CHECK(values(zeros({7, 2}).fill_diagonal_(1, true)) == Values{1, 0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 1, 0});
  CHECK(values(m.addmm_(ones({3, 1}), ones({1, 3}), 0, 2)) == Values(9, 2));
}

TEST_CASE("in place: the shape alone") {
  Tensor x = arange(6.).reshape({2, 3});
  const Tensor alias = x.view({6});
  x.t_();
  CHECK(x.sizes().vec() == std::vector<int64_t>{3, 2});
  x.unsqueeze_(0).squeeze_().transpose_(0, 1);
  CHECK(x.is_contiguous());
  x[1][2] = 50;
  CHECK(values(alias) == Values{0, 1, 2, 3, 4, 50});
  x.resize_({2, 2});
  CHECK(values(x) == Values{0, 1, 2, 3});
  x.resize_({8});
  x.slice(0, 6).fill_(1);
  CHECK(values(x) == Values{0, 1, 2, 3, 4, 50, 1, 1});
  x[0] = 7;
  CHECK(values(alias)[0] == 7);
  x.set_(alias);
  CHECK(x.is_set_to(alias));
  CHECK(error_of([&] { x.resize_({-1}); }) != "no error");
}

TEST_CASE("in place: errors are PyTorch's") {
  CHECK(error_of([] { tensor({1, 2}).add_(1.5); }) == "result type Float can't be cast to the desired output type Long");
  CHECK(error_of([] { tensor({true}).add_(1); }) == "result type Long can't be cast to the desired output type Bool");
  CHECK(error_of([] { ones({3}).add_(ones({2, 3})); }) == "output with shape [3] doesn't match the broadcast shape [2, 3]");
  CHECK(error_of([] { ones({3}).copy_(ones({2})); }) ==
        "The size of tensor a (3) must match the size of tensor b (2) at non-singleton dimension 0");
  CHECK(error_of([] { ones({3}).fill_(ones({2})); }) == "fill_ only supports 0-dimension value tensor but got tensor with 1 dimensions.");
  const std::string shared =
      "unsupported operation: more than one element of the written-to tensor refers to a single memory "
      "location. "
      "Please clone() the tensor before performing the operation.";
  CHECK(error_of([] { ones({2}).expand({3, 2}).add_(1); }) == shared);
  CHECK(error_of([] { ones({1}).expand({3}).copy_(arange(3.)); }) == shared);
  CHECK(error_of([] { ones({1}).expand({3}).index_put_({tensor({0})}, ones({1})); }) == shared);
}

TEST_CASE("in place: which types may be added to which") {
  const nlohmann::json table = golden::load("promotion.json");
  REQUIRE(table.contains("inplace_add_allowed"));
  for (size_t to = 0; to < 10; ++to) {
    for (size_t from = 0; from < 10; ++from) {
      const Tensor x = zeros({2}, static_cast<ScalarType>(to)), y = ones({2}, static_cast<ScalarType>(from));
      const std::string error = error_of([&] { x.add_(y); });
      CAPTURE(x.dtype().name());
      CAPTURE(y.dtype().name());
      CHECK((error == "no error") == table["inplace_add_allowed"][to][from].get<bool>());
    }
  }
}

TEST_CASE("in place: memory that others see is written at once") {
  Tensor x = arange(6.);
  const Tensor before = x * 2;
  const float* memory = x.data_ptr<float>();
  x += 1;
  CHECK(memory[5] == 6);
  x.slice(0, 0, 6, 3).zero_();
  CHECK(memory[0] == 0);
  CHECK(memory[3] == 0);
  x.index_put_({tensor({1, 1})}, tensor({3., 4.}), true);
  CHECK(memory[1] == 9);
  CHECK(x.data_ptr<float>() == memory);
  CHECK(values(before) == Values{0, 2, 4, 6, 8, 10});

  float outside[] = {1, 2, 3, 4};
  Tensor shared = from_blob(outside, {2, 2});
  const Tensor reader = shared * 10, copy = zeros({2, 2}).copy_(shared.view({2, 2}));
  shared.t().copy_(shared);  // reads what it writes
  CHECK(outside[1] == 3);
  CHECK(outside[2] == 2);
  CHECK(values(reader) == Values{10, 20, 30, 40});
  CHECK(values(copy) == Values{1, 2, 3, 4});
}

TEST_CASE("in place: a loop of x += 1 is one kernel a round and allocates nothing") {
  Tensor x = arange(1e6, kFloat);
  eval(x);
  const float first = x[7].item<float>();
  for (int i = 0; i < 3; ++i) {
    x += 1;
    eval(x);
  }
  clear_kernel_history();
  const int64_t allocations = memory_stats().allocations, launches = counters().launches;
  const int rounds = 10'000;
  for (int i = 0; i < rounds; ++i) {
    x += 1;
    eval(x);
  }
  CHECK(memory_stats().allocations == allocations);
  CHECK(counters().launches - launches == rounds);
  CHECK(x[7].item<float>() == first + 3 + rounds);
}

TEST_CASE("in place: writing one row touches that row") {
  Tensor x = rand({2000, 1000}) + 1;
  eval(x);
  clear_kernel_history();
  const int64_t allocations = memory_stats().allocations;
  x[3] = 7;
  eval(x);
  x[4] += 1;
  eval(x);
  x.index({Slice(), 5}) = 1;
  eval(x);
  int64_t bytes = 0;
  for (const KernelRecord& record : kernel_history()) bytes += record.bytes;
  CHECK(bytes <= 4 * (1000 + 2 * 1000 + 2000 + 64));
  CHECK(memory_stats().allocations == allocations);
  CHECK(x[3].sum().item<float>() == 6994);
}

TEST_CASE("in place: rows chosen by an index are written where they lie") {
  Tensor table = rand({2000, 100}) + 1;
  const Tensor rows = tensor({5, 7, 5}), more = ones({3, 100});
  eval(table, rows, more);
  const float before = table[5][0].item<float>();
  const int64_t allocations = memory_stats().allocations;
  table.index_put_({rows}, more, true);
  eval(table);
  CHECK(memory_stats().allocations <= allocations + 1);  // places and values, not another table
  CHECK(table[5][0].item<float>() == before + 1 + 1);
}

TEST_CASE("in place: a scan's result may take the memory of what is read again after it, for any number of lines") {
  for (const int64_t lines : {1, 5, 8, 9, 10, 11, 33, 66}) {
    for (const int64_t length : {50, 700}) {
      CAPTURE(lines);
      CAPTURE(length);
      const auto fresh = [&] {
        Tensor x = (arange(lines * length, kFloat) % 7).reshape({lines, length}) - 3;
        eval(x);
        return x;
      };
      const Tensor x = fresh();
      const Tensor sums = x + x.cumsum(1), products = x * x.sign().cumprod(1), greatest = x + std::get<0>(x.cummax(1));
      eval(sums, products, greatest);  // x is needed: each has memory of its own
      Tensor a = fresh(), b = fresh(), c = fresh();
      a.add_(a.cumsum(1));
      b.mul_(b.sign().cumprod(1));
      c.add_(std::get<0>(c.cummax(1)));
      eval(a, b, c);
      CHECK(equal(a, sums));
      CHECK(equal(b, products));
      CHECK(equal(c, greatest));
      CHECK(equal(x, fresh()));
    }
  }
}
