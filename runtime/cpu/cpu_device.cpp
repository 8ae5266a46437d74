// Launches, copies and code on the CPU.
#include "runtime/device/device.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>

#include "codegen/bytecode/bytecode.h"
#include "codegen/executable.h"
#include "codegen/interpreter/interpreter.h"
#include "codegen/llvm/jit.h"
#include "runtime/cpu/allocator.h"
#include "runtime/cpu/routines.h"
#include "runtime/cpu/thread_pool.h"
#include "runtime/history/profiler.h"

namespace tenon::runtime {
namespace {

namespace llvm_backend = codegen::llvm_backend;

constexpr double kChunkShare = 0.4;  // of the least work worth splitting: what a chunk should take
constexpr int64_t kChunksPerThread = 8;

// This thread's scratch for Local buffers; it only grows.
void* local_scratch(size_t bytes) {
  // Without a destructor, since destructors of the thread's other objects may evaluate after it.
  struct Scratch {
    void* data;
    size_t bytes;
  };
  constinit thread_local Scratch scratch{};
  struct Owner {
    ~Owner() {
      std::free(scratch.data);
      scratch = {};
    }
  };
  thread_local Owner owner;
  if (scratch.bytes < bytes) {
    static_cast<void>(&owner);
    constexpr size_t align = codegen::kLocalAlign;
    size_t rounded = (bytes + align - 1) / align * align;
    void* fresh = std::aligned_alloc(align, rounded);
    if (!fresh) throw OutOfMemoryError("out of host memory");
    std::free(scratch.data);
    scratch = {fresh, rounded};
  }
  return scratch.data;
}

// Copies on all threads, if it is much.
void copy_bytes(void* to, const void* from, size_t bytes) {
  constexpr int64_t kPiece = 1 << 20;
  if (bytes == 0) return;
  const auto count = static_cast<int64_t>(bytes);
  if (count < 2 * kPiece) {
    std::memcpy(to, from, bytes);
    return;
  }
  ThreadPool::global().parallel_for(count, kPiece, [&](int64_t begin, int64_t end, int) {
    std::memcpy(static_cast<std::byte*>(to) + begin, static_cast<const std::byte*>(from) + begin, static_cast<size_t>(end - begin));
  });
}

// Compiled; or bytecode, and behind it what is compiled later.
struct CpuCode final : Code {
  explicit CpuCode(std::unique_ptr<codegen::Executable> made) : executable(made.release()) {}
  explicit CpuCode(std::unique_ptr<codegen::Bytecode> made) : bytecode(std::move(made)) {}
  ~CpuCode() override { delete executable.load(std::memory_order_acquire); }
  double slowdown() const override { return bytecode ? bytecode->slowdown() : 1; }
  const std::unique_ptr<codegen::Bytecode> bytecode;
  mutable std::atomic<const codegen::Executable*> executable{nullptr};
};

// Intel's processors leave them to microcode.
bool has_slow_denormals() {
#if defined(__x86_64__)
  return __builtin_cpu_is("intel");
#else
  return false;
#endif
}

ir::CpuTarget host_target() {
  ir::CpuTarget target;
  target.vector_bits = llvm_backend::host_vector_bits();
  if (const long bytes = sysconf(_SC_LEVEL2_CACHE_SIZE); bytes > 0) target.l2_bytes = bytes;
  target.cores = ThreadPool::usable_cpus();
  target.slow_denormals = has_slow_denormals();
  return target;
}

class CpuDevice final : public Device {
 public:
  CpuDevice() : Device(DeviceId{}) {}

  DeviceInfo info() const override {
    DeviceInfo info;
    info.name = llvm_backend::host_cpu();
    if (llvm_backend::available()) {
      info.compiler = "llvm";
      info.compiler_version = llvm_backend::version();
    }
    info.vector_bits = llvm_backend::host_vector_bits();
    return info;
  }
  int workers() const override { return ThreadPool::usable_cpus(); }
  ir::Target target(const Options& options) const override {
    static const ir::CpuTarget host = host_target();
    ir::CpuTarget target = host;
    if (options.vector_bits > 0) target.vector_bits = options.vector_bits;
    if (options.threads > 0) target.cores = options.threads;
    target.often = options.often == 0;
    target.compiles = compiles(options);
    return target;
  }
  bool host_accesses_memory() const override { return true; }
  bool works_async() const override { return false; }
  bool needs_alignment() const override { return false; }
  bool keeps_packed_copies() const override { return true; }
  void configure(const Options& options) override {
    inline_ns_.store(static_cast<double>(options.inline_us) * 1e3, std::memory_order_relaxed);
    ThreadPool::global().resize(options.threads > 0 ? options.threads : ThreadPool::usable_cpus());
  }

  Event record(Stream) override { return {}; }
  void wait(Stream, const Event&) override {}
  void synchronise(const Event&) override {}
  void synchronise() override {}

  void* allocate(size_t bytes, Stream) override { return Allocator::global().allocate(bytes); }
  void release(void* block, size_t bytes, Stream) noexcept override { Allocator::global().release(block, bytes); }
  MemoryStats memory_stats() const override { return Allocator::global().stats(); }
  void reset_peak_memory_stats() override { Allocator::global().reset_peak(); }
  void empty_cache() noexcept override { Allocator::global().empty_cache(); }
  void set_memory_limit(int64_t bytes) override { Allocator::global().set_limit(bytes); }

  void copy_from_host(void* to, const void* from, size_t bytes, Stream) override { copy_bytes(to, from, bytes); }
  void copy_to_host(void* to, const void* from, size_t bytes, Stream) override { copy_bytes(to, from, bytes); }
  void copy(void* to, const void* from, size_t bytes, Stream) override { copy_bytes(to, from, bytes); }

  bool compiles(const Options& options) const override {
    return options.backend != Options::Backend::Interpreter;  // without LLVM: as bytecode
  }
  std::string code_version() const override {
    static const std::string version =
        "llvm " + llvm_backend::version() + "\ncpu " + llvm_backend::host_cpu() + "\nfeatures " + llvm_backend::host_features();
    return version;
  }
  std::string compile(const ir::LoopTree& tree) override { return llvm_backend::compile_object(tree); }
  std::unique_ptr<Code> load(const std::string& bytes, const ir::LoopTree& tree) override {
    return std::make_unique<CpuCode>(llvm_backend::load_object(bytes, static_cast<int>(tree.phases.size())));
  }
  std::unique_ptr<Code> load_first(const ir::LoopTree& tree) override {
    std::unique_ptr<codegen::Bytecode> bytecode = codegen::Bytecode::of(tree);
    return bytecode ? std::make_unique<CpuCode>(std::move(bytecode)) : nullptr;
  }
  void replace(const Code& first, std::unique_ptr<Code> compiled) override {
    const codegen::Executable* none = nullptr;
    std::atomic<const codegen::Executable*>& by = static_cast<CpuCode&>(*compiled).executable;
    if (static_cast<const CpuCode&>(first).executable.compare_exchange_strong(none, by.load(), std::memory_order_acq_rel)) by = nullptr;
  }
  std::vector<CodeForm> code_forms() const override {
    return llvm_backend::available() ? std::vector{CodeForm::LLVM, CodeForm::Assembly} : std::vector<CodeForm>{};
  }
  std::string code_text(const ir::LoopTree& tree, CodeForm form) override {
    return form == CodeForm::LLVM ? llvm_backend::emit_ir(tree) : llvm_backend::emit_assembly(tree);
  }

  void launch(const Launch& launch, Stream) override {
    const auto& code = static_cast<const CpuCode&>(*launch.code);
    if (const codegen::Executable* executable = code.executable.load(std::memory_order_acquire)) {
      for (size_t p = 0; p < launch.phases.size(); ++p) {
        run_phase(launch, launch.phases[p], 0, [&, function = executable->phases[p]](int64_t begin, int64_t end, void* local) {
          function(launch.buffers.data(), launch.sizes.data(), launch.scalars.data(), begin, end, local);
        });
      }
      return;
    }
    const size_t local_bytes = (launch.local_bytes + codegen::kLocalAlign - 1) / codegen::kLocalAlign * codegen::kLocalAlign;
    for (size_t p = 0; p < launch.phases.size(); ++p) {
      const Phase phase{launch.phases[p].count, launch.phases[p].ns * code.slowdown()};
      run_phase(launch, phase, code.bytecode->register_bytes() + codegen::kLocalAlign, [&](int64_t begin, int64_t end, void* local) {
        code.bytecode->run(p, launch.buffers.data(), launch.sizes.data(), launch.scalars.data(), begin, end, local,
                           static_cast<std::byte*>(local) + local_bytes);
      });
    }
  }
  void interpret(const Uncompiled& work, Stream) override { codegen::interpret(*work.work, work.buffers.data(), work.scalars.data()); }
  void call_library(const Uncompiled& call, Stream) override {
    run_routine(std::get<ir::Call>(*call.work), call.buffers.data(), call.scalars.data());
  }

  void in_parallel(int64_t count, const std::function<void(int64_t)>& body) override {
    ThreadPool::global().parallel_for(count, 1, [&](int64_t begin, int64_t end, int) {
      for (int64_t i = begin; i < end; ++i) body(i);
    });
  }

 private:
  // run(begin, end, local), whose scratch has `more` bytes behind the launch's, on as many threads as pay.
  template <typename Run>
  void run_phase(const Launch& launch, const Phase& phase, size_t more, const Run& run) const {
    ThreadPool& pool = ThreadPool::global();
    const double inline_ns = inline_ns_.load(std::memory_order_relaxed);
    const double total = phase.ns * static_cast<double>(phase.count);
    const size_t local_bytes = launch.local_bytes + more;
    if (total < inline_ns || pool.threads() == 1) {
      run(0, phase.count, local_scratch(local_bytes));
      return;
    }
    const double chunk_ns = kChunkShare * inline_ns;
    const auto worth = static_cast<int64_t>(std::min(chunk_ns / std::max(phase.ns, 1e-3), 1e9)) + 1;
    const int64_t grain = std::max(worth, phase.count / (kChunksPerThread * pool.threads()));
    const bool profiled = Profiler::global().enabled();
    pool.parallel_for(phase.count, grain, [&](int64_t begin, int64_t end, int worker) {
      const Ticks started = profiled ? ticks() : 0;
      run(begin, end, local_scratch(local_bytes));
      if (profiled && worker > 0)  // the caller's chunks are inside its launch
        Profiler::global().add("worker", launch.name, started, ticks());
    });
  }

  std::atomic<double> inline_ns_{12e3};
};

[[maybe_unused]] const bool sketched = register_sketch(CodeForm::LLVM, {.why_none = "This build has no LLVM.\n"}) &&
                                       register_sketch(CodeForm::Assembly, {.why_none = "This build has no LLVM.\n"});

}  // namespace

std::unique_ptr<Device> make_host_device() { return std::make_unique<CpuDevice>(); }

}  // namespace tenon::runtime
