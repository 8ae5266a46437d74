// autograd::functional: products with Jacobians and Hessians, and these themselves, by backward passes. A product J v is the
// gradient of v^T J with respect to v, since that is linear in v.
#include "tenon/functional_gradients.h"

#include <algorithm>

#include "frontend/src/tensor/text.h"
#include "tenon/creation.h"
#include "tenon/ops.h"

namespace tenon::autograd {

const Tensor& Differentiable::one(const Tensors& x) {
  check(x.size() == 1, "the function takes one tensor, but got ", x.size());
  return x[0];
}

namespace functional {
namespace {

std::string size_text(const Tensor& x) { return text("torch.Size(", x.sizes(), ")"); }

// Tensors of our own, so that an input can be told from the same tensor used inside the function.
Tensors prepared(ArrayRef<Tensor> inputs, bool create_graph, bool need_graph) {
  Tensors result;
  for (const Tensor& x : inputs) {
    result.push_back(create_graph && x.requires_grad() ? x.view(x.sizes()) : x.detach().requires_grad_(need_graph));
  }
  return result;
}

Tensors finished(Tensors values, bool create_graph) {
  if (create_graph) return values;
  for (Tensor& x : values) x = x.detach();
  return values;
}

// What v is made of: it is to be like `like`, of which there are several if `is_list`.
Tensors prepared_v(ArrayRef<Tensor> v, const Tensors& like, bool is_list, bool create_graph, const char* when_missing) {
  if (v.empty()) {
    check(like.size() == 1 && like[0].numel() == 1, when_missing);
    return {};
  }
  if (v.size() != like.size()) {
    check(!is_list, "v is a tuple of invalid length: should be ", like.size(), " but got ", v.size(), ".");
    throw Error("The given v should contain a single Tensor.");
  }
  for (size_t i = 0; i < v.size(); ++i) {
    check(v[i].sizes() == like[i].sizes(), is_list ? text("Entry ", i, " in ") : "", "v has invalid size: should be ", size_text(like[i]),
          " but got ", size_text(v[i]), ".");
  }
  return prepared(v, create_graph, false);
}

constexpr const char* kVLikeInput =
    "The vector v can only be None if the input to the user-provided function is a single Tensor with a single element.";
constexpr const char* kVLikeOutput =
    "The vector v can only be None if the user-provided function returns a single Tensor with a single element.";

void check_outputs(const Tensors& outputs, bool strict) {
  for (size_t i = 0; strict && i < outputs.size(); ++i) {
    check(outputs[i].requires_grad(), "Output ", i, " of the user-provided function does not require gradients. The outputs ",
          "must be computed in a differentiable manner from the input when running in strict mode.");
  }
}

// `text` goes before and behind the number of the first input on which nothing depends.
void check_dependent(const Tensors& gradients, bool strict, const char* before, const char* behind) {
  for (size_t i = 0; strict && i < gradients.size(); ++i) {
    check(gradients[i].defined(), "The output of the user-provided function is independent of input ", i,
          ". This is not allowed in strict mode.");
    check(gradients[i].requires_grad(), before, i, behind);
  }
}
void check_jacobian(const Tensors& jacobian, bool strict) {
  check_dependent(jacobian, strict,
                  "While computing the hessian, found that the jacobian of the user-provided function with respect to input ",
                  " is independent of the input. This is not allowed in strict mode. You should ensure that your function is "
                  "twice differentiable and that the jacobian depends on the inputs (this would be violated by a linear "
                  "function for example).");
}
void check_hessian(const Tensors& jacobian, bool strict) {
  check_dependent(jacobian, strict, "The hessian of the user-provided function with respect to input ",
                  " is independent of the input. This is not allowed in strict mode. You should ensure that your function is "
                  "thrice differentiable and that the hessian depends on the inputs.");
}

// As autograd::grad, without the outputs that do not require grad; undefined where nothing depends on an input.
Tensors gradients(const Tensors& outputs, const Tensors& inputs, const Tensors& weights, bool create_graph, bool retain_graph = false) {
  Tensors tracked, of_tracked;
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i].defined() || !outputs[i].requires_grad()) continue;
    tracked.push_back(outputs[i]);
    if (!weights.empty()) of_tracked.push_back(weights[i]);
  }
  if (tracked.empty()) return Tensors(inputs.size());
  return autograd::grad(tracked, inputs, of_tracked, retain_graph || create_graph, create_graph, true);
}

// What strict mode says of a gradient that is missing, and of one that has no history: "The %s of the user-provided function ...".
struct Stage {
  const char *missing_before, *missing_behind;
  const char* constant;  // the name of what is constant
};
constexpr Stage kBack = {"The output of the user-provided function is independent of input ", ". This is not allowed in strict mode.",
                         "jacobian"};
constexpr Stage kBackTrick = {"The gradient with respect to the input is independent of entry ",
                              " in the grad_outputs when using the double backward trick to compute forward mode gradients. "
                              "This is not allowed in strict mode.",
                              "jacobian"};
constexpr Stage kDoubleBack = {"The jacobian of the user-provided function is independent of input ",
                               ". This is not allowed in strict mode.", "hessian"};
constexpr Stage kDoubleBackTrick = {"The hessian of the user-provided function is independent of entry ",
                                    " in the grad_jacobian. This is not allowed in strict mode as it prevents from using the "
                                    "double backward trick to replace forward mode AD.",
                                    "hessian"};

// Zeros for the missing ones.
Tensors filled(Tensors values, const Tensors& like, bool strict, bool create_graph, const Stage& stage) {
  for (size_t i = 0; i < values.size(); ++i) {
    if (!values[i].defined()) {
      check(!strict, stage.missing_before, i, stage.missing_behind);
      values[i] = zeros_like(like[i]);
    } else {
      check(!strict || !create_graph || values[i].requires_grad(), "The ", stage.constant,
            " of the user-provided function is independent of input ", i, ". This is not allowed in strict mode when create_graph=True.");
    }
  }
  return values;
}

Tensors zeros_to_differentiate(const Tensors& like) {
  Tensors result;
  for (const Tensor& x : like) result.push_back(zeros_like(x).requires_grad_());
  return result;
}

// How a function is called: whether lists go in and come out.
struct Form {
  bool create_graph, strict, inputs_are_list, outputs_are_list;
};
using Pair = std::pair<Tensors, Tensors>;
using Call = const tenon::Function<Tensors(const Tensors&)>&;

Pair vjp_of(Call func, ArrayRef<Tensor> given, ArrayRef<Tensor> given_v, const Form& form) {
  const bool mode = form.create_graph || GradMode::is_enabled();
  const AutoGradMode on(true);
  const Tensors inputs = prepared(given, form.create_graph, true), outputs = func(inputs);
  check_outputs(outputs, form.strict);
  const Tensors v = prepared_v(given_v, outputs, form.outputs_are_list, form.create_graph, kVLikeOutput);
  const AutoGradMode before(mode);
  const Tensors result = filled(gradients(outputs, inputs, v, form.create_graph), inputs, form.strict, form.create_graph, kBack);
  return {finished(outputs, form.create_graph), finished(result, form.create_graph)};
}

Pair jvp_of(Call func, ArrayRef<Tensor> given, ArrayRef<Tensor> given_v, const Form& form) {
  const AutoGradMode on(true);
  const Tensors inputs = prepared(given, form.create_graph, true);
  const Tensors v = prepared_v(given_v, inputs, form.inputs_are_list, form.create_graph, kVLikeInput);
  const Tensors outputs = func(inputs);
  check_outputs(outputs, form.strict);
  const Tensors weights = zeros_to_differentiate(outputs);
  const Tensors products = gradients(outputs, inputs, weights, true);
  check_dependent(products, form.strict, "The gradient with respect to input ",
                  " is independent of the inputs of the user-provided function. This is not allowed in strict mode.");
  const Tensors result = filled(gradients(products, weights, v, form.create_graph), outputs, form.strict, form.create_graph, kBackTrick);
  return {finished(outputs, form.create_graph), finished(result, form.create_graph)};
}

std::vector<Tensors> jacobian_of(Call func, ArrayRef<Tensor> given, bool create_graph, bool strict) {
  const AutoGradMode on(true);
  const Tensors inputs = prepared(given, create_graph, true), outputs = func(inputs);
  check_outputs(outputs, strict);
  std::vector<Tensors> result;
  for (size_t i = 0; i < outputs.size(); ++i) {
    std::vector<Tensors> rows(inputs.size());
    const Tensor flat = outputs[i].reshape({-1});
    for (int64_t j = 0; j < flat.numel(); ++j) {
      const Tensors row = gradients({flat[j]}, inputs, {}, create_graph, true);
      for (size_t k = 0; k < inputs.size(); ++k) {
        check(row[k].defined() || !strict, "Output ", i, " of the user-provided function is independent of input ", k,
              ". This is not allowed in strict mode.");
        check(!row[k].defined() || !strict || !create_graph || row[k].requires_grad(),
              "The jacobian of the user-provided function is independent of input ", i,
              ". This is not allowed in strict mode when create_graph=True.");
        rows[k].push_back(row[k].defined() ? row[k] : zeros_like(inputs[k]));
      }
    }
    Tensors blocks;
    for (size_t k = 0; k < inputs.size(); ++k) {
      std::vector<int64_t> shape = outputs[i].sizes().vec();
      shape.insert(shape.end(), inputs[k].sizes().begin(), inputs[k].sizes().end());
      blocks.push_back(rows[k].empty() ? inputs[k].new_zeros(shape) : stack(rows[k]).view(shape));
    }
    result.push_back(finished(std::move(blocks), create_graph));
  }
  return result;
}

// One element, as the functions that need a Hessian want it.
void check_single(const Tensors& outputs, bool are_list, const char* function) {
  check(!are_list, "The function given to ", function, " should return a single Tensor");
  check(outputs[0].numel() == 1, "The Tensor returned by the function given to ", function, " should contain a single element");
}

std::vector<Tensors> hessian_of(Call func, ArrayRef<Tensor> given, const Form& form) {
  const auto single = [&](const Tensors& inputs) -> Tensors {
    const Tensors outputs = func(inputs);
    check_outputs(outputs, form.strict);
    check_single(outputs, form.outputs_are_list, "hessian");
    return {outputs[0].squeeze()};
  };
  const auto first = [&](const Tensors& inputs) -> Tensors {
    const std::vector<Tensors> jacobian = jacobian_of(single, inputs, true, false);
    check_jacobian(jacobian[0], form.strict);
    return jacobian[0];
  };
  return jacobian_of(first, given, form.create_graph, form.strict);
}

// What the products with a Hessian are made of.
struct FirstOrder {
  Tensors inputs, v, outputs, jacobian;
};
FirstOrder first_order(Call func, ArrayRef<Tensor> given, ArrayRef<Tensor> given_v, const Form& form, const char* name) {
  Tensors inputs = prepared(given, form.create_graph, true);
  Tensors v = prepared_v(given_v, inputs, form.inputs_are_list, form.create_graph, kVLikeInput);
  Tensors outputs = func(inputs);
  check_outputs(outputs, form.strict);
  check_single(outputs, form.outputs_are_list, name);
  Tensors jacobian = gradients(outputs, inputs, {}, true);
  check_jacobian(jacobian, form.strict);
  return {std::move(inputs), std::move(v), std::move(outputs), std::move(jacobian)};
}

Pair vhp_of(Call func, ArrayRef<Tensor> given, ArrayRef<Tensor> given_v, const Form& form) {
  const bool mode = form.create_graph || GradMode::is_enabled();
  const AutoGradMode on(true);
  const auto [inputs, v, outputs, jacobian] = first_order(func, given, given_v, form, "vhp");
  const AutoGradMode before(mode);
  const Tensors result = filled(gradients(jacobian, inputs, v, form.create_graph), inputs, form.strict, form.create_graph, kDoubleBack);
  return {finished(outputs, form.create_graph), finished(result, form.create_graph)};
}

Pair hvp_of(Call func, ArrayRef<Tensor> given, ArrayRef<Tensor> given_v, const Form& form) {
  const bool mode = form.create_graph || GradMode::is_enabled();
  const AutoGradMode on(true);
  const auto [inputs, v, outputs, jacobian] = first_order(func, given, given_v, form, "hvp");
  const Tensors weights = zeros_to_differentiate(inputs);
  const Tensors products = gradients(jacobian, inputs, weights, true);
  check_hessian(jacobian, form.strict);
  const AutoGradMode before(mode);
  const Tensors result =
      filled(gradients(products, weights, v, form.create_graph), inputs, form.strict, form.create_graph, kDoubleBackTrick);
  return {finished(outputs, form.create_graph), finished(result, form.create_graph)};
}

tenon::Function<Tensors(const Tensors&)> of_lists(const TensorFunction& func) {
  return [func](const Tensors& x) { return Tensors{func(x[0])}; };
}
tenon::Function<Tensors(const Tensors&)> of_lists(const Differentiable& func) {
  return [func](const Tensors& x) { return func(x); };
}
ArrayRef<Tensor> maybe(const Tensor& v) { return v.defined() ? ArrayRef<Tensor>(v) : ArrayRef<Tensor>(); }
std::pair<Tensor, Tensor> firsts(const Pair& lists) { return {lists.first[0], lists.second[0]}; }
std::pair<Tensor, Tensors> value_and_list(const Pair& lists) { return {lists.first[0], lists.second}; }

}  // namespace

using One = const TensorFunction&;

std::pair<Tensor, Tensor> vjp(One func, const Tensor& inputs, const Tensor& v, bool create_graph, bool strict) {
  return firsts(vjp_of(of_lists(func), inputs, maybe(v), {create_graph, strict, false, false}));
}
Pair vjp(const Differentiable& func, ArrayRef<Tensor> inputs, ArrayRef<Tensor> v, bool create_graph, bool strict) {
  return vjp_of(of_lists(func), inputs, v, {create_graph, strict, true, func.gives_list()});
}

std::pair<Tensor, Tensor> jvp(One func, const Tensor& inputs, const Tensor& v, bool create_graph, bool strict) {
  return firsts(jvp_of(of_lists(func), inputs, maybe(v), {create_graph, strict, false, false}));
}
Pair jvp(const Differentiable& func, ArrayRef<Tensor> inputs, ArrayRef<Tensor> v, bool create_graph, bool strict) {
  return jvp_of(of_lists(func), inputs, v, {create_graph, strict, true, func.gives_list()});
}

Tensor jacobian(One func, const Tensor& inputs, bool create_graph, bool strict) {
  return jacobian_of(of_lists(func), inputs, create_graph, strict)[0][0];
}
std::vector<Tensors> jacobian(const Differentiable& func, ArrayRef<Tensor> inputs, bool create_graph, bool strict) {
  return jacobian_of(of_lists(func), inputs, create_graph, strict);
}

Tensor hessian(One func, const Tensor& inputs, bool create_graph, bool strict) {
  return hessian_of(of_lists(func), inputs, {create_graph, strict, false, false})[0][0];
}
std::vector<Tensors> hessian(const Differentiable& func, ArrayRef<Tensor> inputs, bool create_graph, bool strict) {
  return hessian_of(of_lists(func), inputs, {create_graph, strict, true, func.gives_list()});
}

std::pair<Tensor, Tensor> vhp(One func, const Tensor& inputs, const Tensor& v, bool create_graph, bool strict) {
  return firsts(vhp_of(of_lists(func), inputs, maybe(v), {create_graph, strict, false, false}));
}
std::pair<Tensor, Tensors> vhp(const Differentiable& func, ArrayRef<Tensor> inputs, ArrayRef<Tensor> v, bool create_graph, bool strict) {
  return value_and_list(vhp_of(of_lists(func), inputs, v, {create_graph, strict, true, func.gives_list()}));
}

std::pair<Tensor, Tensor> hvp(One func, const Tensor& inputs, const Tensor& v, bool create_graph, bool strict) {
  return firsts(hvp_of(of_lists(func), inputs, maybe(v), {create_graph, strict, false, false}));
}
std::pair<Tensor, Tensors> hvp(const Differentiable& func, ArrayRef<Tensor> inputs, ArrayRef<Tensor> v, bool create_graph, bool strict) {
  return value_and_list(hvp_of(of_lists(func), inputs, v, {create_graph, strict, true, func.gives_list()}));
}

}  // namespace functional
}  // namespace tenon::autograd
