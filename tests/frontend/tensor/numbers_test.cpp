// Numbers at the edges of dtypes: bounds and fills that do not fit, numbers beside 16-bit floats, operations
// that a dtype lacks, streams of random numbers. The answers are PyTorch's (scripts/golden/make_numbers.py).
#include <doctest/doctest.h>
#include <tenon/tenon.h>

#include <cmath>
#include <cstdint>
#include <limits>

#include "frontend/golden.h"
#include "frontend/python/python.h"

using nlohmann::json;
using tenon::Tensor;

namespace {

constexpr const char* kNames[] = {"bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64"};
constexpr int kDigits[] = {11, 8, 24, 53};  // of the float types

double number_of(const json& v) {
  if (v.is_boolean()) return v.get<bool>();
  if (!v.is_string()) return v.get<double>();
  const std::string name = v;
  return name == "nan" ? std::nan("") : (name == "inf" ? 1 : -1) * std::numeric_limits<double>::infinity();
}

// Units in the last place of `want` between two numbers; zeros of either sign are equal.
double distance(double got, double want, int digits) {
  if (got == want || (std::isnan(got) && std::isnan(want))) return 0;
  if (!std::isfinite(got) || !std::isfinite(want)) return std::numeric_limits<double>::infinity();
  int exponent = 0;
  std::frexp(want, &exponent);
  return std::abs(got - want) / std::ldexp(1.0, exponent - digits);
}

// What is wrong with the result, or an empty text.
std::string difference(const Tensor& got, const json& want, double ulp) {
  const std::string type = kNames[static_cast<size_t>(got.scalar_type())];
  if (type != want["type"].get<std::string>()) return "dtype " + type;
  if (got.sizes().vec() != want["shape"].get<std::vector<int64_t>>()) return "another shape";
  const Tensor flat = got.detach().contiguous().reshape({-1});
  const Tensor values = got.is_floating_point() ? flat.to(tenon::kDouble) : flat.to(tenon::kLong);
  for (int64_t i = 0; i < values.numel(); ++i) {
    const json& element = want["values"][static_cast<size_t>(i)];
    bool same;
    if (got.is_floating_point()) {
      const int digits = kDigits[static_cast<int>(got.scalar_type()) - static_cast<int>(tenon::kHalf)];
      same = distance(values.data_ptr<double>()[i], number_of(element), digits) <= ulp;
    } else {
      same = values.data_ptr<int64_t>()[i] == (element.is_boolean() ? element.get<bool>() : element.get<int64_t>());
    }
    if (!same) return tenon::repr(got) + ", expected " + want["values"].dump();
  }
  return "";
}

template <typename Kind>
bool is(const tenon::Error& e) {
  return dynamic_cast<const Kind*>(&e) != nullptr;
}
std::string kind_of(const tenon::Error& e) {
  return is<tenon::NotImplementedError>(e) ? "NotImplementedError"
         : is<tenon::IndexError>(e)        ? "IndexError"
         : is<tenon::TypeError>(e)         ? "TypeError"
         : is<tenon::ValueError>(e)        ? "ValueError"
                                           : "RuntimeError";
}

std::string check(const json& c, double ulp) {
  try {
    const Tensor got = python::run(c["code"]).as<Tensor>();
    if (c.contains("error")) return "no error, expected " + c["error"].get<std::string>();
    return difference(got, c, ulp);
  } catch (const tenon::Error& e) {
    const std::string what = e.what(), got = kind_of(e) + ": " + what.substr(0, what.find('\n'));
    const std::string want = c.contains("error") ? c["error"].get<std::string>() + ": " + c["text"].get<std::string>() : "";
    return got == want ? "" : got + "\n    expected " + want;
  } catch (const std::exception& e) {
    return std::string("no error of the library: ") + e.what();
  }
}

}  // namespace

TEST_CASE("numbers: what does not fit, what is rounded and what a dtype lacks are PyTorch's") {
  const json groups = golden::load("numbers.json");
  int count = 0;
  for (const auto& [name, group] : groups.items()) {
    for (const json& c : group["cases"]) {
      const std::string wrong = check(c, group["ulp"]);
      CHECK_MESSAGE(wrong.empty(), name << ": " << c["code"].get<std::string>() << "\n    " << wrong);
      ++count;
    }
  }
  CHECK(count > 1000);
}

namespace {

template <typename Call>
void expect_error(Call call) {
  CHECK_THROWS_AS(call(), tenon::Error);
}

}  // namespace

TEST_CASE("of zeros of two signs a choice between two tensors is the first, and a position that of the first") {
  for (const float first : {0.0f, -0.0f}) {
    CAPTURE(std::signbit(first));
    const Tensor a = tenon::full({40}, first), b = -a;
    for (const Tensor& chosen : {minimum(a, b), maximum(a, b), fmin(a, b), fmax(a, b)}) CHECK(signbit(chosen).equal(signbit(a)));
    const Tensor both = tenon::stack({a, b}, 1).flatten();  // one sign and the other by turns
    for (const auto& [value, position] : {min(both, 0), max(both, 0)}) {
      CHECK(value.item<float>() == 0);  // of which sign is open
      CHECK(position.item<int64_t>() == 0);
    }
  }
}

TEST_CASE("nothing but an Error leaves the library, also when a list is longer than memory") {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  const Tensor none = tenon::zeros({0}), x = tenon::ones({4});
  expect_error([&] { return none.chunk(kMost); });
  expect_error([&] { return x.tensor_split(kMost); });
  expect_error([&] { return x.tensor_split(int64_t{1} << 40); });
  expect_error([&] { return x.expand({int64_t{1} << 50, 4}).unbind(); });
  expect_error([&] { return x.expand({int64_t{1} << 50, 4}).split(1); });
  expect_error([&] { return tenon::multinomial(x, kMost, true); });
  expect_error([&] { return tenon::randperm(int64_t{1} << 57); });
  // If nobody has checked an operation's dtype, the graph's error is one of the library as well.
  for (const auto type : {tenon::kBool, tenon::kUInt8, tenon::kLong, tenon::kHalf}) {
    const Tensor a = tenon::ones({2, 2}, type);
    for (auto f : {tenon::mse_loss, tenon::l1_loss, tenon::soft_margin_loss}) {
      try {
        f(a, a, tenon::Reduction::None);
      } catch (const tenon::Error&) {
      }
    }
  }
}

TEST_CASE("a long running sum of floats is as exact as its runs, and a running product stays 0 behind a 0") {
  const Tensor x = tenon::full({1000000}, 0.1, tenon::kFloat);
  const Tensor exact = x.to(tenon::kDouble).cumsum(0);
  for (const Tensor& sums : {x.cumsum(0), x.view({1000000, 1}).expand({1000000, 3}).contiguous().cumsum(0).select(1, 1)}) {
    CHECK(((sums.to(tenon::kDouble) - exact) / exact).abs().max().item<double>() < 2e-6);  // of a plain loop it is 1e-2
  }
  Tensor factors = tenon::full({5000}, 9, tenon::kFloat);
  factors[100] = 0;
  CHECK((factors.cumprod(0).slice(0, 100) == 0).all().item<bool>());
}
