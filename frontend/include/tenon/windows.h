// Windows of signal processing, [window_length]. A periodic one is a symmetric one of a sample more, less the last.
#pragma once

#include "tenon/tensor.h"

namespace tenon {

#define TENON_DECLARE(name)                                                       \
  Tensor name(int64_t window_length, const TensorOptions& options = {});         \
  Tensor name(int64_t window_length, bool periodic, const TensorOptions& options = {});
TENON_DECLARE(hann_window)
TENON_DECLARE(hamming_window)
TENON_DECLARE(blackman_window)
TENON_DECLARE(bartlett_window)
TENON_DECLARE(kaiser_window)
#undef TENON_DECLARE
// alpha - beta cos(2 pi i / (n - 1)); 0.54 and 0.46 unless given
Tensor hamming_window(int64_t window_length, bool periodic, double alpha, const TensorOptions& options = {});
Tensor hamming_window(int64_t window_length, bool periodic, double alpha, double beta,
                      const TensorOptions& options = {});
Tensor kaiser_window(int64_t window_length, bool periodic, double beta, const TensorOptions& options = {});

}  // namespace tenon
