// The state of the simulated driver and the gate that every exported function passes: it counts, fails on demand, and
// checks what each call of the driver needs.
#pragma once

#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "cuda_sim/engine.h"
#include "cuda_sim/memory.h"
#include "cuda_sim/queue.h"

#define TENON_SIM_API extern "C" __attribute__((visibility("default")))

namespace tenon::cuda_sim {

enum Code : int {  // the driver's
  kSuccess = 0,
  kInvalidValue = 1,
  kOutOfMemory = 2,
  kNotInitialized = 3,
  kNoDevice = 100,
  kInvalidDevice = 101,
  kInvalidImage = 200,
  kInvalidContext = 201,
  kNoBinaryForGpu = 209,
  kInvalidPtx = 218,
  kInvalidHandle = 400,
  kNotFound = 500,
  kNotReady = 600,
  kIllegalAddress = 700,
  kOutOfResources = 701,
  kPeerAccessAlreadyEnabled = 704,
  kPeerAccessNotEnabled = 705,
  kHostMemoryAlreadyRegistered = 712,
  kHostMemoryNotRegistered = 713,
  kMisalignedAddress = 716,
  kLaunchFailed = 719,
  kNotPermitted = 800,
  kNotSupported = 801,
  kCaptureUnsupported = 900,
  kCaptureInvalidated = 901,
  kCaptureMerge = 902,
  kCaptureUnmatched = 903,
  kCaptureUnjoined = 904,
  kCaptureIsolation = 905,
  kCaptureImplicit = 906,
  kCapturedEvent = 907,
  kCaptureWrongThread = 908,
  kGraphUpdateFailure = 910,
};

// A device and its primary context; as a handle, the context.
struct Device {
  int ordinal = 0;
  int retained = 0;
  int error = 0;        // of work that failed: every later call gives it
  std::set<int> peers;  // whose memory its kernels may touch
  Stream* default_stream = nullptr;
};

struct Event {
  int device;
  unsigned flags;
  Ticket record;
  std::shared_ptr<Capture> capture;  // of the capture it was last recorded in
  std::vector<size_t> frontier;
};

struct Graph {
  int device;
  std::deque<Node> nodes;                                // each node's address is its handle
  std::map<const Node*, std::vector<void*>> parameters;  // where cuGraphKernelNodeGetParams points to
};

struct GraphExec {
  int device;
  std::map<const Node*, size_t> places;      // of the graph's nodes
  std::shared_ptr<std::vector<Node>> nodes;  // shared with launches that are queued; copied before a change
  Ticket last;                               // a graph runs once at a time
};

// A launch as the nodes of a graph take it (CUDA_KERNEL_NODE_PARAMS_v2).
struct KernelParameters {
  Function* function;
  unsigned grid_x, grid_y, grid_z, block_x, block_y, block_z, shared;
  void** parameters;
  void** extra;
  void* kernel;
  Device* context;
};

struct Capture {
  Stream* origin;
  int mode;
  std::thread::id thread;
  bool invalid = false;
  std::unique_ptr<Graph> graph;
};

struct Fault {
  std::string function;
  long calls;  // until it fails
  int code;
  bool stays;  // and each one after that
};

// From the environment, once.
struct Settings {
  int devices = 1;
  size_t memory = size_t{4} << 30;
  int arch = 90;
  uint64_t seed = 1;
  bool eager = false, strict = false, races = false, idle = false;
  long library = 0, lost_edge = 0;
  bool spills = false;
  std::string card;
  Settings();
};

struct Driver {
  Settings settings;
  std::mutex mutex;
  std::unique_lock<std::mutex>* lock = nullptr;  // of the thread that holds the mutex
  std::condition_variable changed;
  bool initialized = false;
  std::vector<Device> devices;
  DeviceMemory memory{settings.strict, settings.idle};
  PinnedMemory pinned;
  Engine engine;
  Queue queue{*this, settings.seed, settings.eager};
  std::map<const void*, std::shared_ptr<Module>> modules;
  std::map<const void*, std::shared_ptr<Function>> functions;
  std::map<const void*, std::unique_ptr<Event>> events;
  std::map<const void*, std::unique_ptr<Graph>> graphs;
  std::map<const void*, std::unique_ptr<GraphExec>> graph_execs;
  std::vector<std::shared_ptr<Capture>> captures;  // that are under way
  std::map<std::string, long> calls;
  std::vector<Fault> faults;
  long launches = 0;
  std::string finding;  // the last one

  Driver();
  void watch(bool watched);  // accesses of memory that nothing orders
  // What work of a device found: ends the device's work.
  void fail(int device, int code, const std::string& text);
  // The code of a fault asked for and due, else 0.
  int fault_due(const std::string& function);
  // Invalidates captures that a call of this thread disturbs; true if there is one.
  bool disturbs_capture();
};

Driver& driver();  // never ends: work may come after exit has begun

// The stack of current contexts of this thread.
std::vector<Device*>& contexts();
inline Device* current() { return contexts().empty() ? nullptr : contexts().back(); }
bool& in_host_function();

enum class Need { Nothing, Initialized, Context };
int enter(Driver& driver, const char* function, Need need);

template <typename Body>
int gate(const char* function, Need need, const Body& body) {
  Driver& d = driver();
  std::unique_lock lock(d.mutex);
  d.lock = &lock;
  const int code = enter(d, function, need);
  return code ? code : body(d);
}

// The stream of a handle in the current context, or null.
Stream* find_stream(Driver& driver, const void* handle);

template <typename Map>
auto* find(const Map& map, const void* handle) {
  const auto found = map.find(handle);
  return found == map.end() ? nullptr : found->second.get();
}

// Queues work, or adds it to the graph that the stream captures. Returns the driver's code; the ticket is null in a graph.
int submit(Driver& driver, Stream& stream, Work work, Ticket* ticket = nullptr);

// Checks a launch on a device and makes work of it.
int make_kernel(Driver& driver, const KernelParameters& launch, int device, Work& work);

}  // namespace tenon::cuda_sim
