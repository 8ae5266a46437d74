// What tests on the second device share.
#pragma once

#include <tenon/tenon.h>

#include <string>

#include "device/late_device.h"
#include "support/same_bits.h"

namespace tenon::test {

inline Device late(int index = 0) {
  LateDevice::get(index);
  return Device("privateuseone:" + std::to_string(index));
}
inline Device late_cuda(int index = 0) {
  LateDevice::cuda(index);
  return Device(kCUDA, static_cast<DeviceIndex>(index));
}
}  // namespace tenon::test
