// The sum of the gradients that come to one value from all that used it.
#pragma once

#include <vector>

#include "tenon/tensor.h"

namespace tenon {

// The sum of gradients of one shape and dtype, in the order in which they came. `many`: they are some of many.
Tensor sum_of_gradients(std::vector<Tensor> parts, bool many);

// Whether the gradient waits as the terms of a sum, which are few and most of which the pass stores anyway.
bool is_cheap_sum(const Tensor& part);

// How many bytes the slice has where the gradient is 0 but for one; 0 if it is none.
int64_t bytes_of_slice(const Tensor& part);

// So many bytes of other gradients may wait for their sum, which a cache holds; more are added up at once.
inline constexpr int64_t kMostWaitingBytes = int64_t{1} << 20;

}  // namespace tenon
