// The registry's CUDA devices, and what is known of them.
#include "runtime/cuda/cuda.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "runtime/cuda/compiler.h"
#include "runtime/cuda/context.h"
#include "runtime/cuda/cuda_device.h"
#include "runtime/cuda/libraries.h"

namespace tenon::runtime::cuda {
namespace {

// The devices, or why there are none. Made at the first question, and never destroyed.
struct Devices {
  std::vector<CudaDevice*> all;
  std::string why_none;
  std::vector<std::string> refused;  // a line for each GPU that cannot be used
};

// Why there can be none; else empty, and how many GPUs the driver sees.
std::string what_is_missing(int& count) {
  const Driver* api = driver();
  if (!api) return "Found no NVIDIA driver on your system: " + driver_library().why();
  const CUresult started = api->init(0);
  if (started != kSuccess && started != kErrorNoDevice)
    return "the driver " + driver_library().file + " does not start: " + error_text(started);
  if (started != kSuccess || api->device_count(&count) != kSuccess || count == 0)
    return "No CUDA GPUs are available: the driver " + driver_library().file + " is there, and sees none";
  return nvrtc() ? "" : "there is a GPU, but not the compiler for it, NVRTC: " + nvrtc_library().why();
}

Devices find_devices() {
  Devices found;
  int count = 0;
  found.why_none = what_is_missing(count);
  if (!found.why_none.empty()) return found;
  for (int i = 0; i < std::min(count, kMostCudaDevices); ++i) {
    try {
      std::unique_ptr<CudaDevice> made = make_cuda_device(i);
      if (i == 0) made->open();  // the others have contexts when they are used
      found.all.push_back(static_cast<CudaDevice*>(&register_device(std::move(made))));
    } catch (const std::exception& e) {
      found.refused.push_back("cuda:" + std::to_string(i) + ": " + e.what());
      break;  // indices stay those of the driver
    }
  }
  if (found.all.empty()) found.why_none = found.refused.front();
  return found;
}

const Devices& devices() {
  static const auto* found = new Devices(find_devices());
  return *found;
}

CudaDevice& device(int index) {
  const Devices& found = devices();
  if (found.all.empty()) throw std::runtime_error(found.why_none);
  if (index < 0 || static_cast<size_t>(index) >= found.all.size()) throw std::runtime_error("CUDA error: invalid device ordinal");
  return *found.all[static_cast<size_t>(index)];
}

void add(std::string& text, const char* what, const Library& library) {
  text += std::string("  ") + what + ": " + (library.found() ? library.file : "not found") + "\n";
  if (library.found()) return;
  for (const std::string& line : library.tried) text += "    tried " + line + "\n";
}

}  // namespace

int device_count() noexcept {
  try {
    return static_cast<int>(devices().all.size());
  } catch (const std::exception&) {
    return 0;
  }
}
bool available() noexcept { return device_count() > 0; }
std::string why_unavailable() { return devices().why_none; }

std::string report() {
  const Devices& found = devices();
  std::string text = found.all.empty() ? "cuda: not available: " + found.why_none + "\n"
                                       : "cuda: " + std::to_string(found.all.size()) + (found.all.size() == 1 ? " device\n" : " devices\n");
  for (size_t i = 0; i < found.all.size(); ++i) {
    const Properties p = found.all[i]->properties();
    text += "  cuda:" + std::to_string(i) + ": " + p.name + ", compute capability " + std::to_string(p.major) + "." +
            std::to_string(p.minor) + ", " + std::to_string(p.multiprocessors) + " multiprocessors, " +
            std::to_string(p.total_memory >> 20) + " MB\n";
  }
  for (const std::string& line : found.refused) text += "  " + line + "\n";
  add(text, "driver", driver_library());
  if (!driver_library().found()) return text;
  int version = 0;
  driver()->driver_version(&version);
  text += "    for CUDA " + std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10) + "\n";
  add(text, "NVRTC", nvrtc_library());
  if (nvrtc()) text += "    version " + compiler_version() + "\n";
  if (found.all.empty()) return text;
  for (CudaDevice* d : found.all) {
    const std::string why = d->library_failure();
    if (!why.empty()) return text + "  cuBLAS: not used, products are generated: " + why + "\n";
  }
  const std::string products = found.all.front()->library_version();
  if (!products.empty()) return text + "  cuBLAS: " + cublas_library().file + "\n    version " + products + "\n";
  return text + "  cuBLAS: " +
         (cublas_is_there() ? "there, not loaded before the first large matrix product" : "not found: products are generated") + "\n";
}

Properties properties(int index) { return device(index).properties(); }
std::pair<int64_t, int64_t> memory_info(int index) { return device(index).memory_info(); }
void synchronize(int index) { device(index).synchronise(); }
void allow_tf32(bool allow) {
  for (CudaDevice* d : devices().all) d->allow_tf32(allow);
}

void* allocate_pinned(size_t bytes) {
  void* block = device(0).allocate_pinned(std::max<size_t>(bytes, 1));
  if (!block) throw OutOfMemory("CUDA out of memory: no " + std::to_string(bytes) + " bytes of pinned host memory");
  note_pinned(block, bytes);
  return block;
}

void free_pinned(void* block) noexcept {
  if (!block) return;
  forget_pinned(block);
  device(0).free_pinned(block);
}

void TimingEvent::record(int index) {
  event_ = device(index).record_timed();
  index_ = index;
}
bool TimingEvent::query() const { return !event_ || device(index_).is_past(event_); }
void TimingEvent::synchronize() const {
  if (event_) device(index_).synchronise(event_);
}
float TimingEvent::elapsed_ms(const TimingEvent& end) const {
  if (!event_ || !end.event_) throw std::runtime_error("Both events must be recorded before calculating elapsed time.");
  if (index_ != end.index_) throw std::runtime_error("Both events must be recorded on the same device.");
  return device(index_).elapsed_ms(event_, end.event_);
}

}  // namespace tenon::runtime::cuda
