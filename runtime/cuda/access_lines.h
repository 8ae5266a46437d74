// What explain says of a kernel's accesses to memory.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ir/looptree/looptree.h"

namespace tenon::runtime::cuda {

// A line for each access to global and shared memory: what it takes of it (codegen/cuda/accesses.h).
std::vector<std::string> access_lines(const ir::LoopTree& tree, std::span<const int64_t> sizes);

}  // namespace tenon::runtime::cuda
