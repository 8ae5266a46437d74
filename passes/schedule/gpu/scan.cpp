// Scans on a GPU: a thread takes a line and walks it from first to last; neighbouring threads take
// neighbouring lines.
//
//   phase lines: parallel block
//     if line < s1 { acc = start; for s in 0..s2 { acc += x[s3*s + line]; store y[s3*s + line], acc } }
#include "passes/schedule/gpu/context.h"
#include "passes/schedule/staged.h"

namespace tenon::passes::gpu {

void lower_scan(Context& c) {
  const std::vector<int> lines = c.axes(AxisKind::Parallel);
  c.each_item("lines", c.product(lines), [&](ValueId line) {
    c.nest.bind_linear(lines, line);
    walk_lines(c, [](Value, const std::function<void(int)>& f) { f(0); });
  });
}

}  // namespace tenon::passes::gpu
