// Modules: registration, traversal, moving and printing.
#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <ostream>
#include <typeindex>
#include <unordered_map>
#include <unordered_set>

#include "frontend/src/autograd/grad.h"
#include "frontend/src/nn/module_text.h"
#include "frontend/src/nn/state_dict.h"
#include "frontend/src/tensor/text.h"
#include "ir/base/fork.h"
#include "tenon/creation.h"
#include "tenon/nn/module.h"
#include "tenon/print.h"
#include "tenon/serialize.h"

namespace tenon::nn {
namespace {

// The names of a class of modules.
struct TypeNames {
  std::string full;      // "tenon::nn::LinearImpl"
  std::string libtorch;  // "torch::nn::LinearImpl"
};

struct KnownNames {
  std::mutex mutex;
  std::unordered_map<std::type_index, TypeNames> by_type;
};
KnownNames& known() {
  static auto* known = new KnownNames;
  return *known;
}
[[maybe_unused]] const bool modules_held_over_fork =
    ir::hold_over_fork(ir::ForkOrder::Names, ir::fork_lock<[]() -> std::mutex& { return known().mutex; }>());

const TypeNames& names_of(const std::type_info& type) {
  std::lock_guard guard(known().mutex);
  TypeNames& names = known().by_type[type];
  if (names.full.empty()) {
    int status = 0;
    char* demangled = abi::__cxa_demangle(type.name(), nullptr, nullptr, &status);
    names.full = status == 0 ? demangled : type.name();
    std::free(demangled);
    constexpr std::string_view kOwn = "tenon::";
    names.libtorch = names.full.starts_with(kOwn) ? "torch::" + names.full.substr(kOwn.size()) : names.full;
  }
  return names;
}

// "LinearImpl" -> "Linear"
std::string without_impl(const std::string& name) {
  return name.size() > 4 && name.ends_with("Impl") ? name.substr(0, name.size() - 4) : name;
}

std::string joined(const std::string& prefix, const std::string& name) { return prefix.empty() ? name : prefix + "." + name; }

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
      if (item->defined() && seen_.insert(item->unsafe_impl()).second) result.insert(joined(prefix, item.key()), *item);
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

std::string class_name(const std::type_info& type) {
  const TypeNames& names = names_of(type);
  return get_print_style() == PrintStyle::LibTorch ? names.libtorch : names.full;
}

const std::string& Module::name() const {
  if (!name_.empty()) return name_;
  const TypeNames& names = names_of(typeid(*this));
  return get_print_style() == PrintStyle::LibTorch ? names.libtorch : names.full;
}
std::string Module::printed_name() const {
  if (!name_.empty()) return name_;
  const TypeNames& names = names_of(typeid(*this));
  const std::string& full = names.full;
  if (get_print_style() == PrintStyle::LibTorch) {  // which knows its own modules by the name of the holder, but for the transformers
    const bool as_it_is = names.libtorch == full || names.libtorch.starts_with("torch::nn::Transformer");
    return as_it_is ? names.libtorch : without_impl(names.libtorch);
  }
  const size_t colons = full.rfind("::");
  return without_impl(colons == std::string::npos ? full : full.substr(colons + 2));
}

void Module::visit(const Function<void(const std::string&, const Module&)>& f, bool recurse) const {
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
      if (children[i].value()) pending.emplace_back(joined(prefix, children[i].key()), children[i].value().get());
    }
  }
}

Module::Module() : Module(std::string()) {}
Module::Module(std::string name) : parameters_("Parameter"), buffers_("Buffer"), children_("Submodule"), name_(std::move(name)) {}
Module::~Module() = default;
std::vector<std::shared_ptr<Module>> Module::children() const { return children_.values(); }
OrderedDict<std::string, std::shared_ptr<Module>> Module::named_children() const { return children_; }

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

void check_state_dict(const Module& module, const OrderedDict<std::string, Tensor>& state, bool strict) {
  const OrderedDict<std::string, Tensor> own = module.state_dict();
  std::string missing, unexpected, mismatched;
  const auto append = [](std::string& list, const std::string& key) { list += (list.empty() ? "\"" : ", \"") + key + "\""; };
  for (const auto& item : own) {
    const Tensor* given = state.find(item.key());
    if (!given) {
      append(missing, item.key());
    } else if (!(given->sizes() == item->sizes())) {
      mismatched += text("\n\tsize mismatch for ", item.key(), ": copying a param with shape torch.Size(", given->sizes(),
                         ") from checkpoint, the shape in current model is torch.Size(", item->sizes(), ").");
    }
  }
  for (const auto& item : state) {
    if (strict && !own.contains(item.key())) append(unexpected, item.key());
  }
  std::string message;
  if (!unexpected.empty()) message += "\n\tUnexpected key(s) in state_dict: " + unexpected + ". ";
  if (!missing.empty()) message += "\n\tMissing key(s) in state_dict: " + missing + ". ";
  message += mismatched;
  check(message.empty(), "Error(s) in loading state_dict for ", module.printed_name(), ":", message);
}

void Module::load_state_dict(const OrderedDict<std::string, Tensor>& state) {
  check_state_dict(*this, state, true);
  const NoGradGuard no_grad;
  for (const auto& item : state_dict()) item->copy_(state[item.key()]);
}

OrderedDict<std::string, std::shared_ptr<Module>> Module::named_modules(const std::string& prefix, bool include_self) const {
  OrderedDict<std::string, std::shared_ptr<Module>> result("Submodule");
  visit(
      [&](const std::string& name, const Module& m) {
        if (&m == this && !include_self) return;
        result.insert(name.empty() ? prefix : joined(prefix, name), m.shared());
      },
      true);
  return result;
}
std::vector<std::shared_ptr<Module>> Module::modules(bool include_self) const { return named_modules({}, include_self).values(); }

std::shared_ptr<Module> Module::shared() const {
  const std::shared_ptr<const Module> self = weak_from_this().lock();
  check(self != nullptr,
        "It looks like you attempted to retrieve your top-level module as a shared_ptr, but it is not stored in "
        "a shared_ptr. Use std::make_shared<",
        printed_name(),
        "> instead of creating your module on the stack, or alternatively do not try to access your top-level "
        "module at all by passing /*include_self=*/false to modules() or named_modules()");
  return std::const_pointer_cast<Module>(self);
}

void Module::apply(const Function<void(const std::string&, const Module&)>& function, const std::string& name_prefix) const {
  visit([&](const std::string& name, const Module& m) { function(name.empty() ? name_prefix : joined(name_prefix, name), m); }, true);
}
void Module::apply(const Function<void(const Module&)>& function) const {
  visit([&](const std::string&, const Module& m) { function(m); }, true);
}
void Module::apply(const Function<void(const std::string&, Module&)>& function, const std::string& name_prefix) {
  std::as_const(*this).apply([&](const std::string& name, const Module& m) { function(name, const_cast<Module&>(m)); }, name_prefix);
}
void Module::apply(const Function<void(Module&)>& function) {
  visit([&](const std::string&, const Module& m) { function(const_cast<Module&>(m)); }, true);
}
void Module::apply(const Function<void(const std::string&, const Pointer&)>& function, const std::string& name_prefix) const {
  apply([&](const std::string& name, const Module& m) { function(name, m.shared()); }, name_prefix);
}
void Module::apply(const Function<void(const Pointer&)>& function) const {
  visit([&](const std::string&, const Module& m) { function(m.shared()); }, true);
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
  check<TypeError>(isFloatingType(dtype),
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
  else if (requires_grad) warn_user("An undefined tensor cannot require grad. Ignoring the `requires_grad=true` function parameter.");
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
  check(children_.contains(name), "No Module with name `", name, "` is registered");
  children_.erase(name);
}

// --- copies and archives

void Module::take_values(const Module& other, const optional<Device>& device) {
  const NoGradGuard no_grad;
  const auto check_count = [](size_t own, size_t wanted, const char* what, const char* how) {
    check(own == wanted, "The cloned module does not have the same number of ", what,
          " as the original module after calling reset(). Are you sure you called register_", how,
          "() inside reset() and not the constructor?");
  };
  check_count(parameters_.size(), other.parameters_.size(), "parameters", "parameter");
  check_count(buffers_.size(), other.buffers_.size(), "buffers", "buffer");
  check_count(children_.size(), other.children_.size(), "child modules", "module");
  const auto copy = [&](OrderedDict<std::string, Tensor>& own, const OrderedDict<std::string, Tensor>& values) {
    for (const auto& item : values) {
      if (!item->defined()) continue;
      const bool moves = device && item->device() != *device;
      own[item.key()].set_data(moves ? item->to(*device) : item->clone());
      if (own[item.key()].is_leaf()) own[item.key()].set_requires_grad(item->requires_grad());
    }
  };
  copy(parameters_, other.parameters_);
  copy(buffers_, other.buffers_);
  for (const auto& child : other.children_) {
    if (child.value()) children_[child.key()]->take_clone(*child.value(), device);
  }
  training_ = other.training_;
}

void Module::save(tenon::serialize::OutputArchive& archive) const {
  for (const auto* tensors : {&parameters_, &buffers_}) {
    for (const auto& item : *tensors) {
      if (item->defined()) archive.write(item.key(), *item, tensors == &buffers_);
    }
  }
  for (const auto& child : children_) {
    if (!child.value() || !child.value()->is_serializable()) continue;
    tenon::serialize::OutputArchive nested;
    child.value()->save(nested);
    archive.write(child.key(), nested);
  }
}

namespace {
// Puts the values of tensors back, unless everything went well. A module's children may have a load() of their own, which nobody
// can try beforehand.
class Undo {
 public:
  explicit Undo(std::vector<Tensor> tensors) : tensors_(std::move(tensors)) {
    for (const Tensor& tensor : tensors_) values_.push_back(tensor.detach().clone());
  }
  Undo(const Undo&) = delete;
  Undo& operator=(const Undo&) = delete;
  ~Undo() {
    const NoGradGuard no_grad;
    for (size_t i = 0; i < values_.size(); ++i) {
      try {
        if (tensors_[i].sizes() == values_[i].sizes()) tensors_[i].copy_(values_[i]);
        else tensors_[i].set_data(values_[i]);
      } catch (const Error&) {  // no memory: the others are put back all the same
      }
    }
  }
  void keep() { values_.clear(); }  // all went well

 private:
  std::vector<Tensor> tensors_, values_;
};

std::vector<Tensor> all_tensors(const Module& module) {
  std::vector<Tensor> tensors = module.parameters();
  for (const Tensor& buffer : module.buffers()) tensors.push_back(buffer);
  return tensors;
}
}  // namespace

void Module::load(tenon::serialize::InputArchive& archive) {
  Undo undo(all_tensors(*this));
  for (auto* tensors : {&parameters_, &buffers_}) {
    for (auto& item : *tensors) {
      if (!item->defined()) continue;
      Tensor found;
      archive.read(item.key(), found, tensors == &buffers_);
      check(found.sizes() == item->sizes(), archive.where(item.key()), ": has shape ", found.sizes(), ", and the module's is ",
            item->sizes());
      const NoGradGuard no_grad;
      item->copy_(found);
    }
  }
  for (const auto& child : children_) {
    if (!child.value() || !child.value()->is_serializable()) continue;
    tenon::serialize::InputArchive nested;
    if (archive.try_read(child.key(), nested)) child.value()->load(nested);
    else  // one without tensors left nothing
      check(child.value()->state_dict().is_empty(), "No such serialized submodule: ", archive.where(child.key()));
  }
  undo.keep();
}
tenon::serialize::OutputArchive& operator<<(tenon::serialize::OutputArchive& archive, const Module& module) {
  return module.save(archive), archive;
}
tenon::serialize::InputArchive& operator>>(tenon::serialize::InputArchive& archive, Module& module) {
  return module.load(archive), archive;
}

// --- printing
// ---------------------------------------------------------------------------------------------------------

void Module::pretty_print(std::ostream& out) const {
  out << printed_name();
  if (children_.is_empty() && get_print_style() == PrintStyle::LibTorch) return;
  out << '(';
  for (const auto& child : children_) {
    if (!child.value()) continue;
    TextStream body;
    child.value()->pretty_print(body);
    // LibTorch indents children, and leaves the lines of one without children as they are.
    const bool as_it_is = get_print_style() == PrintStyle::LibTorch && child.value()->children_.is_empty();
    out << "\n  (" << child.key() << "): " << (as_it_is ? body.str() : indented(body.str()));
  }
  out << (children_.is_empty() ? ")" : "\n)");
}

std::ostream& operator<<(std::ostream& out, const Module& module) {
  TextStream body;
  module.pretty_print(body);
  return out << body.str();
}

}  // namespace tenon::nn
