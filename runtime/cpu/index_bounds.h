// Whether indices lie within bounds: one pass without branches, for those that are right.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "runtime/cpu/vectorised.h"

namespace tenon::runtime {

struct IndexBounds {
  bool outside = false;   // whether any is outside lo..hi
  bool negative = false;  // whether any is negative
};

// lo <= 0, hi >= -1. The sign of i - lo or of hi - i is set if and only if i is outside, also where they wrap.
inline IndexBounds bounds_of(const int64_t* index, int64_t count, int64_t lo, int64_t hi) {
  uint64_t outside = 0, negative = 0;
  vectorised([=, into = &outside, into_negative = &negative]() TENON_INLINE {
    const auto least = static_cast<uint64_t>(lo), most = static_cast<uint64_t>(hi);
    uint64_t beyond = 0, any = 0;
    for (int64_t k = 0; k < count; ++k) {
      const auto i = static_cast<uint64_t>(index[k]);
      any |= i;
      beyond |= (i - least) | (most - i);
    }
    *into = beyond;
    *into_negative = any;
  });
  return {static_cast<int64_t>(outside) < 0, static_cast<int64_t>(negative) < 0};
}

inline std::optional<int64_t> first_outside(const int64_t* index, int64_t count, int64_t lo, int64_t hi) {
  const int64_t* const end = index + count;
  const int64_t* const found = std::find_if(index, end, [=](int64_t i) { return i < lo || i > hi; });
  return found == end ? std::nullopt : std::optional(*found);
}

}  // namespace tenon::runtime
