// Indices in Python's manner: x.index({Slice(1, None), "...", None, -1}).
#pragma once

#include "tenon/types.h"

namespace tenon::indexing {

inline constexpr std::nullopt_t None = std::nullopt;
struct EllipsisIndexType {};
inline constexpr EllipsisIndexType Ellipsis{};

// start:stop:step; what is None takes Python's default. The step must be positive.
struct Slice {
  optional<int64_t> start, stop;
  int64_t step;
  Slice(optional<int64_t> start = None, optional<int64_t> stop = None, optional<int64_t> step = None);
};

// One entry of an index list.
class TensorIndex {
 public:
  enum class Kind : uint8_t { None, Ellipsis, Integer, Slice };

  TensorIndex(std::nullopt_t) : kind_(Kind::None) {}
  TensorIndex(EllipsisIndexType) : kind_(Kind::Ellipsis) {}
  TensorIndex(const char* dots);  // "..."
  template <typename T>
  requires(std::is_integral_v<T> && !std::is_same_v<T, bool>) TensorIndex(T index)
      : kind_(Kind::Integer), integer_(static_cast<int64_t>(index)) {}
  TensorIndex(indexing::Slice slice) : kind_(Kind::Slice), slice_(slice) {}

  Kind kind() const { return kind_; }
  int64_t integer() const { return integer_; }
  const indexing::Slice& slice() const { return slice_; }

 private:
  Kind kind_;
  int64_t integer_ = 0;
  indexing::Slice slice_;
};

}  // namespace tenon::indexing
