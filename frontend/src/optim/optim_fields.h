// The fields of optimizers' options and states, by name: what is saved, compared, inherited and evaluated.
#pragma once

#include "tenon/optim.h"

namespace tenon::optim {

// Calls visit("name", a.name(), b.name(), ...) for each field of one or several objects of a type.
#define TENON_FIELDS(Type, ...)                                   \
  template <typename Visit, typename... Objects>                  \
  void each_field(const Type*, const Visit& visit, Objects&... o) { \
    __VA_ARGS__                                                   \
  }
#define FIELD(name) visit(#name, o.name()...);

TENON_FIELDS(SGDOptions, FIELD(lr) FIELD(momentum) FIELD(dampening) FIELD(weight_decay) FIELD(nesterov))
TENON_FIELDS(AdamOptions, FIELD(lr) FIELD(betas) FIELD(eps) FIELD(weight_decay) FIELD(amsgrad))
TENON_FIELDS(AdamWOptions, FIELD(lr) FIELD(betas) FIELD(eps) FIELD(weight_decay) FIELD(amsgrad))
TENON_FIELDS(RMSpropOptions, FIELD(lr) FIELD(alpha) FIELD(eps) FIELD(weight_decay) FIELD(momentum) FIELD(centered))
TENON_FIELDS(AdagradOptions,
             FIELD(lr) FIELD(lr_decay) FIELD(weight_decay) FIELD(initial_accumulator_value) FIELD(eps))
TENON_FIELDS(LBFGSOptions, FIELD(lr) FIELD(max_iter) FIELD(max_eval) FIELD(tolerance_grad) FIELD(tolerance_change)
                               FIELD(history_size) FIELD(line_search_fn))

TENON_FIELDS(SGDParamState, FIELD(momentum_buffer))
TENON_FIELDS(AdamParamState, FIELD(step) FIELD(exp_avg) FIELD(exp_avg_sq) FIELD(max_exp_avg_sq))
TENON_FIELDS(AdamWParamState, FIELD(step) FIELD(exp_avg) FIELD(exp_avg_sq) FIELD(max_exp_avg_sq))
TENON_FIELDS(RMSpropParamState, FIELD(step) FIELD(square_avg) FIELD(momentum_buffer) FIELD(grad_avg))
TENON_FIELDS(AdagradParamState, FIELD(sum) FIELD(step))
TENON_FIELDS(LBFGSParamState, FIELD(func_evals) FIELD(n_iter) FIELD(t) FIELD(prev_loss) FIELD(d) FIELD(H_diag)
                                  FIELD(prev_flat_grad) FIELD(old_dirs) FIELD(old_stps) FIELD(ro))
#undef FIELD
#undef TENON_FIELDS

}  // namespace tenon::optim
