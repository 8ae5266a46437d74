// Drawing indices by weights. With replacement: a binary search in the cumulative distribution of each row.
// Without: the largest of weight / exponential (the Gumbel trick, exponentiated). Weights are read at the
// call.
#include <algorithm>
#include <cmath>

#include "frontend/src/random/fill.h"
#include "frontend/src/random/philox.h"
#include "frontend/src/tensor/call.h"
#include "frontend/src/tensor/impl.h"
#include "frontend/src/tensor/text.h"
#include "tenon/creation.h"
#include "tenon/random.h"

namespace tenon {
namespace {

struct Rows {
  int64_t count, categories;
};

void check_arguments(const Tensor& self, int64_t samples, bool replacement) {
  check(self.dim() > 0 && self.dim() <= 2, "prob_dist must be 1 or 2 dim");
  check(self.is_floating_point(), "multinomial only supports floating-point dtypes for input, got: ", self.scalar_type());
  check(samples > 0, "cannot sample n_sample <= 0 samples");
  check(replacement || samples <= self.size(-1), "cannot sample n_sample > prob_dist.size(-1) samples without replacement");
  check(self.size(-1) <= int64_t{1} << 24, "number of categories cannot exceed 2^24");
}

// The running sums of one row, divided by the last, in the precision T of the weights.
template <typename T>
void cumulate(const T* weights, std::vector<T>& cumulative) {
  T sum = 0;
  for (size_t j = 0; j < cumulative.size(); ++j) {
    check(weights[j] >= 0, "invalid multinomial distribution (encountering probability entry < 0)");
    check(std::isfinite(weights[j]), "invalid multinomial distribution (encountering probability entry = infinity or NaN)");
    cumulative[j] = sum += weights[j];
  }
  check(sum > 0, "invalid multinomial distribution (sum of probabilities <= 0)");
  for (T& c : cumulative) c /= sum;
  cumulative.back() = 1;
}

template <typename T>
void sample_with_replacement(const Tensor& self, Rows rows, int64_t samples, const optional<Generator>& generator, int64_t* out) {
  const Tensor weights = self.to(scalar_type_of<T>()).contiguous();
  const HostView view = host_view(weights);
  std::vector<T> cumulative(static_cast<size_t>(rows.categories));
  HostEngine engine(generator, impl(self).device());
  for (int64_t row = 0; row < rows.count; ++row) {
    cumulate(reinterpret_cast<const T*>(view.data) + row * rows.categories, cumulative);
    for (int64_t i = 0; i < samples; ++i) {
      const double u = uniform_double(*engine);
      const auto slot = std::ranges::lower_bound(cumulative, u, {}, [](T c) { return static_cast<double>(c); });
      *out++ = slot - cumulative.begin();
    }
  }
}

void check_weights(const Tensor& self, Rows rows) {
  const Tensor weights = self.to(kDouble).contiguous();
  const HostView view = host_view(weights);
  const auto* w = reinterpret_cast<const double*>(view.data);
  check(std::all_of(w, w + self.numel(), [](double v) { return v >= 0 && v < HUGE_VAL; }),
        "probability tensor contains either `inf`, `nan` or element < 0");
  for (int64_t row = 0; row < rows.count; ++row, w += rows.categories)
    check(std::any_of(w, w + rows.categories, [](double v) { return v != 0; }),
          "invalid multinomial distribution (sum of probabilities <= 0)");
}

struct Score {
  double value;
  int64_t index;
};

// The indices of the k largest, largest first. The standard library's partial sorts decide between equals
// (zero weights), as they do in PyTorch.
void largest_first(std::vector<Score>& scores, int64_t k) {
  auto larger = [](const Score& a, const Score& b) { return (std::isnan(a.value) && !std::isnan(b.value)) || a.value > b.value; };
  if (k * 64 <= std::ssize(scores)) {
    std::partial_sort(scores.begin(), scores.begin() + k, scores.end(), larger);
  } else {
    std::nth_element(scores.begin(), scores.begin() + (k - 1), scores.end(), larger);
    std::sort(scores.begin(), scores.begin() + (k - 1), larger);
  }
}

void sample_without_replacement(const Tensor& self, Rows rows, int64_t samples, const optional<Generator>& generator, int64_t* out) {
  check_weights(self, rows);
  const Tensor ratio = self.div(empty_like(self).exponential_(1, generator)).to(kDouble).contiguous();
  const HostView view = host_view(ratio);
  const auto* values = reinterpret_cast<const double*>(view.data);
  std::vector<Score> scores(static_cast<size_t>(rows.categories));
  for (int64_t row = 0; row < rows.count; ++row, values += rows.categories) {
    for (int64_t j = 0; j < rows.categories; ++j) scores[j] = {values[j], j};
    largest_first(scores, samples);
    for (int64_t i = 0; i < samples; ++i) *out++ = scores[i].index;
  }
}

}  // namespace

Tensor multinomial(const Operand& self, int64_t num_samples, bool replacement, const optional<Generator>& generator) {
  const CallScope call("multinomial", self);
  check_arguments(self, num_samples, replacement);
  const Rows rows{self.dim() == 1 ? 1 : self.size(0), self.size(-1)};
  const std::vector<int64_t> sizes = self.dim() == 1 ? std::vector{num_samples} : std::vector{rows.count, num_samples};
  auto buffer = allocate_buffer(static_cast<size_t>(checked_numel(sizes)) * sizeof(int64_t));
  auto* out = static_cast<int64_t*>(buffer->data());
  if (rows.count == 0) {
    // nothing to draw
  } else if (!replacement) {
    sample_without_replacement(self, rows, num_samples, generator, out);
  } else if (self.scalar_type() == kDouble) {
    sample_with_replacement<double>(self, rows, num_samples, generator, out);
  } else {
    sample_with_replacement<float>(self, rows, num_samples, generator, out);
  }
  return tensor_from_buffer(DType::I64, sizes, std::move(buffer));
}

}  // namespace tenon
