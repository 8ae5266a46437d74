// What happens to the samples of a batch on their way to the program: dataset.map(transform). A transform is
// anything with `Output apply_batch(Input batch)`; the classes here are LibTorch's ways of writing one.
//
//   auto set = std::move(dataset)
//                  .map(transforms::Lambda<Example<>>([](Example<> e) { return e; }))   // sample by sample
//                  .map(transforms::Normalize<>({0.5}, {0.25}))                         // the data of each sample
//                  .map(transforms::Stack<>());                                         // samples -> one batch
#pragma once

#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "tenon/creation.h"
#include "tenon/data/example.h"

namespace tenon::data {

namespace detail {

// A function object of any type; a copy of this has a copy of it. (std::function, without the time that
// <functional> takes to parse.)
template <typename Output, typename Input>
class Function {
 public:
  template <typename F>
  requires(!std::is_same_v<std::remove_cvref_t<F>, Function> && std::is_invocable_r_v<Output, F&, Input>) Function(F function)
      : held_(std::make_unique<Holder<F>>(std::move(function))) {}
  Function(const Function& other) : held_(other.held_->copy()) {}
  Function(Function&&) noexcept = default;
  Function& operator=(Function other) noexcept {
    held_.swap(other.held_);
    return *this;
  }
  Output operator()(Input input) { return held_->call(std::move(input)); }

 private:
  struct Held {
    virtual ~Held() = default;
    virtual Output call(Input&& input) = 0;
    virtual std::unique_ptr<Held> copy() const = 0;
  };
  template <typename F>
  struct Holder final : Held {
    explicit Holder(F f) : function(std::move(f)) {}
    Output call(Input&& input) override { return function(std::move(input)); }
    std::unique_ptr<Held> copy() const override { return std::make_unique<Holder>(function); }
    F function;
  };
  std::unique_ptr<Held> held_;
};

// stack(tensors): elements that lie in the host's memory are copied at once, anything else is recorded.
Tensor stacked(const std::vector<Tensor>& tensors);
// (input - mean) / stddev; mean and stddev are [channels or 1, 1, 1]. The same with elements in the host's
// memory.
Tensor normalized(const Tensor& input, const Tensor& mean, const Tensor& stddev);

}  // namespace detail

namespace transforms {

template <typename InputBatch, typename OutputBatch>
class BatchTransform {
 public:
  using InputBatchType = InputBatch;
  using OutputBatchType = OutputBatch;
  virtual ~BatchTransform() = default;
  virtual OutputBatch apply_batch(InputBatch input_batch) = 0;
};

// Sample by sample.
template <typename Input, typename Output>
class Transform : public BatchTransform<std::vector<Input>, std::vector<Output>> {
 public:
  using InputType = Input;
  using OutputType = Output;
  virtual Output apply(Input input) = 0;
  std::vector<Output> apply_batch(std::vector<Input> input_batch) override {
    std::vector<Output> output_batch;
    output_batch.reserve(input_batch.size());
    for (Input& input : input_batch) output_batch.push_back(apply(std::move(input)));
    return output_batch;
  }
};

// A function of a batch.
template <typename Input, typename Output = Input>
class BatchLambda : public BatchTransform<Input, Output> {
 public:
  using FunctionType = detail::Function<Output, Input>;
  explicit BatchLambda(FunctionType function) : function_(std::move(function)) {}
  Output apply_batch(Input input_batch) override { return function_(std::move(input_batch)); }

 private:
  FunctionType function_;
};

// A function of a sample.
template <typename Input, typename Output = Input>
class Lambda : public Transform<Input, Output> {
 public:
  using FunctionType = detail::Function<Output, Input>;
  explicit Lambda(FunctionType function) : function_(std::move(function)) {}
  Output apply(Input input) override { return function_(std::move(input)); }

 private:
  FunctionType function_;
};

// Samples to one batch, which looks like a sample.
template <typename T, typename BatchType = std::vector<T>>
using Collation = BatchTransform<BatchType, T>;
template <typename T, typename BatchType = std::vector<T>>
using Collate = BatchLambda<BatchType, T>;

// The data, and the targets, along a new first dim.
template <typename T = Example<>>
struct Stack;
template <>
struct Stack<Example<>> : Collation<Example<>> {
  Example<> apply_batch(std::vector<Example<>> examples) override;
};
template <>
struct Stack<TensorExample> : Collation<TensorExample> {
  TensorExample apply_batch(std::vector<TensorExample> examples) override;
};

// A function of the data of a sample.
template <typename Target = Tensor>
class TensorTransform : public Transform<Example<Tensor, Target>, Example<Tensor, Target>> {
 public:
  virtual Tensor operator()(Tensor input) = 0;
  Example<Tensor, Target> apply(Example<Tensor, Target> input) override {
    input.data = (*this)(std::move(input.data));
    return input;
  }
};
template <typename Target = Tensor>
class TensorLambda : public TensorTransform<Target> {
 public:
  using FunctionType = detail::Function<Tensor, Tensor>;
  explicit TensorLambda(FunctionType function) : function_(std::move(function)) {}
  Tensor operator()(Tensor input) override { return function_(std::move(input)); }

 private:
  FunctionType function_;
};

// (data - mean) / stddev, by channel: the first dim of the data.
template <typename Target = Tensor>
struct Normalize : TensorTransform<Target> {
  // One number for each channel, or one for all.
  Normalize(ArrayRef<double> mean_, ArrayRef<double> stddev_) : mean(column(mean_)), stddev(column(stddev_)) {}
  Tensor operator()(Tensor input) override { return detail::normalized(input, mean, stddev); }
  Tensor mean, stddev;

 private:
  static Tensor column(ArrayRef<double> values) {
    return tensor(values.vec(), TensorOptions(kFloat)).reshape({static_cast<int64_t>(values.size()), 1, 1});
  }
};

}  // namespace transforms
}  // namespace tenon::data
