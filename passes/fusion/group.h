// The unit that fusion grows: one iteration space and the nodes computed in it. Private to passes/fusion/.
//
// A group has optional parts beside its points: a reduction, a scan, a contraction, an update. They are not the cases
// of a variant, since a kernel may have several of them; the table of schedules says which ones go together.
#pragma once

#include <algorithm>
#include <functional>
#include <optional>
#include <vector>

#include "ir/graph/graph.h"
#include "ir/graph/graph_map.h"
#include "ir/index/index.h"
#include "ir/kernel/kernel.h"
#include "passes/fusion/views.h"
#include "passes/schedule/form.h"

namespace tenon::passes::fusion {

struct GroupAxis {
  int64_t extent;
  AxisKind kind;
};

// A wish of a group for the elements of a node at a map.
struct Request {
  int group;
  Map map;
  const Node* consumer;
  Access access;
};

// A node computed in the group, at one map; `stored` if its value leaves the kernel.
struct Member {
  Node* node;
  Map map;
  bool stored;
};

struct Reduction {
  ir::ReduceTree tree;
  std::vector<int> axes;  // in reduction order
};
// How the elements of a value depend on the buffer that they are to be written into.
enum class BaseReads : uint8_t { Nothing, SamePlace, Elsewhere };
// The group's root is an Update, over the space of its value.
struct Update {
  BaseReads reads;
  bool from_memory;  // its value is read from a buffer of its own
};

class Group {
 public:
  std::vector<GroupAxis> axes;              // creation order: the root's dims, then inner or contract axes
  std::vector<Member> members;              // consumers first, as the walk meets them
  ir::NodeMap<std::vector<Request>> asked;  // by node, in the order of asking
  std::vector<const Node*> reads;           // whose elements are asked for, views looked through, or that are read whole
  std::optional<Reduction> reduction;
  std::optional<int> scan, contraction;  // their axes
  std::optional<Update> update;
  bool repeated = false;  // one of many that do the same: it has been merged with those of its batch (siblings.cpp)
  bool turned = false;    // its root is a copy across the lines of what it copies, in which order it stores nothing else
  bool call = false;      // one node, or several results of the same operands; it has no axes
  Form form;              // what the schedules are asked about
  int cost = 0;
  SmallVector<const Node*, 4> shared;  // the members that it stores for other groups

  int reductions() const { return form.lanes + form.columns; }
  int64_t extent(int axis) const { return axes[axis].extent; }
  Index axis(int id) const { return Index::axis(id, extent(id)); }
  int add_axis(int64_t extent, AxisKind kind);
  // An axis for each dim of more than one element; the map of the root.
  Map add_axes_of(const ir::Dims& shape);
  void add(Node* node, Map map, bool stored);
  const Member* find(const Node* node) const;
  int buffer_count() const { return buffers_; }  // read or written, at most

  ir::Axes points() const;  // all axes but those of the contraction
  ir::Axes parallel() const;
  // Whether it stores such a value for other groups: of this operation and size.
  bool shares(const Node& node) const {
    return std::ranges::any_of(shared, [&](const Node* other) { return other->op() == node.op() && other->numel() == node.numel(); });
  }
  bool runs_through(int axis) const;  // a reduction or scan does, in order
  // Whether the map runs through the whole node by exactly these axes, each once.
  bool is_permutation(const Node& node, const Map& map, std::span<const int> by) const;
  // Whether a stored value at `map` is written exactly once for each element: at full or at row level.
  bool covers(const Node& node, const Map& map) const;
  int dim_of(const Map& map, int axis) const;  // the dim that the axis alone runs through; -1 if there is none

  void reduce_along(ir::ReduceTree tree, std::vector<int> along);  // they become inner axes
  void scan_along(int axis);
  void contract(int64_t extent);
  // Replaces several axes by their row-major product, which takes the id of the last of them.
  void merge_axes(const std::vector<int>& run);
  std::function<Index(int axis, int64_t extent)> parts_of_merged(const std::vector<int>& run) const;  // what its axes are then
  void rewrite_maps(const std::function<Index(int axis, int64_t extent)>& f);
  // Whether what it reads and stores has a place without remainders if its maps are rewritten so; but for `met`, if it is then read at
  // `at`.
  bool stays_in_lines(const std::function<Index(int axis, int64_t extent)>& f, const Node* met = nullptr, const Map& at = {}) const;

 private:
  struct Known {
    int member = -1;       // its number among the members
    bool is_read = false;  // by members, as long as it is none itself
  };
  ir::NodeMap<Known> known_;
  int buffers_ = 0;
};

inline bool depends_on(const Map& map, int axis) {
  for (const Index& index : map) {
    if (index.depends_on(axis)) return true;
  }
  return false;
}

// A cast to its own type, which a graph pass has put where a value should lie in another order (passes/graph/rebuild_graph.h).
bool is_copy(const Node& node);

// What the node brings to the form of its group.
void add_to(Form& form, const Node& node);

// The node as a call. `followed`: a kernel of the node's own would take in what reads it.
Form form_of_call(const Node& node, bool followed);

// Builds the kernel of a finished group.
FusedKernel build_kernel(const Group& group);

}  // namespace tenon::passes::fusion
