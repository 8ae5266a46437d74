// The shape of a view in the making.
#pragma once

#include "frontend/src/autograd/aliases.h"
#include "frontend/src/tensor/text.h"

namespace tenon {

// A shape being changed: sizes, strides and offset of the view to be. `own` counts the same places in the elements of x as if
// they lay in a row: where x shows one place in memory several times, a view of x is a function of these elements alone.
struct Geometry {
  Dims sizes, strides;
  int64_t offset;
  ElementMap own;

  explicit Geometry(const Tensor& x)
      : sizes(impl(x).sizes()),
        strides(impl(x).strides()),
        offset(impl(x).offset()),
        own{impl(x).contiguous() ? strides : ir::contiguous_strides(sizes), 0} {}
  int64_t rank() const { return std::ssize(sizes); }
  void erase(int64_t dim) {
    sizes.erase(at(dim));
    strides.erase(at(dim));
    own.strides.erase(at(dim));
  }
  void insert(int64_t dim, int64_t size, int64_t stride, int64_t own_stride) {
    sizes.insert(at(dim), size);
    strides.insert(at(dim), stride);
    own.strides.insert(at(dim), own_stride);
  }
  // A dim of size 1, with the stride that PyTorch gives it.
  void unsqueeze(int64_t dim) { insert(dim, 1, dim < rank() ? sizes[at(dim)] * strides[at(dim)] : 1, 1); }
  void swap(int64_t a, int64_t b) {
    std::swap(sizes[at(a)], sizes[at(b)]);
    std::swap(strides[at(a)], strides[at(b)]);
    std::swap(own.strides[at(a)], own.strides[at(b)]);
  }
  void repeat(int64_t dim, int64_t size) {  // one element, so many times
    sizes[at(dim)] = size;
    strides[at(dim)] = own.strides[at(dim)] = 0;
  }
  void skip(int64_t dim, int64_t elements) {
    offset += elements * strides[at(dim)];
    own.offset += elements * own.strides[at(dim)];
  }
  void select(int64_t dim, int64_t index) {
    skip(dim, index);
    erase(dim);
  }
  void narrow(int64_t dim, int64_t start, int64_t size, int64_t step) {
    skip(dim, start);
    sizes[at(dim)] = size;
    // A step past the end takes no second element, and may be too large for the product.
    for (int64_t* stride : {&strides[at(dim)], &own.strides[at(dim)]})
      *stride = static_cast<int64_t>(static_cast<uint64_t>(*stride) * static_cast<uint64_t>(step));
  }
  Tensor view_of(const Tensor& x) const { return make_view(x, ref(sizes), ref(strides), offset, &own); }
};

inline int64_t wrap_index(int64_t index, int64_t size) { return index < 0 ? index + size : index; }

// start:stop:step within a dim, as Python clamps it.
void take_slice(Geometry& g, int64_t dim, optional<int64_t> start, optional<int64_t> stop, int64_t step);

}  // namespace tenon
