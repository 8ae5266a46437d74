// Hooks, leaves as nodes, and the edges that a program sees.
#include "frontend/src/autograd/node.h"

#include <algorithm>

#include "frontend/src/autograd/history.h"
#include "frontend/src/tensor/call.h"
#include "frontend/src/tensor/text.h"
#include "tenon/print.h"

namespace tenon {

namespace {

class LeafNode final : public autograd::AccumulateGrad {
 public:
  explicit LeafNode(Tensor variable) : variable_(std::move(variable)) {}
  std::string name() const override { return "torch::autograd::AccumulateGrad"; }
  autograd::edge_list next_edges() const override { return {}; }
  uint32_t num_inputs() const override { return 1; }
  uint64_t sequence_nr() const override { return UINT64_MAX; }
  const Tensor& variable() const override { return variable_; }

 private:
  const Tensor variable_;
};

template <typename Hook>
bool removed(std::vector<std::pair<uintptr_t, std::shared_ptr<Hook>>>& list, uintptr_t key) {
  return std::erase_if(list, [&](const auto& entry) { return entry.first == key; }) > 0;
}

// Gradients may come and go, but keep their shapes.
void replace(const char* which, std::vector<Tensor>& grads, std::vector<Tensor> replaced) {
  check(replaced.size() == grads.size(), which, " hook returned ", replaced.size(), " gradients, expected ", grads.size());
  for (size_t i = 0; i < grads.size(); ++i) {
    if (!grads[i].defined() || !replaced[i].defined()) continue;
    check(replaced[i].sizes() == grads[i].sizes(), which, " hook has changed the size of gradient ", i, " from ", grads[i].sizes(), " to ",
          replaced[i].sizes());
    check(replaced[i].scalar_type() == grads[i].scalar_type(), which, " hook has changed the type of gradient ", i);
  }
  grads = std::move(replaced);
}

}  // namespace

namespace autograd {

Node::Node() = default;
Node::~Node() = default;
Edge Node::next_edge(size_t index) const { return next_edges().at(index); }
uint32_t Node::num_outputs() const { return static_cast<uint32_t>(next_edges().size()); }
Node::Hooks* Node::hooks() const { return hooks_.get(); }

uintptr_t Node::add_pre_hook(std::unique_ptr<FunctionPreHook> hook) {
  if (!hooks_) hooks_ = std::make_unique<Hooks>();
  hooks_->before.emplace_back(hooks_->next, std::move(hook));
  return hooks_->next++;
}
uintptr_t Node::add_post_hook(std::unique_ptr<FunctionPostHook> hook) {
  if (!hooks_) hooks_ = std::make_unique<Hooks>();
  hooks_->after.emplace_back(hooks_->next, std::move(hook));
  return hooks_->next++;
}
bool Node::del_pre_hook(uintptr_t key) { return hooks_ && removed(hooks_->before, key); }
bool Node::del_post_hook(uintptr_t key) { return hooks_ && removed(hooks_->after, key); }

}  // namespace autograd

autograd::edge_list GradFn::next_edges() const {
  autograd::edge_list result(recipe.operands().size());
  for (const Edge& edge : edges) {
    if (result.size() <= edge.operand) result.resize(edge.operand + 1);
    if (edge.fn) {
      result[edge.operand] = {edge.fn, static_cast<uint32_t>(edge.output_nr)};
    } else {
      edge.accumulator = accumulator_of(edge.leaf);
      result[edge.operand] = {edge.accumulator, 0};
    }
  }
  return result;
}

std::shared_ptr<autograd::AccumulateGrad> accumulator_of(const Tensor& leaf) {
  History& history = own_history(leaf);
  std::shared_ptr<autograd::AccumulateGrad> node = history.accumulator.lock();
  if (!node) history.accumulator = node = std::make_shared<LeafNode>(leaf);
  return node;
}

// The lists are copied: a hook may remove itself.
void run_pre_hooks(const autograd::Node& node, std::vector<Tensor>& grads) {
  if (!node.hooks() || node.hooks()->before.empty()) return;
  grads.resize(std::max<size_t>(grads.size(), node.num_inputs()));
  const auto list = node.hooks()->before;
  const CallScope::Outside outside;
  for (const auto& [key, hook] : list) replace("pre", grads, (*hook)(grads));
}

void run_post_hooks(const autograd::Node& node, std::vector<Tensor>& outputs, const std::vector<Tensor>& grads) {
  if (!node.hooks()) return;
  const auto list = node.hooks()->after;
  const CallScope::Outside outside;
  for (const auto& [key, hook] : list) replace("post", outputs, (*hook)(outputs, grads));
}

}  // namespace tenon
