// An optimizer's step, all or nothing: what it notes here has its value of before again unless the step is evaluated.
#pragma once

#include <memory>
#include <vector>

#include "frontend/src/tensor/impl.h"
#include "tenon/optim.h"

namespace tenon::optim {

class StepGuard {
 public:
  StepGuard(Optimizer::States& states, size_t parameters);
  ~StepGuard();
  StepGuard(const StepGuard&) = delete;
  StepGuard& operator=(const StepGuard&) = delete;

  // Before they are written: a tensor; the state of a parameter, whose tensors are noted by themselves, null if it is still to be made.
  void note(const Tensor& tensor);
  void note_state(void* parameter, const OptimizerParamState* state);

  // What the step has written, the buffers of its forward passes and these tensors. Then the step is done.
  void evaluate(TensorList changed);

 private:
  void undo();
  struct Before {
    Tensor tensor;
    NodeRef value;  // of memory whose address is known outside, and which is written at once, a copy
    bool exposed;
  };
  Optimizer::States& states_;
  std::vector<Before> tensors_;
  std::vector<std::pair<void*, std::unique_ptr<OptimizerParamState>>> states_before_;  // by parameter
  bool done_ = false;
};

}  // namespace tenon::optim
