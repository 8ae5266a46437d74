// Nodes: making them, and whole graphs of them.
#include "ir/graph/graph.h"

#include <algorithm>
#include <mutex>
#include <optional>

#include "ir/base/fork.h"
#include "ir/graph/definitions.h"
#include "ir/graph/fold.h"
#include "ir/graph/graph_infer.h"
#include "ir/graph/graph_map.h"
#include "ir/graph/node_table.h"
#include "ir/graph/recipe.h"

namespace tenon::ir {

[[maybe_unused]] const bool nodes_held_over_fork = hold_over_fork(
    ForkOrder::Nodes, fork_lock<[]() -> RecursiveMutex& { return NodeTable::get().mutex; }>());

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

NodeRef folded(NodeTable& table, const NodeKey& key, const NodeType& type) {
  if (has_trait(key.op, TraitCommutes) && !NodeTable::in_order(key.inputs)) {
    const NodeRef swapped[2] = {key.inputs[1], key.inputs[0]};
    if (NodeRef simpler = fold(key.op, swapped, key.ints, type)) return simpler;
    NodeKey other = key;
    other.inputs = swapped;
    return table.find_or_create(other);
  }
  if (NodeRef simpler = fold(key.op, key.inputs, key.ints, type)) return simpler;
  return table.find_or_create(key);
}

NodeRef make_node(Op op, std::span<const NodeRef> inputs, std::span<const int64_t> ints, DType to,
                  Folding folding) {
  const NodeType type = infer(op, inputs, ints, to);
  NodeTable& table = NodeTable::get();
  const std::scoped_lock lock(table.mutex);
  const NodeKey key{op, type.dtype, infer_device(op, inputs, ints), 0, inputs, ints, type.shape, type.numel};
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

NodeRef make_like(const Node& node, std::span<const NodeRef> operands) {
  const bool same_types = std::ranges::equal(operands, node.inputs(), [](const NodeRef& operand, const Node* input) {
    return operand->dtype() == input->dtype() && operand->device() == input->device() && operand->shape() == input->shape();
  });
  if (!same_types || Tape::current) return make_node(node.op(), operands, node.ints(), node.dtype(), Folding::Off);
  NodeTable& table = NodeTable::get();
  const std::scoped_lock lock(table.mutex);
  return table.find_or_create({node.op(), node.dtype(), node.device(), 0, operands, node.ints(), node.shape(), node.numel()});
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
  seen.reserve(roots.size());
  order.reserve(roots.size());
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
  const std::vector<Node*> order = topological_order(outputs);
  graph.nodes.reserve(order.size());
  for (Node* node : order) {
    graph.nodes.emplace_back(node);
    if (node->op() == Op::Input) graph.inputs.emplace_back(node);
  }
  graph.names.resize(graph.nodes.size());
  return graph;
}

}  // namespace tenon::ir
