// Which overload takes the arguments of a call, and their values as C++ has them.
#include "frontend/python/overloads.h"

#include <algorithm>

namespace python {

using tenon::Scalar;
using tenon::Tensor;

namespace {

bool is_integer(const Value& v) { return v.is<bool>() || v.is<int64_t>(); }

template <typename Check>
bool is_list(const Value& v, Check check) {
  return v.is<List>() && std::ranges::all_of(v.as<List>().items, check);
}

bool is_ints(const Value& v) { return v.is<int64_t>() || is_list(v, is_integer); }

bool fits(const Value& v, std::string_view type) {
  if (type.ends_with("?")) return v.is<None>() || fits(v, type.substr(0, type.size() - 1));
  if (type == "Tensor" || type == "Tensor(a)" || type == "Tensor(a!)" || type == "Tensor&") return v.is<Tensor>();
  if (type == "Scalar" || type == "float") return is_number(v);
  if (type == "int") return is_integer(v);
  if (type == "bool") return v.is<bool>();
  if (type == "str") return v.is<std::string>();
  if (type == "ScalarType") return v.is<tenon::ScalarType>();
  if (type == "int[]") return is_ints(v);
  if (type == "Tensor[]") return is_list(v, [](const Value& item) { return item.is<Tensor>(); });
  throw std::logic_error("no type of a parameter: " + std::string(type));
}

std::vector<Parameter> parse(std::string_view schema) {
  std::vector<Parameter> result;
  bool only_by_name = false;
  for (size_t begin = 0, depth = 0, i = 0; i <= schema.size(); ++i) {
    if (i < schema.size() && schema[i] == '[') ++depth;
    if (i < schema.size() && schema[i] == ']') --depth;
    if (i < schema.size() && (schema[i] != ',' || depth > 0)) continue;
    const std::string text(schema.substr(begin, i - begin));
    begin = std::min(i + 2, schema.size());
    if (text == "*") {
      only_by_name = true;
      continue;
    }
    const size_t space = text.find(' '), equal = text.find('=');
    const bool has_default = equal != std::string::npos;
    result.push_back({text.substr(0, space), text.substr(space + 1, has_default ? equal - space - 1 : equal),
                      has_default ? text.substr(equal + 1) : "", has_default, only_by_name});
  }
  return result;
}

// Python's name of a parameter: the first tensor's is "input".
const Value* by_name(const Call& c, const Parameter& p) {
  auto it = c.named.find(p.name);
  if (it == c.named.end() && p.name == "self") it = c.named.find("input");
  return it == c.named.end() ? nullptr : &it->second;
}

}  // namespace

bool Arguments::bind(const Call& c, const std::vector<Parameter>& parameters) {
  parameters_ = &parameters;
  values_.assign(parameters.size(), nullptr);
  const size_t places = static_cast<size_t>(std::ranges::count_if(parameters, [](const Parameter& p) { return !p.only_by_name; }));
  const size_t given = c.positional.size();
  size_t named = 0;
  for (size_t i = 0; i < parameters.size(); ++i) {
    const Parameter& p = parameters[i];
    const Value* v = nullptr;
    if (!p.only_by_name && i < given) {
      v = &c.positional[i];
      if (p.type == "int[]" && i + 1 == places && given > places) {  // the numbers of a list one by one
        gathered_ = List{List::Kind::Tuple, {c.positional.begin() + static_cast<std::ptrdiff_t>(i), c.positional.end()}, {}, {}};
        v = &gathered_;
      }
    } else if ((v = by_name(c, p))) {
      ++named;
    }
    if (v ? !fits(*v, p.type) : !p.has_default && !p.type.ends_with("?")) return false;
    values_[i] = v;
  }
  return named == c.named.size() && (given <= places || !gathered_.is<None>());
}

void Arguments::mark_read(const Call& c) const {
  for (size_t i = 0; i < c.positional.size(); ++i) c.used_positions.insert(i);
  for (const auto& [name, value] : c.named) c.used_names.insert(name);
}

tenon::optional<Tensor> Arguments::maybe_tensor(size_t i) const { return none(i) ? tenon::nullopt : tenon::optional<Tensor>(tensor(i)); }
Scalar Arguments::scalar(size_t i) const {
  if (value(i)) return to_scalar(*value(i));
  const std::string& text = (*parameters_)[i].text;
  if (text.find_first_of(".e") != std::string::npos) return std::stod(text);
  return static_cast<int64_t>(std::stoll(text));
}
tenon::optional<Scalar> Arguments::maybe_scalar(size_t i) const { return none(i) ? tenon::nullopt : tenon::optional<Scalar>(scalar(i)); }
int64_t Arguments::integer(size_t i) const {
  if (value(i)) return value(i)->is<bool>() ? value(i)->as<bool>() : value(i)->as<int64_t>();
  const std::string& text = (*parameters_)[i].text;
  if (text == "Mean") return tenon::Reduction::Mean;
  return std::stoll(text);
}
tenon::optional<int64_t> Arguments::maybe_integer(size_t i) const {
  return none(i) ? tenon::nullopt : tenon::optional<int64_t>(integer(i));
}
tenon::optional<double> Arguments::maybe_real(size_t i) const { return none(i) ? tenon::nullopt : tenon::optional<double>(real(i)); }
bool Arguments::flag(size_t i) const { return value(i) ? value(i)->as<bool>() : (*parameters_)[i].text == "True"; }
tenon::optional<bool> Arguments::maybe_flag(size_t i) const { return none(i) ? tenon::nullopt : tenon::optional<bool>(flag(i)); }
std::string_view Arguments::string(size_t i) const {
  if (value(i)) return value(i)->as<std::string>();
  const std::string_view text = (*parameters_)[i].text;  // in quotes
  return text.substr(1, text.size() - 2);
}
tenon::optional<std::string_view> Arguments::maybe_string(size_t i) const {
  return none(i) ? tenon::nullopt : tenon::optional<std::string_view>(string(i));
}
Ints Arguments::ints(size_t i) const {
  if (value(i)) return ints_of(*value(i));
  Ints result;
  std::string number;
  for (const char c : (*parameters_)[i].text + ",") {
    if (c == '-' || (c >= '0' && c <= '9')) {
      number += c;
    } else if (!number.empty()) {
      result.push_back(std::stoll(number));
      number.clear();
    }
  }
  return result;
}
tenon::OptionalIntArrayRef Arguments::maybe_ints(size_t i) const {
  if (none(i)) return tenon::nullopt;
  return tenon::IntArrayRef(lists_.emplace_back(ints(i)));
}
tenon::optional<tenon::ScalarType> Arguments::maybe_type(size_t i) const {
  return none(i) ? tenon::nullopt : tenon::optional<tenon::ScalarType>(type(i));
}

Function overloads(const std::vector<Overload>& list) {
  struct Known {
    std::vector<Parameter> parameters;
    Value (*call)(const Arguments&);
  };
  std::vector<Known> known;
  for (const Overload& one : list) known.push_back({parse(one.schema), one.call});
  return [known = std::move(known)](const Call& c) -> Value {
    for (const Known& one : known) {
      Arguments arguments;
      if (!arguments.bind(c, one.parameters)) continue;
      arguments.mark_read(c);
      return one.call(arguments);
    }
    throw Unsupported("these arguments");
  };
}

}  // namespace python
