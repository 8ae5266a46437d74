// autograd::checkpoint: the same bits with and without it, less memory, and what it promises of the function.
#include <doctest/doctest.h>
#include <tenon/tenon.h>

#include <functional>

#include "runtime/memory/buffer.h"

using namespace tenon;
using autograd::checkpoint;
using autograd::RecomputeGuard;

namespace {

using Block = std::function<Tensor(const Tensor&)>;
struct Case {
  const char* name;
  std::function<nn::Sequential()> layers;
  std::function<Tensor(nn::Sequential&, const Tensor&)> block;
};

struct SquareAndKeep : autograd::Function<SquareAndKeep> {
  static Tensor forward(autograd::AutogradContext* ctx, Tensor x) {
    Tensor e = x.exp();
    ctx->save_for_backward({x, e});
    return x * e;
  }
  static autograd::tensor_list backward(autograd::AutogradContext* ctx, autograd::tensor_list grads) {
    const auto saved = ctx->get_saved_variables();
    return {grads[0] * saved[1] * (1 + saved[0])};
  }
};

Tensor by_layers(nn::Sequential& net, const Tensor& x) { return net->forward(x); }
const Case kCases[] = {
    {"perceptron", [] { return nn::Sequential(nn::Linear(6, 9), nn::GELU(), nn::Linear(9, 6)); }, by_layers},
    {"cheap end", [] { return nn::Sequential(nn::Linear(6, 9), nn::Tanh(), nn::Linear(9, 6), nn::ReLU()); }, by_layers},
    {"dropout", [] { return nn::Sequential(nn::Linear(6, 6), nn::Dropout(0.5), nn::Sigmoid()); }, by_layers},
    {"batch norm", [] { return nn::Sequential(nn::Linear(6, 6), nn::BatchNorm1d(6), nn::ReLU()); }, by_layers},
    {"layer norm", [] { return nn::Sequential(nn::LayerNorm(nn::LayerNormOptions({6})), nn::Linear(6, 6)); }, by_layers},
    {"views and writes", [] { return nn::Sequential(nn::Linear(6, 6)); },
     [](nn::Sequential& net, const Tensor& x) {
       Tensor y = net->forward(x) + x.cos();
       y.slice(1, 0, 3).mul_(x.slice(1, 3, 6));
       return y.t().contiguous().t() * x.detach();
     }},
    {"a look inside", [] { return nn::Sequential(nn::Linear(6, 6)); },
     [](nn::Sequential& net, const Tensor& x) {
       const Tensor h = net->forward(x).tanh();
       return h.sum().item<float>() > 100 ? h : h * h;
     }},
    {"a function of one's own", [] { return nn::Sequential(nn::Linear(6, 6)); },
     [](nn::Sequential& net, const Tensor& x) { return SquareAndKeep::apply(net->forward(x).tanh()) + x; }},
    {"one in another", [] { return nn::Sequential(nn::Linear(6, 6)); },
     [](nn::Sequential& net, const Tensor& x) {
       const Tensor h = net->forward(x).tanh();
       return checkpoint([&](const Tensor& t) { return (t.exp() * h).sigmoid(); }, h * 2).cos();
     }},
    {"no checkpoint reads its argument", [] { return nn::Sequential(nn::Linear(6, 6)); },
     [](nn::Sequential& net, const Tensor& x) { return net->forward(x + 1).exp(); }},
};

struct Run {
  std::vector<Tensor> results;  // loss, gradients, buffers, the generator's state
};

Run run(const Case& c, bool with, bool look) {
  manual_seed(11);
  std::vector<nn::Sequential> blocks;
  for (int i = 0; i < 3; ++i) blocks.push_back(c.layers());
  const Tensor input = randn({5, 6}).requires_grad_(true);
  Tensor x = input.sin();
  for (nn::Sequential& net : blocks) {
    const Block block = [&](const Tensor& t) { return c.block(net, t); };
    x = with ? checkpoint(block, x) : block(x);
  }
  const Tensor loss = x.square().mean();
  x = Tensor();
  if (look) (void)loss.item<float>();
  loss.backward();
  Run r{{loss.detach(), input.grad()}};
  for (nn::Sequential& net : blocks) {
    for (const Tensor& p : net->parameters()) r.results.push_back(p.grad());
    for (const Tensor& b : net->buffers()) r.results.push_back(b);
  }
  r.results.push_back(get_rng_state());
  return r;
}

// Twelve blocks with a wide inside.
struct Deep {
  std::vector<nn::Sequential> blocks;
  Tensor input = randn({256, 16});
  Deep() {
    for (int i = 0; i < 12; ++i)
      blocks.push_back(nn::Sequential(nn::Linear(16, 256), nn::GELU(), nn::Linear(256, 256), nn::Tanh(), nn::Linear(256, 16)));
    for (nn::Sequential& net : blocks) eval(net->parameters());
    eval(input);
  }
  Tensor loss(bool with) {
    Tensor x = input;
    for (nn::Sequential& net : blocks) {
      const Block block = [&](const Tensor& t) { return net->forward(t); };
      x = x + (with ? checkpoint(block, x) : block(x));
    }
    return x.square().mean();
  }
};

}  // namespace

TEST_CASE("checkpoint: gradients, buffers and draws have the same bits") {
  for (const Case& c : kCases) {
    for (const bool look : {false, true}) {
      const Run without = run(c, false, look), with = run(c, true, look);
      REQUIRE(with.results.size() == without.results.size());
      for (size_t i = 0; i < with.results.size(); ++i) {
        CAPTURE(c.name);
        CAPTURE(look);
        CAPTURE(i);
        CHECK(equal(with.results[i], without.results[i]));
      }
    }
  }
}

TEST_CASE("checkpoint: what lies between is neither kept nor there all at once in the backward pass") {
  manual_seed(3);
  Deep deep;
  int64_t kept[2], peak[2], unread[2];
  for (const bool with : {false, true}) {
    for (const bool look : {false, true}) {
      for (nn::Sequential& net : deep.blocks) net->zero_grad();
      const int64_t before = memory_stats().allocated;
      runtime::reset_peak_memory_stats();
      const Tensor loss = deep.loss(with);
      if (look) {
        (void)loss.item<float>();
        kept[with] = memory_stats().allocated - before;
      }
      loss.backward();
      std::vector<Tensor> grads;
      for (nn::Sequential& net : deep.blocks) {
        for (const Tensor& p : net->parameters()) grads.push_back(p.grad());
      }
      eval(grads);
      (look ? peak : unread)[with] = memory_stats().peak_allocated - before;
    }
  }
  // A block has two products of 256 KB inside; its output has 16 KB.
  CHECK(kept[0] > 12 * 2 * 256 * 1024);
  CHECK(kept[1] < 12 * 2 * 16 * 1024);
  CHECK(peak[1] * 2 < peak[0]);
  CHECK(unread[1] * 3 < unread[0] * 2);
}

TEST_CASE("checkpoint: arguments are kept, but not those of a block inside another") {
  const Tensor w = randn({200, 200}).requires_grad_(true);           // 160 KB
  const auto cheap = [](const Tensor& t) { return (t + 1).exp(); };  // reads its result alone
  const auto kept_after = [&](const Block& f) {
    eval(w);
    const int64_t before = memory_stats().allocated;
    const Tensor loss = f(w).sum();
    (void)loss.item<float>();
    return memory_stats().allocated - before;
  };
  const Block outside = [&](const Tensor& x) { return checkpoint(cheap, x.matmul(x)); };
  CHECK(kept_after(outside) >= 160000);
  CHECK(kept_after([&](const Tensor& x) { return checkpoint(outside, x); }) < 160000);
}

TEST_CASE("checkpoint: the function runs once; it may take and give several tensors and other things") {
  int runs = 0;
  const Tensor a = tensor({1., 2.}, requires_grad()), b = tensor({3., 4.}, requires_grad());
  const auto f = [&](const std::vector<Tensor>& x, const optional<Tensor>& y, double factor) {
    ++runs;
    return std::make_pair((x[0] * x[1]).exp() * factor, y ? y->sin() : x[0]);
  };
  const auto [p, q] = checkpoint(f, std::vector<Tensor>{a, b * 0.1}, optional<Tensor>(a), 2.);
  const auto [p1, q1] = f({a, b * 0.1}, a, 2.);
  const auto with = autograd::grad({(p * q).sum()}, {a, b}), without = autograd::grad({(p1 * q1).sum()}, {a, b});
  CHECK(equal(with[0], without[0]));
  CHECK(equal(with[1], without[1]));
  CHECK(runs == 2);
}

TEST_CASE("checkpoint: gradients of gradients, and two backward passes") {
  const Tensor w = randn({3, 3}, TensorOptions(kDouble).requires_grad(true));
  const Tensor x = randn({2, 3}, TensorOptions(kDouble).requires_grad(true));
  const auto f = [&](const std::vector<Tensor>& in) {
    return checkpoint([&](const Tensor& t) { return t.matmul(in[1]).tanh().exp(); }, in[0]);
  };
  CHECK(autograd::gradcheck(f, {x, w}));
  CHECK(autograd::gradgradcheck(f, {x, w}));

  const Tensor loss = f({x, w}).sum();
  const Tensor first = autograd::grad({loss}, {w}, {}, true)[0];
  CHECK(equal(first, autograd::grad({loss}, {w})[0]));
  CHECK_THROWS_WITH_AS(loss.backward(), doctest::Contains("a second time"), Error);
}

TEST_CASE("checkpoint: a write to what the backward pass reads is refused as ever; an exception closes the block") {
  const Tensor x = tensor({1., 2.}, requires_grad());
  const Tensor h = x * 1;
  const Tensor y = checkpoint([](const Tensor& t) { return t.exp() * t; }, h);
  const_cast<Tensor&>(h).add_(1);
  CHECK_THROWS_WITH_AS(y.sum().backward(), doctest::Contains("modified by an inplace operation"), Error);

  CHECK_THROWS_AS(checkpoint([](const Tensor& t) { return t.matmul(ones({7})); }, x), Error);
  const int64_t before = memory_stats().allocated;
  const Tensor big = ones({100, 100}).requires_grad_(true);
  const Tensor loss = big.matmul(big).tanh().sum();
  eval(loss);
  CHECK(memory_stats().allocated - before > 2 * 40000);  // the product is kept
}

TEST_CASE("checkpoint: one in another costs no more than one after another") {
  const Tensor w = randn({4, 4}).requires_grad_(), x = randn({4, 4}).requires_grad_();
  const std::function<Tensor(const Tensor&)> kinds[] = {[&](const Tensor& t) { return (t * w).tanh(); },
                                                        [&](const Tensor& t) { return matmul(t, w).tanh(); }};
  // Work before the inner one, behind it, and one after another.
  const auto nested = [](const auto& self, const std::function<Tensor(const Tensor&)>& f, bool before, const Tensor& t,
                         int depth) -> Tensor {
    if (depth == 0) return t;
    return checkpoint(
        [&](const Tensor& u) { return before ? self(self, f, before, f(u), depth - 1) : f(self(self, f, before, u, depth - 1)); }, t);
  };
  for (const auto& f : kinds) {
    for (int shape = 0; shape < 3; ++shape) {
      CAPTURE(shape);
      int64_t launches[2];
      for (const bool deeper : {false, true}) {
        const int depth = deeper ? 60 : 30;
        Tensor y = x, z = x;
        for (int i = 0; i < depth; ++i) z = f(z);
        if (shape < 2) y = nested(nested, f, shape == 0, x, depth);
        for (int i = 0; shape == 2 && i < depth; ++i) y = checkpoint(f, y);
        reset_counters();
        const auto grads = autograd::grad({y.sum()}, {w, x});
        eval(grads);
        launches[deeper] = counters().launches;
        CHECK(counters().plans_built < 15);
        const auto wanted = autograd::grad({z.sum()}, {w, x});
        for (size_t i = 0; i < 2; ++i) CHECK(allclose(grads[i], wanted[i], 1e-4, 1e-6));  // sums of many gradients have another order
      }
      CHECK(launches[1] <= 2 * launches[0] + 4);
    }
  }
}
