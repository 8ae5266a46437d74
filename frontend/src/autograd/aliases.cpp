// Views and writes as autograd sees them.
#include "frontend/src/autograd/aliases.h"

#include "frontend/src/autograd/grad.h"
#include "frontend/src/autograd/recording.h"
#include "frontend/src/tensor/expr.h"
#include "frontend/src/tensor/text.h"

namespace tenon {

// --- views

namespace {
void set_base(const Tensor& view, const Tensor& source) {
  Tensor& base = impl(view).base;
  base = impl(source).base.defined() ? impl(source).base : source;
  base.give_up();
}

void inherit_origin(const Tensor& source, const Tensor& view) {
  const History* history = known_history(impl(source));
  if (history && history->origin != ViewOrigin::Single && impl(source).base.defined()) set_origin(view, history->origin);
}
}  // namespace

void adopt_view(const Tensor& source, const Tensor& view, const ElementMap* own) {
  if (impl(view).inference()) return;  // nothing is ever recorded of it
  if (Recording* recording = Recording::current()) {
    // What the operation itself made is not the user's: its view stands for itself.
    if (!recording->has_made(source)) {
      set_base(view, source);
      inherit_origin(source, view);
    }
    recording->viewed(source, view, own);
    return recording->made(view);
  }
  set_base(view, source);
  inherit_origin(source, view);
  if (!this_thread.grad_mode) return set_origin(view, InferenceMode::is_enabled() ? ViewOrigin::Inference : ViewOrigin::NoGrad);
  if (!requires_grad(source)) return;
  const GradScope scope("AsStridedBackward0", source);
  Recording* const recording = Recording::current();
  recording->viewed(source, view, own);
  recording->made(view);
}

void forget_base(const Tensor& view) {
  TensorImpl& t = impl(view);
  t.base = Tensor();
  if (History* history = known_history(t)) history->origin = ViewOrigin::Single;
}

Tensor make_view(const Tensor& source, IntArrayRef sizes, IntArrayRef strides, int64_t offset, const ElementMap* own) {
  Tensor view(new TensorImpl(impl(source), sizes, strides, offset), false);
  adopt_view(source, view, own);
  return view;
}

// --- writes

void check_writable(const Tensor& self, bool recording) {
  check(!impl(self).inference() || InferenceMode::is_enabled(),
        "Inplace update to inference tensor outside InferenceMode is not allowed.You can make a clone to get a normal tensor before "
        "doing inplace update.See https://github.com/pytorch/rfcs/pull/17 for more details.");
  if (!this_thread.grad_mode) return;
  const bool tracked = requires_grad(self);
  if (!tracked && !recording) return;
  const History* history = known_history(impl(self));
  const Tensor& base = impl(self).base;
  if (history && base.defined()) {
    if (history->origin != ViewOrigin::Single) refuse_write(*history, "is being");
    check(!tracked || !base.is_leaf(), "a view of a leaf Variable that requires grad is being used in an in-place operation.");
  }
  check(!tracked || (history && history->fn), "a leaf Variable that requires grad is being used in an in-place operation.");
}

namespace {
// `value` is what self shows now, if there is a node for that alone.
void written(const Tensor& self, const NodeRef& value = {}) {
  if (Recording* recording = Recording::current()) recording->wrote(self, value);
}
}  // namespace

void write(const Tensor& self, NodeRef value) {
  check_writable(self);
  written(self, replace_elements(impl(self), std::move(value)));
}

void write_places(const Tensor& self, const NodeRef& places, const NodeRef& values, Op op) {
  check_writable(self);
  replace_places(impl(self), places, values, op);
  written(self);
}

void write_nothing(const Tensor& self) {
  check_writable(self);
  const NodeRef value = node_of(self);
  TensorImpl& t = impl(self);
  t.bump_version();
  if (!repeats_places(ref(t.sizes()), ref(t.strides())))
    written(self, value);  // the gradient of an expanded tensor is not cut in two for it
}

// --- results that take self's place

namespace {

// self was written with this result of an operation and takes over its history.
void written_as(const Tensor& self, const Tensor& result) {
  if (this_thread.recorder || !this_thread.grad_mode || !self.is_floating_point()) return;
  const History* history = history_of(result);
  if (!history || !history->fn) return;
  const std::shared_ptr<GradFn> fn = history->fn;
  --fn->output_count;  // self takes the place of the result
  // What the operation itself wrote it has kept as it was; its result is self from now on. What else it read of that memory, and
  // be it self once more, PyTorch has lost.
  const auto is_self = [](SavedValue::Of of, uint32_t number) { return of == SavedValue::Of::Operand && number == 0; };
  for (SavedValue& s : fn->saved) {
    if (is_self(s.of, s.number)) s.version = VersionWatch();
    if (s.of == SavedValue::Of::Output) s.version = VersionWatch(impl(self));
  }
  const auto output = static_cast<uint32_t>(fn->output_count);
  for (WatchedValue& w : fn->watched) {
    const bool reads_again = !is_self(w.of, w.number) && w.version.is_of(impl(self));
    if (is_self(w.of, w.number)) w.version = VersionWatch();
    if (w.of == SavedValue::Of::Output) w.version = VersionWatch(impl(self));
    if (reads_again) w.of = SavedValue::Of::Output, w.number = output;  // as it is named from now on
  }
  if (output < fn->recipe.outputs().size()) fn->recipe.cast_output(output, impl(self).dtype());
  attach_write(self, fn);
}

// self has become what this view of it was.
void reshaped_as(const Tensor& self, const Tensor& view) {
  const History* history = known_history(impl(view));  // as it was before self was written
  if (!history || !history->fn || !this_thread.grad_mode) return;
  if (impl(self).base.defined()) return attach_to_base(self);
  const std::shared_ptr<GradFn> fn = history->fn;
  fn->output_count = 0;  // self takes the place of the view
  fn->becomes_in_place();
  attach(self, fn, ViewOrigin::Single);
}

}  // namespace

Tensor& assign(const Tensor& self, const Tensor& result) {
  check(result.sizes() == self.sizes(), "output with shape ", self.sizes(), " doesn't match the broadcast shape ", result.sizes());
  check(canCast(result.scalar_type(), self.scalar_type()), "result type ", result.scalar_type(),
        " can't be cast to the desired output type ", self.scalar_type());
  check_writable(self, requires_grad(result));
  write(self, operand(result, self.scalar_type()).node);
  written_as(self, result);
  return const_cast<Tensor&>(self);
}

Tensor& reshape_in_place(const Tensor& self, const Tensor& view) {
  check_writable(self);
  const TensorImpl& shape = impl(view);
  TensorImpl& t = impl(self);
  t.reshape(ref(shape.sizes()), ref(shape.strides()), shape.offset());
  t.bump_version();
  reshaped_as(self, view);
  return const_cast<Tensor&>(self);
}

}  // namespace tenon
