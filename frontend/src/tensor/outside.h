// Memory whose address is known outside (from_blob, data_ptr, accessors, DLPack) may be written or freed by
// others between any two calls. An operation on it has LibTorch's meaning only if it reads it before the call
// returns. So no pending value ever depends on such memory: its nodes are marked as volatile, as is whatever is
// computed from them, and a value is settled before a storage takes it.
//
//   y = from_blob(bytes).to(kFloat) / 255     the bytes are copied (they are fewer), the rest is lazy
//   s = from_blob(floats).square().sum()      square runs at its call: its result is no larger than what it reads
//
// A promise that nobody outside writes any more (Storage::trust) takes the mark away.
#pragma once

#include "frontend/src/tensor/devices.h"

namespace tenon {

inline size_t byte_count(const ir::Node& node) { return static_cast<size_t>(node.numel() * ir::item_size(node.dtype())); }
// An input of the type and shape of another.
ir::NodeRef with_buffer(const ir::Node& like, std::shared_ptr<runtime::Buffer> buffer);
ir::NodeRef copy_of(const ir::Node& node, const runtime::Buffer& buffer);
// The value of an operation that changed nothing may be memory that outsiders write: a copy of that.
ir::NodeRef unexposed(ir::NodeRef value);

// What a storage takes of an operation's result: it depends on no volatile memory any more. What it read is stored, or the
// value itself, whichever is smaller.
ir::NodeRef storable(ir::NodeRef value);

}  // namespace tenon
