// The bookkeeping of autograd: grad mode, the histories of tensors, what may be written, and the methods that ask.
#include "frontend/src/autograd/open_step.h"
#include "frontend/src/autograd/recording.h"

#include <algorithm>

#include "frontend/src/tensor/text.h"
#include "tenon/creation.h"

namespace tenon {
namespace {
thread_local bool grad_mode = true;
}  // namespace

constinit thread_local bool inference_mode = false;
bool InferenceMode::is_enabled() { return inference_mode; }
void InferenceMode::set_enabled(bool enabled) { inference_mode = enabled; }
bool Tensor::is_inference() const { return impl(*this).inference(); }

bool GradMode::is_enabled() { return grad_mode; }
void GradMode::set_enabled(bool enabled) {
  grad_mode = enabled;
  if (Recording* recording = GradScope::open()) recording->listen(enabled);
}

// --- histories

History::~History() {
  if (fn) fn->forget(this);
  if (step) step_at_hand::forget(*this);
}

History& own_history(const Tensor& x) {
  TensorImpl& t = impl(x);
  if (!t.history) t.history = std::make_unique<History>();
  return *t.history;
}

namespace {
// Was the memory of the view written since its history was made? By an operation that was recorded, or by any.
bool is_outdated(const TensorImpl& view) {
  const History* own = view.history.get();
  if (own && own->origin != ViewOrigin::Single) return false;
  if (own && own->fn && own->version != view.version()) return true;
  const History* base = impl(view.base).history.get();
  return base && base->fn && base->time > (own ? own->time : 0);
}
}  // namespace

History* history_of(const Tensor& x) {
  TensorImpl& t = impl(x);
  if (t.base.defined() && is_outdated(t)) attach_to_base(x);
  return t.history.get();
}

// --- writes and views

namespace {

// Why a view of that origin may not be written.
const char* advice(ViewOrigin origin) {
  switch (origin) {
    case ViewOrigin::Single: break;
    case ViewOrigin::Several:
      return " This view is the output of a function that returns multiple views. Such functions do not allow the output views to be "
             "modified inplace. You should replace the inplace operation by an out-of-place one.";
    case ViewOrigin::NoGrad:
      return " Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify your code by moving both the view "
             "and the inplace either both inside the no_grad block (if you don't want the inplace to be tracked) or both outside (if you "
             "want the inplace to be tracked).";
    case ViewOrigin::Inference:
      return " Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify your code by moving both the view "
             "and the inplace either both inside the inference_mode block (if you don't want the inplace to be tracked) or both outside "
             "(if you want the inplace to be tracked).";
    case ViewOrigin::CustomFunction:
      return " This view was created inside a custom Function (or because an input was returned as-is) and the autograd logic to handle "
             "view+inplace would override the custom backward associated with the custom Function, leading to incorrect gradients. This "
             "behavior is forbidden. You can fix this by cloning the output of the custom Function.";
  }
  return "";
}

[[noreturn]] void refuse_write(const History& view, const char* is_modified) {
  const std::string made_by = view.fn ? view.fn->name() : "";
  const std::string output = text("Output ", view.output_nr, " of ", made_by.substr(0, made_by.find("Backward")), " is a view");
  const bool inference = view.origin == ViewOrigin::Inference;
  const std::string head =
      view.fn && !inference && view.origin != ViewOrigin::NoGrad
          ? text(output, " and ", is_modified, " modified inplace.")
          : text(view.fn ? output + " of a view which" : "A view", " was created in ", inference ? "inference" : "no_grad", " mode and ",
                 is_modified, " modified inplace ", inference ? "in normal mode." : "with grad mode enabled.");
  throw Error(head + advice(view.origin));
}

}  // namespace

void refuse_outdated(const Tensor& view) {
  const TensorImpl& t = impl(view);
  const History* history = t.history.get();
  if (!history || history->origin == ViewOrigin::Single || !t.base.defined() || t.version() == history->version) return;
  if (history->fn || requires_grad(t.base)) refuse_write(*history, "its base or another view of its base has been");
}

void check_writable(const Tensor& self, bool recording) {
  check(!impl(self).inference() || InferenceMode::is_enabled(),
        "Inplace update to inference tensor outside InferenceMode is not allowed.You can make a clone to get a normal tensor before "
        "doing inplace update.See https://github.com/pytorch/rfcs/pull/17 for more details.");
  if (!GradMode::is_enabled()) return;
  const bool tracked = requires_grad(self);
  if (!tracked && !recording) return;
  const History* history = impl(self).history.get();
  const Tensor& base = impl(self).base;
  if (history && base.defined()) {
    if (history->origin != ViewOrigin::Single) refuse_write(*history, "is being");
    check(!tracked || !base.is_leaf(),
          "a view of a leaf Variable that requires grad is being used in an in-place operation.");
  }
  check(!tracked || (history && history->fn),
        "a leaf Variable that requires grad is being used in an in-place operation.");
}

void check_not_differentiated(const optional<Tensor>& x, const char* function, const char* argument) {
  check(!x || !x->defined() || !GradMode::is_enabled() || !requires_grad(*x), "The function '", function,
        "' is not differentiable with respect to argument '", argument, "'. This input cannot have requires_grad True.");
}

void written_as(const Tensor& self, const Tensor& result) {
  if (GradScope::current() || !GradMode::is_enabled() || !self.is_floating_point()) return;
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

void reshaped_as(const Tensor& self, const Tensor& view) {
  const History* history = impl(view).history.get();  // as it was before self was written
  if (!history || !history->fn || !GradMode::is_enabled()) return;
  if (impl(self).base.defined()) return attach_to_base(self);
  const std::shared_ptr<GradFn> fn = history->fn;
  fn->output_count = 0;  // self takes the place of the view
  fn->becomes_in_place();
  attach(self, fn, ViewOrigin::Single);
}

void set_origin(const Tensor& view, ViewOrigin origin) {
  if (!view.is_floating_point() || impl(view).inference()) return;
  History& history = own_history(view);
  history.origin = origin;
  history.time = autograd_time();
  history.version = impl(view).version();
}

namespace {
void set_base(const Tensor& view, const Tensor& source) {
  Tensor& base = impl(view).base;
  base = impl(source).base.defined() ? impl(source).base : source;
  base.give_up();
}

void inherit_origin(const Tensor& source, const Tensor& view) {
  const History* history = impl(source).history.get();
  if (history && history->origin != ViewOrigin::Single && impl(source).base.defined()) set_origin(view, history->origin);
}
}  // namespace

void adopt_view(const Tensor& source, const Tensor& view, const ElementMap* own) {
  if (impl(view).inference()) return;  // nothing is ever recorded of it
  if (Recording* recording = GradScope::current()) {
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
  if (!GradMode::is_enabled()) return set_origin(view, InferenceMode::is_enabled() ? ViewOrigin::Inference : ViewOrigin::NoGrad);
  if (!requires_grad(source)) return;
  const GradScope scope("AsStridedBackward0", source);
  GradScope::current()->viewed(source, view, own);
  GradScope::current()->made(view);
}

void forget_base(const Tensor& view) {
  TensorImpl& t = impl(view);
  t.base = Tensor();
  if (t.history) t.history->origin = ViewOrigin::Single;
}

// --- methods of Tensor

bool Tensor::requires_grad() const {
  impl(*this);
  return tenon::requires_grad(*this);
}
const Tensor& Tensor::requires_grad_(bool requires_grad) const {
  check(
      is_leaf() || requires_grad,
      "you can only change requires_grad flags of leaf variables. If you want to use a computed variable in "
      "a subgraph that doesn't require differentiation use var_no_grad = var.detach().");
  check(!requires_grad || is_floating_point(),
        "Only Tensors of floating point and complex dtype can require gradients");
  check(!requires_grad || !is_inference() || InferenceMode::is_enabled(),
        "Setting requires_grad=True on inference tensor outside InferenceMode is not allowed.");
  if (is_leaf()) own_history(*this).requires_grad = requires_grad;
  return *this;
}
const Tensor& Tensor::set_requires_grad(bool requires_grad) const {
  check(is_leaf(), "you can only change requires_grad flags of leaf variables.",
        requires_grad ? ""
                      : " If you want to use a computed variable in a subgraph that doesn't require "
                        "differentiation use var_no_grad = var.detach().");
  return requires_grad_(requires_grad);
}
bool Tensor::is_leaf() const {
  const History* history = history_of(*this);
  return !history || !history->fn;
}
std::shared_ptr<autograd::Node> Tensor::grad_fn() const {
  refuse_outdated(*this);
  const History* history = history_of(*this);
  return history ? history->fn : nullptr;
}
int64_t Tensor::output_nr() const {
  const History* history = history_of(*this);
  return history ? history->output_nr : 0;
}
bool Tensor::retains_grad() const {
  const History* history = history_of(*this);
  return history && history->retains_grad;
}
void Tensor::retain_grad() const {
  check(requires_grad(), "can't retain_grad on Tensor that has requires_grad=False");
  refuse_outdated(*this);
  History& history = own_history(*this);
  if (!history.fn || history.retains_grad) return;
  history.retains_grad = true;
  history.fn->retain(history.output_nr, &history);
}
namespace {
constinit const Tensor none;
}  // namespace

const Tensor& Tensor::grad() const {
  const History* history = history_of(*this);
  if (!history) return none;
  if (history->fn && !history->retains_grad && !history->grad.defined())
    warn_user(
        "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad attribute won't be "
        "populated during autograd.backward(). If you indeed want the .grad field to be populated for a non-leaf "
        "Tensor, use .retain_grad() on the non-leaf Tensor. If you access the non-leaf Tensor by mistake, make "
        "sure you access the leaf Tensor instead. See github.com/pytorch/pytorch/pull/30531 for more "
        "information.");
  return history->grad;
}
Tensor& Tensor::mutable_grad() const {
  History& history = own_history(*this);
  if (history.step) step_at_hand::forget(history);
  return history.grad;
}

Tensor Tensor::detach() const {
  const TensorImpl& t = impl(*this);
  return Tensor(new TensorImpl(t, ref(t.sizes()), ref(t.strides()), t.offset()), false);
}
Tensor& Tensor::detach_() {
  TensorImpl& t = impl(*this);
  check(
      !t.base.defined(),
      "Can't detach views in-place. Use detach() instead. If you are using DistributedDataParallel (DDP) for "
      "training, and gradient_as_bucket_view is set as True, gradients are views of DDP buckets, and hence "
      "detach_() cannot be called on these gradients. To fix this error, please refer to the "
      "Optimizer.zero_grad() function in torch/optim/optimizer.py as a solution.");
  if (t.history) {
    if (t.history->fn) t.history->fn->forget(t.history.get());
    t.history->fn = nullptr;
    t.history->output_nr = 0;
    t.history->requires_grad = t.history->retains_grad = false;
  }
  return *this;
}
Tensor Tensor::data() const {
  Tensor result = detach();
  impl(result).separate_versions();
  return result;
}
void Tensor::set_data(const Tensor& new_data) const {
  check(!requires_grad() || !is_leaf() || new_data.is_floating_point(),
        "data set to a tensor that requires gradients must be floating point or complex dtype");
  impl(*this).share(impl(new_data));
}
bool Tensor::is_view() const { return impl(*this).base.defined(); }
const Tensor& Tensor::_base() const {
  check(is_view(), "Can't get base of non-view Variable");
  return impl(*this).base;
}

std::string recipe_text(const Tensor& x) {
  const History* history = history_of(x);
  if (!history || !history->fn || history->fn->recipe.outputs().empty()) return "";
  return ir::print(ir::as_graph(history->fn->recipe, history->fn->name()));
}

void zero_grads(TensorList tensors, bool set_to_none) {
  for (const Tensor& tensor : tensors) {
    Tensor& grad = tensor.mutable_grad();
    if (grad.defined()) grad = set_to_none ? Tensor() : zeros_like(grad);
  }
}

}  // namespace tenon
