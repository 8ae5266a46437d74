// Where the gradient of an operation is a convention, or history decides what a gradient is: PyTorch's answers.
#include <tenon/tenon.h>

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

using namespace tenon;

namespace {

const TensorOptions kTracked = TensorOptions(kDouble).requires_grad(true);
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

Tensor leaf(const std::vector<double>& values) { return tensor(values, TensorOptions(kDouble)).requires_grad_(); }
Tensor number(const std::vector<double>& values) { return tensor(values, TensorOptions(kDouble)); }

Tensor gradient(const Tensor& y, const Tensor& x) { return autograd::grad({y}, {x}, {}, true)[0]; }

}  // namespace

TEST_CASE("the gradient of an element chosen among all is shared by those that equal it, nan or not") {
  const Tensor x = leaf({1, kNan, 3}), y = leaf({kNan, 2, kNan, 0}), z = leaf({2, 2, 1});
  CHECK(equal(gradient(x.max(), x), number({0, 1, 0})));
  CHECK(equal(gradient(x.min(), x), number({0, 1, 0})));
  CHECK(equal(gradient(x.median(), x), number({0, 1, 0})));
  CHECK(equal(gradient(y.max(), y), number({.5, 0, .5, 0})));
  CHECK(equal(gradient(y.median(), y), number({.5, 0, .5, 0})));
  CHECK(equal(gradient(y.nanmedian(), y), number({0, 0, 0, 1})));
  CHECK(equal(gradient(z.max(), z), number({.5, .5, 0})));
  CHECK(equal(gradient(z.median(), z), number({.5, .5, 0})));
  CHECK(equal(gradient(z.nanmedian(), z), number({.5, .5, 0})));
  CHECK(gradient(x.amax(0), x).isnan().all().item<bool>());  // there PyTorch divides by no equal element
  CHECK(equal(gradient(std::get<0>(x.max(0)), x), number({0, 1, 0})));
}

TEST_CASE("what lies between two bounds, at one of them, at both, beyond ones that are the wrong way round, or is nan") {
  struct Row {
    double x, min, max, of_x, of_min, of_max;
  };
  const std::vector<Row> rows = {{-1, 0, 1, 0, 1, 0},    {0, 0, 1, .5, .5, 0},  {.5, 0, 1, 1, 0, 0},    {1, 0, 1, .5, 0, .5},
                                 {2, 0, 1, 0, 0, 1},     {-1, 0, 0, 0, 1, 0},   {0, 0, 0, 1, 0, 0},     {1, 0, 0, 0, 0, 1},
                                 {0, 1, 0, 0, 0, 1},     {2, 1, 0, 0, 0, 1},    {kNan, 0, 1, 1, 0, 0},  {kNan, 1, 0, 1, 0, 1},
                                 {-1, kNan, 0, 1, 0, 0}, {1, kNan, 0, 0, 0, 0}, {-1, 0, kNan, 0, 0, 0}, {1, 0, kNan, 1, 0, 0}};
  const auto column = [&](double Row::*field) {
    std::vector<double> values;
    for (const Row& row : rows) values.push_back(row.*field);
    return values;
  };
  const Tensor x = leaf(column(&Row::x)), min = leaf(column(&Row::min)), max = leaf(column(&Row::max));
  const std::vector<Tensor> gradients = autograd::grad({clamp(x, optional<Tensor>(min), optional<Tensor>(max)).sum()}, {x, min, max});
  CHECK(equal(gradients[0], number(column(&Row::of_x))));
  CHECK(equal(gradients[1], number(column(&Row::of_min))));
  CHECK(equal(gradients[2], number(column(&Row::of_max))));
}

TEST_CASE("a retained gradient adds up over backward passes") {
  const Tensor x = leaf({1, 2}), y = x * 2;
  y.retain_grad();
  y.sum().backward({}, true);
  const Tensor first = y.grad();
  y.square().sum().backward();
  CHECK(equal(first, number({1, 1})));
  CHECK(equal(y.grad(), number({5, 9})));
}

TEST_CASE("a leaf that no longer requires grad gets none") {
  const Tensor x = leaf({1, 2}), w = leaf({3, 4}), y = x * w;
  x.requires_grad_(false);
  y.sum().backward();
  CHECK(!x.grad().defined());
  CHECK(equal(w.grad(), number({1, 2})));
}

TEST_CASE("binary_cross_entropy pairs targets with elements whatever dims of size 1 they have") {
  const std::vector<double> p = {.1, .2, .3, .9}, t = {0, 1, 0, 1};
  const Tensor x = leaf(p), same = number(t);
  const Tensor loss = binary_cross_entropy(x, same), g = gradient(loss, x);
  struct Shapes {
    std::vector<int64_t> x, target;
  };
  for (const Shapes& s : {Shapes{{4, 1}, {4}}, {{4}, {4, 1}}, {{4, 1}, {1, 4}}, {{2, 1, 2}, {2, 2}}}) {
    const Tensor v = number(p).view(s.x).requires_grad_(), target = same.view(s.target);
    const Tensor each = binary_cross_entropy(v, target, {}, Reduction::None);
    CHECK(each.sizes() == v.sizes());
    CHECK(equal(each.mean(), loss.detach()));
    CHECK(equal(gradient(binary_cross_entropy(v, target), v).flatten(), g));
  }
  const Tensor v = number(p).view({4, 1}).requires_grad_(), target = number({.2, .4, .6, .8}).requires_grad_();
  CHECK(autograd::gradcheck([](const autograd::Tensors& in) { return binary_cross_entropy(in[0], in[1]); }, {v, target}));
  CHECK(autograd::gradcheck([](const autograd::Tensors& in) { return binary_cross_entropy(in[0], in[1]); },
                            {rand({3, 2}, kTracked) * .8 + .1, (rand({2}, kTracked) * .8 + .1)}));
  CHECK_THROWS_AS(binary_cross_entropy(v, number({.1, .2, .3})), Error);
  CHECK_THROWS_AS(binary_cross_entropy(x, rand({3, 4}, kDouble)), Error);
  CHECK_THROWS_AS(binary_cross_entropy(v, same, same), Error);  // weights are no targets: [4] is no [4, 1]
}

TEST_CASE("tensor_split's and the unsafe splits' results may be written, those of split may not, nor views of them") {
  const Tensor x = rand({4, 3}, kTracked) * 1;
  CHECK(x.tensor_split(2)[0].grad_fn()->name() == "SliceBackward0");
  x.tensor_split(2)[0].mul_(2);
  x.tensor_split(std::vector<int64_t>{1})[1].mul_(2);
  unsafe_chunk(x, 2)[0].mul_(2);
  unsafe_split(x, 2)[0].mul_(2);
  x.hsplit(3)[0].mul_(2);
  CHECK_THROWS_WITH_AS(x.chunk(2)[0].mul_(2), doctest::Contains("Output 0 of Split is a view and is being modified inplace."), Error);
  CHECK_THROWS_WITH_AS(x.chunk(2)[0][1].mul_(2), doctest::Contains("Output 0 of Select is a view and is being modified inplace."), Error);
}

TEST_CASE("views of a tensor without grad keep to the rules for their kind") {
  const char* several = "This view is the output of a function that returns multiple views.";
  const char* no_grad_mode = "A view was created in no_grad mode and is being modified inplace with grad mode enabled. Given that";
  const auto make = [](int kind, const Tensor& x) {
    switch (kind) {
      case 0: return x.split(2)[0];
      case 1: return x.chunk(2)[0];
      case 2: return x.unbind()[0];
      case 3: return x.tensor_split(2)[0];
      case 4: return x[0];
      default: return x.unsafe_split(2)[0];
    }
  };
  for (int kind = 0; kind < 6; ++kind) {
    for (const bool grad_mode : {true, false}) {
      CAPTURE(kind);
      CAPTURE(grad_mode);
      const Tensor x = rand({4, 4});
      const Tensor view = [&] {
        const AutoGradMode mode(grad_mode);
        return make(kind, x);
      }();
      view.mul_(2);  // which is not recorded
      const Tensor factor = rand(view.sizes()).requires_grad_();
      const char* refused = kind == 5 || (grad_mode && kind > 2) ? nullptr : grad_mode ? several : no_grad_mode;
      if (refused) {
        CHECK_THROWS_WITH_AS(view.mul_(factor), doctest::Contains(refused), Error);
        x.mul_(rand({4, 4}).requires_grad_());  // the view would have a history now
        CHECK_THROWS_AS(view.sum().backward(), Error);
      } else {
        view.mul_(factor);
        CHECK(view.requires_grad());
        CHECK(x.requires_grad() == (kind != 5));
      }
    }
  }
}

TEST_CASE("a view that may not be written has no history once its memory was written") {
  const auto refuses = [](const Tensor& view, const char* text) {
    CHECK_THROWS_WITH_AS(view.grad_fn(), doctest::Contains(text), Error);
    CHECK_THROWS_WITH_AS(view * 2, doctest::Contains(text), Error);
  };
  const char* several = "Output 0 of Split is a view and its base or another view of its base has been modified inplace.";
  {
    const Tensor x = rand({4}, kTracked) * 1, part = x.chunk(2)[0], slice = x.slice(0, 1);
    x.mul_(2);
    refuses(part, several);
    CHECK((slice * 2).requires_grad());
  }
  const Tensor x = rand({4}, kTracked) * 1, part = x.chunk(2)[0];
  const Tensor apart = [&] {
    const NoGradGuard no_grad;
    return x[0];
  }();
  CHECK((part * apart).requires_grad());
  {
    const NoGradGuard no_grad;
    x.mul_(2);
  }
  refuses(part, several);
  refuses(apart, "A view was created in no_grad mode and its base or another view of its base has been modified inplace");
}

TEST_CASE("a write of no element is a write") {
  const Tensor w = rand({4}, kTracked), none = empty({0}, kLong);
  CHECK_THROWS_AS(w.index_put_({none}, 1), Error);
  CHECK_THROWS_AS(w.index_put_({w.detach() > 2}, rand({0}, kDouble)), Error);
  CHECK_THROWS_AS(w.slice(0, 0, 0).mul_(2), Error);
  using Write = void (*)(const Tensor& y, const Tensor& z);
  const Write writes[] = {
      [](const Tensor& y, const Tensor& z) { y.slice(0, 0, 0).copy_(z); },
      [](const Tensor& y, const Tensor& z) { y.index_put_({empty({0}, kLong)}, z); },
      [](const Tensor& y, const Tensor& z) { y.narrow(0, 0, 1).expand({2}).slice(0, 0, 0).mul_(z); },
  };
  for (const Write& write : writes) {
    CAPTURE(&write - writes);
    const Tensor z = rand({0}, kTracked), y = w * 1;
    write(y, z);
    y.sum().backward();
    CHECK(equal(w.grad(), ones({4}, kDouble)));
    REQUIRE(z.grad().defined());
    CHECK(z.grad().sizes() == z.sizes());
    w.mutable_grad() = Tensor();
  }
  const Tensor pair = leaf({1, 2}), expanded = pair.mean().expand({3});
  expanded.index_put_({expanded > 9}, number({5})[0], true);
  CHECK(equal(gradient(expanded.sum(), pair), number({1.5, 1.5})));
}

TEST_CASE("a constant derivative has a derivative where PyTorch's has one") {
  const Tensor x = rand({1, 1, 3, 3}, kTracked), w = rand({1, 1, 2, 2}, kDouble);
  for (const bool transposed : {false, true}) {
    const Tensor y = transposed ? conv_transpose2d(x, w) : conv2d(x, w);
    const Tensor g = autograd::grad({y.sum()}, {x}, {}, true, true)[0];
    REQUIRE(g.requires_grad());
    CHECK(equal(autograd::grad({g.square().sum()}, {x})[0], zeros_like(x.detach())));
  }
  const Tensor m = rand({3, 3}, kTracked);
  CHECK(!autograd::grad({m.matmul(rand({3, 3}, kDouble)).sum()}, {m}, {}, true, true)[0].requires_grad());
}

TEST_CASE("dims of a number") {
  const Tensor x = rand({}, kTracked), v = x.movedim(0, 0);
  CHECK(autograd::grad({v * 3 + x * 2}, {v})[0].item<double>() == 3);
  CHECK_THROWS_AS(x.roll(1, -1), IndexError);
  CHECK_THROWS_AS(x.repeat_interleave(2, -1), IndexError);
  CHECK_THROWS_AS(x.repeat_interleave(tensor(2), 0), IndexError);
  CHECK(x.repeat_interleave(2).numel() == 2);
}

TEST_CASE("dist is differentiated as a norm, at no distance too") {
  const Tensor a = leaf({1, 2}), b = leaf({1, 2});
  CHECK(equal(gradient(dist(a, b), a), number({0, 0})));
  for (const double p : {0.5, 1., 2., 3., std::numeric_limits<double>::infinity()}) {
    CAPTURE(p);
    CHECK(autograd::gradcheck([p](const autograd::Tensors& v) { return dist(v[0], v[1], p); },
                              {rand({3, 2}, kTracked) + 1, rand({2}, kTracked)}));
  }
  const Tensor moved = a * 1, d = dist(moved, b);
  moved.mul_(2);
  CHECK_THROWS_WITH_AS(d.backward(), doctest::Contains("modified by an inplace operation"), Error);
}

TEST_CASE("what is copied or added by index is saved only for its own gradient") {
  const Tensor index = tensor({0, 2, 1}), v = rand({3, 2}, kDouble);
  const Tensor a = rand({3, 2}, kTracked) * 1;
  a.index_copy_(0, index, v);
  a.index_add_(0, index, v);
  v.cumsum_(0);
  a.sum().backward();
}
