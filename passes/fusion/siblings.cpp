// Groups that read the same elements of a node over the same space become one kernel: one read instead of two.
//
//   %1 = exp %x                    kernel exp: x -> %1
//   %2 = reduce.sum %x dims=[1]    kernel sum: x -> %2      one kernel: x -> %1, %2
#include <algorithm>
#include <bit>
#include <optional>
#include <unordered_map>

#include "passes/fusion/groups.h"
#include "passes/schedule/schedule.h"

namespace tenon::passes::fusion {

namespace {

// Two groups, each with a request for the elements of one node.
class Pair {
 public:
  Pair(Groups& groups, const Node* node, Request x, Request y)
      : groups_(groups),
        node_(node),
        x_(std::move(x)),
        y_(std::move(y)),
        a_(groups.group(x_.group)),
        b_(groups.group(y_.group)),
        to_(matched_axes()) {
    if (to_ || x_.access != y_.access) return;
    to_ = parts_of(a_, x_.map, b_, y_.map);
    if (to_) return;
    parts_ = parts_of(b_, y_.map, a_, x_.map);
    if (parts_) to_ = axes_of(b_);
  }

  // Why they cannot be one; null if they can.
  const char* reason_apart() const {
    if (x_.access != Access::Value || y_.access != Access::Value) return "one of its readers takes it only from memory";
    if (a_.contraction || b_.contraction) return "a contraction has an order of its own";
    if (a_.turned || b_.turned) return "one of its readers is a copy across its lines";
    if (a_.update || b_.update) return "one of its readers writes into a buffer that exists";
    if (a_.scan.has_value() != b_.scan.has_value()) return "one of its readers walks its lines in order, the other does not";
    if (!to_) return "its readers run over different points";
    if (a_.scan && !is_one(*a_.scan, *b_.scan)) return "its readers scan different dims";
    if (const char* reason = reductions_apart()) return reason;
    if (!accepts(merged_form(), groups_.options().target_of(node_->device())).accepted)
      return "no schedule takes what its readers would be together";
    if (groups_.depends(x_.group, y_.group) || groups_.depends(y_.group, x_.group)) return "one of its readers needs the other's result";
    return nullptr;
  }

  bool within_limits() const {
    const FusionLimits& limits = groups_.options().limits;
    return a_.members.size() + b_.members.size() <= static_cast<size_t>(limits.max_instrs) && a_.cost + b_.cost <= limits.max_cost &&
           a_.reductions() + b_.reductions() <= limits.max_reductions && a_.buffer_count() + b_.buffer_count() <= limits.max_buffers;
  }

  // The second becomes part of the first.
  void merge() {
    if (parts_) {
      rewrite(a_, *parts_);
      a_.axes = b_.axes;
      if (b_.reduction) a_.reduce_along(b_.reduction->tree, b_.reduction->axes);
    }
    rewrite(b_, *to_);
    a_.form = merged_form();
    if (!a_.reduction && b_.reduction) {
      std::vector<int> along;
      for (int axis : b_.reduction->axes) {
        const Index& same = (*to_)[axis];
        along.push_back(same.is_constant() ? a_.add_axis(1, AxisKind::Inner) : same.axes()[0]);
      }
      a_.reduce_along(b_.reduction->tree, std::move(along));
    }
    for (Member& m : b_.members) a_.add(m.node, std::move(m.map), m.stored);
    a_.reads.insert(a_.reads.end(), b_.reads.begin(), b_.reads.end());
    b_.asked.for_each([&](const Node* node, std::vector<Request>& requests) { take_requests(node, requests); });
    a_.cost += b_.cost;
    for (const Node* node : b_.shared) a_.shared.push_back(node);
    groups_.retire(y_.group, x_.group);
  }

 private:
  using Axes = std::vector<Index>;  // by axis of a group, what it is in the axes of the other

  static Axes axes_of(const Group& group) {
    Axes axes;
    for (size_t a = 0; a < group.axes.size(); ++a) axes.push_back(group.axis(static_cast<int>(a)));
    return axes;
  }
  static void rewrite(Group& group, const Axes& to) {
    group.rewrite_maps([&](int axis, int64_t) { return to[axis]; });
  }

  // The axes of b as axes of a: those that index the same dim of the shared node; or, where both ask for the elements of windows,
  // the axes in their order if they then ask for the same. Nothing if the spaces are not one.
  std::optional<Axes> matched_axes() const {
    Axes to(b_.axes.size());
    if (a_.is_permutation(*node_, x_.map, a_.points()) && b_.is_permutation(*node_, y_.map, b_.points())) {
      for (size_t d = 0; d < y_.map.size(); ++d) {
        if (!y_.map[d].is_constant()) to[y_.map[d].axes()[0]] = x_.map[d];
      }
      return to;
    }
    size_t next = 0;
    const auto skip_single = [&] {
      while (next < a_.axes.size() && a_.axes[next].extent == 1) ++next;
    };
    for (size_t i = 0; i < b_.axes.size(); ++i) {
      if (b_.axes[i].extent == 1) continue;
      skip_single();
      if (next == a_.axes.size() || a_.axes[next].extent != b_.axes[i].extent || a_.axes[next].kind != b_.axes[i].kind) return {};
      to[i] = a_.axis(static_cast<int>(next++));
    }
    skip_single();
    const auto renamed = [&](const Index& index) { return index.substitute([&](int axis, int64_t) { return to[axis]; }); };
    const bool same = std::equal(x_.map.begin(), x_.map.end(), y_.map.begin(), y_.map.end(),
                                 [&](const Index& x, const Index& y) { return x == renamed(y); });
    if (!same || next < a_.axes.size()) return {};
    return to;
  }

  // Where one group has an axis for several of the other's, as a loss has that reduces all dims, and the other is a map: the map's
  // axes as parts of the first group's. Nothing if the map would then read or write other than in lines.
  //
  //   whole: r of 6, asks for (r / 3, r mod 3)     map: i of 2, j of 3, asks for (i, j)     i -> r / 3, j -> r mod 3
  std::optional<Axes> parts_of(const Group& whole, const Map& its, Group& map, const Map& asked) const {
    if (map.reduction || map.scan || whole.scan) return {};
    const Index place = ir::flatten(its, node_->shape()), of_map = ir::flatten(asked, node_->shape());
    if (!of_map.is_affine() || of_map.constant_part() != 0) return {};
    Axes parts(map.axes.size());
    SmallVector<bool, 16> seen(whole.axes.size(), false);
    Map run;  // the parts of one axis
    SmallVector<int64_t, 8> extents;
    int64_t points = 1, points_of_run = 1;
    for (size_t a = 0; a < map.axes.size(); ++a) {
      const auto axis = static_cast<int>(a);
      const int64_t extent = map.extent(axis), stride = of_map.stride(axis).value;
      if (extent == 1) continue;
      if (stride <= 0) return {};
      points *= extent;
      points_of_run *= extent;
      parts[a] = ir::floor_mod(ir::floor_div(place, stride), extent);
      run.push_back(parts[a]);
      extents.push_back(extent);
      const ir::Axes used = parts[a].axes();
      if (used.size() != 1 || seen[used[0]]) return {};
      if (points_of_run != whole.extent(used[0]) || !(ir::flatten(run, extents) == whole.axis(used[0]))) continue;
      seen[used[0]] = true;
      points_of_run = 1;
      run.clear();
      extents.clear();
    }
    const auto is_met = [&](int a) { return whole.extent(a) == 1 || seen[a]; };
    const bool same = points == node_->numel() && of_map.substitute([&](int a, int64_t) { return parts[a]; }) == place;
    const auto part = [&](int a, int64_t) { return parts[a]; };
    if (!same || !run.empty() || !std::ranges::all_of(whole.points(), is_met) || !map.stays_in_lines(part, node_, its)) return {};
    return parts;
  }

  bool is_one(int axis_of_a, int axis_of_b) const { return (*to_)[axis_of_b] == a_.axis(axis_of_a); }

  // Inner axes must be the same dims of the node where both have them.
  const char* reductions_apart() const {
    if (a_.reduction && b_.reduction) {
      if (a_.reduction->axes.size() != b_.reduction->axes.size()) return "its readers reduce different dims";
      for (size_t i = 0; i < a_.reduction->axes.size(); ++i) {
        if (!is_one(a_.reduction->axes[i], b_.reduction->axes[i])) return "its readers reduce different dims";
      }
    } else if (a_.reduction || b_.reduction) {
      // A map joins a reduction over its own space only if nothing in it depends on other rows.
      const Group& map = a_.reduction ? b_ : a_;
      for (const Member& m : map.members) {
        if (!map.is_permutation(*m.node, m.map, map.points())) return "one of its readers reads across the rows that the other reduces";
      }
    }
    return nullptr;
  }

  Form merged_form() const {
    Form form = a_.form;
    form.lanes += b_.form.lanes;
    form.columns += b_.form.columns;
    form.scans += b_.form.scans;
    form.kept_bytes = std::max(form.kept_bytes, b_.form.kept_bytes);
    return form;
  }

  void take_requests(const Node* node, std::vector<Request>& requests) {
    std::vector<Request>& asked = a_.asked[node];
    for (Request& r : requests) {
      const bool known = std::ranges::any_of(asked, [&](const Request& k) { return k.map == r.map && k.access == r.access; });
      if (known) continue;
      r.group = x_.group;
      asked.push_back(std::move(r));
    }
  }

  Groups& groups_;
  const Node* node_;
  const Request x_, y_;
  Group &a_, &b_;
  std::optional<Axes> to_;     // the axes of b in those of a
  std::optional<Axes> parts_;  // where a becomes a part of b's space first: the axes of a in those of b
};

// Readers that may become one group. If many do the same, as the steps of a loop do, eight are a batch, and those left over are batches
// of four, two and one: if as many went together as fit, each number of steps would be other code.
class Batches {
 public:
  Batches(Groups& groups, std::span<const int> readers) {
    const auto repeated = [&](int g) { return groups.group(g).repeated; };
    if (readers.size() <= kTogether && std::ranges::none_of(readers, repeated)) return;
    batches_.assign(readers.size(), 0);
    std::unordered_map<uint64_t, std::vector<size_t>> alike;
    for (size_t r = 0; r < readers.size(); ++r) {
      Group& group = groups.group(readers[r]);
      group.repeated ? alone(r) : alike[kind_of(group)].push_back(r);
    }
    for (const auto& [kind, members] : alike) {
      if (members.size() <= kTogether) continue;
      for (size_t i = 0; i < members.size();) {
        const size_t count = std::min(kBatch, std::bit_floor(members.size() - i));
        ++last_;
        for (const size_t end = i + count; i < end; ++i) {
          batches_[members[i]] = last_;
          groups.group(readers[members[i]]).repeated = true;
        }
      }
    }
  }
  int of(size_t reader) const { return batches_.empty() ? 0 : batches_[reader]; }

 private:
  static constexpr size_t kTogether = 4, kBatch = 8;

  void alone(size_t reader) { batches_[reader] = ++last_; }

  // The same for groups that do the same to other values.
  static uint64_t kind_of(const Group& group) {
    uint64_t kind = 0;
    const auto add = [&](uint64_t number) { kind = (kind ^ number) * 0x9e3779b97f4a7c15 + (kind >> 29); };
    for (const GroupAxis& axis : group.axes) add(static_cast<uint64_t>(axis.extent) << 8 | static_cast<uint64_t>(axis.kind));
    for (const Member& member : group.members) {
      add(static_cast<uint64_t>(member.node->op()) << 16 | static_cast<uint64_t>(member.node->dtype()) << 8 |
          static_cast<uint64_t>(member.stored));
    }
    return kind;
  }

  std::vector<int> batches_;  // by reader; empty: all are one
  int last_ = 0;
};

enum class Fit : uint8_t { Merged, Apart, Full };

// Merges `from` into `into` by the first requests that allow it. `why` becomes the reason if none does.
Fit try_merge(Groups& groups, const Node* node, int into, int from, const char** why) {
  for (const Request& x : groups.group(into).asked.at(node)) {
    for (const Request& y : groups.group(from).asked.at(node)) {
      Pair pair(groups, node, x, y);
      *why = pair.reason_apart();
      if (*why) continue;
      if (pair.within_limits()) {
        pair.merge();
        return Fit::Merged;
      }
      *why = "together its readers would pass a limit";
      return groups.group(into).members.size() > groups.group(from).members.size() ? Fit::Full : Fit::Apart;
    }
  }
  return Fit::Apart;
}

}  // namespace

// Each reader goes to the first group of its batch that takes it, as long as the group takes any.
void merge_siblings(Groups& groups, const Node* node) {
  const NodeState& s = groups.state(node);
  if (s.readers.size() < 2) return;
  const SmallVector<int, 8> readers = groups.readers(s);
  const Batches batches(groups, readers);
  std::vector<std::pair<int, int>> open;  // groups, with their batches
  for (size_t r = 0; r < readers.size(); ++r) {
    const int g = readers[r], batch = batches.of(r);
    Fit fit = Fit::Apart;
    const char* why = nullptr;
    const int first = open.empty() ? -1 : open.front().first;
    for (size_t i = 0; i < open.size() && fit != Fit::Merged; ++i) {
      if (open[i].second != batch) continue;
      fit = try_merge(groups, node, open[i].first, g, &why);
      if (fit == Fit::Full) open.erase(open.begin() + static_cast<std::ptrdiff_t>(i--));
    }
    if (fit == Fit::Merged) continue;
    if (why) groups.refuse(node, {groups.group(first).asked.at(node)[0].consumer, groups.group(g).asked.at(node)[0].consumer}, why);
    open.emplace_back(g, batch);
    if (open.size() > static_cast<size_t>(groups.options().limits.max_siblings)) open.erase(open.begin());
  }
}

}  // namespace tenon::passes::fusion
