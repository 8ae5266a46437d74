// Device memory as the graph sees it: a payload that owns bytes and says on which device they lie.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include "ir/graph.h"

namespace tenon::runtime {

class Buffer final : public ir::Payload {
 public:
  // From the caching allocator; contents undefined, 64-byte aligned. Throws OutOfMemory. bytes may be 0.
  static std::shared_ptr<Buffer> allocate(size_t bytes);
  // Memory owned by somebody else; `deleter` runs when the last reference is gone.
  static std::shared_ptr<Buffer> adopt(void* data, size_t bytes, std::function<void(void*)> deleter);
  ~Buffer() override;

  void* data() const { return data_; }
  size_t bytes() const { return bytes_; }

 private:
  Buffer() = default;
  void* data_ = nullptr;
  size_t bytes_ = 0;
  std::function<void(void*)> deleter_;  // empty: goes back to the allocator
};

struct OutOfMemory : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The buffer of a materialised node; null if it is still pending.
std::shared_ptr<Buffer> buffer_of(const ir::Node& node);

}  // namespace tenon::runtime
