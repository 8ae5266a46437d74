// The questions about CUDA devices in a library that runs on the CPU: there are none.
#include "tenon/cuda.h"

#include "frontend/src/tensor/devices.h"

namespace tenon {

void no_cuda() {
  throw Error(
      "CUDA is not available: this build of Tenon has no CUDA backend, so no driver or GPU was looked for. Use the "
      "device \"cpu\".");
}

namespace cuda {

bool is_available() { return false; }
int64_t device_count() { return 0; }
int64_t current_device() { no_cuda(); }
std::string get_device_name(int64_t) { no_cuda(); }
void synchronize(int64_t) { no_cuda(); }

int64_t memory_allocated(int64_t) { return 0; }
int64_t memory_reserved(int64_t) { return 0; }
std::pair<int64_t, int64_t> mem_get_info(int64_t) { no_cuda(); }
void empty_cache() {}

void manual_seed(uint64_t) {}
void manual_seed_all(uint64_t) {}

}  // namespace cuda
}  // namespace tenon
