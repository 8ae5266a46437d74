// The builder: takes one instruction at a time, gives it a level, and appends it unless it folds to a constant, is an exact identity, or
// equals an earlier pure instruction.
#include "ir/kernel/kernel_builder.h"

#include <algorithm>
#include <string>

#include "ir/kernel/kernel_rules.h"

namespace tenon::ir {
namespace {

Instr make(Op op, DType dtype, Level level, std::span<const Value> args = {}) {
  Instr instr{};
  instr.op = op;
  instr.dtype = dtype;
  instr.level = level;
  instr.args = SmallVector<Value, 3>(args);
  return instr;
}

// Removes guards that always hold and repeated ones; false if one of them never holds.
bool settle_guards(std::vector<Guard>& guards) {
  std::vector<Guard> open;
  for (const Guard& g : guards) {
    Bounds b = g.value.bounds();
    if (g.lo >= g.hi || b.hi < g.lo || b.lo >= g.hi) return false;
    bool always = g.lo <= b.lo && b.hi < g.hi;
    bool known = std::any_of(open.begin(), open.end(), [&](const Guard& o) { return o.value == g.value && o.lo == g.lo && o.hi == g.hi; });
    if (!always && !known) open.push_back(g);
  }
  guards = std::move(open);
  return true;
}

bool is_value(const std::optional<Constant>& c, double value) { return c && c->bits == constant(c->dtype, value).bits; }

// x op y where one side decides; -1 if none does. Exact for every value, signed zeros included.
Value identity_of(Op op, std::span<const Value> args, const std::optional<Constant>& a, const std::optional<Constant>& b) {
  Value x = args[0], y = args.size() > 1 ? args[1] : -1;
  switch (op) {
    case Op::Add: return is_value(b, -0.0) ? x : is_value(a, -0.0) ? y : -1;  // x + (-0) = x
    case Op::Sub: return is_value(b, 0.0) ? x : -1;                           // x - 0 = x
    case Op::Mul: return is_value(b, 1.0) ? x : is_value(a, 1.0) ? y : -1;    // x * 1 = x
    case Op::Div: return is_value(b, 1.0) ? x : -1;                           // x / 1 = x
    case Op::Max:
    case Op::Min: return x == y ? x : -1;  // max(x, x) = x
    case Op::And:
      if (x == y) return x;            // x & x = x
      if (is_value(b, 0.0)) return y;  // x & 0 = 0
      if (is_value(a, 0.0)) return x;
      if (b && b->dtype == DType::Bool) return x;  // x & true = x
      return a && a->dtype == DType::Bool ? y : -1;
    case Op::Or:
      if (x == y || is_value(b, 0.0)) return x;  // x | x = x | 0 = x
      if (is_value(a, 0.0)) return y;
      if (b && b->dtype == DType::Bool) return y;  // x | true = true
      return a && a->dtype == DType::Bool ? x : -1;
    case Op::Where:
      if (a) return a->bits ? args[1] : args[2];  // where(true, x, y) = x
      return args[1] == args[2] ? args[1] : -1;   // where(c, x, x) = x
    default: return -1;
  }
}

}  // namespace

const Instr& KernelBuilder::at(Value v) const {
  if (v < 0 || static_cast<size_t>(v) >= kernel_.instrs.size()) throw IrError("an operand is no instruction of the kernel");
  const Instr& instr = kernel_.instr(v);
  if (instr.op == Op::Store) throw IrError("a store has no value");
  return instr;
}

std::optional<Constant> KernelBuilder::as_constant(Value v) const {
  const Instr& instr = at(v);
  if (instr.op != Op::Const) return std::nullopt;
  return Constant{instr.dtype, instr.bits};
}

Level KernelBuilder::highest(std::span<const Value> args) const {
  Level level = Level::Row;
  for (Value a : args) level = join(level, at(a).level);
  return level;
}

Value KernelBuilder::append(Instr instr) {
  // Only inputs keep their values while the kernel runs; what a point updates is not loaded after its store.
  auto shareable = [&](const Instr& i) {
    if (i.op != Op::Load) return is_pure(i);
    Role role = kernel_.buffer(i.slot).role;
    return role == Role::In || role == Role::InOut;
  };
  for (; indexed_ < kernel_.instrs.size(); ++indexed_) {
    const Instr& known = kernel_.instrs[indexed_];
    if (shareable(known)) seen_.add(hash_of(known), static_cast<Value>(indexed_));
  }
  if (shareable(instr)) {
    const Value known = seen_.find(hash_of(instr), [&](Value v) { return same(kernel_.instr(v), instr); });
    if (known >= 0) return known;
  }
  kernel_.instrs.push_back(std::move(instr));
  return static_cast<Value>(kernel_.instrs.size()) - 1;
}

// The value that op(args) is known to have, or -1.
Value KernelBuilder::fold(Op op, std::span<const Value> args, DType to, DType result) {
  if ((op == Op::Cast || op == Op::Bitcast) && dtype(args[0]) == to) return args[0];
  if ((op == Op::Neg || op == Op::Not) && at(args[0]).op == op) return at(args[0]).args[0];
  std::optional<Constant> a = as_constant(args[0]), b = args.size() > 1 ? as_constant(args[1]) : std::nullopt;
  if (Value v = identity_of(op, args, a, b); v >= 0) return v;
  if (has_trait(op, TraitExpands)) return -1;  // its value is that of its expansion, which later passes write
  SmallVector<Constant, 3> constants;
  for (Value v : args) {
    std::optional<Constant> c = as_constant(v);
    if (!c) return -1;
    constants.push_back(*c);
  }
  return constant(evaluate(op, constants, result));
}

Value KernelBuilder::constant(Constant c) {
  Instr instr = make(Op::Const, c.dtype, Level::Row);
  instr.bits = c.bits;
  return append(std::move(instr));
}

Value KernelBuilder::scalar(int slot) {
  if (slot < 0 || static_cast<size_t>(slot) >= kernel_.scalars.size()) throw IrError("there is no such scalar");
  Instr instr = make(Op::Scalar, kernel_.scalars[slot].dtype, Level::Row);
  instr.slot = slot;
  return append(std::move(instr));
}

// `instr` has its own operands already.
void KernelBuilder::add_position(Instr& instr, Position position) const {
  if (position.scale == 0) return;
  if (at(position.value).dtype != DType::I64) throw IrError("a position is not i64");
  instr.level = join(instr.level, at(position.value).level);
  instr.scale = position.scale;
  instr.args.push_back(position.value);
}

Value KernelBuilder::load(int buffer, Index index, Position position, Level level, std::vector<Guard> guards, Value otherwise) {
  if (buffer < 0 || static_cast<size_t>(buffer) >= kernel_.buffers.size()) throw IrError("load: there is no such buffer");
  DType dtype = kernel_.buffer(buffer).dtype;
  if (guards.empty() != (otherwise < 0)) throw IrError("load: guards and a value for elsewhere come together");
  if (otherwise >= 0 && at(otherwise).dtype != dtype) throw IrError("load: the value for elsewhere has another dtype");
  if (!settle_guards(guards)) return otherwise;
  if (guards.empty()) otherwise = -1;
  level = join(level, level_of(kernel_, index));
  for (const Guard& g : guards) level = join(level, level_of(kernel_, g.value));
  if (otherwise >= 0) level = join(level, at(otherwise).level);
  Instr instr = make(Op::Load, dtype, level);
  if (otherwise >= 0) instr.args.push_back(otherwise);
  instr.slot = buffer;
  instr.index = index;
  instr.guards = std::move(guards);
  add_position(instr, position);
  return append(std::move(instr));
}

Value KernelBuilder::index(Index value, Level level) {
  if (value.is_constant()) return constant(Constant{DType::I64, static_cast<uint64_t>(value.constant_part())});
  Instr instr = make(Op::IndexOf, DType::I64, join(level, level_of(kernel_, value)));
  instr.index = value;
  return append(std::move(instr));
}

Value KernelBuilder::op(Op op, std::span<const Value> args, DType to) {
  if (!is_elementwise(op)) throw IrError(std::string(info(op).text) + ": is not elementwise");
  SmallVector<DType, 3> dtypes;
  for (Value a : args) dtypes.push_back(at(a).dtype);
  DType result = kernel_result_type(op, dtypes, to);
  if (Value known = fold(op, args, to, result); known >= 0) return known;
  return append(make(op, result, highest(args), args));
}

Value KernelBuilder::cast(Value x, DType to) { return op(Op::Cast, {x}, to); }

Value KernelBuilder::reduce(Op op, Value x, ReduceTree tree) {
  if (!is_reduce(op)) throw IrError(std::string(info(op).text) + ": is no reduction");
  DType operand = at(x).dtype;
  DType result = kernel_result_type(op, {&operand, 1}, operand);
  if (at(x).level == Level::Contract) throw IrError(std::string(info(op).text) + ": reduces a contract-level value");
  Instr instr = make(op, result, Level::Row, {&x, 1});
  instr.tree = tree;
  return append(std::move(instr));
}

Value KernelBuilder::scan(Op op, Value x) {
  if (!is_scan(op)) throw IrError(std::string(info(op).text) + ": is no scan");
  DType operand = at(x).dtype;
  DType result = kernel_result_type(op, {&operand, 1}, operand);
  return append(make(op, result, join(Level::Full, at(x).level), {&x, 1}));
}

Value KernelBuilder::contract(Value a, Value b) {
  const Value args[] = {a, b};
  const DType dtypes[] = {at(a).dtype, at(b).dtype};
  if (highest(args) == Level::Full) throw IrError("contract: an operand is at full level");
  return append(make(Op::Contract, kernel_result_type(Op::Contract, dtypes, dtypes[0]), Level::Row, args));
}

void KernelBuilder::store(int buffer, Index index, Position position, Value value, Level level, std::vector<Guard> guards) {
  if (buffer < 0 || static_cast<size_t>(buffer) >= kernel_.buffers.size()) throw IrError("store: there is no such buffer");
  const KernelBuffer& target = kernel_.buffer(buffer);
  if (target.role == Role::In) throw IrError("store: " + target.name + " is an input");
  if (at(value).dtype != target.dtype) throw IrError("store: " + target.name + " has another dtype than the value");
  if (!settle_guards(guards)) return;
  level = join(join(level, at(value).level), level_of(kernel_, index));
  for (const Guard& g : guards) level = join(level, level_of(kernel_, g.value));
  Instr instr = make(Op::Store, target.dtype, level, {&value, 1});
  instr.slot = buffer;
  instr.index = index;
  instr.guards = std::move(guards);
  add_position(instr, position);
  if (instr.level == Level::Contract) throw IrError("store: a contract-level value is for contractions only");
  append(std::move(instr));
}

}  // namespace tenon::ir
