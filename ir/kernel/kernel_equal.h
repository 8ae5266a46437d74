// Kernels that are one kernel: the same axes, buffers, scalars and instructions. Names do not count.
#pragma once

#include "ir/kernel/kernel.h"

namespace tenon::ir {

bool same_work(const Kernel& a, const Kernel& b);
uint64_t hash_of_work(const Kernel& kernel);  // equal where same_work holds
uint64_t hash_of_form(const Kernel& kernel);  // equal also where lengths and places differ

}  // namespace tenon::ir
