// Which routine computes which operation.
#include "runtime/cpu/routines.h"

#include <algorithm>
#include <iterator>

#include "codegen/interpreter/interpreter.h"

namespace tenon::runtime {
namespace {

struct Row {
  ir::Op op;
  Routine* run;
};
constexpr Row kRoutines[] = {
#define ROUTINE(Name, run) {ir::Op::Name, run},
#include "runtime/cpu/routines.def"
};

}  // namespace

void run_routine(const ir::Call& call, void* const* buffers, const uint64_t* scalars) {
  const Row* row = std::ranges::find(kRoutines, call.node().op(), &Row::op);
  row == std::end(kRoutines) ? codegen::interpret(call, buffers, scalars) : row->run(call, buffers, scalars);
}

}  // namespace tenon::runtime
