// Calls that come again on tensors of the same types, as most of a training step's do, and what is known of them.
#pragma once

#include <memory>
#include <unordered_map>
#include <utility>

#include "frontend/src/tensor/impl.h"
#include "ir/base/mix.h"

namespace tenon {

// What was called, and the types of its tensors.
class CallKey {
 public:
  void add(uint64_t word) { words_.push_back(word); }
  void add(const void* called) { add(reinterpret_cast<uintptr_t>(called)); }
  // Dtype, device and shape, and 8 bits more.
  void add(const TensorImpl& t, uint8_t flags = 0) {
    add(static_cast<uint64_t>(t.dtype()) | uint64_t{static_cast<uint8_t>(t.device())} << 8 | uint64_t{flags} << 16 |
        t.sizes().size() << 24);
    for (int64_t size : t.sizes()) add(static_cast<uint64_t>(size));
  }
  bool operator==(const CallKey&) const = default;

  struct Hash {
    size_t operator()(const CallKey& key) const {
      uint64_t hash = key.words_.size();
      for (uint64_t word : key.words_) hash = ir::mix(hash, word);
      return hash;
    }
  };

 private:
  SmallVector<uint64_t, 24> words_;
};

// What is known of each call, under the lock of the graph. One that comes once leaves only its key: not every program repeats itself.
template <typename Known>
class CallBook {
 public:
  struct Entry {
    bool noted = false;
    std::shared_ptr<const Known> known;  // null although it is noted: each call is recorded as it comes
  };
  // The entry, and whether this is the first time that it is asked for.
  std::pair<Entry, bool> find(const CallKey& key) {
    const auto held = ir::hold_graph();
    if (entries_.size() >= kMost) entries_.clear();
    const auto [at, fresh] = entries_.try_emplace(key);
    return {at->second, fresh};
  }
  void note(const CallKey& key, std::shared_ptr<const Known> known) {
    const auto held = ir::hold_graph();
    entries_[key] = {true, std::move(known)};
  }

 private:
  static constexpr size_t kMost = 4096;
  std::unordered_map<CallKey, Entry, CallKey::Hash> entries_;
};

// The tensor is all of a storage of its own; what it shows may be replaced at any time, and nobody outside writes it.
inline bool is_plain(const TensorImpl& t) {
  return t.contiguous() && t.offset() == 0 && !t.base.defined() && !t.inference() && t.numel() > 0;
}
// What the storage of a plain tensor holds; null if that is not what it shows, or memory that others may write.
inline NodeRef plain_value(const TensorImpl& t) {
  NodeRef value = t.storage().value();
  return value->dtype() == t.dtype() && value->shape() == t.sizes() && !value->reads_volatile() ? value : NodeRef();
}

}  // namespace tenon
