// Python's own functions, numpy, printing.
#include <cmath>
#include <cstdlib>

#include "frontend/python/call.h"

namespace python {

using tenon::Tensor;

namespace {

// An array of numpy: in C++ the memory of a tensor.
class Array : public Object {
 public:
  explicit Array(Tensor x)
      : owner_(std::move(x)), x_(tenon::from_blob(owner_.data_ptr(), owner_.sizes(), owner_.strides(), owner_.options())) {}
  const Tensor* tensor() const override { return &x_; }
  std::string repr() const override {
    std::string text = tenon::repr(x_), type = tenon::repr(x_.scalar_type());
    const bool plain = x_.scalar_type() == tenon::kDouble || x_.scalar_type() == tenon::kLong;
    text = "array" + text.substr(6, text.find(']') - 5);
    return text + (plain ? ")" : ", dtype=" + type.substr(type.find('.') + 1) + ")");
  }

 private:
  Tensor owner_, x_;
};

Value array(Tensor x) { return ObjectPtr(std::make_shared<Array>(std::move(x))); }

const Tensor& from_array(const Value& v) {
  const Array* a = v.object<Array>();
  if (!a) throw Unsupported("no array of numpy");
  return *a->tensor();
}

// The library does not own numpy's memory: the array must live as long.
Tensor shared(const Tensor& x) { return tenon::from_blob(x.data_ptr(), x.sizes(), x.strides(), x.options()); }

Value nested_list(const Tensor& x) {
  if (x.dim() == 0) return number_of(x);
  List list;
  for (const Tensor& row : x.unbind()) list.items.push_back(nested_list(row));
  return list;
}

void add_settings(Table& t) {
  t["torch.set_default_dtype"] = [](const Call& c) -> Value {
    const auto type = c.need(0, "d").as<tenon::ScalarType>();
    if (!isFloatingType(type))  // Python's check; C++ takes any
      throw tenon::TypeError("only floating-point types are supported as the default type");
    tenon::set_default_dtype(type);
    return None{};
  };
}

Value set_printoptions(const Call& c) {
  tenon::PrintOptions o;
  if (const auto v = c.maybe_integer(0, "precision")) o.precision = static_cast<int>(*v);
  o.threshold = c.maybe_integer(1, "threshold");
  o.edgeitems = c.maybe_integer(2, "edgeitems");
  if (const auto v = c.maybe_integer(3, "linewidth")) o.linewidth = static_cast<int>(*v);
  const std::string profile = c.string(4, "profile", "");
  if (!profile.empty()) o.profile = profile;
  if (c.has(5, "sci_mode")) o.sci_mode = c.flag(5, "sci_mode", false);
  tenon::set_printoptions(o);
  return None{};
}

void add_cuda(Table& t) {
  t["cuda.is_available"] = [](const Call&) -> Value { return tenon::cuda::is_available(); };
  t["cuda.device_count"] = [](const Call&) -> Value { return tenon::cuda::device_count(); };
  t["cuda.current_device"] = [](const Call&) -> Value { return tenon::cuda::current_device(); };
  t["cuda.get_device_name"] = [](const Call& c) -> Value { return tenon::cuda::get_device_name(c.integer(0, "device", -1)); };
  t["cuda.memory_allocated"] = [](const Call&) -> Value { return tenon::cuda::memory_allocated(); };
  t["cuda.synchronize"] = [](const Call&) -> Value {
    tenon::cuda::synchronize();
    return None{};
  };
  t["cuda.manual_seed"] = [](const Call& c) -> Value {
    tenon::cuda::manual_seed(static_cast<uint64_t>(c.integer(0, "seed")));
    return None{};
  };
  t["get_device"] = [](const Call& c) -> Value { return c.tensor(0).get_device(); };
}

void add_numpy(Table& t) {
  t["numpy"] = [](const Call& c) -> Value { return array(c.tensor(0)); };
  t["from_numpy"] = [](const Call& c) -> Value { return shared(from_array(c.need(0, "ndarray"))); };
  t["as_tensor"] = t["asarray"] = [](const Call& c) -> Value {
    const Value& v = c.need(0, "data");
    return v.is<Tensor>() ? v.as<Tensor>().to(v.as<Tensor>().options()) : shared(from_array(v));
  };
  t["tolist"] = [](const Call& c) -> Value { return nested_list(c.tensor(0)); };
}

}  // namespace

void add_builtins(Table& t) {
  t["torch.set_printoptions"] = set_printoptions;
  add_settings(t);
  add_cuda(t);
  add_numpy(t);
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
  t["builtins.slice"] = [](const Call& c) -> Value { return SliceValue{tenon::nullopt, c.maybe_integer(0, "stop"), tenon::nullopt}; };
  t["builtins.setattr"] = [](const Call& c) -> Value {
    if (c.string(1, "name", "") != "requires_grad") throw Unsupported("assignment to an attribute");
    c.tensor(0).set_requires_grad(c.flag(2, "value", false));
    return None{};
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
      text += format(c.need(argument++, "argument"), colon < close ? pattern.substr(colon + 1, close - colon - 1) : std::string());
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
