// Resizing the spatial dims of [N, C, spatial...] to `size`. A factor > 0 replaces the ratio of the sizes as
// the distance of output positions in the input.
#pragma once

#include <vector>

#include "frontend/src/tensor/impl.h"

namespace tenon {

enum class ResizeMode : uint8_t { Nearest, NearestExact, Linear, Cubic };

Tensor resize_planes(const Tensor& x, IntArrayRef size, ResizeMode mode, bool align_corners, const std::vector<double>& factors);
// Two spatial dims, Linear or Cubic: where the result is smaller, each of its elements is the mean of all that it covers.
Tensor resize_antialiased(const Tensor& x, IntArrayRef size, ResizeMode mode, bool align_corners, const std::vector<double>& factors);

}  // namespace tenon
