// Gradients: the backward pass, hooks, what is recorded.
#include <tenon/autograd.h>

#include "frontend/python/call.h"

namespace python {

using tenon::Tensor;

namespace {

// with torch.no_grad():, with torch.enable_grad():
template <typename Guard>
class Block : public Object {
  Guard guard_;
};
struct EnableGrad {
  tenon::AutoGradMode mode{true};
};

Value tensor_or_none(const Tensor& x) { return x.defined() ? Value(x) : Value(None{}); }

// A tensor, or a list of tensors and Nones.
std::vector<Tensor> one_or_more(const Call& c, size_t i, const char* name) {
  std::vector<Tensor> result;
  if (!c.has(i, name)) return result;
  const Value& v = c.need(i, name);
  if (!v.is<List>()) return {v.as<Tensor>()};
  for (const Value& item : v.as<List>().items) result.push_back(item.is<None>() ? Tensor() : item.as<Tensor>());
  return result;
}

tenon::optional<bool> maybe_flag(const Call& c, size_t i, const char* name) {
  return c.has(i, name) ? tenon::optional<bool>(c.flag(i, name, false)) : tenon::nullopt;
}

Value backward(const Call& c) {
  const Tensor gradient = c.tensor_or_undefined(1, "gradient");
  const auto retain = maybe_flag(c, 2, "retain_graph");
  const bool create = c.flag(3, "create_graph", false);
  if (!c.has(4, "inputs")) {
    c.tensor(0).backward(gradient, retain, create);
  } else {
    const std::vector<Tensor> inputs = one_or_more(c, 4, "inputs");
    c.tensor(0).backward(gradient, retain, create, tenon::TensorList(inputs));
  }
  return None{};
}

Value backward_of_several(const Call& c) {
  tenon::autograd::backward(one_or_more(c, 0, "tensors"), one_or_more(c, 1, "grad_tensors"), maybe_flag(c, 2, "retain_graph"),
                            c.flag(3, "create_graph", false));
  return None{};
}

Value grad(const Call& c) {
  List result = tuple_of({});
  for (const Tensor& g :
       tenon::autograd::grad(one_or_more(c, 0, "outputs"), one_or_more(c, 1, "inputs"), one_or_more(c, 2, "grad_outputs"),
                             maybe_flag(c, 3, "retain_graph"), c.flag(4, "create_graph", false), c.flag(5, "allow_unused", false)))
    result.items.push_back(tensor_or_none(g));
  return result;
}

Value register_hook(const Call& c) {
  const ObjectPtr hook = c.need(1, "hook").as<ObjectPtr>();
  c.tensor(0).register_hook([hook](const Tensor& g) { return hook->call({{g}, {}}).as<Tensor>(); });
  return None{};
}

Value requires_grad(const Call& c) {
  const bool wanted = c.flag(1, "requires_grad", true);
  if (wanted && !c.tensor(0).is_floating_point())  // Python's words
    throw tenon::Error("only Tensors of floating point dtype can require gradients");
  return c.tensor(0).requires_grad_(wanted);
}

}  // namespace

void add_autograd(Table& t) {
  t["torch.no_grad"] = [](const Call&) -> Value { return ObjectPtr(std::make_shared<Block<tenon::NoGradGuard>>()); };
  t["torch.enable_grad"] = [](const Call&) -> Value { return ObjectPtr(std::make_shared<Block<EnableGrad>>()); };
  t["requires_grad_"] = requires_grad;
  t[".requires_grad"] = [](const Call& c) -> Value { return c.tensor(0).requires_grad(); };
  t[".is_leaf"] = [](const Call& c) -> Value { return c.tensor(0).is_leaf(); };
  t[".grad"] = [](const Call& c) { return tensor_or_none(c.tensor(0).grad()); };
  t[".grad="] = [](const Call& c) -> Value {
    tensor_of(c.need(0, "parameter")).mutable_grad() = c.tensor_or_undefined(1, "grad");
    return None{};
  };
  t["backward"] = backward;
  t["autograd.backward"] = backward_of_several;
  t["autograd.grad"] = grad;
  t["retain_grad"] = [](const Call& c) -> Value {
    c.tensor(0).retain_grad();
    return None{};
  };
  t["register_hook"] = register_hook;
  t["detach_"] = [](const Call& c) -> Value { return Tensor(c.tensor(0)).detach_(); };
}

}  // namespace python
