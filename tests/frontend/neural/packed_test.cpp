// Constants that products read again and again keep a packed copy: it never shows but in the time that a product takes.
#include <doctest/doctest.h>
#include <tenon/tenon.h>

#include <random>
#include <thread>
#include <vector>

#include "frontend/src/tensor/impl.h"
#include "runtime/memory/packed_copies.h"
#include "support/same_bits.h"

using namespace tenon;
using tenon::test::same_bits;

namespace {

size_t copies() { return runtime::PackedCopies::global().bytes(); }

// Products until `w` counts as constant and has a copy.
Tensor product_often(const Tensor& x, const Tensor& w) {
  Tensor result;
  for (int round = 0; round < 40; ++round) {
    result = x.mm(w.t());
    eval(result);
  }
  return result;
}

Tensor weights(int64_t rows = 512, int64_t columns = 1024) {
  Tensor w = randn({rows, columns});
  eval(w);
  return w;
}

}  // namespace

TEST_CASE("packed copies: a product of a constant gives the same bits with and without one") {
  manual_seed(1);
  const size_t before = copies();
  for (const auto& [m, k, n] : std::vector<std::array<int64_t, 3>>{{8, 1024, 512}, {3, 2050, 515}, {33, 1000, 1001}, {128, 1024, 512}}) {
    CAPTURE(m);
    const Tensor x = randn({m, k}), w = weights(n, k);
    const Tensor first = x.mm(w.t());
    eval(first);
    const Tensor last = product_often(x, w);
    CHECK(copies() > before);
    CHECK(same_bits(first, last));
    CHECK(same_bits(linear(x, w), linear(x, w.clone())));
  }
  CHECK(copies() == before);  // they went with the weights
}

TEST_CASE("packed copies: another batch has the same one") {
  const Tensor w = weights(), x = randn({24, 1024});
  product_often(x, w);
  const size_t one = copies();
  const Tensor other = randn({48, 1024});
  CHECK(same_bits(other.mm(w.t()), other.mm(w.clone().t())));
  product_often(other, w);
  CHECK(copies() == one);
}

TEST_CASE("packed copies: whoever writes the constant ends them") {
  manual_seed(2);
  const Tensor x = randn({8, 1024});
  const size_t before = copies();
  SUBCASE("in place") {
    Tensor w = weights();
    const Tensor product = product_often(x, w);
    w.mul_(2);
    CHECK(same_bits(x.mm(w.t()), product * 2));
    CHECK(copies() == before);
    CHECK(same_bits(product_often(x, w), product * 2));
    CHECK(copies() > before);
  }
  SUBCASE("in the evaluation that reads it") {
    Tensor w = weights();
    const Tensor product = product_often(x, w), read = x.mm(w.t());
    w.mul_(2);
    eval(read, w);
    CHECK(same_bits(read, product));
    CHECK(same_bits(product_often(x, w), product * 2));
  }
  SUBCASE("one row of it") {
    Tensor w = weights();
    product_often(x, w);
    w[3].zero_();
    CHECK(x.mm(w.t()).select(1, 3).abs().sum().item<float>() == 0);
  }
  SUBCASE("in the plan that reads it") {
    Tensor w = weights();
    product_often(x, w);
    for (int step = 0; step < 3; ++step) {
      CAPTURE(step);
      w.sub_(x.mm(w.t()).t().mm(x) * 1e-3f);
      eval(w);
      CHECK(copies() == before);
      const Tensor product = x.mm(w.clone().t());
      CHECK(same_bits(product_often(x, w), product));
    }
  }
  SUBCASE("by its address") {
    Tensor w = weights();
    product_often(x, w);
    float* data = w.data_ptr<float>();
    std::fill_n(data + 5 * 1024, 1024, 0.0f);
    CHECK(x.mm(w.t()).select(1, 5).abs().sum().item<float>() == 0);
    product_often(x, w);
    std::fill_n(data + 6 * 1024, 1024, 0.0f);
    CHECK(x.mm(w.t()).select(1, 6).abs().sum().item<float>() == 0);
  }
  SUBCASE("memory that is somebody else's") {
    std::vector<float> memory(512 * 1024, 1.0f);
    const Tensor w = from_blob(memory.data(), {512, 1024});
    product_often(x, w);
    std::fill(memory.begin(), memory.end(), 0.0f);
    CHECK(x.mm(w.t()).abs().sum().item<float>() == 0);
  }
}

TEST_CASE("packed copies: memory that is wanted back is given back") {
  const Tensor w = weights(), x = randn({8, 1024});
  const Tensor product = product_often(x, w);
  CHECK(copies() > 0);
  runtime::empty_memory_cache();
  CHECK(copies() == 0);
  CHECK(same_bits(product_often(x, w), product));
}

TEST_CASE("packed copies: a constant for whose copy there is no room is packed by the tile again") {
  const Tensor x = randn({8, 4096});
  std::vector<Tensor> w;
  for (int i = 0; i < 4; ++i) w.push_back(weights(4096, 4096));  // of 64 MB
  while (copies() == 0) product_often(x, w.front());             // until the code that packs is compiled
  for (const Tensor& one : w) product_often(x, one);
  CHECK(copies() <= runtime::PackedCopies::kMostBytes);
  const auto constant = [](const Tensor& t) { return runtime::buffer_of(*impl(t).storage().value())->constant(); };
  CHECK(constant(w.front()));
  CHECK(!constant(w.back()));
  CHECK(same_bits(x.mm(w.back().t()), x.mm(w.back().clone().t())));
  w.front() = Tensor();
  w.back().mul_(2);  // begins anew: now there is room
  product_often(x, w.back());
  CHECK(constant(w.back()));
}

TEST_CASE("packed copies: random programs give the bits of fresh operands") {
  for (unsigned seed = 0; seed < 4; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    const auto pick = [&](int n) { return static_cast<int64_t>(random() % static_cast<unsigned>(n)); };
    manual_seed(seed);
    std::vector<Tensor> w{weights(512, 768), weights(768, 512), weights(1500, 500)};
    for (int step = 0; step < 120; ++step) {
      Tensor& one = w[static_cast<size_t>(pick(3))];
      switch (pick(12)) {
        case 0: one.add_(1); continue;
        case 1: one[pick(500)].mul_(-1); continue;
        case 2: one = one.clone(); continue;
        case 3: one.data_ptr<float>()[pick(1000)] = 4; continue;
        case 4: runtime::empty_memory_cache(); continue;
        default: break;
      }
      const bool turned = pick(2) == 0, part = pick(4) == 0;
      const Tensor used = part ? one.slice(0, pick(100), 400) : one, fresh = used.clone();
      const Tensor right = turned ? used.t() : used, right_fresh = turned ? fresh.t() : fresh;
      const Tensor x = randn({1 + pick(40), right.size(0)});
      for (int round = 0; round < 6; ++round) CHECK(same_bits(x.mm(right), x.mm(right_fresh)));
    }
  }
}

TEST_CASE("packed copies: several threads use one") {
  const Tensor w = weights(), x = randn({8, 1024});
  const Tensor expected = x.mm(w.clone().t());
  eval(expected);
  std::vector<int> wrong(3, 0);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < wrong.size(); ++t) {
    threads.emplace_back([&, t] {
      for (int round = 0; round < 30; ++round) {
        if (!same_bits(x.mm(w.t()), expected)) ++wrong[t];
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == std::vector<int>(3, 0));
}
