// The meaning of a graph node on arrays: what the interpreter runs, what constants fold with, and what
// generated code is held to, bit for bit (but for the ops that expand, whose polynomials have their own last
// bits).
#pragma once

#include <span>

#include "ir/graph/graph.h"
#include "ir/graph/semantics.h"
#include "ir/kernel/kernel.h"

namespace tenon::ir {

// The elements of any node but an Input, given those of its operands.
ElementBits evaluate_node(const Node& node, std::span<const ElementBits* const> operands);

// Which tree a reduction over `dims` of `shape` follows: Lanes if they include the last dim that is not of
// size 1.
ReduceTree reduce_tree(std::span<const int64_t> shape, std::span<const int64_t> dims);
// The extents that its tree runs over: dims of size 1 do not count, adjacent reduced dims are one.
Dims reduce_extents(std::span<const int64_t> shape, std::span<const int64_t> dims);

}  // namespace tenon::ir
