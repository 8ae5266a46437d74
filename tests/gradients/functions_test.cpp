// The gradients of the cases of functions_*.inc: PyTorch's for the same text, and whole Jacobians by differences.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "frontend/golden.h"
#include "frontend/ops/function_cases.h"
#include "gradients/jacobian.h"

namespace {

using namespace tenon;
using functions::kCases;
using functions::kTypes;
using functions::Row;
using nlohmann::json;

constexpr int64_t kMostElements = 200;  // of inputs, for a whole Jacobian

// Where the gradient is not the derivative, as in PyTorch, and why; by what an expression begins with.
struct Reason {
  std::string_view begin, why;
};
constexpr Reason kNotTheDerivative[] = {
    {"sgn(", "a jump at 0, where the gradient is 0"},
    {"nextafter(", "a step to the next number"},
    {"normal(", "a draw, of which the gradient is 0"},
    {"frexp(", "differences across powers of 2, where it jumps"},
    {"F::ctc_loss(", "the gradient of logits before a log_softmax"},
    {"ctc_loss(", "the same"},
    {"F::gumbel_softmax(a, F::GumbelSoftmaxFuncOptions().hard(true)", "that of the soft choice"},
    {"F::embedding_bag(b, a, F::EmbeddingBagFuncOptions().mode(kSum).max_norm(", "the norms are bounded in the weight before"},
};
// Where the gradient has no differences.
constexpr Reason kNotSmooth[] = {
    {"special::i0e(", "a kink at 0"},
    {"absolute(", "the same"},
    {"special::bessel_j1(", "its two formulas, PyTorch's, meet at 5 to 7 digits only"},
};
// Where the gradient is not PyTorch's, and why; `row` of the inputs, -1 for all.
struct Difference {
  std::string_view inputs, begin;
  int row;
  std::string_view why;
};
constexpr Difference kNotPyTorchs[] = {
    {"poles", "digamma(", -1, "at a pole it is inf here, and there what rounding leaves"},
    {"zeta", "special::zeta(", 1, "where zeta is inf the gradient is 0 here, and there that of a finite sum"},
    {"line", "special::log_ndtr(", -1, "there half the digits are lost on the left"},
    {"twins", "as_strided_scatter(", -1, "what is not written has a gradient, there what is"},
    {"labelling", "F::ctc_loss(a, b, c, d, F::CTCLossFuncOptions().blank(3)", 1,
     "a label is the blank: for PyTorch's way back it is another one"},
    {"labelling", "F::ctc_loss(", 2, "a labelling without an alignment has the loss inf; its gradient is nan there"},
};

const json& table() {
  static const json data = golden::load("functions.json");
  return data;
}
Tensor unpack(const json& entry) {
  static std::string blob = golden::read("functions.bin");
  const Tensor x =
      from_blob(blob.data() + entry.at("at").get<size_t>(), entry.at("shape").get<std::vector<int64_t>>(), kTypes.at(entry.at("dtype")));
  return x.clone();
}

// The gradient of row[i] for the gradient 1 + k % 7 / 4 of the k-th element of each result; undefined where it has none.
Tensor gradient(const functions::Case& c, Row row, size_t i) {
  row[i].requires_grad_();
  manual_seed(7);
  Row results, weights;
  for (const Tensor& y : c.run(row)) {
    if (!y.requires_grad()) continue;
    results.push_back(y);
    weights.push_back((1 + remainder(arange(y.numel()), 7) / 4.0).to(y.scalar_type()).view(y.sizes()));
  }
  return results.empty() ? Tensor() : autograd::grad(results, {row[i]}, weights, nullopt, false, true)[0];
}

double epsilon(ScalarType type) { return type == kHalf ? 0x1p-10 : type == kBFloat16 ? 0x1p-7 : type == kFloat ? 0x1p-23 : 0x1p-52; }
// The first element that is further away than allowed, in words; empty if there is none.
std::string difference(const Tensor& got, const Tensor& wanted, double ulps) {
  if (!got.defined()) return wanted.count_nonzero().item<int64_t>() == 0 ? "" : "no gradient";
  if (got.scalar_type() != wanted.scalar_type() || !(got.sizes() == wanted.sizes())) return "another dtype or shape: " + repr(got);
  const Tensor x = got.to(kDouble).contiguous(), y = wanted.to(kDouble).contiguous();
  const double *a = x.const_data_ptr<double>(), *b = y.const_data_ptr<double>();
  for (int64_t k = 0; k < x.numel(); ++k) {
    const double allowed = ulps * epsilon(wanted.scalar_type()) * std::max(std::abs(b[k]), 1.0);
    if (a[k] == b[k] || (std::isnan(a[k]) && std::isnan(b[k])) || std::abs(a[k] - b[k]) <= allowed) continue;
    return "gradient[" + std::to_string(k) + "] is " + std::to_string(a[k]) + ", not " + std::to_string(b[k]);
  }
  return "";
}

}  // namespace

TEST_CASE("golden: gradients of functions") {
  int compared = 0;
  for (size_t i = 0; i < std::size(kCases); ++i) {
    const functions::Case& c = kCases[i];
    const json &entry = table().at("cases")[i], &rows = table().at("inputs").at(c.inputs);
    const std::string expression = c.expression;
    CAPTURE(expression);
    REQUIRE(entry.at("inputs") == c.inputs);
    for (size_t r = 0; r < rows.size(); ++r) {
      Row row;
      for (const json& x : rows[r]) row.push_back(unpack(x));
      for (size_t k = 0; k < row.size(); ++k) {
        const json& wanted = entry.at("grads")[r][k];
        const auto differs = [&](const Difference& d) {
          return c.inputs == d.inputs && expression.starts_with(d.begin) && (d.row < 0 || static_cast<size_t>(d.row) == r);
        };
        if (wanted.is_null() || std::ranges::any_of(kNotPyTorchs, differs)) continue;
        CAPTURE(r);
        CAPTURE(k);
        ++compared;
        try {
          CHECK(difference(gradient(c, row, k), unpack(wanted), 4 * std::max(c.ulps, 2.0)) == "");
        } catch (const Error& e) {
          FAIL_CHECK(e.what());
        }
      }
    }
  }
  MESSAGE(compared << " gradients compared");
  CHECK(compared > 450);
}

namespace {

// All cases in float64 whose operands are few enough.
template <typename Check>
void over_functions(Check check, std::span<const Reason> left_out = {}) {
  jacobian::Count total;
  int cases = 0;
  for (const functions::Case& c : kCases) {
    const std::string expression = c.expression;
    const auto begins = [&](const Reason& r) { return expression.starts_with(r.begin); };
    if (std::ranges::any_of(kNotTheDerivative, begins) || std::ranges::any_of(left_out, begins)) continue;
    CAPTURE(expression);
    const json& rows = table().at("inputs").at(c.inputs);
    for (size_t r = 0; r < rows.size(); ++r) {
      CAPTURE(r);
      jacobian::Case one{c.run, {}, {}};
      int64_t elements = 0;
      for (const json& x : rows[r]) {
        Tensor value = unpack(x);
        if (value.is_floating_point()) {
          value = value.to(kDouble).clone();
          one.asked.push_back(one.inputs.size());
          elements += value.numel();
        }
        one.inputs.push_back(value);
      }
      if (one.asked.empty() || elements > kMostElements) continue;
      try {
        const jacobian::Count count = check(one);
        CHECK_MESSAGE(count.wrong.empty(), count.wrong);
        total.compared += count.compared;
        total.skipped += count.skipped;
        cases += count.compared > 0;
      } catch (const Error& e) {  // operands that the function refuses, or its derivative
      }
    }
  }
  MESSAGE(cases << " cases, " << total.compared << " elements compared, " << total.skipped << " at kinks");
  CHECK(cases > 300);
}

}  // namespace

TEST_CASE("Jacobians: functions, first order") { over_functions(jacobian::first_order); }
TEST_CASE("Jacobians: functions, second order") { over_functions(jacobian::second_order, kNotSmooth); }
