// Functions beyond the golden set of operators: each case of functions_*.inc, a C++ expression over a few
// tensors, against what PyTorch gives for the same text.
#include <doctest/doctest.h>
#include <tenon/tenon.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "frontend/golden.h"
#include "frontend/ops/function_cases.h"

namespace {

using namespace tenon;
using functions::Case;
using functions::kCases;
using functions::kTypes;
using functions::Row;

Tensor unpack(const nlohmann::json& entry, const std::string& blob) {
  const auto shape = entry.at("shape").get<std::vector<int64_t>>();
  const Tensor x = empty(shape, kTypes.at(entry.at("dtype")));
  if (x.numel() > 0) std::memcpy(x.data_ptr(), blob.data() + entry.at("at").get<size_t>(), static_cast<size_t>(x.nbytes()));
  return x.clone();
}

double epsilon(ScalarType type) { return type == kHalf ? 0x1p-10 : type == kBFloat16 ? 0x1p-7 : type == kFloat ? 0x1p-23 : 0x1p-52; }

// The first element that is further away than allowed, in words; empty if there is none.
std::string difference(const Tensor& got, const Tensor& wanted, double ulps) {
  if (got.scalar_type() != wanted.scalar_type() || !(got.sizes() == wanted.sizes()))
    return std::string(toString(got.scalar_type())) + " of another dtype or shape:\n" + repr(got) + "\nfor\n" + repr(wanted);
  const Tensor x = got.to(kDouble).contiguous(), y = wanted.to(kDouble).contiguous();
  const double *a = x.const_data_ptr<double>(), *b = y.const_data_ptr<double>();
  const bool floats = isFloatingType(wanted.scalar_type());
  for (int64_t i = 0; i < x.numel(); ++i) {
    if (a[i] == b[i] ? std::signbit(a[i]) == std::signbit(b[i]) || b[i] == 0 : std::isnan(a[i]) && std::isnan(b[i])) continue;
    const double allowed = floats ? ulps * epsilon(wanted.scalar_type()) * std::max(std::abs(b[i]), 1e-3) : 0;
    if (std::abs(a[i] - b[i]) <= allowed) continue;
    char text[160];
    std::snprintf(text, sizeof text, "element %ld is %.17g, not %.17g (%.3g ulp)", static_cast<long>(i), a[i], b[i],
                  std::abs(a[i] - b[i]) / (epsilon(wanted.scalar_type()) * std::abs(b[i])));
    return text;
  }
  return "";
}

std::string outcome(const Case& c, const Row& in, const nlohmann::json& wanted, const std::string& blob) {
  try {
    const Row got = c.run(in);
    eval(got);
    if (wanted.is_object()) return "no error for: " + wanted.at("error").get<std::string>();
    if (got.size() != wanted.size()) return std::to_string(got.size()) + " results";
    for (size_t i = 0; i < got.size(); ++i) {
      const std::string text = difference(got[i], unpack(wanted[i], blob), c.ulps);
      if (!text.empty()) return text;
    }
    return "";
  } catch (const Error& e) {
    const std::string text = std::string(e.what()).substr(0, std::string(e.what()).find('\n'));
    if (!wanted.is_object()) return "error: " + text;
    const std::string expected = golden::as_tenon(wanted.at("error"));
    return golden::as_tenon(text) == expected ? "" : "error: " + text + "\n  instead of: " + expected;
  }
}

}  // namespace

TEST_CASE("golden: functions") {
  const auto data = golden::load("functions.json");
  const std::string blob = golden::read("functions.bin");
  const auto& cases = data.at("cases");
  REQUIRE(cases.size() == std::size(kCases));
  for (size_t i = 0; i < std::size(kCases); ++i) {
    const Case& c = kCases[i];
    const std::string expression = c.expression;
    CAPTURE(expression);
    REQUIRE(cases[i].at("inputs") == c.inputs);
    const auto& rows = data.at("inputs").at(c.inputs);
    for (size_t r = 0; r < rows.size(); ++r) {
      Row in;
      for (const auto& entry : rows[r]) in.push_back(unpack(entry, blob));
      CAPTURE(r);
      manual_seed(7);
      CHECK(outcome(c, in, cases[i].at("results")[r], blob) == "");
    }
  }
}
