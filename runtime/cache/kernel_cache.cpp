// Looking up, loading and compiling kernels.
#include "runtime/cache/kernel_cache.h"

#include <chrono>
#include <stdexcept>
#include <type_traits>

#include "codegen/bytecode/bytecode.h"
#include "ir/base/fork.h"
#include "runtime/base/code_version.h"
#include "runtime/base/compile_behind.h"
#include "runtime/history/history.h"
#include "runtime/history/profiler.h"

namespace tenon::runtime {
namespace {

// What the bits of the code depend on beside the tree.
std::string environment_of(const Device& device) { return "\ntenon " + code_version() + "\n" + device.code_version() + "\n"; }

// A tree's form on a device: each of its numbers, and the length of each list before it; no names.
class Form {
 public:
  Form(const ir::LoopTree& tree, const Device& device) {
    put(device.tag(), tree.target, tree.lanes, tree.threads, tree.resident, tree.index_type, tree.size_count);
    put(tree.buffers.size());
    for (const ir::TreeBuffer& b : tree.buffers) put(b.dtype, b.space, b.size_param, b.count, b.aliased, b.stages);
    list(tree.scalars);
    put(tree.values.size());
    for (const ir::VType& type : tree.values) put(type.dtype, type.lanes);
    put(tree.phases.size());
    for (const ir::Phase& phase : tree.phases) {
      put(phase.index, phase.extent);
      statements(phase.body);
    }
  }
  std::string take() { return std::move(bytes_); }

 private:
  template <typename... T>
  void put(T... numbers) {
    static_assert((std::has_unique_object_representations_v<T> && ...), "no padding");
    (bytes_.append(reinterpret_cast<const char*>(&numbers), sizeof numbers), ...);
  }
  template <typename List>
  void list(const List& numbers) {
    put(numbers.size());
    for (auto number : numbers) put(number);
  }
  // Blocks nest as deep as loops do.
  void statements(const std::vector<ir::Stmt>& block) {
    put(block.size());
    for (const ir::Stmt& s : block) {
      put(s.kind, s.op, s.strided, s.unroll, s.transposed, s.fast, s.buffer, s.slot, s.result, s.mask, s.step, s.bits);
      list(s.args);
      statements(s.body);
      statements(s.orelse);
    }
  }

  std::string bytes_;
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

std::vector<FoundKernel> KernelCache::get(std::span<const WantedKernel> wanted, Device& device, const Options& options) {
  std::unique_lock lock(mutex_);
  std::string environment;  // made when it is needed
  std::vector<FoundKernel> found(wanted.size());
  std::vector<Missing> missing;
  std::vector<int64_t> waits_for(wanted.size(), -1);  // position in `missing`
  auto find_missing = [&](const std::string& key) -> int64_t {
    for (size_t i = 0; i < missing.size(); ++i) {
      if (missing[i].kernel->key == key) return static_cast<int64_t>(i);
    }
    return -1;
  };
  std::vector<std::string> forms(wanted.size());
  for (size_t i = 0; i < wanted.size(); ++i) {
    const std::shared_ptr<const ir::LoopTree>& tree = wanted[i].tree;
    if (const auto same = trees_.find(tree.get()); same != trees_.end() && same->second.kernel->device == &device) {
      found[i].kernel = same->second.kernel;
      count(Count::MemoryHits);
      continue;
    }
    forms[i] = Form(*tree, device).take();
    if (auto known = forms_.find(forms[i]); known != forms_.end()) {
      found[i].kernel = known->second;
      trees_.insert_or_assign(tree.get(), OfTree{tree, known->second});
      count(Count::MemoryHits);
      continue;
    }
    if (environment.empty()) environment = environment_of(device);
    std::string key = ir::print(*tree, false) + environment;
    Hash128 hash = hash128(key.data(), key.size());
    auto [begin, end] = kernels_.equal_range(hash.low);
    for (auto it = begin; it != end && !found[i].kernel; ++it) {
      if (it->second->device == &device && it->second->key == key) found[i].kernel = it->second;
    }
    if (found[i].kernel) {
      forms_.emplace(std::move(forms[i]), found[i].kernel);
      count(Count::MemoryHits);
      continue;
    }
    waits_for[i] = find_missing(key);
    if (waits_for[i] >= 0) continue;
    waits_for[i] = static_cast<int64_t>(missing.size());
    auto fresh = std::make_shared<CompiledKernel>();
    fresh->key = std::move(key);
    fresh->hash = hash;
    fresh->device = &device;
    missing.push_back({wanted[i], std::move(fresh)});
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
    kernels_.emplace(m.kernel->hash.low, m.kernel);
    count(m.cache == CacheState::Disk ? Count::DiskHits : Count::Compiled);
    if (m.is_seen && m.kernel->first && options.first_tier == 1) behind.push_back(m.kernel);
  }
  if (error) std::rethrow_exception(error);
  std::vector<bool> taken(missing.size(), false);
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (waits_for[i] < 0) continue;
    auto at = static_cast<size_t>(waits_for[i]);
    found[i].kernel = missing[at].kernel;
    forms_.emplace(std::move(forms[i]), found[i].kernel);
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
  if (trees_.size() >= kMostTrees) trees_.clear();
  if (forms_.size() >= kMostKernels || kernels_.size() >= kMostKernels) {
    forms_.clear();
    trees_.clear();
  }
  if (kernels_.size() < kMostKernels) return;
  std::erase_if(kernels_, [](const auto& entry) { return entry.second.use_count() == 1; });
}

void KernelCache::clear() {
  std::lock_guard lock(mutex_);
  trees_.clear();
  forms_.clear();
  kernels_.clear();
}

size_t KernelCache::size() const {
  std::lock_guard lock(mutex_);
  return kernels_.size();
}

}  // namespace tenon::runtime
