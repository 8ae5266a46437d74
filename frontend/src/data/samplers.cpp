// Samplers: every epoch's order is a list of indices, made when the epoch starts.
#include "tenon/data/samplers.h"

#include <algorithm>
#include <numeric>
#include <random>

#include "frontend/src/tensor/text.h"
#include "tenon/creation.h"
#include "tenon/random.h"

namespace tenon::data::samplers {
namespace {

std::vector<size_t> in_order(size_t size) {
  std::vector<size_t> order(size);
  std::iota(order.begin(), order.end(), size_t{0});
  return order;
}

std::vector<size_t> indices_of(const Tensor& tensor) {
  const int64_t* data = tensor.const_data_ptr<int64_t>();
  return {data, data + tensor.numel()};
}

std::vector<size_t> shuffled(size_t size, const optional<Generator>& generator) {
  return indices_of(randperm(static_cast<int64_t>(size), generator));
}

uint64_t drawn_seed() {
  return static_cast<uint64_t>(empty({}, TensorOptions(kLong)).random_().item<int64_t>());
}

}  // namespace

optional<std::vector<size_t>> IndexSampler::next(size_t batch_size) {
  const size_t count = std::min(batch_size, order_.size() - position_);
  if (count == 0) return nullopt;
  const auto first = order_.begin() + static_cast<std::ptrdiff_t>(position_);
  position_ += count;
  return std::vector<size_t>(first, first + static_cast<std::ptrdiff_t>(count));
}

io::NamedTensors IndexSampler::state() const {
  return {{"index", tensor(static_cast<int64_t>(position_))},
          {"indices", tensor(std::vector<int64_t>(order_.begin(), order_.end()), TensorOptions(kLong))}};
}

void IndexSampler::set_state(const io::NamedTensors& state) {
  const Tensor &index = state.at("index"), &indices = state.at("indices");
  check(index.scalar_type() == kLong && index.numel() == 1 && indices.scalar_type() == kLong &&
            indices.dim() == 1,
        "the state of a sampler is an int64 number 'index' and a list of int64 'indices'");
  const int64_t position = index.item<int64_t>();
  check(position >= 0 && position <= indices.size(0), "the index of a sampler's state, ", position,
        ", is not among its ", indices.size(0), " indices");
  order_ = indices_of(indices.contiguous());
  position_ = static_cast<size_t>(position);
}

SequentialSampler::SequentialSampler(size_t size) { order_ = in_order(size); }
void SequentialSampler::reset(optional<size_t> new_size) {
  if (new_size) order_ = in_order(*new_size);
  position_ = 0;
}

RandomSampler::RandomSampler(size_t size, ScalarType index_dtype) {
  check(isIntegralType(index_dtype, false), "the indices of a sampler are integers");
  order_ = shuffled(size, nullopt);
}
void RandomSampler::reset(optional<size_t> new_size) {
  order_ = shuffled(new_size.value_or(order_.size()), nullopt);
  position_ = 0;
}

SeededSampler::SeededSampler(size_t size, bool shuffle) : size_(size), shuffle_(shuffle) {
  check<ValueError>(!shuffle || size > 0,
                    "num_samples should be a positive integer value, but got num_samples=0");
}
void SeededSampler::reset(optional<size_t> new_size) {
  size_ = new_size.value_or(size_);
  drawn_seed();  // Python's base seed, which its worker processes would use
  order_ = shuffle_ ? shuffled(size_, make_generator<CPUGeneratorImpl>(drawn_seed())) : in_order(size_);
  position_ = 0;
}

WeightedRandomSampler::WeightedRandomSampler(std::vector<double> weights, size_t num_samples,
                                             bool replacement, optional<Generator> generator)
    : weights_(tensor(weights, TensorOptions(kDouble))),
      count_(num_samples),
      replacement_(replacement),
      generator_(std::move(generator)) {
  check<ValueError>(num_samples > 0, "num_samples should be a positive integer value, but got num_samples=0");
}
void WeightedRandomSampler::reset(optional<size_t> new_size) {
  check(!new_size || *new_size == static_cast<size_t>(weights_.numel()),
        "the size of a WeightedRandomSampler is the number of its weights");
  order_ = indices_of(multinomial(weights_, static_cast<int64_t>(count_), replacement_, generator_));
  position_ = 0;
}

DistributedSampler::DistributedSampler(size_t size, size_t num_replicas, size_t rank, bool allow_duplicates)
    : size_(size), num_replicas_(num_replicas), rank_(rank), allow_duplicates_(allow_duplicates) {
  check<ValueError>(rank < num_replicas, "Invalid rank ", rank, ", rank should be in the interval [0, ",
                    static_cast<int64_t>(num_replicas) - 1, "]");
}
void DistributedSampler::start(optional<size_t> new_size, bool shuffle) {
  size_ = new_size.value_or(size_);
  const size_t local = (size_ + (allow_duplicates_ ? num_replicas_ - 1 : 0)) / num_replicas_;
  std::vector<size_t> all(num_replicas_ == 1 ? size_ : local * num_replicas_);
  for (size_t i = 0; i < all.size(); ++i) all[i] = i % size_;
  if (shuffle) {
    std::mt19937 engine(static_cast<uint32_t>(epoch_));
    std::shuffle(all.begin(), all.end(), engine);
  }
  const auto first = all.begin() + static_cast<std::ptrdiff_t>(rank_ * local);
  order_.assign(first, first + static_cast<std::ptrdiff_t>(local));
  position_ = 0;
}
DistributedRandomSampler::DistributedRandomSampler(size_t size, size_t num_replicas, size_t rank,
                                                   bool allow_duplicates)
    : DistributedSampler(size, num_replicas, rank, allow_duplicates) {
  start(nullopt, true);
}
DistributedSequentialSampler::DistributedSequentialSampler(size_t size, size_t num_replicas, size_t rank,
                                                           bool allow_duplicates)
    : DistributedSampler(size, num_replicas, rank, allow_duplicates) {
  start(nullopt, false);
}

void StreamSampler::reset(optional<size_t> new_size) {
  epoch_size_ = new_size.value_or(epoch_size_);
  retrieved_ = 0;
}
optional<BatchSize> StreamSampler::next(size_t batch_size) {
  const size_t count = std::min(batch_size, epoch_size_ - retrieved_);
  if (count == 0) return nullopt;
  retrieved_ += count;
  return BatchSize(count);
}

}  // namespace tenon::data::samplers
