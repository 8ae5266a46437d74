// Indices on a device: kernels check them, the host waits for none of them, and a wrong one is an error at the next call that waits.
#include <tenon/tenon.h>

#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "cuda/simulator.h"

using namespace tenon;

namespace {

const Device kGpu("cuda:0");

// On the device, and nothing shows what is in it.
Tensor unknown(const Tensor& index) { return index.to(kDouble).to(kGpu).to(kLong); }
Tensor table() { return arange(20, kFloat).reshape({5, 4}); }

bool same(const Tensor& a, const Tensor& b) { return a.sizes() == b.sizes() && equal(a.cpu(), b.cpu()); }

// 0, which is known some kernels after x is.
Tensor zero_after_kernels(Tensor x) {
  for (int k = 0; k < 8; ++k) x = x.cumsum(k % 2) / 8;
  return (x.sum() * 0).to(kLong);
}

long waits() {
  const test::Simulator& sim = test::Simulator::get();
  return sim ? sim.calls("cuStreamSynchronize") + sim.calls("cuEventSynchronize") + sim.calls("cuMemcpyDtoHAsync_v2") : 0;
}

// f(x, i) of the table and an index; `wrong` is out of range, and what the error says of it.
struct Case {
  const char* name;
  std::function<Tensor(const Tensor&, const Tensor&)> f;
  Tensor right;
  Tensor wrong;
  const char* message;
};
std::vector<Case> cases() {
  const auto flat = [](const Tensor& x) { return x.reshape({-1}); };
  const Tensor right = tensor({0, 4, 2}), wrong = tensor({0, 7, 2});
  return {
      {"index_select", [](const Tensor& x, const Tensor& i) { return x.index_select(0, i) * 2; }, right, wrong,
       "index 7 is out of bounds for dimension 0 with size 5 (index_select on cuda:0)"},
      {"embedding", [](const Tensor& x, const Tensor& i) { return embedding(x, i); }, right, wrong,
       "index 7 is out of bounds for dimension 0 with size 5"},
      {"subscript", [](const Tensor& x, const Tensor& i) { return x.index({i}); }, tensor({-1, -5, 4}), tensor({1, -6, 4}),
       "index -6 is out of bounds for dimension 0 with size 5"},
      {"gather",
       [](const Tensor& x, const Tensor& i) {
         return x.gather(1, i.reshape({3, 1}));
       },
       tensor({3, 0, 1}), tensor({3, 0, 4}), "index 4 is out of bounds for dimension 1 with size 4"},
      {"a negative one where none counts from the end",
       [](const Tensor& x, const Tensor& i) {
         return x.gather(1, i.reshape({3, 1}));
       },
       tensor({3, 0, 1}), tensor({3, -1, 1}), "index -1 is out of bounds for dimension 1 with size 4"},
      {"take", [](const Tensor& x, const Tensor& i) { return x.take(i); }, tensor({19, -20, 3}), tensor({19, 20, 3}),
       "out of range: tried to access index 20 on a tensor of 20 elements"},
      {"index_add", [flat](const Tensor& x, const Tensor& i) { return x.index_add(0, i, x.slice(0, 0, 3)); }, tensor({1, 1, 4}),
       tensor({1, 5, 4}), "index 5 is out of bounds for dimension 0 with size 5"},
      {"scatter",
       [](const Tensor& x, const Tensor& i) {
         return x.scatter(1, i.reshape({3, 1}), -1);
       },
       tensor({3, 0, 1}), tensor({3, 9, 1}), "index 9 is out of bounds for dimension 1 with size 4"},
      {"index_put", [](const Tensor& x, const Tensor& i) { return x.clone().index_put_({i}, 5); }, tensor({-5, 4, 0}), tensor({-5, 5, 0}),
       "index 5 is out of bounds for dimension 0 with size 5"},
      {"index_copy", [](const Tensor& x, const Tensor& i) { return x.index_copy(0, i, x.slice(0, 0, 3) + 9); }, tensor({3, 0, 1}),
       tensor({3, 0, 6}), "index 6 is out of bounds for dimension 0 with size 5"},
      {"nll_loss", [](const Tensor& x, const Tensor& i) { return nll_loss(x.slice(0, 0, 3), i); }, tensor({3, -100, 1}),
       tensor({3, -100, 4}), "Target 4 is out of bounds"},
      {"cross_entropy", [](const Tensor& x, const Tensor& i) { return nn::functional::cross_entropy(x.slice(0, 0, 3), i); },
       tensor({3, 0, 1}), tensor({3, -2, 1}), "Target -2 is out of bounds"},
  };
}

}  // namespace

TEST_CASE("index: a kernel checks it, the host waits for nothing, and the result is the CPU's") {
  for (const Case& c : cases()) {
    const std::string name = c.name;
    CAPTURE(name);
    const Tensor x = table().to(kGpu), i = unknown(c.right);
    eval({x, i});
    const long before = waits();
    const Tensor y = c.f(x, i);
    eval({y});
    CHECK(waits() == before);
    CHECK(same(y, c.f(table(), c.right)));
  }
}

TEST_CASE("index: one out of range is an error at the next call that waits, and nothing else is lost") {
  const Tensor more = table() + 3;
  eval({more});
  for (const Case& c : cases()) {
    const std::string name = c.name;
    CAPTURE(name);
    const Tensor x = table().to(kGpu), i = unknown(c.wrong), other = (x + 1).exp();
    eval({x, i});
    const long before = waits();
    Tensor y = c.f(x, i);
    eval({y, other});
    const Tensor moved = more.to(kGpu);  // while that is under way
    CHECK(waits() == before);
    CHECK_THROWS_WITH_AS(cuda::synchronize(), doctest::Contains(c.message), Error);
    CHECK(same(other, (table() + 1).exp()));
    CHECK(same(x, table()));
    CHECK(same(moved, more));
    CHECK_THROWS_WITH_AS(y.cpu().sum().item(), doctest::Contains(c.message), Error);  // it is computed again
    y = Tensor();
    CHECK(same(c.f(x, unknown(c.right)), c.f(table(), c.right)));
    cuda::synchronize();
  }
}

TEST_CASE("index: a probability that is none is an error of the kernel that draws") {
  const Tensor right = tensor({0.f, 1.f, 0.f}).to(kGpu);
  for (const float wrong : {-.25f, 1.5f, std::nanf("")}) {
    const Tensor p = tensor({.5f, wrong}).to(kGpu);
    const Tensor y = bernoulli(p);
    CHECK_THROWS_WITH_AS(y.sum().item(), doctest::Contains("Expected p_in >= 0 && p_in <= 1 to be true"), Error);
    CHECK(same(bernoulli(right), right.cpu()));
    CHECK(same(empty({3}, kGpu).bernoulli_(right), right.cpu()));
  }
}

TEST_CASE("index: an evaluation finds the error too, once the kernel has run; it does not wait for that") {
  const Tensor x = table().to(kGpu), i = unknown(tensor({0, 7, 2}));
  eval({x, i});
  cuda::synchronize();
  Tensor y = x.index_select(0, i), other = x * 2;
  eval({y});
  cuda::CUDAEvent event;
  event.record();
  event.synchronize();
  CHECK_THROWS_WITH_AS(eval({other}), doctest::Contains("index 7 is out of bounds"), Error);
  CHECK(same(other, table() * 2));
  // Meanwhile nothing counts as right that is not done.
  y = x.index_select(0, i + zero_after_kernels(x));
  eval({y});
  other = x * 3;
  const auto look_and_wait = [&] {
    eval({other});
    cuda::synchronize();
  };
  CHECK_THROWS_WITH_AS(look_and_wait(), doctest::Contains("index 7 is out of bounds"), Error);
  CHECK_THROWS_WITH_AS(y.cpu().sum().item(), doctest::Contains("index 7 is out of bounds"), Error);  // it is computed again
}

TEST_CASE("index: with the first error all that was under way has failed; a second one is no error of later work") {
  for (int64_t polls = 0; polls < 12; ++polls) {  // until the first kernel has run, and the second has not
    const Tensor x = arange(5 * (4 + polls), kFloat).reshape({5, 4 + polls}).to(kGpu), i = unknown(tensor({0, 7, 2}));
    eval({x, i});
    Tensor first = x.index_select(0, i), other = x + 1;
    Tensor second = x.take(unknown(tensor({0, -900})) + zero_after_kernels(first));
    eval({first, second});
    for (int64_t k = 0; k < polls; ++k) cuda::getCurrentCUDAStream().query();
    const auto look_and_wait = [&] {
      eval({other});
      cuda::synchronize();
    };
    CHECK_THROWS_WITH_AS(look_and_wait(), doctest::Contains("index 7 is out of bounds"), Error);
    first = second = Tensor();
    CHECK_NOTHROW(cuda::synchronize());
    CHECK(same(other, x.cpu() + 1));
  }
}

TEST_CASE("index: what is no element is noted in no kernel that runs again as a CUDA graph") {
  const Tensor x = table().to(kGpu);
  const auto step = [&](const Tensor& i) { return (x.index_select(0, i) + 1).sum(1).cumsum(0); };
  for (int run = 0; run < 8; ++run) {
    CAPTURE(run);
    const bool bad = run == 5;
    const Tensor host = tensor({run % 5, bad ? 5 : 4, 0});
    const Tensor y = step(unknown(host));
    eval({y});
    if (bad) {
      CHECK_THROWS_WITH_AS(cuda::synchronize(), doctest::Contains("index 5 is out of bounds"), Error);
    } else {
      CHECK(same(y, (table().index_select(0, host) + 1).sum(1).cumsum(0)));
    }
  }
}

TEST_CASE("index: a gradient of rows that are looked up is the CPU's, without waiting") {
  const auto gradient = [](const Tensor& weight, const Tensor& index) {
    const Tensor w = weight.detach().requires_grad_();
    (embedding(w, index) * 3).square().sum().backward();
    return w.grad();
  };
  const Tensor host = tensor({4, 1, 1, 0, 4, 4}), x = table().to(kGpu), i = unknown(host);
  eval({x, i});
  const long before = waits();
  const Tensor there = gradient(x, i);
  eval({there});
  CHECK(waits() == before);
  CHECK(same(there, gradient(table(), host)));
}

TEST_CASE("index: what else a kernel checks: probabilities, and classes that become one-hot vectors") {
  const auto loss = [](const Tensor& x) { return nn::functional::binary_cross_entropy(x, full_like(x, 0.25)); };
  const Tensor good = (arange(8, kFloat) / 8), bad = (arange(8, kFloat) / 6);
  const Tensor x = good.to(kGpu), wrong = bad.to(kGpu), classes = unknown(tensor({2, 0, 1})), no_classes = unknown(tensor({2, 3, 1}));
  eval({x, wrong, classes, no_classes});
  const long before = waits();
  Tensor y = loss(x), vectors = one_hot(classes, 3);
  eval({y, vectors});
  CHECK(waits() == before);
  CHECK(same(y, loss(good)));
  CHECK(same(vectors, one_hot(tensor({2, 0, 1}), 3)));
  CHECK_THROWS_WITH_AS(loss(wrong).item(),
                       doctest::Contains("all elements of input should be between 0 and 1 (binary_cross_entropy on cuda:0)"), Error);
  CHECK_THROWS_WITH_AS(one_hot(no_classes, 3).sum().item(), doctest::Contains("index 3 is out of bounds for dimension 1 with size 3"),
                       Error);
  CHECK(same(loss(x), loss(good)));
}

namespace {

// f(x) on the device: nobody waits for it, what is right gives the CPU's bits, and what is wrong is an error at the next call that waits,
// with this text; later work is not touched.
void check_values(const std::function<Tensor(const Tensor&)>& f, const Tensor& right, const Tensor& wrong, const char* message) {
  const auto there = [](const Tensor& x) { return isIntegralType(x.scalar_type(), false) ? unknown(x) : x.to(kGpu); };
  const Tensor x = there(right), bad = there(wrong);
  eval({x, bad});
  const long before = waits();
  const Tensor good = f(x);
  Tensor lost = f(bad);
  eval({good});
  CHECK(waits() == before);
  CHECK(same(good, f(right)));
  const long then = waits();
  eval({lost});
  CHECK(waits() == then);
  CHECK_THROWS_WITH_AS(cuda::synchronize(), doctest::Contains(message), Error);
  CHECK_THROWS_WITH_AS(lost.cpu().sum().item(), doctest::Contains(message), Error);  // it is computed again
  lost = Tensor();
  CHECK(same(f(x), f(right)));
  cuda::synchronize();
}

}  // namespace

TEST_CASE("index: an integer division by zero is such an error too, whatever the division") {
  const Tensor right = tensor({3, -2, 7, 1}), wrong = tensor({3, 0, 7, 1}), number = tensor({7, 7, -7, 9});
  const auto on = [](const Tensor& x, const Tensor& like) { return x.to(like.device()); };
  const char* message = "ZeroDivisionError (integer division on cuda:0)";
  check_values([&](const Tensor& y) { return floor_divide(on(number, y), y); }, right, wrong, message);
  check_values([&](const Tensor& y) { return remainder(on(number, y), y) + 1; }, right, wrong, message);
  check_values([&](const Tensor& y) { return fmod(on(number, y), y); }, right, wrong, message);
  check_values([&](const Tensor& y) { return div(on(number, y), y, "trunc"); }, right, wrong, message);
  check_values([&](const Tensor& y) { return on(number, y).to(kInt).floor_divide(y.to(kInt)); }, right, wrong, message);
  check_values([&](const Tensor& y) { return remainder(Scalar(9), y.to(kShort)); }, right, wrong, message);
  check_values([&](const Tensor& y) { return on(number, y).clone().remainder_(y.select(0, 1)); }, right, wrong, message);
}

TEST_CASE("index: a divisor that is known not to be zero is not looked at, one that is known to be is an error at the call") {
  const Tensor x = arange(6, kLong).to(kGpu), steps = arange(1, 7, kLong).to(kGpu);
  CHECK(same(floor_divide(x, steps), floor_divide(arange(6, kLong), arange(1, 7, kLong))));
  CHECK(dump(floor_divide(x, steps), Stage::Graph).find("check") == std::string::npos);
  CHECK(dump(floor_divide(x, unknown(tensor({1, 2, 3, 4, 5, 6}))), Stage::Graph).find("check") != std::string::npos);
  CHECK_THROWS_WITH_AS(floor_divide(x, zeros({6}, TensorOptions(kLong).device(kGpu))), doctest::Contains("ZeroDivisionError"), Error);
  CHECK_THROWS_WITH_AS(floor_divide(x, Scalar(0)), doctest::Contains("ZeroDivisionError"), Error);
  CHECK_THROWS_WITH_AS(floor_divide(x, tensor(int64_t{0})), doctest::Contains("ZeroDivisionError"), Error);  // a number of the host
  CHECK(isinf(floor_divide(x + 1.5, x * 0)).all().item<bool>());                                             // of floats
}

TEST_CASE("index: labels of a margin loss, where bags begin, and deviations are looked at by kernels") {
  const Tensor scores = randn({2, 4});
  const auto on = [](const Tensor& x, const Tensor& like) { return x.to(like.device()); };
  check_values([&](const Tensor& t) { return multilabel_margin_loss(on(scores, t), t); }, tensor({{3, 0, -1, 1}, {-1, 0, 1, 2}}),
               tensor({{3, 4, -1, 1}, {-1, 0, 1, 2}}), "argument #2 'target' is out of range (multilabel_margin_loss on cuda:0)");
  check_values([&](const Tensor& t) { return multilabel_margin_loss(on(scores, t), t, Reduction::None); },
               tensor({{3, 0, -1, 1}, {-1, 0, 1, 2}}), tensor({{3, -2, -1, 1}, {-1, 0, 1, 2}}), "argument #2 'target' is out of range");
  const auto bags = [&](const Tensor& offsets) {
    return std::get<0>(embedding_bag(on(table(), offsets), on(tensor({1, 4, 0, 2, 2}), offsets), offsets));
  };
  check_values(bags, tensor({0, 2, 2}), tensor({1, 2, 2}), "start from position 0. However, got 1 (embedding_bag on cuda:0)");
  check_values(bags, tensor({0, 2, 5}), tensor({0, 2, 6}),
               "offsets[-1] can not be greater than input's length 5 but got offsets[-1] of 6 (embedding_bag on cuda:0)");
  const auto noise = [](const Tensor& std) { return normal(2.0, std).sign() * 0 + 1; };  // the numbers are not the CPU's
  check_values(noise, tensor({1.5, 0.0, 3.0}), tensor({1.5, -0.5, 3.0}), "normal expects all elements of std >= 0.0 (normal on cuda:0)");
}

TEST_CASE("index: the gradient of a margin loss over labels of the device is the CPU's") {
  const auto gradient = [](const Tensor& scores, const Tensor& labels) {
    const Tensor x = scores.detach().requires_grad_();
    multilabel_margin_loss(x, labels).backward();
    return x.grad();
  };
  const Tensor scores = randn({2, 4}), labels = tensor({{3, 0, -1, 1}, {-1, 0, 1, 2}});
  CHECK(same(gradient(scores.to(kGpu), unknown(labels)), gradient(scores, labels)));
}

TEST_CASE("index: what draws for a tensor of the device waits for nothing") {
  Tensor x = linspace(-3, 3, 64).to(kGpu);
  eval({x});
  const long before = waits();
  const Tensor y = rrelu(x, 0.25, 0.5, true);
  eval({y});
  CHECK(waits() == before);
  const Tensor slope = (y / x).cpu(), here = x.cpu();
  CHECK(equal(slope.masked_select(here > 0), ones({32})));
  const Tensor below = slope.masked_select(here < 0);
  CHECK(below.min().item<float>() >= 0.25f);
  CHECK(below.max().item<float>() <= 0.5f);
  CHECK(below.max().item<float>() > below.min().item<float>());
}

TEST_CASE("index: into a dimension without elements it is an error at the call") {
  CHECK_THROWS_AS(zeros({0, 3}).to(kGpu).index({unknown(tensor({0}))}), IndexError);
  CHECK(zeros({0, 3}).to(kGpu).index({unknown(tensor({0}).slice(0, 0, 0))}).numel() == 0);
}
