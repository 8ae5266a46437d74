// Numbers for fuzzers: everything follows from the seed alone.
#pragma once

#include <cstdint>
#include <iterator>
#include <random>

namespace tenon::test {

class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed * 0x9E3779B97F4A7C15u + 1) {}
  int64_t below(int64_t count) { return static_cast<int64_t>(engine_() % static_cast<uint64_t>(count)); }
  int64_t between(int64_t lo, int64_t hi) { return lo + below(hi - lo + 1); }
  bool chance(int percent) { return below(100) < percent; }
  double unit() { return static_cast<double>(engine_() >> 11) * 0x1p-53; }
  uint64_t bits() { return engine_(); }
  template <typename List>
  auto pick(const List& list) {
    return list[static_cast<size_t>(below(static_cast<int64_t>(std::size(list))))];
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace tenon::test
