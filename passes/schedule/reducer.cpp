#include "passes/schedule/reducer.h"

namespace tenon::passes {

Accumulator Reducer::identity(int lanes) {
  Accumulator result{b_.constant(ir::combine_start(op_, dtype_), lanes), -1};
  if (has_index()) result.index = b_.constant(ir::constant(DType::I64, ir::kNoPosition), lanes);
  return result;
}

Accumulator Reducer::combine(Accumulator a, Accumulator b) {
  const Op op = ir::combining_op(op_);
  if (!has_index()) return {b_.op(op, {a.value, b.value}), -1};
  // b wins if it is better, or the first nan, or equal and earlier.
  ValueId wins = b_.op(op, {b.value, a.value});
  ValueId same = b_.op(Op::Eq, {a.value, b.value});
  if (ir::is_float(dtype_)) {
    ValueId a_nan = b_.op(Op::Ne, {a.value, a.value}), b_nan = b_.op(Op::Ne, {b.value, b.value});
    wins = b_.op(Op::Or, {b_.op(Op::And, {wins, b_.op(Op::Not, {a_nan})}),
                          b_.op(Op::And, {b_nan, b_.op(Op::Not, {a_nan})})});
    same = b_.op(Op::Or, {same, b_.op(Op::And, {a_nan, b_nan})});
  }
  wins = b_.op(Op::Or, {wins, b_.op(Op::And, {same, b_.op(Op::Lt, {b.index, a.index})})});
  return select(wins, b, a);
}

Accumulator Reducer::select(ValueId mask, Accumulator a, Accumulator b) {
  Accumulator result{b_.op(Op::Where, {mask, a.value, b.value}), -1};
  if (has_index()) result.index = b_.op(Op::Where, {mask, a.index, b.index});
  return result;
}

Accumulator Reducer::open(Accumulator init) {
  return {b_.var(init.value), has_index() ? b_.var(init.index) : -1};
}

Accumulator Reducer::read(Accumulator registers) {
  return {b_.get(registers.value), has_index() ? b_.get(registers.index) : -1};
}

void Reducer::write(Accumulator registers, Accumulator value) {
  b_.set(registers.value, value.value);
  if (has_index()) b_.set(registers.index, value.index);
}

Accumulator Reducer::take(Accumulator registers, Accumulator element) {
  const Accumulator after = combine(read(registers), element);
  write(registers, after);
  return after;
}

Accumulator Reducer::fold(std::vector<Accumulator> parts) {
  while (parts.size() > 1) {
    size_t half = parts.size() / 2;
    for (size_t i = 0; i < half; ++i) parts[i] = combine(parts[i], parts[i + half]);
    parts.resize(half);
  }
  Accumulator a = parts[0];
  for (int lanes = b_.type(a.value).lanes; lanes > 1; lanes /= 2) {
    auto half = [&](Op op, ValueId x) {
      return x < 0 ? x : b_.let(op, {x}, VType{b_.type(x).dtype, static_cast<int16_t>(lanes / 2)});
    };
    a = combine({half(Op::Low, a.value), half(Op::Low, a.index)},
                {half(Op::High, a.value), half(Op::High, a.index)});
  }
  return a;
}

AccumulatorBuffers Reducer::buffers(const std::string& name, Space space, int32_t size, int64_t count) {
  AccumulatorBuffers made{b_.add_buffer({name, dtype_, space, size, count}), -1};
  if (has_index()) made.index = b_.add_buffer({name + "_at", DType::I64, space, size, count});
  return made;
}

Accumulator Reducer::load(AccumulatorBuffers from, ValueId at, int lanes, ValueId mask) {
  return {b_.load(from.value, at, lanes, mask), has_index() ? b_.load(from.index, at, lanes, mask) : -1};
}

void Reducer::store(AccumulatorBuffers to, ValueId at, Accumulator value) {
  b_.store(to.value, at, value.value);
  if (has_index()) b_.store(to.index, at, value.index);
}

}  // namespace tenon::passes
