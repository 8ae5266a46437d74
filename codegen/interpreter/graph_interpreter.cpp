// Runs a graph node by node on host arrays, in topological order: each node's value by ir/graph/graph_evaluate.h,
// kept until its last reader has run; and a call. Also the host arrays themselves.
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
    throw ir::IrError("interpret: an input is " + ir::type_text(tensor.dtype, tensor.shape) + ", the graph wants " + ir::type_text(node));
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

ir::Constant HostTensor::get(int64_t flat) const { return {dtype, read_bits(data.data(), dtype, static_cast<size_t>(flat))}; }

void HostTensor::set(int64_t flat, ir::Constant value) { write_bits(data.data(), dtype, static_cast<size_t>(flat), value.bits); }

std::vector<HostTensor> interpret(const ir::Graph& graph, const std::vector<HostTensor>& inputs) {
  if (inputs.size() != graph.inputs.size()) throw ir::IrError("interpret: the number of inputs is not the graph's");
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
  for (const ir::NodeRef& output : graph.outputs) results.push_back(output_tensor(*output, values[output.get()].bits));
  return results;
}

namespace {

// f(place): of each element of a view, in row-major order.
template <typename F>
void each_place(const ir::View& view, const ir::Dims& shape, const F& f) {
  const int64_t count = ir::element_count(shape);
  for (int64_t e = 0; e < count; ++e) {
    int64_t place = view.offset, rest = e;
    for (size_t d = shape.size(); d-- > 0; rest /= shape[d]) place += rest % shape[d] * view.strides[d];
    f(static_cast<size_t>(place));
  }
}

}  // namespace

void interpret(const ir::Call& call, void* const* buffers, const uint64_t* scalars) {
  std::vector<ir::ElementBits> values(call.operands.size());
  std::vector<const ir::ElementBits*> operands;
  for (size_t i = 0; i < values.size(); ++i) {
    const ir::View& view = call.operands[i];
    const ir::Node& operand = *call.node().inputs()[i];
    each_place(view, operand.shape(), [&](size_t place) {
      values[i].push_back(view.scalar >= 0 ? scalars[view.scalar] : read_bits(buffers[view.buffer], operand.dtype(), place));
    });
    operands.push_back(&values[i]);
  }
  std::vector<ir::ElementBits> results;
  for (const ir::NodeRef& result : call.results) results.push_back(ir::evaluate_node(*result, operands));
  for (size_t k = 0; k < results.size(); ++k) {
    auto bits = results[k].begin();
    const ir::Node& result = *call.results[k];
    each_place(call.stored[k], result.shape(),
               [&](size_t place) { write_bits(buffers[call.stored[k].buffer], result.dtype(), place, *bits++); });
  }
}

void interpret(const ir::Work& work, void* const* buffers, const uint64_t* scalars) {
  std::visit([&](const auto& of) { interpret(of, buffers, scalars); }, work);
}

}  // namespace tenon::codegen
