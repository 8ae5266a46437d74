// The arithmetic of reductions in loop trees, for schedules of all devices. What a reduction is, ir/ops.def says; the
// order in which schedules combine is that of ir::ReduceTree.
#pragma once

#include <string>
#include <vector>

#include "passes/schedule/words.h"

namespace tenon::passes {

// An accumulator: one register, or two for argmax and argmin (value, position).
struct Accumulator {
  ValueId value = -1, index = -1;
};
// Where accumulators lie in memory.
struct AccumulatorBuffers {
  int32_t value = -1, index = -1;
};

// On registers of any width.
class Reducer {
 public:
  Reducer(ir::TreeBuilder& builder, const Instr& reduction, DType operand)
      : b_(builder), op_(reduction.op), dtype_(operand) {}
  bool has_index() const { return op_ == Op::ArgMax || op_ == Op::ArgMin; }
  ValueId result(Accumulator a) const { return has_index() ? a.index : a.value; }

  Accumulator identity(int lanes = 1);
  Accumulator combine(Accumulator a, Accumulator b);
  Accumulator select(ValueId mask, Accumulator a, Accumulator b);
  Accumulator fold(std::vector<Accumulator> parts);  // by halves: parts, then lanes; to a scalar

  Accumulator open(Accumulator init);  // registers starting as init
  Accumulator read(Accumulator registers);
  void write(Accumulator registers, Accumulator value);
  Accumulator take(Accumulator registers, Accumulator element);  // combines it into them; gives what they hold then

  // Buffers of `count` elements, or of as many as size parameter `size` says.
  AccumulatorBuffers buffers(const std::string& name, Space space, int32_t size, int64_t count);
  Accumulator load(AccumulatorBuffers from, ValueId at, int lanes = 1, ValueId mask = -1);
  void store(AccumulatorBuffers to, ValueId at, Accumulator value);

 private:
  ir::TreeBuilder& b_;
  Op op_;
  DType dtype_;
};

}  // namespace tenon::passes
