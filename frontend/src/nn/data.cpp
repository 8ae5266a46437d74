// Samplers, stacking, and random splits.
#include "tenon/data.h"

#include <algorithm>
#include <numeric>

#include "frontend/src/tensor/text.h"

namespace tenon::data {
namespace {

std::vector<size_t> in_order(size_t size) {
  std::vector<size_t> order(size);
  std::iota(order.begin(), order.end(), size_t{0});
  return order;
}

std::vector<size_t> shuffled(size_t size, const optional<Generator>& generator) {
  const Tensor permutation = randperm(static_cast<int64_t>(size), generator);
  const int64_t* data = permutation.const_data_ptr<int64_t>();
  return {data, data + size};
}

uint64_t drawn_seed() {
  return static_cast<uint64_t>(empty({}, TensorOptions(kLong)).random_().item<int64_t>());
}

template <typename Part>
Tensor stacked(const std::vector<Part>& samples, Tensor Part::*member) {
  std::vector<Tensor> parts;
  for (const Part& sample : samples) parts.push_back(sample.*member);
  return stack(parts);
}

}  // namespace

datasets::PairDataset::PairDataset(Tensor data, Tensor target)
    : data_(std::move(data)), target_(std::move(target)) {
  check(data_.size(0) == target_.size(0), "Size mismatch between tensors");
}

Example<> transforms::Stack<Example<>>::apply_batch(std::vector<Example<>> samples) const {
  return {stacked(samples, &Example<>::data), stacked(samples, &Example<>::target)};
}
TensorExample transforms::Stack<TensorExample>::apply_batch(std::vector<TensorExample> samples) const {
  return stacked(samples, &TensorExample::data);
}

namespace samplers {

optional<std::vector<size_t>> Sampler::next(size_t batch_size) {
  const size_t count = std::min(batch_size, order_.size() - position_);
  if (count == 0) return nullopt;
  const auto first = order_.begin() + static_cast<std::ptrdiff_t>(position_);
  position_ += count;
  return std::vector<size_t>(first, first + static_cast<std::ptrdiff_t>(count));
}

SequentialSampler::SequentialSampler(size_t size) { order_ = in_order(size); }
void SequentialSampler::reset(optional<size_t> size) {
  if (size) order_ = in_order(*size);
  position_ = 0;
}

RandomSampler::RandomSampler(size_t size) { order_ = shuffled(size, nullopt); }
void RandomSampler::reset(optional<size_t> size) {
  order_ = shuffled(size.value_or(order_.size()), nullopt);
  position_ = 0;
}

SeededSampler::SeededSampler(size_t size, bool shuffle) : size_(size), shuffle_(shuffle) {
  check<ValueError>(!shuffle || size > 0,
                    "num_samples should be a positive integer value, but got num_samples=0");
}
void SeededSampler::reset(optional<size_t> size) {
  size_ = size.value_or(size_);
  drawn_seed();  // Python's base seed, which its worker processes would use
  order_ = shuffle_ ? shuffled(size_, make_generator<CPUGeneratorImpl>(drawn_seed())) : in_order(size_);
  position_ = 0;
}

}  // namespace samplers

std::vector<std::vector<int64_t>> random_split(int64_t size, IntArrayRef lengths,
                                               const optional<Generator>& generator) {
  const int64_t total = std::accumulate(lengths.begin(), lengths.end(), int64_t{0});
  check<ValueError>(total == size, "Sum of input lengths does not equal the length of the input dataset!");
  const Tensor permutation = randperm(size, generator);
  const int64_t* next = permutation.const_data_ptr<int64_t>();
  std::vector<std::vector<int64_t>> parts;
  for (int64_t length : lengths) {
    check<ValueError>(length >= 0, "random_split: a length is negative");
    parts.emplace_back(next, next + length);
    next += length;
  }
  return parts;
}

}  // namespace tenon::data
