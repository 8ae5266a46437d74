// The work of a step.
#include "runtime/plan/step.h"

namespace tenon::runtime {

void start(const Step& step, std::span<void* const> arguments, std::span<const uint64_t> scalars, std::span<const Phase> phases) {
  if (const auto* work = std::get_if<CompiledStep>(&step.work)) {
    step.device->launch({work->kernel->code, step.facts->name, arguments, work->sizes, scalars, phases, work->local_bytes}, Stream::Main);
  } else if (const auto* uncompiled = std::get_if<UncompiledStep>(&step.work)) {
    const Uncompiled work{uncompiled->work, step.facts->name, arguments, scalars};
    uncompiled->interpreted ? step.device->interpret(work, Stream::Main) : step.device->call_library(work, Stream::Main);
  } else if (const auto* copy = std::get_if<CopyStep>(&step.work)) {
    if (copy->bytes > 0) copy_between(*step.device, arguments[1], *copy->from, arguments[0], copy->bytes);
  }
}

}  // namespace tenon::runtime
