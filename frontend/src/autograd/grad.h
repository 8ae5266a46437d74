// How an operation tells autograd of itself: it says its PyTorch name and its operands in its first line.
//
//   Tensor mul(const Tensor& a, const Tensor& b) {
//     GradScope scope("MulBackward0", a, b);      // Scalars, optional tensors and TensorLists go as well
//     ...
//     return record(...);                          // or make_view(...): gets the GradFn
//   }
//   Tensor& mul_(Tensor& self, const Tensor& b) {
//     GradScope scope("MulBackward0", self, b);
//     write(self, ...);                            // checks that self may be written; self gets the GradFn
//   }
//
// A function composed of others needs no scope; with one, the inner scopes are silent and the whole has one
// GradFn. A scope costs a look at each operand when none requires grad. It is a CallScope as well, so it stands
// before the checks of the arguments.
#pragma once

#include <vector>

#include "frontend/src/autograd/grad_fn.h"
#include "frontend/src/autograd/history.h"
#include "frontend/src/tensor/call.h"
#include "tenon/creation.h"

namespace tenon {

class Recording;

// PyTorch has no derivative by this operand: Error if one is wanted.
void check_not_differentiated(const optional<Tensor>& x, const char* function, const char* argument);

class GradScope {
 public:
  template <typename... Operands>
  explicit GradScope(const char* name, const Operands&... operands) : call_(name, operands...) {
    if (!(tracked(operands) || ...) || this_thread.recorder || !this_thread.grad_mode) return;
    begin(name);
    (add(operands), ...);
    start();
  }
  ~GradScope() noexcept(false) {  // running out of memory is the caller's
    if (taken_.recording) end();
  }
  GradScope(const GradScope&) = delete;
  GradScope& operator=(const GradScope&) = delete;

  std::vector<Tensor> several_views(std::vector<Tensor> results);  // chunks of one tensor, which may not be written where that is recorded
  void attach_dependents();  // results that are constant in all operands that require grad do not require grad
  void first_of_ties();      // see ir::Recipe

  // The operation has a gradient rule of its own, where PyTorch's convention or numbers are not those of the composition.
  // `reads`: reads_operand(i) and kReadsOutput. The rule holds what else it needs: numbers.
  //
  //   scope.rule(kReadsOutput, [](GradCall& call) { call.give(0, call.grad() * (call.output() > 0)); });
  template <typename Rule>
  void rule(uint32_t reads, Rule rule) {
    if (taken_.recording) set_rule(reads, std::move(rule));
  }

  // PyTorch's derivative is an operation that reads these, though it may be constant in them: with create_graph all gradients
  // require grad if one of these does.
  void derivative_reads(uint32_t reads) {
    if (taken_.recording) set_derivative_reads(reads);
  }

  // PyTorch knows no derivative of this operation of aten: a backward pass that comes to it is refused.
  void no_derivative(const char* operation);

  // PyTorch's rule reads this, and these indices or masks that are no operands, where the one here reads something else: a write
  // to them is refused before the backward pass, and a write to nothing else. Here what is read is kept anyway.
  template <typename... Indices>
  void saves(uint32_t reads, const Indices&... indices) {
    if (!taken_.recording) return;
    set_saves(reads);
    (saves_index(indices), ...);
  }

  // Does an outermost scope with an operand that requires grad run?
  static bool is_open() { return this_thread.recorder != nullptr; }
  // And is grad mode on, so that it notes what is made?
  static bool is_recording() { return this_thread.recorder && this_thread.grad_mode; }

 private:
  static bool tracked(const Tensor& x) { return requires_grad(x) && !impl(x).inference(); }
  static bool tracked(const optional<Tensor>& x) { return x && tracked(*x); }
  static bool tracked(const Scalar&) { return false; }
  static bool tracked(TensorList list);
  void add(const Tensor& x);
  void add(const optional<Tensor>& x) {
    if (x) add(*x);
  }
  void add(const Scalar&) {}
  void add(TensorList list) {
    for (const Tensor& x : list) add(x);
  }
  void begin(const char* name);
  void start();
  void end();
  void set_rule(uint32_t reads, GradRule rule);
  void set_saves(uint32_t reads);
  void set_derivative_reads(uint32_t reads);
  void saves_index(const Tensor& x);

  CallScope call_;
  // Gives back what begin took, also if an operand throws.
  struct Taken {
    ~Taken() {
      if (recording) give_back(recording);
    }
    Recording* recording = nullptr;
  };
  static void give_back(Recording* recording);
  Taken taken_;  // none: this scope does nothing
};

// The gradient of one value chosen among all elements of operand 0 is shared by those that equal it, nan or not.
void share_among_equals(GradScope& scope);

// The operation's results do not change with its operands, though they depend on them.
template <typename... Operands>
void zero_gradients(GradScope& scope, const Operands&... operands) {
  scope.rule(kReadsNothing,
             [shapes = std::vector{dims_of(operands.sizes())...}, types = std::vector{operands.scalar_type()...}](GradCall& c) {
               for (size_t i = 0; i < shapes.size(); ++i) c.give(i, zeros(ref(shapes[i]), types[i]));
             });
}

// The gradient of an operand that was broadcast, in its shape and dtype.
Tensor gradient_for(const Tensor& operand, const Tensor& gradient);

// The recipe behind a tensor, as the text of a graph; empty if there is none. For a debugger, and for tests.
std::string recipe_text(const Tensor& x);

// Forgets the gradients of these tensors, or fills them with zeros.
void zero_grads(TensorList tensors, bool set_to_none);

}  // namespace tenon
