// Holds results against golden data.
#pragma once

#include "frontend/python/value.h"

namespace python {

// What a function returned, as a list of tensors.
std::vector<tenon::Tensor> flat(const Value& v);

// The first difference between two tensors, or an empty text. dtype and shape are exact; |got - want| <= atol
// + rtol * |want|, nan equals nan; the sign of zero counts where asked.
std::string difference(const tenon::Tensor& got, const tenon::Tensor& want, double rtol, double atol, bool sign_of_zero);

}  // namespace python
