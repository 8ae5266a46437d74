// Recipes by their steps, and the graphs of their gradients.
#include "ir/gradient/replayed_gradients.h"

#include <algorithm>
#include <optional>

#include "ir/base/mix.h"
#include "ir/graph/memo.h"
#include "ir/graph/template.h"

namespace tenon::ir {
namespace {

using Flags = Recipe::Flags;

// The steps of a recipe, whatever its leaves hold, and flags: as they are looked up, without a copy, and as they are kept.
struct RecipeLookup {
  const Recipe& recipe;
  const Flags& tracked;
  const Flags& given;  // by step whether its value is there, and behind them by output whether its gradient is
  uint64_t hash() const {
    uint64_t hash = recipe.hash();
    for (uint8_t flag : tracked) hash = mix(hash, flag);
    for (uint8_t flag : given) hash = mix(hash, flag);
    return hash;
  }
};
class RecipeKey {
 public:
  RecipeKey(const RecipeLookup& of) : recipe_(of.recipe), tracked_(of.tracked), given_(of.given) {
    for (size_t i = 0; i < recipe_.leaves().size(); ++i) recipe_.replace_leaf(i, NodeRef());
  }
  bool operator==(const RecipeLookup& other) const {
    return tracked_ == other.tracked && given_ == other.given && recipe_.has_steps_of(other.recipe);
  }
  uint64_t hash() const { return RecipeLookup{recipe_, tracked_, given_}.hash(); }

 private:
  Recipe recipe_;
  Flags tracked_, given_;
};

Memo<RecipeKey, std::vector<uint32_t>>& steps_to_keep_of() {
  static auto* const memo = new Memo<RecipeKey, std::vector<uint32_t>>;  // outlives every static tensor
  return *memo;
}
Memo<RecipeKey, Template>& gradients_of() {
  static auto* const memo = new Memo<RecipeKey, Template>;
  return *memo;
}

// The values that are there, by step, the leaves, and the gradients that are there, by output.
std::vector<NodeRef> operands_of(const Recipe& recipe, const std::vector<NodeRef>& values, std::span<const NodeRef> gradients) {
  std::vector<NodeRef> operands;
  operands.reserve(values.size() + recipe.leaves().size() + gradients.size());
  const auto add = [&](const NodeRef& node) {
    if (node) operands.push_back(node);
  };
  std::ranges::for_each(values, add);
  for (const Recipe::Leaf& leaf : recipe.leaves()) add(leaf.value);
  std::ranges::for_each(gradients, add);
  return operands;
}

// The gradients over placeholders; null if they depend on more than these.
std::shared_ptr<const Template> record(Recipe recipe, std::vector<NodeRef> values, std::vector<NodeRef> gradients, const Flags& tracked) {
  const auto hide = [](NodeRef& node) {
    if (node) node = make_input(node->dtype(), node->shape(), nullptr, node->device());
  };
  std::ranges::for_each(values, hide);
  for (size_t i = 0; i < recipe.leaves().size(); ++i) {
    NodeRef leaf = recipe.leaves()[i].value;
    hide(leaf);
    recipe.replace_leaf(i, std::move(leaf));
  }
  std::ranges::for_each(gradients, hide);
  const std::vector<NodeRef> operands = operands_of(recipe, values, gradients);
  Template graph(operands, differentiate(recipe, values, gradients, tracked));
  return graph.is_closed() ? std::make_shared<const Template>(std::move(graph)) : nullptr;
}

bool has_type_of(const NodeRef& node, const Recipe& recipe, uint32_t step) {
  const Recipe::Step& s = recipe.steps()[step];
  return node->dtype() == s.dtype && node->device() == s.device && std::ranges::equal(node->shape(), recipe.shape(s));
}

// Which values and gradients are there; nothing if one is of another type than its step.
std::optional<Flags> given_to(const Recipe& recipe, const std::vector<NodeRef>& values, std::span<const NodeRef> gradients) {
  Flags given;
  const auto add = [&](const NodeRef& node, uint32_t step) {
    given.push_back(static_cast<bool>(node));
    return !node || has_type_of(node, recipe, step);
  };
  for (uint32_t i = 0; i < values.size(); ++i) {
    if (!add(values[i], i)) return std::nullopt;
  }
  for (size_t i = 0; i < gradients.size(); ++i) {
    if (!add(gradients[i], recipe.outputs()[i])) return std::nullopt;
  }
  return given;
}

}  // namespace

std::vector<uint32_t> replayed_steps_to_keep(const Recipe& recipe, const Flags& tracked) {
  const Flags none{};
  const RecipeLookup key{recipe, tracked, none};
  const auto found = steps_to_keep_of().find(key);
  if (found.kept) return *found.kept;
  std::vector<uint32_t> steps = steps_to_keep(recipe, tracked);
  if (found.again) steps_to_keep_of().note(key, std::make_shared<const std::vector<uint32_t>>(steps));
  return steps;
}

std::vector<NodeRef> replayed_gradients(const Recipe& recipe, std::vector<NodeRef> values, std::span<const NodeRef> gradients,
                                        const Flags& tracked) {
  const std::optional<Flags> given = Tape::current ? std::nullopt : given_to(recipe, values, gradients);
  if (!given) return differentiate(recipe, std::move(values), gradients, tracked);
  const RecipeLookup key{recipe, tracked, *given};
  auto found = gradients_of().find(key);
  if (found.again) {
    found.kept = record(recipe, values, {gradients.begin(), gradients.end()}, tracked);
    gradients_of().note(key, found.kept);
  }
  if (!found.kept) return differentiate(recipe, std::move(values), gradients, tracked);
  std::vector<NodeRef> result;
  result.reserve(recipe.operands().size());
  found.kept->make(operands_of(recipe, values, gradients), {}, result);
  return result;
}

}  // namespace tenon::ir
