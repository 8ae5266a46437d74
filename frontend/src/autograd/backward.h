// The backward pass of one operation: gradients of its operands from those of its results.
#pragma once

#include "frontend/src/autograd/grad_fn.h"

namespace tenon {

// The gradients of the operands, by edge; undefined for none. `grads`: by output, undefined for none. With `create_graph`
// the gradients have a history themselves. Error if something saved was written meanwhile or is released.
std::vector<Tensor> gradients_by_edge(GradFn& fn, const std::vector<Tensor>& grads, bool create_graph);

}  // namespace tenon
