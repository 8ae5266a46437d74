// What a test looks at: the elements of a tensor, the message of an error.
#pragma once

#include <tenon/tenon.h>

#include <functional>
#include <string>
#include <vector>

namespace tenon::test {

// Row-major, as doubles.
using Values = std::vector<double>;
inline Values values(const Tensor& x) {
  const Tensor copy = x.to(kDouble).contiguous().clone();
  const auto* data = copy.data_ptr<double>();
  return {data, data + copy.numel()};
}

inline std::string error_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.msg();
  }
  return "no error";
}

}  // namespace tenon::test
