// Printed from frontend/functions.def by scripts/print/make_functions.py.
// Functions that make tensors; tensor(...) and from_blob stand in tensor_data.h. The dtype is the default float type
// unless said otherwise or set in the options.
#pragma once

#include "tenon/tensor_data.h"

namespace tenon {

Tensor scalar_tensor(const Scalar& value, const TensorOptions& options = {});
Tensor zeros(IntArrayRef size, const TensorOptions& options = {});
Tensor ones(IntArrayRef size, const TensorOptions& options = {});
Tensor empty(IntArrayRef size, const TensorOptions& options = {});  // zeros
Tensor full(IntArrayRef size, const Scalar& fill_value, const TensorOptions& options = {});  // dtype of the value
Tensor zeros_like(const Tensor& self, const TensorOptions& options = {});
Tensor ones_like(const Tensor& self, const TensorOptions& options = {});
Tensor empty_like(const Tensor& self, const TensorOptions& options = {});
Tensor full_like(const Tensor& self, const Scalar& fill_value, const TensorOptions& options = {});
// start, start + step, ... below end; int64 if all three are integers.
Tensor arange(const Scalar& end, const TensorOptions& options = {});
Tensor arange(const Scalar& start, const Scalar& end, const TensorOptions& options = {});
Tensor arange(const Scalar& start, const Scalar& end, const Scalar& step, const TensorOptions& options = {});
// steps numbers from start to end, both included. Bounds in 0-dim tensors are evaluated.
Tensor linspace(const Scalar& start, const Scalar& end, int64_t steps, const TensorOptions& options = {});
Tensor linspace(const Tensor& start, const Tensor& end, int64_t steps, const TensorOptions& options = {});
Tensor linspace(const Tensor& start, const Scalar& end, int64_t steps, const TensorOptions& options = {});
Tensor linspace(const Scalar& start, const Tensor& end, int64_t steps, const TensorOptions& options = {});
// base ** x for the x of linspace.
Tensor logspace(const Scalar& start, const Scalar& end, int64_t steps, double base = 10.0,
                const TensorOptions& options = {});
Tensor logspace(const Tensor& start, const Tensor& end, int64_t steps, double base = 10.0,
                const TensorOptions& options = {});
Tensor logspace(const Tensor& start, const Scalar& end, int64_t steps, double base = 10.0,
                const TensorOptions& options = {});
Tensor logspace(const Scalar& start, const Tensor& end, int64_t steps, double base = 10.0,
                const TensorOptions& options = {});
Tensor eye(int64_t n, const TensorOptions& options = {});
Tensor eye(int64_t n, int64_t m, const TensorOptions& options = {});

}  // namespace tenon
