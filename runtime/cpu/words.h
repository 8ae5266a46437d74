// Code by the size of an element, for what moves elements and does not ask what they are.
#pragma once

#include <cstdint>

namespace tenon::runtime {

// f(a word of `bytes` bytes): 1, 2, 4 or 8.
template <typename F>
auto with_word(int64_t bytes, F&& f) {
  switch (bytes) {
    case 1: return f(uint8_t{});
    case 2: return f(uint16_t{});
    case 4: return f(uint32_t{});
    default: return f(uint64_t{});
  }
}

}  // namespace tenon::runtime
