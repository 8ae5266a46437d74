// Indices in Python's manner: x.index({Slice(1, None), "...", None, -1}), x.index({mask}), x.index({rows, 0}).
#pragma once

#include <vector>

#include "tenon/tensor.h"

namespace tenon::indexing {

struct EllipsisIndexType {};

// start:stop:step; what is None takes Python's default. The step must be positive.
class Slice {
 public:
  Slice(optional<int64_t> start = nullopt, optional<int64_t> stop = nullopt, optional<int64_t> step = nullopt);
  int64_t start() const { return start_; }  // 0 for None
  int64_t stop() const { return stop_; }    // the greatest number for None
  int64_t step() const { return step_; }

 private:
  int64_t start_, stop_, step_;
};
std::ostream& operator<<(std::ostream& out, const Slice& slice);  // 0:3:1

// One entry of an index list.
class TensorIndex {
 public:
  enum class Kind : uint8_t { None, Ellipsis, Integer, Boolean, Slice, Tensor };

  TensorIndex(std::nullopt_t) : kind_(Kind::None) {}
  TensorIndex(EllipsisIndexType) : kind_(Kind::Ellipsis) {}
  TensorIndex(const char* dots);  // "..."
  template <typename T>
  requires(std::is_integral_v<T> && !std::is_same_v<T, bool>) TensorIndex(T index)
      : kind_(Kind::Integer), integer_(static_cast<int64_t>(index)) {}
  template <typename T>
  requires std::is_same_v<T, bool> TensorIndex(T holds) : kind_(Kind::Boolean), integer_(holds) {}
  TensorIndex(indexing::Slice slice) : kind_(Kind::Slice), slice_(slice) {}
  TensorIndex(tenon::Tensor tensor) : kind_(Kind::Tensor), tensor_(std::move(tensor)) {}

  Kind kind() const { return kind_; }
  bool is_none() const { return kind_ == Kind::None; }
  bool is_ellipsis() const { return kind_ == Kind::Ellipsis; }
  bool is_integer() const { return kind_ == Kind::Integer; }
  bool is_boolean() const { return kind_ == Kind::Boolean; }
  bool is_slice() const { return kind_ == Kind::Slice; }
  bool is_tensor() const { return kind_ == Kind::Tensor; }
  int64_t integer() const { return integer_; }  // 1 for true
  bool boolean() const { return integer_ != 0; }
  const indexing::Slice& slice() const { return slice_; }
  const tenon::Tensor& tensor() const { return tensor_; }  // a mask (bool, uint8), or int64 or int32 indices

 private:
  Kind kind_;
  int64_t integer_ = 0;
  indexing::Slice slice_;
  tenon::Tensor tensor_;
};
std::ostream& operator<<(std::ostream& out, const TensorIndex& index);                 // None, ..., 3, 0:3:1
std::ostream& operator<<(std::ostream& out, const std::vector<TensorIndex>& indices);  // (None, 3)

// After the kinds of the same names, which they would make shadows (-Wshadow).
inline constexpr std::nullopt_t None = std::nullopt;
inline constexpr EllipsisIndexType Ellipsis{};

}  // namespace tenon::indexing

namespace tenon {
// Tensor's methods as functions.
Tensor index(const Operand& self, ArrayRef<indexing::TensorIndex> indices);
Tensor& index_put_(const Operand& self, ArrayRef<indexing::TensorIndex> indices, const Operand& value, bool accumulate = false);
Tensor index_put(const Operand& self, ArrayRef<indexing::TensorIndex> indices, const Operand& value, bool accumulate = false);
}  // namespace tenon
