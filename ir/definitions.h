// The end of many definitions at once, and how many nodes have one still to be computed.
#pragma once

#include <vector>

#include "ir/graph.h"

namespace tenon::ir {

// Drops them and clears the vector, which keeps its memory: what only they kept alive dies together. Call without a lock.
void drop(std::vector<Definition>& definitions);

int64_t pending_count();  // nodes of the process that are still to be computed

}  // namespace tenon::ir
