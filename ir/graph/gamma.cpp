// digamma: a recurrence up to 10, there an asymptotic series, and a reflection to the left of 0.
#include "ir/graph/gamma.h"

#include <numbers>

namespace tenon::ir {

// No branch that is not taken is infinite, so that gradients of it are zeros there.
Expr digamma(const Expr& x) {
  const Expr left = x < 0.0;
  Expr y = select(left, 1.0 - x, x), result = number(x, 0.0);
  for (int i = 0; i < 10; ++i) {  // up to 10, one by one
    const Expr small = y < 10.0;
    result = select(small, result - 1.0 / y, result);
    y = select(small, y + 1.0, y);
  }
  const double series[] = {8.33333333333333333333e-2, -2.10927960927960927961e-2, 7.57575757575757575758e-3, -4.16666666666666666667e-3,
                           3.96825396825396825397e-3, -8.33333333333333333333e-3, 8.33333333333333333333e-2};
  const Expr z = 1.0 / (y * y);
  Expr sum = number(z, series[0]);
  for (int i = 1; i < 7; ++i) sum = sum * z + series[i];
  const Expr tail = select(y < 1e17, z * sum, number(x, 0.0));
  result = select(y == 10.0, result + 2.25175258906672110764, result + log(y) - 0.5 / y - tail);
  const Expr near = select(left, x - apply(Op::Round, x), number(x, 0.25));
  const Expr reflected = result - std::numbers::pi / apply(Op::Tan, std::numbers::pi * near);
  const Expr pole = number(x, kNan);
  result = select(left, select(x == trunc(x), pole, reflected), result);
  return select(x == 0.0, copysign(number(x, kInfinity), -x), result);
}

}  // namespace tenon::ir
