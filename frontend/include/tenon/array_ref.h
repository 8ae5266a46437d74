// A pointer and a length: how shapes, dims and tensor lists are passed. Like LibTorch's ArrayRef it does not
// own what it shows, so it belongs in argument lists, not in variables.
#pragma once

#include "tenon/cxx20.h"

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <optional>
#include <vector>

namespace tenon {

namespace detail {
// The elements of a braced list: they live to the end of the full expression, long enough for an argument.
template <typename T>
const T* elements(const std::initializer_list<T>& list) {
  return list.begin();
}
}  // namespace detail

template <typename T>
class ArrayRef {
 public:
  ArrayRef() = default;
  ArrayRef(const T& one) : data_(&one), size_(1) {}  // ones(7), sum(0)
  ArrayRef(const T* data, size_t size) : data_(data), size_(size) {}
  ArrayRef(const std::vector<T>& values) : data_(values.data()), size_(values.size()) {}
  ArrayRef(const std::initializer_list<T>& values) : data_(detail::elements(values)), size_(values.size()) {}

  const T* data() const { return data_; }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  const T& operator[](size_t i) const { return data_[i]; }
  const T& front() const { return data_[0]; }
  const T& back() const { return data_[size_ - 1]; }
  ArrayRef slice(size_t first, size_t count) const { return {data_ + first, count}; }
  ArrayRef slice(size_t first) const { return {data_ + first, size_ - first}; }
  std::vector<T> vec() const { return std::vector<T>(begin(), end()); }
  bool equals(ArrayRef other) const {
    if (size_ != other.size_) return false;
    for (size_t i = 0; i < size_; ++i) {
      if (!(data_[i] == other.data_[i])) return false;
    }
    return true;
  }
  friend bool operator==(ArrayRef a, ArrayRef b) { return a.equals(b); }

 private:
  const T* data_ = nullptr;
  size_t size_ = 0;
};

using IntArrayRef = ArrayRef<int64_t>;
std::ostream& operator<<(std::ostream& out, IntArrayRef values);  // [2, 3]

// Dims that may be left out: "all of them".
class OptionalIntArrayRef {
 public:
  OptionalIntArrayRef() = default;
  OptionalIntArrayRef(std::nullopt_t) {}
  OptionalIntArrayRef(IntArrayRef dims) : dims_(dims), has_value_(true) {}
  OptionalIntArrayRef(const int64_t& dim) : dims_(dim), has_value_(true) {}
  OptionalIntArrayRef(const std::vector<int64_t>& dims) : dims_(dims), has_value_(true) {}
  OptionalIntArrayRef(const std::initializer_list<int64_t>& dims) : dims_(dims), has_value_(true) {}

  bool has_value() const { return has_value_; }
  IntArrayRef value() const { return dims_; }

 private:
  IntArrayRef dims_;
  bool has_value_ = false;
};

using std::nullopt;
using std::optional;

}  // namespace tenon
