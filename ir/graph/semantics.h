// What the shapes and values of operations are defined with: checks of operands and attributes, and walks over elements.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "ir/graph/node.h"

namespace tenon::ir {

// Throws IrError with the op and the reason.
[[noreturn, gnu::cold]] inline void refuse(Op op, std::string_view reason) {
  throw IrError(std::string(info(op).text) + ": " + std::string(reason));
}
inline void require(bool holds, Op op, const char* reason) {
  if (!holds) refuse(op, reason);
}

inline void check_dim(Op op, std::span<const int64_t> ints, const Node& x) {
  require(!ints.empty() && ints[0] >= 0 && ints[0] < x.rank(), op, "the dim is out of range");
}

// The places offset + sum(i_d * strides[d]) exist among `count` elements.
inline void check_places(Op op, std::span<const int64_t> sizes, std::span<const int64_t> strides, int64_t offset, int64_t count) {
  int64_t last = offset;
  require(offset >= 0, op, "the offset is negative");
  for (size_t i = 0; i < sizes.size(); ++i) {
    require(strides[i] >= 0, op, "a stride is negative");
    int64_t reach = 0;
    const bool too_far =
        __builtin_mul_overflow(std::max<int64_t>(sizes[i] - 1, 0), strides[i], &reach) || __builtin_add_overflow(last, reach, &last);
    require(!too_far, op, "reaches past the end");
  }
  require(element_count(sizes) == 0 || last < count, op, "reaches past the end");
}

using ElementBits = std::vector<uint64_t>;  // row-major, each element as in Constant::bits

// Calls f(flat, index) for every position of `shape` in row-major order.
template <typename F>
void for_each_index(const Dims& shape, F f) {
  const int64_t count = element_count(shape);
  Dims index(shape.size(), 0);
  for (int64_t flat = 0; flat < count; ++flat) {
    f(flat, index);
    for (size_t i = shape.size(); i-- > 0 && ++index[i] == shape[i];) index[i] = 0;
  }
}

inline int64_t position(const Dims& index, const Dims& strides) {
  int64_t flat = 0;
  for (size_t i = 0; i < index.size(); ++i) flat += index[i] * strides[i];
  return flat;
}

// Calls f(i, place): the i-th position of `sizes` in row-major order and its place among the elements.
template <typename F>
void for_each_place(const Dims& sizes, std::span<const int64_t> strides_and_offset, F f) {
  const Dims strides(strides_and_offset.first(sizes.size()));
  for_each_index(sizes, [&](int64_t flat, const Dims& index) { f(flat, strides_and_offset.back() + position(index, strides)); });
}

// Calls f(first, stride, count) for every line of `shape` along dim.
template <typename F>
void for_each_line(const Dims& shape, size_t dim, F f) {
  const Dims strides = contiguous_strides(shape);
  Dims others = shape;
  others[dim] = std::min<int64_t>(others[dim], 1);
  for_each_index(others, [&](int64_t, const Dims& index) { f(position(index, strides), strides[dim], shape[dim]); });
}

}  // namespace tenon::ir
