// The exceptions of the public API: nothing else leaves the library. what() is PyTorch's one-line text for
// the same mistake, without a back trace. The one public header that the floors below the frontend include as
// well.
#pragma once

#include <stdexcept>

namespace tenon {

struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
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
