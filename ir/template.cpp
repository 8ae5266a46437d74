// Noting a graph, and making it again.
#include "ir/template.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <memory>
#include <new>

#include "ir/fold.h"
#include "ir/graph_map.h"
#include "ir/node_table.h"
#include "ir/recipe.h"

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
    Step step{node->op(), node->dtype(), node->device(), has_trait(node->op(), TraitCommutes), -1, node->bits(), node->numel(),
              node->shape(), node->ints(), {}};
    for (const Node* input : node->inputs()) step.inputs.push_back(numbers.at(input));
    most_inputs_ = std::max(most_inputs_, step.inputs.size());
    numbers[node] = static_cast<uint32_t>(operand_count_ + steps_.size());
    steps_.push_back(std::move(step));
  }
  for (const NodeRef& output : outputs) outputs_.push_back(output ? numbers.at(output.get()) : kUndefined);
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
      const bool is_it = step.bits == constant(step.dtype, numbers[i]).bits &&
                         other.steps_[s].bits == constant(step.dtype, other_numbers[i]).bits;
      if (is_it) step.number = static_cast<int32_t>(i);
    }
    if (step.number < 0) return false;
  }
  return true;
}

namespace {

// References that others own, as a key wants them: they are not counted.
class Borrowed {
 public:
  explicit Borrowed(size_t most) {
    if (most > std::size(few_)) refs_ = (many_ = std::make_unique<Place[]>(most)).get();
  }
  void clear() { count_ = 0; }
  void add(const NodeRef& owned) { new (&refs_[count_++].ref) NodeRef(NodeTable::adopt(owned.get())); }
  std::span<NodeRef> refs() { return {&refs_->ref, count_}; }

 private:
  union Place {
    Place() {}
    ~Place() {}  // ends no reference
    NodeRef ref;
  };
  static_assert(sizeof(Place) == sizeof(NodeRef));
  Place few_[4];
  std::unique_ptr<Place[]> many_;
  Place* refs_ = few_;
  size_t count_ = 0;
};

// Whether the rules make nothing special of such a number.
bool is_plain(double value) {
  int exponent;
  return std::isfinite(value) && value != 0 && std::fabs(std::frexp(value, &exponent)) != 0.5;
}

// Two operands that are one node, and were two in the template.
bool any_joined(std::span<const NodeRef> nodes, const SmallVector<uint32_t, 3>& inputs) {
  for (size_t i = 1; i < nodes.size(); ++i) {
    for (size_t k = 0; k < i; ++k) {
      if (nodes[i] == nodes[k] && inputs[i] != inputs[k]) return true;
    }
  }
  return false;
}

}  // namespace

void Template::make(std::span<const NodeRef> operands, std::span<const double> numbers, std::vector<NodeRef>& outputs) const {
  std::vector<NodeRef> made;  // they and what only they keep die when the lock is open
  made.reserve(operand_count_ + steps_.size());
  made.assign(operands.begin(), operands.end());
  SmallVector<uint8_t, 64> known;  // whether rules see in it what they saw in the template's
  for (const NodeRef& operand : operands) known.push_back(!rules_look_at(operand->op()));
  Borrowed inputs(most_inputs_);
  NodeTable& table = NodeTable::get();
  const std::scoped_lock lock(table.mutex);
  const NodeTable::Fresh fresh(table);
  for (const Step& step : steps_) {
    inputs.clear();
    bool all_known = true;
    for (uint32_t input : step.inputs) {
      inputs.add(made[input]);
      all_known = all_known && known[input];
    }
    uint64_t bits = step.bits;
    if (step.number >= 0) {
      bits = constant(step.dtype, numbers[static_cast<size_t>(step.number)]).bits;
      all_known = is_plain(to_double({step.dtype, bits}));
    }
    all_known = all_known && !any_joined(inputs.refs(), step.inputs);
    const NodeKey key{step.op, step.dtype, step.device, bits, inputs.refs(), step.ints, step.shape, step.numel};
    if (all_known || step.inputs.empty()) {
      if (step.commutes && !NodeTable::in_order(inputs.refs())) std::swap(inputs.refs()[0], inputs.refs()[1]);
      made.push_back(table.find_or_create(key));
    } else {
      made.push_back(folded(table, key, {step.dtype, step.shape, step.numel}));
    }
    known.push_back(all_known);
  }
  outputs.reserve(outputs.size() + outputs_.size());
  for (uint32_t output : outputs_) outputs.push_back(output == kUndefined ? NodeRef() : made[output]);
  for (NodeRef& node : made) fresh.let_go(node);
}

}  // namespace tenon::ir
