// Which group reads what others compute, and the order of the kernels that follows. Private to
// passes/fusion/.
#pragma once

#include <deque>
#include <functional>
#include <vector>

#include "passes/fusion/group.h"

namespace tenon::passes::fusion {

class Dependences {
 public:
  using Owner = std::function<int(const ir::Node*)>;  // the group that computes a node; -1 if none does
  Dependences(const std::deque<Group>& groups, Owner owner) : groups_(groups), owner_(std::move(owner)) {}

  // Whether group `from` reads, directly or through others, something that group `to` computes.
  bool depends(int from, int to) const;
  // The living groups, each behind those that it reads; what an Update writes over is read before it where
  // that is possible: then it can take the memory over.
  std::vector<int> order() const;

 private:
  const Group& group(int g) const { return groups_[static_cast<size_t>(g)]; }
  std::vector<int> reads(int g) const;
  std::vector<const ir::Node*> loads(int g) const;
  std::vector<int> by_dependence() const;
  std::vector<int> readers_first(const std::vector<int>& order) const;
  const ir::Node* base_of(int g) const;

  const std::deque<Group>& groups_;
  Owner owner_;
};

}  // namespace tenon::passes::fusion
