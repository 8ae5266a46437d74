// Reading memory that others may write: copies of what is small, and the smaller side of what is not.
#include "frontend/src/tensor/outside.h"

#include <cstring>

#include "frontend/src/tensor/context.h"
#include "frontend/src/tensor/pending.h"
#include "ir/graph/graph_map.h"
#include "ir/graph/recipe.h"
#include "runtime/device/device.h"

namespace tenon {
namespace {

// A part of an input, no larger than it: the least that has to be stored of it.
bool is_part(const ir::Node& node) {
  return ir::is_movement(node.op()) && node.inputs().size() == 1 && node.numel() <= node.inputs()[0]->numel();
}

// The volatile nodes beneath a value, operands first. Only those of the operation at hand: what was recorded
// before is settled. While the graph is held: a thread that records the same operation has the same nodes, and may just
// be computing them.
std::vector<NodeRef> volatile_nodes(const NodeRef& root) {
  struct Visit {
    ir::Node* node;
    size_t next;
  };
  std::vector<NodeRef> order;
  std::vector<Visit> stack{{root.get(), 0}};
  ir::NodeMap<char> seen;
  seen.insert(root.get());
  while (!stack.empty()) {
    Visit& visit = stack.back();
    if (visit.next == visit.node->inputs().size()) {
      order.emplace_back(visit.node);
      stack.pop_back();
      continue;
    }
    ir::Node* operand = visit.node->inputs()[visit.next++];
    if (operand->reads_volatile() && seen.insert(operand).second) stack.push_back({operand, 0});
  }
  return order;
}

// Where the operation touches the memory: the largest parts of inputs that other nodes read. While the graph is held.
std::vector<NodeRef> parts_read(const std::vector<NodeRef>& order) {
  std::vector<NodeRef> parts;
  ir::NodeMap<bool> is_read;
  for (const NodeRef& node : order) {
    is_read[node.get()] = node->op() == Op::Input || (is_part(*node) && is_read[node->inputs()[0]]);
  }
  ir::NodeMap<char> taken;
  for (const NodeRef& node : order) {
    if (is_read[node.get()]) continue;
    for (ir::Node* operand : node->inputs()) {
      if (operand->reads_volatile() && is_read[operand] && taken.insert(operand).second) parts.emplace_back(operand);
    }
  }
  return parts;
}

// The value over copies of these parts. What another thread has taken to compute it meanwhile stays as it is.
NodeRef over_copies(const std::vector<NodeRef>& order, const std::vector<NodeRef>& parts) {
  std::vector<NodeRef> moved;
  ir::NodeMap<NodeRef> fresh;
  for (const NodeRef& part : parts) {
    if (part->reads_volatile() && part->op() == Op::Input) fresh[part.get()] = copy_of(*part, *runtime::buffer_of(*part));
    else moved.push_back(part);
  }
  if (!moved.empty()) evaluate_nodes(moved);
  // New inputs for them too: the nodes above are found again in the table as long as somebody holds them.
  for (const NodeRef& part : moved) fresh[part.get()] = with_buffer(*part, runtime::buffer_of(*part));
  const auto held = ir::hold_graph();
  for (const NodeRef& node : order) {
    if (fresh.contains(node.get()) || !node->reads_volatile() || node->op() == Op::Input) continue;
    std::vector<NodeRef> operands;
    for (ir::Node* operand : node->inputs()) {
      const NodeRef* copy = fresh.find(operand);
      operands.push_back(copy ? *copy : NodeRef(operand));
    }
    fresh[node.get()] = ir::make_node(node->op(), operands, node->ints(), node->dtype());
  }
  const NodeRef* value = fresh.find(order.back().get());
  return value ? *value : order.back();
}

}  // namespace

NodeRef with_buffer(const ir::Node& like, std::shared_ptr<runtime::Buffer> buffer) {
  return ir::make_input(like.dtype(), like.shape(), std::move(buffer), like.device());
}

NodeRef copy_of(const ir::Node& node, const runtime::Buffer& buffer) {
  if (node.device() != runtime::kHostTag) return with_buffer(node, copy_on_device(buffer));
  auto own = allocate_buffer(byte_count(node));
  if (byte_count(node) > 0) std::memcpy(own->data(), buffer.data(), byte_count(node));
  return with_buffer(node, std::move(own));
}

NodeRef unexposed(NodeRef value) {
  if (value->op() != Op::Input) return value;
  const auto buffer = runtime::buffer_of(*value);
  return buffer && buffer->exposed ? copy_of(*value, *buffer) : value;
}

namespace {
NodeRef settled(NodeRef value) {
  if (!value->reads_volatile()) return value;
  std::vector<NodeRef> order, parts;
  {
    const auto held = ir::hold_graph();
    if (!value->reads_volatile()) return value;
    order = volatile_nodes(value);
    parts = parts_read(order);
  }
  if (order.size() == 1 && order[0]->reads_volatile() && order[0]->op() == Op::Input) return copy_of(*value, *runtime::buffer_of(*value));
  if (value->numel() == 0) return ir::make_const({value->dtype(), 0}, value->shape(), value->device());
  size_t bytes = 0;
  for (const NodeRef& part : parts) bytes += byte_count(*part);
  if (!parts.empty() && bytes < byte_count(*value)) return over_copies(order, parts);
  evaluate_nodes({&value, 1});
  return value;
}
}  // namespace

NodeRef storable(NodeRef value) {
  const ir::PausedTape tape;  // the copies are no steps
  if (!tape.get()) return settled(unexposed(std::move(value)));
  NodeRef taken = settled(unexposed(value));
  if (!(taken == value)) tape.get()->same(taken, value);
  return taken;
}

}  // namespace tenon
