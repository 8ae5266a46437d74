// Initialisation of parameters.
#include "tenon/nn/init.h"

#include <algorithm>
#include <cmath>

#include "frontend/src/tensor/text.h"
#include "tenon/autograd.h"
#include "tenon/creation.h"
#include "tenon/random.h"

namespace tenon::nn::init {
namespace {

struct Fans {
  int64_t in, out;
};

Fans fans_of(const Tensor& tensor) {
  check<ValueError>(tensor.dim() >= 2, "Fan in and fan out can not be computed for tensor with fewer than 2 dimensions");
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

double below(double x) { return (1 + std::erf(x / std::sqrt(2.0))) / 2; }  // of the standard normal

// Normals, drawn again wherever they lie outside [a, b].
Tensor redrawn_normals(const Tensor& tensor, double mean, double std, double a, double b) {
  const TensorOptions number = TensorOptions(tensor.scalar_type());  // of the host: nothing waits for a GPU
  const double low = scalar_tensor(a, number).item<double>(), high = scalar_tensor(b, number).item<double>();
  Tensor result = empty_like(tensor).normal_(mean, std);
  for (;;) {
    const Tensor outside = (result < low).logical_or(result > high);
    if (!outside.any().item<bool>()) return result;
    result = where(outside, empty_like(result).normal_(mean, std), result);
  }
}

// Uniforms of [a, b], each kept with a probability that follows the density; where that is small, [a, b] is a
// tail.
Tensor kept_uniforms(const Tensor& tensor, double mean, double std, double a, double b) {
  const double peak = (std::max(a, std::min(mean, b)) - mean) / std, log_peak = -0.5 * peak * peak;
  const auto log_density = [&](const Tensor& x) { return x.sub(mean).div(std).pow(2).mul(-0.5).sub(log_peak); };
  Tensor result = empty_like(tensor).uniform_(a, b);
  Tensor limit = log_density(result);
  Tensor refused = empty_like(tensor).uniform_().log_().gt(limit);
  while (refused.any().item<bool>()) {
    const Tensor candidates = empty_like(tensor).uniform_(a, b);
    result = where(refused, candidates, result);
    limit = log_density(candidates);
    refused = where(refused, empty_like(tensor).uniform_().log_().gt(limit), refused);
  }
  return result;
}

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

Tensor dirac_(Tensor tensor, int64_t groups) {
  check(tensor.dim() >= 3 && tensor.dim() <= 5, "Only tensors with 3, 4, or 5 dimensions are supported");
  check(groups > 0 && tensor.size(0) % groups == 0, "dim 0 must be divisible by groups");
  const NoGradGuard no_grad;
  tensor.zero_();
  Tensor center = tensor;
  for (int64_t d = tensor.dim(); d-- > 2;) center = center.select(d, tensor.size(d) / 2);
  for (const Tensor& group : center.chunk(groups, 0)) group.diagonal().fill_(1);
  return tensor;
}

Tensor sparse_(Tensor matrix, double sparsity, double std) {
  check(matrix.dim() == 2, "Sparse initialization is only supported for tensors with 2 dimensions");
  check(sparsity >= 0 && sparsity <= 1, "sparsity must be between 0 and 1, but got ", sparsity);
  const NoGradGuard no_grad;
  const int64_t rows = matrix.size(0), columns = matrix.size(1);
  const auto zero = static_cast<int64_t>(std::ceil(sparsity * static_cast<double>(rows)));
  matrix.normal_(0, std);
  std::vector<Tensor> places;
  for (int64_t column = 0; column < columns; ++column) places.push_back(randperm(rows).slice(0, 0, zero));
  if (columns > 0) matrix.scatter_(0, stack(places, 1).to(matrix.device()), 0);
  return matrix;
}

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
  const bool likely = below((b - mean) / std) - below((a - mean) / std) > 0.3;
  return tensor.copy_(likely ? redrawn_normals(tensor, mean, std, a, b) : kept_uniforms(tensor, mean, std, a, b));
}

}  // namespace tenon::nn::init
