// Groups -> the order of their kernels: by what each loads, and with the readers of a base before its update.
#include "passes/fusion/order.h"

#include <algorithm>
#include <set>

namespace tenon::passes::fusion {

using ir::Node;
using ir::Op;

namespace {

// Whether the group's result is its base with something replaced.
bool writes_over(const Group& g) {
  return g.update || (g.routine && ir::writes_over(g.members.front().node->op()));
}

}  // namespace

bool Dependences::depends(int from, int to) const {
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
std::vector<int> Dependences::reads(int g) const {
  std::vector<int> result;
  for (const Node* node : loads(g)) {
    int owner = owner_(node);
    if (owner >= 0 && owner != g) result.push_back(owner);
  }
  return result;
}

// The nodes that group g does not compute but reads; those that are in no buffer are among them.
std::vector<const Node*> Dependences::loads(int g) const {
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
        input = routine_source(*m.node, input);
      } else {
        while (is_view(input->op())) input = input->inputs()[0];
      }
      if (owner_(input) != g) result.push_back(input);
    }
  }
  return result;
}

std::vector<int> Dependences::order() const {
  std::vector<int> order = by_dependence();
  const bool writes = std::any_of(groups_.begin(), groups_.end(), writes_over);
  return writes ? readers_first(order) : order;
}

// The same kernels, but those that read what an Update writes over before it where that is possible: then it
// can take the memory over. An Update whose base others still wait to read runs when nothing else can.
std::vector<int> Dependences::readers_first(const std::vector<int>& order) const {
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
      if (int owner = owner_(node); owner >= 0) {
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
  const auto ready = [&](int g) {
    return std::pair(readers_left[static_cast<size_t>(g)] > 0, rank[static_cast<size_t>(g)]);
  };
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

const Node* Dependences::base_of(int g) const {
  return buffer_behind(group(g).members.front().node->inputs()[0]);
}

std::vector<int> Dependences::by_dependence() const {
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
        if (mark[static_cast<size_t>(d)] == 1) throw ir::IrError("fusion: two kernels depend on each other");
        if (mark[static_cast<size_t>(d)] == 0) stack.push_back({d, false});
      }
    }
  }
  return result;
}

}  // namespace tenon::passes::fusion
