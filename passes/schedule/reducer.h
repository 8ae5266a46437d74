// The arithmetic of reductions in loop trees, for schedules of all devices. ir/op/ops.def says what a reduction is; ir::ReduceTree
// has the order in which schedules combine.
#pragma once

#include <string>
#include <vector>

#include "ir/op/sum_order.h"
#include "passes/schedule/words.h"

namespace tenon::passes {

// An accumulator: one register, or two. `beside` is the position for argmax and argmin; for a total it is what its
// additions rounded away.
struct Accumulator {
  ValueId value = kNone, beside = kNone;
};
// Where accumulators lie in memory.
struct AccumulatorBuffers {
  int32_t value = kNone, beside = kNone;
};

// Works on registers of any width.
class Reducer {
 public:
  // For a reduction, or for a contraction, whose products are added.
  Reducer(ir::TreeBuilder& builder, const Instr& reduction, DType operand) : Reducer(builder, reduction.op, operand) {}
  Reducer(ir::TreeBuilder& builder, Op op, DType operand) : b_(builder), op_(op), dtype_(operand) {}
  // What adds chains and totals (ir::Total), where the reduction has such; else itself.
  Reducer total() const;
  bool keeps_rest() const { return ir::keeps_rest(op_, dtype_); }  // whether total() is another
  static bool has_index(Op op) { return op == Op::ArgMax || op == Op::ArgMin; }
  bool has_index() const { return has_index(op_); }
  ValueId result(Accumulator a);
  Accumulator whole(Accumulator a) { return is_total_ ? Accumulator{result(a)} : a; }  // without what a total keeps beside it

  Accumulator identity(int lanes = 1);
  Accumulator combine(Accumulator a, Accumulator b);
  Accumulator select(ValueId mask, Accumulator a, Accumulator b);
  Accumulator fold(std::vector<Accumulator> parts);  // by halves: parts, then lanes; to a scalar

  Accumulator open(Accumulator init);  // registers starting as init
  Accumulator read(Accumulator registers);
  void write(Accumulator registers, Accumulator value);
  Accumulator take(Accumulator registers, Accumulator element);  // combines it into them; gives what they hold then

  // Buffers of `count` elements, or of as many as size parameter `size` says.
  AccumulatorBuffers buffers(const std::string& name, Space space, int64_t count, int32_t size = kNone);
  Accumulator load(AccumulatorBuffers from, ValueId at, int lanes = 1, ValueId mask = kAlways);
  void store(AccumulatorBuffers to, ValueId at, Accumulator value, ValueId mask = kAlways);

 private:
  bool has_two() const { return has_index() || is_total_; }
  Accumulator add(Accumulator total, Accumulator part);

  ir::TreeBuilder& b_;
  Op op_;
  DType dtype_;
  bool is_total_ = false;
};

}  // namespace tenon::passes
