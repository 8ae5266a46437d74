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

#include <vector>

#include "frontend/src/tensor/call.h"
#include "frontend/src/tensor/impl.h"
#include "tenon/autograd.h"

namespace tenon {

class GradFn;

// From an operation to the operand that it read.
struct Edge {
  std::shared_ptr<GradFn> fn;  // that made the operand; null if it is a leaf
  int64_t output_nr = 0;       // which of the fn's outputs
  Tensor leaf;                 // defined if the operand is a leaf
  NodeRef value;               // the operand as it was read
};

class GradFn final : public autograd::Node {
 public:
  explicit GradFn(const char* name) : name_(name) {}
  ~GradFn() override;  // iterative: a history may be a million operations long
  std::string name() const override { return name_; }

  std::vector<Edge> edges;       // of the operands that require grad
  std::vector<NodeRef> outputs;  // by output_nr

 private:
  const char* name_;
};

// How a view came to be decides whether it may be written in place: Several is one output of chunk, split or
// unbind, NoGrad was made of a tracked tensor while grad mode was off.
enum class ViewOrigin : uint8_t { Single, Several, NoGrad };

// What a tensor knows of its gradient. Only tensors that have something to say have one.
struct History {
  bool requires_grad = false;  // of a leaf
  bool retains_grad = false;
  ViewOrigin origin = ViewOrigin::Single;
  std::shared_ptr<GradFn> fn;  // null for a leaf
  int64_t output_nr = 0;
  uint64_t time =
      0;  // of the write or view that this history comes from; a later write to its base outdates it
  Tensor grad;

  bool tracked() const { return requires_grad || fn != nullptr; }
};

// Null if there is nothing to tell. A view follows what was written to its base meanwhile.
History* history_of(const Tensor& x);
History& own_history(const Tensor& x);  // made if there is none
inline bool requires_grad(const Tensor& x) {
  const TensorImpl* t = x.unsafe_impl();
  if (!t || (!t->history && !t->base.defined())) return false;
  const History* history = history_of(x);
  if (!history) return false;
  // What was viewed under NoGrad is a leaf of its own, which its base makes require grad.
  return history->tracked() || (history->origin == ViewOrigin::NoGrad && requires_grad(t->base));
}

class GradScope {
 public:
  template <typename... Operands>
  explicit GradScope(const char* name, const Operands&... operands) : call_(name, operands...) {
    if (!(tracked(operands) || ...) || current_ || !GradMode::is_enabled()) return;
    begin(name);
    (add(operands), ...);
  }
  ~GradScope() noexcept(false) {  // the values of views are made here; running out of memory is the caller's
    if (fn_) end();
  }
  GradScope(const GradScope&) = delete;
  GradScope& operator=(const GradScope&) = delete;

  void several_views() { origin_ = ViewOrigin::Several; }  // the results are chunks of one tensor

  // The outermost scope with an operand that requires grad; null elsewhere and while grad mode is off.
  static GradScope* current() { return current_ && GradMode::is_enabled() ? current_ : nullptr; }

  void made(const Tensor& result) { results_.push_back(result); }  // record and make_view say so
  bool has_made(const Tensor& x) const;
  void wrote(const Tensor& self);

 private:
  static bool tracked(const Tensor& x) { return requires_grad(x); }
  static bool tracked(const optional<Tensor>& x) { return x && requires_grad(*x); }
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
  void end();

  CallScope call_;
  [[gnu::tls_model("initial-exec")]] static constinit thread_local GradScope* current_;
  std::shared_ptr<GradFn> fn_;   // null: this scope does nothing
  std::vector<Tensor> results_;  // those that outlive the scope are its outputs
  ViewOrigin origin_ = ViewOrigin::Single;
};

// Throws if autograd forbids a write to self: a leaf that requires grad, a view of one, one of several views.
// `recording`: does what is written require grad?
void check_writable(const Tensor& self, bool recording = GradScope::current() != nullptr);
// self was written by the operation of the current scope: it and the tensor that it shows get its history.
void written(const Tensor& self);
// self was written with this result of an operation and takes over its history.
void written_as(const Tensor& self, const Tensor& result);
// What make_view owes to autograd: the base of the view, and a GradFn where no scope gives one.
void adopt_view(const Tensor& source, const Tensor& view);

// Forgets the gradients of these tensors, or fills them with zeros.
void zero_grads(TensorList tensors, bool set_to_none);

}  // namespace tenon
