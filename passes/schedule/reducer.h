// The arithmetic of reductions in loop trees, for schedules of all devices. What a reduction is, ir/ops.def says; the
// order in which schedules combine is that of ir::ReduceTree.
#pragma once

#include <string>
#include <vector>

#include "ir/kernel.h"
#include "ir/looptree.h"

namespace tenon::passes {

// An accumulator: one register, or two for argmax and argmin (value, position).
struct Accumulator {
  ir::ValueId value = -1, index = -1;
};
// Where accumulators lie in memory.
struct AccumulatorBuffers {
  int32_t value = -1, index = -1;
};

// On registers of any width.
class Reducer {
 public:
  Reducer(ir::TreeBuilder& builder, const ir::Instr& reduction, ir::DType operand)
      : b_(builder), op_(reduction.op), dtype_(operand) {}
  bool has_index() const { return op_ == ir::Op::ArgMax || op_ == ir::Op::ArgMin; }
  ir::DType dtype() const { return dtype_; }
  ir::ValueId result(Accumulator a) const { return has_index() ? a.index : a.value; }

  Accumulator identity(int lanes = 1);
  Accumulator combine(Accumulator a, Accumulator b);
  Accumulator select(ir::ValueId mask, Accumulator a, Accumulator b);
  Accumulator fold(std::vector<Accumulator> parts);  // by halves: parts, then lanes; to a scalar

  Accumulator open(Accumulator init);  // registers starting as init
  Accumulator read(Accumulator registers);
  void write(Accumulator registers, Accumulator value);

  // Buffers of `count` elements, or of as many as size parameter `size` says.
  AccumulatorBuffers buffers(const std::string& name, ir::Space space, int32_t size, int64_t count);
  Accumulator load(AccumulatorBuffers from, ir::ValueId at, int lanes = 1, ir::ValueId mask = -1);
  void store(AccumulatorBuffers to, ir::ValueId at, Accumulator value);

 private:
  ir::TreeBuilder& b_;
  ir::Op op_;
  ir::DType dtype_;
};

}  // namespace tenon::passes
