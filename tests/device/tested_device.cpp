#include "device/tested_device.h"

#include <dlfcn.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

#include "device/late_device.h"
#include "runtime/cuda/cuda.h"
#include "runtime/device/device.h"

namespace tenon::test {
namespace {

bool is_cuda_wanted() {
  const char* wanted = std::getenv("TENON_TEST_DEVICE");
  return wanted && std::strcmp(wanted, "cuda") == 0;
}

// The simulator's, null without it.
void (*simulator_seed())(unsigned long long) {
  const char* driver = std::getenv("TENON_CUDA_DRIVER");
  void* library = driver ? dlopen(driver, RTLD_NOW | RTLD_NOLOAD) : nullptr;
  return library ? reinterpret_cast<void (*)(unsigned long long)>(dlsym(library, "tenon_sim_seed")) : nullptr;
}

}  // namespace

runtime::Device& tested_runtime_device() {
  if (!is_cuda_wanted()) return LateDevice::get();
  if (!runtime::cuda::available()) throw std::runtime_error(runtime::cuda::why_unavailable());
  return runtime::device_of(runtime::tag_of({runtime::DeviceKind::Cuda, 0}));
}

std::string tested_name() { return is_cuda_wanted() ? "cuda:0" : "privateuseone:0"; }

Device tested_device() {
  tested_runtime_device();
  return Device(tested_name());
}

std::string bits_of(const Tensor& x) {
  Tensor dense = x.detach().cpu();
  if (dense.is_floating_point()) dense = where(dense.isnan(), full_like(dense, NAN), dense);
  dense = dense.contiguous();
  return {static_cast<const char*>(dense.const_data_ptr()), static_cast<size_t>(dense.nbytes())};
}

void shuffle(uint64_t seed) {
  if (!is_cuda_wanted()) return LateDevice::get().shuffle(seed);
  tested_runtime_device();
  static const auto seed_simulator = simulator_seed();
  if (seed_simulator) seed_simulator(seed);
}

namespace {

struct Slice {
  unsigned long long index = 0, count = 1;
};
const Slice& slice() {
  static const Slice given = [] {
    Slice s;
    const char* text = std::getenv("TENON_TEST_SLICE");
    if (text && (std::sscanf(text, "%llu/%llu", &s.index, &s.count) != 2 || s.index >= s.count))
      throw std::runtime_error("TENON_TEST_SLICE wants INDEX/COUNT, and not " + std::string(text));
    return s;
  }();
  return given;
}

}  // namespace

bool is_in_slice(size_t index) { return index % slice().count == slice().index; }
bool is_sliced() { return slice().count > 1; }

}  // namespace tenon::test
