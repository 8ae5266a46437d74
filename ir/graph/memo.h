// A table of work that comes again: what is kept of it the second time stands for it from then on. Work that
// comes once leaves only the hash of its key, since not every program repeats itself. Used for calls,
// gradients and optimizers' updates; TENON_REPLAY=0 turns these off.
#pragma once

#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ir/graph/graph.h"

namespace tenon::ir {

// Key: copyable, with `uint64_t hash() const` and ==, also with what it is looked up by. Thread-safe, and usable in a forked child: under
// the lock of the graph.
template <typename Key, typename Kept>
class Memo {
 public:
  struct Found {
    std::shared_ptr<const Kept> kept;  // null: the work is to be done
    bool again = false;                // it comes for the second time: note() what is to be kept of it
  };
  template <typename Lookup = Key>
  Found find(const Lookup& key) {
    const uint64_t hash = key.hash();
    const auto held = hold_graph();
    const auto at = entries_.find(hash);
    if (at != entries_.end() && at->second.key == key) return {at->second.kept, false};
    return {nullptr, std::exchange(seen_[hash % kMost], hash) == hash};
  }
  // Null: the work must be done each time.
  void note(Key key, std::shared_ptr<const Kept> kept) {
    const uint64_t hash = key.hash();
    const auto held = hold_graph();
    if (entries_.size() >= kMost) entries_.clear();
    entries_.insert_or_assign(hash, Entry{std::move(key), std::move(kept)});
  }

 private:
  static constexpr size_t kMost = 4096;
  struct Entry {
    Key key;
    std::shared_ptr<const Kept> kept;
  };
  std::unordered_map<uint64_t, Entry> entries_;  // by the key's hash: of two keys with one hash the later one stays
  std::vector<uint64_t> seen_ = std::vector<uint64_t>(kMost);
};

}  // namespace tenon::ir
