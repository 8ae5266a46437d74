// One GPU's context and the calls into the driver: errors become exceptions here, and a device that is of no use any more is
// remembered as lost.
//
//   out of memory            OutOfMemory
//   refused                  std::runtime_error "CUDA error: invalid argument (cuMemcpyHtoDAsync)": nothing was done
//   work that failed         what a kernel did wrong earlier shows up at any later call. The context is dead then, with all memory
//                            in it: the device is lost, and each later call throws that text, naming the kernels that ran
//
// The context is the device's primary one, which a program that uses CUDA itself shares. It is made at the first use of the device. Where
// nothing was current on a thread it stays current after our calls, as in every program that uses CUDA; else what was current is again.
#pragma once

#include <atomic>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

#include "runtime/cuda/api.h"
#include "runtime/device/device.h"

namespace tenon::runtime::cuda {

// Thrown by the call that notices it first.
struct DeviceLost : AsyncFailure {
  using AsyncFailure::AsyncFailure;
};

std::string error_text(CUresult result);  // "an illegal memory access was encountered"

class Context {
 public:
  explicit Context(int index);  // throws std::runtime_error, like all that follow

  void open();  // retains the primary context, if that is not done
  const Driver& api() const { return api_; }
  CUcontext handle() const { return handle_; }  // null before it is open
  bool is_open() const { return handle() != nullptr; }
  CUdevice device() const { return device_; }
  int attribute(DeviceAttribute which) const;

  // Throws unless the result is success; `call` is the driver's name for it.
  void check(CUresult result, const char* call);
  // The same for a call that waits for work: an error that does not speak of the call itself is one of the work.
  void check_wait(CUresult result, const char* call);
  bool is_lost() const { return lost_.load(std::memory_order_acquire); }
  void throw_if_lost() const;

  // The kernels that may be running: launched, and not known to be done.
  void note_launch(const std::string& kernel);
  void forget_launches();

  // Makes the context current for a scope, and opens it. A scope within another of the same context asks the driver for nothing.
  class Current {
   public:
    explicit Current(Context& context);
    ~Current();
    Current(const Current&) = delete;
    Current& operator=(const Current&) = delete;

   private:
    Context& context_;
    const Context* outer_;
    CUcontext before_ = nullptr;
    [[gnu::tls_model("initial-exec")]] static constinit thread_local const Context* innermost_;
  };

 private:
  [[noreturn]] void lose(CUresult result, const char* call);

  int index_;
  const Driver& api_;
  CUdevice device_ = 0;
  std::atomic<CUcontext> handle_{nullptr};
  std::atomic<bool> lost_{false};
  std::mutex opening_;
  mutable std::mutex mutex_;
  std::string why_lost_;
  static constexpr size_t kMostNames = 6;
  std::vector<std::string> running_;  // names, the oldest first
  bool more_were_running_ = false;
};

}  // namespace tenon::runtime::cuda
