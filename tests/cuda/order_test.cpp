// What the device's work waits for, and the host: each case fails where one event or wait is left out
// (scripts/check/check_device_mutants.py).
#include <tenon/tenon.h>

#include <doctest/doctest.h>

#include <cstring>
#include <functional>
#include <memory>
#include <numeric>
#include <vector>

#include "cuda/simulator.h"
#include "runtime/cuda/cuda.h"
#include "runtime/evaluation_support.h"
#include "runtime/run/async_work.h"

using namespace tenon;

namespace {

const Device kGpu("cuda:0");
runtime::Device& gpu() { return runtime::device_of(runtime::tag_of({runtime::DeviceKind::Cuda, 0})); }

// Kernels one after another, the first of which is far from done when this returns. Another `size`, another plan: none is a CUDA graph.
Tensor chain(Tensor x) {
  for (int k = 0; k < 8; ++k) x = x.cumsum(k % 2) / 8;
  eval({x});
  return x;
}
Tensor busy(int64_t size) { return chain(ones({size, size}).to(kGpu)); }

bool same(const Tensor& a, const Tensor& b) { return a.sizes() == b.sizes() && equal(a.cpu(), b.cpu()); }

}  // namespace

TEST_CASE("order: a copy between pinned memory and the device is done when the call returns") {
  std::vector<int> want(3000);
  std::iota(want.begin(), want.end(), 1);
  const size_t bytes = want.size() * sizeof(int);
  const std::shared_ptr<void> pinned(runtime::cuda::allocate_pinned(bytes), runtime::cuda::free_pinned);
  const auto there = runtime::Buffer::allocate(bytes, gpu());
  const Tensor before = busy(40);
  std::memcpy(pinned.get(), want.data(), bytes);
  runtime::copy_from_host(*there, pinned.get());
  std::memset(pinned.get(), 0, bytes);
  const Tensor again = busy(41);
  runtime::copy_to_host(pinned.get(), *there, 0, bytes);
  CHECK(std::memcmp(pinned.get(), want.data(), bytes) == 0);
}

TEST_CASE("order: the host waits for a copy that no event tells of") {
  const test::Simulator& sim = test::Simulator::get();
  if (!sim) return;
  for (const bool pinned : {false, true}) {
    CAPTURE(pinned);
    const Tensor x = arange(500, kFloat), source = pinned ? x.pin_memory() : x * 1;
    eval({source});
    const Tensor before = busy(pinned ? 42 : 43);
    const long waits = sim.calls("cuStreamSynchronize");
    sim.fault("cuEventRecord", 2, 1);  // the first is what the copy waits for
    CHECK_THROWS_AS(source.to(kGpu, /*non_blocking=*/true), Error);
    CHECK(sim.calls("cuStreamSynchronize") == waits + 1);
    sim.heal();
    CHECK(same(source.to(kGpu), x));
  }
}

TEST_CASE("order: caches are cleared while kernels and copies are under way") {
  const test::Simulator& sim = test::Simulator::get();
  cuda::synchronize();
  clear_caches();
  const long pinned = sim ? sim.live("pinned") : 0;
  const Tensor x = ones({44, 44}), y = chain(x.to(kGpu)), moved = arange(700, kFloat).add(1).to(kGpu);
  cuda::empty_cache();
  if (sim) CHECK(sim.live("pinned") == pinned + 1);  // the ring
  clear_caches();                                    // of modules
  CHECK(same(y, chain(x)));
  CHECK(same(moved, arange(700, kFloat) + 1));
  cuda::synchronize();
  clear_caches();
  if (sim) CHECK(sim.live("pinned") == pinned);
}

TEST_CASE("order: a product of the library stands in its place of a CUDA graph") {
  const test::Simulator& sim = test::Simulator::get();
  const Tensor x = ((arange(64 * 4096, kFloat) % 13) - 6).reshape({64, 4096}) / 4, there = x.to(kGpu);
  const long products = sim ? sim.calls("cublasGemmStridedBatchedEx") : 0, graphs = sim ? sim.calls("cuGraphLaunch") : 0;
  for (int run = 1; run <= 6; ++run) {
    const auto step = [&](const Tensor& a) { return (a.cumsum(0) * run).matmul(a.t()).cumsum(1); };
    const Tensor y = step(there);
    eval({y});
    CHECK(same(y, step(x)));
  }
  if (sim) CHECK(sim.calls("cublasGemmStridedBatchedEx") > products);
  if (sim) CHECK(sim.calls("cuGraphLaunch") > graphs);
}

TEST_CASE("order: a product that a CUDA graph repeats has the precision that is allowed now") {
  const test::Simulator& sim = test::Simulator::get();
  const Tensor fine = (1 + arange(64 * 4096, kFloat) / (1 << 20)).reshape({64, 4096});  // more than TF32's 10 bits of mantissa
  const Tensor there = fine.to(kGpu), one = eye(4096, 64, kFloat).to(kGpu);
  const long graphs = sim ? sim.calls("cuGraphLaunch") : 0;
  for (const bool allow : {false, false, false, false, true, true, false}) {
    cuda::allow_tf32(allow);
    const Tensor y = (there + 1).matmul(one).cumsum(0);
    eval({y});
    const bool exact = same(y, (fine + 1).slice(1, 0, 64).cumsum(0));
    if (sim || !allow) CHECK(exact == !allow);
  }
  if (sim) CHECK(sim.calls("cuGraphLaunch") > graphs);
}

TEST_CASE("order: what the host computes in the middle of a plan comes after what the plan did before") {
  const test::WithOptions options([](runtime::Options& o) { o.backend = runtime::Options::Backend::Interpreter; });
  const auto update = [](const Tensor& a) {  // a copy on the device, then a part of it is written
    const Tensor b = a.clone();
    b.slice(0, 1, 3).mul_(2);
    return b;
  };
  const Tensor x = arange(12, kFloat).reshape({4, 3}), there = x.to(kGpu);
  const Tensor y = update(there);
  eval({y});
  CHECK(same(y, update(x)));
  CHECK(same(there, x));
}

TEST_CASE("order: whatever waits for the device, or asks for failures, tells what kernels have noted, and tells it once") {
  runtime::Device& device = gpu();
  const auto there = runtime::Buffer::allocate(4, device);
  int value = 0;
  const std::function<void()> calls[] = {[&] { device.copy_to_host(&value, there->data(), 4, runtime::Stream::Main); },
                                         [&] { device.synchronise(); }, [&] { device.throw_failure(); }};
  auto* note = static_cast<int64_t*>(device.note_of({"index ", " is noted by a test"}));
  REQUIRE(note);
  for (const auto& call : calls) {
    *note = 7;  // as a kernel would
    CHECK_THROWS_WITH_AS(call(), "index 7 is noted by a test", runtime::AsyncFailure);
    CHECK_NOTHROW(call());
  }
}

TEST_CASE("order: an event is past when the work before it is done") {
  cuda::CUDAEvent event;
  const Tensor x = busy(45);
  event.record();
  if (test::Simulator::get()) CHECK_FALSE(event.query());
  event.synchronize();
  CHECK(event.query());
}

TEST_CASE("order: work and copies of two devices") {
  if (cuda::device_count() < 2) return;
  const Device other("cuda:1");
  const Tensor x = arange(600, kFloat).reshape({20, 30}), want = (x.cumsum(0) * 2).cumsum(1) + 1;
  for (int run = 0; run < 8; ++run) {
    const Tensor b = x.to(kGpu).cumsum(0).to(other) * 2, c = b.to(kGpu).cumsum(1) + 1;
    CHECK(same(c, want));
  }
  cuda::CUDAEvent event;
  const Tensor y = busy(46);
  event.record(cuda::getCurrentCUDAStream(0));
  event.block(cuda::getCurrentCUDAStream(1));
  CHECK(event.query());
}
