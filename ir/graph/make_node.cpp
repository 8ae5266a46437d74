// Making nodes: the operation is checked, its type inferred, and the simplest node that gives the same bits is found or made. A tape that
// listens is told what was asked for.
#include <algorithm>
#include <mutex>

#include "ir/graph/fold.h"
#include "ir/graph/graph.h"
#include "ir/graph/graph_infer.h"
#include "ir/graph/node_table.h"
#include "ir/graph/recipe.h"

namespace tenon::ir {

NodeRef make_input(DType dtype, std::span<const int64_t> shape, std::shared_ptr<Payload> payload, DeviceTag device) {
  const int64_t count = check_leaf(Op::Input, shape, -1);
  const Dims dims(shape);
  NodeTable& table = NodeTable::get();
  const std::scoped_lock lock(table.mutex);
  NodeRef node = NodeTable::adopt(table.create({Op::Input, dtype, device, 0, {}, {}, dims, count}));
  if (payload) NodeTable::store(*node, std::move(payload));
  return node;
}

NodeRef make_volatile_input(DType dtype, std::span<const int64_t> shape, std::shared_ptr<Payload> payload, DeviceTag device) {
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
    if (key.given.empty()) {
      NodeRef swapped[2] = {key.inputs[1], key.inputs[0]};
      NodeKey other = key;
      other.inputs = other.given = swapped;
      return folded(table, other, type);
    }
    std::swap(key.given[0], key.given[1]);
  }
  if (NodeRef simpler = fold(key.op, key.inputs, key.ints, type)) return simpler;
  return table.find_or_create(key);
}

namespace {

NodeRef make(Op op, std::span<const NodeRef> inputs, std::span<NodeRef> given, std::span<const int64_t> ints, DType to, Folding folding) {
  const NodeType type = infer(op, inputs, ints, to);
  NodeTable& table = NodeTable::get();
  const std::scoped_lock lock(table.mutex);
  const PausedTape tape;       // what a rule makes is no step
  if (tape.get()) given = {};  // the tape looks at them afterwards
  const NodeKey key{op, type.dtype, infer_device(op, inputs, ints), 0, inputs, ints, type.shape, type.numel, given};
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

}  // namespace

NodeRef make_node(Op op, std::span<const NodeRef> inputs, std::span<const int64_t> ints, DType to, Folding folding) {
  return make(op, inputs, {}, ints, to, folding);
}

NodeRef make_node_given(Op op, std::span<NodeRef> operands, std::span<const int64_t> ints, DType to) {
  return make(op, operands, operands, ints, to, Folding::On);
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

}  // namespace tenon::ir
