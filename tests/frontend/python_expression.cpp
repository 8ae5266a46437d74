// A recursive-descent evaluator of Python expressions over tensors, and the table from Python's names to C++
// calls.
#include "python_expression.h"

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>

namespace python {
namespace {

using tenon::Scalar;
using tenon::ScalarType;
using tenon::Tensor;
using tenon::indexing::Slice;
using tenon::indexing::TensorIndex;
using Ints = std::vector<int64_t>;

// --- arguments
// --------------------------------------------------------------------------------------------------------

struct Call {
  std::vector<Value> positional;
  std::map<std::string, Value> named;
  mutable size_t used_names = 0;

  const Value* find(size_t i, const char* name) const {
    if (i < positional.size()) return &positional[i];
    const auto it = named.find(name);
    if (it == named.end()) return nullptr;
    ++used_names;
    return it->second.is<None>() ? nullptr : &it->second;
  }
  bool has(size_t i, const char* name) const {
    return i < positional.size() ? !positional[i].is<None>() : named.contains(name);
  }
  const Value& need(size_t i, const char* name) const {
    const Value* value = find(i, name);
    if (!value) throw Unsupported(std::string("argument ") + name);
    return *value;
  }
  const Tensor& tensor(size_t i, const char* name = "other") const { return need(i, name).as<Tensor>(); }
  int64_t integer(size_t i, const char* name) const {
    const Value& v = need(i, name);
    return v.is<bool>() ? v.as<bool>() : v.as<int64_t>();
  }
  int64_t integer(size_t i, const char* name, int64_t otherwise) const {
    return has(i, name) ? integer(i, name) : otherwise;
  }
  bool flag(size_t i, const char* name, bool otherwise) const {
    const Value* v = find(i, name);
    return v ? v->as<bool>() : otherwise;
  }
  std::string string(size_t i, const char* name, const char* otherwise) const {
    const Value* v = find(i, name);
    return v ? v->as<std::string>() : otherwise;
  }
};

Scalar to_scalar(const Value& v) {
  if (v.is<bool>()) return v.as<bool>();
  if (v.is<int64_t>()) return v.as<int64_t>();
  return v.as<double>();
}
bool is_number(const Value& v) { return v.is<bool>() || v.is<int64_t>() || v.is<double>(); }
Scalar scalar(const Call& c, size_t i, const char* name, Scalar otherwise) {
  return c.has(i, name) ? to_scalar(c.need(i, name)) : otherwise;
}
tenon::optional<Scalar> maybe_scalar(const Call& c, size_t i, const char* name) {
  if (!c.has(i, name)) return tenon::nullopt;
  return to_scalar(c.need(i, name));
}
tenon::optional<double> maybe_double(const Call& c, size_t i, const char* name) {
  const auto s = maybe_scalar(c, i, name);
  return s ? tenon::optional<double>(s->toDouble()) : tenon::nullopt;
}
tenon::optional<Tensor> maybe_tensor(const Call& c, size_t i, const char* name) {
  if (!c.has(i, name)) return tenon::nullopt;
  return c.tensor(i, name);
}
tenon::optional<ScalarType> maybe_dtype(const Call& c) {
  const Value* v = c.find(99, "dtype");
  return v ? tenon::optional<ScalarType>(v->as<ScalarType>()) : tenon::nullopt;
}

Ints ints_of(const Value& v) {
  if (!v.is<List>()) return {v.as<int64_t>()};
  Ints result;
  for (const Value& item : v.as<List>().items) result.push_back(item.as<int64_t>());
  return result;
}
// f(2, 3), f((2, 3)) and f(size=(2, 3)) alike.
Ints rest_as_ints(const Call& c, size_t from, const char* name) {
  if (c.positional.size() == from + 1) return ints_of(c.positional[from]);
  if (c.positional.size() <= from) return c.has(99, name) ? ints_of(c.need(99, name)) : Ints{};
  Ints result;
  for (size_t i = from; i < c.positional.size(); ++i) result.push_back(c.positional[i].as<int64_t>());
  return result;
}
std::vector<Tensor> tensors_of(const Value& v) {
  std::vector<Tensor> result;
  for (const Value& item : v.as<List>().items) result.push_back(item.as<Tensor>());
  return result;
}
List list_of(const std::vector<Tensor>& tensors) {
  List list;
  for (const Tensor& x : tensors) list.items.emplace_back(x);
  return list;
}
List pair_of(const std::tuple<Tensor, Tensor>& pair) {
  return {{Value(std::get<0>(pair)), Value(std::get<1>(pair))}};
}

// Devices of other libraries do not exist here.
const std::string& known_device(const std::string& name) {
  if (name == "meta" || name == "xla" || name == "mps") throw Unsupported("device " + name);
  return name;
}
tenon::Device to_device(const Value& v) {
  return v.is<std::string>() ? tenon::Device(known_device(v.as<std::string>())) : v.as<tenon::Device>();
}

tenon::TensorOptions options(const Call& c) {
  tenon::TensorOptions o;
  if (auto dtype = maybe_dtype(c)) o = o.dtype(*dtype);
  if (const Value* v = c.find(99, "device")) o = o.device(to_device(*v));
  return o.requires_grad(c.flag(99, "requires_grad", false));
}

// --- torch.tensor
// -----------------------------------------------------------------------------------------------------

tenon::TensorData data_of(const Value& v, std::vector<std::vector<tenon::TensorData>>& storage) {
  if (v.is<std::string>()) throw tenon::TypeError("new(): invalid data type 'str'");
  if (v.is<double>() && v.as<double>() == 0x1p63) throw Unsupported("an integer beyond int64");
  if (!v.is<List>()) return to_scalar(v);
  std::vector<tenon::TensorData> items;
  for (const Value& item : v.as<List>().items) items.push_back(data_of(item, storage));
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
  std::vector<std::vector<tenon::TensorData>> storage;
  storage.reserve(1024);
  return tenon::tensor(data_of(c.need(0, "data"), storage), options(c));
}

// --- the table
// --------------------------------------------------------------------------------------------------------

using Function = std::function<Value(const Call&)>;
using Table = std::map<std::string, Function>;

// Tensor-or-number second operand.
template <typename T, typename S>
Function either(T with_tensor, S with_scalar) {
  return [=](const Call& c) -> Value {
    if (is_number(c.need(0, "input"))) throw Unsupported("a number on the left");
    const Value& other = c.need(1, "other");
    return other.is<Tensor>() ? with_tensor(c.tensor(0), other.as<Tensor>())
                              : with_scalar(c.tensor(0), to_scalar(other));
  };
}

// f(x), f(x, dim, keepdim) with one optional dim.
template <typename All, typename One>
Function over_dim(All all, One one) {
  return [=](const Call& c) -> Value {
    if (!c.has(1, "dim")) return all(c.tensor(0));
    return one(c.tensor(0), c.integer(1, "dim"), c.flag(2, "keepdim", false));
  };
}

tenon::OptionalIntArrayRef maybe_dims(const Call& c, size_t i, Ints& storage) {
  if (!c.has(i, "dim")) return tenon::nullopt;
  storage = ints_of(c.need(i, "dim"));
  return storage;
}

// std(x, unbiased=...), std(x, dim, unbiased, keepdim)
template <typename F>
Function spread(F f) {
  return [=](const Call& c) -> Value {
    Ints dims;
    return f(c.tensor(0), maybe_dims(c, 1, dims), c.flag(2, "unbiased", true), c.flag(3, "keepdim", false));
  };
}

Value div_function(const Call& c) {
  tenon::optional<std::string_view> mode;
  std::string text;
  if (c.has(99, "rounding_mode")) mode = text = c.string(99, "rounding_mode", "");
  const Value& other = c.need(1, "other");
  return other.is<Tensor>() ? c.tensor(0).div(other.as<Tensor>(), mode)
                            : c.tensor(0).div(to_scalar(other), mode);
}

Value add_or_sub(const Call& c, bool add) {
  const Scalar alpha = scalar(c, 99, "alpha", 1);
  const Value& other = c.need(1, "other");
  if (other.is<Tensor>())
    return add ? tenon::add(c.tensor(0), other.as<Tensor>(), alpha)
               : tenon::sub(c.tensor(0), other.as<Tensor>(), alpha);
  return add ? tenon::add(c.tensor(0), to_scalar(other), alpha)
             : tenon::sub(c.tensor(0), to_scalar(other), alpha);
}

Value pow_function(const Call& c) {
  const Value &base = c.need(0, "input"), &exponent = c.need(1, "exponent");
  if (!base.is<Tensor>()) return tenon::pow(to_scalar(base), exponent.as<Tensor>());
  return exponent.is<Tensor>() ? tenon::pow(base.as<Tensor>(), exponent.as<Tensor>())
                               : tenon::pow(base.as<Tensor>(), to_scalar(exponent));
}

Value where_function(const Call& c) {
  const Value &a = c.need(1, "input"), &b = c.need(2, "other");
  const Tensor& condition = c.tensor(0, "condition");
  if (a.is<Tensor>() && b.is<Tensor>()) return tenon::where(condition, a.as<Tensor>(), b.as<Tensor>());
  if (a.is<Tensor>()) return tenon::where(condition, a.as<Tensor>(), to_scalar(b));
  return b.is<Tensor>() ? tenon::where(condition, to_scalar(a), b.as<Tensor>())
                        : tenon::where(condition, to_scalar(a), to_scalar(b));
}

Value clamp_function(const Call& c) {
  for (const auto& [i, name] : {std::pair<size_t, const char*>{1, "min"}, {2, "max"}}) {
    if (c.has(i, name) && c.need(i, name).is<Tensor>()) {
      return tenon::clamp(c.tensor(0), maybe_tensor(c, 1, "min"), maybe_tensor(c, 2, "max"));
    }
  }
  return tenon::clamp(c.tensor(0), maybe_scalar(c, 1, "min"), maybe_scalar(c, 2, "max"));
}

Value arange_function(const Call& c) {
  if (c.has(99, "end"))
    return tenon::arange(scalar(c, 99, "start", 0), scalar(c, 99, "end", 0), scalar(c, 99, "step", 1),
                         options(c));
  const size_t n = c.positional.size();
  const Scalar first = to_scalar(c.need(0, "end"));
  if (n == 1) return tenon::arange(first, options(c));
  return tenon::arange(first, to_scalar(c.positional[1]), scalar(c, 2, "step", 1), options(c));
}

Value max_or_min(const Call& c, bool max) {
  if (c.positional.size() == 2 && c.positional[1].is<Tensor>()) {
    return max ? tenon::max(c.tensor(0), c.tensor(1)) : tenon::min(c.tensor(0), c.tensor(1));
  }
  if (!c.has(1, "dim")) return max ? tenon::max(c.tensor(0)) : tenon::min(c.tensor(0));
  const int64_t dim = c.integer(1, "dim");
  const bool keepdim = c.flag(2, "keepdim", false);
  return pair_of(max ? tenon::max(c.tensor(0), dim, keepdim) : tenon::min(c.tensor(0), dim, keepdim));
}

Value to_function(const Call& c) {
  if (const Value* v = c.find(99, "device")) return c.tensor(0).to(to_device(*v));
  const Value& v = c.need(1, "dtype");
  if (v.is<Tensor>()) return c.tensor(0).to(v.as<Tensor>());
  return v.is<ScalarType>() ? c.tensor(0).to(v.as<ScalarType>()) : c.tensor(0).to(to_device(v));
}

// Values do not matter where Python draws random numbers, only shape and type.
Value random_like(const Call& c) {
  const Ints size = rest_as_ints(c, 0, "size");
  const auto o = options(c);
  if (!isFloatingType(o.dtype())) throw Unsupported("random integers");
  const Tensor shape = tenon::zeros(size, o);
  return (tenon::arange(shape.numel()).reshape(size) * 7 % 11).to(tenon::kFloat).add(0.5).div(11.0).to(o);
}

Value split_function(const Call& c) {
  const Value& size = c.need(1, "split_size_or_sections");
  const int64_t dim = c.integer(2, "dim", 0);
  return size.is<List>() ? list_of(tenon::split(c.tensor(0), ints_of(size), dim))
                         : list_of(tenon::split(c.tensor(0), size.as<int64_t>(), dim));
}

Value norm_function(const Call& c) {
  Ints dims;
  if (c.has(2, "dim")) dims = ints_of(c.need(2, "dim"));
  return tenon::norm(c.tensor(0), maybe_scalar(c, 1, "p"), dims, c.flag(3, "keepdim", false));
}

void add_regular(Table& t) {
#define X(name) t[#name] = [](const Call& c) -> Value { return tenon::name(c.tensor(0)); };
  TENON_UNARY_OPS(X)
  TENON_ACTIVATIONS(X)
#undef X
#define X(name) t[#name] = [](const Call& c) -> Value { return tenon::name(c.tensor(0), c.tensor(1)); };
  TENON_BINARY_TENSOR_OPS(X)
#undef X
#define X(name)                                                                         \
  t[#name] = either([](const Tensor& a, const Tensor& b) { return tenon::name(a, b); }, \
                    [](const Tensor& a, const Scalar& b) { return tenon::name(a, b); });
  TENON_BINARY_OPS(X)
#undef X
  t["logsigmoid"] = t["log_sigmoid"];
  t["round"] = [](const Call& c) -> Value { return tenon::round(c.tensor(0), c.integer(1, "decimals", 0)); };
}

void add_elementwise(Table& t) {
  t["add"] = [](const Call& c) {
    if (c.positional.size() > 2) throw Unsupported("an argument list that C++ does not compile");
    return add_or_sub(c, true);
  };
  t["sub"] = [](const Call& c) { return add_or_sub(c, false); };
  t["div"] = div_function;
  t["pow"] = pow_function;
  t["where"] = where_function;
  t["clamp"] = clamp_function;
  t["masked_fill"] = [](const Call& c) -> Value {
    const Value& v = c.need(2, "value");
    return v.is<Tensor>() ? tenon::masked_fill(c.tensor(0), c.tensor(1), v.as<Tensor>())
                          : tenon::masked_fill(c.tensor(0), c.tensor(1), to_scalar(v));
  };
  t["lerp"] = [](const Call& c) -> Value {
    const Value& w = c.need(2, "weight");
    return w.is<Tensor>() ? tenon::lerp(c.tensor(0), c.tensor(1), w.as<Tensor>())
                          : tenon::lerp(c.tensor(0), c.tensor(1), to_scalar(w));
  };
  t["addcmul"] = [](const Call& c) -> Value {
    return tenon::addcmul(c.tensor(0), c.tensor(1), c.tensor(2), scalar(c, 3, "value", 1));
  };
  t["addcdiv"] = [](const Call& c) -> Value {
    return tenon::addcdiv(c.tensor(0), c.tensor(1), c.tensor(2), scalar(c, 3, "value", 1));
  };
  t["nan_to_num"] = [](const Call& c) -> Value {
    return tenon::nan_to_num(c.tensor(0), maybe_double(c, 1, "nan"), maybe_double(c, 2, "posinf"),
                             maybe_double(c, 3, "neginf"));
  };
  t["logit"] = [](const Call& c) -> Value { return tenon::logit(c.tensor(0), maybe_double(c, 1, "eps")); };
  t["leaky_relu"] = [](const Call& c) -> Value {
    return tenon::leaky_relu(c.tensor(0), scalar(c, 1, "negative_slope", 0.01));
  };
  t["elu"] = [](const Call& c) -> Value { return tenon::elu(c.tensor(0), scalar(c, 1, "alpha", 1)); };
  t["celu"] = [](const Call& c) -> Value { return tenon::celu(c.tensor(0), scalar(c, 1, "alpha", 1)); };
  t["gelu"] = [](const Call& c) -> Value {
    return tenon::gelu(c.tensor(0), c.string(1, "approximate", "none"));
  };
  t["softplus"] = [](const Call& c) -> Value {
    return tenon::softplus(c.tensor(0), scalar(c, 1, "beta", 1), scalar(c, 2, "threshold", 20));
  };
  t["hardtanh"] = [](const Call& c) -> Value {
    return tenon::hardtanh(c.tensor(0), scalar(c, 1, "min_val", -1), scalar(c, 2, "max_val", 1));
  };
  t["hardshrink"] = [](const Call& c) -> Value {
    return tenon::hardshrink(c.tensor(0), scalar(c, 1, "lambd", 0.5));
  };
  t["softshrink"] = [](const Call& c) -> Value {
    return tenon::softshrink(c.tensor(0), scalar(c, 1, "lambd", 0.5));
  };
  t["threshold"] = [](const Call& c) -> Value {
    return tenon::threshold(c.tensor(0), to_scalar(c.need(1, "threshold")), to_scalar(c.need(2, "value")));
  };
}

void add_shape(Table& t) {
  using tenon::IntArrayRef;
  auto with_ints = [&](const char* name, const char* argument, Tensor (*f)(const Tensor&, IntArrayRef)) {
    t[name] = [=](const Call& c) -> Value { return f(c.tensor(0), rest_as_ints(c, 1, argument)); };
  };
  with_ints("reshape", "shape", tenon::reshape);
  with_ints("view", "size", tenon::view);
  with_ints("permute", "dims", tenon::permute);
  with_ints("expand", "size", tenon::expand);
  with_ints("broadcast_to", "size", tenon::broadcast_to);
  with_ints("flip", "dims", tenon::flip);
  with_ints("tile", "dims", tenon::tile);
  t["repeat"] = [](const Call& c) -> Value { return c.tensor(0).repeat(rest_as_ints(c, 1, "repeats")); };
  t["flatten"] = [](const Call& c) -> Value {
    return tenon::flatten(c.tensor(0), c.integer(1, "start_dim", 0), c.integer(2, "end_dim", -1));
  };
  t["unflatten"] = [](const Call& c) -> Value {
    return tenon::unflatten(c.tensor(0), c.integer(1, "dim"), ints_of(c.need(2, "sizes")));
  };
  t["ravel"] = [](const Call& c) -> Value { return tenon::ravel(c.tensor(0)); };
  t["transpose"] = [](const Call& c) -> Value {
    return tenon::transpose(c.tensor(0), c.integer(1, "dim0"), c.integer(2, "dim1"));
  };
  t["swapaxes"] = t["transpose"];
  t["t"] = [](const Call& c) -> Value { return tenon::t(c.tensor(0)); };
  t["movedim"] = [](const Call& c) -> Value {
    return tenon::movedim(c.tensor(0), ints_of(c.need(1, "source")), ints_of(c.need(2, "destination")));
  };
  t["squeeze"] = [](const Call& c) -> Value {
    return c.has(1, "dim") ? tenon::squeeze(c.tensor(0), c.integer(1, "dim")) : tenon::squeeze(c.tensor(0));
  };
  t["unsqueeze"] = [](const Call& c) -> Value { return tenon::unsqueeze(c.tensor(0), c.integer(1, "dim")); };
  t["select"] = [](const Call& c) -> Value {
    return tenon::select(c.tensor(0), c.integer(1, "dim"), c.integer(2, "index"));
  };
  t["narrow"] = [](const Call& c) -> Value {
    return tenon::narrow(c.tensor(0), c.integer(1, "dim"), c.integer(2, "start"), c.integer(3, "length"));
  };
  t["chunk"] = [](const Call& c) -> Value {
    return list_of(tenon::chunk(c.tensor(0), c.integer(1, "chunks"), c.integer(2, "dim", 0)));
  };
  t["split"] = split_function;
  t["unbind"] = [](const Call& c) -> Value {
    return list_of(tenon::unbind(c.tensor(0), c.integer(1, "dim", 0)));
  };
  t["clone"] = [](const Call& c) -> Value { return tenon::clone(c.tensor(0)); };
  t["contiguous"] = [](const Call& c) -> Value { return c.tensor(0).contiguous(); };
  t["roll"] = [](const Call& c) -> Value {
    return tenon::roll(c.tensor(0), ints_of(c.need(1, "shifts")),
                       c.has(2, "dims") ? ints_of(c.need(2, "dims")) : Ints{});
  };
  t["cat"] = [](const Call& c) -> Value {
    return tenon::cat(tensors_of(c.need(0, "tensors")), c.integer(1, "dim", 0));
  };
  t["stack"] = [](const Call& c) -> Value {
    return tenon::stack(tensors_of(c.need(0, "tensors")), c.integer(1, "dim", 0));
  };
  t["vstack"] = [](const Call& c) -> Value { return tenon::vstack(tensors_of(c.need(0, "tensors"))); };
  t["hstack"] = [](const Call& c) -> Value { return tenon::hstack(tensors_of(c.need(0, "tensors"))); };
  t["dstack"] = [](const Call& c) -> Value { return tenon::dstack(tensors_of(c.need(0, "tensors"))); };
  t["pad"] = [](const Call& c) -> Value {
    if (c.has(99, "mode")) throw Unsupported("padding modes");
    return tenon::constant_pad_nd(c.tensor(0), ints_of(c.need(1, "pad")), scalar(c, 99, "value", 0));
  };
  t["size"] = [](const Call& c) -> Value { return c.tensor(0).size(c.integer(1, "dim")); };
}

void add_reductions(Table& t) {
  t["sum"] = [](const Call& c) -> Value {
    Ints dims;
    return tenon::sum(c.tensor(0), maybe_dims(c, 1, dims), c.flag(2, "keepdim", false), maybe_dtype(c));
  };
  t["nansum"] = [](const Call& c) -> Value { return tenon::nansum(c.tensor(0)); };
  t["mean"] = [](const Call& c) -> Value {
    Ints dims;
    return tenon::mean(c.tensor(0), maybe_dims(c, 1, dims), c.flag(2, "keepdim", false), maybe_dtype(c));
  };
  t["prod"] = over_dim([](const Tensor& x) { return tenon::prod(x); },
                       [](const Tensor& x, int64_t d, bool keep) { return tenon::prod(x, d, keep); });
  t["any"] = over_dim([](const Tensor& x) { return tenon::any(x); },
                      [](const Tensor& x, int64_t d, bool keep) { return tenon::any(x, d, keep); });
  t["all"] = over_dim([](const Tensor& x) { return tenon::all(x); },
                      [](const Tensor& x, int64_t d, bool keep) { return tenon::all(x, d, keep); });
  t["argmax"] = over_dim([](const Tensor& x) { return tenon::argmax(x); },
                         [](const Tensor& x, int64_t d, bool keep) { return tenon::argmax(x, d, keep); });
  t["argmin"] = over_dim([](const Tensor& x) { return tenon::argmin(x); },
                         [](const Tensor& x, int64_t d, bool keep) { return tenon::argmin(x, d, keep); });
  t["max"] = [](const Call& c) { return max_or_min(c, true); };
  t["min"] = [](const Call& c) { return max_or_min(c, false); };
  t["amax"] = [](const Call& c) -> Value {
    return tenon::amax(c.tensor(0), c.has(1, "dim") ? ints_of(c.need(1, "dim")) : Ints{},
                       c.flag(2, "keepdim", false));
  };
  t["amin"] = [](const Call& c) -> Value {
    return tenon::amin(c.tensor(0), c.has(1, "dim") ? ints_of(c.need(1, "dim")) : Ints{},
                       c.flag(2, "keepdim", false));
  };
  using Dims = tenon::OptionalIntArrayRef;
  t["var"] = spread([](const Tensor& x, Dims d, bool u, bool k) -> Value { return tenon::var(x, d, u, k); });
  t["std"] = spread([](const Tensor& x, Dims d, bool u, bool k) -> Value { return tenon::std(x, d, u, k); });
  t["var_mean"] = spread(
      [](const Tensor& x, Dims d, bool u, bool k) -> Value { return pair_of(tenon::var_mean(x, d, u, k)); });
  t["norm"] = norm_function;
  t["vector_norm"] = norm_function;
  t["logsumexp"] = [](const Call& c) -> Value {
    return tenon::logsumexp(c.tensor(0), ints_of(c.need(1, "dim")), c.flag(2, "keepdim", false));
  };
  t["count_nonzero"] = [](const Call& c) -> Value {
    return tenon::count_nonzero(c.tensor(0), c.has(1, "dim") ? ints_of(c.need(1, "dim")) : Ints{});
  };
  t["softmax"] = [](const Call& c) -> Value {
    return tenon::softmax(c.tensor(0), c.integer(1, "dim"), maybe_dtype(c));
  };
  t["log_softmax"] = [](const Call& c) -> Value {
    return tenon::log_softmax(c.tensor(0), c.integer(1, "dim"), maybe_dtype(c));
  };
  t["layer_norm"] = [](const Call& c) -> Value {
    return tenon::layer_norm(c.tensor(0), ints_of(c.need(1, "normalized_shape")),
                             maybe_tensor(c, 2, "weight"), maybe_tensor(c, 3, "bias"),
                             maybe_double(c, 4, "eps").value_or(1e-5));
  };
}

void add_products(Table& t) {
  t["matmul"] = [](const Call& c) -> Value { return tenon::matmul(c.tensor(0), c.tensor(1)); };
  t["mm"] = [](const Call& c) -> Value { return tenon::mm(c.tensor(0), c.tensor(1)); };
  t["mv"] = [](const Call& c) -> Value { return tenon::mv(c.tensor(0), c.tensor(1)); };
  t["bmm"] = [](const Call& c) -> Value { return tenon::bmm(c.tensor(0), c.tensor(1)); };
  t["dot"] = [](const Call& c) -> Value { return tenon::dot(c.tensor(0), c.tensor(1)); };
  t["outer"] = [](const Call& c) -> Value { return tenon::outer(c.tensor(0), c.tensor(1)); };
  t["linear"] = [](const Call& c) -> Value {
    return tenon::linear(c.tensor(0), c.tensor(1), maybe_tensor(c, 2, "bias"));
  };
  t["addmm"] = [](const Call& c) -> Value {
    return tenon::addmm(c.tensor(0), c.tensor(1), c.tensor(2), scalar(c, 99, "beta", 1),
                        scalar(c, 99, "alpha", 1));
  };
  t["addmv"] = [](const Call& c) -> Value {
    return tenon::addmv(c.tensor(0), c.tensor(1), c.tensor(2), scalar(c, 99, "beta", 1),
                        scalar(c, 99, "alpha", 1));
  };
  t["baddbmm"] = [](const Call& c) -> Value {
    return tenon::baddbmm(c.tensor(0), c.tensor(1), c.tensor(2), scalar(c, 99, "beta", 1),
                          scalar(c, 99, "alpha", 1));
  };
}

void add_creation(Table& t) {
  t["tensor"] = [](const Call& c) -> Value { return make_tensor(c); };
  t["zeros"] = [](const Call& c) -> Value { return tenon::zeros(rest_as_ints(c, 0, "size"), options(c)); };
  t["ones"] = [](const Call& c) -> Value { return tenon::ones(rest_as_ints(c, 0, "size"), options(c)); };
  t["empty"] = t["zeros"];
  t["rand"] = t["randn"] = random_like;
  t["zeros_like"] = [](const Call& c) -> Value { return tenon::zeros_like(c.tensor(0), options(c)); };
  t["ones_like"] = [](const Call& c) -> Value { return tenon::ones_like(c.tensor(0), options(c)); };
  t["full"] = [](const Call& c) -> Value {
    return tenon::full(ints_of(c.need(0, "size")), to_scalar(c.need(1, "fill_value")), options(c));
  };
  t["eye"] = [](const Call& c) -> Value {
    const int64_t n = c.integer(0, "n");
    return tenon::eye(n, c.integer(1, "m", n), options(c));
  };
  t["arange"] = arange_function;
  t["linspace"] = [](const Call& c) -> Value {
    return tenon::linspace(to_scalar(c.need(0, "start")), to_scalar(c.need(1, "end")), c.integer(2, "steps"),
                           options(c));
  };
  t["to"] = to_function;
  t["builtin float"] = [](const Call& c) -> Value {
    if (c.positional[0].is<Tensor>()) return c.tensor(0).item<double>();
    return std::strtod(c.positional[0].as<std::string>().c_str(), nullptr);
  };
  t["builtin bool"] = [](const Call& c) -> Value { return c.tensor(0).is_nonzero(); };
  t["float"] = [](const Call& c) -> Value { return c.tensor(0).to(tenon::kFloat); };
  t["double"] = [](const Call& c) -> Value { return c.tensor(0).to(tenon::kDouble); };
  t["cuda"] = [](const Call& c) -> Value { return c.tensor(0).cuda(); };
  t["item"] = [](const Call& c) -> Value { return c.tensor(0).item().toDouble(); };
  t["device"] = [](const Call& c) -> Value {
    if (c.positional.size() == 1) return tenon::Device(c.positional[0].as<std::string>());
    return tenon::Device(tenon::Device(c.positional[0].as<std::string>()).type(),
                         static_cast<tenon::DeviceIndex>(c.integer(1, "index")));
  };
  t["sqrt"] = [old = t["sqrt"]](const Call& c) -> Value {  // math.sqrt too
    if (is_number(c.positional.at(0))) return std::sqrt(to_scalar(c.positional[0]).toDouble());
    return old(c);
  };
  t["set_default_dtype"] = [](const Call& c) -> Value {
    tenon::set_default_dtype(c.need(0, "d").as<ScalarType>());
    return None{};
  };
  t["set_num_threads"] = [](const Call& c) -> Value {
    tenon::set_num_threads(static_cast<int>(c.integer(0, "int")));
    return None{};
  };
}

const Table& table() {
  static const Table table = [] {
    Table t;
    add_regular(t);
    add_elementwise(t);
    add_shape(t);
    add_reductions(t);
    add_products(t);
    add_creation(t);
    return t;
  }();
  return table;
}

const std::map<std::string, ScalarType>& dtypes() {
  static const std::map<std::string, ScalarType> map = {
      {"bool", tenon::kBool},       {"uint8", tenon::kUInt8},       {"int8", tenon::kInt8},
      {"int16", tenon::kInt16},     {"int32", tenon::kInt32},       {"int64", tenon::kInt64},
      {"float16", tenon::kFloat16}, {"bfloat16", tenon::kBFloat16}, {"float32", tenon::kFloat},
      {"float64", tenon::kFloat64}};
  return map;
}

// --- the parser
// -------------------------------------------------------------------------------------------------------

class Parser {
 public:
  Parser(const std::string& text, const std::map<std::string, Tensor>& variables)
      : text_(text), variables_(variables) {}

  Value parse() {
    Value v = comparison();
    skip();
    if (at_ != text_.size()) throw Unsupported("syntax at: " + text_.substr(at_));
    return v;
  }

 private:
  void skip() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool peek(const char* token) {
    skip();
    return text_.compare(at_, std::char_traits<char>::length(token), token) == 0;
  }
  bool accept(const char* token) {
    if (!peek(token)) return false;
    at_ += std::char_traits<char>::length(token);
    return true;
  }
  void expect(const char* token) {
    if (!accept(token)) throw Unsupported("expected " + std::string(token) + " at: " + text_.substr(at_));
  }

  Value call(const std::string& name, const Call& c) {
    const auto it = table().find(name);
    if (it == table().end()) throw Unsupported("function " + name);
    Value result = it->second(c);
    if (c.used_names < c.named.size()) throw Unsupported("a keyword of " + name);
    return result;
  }

  // Operators on numbers alone are Python's, as far as the data uses them.
  Value binary(const char* op, const std::string& function, const Value& a, const Value& b) {
    if (a.is<List>() && b.is<int64_t>()) {
      List repeated;
      for (int64_t i = 0; i < b.as<int64_t>(); ++i) {
        for (const Value& item : a.as<List>().items) repeated.items.push_back(item);
      }
      return repeated;
    }
    if (is_number(a) && is_number(b)) return arithmetic(op, a, b);
    if (!is_number(a)) return call(function, {{a, b}, {}});
    const Tensor& y = b.as<Tensor>();
    const Scalar x = to_scalar(a);
    switch (op[0]) {
      case '+': return x + y;
      case '-': return x - y;
      case '%': return x % y;
      case '/':
        if (op[1] == 0) return x / y;
        throw Unsupported("a number // a tensor");
      case '*': return op[1] ? Value(tenon::pow(x, y)) : Value(x * y);
      default: throw Unsupported("a number on the left");
    }
  }
  static Value arithmetic(const std::string& op, const Value& a, const Value& b) {
    const bool integers = !a.is<double>() && !b.is<double>();
    const double x = to_scalar(a).toDouble(), y = to_scalar(b).toDouble();
    auto number = [&](double v) -> Value {
      if (!integers || op == "/") return v;
      if (std::abs(v) < 0x1p62) return static_cast<int64_t>(v);
      if (v == -0x1p63) return std::numeric_limits<int64_t>::min();
      throw Unsupported("large integers");
    };
    if (op == "+") return number(x + y);
    if (op == "-") {
      if (integers && x == 0x1p63 && y == 1) return std::numeric_limits<int64_t>::max();
      return number(x - y);
    }
    if (op == "*") return number(x * y);
    if (op == "/") return number(x / y);
    if (op == "**") return integers && x == 2 && y == 63 ? Value(0x1p63) : number(std::pow(x, y));
    throw Unsupported("operator " + op);
  }

  Value comparison() {
    Value left = bit_or();
    for (const auto& [op, name] : {std::pair{"==", "eq"}, {"!=", "ne"}, {"<=", "le"}, {">=", "ge"}}) {
      if (accept(op)) return binary(op, name, left, bit_or());
    }
    if (!peek("<<") && accept("<")) return binary("<", "lt", left, bit_or());
    if (!peek(">>") && accept(">")) return binary(">", "gt", left, bit_or());
    return left;
  }
  Value bit_or() {
    Value left = bit_xor();
    while (accept("|")) left = binary("|", "bitwise_or", left, bit_xor());
    return left;
  }
  Value bit_xor() {
    Value left = bit_and();
    while (accept("^")) left = binary("^", "bitwise_xor", left, bit_and());
    return left;
  }
  Value bit_and() {
    Value left = shift();
    while (accept("&")) left = binary("&", "bitwise_and", left, shift());
    return left;
  }
  Value shift() {
    Value left = sum();
    while (true) {
      if (accept("<<"))
        left = binary("<<", "bitwise_left_shift", left, sum());
      else if (accept(">>"))
        left = binary(">>", "bitwise_right_shift", left, sum());
      else
        return left;
    }
  }
  Value sum() {
    Value left = product();
    while (true) {
      if (accept("+"))
        left = binary("+", "add", left, product());
      else if (accept("-"))
        left = binary("-", "sub", left, product());
      else
        return left;
    }
  }
  Value product() {
    Value left = unary();
    while (true) {
      if (accept("//"))
        left = binary("//", "floor_divide", left, unary());
      else if (accept("@"))
        left = binary("@", "matmul", left, unary());
      else if (accept("/"))
        left = binary("/", "div", left, unary());
      else if (accept("%"))
        left = binary("%", "remainder", left, unary());
      else if (!peek("**") && accept("*"))
        left = binary("*", "mul", left, unary());
      else
        return left;
    }
  }
  Value unary() {
    if (accept("-")) {
      const Value v = unary();
      if (v.is<int64_t>()) return static_cast<int64_t>(-v.as<int64_t>());
      if (v.is<double>())
        return -v.as<double>() == -0x1p63 ? Value(std::numeric_limits<int64_t>::min())
                                          : Value(-v.as<double>());
      return -v.as<Tensor>();
    }
    if (accept("+")) return +unary().as<Tensor>();
    if (accept("~")) return ~unary().as<Tensor>();
    Value base = postfix();
    if (accept("**")) return binary("**", "pow", base, unary());
    return base;
  }

  Value postfix() {
    Value v = primary();
    while (true) {
      if (peek("...")) return v;
      if (accept("."))
        v = attribute(v, name());
      else if (peek("["))
        v = subscript(v);
      else if (peek("("))
        v = called(v);
      else
        return v;
    }
  }

  std::string name() {
    skip();
    const size_t start = at_;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '_'))
      ++at_;
    return text_.substr(start, at_ - start);
  }

  Value attribute(const Value& v, const std::string& attribute_name) {
    if (v.is<Name>()) {
      const auto type = dtypes().find(attribute_name);
      if (type != dtypes().end() && !peek("(")) return type->second;
      return Name{attribute_name};
    }
    const Tensor& x = v.as<Tensor>();
    if (attribute_name == "T") return x.numpy_T();
    if (attribute_name == "mT") return x.mT();
    if (attribute_name == "dtype") return x.scalar_type();
    if (attribute_name == "shape") {
      List sizes;
      for (int64_t size : x.sizes()) sizes.items.emplace_back(size);
      return sizes;
    }
    return Bound{attribute_name, {v}};
  }

  Value called(const Value& callee) {
    expect("(");
    Call c;
    std::string function;
    if (callee.is<Bound>()) {
      function = callee.as<Bound>().method;
      c.positional.push_back(callee.as<Bound>().self[0]);
    } else {
      function = callee.as<Name>().text;
    }
    while (!accept(")")) {
      const size_t before = at_;
      const std::string key = name();
      if (!key.empty() && !peek("==") && accept("=")) {
        c.named.emplace(key, comparison());
      } else {
        at_ = before;
        c.positional.push_back(comparison());
      }
      if (!accept(",")) {
        expect(")");
        break;
      }
    }
    return call(function, c);
  }

  Value index_entry() {
    if (accept("...")) return Ellipsis{};
    tenon::optional<int64_t> parts[3];
    int colons = 0;
    Value single = None{};
    while (!peek(",") && !peek("]")) {
      if (accept(":")) {
        ++colons;
        continue;
      }
      single = comparison();
      if (colons > 0 || peek(":")) parts[colons] = single.as<int64_t>();
    }
    return colons ? Value(Slice(parts[0], parts[1], parts[2])) : single;
  }

  Value subscript(const Value& v) {
    expect("[");
    std::vector<Value> entries;
    while (!accept("]")) {
      entries.push_back(index_entry());
      if (!accept(",")) {
        expect("]");
        break;
      }
    }
    if (v.is<List>()) return list_item(v.as<List>(), entries.at(0));
    std::vector<TensorIndex> indices;
    for (const Value& e : entries) {
      if (e.is<None>())
        indices.emplace_back(std::nullopt);
      else if (e.is<Ellipsis>())
        indices.emplace_back("...");
      else if (e.is<Slice>())
        indices.emplace_back(e.as<Slice>());
      else
        indices.emplace_back(e.as<int64_t>());
    }
    return v.as<Tensor>().index(indices);
  }

  static Value list_item(const List& list, const Value& index) {
    if (index.is<int64_t>()) return list.items.at(static_cast<size_t>(index.as<int64_t>()));
    List tail;
    for (size_t i = static_cast<size_t>(index.as<Slice>().start.value_or(0)); i < list.items.size(); ++i)
      tail.items.push_back(list.items[i]);
    return tail;
  }

  Value list(const char* end, bool tuple) {
    List items;
    bool comma = false;
    while (!accept(end)) {
      items.items.push_back(comparison());
      comma = accept(",");
      if (!comma) {
        expect(end);
        break;
      }
    }
    if (tuple && items.items.size() == 1 && !comma) return items.items[0];
    return items;
  }

  Value number() {
    const size_t start = at_;
    bool real = false;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      const bool exponent_sign = (c == '-' || c == '+') && (text_[at_ - 1] == 'e');
      if (c == '.' || c == 'e' || exponent_sign)
        real = true;
      else if (!std::isdigit(static_cast<unsigned char>(c)))
        break;
      ++at_;
    }
    if (at_ < text_.size() && text_[at_] == 'j') throw Unsupported("complex numbers");
    const std::string digits = text_.substr(start, at_ - start);
    if (real) return std::stod(digits);
    return static_cast<int64_t>(std::stoll(digits));
  }

  Value primary() {
    skip();
    if (at_ == text_.size()) throw Unsupported("an empty expression");
    if (accept("...")) return Ellipsis{};
    if (accept("(")) return list(")", true);
    if (accept("[")) return list("]", false);
    const char c = text_[at_];
    if (c == '\'' || c == '"') {
      const size_t end = text_.find(c, at_ + 1);
      std::string s = text_.substr(at_ + 1, end - at_ - 1);
      at_ = end + 1;
      return s;
    }
    if (std::isdigit(static_cast<unsigned char>(c)) || c == '.') return number();
    const std::string id = name();
    if (const auto it = variables_.find(id); it != variables_.end()) return it->second;
    if (id == "True") return true;
    if (id == "False") return false;
    if (id == "None") return None{};
    if (id == "inf") return std::numeric_limits<double>::infinity();
    if (id == "nan") return std::numeric_limits<double>::quiet_NaN();
    for (const char* module : {"torch", "t", "F", "math"}) {
      if (id == module) return Name{id};
    }
    if (id == "float" || id == "bool") return Name{"builtin " + id};
    throw Unsupported("name " + id);
  }

  const std::string& text_;
  const std::map<std::string, Tensor>& variables_;
  size_t at_ = 0;
};

}  // namespace

Value evaluate(const std::string& expression, const std::map<std::string, Tensor>& variables) {
  return Parser(expression, variables).parse();
}

}  // namespace python
