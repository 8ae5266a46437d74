// grad_fn: edges to what made the operands, and hooks before and after an operation's backward pass.
#include <doctest/doctest.h>
#include <tenon/tenon.h>

#include "frontend/values.h"

using namespace tenon;
using autograd::variable_list;
using test::error_of;

TEST_CASE("node: edges lead to what made the operands") {
  const Tensor a = ones({2}, requires_grad()), b = ones({2}), c = ones({2}, requires_grad());
  const Tensor y = (a * b).exp() + c;
  const auto add = y.grad_fn();
  REQUIRE(add->num_outputs() == 2);
  CHECK(add->num_inputs() == 1);
  const autograd::edge_list edges = add->next_edges();
  CHECK(edges[0].function->name() == "ExpBackward0");
  CHECK(edges[0].input_nr == 0);
  CHECK(edges[0].function->sequence_nr() < add->sequence_nr());
  const auto leaf = std::dynamic_pointer_cast<autograd::AccumulateGrad>(edges[1].function);
  REQUIRE(leaf);
  CHECK(leaf->name() == "torch::autograd::AccumulateGrad");
  CHECK(leaf->variable().is_same(c));
  CHECK(leaf->next_edges().empty());
  CHECK(add->next_edge(1).function == leaf);  // one and the same while it is held

  const auto mul = edges[0].function->next_edge(0).function;
  CHECK(mul->name() == "MulBackward0");
  REQUIRE(mul->num_outputs() == 2);
  CHECK(mul->next_edge(0).is_valid());
  CHECK(!mul->next_edge(1).is_valid());  // b requires no grad

  const std::vector<Tensor> parts = c.split(1);
  CHECK((parts[1] * 2).grad_fn()->next_edge(0).input_nr == 1);
  CHECK(parts[1].grad_fn()->num_inputs() == 2);
}

TEST_CASE("node: hooks see and replace gradients, in order, and are removed") {
  const Tensor a = tensor({2.}, requires_grad()), b = tensor({3.}, requires_grad());
  std::vector<std::string> calls;
  const auto gradients = [&](const std::function<void(autograd::Node&)>& add) {
    calls.clear();
    const Tensor y = a * b;
    add(*y.grad_fn());
    const auto g = autograd::grad({y}, {a, b});
    return std::make_pair(g[0].item<double>(), g[1].item<double>());
  };
  const auto doubled = [&](const variable_list& grads) {
    calls.push_back("before");
    return variable_list{grads[0] * 2};
  };
  const auto swapped = [&](const variable_list& outputs, const variable_list& inputs) {
    calls.push_back("after");
    REQUIRE(inputs.size() == 1);
    return variable_list{outputs[1] + inputs[0], outputs[0]};
  };
  using Pair = std::pair<double, double>;
  CHECK(gradients([](autograd::Node&) {}) == Pair(3, 2));
  CHECK(gradients([&](autograd::Node& n) { n.add_pre_hook(doubled); }) == Pair(6, 4));
  CHECK(gradients([&](autograd::Node& n) {
          n.add_post_hook(swapped);
          n.add_pre_hook(doubled);
        }) == Pair(6, 6));
  CHECK(calls == std::vector<std::string>{"before", "after"});
  CHECK(gradients([&](autograd::Node& n) {
          const uintptr_t before = n.add_pre_hook(doubled), after = n.add_post_hook(swapped);
          CHECK(n.del_pre_hook(before));
          CHECK(!n.del_pre_hook(before));
          CHECK(n.del_post_hook(after));
        }) == Pair(3, 2));
  CHECK(calls.empty());

  struct Halved : autograd::FunctionPreHook {
    variable_list operator()(const variable_list& grads) override { return {grads[0] / 2}; }
  };
  CHECK(gradients([](autograd::Node& n) { n.add_pre_hook(std::make_unique<Halved>()); }) == Pair(1.5, 1));
}

TEST_CASE("node: a hook that returns too few gradients or another shape is an error") {
  const Tensor a = ones({2}, requires_grad());
  const auto with = [&](auto pre) {
    return error_of([&] {
      const Tensor y = a * 2;
      y.grad_fn()->add_pre_hook(pre);
      y.sum().backward();
    });
  };
  CHECK(with([](const variable_list&) { return variable_list{}; }) == "pre hook returned 0 gradients, expected 1");
  CHECK(with([](const variable_list&) { return variable_list{ones({3})}; }) ==
        "pre hook has changed the size of gradient 0 from [2] to [3]");
  CHECK(with([](const variable_list&) { return variable_list{ones({2}, kDouble)}; }) == "pre hook has changed the type of gradient 0");
  CHECK(with([](const variable_list&) { return variable_list{Tensor()}; }) == "no error");
}

TEST_CASE("node: hooks on what adds to a leaf's grad") {
  const Tensor a = tensor({1., 2.}, requires_grad());
  const Tensor y = (a * 3).sum();
  const auto leaf = y.grad_fn()->next_edge(0).function->next_edge(0).function;
  Tensor seen;
  leaf->add_pre_hook([](const variable_list& grads) { return variable_list{grads[0] * 10}; });
  leaf->add_post_hook([&](const variable_list& outputs, const variable_list&) {
    seen = a.grad().clone();
    return outputs;
  });
  y.backward();
  CHECK(equal(a.grad(), tensor({30., 30.})));
  CHECK(equal(seen, a.grad()));
}

TEST_CASE("node: the graph keeps a leaf's hooks") {
  const Tensor a = tensor({1., 2.}, requires_grad());
  const Tensor y = a * 3;
  y.grad_fn()->next_edge(0).function->add_pre_hook([](const variable_list& grads) { return variable_list{grads[0] * 10}; });
  y.sum().backward();
  CHECK(equal(a.grad(), tensor({30., 30.})));
}

TEST_CASE("node: hooks are differentiated with create_graph, and a created graph has edges too") {
  const Tensor x = tensor({2.}, TensorOptions(kDouble).requires_grad(true));
  const Tensor y = x.pow(3);
  y.grad_fn()->add_pre_hook([&](const variable_list& grads) { return variable_list{grads[0] * x}; });
  const Tensor first = autograd::grad({y}, {x}, {}, true, true)[0];
  CHECK(first.item<double>() == doctest::Approx(24));  // 3 x^2 * x
  CHECK(first.grad_fn()->next_edge(0).is_valid());
  CHECK(autograd::grad({first}, {x})[0].item<double>() == doctest::Approx(36));
}
