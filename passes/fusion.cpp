// Graph -> groups. One walk from the outputs to the inputs: when a node is met, all its readers have a group
// and have asked for its elements at some index map. The node joins the group of its readers if they agree on
// group and map and the merged space is still one that a schedule takes; otherwise it starts a group and its
// readers load its buffer.
//
//   %m = reduce.max %x dims=[1]      the walk meets div, sum, exp, sub, max in this order; all of them ask
//   %e = exp (sub %x, %m)            for elements (r, c) or rows (r): the axis c of div becomes the inner
//   %s = reduce.sum %e dims=[1]      axis when sum joins, and the row values m and s are computed once a
//   return div %e, %s                row. One group, one kernel.
#include "passes/fusion.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <set>

#include "ir/graph_evaluate.h"
#include "passes/fusion_group.h"

namespace tenon::passes {
namespace fusion {
namespace {

using ir::AxisKind;
using ir::Index;
using ir::Node;
using ir::Op;

// What a reader takes in place of a load: anything, a Pad (a guarded load), or nothing.
enum class Access : uint8_t { Inline, Guarded, Memory };

struct Request {
  int group;
  Map map;
  const Node* consumer;
  Access access;
};

struct NodeState {
  std::vector<Request> requests;
  int owner = -1;  // group that computes it; -1: not computed (leaf, view or dead)
  bool output = false;
  bool whole = false;  // a routine reads its buffer
};

class Walk {
 public:
  Walk(const std::vector<ir::NodeRef>& outputs, const FusionOptions& options) : options_(options) {
    order_ = ir::topological_order(outputs);
    state_.resize(order_.size());
    for (size_t i = 0; i < order_.size(); ++i) position_.emplace(order_[i], i);
    for (const ir::NodeRef& output : outputs) state(output.get()).output = true;
  }

  FusionResult run() {
    for (size_t i = order_.size(); i-- > 0;) visit(order_[i]);
    FusionResult result;
    for (int g : sorted_groups()) result.kernels.push_back(build_kernel(groups_[static_cast<size_t>(g)]));
    result.refusals = std::move(refusals_);
    return result;
  }

 private:
  NodeState& state(const Node* node) { return state_[position_.at(node)]; }
  Group& group(int g) { return groups_[static_cast<size_t>(g)]; }

  void visit(Node* node) {
    NodeState& s = state(node);
    if (node->op() == Op::Input) {
      if (options_.enabled) merge_siblings(node, s);
      return;
    }
    bool stored = (s.output || s.whole) && node->numel() > 0;
    if (is_view(node->op())) {
      for (const Request& r : s.requests) request_through(*node, r);
      if (stored) start_group(node, true);
      return;
    }
    bool constant = node->op() == Op::Const || node->op() == Op::Iota;
    if (constant) {  // readers make it themselves
      if (stored) start_group(node, true);
      return;
    }
    if (s.requests.empty() && !stored) return;
    if (node->numel() == 0) return;
    if (is_update(*node)) return start_update(node);
    if (options_.enabled && !s.requests.empty()) {
      merge_siblings(node, s);
      if (try_join(node, s, stored)) return;
    }
    start_group(node, true);
  }

  // --- starting a group

  void start_group(Node* node, bool stored) {
    int g = static_cast<int>(groups_.size());
    groups_.emplace_back();
    Group& fresh = groups_.back();
    if (is_routine(node->op())) {
      start_routine(g, node);
      return;
    }
    Map map;
    for (int64_t extent : node->shape()) {
      map.push_back(extent == 1 ? Index() : Index::axis(fresh.add_axis(extent, AxisKind::Parallel), extent));
    }
    if (ir::is_reduce(node->op()) && !is_empty_reduce(*node)) open_inner(fresh, reduce_shape(*node));
    if (ir::is_scan(node->op()) && !is_empty_scan(*node)) open_serial(fresh, *node, map);
    if (node->op() == Op::Dot && !is_empty_reduce(*node))
      fresh.contract = fresh.add_axis(contract_extent(*node), AxisKind::Contract);
    place(g, node, std::move(map), stored);
  }

  void start_routine(int g, Node* node) {
    group(g).routine = true;
    group(g).add(node, {}, true);
    state(node).owner = g;
    for (Node* operand : node->inputs()) {
      Node* source = buffer_behind(routine_operand(*node, operand));
      state(source).whole = true;
      if (!source->is_leaf()) refusals_.push_back({source, node, "a routine of the library reads whole buffers"});
    }
  }

  static int64_t contract_extent(const Node& dot) { return dot.inputs()[0]->shape().back(); }

  // The axis of the scanned dim, in a group whose axes are the scan's dims.
  static int scanned_axis(const Node& scan, const Map& map) {
    return map[static_cast<size_t>(scan.ints()[0])].axes()[0];
  }
  static void open_serial(Group& g, const Node& scan, const Map& map) {
    g.serial = scanned_axis(scan, map);
    g.axes[static_cast<size_t>(g.serial)].kind = AxisKind::Serial;
  }

  static void open_inner(Group& g, const ReduceShape& shape) {
    for (int64_t extent : shape.extents) g.inner.push_back(g.add_axis(extent, AxisKind::Inner));
    g.tree = shape.tree;
  }

  // Makes `node` a member of group g at `map` and asks for its operands.
  void place(int g, Node* node, Map map, bool stored) {
    Group& into = group(g);
    state(node).owner = g;
    into.cost += ir::info(node->op()).cost;
    Op op = node->op();
    const Access inlined = options_.enabled ? Access::Inline : Access::Memory;
    if (is_view(op)) {  // an output that is a view: a copy through the index map
      request_through(*node, {g, map, node, inlined});
    } else if (is_empty_reduce(*node)) {
      // the identity: reads nothing
    } else if (ir::is_reduce(op)) {
      ++into.reductions;
      ask(node->inputs()[0], g, reduced_operand_map(into, *node, map), node, inlined);
    } else if (op == Op::Dot) {
      size_t m = map.size() - 2, n = map.size() - 1;
      Map a = map, b = map;
      a[n] = b[m] = into.axis(into.contract);
      // The right operand is packed once a tile, guards and all; the left one is read in the innermost loop.
      const Access packed = options_.enabled && node->shape()[n] > 1 ? Access::Guarded : Access::Memory;
      ask(node->inputs()[0], g, std::move(a), node, Access::Memory);
      ask(node->inputs()[1], g, std::move(b), node, packed);
    } else if (op == Op::Pad) {
      size_t rank = map.size();
      Map shifted = map;
      for (size_t d = 0; d < rank; ++d) shifted[d] = map[d] - node->ints()[d];
      ask(node->inputs()[0], g, std::move(shifted), node, Access::Memory);
    } else if (op == Op::Cat) {
      auto dim = static_cast<size_t>(node->ints()[0]);
      int64_t start = 0;
      for (Node* part : node->inputs()) {
        Map shifted = map;
        shifted[dim] = map[dim] - start;
        start += part->shape()[dim];
        ask(part, g, std::move(shifted), node, Access::Memory);
      }
    } else if (op == Op::Update) {  // of nothing
      ask(node->inputs()[0], g, map, node, inlined);
    } else if (op == Op::Gather) {
      place_gather(g, node, map, inlined);
    } else {
      for (Node* input : node->inputs()) ask(input, g, map, node, inlined);
    }
    into.add(node, std::move(map), stored);
  }

  // The index is a value like others; the elements lie in memory, anywhere along the gathered dim.
  void place_gather(int g, Node* node, const Map& map, Access inlined) {
    ask(node->inputs()[1], g, map, node, inlined);
    GatherSource source = gather_source(*node);
    if (!source.through_views) {
      state(source.buffer).whole = true;
      return;
    }
    Map from = map;
    from[static_cast<size_t>(node->ints()[0])] = Index();
    ask(node->inputs()[0], g, std::move(from), node, Access::Memory);
  }

  // --- updates

  // x[3] += 1 is one kernel that reads and writes row 3 of x. A value that hangs on other places of x is computed
  // before, by a kernel of its own.
  void start_update(Node* node) {
    int g = static_cast<int>(groups_.size());
    groups_.emplace_back();
    Group& fresh = groups_.back();
    Node* value = node->inputs()[1];
    Map map;
    for (int64_t extent : value->shape()) {
      map.push_back(extent == 1 ? Index() : Index::axis(fresh.add_axis(extent, AxisKind::Parallel), extent));
    }
    Node* base = buffer_behind(node->inputs()[0]);
    state(base).whole = true;
    state(node).owner = g;
    fresh.update = true;
    Reads reads = reads_of_base(value, map, base, update_place(*node, map));
    fresh.maps_only = reads == Reads::SamePlace;
    fresh.from_memory = reads == Reads::Elsewhere && value != base;
    if (fresh.from_memory) {
      state(value).whole = true;
      refusals_.push_back({value, node, "it hangs on other places of what its reader writes"});
    } else {
      ask(value, g, map, node, options_.enabled ? Access::Inline : Access::Memory);
    }
    fresh.add(node, std::move(map), true);
  }

  enum class Reads : uint8_t { Nothing, SamePlace, Elsewhere };

  // How the elements of `value` at `map` hang on the buffer of `base`, of which `place` is the place that they will be
  // stored at. A large expression counts as reading elsewhere.
  static Reads reads_of_base(Node* value, const Map& map, const Node* base, const Index& place) {
    constexpr size_t kMost = 256;
    struct Visit {
      const Node* node;
      Map map;
      bool known;  // the map; not below reductions, gathers and the like
    };
    std::vector<Visit> visits{{value, map, true}};
    Reads result = Reads::Nothing;
    for (size_t next = 0; next < visits.size(); ++next) {
      if (next == kMost) return Reads::Elsewhere;
      const Visit visit = visits[next];
      const Node* node = visit.node;
      if (node == base) {
        if (!visit.known || !(ir::flatten(visit.map, node->shape()) == place)) return Reads::Elsewhere;
        result = Reads::SamePlace;
        continue;
      }
      for (const Node* input : node->inputs()) {
        if (input->id() < base->id()) continue;  // older than the base: does not hang on it
        const bool known = visit.known && (is_view(node->op()) || ir::is_elementwise(node->op()));
        Map at = !known ? Map{} : is_view(node->op()) ? through_view(*node, visit.map) : visit.map;
        const bool seen = std::any_of(visits.begin(), visits.end(), [&](const Visit& v) {
          return v.node == input && v.known == known && v.map == at;
        });
        if (!seen) visits.push_back({input, std::move(at), known});
      }
    }
    return result;
  }

  void ask(Node* node, int g, Map map, const Node* consumer, Access access) {
    // A reader finds the same element at equal maps once; views and leaves resolve at kernel building.
    NodeState& s = state(node);
    for (const Request& r : s.requests) {
      if (r.group == g && r.map == map && r.access == access) return;
    }
    s.requests.push_back({g, std::move(map), consumer, access});
  }
  // Asks for the operand of a view. What overlapping windows read is not computed again for each of them.
  void request_through(const Node& view, const Request& r) {
    Access access = r.access;
    if (view.op() == Op::Strided && access == Access::Inline && overlaps(view)) access = Access::Guarded;
    ask(view.inputs()[0], r.group, through_view(view, r.map), r.consumer, access);
  }

  // --- joining the readers' group

  bool refuse(const Node* node, const NodeState& s, std::string reason) {
    refusals_.push_back({node, s.requests.front().consumer, std::move(reason)});
    return false;
  }

  bool try_join(Node* node, NodeState& s, bool stored) {
    if (is_routine(node->op())) return refuse(node, s, "a routine of the library computes it");
    if (s.whole) return refuse(node, s, "its reader wants all of it in memory");
    const Request& first = s.requests.front();
    for (const Request& r : s.requests) {
      if (r.access == Access::Memory || (r.access == Access::Guarded && node->op() != Op::Pad))
        return refuse(node, s, "its reader reads it with a guard, in overlapping windows or as an operand of a contraction");
      if (r.group != first.group) return refuse(node, s, "its readers are in different kernels");
      if (!(r.map == first.map))
        return refuse(node, s, "its readers want different elements at the same time");
    }
    int g = first.group;
    Map map = first.map;
    const FusionLimits& limits = options_.limits;
    Group& into = group(g);
    if (static_cast<int>(into.members.size()) >= limits.max_instrs)
      return refuse(node, s, "the kernel has max_instrs instructions");
    if (into.cost + ir::info(node->op()).cost > limits.max_cost)
      return refuse(node, s, "the kernel has reached max_cost");
    if (buffer_count(into) + static_cast<int>(node->inputs().size()) > limits.max_buffers) {
      return refuse(node, s, "the kernel has max_buffers buffers");
    }
    if (ir::is_reduce(node->op())) {
      if (!join_reduction(node, s, g, map)) return false;
    } else if (ir::is_scan(node->op()) && !is_empty_scan(*node)) {
      if (!join_scan(node, s, into, map)) return false;
    } else if (node->op() == Op::Dot && !is_empty_reduce(*node)) {
      if (into.contract >= 0 || !into.inner.empty() || into.serial >= 0)
        return refuse(node, s, "a kernel holds one contraction and no reduction or scan beside it");
      if (!is_permutation(into, *node, map, all_axes(into)))
        return refuse(node, s, "the contraction's result is read through a view");
      into.contract = into.add_axis(contract_extent(*node), AxisKind::Contract);
    } else if (!elementwise_fits(node, s, into, map)) {
      return false;
    }
    map = state(node).requests.front().map;  // joining a reduction may have merged axes
    if (stored && !covers_outputs(group(g), *node, map))
      return refuse(node, s, "it is stored, and its reader does not need all of it");
    place(g, node, std::move(map), stored);
    return true;
  }

  // Whether computing the node at `map`, once for each point of the axes that the map leaves out, is not
  // wasteful.
  bool elementwise_fits(const Node* node, const NodeState& s, const Group& g, const Map& map) {
    const bool loaded = node->op() == Op::Pad;  // with a guard
    if (g.contract >= 0 && uses_axis(map, g.contract) && !loaded)
      return refuse(node, s, "operands of a contraction are read from memory");
    std::vector<bool> used(g.axes.size(), false);
    for (const Index& index : map) {
      for (int a : index.axes()) used[static_cast<size_t>(a)] = true;
    }
    // A value that leaves out only the innermost axes is computed outside the loops over them.
    bool prefix = true, seen_unused = false;
    for (size_t a = 0; a < g.axes.size(); ++a) {
      if (static_cast<int>(a) == g.contract) continue;
      if (!used[a]) seen_unused = true;
      if (used[a] && seen_unused) prefix = false;
    }
    std::vector<int> inner = g.inner;
    if (g.serial >= 0) inner.push_back(g.serial);
    bool rows = !inner.empty() && std::none_of(inner.begin(), inner.end(), [&](int a) {
      return used[static_cast<size_t>(a)];
    }) && is_permutation(g, *node, map, parallel_axes(g));
    if (prefix || rows) return true;
    if (ir::info(node->op()).cost <= options_.limits.max_recompute_cost) return true;
    return refuse(node, s, "computing it again for every element of its broadcast costs more than a load");
  }

  static bool uses_axis(const Map& map, int axis) {
    return std::any_of(map.begin(), map.end(), [&](const Index& index) { return index.depends_on(axis); });
  }

  static std::vector<int> all_axes(const Group& g) {
    std::vector<int> axes;
    for (size_t a = 0; a < g.axes.size(); ++a) axes.push_back(static_cast<int>(a));
    return axes;
  }
  static std::vector<int> parallel_axes(const Group& g) {
    std::vector<int> axes;
    for (size_t a = 0; a < g.axes.size(); ++a) {
      if (g.axes[a].kind == AxisKind::Parallel) axes.push_back(static_cast<int>(a));
    }
    return axes;
  }

  // Whether the map runs through the whole node by exactly these axes, each once.
  static bool is_permutation(const Group& g, const Node& node, const Map& map, const std::vector<int>& axes) {
    std::vector<bool> seen(g.axes.size(), false);
    size_t count = 0;
    for (size_t d = 0; d < map.size(); ++d) {
      if (node.shape()[d] == 1) continue;
      std::vector<int> used = map[d].axes();
      if (used.size() != 1 || !(map[d] == g.axis(used[0])) || seen[static_cast<size_t>(used[0])])
        return false;
      if (g.axes[static_cast<size_t>(used[0])].extent != node.shape()[d]) return false;
      seen[static_cast<size_t>(used[0])] = true;
      ++count;
    }
    return count == static_cast<size_t>(
                        std::count_if(axes.begin(), axes.end(),
                                      [&](int a) { return g.axes[static_cast<size_t>(a)].extent != 1; })) &&
           std::all_of(axes.begin(), axes.end(), [&](int a) {
             return seen[static_cast<size_t>(a)] || g.axes[static_cast<size_t>(a)].extent == 1;
           });
  }

  // Whether a stored value at `map` is written exactly once for each element: at full or at row level.
  static bool covers_outputs(const Group& g, const Node& node, const Map& map) {
    std::vector<int> full;
    for (int a : all_axes(g)) {
      if (a != g.contract) full.push_back(a);
    }
    return is_permutation(g, node, map, full) || is_permutation(g, node, map, parallel_axes(g));
  }

  int buffer_count(const Group& g) const {
    int count = 0;
    for (const Member& m : g.members) {
      count += m.stored ? 1 : 0;
      for (const Node* input : m.node->inputs())
        count += g.find(input) == nullptr && input->op() != Op::Const ? 1 : 0;
    }
    return count;
  }

  // --- reductions

  bool join_reduction(Node* node, NodeState& s, int g, const Map& map) {
    Group& into = group(g);
    ReduceShape shape = reduce_shape(*node);
    if (is_empty_reduce(*node)) return true;
    if (into.contract >= 0) return refuse(node, s, "a reduction does not go with a contraction");
    if (into.maps_only) return refuse(node, s, "its reader writes over what it reads");
    if (into.serial >= 0) return refuse(node, s, "a reduction does not go with a scan");
    if (into.reductions >= options_.limits.max_reductions)
      return refuse(node, s, "the kernel has max_reductions reductions");
    if (!into.inner.empty()) {
      if (into.tree != shape.tree) return refuse(node, s, "the two reductions combine in different orders");
      if (!same_extents(into, into.inner, shape.extents))
        return refuse(node, s, "the two reductions run over different extents");
      if (!is_permutation(into, *node, map, parallel_axes(into)))
        return refuse(node, s, "the reduction has other rows than its reader's kernel");
      return carried_fits(node, s, into);
    }
    std::vector<int> left_out;  // axes of the readers that the reduction's result does not vary along
    for (int a : all_axes(into)) {
      if (!uses_axis(map, a)) left_out.push_back(a);
    }
    std::vector<int> kept;
    for (int a : all_axes(into)) {
      if (std::find(left_out.begin(), left_out.end(), a) == left_out.end()) kept.push_back(a);
    }
    if (!is_permutation(into, *node, map, kept))
      return refuse(node, s, "the reduction's result is read through a view");
    if (left_out.empty()) {  // its readers are an epilogue over the rows
      open_inner(into, shape);
      return true;
    }
    if (!merge_into_runs(g, left_out, shape.extents))
      return refuse(node, s, "the reduced axes are not axes of its reader");
    Group& merged = group(g);
    for (int a : left_out) merged.axes[static_cast<size_t>(a)].kind = AxisKind::Inner;
    merged.inner = left_out;
    merged.tree = shape.tree;
    if (carried_fits(node, s, merged)) return true;
    for (int a : left_out) merged.axes[static_cast<size_t>(a)].kind = AxisKind::Parallel;
    merged.inner.clear();
    merged.tree.reset();
    return false;
  }

  // A scan runs over the points of its readers, whose kernel then goes along the scanned axis in order.
  bool join_scan(const Node* node, const NodeState& s, Group& into, const Map& map) {
    if (into.contract >= 0 || !into.inner.empty())
      return refuse(node, s, "a scan does not go with a reduction or contraction");
    if (into.maps_only) return refuse(node, s, "its reader writes over what it reads");
    if (!is_permutation(into, *node, map, all_axes(into)))
      return refuse(node, s, "the scan's result is read through a view");
    if (into.serial >= 0 && into.serial != scanned_axis(*node, map))
      return refuse(node, s, "the two scans run along different dims");
    open_serial(into, *node, map);
    return true;
  }

  static bool same_extents(const Group& g, const std::vector<int>& axes,
                           const std::vector<int64_t>& extents) {
    if (axes.size() != extents.size()) return false;
    for (size_t i = 0; i < axes.size(); ++i) {
      if (g.axes[static_cast<size_t>(axes[i])].extent != extents[i]) return false;
    }
    return true;
  }

  // A value computed before a reduction and needed after it is kept for the row (or the tile of columns).
  bool carried_fits(const Node* node, const NodeState& s, const Group& g) {
    int64_t elements = 1;
    for (int a : g.inner) elements *= g.axes[static_cast<size_t>(a)].extent;
    bool maps_follow = std::any_of(g.members.begin(), g.members.end(), [&](const Member& m) {
      return std::any_of(g.inner.begin(), g.inner.end(), [&](int a) { return uses_axis(m.map, a); });
    });
    int64_t columns = g.tree == ir::ReduceTree::Columns ? 64 : 1;
    if (maps_follow && elements * columns * 8 > options_.limits.max_row_bytes) {
      // Values that are only loads are read again; anything else would have to be kept.
      const Node* operand = node->inputs()[0];
      while (is_view(operand->op())) operand = operand->inputs()[0];
      if (operand->op() != Op::Input)
        return refuse(node, s, "a row of values kept across the reduction exceeds max_row_bytes");
    }
    return true;
  }

  // Turns the axes `axes` of group g into one axis for each run of a reduction, merging neighbours where a
  // run spans several. False, with nothing changed, if the extents do not match.
  bool merge_into_runs(int g, std::vector<int>& axes, const std::vector<int64_t>& extents) {
    const Group& from = group(g);
    std::vector<std::vector<int>> runs;
    size_t next = 0;
    for (int64_t extent : extents) {
      std::vector<int> run;
      int64_t product = 1;
      while (product < extent && next < axes.size()) {
        product *= from.axes[static_cast<size_t>(axes[next])].extent;
        run.push_back(axes[next++]);
      }
      if (product != extent || run.empty()) return false;
      runs.push_back(run);
    }
    if (next != axes.size()) return false;
    axes.clear();
    for (const std::vector<int>& run : runs) {
      int merged = run.back();
      if (run.size() > 1) merge_axes(g, run);
      axes.push_back(merged);
    }
    return true;
  }

  // Replaces several axes of a group by their row-major product, which takes the id of the last of them.
  void merge_axes(int g, const std::vector<int>& run) {
    Group& into = group(g);
    std::vector<int64_t> extents;
    int64_t product = 1;
    for (int a : run) {
      extents.push_back(into.axes[static_cast<size_t>(a)].extent);
      product *= extents.back();
    }
    std::vector<Index> parts = ir::unflatten(Index::axis(run.back(), product), extents);
    rewrite_maps(g, [&](int axis, int64_t extent) {
      for (size_t i = 0; i < run.size(); ++i) {
        if (run[i] == axis) return parts[i];
      }
      return Index::axis(axis, extent);
    });
    for (int a : run) into.axes[static_cast<size_t>(a)].extent = 1;
    into.axes[static_cast<size_t>(run.back())].extent = product;
  }

  void rewrite_maps(int g, const std::function<Index(int, int64_t)>& f) {
    for (Member& m : group(g).members) {
      for (Index& index : m.map) index = index.substitute(f);
    }
    for (NodeState& s : state_) {
      for (Request& r : s.requests) {
        if (r.group != g) continue;
        for (Index& index : r.map) index = index.substitute(f);
      }
    }
  }

  // --- siblings

  // Groups that read the same elements of `node` over the same space become one kernel: one read instead of
  // two.
  void merge_siblings(const Node* node, NodeState& s) {
    auto window = static_cast<size_t>(options_.limits.max_siblings);
    for (size_t i = 0; i < s.requests.size() && i < window; ++i) {
      for (size_t j = i + 1; j < s.requests.size() && j < window; ++j) {
        const Request &x = s.requests[i], &y = s.requests[j];
        if (x.group == y.group || x.access != Access::Inline ||
            y.access != Access::Inline || !mergeable(node, x, y)) continue;
        merge_groups(Request(x), Request(y));
        dedupe(s);
        --j;  // the second request has become equal to the first and is gone
      }
    }
  }

  static void dedupe(NodeState& s) {
    std::vector<Request> kept;
    for (Request& r : s.requests) {
      bool seen = std::any_of(kept.begin(), kept.end(), [&](const Request& k) {
        return k.group == r.group && k.map == r.map && k.access == r.access;
      });
      if (!seen) kept.push_back(std::move(r));
    }
    s.requests = std::move(kept);
  }

  bool mergeable(const Node* node, const Request& x, const Request& y) {
    const Group &a = group(x.group), &b = group(y.group);
    if (a.contract >= 0 || b.contract >= 0 || a.update || b.update) return false;
    // Scans of one value along one dim go side by side; what has none would lose its own order.
    if ((a.serial >= 0) != (b.serial >= 0)) return false;
    std::vector<int> fa = all_axes(a), fb = all_axes(b);
    if (!is_permutation(a, *node, x.map, fa) || !is_permutation(b, *node, y.map, fb)) return false;
    if (a.serial >= 0 && dim_of(a, x.map, a.serial) != dim_of(b, y.map, b.serial)) return false;
    // Inner axes must be the same dims of the node where both have them.
    if (!a.inner.empty() && !b.inner.empty()) {
      if (a.tree != b.tree || a.inner.size() != b.inner.size()) return false;
      for (size_t i = 0; i < a.inner.size(); ++i) {
        if (dim_of(a, x.map, a.inner[i]) != dim_of(b, y.map, b.inner[i])) return false;
      }
    } else if (a.inner.empty() != b.inner.empty()) {
      // A map joins a reduction over its own space only if nothing in it hangs on other rows.
      const Group& map_group = a.inner.empty() ? a : b;
      for (const Member& m : map_group.members) {
        if (!is_permutation(map_group, *m.node, m.map, all_axes(map_group))) return false;
      }
    }
    const FusionLimits& limits = options_.limits;
    if (a.members.size() + b.members.size() > static_cast<size_t>(limits.max_instrs) ||
        a.cost + b.cost > limits.max_cost || a.reductions + b.reductions > limits.max_reductions ||
        buffer_count(a) + buffer_count(b) > limits.max_buffers) {
      refusals_.push_back({node, y.consumer, "merging two readers would pass a limit"});
      return false;
    }
    return !depends(x.group, y.group) && !depends(y.group, x.group);
  }

  static int dim_of(const Group& g, const Map& map, int axis) {
    for (size_t d = 0; d < map.size(); ++d) {
      if (map[d] == g.axis(axis)) return static_cast<int>(d);
    }
    return -1;
  }

  // Whether group `from` reads, directly or through others, something that group `to` computes.
  bool depends(int from, int to) {
    std::vector<int> stack{from};
    std::vector<bool> seen(groups_.size(), false);
    while (!stack.empty()) {
      int g = stack.back();
      stack.pop_back();
      if (g == to) return true;
      if (seen[static_cast<size_t>(g)]) continue;
      seen[static_cast<size_t>(g)] = true;
      for (int d : reads(g)) stack.push_back(d);
    }
    return false;
  }

  // The groups whose buffers group g loads.
  std::vector<int> reads(int g) {
    std::vector<int> result;
    for (const Node* node : loads(g)) {
      int owner = state(node).owner;
      if (owner >= 0 && owner != g) result.push_back(owner);
    }
    return result;
  }

  // The nodes that group g does not compute but reads; those that are in no buffer are among them.
  std::vector<const Node*> loads(int g) {
    std::vector<const Node*> result;
    for (const Member& m : group(g).members) {
      for (Node* input : m.node->inputs()) {
        if (m.node->op() == Op::Gather && input == m.node->inputs()[0]) {
          input = gather_source(*m.node).buffer;
        } else if (m.node->op() == Op::Update && input == m.node->inputs()[0]) {
          input = buffer_behind(input);
        } else if (m.node->op() == Op::Update && group(g).from_memory) {
          // the buffer of the value itself
        } else if (group(g).routine) {
          input = buffer_behind(routine_operand(*m.node, input));
        } else {
          while (is_view(input->op())) input = input->inputs()[0];
        }
        if (state(input).owner != g) result.push_back(input);
      }
    }
    return result;
  }

  void merge_groups(const Request& x, const Request& y) {
    int keep = x.group, gone = y.group;
    Map keep_map = x.map, gone_map = y.map;
    Group &into = group(keep), &from = group(gone);
    // Axis of `from` -> axis of `into`: those that index the same dim of the shared node.
    std::vector<int> to(from.axes.size(), -1);
    for (size_t d = 0; d < gone_map.size(); ++d) {
      if (gone_map[d] == Index()) continue;
      to[static_cast<size_t>(gone_map[d].axes()[0])] = keep_map[d].axes()[0];
    }
    auto rename = [&](int axis, int64_t extent) {
      return Index::axis(to[static_cast<size_t>(axis)], extent);
    };
    rewrite_maps(gone, rename);
    for (NodeState& s : state_) {
      for (Request& r : s.requests) {
        if (r.group == gone) r.group = keep;
      }
      if (s.owner == gone) s.owner = keep;
    }
    if (into.inner.empty() && !from.inner.empty()) {
      for (int a : from.inner) {
        int axis = to[static_cast<size_t>(a)];
        into.axes[static_cast<size_t>(axis)].kind = AxisKind::Inner;
        into.inner.push_back(axis);
      }
      into.tree = from.tree;
    }
    for (Member& m : from.members) into.add(m.node, std::move(m.map), m.stored);
    into.cost += from.cost;
    into.reductions += from.reductions;
    from = Group{};
    from.alive = false;
  }

  // --- order

  std::vector<int> sorted_groups() {
    std::vector<int> order = by_dependence();
    const bool writes = std::any_of(groups_.begin(), groups_.end(), writes_over);
    return writes ? readers_first(std::move(order)) : order;
  }

  // The same kernels, but those that read what an Update writes over before it where that is possible: then it can
  // take the memory over. An Update whose base others still wait to read runs when nothing else can.
  std::vector<int> readers_first(std::vector<int> order) {
    std::vector<int> rank(groups_.size(), 0), waits(groups_.size(), 0), readers_left(groups_.size(), 0);
    std::vector<std::vector<int>> followers(groups_.size());
    std::unordered_map<const Node*, std::vector<int>> updates;  // by base
    for (int g : order) {
      if (writes_over(group(g))) updates[base_of(g)].push_back(g);
    }
    std::vector<std::vector<int>> delays(groups_.size());  // the updates that wait for this reader
    for (size_t i = 0; i < order.size(); ++i) {
      const int g = order[i];
      rank[static_cast<size_t>(g)] = static_cast<int>(i);
      std::vector<const Node*> loaded = loads(g);
      std::sort(loaded.begin(), loaded.end());
      loaded.erase(std::unique(loaded.begin(), loaded.end()), loaded.end());
      for (const Node* node : loaded) {
        if (int owner = state(node).owner; owner >= 0) {
          followers[static_cast<size_t>(owner)].push_back(g);
          ++waits[static_cast<size_t>(g)];
        }
        auto found = updates.find(node);
        if (found == updates.end()) continue;
        for (int update : found->second) {
          if (update == g) continue;
          delays[static_cast<size_t>(g)].push_back(update);
          ++readers_left[static_cast<size_t>(update)];
        }
      }
    }
    const auto ready = [&](int g) { return std::pair(readers_left[static_cast<size_t>(g)] > 0, rank[static_cast<size_t>(g)]); };
    std::set<std::pair<std::pair<bool, int>, int>> queue;  // those that wait for readers last
    for (int g : order) {
      if (waits[static_cast<size_t>(g)] == 0) queue.insert({ready(g), g});
    }
    std::vector<int> result;
    while (!queue.empty()) {
      const int g = queue.begin()->second;
      queue.erase(queue.begin());
      result.push_back(g);
      for (int update : delays[static_cast<size_t>(g)]) {
        const bool queued = queue.erase({ready(update), update}) > 0;
        --readers_left[static_cast<size_t>(update)];
        if (queued) queue.insert({ready(update), update});
      }
      for (int f : followers[static_cast<size_t>(g)]) {
        if (--waits[static_cast<size_t>(f)] == 0) queue.insert({ready(f), f});
      }
    }
    return result;
  }

  // Whether the group's result is its base with something replaced.
  static bool writes_over(const Group& g) {
    return g.update || (g.routine && ir::is_scatter(g.members.front().node->op()));
  }
  const Node* base_of(int g) { return buffer_behind(group(g).members.front().node->inputs()[0]); }

  std::vector<int> by_dependence() {
    std::vector<int> result;
    std::vector<char> mark(groups_.size(), 0);  // 1: open, 2: done
    for (size_t root = groups_.size(); root-- > 0;) {
      if (!groups_[root].alive) continue;
      std::vector<std::pair<int, bool>> stack{{static_cast<int>(root), false}};
      while (!stack.empty()) {
        auto [g, leaving] = stack.back();
        stack.pop_back();
        char& m = mark[static_cast<size_t>(g)];
        if (leaving) {
          m = 2;
          result.push_back(g);
          continue;
        }
        if (m == 2) continue;
        if (m == 1) throw ir::IrError("fusion: two kernels depend on each other");
        m = 1;
        stack.push_back({g, true});
        for (int d : reads(g)) {
          if (mark[static_cast<size_t>(d)] == 1)
            throw ir::IrError("fusion: two kernels depend on each other");
          if (mark[static_cast<size_t>(d)] == 0) stack.push_back({d, false});
        }
      }
    }
    return result;
  }

  FusionOptions options_;
  std::vector<Node*> order_;
  std::unordered_map<const Node*, size_t> position_;
  std::vector<NodeState> state_;
  std::deque<Group> groups_;
  std::vector<Refusal> refusals_;
};

}  // namespace

ReduceShape reduce_shape(const ir::Node& reduce) {
  const ir::Dims& shape = reduce.inputs()[0]->shape();
  ReduceShape result;
  result.tree = ir::reduce_tree(shape, reduce.ints());
  result.extents = ir::reduce_extents(shape, reduce.ints()).vec();
  if (result.extents.empty()) result.extents = {1};
  size_t next = 0;
  int64_t product = 1;
  for (int64_t d : reduce.ints()) {
    if (shape[static_cast<size_t>(d)] == 1) continue;
    if (product == 1) result.runs.emplace_back();
    result.runs.back().push_back(static_cast<int>(d));
    product *= shape[static_cast<size_t>(d)];
    if (product == result.extents[next]) {
      product = 1;
      ++next;
    }
  }
  return result;
}

Map reduced_operand_map(const Group& g, const ir::Node& reduce, const Map& map) {
  Map operand = map;
  ReduceShape shape = reduce_shape(reduce);
  for (size_t run = 0; run < shape.runs.size(); ++run) {
    std::vector<int64_t> extents;
    for (int d : shape.runs[run]) extents.push_back(reduce.inputs()[0]->shape()[static_cast<size_t>(d)]);
    std::vector<Index> parts = ir::unflatten(g.axis(g.inner[run]), extents);
    for (size_t i = 0; i < parts.size(); ++i) operand[static_cast<size_t>(shape.runs[run][i])] = parts[i];
  }
  return operand;
}

Map through_view(const ir::Node& view, const Map& map) {
  const ir::Node& x = *view.inputs()[0];
  const ir::Dims& ints = view.ints();
  size_t rank = map.size();
  switch (view.op()) {
    case Op::Reshape: return ir::unflatten(ir::flatten(map, view.shape()), x.shape());
    case Op::Permute: {
      Map result(rank);
      for (size_t d = 0; d < rank; ++d) result[static_cast<size_t>(ints[d])] = map[d];
      return result;
    }
    case Op::Expand: {
      Map result = map;
      for (size_t d = 0; d < rank; ++d) {
        if (x.shape()[d] == 1) result[d] = Index();
      }
      return result;
    }
    case Op::Slice: {
      Map result = map;
      for (size_t d = 0; d < rank; ++d) result[d] = map[d] * ints[rank + d] + ints[d];
      return result;
    }
    case Op::Strided: {
      Index at = ints[2 * rank];
      for (size_t d = 0; d < rank; ++d) at = at + map[d] * ints[rank + d];
      return ir::unflatten(at, x.shape());
    }
    default: {  // Flip
      Map result = map;
      for (int64_t d : ints)
        result[static_cast<size_t>(d)] =
            Index(x.shape()[static_cast<size_t>(d)] - 1) - map[static_cast<size_t>(d)];
      return result;
    }
  }
}

Index update_place(const ir::Node& update, const Map& map) {
  Index place = update.ints().back();
  for (size_t d = 0; d < map.size(); ++d) place = place + map[d] * update.ints()[d];
  return place;
}

GatherSource gather_source(const ir::Node& gather) {
  ir::Node* x = gather.inputs()[0];
  const auto dim = static_cast<int>(gather.ints()[0]);
  Map map;
  for (size_t d = 0; d < x->shape().size(); ++d) map.push_back(Index::axis(static_cast<int>(d), x->shape()[d]));
  const Index whole = ir::flatten(map, x->shape());
  ir::Node* node = x;
  while (is_view(node->op())) {
    map = through_view(*node, map);
    node = node->inputs()[0];
  }
  const Index flat = ir::flatten(map, node->shape());
  const bool made = node->op() == Op::Const || node->op() == Op::Iota;  // has no buffer unless asked for one
  if (!made && flat.stride(dim).ok) return {node, flat, true};
  return {buffer_behind(x), whole, false};
}

bool overlaps(const ir::Node& strided) {
  const size_t rank = strided.shape().size();
  std::vector<std::pair<int64_t, int64_t>> dims;  // stride, size
  for (size_t d = 0; d < rank; ++d) {
    if (strided.shape()[d] > 1) dims.emplace_back(strided.ints()[rank + d], strided.shape()[d]);
  }
  std::sort(dims.begin(), dims.end());
  int64_t reach = 0;
  for (const auto& [stride, size] : dims) {
    if (stride <= reach) return true;
    reach += (size - 1) * stride;
  }
  return false;
}

}  // namespace fusion

FusionResult fuse(const std::vector<ir::NodeRef>& outputs, const FusionOptions& options) {
  return fusion::Walk(outputs, options).run();
}

}  // namespace tenon::passes
