// Copies from pageable memory: read when the call returns, without waiting for what the device still has to do.
#include <tenon/tenon.h>

#include <doctest/doctest.h>

#include <vector>

#include "cuda/simulator.h"

using namespace tenon;

namespace {
const Device kGpu("cuda:0");
long waits() {
  const test::Simulator& sim = test::Simulator::get();
  return sim.calls("cuStreamSynchronize") + sim.calls("cuEventSynchronize");
}
}  // namespace

TEST_CASE("staging: the source may change as soon as the copy returns, and nobody waited") {
  const test::Simulator& sim = test::Simulator::get();
  const Tensor busy = ones({64, 64}).to(kGpu);
  eval({busy});
  cuda::synchronize();
  const Tensor pending = busy.matmul(busy).cumsum(0);  // the device has work before the copies
  eval({pending});
  const long before = sim ? waits() : 0;
  std::vector<Tensor> there;
  for (const int64_t count : {int64_t{1}, int64_t{3}, int64_t{70}, int64_t{1000}, int64_t{17000}, int64_t{600000}}) {
    std::vector<float> source(static_cast<size_t>(count));
    for (size_t i = 0; i < source.size(); ++i) source[i] = static_cast<float>(i % 1013);
    there.push_back(from_blob(source.data(), {count}, kFloat).to(kGpu));
    std::fill(source.begin(), source.end(), -1.f);
  }
  if (sim) CHECK(waits() == before);
  for (const Tensor& x : there) CHECK(equal(x.cpu(), arange(x.numel(), kFloat).remainder(1013)));
}

TEST_CASE("staging: a copy from pinned memory that may not block goes direct, and keeps its source") {
  const test::Simulator& sim = test::Simulator::get();
  const Tensor busy = ones({64, 64}).to(kGpu);
  eval({busy});
  cuda::synchronize();
  const Tensor pending = busy.matmul(busy).cumsum(0);
  eval({pending});
  Tensor source = arange(40000, kFloat).pin_memory();
  const long before = sim ? waits() : 0, pinned = sim ? sim.live("pinned") : 0;
  const Tensor there = source.to(kGpu, /*non_blocking=*/true);
  if (sim) CHECK(waits() == before);
  source.mul_(-1);  // another value: the copy's stays
  eval({source});
  source = Tensor();
  if (sim) CHECK(sim.live("pinned") == pinned);
  CHECK(equal(there.cpu(), arange(40000, kFloat)));
  cuda::synchronize();
  if (sim) CHECK(sim.live("pinned") == pinned - 1);
}

TEST_CASE("staging: more than the ring holds goes through it piece by piece") {
  const int64_t count = 5'300'001;  // 20 MiB
  const Tensor x = arange(count, kInt);
  eval({x});
  const Tensor a = x.to(kGpu), b = (x * 3).to(kGpu);
  CHECK(equal(a.cpu(), x));
  CHECK(equal(b.cpu(), x * 3));
}

TEST_CASE("staging: many small copies follow one another in the ring") {
  constexpr int kCopies = 700;  // more than may be under way
  std::vector<Tensor> there;
  for (int i = 0; i < kCopies; ++i) {
    std::vector<int> source(static_cast<size_t>(40 + i % 7), i);
    there.push_back(from_blob(source.data(), {40 + i % 7}, kInt).to(kGpu));
  }
  int wrong = 0;
  for (int i = 0; i < kCopies; ++i) wrong += !equal(there[static_cast<size_t>(i)].cpu(), full({40 + i % 7}, i, kInt));
  CHECK(wrong == 0);
}

TEST_CASE("staging: without pinned memory the driver stages, and the ring goes back when caches are cleared") {
  const test::Simulator& sim = test::Simulator::get();
  if (!sim) return;
  cuda::synchronize();
  clear_caches();
  const long pinned = sim.live("pinned");
  const Tensor x = arange(5000, kFloat);
  sim.fault("cuMemHostAlloc", 1, 2);
  CHECK(equal(x.to(kGpu).cpu(), x));
  CHECK(sim.live("pinned") == pinned);
  CHECK(equal((x + 1).to(kGpu).cpu(), x + 1));
  CHECK(sim.live("pinned") == pinned + 1);
  clear_caches();
  CHECK(sim.live("pinned") == pinned);
}
