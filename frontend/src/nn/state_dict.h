// Does a state fit a module? One answer for what loads by name.
#pragma once

#include "tenon/nn/module.h"

namespace tenon::nn {

// Error in load_state_dict's words, with every key that the state lacks or that has another shape there, and, if strict, every key that
// the module lacks.
void check_state_dict(const Module& module, const OrderedDict<std::string, Tensor>& state, bool strict);

}  // namespace tenon::nn
