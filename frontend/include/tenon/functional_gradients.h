// Derivatives of functions, and checks of gradients against finite differences.
//
//   auto f = [](const Tensor& x) { return x.exp().sum(1); };
//   Tensor j = autograd::functional::jacobian(f, x);               // [rows of x, sizes of x]
//   auto [y, g] = autograd::functional::vjp(f, x, v);              // g = v^T J
//   autograd::gradcheck(f, x);                                     // of float64; GradcheckError if a gradient is wrong
//
// Each function has a form for one tensor and a form for several, which takes and gives lists. PyTorch's names, arguments
// and error texts. `strict`: an Error where a result does not depend on an input, in place of zeros. `create_graph`: the
// results have a history themselves.
#pragma once

#include <utility>
#include <vector>

#include "tenon/autograd.h"
#include "tenon/function.h"
#include "tenon/tensor.h"

namespace tenon::autograd {

using Tensors = std::vector<Tensor>;
using TensorFunction = tenon::Function<Tensor(const Tensor&)>;

// A function of tensors that can be differentiated: of one or of a list, to one or to a list.
class Differentiable {
 public:
  template <typename F>
  requires(std::is_invocable_r_v<Tensor, F&, const Tensor&>) Differentiable(F f)
      : call_([f](const Tensors& x) mutable { return Tensors{f(one(x))}; }), gives_list_(false) {}
  template <typename F>
  requires(std::is_invocable_r_v<Tensors, F&, const Tensor&>) Differentiable(F f)
      : call_([f](const Tensors& x) mutable { return Tensors(f(one(x))); }), gives_list_(true) {}
  template <typename F>
  requires(!std::is_invocable_v<F&, const Tensor&> && std::is_invocable_r_v<Tensor, F&, const Tensors&>) Differentiable(F f)
      : call_([f](const Tensors& x) mutable { return Tensors{f(x)}; }), gives_list_(false) {}
  template <typename F>
  requires(!std::is_invocable_v<F&, const Tensor&> && std::is_invocable_r_v<Tensors, F&, const Tensors&>) Differentiable(F f)
      : call_([f](const Tensors& x) mutable { return Tensors(f(x)); }), gives_list_(true) {}

  Tensors operator()(const Tensors& inputs) const { return call_(inputs); }
  bool gives_list() const { return gives_list_; }

 private:
  static const Tensor& one(const Tensors& x);  // Error if there are more

  tenon::Function<Tensors(const Tensors&)> call_;
  bool gives_list_;
};

// The gradient that gradcheck looked at is not what finite differences give.
struct GradcheckError : Error {
  using Error::Error;
};

// Compares the Jacobians of the backward pass with central differences of step `eps`, for each input that requires grad, and
// sees whether a second pass gives the same up to `nondet_tol`. True; otherwise GradcheckError, or false without raise_exception.
// The inputs should be float64; their elements are moved in place, and put back.
bool gradcheck(const Differentiable& func, ArrayRef<Tensor> inputs, double eps = 1e-6, double atol = 1e-5, double rtol = 1e-3,
               bool raise_exception = true, double nondet_tol = 0);
// The same for the gradients' own gradients, with respect to the inputs and to `grad_outputs`: random ones from -1 to 1
// if there are none.
bool gradgradcheck(const Differentiable& func, ArrayRef<Tensor> inputs, ArrayRef<Tensor> grad_outputs = {}, double eps = 1e-6,
                   double atol = 1e-5, double rtol = 1e-3, bool raise_exception = true, double nondet_tol = 0);

namespace functional {

// The function's value and v^T J. `v` is like the value; it may be left out where that has one element.
std::pair<Tensor, Tensor> vjp(const TensorFunction& func, const Tensor& inputs, const Tensor& v = {}, bool create_graph = false,
                              bool strict = false);
std::pair<Tensors, Tensors> vjp(const Differentiable& func, ArrayRef<Tensor> inputs, ArrayRef<Tensor> v = {}, bool create_graph = false,
                                bool strict = false);

// The function's value and J v. `v` is like the inputs; it may be left out where these have one element.
std::pair<Tensor, Tensor> jvp(const TensorFunction& func, const Tensor& inputs, const Tensor& v = {}, bool create_graph = false,
                              bool strict = false);
std::pair<Tensors, Tensors> jvp(const Differentiable& func, ArrayRef<Tensor> inputs, ArrayRef<Tensor> v = {}, bool create_graph = false,
                                bool strict = false);

// The Jacobian, with the output's sizes before the input's. Lists give [output][input].
Tensor jacobian(const TensorFunction& func, const Tensor& inputs, bool create_graph = false, bool strict = false);
std::vector<Tensors> jacobian(const Differentiable& func, ArrayRef<Tensor> inputs, bool create_graph = false, bool strict = false);

// The Hessian of a function that gives one element, with the input's sizes twice. Lists give [input][input].
Tensor hessian(const TensorFunction& func, const Tensor& inputs, bool create_graph = false, bool strict = false);
std::vector<Tensors> hessian(const Differentiable& func, ArrayRef<Tensor> inputs, bool create_graph = false, bool strict = false);

// The function's value, of one element, and v^T H or H v. hvp goes backward twice more; where the Hessian is symmetric vhp gives
// the same sooner.
std::pair<Tensor, Tensor> vhp(const TensorFunction& func, const Tensor& inputs, const Tensor& v = {}, bool create_graph = false,
                              bool strict = false);
std::pair<Tensor, Tensors> vhp(const Differentiable& func, ArrayRef<Tensor> inputs, ArrayRef<Tensor> v = {}, bool create_graph = false,
                               bool strict = false);
std::pair<Tensor, Tensor> hvp(const TensorFunction& func, const Tensor& inputs, const Tensor& v = {}, bool create_graph = false,
                              bool strict = false);
std::pair<Tensor, Tensors> hvp(const Differentiable& func, ArrayRef<Tensor> inputs, ArrayRef<Tensor> v = {}, bool create_graph = false,
                               bool strict = false);

}  // namespace functional
}  // namespace tenon::autograd
