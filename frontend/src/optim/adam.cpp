// Adam and AdamW.
#include "frontend/src/optim/optimizer.h"

#include <cmath>

namespace tenon::optim {

namespace {

void check_betas(const Betas& betas) {
  const double values[] = {std::get<0>(betas), std::get<1>(betas)};
  for (int i = 0; i < 2; ++i)
    check<ValueError>(values[i] >= 0 && values[i] < 1, "Invalid beta parameter at index ", i, ": ", number(values[i]));
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
  out << "    amsgrad: " << truth(o.amsgrad()) << "\n    betas: (" << number(std::get<0>(o.betas())) << ", "
      << number(std::get<1>(o.betas())) << ")\n    capturable: False\n    decoupled_weight_decay: " << truth(decoupled)
      << "\n    differentiable: False\n    eps: " << number(o.eps()) << "\n    foreach: None\n    fused: None\n    lr: " << number(o.lr())
      << "\n    maximize: False\n    weight_decay: " << number_or_zero(o.weight_decay());
}

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

TENON_OPTIMIZER(Adam, ())
TENON_OPTIMIZER(AdamW, ())

}  // namespace tenon::optim
