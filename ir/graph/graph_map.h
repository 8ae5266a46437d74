// A map from nodes to T for one traversal: open addressing, nothing removed; the nodes must outlive it. Many times faster than the
// standard library's for the graphs of tens of thousands of nodes that passes walk.
#pragma once

#include <algorithm>
#include <bit>
#include <utility>
#include <vector>

#include "ir/graph/node.h"

namespace tenon::ir {

template <typename T>
class NodeMap {
 public:
  // The value of `node` and whether it was made just now (then it is a default T).
  std::pair<T*, bool> insert(const Node* node) {
    if (2 * (count_ + 1) > slots_.size()) grow();
    Slot& slot = slots_[position(node)];
    const bool fresh = !slot.node;
    if (fresh) {
      slot.node = node;
      ++count_;
    }
    return {&slot.value, fresh};
  }
  T& operator[](const Node* node) { return *insert(node).first; }
  T* find(const Node* node) {
    if (slots_.empty()) return nullptr;
    Slot& slot = slots_[position(node)];
    return slot.node ? &slot.value : nullptr;
  }
  const T* find(const Node* node) const { return const_cast<NodeMap*>(this)->find(node); }
  const T& at(const Node* node) const { return *find(node); }  // of a node that is there
  bool contains(const Node* node) const { return find(node) != nullptr; }
  size_t size() const { return count_; }
  void reserve(size_t nodes) {
    if (2 * nodes > slots_.size()) resize(std::bit_ceil(std::max<size_t>(2 * nodes, 16)));
  }
  // In no order that means anything.
  template <typename F>  // f(node, value)
  void for_each(F f) {
    for (Slot& slot : slots_) {
      if (slot.node) f(slot.node, slot.value);
    }
  }
  template <typename F>
  void for_each(F f) const {
    for (const Slot& slot : slots_) {
      if (slot.node) f(slot.node, slot.value);
    }
  }

 private:
  struct Slot {
    const Node* node = nullptr;
    T value{};
  };

  size_t position(const Node* node) const {
    const size_t mask = slots_.size() - 1;
    size_t at = node->id() * 0x9E3779B97F4A7C15u >> 20 & mask;
    while (slots_[at].node && slots_[at].node != node) at = (at + 1) & mask;
    return at;
  }
  void grow() { resize(slots_.empty() ? 16 : 2 * slots_.size()); }
  void resize(size_t slots) {
    std::vector<Slot> old(slots);
    std::swap(old, slots_);
    for (Slot& slot : old) {
      if (slot.node) slots_[position(slot.node)] = std::move(slot);
    }
  }

  std::vector<Slot> slots_;  // a power of two of them
  size_t count_ = 0;
};

}  // namespace tenon::ir
