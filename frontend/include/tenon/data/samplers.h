// The order of an epoch: what the next batch is made of.
#pragma once

#include <vector>

#include "tenon/generator.h"
#include "tenon/tensor.h"

namespace tenon::serialize {
class InputArchive;
class OutputArchive;
}  // namespace tenon::serialize

namespace tenon::data::samplers {

// Asks for the batches of an epoch, one after another.
template <typename BatchRequest = std::vector<size_t>>
class Sampler {
 public:
  using BatchRequestType = BatchRequest;
  virtual ~Sampler() = default;
  virtual void reset(optional<size_t> new_size = nullopt) = 0;  // starts an epoch; another size from now on, if given
  // At most `batch_size` further samples; nullopt when the epoch is over.
  virtual optional<BatchRequest> next(size_t batch_size) = 0;
  // Where in its epoch it stands: a sampler that was loaded goes on with the same batches. load throws an Error, and changes
  // nothing, if the archive has no such place. A sampler that overrides neither cannot be kept.
  virtual void save(serialize::OutputArchive&) const { throw Error("this sampler has no save() of its own"); }
  virtual void load(serialize::InputArchive&) { throw Error("this sampler has no load() of its own"); }
};
template <typename BatchRequest>
serialize::OutputArchive& operator<<(serialize::OutputArchive& archive, const Sampler<BatchRequest>& sampler) {
  return sampler.save(archive), archive;
}
template <typename BatchRequest>
serialize::InputArchive& operator>>(serialize::InputArchive& archive, Sampler<BatchRequest>& sampler) {
  return sampler.load(archive), archive;
}

// The part that samplers of indices share: an order, and how far it has been handed out.
class IndexSampler : public Sampler<> {
 public:
  optional<std::vector<size_t>> next(size_t batch_size) override;
  size_t index() const noexcept { return position_; }
  // The tensors "indices", the order of the epoch, and "index", the position in it.
  void save(serialize::OutputArchive& archive) const override;
  void load(serialize::InputArchive& archive) override;

 protected:
  std::vector<size_t> order_;
  size_t position_ = 0;
};

class SequentialSampler : public IndexSampler {
 public:
  explicit SequentialSampler(size_t size);
  void reset(optional<size_t> new_size = nullopt) override;
};

// LibTorch's order: randperm of the default generator, once when made and again at each reset.
class RandomSampler : public IndexSampler {
 public:
  explicit RandomSampler(size_t size, ScalarType index_dtype = kInt64);
  void reset(optional<size_t> new_size = nullopt) override;
};

// The order of Python's DataLoader(shuffle=True): each epoch draws a base seed and then the seed of the
// generator that shuffles, both from the default generator.
class SeededSampler : public IndexSampler {
 public:
  explicit SeededSampler(size_t size, bool shuffle = true);
  void reset(optional<size_t> new_size = nullopt) override;

 private:
  size_t size_;
  bool shuffle_;
};

// Python's: `num_samples` indices drawn with these weights, with or without putting back.
class WeightedRandomSampler : public IndexSampler {
 public:
  WeightedRandomSampler(std::vector<double> weights, size_t num_samples, bool replacement = true, optional<Generator> generator = nullopt);
  void reset(optional<size_t> new_size = nullopt) override;  // Error if a size is given: it is that of the weights
  // Also the state of its generator, if it has one of its own.
  void save(serialize::OutputArchive& archive) const override;
  void load(serialize::InputArchive& archive) override;

 private:
  Tensor weights_;
  size_t count_;
  bool replacement_;
  optional<Generator> generator_;
};

// The share of one of several processes: block number `rank` of num_replicas. All shares are equally long:
// where the size does not divide, the first samples come twice, or the last are left out if duplicates are
// not allowed.
class DistributedSampler : public IndexSampler {
 public:
  void set_epoch(size_t epoch) { epoch_ = epoch; }
  size_t epoch() const { return epoch_; }
  void save(serialize::OutputArchive& archive) const override;  // the epoch too
  void load(serialize::InputArchive& archive) override;

 protected:
  DistributedSampler(size_t size, size_t num_replicas, size_t rank, bool allow_duplicates);
  void start(optional<size_t> new_size, bool shuffle);
  size_t size_, num_replicas_, rank_, epoch_ = 0;
  bool allow_duplicates_;
};

// LibTorch's shuffle, which depends on the epoch alone: all processes have the same.
class DistributedRandomSampler : public DistributedSampler {
 public:
  explicit DistributedRandomSampler(size_t size, size_t num_replicas = 1, size_t rank = 0, bool allow_duplicates = true);
  void reset(optional<size_t> new_size = nullopt) override { start(new_size, true); }
};
class DistributedSequentialSampler : public DistributedSampler {
 public:
  explicit DistributedSequentialSampler(size_t size, size_t num_replicas = 1, size_t rank = 0, bool allow_duplicates = true);
  void reset(optional<size_t> new_size = nullopt) override { start(new_size, false); }
};

// A request of another kind than indices.
struct CustomBatchRequest {
  virtual ~CustomBatchRequest() = default;
  virtual size_t size() const = 0;
};
// "The next so many", for datasets that are streams.
struct BatchSize : CustomBatchRequest {
  explicit BatchSize(size_t size) : size_(size) {}
  size_t size() const noexcept override { return size_; }
  operator size_t() const noexcept { return size_; }
  size_t size_;
};

// Asks a stream for epoch_size samples.
class StreamSampler : public Sampler<BatchSize> {
 public:
  explicit StreamSampler(size_t epoch_size) : epoch_size_(epoch_size) {}
  void reset(optional<size_t> new_size = nullopt) override;
  optional<BatchSize> next(size_t batch_size) override;
  void save(serialize::OutputArchive& archive) const override;
  void load(serialize::InputArchive& archive) override;

 private:
  size_t retrieved_ = 0, epoch_size_;
};

}  // namespace tenon::data::samplers
