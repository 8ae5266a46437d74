// The functions of NVIDIA's three libraries that Tenon calls, declared from their documentation: nothing of the CUDA toolkit
// is needed to build. Each table row is a function's exported name, with the suffix of the version whose signature this
// is, and that signature; the loader (libraries.h) fills a struct of pointers from each table. tests/cuda/declarations_check.cpp
// holds types, values and signatures against the toolkit's headers where they are installed.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tenon::runtime::cuda {

// --- types: opaque handles, addresses of a device, and enumerations as plain integers
using CUresult = int;
using CUdevice = int;
using CUdeviceptr = unsigned long long;
using CUcontext = struct CUctx_st*;
using CUmodule = struct CUmod_st*;
using CUfunction = struct CUfunc_st*;
using CUstream = struct CUstream_st*;
using CUevent = struct CUevent_st*;
using CUgraph = struct CUgraph_st*;
using CUgraphNode = struct CUgraphNode_st*;
using CUgraphExec = struct CUgraphExec_st*;
using nvrtcProgram = struct _nvrtcProgram*;
using cublasHandle_t = struct cublasContext*;
struct CUuuid {
  char bytes[16];
};
static_assert(sizeof(CUdeviceptr) == sizeof(void*), "an address of a device is kept as a pointer");

// One launch as a node of a CUDA graph (CUDA_KERNEL_NODE_PARAMS_v2).
struct KernelNodeParams {
  CUfunction function;
  unsigned grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes;
  void** parameters;
  void** extra;
  void* kernel;  // another way to name the function; null
  CUcontext context;
};

// --- values
enum : CUresult {
  kSuccess = 0,
  kErrorInvalidValue = 1,
  kErrorOutOfMemory = 2,
  kErrorNotInitialized = 3,
  kErrorDeinitialized = 4,
  kErrorNoDevice = 100,
  kErrorInvalidContext = 201,
  kErrorInvalidHandle = 400,
  kErrorNotReady = 600,
  kErrorPeerAccessAlreadyEnabled = 704,
  kErrorNotPermitted = 800,
  kErrorNotSupported = 801,
  kFirstOfCapture = 900,
  kLastOfCapture = 908,
  kErrorGraphExecUpdateFailure = 910,
  kErrorContextIsDestroyed = 709,
  // From these on a context is of no use any more: what a kernel or the device did wrong.
  kErrorIllegalAddress = 700,
  kErrorLaunchTimeout = 702,
  kErrorAssert = 710,
  kErrorHardwareStack = 714,
  kErrorIllegalInstruction = 715,
  kErrorMisalignedAddress = 716,
  kErrorInvalidAddressSpace = 717,
  kErrorInvalidPc = 718,
  kErrorLaunchFailed = 719,
  kFirstOfLater = 721,
  kLastOfLater = 799,
  kErrorMpsConnection = 805,
  kErrorMpsRpc = 806,
  kErrorMpsTerminated = 810,
  kErrorEcc = 214,
  kErrorNvlink = 220,
  kErrorContained = 226,
  kErrorUnknown = 999,
};
enum DeviceAttribute : int {
  kMaxThreadsPerBlock = 1,
  kMaxSharedPerBlock = 8,
  kWarpSize = 10,
  kMaxRegistersPerBlock = 12,
  kClockRate = 13,
  kMultiprocessorCount = 16,
  kMemoryClockRate = 36,
  kMemoryBusWidth = 37,
  kL2CacheSize = 38,
  kMaxThreadsPerMultiprocessor = 39,
  kComputeCapabilityMajor = 75,
  kComputeCapabilityMinor = 76,
  kMaxSharedPerMultiprocessor = 81,
  kMaxSharedPerBlockOptin = 97,
};
enum FunctionAttribute : int {
  kFunctionStaticShared = 1,
  kFunctionLocal = 3,
  kFunctionRegisters = 4,
  kFunctionMaxDynamicShared = 8,
};
enum PointerAttribute : int { kPointerMemoryType = 2, kPointerDeviceOrdinal = 9 };
enum MemoryType : unsigned { kMemoryDevice = 2 };
enum : unsigned { kStreamNonBlocking = 1, kEventDefault = 0, kEventDisableTiming = 2, kHostAllocPortable = 1 };
enum CaptureMode : int { kCaptureRelaxed = 2 };
enum : int { kNvrtcSuccess = 0, kNvrtcCompilation = 6 };
enum : int { kCublasSuccess = 0, kCublasOpN = 0, kCublasOpT = 1, kCublasDefaultMath = 0, kCublasTf32Math = 3 };
enum CudaDataType : int { kCuda32F = 0, kCuda64F = 1, kCuda16F = 2, kCuda16BF = 14 };
enum CublasComputeType : int { kCompute32F = 68, kCompute32FPedantic = 69, kCompute64F = 70, kCompute32FFastTf32 = 77 };
enum CublasAlgorithm : int { kGemmDefault = -1 };

// --- the driver: X(name in the struct, exported name, result, parameters)
// clang-format off
#define TENON_CUDA_DRIVER(X) \
  X(init, cuInit, CUresult, (unsigned)) \
  X(driver_version, cuDriverGetVersion, CUresult, (int*)) \
  X(error_name, cuGetErrorName, CUresult, (CUresult, const char**)) \
  X(error_string, cuGetErrorString, CUresult, (CUresult, const char**)) \
  X(device_count, cuDeviceGetCount, CUresult, (int*)) \
  X(device_get, cuDeviceGet, CUresult, (CUdevice*, int)) \
  X(device_name, cuDeviceGetName, CUresult, (char*, int, CUdevice)) \
  X(device_attribute, cuDeviceGetAttribute, CUresult, (int*, int, CUdevice)) \
  X(device_memory, cuDeviceTotalMem_v2, CUresult, (size_t*, CUdevice)) \
  X(device_uuid, cuDeviceGetUuid_v2, CUresult, (CUuuid*, CUdevice)) \
  X(context_retain, cuDevicePrimaryCtxRetain, CUresult, (CUcontext*, CUdevice)) \
  X(context_get, cuCtxGetCurrent, CUresult, (CUcontext*)) \
  X(context_set, cuCtxSetCurrent, CUresult, (CUcontext)) \
  X(memory_allocate, cuMemAlloc_v2, CUresult, (CUdeviceptr*, size_t)) \
  X(memory_free, cuMemFree_v2, CUresult, (CUdeviceptr)) \
  X(memory_info, cuMemGetInfo_v2, CUresult, (size_t*, size_t*)) \
  X(host_allocate, cuMemHostAlloc, CUresult, (void**, size_t, unsigned)) \
  X(host_free, cuMemFreeHost, CUresult, (void*)) \
  X(pointer_attribute, cuPointerGetAttribute, CUresult, (void*, int, CUdeviceptr)) \
  X(copy_in, cuMemcpyHtoDAsync_v2, CUresult, (CUdeviceptr, const void*, size_t, CUstream)) \
  X(copy_out, cuMemcpyDtoHAsync_v2, CUresult, (void*, CUdeviceptr, size_t, CUstream)) \
  X(copy_within, cuMemcpyDtoDAsync_v2, CUresult, (CUdeviceptr, CUdeviceptr, size_t, CUstream)) \
  X(copy_peer, cuMemcpyPeerAsync, CUresult, (CUdeviceptr, CUcontext, CUdeviceptr, CUcontext, size_t, CUstream)) \
  X(can_access_peer, cuDeviceCanAccessPeer, CUresult, (int*, CUdevice, CUdevice)) \
  X(enable_peer, cuCtxEnablePeerAccess, CUresult, (CUcontext, unsigned)) \
  X(fill_bytes, cuMemsetD8Async, CUresult, (CUdeviceptr, unsigned char, size_t, CUstream)) \
  X(stream_create, cuStreamCreate, CUresult, (CUstream*, unsigned)) \
  X(stream_synchronize, cuStreamSynchronize, CUresult, (CUstream)) \
  X(stream_wait, cuStreamWaitEvent, CUresult, (CUstream, CUevent, unsigned)) \
  X(event_create, cuEventCreate, CUresult, (CUevent*, unsigned)) \
  X(event_destroy, cuEventDestroy_v2, CUresult, (CUevent)) \
  X(event_record, cuEventRecord, CUresult, (CUevent, CUstream)) \
  X(event_query, cuEventQuery, CUresult, (CUevent)) \
  X(event_synchronize, cuEventSynchronize, CUresult, (CUevent)) \
  X(event_elapsed, cuEventElapsedTime, CUresult, (float*, CUevent, CUevent)) \
  X(module_load, cuModuleLoadDataEx, CUresult, (CUmodule*, const void*, unsigned, int*, void**)) \
  X(module_unload, cuModuleUnload, CUresult, (CUmodule)) \
  X(module_function, cuModuleGetFunction, CUresult, (CUfunction*, CUmodule, const char*)) \
  X(function_get, cuFuncGetAttribute, CUresult, (int*, int, CUfunction)) \
  X(function_set, cuFuncSetAttribute, CUresult, (CUfunction, int, int)) \
  X(launch, cuLaunchKernel, CUresult, \
    (CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream, void**, void**))
// clang-format on

// --- CUDA graphs, which the driver library has too
// clang-format off
#define TENON_CUDA_GRAPHS(X) \
  X(stream_begin_capture, cuStreamBeginCapture_v2, CUresult, (CUstream, int)) \
  X(stream_end_capture, cuStreamEndCapture, CUresult, (CUstream, CUgraph*)) \
  X(graph_create, cuGraphCreate, CUresult, (CUgraph*, unsigned)) \
  X(graph_add_kernel, cuGraphAddKernelNode_v2, CUresult, (CUgraphNode*, CUgraph, const CUgraphNode*, size_t, const KernelNodeParams*)) \
  X(graph_add_child, cuGraphAddChildGraphNode, CUresult, (CUgraphNode*, CUgraph, const CUgraphNode*, size_t, CUgraph)) \
  X(graph_instantiate, cuGraphInstantiateWithFlags, CUresult, (CUgraphExec*, CUgraph, unsigned long long)) \
  X(graph_set_kernel, cuGraphExecKernelNodeSetParams_v2, CUresult, (CUgraphExec, CUgraphNode, const KernelNodeParams*)) \
  X(graph_set_child, cuGraphExecChildGraphNodeSetParams, CUresult, (CUgraphExec, CUgraphNode, CUgraph)) \
  X(graph_launch, cuGraphLaunch, CUresult, (CUgraphExec, CUstream)) \
  X(graph_destroy, cuGraphDestroy, CUresult, (CUgraph)) \
  X(graph_exec_destroy, cuGraphExecDestroy, CUresult, (CUgraphExec))
// clang-format on

// --- NVRTC
// clang-format off
#define TENON_NVRTC(X) \
  X(version, nvrtcVersion, int, (int*, int*)) \
  X(create, nvrtcCreateProgram, int, (nvrtcProgram*, const char*, const char*, int, const char* const*, const char* const*)) \
  X(destroy, nvrtcDestroyProgram, int, (nvrtcProgram*)) \
  X(compile, nvrtcCompileProgram, int, (nvrtcProgram, int, const char* const*)) \
  X(log_size, nvrtcGetProgramLogSize, int, (nvrtcProgram, size_t*)) \
  X(log, nvrtcGetProgramLog, int, (nvrtcProgram, char*)) \
  X(cubin_size, nvrtcGetCUBINSize, int, (nvrtcProgram, size_t*)) \
  X(cubin, nvrtcGetCUBIN, int, (nvrtcProgram, char*)) \
  X(ptx_size, nvrtcGetPTXSize, int, (nvrtcProgram, size_t*)) \
  X(ptx, nvrtcGetPTX, int, (nvrtcProgram, char*)) \
  X(arch_count, nvrtcGetNumSupportedArchs, int, (int*)) \
  X(archs, nvrtcGetSupportedArchs, int, (int*)) \
  X(error_string, nvrtcGetErrorString, const char*, (int))
// clang-format on

// --- cuBLAS
// clang-format off
#define TENON_CUBLAS(X) \
  X(create, cublasCreate_v2, int, (cublasHandle_t*)) \
  X(get_version, cublasGetVersion_v2, int, (cublasHandle_t, int*)) \
  X(set_stream, cublasSetStream_v2, int, (cublasHandle_t, CUstream)) \
  X(set_workspace, cublasSetWorkspace_v2, int, (cublasHandle_t, void*, size_t)) \
  X(set_math_mode, cublasSetMathMode, int, (cublasHandle_t, int)) \
  X(gemm, cublasGemmStridedBatchedEx, int, \
    (cublasHandle_t, int, int, int, int, int, const void*, const void*, int, int, long long, const void*, int, int, long long, \
     const void*, void*, int, int, long long, int, int, int)) \
  X(status_string, cublasGetStatusString, const char*, (int))
// clang-format on

#define TENON_POINTER(name, symbol, result, parameters) result(*name) parameters = nullptr;
struct Driver {
  TENON_CUDA_DRIVER(TENON_POINTER)
};
struct Graphs {
  TENON_CUDA_GRAPHS(TENON_POINTER)
};
struct Nvrtc {
  TENON_NVRTC(TENON_POINTER)
};
struct Cublas {
  TENON_CUBLAS(TENON_POINTER)
};
#undef TENON_POINTER

}  // namespace tenon::runtime::cuda
