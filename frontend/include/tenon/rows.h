// A tensor as a range of its rows, and its values as a vector.
//
//   for (Tensor row : x) row += 1;                       // rows are views: x changes
//   std::vector<float> values = to_vector<float>(x);     // row-major, converted
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "tenon/tensor.h"

namespace tenon {

class RowIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = Tensor;
  using difference_type = std::ptrdiff_t;
  using pointer = void;
  using reference = Tensor;

  RowIterator() = default;
  RowIterator(const Tensor& x, int64_t row) : x_(x), row_(row) {}
  Tensor operator*() const { return x_.select(0, row_); }
  RowIterator& operator++() {
    ++row_;
    return *this;
  }
  RowIterator operator++(int) {
    RowIterator before = *this;
    ++row_;
    return before;
  }
  friend bool operator==(const RowIterator& a, const RowIterator& b) { return a.row_ == b.row_; }

 private:
  Tensor x_;
  int64_t row_ = 0;
};

// TypeError for a 0-dim tensor.
RowIterator begin(const Tensor& x);
RowIterator end(const Tensor& x);

// The elements in row-major order as T; evaluates. Numbers that T cannot hold are converted as x.to does.
template <typename T>
std::vector<T> to_vector(const Tensor& x) {
  const Tensor dense = x.to(scalar_type_of<T>()).contiguous();
  const T* data = dense.const_data_ptr<T>();
  return std::vector<T>(data, data + dense.numel());
}

}  // namespace tenon
