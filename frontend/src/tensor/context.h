// What one thread of the program is at, in one place: the call, its modes, the work that it has recorded, and who is told of
// what it does. A room above that is to be told implements an interface here, and sets it while it listens.
//
// A state that one file alone asks for stays there: the warning handler, the default generator, the current CUDA device, the
// segment of autograd. The tape is the graph's (ir/graph/recipe.h).
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "ir/graph/graph.h"
#include "tenon/tensor.h"

namespace tenon {

using ir::Dims;
using ir::DType;
using ir::NodeRef;
using ir::Op;

class CallScope;
class Storage;
class Writes;

// Is told what an operation does while it runs. Autograd has one for each operation that has a derivative.
class Recorder {
 public:
  // The node by which the operation reads the tensor; null if it reads the tensor's own.
  virtual NodeRef read(const TensorImpl& t) const = 0;
  virtual void made(const Tensor& result) = 0;
  virtual void listen(bool on) = 0;    // grad mode was switched
  virtual void evaluate_at_end() = 0;  // a cap on pending work was passed, and no cap evaluates inside an operation

 protected:
  ~Recorder() = default;
};

// Stands between a thread and its storages: the capture of a CUDA graph (capture.h).
class Capture {
 public:
  virtual void before_use(Storage& storage) = 0;  // its value is read or replaced
  virtual void made(Storage& storage) = 0;
  // Throws an Error: `what` is done that the capture cannot hold.
  [[noreturn]] virtual void refuse(const std::string& what) = 0;

 protected:
  ~Capture() = default;
};

// Is told of a thread's evaluations: a training step, whose writes are undone with what was to compute them.
class EvaluationListener {
 public:
  virtual void evaluated() = 0;
  virtual void failed(std::span<const NodeRef> roots) = 0;
  virtual void call_failed() = 0;  // another call for memory, or of a device

 protected:
  ~EvaluationListener() = default;
};

struct Thread {
  static constexpr int8_t kOfOperands = -1;

  const CallScope* call = nullptr;  // the outermost that is open
  Recorder* recorder = nullptr;     // of the operation that runs
  Capture* capture = nullptr;
  Writes* buffers = nullptr;  // gets the writes of a layer to its buffers
  EvaluationListener* step = nullptr;
  // Work recorded since the last evaluation. Counting recorded operations and not graph nodes cuts a steady loop at the same
  // place each time round.
  struct Pending {
    int64_t operations = 0, bytes = 0;
  } pending;
  int8_t device = kOfOperands;  // where the call is at work: see CallScope::On
  bool grad_mode = true;
  bool inference_mode = false;  // new storages are those of inference tensors
};

// In the space that the loader reserves: reaching it takes no call.
[[gnu::tls_model("initial-exec")]] extern constinit thread_local Thread this_thread;

// Ends a capture with an error, for work that cannot be part of one.
inline void refuse_in_capture(const char* what) {
  if (this_thread.capture) [[unlikely]]
    this_thread.capture->refuse(what);
}

}  // namespace tenon
