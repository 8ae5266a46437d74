// Between host tensors and nodes with buffers, and options that go back to what they were.
#pragma once

#include <cstring>
#include <unordered_map>

#include "codegen/interpreter/interpreter.h"
#include "ir/graph/graph.h"
#include "runtime/base/options.h"
#include "runtime/history/history.h"
#include "runtime/memory/buffer.h"
#include "runtime/report/report.h"
#include "runtime/run/evaluate.h"

namespace tenon::test {

using ir::DType;
using ir::NodeRef;
using ir::Op;
using Shape = std::vector<int64_t>;

// Sets options for one test; without the disk cache unless the test switches it on.
struct WithOptions {
  runtime::Options before = runtime::options();
  template <typename F>
  explicit WithOptions(F&& change) {
    runtime::Options o = before;
    o.disk_cache = false;
    change(o);
    runtime::set_options(o);
  }
  WithOptions() : WithOptions([](runtime::Options&) {}) {}
  ~WithOptions() { runtime::set_options(before); }
  WithOptions(const WithOptions&) = delete;
};

inline ir::NodeRef input_of(const codegen::HostTensor& t) {
  auto buffer = runtime::Buffer::allocate(t.data.size());
  if (!t.data.empty()) std::memcpy(buffer->data(), t.data.data(), t.data.size());
  return ir::make_input(t.dtype, t.shape, buffer);
}

inline ir::NodeRef input_of(std::span<const int64_t> shape, const std::function<double(int64_t)>& value, ir::DType dtype = ir::DType::F32) {
  codegen::HostTensor t = codegen::HostTensor::zeros(dtype, shape);
  for (int64_t i = 0; i < t.numel(); ++i) t.set(i, ir::constant(dtype, value(i)));
  return input_of(t);
}

inline codegen::HostTensor value_of(const ir::Node& node) {
  codegen::HostTensor t = codegen::HostTensor::zeros(node.dtype(), node.shape());
  std::shared_ptr<runtime::Buffer> buffer = runtime::buffer_of(node);
  if (!buffer || buffer->bytes() < t.data.size()) throw std::runtime_error("the node has no buffer of its size");
  if (!t.data.empty()) std::memcpy(t.data.data(), buffer->data(), t.data.size());
  return t;
}

inline double element(const ir::NodeRef& node, int64_t at = 0) { return ir::to_double(value_of(*node).get(at)); }

inline ir::NodeRef scalar(double value, std::span<const int64_t> shape, ir::DType dtype = ir::DType::F32) {
  return ir::make_const(ir::constant(dtype, value), shape);
}

inline void evaluate(std::initializer_list<ir::NodeRef> roots) {
  runtime::evaluate(std::span<const ir::NodeRef>(roots.begin(), roots.size()));
}

// The outputs of a graph with its placeholders replaced by tensors that have buffers.
inline std::vector<ir::NodeRef> bind(const ir::Graph& graph, const std::vector<codegen::HostTensor>& inputs) {
  std::unordered_map<const ir::Node*, ir::NodeRef> bound;
  for (size_t i = 0; i < graph.inputs.size(); ++i) bound[graph.inputs[i].get()] = input_of(inputs[i]);
  for (ir::Node* node : ir::topological_order(graph.outputs)) {
    if (bound.count(node) != 0) continue;
    if (node->is_leaf()) {
      bound[node] = ir::NodeRef(node);
      continue;
    }
    std::vector<ir::NodeRef> operands;
    for (ir::Node* input : node->inputs()) operands.push_back(bound.at(input));
    bound[node] = ir::make_node(node->op(), operands, node->ints(), node->dtype(), ir::Folding::Off);
  }
  std::vector<ir::NodeRef> outputs;
  for (const ir::NodeRef& output : graph.outputs) {
    ir::NodeRef root = bound.at(output.get());
    // Materialising a const would turn it into an input for every graph that shares it.
    if (root->is_leaf() && root->op() != ir::Op::Input) {
      root = ir::make_node(ir::Op::Reshape, {&root, 1}, root->shape(), root->dtype(), ir::Folding::Off);
    }
    outputs.push_back(root);
  }
  return outputs;
}

}  // namespace tenon::test
