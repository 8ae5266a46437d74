// What the rooms of the walk share: the groups, who has asked for what, what was refused. Private to passes/fusion/.
#pragma once

#include <deque>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "ir/graph/graph_map.h"
#include "passes/fusion/group.h"

namespace tenon::passes::fusion {

struct NodeState {
  std::vector<int> readers;       // groups that have asked for its elements; some may have been merged since
  std::vector<Request> requests;  // theirs, collected when the node is met
  int owner = -1;                 // group that computes it; -1: not computed (leaf, view or dead)
  bool output = false;
  bool whole = false;  // its buffer is read whole
  bool piece = false;  // of a long sum: stored, for any reader
};

class Groups {
 public:
  Groups(const std::vector<ir::NodeRef>& outputs, const FusionOptions& options);

  const FusionOptions& options() const { return options_; }
  const std::vector<Node*>& order() const { return order_; }  // operands first
  size_t size() const { return groups_.size(); }
  Group& group(int g) { return groups_[g]; }
  const Group& group(int g) const { return groups_[g]; }
  int add_group();
  bool alive(int g) const { return merged_into_[g] < 0; }
  void retire(int g, int into);  // its contents have become part of `into`
  NodeState& state(const Node* node) { return state_[*position_.find(node)]; }
  const NodeState& state(const Node* node) const { return state_[*position_.find(node)]; }

  int living(int g) const;                                                 // the group that g has become part of in the end; -1 of -1
  int owner(const Node* node) const { return living(state(node).owner); }  // -1 if none computes it
  SmallVector<int, 8> readers(const NodeState& s) const;                   // the living groups that have asked for the node, each once
  void collect_requests(const Node* node);

  void read_whole(int g, const Node* node);
  // Makes `node` a member of group g at `map` and asks for its operands. `as`: what it stands for in its reader.
  void place(int g, Node* node, Map map, bool stored, Access as = Access::Value);
  void ask(Node* node, int g, Map map, const Node* consumer, Access access);
  // Asks for the operand of a view. What overlapping windows read is not computed again for each of them.
  void request_through(const Node& view, const Request& r);

  // Whether group `from` reads, directly or through others, something that group `to` computes.
  bool depends(int from, int to) const;
  bool depends(int from, std::span<const int> others) const;  // on one of them other than itself
  template <typename F>
  void for_each_source(int g, F f) const {  // the groups whose buffers group g loads; some more than once
    for (const Node* node : group(g).reads) {
      const int source = owner(node);
      if (source >= 0 && source != g) f(source);
    }
  }

  // Notes why two nodes are not in one kernel; false. `where`: the axis or dim that it is about, if it is about one.
  bool refuse(const Node* producer, std::vector<const Node*> readers, std::string_view reason, std::string where = {});
  bool refuse(const Node* producer, std::string_view reason, std::string where = {});  // by all its readers
  std::vector<Refusal> take_refusals() { return std::move(refusals_); }

 private:
  void begin_walk() const;
  bool meet(int g) const { return std::exchange(met_[g], walk_) != walk_; }  // for the first time

  const FusionOptions& options_;
  std::vector<Node*> order_;
  ir::NodeMap<size_t> position_;
  std::vector<NodeState> state_;
  std::deque<Group> groups_;
  mutable std::vector<int> merged_into_;  // by group; -1 while it lives
  // By group, the number of the walk that met it last: the current walk has met those whose mark is its number.
  mutable std::vector<uint64_t> met_;
  mutable uint64_t walk_ = 0;
  mutable std::vector<int> stack_;
  std::vector<Refusal> refusals_;
};

// updates.cpp: a group whose root is an Update.
void start_update(Groups& groups, Node* node);
// join.cpp: the node becomes a member of its readers' group if they agree on group and map and a schedule accepts what
// comes out; false, with the reason noted, if not.
bool try_join(Groups& groups, Node* node, bool stored);
// siblings.cpp: groups that read the same elements of `node` over the same space become one kernel.
void merge_siblings(Groups& groups, const Node* node);
// long_sums.cpp: says of which sums of many terms the partial sums are stored (NodeState::piece).
void find_long_sums(Groups& groups);
// order.cpp: the living groups, each behind those that it reads.
std::vector<int> order(const Groups& groups);

}  // namespace tenon::passes::fusion
