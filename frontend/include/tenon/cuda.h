// CUDA devices: how many there are, which one is current, how much of their memory is in use; guards, streams and events with
// LibTorch's names.
//
// The driver and NVRTC are loaded when a program first asks for CUDA (is_available, a tensor on "cuda", ...). Without a
// device the questions have answers (false, 0), and what needs one is an Error with PyTorch's text, whose second line says what
// was looked for. A device of -1 is the thread's current one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <memory>
#include <string>
#include <utility>

#include "tenon/types.h"

namespace tenon {
namespace cuda {

// --- devices
bool is_available();
inline bool cudnn_is_available() { return false; }  // nothing is given to cuDNN
int64_t device_count();
void init();            // loads the libraries; Error if there is no device
bool is_initialized();  // whether they are loaded and there is a device
int64_t current_device();
void set_device(int64_t device);  // of this thread; a negative number changes nothing

struct DeviceProperties {
  std::string name;          // "NVIDIA H100 80GB HBM3"
  int major = 0, minor = 0;  // compute capability
  int64_t total_memory = 0;  // bytes
  int multi_processor_count = 0;
  int max_threads_per_block = 0;
  int64_t shared_memory_per_block = 0;  // bytes
  int warp_size = 0;
  int clock_rate = 0;  // kHz
  std::string uuid;    // "GPU-5f3c1c2e-..."
};
std::ostream& operator<<(std::ostream& out, const DeviceProperties& properties);  // as Python prints them
DeviceProperties get_device_properties(int64_t device = -1);
std::string get_device_name(int64_t device = -1);
std::pair<int, int> get_device_capability(int64_t device = -1);  // (9, 0)

// Hands nothing in: it waits for all work that was handed in (see eval).
void synchronize(int64_t device = -1);
inline void device_synchronize() { synchronize(); }
// Whether products of float32 matrices may round their operands to 10 bits of mantissa. Off at first.
void allow_tf32(bool allow);
bool allows_tf32();

// LibTorch's form of the properties, with the names of CUDA's own struct.
struct DeviceProp {
  std::string name;
  size_t totalGlobalMem, sharedMemPerBlock;  // bytes
  int major, minor, multiProcessorCount, maxThreadsPerBlock, warpSize, clockRate;
};
const DeviceProp* getDeviceProperties(int64_t device = -1);  // stays
inline const DeviceProp* getCurrentDeviceProperties() { return getDeviceProperties(); }

// --- memory, in bytes. Only mem_get_info loads the libraries
int64_t memory_allocated(int64_t device = -1);  // that computed tensors use
int64_t max_memory_allocated(int64_t device = -1);
int64_t memory_reserved(int64_t device = -1);  // taken from the device
int64_t max_memory_reserved(int64_t device = -1);
inline int64_t memory_cached(int64_t device = -1) { return memory_reserved(device); }
inline int64_t max_memory_cached(int64_t device = -1) { return max_memory_reserved(device); }
void reset_peak_memory_stats(int64_t device = -1);
inline void reset_max_memory_allocated(int64_t device = -1) { reset_peak_memory_stats(device); }
std::pair<int64_t, int64_t> mem_get_info(int64_t device = -1);  // free, in all
void empty_cache();                                             // freed memory goes back to the devices

// LibTorch's form, with two of its many figures: all blocks together, now and at most.
namespace CUDACachingAllocator {
struct Stat {
  int64_t current = 0, peak = 0;
};
struct DeviceStats {
  Stat allocated_bytes[1], reserved_bytes[1];  // [0]: of all pools
};
DeviceStats getDeviceStats(DeviceIndex device);
inline void resetPeakStats(DeviceIndex device) { reset_peak_memory_stats(device); }
inline void emptyCache() { empty_cache(); }
}  // namespace CUDACachingAllocator

// --- random numbers of a device (see generator.h); a seed for a device that is not there yet waits for it
void manual_seed(uint64_t seed);      // of the current device
void manual_seed_all(uint64_t seed);  // of each

// --- streams
// A name for an order of work. All evaluations of a device run in its one main stream, copies from and to it beside them, and
// the library orders the two; so streams of the pool are names too: work "on" one runs as in the main stream, and
// waiting for one waits for the device.
class CUDAStream {
 public:
  CUDAStream(DeviceIndex device, int64_t id) : device_(device), id_(id) {}
  DeviceIndex device_index() const { return device_; }
  Device device() const { return Device(kCUDA, device_); }
  static constexpr DeviceType device_type() { return kCUDA; }
  int64_t id() const { return id_; }  // 0: the default stream
  int priority() const { return 0; }
  bool query() const;  // whether all work handed in is done
  void synchronize() const;
  friend bool operator==(const CUDAStream& a, const CUDAStream& b) { return a.device_ == b.device_ && a.id_ == b.id_; }

 private:
  DeviceIndex device_;
  int64_t id_;
};
std::ostream& operator<<(std::ostream& out, const CUDAStream& stream);  // stream 0 on device cuda:0
CUDAStream getDefaultCUDAStream(DeviceIndex device = -1);
CUDAStream getCurrentCUDAStream(DeviceIndex device = -1);                           // of this thread
CUDAStream getStreamFromPool(bool high_priority = false, DeviceIndex device = -1);  // one of 32, in turn
CUDAStream getStreamFromPool(int priority, DeviceIndex device = -1);
void setCurrentCUDAStream(CUDAStream stream);  // the current device stays
inline CUDAStream default_stream(DeviceIndex device = -1) { return getDefaultCUDAStream(device); }
inline CUDAStream current_stream(DeviceIndex device = -1) { return getCurrentCUDAStream(device); }
inline void set_stream(CUDAStream stream) { setCurrentCUDAStream(stream); }

// --- events
// A point in the work of a device: after all that was handed in when it was recorded. What is still pending then comes later:
// eval what is to be timed.
class CUDAEvent {
 public:
  CUDAEvent() = default;
  explicit CUDAEvent(unsigned flags) : timed_((flags & kNoTiming) == 0) {}  // of CUDA; 0 is an event that knows its time
  void record();                                                            // on the current device
  void record(const CUDAStream& stream);
  void recordOnce(const CUDAStream& stream);  // unless it was
  void block(const CUDAStream& stream);       // later work of the stream comes after it: work of one device does anyway
  bool query() const;                         // whether it is past; one that was never recorded is
  void synchronize() const;
  float elapsed_time(const CUDAEvent& end) const;  // milliseconds; Error unless both know their time and are past
  bool isCreated() const { return state_ != nullptr; }
  DeviceIndex device_index() const { return device_; }

 private:
  static constexpr unsigned kNoTiming = 2;
  struct State;
  std::shared_ptr<State> state_;
  DeviceIndex device_ = -1;
  bool timed_ = false;
};

// --- graphs
// Work that repeats becomes a CUDA graph by itself: the second time the same computation is built its plan is found, and a plan
// that comes again is captured. A graph that is captured by hand also leaves out the recording of the operations.
//
// Between capture_begin and capture_end nothing is computed, on CUDA devices and by this thread. A replay computes it all, from
// what the tensors that were there before hold then: they are written in place, and what the capture made is written again. New
// tensors hold zeros until the first replay. Numbers of the program (a learning rate, a size) stay what they were; random numbers go
// on in their generator, which has the seed of the capture.
//
// A value that the host reads, a size that depends on values, a copy from or to another device, and an optimiser that counts its steps
// are an Error at that call, and the capture is over: what it wrote has its old values.
using MempoolId_t = std::pair<uint64_t, uint64_t>;
MempoolId_t graph_pool_handle();  // another one each time; all graphs have the allocator's one pool

class CUDAGraph {
 public:
  CUDAGraph();
  explicit CUDAGraph(bool keep_graph);
  ~CUDAGraph();
  CUDAGraph(CUDAGraph&& other) noexcept;
  CUDAGraph& operator=(CUDAGraph&& other) noexcept;

  void capture_begin(MempoolId_t pool = {0, 0});  // on a stream that is not the default one
  void capture_end();                             // on the same stream
  void replay();                                  // hands the work in
  void reset();                                   // forgets what was captured; it may capture again
  MempoolId_t pool() const;                       // that it was given, or one of its own

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace cuda

// --- LibTorch's switches. TF32 is cuda::allow_tf32. The others change nothing, since each run gives the same bits and cuDNN is not used:
// they are what they were set to.
class Context {
 public:
  bool allowTF32CuBLAS() const { return cuda::allows_tf32(); }
  void setAllowTF32CuBLAS(bool allow) { cuda::allow_tf32(allow); }
  bool deterministicAlgorithms() const { return deterministic_; }
  void setDeterministicAlgorithms(bool deterministic, bool warn_only = false) { deterministic_ = deterministic, warns_ = warn_only; }
  bool deterministicAlgorithmsWarnOnly() const { return warns_; }
  bool benchmarkCuDNN() const { return benchmark_; }
  void setBenchmarkCuDNN(bool benchmark) { benchmark_ = benchmark; }
  bool deterministicCuDNN() const { return deterministic_cudnn_; }
  void setDeterministicCuDNN(bool deterministic) { deterministic_cudnn_ = deterministic; }
  bool allowTF32CuDNN() const { return tf32_cudnn_; }
  void setAllowTF32CuDNN(bool allow) { tf32_cudnn_ = allow; }
  static bool hasCUDA() { return cuda::is_available(); }
  static bool hasCuDNN() { return cuda::cudnn_is_available(); }

 private:
  bool deterministic_ = false, warns_ = false, benchmark_ = false, deterministic_cudnn_ = false, tf32_cudnn_ = true;
};
Context& globalContext();

// --- guards: the current device is this one while they live
class DeviceGuard {
 public:
  explicit DeviceGuard(Device device) { set_device(device); }
  ~DeviceGuard();
  DeviceGuard(const DeviceGuard&) = delete;
  DeviceGuard& operator=(const DeviceGuard&) = delete;

  void reset_device(Device device) { set_device(device); }
  void set_device(Device device);
  void set_index(DeviceIndex index) { set_device(Device(kind_, index)); }
  Device original_device() const { return Device(kind_, original_); }
  Device current_device() const { return Device(kind_, current_); }

 private:
  DeviceType kind_ = kCPU;
  DeviceIndex original_ = -1, current_ = -1;  // of CUDA
};

template <typename Guard>
class OptionalGuard {
 public:
  OptionalGuard() = default;
  explicit OptionalGuard(optional<Device> device) {
    if (device) guard_.emplace(*device);
  }
  explicit OptionalGuard(DeviceIndex index) : OptionalGuard(Device(kCUDA, index)) {}
  void reset_device(Device device) { set_device(device); }
  void set_device(Device device) {
    if (guard_) guard_->set_device(device);
    else guard_.emplace(device);
  }
  void set_index(DeviceIndex index) { set_device(Device(kCUDA, index)); }
  void reset() { guard_.reset(); }
  optional<Device> original_device() const { return guard_ ? optional<Device>(guard_->original_device()) : nullopt; }
  optional<Device> current_device() const { return guard_ ? optional<Device>(guard_->current_device()) : nullopt; }

 private:
  optional<Guard> guard_;
};
using OptionalDeviceGuard = OptionalGuard<DeviceGuard>;

namespace cuda {

// A guard for CUDA devices only: another is an Error.
class CUDAGuard : public DeviceGuard {
 public:
  explicit CUDAGuard(Device device);
  explicit CUDAGuard(DeviceIndex index) : DeviceGuard(Device(kCUDA, index)) {}
};
using OptionalCUDAGuard = OptionalGuard<CUDAGuard>;

// The stream and its device are current while it lives.
class CUDAStreamGuard {
 public:
  explicit CUDAStreamGuard(CUDAStream stream);
  ~CUDAStreamGuard();
  CUDAStreamGuard(const CUDAStreamGuard&) = delete;
  CUDAStreamGuard& operator=(const CUDAStreamGuard&) = delete;
  CUDAStream original_stream() const { return before_; }
  CUDAStream current_stream() const { return stream_; }

 private:
  DeviceGuard device_;
  CUDAStream before_, stream_;
};

}  // namespace cuda
}  // namespace tenon
