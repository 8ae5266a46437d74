// Calls on tensors of the same types come again, as most of a training step's do. This is what such a call is
// found by (ir/graph/memo.h).
#pragma once

#include "frontend/src/tensor/impl.h"
#include "ir/base/mix.h"

namespace tenon {

// What was called, and the types of its tensors.
class ReplayKey {
 public:
  void add(uint64_t word) { words_.push_back(word); }
  void add(const void* called) { add(reinterpret_cast<uintptr_t>(called)); }
  // Dtype, device and shape, and 8 bits more.
  void add(DType dtype, ir::DeviceTag device, std::span<const int64_t> shape, uint8_t flags = 0) {
    add(static_cast<uint64_t>(dtype) | uint64_t{static_cast<uint8_t>(device)} << 8 | uint64_t{flags} << 16 | shape.size() << 24);
    for (int64_t size : shape) add(static_cast<uint64_t>(size));
  }
  void add(const TensorImpl& t, uint8_t flags = 0) { add(t.dtype(), t.device(), t.sizes(), flags); }

  bool operator==(const ReplayKey&) const = default;
  uint64_t hash() const {
    uint64_t hash = words_.size();
    for (uint64_t word : words_) hash = ir::mix(hash, word);
    return hash;
  }

 private:
  SmallVector<uint64_t, 24> words_;
};

// The tensor is all of a storage of its own; what it shows may be replaced at any time, and nobody outside
// writes it.
inline bool is_plain(const TensorImpl& t) { return t.contiguous() && t.offset() == 0 && !t.base.defined() && t.numel() > 0; }
// What the storage of a plain tensor holds; null if that is not what it shows, or memory that others may
// write.
inline NodeRef plain_value(const TensorImpl& t) {
  NodeRef value = t.storage().value();
  return value->dtype() == t.dtype() && value->shape() == t.sizes() && !value->reads_volatile() ? value : NodeRef();
}

}  // namespace tenon
