// 128-bit content hashes (XXH3) of cache keys and cache files. A hash only finds an entry; its user
// compares the full key as well.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace tenon::runtime {

struct Hash128 {
  uint64_t low = 0, high = 0;
  friend bool operator==(const Hash128&, const Hash128&) = default;
  std::string hex() const;  // 32 digits
};

Hash128 hash128(const void* data, size_t bytes);

struct HashOfHash {
  size_t operator()(const Hash128& h) const { return static_cast<size_t>(h.low); }
};

}  // namespace tenon::runtime
