// Faults that the tests of gradients have found.
#include <tenon/tenon.h>

#include <doctest/doctest.h>

using namespace tenon;

TEST_CASE("a view back to the shape that a pending reduction had is differentiated") {
  const Tensor x = rand({3, 4}, TensorOptions(kDouble).requires_grad(true));
  const Tensor r = x.sum(1);  // a reshape of [3, 1], which the view undoes
  const Tensor q = ones({3, 1}, kDouble) / r.unsqueeze(1);
  const Tensor g = autograd::grad({q.sum()}, {x}, {}, true)[0];
  CHECK(allclose(g, (-1 / r.detach().square()).unsqueeze(1).expand({3, 4})));
  CHECK(autograd::gradgradcheck(
      [](const autograd::Tensors& v) { return nn::functional::pairwise_distance(v[0], v[1]); },
      {x, rand({3, 4}, TensorOptions(kDouble).requires_grad(true))}));
}

TEST_CASE("distances have gradients, also where points are equal") {
  const Tensor x = rand({4, 3}, TensorOptions(kDouble).requires_grad(true));
  CHECK(autograd::gradcheck([](const Tensor& v) { return pdist(v); }, x));
  CHECK(autograd::gradgradcheck([](const Tensor& v) { return pdist(v); }, x));
  const Tensor g = autograd::grad({cdist(x, x.detach()).sum()}, {x})[0];
  CHECK(g.isfinite().all().item<bool>());
}

TEST_CASE("digamma's gradient is the trigamma function") {
  const Tensor x = tensor({1., 2.5, 7.}, TensorOptions(kDouble)).requires_grad_();
  CHECK(autograd::gradcheck([](const Tensor& v) { return v.digamma(); }, x));
  CHECK(autograd::gradgradcheck([](const Tensor& v) { return v.digamma(); }, x));
  CHECK(autograd::gradgradcheck([](const Tensor& v) { return polygamma(2, v); }, x, {}, 1e-6, 1e-4));
}

TEST_CASE("a quotient may be written before the backward pass") {
  const Tensor x = tensor({1., 2.}, TensorOptions(kDouble)).requires_grad_();
  Tensor y = 3 / x;
  y.mul_(2);
  y.sum().backward();
  CHECK(allclose(x.grad(), -6 / x.detach().square()));
}
