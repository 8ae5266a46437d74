// Optimizers and schedulers: PyTorch's numbers and texts, groups, closures, what a step costs, what is kept of them.
#include <doctest/doctest.h>
#include <tenon/tenon.h>

#include <cmath>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "frontend/values.h"
#include "support/data_folder.h"

namespace tenon {
namespace {

using nlohmann::json;
using optim::OptimizerParamGroup;
using test::error_of;
using test::values;

const json& training_golden() {
  static const json data = json::parse(std::ifstream(data_folder() + "/training.json"));
  return data;
}

int64_t count(const std::vector<int64_t>& shape) {
  int64_t result = 1;
  for (const int64_t size : shape) result *= size;
  return result;
}
// The numbers of scripts/golden/make_training_golden.py.
Tensor eighths(const std::vector<int64_t>& shape, int64_t factor, int64_t offset, int64_t modulus) {
  return ((arange(count(shape), kFloat) * factor + offset).remainder(modulus) - (modulus - 1) / 2).div(8).view(shape).clone();
}
Tensor parameter(const std::vector<int64_t>& shape, int64_t j) { return eighths(shape, 5, j * 3, 13).set_requires_grad(true); }
Tensor gradient(const std::vector<int64_t>& shape, int64_t j, int64_t k) { return eighths(shape, 7, k * 13 + j * 5, 11); }

template <typename Options>
void set(Options& o, const json& fields) {
  for (const auto& [name, value] : fields.items()) {
    if (name == "lr") o.lr(value);
    if constexpr (requires { o.weight_decay(0.0); })
      if (name == "weight_decay") o.weight_decay(value);
    if constexpr (requires { o.momentum(0.0); })
      if (name == "momentum") o.momentum(value);
    if constexpr (requires { o.dampening(0.0); })
      if (name == "dampening") o.dampening(value);
    if constexpr (requires { o.nesterov(true); })
      if (name == "nesterov") o.nesterov(value);
    if constexpr (requires { o.betas(optim::Betas()); })
      if (name == "betas") o.betas({value[0], value[1]});
    if constexpr (requires { o.eps(0.0); })
      if (name == "eps") o.eps(value);
    if constexpr (requires { o.amsgrad(true); })
      if (name == "amsgrad") o.amsgrad(value);
    if constexpr (requires { o.alpha(0.0); })
      if (name == "alpha") o.alpha(value);
    if constexpr (requires { o.centered(true); })
      if (name == "centered") o.centered(value);
    if constexpr (requires { o.lr_decay(0.0); })
      if (name == "lr_decay") o.lr_decay(value);
    if constexpr (requires { o.initial_accumulator_value(0.0); })
      if (name == "initial_accumulator_value") o.initial_accumulator_value(value);
  }
}

template <typename O, typename Options>
std::unique_ptr<optim::Optimizer> make(const std::vector<Tensor>& p, Options defaults, const json& c) {
  Options second = defaults;
  set(defaults, c["defaults"]);
  set(second, c["second"]);
  std::vector<OptimizerParamGroup> groups;
  groups.emplace_back(std::vector<Tensor>{p[0], p[1]});
  groups.emplace_back(std::vector<Tensor>{p[2], p[3]}, std::make_unique<Options>(second));
  return std::make_unique<O>(groups, defaults);
}
std::unique_ptr<optim::Optimizer> make(const std::vector<Tensor>& p, const json& c) {
  const std::string name = c["name"];
  if (name == "SGD") return make<optim::SGD>(p, optim::SGDOptions(1e-3), c);
  if (name == "Adam") return make<optim::Adam>(p, optim::AdamOptions(), c);
  if (name == "AdamW") return make<optim::AdamW>(p, optim::AdamWOptions(), c);
  if (name == "RMSprop") return make<optim::RMSprop>(p, optim::RMSpropOptions(), c);
  return make<optim::Adagrad>(p, optim::AdagradOptions(), c);
}

std::vector<Tensor> parameters() {
  std::vector<Tensor> result;
  for (const auto& shape : training_golden()["shapes"]) result.push_back(parameter(shape, static_cast<int64_t>(result.size())));
  return result;
}
void one_step(optim::Optimizer& optimizer, const std::vector<Tensor>& p, int64_t k) {
  for (size_t j = 0; j < p.size(); ++j)
    p[j].mutable_grad() = j == 1 && k == 2 ? Tensor() : gradient(p[j].sizes().vec(), static_cast<int64_t>(j), k);
  if (k == 4) {
    optim::OptimizerOptions& second = optimizer.param_groups()[1].options();
    second.set_lr(second.get_lr() * 0.5);
  }
  optimizer.step();
}

template <typename F>
std::string warnings_of(F f) {
  struct Collect : WarningHandler {
    std::string texts;
    void process(const Warning& warning) override { texts += warning.msg() + "\n"; }
  } handler;
  const WarningUtils::WarningHandlerGuard guard(&handler);
  f();
  return handler.texts;
}

}  // namespace

TEST_CASE("optimizers with two groups give PyTorch's parameters and text") {
  for (const json& c : training_golden()["optimizers"]) {
    CAPTURE(c["name"]);
    CAPTURE(c["defaults"].dump());
    const std::vector<Tensor> p = parameters();
    const auto optimizer = make(p, c);
    for (int64_t k = 0; k < training_golden()["steps"]; ++k) one_step(*optimizer, p, k);
    for (size_t j = 0; j < p.size(); ++j) {
      const std::vector<double> got = values(p[j]), want = c["parameters"][j];
      for (size_t i = 0; i < want.size(); ++i) CHECK(got[i] == doctest::Approx(want[i]).epsilon(2e-6));
    }
    std::ostringstream out;
    out << *optimizer;
    CHECK(out.str() == c["text"].get<std::string>());
  }
}

TEST_CASE("groups: options are inherited, repeated and derived tensors are refused") {
  Tensor a = ones({2}, requires_grad()), b = ones({2}, requires_grad()), c = ones({2}, requires_grad());
  std::vector<OptimizerParamGroup> groups;
  groups.emplace_back(std::vector<Tensor>{a});
  groups.emplace_back(std::vector<Tensor>{b}, std::make_unique<optim::SGDOptions>(0.5));
  groups.emplace_back(std::vector<Tensor>{c}, std::make_unique<optim::SGDOptions>(optim::SGDOptions(1e-3).momentum(0.2)));
  optim::SGD sgd(groups, optim::SGDOptions(0.1).momentum(0.9).weight_decay(0.01));
  const auto options = [&](size_t i) -> auto& { return static_cast<optim::SGDOptions&>(sgd.param_groups()[i].options()); };
  CHECK(options(0) == static_cast<optim::SGDOptions&>(sgd.defaults()));
  CHECK(options(1) == optim::SGDOptions(0.5).momentum(0.9).weight_decay(0.01));
  CHECK(options(2) == optim::SGDOptions(0.1).momentum(0.2).weight_decay(0.01));
  CHECK(sgd.size() == 3);
  CHECK(sgd.parameters().size() == 1);
  CHECK(error_of([&] { sgd.add_param_group({std::vector<Tensor>{a}}); }) == "some parameters appear in more than one parameter group");
  CHECK(error_of([&] { sgd.add_param_group({std::vector<Tensor>{a * 2}}); }) == "can't optimize a non-leaf Tensor");
  CHECK(sgd.param_groups().size() == 3);
  Tensor d = ones({2}, requires_grad());
  CHECK(warnings_of([&] { sgd.add_param_group({std::vector<Tensor>{d, d}}); }).find("duplicate parameters") != std::string::npos);
  CHECK(error_of([] { optim::OptimizerOptions().get_lr(); }) ==
        "double get_lr() has not been overridden and implemented in subclass of torch::optim::OptimizerOptions, you must "
        "override it in your subclass.");
  CHECK(!OptimizerParamGroup(std::vector<Tensor>{a}).has_options());
}

TEST_CASE("states are found by the parameter") {
  Tensor p = ones({3}, requires_grad());
  optim::Adam adam({p}, optim::AdamOptions(0.1));
  CHECK(adam.state().empty());
  p.mutable_grad() = ones({3});
  adam.step();
  auto& state = static_cast<optim::AdamParamState&>(*adam.state().at(p.unsafeGetTensorImpl()));
  CHECK(state.step() == 1);
  CHECK(values(state.exp_avg())[0] == doctest::Approx(0.1));
  CHECK(!state.max_exp_avg_sq().defined());
}

TEST_CASE("a closure is called with gradients on, and its loss is the result") {
  Tensor p = full({3}, 2.0).set_requires_grad(true);
  optim::SGD sgd({p}, 0.25);
  int calls = 0;
  const auto closure = [&] {
    ++calls;
    CHECK(GradMode::is_enabled());
    const NoGradGuard no_grad;
    p.mutable_grad() = p * 2;
    return p.square().sum();
  };
  const NoGradGuard no_grad;
  CHECK(sgd.step(closure).item<double>() == 12);
  CHECK(values(p) == std::vector<double>{1, 1, 1});
  CHECK(!sgd.step().defined());
  CHECK(calls == 1);
  // A gradient of another shape is the error of the update, and changes nothing.
  p.mutable_grad() = ones({4});
  CHECK(error_of([&] { sgd.step(); }).find("The size of tensor a (3) must match the size of tensor b (4)") == 0);
  CHECK(values(p) == std::vector<double>{0, 0, 0});
}

TEST_CASE("closures that go wrong: PyTorch's errors, and a step after them goes on") {
  struct Case {
    const char* what;
    std::function<Tensor(Tensor& w, int call)> loss;  // by the number of the call
    const char* error;
  };
  const Case cases[] = {
      // of LibTorch 2.15
      {"an input of another shape", [](Tensor& w, int call) { return (w * ones({3 + call})).square().sum(); },
       "The size of tensor a (3) must match the size of tensor b (4) at non-singleton dimension 0"},
      {"a loss that is no number", [](Tensor& w, int call) { return call == 0 ? w.square().sum() : w.square(); },
       "grad can be implicitly created only for scalar outputs"},
      {"a loss without a history", [](Tensor& w, int call) { return call == 0 ? w.square().sum() : w.detach().sum(); },
       "element 0 of tensors does not require grad and does not have a grad_fn"},
      {"an error of the program's own", [](Tensor& w, int call) { return call == 0 ? w.square().sum() : throw Error("the data are gone"); },
       "the data are gone"}};
  for (const Case& c : cases) {
    CAPTURE(std::string(c.what));
    Tensor w = ones({3}, requires_grad());
    optim::LBFGS lbfgs({w});
    int calls = 0;
    bool right = false;
    const auto closure = [&] {
      lbfgs.zero_grad();
      const Tensor loss = right ? w.square().sum() : c.loss(w, calls++);
      loss.backward();
      return loss;
    };
    CHECK(error_of([&] { lbfgs.step(closure); }) == c.error);
    CHECK(calls == 2);
    for (const double value : values(w)) CHECK(value == 1);  // all of the step is undone; in LibTorch the first call has moved it
    CHECK(lbfgs.state().empty());
    right = true;
    lbfgs.step(closure);
    CHECK(w.abs().max().item<double>() < 1e-5);
  }
  // The parameter itself gets another shape: the error is that of the update, and the step after it is right.
  Tensor w = ones({3}, requires_grad());
  optim::SGD sgd({w}, 0.5);
  w.mutable_grad() = ones({3});
  sgd.step();
  CHECK(error_of([&] {
          sgd.step([&] {
            w.set_data(ones({4}));
            return w.sum();
          });
        }) == "The size of tensor a (4) must match the size of tensor b (3) at non-singleton dimension 0");
  w.set_data(full({3}, 2.0));
  w.mutable_grad() = ones({3});
  sgd.step();
  CHECK(values(w)[0] == 1.5);
}

TEST_CASE("a program's own optimizer") {
  struct Options : optim::OptimizerCloneableOptions<Options> {
    TENON_ARG(double, lr) = 0.5;
  };
  struct Sign : optim::Optimizer {
    explicit Sign(std::vector<Tensor> p) : Optimizer(std::move(p), std::make_unique<Options>()) {}
    Tensor step(LossClosure closure = nullptr) override {
      const NoGradGuard no_grad;
      for (auto& group : param_groups()) {
        for (auto& p : group.params()) p.add_(p.grad().sign(), -static_cast<Options&>(group.options()).lr());
      }
      return closure ? closure() : Tensor();
    }
  };
  Tensor p = zeros({2}, requires_grad());
  Sign sign({p});
  p.mutable_grad() = tensor({3.0f, -2.0f});
  sign.step();
  CHECK(values(p) == std::vector<double>{-0.5, 0.5});
  sign.zero_grad();
  CHECK(!p.grad().defined());
}

TEST_CASE("schedulers give PyTorch's rates") {
  using namespace optim;
  const auto held = [&](const std::string& name, auto make, size_t late = 0) {
    CAPTURE(name);
    Tensor a = zeros({1}, requires_grad()), b = zeros({1}, requires_grad());
    std::vector<OptimizerParamGroup> groups;
    groups.emplace_back(std::vector<Tensor>{a});
    groups.emplace_back(std::vector<Tensor>{b}, std::make_unique<SGDOptions>(0.5));
    SGD sgd(groups, SGDOptions(1.0).momentum(0.9));
    auto scheduler = make(sgd);
    if constexpr (requires { scheduler.step(); })
      for (size_t i = 0; i < late; ++i) scheduler.step();
    const json& metrics = training_golden()["metrics"];
    size_t i = 0;
    for (const json& row : training_golden()["schedules"][name]) {
      auto& first = static_cast<SGDOptions&>(sgd.param_groups()[0].options());
      CHECK(first.lr() == doctest::Approx(row[0].get<double>()).epsilon(1e-14));
      CHECK(sgd.param_groups()[1].options().get_lr() == doctest::Approx(row[1].get<double>()).epsilon(1e-14));
      if (row.size() > 2) CHECK(first.momentum() == doctest::Approx(row[2].get<double>()).epsilon(1e-14));
      if constexpr (requires { scheduler.step(1.0f); }) scheduler.step(metrics[i % metrics.size()]);
      else scheduler.step();
      ++i;
    }
  };
  held(
      "StepLR", [](SGD& o) { return StepLR(o, 3, 0.5); }, 1);
  held("MultiStepLR", [](SGD& o) { return MultiStepLR(o, {2, 5, 5, 11}, 0.3); });
  held("ExponentialLR", [](SGD& o) { return ExponentialLR(o, 0.9); });
  held("CosineAnnealingLR", [](SGD& o) { return CosineAnnealingLR(o, 7, 0.01); });
  held("LambdaLR", [](SGD& o) { return LambdaLR(o, [](int64_t epoch) { return 1.0 / static_cast<double>(1 + epoch); }); });
  held("OneCycleLR", [](SGD& o) { return OneCycleLR(o, OneCycleLROptions(2.0, 24)); });
  held("OneCycleLR linear", [](SGD& o) {
    return OneCycleLR(o, OneCycleLROptions({2.0, 3.0}, 24).anneal_strategy(OneCycleLROptions::linear).three_phase(true));
  });
  held("ReduceLROnPlateau", [](SGD& o) {
    return ReduceLROnPlateau(o, ReduceLROnPlateau::min, 0.5, 2, 1e-4, ReduceLROnPlateau::rel, 1, {0.25f, 0.25f});
  });
  Tensor p = zeros({1}, requires_grad());
  SGD sgd({p}, 1.0);
  CHECK(error_of([&] { ReduceLROnPlateau(sgd, ReduceLROnPlateau::min, 1.5); }) == "Factor should be < 1.0.");
  OneCycleLR cycle(sgd, OneCycleLROptions(1.0, 2));
  cycle.step();
  cycle.step();
  CHECK(error_of([&] { cycle.step(); }) == "Tried to step 3 times. The specified number of total steps is 2");
}

TEST_CASE("a cycle moves what the options name as their momentum") {
  using namespace optim;
  Tensor p = zeros({1}, requires_grad());
  Adam adam({p});
  RMSprop rmsprop({p});
  const OneCycleLR cycles[] = {OneCycleLR(adam, OneCycleLROptions(1.0, 9)), OneCycleLR(rmsprop, OneCycleLROptions(1.0, 9))};
  CHECK(std::get<0>(adam.options().betas()) == 0.95);
  CHECK(std::get<1>(adam.options().betas()) == 0.999);
  CHECK(rmsprop.options().momentum() == 0.95);
  Adagrad adagrad({p});
  CHECK(error_of([&] { OneCycleLR(adagrad, OneCycleLROptions(1.0, 9)); }) ==
        "optimizer must support momentum or beta1 with `cycle_momentum` option enabled");
  struct Options : OptimizerCloneableOptions<Options> {
    TENON_ARG(double, lr) = 0.5;
    TENON_ARG(double, speed) = 0.1;
    double get_lr() const override { return lr_; }
    void set_lr(double lr) override { lr_ = lr; }
    double* cycled_momentum() override { return &speed_; }
  };
  struct Own : Optimizer {
    explicit Own(std::vector<Tensor> p) : Optimizer(std::move(p), std::make_unique<Options>()) {}
    Tensor step(LossClosure) override { return Tensor(); }
  };
  Own own({p});
  const OneCycleLR cycle(own, OneCycleLROptions(1.0, 9));
  CHECK(static_cast<Options&>(own.param_groups()[0].options()).speed() == 0.95);
}

TEST_CASE("LBFGS walks through Rosenbrock's valley as PyTorch's does") {
  for (const json& c : training_golden()["lbfgs"]) {
    CAPTURE(c.dump());
    const int64_t size = c["size"];
    Tensor x = full({size}, 0.5, kDouble);
    x.index_put_({0}, -1.5);
    x.index_put_({1}, 2.0);
    x.set_requires_grad(true);
    optim::LBFGSOptions options(c["line_search"].is_null() ? 0.002 : 1);
    options.max_iter(4).history_size(5);
    if (!c["line_search"].is_null()) options.line_search_fn("strong_wolfe");
    optim::LBFGS optimizer({x}, options);
    int calls = 0;
    const auto closure = [&] {
      ++calls;
      const NoGradGuard no_grad;
      const Tensor left = x.slice(0, 0, size - 1), right = x.slice(0, 1), rest = right - left.square();
      Tensor grad = zeros_like(x);
      grad.slice(0, 0, size - 1).add_(-400 * left * rest - 2 * (1 - left));
      grad.slice(0, 1).add_(200 * rest);
      x.mutable_grad() = grad;
      return (100 * rest.square() + (1 - left).square()).sum();
    };
    for (const json& place : c["places"]) {
      CHECK(optimizer.step(closure).item<double>() == doctest::Approx(place[0].get<double>()).epsilon(1e-7));
      CHECK(calls == place[1].get<int>());
      for (int64_t i = 0; i < size; ++i)
        CHECK(x[i].item<double>() == doctest::Approx(place[static_cast<size_t>(i) + 2].get<double>()).epsilon(1e-7));
    }
  }
  Tensor a = zeros({1}, requires_grad());
  CHECK(error_of([&] { optim::LBFGS({a}).step(); }) == "LBFGS requires a closure function");
}

TEST_CASE("all steps have the first one's plan, whatever the rate, the count and the batch") {
  for (const json& c : training_golden()["optimizers"]) {
    CAPTURE(c["name"]);
    CAPTURE(c["defaults"].dump());
    const int first = c["defaults"].value("dampening", 0.0) != 0 ? 2 : 1;  // whose momentum begins otherwise
    const std::vector<Tensor> p = parameters();
    eval(p);
    const auto optimizer = make(p, c);
    optim::CosineAnnealingLR schedule(*optimizer, 50, 1e-4);
    std::vector<Tensor> gradients(4);
    for (size_t j = 0; j < p.size(); ++j) gradients[j] = gradient(p[j].sizes().vec(), 0, 0);
    eval(gradients);
    Counters begin;
    for (int step = 0; step < 100; ++step) {
      if (step == first) begin = counters();
      for (size_t j = 0; j < p.size(); ++j) p[j].mutable_grad() = gradients[j] * (0.3 + step);
      optimizer->step();
      schedule.step();
    }
    const Counters end = counters();
    CHECK(end.plans_built == begin.plans_built);
    CHECK(end.kernels_compiled == begin.kernels_compiled);
    CHECK(end.disk_hits == begin.disk_hits);
    CHECK(end.plan_hits - begin.plan_hits == 100 - first);  // a step is one graph
  }
}

TEST_CASE("the second step of a new network has the first one's plan, running statistics too") {
  manual_seed(5);
  nn::Sequential net(nn::Linear(6, 8), nn::BatchNorm1d(8), nn::ReLU(), nn::Linear(8, 3), nn::LayerNorm(nn::LayerNormOptions({3})));
  optim::AdamW optimizer(net->parameters());
  const Tensor x = randn({7, 6}), y = randint(3, {7});
  const auto step = [&] {
    optimizer.zero_grad();
    nn::functional::cross_entropy(net->forward(x), y).backward();
    optimizer.step();
  };
  step();
  const Counters first = counters();
  step();
  CHECK(counters().plans_built == first.plans_built);
}

TEST_CASE("an optimizer and a scheduler that were loaded go on as if nothing had happened") {
  for (const json& c : training_golden()["optimizers"]) {
    CAPTURE(c["name"]);
    const std::vector<Tensor> p = parameters(), q = parameters();
    const auto first = make(p, c), second = make(q, c);
    optim::ExponentialLR one(*first, 0.7), two(*second, 0.7);
    for (int64_t k = 0; k < 3; ++k) {
      one_step(*first, p, k);
      one.step();
    }
    serialize::OutputArchive out, of_scheduler;
    out << *first;
    one.save(of_scheduler);
    serialize::InputArchive in(out), in_scheduler(of_scheduler);
    in >> *second;
    two.load(in_scheduler);
    const NoGradGuard no_grad;
    for (size_t j = 0; j < p.size(); ++j) q[j].copy_(p[j]);
    for (int64_t k = 3; k < 6; ++k) {
      one_step(*first, p, k);
      one_step(*second, q, k);
      one.step();
      two.step();
    }
    for (size_t j = 0; j < p.size(); ++j) CHECK(equal(p[j], q[j]));
    CHECK(one.get_last_lr() == two.get_last_lr());
  }
  Tensor a = zeros({1}, requires_grad()), b = zeros({1}, requires_grad());
  optim::Adam one({a}), two({a, b});
  serialize::OutputArchive out;
  out << one;
  serialize::InputArchive in(out);
  CHECK(error_of([&] { in >> two; }) ==
        "'group.0.params': loaded state dict contains a parameter group that doesn't match the size of optimizer's group: 1 "
        "parameters, and the optimizer's has 2");
}

namespace {

// Steps of a parameter that is a tensor of its own, and of one that shows a part of another: the former's are made from a template from
// the third on, the latter's are recorded operation by operation. By each step so many writes to both.
template <typename Optimizer, typename Options>
void check_templates(const Options& options, int64_t writes, ScalarType type) {
  const Tensor start = eighths({3, 4}, 5, 3, 13).to(type);
  Tensor whole = start.clone().set_requires_grad(true);
  Tensor memory = zeros({2, 3, 4}, type);
  memory[1].copy_(start);
  Tensor part = memory.detach()[1].detach().set_requires_grad(true);
  Optimizer one({whole}, options), two({part}, options);
  for (int64_t k = 0; k < 6; ++k) {
    for (Tensor* p : {&whole, &part}) p->mutable_grad() = gradient({3, 4}, 1, k).to(type);
    for (optim::Optimizer* o : {static_cast<optim::Optimizer*>(&one), static_cast<optim::Optimizer*>(&two)})
      o->param_groups()[0].options().set_lr(std::vector<double>{0.1, 0.2, 1.0, 0.0, 0.25, 0.3}[static_cast<size_t>(k)]);
    const int64_t of_whole = whole._version(), of_part = part._version();
    one.step();
    two.step();
    CHECK(allclose(whole, part, 0, 0, true));  // of halves eps may be 0
    CHECK(whole._version() - of_whole == writes);
    CHECK(part._version() - of_part == writes);
  }
}

}  // namespace

TEST_CASE("optim: a step from a template is the step operation by operation, bits and versions") {
  for (const ScalarType type : {kFloat, kDouble, kHalf}) {
    using optim::AdamOptions, optim::AdamWOptions;
    check_templates<optim::Adam>(AdamOptions(), 1, type);
    check_templates<optim::Adam>(AdamOptions().weight_decay(0.1).amsgrad(true), 1, type);
    check_templates<optim::Adam>(AdamOptions().betas({0.0, 0.5}).eps(1.0), 1, type);
    check_templates<optim::AdamW>(AdamWOptions().weight_decay(0.1), 2, type);
    check_templates<optim::AdamW>(AdamWOptions().weight_decay(0).amsgrad(true), 1, type);
    check_templates<optim::SGD>(optim::SGDOptions(0.1).weight_decay(0.1), 1, type);
    check_templates<optim::SGD>(optim::SGDOptions(0.1).momentum(0.9).dampening(0.5), 1, type);
    check_templates<optim::SGD>(optim::SGDOptions(0.1).momentum(0.9).nesterov(true), 1, type);
    check_templates<optim::RMSprop>(optim::RMSpropOptions().eps(0.1).weight_decay(0.1), 1, type);
    check_templates<optim::RMSprop>(optim::RMSpropOptions().eps(0.1).centered(true).momentum(0.5), 1, type);
    check_templates<optim::Adagrad>(optim::AdagradOptions().eps(0.1).lr_decay(0.1).weight_decay(0.1), 1, type);
  }
}

TEST_CASE("optim: threads that train side by side have the bits of one that trains alone") {
  constexpr int64_t kThreads = 4, kSteps = 40;
  // Each with gradients of its own formula, so that templates are made, found and used by all of them at once.
  const auto train = [](int64_t j) {
    Tensor w = parameter({4, 3}, j), b = parameter({3}, j);
    optim::Adam adam({w, b}, 0.05);
    const Tensor x = gradient({5, 4}, j, 1);
    for (int64_t k = 0; k < kSteps; ++k) {
      adam.zero_grad();
      (x.matmul(w) + b).sigmoid().square().sum().backward();
      adam.step();
    }
    return std::vector<Tensor>{w, b};
  };
  std::vector<std::vector<Tensor>> together(kThreads);
  std::vector<std::thread> threads;
  for (int64_t j = 0; j < kThreads; ++j) threads.emplace_back([&, j] { together[static_cast<size_t>(j)] = train(j); });
  for (std::thread& thread : threads) thread.join();
  for (int64_t j = 0; j < kThreads; ++j) {
    const std::vector<Tensor> alone = train(j);
    for (size_t i = 0; i < alone.size(); ++i) CHECK(equal(alone[i], together[static_cast<size_t>(j)][i]));
  }
}

TEST_CASE("optim: pending work is counted whether a step is recorded or made from a template") {
  Config config = get_config();
  const int64_t before = config.max_pending_nodes;
  config.max_pending_nodes = 20;
  set_config(config);
  std::vector<Tensor> parameters;
  for (int64_t j = 0; j < 4; ++j) parameters.push_back(parameter({3, 4}, j));
  optim::Adam adam(parameters);
  int64_t evaluations[4];
  for (int64_t& count : evaluations) {
    for (Tensor& p : parameters) p.mutable_grad() = gradient({3, 4}, 1, 2);
    eval(parameters[0].grad());
    const Counters start = counters();
    adam.step();
    const Counters end = counters();
    count = end.plans_built + end.plan_hits - start.plans_built - start.plan_hits;
  }
  CHECK(evaluations[3] > 1);
  config.max_pending_nodes = before;
  set_config(config);
}

TEST_CASE("an optimizer may begin without parameters") {
  const Tensor p = ones({2}, requires_grad());
  optim::SGD sgd(std::vector<Tensor>{}, 0.5);
  sgd.add_parameters({p});
  p.sum().backward();
  sgd.step();
  CHECK(values(p) == std::vector<double>{0.5, 0.5});
  optim::LBFGS lbfgs(std::vector<Tensor>{});
  CHECK(error_of([&] { lbfgs.step([] { return zeros({}); }); }) == "optimizer got an empty parameter list");
  lbfgs.add_parameters({p});
  lbfgs.step([&] {
    lbfgs.zero_grad();
    Tensor loss = p.square().sum();
    loss.backward();
    return loss;
  });
  CHECK(p.abs().max().item<float>() < 0.5f);
  optim::SGD none(std::vector<OptimizerParamGroup>{}, 0.5);
  CHECK(error_of([&] { none.options(); }) == "the optimizer has no parameter group: add_param_group() gives it one");
}

TEST_CASE("Adagrad has its states from the start; states are equal if their numbers and values are") {
  const Tensor p = ones({2}, requires_grad());
  optim::Adagrad adagrad({p}, optim::AdagradOptions(1).initial_accumulator_value(2));
  REQUIRE(adagrad.state().size() == 1);
  auto& state = static_cast<optim::AdagradParamState&>(*adagrad.state()[p.unsafe_impl()]);
  CHECK(values(state.sum()) == std::vector<double>{2, 2});
  optim::AdamParamState a, b;
  CHECK(a == b);
  a.step(3).exp_avg(ones({2})).exp_avg_sq(zeros({2}));
  b.step(3).exp_avg(ones({2})).exp_avg_sq(zeros({2}));
  CHECK(a == b);
  b.exp_avg()[1] = 2;
  CHECK_FALSE(a == b);
  b.exp_avg(Tensor());
  CHECK_FALSE(a == b);
  b.exp_avg(ones({2}, kDouble));
  CHECK_FALSE(a == b);
}

}  // namespace tenon
