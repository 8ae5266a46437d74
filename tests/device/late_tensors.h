// What tests on the second device share.
#pragma once

#include <tenon/tenon.h>

#include <cstring>
#include <string>

#include "device/late_device.h"

namespace tenon::test {

inline Device late(int index = 0) {
  LateDevice::get(index);
  return Device("privateuseone:" + std::to_string(index));
}
inline Device late_cuda(int index = 0) {
  LateDevice::cuda(index);
  return Device(kCUDA, static_cast<DeviceIndex>(index));
}
inline bool same_bits(const Tensor& a, const Tensor& b) {
  const Tensor x = a.cpu().contiguous(), y = b.cpu().contiguous();
  return x.dtype() == y.dtype() && x.sizes() == y.sizes() &&
         (x.numel() == 0 || std::memcmp(x.const_data_ptr(), y.const_data_ptr(), static_cast<size_t>(x.nbytes())) == 0);
}

}  // namespace tenon::test
