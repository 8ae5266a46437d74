// The slow, obviously right executions: of a graph, node by node on host arrays, of a call as of one node, and of a kernel, element
// by element in the order that its reduction trees prescribe. They share no code with scheduling or emission.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "ir/call/work.h"
#include "ir/graph/graph.h"

namespace tenon::codegen {

struct HostTensor {
  ir::DType dtype = ir::DType::F32;
  ir::Dims shape;
  std::vector<std::byte> data;

  static HostTensor zeros(ir::DType dtype, std::span<const int64_t> shape);
  int64_t numel() const { return ir::element_count(shape); }
  ir::Constant get(int64_t flat) const;
  void set(int64_t flat, ir::Constant value);
};

// Values of the graph's outputs, given its inputs in the order of graph.inputs. Elementwise ops through
// ir::evaluate (f16/bf16: computed in float, rounded after each op); sums in the order of kernel.h's trees.
std::vector<HostTensor> interpret(const ir::Graph& graph, const std::vector<HostTensor>& inputs);

// Runs a kernel on host memory; `buffers` in kernel.buffers order, `scalars` in kernel.scalars order. Every access is
// checked against the buffer's size; throws IrError on one outside.
void interpret(const ir::Kernel& kernel, void* const* buffers, const uint64_t* scalars);

// Computes a call on host memory, likewise; what has no elements may be null. All operands are read before anything is written.
void interpret(const ir::Call& call, void* const* buffers, const uint64_t* scalars);
void interpret(const ir::Work& work, void* const* buffers, const uint64_t* scalars);

}  // namespace tenon::codegen
