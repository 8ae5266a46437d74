// The derivative of lgamma, as a formula. Method and coefficients are those of the Cephes Mathematical Library.
#pragma once

#include "ir/graph/expr.h"

namespace tenon::ir {

Expr digamma(const Expr& x);

}  // namespace tenon::ir
