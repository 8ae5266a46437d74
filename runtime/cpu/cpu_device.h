// The CPU as a device: code by LLVM, work split over the thread pool, routines of the library. One stream: everything is
// done when its call returns.
#pragma once

#include <memory>

#include "runtime/device/device.h"

namespace tenon::runtime {

std::unique_ptr<Device> make_cpu_device();

}  // namespace tenon::runtime
