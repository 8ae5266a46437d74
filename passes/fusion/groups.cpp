// The groups and what has been asked of whom.
#include <algorithm>
#include <utility>

#include "passes/fusion/groups.h"
#include "passes/fusion/reads.h"

namespace tenon::passes::fusion {

Groups::Groups(const std::vector<ir::NodeRef>& outputs, const FusionOptions& options) : options_(options) {
  order_ = ir::topological_order(outputs);
  state_.resize(order_.size());
  for (size_t i = 0; i < order_.size(); ++i) position_[order_[i]] = i;
  for (const ir::NodeRef& output : outputs) state(output.get()).output = true;
}

int Groups::add_group() {
  groups_.emplace_back();
  merged_into_.push_back(-1);
  return static_cast<int>(groups_.size()) - 1;
}

void Groups::retire(int g, int into) {
  group(g) = Group{};
  merged_into_[g] = into;
}

int Groups::living(int g) const {
  if (g < 0 || alive(g)) return g;
  int last = g;
  while (!alive(last)) last = merged_into_[last];
  while (g != last) g = std::exchange(merged_into_[g], last);  // shorter ways for the next time
  return last;
}

void Groups::begin_walk() const {
  met_.resize(groups_.size());
  ++walk_;
}

SmallVector<int, 8> Groups::readers(const NodeState& s) const {
  SmallVector<int, 8> result;
  begin_walk();
  for (int g : s.readers) {
    if (meet(living(g))) result.push_back(living(g));
  }
  return result;
}

void Groups::collect_requests(const Node* node) {
  NodeState& s = state(node);
  s.requests.clear();
  for (int g : readers(s)) {
    const std::vector<Request>& asked = group(g).asked.at(node);
    s.requests.insert(s.requests.end(), asked.begin(), asked.end());
  }
}

void Groups::read_whole(int g, const Node* node) {
  state(node).whole = true;
  group(g).reads.push_back(node);
}

void Groups::place(int g, Node* node, Map map, bool stored, Access as) {
  Group& into = group(g);
  state(node).owner = g;
  into.cost += ir::info(node->op()).cost;
  if (is_view(node->op())) {  // an output that is a view: a copy through the index map
    request_through(*node, {g, map, node, as});
  } else {
    for (Read& r : reads(into, *node, map)) {
      if (r.access == Access::Whole) {
        read_whole(g, r.operand);
      } else {
        ask(r.operand, g, std::move(r.map), node, r.access == Access::Value ? as : r.access);
      }
    }
  }
  into.add(node, std::move(map), stored);
}

void Groups::ask(Node* node, int g, Map map, const Node* consumer, Access access) {
  // A reader finds the same element at equal maps once; views and leaves resolve at kernel building.
  std::vector<Request>& asked = group(g).asked[node];
  if (asked.empty()) {
    state(node).readers.push_back(g);
    if (!is_view(node->op())) group(g).reads.push_back(node);
  }
  for (const Request& r : asked) {
    if (r.map == map && r.access == access) return;
  }
  asked.push_back({g, std::move(map), consumer, access});
}

void Groups::request_through(const Node& view, const Request& r) {
  Access access = r.access;
  if (view.op() == Op::Strided && access == Access::Value && overlaps(view)) access = Access::Window;
  ask(view.inputs()[0], r.group, through_view(view, r.map), r.consumer, access);
}

bool Groups::depends(int from, int to) const { return depends(from, std::span(&to, 1)); }

bool Groups::depends(int from, std::span<const int> others) const {
  begin_walk();
  stack_.assign(1, from);
  while (!stack_.empty()) {
    const int g = stack_.back();
    stack_.pop_back();
    if (!meet(g)) continue;
    if (g != from && std::ranges::find(others, g) != others.end()) return true;
    for_each_source(g, [&](int source) { stack_.push_back(source); });
  }
  return false;
}

bool Groups::refuse(const Node* producer, std::vector<const Node*> readers, std::string_view reason, std::string where) {
  refusals_.push_back({producer, std::move(readers), reason, std::move(where)});
  return false;
}

bool Groups::refuse(const Node* producer, std::string_view reason, std::string where) {
  std::vector<const Node*> readers;
  for (const Request& r : state(producer).requests) {
    if (std::ranges::find(readers, r.consumer) == readers.end()) readers.push_back(r.consumer);
  }
  return refuse(producer, std::move(readers), reason, std::move(where));
}

}  // namespace tenon::passes::fusion
