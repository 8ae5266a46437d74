// cuda::CUDAGraph: what is captured computes nothing; each replay computes it from what the captured tensors hold then.
#include <tenon/tenon.h>

#include <doctest/doctest.h>

#include <functional>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "cuda/simulator.h"

using namespace tenon;

namespace {

const Device kGpu("cuda:0");

Tensor ramp(IntArrayRef sizes, double start = 0) {
  int64_t count = 1;
  for (const int64_t size : sizes) count *= size;
  return ((arange(count, kFloat) + start) % 13 - 6).reshape(sizes) / 4;
}
bool same(const Tensor& a, const Tensor& b) { return a.sizes() == b.sizes() && equal(a.cpu(), b.cpu()); }

// On a stream of the pool, as LibTorch asks for it.
template <typename F>
void capture(cuda::CUDAGraph& graph, F&& body) {
  const cuda::CUDAStreamGuard guard(cuda::getStreamFromPool());
  graph.capture_begin();
  body();
  graph.capture_end();
}

// A small network with dropout, and a step of SGD with momentum on tensors that stay.
struct Training {
  nn::Sequential net{nullptr};
  std::unique_ptr<optim::SGD> sgd;
  Tensor x, y, loss;

  Training() {
    manual_seed(7);
    net = nn::Sequential(nn::Linear(6, 16), nn::ReLU(), nn::Dropout(0.3), nn::Linear(16, 4));
    net->to(kGpu);
    sgd = std::make_unique<optim::SGD>(net->parameters(), optim::SGDOptions(0.05).momentum(0.9));
    x = zeros({12, 6}).to(kGpu);
    y = zeros({12}, kLong).to(kGpu);
    manual_seed(11);
  }
  void load(int step) {
    x.copy_(ramp({12, 6}, step));
    y.copy_((arange(12) + step) % 4);
  }
  void step() {
    sgd->zero_grad();
    loss = nn::functional::cross_entropy(net->forward(x), y);
    loss.backward();
    sgd->step();
  }
};

}  // namespace

TEST_CASE("capture: nothing is computed before the first replay; then inputs are read and outputs written in place") {
  Tensor x = zeros({3, 4}).to(kGpu), sum = ones({4}).to(kGpu), y;
  cuda::CUDAGraph graph;
  capture(graph, [&] {
    y = x * 2 + 1;
    sum.add_(y.sum(0));
  });
  CHECK(same(sum, ones({4})));
  CHECK(y.sizes() == IntArrayRef({3, 4}));
  Tensor want = ones({4});
  for (int k = 0; k < 6; ++k) {
    CAPTURE(k);
    x.copy_(ramp({3, 4}, k));
    graph.replay();
    want = want + (ramp({3, 4}, k) * 2 + 1).sum(0);
    CHECK(same(y, ramp({3, 4}, k) * 2 + 1));
    CHECK(same(sum, want));
  }
  const Tensor view = y[1];  // an alias sees it too
  x.fill_(5);
  graph.replay();
  CHECK(same(view, full({4}, 11.f)));
}

TEST_CASE("capture: a training step that is replayed has the bits of one that is not") {
  constexpr int kWarm = 3, kSteps = 9;
  Training plain, captured;
  std::vector<Tensor> losses;
  for (int k = 0; k < kSteps; ++k) {
    plain.load(k);
    plain.step();
    losses.push_back(plain.loss.detach().cpu());
  }
  manual_seed(11);
  for (int k = 0; k < kWarm; ++k) {
    captured.load(k);
    captured.step();
  }
  cuda::CUDAGraph graph;
  capture(graph, [&] { captured.step(); });
  for (int k = kWarm; k < kSteps; ++k) {
    CAPTURE(k);
    captured.load(k);
    graph.replay();
    CHECK(same(captured.loss.detach(), losses[static_cast<size_t>(k)]));
  }
  const std::vector<Tensor> a = plain.net->parameters(), b = captured.net->parameters();
  for (size_t i = 0; i < a.size(); ++i) {
    CHECK(same(a[i].detach(), b[i].detach()));
    CHECK(same(a[i].grad(), b[i].grad()));
  }
}

TEST_CASE("capture: a replay builds no plan once it has run, and becomes one launch, of a CUDA graph or of a kernel") {
  const test::Simulator& sim = test::Simulator::get();
  Training training;
  for (int k = 0; k < 3; ++k) {
    training.load(k);
    training.step();
  }
  cuda::CUDAGraph graph;
  capture(graph, [&] { training.step(); });
  for (int k = 0; k < 4; ++k) graph.replay();
  cuda::synchronize();
  reset_counters();
  const auto launched = [&] { return sim ? sim.calls("cuGraphLaunch") + sim.calls("cuLaunchKernel") : 0; };
  const long launches = launched();
  for (int k = 0; k < 3; ++k) graph.replay();
  CHECK(counters().plans_built == 0);
  CHECK(counters().plan_hits == 3);
  if (sim) CHECK(launched() == launches + 3);
  for (const double k : {2.0, 0.5}) {  // what is pending on an input is computed for itself, and the replay's plan stays
    training.x.mul_(k).exp_();
    graph.replay();
  }
  CHECK(counters().plans_built == 1);
  CHECK(counters().plan_hits == 6);
}

TEST_CASE("capture: random numbers go on from replay to replay, and stay those of the program's order") {
  Tensor noise;
  cuda::CUDAGraph graph;
  cuda::manual_seed(5);
  capture(graph, [&] { noise = rand({100}, kGpu) + randn({100}, kGpu); });
  std::vector<Tensor> got;
  for (int k = 0; k < 3; ++k) {
    graph.replay();
    got.push_back(noise.cpu().clone());
  }
  const Tensor after = rand({10}, kGpu).cpu();
  cuda::manual_seed(5);
  for (int k = 0; k < 3; ++k) CHECK(same(got[static_cast<size_t>(k)], rand({100}, kGpu) + randn({100}, kGpu)));
  CHECK(same(after, rand({10}, kGpu)));
  cuda::manual_seed(6);
  CHECK_THROWS_WITH_AS(graph.replay(), doctest::Contains("was captured with the seed 5 and has 6 now"), Error);
}

TEST_CASE("capture: an address that was given away stays, and what is there is written") {
  Tensor x = ones({8}).to(kGpu), y;
  cuda::CUDAGraph graph;
  capture(graph, [&] { y = x + 1; });
  const void* const address = y.data_ptr();
  CHECK(same(y, zeros({8})));
  for (int k = 0; k < 4; ++k) {
    x.fill_(k);
    graph.replay();
    CHECK(y.data_ptr() == address);
    CHECK(same(y, full({8}, k + 1.f)));
  }
}

TEST_CASE("capture: an index out of range is found at the next call that waits") {
  const Tensor x = ramp({5, 4}).to(kGpu), index = zeros({2}, kLong).to(kGpu);
  Tensor rows;
  cuda::CUDAGraph graph;
  capture(graph, [&] { rows = x.index_select(0, index) * 2; });
  index.copy_(tensor({4, 1}));
  graph.replay();
  CHECK(same(rows, ramp({5, 4}).index_select(0, tensor({4, 1})) * 2));
  index.copy_(tensor({4, 5}));
  graph.replay();
  CHECK_THROWS_WITH_AS(cuda::synchronize(), doctest::Contains("index 5 is out of bounds for dimension 0 with size 5"), Error);
  index.copy_(tensor({0, 2}));
  graph.replay();
  CHECK(same(rows, ramp({5, 4}).index_select(0, tensor({0, 2})) * 2));
}

TEST_CASE("capture: what a graph cannot hold is an error at that call, and leaves everything as it was") {
  const Tensor x = ramp({4, 5}).to(kGpu), host = ones({4, 5});
  eval({x, host});
  struct Refused {
    const char* name;
    std::function<void()> f;
    const char* why;
  };
  nn::Linear linear(5, 2);
  linear->to(kGpu);
  optim::Adam adam(linear->parameters(), optim::AdamOptions(0.1));
  const std::vector<Refused> all = {
      {"item", [&] { x.sum().item(); }, "the host reads a value"},
      {"cpu", [&] { x.cpu(); }, "a value is copied to another device"},
      {"a comparison", [&] { equal(x, x * 1.5); }, "the host reads a value"},
      {"nonzero", [&] { x.gt(0).nonzero(); }, "the host reads a value"},
      {"a mask", [&] { x.index({x > 0}); }, "the host reads a value"},
      {"an address", [&] { x.data_ptr(); }, "the host reads a value"},
      {"printing", [&] { std::ostringstream() << x; }, "the host reads a value"},
      {"a transfer",
       [] {
         ramp({4, 5}).to(kGpu);
       },
       "a value of the host is copied to the device"},
      {"waiting", [] { cuda::synchronize(); }, "the host waits for the device"},
      {"another capture", [] { cuda::CUDAGraph().capture_begin(); }, "another capture begins"},
      {"Adam",
       [&] {
         linear->forward(x).sum().backward();
         adam.step();
       },
       "Attempting CUDA graph capture of step() for an instance of Adam but param_groups' capturable is False."},
  };
  for (const Refused& r : all) {
    const std::string name = r.name;
    CAPTURE(name);
    Tensor state = ones({4, 5}).to(kGpu), made;
    cuda::CUDAGraph graph;
    const cuda::CUDAStreamGuard guard(cuda::getStreamFromPool());
    graph.capture_begin();
    state.add_(x);
    made = state * 2;
    CHECK_THROWS_WITH_AS(r.f(), doctest::Contains(r.why), Error);
    CHECK(same(state, host));
    CHECK(same(x, ramp({4, 5})));
    CHECK(same(made, zeros({4, 5})));
    CHECK_THROWS_WITH_AS(graph.capture_end(), "CUDA error: operation failed due to a previous error during capture", Error);
    graph.capture_begin();
    state.add_(x);
    graph.capture_end();
    graph.replay();
    CHECK(same(state, ramp({4, 5}) + 1));
  }
}

TEST_CASE("capture: work of the host goes on, and is no part of it") {
  const Tensor x = ones({3}).to(kGpu);
  Tensor y, host = arange(3, kFloat);
  cuda::CUDAGraph graph;
  capture(graph, [&] {
    host.add_(1);
    CHECK(host.sum().item<float>() == 6);
    y = x + host[1].item<float>();  // a number of the program
  });
  graph.replay();
  CHECK(same(y, full({3}, 3.f)));
  CHECK(same(host, arange(3, kFloat) + 1));
}

TEST_CASE("capture: tensors of the capture that nobody has any more are not computed, the others outlive their program") {
  Tensor x = ramp({4}).to(kGpu), kept;
  cuda::CUDAGraph graph;
  {
    Tensor inner = zeros({4}).to(kGpu);
    eval({inner});
    capture(graph, [&] {
      inner.add_(x);  // goes on inside of the graph
      const Tensor gone = inner * 100;
      kept = inner + 0.5;
    });
  }
  for (int k = 1; k <= 3; ++k) graph.replay();
  CHECK(same(kept, ramp({4}) * 3 + 0.5));
}

TEST_CASE("capture: what is called in the wrong order says so") {
  cuda::CUDAGraph graph;
  CHECK_THROWS_WITH_AS(graph.replay(), "Called CUDAGraph::replay without a preceding successful capture.", Error);
  CHECK_THROWS_WITH_AS(graph.capture_end(), doctest::Contains("no capture is under way"), Error);
  CHECK_THROWS_WITH_AS(graph.capture_begin(), doctest::Contains("must be captured on a non-default stream"), Error);
  const Tensor x = ones({2}).to(kGpu);
  Tensor y;
  capture(graph, [&] { y = x + 1; });
  CHECK(graph.pool() != cuda::MempoolId_t{0, 0});
  {
    const cuda::CUDAStreamGuard guard(cuda::getStreamFromPool());
    CHECK_THROWS_WITH_AS(graph.capture_begin(), doctest::Contains("already owns a captured graph"), Error);
    graph.reset();
    graph.capture_begin();
    y = x + 2;
    graph.capture_end();
    cuda::CUDAGraph left;  // dies while it captures
    left.capture_begin();
    y.add_(1);
  }
  graph.replay();
  CHECK(same(y, full({2}, 3.f)));
}
