// Reading arguments, and finding entries of the table.
#include "frontend/python/call.h"

#include "frontend/python/overloads.h"

namespace python {

using tenon::Scalar;
using tenon::ScalarType;
using tenon::Tensor;

const Value* Call::find(size_t i, const char* name) const {
  const Value* found = nullptr;
  if (i < positional.size()) {
    used_positions.insert(i);
    found = &positional[i];
  } else if (const auto it = named.find(name); it != named.end()) {
    used_names.insert(name);
    found = &it->second;
  }
  return found && found->is<None>() ? nullptr : found;
}

const Value& Call::need(size_t i, const char* name) const {
  const Value* value = find(i, name);
  if (!value) throw Unsupported(std::string("argument ") + name);
  return *value;
}

tenon::optional<Tensor> Call::maybe_tensor(size_t i, const char* name) const {
  if (!has(i, name)) return tenon::nullopt;
  return tensor(i, name);
}

Tensor Call::tensor_or_undefined(size_t i, const char* name) const { return has(i, name) ? tensor(i, name) : Tensor(); }

int64_t Call::integer(size_t i, const char* name) const {
  const Value& v = need(i, name);
  return v.is<bool>() ? v.as<bool>() : v.as<int64_t>();
}

int64_t Call::integer(size_t i, const char* name, int64_t otherwise) const { return has(i, name) ? integer(i, name) : otherwise; }

tenon::optional<int64_t> Call::maybe_integer(size_t i, const char* name) const {
  if (!has(i, name)) return tenon::nullopt;
  return integer(i, name);
}

bool Call::flag(size_t i, const char* name, bool otherwise) const {
  const Value* v = find(i, name);
  return v ? v->as<bool>() : otherwise;
}

std::string Call::string(size_t i, const char* name, const char* otherwise) const {
  const Value* v = find(i, name);
  return v ? v->as<std::string>() : otherwise;
}

Scalar Call::scalar(size_t i, const char* name, Scalar otherwise) const { return has(i, name) ? scalar(i, name) : otherwise; }

tenon::optional<Scalar> Call::maybe_scalar(size_t i, const char* name) const {
  if (!has(i, name)) return tenon::nullopt;
  return scalar(i, name);
}

double Call::real(size_t i, const char* name, double otherwise) const { return has(i, name) ? scalar(i, name).toDouble() : otherwise; }

tenon::optional<double> Call::maybe_real(size_t i, const char* name) const {
  if (!has(i, name)) return tenon::nullopt;
  return scalar(i, name).toDouble();
}

Ints Call::ints(size_t i, const char* name) const { return ints_of(need(i, name)); }
Ints Call::ints(size_t i, const char* name, Ints otherwise) const { return has(i, name) ? ints(i, name) : otherwise; }

Ints Call::rest_as_ints(size_t from, const char* name) const {
  if (positional.size() <= from) return has(kNamed, name) ? ints(kNamed, name) : Ints{};
  if (positional.size() == from + 1) return ints(from, name);
  Ints result;
  for (size_t i = from; i < positional.size(); ++i) result.push_back(integer(i, name));
  return result;
}

std::vector<Tensor> Call::tensors(size_t i, const char* name) const { return tensors_of(need(i, name)); }

tenon::optional<ScalarType> Call::dtype() const {
  const Value* v = find(kNamed, "dtype");
  return v ? tenon::optional<ScalarType>(v->as<ScalarType>()) : tenon::nullopt;
}

tenon::TensorOptions Call::options() const {
  tenon::TensorOptions o;
  if (auto type = dtype()) o = o.dtype(*type);
  if (const Value* v = find(kNamed, "device")) o = o.device(to_device(*v));
  return flag(kNamed, "requires_grad", false) ? o.requires_grad(true) : o;
}

void Call::check_all_read(const std::string& function) const {
  for (size_t i = 0; i < positional.size(); ++i) {
    if (!used_positions.contains(i)) throw Unsupported("argument " + std::to_string(i) + " of " + function);
  }
  for (const auto& [name, value] : named) {
    if (!used_names.contains(name)) throw Unsupported("argument " + name + " of " + function);
  }
}

Ints ints_of(const Value& v) {
  if (v.is<bool>()) return {v.as<bool>()};
  if (!v.is<List>()) return {v.as<int64_t>()};
  Ints result;
  for (const Value& item : v.as<List>().items) result.push_back(item.as<int64_t>());
  return result;
}

std::vector<Tensor> tensors_of(const Value& v) {
  std::vector<Tensor> result;
  for (const Value& item : v.as<List>().items) result.push_back(item.as<Tensor>());
  return result;
}

tenon::Device to_device(const Value& v) {
  if (!v.is<std::string>()) return v.as<tenon::Device>();
  const std::string& name = v.as<std::string>();
  if (name == "meta" || name == "xla" || name == "mps") throw Unsupported("device " + name);
  return tenon::Device(name);
}

const Table& table() {
  static const Table table = [] {
    Table t;
    add_printed(t);  // what follows replaces and adds
    add_elementwise(t);
    add_shape(t);
    add_indexing(t);
    add_order(t);
    add_reductions(t);
    add_products(t);
    add_creation(t);
    add_inplace(t);
    add_random(t);
    add_functional(t);
    add_modules(t);
    add_autograd(t);
    add_builtins(t);
    return t;
  }();
  return table;
}

namespace {
const Function* look_up(const std::string& full_name) {
  auto it = table().find(full_name);
  if (it == table().end()) {
    for (const char* module : {"torch.", "F.", "linalg.", "special.", "Tensor."}) {
      if (full_name.starts_with(module)) it = table().find(full_name.substr(std::string(module).size()));
    }
    if (full_name.starts_with("special.") && it == table().end()) it = table().find("special_" + full_name.substr(8));
  }
  return it == table().end() ? nullptr : &it->second;
}
}  // namespace

const Function* find_function(const std::string& full_name) {
  thread_local std::unordered_map<std::string, const Function*> known;  // bench_calls times short calls
  const auto [found, is_new] = known.try_emplace(full_name);
  if (is_new) found->second = look_up(full_name);
  return found->second;
}

Value call_function(const std::string& name, const Call& c) {
  const Function* f = find_function(name);
  if (!f) throw Unsupported("function " + name);
  Value result = (*f)(c);
  c.check_all_read(name);
  return result;
}

}  // namespace python
