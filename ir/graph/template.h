// A graph over operands and numbers, kept to be made again over others: what a training step records each time round in the same
// way. It knows the type of each node, so making it again infers nothing; and what the rules of fold.cpp make of nodes that
// read no operand and no number is known too. The nodes are those that make_node gives.
//
//   graph(%p: f32[8], %g: f32[8], n)       made over %w, %1 and 0.1
//     %0 = const n : f32[8]                  %2 = const 0.1 : f32[8]
//     %1 = mul %g, %0 : f32[8]               %3 = mul %1, %2 : f32[8]
//     %2 = add %p, %1 : f32[8]               %4 = add %w, %3 : f32[8]
//     return %2                              return %4
#pragma once

#include "ir/graph/graph.h"

namespace tenon::ir {

class Template {
 public:
  // The operands are inputs, without data and each another one. Outputs may be undefined.
  Template(std::span<const NodeRef> operands, std::span<const NodeRef> outputs);

  // False if the outputs hang on an input that is no operand: then it cannot be made.
  bool is_closed() const { return closed_; }
  // `other` was recorded as this one was, with other numbers. Each constant in which they differ is one of the numbers from then on;
  // false if one is none, or if the graphs differ.
  bool find_numbers(const Template& other, std::span<const double> numbers, std::span<const double> other_numbers);
  // Appends the outputs. The operands have the types of those that it was recorded with, and no tape listens.
  void make(std::span<const NodeRef> operands, std::span<const double> numbers, std::vector<NodeRef>& outputs) const;

 private:
  struct Step {
    Op op;
    DType dtype;
    DeviceTag device;
    bool commutes;
    int32_t number;       // Const: of which number, if it is one; or -1
    int32_t constant;     // Const: which of the constants; or -1
    uint64_t bits, seed;  // seed: what the hash of the node begins with
    int64_t numel;
    Dims shape, ints;
    SmallVector<uint32_t, 3> inputs;  // the operands come first, then the steps
  };
  // Numbers mostly stay as they are from one time to the next, so the last constant is kept.
  struct LastConstant {
    NodeRef node;
    double number;  // that it was made of, if it is of one
    bool plain;     // the rules make nothing special of it, or of the number that stood there when this was recorded: the same
  };
  class Making;
  static bool same_form(const Step& a, const Step& b);

  static constexpr uint32_t kUndefined = UINT32_MAX;
  size_t operand_count_;
  std::vector<Step> steps_;
  mutable std::vector<LastConstant> constants_;  // under the lock of the table
  std::vector<uint32_t> outputs_;
  std::vector<uint32_t> uses_;  // of each operand, then of each step: how often it is read or an output
  bool closed_ = true;
};

}  // namespace tenon::ir
