// The unit that fusion grows: one iteration space and the nodes computed in it. Private to
// passes/fusion/.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "ir/graph.h"
#include "ir/index.h"
#include "ir/kernel.h"
#include "passes/fusion/fusion.h"

namespace tenon::passes::fusion {

// The position of a node's element in terms of a group's axes, one expression a dim.
using Map = std::vector<ir::Index>;

struct GroupAxis {
  int64_t extent;
  ir::AxisKind kind;
};

// What a reader takes in place of a load: anything, a Pad (a guarded load), or nothing.
enum class Access : uint8_t { Inline, Guarded, Memory };

// A wish of a group for the elements of a node at a map.
struct Request {
  int group;
  Map map;
  const ir::Node* consumer;
  Access access;
};

// A node computed in the group, at one map; `stored` if its value leaves the kernel.
struct Member {
  ir::Node* node;
  Map map;
  bool stored;
};

struct Group {
  std::vector<GroupAxis> axes;  // creation order: the root's dims, then inner or contract axes
  std::vector<Member> members;  // consumers first, as the walk meets them
  std::unordered_map<const ir::Node*, size_t> index;  // node -> members
  std::unordered_map<const ir::Node*, std::vector<Request>> asked;  // by node, in the order of asking
  std::optional<ir::ReduceTree> tree;                 // of its reductions
  std::vector<int> inner;                             // inner axes in reduction order
  int contract = -1;                                  // the contract axis of a Dot
  bool update = false;      // the root is an Update, over the space of its value
  bool from_memory = false;  // its value is read from a buffer of its own
  bool maps_only = false;    // reads what it writes, so it takes no reductions
  int serial = -1;                                    // the axis along which its scans run
  bool routine = false;  // one node, computed by a routine of the library; it has no axes
  int reductions = 0;
  int cost = 0;
  bool alive = true;     // false once merged into another ...
  int merged_into = -1;  // ... which is this one, or was

  ir::Index axis(int id) const { return ir::Index::axis(id, axes[static_cast<size_t>(id)].extent); }
  int add_axis(int64_t extent, ir::AxisKind kind) {
    axes.push_back({extent, kind});
    return static_cast<int>(axes.size()) - 1;
  }
  void add(ir::Node* node, Map map, bool stored) {
    index.emplace(node, members.size());
    members.push_back({node, std::move(map), stored});
  }
  const Member* find(const ir::Node* node) const {
    auto it = index.find(node);
    return it == index.end() ? nullptr : &members[it->second];
  }
};

// The reduced dims of a reduction as its tree sees them: dims of size 1 do not count, adjacent reduced dims
// are one. The tree is therefore a function of the logical shape alone.
struct ReduceShape {
  std::vector<std::vector<int>> runs;  // each run: adjacent reduced dims of the input, outermost first
  std::vector<int64_t> extents;        // of the runs; {1} if every reduced dim has size 1
  ir::ReduceTree tree;
};
ReduceShape reduce_shape(const ir::Node& reduce);
// A reduction or contraction over no elements: a constant, the identity.
inline bool is_empty_reduce(const ir::Node& node) {
  return (ir::is_reduce(node.op()) || node.op() == ir::Op::Dot) && node.inputs()[0]->numel() == 0;
}

// A scan along a dim of size 1 is its operand.
inline bool is_empty_scan(const ir::Node& scan) { return scan.shape()[static_cast<size_t>(scan.ints()[0])] == 1; }

// Where a reduction at `map` reads its input: the kept dims from the map, the reduced ones along the inner
// axes.
Map reduced_operand_map(const Group& g, const ir::Node& reduce, const Map& map);

// The map of input number `input` of a pure view node, given the map of the view.
Map through_view(const ir::Node& view, const Map& map);
inline bool is_view(ir::Op op) { return ir::is_movement(op) && op != ir::Op::Pad && op != ir::Op::Cat; }
// An Update that writes something; one that writes nothing is its base.
inline bool is_update(const ir::Node& node) {
  return node.op() == ir::Op::Update && node.inputs()[1]->numel() > 0;
}
// Where in its base an Update stores the value's element at `map`.
ir::Index update_place(const ir::Node& update, const Map& map);
// Whether a Strided view has an element of its operand in more than one place.
bool overlaps(const ir::Node& strided);

// Operations that only a routine of the library computes: their operands are whole buffers, so fusion stops there. (A
// Cat has one too, for where no reader takes it in.)
inline bool is_routine(ir::Op op) {
  if (op == ir::Op::Gather || op == ir::Op::Update) return false;
  return ir::info(op).cls == ir::OpClass::Indexed || ir::info(op).cls == ir::OpClass::Sort;
}
// The node whose buffer holds the elements of a routine's operand: a reshape has those of its source.
inline ir::Node* buffer_behind(ir::Node* operand) {
  while (operand->op() == ir::Op::Reshape) operand = operand->inputs()[0];
  return operand;
}
// A scatter reads its index through an expand, so that one index serves a whole row; unless another operand is that
// node too.
inline bool reads_through(const ir::Node& routine, const ir::Node* operand) {
  const auto& inputs = routine.inputs();
  return ir::is_scatter(routine.op()) && operand == inputs[1] && operand->op() == ir::Op::Expand &&
         inputs[0] != operand && inputs[2] != operand;
}
inline ir::Node* routine_operand(const ir::Node& routine, ir::Node* operand) {
  return reads_through(routine, operand) ? operand->inputs()[0] : operand;
}

// Where a part of a Cat lies: its element at the coordinates c is at offset + sum(c_d * strides_d) of `buffer`. Views
// are looked through as long as neighbours stay near each other, else the part itself is a buffer. A Const is in no
// buffer: it stands for one element.
struct PartSource {
  ir::Node* buffer;
  int64_t offset;
  ir::Dims strides;
};
PartSource part_source(ir::Node* part);
// The node whose buffer a routine reads for this operand.
ir::Node* routine_source(const ir::Node& routine, ir::Node* operand);
// Whether a Cat is better copied together than read by guarded loads.
bool copies_parts(const ir::Node& cat, const FusionLimits& limits);

// Where a Gather reads: the element at `flat`, a function of x's coordinates (axis d for dim d) that goes along the
// gathered one in equal steps. Views of x are looked through as far as that holds, else x itself is a buffer.
struct GatherSource {
  ir::Node* buffer;
  ir::Index flat;
  bool through_views;  // false: the buffer is that of x
};
GatherSource gather_source(const ir::Node& gather);

// Builds the kernel of a finished group.
FusedKernel build_kernel(const Group& group);

}  // namespace tenon::passes::fusion
