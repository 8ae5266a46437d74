// The library against golden data made with PyTorch: values of operators, result types.
#include <tenon/tenon.h>

#include <doctest/doctest.h>

#include "frontend/golden.h"
#include "frontend/python/compare.h"
#include "frontend/python/python.h"

using golden::kDtypeNames;
using golden::load;
using golden::packed;
using golden::read;
using golden::type_of;
using nlohmann::json;
using python::difference;
using python::flat;
using tenon::ScalarType;
using tenon::Tensor;

TEST_CASE("golden: operators give PyTorch's values") {
  const json cases = load("ops.json"), deviations = load("deviations.json");
  std::string blob = read("ops.bin");
  size_t covered = 0;
  for (const json& c : cases) {
    const std::string name = c["name"], expression = c["expr"];
    CAPTURE(name);
    CAPTURE(expression);
    python::Variables variables;
    for (size_t i = 0; i < c["inputs"].size(); ++i) variables["x" + std::to_string(i)] = packed(c["inputs"][i], blob);
    try {
      const std::vector<Tensor> got = flat(python::run(expression, variables));
      REQUIRE(got.size() == c["outputs"].size());
      bool right = true;
      for (size_t i = 0; i < got.size(); ++i) {
        Tensor want = packed(c["outputs"][i], blob);
        if (deviations.contains(name)) want = tenon::where(want.isnan(), got[i], want);  // PyTorch's nan is wrong
        const std::string wrong = difference(got[i], want, c["rtol"], c["atol"], name.find("_signzero") != std::string::npos);
        CHECK_MESSAGE(wrong.empty(), wrong);
        right &= wrong.empty();
      }
      covered += right;
    } catch (const std::exception& e) {
      FAIL_CHECK(std::string(e.what()));
    }
  }
  CHECK(covered == cases.size());
  CHECK(covered == 1231);
}

TEST_CASE("golden: gradients are PyTorch's") {
  const json cases = load("ops.json");
  std::string blob = read("ops.bin");
  size_t compared = 0;
  for (const json& c : cases) {
    if (!c.contains("grads")) continue;
    const std::string name = c["name"], expression = c["expr"];
    CAPTURE(name);
    CAPTURE(expression);
    python::Variables variables;
    std::vector<Tensor> inputs, expected, outputs, weights;
    for (size_t i = 0; i < c["inputs"].size(); ++i) {
      const Tensor x = packed(c["inputs"][i], blob);
      const std::string variable = "x" + std::to_string(i);
      variables[variable] = x;
      if (c["grads"][i].is_null()) continue;
      inputs.push_back(x.requires_grad_());
      expected.push_back(packed(c["grads"][i], blob));
      variables[variable] = x.clone();  // may be written
    }
    try {
      const std::vector<Tensor> got = flat(python::run(expression, variables));
      for (size_t i = 0; i < got.size(); ++i) {
        if (c["grad_outputs"][i].is_null() || !got[i].requires_grad()) continue;
        outputs.push_back(got[i]);
        weights.push_back(packed(c["grad_outputs"][i], blob));
      }
      const std::vector<Tensor> gradients = tenon::autograd::grad(outputs, inputs, weights, false, false, true);
      for (size_t i = 0; i < inputs.size(); ++i) {
        const Tensor gradient = gradients[i].defined() ? gradients[i] : tenon::zeros_like(inputs[i]);
        const std::string wrong = difference(gradient, expected[i], c["rtol"], c["atol"], false);
        CHECK_MESSAGE(wrong.empty(), wrong);
      }
      ++compared;
    } catch (const std::exception& e) {
      FAIL_CHECK(std::string(e.what()));
    }
  }
  CHECK(compared == 800);
}

namespace {

const std::map<std::string, std::string> kBinary = {{"add", "a + b"},
                                                    {"sub", "a - b"},
                                                    {"mul", "a * b"},
                                                    {"div", "a / b"},
                                                    {"floor_divide", "a // b"},
                                                    {"remainder", "a % b"},
                                                    {"fmod", "torch.fmod(a, b)"},
                                                    {"pow", "a ** b"},
                                                    {"eq", "a == b"},
                                                    {"lt", "a < b"},
                                                    {"maximum", "torch.maximum(a, b)"},
                                                    {"atan2", "torch.atan2(a, b)"},
                                                    {"logical_and", "torch.logical_and(a, b)"},
                                                    {"bitwise_and", "a & b"},
                                                    {"bitwise_left_shift", "a << b"},
                                                    {"div_trunc", "torch.div(a, b, rounding_mode='trunc')"},
                                                    {"where", "torch.where(m, a, b)"},
                                                    {"cat", "torch.cat([a, b])"},
                                                    {"stack", "torch.stack([a, b])"}};

void check_type(const std::string& expression, const python::Variables& variables, const std::string& want, int& count) {
  CAPTURE(expression);
  std::string got;
  try {
    const auto values = flat(python::run(expression, variables));
    got = kDtypeNames[static_cast<size_t>(values[0].scalar_type())];
  } catch (const tenon::TypeError& e) {
    got = std::string("ERROR TypeError: ") + e.msg();
  } catch (const tenon::NotImplementedError& e) {
    got = std::string("ERROR NotImplementedError: ") + e.msg();
  } catch (const tenon::Error& e) {
    got = std::string("ERROR RuntimeError: ") + e.msg();
  }
  CHECK(got == want);
  ++count;
}

}  // namespace

TEST_CASE("result types of two operands are PyTorch's") {
  const json data = load("promotion.json");
  const Tensor mask = tenon::tensor({true, false});
  const char* numbers[] = {"True", "1", "1.5"};
  int count = 0;
  for (const auto& [op, kinds] : data["binary"].items()) {
    for (const auto& [kind, matrix] : kinds.items()) {
      for (size_t i = 0; i < matrix.size(); ++i) {
        for (size_t j = 0; j < matrix[i].size(); ++j) {
          auto vector = [&](size_t t) { return tenon::ones({2}, static_cast<ScalarType>(t)); };
          auto zero_dim = [&](size_t t) { return tenon::ones({}, static_cast<ScalarType>(t)); };
          std::string expression = kBinary.at(op);
          python::Variables v = {{"m", mask}};
          v["a"] = kind.starts_with("zerodim") ? zero_dim(i) : vector(i);
          if (kind.ends_with("_py") || kind == "py_dim") {
            const std::string name = kind == "py_dim" ? "a" : "b";
            if (kind == "py_dim") {
              v["b"] = vector(i);
            }
            const auto at = expression.find(name + " ") == 0 ? 0 : expression.rfind(name);
            expression.replace(at, 1, numbers[j]);
          } else {
            v["b"] = kind.ends_with("zerodim") ? zero_dim(j) : vector(j);
          }
          check_type(expression, v, matrix[i][j], count);
        }
      }
    }
  }
  MESSAGE("result types compared: " << count);
  CHECK(count > 3500);
}

TEST_CASE("result types of one operand are PyTorch's") {
  const json data = load("promotion.json");
  int count = 0;
  for (const auto& [op, types] : data["unary_and_reductions"].items()) {
    for (const auto& [type, want] : types.items()) {
      const python::Variables v = {{"x", tenon::ones({4}, type_of(type))}};
      check_type("torch." + op + (op == "logsumexp" || op.starts_with("cum") ? "(x, 0)" : "(x)"), v, want, count);
    }
  }
  CHECK(count > 350);
}

TEST_CASE("types of created tensors, and which types may be added in place, are PyTorch's") {
  const json data = load("promotion.json");
  int count = 0;
  const std::map<std::string, std::string> in_words = {{"tensor(np.float64 scalar)", "tensor(1., dtype=torch.float64)"},
                                                       {"one_hot", "nn.functional.one_hot(torch.tensor([1]))"},
                                                       {"zeros_like(int64)", "zeros_like(torch.arange(3))"}};
  for (const auto& [code, want] : data["creation"].items()) {
    const auto it = in_words.find(code);
    check_type("torch." + (it == in_words.end() ? code : it->second), {}, want, count);
  }
  for (size_t i = 0; i < kDtypeNames.size(); ++i) {
    for (size_t j = 0; j < kDtypeNames.size(); ++j) {
      python::Variables v = {{"x", tenon::ones({2}, static_cast<ScalarType>(i))}, {"y", tenon::ones({2}, static_cast<ScalarType>(j))}};
      bool allowed = true;
      try {
        python::run("x.add_(y)", v);
      } catch (const tenon::Error&) {
        allowed = false;
      }
      CHECK_MESSAGE(allowed == data["inplace_add_allowed"][i][j].get<bool>(), kDtypeNames[i] << " += " << kDtypeNames[j]);
    }
  }
}

TEST_CASE("result_type, can_cast") {
  const json data = load("promotion.json");
  auto of = [](size_t t, bool dim) {
    return tenon::ones(dim ? std::vector<int64_t>{2} : std::vector<int64_t>{}, static_cast<ScalarType>(t));
  };
  for (const auto& [kind, matrix] : data["result_type"].items()) {
    for (size_t i = 0; i < matrix.size(); ++i) {
      for (size_t j = 0; j < matrix[i].size(); ++j) {
        const Tensor a = of(i, kind.starts_with("dim"));
        const tenon::Scalar number = j == 0 ? tenon::Scalar(true) : j == 1 ? tenon::Scalar(1) : tenon::Scalar(1.5);
        const ScalarType got = kind.ends_with("_py") ? tenon::result_type(a, number) : tenon::result_type(a, of(j, kind == "dim_dim"));
        CHECK(kDtypeNames[static_cast<size_t>(got)] == matrix[i][j].get<std::string>());
      }
    }
  }
  for (size_t i = 0; i < kDtypeNames.size(); ++i) {
    for (size_t j = 0; j < kDtypeNames.size(); ++j) {
      CHECK(tenon::canCast(static_cast<ScalarType>(i), static_cast<ScalarType>(j)) == data["can_cast"][i][j].get<bool>());
    }
  }
}
