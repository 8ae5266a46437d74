// The exceptions of the public API. what() is PyTorch's one-line text for the same mistake, without a back
// trace.
#pragma once

#include <stdexcept>

namespace tenon {

struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
  const char* what_without_backtrace() const noexcept { return what(); }  // LibTorch's name of the text alone
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
struct OutOfMemoryError : Error {
  using Error::Error;
};

}  // namespace tenon
