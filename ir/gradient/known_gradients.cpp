// A table of recipes, by their steps. One that comes once leaves only its hash: not every program repeats itself.
#include "ir/gradient/known_gradients.h"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <unordered_map>

#include "ir/base/mix.h"
#include "ir/graph/template.h"

namespace tenon::ir {
namespace {

using Flags = Recipe::Flags;

// What is known of recipes with these steps and tracked operands.
struct Known {
  struct Gradients {
    Flags given;  // by step: whether its value is; behind them by output: whether its gradient is
    Template graph;
  };
  Recipe recipe;  // its leaves have no values
  Flags tracked;
  std::vector<uint32_t> kept;
  std::vector<std::shared_ptr<const Gradients>> gradients;

  const std::shared_ptr<const Gradients>* find(const Flags& given) const {
    const auto at = std::ranges::find(gradients, given, [](const auto& g) { return g->given; });
    return at == gradients.end() ? nullptr : &*at;
  }
};

// Under the lock of the graph.
class Book {
 public:
  static Book& get() {
    static auto* const book = new Book;  // outlives every static tensor
    return *book;
  }
  // Null at the first time.
  Known* find(const Recipe& recipe, const Flags& tracked) {
    const uint64_t hash = hash_of(recipe, tracked);
    const auto at = known_.find(hash);
    if (at != known_.end() && at->second.tracked == tracked && at->second.recipe.has_steps_of(recipe)) return &at->second;
    uint64_t& seen = seen_[hash % kSeen];
    if (seen != hash) {
      seen = hash;
      return nullptr;
    }
    if (known_.size() >= kMost) known_.clear();
    Known known{recipe, tracked, steps_to_keep(recipe, tracked), {}};
    for (size_t i = 0; i < recipe.leaves().size(); ++i) known.recipe.replace_leaf(i, NodeRef());
    return &known_.insert_or_assign(hash, std::move(known)).first->second;
  }

 private:
  static constexpr size_t kMost = 4096, kSeen = 4096;

  static uint64_t hash_of(const Recipe& recipe, const Flags& tracked) {
    uint64_t hash = recipe.hash();
    for (uint8_t flag : tracked) hash = mix(hash, flag);
    return hash;
  }

  std::unordered_map<uint64_t, Known> known_;
  std::vector<uint64_t> seen_ = std::vector<uint64_t>(kSeen);
};

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

// As operands_of, over placeholders.
std::shared_ptr<const Known::Gradients> record(const Recipe& steps, std::vector<NodeRef> values, std::vector<NodeRef> gradients,
                                               const Flags& tracked, const Flags& given) {
  Recipe recipe = steps;
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
  return std::make_shared<const Known::Gradients>(Known::Gradients{given, Template(operands, differentiate(recipe, values, gradients, tracked))});
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

std::vector<uint32_t> known_steps_to_keep(const Recipe& recipe, const Flags& tracked) {
  const auto held = hold_graph();
  const Known* known = Book::get().find(recipe, tracked);
  return known ? known->kept : steps_to_keep(recipe, tracked);
}

std::vector<NodeRef> known_gradients(const Recipe& recipe, std::vector<NodeRef> values, std::span<const NodeRef> gradients,
                                     const Flags& tracked) {
  const std::optional<Flags> given = Tape::current ? std::nullopt : given_to(recipe, values, gradients);
  if (!given) return differentiate(recipe, std::move(values), gradients, tracked);
  std::shared_ptr<const Known::Gradients> found;
  {
    const auto held = hold_graph();
    Known* known = Book::get().find(recipe, tracked);
    if (known) {
      const auto* at = known->find(*given);
      if (!at) known->gradients.push_back(record(recipe, values, {gradients.begin(), gradients.end()}, tracked, *given));
      found = at ? *at : known->gradients.back();
    }
  }
  if (!found || !found->graph.is_closed()) return differentiate(recipe, std::move(values), gradients, tracked);
  std::vector<NodeRef> result;
  result.reserve(recipe.operands().size());
  found->graph.make(operands_of(recipe, values, gradients), {}, result);
  return result;
}

}  // namespace tenon::ir
