// Sliding windows over the last dims of a value: what convolution, pooling and unfold read. Nothing is
// copied: windows are a strided reading of the padded value.
//
//   x [N, C, H, W], two Windows  ->  [N, C, kernel_h, kernel_w, count_h, count_w]
#pragma once

#include <vector>

#include "frontend/src/tensor/impl.h"

namespace tenon {

// Windows along one dim: window number i covers the positions i * stride - low + k * dilation, k < kernel. A
// negative low begins inside.
struct Window {
  int64_t size;  // of the dim
  int64_t kernel, stride = 1, low = 0, high = 0, dilation = 1;
  int64_t count = 0;  // how many windows

  int64_t extent() const { return dilation * (kernel - 1) + 1; }  // positions from the first to the last one of a window
  int64_t padded() const { return size + low + high; }
  // How many windows fit; with `ceil` also a last one that hangs over the end but starts inside.
  int64_t fitting(bool ceil = false) const;
};
using Windows = std::vector<Window>;

// What lies outside of x is `fill`.
NodeRef sliding_windows(const NodeRef& x, const Windows& dims, const ir::Constant& fill);

// A parameter of one number for all dims or of one for each; otherwise Error(message).
Dims per_dim(IntArrayRef values, size_t dims, const char* message);
// Sizes and steps beyond this are refused, so that sums and products of two do not overflow.
void check_extents(IntArrayRef values, const char* name);

}  // namespace tenon
