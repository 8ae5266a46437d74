// A value that a loop uses in each of its steps gets a gradient from each. A chain of additions would be another graph, with other
// kernels, for each number of steps, so many gradients are laid side by side and summed, which is the same code for all numbers:
//
//   of rows x[0], x[1], ... x[n-1]: pad(g0) + pad(g1) + ...      cat(g0, g1, ...)
//   of a weight: g0 + g1 + ...                                   stack(g0, g1, ...).sum(0)
#include "frontend/src/autograd/gradient_sum.h"

#include <algorithm>
#include <optional>

#include "frontend/src/tensor/impl.h"
#include "tenon/creation.h"
#include "tenon/ops.h"

namespace tenon {
namespace {

constexpr size_t kFew = 4;  // gradients that a chain adds

Tensor chain(const std::vector<Tensor>& parts) {
  Tensor sum = parts.front();
  for (size_t i = 1; i < parts.size(); ++i) sum = sum + parts[i];
  return sum;
}

// A gradient that is 0 but for a part of one dim: that of a slice.
struct Placed {
  Tensor grad;
  int64_t dim, begin, size;
};

std::optional<Placed> placed(const Tensor& grad) {
  const ir::NodeRef node = node_of(grad);
  if (node->op() != ir::Op::Pad || node->inputs()[1]->op() != ir::Op::Const || node->inputs()[1]->bits() != 0) return {};
  const ir::Dims& inner = node->inputs()[0]->shape();
  std::optional<Placed> result;
  for (size_t d = 0; d < inner.size(); ++d) {
    if (inner[d] == node->shape()[d]) continue;
    if (result) return {};
    result = Placed{grad, static_cast<int64_t>(d), node->ints()[d], inner[d]};
  }
  return result;
}

// Parts of one dim that do not meet, one behind the other, and zeros between them.
std::optional<Tensor> joined(std::vector<Placed> parts) {
  std::ranges::sort(parts, {}, &Placed::begin);
  const int64_t dim = parts.front().dim, length = parts.front().grad.size(dim);
  std::vector<Tensor> pieces;
  int64_t end = 0;
  const auto zeros_to = [&](int64_t begin) {
    if (begin == end) return;
    std::vector<int64_t> shape = parts.front().grad.sizes().vec();
    shape[static_cast<size_t>(dim)] = begin - end;
    pieces.push_back(zeros(shape, parts.front().grad.options()));
  };
  for (const Placed& part : parts) {
    if (part.dim != dim || part.begin < end) return {};
    zeros_to(part.begin);
    pieces.push_back(narrow(part.grad, dim, part.begin, part.size));
    end = part.begin + part.size;
  }
  zeros_to(length);
  return cat(pieces, dim);
}

}  // namespace

Tensor sum_of_gradients(std::vector<Tensor> parts, bool many) {
  if (parts.size() <= kFew && !many) return chain(parts);
  std::vector<Placed> slices;
  std::vector<Tensor> others;
  for (const Tensor& part : parts) {
    if (std::optional<Placed> slice = placed(part)) slices.push_back(*std::move(slice));
    else others.push_back(part);
  }
  if (slices.size() > kFew) {
    if (std::optional<Tensor> whole = joined(std::move(slices))) {
      others.push_back(*std::move(whole));
      parts = std::move(others);
    }
  }
  return parts.size() == 1 || (parts.size() <= kFew && !many) ? chain(parts) : stack(parts).sum(0);
}

}  // namespace tenon
