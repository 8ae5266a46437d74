// What a schedule of any device works on: the kernel, the result, a builder into it and a nest. A schedule says which
// loop or thread takes which axis; loops and branches are opened here, so that each has a scope of the nest.
#pragma once

#include <string>
#include <utility>

#include "passes/schedule/nest.h"
#include "passes/schedule/reducer.h"
#include "passes/schedule/schedule.h"

namespace tenon::passes {

class Context {
 public:
  // Starts the tree: its name, target, buffers and scalars.
  Context(const ir::Kernel& kernel, Lowered& out, ir::TargetKind target, DType index_type, ir::KnownTrees known = {});

  const ir::Kernel& kernel;
  Lowered& out;
  ir::TreeBuilder builder;
  Nest nest;

  int64_t extent(int axis) const { return kernel.extent(axis); }
  std::vector<int> axes(AxisKind kind) const { return ir::axes_of(kernel, kind); }
  std::vector<int> parallel_but(std::initializer_list<int> others) const;  // the parallel axes without these
  int64_t product(std::span<const int> axes) const;
  Reducer reducer(Value reduction);
  // A buffer of `count` elements, which is a size parameter; its name gets a number.
  int32_t buffer(const std::string& name, DType dtype, Space space, int64_t count);
  AccumulatorBuffers partials(Value reduction, Space space, int64_t count);

  // Index arithmetic.
  ValueId literal(int64_t value) { return builder.index_constant(value); }
  ValueId add(ValueId x, ValueId y) { return builder.op(Op::Add, {x, y}); }
  ValueId offset(ValueId x, int64_t by) { return by == 0 ? x : add(x, literal(by)); }
  ValueId sub(ValueId x, ValueId y) { return builder.op(Op::Sub, {x, y}); }
  ValueId mul(ValueId x, ValueId y) { return builder.op(Op::Mul, {x, y}); }
  ValueId minimum(ValueId x, ValueId y) { return builder.op(Op::Min, {x, y}); }
  ValueId less(ValueId x, ValueId y) { return builder.op(Op::Lt, {x, y}); }
  // Where a piece of `length` stops that begins at or before `end`. begin + length might not fit the index type, as the sum of
  // an index and a literal below gpu/context.cpp's kOverhang does.
  ValueId piece_end(ValueId begin, ValueId length, ValueId end) { return add(begin, minimum(length, sub(end, begin))); }
  // linear = quotient * divisor + remainder; gives both
  std::pair<ValueId, ValueId> divide(ValueId linear, ValueId divisor);

  // Splits a linear index over the `outer` axes and a last number below `count`. Binds the axes; gives their row-major point, -1
  // if there are none, and the number.
  std::pair<ValueId, ValueId> bind_outer(std::span<const int> outer, ValueId linear, int64_t count);

  // Opens a phase of `count` iterations, each costing `ns`, and a scope for it; gives the iteration's number.
  ValueId begin_phase(std::string name, int64_t count, double ns = 0);
  void end_phase();

  // body(position), in a scope of its own.
  template <typename Body>
  void loop(ValueId begin, ValueId end, int64_t step, const Body& body, bool unroll = false) {
    const ValueId position = builder.begin_for(begin, end, step, unroll);
    in_scope([&] { body(position); });
    builder.end_for();
  }
  template <typename Body>
  void in_scope(const Body& body) {
    nest.push();
    body();
    nest.pop();
  }
};

constexpr int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

}  // namespace tenon::passes
