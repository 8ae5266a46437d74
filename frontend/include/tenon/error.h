// The exceptions of the public API: nothing else leaves the library. The one public header that the floors below the frontend
// include as well. The first line of what() is PyTorch's text for the same mistake; the second, where
// an operation was called with operands, names both:
//
//   The size of tensor a (3) must match the size of tensor b (4) at non-singleton dimension 1
//     in mul(float32[2, 3], float32[4])
//
// With TENON_TRACE=1 in the environment the call stack follows.
#pragma once

#include "tenon/cxx20.h"

#include <stdexcept>
#include <string>

namespace tenon {

namespace detail {
// What an Error says after its message: line breaks included, empty where there is nothing to say.
struct ErrorPlace {
  std::string call, stack;
};
// The library sets it; where it is null an Error is its message.
inline ErrorPlace (*error_place)() = nullptr;
}  // namespace detail

struct Error : std::runtime_error {
  explicit Error(const std::string& message) : Error(message, detail::error_place ? detail::error_place() : detail::ErrorPlace()) {}
  explicit Error(const char* message) : Error(std::string(message)) {}

  std::string msg() const { return std::string(what(), length_); }  // the message alone
  // As what(), but never with a call stack.
  const char* what_without_backtrace() const noexcept { return short_.what(); }

 private:
  Error(const std::string& message, const detail::ErrorPlace& place)
      : std::runtime_error(message + place.call + place.stack),
        short_(place.stack.empty() ? static_cast<const std::runtime_error&>(*this) : std::runtime_error(message + place.call)),
        length_(message.size()) {}

  std::runtime_error short_;  // shares its text when copied
  size_t length_;
};
struct IndexError : Error {
  using Error::Error;
};
struct TypeError : Error {
  using Error::Error;
};
struct ValueError : Error {
  using Error::Error;
};
struct NotImplementedError : Error {  // the operation exists, but not for this dtype
  using Error::Error;
};
struct OutOfMemoryError : Error {
  using Error::Error;
};

}  // namespace tenon
