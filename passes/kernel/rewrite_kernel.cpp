// Rebuilds a kernel instruction by instruction through KernelBuilder: takes a kernel and a rule, gives the
// kernel in which the rule has replaced what it wants. Levels follow from the operands, as for every kernel
// that is built.
#include "passes/kernel/rewrite_kernel.h"

#include "passes/passes.h"

namespace tenon::passes {

namespace {

ir::KernelBuilder::Position position_of(const ir::Instr& instr, std::span<const ir::Value> args) {
  if (instr.scale == 0) return {};
  return {args.back(), instr.scale};
}

}  // namespace

ir::Value copy_instr(ir::KernelBuilder& builder, const ir::Instr& instr, std::span<const ir::Value> args) {
  using ir::Op;
  switch (instr.op) {
    case Op::Const: return builder.constant(ir::Constant{instr.dtype, instr.bits});
    case Op::Scalar: return builder.scalar(instr.slot);
    case Op::IndexOf: return builder.index(instr.index, instr.level);
    case Op::Contract: return builder.contract(args[0], args[1]);
    case Op::Load:
      return builder.load(instr.slot, instr.index, position_of(instr, args), instr.level, instr.guards,
                          instr.guards.empty() ? -1 : args[0]);
    case Op::Store: builder.store(instr.slot, instr.index, position_of(instr, args), args[0], instr.level, instr.guards); return kKeep;
    default:
      if (ir::is_scan(instr.op)) return builder.scan(instr.op, args[0]);
      if (ir::is_reduce(instr.op)) return builder.reduce(instr.op, args[0], instr.tree);
      return builder.op(instr.op, args, instr.dtype);
  }
}

void substitute_axes(ir::Kernel& kernel, const std::function<ir::Index(int axis, int64_t extent)>& f) {
  const auto rewrite = [&](ir::Index& index) {
    if (!index.is_constant()) index = index.substitute(f);
  };
  for (ir::Instr& in : kernel.instrs) {
    rewrite(in.index);
    for (ir::Guard& guard : in.guards) rewrite(guard.value);
  }
}

ir::Kernel rewrite_kernel(const ir::Kernel& kernel, const RewriteInstr& rewrite) {
  ir::Kernel result;
  result.name = kernel.name;
  result.axes = kernel.axes;
  result.buffers = kernel.buffers;
  result.scalars = kernel.scalars;
  ir::KernelBuilder builder(result);
  std::vector<ir::Value> replacement(kernel.instrs.size(), kKeep);
  for (size_t i = 0; i < kernel.instrs.size(); ++i) {
    const ir::Instr& instr = kernel.instrs[i];
    SmallVector<ir::Value, 3> args;
    for (ir::Value arg : instr.args) args.push_back(replacement[arg]);
    const std::span<const ir::Value> span(args.begin(), args.size());
    const ir::Value rewritten = rewrite(builder, instr, span);
    replacement[i] = rewritten != kKeep ? rewritten : copy_instr(builder, instr, span);
  }
  return result;
}

}  // namespace tenon::passes
