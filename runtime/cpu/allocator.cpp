// The caching allocator of the host's memory.
#include "runtime/cpu/allocator.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <new>
#include <string>

#include "ir/base/fork.h"
#include "runtime/base/memory_sizes.h"
#include "runtime/base/options.h"
#include "runtime/cpu/system_memory.h"

namespace tenon::runtime {
namespace {

constexpr size_t kAlign = 64;

int64_t default_cache_limit() {
  int64_t physical = int64_t{sysconf(_SC_PHYS_PAGES)} * int64_t{sysconf(_SC_PAGESIZE)};
  return std::max(int64_t{1} << 30, physical / 4);
}

}  // namespace

// Lives in the first bytes of a cached block.
struct Allocator::FreeBlock {
  FreeBlock *class_previous, *class_next;  // same class, newest first
  FreeBlock *newer, *older;
  size_t index, bytes;
};

Allocator::Source Allocator::system_source() { return {acquire_from_system, release_to_system}; }

Allocator::Allocator(Source source, int64_t limit, int64_t cache_limit) : source_(source), limit_(limit), cache_limit_(cache_limit) {
  static_assert(sizeof(FreeBlock) <= kAlign);
}

Allocator::~Allocator() { empty_cache(); }

Allocator& Allocator::global() {
  // Never destroyed: buffers in static objects may outlive every static of ours.
  static auto* a = new Allocator(system_source(), options().memory_limit_mb << 20, default_cache_limit());
  return *a;
}
ir::Mutex& Allocator::global_mutex() { return global().mutex_; }
[[maybe_unused]] const bool memory_held_over_fork = ir::hold_over_fork(ir::ForkOrder::Memory, ir::fork_lock<Allocator::global_mutex>());

size_t Allocator::class_bytes(size_t bytes) { return size_class(bytes, kAlign).bytes; }

void* Allocator::allocate(size_t bytes) {
  std::lock_guard lock(mutex_);
  if (bytes > kLargestBlock) fail(bytes);
  auto [index, size] = size_class(bytes, kAlign);
  void* block = take_cached(index);
  if (!block) block = take_larger(index, size);
  if (block) {
    ++stats_.cache_hits;
  } else {
    block = take_fresh(size);
    if (!block) fail(bytes);
  }
  stats_.allocated += static_cast<int64_t>(size);
  stats_.peak_allocated = std::max(stats_.peak_allocated, stats_.allocated);
  stats_.reserved = stats_.allocated + stats_.cached;
  stats_.peak_reserved = std::max(stats_.peak_reserved, stats_.reserved);
  ++stats_.allocations;
  ++stats_.live_buffers;
  return block;
}

void* Allocator::take_cached(size_t index) {
  FreeBlock* block = free_[index];
  if (block) unlink(block);
  return block;
}

// Programs whose sizes vary would otherwise touch fresh pages for each size they meet. Small blocks share their pages with others.
void* Allocator::take_larger(size_t index, size_t bytes) {
  constexpr size_t kLeast = size_t{32} << 10, kClassesAbove = 8;  // up to twice the size
  if (bytes < kLeast || limit_ > 0) return nullptr;
  for (size_t i = index + 1; i <= std::min(index + kClassesAbove, kClasses - 1); ++i) {
    FreeBlock* block = free_[i];
    if (!block) continue;
    const size_t slack = block->bytes - bytes;
    lent_.emplace(block, Lent{i, slack});
    unlink(block);
    stats_.cached += static_cast<int64_t>(slack);
    return block;
  }
  return nullptr;
}

void* Allocator::take_fresh(size_t bytes) {
  if (limit_ > 0) {
    int64_t room = limit_ - stats_.allocated - static_cast<int64_t>(bytes);
    if (room < 0) return nullptr;
    evict(room);
  }
  void* block = source_.acquire(bytes);
  if (!block) {
    evict(0);
    block = source_.acquire(bytes);
  }
  return block;
}

void Allocator::release(void* memory, size_t bytes) noexcept {
  std::lock_guard lock(mutex_);
  auto [index, size] = size_class(bytes, kAlign);
  stats_.allocated -= static_cast<int64_t>(size);
  --stats_.live_buffers;
  if (const auto lent = lent_.find(memory); lent != lent_.end()) {
    index = lent->second.index;
    size += lent->second.slack;
    stats_.cached -= static_cast<int64_t>(lent->second.slack);
    lent_.erase(lent);
  }
  auto* block = ::new (memory) FreeBlock{};
  block->index = index;
  block->bytes = size;
  link(block);
  evict(cache_limit_);
  stats_.reserved = stats_.allocated + stats_.cached;
}

void Allocator::link(FreeBlock* block) {
  block->class_next = free_[block->index];
  if (block->class_next) block->class_next->class_previous = block;
  free_[block->index] = block;
  block->older = newest_;
  (newest_ ? newest_->newer : oldest_) = block;
  newest_ = block;
  stats_.cached += static_cast<int64_t>(block->bytes);
}

void Allocator::unlink(FreeBlock* block) noexcept {
  (block->class_previous ? block->class_previous->class_next : free_[block->index]) = block->class_next;
  if (block->class_next) block->class_next->class_previous = block->class_previous;
  (block->newer ? block->newer->older : newest_) = block->older;
  (block->older ? block->older->newer : oldest_) = block->newer;
  stats_.cached -= static_cast<int64_t>(block->bytes);
}

void Allocator::evict(int64_t keep) noexcept {
  while (oldest_ && stats_.cached > keep) {
    FreeBlock* block = oldest_;
    unlink(block);
    source_.release(block, block->bytes);
  }
}

void Allocator::empty_cache() noexcept {
  std::lock_guard lock(mutex_);
  evict(0);
  stats_.reserved = stats_.allocated + stats_.cached;
}

void Allocator::set_limit(int64_t bytes) {
  std::lock_guard lock(mutex_);
  limit_ = bytes;
}

void Allocator::set_cache_limit(int64_t bytes) {
  std::lock_guard lock(mutex_);
  cache_limit_ = bytes;
  evict(bytes);
  stats_.reserved = stats_.allocated + stats_.cached;
}

Allocator::Source Allocator::set_source(Source source) {
  std::lock_guard lock(mutex_);
  evict(0);
  stats_.reserved = stats_.allocated + stats_.cached;
  return std::exchange(source_, source);
}

MemoryStats Allocator::stats() const {
  std::lock_guard lock(mutex_);
  return stats_;
}

void Allocator::reset_peak() {
  std::lock_guard lock(mutex_);
  stats_.peak_allocated = stats_.allocated;
  stats_.peak_reserved = stats_.reserved;
}

void Allocator::fail(size_t bytes) const {
  std::string text = "Tenon CPU out of memory: tried to allocate " + readable_bytes(static_cast<double>(bytes)) + " (" +
                     readable_bytes(static_cast<double>(stats_.allocated)) + " already allocated; " +
                     readable_bytes(static_cast<double>(stats_.cached)) + " cached; ";
  text += limit_ > 0 ? "limit " + readable_bytes(static_cast<double>(limit_)) + ")" : "no limit set)";
  throw OutOfMemory(text);
}

}  // namespace tenon::runtime
