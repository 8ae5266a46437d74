// Anomaly mode: a gradient with a nan is an error that names the operation of the forward pass, and a warning has the calls on which
// that was recorded. The texts are those of PyTorch 2.15 for the same programs.
#include <doctest/doctest.h>
#include <tenon/tenon.h>

#include <cmath>
#include <functional>
#include <limits>

#include "frontend/values.h"

namespace tenon {
namespace {

using autograd::AnomalyMode, autograd::DetectAnomalyGuard;
using test::error_of, test::values;

struct Collect : WarningHandler {
  std::vector<std::string> texts;
  void process(const Warning& warning) override { texts.push_back(warning.msg()); }
};

constexpr float kInf = std::numeric_limits<float>::infinity(), kNan = std::numeric_limits<float>::quiet_NaN();
Tensor leaf(std::vector<float> numbers) { return tensor(numbers).set_requires_grad(true); }

struct GivesNan : autograd::Function<GivesNan> {
  static Tensor forward(autograd::AutogradContext*, const Tensor& x) { return x.clone(); }
  static autograd::tensor_list backward(autograd::AutogradContext*, autograd::tensor_list grads) { return {grads[0] * kNan}; }
};

struct Case {
  const char* what;
  std::function<Tensor()> loss;
  const char* function;  // the one whose gradient has the nan, and
  int output;            // which
};
const Case kCases[] = {
    {"a root of a negative number",
     [] {
       return leaf({-1, 4}).sqrt().sum();
     },
     "SqrtBackward0", 0},
    {"a logarithm of 0 that is multiplied with 0",
     [] {
       return (leaf({0, 1}).log() * 0).sum();
     },
     "LogBackward0", 0},
    {"0 / 0, the divisor's", [] { return (tensor({0.0f}) / leaf({0})).sum(); }, "DivBackward0", 1},
    {"0 times infinity", [] { return (leaf({0}) * tensor({kInf}) * 0).sum(); }, "MulBackward0", 0},
    {"a power of a negative number", [] { return leaf({-2}).pow(leaf({1.5})).sum(); }, "PowBackward1", 0},
    {"a branch that is not taken",
     [] {
       Tensor x = leaf({0});
       return where(x > 0, x.sqrt(), zeros({1})).sum();
     },
     "SqrtBackward0", 0},
    {"a function of one's own", [] { return GivesNan::apply(leaf({1})).sum(); }, "GivesNan", 0},
};

}  // namespace

TEST_CASE("anomaly mode names the operation of the forward pass whose gradient has a nan") {
  for (const Case& c : kCases) {
    CAPTURE(std::string(c.what));
    Collect handler;
    const WarningUtils::WarningHandlerGuard to_handler(&handler);
    const DetectAnomalyGuard guard;
    const Tensor loss = c.loss();
    const std::string error = error_of([&] { loss.backward(); });
    CAPTURE(error);
    const std::string name = error.substr(0, error.find("' returned"));
    CHECK(name.starts_with("Function '"));
    CHECK(name.find(c.function) != std::string::npos);
    CHECK(error.ends_with(" returned nan values in its " + std::to_string(c.output) + "th output."));
    REQUIRE(handler.texts.size() == 1);
    CAPTURE(handler.texts[0]);
    const std::string begin = "Error detected in " + name.substr(10) + ". Traceback of forward call that caused the error:\n  #0 ";
    CHECK(handler.texts[0].starts_with(begin));
    CHECK(handler.texts[0].find("test_") != std::string::npos);  // a frame of this program
  }
}

TEST_CASE("a nan in a loss: silent by itself, an error in anomaly mode") {
  const auto loss_of = [](const Tensor& x) { return nn::functional::cross_entropy(x.reshape({1, 2}), tensor({0})); };
  const Tensor x = leaf({kNan, 1});
  loss_of(x).backward();
  CHECK(std::isnan(values(x.grad())[0]));
  const DetectAnomalyGuard guard;
  Collect handler;
  const WarningUtils::WarningHandlerGuard to_handler(&handler);
  const Tensor loss = loss_of(x);
  CHECK(error_of([&] { loss.backward(); }).find("returned nan values in its 0th output.") != std::string::npos);
  // A step with such a gradient changes nothing that the program did not ask for: the guard stopped it.
  CHECK(handler.texts.size() == 1);
}

TEST_CASE("anomaly mode: what was recorded before it has no calls to show; nan need not be looked for; it ends with its guard") {
  Collect handler;
  const WarningUtils::WarningHandlerGuard to_handler(&handler);
  const Tensor before = leaf({-1}).sqrt().sum();
  {
    const DetectAnomalyGuard guard;
    CHECK(error_of([&] { before.backward(); }) == "Function 'SqrtBackward0' returned nan values in its 0th output.");
    CHECK(handler.texts.back() ==
          "Error detected in SqrtBackward0. No forward pass information available. Enable detect anomaly during forward pass for more "
          "information.");
    {
      const DetectAnomalyGuard inner(false);
      CHECK(!AnomalyMode::should_check_nan());
      CHECK(error_of([] { leaf({-1}).sqrt().sum().backward(); }) == "no error");
    }
    CHECK(AnomalyMode::should_check_nan());
  }
  CHECK(!AnomalyMode::is_enabled());
  CHECK(error_of([] { leaf({-1}).sqrt().sum().backward(); }) == "no error");
  CHECK(handler.texts.size() == 1);
  autograd::set_detect_anomaly(true);
  CHECK(AnomalyMode::is_enabled());
  autograd::set_detect_anomaly(false);
}

TEST_CASE("anomaly mode names the operation for any error of the backward pass, and its hint says where to look") {
  const auto written = [] {
    const Tensor x = leaf({1});
    Tensor y = x.exp();
    const Tensor loss = (y * y).sum();
    {
      const NoGradGuard no_grad;
      y.add_(1);
    }
    return error_of([&] { loss.backward(); });
  };
  CHECK(
      written().ends_with("Hint: enable anomaly detection to find the operation that failed to compute its gradient, with "
                          "autograd::set_detect_anomaly(true)."));
  Collect handler;
  const WarningUtils::WarningHandlerGuard to_handler(&handler);
  const DetectAnomalyGuard guard;
  CHECK(
      written().ends_with("Hint: the backtrace further above shows the operation that failed to compute its gradient. The variable "
                          "in question was changed in there or anywhere later. Good luck!"));
  REQUIRE(handler.texts.size() == 1);
  CHECK(handler.texts[0].starts_with("Error detected in MulBackward0. Traceback of forward call that caused the error:"));
}

TEST_CASE("a nan in a gradient's gradient names what induced it") {
  Collect handler;
  const WarningUtils::WarningHandlerGuard to_handler(&handler);
  const DetectAnomalyGuard guard;
  const Tensor x = leaf({0});
  const Tensor g = autograd::grad({x.pow(1.5).sum()}, {x}, {}, true, true)[0];
  const std::string error = error_of([&] { (g * 0).sum().backward(); });
  CHECK(error.find("returned nan values") != std::string::npos);
  REQUIRE(handler.texts.size() == 2);
  CHECK(handler.texts[0].starts_with("Error detected in "));
  CHECK(handler.texts[1].find("Previous calculation was induced by PowBackward0. Traceback of forward call that induced the previous "
                              "calculation:") != std::string::npos);
}

TEST_CASE("backward with create_graph says what it leaves behind") {
  Collect handler;
  const WarningUtils::WarningHandlerGuard to_handler(&handler);
  const Tensor x = leaf({1});
  x.square().sum().backward({}, nullopt, true);
  REQUIRE(handler.texts.size() == 1);
  CHECK(handler.texts[0].starts_with("Using backward() with create_graph=True will create a reference cycle"));
  x.mutable_grad() = Tensor();
}

}  // namespace tenon
