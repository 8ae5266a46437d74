// Entries of the table of calls by PyTorch's schema: the first of its overloads that takes the arguments is called.
//
//   t["lerp"] = overloads({
//       {"Tensor self, Tensor end, Scalar weight",
//        [](const Arguments& a) -> Value { return tenon::lerp(a.tensor(0), a.tensor(1), a.scalar(2)); }},
//       {"Tensor self, Tensor end, Tensor weight", ...
#pragma once

#include <deque>
#include <string_view>
#include <tuple>

#include "frontend/python/call.h"

namespace python {

// A parameter of a schema, in its order.
struct Parameter {
  std::string type, name, text;  // text: of the default
  bool has_default, only_by_name;
};

// What a call gives to the parameters of one overload; null where the default holds.
class Arguments {
 public:
  // False if the overload does not take the call's arguments.
  bool bind(const Call& c, const std::vector<Parameter>& parameters);
  void mark_read(const Call& c) const;

  const tenon::Tensor& tensor(size_t i) const { return value(i)->as<tenon::Tensor>(); }
  tenon::optional<tenon::Tensor> maybe_tensor(size_t i) const;
  std::vector<tenon::Tensor> tensors(size_t i) const { return tensors_of(*value(i)); }
  tenon::Scalar scalar(size_t i) const;
  tenon::optional<tenon::Scalar> maybe_scalar(size_t i) const;
  int64_t integer(size_t i) const;
  tenon::optional<int64_t> maybe_integer(size_t i) const;
  double real(size_t i) const { return scalar(i).toDouble(); }
  tenon::optional<double> maybe_real(size_t i) const;
  bool flag(size_t i) const;
  tenon::optional<bool> maybe_flag(size_t i) const;
  std::string_view string(size_t i) const;
  tenon::optional<std::string_view> maybe_string(size_t i) const;
  Ints ints(size_t i) const;
  tenon::OptionalIntArrayRef maybe_ints(size_t i) const;
  tenon::ScalarType type(size_t i) const { return value(i)->as<tenon::ScalarType>(); }
  tenon::optional<tenon::ScalarType> maybe_type(size_t i) const;

 private:
  const Value* value(size_t i) const { return values_[i]; }
  // The argument is None, or is not there and has no other default: in Python what may be None may be left out.
  bool none(size_t i) const {
    const std::string& text = (*parameters_)[i].text;
    return value(i) ? value(i)->is<None>() : text.empty() || text == "None";
  }

  const std::vector<Parameter>* parameters_ = nullptr;
  std::vector<const Value*> values_;
  Value gathered_;                       // f(2, 3) for f((2, 3))
  mutable std::deque<Ints> lists_ = {};  // what references to lists refer to
};

struct Overload {
  const char* schema;
  Value (*call)(const Arguments&);
};
Function overloads(const std::vector<Overload>& list);

// A result of several tensors, whose names are the schema's.
template <typename... T>
Value fields(const char* name, std::vector<std::string> names, const std::tuple<T...>& result) {
  const auto list = std::apply([](const T&... each) { return std::vector<tenon::Tensor>{each...}; }, result);
  return names.empty() ? list_of(list) : named(name, std::move(names), list);
}

// The functions of frontend/functions.def whose parameters and results are Python's too.
void add_printed(Table& t);

}  // namespace python
