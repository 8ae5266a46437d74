// What a training step has written and not computed yet, so that one that is refused leaves no trace:
//
//   forward    A layer writes its buffers (batch norm) within a BufferScope. Its GradFn keeps what was written where.
//   backward   The pass notes which gradients its leaves had, and takes over the buffers of the functions that it differentiates.
//              If it throws, all of these are as before it.
//   step       Optimizer::step evaluates the buffers with the parameters and its states. Then the step is done. If that throws, the
//              gradients, the buffers and what the optimizer wrote itself are as before the step.
//
// Between these, too, an evaluation may fail: a look at the loss, say. Then those writes are undone that need what it was to
// compute, and with one write of a layer, or of the step, all of them.
#pragma once

#include <exception>
#include <memory>
#include <vector>

#include "frontend/src/autograd/grad.h"
#include "frontend/src/tensor/capture.h"

namespace tenon {

// Values that storages had, and what came in their place.
class Writes {
 public:
  void add(Storage& storage, NodeRef before, NodeRef after);
  void append(Writes&& others);
  void undo();  // where nobody has written since
  void add_pending(std::vector<NodeRef>& values) const;  // of those that storages still hold
  bool empty() const { return list_.empty(); }
  void clear() { list_.clear(); }

 private:
  struct Write {
    StorageHold storage;
    NodeRef before, after;
    uint64_t time;
  };
  std::vector<Write> list_;
};

// While it lives, this thread's writes are those of buffers. The outermost scope counts. If an exception ends it, they are undone.
class BufferScope {
 public:
  BufferScope();
  ~BufferScope();
  BufferScope(const BufferScope&) = delete;
  BufferScope& operator=(const BufferScope&) = delete;

  static const std::shared_ptr<Writes>& writes();  // of the scope that is open; null if none is
  static bool is_open() { return open_ != nullptr; }

 private:
  std::shared_ptr<Writes> writes_;
  const int exceptions_ = std::uncaught_exceptions();
  [[gnu::tls_model("initial-exec")]] static constinit thread_local BufferScope* open_;
};

// The gradient that a leaf had before it was accumulated to.
struct GradientBefore {
  explicit GradientBefore(History& history);
  void restore(History& history) const;
  Tensor grad;    // undefined: none
  NodeRef value;  // of its storage
};

// What one backward pass has written, until it is done.
class PassWrites {
 public:
  void note_gradient(const Tensor& leaf);  // before it is written
  void take_over(GradFn& fn);
  void undo();
  void hand_over();  // to the step at hand

 private:
  std::vector<std::pair<Tensor, GradientBefore>> gradients_;
  std::vector<std::shared_ptr<Writes>> buffers_;
};

// The step at hand on this thread. It begins with a backward pass, and ends with an optimizer's step; without an optimizer when its
// gradients are computed.
namespace step_at_hand {
std::vector<NodeRef> pending_buffers();
void add_replaced(std::vector<NodeRef>& values);  // values whose place gradients have taken
void end();
void refuse();
void forget(History& history);  // the program sets the gradient itself, or the leaf dies

// After each evaluation of this thread, and after one that failed.
void evaluated();
void failed(std::span<const NodeRef> roots);
// After another call for memory, or of a device, that failed: buffers are as before the step. Its gradients can be computed still.
void call_failed();
}  // namespace step_at_hand

}  // namespace tenon
