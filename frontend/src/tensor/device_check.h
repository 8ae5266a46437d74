// The device check of PyTorch's CUDA kernels, which names the argument that is elsewhere.
#pragma once

#include "frontend/src/tensor/impl.h"

namespace tenon {

// Error unless `argument` lies where `first`, an operand before it, does. Undefined tensors lie anywhere.
void check_argument_device(const Tensor& first, const Tensor& argument, const char* name, const char* kernel);

}  // namespace tenon
