// Config::replay: what comes again is made from what is known of it, or recorded each time; nobody can tell which.
#include <doctest/doctest.h>
#include <tenon/tenon.h>

#include <cstring>

#include "frontend/src/autograd/grad.h"
#include "frontend/src/autograd/replayed_call.h"

using namespace tenon;

namespace {

struct Replay {
  explicit Replay(bool on) {
    Config config = before;
    config.replay = on;
    set_config(config);
  }
  ~Replay() { set_config(before); }
  Config before = get_config();
};

std::vector<uint32_t> bits(const Tensor& x) {
  const Tensor dense = x.detach().to(kFloat).contiguous();
  std::vector<uint32_t> result(static_cast<size_t>(dense.numel()));
  std::memcpy(result.data(), dense.const_data_ptr(), result.size() * sizeof(uint32_t));
  return result;
}

// What a training is in the end: its losses and its parameters.
std::vector<uint32_t> trained(bool convolutions, int steps) {
  manual_seed(5);
  nn::Sequential net;
  if (convolutions) {
    net = nn::Sequential(nn::Conv2d(nn::Conv2dOptions(2, 4, 3).padding(1)), nn::BatchNorm2d(4), nn::GELU(), nn::MaxPool2d(2), nn::Flatten(),
                         nn::Linear(36, 3));
  } else {
    net = nn::Sequential(nn::Linear(72, 16), nn::LayerNorm(nn::LayerNormOptions({16})), nn::SiLU(), nn::Dropout(0.2), nn::Linear(16, 3));
  }
  optim::AdamW optimizer(net->parameters(), optim::AdamWOptions(0.01));
  std::vector<uint32_t> result;
  for (int step = 0; step < steps; ++step) {
    const Tensor x = randn({step % 3 + 4, 2, 6, 6}), y = arange(x.size(0)) % 3;
    const Tensor loss = nn::functional::cross_entropy(net->forward(convolutions ? x : x.flatten(1)), y);
    optimizer.zero_grad();
    loss.backward();
    optimizer.step();
    for (const uint32_t b : bits(loss)) result.push_back(b);
  }
  for (const Tensor& p : net->parameters()) {
    for (const uint32_t b : bits(p)) result.push_back(b);
  }
  return result;
}

}  // namespace

TEST_CASE("replay: with it a call is recorded twice, without it each time") {
  for (const bool on : {true, false}) {
    const Replay replay(on);
    CHECK(get_config().replay == on);
    CHECK(info().find(std::string("replay: ") + (on ? "on" : "off")) != std::string::npos);
    int recorded = 0;
    const char* const name = on ? "replay_test_on" : "replay_test_off";
    for (int i = 0; i < 5; ++i) {
      const Tensor x = arange(6, kFloat).requires_grad_();
      const Tensor y = replayed_call(
          name, {},
          [&] {
            ++recorded;
            GradScope scope("MulBackward0", x);
            return x * 3;
          },
          x);
      y.sum().backward();
      CHECK(bits(x.grad()) == bits(full({6}, 3.0)));
    }
    CHECK(recorded == (on ? 2 : 5));
  }
}

TEST_CASE("replay: trainings are the same to the bit") {
  for (const bool convolutions : {false, true}) {
    std::vector<uint32_t> results[2];
    for (const bool on : {false, true}) {
      const Replay replay(on);
      results[on] = trained(convolutions, 9);
    }
    CHECK(results[0] == results[1]);
  }
}

TEST_CASE("replay: a formula without gradients is recorded twice, and a call of one node each time") {
  for (const bool on : {true, false}) {
    const Replay replay(on);
    int recorded = 0, plain = 0;
    const char* const name = on ? "replay_test_formula_on" : "replay_test_formula_off";
    for (int i = 0; i < 5; ++i) {
      const Tensor x = arange(6, kFloat) + i;
      const auto formula = [&] {
        ++recorded;
        return exp(x * 3) + 1;
      };
      CHECK(bits(replayed_formula(name, {}, formula, x)) == bits(exp(x * 3) + 1));
      const auto call = [&] {
        ++plain;
        return x * 3;
      };
      CHECK(bits(replayed_call(name, {1}, call, x)) == bits(x * 3));
    }
    CHECK(recorded == (on ? 2 : 5));
    CHECK(plain == 5);
  }
}

namespace {

using Formula = Tensor (*)(const Tensor& x, const Tensor& weight, const Tensor& bias);
// x is [N, 8], the others are [8].
constexpr Formula kFormulas[] = {
    [](const Tensor& x, const Tensor&, const Tensor&) { return softmax(x, -1); },
    [](const Tensor& x, const Tensor&, const Tensor&) { return softmax(x, 0, kDouble); },
    [](const Tensor& x, const Tensor&, const Tensor&) { return log_softmax(x, 1); },
    [](const Tensor& x, const Tensor& w, const Tensor& b) { return layer_norm(x, {8}, w, b); },
    [](const Tensor& x, const Tensor&, const Tensor& b) { return layer_norm(x, {8}, nullopt, b, 0.5); },
    [](const Tensor& x, const Tensor& w, const Tensor&) {
      return mse_loss(x, w.expand({x.size(0), 8}));
    },
    [](const Tensor& x, const Tensor&, const Tensor&) { return mse_loss(x, x); },
    [](const Tensor& x, const Tensor&, const Tensor&) { return mse_loss(x, x + 1, Reduction::None); },
    [](const Tensor& x, const Tensor& w, const Tensor& b) { return linear(x, w.unsqueeze(0) * b.unsqueeze(1), b); },
    [](const Tensor& x, const Tensor& w, const Tensor& b) {
      return linear(x, ones({3, 8}, w.options()), b.slice(0, 0, 3));
    },
    [](const Tensor& x, const Tensor& w, const Tensor&) { return cross_entropy_loss(x, arange(x.size(0)) % 8, w); },
    [](const Tensor& x, const Tensor&, const Tensor&) { return cross_entropy_loss(x, softmax(x + 1, 1)); },
    [](const Tensor& x, const Tensor&, const Tensor&) { return silu(x); },
    [](const Tensor& x, const Tensor& w, const Tensor&) { return gelu(silu(x) * w, "tanh"); },
};

// What the formula gives for operands that change from call to call in everything a call is found by, and in what it is not.
std::vector<std::vector<uint32_t>> answers(Formula formula) {
  manual_seed(3);
  std::vector<std::vector<uint32_t>> result;
  for (int i = 0; i < 24; ++i) {
    Tensor x = randn({i % 6 == 5 ? 3 : 4, 8}), weight = randn({8}), bias = randn({8});
    if (i % 8 == 6) x = randn({8, x.size(0)}).t();
    if (i % 8 == 7) x = full({4, 8}, 0.25);
    if (i % 12 == 9) x = x.to(kDouble), weight = weight.to(kDouble), bias = bias.to(kDouble);
    if (i % 4 == 1) eval(x, weight);
    const bool tracked = i % 6 == 4;
    x.requires_grad_(tracked);
    const InferenceMode inference(i % 12 == 10);
    const NoGradGuard no_grad;
    Tensor y = formula(x, weight, bias);
    CHECK_FALSE(y.requires_grad());
    if (!tracked) {
      const Tensor before = y.clone();
      x.add_(1);  // a later write, which the result does not see
      CHECK(bits(y) == bits(before));
      if (i % 3 == 0) y.mul_(2);  // and one to the result, which x does not see
    }
    result.push_back(bits(y));
    result.push_back(bits(x));
  }
  return result;
}

}  // namespace

TEST_CASE("replay: formulas without gradients have the same bits") {
  for (size_t i = 0; i < std::size(kFormulas); ++i) {
    CAPTURE(i);
    std::vector<std::vector<uint32_t>> results[2];
    for (const bool on : {false, true}) {
      const Replay replay(on);
      results[on] = answers(kFormulas[i]);
    }
    CHECK(results[0] == results[1]);
  }
}

TEST_CASE("replay: a call that has come before still refuses wrong arguments") {
  const Tensor x = randn({4, 8});
  const Tensor bad = tensor({0, 1, 2, 9});
  for (int i = 0; i < 4; ++i) {
    layer_norm(x, {8});
    CHECK_THROWS_AS(layer_norm(x, {4}), Error);
    cross_entropy_loss(x, arange(4));
    CHECK_THROWS_AS(eval(cross_entropy_loss(x, bad)), Error);
    softmax(x, 1);
    CHECK_THROWS_AS(softmax(x, 2), Error);
  }
}
