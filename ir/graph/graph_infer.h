// The type and shape of a node from its operands: the one place that says which graphs are well formed.
#pragma once

#include <span>
#include <string>

#include "ir/graph/node.h"

namespace tenon::ir {

struct NodeType {
  DType dtype;
  Dims shape;
  int64_t numel;
};

// Called with the devices of two operands that differ, before IrError is thrown. The frontend's throws the Error of the public API.
extern void (*refuse_devices)(DeviceTag, DeviceTag);

// Takes any op but Input, Const and Iota. Throws IrError naming the op and the rule broken.
NodeType infer(Op op, std::span<const NodeRef> inputs, std::span<const int64_t> ints, DType to);

// Checks the shape of a leaf: no negative size, not too many elements, and a dim within it for Iota (-1 for
// others). Returns the number of elements.
int64_t check_leaf(Op op, std::span<const int64_t> shape, int64_t iota_dim);

// Where the result of an op on these operands lies: with them, but for a copy.
inline DeviceTag infer_device(Op op, std::span<const NodeRef> inputs, std::span<const int64_t> ints) {
  return op == Op::Copy ? static_cast<DeviceTag>(ints[0]) : inputs[0]->device();
}
// "f32[128,64]", with "@1" behind it on device 1.
std::string type_text(DType dtype, std::span<const int64_t> shape, DeviceTag device = 0);
std::string type_text(const Node& node);

}  // namespace tenon::ir
