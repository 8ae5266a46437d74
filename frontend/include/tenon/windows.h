// Printed from frontend/functions.def by scripts/print/make_functions.py.
// Windows of signal processing, [window_length]. A periodic one is a symmetric one of a sample more, less the last.
#pragma once

#include "tenon/tensor.h"

namespace tenon {

Tensor hann_window(int64_t window_length, const TensorOptions& options = {});
Tensor hann_window(int64_t window_length, bool periodic, const TensorOptions& options = {});
Tensor hamming_window(int64_t window_length, const TensorOptions& options = {});
Tensor hamming_window(int64_t window_length, bool periodic, const TensorOptions& options = {});
Tensor blackman_window(int64_t window_length, const TensorOptions& options = {});
Tensor blackman_window(int64_t window_length, bool periodic, const TensorOptions& options = {});
Tensor bartlett_window(int64_t window_length, const TensorOptions& options = {});
Tensor bartlett_window(int64_t window_length, bool periodic, const TensorOptions& options = {});
Tensor kaiser_window(int64_t window_length, const TensorOptions& options = {});
Tensor kaiser_window(int64_t window_length, bool periodic, const TensorOptions& options = {});
// alpha - beta cos(2 pi i / (n - 1)); 0.54 and 0.46 unless given
Tensor hamming_window(int64_t window_length, bool periodic, double alpha, const TensorOptions& options = {});
Tensor hamming_window(int64_t window_length, bool periodic, double alpha, double beta,
                      const TensorOptions& options = {});
Tensor kaiser_window(int64_t window_length, bool periodic, double beta, const TensorOptions& options = {});

}  // namespace tenon
