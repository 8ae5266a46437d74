// Where the elements of a view, of a reduction's operand or of a call's operand lie. Private to passes/fusion/.
#pragma once

#include <vector>

#include "ir/base/small_vector.h"
#include "ir/graph/graph.h"
#include "ir/index/index.h"
#include "ir/kernel/kernel.h"
#include "passes/fusion/fused.h"

namespace tenon::passes::fusion {

using ir::AxisKind, ir::DType, ir::Guard, ir::Index, ir::Level, ir::Node, ir::Op, ir::Value;  // the words of the walk

// The position of a node's element in terms of a group's axes, one expression a dim.
using Map = SmallVector<Index, 4>;

// What may stand where an operand is read.
enum class Access : uint8_t {
  Value,    // its value, computed in place or loaded
  Guarded,  // a load under a guard
  Picked,   // a load at a computed position
  Window,   // of overlapping windows: a load, or that of a Pad
  Left,     // operand of a contraction: what the schedule accepts
  Right,
  Whole,  // its buffer, anywhere in it
};

// The map of input number `input` of a pure view node, given the map of the view.
Map through_view(const Node& view, const Map& map);
inline bool is_view(Op op) { return ir::is_movement(op) && op != Op::Pad && op != Op::Cat; }
// The node that views show, and the map of its element, given that of a view of it; itself if it is none.
Node* behind_views(Node* node);
Node* behind_views(Node* node, Map& map);
// Whether a Strided view has an element of its operand in more than one place.
bool overlaps(const Node& strided);

// The reduced dims of a reduction as its tree sees them: dims of size 1 do not count, adjacent reduced dims
// are one. The tree is therefore a function of the logical shape alone.
struct ReduceShape {
  std::vector<std::vector<int>> runs;  // each run: adjacent reduced dims of the input, outermost first
  std::vector<int64_t> extents;        // of the runs; {1} if every reduced dim has size 1
  ir::ReduceTree tree;
};
ReduceShape reduce_shape(const Node& reduce);
// A reduction or contraction over no elements: a constant, the identity.
inline bool is_empty_reduce(const Node& node) {
  return (ir::is_reduce(node.op()) || node.op() == Op::Dot) && node.inputs()[0]->numel() == 0;
}
// A scan along a dim of size 1 is its operand.
inline bool is_empty_scan(const Node& scan) { return scan.shape()[scan.ints()[0]] == 1; }

// An Update that writes something; one that writes nothing is its base.
inline bool is_update(const Node& node) { return node.op() == Op::Update && node.inputs()[1]->numel() > 0; }
// Where in its base an Update stores the value's element at `map`.
Index update_place(const Node& update, const Map& map);

// The node whose buffer holds the elements of an operand that is in memory: a reshape has those of its source.
inline Node* buffer_behind(Node* operand) {
  while (operand->op() == Op::Reshape) operand = operand->inputs()[0];
  return operand;
}
// Where an operand of a call lies: its element at the coordinates c is at offset + sum(c_d * strides_d) of `buffer`. Views are looked
// through where the call can read through them:
//
//   a cat          as long as neighbours stay near each other; a part that is a Const is in no buffer, and stands for one element
//   an attention   where neighbours in the last dim are neighbours in memory
//   a product      where its matrices lie transposed
//   a scatter      its index through an expand, so that one index serves a whole row; unless another operand is that node too
struct OperandSource {
  Node* buffer;
  int64_t offset;
  ir::Dims strides;  // 0 along dims of one element
};
OperandSource operand_source(const Node& call, Node* operand);
// Whether a Cat is better copied together than read by guarded loads.
bool copies_parts(const Node& cat, const FusionLimits& limits);

// Where a Gather reads: the element at `flat`, a function of x's coordinates (axis d for dim d) that goes along the
// gathered one in equal steps. Views of x are looked through as far as that holds, else x itself is a buffer.
struct GatherSource {
  Node* buffer;
  Index flat;
  bool through_views;  // false: the buffer is that of x
};
GatherSource gather_source(const Node& gather);

}  // namespace tenon::passes::fusion
