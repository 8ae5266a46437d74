// One more word into a hash that lives in this process alone (runtime/base/hash.h has the one for files).
#pragma once

#include <cstdint>

namespace tenon::ir {

inline uint64_t mix(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * 0x9E3779B97F4A7C15u;
  return hash ^ hash >> 32;
}

}  // namespace tenon::ir
