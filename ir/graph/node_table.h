// The table of nodes, within the ir floor: who makes nodes with their types known already, as a Template does, needs no more than this.
// A node lives as long as somebody refers to it; the table finds a live node by what it computes, and holds no reference of
// its own.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ir/base/mix.h"
#include "ir/graph/node.h"

namespace tenon::ir {

// What makes two nodes equal. The shape follows from the rest except for a leaf.
struct NodeKey {
  Op op;
  DType dtype;
  DeviceTag device;
  uint64_t bits;
  std::span<const NodeRef> inputs;
  std::span<const int64_t> ints;
  const Dims& shape;
  int64_t numel;
  std::span<NodeRef> given = {};  // the inputs again, where a new node takes the references over; they are null then
};

inline uint64_t seed_of(Op op, DType dtype, DeviceTag device, uint64_t bits) {
  return mix(static_cast<uint64_t>(op) << 16 | static_cast<uint64_t>(dtype) << 8 | static_cast<uint8_t>(device), bits);
}

template <typename Inputs>
uint64_t hash_of(uint64_t seed, const NodeKey& key, const Inputs& inputs) {
  uint64_t hash = seed;
  for (const auto& input : inputs) hash = mix(hash, input->id());
  for (int64_t value : key.ints) hash = mix(hash, static_cast<uint64_t>(value));
  if (inputs.empty()) {
    for (int64_t size : key.shape) hash = mix(hash, static_cast<uint64_t>(size));
  }
  return hash;
}
inline uint64_t hash_of(const NodeKey& key) { return hash_of(seed_of(key.op, key.dtype, key.device, key.bits), key, key.inputs); }

// A definition that a stored node keeps, in a list by number.
struct Node::Kept {
  Node* node;
  uint64_t number;
  Definition definition;
  Kept *before, *after;
};

// All nodes of the process that can be shared, by hash: open addressing with linear probing. One recursive
// lock covers making, folding and materialising, so a rule never reads a node that is just losing its
// operands.
//
// A node whose count has reached zero may still stand in the table until its last owner gets the lock.
// `acquire` never revives it; an equal node is then made afresh, and `erase` goes by identity.
struct NodeTable {
  struct Slot {
    uint64_t hash;
    Node* node;
  };
  static constexpr size_t kLeastSlots = 1024;
  static constexpr int kBatch = 256;  // nodes freed under one hold of the lock
  static constexpr size_t kPayloads = 8;
  static constexpr int kMostSpare = 1024;

  // Memory of a node that died, kept for the next: a small expression makes and frees a handful each time round.
  struct Spare {
    Spare* next;
  };

  RecursiveMutex mutex;
  std::vector<Slot> slots = std::vector<Slot>(kLeastSlots);
  size_t count = 0;
  uint64_t next_id = 1;
  int64_t live = 0;
  Spare* spare = nullptr;
  int spare_count = 0;
  uint64_t fresh_from = UINT64_MAX;  // nodes from this id on are known to nobody else yet
  Node::Kept *first_kept = nullptr, *last_kept = nullptr;
  Node* youngest = nullptr;          // of the pending nodes, a list in the order of their creation
  std::atomic<int64_t> pending = 0;  // their number; changes with the lock held

  static NodeTable& get() {
    static auto* const table = new NodeTable;  // outlives every static tensor
    return *table;
  }

  static bool acquire(Node* node) {
    uint32_t refs = node->refs_.load(std::memory_order_relaxed);
    while (refs && !node->refs_.compare_exchange_weak(refs, refs + 1, std::memory_order_relaxed)) {
    }
    return refs != 0;
  }

  static NodeRef adopt(Node* node) {
    NodeRef ref;
    ref.node_ = node;
    return ref;
  }

  // The end of a reference that was adopted from somebody who still owns it.
  static void forget(NodeRef& ref) { ref.node_ = nullptr; }

  // While one of these lives, under the lock, nodes that are made are known to this thread alone: counting their references takes
  // no locked instruction.
  class Fresh {
   public:
    explicit Fresh(NodeTable& table) : table_(table) { table.fresh_from = table.next_id; }
    ~Fresh() { table_.fresh_from = UINT64_MAX; }
    Fresh(const Fresh&) = delete;
    Fresh& operator=(const Fresh&) = delete;

   private:
    NodeTable& table_;
  };
  void count_up(Node& node, uint32_t by = 1) const {
    if (node.id_ >= fresh_from) node.refs_.store(node.references() + by, std::memory_order_relaxed);
    else node.refs_.fetch_add(by, std::memory_order_relaxed);
  }
  // For a node that somebody else refers to as well.
  static void count_down(Node& node, uint32_t by = 1) { node.refs_.fetch_sub(by, std::memory_order_relaxed); }

  static Node* node_of(const NodeRef& ref) { return ref.node_; }
  static Node* node_of(Node* node) { return node; }
  template <typename Inputs>
  static bool equal(const Node& node, const NodeKey& key, const Inputs& inputs) {
    if (node.op() != key.op || node.dtype_ != key.dtype || node.device_ != key.device || node.bits_ != key.bits ||
        node.inputs_.size() != inputs.size() || node.ints_.size() != key.ints.size()) {
      return false;
    }
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (node.inputs_[i] != node_of(inputs[i])) return false;
    }
    for (size_t i = 0; i < key.ints.size(); ++i) {
      if (node.ints_[i] != key.ints[i]) return false;
    }
    return !inputs.empty() || node.shape_ == key.shape;
  }

  void* allocate() {
    if (!spare) return ::operator new(sizeof(Node));
    --spare_count;
    return std::exchange(spare, spare->next);
  }

  // Call with the lock held; a payload must be gone, since its end may take long.
  void free(Node* node) {
    if (spare_count == kMostSpare) return delete node;
    node->~Node();
    spare = new (node) Spare{spare};
    ++spare_count;
  }

  // A new node with one reference. Call with the lock held.
  Node* create(const NodeKey& key) {
    Node* node = create_leaf(key, 1);
    node->inputs_.resize(key.inputs.size());
    Node** operand = node->inputs_.data();
    for (const NodeRef& input : key.inputs) {
      if (key.given.empty()) count_up(*input);
      if (input->reads_volatile()) mark_volatile(*node);
      *operand++ = input.get();
    }
    for (NodeRef& input : key.given) forget(input);
    return node;
  }

  // With so many references, whatever they will be; without the operands.
  Node* create_leaf(const NodeKey& key, uint32_t references) {
    auto* node = new (allocate()) Node;
    node->refs_.store(references, std::memory_order_relaxed);
    node->op_.store(key.op, std::memory_order_relaxed);
    node->dtype_ = key.dtype;
    node->device_ = key.device;
    node->id_ = next_id++;
    node->bits_ = key.bits;
    node->numel_ = key.numel;
    node->shape_ = key.shape;
    node->ints_.append(key.ints.data(), key.ints.size());
    ++live;
    if (!node->is_leaf()) append_pending(*node);
    return node;
  }

  NodeRef find_or_create(const NodeKey& key) {
    const uint64_t hash = hash_of(key);
    size_t at = hash & (slots.size() - 1);
    for (; slots[at].node; at = (at + 1) & (slots.size() - 1)) {
      if (slots[at].hash == hash && equal(*slots[at].node, key, key.inputs) && acquire(slots[at].node)) return adopt(slots[at].node);
    }
    Node* node = create(key);
    node->hash_ = hash;
    insert(node, at);
    return adopt(node);
  }

  // The same where references are counted in advance: each one to the node that there will be, `references` in all, and the node's own
  // to its operands. The inputs of the key are left out.
  Node* find_or_create_counted(const NodeKey& key, std::span<Node* const> inputs, uint64_t seed, uint32_t references) {
    const uint64_t hash = hash_of(seed, key, inputs);
    size_t at = hash & (slots.size() - 1);
    for (; slots[at].node; at = (at + 1) & (slots.size() - 1)) {
      Node* node = slots[at].node;
      if (slots[at].hash != hash || !equal(*node, key, inputs) || !acquire(node)) continue;
      count_up(*node, references - 1);
      for (Node* input : inputs) count_down(*input);  // which that node refers to already
      return node;
    }
    Node* node = create_leaf(key, references);
    node->inputs_.resize(inputs.size());
    Node** operand = node->inputs_.data();
    for (Node* input : inputs) {
      if (input->reads_volatile()) mark_volatile(*node);
      *operand++ = input;
    }
    node->hash_ = hash;
    insert(node, at);
    return node;
  }

  // One order for operands that commute: the older first, a constant last.
  static bool in_order(std::span<const NodeRef> inputs) { return in_order(*inputs[0], *inputs[1]); }
  static bool in_order(const Node& first, const Node& second) {
    const auto rank = [](const Node& node) { return std::pair(node.op() == Op::Const, node.id()); };
    return rank(first) <= rank(second);
  }

  // Room for so many more.
  void reserve(size_t more) {
    size_t size = slots.size();
    while (2 * (count + more) > size) size *= 2;
    if (size > slots.size()) resize(size);
  }

  void insert(Node* node, size_t at) {
    node->interned_ = true;
    slots[at] = {node->hash_, node};
    if (2 * ++count > slots.size()) resize(2 * slots.size());
  }

  static void mark_volatile(Node& node) { node.volatile_.store(true, std::memory_order_relaxed); }

  void resize(size_t size) {
    std::vector<Slot> old(size);
    std::swap(old, slots);
    for (const Slot& slot : old) {
      if (!slot.node) continue;
      size_t at = slot.hash & (size - 1);
      while (slots[at].node) at = (at + 1) & (size - 1);
      slots[at] = slot;
    }
  }

  void erase(Node* node) {
    if (!node->interned_) return;
    node->interned_ = false;
    const size_t mask = slots.size() - 1;
    size_t hole = node->hash_ & mask;
    while (slots[hole].node != node) hole = (hole + 1) & mask;
    // Close the gap: an entry after it moves up if its probing passes the hole on the way from its home.
    for (size_t at = (hole + 1) & mask; slots[at].node; at = (at + 1) & mask) {
      if (((at - slots[at].hash) & mask) >= ((at - hole) & mask)) {
        slots[hole] = slots[at];
        hole = at;
      }
    }
    slots[hole] = {};
    if (--count * 16 < slots.size() && slots.size() > kLeastSlots) resize(slots.size() / 2);
  }

  // All of these with the lock held.
  void append_pending(Node& node) {
    node.older_ = youngest;
    if (youngest) youngest->younger_ = &node;
    youngest = &node;
    count_pending(1);
  }
  void join_pending(Node& node, Node& younger) {
    node.older_ = younger.older_;
    node.younger_ = &younger;
    if (node.older_) node.older_->younger_ = &node;
    younger.older_ = &node;
    count_pending(1);
  }
  void leave_pending(Node& node) {
    if (!node.younger_ && youngest != &node) return;  // it is none
    count_pending(-1);
    if (node.older_) node.older_->younger_ = node.younger_;
    if (node.younger_) node.younger_->older_ = node.older_;
    else if (youngest == &node) youngest = node.older_;
    node.older_ = node.younger_ = nullptr;
  }
  static Node* younger(const Node& node) { return node.younger_; }
  void count_pending(int64_t more) { pending.store(pending.load(std::memory_order_relaxed) + more, std::memory_order_relaxed); }

  // Gives up the caller's reference, if it still counts; true if it was the last one. Nobody else can copy that: only the table makes
  // another, under the lock. Call with the lock held.
  static bool give_up(Node& node) {
    if (node.refs_.load(std::memory_order_acquire) > 1) return node.refs_.fetch_sub(1, std::memory_order_acq_rel) == 1;
    node.refs_.store(0, std::memory_order_relaxed);
    return true;
  }

  // Drops these references; the nodes that nobody else refers to go to the list. Call with the lock held.
  static void drop(const SmallVector<Node*, 3>& inputs, Node*& doomed) {
    for (Node* input : inputs) {
      if (give_up(*input)) input->link_ = std::exchange(doomed, input);
    }
  }

  // Drops the references of definitions. Call without the lock.
  static void drop(std::span<Definition> definitions) {
    Node* doomed = nullptr;
    for (Definition& definition : definitions) {
      for (Node* input : definition.inputs_) {
        if (input->refs_.fetch_sub(1, std::memory_order_acq_rel) == 1) input->link_ = std::exchange(doomed, input);
      }
      definition.inputs_.clear();
    }
    if (doomed) destroy(doomed);
  }

  // Frees the nodes of a list and whatever only they kept alive, unless the caller's reference still counts and is not the last one.
  // Payloads die outside the lock: they may free buffers.
  static void destroy(Node* doomed) {
    NodeTable& table = get();
    while (doomed) {
      std::array<std::shared_ptr<Payload>, kPayloads> payloads;
      size_t count = 0;
      {
        const std::scoped_lock lock(table.mutex);
        for (int i = 0; i < kBatch && count < kPayloads && doomed; ++i) {
          Node* node = std::exchange(doomed, doomed->link_);
          if (!give_up(*node)) continue;
          table.erase(node);
          table.leave_pending(*node);
          --table.live;
          drop(node->inputs_, doomed);
          if (node->kept_) {
            const std::unique_ptr<Node::Kept> kept(table.unlink(*node));
            drop(kept->definition.inputs_, doomed);
            kept->definition.inputs_.clear();
          }
          if (node->payload_) payloads[count++] = std::move(node->payload_);
          table.free(node);
        }
      }
    }
  }

  // Call with the lock held.
  void give_back(Node& node, Definition definition) {
    node.op_.store(definition.op_, std::memory_order_relaxed);
    node.volatile_.store(definition.volatile_, std::memory_order_relaxed);
    node.bits_ = definition.bits_;
    node.ints_ = std::move(definition.ints_);
    node.inputs_ = std::move(definition.inputs_);
    if (!node.is_leaf()) {
      Node* younger = nullptr;
      for (Node* next = youngest; next && next->id_ > node.id_; next = next->older_) younger = next;
      younger ? join_pending(node, *younger) : append_pending(node);
    }
    if (!definition.interned_) return;
    // An equal node may have been made meanwhile; both can be found then.
    size_t at = node.hash_ & (slots.size() - 1);
    while (slots[at].node) at = (at + 1) & (slots.size() - 1);
    insert(&node, at);
  }

  // All of these with the lock held.
  void keep(Node& node, Definition definition, uint64_t number) {
    Node::Kept* before = last_kept;  // numbers come nearly in order
    while (before && before->number > number) before = before->before;
    Node::Kept* after = before ? before->after : first_kept;
    node.kept_ = new Node::Kept{&node, number, std::move(definition), before, after};
    (before ? before->after : first_kept) = node.kept_;
    (after ? after->before : last_kept) = node.kept_;
  }
  Node::Kept* unlink(Node& node) {
    Node::Kept* kept = std::exchange(node.kept_, nullptr);
    (kept->before ? kept->before->after : first_kept) = kept->after;
    (kept->after ? kept->after->before : last_kept) = kept->before;
    return kept;
  }
  // The first that is kept, if its number is up to `last`.
  std::unique_ptr<Node::Kept> next_kept(uint64_t last) {
    if (!first_kept || first_kept->number > last) return nullptr;
    return std::unique_ptr<Node::Kept>(unlink(*first_kept->node));
  }

  std::vector<KeptReferences> references_of_kept(uint64_t number) const {
    std::vector<const Node::Kept*> all;
    const Node::Kept* last = last_kept;
    while (last && last->number > number) last = last->before;
    for (; last && last->number == number; last = last->before) all.push_back(last);
    std::vector<const SmallVector<Node*, 3>*> dropped;  // with them, list by list
    std::unordered_map<const Node*, uint32_t> counts;   // of references in those lists
    for (const Node::Kept* kept : all) dropped.push_back(&kept->definition.inputs_);
    while (!dropped.empty()) {
      const SmallVector<Node*, 3>& inputs = *dropped.back();
      dropped.pop_back();
      for (const Node* input : inputs) {
        const bool dies = ++counts[input] == input->references() && input->holders.load(std::memory_order_relaxed) == 0;
        if (dies) dropped.push_back(&input->inputs_);
      }
    }
    std::vector<KeptReferences> result;
    for (const Node::Kept* kept : all) {
      if (const auto found = counts.find(kept->node); found != counts.end()) result.push_back({kept->node, found->second});
    }
    return result;
  }

  static void store(Node& node, std::shared_ptr<Payload> payload) {
    node.payload_ = std::move(payload);
    set_stored(node, node.payload_ != nullptr);
  }
  static void set_stored(Node& node, bool stored) { node.stored_.store(stored, std::memory_order_release); }

  void materialise(Node& node, std::shared_ptr<Payload> payload) {
    std::optional<Definition> before;  // it and the old payload die outside the lock
    std::shared_ptr<Payload> old;
    const std::scoped_lock lock(mutex);
    before.emplace(node);
    old = std::move(node.payload_);
    store(node, std::move(payload));
  }
};

}  // namespace tenon::ir
