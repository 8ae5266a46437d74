// Python's own functions, numpy, printing.
#include <cmath>
#include <cstdlib>

#include "frontend/python/call.h"

namespace python {

using tenon::Tensor;

void add_builtins(Table& t) {
  t["builtins.float"] = [](const Call& c) -> Value {
    const Value& v = c.need(0, "x");
    if (v.is<Tensor>()) return v.as<Tensor>().item<double>();
    if (is_number(v)) return to_scalar(v).toDouble();
    return std::strtod(v.as<std::string>().c_str(), nullptr);
  };
  t["builtins.int"] = [](const Call& c) -> Value { return c.tensor(0).item<int64_t>(); };
  t["builtins.bool"] = [](const Call& c) -> Value { return c.tensor(0).is_nonzero(); };
  t["builtins.len"] = [](const Call& c) -> Value {
    const Value& v = c.need(0, "x");
    return v.is<Tensor>() ? v.as<Tensor>().size(0) : static_cast<int64_t>(v.as<List>().items.size());
  };
  t["builtins.range"] = [](const Call& c) -> Value {
    List range;
    for (int64_t i = 0; i < c.integer(0, "stop"); ++i) range.items.emplace_back(i);
    return range;
  };
  t["builtins.sum"] = [](const Call& c) -> Value {  // of lists
    List sum = c.need(1, "start").as<List>();
    for (const Value& list : c.need(0, "iterable").as<List>().items) {
      for (const Value& item : list.as<List>().items) sum.items.push_back(item);
    }
    return sum;
  };
  t["builtins.repr"] = [](const Call& c) -> Value { return repr(c.need(0, "object")); };
  t["builtins.str"] = [](const Call& c) -> Value { return str(c.need(0, "object")); };
  t["str.format"] = [](const Call& c) -> Value {
    const std::string& pattern = c.need(0, "self").as<std::string>();
    std::string text;
    size_t at = 0, argument = 1;
    for (size_t open; (open = pattern.find('{', at)) != std::string::npos;) {
      const size_t close = pattern.find('}', open), colon = pattern.find(':', open);
      text += pattern.substr(at, open - at);
      text += format(c.need(argument++, "argument"),
                     colon < close ? pattern.substr(colon + 1, close - colon - 1) : std::string());
      at = close + 1;
    }
    return text + pattern.substr(at);
  };
  t["math.sqrt"] = [](const Call& c) -> Value { return std::sqrt(c.real(0, "x", 0)); };
  t["torch.set_num_threads"] = [](const Call& c) -> Value {
    tenon::set_num_threads(static_cast<int>(c.integer(0, "int")));
    return None{};
  };
}

}  // namespace python
