// Writing the result of an operation into one of its operands.
//
//   Tensor& Tensor::exp_() const { return assign(*this, tenon::exp(*this)); }
#pragma once

#include "frontend/src/tensor/impl.h"

namespace tenon {

// self takes the elements of a result that has its shape; they are cast to its dtype. Error if the shapes
// differ or the result's type is of a higher category.
Tensor& assign(const Tensor& self, const Tensor& result);
// self becomes another view, made of it, of the same memory.
Tensor& reshape_in_place(const Tensor& self, const Tensor& view);

}  // namespace tenon
