// Operations with a gradient of the user's own.
//
//   struct Cube : autograd::Function<Cube> {
//     static Tensor forward(autograd::AutogradContext* ctx, Tensor x) {
//       ctx->save_for_backward({x});
//       return x.pow(3);
//     }
//     static autograd::tensor_list backward(autograd::AutogradContext* ctx, autograd::tensor_list grads) {
//       return {grads[0] * 3 * ctx->get_saved_variables()[0].square()};   // one for each argument of forward
//     }
//   };
//   Tensor y = Cube::apply(x);
#pragma once

#include <map>
#include <memory>
#include <string>
#include <type_traits>
#include <typeinfo>
#include <vector>

#include "tenon/autograd.h"
#include "tenon/serialize.h"
#include "tenon/tensor.h"

namespace tenon::autograd {

// What forward leaves for backward.
class AutogradContext {
 public:
  // Numbers, texts and whatever else is no argument or result. Tensors in it are not watched for writes.
  std::map<std::string, IValue> saved_data;

  // Arguments, results and what lies between; undefined tensors too. A write to one of them before backward is an error there.
  void save_for_backward(variable_list to_save);
  // In backward, in the order in which they were given.
  variable_list get_saved_variables() const;
  // Arguments that forward wrote in place; it must return them.
  void mark_dirty(const variable_list& inputs);
  // Results that have no gradient. Results that are not floating-point have none anyway.
  void mark_non_differentiable(const variable_list& outputs);
  // Whether backward is called with zeros for a result that got no gradient, rather than with an undefined tensor. On at the start.
  void set_materialize_grads(bool value) { materialize_grads_ = value; }
  // In backward: whether the tensor argument with this number (tensors alone are counted) requires grad.
  bool needs_input_grad(size_t input) const;

 private:
  friend class FunctionCall;
  variable_list to_save_, dirty_, non_differentiable_, saved_;
  std::vector<bool> needs_;
  bool materialize_grads_ = true;
};

// One call of Function::apply: what the template leaves to the library.
class FunctionCall {
 public:
  using Backward = variable_list (*)(AutogradContext* context, variable_list grads);
  FunctionCall(const std::type_info& type, Backward backward);
  ~FunctionCall();
  FunctionCall(const FunctionCall&) = delete;
  FunctionCall& operator=(const FunctionCall&) = delete;

  // The arguments of forward, in order.
  void add(const Tensor& x);
  void add(const optional<Tensor>& x);
  void add(TensorList list);
  void add(const variable_list& list) { add(TensorList(list)); }
  template <typename T>
  void add(const T& x) {
    if constexpr (std::is_convertible_v<const T&, const Tensor&>) add(static_cast<const Tensor&>(x));
    else add_other();
  }

  AutogradContext* start();  // from here on nothing is recorded
  Tensor finish(Tensor output);
  variable_list finish(variable_list outputs);

 private:
  struct State;
  void add_other();
  std::shared_ptr<State> state_;
};

// T has `static Tensor (or variable_list) forward(AutogradContext*, ...)` and `static tensor_list backward(AutogradContext*,
// tensor_list)`, which is given the gradients of the results and returns those of all arguments of forward: undefined for none,
// as for those that are no tensors. Nothing that forward does is recorded; what backward does can be differentiated again.
template <typename T>
struct Function {
  template <typename Self = T, typename... Args>
  static auto apply(Args&&... args) {
    FunctionCall call(typeid(Self), &Self::backward);
    (call.add(args), ...);
    AutogradContext* context = call.start();
    return call.finish(Self::forward(context, std::forward<Args>(args)...));
  }
};

}  // namespace tenon::autograd
