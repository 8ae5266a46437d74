// The places where a mask holds, and what lies there. How many there are shapes the result, so the mask is evaluated at
// the call.
#pragma once

#include "frontend/src/tensor/impl.h"

namespace tenon {

// An evaluated mask: bool, row-major.
struct Counted {
  NodeRef mask;
  int64_t count;  // of its true elements
};
Counted count_true(const Tensor& mask);

// The elements of x, or the rows [C] of x [R, C] if there are more than R, where the mask of R elements holds: [count, C].
NodeRef rows_where(const Counted& mask, const NodeRef& x);
// x with those rows replaced by the rows of `value`, in order.
NodeRef with_rows_where(const Counted& mask, const NodeRef& x, const NodeRef& value);

// Row-major positions of the true elements of a bool tensor, ascending: i64 [count], each in 0..numel-1.
NodeRef true_positions(const Tensor& mask);

}  // namespace tenon
