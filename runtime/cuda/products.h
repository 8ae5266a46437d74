// Matrix products by cuBLAS, for one device and one stream. The library is loaded, and its handle made, at the first product.
#pragma once

#include <memory>
#include <mutex>

#include "ir/graph.h"
#include "runtime/cuda/context.h"

namespace tenon::runtime::cuda {

class Products {
 public:
  Products(Context& context, CUstream stream) : context_(context), stream_(stream) {}

  // Whether cuBLAS computes products of this type: float32, float64, float16 and bfloat16 (these two accumulate in float32).
  static bool takes(ir::DType dtype);
  // dot [B..., M, K] x [B..., K, N] -> [B..., M, N], all row-major without gaps; an operand may be a transpose of such a one.
  // Throws std::runtime_error.
  void run(const ir::Node& dot, const void* a, const void* b, void* result);
  void allow_tf32(bool allow);  // of float32; off unless it is asked for
  std::string version();        // empty until it is loaded

 private:
  cublasHandle_t handle();

  Context& context_;
  CUstream stream_;
  std::mutex mutex_;
  cublasHandle_t handle_ = nullptr;
  bool tf32_ = false;
};

}  // namespace tenon::runtime::cuda
