// autograd::Function, InferenceMode, and the root of a backward pass that an optimizer's step evaluates.
#include <doctest/doctest.h>
#include <tenon/tenon.h>

#include <functional>

using namespace tenon;
using autograd::AutogradContext;
using autograd::tensor_list;
using autograd::Variable;
using autograd::variable_list;

namespace {

std::string message(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

struct Cube : autograd::Function<Cube> {
  static Tensor forward(AutogradContext* ctx, Tensor x, double factor) {
    ctx->save_for_backward({x});
    ctx->saved_data["factor"] = factor;
    CHECK(!GradMode::is_enabled());
    return x.pow(3) * factor;
  }
  static tensor_list backward(AutogradContext* ctx, tensor_list grads) {
    return {grads[0] * 3 * ctx->get_saved_variables()[0].square() * ctx->saved_data["factor"].toDouble(), Tensor()};
  }
};

struct ProductAndSum : autograd::Function<ProductAndSum> {
  static variable_list forward(AutogradContext* ctx, const Variable& a, const Variable& b) {
    ctx->save_for_backward({a, Tensor(), b});
    return {a * b, a + b};
  }
  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const variable_list saved = ctx->get_saved_variables();
    CHECK(!saved[1].defined());
    return {ctx->needs_input_grad(0) ? grads[0] * saved[2] + grads[1] : Tensor(),
            ctx->needs_input_grad(1) ? grads[0] * saved[0] + grads[1] : Tensor()};
  }
};

// The gradient of the identity is whatever backward says.
struct Reversed : autograd::Function<Reversed> {
  static Tensor forward(AutogradContext*, const Tensor& x) { return x; }
  static tensor_list backward(AutogradContext*, tensor_list grads) { return {-grads[0]}; }
};

struct Doubled : autograd::Function<Doubled> {
  static Tensor forward(AutogradContext* ctx, Tensor x) {
    x.mul_(2);
    ctx->mark_dirty({x});
    return x;
  }
  static tensor_list backward(AutogradContext*, tensor_list grads) { return {grads[0] * 2}; }
};

struct Sorted : autograd::Function<Sorted> {
  static variable_list forward(AutogradContext* ctx, const Tensor& x, bool materialize) {
    Tensor rest = x * 2;
    ctx->mark_non_differentiable({rest});
    ctx->set_materialize_grads(materialize);
    return {x.argsort(), rest, x + 1, Tensor()};
  }
  static tensor_list backward(AutogradContext*, tensor_list grads) {
    REQUIRE(grads.size() == 4);
    given = {grads[0].defined(), grads[1].defined(), grads[2].defined(), grads[3].defined()};
    return {grads[2].defined() ? grads[2] * 5 : Tensor(), Tensor(), Tensor()};
  }
  static inline std::vector<bool> given;
};

template <int kCount, int kWrong>
struct Bad : autograd::Function<Bad<kCount, kWrong>> {
  static Tensor forward(AutogradContext*, const Tensor& x, int) { return x * 1; }
  static tensor_list backward(AutogradContext*, tensor_list grads) {
    tensor_list result(kCount);
    if (kWrong >= 0) result[kWrong] = kWrong == 0 ? ones({7}) : grads[0];
    return result;
  }
};

Tensor leaf(std::vector<double> values) { return tensor(ArrayRef<double>(values), TensorOptions(kDouble)).requires_grad_(); }

}  // namespace

TEST_CASE("a Function's backward is the gradient, and is differentiated again") {
  const Tensor x = leaf({1, 2, 3});
  const Tensor y = Cube::apply(x, 2.0);
  CHECK(y.grad_fn()->name() == "torch::autograd::CppNode<(anonymous namespace)::Cube>");
  const Tensor g = autograd::grad({y.sum()}, {x}, {}, true, true)[0];
  CHECK(equal(g, 6 * x.square()));
  CHECK(equal(autograd::grad({g.sum()}, {x})[0], 12 * x));
  CHECK_FALSE(Cube::apply(x.detach(), 2.0).requires_grad());
  const NoGradGuard no_grad;
  CHECK_FALSE(Cube::apply(x, 2.0).requires_grad());
}

TEST_CASE("several arguments and results, one argument twice, gradients of some") {
  const Tensor x = leaf({1, 2, 3}), y = leaf({4, 5, 6});
  variable_list r = ProductAndSum::apply(x, y);
  (r[0].sum() + 10 * r[1].sum()).backward();
  CHECK(equal(x.grad(), y + 10));
  CHECK(equal(y.grad(), x + 10));
  x.mutable_grad() = Tensor();
  r = ProductAndSum::apply(x, x);
  r[0].sum().backward();
  CHECK(equal(x.grad(), 2 * x));
  x.mutable_grad() = Tensor();
  ProductAndSum::apply(x, y.detach())[0].sum().backward();
  CHECK(equal(x.grad(), y));
}

TEST_CASE("an argument returned as it is, and one written in place") {
  const Tensor x = leaf({1, 2});
  Tensor y = Reversed::apply(x);
  CHECK_FALSE(y.is_same(x));
  y.sum().backward();
  CHECK(equal(x.grad(), -ones({2}, kDouble)));
  CHECK(message([&] { Reversed::apply(x).mul_(2); }).find("created inside a custom Function") != std::string::npos);
  x.mutable_grad() = Tensor();
  Tensor z = x * 3;
  const Tensor d = Doubled::apply(z);
  CHECK(d.is_same(z));
  CHECK(z._version() == 2);  // the write, and that it is said
  (z * z).sum().backward();
  CHECK(equal(x.grad(), 2 * 6 * x * 6));
  CHECK(message([&] { Doubled::apply(x); }).find("a leaf Variable that requires grad has been used in an in-place operation.") == 0);
}

TEST_CASE("results without a gradient, and gradients that do not come") {
  const Tensor x = leaf({3, 1, 2});
  for (bool materialize : {true, false}) {
    x.mutable_grad() = Tensor();
    const variable_list r = Sorted::apply(x, materialize);
    CHECK_FALSE(r[0].requires_grad());
    CHECK_FALSE(r[1].requires_grad());
    CHECK(r[2].requires_grad());
    CHECK_FALSE(r[3].defined());
    r[2].sum().backward();
    CHECK(Sorted::given == std::vector<bool>{materialize, materialize, true, false});
    CHECK(equal(x.grad(), full({3}, 5, kDouble)));
  }
}

TEST_CASE("a Function that returns the wrong gradients") {
  const Tensor x = leaf({1, 2});
  const auto run = [&](auto bad) { return message([&] { decltype(bad)::apply(x, 1).sum().backward(); }); };
  CHECK(run(Bad<1, -1>()).find("returned an incorrect number of gradients (expected 2, got 1)") != std::string::npos);
  CHECK(run(Bad<4, -1>()) == "no error");
  CHECK(run(Bad<4, 3>()).find("returned an incorrect number of gradients (expected 2, got 4)") != std::string::npos);
  CHECK(run(Bad<2, 1>())
            .find("returned a gradient different from None at position 2, but the corresponding forward input was not "
                  "a Variable") != std::string::npos);
  CHECK(run(Bad<2, 0>()).find("returned an invalid gradient at index 0 - got [7] but expected shape compatible with [2]") !=
        std::string::npos);
}

TEST_CASE("what a Function saved is released, and watched") {
  const Tensor x = leaf({1, 2});
  const Tensor y = Cube::apply(x, 1.0).sum();
  y.backward({}, true);
  y.backward();
  CHECK(equal(x.grad(), 6 * x.square()));
  CHECK(message([&] { y.backward(); }).find("Trying to backward through the graph a second time") == 0);
  Tensor z = x * 1;
  const Tensor w = Cube::apply(z, 1.0);
  z.add_(1);
  CHECK(message([&] { w.sum().backward(); }).find("modified by an inplace operation") != std::string::npos);
  const Tensor free = Reversed::apply(x).sum();  // saved nothing: may run twice
  free.backward();
  free.backward();
}

TEST_CASE("inference tensors that require grad are constants elsewhere, and views made in inference mode are known as such") {
  Tensor c, v, view;
  const Tensor a = leaf({1, 2}) * 1, ones_ = ones({2}, kDouble);
  {
    const InferenceMode inference;
    c = ones({2}, kDouble).requires_grad_();
    v = c.view({2, 1});
    view = a.view({2, 1});
  }
  for (const Tensor& x : {v, c.view({1, 2})}) {
    CHECK_FALSE(x.requires_grad());
    CHECK_FALSE(x.is_view());
    CHECK(x.is_inference());
    CHECK(x.is_leaf());
  }
  CHECK_FALSE((c * c).requires_grad());
  CHECK_FALSE((c * c).is_inference());
  CHECK(message([&] { a.mul_(c); }).find("Inference tensors cannot be saved for backward.") == 0);
  CHECK_FALSE(view.is_inference());
  CHECK(message([&] { view.add_(2); }).find("A view was created in inference mode and is being modified inplace in normal mode.") == 0);
  a.add_(1);
  CHECK(message([&] {
          view.grad_fn();
        }).find("A view was created in inference mode and its base or another view of its base has been modified inplace") == 0);
}

TEST_CASE("a view of what a Function returned as it was may not be written") {
  CHECK(message([&] { Reversed::apply(leaf({1, 2})).slice(0, 1).mul_(2); }).find("created inside a custom Function") != std::string::npos);
}

TEST_CASE("inference tensors") {
  const Tensor w = leaf({1, 2}), data = tensor({3., 4.}, kDouble);
  Tensor t, view;
  {
    const InferenceMode inference;
    CHECK(InferenceMode::is_enabled());
    CHECK_FALSE(GradMode::is_enabled());
    t = data * 2;
    CHECK(t.is_inference());
    CHECK_FALSE((w * t).requires_grad());
    t.add_(1);
    view = t.slice(0, 0, 1);
    CHECK(data.view({2, 1}).is_inference() == false);
    const InferenceMode again(false);
    CHECK(GradMode::is_enabled());
    CHECK_FALSE((data * 2).is_inference());
  }
  CHECK_FALSE(InferenceMode::is_enabled());
  CHECK(view.is_inference());
  CHECK(t.detach().is_inference());
  CHECK_FALSE(t.clone().is_inference());
  CHECK(equal(t + 1, tensor({8., 10.}, kDouble)));
  CHECK(message([&] { t.add_(1); }).find("Inplace update to inference tensor outside InferenceMode is not allowed.") == 0);
  CHECK(message([&] { t._version(); }).find("Inference tensors do not track version counter.") == 0);
  CHECK(message([&] { t.requires_grad_(); }).find("Setting requires_grad=True on inference tensor outside InferenceMode") == 0);
  CHECK(
      message([&] { w* t; })
          .find(
              "Inference tensors cannot be saved for backward. Please do not use Tensors created in inference mode in computation tracked "
              "by "
              "autograd. To work around this, you can make a clone to get a normal tensor and use it in autograd, or use `torch.no_grad()` "
              "instead of `torch.inference_mode()`.") == 0);
  CHECK((w + t).requires_grad());
  CHECK((w * t.clone()).requires_grad());
}

TEST_CASE("an optimizer's step evaluates the loss with the parameters, in one plan") {
  Tensor w = leaf({1, 2, 3});
  const Tensor x = tensor({4., 5., 6.}, kDouble);
  optim::SGD sgd({w}, 0.1);
  for (int i = 0; i < 4; ++i) {
    sgd.zero_grad();
    const Tensor loss = (w * x).exp().log().sum();
    loss.backward();
    clear_kernel_history();
    sgd.step();
    const size_t launches = kernel_history().size();
    loss.item<double>();
    CHECK(launches > 0);
    CHECK(kernel_history().size() == launches);
  }
}
