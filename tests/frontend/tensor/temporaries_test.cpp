// A handle that dies with its full expression is not held: an expression in one line costs what the same costs
// when a function builds it and only its result is left.
#include <tenon/inspect.h>
#include <tenon/tenon.h>

#include <doctest/doctest.h>

#include <functional>

#include "frontend/values.h"

using namespace tenon;
using test::Values;
using test::values;

namespace {

struct Cost {
  int64_t launches, allocations;
  bool operator==(const Cost&) const = default;
};

template <typename F>
Cost cost_of(F&& f) {
  clear_caches();
  reset_counters();
  const int64_t before = memory_stats().allocations;
  f();
  return {counters().launches, memory_stats().allocations - before};
}

struct Data {
  Tensor x = rand({64, 48}), y = rand({64, 48}), w = rand({32, 48}), b = rand({32}), v = rand({48});
  Tensor labels = randint(0, 32, {64});
  nn::Linear layer{48, 32};
  Data() { eval(x, y, w, b, v, labels, layer->weight, layer->bias); }
};

struct Program {
  const char* what;
  std::function<Tensor(const Data&)> one_line;  // observed in the same full expression
  std::function<Tensor(const Data&)> built;     // only the result is left when it is observed
};

Tensor seen(const Tensor& t) {
  eval(t);
  return t;
}

Tensor residual(const Tensor& a, const Tensor& b) { return (a - b).square(); }

// The one-line forms call eval before their temporaries die; the built ones return before anything is evaluated.
#define TENON_PROGRAM(...)                                                                                             \
  {                                                                                                                    \
#__VA_ARGS__, [](const Data& d) { return seen(__VA_ARGS__); }, [](const Data& d) -> Tensor { return __VA_ARGS__; } \
  }
const Program programs[] = {
    TENON_PROGRAM(((d.x - d.y).square() * 0.5 + (d.x * d.y).abs()).mean()),
    TENON_PROGRAM((d.x * 2).sum()),
    TENON_PROGRAM(mean(square(sub(d.x, d.y)))),
    TENON_PROGRAM(softmax(d.x * 2 + 1, 1)),
    TENON_PROGRAM(relu(linear(d.x * 0.5, d.w, d.b)).sum({1}, true)),
    TENON_PROGRAM(relu(d.layer->forward(d.x)).mean({0})),
    TENON_PROGRAM((1 - d.x).t().exp().sum(1)),
    TENON_PROGRAM((d.x + d.y).view({-1}).contiguous().to(kFloat).square().sum()),
    TENON_PROGRAM(((d.x - d.x.mean({1}, true)) / (d.x.var({1}, true, true) + 1e-5).sqrt()).sum()),
    TENON_PROGRAM(where(d.x > 0.5, d.x * 3, -d.x).max()),
    TENON_PROGRAM((d.x.square().sum(1) + 0.01).pow(-1.5).sum()),
    TENON_PROGRAM((d.x * d.v)[3].sum()),
    TENON_PROGRAM((d.x * 2).slice(0, 1, 9).reshape({4, -1}).tanh().sum(1)),
    TENON_PROGRAM(cat({d.x * 2, d.y + 1}, 1).sum(1)),
    TENON_PROGRAM(residual(d.x, d.y).sqrt().sum()),
    TENON_PROGRAM(mse_loss(tanh(d.x) * 2, d.y)),
    TENON_PROGRAM(matmul(d.x + 1, d.w.t()).add(d.b).clamp(0, 4).sum()),
    TENON_PROGRAM(nn::functional::gelu(d.x * 0.5).sum()),
};
#undef TENON_PROGRAM

}  // namespace

TEST_CASE("temporaries: one line costs what the built form costs") {
  manual_seed(1);
  const Data data;
  for (const Program& p : programs) {
    CAPTURE(std::string(p.what));
    Tensor line, built;
    const Cost line_cost = cost_of([&] { line = p.one_line(data); });
    const Cost built_cost = cost_of([&] {
      built = p.built(data);
      eval(built);
    });
    CHECK(line_cost.launches == built_cost.launches);
    CHECK(line_cost.allocations == built_cost.allocations);
    CHECK(equal(line, built));
  }
}

TEST_CASE("temporaries: the commonest one-liner is one kernel with one result") {
  const Tensor x = rand({1000}), y = rand({1000});
  eval(x, y);
  float r = 0;
  const Cost cost = cost_of([&] { r = ((x - y).square() * 0.5 + (x * y).abs()).mean().item<float>(); });
  CHECK(cost.launches == 1);
  CHECK(cost.allocations == 1);
  CHECK(r > 0);
}

TEST_CASE("temporaries: x = f(x) keeps one value") {
  Tensor x = rand({1000});
  eval(x);
  const Cost cost = cost_of([&] {
    for (int i = 0; i < 10; ++i) x = (x * 0.5 + 1).sqrt();
    eval(x);
  });
  CHECK(cost.launches == 1);
  CHECK(cost.allocations == 0);  // in the memory of x
}

TEST_CASE("temporaries: a name keeps its value") {
  const Tensor x = rand({1000});
  eval(x);
  SUBCASE("a named operand is one more output") {
    const Tensor d = x - 1;
    eval(d.square().sum());
    reset_counters();
    eval(d);
    CHECK(counters().launches == 0);
  }
  SUBCASE("so is what a reference holds") {
    const Tensor& d = x - 1;
    eval(d.square().sum());
    reset_counters();
    eval(d);
    CHECK(counters().launches == 0);
  }
  SUBCASE("and a copy of a temporary that an operation returned as it was") {
    const Tensor d = (x - 1).to(kFloat).contiguous();
    eval(d.square().sum());
    reset_counters();
    eval(d);
    CHECK(counters().launches == 0);
  }
  SUBCASE("and a view of one") {
    const Tensor d = (x - 1).view({10, 100});
    eval(d.square().sum());
    reset_counters();
    eval(d);
    CHECK(counters().launches == 0);
    CHECK(values(d._base()).size() == 1000);
  }
}

TEST_CASE("temporaries: what is given up and read after all is still right") {
  const Tensor x = tensor({1., 2., 3.});
  Tensor y = x * 2;
  const Tensor z = square(std::move(y));
  CHECK(values(z) == Values{4, 16, 36});
  CHECK(values(y) == Values{2, 4, 6});
  Tensor copy = y;
  CHECK(values(copy + 1) == Values{3, 5, 7});
  y += 1;
  CHECK(values(copy) == Values{3, 5, 7});
  const Tensor again = std::move(copy).exp().log().round();
  CHECK(values(again) == Values{3, 5, 7});
  CHECK(values(copy) == Values{3, 5, 7});
}

TEST_CASE("temporaries: writes through a temporary view land in what it shows") {
  Tensor x = zeros({2, 3});
  x[0] += tensor({1., 2., 3.}) * 2;
  x.t()[1].mul_(x[0].sum() + 1);
  CHECK(values(x) == Values{2, 52, 6, 0, 0, 0});
  x[1] = (x[0] - 1).abs();
  CHECK(values(x) == Values{2, 52, 6, 1, 51, 5});
}

TEST_CASE("temporaries: what is looked at in the call and used in its result is computed once") {
  const Tensor x = rand({64, 48}), half = full({64, 48}, 0.5);
  eval(x, half);
  const std::pair<const char*, std::function<Tensor()>> calls[] = {
      {"binary_cross_entropy", [&] { return binary_cross_entropy(tan(x).clamp(0, 1), half); }},
      {"one_hot", [&] { return one_hot((tan(x) * 3).to(kLong)); }},
      {"bincount", [&] { return bincount((tan(x) * 3).to(kLong).flatten()); }},
      {"histc", [&] { return histc(tan(x), 5); }},
      {"histogram", [&] { return std::get<0>(histogram(tan(x).flatten(), 5)); }},
      {"rrelu", [&] { return rrelu(tan(x) - 0.5, 0.1, 0.3, true); }},
      {"normal", [&] { return normal(half, tan(x)); }},
      {"zeta", [&] { return special::zeta(half + 2, tan(x) + 1); }},
      {"masked_select", [&] { return masked_select(x, tan(x) > 0.5); }},
      {"multilabel_margin_loss", [&] { return multilabel_margin_loss(x, (tan(x) * 5).to(kLong)); }},
      {"nll_loss", [&] { return nll_loss(x, (tan(x.select(1, 0)) * 5).to(kLong)); }},
      {"embedding", [&] { return embedding(x, (tan(x) * 3).to(kLong)); }},
  };
  for (const auto& [name, call] : calls) {
    CAPTURE(std::string(name));
    clear_kernel_history();
    eval(call());
    int times = 0;
    for (const KernelRecord& k : kernel_history()) times += k.name.find("tan") != std::string::npos;
    CHECK(times == 1);
  }
}
