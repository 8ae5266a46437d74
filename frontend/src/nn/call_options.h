// What the functions of nn::functional do with options that are no parameters of the operators: the reduction of a loss, and `inplace`.
#pragma once

#include "tenon/nn/functional.h"

namespace tenon::nn::functional {

// The number that the operators take.
inline int64_t reduction_of(Tag tag) { return tag == Tag::None ? Reduction::None : tag == Tag::Mean ? Reduction::Mean : Reduction::Sum; }
template <typename Options>
int64_t reduction_of(const Options& options) {
  return reduction_of(options.reduction().tag());
}

// The function's result, written into the input if that was asked for. Then the gradient reads a copy of what the input was.
template <typename F>
Tensor placed(const Tensor& input, bool inplace, F function) {
  return inplace ? input.copy_(function(input.clone())) : function(input);
}

}  // namespace tenon::nn::functional
