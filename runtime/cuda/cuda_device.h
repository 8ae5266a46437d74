// One GPU behind runtime/device/device.h: its streams, memory, kernels and library calls.
#pragma once

#include <memory>

#include "runtime/cuda/properties.h"
#include "runtime/device/device.h"

namespace tenon::runtime::cuda {

struct CudaEvent;

// What cuda.cpp asks of a device beside its interface.
class CudaDevice : public Device {
 public:
  using Device::Device;
  virtual Properties properties() const = 0;
  virtual std::pair<int64_t, int64_t> memory_info() = 0;
  virtual void* allocate_pinned(size_t bytes) = 0;  // null if there is no memory
  virtual void free_pinned(void* block) noexcept = 0;
  virtual void allow_tf32(bool allow) = 0;
  virtual void open() = 0;                    // what is made at its first use else: its context and streams
  virtual std::string library_version() = 0;  // of cuBLAS; empty until it is loaded
  virtual std::string library_failure() = 0;  // why it is not used; empty if nothing speaks against it
  virtual Event record_timed() = 0;           // in the main stream
  virtual float elapsed_ms(const Event& begin, const Event& end) = 0;
};

// Throws std::runtime_error if the GPU cannot be used, with the reason.
std::unique_ptr<CudaDevice> make_cuda_device(int index);

}  // namespace tenon::runtime::cuda
