// Containers of modules and parameters.
#include "tenon/nn/containers.h"

#include <ostream>

#include "frontend/src/nn/layer_text.h"
#include "frontend/src/nn/module_text.h"
#include "frontend/src/tensor/text.h"
#include "tenon/print.h"

namespace tenon::nn {

// --- any values and modules

namespace detail {
void refuse_argument(size_t index, const std::type_info& wanted, const AnyValue& got) {
  throw Error(text("Expected argument #", index, " to be of type ", class_name(wanted), ", but received value of type ",
                   class_name(got.type_info())));
}
void refuse_count(const std::type_info& module, size_t least, size_t most, size_t got) {
  const std::string expects =
      least == most ? text(most, " argument(s)") : text("at least ", least, " argument(s) and at most ", most, " argument(s)");
  throw Error(text(class_name(module), "'s forward() method expects ", expects, ", but received ", got, "."));
}
}  // namespace detail

void AnyValue::refuse(const std::type_info& wanted) const {
  throw Error(text("Attempted to cast AnyValue to ", class_name(wanted), ", but its actual type is ", class_name(*type_)));
}

void AnyModule::refuse(const std::type_info& wanted) const {
  throw Error(text("Attempted to cast module of type ", class_name(*type_), " to type ", class_name(wanted)));
}
Module& AnyModule::held(const char* call) const {
  check(!is_empty(), "Cannot call ", call, " on an empty AnyModule");
  return *module_;
}
AnyValue AnyModule::call_all(const std::vector<AnyValue>& arguments) const {
  held("forward()");
  return forward_(arguments);
}
const std::shared_ptr<Module>& AnyModule::ptr() const {
  held("ptr()");
  return module_;
}
const std::type_info& AnyModule::type_info() const {
  held("type_info()");
  return *type_;
}
AnyModule AnyModule::clone(const optional<Device>& device) const { return is_empty() ? AnyModule() : again_(module_->clone(device)); }

// --- Sequential

SequentialImpl::SequentialImpl() = default;
SequentialImpl::~SequentialImpl() = default;
SequentialImpl::SequentialImpl(const std::vector<NamedAnyModule>& modules) { extend(modules); }
SequentialImpl::SequentialImpl(const OrderedDict<std::string, AnyModule>& modules) {
  for (const auto& item : modules) push_back(item.key(), item.value());
}
Sequential::Sequential() : ModuleHolder(std::make_shared<SequentialImpl>()) {}
Sequential::Sequential(std::initializer_list<NamedAnyModule> modules)
    : ModuleHolder(std::make_shared<SequentialImpl>(std::vector<NamedAnyModule>(modules))) {}

void SequentialImpl::push_back(AnyModule module) { push_back(std::to_string(modules_.size()), std::move(module)); }
void SequentialImpl::push_back(std::string name, AnyModule module) {
  register_module(std::move(name), module.ptr());
  modules_.push_back(std::move(module));
}
void SequentialImpl::check_not_empty() const { check(!modules_.empty(), "Cannot call forward() on an empty Sequential"); }
AnyValue SequentialImpl::pass_on(AnyValue value) const {
  for (size_t i = 1; i < modules_.size(); ++i) {
    std::vector<AnyValue> one;
    one.push_back(std::move(value));
    value = modules_[i].call_all(one);
  }
  return value;
}
AnyValue SequentialImpl::forward_values(const std::vector<AnyValue>& arguments) const {
  check_not_empty();
  return pass_on(modules_[0].call_all(arguments));
}
void SequentialImpl::refuse_result(const AnyValue& got, const std::type_info& wanted) {
  throw Error(text("The type of the return value is ", class_name(got.type_info()), ", but you asked for type ", class_name(wanted)));
}
const AnyModule& SequentialImpl::child(size_t index) const {
  check<IndexError>(index < modules_.size(), "Index out of range");
  return modules_[index];
}
std::shared_ptr<Module> SequentialImpl::clone(const optional<Device>& device) const {
  auto copy = std::make_shared<SequentialImpl>();
  for (size_t i = 0; i < modules_.size(); ++i) copy->push_back(children_.items()[i].key(), modules_[i].clone(device));
  copy->train(is_training());
  return copy;
}
void SequentialImpl::pretty_print(std::ostream& out) const { Module::pretty_print(out); }

// --- ModuleList

ModuleList::ModuleList() : ModuleHolder(std::make_shared<ModuleListImpl>()) {}
void ModuleListImpl::push_back(std::shared_ptr<Module> module) {
  register_module(std::to_string(size()), module);
  modules_.push_back(std::move(module));
}
void ModuleListImpl::insert(size_t index, std::shared_ptr<Module> module) {
  check<IndexError>(index <= size(), "Index out of range");
  modules_.insert(modules_.begin() + static_cast<std::ptrdiff_t>(index), std::move(module));
  children_.clear();
  for (size_t i = 0; i < size(); ++i) register_module(std::to_string(i), modules_[i]);
}
std::shared_ptr<Module> ModuleListImpl::ptr(size_t index) const {
  check<IndexError>(index < size(), "Index out of range");
  return modules_[index];
}
void ModuleListImpl::refuse(size_t index, const std::type_info& wanted) const {
  throw Error(text("Unable to cast module[", index, "] to ", class_name(wanted)));
}
std::shared_ptr<Module> ModuleListImpl::clone(const optional<Device>& device) const {
  auto copy = std::make_shared<ModuleListImpl>();
  for (const auto& module : modules_) copy->push_back(module->clone(device));
  copy->train(is_training());
  return copy;
}

// --- ModuleDict

ModuleDict::ModuleDict() : ModuleHolder(std::make_shared<ModuleDictImpl>()) {}
ModuleDict::ModuleDict(std::initializer_list<std::pair<std::string, std::shared_ptr<Module>>> modules)
    : ModuleHolder(std::make_shared<ModuleDictImpl>(ModuleDictImpl::Pairs(modules))) {}
ModuleDictImpl::ModuleDictImpl(const Items& modules) { update(modules); }
ModuleDictImpl::ModuleDictImpl(const Pairs& modules) { update(modules); }
bool ModuleDictImpl::contains(const std::string& name) const { return children_.contains(name); }
size_t ModuleDictImpl::size() const { return children_.size(); }
bool ModuleDictImpl::empty() const { return children_.is_empty(); }
void ModuleDictImpl::clear() { children_.clear(); }
std::vector<std::string> ModuleDictImpl::keys() const { return children_.keys(); }
std::vector<std::shared_ptr<Module>> ModuleDictImpl::values() const { return children_.values(); }
ModuleDictImpl::Pairs ModuleDictImpl::items() const { return children_.pairs(); }
std::shared_ptr<Module> ModuleDict::operator[](const std::string& name) const { return (*get())[name]; }
void ModuleDictImpl::insert(const std::string& name, std::shared_ptr<Module> module) {
  if (contains(name)) children_[name] = std::move(module);
  else register_module(name, std::move(module));
}
void ModuleDictImpl::update(const Items& modules) {
  for (const auto& item : modules) insert(item.key(), item.value());
}
std::shared_ptr<Module> ModuleDictImpl::operator[](const std::string& name) const {
  check(contains(name), "Key '", name, "' is not defined");
  return children_[name];
}
std::shared_ptr<Module> ModuleDictImpl::pop(const std::string& name) {
  std::shared_ptr<Module> module = (*this)[name];
  children_.erase(name);
  return module;
}
void ModuleDictImpl::refuse(const std::string& name, const std::type_info& wanted) const {
  throw Error(text("Unable to cast module[", name, "] to ", class_name(wanted)));
}
std::shared_ptr<Module> ModuleDictImpl::clone(const optional<Device>& device) const {
  auto copy = std::make_shared<ModuleDictImpl>();
  for (const auto& item : children_) copy->insert(item.key(), item.value()->clone(device));
  copy->train(is_training());
  return copy;
}

// --- parameters

namespace {

Tensor copied(const Tensor& tensor, const optional<Device>& device) {
  const NoGradGuard no_grad;
  const Tensor copy = device && tensor.device() != *device ? tensor.to(*device) : tensor.clone();
  return copy.set_requires_grad(tensor.requires_grad());
}

// Python names the type "torch.float32" in a list, and "torch.FloatTensor" in a dict.
void print_parameters(std::ostream& out, const std::string& name, bool in_list, const OrderedDict<std::string, Tensor>& parameters) {
  const bool libtorch = as_libtorch();
  out << name << '(' << (libtorch || !parameters.is_empty() ? "\n" : "");
  for (const auto& item : parameters) {
    out << (libtorch ? "(" : "    (") << item.key() << "): Parameter containing: [";
    if (libtorch) {
      out << item->scalar_type() << " of size " << item->sizes();
    } else {
      out << (in_list ? repr(item->scalar_type()) : text("tenon.", item->scalar_type(), "Tensor")) << " of size ";
      for (int64_t i = 0; i < item->dim(); ++i) out << (i ? "x" : "") << item->size(i);
    }
    out << "]\n";
  }
  out << ')';
}

}  // namespace

ParameterList::ParameterList() : ModuleHolder(std::make_shared<ParameterListImpl>()) {}
void ParameterListImpl::append(const Tensor& parameter) {
  register_parameter(std::to_string(size()), parameter, parameter.requires_grad());
}
void ParameterListImpl::append(const OrderedDict<std::string, Tensor>::Item& item) { append(item.value()); }
Tensor& ParameterListImpl::at(size_t index) {
  check<IndexError>(index < size(), "Index out of range");
  return parameters_[index].value();
}
std::shared_ptr<Module> ParameterListImpl::clone(const optional<Device>& device) const {
  auto copy = std::make_shared<ParameterListImpl>();
  for (const auto& item : parameters_) copy->append({item.key(), copied(item.value(), device)});
  return copy;
}
void ParameterListImpl::pretty_print(std::ostream& out) const { print_parameters(out, printed_name(), true, parameters_); }

ParameterDict::ParameterDict() : ModuleHolder(std::make_shared<ParameterDictImpl>()) {}
ParameterDictImpl::ParameterDictImpl(const OrderedDict<std::string, Tensor>& parameters) { update(parameters); }
Tensor& ParameterDictImpl::get(const std::string& name) { return parameters_[name]; }
const Tensor& ParameterDictImpl::get(const std::string& name) const { return parameters_[name]; }
bool ParameterDictImpl::contains(const std::string& name) const { return parameters_.contains(name); }
size_t ParameterDictImpl::size() const { return parameters_.size(); }
bool ParameterDictImpl::empty() const { return parameters_.is_empty(); }
void ParameterDictImpl::clear() { parameters_.clear(); }
std::vector<std::string> ParameterDictImpl::keys() const { return parameters_.keys(); }
std::vector<Tensor> ParameterDictImpl::values() const { return parameters_.values(); }
Tensor& ParameterDictImpl::insert(const std::string& name, const Tensor& parameter) {
  return register_parameter(name, parameter, parameter.requires_grad());
}
Tensor ParameterDictImpl::pop(const std::string& name) {
  Tensor parameter = parameters_[name];
  parameters_.erase(name);
  return parameter;
}
void ParameterDictImpl::update(const OrderedDict<std::string, Tensor>& parameters) {
  for (const auto& item : parameters) {
    if (contains(item.key())) parameters_[item.key()] = item.value();
    else insert(item.key(), item.value());
  }
}
std::shared_ptr<Module> ParameterDictImpl::clone(const optional<Device>& device) const {
  auto copy = std::make_shared<ParameterDictImpl>();
  for (const auto& item : parameters_) copy->insert(item.key(), copied(item.value(), device));
  return copy;
}
void ParameterDictImpl::pretty_print(std::ostream& out) const { print_parameters(out, printed_name(), false, parameters_); }

}  // namespace tenon::nn
