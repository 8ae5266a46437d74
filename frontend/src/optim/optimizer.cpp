// Groups of parameters, and a step over all of them.
#include "frontend/src/optim/optimizer.h"

#include <cmath>
#include <unordered_set>

#include "frontend/src/autograd/grad.h"
#include "frontend/src/optim/step_guard.h"
#include "frontend/src/tensor/capture.h"
#include "tenon/creation.h"
#include "tenon/print.h"

namespace tenon::optim {

std::string number(double value) { return format(tensor(value, TensorOptions(kDouble))); }
std::string number_or_zero(double value) { return value == 0 ? "0" : number(value); }
void check_at_least_zero(double value, const char* what) {
  check<ValueError>(value >= 0, "Invalid ", what, ": ", value == std::floor(value) ? text(value) : number(value));
}

Tensor& remembered(Tensor& field, const Tensor& like, double start) {
  if (field.defined()) return field;
  field = full_like(like, start);
  start_in_memory(field);
  return field;
}

void refuse_captured_count(const Tensor& p, const char* optimizer) {
  if (capturing() && !p.is_cpu()) [[unlikely]]
    capturing()->fail(
        text("Attempting CUDA graph capture of step() for an instance of ", optimizer, " but param_groups' capturable is False."));
}

std::vector<Group> one_group(std::vector<Tensor> parameters) {
  std::vector<Group> groups;
  groups.emplace_back(std::move(parameters));
  return groups;
}

namespace {
void check_parameters(const std::vector<Tensor>& parameters) {
  for (const Tensor& p : parameters) {
    check<ValueError>(p.is_leaf() || p.retains_grad(), "can't optimize a non-leaf Tensor");
    own_history(p).optimized = true;
  }
}

}  // namespace

OptimizerParamGroup::OptimizerParamGroup(std::vector<Tensor> params) : params_(std::move(params)) {}
OptimizerParamGroup::OptimizerParamGroup(std::vector<Tensor> params, std::unique_ptr<OptimizerOptions> options)
    : params_(std::move(params)), options_(std::move(options)) {}
OptimizerParamGroup::OptimizerParamGroup(const OptimizerParamGroup& other)
    : params_(other.params_), options_(other.options_ ? other.options_->clone() : nullptr) {}
bool OptimizerParamGroup::has_options() const { return options_ != nullptr; }
void OptimizerParamGroup::set_options(std::unique_ptr<OptimizerOptions> options) { options_ = std::move(options); }
OptimizerOptions& OptimizerParamGroup::options() {
  check(has_options(), "the parameter group has no options: set_options() gives it some");
  return *options_;
}
const OptimizerOptions& OptimizerParamGroup::options() const { return const_cast<OptimizerParamGroup*>(this)->options(); }

// --- any optimizer

Optimizer::Optimizer(const std::vector<Group>& param_groups, std::unique_ptr<OptimizerOptions> defaults) : defaults_(std::move(defaults)) {
  for (const Group& group : param_groups) add_param_group(group);
}
Optimizer::Optimizer(std::vector<Tensor> parameters, std::unique_ptr<OptimizerOptions> defaults)
    : Optimizer(one_group(std::move(parameters)), std::move(defaults)) {}
Optimizer::~Optimizer() = default;
OptimizerOptions& Optimizer::defaults() { return *defaults_; }
const OptimizerOptions& Optimizer::defaults() const { return *defaults_; }

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
    warn_user(
        "optimizer contains a parameter group with duplicate parameters; in future, this will cause an error; see "
        "github.com/pytorch/pytorch/issues/40967 for more information");
  Group added = group;
  if (added.has_options()) added.options().inherit(*defaults_);
  else added.set_options(defaults_->clone());
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

}  // namespace tenon::optim
