// Programs whose lengths vary: how many kernels all lengths take together, by program. A kernel whose code depends on a length, or
// on the number of a loop's steps, shows here.
#include <doctest/doctest.h>
#include <tenon/tenon.h>

#include <functional>
#include <string>
#include <vector>

namespace {

using namespace tenon;

constexpr int64_t kLengths[] = {64, 63, 50, 49, 48, 40, 33, 32, 31, 23, 17, 16, 15, 12, 9, 8, 7, 5, 4, 3, 2};

// Kernels that one length needs, and those that all others need beside.
struct Kernels {
  int64_t first, others;
};

Kernels kernels_of(const std::function<void(int64_t)>& run) {
  clear_caches();
  reset_counters();
  const auto kernels = [] { return counters().kernels_compiled + counters().disk_hits; };
  run(70);
  const int64_t first = kernels();
  for (int64_t length : kLengths) run(length);
  return {first, kernels() - first};
}

void backward(const Tensor& loss, const std::vector<Tensor>& parameters) {
  for (const Tensor& p : parameters) p.mutable_grad() = Tensor();
  loss.backward();
  std::vector<Tensor> grads;
  for (const Tensor& p : parameters) grads.push_back(p.grad());
  eval(grads);
}

TEST_CASE("sixty lengths compile few more kernels than one") {
  manual_seed(0);
  nn::MultiheadAttention attention(64, 4);
  nn::Conv1d conv(nn::Conv1dOptions(4, 8, 3).padding(1));
  nn::Conv2d image(nn::Conv2dOptions(3, 8, 3).padding(1));
  nn::Linear cell(12, 8), head(4, 2);
  nn::TransformerEncoderLayer layer(nn::TransformerEncoderLayerOptions(32, 2).dim_feedforward(48).dropout(0.0));
  nn::LSTM lstm(nn::LSTMOptions(6, 8));
  nn::GRU gru(nn::GRUOptions(6, 8));
  const Tensor weight = randn({8}).requires_grad_(), keys = zeros({1, 4, 128, 16}), tall = ones({1200, 1024});
  struct Case {
    const char* name;
    std::function<void(int64_t)> run;
    int64_t others;  // that are allowed
    int64_t first = 1 << 20;
  };
  const std::vector<Case> cases = {
      {"attention",
       [&](int64_t n) {
         NoGradGuard guard;
         const Tensor x = randn({n, 1, 64});
         eval(std::get<0>(attention(x, x, x)));
       },
       2},
      {"keys that grow",
       [&](int64_t n) {
         const Tensor q = randn({1, 4, 1, 16}), k = keys.slice(2, 0, n);
         eval((q.matmul(k.transpose(-2, -1)) / 4).softmax(-1).matmul(k));
       },
       0},
      {"rows",
       [](int64_t n) {
         eval(layer_norm(randn({2, n}), {n}), randn({24, n}).softmax(1), randn({5, n}).argmax(1));
       },
       0},
      {"products",
       [](int64_t n) {
         const Tensor w = randn({64, 64});
         eval(randn({n, 64}).mm(w), w.mm(randn({64, n})), randn({64, n}).mm(randn({n, 64})));
       },
       2},
      {"convolution",
       [&](int64_t n) {
         eval(conv(randn({2, 4, n})));
       },
       2},
      {"gradients of a convolution",
       [&](int64_t n) {
         backward(conv(randn({2, 4, n})).square().mean(), conv->parameters());
       },
       2},
      {"gradients of images",
       [&](int64_t n) {
         backward(image(randn({2, 3, n, n + 1})).square().mean(), image->parameters());
       },
       12},
      {"gradients of attention",
       [&](int64_t n) {
         const Tensor x = randn({n, 1, 64});
         backward(std::get<0>(attention(x, x, x)).square().mean(), attention->parameters());
       },
       2, 15},
      {"a transformer's layer",
       [&](int64_t n) {
         NoGradGuard guard;
         eval(layer(randn({n, 2, 32})));
       },
       2},
      {"gradients of a transformer's layer",
       [&](int64_t n) {
         backward(layer(randn({n, 2, 32})).square().mean(), layer->parameters());
       },
       2, 26},
      {"an LSTM",
       [&](int64_t n) {
         NoGradGuard guard;
         eval(std::get<0>(lstm(randn({n, 2, 6}))));
       },
       0},
      {"gradients of an LSTM",
       [&](int64_t n) {
         backward(std::get<0>(lstm(randn({n, 2, 6}))).square().mean(), lstm->parameters());
       },
       0},
      {"gradients of a GRU",
       [&](int64_t n) {
         backward(std::get<0>(gru(randn({n, 2, 6}))).square().mean(), gru->parameters());
       },
       0},
      {"sums of columns",
       [&](int64_t n) {
         eval(randn({n, 48}).sum(0), randn({3, n}).sum(0), randn({n, n}).amax(0), randn({n, 10}).softmax(0), randn({20 * n, n}).sum(0),
              tall.slice(0, 0, 1100 + n).sum(0));
       },
       0},
      {"reshapes",
       [](int64_t n) {
         eval(randn({n, 4, 6}).permute({1, 0, 2}).reshape({2 * n, 12}) * 2, randn({6, n}).t().reshape({3, 2 * n}) + 1);
       },
       4},
      {"a recurrence by hand",
       [&](int64_t n) {
         const Tensor x = randn({n, 2, 4});
         Tensor h = zeros({2, 8});
         for (int64_t t = 0; t < n; ++t) h = tanh(cell(cat({x[t], h}, 1)));
         backward(h.square().mean(), cell->parameters());
       },
       4},
      {"gradients of rows",
       [](int64_t n) {
         Tensor x = randn({n, 8}).requires_grad_(), h = zeros({8});
         for (int64_t t = 0; t < n; ++t) h = tanh(h + x[t]);
         backward(h.sum(), {x});
       },
       11},
      {"a stack of steps",
       [&](int64_t n) {
         std::vector<Tensor> steps;
         for (int64_t t = 0; t < n; ++t) steps.push_back(weight * static_cast<double>(t + 2));
         backward(stack(steps).square().mean(), {weight});
       },
       5},
      {"episodes",
       [&](int64_t n) {
         Tensor loss = zeros({});
         for (int64_t t = 0; t < n; ++t) loss = loss - head(randn({1, 4})).log_softmax(1).select(1, 0).sum();
         backward(loss, head->parameters());
       },
       22},
  };
  for (const Case& c : cases) {
    CAPTURE(std::string(c.name));
    const Kernels kernels = kernels_of(c.run);
    CHECK(kernels.first > 0);
    CHECK(kernels.first <= c.first);
    CHECK(kernels.others <= c.others);
  }
}

// A training step as programs write it, of each length once, and a row alone is a length too: what vanishes with an axis of one row costs
// few kernels.
TEST_CASE("lengths from 1 to 64 compile few kernels in all") {
  manual_seed(0);
  nn::MultiheadAttention attention(64, 4);
  nn::TransformerEncoderLayer layer(nn::TransformerEncoderLayerOptions(32, 2).dim_feedforward(48).dropout(0.0));
  nn::Sequential network(nn::Linear(24, 48), nn::ReLU(), nn::Linear(48, 10));
  nn::Conv1d conv(nn::Conv1dOptions(4, 8, 3).padding(1));
  nn::Conv2d image(nn::Conv2dOptions(3, 8, 3).padding(1));
  nn::LayerNorm norm(nn::LayerNormOptions({32}));
  nn::LSTM lstm(nn::LSTMOptions(6, 8));
  nn::GRU gru(nn::GRUOptions(6, 8));
  struct Case {
    const char* name;
    std::function<Tensor(int64_t)> result;
    std::vector<Tensor> parameters;
    int64_t forward, training;  // kernels that are allowed
  };
  const std::vector<Case> cases = {
      {"attention",
       [&](int64_t n) {
         const Tensor x = randn({n, 1, 64});
         return std::get<0>(attention(x, x, x));
       },
       attention->parameters(), 3, 10},
      {"attention of a batch",
       [&](int64_t n) {
         const Tensor x = randn({n, 2, 64});
         return std::get<0>(attention(x, x, x));
       },
       attention->parameters(), 3, 12},
      {"a transformer's layer",
       [&](int64_t n) {
         return layer(randn({n, 2, 32}));
       },
       layer->parameters(), 6, 13},
      {"rows of a network",
       [&](int64_t n) {
         return network->forward(randn({n, 24}));
       },
       network->parameters(), 5, 12},
      {"a convolution",
       [&](int64_t n) {
         return conv(randn({2, 4, n}));
       },
       conv->parameters(), 6, 11},
      {"a convolution of images",
       [&](int64_t n) {
         return image(randn({2, 3, n, n}));
       },
       image->parameters(), 6, 12},
      {"rows of a norm",
       [&](int64_t n) {
         return norm(randn({n, 32}));
       },
       norm->parameters(), 2, 5},
      {"an LSTM",
       [&](int64_t n) {
         return std::get<0>(lstm(randn({n, 2, 6})));
       },
       lstm->parameters(), 4, 11},
      {"a GRU",
       [&](int64_t n) {
         return std::get<0>(gru(randn({n, 2, 6})));
       },
       gru->parameters(), 4, 12},
  };
  for (const Case& c : cases) {
    CAPTURE(std::string(c.name));
    optim::SGD sgd(c.parameters, optim::SGDOptions(1e-3));
    const auto step = [&](int64_t n) {
      sgd.zero_grad();
      c.result(n).square().mean().backward();
      sgd.step();
      eval(c.parameters);
    };
    const auto forward = [&](int64_t n) {
      const NoGradGuard guard;
      eval(c.result(n));
    };
    const auto kernels_of_all = [](const std::function<void(int64_t)>& run) {
      clear_caches();
      reset_counters();
      for (int64_t n = 64; n > 0; --n) run(n);
      return counters().kernels_compiled + counters().disk_hits;
    };
    CHECK(kernels_of_all(forward) <= c.forward);
    CHECK(kernels_of_all(step) <= c.training);
  }
}

// One product projects a source that is query, key and value; two or three do where they are different tensors.
TEST_CASE("attention over one tensor is that over copies of it") {
  manual_seed(3);
  nn::MultiheadAttention attention(12, 3);
  const Tensor x = randn({5, 2, 12}), y = x.clone();
  const auto results = [&](const Tensor& key, const Tensor& value) {
    for (const Tensor& p : attention->parameters()) p.mutable_grad() = Tensor();
    const auto [mixed, weights] = attention(x, key, value);
    mixed.square().sum().backward();
    std::vector<Tensor> all{mixed.detach(), weights.detach()};
    for (const Tensor& p : attention->parameters()) all.push_back(p.grad().clone());
    return all;
  };
  const std::vector<Tensor> one = results(x, x);
  for (const auto& [key, value] : {std::pair(y, y), std::pair(x, y), std::pair(y, x)}) {
    const std::vector<Tensor> others = results(key, value);
    for (size_t i = 0; i < one.size(); ++i) CHECK(allclose(one[i], others[i], 1e-4, 1e-5));
  }
}

// Which action an episode's steps took is no part of a plan, in whichever way it is read.
TEST_CASE("episodes of other actions and lengths find plans of earlier ones") {
  manual_seed(7);
  nn::Linear head(4, 3);
  const std::vector<std::function<Tensor(const Tensor& log_p, int64_t action)>> reads = {
      [](const Tensor& log_p, int64_t action) { return log_p[0][action]; },
      [](const Tensor& log_p, int64_t action) {
        return log_p.index({0, action});
      },
      [](const Tensor& log_p, int64_t action) { return log_p.select(1, action).squeeze(); },
      [](const Tensor& log_p, int64_t action) { return log_p.narrow(1, action, 1).sum(); },
      [](const Tensor& log_p, int64_t action) { return log_p.gather(1, tensor({action}, kLong).unsqueeze(0)).sum(); },
  };
  for (size_t r = 0; r < reads.size(); ++r) {
    const auto episode = [&](int64_t length, uint64_t seed) {
      Tensor expected = zeros({3}), returns = randn({length});
      eval(returns);
      std::vector<Tensor> logs;
      for (int64_t t = 0; t < length; ++t) {
        const Tensor log_p = head(randn({1, 4})).log_softmax(1);
        eval(log_p);  // the program draws its action
        seed = seed * 6364136223846793005 + 1442695040888963407;
        const auto action = static_cast<int64_t>((seed >> 33) % 3);
        logs.push_back(reads[r](log_p, action));
        const NoGradGuard guard;
        expected -= log_p.exp().squeeze() * returns[t];
        expected[action] += returns[t];
        eval(expected);
      }
      backward((stack(logs) * returns).sum(), head->parameters());
      CHECK(allclose(head->bias.grad(), expected, 1e-3, 1e-4));
    };
    uint64_t seed = 1;
    for (const int64_t length : {64, 64, 63, 40, 80, 95}) episode(length, ++seed);
    reset_counters();
    for (const int64_t length : {64, 63, 40, 80, 95, 80}) episode(length, ++seed);
    CAPTURE(r);
    CHECK(counters().plans_built <= 6);
  }
}

// The order in which gradients come, gaps between the rows and rows that are read twice make no difference.
TEST_CASE("gradients of many steps are the sums of theirs") {
  const int64_t n = 12;
  const Tensor rows = arange(n * 3, TensorOptions(kFloat)).reshape({n, 3});
  for (const bool again : {false, true}) {
    for (const int64_t step : {1, 2}) {
      CAPTURE(again);
      CAPTURE(step);
      Tensor x = rows.clone().requires_grad_(), w = ones({3}).requires_grad_(), loss = zeros({});
      for (int64_t t = n - 1; t >= 0; t -= step) loss = loss + (x[t] * w).sum() * static_cast<double>(t + 1);
      if (again) loss = loss + x[3].sum() + x.sum();
      const std::vector<Tensor> grads = autograd::grad({loss}, {x, w}, {}, std::nullopt, true);
      Tensor in_x = zeros({n, 3}), in_w = zeros({3});
      for (int64_t t = n - 1; t >= 0; t -= step) {
        in_x[t] += static_cast<double>(t + 1);
        in_w += rows[t] * static_cast<double>(t + 1);
      }
      if (again) {
        in_x[3] += 1;
        in_x += 1;
      }
      CHECK(equal(grads[0].detach(), in_x));
      CHECK(equal(grads[1].detach(), in_w));
      const Tensor second = autograd::grad({(grads[0] * rows).sum()}, {w})[0];  // through the sum of rows' gradients
      Tensor expected = zeros({3});
      for (int64_t t = n - 1; t >= 0; t -= step) expected += rows[t] * static_cast<double>(t + 1);
      CHECK(equal(second, expected));
    }
  }
}

// Slices that make up a tensor give its gradient side by side, however large they are and in whatever order its dims lie: nothing is
// filled with zeros, and nothing is added.
TEST_CASE("gradients of all slices of a tensor are laid side by side") {
  manual_seed(5);
  const Tensor x = randn({4, 96, 3 * 2 * 160}), g = randn({3, 4, 2, 96, 160});  // more bytes than wait for their sum otherwise
  for (const int64_t parts : {3, 2}) {
    CAPTURE(parts);
    const Tensor from = parts == 3 ? x : x.slice(2, 0, 640).contiguous(), weight = g.slice(0, 0, parts).contiguous();
    const auto heads = [&](const Tensor& y) { return y.view({4, 96, parts, 2, 160}).permute({2, 0, 3, 1, 4}); };
    const Tensor leaf = from.clone().requires_grad_(), y = leaf * 2;
    eval(from, weight, leaf);
    Tensor loss = zeros({});
    for (int64_t i = parts; i-- > 0;) loss = loss + (heads(y)[i] * weight[i]).sum();
    loss.backward();
    clear_kernel_history();
    const Tensor grad = leaf.grad();
    eval(grad);
    for (const KernelRecord& k : kernel_history()) CHECK(k.name.find("update") == std::string::npos);
    CHECK(kernel_history().size() <= 2);
    CHECK(equal(grad, 2 * weight.permute({1, 3, 0, 2, 4}).reshape(from.sizes())));
  }
}

TEST_CASE("gradients of large slices that meet are added") {
  const Tensor ones_of = ones({6, 128 * 1024});
  const Tensor x = ones_of.clone().requires_grad_();
  Tensor loss = zeros({});
  for (int64_t i = 0; i < 5; ++i) loss = loss + x.slice(0, i, i + 2).sum() * static_cast<double>(i + 1);
  for (int64_t i = 0; i < 5; ++i) loss = loss + x.slice(0, 2, 3).sum();
  loss.backward();
  const std::vector<double> expected{1, 3, 10, 7, 9, 5};
  for (int64_t i = 0; i < 6; ++i) CHECK(equal(x.grad()[i], full({128 * 1024}, expected[static_cast<size_t>(i)])));
}

// A weight's gradient is one product over all steps, and a bias's one sum, whichever way the weight is turned
// and however many rows a step has.
TEST_CASE("gradients of a weight that many steps use are one product") {
  manual_seed(3);
  const std::vector<std::function<Tensor(const Tensor& x, const Tensor& w)>> uses = {
      [](const Tensor& x, const Tensor& w) { return x.mm(w); },
      [](const Tensor& x, const Tensor& w) {
        return x.mm(w.reshape({12, 8}).t());
      },
      [](const Tensor& x, const Tensor& w) { return linear(x, w.t()); },
      [](const Tensor& x, const Tensor& w) { return w.t().mm(x.t()).t(); },
      [](const Tensor& x, const Tensor& w) {
        return einsum("nk,km->mn", {x, w}).t();
      },
      [](const Tensor& x, const Tensor& w) { return x.unsqueeze(0).matmul(w).squeeze(0); },
  };
  for (size_t u = 0; u < uses.size(); ++u) {
    for (const std::vector<int64_t>& rows :
         {std::vector<int64_t>(9, 2), std::vector<int64_t>(3, 2), std::vector<int64_t>{1, 3, 2, 1, 4, 2, 2}, std::vector<int64_t>(8, 1),
          std::vector<int64_t>{2, 40, 2, 3, 4, 30, 1, 2, 1, 2}}) {
      CAPTURE(u);
      CAPTURE(rows.size());
      const Tensor w = randn({8, 12}).requires_grad_(), b = randn({12}).requires_grad_();
      const Tensor dw = zeros({8, 12}, kDouble), db = zeros({12}, kDouble);
      Tensor loss = zeros({});
      for (int64_t n : rows) {
        const Tensor x = randn({n, 8}), g = randn({n, 12});
        eval(x, g);
        loss = loss + ((uses[u](x, w) + b) * g).sum();
        const Tensor turned = u == 1 ? x.to(kDouble).t().mm(g.to(kDouble)).t().reshape({8, 12}) : x.to(kDouble).t().mm(g.to(kDouble));
        dw.add_(turned);
        db.add_(g.to(kDouble).sum(0));
      }
      eval(dw, db);
      loss.backward();
      clear_kernel_history();
      eval(w.grad(), b.grad());
      int64_t products = 0;
      for (const KernelRecord& k : kernel_history()) products += k.name.find("dot") != std::string::npos;
      if (rows[1] < 10) CHECK(products == 1);
      else CHECK(products <= 5);  // those of many rows are products of their own
      CHECK((w.grad().to(kDouble) - dw).abs().max().item<double>() < 1e-4);
      CHECK((b.grad().to(kDouble) - db).abs().max().item<double>() < 1e-4);
    }
  }
}

}  // namespace
