// Whether two tensors, of any devices, have the same type, sizes and bits.
#pragma once

#include <tenon/tenon.h>

#include <cstring>

namespace tenon::test {

inline bool same_bits(const Tensor& a, const Tensor& b) {
  if (a.scalar_type() != b.scalar_type() || a.sizes() != b.sizes()) return false;
  const Tensor x = a.detach().cpu().contiguous(), y = b.detach().cpu().contiguous();
  return x.numel() == 0 || std::memcmp(x.const_data_ptr(), y.const_data_ptr(), static_cast<size_t>(x.nbytes())) == 0;
}

}  // namespace tenon::test
