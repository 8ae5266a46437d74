// A small client of the three stand-ins for their own tests: declarations of what it calls, and a context, buffers and
// kernels that end with their scope.
#pragma once

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "codegen/cuda/emit.h"
#include "cuda_sim/control.h"

extern "C" {
using Address = unsigned long long;
using Handle = void*;
int cuInit(unsigned);
int cuDriverGetVersion(int*);
int cuGetErrorName(int, const char**);
int cuGetErrorString(int, const char**);
int cuGetProcAddress_v2(const char*, void**, int, unsigned long long, int*);
int cuGetExportTable(const void**, const void*);
int cuDeviceGetCount(int*);
int cuDeviceGetName(char*, int, int);
int cuDeviceGetAttribute(int*, int, int);
int cuDevicePrimaryCtxRetain(Handle*, int);
int cuDevicePrimaryCtxRelease_v2(int);
int cuDeviceCanAccessPeer(int*, int, int);
int cuCtxSetCurrent(Handle);
int cuCtxGetCurrent(Handle*);
int cuCtxPushCurrent_v2(Handle);
int cuCtxPopCurrent_v2(Handle*);
int cuCtxSynchronize();
int cuCtxEnablePeerAccess(Handle, unsigned);
int cuCtxDisablePeerAccess(Handle);
int cuMemAlloc_v2(Address*, size_t);
int cuMemFree_v2(Address);
int cuMemGetInfo_v2(size_t*, size_t*);
int cuMemHostAlloc(void**, size_t, unsigned);
int cuMemFreeHost(void*);
int cuMemHostRegister_v2(void*, size_t, unsigned);
int cuMemHostUnregister(void*);
int cuPointerGetAttribute(void*, int, Address);
int cuMemcpyHtoDAsync_v2(Address, const void*, size_t, Handle);
int cuMemcpyDtoHAsync_v2(void*, Address, size_t, Handle);
int cuMemcpyDtoDAsync_v2(Address, Address, size_t, Handle);
int cuMemcpyPeerAsync(Address, Handle, Address, Handle, size_t, Handle);
int cuMemsetD8Async(Address, unsigned char, size_t, Handle);
int cuMemsetD32Async(Address, unsigned, size_t, Handle);
int cuStreamCreate(Handle*, unsigned);
int cuStreamDestroy_v2(Handle);
int cuStreamSynchronize(Handle);
int cuStreamQuery(Handle);
int cuStreamWaitEvent(Handle, Handle, unsigned);
int cuEventCreate(Handle*, unsigned);
int cuEventDestroy_v2(Handle);
int cuEventRecord(Handle, Handle);
int cuEventQuery(Handle);
int cuEventSynchronize(Handle);
int cuEventElapsedTime(float*, Handle, Handle);
int cuLaunchHostFunc(Handle, void (*)(void*), void*);
int cuModuleLoadDataEx(Handle*, const void*, unsigned, int*, void**);
int cuModuleUnload(Handle);
int cuModuleGetFunction(Handle*, Handle, const char*);
int cuFuncGetAttribute(int*, int, Handle);
int cuFuncSetAttribute(Handle, int, int);
int cuOccupancyMaxActiveBlocksPerMultiprocessor(int*, Handle, int, size_t);
int cuLaunchKernel(Handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, Handle, void**, void**);
int cuStreamBeginCapture_v2(Handle, int);
int cuStreamEndCapture(Handle, Handle*);
int cuStreamIsCapturing(Handle, int*);
int cuGraphCreate(Handle*, unsigned);
int cuGraphDestroy(Handle);
int cuGraphAddKernelNode_v2(Handle*, Handle, const Handle*, size_t, const struct KernelNode*);
int cuGraphAddChildGraphNode(Handle*, Handle, const Handle*, size_t, Handle);
int cuGraphGetNodes(Handle, Handle*, size_t*);
int cuGraphNodeGetType(Handle, int*);
int cuGraphKernelNodeGetParams_v2(Handle, struct KernelNode*);
int cuGraphInstantiateWithFlags(Handle*, Handle, unsigned long long);
int cuGraphExecDestroy(Handle);
int cuGraphExecKernelNodeSetParams_v2(Handle, Handle, const struct KernelNode*);
int cuGraphExecChildGraphNodeSetParams(Handle, Handle, Handle);
int cuGraphExecUpdate_v2(Handle, Handle, void*);
int cuGraphLaunch(Handle, Handle);
int nvrtcVersion(int*, int*);
int nvrtcCreateProgram(Handle*, const char*, const char*, int, const char* const*, const char* const*);
int nvrtcDestroyProgram(Handle*);
int nvrtcCompileProgram(Handle, int, const char* const*);
int nvrtcGetProgramLogSize(Handle, size_t*);
int nvrtcGetProgramLog(Handle, char*);
int nvrtcGetCUBINSize(Handle, size_t*);
int nvrtcGetCUBIN(Handle, char*);
int nvrtcGetPTXSize(Handle, size_t*);
int nvrtcGetPTX(Handle, char*);
int cublasCreate_v2(Handle*);
int cublasDestroy_v2(Handle);
int cublasSetStream_v2(Handle, Handle);
int cublasSetWorkspace_v2(Handle, void*, size_t);
int cublasSetMathMode(Handle, int);
int cublasGemmEx(Handle, int, int, int, int, int, const void*, const void*, int, int, const void*, int, int, const void*, void*, int, int,
                 int, int);
int cublasGemmStridedBatchedEx(Handle, int, int, int, int, int, const void*, const void*, int, int, long long, const void*, int, int,
                               long long, const void*, void*, int, int, long long, int, int, int);
}

struct KernelNode {  // CUDA_KERNEL_NODE_PARAMS_v2
  Handle function;
  unsigned grid_x, grid_y, grid_z, block_x, block_y, block_z, shared;
  void** parameters;
  void** extra;
  Handle kernel, context;
};

// A device's context, current while this lives; afterwards nothing is broken and no setting changed.
class Context {
 public:
  explicit Context(int device = 0) : device_(device) {
    REQUIRE(cuInit(0) == 0);
    REQUIRE(cuDevicePrimaryCtxRetain(&handle, device) == 0);
    REQUIRE(cuCtxPushCurrent_v2(handle) == 0);
  }
  ~Context() {
    tenon_sim_heal();
    for (const char* setting : {"eager", "strict", "races"}) tenon_sim_set(setting, 0);
    tenon_sim_set("memory_mb", 4096);
    tenon_sim_set("arch", 90);
    cuCtxPopCurrent_v2(nullptr);
    cuDevicePrimaryCtxRelease_v2(device_);
  }
  Handle handle = nullptr;

 private:
  int device_;
};

class Buffer {
 public:
  explicit Buffer(size_t count) : count_(count) { REQUIRE(cuMemAlloc_v2(&address, count * 4) == 0); }
  explicit Buffer(const std::vector<float>& values) : Buffer(values.size()) {
    REQUIRE(cuMemcpyHtoDAsync_v2(address, values.data(), values.size() * 4, nullptr) == 0);
    REQUIRE(cuStreamSynchronize(nullptr) == 0);
  }
  ~Buffer() { cuMemFree_v2(address); }
  Buffer(const Buffer&) = delete;
  std::vector<float> read(Handle stream = nullptr) const {
    std::vector<float> values(count_);
    CHECK(cuMemcpyDtoHAsync_v2(values.data(), address, count_ * 4, stream) == 0);
    return values;
  }
  Address address = 0;

 private:
  size_t count_;
};

struct Stream {
  Handle handle = nullptr;
  explicit Stream(unsigned flags = 1) { REQUIRE(cuStreamCreate(&handle, flags) == 0); }
  ~Stream() { cuStreamDestroy_v2(handle); }
};

struct Event {
  Handle handle = nullptr;
  explicit Event(unsigned flags = 2) { REQUIRE(cuEventCreate(&handle, flags) == 0); }
  ~Event() { cuEventDestroy_v2(handle); }
};

// The image of kernels, with the prelude before them; the log if they do not compile.
struct Compiled {
  int code = 0;
  std::string image, ptx, log;

  explicit Compiled(const std::string& kernels, const std::string& arch = "sm_90") {
    const std::string text = tenon::codegen::cuda::prelude() + kernels, option = "-arch=" + arch;
    const char* options[] = {option.c_str(), "--fmad=false", "--ptxas-options=-v"};
    Handle program = nullptr;
    REQUIRE(nvrtcCreateProgram(&program, text.c_str(), "kernel.cu", 0, nullptr, nullptr) == 0);
    code = nvrtcCompileProgram(program, 3, options);
    size_t size = 0;
    REQUIRE(nvrtcGetProgramLogSize(program, &size) == 0);
    log.resize(size);
    nvrtcGetProgramLog(program, log.data());
    if (code == 0) {
      if (nvrtcGetCUBINSize(program, &size); size > 0) {
        image.resize(size);
        nvrtcGetCUBIN(program, image.data());
      }
      nvrtcGetPTXSize(program, &size);
      ptx.resize(size);
      nvrtcGetPTX(program, ptx.data());
    }
    nvrtcDestroyProgram(&program);
  }
};

// One kernel of a text of its own.
class Kernel {
 public:
  explicit Kernel(const std::string& text, const char* name = "k") {
    const Compiled compiled(text);
    INFO(compiled.log);
    REQUIRE(compiled.code == 0);
    REQUIRE(cuModuleLoadDataEx(&module, compiled.image.data(), 0, nullptr, nullptr) == 0);
    REQUIRE(cuModuleGetFunction(&function, module, name) == 0);
  }
  ~Kernel() { cuModuleUnload(module); }
  template <typename... Arguments>
  int launch(Handle stream, unsigned blocks, unsigned threads, Arguments... arguments) const {
    void* parameters[] = {&arguments..., nullptr};
    return cuLaunchKernel(function, blocks, 1, 1, threads, 1, 1, 0, stream, parameters, nullptr);
  }
  Handle module = nullptr, function = nullptr;
};

inline std::string finding() {
  char text[512];
  tenon_sim_finding(text, sizeof text);
  return text;
}

inline bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }
