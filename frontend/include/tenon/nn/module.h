// Modules: objects with parameters, buffers and submodules, registered by name. LibTorch's Module and its holders;
// containers of modules are in tenon/nn/containers.h.
//
//   struct NetImpl : nn::Module {
//     NetImpl() { fc = register_module("fc", nn::Linear(4, 8)); }
//     Tensor forward(Tensor x) { return relu(fc(x)); }
//     nn::Linear fc{nullptr};
//   };
//   TENON_MODULE(Net);
#pragma once

#include <memory>
#include <string>
#include <typeinfo>
#include <utility>
#include <vector>

#include "tenon/function.h"
#include "tenon/ordered_dict.h"
#include "tenon/tensor.h"

namespace tenon::serialize {
class InputArchive;
class OutputArchive;
}  // namespace tenon::serialize

namespace tenon::nn {

template <typename Contained>
class ModuleHolder;

// A holder, by what it says it contains.
template <typename M>
concept Holder = requires {
  typename M::ContainedType;
};

class Module : public std::enable_shared_from_this<Module> {
 public:
  Module();
  explicit Module(std::string name);
  virtual ~Module();

  // As given, or the name of the type with its namespaces: "my::NetImpl". Under PrintStyle::LibTorch those of
  // Tenon are spelt as there: "torch::nn::LinearImpl".
  const std::string& name() const;

  // Everything registered, this module's first, names joined by dots. A tensor that is registered twice is
  // listed once.
  std::vector<Tensor> parameters(bool recurse = true) const;
  OrderedDict<std::string, Tensor> named_parameters(bool recurse = true) const;
  std::vector<Tensor> buffers(bool recurse = true) const;
  OrderedDict<std::string, Tensor> named_buffers(bool recurse = true) const;
  // Parameters and buffers.
  OrderedDict<std::string, Tensor> state_dict() const;
  // Copies values by name into the parameters and buffers. Error that lists what is missing, unexpected or of
  // another shape; then nothing was copied.
  void load_state_dict(const OrderedDict<std::string, Tensor>& state);
  std::vector<std::shared_ptr<Module>> modules(bool include_self = true) const;
  OrderedDict<std::string, std::shared_ptr<Module>> named_modules(const std::string& prefix = {}, bool include_self = true) const;
  std::vector<std::shared_ptr<Module>> children() const;
  OrderedDict<std::string, std::shared_ptr<Module>> named_children() const;

  // Calls the function for this module, then for all below it in the order of registration. A function of two
  // gets the name too, after the prefix. Shared pointers are to be had only if this module itself is behind one
  // (else Error), here as in modules().
  using Pointer = std::shared_ptr<Module>;
  void apply(const Function<void(Module&)>& function);
  void apply(const Function<void(const Module&)>& function) const;
  void apply(const Function<void(const std::string&, Module&)>& function, const std::string& name_prefix = {});
  void apply(const Function<void(const std::string&, const Module&)>& function, const std::string& name_prefix = {}) const;
  void apply(const Function<void(const Pointer&)>& function) const;
  void apply(const Function<void(const std::string&, const Pointer&)>& function, const std::string& name_prefix = {}) const;

  virtual void train(bool on = true);
  void eval() { train(false); }
  bool is_training() const { return training_; }
  // Parameters and buffers are moved or cast in place; an integer buffer keeps its type.
  virtual void to(Device device, ScalarType dtype, bool non_blocking = false);
  virtual void to(ScalarType dtype, bool non_blocking = false);
  virtual void to(Device device, bool non_blocking = false);
  virtual void zero_grad(bool set_to_none = true);

  Tensor& register_parameter(std::string name, Tensor tensor, bool requires_grad = true);
  Tensor& register_buffer(std::string name, Tensor tensor);
  template <typename M>
  std::shared_ptr<M> register_module(std::string name, std::shared_ptr<M> module) {
    add_child(std::move(name), module);
    return module;
  }
  template <typename M>
  std::shared_ptr<M> register_module(std::string name, const ModuleHolder<M>& holder) {
    return register_module(std::move(name), holder.ptr());
  }
  template <typename M>
  std::shared_ptr<M> replace_module(const std::string& name, std::shared_ptr<M> module) {
    children_[name] = module;
    return module;
  }
  template <typename M>
  std::shared_ptr<M> replace_module(const std::string& name, const ModuleHolder<M>& holder) {
    return replace_module(name, holder.ptr());
  }
  void unregister_module(const std::string& name);

  // A module of the same class with tensors of its own, on that device if one is given. The layers can; a program's class
  // derives from Cloneable, else it is an Error.
  virtual std::shared_ptr<Module> clone(const optional<Device>& device = nullopt) const;
  // Parameters, buffers and submodules by name. load: all or, after an Error that names the file and the key, none of them.
  virtual void save(tenon::serialize::OutputArchive& archive) const;
  virtual void load(tenon::serialize::InputArchive& archive);
  virtual bool is_serializable() const { return true; }

  // One line for a module without children: "Linear(in_features=4, out_features=8, bias=True)".
  virtual void pretty_print(std::ostream& out) const;
  std::string printed_name() const;  // as given, or that of the type without namespaces and "Impl"
  // This module as that class or what that holder contains; null if it is another.
  template <typename M>
  auto* as() {
    if constexpr (Holder<M>) return dynamic_cast<typename M::ContainedType*>(this);
    else return dynamic_cast<M*>(this);
  }
  template <typename M>
  const auto* as() const {
    return const_cast<Module*>(this)->as<M>();
  }

 protected:
  OrderedDict<std::string, Tensor> parameters_, buffers_;
  OrderedDict<std::string, std::shared_ptr<Module>> children_;
  // Copies of the values of another module of the same class become this one's, its submodules' too, and its mode.
  void take_values(const Module& other, const optional<Device>& device);
  // This module, which the reset() of a clone has made, becomes a clone of the other: takes its values, and a layer its options, a
  // Cloneable all its members.
  virtual void take_clone(const Module& other, const optional<Device>& device);

 private:
  void add_child(std::string name, std::shared_ptr<Module> module);
  std::shared_ptr<Module> shared() const;  // to itself
  // Calls f(prefix, module) for this module and all below it, each once.
  void visit(const Function<void(const std::string&, const Module&)>& f, bool recurse) const;
  template <typename F>
  void replace_tensors(F f);

  std::string name_;  // empty: that of the type
  bool training_ = true;
};
std::ostream& operator<<(std::ostream& out, const Module& module);
tenon::serialize::OutputArchive& operator<<(tenon::serialize::OutputArchive& archive, const Module& module);
tenon::serialize::InputArchive& operator>>(tenon::serialize::InputArchive& archive, Module& module);

// A module of a program that can be cloned: reset() registers all that it has, and the constructor calls it.
template <typename Derived>
class Cloneable : public Module {
 public:
  using Module::Module;
  virtual void reset() = 0;
  std::shared_ptr<Module> clone(const optional<Device>& device = nullopt) const override {
    auto copy = std::make_shared<Derived>(static_cast<const Derived&>(*this));
    Cloneable& bare = *copy;
    bare.parameters_.clear();
    bare.buffers_.clear();
    bare.children_.clear();
    bare.reset();
    bare.take_values(*this, device);
    return copy;
  }

 private:
  void take_clone(const Module& other, const optional<Device>& device) override {
    if constexpr (std::is_copy_assignable_v<Derived>) {
      const auto copy = std::dynamic_pointer_cast<Derived>(other.clone(device));
      if (!copy) throw Error("Attempted to clone submodule, but it is of a different type than the submodule it was to be cloned into");
      static_cast<Derived&>(*this) = *copy;
    } else {
      this->take_values(other, device);
    }
  }
};

// A module behind a shared pointer: copies are the same module. `Linear(4, 8)` makes one, `Linear(nullptr)`
// is empty, a call is forward().
template <typename Contained>
class ModuleHolder {
 public:
  using ContainedType = Contained;
  ModuleHolder() : impl_(make_default()) {}
  ModuleHolder(std::nullptr_t) {}
  // A template: `Linear(nullptr)` need not compile a shared_ptr<LinearImpl>.
  template <typename M>
  requires std::is_same_v<M, Contained> ModuleHolder(std::shared_ptr<M> module) : impl_(std::move(module)) {}
  template <typename Head, typename... Tail>
  requires(!std::is_base_of_v<ModuleHolder, std::decay_t<Head>> &&
           !std::is_null_pointer_v<std::decay_t<Head>>) explicit ModuleHolder(Head&& head, Tail&&... tail)
      : impl_(make(std::forward<Head>(head), std::forward<Tail>(tail)...)) {}

  explicit operator bool() const { return impl_ != nullptr; }
  bool is_empty() const { return impl_ == nullptr; }
  Contained* operator->() const { return get(); }
  Contained& operator*() const { return *get(); }
  std::shared_ptr<Contained> ptr() const { return std::shared_ptr<Contained>(impl_, get()); }
  Contained* get() const {
    if (!impl_) throw Error("Accessing empty ModuleHolder");
    return static_cast<Contained*>(impl_.get());
  }
  template <typename... Args>
  decltype(auto) operator()(Args&&... args) const {
    return get()->forward(std::forward<Args>(args)...);
  }
  template <typename Index>
  decltype(auto) operator[](Index&& index) const {  // of a container
    return (*get())[std::forward<Index>(index)];
  }

 private:
  template <typename Head, typename... Tail>
  static std::shared_ptr<Contained> make(Head&& head, Tail&&... tail) {
    if constexpr (sizeof...(Tail) == 0 && std::is_convertible_v<Head, std::shared_ptr<Contained>>) return std::forward<Head>(head);
    else return std::make_shared<Contained>(std::forward<Head>(head), std::forward<Tail>(tail)...);
  }
  static std::shared_ptr<Contained> make_default() {
    if constexpr (std::is_default_constructible_v<Contained>) return std::make_shared<Contained>();
    else return nullptr;
  }
  std::shared_ptr<void> impl_;  // of a Contained: shared_ptr<Contained> is slow to parse, once for each module
};
template <typename M>
std::ostream& operator<<(std::ostream& out, const ModuleHolder<M>& holder) {
  return out << *holder;
}

#define TENON_MODULE_IMPL(Name, Impl)                    \
  class Name : public ::tenon::nn::ModuleHolder<Impl> {  \
   public:                                               \
    using ::tenon::nn::ModuleHolder<Impl>::ModuleHolder; \
    using Impl_ [[maybe_unused]] = Impl;                 \
  }
#define TENON_MODULE(Name) TENON_MODULE_IMPL(Name, Name##Impl)
#define TORCH_MODULE_IMPL(Name, Impl) TENON_MODULE_IMPL(Name, Impl)
#define TORCH_MODULE(Name) TENON_MODULE(Name)

}  // namespace tenon::nn
