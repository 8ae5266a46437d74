// Adagrad.
#include "frontend/src/optim/optimizer.h"

namespace tenon::optim {

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

TENON_OPTIMIZER(Adagrad, ())

}  // namespace tenon::optim
