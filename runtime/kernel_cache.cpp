// Looking up, loading and compiling kernels.
#include "runtime/kernel_cache.h"

#include <chrono>
#include <stdexcept>
#include <type_traits>

#include "ir/fork.h"
#include "runtime/code_version.h"
#include "runtime/history.h"
#include "runtime/profiler.h"

namespace tenon::runtime {
namespace {

// What the bits of the code depend on beside the tree.
std::string environment_of(const Device& device) {
  return "\ntenon " + code_version() + "\n" + device.code_version() + "\n";
}

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

struct Missing {
  const ir::LoopTree* tree;
  std::shared_ptr<CompiledKernel> kernel;
  CacheState cache = CacheState::Compiled;
};

double milliseconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
}

// Takes the code from the disk, else from the compiler.
void make(Missing& m, DiskCache* disk) {
  Device& device = *m.kernel->device;
  if (disk) {
    ProfileSpan span("disk", m.tree->name.c_str());
    if (std::optional<std::string> object = disk->load(m.kernel->key)) {
      try {
        m.kernel->code = device.load(*object, *m.tree);
        m.cache = CacheState::Disk;
        return;
      } catch (const std::runtime_error&) {
        // It passed its checksum and yet does not link: compile it, which also replaces the entry.
      }
    }
  }
  ProfileSpan span("compile", m.tree->name.c_str());
  auto begin = std::chrono::steady_clock::now();
  try {
    std::string object = device.compile(*m.tree);
    m.kernel->code = device.load(object, *m.tree);
    m.kernel->compile_ms = milliseconds_since(begin);
    if (disk) disk->store(m.kernel->key, object);
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const OutOfMemoryError&) {
    throw;
  } catch (const std::exception& e) {
    throw std::runtime_error("kernel '" + m.tree->name + "' could not be compiled: " + e.what());
  }
}

}  // namespace

KernelCache& KernelCache::global() {
  static auto* cache = new KernelCache;  // never destroyed: code may run in static destructors
  return *cache;
}
std::mutex& KernelCache::global_mutex() { return global().mutex_; }
[[maybe_unused]] const bool kernels_held_over_fork =
    ir::hold_over_fork(ir::ForkOrder::Kernels, ir::fork_lock<KernelCache::global_mutex>());

std::vector<FoundKernel> KernelCache::get(std::span<const std::shared_ptr<const ir::LoopTree>> trees, Device& device,
                                          const Options& options) {
  std::unique_lock lock(mutex_);
  std::string environment;  // made when it is needed
  std::vector<FoundKernel> found(trees.size());
  std::vector<Missing> missing;
  std::vector<int64_t> waits_for(trees.size(), -1);  // position in `missing`
  auto find_missing = [&](const std::string& key) -> int64_t {
    for (size_t i = 0; i < missing.size(); ++i) {
      if (missing[i].kernel->key == key) return static_cast<int64_t>(i);
    }
    return -1;
  };
  std::vector<std::string> forms(trees.size());
  for (size_t i = 0; i < trees.size(); ++i) {
    if (const auto same = trees_.find(trees[i].get()); same != trees_.end() && same->second.kernel->device == &device) {
      found[i].kernel = same->second.kernel;
      count(Count::MemoryHits);
      continue;
    }
    forms[i] = Form(*trees[i], device).take();
    if (auto known = forms_.find(forms[i]); known != forms_.end()) {
      found[i].kernel = known->second;
      trees_.insert_or_assign(trees[i].get(), OfTree{trees[i], known->second});
      count(Count::MemoryHits);
      continue;
    }
    if (environment.empty()) environment = environment_of(device);
    std::string key = ir::print(*trees[i], false) + environment;
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
    missing.push_back({trees[i].get(), std::move(fresh)});
  }

  std::exception_ptr error;
  if (!missing.empty()) {
    const std::shared_ptr<DiskCache> disk = disk_for(options);
    lock.unlock();  // two threads may compile the same kernel then: both are kept
    try {
      host_device().in_parallel(static_cast<int64_t>(missing.size()),
                                [&](int64_t i) { make(missing[i], disk.get()); });
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
  }
  if (error) std::rethrow_exception(error);
  std::vector<bool> taken(missing.size(), false);
  for (size_t i = 0; i < trees.size(); ++i) {
    if (waits_for[i] < 0) continue;
    auto at = static_cast<size_t>(waits_for[i]);
    found[i].kernel = missing[at].kernel;
    forms_.emplace(std::move(forms[i]), found[i].kernel);
    found[i].cache = taken[at] ? CacheState::Memory : missing[at].cache;
    if (taken[at]) count(Count::MemoryHits);
    taken[at] = true;
  }
  return found;
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
