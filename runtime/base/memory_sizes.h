// The sizes in which an allocator keeps its free blocks, and sizes as people read them.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace tenon::runtime {

constexpr size_t kLargestBlock = size_t{1} << 60;  // beyond it no class arithmetic overflows, and no machine has it

struct SizeClass {
  size_t index, bytes;
};

// 1..8 units are their own classes; above, the top four bits of (units - 1) select the class, so that a block is at most an
// eighth larger than what was asked for.
constexpr SizeClass size_class(size_t bytes, size_t unit) {
  const size_t units = (bytes + unit - 1) / unit;
  if (units <= 8) return {units - 1, units * unit};
  const size_t shift = static_cast<size_t>(std::bit_width(units - 1)) - 4;
  const size_t eighths = ((units - 1) >> shift) + 1;  // 9..16
  return {8 + shift * 8 + (eighths - 9), (eighths << shift) * unit};
}

// In the largest unit of which there is one; each is `base` of the one before.
std::string readable(double value, std::span<const char* const> units, double base);
std::string readable_bytes(double bytes);  // "17.18 GiB"

}  // namespace tenon::runtime
