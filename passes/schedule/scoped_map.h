// What is known in nested scopes, by a number: the innermost entry of a key hides those around it, and goes with its scope.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace tenon::passes {

template <typename T>
class ScopedMap {
 public:
  struct Entry {
    int64_t key;
    T value;
    int32_t scope;   // its depth
    int32_t hidden;  // the entry that it hides, or kNone
  };

  void push() { begins_.push_back(entries_.size()); }
  void pop() {
    for (; entries_.size() > begins_.back(); entries_.pop_back()) slots_[slot_of(entries_.back().key)].entry = entries_.back().hidden;
    begins_.pop_back();
  }
  // In the innermost scope.
  void set(int64_t key, T value) {
    if (2 * (used_ + 1) > slots_.size()) grow();
    Slot& slot = slots_[slot_of(key)];
    const auto scope = static_cast<int32_t>(begins_.size());
    if (slot.entry >= 0 && entries_[slot.entry].scope == scope) {
      entries_[slot.entry].value = value;
      return;
    }
    if (slot.entry == kFree) ++used_;
    entries_.push_back({key, value, scope, slot.entry == kFree ? kNone : slot.entry});
    slot = {key, static_cast<int32_t>(entries_.size()) - 1};
  }
  // The innermost; null if there is none. Holds until the next change.
  const Entry* find(int64_t key) const {
    if (slots_.empty()) return nullptr;
    const int32_t entry = slots_[slot_of(key)].entry;
    return entry < 0 ? nullptr : &entries_[entry];
  }
  const std::vector<Entry>& entries() const { return entries_; }  // of all scopes, also those that are hidden
  int32_t scope() const { return static_cast<int32_t>(begins_.size()); }

 private:
  static constexpr int32_t kNone = -1, kFree = -2;  // kNone: the key has no entry now
  struct Slot {
    int64_t key = 0;
    int32_t entry = kFree;
  };

  // Where the key is, or would be put.
  size_t slot_of(int64_t key) const {
    const size_t mask = slots_.size() - 1;
    size_t at = (static_cast<uint64_t>(key) * 0x9E3779B97F4A7C15u >> 32) & mask;
    while (slots_[at].entry != kFree && slots_[at].key != key) at = (at + 1) & mask;
    return at;
  }
  void grow() {
    std::vector<Slot> old(slots_.empty() ? 64 : 2 * slots_.size());
    std::swap(old, slots_);
    for (const Slot& slot : old) {
      if (slot.entry != kFree) slots_[slot_of(slot.key)] = slot;
    }
  }

  std::vector<Entry> entries_;
  std::vector<size_t> begins_;  // of the scopes' entries, but for the outermost's
  std::vector<Slot> slots_;     // a power of two of them
  size_t used_ = 0;
};

}  // namespace tenon::passes
