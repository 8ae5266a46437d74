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

// Two steps in backward with numbers of their own.
struct Halves : autograd::Function<Halves> {
  static Tensor forward(autograd::AutogradContext* context, const Tensor& x) {
    context->save_for_backward({x});
    return where(x <= 0, 0, x);
  }
  static Tensors backward(autograd::AutogradContext* context, Tensors g) {
    CHECK(zeros({1}).is_cpu());
    return {where(context->get_saved_variables()[0] <= 0, .5, g[0])};
  }
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

// The numbers that a rule adds lie where its function was computed.
TEST_CASE("cuda: backward passes from device to device") {
  namespace F = nn::functional;
  const std::pair<const char*, Tensor (*)(const Tensor&)> functions[] = {
      {"relu", [](const Tensor& x) { return x.relu(); }},
      {"relu6", [](const Tensor& x) { return F::relu6(x); }},
      {"elu", [](const Tensor& x) { return F::elu(x); }},
      {"selu", [](const Tensor& x) { return F::selu(x); }},
      {"celu", [](const Tensor& x) { return F::celu(x); }},
      {"clamp", [](const Tensor& x) { return x.clamp(-1, 1); }},
      {"clamp_min", [](const Tensor& x) { return x.clamp_min(0); }},
      {"clamp_max", [](const Tensor& x) { return x.clamp_max(1); }},
      {"hardsigmoid", [](const Tensor& x) { return F::hardsigmoid(x); }},
      {"hardswish", [](const Tensor& x) { return F::hardswish(x); }},
      {"softplus", [](const Tensor& x) { return F::softplus(x); }},
      {"norm", [](const Tensor& x) { return x.norm(); }},
      {"normalize", [](const Tensor& x) { return F::normalize(x, F::NormalizeFuncOptions().dim(0)); }},
      {"std", [](const Tensor& x) { return x.std(); }},
      {"cosine_similarity", [](const Tensor& x) { return F::cosine_similarity(x, x.flip(0), F::CosineSimilarityFuncOptions().dim(0)); }},
      {"embedding",
       [](const Tensor& x) {
         return embedding(x.reshape({3, 2}), tensor({2, 0, 2}).to(x.device()));
       }},
      {"max", [](const Tensor& x) { return std::get<0>(x.max(0)); }},
      {"softmax", [](const Tensor& x) { return x.softmax(0).square(); }},
      {"a function of the user's", [](const Tensor& x) { return Halves::apply(x); }},
  };
  const Tensor data = tensor({1.5f, -2.f, .25f, 3.f, -.5f, .75f});
  for (const auto& [name, f] : functions) {
    const std::string function = name;
    CAPTURE(function);
    const auto gradient = [&, f = f](const Device& first, const Device& second) {
      const Tensor x = data.detach().to(first).requires_grad_();
      const Tensor y = f(x * 1.25).to(second).square() + f((x * 2).to(second));
      const Tensor g = autograd::grad({y.sum()}, {x}, {}, true, true)[0];
      g.square().sum().backward();
      return cat({g.detach(), x.grad()}).cpu();
    };
    const Tensor want = gradient(kCPU, kCPU);
    CHECK(allclose(gradient(kCPU, kGpu), want, 1e-5, 1e-6));
    CHECK(allclose(gradient(kGpu, kCPU), want, 1e-5, 1e-6));
  }
}

TEST_CASE("cuda: what a hook makes lies where it would outside of a backward pass") {
  Tensor log = zeros({1});
  const Tensor x = ones({3}).to(kGpu).requires_grad_(), y = x * 2;
  y.register_hook([&](const Tensor& g) { log = log + ones({1}) * g.norm().item<float>(); });
  x.register_hook([&](const Tensor& g) { return where(g > 3, 0, g + zeros({}, kGpu)); });
  y.sum().backward();
  CHECK(log.is_cpu());
  CHECK(equal(x.grad().cpu(), full({3}, 2.f)));
  CHECK_THROWS_WITH_AS(
      [&] {
        const Tensor z = x * 2;
        z.register_hook([](const Tensor& g) { return g + ones({3}); });
        z.sum().backward();
      }(),
      doctest::Contains("Expected all tensors to be on the same device"), Error);
}
