// Small launches that follow one another are one launch of a single block: training steps have the bits of single launches, take fewer
// of them, and leave the weights as they were when that launch is refused.
#include <tenon/tenon.h>

#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "cuda/simulator.h"
#include "runtime/base/options.h"

using namespace tenon;

namespace {

const Device kGpu("cuda:0");

struct Repeats {
  explicit Repeats(int repeats) {
    runtime::Options changed = before;
    changed.repeats = repeats;
    runtime::set_options(changed);
  }
  ~Repeats() { runtime::set_options(before); }
  runtime::Options before = runtime::options();
};

// A small network of random layers, a random loss and a random optimiser.
struct Program {
  explicit Program(unsigned seed) : random(seed), batch(any(2, 70)), width(any(1, 20)), classes(any(2, 6)) {
    const int layers = any(1, 3);
    for (int i = 0; i < layers; ++i) kinds.push_back({any(0, 6), any(1, 33)});
    loss = any(0, 3);
    optimizer = any(0, 4);
  }

  int any(int low, int high) { return low + static_cast<int>(random() % static_cast<unsigned>(high - low)); }

  nn::Sequential network() const {
    nn::Sequential net;
    int64_t in = width;
    for (const auto& [kind, out] : kinds) {
      net->push_back(nn::Linear(in, out));
      in = out;
      if (kind == 0) net->push_back(nn::ReLU());
      if (kind == 1) net->push_back(nn::Tanh());
      if (kind == 2) net->push_back(nn::LayerNorm(nn::LayerNormOptions({in})));
      if (kind == 3) net->push_back(nn::BatchNorm1d(in));
      if (kind == 4) net->push_back(nn::GELU());
      if (kind == 5) net->push_back(nn::Dropout(0.25));
    }
    net->push_back(nn::Linear(in, classes));
    return net;
  }

  bool draws() const {
    return std::any_of(kinds.begin(), kinds.end(), [](const auto& layer) { return layer.first == 5; });
  }

  Tensor loss_of(const Tensor& scores, const Tensor& labels) const {
    if (loss == 0) return nn::functional::cross_entropy(scores, labels);
    if (loss == 1) return scores.softmax(1).cumsum(1).square().mean();
    return (scores.sigmoid() - 0.5).abs().sum(0).max();
  }

  std::unique_ptr<optim::Optimizer> optimizer_of(const nn::Sequential& net) const {
    switch (optimizer) {
      case 0: return std::make_unique<optim::SGD>(net->parameters(), optim::SGDOptions(0.1).momentum(0.9));
      case 1: return std::make_unique<optim::SGD>(net->parameters(), optim::SGDOptions(0.1));
      case 2: return std::make_unique<optim::AdamW>(net->parameters(), optim::AdamWOptions(0.01));
      default: return std::make_unique<optim::Adam>(net->parameters(), optim::AdamOptions(0.01));
    }
  }

  std::mt19937 random;
  int batch, width, classes, loss, optimizer;
  std::vector<std::pair<int, int>> kinds;
};

struct Training {
  explicit Training(const Program& from) : program(from) {
    manual_seed(5);
    net = program.network();
    net->to(kGpu);
    x = randn({program.batch, program.width}).to(kGpu);
    labels = (arange(program.batch) % program.classes).to(kGpu);
    optimizer = program.optimizer_of(net);
  }
  float step() {
    optimizer->zero_grad();
    const Tensor loss = program.loss_of(net->forward(x), labels);
    loss.backward();
    optimizer->step();
    return loss.item<float>();
  }
  std::vector<Tensor> state() const {
    std::vector<Tensor> values;
    for (const std::vector<Tensor>& list : {net->parameters(), net->buffers()}) {
      for (const Tensor& value : list) values.push_back(value.detach().cpu());
    }
    return values;
  }
  const Program& program;
  nn::Sequential net;
  Tensor x, labels;
  std::unique_ptr<optim::Optimizer> optimizer;
};

bool same(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  for (size_t i = 0; i < a.size(); ++i) {
    if (!equal(a[i], b[i])) return false;
  }
  return a.size() == b.size();
}

}  // namespace

TEST_CASE("in turn: random training programs have the bits of single launches, and fewer of them") {
  if (!test::Simulator::get()) return;
  constexpr int kSteps = 6;
  size_t launches = 0, single_launches = 0;
  for (unsigned seed = 0; seed < 40; ++seed) {
    CAPTURE(seed);
    const Program program(seed);
    const auto train = [&](int repeats, size_t& count) {
      const Repeats option(repeats);
      clear_caches();
      Training training(program);
      std::vector<float> losses;
      for (int step = 0; step < kSteps; ++step) {
        clear_kernel_history();
        losses.push_back(training.step());
      }
      count += kernel_history().size();
      return std::pair(losses, training.state());
    };
    const auto [losses, state] = train(2, launches);
    const auto [want, want_state] = train(-1, single_launches);
    CHECK(losses == want);
    CHECK(same(state, want_state));
  }
  MESSAGE("launches of a step: " << launches << " of 40 programs, " << single_launches << " if none were joined");
  CHECK(launches * 5 < single_launches * 2);
}

TEST_CASE("in turn: a launch that is refused leaves the weights as they were, and the step is made once more") {
  const test::Simulator& sim = test::Simulator::get();
  if (!sim) return;
  constexpr int kSteps = 5;
  int programs = 0;
  for (unsigned seed = 0; programs < 3; ++seed) {
    const Program program(seed);
    if (program.draws()) continue;  // other numbers, when a step is made once more
    ++programs;
    clear_caches();
    std::vector<float> want;
    {
      Training training(program);
      for (int step = 0; step < kSteps; ++step) want.push_back(training.step());
    }
    for (const char* call : {"cuGraphLaunch", "cuLaunchKernel", "cuGraphInstantiateWithFlags", "cuModuleLoadDataEx"}) {
      for (int faulty = 0; faulty < kSteps; ++faulty) {
        CAPTURE(seed);
        CAPTURE(call);
        CAPTURE(faulty);
        clear_caches();
        Training training(program);
        std::vector<float> losses;
        for (int step = 0; step < kSteps; ++step) {
          const std::vector<Tensor> before = training.state();
          if (step == faulty) sim.fault_from(call, 1, 2);
          try {
            losses.push_back(training.step());
            sim.heal();
          } catch (const Error&) {
            sim.heal();
            CHECK(same(training.state(), before));
            losses.push_back(training.step());
          }
        }
        CHECK(losses == want);
      }
    }
  }
}
