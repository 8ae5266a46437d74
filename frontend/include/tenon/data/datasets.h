// Where samples come from. A dataset of a program derives from one of the first three:
//
//   struct Squares : data::datasets::Dataset<Squares> {           // samples by index
//     data::Example<> get(size_t i) override { return {full({2}, double(i)), tensor(int64_t(i * i))}; }
//     optional<size_t> size() const override { return 100; }
//   };
//
// A loader with workers gives each of them a copy of the dataset, whose tensors are the same; what must be
// one for all is a shared dataset (make_shared_dataset) that locks what it changes.
#pragma once

#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "tenon/data/example.h"
#include "tenon/error.h"

namespace tenon::serialize {
class InputArchive;
class OutputArchive;
}  // namespace tenon::serialize

namespace tenon::data::datasets {

template <typename Source, typename Transform>
class MapDataset;

namespace detail {
template <typename T>
inline constexpr bool is_optional = false;
template <typename T>
inline constexpr bool is_optional<optional<T>> = true;
}  // namespace detail

// Batches by request. Self is the class that derives from this.
template <typename Self, typename Batch = std::vector<Example<>>, typename BatchRequest = ArrayRef<size_t>>
class BatchDataset {
 public:
  using SelfType = Self;
  using BatchType = Batch;
  using BatchRequestType = BatchRequest;
  static constexpr bool is_stateful = detail::is_optional<Batch>;

  virtual ~BatchDataset() = default;
  virtual Batch get_batch(BatchRequest request) = 0;
  virtual optional<size_t> size() const = 0;  // nullopt: nobody knows

  // This dataset with each batch going through a transform (tenon/data/transforms.h).
  template <typename Transform>
  MapDataset<Self, Transform> map(Transform transform) & {
    return {static_cast<Self&>(*this), std::move(transform)};
  }
  template <typename Transform>
  MapDataset<Self, Transform> map(Transform transform) && {
    return {std::move(static_cast<Self&>(*this)), std::move(transform)};
  }
};

// Samples by index.
template <typename Self, typename SingleExample = Example<>>
class Dataset : public BatchDataset<Self, std::vector<SingleExample>> {
 public:
  using ExampleType = SingleExample;
  virtual SingleExample get(size_t index) = 0;
  std::vector<SingleExample> get_batch(ArrayRef<size_t> indices) override {
    std::vector<SingleExample> batch;
    batch.reserve(indices.size());
    for (size_t i : indices) batch.push_back(get(i));
    return batch;
  }
};

// The next so many samples: see samplers::StreamSampler.
template <typename Self, typename Batch = std::vector<Example<>>>
using StreamDataset = BatchDataset<Self, Batch, size_t>;

// Knows by itself how far an epoch has come: get_batch gives nullopt at its end, reset() starts the next. All
// workers of a loader ask the one dataset, which therefore locks.
template <typename Self, typename Batch = std::vector<Example<>>, typename BatchRequest = size_t>
class StatefulDataset : public BatchDataset<Self, optional<Batch>, BatchRequest> {
 public:
  virtual void reset() = 0;
  // How far its epoch has come. One that overrides neither cannot be kept.
  virtual void save(serialize::OutputArchive&) const { throw Error("this dataset has no save() of its own"); }
  virtual void load(serialize::InputArchive&) { throw Error("this dataset has no load() of its own"); }
};
template <typename Self, typename Batch, typename BatchRequest>
serialize::OutputArchive& operator<<(serialize::OutputArchive& archive, const StatefulDataset<Self, Batch, BatchRequest>& dataset) {
  return dataset.save(archive), archive;
}
template <typename Self, typename Batch, typename BatchRequest>
serialize::InputArchive& operator>>(serialize::InputArchive& archive, StatefulDataset<Self, Batch, BatchRequest>& dataset) {
  return dataset.load(archive), archive;
}

namespace detail {
// What a transform makes of a dataset's batch; an optional if the batch is optional.
template <typename Batch, typename Transform>
struct Mapped {
  using type = decltype(std::declval<Transform&>().apply_batch(std::declval<Batch>()));
};
template <typename Batch, typename Transform>
struct Mapped<optional<Batch>, Transform> {
  using type = optional<typename Mapped<Batch, Transform>::type>;
};
}  // namespace detail

// A dataset whose batches go through a transform.
template <typename Source, typename AppliedTransform>
class MapDataset
    : public BatchDataset<MapDataset<Source, AppliedTransform>, typename detail::Mapped<typename Source::BatchType, AppliedTransform>::type,
                          typename Source::BatchRequestType> {
 public:
  using DatasetType = Source;
  using TransformType = AppliedTransform;
  using BatchRequestType = typename Source::BatchRequestType;
  using OutputBatchType = typename detail::Mapped<typename Source::BatchType, AppliedTransform>::type;

  MapDataset(Source dataset, AppliedTransform transform) : dataset_(std::move(dataset)), transform_(std::move(transform)) {}
  OutputBatchType get_batch(BatchRequestType request) override {
    if constexpr (Source::is_stateful) {
      auto batch = dataset_.get_batch(std::move(request));
      return batch ? OutputBatchType(transform_.apply_batch(std::move(*batch))) : nullopt;
    } else {
      return transform_.apply_batch(dataset_.get_batch(std::move(request)));
    }
  }
  optional<size_t> size() const override { return dataset_.size(); }
  void reset() { dataset_.reset(); }
  Source& dataset() noexcept { return dataset_; }
  const Source& dataset() const noexcept { return dataset_; }
  const AppliedTransform& transform() const noexcept { return transform_; }

 private:
  Source dataset_;
  AppliedTransform transform_;
};
template <typename Source, typename Transform>
MapDataset<Source, Transform> map(Source dataset, Transform transform) {
  return {std::move(dataset), std::move(transform)};
}

// One dataset for all copies of this: a loader's workers then share it.
template <typename Underlying>
class SharedBatchDataset
    : public BatchDataset<SharedBatchDataset<Underlying>, typename Underlying::BatchType, typename Underlying::BatchRequestType> {
 public:
  using BatchType = typename Underlying::BatchType;
  using BatchRequestType = typename Underlying::BatchRequestType;
  SharedBatchDataset(std::shared_ptr<Underlying> dataset) : dataset_(std::move(dataset)) {}
  BatchType get_batch(BatchRequestType request) override { return dataset_->get_batch(std::move(request)); }
  optional<size_t> size() const override { return dataset_->size(); }
  void reset() { dataset_->reset(); }
  Underlying& operator*() { return *dataset_; }
  const Underlying& operator*() const { return *dataset_; }
  Underlying* operator->() { return dataset_.get(); }
  const Underlying* operator->() const { return dataset_.get(); }

 private:
  std::shared_ptr<Underlying> dataset_;
};
template <typename Underlying, typename... Arguments>
SharedBatchDataset<Underlying> make_shared_dataset(Arguments&&... arguments) {
  return std::make_shared<Underlying>(std::forward<Arguments>(arguments)...);
}

namespace detail {
// tensor[index]; a row that lies in the host's memory is copied, so that what is made of it has the same plan
// for every row.
Tensor row_of(const Tensor& tensor, size_t index);
}  // namespace detail

// The rows of a tensor; of several tensors, each is a sample.
struct TensorDataset : Dataset<TensorDataset, TensorExample> {
  explicit TensorDataset(Tensor rows);
  explicit TensorDataset(const std::vector<Tensor>& samples);  // Error unless they have one shape
  TensorExample get(size_t index) override { return detail::row_of(tensor, index); }
  optional<size_t> size() const override { return static_cast<size_t>(tensor.size(0)); }
  Tensor tensor;
};

// Rows of two tensors of one length (else Error), as data and target.
class PairDataset : public Dataset<PairDataset> {
 public:
  PairDataset(Tensor data, Tensor target);
  Example<> get(size_t index) override { return {detail::row_of(data_, index), detail::row_of(target_, index)}; }
  optional<size_t> size() const override { return static_cast<size_t>(data_.size(0)); }

 private:
  Tensor data_, target_;
};

// Some samples of a dataset, in this order. IndexError when one is asked for that it does not have.
template <typename Source>
class Subset : public Dataset<Subset<Source>, typename Source::ExampleType> {
 public:
  Subset(Source dataset, std::vector<size_t> indices) : dataset_(std::move(dataset)), indices_(std::move(indices)) {}
  typename Source::ExampleType get(size_t index) override {
    if (index >= indices_.size()) throw IndexError("list index out of range");
    return dataset_.get(indices_[index]);
  }
  optional<size_t> size() const override { return indices_.size(); }
  const std::vector<size_t>& indices() const { return indices_; }

 private:
  Source dataset_;
  std::vector<size_t> indices_;
};

}  // namespace tenon::data::datasets

namespace tenon::data {
using datasets::Dataset;  // LibTorch has it here too
}
