// Buffers: blocks of a device's memory, given back when the last reference is gone.
#include "runtime/memory/buffer.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <span>

#include "runtime/device/device.h"

namespace tenon::runtime {
namespace {

// Added to, never taken from: read without a lock.
struct Keepers {
  std::atomic<size_t> count{0};
  std::array<MemoryKeeper*, 4> keepers{};
  std::span<MemoryKeeper* const> all() const { return std::span(keepers).first(count.load(std::memory_order_acquire)); }
};
constinit Keepers keepers;

bool give_back_all() {
  bool any = false;
  for (MemoryKeeper* keeper : keepers.all()) any |= keeper->give_back();
  return any;
}

void* allocate_block(const void* last, size_t bytes, Device& device) {
  try {
    return last ? device.allocate_at(const_cast<void*>(last), bytes, Stream::Main) : device.allocate(bytes, Stream::Main);
  } catch (const OutOfMemory&) {
    if (!give_back_all()) throw;
  }
  return device.allocate(bytes, Stream::Main);
}

// What was handed in may still read a buffer that nobody refers to.
void finish_work(Device& device) noexcept {
  if (!device.works_late()) return;
  try {
    device.synchronise(device.record(Stream::Main));
  } catch (const std::exception&) {  // of a device that is lost: nothing reads it
  }
}

}  // namespace

std::shared_ptr<Buffer> Buffer::allocate(size_t bytes) { return allocate(bytes, host_device()); }

std::shared_ptr<Buffer> Buffer::allocate(size_t bytes, Device& device) { return allocate_at(nullptr, bytes, device); }

std::shared_ptr<Buffer> Buffer::allocate_at(const void* last, size_t bytes, Device& device) {
  std::shared_ptr<Buffer> buffer(new Buffer(device));
  // No bytes, no block, but a pointer that may be passed around.
  alignas(64) static std::byte nothing[64];
  buffer->data_ = bytes == 0 ? nothing : allocate_block(last, bytes, device);
  buffer->bytes_ = bytes;
  return buffer;
}

std::shared_ptr<Buffer> Buffer::adopt(void* data, size_t bytes, std::function<void(void*)> deleter) {
  return adopt(data, bytes, std::move(deleter), host_device());
}
std::shared_ptr<Buffer> Buffer::adopt(void* data, size_t bytes, std::function<void(void*)> deleter, Device& device) {
  std::shared_ptr<Buffer> buffer(new Buffer(device));
  buffer->data_ = data;
  buffer->bytes_ = bytes;
  buffer->adopted_ = true;
  buffer->deleter_ = std::move(deleter);
  return buffer;
}

void Buffer::forget_packed(int64_t packed) {
  const int64_t worth = worth_a_copy_.load(std::memory_order_relaxed);
  if (packed_.load(std::memory_order_relaxed) == packed) return;  // mostly: nothing was ever packed
  if (packed_.exchange(packed, std::memory_order_relaxed) < worth) return;
  for (MemoryKeeper* keeper : keepers.all()) keeper->forget(*this);
  worth_a_copy_.store(std::min(2 * worth, kNever), std::memory_order_relaxed);
}
void Buffer::drop_packed() { forget_packed(0); }
void Buffer::refuse_packed() { forget_packed(kNoRoom); }

Buffer::~Buffer() {
  drop_packed();
  if (adopted_) {
    if (deleter_) {
      finish_work(*device_);
      deleter_(data_);
    }
  } else if (bytes_ > 0 && data_) {
    device_->release(data_, bytes_, Stream::Main);
  }
}

std::shared_ptr<Buffer> buffer_of(const ir::Node& node) { return std::static_pointer_cast<Buffer>(node.payload()); }

void register_keeper(MemoryKeeper& keeper) {
  static constinit std::mutex mutex;
  const std::lock_guard lock(mutex);
  const size_t count = keepers.count.load(std::memory_order_relaxed);
  keepers.keepers.at(count) = &keeper;
  keepers.count.store(count + 1, std::memory_order_release);
}

MemoryStats memory_stats() { return host_device().memory_stats(); }
void reset_peak_memory_stats() { host_device().reset_peak_memory_stats(); }
void empty_memory_cache() {
  give_back_all();
  for (Device* device : all_devices()) device->empty_cache();
}

}  // namespace tenon::runtime
