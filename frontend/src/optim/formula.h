// Formulas that a program applies over and over to tensors of the same types, such as an optimizer's update of each parameter.
// From the second time on one is not recorded operation by operation: its graph is kept (ir/graph/template.h) and made again.
#pragma once

#include <span>

#include "tenon/tensor.h"

namespace tenon {

// Operations on the tensors, some of them in place, which evaluate nothing. What it does depends on `form` and on the types of the
// tensors; the numbers are only passed on to operations, and results of computing with them are numbers of their own.
using Formula = void (*)(uint32_t form, std::span<const Tensor> tensors, std::span<const double> numbers);

// formula(form, tensors, numbers), in no grad mode; with its errors.
void apply_formula(Formula formula, uint32_t form, std::span<const Tensor> tensors, std::span<const double> numbers);

}  // namespace tenon
