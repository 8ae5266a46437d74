// Scans on a GPU: a thread takes a line and walks it from first to last; neighbouring threads take
// neighbouring lines.
//
//   phase lines: parallel block
//     if line < s1 { acc = start; for s in 0..s2 { acc += x[s3*s + line]; store y[s3*s + line], acc } }
#include "passes/schedule/gpu/context.h"

namespace tenon::passes::gpu {

using ir::Value;
using ir::ValueId;

Lowered lower_scan(const ir::Kernel& kernel, const ir::GpuTarget& target) {
  Context context(kernel, "scan", target.threads);
  const int serial = ir::axes_of(kernel, ir::AxisKind::Serial).front();
  const int64_t lines = kernel.extent_of(ir::AxisKind::Parallel);
  context.begin_phase("lines", ceil_div(lines, target.threads));
  const ValueId line = context.item();
  context.begin_if(context.less(line, context.size(SizeRole::Points, 0, lines)));
  const std::vector<int> parallel = ir::axes_of(kernel, ir::AxisKind::Parallel);
  if (!parallel.empty()) context.bind_flat(parallel, line);

  std::vector<Value> full;
  std::map<Value, ValueId> registers;
  for (size_t i = 0; i < kernel.instrs.size(); ++i) {
    const ir::Instr& instr = kernel.instrs[i];
    const auto v = static_cast<Value>(i);
    if (instr.level == ir::Level::Row) {
      context.lower(v);
      continue;
    }
    full.push_back(v);
    context.hoist(instr);
    if (ir::is_scan(instr.op))
      registers[v] = context.b.var(context.constant(ir::combine_start(instr.op, instr.dtype)));
  }
  const ValueId at = context.begin_for(context.number(0), context.extent(serial), 1);
  context.bind_axis(serial, at);
  for (Value v : full) {
    const ir::Instr& instr = kernel.instr(v);
    if (!ir::is_scan(instr.op)) {
      context.lower(v);
      continue;
    }
    const ValueId so_far = context.b.get(registers.at(v)), element = context.value(instr.args[0]);
    const ValueId next = context.b.op(ir::combining_op(instr.op), {so_far, element});
    context.b.set(registers.at(v), next);
    context.bind(v, next);
  }
  context.end_for();
  context.end_if();
  context.end_phase();
  return std::move(context.out);
}

}  // namespace tenon::passes::gpu
