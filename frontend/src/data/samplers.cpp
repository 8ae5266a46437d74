// Samplers: every epoch's order is a list of indices, made when the epoch starts.
#include "tenon/data/samplers.h"

#include <algorithm>
#include <numeric>
#include <random>

#include "frontend/src/tensor/text.h"
#include "tenon/creation.h"
#include "tenon/random.h"
#include "tenon/serialize.h"

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

// Numbers in an archive are int64 tensors, as LibTorch's samplers write them.
void write_number(serialize::OutputArchive& archive, const char* key, size_t number) {
  archive.write(key, tensor(static_cast<int64_t>(number)), true);
}
size_t read_number(serialize::InputArchive& archive, const char* key) {
  Tensor found;
  archive.read(key, found, true);
  check(found.scalar_type() == kLong && found.numel() == 1, archive.where(key), ": expected one int64 number");
  const auto number = found.item<int64_t>();
  check(number >= 0, archive.where(key), ": ", number, " is negative");
  return static_cast<size_t>(number);
}

uint64_t drawn_seed() { return static_cast<uint64_t>(empty({}, TensorOptions(kLong)).random_().item<int64_t>()); }

}  // namespace

optional<std::vector<size_t>> IndexSampler::next(size_t batch_size) {
  const size_t count = std::min(batch_size, order_.size() - position_);
  if (count == 0) return nullopt;
  const auto first = order_.begin() + static_cast<std::ptrdiff_t>(position_);
  position_ += count;
  return std::vector<size_t>(first, first + static_cast<std::ptrdiff_t>(count));
}

void IndexSampler::save(serialize::OutputArchive& archive) const {
  write_number(archive, "index", position_);
  archive.write("indices", tensor(std::vector<int64_t>(order_.begin(), order_.end()), TensorOptions(kLong)), true);
}

void IndexSampler::load(serialize::InputArchive& archive) {
  const size_t position = read_number(archive, "index");
  Tensor indices;
  archive.read("indices", indices, true);
  check(indices.scalar_type() == kLong && indices.dim() == 1, archive.where("indices"), ": expected a list of int64");
  check(position <= static_cast<size_t>(indices.numel()), archive.where("index"), ": ", position, " is not among the ", indices.numel(),
        " indices");
  order_ = indices_of(indices.contiguous());
  position_ = position;
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
  check<ValueError>(!shuffle || size > 0, "num_samples should be a positive integer value, but got num_samples=0");
}
void SeededSampler::reset(optional<size_t> new_size) {
  size_ = new_size.value_or(size_);
  drawn_seed();  // Python's base seed, which its worker processes would use
  order_ = shuffle_ ? shuffled(size_, make_generator<CPUGeneratorImpl>(drawn_seed())) : in_order(size_);
  position_ = 0;
}

WeightedRandomSampler::WeightedRandomSampler(std::vector<double> weights, size_t num_samples, bool replacement,
                                             optional<Generator> generator)
    : weights_(tensor(weights, TensorOptions(kDouble))), count_(num_samples), replacement_(replacement), generator_(std::move(generator)) {
  check<ValueError>(num_samples > 0, "num_samples should be a positive integer value, but got num_samples=0");
}
void WeightedRandomSampler::reset(optional<size_t> new_size) {
  check(!new_size || *new_size == static_cast<size_t>(weights_.numel()),
        "the size of a WeightedRandomSampler is the number of its weights");
  order_ = indices_of(multinomial(weights_, static_cast<int64_t>(count_), replacement_, generator_));
  position_ = 0;
}

void WeightedRandomSampler::save(serialize::OutputArchive& archive) const {
  IndexSampler::save(archive);
  if (generator_) archive.write("generator", generator_->get_state(), true);
}
void WeightedRandomSampler::load(serialize::InputArchive& archive) {
  Tensor state;
  if (generator_) archive.read("generator", state, true);
  if (generator_) Generator(generator_->clone()).set_state(state);  // throws if it is none
  IndexSampler::load(archive);
  if (generator_) generator_->set_state(state);
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
void DistributedSampler::save(serialize::OutputArchive& archive) const {
  IndexSampler::save(archive);
  write_number(archive, "epoch", epoch_);
}
void DistributedSampler::load(serialize::InputArchive& archive) {
  const size_t epoch = read_number(archive, "epoch");
  IndexSampler::load(archive);
  epoch_ = epoch;
}
DistributedRandomSampler::DistributedRandomSampler(size_t size, size_t num_replicas, size_t rank, bool allow_duplicates)
    : DistributedSampler(size, num_replicas, rank, allow_duplicates) {
  start(nullopt, true);
}
DistributedSequentialSampler::DistributedSequentialSampler(size_t size, size_t num_replicas, size_t rank, bool allow_duplicates)
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
void StreamSampler::save(serialize::OutputArchive& archive) const { write_number(archive, "examples_retrieved_so_far", retrieved_); }
void StreamSampler::load(serialize::InputArchive& archive) {
  const size_t retrieved = read_number(archive, "examples_retrieved_so_far");
  check(retrieved <= epoch_size_, archive.where("examples_retrieved_so_far"), ": ", retrieved, " is more than an epoch's ", epoch_size_);
  retrieved_ = retrieved;
}

}  // namespace tenon::data::samplers
