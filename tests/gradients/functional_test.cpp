// autograd::functional and gradcheck: PyTorch's values and error texts.
#include <tenon/tenon.h>

#include <doctest/doctest.h>

using namespace tenon;
using namespace tenon::autograd::functional;
using autograd::gradcheck;
using autograd::GradcheckError;
using autograd::gradgradcheck;
using autograd::Tensors;

namespace {

Tensor doubles(const std::vector<double>& values, IntArrayRef shape) { return tensor(values, TensorOptions(kDouble)).view(shape); }
const Tensor& matrix() {
  static const Tensor x = doubles({0.5, -1.25, 2.0, 1.5, 0.25, -0.75}, {2, 3});
  return x;
}
const Tensor& vector() {
  static const Tensor y = doubles({0.75, -0.5, 1.25}, {3});
  return y;
}
const Tensor& weights() {
  static const Tensor w = doubles({1, -1, 0.5, 2, 0.25, -3}, {2, 3});
  return w;
}

Tensor rows(const Tensor& x) { return (x.exp() * x).sum(1); }
Tensors two(const Tensors& x) { return {(x[0] * x[1]).sin(), x[0].matmul(x[1]).prod()}; }
Tensor scalar(const Tensors& x) { return (x[0] * x[1]).sin().sum() * x[1].pow(3).sum(); }

void check_values(const Tensor& got, const std::vector<double>& expected) {
  CHECK_FALSE(got.requires_grad());
  const Tensor want = doubles(expected, {static_cast<int64_t>(expected.size())});
  CHECK_MESSAGE(allclose(got.reshape({-1}), want, 1e-13, 1e-14), repr(got));
}

template <typename F>
std::string error_of(F f) {
  try {
    f();
    return "none";
  } catch (const Error& e) {
    return e.msg();
  }
}

}  // namespace

TEST_CASE("functional: products with Jacobians") {
  const auto [value, product] = vjp(rows, matrix(), doubles({1.5, -2}, {2}));
  CHECK(allclose(value, rows(matrix())));
  check_values(product,
               {3.7096228590752887, -0.1074392988225713, 33.25075244518793, -22.408445351690325, -3.2100635417193537, -0.2361832763705074});
  check_values(jvp(rows, matrix(), weights()).second, {13.628292253661215, 22.455428379849486});
  const auto [values, products] = vjp(two, {matrix(), vector()}, {weights(), doubles({2}, {})});
  CHECK(values.size() == 2);
  check_values(products[0],
               {0.7916307164342358, 0.34298155975260897, -0.34446475971683355, 5.896764775197999, -3.6240247084036663, 6.530730968403209});
  check_values(products[1], {12.321283361352155, 2.6694662535833555, -4.46958219658886});
  const Tensors along = jvp(two, {matrix(), vector()}, {weights(), doubles({1, 2, -1}, {3})}).second;
  check_values(along[0],
               {1.1631345273903928, -1.6219262390104359, 1.1015724713770338, 1.2935295503959985, 0.37207412521099836, -1.7754152252774325});
  check_values(along[1], {1.1796875});
}

TEST_CASE("functional: Jacobians") {
  const Tensor j = jacobian(rows, matrix());
  CHECK(j.sizes() == IntArrayRef{2, 2, 3});
  check_values(j, {2.4730819060501923, -0.07162619921504754, 22.16716829679195, 0, 0, 0, 0, 0, 0, 11.204222675845163, 1.6050317708596769,
                   0.1180916381852537});
  const std::vector<Tensors> blocks = jacobian(two, {matrix(), vector()});
  REQUIRE(blocks.size() == 2);
  CHECK(blocks[0][0].sizes() == IntArrayRef{2, 3, 2, 3});
  CHECK(blocks[0][1].sizes() == IntArrayRef{2, 3, 3});
  CHECK(blocks[1][1].sizes() == IntArrayRef{3});
  check_values(blocks[0][1].sum(-1), {0.46525381095615714, -1.0137038993815224, -1.6022872310938674, 0.6467647751979992,
                                      0.24804941680733225, -0.4438538063193581});
  check_values(blocks[1][0].sum(-1), {0.09375, 5.25});
  CHECK(jacobian([](const Tensor& x) { return x * 2; }, zeros({0, 3}, kDouble)).sizes() == IntArrayRef{0, 3, 0, 3});
}

TEST_CASE("functional: Hessians") {
  const auto of_one = [](const Tensor& b) { return (b.exp() * b.prod()).sum(); };
  check_values(hessian(of_one, vector()),
               {-3.6385937785530342, 9.372947895487924, -6.082276171536979, 9.372947895487924, 0.8529337402208914, 7.705152750568601,
                -6.082276171536979, 7.705152750568602, -4.253855479406619});
  const std::vector<Tensors> blocks = hessian(scalar, {matrix(), vector()});
  check_values(blocks[0][0].square().sum(), {14.089838110543562});
  check_values(blocks[1][0].square().sum(), {148.87631295672372});
  CHECK(blocks[1][0].sizes() == IntArrayRef{3, 2, 3});
  check_values(blocks[1][1], {5.8253963791590895, -0.45802799972832875, 1.75972412196279, -0.4580279997283284, -7.751993035411223,
                              -5.1236111651264356, 1.7597241219627908, -5.1236111651264356, -12.138472380664851});
  const Tensor u = doubles({1, 2, -1}, {3});
  const std::vector<double> expected = {21.18957818395979, 3.3736626253611073, 13.581884809006844};
  check_values(vhp(of_one, vector(), u).first, {-2.9127532658377264});
  check_values(vhp(of_one, vector(), u).second, expected);
  check_values(hvp(of_one, vector(), u).second, expected);
  for (const Tensors& products :
       {vhp(scalar, {matrix(), vector()}, {weights(), u}).second, hvp(scalar, {matrix(), vector()}, {weights(), u}).second}) {
    check_values(products[0],
                 {0.27421495861047185, 2.9410875132863543, 5.619121408908121, -4.08265611372817, 5.156440599807085, -9.242505285706066});
    check_values(products[1], {0.4608556470323233, -12.111342974862538, -2.9547868331282707});
  }
}

TEST_CASE("functional: results with a history") {
  const Tensor x = vector().clone().requires_grad_();
  const Tensor j = jacobian([](const Tensor& v) { return v.pow(3); }, x, true);
  CHECK(j.requires_grad());
  j.sum().backward();
  CHECK(allclose(x.grad(), 6 * vector()));
  CHECK_FALSE(jacobian([](const Tensor& v) { return v.pow(3); }, x).requires_grad());
  const NoGradGuard no_grad;  // which functions do not heed
  CHECK(allclose(vjp([](const Tensor& v) { return v.pow(2); }, vector(), ones({3}, kDouble)).second, 2 * vector()));
}

TEST_CASE("functional: PyTorch's error texts") {
  const Tensor &x = matrix(), &y = vector(), &w = weights();
  const auto total = [](const Tensor& a) { return a.sum(); };
  const auto first = [](const Tensors& a) { return a[0].sum(); };
  const auto squares = [](const Tensors& a) { return a[0].square(); };
  const std::string linear =
      "While computing the hessian, found that the jacobian of the user-provided function with respect to input 0 is independent "
      "of the input. This is not allowed in strict mode. You should ensure that your function is twice differentiable and that "
      "the jacobian depends on the inputs (this would be violated by a linear function for example).";
  CHECK(error_of([&] { vjp(rows, x); }) ==
        "The vector v can only be None if the user-provided function returns a single Tensor with a single element.");
  CHECK(error_of([&] { jvp(rows, x); }) ==
        "The vector v can only be None if the input to the user-provided function is a single Tensor with a single element.");
  CHECK(error_of([&] { vjp(rows, x, w); }) == "v has invalid size: should be torch.Size([2]) but got torch.Size([2, 3]).");
  CHECK(error_of([&] { vjp(two, {x, y}, {w}); }) == "v is a tuple of invalid length: should be 2 but got 1.");
  CHECK(error_of([&] {
          vjp(two, {x, y}, {w, w});
        }) == "Entry 1 in v has invalid size: should be torch.Size([]) but got torch.Size([2, 3]).");
  CHECK(error_of([&] {
          vjp(first, {x, y}, {}, false, true);
        }) == "The output of the user-provided function is independent of input 1. This is not allowed in strict mode.");
  CHECK(error_of([&] { vjp([](const Tensor& a) { return a.detach().sum(); }, x, {}, false, true); }) ==
        "Output 0 of the user-provided function does not require gradients. The outputs must be computed in a differentiable "
        "manner from the input when running in strict mode.");
  CHECK(error_of([&] {
          jacobian(first, {x, y}, false, true);
        }) == "Output 0 of the user-provided function is independent of input 1. This is not allowed in strict mode.");
  CHECK(error_of([&] {
          jvp(squares, {x, y}, {x, y}, false, true);
        }) == "The output of the user-provided function is independent of input 1. This is not allowed in strict mode.");
  CHECK(error_of([&] { hessian(total, x, false, true); }) == linear);
  CHECK(error_of([&] { vhp(total, x, x, false, true); }) == linear);
  CHECK(error_of([&] { hessian(rows, x); }) == "The Tensor returned by the function given to hessian should contain a single element");
  CHECK(error_of([&] { hessian([](const Tensors& a) { return Tensors{a[0].sum()}; }, {x}); }) ==
        "The function given to hessian should return a single Tensor");
  CHECK(error_of([&] { jacobian([](const Tensor& a) { return a * 2; }, x.clone().requires_grad_(), true, true); }) ==
        "The jacobian of the user-provided function is independent of input 0. This is not allowed in strict mode when "
        "create_graph=True.");
  CHECK(error_of([&] { hvp([](const Tensor& a) { return a.square().sum(); }, x, x, false, true); }) == "none");
  CHECK(allclose(vjp(first, {x, y}).second[1], zeros({3}, kDouble)));
}

TEST_CASE("gradcheck accepts right gradients and refuses wrong ones") {
  const Tensor x = matrix().clone().requires_grad_(), y = vector().clone().requires_grad_();
  CHECK(gradcheck(two, {x, y}));
  CHECK(gradgradcheck(two, {x, y}));
  CHECK(gradcheck([](const Tensor& a) { return a.t().exp(); }, x));
  CHECK(gradgradcheck([](const Tensor& a) { return a.tanh(); }, x, {weights().clone().requires_grad_()}));
  CHECK(allclose(x, matrix(), 0, 0));  // put back
  CHECK_FALSE(x.grad().defined());

  const Tensor z = doubles({1, 2}, {2}).requires_grad_();
  const auto wrong = [](const Tensor& a) { return a.square().detach() * a; };
  CHECK_FALSE(gradcheck(wrong, z, 1e-6, 1e-5, 1e-3, false));
  const std::string message = error_of([&] { gradcheck(wrong, z); });
  CHECK(message.starts_with("Jacobian mismatch for output 0 with respect to input 0,\nnumerical:tensor([["));
  CHECK(message.ends_with("\nanalytical:tensor([[1., 0.],\n        [0., 4.]], dtype=tenon.float64)\n"));
  CHECK_THROWS_AS(gradgradcheck([](const Tensor& a) { return a * a.detach(); }, z), GradcheckError);
  CHECK(error_of([&] { gradcheck([](const Tensor& a) { return a.square().detach(); }, z); }) ==
        "Numerical gradient for function expected to be zero");
  CHECK(gradcheck([](const Tensor& a) { return (a + 0.5).floor().detach(); }, z));
  CHECK(error_of([&] {
          gradcheck(two, {matrix(), vector()});
        }) == "gradcheck expects at least one input tensor to require gradient, but none of them have requires_grad=True.");
  CHECK(error_of([&] {
          gradcheck(rows, matrix()[0].detach().view({1, 3}).expand({2, 3}).requires_grad_());
        }) ==
        "The 0th input has a dimension with stride 0. gradcheck only supports inputs that are non-overlapping to be able to "
        "compute the numerical gradients correctly. You should call .contiguous on the input before passing it to gradcheck.");
}

TEST_CASE("gradcheck moves the elements of inputs that are not contiguous") {
  const Tensor base = rand({4, 6}, kDouble);
  const Tensor part = base.slice(0, 1, 4, 2).slice(1, 0, 6, 3).detach().requires_grad_();
  const Tensor turned = rand({3, 2}, kDouble).t().detach().requires_grad_();
  const Tensor before = base.clone();
  CHECK(gradcheck([](const Tensors& x) { return x[0] * x[1].slice(1, 0, 2); }, {part, turned}));
  CHECK(equal(base, before));
  CHECK(gradcheck([](const Tensors& x) { return x[0] * 3; }, {zeros({0, 2}, kDouble).requires_grad_()}));
}
