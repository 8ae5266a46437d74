// Calls that a routine of the library computes and no generated code: a plan makes them between its launches. Takes a
// call as fusion makes it (passes/fusion/build.cpp), and memory for its operands and results.
#pragma once

#include "ir/call/call.h"

namespace tenon::runtime {

// `buffers` and `scalars` are the call's own; a buffer without elements is null, and a part of a Cat may lie in its result. Splits
// the work over the thread pool. Throws std::runtime_error for an index out of range, before anything is written, and OutOfMemory.
void run_routine(const ir::Call& call, void* const* buffers, const uint64_t* scalars);

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
void sort_lines(ir::DType dtype, const Lines& lines, bool descending, const Ranks& ranks, const void* x, int64_t* order);
// The same, without sorting what is not wanted.
void select_lines(ir::DType dtype, const Lines& lines, bool descending, const Ranks& ranks, const void* x, int64_t* order);

// Nonzero, Compress, ScatterMask.
void run_masked(const ir::Node& node, void* const* buffers);
void run_scatter(const ir::Call& call, void* const* buffers);

// `cat` has elements; a part may lie where it belongs already.
void run_join(const ir::Call& cat, void* const* buffers, const uint64_t* scalars);

}  // namespace tenon::runtime
