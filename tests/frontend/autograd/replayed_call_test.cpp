// Calls that come again are made from what is known of them: they must do what recorded ones do. Operands that lie in a larger
// storage are always recorded, so each call is made twice, on operands of either kind with the same elements.
#include <tenon/tenon.h>

#include <doctest/doctest.h>
#include <cstring>
#include <functional>

#include "frontend/src/autograd/grad.h"

using namespace tenon;

namespace {

struct Case {
  const char* name;
  std::vector<std::vector<int64_t>> shapes;  // of the operands
  std::function<Tensor(const std::vector<Tensor>&)> call;
  std::vector<std::pair<int, int64_t>> classes = {};  // which operands are class numbers below this
  bool keeps_views = false;  // of an operand: if that is a part of a storage, a write to it harms nothing and is not refused
};

const std::vector<Case>& cases() {
  namespace F = nn::functional;
  using In = const std::vector<Tensor>&;
  static const std::vector<Case> all = {
      {"linear", {{5, 4}, {3, 4}, {3}}, [](In x) { return linear(x[0], x[1], x[2]); }, {}, true},
      {"linear of a batch", {{2, 5, 4}, {3, 4}, {3}}, [](In x) { return linear(x[0], x[1], x[2]); }, {}, true},
      {"linear of one sample", {{4}, {3, 4}, {3}}, [](In x) { return linear(x[0], x[1], x[2]); }, {}, true},
      {"relu", {{3, 4}}, [](In x) { return relu(x[0]); }},
      {"sigmoid", {{3, 4}}, [](In x) { return sigmoid(x[0]); }},
      {"tanh", {{3, 4}}, [](In x) { return tanh(x[0]); }},
      {"exp", {{7}}, [](In x) { return exp(x[0]); }},
      {"softmax over rows", {{3, 4}}, [](In x) { return softmax(x[0], 1); }},
      {"softmax over columns", {{3, 4}}, [](In x) { return softmax(x[0], 0); }},
      {"log_softmax", {{3, 4}}, [](In x) { return log_softmax(x[0], -1); }},
      {"log_softmax as double", {{3, 4}}, [](In x) { return log_softmax(x[0], -1, kDouble); }},
      {"add", {{3, 4}, {4}}, [](In x) { return x[0] + x[1]; }},
      {"sub", {{3, 4}, {3, 1}}, [](In x) { return x[0] - x[1]; }},
      {"mul", {{3, 4}, {3, 4}}, [](In x) { return x[0] * x[1]; }},
      {"div", {{3, 4}, {}}, [](In x) { return x[0] / x[1]; }},
      {"xlogy", {{4}, {4}}, [](In x) { return xlogy(x[0], x[1]); }},
      {"mm", {{3, 4}, {4, 2}}, [](In x) { return mm(x[0], x[1]); }},
      {"mm of columns", {{3, 4}, {4, 1}}, [](In x) { return mm(x[0], x[1]); }},
      {"mse", {{3, 4}, {3, 4}}, [](In x) { return mse_loss(x[0], x[1], Reduction::Mean); }},
      {"mse, summed", {{3, 4}, {3, 4}}, [](In x) { return mse_loss(x[0], x[1], Reduction::Sum); }},
      {"cross entropy", {{6, 3}, {6}}, [](In x) { return F::cross_entropy(x[0], x[1]); }, {{1, 3}}},
      {"cross entropy, each",
       {{6, 3}, {6}},
       [](In x) { return F::cross_entropy(x[0], x[1], nn::CrossEntropyLossOptions().reduction(kNone)); },
       {{1, 3}}},
      {"cross entropy, smoothed",
       {{6, 3}, {6}},
       [](In x) { return F::cross_entropy(x[0], x[1], nn::CrossEntropyLossOptions().label_smoothing(0.25)); },
       {{1, 3}}},
      {"cross entropy, weighted",
       {{6, 3}, {6}, {3}},
       [](In x) { return F::cross_entropy(x[0], x[1], nn::CrossEntropyLossOptions().weight(x[2].detach())); },
       {{1, 3}}},
      {"cross entropy, ignoring",
       {{6, 3}, {6}},
       [](In x) { return F::cross_entropy(x[0], x[1], nn::CrossEntropyLossOptions().ignore_index(1)); },
       {{1, 3}}},
      {"cross entropy of planes", {{2, 3, 4}, {2, 4}}, [](In x) { return F::cross_entropy(x[0], x[1]); }, {{1, 3}}},
      {"cross entropy of probabilities", {{6, 3}, {6, 3}}, [](In x) { return F::cross_entropy(x[0], x[1]); }},
  };
  return all;
}

bool same_bits(const Tensor& a, const Tensor& b) {
  if (!a.defined() || !b.defined()) return a.defined() == b.defined();
  if (a.sizes() != b.sizes() || a.scalar_type() != b.scalar_type()) return false;
  const Tensor x = a.detach().contiguous(), y = b.detach().contiguous();
  return std::memcmp(x.const_data_ptr(), y.const_data_ptr(), static_cast<size_t>(x.numel()) * x.element_size()) == 0;
}

// The same elements in a storage that holds more of them.
Tensor within_more(const Tensor& x) {
  const Tensor more = cat({x.reshape({-1}), zeros({3}, x.options())});
  eval(more);
  return more.detach().as_strided(x.sizes(), x.strides()).detach();
}

struct Operands {
  std::vector<Tensor> plain, within;
};

// `leaves`: by operand, whether it requires grad; class numbers never do.
Operands operands(const Case& c, unsigned leaves, ScalarType type) {
  Operands all;
  for (size_t i = 0; i < c.shapes.size(); ++i) {
    int64_t classes = 0;
    for (const auto& [operand, count] : c.classes) {
      if (operand == static_cast<int>(i)) classes = count;
    }
    Tensor x = classes ? randint(0, classes, c.shapes[i], kLong) : (rand(c.shapes[i]) - 0.3).to(type);
    eval(x);
    Tensor other = within_more(x);
    for (Tensor* t : {&x, &other}) {
      if (!classes && leaves >> i & 1) t->requires_grad_();
    }
    all.plain.push_back(x);
    all.within.push_back(other);
  }
  return all;
}

std::vector<Tensor> tracked(const std::vector<Tensor>& operands) {
  std::vector<Tensor> result;
  for (const Tensor& x : operands) {
    if (x.requires_grad()) result.push_back(x);
  }
  return result;
}

// The gradients of a graph that reads the result twice, and their gradients (second order).
std::vector<Tensor> gradients(const std::vector<Tensor>& operands, const Tensor& y) {
  const std::vector<Tensor> x = tracked(operands);
  const std::vector<Tensor> first = autograd::grad({(y * y).sum()}, x, {}, true, true, true);
  Tensor sum;
  for (const Tensor& g : first) {
    if (g.defined()) sum = sum.defined() ? sum + (g * g).sum() : (g * g).sum();
  }
  std::vector<Tensor> all = first;
  for (const Tensor& g : autograd::grad({sum}, x, {}, true, false, true)) all.push_back(g);
  return all;
}

const GradFn& fn_of(const Tensor& x) { return dynamic_cast<const GradFn&>(*x.grad_fn()); }

// What is said when each operand, and the result, was written between the call and the backward pass.
std::vector<std::string> said_after_writes(const Case& c, const std::vector<Tensor>& operands) {
  std::vector<std::string> said;
  for (size_t i = 0; i <= operands.size(); ++i) {
    const Tensor y = c.call(operands);
    {
      const NoGradGuard no_grad;
      (i < operands.size() ? operands[i] : y).mul_(1);
    }
    try {
      y.sum().backward();
      said.push_back("");
    } catch (const Error& error) {
      const std::string text = error.what();
      said.push_back(text.substr(0, text.find(" is at version")));
    }
  }
  return said;
}

}  // namespace

TEST_CASE("a call that comes again has the values, gradients and errors of one that is recorded") {
  for (const ScalarType type : {kFloat, kDouble, kHalf}) {
    for (const Case& c : cases()) {
      for (unsigned leaves = 1; leaves < 1u << c.shapes.size(); ++leaves) {
        if (tracked(operands(c, leaves, type).plain).empty()) continue;
        CAPTURE(std::string(c.name));
        CAPTURE(static_cast<int>(type));
        CAPTURE(leaves);
        const void* steps = nullptr;
        for (int round = 0; round < 4; ++round) {
          CAPTURE(round);
          const Operands x = operands(c, leaves, type);
          const Tensor y = c.call(x.plain), expected = c.call(x.within);
          if (!expected.requires_grad()) break;  // the weight of classes alone
          CHECK(same_bits(y, expected));
          CHECK(y.grad_fn()->name() == expected.grad_fn()->name());
          const std::vector<Tensor> made = gradients(x.plain, y), recorded = gradients(x.within, expected);
          REQUIRE(made.size() == recorded.size());
          for (size_t i = 0; i < made.size(); ++i) CHECK(same_bits(made[i], recorded[i]));
          const std::vector<std::string> said = said_after_writes(c, x.plain), expected_said = said_after_writes(c, x.within);
          for (size_t i = 0; i < said.size() && !c.keeps_views; ++i) CHECK(said[i] == expected_said[i]);
          // From the third call on the recipe is the second one's.
          const void* const now = fn_of(y).recipe.steps().data();
          const bool shared = now == steps;
          if (round >= 2) CHECK(shared);
          const bool is_recorded = fn_of(expected).recipe.steps().data() != now;
          CHECK(is_recorded);
          steps = now;
        }
      }
    }
  }
}

TEST_CASE("a known call checks the elements that it must, and sees what its operands are") {
  const Tensor x = rand({4, 3}).requires_grad_(), right = tensor(std::vector<int64_t>{0, 1, 2, 0});
  for (int i = 0; i < 4; ++i) nn::functional::cross_entropy(x, right).backward();
  const Tensor wrong = tensor(std::vector<int64_t>{0, 1, 3, 0});
  CHECK_THROWS_AS(nn::functional::cross_entropy(x, wrong), IndexError);

  // One tensor twice, a constant, an operand without a gradient, another shape and another dtype: each as if it were the first.
  const Tensor a = rand({4}).requires_grad_(), b = rand({4}).requires_grad_();
  for (int i = 0; i < 4; ++i) (a * b).sum().backward();
  const auto gradient = [](const Tensor& y, const Tensor& leaf) { return autograd::grad({y.sum()}, {leaf})[0]; };
  CHECK(same_bits(gradient(a * a, a), (a + a).detach()));
  CHECK(same_bits(gradient(a * ones({4}), a), ones({4})));
  CHECK(same_bits(gradient(a * b.detach(), a), b.detach()));
  CHECK_FALSE((a.detach() * b.detach()).requires_grad());
  CHECK(same_bits(gradient(a * rand({1}).fill_(2), a), full({4}, 2.f)));
  const Tensor copy = a.detach().clone();
  CHECK(same_bits(gradient(a * copy, a), copy));
  {
    const NoGradGuard no_grad;
    CHECK_FALSE((a * b).requires_grad());
  }
  const Tensor half = a.detach().to(kHalf).requires_grad_();
  const bool promotes = (half * b).scalar_type() == kFloat;
  CHECK(promotes);
}

TEST_CASE("a product with ones and a quotient by ones save them") {
  const Tensor x = rand({4}).requires_grad_(), one = ones({4});
  for (const Tensor& y : {x * one, one * x, x / one}) {
    y.sum().backward();
    CHECK_THROWS_AS(y.sum().backward(), Error);
  }
  const Tensor written = ones({4}), y = x * written;
  written.add_(1);
  CHECK_THROWS_AS(y.sum().backward(), Error);
}
