// Options and states of optimizers: copied, compared, written to archives and read from them.
#include "frontend/src/optim/optim_fields.h"
#include "frontend/src/tensor/text.h"
#include "tenon/serialize.h"

namespace tenon::optim {
namespace {

using serialize::InputArchive;
using serialize::OutputArchive;

void write(OutputArchive& out, const std::string& key, const Tensor& value) {
  if (value.defined()) out.write(key, value);
}
void write(OutputArchive& out, const std::string& key, const std::vector<Tensor>& values) {
  for (size_t i = 0; i < values.size(); ++i) out.write(text(key, '.', i), values[i]);
}
void write(OutputArchive& out, const std::string& key, const Betas& value) {
  out.write(key, IValue(std::vector{std::get<0>(value), std::get<1>(value)}));
}
template <typename T>
void write(OutputArchive& out, const std::string& key, const optional<T>& value) {
  out.write(key, value ? IValue(*value) : IValue());
}
template <typename T>
requires std::is_arithmetic_v<T>
void write(OutputArchive& out, const std::string& key, T value) { out.write(key, IValue(value)); }

void convert(const IValue& from, bool& value) { value = from.toBool(); }
void convert(const IValue& from, int64_t& value) { value = from.toInt(); }
void convert(const IValue& from, double& value) { value = from.isInt() ? static_cast<double>(from.toInt()) : from.toDouble(); }
void convert(const IValue& from, std::string& value) { value = from.toStringRef(); }
void convert(const IValue& from, Betas& value) {
  const std::vector<double>& list = from.toDoubleVector();
  check(list.size() == 2, "expected two numbers, but got ", list.size());
  value = {list[0], list[1]};
}
template <typename T>
void convert(const IValue& from, optional<T>& value) {
  value = nullopt;
  if (!from.isNone()) convert(from, value.emplace());
}

void read(InputArchive& in, const std::string& key, Tensor& value) {
  value = Tensor();
  in.try_read(key, value);
}
void read(InputArchive& in, const std::string& key, std::vector<Tensor>& values) {
  values.clear();
  InputArchive list;
  if (!in.try_read(key, list)) return;
  for (Tensor value; list.try_read(std::to_string(values.size()), value); value = Tensor()) values.push_back(value);
}
template <typename T>
void read(InputArchive& in, const std::string& key, T& value) {
  IValue found;
  in.read(key, found);
  try {
    convert(found, value);
  } catch (const Error& e) {
    throw Error(text(in.where(key), ": ", e.msg()));
  }
}

void collect(std::vector<Tensor>& into, const Tensor& tensor) {
  if (tensor.defined()) into.push_back(tensor);
}
void collect(std::vector<Tensor>& into, const std::vector<Tensor>& tensors) {
  into.insert(into.end(), tensors.begin(), tensors.end());
}
template <typename T>
void collect(std::vector<Tensor>&, const T&) {}

bool same(const Tensor& a, const Tensor& b) {
  if (!a.defined() || !b.defined() || a.is_same(b)) return a.defined() == b.defined();
  return a.sizes() == b.sizes() && a.scalar_type() == b.scalar_type() && a.device() == b.device() && tenon::equal(a, b);
}
bool same(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), [](auto& x, auto& y) { return same(x, y); });
}
template <typename T>
bool same(const T& a, const T& b) {
  return a == b;
}

template <typename T>
void save_fields(OutputArchive& archive, const T& object) {
  each_field(&object, [&](const char* key, const auto& value) { write(archive, key, value); }, object);
}
template <typename T>
void load_fields(InputArchive& archive, T& object) {
  const auto loaded = std::make_unique<T>(object);  // all of it or nothing
  each_field(&object, [&](const char* key, auto& value) { read(archive, key, value); }, *loaded);
  object = *loaded;
}
template <typename T>
bool equal(const T& a, const T& b) {
  bool result = true;
  each_field(&a, [&](const char*, const auto& x, const auto& y) { result = result && same(x, y); }, a, b);
  return result;
}

template <typename Options>
Options fresh() {
  return {};
}
template <>
SGDOptions fresh() {
  return {1e-3};  // LibTorch's idea of options that nobody set
}
template <typename Options>
void inherit_fields(Options& options, const OptimizerOptions& from) {
  const auto* defaults = dynamic_cast<const Options*>(&from);
  if (!defaults) return;
  const Options untouched = fresh<Options>();
  each_field(
      &options,
      [](const char*, auto& value, const auto& default_value, const auto& start) {
        if (same(value, start)) value = default_value;
      },
      options, *defaults, untouched);
}

}  // namespace

#define TENON_OPTIONS(Name)                                                                     \
  void Name::serialize(InputArchive& archive) { load_fields(archive, *this); }                  \
  void Name::serialize(OutputArchive& archive) const { save_fields(archive, *this); }           \
  void Name::inherit(const OptimizerOptions& defaults) { inherit_fields(*this, defaults); }     \
  bool operator==(const Name& a, const Name& b) { return equal(a, b); }
#define TENON_STATE(Name)                                                                       \
  void Name::serialize(InputArchive& archive) { load_fields(archive, *this); }                  \
  void Name::serialize(OutputArchive& archive) const { save_fields(archive, *this); }           \
  std::vector<Tensor> Name::tensors() const {                                                   \
    std::vector<Tensor> result;                                                                 \
    each_field(this, [&](const char*, const auto& value) { collect(result, value); }, *this);   \
    return result;                                                                              \
  }                                                                                             \
  bool operator==(const Name& a, const Name& b) { return equal(a, b); }
#define TENON_BOTH(Name) TENON_OPTIONS(Name##Options) TENON_STATE(Name##ParamState)
TENON_BOTH(SGD)
TENON_BOTH(Adam)
TENON_BOTH(AdamW)
TENON_BOTH(RMSprop)
TENON_BOTH(Adagrad)
TENON_BOTH(LBFGS)
#undef TENON_BOTH
#undef TENON_STATE
#undef TENON_OPTIONS

// --- what a program's own must bring

OptimizerParamState::~OptimizerParamState() = default;
OptimizerOptions::~OptimizerOptions() = default;
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
// States that lie as their parameter does. LBFGS has vectors over all parameters, and a program's own may have anything.
template <typename... States>
bool is_one_of(const OptimizerParamState& state) {
  return (dynamic_cast<const States*>(&state) || ...);
}
void check_shapes(const OptimizerParamState& state, const Tensor& parameter, const InputArchive& archive) {
  if (!is_one_of<SGDParamState, AdamParamState, AdamWParamState, RMSpropParamState, AdagradParamState>(state)) return;
  for (const Tensor& tensor : state.tensors())
    check<ValueError>(tensor.sizes() == parameter.sizes(), archive.where(""), ": a tensor has shape ", tensor.sizes(),
                      ", and the parameter's is ", parameter.sizes());
}

int64_t count(InputArchive& archive, const std::string& key) {
  int64_t result = 0;
  read(archive, key, result);
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
                      ": loaded state dict contains a parameter group that doesn't match the size of optimizer's group: ",
                      params, " parameters, and the optimizer's has ", group.params().size());
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
