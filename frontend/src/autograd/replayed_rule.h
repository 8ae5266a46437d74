// The gradient rule of a call that is replayed (replayed_call.h): what it made of values and gradients of
// some types is kept as a template, and made again without calling it. A rule holds numbers alone, so types
// decide what it makes.
#pragma once

#include "frontend/src/autograd/grad_fn.h"

namespace tenon {

// The gradients, by edge; nothing if the rule must be called itself. Thread-safe.
optional<std::vector<Tensor>> replayed_rule(GradFn& fn, const std::vector<Tensor>& grads);

}  // namespace tenon
