// The blocks of host memory that GPUs read and write themselves.
#pragma once

#include <cstddef>

namespace tenon::runtime::cuda {

void note_pinned(const void* block, size_t bytes);
void forget_pinned(const void* block);
bool is_pinned(const void* address) noexcept;  // whether it lies in such a block

}  // namespace tenon::runtime::cuda
