// Windows: formulas of the sample's number, rounded where PyTorch rounds.
#include "tenon/windows.h"

#include <numbers>

#include "frontend/src/tensor/expr.h"
#include "frontend/src/tensor/text.h"
#include "tenon/creation.h"

namespace tenon {
namespace {

using std::numbers::pi;

// formula(samples 0.., their number) for windows of two samples and more; one sample is 1.
template <typename F>
Tensor window(const char* who, int64_t length, bool periodic, const TensorOptions& options, F formula) {
  const ScalarType type = options.dtype();
  check(isFloatingType(type), who, " expects floating point dtypes, got: ", type);
  check(length >= 0, who, " requires non-negative window_length, got window_length=", length);
  const TensorOptions plain = options.dtype(type).requires_grad(false);
  if (length < 2) return ones(length, options);
  const int64_t samples = length + (periodic ? 1 : 0);
  const Tensor whole = formula(arange(samples, plain), static_cast<double>(samples));
  const Tensor result = periodic ? narrow(whole, 0, 0, length).clone() : whole;
  return options.requires_grad() ? result.requires_grad_() : result;
}

Tensor cosine_window(const char* who, int64_t length, bool periodic, double alpha, double beta, const TensorOptions& options) {
  return window(who, length, periodic, options,
                [&](const Tensor& i, double n) { return add(mul(cos(mul(i, pi * 2.0 / (n - 1))), -beta), alpha); });
}

}  // namespace

Tensor hann_window(int64_t length, const TensorOptions& options) { return hann_window(length, true, options); }
Tensor hann_window(int64_t length, bool periodic, const TensorOptions& options) {
  return cosine_window("hann_window", length, periodic, 0.5, 0.5, options);
}

Tensor hamming_window(int64_t length, const TensorOptions& options) { return hamming_window(length, true, options); }
Tensor hamming_window(int64_t length, bool periodic, const TensorOptions& options) {
  return hamming_window(length, periodic, 0.54, options);
}
Tensor hamming_window(int64_t length, bool periodic, double alpha, const TensorOptions& options) {
  return hamming_window(length, periodic, alpha, 0.46, options);
}
Tensor hamming_window(int64_t length, bool periodic, double alpha, double beta, const TensorOptions& options) {
  return cosine_window("hamming_window", length, periodic, alpha, beta, options);
}

Tensor blackman_window(int64_t length, const TensorOptions& options) { return blackman_window(length, true, options); }
Tensor blackman_window(int64_t length, bool periodic, const TensorOptions& options) {
  return window("blackman_window", length, periodic, options, [](const Tensor& i, double n) {
    const Tensor x = mul(i, pi / (n - 1));
    return add(sub(mul(cos(mul(x, 4)), 0.08), mul(cos(mul(x, 2)), 0.5)), 0.42);
  });
}

Tensor bartlett_window(int64_t length, const TensorOptions& options) { return bartlett_window(length, true, options); }
Tensor bartlett_window(int64_t length, bool periodic, const TensorOptions& options) {
  return window("bartlett_window", length, periodic, options, [](const Tensor& i, double n) {
    const Tensor rising = mul(i, 2.0 / (n - 1));
    const auto half = static_cast<int64_t>(n - 1) / 2 + 1;
    return where(lt(i, half), rising, rsub(rising, 2));
  });
}

Tensor kaiser_window(int64_t length, const TensorOptions& options) { return kaiser_window(length, true, options); }
Tensor kaiser_window(int64_t length, bool periodic, const TensorOptions& options) { return kaiser_window(length, periodic, 12.0, options); }
Tensor kaiser_window(int64_t length, bool periodic, double beta, const TensorOptions& options) {
  return window("kaiser_window", length, periodic, options, [&](const Tensor& i, double n) {
    const double alpha = (n - 1) / 2.0;
    const Tensor x = div(sub(i, alpha), alpha);
    const Tensor top = i0(mul(sqrt(rsub(square(x), 1)), beta));
    return div(top, i0(full({}, beta, i.options())));
  });
}

}  // namespace tenon
