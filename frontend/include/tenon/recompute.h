// Activation checkpointing: memory for time, as torch.utils.checkpoint with use_reentrant=False.
//
//   for (auto& block : blocks) x = autograd::checkpoint([&](const Tensor& t) { return block->forward(t); }, x);
#pragma once

#include <memory>
#include <type_traits>
#include <utility>

#include "tenon/autograd.h"
#include "tenon/tensor.h"

namespace tenon {
class Segment;

namespace autograd {

// Until the end of the block, values that operations save for the backward pass are not kept: that computes them again.
// Values from outside are kept. Blocks may lie in one another: the outermost decides what is outside.
class RecomputeGuard {
 public:
  RecomputeGuard();
  ~RecomputeGuard();
  RecomputeGuard(const RecomputeGuard&) = delete;
  RecomputeGuard& operator=(const RecomputeGuard&) = delete;

  void keep(const Tensor& input);  // it is computed outside, and kept
  void keep(const optional<Tensor>& input) {
    if (input) keep(*input);
  }
  void keep(TensorList inputs) {
    for (const Tensor& x : inputs) keep(x);
  }
  void keep(const variable_list& inputs) { keep(TensorList(inputs)); }
  template <typename T>
  void keep(const T& x) {
    if constexpr (std::is_convertible_v<const T&, const Tensor&>) keep(static_cast<const Tensor&>(x));
  }

 private:
  std::shared_ptr<Segment> segment_;
};

// function(args...), whose tensors among the arguments are kept and whose intermediate values are not. The function itself
// runs once: what it draws, prints and writes is not repeated.
template <typename F, typename... Args>
auto checkpoint(F&& function, Args&&... args) {
  RecomputeGuard guard;
  (guard.keep(args), ...);
  return std::forward<F>(function)(std::forward<Args>(args)...);
}

}  // namespace autograd
}  // namespace tenon
