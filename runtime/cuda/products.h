// Matrix products by cuBLAS, for one device. The library is loaded, and its handle made, when the first plan has a product for it.
//
// Its workspace is a block of ours, so that it allocates nothing of its own: in a CUDA graph that would be nodes which a graph within
// another cannot have. cublasSetStream drops the workspace, so each stream is given it anew.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "ir/call/call.h"
#include "runtime/cuda/context.h"

namespace tenon::runtime::cuda {

class Products {
 public:
  // `allocate` gives a block of device memory that is never released, or throws OutOfMemory.
  Products(Context& context, std::function<void*(size_t bytes)> allocate) : context_(context), allocate_(std::move(allocate)) {}

  // Whether cuBLAS computes products of this type: float32, float64, float16 and bfloat16 (these two accumulate in float32).
  static bool takes(ir::DType dtype);
  // Loads the library and makes the handle, if that has not been done. False, for good: it does not load, or has refused a
  // product; then products are to be generated, and `why` says why. Throws OutOfMemory if there is none for its workspace.
  bool work();
  bool are_known() const { return state_.load(std::memory_order_acquire) != State::Unknown; }  // to work, or not to
  bool have_failed() const { return state_.load(std::memory_order_acquire) == State::Failed; }
  std::string why();
  void fail(const std::string& why);  // from here on
  // dot [B..., M, K] x [B..., K, N] -> [B..., M, N], all row-major without gaps; an operand may be a transpose of such a one.
  // With tf32, operands of float32 may be rounded to 10 bits of mantissa. Throws std::runtime_error.
  void run(const ir::Call& dot, const void* a, const void* b, void* result, bool tf32, CUstream stream);
  std::string version();  // empty until it is loaded

 private:
  cublasHandle_t handle();
  void go_to(CUstream stream);

  Context& context_;
  std::function<void*(size_t)> allocate_;
  std::mutex mutex_;
  cublasHandle_t handle_ = nullptr;
  void* workspace_ = nullptr;
  size_t workspace_bytes_ = 0;
  CUstream stream_ = nullptr;  // where it is
  enum class State : uint8_t { Unknown, Works, Failed };
  std::atomic<State> state_{State::Unknown};
  std::string why_;
};

}  // namespace tenon::runtime::cuda
