// What a loss does with its elements, as its options say it: the number that the operators take.
#pragma once

#include "tenon/nn/functional.h"

namespace tenon::nn::functional {

inline int64_t reduction_of(Tag tag) { return tag == Tag::None ? Reduction::None : tag == Tag::Mean ? Reduction::Mean : Reduction::Sum; }
template <typename Options>
int64_t reduction_of(const Options& options) {
  return reduction_of(options.reduction().tag());
}

}  // namespace tenon::nn::functional
