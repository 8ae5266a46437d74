// Functions that record one elementwise operation: what the rows of functions.def that say `= op OP` call.
#pragma once

#include "frontend/src/autograd/grad.h"

namespace tenon {

// Of floats; integers become the default float type. `saved`: what PyTorch saves, where something else may be kept here: the operand if
// the result has another order than the operand's memory, a transposed one; kReadsNothing if there is nothing to say.
Tensor replayed_float_op(const char* name, const char* grad_name, uint32_t saved, Op op, const Tensor& x);
Tensor float_binary_op(const char* grad_name, Op op, const Tensor& a, const Tensor& b);

// Rounding to an integer: integers are already there.
Tensor rounding_op(const char* grad_name, const char* kernel, Op op, const Tensor& x);

// In the promoted type, without a gradient.
Tensor compare(const char* name, Op op, const Tensor& a, const Tensor& b);
Tensor compare(const char* name, Op op, const Tensor& a, const Scalar& b);

}  // namespace tenon
