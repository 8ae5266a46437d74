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

int submit_library_call(void* handle, const std::string& name, std::function<void()> body) {
  return gate("library call", Need::Context, [&](Driver& d) -> int {
    Stream* const stream = find_stream(d, handle);
    if (!stream) return kInvalidHandle;
    Work work;
    work.kind = WorkKind::Copy;
    work.name = name;
    work.body = std::move(body);
    return submit(d, *stream, std::move(work));
  });
}

int check_context() {
  return gate("library check", Need::Context, [](Driver&) -> int { return kSuccess; });
}

}  // namespace tenon::cuda_sim
