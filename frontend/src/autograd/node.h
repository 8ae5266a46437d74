// Hooks on operations, and the nodes that stand for leaves.
#pragma once

#include "frontend/src/autograd/grad_fn.h"

namespace tenon {

struct autograd::Node::Hooks {
  template <typename Hook>
  using List = std::vector<std::pair<uintptr_t, std::shared_ptr<Hook>>>;
  List<FunctionPreHook> before;
  List<FunctionPostHook> after;
  uintptr_t next = 0;
};

std::shared_ptr<autograd::AccumulateGrad> accumulator_of(const Tensor& leaf);

// What hooks make of the gradients of the node's results, and then of those of its operands.
void run_pre_hooks(const autograd::Node& node, std::vector<Tensor>& grads);
void run_post_hooks(const autograd::Node& node, std::vector<Tensor>& outputs, const std::vector<Tensor>& grads);

}  // namespace tenon
