// gradcheck: Jacobians of the backward pass against central differences. A Jacobian lies here as PyTorch prints it, [elements of
// the input, elements of the output].
#include <algorithm>

#include "frontend/src/tensor/text.h"
#include "tenon/creation.h"
#include "tenon/functional_gradients.h"
#include "tenon/inspect.h"
#include "tenon/ops.h"
#include "tenon/random.h"

namespace tenon::autograd {
namespace {

Tensors tracked(const Tensors& values) {
  Tensors result;
  std::ranges::copy_if(values, std::back_inserter(result), [](const Tensor& x) { return x.requires_grad(); });
  return result;
}

void check_inputs(const Tensors& inputs) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Tensor& x = inputs[i];
    if (!x.requires_grad()) continue;
    if (x.scalar_type() != kDouble)
      warn_user(text("Input #", i, " requires gradient and is not a double precision floating point or complex. This check will ",
                     "likely fail if all the inputs are not of double precision floating point or complex. "));
    for (int64_t d = 0; d < x.dim(); ++d) {
      check(x.stride(d) > 0 || x.size(d) <= 1, "The ", i, "th input has a dimension with stride 0. gradcheck only supports ",
            "inputs that are non-overlapping to be able to compute the numerical gradients correctly. You should call ",
            ".contiguous on the input before passing it to gradcheck.");
    }
  }
  check<ValueError>(!tracked(inputs).empty(),
                    "gradcheck expects at least one input tensor to require gradient, but none of "
                    "them have requires_grad=True.");
}

// One element of a tensor after the other, as a tensor of its own on the same memory, without a history.
std::vector<Tensor> elements_of(const Tensor& x) {
  const Tensor values = x.data();
  std::vector<Tensor> result;
  std::vector<int64_t> index(at(x.dim()), 0);
  for (int64_t flat = 0; flat < x.numel(); ++flat) {
    int64_t offset = values.storage_offset();
    for (size_t d = 0; d < index.size(); ++d) offset += index[d] * values.stride(static_cast<int64_t>(d));
    result.push_back(values.as_strided({}, {}, offset));
    for (size_t d = index.size(); d-- > 0 && ++index[d] == x.size(static_cast<int64_t>(d));) index[d] = 0;
  }
  return result;
}

Tensor stacked(const Tensors& rows, int64_t count, const Tensor& like) {
  return rows.empty() ? like.new_zeros({0, count}).to(like.scalar_type()) : stack(rows);
}

// How each output changes with each element of an input. The results lie where the input does, as gradients of it do.
Tensors numerical_jacobians(const Differentiable& func, const Tensors& inputs, const Tensor& input, const Tensors& like, double eps) {
  std::vector<Tensors> rows(like.size());
  for (const Tensor& element : elements_of(input)) {
    const Tensor original = element.clone();
    const auto moved = [&](double by) {
      {
        const NoGradGuard no_grad;
        element.copy_(original + by);
      }
      Tensors outputs = func(inputs);
      for (Tensor& y : outputs) y = y.detach().clone();
      eval(outputs);
      return outputs;
    };
    const Tensors below = moved(-eps), above = moved(eps);
    {
      const NoGradGuard no_grad;
      element.copy_(original);
    }
    for (size_t i = 0; i < like.size(); ++i) rows[i].push_back(((above[i] - below[i]) / (2 * eps)).reshape({-1}).to(input.device()));
  }
  Tensors result;
  for (size_t i = 0; i < like.size(); ++i) result.push_back(stacked(rows[i], like[i].numel(), like[i].detach().to(input.device())));
  eval(result);
  return result;
}

// The Jacobians by input: one backward pass for each element of the output.
Tensors analytical_jacobians(const Tensors& inputs, const Tensor& output) {
  std::vector<Tensors> columns(inputs.size());
  for (int64_t k = 0; k < output.numel(); ++k) {
    std::vector<double> one(at(output.numel()), 0);
    one[at(k)] = 1;
    const Tensor weight = tensor(one, kDouble).to(output.device(), output.scalar_type()).view(output.sizes());
    const Tensors row = autograd::grad({output}, inputs, {weight}, true, false, true);
    for (size_t i = 0; i < inputs.size(); ++i) {
      check<GradcheckError>(!row[i].defined() || row[i].sizes() == inputs[i].sizes(), "Analytical gradient has incorrect size");
      columns[i].push_back(row[i].defined() ? row[i].reshape({-1}) : inputs[i].detach().new_zeros({inputs[i].numel()}));
    }
  }
  Tensors result;
  for (size_t i = 0; i < inputs.size(); ++i) result.push_back(stacked(columns[i], inputs[i].numel(), inputs[i].detach()).t());
  eval(result);
  return result;
}

bool all_close(const Tensor& a, const Tensor& b, double rtol, double atol) {
  const ScalarType type = promoteTypes(a.scalar_type(), b.scalar_type());
  return allclose(a.to(type), b.to(type), rtol, atol);
}

// With a gradient of zeros every rule gives zeros.
void check_multiplied_by_gradient(const Tensors& inputs, const Tensors& outputs) {
  Tensors zeros;
  for (const Tensor& y : outputs) zeros.push_back(zeros_like(y));
  const Tensors gradients = autograd::grad(outputs, inputs, zeros, true, false, true);
  for (const Tensor& g : gradients) {
    check<GradcheckError>(!g.defined() || !g.ne(0).any().item<bool>(), "backward not multiplied by grad_output");
  }
}

void compare(const Differentiable& func, const Tensors& inputs, double eps, double atol, double rtol, double nondet_tol) {
  const Tensors asked = tracked(inputs), values = func(inputs);
  const Tensors outputs = tracked(values);
  std::vector<Tensors> numerical;  // by input
  for (const Tensor& x : asked) numerical.push_back(numerical_jacobians(func, inputs, x, values, eps));
  if (outputs.empty()) {
    for (const Tensors& of_input : numerical) {
      for (const Tensor& j : of_input)
        check<GradcheckError>(!j.ne(0).any().item<bool>(), "Numerical gradient for function expected to be zero");
    }
    return;
  }
  for (size_t i = 0, k = 0; i < values.size(); ++i) {
    if (!values[i].requires_grad()) continue;
    const Tensors analytical = analytical_jacobians(asked, values[i]), again = analytical_jacobians(asked, values[i]);
    for (size_t j = 0; j < asked.size(); ++j) {
      check<GradcheckError>(
          all_close(analytical[j], again[j], 0, nondet_tol),
          "Backward is not reentrant, i.e., running backward with same input and grad_output multiple times gives different ",
          "values, although analytical gradient matches numerical gradient.The tolerance for nondeterminism was ", nondet_tol, ".");
      if (all_close(analytical[j], numerical[j][i], rtol, atol)) continue;
      throw GradcheckError(text("Jacobian mismatch for output ", k, " with respect to input ", j, ",\nnumerical:", repr(numerical[j][i]),
                                "\nanalytical:", repr(analytical[j]), "\n"));
    }
    ++k;
  }
  check_multiplied_by_gradient(asked, outputs);
}

}  // namespace

bool gradcheck(const Differentiable& func, ArrayRef<Tensor> inputs, double eps, double atol, double rtol, bool raise_exception,
               double nondet_tol) {
  const AutoGradMode on(true);
  const Tensors list = inputs.vec();
  check_inputs(list);
  try {
    compare(func, list, eps, atol, rtol, nondet_tol);
    return true;
  } catch (const GradcheckError&) {
    if (raise_exception) throw;
    return false;
  }
}

bool gradgradcheck(const Differentiable& func, ArrayRef<Tensor> inputs, ArrayRef<Tensor> grad_outputs, double eps, double atol, double rtol,
                   bool raise_exception, double nondet_tol) {
  const AutoGradMode on(true);
  Tensors all = inputs.vec(), weights = grad_outputs.vec();
  const size_t count = all.size();
  if (weights.empty()) {
    for (const Tensor& y : tracked(func(all))) weights.push_back((rand_like(y.detach()) * 2 - 1).requires_grad_());
  }
  all.insert(all.end(), weights.begin(), weights.end());
  const auto gradients = [&](const Tensors& x) {
    const Tensors operands(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(count));
    const Tensors given(x.begin() + static_cast<std::ptrdiff_t>(count), x.end());
    Tensors result = autograd::grad(tracked(func(operands)), tracked(operands), given, nullopt, true, true);
    std::erase_if(result, [](const Tensor& g) { return !g.defined(); });
    return result;
  };
  return gradcheck(gradients, all, eps, atol, rtol, raise_exception, nondet_tol);
}

}  // namespace tenon::autograd
