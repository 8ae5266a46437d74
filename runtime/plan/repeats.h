// Finds where a graph says the same over and over: a program's loop, recorded round after round, and its gradient.
//
//   h1 = tanh(x1 + h0 @ w)
//   h2 = tanh(x2 + h1 @ w)         { begin: the nodes of h2, period: 3, count: 79 }
//   ...
//   h80 = tanh(x80 + h79 @ w)
#pragma once

#include <span>
#include <vector>

#include "ir/graph/graph.h"

namespace tenon::runtime {

struct Repeat {
  size_t begin;   // the first node
  size_t period;  // nodes of one round
  size_t count;   // rounds
};

// The repeats among these nodes, which are in the order of their creation; each repeat behind the one before. Takes about linear time.
std::vector<Repeat> find_repeats(std::span<const ir::Node* const> nodes);

}  // namespace tenon::runtime
