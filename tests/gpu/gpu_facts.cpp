// What a machine's GPU and its libraries are, a line each: "NAME: TEXT". The functions that Tenon calls are looked for by name one by
// one; ceilings are measured by the driver alone, without a kernel of ours. Ends with 77 without a GPU, with 1 if a function is missing.
#include <tenon/tenon.h>

#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "runtime/cuda/libraries.h"

using namespace tenon;
using namespace tenon::runtime::cuda;

namespace {

#define TENON_NAME(name, symbol, result, parameters) #symbol,
const std::vector<const char*> kDriverNames = {TENON_CUDA_DRIVER(TENON_NAME) TENON_CUDA_GRAPHS(TENON_NAME)};
const std::vector<const char*> kNvrtcNames = {TENON_NVRTC(TENON_NAME)};
const std::vector<const char*> kCublasNames = {TENON_CUBLAS(TENON_NAME)};
#undef TENON_NAME

// Whether all are there.
bool print_names(const char* what, const std::string& file, const std::vector<const char*>& names) {
  void* const handle = file.empty() ? nullptr : dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  std::string missing;
  for (const char* name : names) {
    if (!handle || !dlsym(handle, name)) missing += std::string(" ") + name;
  }
  std::printf("functions of %s: %s\n", what, missing.empty() ? "all there" : ("missing" + missing).c_str());
  return missing.empty();
}

double microseconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count();
}

class Ceilings {
 public:
  Ceilings() : api_(*driver()) {
    check(api_.context_retain(&context_, 0), "cuDevicePrimaryCtxRetain");
    check(api_.context_set(context_), "cuCtxSetCurrent");
    check(api_.stream_create(&stream_, kStreamNonBlocking), "cuStreamCreate");
    check(api_.event_create(&begin_, kEventDefault), "cuEventCreate");
    check(api_.event_create(&end_, kEventDefault), "cuEventCreate");
  }

  void print() {
    const size_t bytes = size_t{1} << (std::getenv("TENON_SMOKE_SMALL") ? 22 : 30);
    CUdeviceptr a = 0, b = 0;
    void* pinned = nullptr;
    check(api_.memory_allocate(&a, bytes), "cuMemAlloc");
    check(api_.memory_allocate(&b, bytes), "cuMemAlloc");
    check(api_.host_allocate(&pinned, bytes / 4, kHostAllocPortable), "cuMemHostAlloc");
    rate("copy within the device, read and written", 2. * static_cast<double>(bytes),
         [&] { return api_.copy_within(b, a, bytes, stream_); });
    rate("fill", static_cast<double>(bytes), [&] { return api_.fill_bytes(a, 1, bytes, stream_); });
    rate("copy to the device, pinned", static_cast<double>(bytes) / 4, [&] { return api_.copy_in(a, pinned, bytes / 4, stream_); });
    rate("copy to the host, pinned", static_cast<double>(bytes) / 4, [&] { return api_.copy_out(pinned, a, bytes / 4, stream_); });
    constexpr int kMany = 2000;
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < kMany; ++i) check(api_.fill_bytes(a, 1, 16, stream_), "cuMemsetD8Async");
    const double handed_in = microseconds_since(begin) / kMany;
    check(api_.stream_synchronize(stream_), "cuStreamSynchronize");
    std::printf("small operation: %.2f us to hand in, %.2f us until done\n", handed_in, microseconds_since(begin) / kMany);
    api_.memory_free(a);
    api_.memory_free(b);
    api_.host_free(pinned);
  }

 private:
  static void check(CUresult result, const char* call) {
    if (result != kSuccess) throw std::runtime_error(std::string(call) + ": error " + std::to_string(result));
  }
  void rate(const char* what, double bytes, const std::function<CUresult()>& run) {
    float best = 1e30f;
    for (int round = 0; round < 8; ++round) {
      check(api_.event_record(begin_, stream_), "cuEventRecord");
      for (int i = 0; i < 4; ++i) check(run(), what);
      check(api_.event_record(end_, stream_), "cuEventRecord");
      check(api_.event_synchronize(end_), "cuEventSynchronize");
      float ms = 0;
      check(api_.event_elapsed(&ms, begin_, end_), "cuEventElapsedTime");
      if (ms > 0) best = std::min(best, ms / 4);
    }
    std::printf("%s: %.1f GB/s\n", what, bytes / best * 1e-6);
  }

  const Driver& api_;
  CUcontext context_ = nullptr;
  CUstream stream_ = nullptr;
  CUevent begin_ = nullptr, end_ = nullptr;
};

// What schedules ask of the GPU: kernels in a cache that was packed for the same numbers are found.
void print_target() {
  const auto attribute = [](int which) {
    int value = -1;
    driver()->device_attribute(&value, static_cast<DeviceAttribute>(which), 0);
    return value;
  };
  std::printf("target: %d multiprocessors, %d kHz, memory %d kHz x %d bits, %d B shared, compute %d.%d\n", attribute(kMultiprocessorCount),
              attribute(kClockRate), attribute(kMemoryClockRate), attribute(kMemoryBusWidth), attribute(kMaxSharedPerBlockOptin),
              attribute(kComputeCapabilityMajor), attribute(kComputeCapabilityMinor));
}

}  // namespace

int main() {
  if (!tenon::cuda::is_available()) {
    std::printf("skipped: there is no GPU\n%s\n", info().c_str());
    const Library& library = driver_library();
    if (!library.file.empty()) print_names("the driver", library.file, kDriverNames);
    return 77;
  }
  bool all = print_names("the driver", driver_library().file, kDriverNames);
  all &= print_names("NVRTC", nvrtc_library().file, kNvrtcNames);
  print_target();
  std::fflush(stdout);
  try {
    Ceilings().print();
    const Tensor x = ones({64, 4096}).to("cuda:0").add(1);  // which the library multiplies
    std::printf("a product: %s\n", equal(x.matmul(x.t()).cpu(), full({64, 64}, 16384.)) ? "right" : "WRONG");
  } catch (const std::exception& e) {
    std::printf("error: %s\n", e.what());
    all = false;
  }
  all &= print_names("cuBLAS", cublas_library().file, kCublasNames);
  std::printf("%s\n", info().c_str());
  return all ? 0 : 1;
}
