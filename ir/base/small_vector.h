// A vector of trivially copyable elements that keeps the first N of them inside itself. Shapes, index lists and
// argument lists are nearly always short, and recording an op must not allocate for them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "tenon/error.h"

namespace tenon {

template <typename T, uint32_t N>
class SmallVector {
  static_assert(std::is_trivially_copyable_v<T>, "SmallVector copies its elements with memcpy");

 public:
  using value_type = T;

  SmallVector() = default;
  SmallVector(std::initializer_list<T> values) { append(values.begin(), values.size()); }
  SmallVector(size_t count, T value) { resize(count, value); }
  SmallVector(const std::vector<T>& values) { append(values.data(), values.size()); }
  SmallVector(std::span<const T> values) { append(values.data(), values.size()); }
  template <typename It>
  requires(!std::is_integral_v<It>) SmallVector(It first, It last) {
    for (; first != last; ++first) push_back(*first);
  }
  SmallVector(const SmallVector& other) { copy(other); }
  SmallVector(SmallVector&& other) noexcept { take(other); }
  SmallVector& operator=(const SmallVector& other) {
    if (this != &other) {
      size_ = 0;
      copy(other);
    }
    return *this;
  }
  SmallVector& operator=(SmallVector&& other) noexcept {
    if (this != &other) {
      release();
      take(other);
    }
    return *this;
  }
  ~SmallVector() { release(); }

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* data() { return heap_ ? heap_ : local(); }
  const T* data() const { return heap_ ? heap_ : local(); }
  T* begin() { return data(); }
  T* end() { return data() + size_; }
  const T* begin() const { return data(); }
  const T* end() const { return data() + size_; }
  T& operator[](size_t i) { return data()[i]; }
  const T& operator[](size_t i) const { return data()[i]; }
  T& front() { return data()[0]; }
  const T& front() const { return data()[0]; }
  T& back() { return data()[size_ - 1]; }
  const T& back() const { return data()[size_ - 1]; }

  void push_back(T value) {
    if (size_ == capacity_) grow(size_ + 1);
    data()[size_++] = value;
  }
  void pop_back() { --size_; }
  void clear() { size_ = 0; }
  void resize(size_t count, T value = T{}) {
    if (count > capacity_) grow(count);
    for (size_t i = size_; i < count; ++i) data()[i] = value;
    size_ = static_cast<uint32_t>(count);
  }
  void append(const T* values, size_t count) {
    if (count == 0) return;
    if (size_ + count > capacity_) grow(size_ + count);
    std::memcpy(static_cast<void*>(data() + size_), values, count * sizeof(T));
    size_ += static_cast<uint32_t>(count);
  }
  void insert(size_t at, T value) {
    push_back(value);
    for (size_t i = size_ - 1; i > at; --i) std::swap(data()[i], data()[i - 1]);
  }
  void erase(size_t at) {
    for (size_t i = at; i + 1 < size_; ++i) data()[i] = data()[i + 1];
    --size_;
  }

  operator std::span<const T>() const { return {data(), size_}; }
  std::vector<T> vec() const { return {begin(), end()}; }

  friend bool operator==(const SmallVector& a, const SmallVector& b) {
    if (a.size_ != b.size_) return false;
    for (uint32_t i = 0; i < a.size_; ++i) {
      if (!(a[i] == b[i])) return false;
    }
    return true;
  }

 private:
  T* local() { return reinterpret_cast<T*>(local_); }
  const T* local() const { return reinterpret_cast<const T*>(local_); }
  void release() {
    if (heap_) std::free(heap_);
    heap_ = nullptr;
  }
  // Where there are few places all are copied, used or not: a size that the compiler knows takes no call.
#ifndef __clang__  // which does not know this warning, nor give it
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
  void copy_local(const SmallVector& other) {
    constexpr size_t kFew = 64;
    std::memcpy(local_, other.local_, sizeof(local_) <= kFew ? sizeof(local_) : other.size_ * sizeof(T));
  }
#ifndef __clang__
#pragma GCC diagnostic pop
#endif
  void copy(const SmallVector& other) {
    if (heap_ || other.heap_) return append(other.data(), other.size());
    copy_local(other);
    size_ = other.size_;
  }
  void take(SmallVector& other) {
    if (!other.heap_) copy_local(other);
    heap_ = std::exchange(other.heap_, nullptr);
    size_ = std::exchange(other.size_, 0);
    capacity_ = std::exchange(other.capacity_, N);
  }
  void grow(size_t wanted) {
    size_t capacity = capacity_ * size_t{2} > wanted ? capacity_ * size_t{2} : wanted;
    auto* fresh = static_cast<T*>(std::malloc(capacity * sizeof(T)));
    if (!fresh) throw OutOfMemoryError("out of host memory");
    std::memcpy(static_cast<void*>(fresh), data(), size_ * sizeof(T));
    release();
    heap_ = fresh;
    capacity_ = static_cast<uint32_t>(capacity);
  }

  T* heap_ = nullptr;
  uint32_t size_ = 0;
  uint32_t capacity_ = N;
  alignas(T) unsigned char local_[N * sizeof(T)];  // not initialised: recording an op makes several of these
};

}  // namespace tenon
