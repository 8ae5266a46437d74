// Recording a rule over placeholders, and making it again.
#include "frontend/src/autograd/known_rule.h"

#include <algorithm>

#include "frontend/src/tensor/known.h"
#include "ir/graph/recipe.h"
#include "runtime/base/options.h"

namespace tenon {
namespace {

constexpr size_t kMost = 8;  // which outputs have gradients varies little

Tensor placeholder(const NodeRef& like) {
  return Tensor(new TensorImpl(ir::make_input(like->dtype(), like->shape(), nullptr, like->device())), false);
}

}  // namespace

optional<ir::Template> KnownRule::record(GradFn& fn, const std::vector<Tensor>& grads) {
  std::vector<Tensor> saved, given(grads.size());
  std::vector<NodeRef> operands, outputs;
  const auto hide = [&](const NodeRef& node) {
    Tensor x = placeholder(node);
    operands.push_back(node_of(x));
    return x;
  };
  for (const SavedValue& s : fn.saved) saved.push_back(hide(s.value.node()));
  for (size_t k = 0; k < grads.size(); ++k) {
    if (grads[k].defined()) given[k] = hide(node_of(grads[k]));
  }
  GradCall call(fn, given, std::move(saved));
  const GradRule rule = fn.rule;
  rule(call);
  for (const Tensor& gradient : call.take()) {
    if (gradient.defined() && !is_plain(impl(gradient))) return nullopt;
    outputs.push_back(gradient.defined() ? node_of(gradient) : NodeRef());
  }
  ir::Template graph(operands, outputs);
  return graph.is_closed() ? optional(std::move(graph)) : nullopt;
}

optional<std::vector<Tensor>> KnownRule::gradients(GradFn& fn, const std::vector<Tensor>& grads) {
  if (ir::Tape::current || !runtime::replays()) return nullopt;
  std::vector<optional<Type>> types;
  std::vector<NodeRef> operands;
  const auto add = [&](NodeRef node) {
    types.emplace_back(Type{node->dtype(), node->device(), node->shape()});
    operands.push_back(std::move(node));
  };
  for (const SavedValue& s : fn.saved) add(s.value.node());
  for (const Tensor& grad : grads) {
    if (grad.defined()) add(node_of(grad));
    else types.emplace_back();
  }
  std::shared_ptr<const Known> known;
  {
    const std::lock_guard lock(mutex_);
    const auto at = std::ranges::find(known_, types, [](const auto& k) -> const auto& { return k->types; });
    if (at != known_.end()) known = *at;
  }
  if (!known) {
    known = std::make_shared<const Known>(Known{std::move(types), record(fn, grads)});
    const std::lock_guard lock(mutex_);
    if (known_.size() < kMost) known_.push_back(known);
  }
  if (!known->graph) return nullopt;
  std::vector<NodeRef> made;
  known->graph->make(operands, {}, made);
  std::vector<Tensor> result;
  for (NodeRef& node : made) result.push_back(node ? tenon::record(std::move(node)) : Tensor());
  return result;
}

}  // namespace tenon
