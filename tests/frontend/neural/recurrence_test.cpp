// Programs that run over time: one number looked at each step, sequences of many lengths, episodes. What a step costs does not
// depend on how many went before it, and a new length finds the plans and kernels of others.
#include <doctest/doctest.h>

#include <tenon/native.h>
#include <tenon/tenon.h>

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <functional>
#include <thread>

#include "ir/graph/graph.h"
#include "runtime/base/options.h"
#include "runtime/run/evaluate.h"

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
  for (const size_t bias : {2, 3}) {  // no gradient reads them
    const Tensor sum = std::get<0>(gru(x)).sum();
    {
      const NoGradGuard no_grad;
      gru->parameters()[bias].mul_(2);
    }
    CHECK_NOTHROW(sum.backward());
  }
}

TEST_CASE("recurrence: states and inputs of other shapes are refused in PyTorch's words") {
  const Tensor x = rand({5, 2, 4});
  nn::GRU gru(nn::GRUOptions(4, 8));
  nn::LSTM lstm(nn::LSTMOptions(4, 8));
  for (const auto& [shape, got] :
       {std::pair<std::vector<int64_t>, const char*>{{1, 3, 8}, "[1, 3, 8]"}, {{2, 2, 8}, "[2, 2, 8]"}, {{1, 1, 8}, "[1, 1, 8]"}}) {
    const std::string what = std::string("Expected hidden size (1, 2, 8), got ") + got;
    CHECK_THROWS_WITH_AS(gru(x, rand(shape)), doctest::Contains(what.c_str()), Error);
  }
  CHECK_THROWS_WITH_AS(lstm(x, std::make_tuple(rand({1, 2, 8}), rand({1, 2, 7}))),
                       doctest::Contains("Expected hidden[1] size (1, 2, 8), got [1, 2, 7]"), Error);
  CHECK_THROWS_WITH_AS(gru(rand({5})), doctest::Contains("Expected input to be 3D, got 1D"), Error);
}

// The rules of the steps beside the derivatives of what they are made of, of both orders, from each of the outputs.
TEST_CASE("recurrence: a step's gradients are those of its operations") {
  manual_seed(5);
  using Cell = std::function<std::vector<Tensor>(const Tensor& x, const std::vector<Tensor>& states, const std::vector<Tensor>& p)>;
  using Net = std::function<std::vector<Tensor>(const Tensor& x, const std::vector<Tensor>& states, const std::vector<Tensor>& p)>;
  struct Case {
    const char* name;
    int64_t gates;
    size_t states;
    Net net;
    Cell cell;
  };
  const std::vector<Case> cases = {
      {"LSTM", 4, 2,
       [](const Tensor& x, const std::vector<Tensor>& s, const std::vector<Tensor>& p) {
         const auto [y, h, c] = lstm(x, {s[0].unsqueeze(0), s[1].unsqueeze(0)}, p, true, 1, 0, false, false, false);
         return std::vector<Tensor>{y, h, c};
       },
       [](const Tensor& x, const std::vector<Tensor>& s, const std::vector<Tensor>& p) {
         const auto [h, c] = lstm_cell(x, s, p[0], p[1], p[2], p[3]);
         return std::vector<Tensor>{h, c};
       }},
      {"GRU", 3, 1,
       [](const Tensor& x, const std::vector<Tensor>& s, const std::vector<Tensor>& p) {
         const auto [y, h] = gru(x, s[0].unsqueeze(0), p, true, 1, 0, false, false, false);
         return std::vector<Tensor>{y, h};
       },
       [](const Tensor& x, const std::vector<Tensor>& s, const std::vector<Tensor>& p) {
         return std::vector<Tensor>{gru_cell(x, s[0], p[0], p[1], p[2], p[3])};
       }},
      {"RNN", 1, 1,
       [](const Tensor& x, const std::vector<Tensor>& s, const std::vector<Tensor>& p) {
         const auto [y, h] = rnn_tanh(x, s[0].unsqueeze(0), p, true, 1, 0, false, false, false);
         return std::vector<Tensor>{y, h};
       },
       [](const Tensor& x, const std::vector<Tensor>& s, const std::vector<Tensor>& p) {
         return std::vector<Tensor>{rnn_tanh_cell(x, s[0], p[0], p[1], p[2], p[3])};
       }},
      {"RNN of relu", 1, 1,
       [](const Tensor& x, const std::vector<Tensor>& s, const std::vector<Tensor>& p) {
         const auto [y, h] = rnn_relu(x, s[0].unsqueeze(0), p, true, 1, 0, false, false, false);
         return std::vector<Tensor>{y, h};
       },
       [](const Tensor& x, const std::vector<Tensor>& s, const std::vector<Tensor>& p) {
         return std::vector<Tensor>{rnn_relu_cell(x, s[0], p[0], p[1], p[2], p[3])};
       }},
  };
  const TensorOptions tracked = TensorOptions(kDouble).requires_grad(true);
  for (const Case& c : cases) {
    for (const int64_t length : {1, 2, 6}) {
      const Tensor x = randn({length, 2, 3}, tracked);
      const std::vector<Tensor> p{randn({c.gates * 4, 3}, tracked), randn({c.gates * 4, 4}, tracked), randn({c.gates * 4}, tracked),
                                  randn({c.gates * 4}, tracked)};
      std::vector<Tensor> states, operands{x};
      for (size_t i = 0; i < c.states; ++i) states.push_back(randn({2, 4}, tracked));
      operands.insert(operands.end(), p.begin(), p.end());
      operands.insert(operands.end(), states.begin(), states.end());
      std::vector<Tensor> weights{randn({length, 2, 4}, kDouble)};
      for (size_t i = 0; i < c.states; ++i) weights.push_back(randn({1, 2, 4}, kDouble));
      const auto by_cell = [&] {
        std::vector<Tensor> now = states, outputs;
        for (int64_t t = 0; t < length; ++t) {
          now = c.cell(x[t], now, p);
          outputs.push_back(now[0]);
        }
        std::vector<Tensor> all{stack(outputs)};
        for (const Tensor& state : now) all.push_back(state.unsqueeze(0));
        return all;
      };
      for (size_t output = 0; output <= c.states; ++output) {
        for (int round = 0; round < 3; ++round) {  // recorded, noted, known
          CAPTURE(std::string(c.name));
          CAPTURE(length);
          CAPTURE(output);
          std::array<std::vector<Tensor>, 2> first, second;
          for (size_t way = 0; way < 2; ++way) {
            const std::vector<Tensor> made = way == 0 ? c.net(x, states, p) : by_cell();
            first[way] = autograd::grad({(made[output] * weights[output]).sum()}, operands, {}, nullopt, true, true);
            Tensor sum = zeros({}, kDouble);
            for (const Tensor& g : first[way]) {
              if (g.defined()) sum = sum + (g * g * g).sum();
            }
            second[way] = autograd::grad({sum}, operands, {}, nullopt, false, true);
          }
          for (size_t i = 0; i < operands.size(); ++i) {
            CAPTURE(i);
            CHECK(first[0][i].defined() == first[1][i].defined());
            if (first[0][i].defined()) CHECK(allclose(first[0][i], first[1][i], 1e-10, 1e-12));
            const auto or_zeros = [&](const Tensor& g) { return g.defined() ? g : zeros_like(operands[i]); };
            CHECK(allclose(or_zeros(second[0][i]), or_zeros(second[1][i]), 1e-9, 1e-11));
          }
          const std::vector<Tensor> plain =
              autograd::grad({(c.net(x, states, p)[output] * weights[output]).sum()}, operands, {}, nullopt, false, true);
          for (size_t i = 0; i < operands.size(); ++i) {
            CHECK(plain[i].defined() == first[1][i].defined());
            if (plain[i].defined()) CHECK(allclose(plain[i], first[1][i], 1e-10, 1e-12));
          }
        }
      }
    }
  }
}

// Recorded, noted and known: of halves each step is an operation.
TEST_CASE("recurrence: layers of halves are near those of floats") {
  const auto check_net = [](auto net) {
    manual_seed(9);
    const Tensor x = rand({4, 2, 3});
    const auto results = [&](ScalarType type) {
      net->to(type);
      const Tensor y = std::get<0>(net(x.to(type)));
      const std::vector<Tensor> p = net->parameters();
      std::vector<Tensor> all = autograd::grad({(y * y).to(kFloat).sum()}, p);
      all.push_back(y.detach());
      for (Tensor& t : all) t = t.to(kFloat);
      return all;
    };
    const std::vector<Tensor> floats = results(kFloat);
    for (const ScalarType type : {kHalf, kBFloat16}) {
      for (int round = 0; round < 3; ++round) {
        const std::vector<Tensor> halves = results(type);
        for (size_t i = 0; i < halves.size(); ++i) CHECK(allclose(halves[i], floats[i], 0.1, 0.03));
      }
    }
  };
  check_net(nn::LSTM(nn::LSTMOptions(3, 4)));
  check_net(nn::GRU(nn::GRUOptions(3, 4)));
  check_net(nn::RNN(nn::RNNOptions(3, 4)));
  check_net(nn::RNN(nn::RNNOptions(3, 4).nonlinearity(enumtype::kReLU())));
}

// The second direction of a layer is the first one of the turned sequence.
TEST_CASE("recurrence: a layer that goes backwards") {
  const auto check_net = [](auto net, auto run, int64_t gates) {
    manual_seed(6);
    const Tensor x = randn({5, 2, 3}, TensorOptions(kDouble).requires_grad(true));
    net->to(kDouble);
    const std::vector<Tensor> p = net->parameters();
    const std::vector<Tensor> second(p.begin() + 4, p.end());
    const Tensor weights = randn({5, 2, gates}, kDouble);
    const Tensor y = std::get<0>(net(x)).slice(2, gates, 2 * gates);
    const Tensor turned = run(x.flip(0), second).flip(0);
    CHECK(equal(y, turned));
    std::vector<Tensor> operands = second;
    operands.push_back(x);
    const std::vector<Tensor> one = autograd::grad({(y * weights).sum()}, operands),
                              other = autograd::grad({(turned * weights).sum()}, operands);
    for (size_t i = 0; i < one.size(); ++i) CHECK(allclose(one[i], other[i], 1e-10, 1e-12));
  };
  const Tensor zero = zeros({1, 2, 4}, kDouble);
  check_net(
      nn::LSTM(nn::LSTMOptions(3, 4).bidirectional(true)),
      [&](const Tensor& x, const std::vector<Tensor>& p) {
        return std::get<0>(lstm(x, {zero, zero}, p, true, 1, 0, false, false, false));
      },
      4);
  check_net(
      nn::GRU(nn::GRUOptions(3, 4).bidirectional(true)),
      [&](const Tensor& x, const std::vector<Tensor>& p) { return std::get<0>(gru(x, zero, p, true, 1, 0, false, false, false)); }, 4);
}

TEST_CASE("recurrence: a layer's graph, plans and kernels do not grow with the sequence") {
  nn::LSTM net(nn::LSTMOptions(3, 4));
  const auto nodes_of = [&](int64_t length) {
    const Tensor x = randn({length, 2, 3});
    eval(x);
    const int64_t before = ir::live_node_count();
    const Tensor y = std::get<0>(net(x));
    const int64_t nodes = ir::live_node_count() - before;
    eval(y);
    return nodes;
  };
  const int64_t few = nodes_of(7);
  nodes_of(8);
  reset_counters();
  CHECK(nodes_of(900) == few);
  CHECK(counters().plans_built == 1);
  CHECK(counters().kernels_compiled == 0);
}

// An evaluation looks for the plan of a step while it computes, and a fork waits for it.
TEST_CASE("recurrence: forks while another thread runs new layers") {
  std::atomic<bool> stop{false};
  std::thread other([&] {
    const NoGradGuard no_grad;
    for (int64_t i = 0; !stop; ++i) eval(std::get<0>(nn::LSTM(nn::LSTMOptions(3, 2 + i % 9))(zeros({2 + i % 5, 2, 3}))));
  });
  for (int i = 0; i < 10; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::alarm(60);
      const Tensor y = std::get<0>(nn::GRU(nn::GRUOptions(3, 4))(ones({4, 2, 3})));
      _exit(isfinite(y).all().item<bool>() ? 0 : 1);
    }
    int status = -1;
    ::waitpid(child, &status, 0);
    CHECK(status == 0);
  }
  stop = true;
  other.join();
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
