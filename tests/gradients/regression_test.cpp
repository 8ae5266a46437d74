// Faults that the tests of gradients have found.
#include <tenon/tenon.h>

#include <doctest/doctest.h>

#include <cmath>

#include "support/fuzz_cases.h"

using namespace tenon;

TEST_CASE("a view back to the shape that a pending reduction had is differentiated") {
  const Tensor x = rand({3, 4}, TensorOptions(kDouble).requires_grad(true));
  const Tensor r = x.sum(1);  // a reshape of [3, 1], which the view undoes
  const Tensor q = ones({3, 1}, kDouble) / r.unsqueeze(1);
  const Tensor g = autograd::grad({q.sum()}, {x}, {}, true)[0];
  CHECK(allclose(g, (-1 / r.detach().square()).unsqueeze(1).expand({3, 4})));
  CHECK(autograd::gradgradcheck([](const autograd::Tensors& v) { return nn::functional::pairwise_distance(v[0], v[1]); },
                                {x, rand({3, 4}, TensorOptions(kDouble).requires_grad(true))}));
}

TEST_CASE("distances have gradients, also where points are equal") {
  const Tensor x = rand({4, 3}, TensorOptions(kDouble).requires_grad(true));
  CHECK(autograd::gradcheck([](const Tensor& v) { return pdist(v); }, x));
  CHECK(autograd::gradgradcheck([](const Tensor& v) { return pdist(v); }, x));
  const Tensor g = autograd::grad({cdist(x, x.detach()).sum()}, {x})[0];
  CHECK(g.isfinite().all().item<bool>());
  const Tensor y = rand({2, 5, 3}, TensorOptions(kDouble).requires_grad(true));
  const auto distances = [](const autograd::Tensors& v) { return cdist(v[0], v[1]); };
  CHECK(autograd::gradcheck(distances, {x, y}));
  CHECK(autograd::gradgradcheck(distances, {x, y}));
}

TEST_CASE("means of windows of different sizes have gradients, of fewer windows than elements and of more") {
  const Tensor x = rand({2, 2, 5, 7}, TensorOptions(kDouble).requires_grad(true));
  for (const int64_t rows : {2, 3, 5, 8}) {
    CAPTURE(rows);
    const auto pooled = [&](const Tensor& v) { return adaptive_avg_pool2d(v, {rows, 4}); };
    CHECK(autograd::gradcheck(pooled, x));
    CHECK(autograd::gradgradcheck(pooled, x));
  }
  CHECK(autograd::grad({adaptive_avg_pool2d(x, {0, 4}).sum()}, {x})[0].eq(0).all().item<bool>());
}

TEST_CASE("distances of points far from 0 are those of their differences, and so are the gradients") {
  const Tensor x = rand({40, 3}) + 1000, y = x + 1 / 64.0, away = full({40, 3}, 1 / 64.0).norm(2.0, 1);
  CHECK(cdist(x, y).diagonal().equal(away));
  const Tensor a = x.clone().requires_grad_(), g = autograd::grad({cdist(a, y).diagonal().sum()}, {a})[0];
  CHECK(allclose(g, full({40, 3}, -1 / std::sqrt(3.0))));
}

TEST_CASE("a bag's rows are scaled by how often they occur, where that is asked for") {
  const Tensor table = rand({4, 3}, TensorOptions(kDouble).requires_grad(true)), index = tensor({1, 1, 2}, kLong);
  const auto gradient = [&](bool scaled) {
    return autograd::grad({std::get<0>(embedding_bag(table, index, tensor({0}, kLong), scaled, 0)).sum()}, {table})[0];
  };
  CHECK(equal(gradient(true).select(1, 0), tensor({0., 1., 1., 0.}, kDouble)));
  CHECK(equal(gradient(false).select(1, 0), tensor({0., 2., 1., 0.}, kDouble)));
}

TEST_CASE("functional dropout drops unless it is told not to, alpha dropout the other way round") {
  namespace F = nn::functional;
  manual_seed(1);
  const Tensor x = ones({1000});
  CHECK(F::dropout(x).eq(0).any().item<bool>());
  CHECK(equal(F::dropout(x, F::DropoutFuncOptions().training(false)), x));
  CHECK(equal(F::alpha_dropout(x), x));
}

TEST_CASE("a view of what requires grad by then is a leaf without a gradient") {
  const Tensor base = rand({2, 3}), view = base.view({6});
  base.requires_grad_();
  CHECK(view.requires_grad());
  CHECK(view.is_leaf());
  view.register_hook([](const Tensor& g) { return g; });
  (view * 2).sum().backward();
  CHECK(!view.grad().defined());
  CHECK(!base.grad().defined());
  CHECK_THROWS_WITH(view.mul_(2),
                    doctest::Contains("a view of a leaf Variable that requires grad is being used in an in-place operation."));
}

TEST_CASE("digamma's gradient is the trigamma function") {
  const Tensor x = tensor({1., 2.5, 7.}, TensorOptions(kDouble)).requires_grad_();
  CHECK(autograd::gradcheck([](const Tensor& v) { return v.digamma(); }, x));
  CHECK(autograd::gradgradcheck([](const Tensor& v) { return v.digamma(); }, x));
  CHECK(autograd::gradgradcheck([](const Tensor& v) { return polygamma(2, v); }, x, {}, 1e-6, 1e-4));
}

TEST_CASE("the loss of labellings has gradients, also where no path reaches a state") {
  const Tensor x = randn({5, 2, 4}, TensorOptions(kDouble)).requires_grad_();
  const Tensor targets = tensor({{1, 1, 3}, {2, 3, 0}}), lengths = tensor({5, 4}), of_targets = tensor({3, 2});
  for (const bool zero_infinity : {false, true}) {
    const auto loss = [&](const Tensor& v) {
      return nn::functional::ctc_loss(log_softmax(v, 2), targets, lengths, of_targets,
                                      nn::functional::CTCLossFuncOptions().zero_infinity(zero_infinity));
    };
    CHECK(autograd::gradcheck(loss, x));
    CHECK(autograd::gradgradcheck(loss, x));
  }
  // A target that is too long: no path at all.
  const auto none = nn::functional::ctc_loss(log_softmax(x, 2), targets, tensor({2, 2}), of_targets,
                                             nn::functional::CTCLossFuncOptions().zero_infinity(true).reduction(kNone));
  CHECK(none[0].item<double>() == 0);
  CHECK(autograd::grad({none.sum()}, {x})[0].isfinite().all().item<bool>());
}

TEST_CASE("a quotient may be written before the backward pass") {
  const Tensor x = tensor({1., 2.}, TensorOptions(kDouble)).requires_grad_();
  Tensor y = 3 / x;
  y.mul_(2);
  y.sum().backward();
  CHECK(allclose(x.grad(), -6 / x.detach().square()));
}

// Equal nodes are one node; an operation reads its operands all the same.
TEST_CASE("a view and a copy of one value that meet in an operation keep their gradients apart") {
  const Tensor x = tensor({{1., 2., 3.}, {4., 5., 6.}}, TensorOptions(kDouble)).requires_grad_();
  const Tensor a = x.t(), b = a.clone();
  const std::vector<Tensor> g = autograd::grad({(a / b).sum()}, {b, x}, {}, true);
  CHECK(allclose(g[0], -1 / a.detach()));
  CHECK(allclose(g[1], zeros_like(x.detach())));
  const std::vector<Tensor> h = autograd::grad({(b - 2 * a).sum()}, {b, x});
  CHECK(allclose(h[0], ones_like(a.detach())));
  CHECK(allclose(h[1], -ones_like(x.detach())));
}

TEST_CASE("a pending operand that folds into an operation on a transposed one has a gradient") {
  const Tensor x = rand({2, 3}).requires_grad_(), b = rand({3, 2}).requires_grad_();
  const Tensor minus = -b;  // x.t() + (-b) is x.t() - b
  const std::vector<Tensor> g = autograd::grad({(x.t() + minus).sum()}, {x, b, minus});
  CHECK(allclose(g[0], ones({2, 3})));
  CHECK(allclose(g[1], -ones({3, 2})));
  CHECK(allclose(g[2], ones({3, 2})));
}

TEST_CASE("a view of what was just written there is a function of its base") {
  const Tensor w = rand({3}).requires_grad_(), rows = zeros({2, 3});
  rows[0].copy_(w);
  const Tensor row = rows[0];
  row.square().sum().backward();
  CHECK(allclose(w.grad(), 2 * w.detach()));
}

TEST_CASE("what is idempotent has its own gradient the second time too") {
  const Tensor x = tensor({0., 1.5, -1.5}).requires_grad_();
  const Tensor size = x.abs(), whole = x.floor();
  CHECK(equal(autograd::grad({size.abs().sum()}, {size})[0], tensor({0., 1., 1.})));
  CHECK(equal(autograd::grad({whole.floor().sum()}, {whole})[0], zeros({3})));
  CHECK(equal(autograd::grad({whole.round().sum()}, {whole})[0], zeros({3})));
}

TEST_CASE("what was overwritten has zeros for a gradient, and its history is still checked") {
  const Tensor x = tensor({1., 2.}).requires_grad_();
  const auto gradient_after = [&](const auto& write) {
    x.mutable_grad() = Tensor();
    Tensor y = x * 2;
    write(y);
    y.sum().backward();
    return x.grad();
  };
  const Tensor w = tensor({3., 4.}).requires_grad_(), none = zeros({2});
  CHECK(equal(gradient_after([](Tensor& y) { y.zero_(); }), none));
  CHECK(equal(gradient_after([](Tensor& y) { y.fill_(2); }), none));
  CHECK(equal(gradient_after([&](Tensor& y) { y.copy_(w); }), none));
  CHECK(equal(gradient_after([](Tensor& y) { y.view({2, 1}).zero_(); }), none));
  CHECK(equal(gradient_after([](Tensor& y) { y[0].zero_(); }), tensor({0., 2.})));
  CHECK(equal(w.grad(), ones({2})));
  for (const bool through_a_view : {false, true}) {
    Tensor y = x.exp();
    (through_a_view ? y.view({2, 1}) : y).zero_();
    CHECK_THROWS_WITH_AS(y.sum().backward(), doctest::Contains("modified by an inplace operation"), Error);
  }
}

TEST_CASE("a view that was filled while nothing was recorded is no constant") {
  const Tensor x = tensor({1., 2., 3.}).requires_grad_();
  const Tensor part = x.slice(0, 1, 3);
  {
    const NoGradGuard no_grad;
    part.fill_(0.5);
  }
  CHECK(equal(autograd::grad({(part * part).sum()}, {x})[0], tensor({0., 1., 1.})));
  CHECK(equal(autograd::grad({part[0]}, {x})[0], tensor({0., 1., 0.})));
}

TEST_CASE("a condition belongs to what the backward pass reads and releases") {
  const Tensor x = tensor({1., -2.}).requires_grad_(), above = x > 0;
  Tensor y = where(above, x, 0);
  y.sum().backward();
  CHECK_THROWS_WITH_AS(y.sum().backward(), doctest::Contains("a second time"), Error);
  y = where(above, x, 0);
  above.zero_();
  CHECK_THROWS_WITH_AS(y.sum().backward(), doctest::Contains("modified by an inplace operation"), Error);
  const Tensor half = full({2}, 0.5);
  y = x / half;
  half.fill_(2);
  CHECK_THROWS_WITH_AS(y.sum().backward(), doctest::Contains("modified by an inplace operation"), Error);
}

TEST_CASE("functions that save their result alone do not mind a write to what a transposed operand showed") {
  using Function = Tensor (*)(const Tensor&);
  const Function functions[] = {[](const Tensor& x) { return x.exp(); },   [](const Tensor& x) { return x.exp2(); },
                                [](const Tensor& x) { return x.expm1(); }, [](const Tensor& x) { return x.tan(); },
                                [](const Tensor& x) { return x.tanh(); },  [](const Tensor& x) { return x.sqrt(); }};
  for (const Function f : functions) {
    for (const bool transposed : {false, true}) {
      CAPTURE(transposed);
      const auto result_of = [&](const Tensor& x) { return f(transposed ? x.t() : x); };
      const Tensor start = tensor({{0.25, 0.5, 0.75}, {0.3, 0.6, 0.9}});
      Tensor want = start.clone().requires_grad_(), x = start.clone().requires_grad_();
      result_of(want).sum().backward();
      Tensor y = result_of(x);
      {
        const NoGradGuard guard;
        x.add_(1);
      }
      y.sum().backward();
      CHECK(equal(x.grad(), want.grad()));
      y = result_of(x);
      y.mul_(2);
      CHECK_THROWS_WITH_AS(y.sum().backward(), doctest::Contains("modified by an inplace operation"), Error);
    }
  }
}

TEST_CASE("a function that leads to no wanted gradient is not asked, although a view that it read was made anew") {
  const Tensor x = tensor({1., 2.}).requires_grad_(), unrelated = tensor({3.}).requires_grad_();
  const Tensor base = x * 2;
  Tensor view = base.view({1, 2});
  base.abs_();
  const Tensor y = x * view;
  view.mul_(3);
  CHECK_FALSE(autograd::grad({y.sum()}, {unrelated}, {}, true, false, true)[0].defined());
  CHECK_THROWS_WITH_AS(autograd::grad({y.sum()}, {x}), doctest::Contains("modified by an inplace operation"), Error);
}

TEST_CASE("a graph of a million operations is differentiated and dies without recursion") {
  const Tensor x = tensor({1., 2.}).requires_grad_();
  Tensor y = x;
  for (int i = 0, operations = test::fuzz_cases(1'000'000); i < operations; ++i) y = i % 2 ? y * 0.5 : y + y;  // two edges to one function
  y.sum().backward();
  CHECK(equal(x.grad(), ones({2})));
  CHECK(equal(y.detach(), x.detach()));
}
