// The end of many definitions at once, what kept ones refer to, and how many nodes have one still to be computed.
#pragma once

#include <vector>

#include "ir/graph/graph.h"

namespace tenon::ir {

// Drops them and clears the vector, which keeps its memory: what only they kept alive dies together. Call without a lock.
void drop(std::vector<Definition>& definitions);

// Nodes that keep a definition under a number, and how many of the references to each go as soon as all of these are dropped. Until then those
// mean nothing: who computes one of these nodes again computes all of them again. For a caller that holds the graph (ir::hold_graph).
struct KeptReferences {
  Node* node;
  uint32_t count;
};
std::vector<KeptReferences> references_of_kept_definitions(uint64_t number);

int64_t pending_count();  // nodes of the process that are still to be computed

}  // namespace tenon::ir
