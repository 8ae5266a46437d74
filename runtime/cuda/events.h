// Events of a context, used again: making one costs more than recording it.
#pragma once

#include <mutex>
#include <vector>

#include "runtime/cuda/context.h"

namespace tenon::runtime::cuda {

class EventPool {
 public:
  explicit EventPool(Context& context) : context_(context) {}

  CUevent take(bool timed) {
    const std::lock_guard lock(mutex_);
    std::vector<CUevent>& spare = spare_[timed];
    if (!spare.empty()) {
      CUevent event = spare.back();
      spare.pop_back();
      return event;
    }
    CUevent event = nullptr;
    context_.check(context_.api().event_create(&event, timed ? kEventDefault : kEventDisableTiming), "cuEventCreate");
    return event;
  }
  void give_back(CUevent event, bool timed) {
    const std::lock_guard lock(mutex_);
    spare_[timed].push_back(event);
  }

 private:
  Context& context_;
  std::mutex mutex_;
  std::vector<CUevent> spare_[2];  // without and with a time
};

}  // namespace tenon::runtime::cuda
