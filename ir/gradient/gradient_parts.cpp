// The sum of a value's gradients; those of its chunks are laid side by side.
#include "ir/gradient/gradient_parts.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace tenon::ir {

std::optional<PartOfDim> part_of_dim(const Node& gradient) {
  if (gradient.op() != Op::Pad || gradient.inputs()[1]->op() != Op::Const || gradient.inputs()[1]->bits() != 0) return {};
  const Dims &inner = gradient.inputs()[0]->shape(), &shape = gradient.shape();
  std::optional<PartOfDim> result;
  for (size_t d = 0; d < inner.size(); ++d) {
    if (inner[d] == shape[d]) continue;
    if (result) return {};
    result = PartOfDim{static_cast<int64_t>(d), gradient.ints()[d], inner[d]};
  }
  return result;
}

namespace {

// The gradients of a tensor's chunks, side by side: pad(g0) + pad(g1) + ... = cat(g0, g1, ...). Null if they are not such.
NodeRef side_by_side(std::span<const NodeRef> gradients) {
  std::vector<std::pair<PartOfDim, NodeRef>> chunks;
  for (const NodeRef& g : gradients) {
    const std::optional<PartOfDim> part = part_of_dim(*g);
    if (!part || (!chunks.empty() && part->dim != chunks[0].first.dim)) return {};
    chunks.emplace_back(*part, NodeRef(g->inputs()[0]));
  }
  std::ranges::sort(chunks, {}, [](const auto& chunk) { return chunk.first.begin; });
  const int64_t dim = chunks[0].first.dim;
  Dims gap = gradients[0]->shape();
  int64_t end = 0;
  std::vector<NodeRef> pieces;
  const auto zeros_to = [&](int64_t begin) {
    gap[dim] = begin - end;
    if (begin > end) pieces.push_back(make_const(constant(gradients[0]->dtype(), 0.0), gap, gradients[0]->device()));
  };
  for (const auto& [part, value] : chunks) {
    if (part.begin < end) return {};
    zeros_to(part.begin);
    pieces.push_back(value);
    end = part.begin + part.size;
  }
  zeros_to(gradients[0]->shape()[dim]);
  if (chunks.size() == 2 && pieces.size() > 2) return {};  // two rows of many are cheaper added
  return cat(pieces, dim);
}

}  // namespace

NodeRef sum_of_parts(std::span<const NodeRef> parts) {
  if (parts.size() == 1) return parts[0];
  if (NodeRef whole = side_by_side(parts)) return whole;
  NodeRef sum = parts[0];
  for (const NodeRef& part : parts.subspan(1)) sum = binary(Op::Add, sum, part);
  return sum;
}

}  // namespace tenon::ir
