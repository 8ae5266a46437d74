// Modules: registration, traversal, moving and printing.
#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <ostream>
#include <unordered_set>

#include "grad.h"
#include "tenon/creation.h"
#include "tenon/nn/module.h"
#include "text.h"

namespace tenon::nn {
namespace {

// "tenon::nn::LinearImpl" -> "Linear"
std::string type_name(const Module& module) {
  const char* mangled = typeid(module).name();
  int status = 0;
  char* demangled = abi::__cxa_demangle(mangled, nullptr, nullptr, &status);
  std::string name = status == 0 ? demangled : mangled;
  std::free(demangled);
  if (const size_t at = name.rfind("::"); at != std::string::npos) name = name.substr(at + 2);
  if (name.size() > 4 && name.ends_with("Impl")) name.resize(name.size() - 4);
  return name;
}

std::string joined(const std::string& prefix, const std::string& name) {
  return prefix.empty() ? name : prefix + "." + name;
}

void check_name(const std::string& name, const char* what) {
  check(!name.empty(), what, " name must not be empty");
  check(name.find('.') == std::string::npos, what, " name must not contain a dot (got '", name, "')");
}

// Adds each tensor once, whatever names it has.
class Collector {
 public:
  explicit Collector(const char* what) : result(what) {}
  void add(const std::string& prefix, const OrderedDict<std::string, Tensor>& tensors) {
    for (const auto& item : tensors) {
      if (item->defined() && seen_.insert(item->unsafe_impl()).second)
        result.insert(joined(prefix, item.key()), *item);
    }
  }
  OrderedDict<std::string, Tensor> result;

 private:
  std::unordered_set<const TensorImpl*> seen_;
};

std::string indented(const std::string& text) {
  std::string result;
  for (char c : text) result += c == '\n' ? std::string("\n  ") : std::string(1, c);
  return result;
}

}  // namespace

const std::string& Module::name() const {
  if (name_.empty()) name_ = type_name(*this);
  return name_;
}

void Module::visit(const std::function<void(const std::string&, const Module&)>& f, bool recurse) const {
  std::vector<std::pair<std::string, const Module*>> pending{{"", this}};
  std::unordered_set<const Module*> seen;
  while (!pending.empty()) {
    const auto [prefix, module] = pending.back();
    pending.pop_back();
    if (!seen.insert(module).second) continue;
    f(prefix, *module);
    if (!recurse) return;
    const auto& children = module->children_.items();
    for (size_t i = children.size(); i-- > 0;) {
      if (children[i].value())
        pending.emplace_back(joined(prefix, children[i].key()), children[i].value().get());
    }
  }
}

OrderedDict<std::string, Tensor> Module::named_parameters(bool recurse) const {
  Collector all("Parameter");
  visit([&](const std::string& prefix, const Module& m) { all.add(prefix, m.parameters_); }, recurse);
  return std::move(all.result);
}
OrderedDict<std::string, Tensor> Module::named_buffers(bool recurse) const {
  Collector all("Buffer");
  visit([&](const std::string& prefix, const Module& m) { all.add(prefix, m.buffers_); }, recurse);
  return std::move(all.result);
}
std::vector<Tensor> Module::parameters(bool recurse) const { return named_parameters(recurse).values(); }
std::vector<Tensor> Module::buffers(bool recurse) const { return named_buffers(recurse).values(); }

OrderedDict<std::string, Tensor> Module::state_dict() const {
  OrderedDict<std::string, Tensor> state("Entry");
  visit(
      [&](const std::string& prefix, const Module& m) {
        for (const auto* tensors : {&m.parameters_, &m.buffers_}) {
          for (const auto& item : *tensors) {
            if (item->defined()) state.insert(joined(prefix, item.key()), item->detach());
          }
        }
      },
      true);
  return state;
}

void Module::load_state_dict(const OrderedDict<std::string, Tensor>& state) {
  const OrderedDict<std::string, Tensor> own = state_dict();
  std::string missing, unexpected, mismatched;
  const auto append = [](std::string& list, const std::string& key) {
    list += (list.empty() ? "\"" : ", \"") + key + "\"";
  };
  for (const auto& item : own) {
    const Tensor* given = state.find(item.key());
    if (!given) {
      append(missing, item.key());
    } else if (!(given->sizes() == item->sizes())) {
      mismatched += text("\n\tsize mismatch for ", item.key(), ": copying a param with shape torch.Size(",
                         given->sizes(), ") from checkpoint, the shape in current model is torch.Size(",
                         item->sizes(), ").");
    }
  }
  for (const auto& item : state) {
    if (!own.contains(item.key())) append(unexpected, item.key());
  }
  std::string message;
  if (!unexpected.empty()) message += "\n\tUnexpected key(s) in state_dict: " + unexpected + ". ";
  if (!missing.empty()) message += "\n\tMissing key(s) in state_dict: " + missing + ". ";
  message += mismatched;
  check(message.empty(), "Error(s) in loading state_dict for ", name(), ":", message);
  const NoGradGuard no_grad;
  for (const auto& item : own) item->copy_(state[item.key()]);
}

OrderedDict<std::string, std::shared_ptr<Module>> Module::named_modules(const std::string& prefix,
                                                                        bool include_self) const {
  OrderedDict<std::string, std::shared_ptr<Module>> result("Submodule");
  visit(
      [&](const std::string& name, const Module& m) {
        if (&m == this && !include_self) return;
        const std::string full = name.empty() ? prefix : joined(prefix, name);
        result.insert(full, std::const_pointer_cast<Module>(m.shared_from_this()));
      },
      true);
  return result;
}
std::vector<std::shared_ptr<Module>> Module::modules(bool include_self) const {
  return named_modules({}, include_self).values();
}

void Module::apply(const std::function<void(Module&)>& function) {
  std::vector<Module*> order;
  visit([&](const std::string&, const Module& m) { order.push_back(const_cast<Module*>(&m)); }, true);
  for (size_t i = order.size(); i-- > 0;) function(*order[i]);
}

void Module::train(bool on) {
  for (const auto& child : children_) {
    if (child.value()) child.value()->train(on);
  }
  training_ = on;
}

// f gives the new data of each tensor; the tensor itself stays the same object.
template <typename F>
void Module::replace_tensors(F f) {
  const NoGradGuard no_grad;
  for (Tensor& tensor : parameters()) tensor.set_data(f(tensor));
  for (Tensor& tensor : buffers()) tensor.set_data(f(tensor));
}
void Module::to(Device device, ScalarType dtype, bool non_blocking) {
  to(device, non_blocking);
  to(dtype, non_blocking);
}
void Module::to(ScalarType dtype, bool) {
  check<TypeError>(
      isFloatingType(dtype),
      "nn.Module.to only accepts floating point or complex dtypes, but got desired dtype=", repr(dtype));
  replace_tensors([&](const Tensor& t) { return t.is_floating_point() ? t.to(dtype) : t; });
}
void Module::to(Device device, bool non_blocking) {
  replace_tensors([&](const Tensor& t) { return t.to(device, non_blocking); });
}

void Module::zero_grad(bool set_to_none) { zero_grads(parameters(), set_to_none); }

Tensor& Module::register_parameter(std::string name, Tensor tensor, bool requires_grad) {
  check_name(name, "Parameter");
  if (tensor.defined()) tensor.set_requires_grad(requires_grad);
  return parameters_.insert(std::move(name), std::move(tensor));
}
Tensor& Module::register_buffer(std::string name, Tensor tensor) {
  check_name(name, "Buffer");
  return buffers_.insert(std::move(name), std::move(tensor));
}
void Module::add_child(std::string name, std::shared_ptr<Module> module) {
  check_name(name, "Submodule");
  children_.insert(std::move(name), std::move(module));
}
void Module::unregister_module(const std::string& name) {
  OrderedDict<std::string, std::shared_ptr<Module>> rest("Submodule");
  check(children_.contains(name), "No Module with name `", name, "` is registered");
  for (const auto& child : children_) {
    if (child.key() != name) rest.insert(child.key(), child.value());
  }
  children_ = std::move(rest);
}

// --- printing
// ---------------------------------------------------------------------------------------------------------

void Module::pretty_print(std::ostream& out) const {
  out << name() << '(';
  for (const auto& child : children_) {
    if (!child.value()) continue;
    std::ostringstream body;
    child.value()->pretty_print(body);
    out << "\n  (" << child.key() << "): " << indented(body.str());
  }
  out << (children_.is_empty() ? ")" : "\n)");
}
void SequentialImpl::pretty_print(std::ostream& out) const { Module::pretty_print(out); }

std::ostream& operator<<(std::ostream& out, const Module& module) {
  module.pretty_print(out);
  return out;
}

// --- containers
// -------------------------------------------------------------------------------------------------------

void SequentialImpl::push_back(AnyModule module) {
  push_back(std::to_string(modules_.size()), std::move(module));
}
void SequentialImpl::push_back(std::string name, AnyModule module) {
  register_module(std::move(name), module.ptr());
  modules_.push_back(std::move(module));
}
Tensor SequentialImpl::forward(const Operand& input) const {
  check(!modules_.empty(), "Cannot call forward() on an empty Sequential");
  Tensor x = input;
  for (const AnyModule& module : modules_) x = module.forward(x);
  return x;
}
std::shared_ptr<Module> SequentialImpl::ptr(size_t index) const {
  check<IndexError>(index < modules_.size(), "index ", index, " is out of range");
  return modules_[index].ptr();
}

void ModuleListImpl::push_back(std::shared_ptr<Module> module) {
  register_module(std::to_string(size()), std::move(module));
}
std::shared_ptr<Module> ModuleListImpl::ptr(size_t index) const {
  check<IndexError>(index < size(), "index ", index, " is out of range");
  return children_.items()[index].value();
}

}  // namespace tenon::nn
