// Writing the result of an operation into a tensor that the program gave for it.
//
//   Tensor& amax_out(Tensor& out, const Operand& self, ...) { return put_out(out, amax(self, ...), "amax"); }
#pragma once

#include "tenon/tensor.h"

namespace tenon {

// `out` takes the shape of the result, with a warning if it has elements in another one, and its elements, cast to its dtype.
// Error if one of them requires grad or the result's type is of a higher category. `name` is the operation's.
Tensor& put_out(Tensor& out, const Tensor& result, const char* name);

}  // namespace tenon
