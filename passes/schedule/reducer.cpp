#include "passes/schedule/reducer.h"

namespace tenon::passes {

Reducer Reducer::total() const {
  Reducer result = *this;
  result.is_total_ = keeps_rest();
  return result;
}

ValueId Reducer::result(Accumulator a) {
  if (!is_total_) return has_index() ? a.beside : a.value;
  const ValueId zero = b_.constant(ir::constant(dtype_, int64_t{0}), b_.type(a.value).lanes);
  const ValueId finite = b_.op(Op::Eq, {b_.op(Op::Sub, {a.value, a.value}), zero});
  return b_.op(Op::Where, {finite, b_.op(Op::Add, {a.value, a.beside}), a.value});
}

Accumulator Reducer::identity(int lanes) {
  Accumulator result{b_.constant(ir::combine_start(op_, dtype_), lanes)};
  if (is_total_) result.beside = result.value;
  if (has_index()) result.beside = b_.constant(ir::constant(DType::I64, ir::kNoPosition), lanes);
  return result;
}

// `part`: a chain's sum, or a total.
Accumulator Reducer::add(Accumulator total, Accumulator part) {
  if (part.beside >= 0) total.beside = b_.op(Op::Add, {total.beside, part.beside});
  const ValueId next = b_.op(Op::Add, {total.value, part.value});
  const ValueId rounded = b_.op(Op::Sub, {part.value, b_.op(Op::Sub, {next, total.value})});
  return {next, b_.op(Op::Add, {total.beside, rounded})};
}

Accumulator Reducer::combine(Accumulator a, Accumulator b) {
  if (is_total_) return add(a, b);
  const Op op = ir::combining_op(op_);
  if (!has_index()) return {b_.op(op, {a.value, b.value})};
  // b wins if it is better, or the first nan, or equal and earlier.
  ValueId wins = b_.op(op, {b.value, a.value});
  ValueId same = b_.op(Op::Eq, {a.value, b.value});
  if (ir::is_float(dtype_)) {
    ValueId a_nan = b_.op(Op::Ne, {a.value, a.value}), b_nan = b_.op(Op::Ne, {b.value, b.value});
    wins = b_.op(Op::Or, {b_.op(Op::And, {wins, b_.op(Op::Not, {a_nan})}), b_.op(Op::And, {b_nan, b_.op(Op::Not, {a_nan})})});
    same = b_.op(Op::Or, {same, b_.op(Op::And, {a_nan, b_nan})});
  }
  wins = b_.op(Op::Or, {wins, b_.op(Op::And, {same, b_.op(Op::Lt, {b.beside, a.beside})})});
  return select(wins, b, a);
}

Accumulator Reducer::select(ValueId mask, Accumulator a, Accumulator b) {
  Accumulator result{b_.op(Op::Where, {mask, a.value, b.value})};
  if (has_two()) result.beside = b_.op(Op::Where, {mask, a.beside, b.beside});
  return result;
}

Accumulator Reducer::open(Accumulator init) { return {b_.var(init.value), has_two() ? b_.var(init.beside) : kNone}; }

Accumulator Reducer::read(Accumulator registers) { return {b_.get(registers.value), has_two() ? b_.get(registers.beside) : kNone}; }

void Reducer::write(Accumulator registers, Accumulator value) {
  b_.set(registers.value, value.value);
  if (has_two()) b_.set(registers.beside, value.beside);
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
    auto half = [&](Op op, ValueId x) { return x < 0 ? x : b_.let(op, {x}, VType{b_.type(x).dtype, static_cast<int16_t>(lanes / 2)}); };
    a = combine({half(Op::Low, a.value), half(Op::Low, a.beside)}, {half(Op::High, a.value), half(Op::High, a.beside)});
  }
  return a;
}

AccumulatorBuffers Reducer::buffers(const std::string& name, Space space, int64_t count, int32_t size) {
  AccumulatorBuffers made{b_.add_buffer({name, dtype_, space, size, count})};
  if (is_total_) made.beside = b_.add_buffer({name + "_rest", dtype_, space, size, count});
  if (has_index()) made.beside = b_.add_buffer({name + "_at", DType::I64, space, size, count});
  return made;
}

Accumulator Reducer::load(AccumulatorBuffers from, ValueId at, int lanes, ValueId mask) {
  return {b_.load(from.value, at, lanes, mask), has_two() ? b_.load(from.beside, at, lanes, mask) : kNone};
}

void Reducer::store(AccumulatorBuffers to, ValueId at, Accumulator value, ValueId mask) {
  b_.store(to.value, at, value.value, mask);
  if (has_two()) b_.store(to.beside, at, value.beside, mask);
}

}  // namespace tenon::passes
