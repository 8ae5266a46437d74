// How many cases a fuzzer draws and from which seed: TENON_FUZZ_COUNT, TENON_FUZZ_SEED; TENON_FUZZ_DIVISOR in slow builds.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>

namespace tenon::test {

inline int64_t from_environment(const char* name, int64_t otherwise) {
  const char* text = std::getenv(name);
  return text && *text ? std::atoll(text) : otherwise;
}

// `wanted` cases, or operations in a chain, divided by TENON_FUZZ_DIVISOR; at least 1.
inline int fuzz_cases(int wanted) {
  return std::max(1, wanted / static_cast<int>(std::max<int64_t>(1, from_environment("TENON_FUZZ_DIVISOR", 1))));
}

// TENON_FUZZ_COUNT where it is set, else fuzz_cases(usual).
inline int64_t fuzz_count(int usual) { return from_environment("TENON_FUZZ_COUNT", fuzz_cases(usual)); }

inline uint64_t first_seed() { return static_cast<uint64_t>(from_environment("TENON_FUZZ_SEED", 1)); }

}  // namespace tenon::test
