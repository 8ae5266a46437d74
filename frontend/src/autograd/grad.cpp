// Scopes of operations, and the methods of Tensor that ask autograd.
#include "frontend/src/autograd/grad.h"

#include "frontend/src/autograd/recording.h"
#include "frontend/src/tensor/text.h"
#include "ir/base/of_thread.h"

namespace tenon {

// --- scopes

bool GradScope::tracked(TensorList list) {
  for (const Tensor& x : list) {
    if (tracked(x)) return true;
  }
  return false;
}
namespace {
// This thread's one recording that is not in use: it keeps its memory for the next scope.
using Spare = ir::OfThread<std::unique_ptr<Recording>>;
}  // namespace

void GradScope::begin(const char* name) {
  std::unique_ptr<Recording>* spare = Spare::get();
  taken_.recording = spare && *spare ? spare->release() : new Recording;
  taken_.recording->begin(name);
}
void GradScope::give_back(Recording* recording) {
  recording->clear();
  std::unique_ptr<Recording> given(recording);
  std::unique_ptr<Recording>* spare = Spare::get();
  if (spare && !*spare && !recording->is_large()) *spare = std::move(given);
}
void GradScope::add(const Tensor& x) {
  if (x.defined()) taken_.recording->add_operand(x);
}
void GradScope::start() { taken_.recording->start(); }
void GradScope::end() { taken_.recording->finish(); }
void GradScope::set_rule(uint32_t reads, GradRule rule) { taken_.recording->set_rule(reads, std::move(rule)); }
void GradScope::no_derivative(const char* operation) {
  rule(kReadsNothing,
       [operation](GradCall&) { check<NotImplementedError>(false, "derivative for aten::", operation, " is not implemented"); });
}
void GradScope::set_saves(uint32_t reads) { taken_.recording->set_saves(reads); }
void GradScope::set_derivative_reads(uint32_t reads) { taken_.recording->set_derivative_reads(reads); }
void GradScope::attach_dependents() {
  if (taken_.recording) taken_.recording->attach_dependents();
}
void GradScope::saves_index(const Tensor& x) { taken_.recording->saves_index(x); }
void GradScope::first_of_ties() {
  if (taken_.recording) taken_.recording->first_of_ties();
}
std::vector<Tensor> GradScope::several_views(std::vector<Tensor> results) {
  if (taken_.recording) {
    taken_.recording->several_views();
  } else if (!this_thread.recorder && this_thread.grad_mode) {
    for (const Tensor& view : results) set_origin(view, ViewOrigin::Several);
  }
  return results;
}

void check_not_differentiated(const optional<Tensor>& x, const char* function, const char* argument) {
  check(!x || !x->defined() || !GradMode::is_enabled() || !requires_grad(*x), "The function '", function,
        "' is not differentiable with respect to argument '", argument, "'. This input cannot have requires_grad True.");
}

Tensor gradient_for(const Tensor& operand, const Tensor& gradient) {
  return gradient.sum_to_size(operand.sizes()).to(operand.scalar_type());
}

// --- methods of Tensor

bool Tensor::is_inference() const { return impl(*this).inference(); }
bool Tensor::requires_grad() const {
  impl(*this);
  return tenon::requires_grad(*this);
}
const Tensor& Tensor::requires_grad_(bool requires_grad) const {
  check(is_leaf() || requires_grad,
        "you can only change requires_grad flags of leaf variables. If you want to use a computed variable in "
        "a subgraph that doesn't require differentiation use var_no_grad = var.detach().");
  check(!requires_grad || is_floating_point(), "Only Tensors of floating point and complex dtype can require gradients");
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
  check(!t.base.defined(),
        "Can't detach views in-place. Use detach() instead. If you are using DistributedDataParallel (DDP) for "
        "training, and gradient_as_bucket_view is set as True, gradients are views of DDP buckets, and hence "
        "detach_() cannot be called on these gradients. To fix this error, please refer to the "
        "Optimizer.zero_grad() function in torch/optim/optimizer.py as a solution.");
  if (History* history = known_history(t)) {
    if (history->fn) history->fn->forget(history);
    history->fn = nullptr;
    history->output_nr = 0;
    history->requires_grad = history->retains_grad = false;
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
