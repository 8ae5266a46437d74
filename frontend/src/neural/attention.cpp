// Attention as one operation, for operands that fit it.
#include "frontend/src/neural/attention.h"

#include <algorithm>
#include <vector>

#include "ir/graph/attention.h"

namespace tenon {
namespace {

// The sizes with ones in front.
Dims of_rank(const Tensor& x, int64_t rank) {
  Dims shape(static_cast<size_t>(rank - x.dim()), 1);
  for (const int64_t size : x.sizes()) shape.push_back(size);
  return shape;
}

bool repeats_to(int64_t size, int64_t wanted) { return size == wanted || size == 1; }

// Query, key, value and perhaps a mask, of one rank.
bool fit_together(const std::vector<Dims>& shapes) {
  const size_t depth = shapes[0].size() - 1, length = depth - 1;
  const Dims &query = shapes[0], &key = shapes[1], &value = shapes[2];
  if (query[depth] != key[depth] || key[length] != value[length]) return false;
  if (shapes.size() > 3) {
    const Dims& mask = shapes[3];
    if (!repeats_to(mask[length], query[length]) || !repeats_to(mask[depth], key[length])) return false;
  }
  for (size_t d = 0; d < length; ++d) {
    int64_t size = 1;
    for (const Dims& shape : shapes) size = std::max(size, shape[d]);
    for (const Dims& shape : shapes) {
      if (!repeats_to(shape[d], size)) return false;
    }
  }
  return true;
}

}  // namespace

Tensor attention_at_once(const Tensor& query, const Tensor& key, const Tensor& value, const MaybeTensor& mask, bool causal, double scale) {
  if (!query.is_floating_point()) return {};
  std::vector<Tensor> operands{query, key, value};
  if (given(mask)) operands.push_back(*mask);
  int64_t rank = 0;
  for (const Tensor& x : operands) {
    if (x.numel() == 0 || impl(x).device() != impl(query).device()) return {};
    rank = std::max(rank, x.dim());
  }
  std::vector<Dims> shapes;
  for (const Tensor& x : operands) shapes.push_back(of_rank(x, rank));
  if (!fit_together(shapes)) return {};
  std::vector<NodeRef> nodes;
  for (size_t i = 0; i < operands.size(); ++i) nodes.push_back(ir::reshape(node_of(operands[i]), shapes[i]));
  return record(ir::attention({nodes[0], nodes[1], nodes[2], given(mask) ? nodes[3] : NodeRef(), causal, scale}));
}

}  // namespace tenon
