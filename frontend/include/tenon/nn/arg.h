// What structs of options are made of: fields with a setter that returns the options and a getter of the same name, and the types of
// fields that LibTorch has for them. tenon/nn/options.h has those of layers and functions.
#pragma once

#include <array>
#include <iosfwd>
#include <limits>
#include <vector>

#include "tenon/enum.h"
#include "tenon/function.h"
#include "tenon/tensor.h"

// An option with its setter and getters, for option structs of programs too (in LibTorch: TORCH_ARG). In a struct of
// options that others extend, a template of the extending one, the setter returns that: TENON_ARG_OF. A cast moves the
// value, since std::move would be compiled once more for each type.
#define TENON_ARG(T, name) TENON_ARG_AS(decltype(*this), *this, T, name)
#define TENON_ARG_OF(Returned, T, name) TENON_ARG_AS(Returned, static_cast<Returned>(*this), T, name)
#define TENON_ARG_AS(Returned, result, T, name)      \
 public:                                             \
  auto name(T new_##name)->Returned {                \
    name##_ = static_cast<T&&>(new_##name);          \
    return result;                                   \
  }                                                  \
  const T& name() const noexcept { return name##_; } \
  T& name() noexcept { return name##_; }             \
                                                     \
 private:                                            \
  T name##_

namespace tenon {

namespace detail {
void check_count(size_t got, size_t wanted);  // Error "Expected 2 values, but instead got 3"
}  // namespace detail

// One number for each of D dims; a single one stands for all.
template <size_t D, typename T = int64_t>
class ExpandingArray {
 public:
  ExpandingArray(T value) { values_.fill(value); }
  ExpandingArray(std::initializer_list<T> values) { assign(values.begin(), values.size()); }
  ExpandingArray(ArrayRef<T> values) { assign(values.data(), values.size()); }
  ExpandingArray(const std::vector<T>& values) { assign(values.data(), values.size()); }
  ExpandingArray(const std::array<T, D>& values) : values_(values) {}
  operator ArrayRef<T>() const { return {values_.data(), D}; }
  std::array<T, D>& operator*() { return values_; }
  const std::array<T, D>& operator*() const { return values_; }
  std::array<T, D>* operator->() { return &values_; }
  const std::array<T, D>* operator->() const { return &values_; }
  T operator[](size_t i) const { return values_[i]; }
  T& operator[](size_t i) { return values_[i]; }
  const T* begin() const { return values_.data(); }
  const T* end() const { return values_.data() + D; }
  static constexpr size_t size() { return D; }

 private:
  void assign(const T* values, size_t count) {
    if (count != 1) detail::check_count(count, D);
    for (size_t i = 0; i < D; ++i) values_[i] = values[count == 1 ? 0 : i];
  }
  std::array<T, D> values_;
};
template <size_t D>
std::ostream& operator<<(std::ostream& out, const ExpandingArray<D>& values) {  // [3, 2], and 3 for D = 1
  if constexpr (D == 1) return out << Scalar(values[0]);
  else return out << IntArrayRef(values);
}

// As ExpandingArray; nullopt keeps the input's size.
template <size_t D>
class ExpandingArrayWithOptionalElem : public ExpandingArray<D> {
 public:
  using ExpandingArray<D>::ExpandingArray;
  static constexpr int64_t kAbsent = std::numeric_limits<int64_t>::min();  // what an absent element holds
  ExpandingArrayWithOptionalElem(optional<int64_t> value) : ExpandingArray<D>(value.value_or(kAbsent)) {}
  ExpandingArrayWithOptionalElem(int64_t value) : ExpandingArray<D>(value) {}
  ExpandingArrayWithOptionalElem(int value) : ExpandingArray<D>(int64_t{value}) {}
  ExpandingArrayWithOptionalElem(std::initializer_list<optional<int64_t>> values) : ExpandingArray<D>(kAbsent) {
    if (values.size() != 1) detail::check_count(values.size(), D);
    for (size_t i = 0; i < D; ++i) (*this)[i] = values.begin()[values.size() == 1 ? 0 : i].value_or(kAbsent);
  }
};

namespace nn {

using LossReduction = OneOf<Tag::None, Tag::Mean, Tag::Sum>;
using KLDivLossReduction = OneOf<Tag::None, Tag::BatchMean, Tag::Sum, Tag::Mean>;
using PadMode = OneOf<Tag::Constant, Tag::Reflect, Tag::Replicate, Tag::Circular>;
using ConvPadMode = OneOf<Tag::Zeros, Tag::Constant, Tag::Reflect, Tag::Replicate, Tag::Circular>;
using EmbeddingBagMode = OneOf<Tag::Sum, Tag::Mean, Tag::Max>;
using RNNNonlinearity = OneOf<Tag::Tanh, Tag::ReLU>;
using InterpolateMode = OneOf<Tag::Nearest, Tag::Linear, Tag::Bilinear, Tag::Bicubic, Tag::Trilinear, Tag::Area, Tag::NearestExact>;

// Numbers, kSame or kValid.
template <size_t D>
class ConvPadding {
 public:
  ConvPadding(int64_t value) : values_(value) {}
  ConvPadding(int value) : values_(int64_t{value}) {}
  ConvPadding(std::initializer_list<int64_t> values) : values_(values) {}
  ConvPadding(const ExpandingArray<D>& values) : values_(values) {}
  ConvPadding(const std::vector<int64_t>& values) : values_(values) {}
  ConvPadding(enumtype::kSame) : values_(0), name_("same") {}
  ConvPadding(enumtype::kValid) : values_(0), name_("valid") {}
  const char* name() const { return name_; }  // "same", "valid", or null for numbers
  const ExpandingArray<D>& values() const { return values_; }

 private:
  ExpandingArray<D> values_;
  const char* name_ = nullptr;
};

}  // namespace nn
}  // namespace tenon
