// Building kernels, one instruction at a time.
#pragma once

#include <initializer_list>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "ir/base/hashed_numbers.h"
#include "ir/kernel/kernel.h"

namespace tenon::ir {

// Appends instructions; checks operand types against the op table; gives the level of a value as the highest
// of its operands' unless told otherwise. Equal pure instructions are shared; constants fold through
// ir::evaluate.
class KernelBuilder {
 public:
  explicit KernelBuilder(Kernel& kernel) : kernel_(kernel) {}
  Value constant(Constant c);
  Value constant(DType dtype, double value) { return constant(ir::constant(dtype, value)); }
  Value scalar(int slot);
  // The element at index + position.scale * position.value; whoever builds it sees to the range.
  struct Position {
    Value value = -1;
    int64_t scale = 0;
  };
  Value load(int buffer, Index index, Level level, std::vector<Guard> guards = {}, Value otherwise = -1) {
    return load(buffer, index, {}, level, std::move(guards), otherwise);
  }
  Value load(int buffer, Index index, Position position, Level level, std::vector<Guard> guards = {}, Value otherwise = -1);
  Value index(Index value, Level level);
  Value op(Op op, std::span<const Value> args, DType to = DType::F32);  // elementwise
  Value op(Op o, std::initializer_list<Value> args, DType to = DType::F32) {
    return op(o, std::span<const Value>(args.begin(), args.size()), to);
  }
  Value cast(Value x, DType to);
  Value reduce(Op op, Value x, ReduceTree tree);  // Full -> Row
  Value scan(Op op, Value x);                     // at full level: x and all before it along the serial axis
  Value contract(Value a, Value b);               // Contract -> Row
  void store(int buffer, Index index, Value value, Level level, std::vector<Guard> guards = {}) {
    store(buffer, index, Position{}, value, level, std::move(guards));
  }
  void store(int buffer, Index index, Position position, Value value, Level level, std::vector<Guard> guards = {});
  DType dtype(Value v) const { return kernel_.instrs[static_cast<size_t>(v)].dtype; }
  Level level(Value v) const { return kernel_.instrs[static_cast<size_t>(v)].level; }

 private:
  Value append(Instr instr);
  Value fold(Op op, std::span<const Value> args, DType to, DType result);
  std::optional<Constant> as_constant(Value v) const;
  const Instr& at(Value v) const;
  void add_position(Instr& instr, Position position) const;
  Level highest(std::span<const Value> args) const;

  Kernel& kernel_;
  HashedNumbers seen_;  // pure instructions
  size_t indexed_ = 0;  // instructions that are in `seen_`
};

}  // namespace tenon::ir
