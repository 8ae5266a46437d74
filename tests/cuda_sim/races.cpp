// Vector clocks, and the accesses that they do not order.
#include "cuda_sim/races.h"

#include <algorithm>

namespace tenon::cuda_sim {

void merge(Clock& into, const Clock& other) {
  for (const auto& [stream, place] : other) into[stream] = std::max(into[stream], place);
}

std::string History::note(const Access& access, bool writes, const Clock& before) {
  const auto ordered = [&](const Access& earlier) {
    const auto known = before.find(earlier.stream);
    return earlier.stream == access.stream || (known != before.end() && known->second >= earlier.place);
  };
  const auto message = [&](const Access& earlier, const char* did) {
    return access.name + (writes ? " writes what " : " reads what ") + earlier.name + did + ": nothing orders them";
  };
  std::string found;
  if (write.place > 0 && !ordered(write)) found = message(write, " writes");
  if (!writes) {
    // A later read of a stream stands for the earlier ones.
    std::erase_if(reads, [&](const Access& read) { return read.stream == access.stream; });
    reads.push_back(access);
    return found;
  }
  for (const Access& read : reads) {
    if (found.empty() && !ordered(read)) found = message(read, " reads");
  }
  reads.clear();
  write = access;
  return found;
}

}  // namespace tenon::cuda_sim
