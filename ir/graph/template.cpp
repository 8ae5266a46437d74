// Noting a graph, and making it again.
#include "ir/graph/template.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "ir/graph/fold.h"
#include "ir/graph/graph_map.h"
#include "ir/graph/node_table.h"
#include "ir/graph/recipe.h"

namespace tenon::ir {

// In the order in which the nodes were made, on which the order of operands that commute hangs.
Template::Template(std::span<const NodeRef> operands, std::span<const NodeRef> outputs) : operand_count_(operands.size()) {
  NodeMap<uint32_t> numbers;
  for (uint32_t i = 0; i < operands.size(); ++i) numbers[operands[i].get()] = i;
  std::vector<NodeRef> roots;
  for (const NodeRef& output : outputs) {
    if (output) roots.push_back(output);
  }
  std::vector<Node*> nodes = topological_order(roots);
  std::ranges::sort(nodes, {}, [](const Node* node) { return node->id(); });
  for (const Node* node : nodes) {
    if (numbers.contains(node)) continue;
    closed_ = closed_ && node->op() != Op::Input;
    Step step{node->op(),
              node->dtype(),
              node->device(),
              has_trait(node->op(), TraitCommutes),
              -1,
              -1,
              node->bits(),
              seed_of(node->op(), node->dtype(), node->device(), node->bits()),
              node->numel(),
              node->shape(),
              node->ints(),
              {}};
    if (step.op == Op::Const) {
      step.constant = static_cast<int32_t>(constants_.size());
      constants_.push_back({NodeRef(), 0, true});
    }
    for (const Node* input : node->inputs()) step.inputs.push_back(numbers.at(input));
    numbers[node] = static_cast<uint32_t>(operand_count_ + steps_.size());
    steps_.push_back(std::move(step));
  }
  for (const NodeRef& output : outputs) outputs_.push_back(output ? numbers.at(output.get()) : kUndefined);
  uses_.assign(operand_count_ + steps_.size(), 0);
  for (const Step& step : steps_) {
    for (uint32_t input : step.inputs) ++uses_[input];
  }
  for (uint32_t output : outputs_) {
    if (output != kUndefined) ++uses_[output];
  }
}

bool Template::same_form(const Step& a, const Step& b) {
  return a.op == b.op && a.dtype == b.dtype && a.device == b.device && a.shape == b.shape && a.ints == b.ints && a.inputs == b.inputs;
}

bool Template::find_numbers(const Template& other, std::span<const double> numbers, std::span<const double> other_numbers) {
  if (!std::ranges::equal(steps_, other.steps_, same_form) || outputs_ != other.outputs_) return false;
  for (size_t s = 0; s < steps_.size(); ++s) {
    Step& step = steps_[s];
    if (step.bits == other.steps_[s].bits) continue;
    for (size_t i = 0; i < numbers.size(); ++i) {
      const bool is_it =
          step.bits == constant(step.dtype, numbers[i]).bits && other.steps_[s].bits == constant(step.dtype, other_numbers[i]).bits;
      if (is_it) step.number = static_cast<int32_t>(i);
    }
    if (step.number < 0) return false;
  }
  return true;
}

namespace {

// Whether the rules make nothing special of such a number: it is no power of two, nor any of the others that have no fraction.
bool is_plain(double value) { return std::isnormal(value) && (std::bit_cast<uint64_t>(value) << 12) != 0; }

// Two operands that are one node, and were two in the template.
bool any_joined(std::span<Node* const> nodes, const SmallVector<uint32_t, 3>& inputs) {
  for (size_t i = 1; i < nodes.size(); ++i) {
    for (size_t k = 0; k < i; ++k) {
      if (nodes[i] == nodes[k] && inputs[i] != inputs[k]) return true;
    }
  }
  return false;
}

}  // namespace

// All references that there will be to a node, and to an operand, are counted at once. Under the lock of the table.
class Template::Making {
 public:
  Making(const Template& graph, NodeTable& table, std::span<const NodeRef> operands, std::vector<NodeRef>& late)
      : graph_(graph), table_(table), late_(late) {
    const size_t count = graph.uses_.size();
    table.reserve(graph.steps_.size());
    nodes_.resize(count);
    flags_.resize(count);
    made_ = nodes_.data();
    known_ = flags_.data();
    for (; count_ < operands.size(); ++count_) {
      made_[count_] = operands[count_].get();
      known_[count_] = !rules_look_at(made_[count_]->op());
      if (graph.uses_[count_] > 0) table.count_up(*made_[count_], graph.uses_[count_]);
    }
  }

  void make(const Step& step, std::span<const double> numbers) {
    if (step.constant >= 0) return make_constant(step, numbers);
    inputs_.clear();
    bool all_known = true;
    for (uint32_t input : step.inputs) {
      inputs_.push_back(made_[input]);
      all_known &= known_[input] != 0;
    }
    const NodeKey key{step.op, step.dtype, step.device, step.bits, {}, step.ints, step.shape, step.numel};
    if (all_known && !any_joined(inputs_, step.inputs)) {
      if (step.commutes && !NodeTable::in_order(*inputs_[0], *inputs_[1])) std::swap(inputs_[0], inputs_[1]);
      made_[count_] = table_.find_or_create_counted(key, inputs_, step.seed, graph_.uses_[count_]);
      known_[count_++] = true;
    } else {
      made_[count_] = ask_rules(key);
      known_[count_] = !rules_look_at(step.op) && !rules_look_at(made_[count_]->op());
      ++count_;
    }
  }

  NodeRef output(uint32_t number) const { return number == kUndefined ? NodeRef() : NodeTable::adopt(made_[number]); }

  // After an exception: nobody comes for what was counted for the steps from here on, nor for the outputs.
  void give_up() {
    const auto drop = [&](uint32_t number) {
      if (number < count_) late_.push_back(NodeTable::adopt(made_[number]));
    };
    for (size_t s = count_ - graph_.operand_count_; s < graph_.steps_.size(); ++s) std::ranges::for_each(graph_.steps_[s].inputs, drop);
    std::ranges::for_each(graph_.outputs_, drop);
  }

 private:
  // The one that was made last, if it is that.
  void make_constant(const Step& step, std::span<const double> numbers) {
    LastConstant& last = graph_.constants_[static_cast<size_t>(step.constant)];
    const double number = step.number >= 0 ? numbers[static_cast<size_t>(step.number)] : 0;
    if (!last.node || std::bit_cast<uint64_t>(number) != std::bit_cast<uint64_t>(last.number)) {
      const Constant value = step.number >= 0 ? constant(step.dtype, number) : Constant{step.dtype, step.bits};
      const NodeKey key{step.op, step.dtype, step.device, value.bits, {}, {}, step.shape, step.numel};
      late_.push_back(table_.find_or_create(key));
      std::swap(last.node, late_.back());
      last.number = number;
      last.plain = step.number < 0 || is_plain(to_double(value));
    }
    made_[count_] = last.node.get();
    table_.count_up(*made_[count_], graph_.uses_[count_]);
    known_[count_++] = last.plain;
  }

  Node* ask_rules(NodeKey key) {
    late_.reserve(late_.size() + inputs_.size() + 1);
    const std::vector<NodeRef> inputs(inputs_.begin(), inputs_.end());
    key.inputs = inputs;
    NodeRef node = folded(table_, key, {key.dtype, key.shape, key.numel});
    table_.count_up(*node, graph_.uses_[count_]);
    late_.push_back(node);
    for (Node* input : inputs_) late_.push_back(NodeTable::adopt(input));
    return node.get();
  }

  const Template& graph_;
  NodeTable& table_;
  Node** made_;     // the operands and the steps so far
  uint8_t* known_;  // parallel to them: whether rules see in it what they saw in the template's
  size_t count_ = 0;
  SmallVector<Node*, 48> nodes_;
  SmallVector<uint8_t, 48> flags_;
  SmallVector<Node*, 4> inputs_;  // of the step
  std::vector<NodeRef>& late_;    // references to be dropped when the lock is open
};

void Template::make(std::span<const NodeRef> operands, std::span<const double> numbers, std::vector<NodeRef>& outputs) const {
  outputs.reserve(outputs.size() + outputs_.size());
  NodeTable& table = NodeTable::get();
  std::vector<NodeRef> late;  // they and what only they keep die when the lock is open
  const std::scoped_lock lock(table.mutex);
  const NodeTable::Fresh fresh(table);
  Making making(*this, table, operands, late);
  try {
    for (const Step& step : steps_) making.make(step, numbers);
  } catch (...) {
    making.give_up();
    throw;
  }
  for (uint32_t output : outputs_) outputs.push_back(making.output(output));
}

}  // namespace tenon::ir
