// Attention as one operation of the graph (ir/graph/attention.h), for devices whose schedules have it.
#pragma once

#include "frontend/src/tensor/impl.h"
#include "tenon/neural.h"

namespace tenon {

// Whether the tensors' device computes attention over heads of these extents, the last two dims of the three, at once.
bool attends_at_once(const Tensor& query, const Tensor& key, const Tensor& value);

// softmax(scale * query @ key.mT + mask) @ value, recorded in the caller's scope: query [N.., L, E], key [N.., S, E], value
// [N.., S, Ev], mask bool (false: left out) or of their dtype, broadcast to [N.., L, S]. Undefined where the device has no such
// operation, for operands without elements and for those that do not fit together: then the caller composes it, and that throws.
Tensor attention_at_once(const Tensor& query, const Tensor& key, const Tensor& value, const MaybeTensor& mask, bool causal,
                         double scale);

}  // namespace tenon
