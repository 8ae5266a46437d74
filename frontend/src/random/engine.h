// The state of a random stream: mt19937 as PyTorch keeps it, with the two normal samples that its scalar
// normals hold back. Words come out tempered; nothing here locks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace tenon {

struct RandomEngine {
  static constexpr size_t kWords = 624;

  uint64_t seed = 0;
  uint32_t state[kWords];
  uint32_t left = 1;  // words before the next twist, plus one
  uint32_t next = 0;  // the next word of `state`
  std::optional<double> held_normal;
  std::optional<float> held_float_normal;  // PyTorch's CPU never fills it, but its states carry it

  explicit RandomEngine(uint64_t seed) { reseed(seed); }
  void reseed(uint64_t new_seed);

  uint32_t word() {
    uint32_t w = 0;
    words(&w, 1);
    return w;
  }
  uint64_t word64() {  // the first word is the high half
    uint32_t w[2];
    words(w, 2);
    return uint64_t{w[0]} << 32 | w[1];
  }
  void words(uint32_t* out, size_t count);
};

}  // namespace tenon
