// The work of a step that is no compiled code.
#include "runtime/plan/step.h"

namespace tenon::runtime {

void start_uncompiled(const Step& step, std::span<void* const> arguments, std::span<const uint64_t> scalars) {
  const std::string& name = step.facts->name;
  if (const auto* routine = std::get_if<RoutineStep>(&step.work)) {
    step.device->call_library({routine->node, routine->parts, name, arguments, scalars, routine->in_memory,
                               routine->interpreted},
                              Stream::Main);
  } else if (const auto* copy = std::get_if<CopyStep>(&step.work)) {
    if (copy->bytes > 0) copy_between(*step.device, arguments[1], *copy->from, arguments[0], copy->bytes);
  } else if (!std::holds_alternative<InPlaceStep>(step.work)) {
    step.device->interpret({std::get<InterpretedStep>(step.work).kernel, name, arguments, scalars}, Stream::Main);
  }
}

}  // namespace tenon::runtime
