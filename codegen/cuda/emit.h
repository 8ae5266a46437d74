// Loop tree -> CUDA C text: one __global__ function a phase, no includes, in the common subset of CUDA C++ and C99.
#pragma once

#include <string>

#include "ir/looptree/looptree.h"

namespace tenon::codegen::cuda {

// The prelude every program starts with (half conversions, 64-bit types, TENON_KERNEL and friends).
const char* prelude();
// Prelude and kernels, ready for NVRTC. Functions are named `<tree.name>_<phase name>`.
std::string emit(const ir::LoopTree& tree);
std::string emit_kernels(const ir::LoopTree& tree);  // without the prelude
std::string function_name(const std::string& tree, const ir::Phase& phase);
// Bytes of shared memory that each launch of the phase must bring: 0, or all of it if that is more than a text may declare.
int64_t dynamic_shared_bytes(const ir::LoopTree& tree, const ir::Phase& phase);

}  // namespace tenon::codegen::cuda
