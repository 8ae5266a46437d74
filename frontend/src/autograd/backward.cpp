// Gradients by edge, from a recipe or by a rule; and gradients that have a history themselves.
#include "frontend/src/autograd/backward.h"

#include <algorithm>

#include "frontend/src/autograd/grad.h"
#include "frontend/src/autograd/replayed_rule.h"
#include "ir/gradient/replayed_gradients.h"
#include "runtime/base/options.h"

namespace tenon {
namespace {

Tensor tensor_of(const NodeRef& node) { return node ? record(node) : Tensor(); }

// The tensor as a function of others in which it is constant.
Tensor constant_in(const std::vector<Tensor>& others, const Tensor& x, const char* name) {
  GradScope scope(name, TensorList(others));
  std::vector<NodeRef> zeros;
  for (const Tensor& y : others) zeros.push_back(zero_gradient(impl(y).dtype(), impl(y).sizes(), impl(y).device()));
  scope.rule(kReadsNothing, [zeros](GradCall& c) {
    for (size_t i = 0; i < zeros.size(); ++i) c.give(i, Tensor(new TensorImpl(zeros[i]), false));
  });
  return record(node_of(x));
}

Tensor output_with_history(GradFn& fn, uint32_t number, NodeRef value) {
  Tensor x(new TensorImpl(std::move(value)), false);
  own_history(x).fn = fn.shared_from_this();
  own_history(x).output_nr = number;
  return x;
}

// The saved value as a tensor that gradients of gradients lead to.
Tensor with_history(GradFn& fn, const SavedValue& s) {
  if (s.of == SavedValue::Of::Output) {
    const ir::Recipe& recipe = fn.recipe;
    const bool known = s.number < recipe.outputs().size();
    const DType type = known ? recipe.steps()[recipe.outputs()[s.number]].dtype : s.value.node()->dtype();
    return output_with_history(fn, s.number, ir::cast(s.value.node(), type));
  }
  for (const Edge& edge : fn.edges) {
    if (edge.operand != s.number) continue;
    if (!edge.fn) return edge.leaf;
    Tensor x = s.value.tensor();
    own_history(x).fn = edge.fn;
    own_history(x).output_nr = edge.output_nr;
    return x;
  }
  return s.value.tensor();
}

// Tensors that PyTorch's derivative reads and that require grad; their values do not matter.
std::vector<Tensor> read_by_derivative(GradFn& fn) {
  const ir::Recipe& recipe = fn.recipe;
  std::vector<Tensor> result;
  if (fn.derivative_reads & kReadsOutput) result.push_back(output_with_history(fn, 0, zeros_of(recipe, recipe.outputs()[0])));
  for (const Edge& edge : fn.edges) {
    if (!(fn.derivative_reads & reads_operand(edge.operand))) continue;
    const uint32_t step = recipe.operands()[edge.operand];
    if (!edge.fn) {
      result.push_back(edge.leaf);
    } else if (step != ir::Recipe::kUnused) {
      result.emplace_back(new TensorImpl(zeros_of(recipe, step)), false);
      own_history(result.back()).fn = edge.fn;
      own_history(result.back()).output_nr = edge.output_nr;
    }
  }
  return result;
}

std::vector<Tensor> by_rule(GradFn& fn, const std::vector<Tensor>& grads, bool create_graph) {
  const auto given = std::ranges::find_if(grads, [](const Tensor& grad) { return grad.defined(); });
  const CallScope::On device(impl(*given).device());
  if (!create_graph) {
    if (optional<std::vector<Tensor>> made = replayed_rule(fn, grads)) return *std::move(made);
  }
  std::vector<Tensor> values;
  for (const SavedValue& s : fn.saved) values.push_back(create_graph ? with_history(fn, s) : s.value.tensor());
  GradCall call(fn, grads, std::move(values));
  const GradRule applied = fn.rule;  // a hook may release it
  applied(call);
  return call.take();
}

// The tracked operands of a recipe.
ir::Recipe::Flags tracked_operands(const GradFn& fn) {
  ir::Recipe::Flags tracked(fn.recipe.operands().size(), 0);
  for (const Edge& edge : fn.edges) {
    if (edge.operand < tracked.size()) tracked[edge.operand] = 1;
  }
  return tracked;
}

std::vector<Tensor> gradients_of(const GradFn& fn, std::vector<NodeRef> values, const std::vector<Tensor>& grads) {
  std::vector<NodeRef> given;
  for (size_t k = 0; k < fn.recipe.outputs().size(); ++k)
    given.push_back(k < grads.size() && grads[k].defined() ? node_of(grads[k]) : NodeRef());
  const auto differentiate = runtime::replays() ? ir::replayed_gradients : ir::differentiate;
  const std::vector<NodeRef> nodes = differentiate(fn.recipe, std::move(values), given, tracked_operands(fn));
  const bool empty = std::ranges::none_of(grads, [](const Tensor& grad) { return grad.defined() && grad.numel() > 0; });
  std::vector<Tensor> result;
  for (const Edge& edge : fn.edges) {
    NodeRef gradient = edge.operand < nodes.size() ? nodes[edge.operand] : NodeRef();
    if (!gradient && edge.zeros && !empty) {  // of what was overwritten: they have no history
      result.emplace_back(new TensorImpl(edge.zeros), false);
      continue;
    }
    if (!gradient) gradient = edge.zeros;
    // What has a gradient may be another output than the operand's, or no element of one.
    if (!gradient && edge.operand < nodes.size() && fn.recipe.operands()[edge.operand] != ir::Recipe::kUnused)
      gradient = zeros_of(fn.recipe, fn.recipe.operands()[edge.operand]);
    result.push_back(tensor_of(gradient));
  }
  return result;
}

// The output before it was cast to the type of the tensor that it was written to.
uint32_t output_step(const ir::Recipe& recipe, const SavedValue& s) {
  const uint32_t step = recipe.outputs()[s.number];
  const bool cast = recipe.steps()[step].dtype != s.value.node()->dtype();
  return cast ? static_cast<uint32_t>(recipe.inputs(recipe.steps()[step])[0]) : step;
}

uint32_t step_of(const ir::Recipe& recipe, const SavedValue& s) {
  switch (s.of) {
    case SavedValue::Of::Operand: return recipe.operands()[s.number];
    case SavedValue::Of::Output: return output_step(recipe, s);
    case SavedValue::Of::Step: return s.number;
    case SavedValue::Of::Index: break;
  }
  return ir::Recipe::kUnused;
}

std::vector<Tensor> by_recipe(const GradFn& fn, const std::vector<Tensor>& grads) {
  std::vector<NodeRef> values(fn.recipe.steps().size());
  for (const SavedValue& s : fn.saved) values[step_of(fn.recipe, s)] = s.value.node();
  return gradients_of(fn, std::move(values), grads);
}

// As an operation of its own, on the gradients and on what it reads. What lies between operands and outputs is computed from
// the operands, so that it is differentiated too.
std::vector<Tensor> by_recipe_again(GradFn& fn, const std::vector<Tensor>& grads) {
  const ir::Recipe& recipe = fn.recipe;
  std::vector<Tensor> operands = grads;
  std::vector<uint32_t> steps;
  for (const SavedValue& s : fn.saved) {
    if (s.of == SavedValue::Of::Step) continue;
    operands.push_back(with_history(fn, s));
    steps.push_back(step_of(recipe, s));
  }
  GradScope scope(fn.literal_name().data(), TensorList(operands));
  if (std::ranges::none_of(grads, [](const Tensor& grad) { return requires_grad(grad); })) scope.attach_dependents();
  std::vector<NodeRef> values(recipe.steps().size());
  for (size_t i = 0; i < steps.size(); ++i)
    values[steps[i]] = ir::cast(node_of(operands[grads.size() + i]), recipe.steps()[steps[i]].dtype);
  return gradients_of(fn, std::move(values), grads);
}

}  // namespace

std::vector<Tensor> gradients_by_edge(GradFn& fn, const std::vector<Tensor>& grads, bool create_graph) {
  fn.check_saved();
  std::vector<Tensor> result = fn.rule        ? by_rule(fn, grads, create_graph)
                               : create_graph ? by_recipe_again(fn, grads)
                                              : by_recipe(fn, grads);
  if (!create_graph || !fn.derivative_reads) return result;
  const std::vector<Tensor> read = read_by_derivative(fn);
  for (Tensor& gradient : result) {
    if (!read.empty() && gradient.defined() && !requires_grad(gradient)) gradient = constant_in(read, gradient, fn.literal_name().data());
  }
  return result;
}

}  // namespace tenon
