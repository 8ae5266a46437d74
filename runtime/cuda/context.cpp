#include "runtime/cuda/context.h"

#include <algorithm>

#include "runtime/cuda/libraries.h"
#include "runtime/memory/buffer.h"

namespace tenon::runtime::cuda {
namespace {

// Errors after which a context answers nothing but the same error. Those from 721 on are what newer kinds of hardware do wrong.
bool ends_context(CUresult result) {
  if (result >= kFirstOfLater && result <= kLastOfLater) return true;
  switch (result) {
    case kErrorIllegalAddress:
    case kErrorLaunchTimeout:
    case kErrorContextIsDestroyed:
    case kErrorAssert:
    case kErrorHardwareStack:
    case kErrorIllegalInstruction:
    case kErrorMisalignedAddress:
    case kErrorInvalidAddressSpace:
    case kErrorInvalidPc:
    case kErrorLaunchFailed:
    case kErrorEcc:
    case kErrorNvlink:
    case kErrorContained:
    case kErrorMpsConnection:
    case kErrorMpsRpc:
    case kErrorMpsTerminated:
    case kErrorUnknown: return true;
    default: return false;
  }
}

// Errors that a waiting call has of itself: the work may be right.
bool refuses_to_wait(CUresult result) {
  switch (result) {
    case kErrorInvalidValue:
    case kErrorNotInitialized:
    case kErrorDeinitialized:
    case kErrorInvalidContext:
    case kErrorInvalidHandle:
    case kErrorNotPermitted:
    case kErrorNotSupported:
    case kErrorGraphExecUpdateFailure: return true;
    default: return result >= kFirstOfCapture && result <= kLastOfCapture;
  }
}

}  // namespace

std::string error_text(CUresult result) {
  const char* text = nullptr;
  if (const Driver* api = driver(); !api || api->error_string(result, &text) != kSuccess || !text) return "error " + std::to_string(result);
  return text;
}

constinit thread_local const Context* Context::Current::innermost_ = nullptr;

Context::Context(int index) : index_(index), api_(*driver()) { check(api_.device_get(&device_, index), "cuDeviceGet"); }

void Context::open() {
  if (is_open()) return;
  const std::lock_guard lock(opening_);
  if (is_open()) return;
  CUcontext made = nullptr;
  check(api_.context_retain(&made, device_), "cuDevicePrimaryCtxRetain");
  handle_ = made;
}

int Context::attribute(DeviceAttribute which) const {
  int value = 0;
  return api_.device_attribute(&value, which, device_) == kSuccess ? value : 0;
}

void Context::check(CUresult result, const char* call) {
  if (result == kSuccess) return;
  if (result == kErrorOutOfMemory) throw OutOfMemory(std::string("CUDA error: out of memory (") + call + ")");
  if (ends_context(result)) lose(result, call);
  throw std::runtime_error("CUDA error: " + error_text(result) + " (" + call + ")");
}

void Context::check_wait(CUresult result, const char* call) {
  if (result != kSuccess && result != kErrorOutOfMemory && !refuses_to_wait(result)) lose(result, call);
  check(result, call);
}

void Context::lose(CUresult result, const char* call) {
  const std::lock_guard lock(mutex_);
  if (!lost_) {
    std::string names;
    for (const std::string& name : running_) names += (names.empty() ? "'" : ", '") + name + "'";
    if (more_were_running_) names = "..., " + names;
    why_lost_ = "CUDA error: " + error_text(result) + " (seen by " + call + "); cuda:" + std::to_string(index_) +
                " is lost with all that lies on it";
    if (!names.empty()) why_lost_ += ". It happened in one of the kernels launched last: " + names;
    lost_.store(true, std::memory_order_release);
  }
  throw DeviceLost(why_lost_);
}

void Context::throw_if_lost() const {
  if (!is_lost()) return;
  const std::lock_guard lock(mutex_);
  throw std::runtime_error(why_lost_);
}

void Context::note_launch(const std::string& kernel) {
  const std::lock_guard lock(mutex_);
  if (!running_.empty() && running_.back() == kernel) return;
  if (running_.size() == kMostNames) {
    running_.erase(running_.begin());
    more_were_running_ = true;
  }
  running_.push_back(kernel);
}

void Context::forget_launches() {
  const std::lock_guard lock(mutex_);
  running_.clear();
  more_were_running_ = false;
}

Context::Current::Current(Context& context) : context_(context), outer_(innermost_) {
  if (outer_ == &context_) return;
  context_.open();
  context_.api_.context_get(&before_);
  if (before_ != context_.handle()) context_.api_.context_set(context_.handle());
  innermost_ = &context_;
}
Context::Current::~Current() {
  if (outer_ == &context_) return;
  innermost_ = outer_;
  if (before_ && before_ != context_.handle()) context_.api_.context_set(before_);
}

}  // namespace tenon::runtime::cuda
