// What a training step has written and not computed yet, so that one that is refused leaves no trace:
//
//   forward    A layer writes its buffers (batch norm) within a BufferScope. Its GradFn keeps what was written where.
//   backward   The pass notes which gradients its leaves had, and takes over the buffers of the functions that it differentiates.
//              If it throws, all of these are as before it.
//   step       Optimizer::step evaluates the buffers with the parameters and its states. Then the step is done. If that throws, the
//              gradients, the buffers and what the optimizer wrote itself are as before the step.
//
// Between these, too, an evaluation may fail: a look at the loss, say. Then those writes are undone that need what it was to
// compute, and with one write of a layer, or of the step, all of them. After another call for memory, or of a device, that failed,
// buffers are as before the step; its gradients can be computed still.
#pragma once

#include <exception>
#include <memory>
#include <vector>

#include "frontend/src/tensor/impl.h"

namespace tenon {

class OpenStep;

// The gradient of a leaf. The step that writes it knows which one it had before.
struct LeafGradient {
  LeafGradient() = default;
  ~LeafGradient();
  LeafGradient(const LeafGradient&) = delete;
  LeafGradient& operator=(const LeafGradient&) = delete;

  Tensor grad;
  OpenStep* step = nullptr;
  bool optimized = false;  // an optimizer updates the leaf
};

// While it lives, this thread's writes are those of buffers. The outermost scope counts. If an exception ends it, they are undone.
class BufferScope {
 public:
  BufferScope();
  ~BufferScope();
  BufferScope(const BufferScope&) = delete;
  BufferScope& operator=(const BufferScope&) = delete;

  static std::shared_ptr<Writes> writes();  // of the scope that is open; null if none is

 private:
  std::shared_ptr<Writes> writes_;  // null in an inner scope
  const int exceptions_ = std::uncaught_exceptions();
};

// The gradient that a leaf had before it was accumulated to.
struct GradientBefore {
  explicit GradientBefore(const LeafGradient& leaf);
  void restore(LeafGradient& leaf) const;
  Tensor grad;    // undefined: none
  NodeRef value;  // of its storage
};

// What one backward pass has written, until it is done.
class PassWrites {
 public:
  void note_gradient(const Tensor& leaf, LeafGradient& gradient);  // before it is written
  void take_over(const std::shared_ptr<Writes>& buffers) {
    if (buffers) buffers_.push_back(buffers);
  }
  void undo();
  void hand_over();  // to the step at hand

 private:
  struct Gradient {
    Tensor leaf;  // keeps the next one alive
    LeafGradient* gradient;
    GradientBefore before;
  };
  std::vector<Gradient> gradients_;
  std::vector<std::shared_ptr<Writes>> buffers_;
};

// The step at hand on this thread. It begins with a backward pass, and ends with an optimizer's step; without an optimizer when its
// gradients are computed.
namespace step_at_hand {
std::vector<NodeRef> pending_buffers();
void add_replaced(std::vector<NodeRef>& values);  // values whose place gradients have taken
void end();
void refuse();
void forget(LeafGradient& leaf);  // the program sets the gradient itself, or the leaf dies
}  // namespace step_at_hand

}  // namespace tenon
