// The driver's functions on itself, devices and contexts.
#include <dlfcn.h>

#include <array>
#include <cstdio>
#include <cstring>

#include "cuda_sim/driver.h"

using namespace tenon::cuda_sim;

namespace {

Device* device_of(Driver& d, int ordinal) {
  return ordinal >= 0 && static_cast<size_t>(ordinal) < d.devices.size() ? &d.devices[static_cast<size_t>(ordinal)] : nullptr;
}

Device* context_of(Driver& d, const void* handle) {
  for (Device& device : d.devices) {
    if (&device == handle && device.retained > 0) return &device;
  }
  return nullptr;
}

// What differs between the GPUs that it can pretend to be.
struct Model {
  int arch;
  const char* name;
  int threads_per_multiprocessor, shared_per_multiprocessor, shared_optin, blocks_per_multiprocessor, reserved_shared;
};
constexpr Model kModels[] = {
    {75, "Simulated GPU (sm_75)", 1024, 65536, 65536, 16, 0},
    {80, "Simulated GPU (sm_80)", 2048, 167936, 166912, 32, 1024},
    {90, "Simulated GPU (sm_90)", 2048, 233472, 232448, 32, 1024},
};
const Model& model(const Driver& d) {
  for (const Model& m : kModels) {
    if (m.arch == d.settings.arch) return m;
  }
  return kModels[2];
}

// By the driver's numbers: what all of them have.
constexpr struct {
  int number, value;
} kAttributes[] = {
    {1, 1024},         // threads of a block
    {2, 1024},         // its extents
    {3, 1024},         //
    {4, 64},           //
    {5, 2147483647},   // extents of a grid
    {6, 65535},        //
    {7, 65535},        //
    {8, 48 << 10},     // static shared memory of a block
    {9, 64 << 10},     // constant memory
    {10, 32},          // threads of a warp
    {11, 2147483647},  // pitch
    {12, 65536},       // registers of a block
    {13, 1980000},     // clock rate in kHz
    {14, 512},         // alignment of textures
    {15, 1},           // copies beside kernels
    {16, 132},         // multiprocessors
    {17, 0},           // time limit of kernels
    {18, 0},           // integrated
    {19, 1},           // maps host memory
    {20, 0},           // compute mode: default
    {31, 1},           // kernels beside kernels
    {32, 0},           // ECC
    {33, 1},           // PCI bus, device, domain
    {34, 0},           //
    {50, 0},           //
    {35, 0},           // TCC driver
    {40, 3},           // copy engines
    {41, 1},           // unified addresses
    {78, 1},           // priorities of streams
    {79, 1},           // L1 caches global and
    {80, 1},           // local memory
    {82, 65536},       // registers of a multiprocessor
    {83, 0},           // managed memory
    {89, 0},           // from host and device at a time
    {90, 1},           // compute preemption
    {95, 0},           // cooperative launch
    {115, 0},          // memory pools
};

struct Memory {
  int khz, bus_bits, cache_bytes;
};
constexpr Memory kH100{2619000, 5120, 50 << 20}, kH200{3201000, 6016, 60 << 20};

// -1 for one it does not know.
int attribute(const Driver& d, int number) {
  const Model& m = model(d);
  const Memory& memory = d.settings.card == "H200" ? kH200 : kH100;
  switch (number) {
    case 36: return memory.khz;
    case 37: return memory.bus_bits;
    case 38: return memory.cache_bytes;
    case 39: return m.threads_per_multiprocessor;
    case 75: return m.arch / 10;
    case 76: return m.arch % 10;
    case 81: return m.shared_per_multiprocessor;
    case 97: return m.shared_optin;
    case 106: return m.blocks_per_multiprocessor;
    case 111: return m.reserved_shared;
    default: break;
  }
  for (const auto& known : kAttributes) {
    if (known.number == number) return known.value;
  }
  return -1;
}

struct ErrorName {
  int code;
  const char *name, *text;
};
constexpr ErrorName kErrors[] = {
    {0, "CUDA_SUCCESS", "no error"},
    {1, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {2, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {3, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {4, "CUDA_ERROR_DEINITIALIZED", "driver shutting down"},
    {46, "CUDA_ERROR_DEVICE_UNAVAILABLE", "device(s) is/are busy or unavailable"},
    {100, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {101, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {200, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {201, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {209, "CUDA_ERROR_NO_BINARY_FOR_GPU", "no kernel image is available for execution on the device"},
    {218, "CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed"},
    {400, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {500, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {600, "CUDA_ERROR_NOT_READY", "device not ready"},
    {700, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {701, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", "too many resources requested for launch"},
    {704, "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED", "peer access is already enabled"},
    {705, "CUDA_ERROR_PEER_ACCESS_NOT_ENABLED", "peer access has not been enabled"},
    {712, "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED", "part or all of the requested memory range is already mapped"},
    {713, "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED", "pointer does not correspond to a registered memory region"},
    {716, "CUDA_ERROR_MISALIGNED_ADDRESS", "misaligned address"},
    {719, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {800, "CUDA_ERROR_NOT_PERMITTED", "operation not permitted"},
    {801, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
    {900, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", "operation not permitted when stream is capturing"},
    {901, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED", "operation failed due to a previous error during capture"},
    {902, "CUDA_ERROR_STREAM_CAPTURE_MERGE", "operation would result in a merge of separate capture sequences"},
    {903, "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED", "capture was not ended in the same stream as it began"},
    {904, "CUDA_ERROR_STREAM_CAPTURE_UNJOINED", "capturing stream has unjoined work"},
    {905, "CUDA_ERROR_STREAM_CAPTURE_ISOLATION", "dependency created on uncaptured work in another stream"},
    {906, "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT", "operation would make the legacy stream depend on a capturing blocking stream"},
    {907, "CUDA_ERROR_CAPTURED_EVENT", "operation not permitted on an event last recorded in a capturing stream"},
    {908, "CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD", "attempt to terminate a thread-local capture sequence from another thread"},
    {910, "CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE",
     "the graph update was not performed because it included changes which violated constraints specific to instantiated graph "
     "update"},
    {999, "CUDA_ERROR_UNKNOWN", "unknown error"},
};

int error_text(int code, const char** out, const char* ErrorName::*member) {
  if (!out) return kInvalidValue;
  *out = nullptr;
  for (const ErrorName& error : kErrors) {
    if (error.code == code) *out = error.*member;
  }
  return *out ? kSuccess : kInvalidValue;
}

// The symbol that a base name means from a version of the interface on.
struct Versioned {
  const char* base;
  int since;
  const char* symbol;
};
constexpr Versioned kVersioned[] = {
    {"cuDeviceTotalMem", 3020, "cuDeviceTotalMem_v2"},
    {"cuDeviceGetUuid", 11040, "cuDeviceGetUuid_v2"},
    {"cuDevicePrimaryCtxRelease", 11000, "cuDevicePrimaryCtxRelease_v2"},
    {"cuCtxPushCurrent", 4000, "cuCtxPushCurrent_v2"},
    {"cuCtxPopCurrent", 4000, "cuCtxPopCurrent_v2"},
    {"cuMemAlloc", 3020, "cuMemAlloc_v2"},
    {"cuMemFree", 3020, "cuMemFree_v2"},
    {"cuMemGetInfo", 3020, "cuMemGetInfo_v2"},
    {"cuMemHostRegister", 6050, "cuMemHostRegister_v2"},
    {"cuMemcpyHtoDAsync", 3020, "cuMemcpyHtoDAsync_v2"},
    {"cuMemcpyDtoHAsync", 3020, "cuMemcpyDtoHAsync_v2"},
    {"cuMemcpyDtoDAsync", 3020, "cuMemcpyDtoDAsync_v2"},
    {"cuStreamDestroy", 4000, "cuStreamDestroy_v2"},
    {"cuEventDestroy", 4000, "cuEventDestroy_v2"},
    {"cuEventElapsedTime", 12080, "cuEventElapsedTime_v2"},
    {"cuStreamBeginCapture", 10010, "cuStreamBeginCapture_v2"},
    {"cuGraphInstantiate", 12000, "cuGraphInstantiateWithFlags"},
    {"cuGraphExecUpdate", 12000, "cuGraphExecUpdate_v2"},
    {"cuGraphKernelNodeGetParams", 12000, "cuGraphKernelNodeGetParams_v2"},
    {"cuGraphExecKernelNodeSetParams", 12000, "cuGraphExecKernelNodeSetParams_v2"},
    {"cuGetProcAddress", 12000, "cuGetProcAddress_v2"},
};

}  // namespace

// --- the driver itself

TENON_SIM_API int cuInit(unsigned flags) {
  return gate("cuInit", Need::Nothing, [&](Driver& d) -> int {
    if (flags != 0) return kInvalidValue;
    if (d.devices.empty()) return kNoDevice;
    d.initialized = true;
    return kSuccess;
  });
}

TENON_SIM_API int cuDriverGetVersion(int* version) {
  return gate("cuDriverGetVersion", Need::Nothing, [&](Driver&) -> int {
    if (!version) return kInvalidValue;
    *version = 13000;
    return kSuccess;
  });
}

TENON_SIM_API int cuGetErrorName(int code, const char** name) { return error_text(code, name, &ErrorName::name); }
TENON_SIM_API int cuGetErrorString(int code, const char** text) { return error_text(code, text, &ErrorName::text); }

TENON_SIM_API int cuGetProcAddress_v2(const char* name, void** function, int version, unsigned long long, int* status) {
  return gate("cuGetProcAddress_v2", Need::Nothing, [&](Driver&) -> int {
    if (!name || !function) return kInvalidValue;
    std::string symbol = name;
    for (const Versioned& entry : kVersioned) {
      if (symbol == entry.base && version >= entry.since) symbol = entry.symbol;
    }
    Dl_info self;
    dladdr(reinterpret_cast<void*>(&cuInit), &self);
    void* const library = dlopen(self.dli_fname, RTLD_NOW | RTLD_NOLOAD);
    *function = library ? dlsym(library, symbol.c_str()) : nullptr;
    if (library) dlclose(library);
    if (status) *status = *function ? 0 : 1;
    return *function ? kSuccess : kNotFound;
  });
}

// NVRTC asks a driver in its process for tables of its own kind: there are none.
TENON_SIM_API int cuGetExportTable(const void** table, const void*) {
  if (table) *table = nullptr;
  return kNotFound;
}

// --- devices

TENON_SIM_API int cuDeviceGetCount(int* count) {
  return gate("cuDeviceGetCount", Need::Initialized, [&](Driver& d) -> int {
    if (!count) return kInvalidValue;
    *count = static_cast<int>(d.devices.size());
    return kSuccess;
  });
}

TENON_SIM_API int cuDeviceGet(int* device, int ordinal) {
  return gate("cuDeviceGet", Need::Initialized, [&](Driver& d) -> int {
    if (!device) return kInvalidValue;
    if (!device_of(d, ordinal)) return kInvalidDevice;
    *device = ordinal;
    return kSuccess;
  });
}

TENON_SIM_API int cuDeviceGetName(char* name, int length, int device) {
  return gate("cuDeviceGetName", Need::Initialized, [&](Driver& d) -> int {
    if (!name || length <= 0) return kInvalidValue;
    if (!device_of(d, device)) return kInvalidDevice;
    std::snprintf(name, static_cast<size_t>(length), "%s", model(d).name);
    return kSuccess;
  });
}

TENON_SIM_API int cuDeviceGetAttribute(int* value, int number, int device) {
  return gate("cuDeviceGetAttribute", Need::Initialized, [&](Driver& d) -> int {
    if (!value) return kInvalidValue;
    if (!device_of(d, device)) return kInvalidDevice;
    const int found = attribute(d, number);
    if (found < 0) return kInvalidValue;
    *value = found;
    return kSuccess;
  });
}

TENON_SIM_API int cuDeviceTotalMem_v2(size_t* bytes, int device) {
  return gate("cuDeviceTotalMem_v2", Need::Initialized, [&](Driver& d) -> int {
    if (!bytes) return kInvalidValue;
    if (!device_of(d, device)) return kInvalidDevice;
    *bytes = d.settings.memory;
    return kSuccess;
  });
}

TENON_SIM_API int cuDeviceGetUuid_v2(char* uuid, int device) {
  return gate("cuDeviceGetUuid_v2", Need::Initialized, [&](Driver& d) -> int {
    if (!uuid) return kInvalidValue;
    if (!device_of(d, device)) return kInvalidDevice;
    std::memcpy(uuid, "simulated gpu  0", 16);
    uuid[15] = static_cast<char>('0' + device);
    return kSuccess;
  });
}

TENON_SIM_API int cuDeviceCanAccessPeer(int* can, int device, int peer) {
  return gate("cuDeviceCanAccessPeer", Need::Initialized, [&](Driver& d) -> int {
    if (!can) return kInvalidValue;
    if (!device_of(d, device) || !device_of(d, peer)) return kInvalidDevice;
    *can = device != peer;
    return kSuccess;
  });
}

// --- contexts

TENON_SIM_API int cuDevicePrimaryCtxRetain(Device** context, int device) {
  return gate("cuDevicePrimaryCtxRetain", Need::Initialized, [&](Driver& d) -> int {
    if (!context) return kInvalidValue;
    if (!device_of(d, device)) return kInvalidDevice;
    *context = device_of(d, device);
    ++(*context)->retained;
    return kSuccess;
  });
}

TENON_SIM_API int cuDevicePrimaryCtxRelease_v2(int device) {
  return gate("cuDevicePrimaryCtxRelease_v2", Need::Initialized, [&](Driver& d) -> int {
    Device* const found = device_of(d, device);
    if (!found) return kInvalidDevice;
    if (found->retained == 0) return kInvalidContext;
    if (found->retained == 1) d.queue.finish_device(device);
    --found->retained;
    return kSuccess;
  });
}

TENON_SIM_API int cuCtxSetCurrent(Device* context) {
  return gate("cuCtxSetCurrent", Need::Initialized, [&](Driver& d) -> int {
    if (context && !context_of(d, context)) return kInvalidContext;
    if (!contexts().empty()) contexts().pop_back();
    if (context) contexts().push_back(context);
    return kSuccess;
  });
}

TENON_SIM_API int cuCtxGetCurrent(Device** context) {
  return gate("cuCtxGetCurrent", Need::Initialized, [&](Driver&) -> int {
    if (!context) return kInvalidValue;
    *context = current();
    return kSuccess;
  });
}

TENON_SIM_API int cuCtxPushCurrent_v2(Device* context) {
  return gate("cuCtxPushCurrent_v2", Need::Initialized, [&](Driver& d) -> int {
    if (!context_of(d, context)) return kInvalidContext;
    contexts().push_back(context);
    return kSuccess;
  });
}

TENON_SIM_API int cuCtxPopCurrent_v2(Device** context) {
  return gate("cuCtxPopCurrent_v2", Need::Initialized, [&](Driver&) -> int {
    if (contexts().empty()) return kInvalidContext;
    if (context) *context = current();
    contexts().pop_back();
    return kSuccess;
  });
}

TENON_SIM_API int cuCtxGetDevice(int* device) {
  return gate("cuCtxGetDevice", Need::Context, [&](Driver&) -> int {
    if (!device) return kInvalidValue;
    *device = current()->ordinal;
    return kSuccess;
  });
}

TENON_SIM_API int cuCtxSynchronize() {
  return gate("cuCtxSynchronize", Need::Context, [&](Driver& d) -> int {
    if (d.disturbs_capture()) return kCaptureUnsupported;
    d.queue.wait_device(current()->ordinal);
    return current()->error;
  });
}

TENON_SIM_API int cuCtxEnablePeerAccess(Device* peer, unsigned flags) {
  return gate("cuCtxEnablePeerAccess", Need::Context, [&](Driver& d) -> int {
    if (flags != 0) return kInvalidValue;
    if (!context_of(d, peer) || peer == current()) return kInvalidContext;
    return current()->peers.insert(peer->ordinal).second ? kSuccess : kPeerAccessAlreadyEnabled;
  });
}

TENON_SIM_API int cuCtxDisablePeerAccess(Device* peer) {
  return gate("cuCtxDisablePeerAccess", Need::Context, [&](Driver& d) -> int {
    if (!context_of(d, peer)) return kInvalidContext;
    return current()->peers.erase(peer->ordinal) ? kSuccess : kPeerAccessNotEnabled;
  });
}
