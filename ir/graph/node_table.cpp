// What nodes, references to them and definitions ask of the table of nodes.
#include "ir/graph/node_table.h"

#include <mutex>

#include "ir/base/fork.h"

namespace tenon::ir {

[[maybe_unused]] const bool nodes_held_over_fork =
    hold_over_fork(ForkOrder::Nodes, fork_lock<[]() -> RecursiveMutex& { return NodeTable::get().mutex; }>());

constinit const std::shared_ptr<Payload> Node::kNoPayload;

void NodeRef::destroy(Node* node) { NodeTable::destroy(node); }

void Node::materialise(std::shared_ptr<Payload> payload) { NodeTable::get().materialise(*this, std::move(payload)); }

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
  table.leave_pending(node);
  node.op_.store(Op::Input, std::memory_order_relaxed);
  node.volatile_.store(false, std::memory_order_relaxed);
}

Definition::~Definition() {
  if (!inputs_.empty()) NodeTable::drop({this, 1});
}

void drop(std::vector<Definition>& definitions) {
  NodeTable::drop(definitions);
  definitions.clear();
}

std::vector<KeptReferences> references_of_kept_definitions(uint64_t number) { return NodeTable::get().references_of_kept(number); }

std::unique_lock<RecursiveMutex> hold_graph() { return std::unique_lock(NodeTable::get().mutex); }

int64_t pending_count() { return NodeTable::get().pending.load(std::memory_order_relaxed); }

Node* next_pending(const Node& node) { return NodeTable::younger(node); }

NodeRef reference_to(Node& node) { return NodeTable::acquire(&node) ? NodeTable::adopt(&node) : NodeRef(); }

int64_t live_node_count() {
  NodeTable& table = NodeTable::get();
  const std::scoped_lock lock(table.mutex);
  return table.live;
}

}  // namespace tenon::ir
