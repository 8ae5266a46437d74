// Scans on a GPU: a thread takes a line and walks it from first to last; neighbouring threads take
// neighbouring lines.
//
//   phase lines: parallel block
//     if line < s1 { acc = start; for s in 0..s2 { acc += x[s3*s + line]; store y[s3*s + line], acc } }
#include <map>

#include "passes/schedule/gpu/context.h"

namespace tenon::passes::gpu {

void lower_scan(Context& c) {
  const int serial = c.axes(AxisKind::Serial).front();
  c.each_item("lines", c.product(c.axes(AxisKind::Parallel)), [&](ValueId line) {
    c.nest.bind_linear(c.axes(AxisKind::Parallel), line);
    std::vector<Value> full;
    std::map<Value, ValueId> registers;
    for (size_t i = 0; i < c.kernel.instrs.size(); ++i) {
      const Instr& instr = c.kernel.instrs[i];
      const auto v = static_cast<Value>(i);
      if (instr.level == Level::Row) {
        c.nest.emit(v);
        continue;
      }
      full.push_back(v);
      if (ir::is_scan(instr.op)) registers[v] = c.builder.var(c.builder.constant(ir::combine_start(instr.op, instr.dtype)));
    }
    c.nest.prepare(full);
    c.loop(c.literal(0), c.nest.extent(serial), 1, [&](ValueId at) {
      c.nest.bind(serial, at);
      for (Value v : full) {
        const Instr& instr = c.kernel.instr(v);
        if (!ir::is_scan(instr.op)) {
          c.nest.emit(v);
          continue;
        }
        const ValueId so_far = c.builder.get(registers.at(v));
        const ValueId next = c.builder.op(ir::combining_op(instr.op), {so_far, c.nest.get(instr.args[0])});
        c.builder.set(registers.at(v), next);
        c.nest.set(v, next);
      }
    });
  });
}

}  // namespace tenon::passes::gpu
