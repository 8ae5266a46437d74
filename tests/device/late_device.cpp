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

// The memory of all these devices: one range of addresses, of which each block takes the next.
class Arena {
 public:
  static Arena& get() {
    static auto* arena = new Arena;
    return *arena;
  }
  void* take(size_t bytes) {
    const std::lock_guard lock(mutex_);
    const size_t rounded = (bytes + 63) / 64 * 64;
    if (used_ + rounded > kBytes) throw OutOfMemory("the test device has given all its addresses");
    void* block = base_ + used_;
    used_ += rounded;
    if (open_ > 0) allow();
    return block;
  }
  void open() {
    const std::lock_guard lock(mutex_);
    if (open_++ == 0) allow();
  }
  void close() {
    const std::lock_guard lock(mutex_);
    if (--open_ == 0) mprotect(base_, kBytes, PROT_NONE);
  }
  static void forget(void* block, size_t bytes) {  // while it is open
    constexpr uintptr_t kPage = 4096;
    const auto begin = reinterpret_cast<uintptr_t>(block), end = begin + bytes;
    const uintptr_t first = (begin + kPage - 1) / kPage * kPage, last = end / kPage * kPage;
    if (bytes >= 64 * kPage) madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);
    else std::memset(block, 0xff, bytes);
  }

 private:
  static constexpr size_t kBytes = size_t{64} << 30;
  Arena() {
    void* range = mmap(nullptr, kBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (range == MAP_FAILED) throw std::runtime_error("no addresses for the test device");
    base_ = static_cast<std::byte*>(range);
  }
  void allow() { mprotect(base_, kBytes, PROT_READ | PROT_WRITE); }

  std::mutex mutex_;
  std::byte* base_;
  size_t used_ = 0;
  int open_ = 0;
};

struct Opened {
  Opened() { Arena::get().open(); }
  ~Opened() { Arena::get().close(); }
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
  explicit Implementation(int index) : LateDevice(DeviceId{DeviceKind::PrivateUse1, index}) { all().push_back(this); }

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
    if (event) hand_in(stream, {"wait", {}, event});
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

  void* allocate(size_t bytes, Stream stream) override {
    const Locked lock(*this);
    if (refuses(DeviceCall::Allocate) == Refusal::Now) {
      throw OutOfMemory("the test device is out of memory. Tried to allocate " + std::to_string(bytes) + " bytes");
    }
    void* block = Arena::get().take(bytes);
    hand_in(stream, {"allocate", [block, bytes] { std::memset(block, 0xff, bytes); }, {}});
    stats_.allocated += static_cast<int64_t>(bytes);
    stats_.peak_allocated = std::max(stats_.peak_allocated, stats_.allocated);
    ++stats_.live_buffers;
    ++stats_.allocations;
    return block;
  }
  void release(void* block, size_t bytes, Stream stream) noexcept override {
    const Locked lock(*this);
    hand_in(stream, {"release", [block, bytes] { Arena::forget(block, bytes); }, {}});
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
    take(DeviceCall::CopyIn, stream, "copy", [to, kept = std::move(kept)] { std::memcpy(to, kept.data(), kept.size()); });
  }
  void copy_to_host(void* to, const void* from, size_t bytes, Stream stream) override {
    const Locked lock(*this);
    take(DeviceCall::CopyOut, stream, "copy", [=] { std::memcpy(to, from, bytes); });
    run(static_cast<int>(stream), of(stream).end());
    throw_parked();
  }
  void copy(void* to, const void* from, size_t bytes, Stream stream) override {
    take(DeviceCall::Copy, stream, "copy", [=] { std::memcpy(to, from, bytes); });
  }
  bool copy_from_peer(Device&, void* to, const void* from, size_t bytes, Stream stream) override {
    copy(to, from, bytes, stream);
    return true;
  }

  bool compiles(const Options& options) const override { return host_device().compiles(options); }
  std::string code_version() const override { return "late\n" + host_device().code_version(); }
  std::string compile(const ir::LoopTree& tree) override {
    if (refuses(DeviceCall::Compile) == Refusal::Now) throw std::runtime_error("the test device does not compile");
    return host_device().compile(tree);
  }
  std::unique_ptr<Code> load(const std::string& bytes, const ir::LoopTree& tree) override {
    if (refuses(DeviceCall::Load) == Refusal::Now) throw std::runtime_error("the test device does not load");
    return std::make_unique<LateCode>(host_device().load(bytes, tree));
  }
  std::string intermediate_text(const ir::LoopTree& tree) override { return host_device().intermediate_text(tree); }
  std::string assembly_text(const ir::LoopTree& tree) override { return host_device().assembly_text(tree); }

  void launch(const Launch& l, Stream stream) override {
    take(DeviceCall::Launch, stream, l.name,
         [code = std::static_pointer_cast<const LateCode>(l.code)->cpu, name = l.name, buffers = kept(l.buffers),
          sizes = kept(l.sizes), scalars = kept(l.scalars), phases = kept(l.phases), local = l.local_bytes] {
           host_device().launch({code, name, buffers, sizes, scalars, phases, local}, Stream::Main);
         });
  }
  void interpret(const Interpretation& i, Stream stream) override {
    take(DeviceCall::Interpret, stream, i.name,
         [kernel = i.kernel, name = i.name, buffers = kept(i.buffers), scalars = kept(i.scalars)] {
           host_device().interpret({kernel, name, buffers, scalars}, Stream::Main);
         });
  }
  void call_library(const LibraryCall& c, Stream stream) override {
    take(DeviceCall::Library, stream, c.name,
         [node = c.node, parts = c.parts, name = c.name, buffers = kept(c.buffers), scalars = kept(c.scalars),
          in_memory = kept(c.in_memory), interpreted = c.interpreted]() mutable {
           for (const LibraryCall::InMemory& m : in_memory)
             buffers[static_cast<size_t>(m.buffer)] = &scalars[static_cast<size_t>(m.scalar)];
           host_device().call_library({node, parts, name, buffers, scalars, in_memory, interpreted}, Stream::Main);
         });
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
  Queue& of(Stream stream) { return streams_[static_cast<size_t>(stream)]; }

  void hand_in(Stream stream, Work work) {
    const Locked lock(*this);
    of(stream).work.push_back(std::move(work));
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
      hand_in(stream, {name, [] { throw std::runtime_error("a planted late fault"); }, {}});
    } else {
      hand_in(stream, {name, std::move(body), {}});
    }
  }

  bool is_past(const LateEvent& event) const {
    return event.device->streams_[static_cast<size_t>(event.stream)].done >= event.place;
  }

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
      const Opened open;
      work.body();
    } catch (const std::exception& e) {
      if (!parked_)
        parked_ = std::make_exception_ptr(
            LateFailure("kernel '" + work.name + "' failed on " + name_of(tag()) + ": " + e.what()));
    }
  }

  // Until the first `place` pieces of the stream are done; now and then others that may run by now.
  void run(int stream, int64_t place) {
    const Opened open;
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
  std::array<Fault, kDeviceCalls> faults_;
  std::array<int64_t, kDeviceCalls> calls_{};
  std::mt19937_64 random_{1};
  std::exception_ptr parked_;
  MemoryStats stats_;
};

}  // namespace

LateDevice& LateDevice::get(int index) {
  static std::array<LateDevice*, 2> devices = [] {
    std::array<LateDevice*, 2> made{};
    for (int i = 0; i < 2; ++i)
      made[static_cast<size_t>(i)] = static_cast<LateDevice*>(&register_device(std::make_unique<Implementation>(i)));
    return made;
  }();
  return *devices.at(static_cast<size_t>(index));
}

}  // namespace tenon::test
