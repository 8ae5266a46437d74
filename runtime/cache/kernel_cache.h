// Code for loop trees, of any device: in memory, behind it on disk, behind that the compiler. The key is the tree's code as bytes
// (ir::code_bytes) and everything else that decides what the compiled code is. Many plans have one and the same tree, which is found by its
// address.
//
// No evaluation waits for the compiler where a device has code of a first tier (a CPU: bytecode), with the same bits. A kernel that is
// nowhere runs in it at once, unless it has so much to do that compiling takes less. When it comes again, in a plan that runs a second
// time or in another one, it is compiled: at once if few kernels come again then, else behind the program, which runs on with bytecode
// meanwhile. So is what an earlier process has seen, which the disk knows. Where bytecode has taken as long as compiling takes, and no
// code is there yet, the program waits. What runs once is never compiled.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "ir/looptree/looptree.h"
#include "runtime/base/hash.h"
#include "runtime/base/options.h"
#include "runtime/cache/disk_cache.h"
#include "runtime/device/device.h"
#include "runtime/history/record.h"

namespace tenon::runtime {

// What a kernel that runs as bytecode is compiled from, and how far that is.
struct FirstTier {
  explicit FirstTier(std::shared_ptr<const ir::LoopTree> made) : tree(std::move(made)) {}
  std::shared_ptr<const ir::LoopTree> tree;  // null once it is compiled
  std::atomic<int64_t> ns{0};                // about how long it has run as bytecode since it came again
  std::atomic<bool> is_queued{false};        // to be compiled behind the program
  std::atomic<bool> is_begun{false};         // being compiled
  std::atomic<bool> is_refused{false};       // the compiler cannot: it stays bytecode
  std::string refusal;                       // what the compiler said; written before is_refused
  void refuse(const char* said) {
    refusal = said;
    is_refused.store(true, std::memory_order_release);
  }
};

struct CompiledKernel {
  std::string key;
  Hash128 hash;
  Device* device = nullptr;
  std::shared_ptr<const Code> code;
  double compile_ms = 0;             // by this process
  std::unique_ptr<FirstTier> first;  // null: it was compiled before it ran
  bool is_first_tier() const { return first && !first->is_begun.load(std::memory_order_relaxed); }
};

// A kernel of a plan, and about how long all its launches in a run of the plan take once it is compiled.
struct WantedKernel {
  std::shared_ptr<const ir::LoopTree> tree;
  double ns = 0;
};

// A kernel that runs again, and about how long all its launches take that are asked for now, once it is compiled.
struct KernelAgain {
  std::shared_ptr<const CompiledKernel> kernel;
  double ns;
};

struct FoundKernel {
  std::shared_ptr<const CompiledKernel> kernel;
  CacheState cache = CacheState::Memory;
};

class KernelCache {
 public:
  static KernelCache& global();
  static std::mutex& global_mutex();

  // One for each tree, in order, as code of the device. Those that are nowhere compile at the same time, while other
  // threads may use the cache. One that cannot be compiled is code of the first tier for ever; std::runtime_error that names the kernel if
  // there is none; the others stay cached.
  std::vector<FoundKernel> get(std::span<const WantedKernel> wanted, Device& device, const Options& options);
  // Compiles those that are in the first tier: behind the program, or before it returns what has run as bytecode for long. One that
  // cannot be compiled stays bytecode.
  void leave_first_tier(std::span<const KernelAgain> kernels, const Options& options);
  bool has_refused() const;                                             // whether the compiler could not compile one of them
  std::string refusal(const ir::LoopTree& tree, Device& device) const;  // what it said of this one; empty: nothing
  void clear();                                                         // memory only; kernels in use live on
  size_t size() const;

 private:
  static constexpr size_t kMostKernels = 4096, kMostTrees = 256;

  // With the same key, for the same device; null if there is none.
  std::shared_ptr<const CompiledKernel> find(const CompiledKernel& wanted) const;
  std::shared_ptr<DiskCache> disk_for(const Options& options);  // null if it is switched off
  void drop_unused();

  mutable std::mutex mutex_;
  struct OfTree {
    std::shared_ptr<const ir::LoopTree> tree;
    std::shared_ptr<const CompiledKernel> kernel;
  };
  std::unordered_multimap<Hash128, std::shared_ptr<const CompiledKernel>, HashOfHash> kernels_;
  std::unordered_map<const ir::LoopTree*, OfTree> trees_;
  std::shared_ptr<DiskCache> disk_;
  std::string disk_directory_;
  int64_t disk_max_mb_ = -1;
};

}  // namespace tenon::runtime
