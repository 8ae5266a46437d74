// Random numbers of CUDA devices, drawn on a late device that has their name: PyTorch's Philox stream as graph operations.
#include <tenon/tenon.h>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "device/late_tensors.h"
#include "frontend/src/random/philox.h"

using tenon::Device;
using tenon::Tensor;
using tenon::test::late_cuda;
using tenon::test::same_bits;

namespace {

using Block = std::array<uint32_t, 4>;

template <typename T>
std::vector<T> values(const Tensor& x) {
  const Tensor here = x.cpu().contiguous();
  const T* data = here.const_data_ptr<T>();
  return {data, data + here.numel()};
}
void check_close(const Tensor& x, std::vector<double> wanted, double tolerance = 6e-5) {
  const std::vector<float> got = values<float>(x);
  REQUIRE(got.size() == wanted.size());
  for (size_t i = 0; i < got.size(); ++i) CHECK(std::abs(got[i] - wanted[i]) < tolerance);
}

// PyTorch's launch on an H100, which late devices count as: at most 132 x 8 blocks of 256 threads.
constexpr int64_t kMostThreads = 132 * 8 * 256;

// Words that element i of a draw takes, by walking as the kernel's threads do.
std::vector<Block> blocks_of(int64_t count, int parts, uint64_t seed, uint64_t offset, std::vector<int>& part) {
  const int64_t threads = std::min((count + 255) / 256 * 256, kMostThreads);
  std::vector<Block> result(static_cast<size_t>(count));
  part.assign(static_cast<size_t>(count), 0);
  for (int64_t thread = 0; thread < threads; ++thread) {
    uint64_t at = offset / 4;
    for (int64_t i = thread; i < count; i += threads * parts, ++at) {
      const Block block =
          tenon::philox_block(Block{static_cast<uint32_t>(at), static_cast<uint32_t>(at >> 32), static_cast<uint32_t>(thread), 0}, seed);
      for (int p = 0; p < parts && i + p * threads < count; ++p) {
        result[static_cast<size_t>(i + p * threads)] = block;
        part[static_cast<size_t>(i + p * threads)] = p;
      }
    }
  }
  return result;
}

}  // namespace

TEST_CASE("philox: the known answers of its authors") {
  CHECK(tenon::philox_block(Block{0, 0, 0, 0}, 0) == Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  CHECK(tenon::philox_block(Block{~0u, ~0u, ~0u, ~0u}, ~uint64_t{0}) == Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(tenon::philox_block(Block{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, uint64_t{0x299f31d0} << 32 | 0xa4093822) ==
        Block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("philox: what PyTorch prints on a GPU") {
  const Device cuda = late_cuda();
  tenon::manual_seed(0);
  check_close(tenon::rand({3, 3}, cuda), {0.3990, 0.5167, 0.0249, 0.9401, 0.9459, 0.7967, 0.4150, 0.8203, 0.2290});
  check_close(tenon::rand({3, 3}, cuda), {0.9722, 0.7910, 0.4690, 0.3300, 0.3345, 0.3783, 0.7640, 0.6405, 0.1103});
  tenon::manual_seed(0);
  check_close(tenon::randn({2, 8}, cuda), {-0.9247, -0.4253, -2.6438, 0.1452, -0.1209, -0.5797, -0.6229, -0.3284,  //
                                           -1.0745, -0.3631, -1.6711, 2.2655, 0.3117, -0.1842, 1.2866, 1.1820});
}

TEST_CASE("philox: words of every size of draw are those of PyTorch's threads") {
  const Device cuda = late_cuda();
  std::vector<int> part;
  for (const int64_t count : {int64_t{1}, int64_t{255}, int64_t{257}, kMostThreads + 1000, 4 * kMostThreads + 77}) {
    CAPTURE(count);
    tenon::cuda::manual_seed(0x1234567890abcdefull);
    tenon::cuda::detail::getDefaultCUDAGenerator();
    const Tensor narrow = tenon::empty({count}, tenon::TensorOptions(tenon::kInt).device(cuda)).random_();
    const uint64_t after = tenon::cuda::detail::getDefaultCUDAGenerator().get_offset();
    const Tensor wide = tenon::empty({count}, tenon::TensorOptions(tenon::kLong).device(cuda)).random_();
    const std::vector<int32_t> got = values<int32_t>(narrow);
    const std::vector<int64_t> got_wide = values<int64_t>(wide);
    int64_t wrong = 0;
    std::vector<Block> blocks = blocks_of(count, 4, 0x1234567890abcdefull, 0, part);
    for (size_t i = 0; i < got.size(); ++i)
      wrong += static_cast<uint32_t>(got[i]) != (blocks[i][static_cast<size_t>(part[i])] & 0x7fffffffu);
    CHECK(wrong == 0);
    const int64_t threads = std::min((count + 255) / 256 * 256, kMostThreads);
    CHECK(after == static_cast<uint64_t>(((count - 1) / (threads * 4) + 1) * 4));
    blocks = blocks_of(count, 2, 0x1234567890abcdefull, after, part);
    for (size_t i = 0; i < got.size(); ++i) {
      const auto p = static_cast<size_t>(2 * part[i]);
      const uint64_t word = uint64_t{blocks[i][p]} << 32 | blocks[i][p + 1];
      wrong += static_cast<uint64_t>(got_wide[i]) != (word & (~uint64_t{0} >> 1));
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("philox: uniform numbers of each float type keep to their bounds, integers and coins to their words") {
  const Device cuda = late_cuda();
  std::vector<int> part;
  constexpr int64_t kCount = 3000;
  const std::vector<Block> blocks = blocks_of(kCount, 4, 11, 0, part);
  tenon::cuda::manual_seed(11);
  const std::vector<float> uniform = values<float>(tenon::empty({kCount}, cuda).uniform_(-2, 5));
  for (size_t i = 0; i < uniform.size(); ++i) {
    const float u = static_cast<float>(blocks[i][0]) * 0x1p-32f + 0x1p-33f, value = std::fma(u, 7.f, -2.f);
    CHECK(uniform[i] == (value == 5.f ? -2.f : value));
  }
  tenon::cuda::manual_seed(11);
  const std::vector<int64_t> dice = values<int64_t>(tenon::randint(1, 7, {kCount}, tenon::TensorOptions(tenon::kLong).device(cuda)));
  for (size_t i = 0; i < dice.size(); ++i) CHECK(dice[i] == blocks[i][0] % 6 + 1);
  tenon::cuda::manual_seed(11);
  const std::vector<uint8_t> coins =
      values<uint8_t>(tenon::empty({kCount}, tenon::TensorOptions(tenon::kByte).device(cuda)).bernoulli_(0.3));
  for (size_t i = 0; i < coins.size(); ++i) CHECK(coins[i] == (static_cast<float>(blocks[i][0]) * 0x1p-32f + 0x1p-33f < 0.3f));
  for (const tenon::ScalarType type : {tenon::kHalf, tenon::kBFloat16, tenon::kFloat, tenon::kDouble}) {
    const Tensor u = tenon::rand({20000}, tenon::TensorOptions(type).device(cuda)).cpu().to(tenon::kDouble);
    CHECK(u.min().item<double>() >= 0);
    CHECK(u.max().item<double>() < 1);
    CHECK(std::abs(u.mean().item<double>() - 0.5) < 0.01);
  }
}

TEST_CASE("philox: integers of any range, also those that need 64 bits without a sign") {
  const Device cuda = late_cuda();
  std::vector<int> part;
  constexpr int64_t kCount = 500;
  const std::vector<Block> blocks = blocks_of(kCount, 2, 5, 0, part);
  for (const uint64_t range : {uint64_t{1} << 28, (uint64_t{1} << 40) + 7, (uint64_t{1} << 62) + 5, (uint64_t{1} << 63) + 12345}) {
    tenon::cuda::manual_seed(5);
    const int64_t base = -(int64_t{1} << 62);
    const std::vector<int64_t> got = values<int64_t>(tenon::empty({kCount}, tenon::TensorOptions(tenon::kLong).device(cuda))
                                                         .random_(base, static_cast<int64_t>(static_cast<uint64_t>(base) + range)));
    for (size_t i = 0; i < got.size(); ++i) {
      const uint64_t word = uint64_t{blocks[i][0]} << 32 | blocks[i][1];
      CHECK(static_cast<uint64_t>(got[i]) == word % range + static_cast<uint64_t>(base));
    }
  }
}

TEST_CASE("philox: distributions have their moments") {
  const Device cuda = late_cuda();
  tenon::cuda::manual_seed(77);
  constexpr int64_t kCount = 100000;
  const auto moments = [](const Tensor& x) {
    const Tensor d = x.cpu().to(tenon::kDouble);
    return std::pair(d.mean().item<double>(), d.var().item<double>());
  };
  for (const tenon::ScalarType type : {tenon::kHalf, tenon::kFloat, tenon::kDouble}) {
    const auto empty = [&] { return tenon::empty({kCount}, tenon::TensorOptions(type).device(cuda)); };
    const auto [mean, variance] = moments(empty().normal_(3, 2));
    CHECK(std::abs(mean - 3) < 0.04);
    CHECK(std::abs(variance - 4) < 0.1);
    const auto [wait, spread] = moments(empty().exponential_(2));
    CHECK(std::abs(wait - 0.5) < 0.01);
    CHECK(std::abs(spread - 0.25) < 0.02);
  }
  const auto floats = [&] { return tenon::empty({kCount}, cuda); };
  CHECK(std::abs(moments(floats().log_normal_(0, 0.5)).first - std::exp(0.125)) < 0.02);
  CHECK(std::abs(moments(floats().geometric_(0.25)).first - 4) < 0.1);
  CHECK(floats().geometric_(0.9).min().item<float>() == 1);
  CHECK(std::abs(floats().cauchy_(1, 2).cpu().median().item<double>() - 1) < 0.05);
  CHECK(std::abs(moments(tenon::bernoulli(tenon::full({kCount}, 0.2, cuda))).first - 0.2) < 0.01);
  CHECK(std::abs(moments(tenon::poisson(tenon::full({kCount}, 5., cuda))).first - 5) < 0.1);
  const Tensor kept = tenon::dropout(tenon::ones({kCount}, cuda), 0.5, true);
  CHECK(std::abs(moments(kept).first - 1) < 0.02);
  CHECK(kept.device() == cuda);
  const Tensor picked = tenon::multinomial(tenon::tensor({1.f, 0.f, 3.f}, cuda), 4000, true);
  CHECK(std::abs(moments(picked.to(tenon::kFloat)).first - 1.5) < 0.1);
  CHECK(picked.device() == cuda);
}

TEST_CASE("philox: a permutation has every number once, and shuffles") {
  const Device cuda = late_cuda();
  tenon::cuda::manual_seed(3);
  const std::vector<int64_t> order = values<int64_t>(tenon::randperm(1000, tenon::TensorOptions(tenon::kLong).device(cuda)));
  std::vector<int64_t> sorted = order;
  std::ranges::sort(sorted);
  for (size_t i = 0; i < sorted.size(); ++i) CHECK(sorted[i] == static_cast<int64_t>(i));
  CHECK(order != sorted);
}

TEST_CASE("philox: the order of memory counts, not the shape, nor what it is fused with") {
  const Device cuda = late_cuda();
  const auto seeded = [&](auto f) {
    tenon::cuda::manual_seed(9);
    return f();
  };
  const Tensor flat = seeded([&] { return tenon::randn({24}, cuda); });
  CHECK(same_bits(seeded([&] { return tenon::randn({2, 3, 4}, cuda); }).flatten(), flat));
  const Tensor turned = seeded([&] { return tenon::empty({6, 4}, cuda).t().normal_(); });
  CHECK(same_bits(turned.t().flatten(), flat));
  const Tensor part = tenon::zeros({24, 2}, cuda);
  seeded([&] { return part.select(1, 1).normal_(); });
  CHECK(same_bits(part.select(1, 1), flat));
  CHECK(part.select(1, 0).abs().sum().item<float>() == 0);
  const Tensor fused = seeded([&] { return (tenon::randn({24}, cuda) * 2 + 1).relu(); });
  CHECK(same_bits(fused, (flat * 2 + 1).relu()));
}

TEST_CASE("philox: a draw is one kernel with its neighbours, and one plan for every step") {
  const Device cuda = late_cuda();
  tenon::cuda::manual_seed(1);
  const Tensor x = tenon::ones({64, 32}, cuda) * 3;
  tenon::eval({x});
  const auto step = [&] {
    const Tensor y = tenon::dropout(x.exp(), 0.3, true) * 2;
    tenon::eval({y});
    return y;
  };
  std::vector<Tensor> kept{step(), step(), step()};
  const int64_t plans = tenon::counters().plans_built, launches = tenon::counters().launches;
  for (int i = 0; i < 40; ++i) kept.push_back(step());
  CHECK(tenon::counters().plans_built == plans);
  CHECK(tenon::counters().launches == launches + 40);
  CHECK_FALSE(same_bits(kept[41], kept[42]));
}

TEST_CASE("generators of a CUDA device: seeds, offsets, states") {
  const Device cuda = late_cuda();
  tenon::Generator g = tenon::make_generator<tenon::CUDAGeneratorImpl>(0);
  CHECK(g.device() == cuda);
  CHECK(g.current_seed() == tenon::default_rng_seed_val);
  g.set_current_seed(42);
  const Tensor first = tenon::rand({5}, g, cuda);
  CHECK(g.get_offset() == 4);
  tenon::Generator copy = g.clone();
  const Tensor state = g.get_state(), second = tenon::rand({5}, g, cuda);
  CHECK(state.numel() == 16);
  CHECK(same_bits(tenon::rand({5}, copy, cuda), second));
  g.set_state(state);
  CHECK(same_bits(tenon::rand({5}, g, cuda), second));
  g.set_offset(0);
  CHECK(same_bits(tenon::rand({5}, g, cuda), first));
  CHECK_THROWS_WITH_AS(g.set_offset(3), "offset must be a multiple of 4", tenon::Error);
  CHECK_THROWS_WITH_AS(tenon::rand({2}, g), doctest::Contains("Expected a 'cpu' device type for generator but found 'cuda'"), tenon::Error);
  CHECK_THROWS_WITH_AS(tenon::rand({2}, tenon::default_generator(), cuda),
                       doctest::Contains("Expected a 'cuda' device type for generator but found 'cpu'"), tenon::Error);
  CHECK_THROWS_AS(tenon::rand({2}, g, late_cuda(1)), tenon::Error);

  tenon::manual_seed(8);  // of all devices
  CHECK(tenon::cuda::initial_seed() == 8);
  const Tensor here = tenon::rand({4}, cuda), there = tenon::rand({4}, late_cuda(1));
  CHECK(same_bits(here, there));
  const Tensor saved = tenon::cuda::get_rng_state();
  const Tensor x = tenon::rand({4}, cuda);
  tenon::cuda::set_rng_state(saved);
  CHECK(same_bits(tenon::rand({4}, cuda), x));
}
