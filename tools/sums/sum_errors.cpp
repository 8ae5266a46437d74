// The relative error of sums and products over K terms, against float64: equal terms (0.1, products 0.1 * 0.1) and torch's rand.
// Prints a line for each: operation, dtype, kind, K, error. scripts/golden/sum_errors.py sets PyTorch's beside them.
//
//   sum_errors [LARGEST_K]
#include <tenon/tenon.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <limits>
#include <string>
#include <vector>

using namespace tenon;

namespace {

constexpr int64_t kSide = 2;  // of results; a product with a side of 1 would be a reduction

struct Case {
  const char* name;
  // The result from x and y, [K, kSide]: [kSide, kSide] or [kSide], or one number.
  std::function<Tensor(const Tensor& x, const Tensor& y)> result;
  std::function<double(const double* x, const double* y, int64_t k)> exact;  // its first element
};

double sum_of(int64_t k, const std::function<double(int64_t)>& term) {
  double sum = 0, rest = 0;
  for (int64_t i = 0; i < k; ++i) {
    const double next = sum + term(i);
    rest += term(i) - (next - sum);
    sum = next;
  }
  return sum + rest;
}

Tensor weight_gradient(const Tensor& x, const Tensor& y) {
  Tensor w = zeros({kSide, kSide}, x.options());
  w.set_requires_grad(true);
  return autograd::grad({(linear(x, w) * y).sum()}, {w})[0].t();
}

// K places of one channel: an image of K / 10 lines.
Tensor conv_weight_gradient(const Tensor& x, const Tensor& y) {
  const auto image = [](const Tensor& t) { return t.select(1, 0).reshape({1, 1, t.size(0) / 10, 10}); };
  Tensor w = zeros({1, 1, 3, 3}, x.options());
  w.set_requires_grad(true);
  return autograd::grad({(conv2d(image(x), w, {}, 1, 1) * image(y)).sum()}, {w})[0].index({0, 0, 1, 1});
}

std::vector<Case> cases() {
  const auto products = [](const double* x, const double* y, int64_t k) {
    return sum_of(k, [&](int64_t i) { return x[i * kSide] * y[i * kSide]; });
  };
  const auto column = [](const double* x, const double*, int64_t k) { return sum_of(k, [&](int64_t i) { return x[i * kSide]; }); };
  const auto mean = [](const double* x, const double*, int64_t k) {
    return sum_of(k * kSide, [&](int64_t i) { return x[i]; }) / static_cast<double>(k * kSide);
  };
  return {{"mm", [](const Tensor& x, const Tensor& y) { return x.t().contiguous().mm(y); }, products},
          {"weight gradient", weight_gradient, products},
          {"conv2d weight gradient", conv_weight_gradient, products},
          {"sum(0)", [](const Tensor& x, const Tensor&) { return x.sum(0); }, column},
          {"mean()", [](const Tensor& x, const Tensor&) { return x.mean(); }, mean}};
}

void measure(const Case& c, ScalarType dtype, bool equal, int64_t k) {
  manual_seed(0);
  const auto terms = [&] { return (equal ? full({k, kSide}, 0.1) : rand({k, kSide})).to(dtype); };
  const Tensor x = terms(), y = terms();
  const Tensor wide_x = x.to(kDouble), wide_y = y.to(kDouble);
  const double exact = c.exact(wide_x.data_ptr<double>(), wide_y.data_ptr<double>(), k);
  if (dtype == kHalf && exact > 6e4) return;  // the result would be infinite
  const double got = c.result(x, y).reshape({-1})[0].to(kDouble).item<double>();
  std::printf("%s|%s|%s|%lld|%.1e\n", c.name,
              dtype == kHalf       ? "float16"
              : dtype == kBFloat16 ? "bfloat16"
                                   : "float32",
              equal ? "equal" : "rand", static_cast<long long>(k), std::abs(got / exact - 1));
}

}  // namespace

int main(int argc, char** argv) {
  const int64_t largest = argc > 1 ? std::atoll(argv[1]) : 10'000'000;
  for (const Case& c : cases()) {
    for (const ScalarType dtype : {kFloat, kHalf, kBFloat16}) {
      for (const bool equal : {true, false}) {
        for (int64_t k = 10; k <= largest; k *= 10) measure(c, dtype, equal, k);
      }
    }
  }
}
