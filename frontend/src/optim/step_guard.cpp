// Undoing a step that threw.
#include "frontend/src/optim/step_guard.h"

#include "frontend/src/autograd/open_step.h"
#include "frontend/src/tensor/outside.h"
#include "frontend/src/tensor/pending.h"
#include "runtime/run/evaluate.h"

namespace tenon::optim {

StepGuard::StepGuard(Optimizer::States& states, size_t parameters) : states_(states) {
  tensors_.reserve(4 * parameters);
  states_before_.reserve(parameters);
}

StepGuard::~StepGuard() {
  if (done_) return;
  try {
    undo();
  } catch (const std::exception&) {  // on the way is what refused the step
  }
}

void StepGuard::note(const Tensor& tensor) {
  NodeRef value = impl(tensor).storage().value();
  const auto* buffer = static_cast<const runtime::Buffer*>(value->payload().get());
  const bool exposed = buffer && buffer->exposed;
  if (exposed) value = copy_of(*value, *buffer);
  tensors_.push_back({tensor, std::move(value), exposed});
}

void StepGuard::note_state(void* parameter, const OptimizerParamState* state) {
  std::unique_ptr<OptimizerParamState> kept;
  if (state) {
    try {
      kept = state->clone();
    } catch (const Error&) {  // a program's own that has no clone(): its tensors alone are put back
      return;
    }
  }
  states_before_.emplace_back(parameter, std::move(kept));
}

void StepGuard::evaluate(TensorList changed) {
  std::vector<NodeRef> roots = pending_values(changed), replaced;
  replaced.reserve(tensors_.size());
  for (NodeRef& value : step_at_hand::pending_buffers()) roots.push_back(std::move(value));
  for (const Before& before : tensors_) replaced.push_back(before.value);
  step_at_hand::add_replaced(replaced);
  if (!roots.empty()) evaluate_step(roots, replaced);
  done_ = true;
  step_at_hand::end();
}

// Newest first: a parameter may be noted twice.
void StepGuard::undo() {
  for (size_t i = tensors_.size(); i-- > 0;) {
    Storage& storage = impl(tensors_[i].tensor).storage();
    if (!tensors_[i].exposed) storage.set_value(tensors_[i].value);
    else replace_exposed(storage, tensors_[i].value);
  }
  for (size_t i = states_before_.size(); i-- > 0;) {
    auto& [parameter, before] = states_before_[i];
    if (!before) states_.erase(parameter);
    else if (!states_[parameter]->assign(*before)) states_[parameter] = std::move(before);
  }
  step_at_hand::refuse();
}

}  // namespace tenon::optim
