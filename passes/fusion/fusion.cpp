// Graph -> groups. One walk from the outputs to the inputs: when a node is met, all its readers have a group
// and have asked for its elements at some index map. The node joins the group of its readers if they agree on
// group and map and the merged space is still one that a schedule takes; otherwise it starts a group and its
// readers load its buffer.
//
//   %m = reduce.max %x dims=[1]      the walk meets div, sum, exp, sub, max in this order; all of them ask
//   %e = exp (sub %x, %m)            for elements (r, c) or rows (r): the axis c of div becomes the inner
//   %s = reduce.sum %e dims=[1]      axis when sum joins, and the row values m and s are computed once a
//   return div %e, %s                row. One group, one kernel.
#include "passes/fusion/fusion.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <unordered_set>
#include <utility>

#include "ir/graph_map.h"
#include "passes/fusion/order.h"

namespace tenon::passes {
namespace fusion {
namespace {

using ir::AxisKind;
using ir::Index;
using ir::Node;
using ir::Op;

struct NodeState {
  std::vector<int> readers;       // groups that have asked for its elements; some may have been merged since
  std::vector<Request> requests;  // theirs, collected when the node is met
  int owner = -1;  // group that computes it; -1: not computed (leaf, view or dead)
  bool output = false;
  bool whole = false;  // a routine reads its buffer
};

class Walk {
 public:
  Walk(const std::vector<ir::NodeRef>& outputs, const FusionOptions& options) : options_(options) {
    order_ = ir::topological_order(outputs);
    state_.resize(order_.size());
    for (size_t i = 0; i < order_.size(); ++i) position_[order_[i]] = i;
    for (const ir::NodeRef& output : outputs) state(output.get()).output = true;
  }

  FusionResult run() {
    for (size_t i = order_.size(); i-- > 0;) visit(order_[i]);
    FusionResult result;
    for (int g : dependences_.order()) result.kernels.push_back(build_kernel(groups_[static_cast<size_t>(g)]));
    result.refusals = std::move(refusals_);
    return result;
  }

 private:
  NodeState& state(const Node* node) { return state_[*position_.find(node)]; }
  Group& group(int g) { return groups_[static_cast<size_t>(g)]; }
  // The group that group g has become part of, by and by; -1 of -1.
  int living(int g) {
    if (g < 0 || group(g).alive) return g;
    int last = g;
    while (!group(last).alive) last = group(last).merged_into;
    while (g != last) g = std::exchange(group(g).merged_into, last);  // shorter ways for the next time
    return last;
  }
  // The living groups that have asked for the node, each once.
  std::vector<int> readers(const NodeState& s) {
    std::vector<int> result;
    for (int g : s.readers) result.push_back(living(g));
    std::unordered_set<int> seen;
    if (result.size() > 1) std::erase_if(result, [&](int g) { return !seen.insert(g).second; });
    return result;
  }
  void collect_requests(const Node* node, NodeState& s) {
    s.requests.clear();
    for (int g : readers(s)) {
      const std::vector<Request>& asked = group(g).asked.at(node);
      s.requests.insert(s.requests.end(), asked.begin(), asked.end());
    }
  }

  void visit(Node* node) {
    NodeState& s = state(node);
    if (node->op() == Op::Input) {
      if (options_.enabled) merge_siblings(node, s);
      return;
    }
    collect_requests(node, s);
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
      collect_requests(node, s);
      if (try_join(node, s, stored)) return;
    }
    start_group(node, true);
  }

  // --- starting a group

  void start_group(Node* node, bool stored) {
    int g = static_cast<int>(groups_.size());
    groups_.emplace_back();
    Group& fresh = groups_.back();
    if (is_routine(node->op()) || node->op() == Op::Cat) {
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
      Node* source = routine_source(*node, operand);
      if (node->op() == Op::Cat && source->op() == Op::Const) continue;  // an argument
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

  // x[3] += 1 is one kernel that reads and writes row 3 of x. A value that depends on other places of x is computed
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
      refusals_.push_back({value, node, "it depends on other places of what its reader writes"});
    } else {
      ask(value, g, map, node, options_.enabled ? Access::Inline : Access::Memory);
    }
    fresh.add(node, std::move(map), true);
  }

  enum class Reads : uint8_t { Nothing, SamePlace, Elsewhere };

  // How the elements of `value` at `map` depend on the buffer of `base`, of which `place` is the place that they will be
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
        if (input->id() < base->id()) continue;  // older than the base: does not depend on it
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
    std::vector<Request>& asked = group(g).asked[node];
    if (asked.empty()) state(node).readers.push_back(g);
    for (const Request& r : asked) {
      if (r.map == map && r.access == access) return;
    }
    asked.push_back({g, std::move(map), consumer, access});
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
    if (node->op() == Op::Cat && copies_parts(*node, options_.limits))
      return refuse(node, s, "its parts are laid side by side in memory");
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
    map = group(g).asked.at(node).front().map;  // joining a reduction may have merged axes
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
    for (auto& [node, requests] : group(g).asked) {
      for (Request& r : requests) {
        for (Index& index : r.map) index = index.substitute(f);
      }
    }
  }

  // --- siblings

  // Groups that read the same elements of `node` over the same space become one kernel: one read instead of
  // two. Each reader goes to the first group that takes it, of those that still take some.
  void merge_siblings(const Node* node, const NodeState& s) {
    if (s.readers.size() < 2) return;
    std::vector<int> open;
    for (int g : readers(s)) {
      bool merged = false;
      for (size_t i = 0; i < open.size() && !merged; ++i) {
        const Fit fit = try_merge(node, open[i], g);
        merged = fit == Fit::Merged;
        if (fit == Fit::Full) open.erase(open.begin() + static_cast<std::ptrdiff_t>(i--));
      }
      if (merged) continue;
      open.push_back(g);
      if (open.size() > static_cast<size_t>(options_.limits.max_siblings)) open.erase(open.begin());
    }
  }

  enum class Fit : uint8_t { Merged, Apart, Full };

  Fit try_merge(const Node* node, int into, int from) {
    for (const Request& x : group(into).asked.at(node)) {
      for (const Request& y : group(from).asked.at(node)) {
        if (x.access != Access::Inline || y.access != Access::Inline || !mergeable(node, x, y)) continue;
        if (within_limits(group(into), group(from))) {
          merge_groups(Request(x), Request(y));
          return Fit::Merged;
        }
        refusals_.push_back({node, y.consumer, "merging two readers would pass a limit"});
        return group(into).members.size() > group(from).members.size() ? Fit::Full : Fit::Apart;
      }
    }
    return Fit::Apart;
  }

  bool within_limits(const Group& a, const Group& b) const {
    const FusionLimits& limits = options_.limits;
    return a.members.size() + b.members.size() <= static_cast<size_t>(limits.max_instrs) &&
           a.cost + b.cost <= limits.max_cost && a.reductions + b.reductions <= limits.max_reductions &&
           buffer_count(a) + buffer_count(b) <= limits.max_buffers;
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
      // A map joins a reduction over its own space only if nothing in it depends on other rows.
      const Group& map_group = a.inner.empty() ? a : b;
      for (const Member& m : map_group.members) {
        if (!is_permutation(map_group, *m.node, m.map, all_axes(map_group))) return false;
      }
    }
    return !dependences_.depends(x.group, y.group) && !dependences_.depends(y.group, x.group);
  }

  static int dim_of(const Group& g, const Map& map, int axis) {
    for (size_t d = 0; d < map.size(); ++d) {
      if (map[d] == g.axis(axis)) return static_cast<int>(d);
    }
    return -1;
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
    if (into.inner.empty() && !from.inner.empty()) {
      for (int a : from.inner) {
        int axis = to[static_cast<size_t>(a)];
        into.axes[static_cast<size_t>(axis)].kind = AxisKind::Inner;
        into.inner.push_back(axis);
      }
      into.tree = from.tree;
    }
    for (Member& m : from.members) into.add(m.node, std::move(m.map), m.stored);
    for (auto& [node, requests] : from.asked) {
      std::vector<Request>& asked = into.asked[node];
      for (Request& r : requests) {
        const bool known = std::any_of(asked.begin(), asked.end(), [&](const Request& k) {
          return k.map == r.map && k.access == r.access;
        });
        if (known) continue;
        r.group = keep;
        asked.push_back(std::move(r));
      }
    }
    into.cost += from.cost;
    into.reductions += from.reductions;
    from = Group{};
    from.alive = false;
    from.merged_into = keep;
  }

  FusionOptions options_;
  std::vector<Node*> order_;
  ir::NodeMap<size_t> position_;
  std::vector<NodeState> state_;
  std::deque<Group> groups_;
  Dependences dependences_{groups_, [this](const Node* node) { return living(state(node).owner); }};
  std::vector<Refusal> refusals_;
};

}  // namespace

}  // namespace fusion

std::string print(const FusedKernel& fused) {
  if (!fused.routine) return ir::print(fused.kernel);
  return "# a routine of the library\n" + ir::print(ir::Graph::of({{fused.routine}}, fused.kernel.name));
}

FusionResult fuse(const std::vector<ir::NodeRef>& outputs, const FusionOptions& options) {
  return fusion::Walk(outputs, options).run();
}

}  // namespace tenon::passes
