// A node of the graph: an operation on other nodes, or a value. It is immutable, but for one thing: an evaluation takes its definition
// and gives it a value. Nodes are counted; equal ones are one (node_table.h), and graph.h makes them. Every function is thread-safe.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "ir/base/mutex.h"
#include "ir/op/ops.h"
#include "ir/op/types.h"

namespace tenon::ir {

class Node;

// A counted reference to a node. Dropping the last one frees the node and, iteratively, whatever only it kept
// alive.
class NodeRef {
 public:
  NodeRef() = default;
  inline explicit NodeRef(Node* node);
  NodeRef(const NodeRef& other) : NodeRef(other.node_) {}
  NodeRef(NodeRef&& other) noexcept : node_(std::exchange(other.node_, nullptr)) {}
  NodeRef& operator=(NodeRef other) noexcept {
    std::swap(node_, other.node_);
    return *this;
  }
  inline ~NodeRef();

  Node* get() const { return node_; }
  Node* operator->() const { return node_; }
  Node& operator*() const { return *node_; }
  explicit operator bool() const { return node_ != nullptr; }
  friend bool operator==(const NodeRef& a, const NodeRef& b) { return a.node_ == b.node_; }

 private:
  friend struct NodeTable;
  static void destroy(Node* node);  // whose last reference this is, or was
  Node* node_ = nullptr;
};

// What a materialised node holds; the runtime derives its buffers from it. Opaque here.
struct Payload {
  virtual ~Payload() = default;
};

// What a node computes, taken from it while an evaluation computes that, in two steps: other threads may record on the node
// meanwhile, and see an Input without a payload, so no rule looks through it at operands whose memory is being reused. Then
// the node gets its payload (Node::store), or its definition back.
class Definition {
 public:
  explicit Definition(Node& node);
  Definition(Definition&&) noexcept = default;
  Definition& operator=(Definition&&) = delete;
  ~Definition();  // drops them, iteratively

 private:
  friend struct NodeTable;
  Op op_;
  bool volatile_, interned_;
  uint64_t bits_;
  Dims ints_;
  SmallVector<Node*, 3> inputs_;
};

// Those that nodes keep under numbers up to `last`, taken from them; they are to die while no lock is held.
[[nodiscard]] std::vector<Definition> take_kept_definitions(uint64_t last);
// The same ones go back to their nodes, which are pending then, but for nodes that `stays` names: these lose them.
// Must not run concurrently with a traversal or an evaluation.
[[nodiscard]] std::vector<Definition> give_back_kept_definitions(uint64_t last, const std::function<bool(const Node&)>& stays);

class Node {
 public:
  Op op() const { return op_.load(std::memory_order_relaxed); }
  DType dtype() const { return dtype_; }
  DeviceTag device() const { return device_; }
  const Dims& shape() const { return shape_; }
  int rank() const { return static_cast<int>(shape_.size()); }
  int64_t numel() const { return numel_; }
  const SmallVector<Node*, 3>& inputs() const { return inputs_; }  // owned by this node
  const Dims& ints() const { return ints_; }                       // attributes; ops.def says what they mean
  uint64_t bits() const { return bits_; }                          // Const: the element
  uint64_t id() const { return id_; }                              // creation order; operands have smaller ids
  // Decided by the operation, which may be asked for while another thread takes the operands to compute them.
  bool is_leaf() const { return info(op()).cls == OpClass::Leaf; }
  // An Input of volatile memory, or computed from one: what this node gives depends on when it is computed.
  bool reads_volatile() const { return volatile_.load(std::memory_order_relaxed); }
  uint32_t references() const { return refs_.load(std::memory_order_relaxed); }  // NodeRefs and readers

  // The tensor behind an Input; null for a placeholder in IR text, for what is being computed, and for every other op.
  const std::shared_ptr<Payload>& payload() const { return stored_.load(std::memory_order_acquire) ? payload_ : kNoPayload; }

  // How many user handles hold this node. A held node inside an evaluated expression becomes an extra output.
  std::atomic<int32_t> holders{0};
  // How many gradients still to come read its value. Where it is computed, so much is stored that they need not compute it
  // again at any cost.
  std::atomic<int32_t> wanted{0};

  // Turns a computed node into an Input that owns `payload`, in place, dropping its operands (iteratively).
  // Readers of the node keep it. Must not run concurrently with a traversal that can reach this node.
  void materialise(std::shared_ptr<Payload> payload);

  void store(std::shared_ptr<Payload> payload);  // in a node whose definition was taken
  void give_back(Definition definition);
  // Keeps the definition with a stored node under this number, as long as the node lives, until it is forgotten or
  // given back (below).
  void keep(Definition definition, uint64_t number);

  // Scratch for one traversal at a time, under the caller's lock.
  uint64_t mark = 0;
  int32_t mark_value = 0;

 private:
  friend class NodeRef;
  friend class Definition;
  friend struct NodeTable;
  Node() = default;

  struct Kept;

  static const std::shared_ptr<Payload> kNoPayload;
  std::atomic<uint32_t> refs_{0};
  std::atomic<Op> op_{Op::Input};  // it and the next two are read without a lock, while the node may be given a value
  DType dtype_ = DType::F32;
  DeviceTag device_ = 0;
  bool interned_ = false;
  std::atomic<bool> volatile_{false};
  std::atomic<bool> stored_{false};  // payload_ is there to be read
  uint64_t hash_ = 0;
  uint64_t id_ = 0;
  uint64_t bits_ = 0;
  int64_t numel_ = 0;
  Dims shape_;
  Dims ints_;
  SmallVector<Node*, 3> inputs_;
  std::shared_ptr<Payload> payload_;
  Node* link_ = nullptr;                        // the next of a list of nodes about to be freed
  Node *older_ = nullptr, *younger_ = nullptr;  // of the pending nodes
  Kept* kept_ = nullptr;                        // its definition, if that is kept
};

inline NodeRef::NodeRef(Node* node) : node_(node) {
  if (node_) node_->refs_.fetch_add(1, std::memory_order_relaxed);
}
inline NodeRef::~NodeRef() {
  if (node_ && (node_->references() == 1 || node_->refs_.fetch_sub(1, std::memory_order_acq_rel) == 1)) destroy(node_);
}

// While it lives no other thread makes, folds or frees a node, or gives one its value.
[[nodiscard]] std::unique_lock<RecursiveMutex> hold_graph();
// While the graph is held: the next younger node that is still to be computed, whoever made it; null behind the last one.
Node* next_pending(const Node& node);
NodeRef reference_to(Node& node);  // null if nobody refers to it any more, and it is about to be freed

int64_t live_node_count();  // nodes alive in the process, for leak tests

// Drops them and clears the vector, which keeps its memory: what only they kept alive dies together. Call without a lock.
void drop(std::vector<Definition>& definitions);

// Nodes that keep a definition under a number, and how many of the references to each go as soon as all of these are dropped. Until
// then those mean nothing: who computes one of these nodes again computes all of them again. For a caller that holds the graph
// (ir::hold_graph).
struct KeptReferences {
  Node* node;
  uint32_t count;
};
std::vector<KeptReferences> references_of_kept_definitions(uint64_t number);

int64_t pending_count();  // nodes of the process that are still to be computed

}  // namespace tenon::ir
