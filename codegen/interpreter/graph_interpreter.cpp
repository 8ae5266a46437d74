// Runs a graph node by node on host arrays, in topological order: each node's value by ir/graph/graph_evaluate.h,
// kept until its last reader has run. Also the host arrays themselves.
#include <cstring>

#include "codegen/interpreter/interpreter.h"
#include "ir/graph/graph_evaluate.h"
#include "ir/graph/graph_infer.h"
#include "ir/graph/graph_map.h"

namespace tenon::codegen {
namespace {

struct Value {
  ir::ElementBits bits;
  int64_t readers = 0;  // operand positions and outputs that still need it
};

ir::ElementBits input_bits(const ir::Node& node, const HostTensor& tensor) {
  if (tensor.dtype != node.dtype() || !(tensor.shape == node.shape())) {
    throw ir::IrError("interpret: an input is " + ir::type_text(tensor.dtype, tensor.shape) +
                      ", the graph wants " + ir::type_text(node));
  }
  ir::ElementBits bits(static_cast<size_t>(tensor.numel()));
  for (size_t i = 0; i < bits.size(); ++i) bits[i] = tensor.get(static_cast<int64_t>(i)).bits;
  return bits;
}

// Elements are read and written as little-endian integers of their size.
uint64_t read_bits(const void* data, ir::DType dtype, size_t flat) {
  const size_t size = ir::item_size(dtype);
  uint64_t bits = 0;
  std::memcpy(&bits, static_cast<const std::byte*>(data) + flat * size, size);
  return bits;
}

void write_bits(void* data, ir::DType dtype, size_t flat, uint64_t bits) {
  const size_t size = ir::item_size(dtype);
  std::memcpy(static_cast<std::byte*>(data) + flat * size, &bits, size);
}

HostTensor output_tensor(const ir::Node& node, const ir::ElementBits& bits) {
  HostTensor tensor = HostTensor::zeros(node.dtype(), node.shape());
  for (size_t i = 0; i < bits.size(); ++i) tensor.set(static_cast<int64_t>(i), {node.dtype(), bits[i]});
  return tensor;
}

}  // namespace

HostTensor HostTensor::zeros(ir::DType dtype, std::span<const int64_t> shape) {
  const int64_t bytes = ir::element_count(shape) * ir::item_size(dtype);
  return {dtype, ir::Dims(shape), std::vector<std::byte>(static_cast<size_t>(bytes))};
}

ir::Constant HostTensor::get(int64_t flat) const {
  return {dtype, read_bits(data.data(), dtype, static_cast<size_t>(flat))};
}

void HostTensor::set(int64_t flat, ir::Constant value) {
  write_bits(data.data(), dtype, static_cast<size_t>(flat), value.bits);
}

std::vector<HostTensor> interpret(const ir::Graph& graph, const std::vector<HostTensor>& inputs) {
  if (inputs.size() != graph.inputs.size())
    throw ir::IrError("interpret: the number of inputs is not the graph's");
  const std::vector<ir::Node*> order = ir::topological_order(graph.outputs);
  ir::NodeMap<Value> values;
  ir::NodeMap<size_t> parameters;
  for (size_t i = 0; i < inputs.size(); ++i) parameters[graph.inputs[i].get()] = i;
  for (ir::Node* node : order) {
    for (ir::Node* operand : node->inputs()) ++values[operand].readers;
    values.insert(node);
  }
  for (const ir::NodeRef& output : graph.outputs) ++values[output.get()].readers;

  for (ir::Node* node : order) {
    if (node->op() == ir::Op::Input) {
      const size_t* parameter = parameters.find(node);
      if (!parameter) throw ir::IrError("interpret: an input is not among the graph's parameters");
      values[node].bits = input_bits(*node, inputs[*parameter]);
      continue;
    }
    std::vector<const ir::ElementBits*> operands;
    for (ir::Node* operand : node->inputs()) operands.push_back(&values.find(operand)->bits);
    values[node].bits = ir::evaluate_node(*node, operands);
    for (ir::Node* operand : node->inputs()) {
      Value& value = values[operand];
      if (--value.readers == 0) value.bits = {};
    }
  }
  std::vector<HostTensor> results;
  for (const ir::NodeRef& output : graph.outputs)
    results.push_back(output_tensor(*output, values[output.get()].bits));
  return results;
}

namespace {

// An operand of a routine: a placeholder, whose elements are in memory, or views of one.
ir::ElementBits operand_bits(const ir::Node& operand, const void* data) {
  std::vector<const ir::Node*> views;
  const ir::Node* node = &operand;
  for (; node->op() != ir::Op::Input; node = node->inputs()[0]) views.push_back(node);
  ir::ElementBits bits(static_cast<size_t>(node->numel()));
  for (size_t e = 0; e < bits.size(); ++e) bits[e] = read_bits(data, node->dtype(), e);
  for (; !views.empty(); views.pop_back()) {
    const ir::ElementBits* from[] = {&bits};
    bits = ir::evaluate_node(*views.back(), from);
  }
  return bits;
}

}  // namespace

void interpret(const ir::Node& node, void* const* buffers) {
  const size_t count = node.inputs().size();
  std::vector<ir::ElementBits> values(count);
  std::vector<const ir::ElementBits*> operands;
  for (size_t i = 0; i < count; ++i) {
    if (node.inputs()[i]->numel() > 0) values[i] = operand_bits(*node.inputs()[i], buffers[i]);
    operands.push_back(&values[i]);
  }
  const ir::ElementBits result = ir::evaluate_node(node, operands);
  for (size_t e = 0; e < result.size(); ++e) write_bits(buffers[count], node.dtype(), e, result[e]);
}

}  // namespace tenon::codegen
