// Memory of the host from the system, in which a first touch is cheap: a fault costs more than computing a page, so what is of
// middle size shares huge pages. Programs whose sizes grow meet fresh memory with each of them.
//
//   below 32 KB         malloc
//   up to 2 MB          a piece of a huge page: the smallest free one that serves; an empty page goes back
//   2 MB and more       a mapping of its own, on huge pages
//
// Where the kernel gives no huge pages the places are the same.
#pragma once

#include <cstddef>

namespace tenon::runtime {

void* acquire_from_system(size_t bytes) noexcept;            // 64-byte aligned; null if there is no memory
void release_to_system(void* block, size_t bytes) noexcept;  // bytes as acquired

}  // namespace tenon::runtime
