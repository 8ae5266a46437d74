// Which routine computes which operation.
#include "runtime/routines.h"

#include "codegen/interpreter/interpreter.h"

namespace tenon::runtime {

using ir::Op;

Lines lines_of(const ir::Dims& shape, int64_t dim) {
  Lines lines{shape[static_cast<size_t>(dim)], 1, 1};
  for (size_t d = 0; d < shape.size(); ++d) {
    if (static_cast<int64_t>(d) < dim) lines.outer *= shape[d];
    if (static_cast<int64_t>(d) > dim) lines.stride *= shape[d];
  }
  return lines;
}

void run_routine(const ir::Node& node, const std::vector<passes::JoinPart>* parts, void* const* buffers) {
  if (parts) {
    run_join(node, *parts, buffers);
  } else if (node.op() == Op::Sort) {
    const ir::Node& x = *node.inputs()[0];
    sort_lines(x.dtype(), lines_of(x.shape(), node.ints()[0]), node.ints()[1] != 0, buffers[0],
               static_cast<int64_t*>(buffers[1]));
  } else if (ir::is_scatter(node.op())) {
    run_scatter(node, buffers);
  } else {
    codegen::interpret(node, buffers);
  }
}

}  // namespace tenon::runtime
