// Modules and parameters in containers: AnyModule, Sequential, ModuleList, ModuleDict, ParameterList, ParameterDict.
//
//   nn::Sequential net({{"fc", nn::Linear(4, 8)}, {"act", nn::ReLU()}});
//   net->push_back("out", nn::Linear(8, 3));  net->forward(x);
#pragma once

#include <typeinfo>

#include "tenon/nn/module.h"

namespace tenon::nn {

// One value of any type: an argument or the result of an AnyModule.
class AnyValue {
 public:
  AnyValue() = default;
  template <typename T>
  requires(!std::is_same_v<std::decay_t<T>, AnyValue>) explicit AnyValue(T&& value)
      : value_(std::make_shared<std::decay_t<T>>(std::forward<T>(value))), type_(&typeid(std::decay_t<T>)) {}
  template <typename T>
  T* try_get() const {
    static_assert(!std::is_reference_v<T>, "AnyValue stores decayed types: ask for Tensor, not const Tensor&");
    return *type_ == typeid(T) ? static_cast<T*>(value_.get()) : nullptr;
  }
  template <typename T>
  T& get() const {
    if (T* value = try_get<T>()) return *value;
    refuse(typeid(T));
  }
  const std::type_info& type_info() const { return *type_; }

 private:
  [[noreturn]] void refuse(const std::type_info& wanted) const;
  std::shared_ptr<void> value_;
  const std::type_info* type_ = &typeid(void);
};

namespace detail {
[[noreturn]] void refuse_argument(size_t index, const std::type_info& wanted, const AnyValue& got);
[[noreturn]] void refuse_count(const std::type_info& module, size_t least, size_t most, size_t got);

// The value that a parameter of a forward() takes: an Operand is a Tensor.
template <typename Parameter>
struct Argument {
  using type = std::decay_t<Parameter>;
};
template <typename Parameter>
requires std::is_same_v<std::decay_t<Parameter>, Operand>
struct Argument<Parameter> {
  using type = Tensor;
};
template <typename Parameter>
decltype(auto) argument(const std::vector<AnyValue>& arguments, size_t index) {
  using T = typename Argument<Parameter>::type;
  using Passed = std::conditional_t<std::is_rvalue_reference_v<Parameter>, T&&, T&>;
  if (T* value = arguments[index].try_get<T>()) return static_cast<Passed>(*value);
  refuse_argument(index, typeid(T), arguments[index]);
}

template <typename... Parameters>
struct Signature {
  static constexpr size_t count = sizeof...(Parameters);
};
template <typename M, typename Result, typename... Parameters>
Signature<Parameters...> signature(Result (M::*)(Parameters...));
template <typename M, typename Result, typename... Parameters>
Signature<Parameters...> signature(Result (M::*)(Parameters...) const);

// Calls forward() with the first of its parameters, if that compiles: the rest has defaults.
template <typename M, typename... Parameters>
AnyValue call_forward(M& module, const std::vector<AnyValue>& arguments, Signature<Parameters...>) {
  constexpr size_t most = sizeof...(Parameters);
  AnyValue result;
  size_t least = most;
  bool called = false;
  const auto attempt = [&]<size_t... I>(std::index_sequence<I...>) {
    using All = std::tuple<Parameters...>;
    if constexpr (requires { module.forward(argument<std::tuple_element_t<I, All>>(arguments, I)...); }) {
      least = std::min(least, sizeof...(I));
      if (arguments.size() != sizeof...(I)) return;
      result = AnyValue(module.forward(argument<std::tuple_element_t<I, All>>(arguments, I)...));
      called = true;
    }
  };
  [&]<size_t... Count>(std::index_sequence<Count...>) { (attempt(std::make_index_sequence<Count>()), ...); }
  (std::make_index_sequence<most + 1>());
  if (!called) refuse_count(typeid(M), least, most, arguments.size());
  return result;
}
}  // namespace detail

// Any module with a forward(). Arguments have the very types of its parameters.
class AnyModule {
 public:
  AnyModule() = default;
  template <typename M>
  requires std::is_base_of_v<Module, M> AnyModule(std::shared_ptr<M> module)
      : forward_([m = module.get()](const std::vector<AnyValue>& arguments) { return call(*m, arguments); }),
        again_([](std::shared_ptr<Module> copy) { return AnyModule(std::static_pointer_cast<M>(std::move(copy))); }),
        type_(&typeid(M)) {
    module_ = std::move(module);
  }
  template <typename M>
  AnyModule(const ModuleHolder<M>& holder) : AnyModule(holder.ptr()) {}
  template <typename M>
  requires std::is_base_of_v<Module, std::remove_cvref_t<M>>
  explicit AnyModule(M&& module) : AnyModule(std::make_shared<std::remove_cvref_t<M>>(std::forward<M>(module))) {}

  // Error if the result is of another type, an argument is, or there are too many or too few.
  template <typename Result = Tensor, typename... Arguments>
  Result forward(Arguments&&... arguments) const {
    return any_forward(std::forward<Arguments>(arguments)...).template get<Result>();
  }
  template <typename... Arguments>
  AnyValue any_forward(Arguments&&... arguments) const {
    std::vector<AnyValue> values;
    (values.push_back(as_value(std::forward<Arguments>(arguments))), ...);
    return call_all(values);
  }
  AnyValue call_all(const std::vector<AnyValue>& arguments) const;

  bool is_empty() const { return module_ == nullptr; }
  AnyModule clone(const optional<Device>& device = nullopt) const;
  const std::shared_ptr<Module>& ptr() const;  // Error if it is empty, and in what follows
  const std::type_info& type_info() const;
  // As a module of that class, an Error if it is of another.
  template <typename M>
  requires std::is_base_of_v<Module, M> M& get() const {
    if (auto* module = held("get()").template as<M>()) return *module;
    refuse(typeid(M));
  }
  template <Holder H>
  H get() const {
    return H(ptr<typename H::ContainedType>());
  }
  template <typename M>
  std::shared_ptr<M> ptr() const {
    held("ptr()");
    return {module_, &get<M>()};
  }

 private:
  template <typename M>
  static AnyValue call(M& module, const std::vector<AnyValue>& arguments) {
    if constexpr (requires { module.forward_values(arguments); }) return module.forward_values(arguments);
    else if constexpr (requires { detail::signature(&M::forward); })
      return detail::call_forward(module, arguments, decltype(detail::signature(&M::forward))());
    else  // overloaded, or a template
      return detail::call_forward(module, arguments, detail::Signature<Tensor>());
  }
  template <typename T>
  static AnyValue as_value(T&& value) {
    if constexpr (std::is_same_v<std::decay_t<T>, AnyValue>) return std::forward<T>(value);
    else if constexpr (std::is_same_v<std::decay_t<T>, Operand>) return AnyValue(Tensor(value));
    else return AnyValue(std::forward<T>(value));
  }
  [[noreturn]] void refuse(const std::type_info& wanted) const;
  Module& held(const char* call) const;  // Error in the call's name if it is empty

  std::shared_ptr<Module> module_;
  Function<AnyValue(const std::vector<AnyValue>&)> forward_;
  Function<AnyModule(std::shared_ptr<Module>)> again_;  // of another module of the class
  const std::type_info* type_ = nullptr;
};

class NamedAnyModule {
 public:
  NamedAnyModule(std::string name, AnyModule module) : name_(std::move(name)), module_(std::move(module)) {}
  template <typename M>
  requires std::is_base_of_v<Module, std::remove_cvref_t<M>> NamedAnyModule(std::string name, M&& module)
      : NamedAnyModule(std::move(name), AnyModule(std::forward<M>(module))) {}
  const std::string& name() const { return name_; }
  AnyModule& module() { return module_; }
  const AnyModule& module() const { return module_; }

 private:
  std::string name_;
  AnyModule module_;
};

// Modules one after another, named "0", "1", ... or by the caller. The first takes any arguments, each other one what the
// one before it gives.
class SequentialImpl : public Module {
  template <typename M>
  static constexpr bool Pushable = !std::is_base_of_v<SequentialImpl, std::remove_cvref_t<M>> &&
                                   (std::is_base_of_v<Module, std::remove_cvref_t<M>> || std::is_convertible_v<M, AnyModule> ||
                                    std::is_convertible_v<M, NamedAnyModule>);

 public:
  SequentialImpl();
  ~SequentialImpl() override;
  explicit SequentialImpl(const std::vector<NamedAnyModule>& modules);
  explicit SequentialImpl(const OrderedDict<std::string, AnyModule>& modules);
  template <typename... Modules>
  requires(sizeof...(Modules) > 0 && (Pushable<Modules> && ...)) explicit SequentialImpl(Modules&&... modules) {
    (push_back(std::forward<Modules>(modules)), ...);
  }
  template <typename M>
  requires std::is_base_of_v<Module, std::remove_cvref_t<M>>
  void push_back(M&& module) { push_back(AnyModule(std::forward<M>(module))); }
  template <typename M>
  requires std::is_base_of_v<Module, std::remove_cvref_t<M>>
  void push_back(std::string name, M&& module) { push_back(std::move(name), AnyModule(std::forward<M>(module))); }
  void push_back(AnyModule module);
  void push_back(std::string name, AnyModule module);
  void push_back(const NamedAnyModule& module) { push_back(module.name(), module.module()); }
  template <typename Container>
  void extend(const Container& modules) {
    for (const auto& module : modules) push_back(module);
  }
  template <typename Result = Tensor, typename... Arguments>
  Result forward(Arguments&&... arguments) const {
    check_not_empty();
    const AnyValue result = pass_on(modules_[0].any_forward(std::forward<Arguments>(arguments)...));
    if (Result* value = result.template try_get<Result>()) return std::move(*value);
    refuse_result(result, typeid(Result));
  }
  AnyValue forward_values(const std::vector<AnyValue>& arguments) const;
  std::shared_ptr<Module> clone(const optional<Device>& device = nullopt) const override;

  size_t size() const { return modules_.size(); }
  bool is_empty() const { return modules_.empty(); }
  auto begin() { return modules_.begin(); }
  auto end() { return modules_.end(); }
  auto begin() const { return modules_.begin(); }
  auto end() const { return modules_.end(); }
  std::shared_ptr<Module> ptr(size_t index) const { return child(index).ptr(); }  // IndexError past the end
  const std::shared_ptr<Module> operator[](size_t index) const { return ptr(index); }
  // As a module of that class: at<LinearImpl>(0). An Error if it is of another.
  template <typename M>
  std::shared_ptr<M> ptr(size_t index) const {
    return child(index).template ptr<M>();
  }
  template <typename M>
  M& at(size_t index) {
    return child(index).template get<M>();
  }
  template <typename M>
  const M& at(size_t index) const {
    return child(index).template get<M>();
  }
  void pretty_print(std::ostream& out) const override;

 private:
  const AnyModule& child(size_t index) const;
  void check_not_empty() const;
  AnyValue pass_on(AnyValue value) const;  // through all but the first
  [[noreturn]] static void refuse_result(const AnyValue& got, const std::type_info& wanted);

  std::vector<AnyModule> modules_;
};
class Sequential : public ModuleHolder<SequentialImpl> {
 public:
  Sequential();
  using ModuleHolder<SequentialImpl>::ModuleHolder;
  Sequential(std::initializer_list<NamedAnyModule> modules);
};

// Modules in a list, for the owner to call.
class ModuleListImpl : public Module {
 public:
  using Pointers = std::vector<std::shared_ptr<Module>>;
  ModuleListImpl() = default;
  template <typename... Modules>
  requires(sizeof...(Modules) > 0 &&
           !(std::is_base_of_v<ModuleListImpl, std::remove_cvref_t<Modules>> || ...)) explicit ModuleListImpl(const Modules&... modules) {
    (push_back(modules), ...);
  }
  void push_back(std::shared_ptr<Module> module);
  template <typename M>
  void push_back(const ModuleHolder<M>& holder) {
    push_back(std::static_pointer_cast<Module>(holder.ptr()));
  }
  template <typename M>
  requires std::is_base_of_v<Module, std::remove_cvref_t<M>>
  void push_back(M&& module) { push_back(std::shared_ptr<Module>(std::make_shared<std::remove_cvref_t<M>>(std::forward<M>(module)))); }
  template <typename Container>
  void extend(const Container& modules) {
    for (const auto& module : modules) push_back(module);
  }
  void insert(size_t index, std::shared_ptr<Module> module);  // those behind it get new names
  template <typename M>
  void insert(size_t index, const ModuleHolder<M>& holder) {
    insert(index, std::static_pointer_cast<Module>(holder.ptr()));
  }
  std::shared_ptr<Module> clone(const optional<Device>& device = nullopt) const override;
  size_t size() const { return modules_.size(); }
  bool is_empty() const { return modules_.empty(); }
  Pointers::iterator begin() { return modules_.begin(); }
  Pointers::iterator end() { return modules_.end(); }
  Pointers::const_iterator begin() const { return modules_.begin(); }
  Pointers::const_iterator end() const { return modules_.end(); }
  std::shared_ptr<Module> ptr(size_t index) const;  // IndexError past the end
  const std::shared_ptr<Module> operator[](size_t index) const { return ptr(index); }
  template <typename M>
  M& at(size_t index) const {
    if (auto* module = ptr(index)->template as<M>()) return *module;
    refuse(index, typeid(M));
  }
  template <typename M>
  std::shared_ptr<M> ptr(size_t index) const {
    return {ptr(index), &at<M>(index)};
  }

 private:
  [[noreturn]] void refuse(size_t index, const std::type_info& wanted) const;
  Pointers modules_;
};
class ModuleList : public ModuleHolder<ModuleListImpl> {
 public:
  ModuleList();
  using ModuleHolder<ModuleListImpl>::ModuleHolder;
};

// Modules by name, in the order of insertion.
class ModuleDictImpl : public Module {
 public:
  using Items = OrderedDict<std::string, std::shared_ptr<Module>>;
  using Pairs = std::vector<std::pair<std::string, std::shared_ptr<Module>>>;
  ModuleDictImpl() = default;
  explicit ModuleDictImpl(const Items& modules);
  explicit ModuleDictImpl(const Pairs& modules);
  // A name that is there already gets the new module.
  void update(const Items& modules);
  template <typename Container>
  void update(const Container& modules) {  // another dict, or pairs
    for (const auto& item : modules) {
      if constexpr (requires { item.key(); }) insert(item.key(), item.value());
      else insert(item.first, item.second);
    }
  }
  void insert(const std::string& name, std::shared_ptr<Module> module);
  std::shared_ptr<Module> pop(const std::string& name);
  std::shared_ptr<Module> operator[](const std::string& name) const;  // Error if there is none
  template <typename M>
  M& at(const std::string& name) const {
    if (auto* module = (*this)[name]->template as<M>()) return *module;
    refuse(name, typeid(M));
  }
  bool contains(const std::string& name) const;
  size_t size() const;
  bool empty() const;
  void clear();
  std::vector<std::string> keys() const;
  std::vector<std::shared_ptr<Module>> values() const;
  Pairs items() const;
  auto begin() const { return children_.begin(); }
  auto end() const { return children_.end(); }
  std::shared_ptr<Module> clone(const optional<Device>& device = nullopt) const override;

 private:
  [[noreturn]] void refuse(const std::string& name, const std::type_info& wanted) const;
};
class ModuleDict : public ModuleHolder<ModuleDictImpl> {
 public:
  ModuleDict();
  using ModuleHolder<ModuleDictImpl>::ModuleHolder;
  ModuleDict(std::initializer_list<std::pair<std::string, std::shared_ptr<Module>>> modules);
  std::shared_ptr<Module> operator[](const std::string& name) const;
};

class ParameterListImpl : public Module {
 public:
  ParameterListImpl() = default;
  template <typename... Tensors>
  requires(sizeof...(Tensors) > 0 &&
           (std::is_same_v<std::remove_cvref_t<Tensors>, Tensor> && ...)) explicit ParameterListImpl(const Tensors&... tensors) {
    (append(tensors), ...);
  }
  void append(const Tensor& parameter);
  void append(const OrderedDict<std::string, Tensor>::Item& item);  // its value: names are numbers
  template <typename Container>
  void extend(const Container& parameters) {
    for (const auto& parameter : parameters) append(parameter);
  }
  template <typename Container>
  ParameterListImpl& operator+=(const Container& other) {
    extend(other);
    return *this;
  }
  Tensor& at(size_t index);  // IndexError past the end
  const Tensor& at(size_t index) const { return const_cast<ParameterListImpl*>(this)->at(index); }
  Tensor& operator[](size_t index) { return at(index); }
  const Tensor& operator[](size_t index) const { return at(index); }
  size_t size() const { return parameters_.size(); }
  bool is_empty() const { return parameters_.is_empty(); }
  auto begin() { return parameters_.begin(); }  // items: it->value(), **it
  auto end() { return parameters_.end(); }
  auto begin() const { return parameters_.begin(); }
  auto end() const { return parameters_.end(); }
  std::shared_ptr<Module> clone(const optional<Device>& device = nullopt) const override;
  void pretty_print(std::ostream& out) const override;
};
class ParameterList : public ModuleHolder<ParameterListImpl> {
 public:
  ParameterList();
  using ModuleHolder<ParameterListImpl>::ModuleHolder;
  Tensor& operator[](size_t index) const { return get()->at(index); }
};

class ParameterDictImpl : public Module {
 public:
  ParameterDictImpl() = default;
  explicit ParameterDictImpl(const OrderedDict<std::string, Tensor>& parameters);
  Tensor& insert(const std::string& name, const Tensor& parameter);
  Tensor pop(const std::string& name);
  void update(const OrderedDict<std::string, Tensor>& parameters);  // a name that is there gets the new tensor
  template <typename Container>
  void update(const Container& parameters) {  // another dict
    for (const auto& item : parameters) update(OrderedDict<std::string, Tensor>{{item.key(), item.value()}});
  }
  Tensor& get(const std::string& name);
  const Tensor& get(const std::string& name) const;
  Tensor& operator[](const std::string& name) { return get(name); }
  const Tensor& operator[](const std::string& name) const { return get(name); }
  bool contains(const std::string& name) const;
  size_t size() const;
  bool empty() const;
  void clear();
  std::vector<std::string> keys() const;
  std::vector<Tensor> values() const;
  auto begin() { return parameters_.begin(); }
  auto end() { return parameters_.end(); }
  auto begin() const { return parameters_.begin(); }
  auto end() const { return parameters_.end(); }
  std::shared_ptr<Module> clone(const optional<Device>& device = nullopt) const override;
  void pretty_print(std::ostream& out) const override;
};
class ParameterDict : public ModuleHolder<ParameterDictImpl> {
 public:
  ParameterDict();
  using ModuleHolder<ParameterDictImpl>::ModuleHolder;
  Tensor& operator[](const std::string& name) const { return get()->get(name); }
};

}  // namespace tenon::nn
