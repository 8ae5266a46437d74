// Cleans a kernel: rebuilds it so that equal pure instructions are one and what folds is folded, then drops
// the instructions that no store needs. Levels fall to what the operands require; the order stays. Operands that commute stand in
// their order, whichever the program made first: so rounds of a loop are one kernel.
//
//   map r c    : %0 = load x[8*r + c] : f32              map r c    : %0 = load x[8*r + c] : f32
//   map r c    : %1 = load x[8*r + c] : f32              map r c    : %1 = mul %0, %0 : f32
//   map r c    : %2 = mul %0, %1 : f32            ->     map r c    : store y[8*r + c], %1
//   map r c    : %3 = exp %2 : f32
//   map r c    : store y[8*r + c], %2
#include <algorithm>

#include "passes/kernel/rewrite_kernel.h"
#include "passes/passes.h"

namespace tenon::passes {
namespace {

// Operands come before their readers, so one walk backwards finds everything that a store needs.
std::vector<bool> live_instrs(const ir::Kernel& kernel) {
  std::vector<bool> live(kernel.instrs.size());
  for (size_t i = kernel.instrs.size(); i-- > 0;) {
    const ir::Instr& instr = kernel.instrs[i];
    if (instr.op == ir::Op::Store) live[i] = true;
    if (!live[i]) continue;
    for (ir::Value arg : instr.args) live[arg] = true;
  }
  return live;
}

void drop_dead(ir::Kernel& kernel) {
  const std::vector<bool> live = live_instrs(kernel);
  std::vector<ir::Value> moved(kernel.instrs.size());
  size_t kept = 0;
  for (size_t i = 0; i < kernel.instrs.size(); ++i) {
    if (!live[i]) continue;
    ir::Instr& instr = kernel.instrs[i];
    for (ir::Value& arg : instr.args) arg = moved[arg];
    moved[i] = static_cast<ir::Value>(kept);
    if (kept != i) kernel.instrs[kept] = std::move(instr);
    ++kept;
  }
  kernel.instrs.resize(kept);
}

// A contraction whose value nothing needs leaves its axis behind, with nothing to run over it.
void drop_unused_contract_axis(ir::Kernel& kernel) {
  const bool contracts = std::ranges::any_of(kernel.instrs, [](const ir::Instr& i) { return i.op == ir::Op::Contract; });
  if (!contracts) std::erase_if(kernel.axes, [](const ir::Axis& a) { return a.kind == ir::AxisKind::Contract; });
}

}  // namespace

ir::Kernel clean(ir::Kernel kernel) {
  // A load or an index may stand at a higher level than it needs. In an empty space it stays there, never
  // run.
  auto lower = [&](ir::KernelBuilder& builder, const ir::Instr& instr, std::span<const ir::Value> args) {
    if (ir::has_trait(instr.op, ir::TraitCommutes) && args[0] > args[1]) return builder.op(instr.op, {args[1], args[0]}, instr.dtype);
    bool movable = instr.op == ir::Op::Load || instr.op == ir::Op::IndexOf;
    if (!movable || instr.level == ir::Level::Row || kernel.extent_of(instr.level) == 0) return kKeep;
    ir::Instr lowest = instr;
    lowest.level = ir::Level::Row;
    return copy_instr(builder, lowest, args);
  };
  ir::Kernel result = rewrite_kernel(kernel, lower);
  drop_dead(result);
  drop_unused_contract_axis(result);
  return result;
}

}  // namespace tenon::passes
