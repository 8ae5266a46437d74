// Which routine computes which operation.
#include "runtime/cpu/routines.h"

#include "codegen/interpreter/interpreter.h"

namespace tenon::runtime {

void run_routine(const ir::Call& call, void* const* buffers, const uint64_t* scalars) {
  switch (call.node().op()) {
#define ROUTINE(Name, run) \
  case ir::Op::Name: return run(call, buffers, scalars); #include "runtime/cpu/routines.def"
    default: return codegen::interpret(call, buffers, scalars);
  }
}

}  // namespace tenon::runtime
