// A recipe: how values were computed from operands, without the nodes that computed them. A node forgets its operation
// when it is evaluated; a recipe does not. It is a list of steps in topological order, each with its operation,
// attributes, dtype and shape, and the numbers of the steps that it reads. Printed, it is a graph:
//
//   graph @MulBackward0(%a0: f32[2,3], %a1: f32[3]) {
//     %0 = reshape %a1 [1,3] : f32[1,3]
//     %1 = expand %0 [2,3] : f32[2,3]
//     %2 = mul %a0, %1 : f32[2,3]
//     return %2
//   }
//
// A Tape notes what make_node is asked for, before it folds: a fold may look through an operand at what made it
// (-(-x) is x), and a derivative must not. It knows operands and steps by their nodes. Equal nodes are one node, so where a
// step's would be that of an operand, or of a step that is another function of the operands, the step gets a node of its own.
#pragma once

#include <memory>

#include "ir/graph/graph.h"
#include "ir/graph/graph_map.h"

namespace tenon::ir {

// It holds no nodes but the leaves: values that are neither operands nor constants, such as the draws of a dropout. Copies
// share all else.
class Recipe {
 public:
  struct Step {
    Op op;  // Input: an operand or a leaf
    DType dtype;
    DeviceTag device;
    uint32_t rank, int_count, input_count;
    uint32_t first;  // of its shape, ints and inputs, one behind the other, in the recipe's numbers
    bool operator==(const Step&) const = default;
  };
  struct Leaf {
    uint32_t step;
    NodeRef value;
  };
  using Numbers = SmallVector<uint32_t, 4>;
  static constexpr uint32_t kUnused = UINT32_MAX;

  const std::vector<Step>& steps() const { return body_->steps; }
  std::span<const int64_t> shape(const Step& s) const { return part(s.first, s.rank); }
  std::span<const int64_t> ints(const Step& s) const { return part(s.first + s.rank, s.int_count); }  // Const: its bits
  std::span<const int64_t> inputs(const Step& s) const { return part(s.first + s.rank + s.int_count, s.input_count); }
  const Numbers& operands() const { return body_->operands; }  // their steps; kUnused if no output depends on one
  const std::vector<Leaf>& leaves() const { return leaves_; }
  const Numbers& outputs() const { return body_->outputs; }  // their steps

  using Flags = SmallVector<uint8_t, 32>;  // by operand

  // Whether the first of equal maxima or minima along one dim takes the whole gradient. Otherwise they share it.
  bool first_of_ties() const { return body_->first_of_ties; }

  // The hash of the steps, not of the values of leaves.
  uint64_t hash() const { return body_->hash; }
  bool has_steps_of(const Recipe& other) const;

  void cast_output(size_t output, DType to);  // the output is what it was, in another dtype
  void replace_leaf(size_t leaf, NodeRef value) { leaves_[leaf].value = std::move(value); }

 private:
  friend class Tape;
  struct Body {
    std::vector<Step> steps;
    std::vector<int64_t> numbers;
    Numbers operands, outputs;
    bool first_of_ties = false;
    uint64_t hash = 0;

    void find_hash();
    bool operator==(const Body&) const = default;
  };
  static const std::shared_ptr<const Body>& nothing();
  std::span<const int64_t> part(size_t first, size_t count) const { return std::span(body_->numbers).subspan(first, count); }

  std::shared_ptr<const Body> body_ = nothing();
  std::vector<Leaf> leaves_;
};

// Records the steps again, over these values, and gives the outputs and, if asked for, each step's node. Values of unused operands
// may be null. Throws IrError if a value is missing or has another dtype or shape than its operand had.
std::vector<NodeRef> replay(const Recipe& recipe, std::span<const NodeRef> operands, Folding folding = Folding::On,
                            std::vector<NodeRef>* steps = nullptr);

// Inputs are the operands, named a0, a1, ... by their numbers, and then the leaves, l0, l1, ...
Graph as_graph(const Recipe& recipe, std::string name);

// What one thread asks of make_node, while it stands in `current`.
class Tape {
 public:
  [[gnu::tls_model("initial-exec")]] static constinit thread_local Tape* current;

  // What make_node was asked for.
  struct Request {
    Op op;
    std::span<const NodeRef> inputs;
    std::span<const int64_t> ints;
    DType dtype;
  };

  // The next operand. False if the node is known already and cannot be told apart: then no step reads this operand.
  bool operand(const NodeRef& node);
  void unused_operand() { operands_.push_back(kUnknown); }
  bool knows(const NodeRef& node) { return find(node) != kUnknown; }
  void leaf(const NodeRef& node) { number_of(node); }       // is none of the steps to come
  bool reads_leaf(const NodeRef& node);                     // does a step?
  void same(const NodeRef& copy, const NodeRef& original);  // one value in two nodes, the second one known
  void define(const NodeRef& leaf, const NodeRef& made);    // a leaf turns out to be what steps made

  // May the made node stand for the step, or is it known as another function of the operands, with the same value only
  // because of what lies behind them?
  bool may_stand_for(const Request& request, const NodeRef& made);
  void note(const Request& request, const NodeRef& made);

  Recipe cut(std::span<const NodeRef> outputs, bool first_of_ties = false);        // what the outputs need
  const NodeRef& made(uint32_t step) const { return entries_[made_[step]].node; }  // of the recipe that was cut
  void clear();                                                                    // and keeps its memory for the next use
  bool is_large() const { return entries_.capacity() > 4096; }                     // so that its memory is better given back

 private:
  static constexpr uint32_t kUnknown = UINT32_MAX, kOnStack = UINT32_MAX - 1;
  static constexpr size_t kFew = 24;  // nodes that are found by looking at each
  struct Entry {
    NodeRef node;
    Op op;  // Input: an operand or a leaf
    DType dtype;
    bool is_operand = false, is_read = false;
    uint32_t same_as = kUnknown;  // of a defined leaf
    Dims ints = {};
    SmallVector<uint32_t, 3> inputs = {};
  };

  uint32_t find(const NodeRef& node);
  uint32_t number_of(const NodeRef& node);
  uint32_t resolved(uint32_t entry) const;
  uint32_t add(Entry entry);
  bool is_identity(const Request& request, uint32_t known);
  NodeRef over_placeholders(const Request& request, uint32_t known);
  void append(const Entry& entry);

  std::vector<Entry> entries_;
  std::vector<const Node*> nodes_;  // of the entries
  NodeMap<uint32_t> numbers_;       // where to find them if they are more than a few
  Recipe::Numbers operands_;
  // While it cuts:
  struct Visit {
    uint32_t entry;
    uint32_t next;  // the input to look at next
  };
  std::vector<Visit> stack_;
  std::vector<uint32_t> step_of_;  // by entry
  std::vector<uint32_t> made_;     // by step: its entry
  std::vector<Recipe::Step> steps_;
  std::vector<int64_t> step_numbers_;
};

// No step is noted while one of these lives.
class PausedTape {
 public:
  PausedTape() : tape_(Tape::current) {
    if (tape_) Tape::current = nullptr;
  }
  ~PausedTape() {
    if (tape_) Tape::current = tape_;
  }
  PausedTape(const PausedTape&) = delete;
  PausedTape& operator=(const PausedTape&) = delete;
  Tape* get() const { return tape_; }

 private:
  Tape* const tape_;
};

}  // namespace tenon::ir
