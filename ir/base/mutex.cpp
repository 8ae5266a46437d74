// Waiting for a mutex.
#include "ir/base/mutex.h"

namespace tenon::ir {

void Mutex::wait() {
  constexpr int kTries = 100;  // most holders are done before a thread would be asleep
  for (int i = 0; i < kTries; ++i) {
    if (state_.load(std::memory_order_relaxed) == kFree && try_lock()) return;
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
  }
  while (state_.exchange(kWaitedFor, std::memory_order_acquire) != kFree) state_.wait(kWaitedFor, std::memory_order_relaxed);
}

}  // namespace tenon::ir
