// One direction of a recurrent layer as one operation of the graph (ops.def), and what it is made of: a step, which is run for each
// row of a sequence on what the row before it gave. So a graph does not grow with the sequence.
//
//   made = recurrent x [T, B, G], h [B, H], weight [G, H]:     made[t] = step(x[t], made[t - 1], weight), and made[-1] is h
//
// The results of all rows lie in one value, block after block: an LSTM's are all c, [T, B, H], then all h.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <vector>

#include "ir/graph/graph.h"

namespace tenon::ir {

// G is H times the gates: 1, 1, 4 (input, forget, cell, output) and 3 (reset, update, new).
enum class RecurrentCell : uint8_t { Tanh, Relu, Lstm, Gru };
constexpr int64_t gate_count(RecurrentCell cell) { return cell == RecurrentCell::Lstm ? 4 : cell == RecurrentCell::Gru ? 3 : 1; }

// Shapes and dtypes as in ops.def. The last row is the first to be computed if it goes backwards.
struct RecurrentOperands {
  RecurrentCell cell;
  bool backwards = false;
  NodeRef h, c = {};  // c of an LSTM
  NodeRef weight;
};

// `all`: what the gradients read too. The blocks are then the gates and c of an LSTM, or the gates of a GRU and what h contributes to
// the last of them; before h. Otherwise they are h, and before it c of an LSTM.
NodeRef recurrent(const RecurrentOperands& operands, const NodeRef& x, const NodeRef& bias, bool all);
// Takes all that was made of x, and the gradients of all h and all c, [T, B, H] (that of c may be null). The blocks are the gradients of
// x, those of what a GRU's gates read of h, then those of h and c of the row before.
NodeRef recurrent_gradient(const RecurrentOperands& operands, const NodeRef& made, const NodeRef& h_gradient, const NodeRef& c_gradient);

// Block k of such a node, [T, B, its columns]; the last ones count from -1.
NodeRef recurrent_block(const NodeRef& made, int64_t k);

Dims recurrent_shape(Op op, std::span<const NodeRef> inputs, std::span<const int64_t> ints);  // throws IrError

// A step over inputs without data, and what they are in the step for row i.
struct RecurrentStep {
  struct Source {
    static constexpr int32_t kMade = -1;
    int32_t operand;     // kMade: what the operation has made so far
    bool whole = true;   // all of the operand, in each step; or
    int64_t before = 0;  // row i + shift of the block behind those that have this many elements for each row,
    int64_t shift = 0;
    int32_t outside = -1;  // and where there is no such row, all of this operand
  };
  std::vector<NodeRef> inputs;
  std::vector<Source> sources;   // parallel to them
  std::vector<NodeRef> outputs;  // by block
  std::vector<int64_t> before;   // parallel to them: how many elements the blocks of the result before theirs have for each row
  bool last_first;               // the last row's step is the first
};
RecurrentStep recurrent_step(const Node& node);  // the same for any number of rows
int64_t recurrent_rows(const Node& node);

}  // namespace tenon::ir
