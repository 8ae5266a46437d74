// Elements that lie in the host's memory: what datasets and transforms copy and compute at once, sample by
// sample, where a recorded operation would cost more than the work.
#pragma once

#include <memory>

#include "frontend/src/tensor/impl.h"

namespace tenon::data {

// Whether the elements can be read without an evaluation, and nothing would be learnt through them.
bool lies_on_host(const Tensor& tensor);

// Row-major elements of a tensor in the host's memory; evaluates what is pending, and copies what is strided
// or elsewhere.
struct HostElementsOf {
  explicit HostElementsOf(const Tensor& tensor);
  template <typename T>
  const T* as() const {
    return reinterpret_cast<const T*>(data);
  }
  const unsigned char* data;

 private:
  std::shared_ptr<runtime::Buffer> owner_;
};

// A tensor of the host that is still to be filled.
struct NewTensor {
  NewTensor(ScalarType type, IntArrayRef sizes);
  template <typename T>
  T* as() {
    return static_cast<T*>(buffer->data());
  }
  Tensor done() && { return tensor_from_buffer(ir_type(type), ref(sizes), std::move(buffer)); }
  ScalarType type;
  Dims sizes;
  std::shared_ptr<runtime::Buffer> buffer;
};

}  // namespace tenon::data
