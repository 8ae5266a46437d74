// Whether a node joins the group of its readers. This file decides what maps can express; the table of schedules says whether a
// schedule takes what comes out (passes/schedule/schedule.h).
#include <algorithm>
#include <optional>
#include <span>

#include "passes/fusion/groups.h"
#include "passes/fusion/reads.h"
#include "passes/schedule/schedule.h"

namespace tenon::passes::fusion {

namespace {

// Elements of a cat that a kernel which reduces it would also store: a copy of fewer is as fast, and leaves the kernel the code that it has
// for other operands. With more the kernel takes two thirds of the time.
constexpr int64_t kFewCopied = 1 << 13;

std::string dim_text(size_t dim) { return "dim " + std::to_string(dim); }

class Join {
 public:
  Join(Groups& groups, Node* node) : groups_(groups), node_(node), state_(groups.state(node)), limits_(groups.options().limits) {}

  bool run(bool stored) {
    if (!finds_reader() || !fits_limits()) return false;
    const bool shared = requests_.size() < state_.requests.size();
    stored = stored || shared;
    if (const Node* other = other_order(); other && (shared || (ir::is_reduce(other->op()) && reads_by_remainders())))
      return refuse("a kernel of its own takes in what it follows");
    if (stored && node_->op() == Op::Cat && into().reduction && node_->numel() < kFewCopied)
      return refuse("it is stored, and so small that a copy of its parts takes no longer");
    if (into().turned && (stored || !ir::is_elementwise(node_->op()))) return refuse("its reader is a copy across its lines");
    const bool orders = (ir::is_reduce(node_->op()) || node_->op() == Op::Dot) && !is_empty_reduce(*node_);
    if (stored && !orders && !into().covers(*node_, map()) && !begins_rows())
      return refuse("it is stored, and its reader does not need all of it");
    const bool joins = ir::is_reduce(node_->op())                           ? is_empty_reduce(*node_) || joins_reduction()
                       : ir::is_scan(node_->op()) && !is_empty_scan(*node_) ? joins_scan()
                       : node_->op() == Op::Dot && !is_empty_reduce(*node_) ? joins_contraction()
                                                                            : joins_map();
    if (!joins) return false;
    if (shared) into().shared.push_back(node_);
    Map map = into().asked.at(node_).front().map;  // joining a reduction may have merged axes
    const auto operand = [](const Request& r) { return r.access != Access::Value; };
    const auto as = std::ranges::find_if(requests_, operand);
    groups_.place(group_, node_, std::move(map), stored, as == requests_.end() ? Access::Value : as->access);
    return true;
  }

 private:
  Group& into() { return groups_.group(group_); }
  const Map& map() const { return requests_.front().map; }

  bool refuse(std::string_view reason, std::string where = {}) { return groups_.refuse(node_, reason, std::move(where)); }

  // --- the reader that takes it in

  // The first to run, if they are in several kernels: it stores the node, and the others load it. A kernel does so for one node of an
  // operation and size: else steps that repeat would be one kernel, and other numbers of steps other code.
  bool finds_reader() {
    const bool cat = node_->op() == Op::Cat;
    const auto library_takes = [&] {
      return accepts(form_of_call(*node_, could_be_followed()), groups_.options().target_of(node_->device())).accepted;
    };
    if (cat ? copies_parts(*node_, limits_) : library_takes())
      return refuse(cat ? "its parts are laid side by side in memory" : "a routine of the library computes it");
    if (state_.whole) return refuse("its reader wants all of it in memory");
    if (is_copy(*node_)) return refuse("it is a copy, for readers that want it in its order");
    if (state_.piece) return refuse("a sum of many terms is computed in pieces, so that other numbers of terms are the same code");
    const SmallVector<int, 8> readers = groups_.readers(state_);
    const auto runs_later = [&](int g) { return readers.size() > 1 && groups_.depends(g, readers); };
    const auto first = std::ranges::find_if_not(readers, runs_later);
    group_ = *first;
    const auto its = [&](const Request& r) { return r.group == group_; };
    const auto begin = std::ranges::find_if(state_.requests, its);
    requests_ = {begin, std::find_if_not(begin, state_.requests.end(), its)};
    if (readers.size() > 1 && into().update) return refuse("its readers are in different kernels");
    if (readers.size() > 1 && into().shares(*node_)) return refuse("its reader stores such a value for other kernels already");
    for (const Request& r : requests_) {
      if (r.access == Access::Guarded) return refuse("its reader loads it under a guard");
      if (r.access == Access::Picked) return refuse("its reader picks elements of it by position");
      if (r.access == Access::Window && node_->op() != Op::Pad)
        return refuse("overlapping windows of its reader would compute it more than once");
      if (!(r.map == map())) return refuse("its readers want different elements at the same time", differing_dim(r.map));
    }
    return true;
  }

  // Whether the readers of a product can be its epilogue.
  bool could_be_followed() const {
    const Request& first = state_.requests.front();
    const Group& reader = groups_.group(first.group);
    if (node_->op() != Op::Dot || state_.whole || reader.call) return false;
    const bool alike = std::ranges::all_of(
        state_.requests, [&](const Request& r) { return r.group == first.group && r.map == first.map && r.access == Access::Value; });
    if (!alike || !runs_of_dims(reader, first.map)) return false;
    Form form = reader.form;
    add_to(form, *node_);
    return accepts(form, groups_.options().target_of(node_->device())).accepted;
  }

  std::string differing_dim(const Map& other) const {
    size_t d = 0;
    while (map()[d] == other[d]) ++d;
    return dim_text(d);
  }

  bool fits_limits() {
    if (static_cast<int>(into().members.size()) >= limits_.max_instrs) return refuse("the kernel has max_instrs instructions");
    if (into().cost + ir::info(node_->op()).cost > limits_.max_cost) return refuse("the kernel has reached max_cost");
    if (into().buffer_count() + static_cast<int>(node_->inputs().size()) > limits_.max_buffers)
      return refuse("the kernel has max_buffers buffers");
    return true;
  }

  // --- a schedule accepts it

  // The group's form with the node in it, and with values of so many bytes kept for a row.
  bool accepted(int64_t kept_bytes = 0) {
    Form form = into().form;
    add_to(form, *node_);
    form.kept_bytes = std::max(form.kept_bytes, kept_bytes);
    const bool widened = node_->op() == Op::Cast && ir::is_half(node_->inputs()[0]->dtype());
    const Form::Operand computed = node_->op() == Op::Gather ? Form::Operand::Picked
                                   : widened                 ? Form::Operand::Widened
                                                             : Form::Operand::Computed;
    const auto has = [&](Access access) { return std::ranges::any_of(requests_, [&](const Request& r) { return r.access == access; }); };
    const bool squared = node_->op() == Op::Sub && has(Access::Left) && has(Access::Right);  // then its operands stand for it
    if (has(Access::Left) && !squared) form.left = std::max(form.left, computed);
    if (has(Access::Right) && !squared) form.right = std::max(form.right, computed);
    if (has(Access::Left) || has(Access::Right)) form.operand_cost += ir::info(node_->op()).cost;
    const Acceptance acceptance = accepts(form, groups_.options().target_of(node_->device()));
    if (!acceptance.accepted) return refuse(acceptance.reason);
    into().form = form;
    return true;
  }

  // The first dim of the node that no axis alone runs through.
  std::string viewed_dim() {
    for (size_t d = 0; d < map().size(); ++d) {
      const ir::Axes used = map()[d].axes();
      if (node_->shape()[d] > 1 && (used.size() != 1 || !(map()[d] == into().axis(used[0])))) return dim_text(d);
    }
    return {};
  }

  bool joins_contraction() {
    const std::optional<Runs> runs = runs_of_dims(into(), map());
    if (!runs) return refuse("the contraction's result is read through a view", viewed_dim());
    if (!accepted()) return false;
    for (const std::vector<int>& run : *runs) into().merge_axes(run);
    into().contract(node_->inputs()[0]->shape().back());
    return true;
  }

  using Runs = std::vector<std::vector<int>>;

  // The axes of the reader that run through one dim of the node together, row-major, for each dim that has several, as the places and
  // samples of sequences run through the rows of a product. Nothing if the map is no such walk of the whole node, or if the reader would
  // leave its lines with them as one axis.
  std::optional<Runs> runs_of_dims(const Group& reader, const Map& map) const {
    if (reader.is_permutation(*node_, map, reader.points())) return Runs{};
    Runs runs;
    std::vector<int> met;
    for (size_t d = 0; d < map.size(); ++d) {
      if (!map[d].is_affine()) return {};
      const ir::Axes used = map[d].axes();
      std::vector<int> run(used.begin(), used.end());
      std::ranges::sort(run, std::greater(), [&](int a) { return map[d].stride(a).value; });
      Map axes;
      SmallVector<int64_t, 8> extents;
      int64_t size = 1;
      for (int a : run) {
        axes.push_back(reader.axis(a));
        extents.push_back(reader.extent(a));
        size *= reader.extent(a);
      }
      if (size != node_->shape()[d] || !(ir::flatten(axes, extents) == map[d])) return {};
      met.insert(met.end(), run.begin(), run.end());
      if (run.size() < 2) continue;
      if (!reader.stays_in_lines(reader.parts_of_merged(run))) return {};
      runs.push_back(std::move(run));
    }
    const ir::Axes points = reader.points();
    std::vector<int> wanted(points.begin(), points.end());
    const auto is_single = [&](int a) { return reader.extent(a) == 1; };
    std::erase_if(wanted, is_single);
    std::erase_if(met, is_single);
    std::ranges::sort(met);
    if (met != wanted) return {};
    return runs;
  }

  // A scan runs over the points of its readers, whose kernel then goes along the scanned axis in order.
  bool joins_scan() {
    if (writes_over()) return false;
    if (!into().is_permutation(*node_, map(), into().points())) return refuse("the scan's result is read through a view", viewed_dim());
    const auto dim = static_cast<size_t>(node_->ints()[0]);
    const int axis = map()[dim].axes()[0];
    if (into().scan && *into().scan != axis) return refuse("the two scans run along different dims", dim_text(dim));
    if (!accepted()) return false;
    into().scan_along(axis);
    return true;
  }

  // Whether the group reads what it writes: then each element stands for itself.
  bool writes_over() {
    if (!into().update || into().update->reads != BaseReads::SamePlace) return false;
    refuse("its reader writes over what it reads");
    return true;
  }

  // --- reductions

  bool joins_reduction() {
    if (writes_over()) return false;
    const ReduceShape shape = reduce_shape(*node_);
    if (into().reductions() >= limits_.max_reductions) return refuse("the kernel has max_reductions reductions");
    if (into().reduction) return joins_reductions(shape);
    std::vector<int> left_out, kept;  // axes of the readers that the reduction's result does not vary along, or does
    for (int a : into().points()) (depends_on(map(), a) ? kept : left_out).push_back(a);
    if (!into().is_permutation(*node_, map(), kept)) return refuse("the reduction's result is read through a view", viewed_dim());
    if (left_out.empty()) {  // its readers are an epilogue over the rows
      if (!accepted()) return false;
      for (int64_t extent : shape.extents) left_out.push_back(into().add_axis(extent, AxisKind::Inner));
      into().reduce_along(shape.tree, std::move(left_out));
      return true;
    }
    const std::optional<Runs> runs = runs_of(left_out, shape.extents);
    if (!runs) return refuse("the reduced axes are not axes of its reader");
    if (!accepted(kept_bytes(left_out))) return false;
    std::vector<int> along;
    for (const std::vector<int>& run : *runs) {
      if (run.size() > 1) into().merge_axes(run);
      along.push_back(run.back());
    }
    into().reduce_along(shape.tree, std::move(along));
    return true;
  }

  // Whether the group has a reduction of this kind over as many elements.
  bool is_reduced_so(const ReduceShape& shape) {
    return into().reduction->tree == shape.tree && have_extents(into().reduction->axes, shape.extents);
  }
  bool have_extents(const std::vector<int>& axes, const std::vector<int64_t>& extents) {
    return std::equal(axes.begin(), axes.end(), extents.begin(), extents.end(),
                      [&](int axis, int64_t extent) { return into().extent(axis) == extent; });
  }

  // Whether the node is a value of rows that its readers run over, computed from a reduction of them, as a norm's deviation is, which a
  // gradient wants: then the readers' axes become the rows' elements before the reduction itself is met.
  bool begins_rows() {
    if (!ir::is_elementwise(node_->op()) || into().reduction || into().scan || into().contraction || into().update) return false;
    const Node* reduction = reduction_behind();
    if (!reduction || !reads_rows_of(*reduction)) return false;
    const ReduceShape shape = reduce_shape(*reduction);
    std::vector<int> left_out, kept;
    for (int a : into().points()) (depends_on(map(), a) ? kept : left_out).push_back(a);
    if (!into().is_permutation(*node_, map(), kept)) return false;
    Form form = into().form;
    add_to(form, *reduction);
    if (!have_extents(left_out, shape.extents) || !accepts(form, groups_.options().target_of(node_->device())).accepted) return false;
    into().form = form;  // the reduction counts at once: what joins before it must go with it
    into().reduce_along(shape.tree, std::move(left_out));
    return true;
  }

  // Whether the group reads what the reduction runs over, or what that is computed from: else the reduction is not its own.
  bool reads_rows_of(const Node& reduction) {
    const auto is_read = [&](Node* node) { return into().asked.find(behind_views(node)) != nullptr; };
    Node* operand = behind_views(reduction.inputs()[0]);
    return is_read(operand) || (ir::is_elementwise(operand->op()) && std::ranges::any_of(operand->inputs(), is_read));
  }

  // The one reduction that gives the node its values, by way of operations on values of rows; null if there is none.
  const Node* reduction_behind() const {
    constexpr int kMost = 8;
    const Node* node = node_;
    for (int step = 0; step < kMost; ++step) {
      const Node* next = nullptr;
      for (const Node* operand : node->inputs()) {
        if (operand->numel() == node_->numel() && !operand->is_leaf()) next = operand;
      }
      if (!next || groups_.state(next).whole) return nullptr;
      if (ir::is_reduce(next->op())) return is_empty_reduce(*next) ? nullptr : next;
      if (!ir::is_elementwise(next->op()) && !is_view(next->op())) return nullptr;
      node = next;
    }
    return nullptr;
  }

  // Whether it is computed beside other reductions of the same rows.
  bool joins_reductions(const ReduceShape& shape) {
    const std::vector<int>& inner = into().reduction->axes;
    if (into().reduction->tree == shape.tree) {  // else they are not accepted
      if (!is_reduced_so(shape)) return refuse("the two reductions run over different extents");
      if (!into().is_permutation(*node_, map(), into().parallel()))
        return refuse("the reduction has other rows than its reader's kernel", viewed_dim());
    }
    return accepted(kept_bytes(inner));
  }

  // What is computed before the reduction and needed after it is kept for the row. Values that are only loads are read
  // again instead.
  int64_t kept_bytes(const std::vector<int>& inner) {
    const bool follows = std::ranges::any_of(
        into().members, [&](const Member& m) { return std::ranges::any_of(inner, [&](int a) { return depends_on(m.map, a); }); });
    if (!follows || behind_views(node_->inputs()[0])->op() == Op::Input) return 0;
    int64_t bytes = 8;
    for (int a : inner) bytes *= into().extent(a);
    return bytes;
  }

  // The axes `axes` of the group cut into one run for each extent of a reduction; nothing if they do not match.
  std::optional<Runs> runs_of(const std::vector<int>& axes, const std::vector<int64_t>& extents) {
    Runs runs;
    size_t next = 0;
    for (int64_t extent : extents) {
      std::vector<int> run;
      int64_t product = 1;
      while (product < extent && next < axes.size()) {
        product *= into().extent(axes[next]);
        run.push_back(axes[next++]);
      }
      if (product != extent || run.empty()) return {};
      runs.push_back(std::move(run));
    }
    if (next != axes.size()) return {};
    return runs;
  }

  // --- maps

  // Whether a product takes the node in, its bias mostly, and its reader, which orders its points, does not take the product. So the
  // products of layers are one kernel, whatever reads them.
  bool is_epilogue_of_product() {
    if (node_->op() != Op::Add || !(into().reduction || into().scan)) return false;
    return std::ranges::any_of(node_->inputs(), [&](const Node* operand) {
      if (operand->op() != Op::Dot || is_empty_reduce(*operand) || !(operand->shape() == node_->shape())) return false;
      const NodeState& s = groups_.state(operand);
      if (s.output || s.whole || !s.readers.empty()) return false;
      return !accepts(form_of_call(*operand, true), groups_.options().target_of(node_->device())).accepted;
    });
  }

  // Whether the reader, which reduces all dims as one, has no lines for what the node reads: a loss has none for a norm's weights.
  bool reads_by_remainders() {
    const auto has_rows = [&](int a) { return into().extent(a) > 1; };
    if (!ir::is_elementwise(node_->op()) || std::ranges::any_of(into().parallel(), has_rows)) return false;
    return std::ranges::any_of(reads(into(), *node_, map()), [](Read& r) {
      const Node* source = behind_views(r.operand, r.map);
      return !ir::flatten(r.map, source->shape()).is_affine();
    });
  }

  // The nearest product, scan or other reduction than its reader's that the node follows, whose kernel can take it in; null if there is
  // none, or if the node follows the same reduction as the reader's too.
  const Node* other_order() {
    constexpr size_t kMost = 24;
    if (!into().reduction && !into().scan) return nullptr;
    const Node* other = nullptr;
    SmallVector<const Node*, kMost> nodes{node_};
    for (size_t next = 0; next < nodes.size(); ++next) {
      for (const Node* operand : nodes[next]->inputs()) {
        if (is_empty_reduce(*operand)) continue;
        if (ir::is_reduce(operand->op()) && into().reduction && is_reduced_so(reduce_shape(*operand))) return nullptr;
        if (!other && (ir::is_reduce(operand->op()) || ir::is_scan(operand->op()) || operand->op() == Op::Dot)) other = operand;
        const bool passes_on = ir::is_elementwise(operand->op()) || is_view(operand->op());
        if (passes_on && nodes.size() < kMost && std::ranges::find(nodes, operand) == nodes.end()) nodes.push_back(operand);
      }
    }
    return other;
  }

  // Whether computing the node, once for each point of the axes that its map leaves out, is not wasteful.
  bool joins_map() {
    if (is_epilogue_of_product()) return refuse("the product before it takes it in");
    const Group& g = into();
    int left_out = -1;
    // A value that leaves out only the innermost axes is computed outside the loops over them.
    bool prefix = true;
    for (int a : g.points()) {
      const bool used = depends_on(map(), a);
      if (!used && left_out < 0) left_out = a;
      if (used && left_out >= 0) prefix = false;
    }
    const bool ordered = g.reduction || g.scan;
    const auto in_loop = [&](int a) { return g.runs_through(a) && depends_on(map(), a); };
    const ir::Axes points = g.points();
    const bool rows = ordered && std::ranges::none_of(points, in_loop) && g.is_permutation(*node_, map(), g.parallel());
    if (!prefix && !rows && ir::info(node_->op()).cost > limits_.max_recompute_cost) {
      return refuse("computing it again for every element of its broadcast costs more than a load",
                    "axis of " + std::to_string(g.extent(left_out)));
    }
    return accepted();
  }

  Groups& groups_;
  Node* node_;
  const NodeState& state_;
  const FusionLimits& limits_;
  int group_ = -1;
  std::span<const Request> requests_;  // of the group
};

}  // namespace

bool try_join(Groups& groups, Node* node, bool stored) { return Join(groups, node).run(stored); }

}  // namespace tenon::passes::fusion
