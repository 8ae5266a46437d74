// A thread's context, and the modes that a program sets in it.
#include "frontend/src/tensor/context.h"

#include "tenon/autograd.h"

namespace tenon {

constinit thread_local Thread this_thread;

bool GradMode::is_enabled() { return this_thread.grad_mode; }
void GradMode::set_enabled(bool enabled) {
  this_thread.grad_mode = enabled;
  if (this_thread.recorder) this_thread.recorder->listen(enabled);
}

bool InferenceMode::is_enabled() { return this_thread.inference_mode; }
void InferenceMode::set_enabled(bool enabled) { this_thread.inference_mode = enabled; }

}  // namespace tenon
