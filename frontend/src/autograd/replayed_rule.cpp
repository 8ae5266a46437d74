// Recording a rule over placeholders, and making it again.
#include "frontend/src/autograd/replayed_rule.h"

#include "frontend/src/tensor/replay_key.h"
#include "ir/graph/memo.h"
#include "ir/graph/recipe.h"
#include "ir/graph/template.h"
#include "runtime/base/options.h"

namespace tenon {
namespace {

ir::Memo<ReplayKey, ir::Template>& memo() {
  static auto* const memo = new ir::Memo<ReplayKey, ir::Template>;  // outlives every static tensor
  return *memo;
}

Tensor placeholder(const NodeRef& like) {
  return Tensor(new TensorImpl(ir::make_input(like->dtype(), like->shape(), nullptr, like->device())), false);
}

// Null if it makes more than a graph of these operands.
std::shared_ptr<const ir::Template> record(GradFn& fn, const std::vector<Tensor>& grads) {
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
    if (gradient.defined() && (!is_plain(impl(gradient)) || impl(gradient).inference())) return nullptr;
    outputs.push_back(gradient.defined() ? node_of(gradient) : NodeRef());
  }
  ir::Template graph(operands, outputs);
  return graph.is_closed() ? std::make_shared<const ir::Template>(std::move(graph)) : nullptr;
}

}  // namespace

optional<std::vector<Tensor>> replayed_rule(GradFn& fn, const std::vector<Tensor>& grads) {
  if (fn.rule_number == 0 || ir::Tape::current || !runtime::replays()) return nullopt;
  ReplayKey key;
  key.add(fn.rule_number);
  std::vector<NodeRef> operands;
  const auto add = [&](NodeRef node) {
    key.add(node->dtype(), node->device(), node->shape(), 1);
    operands.push_back(std::move(node));
  };
  for (const SavedValue& s : fn.saved) add(s.value.node());
  for (const Tensor& grad : grads) {
    if (grad.defined()) add(node_of(grad));
    else key.add(uint64_t{0});
  }
  auto found = memo().find(key);
  if (found.again) memo().note(key, found.kept = record(fn, grads));
  if (!found.kept) return nullopt;
  std::vector<NodeRef> made;
  found.kept->make(operands, {}, made);
  std::vector<Tensor> result;
  for (NodeRef& node : made) result.push_back(node ? tenon::record(std::move(node)) : Tensor());
  return result;
}

}  // namespace tenon
