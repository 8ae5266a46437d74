// Gradients at 0, -0, inf, nan, huge and tiny numbers, integers, ties and borders: PyTorch's.
#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <set>

#include "frontend/golden.h"
#include "frontend/python/compare.h"
#include "frontend/python/python.h"

using tenon::Tensor;

namespace {

Tensor unpacked(const nlohmann::json& texts, const std::vector<int64_t>& shape) {
  std::vector<double> values;
  for (const std::string text : texts) values.push_back(std::strtod(text.c_str(), nullptr));
  return tenon::tensor(values, tenon::TensorOptions(tenon::kDouble)).view(shape);
}

// A sum of rounding errors apart, and 0 where the other underflows.
bool is_close(double got, double want) {
  if (std::isnan(want)) return std::isnan(got);
  return got == want || std::abs(got - want) <= 1e-9 * std::abs(want) + 1e-290;
}

}  // namespace

// How many elements differ from PyTorch's, and why.
const std::map<std::string, std::pair<int64_t, std::string>> kKnown = {
    {"torch.remainder(x0, x1)", {12, "of an infinity: infinite, in PyTorch nan"}},
    {"torch.digamma(x0)", {6, "at poles: inf, in PyTorch what rounding leaves of it"}},
    {"x0.prod(1)", {6, "scans from both ends: the product of the others, where PyTorch divides infinities"}},
    {"x0.cumprod(1)", {4, "as prod"}},
    {"x0.var(1)", {5, "squares beyond float64: nan, in PyTorch inf"}},
    {"x0.logcumsumexp(1)", {4, "at infinities and where exp overflows"}},
    {"x0.norm(p=float('inf'), dim=1)", {3, "a nan in the row: nan, in PyTorch 0"}},
    {"F.softshrink(x0)", {1, "at nan: 0, in PyTorch 1"}},
    {"F.layer_norm(x0, (3,))", {36, "rows of equal elements: rounding in place of 0"}},
};

TEST_CASE("gradients at extreme values are PyTorch's") {
  int64_t compared = 0;
  std::map<std::string, int64_t> different;
  for (const auto& c : golden::load("extreme_gradients.json")) {
    const std::string expression = c["expr"];
    const std::vector<int64_t> shape = c["shape"];
    CAPTURE(expression);
    try {
      python::Variables variables;
      std::vector<Tensor> inputs;
      for (size_t i = 0; i < c["inputs"].size(); ++i) {
        inputs.push_back(unpacked(c["inputs"][i], shape).requires_grad_());
        variables["x" + std::to_string(i)] = inputs.back();
      }
      const std::vector<Tensor> outputs = python::flat(python::run(expression, variables));
      const bool tracked = outputs.at(0).requires_grad();
      const std::vector<Tensor> grads =
          tracked ? tenon::autograd::grad({outputs[0].sum()}, inputs, {}, false, false, true) : std::vector<Tensor>(inputs.size());
      for (size_t i = 0; i < inputs.size(); ++i) {
        const Tensor got = (grads[i].defined() ? grads[i] : tenon::zeros_like(inputs[i].detach())).contiguous();
        const Tensor want = unpacked(c["grads"][i], shape);
        for (int64_t k = 0; k < got.numel(); ++k) {
          const double a = got.const_data_ptr<double>()[k], b = want.const_data_ptr<double>()[k];
          ++compared;
          std::string at;
          for (const auto& values : c["inputs"]) at += " " + values[static_cast<size_t>(k)].get<std::string>();
          if (is_close(a, b)) continue;
          ++different[expression];
          CHECK_MESSAGE(kKnown.contains(expression), expression << " by x" << i << " at" << at << ": " << a << " for " << b);
        }
      }
    } catch (const std::exception& e) {
      FAIL_CHECK(expression << ": " << std::string(e.what()));
    }
  }
  MESSAGE(compared << " elements compared");
  CHECK(compared > 9000);
  for (const auto& [expression, known] : kKnown) {
    CAPTURE(expression);
    CHECK(different[expression] == known.first);
  }
}
