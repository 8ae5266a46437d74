// RMSprop.
#include "frontend/src/optim/optimizer.h"

namespace tenon::optim {

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

TENON_OPTIMIZER(RMSprop, ())

}  // namespace tenon::optim
