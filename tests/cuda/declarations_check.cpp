// Our own declarations of the driver, NVRTC and cuBLAS against the toolkit's headers, where they are installed: each function
// has as many parameters, and each parameter and result is of the same kind and size; the values and layouts are theirs.
// It is right if it compiles. Handles, addresses and enumerations have types of our own, so the types are not equal.
#define __CUDA_API_VERSION_INTERNAL  // every version of a function has its own name
#include <cuda.h>
#include <nvrtc.h>
#undef __CUDA_API_VERSION_INTERNAL
#include <cublas_v2.h>

#include <cstddef>
#include <cstdio>
#include <tuple>
#include <type_traits>

#include "runtime/cuda/api.h"

namespace {

namespace ours = tenon::runtime::cuda;

template <typename A, typename B>
constexpr bool same_kind() {
  if constexpr (std::is_void_v<A> || std::is_void_v<B>) return std::is_void_v<A> && std::is_void_v<B>;
  const auto number = [](auto is_integral, auto is_enum) { return is_integral || is_enum; };
  return sizeof(A) == sizeof(B) && alignof(A) == alignof(B) && std::is_pointer_v<A> == std::is_pointer_v<B> &&
         number(std::is_integral_v<A>, std::is_enum_v<A>) == number(std::is_integral_v<B>, std::is_enum_v<B>);
}
// What a pointer points to is of the same kind too, where it is a number.
template <typename A, typename B>
constexpr bool same_parameter() {
  if constexpr (std::is_pointer_v<A> && std::is_pointer_v<B>) {
    using To = std::remove_cv_t<std::remove_pointer_t<A>>;
    using Other = std::remove_cv_t<std::remove_pointer_t<B>>;
    if constexpr (std::is_arithmetic_v<To> && (std::is_arithmetic_v<Other> || std::is_enum_v<Other>)) return sizeof(To) == sizeof(Other);
    return true;
  } else {
    return same_kind<A, B>();
  }
}

template <typename A, typename B>
struct Same : std::false_type {};
template <typename RA, typename... A, typename RB, typename... B>
struct Same<RA (*)(A...), RB (*)(B...)> {
  static constexpr bool value = [] {
    if constexpr (sizeof...(A) != sizeof...(B)) {
      return false;
    } else {
      return same_kind<RA, RB>() && (same_parameter<A, B>() && ...);
    }
  }();
};

// The header gives this one an overload in C++; the library exports the one that takes a cublasComputeType_t.
using Gemm = cublasStatus_t (*)(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int, const void*, const void*, cudaDataType,
                                int, long long, const void*, cudaDataType, int, long long, const void*, void*, cudaDataType, int, long long,
                                int, cublasComputeType_t, cublasGemmAlgo_t);
Gemm pick(Gemm);
template <typename Function>
Function pick(Function);

#define TENON_CHECK(name, symbol, result, parameters) \
  static_assert(Same<decltype(Functions::name), decltype(pick(&::symbol))>::value, #symbol " is declared otherwise");

using Functions = ours::Driver;
TENON_CUDA_DRIVER(TENON_CHECK)
namespace of_graphs {
using Functions = ours::Graphs;
TENON_CUDA_GRAPHS(TENON_CHECK)
}  // namespace of_graphs
namespace of_nvrtc {
using Functions = ours::Nvrtc;
TENON_NVRTC(TENON_CHECK)
}  // namespace of_nvrtc
namespace of_cublas {
using Functions = ours::Cublas;
TENON_CUBLAS(TENON_CHECK)
}  // namespace of_cublas

static_assert(ours::kSuccess == CUDA_SUCCESS && ours::kErrorOutOfMemory == CUDA_ERROR_OUT_OF_MEMORY &&
              ours::kErrorDeinitialized == CUDA_ERROR_DEINITIALIZED && ours::kErrorNoDevice == CUDA_ERROR_NO_DEVICE &&
              ours::kErrorNotReady == CUDA_ERROR_NOT_READY &&
              ours::kErrorPeerAccessAlreadyEnabled == CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED &&
              ours::kErrorContextIsDestroyed == CUDA_ERROR_CONTEXT_IS_DESTROYED &&
              ours::kErrorIllegalAddress == CUDA_ERROR_ILLEGAL_ADDRESS && ours::kErrorLaunchTimeout == CUDA_ERROR_LAUNCH_TIMEOUT &&
              ours::kErrorAssert == CUDA_ERROR_ASSERT && ours::kErrorHardwareStack == CUDA_ERROR_HARDWARE_STACK_ERROR &&
              ours::kErrorIllegalInstruction == CUDA_ERROR_ILLEGAL_INSTRUCTION &&
              ours::kErrorMisalignedAddress == CUDA_ERROR_MISALIGNED_ADDRESS &&
              ours::kErrorInvalidAddressSpace == CUDA_ERROR_INVALID_ADDRESS_SPACE && ours::kErrorInvalidPc == CUDA_ERROR_INVALID_PC &&
              ours::kErrorLaunchFailed == CUDA_ERROR_LAUNCH_FAILED && ours::kErrorEcc == CUDA_ERROR_ECC_UNCORRECTABLE &&
              ours::kErrorNvlink == CUDA_ERROR_NVLINK_UNCORRECTABLE && ours::kErrorMpsConnection == CUDA_ERROR_MPS_CONNECTION_FAILED &&
              ours::kErrorMpsRpc == CUDA_ERROR_MPS_RPC_FAILURE && ours::kErrorMpsTerminated == CUDA_ERROR_MPS_CLIENT_TERMINATED &&
              ours::kErrorInvalidValue == CUDA_ERROR_INVALID_VALUE && ours::kErrorNotInitialized == CUDA_ERROR_NOT_INITIALIZED &&
              ours::kErrorInvalidContext == CUDA_ERROR_INVALID_CONTEXT && ours::kErrorInvalidHandle == CUDA_ERROR_INVALID_HANDLE &&
              ours::kErrorNotPermitted == CUDA_ERROR_NOT_PERMITTED && ours::kErrorNotSupported == CUDA_ERROR_NOT_SUPPORTED &&
              ours::kFirstOfCapture == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED &&
              ours::kLastOfCapture == CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD &&
              ours::kErrorGraphExecUpdateFailure == CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE && ours::kErrorUnknown == CUDA_ERROR_UNKNOWN);
static_assert(ours::kMaxThreadsPerBlock == CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK &&
              ours::kMaxSharedPerBlock == CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK &&
              ours::kWarpSize == CU_DEVICE_ATTRIBUTE_WARP_SIZE &&
              ours::kMaxRegistersPerBlock == CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK &&
              ours::kClockRate == CU_DEVICE_ATTRIBUTE_CLOCK_RATE &&
              ours::kMultiprocessorCount == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT &&
              ours::kMemoryClockRate == CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE &&
              ours::kMemoryBusWidth == CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH &&
              ours::kL2CacheSize == CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE &&
              ours::kMaxThreadsPerMultiprocessor == CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR &&
              ours::kComputeCapabilityMajor == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR &&
              ours::kComputeCapabilityMinor == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR &&
              ours::kMaxSharedPerMultiprocessor == CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR &&
              ours::kMaxSharedPerBlockOptin == CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
static_assert(ours::kFunctionMaxDynamicShared == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES &&
              ours::kFunctionStaticShared == CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES &&
              ours::kFunctionLocal == CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES && ours::kFunctionRegisters == CU_FUNC_ATTRIBUTE_NUM_REGS &&
              ours::kStreamNonBlocking == CU_STREAM_NON_BLOCKING && ours::kEventDefault == CU_EVENT_DEFAULT &&
              ours::kEventDisableTiming == CU_EVENT_DISABLE_TIMING && ours::kHostAllocPortable == CU_MEMHOSTALLOC_PORTABLE &&
              ours::kCaptureRelaxed == CU_STREAM_CAPTURE_MODE_RELAXED);
static_assert(ours::kNvrtcSuccess == NVRTC_SUCCESS && ours::kNvrtcCompilation == NVRTC_ERROR_COMPILATION);
static_assert(ours::kCublasSuccess == CUBLAS_STATUS_SUCCESS && ours::kCublasOpN == CUBLAS_OP_N && ours::kCublasOpT == CUBLAS_OP_T &&
              ours::kCublasDefaultMath == CUBLAS_DEFAULT_MATH && ours::kCublasTf32Math == CUBLAS_TF32_TENSOR_OP_MATH &&
              ours::kCuda32F == CUDA_R_32F && ours::kCuda64F == CUDA_R_64F && ours::kCuda16F == CUDA_R_16F &&
              ours::kCuda16BF == CUDA_R_16BF && ours::kCompute32F == CUBLAS_COMPUTE_32F &&
              ours::kCompute32FPedantic == CUBLAS_COMPUTE_32F_PEDANTIC && ours::kCompute64F == CUBLAS_COMPUTE_64F &&
              ours::kCompute32FFastTf32 == CUBLAS_COMPUTE_32F_FAST_TF32 && ours::kGemmDefault == CUBLAS_GEMM_DEFAULT);

using Node = ours::KernelNodeParams;
static_assert(sizeof(Node) == sizeof(CUDA_KERNEL_NODE_PARAMS_v2) &&
              offsetof(Node, function) == offsetof(CUDA_KERNEL_NODE_PARAMS_v2, func) &&
              offsetof(Node, grid_x) == offsetof(CUDA_KERNEL_NODE_PARAMS_v2, gridDimX) &&
              offsetof(Node, block_x) == offsetof(CUDA_KERNEL_NODE_PARAMS_v2, blockDimX) &&
              offsetof(Node, shared_bytes) == offsetof(CUDA_KERNEL_NODE_PARAMS_v2, sharedMemBytes) &&
              offsetof(Node, parameters) == offsetof(CUDA_KERNEL_NODE_PARAMS_v2, kernelParams) &&
              offsetof(Node, extra) == offsetof(CUDA_KERNEL_NODE_PARAMS_v2, extra) &&
              offsetof(Node, kernel) == offsetof(CUDA_KERNEL_NODE_PARAMS_v2, kern) &&
              offsetof(Node, context) == offsetof(CUDA_KERNEL_NODE_PARAMS_v2, ctx));
static_assert(sizeof(ours::CUuuid) == sizeof(::CUuuid));

}  // namespace

int main() {
  std::printf("the declarations in runtime/cuda/api.h agree with the toolkit's headers, version %d\n", CUDA_VERSION);
  return 0;
}
