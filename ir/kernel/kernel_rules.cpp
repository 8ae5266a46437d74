// Result types, levels, hashes and equality of instructions.
#include "ir/kernel/kernel_rules.h"

#include <algorithm>
#include <string>

#include "ir/base/mix.h"

namespace tenon::ir {

bool is_pure(const Instr& instr) { return instr.op != Op::Store; }
bool is_reduction(Op op) { return is_reduce(op) || op == Op::Contract; }

std::string_view name(Level level) { return level == Level::Row ? "row" : level == Level::Full ? "full" : "contract"; }

Level join(Level a, Level b) {
  if (a == Level::Row) return b;
  if (b == Level::Row || a == b) return a;
  throw IrError("a full-level and a contract-level value meet in one operation");
}

Level level_of(const Kernel& kernel, const Index& index) {
  Level level = Level::Row;
  for (int a : index.axes()) {
    if (static_cast<size_t>(a) >= kernel.axes.size()) throw IrError("an index uses an axis that the kernel lacks");
    level = join(level, level_of(kernel.axes[a].kind));
  }
  return level;
}

DType kernel_result_type(Op op, std::span<const DType> args, DType to) {
  const OpInfo& o = info(op);
  auto fail = [&](const std::string& reason) { throw IrError(std::string(o.text) + ": " + reason); };
  if (!is_elementwise(op) && !is_reduction(op) && !is_scan(op)) fail("is no operation on values");
  if (args.size() != static_cast<size_t>(o.arity)) {
    fail("takes " + std::to_string(o.arity) + " operands, got " + std::to_string(args.size()));
  }
  size_t first = o.rule == TypeRule::Select ? 1 : 0;
  if (first == 1 && args[0] != DType::Bool) fail("the condition is " + std::string(name(args[0])) + ", not bool");
  for (DType t : args.subspan(first)) {
    if (t != args[first]) {
      fail("operands are " + std::string(name(args[first])) + " and " + std::string(name(t)));
    }
  }
  if (!in_domain(op, args[first])) fail("is not defined on " + std::string(name(args[first])));
  if (op == Op::Bitcast && (!in_domain(op, to) || item_size(to) != item_size(args[0]))) {
    fail("from " + std::string(name(args[0])) + " to " + std::string(name(to)));
  }
  switch (o.rule) {
    case TypeRule::Compare: return DType::Bool;
    case TypeRule::Attr: return to;
    case TypeRule::Index: return DType::I64;
    default: return args[first];
  }
}

uint64_t hash_of(const Instr& instr) {
  uint64_t h = static_cast<uint64_t>(instr.op);
  const auto add = [&](uint64_t x) { h = mix(h, x); };
  add(static_cast<uint64_t>(instr.dtype) << 16 | static_cast<uint64_t>(instr.level) << 8 | static_cast<uint64_t>(instr.tree));
  add(static_cast<uint64_t>(instr.slot));
  add(instr.bits);
  add(static_cast<uint64_t>(instr.scale));
  add(instr.index.hash());
  for (Value a : instr.args) add(static_cast<uint64_t>(a));
  for (const Guard& g : instr.guards) {
    add(g.value.hash());
    add(static_cast<uint64_t>(g.lo));
    add(static_cast<uint64_t>(g.hi));
  }
  return h;
}

bool same(const Instr& a, const Instr& b) {
  auto same_guard = [](const Guard& x, const Guard& y) { return x.value == y.value && x.lo == y.lo && x.hi == y.hi; };
  return a.op == b.op && a.dtype == b.dtype && a.level == b.level && a.args == b.args && a.slot == b.slot && a.bits == b.bits &&
         a.scale == b.scale && a.index == b.index && a.tree == b.tree &&
         std::equal(a.guards.begin(), a.guards.end(), b.guards.begin(), b.guards.end(), same_guard);
}

}  // namespace tenon::ir
