// GradFn: what an operation leaves behind for the backward pass. Where the gradients of its operands go (edges), how its
// results were computed (the recipe, or a rule of its own), and the values that this needs.
#pragma once

#include "frontend/src/autograd/grad.h"
#include "ir/graph/recipe.h"
#include "tenon/creation.h"

namespace tenon {

class KnownRule;
class Segment;
class Writes;

// From an operation to an operand that requires grad.
struct Edge {
  std::shared_ptr<GradFn> fn;  // that made the operand; null if it is a leaf
  int64_t output_nr = 0;       // which of the fn's outputs
  Tensor leaf;                 // defined if the operand is a leaf
  size_t operand = 0;          // its number in the operation
  NodeRef zeros = {};          // its gradient, if the results do not depend on it: overwritten, say
  mutable std::shared_ptr<autograd::AccumulateGrad> accumulator = {};  // of the leaf, once somebody has asked: with its hooks
};

// A value that gradients will read. While one of these lives, an evaluation that computes the value on its way stores it, or
// what it is cheaply computed from.
class KeptValue {
 public:
  // Stored: as it is, cheap or not. Recomputed: no evaluation takes notice of it.
  enum class As : uint8_t { Wanted, Stored, Recomputed };
  explicit KeptValue(NodeRef node, As as = As::Wanted) : node_(std::move(node)), as_(as) {
    if (node_->op() == Op::Const) as_ = As::Recomputed;
    count(1);
  }
  KeptValue(KeptValue&& other) noexcept : node_(std::move(other.node_)), as_(other.as_) {}
  KeptValue(const KeptValue& other) : KeptValue(other.node_, other.as_) {}
  KeptValue& operator=(KeptValue other) noexcept {
    std::swap(node_, other.node_);
    std::swap(as_, other.as_);
    return *this;
  }
  ~KeptValue() { count(-1); }
  const NodeRef& node() const { return node_; }
  Tensor tensor() const;  // a new one

 private:
  void count(int32_t by) {
    if (!node_ || as_ == As::Recomputed) return;
    (as_ == As::Wanted ? node_->wanted : node_->holders).fetch_add(by, std::memory_order_relaxed);
  }
  NodeRef node_;
  As as_;
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
  ~GradFn() override;  // iterative: a history may be a million operations long
  std::string name() const override;  // Python's or LibTorch's, by the print style
  std::string_view literal_name() const { return name_; }
  void becomes_in_place();  // what made a view reshapes the tensor itself
  autograd::edge_list next_edges() const override;
  uint32_t num_inputs() const override { return static_cast<uint32_t>(output_count); }
  uint64_t sequence_nr() const override { return sequence; }

  // The gradients of the operands, by edge; undefined for none. `grads`: by output, undefined for none. With `create_graph`
  // the gradients have a history themselves. Error if something saved was written meanwhile or is released.
  std::vector<Tensor> backward(const std::vector<Tensor>& grads, bool create_graph);
  void release();  // the saved values, for good

  std::vector<Edge> edges;
  int64_t output_count = 0;
  const uint64_t sequence;  // of all that were recorded, in order
  const std::vector<void*> forward_stack;  // the calls on which it was recorded, if anomaly mode was on
  const std::shared_ptr<const GradFn> induced_by;  // then: whose backward pass recorded it

  // How the outputs, by output_nr, were computed from the operands: all of the scope's tensors in their order. An output
  // that is one of the leaves, or an operand that is not used, has no derivative that the operations tell: the values
  // were computed on the host, or the bits were read as another type. No outputs at all: nothing is known.
  ir::Recipe recipe;
  GradRule rule;  // in the recipe's place
  std::shared_ptr<KnownRule> known_rule;  // what that made before, of a call that comes again
  std::vector<SavedValue> saved;
  std::vector<WatchedValue> watched;  // beside the saved ones
  bool reads_leaves = false;          // of the recipe
  bool once = false;                  // a backward pass lets go of it, though it saves nothing
  bool keeps_all = false;             // no backward pass lets go of it: PyTorch's saves nothing
  uint32_t derivative_reads = 0;      // see GradScope
  std::shared_ptr<Writes> buffers;    // that its layer wrote, until a backward pass takes them over
  std::shared_ptr<Segment> segment;  // in which it was recorded, if the saved values are to be computed again

  // Tensors whose .grad is to be the gradient of the output that they are, and hooks on it.
  void retain(int64_t output_nr, History* history) { retaining_.emplace_back(output_nr, history); }
  void forget(const History* history);
  TensorHooks& hooks_of(int64_t output_nr);
  TensorHooks* find_hooks(int64_t output_nr);
  const std::vector<std::pair<int64_t, History*>>& retaining() const { return retaining_; }
  bool is_heard_by_others(const History& history) const;  // by hooks, or by tensors that keep their gradient

 private:
  friend class GradCall;
  void check_saved() const;
  void refuse_written(SavedValue::Of of, uint32_t number, const VersionWatch& version, const NodeRef& like) const;
  Tensor with_history(const SavedValue& saved);
  Tensor output_with_history(uint32_t number, NodeRef value);
  std::vector<Tensor> read_by_derivative();
  std::vector<Tensor> by_rule(const std::vector<Tensor>& grads, bool create_graph);
  std::vector<Tensor> by_recipe(const std::vector<Tensor>& grads);
  std::vector<Tensor> by_recipe_again(const std::vector<Tensor>& grads);

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

  Tensor grad(size_t output = 0) const;  // zeros if there is none
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

// The gradient of an operand that was broadcast, in its shape and dtype.
Tensor gradient_for(const Tensor& operand, const Tensor& gradient);

// The gradient of one value chosen among all elements of operand 0 is shared by those that equal it, nan or not.
void share_among_equals(GradScope& scope);

// The operation's results do not change with its operands, though they depend on them.
template <typename... Operands>
void zero_gradients(GradScope& scope, const Operands&... operands) {
  scope.rule(kReadsNothing, [shapes = std::vector{dims_of(operands.sizes())...}, types = std::vector{operands.scalar_type()...}](GradCall& c) {
    for (size_t i = 0; i < shapes.size(); ++i) c.give(i, zeros(ref(shapes[i]), types[i]));
  });
}

}  // namespace tenon
