// Programs that run over time: one number looked at each step, sequences of many lengths, episodes. What a step costs does not
// depend on how many went before it, and a new length finds the plans and kernels of others.
#include <doctest/doctest.h>

#include <tenon/tenon.h>

#include <array>

#include "ir/graph.h"
#include "runtime/evaluate.h"
#include "runtime/options.h"

using namespace tenon;

namespace {

struct WithBatch {
  runtime::Options before = runtime::options();
  explicit WithBatch(int64_t batch) {
    runtime::Options o = before;
    o.batch = batch;
    runtime::set_options(o);
  }
  ~WithBatch() { runtime::set_options(before); }
};

// A new sequence's outputs, and the gradients of everything.
template <typename Net>
std::vector<Tensor> trained(Net& net, int64_t length) {
  manual_seed(length);
  const Tensor x = randn({length, 2, 3}, requires_grad());
  const Tensor y = std::get<0>(net(x));
  for (Tensor& p : net->parameters()) p.mutable_grad() = Tensor();
  (y * y).sum().backward();
  std::vector<Tensor> all{y.detach(), x.grad()};
  for (const Tensor& p : net->parameters()) all.push_back(p.grad());
  eval(all);
  return all;
}

template <typename Net>
void check_lengths(Net net) {
  for (const int64_t length : {1, 2, 3, 40, 47, 60}) trained(net, length);
  reset_counters();
  for (const int64_t length : {39, 41, 44, 52, 63, 70}) trained(net, length);
  CHECK(counters().kernels_compiled <= 4);
  CHECK(counters().plans_built <= 6 * 6);
  for (const int64_t length : {1, 5, 41, 70}) {
    CAPTURE(length);
    const std::vector<Tensor> in_rounds = trained(net, length);
    const WithBatch whole(0);
    const std::vector<Tensor> at_once = trained(net, length);
    for (size_t i = 0; i < at_once.size(); ++i) CHECK(equal(in_rounds[i], at_once[i]));
  }
}

}  // namespace

TEST_CASE("recurrence: word 2,000 from an LSTM costs what word 20 did") {
  manual_seed(0);
  const NoGradGuard no_grad;
  nn::LSTM lstm(nn::LSTMOptions(4, 8).num_layers(2));
  Tensor h = zeros({2, 1, 8}), c = zeros({2, 1, 8}), word = zeros({1, 1, 4});
  std::array<int64_t, 3> at_20{}, at_2000{};
  for (int i = 1; i <= 2000; ++i) {
    reset_counters();
    auto [out, states] = lstm(word, std::make_tuple(h, c));
    std::tie(h, c) = states;
    word = full({1, 1, 4}, out.sum().item());
    if (i == 20) at_20 = {counters().plans_built, counters().launches, ir::live_node_count()};
    if (i == 2000) at_2000 = {counters().plans_built, counters().launches, ir::live_node_count()};
  }
  CHECK(at_20[0] == 0);
  CHECK(at_20 == at_2000);
}

TEST_CASE("recurrence: an LSTM's, a GRU's and an RNN's sequences of new lengths compile hardly anything, and give the bits of one plan") {
  manual_seed(1);
  SUBCASE("LSTM") { check_lengths(nn::LSTM(nn::LSTMOptions(3, 5))); }
  SUBCASE("GRU, two directions") { check_lengths(nn::GRU(nn::GRUOptions(3, 5).bidirectional(true))); }
  SUBCASE("RNN, two layers, no bias") { check_lengths(nn::RNN(nn::RNNOptions(3, 5).num_layers(2).bias(false))); }
}

TEST_CASE("recurrence: a cell of the program's own") {
  manual_seed(2);
  nn::Linear from_input(3, 6), from_state(6, 6);
  const auto run = [&](int64_t length) {
    manual_seed(length);
    const Tensor x = randn({length, 2, 3});
    Tensor h = zeros({2, 6});
    for (int64_t t = 0; t < length; ++t) h = tanh(from_input(x[t]) + from_state(h)) * 0.5 + h * 0.5;
    from_state->zero_grad();
    h.sum().backward();
    return std::vector<Tensor>{h.detach().clone(), from_state->weight.grad().clone()};
  };
  for (const int64_t length : {40, 41, 50, 63}) eval(run(length));
  reset_counters();
  for (const int64_t length : {42, 55, 70}) eval(run(length));
  CHECK(counters().kernels_compiled <= 3);
  const std::vector<Tensor> in_rounds = run(57);
  eval(in_rounds);
  const WithBatch whole(0);
  const std::vector<Tensor> at_once = run(57);
  for (size_t i = 0; i < at_once.size(); ++i) CHECK(equal(in_rounds[i], at_once[i]));
}

TEST_CASE("recurrence: second derivatives of a step that is known, and a write between the passes") {
  manual_seed(3);
  nn::GRU gru(nn::GRUOptions(2, 3));
  const auto twice = [&](const Tensor& x) {
    const Tensor y = std::get<0>(gru(x)).square().sum();
    const Tensor g = autograd::grad({y}, {x}, {}, nullopt, true)[0];
    return autograd::grad({g.square().sum()}, {x})[0];
  };
  const Tensor x = randn({5, 2, 2}, requires_grad());
  const Tensor first = twice(x);  // recorded; the third step of it is known already
  for (int i = 0; i < 3; ++i) CHECK(allclose(twice(x), first));
  const Tensor y = std::get<0>(gru(x)).sum();
  {
    const NoGradGuard no_grad;
    gru->parameters()[1].mul_(2);
  }
  CHECK_THROWS_WITH_AS(y.backward(), doctest::Contains("modified by an inplace operation"), Error);
}

TEST_CASE("recurrence: gradients of gates that are shut, and of relu at 0, are PyTorch's") {
  manual_seed(4);
  nn::LSTM lstm(nn::LSTMOptions(2, 3));
  nn::GRU gru(nn::GRUOptions(2, 3));
  const auto gradient = [](auto& net) {
    const Tensor x = full({6, 1, 2}, -1e4, requires_grad());
    std::get<0>(net(x)).sum().backward();
    return x.grad();
  };
  for (int i = 0; i < 2; ++i) {
    CHECK(isfinite(gradient(lstm)).all().item<bool>());
    CHECK(isfinite(gradient(gru)).all().item<bool>());
  }
  nn::RNN rnn(nn::RNNOptions(2, 3).nonlinearity(enumtype::kReLU()).bias(false));
  const Tensor x = zeros({6, 1, 2}, requires_grad());
  std::get<0>(rnn(x)).sum().backward();
  CHECK(equal(x.grad(), zeros({6, 1, 2})));
}
