// What the source of an optimizer needs: its fields, checks of its options, Python's text of numbers, and the methods that are the same
// for all.
#pragma once

#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "frontend/src/optim/fields.h"
#include "frontend/src/optim/formula.h"
#include "frontend/src/optim/printed_fields.h"
#include "frontend/src/tensor/text.h"

namespace tenon::optim {

std::string number(double value);
std::string number_or_zero(double value);  // Python prints a whole default as the integer it was written as
inline const char* truth(bool value) { return value ? "True" : "False"; }
void check_at_least_zero(double value, const char* what);

// What is remembered under this field; zeros or `start` at first.
Tensor& remembered(Tensor& field, const Tensor& like, double start = 0);

// The host counts the steps, and a graph would repeat the number of the step that was captured.
void refuse_captured_count(const Tensor& p, const char* optimizer);

using Group = OptimizerParamGroup;
std::vector<Group> one_group(std::vector<Tensor> parameters);

// Most make a parameter's state at its first step.
template <typename Options>
void begin_states(Optimizer::States&, const std::vector<Group>&, const Options&) {}

// What is the same for all that update each parameter by itself. `untouched`: the arguments of options that nobody set.
#define TENON_OPTIMIZER(Name, untouched)                                                                                                \
  TENON_OPTIMIZER_FIELDS(Name, untouched)                                                                                               \
  Name::Name(const std::vector<Group>& groups, Name##Options defaults) : Optimizer(groups, std::make_unique<Name##Options>(defaults)) { \
    check_options(defaults);                                                                                                            \
    begin_states(state_, param_groups_, defaults);                                                                                      \
  }                                                                                                                                     \
  Name::Name(std::vector<Tensor> parameters, Name##Options defaults) : Name(one_group(std::move(parameters)), std::move(defaults)) {}   \
  Tensor Name::step(LossClosure closure) {                                                                                              \
    return step_each(closure, [](Tensor& p, Tensor grad, const OptimizerOptions& options, OptimizerParamState& state) {                 \
      update(p, std::move(grad), static_cast<const Name##Options&>(options), static_cast<Name##ParamState&>(state));                    \
    });                                                                                                                                 \
  }                                                                                                                                     \
  std::unique_ptr<OptimizerParamState> Name::make_state() const { return std::make_unique<Name##ParamState>(); }                        \
  void Name::print_options(std::ostream& out, const OptimizerOptions& options) const {                                                  \
    print(out, static_cast<const Name##Options&>(options));                                                                             \
  }

}  // namespace tenon::optim
