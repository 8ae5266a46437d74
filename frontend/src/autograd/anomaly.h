// Anomaly mode: the backward pass looks at each gradient for nan, and errors name the forward operation.
#pragma once

#include "frontend/src/autograd/grad_fn.h"

namespace tenon {

// Around the backward pass of one operation; does nothing while anomaly mode is off.
class AnomalyScope {
 public:
  explicit AnomalyScope(const GradFn& fn);
  ~AnomalyScope();
  void check(const std::vector<Tensor>& gradients) const;  // by edge; Error for a nan

  // Whose backward pass runs on this thread, if anomaly mode is on: what records meanwhile is induced by it.
  static std::shared_ptr<const GradFn> current();

 private:
  const GradFn& fn_;
  const AnomalyScope* outer_;
  int exceptions_;
};

// The calls on which an operation is recorded now, if anomaly mode is on.
std::vector<void*> stack_of_forward();

}  // namespace tenon
