// A value that a loop uses in each of its steps gets a gradient from each. A chain of additions would be another graph, with other
// kernels, for each number of steps, so many gradients are laid side by side and summed, which is the same code for all numbers:
//
//   of rows x[0], x[1], ... x[n-1]: pad(g0) + pad(g1) + ...      cat(g0, g1, ...)
//   of a weight: dot(x0, g0) + dot(x1, g1) + ...                 dot(cat(x0, x1, ...), cat(g0, g1, ...))
//   of a bias: sum(g0) + sum(g1) + ...                           sum(cat(g0, g1, ...))
//   others: g0 + g1 + ...                                        stack(g0, g1, ...).sum(0)
#include "frontend/src/autograd/gradient_sum.h"

#include <algorithm>
#include <optional>

#include "frontend/src/tensor/impl.h"
#include "ir/gradient/gradient_parts.h"
#include "tenon/creation.h"
#include "tenon/ops.h"

namespace tenon {
namespace {

constexpr size_t kFew = 4;      // gradients that a chain adds
constexpr size_t kFewSums = 2;  // of such that are sums themselves

Tensor chain(const std::vector<Tensor>& parts) {
  Tensor sum = parts.front();
  for (size_t i = 1; i < parts.size(); ++i) sum = sum + parts[i];
  return sum;
}

// A gradient that is 0 but for a part of one dim: that of a slice.
struct Placed {
  Tensor grad;
  ir::PartOfDim part;
};

std::optional<Placed> placed(const Tensor& grad) {
  const std::optional<ir::PartOfDim> part = ir::part_of_dim(*node_of(grad));
  return part ? std::optional(Placed{grad, *part}) : std::nullopt;
}

// Parts of one dim that do not meet, one behind the other, and zeros between them where they leave gaps.
enum class Gaps : uint8_t { None, Some };
std::optional<Tensor> joined(std::vector<Placed> parts, Gaps gaps) {
  std::ranges::sort(parts, {}, [](const Placed& p) { return p.part.begin; });
  const int64_t dim = parts.front().part.dim, length = parts.front().grad.size(dim);
  std::vector<Tensor> pieces;
  int64_t end = 0;
  const auto zeros_to = [&](int64_t begin) {
    if (begin == end) return;
    std::vector<int64_t> shape = parts.front().grad.sizes().vec();
    shape[static_cast<size_t>(dim)] = begin - end;
    pieces.push_back(zeros(shape, parts.front().grad.options()));
  };
  for (const auto& [grad, part] : parts) {
    if (part.dim != dim || part.begin < end || (gaps == Gaps::None && part.begin > end)) return {};
    zeros_to(part.begin);
    pieces.push_back(narrow(grad, dim, part.begin, part.size));
    end = part.begin + part.size;
  }
  if (gaps == Gaps::None && end < length) return {};
  zeros_to(length);
  return cat(pieces, dim);
}

// Puts one in the place of the slices among the parts; false if it cannot, since they meet or have gaps.
bool join_slices(std::vector<Tensor>& parts, Gaps gaps) {
  std::vector<Placed> slices;
  std::vector<Tensor> others;
  for (const Tensor& part : parts) {
    if (std::optional<Placed> slice = placed(part)) slices.push_back(*std::move(slice));
    else others.push_back(part);
  }
  if (slices.size() < 2) return true;
  std::optional<Tensor> whole = joined(std::move(slices), gaps);
  if (!whole) return false;
  others.push_back(*std::move(whole));
  parts = std::move(others);
  return true;
}

// A gradient that is itself a sum, of which nothing is computed yet. It may be seen through movements.
struct Sum {
  const ir::Node* part;
  const ir::Node* node;
  SmallVector<ir::Node*, 2> operands;  // of a product, two; or what is summed over dims

  bool is_product() const { return operands.size() == 2; }
  // The dim of operand `i` over which the terms run; of several dims the first.
  size_t dim(size_t i) const {
    if (!is_product()) return static_cast<size_t>(node->ints()[0]);
    return operands[i]->shape().size() - (i == 0 ? 1 : 2);
  }
};

// Columns times rows, of which a product over one term is made; or nothing.
SmallVector<ir::Node*, 2> outer_product(const ir::Node& node) {
  const size_t rank = node.shape().size();
  if (node.op() != Op::Mul || rank < 2) return {};
  Dims columns = node.shape(), rows = node.shape();
  columns[rank - 1] = rows[rank - 2] = 1;
  SmallVector<ir::Node*, 2> operands(2, nullptr);
  for (const ir::Node* factor : node.inputs()) {
    if (factor->op() != Op::Expand) return {};
    ir::Node* operand = factor->inputs()[0];
    if (operand->shape() == columns) operands[0] = operand;
    if (operand->shape() == rows) operands[1] = operand;
  }
  return operands[0] && operands[1] ? operands : SmallVector<ir::Node*, 2>();
}

// Null if it is none, or if its terms are so many elements that laying those of many sums side by side costs more than to store the
// results.
std::optional<Sum> cheap_sum(const ir::Node* part) {
  constexpr int64_t kMostTerms = 64;
  Sum sum{part, part, {}};
  while (sum.node->op() == Op::Reshape || sum.node->op() == Op::Permute) sum.node = sum.node->inputs()[0];
  const ir::Node& node = *sum.node;
  if (node.op() == Op::Sum || node.op() == Op::Dot) sum.operands = {node.inputs().begin(), node.inputs().end()};
  else sum.operands = outer_product(node);
  if (sum.operands.empty()) return {};
  const int64_t most = (sum.is_product() ? 2 : kMostTerms) * node.numel();
  int64_t terms = 0;
  for (const ir::Node* operand : sum.operands) terms += operand->numel();
  return terms <= most ? std::optional(std::move(sum)) : std::nullopt;
}

bool same_but_for(size_t dim, const Dims& a, const Dims& b) {
  if (a.size() != b.size()) return false;
  for (size_t d = 0; d < a.size(); ++d) {
    if (d != dim && a[d] != b[d]) return false;
  }
  return true;
}

// Whether one sum over the terms of both, seen through the same movements, is their sum.
bool sums_alike(const Sum& a, const Sum& b) {
  const ir::Node *x = a.part, *y = b.part;
  for (; x != a.node && y != b.node; x = x->inputs()[0], y = y->inputs()[0]) {
    if (x->op() != y->op() || x->shape() != y->shape() || !std::ranges::equal(x->ints(), y->ints())) return false;
  }
  if (x != a.node || y != b.node || a.operands.size() != b.operands.size()) return false;
  if (!a.is_product() && !std::ranges::equal(x->ints(), y->ints())) return false;
  for (size_t i = 0; i < a.operands.size(); ++i) {
    if (!same_but_for(a.dim(i), a.operands[i]->shape(), b.operands[i]->shape())) return false;
  }
  return true;
}

// The dims of so many, the last two exchanged.
Dims last_exchanged(size_t rank) {
  Dims dims(rank, 0);
  for (size_t d = 0; d < rank; ++d) dims[d] = static_cast<int64_t>(d);
  std::swap(dims[rank - 1], dims[rank - 2]);
  return dims;
}

// The matrices with their two dims exchanged, if that moves nothing; or null.
NodeRef exchanged(ir::Node* matrices) {
  Dims other = matrices->shape();
  std::swap(other[other.size() - 1], other[other.size() - 2]);
  if (matrices->op() == Op::Permute && std::ranges::equal(matrices->ints(), last_exchanged(other.size())))
    return NodeRef(matrices->inputs()[0]);
  return matrices->shape().back() == 1 ? ir::reshape(NodeRef(matrices), other) : NodeRef();
}

// Operand `i` of all sums, along the dim of their terms: rows below each other wherever they lie as rows.
NodeRef side_by_side(const std::vector<Sum>& sums, size_t i) {
  std::vector<NodeRef> as_they_are, transposed;
  for (const Sum& s : sums) {
    as_they_are.emplace_back(s.operands[i]);
    if (!s.is_product()) continue;
    if (NodeRef other = exchanged(s.operands[i])) transposed.push_back(std::move(other));
  }
  const size_t dim = sums[0].dim(i), rank = sums[0].operands[i]->shape().size();
  if (!sums[0].is_product() || transposed.size() < sums.size()) return ir::cat(as_they_are, static_cast<int64_t>(dim));
  return ir::permute(ir::cat(transposed, static_cast<int64_t>(2 * rank - 3 - dim)), last_exchanged(rank));
}

// A sum of sums is one sum over all their terms.
NodeRef one_sum(const std::vector<Sum>& sums) {
  const Sum& like = sums[0];
  NodeRef sum = like.is_product() ? ir::dot(side_by_side(sums, 0), side_by_side(sums, 1))
                                  : ir::reduce(Op::Sum, side_by_side(sums, 0), like.node->ints());
  std::vector<const ir::Node*> movements;
  for (const ir::Node* node = like.part; node != like.node; node = node->inputs()[0]) movements.push_back(node);
  for (size_t m = movements.size(); m-- > 0;) {
    const ir::Node& node = *movements[m];
    sum = node.op() == Op::Reshape ? ir::reshape(sum, node.shape()) : ir::permute(sum, node.ints());
  }
  return sum;
}

// Takes the sums that are like the first of them out of the parts, and puts one in their place.
void join_sums(std::vector<Tensor>& parts) {
  std::vector<NodeRef> nodes;  // they keep what `sums` refers to
  std::vector<Sum> sums;
  std::vector<Tensor> others;
  for (const Tensor& part : parts) {
    if (part.requires_grad()) return;  // what is computed here has no history
    nodes.push_back(node_of(part));
  }
  std::unique_lock held = ir::hold_graph();  // nothing is computed meanwhile, and forgets how
  for (size_t i = 0; i < parts.size(); ++i) {
    const std::optional<Sum> sum = cheap_sum(nodes[i].get());
    if (sum && (sums.empty() || sums_alike(sums[0], *sum))) sums.push_back(*sum);
    else others.push_back(parts[i]);
  }
  if (sums.size() <= kFewSums) return;
  NodeRef sum = one_sum(sums);
  held.unlock();
  others.push_back(record(std::move(sum)));
  parts = std::move(others);
}

}  // namespace

bool is_cheap_sum(const Tensor& part) {
  if (part.requires_grad()) return false;
  const NodeRef node = node_of(part);
  const auto held = ir::hold_graph();
  return cheap_sum(node.get()).has_value();
}

int64_t bytes_of_slice(const Tensor& part) {
  const std::optional<Placed> slice = placed(part);
  const int64_t length = slice ? part.size(slice->part.dim) : 0;
  return length == 0 ? 0 : static_cast<int64_t>(part.nbytes()) / length * slice->part.size;
}

Tensor sum_of_gradients(std::vector<Tensor> parts, bool many) {
  if (parts.size() <= kFewSums && !many) {
    join_slices(parts, Gaps::None);  // two slices of many are cheaper added
    return chain(parts);
  }
  join_sums(parts);
  const bool meet = !join_slices(parts, Gaps::Some);
  const bool few = parts.size() <= kFew && !many;
  const bool large = meet && static_cast<int64_t>(parts.size() * parts[0].nbytes()) > 2 * kMostWaitingBytes;  // to lay side by side
  return parts.size() == 1 || few || large ? chain(parts) : stack(parts).sum(0);
}

}  // namespace tenon
