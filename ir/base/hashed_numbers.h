// Numbers that are found by a hash: a set whose elements lie somewhere else, in a vector. Open addressing, nothing removed.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace tenon::ir {

class HashedNumbers {
 public:
  void add(uint64_t hash, int32_t number) {
    if (2 * (count_ + 1) > slots_.size()) grow();
    put({hash, number});
    ++count_;
  }
  // The first number added with this hash for which `is_it`; -1 if there is none.
  template <typename IsIt>
  int32_t find(uint64_t hash, IsIt is_it) const {
    if (slots_.empty()) return -1;
    const size_t mask = slots_.size() - 1;
    for (size_t at = hash & mask; slots_[at].number >= 0; at = (at + 1) & mask) {
      if (slots_[at].hash == hash && is_it(slots_[at].number)) return slots_[at].number;
    }
    return -1;
  }

 private:
  struct Slot {
    uint64_t hash = 0;
    int32_t number = -1;
  };
  void put(Slot slot) {
    const size_t mask = slots_.size() - 1;
    size_t at = slot.hash & mask;
    while (slots_[at].number >= 0) at = (at + 1) & mask;
    slots_[at] = slot;
  }
  void grow() {
    std::vector<Slot> old(slots_.empty() ? 32 : 2 * slots_.size());
    std::swap(old, slots_);
    for (const Slot& slot : old) {
      if (slot.number >= 0) put(slot);
    }
  }

  std::vector<Slot> slots_;  // a power of two of them
  size_t count_ = 0;
};

}  // namespace tenon::ir
