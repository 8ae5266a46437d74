// What autograd remembers. A tensor that requires grad carries a History: it is a leaf, or the output of a
// GradFn, whose edges lead to the GradFns of its operands and in the end to leaves.
//
// An operation says its PyTorch name and its operands in its first line:
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

#include <functional>
#include <vector>

#include "frontend/src/tensor/call.h"
#include "frontend/src/tensor/impl.h"
#include "tenon/autograd.h"

namespace tenon {

class GradCall;
class GradFn;
class OpenStep;
class Recording;

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

// How a view came to be decides whether it may be written in place: Several is one output of chunk, split or unbind, NoGrad was
// made while grad mode was off, Inference in inference mode, CustomFunction is the result of an autograd::Function. Views of
// such a view are of its kind. Once its memory was written, no history is known of a view that may not be written.
enum class ViewOrigin : uint8_t { Single, Several, NoGrad, Inference, CustomFunction };

// What a tensor knows of its gradient. Only tensors that have something to say have one.
struct History {
  History() = default;
  ~History();
  History(const History&) = delete;
  History& operator=(const History&) = delete;

  bool requires_grad = false;  // of a leaf
  bool retains_grad = false;
  bool pending_root = false;  // see note_root
  bool optimized = false;     // a leaf that an optimizer updates
  ViewOrigin origin = ViewOrigin::Single;
  std::shared_ptr<GradFn> fn;  // null for a leaf
  int64_t output_nr = 0;
  int64_t version = 0;  // of a view that is not Single
  uint64_t time =
      0;  // of the write or view that this history comes from; a later write to its base outdates it
  Tensor grad;
  OpenStep* step = nullptr;  // of a leaf: the one that knows which gradient it had before; see open_step.h
  std::unique_ptr<TensorHooks> hooks;              // of a leaf
  std::weak_ptr<autograd::AccumulateGrad> accumulator;  // of a leaf, while somebody looks at it
  std::unique_ptr<TensorHooks> accumulated_hooks;  // of a leaf, called when its grad is complete

  bool tracked() const { return requires_grad || fn != nullptr; }
};

// Null if there is nothing to tell. A view follows what was written to its base meanwhile.
History* history_of(const Tensor& x);
History& own_history(const Tensor& x);  // made if there is none
void refuse_outdated(const Tensor& view);  // that is not Single, and was written since
inline bool requires_grad(const Tensor& x) {
  const TensorImpl* t = x.unsafe_impl();
  if (!t || (!t->history && !t->base.defined())) return false;
  const History* history = history_of(x);
  if (history && history->tracked()) return true;
  // What was viewed under NoGrad, or before its base required grad, is a leaf of its own, which its base makes require grad.
  return t->base.defined() && ir::is_float(t->dtype()) && requires_grad(t->base);
}

// PyTorch has no derivative by this operand: Error if one is wanted.
void check_not_differentiated(const optional<Tensor>& x, const char* function, const char* argument);

class GradScope {
 public:
  template <typename... Operands>
  explicit GradScope(const char* name, const Operands&... operands) : call_(name, operands...) {
    if (!(tracked(operands) || ...) || current_ || !GradMode::is_enabled()) return;
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
  void first_of_ties();  // see ir::Recipe

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

  // What the outermost scope with an operand that requires grad notes; null elsewhere.
  static Recording* open() { return current_; }
  // As open; null also while grad mode is off.
  static Recording* current() { return current_ && GradMode::is_enabled() ? current_ : nullptr; }

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
  [[gnu::tls_model("initial-exec")]] static constinit thread_local Recording* current_;
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

// Throws if autograd forbids a write to self: a leaf that requires grad, a view of one, one of several views.
// `recording`: does what is written require grad?
void check_writable(const Tensor& self, bool recording = GradScope::current() != nullptr);
// self was written by the operation of the current scope: it and the tensor that it shows get its history. `value` is
// what self shows now, if there is a node for that alone.
void written(const Tensor& self, const NodeRef& value = {});
// self was written with this result of an operation and takes over its history.
void written_as(const Tensor& self, const Tensor& result);
// self has become what this view of it was.
void reshaped_as(const Tensor& self, const Tensor& view);
// The view is of that kind, until an operation says otherwise. Nothing to say of what never requires grad.
void set_origin(const Tensor& view, ViewOrigin origin);
// What make_view owes to autograd: the base of the view, and a GradFn where no scope gives one.
void adopt_view(const Tensor& source, const Tensor& view, const ElementMap* own = nullptr);
void forget_base(const Tensor& view);  // it shares memory, and is no view

// A tensor on which backward() was called and that has no value yet: the next step of an optimizer on this thread evaluates
// it with the parameters, if somebody still holds it.
void note_root(const Tensor& x);
void forget_root(const TensorImpl& x);
std::vector<Tensor> take_roots();

// The recipe behind a tensor, as the text of a graph; empty if there is none. For a debugger, and for tests.
std::string recipe_text(const Tensor& x);

// Forgets the gradients of these tensors, or fills them with zeros.
void zero_grads(TensorList tensors, bool set_to_none);

}  // namespace tenon
