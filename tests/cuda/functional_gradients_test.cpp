// Functions of gradients on a CUDA device: checks by differences, Jacobians, Hessians and products with them.
#include <tenon/tenon.h>

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace tenon;
using autograd::Tensors;
namespace functional = autograd::functional;

namespace {

const Device kGpu("cuda:0");

Tensor doubles(IntArrayRef sizes, int64_t seed) {
  manual_seed(seed);
  return randn(sizes, kDouble);
}
Tensor there(const Tensor& x) { return x.to(kGpu).requires_grad_(); }

// On the device, with the CPU's bits.
void check_same(const Tensor& x, const Tensor& on_cpu) {
  CHECK(x.device() == kGpu);
  CHECK(x.sizes() == on_cpu.sizes());
  CHECK(equal(x.cpu(), on_cpu));
}

Tensor bend(const Tensor& x) { return (x * x).sin() + x.sum(0, true); }
Tensor single(const Tensor& x) { return (x * x * x).sum() + (x.select(0, 0) * x.select(0, 1)).sum(); }

// A gradient that is twice what it should be.
struct Wrong : autograd::Function<Wrong> {
  static Tensor forward(autograd::AutogradContext*, const Tensor& x) { return x * 3; }
  static Tensors backward(autograd::AutogradContext*, Tensors g) { return {g[0] * 6}; }
};

}  // namespace

TEST_CASE("cuda gradients: gradcheck and gradgradcheck of inputs on the device") {
  const Tensor x = there(doubles({2, 3}, 1)), w = there(doubles({3, 2}, 2));
  const auto product = [](const Tensors& in) { return in[0].mm(in[1]).tanh(); };
  CHECK(autograd::gradcheck(product, Tensors{x, w}));
  CHECK(autograd::gradgradcheck(product, Tensors{x, w}));
  const auto several = [](const Tensors& in) { return Tensors{in[0].exp(), in[0].sum(), (in[0] > 0).to(kLong)}; };
  CHECK(autograd::gradcheck(several, Tensors{x}));
}

TEST_CASE("cuda gradients: gradcheck of inputs and outputs on two devices") {
  const Tensor here = doubles({3}, 3).requires_grad_(), far = there(doubles({3}, 4));
  const auto both = [](const Tensors& in) { return Tensors{in[0].to(kGpu) * in[1], in[0].square() + in[1].cpu()}; };
  CHECK(autograd::gradcheck(both, Tensors{here, far}));
  CHECK(autograd::gradgradcheck(both, Tensors{here, far}));
}

TEST_CASE("cuda gradients: gradcheck refuses a wrong one, and shows it") {
  const Tensor x = there(doubles({2}, 5));
  const auto wrong = [](const Tensors& in) { return Wrong::apply(in[0]); };
  CHECK_FALSE(autograd::gradcheck(wrong, Tensors{x}, 1e-6, 1e-5, 1e-3, false));
  CHECK_THROWS_WITH_AS(autograd::gradcheck(wrong, Tensors{x}), doctest::Contains("device='cuda:0'"), autograd::GradcheckError);
}

TEST_CASE("cuda gradients: Jacobians, Hessians and products with them are the CPU's, and on the device") {
  const Tensor x = doubles({2, 3}, 6), v = doubles({2, 3}, 7);
  const Tensor far = x.to(kGpu), along = v.to(kGpu);
  check_same(functional::jacobian(bend, far), functional::jacobian(bend, x));
  check_same(functional::hessian(single, far), functional::hessian(single, x));
  const auto check_pair = [](const std::pair<Tensor, Tensor>& got, const std::pair<Tensor, Tensor>& wanted) {
    check_same(got.first, wanted.first);
    check_same(got.second, wanted.second);
  };
  check_pair(functional::vjp(bend, far, along), functional::vjp(bend, x, v));
  check_pair(functional::jvp(bend, far, along), functional::jvp(bend, x, v));
  check_pair(functional::vhp(single, far, along), functional::vhp(single, x, v));
  check_pair(functional::hvp(single, far, along), functional::hvp(single, x, v));
}
