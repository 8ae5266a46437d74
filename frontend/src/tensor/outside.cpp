// Reading memory that others may write: copies of what is small, and the smaller side of what is not.
#include "frontend/src/tensor/outside.h"

#include <cstring>

#include "ir/graph_map.h"
#include "runtime/device.h"

namespace tenon {
namespace {

// A copy of so many bytes takes about as long as recording an operation; an evaluation takes microseconds.
constexpr int64_t kCopiedBytes = 16 << 10;

// A part of an input, no larger than it: the least that has to be stored of it.
bool is_part(const ir::Node& node) {
  return ir::is_movement(node.op()) && node.inputs().size() == 1 && node.numel() <= node.inputs()[0]->numel();
}

// The volatile nodes beneath a value, operands first. Only those of the operation at hand: what was recorded
// before is settled.
std::vector<ir::Node*> volatile_nodes(const NodeRef& root) {
  struct Visit {
    ir::Node* node;
    size_t next;
  };
  std::vector<ir::Node*> order;
  std::vector<Visit> stack{{root.get(), 0}};
  ir::NodeMap<char> seen;
  seen.insert(root.get());
  while (!stack.empty()) {
    Visit& visit = stack.back();
    if (visit.next == visit.node->inputs().size()) {
      order.push_back(visit.node);
      stack.pop_back();
      continue;
    }
    ir::Node* operand = visit.node->inputs()[visit.next++];
    if (operand->reads_volatile() && seen.insert(operand).second) stack.push_back({operand, 0});
  }
  return order;
}

// Where the operation touches the memory: the largest parts of inputs that other nodes read.
std::vector<ir::Node*> parts_read(const std::vector<ir::Node*>& order) {
  std::vector<ir::Node*> parts;
  ir::NodeMap<bool> is_read;
  for (ir::Node* node : order) {
    is_read[node] = node->op() == Op::Input || (is_part(*node) && is_read[node->inputs()[0]]);
  }
  ir::NodeMap<char> taken;
  for (const ir::Node* node : order) {
    if (is_read[node]) continue;
    for (ir::Node* operand : node->inputs()) {
      if (operand->reads_volatile() && is_read[operand] && taken.insert(operand).second) parts.push_back(operand);
    }
  }
  return parts;
}

// The value over copies of these parts.
NodeRef over_copies(const std::vector<ir::Node*>& order, const std::vector<ir::Node*>& parts) {
  std::vector<NodeRef> moved;
  ir::NodeMap<NodeRef> fresh;
  for (ir::Node* part : parts) {
    if (part->op() == Op::Input)
      fresh[part] = copy_of(*part, *runtime::buffer_of(*part));
    else
      moved.emplace_back(part);
  }
  if (!moved.empty()) evaluate_nodes(moved);
  // New inputs for them too: the nodes above are found again in the table as long as somebody holds them.
  for (const NodeRef& part : moved) fresh[part.get()] = with_buffer(*part, runtime::buffer_of(*part));
  for (ir::Node* node : order) {
    if (fresh.contains(node) || !node->reads_volatile() || node->op() == Op::Input) continue;
    std::vector<NodeRef> operands;
    for (ir::Node* operand : node->inputs()) {
      const NodeRef* copy = fresh.find(operand);
      operands.push_back(copy ? *copy : NodeRef(operand));
    }
    fresh[node] = ir::make_node(node->op(), operands, node->ints(), node->dtype());
  }
  return fresh[order.back()];
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

bool copied_when_read(const TensorImpl& t) { return t.numel() * ir::item_size(t.dtype()) <= kCopiedBytes; }

NodeRef snapshot(const TensorImpl& t, const runtime::Buffer& buffer) {
  const int64_t size = ir::item_size(t.dtype());
  auto own = allocate_buffer(static_cast<size_t>(t.numel() * size));
  const auto* memory = static_cast<const unsigned char*>(buffer.data());
  if (t.numel() > 0) gather_elements(t, memory + t.offset() * size, static_cast<unsigned char*>(own->data()));
  return ir::make_input(t.dtype(), t.sizes(), std::move(own));
}

NodeRef settled(NodeRef value) {
  if (!value->reads_volatile()) return value;
  if (value->op() == Op::Input) return copy_of(*value, *runtime::buffer_of(*value));
  if (value->numel() == 0) return ir::make_const({value->dtype(), 0}, value->shape(), value->device());
  const std::vector<ir::Node*> order = volatile_nodes(value);
  const std::vector<ir::Node*> parts = parts_read(order);
  size_t bytes = 0;
  for (const ir::Node* part : parts) bytes += byte_count(*part);
  if (!parts.empty() && bytes < byte_count(*value)) return over_copies(order, parts);
  evaluate_nodes({&value, 1});
  return value;
}

}  // namespace tenon
