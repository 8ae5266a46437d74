// The shape of a view in the making.
#pragma once

#include "frontend/src/tensor/impl.h"
#include "frontend/src/tensor/text.h"

namespace tenon {

// A shape being changed: sizes, strides and offset of the view to be.
struct Geometry {
  Dims sizes, strides;
  int64_t offset;

  explicit Geometry(const Tensor& x)
      : sizes(impl(x).sizes()), strides(impl(x).strides()), offset(impl(x).offset()) {}
  int64_t rank() const { return std::ssize(sizes); }
  void erase(int64_t dim) {
    sizes.erase(at(dim));
    strides.erase(at(dim));
  }
  void insert(int64_t dim, int64_t size, int64_t stride) {
    sizes.insert(at(dim), size);
    strides.insert(at(dim), stride);
  }
  void narrow(int64_t dim, int64_t start, int64_t size, int64_t step) {
    offset += start * strides[at(dim)];
    sizes[at(dim)] = size;
    // A step past the end takes no second element, and may be too large for the product.
    strides[at(dim)] =
        static_cast<int64_t>(static_cast<uint64_t>(strides[at(dim)]) * static_cast<uint64_t>(step));
  }
  Tensor view_of(const Tensor& x) const { return make_view(x, ref(sizes), ref(strides), offset); }
};

inline int64_t wrap_index(int64_t index, int64_t size) { return index < 0 ? index + size : index; }

// start:stop:step within a dim, as Python clamps it.
void take_slice(Geometry& g, int64_t dim, optional<int64_t> start, optional<int64_t> stop, int64_t step);

}  // namespace tenon
