// Small helpers of the checks at the front of every operation: messages, optional arguments, dims.
#pragma once

#include <sstream>
#include <string>

#include "ir/types.h"
#include "tenon/tensor.h"

namespace tenon {

template <typename... Parts>
std::string text(const Parts&... parts) {
  std::ostringstream out;
  (out << ... << parts);
  return out.str();
}

// Throws Exception with the message made of the parts unless the condition holds.
template <typename Exception = Error, typename... Parts>
void check(bool condition, const Parts&... parts) {
  if (!condition) [[unlikely]]
    throw Exception(text(parts...));
}

// Of an optional argument: absent and undefined mean the same.
inline bool given(const optional<Tensor>& tensor) { return tensor && tensor->defined(); }

// A dim or size that is known to be at least 0, as an index of a list.
constexpr size_t at(int64_t i) { return static_cast<size_t>(i); }

// -rank <= dim < rank, made non-negative; a 0-dim tensor counts as rank 1. IndexError otherwise.
int64_t wrap_dim(int64_t dim, int64_t rank);
// Each wrapped, checked against repetition, ascending; all dims if none is given.
ir::Dims wrap_dims(OptionalIntArrayRef dims, int64_t rank);

// The product, or an Error if a size is negative or the product overflows.
int64_t checked_numel(IntArrayRef sizes);

}  // namespace tenon
