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

 private:
  const GradFn& fn_;
  const GradFn* outer_;
  int exceptions_;
};

}  // namespace tenon
