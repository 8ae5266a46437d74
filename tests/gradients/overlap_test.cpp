// Views of tensors that show one place in memory several times: windows that overlap, expanded dims. A view is a function of its
// source's elements, so each place gets the gradient of each element once, through chains of every kind of view. What a chain of
// views shows of a row of numbers says what the gradient must be.
#include <tenon/tenon.h>

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

using namespace tenon;
using autograd::gradcheck;
using autograd::gradgradcheck;

namespace {

const TensorOptions kTracked = TensorOptions(kDouble).requires_grad(true);

struct View {
  const char* name;
  int64_t least_dims;
  Tensor (*of)(const Tensor&);
};

const View kOverlaps[] = {
    {"unfold(0,2,1)", 1, [](const Tensor& x) { return x.unfold(0, 2, 1); }},
    {"unfold(0,3,2)", 1, [](const Tensor& x) { return x.unfold(0, 3, 2); }},
    {"unfold(-1,2,1)", 1, [](const Tensor& x) { return x.unfold(-1, 2, 1); }},
    {"patches", 2, [](const Tensor& x) { return x.unfold(0, 2, 1).unfold(1, 2, 1); }},
    {"as_strided", 1,
     [](const Tensor& x) {
       return x.as_strided({2, 3, 2}, {2, 1, 1}, x.storage_offset());
     }},
    {"expand", 1,
     [](const Tensor& x) {
       return x.unsqueeze(1).expand({-1, 3, -1});
     }},
};

Tensor expanded(const Tensor& x) {
  std::vector<int64_t> sizes(x.sizes().begin(), x.sizes().end());
  sizes.insert(sizes.begin(), 2);
  return x.expand(sizes);
}
Tensor square_diagonal(const Tensor& x) {
  const int64_t side = std::min(x.size(0), x.size(1));
  return einsum("ii...->i...", {x.narrow(0, 0, side).narrow(1, 0, side)});
}

const View kViews[] = {
    {"[1]", 1, [](const Tensor& x) { return x[x.size(0) - 1]; }},
    {"select(-1,0)", 1, [](const Tensor& x) { return x.select(-1, 0); }},
    {"slice", 1, [](const Tensor& x) { return x.slice(0, 1); }},
    {"slice step", 1, [](const Tensor& x) { return x.slice(-1, 0, nullopt, 2); }},
    {"narrow", 1, [](const Tensor& x) { return x.narrow(0, 0, 1); }},
    {"index", 2,
     [](const Tensor& x) {
       return x.index({indexing::None, indexing::Slice(0, 2), indexing::Ellipsis, 0});
     }},
    {"permute", 2, [](const Tensor& x) { return x.movedim(0, -1); }},
    {"transpose", 2, [](const Tensor& x) { return x.transpose(0, 1); }},
    {"mT", 2, [](const Tensor& x) { return x.mT(); }},
    {"diagonal", 2, [](const Tensor& x) { return x.diagonal(); }},
    {"diagonal(-1)", 2, [](const Tensor& x) { return x.diagonal(-1, -1, 0); }},
    {"unsqueeze", 0, [](const Tensor& x) { return x.unsqueeze(-1); }},
    {"squeeze", 0, [](const Tensor& x) { return x.unsqueeze(0).squeeze(); }},
    {"expand", 0, expanded},
    {"unfold", 1, [](const Tensor& x) { return x.unfold(0, x.size(0) > 1 ? 2 : 1, 1); }},
    {"unfold last", 1, [](const Tensor& x) { return x.unfold(-1, 1, 1); }},
    {"split", 1, [](const Tensor& x) { return x.split(1, 0).back(); }},
    {"chunk", 1, [](const Tensor& x) { return x.chunk(2, -1)[0]; }},
    {"unbind", 1, [](const Tensor& x) { return x.unbind(0)[0]; }},
    {"tensor_split", 1, [](const Tensor& x) { return x.tensor_split(2, 0)[0]; }},
    {"flatten", 1, [](const Tensor& x) { return x.flatten(); }},
    {"view_as", 1,
     [](const Tensor& x) {
       return x.unflatten(0, {1, x.size(0)});
     }},
    {"repeat", 1, [](const Tensor& x) { return x.repeat(std::vector<int64_t>(static_cast<size_t>(x.dim()), 2)); }},
    {"einsum", 2, square_diagonal},
};

Tensor numbers(IntArrayRef sizes) {
  int64_t count = 1;
  for (int64_t size : sizes) count *= size;
  return arange(count, kLong).view(sizes);
}

// What `chosen` says of the gradient of (view * weights).sum(): the sum of the weights of each element.
Tensor expected(const Tensor& chosen, const Tensor& weights, const Tensor& of) {
  return zeros(of.numel(), kDouble).index_add(0, chosen.flatten(), weights.flatten()).view(of.sizes());
}

void check_chain(const View& overlap, std::initializer_list<const View*> chain) {
  std::string name = overlap.name;
  const Tensor x = rand({4, 3}, kTracked);
  const Tensor wide = overlap.of(x);
  Tensor view = wide, of_x = overlap.of(numbers(x.sizes())), of_wide = numbers(wide.sizes());
  for (const View* v : chain) {
    name += std::string(".") + v->name;
    if (view.dim() < v->least_dims || view.numel() == 0) return;
    view = v->of(view);
    of_x = v->of(of_x);
    of_wide = v->of(of_wide);
  }
  CAPTURE(name);
  const Tensor weights = arange(1, view.numel() + 1, kDouble).view(view.sizes()).requires_grad_();
  const std::vector<Tensor> g = autograd::grad({(view * weights).sum()}, {x, wide}, {}, true, true);
  CHECK(equal(g[0], expected(of_x, weights.detach(), x)));
  CHECK(equal(g[1], expected(of_wide, weights.detach(), wide)));
  // The gradient of the gradient: a weight gets the direction at the element that it weighs.
  const Tensor direction = rand(x.sizes(), kDouble);
  const Tensor back = autograd::grad({(g[0] * direction).sum()}, {weights})[0];
  CHECK(equal(back, direction.flatten().index_select(0, of_x.flatten()).view(weights.sizes())));
}

}  // namespace

TEST_CASE("views of overlapping views pass each element's gradient on once") {
  manual_seed(1);
  size_t turn = 0;
  const auto next_overlap = [&] { return kOverlaps[turn++ % std::size(kOverlaps)]; };
  for (const View& overlap : kOverlaps) {
    for (const View& view : kViews) check_chain(overlap, {&view});
  }
  for (const View& first : kViews) {
    for (const View& second : kViews) check_chain(next_overlap(), {&first, &second});
  }
  std::mt19937 random(7);
  const auto any = [&] { return &kViews[random() % std::size(kViews)]; };
  for (int i = 0; i < 100; ++i) {
    const View *first = any(), *second = any(), *third = any();
    check_chain(next_overlap(), {first, second, third});
  }
}

TEST_CASE("gradcheck of every kind of view") {
  manual_seed(6);
  const Tensor x = rand({4, 3}, kTracked);
  const auto check = [&](const View& view, const View* before) {
    CAPTURE(std::string(view.name));
    CAPTURE(std::string(before ? before->name : ""));
    if ((before ? before->of(x) : x).dim() < view.least_dims) return;
    const auto call = [&](const autograd::Tensors& v) { return view.of(before ? before->of(v[0]) : v[0]).square(); };
    CHECK(gradcheck(call, {x}));
    if (!before) CHECK(gradgradcheck(call, {x}));
  };
  for (const View& view : kOverlaps) check(view, nullptr);
  for (const View& view : kViews) {
    check(view, nullptr);
    for (const View& overlap : kOverlaps) check(view, &overlap);
  }
}

// As in PyTorch: as_strided sees memory, in which the elements at one place have equal parts.
TEST_CASE("as_strided of an overlapping view divides a place's gradient among its elements") {
  const Tensor x = arange(4, kTracked);
  const auto of_view = [&](const Tensor& view, IntArrayRef sizes, IntArrayRef strides) {
    return autograd::grad({view.as_strided(sizes, strides).sum()}, {x, view});
  };
  std::vector<Tensor> g = of_view(x.unfold(0, 2, 1), {2}, {1});
  CHECK(equal(g[0], tensor({1., 1., 0., 0.}, kDouble)));
  CHECK(equal(g[1], tensor({{1., .5}, {.5, 0.}, {0., 0.}}, kDouble)));
  g = of_view(x.narrow(0, 0, 2).expand({4, 2}), {2}, {1});
  CHECK(equal(g[0], tensor({1., 1., 0., 0.}, kDouble)));
  CHECK(equal(g[1], full({4, 2}, .25, kDouble)));
  g = of_view(x.unfold(0, 3, 1), {3, 2}, {1, 1});
  CHECK(equal(g[0], tensor({1., 2., 2., 1.}, kDouble)));
  CHECK(allclose(g[1].sum(), tensor(6., kDouble)));
}

TEST_CASE("a leaf that overlaps gets its gradient by element, and so does a view that retains it") {
  const Tensor leaf = arange(4, kDouble).unfold(0, 2, 1).requires_grad_();
  leaf.t()[1].square().sum().backward();
  CHECK(equal(leaf.grad(), tensor({{0., 2.}, {0., 4.}, {0., 6.}}, kDouble)));
  const Tensor x = arange(4, kTracked), view = x.unfold(0, 2, 1);
  view.retain_grad();
  view.slice(0, 1).square().sum().backward();
  CHECK(equal(view.grad(), tensor({{0., 0.}, {2., 4.}, {4., 6.}}, kDouble)));
  CHECK(equal(x.grad(), tensor({0., 2., 8., 6.}, kDouble)));
}

TEST_CASE("operations on overlapping views are differentiated twice") {
  using Formula = Tensor (*)(const Tensor&, const Tensor&);  // of patches [2, 2, 3, 2] and weights [6]
  const Formula formulas[] = {
      [](const Tensor& p, const Tensor& w) {
        return p[1].matmul(w.view({2, 3}));
      },
      [](const Tensor& p, const Tensor& w) {
        return w.view({3, 2}).matmul(p.select(1, 0).mT());
      },
      [](const Tensor& p, const Tensor& w) {
        return nn::functional::linear(p.flatten(2), w.view({1, 6}));
      },
      [](const Tensor& p, const Tensor& w) { return p.flatten(1).t() * w.sum() + p.flatten(1).t().exp(); },
      [](const Tensor& p, const Tensor& w) {
        return einsum("abcd,cd->ab", {p, w.view({3, 2})});
      },
      [](const Tensor& p, const Tensor& w) {
        return cat({p.select(3, 0), p.select(3, 1)}, 1).softmax(-1) * w[0];
      },
      [](const Tensor& p, const Tensor& w) {
        return p.amax({2, 3}) * w[1];
      },
      [](const Tensor& p, const Tensor& w) {
        return p.permute({2, 3, 0, 1}).expand({2, 3, 2, 2, 2}).square() * w[2];
      },
  };
  manual_seed(2);
  for (const Formula& formula : formulas) {
    CAPTURE(&formula - formulas);
    const auto call = [&](const autograd::Tensors& v) { return formula(v[0].unfold(0, 3, 1).unfold(1, 2, 1), v[1]); };
    const std::vector<Tensor> at = {rand({4, 3}, kTracked), rand({6}, kTracked)};
    CHECK(gradcheck(call, at));
    CHECK(gradgradcheck(call, at));
  }
}

// If elements share a place, the last one written stays: the others have no gradient.
TEST_CASE("writes into views of overlapping views are differentiated") {
  using Formula = Tensor (*)(const Tensor&, const Tensor&);  // of [4] and [3, 2]
  const Formula formulas[] = {
      [](const Tensor& y, const Tensor& v) { return y.unfold(0, 2, 1).copy_(v), y; },
      [](const Tensor& y, const Tensor& v) { return y.unfold(0, 2, 1).mul_(v), y.square(); },
      [](const Tensor& y, const Tensor& v) { return y.unfold(0, 2, 1)[1].mul_(v[0]), y.square(); },
      [](const Tensor& y, const Tensor& v) { return y.unfold(0, 2, 1).t().mul_(v.t()), y.square(); },
      [](const Tensor& y, const Tensor& v) { return y.unfold(0, 2, 1).select(1, 1).copy_(v.select(1, 0)), y.exp(); },
      [](const Tensor& y, const Tensor& v) {
        const Tensor w = y.unfold(0, 2, 1), part = w.t();
        w.mul_(v);
        return part.square() + w.t();
      },
      [](const Tensor& y, const Tensor& v) {
        const Tensor w = y.unfold(0, 2, 1);
        y.mul_(v.sum());
        return w[1] * w;
      },
      [](const Tensor& y, const Tensor& v) {
        const Tensor w = y.unfold(0, 2, 1);
        w.index_put_({tensor({0, 2})}, v.narrow(0, 0, 2));
        return w.square();
      },
      [](const Tensor& y, const Tensor& v) {
        y.unfold(0, 2, 1).index_put_({tensor({0, 1})}, v.narrow(0, 0, 2));
        return y.square();
      },
      [](const Tensor& y, const Tensor& v) {
        return as_strided_scatter(y, v, {3, 2}, {1, 1});
      },
      [](const Tensor& y, const Tensor& v) {  // a tensor that is no view, though it overlaps
        const Tensor w = zeros({4}, kDouble).unfold(0, 2, 1).detach();
        w.copy_(v);
        return w * w.t().matmul(w)[0] + y.sum();
      },
  };
  manual_seed(3);
  for (const Formula& formula : formulas) {
    CAPTURE(&formula - formulas);
    const auto call = [&](const autograd::Tensors& v) { return formula(v[0] * 1, v[1] * 1); };
    const std::vector<Tensor> at = {rand({4}, kTracked), rand({3, 2}, kTracked)};
    CHECK(gradcheck(call, at));
    CHECK(gradgradcheck(call, at));
  }
}
