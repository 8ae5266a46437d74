// Indices in Python's manner: x.index({Slice(1, None), "...", None, -1}), x.index({mask}), x.index({rows, 0}).
#pragma once

#include "tenon/tensor.h"

namespace tenon::indexing {

struct EllipsisIndexType {};

// start:stop:step; what is None takes Python's default. The step must be positive.
struct Slice {
  optional<int64_t> start, stop;
  int64_t step;
  Slice(optional<int64_t> start = nullopt, optional<int64_t> stop = nullopt, optional<int64_t> step = nullopt);
};

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
  int64_t integer() const { return integer_; }  // 1 for true
  const indexing::Slice& slice() const { return slice_; }
  const tenon::Tensor& tensor() const { return tensor_; }  // a mask (bool, uint8), or int64 or int32 indices

 private:
  Kind kind_;
  int64_t integer_ = 0;
  indexing::Slice slice_;
  tenon::Tensor tensor_;
};

// After the kinds of the same names, which they would make shadows (-Wshadow).
inline constexpr std::nullopt_t None = std::nullopt;
inline constexpr EllipsisIndexType Ellipsis{};

}  // namespace tenon::indexing
