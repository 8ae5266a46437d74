// The end of many definitions at once.
#pragma once

#include <vector>

#include "ir/graph.h"

namespace tenon::ir {

// Drops them and clears the vector, which keeps its memory: what only they kept alive dies together. Call without a lock.
void drop(std::vector<Definition>& definitions);

}  // namespace tenon::ir
