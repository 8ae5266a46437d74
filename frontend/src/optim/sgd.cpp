// Stochastic gradient descent, with momentum.
#include "frontend/src/optim/optimizer.h"

namespace tenon::optim {

namespace {
void check_options(const SGDOptions& o) {
  check_at_least_zero(o.lr(), "learning rate");
  check_at_least_zero(o.momentum(), "momentum value");
  check_at_least_zero(o.weight_decay(), "weight_decay value");
  check<ValueError>(!o.nesterov() || (o.momentum() > 0 && o.dampening() == 0), "Nesterov momentum requires a momentum and zero dampening");
}
// Tensors: the parameter, its gradient and, with momentum, its buffer. Numbers: weight decay, momentum, 1 - dampening, minus lr.
enum SGDForm : uint32_t { kSGDDecays = 1, kMomentum = 2, kStarts = 4, kNesterov = 8 };
void sgd_formula(uint32_t form, std::span<const Tensor> tensors, std::span<const double> n) {
  const Tensor& p = tensors[0];
  Tensor grad = form & kSGDDecays ? tensors[1].add(p, n[0]) : tensors[1];
  if (form & kMomentum) {
    const Tensor& buffer = tensors[2];
    if (form & kStarts) buffer.copy_(grad);
    else buffer.mul_(n[1]).add_(grad, n[2]);
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
      << "\n    maximize: False\n    momentum: " << number_or_zero(o.momentum()) << "\n    nesterov: " << truth(o.nesterov())
      << "\n    weight_decay: " << number_or_zero(o.weight_decay());
}
}  // namespace

TENON_OPTIMIZER(SGD, (1e-3))  // LibTorch's idea of options that nobody set

}  // namespace tenon::optim
