// A program's questions of CUDA devices: the thread's current device and stream, properties, memory, events.
#include "tenon/cuda.h"

#include <array>
#include <atomic>
#include <optional>
#include <ostream>
#include <utility>

#include "frontend/src/tensor/capture.h"
#include "frontend/src/tensor/devices.h"
#include "frontend/src/tensor/text.h"
#include "ir/base/fork.h"
#include "runtime/cuda/cuda.h"
#include "runtime/device/device.h"
#include "runtime/run/async_work.h"

namespace tenon {

namespace {

constinit thread_local int current = 0;
constinit thread_local std::array<uint8_t, runtime::kMostCudaDevices> current_streams{};  // ids
std::atomic<bool> tf32{false};

// -1 is the current device; Error if there is no such one.
int index_of(int64_t device) {
  if (device < 0) device = current;
  check_cuda_device(device);
  return static_cast<int>(device);
}
DeviceIndex narrow(int index) { return static_cast<DeviceIndex>(index); }

// Null if no tensor can have been there yet: nothing is loaded for the question.
runtime::Device* loaded(int64_t device) {
  if (device < 0) device = current;
  check(device < runtime::kMostCudaDevices, "Invalid device argument ", device, ": did you call init?");
  return runtime::find_device(runtime::tag_of({runtime::DeviceKind::Cuda, static_cast<int>(device)}));
}
runtime::Device& found(int index) { return runtime::device_of(runtime::tag_of({runtime::DeviceKind::Cuda, index})); }
runtime::MemoryStats stats(int64_t device) {
  const runtime::Device* d = loaded(device);
  return d ? d->memory_stats() : runtime::MemoryStats();
}

}  // namespace

int current_cuda_device() { return current; }

// PyTorch's sentence; on a second line what the runtime found.
void no_cuda() {
  const std::string why = runtime::cuda::why_unavailable();
  const auto colon = why.find(": ");
  const std::string found = colon == std::string::npos ? "" : "\n  (" + why.substr(colon + 2) + ")";
  if (why.starts_with("Found no NVIDIA driver on your system")) {
    throw Error(
        "Found no NVIDIA driver on your system. Please check that you have an NVIDIA GPU and installed a driver from "
        "http://www.nvidia.com/Download/index.aspx" +
        found);
  }
  if (why.starts_with("No CUDA GPUs are available")) throw Error("No CUDA GPUs are available" + found);
  throw Error("CUDA is not available: " + why + ". Use the device \"cpu\".");
}

bool load_cuda() { return runtime::cuda::available(); }

void check_cuda_device(int64_t index) {
  const bool there =
      index < runtime::kMostCudaDevices && runtime::find_device(runtime::tag_of({runtime::DeviceKind::Cuda, static_cast<int>(index)}));
  if (there) return;
  if (!load_cuda()) no_cuda();
  check(index < runtime::cuda::device_count(),
        "CUDA error: invalid device ordinal\nGPU device may be out of range, do you have enough GPUs?");
}

namespace cuda {

// --- devices

bool is_available() { return load_cuda(); }
int64_t device_count() { return runtime::cuda::device_count(); }
void init() { index_of(0); }
bool is_initialized() { return loaded(0) != nullptr; }
int64_t current_device() { return index_of(-1); }
void set_device(int64_t device) {
  if (device >= 0) current = index_of(device);
}

namespace {
// 73696d75-6c61-7465-6420-677075202030
std::string dashed(std::string uuid) {
  for (const size_t place : {size_t{20}, size_t{16}, size_t{12}, size_t{8}}) {
    if (place < uuid.size()) uuid.insert(place, "-");
  }
  return uuid;
}
}  // namespace

DeviceProperties get_device_properties(int64_t device) {
  const int index = index_of(device);
  return with_public_errors([&] {
    const runtime::cuda::Properties p = runtime::cuda::properties(index);
    return DeviceProperties{
        p.name,      p.major,     p.minor,           p.total_memory, p.multiprocessors, p.max_threads_per_block, p.shared_memory_per_block,
        p.warp_size, p.clock_khz, dashed(p.uuid_hex)};
  });
}
std::string get_device_name(int64_t device) { return get_device_properties(device).name; }
std::pair<int, int> get_device_capability(int64_t device) {
  const DeviceProperties p = get_device_properties(device);
  return {p.major, p.minor};
}
std::ostream& operator<<(std::ostream& out, const DeviceProperties& p) {
  return out << text("_CudaDeviceProperties(name='", p.name, "', major=", p.major, ", minor=", p.minor,
                     ", total_memory=", p.total_memory >> 20, "MB, multi_processor_count=", p.multi_processor_count, ", uuid=", p.uuid,
                     ")");
}

// Made once a device, never destroyed: programs keep the pointer.
const DeviceProp* getDeviceProperties(int64_t device) {
  static std::array<std::atomic<DeviceProp*>, runtime::kMostCudaDevices> known{};
  const int index = index_of(device);
  std::atomic<DeviceProp*>& slot = known[static_cast<size_t>(index)];
  if (DeviceProp* there = slot.load(std::memory_order_acquire)) return there;
  const DeviceProperties p = get_device_properties(index);
  auto made = std::make_unique<DeviceProp>(DeviceProp{p.name, static_cast<size_t>(p.total_memory),
                                                      static_cast<size_t>(p.shared_memory_per_block), p.major, p.minor,
                                                      p.multi_processor_count, p.max_threads_per_block, p.warp_size, p.clock_rate});
  DeviceProp* none = nullptr;
  return slot.compare_exchange_strong(none, made.get()) ? made.release() : none;
}

void synchronize(int64_t device) {
  index_of(device);
  refuse_in_capture("the host waits for the device");
  // Waits for all devices: what they kept in case that work had to be done again goes with it.
  with_public_errors([] { runtime::synchronise(); });
}
void allow_tf32(bool allow) {
  tf32 = allow;
  runtime::cuda::allow_tf32(allow);
}
bool allows_tf32() { return tf32; }

// --- memory

int64_t memory_allocated(int64_t device) { return stats(device).allocated; }
int64_t max_memory_allocated(int64_t device) { return stats(device).peak_allocated; }
int64_t memory_reserved(int64_t device) { return stats(device).reserved; }
int64_t max_memory_reserved(int64_t device) { return stats(device).peak_reserved; }
void reset_peak_memory_stats(int64_t device) {
  if (runtime::Device* d = loaded(device)) d->reset_peak_memory_stats();
}
std::pair<int64_t, int64_t> mem_get_info(int64_t device) {
  const int index = index_of(device);
  return with_public_errors([&] { return runtime::cuda::memory_info(index); });
}
void empty_cache() {
  for (runtime::Device* device : runtime::all_devices()) {
    if (device->id().kind == runtime::DeviceKind::Cuda) device->empty_cache();
  }
}

CUDACachingAllocator::DeviceStats CUDACachingAllocator::getDeviceStats(DeviceIndex device) {
  const runtime::MemoryStats s = stats(device);
  return {{{s.allocated, s.peak_allocated}}, {{s.reserved, s.peak_reserved}}};
}

// --- graphs

struct CUDAGraph::State {
  MempoolId_t pool{0, 0};
  std::optional<CUDAStream> stream;  // of the capture under way
  std::unique_ptr<GraphCapture> capture;
  std::optional<CapturedGraph> graph;
};

namespace {
constinit std::atomic<uint64_t> pools{0};
}  // namespace

MempoolId_t graph_pool_handle() { return {0, 1 + pools.fetch_add(1)}; }

CUDAGraph::CUDAGraph() : state_(std::make_unique<State>()) {}
CUDAGraph::CUDAGraph(bool) : CUDAGraph() {}
CUDAGraph::~CUDAGraph() = default;
CUDAGraph::CUDAGraph(CUDAGraph&& other) noexcept = default;
CUDAGraph& CUDAGraph::operator=(CUDAGraph&& other) noexcept = default;

void CUDAGraph::capture_begin(MempoolId_t pool) {
  check(!state_->graph, "This CUDAGraph instance already owns a captured graph. To capture a new graph, create a new instance.");
  refuse_in_capture("another capture begins");
  const CUDAStream stream = getCurrentCUDAStream();
  check(stream != getDefaultCUDAStream(),
        "CUDA graphs must be captured on a non-default stream. (However, after capture, it's ok to replay them on the default stream.)");
  state_->capture = std::make_unique<GraphCapture>();
  state_->stream = stream;
  state_->pool = pool == MempoolId_t{0, 0} ? graph_pool_handle() : pool;
}

void CUDAGraph::capture_end() {
  check(state_->capture != nullptr, "CUDAGraph::capture_end: no capture is under way");
  const std::unique_ptr<GraphCapture> capture = std::exchange(state_->capture, nullptr);  // which aborts, unless it ends
  check(!capture->failed(), "CUDA error: operation failed due to a previous error during capture");
  check(capture.get() == capturing() && getCurrentCUDAStream() == *state_->stream, "Capture must end on the same stream it began on.");
  state_->graph.emplace(capture->end());
}

void CUDAGraph::replay() {
  check(state_->graph.has_value(), "Called CUDAGraph::replay without a preceding successful capture.");
  state_->graph->replay();
}

void CUDAGraph::reset() { state_ = std::make_unique<State>(); }

MempoolId_t CUDAGraph::pool() const {
  check(state_->graph.has_value(), "Called CUDAGraph::pool() without a preceding successful capture.");
  return state_->pool;
}

// --- streams

namespace {
constexpr int kPool = 32;
constinit std::atomic<uint32_t> taken_from_pool{0};
}  // namespace

bool CUDAStream::query() const {
  const int index = index_of(device_);
  return with_public_errors([&] {
    runtime::Device& device = found(index);
    return device.is_past(device.record(runtime::Stream::Main));  // which waits for every copy of the other stream
  });
}
void CUDAStream::synchronize() const { cuda::synchronize(device_); }
std::ostream& operator<<(std::ostream& out, const CUDAStream& stream) {
  return out << text("stream ", stream.id(), " on device ", stream.device());
}

CUDAStream getDefaultCUDAStream(DeviceIndex device) { return {narrow(index_of(device)), 0}; }
CUDAStream getCurrentCUDAStream(DeviceIndex device) {
  const int index = index_of(device);
  return {narrow(index), current_streams[static_cast<size_t>(index)]};
}
CUDAStream getStreamFromPool(bool, DeviceIndex device) {
  const int index = index_of(device);
  return {narrow(index), 1 + taken_from_pool.fetch_add(1) % kPool};
}
CUDAStream getStreamFromPool(int, DeviceIndex device) { return getStreamFromPool(false, device); }
void setCurrentCUDAStream(CUDAStream stream) {
  current_streams[static_cast<size_t>(index_of(stream.device_index()))] = static_cast<uint8_t>(stream.id());
}

// --- events

struct CUDAEvent::State {
  runtime::cuda::TimingEvent event;
};
void CUDAEvent::record() { record(getCurrentCUDAStream()); }
void CUDAEvent::record(const CUDAStream& stream) {
  check(device_ < 0 || device_ == stream.device_index(), "Event device ", static_cast<int>(device_),
        " does not match recording stream's device ", static_cast<int>(stream.device_index()), ".");
  with_public_errors([&] {
    if (!state_) state_ = std::make_shared<State>();
    device_ = stream.device_index();
    state_->event.record(device_);
  });
}
void CUDAEvent::recordOnce(const CUDAStream& stream) {
  if (!state_) record(stream);
}
// Work of one device is in the order in which it was handed in. That of others waits here: they have no stream that could.
void CUDAEvent::block(const CUDAStream& stream) {
  if (state_ && stream.device_index() != device_) synchronize();
}
bool CUDAEvent::query() const {
  return !state_ || with_public_errors([&] { return state_->event.query(); });
}
void CUDAEvent::synchronize() const {
  if (state_) with_public_errors([&] { state_->event.synchronize(); });
}
float CUDAEvent::elapsed_time(const CUDAEvent& end) const {
  check(state_ && end.state_, "Both events must be recorded before calculating elapsed time.");
  check(timed_ && end.timed_, "Both events must be created with argument 'enable_timing=True'.");
  check(query() && end.query(), "Both events must be completed before calculating elapsed time.");
  return with_public_errors([&] { return state_->event.elapsed_ms(end.state_->event); });
}

// --- guards

namespace {
Device checked_cuda(Device device) {
  check(device.is_cuda(), "Expected a CUDA device, but got ", device);
  return device;
}
}  // namespace

CUDAGuard::CUDAGuard(Device device) : DeviceGuard(checked_cuda(device)) {}
CUDAStreamGuard::CUDAStreamGuard(CUDAStream stream)
    : device_(stream.device()), before_(getCurrentCUDAStream(stream.device_index())), stream_(stream) {
  setCurrentCUDAStream(stream);
}
CUDAStreamGuard::~CUDAStreamGuard() { current_streams[static_cast<size_t>(before_.device_index())] = static_cast<uint8_t>(before_.id()); }

}  // namespace cuda

Context& globalContext() {
  static Context context;
  return context;
}

void DeviceGuard::set_device(Device device) {
  if (!device.is_cuda()) {
    check_device(device);
    if (original_ < 0) kind_ = device.type();
    return;
  }
  const int index = index_of(device.index());
  if (original_ < 0) original_ = narrow(current);
  kind_ = kCUDA;
  current_ = narrow(current = index);
}
DeviceGuard::~DeviceGuard() {
  if (original_ >= 0) current = original_;
}

}  // namespace tenon
