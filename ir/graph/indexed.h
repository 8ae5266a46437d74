// Operations on whole buffers, which are the classes Indexed and Sort of ops.def. The definition of each is a row of one table: attributes,
// shape and value. Elsewhere it has a routine (runtime/cpu/routines.def), and may have a gradient and schedules.
#pragma once

#include <span>
#include <string_view>

#include "ir/graph/semantics.h"

namespace tenon::ir {

// The attributes of an op as the text writes them: a word before a list or before one integer. The lists come
// first and share equally what the integers leave of `ints`.
struct Attributes {
  std::span<const std::string_view> lists, integers;
};

struct IndexedOp {
  Op op;
  Attributes attributes;
  Dims (*shape)(Op op, std::span<const NodeRef> inputs, std::span<const int64_t> ints);  // throws IrError
  ElementBits (*value)(const Node& node, std::span<const ElementBits* const> operands);  // throws IrError for an index out of range
};
const IndexedOp* indexed_op(Op op);  // null for operations of other classes

}  // namespace tenon::ir
