// Attention as one operation of the graph (ir/graph/attention.h).
#pragma once

#include "frontend/src/tensor/impl.h"
#include "tenon/neural.h"

namespace tenon {

// softmax(scale * query @ key.mT + mask) @ value, recorded in the caller's scope: query [N.., L, E], key [N.., S, E], value
// [N.., S, Ev], mask bool (false: left out) or of their dtype, broadcast to [N.., L, S]. Undefined for operands
// without elements and for those that do not fit together or are no floats: then the caller composes it, and that throws.
Tensor attention_at_once(const Tensor& query, const Tensor& key, const Tensor& value, const MaybeTensor& mask, bool causal, double scale);

}  // namespace tenon
