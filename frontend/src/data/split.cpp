// Datasets of tensors, and parts of datasets: PyTorch's random_split, scikit-learn's train_test_split.
#include "tenon/data/split.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <numeric>

#include "frontend/src/data/elements.h"
#include "frontend/src/random/engine.h"
#include "frontend/src/random/generator.h"
#include "tenon/creation.h"
#include "tenon/ops.h"
#include "tenon/random.h"

namespace tenon::data {

Tensor datasets::detail::row_of(const Tensor& tensor, size_t index) {
  const Tensor row = tensor.select(0, static_cast<int64_t>(index));
  if (!row.is_cpu() || row.requires_grad()) return row;
  NewTensor copy(row.scalar_type(), row.sizes());
  const HostElementsOf elements(row);
  if (row.numel() > 0) std::memcpy(copy.as<unsigned char>(), elements.data, row.nbytes());
  return std::move(copy).done();
}

datasets::TensorDataset::TensorDataset(Tensor rows) : tensor(std::move(rows)) {}
datasets::TensorDataset::TensorDataset(const std::vector<Tensor>& samples) : tensor(stack(samples)) {}

datasets::PairDataset::PairDataset(Tensor data, Tensor target) : data_(std::move(data)), target_(std::move(target)) {
  check(data_.size(0) == target_.size(0), "Size mismatch between tensors");
}

std::vector<int64_t> SplitLengths::of(int64_t size) const {
  std::vector<int64_t> counts = counts_;
  const double sum = std::accumulate(fractions_.begin(), fractions_.end(), 0.0);
  if (!fractions_.empty()) {
    check<ValueError>(sum <= 1 && sum >= 1 - 1e-9, "Sum of input lengths does not equal the length of the input dataset!");
    for (size_t i = 0; i < fractions_.size(); ++i) {
      check<ValueError>(fractions_[i] >= 0 && fractions_[i] <= 1, "Fraction at index ", i, " is not between 0 and 1");
      counts.push_back(static_cast<int64_t>(std::floor(static_cast<double>(size) * fractions_[i])));
    }
    int64_t left = size - std::accumulate(counts.begin(), counts.end(), int64_t{0});
    for (size_t i = 0; left > 0; --left, ++i) ++counts[i % counts.size()];
  }
  for (size_t i = 0; i < counts.size(); ++i) {
    check<ValueError>(counts[i] >= 0, "random_split: the length at index ", i, " is negative");
    if (!fractions_.empty() && counts[i] == 0)
      warn_user(text("Length of split at index ", i, " is 0. This might result in an empty dataset."));
  }
  check<ValueError>(std::accumulate(counts.begin(), counts.end(), int64_t{0}) == size,
                    "Sum of input lengths does not equal the length of the input dataset!");
  return counts;
}

std::vector<std::vector<int64_t>> random_split(int64_t size, const SplitLengths& lengths, const optional<Generator>& generator) {
  const std::vector<int64_t> counts = lengths.of(size);
  const Tensor permutation = randperm(size, generator);
  const int64_t* next = permutation.const_data_ptr<int64_t>();
  std::vector<std::vector<int64_t>> parts;
  for (int64_t count : counts) {
    parts.emplace_back(next, next + count);
    next += count;
  }
  return parts;
}

namespace {

using Indices = std::vector<int64_t>;

// The part of NumPy's RandomState that scikit-learn shuffles with.
class RandomState {
 public:
  explicit RandomState(uint32_t seed) : engine_(seed) {}
  // 0..n-1 in a random order.
  Indices permutation(size_t n) {
    Indices order(n);
    std::iota(order.begin(), order.end(), 0);
    shuffle(order);
    return order;
  }
  void shuffle(Indices& values) {
    for (size_t i = values.size(); i-- > 1;) std::swap(values[i], values[upto(static_cast<uint32_t>(i))]);
  }

 private:
  uint32_t upto(uint32_t most) {  // each of 0..most is equally likely
    uint32_t mask = most;
    for (int shift = 1; shift < 32; shift *= 2) mask |= mask >> shift;
    while (true) {
      const uint32_t value = engine_.word() & mask;
      if (value <= most) return value;
    }
  }
  RandomEngine engine_;
};

// How many samples a size stands for; `round` says what becomes of a fraction of a sample.
int64_t count_of(const Scalar& size, int64_t n, const char* name, double (*round)(double)) {
  if (isIntegralType(size.type(), true)) {
    const int64_t count = size.to<int64_t>();
    check<ValueError>(count > 0 && count < n, name, "=", count, " should be either positive and smaller than the number of samples ", n,
                      " or a float in the (0, 1) range");
    return count;
  }
  const double fraction = size.to<double>();
  check<ValueError>(fraction > 0 && fraction < 1, name, "=", fraction, " should be either positive and smaller than the number of samples ",
                    n, " or a float in the (0, 1) range");
  return static_cast<int64_t>(round(fraction * static_cast<double>(n)));
}

struct Counts {
  int64_t train, test;
};
Counts counts_of(int64_t n, const TrainTestSplitOptions& options) {
  const optional<Scalar>&test = options.test_size(), &train = options.train_size();
  Counts counts{0, 0};
  if (test || !train) counts.test = count_of(test.value_or(0.25), n, "test_size", [](double x) { return std::ceil(x); });
  if (train) counts.train = count_of(*train, n, "train_size", [](double x) { return std::floor(x); });
  if (!train) counts.train = n - counts.test;
  if (!test && train) counts.test = n - counts.train;
  check<ValueError>(counts.train + counts.test <= n, "The sum of train_size and test_size = ", counts.train + counts.test,
                    ", should be smaller than the number of samples ", n, ". Reduce test_size and/or train_size.");
  check<ValueError>(counts.train > 0, "With n_samples=", n, ", test_size=", counts.test, " and train_size=", counts.train,
                    ", the resulting train set will be empty. Adjust any of the aforementioned parameters.");
  return counts;
}

// `draws` samples shared out among classes in proportion to their sizes; what rounding leaves goes to the
// largest remainders, and among equal ones to random classes.
Indices shares(const Indices& class_sizes, int64_t draws, RandomState& random) {
  const double total = static_cast<double>(std::accumulate(class_sizes.begin(), class_sizes.end(), int64_t{0}));
  Indices share;
  std::vector<double> remainders;
  for (int64_t size : class_sizes) {
    const double exact = static_cast<double>(size) / total * static_cast<double>(draws);
    share.push_back(static_cast<int64_t>(std::floor(exact)));
    remainders.push_back(exact - std::floor(exact));
  }
  std::vector<double> values = remainders;
  std::sort(values.begin(), values.end(), std::greater<>());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  auto left = static_cast<size_t>(draws - std::accumulate(share.begin(), share.end(), int64_t{0}));
  for (size_t v = 0; v < values.size() && left > 0; ++v) {
    std::vector<size_t> equal;
    for (size_t c = 0; c < remainders.size(); ++c) {
      if (remainders[c] == values[v]) equal.push_back(c);
    }
    const size_t now = std::min(equal.size(), left);
    const Indices order = random.permutation(equal.size());
    for (size_t i = 0; i < now; ++i) ++share[equal[at(order[i])]];
    left -= now;
  }
  return share;
}

// The samples of each class, in order; the classes in theirs.
std::vector<Indices> by_class(const Tensor& labels) {
  const HostElementsOf memory(labels.to(isIntegralType(labels.scalar_type(), true) ? kLong : kDouble));
  const bool whole = isIntegralType(labels.scalar_type(), true);
  const auto value = [&](int64_t i) { return whole ? static_cast<double>(memory.as<int64_t>()[i]) : memory.as<double>()[i]; };
  Indices order(at(labels.numel()));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return value(a) < value(b); });
  std::vector<Indices> classes;
  for (size_t i = 0; i < order.size(); ++i) {
    if (i == 0 || value(order[i]) != value(order[i - 1])) classes.emplace_back();
    classes.back().push_back(order[i]);
  }
  return classes;
}

std::pair<Indices, Indices> stratified(const Tensor& labels, int64_t n, Counts counts, RandomState& random) {
  check<ValueError>(labels.dim() == 1 && labels.size(0) == n, "stratify holds one class for each of the ", n, " samples");
  const std::vector<Indices> classes = by_class(labels);
  const auto class_count = static_cast<int64_t>(classes.size());
  Indices sizes;
  for (const Indices& members : classes) sizes.push_back(static_cast<int64_t>(members.size()));
  check<ValueError>(*std::min_element(sizes.begin(), sizes.end()) >= 2,
                    "The least populated classes in y have only 1 member, which is too few. The minimum number of groups "
                    "for any class cannot be less than 2.");
  for (const auto& [count, name] : {std::pair(counts.train, "train_size"), std::pair(counts.test, "test_size")})
    check<ValueError>(count >= class_count, "The ", name, " = ", count,
                      " should be greater or equal to the number of classes = ", class_count);
  const Indices train_shares = shares(sizes, counts.train, random);
  for (size_t c = 0; c < sizes.size(); ++c) sizes[c] -= train_shares[c];
  const Indices test_shares = shares(sizes, counts.test, random);
  std::pair<Indices, Indices> parts;
  for (size_t c = 0; c < classes.size(); ++c) {
    const Indices order = random.permutation(classes[c].size());
    const size_t train = at(train_shares[c]), both = train + at(test_shares[c]);
    for (size_t i = 0; i < both; ++i) (i < train ? parts.first : parts.second).push_back(classes[c][at(order[i])]);
  }
  random.shuffle(parts.first);
  random.shuffle(parts.second);
  return parts;
}

Tensor as_tensor(const Indices& indices) { return tensor(indices, TensorOptions(kLong)); }

}  // namespace

std::pair<Tensor, Tensor> train_test_indices(int64_t size, const TrainTestSplitOptions& options) {
  const Counts counts = counts_of(size, options);
  const bool stratify = options.stratify().defined();
  Indices order(at(size));
  if (!options.shuffle()) {
    check<ValueError>(!stratify, "Stratified train/test split is not implemented for shuffle=False");
    std::iota(order.begin(), order.end(), 0);
    return {as_tensor({order.begin(), order.begin() + counts.train}),
            as_tensor({order.begin() + counts.train, order.begin() + counts.train + counts.test})};
  }
  RandomState random(options.random_state() ? *options.random_state() : LockedEngine(default_generator())->word());
  if (stratify) {
    const auto [train, test] = stratified(options.stratify(), size, counts, random);
    return {as_tensor(train), as_tensor(test)};
  }
  order = random.permutation(order.size());
  const auto middle = order.begin() + counts.test;
  return {as_tensor({middle, middle + counts.train}), as_tensor({order.begin(), middle})};
}

std::pair<Tensor, Tensor> train_test_split(const Tensor& rows, const TrainTestSplitOptions& options) {
  const auto [train, test] = train_test_indices(rows.size(0), options);
  return {rows.index_select(0, train), rows.index_select(0, test)};
}

std::tuple<Tensor, Tensor, Tensor, Tensor> train_test_split(const Tensor& x, const Tensor& y, const TrainTestSplitOptions& options) {
  check<ValueError>(x.size(0) == y.size(0), "Found input variables with inconsistent numbers of samples: [", x.size(0), ", ", y.size(0),
                    "]");
  const auto [train, test] = train_test_indices(x.size(0), options);
  return {x.index_select(0, train), x.index_select(0, test), y.index_select(0, train), y.index_select(0, test)};
}

}  // namespace tenon::data
