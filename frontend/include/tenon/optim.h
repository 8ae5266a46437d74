// Optimizers in LibTorch's spelling: groups of parameters, each with its options; a state for each parameter; step(). The step
// closes the training graph: it evaluates parameters and states together, so that the plan of one step serves the next.
//
//   optim::Adam optimizer(model->parameters(), optim::AdamOptions(1e-3).weight_decay(1e-2));
//   optimizer.zero_grad();  loss.backward();  optimizer.step();
#pragma once

#include <iosfwd>
#include <map>
#include <memory>
#include <tuple>
#include <type_traits>
#include <vector>

#include "tenon/function.h"
#include "tenon/nn/arg.h"

namespace tenon::serialize {
class InputArchive;
class OutputArchive;
}  // namespace tenon::serialize

namespace tenon::optim {

// What an algorithm remembers of one parameter. Programs may derive their own.
class OptimizerParamState {
 public:
  OptimizerParamState() = default;
  OptimizerParamState(const OptimizerParamState&) = default;
  OptimizerParamState& operator=(const OptimizerParamState&) = default;
  virtual ~OptimizerParamState();
  virtual std::unique_ptr<OptimizerParamState> clone() const;
  virtual bool assign(const OptimizerParamState&) { return false; }  // takes over a clone's fields; false: it cannot
  virtual void serialize(tenon::serialize::InputArchive& archive);
  virtual void serialize(tenon::serialize::OutputArchive& archive) const;
  // What a step changes; step() evaluates them together with the parameters.
  virtual std::vector<Tensor> tensors() const;
  virtual bool is_shaped_like_parameter() const { return false; }  // each of these tensors; then a loaded one that is not is refused
};
template <typename Derived>
class OptimizerCloneableParamState : public OptimizerParamState {
  std::unique_ptr<OptimizerParamState> clone() const override {
    return std::unique_ptr<OptimizerParamState>(new Derived(static_cast<const Derived&>(*this)));  // quicker to compile than make_unique
  }
  bool assign(const OptimizerParamState& other) override {
    if constexpr (std::is_copy_assignable_v<Derived>) static_cast<Derived&>(*this) = static_cast<const Derived&>(other);
    return std::is_copy_assignable_v<Derived>;
  }
};

class OptimizerOptions {
 public:
  OptimizerOptions() = default;
  OptimizerOptions(const OptimizerOptions&) = default;
  OptimizerOptions& operator=(const OptimizerOptions&) = default;
  virtual ~OptimizerOptions();
  virtual std::unique_ptr<OptimizerOptions> clone() const;
  virtual void serialize(tenon::serialize::InputArchive& archive);
  virtual void serialize(tenon::serialize::OutputArchive& archive) const;
  virtual double get_lr() const;
  virtual void set_lr(double lr);
  virtual double* cycled_momentum() {
    return nullptr;
  }  // what OneCycleLR sets: a momentum, or the first of two betas; null if there is none
  // Takes over the fields of a new group's options that were left as their constructor made them.
  virtual void inherit(const OptimizerOptions&) {}
};
template <typename Derived>
class OptimizerCloneableOptions : public OptimizerOptions {
 public:
  std::unique_ptr<OptimizerOptions> clone() const override {
    return std::unique_ptr<OptimizerOptions>(new Derived(static_cast<const Derived&>(*this)));
  }
};

#define TENON_OPTIMIZER_OPTIONS(Name)                                      \
 public:                                                                   \
  void serialize(tenon::serialize::InputArchive& archive) override;        \
  void serialize(tenon::serialize::OutputArchive& archive) const override; \
  double get_lr() const override { return lr_; }                           \
  void set_lr(double lr) override { lr_ = lr; }                            \
  double* cycled_momentum() override;                                      \
  void inherit(const OptimizerOptions& defaults) override;                 \
  friend bool operator==(const Name& a, const Name& b);
#define TENON_OPTIMIZER_STATE(Name, shaped_like_parameter)                         \
 public:                                                                           \
  void serialize(tenon::serialize::InputArchive& archive) override;                \
  void serialize(tenon::serialize::OutputArchive& archive) const override;         \
  std::vector<Tensor> tensors() const override;                                    \
  bool is_shaped_like_parameter() const override { return shaped_like_parameter; } \
  friend bool operator==(const Name& a, const Name& b);  // by the values of their tensors

using Betas = std::tuple<double, double>;

// Parameters that share options. Without options of their own they get the optimizer's.
class OptimizerParamGroup {
 public:
  OptimizerParamGroup(std::vector<Tensor> params);
  OptimizerParamGroup(std::vector<Tensor> params, std::unique_ptr<OptimizerOptions> options);
  OptimizerParamGroup(const OptimizerParamGroup& other);
  OptimizerParamGroup(OptimizerParamGroup&&) = default;
  OptimizerParamGroup& operator=(const OptimizerParamGroup&) = delete;
  OptimizerParamGroup& operator=(OptimizerParamGroup&&) = default;

  std::vector<Tensor>& params() { return params_; }
  const std::vector<Tensor>& params() const { return params_; }
  bool has_options() const;
  OptimizerOptions& options();  // Error if there are none
  const OptimizerOptions& options() const;
  void set_options(std::unique_ptr<OptimizerOptions> options);

 private:
  std::vector<Tensor> params_;
  std::unique_ptr<OptimizerOptions> options_;
};

class Optimizer {
 public:
  using LossClosure = Function<Tensor()>;
  // By a parameter's unsafeGetTensorImpl().
  using States = std::map<void*, std::unique_ptr<OptimizerParamState>>;

  Optimizer(const std::vector<OptimizerParamGroup>& param_groups, std::unique_ptr<OptimizerOptions> defaults);
  Optimizer(std::vector<Tensor> parameters, std::unique_ptr<OptimizerOptions> defaults);
  virtual ~Optimizer();
  Optimizer(Optimizer&&) = default;
  Optimizer& operator=(Optimizer&&) = default;
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  // One update of every parameter that has a gradient; if it throws, everything is as before the step. The closure computes the loss
  // and the gradients anew; it may be called several times. The first loss is the result, undefined without a closure.
  virtual Tensor step(LossClosure closure = nullptr) = 0;
  void zero_grad(bool set_to_none = true);
  // ValueError if a parameter is not a leaf, or belongs to a group already. Options that the new group leaves as their
  // constructor made them are those of the optimizer.
  void add_param_group(const OptimizerParamGroup& param_group);
  void add_parameters(const std::vector<Tensor>& parameters);  // to the first group
  std::vector<OptimizerParamGroup>& param_groups() { return param_groups_; }
  const std::vector<OptimizerParamGroup>& param_groups() const { return param_groups_; }
  std::vector<Tensor>& parameters();  // of the first group; an Error if there is none
  const std::vector<Tensor>& parameters() const;
  size_t size() const;  // how many parameters
  OptimizerOptions& defaults();
  const OptimizerOptions& defaults() const;
  States& state() { return state_; }
  const States& state() const { return state_; }

  // The options of all groups and the states of all parameters, in the order of the groups.
  virtual void save(tenon::serialize::OutputArchive& archive) const;
  // Error if there are other groups, groups of other sizes or states of other shapes; then nothing changes.
  virtual void load(tenon::serialize::InputArchive& archive);
  virtual void pretty_print(std::ostream& out) const;  // Python's

 protected:
  OptimizerParamGroup& first_group();
  using Update = Function<void(Tensor& parameter, Tensor grad, const OptimizerOptions& options, OptimizerParamState& state)>;
  // A step that updates each parameter by itself.
  Tensor step_each(const LossClosure& closure, const Update& update);
  // A state to begin with. An optimizer without it cannot be loaded.
  virtual std::unique_ptr<OptimizerParamState> make_state() const;
  virtual void print_options(std::ostream& out, const OptimizerOptions& options) const;
  virtual const char* printed_name() const { return "Optimizer"; }

  std::vector<OptimizerParamGroup> param_groups_;
  States state_;
  std::unique_ptr<OptimizerOptions> defaults_;

 private:
  bool warned_ = false;  // that there are no gradients
};
std::ostream& operator<<(std::ostream& out, const Optimizer& optimizer);
tenon::serialize::OutputArchive& operator<<(tenon::serialize::OutputArchive& archive, const Optimizer& optimizer);
tenon::serialize::InputArchive& operator>>(tenon::serialize::InputArchive& archive, Optimizer& optimizer);

// options() are those of the first group: a change counts from the next step on.
#define TENON_OPTIMIZER(Name, default_options)                                                             \
  class Name : public Optimizer {                                                                          \
   public:                                                                                                 \
    explicit Name(const std::vector<OptimizerParamGroup>& groups, Name##Options defaults default_options); \
    explicit Name(std::vector<Tensor> parameters, Name##Options defaults default_options);                 \
    Tensor step(LossClosure closure = nullptr) override;                                                   \
    Name##Options& options() { return static_cast<Name##Options&>(first_group().options()); }              \
                                                                                                           \
   protected:                                                                                              \
    std::unique_ptr<OptimizerParamState> make_state() const override;                                      \
    void print_options(std::ostream& out, const OptimizerOptions& options) const override;                 \
    const char* printed_name() const override { return #Name; }                                            \
  };

}  // namespace tenon::optim

#include "tenon/optimizers.h"  // IWYU pragma: export

#undef TENON_OPTIMIZER
#undef TENON_OPTIMIZER_OPTIONS
#undef TENON_OPTIMIZER_STATE
