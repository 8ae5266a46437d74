// Random graphs whose extents reach every path of the schedules: several vectors and tiles, blocks of columns side by side,
// rows longer than a block, many short rows, products with long epilogues. All values lie in a frame of a few dims, or
// are broadcast to it, so that much of a graph is one kernel. Everything follows from the seed alone.
#pragma once

#include <cstdint>

#include "ir/graph/graph.h"

namespace tenon::test {

struct LargeGraphOptions {
  int64_t max_numel = 60'000;       // of any node, roughly
  int64_t max_product = 1'000'000;  // multiplications of a dot
  bool transcendental = true;       // ops whose generated code may differ from libm in the last bits
  bool contractions = true;
};

ir::Graph large_graph(uint64_t seed, const LargeGraphOptions& options = {});

}  // namespace tenon::test
