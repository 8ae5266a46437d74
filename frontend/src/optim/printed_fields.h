// Printed from frontend/layers.def by scripts/print/make_layers.py.
// The fields of the optimizers' options and states, in their order. A part of optimizer.h.
#pragma once

#include "frontend/src/optim/fields.h"

namespace tenon::optim {

TENON_FIELDS(SGDOptions, FIELD(lr) FIELD(momentum) FIELD(dampening) FIELD(weight_decay) FIELD(nesterov))
TENON_FIELDS(SGDParamState, FIELD(momentum_buffer))
TENON_FIELDS(AdamOptions, FIELD(lr) FIELD(betas) FIELD(eps) FIELD(weight_decay) FIELD(amsgrad))
TENON_FIELDS(AdamParamState, FIELD(step) FIELD(exp_avg) FIELD(exp_avg_sq) FIELD(max_exp_avg_sq))
TENON_FIELDS(AdamWOptions, FIELD(lr) FIELD(betas) FIELD(eps) FIELD(weight_decay) FIELD(amsgrad))
TENON_FIELDS(AdamWParamState, FIELD(step) FIELD(exp_avg) FIELD(exp_avg_sq) FIELD(max_exp_avg_sq))
TENON_FIELDS(RMSpropOptions, FIELD(lr) FIELD(alpha) FIELD(eps) FIELD(weight_decay) FIELD(momentum) FIELD(centered))
TENON_FIELDS(RMSpropParamState, FIELD(step) FIELD(square_avg) FIELD(momentum_buffer) FIELD(grad_avg))
TENON_FIELDS(AdagradOptions, FIELD(lr) FIELD(lr_decay) FIELD(weight_decay) FIELD(initial_accumulator_value) FIELD(eps))
TENON_FIELDS(AdagradParamState, FIELD(sum) FIELD(step))
TENON_FIELDS(LBFGSOptions, FIELD(lr) FIELD(max_iter) FIELD(max_eval) FIELD(tolerance_grad) FIELD(tolerance_change) FIELD(history_size) FIELD(line_search_fn))
TENON_FIELDS(LBFGSParamState, FIELD(func_evals) FIELD(n_iter) FIELD(t) FIELD(prev_loss) FIELD(d) FIELD(H_diag) FIELD(prev_flat_grad) FIELD(old_dirs) FIELD(old_stps) FIELD(ro))

}  // namespace tenon::optim
