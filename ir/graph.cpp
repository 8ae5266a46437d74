// Nodes: making them, sharing equal ones and freeing them. A node lives as long as somebody refers to it; the
// table below finds a live node by what it computes, and holds no reference of its own.
#include "ir/graph.h"

#include <algorithm>
#include <mutex>
#include <optional>

#include "ir/fold.h"
#include "ir/fork.h"
#include "ir/graph_infer.h"
#include "ir/graph_map.h"
#include "ir/recipe.h"

namespace tenon::ir {
namespace {

// What makes two nodes equal. The shape follows from the rest except for a leaf.
struct Key {
  Op op;
  DType dtype;
  DeviceTag device;
  uint64_t bits;
  std::span<const NodeRef> inputs;
  std::span<const int64_t> ints;
  const Dims& shape;
  int64_t numel;
};

uint64_t mix(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * 0x9E3779B97F4A7C15u;
  return hash ^ hash >> 32;
}

uint64_t hash_of(const Key& key) {
  uint64_t hash = mix(static_cast<uint64_t>(key.op) << 16 | static_cast<uint64_t>(key.dtype) << 8 |
                          static_cast<uint8_t>(key.device),
                      key.bits);
  for (const NodeRef& input : key.inputs) hash = mix(hash, input->id());
  for (int64_t value : key.ints) hash = mix(hash, static_cast<uint64_t>(value));
  if (key.inputs.empty()) {
    for (int64_t size : key.shape) hash = mix(hash, static_cast<uint64_t>(size));
  }
  return hash;
}

}  // namespace

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
  static constexpr int kMostSpare = 1024;

  // Memory of a node that died, kept for the next: a small expression makes and frees a handful each time round.
  struct Spare {
    Spare* next;
  };

  std::recursive_mutex mutex;
  std::vector<Slot> slots = std::vector<Slot>(kLeastSlots);
  size_t count = 0;
  uint64_t next_id = 1;
  int64_t live = 0;
  Spare* spare = nullptr;
  int spare_count = 0;
  Node::Kept *first_kept = nullptr, *last_kept = nullptr;

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

  static bool equal(const Node& node, const Key& key) {
    if (node.op() != key.op || node.dtype_ != key.dtype || node.device_ != key.device ||
        node.bits_ != key.bits || node.inputs_.size() != key.inputs.size() ||
        node.ints_.size() != key.ints.size()) {
      return false;
    }
    for (size_t i = 0; i < key.inputs.size(); ++i) {
      if (node.inputs_[i] != key.inputs[i].get()) return false;
    }
    for (size_t i = 0; i < key.ints.size(); ++i) {
      if (node.ints_[i] != key.ints[i]) return false;
    }
    return !key.inputs.empty() || node.shape_ == key.shape;
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
  Node* create(const Key& key) {
    auto* node = new (allocate()) Node;
    node->refs_.store(1, std::memory_order_relaxed);
    node->op_.store(key.op, std::memory_order_relaxed);
    node->dtype_ = key.dtype;
    node->device_ = key.device;
    node->id_ = next_id++;
    node->bits_ = key.bits;
    node->numel_ = key.numel;
    node->shape_ = key.shape;
    node->ints_.append(key.ints.data(), key.ints.size());
    node->inputs_.resize(key.inputs.size());
    Node** operand = node->inputs_.data();
    for (const NodeRef& input : key.inputs) {
      input->refs_.fetch_add(1, std::memory_order_relaxed);
      if (input->reads_volatile()) mark_volatile(*node);
      *operand++ = input.get();
    }
    ++live;
    return node;
  }

  NodeRef find_or_create(const Key& key) {
    const uint64_t hash = hash_of(key);
    size_t at = hash & (slots.size() - 1);
    for (; slots[at].node; at = (at + 1) & (slots.size() - 1)) {
      if (slots[at].hash == hash && equal(*slots[at].node, key) && acquire(slots[at].node))
        return adopt(slots[at].node);
    }
    Node* node = create(key);
    node->hash_ = hash;
    insert(node, at);
    return adopt(node);
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

  // Drops these references; the nodes that nobody else refers to go to the list.
  static void drop(const SmallVector<Node*, 3>& inputs, Node*& doomed) {
    for (Node* input : inputs) {
      if (input->refs_.fetch_sub(1, std::memory_order_acq_rel) == 1) input->link_ = std::exchange(doomed, input);
    }
  }

  // Frees the nodes of a list and whatever only they kept alive. Payloads die outside the lock: they may free
  // buffers.
  static void destroy(Node* doomed) {
    NodeTable& table = get();
    while (doomed) {
      Node* dead = nullptr;
      {
        const std::scoped_lock lock(table.mutex);
        for (int i = 0; i < kBatch && doomed; ++i) {
          Node* node = std::exchange(doomed, doomed->link_);
          table.erase(node);
          --table.live;
          drop(node->inputs_, doomed);
          if (node->kept_) {
            const std::unique_ptr<Node::Kept> kept(table.unlink(*node));
            drop(kept->definition.inputs_, doomed);
            kept->definition.inputs_.clear();
          }
          if (node->payload_)
            node->link_ = std::exchange(dead, node);
          else
            table.free(node);
        }
      }
      while (dead) delete std::exchange(dead, dead->link_);
    }
  }

  // Call with the lock held.
  void give_back(Node& node, Definition definition) {
    node.op_.store(definition.op_, std::memory_order_relaxed);
    node.volatile_.store(definition.volatile_, std::memory_order_relaxed);
    node.bits_ = definition.bits_;
    node.ints_ = std::move(definition.ints_);
    node.inputs_ = std::move(definition.inputs_);
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

[[maybe_unused]] const bool held_over_fork = hold_over_fork(
    ForkOrder::Nodes, fork_lock<[]() -> std::recursive_mutex& { return NodeTable::get().mutex; }>());

constinit const std::shared_ptr<Payload> Node::kNoPayload;

void NodeRef::destroy(Node* node) { NodeTable::destroy(node); }

void Node::materialise(std::shared_ptr<Payload> payload) {
  NodeTable::get().materialise(*this, std::move(payload));
}

void Node::store(std::shared_ptr<Payload> payload) { NodeTable::store(*this, std::move(payload)); }

void Node::give_back(Definition definition) {
  NodeTable& table = NodeTable::get();
  const std::scoped_lock lock(table.mutex);
  table.give_back(*this, std::move(definition));
}

void Node::keep(Definition definition, uint64_t number) {
  NodeTable& table = NodeTable::get();
  const std::scoped_lock lock(table.mutex);
  table.keep(*this, std::move(definition), number);
}

std::vector<Definition> take_kept_definitions(uint64_t last) {
  return give_back_kept_definitions(last, [](const Node&) { return true; });
}

std::vector<Definition> give_back_kept_definitions(uint64_t last, const std::function<bool(const Node&)>& stays) {
  std::vector<Definition> taken;
  NodeTable& table = NodeTable::get();
  const std::scoped_lock lock(table.mutex);
  while (const auto kept = table.next_kept(last)) {
    if (stays(*kept->node)) {
      taken.push_back(std::move(kept->definition));
    } else {
      NodeTable::set_stored(*kept->node, false);  // the payload stays until the next one: others may just be reading it
      table.give_back(*kept->node, std::move(kept->definition));
    }
  }
  return taken;
}

Definition::Definition(Node& node) {
  NodeTable& table = NodeTable::get();
  const std::scoped_lock lock(table.mutex);
  op_ = node.op();
  volatile_ = node.reads_volatile();
  interned_ = node.interned_;
  bits_ = std::exchange(node.bits_, 0);
  ints_ = std::move(node.ints_);
  inputs_ = std::move(node.inputs_);
  table.erase(&node);
  node.op_.store(Op::Input, std::memory_order_relaxed);
  node.volatile_.store(false, std::memory_order_relaxed);
}

Definition::~Definition() {
  for (Node* input : inputs_) NodeTable::adopt(input);  // and drops it
}

std::unique_lock<std::recursive_mutex> hold_graph() { return std::unique_lock(NodeTable::get().mutex); }

int64_t live_node_count() {
  NodeTable& table = NodeTable::get();
  const std::scoped_lock lock(table.mutex);
  return table.live;
}

NodeRef make_input(DType dtype, std::span<const int64_t> shape, std::shared_ptr<Payload> payload,
                   DeviceTag device) {
  const int64_t count = check_leaf(Op::Input, shape, -1);
  const Dims dims(shape);
  NodeTable& table = NodeTable::get();
  const std::scoped_lock lock(table.mutex);
  NodeRef node = NodeTable::adopt(table.create({Op::Input, dtype, device, 0, {}, {}, dims, count}));
  if (payload) NodeTable::store(*node, std::move(payload));
  return node;
}

NodeRef make_volatile_input(DType dtype, std::span<const int64_t> shape, std::shared_ptr<Payload> payload,
                            DeviceTag device) {
  NodeRef node = make_input(dtype, shape, std::move(payload), device);
  NodeTable::mark_volatile(*node);
  return node;
}

NodeRef make_const(Constant value, std::span<const int64_t> shape, DeviceTag device) {
  const int64_t count = check_leaf(Op::Const, shape, -1);
  const Dims dims(shape);
  NodeTable& table = NodeTable::get();
  const std::scoped_lock lock(table.mutex);
  return table.find_or_create({Op::Const, value.dtype, device, value.bits, {}, {}, dims, count});
}

NodeRef make_iota(std::span<const int64_t> shape, int64_t dim, DeviceTag device) {
  const int64_t count = check_leaf(Op::Iota, shape, dim);
  const Dims dims(shape);
  NodeTable& table = NodeTable::get();
  const std::scoped_lock lock(table.mutex);
  return table.find_or_create({Op::Iota, DType::I64, device, 0, {}, {&dim, 1}, dims, count});
}

namespace {
// The simplest node that gives the same bits; call with the lock held.
NodeRef folded(NodeTable& table, const Key& key, const NodeType& type) {
  if (NodeRef simpler = fold(key.op, key.inputs, key.ints, type)) return simpler;
  // One order for operands that commute: the older first, a constant last.
  const auto rank = [](const NodeRef& node) { return std::pair(node->op() == Op::Const, node->id()); };
  if (!has_trait(key.op, TraitCommutes) || rank(key.inputs[0]) <= rank(key.inputs[1])) return table.find_or_create(key);
  const NodeRef swapped[2] = {key.inputs[1], key.inputs[0]};
  Key other = key;
  other.inputs = swapped;
  return table.find_or_create(other);
}
}  // namespace

NodeRef make_node(Op op, std::span<const NodeRef> inputs, std::span<const int64_t> ints, DType to,
                  Folding folding) {
  const NodeType type = infer(op, inputs, ints, to);
  NodeTable& table = NodeTable::get();
  const std::scoped_lock lock(table.mutex);
  const Key key{op, type.dtype, infer_device(op, inputs, ints), 0, inputs, ints, type.shape, type.numel};
  const PausedTape tape;  // what a rule makes is no step
  NodeRef node = folding == Folding::On    ? folded(table, key, type)
                 : folding == Folding::Off ? table.find_or_create(key)
                                           : NodeTable::adopt(table.create(key));
  if (Tape* noting = tape.get()) {
    const Tape::Request request{op, inputs, ints, type.dtype};
    if (!noting->may_stand_for(request, node)) {
      node = table.find_or_create(key);
      if (!noting->may_stand_for(request, node)) node = NodeTable::adopt(table.create(key));
    }
    noting->note(request, node);
  }
  return node;
}

NodeRef make_equal(const NodeRef& equal, Op op, std::span<const NodeRef> inputs, std::span<const int64_t> ints) {
  if (!Tape::current) return equal;
  const Tape::Request request{op, inputs, ints, equal->dtype()};
  if (equal->op() == Op::Const || !Tape::current->may_stand_for(request, equal)) return make_node(op, inputs, ints, equal->dtype());
  Tape::current->note(request, equal);
  return equal;
}

NodeRef unary(Op op, const NodeRef& x) { return make_node(op, {&x, 1}); }

NodeRef binary(Op op, const NodeRef& a, const NodeRef& b) {
  const NodeRef inputs[] = {a, b};
  return make_node(op, inputs);
}

NodeRef where(const NodeRef& condition, const NodeRef& a, const NodeRef& b) {
  const NodeRef inputs[] = {condition, a, b};
  return make_node(Op::Where, inputs);
}

// These three often change nothing: then the reference goes through them, without a key and without counting.
NodeRef cast(NodeRef x, DType to) {
  if (x->dtype() == to) return x;
  return make_node(Op::Cast, {&x, 1}, {}, to);
}

NodeRef reshape(NodeRef x, std::span<const int64_t> shape) {
  if (std::ranges::equal(x->shape(), shape)) return x;
  return make_node(Op::Reshape, {&x, 1}, shape);
}

NodeRef expand(NodeRef x, std::span<const int64_t> shape) {
  if (std::ranges::equal(x->shape(), shape)) return x;
  return make_node(Op::Expand, {&x, 1}, shape);
}

NodeRef reduce(Op op, const NodeRef& x, std::span<const int64_t> dims) {
  return make_node(op, {&x, 1}, dims);
}

NodeRef permute(const NodeRef& x, std::span<const int64_t> dims) {
  return make_node(Op::Permute, {&x, 1}, dims);
}

NodeRef slice(const NodeRef& x, std::span<const int64_t> starts, std::span<const int64_t> steps,
              std::span<const int64_t> sizes) {
  SmallVector<int64_t, 12> ints;
  for (const auto part : {starts, steps, sizes}) ints.append(part.data(), part.size());
  return make_node(Op::Slice, {&x, 1}, ints);
}

NodeRef flip(const NodeRef& x, std::span<const int64_t> dims) { return make_node(Op::Flip, {&x, 1}, dims); }

NodeRef pad(const NodeRef& x, const NodeRef& value, std::span<const int64_t> lo,
            std::span<const int64_t> hi) {
  SmallVector<int64_t, 12> ints;
  for (const auto part : {lo, hi}) ints.append(part.data(), part.size());
  const NodeRef inputs[] = {x, value};
  return make_node(Op::Pad, inputs, ints);
}

NodeRef cat(std::span<const NodeRef> parts, int64_t dim) { return make_node(Op::Cat, parts, {&dim, 1}); }

NodeRef strided(const NodeRef& x, std::span<const int64_t> sizes, std::span<const int64_t> strides,
                int64_t offset) {
  SmallVector<int64_t, 12> ints;
  for (const auto part : {sizes, strides}) ints.append(part.data(), part.size());
  ints.push_back(offset);
  return make_node(Op::Strided, {&x, 1}, ints);
}

NodeRef update(const NodeRef& base, const NodeRef& value, std::span<const int64_t> strides, int64_t offset) {
  SmallVector<int64_t, 12> ints;
  ints.append(strides.data(), strides.size());
  ints.push_back(offset);
  const NodeRef inputs[] = {base, value};
  return make_node(Op::Update, inputs, ints);
}

NodeRef gather(const NodeRef& x, const NodeRef& index, int64_t dim) {
  const NodeRef inputs[] = {x, index};
  return make_node(Op::Gather, inputs, {&dim, 1});
}

NodeRef scatter(Op op, const NodeRef& base, const NodeRef& index, const NodeRef& value, int64_t dim) {
  const NodeRef inputs[] = {base, index, value};
  return make_node(op, inputs, {&dim, 1});
}

NodeRef scan(Op op, const NodeRef& x, int64_t dim) { return make_node(op, {&x, 1}, {&dim, 1}); }

NodeRef sort(const NodeRef& x, int64_t dim, bool descending) {
  const int64_t ints[] = {dim, descending};
  return make_node(Op::Sort, {&x, 1}, ints);
}

NodeRef sort_part(const NodeRef& x, int64_t dim, bool descending, int64_t first, int64_t count) {
  const int64_t ints[] = {dim, descending, first, count};
  return make_node(Op::SortPart, {&x, 1}, ints);
}

NodeRef nonzero(const NodeRef& mask, int64_t count) { return make_node(Op::Nonzero, {&mask, 1}, {&count, 1}); }

NodeRef compress(const NodeRef& x, const NodeRef& mask, int64_t count) {
  const NodeRef inputs[] = {x, mask};
  return make_node(Op::Compress, inputs, {&count, 1});
}

NodeRef scatter_mask(const NodeRef& base, const NodeRef& mask, const NodeRef& value) {
  const NodeRef inputs[] = {base, mask, value};
  return make_node(Op::ScatterMask, inputs);
}

NodeRef dot(const NodeRef& a, const NodeRef& b) { return binary(Op::Dot, a, b); }

// --- whole graphs

std::vector<Node*> topological_order(std::span<const NodeRef> roots) {
  struct Visit {
    Node* node;
    size_t next;  // the operand to look at next
  };
  std::vector<Node*> order;
  std::vector<Visit> stack;
  NodeMap<char> seen;
  for (const NodeRef& root : roots) {
    if (seen.insert(root.get()).second) stack.push_back({root.get(), 0});
    while (!stack.empty()) {
      Visit& visit = stack.back();
      if (visit.next == visit.node->inputs().size()) {
        order.push_back(visit.node);
        stack.pop_back();
        continue;
      }
      Node* operand = visit.node->inputs()[visit.next++];
      if (seen.insert(operand).second) stack.push_back({operand, 0});
    }
  }
  return order;
}

Graph Graph::of(std::span<const NodeRef> outputs, std::string name) {
  Graph graph;
  graph.name = std::move(name);
  graph.outputs.assign(outputs.begin(), outputs.end());
  for (Node* node : topological_order(outputs)) {
    graph.nodes.emplace_back(node);
    if (node->op() == Op::Input) graph.inputs.emplace_back(node);
  }
  graph.names.resize(graph.nodes.size());
  return graph;
}

}  // namespace tenon::ir
