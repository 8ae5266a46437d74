// Gradients: the backward pass, whether operations are recorded for it, and the record of one operation.
//
//   loss.backward();                   // fills the .grad of every leaf that requires grad
//   auto dx = autograd::grad({y}, {x}, {}, true, true)[0];       // of which a gradient can be taken again
//   NoGradGuard no_grad;               // until the end of the block nothing is recorded
//   y.grad_fn()->name()                // "MulBackward0"
#pragma once

#include "tenon/cxx20.h"

#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "tenon/array_ref.h"

namespace tenon {

class Tensor;

namespace autograd {
using Variable = Tensor;
using variable_list = std::vector<Variable>;
using tensor_list = std::vector<Tensor>;

// From an operation to what made one of its operands.
class Node;
struct Edge {
  std::shared_ptr<Node> function;  // null: no gradient goes there
  uint32_t input_nr = 0;           // which result of the function the operand is
  bool is_valid() const { return function != nullptr; }
};
using edge_list = std::vector<Edge>;

// Called before an operation's backward pass with the gradients of its results, undefined for none; returns those to use.
struct FunctionPreHook {
  virtual ~FunctionPreHook() = default;
  virtual variable_list operator()(const variable_list& grads) = 0;
};
// Called after it with the gradients of the operands, which it returns or replaces, and those of the results.
struct FunctionPostHook {
  virtual ~FunctionPostHook() = default;
  virtual variable_list operator()(const variable_list& outputs, const variable_list& inputs) = 0;
};

// How a tensor was made from tensors that require grad.
class Node {
 public:
  Node();
  virtual ~Node();
  virtual std::string name() const = 0;  // PyTorch's: "MulBackward0"
  // The edges by operand, as far as these are tensors. A leaf's function is an AccumulateGrad, one and the
  // same while somebody holds it or a graph in which it was asked for.
  virtual edge_list next_edges() const = 0;
  Edge next_edge(size_t index) const;
  virtual uint32_t num_inputs() const = 0;  // gradients that the backward pass takes: results of the operation
  uint32_t num_outputs() const;
  virtual uint64_t sequence_nr() const = 0;  // what was recorded later has a larger one

  // In the order in which they were added. An object, or a function with its arguments.
  uintptr_t add_pre_hook(std::unique_ptr<FunctionPreHook> hook);
  uintptr_t add_post_hook(std::unique_ptr<FunctionPostHook> hook);
  template <typename F>
  requires(std::is_invocable_v<F&, const variable_list&>) uintptr_t add_pre_hook(F hook) {
    struct Hook final : FunctionPreHook {
      explicit Hook(F function) : call(std::move(function)) {}
      variable_list operator()(const variable_list& grads) override { return call(grads); }
      F call;
    };
    return add_pre_hook(std::make_unique<Hook>(std::move(hook)));
  }
  template <typename F>
  requires(std::is_invocable_v<F&, const variable_list&, const variable_list&>) uintptr_t add_post_hook(F hook) {
    struct Hook final : FunctionPostHook {
      explicit Hook(F function) : call(std::move(function)) {}
      variable_list operator()(const variable_list& outputs, const variable_list& inputs) override { return call(outputs, inputs); }
      F call;
    };
    return add_post_hook(std::make_unique<Hook>(std::move(hook)));
  }
  bool del_pre_hook(uintptr_t key);  // false if there is none
  bool del_post_hook(uintptr_t key);

  struct Hooks;  // for Tenon's own sources
  Hooks* hooks() const;

 private:
  std::unique_ptr<Hooks> hooks_;
};

// The end of an edge to a leaf: adds the gradient to the leaf's grad.
class AccumulateGrad : public Node {
 public:
  virtual const Tensor& variable() const = 0;
};

// Adds to the .grad of all leaves behind the tensors, or of `inputs` alone, the gradient of their sum; each is weighted by
// its tensor of `grad_tensors` if there are any, and otherwise has one element. Afterwards the saved values are released,
// unless retain_graph. With create_graph the gradients can be differentiated again.
void backward(ArrayRef<Tensor> tensors, ArrayRef<Tensor> grad_tensors = {}, optional<bool> retain_graph = nullopt,
              bool create_graph = false, ArrayRef<Tensor> inputs = {});
// The same gradients, returned instead. Error for an input that no output depends on; with allow_unused it gets an
// undefined tensor.
std::vector<Tensor> grad(ArrayRef<Tensor> outputs, ArrayRef<Tensor> inputs, ArrayRef<Tensor> grad_outputs = {},
                         optional<bool> retain_graph = nullopt, bool create_graph = false, bool allow_unused = false);

// While it is on, operations remember the stack on which they were recorded, the backward pass looks at each gradient for
// nan, and a failing one names the operation of the forward pass with that stack. Slow.
struct AnomalyMode {
  static bool is_enabled();
  static bool should_check_nan();
  static void set_enabled(bool enabled, bool check_nan = true);
};
inline void set_detect_anomaly(bool mode, bool check_nan = true) { AnomalyMode::set_enabled(mode, check_nan); }
class DetectAnomalyGuard {
 public:
  explicit DetectAnomalyGuard(bool check_nan = true) : enabled_(AnomalyMode::is_enabled()), check_nan_(AnomalyMode::should_check_nan()) {
    AnomalyMode::set_enabled(true, check_nan);
  }
  ~DetectAnomalyGuard() { AnomalyMode::set_enabled(enabled_, check_nan_); }
  DetectAnomalyGuard(const DetectAnomalyGuard&) = delete;
  DetectAnomalyGuard& operator=(const DetectAnomalyGuard&) = delete;

 private:
  bool enabled_, check_nan_;
};
}  // namespace autograd

// The switch of this thread. On at the start.
struct GradMode {
  static bool is_enabled();
  static void set_enabled(bool enabled);
};

// Sets the switch for the rest of the block.
class AutoGradMode {
 public:
  explicit AutoGradMode(bool enabled) : before_(GradMode::is_enabled()) { GradMode::set_enabled(enabled); }
  ~AutoGradMode() { GradMode::set_enabled(before_); }
  AutoGradMode(const AutoGradMode&) = delete;
  AutoGradMode& operator=(const AutoGradMode&) = delete;

 private:
  bool before_;
};
struct NoGradGuard : AutoGradMode {
  NoGradGuard() : AutoGradMode(false) {}
};
using no_grad = NoGradGuard;

// As NoGradGuard, and tensors made until the end of the block are inference tensors: they have no versions, are never saved
// for a backward pass and may not be written outside such a block. InferenceMode(false) is an ordinary block within one.
class InferenceMode {
 public:
  explicit InferenceMode(bool enabled = true) : before_(is_enabled()), grad_(!enabled) { set_enabled(enabled); }
  ~InferenceMode() { set_enabled(before_); }
  InferenceMode(const InferenceMode&) = delete;
  InferenceMode& operator=(const InferenceMode&) = delete;
  static bool is_enabled();

 private:
  static void set_enabled(bool enabled);
  bool before_;
  AutoGradMode grad_;
};

namespace autograd {  // where LibTorch has these names too
using tenon::AutoGradMode, tenon::GradMode, tenon::InferenceMode, tenon::NoGradGuard;
}

}  // namespace tenon
