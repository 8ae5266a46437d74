// Data: datasets, transforms, samplers and loaders in LibTorch's shape.
//
//   auto set = data::datasets::PairDataset(x, y).map(data::transforms::Stack<>());
//   auto loader = data::make_data_loader<data::samplers::RandomSampler>(std::move(set), 64);
//   for (auto& batch : *loader) { batch.data; batch.target; }
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "tenon/creation.h"
#include "tenon/nn/options.h"
#include "tenon/random.h"

namespace tenon::data {

// One sample; without a target, Example<Tensor, void>.
template <typename Data = Tensor, typename Target = Tensor>
struct Example {
  Example() = default;
  Example(Data data_, Target target_) : data(std::move(data_)), target(std::move(target_)) {}
  Data data;
  Target target;
};
template <typename Data>
struct Example<Data, void> {
  Example() = default;
  Example(Data data_) : data(std::move(data_)) {}
  operator Data&() { return data; }
  operator const Data&() const { return data; }
  Data data;
};
using TensorExample = Example<Tensor, void>;

namespace datasets {

template <typename Source, typename Transform>
class MapDataset;

// Samples by index. Self gives `Sample get(size_t)` and `optional<size_t> size() const`.
template <typename Self, typename Sample = Example<>>
class Dataset {
 public:
  using ExampleType = Sample;
  using BatchType = std::vector<Sample>;
  virtual ~Dataset() = default;
  virtual Sample get(size_t index) = 0;
  virtual optional<size_t> size() const = 0;
  BatchType get_batch(ArrayRef<size_t> indices) {
    BatchType batch;
    for (size_t i : indices) batch.push_back(get(i));
    return batch;
  }
  template <typename Transform>
  MapDataset<Self, Transform> map(Transform transform) && {
    return {std::move(static_cast<Self&>(*this)), std::move(transform)};
  }
  template <typename Transform>
  MapDataset<Self, Transform> map(Transform transform) & {
    return {static_cast<Self&>(*this), std::move(transform)};
  }
};

// A dataset whose batches go through a transform.
template <typename Source, typename Transform>
class MapDataset {
 public:
  using BatchType =
      decltype(std::declval<Transform&>().apply_batch(std::declval<typename Source::BatchType>()));
  MapDataset(Source source, Transform transform)
      : source_(std::move(source)), transform_(std::move(transform)) {}
  BatchType get_batch(ArrayRef<size_t> indices) { return transform_.apply_batch(source_.get_batch(indices)); }
  optional<size_t> size() const { return source_.size(); }
  template <typename Next>
  MapDataset<MapDataset, Next> map(Next next) && {
    return {std::move(*this), std::move(next)};
  }
  Source& dataset() { return source_; }

 private:
  Source source_;
  Transform transform_;
};

// The rows of a tensor.
class TensorDataset : public Dataset<TensorDataset, TensorExample> {
 public:
  explicit TensorDataset(Tensor tensor) : tensor_(std::move(tensor)) {}
  TensorExample get(size_t index) override { return tensor_.select(0, static_cast<int64_t>(index)); }
  optional<size_t> size() const override { return static_cast<size_t>(tensor_.size(0)); }

 private:
  Tensor tensor_;
};

// Rows of two tensors of one length (else Error), as data and target.
class PairDataset : public Dataset<PairDataset> {
 public:
  PairDataset(Tensor data, Tensor target);
  Example<> get(size_t index) override {
    return {data_.select(0, static_cast<int64_t>(index)), target_.select(0, static_cast<int64_t>(index))};
  }
  optional<size_t> size() const override { return static_cast<size_t>(data_.size(0)); }

 private:
  Tensor data_, target_;
};

}  // namespace datasets

using datasets::Dataset;  // LibTorch has it here too

namespace transforms {

// A batch of samples as one sample of stacked tensors.
template <typename Sample = Example<>>
struct Stack;
template <>
struct Stack<Example<>> {
  Example<> apply_batch(std::vector<Example<>> samples) const;
};
template <>
struct Stack<TensorExample> {
  TensorExample apply_batch(std::vector<TensorExample> samples) const;
};

// f applied to the data of each sample: Tensor f(Tensor).
template <typename F, typename Target = Tensor>
struct TensorLambda {
  explicit TensorLambda(F function) : f(std::move(function)) {}
  std::vector<Example<Tensor, Target>> apply_batch(std::vector<Example<Tensor, Target>> samples) {
    for (auto& sample : samples) sample.data = f(std::move(sample.data));
    return samples;
  }
  F f;
};

// (data - mean) / stddev, by channel: the first dim of the data.
template <typename Target = Tensor>
struct Normalize {
  // One number for each channel, or one for all.
  Normalize(ArrayRef<double> mean_, ArrayRef<double> stddev_)
      : mean(column(mean_)), stddev(column(stddev_)) {}
  std::vector<Example<Tensor, Target>> apply_batch(std::vector<Example<Tensor, Target>> samples) const {
    for (auto& sample : samples) sample.data = sample.data.sub(mean).div(stddev);
    return samples;
  }
  Tensor mean, stddev;

 private:
  static Tensor column(ArrayRef<double> values) {
    return tensor(values.vec(), TensorOptions(kFloat)).reshape({static_cast<int64_t>(values.size()), 1, 1});
  }
};

}  // namespace transforms

namespace samplers {

// Gives the indices of an epoch, batch after batch. reset() starts an epoch.
class Sampler {
 public:
  virtual ~Sampler() = default;
  virtual void reset(optional<size_t> size = nullopt) = 0;  // another size from now on, if given
  // At most `batch_size` further indices; nullopt when the epoch is over.
  optional<std::vector<size_t>> next(size_t batch_size);
  size_t index() const { return position_; }

 protected:
  std::vector<size_t> order_;
  size_t position_ = 0;
};
class SequentialSampler : public Sampler {
 public:
  explicit SequentialSampler(size_t size);
  void reset(optional<size_t> size = nullopt) override;
};
// LibTorch's: randperm of the default generator, once when made and again at each reset.
class RandomSampler : public Sampler {
 public:
  explicit RandomSampler(size_t size);
  void reset(optional<size_t> size = nullopt) override;
};
// The order of Python's DataLoader(shuffle=True): each epoch draws a base seed and then the seed of the
// generator that shuffles, both from the default generator.
class SeededSampler : public Sampler {
 public:
  explicit SeededSampler(size_t size, bool shuffle = true);
  void reset(optional<size_t> size = nullopt) override;

 private:
  size_t size_;
  bool shuffle_;
};

}  // namespace samplers

// Batches are loaded by the thread that asks for them, in order: of the settings of worker threads (how many, how
// many batches ahead, in order or not, how long to wait) none changes a result.
struct DataLoaderOptions {
  DataLoaderOptions(size_t batch_size = 1) : batch_size_(batch_size) {}
  TENON_ARG(size_t, batch_size);
  TENON_ARG(size_t, workers) = 0;
  TENON_ARG(optional<size_t>, max_jobs) = nullopt;
  TENON_ARG(bool, enforce_ordering) = true;

 public:
  template <typename Duration>
  requires requires(const Duration& limit) { limit.count(); } DataLoaderOptions& timeout(const Duration&) {
    return *this;  // nothing waits
  }
  TENON_ARG(bool, drop_last) = false;
};

// The batches of a dataset in a sampler's order. One pass at a time: begin() starts an epoch.
template <typename Dataset, typename Sampler>
class DataLoader {
 public:
  using BatchType = typename Dataset::BatchType;

  DataLoader(Dataset dataset, Sampler sampler, DataLoaderOptions options)
      : dataset_(std::move(dataset)), sampler_(std::move(sampler)), options_(std::move(options)) {
    if (options_.batch_size() == 0)
      throw ValueError("batch_size should be a positive integer value, but got batch_size=0");
  }

  class Iterator {
   public:
    using difference_type = std::ptrdiff_t;
    using value_type = BatchType;
    using pointer = BatchType*;
    using reference = BatchType&;
    using iterator_category = std::input_iterator_tag;

    Iterator() = default;
    explicit Iterator(DataLoader* loader) : loader_(loader) { ++*this; }
    BatchType& operator*() {
      if (!loader_) throw Error("Dereferencing the DataLoader's past-the-end iterator is not allowed");
      return *batch_;
    }
    BatchType* operator->() { return &**this; }
    Iterator& operator++() {
      if (!loader_) throw Error("Incrementing the DataLoader's past-the-end iterator is not allowed");
      batch_ = loader_->next();
      if (!batch_) loader_ = nullptr;
      return *this;
    }
    bool operator!=(const Iterator& other) const { return loader_ != other.loader_; }
    bool operator==(const Iterator& other) const { return loader_ == other.loader_; }

   private:
    DataLoader* loader_ = nullptr;
    optional<BatchType> batch_;
  };
  Iterator begin() {
    sampler_.reset();
    return Iterator(this);
  }
  Iterator end() { return {}; }
  const DataLoaderOptions& options() const { return options_; }

 private:
  optional<BatchType> next() {
    const optional<std::vector<size_t>> indices = sampler_.next(options_.batch_size());
    if (!indices || (options_.drop_last() && indices->size() < options_.batch_size())) return nullopt;
    return dataset_.get_batch({indices->data(), indices->size()});
  }
  Dataset dataset_;
  Sampler sampler_;
  DataLoaderOptions options_;
};

template <typename Sampler = samplers::RandomSampler, typename Dataset>
std::unique_ptr<DataLoader<Dataset, Sampler>> make_data_loader(Dataset dataset,
                                                               DataLoaderOptions options = {}) {
  const optional<size_t> size = dataset.size();
  if (!size) throw Error("Expected the dataset to be sized in order to construct the Sampler");
  return std::make_unique<DataLoader<Dataset, Sampler>>(std::move(dataset), Sampler(*size),
                                                        std::move(options));
}
template <typename Dataset, typename Sampler>
requires requires(Sampler sampler) { sampler.next(size_t{1}); }  // and not a batch size or options
std::unique_ptr<DataLoader<Dataset, Sampler>> make_data_loader(Dataset dataset, Sampler sampler,
                                                               DataLoaderOptions options = {}) {
  return std::make_unique<DataLoader<Dataset, Sampler>>(std::move(dataset), std::move(sampler),
                                                        std::move(options));
}

// Disjoint random parts of 0..size-1 of these lengths, drawn as one randperm.
std::vector<std::vector<int64_t>> random_split(int64_t size, IntArrayRef lengths,
                                               const optional<Generator>& generator = nullopt);

}  // namespace tenon::data
