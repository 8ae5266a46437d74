// Whole optimizers, written to archives and read from them; and what a program's own options and states must bring.
#include "frontend/src/optim/fields.h"

namespace tenon::optim {

using serialize::InputArchive;
using serialize::OutputArchive;

// --- what a program's own must bring

OptimizerParamState::~OptimizerParamState() = default;
OptimizerOptions::~OptimizerOptions() = default;
std::vector<Tensor> OptimizerParamState::tensors() const { return {}; }
std::unique_ptr<OptimizerParamState> OptimizerParamState::clone() const {
  throw Error(
      "clone() has not been implemented for torch::optim::OptimizerParamState. Subclass "
      "torch::optim::OptimizerCloneableParamState<YourOptimizerParamState> instead of "
      "torch::optim::OptimizerParamState to inherit the ability to clone.");
}
std::unique_ptr<OptimizerOptions> OptimizerOptions::clone() const {
  throw Error(
      "clone() has not been implemented for torch::optim::OptimizerOptions. Subclass "
      "torch::optim::OptimizerCloneableOptions<YourOptimizerOptions> instead of torch::optim::OptimizerOptions to "
      "inherit the ability to clone.");
}
namespace {
[[noreturn]] void not_overridden(const char* method, const char* type) {
  throw Error(text(method, " has not been overridden and implemented in subclass of torch::optim::", type,
                   ", you must override it in your subclass."));
}
}  // namespace
double OptimizerOptions::get_lr() const { not_overridden("double get_lr()", "OptimizerOptions"); }
void OptimizerOptions::set_lr(double) { not_overridden("double set_lr()", "OptimizerOptions"); }
void OptimizerOptions::serialize(InputArchive&) {
  not_overridden("void serialize(torch::serialize::InputArchive& archive)", "OptimizerOptions");
}
void OptimizerOptions::serialize(OutputArchive&) const {
  not_overridden("void serialize(torch::serialize::OutputArchive& archive)", "OptimizerOptions");
}
void OptimizerParamState::serialize(InputArchive&) {
  not_overridden("void serialize(torch::serialize::InputArchive& archive)", "OptimizerParamState");
}
void OptimizerParamState::serialize(OutputArchive&) const {
  not_overridden("void serialize(torch::serialize::OutputArchive& archive)", "OptimizerParamState");
}

// --- whole optimizers

// "groups" (how many), "group.0.params" (how many), "group.0.lr", ..., "state.0.step", "state.0.exp_avg", ...
void Optimizer::save(OutputArchive& archive) const {
  archive.write("groups", IValue(static_cast<int64_t>(param_groups_.size())));
  size_t place = 0;
  for (size_t g = 0; g < param_groups_.size(); ++g) {
    const OptimizerParamGroup& group = param_groups_[g];
    OutputArchive of_group;
    of_group.write("params", IValue(static_cast<int64_t>(group.params().size())));
    group.options().serialize(of_group);
    archive.write(text("group.", g), of_group);
    for (const Tensor& parameter : group.params()) {
      const std::string key = text("state.", place++);
      const auto found = state_.find(parameter.unsafe_impl());
      if (found == state_.end()) continue;
      OutputArchive of_state;
      found->second->serialize(of_state);
      of_state.write("there", IValue(true));
      archive.write(key, of_state);
    }
  }
}

namespace {
void check_shapes(const OptimizerParamState& state, const Tensor& parameter, const InputArchive& archive) {
  if (!state.is_shaped_like_parameter()) return;
  for (const Tensor& tensor : state.tensors())
    check<ValueError>(tensor.sizes() == parameter.sizes(), archive.where(""), ": a tensor has shape ", tensor.sizes(),
                      ", and the parameter's is ", parameter.sizes());
}

int64_t count(InputArchive& archive, const std::string& key) {
  int64_t result = 0;
  fields::read(archive, key, result);
  return result;
}
}  // namespace

void Optimizer::load(InputArchive& archive) {
  const int64_t groups = count(archive, "groups");
  check<ValueError>(groups == static_cast<int64_t>(param_groups_.size()), archive.where("groups"),
                    ": loaded state dict has a different number of parameter groups: ", groups, ", and the optimizer has ",
                    param_groups_.size());
  std::vector<std::unique_ptr<OptimizerOptions>> options;
  States states;
  size_t place = 0;
  for (size_t g = 0; g < param_groups_.size(); ++g) {
    OptimizerParamGroup& group = param_groups_[g];
    InputArchive of_group;
    archive.read(text("group.", g), of_group);
    const int64_t params = count(of_group, "params");
    check<ValueError>(params == static_cast<int64_t>(group.params().size()), of_group.where("params"),
                      ": loaded state dict contains a parameter group that doesn't match the size of optimizer's group: ", params,
                      " parameters, and the optimizer's has ", group.params().size());
    options.push_back(group.options().clone());
    options.back()->serialize(of_group);
    for (const Tensor& parameter : group.params()) {
      InputArchive of_state;
      if (!archive.try_read(text("state.", place++), of_state)) continue;
      std::unique_ptr<OptimizerParamState> state = make_state();
      check(state != nullptr, of_state.where(""), ": this optimizer cannot make states to load");
      state->serialize(of_state);
      check_shapes(*state, parameter, of_state);
      for (const Tensor& tensor : state->tensors()) tensor.set_data(tensor.to(parameter.device()));
      states[parameter.unsafe_impl()] = std::move(state);
    }
  }
  for (size_t g = 0; g < param_groups_.size(); ++g) param_groups_[g].set_options(std::move(options[g]));
  state_ = std::move(states);
}
OutputArchive& operator<<(OutputArchive& archive, const Optimizer& optimizer) { return optimizer.save(archive), archive; }
InputArchive& operator>>(InputArchive& archive, Optimizer& optimizer) { return optimizer.load(archive), archive; }

}  // namespace tenon::optim
