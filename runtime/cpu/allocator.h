// The caching allocator behind the host's Buffers. A freed block stays here, by size class, until it is wanted again:
// fresh pages cost a kernel three times its run time. Blocks come from system_memory.h.
//
//   size classes   multiples of 64 bytes up to 512, then 8 classes to each power of two: at most 1/8 is slack
//   no free block  of 32 KB and more one of up to twice the size serves, unless a limit is set; its slack counts as cached
//   bounds         live + cached <= the limit, if one is set
//                  cached <= the cache limit: the least recently freed go first
//   failure        the whole cache is freed, one more try, then OutOfMemory
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <unordered_map>

#include "ir/base/mutex.h"
#include "runtime/memory/buffer.h"

namespace tenon::runtime {

class Allocator {
 public:
  // Where blocks come from: replaced in tests to make allocation fail. `acquire` gives null if there is no
  // memory.
  struct Source {
    void* (*acquire)(size_t bytes);
    void (*release)(void* block, size_t bytes);
  };
  static Source system_source();

  Allocator(Source source, int64_t limit, int64_t cache_limit);
  ~Allocator();
  Allocator(const Allocator&) = delete;
  Allocator& operator=(const Allocator&) = delete;

  static Allocator& global();  // of the process; its limit follows the options
  static ir::Mutex& global_mutex();

  void* allocate(size_t bytes);                      // bytes > 0; 64-byte aligned; throws OutOfMemory
  void release(void* block, size_t bytes) noexcept;  // bytes as given to allocate
  void empty_cache() noexcept;
  void set_limit(int64_t bytes);  // 0: none
  void set_cache_limit(int64_t bytes);
  Source set_source(Source source);  // frees the cache first; gives the old one

  MemoryStats stats() const;
  void reset_peak();

  static size_t class_bytes(size_t bytes);  // what an allocation of `bytes` really takes

 private:
  struct FreeBlock;
  struct Lent {  // for less than it holds
    size_t index, slack;
  };
  static constexpr size_t kClasses = 448;

  void* take_cached(size_t size_class);
  void* take_larger(size_t size_class, size_t bytes);
  void* take_fresh(size_t bytes);
  void link(FreeBlock* block);
  void unlink(FreeBlock* block) noexcept;
  void evict(int64_t keep) noexcept;  // frees the least recently freed blocks until at most `keep` bytes are cached
  [[noreturn]] void fail(size_t bytes) const;

  mutable ir::Mutex mutex_;
  Source source_;
  int64_t limit_, cache_limit_;
  MemoryStats stats_;
  std::array<FreeBlock*, kClasses> free_{};  // most recently freed first
  std::unordered_map<void*, Lent> lent_;
  FreeBlock* newest_ = nullptr;  // all free blocks by time of release
  FreeBlock* oldest_ = nullptr;
};

}  // namespace tenon::runtime
