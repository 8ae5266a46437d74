// Conversions of values, and Python's ways to print them.
#include "frontend/python/value.h"

#include <charconv>
#include <cmath>
#include <limits>

#include "frontend/python/call.h"

namespace python {

using tenon::Scalar;
using tenon::ScalarType;
using tenon::Tensor;

Value Object::call(const Call&) { throw Unsupported("a call of " + repr()); }
Value Object::method(const std::string& name, const Call&) { throw Unsupported("method " + name + " of " + repr()); }
Value Object::attribute(const std::string& name) {
  return Bound{name, nullptr};  // the interpreter binds it
}
std::vector<Value> Object::items() { throw Unsupported("a loop over " + repr()); }
std::string Object::repr() const { throw Unsupported("printing an object"); }

Scalar to_scalar(const Value& v) {
  if (v.is<bool>()) return v.as<bool>();
  if (v.is<int64_t>()) return v.as<int64_t>();
  if (v.is<BigInteger>()) throw Unsupported("an integer beyond int64");
  return v.as<double>();
}

Value integer(Wide value) {
  if (value >= std::numeric_limits<int64_t>::min() && value <= std::numeric_limits<int64_t>::max()) return static_cast<int64_t>(value);
  return BigInteger{value};
}

Tensor tensor_of(const Value& v) {
  const Tensor* inside = v.is<ObjectPtr>() ? v.as<ObjectPtr>()->tensor() : nullptr;
  return inside ? *inside : v.as<Tensor>();
}

Value number_of(const Tensor& x) {
  const Scalar s = x.item();
  if (x.scalar_type() == tenon::kBool) return s.toBool();
  if (x.is_floating_point()) return s.toDouble();
  return s.toLong();
}

List list_of(const std::vector<Tensor>& tensors) {
  List list{List::Kind::Tuple, {}, {}, {}};
  for (const Tensor& x : tensors) list.items.emplace_back(x);
  return list;
}

List named(const char* name, std::vector<std::string> fields, const std::vector<Tensor>& tensors) {
  List list = list_of(tensors);
  list.kind = List::Kind::Named;
  list.name = name;
  list.fields = std::move(fields);
  return list;
}

List pair_of(const std::tuple<Tensor, Tensor>& pair) { return list_of({std::get<0>(pair), std::get<1>(pair)}); }

List value_and_index(const char* name, const std::tuple<Tensor, Tensor>& pair) {
  return named(name, {"values", "indices"}, {std::get<0>(pair), std::get<1>(pair)});
}

List size_of(tenon::IntArrayRef sizes) {
  List list{List::Kind::Size, {}, {}, {}};
  for (int64_t size : sizes) list.items.emplace_back(size);
  return list;
}

List tuple_of(std::vector<Value> items) { return {List::Kind::Tuple, std::move(items), {}, {}}; }

// --- printing

namespace {

std::string repr_real(double v) {  // the shortest digits that read back; with an exponent below 1e-4 and from 1e16
  if (std::isnan(v)) return "nan";
  if (std::isinf(v)) return v > 0 ? "inf" : "-inf";
  const double size = std::abs(v);
  char buffer[64];
  const bool scientific = size != 0 && (size < 1e-4 || size >= 1e16);
  const auto end =
      std::to_chars(buffer, buffer + sizeof buffer, v, scientific ? std::chars_format::scientific : std::chars_format::fixed).ptr;
  std::string text(buffer, end);
  return scientific || text.find('.') != std::string::npos ? text : text + ".0";
}

std::string repr_wide(Wide v) {
  std::string digits;
  const bool negative = v < 0;
  do {
    const int digit = static_cast<int>(v % 10);
    digits.insert(digits.begin(), static_cast<char>('0' + (negative ? -digit : digit)));
    v /= 10;
  } while (v != 0);
  return negative ? "-" + digits : digits;
}

std::string joined(const std::vector<Value>& items) {
  std::string text;
  for (size_t i = 0; i < items.size(); ++i) text += (i ? ", " : "") + repr(items[i]);
  return text;
}

std::string repr_list(const List& list) {
  switch (list.kind) {
    case List::Kind::List: return "[" + joined(list.items) + "]";
    case List::Kind::Size: return tenon::repr(tenon::IntArrayRef(ints_of(list)));
    case List::Kind::Tuple: return "(" + joined(list.items) + (list.items.size() == 1 ? ",)" : ")");
    case List::Kind::Named: break;
  }
  return tenon::repr(std::tuple(list.items.at(0).as<Tensor>(), list.items.at(1).as<Tensor>()), list.name);
}

}  // namespace

std::string repr(const Value& v) {
  if (v.is<None>()) return "None";
  if (v.is<bool>()) return v.as<bool>() ? "True" : "False";
  if (v.is<int64_t>()) return std::to_string(v.as<int64_t>());
  if (v.is<BigInteger>()) return repr_wide(v.as<BigInteger>().value);
  if (v.is<double>()) return repr_real(v.as<double>());
  if (v.is<std::string>()) return "'" + v.as<std::string>() + "'";
  if (v.is<Tensor>()) return tenon::repr(v.as<Tensor>());
  if (v.is<ScalarType>()) return tenon::repr(v.as<ScalarType>());
  if (v.is<tenon::Device>()) return tenon::repr(v.as<tenon::Device>());
  if (v.is<List>()) return repr_list(v.as<List>());
  if (v.is<ObjectPtr>()) return v.as<ObjectPtr>()->repr();
  throw Unsupported("printing a value");
}

std::string str(const Value& v) {
  if (v.is<std::string>()) return v.as<std::string>();
  if (v.is<tenon::Device>()) return v.as<tenon::Device>().str();
  return repr(v);
}

std::string format(const Value& v, const std::string& spec) {
  if (v.is<Tensor>()) return tenon::format(v.as<Tensor>(), spec);
  if (spec.empty()) return str(v);
  throw Unsupported("a format of " + str(v));
}

}  // namespace python
