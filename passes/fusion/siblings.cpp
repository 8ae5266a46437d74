// Groups that read the same elements of a node over the same space become one kernel: one read instead of two.
//
//   %1 = exp %x                    kernel exp: x -> %1
//   %2 = reduce.sum %x dims=[1]    kernel sum: x -> %2      one kernel: x -> %1, %2
#include <algorithm>
#include <bit>
#include <optional>
#include <unordered_map>

#include "passes/fusion/groups.h"

namespace tenon::passes::fusion {

namespace {

// Two groups, each with a request for the elements of one node.
class Pair {
 public:
  Pair(Groups& groups, const Node* node, Request x, Request y)
      : groups_(groups), node_(node), x_(std::move(x)), y_(std::move(y)), a_(groups.group(x_.group)), b_(groups.group(y_.group)), to_(matched_axes()) {}

  // Why they cannot be one; null if they can.
  const char* reason_apart() const {
    if (x_.access != Access::Value || y_.access != Access::Value) return "one of its readers takes it only from memory";
    if (a_.contraction || b_.contraction) return "a contraction has an order of its own";
    if (a_.update || b_.update) return "one of its readers writes into a buffer that exists";
    if (a_.scan.has_value() != b_.scan.has_value()) return "one of its readers walks its lines in order, the other does not";
    if (!to_) return "its readers run over different points";
    if (a_.scan && !is_one(a_.scan->axis, b_.scan->axis)) return "its readers scan different dims";
    if (const char* reason = reductions_apart()) return reason;
    if (!accepts(merged_form(), groups_.options().target_of(node_->device())).accepted) return "no schedule takes what its readers would be together";
    if (groups_.depends(x_.group, y_.group) || groups_.depends(y_.group, x_.group)) return "one of its readers needs the other's result";
    return nullptr;
  }

  bool within_limits() const {
    const FusionLimits& limits = groups_.options().limits;
    return a_.members.size() + b_.members.size() <= static_cast<size_t>(limits.max_instrs) &&
           a_.cost + b_.cost <= limits.max_cost && a_.reductions() + b_.reductions() <= limits.max_reductions &&
           a_.buffer_count() + b_.buffer_count() <= limits.max_buffers;
  }

  // The second becomes part of the first.
  void merge() {
    b_.rewrite_maps([&](int axis, int64_t extent) { return Index::axis((*to_)[axis], extent); });
    a_.form = merged_form();
    if (!a_.reduction && b_.reduction) {
      std::vector<int> along;
      for (int axis : b_.reduction->axes) along.push_back((*to_)[axis]);
      a_.reduce_along(b_.reduction->tree, std::move(along));
    }
    for (Member& m : b_.members) a_.add(m.node, std::move(m.map), m.stored);
    a_.reads.insert(a_.reads.end(), b_.reads.begin(), b_.reads.end());
    b_.asked.for_each([&](const Node* node, std::vector<Request>& requests) { take_requests(node, requests); });
    a_.cost += b_.cost;
    for (const Op op : b_.shared) a_.shared.push_back(op);
    groups_.retire(y_.group, x_.group);
  }

 private:
  // Axis of b -> axis of a (-1: of a single point): those that index the same dim of the shared node; or, where both ask for the
  // elements of windows, the axes in their order if they then ask for the same. Nothing if the spaces are not one.
  std::optional<std::vector<int>> matched_axes() const {
    std::vector<int> to(b_.axes.size(), -1);
    if (a_.is_permutation(*node_, x_.map, a_.points()) && b_.is_permutation(*node_, y_.map, b_.points())) {
      for (size_t d = 0; d < y_.map.size(); ++d) {
        if (!(y_.map[d] == Index())) to[y_.map[d].axes()[0]] = x_.map[d].axes()[0];
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
      to[i] = static_cast<int>(next++);
    }
    skip_single();
    const auto renamed = [&](const Index& index) {
      return index.substitute([&](int axis, int64_t extent) { return Index::axis(to[axis], extent); });
    };
    const bool same = std::equal(x_.map.begin(), x_.map.end(), y_.map.begin(), y_.map.end(),
                                 [&](const Index& x, const Index& y) { return x == renamed(y); });
    if (!same || next < a_.axes.size()) return {};
    return to;
  }

  bool is_one(int axis_of_a, int axis_of_b) const {
    const int axis = (*to_)[axis_of_b];
    return axis < 0 ? a_.axes[axis_of_a].extent == 1 : axis == axis_of_a;
  }

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
      const bool known = std::any_of(asked.begin(), asked.end(), [&](const Request& k) {
        return k.map == r.map && k.access == r.access;
      });
      if (known) continue;
      r.group = x_.group;
      asked.push_back(std::move(r));
    }
  }

  Groups& groups_;
  const Node* node_;
  const Request x_, y_;
  Group &a_, &b_;
  const std::optional<std::vector<int>> to_;
};

// Readers that may become one group. If many do the same, as the steps of a loop do, eight are a team, and those left over are teams
// of four, two and one: if as many went together as fit, each number of steps would be other code.
class Teams {
 public:
  Teams(Groups& groups, std::span<const int> readers) {
    const auto repeated = [&](int g) { return groups.group(g).repeated; };
    if (readers.size() <= kTogether && std::none_of(readers.begin(), readers.end(), repeated)) return;
    teams_.assign(readers.size(), 0);
    std::unordered_map<uint64_t, std::vector<size_t>> alike;
    for (size_t r = 0; r < readers.size(); ++r) {
      Group& group = groups.group(readers[r]);
      group.repeated ? alone(r) : alike[kind_of(group)].push_back(r);
    }
    for (const auto& [kind, members] : alike) {
      if (members.size() <= kTogether) continue;
      for (size_t i = 0; i < members.size();) {
        const size_t count = std::min(kTeam, std::bit_floor(members.size() - i));
        ++last_;
        for (const size_t end = i + count; i < end; ++i) {
          teams_[members[i]] = last_;
          groups.group(readers[members[i]]).repeated = true;
        }
      }
    }
  }
  int of(size_t reader) const { return teams_.empty() ? 0 : teams_[reader]; }

 private:
  static constexpr size_t kTogether = 4, kTeam = 8;

  void alone(size_t reader) { teams_[reader] = ++last_; }

  // The same for groups that do the same to other values.
  static uint64_t kind_of(const Group& group) {
    uint64_t kind = 0;
    const auto add = [&](uint64_t number) { kind = (kind ^ number) * 0x9e3779b97f4a7c15 + (kind >> 29); };
    for (const GroupAxis& axis : group.axes) add(static_cast<uint64_t>(axis.extent) << 8 | static_cast<uint64_t>(axis.kind));
    for (const Member& member : group.members) {
      add(static_cast<uint64_t>(member.node->op()) << 16 | static_cast<uint64_t>(member.node->dtype()) << 8 | static_cast<uint64_t>(member.stored));
    }
    return kind;
  }

  std::vector<int> teams_;  // by reader; empty: all are one
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

// Each reader goes to the first group that takes it, of those of its team that still take some.
void merge_siblings(Groups& groups, const Node* node) {
  const NodeState& s = groups.state(node);
  if (s.readers.size() < 2) return;
  const SmallVector<int, 8> readers = groups.readers(s);
  const Teams teams(groups, readers);
  std::vector<std::pair<int, int>> open;  // groups, with their teams
  for (size_t r = 0; r < readers.size(); ++r) {
    const int g = readers[r], team = teams.of(r);
    Fit fit = Fit::Apart;
    const char* why = nullptr;
    const int first = open.empty() ? -1 : open.front().first;
    for (size_t i = 0; i < open.size() && fit != Fit::Merged; ++i) {
      if (open[i].second != team) continue;
      fit = try_merge(groups, node, open[i].first, g, &why);
      if (fit == Fit::Full) open.erase(open.begin() + static_cast<std::ptrdiff_t>(i--));
    }
    if (fit == Fit::Merged) continue;
    if (why) groups.refuse(node, {groups.group(first).asked.at(node)[0].consumer, groups.group(g).asked.at(node)[0].consumer}, why);
    open.emplace_back(g, team);
    if (open.size() > static_cast<size_t>(groups.options().limits.max_siblings)) open.erase(open.begin());
  }
}

}  // namespace tenon::passes::fusion
