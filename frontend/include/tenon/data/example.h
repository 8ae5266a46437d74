// What a dataset gives: a sample, or a batch of them.
#pragma once

#include <utility>

#include "tenon/tensor.h"

namespace tenon::data {

namespace example {
using NoTarget = void;
}

// Data and what is to be learnt of it.
template <typename Data = Tensor, typename Target = Tensor>
struct Example {
  using DataType = Data;
  using TargetType = Target;
  Example() = default;
  Example(Data data_, Target target_) : data(std::move(data_)), target(std::move(target_)) {}
  Data data;
  Target target;
};

// Without a target; stands for its data.
template <typename Data>
struct Example<Data, example::NoTarget> {
  using DataType = Data;
  using TargetType = example::NoTarget;
  Example() = default;
  Example(Data data_) : data(std::move(data_)) {}
  operator Data&() { return data; }
  operator const Data&() const { return data; }
  Data data;
};
using TensorExample = Example<Tensor, example::NoTarget>;

}  // namespace tenon::data
