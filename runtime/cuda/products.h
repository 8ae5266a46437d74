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
  // With tf32, operands of float32 may be rounded to 10 bits of mantissa. Throws std::runtime_error.
  void run(const ir::Node& dot, const void* a, const void* b, void* result, bool tf32);
  std::string version();  // empty until it is loaded

 private:
  cublasHandle_t handle();

  Context& context_;
  CUstream stream_;
  std::mutex mutex_;
  cublasHandle_t handle_ = nullptr;
};

}  // namespace tenon::runtime::cuda
