// The optimizers. Each update is PyTorch's sequence of operations, in place.
#include "tenon/optim.h"

#include <cmath>
#include <ostream>

#include "frontend/src/autograd/grad.h"
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

Tensor remembered(std::vector<Tensor>& tensors, size_t i, const Tensor& like, double start = 0) {
  if (tensors.size() <= i) tensors.resize(i + 1);
  if (!tensors[i].defined()) tensors[i] = full_like(like, start);
  return tensors[i];
}

// The common part of Adam and AdamW.
template <typename Options>
void adam_step(Tensor& p, const Tensor& grad, int64_t step, std::vector<Tensor>& tensors, const Options& o) {
  const auto [beta1, beta2] = o.betas();
  const double t = step;
  const double correction1 = 1 - std::pow(beta1, t), correction2 = 1 - std::pow(beta2, t);
  enum { Mean, Square, Largest };
  const Tensor mean = remembered(tensors, Mean, p), square = remembered(tensors, Square, p);
  mean.mul_(beta1).add_(grad, 1 - beta1);
  square.mul_(beta2).addcmul_(grad, grad, 1 - beta2);
  Tensor bound = square;
  if (o.amsgrad()) {
    bound = remembered(tensors, Largest, p);
    bound.copy_(maximum(bound, square));
  }
  const Tensor denominator = bound.sqrt().div(std::sqrt(correction2)).add(o.eps());
  p.addcdiv_(mean, denominator, -o.lr() / correction1);
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
  out << "Parameter Group 0\n    amsgrad: " << truth(o.amsgrad()) << "\n    betas: ("
      << number(std::get<0>(o.betas())) << ", " << number(std::get<1>(o.betas()))
      << ")\n    capturable: False\n    decoupled_weight_decay: " << truth(decoupled)
      << "\n    differentiable: False\n    eps: " << number(o.eps()) << "\n    foreach: None\n    fused: None\n    lr: "
      << number(o.lr()) << "\n    maximize: False\n    weight_decay: " << number_or_zero(o.weight_decay()) << "\n)";
}

}  // namespace

Optimizer::Optimizer(std::vector<Tensor> parameters)
    : parameters_(std::move(parameters)), states_(parameters_.size()) {
  check<ValueError>(!parameters_.empty(), "optimizer got an empty parameter list");
  for (const Tensor& p : parameters_)
    check<ValueError>(p.is_leaf() || p.retains_grad(), "can't optimize a non-leaf Tensor");
}
Optimizer::~Optimizer() = default;

void Optimizer::step() {
  const NoGradGuard no_grad;
  std::vector<Tensor> changed;
  for (size_t i = 0; i < parameters_.size(); ++i) {
    const Tensor grad = parameters_[i].grad();
    if (!grad.defined()) continue;
    ++states_[i].step;
    update(parameters_[i], grad, states_[i]);
    changed.push_back(parameters_[i]);
    for (const Tensor& t : states_[i].tensors) {
      if (t.defined()) changed.push_back(t);
    }
  }
  if (changed.empty() && !warned_) {
    warn_user("Optimizer::step(): no parameter has a gradient, so nothing changes. Tenon computes none yet: set "
              "parameter.mutable_grad().");
    warned_ = true;
  }
  tenon::eval(TensorList(changed));
}

void Optimizer::zero_grad(bool set_to_none) { zero_grads(parameters_, set_to_none); }

std::ostream& operator<<(std::ostream& out, const Optimizer& optimizer) {
  optimizer.pretty_print(out);
  return out;
}

// --- SGD
// ----------------------------------------------------------------------------------------------------------

SGD::SGD(std::vector<Tensor> parameters, SGDOptions options)
    : Optimizer(std::move(parameters)), options_(options) {
  check_at_least_zero(options_.lr(), "learning rate");
  check_at_least_zero(options_.momentum(), "momentum value");
  check_at_least_zero(options_.weight_decay(), "weight_decay value");
  check<ValueError>(!options_.nesterov() || (options_.momentum() > 0 && options_.dampening() == 0),
                    "Nesterov momentum requires a momentum and zero dampening");
}
void SGD::update(Tensor& p, Tensor grad, State& state) {
  if (options_.weight_decay() != 0) grad = grad.add(p, options_.weight_decay());
  if (options_.momentum() != 0) {
    if (state.tensors.empty())
      state.tensors.push_back(grad.clone());
    else
      state.tensors[0].mul_(options_.momentum()).add_(grad, 1 - options_.dampening());
    grad = options_.nesterov() ? grad.add(state.tensors[0], options_.momentum()) : state.tensors[0];
  }
  p.add_(grad, -options_.lr());
}
void SGD::pretty_print(std::ostream& out) const {
  out << "SGD (\nParameter Group 0\n    dampening: " << number_or_zero(options_.dampening())
      << "\n    differentiable: False\n    foreach: None\n    fused: None\n    lr: " << number(options_.lr())
      << "\n    maximize: False\n"
      << "    momentum: " << number_or_zero(options_.momentum())
      << "\n    nesterov: " << truth(options_.nesterov())
      << "\n    weight_decay: " << number_or_zero(options_.weight_decay()) << "\n)";
}

// --- Adam
// ---------------------------------------------------------------------------------------------------------

Adam::Adam(std::vector<Tensor> parameters, AdamOptions options)
    : Optimizer(std::move(parameters)), options_(options) {
  check_adam(options_);
}
void Adam::update(Tensor& p, Tensor grad, State& state) {
  if (options_.weight_decay() != 0) grad = grad.add(p, options_.weight_decay());
  adam_step(p, grad, state.step, state.tensors, options_);
}
void Adam::pretty_print(std::ostream& out) const {
  out << "Adam (\n";
  print_adam(out, options_, false);
}

AdamW::AdamW(std::vector<Tensor> parameters, AdamWOptions options)
    : Optimizer(std::move(parameters)), options_(options) {
  check_adam(options_);
}
void AdamW::update(Tensor& p, Tensor grad, State& state) {
  if (options_.weight_decay() != 0) p.mul_(1 - options_.lr() * options_.weight_decay());
  adam_step(p, grad, state.step, state.tensors, options_);
}
void AdamW::pretty_print(std::ostream& out) const {
  out << "AdamW (\n";
  print_adam(out, options_, true);
}

// --- RMSprop
// ------------------------------------------------------------------------------------------------------

RMSprop::RMSprop(std::vector<Tensor> parameters, RMSpropOptions options)
    : Optimizer(std::move(parameters)), options_(options) {
  check_at_least_zero(options_.lr(), "learning rate");
  check_at_least_zero(options_.eps(), "epsilon value");
  check_at_least_zero(options_.momentum(), "momentum value");
  check_at_least_zero(options_.weight_decay(), "weight_decay value");
  check_at_least_zero(options_.alpha(), "alpha value");
}
void RMSprop::update(Tensor& p, Tensor grad, State& state) {
  const double alpha = options_.alpha();
  enum { Square, Mean, Momentum };
  if (options_.weight_decay() != 0) grad = grad.add(p, options_.weight_decay());
  Tensor square = remembered(state.tensors, Square, p);
  square.mul_(alpha).addcmul_(grad, grad, 1 - alpha);
  Tensor average = square;
  if (options_.centered()) {
    Tensor mean = remembered(state.tensors, Mean, p);
    mean.mul_(alpha).add_(grad, 1 - alpha);
    average = square.addcmul(mean, mean, -1);
  }
  average = average.sqrt().add(options_.eps());
  if (options_.momentum() > 0) {
    Tensor velocity = remembered(state.tensors, Momentum, p);
    velocity.mul_(options_.momentum()).addcdiv_(grad, average);
    p.add_(velocity, -options_.lr());
  } else {
    p.addcdiv_(grad, average, -options_.lr());
  }
}
void RMSprop::pretty_print(std::ostream& out) const {
  out << "RMSprop (\nParameter Group 0\n    alpha: " << number(options_.alpha())
      << "\n    capturable: False\n    centered: " << truth(options_.centered())
      << "\n    differentiable: False\n    eps: " << number(options_.eps())
      << "\n    foreach: None\n    lr: " << number(options_.lr())
      << "\n    maximize: False\n    momentum: " << number_or_zero(options_.momentum())
      << "\n    weight_decay: " << number_or_zero(options_.weight_decay()) << "\n)";
}

// --- Adagrad
// ------------------------------------------------------------------------------------------------------

Adagrad::Adagrad(std::vector<Tensor> parameters, AdagradOptions options)
    : Optimizer(std::move(parameters)), options_(options) {
  check_at_least_zero(options_.lr(), "learning rate");
  check_at_least_zero(options_.lr_decay(), "lr_decay value");
  check_at_least_zero(options_.weight_decay(), "weight_decay value");
  check_at_least_zero(options_.initial_accumulator_value(), "initial_accumulator_value value");
  check_at_least_zero(options_.eps(), "epsilon value");
}
void Adagrad::update(Tensor& p, Tensor grad, State& state) {
  if (options_.weight_decay() != 0) grad = grad.add(p, options_.weight_decay());
  const double rate = options_.lr() / (1 + static_cast<double>(state.step - 1) * options_.lr_decay());
  Tensor sum = remembered(state.tensors, 0, p, options_.initial_accumulator_value());
  sum.addcmul_(grad, grad);
  p.addcdiv_(grad, sum.sqrt().add(options_.eps()), -rate);
}
void Adagrad::pretty_print(std::ostream& out) const {
  out << "Adagrad (\nParameter Group 0\n    differentiable: False\n    eps: " << number(options_.eps())
      << "\n    foreach: None\n    fused: None\n    initial_accumulator_value: "
      << number_or_zero(options_.initial_accumulator_value()) << "\n    lr: " << number(options_.lr())
      << "\n    lr_decay: " << number_or_zero(options_.lr_decay())
      << "\n    maximize: False\n    weight_decay: " << number_or_zero(options_.weight_decay()) << "\n)";
}

}  // namespace tenon::optim
