// The parts of a value's gradient, one from each of its readers, and their sum.
#pragma once

#include <optional>
#include <span>

#include "ir/graph/graph.h"

namespace tenon::ir {

// Where a gradient that is 0 but for a part along one dim has that part, as the gradient of a slice has.
struct PartOfDim {
  int64_t dim, begin, size;
};
std::optional<PartOfDim> part_of_dim(const Node& gradient);

// What they add up to. The gradients of chunks that do not meet are laid side by side, without an addition.
NodeRef sum_of_parts(std::span<const NodeRef> parts);

}  // namespace tenon::ir
