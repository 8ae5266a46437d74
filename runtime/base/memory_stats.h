// What an allocator says: what it holds, and that there is no more.
#pragma once

#include <cstdint>
#include <stdexcept>

namespace tenon::runtime {

struct OutOfMemory : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// What a caching allocator holds, in bytes unless it says a count. Adopted memory is not in it.
struct MemoryStats {
  int64_t allocated = 0;  // in live buffers, rounded up to their size classes
  int64_t cached = 0;     // freed, kept for reuse
  int64_t reserved = 0;   // allocated + cached: what the system gave
  int64_t peak_allocated = 0;
  int64_t peak_reserved = 0;
  int64_t live_buffers = 0;  // count
  int64_t allocations = 0;   // count, since the start
  int64_t cache_hits = 0;    // count of those that reused a freed block
};

}  // namespace tenon::runtime
