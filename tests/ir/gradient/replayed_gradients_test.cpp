// Gradients of recipes that come again.
#include <doctest/doctest.h>

#include "ir/gradient/replayed_gradients.h"

namespace tenon::ir {
namespace {

using Nodes = std::vector<NodeRef>;

NodeRef number(double value, const NodeRef& like) { return make_const(constant(like->dtype(), value), like->shape()); }
NodeRef placeholder() { return make_input(DType::F32, Dims{2, 3}); }

// x * y * 0.5 + exp(x), with a leaf beside it.
Recipe recipe_over(const Nodes& in, const NodeRef& leaf) {
  Tape tape;
  for (const NodeRef& operand : in) tape.operand(operand);
  Tape::current = &tape;
  const NodeRef product = binary(Op::Mul, binary(Op::Mul, in[0], in[1]), number(0.5, in[0]));
  const NodeRef out = binary(Op::Add, binary(Op::Mul, product, leaf), unary(Op::Exp, in[0]));
  Tape::current = nullptr;
  return tape.cut({&out, 1});
}

}  // namespace

TEST_CASE("known gradients: the first time and later ones give what differentiate gives") {
  for (int round = 0; round < 4; ++round) {
    const Nodes in = {placeholder(), placeholder()};
    const NodeRef leaf = placeholder();
    const Recipe recipe = recipe_over(in, leaf);
    for (const Recipe::Flags& tracked : {Recipe::Flags{1, 1}, Recipe::Flags{0, 1}, Recipe::Flags{1, 0}}) {
      CHECK(replayed_steps_to_keep(recipe, tracked) == steps_to_keep(recipe, tracked));
      Nodes values(recipe.steps().size());
      for (uint32_t i = 0; i < 2; ++i) values[recipe.operands()[i]] = in[i];
      for (const NodeRef& g : {placeholder(), number(1.0, in[0]), number(0.0, in[0]), NodeRef()}) {
        CHECK(replayed_gradients(recipe, values, {&g, 1}, tracked) == differentiate(recipe, values, {&g, 1}, tracked));
      }
    }
  }
}

}  // namespace tenon::ir
