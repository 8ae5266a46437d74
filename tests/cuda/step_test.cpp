// A training step that repeats changes nothing but numbers: what the driver is called for, counted; and results that lie over operands.
#include <tenon/tenon.h>

#include <doctest/doctest.h>

#include <array>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "cuda/simulator.h"
#include "runtime/base/options.h"

using namespace tenon;

namespace {

const Device kGpu("cuda:0");

struct Budget {
  long kernels, calls, updates, contexts;
};

nn::Sequential iris() { return nn::Sequential(nn::Linear(4, 16), nn::ReLU(), nn::Linear(16, 3)); }
nn::Sequential convolutions() {  // the tutorial's
  return nn::Sequential(nn::Conv2d(nn::Conv2dOptions(3, 6, 5)), nn::ReLU(), nn::MaxPool2d(2), nn::Conv2d(nn::Conv2dOptions(6, 16, 5)),
                        nn::ReLU(), nn::MaxPool2d(2), nn::Flatten(), nn::Linear(400, 120), nn::ReLU(), nn::Linear(120, 84), nn::ReLU(),
                        nn::Linear(84, 10));
}

// What the driver is called for in the steps that follow the first six. Each waits for the one before it, or the host runs ahead of a
// device that is never done when it is asked.
template <typename Optimizer, typename Options>
void check_steps(nn::Sequential net, IntArrayRef sizes, int64_t classes, const Options& options, bool waits, const Budget& budget) {
  const test::Simulator& sim = test::Simulator::get();
  net->to(kGpu);
  const Tensor x = randn(sizes).to(kGpu), y = (arange(sizes[0]) % classes).to(kGpu);
  eval({x, y});
  Optimizer optimizer(net->parameters(), options);
  const std::vector<std::string> all = {"cuCtxSetCurrent",
                                        "cuCtxGetCurrent",
                                        "cuMemAlloc_v2",
                                        "cuMemFree_v2",
                                        "cuMemcpyHtoDAsync_v2",
                                        "cuMemcpyDtoDAsync_v2",
                                        "cuStreamWaitEvent",
                                        "cuStreamSynchronize",
                                        "cuEventCreate",
                                        "cuEventRecord",
                                        "cuEventQuery",
                                        "cuEventSynchronize",
                                        "cuModuleLoadDataEx",
                                        "cuLaunchKernel",
                                        "cuGraphLaunch",
                                        "cuGraphInstantiateWithFlags",
                                        "cuGraphExecKernelNodeSetParams_v2",
                                        "cuGraphExecChildGraphNodeSetParams",
                                        "cuStreamBeginCapture_v2"};
  std::map<std::string, long> before;
  for (int step = 0; step < 9; ++step) {
    if (waits) cuda::synchronize();
    else sim.fault_from("cuEventQuery", 1, 600);
    for (const std::string& call : all) before[call] = sim.calls(call.c_str());
    clear_kernel_history();
    optimizer.zero_grad();
    const Tensor loss = nn::functional::cross_entropy(net->forward(x), y);
    loss.backward();
    optimizer.step();
    if (step < 6) continue;
    CAPTURE(step);
    const auto count = [&](const char* call) { return sim.calls(call) - before[call]; };
    long calls = 0;
    for (const std::string& call : all) calls += count(call.c_str());
    CHECK(static_cast<long>(kernel_history().size()) <= budget.kernels);
    CHECK(calls <= budget.calls);
    CHECK(count("cuGraphLaunch") == (budget.kernels == 1 ? 0 : 1));
    CHECK(count("cuLaunchKernel") == (budget.kernels == 1 ? 1 : 0));
    CHECK(count("cuGraphExecKernelNodeSetParams_v2") + count("cuGraphExecChildGraphNodeSetParams") <= budget.updates);
    CHECK(count("cuCtxGetCurrent") + count("cuCtxSetCurrent") <= budget.contexts);
    CHECK(count("cuMemAlloc_v2") == 0);
  }
  sim.heal();
}

struct WithOptions {
  template <typename Change>
  explicit WithOptions(const Change& change) {
    runtime::Options changed = before;
    change(changed);
    runtime::set_options(changed);
  }
  ~WithOptions() { runtime::set_options(before); }
  runtime::Options before = runtime::options();
};

}  // namespace

TEST_CASE("steps: calls of the driver in a step that repeats") {
  if (!test::Simulator::get()) return;
  const optim::AdamOptions adam(0.01);
  const optim::SGDOptions sgd = optim::SGDOptions(0.01).momentum(0.9);
  // Adam's corrections are other numbers at each step: a copy, which has an event behind it, and a look at the last step's.
  check_steps<optim::Adam>(iris(), {120, 4}, 3, adam, true, {1, 9, 0, 4});
  check_steps<optim::Adam>(convolutions(), {8, 3, 32, 32}, 10, adam, true, {22, 9, 0, 4});
  check_steps<optim::SGD>(iris(), {120, 4}, 3, sgd, true, {1, 6, 0, 4});
  check_steps<optim::SGD>(convolutions(), {8, 3, 32, 32}, 10, sgd, true, {22, 6, 0, 4});
  // Two events that are new, and a look at each of the last ones.
  check_steps<optim::Adam>(iris(), {120, 4}, 3, adam, false, {1, 11, 0, 4});
  check_steps<optim::Adam>(convolutions(), {8, 3, 32, 32}, 10, adam, false, {22, 11, 0, 4});
  check_steps<optim::SGD>(iris(), {120, 4}, 3, sgd, false, {1, 8, 0, 4});
  check_steps<optim::SGD>(convolutions(), {8, 3, 32, 32}, 10, sgd, false, {22, 8, 0, 4});
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

TEST_CASE("steps: small launches that are joined, some of which write over what others read, have the CPU's bits") {
  constexpr int kValues = 6;
  std::mt19937 random(5);
  const auto any = [&](int below) { return static_cast<int>(random() % static_cast<unsigned>(below)); };
  for (int program = 0; program < 80; ++program) {
    CAPTURE(program);
    const int kinds = program < 50 ? 7 : 9;  // with joins
    std::vector<std::array<int, 4>> lines;
    for (int i = 0; i < 10; ++i) lines.push_back({any(kinds), any(kValues), any(kValues), any(kValues)});
    const auto run = [&](const Device& device) {
      manual_seed(static_cast<uint64_t>(program));
      std::vector<Tensor> values;
      for (int i = 0; i < kValues; ++i) values.push_back(randn({24, 24}).to(device));
      eval(values);
      for (int round = 0; round < 5; ++round) {
        for (const auto& [kind, a, b, to] : lines) {
          const Tensor x = values[static_cast<size_t>(a)], y = values[static_cast<size_t>(b)];
          Tensor& result = values[static_cast<size_t>(to)];
          switch (kind) {
            case 0: result = x * 0.5 + y * (0.25 / (1 + round)); break;
            case 1: result = x.t() * 0.5 - y; break;
            case 2: result = x.matmul(y) / 24; break;
            case 3: result = x - y.sum(1, true) / 24; break;
            case 4: result = y * 0.5 + x.sum(0, true) / 24; break;
            case 5: result = (x - y).softmax(1); break;
            case 7: result = cat({x.slice(0, 0, 9) * 0.5, y.slice(0, 3, 7).softmax(0), x.t().slice(0, 13)}); break;
            case 8: result = cat({y.slice(1, 0, 8).cumsum(0) / 24, x.slice(1, 8)}, 1); break;
            default: result += 1; break;
          }
        }
        eval(values);
      }
      std::vector<Tensor> host;
      for (const Tensor& value : values) host.push_back(value.cpu());
      return host;
    };
    const std::vector<Tensor> want = run(kCPU), got = run(kGpu);
    for (int i = 0; i < kValues; ++i) CHECK(equal(got[static_cast<size_t>(i)], want[static_cast<size_t>(i)]));
  }
}

TEST_CASE("steps: a result does not lie over what another part of its launch reads") {
  const std::vector<std::function<Tensor(const Tensor&)>> others = {
      [](const Tensor& x) { return x.t() * 0.5; }, [](const Tensor& x) { return x.sum(0); }, [](const Tensor& x) { return x.sum(1); },
      [](const Tensor& x) { return x.matmul(x) / 64; }, [](const Tensor& x) { return x.flip({0}) * 0.5; }};
  for (size_t k = 0; k < others.size(); ++k) {
    CAPTURE(k);
    const auto run = [&](const Device& device) {
      manual_seed(2);
      Tensor x = randn({64, 64}).to(device), y;
      std::vector<Tensor> seen;
      eval(x);
      for (int round = 0; round < 8; ++round) {
        Tensor before = std::exchange(x, Tensor());
        x = before * 0.5 + 1;
        y = others[k](before);
        before = Tensor();
        eval({x, y});
        seen.push_back(y.cpu());
      }
      seen.push_back(x.cpu());
      return seen;
    };
    const std::vector<Tensor> want = run(kCPU), got = run(kGpu);
    for (size_t i = 0; i < want.size(); ++i) CHECK(equal(got[i], want[i]));
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

TEST_CASE("steps: independent branches are branches of the graph, and an edge that is left out shows") {
  const test::Simulator& sim = test::Simulator::get();
  if (!sim) return;
  // Branches of several kernels each, whose intermediates share an arena; values that are read and then written over; a product of the
  // library beside another.
  const auto run = [](const Device& device) {
    manual_seed(7);
    Tensor x = randn({48, 48}).to(device), w = randn({48, 48}).to(device), seen;
    eval({x, w});
    for (int round = 0; round < 6; ++round) {
      Tensor sum = w.softmax(1) / 4;
      for (int branch = 0; branch < 3; ++branch) sum = sum + (x * (branch + 1)).cumsum(branch % 2).softmax(1 - branch % 2).cumsum(1);
      seen = sum.sum(0);
      w = w * 0.5 + x.cumsum(0) / 48;
      x = (x * 0.75 + seen / 64).clone();
      eval({x, w, seen});
    }
    return cat({x.cpu(), w.cpu(), seen.cpu().reshape({1, 48})});
  };
  const WithOptions single([](runtime::Options& o) { o.repeats = -1; });
  const Tensor want = run(kCPU);
  const long roots = sim.calls("root"), edges = sim.calls("edge");
  CHECK(equal(run(kGpu), want));
  const long all = sim.calls("edge") - edges;
  CHECK(sim.calls("root") - roots > 1);
  CHECK(all > 8);
  int shown = 0;
  for (long edge = 1; edge <= all; ++edge) {
    clear_caches();
    sim.set("lost_edge", edge);
    shown += !equal(run(kGpu), want);
  }
  sim.set("lost_edge", 0);
  clear_caches();
  CHECK(shown > all / 2);  // seeds may keep the order for some
}

TEST_CASE("steps: plans with a join of values or with recurrent layers are joined too") {
  if (!test::Simulator::get()) return;
  struct Case {
    const char* name;
    std::function<Tensor(const std::vector<Tensor>&, const Tensor&)> loss;
    std::function<std::vector<Tensor>()> parameters;
  };
  nn::LSTM lstm{nullptr};
  nn::GRU gru{nullptr};
  const auto weights = [] { return std::vector<Tensor>{randn({6, 8}) / 4, randn({6, 8}) / 4, randn({16, 3}) / 4}; };
  const Case cases[] = {
      {"cat",
       [](const std::vector<Tensor>& p, const Tensor& x) {
         return cat({x.matmul(p[0]).tanh(), x.matmul(p[1]).relu()}, 1).matmul(p[2]).softmax(1).square().mean();
       },
       weights},
      {"LSTM",
       [&](const std::vector<Tensor>&, const Tensor& x) {
         return std::get<0>(lstm->forward(x.reshape({5, 4, 6}))).square().mean();
       },
       [&] { return (lstm = nn::LSTM(nn::LSTMOptions(6, 7))), lstm->parameters(); }},
      {"GRU",
       [&](const std::vector<Tensor>&, const Tensor& x) {
         return std::get<0>(gru->forward(x.reshape({5, 4, 6}))).square().mean();
       },
       [&] { return (gru = nn::GRU(nn::GRUOptions(6, 7))), gru->parameters(); }},
  };
  for (const Case& c : cases) {
    const std::string name = c.name;
    CAPTURE(name);
    const auto train = [&](const Device& device, int steps, size_t& launches) {
      manual_seed(4);
      std::vector<Tensor> parameters = c.parameters();
      for (Tensor& p : parameters) {
        const NoGradGuard guard;
        if (name == "cat") p = p.to(device);
        else p.set_data(p.to(device));
        p.set_requires_grad(true);
      }
      const Tensor x = randn({20, 6}).to(device);
      optim::Adam adam(parameters, optim::AdamOptions(0.01));
      std::vector<float> losses;
      for (int step = 0; step < steps; ++step) {
        clear_kernel_history();
        adam.zero_grad();
        const Tensor loss = c.loss(parameters, x);
        loss.backward();
        adam.step();
        losses.push_back(loss.item<float>());
        launches = kernel_history().size();
      }
      return losses;
    };
    size_t single = 0, joined = 0, none = 0;
    const std::vector<float> want = train(kCPU, 7, none);
    {
      const WithOptions never([](runtime::Options& o) { o.repeats = -1; });
      CHECK(train(kGpu, 3, single).back() == want[2]);
    }
    clear_caches();  // of these plans
    CHECK(train(kGpu, 7, joined) == want);
    CHECK(joined < single);
  }
}
