// The public API on a CUDA device, a real one or the simulator's.
#include <tenon/tenon.h>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <sstream>
#include <string>

#include "frontend/src/random/philox.h"
#include "support/same_bits.h"

using tenon::Device;
using tenon::kCUDA;
using tenon::Tensor;
using tenon::test::same_bits;

namespace {

bool close(const Tensor& a, const Tensor& b, double tolerance = 1e-5) { return tenon::allclose(a.cpu(), b.cpu(), tolerance, tolerance); }

}  // namespace

TEST_CASE("cuda: what there is") {
  CHECK(tenon::cuda::is_available());
  CHECK(tenon::cuda::is_initialized());
  CHECK(tenon::cuda::device_count() >= 1);
  CHECK(tenon::cuda::current_device() == 0);
  const tenon::cuda::DeviceProperties p = tenon::cuda::get_device_properties();
  CHECK_FALSE(p.name.empty());
  CHECK(p.name == tenon::cuda::get_device_name(0));
  CHECK(tenon::cuda::get_device_capability() == std::pair(p.major, p.minor));
  CHECK(p.major >= 7);
  CHECK(p.warp_size == 32);
  CHECK(p.multi_processor_count > 0);
  CHECK(tenon::cuda::getDeviceProperties()->name == p.name);
  CHECK(tenon::cuda::getDeviceProperties(0)->multiProcessorCount == p.multi_processor_count);
  CHECK(tenon::cuda::CUDACachingAllocator::getDeviceStats(0).allocated_bytes[0].current == tenon::cuda::memory_allocated());
  const auto [free, total] = tenon::cuda::mem_get_info();
  CHECK(free > 0);
  CHECK(total >= free);
  CHECK(tenon::info().find(p.name) != std::string::npos);
  CHECK_THROWS_WITH_AS(tenon::ones({2}).to(Device(kCUDA, 60)), doctest::Contains("CUDA error: invalid device ordinal"), tenon::Error);
  CHECK_THROWS_WITH_AS(tenon::cuda::set_device(60), doctest::Contains("CUDA error: invalid device ordinal"), tenon::Error);
}

TEST_CASE("cuda: the tutorial's transfers") {
  const Tensor x = tenon::tensor({1, 2, 3}), there = x.to("cuda");
  std::ostringstream out;
  out << there;
  CHECK(out.str() == "tensor([1, 2, 3], device='cuda:0')");
  CHECK(there.get_device() == 0);
  CHECK(x.get_device() == -1);
  CHECK(same_bits(there.cpu(), x));
  const Tensor wide = tenon::arange(1000, tenon::kFloat).reshape({10, 100});
  CHECK(same_bits(wide.t().to(kCUDA), wide.t()));
  CHECK(same_bits(wide.to(kCUDA, tenon::kDouble).to("cpu"), wide.to(tenon::kDouble)));
  const Tensor inside = wide.cuda();
  inside.add_(1);
  CHECK(same_bits(inside, wide + 1));
  CHECK(wide[0][0].item<float>() == 0);
}

TEST_CASE("cuda: memory figures count in what the device gives") {
  const char* cache = std::getenv("TENON_CUDA_CACHE");
  const int64_t two_floats = cache && std::string(cache) == "0" ? 8 : 512;  // blocks of their own are as large as was asked
  tenon::cuda::synchronize();
  tenon::cuda::empty_cache();
  const int64_t before = tenon::cuda::memory_allocated();
  {
    const Tensor a = tenon::tensor({1.f, 2.f}).cuda();
    CHECK(tenon::cuda::memory_allocated() == before + two_floats);
    CHECK(tenon::cuda::memory_reserved() >= tenon::cuda::memory_allocated());
    CHECK(tenon::cuda::max_memory_allocated() >= before + two_floats);
  }
  tenon::cuda::synchronize();
  CHECK(tenon::cuda::memory_allocated() == before);
  tenon::cuda::reset_peak_memory_stats();
  CHECK(tenon::cuda::max_memory_allocated() == before);
}

TEST_CASE("cuda: pinned memory") {
  const Tensor x = tenon::randn({50}), pinned = x.pin_memory();
  CHECK(pinned.is_pinned());
  CHECK_FALSE(x.is_pinned());
  CHECK(pinned.pin_memory().is_same(pinned));
  CHECK(pinned.is_cpu());
  CHECK(same_bits(pinned, x));
  CHECK(same_bits(pinned.to(kCUDA, true), x));
  const Tensor staging = tenon::empty({4}, tenon::TensorOptions().pinned_memory(true));
  staging.data_ptr<float>()[3] = 7;  // where it is written
  staging.slice(0, 0, 3).copy_(x.slice(0, 0, 3));
  staging.add_(1);
  CHECK(staging.is_pinned());
  CHECK(same_bits(staging.to(kCUDA, true), tenon::cat({x.slice(0, 0, 3), tenon::full({1}, 7)}) + 1));
  CHECK_THROWS_WITH_AS(x.cuda().pin_memory(), doctest::Contains("cannot pin 'CUDAFloatType' only dense CPU tensors can be pinned"),
                       tenon::Error);
}

TEST_CASE("cuda: events know their time, and wait") {
  tenon::cuda::CUDAEvent start(0), end(0), untimed;
  CHECK_THROWS_WITH_AS(start.elapsed_time(end), doctest::Contains("Both events must be recorded"), tenon::Error);
  const Tensor x = tenon::ones({100}).cuda();
  start.record();
  const Tensor y = (x * 3).sum();
  tenon::eval({y});
  end.record();
  end.synchronize();
  CHECK(end.query());
  CHECK(start.elapsed_time(end) >= 0);
  untimed.record();
  untimed.synchronize();
  CHECK_THROWS_WITH_AS(start.elapsed_time(untimed), doctest::Contains("enable_timing=True"), tenon::Error);
}

TEST_CASE("cuda: random numbers are PyTorch's") {
  tenon::manual_seed(0);
  const Tensor u = tenon::rand({5}, kCUDA);
  CHECK(close(u, tenon::tensor({0.3990, 0.5167, 0.0249, 0.9401, 0.9459}), 1e-4));
  tenon::manual_seed(0);
  CHECK(close(tenon::randn({4}, kCUDA), tenon::tensor({-0.9247, -0.4253, -2.6438, 0.1452}), 1e-4));
  const Tensor kept = tenon::dropout(tenon::ones({1000}, kCUDA), 0.25, true);
  CHECK(std::abs(kept.mean().item<float>() - 1) < 0.1);
}

TEST_CASE("cuda: words of a draw are those of PyTorch's threads, whatever launch computes them") {
  const tenon::cuda::DeviceProperties p = tenon::cuda::get_device_properties();
  const bool large = p.major == 8 ? p.minor == 0 : p.major >= 9 && p.major < 12;  // 2048 threads a multiprocessor
  if (!large) return;
  const int64_t most = 2048ll * p.multi_processor_count;
  for (const int64_t count : {int64_t{1}, int64_t{1000}, most + 1000}) {
    CAPTURE(count);
    tenon::cuda::manual_seed(0xfedcba9876543210ull);
    tenon::rand({1}, kCUDA);  // offset 4
    const Tensor x = tenon::empty({count}, tenon::TensorOptions(tenon::kInt).device(kCUDA)).random_().cpu();
    const int32_t* got = x.const_data_ptr<int32_t>();
    const int64_t threads = std::min((count + 255) / 256 * 256, most);
    int64_t wrong = 0;
    for (int64_t i = 0; i < count; ++i) {
      const std::array<uint32_t, 4> counter{1, 0, static_cast<uint32_t>(i % threads), 0};
      const uint32_t word = tenon::philox_block(counter, 0xfedcba9876543210ull)[static_cast<size_t>(i / threads)];
      wrong += static_cast<uint32_t>(got[i]) != (word & 0x7fffffffu);
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("cuda: long rows in shared memory, and scans by many threads, have the CPU's bits") {
  tenon::manual_seed(3);
  const Tensor x = tenon::randn({2, 30000}), n = tenon::randint(-1000000, 1000000, {2, 30000}, tenon::kLong);
  CHECK(same_bits(x.cuda().softmax(1), x.softmax(1)));
  for (const int64_t dim : {0, 1}) {
    CHECK(same_bits(x.cuda().cumsum(dim), x.cumsum(dim)));
    CHECK(same_bits(x.cuda().flip(dim).cumsum(dim).flip(dim), x.flip(dim).cumsum(dim).flip(dim)));
    CHECK(same_bits(x.t().cuda().to(tenon::kHalf).cumsum(dim), x.t().to(tenon::kHalf).cumsum(dim)));
  }
  CHECK(same_bits(n.cuda().cumsum(1), n.cumsum(1)));
  CHECK(same_bits(n.t().contiguous().cuda().cumprod(0), n.t().cumprod(0)));
  const auto [values, places] = x.cuda().cummax(1);
  const auto [wanted, at] = x.cummax(1);
  CHECK(same_bits(values, wanted));
  CHECK(same_bits(places, at));
}

TEST_CASE("cuda: a network trains as on the CPU") {
  tenon::manual_seed(5);
  tenon::nn::Sequential here{tenon::nn::Linear(4, 8), tenon::nn::ReLU(), tenon::nn::Linear(8, 3)};
  tenon::manual_seed(5);
  tenon::nn::Sequential there{tenon::nn::Linear(4, 8), tenon::nn::ReLU(), tenon::nn::Linear(8, 3)};
  there->to(kCUDA);
  const Tensor x = tenon::randn({24, 4}), target = tenon::arange(24).remainder(3);
  const auto trained = [](tenon::nn::Sequential& net, const Tensor& in, const Tensor& want) {
    tenon::optim::Adam optimizer(net->parameters(), tenon::optim::AdamOptions(0.02));
    Tensor loss;
    for (int step = 0; step < 6; ++step) {
      optimizer.zero_grad();
      loss = tenon::nn::functional::cross_entropy(net->forward(in), want);
      loss.backward();
      optimizer.step();
    }
    return loss.detach();
  };
  CHECK(close(trained(here, x, target), trained(there, x.cuda(), target.cuda()), 1e-4));
}

// Sums of f32 in an order of the hardware's, then one rounding to the half: docs/cuda.md.
TEST_CASE("cuda: products of halves run on tensor cores, within the bound of their rounding") {
  const bool has_mma = tenon::cuda::get_device_properties().major >= 8;
  tenon::manual_seed(3);
  for (const auto& [type, u] : {std::pair{tenon::kHalf, 0x1p-11}, {tenon::kBFloat16, 0x1p-8}}) {
    const auto check = [&, type = type, u = u](int64_t depth, const Tensor& x, const Tensor& w, const auto& product) {
      const Tensor a = x.to(type), b = w.to(type), y = product(a.cuda(), b.cuda());
      CHECK((tenon::explain(y).find("contraction mma") != std::string::npos) == has_mma);
      const Tensor exact = product(a.to(tenon::kDouble), b.to(tenon::kDouble));
      const Tensor size = product(a.to(tenon::kDouble).abs(), b.to(tenon::kDouble).abs());
      const Tensor bound = static_cast<double>(depth) * 0x1p-23 * size * (1 + u) + u * exact.abs();
      CHECK(((y.cpu().to(tenon::kDouble) - exact).abs() <= bound).all().item<bool>());
    };
    check(96, tenon::randn({70, 96}), tenon::randn({50, 96}), [](const Tensor& a, const Tensor& b) { return a.matmul(b.t()); });
    check(70, tenon::randn({70, 45}), tenon::randn({70, 33}), [](const Tensor& a, const Tensor& b) { return a.t().matmul(b); });
    check(40, tenon::randn({5, 20, 40}), tenon::randn({5, 40, 24}), [](const Tensor& a, const Tensor& b) { return a.bmm(b); });
    check(45, tenon::randn({3, 5, 12, 10}), tenon::randn({20, 5, 3, 3}),
          [](const Tensor& a, const Tensor& b) { return tenon::conv2d(a, b, {}, 1, 1); });
  }
}

TEST_CASE("cuda: files are written from a device and read to one") {
  const std::string folder = std::getenv("TMPDIR") ? std::getenv("TMPDIR") : "/tmp";
  const std::string path = folder + "/tenon_cuda_frontend_test.safetensors";
  const Tensor x = tenon::randn({3, 4});
  tenon::save(x.cuda(), path);
  Tensor y;
  tenon::load(y, path);
  CHECK(y.is_cpu());
  CHECK(same_bits(y, x));
  tenon::load(y, path, Device(kCUDA));
  CHECK(y.is_cuda());
  CHECK(same_bits(y, x));
  std::remove(path.c_str());
}

TEST_CASE("cuda: a tensor does not take memory of another device over") {
  const Tensor here = tenon::ones({2}), there = here.cuda();
  CHECK_THROWS_WITH_AS(there.set_(here),
                       doctest::Contains("Attempted to set the storage of a tensor on device \"cuda:0\" to a storage on different device "
                                         "\"cpu\". This is no longer allowed; the devices must match."),
                       tenon::Error);
  CHECK(same_bits(there, here));
  CHECK(there.set_().is_cuda());
}

TEST_CASE("cuda: operands on two devices are the same Error in every operation") {
  const Tensor here = tenon::ones({2, 3}), there = here.cuda();
  const std::pair<const char*, std::function<Tensor()>> calls[] = {
      {"masked_select", [&] { return there.masked_select(here > 0); }},
      {"masked_fill", [&] { return there.masked_fill(here > 0, 2); }},
      {"batch_norm", [&] { return tenon::nn::BatchNorm1d(3)->forward(there); }},
      {"layer_norm", [&] { return tenon::nn::LayerNorm(tenon::nn::LayerNormOptions({3}))->forward(there); }},
      {"pos_weight",
       [&] {
         return tenon::nn::functional::binary_cross_entropy_with_logits(
             there, there, tenon::nn::functional::BinaryCrossEntropyWithLogitsFuncOptions().pos_weight(tenon::ones({3})));
       }},
      {"searchsorted", [&] { return tenon::searchsorted(tenon::arange(3).to(tenon::kFloat), there); }},
      {"take",
       [&] {
         return there.take(tenon::tensor({1, 2}));
       }},
      {"index_add",
       [&] {
         return there.index_add(0, tenon::tensor({1, 0}), there);
       }},
      {"a gradient",
       [&] {
         const Tensor x = there.detach().requires_grad_();
         (x * 2).backward(here);
         return x.grad();
       }},
  };
  for (const auto& [name, call] : calls) {
    const std::string function = name;
    CAPTURE(function);
    CHECK_THROWS_WITH_AS(call(), doctest::Contains("Expected all tensors to be on the same device, but "), tenon::Error);
  }
}
