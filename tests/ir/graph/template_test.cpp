// Templates give the nodes that recording gives, whatever lies behind the operands.
#include <doctest/doctest.h>

#include <array>
#include <optional>

#include "ir/graph/fold.h"
#include "ir/graph/template.h"

namespace tenon::ir {
namespace {

using Nodes = std::vector<NodeRef>;

constexpr double kNumbers[] = {0.3, 0.7}, kOthers[] = {0.9, 0.2};

NodeRef number(double value, const NodeRef& like) { return make_const(constant(like->dtype(), value), like->shape()); }

// A formula of x, y: f32[2,3] and s: f32[2,1]. What the rules make of it depends on the operands, on the numbers, on both, and on neither.
Nodes formula(std::span<const NodeRef> in, std::span<const double> n) {
  const NodeRef &x = in[0], &y = in[1], wide = expand(in[2], Dims{2, 3});
  const NodeRef scaled = binary(Op::Add, binary(Op::Mul, x, number(n[0], x)), binary(Op::Mul, y, number(n[1], y)));
  const NodeRef turned = permute(permute(scaled, Dims{1, 0}), Dims{1, 0});
  const NodeRef negated = unary(Op::Neg, binary(Op::Mul, scaled, wide));
  const NodeRef halved = binary(Op::Div, binary(Op::Sub, negated, y), number(n[1], y));
  const NodeRef chosen = where(binary(Op::Gt, x, y), halved, binary(Op::Max, x, y));
  return {binary(Op::Add, unary(Op::Neg, chosen), turned), reduce(Op::Sum, binary(Op::Mul, unary(Op::Neg, x), number(2.0, x)), Dims{1}),
          NodeRef(), x, unary(Op::Neg, unary(Op::Neg, y))};
}

Nodes placeholders() {
  return {make_input(DType::F32, Dims{2, 3}), make_input(DType::F32, Dims{2, 3}), make_input(DType::F32, Dims{2, 1})};
}

Template recorded() {
  const Nodes in = placeholders(), other = placeholders();
  Template graph(in, formula(in, kNumbers));
  const bool found = graph.find_numbers(Template(other, formula(other, kOthers)), kNumbers, kOthers);
  REQUIRE(found);
  return graph;
}

}  // namespace

TEST_CASE("template: the nodes are those that make_node gives, over operands and numbers of every kind") {
  const Template graph = recorded();
  CHECK(graph.is_closed());
  const Nodes in = placeholders();
  const NodeRef one = number(1.0, in[0]);
  const Nodes wholes = {in[0],
                        in[1],
                        one,
                        number(0.0, in[0]),
                        unary(Op::Neg, in[0]),
                        expand(in[2], Dims{2, 3}),
                        permute(make_input(DType::F32, Dims{3, 2}), Dims{1, 0}),
                        binary(Op::Mul, in[0], number(0.3, in[0]))};
  const Nodes columns = {in[2], number(-1.0, in[2]), reduce(Op::Sum, in[0], Dims{1}), unary(Op::Neg, in[2])};
  int compared = 0;
  for (const NodeRef& x : wholes) {
    for (const NodeRef& y : wholes) {
      for (const NodeRef& s : columns) {
        for (const std::array<double, 2> n : {std::array{0.1, 0.2}, {1.0, 0.2}, {0.0, 0.5}, {-1.0, 1.0}, {0.3, 0.3}, {-0.0, -1.0}}) {
          const Nodes operands = {x, y, s};
          Nodes made;
          graph.make(operands, n, made);
          CHECK(made == formula(operands, n));
          ++compared;
        }
      }
    }
  }
  CHECK(compared == 8 * 8 * 4 * 6);
}

namespace {

// Whether `op` folds with one node in one place and inputs in the others; nothing if the operation does not take them so.
std::optional<bool> folds(Op op, const NodeRef& node, size_t place, const Nodes& others) {
  Nodes inputs = others;
  inputs[place] = node;
  try {
    return static_cast<bool>(fold(op, inputs, {}, infer(op, inputs, {}, DType::F32)));
  } catch (const IrError&) {
    return std::nullopt;
  }
}

}  // namespace

TEST_CASE("template: no rule looks at operands that are said to be looked at by none") {
  int compared = 0;
  for (const DType type : {DType::F32, DType::I32, DType::Bool}) {
    const Nodes inputs = {make_input(type, Dims{4}), make_input(type, Dims{4}), make_input(type, Dims{4})};
    for (int made = 0; made < kOpCount; ++made) {
      const Op maker = static_cast<Op>(made);
      if (rules_look_at(maker) || !is_elementwise(maker)) continue;
      NodeRef node;
      try {
        node = make_node(maker, std::span(inputs).first(static_cast<size_t>(info(maker).arity)));
      } catch (const IrError&) {
        continue;
      }
      for (int reader = 0; reader < kOpCount; ++reader) {
        const Op op = static_cast<Op>(reader);
        if (!is_elementwise(op)) continue;
        const auto arity = static_cast<size_t>(info(op).arity);
        const Nodes others(arity, make_input(node->dtype(), Dims{4}));
        for (size_t place = 0; place < arity; ++place) {
          CHECK(folds(op, node, place, others) == folds(op, make_input(node->dtype(), Dims{4}), place, others));
          ++compared;
        }
      }
    }
  }
  CHECK(compared > 3000);
}

TEST_CASE("template: what no operand and no number explains is refused") {
  const Nodes in = placeholders(), other = placeholders();
  const auto squared = [](const Nodes& x, double n) { return Nodes{binary(Op::Mul, x[0], number(n * n, x[0]))}; };
  const auto power = [](const Nodes& x, double n) {
    return Nodes{n < 0.5 ? binary(Op::Mul, x[0], number(n, x[0])) : binary(Op::Add, x[0], number(n, x[0]))};
  };
  CHECK_FALSE(Template(in, squared(in, 0.3)).find_numbers(Template(other, squared(other, 0.9)), kNumbers, kOthers));
  CHECK_FALSE(Template(in, power(in, 0.3)).find_numbers(Template(other, power(other, 0.9)), kNumbers, kOthers));
  const NodeRef draws = make_input(DType::F32, Dims{2, 3});
  CHECK_FALSE(Template(in, Nodes{binary(Op::Mul, in[0], draws)}).is_closed());
}

TEST_CASE("template: nodes that were made die with the last that needs them, but for the last constants") {
  const int64_t before = live_node_count();
  {
    const Template graph = recorded();
    const auto make = [&](std::span<const double> numbers) {
      const Nodes in = placeholders();
      Nodes made;
      graph.make(in, numbers, made);
      return live_node_count();
    };
    CHECK(make(kNumbers) > before + 10);
    CHECK(live_node_count() == before + 3);  // two numbers and a two
    CHECK(make(kOthers) > before + 10);
    CHECK(live_node_count() == before + 3);
  }
  CHECK(live_node_count() == before);
}

}  // namespace tenon::ir
