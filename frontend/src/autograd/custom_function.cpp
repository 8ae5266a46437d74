// autograd::Function: how a call of it becomes one GradFn whose rule is the user's.
#include "tenon/custom_function.h"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <mutex>
#include <typeindex>

#include "frontend/src/autograd/aliases.h"
#include "frontend/src/autograd/grad_fn.h"
#include "frontend/src/tensor/call.h"
#include "frontend/src/tensor/text.h"
#include "tenon/algebra.h"
#include "tenon/print.h"

namespace tenon::autograd {
namespace {

// As LibTorch calls it: "torch::autograd::CppNode<Cube>". Lives as long as the program.
std::string_view name_of(const std::type_info& type) {
  static std::mutex mutex;
  static std::map<std::type_index, std::string> names;
  const std::lock_guard lock(mutex);
  std::string& name = names[type];
  if (name.empty()) {
    int status = 0;
    char* readable = abi::__cxa_demangle(type.name(), nullptr, nullptr, &status);
    name = text("torch::autograd::CppNode<", readable ? readable : type.name(), ">");
    std::free(readable);
  }
  return name;
}

bool contains(const variable_list& list, const Tensor& x) {
  return std::ranges::any_of(list, [&](const Tensor& other) { return other.is_same(x); });
}

Tensor view_of_itself(const Tensor& x) {
  const NoGradGuard no_grad;
  return make_view(x, x.sizes(), x.strides(), x.storage_offset());
}

}  // namespace

// --- the context

variable_list AutogradContext::get_saved_variables() const { return saved_; }
void AutogradContext::save_for_backward(variable_list to_save) { to_save_ = std::move(to_save); }
bool AutogradContext::needs_input_grad(size_t input) const { return needs_.at(input); }
void AutogradContext::mark_dirty(const variable_list& inputs) { dirty_ = inputs; }
void AutogradContext::mark_non_differentiable(const variable_list& outputs) { non_differentiable_ = outputs; }

// --- one call

// Shared with the GradFn, which outlives the call; the arguments themselves do not.
struct FunctionCall::State {
  struct Argument {
    bool is_tensor;
    Dims sizes;
    ScalarType dtype;
  };
  struct Input {
    Tensor tensor;
    size_t argument;
  };

  size_t input_of(const Tensor& x) const {
    const auto at = std::ranges::find_if(inputs, [&](const Input& input) { return input.tensor.is_same(x); });
    return static_cast<size_t>(at - inputs.begin());
  }
  bool is_input(const Tensor& x) const { return input_of(x) < inputs.size(); }

  void wrap(Tensor& x);
  void save(const Tensor& x, const variable_list& outputs);
  void backward_of(GradCall& call);
  void check_count(variable_list& results) const;
  Tensor fitted(const Tensor& grad, size_t argument) const;

  AutogradContext context;
  std::vector<Argument> arguments;
  std::vector<Input> inputs;
  Backward backward;
  std::string_view name;
  std::unique_ptr<NoGradGuard> no_grad;
  std::shared_ptr<GradFn> fn;       // during the call; null if nothing is recorded
  std::vector<NodeRef> zeros;       // like the results; null for an undefined one
  std::vector<bool> saves_nothing;  // by saved variable: it is undefined
};

FunctionCall::FunctionCall(const std::type_info& type, Backward backward) : state_(std::make_shared<State>()) {
  state_->backward = backward;
  state_->name = name_of(type);
}
FunctionCall::~FunctionCall() = default;

void FunctionCall::add(const Tensor& x) {
  if (!x.defined()) return add_other();
  state_->inputs.push_back({x, state_->arguments.size()});
  state_->arguments.push_back({true, dims_of(x.sizes()), x.scalar_type()});
}
void FunctionCall::add(const optional<Tensor>& x) { x ? add(*x) : add_other(); }
void FunctionCall::add(TensorList list) {
  for (const Tensor& x : list) add(x);
}
void FunctionCall::add_other() { state_->arguments.push_back({false, {}, kFloat}); }

AutogradContext* FunctionCall::start() {
  State& s = *state_;
  for (const State::Input& input : s.inputs) s.context.needs_.push_back(input.tensor.requires_grad());
  const bool any = std::ranges::any_of(s.context.needs_, [](bool needs) { return needs; });
  if (any && GradMode::is_enabled()) s.fn = std::make_shared<GradFn>(s.name);
  s.no_grad = std::make_unique<NoGradGuard>();
  return &s.context;
}

Tensor FunctionCall::finish(Tensor output) { return finish(variable_list{std::move(output)})[0]; }
variable_list FunctionCall::finish(variable_list outputs) {
  State& s = *state_;
  s.no_grad = nullptr;
  for (const Tensor& x : s.context.dirty_)
    check(contains(outputs, x),
          "Some elements marked as dirty during the forward method were not returned as output. The inputs "
          "that are modified inplace must all be outputs of the Function.");
  for (const Tensor& x : s.context.dirty_) impl(x).bump_version();
  for (size_t i = 0; i < s.inputs.size() && s.fn; ++i) {
    if (s.context.needs_[i]) s.fn->edges.push_back(edge_to(s.inputs[i].tensor, s.inputs[i].argument));
  }
  const variable_list returned = outputs;  // what the context was told of
  for (Tensor& x : outputs) s.wrap(x);
  if (!s.fn) return outputs;
  for (const Tensor& x : s.context.to_save_) s.save(x, returned);
  s.context.to_save_.clear();
  s.context.dirty_.clear();
  s.context.non_differentiable_.clear();
  s.inputs.clear();
  const std::shared_ptr<GradFn> fn = std::move(s.fn);
  fn->rule = [state = state_](GradCall& call) { state->backward_of(call); };
  return outputs;
}

// The next result: it gets the GradFn as its history.
void FunctionCall::State::wrap(Tensor& x) {
  const auto slot = static_cast<int64_t>(zeros.size());
  zeros.push_back(x.defined() ? ir::make_const(ir::constant(impl(x).dtype(), 0.0), impl(x).sizes(), impl(x).device()) : NodeRef());
  if (fn) fn->output_count = slot;
  if (!x.defined()) return;
  const bool from_input = is_input(x), dirty = contains(context.dirty_, x);
  if (dirty) {
    check(!x.requires_grad() || !x.is_leaf(), "a leaf Variable that requires grad has been used in an in-place operation.");
    if (!from_input)
      warn_user(
          "Only input Tensors should be given to ctx.mark_dirty(). If a Tensor is not an input, there is no need to pass it "
          "to mark_dirty().");
  }
  const bool differentiable = fn && x.is_floating_point() && !contains(context.non_differentiable_, x);
  if (!differentiable) {
    if (from_input && !dirty) x = x.requires_grad() && fn ? x.detach() : view_of_itself(x);
    else if (fn && x.requires_grad() && !x.is_view()) x.detach_();
  } else if (from_input && dirty) {
    attach_write(x, fn);
  } else {
    if (from_input) x = view_of_itself(x);
    attach(x, fn, x.is_view() ? ViewOrigin::CustomFunction : ViewOrigin::Single);
  }
}

void FunctionCall::State::save(const Tensor& x, const variable_list& outputs) {
  saves_nothing.push_back(!x.defined());
  if (!x.defined()) return;
  const auto output = static_cast<size_t>(
      std::ranges::find_if(outputs, [&](const Tensor& other) { return other.defined() && other.is_same(x); }) - outputs.begin());
  SavedValue::Of of = SavedValue::Of::Step;
  size_t number = saves_nothing.size();
  if (output < outputs.size() && !(is_input(x) && !contains(context.dirty_, x))) {
    of = SavedValue::Of::Output;
    number = output;
  } else if (is_input(x)) {
    of = SavedValue::Of::Operand;
    number = inputs[input_of(x)].argument;
  }
  const bool tracked = of == SavedValue::Of::Operand && requires_grad(x);
  KeptValue value = kept_operand(node_of(x), tracked, tracked ? own_history(x).fn.get() : nullptr);
  fn->saved.push_back({of, static_cast<uint32_t>(number), std::move(value), VersionWatch(impl(x))});
}

// --- the backward pass of the call

void FunctionCall::State::backward_of(GradCall& call) {
  variable_list grads;
  for (size_t k = 0; k < zeros.size(); ++k) {
    grads.push_back(call.given(k));
    if (!grads.back().defined() && context.materialize_grads_ && zeros[k]) grads.back() = Tensor(new TensorImpl(zeros[k]), false);
  }
  context.saved_.clear();
  auto value = call.saved().begin();
  for (bool nothing : saves_nothing) context.saved_.push_back(nothing ? Tensor() : *value++);
  variable_list results = [&] {
    const CallScope::Outside outside;
    return backward(&context, std::move(grads));
  }();
  context.saved_.clear();
  check_count(results);
  for (size_t i = 0; i < results.size(); ++i) {
    if (!results[i].defined()) continue;
    check(arguments[i].is_tensor, "function ", name, " returned a gradient different from None at position ", i + 1,
          ", but the corresponding forward input was not a Variable");
    call.give(i, fitted(results[i], i));
  }
}

// Too many are all right as long as these are undefined.
void FunctionCall::State::check_count(variable_list& results) const {
  while (results.size() > arguments.size() && !results.back().defined()) results.pop_back();
  check(results.size() == arguments.size(), "function ", name, " returned an incorrect number of gradients (expected ", arguments.size(),
        ", got ", results.size(), ")");
}

// In the shape and dtype of the argument.
Tensor FunctionCall::State::fitted(const Tensor& grad, size_t argument) const {
  const Argument& a = arguments[argument];
  Tensor result = grad;
  if (result.sizes() != ref(a.sizes)) {
    const auto rank = static_cast<int64_t>(a.sizes.size());
    bool fits = rank <= grad.dim();
    for (int64_t d = 0; d < rank && fits; ++d) {
      const int64_t size = a.sizes[static_cast<size_t>(rank - 1 - d)];
      fits = size == 1 || size == grad.size(-1 - d);
    }
    check(fits, "Function ", name, " returned an invalid gradient at index ", argument, " - got ", grad.sizes(),
          " but expected shape compatible with ", ref(a.sizes));
    result = result.sum_to_size(ref(a.sizes));
  }
  return result.to(a.dtype);
}

}  // namespace tenon::autograd
