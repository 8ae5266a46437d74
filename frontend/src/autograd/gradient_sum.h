// The sum of the gradients that come to one value from all that used it.
#pragma once

#include <vector>

#include "tenon/tensor.h"

namespace tenon {

// Of one shape and dtype, in the order in which they came.
Tensor sum_of_gradients(std::vector<Tensor> parts);

// So many bytes of gradients may wait for their sum; more are added up at once.
inline constexpr int64_t kMostWaitingBytes = int64_t{16} << 20;

}  // namespace tenon
