// Groups that write into a base. x[3] += 1 is one kernel that reads and writes row 3 of x; a value that depends on
// other places of x is computed before, by a kernel of its own.
#include <algorithm>

#include "passes/fusion/groups.h"

namespace tenon::passes::fusion {

namespace {

// How the elements of `value` at `map` depend on the buffer of `base`, of which `place` is the place that they will be
// stored at. A large expression counts as reading elsewhere.
BaseReads reads_of_base(Node* value, const Map& map, const Node* base, const Index& place) {
  constexpr size_t kMost = 256;
  struct Visit {
    const Node* node;
    Map map;
    bool known;  // the map; not below reductions, gathers and the like
  };
  std::vector<Visit> visits{{value, map, true}};
  BaseReads result = BaseReads::Nothing;
  for (size_t next = 0; next < visits.size(); ++next) {
    if (next == kMost) return BaseReads::Elsewhere;
    const Visit visit = visits[next];
    const Node* node = visit.node;
    if (node == base) {
      if (!visit.known || !(ir::flatten(visit.map, node->shape()) == place)) return BaseReads::Elsewhere;
      result = BaseReads::SamePlace;
      continue;
    }
    for (const Node* input : node->inputs()) {
      if (input->id() < base->id()) continue;  // older than the base: does not depend on it
      const bool known = visit.known && (is_view(node->op()) || ir::is_elementwise(node->op()));
      Map at = !known ? Map{} : is_view(node->op()) ? through_view(*node, visit.map) : visit.map;
      const bool seen = std::ranges::any_of(visits, [&](const Visit& v) { return v.node == input && v.known == known && v.map == at; });
      if (!seen) visits.push_back({input, std::move(at), known});
    }
  }
  return result;
}

}  // namespace

void start_update(Groups& groups, Node* node) {
  const int g = groups.add_group();
  Group& fresh = groups.group(g);
  Node* value = node->inputs()[1];
  Node* base = buffer_behind(node->inputs()[0]);
  Map map = fresh.add_axes_of(value->shape());
  const BaseReads reads = reads_of_base(value, map, base, update_place(*node, map));
  fresh.update = Update{reads, reads == BaseReads::Elsewhere && value != base};
  if (fresh.update->from_memory) groups.refuse(value, {node}, "it depends on other places of what its reader writes");
  groups.place(g, node, std::move(map), true);
}

}  // namespace tenon::passes::fusion
