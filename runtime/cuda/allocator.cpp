#include "runtime/cuda/allocator.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "runtime/base/memory_sizes.h"

namespace tenon::runtime::cuda {
namespace {

constexpr size_t kUnit = 512, kPiece = size_t{2} << 20, kMostCut = size_t{256} << 10, kLarge = size_t{32} << 20;

size_t class_bytes(size_t bytes) {
  if (bytes >= kLarge) return (bytes + kPiece - 1) / kPiece * kPiece;
  return size_class(bytes, kUnit).bytes;
}

bool is_on(const char* variable, bool otherwise) {
  const char* value = std::getenv(variable);
  return value && *value ? std::strcmp(value, "0") != 0 : otherwise;
}

}  // namespace

Allocator::Allocator(Context& context, int index, const std::vector<CUstream>& streams)
    : context_(context),
      index_(index),
      streams_(streams),
      caches_(is_on("TENON_CUDA_CACHE", true)),
      poisons_(is_on("TENON_CUDA_POISON", false)) {}

void* Allocator::allocate(size_t bytes, Stream stream) { return allocate(bytes, stream, false, 0); }
void* Allocator::allocate_at(void* home, size_t bytes, Stream stream) {
  return allocate(bytes, stream, true, reinterpret_cast<CUdeviceptr>(home));
}

void* Allocator::allocate(size_t bytes, Stream stream, bool as_home, CUdeviceptr wanted) {
  const std::lock_guard lock(mutex_);
  if (bytes > kLargestBlock) fail(bytes);
  const size_t size = caches_ ? class_bytes(bytes) : bytes;
  Block block = take(size, stream, wanted);
  if (block.address == 0) fail(bytes);
  block.home = as_home;
  live_.emplace(block.address, block);
  stats_.allocated += static_cast<int64_t>(size);
  stats_.peak_allocated = std::max(stats_.peak_allocated, stats_.allocated);
  stats_.peak_reserved = std::max(stats_.peak_reserved, stats_.reserved);
  ++stats_.allocations;
  ++stats_.live_buffers;
  if (!poisons_) return reinterpret_cast<void*>(block.address);
  const Context::Current current(context_);
  context_.check(context_.api().fill_bytes(block.address, 0xff, bytes, streams_[static_cast<size_t>(stream)]), "cuMemsetD8Async");
  return reinterpret_cast<void*>(block.address);
}

Allocator::Block Allocator::take(size_t size, Stream stream, CUdeviceptr wanted) {
  Free& free = free_[static_cast<size_t>(stream)][size];
  auto home = free.homes.find(wanted);
  if (home == free.homes.end() && free.blocks.empty()) home = free.homes.begin();
  if (home != free.homes.end()) {
    const Block block = home->second;
    free.homes.erase(home);
    ++stats_.cache_hits;
    return block;
  }
  if (!free.blocks.empty()) {
    const Block block = free.blocks.back();
    free.blocks.pop_back();
    ++stats_.cache_hits;
    return block;
  }
  if (limit_ > 0 && stats_.allocated + static_cast<int64_t>(size) > limit_) return {};
  const Block block = take_fresh(size);
  if (block.address != 0) return block;
  free_cached();
  return take_fresh(size);
}

Allocator::Block Allocator::take_fresh(size_t size) {
  if (limit_ > 0 && stats_.reserved + static_cast<int64_t>(size) > limit_) free_cached();
  if (caches_ && size <= kMostCut) return cut(size);
  return {from_driver(size), false};
}

// Cuts a block from the piece at hand; what is left of an old one that is too short is given up to smaller classes.
Allocator::Block Allocator::cut(size_t size) {
  if (piece_left_ < size) {
    const CUdeviceptr fresh = from_driver(kPiece);
    if (fresh == 0) return {};
    for (; piece_left_ >= kUnit; piece_left_ -= kUnit, piece_ += kUnit) free_[0][kUnit].blocks.push_back({piece_, true});
    piece_ = fresh;
    piece_left_ = kPiece;
  }
  const CUdeviceptr address = piece_;
  piece_ += size;
  piece_left_ -= size;
  return {address, true};
}

CUdeviceptr Allocator::from_driver(size_t size) {
  const Context::Current current(context_);
  CUdeviceptr address = 0;
  const CUresult result = context_.api().memory_allocate(&address, size);
  if (result == kErrorOutOfMemory) return 0;
  context_.check(result, "cuMemAlloc");
  stats_.reserved += static_cast<int64_t>(size);
  return address;
}

void Allocator::release(void* memory, size_t bytes, Stream stream) noexcept {
  const std::lock_guard lock(mutex_);
  const size_t size = caches_ ? class_bytes(bytes) : bytes;
  const auto found = live_.find(reinterpret_cast<CUdeviceptr>(memory));
  if (found == live_.end()) return;
  const Block block = found->second;
  live_.erase(found);
  stats_.allocated -= static_cast<int64_t>(size);
  --stats_.live_buffers;
  if (caches_) {
    Free& free = free_[static_cast<size_t>(stream)][size];
    if (block.home) free.homes.emplace(block.address, block);
    else free.blocks.push_back(block);
    return;
  }
  const Context::Current current(context_);
  context_.api().memory_free(block.address);  // waits for the device; one that is lost has freed it already
  stats_.reserved -= static_cast<int64_t>(size);
}

// The driver waits for the device before it takes memory back. Cut blocks stay: their pieces are shared.
void Allocator::free_cached() noexcept {
  const Context::Current current(context_);
  for (FreeLists& lists : free_) {
    for (auto& [size, free] : lists) {
      std::vector<Block>& blocks = free.blocks;
      for (const auto& [address, block] : std::exchange(free.homes, {})) blocks.push_back(block);
      const auto whole = std::partition(blocks.begin(), blocks.end(), [](const Block& b) { return b.cut; });
      for (auto block = whole; block != blocks.end(); ++block) {
        context_.api().memory_free(block->address);
        stats_.reserved -= static_cast<int64_t>(size);
      }
      blocks.erase(whole, blocks.end());
    }
  }
}

void Allocator::empty_cache() noexcept {
  const std::lock_guard lock(mutex_);
  free_cached();
}

MemoryStats Allocator::stats() const {
  const std::lock_guard lock(mutex_);
  MemoryStats stats = stats_;
  stats.cached = stats.reserved - stats.allocated;
  return stats;
}

void Allocator::reset_peak() {
  const std::lock_guard lock(mutex_);
  stats_.peak_allocated = stats_.allocated;
  stats_.peak_reserved = stats_.reserved;
}

void Allocator::set_limit(int64_t bytes) {
  const std::lock_guard lock(mutex_);
  limit_ = bytes;
}

void Allocator::fail(size_t bytes) {
  const Context::Current current(context_);
  size_t free = 0, total = 0;
  context_.api().memory_info(&free, &total);
  const auto readable = [](auto count) { return readable_bytes(static_cast<double>(count)); };
  std::string text = "CUDA out of memory. Tried to allocate " + readable(std::min(bytes, kLargestBlock)) + ". GPU " +
                     std::to_string(index_) + " has a total capacity of " + readable(total) + " of which " + readable(free) +
                     " is free. Of the allocated memory " + readable(stats_.allocated) + " is allocated by Tenon, and " +
                     readable(stats_.reserved - stats_.allocated) + " is reserved by Tenon but unallocated.";
  if (limit_ > 0) text += " The limit that was set is " + readable(limit_) + ".";
  throw OutOfMemory(text);
}

}  // namespace tenon::runtime::cuda
