// Which routine computes which operation.
#include "runtime/cpu/routines.h"

#include "codegen/interpreter/interpreter.h"

namespace tenon::runtime {

using ir::Op;

Lines lines_of(const ir::Dims& shape, int64_t dim) {
  Lines lines{shape[dim], 1, 1};
  for (size_t d = 0; d < shape.size(); ++d) {
    if (static_cast<int64_t>(d) < dim) lines.outer *= shape[d];
    if (static_cast<int64_t>(d) > dim) lines.stride *= shape[d];
  }
  return lines;
}

void run_routine(const ir::Call& call, void* const* buffers, const uint64_t* scalars) {
  const ir::Node& node = call.node();
  if (node.op() == Op::Cat) {
    run_join(call, buffers, scalars);
  } else if (node.op() == Op::Sort || node.op() == Op::SortPart) {
    const ir::Node& x = *node.inputs()[0];
    const Lines lines = lines_of(x.shape(), node.ints()[0]);
    const bool part = node.op() == Op::SortPart;
    const Ranks ranks{part ? node.ints()[2] : 0, part ? node.ints()[3] : lines.count};
    const auto run = part ? select_lines : sort_lines;
    run(x.dtype(), lines, node.ints()[1] != 0, ranks, buffers[0], static_cast<int64_t*>(buffers[1]));
  } else if (node.op() == Op::Nonzero || node.op() == Op::Compress || node.op() == Op::ScatterMask) {
    run_masked(node, buffers);
  } else if (ir::is_scatter(node.op())) {
    run_scatter(call, buffers);
  } else {
    codegen::interpret(call, buffers, scalars);
  }
}

}  // namespace tenon::runtime
