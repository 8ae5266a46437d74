// Buffers: blocks of a device's memory, given back when the last reference is gone; and the table of their packed copies.
#include "runtime/memory/buffer.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <utility>

#include "ir/base/fork.h"
#include "runtime/device/device.h"
#include "runtime/memory/packed_copies.h"

namespace tenon::runtime {
namespace {

void* allocate_block(const void* last, size_t bytes, Device& device) {
  try {
    return last ? device.allocate_at(const_cast<void*>(last), bytes, Stream::Main) : device.allocate(bytes, Stream::Main);
  } catch (const OutOfMemory&) {
    if (!PackedCopies::global().give_back()) throw;
  }
  return device.allocate(bytes, Stream::Main);
}

// Work that was submitted may still read a buffer that has no reference left.
void finish_work(Device& device) noexcept {
  if (!device.works_async()) return;
  try {
    device.synchronise(device.record(Stream::Main));
  } catch (const std::exception&) {  // of a device that is lost: nothing reads it
  }
}

}  // namespace

std::shared_ptr<Buffer> Buffer::allocate(size_t bytes, Device& device) { return allocate_at(nullptr, bytes, device); }

std::shared_ptr<Buffer> Buffer::allocate_at(const void* last, size_t bytes, Device& device) {
  std::shared_ptr<Buffer> buffer(new Buffer(device));
  // No bytes, no block, but a pointer that may be passed around.
  alignas(64) static std::byte nothing[64];
  buffer->data_ = bytes == 0 ? nothing : allocate_block(last, bytes, device);
  buffer->bytes_ = bytes;
  return buffer;
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
  PackedCopies::global().forget(*this);
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

MemoryStats memory_stats() { return host_device().memory_stats(); }
void reset_peak_memory_stats() { host_device().reset_peak_memory_stats(); }
void empty_memory_cache() {
  PackedCopies::global().give_back();
  for (Device* device : all_devices()) device->empty_cache();
}

// --- packed copies. Memory is released when the lock is open again.

PackedCopies& PackedCopies::global() {
  static auto* const copies = new PackedCopies;  // never destroyed: buffers are, at any time
  return *copies;
}
std::mutex& PackedCopies::global_mutex() { return global().mutex_; }
[[maybe_unused]] const bool packed_held_over_fork = ir::hold_over_fork(ir::ForkOrder::Packed, ir::fork_lock<PackedCopies::global_mutex>());

std::shared_ptr<Buffer> PackedCopies::find(const Buffer& source, const Layout& layout) {
  const std::lock_guard lock(mutex_);
  const auto known = copies_.find(&source);
  if (known == copies_.end()) return nullptr;
  const auto copy = std::ranges::find(known->second, layout, &Copy::layout);
  return copy == known->second.end() ? nullptr : copy->buffer;
}

bool PackedCopies::keep(const Buffer& source, const Layout& layout, const std::shared_ptr<Buffer>& copy) {
  const std::lock_guard lock(mutex_);
  if (!source.constant()) return true;  // it was written, or is known outside, since the plan was chosen: nothing would drop this
  if (bytes_ + copy->bytes() > kMostBytes) return false;
  std::vector<Copy>& copies = copies_[&source];
  if (std::ranges::find(copies, layout, &Copy::layout) != copies.end()) return true;  // another thread was faster
  copies.push_back({layout, copy});
  bytes_ += copy->bytes();
  return true;
}

void PackedCopies::forget(const Buffer& source) {
  std::vector<Copy> gone;
  const std::lock_guard lock(mutex_);
  const auto known = copies_.find(&source);
  if (known == copies_.end()) return;
  gone = std::move(known->second);
  copies_.erase(known);
  for (const Copy& copy : gone) bytes_ -= copy.buffer->bytes();
}

size_t PackedCopies::bytes() {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

bool PackedCopies::give_back() {
  decltype(copies_) gone;
  const std::lock_guard lock(mutex_);
  gone.swap(copies_);
  bytes_ = 0;
  return !gone.empty();
}

}  // namespace tenon::runtime
