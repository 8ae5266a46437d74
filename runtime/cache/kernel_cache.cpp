// Looking up, loading and compiling kernels.
#include "runtime/cache/kernel_cache.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <iterator>
#include <stdexcept>
#include <utility>

#include "ir/base/fork.h"
#include "runtime/base/code_version.h"
#include "runtime/base/compile_behind.h"
#include "runtime/history/history.h"
#include "runtime/history/profiler.h"

namespace tenon::runtime {
namespace {

// What the bits of the code depend on beside the tree.
std::string environment_of(const Device& device) { return "\ntenon " + code_version() + "\n" + device.code_version() + "\n"; }

// About the time in which a kernel is compiled: a program waits for that rather than for longer runs of bytecode.
constexpr double kCompileNs = 15e6;
// So many kernels that come again are compiled at once: what is measured after a round or two to warm up is compiled code.
constexpr size_t kFew = 4;

// What the disk has of a kernel that has run as bytecode, in an earlier process or in this one.
constexpr std::string_view kSeen = "it ran as bytecode";

bool is_same(const CompiledKernel& a, const CompiledKernel& b) { return a.device == b.device && a.key == b.key; }

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
  std::unique_ptr<Code> first;
  if (options.first_tier != 0) {
    ProfileSpan span("compile", tree.name.c_str());
    const auto begin = std::chrono::steady_clock::now();
    first = device.load_first(tree);
    if (first && (options.first_tier == 2 || m.wanted.ns * first->slowdown() < kCompileNs)) {
      m.kernel->code = std::move(first);
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
    if (!first) first = device.load_first(tree);
    if (!first) throw std::runtime_error("kernel '" + tree.name + "' could not be compiled: " + e.what());
    m.kernel->code = std::move(first);
    m.kernel->first = std::make_unique<FirstTier>(nullptr);
    m.kernel->first->is_begun = true;
    m.kernel->first->refuse(e.what());
  }
}

using Kernels = std::vector<std::shared_ptr<const CompiledKernel>>;

// In place of bytecode, which runs on if that fails.
void compile_first(const CompiledKernel& kernel, DiskCache* disk) {
  if (!kernel.first || kernel.first->is_begun.exchange(true)) return;
  try {
    double ms = 0;
    kernel.device->replace(*kernel.code, compile(kernel, *kernel.first->tree, disk, ms));
    count(Count::Promoted);
  } catch (const std::bad_alloc&) {
  } catch (const std::exception& e) {
    kernel.first->refuse(e.what());
  }
  kernel.first->tree.reset();
}

void compile_behind(const Kernels& kernels, const std::shared_ptr<DiskCache>& disk) {
  for (const std::shared_ptr<const CompiledKernel>& kernel : kernels) {
    if (kernel->first->is_queued.exchange(true)) continue;
    CompileBehind::global().add([kernel, disk] { compile_first(*kernel, disk.get()); });
  }
}

// Those that come again in the first tier: which are compiled before they run, and which behind the program.
struct Compiling {
  Kernels now, behind;
};
Compiling coming_again(std::span<const KernelAgain> kernels) {
  Compiling result;
  const auto add = [](Kernels& to, const auto& kernel) {
    if (std::ranges::find(to, kernel) == to.end()) to.push_back(kernel);
  };
  for (const auto& [kernel, compiled_ns] : kernels) {
    if (!kernel->is_first_tier()) continue;
    const auto ns = static_cast<int64_t>(compiled_ns * kernel->code->slowdown());
    if (static_cast<double>(kernel->first->ns.fetch_add(ns) + ns) > kCompileNs) add(result.now, kernel);
    else if (!kernel->first->is_queued.load(std::memory_order_relaxed)) add(result.behind, kernel);
  }
  if (result.behind.size() <= kFew) std::ranges::move(std::exchange(result.behind, {}), std::back_inserter(result.now));
  return result;
}

}  // namespace

KernelCache& KernelCache::global() {
  static auto* cache = new KernelCache;  // never destroyed: code may run in static destructors
  return *cache;
}
std::mutex& KernelCache::global_mutex() { return global().mutex_; }
[[maybe_unused]] const bool kernels_held_over_fork = ir::hold_over_fork(ir::ForkOrder::Kernels, ir::fork_lock<KernelCache::global_mutex>());

std::shared_ptr<const CompiledKernel> KernelCache::find(const CompiledKernel& wanted) const {
  for (auto [it, end] = kernels_.equal_range(wanted.hash); it != end; ++it) {
    if (is_same(*it->second, wanted)) return it->second;
  }
  return nullptr;
}

std::vector<FoundKernel> KernelCache::get(std::span<const WantedKernel> wanted, Device& device, const Options& options) {
  const std::string environment = environment_of(device);
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
    auto fresh = std::make_shared<CompiledKernel>();
    fresh->key = ir::code_bytes(*tree) + environment;
    fresh->hash = hash128(fresh->key.data(), fresh->key.size());
    fresh->device = &device;
    if ((found[i].kernel = find(*fresh))) {
      trees_.insert_or_assign(tree.get(), OfTree{tree, found[i].kernel});
      count(Count::MemoryHits);
      continue;
    }
    const auto same = std::ranges::find_if(missing, [&](const Missing& m) { return is_same(*m.kernel, *fresh); });
    waits_for[i] = static_cast<size_t>(same - missing.begin());
    if (same == missing.end()) missing.push_back({wanted[i], std::move(fresh)});
  }

  std::vector<KernelAgain> again;
  for (size_t i = 0; i < found.size(); ++i) {
    if (found[i].kernel && options.first_tier != 2) again.push_back({found[i].kernel, wanted[i].ns});
  }
  auto [now, behind] = coming_again(again);
  const bool has_work = !missing.empty() || !now.empty();
  const std::shared_ptr<DiskCache> disk = has_work || !behind.empty() ? disk_for(options) : nullptr;
  std::exception_ptr error;
  if (has_work) {
    lock.unlock();  // two threads may compile the same kernel then: both are kept
    try {
      const size_t count = missing.size();
      host_device().in_parallel(static_cast<int64_t>(count + now.size()), [&](int64_t i) {
        const auto at = static_cast<size_t>(i);
        at < count ? make(missing[at], disk.get(), options) : compile_first(*now[at - count], disk.get());
      });
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
  }
  drop_unused();
  for (const Missing& m : missing) {
    if (!m.kernel->code) continue;
    kernels_.emplace(m.kernel->hash, m.kernel);
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
  compile_behind(behind, disk);
  return found;
}

void KernelCache::leave_first_tier(std::span<const KernelAgain> kernels, const Options& options) {
  const Compiling again = coming_again(kernels);
  if (again.now.empty() && again.behind.empty()) return;
  std::shared_ptr<DiskCache> disk;
  {
    const std::lock_guard lock(mutex_);
    disk = disk_for(options);
  }
  host_device().in_parallel(static_cast<int64_t>(again.now.size()),
                            [&](int64_t i) { compile_first(*again.now[static_cast<size_t>(i)], disk.get()); });
  compile_behind(again.behind, disk);
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
  std::erase_if(kernels_, [](const auto& entry) { return entry.second.use_count() == 1; });
}

bool KernelCache::has_refused() const {
  std::lock_guard lock(mutex_);
  return std::ranges::any_of(kernels_, [](const auto& entry) { return entry.second->first && entry.second->first->is_refused; });
}

std::string KernelCache::refusal(const ir::LoopTree& tree, Device& device) const {
  CompiledKernel wanted;
  wanted.key = ir::code_bytes(tree) + environment_of(device);
  wanted.device = &device;
  wanted.hash = hash128(wanted.key.data(), wanted.key.size());
  std::lock_guard lock(mutex_);
  const std::shared_ptr<const CompiledKernel> kernel = find(wanted);
  return kernel && kernel->first && kernel->first->is_refused.load(std::memory_order_acquire) ? kernel->first->refusal : std::string();
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
