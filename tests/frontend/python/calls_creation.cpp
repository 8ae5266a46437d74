// Factories and conversions.
#include "frontend/python/call.h"

#include <cstring>

namespace python {

using tenon::Scalar;
using tenon::ScalarType;
using tenon::Tensor;

namespace {

// Python's lists are checked to be a box and promote their numbers to one kind; braces of C++ must be of one.
struct Numbers {
  std::vector<int64_t> sizes;
  bool any_integer = false, any_real = false;

  void see(const Value& v, size_t depth, bool first) {
    if (v.is<std::string>()) throw tenon::TypeError("new(): invalid data type 'str'");
    const bool list = v.is<List>();
    const auto count = list ? static_cast<int64_t>(v.as<List>().items.size()) : 0;
    if (first && list) sizes.push_back(count);
    const bool deeper = depth < sizes.size();
    if (list != deeper || (list && sizes[depth] != count))
      throw tenon::ValueError("expected sequence of length " + std::to_string(deeper ? sizes[depth] : 0) + " at dim " +
                              std::to_string(depth) + (list ? " (got " + std::to_string(count) + ")" : " (got a number)"));
    if (list) {
      const auto& items = v.as<List>().items;
      for (size_t i = 0; i < items.size(); ++i) see(items[i], depth + 1, first && i == 0);
      return;
    }
    const Scalar number = to_scalar(v);
    any_real = any_real || number.isFloatingPoint();
    any_integer = any_integer || !number.isBoolean();
  }
  Scalar promoted(const Scalar& number) const {
    if (any_real) return number.toDouble();
    return any_integer ? Scalar(number.toLong()) : number;
  }
};

tenon::TensorData data_of(const Value& v, const Numbers& kind, std::vector<std::vector<tenon::TensorData>>& storage) {
  if (!v.is<List>()) return kind.promoted(to_scalar(v));
  std::vector<tenon::TensorData> items;
  for (const Value& item : v.as<List>().items) items.push_back(data_of(item, kind, storage));
  storage.push_back(std::move(items));
  // As braces would make it: a list that shows its elements.
  struct Braces {
    const tenon::TensorData* begin;
    size_t size;
  } braces{storage.back().data(), storage.back().size()};
  static_assert(sizeof(Braces) == sizeof(std::initializer_list<tenon::TensorData>));
  std::initializer_list<tenon::TensorData> list;
  std::memcpy(static_cast<void*>(&list), &braces, sizeof list);
  return tenon::TensorData(list);
}

Tensor make_tensor(const Call& c) {
  const Value& data = c.need(0, "data");
  if (data.is<Tensor>() || data.is<ObjectPtr>()) return tensor_of(data).clone().detach();
  std::vector<std::vector<tenon::TensorData>> storage;
  storage.reserve(1024);
  Numbers kind;
  kind.see(data, 0, true);
  return tenon::tensor(data_of(data, kind, storage), c.options());
}

Value arange_function(const Call& c) {
  if (c.has(Call::kNamed, "end"))
    return tenon::arange(c.scalar(Call::kNamed, "start", 0), c.scalar(Call::kNamed, "end", 0), c.scalar(Call::kNamed, "step", 1),
                         c.options());
  const Scalar first = c.scalar(0, "end");
  if (c.positional.size() == 1) return tenon::arange(first, c.options());
  return tenon::arange(first, c.scalar(1, "end"), c.scalar(2, "step", 1), c.options());
}

Value to_function(const Call& c) {
  if (const Value* v = c.find(Call::kNamed, "device")) return c.tensor(0).to(to_device(*v));
  const Value& v = c.need(1, "dtype");
  if (v.is<Tensor>()) return c.tensor(0).to(v.as<Tensor>());
  return v.is<ScalarType>() ? c.tensor(0).to(v.as<ScalarType>()) : c.tensor(0).to(to_device(v));
}

}  // namespace

void add_creation(Table& t) {
  t["tensor"] = [](const Call& c) -> Value { return make_tensor(c); };
  t["new_tensor"] = [](const Call& c) -> Value { return c.tensor(1, "data").to(c.tensor(0).options()).clone().detach(); };
  t["torch.Tensor"] = [](const Call& c) -> Value {
    if (c.need(0, "data").is<Tensor>()) return c.tensor(0).detach();
    return make_tensor(c).to(tenon::kFloat);
  };
  t["zeros"] = [](const Call& c) -> Value { return tenon::zeros(c.rest_as_ints(0, "size"), c.options()); };
  t["ones"] = [](const Call& c) -> Value { return tenon::ones(c.rest_as_ints(0, "size"), c.options()); };
  t["empty"] = t["zeros"];
  t["full_like"] = [](const Call& c) -> Value { return tenon::full_like(c.tensor(0), c.scalar(1, "fill_value"), c.options()); };
  t["scalar_tensor"] = [](const Call& c) -> Value { return tenon::scalar_tensor(c.scalar(0, "s"), c.options()); };
  t["zeros_like"] = [](const Call& c) -> Value { return tenon::zeros_like(c.tensor(0), c.options()); };
  t["ones_like"] = [](const Call& c) -> Value { return tenon::ones_like(c.tensor(0), c.options()); };
  t["full"] = [](const Call& c) -> Value { return tenon::full(c.ints(0, "size"), c.scalar(1, "fill_value"), c.options()); };
  t["eye"] = [](const Call& c) -> Value {
    const int64_t n = c.integer(0, "n");
    return tenon::eye(n, c.integer(1, "m", n), c.options());
  };
  t["arange"] = arange_function;
  t["linspace"] = [](const Call& c) -> Value {
    return tenon::linspace(c.scalar(0, "start"), c.scalar(1, "end"), c.integer(2, "steps"), c.options());
  };
  t["to"] = to_function;
  auto cast = [&](const char* name, ScalarType type) {
    t[std::string("Tensor.") + name] = [=](const Call& c) -> Value { return c.tensor(0).to(type); };
  };
  cast("float", tenon::kFloat);
  cast("double", tenon::kDouble);
  cast("half", tenon::kFloat16);
  cast("bfloat16", tenon::kBFloat16);
  cast("int", tenon::kInt32);
  cast("long", tenon::kInt64);
  cast("bool", tenon::kBool);
  t["type"] = [](const Call& c) -> Value { return c.tensor(0).toType(c.need(1, "dtype").as<ScalarType>()); };
  t["type_as"] = [](const Call& c) -> Value { return c.tensor(0).type_as(c.tensor(1)); };
  t["cpu"] = [](const Call& c) -> Value { return c.tensor(0).cpu(); };
  t["cuda"] = [](const Call& c) -> Value { return c.tensor(0).cuda(); };
  t["item"] = [](const Call& c) -> Value { return number_of(c.tensor(0)); };
  t[".dtype"] = [](const Call& c) -> Value { return c.tensor(0).scalar_type(); };
  t[".device"] = [](const Call& c) -> Value { return c.tensor(0).device(); };
  t["device"] = [](const Call& c) -> Value {
    const tenon::Device device = to_device(c.need(0, "device"));
    if (!c.has(1, "index")) return device;
    return tenon::Device(device.type(), static_cast<tenon::DeviceIndex>(c.integer(1, "index")));
  };
}

}  // namespace python
