// A training step that repeats changes nothing but numbers: what the driver is called for, counted; and results that lie over operands.
#include <tenon/tenon.h>

#include <doctest/doctest.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "cuda/simulator.h"

using namespace tenon;

namespace {

const Device kGpu("cuda:0");

struct Budget {
  long calls, updates, contexts;
};

nn::Sequential iris() { return nn::Sequential(nn::Linear(4, 16), nn::ReLU(), nn::Linear(16, 3)); }
nn::Sequential convolutions() {  // the tutorial's
  return nn::Sequential(nn::Conv2d(nn::Conv2dOptions(3, 6, 5)), nn::ReLU(), nn::MaxPool2d(2), nn::Conv2d(nn::Conv2dOptions(6, 16, 5)), nn::ReLU(),
                        nn::MaxPool2d(2), nn::Flatten(), nn::Linear(400, 120), nn::ReLU(), nn::Linear(120, 84), nn::ReLU(), nn::Linear(84, 10));
}

// What the driver is called for in the steps that follow the first six. Each waits for the one before it, or the host runs ahead:
// then gradients keep their memory until the device is done, and the next ones lie elsewhere.
template <typename Optimizer, typename Options>
void check_steps(nn::Sequential net, IntArrayRef sizes, int64_t classes, const Options& options, bool waits, const Budget& budget) {
  const test::Simulator& sim = test::Simulator::get();
  net->to(kGpu);
  const Tensor x = randn(sizes).to(kGpu), y = (arange(sizes[0]) % classes).to(kGpu);
  eval({x, y});
  Optimizer optimizer(net->parameters(), options);
  const std::vector<std::string> all = {
      "cuCtxSetCurrent", "cuCtxGetCurrent", "cuMemAlloc_v2", "cuMemFree_v2", "cuMemcpyHtoDAsync_v2", "cuMemcpyDtoDAsync_v2", "cuStreamWaitEvent",
      "cuStreamSynchronize", "cuEventCreate", "cuEventRecord", "cuEventQuery", "cuEventSynchronize", "cuModuleLoadDataEx", "cuLaunchKernel",
      "cuGraphLaunch", "cuGraphInstantiateWithFlags", "cuGraphExecKernelNodeSetParams_v2", "cuGraphExecChildGraphNodeSetParams",
      "cuStreamBeginCapture_v2"};
  std::map<std::string, long> before;
  for (int step = 0; step < 9; ++step) {
    if (waits) cuda::synchronize();
    for (const std::string& call : all) before[call] = sim.calls(call.c_str());
    optimizer.zero_grad();
    const Tensor loss = nn::functional::cross_entropy(net->forward(x), y);
    loss.backward();
    optimizer.step();
    if (step < 6) continue;
    CAPTURE(step);
    const auto count = [&](const char* call) { return sim.calls(call) - before[call]; };
    long calls = 0;
    for (const std::string& call : all) calls += count(call.c_str());
    CHECK(calls <= budget.calls);
    CHECK(count("cuGraphLaunch") == 1);
    CHECK(count("cuGraphExecKernelNodeSetParams_v2") + count("cuGraphExecChildGraphNodeSetParams") <= budget.updates);
    CHECK(count("cuCtxGetCurrent") + count("cuCtxSetCurrent") <= budget.contexts);
    if (waits) CHECK(count("cuMemAlloc_v2") == 0);
  }
}

}  // namespace

TEST_CASE("steps: calls of the driver in a step that repeats") {
  if (!test::Simulator::get()) return;
  const optim::AdamOptions adam(0.01);
  const optim::SGDOptions sgd = optim::SGDOptions(0.01).momentum(0.9);
  // Adam's corrections are other numbers at each step: a copy, which has an event behind it, and a look at the last step's.
  check_steps<optim::Adam>(iris(), {120, 4}, 3, adam, true, {9, 0, 4});
  check_steps<optim::Adam>(convolutions(), {8, 3, 32, 32}, 10, adam, true, {9, 0, 4});
  check_steps<optim::SGD>(iris(), {120, 4}, 3, sgd, true, {6, 0, 4});
  check_steps<optim::SGD>(convolutions(), {8, 3, 32, 32}, 10, sgd, true, {6, 0, 4});
  check_steps<optim::Adam>(iris(), {120, 4}, 3, adam, false, {18, 5, 8});
  check_steps<optim::Adam>(convolutions(), {8, 3, 32, 32}, 10, adam, false, {24, 12, 8});
}

TEST_CASE("steps: numbers that change now and then, and a copy of them that is refused, leave the losses as they are") {
  const test::Simulator& sim = test::Simulator::get();
  // The bits of the losses of a training whose learning rate is another one after every second step.
  const auto train = [](const Device& device, const std::function<void(int)>& before_step) {
    manual_seed(1);
    const nn::Sequential net = iris();
    net->to(device);
    const Tensor x = randn({30, 4}).to(device), y = (arange(30) % 3).to(device);
    optim::SGD optimizer(net->parameters(), optim::SGDOptions(0.1).momentum(0.9));
    std::vector<float> losses;
    for (int step = 0; step < 12; ++step) {
      if (step % 2 == 0) optimizer.param_groups()[0].options().set_lr(0.1 / (1 + step));
      before_step(step);
      optimizer.zero_grad();
      const Tensor loss = nn::functional::cross_entropy(net->forward(x), y);
      loss.backward();
      optimizer.step();
      losses.push_back(loss.item<float>());
    }
    return losses;
  };
  const std::vector<float> want = train(kCPU, [](int) {});
  CHECK(train(kGpu, [](int) {}) == want);
  if (!sim) return;
  for (int faulty = 3; faulty < 9; ++faulty) {
    for (const bool stays : {false, true}) {
      CAPTURE(faulty);
      CAPTURE(stays);
      const std::vector<float> losses = train(kGpu, [&](int step) {
        sim.heal();
        if (step == faulty) (stays ? sim.fault_from : sim.fault)("cuMemcpyHtoDAsync_v2", 1, 2);
      });
      sim.heal();
      CHECK(losses == want);
    }
  }
}

TEST_CASE("steps: results of reductions and products over what they are computed from have the CPU's bits") {
  const auto update = [](Tensor p, const Tensor& x, int64_t dim) {
    for (int step = 0; step < 3; ++step) {
      p = p * 0.75 + (x * 0.5).sum(dim) - p.exp() / 8;
      eval({p});
    }
    return p;
  };
  for (const int64_t rows : {1, 3, 6, 17, 40}) {
    for (const int64_t length : {2, 5, 20, 31, 70, 300, 5000}) {
      CAPTURE(rows);
      CAPTURE(length);
      const Tensor x = randn({rows, length}), p = randn({rows});
      for (const int64_t dim : {0, 1}) {
        const Tensor turned = dim == 1 ? x : x.t().contiguous();
        eval({turned, p});
        CHECK(equal(update(p.to(kGpu) * 1, turned.to(kGpu), dim).cpu(), update(p * 1, turned, dim)));
      }
    }
  }
  const auto multiply = [](Tensor w, const Tensor& a, const Tensor& b) {
    for (int step = 0; step < 3; ++step) {
      w = w * 0.75 + a.t().matmul(b) / 16;
      eval({w});
    }
    return w;
  };
  for (const auto& [m, n] : {std::pair{1, 1}, {3, 16}, {1, 40}, {40, 1}, {33, 65}}) {
    CAPTURE(m);
    CAPTURE(n);
    const Tensor a = randn({24, m}), b = randn({24, n}), w = randn({m, n});
    eval({a, b, w});
    CHECK(equal(multiply(w.to(kGpu) * 1, a.to(kGpu), b.to(kGpu)).cpu(), multiply(w * 1, a, b)));
  }
}
