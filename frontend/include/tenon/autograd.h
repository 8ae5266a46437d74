// Whether operations are recorded for gradients, and the record of one operation as the user sees it.
//
//   NoGradGuard no_grad;               // until the end of the block nothing is recorded
//   y.grad_fn()->name()                // "MulBackward0"
#pragma once

#include "tenon/cxx20.h"

#include <memory>
#include <string>

namespace tenon {

namespace autograd {
// How a tensor was made from tensors that require grad.
class Node {
 public:
  virtual ~Node() = default;
  virtual std::string name() const = 0;  // PyTorch's: "MulBackward0"
};
}  // namespace autograd

// The switch of this thread. On at the start.
struct GradMode {
  static bool is_enabled();
  static void set_enabled(bool enabled);
};

// Sets the switch for the rest of the block.
class AutoGradMode {
 public:
  explicit AutoGradMode(bool enabled) : before_(GradMode::is_enabled()) { GradMode::set_enabled(enabled); }
  ~AutoGradMode() { GradMode::set_enabled(before_); }
  AutoGradMode(const AutoGradMode&) = delete;
  AutoGradMode& operator=(const AutoGradMode&) = delete;

 private:
  bool before_;
};
struct NoGradGuard : AutoGradMode {
  NoGradGuard() : AutoGradMode(false) {}
};
using no_grad = NoGradGuard;

// As NoGradGuard. Tensors made under it are ordinary ones.
struct InferenceMode : AutoGradMode {
  explicit InferenceMode(bool enabled = true) : AutoGradMode(!enabled && GradMode::is_enabled()) {}
};

}  // namespace tenon
