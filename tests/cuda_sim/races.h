// Finds accesses of a block of memory that nothing orders, whatever order they happened in: each piece of work knows, as a
// vector clock, which work of which stream comes before it by the stream's order, by an event or because the host has
// waited.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace tenon::cuda_sim {

// By stream: up to which of its pieces of work, counted from 1.
using Clock = std::map<unsigned, uint64_t>;
void merge(Clock& into, const Clock& other);

struct Access {
  unsigned stream = 0;
  uint64_t place = 0;  // in the stream; 0: there was none
  std::string name;
};

// The accesses of a block that a later one must come after: its last write, and the reads since.
struct History {
  Access write;
  std::vector<Access> reads;

  // Notes an access that comes after `before`. A message if an earlier one need not have come before it.
  std::string note(const Access& access, bool writes, const Clock& before);
};

}  // namespace tenon::cuda_sim
