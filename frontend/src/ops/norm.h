// norm under the name that its gradient function shall have: PyTorch has several.
#pragma once

#include "tenon/ops.h"

namespace tenon {

Tensor named_norm(const char* grad_fn, const Tensor& x, const optional<Scalar>& p, IntArrayRef dim, bool keepdim);

}  // namespace tenon
