#include "device/late_device.h"

#include <sys/mman.h>

#include <atomic>
#include <cstring>
#include <deque>
#include <mutex>
#include <random>
#include <stdexcept>

namespace tenon::test {
namespace {

using namespace tenon::runtime;

// The memory of all these devices. Blocks have addresses in a range that nobody can touch; what they hold lies at a distance from
// there, which only work of a device knows. Each block takes the next addresses.
class Memory {
 public:
  static Memory& get() {
    static auto* memory = new Memory;
    return *memory;
  }
  void* take(size_t bytes) {
    const std::lock_guard lock(mutex_);
    const size_t rounded = (bytes + 63) / 64 * 64;
    if (used_ + rounded > kBytes) throw OutOfMemory("the test device has given all its addresses");
    void* block = given_ + used_;
    count(block, bytes, 1);
    used_ += rounded;
    return block;
  }
  // Where the contents of an address lie, for work of a device; other addresses are the host's.
  template <typename T>
  T* at(T* address) const {
    auto* byte = reinterpret_cast<std::byte*>(const_cast<std::remove_const_t<T>*>(address));
    return byte < given_ || byte >= given_ + kBytes ? address : reinterpret_cast<T*>(held_ + (byte - given_));
  }
  // Pages of which all blocks are gone go back to the system.
  void forget(void* block, size_t bytes) {
    const std::lock_guard lock(mutex_);
    std::memset(at(static_cast<std::byte*>(block)), 0xff, bytes);
    count(block, bytes, -1);
  }

 private:
  static constexpr size_t kBytes = size_t{64} << 30, kChunk = size_t{1} << 20;

  Memory() : given_(map(PROT_NONE)), held_(map(PROT_READ | PROT_WRITE)) {}
  static std::byte* map(int access) {
    void* range = mmap(nullptr, kBytes, access, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (range == MAP_FAILED) throw std::runtime_error("no addresses for the test device");
    return static_cast<std::byte*>(range);
  }
  // One block more or less in each chunk that it touches.
  void count(const void* block, size_t bytes, int change) {
    const auto begin = static_cast<size_t>(static_cast<const std::byte*>(block) - given_);
    for (size_t chunk = begin / kChunk; chunk <= (begin + bytes - 1) / kChunk; ++chunk) {
      blocks_[chunk] += change;
      if (blocks_[chunk] == 0 && (chunk + 1) * kChunk <= used_) madvise(held_ + chunk * kChunk, kChunk, MADV_DONTNEED);
    }
  }

  std::mutex mutex_;
  std::byte *given_, *held_;
  size_t used_ = 0;
  std::vector<int> blocks_ = std::vector<int>(kBytes / kChunk);
};

struct LateCode final : Code {
  explicit LateCode(std::shared_ptr<const Code> made) : cpu(std::move(made)) {}
  std::shared_ptr<const Code> cpu;
};

class Implementation;
struct LateEvent final : EventState {
  Implementation* device;
  int stream;
  int64_t place;  // all work of the stream before this one
};

class Implementation final : public LateDevice {
 public:
  explicit Implementation(DeviceId id) : LateDevice(id) { all().push_back(this); }

  DeviceInfo info() const override { return host_device().info(); }
  ir::Target target(const Options& options) const override { return host_device().target(options); }

  Event record(Stream stream) override {
    const Locked lock(*this);
    auto event = std::make_shared<LateEvent>();
    event->device = this;
    event->stream = static_cast<int>(stream);
    event->place = of(stream).end();
    return event;
  }
  void wait(Stream stream, const Event& event) override {
    if (event) submit(stream, {"wait", {}, event});
  }
  void synchronise(const Event& event) override {
    if (!event) return;
    const auto& late = static_cast<const LateEvent&>(*event);
    const Locked lock(*this);
    late.device->run(late.stream, late.place);
    throw_parked();
  }
  void synchronise() override {
    const Locked lock(*this);
    for (int s = 0; s < kStreams; ++s) run(s, streams_[s].end());
    throw_parked();
  }

  bool is_past(const Event& event) override {
    const Locked lock(*this);
    return !event || is_past(static_cast<const LateEvent&>(*event));
  }
  void throw_failure() override {
    const Locked lock(*this);
    throw_parked();
  }

  void* allocate(size_t bytes, Stream stream) override {
    const Locked lock(*this);
    if (refuses(DeviceCall::Allocate) == Refusal::Now) {
      throw OutOfMemory("the test device is out of memory. Tried to allocate " + std::to_string(bytes) + " bytes");
    }
    void* block = Memory::get().take(bytes);
    submit(stream, {"allocate", [block, bytes] { std::memset(Memory::get().at(block), 0xff, bytes); }, {}});
    stats_.allocated += static_cast<int64_t>(bytes);
    stats_.peak_allocated = std::max(stats_.peak_allocated, stats_.allocated);
    ++stats_.live_buffers;
    ++stats_.allocations;
    return block;
  }
  void release(void* block, size_t bytes, Stream stream) noexcept override {
    const Locked lock(*this);
    submit(stream, {"release", [block, bytes] { Memory::get().forget(block, bytes); }, {}});
    stats_.allocated -= static_cast<int64_t>(bytes);
    --stats_.live_buffers;
  }
  MemoryStats memory_stats() const override {
    const Locked lock(*this);
    return stats_;
  }
  void reset_peak_memory_stats() override { stats_.peak_allocated = stats_.allocated; }
  void empty_cache() noexcept override {}

  void copy_from_host(void* to, const void* from, size_t bytes, Stream stream) override {
    std::string kept(static_cast<const char*>(from), bytes);
    take(DeviceCall::CopyIn, stream, "copy", [to, kept = std::move(kept)] { std::memcpy(Memory::get().at(to), kept.data(), kept.size()); });
  }
  void copy_to_host(void* to, const void* from, size_t bytes, Stream stream) override {
    const Locked lock(*this);
    take(DeviceCall::CopyOut, stream, "copy", [=] { copy_now(to, from, bytes); });
    run(static_cast<int>(stream), of(stream).end());
    throw_parked();
  }
  void copy(void* to, const void* from, size_t bytes, Stream stream) override {
    take(DeviceCall::Copy, stream, "copy", [=] { copy_now(to, from, bytes); });
  }
  bool copy_from_peer(Device&, void* to, const void* from, size_t bytes, Stream stream) override {
    copy(to, from, bytes, stream);
    return true;
  }

  bool compiles(const Options& options) const override { return host_device().compiles(options); }
  std::string code_version() const override { return host_device().code_version(); }
  std::string compile(const ir::LoopTree& tree) override {
    if (refuses(DeviceCall::Compile) == Refusal::Now) throw std::runtime_error("the test device does not compile");
    return host_device().compile(tree);
  }
  std::unique_ptr<Code> load(const std::string& bytes, const ir::LoopTree& tree) override {
    if (refuses(DeviceCall::Load) == Refusal::Now) throw std::runtime_error("the test device does not load");
    return std::make_unique<LateCode>(host_device().load(bytes, tree));
  }
  std::vector<CodeForm> code_forms() const override { return host_device().code_forms(); }
  std::string code_text(const ir::LoopTree& tree, CodeForm form) override { return host_device().code_text(tree, form); }

  void launch(const Launch& l, Stream stream) override {
    take(DeviceCall::Launch, stream, l.name,
         [code = std::static_pointer_cast<const LateCode>(l.code)->cpu, name = l.name, buffers = found(l.buffers), sizes = kept(l.sizes),
          scalars = kept(l.scalars), phases = kept(l.phases), local = l.local_bytes] {
           host_device().launch({code, name, buffers, sizes, scalars, phases, local}, Stream::Main);
         });
  }
  void interpret(const Uncompiled& i, Stream stream) override {
    take(DeviceCall::Interpret, stream, i.name, [work = i.work, name = i.name, buffers = found(i.buffers), scalars = kept(i.scalars)] {
      host_device().interpret({work, name, buffers, scalars}, Stream::Main);
    });
  }
  void call_library(const Uncompiled& c, Stream stream) override {
    take(DeviceCall::Library, stream, c.name, [work = c.work, name = c.name, buffers = found(c.buffers), scalars = kept(c.scalars)] {
      host_device().call_library({work, name, buffers, scalars}, Stream::Main);
    });
  }

  void begin_plan(std::shared_ptr<Recording>&, bool, std::span<const StepOrder>) override {
    const Locked lock(*this);
    holds_ = true;
  }
  void end_plan() override {
    const Locked lock(*this);
    holds_ = false;
    for (Work& work : std::exchange(held_, {})) submit(Stream::Main, std::move(work));
  }
  bool drop_plan() noexcept override {
    const Locked lock(*this);
    held_.clear();
    return std::exchange(holds_, false);
  }

  void shuffle(uint64_t seed) override { random_.seed(seed); }
  void fail(DeviceCall call, int64_t nth, bool late) override {
    const Locked lock(*this);
    faults_[static_cast<size_t>(call)] = {nth, late};
  }
  void heal() override {
    const Locked lock(*this);
    faults_ = {};
  }
  std::array<int64_t, kDeviceCalls> calls() const override {
    const Locked lock(*this);
    return calls_;
  }
  int64_t waiting() const override {
    const Locked lock(*this);
    int64_t count = 0;
    for (const Queue& q : streams_) count += static_cast<int64_t>(q.work.size());
    return count;
  }

 private:
  static constexpr int kStreams = 2;
  struct Work {
    std::string name;
    std::function<void()> body;
    Event after;  // of a wait
  };
  struct Queue {
    std::deque<Work> work;
    int64_t done = 0;
    int64_t end() const { return done + static_cast<int64_t>(work.size()); }
  };
  struct Fault {
    int64_t after = -1;  // so many calls from now; -1: none
    bool late = false;
  };
  enum class Refusal : uint8_t { None, Now, Late };

  // One lock for all of them, since a stream may wait for another device's.
  struct Locked {
    explicit Locked(const Implementation&) : lock(mutex()) {}
    static std::recursive_mutex& mutex() {
      static auto* m = new std::recursive_mutex;
      return *m;
    }
    std::lock_guard<std::recursive_mutex> lock;
  };

  template <typename T>
  static std::vector<std::remove_const_t<T>> kept(std::span<T> list) {
    return {list.begin(), list.end()};
  }
  static std::vector<void*> found(std::span<void* const> buffers) {
    std::vector<void*> list;
    for (void* buffer : buffers) list.push_back(Memory::get().at(buffer));
    return list;
  }
  static void copy_now(void* to, const void* from, size_t bytes) { std::memcpy(Memory::get().at(to), Memory::get().at(from), bytes); }
  Queue& of(Stream stream) { return streams_[static_cast<size_t>(stream)]; }

  void submit(Stream stream, Work work) {
    const Locked lock(*this);
    of(stream).work.push_back(std::move(work));
  }

  // Until the end of the plan, if there is one: as a GPU does that makes a graph of it.
  void hold(Stream stream, Work work) {
    const Locked lock(*this);
    if (holds_ && stream == Stream::Main) held_.push_back(std::move(work));
    else submit(stream, std::move(work));
  }

  Refusal refuses(DeviceCall call) {
    const Locked lock(*this);
    ++calls_[static_cast<size_t>(call)];
    Fault& fault = faults_[static_cast<size_t>(call)];
    if (fault.after < 0 || fault.after-- > 0) return Refusal::None;
    return fault.late ? Refusal::Late : Refusal::Now;
  }

  template <typename F>
  void take(DeviceCall call, Stream stream, const std::string& name, F body) {
    const Refusal refusal = refuses(call);
    if (refusal == Refusal::Now) throw std::runtime_error("a planted fault");
    if (refusal == Refusal::Late) {
      hold(stream, {name, [] { throw std::runtime_error("a planted late fault"); }, {}});
    } else {
      hold(stream, {name, std::move(body), {}});
    }
  }

  bool is_past(const LateEvent& event) const { return event.device->streams_[static_cast<size_t>(event.stream)].done >= event.place; }

  // The next piece of a stream's work; what it waits for runs first.
  void step(int stream) {
    Queue& queue = streams_[static_cast<size_t>(stream)];
    if (const Event after = queue.work.front().after) {
      const auto& event = static_cast<const LateEvent&>(*after);
      event.device->run(event.stream, event.place);
    }
    Work work = std::move(queue.work.front());
    queue.work.pop_front();
    ++queue.done;
    if (!work.body) return;
    try {
      work.body();
    } catch (const std::exception& e) {
      if (!parked_)
        parked_ = std::make_exception_ptr(AsyncFailure("kernel '" + work.name + "' failed on " + name_of(tag()) + ": " + e.what()));
    }
  }

  // Until the first `place` pieces of the stream are done; now and then others that may run by now.
  void run(int stream, int64_t place) {
    while (streams_[static_cast<size_t>(stream)].done < place) {
      Implementation& device = *all()[random_() % all().size()];
      const auto other = static_cast<int>(random_() % (2 * kStreams));
      if (other < kStreams && device.may_step(other)) {
        device.step(other);
      } else {
        step(stream);
      }
    }
  }

  bool may_step(int stream) const {
    const Queue& queue = streams_[static_cast<size_t>(stream)];
    if (queue.work.empty()) return false;
    const Event& after = queue.work.front().after;
    return !after || is_past(static_cast<const LateEvent&>(*after));
  }

  static std::vector<Implementation*>& all() {
    static auto* devices = new std::vector<Implementation*>;
    return *devices;
  }

  void throw_parked() {
    if (parked_) std::rethrow_exception(std::exchange(parked_, nullptr));
  }

  std::array<Queue, kStreams> streams_;
  bool holds_ = false;
  std::vector<Work> held_;
  std::array<Fault, kDeviceCalls> faults_;
  std::array<int64_t, kDeviceCalls> calls_{};
  std::mt19937_64 random_{1};
  std::exception_ptr parked_;
  MemoryStats stats_;
};

}  // namespace

namespace {
std::array<LateDevice*, 2> made(DeviceKind kind) {
  std::array<LateDevice*, 2> devices{};
  for (int i = 0; i < 2; ++i) {
    devices[static_cast<size_t>(i)] = static_cast<LateDevice*>(&register_device(std::make_unique<Implementation>(DeviceId{kind, i})));
  }
  return devices;
}
}  // namespace

LateDevice& LateDevice::get(int index) {
  static std::array<LateDevice*, 2> devices = made(DeviceKind::PrivateUse1);
  return *devices.at(static_cast<size_t>(index));
}
LateDevice& LateDevice::cuda(int index) {
  static std::array<LateDevice*, 2> devices = made(DeviceKind::Cuda);
  return *devices.at(static_cast<size_t>(index));
}

}  // namespace tenon::test
