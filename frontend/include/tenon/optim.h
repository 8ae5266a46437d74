// Optimizers in LibTorch's shape: parameters, options, step(). The step closes the training graph: it evaluates
// parameters and states together, so that the plan of one step serves the next. Tenon computes no gradients yet:
// they are set by hand.
//
//   optim::Adam optimizer(model->parameters(), optim::AdamOptions(1e-3).weight_decay(1e-2));
//   weight.mutable_grad() = x.t().mm(prediction - y);  optimizer.step();
#pragma once

#include <iosfwd>
#include <memory>
#include <tuple>
#include <vector>

#include "tenon/nn/options.h"

namespace tenon::optim {

struct SGDOptions {
  SGDOptions(double lr) : lr_(lr) {}
  TENON_ARG(double, lr);
  TENON_ARG(double, momentum) = 0;
  TENON_ARG(double, dampening) = 0;
  TENON_ARG(double, weight_decay) = 0;
  TENON_ARG(bool, nesterov) = false;
};
using Betas = std::tuple<double, double>;
struct AdamOptions {
  AdamOptions(double lr = 1e-3) : lr_(lr) {}
  TENON_ARG(double, lr);
  TENON_ARG(Betas, betas) = std::make_tuple(0.9, 0.999);
  TENON_ARG(double, eps) = 1e-8;
  TENON_ARG(double, weight_decay) = 0;
  TENON_ARG(bool, amsgrad) = false;
};
struct AdamWOptions {
  AdamWOptions(double lr = 1e-3) : lr_(lr) {}
  TENON_ARG(double, lr);
  TENON_ARG(Betas, betas) = std::make_tuple(0.9, 0.999);
  TENON_ARG(double, eps) = 1e-8;
  TENON_ARG(double, weight_decay) = 1e-2;
  TENON_ARG(bool, amsgrad) = false;
};
struct RMSpropOptions {
  RMSpropOptions(double lr = 1e-2) : lr_(lr) {}
  TENON_ARG(double, lr);
  TENON_ARG(double, alpha) = 0.99;
  TENON_ARG(double, eps) = 1e-8;
  TENON_ARG(double, weight_decay) = 0;
  TENON_ARG(double, momentum) = 0;
  TENON_ARG(bool, centered) = false;
};
struct AdagradOptions {
  AdagradOptions(double lr = 1e-2) : lr_(lr) {}
  TENON_ARG(double, lr);
  TENON_ARG(double, lr_decay) = 0;
  TENON_ARG(double, weight_decay) = 0;
  TENON_ARG(double, initial_accumulator_value) = 0;
  TENON_ARG(double, eps) = 1e-10;
};

class Optimizer {
 public:
  virtual ~Optimizer();
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  // One update of every parameter that has a gradient. If none has, a warning says so, once for each optimizer.
  void step();
  // Not there: a call does not compile and says so.
  template <typename Absent = void>
  std::vector<Tensor>& param_groups() {
    static_assert(!std::is_void_v<Absent>,
                  "Tenon's optimizers have one group of parameters: see parameters() and options()");
    return parameters_;
  }
  void zero_grad(bool set_to_none = true);
  std::vector<Tensor>& parameters() { return parameters_; }
  const std::vector<Tensor>& parameters() const { return parameters_; }
  virtual void pretty_print(std::ostream& out) const = 0;  // Python's

 protected:
  // ValueError if there are none, or one is not a leaf.
  explicit Optimizer(std::vector<Tensor> parameters);

  // What an algorithm remembers of one parameter; `tensors` by a number of its own, undefined at first.
  struct State {
    int64_t step = 0;
    std::vector<Tensor> tensors;
  };
  virtual void update(Tensor& parameter, Tensor grad, State& state) = 0;

 private:
  std::vector<Tensor> parameters_;
  std::vector<State> states_;  // parallel
  bool warned_ = false;        // that there are no gradients
};
std::ostream& operator<<(std::ostream& out, const Optimizer& optimizer);

#define TENON_OPTIMIZER(Name, default_options)                                                \
  class Name : public Optimizer {                                                             \
   public:                                                                                    \
    explicit Name(std::vector<Tensor> parameters, Name##Options options default_options);     \
    Name##Options& options() { return options_; } /* a change counts from the next step on */ \
    void pretty_print(std::ostream& out) const override;                                      \
                                                                                              \
   protected:                                                                                 \
    void update(Tensor& parameter, Tensor grad, State& state) override;                       \
                                                                                              \
   private:                                                                                   \
    Name##Options options_;                                                                   \
  };
TENON_OPTIMIZER(SGD, )
TENON_OPTIMIZER(Adam, = {})
TENON_OPTIMIZER(AdamW, = {})
TENON_OPTIMIZER(RMSprop, = {})
TENON_OPTIMIZER(Adagrad, = {})
#undef TENON_OPTIMIZER

}  // namespace tenon::optim
