// What the frontend asks of CUDA beside runtime/device/device.h. The first question loads the driver and NVRTC and registers a device
// for each GPU; a process that asks nothing loads nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "runtime/cuda/pinned.h"
#include "runtime/cuda/properties.h"

namespace tenon::runtime {
struct EventState;
}

namespace tenon::runtime::cuda {

int device_count() noexcept;  // 0 if something is missing
bool available() noexcept;
std::string why_unavailable();  // one sentence: what was looked for, and what failed
std::string report();           // several lines: what was tried, found, versions

Properties properties(int index);                    // throws std::runtime_error if there is no such device, like all that follow
std::pair<int64_t, int64_t> memory_info(int index);  // free, total bytes
void synchronize(int index);                         // waits for all work of the device
void allow_tf32(bool allow);  // of all devices: float32 products may round their operands to 10 bits of mantissa; off at first

// Host memory that a device reads and writes without a copy in between, on any device (is_pinned: pinned.h). Throws OutOfMemory.
void* allocate_pinned(size_t bytes);
void free_pinned(void* block) noexcept;

// A point in the work of a device's main stream that knows its time.
class TimingEvent {
 public:
  void record(int index);  // after all work so far
  bool query() const;      // whether it is past; one that was never recorded is
  void synchronize() const;
  float elapsed_ms(const TimingEvent& end) const;  // both recorded on one device and past, else std::runtime_error

 private:
  int index_ = 0;  // of the device that recorded it
  std::shared_ptr<const EventState> event_;
};

}  // namespace tenon::runtime::cuda
