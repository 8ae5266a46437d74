// The places where a mask holds. How many there are shapes the result, so the mask is evaluated at the call.
#pragma once

#include "impl.h"

namespace tenon {

// Row-major positions of the true elements of a bool tensor, ascending: i64 [count], each in 0..numel-1.
NodeRef true_positions(const Tensor& mask);

}  // namespace tenon
