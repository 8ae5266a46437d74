// A device: where memory lies and work is done. All that the runtime asks of one goes through this class; plans, caches
// and buffers know no device's name. A backend is a folder with a class that derives from it and is registered.
//
//   ordinal   DeviceId {type, index}  ->  ir::DeviceTag of graph nodes      cpu 0 | cuda:i 1 + i | privateuseone:i 64 + i
//
//   streams   Work is submitted and may run later: in order within a stream, in any order between streams. An event is a
//             point in a stream that another stream, or the host, can wait for. Evaluations use Stream::Main; copies
//             from and to other devices use Stream::Transfer, with events between the two.
//   memory    allocate and release are in the order of their stream too: a block that is released may be handed out
//             again to work that comes later in that stream.
//   failure   A call throws std::runtime_error, or OutOfMemory, and has then done nothing. What fails later, on the
//             device, is thrown as a AsyncFailure by the next synchronise or copy_to_host that waits for it, or by the next
//             throw_failure; after that the device works on. async_work.h says what becomes of the values.
//
// Every function may be called from any thread, calls for one stream from one thread at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "ir/call/work.h"
#include "ir/looptree/looptree.h"
#include "ir/op/target.h"
#include "runtime/base/memory_stats.h"
#include "runtime/base/options.h"

namespace tenon::runtime {

// Numbers of PyTorch's kinds of devices.
enum class DeviceKind : uint8_t { Cpu = 0, Cuda = 1, PrivateUse1 = 20 };
struct DeviceId {
  DeviceKind kind = DeviceKind::Cpu;
  int index = 0;
  friend bool operator==(const DeviceId&, const DeviceId&) = default;
};
inline constexpr ir::DeviceTag kHostTag = 0;
inline constexpr int kMostCudaDevices = 63, kMostPrivateDevices = 64;
ir::DeviceTag tag_of(DeviceId id);  // throws std::runtime_error if the index is out of range
DeviceId id_of(ir::DeviceTag tag);
std::string name_of(ir::DeviceTag tag);  // "cpu", "cuda:1", "privateuseone:0"

enum class Stream : uint8_t { Main, Transfer };

// A failure of work that was submitted before; names its kernel.
struct AsyncFailure : std::runtime_error {
  using std::runtime_error::runtime_error;
  bool copies_are_right = false;  // the device works and its memory is whole: what came from the host is as it was
};

// A point in a stream. Null: is past.
struct EventState {
  virtual ~EventState() = default;
};
using Event = std::shared_ptr<const EventState>;

// What a device keeps of a plan's work from one run to the next, to submit it faster. Alive as long as the plan.
struct Recording {
  virtual ~Recording() = default;
};

// The order of a step of a plan: the steps that it comes behind, since they use memory that it writes or write what it uses (those that
// these come behind are left out); and whether it may write over what the plan was given.
struct StepOrder {
  std::vector<int32_t> after;
  bool overwrites = false;
};

// Loaded code of one loop tree. Alive as long as a launch may run.
struct Code {
  virtual ~Code() = default;
  virtual double slowdown() const { return 1; }  // about: how many times as long it takes as its schedule estimates
};

// What the compiler gave a function of it, on a GPU.
struct CodeUse {
  std::string phase;
  int registers, shared_bytes, local_bytes;  // of a thread, of a block, of a thread: what did not fit into registers
};

struct Phase {
  int64_t count;  // iterations
  double ns;      // of one, estimated
};

// A device reads what follows before the call that takes it returns; if it runs it later it keeps copies, and the shared pointers.
struct Launch {
  const std::shared_ptr<const Code>& code;
  const std::string& name;            // of the kernel
  std::span<void* const> buffers;     // In, Out and Global buffers of the tree, in order
  std::span<const int64_t> sizes;     // its size parameters
  std::span<const uint64_t> scalars;  // raw bits
  std::span<const Phase> phases;      // one after another
  size_t local_bytes;                 // scratch of each CPU worker
};
struct Uncompiled {  // a kernel or a call without generated code
  const std::shared_ptr<const ir::Work>& work;
  const std::string& name;
  std::span<void* const> buffers;     // of its signature; null if one has no elements
  std::span<const uint64_t> scalars;  // raw bits
};

struct DeviceInfo {
  std::string name;              // "znver4"
  std::string compiler;          // "llvm"; empty if there is none
  std::string compiler_version;  // "19.1.7"
  int vector_bits = 0;           // of a CPU
};

// Forms of generated code as text, in the order in which the stages of a report end with them (report.h).
enum class CodeForm : uint8_t { LLVM, Assembly, CUDA, PTX };
inline constexpr const char* kCodeForms[] = {"LLVM", "Assembly", "CUDA", "PTX"};

class Device {
 public:
  explicit Device(DeviceId id) : id_(id), tag_(tag_of(id)) {}
  virtual ~Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  DeviceId id() const { return id_; }
  ir::DeviceTag tag() const { return tag_; }
  virtual DeviceInfo info() const = 0;
  virtual int workers() const { return 1; }  // threads that this process may run on it: a CPU's
  virtual ir::Target target(const Options& options) const = 0;
  // Whether the library that its target leaves products to can be used. Asked before a plan with such a product runs; after a false
  // its target leaves them to nobody. Throws as `allocate` does.
  virtual bool library_works() { return true; }
  virtual void configure(const Options&) {}  // before an evaluation with other options; no work of it is running

  // --- traits: what plans, buffers and the frontend may do with it. The defaults are right for every device.
  // Whether the host reads and writes its memory in place. Such a device does not work late.
  virtual bool host_accesses_memory() const { return false; }
  // Whether work may run, and fail, after the call that submitted it has returned.
  virtual bool works_async() const { return true; }
  // Whether its code moves vectors, and so must know which operands may lie at any address.
  virtual bool needs_alignment() const { return true; }
  // Whether constants stay in its memory in the layouts that its kernels read (packed_copies.h).
  virtual bool keeps_packed_copies() const { return false; }

  // --- streams and events
  virtual Event record(Stream stream) = 0;                   // after all work in it so far
  virtual void wait(Stream stream, const Event& event) = 0;  // later work in it starts after the event, of any device of the kind
  virtual void synchronise(const Event& event) = 0;          // the host waits
  virtual void synchronise() = 0;                            // for all work of all streams
  // Neither waits. One that does its work within its calls has no more to say.
  virtual bool is_past(const Event&) { return true; }
  virtual void throw_failure() {}  // the AsyncFailure of work that is past, if there was one
  // The address where a kernel notes an index that is out of range (Op::Check): equal texts have one. What was noted is thrown as a
  // AsyncFailure: `before`, the index if it matters, `after`; an index below zero counts from `wraps_at` if that is not 0. Null: there is
  // none, and a caller that has to know reads the index.
  struct IndexError {
    std::string before, after;
    int64_t wraps_at = 0;
    bool names_index = true;
  };
  virtual void* note_of(const IndexError&) { return nullptr; }

  // --- memory
  virtual void* allocate(size_t bytes, Stream stream) = 0;  // bytes > 0; 64-byte aligned; throws OutOfMemory
  // For a value of a plan that repeats: the block that it had last time, if that is free. Others get it then only if there is no other.
  virtual void* allocate_at(void* /*last*/, size_t bytes, Stream stream) { return allocate(bytes, stream); }
  virtual void release(void* block, size_t bytes, Stream stream) noexcept = 0;  // bytes as given to allocate
  // The index of the device of its kind in whose memory the address lies; -1: of none.
  virtual int owner_of(const void*) { return id_.index; }
  virtual MemoryStats memory_stats() const = 0;
  virtual void reset_peak_memory_stats() = 0;
  virtual void empty_cache() noexcept = 0;   // gives freed blocks back to the system
  virtual void set_memory_limit(int64_t) {}  // bytes; 0: none

  // --- copies. Memory of the host is read before the call returns, and written when it returns.
  virtual void copy_from_host(void* to, const void* from, size_t bytes, Stream stream) = 0;
  // Copies from memory that the device reads itself, when the stream comes to it; `owner` keeps it until then. False: it cannot, and
  // nothing was done.
  virtual bool copy_from_pinned(void*, const void*, size_t, const std::shared_ptr<const void>&, Stream) { return false; }
  virtual void copy_to_host(void* to, const void* from, size_t bytes, Stream stream) = 0;
  virtual void copy(void* to, const void* from, size_t bytes, Stream stream) = 0;  // within the device
  // Copies from another device's memory, without the host. False: there is no such way, and nothing was done.
  virtual bool copy_from_peer(Device&, void*, const void*, size_t, Stream) { return false; }

  // --- code
  virtual bool compiles(const Options& options) const = 0;    // false: kernels are interpreted
  virtual std::string code_version() const = 0;               // what decides the bytes that compile gives beside the tree's text
  virtual std::string compile(const ir::LoopTree& tree) = 0;  // for the disk cache too; several at the same time
  virtual std::unique_ptr<Code> load(const std::string& bytes, const ir::LoopTree& tree) = 0;
  // Code that is there at once and runs slower, with the same bits; null: there is none.
  virtual std::unique_ptr<Code> load_first(const ir::LoopTree&) { return nullptr; }
  virtual void replace(const Code& /*first*/, std::unique_ptr<Code> /*compiled*/) {
  }                                                                // launches may be running; if two come for one, one is dropped
  virtual std::vector<CodeForm> code_forms() const { return {}; }  // in which its code can be shown
  virtual std::string code_text(const ir::LoopTree&, CodeForm) { return {}; }  // in one of them
  // Whether a report compiles its kernels, to say what `uses` and `access_lines` know of them.
  virtual bool reports_code() const { return false; }
  virtual std::vector<CodeUse> uses(const Code&) { return {}; }  // by phase; empty if it is not known
  // A line for each access of a tree to memory, with these size parameters: "phase: reads ...".
  using Sizes = std::span<const int64_t>;
  virtual std::vector<std::string> access_lines(const ir::LoopTree&, Sizes) const { return {}; }
  virtual void launch(const Launch& launch, Stream stream) = 0;
  virtual void interpret(const Uncompiled& work, Stream stream) = 0;  // element by element: where there is no compiler, or none is wanted
  // A call, by a routine or by the device's library. A part of a Cat may lie in its result. Throws std::runtime_error for an index
  // out of range, before anything is written.
  virtual void call_library(const Uncompiled& call, Stream stream) = 0;

  // A plan whose work is for this device alone begins and ends. In between the device may hold work of the main stream back;
  // all of it is submitted when end_plan returns, or dropped by drop_plan after a failure, which says whether nothing is overwritten of
  // what the plan was given. `recording` is the plan's own; `is_again`: of one that was made in place of another, which has run. What
  // is submitted behind begin_step is of that step; steps may run in any order that `order`, the plan's own, allows.
  virtual void begin_plan(std::shared_ptr<Recording>&, bool /*is_again*/, std::span<const StepOrder> /*order*/) {}
  virtual void begin_step(size_t) {}
  virtual void end_plan() {}
  virtual bool drop_plan() noexcept { return false; }

  // body(0) ... body(count - 1), several at the same time if the host can: compiling, mostly.
  virtual void in_parallel(int64_t count, const std::function<void(int64_t)>& body);

 private:
  DeviceId id_;
  ir::DeviceTag tag_;
};

Device& host_device();                       // the CPU
std::unique_ptr<Device> make_host_device();  // the one function that its backend defines: cpu/cpu_device.cpp
Device* find_device(ir::DeviceTag tag);      // null if there is none
Device& device_of(ir::DeviceTag tag);        // throws std::runtime_error if there is none
Device& device_of(const ir::Node& node);
std::vector<Device*> all_devices();  // the host first
bool only_host();                    // no other device is registered
// It stays for the life of the process. Throws std::runtime_error if there is one already.
Device& register_device(std::unique_ptr<Device> device);

// How a report shows a form of code for a device that does not have it: as the text of a tree for `target`,
// or, without `text`, on the host as the line `why_none`. A backend registers the sketches of its forms,
// whether it has a device or not; before main.
struct CodeSketch {
  ir::Target target = {};
  std::string (*text)(const ir::LoopTree&) = nullptr;
  const char* why_none = "";
};
bool register_sketch(CodeForm form, CodeSketch sketch);
const CodeSketch* sketch_of(CodeForm form);  // null if there is none

// Between any two devices, in the order of their main streams; through the host if they know no other way. To the host: throws
// a AsyncFailure if any device has failed by then, since what was copied may come from there. From the host: with an `owner` the source may
// be read after the return.
void copy_between(Device& to_device, void* to, Device& from_device, const void* from, size_t bytes,
                  const std::shared_ptr<const void>& owner = nullptr);

}  // namespace tenon::runtime
