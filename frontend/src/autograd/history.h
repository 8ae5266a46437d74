// What autograd remembers of a tensor. One that requires grad carries a History: it is a leaf, or the output of a GradFn, whose
// edges lead to the GradFns of its operands and in the end to leaves. A view is a function of what its base has become.
#pragma once

#include <memory>
#include <vector>

#include "frontend/src/autograd/open_step.h"
#include "frontend/src/tensor/impl.h"
#include "tenon/autograd.h"

namespace tenon {

class GradFn;
struct Edge;
struct TensorHooks;

// How a view came to be decides whether it may be written in place: Several is one output of chunk, split or unbind, NoGrad was
// made while grad mode was off, Inference in inference mode, CustomFunction is the result of an autograd::Function. Views of
// such a view are of its kind. Once its memory was written, no history is known of a view that may not be written.
enum class ViewOrigin : uint8_t { Single, Several, NoGrad, Inference, CustomFunction };

// What a tensor knows of its gradient: its notes. Only tensors that have something to say have one.
struct History final : TensorNotes, LeafGradient {
  ~History() override;

  bool requires_grad = false;  // of a leaf
  bool retains_grad = false;
  bool pending_root = false;  // see note_root
  ViewOrigin origin = ViewOrigin::Single;
  std::shared_ptr<GradFn> fn;  // null for a leaf
  int64_t output_nr = 0;
  int64_t version = 0;                 // of a view that is not Single
  uint64_t time = 0;                   // of the write or view that this history comes from; a later write to its base outdates it
  std::unique_ptr<TensorHooks> hooks;  // of a leaf
  std::weak_ptr<autograd::AccumulateGrad> accumulator;  // of a leaf, while somebody looks at it
  std::unique_ptr<TensorHooks> accumulated_hooks;       // of a leaf, called when its grad is complete

  bool tracked() const { return requires_grad || fn != nullptr; }
};

inline History* known_history(const TensorImpl& t) { return static_cast<History*>(t.notes.get()); }  // as it was left
// Null if there is nothing to tell. A view follows what was written to its base meanwhile.
History* history_of(const Tensor& x);
History& own_history(const Tensor& x);     // made if there is none
void refuse_outdated(const Tensor& view);  // that is not Single, and was written since
inline bool requires_grad(const Tensor& x) {
  const TensorImpl* t = x.unsafe_impl();
  if (!t || (!t->notes && !t->base.defined())) return false;
  const History* history = history_of(x);
  if (history && history->tracked()) return true;
  // What was viewed under NoGrad, or before its base required grad, is a leaf of its own, which its base makes require grad.
  return t->base.defined() && ir::is_float(t->dtype()) && requires_grad(t->base);
}

// `is_modified`: "is being", say.
[[noreturn]] void refuse_write(const History& view, const char* is_modified);
// The view is of that kind, until an operation says otherwise. Nothing to say of what never requires grad.
void set_origin(const Tensor& view, ViewOrigin origin);

Edge edge_to(const Tensor& x, size_t operand);  // of a tensor that requires grad
void attach(const Tensor& x, std::shared_ptr<GradFn> fn, ViewOrigin origin);
// The view gets a function of what its base has become.
void attach_to_base(const Tensor& view);
// The function made what was written to self; the tensor that self shows comes of it as well.
void attach_write(const Tensor& self, const std::shared_ptr<GradFn>& fn);

// Which elements of its source a view shows: places among them, counted in the source's row-major order.
struct ElementMap {
  Dims strides;
  int64_t offset = 0;
};

// `memory` with the tensor's elements at its places.
NodeRef laid_out(const TensorImpl& t, const NodeRef& elements, const NodeRef& memory, int64_t offset);
// The elements of a view of the tensor's storage, as PyTorch's as_strided sees them: of elements at one place each is an equal
// part of it. What lies outside the tensor is `outside`, of the storage's shape; zeros if there is none. Null if the bits of one
// of them are read as another type.
NodeRef view_of(const TensorImpl& t, const NodeRef& elements, const TensorImpl& view, NodeRef outside = {});

// A tensor on which backward() was called and that has no value yet: the next step of an optimizer on this thread evaluates
// it with the parameters, if somebody still holds it.
void note_root(const Tensor& x);
std::vector<Tensor> take_roots();

}  // namespace tenon
