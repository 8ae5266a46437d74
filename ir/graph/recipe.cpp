// Noting steps, cutting out those that outputs need, and recording them again.
#include "ir/graph/recipe.h"

#include <algorithm>

#include "ir/base/mix.h"

namespace tenon::ir {

// --- recipes

const std::shared_ptr<const Recipe::Body>& Recipe::nothing() {
  static const auto* const body = new std::shared_ptr<const Body>(std::make_shared<Body>());  // outlives every static tensor
  return *body;
}

void Recipe::cast_output(size_t output, DType to) {
  const Step source = steps()[outputs()[output]];
  if (source.dtype == to) return;
  auto body = std::make_shared<Body>(*body_);
  auto& numbers = body->numbers;
  const auto first = static_cast<uint32_t>(numbers.size());
  const Dims dims(shape(source));
  numbers.insert(numbers.end(), dims.begin(), dims.end());
  numbers.push_back(body->outputs[output]);
  body->outputs[output] = static_cast<uint32_t>(body->steps.size());
  body->steps.push_back({Op::Cast, to, source.device, source.rank, 0, 1, first});
  body->find_hash();
  body_ = std::move(body);
}

void Recipe::Body::find_hash() {
  hash = mix(steps.size(), first_of_ties);
  const auto add = [&](uint64_t value) { hash = mix(hash, value); };
  for (const Step& s : steps) {
    add(static_cast<uint64_t>(s.op) | static_cast<uint64_t>(s.dtype) << 8 | uint64_t{static_cast<uint8_t>(s.device)} << 16 |
        uint64_t{s.rank} << 24 | uint64_t{s.int_count} << 40);
  }
  for (int64_t number : numbers) add(static_cast<uint64_t>(number));
  for (uint32_t output : outputs) add(output);
}

bool Recipe::has_steps_of(const Recipe& other) const {
  return (body_ == other.body_ || *body_ == *other.body_) && std::ranges::equal(leaves_, other.leaves_, {}, &Leaf::step, &Leaf::step);
}

std::vector<NodeRef> replay(const Recipe& recipe, std::span<const NodeRef> operands, Folding folding, std::vector<NodeRef>* steps) {
  std::vector<NodeRef> made(recipe.steps().size());
  for (size_t i = 0; i < recipe.operands().size(); ++i) {
    const uint32_t number = recipe.operands()[i];
    if (number == Recipe::kUnused) continue;
    const Recipe::Step& step = recipe.steps()[number];
    const bool fits = i < operands.size() && operands[i] && operands[i]->dtype() == step.dtype &&
                      std::ranges::equal(operands[i]->shape(), recipe.shape(step));
    if (!fits) throw IrError("the recipe's operand " + std::to_string(i) + " is missing or has another type");
    made[number] = operands[i];
  }
  for (const Recipe::Leaf& leaf : recipe.leaves()) made[leaf.step] = leaf.value;
  std::vector<NodeRef> inputs;
  for (size_t i = 0; i < made.size(); ++i) {
    if (made[i]) continue;
    const Recipe::Step& step = recipe.steps()[i];
    inputs.clear();
    for (int64_t input : recipe.inputs(step)) inputs.push_back(made[input]);
    if (step.op == Op::Const)
      made[i] = make_const({step.dtype, static_cast<uint64_t>(recipe.ints(step)[0])}, recipe.shape(step), step.device);
    else if (step.op == Op::Iota) made[i] = make_iota(recipe.shape(step), recipe.ints(step)[0], step.device);
    else made[i] = make_node(step.op, inputs, recipe.ints(step), step.dtype, folding);
  }
  std::vector<NodeRef> outputs;
  for (uint32_t output : recipe.outputs()) outputs.push_back(made[output]);
  if (steps) *steps = std::move(made);
  return outputs;
}

Graph as_graph(const Recipe& recipe, std::string name) {
  Recipe shown = recipe;  // whose leaves are placeholders as well
  std::vector<NodeRef> operands;
  std::vector<std::pair<NodeRef, std::string>> inputs;
  const auto placeholder = [&](uint32_t number, const char* letter, size_t i) {
    const Recipe::Step& step = recipe.steps()[number];
    inputs.emplace_back(make_input(step.dtype, recipe.shape(step), nullptr, step.device), letter + std::to_string(i));
    return inputs.back().first;
  };
  for (size_t i = 0; i < recipe.operands().size(); ++i) {
    const uint32_t number = recipe.operands()[i];
    operands.push_back(number == Recipe::kUnused ? NodeRef() : placeholder(number, "a", i));
  }
  for (size_t i = 0; i < shown.leaves().size(); ++i) shown.replace_leaf(i, placeholder(shown.leaves()[i].step, "l", i));
  Graph graph = Graph::of(replay(shown, operands, Folding::Off), std::move(name));
  graph.inputs.clear();
  for (const auto& [node, given] : inputs) {
    graph.inputs.push_back(node);
    const auto at = std::find(graph.nodes.begin(), graph.nodes.end(), node) - graph.nodes.begin();
    graph.names[at] = given;
  }
  return graph;
}

// --- tapes

constinit thread_local Tape* Tape::current = nullptr;

uint32_t Tape::add(Entry entry) {
  const auto number = static_cast<uint32_t>(entries_.size());
  if (number == kFew) {
    for (uint32_t i = 0; i < number; ++i) numbers_[nodes_[i]] = i;
  }
  if (number >= kFew) numbers_[entry.node.get()] = number;
  nodes_.push_back(entry.node.get());
  entries_.push_back(std::move(entry));
  return number;
}

void Tape::clear() {
  if (entries_.size() > kFew) numbers_ = {};
  entries_.clear();
  nodes_.clear();
  operands_.clear();
}

// Every node has one entry.
uint32_t Tape::find(const NodeRef& node) {
  if (entries_.size() > kFew) {
    const uint32_t* number = numbers_.find(node.get());
    return number ? *number : kUnknown;
  }
  const auto at = std::find(nodes_.begin(), nodes_.end(), node.get());
  return at == nodes_.end() ? kUnknown : static_cast<uint32_t>(at - nodes_.begin());
}

bool Tape::operand(const NodeRef& node) {
  if (knows(node)) return false;
  operands_.push_back(add({.node = node, .op = Op::Input, .dtype = node->dtype(), .is_operand = true}));
  return true;
}

// Whoever asks first for a node that no step made gets a leaf.
uint32_t Tape::number_of(const NodeRef& node) {
  if (const uint32_t number = find(node); number != kUnknown) return number;
  const bool stands_for_itself = node->op() == Op::Const || node->op() == Op::Iota;
  Entry leaf{.node = node, .op = stands_for_itself ? node->op() : Op::Input, .dtype = node->dtype()};
  if (leaf.op == Op::Const) leaf.ints.push_back(static_cast<int64_t>(node->bits()));
  if (leaf.op == Op::Iota) leaf.ints = node->ints();
  return add(std::move(leaf));
}

bool Tape::reads_leaf(const NodeRef& node) {
  const uint32_t number = find(node);
  if (number == kUnknown || entries_[number].op != Op::Input || entries_[number].is_operand) return false;
  return entries_[number].is_read && entries_[number].same_as == kUnknown;
}

void Tape::same(const NodeRef& copy, const NodeRef& original) {
  const uint32_t number = number_of(original);
  if (knows(copy)) return;
  Entry entry{.node = copy, .op = Op::Input, .dtype = copy->dtype(), .same_as = number};
  add(std::move(entry));
}

void Tape::define(const NodeRef& leaf, const NodeRef& made) { entries_[number_of(leaf)].same_as = number_of(made); }

uint32_t Tape::resolved(uint32_t entry) const {
  while (entries_[entry].same_as != kUnknown) entry = entries_[entry].same_as;
  return entry;
}

bool Tape::may_stand_for(const Request& request, const NodeRef& made) {
  const bool is_const = made->op() == Op::Const;
  uint32_t known = find(made);
  if (known == kUnknown && !is_const) return true;
  SmallVector<uint32_t, 3> inputs;
  for (const NodeRef& input : request.inputs) inputs.push_back(resolved(number_of(input)));
  if (is_const) {
    const auto is_step = [&](uint32_t input) { return entries_[input].op != Op::Const; };
    return std::ranges::none_of(inputs, is_step) || over_placeholders(request, kUnknown) == made;
  }
  known = resolved(known);
  const Entry& entry = entries_[known];
  const auto same = [&](uint32_t a, uint32_t b) { return a == resolved(b); };
  if (entry.op == request.op && entry.dtype == request.dtype && std::ranges::equal(entry.ints, request.ints) &&
      std::ranges::equal(inputs, entry.inputs, same))
    return true;
  const bool moves_nothing = is_movement(request.op) && inputs.size() == 1 && inputs[0] == known;
  return moves_nothing || is_identity(request, known) || static_cast<bool>(over_placeholders(request, known));
}

// Whether the request gives this input whatever its value is, as x * 1 does.
bool Tape::is_identity(const Request& request, uint32_t known) {
  const Entry& entry = entries_[known];
  const PausedTape paused;
  NodeRef placeholder;
  std::vector<NodeRef> inputs;
  for (const NodeRef& input : request.inputs) {
    const uint32_t number = resolved(find(input));
    if (number != known && entries_[number].op != Op::Const) return false;
    if (number == known && !placeholder) placeholder = make_input(entry.dtype, entry.node->shape(), nullptr, entry.node->device());
    inputs.push_back(number == known ? placeholder : input);
  }
  return placeholder && make_node(request.op, inputs, request.ints, request.dtype) == placeholder;
}

// The rules of fold.cpp hold for every value of their operands. So what folds to one node over operands behind which there is
// nothing to see is one function: the request's node over such placeholders, if that is the known entry's too; null if not.
NodeRef Tape::over_placeholders(const Request& request, uint32_t known) {
  constexpr size_t kMost = 256;  // steps looked at: more than a rule looks through
  std::vector<uint32_t> reached;
  const auto reach = [&](uint32_t number) {
    number = resolved(number);
    if (std::ranges::find(reached, number) == reached.end()) reached.push_back(number);
  };
  const auto reach_inputs = [&](size_t from) {
    for (size_t i = from; i < reached.size() && reached.size() <= kMost; ++i) {
      for (uint32_t input : entries_[reached[i]].inputs) reach(input);
    }
  };
  for (const NodeRef& input : request.inputs) reach(number_of(input));
  reach_inputs(0);
  if (known != kUnknown) {
    const bool is_step = entries_[known].op != Op::Input;
    if (!is_step && std::ranges::find(reached, known) == reached.end()) return {};
    reach(known);
    reach_inputs(reached.size() - 1);
  }
  if (reached.size() > kMost) return {};
  std::ranges::sort(reached);  // inputs come first

  const PausedTape paused;
  std::vector<NodeRef> placeholders(reached.size());
  const auto placeholder = [&](uint32_t number) {
    return placeholders[static_cast<size_t>(std::ranges::lower_bound(reached, resolved(number)) - reached.begin())];
  };
  for (size_t i = 0; i < reached.size(); ++i) {
    const Entry& entry = entries_[reached[i]];
    std::vector<NodeRef> inputs;
    for (uint32_t input : entry.inputs) inputs.push_back(placeholder(input));
    if (std::ranges::find(inputs, NodeRef()) != inputs.end()) return {};
    if (entry.op == Op::Const || entry.op == Op::Iota) placeholders[i] = entry.node;
    else if (entry.op == Op::Input) placeholders[i] = make_input(entry.dtype, entry.node->shape(), nullptr, entry.node->device());
    else placeholders[i] = make_node(entry.op, inputs, entry.ints, entry.dtype);
  }
  std::vector<NodeRef> inputs;
  for (const NodeRef& input : request.inputs) inputs.push_back(placeholder(number_of(input)));
  NodeRef node = make_node(request.op, inputs, request.ints, request.dtype);
  return known == kUnknown || node == placeholder(known) ? node : NodeRef();
}

void Tape::note(const Request& request, const NodeRef& made) {
  if (made->op() == Op::Const || knows(made)) return;  // constants stand for themselves
  Entry entry{.node = made, .op = request.op, .dtype = request.dtype, .ints = Dims(request.ints)};
  for (const NodeRef& input : request.inputs) {
    entry.inputs.push_back(number_of(input));
    entries_[entry.inputs.back()].is_read = true;
  }
  add(std::move(entry));
}

void Tape::append(const Entry& entry) {
  const Dims& shape = entry.node->shape();
  auto& numbers = step_numbers_;
  steps_.push_back({entry.op, entry.dtype, entry.node->device(), static_cast<uint32_t>(shape.size()),
                    static_cast<uint32_t>(entry.ints.size()), static_cast<uint32_t>(entry.inputs.size()),
                    static_cast<uint32_t>(numbers.size())});
  numbers.insert(numbers.end(), shape.begin(), shape.end());
  numbers.insert(numbers.end(), entry.ints.begin(), entry.ints.end());
  for (uint32_t input : entry.inputs) numbers.push_back(step_of_[resolved(input)]);
}

Recipe Tape::cut(std::span<const NodeRef> outputs, bool first_of_ties) {
  Recipe recipe;
  const auto body = std::make_shared<Recipe::Body>();
  body->first_of_ties = first_of_ties;
  for (const NodeRef& output : outputs) body->outputs.push_back(resolved(number_of(output)));
  steps_.clear();
  made_.clear();
  step_numbers_.clear();
  step_of_.assign(entries_.size(), kUnknown);
  const auto visit = [&](uint32_t entry) {
    if (step_of_[entry] != kUnknown) return;
    step_of_[entry] = kOnStack;
    stack_.push_back({entry, 0});
  };
  for (uint32_t& output : body->outputs) {
    visit(output);
    while (!stack_.empty()) {
      const uint32_t number = stack_.back().entry, next = stack_.back().next++;
      const Entry& entry = entries_[number];
      if (next < entry.inputs.size()) {
        visit(resolved(entry.inputs[next]));
        continue;
      }
      step_of_[number] = static_cast<uint32_t>(steps_.size());
      made_.push_back(number);
      append(entry);
      if (entry.op == Op::Input && !entry.is_operand) recipe.leaves_.push_back({step_of_[number], entry.node});
      stack_.pop_back();
    }
    output = step_of_[output];
  }
  body->steps.assign(steps_.begin(), steps_.end());  // no larger than they must be
  body->numbers.assign(step_numbers_.begin(), step_numbers_.end());
  for (uint32_t operand : operands_) body->operands.push_back(operand == kUnknown ? kUnknown : step_of_[operand]);
  body->find_hash();
  recipe.body_ = body;
  return recipe;
}

}  // namespace tenon::ir
