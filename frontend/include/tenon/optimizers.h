// Printed from frontend/layers.def by scripts/print/make_layers.py.
// The optimizers: their options, what each remembers of a parameter, and the classes. A part of tenon/optim.h.

namespace tenon::optim {

struct SGDOptions : OptimizerCloneableOptions<SGDOptions> {
  SGDOptions(double lr) : lr_(lr) {}
  TENON_ARG(double, lr);
  TENON_ARG(double, momentum) = 0;
  TENON_ARG(double, dampening) = 0;
  TENON_ARG(double, weight_decay) = 0;
  TENON_ARG(bool, nesterov) = false;
  TENON_OPTIMIZER_OPTIONS(SGDOptions)
};
struct SGDParamState : OptimizerCloneableParamState<SGDParamState> {
  TENON_ARG(Tensor, momentum_buffer) = {};
  TENON_OPTIMIZER_STATE(SGDParamState, true)
};
TENON_OPTIMIZER(SGD, )

struct AdamOptions : OptimizerCloneableOptions<AdamOptions> {
  using betas_t = Betas;
  AdamOptions(double lr = 1e-3) : lr_(lr) {}
  TENON_ARG(double, lr);
  TENON_ARG(Betas, betas) = std::make_tuple(0.9, 0.999);
  TENON_ARG(double, eps) = 1e-8;
  TENON_ARG(double, weight_decay) = 0;
  TENON_ARG(bool, amsgrad) = false;
  TENON_OPTIMIZER_OPTIONS(AdamOptions)
};
struct AdamParamState : OptimizerCloneableParamState<AdamParamState> {
  TENON_ARG(int64_t, step) = 0;
  TENON_ARG(Tensor, exp_avg) = {};
  TENON_ARG(Tensor, exp_avg_sq) = {};
  TENON_ARG(Tensor, max_exp_avg_sq) = {};
  TENON_OPTIMIZER_STATE(AdamParamState, true)
};
TENON_OPTIMIZER(Adam, = {})

struct AdamWOptions : OptimizerCloneableOptions<AdamWOptions> {
  using betas_t = Betas;
  AdamWOptions(double lr = 1e-3) : lr_(lr) {}
  TENON_ARG(double, lr);
  TENON_ARG(Betas, betas) = std::make_tuple(0.9, 0.999);
  TENON_ARG(double, eps) = 1e-8;
  TENON_ARG(double, weight_decay) = 1e-2;
  TENON_ARG(bool, amsgrad) = false;
  TENON_OPTIMIZER_OPTIONS(AdamWOptions)
};
struct AdamWParamState : OptimizerCloneableParamState<AdamWParamState> {
  TENON_ARG(int64_t, step) = 0;
  TENON_ARG(Tensor, exp_avg) = {};
  TENON_ARG(Tensor, exp_avg_sq) = {};
  TENON_ARG(Tensor, max_exp_avg_sq) = {};
  TENON_OPTIMIZER_STATE(AdamWParamState, true)
};
TENON_OPTIMIZER(AdamW, = {})

struct RMSpropOptions : OptimizerCloneableOptions<RMSpropOptions> {
  RMSpropOptions(double lr = 1e-2) : lr_(lr) {}
  TENON_ARG(double, lr);
  TENON_ARG(double, alpha) = 0.99;
  TENON_ARG(double, eps) = 1e-8;
  TENON_ARG(double, weight_decay) = 0;
  TENON_ARG(double, momentum) = 0;
  TENON_ARG(bool, centered) = false;
  TENON_OPTIMIZER_OPTIONS(RMSpropOptions)
};
struct RMSpropParamState : OptimizerCloneableParamState<RMSpropParamState> {
  TENON_ARG(int64_t, step) = 0;
  TENON_ARG(Tensor, square_avg) = {};
  TENON_ARG(Tensor, momentum_buffer) = {};
  TENON_ARG(Tensor, grad_avg) = {};
  TENON_OPTIMIZER_STATE(RMSpropParamState, true)
};
TENON_OPTIMIZER(RMSprop, = {})

struct AdagradOptions : OptimizerCloneableOptions<AdagradOptions> {
  AdagradOptions(double lr = 1e-2) : lr_(lr) {}
  TENON_ARG(double, lr);
  TENON_ARG(double, lr_decay) = 0;
  TENON_ARG(double, weight_decay) = 0;
  TENON_ARG(double, initial_accumulator_value) = 0;
  TENON_ARG(double, eps) = 1e-10;
  TENON_OPTIMIZER_OPTIONS(AdagradOptions)
};
struct AdagradParamState : OptimizerCloneableParamState<AdagradParamState> {
  TENON_ARG(Tensor, sum) = {};
  TENON_ARG(int64_t, step) = 0;
  TENON_OPTIMIZER_STATE(AdagradParamState, true)
};
TENON_OPTIMIZER(Adagrad, = {})

// One group; step needs a closure. max_eval: 5/4 of max_iter; line_search_fn: "strong_wolfe"
struct LBFGSOptions : OptimizerCloneableOptions<LBFGSOptions> {
  LBFGSOptions(double lr = 1) : lr_(lr) {}
  TENON_ARG(double, lr);
  TENON_ARG(int64_t, max_iter) = 20;
  TENON_ARG(optional<int64_t>, max_eval) = nullopt;
  TENON_ARG(double, tolerance_grad) = 1e-7;
  TENON_ARG(double, tolerance_change) = 1e-9;
  TENON_ARG(int64_t, history_size) = 100;
  TENON_ARG(optional<std::string>, line_search_fn) = nullopt;
  TENON_OPTIMIZER_OPTIONS(LBFGSOptions)
};
struct LBFGSParamState : OptimizerCloneableParamState<LBFGSParamState> {
  TENON_ARG(int64_t, func_evals) = 0;
  TENON_ARG(int64_t, n_iter) = 0;
  TENON_ARG(double, t) = 0;
  TENON_ARG(double, prev_loss) = 0;
  TENON_ARG(Tensor, d) = {};
  TENON_ARG(Tensor, H_diag) = {};
  TENON_ARG(Tensor, prev_flat_grad) = {};
  TENON_ARG(std::vector<Tensor>, old_dirs) = {};
  TENON_ARG(std::vector<Tensor>, old_stps) = {};
  TENON_ARG(std::vector<Tensor>, ro) = {};
  TENON_OPTIMIZER_STATE(LBFGSParamState, false)
};
TENON_OPTIMIZER(LBFGS, = {})

}  // namespace tenon::optim
