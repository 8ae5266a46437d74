// A GPU: work goes to two streams of its own, and calls return at once.
//
//   text     loop tree -> CUDA C (codegen/cuda) -> NVRTC -> a module; a phase of the tree is a function and a launch
//   library  products by cuBLAS; what neither it nor a generated kernel computes runs on the host, on copies
//   failure  context.h
#include "runtime/cuda/cuda_device.h"

#include <pthread.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <deque>
#include <mutex>
#include <optional>

#include "codegen/cuda/emit.h"
#include "codegen/interpreter/interpreter.h"
#include "runtime/cuda/access_lines.h"
#include "runtime/cuda/allocator.h"
#include "runtime/cuda/compiler.h"
#include "runtime/cuda/context.h"
#include "runtime/cuda/events.h"
#include "runtime/cuda/index_notes.h"
#include "runtime/cuda/libraries.h"
#include "runtime/cuda/pinned.h"
#include "runtime/cuda/products.h"
#include "runtime/cuda/recording.h"
#include "runtime/cuda/staging.h"

namespace tenon::runtime::cuda {

namespace {

// A child of fork() has the parent's memory, but not its GPU.
std::atomic<bool> is_child{false};
void note_forks() {
  static const int registered = pthread_atfork(nullptr, nullptr, [] { is_child.store(true, std::memory_order_relaxed); });
  static_cast<void>(registered);
}

constexpr int64_t kMostBlocks = 2147483647;  // of a grid
constexpr int kStreams = 2;

CUdeviceptr address(const void* pointer) { return reinterpret_cast<CUdeviceptr>(pointer); }

// Trees that differ in their name alone share their code, so the functions in it are not called by it.
const std::string kFunctions = "tenon";
std::string text_of(const ir::LoopTree& tree) {
  ir::LoopTree unnamed = tree;
  unnamed.name = kFunctions;
  return codegen::cuda::emit(unnamed);
}

}  // namespace

struct CudaEvent final : EventState {
  CudaEvent(EventPool& from, bool is_timed) : pool(from), timed(is_timed), event(from.take(is_timed)) {}
  ~CudaEvent() override { pool.give_back(event, timed); }
  EventPool& pool;
  bool timed;
  CUevent event;
};

namespace {

struct CudaCode final : Code {
  CudaCode(Context& in, CUmodule made) : context(in), module(made) {}
  // Launches of it may still run: the owner that drops code has no launch left to make, but does not wait.
  ~CudaCode() override {
    if (context.is_lost()) return;
    const Context::Current current(context);
    for (CUstream stream : streams) context.api().stream_synchronize(stream);
    context.api().module_unload(module);
  }
  Context& context;
  CUmodule module;
  std::vector<CUstream> streams;
  struct Function {
    std::string phase;
    CUfunction handle = nullptr;
    unsigned shared_bytes = 0;  // that a launch brings
  };
  std::vector<Function> functions;  // by phase
  unsigned threads = 0;             // of a block
  size_t buffers = 0, sizes = 0, scalars = 0;
};

// Pinned memory that copies still read, until their events are past.
class ReadLater {
 public:
  void keep(std::shared_ptr<CudaEvent> event, std::shared_ptr<const void> owner) {
    const std::lock_guard lock(mutex_);
    entries_.push_back({std::move(event), std::move(owner)});
  }
  void forget_past(const Driver& api) {
    std::deque<Entry> past;  // its owners die when the lock is open
    const std::lock_guard lock(mutex_);
    while (!entries_.empty() && api.event_query(entries_.front().event->event) == kSuccess) {
      past.push_back(std::move(entries_.front()));
      entries_.pop_front();
    }
  }

 private:
  struct Entry {
    std::shared_ptr<CudaEvent> event;
    std::shared_ptr<const void> owner;
  };
  std::mutex mutex_;
  std::deque<Entry> entries_;
};

class Implementation final : public CudaDevice {
 public:
  explicit Implementation(int index)
      : CudaDevice(DeviceId{DeviceKind::Cuda, index}),
        context_(index),
        events_(context_),
        allocator_(context_, index, streams_),
        staging_(context_, events_),
        notes_(context_),
        products_(context_, [this](size_t bytes) { return allocator_.allocate(bytes, Stream::Main); }),
        architecture_(architecture_for(10 * context_.attribute(kComputeCapabilityMajor) + context_.attribute(kComputeCapabilityMinor))) {
    note_forks();
    describe();
  }

  DeviceInfo info() const override { return {properties_.name, "nvrtc", compiler_version(), 0}; }
  Properties properties() const override { return properties_; }
  ir::Target target(const Options& options) const override {
    ir::GpuTarget target = target_;
    target.compiles = compiles(options);
    if (products_.have_failed()) target.library = {};
    return target;
  }
  void open() override { const Entered entered(*this); }

  // --- streams and events
  Event record(Stream stream) override {
    const Entered entered(*this);
    auto event = std::make_shared<CudaEvent>(events_, false);
    check(api().event_record(event->event, of(stream)), "cuEventRecord");
    return event;
  }
  void wait(Stream stream, const Event& event) override {
    if (!event) return;
    const Entered entered(*this);
    check(api().stream_wait(of(stream), raw(event), 0), "cuStreamWaitEvent");
  }
  void synchronise(const Event& event) override {
    if (!event) return;
    const Entered entered(*this);
    context_.check_wait(api().event_synchronize(raw(event)), "cuEventSynchronize");
  }
  void synchronise() override {
    if (!context_.is_open() || context_.is_lost()) return;  // nothing runs there
    const Entered entered(*this);
    for (CUstream stream : streams_) context_.check_wait(api().stream_synchronize(stream), "cuStreamSynchronize");
    context_.forget_launches();
    read_later_.forget_past(api());
    notes_.look();
  }
  void throw_failure() override { notes_.look(); }
  void* note_of(const IndexError& error) override {
    check_ready();
    return notes_.find(error);
  }
  bool is_past(const Event& event) override {
    if (!event || context_.is_lost()) return true;
    const Entered entered(*this);
    const CUresult result = api().event_query(raw(event));
    if (result == kErrorNotReady) return false;
    context_.check_wait(result, "cuEventQuery");
    return true;
  }

  Event record_timed() override {
    const Entered entered(*this);
    auto event = std::make_shared<CudaEvent>(events_, true);
    check(api().event_record(event->event, of(Stream::Main)), "cuEventRecord");
    return event;
  }
  float elapsed_ms(const Event& begin, const Event& end) override {
    const Entered entered(*this);
    float ms = 0;
    check(api().event_elapsed(&ms, raw(begin), raw(end)), "cuEventElapsedTime");
    return ms;
  }

  // --- memory
  void* allocate(size_t bytes, Stream stream) override {
    check_ready();
    return allocator_.allocate(bytes, stream);
  }
  void* allocate_at(void* home, size_t bytes, Stream stream) override {
    check_ready();
    return allocator_.allocate_at(home, bytes, stream);
  }
  void release(void* block, size_t bytes, Stream stream) noexcept override {
    if (is_child.load(std::memory_order_relaxed)) return;
    allocator_.release(block, bytes, stream);
  }
  int owner_of(const void* given) override {
    const Entered entered(*this);
    unsigned type = 0;
    int owner = -1;
    if (api().pointer_attribute(&type, kPointerMemoryType, address(given)) != kSuccess || type != kMemoryDevice) return -1;
    check(api().pointer_attribute(&owner, kPointerDeviceOrdinal, address(given)), "cuPointerGetAttribute");
    return owner;
  }
  MemoryStats memory_stats() const override { return allocator_.stats(); }
  void reset_peak_memory_stats() override { allocator_.reset_peak(); }
  void empty_cache() noexcept override {
    if (!context_.is_open()) return;
    const Context::Current current(context_);
    allocator_.empty_cache();
    staging_.release();
  }
  std::pair<int64_t, int64_t> memory_info() override {
    const Entered entered(*this);
    size_t free = 0, total = 0;
    check(api().memory_info(&free, &total), "cuMemGetInfo");
    return {static_cast<int64_t>(free), static_cast<int64_t>(total)};
  }
  void* allocate_pinned(size_t bytes) override {
    const Entered entered(*this);
    void* block = nullptr;
    return api().host_allocate(&block, bytes, kHostAllocPortable) == kSuccess ? block : nullptr;
  }
  void free_pinned(void* block) noexcept override {
    try {
      const Entered entered(*this);
      api().host_free(block);
    } catch (const std::exception&) {  // the device is lost, and its memory with it
    }
  }

  // --- copies. The device reads pinned memory where it is, when the stream comes to it; pageable memory is staged.
  void copy_from_host(void* to, const void* from, size_t bytes, Stream stream) override {
    const Entered entered(*this);
    const bool pinned = is_pinned(from);
    if (!pinned && staging_.copy(address(to), from, bytes, of(stream))) return;
    check(api().copy_in(address(to), from, bytes, of(stream)), "cuMemcpyHtoDAsync");
    if (pinned) context_.check_wait(api().stream_synchronize(of(stream)), "cuStreamSynchronize");
  }
  bool copy_from_pinned(void* to, const void* from, size_t bytes, const std::shared_ptr<const void>& owner, Stream stream) override {
    if (!is_pinned(from)) return false;
    const Entered entered(*this);
    auto event = std::make_shared<CudaEvent>(events_, false);
    check(api().copy_in(address(to), from, bytes, of(stream)), "cuMemcpyHtoDAsync");
    if (const CUresult result = api().event_record(event->event, of(stream)); result != kSuccess) {
      api().stream_synchronize(of(stream));  // nothing else tells when the owner may go
      check(result, "cuEventRecord");
    }
    read_later_.keep(std::move(event), owner);
    read_later_.forget_past(api());
    return true;
  }
  void copy_to_host(void* to, const void* from, size_t bytes, Stream stream) override {
    const Entered entered(*this);
    check(api().copy_out(to, address(from), bytes, of(stream)), "cuMemcpyDtoHAsync");
    context_.check_wait(api().stream_synchronize(of(stream)), "cuStreamSynchronize");
    notes_.look();
  }
  void copy(void* to, const void* from, size_t bytes, Stream stream) override {
    const Entered entered(*this);
    submit(stream, {.words = {address(to), address(from), bytes}, .call = [=, this](CUstream on) {
                      check(api().copy_within(address(to), address(from), bytes, on), "cuMemcpyDtoDAsync");
                    }});
  }
  bool copy_from_peer(Device& other, void* to, const void* from, size_t bytes, Stream stream) override {
    const Entered entered(*this);
    auto& peer = static_cast<Implementation&>(other);
    peer.context_.open();
    check(api().copy_peer(address(to), context_.handle(), address(from), peer.context_.handle(), bytes, of(stream)), "cuMemcpyPeerAsync");
    return true;
  }

  // --- code
  bool compiles(const Options& options) const override { return options.backend != Options::Backend::Interpreter; }
  std::string code_version() const override { return "nvrtc " + compiler_version() + "\narch " + architecture_.text(); }
  std::string compile(const ir::LoopTree& tree) override { return cuda::compile(text_of(tree), architecture_); }
  std::unique_ptr<Code> load(const std::string& bytes, const ir::LoopTree& tree) override;
  std::vector<CodeUse> uses(const Code& code) override;
  std::vector<CodeForm> code_forms() const override { return {CodeForm::CUDA, CodeForm::PTX}; }
  std::string code_text(const ir::LoopTree& tree, CodeForm form) override {
    const std::string text = codegen::cuda::emit(tree);
    return form == CodeForm::CUDA ? text : compile_to_ptx(text, architecture_);
  }
  bool reports_code() const override { return true; }
  std::vector<std::string> access_lines(const ir::LoopTree& tree, Sizes sizes) const override { return cuda::access_lines(tree, sizes); }

  void launch(const Launch& launch, Stream stream) override;
  void interpret(const Uncompiled& work, Stream stream) override;
  void call_library(const Uncompiled& call, Stream stream) override;

  void begin_plan(std::shared_ptr<Recording>& recording, bool is_again, std::span<const StepOrder> order) override {
    inside_.emplace(*this);
    held_count_ = 0;
    step_ = -1;
    order_ = order;
    if (!recording) recording = std::make_shared<CudaRecording>(context_, *this, of(Stream::Main), capturing_, is_again);
    recording_ = static_cast<CudaRecording*>(recording.get());
    recording_->begin();
  }
  void begin_step(size_t step) override { step_ = static_cast<int32_t>(step); }
  void end_plan() override {
    ending_ = std::exchange(recording_, nullptr);  // what the work itself submits is not held
    if (ending_) ending_->run({held_.data(), std::exchange(held_count_, 0)}, order_);
    ending_ = nullptr;
    let_go();
  }
  bool drop_plan() noexcept override {
    let_go();
    const CudaRecording *held = std::exchange(recording_, nullptr), *ended = std::exchange(ending_, nullptr);
    const CudaRecording* recording = held ? held : ended;  // none: some of it was submitted for work of the host
    return recording && !recording->has_overwritten();
  }

  void allow_tf32(bool allow) override { tf32_ = allow; }
  bool library_works() override {
    if (products_.are_known()) return !products_.have_failed();
    const Entered entered(*this);
    return products_.work();
  }
  std::string library_version() override { return products_.version(); }
  std::string library_failure() override { return products_.why(); }

 private:
  // What every call begins with: this process may use the GPU, it is not lost, its context is current, its streams are there.
  struct Entered {
    explicit Entered(Implementation& device) : current((device.check_usable(), device.context_)) { device.make_streams(); }
    Context::Current current;
  };
  void check_usable() const {
    if (is_child.load(std::memory_order_relaxed))
      throw std::runtime_error("Cannot re-initialize CUDA in forked subprocess: start a new process instead");
    context_.throw_if_lost();
  }

  // The same for what asks the driver for nothing, mostly.
  void check_ready() {
    check_usable();
    if (!has_streams_.load(std::memory_order_acquire)) open();
  }

  const Driver& api() const { return context_.api(); }
  void check(CUresult result, const char* call) { context_.check(result, call); }
  CUstream of(Stream stream) const { return streams_[static_cast<size_t>(stream)]; }
  static CUevent raw(const Event& event) { return static_cast<const CudaEvent&>(*event).event; }

  void make_streams() {
    if (has_streams_.load(std::memory_order_acquire)) return;
    const std::lock_guard lock(making_streams_);
    if (has_streams_.load(std::memory_order_relaxed)) return;
    const auto make = [&](CUstream& stream) {
      if (!stream) check(api().stream_create(&stream, kStreamNonBlocking), "cuStreamCreate");
    };
    for (CUstream& stream : streams_) make(stream);
    make(capturing_);
    has_streams_.store(true, std::memory_order_release);
  }
  // Work of a plan waits for its end; other work is submitted at once.
  void submit(Stream stream, Work work) {
    if (recording_ && stream == Stream::Main) {
      work.step = step_;
      next_held() = std::move(work);
      return;
    }
    if (work.name) context_.note_launch(*work.name);
    cuda::submit(context_, of(stream), work);
  }
  // With the memory of what an earlier plan held.
  Work& next_held() {
    if (held_count_ == held_.size()) held_.emplace_back();
    return held_[held_count_++];
  }
  void let_go() noexcept {
    for (Work& work : held_) work.call = nullptr;
    held_count_ = 0;
    inside_.reset();
  }
  // Before work that the host does in the middle of a plan: such a plan is no graph.
  void submit_held() {
    const Entered entered(*this);
    recording_ = nullptr;
    const size_t count = std::exchange(held_count_, 0);
    for (size_t i = 0; i < count; ++i) submit(Stream::Main, std::exchange(held_[i], {}));
  }
  void describe();
  void multiply(const std::shared_ptr<const ir::Work>& product, std::array<void*, 3> buffers, bool tf32, CUstream on);
  void on_host(const Uncompiled& work, Stream stream, void (Device::*run)(const Uncompiled&, Stream));

  Context context_;
  std::vector<CUstream> streams_ = std::vector<CUstream>(kStreams);  // Main, Transfer
  CUstream capturing_ = nullptr;                                     // of recordings
  std::atomic<bool> has_streams_{false};
  std::mutex making_streams_;
  EventPool events_;
  Allocator allocator_;
  Staging staging_;
  ReadLater read_later_;
  IndexNotes notes_;
  Products products_;
  std::atomic<bool> tf32_ = false;      // of its products
  CudaRecording* recording_ = nullptr;  // of the plan that is being submitted
  CudaRecording* ending_ = nullptr;     // of the plan whose end has come
  std::vector<Work> held_;              // its work so far, `held_count_` pieces
  size_t held_count_ = 0;
  int32_t step_ = -1;                 // that comes next
  std::span<const StepOrder> order_;  // of its steps
  std::optional<Entered> inside_;     // while a plan is submitted
  Architecture architecture_;
  Properties properties_;
  ir::GpuTarget target_;
};

void Implementation::describe() {
  char name[256] = {};
  check(api().device_name(name, sizeof name - 1, context_.device()), "cuDeviceGetName");
  size_t memory = 0;
  check(api().device_memory(&memory, context_.device()), "cuDeviceTotalMem");
  properties_ = {name,
                 context_.attribute(kComputeCapabilityMajor),
                 context_.attribute(kComputeCapabilityMinor),
                 static_cast<int64_t>(memory),
                 context_.attribute(kMultiprocessorCount),
                 context_.attribute(kMaxThreadsPerBlock),
                 context_.attribute(kMaxSharedPerBlock),
                 context_.attribute(kWarpSize),
                 context_.attribute(kClockRate),
                 {}};
  CUuuid uuid{};
  if (api().device_uuid(&uuid, context_.device()) == kSuccess) {
    constexpr char digits[] = "0123456789abcdef";
    for (const char byte : uuid.bytes) {
      properties_.uuid_hex += digits[static_cast<unsigned char>(byte) >> 4];
      properties_.uuid_hex += digits[byte & 15];
    }
  }
  target_.shared_bytes = std::max<int64_t>(properties_.shared_memory_per_block, context_.attribute(kMaxSharedPerBlockOptin));
  target_.multiprocessors = properties_.multiprocessors;
  target_.compute = 10 * properties_.major + properties_.minor;
  if (properties_.clock_khz > 0) target_.gigahertz = properties_.clock_khz * 1e-6;
  // Two transfers a clock over the memory's bus.
  const double bus_bytes = context_.attribute(kMemoryBusWidth) / 8.0, memory_khz = context_.attribute(kMemoryClockRate);
  if (bus_bytes * memory_khz > 0) target_.gigabytes_per_second = 2 * memory_khz * bus_bytes * 1e-6;
  if (!cublas_is_there()) target_.library = {};
}

std::unique_ptr<Code> Implementation::load(const std::string& bytes, const ir::LoopTree& tree) {
  const Entered entered(*this);
  CUmodule module = nullptr;
  check(api().module_load(&module, bytes.data(), 0, nullptr, nullptr), "cuModuleLoadDataEx");
  auto code = std::make_unique<CudaCode>(context_, module);
  code->streams = streams_;
  code->threads = static_cast<unsigned>(tree.threads);
  code->sizes = static_cast<size_t>(tree.size_count);
  code->scalars = tree.scalars.size();
  for (const ir::TreeBuffer& b : tree.buffers) code->buffers += b.space != ir::Space::Local && b.space != ir::Space::Shared;
  for (const ir::Phase& phase : tree.phases) {
    CudaCode::Function& function = code->functions.emplace_back(CudaCode::Function{phase.name});
    check(api().module_function(&function.handle, module, codegen::cuda::function_name(kFunctions, phase).c_str()), "cuModuleGetFunction");
    const int64_t bytes = codegen::cuda::dynamic_shared_bytes(tree, phase);
    if (bytes == 0) continue;
    function.shared_bytes = static_cast<unsigned>(bytes);
    check(api().function_set(function.handle, kFunctionMaxDynamicShared, static_cast<int>(bytes)), "cuFuncSetAttribute");
  }
  return code;
}

std::vector<CodeUse> Implementation::uses(const Code& loaded) {
  const Entered entered(*this);
  const auto& code = static_cast<const CudaCode&>(loaded);
  std::vector<CodeUse> uses;
  for (const CudaCode::Function& function : code.functions) {
    const auto attribute = [&](FunctionAttribute which) {
      int value = 0;
      check(api().function_get(&value, which, function.handle), "cuFuncGetAttribute");
      return value;
    };
    uses.push_back({function.phase, attribute(kFunctionRegisters),
                    attribute(kFunctionStaticShared) + static_cast<int>(function.shared_bytes), attribute(kFunctionLocal)});
  }
  return uses;
}

// A function's parameters are the buffers, sizes and scalars, each read at its word: the host is little-endian, so that a narrower
// parameter is the first bytes of it.
void Implementation::launch(const Launch& launch, Stream stream) {
  const Entered entered(*this);
  const auto& code = static_cast<const CudaCode&>(*launch.code);
  const std::span<const uint64_t> scalars = launch.scalars.first(code.scalars);
  const bool is_held = recording_ && stream == Stream::Main;
  for (size_t p = 0; p < launch.phases.size(); ++p) {
    const int64_t blocks = launch.phases[p].count;
    if (blocks == 0) continue;
    if (blocks > kMostBlocks) throw std::runtime_error("a launch of more than 2147483647 blocks");
    const CudaCode::Function& function = code.functions[p];
    Work other;
    Work& work = is_held ? next_held() : other;
    work.function = function.handle;
    work.blocks = static_cast<unsigned>(blocks);
    work.threads = code.threads;
    work.shared_bytes = function.shared_bytes;
    work.words.clear();
    for (void* buffer : launch.buffers.first(code.buffers)) work.words.push_back(address(buffer));
    for (const int64_t size : launch.sizes.first(code.sizes)) work.words.push_back(static_cast<uint64_t>(size));
    work.numbers.assign(scalars.begin(), scalars.end());
    work.is_of_library = false;
    work.step = step_;
    work.name = &launch.name;
    if (!is_held) submit(stream, std::move(other));
  }
}

// Copies of the buffers on the host, work on them, and what it wrote back. It waits for the stream.
void Implementation::on_host(const Uncompiled& work, Stream stream, void (Device::*run)(const Uncompiled&, Stream)) {
  submit_held();
  const std::vector<ir::KernelBuffer>& buffers = ir::signature(*work.work).buffers;
  const auto bytes_of = [](const ir::KernelBuffer& b) { return static_cast<size_t>(b.numel * ir::item_size(b.dtype)); };
  std::vector<std::vector<uint64_t>> copies(buffers.size());
  std::vector<void*> on_host(work.buffers.begin(), work.buffers.end());
  for (size_t b = 0; b < buffers.size(); ++b) {
    const size_t bytes = bytes_of(buffers[b]);
    if (!work.buffers[b] || bytes == 0) continue;
    copies[b].resize((bytes + 7) / 8);
    on_host[b] = copies[b].data();
    copy_to_host(on_host[b], work.buffers[b], bytes, stream);
  }
  (host_device().*run)({work.work, work.name, on_host, work.scalars}, Stream::Main);
  for (size_t b = 0; b < buffers.size(); ++b) {
    const size_t bytes = bytes_of(buffers[b]);
    if (buffers[b].role != ir::Role::In && bytes > 0) copy_from_host(work.buffers[b], on_host[b], bytes, stream);
  }
}

void Implementation::interpret(const Uncompiled& work, Stream stream) { on_host(work, stream, &Device::interpret); }

// A product that the library refuses twice is computed on the host, since the work before it is submitted, and is the last of its: later
// plans have none. In a capture nothing is submitted.
void Implementation::multiply(const std::shared_ptr<const ir::Work>& product, std::array<void*, 3> buffers, bool tf32, CUstream on) {
  for (const bool again : {false, true}) {
    try {
      return products_.run(std::get<ir::Call>(*product), buffers[0], buffers[1], buffers[2], tf32, on);
    } catch (const std::exception& e) {
      if (on == capturing_) throw;
      if (again) products_.fail(e.what());
    }
  }
  interpret({product, ir::signature(*product).name, buffers, {}}, Stream::Main);
}

void Implementation::call_library(const Uncompiled& call, Stream stream) {
  const ir::Node& node = std::get<ir::Call>(*call.work).node();
  if (node.op() != ir::Op::Dot || !Products::takes(node.dtype())) return on_host(call, stream, &Device::call_library);
  const Entered entered(*this);
  const std::array<void*, 3> buffers{call.buffers[0], call.buffers[1], call.buffers[2]};
  const bool tf32 = tf32_;
  submit(stream, {.words = {address(buffers[0]), address(buffers[1]), address(buffers[2]), tf32},
                  .call = [this, work = call.work, buffers, tf32](CUstream on) { multiply(work, buffers, tf32, on); },
                  .is_of_library = true,
                  .name = &call.name});
}

}  // namespace

std::unique_ptr<CudaDevice> make_cuda_device(int index) { return std::make_unique<Implementation>(index); }

}  // namespace tenon::runtime::cuda
