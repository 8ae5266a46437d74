// Operations that a routine of the library computes and no generated kernel: a plan calls them between its
// launches. Takes a node over placeholders (see FusedKernel::routine) and memory for its operands and result.
#pragma once

#include "ir/graph/graph.h"
#include "passes/fusion/fusion.h"

namespace tenon::runtime {

// `buffers` are the operands (null if one has no elements), then the result; that of an operation which writes over its
// base may lie on it, a part of a Cat in its result. `parts` are those of a Cat, null for all else. Splits the work over the
// thread pool. Throws std::runtime_error for an index out of range, before
// anything is written, and OutOfMemory.
void run_routine(const ir::Node& node, const std::vector<passes::JoinPart>* parts, void* const* buffers);

// A line: `count` elements `stride` apart, along dim `dim` of a tensor. Lines are numbered (outer, inner).
struct Lines {
  int64_t count, stride, outer;
  int64_t lines() const { return outer * stride; }
  int64_t first(int64_t line) const { return line / stride * count * stride + line % stride; }
};
Lines lines_of(const ir::Dims& shape, int64_t dim);

// order[i] of each line: the place of its i-th element when sorted, from 0. Equal elements keep their order;
// nan is the greatest.
// Only places first .. first + count - 1 of a line's order, which its result has.
struct Ranks {
  int64_t first, count;
};
void sort_lines(ir::DType dtype, const Lines& lines, bool descending, const Ranks& ranks, const void* x,
                int64_t* order);
// The same, without sorting what is not wanted.
void select_lines(ir::DType dtype, const Lines& lines, bool descending, const Ranks& ranks, const void* x,
                  int64_t* order);

// Nonzero, Compress, ScatterMask.
void run_masked(const ir::Node& node, void* const* buffers);
void run_scatter(const ir::Node& node, void* const* buffers);

// `cat` has elements; a part may lie where it belongs already.
void run_join(const ir::Node& cat, const std::vector<passes::JoinPart>& parts, void* const* buffers);

}  // namespace tenon::runtime
