// GradFn: what an operation leaves behind for the backward pass. Where the gradients of its operands go (edges), how its
// results were computed (the recipe, or a rule of its own), and the values that this needs. backward.h makes gradients of it.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "frontend/src/autograd/segment.h"
#include "ir/graph/recipe.h"
#include "tenon/autograd.h"

namespace tenon {

class GradCall;
class GradFn;
struct History;

// A gradient rule that stands for the recipe's: see GradScope::rule.
using GradRule = std::function<void(GradCall&)>;
// What a rule of its own reads: operands by number, outputs, of which the first may be the only one. Indices: results that are no
// floats.
enum Reads : uint32_t { kReadsNothing = 0, kReadsFirstOutput = 1u << 29, kReadsIndices = 1u << 30, kReadsOutput = 1u << 31 };
constexpr uint32_t reads_operand(size_t i) { return i < 29 ? 1u << i : 0; }

// What the user wants to be called with a gradient, in order; each may return another one for it.
struct TensorHooks {
  struct Hook {
    unsigned number;
    Function<Tensor(const Tensor&)> call;
  };
  std::vector<Hook> list;
  unsigned next = 0;
};

// From an operation to an operand that requires grad.
struct Edge {
  std::shared_ptr<GradFn> fn;                                          // that made the operand; null if it is a leaf
  int64_t output_nr = 0;                                               // which of the fn's outputs
  Tensor leaf;                                                         // defined if the operand is a leaf
  size_t operand = 0;                                                  // its number in the operation
  NodeRef zeros = {};                                                  // its gradient, if the results do not depend on it: overwritten, say
  mutable std::shared_ptr<autograd::AccumulateGrad> accumulator = {};  // of the leaf, once somebody has asked: with its hooks
};

struct SavedValue {
  enum class Of : uint8_t { Operand, Output, Step, Index };
  Of of;
  uint32_t number;  // of the operand, the output, or the step of the recipe
  KeptValue value;
  VersionWatch version;  // a write to an operand or output is an error
};

// What PyTorch's operation saves and this one does not read.
struct WatchedValue {
  SavedValue::Of of;
  uint32_t number;
  DType dtype;
  ir::DeviceTag device;
  Dims shape;
  VersionWatch version;
};

class GradFn final : public autograd::Node, public std::enable_shared_from_this<GradFn> {
 public:
  explicit GradFn(std::string_view name);
  ~GradFn() override;                 // iterative: a history may be a million operations long
  std::string name() const override;  // Python's or LibTorch's, by the print style
  std::string_view literal_name() const { return name_; }
  void becomes_in_place();  // what made a view reshapes the tensor itself
  autograd::edge_list next_edges() const override;
  uint32_t num_inputs() const override { return static_cast<uint32_t>(output_count); }
  uint64_t sequence_nr() const override { return sequence; }

  void check_saved() const;  // Error if something saved was written meanwhile or is released
  void release();            // the saved values, for good

  std::vector<Edge> edges;
  int64_t output_count = 0;
  const uint64_t sequence;                             // of all that were recorded, in order
  const std::vector<void*> forward_stack;              // the calls on which it was recorded, if anomaly mode was on
  const std::shared_ptr<const GradFn> induced_by;      // then: whose backward pass recorded it
  static const GradFn* set_running(const GradFn* fn);  // whose backward pass this thread runs; gives the one before

  // How the outputs, by output_nr, were computed from the operands: all of the scope's tensors in their order. An output
  // that is one of the leaves, or an operand that is not used, has no derivative that the operations tell: the values
  // were computed on the host, or the bits were read as another type. No outputs at all: nothing is known.
  ir::Recipe recipe;
  GradRule rule;             // in the recipe's place
  uint64_t rule_number = 0;  // of a call that is replayed: which rule it is (replayed_rule.h)
  std::vector<SavedValue> saved;
  std::vector<WatchedValue> watched;  // beside the saved ones
  bool reads_leaves = false;          // of the recipe
  bool once = false;                  // a backward pass lets go of it, though it saves nothing
  bool keeps_all = false;             // no backward pass lets go of it: PyTorch's saves nothing
  uint32_t derivative_reads = 0;      // see GradScope
  std::shared_ptr<Writes> buffers;    // that its layer wrote, until a backward pass takes them over
  std::shared_ptr<Segment> segment;   // in which it was recorded, if the saved values are to be computed again

  // Tensors whose .grad is to be the gradient of the output that they are, and hooks on it.
  void retain(int64_t output_nr, History* history) { retaining_.emplace_back(output_nr, history); }
  void forget(const History* history);
  TensorHooks& hooks_of(int64_t output_nr);
  TensorHooks* find_hooks(int64_t output_nr);
  const std::vector<std::pair<int64_t, History*>>& retaining() const { return retaining_; }
  bool is_heard_by_others(const History& history) const;  // by hooks, or by tensors that keep their gradient

 private:
  void refuse_written(SavedValue::Of of, uint32_t number, const VersionWatch& version, const NodeRef& like) const;

  std::string_view name_;
  bool released_ = false;
  std::vector<std::pair<int64_t, std::unique_ptr<TensorHooks>>> hooks_;
  std::vector<std::pair<int64_t, History*>> retaining_;
};

// What a gradient rule of its own is called with.
class GradCall {
 public:
  GradCall(GradFn& fn, const std::vector<Tensor>& grads, std::vector<Tensor> saved)
      : fn_(fn), grads_(grads), saved_(std::move(saved)), given_(fn.edges.size()) {}

  Tensor grad(size_t output = 0) const;                                                             // zeros if there is none
  Tensor given(size_t output) const { return output < grads_.size() ? grads_[output] : Tensor(); }  // undefined if there is none
  const std::vector<Tensor>& saved() const { return saved_; }
  Tensor operand(size_t i) const { return find(SavedValue::Of::Operand, i); }
  Tensor output(size_t k = 0) const { return find(SavedValue::Of::Output, k); }
  bool wants(size_t operand) const;
  void give(size_t operand, const Tensor& gradient);  // ignored if nobody wants it

  std::vector<Tensor> take() { return std::move(given_); }

 private:
  Tensor find(SavedValue::Of of, size_t number) const;
  GradFn& fn_;
  const std::vector<Tensor>& grads_;
  std::vector<Tensor> saved_;  // as fn.saved
  std::vector<Tensor> given_;  // by edge
};

// An operand's value: `maker` made it; `tracked` but without one it is a leaf.
inline KeptValue kept_operand(NodeRef node, bool tracked, const GradFn* maker) {
  return maker ? kept_value(std::move(node), maker->segment.get()) : kept_value(std::move(node), Segment::current(), tracked);
}

// The gradient of what results do not depend on.
inline NodeRef zero_gradient(DType dtype, std::span<const int64_t> shape, ir::DeviceTag device) {
  return ir::make_const(ir::constant(dtype, int64_t{0}), shape, device);
}
// That of a step.
inline NodeRef zeros_of(const ir::Recipe& recipe, uint32_t number) {
  const ir::Recipe::Step& step = recipe.steps()[number];
  return zero_gradient(step.dtype, recipe.shape(step), step.device);
}

}  // namespace tenon
