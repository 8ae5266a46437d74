// The iteration space of a group: its axes, and the maps over them.
#include "passes/fusion/group.h"

#include <algorithm>
#include <utility>

#include "ir/graph/graph_evaluate.h"

namespace tenon::passes::fusion {

int Group::add_axis(int64_t extent, AxisKind kind) {
  axes.push_back({extent, kind});
  return static_cast<int>(axes.size()) - 1;
}

Map Group::add_axes_of(const ir::Dims& shape) {
  Map map;
  for (int64_t extent : shape) map.push_back(extent == 1 ? Index() : Index::axis(add_axis(extent, AxisKind::Parallel), extent));
  return map;
}

void Group::add(Node* node, Map map, bool stored) {
  for (const Node* input : node->inputs()) {
    if (input->op() == Op::Const) continue;
    Known& known = known_[input];
    if (known.member >= 0 || std::exchange(known.is_read, true)) continue;
    ++buffers_;
  }
  Known& known = known_[node];
  known.member = static_cast<int>(members.size());
  buffers_ += (stored ? 1 : 0) - (std::exchange(known.is_read, false) ? 1 : 0);
  members.push_back({node, std::move(map), stored});
}

const Member* Group::find(const Node* node) const {
  const Known* known = known_.find(node);
  return !known || known->member < 0 ? nullptr : &members[known->member];
}

ir::Axes Group::points() const {
  ir::Axes result;
  for (size_t a = 0; a < axes.size(); ++a) {
    if (axes[a].kind != AxisKind::Contract) result.push_back(static_cast<int>(a));
  }
  return result;
}

ir::Axes Group::parallel() const {
  ir::Axes result;
  for (size_t a = 0; a < axes.size(); ++a) {
    if (axes[a].kind == AxisKind::Parallel) result.push_back(static_cast<int>(a));
  }
  return result;
}

bool Group::runs_through(int axis) const { return ir::level_of(axes[axis].kind) == ir::Level::Full; }

bool Group::is_permutation(const Node& node, const Map& map, std::span<const int> by) const {
  SmallVector<bool, 16> seen(axes.size(), false);
  size_t count = 0;
  for (size_t d = 0; d < map.size(); ++d) {
    if (node.shape()[d] == 1) continue;
    const ir::Axes used = map[d].axes();
    if (used.size() != 1 || !(map[d] == axis(used[0])) || seen[used[0]]) return false;
    if (extent(used[0]) != node.shape()[d]) return false;
    seen[used[0]] = true;
    ++count;
  }
  for (int a : by) {
    if (extent(a) == 1) continue;
    if (!seen[a]) return false;
    --count;
  }
  return count == 0;
}

bool Group::covers(const Node& node, const Map& map) const {
  return is_permutation(node, map, points()) || is_permutation(node, map, parallel());
}

int Group::dim_of(const Map& map, int id) const {
  for (size_t d = 0; d < map.size(); ++d) {
    if (map[d] == axis(id)) return static_cast<int>(d);
  }
  return -1;
}

void Group::reduce_along(ir::ReduceTree tree, std::vector<int> along) {
  for (int a : along) axes[a].kind = AxisKind::Inner;
  reduction = Reduction{tree, std::move(along)};
}

void Group::scan_along(int axis) {
  axes[axis].kind = AxisKind::Serial;
  scan = axis;
}

void Group::contract(int64_t extent) { contraction = add_axis(extent, AxisKind::Contract); }

std::function<Index(int, int64_t)> Group::parts_of_merged(const std::vector<int>& run) const {
  std::vector<int64_t> extents;
  int64_t product = 1;
  for (int a : run) {
    extents.push_back(extent(a));
    product *= extents.back();
  }
  return [run, parts = ir::unflatten(Index::axis(run.back(), product), extents)](int id, int64_t size) {
    const auto it = std::ranges::find(run, id);
    return it == run.end() ? Index::axis(id, size) : parts[it - run.begin()];
  };
}

void Group::merge_axes(const std::vector<int>& run) {
  rewrite_maps(parts_of_merged(run));
  int64_t product = 1;
  for (int a : run) product *= std::exchange(axes[a].extent, 1);
  axes[run.back()].extent = product;
}

void Group::rewrite_maps(const std::function<Index(int, int64_t)>& f) {
  for (Member& m : members) {
    for (Index& index : m.map) index = index.substitute(f);
  }
  asked.for_each([&](const Node*, std::vector<Request>& requests) {
    for (Request& r : requests) {
      for (Index& index : r.map) index = index.substitute(f);
    }
  });
}

bool Group::stays_in_lines(const std::function<Index(int, int64_t)>& f, const Node* met, const Map& at) const {
  const auto in_lines = [&](const Node* node, const Map& map) {
    Map moved;
    for (const Index& index : map) moved.push_back(index.substitute(f));
    if (node == met && std::ranges::equal(moved, at)) return true;
    for (; is_view(node->op()); node = node->inputs()[0]) moved = through_view(*node, moved);
    return ir::flatten(moved, node->shape()).is_affine();
  };
  bool all = std::ranges::all_of(members, [&](const Member& m) { return !m.stored || in_lines(m.node, m.map); });
  asked.for_each([&](const Node* node, const std::vector<Request>& requests) {
    for (const Request& r : requests) all = all && in_lines(node, r.map);
  });
  return all;
}

bool is_copy(const Node& node) { return node.op() == Op::Cast && node.dtype() == node.inputs()[0]->dtype(); }

void add_to(Form& form, const Node& node) {
  if (is_empty_reduce(node)) return;
  if (ir::is_reduce(node.op())) {
    const ir::ReduceTree tree = ir::reduce_tree(node.inputs()[0]->shape(), node.ints());
    ++(tree == ir::ReduceTree::Lanes ? form.lanes : form.columns);
  }
  if (ir::is_scan(node.op()) && !is_empty_scan(node)) ++form.scans;
  if (node.op() == Op::Dot) {
    ++form.contractions;
    form.contract_axes = 1;
  }
}

namespace {

Form::Product call_of(const Node& dot, bool followed) {
  Form::Product product = product_of(dot);
  const auto passes_through_memory = [&](const Node& value) {
    ++product.other_launches;
    product.other_bytes += 2 * value.numel() * ir::item_size(value.dtype());
  };
  if (followed) passes_through_memory(dot);
  for (Node* operand : dot.inputs()) {
    if (is_view(operand_source(dot, operand).buffer->op())) passes_through_memory(*operand);
  }
  // Differences that are squared, which a kernel of its own takes in.
  const Node* factor = behind_views(dot.inputs()[0]);
  if (factor->op() == Op::Sub && factor == behind_views(dot.inputs()[1])) passes_through_memory(*factor);
  return product;
}

}  // namespace

Form form_of_call(const Node& node, bool followed) {
  if (ir::is_attention(node.op())) return form_of_attention(node);
  Form form;
  form.call = node.op();
  if (node.op() == Op::Dot) form.product = call_of(node, followed);
  return form;
}

}  // namespace tenon::passes::fusion
