// Where a node's operands are read: the one place that says it for each op. Private to passes/fusion/.
#pragma once

#include <vector>

#include "passes/fusion/group.h"

namespace tenon::passes::fusion {

struct Read {
  Node* operand;
  Map map;  // of the operand's element; nothing for a buffer that is read anywhere
  Access access = Access::Value;
  std::vector<Guard> guards = {};  // in the group's axes: where the element is there
};
// The operands of `node`, computed in group g at `map`, in their order; the buffers if it is a call. Views of an operand
// are not looked through. Constants that are arguments of a call are left out.
std::vector<Read> reads(const Group& g, const Node& node, const Map& map);

}  // namespace tenon::passes::fusion
