// Evaluates the Python expressions in which the golden data states its cases, by calling the C++ API:
//
//   evaluate("F.softmax(x0.t() @ x1, -1)", {{"x0", a}, {"x1", b}})
//
// An expression that uses what the library does not have throws Unsupported; its own mistakes are
// tenon::Errors.
#pragma once

#include <tenon/tenon.h>

#include <map>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

namespace python {

struct Unsupported : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct None {};
struct Ellipsis {};
struct Name {  // a module, a function or a type that is not a value yet: "torch.sum" is Name{"sum"}
  std::string text;
};
struct Value;
struct List {
  std::vector<Value> items;
};
struct Bound {  // x.sum, before the call
  std::string method;
  std::vector<Value> self;
};

struct Value : std::variant<None, bool, int64_t, double, std::string, tenon::Tensor, tenon::ScalarType,
                            tenon::Device, List, tenon::indexing::Slice, Ellipsis, Name, Bound> {
  using variant::variant;
  template <typename T>
  bool is() const {
    return std::holds_alternative<T>(*this);
  }
  template <typename T>
  const T& as() const {
    if (!is<T>()) throw Unsupported("a value of another type");
    return std::get<T>(*this);
  }
};

Value evaluate(const std::string& expression, const std::map<std::string, tenon::Tensor>& variables = {});

}  // namespace python
