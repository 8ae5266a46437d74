// However a training is run, its gradients and parameters have the same bits: fused or operation by operation, on one
// thread or two, compiled or interpreted, with values kept for the backward pass or computed again, on the CPU or on the test device.
#include <doctest/doctest.h>
#include <tenon/tenon.h>

#include <cmath>
#include <functional>

#include "device/late_tensors.h"

namespace tenon {
namespace {

struct Way {
  const char* name;
  std::function<void(Config&)> set = [](Config&) {};
  bool recompute = false, late = false;
};

const Way kWays[] = {
    {"one thread", [](Config& c) { c.threads = 1; }},
    {"two threads", [](Config& c) { c.threads = 2; }},
    {"not fused", [](Config& c) { c.fusion = false; }},
    {"not simplified", [](Config& c) { c.simplify = false; }},
    {"no memory reused", [](Config& c) { c.donation = false; }},
    {"interpreted", [](Config& c) { c.interpreter = true; }},
    {"narrow vectors", [](Config& c) { c.vector_bits = 128; }},
    {"recomputed", [](Config&) {}, true},
    {"test device", [](Config&) {}, false, true},
};

struct ConfigScope {
  Config before = get_config();
  ~ConfigScope() { set_config(before); }
};

// A part of a network, whose values are kept or computed again.
struct Part {
  bool recompute;
  template <typename F>
  Tensor operator()(const Tensor& x, F forward) const {
    return recompute ? autograd::checkpoint(forward, x) : forward(x);
  }
};

struct Place {
  Device device;
  Part part;
  Tensor operator()(const Tensor& x) const { return x.to(device); }
};

// Losses, gradients of the last step and parameters.
template <typename Optimizer>
std::vector<Tensor> train(nn::Module& net, Optimizer&& optimizer, const std::function<Tensor()>& loss_of) {
  std::vector<Tensor> results;
  for (int step = 0; step < 3; ++step) {
    optimizer.zero_grad();
    const Tensor loss = loss_of();
    loss.backward();
    for (const Tensor& p : net.parameters()) {
      if (step == 2) results.push_back(p.grad().clone());
    }
    optimizer.step();
    results.push_back(loss.detach());
  }
  for (const Tensor& p : net.parameters()) results.push_back(p.detach());
  return results;
}

std::vector<Tensor> perceptron(const Place& at) {
  nn::Sequential first{nn::Linear(20, 33), nn::Tanh(), nn::Dropout(0.3)}, second{nn::Linear(33, 17), nn::GELU(), nn::Linear(17, 5)};
  nn::ModuleList net(first, second);
  net->to(at.device);
  const Tensor x = at(randn({37, 20})), y = at(randint(0, 5, {37}));
  return train(*net, optim::Adam(net->parameters(), 0.01), [&] {
    const Tensor h = at.part(x, [&](const Tensor& t) { return first->forward(t); });
    return nn::functional::cross_entropy(at.part(h, [&](const Tensor& t) { return second->forward(t); }), y);
  });
}

std::vector<Tensor> conv_net(const Place& at) {
  nn::Sequential body{nn::Conv2d(nn::Conv2dOptions(3, 6, 3).padding(1)), nn::BatchNorm2d(6), nn::ReLU(), nn::MaxPool2d(2),
                      nn::Conv2d(nn::Conv2dOptions(6, 30, 3).stride(2)), nn::LeakyReLU()};
  nn::Sequential head{nn::Flatten(), nn::Linear(30 * 2 * 2, 4)};
  nn::ModuleList net(body, head);
  net->to(at.device);
  const Tensor x = at(randn({5, 3, 11, 11})), y = at(randn({5, 4}));
  return train(*net, optim::SGD(net->parameters(), optim::SGDOptions(0.05).momentum(0.9)), [&] {
    const Tensor h = at.part(x, [&](const Tensor& t) { return body->forward(t); });
    return nn::functional::mse_loss(head->forward(h), y);
  });
}

std::vector<Tensor> attention(const Place& at) {
  nn::Embedding words(11, 12);
  nn::LayerNorm norm(nn::LayerNormOptions({12}));
  nn::Linear all(12, 36), out(12, 11);
  nn::ModuleList net(words, norm, all, out);
  net->to(at.device);
  const Tensor text = at(randint(0, 11, {4, 9})), next = at(randint(0, 11, {4, 9}));
  const Tensor later = at(ones({9, 9}).triu(1).to(kBool));
  return train(*net, optim::AdamW(net->parameters(), 0.01), [&] {
    const Tensor x = words(text);
    const Tensor y = at.part(x, [&](const Tensor& t) {
      const auto parts = all(norm(t)).reshape({4, 9, 3, 2, 6}).permute({2, 0, 3, 1, 4}).unbind(0);
      const Tensor scores = parts[0].matmul(parts[1].transpose(-2, -1)) / 2.5;
      return scores.masked_fill(later, -INFINITY).softmax(-1).matmul(parts[2]).transpose(1, 2).reshape({4, 9, 12});
    });
    return nn::functional::cross_entropy(out(x + y).reshape({36, 11}), next.reshape({36}));
  });
}

// Writes, views, sorting, scans, indices and norms.
std::vector<Tensor> mixture(const Place& at) {
  const Tensor w = at(randn({6, 7})).requires_grad_(), v = at(randn({7})).requires_grad_();
  const Tensor index = at(tensor({3, 1, 1, 0, 5}));
  const Tensor t = at.part(w, [&](const Tensor& x) {
    Tensor y = (x * v).cumsum(1);
    y.slice(0, 1, 4).mul_(0.5);
    y[2].copy_(std::get<0>(v.sort()).flip(0));
    const Tensor picked = y.index_select(0, index);
    return where(picked > 0, picked, picked.exp() - 1).index_add(0, at(tensor({1, 1})), y.slice(0, 4, 6));
  });
  const Tensor loss = t.norm() + t.std(1).prod() + logsumexp(t.t(), 1).mean() + (t / 3).tanh().cumprod(0).sum();
  const Tensor first = autograd::grad({loss}, {w, v}, {}, nullopt, true)[0];
  (first.square().sum() + loss).backward();
  return {loss.detach(), first.detach(), w.grad(), v.grad()};
}

}  // namespace

TEST_CASE("gradients have the same bits however a training is run") {
  using Program = std::vector<Tensor> (*)(const Place&);
  const std::pair<const char*, Program> programs[] = {
      {"perceptron", perceptron}, {"conv_net", conv_net}, {"attention", attention}, {"mixture", mixture}};
  const ConfigScope scope;
  for (const auto& [name, program] : programs) {
    const auto run = [&](const Way& way) {
      Config config = scope.before;
      way.set(config);
      set_config(config);
      manual_seed(3);
      std::vector<Tensor> results = program(Place{way.late ? test::late() : Device(kCPU), Part{way.recompute}});
      eval(results);
      return results;
    };
    const std::vector<Tensor> expected = run(Way{"as usual"});
    for (const Tensor& x : expected) CHECK(x.isfinite().all().item<bool>());
    for (const Way& way : kWays) {
      const std::vector<Tensor> results = run(way);
      REQUIRE(results.size() == expected.size());
      for (size_t i = 0; i < results.size(); ++i) {
        INFO(name << ", " << way.name << ", result " << i);
        CHECK(test::same_bits(results[i], expected[i]));
      }
    }
  }
}

}  // namespace tenon
