// Attention's gradients: records its composition and differentiates that.
#include <utility>
#include <vector>

#include "ir/gradient/gradient.h"

namespace tenon::ir {
namespace {

// Over placeholders, which tell equal operands apart.
Recipe recipe_of(const std::vector<NodeRef>& operands, const Attention& a, const AttentionLayout& layout) {
  const PausedTape paused;
  Tape tape;
  std::vector<NodeRef> x;
  for (const NodeRef& operand : operands) {
    x.push_back(make_input(operand->dtype(), operand->shape(), nullptr, operand->device()));
    tape.operand(x.back());
  }
  struct Recording {
    explicit Recording(Tape& tape) { Tape::current = &tape; }
    ~Recording() { Tape::current = nullptr; }
  } const recording(tape);
  const NodeRef result = composed_attention({x[0], x[1], x[2], a.mask ? x[3] : NodeRef(), a.causal, a.scale}, layout);
  return tape.cut({&result, 1});
}

}  // namespace

NodeRef composed_attention_gradient(const Attention& a, size_t which, const NodeRef& gradient, const AttentionLayout& layout) {
  std::vector<NodeRef> operands{a.query, a.key, a.value};
  if (a.mask) operands.push_back(a.mask);
  const Recipe recipe = recipe_of(operands, a, layout);
  std::vector<NodeRef> values(recipe.steps().size());
  for (size_t i = 0; i < operands.size(); ++i) values[recipe.operands()[i]] = operands[i];
  const Recipe::Flags tracked(operands.size(), 1);  // under a tape the gradients of all operands are one piece of graph
  return differentiate(recipe, std::move(values), {&gradient, 1}, tracked)[which];
}

}  // namespace tenon::ir
