// The pending graph under some roots, walked once: a canonical numbering of its nodes, and a key that two
// graphs share exactly when one plan serves both. Not in the key: which buffers the inputs are, and the
// values of constants, unless a pass could turn them into other code (0, 1, -1 and the fill of a pad).
//
//   for each node   op 0..7 | dtype 8..15 | device 16..23 | flags 24..31
//                   inputs 0..31 | ints (leaf: rank) 32..63
//                   input numbers, ints, the shape of a leaf,
//                   the bits of a constant that changes the code or is the fill of a pad
//   at the end      the numbers of the roots
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ir/graph.h"

namespace tenon::runtime {

struct GraphKey {
  std::vector<ir::Node*> nodes;  // operands first; a node's number is its place here
  std::vector<int32_t> roots;    // numbers, in the order given
  std::vector<uint64_t> words;   // the key itself
  bool pending = false;          // some root still has to be computed

  // Fills all of it; the vectors keep their memory from one call to the next. `salt` is the first word: the
  // options that change code. Call under the evaluation lock (it uses Node::mark). Throws std::runtime_error
  // for an input without data or a device that is not a CPU.
  void read(std::span<const ir::NodeRef> roots, uint64_t salt, bool inputs_have_data = true);
  int32_t number(
      const ir::Node* node) const;  // of a node in `nodes`; -1 for others; until the next read of any key

 private:
  struct Visit {
    ir::Node* node;
    uint32_t next;
  };
  void finish(ir::Node* node);
  void check_leaf(const ir::Node& node) const;

  std::vector<Visit> stack_;
  uint64_t epoch_ = 0;
  bool inputs_have_data_ = true;
};

// Whether passes may turn a constant of this value into code of its own.
bool changes_code(ir::DType dtype, uint64_t bits);

}  // namespace tenon::runtime
