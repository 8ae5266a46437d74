// Nodes in the place of others: what reads them is made again on the new ones. Nothing folds, so nothing else changes.
//
//   substitution.replace(%c, %hidden)        %1 = mul %x, %c   ->   %1 = mul %x, %hidden
#pragma once

#include <vector>

#include "ir/graph/graph_map.h"
#include "passes/graph/rebuild_graph.h"

namespace tenon::passes {

class Substitution {
 public:
  void replace(const ir::Node* node, ir::NodeRef by) { changed_[node] = std::move(by); }
  bool empty() const { return changed_.size() == 0; }

  // Call it for the nodes in order, operands first. The first `operands` of the node get their new versions, -1: all.
  void rebuild(ir::Node* node, int operands = -1) {
    operands_.clear();
    for (ir::Node* input : node->inputs()) {
      const bool kept = operands >= 0 && operands_.size() >= static_cast<size_t>(operands);
      operands_.push_back(kept ? ir::NodeRef(input) : of(input));
    }
    ir::NodeRef made = remake_as_is(*node, operands_);
    if (made.get() != node) changed_[node] = std::move(made);
  }

  ir::NodeRef of(ir::Node* node) const {
    const ir::NodeRef* by = changed_.find(node);
    return by ? *by : ir::NodeRef(node);
  }
  std::vector<ir::NodeRef> of(const std::vector<ir::NodeRef>& nodes) const {
    std::vector<ir::NodeRef> result;
    for (const ir::NodeRef& node : nodes) result.push_back(of(node.get()));
    return result;
  }

 private:
  ir::NodeMap<ir::NodeRef> changed_;
  std::vector<ir::NodeRef> operands_;  // of the node at hand
};

}  // namespace tenon::passes
