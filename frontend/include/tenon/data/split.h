// Parts of a dataset: random_split as PyTorch has it, train_test_split as scikit-learn has it, in their
// orders for a seed.
#pragma once

#include <initializer_list>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "tenon/data/datasets.h"
#include "tenon/generator.h"
#include "tenon/nn/arg.h"

namespace tenon::data {

// The sizes of parts: {80, 20}, or the fractions {0.8, 0.2}, which are rounded down; what is left goes to the
// first parts, one each.
class SplitLengths {
 public:
  template <typename T>
  requires std::is_arithmetic_v<T> SplitLengths(std::initializer_list<T> lengths) : SplitLengths(std::vector<T>(lengths)) {}
  template <typename T>
  requires std::is_arithmetic_v<T> SplitLengths(const std::vector<T>& lengths) {
    if constexpr (std::is_integral_v<T>) counts_.assign(lengths.begin(), lengths.end());
    else fractions_.assign(lengths.begin(), lengths.end());
  }
  SplitLengths(IntArrayRef lengths) : counts_(lengths.vec()) {}
  // The counts for `size` samples. ValueError unless they are all of them.
  std::vector<int64_t> of(int64_t size) const;

 private:
  std::vector<int64_t> counts_;
  std::vector<double> fractions_;
};

// Disjoint random parts of 0..size-1 of these lengths, drawn as one randperm.
std::vector<std::vector<int64_t>> random_split(int64_t size, const SplitLengths& lengths, const optional<Generator>& generator = nullopt);
// The same parts of a dataset that has samples by index.
template <typename T>
concept HasSamples = requires(T dataset) {
  dataset.get(size_t{});
};
template <HasSamples Source>
std::vector<datasets::Subset<Source>> random_split(const Source& dataset, const SplitLengths& lengths,
                                                   const optional<Generator>& generator = nullopt) {
  std::vector<datasets::Subset<Source>> parts;
  for (const std::vector<int64_t>& part : random_split(static_cast<int64_t>(dataset.size().value()), lengths, generator))
    parts.emplace_back(dataset, std::vector<size_t>(part.begin(), part.end()));
  return parts;
}

// Sizes are fractions (0.25) or counts (30). Without sizes a quarter is the test; with one of them the other
// is the rest.
struct TrainTestSplitOptions {
  TENON_ARG(optional<Scalar>, test_size) = nullopt;
  TENON_ARG(optional<Scalar>, train_size) = nullopt;
  TENON_ARG(optional<uint32_t>,
            random_state) = nullopt;  // the seed; without one it is drawn from the default generator
  TENON_ARG(bool, shuffle) = true;
  TENON_ARG(Tensor, stratify);  // classes, one for each sample: both parts have them in equal shares

 public:
  TrainTestSplitOptions() = default;
  template <typename T>
  requires std::is_arithmetic_v<T> TrainTestSplitOptions(T test_size) : test_size_(Scalar(test_size)) {}
};

// The indices (int64) of the training part and of the test part, in scikit-learn's order.
std::pair<Tensor, Tensor> train_test_indices(int64_t size, const TrainTestSplitOptions& options = {});
// Rows of a tensor: train, test.
std::pair<Tensor, Tensor> train_test_split(const Tensor& rows, const TrainTestSplitOptions& options = {});
// Rows of two tensors of one length: x_train, x_test, y_train, y_test. ValueError where scikit-learn has it.
std::tuple<Tensor, Tensor, Tensor, Tensor> train_test_split(const Tensor& x, const Tensor& y, const TrainTestSplitOptions& options = {});

}  // namespace tenon::data
