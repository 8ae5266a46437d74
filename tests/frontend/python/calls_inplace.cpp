// Writing in place as Python alone has it.
#include "frontend/python/call.h"

namespace python {

void add_inplace(Table& t) {
  t["__setitem__"] = [](const Call& c) -> Value {
    const Value& index = c.need(1, "index");
    set_item(c.tensor(0), {index}, c.need(2, "value"));
    return None{};
  };
}

}  // namespace python
