// The library against golden data made with PyTorch: values of operators, printed forms, error messages,
// result types.
#include <tenon/tenon.h>

#include <doctest/doctest.h>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include "frontend/python/compare.h"
#include "frontend/python/python.h"

using nlohmann::json;
using python::difference;
using python::flat;
using python::Unsupported;
using tenon::ScalarType;
using tenon::Tensor;

namespace {

std::string read(const std::string& name) {
  std::ifstream in(std::string(TENON_TEST_DATA) + "/" + name, std::ios::binary);
  REQUIRE(in.good());
  return {std::istreambuf_iterator<char>(in), {}};
}
json load(const std::string& name) { return json::parse(read(name)); }

const std::vector<std::string> kNames = {"bool",  "uint8",   "int8",     "int16",   "int32",
                                         "int64", "float16", "bfloat16", "float32", "float64"};
ScalarType type_of(const std::string& name) {
  for (size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == name) return static_cast<ScalarType>(i);
  }
  FAIL("unknown dtype " << name);
  return tenon::kFloat;
}

// A tensor of the packed data, in memory of its own.
Tensor packed(const json& entry, std::string& blob) {
  const std::vector<int64_t> shape = entry["shape"];
  return tenon::from_blob(blob.data() + entry["at"].get<size_t>(), shape, type_of(entry["dtype"])).clone();
}

}  // namespace

TEST_CASE("operators give PyTorch's values") {
  const json cases = load("ops.json");
  std::string blob = read("ops.bin");
  for (const json& c : cases) {
    const std::string name = c["name"], expression = c["expr"];
    CAPTURE(name);
    CAPTURE(expression);
    python::Variables variables;
    for (size_t i = 0; i < c["inputs"].size(); ++i)
      variables["x" + std::to_string(i)] = packed(c["inputs"][i], blob);
    try {
      const std::vector<Tensor> got = flat(python::run(expression, variables));
      REQUIRE(got.size() == c["outputs"].size());
      for (size_t i = 0; i < got.size(); ++i) {
        const std::string wrong = difference(got[i], packed(c["outputs"][i], blob), c["rtol"], c["atol"],
                                             name.find("_signzero") != std::string::npos);
        CHECK_MESSAGE(wrong.empty(), wrong);
      }
    } catch (const std::exception& e) {
      FAIL_CHECK(std::string(e.what()));
    }
  }
}

TEST_CASE("tensors print as in Python") {
  int covered = 0;
  for (const json& c : load("repr.json")) {
    if (!c.contains("repr")) continue;
    const std::string code = c["code"];
    CAPTURE(code);
    const size_t grad = code.find("requires_grad=True)");  // what is computed from it has a grad_fn
    if (code.find("nn.") != std::string::npos || (grad != std::string::npos && grad + 19 < code.size()))
      continue;
    std::string want = c["repr"];
    for (size_t at; (at = want.find("torch.")) != std::string::npos;) want.replace(at, 6, "tenon.");
    try {
      const python::Value v = python::run(code);
      std::string got;
      if (v.is<Tensor>())
        got = tenon::repr(v.as<Tensor>());
      else if (v.is<ScalarType>())
        got = tenon::repr(v.as<ScalarType>());
      else if (v.is<tenon::Device>())
        got = tenon::repr(v.as<tenon::Device>());
      else
        continue;
      CHECK(got == want);
      ++covered;
    } catch (const Unsupported&) {
    } catch (const tenon::Error& e) {
      CHECK_MESSAGE(code.find("meta") != std::string::npos, e.what());
    }
  }
  MESSAGE("printed forms compared: " << covered);
  CHECK(covered >= 100);
}

TEST_CASE("mistakes get PyTorch's message and type") {
  const std::map<std::string, int> kinds = {{"IndexError", 1}, {"TypeError", 2}, {"ValueError", 3}};
  // 1.13 texts that PyTorch 2 replaced, or that name what is not in the expression.
  const std::map<std::string, std::string> replaced = {
      {"only one element tensors can be converted to Python scalars", "cannot be converted to Scalar"}};
  int covered = 0, unsupported = 0;
  for (const json& c : load("errors.json")) {
    const std::string code = c["code"];
    CAPTURE(code);
    try {
      const python::Value v = python::run(code);
      if (v.is<Tensor>()) tenon::repr(v.as<Tensor>());
      if (c.contains("ok"))
        ++covered;
      else if (code.find("float16") == std::string::npos)
        FAIL_CHECK("no error; expected " << c["message"]);
    } catch (const Unsupported&) {
      ++unsupported;
    } catch (const std::bad_variant_access&) {
      ++unsupported;
    } catch (const tenon::Error& e) {
      const std::string got = e.what(), want = c.value("message", "(no error)");
      const int kind = dynamic_cast<const tenon::IndexError*>(&e)   ? 1
                       : dynamic_cast<const tenon::TypeError*>(&e)  ? 2
                       : dynamic_cast<const tenon::ValueError*>(&e) ? 3
                                                                    : 0;
      const auto it = replaced.find(want);
      if (it != replaced.end()) {
        CHECK(got.find(it->second) != std::string::npos);
      } else {
        CHECK(got == want);
        const auto expected = kinds.find(c.value("type", ""));
        CHECK(kind == (expected == kinds.end() ? 0 : expected->second));
      }
      ++covered;
    }
  }
  MESSAGE("messages compared: " << covered << ", not expressible yet: " << unsupported);
  CHECK(covered >= 100);
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

// Types that PyTorch 1.13 has no CPU kernel for and this library has.
bool only_in_newer(const std::string& want) {
  return want.find("'Half'") != std::string::npos || want.find("'BFloat16'") != std::string::npos;
}

void check_type(const std::string& expression, const python::Variables& variables, const std::string& want,
                int& count) {
  CAPTURE(expression);
  const bool refused = want.starts_with("ERROR");
  const bool bits = expression.find('&') != std::string::npos || expression.find("<<") != std::string::npos;
  if (refused && !bits && only_in_newer(want)) return;
  std::string got;
  try {
    const auto values = flat(python::run(expression, variables));
    got = kNames[static_cast<size_t>(values[0].scalar_type())];
  } catch (const tenon::TypeError& e) {
    got = std::string("ERROR TypeError: ") + e.what();
  } catch (const tenon::Error& e) {
    got = std::string("ERROR RuntimeError: ") + e.what();
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
              if (op == "floor_divide") continue;  // LibTorch has no number // tensor
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
  const std::vector<std::string> later = {"cumsum", "cumprod", "median", "sort", "nonzero"};
  int count = 0;
  for (const auto& [op, types] : data["unary_and_reductions"].items()) {
    if (std::find(later.begin(), later.end(), op) != later.end()) continue;
    for (const auto& [type, want] : types.items()) {
      const python::Variables v = {{"x", tenon::ones({4}, type_of(type))}};
      check_type("torch." + op + (op == "logsumexp" ? "(x, 0)" : "(x)"), v, want, count);
    }
  }
  CHECK(count > 350);
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
        const tenon::Scalar number = j == 0   ? tenon::Scalar(true)
                                     : j == 1 ? tenon::Scalar(1)
                                              : tenon::Scalar(1.5);
        const ScalarType got = kind.ends_with("_py") ? tenon::result_type(a, number)
                                                     : tenon::result_type(a, of(j, kind == "dim_dim"));
        CHECK(kNames[static_cast<size_t>(got)] == matrix[i][j].get<std::string>());
      }
    }
  }
  for (size_t i = 0; i < kNames.size(); ++i) {
    for (size_t j = 0; j < kNames.size(); ++j) {
      CHECK(tenon::canCast(static_cast<ScalarType>(i), static_cast<ScalarType>(j)) ==
            data["can_cast"][i][j].get<bool>());
    }
  }
}
