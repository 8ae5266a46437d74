// Groups -> the order of their kernels: by what each loads, and with the readers of a base before its update.
#include <algorithm>
#include <set>

#include "passes/fusion/groups.h"

namespace tenon::passes::fusion {

namespace {

// Whether the group's result is its base with something replaced.
bool writes_over(const Group& g) { return g.update || (g.call && ir::writes_over(g.members.front().node->op())); }

const Node* base_of(const Group& g) { return buffer_behind(g.members.front().node->inputs()[0]); }

// The same kernels, but those that read what an Update writes over before it where that is possible: then it
// can take the memory over. An Update whose base others still wait to read runs when nothing else can.
std::vector<int> readers_first(const Groups& groups, const std::vector<int>& order) {
  std::vector<int> rank(groups.size(), 0), waits(groups.size(), 0), readers_left(groups.size(), 0);
  std::vector<std::vector<int>> followers(groups.size());
  std::unordered_map<const Node*, std::vector<int>> updates;  // by base
  for (int g : order) {
    if (writes_over(groups.group(g))) updates[base_of(groups.group(g))].push_back(g);
  }
  std::vector<std::vector<int>> delays(groups.size());  // the updates that wait for this reader
  for (size_t i = 0; i < order.size(); ++i) {
    const int g = order[i];
    rank[g] = static_cast<int>(i);
    std::vector<const Node*> loaded = groups.group(g).reads;
    std::erase_if(loaded, [&](const Node* node) { return groups.owner(node) == g; });
    std::ranges::sort(loaded);
    loaded.erase(std::unique(loaded.begin(), loaded.end()), loaded.end());
    for (const Node* node : loaded) {
      if (const int owner = groups.owner(node); owner >= 0) {
        followers[owner].push_back(g);
        ++waits[g];
      }
      auto found = updates.find(node);
      if (found == updates.end()) continue;
      for (int update : found->second) {
        if (update == g) continue;
        delays[g].push_back(update);
        ++readers_left[update];
      }
    }
  }
  const auto ready = [&](int g) { return std::pair(readers_left[g] > 0, rank[g]); };
  std::set<std::pair<std::pair<bool, int>, int>> queue;  // those that wait for readers last
  for (int g : order) {
    if (waits[g] == 0) queue.insert({ready(g), g});
  }
  std::vector<int> result;
  while (!queue.empty()) {
    const int g = queue.begin()->second;
    queue.erase(queue.begin());
    result.push_back(g);
    for (int update : delays[g]) {
      const bool queued = queue.erase({ready(update), update}) > 0;
      --readers_left[update];
      if (queued) queue.insert({ready(update), update});
    }
    for (int f : followers[g]) {
      if (--waits[f] == 0) queue.insert({ready(f), f});
    }
  }
  return result;
}

std::vector<int> by_dependence(const Groups& groups) {
  std::vector<int> result;
  std::vector<char> mark(groups.size(), 0);  // 1: open, 2: done
  for (size_t root = groups.size(); root-- > 0;) {
    if (!groups.alive(static_cast<int>(root))) continue;
    std::vector<std::pair<int, bool>> stack{{static_cast<int>(root), false}};
    while (!stack.empty()) {
      auto [g, leaving] = stack.back();
      stack.pop_back();
      char& m = mark[g];
      if (leaving) {
        m = 2;
        result.push_back(g);
        continue;
      }
      if (m == 2) continue;
      if (m == 1) throw ir::IrError("fusion: two kernels depend on each other");
      m = 1;
      stack.push_back({g, true});
      groups.for_each_source(g, [&](int d) {
        if (mark[d] == 1) throw ir::IrError("fusion: two kernels depend on each other");
        if (mark[d] == 0) stack.push_back({d, false});
      });
    }
  }
  return result;
}

}  // namespace

std::vector<int> order(const Groups& groups) {
  std::vector<int> order = by_dependence(groups);
  const bool writes = std::ranges::any_of(order, [&](int g) { return writes_over(groups.group(g)); });
  return writes ? readers_first(groups, order) : order;
}

}  // namespace tenon::passes::fusion
