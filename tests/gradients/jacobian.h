// Gradients of a function of float64 tensors against central differences: the whole Jacobian, the gradient of the gradient, and
// whether both directions of the derivative agree.
#pragma once

#include <tenon/tenon.h>

#include <functional>
#include <string>
#include <vector>

namespace jacobian {

using tenon::Tensor;
using Tensors = std::vector<Tensor>;
using Call = std::function<Tensors(const Tensors&)>;

struct Count {
  int64_t compared = 0, skipped = 0;  // skipped: at a kink, by one-sided differences, or where these are not finite
  std::string wrong;                  // the first difference
};

// The inputs in `asked` are float64. Each is given as a leaf; `call` may write clones of it.
struct Case {
  Call call;
  Tensors inputs;
  std::vector<size_t> asked;
};

// How an operand lies in memory. Expanded: its rows are one row; One, None: of size 1 or 0 along the first dim.
enum class Layout { Contiguous, Transposed, Sliced, Expanded };

// d output / d input for all their elements; of more than 100, for every so many.
Count first_order(const Case& c);
// d/dx of <u, d<w, f(x)>/dx> for all x, or some of more than 100, with random u and w.
Count second_order(const Case& c);
// <J u, w> against <u, J^T w>: empty if they are equal to 1e-12 of their terms.
std::string adjoint(const Case& c);
// The gradient with operands that lie otherwise, against that with contiguous ones.
std::string same_for(const Case& c, Layout layout);
// The function of the first row of each operand, expanded to all of them.
Case expanded(const Case& c);

// The outputs that have a gradient.
Tensors differentiable(const Tensors& outputs);

}  // namespace jacobian
