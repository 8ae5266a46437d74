// The driver's side of the other two stand-ins.
#include "cuda_sim/shared.h"

#include "cuda_sim/driver.h"

namespace tenon::cuda_sim {

int count_call(const char* function) {
  const std::lock_guard lock(driver().mutex);
  return driver().fault_due(function);
}

bool compile_text(const std::string& text, std::string& messages) {
  try {
    Program::load(text);
    return true;
  } catch (const std::exception& error) {
    messages = error.what();
    return false;
  }
}

int submit_library_call(void* handle, const std::string& name, std::function<void()> body, LibraryNodes nodes) {
  return gate("library call", Need::Context, [&](Driver& d) -> int {
    Stream* const stream = find_stream(d, handle);
    if (!stream) return kInvalidHandle;
    const auto add = [&](WorkKind kind) {
      Work work;
      work.kind = kind;
      work.name = name;
      if (kind == WorkKind::Copy) work.body = d.settings.idle ? [] {} : std::move(body);
      return submit(d, *stream, std::move(work));
    };
    const bool in_graph = stream->capture != nullptr;  // else only the product itself shows
    if (in_graph && nodes.allocates) {
      if (const int code = add(WorkKind::Allocate)) return code;
    }
    for (int extra = 1; in_graph && extra < nodes.kernels; ++extra) {
      if (const int code = add(WorkKind::Empty)) return code;
    }
    if (const int code = add(WorkKind::Copy)) return code;
    return in_graph && nodes.allocates ? add(WorkKind::Free) : kSuccess;
  });
}

long library_seed() {
  const std::lock_guard lock(driver().mutex);
  return driver().settings.library;
}

bool texts_spill() {
  const std::lock_guard lock(driver().mutex);
  return driver().settings.spills;
}

int check_context() {
  return gate("library check", Need::Context, [](Driver&) -> int { return kSuccess; });
}

}  // namespace tenon::cuda_sim
