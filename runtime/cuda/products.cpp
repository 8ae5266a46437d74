#include "runtime/cuda/products.h"

#include <limits>

#include "runtime/cuda/libraries.h"
#include "runtime/memory/buffer.h"

namespace tenon::runtime::cuda {
namespace {

void check(int status, const char* call) {
  if (status == kCublasSuccess) return;
  throw std::runtime_error(std::string(call) + ": " + cublas()->status_string(status));
}

CudaDataType data_type(ir::DType dtype) {
  switch (dtype) {
    case ir::DType::F32: return kCuda32F;
    case ir::DType::F64: return kCuda64F;
    case ir::DType::F16: return kCuda16F;
    case ir::DType::BF16: return kCuda16BF;
    default: throw std::runtime_error("cuBLAS has no products of " + std::string(ir::name(dtype)));
  }
}

struct Sizes {
  int m, n, k, batch;
};

Sizes sizes_of(const ir::Node& dot) {
  const ir::Dims &a = dot.inputs()[0]->shape(), &c = dot.shape();
  const size_t rank = c.size();
  int64_t batch = 1;
  for (size_t d = 0; d + 2 < rank; ++d) batch *= c[d];
  for (const int64_t size : {c[rank - 2], c[rank - 1], a[rank - 1], batch}) {
    if (size > std::numeric_limits<int>::max()) throw std::runtime_error("cuBLAS takes no matrix of more than 2^31 - 1 rows or columns");
  }
  return {static_cast<int>(c[rank - 2]), static_cast<int>(c[rank - 1]), static_cast<int>(a[rank - 1]), static_cast<int>(batch)};
}

// The manual's sizes for Hopper and for what came before it.
size_t workspace_bytes(const Context& context) { return size_t{context.attribute(kComputeCapabilityMajor) >= 9 ? 32U : 4U} << 20; }

}  // namespace

bool Products::takes(ir::DType dtype) {
  return dtype == ir::DType::F32 || dtype == ir::DType::F64 || dtype == ir::DType::F16 || dtype == ir::DType::BF16;
}

cublasHandle_t Products::handle() {
  const Cublas* api = cublas();
  if (!api) throw std::runtime_error(cublas_library().why());
  if (!handle_) {
    cublasHandle_t fresh = nullptr;
    check(api->create(&fresh), "cublasCreate");
    handle_ = fresh;  // never destroyed: it lives as long as its device
    check(api->set_math_mode(handle_, kCublasDefaultMath), "cublasSetMathMode");
  }
  if (!workspace_) {
    const size_t bytes = workspace_bytes(context_);
    workspace_ = allocate_(bytes);
    workspace_bytes_ = bytes;
  }
  return handle_;
}

bool Products::work() {
  const std::lock_guard lock(mutex_);
  if (are_known()) return !have_failed();
  try {
    handle();
    state_.store(State::Works, std::memory_order_release);
  } catch (const OutOfMemory&) {
    throw;
  } catch (const DeviceLost&) {
    throw;
  } catch (const std::runtime_error& e) {
    why_ = e.what();
    state_.store(State::Failed, std::memory_order_release);
  }
  return !have_failed();
}

std::string Products::why() {
  const std::lock_guard lock(mutex_);
  return why_;
}

void Products::fail(const std::string& why) {
  const std::lock_guard lock(mutex_);
  if (!have_failed()) why_ = why;
  state_.store(State::Failed, std::memory_order_release);
}

// In this order: a new stream takes the workspace away.
void Products::go_to(CUstream stream) {
  if (stream_ == stream) return;
  stream_ = nullptr;  // if a call fails, both are made again
  check(cublas()->set_stream(handle_, stream), "cublasSetStream");
  check(cublas()->set_workspace(handle_, workspace_, workspace_bytes_), "cublasSetWorkspace");
  stream_ = stream;
}

std::string Products::version() {
  const std::lock_guard lock(mutex_);
  int version = 0;
  if (!handle_ || cublas()->get_version(handle_, &version) != kCublasSuccess) return {};
  return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100);
}

// cuBLAS counts columns first, so it sees each of our matrices transposed: C^T = B^T A^T.
void Products::run(const ir::Call& call, const void* a, const void* b, void* result, bool tf32, CUstream stream) {
  const std::lock_guard lock(mutex_);
  const cublasHandle_t made = handle();
  go_to(stream);
  const ir::Node& dot = call.node();
  const auto [m, n, k, batch] = sizes_of(dot);
  const CudaDataType type = data_type(dot.dtype());
  const bool wide = type == kCuda64F;
  const double one64 = 1, zero64 = 0;
  const float one32 = 1, zero32 = 0;
  const void *one = wide ? static_cast<const void*>(&one64) : &one32, *zero = wide ? static_cast<const void*>(&zero64) : &zero32;
  const int compute = wide ? kCompute64F : type == kCuda32F && tf32 ? kCompute32FFastTf32 : kCompute32F;
  // An operand whose rows are not runs of memory lies transposed.
  const auto transposed = [&](size_t operand) { return call.operands[operand].strides.back() > 1; };
  const auto operation = [&](size_t operand) { return transposed(operand) ? kCublasOpT : kCublasOpN; };
  const auto area = [](int rows, int columns) { return static_cast<long long>(rows) * columns; };
  check(cublas()->gemm(made, operation(1), operation(0), n, m, k, one, b, type, transposed(1) ? k : n, area(k, n), a, type,
                       transposed(0) ? m : k, area(m, k), zero, result, type, n, area(m, n), batch, compute, kGemmDefault),
        "cublasGemmStridedBatchedEx");
}

}  // namespace tenon::runtime::cuda
