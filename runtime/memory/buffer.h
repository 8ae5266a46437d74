// Device memory as the graph sees it: a payload that owns bytes and says on which device they lie.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>

#include "ir/graph/node.h"
#include "runtime/base/memory_stats.h"

namespace tenon::runtime {

class Device;
Device& host_device();

class Buffer final : public ir::Payload {
 public:
  // Memory of the host, or of a device, in the order of its main stream; contents undefined, 64-byte aligned. Throws
  // OutOfMemory. bytes may be 0.
  static std::shared_ptr<Buffer> allocate(size_t bytes, Device& device = host_device());
  // Memory for the same value of a plan as `last` was for (Device::allocate_at); null: anywhere.
  static std::shared_ptr<Buffer> allocate_at(const void* last, size_t bytes, Device& device);
  // Memory owned by somebody else; `deleter` runs when the last reference is gone and the device has done its work so far.
  static std::shared_ptr<Buffer> adopt(void* data, size_t bytes, std::function<void(void*)> deleter, Device& device = host_device());
  ~Buffer() override;

  void* data() const { return data_; }  // an address of the device: only the host's is for the host to read
  Device& device() const { return *device_; }
  size_t bytes() const { return bytes_; }
  bool adopted() const { return adopted_; }  // then the runtime never takes it over for an output

  int plan = -1;                     // the number of the plan that computed it; read and written under the evaluation lock
  std::atomic<uint64_t> written{0};  // the number of the work that wrote it last (async_work.h); 0: that was done at once
  std::atomic<bool> exposed{false};  // the frontend gave its address away: others may write it

  // Packed copies (packed_copies.h). The buffer counts as constant once kernels have packed so many bytes of it since it
  // was written: that takes as long as it takes to compile a kernel that keeps a copy. Each time that it is written after all
  // it takes twice as many.
  void note_packing() { packed_.fetch_add(static_cast<int64_t>(bytes_), std::memory_order_relaxed); }
  bool constant() const {
    return packed_.load(std::memory_order_relaxed) >= worth_a_copy_.load(std::memory_order_relaxed) && !exposed && !adopted_;
  }
  void drop_packed();    // where the elements change: afterwards the buffer has no packed copies and is not constant
  void refuse_packed();  // there is no room for a copy: not constant until the elements change

 private:
  explicit Buffer(Device& device) : device_(&device) {}
  Device* device_;
  void* data_ = nullptr;
  size_t bytes_ = 0;
  bool adopted_ = false;
  void forget_packed(int64_t packed);
  static constexpr int64_t kWorthACopy = 16 << 20, kNever = INT64_MAX / 4, kNoRoom = INT64_MIN / 2;
  std::atomic<int64_t> worth_a_copy_{kWorthACopy};
  std::atomic<int64_t> packed_{0};
  std::function<void(void*)> deleter_;  // of adopted memory; may be empty
};

inline int64_t bytes_of(const ir::Node& node) { return node.numel() * ir::item_size(node.dtype()); }  // of its value

// The buffer of a materialised node; null if it is still pending.
std::shared_ptr<Buffer> buffer_of(const ir::Node& node);

MemoryStats memory_stats();  // of the host
void reset_peak_memory_stats();

void empty_memory_cache();  // gives packed copies and all freed blocks of all devices back to the system

}  // namespace tenon::runtime
