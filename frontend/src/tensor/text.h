// Small helpers of the checks at the front of every operation: messages, optional arguments, dims.
#pragma once

#include <atomic>
#include <locale>
#include <sstream>
#include <string>

#include "ir/op/types.h"
#include "tenon/tensor.h"

namespace tenon {

// A stream whose numbers are C's, whatever the program's locale is.
class TextStream : public std::ostringstream {
 public:
  TextStream() { imbue(std::locale::classic()); }
};

template <typename... Parts>
std::string text(const Parts&... parts) {
  TextStream out;
  (out << ... << parts);
  return out.str();
}

// errno's meaning in English: strerror asks the locale for its language.
std::string error_text(int number);

// Throws Exception with the message made of the parts unless the condition holds.
template <typename Exception = Error, typename... Parts>
void check(bool condition, const Parts&... parts) {
  if (!condition) [[unlikely]]
    throw Exception(text(parts...));
}

// A warning of the library's own.
void warn_user(const std::string& message);
void warn_user_once(std::atomic_flag& warned, const char* message);

// Whether an optional argument is given: absent and undefined mean the same.
inline bool given(const optional<Tensor>& tensor) { return tensor && tensor->defined(); }

// Error in PyTorch's words, which count the arguments, unless the tensor is one.
[[noreturn]] void refuse_undefined(int argument, const char* name);
inline void check_defined(const Tensor& tensor, int argument = 0, const char* name = "self") {
  if (!tensor.defined()) [[unlikely]]
    refuse_undefined(argument, name);
}

// A dim or size that is known to be at least 0, as an index of a list.
constexpr size_t at(int64_t i) { return static_cast<size_t>(i); }

// -rank <= dim < rank, made non-negative; a 0-dim tensor counts as rank 1. IndexError otherwise.
[[noreturn]] void refuse_dim(int64_t dim, int64_t limit);
inline int64_t wrap_dim(int64_t dim, int64_t rank) {
  const int64_t limit = rank > 0 ? rank : 1;
  if (dim < -limit || dim >= limit) [[unlikely]]
    refuse_dim(dim, limit);
  return dim < 0 ? dim + limit : dim;
}
// Each wrapped, checked against repetition, ascending; all dims if none is given.
ir::Dims wrap_dims(OptionalIntArrayRef dims, int64_t rank);

// Error unless tensors can live there.
void check_device(const Device& device);

// The product, or an Error if a size is negative or the product overflows.
int64_t checked_numel(IntArrayRef sizes);

}  // namespace tenon
