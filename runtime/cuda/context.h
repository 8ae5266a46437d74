// One GPU's context and the calls into the driver: errors become exceptions here, and a device that is of no use any more is
// remembered as lost.
//
//   out of memory            OutOfMemory
//   refused                  std::runtime_error "CUDA error: invalid argument (cuMemcpyHtoDAsync)": nothing was done
//   work that failed         what a kernel did wrong earlier shows up at any later call. The context is dead then, with all memory
//                            in it: the device is lost, and each later call throws that text, naming the kernels that ran
//
// The context is the device's primary one, which a program that uses CUDA itself shares. It is current only within our calls.
#pragma once

#include <atomic>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

#include "runtime/cuda/api.h"
#include "runtime/device.h"

namespace tenon::runtime::cuda {

// Thrown by the call that notices it first.
struct DeviceLost : LateFailure {
  using LateFailure::LateFailure;
};

std::string error_text(CUresult result);  // "an illegal memory access was encountered"

class Context {
 public:
  explicit Context(int index);  // retains the primary context; throws std::runtime_error

  const Driver& api() const { return api_; }
  CUcontext handle() const { return handle_; }
  CUdevice device() const { return device_; }
  int attribute(DeviceAttribute which) const;

  // Throws unless the result is success; `call` is the driver's name for it.
  void check(CUresult result, const char* call);
  bool is_lost() const { return lost_.load(std::memory_order_acquire); }
  void throw_if_lost() const;

  // The kernels that may be running: launched, and not known to be done.
  void note_launch(const std::string& kernel);
  void forget_launches();

  // Makes the context current for a scope.
  class Current {
   public:
    explicit Current(const Context& context);
    ~Current();
    Current(const Current&) = delete;
    Current& operator=(const Current&) = delete;

   private:
    const Context& context_;
    CUcontext before_ = nullptr;
  };

 private:
  [[noreturn]] void lose(CUresult result, const char* call);

  int index_;
  const Driver& api_;
  CUdevice device_ = 0;
  CUcontext handle_ = nullptr;
  std::atomic<bool> lost_{false};
  mutable std::mutex mutex_;
  std::string why_lost_;
  static constexpr size_t kMostNames = 6;
  std::vector<std::string> running_;  // names, the oldest first
  bool more_were_running_ = false;
};

}  // namespace tenon::runtime::cuda
