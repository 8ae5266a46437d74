// The optimizers. Each update is PyTorch's sequence of operations, in place.
#include "tenon/optim.h"

#include <cmath>
#include <ostream>
#include <unordered_set>

#include "frontend/src/autograd/grad.h"
#include "frontend/src/optim/formula.h"
#include "frontend/src/optim/step_guard.h"
#include "frontend/src/tensor/capture.h"
#include "frontend/src/tensor/text.h"
#include "tenon/creation.h"
#include "tenon/print.h"

namespace tenon::optim {
namespace {

std::string number(double value) { return format(tensor(value, TensorOptions(kDouble))); }
// Python prints a whole default as the integer it was written as.
std::string number_or_zero(double value) { return value == 0 ? "0" : number(value); }
const char* truth(bool value) { return value ? "True" : "False"; }

void check_at_least_zero(double value, const char* what) {
  check<ValueError>(value >= 0, "Invalid ", what, ": ",
                    value == std::floor(value) ? text(value) : number(value));
}
void check_betas(const Betas& betas) {
  const double values[] = {std::get<0>(betas), std::get<1>(betas)};
  for (int i = 0; i < 2; ++i)
    check<ValueError>(values[i] >= 0 && values[i] < 1, "Invalid beta parameter at index ", i, ": ",
                      number(values[i]));
}

// What is remembered under this field; zeros or `start` at first.
Tensor& remembered(Tensor& field, const Tensor& like, double start = 0) {
  if (field.defined()) return field;
  field = full_like(like, start);
  start_in_memory(field);
  return field;
}

// The common part of Adam and AdamW. Tensors: the parameter, its gradient, exp_avg, exp_avg_sq and, of amsgrad, max_exp_avg_sq.
// Numbers: beta1, 1 - beta1, beta2, 1 - beta2, the root of the bias correction, eps, minus the step size, weight decay.
constexpr uint32_t kDecays = 1, kDecoupled = 2, kAmsgrad = 4;  // of the form
void adam_formula(uint32_t form, std::span<const Tensor> tensors, std::span<const double> n) {
  const Tensor &p = tensors[0], &mean = tensors[2], &square = tensors[3];
  if (form & kDecoupled) p.mul_(n[7]);
  const Tensor grad = form & kDecays ? tensors[1].add(p, n[7]) : tensors[1];
  mean.copy_(mean.mul(n[0]).add(grad, n[1]));
  square.copy_(square.mul(n[2]).addcmul(grad, grad, n[3]));
  Tensor bound = square;
  if (form & kAmsgrad) {
    bound = tensors[4];
    bound.copy_(maximum(bound, square));
  }
  p.addcdiv_(mean, bound.sqrt().div(n[4]).add(n[5]), n[6]);
}

// The host counts the steps, and a graph would repeat the number of the step that was captured.
void refuse_captured_count(const Tensor& p, const char* optimizer) {
  if (capturing() && !p.is_cpu()) [[unlikely]]
    capturing()->fail(text("Attempting CUDA graph capture of step() for an instance of ", optimizer, " but param_groups' capturable is False."));
}

// `decay`: the number of weight decay in this form.
template <typename Options, typename State>
void adam_step(Tensor& p, const Tensor& grad, const Options& o, State& state, uint32_t form, double decay) {
  const auto [beta1, beta2] = o.betas();
  refuse_captured_count(p, std::is_same_v<Options, AdamOptions> ? "Adam" : "AdamW");
  const double t = ++state.step();
  const double correction1 = 1 - std::pow(beta1, t), correction2 = 1 - std::pow(beta2, t);
  const double numbers[] = {beta1, 1 - beta1, beta2, 1 - beta2, std::sqrt(correction2), o.eps(), -o.lr() / correction1, decay};
  Tensor tensors[5] = {p, grad, remembered(state.exp_avg(), p), remembered(state.exp_avg_sq(), p)};
  if (o.amsgrad()) tensors[4] = remembered(state.max_exp_avg_sq(), p);
  apply_formula(adam_formula, form | (o.amsgrad() ? kAmsgrad : 0), {tensors, o.amsgrad() ? size_t{5} : size_t{4}}, numbers);
}

template <typename Options>
void check_adam(const Options& o) {
  check_at_least_zero(o.lr(), "learning rate");
  check_at_least_zero(o.eps(), "epsilon value");
  check_betas(o.betas());
  check_at_least_zero(o.weight_decay(), "weight_decay value");
}

template <typename Options>
void print_adam(std::ostream& out, const Options& o, bool decoupled) {
  out << "    amsgrad: " << truth(o.amsgrad()) << "\n    betas: ("
      << number(std::get<0>(o.betas())) << ", " << number(std::get<1>(o.betas()))
      << ")\n    capturable: False\n    decoupled_weight_decay: " << truth(decoupled)
      << "\n    differentiable: False\n    eps: " << number(o.eps()) << "\n    foreach: None\n    fused: None\n    lr: "
      << number(o.lr()) << "\n    maximize: False\n    weight_decay: " << number_or_zero(o.weight_decay());
}

using Group = OptimizerParamGroup;
std::vector<Group> one_group(std::vector<Tensor> parameters) {
  std::vector<Group> groups;
  groups.emplace_back(std::move(parameters));
  return groups;
}

void check_parameters(const std::vector<Tensor>& parameters) {
  for (const Tensor& p : parameters) {
    check<ValueError>(p.is_leaf() || p.retains_grad(), "can't optimize a non-leaf Tensor");
    own_history(p).optimized = true;
  }
}

}  // namespace

OptimizerParamGroup::OptimizerParamGroup(const OptimizerParamGroup& other)
    : params_(other.params_), options_(other.options_ ? other.options_->clone() : nullptr) {}
OptimizerOptions& OptimizerParamGroup::options() {
  check(has_options(), "the parameter group has no options: set_options() gives it some");
  return *options_;
}
const OptimizerOptions& OptimizerParamGroup::options() const {
  return const_cast<OptimizerParamGroup*>(this)->options();
}

// --- any optimizer

Optimizer::Optimizer(const std::vector<Group>& param_groups, std::unique_ptr<OptimizerOptions> defaults)
    : defaults_(std::move(defaults)) {
  for (const Group& group : param_groups) add_param_group(group);
}
Optimizer::Optimizer(std::vector<Tensor> parameters, std::unique_ptr<OptimizerOptions> defaults)
    : Optimizer(one_group(std::move(parameters)), std::move(defaults)) {}
Optimizer::~Optimizer() = default;

void Optimizer::add_param_group(const Group& group) {
  check_parameters(group.params());
  std::unordered_set<const void*> known, own;
  for (const Group& other : param_groups_) {
    for (const Tensor& p : other.params()) known.insert(p.unsafe_impl());
  }
  bool repeated = false;
  for (const Tensor& p : group.params()) {
    check<ValueError>(!known.contains(p.unsafe_impl()), "some parameters appear in more than one parameter group");
    repeated |= !own.insert(p.unsafe_impl()).second;
  }
  if (repeated)
    warn_user("optimizer contains a parameter group with duplicate parameters; in future, this will cause an error; see "
              "github.com/pytorch/pytorch/issues/40967 for more information");
  Group added = group;
  if (added.has_options())
    added.options().inherit(*defaults_);
  else
    added.set_options(defaults_->clone());
  param_groups_.push_back(std::move(added));
}
void Optimizer::add_parameters(const std::vector<Tensor>& parameters) {
  check_parameters(parameters);
  std::vector<Tensor>& first = first_group().params();
  first.insert(first.end(), parameters.begin(), parameters.end());
}
Group& Optimizer::first_group() {
  check<IndexError>(!param_groups_.empty(), "the optimizer has no parameter group: add_param_group() gives it one");
  return param_groups_[0];
}
std::vector<Tensor>& Optimizer::parameters() { return first_group().params(); }
const std::vector<Tensor>& Optimizer::parameters() const { return const_cast<Optimizer*>(this)->first_group().params(); }
size_t Optimizer::size() const {
  size_t count = 0;
  for (const Group& group : param_groups_) count += group.params().size();
  return count;
}
void Optimizer::zero_grad(bool set_to_none) {
  for (const Group& group : param_groups_) zero_grads(group.params(), set_to_none);
}
std::unique_ptr<OptimizerParamState> Optimizer::make_state() const { return nullptr; }

Tensor Optimizer::step_each(const LossClosure& closure, const Update& update) {
  Tensor loss;
  if (closure) {
    const AutoGradMode with_grad(true);
    loss = closure();
  }
  const NoGradGuard no_grad;
  size_t noted = 0;  // of what changes
  StepGuard guard(state_, size());
  std::vector<Tensor> changed;
  changed.reserve(4 * size());
  for (Group& group : param_groups_) {
    for (Tensor& p : group.params()) {
      const Tensor grad = p.grad();
      if (!grad.defined()) continue;
      std::unique_ptr<OptimizerParamState>& state = state_[p.unsafe_impl()];
      guard.note_state(p.unsafe_impl(), state.get());
      changed.push_back(p);
      if (state) {
        for (Tensor& t : state->tensors()) changed.push_back(std::move(t));
      }
      for (; noted < changed.size(); ++noted) guard.note(changed[noted]);
      const bool fresh = !state;
      if (fresh) state = make_state();
      check(state != nullptr, printed_name(), " updates parameters but makes no states: override make_state()");
      update(p, grad, group.options(), *state);
      if (!fresh) continue;
      for (Tensor& t : state->tensors()) changed.push_back(std::move(t));
      noted = changed.size();
    }
  }
  if (changed.empty() && !warned_) {
    warn_user("Optimizer::step(): no parameter has a gradient, so nothing changes: call backward() first.");
    warned_ = true;
  }
  for (Tensor& root : take_roots()) changed.push_back(std::move(root));
  guard.evaluate(changed);
  return loss;
}

void Optimizer::print_options(std::ostream&, const OptimizerOptions&) const {}
void Optimizer::pretty_print(std::ostream& out) const {
  out << printed_name() << " (\n";
  for (size_t i = 0; i < param_groups_.size(); ++i) {
    out << (i ? "\n" : "") << "Parameter Group " << i << "\n";
    print_options(out, param_groups_[i].options());
    out << "\n";
  }
  out << ')';
}
std::ostream& operator<<(std::ostream& out, const Optimizer& optimizer) {
  TextStream body;
  optimizer.pretty_print(body);
  return out << body.str();
}

// Most make a parameter's state at its first step.
template <typename Options>
void begin_states(Optimizer::States&, const std::vector<Group>&, const Options&) {}

// What is the same for all that update each parameter by itself.
#define TENON_OPTIMIZER(Name)                                                                                     \
  Name::Name(const std::vector<Group>& groups, Name##Options defaults)                                            \
      : Optimizer(groups, std::make_unique<Name##Options>(defaults)) {                                            \
    check_options(defaults);                                                                                      \
    begin_states(state_, param_groups_, defaults);                                                                \
  }                                                                                                               \
  Name::Name(std::vector<Tensor> parameters, Name##Options defaults)                                              \
      : Name(one_group(std::move(parameters)), std::move(defaults)) {}                                            \
  Tensor Name::step(LossClosure closure) {                                                                        \
    return step_each(closure, [](Tensor& p, Tensor grad, const OptimizerOptions& options, OptimizerParamState& state) { \
      update(p, std::move(grad), static_cast<const Name##Options&>(options), static_cast<Name##ParamState&>(state)); \
    });                                                                                                           \
  }                                                                                                               \
  std::unique_ptr<OptimizerParamState> Name::make_state() const { return std::make_unique<Name##ParamState>(); }  \
  void Name::print_options(std::ostream& out, const OptimizerOptions& options) const {                            \
    print(out, static_cast<const Name##Options&>(options));                                                       \
  }

// --- SGD

namespace {
void check_options(const SGDOptions& o) {
  check_at_least_zero(o.lr(), "learning rate");
  check_at_least_zero(o.momentum(), "momentum value");
  check_at_least_zero(o.weight_decay(), "weight_decay value");
  check<ValueError>(!o.nesterov() || (o.momentum() > 0 && o.dampening() == 0),
                    "Nesterov momentum requires a momentum and zero dampening");
}
// Tensors: the parameter, its gradient and, with momentum, its buffer. Numbers: weight decay, momentum, 1 - dampening, minus lr.
enum SGDForm : uint32_t { kSGDDecays = 1, kMomentum = 2, kStarts = 4, kNesterov = 8 };
void sgd_formula(uint32_t form, std::span<const Tensor> tensors, std::span<const double> n) {
  const Tensor& p = tensors[0];
  Tensor grad = form & kSGDDecays ? tensors[1].add(p, n[0]) : tensors[1];
  if (form & kMomentum) {
    const Tensor& buffer = tensors[2];
    if (form & kStarts)
      buffer.copy_(grad);
    else
      buffer.mul_(n[1]).add_(grad, n[2]);
    grad = form & kNesterov ? grad.add(buffer, n[1]) : buffer;
  }
  p.add_(grad, n[3]);
}
void update(Tensor& p, Tensor grad, const SGDOptions& o, SGDParamState& state) {
  const bool momentum = o.momentum() != 0;
  uint32_t form = 0;
  if (o.weight_decay() != 0) form |= kSGDDecays;
  if (momentum) form |= kMomentum;
  // Without dampening zeros become the gradient too, by the formula of all other steps.
  if (momentum && o.dampening() != 0 && !state.momentum_buffer().defined()) form |= kStarts;
  if (o.nesterov()) form |= kNesterov;
  const Tensor tensors[] = {p, grad, momentum ? remembered(state.momentum_buffer(), grad) : Tensor()};
  const double numbers[] = {o.weight_decay(), o.momentum(), 1 - o.dampening(), -o.lr()};
  apply_formula(sgd_formula, form, {tensors, momentum ? size_t{3} : size_t{2}}, numbers);
}
void print(std::ostream& out, const SGDOptions& o) {
  out << "    dampening: " << number_or_zero(o.dampening())
      << "\n    differentiable: False\n    foreach: None\n    fused: None\n    lr: " << number(o.lr())
      << "\n    maximize: False\n    momentum: " << number_or_zero(o.momentum())
      << "\n    nesterov: " << truth(o.nesterov()) << "\n    weight_decay: " << number_or_zero(o.weight_decay());
}
}  // namespace
TENON_OPTIMIZER(SGD)

// --- Adam

namespace {
void check_options(const AdamOptions& o) { check_adam(o); }
void update(Tensor& p, Tensor grad, const AdamOptions& o, AdamParamState& state) {
  adam_step(p, grad, o, state, o.weight_decay() != 0 ? kDecays : 0, o.weight_decay());
}
void print(std::ostream& out, const AdamOptions& o) { print_adam(out, o, false); }

void check_options(const AdamWOptions& o) { check_adam(o); }
void update(Tensor& p, Tensor grad, const AdamWOptions& o, AdamWParamState& state) {
  adam_step(p, grad, o, state, o.weight_decay() != 0 ? kDecoupled : 0, 1 - o.lr() * o.weight_decay());
}
void print(std::ostream& out, const AdamWOptions& o) { print_adam(out, o, true); }
}  // namespace
TENON_OPTIMIZER(Adam)
TENON_OPTIMIZER(AdamW)

// --- RMSprop

namespace {
void check_options(const RMSpropOptions& o) {
  check_at_least_zero(o.lr(), "learning rate");
  check_at_least_zero(o.eps(), "epsilon value");
  check_at_least_zero(o.momentum(), "momentum value");
  check_at_least_zero(o.weight_decay(), "weight_decay value");
  check_at_least_zero(o.alpha(), "alpha value");
}
// Tensors: the parameter, its gradient, square_avg and, where the form has them, grad_avg and momentum_buffer. Numbers: weight
// decay, alpha, 1 - alpha, eps, momentum, minus lr.
enum RMSpropForm : uint32_t { kRMSpropDecays = 1, kCentered = 2, kWithVelocity = 4 };
void rmsprop_formula(uint32_t form, std::span<const Tensor> tensors, std::span<const double> n) {
  const Tensor &p = tensors[0], &square = tensors[2];
  const Tensor grad = form & kRMSpropDecays ? tensors[1].add(p, n[0]) : tensors[1];
  square.mul_(n[1]).addcmul_(grad, grad, n[2]);
  Tensor average = square;
  if (form & kCentered) {
    const Tensor& mean = tensors[3];
    mean.mul_(n[1]).add_(grad, n[2]);
    average = square.addcmul(mean, mean, -1);
  }
  average = average.sqrt().add(n[3]);
  if (form & kWithVelocity) {
    const Tensor& velocity = tensors.back();
    velocity.mul_(n[4]).addcdiv_(grad, average);
    p.add_(velocity, n[5]);
  } else {
    p.addcdiv_(grad, average, n[5]);
  }
}
void update(Tensor& p, Tensor grad, const RMSpropOptions& o, RMSpropParamState& state) {
  ++state.step();
  uint32_t form = 0;
  Tensor tensors[5] = {p, grad, remembered(state.square_avg(), p)};
  size_t count = 3;
  if (o.weight_decay() != 0) form |= kRMSpropDecays;
  if (o.centered()) {
    form |= kCentered;
    tensors[count++] = remembered(state.grad_avg(), p);
  }
  if (o.momentum() > 0) {
    form |= kWithVelocity;
    tensors[count++] = remembered(state.momentum_buffer(), p);
  }
  const double numbers[] = {o.weight_decay(), o.alpha(), 1 - o.alpha(), o.eps(), o.momentum(), -o.lr()};
  apply_formula(rmsprop_formula, form, {tensors, count}, numbers);
}
void print(std::ostream& out, const RMSpropOptions& o) {
  out << "    alpha: " << number(o.alpha()) << "\n    capturable: False\n    centered: " << truth(o.centered())
      << "\n    differentiable: False\n    eps: " << number(o.eps()) << "\n    foreach: None\n    lr: " << number(o.lr())
      << "\n    maximize: False\n    momentum: " << number_or_zero(o.momentum())
      << "\n    weight_decay: " << number_or_zero(o.weight_decay());
}
}  // namespace
TENON_OPTIMIZER(RMSprop)

// --- Adagrad

namespace {
void check_options(const AdagradOptions& o) {
  check_at_least_zero(o.lr(), "learning rate");
  check_at_least_zero(o.lr_decay(), "lr_decay value");
  check_at_least_zero(o.weight_decay(), "weight_decay value");
  check_at_least_zero(o.initial_accumulator_value(), "initial_accumulator_value value");
  check_at_least_zero(o.eps(), "epsilon value");
}
// Tensors: the parameter, its gradient, sum. Numbers: weight decay, eps, minus the rate. Form: 1 if there is weight decay.
void adagrad_formula(uint32_t form, std::span<const Tensor> tensors, std::span<const double> n) {
  const Tensor &p = tensors[0], &sum = tensors[2];
  const Tensor grad = form ? tensors[1].add(p, n[0]) : tensors[1];
  sum.addcmul_(grad, grad);
  p.addcdiv_(grad, sum.sqrt().add(n[1]), n[2]);
}
void begin_states(Optimizer::States& states, const std::vector<Group>& groups, const AdagradOptions&) {
  for (const Group& group : groups) {
    const double start = static_cast<const AdagradOptions&>(group.options()).initial_accumulator_value();
    for (const Tensor& p : group.params()) {
      auto state = std::make_unique<AdagradParamState>();
      remembered(state->sum(), p, start);
      states[p.unsafe_impl()] = std::move(state);
    }
  }
}
void update(Tensor& p, Tensor grad, const AdagradOptions& o, AdagradParamState& state) {
  if (o.lr_decay() != 0) refuse_captured_count(p, "Adagrad");
  Tensor& sum = remembered(state.sum(), p, o.initial_accumulator_value());
  if (state.step() == 0) sum = sum.to(p.device(), p.scalar_type());  // where the parameter may have gone since
  const double rate = o.lr() / (1 + static_cast<double>(state.step()++) * o.lr_decay());
  const Tensor tensors[] = {p, grad, sum};
  const double numbers[] = {o.weight_decay(), o.eps(), -rate};
  apply_formula(adagrad_formula, o.weight_decay() != 0, tensors, numbers);
}
void print(std::ostream& out, const AdagradOptions& o) {
  out << "    differentiable: False\n    eps: " << number(o.eps()) << "\n    foreach: None\n    fused: None\n    "
      << "initial_accumulator_value: " << number_or_zero(o.initial_accumulator_value()) << "\n    lr: " << number(o.lr())
      << "\n    lr_decay: " << number_or_zero(o.lr_decay())
      << "\n    maximize: False\n    weight_decay: " << number_or_zero(o.weight_decay());
}
}  // namespace
TENON_OPTIMIZER(Adagrad)
#undef TENON_OPTIMIZER

}  // namespace tenon::optim
