// Looking up, loading and compiling kernels.
#include "runtime/cache/kernel_cache.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <stdexcept>

#include "codegen/bytecode/bytecode.h"
#include "ir/base/fork.h"
#include "ir/base/mix.h"
#include "runtime/base/code_version.h"
#include "runtime/base/compile_behind.h"
#include "runtime/history/history.h"
#include "runtime/history/profiler.h"

namespace tenon::runtime {
namespace {

// What the bits of the code depend on beside the tree.
std::string environment_of(const Device& device) { return "\ntenon " + code_version() + "\n" + device.code_version() + "\n"; }

// A hash of what ir::same_code compares.
class CodeHash {
 public:
  explicit CodeHash(const ir::LoopTree& tree) {
    add(tree.target, tree.lanes, tree.threads, tree.resident, tree.index_type, tree.size_count);
    for (const ir::TreeBuffer& b : tree.buffers) add(b.dtype, b.space, b.size_param, b.count);
    for (const ir::DType type : tree.scalars) add(type);
    for (const ir::VType& type : tree.values) add(type.dtype, type.lanes);
    for (const ir::Phase& phase : tree.phases) {
      add(phase.index, phase.extent);
      add_statements(phase.body);
    }
  }
  uint64_t value() const { return hash_; }

 private:
  template <typename... T>
  void add(T... numbers) {
    ((hash_ = ir::mix(hash_, static_cast<uint64_t>(numbers))), ...);
  }
  // Blocks nest as deep as loops do.
  void add_statements(const std::vector<ir::Stmt>& block) {
    add(block.size());
    for (const ir::Stmt& s : block) {
      add(s.kind, s.op, s.buffer, s.slot, s.result, s.mask, s.step, s.bits);
      for (const ir::ValueId argument : s.args) add(argument);
      add_statements(s.body);
      add_statements(s.orelse);
    }
  }

  uint64_t hash_ = 0;
};

// About the time in which a kernel is compiled: bytecode that takes longer does not pay.
constexpr double kCompileNs = 15e6;

// Whether it shall run as bytecode.
bool starts_first(const WantedKernel& wanted, const Options& options) {
  return options.first_tier == 2 || (options.first_tier == 1 && wanted.ns * codegen::kBytecodeSlowdown < kCompileNs);
}

// What the disk has of a kernel that has run as bytecode, in an earlier process or in this one.
constexpr std::string_view kSeen = "it ran as bytecode";

struct Missing {
  WantedKernel wanted;
  std::shared_ptr<CompiledKernel> kernel;
  uint64_t code_hash;
  CacheState cache = CacheState::Compiled;
  bool is_seen = false;  // it has run as bytecode before
};

double milliseconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
}

// By the compiler, for the disk too; `ms` is how long that took.
std::unique_ptr<Code> compile(const CompiledKernel& kernel, const ir::LoopTree& tree, DiskCache* disk, double& ms) {
  ProfileSpan span("compile", tree.name.c_str());
  const auto begin = std::chrono::steady_clock::now();
  const std::string object = kernel.device->compile(tree);
  std::unique_ptr<Code> code = kernel.device->load(object, tree);
  ms = milliseconds_since(begin);
  if (disk) disk->store(kernel.key, object);
  return code;
}

// Takes the code from the disk, else the first tier's, else the compiler's.
void make(Missing& m, DiskCache* disk, const Options& options) {
  Device& device = *m.kernel->device;
  const ir::LoopTree& tree = *m.wanted.tree;
  if (disk) {
    ProfileSpan span("disk", tree.name.c_str());
    if (std::optional<std::string> object = disk->load(m.kernel->key)) {
      m.is_seen = *object == kSeen;
      try {
        if (!m.is_seen) {
          m.kernel->code = device.load(*object, tree);
          m.cache = CacheState::Disk;
          return;
        }
      } catch (const std::runtime_error&) {
        // It passed its checksum and yet does not link: compile it, which also replaces the entry.
      }
    }
  }
  if (starts_first(m.wanted, options)) {
    ProfileSpan span("compile", tree.name.c_str());
    const auto begin = std::chrono::steady_clock::now();
    m.kernel->code = device.load_first(tree);
    if (m.kernel->code) {
      m.kernel->compile_ms = milliseconds_since(begin);
      m.kernel->first = std::make_unique<FirstTier>(m.wanted.tree);
      if (m.is_seen) {
        m.cache = CacheState::Disk;
      } else if (disk) {
        disk->store(m.kernel->key, std::string(kSeen));
      }
      return;
    }
  }
  try {
    m.kernel->code = compile(*m.kernel, tree, disk, m.kernel->compile_ms);
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const OutOfMemoryError&) {
    throw;
  } catch (const std::exception& e) {
    throw std::runtime_error("kernel '" + tree.name + "' could not be compiled: " + e.what());
  }
}

// In place of bytecode, which runs on if that fails.
void compile_first(const CompiledKernel& kernel, DiskCache* disk) {
  if (!kernel.first || kernel.first->is_begun.exchange(true)) return;
  try {
    double ms = 0;
    kernel.device->replace(*kernel.code, compile(kernel, *kernel.first->tree, disk, ms));
    count(Count::Promoted);
  } catch (const std::exception&) {
  }
  kernel.first->tree.reset();
}

}  // namespace

KernelCache& KernelCache::global() {
  static auto* cache = new KernelCache;  // never destroyed: code may run in static destructors
  return *cache;
}
std::mutex& KernelCache::global_mutex() { return global().mutex_; }
[[maybe_unused]] const bool kernels_held_over_fork = ir::hold_over_fork(ir::ForkOrder::Kernels, ir::fork_lock<KernelCache::global_mutex>());

std::shared_ptr<const CompiledKernel> KernelCache::find(const ir::LoopTree& tree, uint64_t hash, const Device& device) const {
  for (auto [it, end] = kernels_.equal_range(hash); it != end; ++it) {
    const OfTree& known = it->second;
    if (known.kernel->device == &device && ir::same_code(*known.tree, tree)) return known.kernel;
  }
  return nullptr;
}

std::vector<FoundKernel> KernelCache::get(std::span<const WantedKernel> wanted, Device& device, const Options& options) {
  std::unique_lock lock(mutex_);
  std::vector<FoundKernel> found(wanted.size());
  std::vector<Missing> missing;
  std::vector<size_t> waits_for(wanted.size(), SIZE_MAX);  // position in `missing`
  for (size_t i = 0; i < wanted.size(); ++i) {
    const std::shared_ptr<const ir::LoopTree>& tree = wanted[i].tree;
    if (const auto same = trees_.find(tree.get()); same != trees_.end() && same->second.kernel->device == &device) {
      found[i].kernel = same->second.kernel;
      count(Count::MemoryHits);
      continue;
    }
    const uint64_t hash = CodeHash(*tree).value();
    if ((found[i].kernel = find(*tree, hash, device))) {
      trees_.insert_or_assign(tree.get(), OfTree{tree, found[i].kernel});
      count(Count::MemoryHits);
      continue;
    }
    const auto is_same = [&](const Missing& m) { return m.code_hash == hash && ir::same_code(*m.wanted.tree, *tree); };
    waits_for[i] = static_cast<size_t>(std::ranges::find_if(missing, is_same) - missing.begin());
    if (waits_for[i] < missing.size()) continue;
    auto fresh = std::make_shared<CompiledKernel>();
    fresh->key = ir::print(*tree, false) + environment_of(device);
    fresh->hash = hash128(fresh->key.data(), fresh->key.size());
    fresh->device = &device;
    missing.push_back({wanted[i], std::move(fresh), hash});
  }

  std::vector<std::shared_ptr<const CompiledKernel>> again, behind;  // bytecode that shall be compiled: now, or while it runs
  for (const FoundKernel& f : found) {
    if (f.kernel && f.kernel->is_first_tier() && options.first_tier != 2) again.push_back(f.kernel);
  }
  const std::shared_ptr<DiskCache> disk = missing.empty() && again.empty() ? nullptr : disk_for(options);
  std::exception_ptr error;
  if (!missing.empty() || !again.empty()) {
    lock.unlock();  // two threads may compile the same kernel then: both are kept
    try {
      const size_t count = missing.size();
      host_device().in_parallel(static_cast<int64_t>(count + again.size()), [&](int64_t i) {
        const auto at = static_cast<size_t>(i);
        at < count ? make(missing[at], disk.get(), options) : compile_first(*again[at - count], disk.get());
      });
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
  }
  drop_unused();
  for (const Missing& m : missing) {
    if (!m.kernel->code) continue;
    kernels_.emplace(m.code_hash, OfTree{m.wanted.tree, m.kernel});
    count(m.cache == CacheState::Disk ? Count::DiskHits : Count::Compiled);
    if (m.is_seen && m.kernel->first && options.first_tier == 1) behind.push_back(m.kernel);
  }
  if (error) std::rethrow_exception(error);
  std::vector<bool> taken(missing.size(), false);
  for (size_t i = 0; i < wanted.size(); ++i) {
    const size_t at = waits_for[i];
    if (at == SIZE_MAX) continue;
    found[i].kernel = missing[at].kernel;
    found[i].cache = taken[at] ? CacheState::Memory : missing[at].cache;
    if (taken[at]) count(Count::MemoryHits);
    taken[at] = true;
  }
  lock.unlock();  // a fork holds the queue before this lock
  for (const std::shared_ptr<const CompiledKernel>& kernel : behind) {
    CompileBehind::global().add([kernel, disk] { compile_first(*kernel, disk.get()); });
  }
  return found;
}

void KernelCache::compile(std::span<const std::shared_ptr<const CompiledKernel>> kernels, const Options& options) {
  std::shared_ptr<DiskCache> disk;
  {
    const std::lock_guard lock(mutex_);
    disk = disk_for(options);
  }
  host_device().in_parallel(static_cast<int64_t>(kernels.size()),
                            [&](int64_t i) { compile_first(*kernels[static_cast<size_t>(i)], disk.get()); });
}

std::shared_ptr<DiskCache> KernelCache::disk_for(const Options& options) {
  if (!options.disk_cache) return nullptr;
  std::string directory = DiskCache::default_directory(options.cache_dir);
  if (!disk_ || directory != disk_directory_ || options.cache_max_mb != disk_max_mb_) {
    disk_directory_ = directory;
    disk_max_mb_ = options.cache_max_mb;
    disk_ = std::make_shared<DiskCache>(DiskCache::config_for(directory, options.cache_max_mb << 20));
  }
  return disk_;
}

// A program with ever new shapes of code must not grow for ever.
void KernelCache::drop_unused() {
  if (trees_.size() >= kMostTrees || kernels_.size() >= kMostKernels) trees_.clear();
  if (kernels_.size() < kMostKernels) return;
  std::erase_if(kernels_, [](const auto& entry) { return entry.second.kernel.use_count() == 1; });
}

void KernelCache::clear() {
  std::lock_guard lock(mutex_);
  trees_.clear();
  kernels_.clear();
}

size_t KernelCache::size() const {
  std::lock_guard lock(mutex_);
  return kernels_.size();
}

}  // namespace tenon::runtime
