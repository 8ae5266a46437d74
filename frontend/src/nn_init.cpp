// Initialisation of parameters.
#include "tenon/nn/init.h"

#include <cmath>
#include <limits>
#include <numbers>

#include "impl.h"
#include "tenon/autograd.h"
#include "tenon/creation.h"
#include "tenon/random.h"
#include "text.h"

namespace tenon::nn::init {
namespace {

struct Fans {
  int64_t in, out;
};

Fans fans_of(const Tensor& tensor) {
  check<ValueError>(tensor.dim() >= 2,
                    "Fan in and fan out can not be computed for tensor with fewer than 2 dimensions");
  int64_t receptive = 1;
  for (int64_t d = 2; d < tensor.dim(); ++d) receptive *= tensor.size(d);
  return {tensor.size(1) * receptive, tensor.size(0) * receptive};
}

double kaiming_std(const Tensor& tensor, double a, FanModeType mode, NonlinearityType nonlinearity) {
  const Fans fans = fans_of(tensor);
  const int64_t fan = mode == Tag::FanIn ? fans.in : fans.out;
  return calculate_gain(nonlinearity, a) / std::sqrt(static_cast<double>(fan));
}

double xavier_std(const Tensor& tensor, double gain) {
  const Fans fans = fans_of(tensor);
  return gain * std::sqrt(2.0 / static_cast<double>(fans.in + fans.out));
}

// The inverse error function as PyTorch computes it (Giles' rational approximation by parts, then two steps
// of Newton), in T, so that truncated normal numbers have PyTorch's bits.
template <typename T>
T erfinv(T y) {
  using std::fma;  // of T: the multiply-adds are fused as in PyTorch
  constexpr T a[] = {T(0.886226899), T(-1.645349621), T(0.914624893), T(-0.140543331)};
  constexpr T b[] = {T(-2.118377725), T(1.442710462), T(-0.329097515), T(0.012229801)};
  constexpr T c[] = {T(-1.970840454), T(-1.624906493), T(3.429567803), T(1.641345311)};
  constexpr T d[] = {T(3.543889200), T(1.637067800)};
  const T magnitude = std::abs(y);
  if (magnitude > T(1)) return std::numeric_limits<T>::quiet_NaN();
  if (magnitude == T(1)) return std::copysign(std::numeric_limits<T>::infinity(), y);
  T x;
  if (magnitude <= T(0.7)) {
    const T z = y * y;
    const T numerator = fma(fma(fma(a[3], z, a[2]), z, a[1]), z, a[0]);
    const T denominator = fma(fma(fma(fma(b[3], z, b[2]), z, b[1]), z, b[0]), z, T(1));
    x = y * numerator / denominator;
  } else {
    const T z = std::sqrt(-std::log((T(1) - magnitude) / T(2)));
    const T numerator = fma(fma(fma(c[3], z, c[2]), z, c[1]), z, c[0]);
    const T denominator = fma(fma(d[1], z, d[0]), z, T(1));
    x = std::copysign(numerator, y) / denominator;
  }
  const T slope = T(2) / static_cast<T>(std::sqrt(std::numbers::pi));
  for (int step = 0; step < 2; ++step) x = x - (std::erf(x) - y) / (slope * std::exp(-x * x));
  return x;
}

template <typename T>
void invert_in_place(const Tensor& uniform) {
  T* data = static_cast<T*>(impl(uniform).storage().own()->data());
  for (int64_t i = 0; i < uniform.numel(); ++i) data[i] = erfinv(data[i]);
}

}  // namespace

double calculate_gain(NonlinearityType nonlinearity, double param) {
  switch (nonlinearity.tag()) {
    case Tag::Tanh: return 5.0 / 3;
    case Tag::ReLU: return std::sqrt(2.0);
    case Tag::LeakyReLU: return std::sqrt(2.0 / (1 + param * param));
    default: return 1;
  }
}

Tensor uniform_(Tensor tensor, double low, double high) {
  const NoGradGuard no_grad;
  return tensor.uniform_(low, high);
}
Tensor normal_(Tensor tensor, double mean, double std) {
  const NoGradGuard no_grad;
  return tensor.normal_(mean, std);
}
Tensor constant_(Tensor tensor, Scalar value) {
  const NoGradGuard no_grad;
  return tensor.fill_(value);
}
Tensor zeros_(Tensor tensor) { return constant_(tensor, 0); }
Tensor ones_(Tensor tensor) { return constant_(tensor, 1); }
Tensor eye_(Tensor matrix) {
  check<ValueError>(matrix.dim() == 2, "Only tensors with 2 dimensions are supported");
  const NoGradGuard no_grad;
  return matrix.copy_(eye(matrix.size(0), matrix.size(1), matrix.options()));
}

Tensor xavier_uniform_(Tensor tensor, double gain) {
  const double bound = std::sqrt(3.0) * xavier_std(tensor, gain);
  return uniform_(tensor, -bound, bound);
}
Tensor xavier_normal_(Tensor tensor, double gain) { return normal_(tensor, 0, xavier_std(tensor, gain)); }
Tensor kaiming_uniform_(Tensor tensor, double a, FanModeType mode, NonlinearityType nonlinearity) {
  const double bound = std::sqrt(3.0) * kaiming_std(tensor, a, mode, nonlinearity);
  return uniform_(tensor, -bound, bound);
}
Tensor kaiming_normal_(Tensor tensor, double a, FanModeType mode, NonlinearityType nonlinearity) {
  return normal_(tensor, 0, kaiming_std(tensor, a, mode, nonlinearity));
}

namespace {

double dot(const double* a, const double* b, int64_t n) {
  double part[4] = {};
  int64_t i = 0;
  for (; i + 4 <= n; i += 4) {
    for (int k = 0; k < 4; ++k) part[k] += a[i + k] * b[i + k];
  }
  for (; i < n; ++i) part[0] += a[i] * b[i];
  return (part[0] + part[1]) + (part[2] + part[3]);
}

// Makes `count` vectors of length n orthonormal, each from what it has outside the ones before it: the Q of their
// QR decomposition in which R's diagonal is positive. Gram and Schmidt, twice for accuracy.
void orthonormalise(double* vectors, int64_t count, int64_t n) {
  for (int64_t j = 0; j < count; ++j) {
    double* v = vectors + j * n;
    for (int pass = 0; pass < 2; ++pass) {
      for (int64_t k = 0; k < j; ++k) {
        const double* q = vectors + k * n;
        const double shared = dot(q, v, n);
        for (int64_t i = 0; i < n; ++i) v[i] -= shared * q[i];
      }
    }
    const double length = std::sqrt(dot(v, v, n));
    for (int64_t i = 0; i < n && length > 0; ++i) v[i] /= length;
  }
}

}  // namespace

Tensor orthogonal_(Tensor tensor, double gain) {
  check(tensor.dim() >= 2, "Only tensors with 2 or more dimensions are supported");
  const NoGradGuard no_grad;
  if (tensor.numel() == 0) return tensor;
  const int64_t rows = tensor.size(0), columns = tensor.numel() / rows;
  const Tensor drawn = randn({rows, columns});
  const Tensor vectors = (rows < columns ? drawn : drawn.t()).to(kDouble).contiguous().clone();
  orthonormalise(vectors.data_ptr<double>(), vectors.size(0), vectors.size(1));
  const Tensor q = rows < columns ? vectors : vectors.t();
  return tensor.copy_(q.to(drawn.scalar_type()).reshape(tensor.sizes())).mul_(gain);
}

Tensor trunc_normal_(Tensor tensor, double mean, double std, double a, double b) {
  const NoGradGuard no_grad;
  check(tensor.scalar_type() == kFloat || tensor.scalar_type() == kDouble,
        "trunc_normal_: needs a float32 or float64 tensor, got ", tensor.scalar_type());
  const auto below = [&](double x) { return (1 + std::erf((x - mean) / std / std::sqrt(2.0))) / 2; };
  const Tensor uniform =
      empty(tensor.sizes(), TensorOptions(tensor.scalar_type())).uniform_(2 * below(a) - 1, 2 * below(b) - 1);
  if (tensor.scalar_type() == kFloat)
    invert_in_place<float>(uniform);
  else
    invert_in_place<double>(uniform);
  return tensor.copy_(uniform.mul(std * std::sqrt(2.0)).add(mean).clamp(a, b));
}

}  // namespace tenon::nn::init
