// mt19937 in blocks of 624 words (M. Matsumoto, T. Nishimura, 1998): the twist renews a block in place, the
// tempering reads it. Both are plain loops that vectorise.
#include "frontend/src/random/engine.h"

#include <algorithm>

#include "runtime/cpu/vectorised.h"

namespace tenon {
namespace {

constexpr size_t kWords = RandomEngine::kWords, kShift = 397;

// The top bit of `high` and the other 31 of `low`, times the twist matrix.
TENON_INLINE inline uint32_t twisted(uint32_t high, uint32_t low) {
  const uint32_t mixed = (high & 0x80000000u) | (low & 0x7fffffffu);
  return (mixed >> 1) ^ ((0u - (low & 1u)) & 0x9908b0dfu);
}

TENON_INLINE inline uint32_t tempered(uint32_t y) {
  y ^= y >> 11;
  y ^= (y << 7) & 0x9d2c5680u;
  y ^= (y << 15) & 0xefc60000u;
  return y ^ (y >> 18);
}

void twist(uint32_t* s) {
  vectorised([s]() TENON_INLINE {
    for (size_t k = 0; k < kWords - kShift; ++k) s[k] = s[k + kShift] ^ twisted(s[k], s[k + 1]);
    for (size_t k = kWords - kShift; k < kWords - 1; ++k) s[k] = s[k + kShift - kWords] ^ twisted(s[k], s[k + 1]);
  });
  s[kWords - 1] = s[kShift - 1] ^ twisted(s[kWords - 1], s[0]);
}

}  // namespace

void RandomEngine::reseed(uint64_t new_seed) {
  seed = new_seed;
  state[0] = static_cast<uint32_t>(new_seed);
  for (uint32_t j = 1; j < kWords; ++j) state[j] = 1812433253u * (state[j - 1] ^ (state[j - 1] >> 30)) + j;
  left = 1;
  next = 0;
  held_normal.reset();
  held_float_normal.reset();
}

void RandomEngine::words(uint32_t* out, size_t count) {
  while (count > 0) {
    if (left == 1) {
      twist(state);
      left = kWords + 1;
      next = 0;
    }
    const auto taken = std::min<size_t>(count, left - 1);
    const uint32_t* from = state + next;
    if (taken < 8) {
      for (size_t i = 0; i < taken; ++i) out[i] = tempered(from[i]);
    } else {
      vectorised([from, out, taken]() TENON_INLINE {
        for (size_t i = 0; i < taken; ++i) out[i] = tempered(from[i]);
      });
    }
    out += taken;
    count -= taken;
    left -= static_cast<uint32_t>(taken);
    next += static_cast<uint32_t>(taken);
  }
}

}  // namespace tenon
