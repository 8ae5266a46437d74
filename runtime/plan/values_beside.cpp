// Pending values that the program holds beside a graph, and that read what the graph computes on its way. So that nothing is
// computed twice, such a value is computed too if that takes no more than a pass over what is there. What the others read is stored.
//
//   c' = f * c + i * g       asked for: h'. The program holds a view of c': it is computed as well
//   h' = o * tanh(c')
//
//   y = x @ w                asked for: y.sum(). The program holds y @ v, a product: y is stored
#include <algorithm>

#include "ir/graph/graph_map.h"
#include "ir/graph/node.h"
#include "runtime/plan/analysis.h"
#include "runtime/plan/graph_key.h"

namespace tenon::runtime {
namespace {

using ir::Node;
using ir::Op;

bool is_held(const Node& node) { return node.holders.load(std::memory_order_relaxed) > 0; }
bool is_light(Op op) { return ir::is_elementwise(op) || ir::is_movement(op) || ir::is_reduce(op); }

}  // namespace

// A pending node that is not in the graph.
struct GraphKey::ValueBeside {
  Node* node;
  bool reads = false;   // a value of the graph that is not stored, at once or through values that are not held
  bool light = false;   // takes no more than a pass over such values, and needs nothing else that is pending
  bool needed = false;  // is held, or read by one that is, and stays pending
  int64_t width = 0;    // elements of what it reads of the graph
};

struct GraphKey::ValuesBeside {
  std::vector<ValueBeside> values;  // those that read, the older first
  ir::NodeMap<size_t> numbers;

  ValueBeside* find(const Node* node) {
    const size_t* number = numbers.find(node);
    return number ? &values[*number] : nullptr;
  }
  void add(const ValueBeside& value) {
    numbers[value.node] = values.size();
    values.push_back(value);
  }
};

// Tells what is computed too, and fills `shared`.
void GraphKey::find_beside() {
  if (ir::pending_count() == operations_) return;  // nothing else is pending
  const Node* first = first_needed_elsewhere();
  if (!first) return;
  note_stored();
  const auto graph = ir::hold_graph();
  ValuesBeside all;
  for (Node* node = ir::next_pending(*first); node; node = ir::next_pending(*node)) {
    if (node->mark != epoch_) look_at(node, all);
  }
  for (const ir::NodeRef& node : beside_) walk(node.get());
  if (!beside_.empty()) note_stored();
  for (size_t i = all.values.size(); i-- > 0;) {
    if (all.values[i].needed) share_operands(*all.values[i].node, all);
  }
}

// The first node by creation that may still have another reader: its references are more than its readers, gradients and roots
// explain. Mostly there is none.
const Node* GraphKey::first_needed_elsewhere() {
  count_readers(readers_);
  for (int32_t root : roots) ++readers_[root];
  const Node* first = nullptr;
  for (size_t i = 0; i < nodes.size(); ++i) {
    const Node& node = *nodes[i];
    if (node.is_leaf() || is_held(node)) continue;
    const auto wanted = static_cast<uint32_t>(node.wanted.load(std::memory_order_relaxed));
    if (node.references() > readers_[i] + wanted && (!first || node.id() < first->id())) first = &node;
  }
  return first;
}

void GraphKey::note_stored() {
  stored_.assign(nodes.size(), false);
  std::vector<bool> asked(nodes.size(), false);  // a root is stored as it is, and no node in its place
  for (int32_t root : roots) asked[root] = stored_[root] = true;
  for (Node* node : nodes) {
    if (node->is_leaf() || !is_held(*node) || asked[node->mark_value]) continue;
    if (const Node* stored = stored_for(node)) stored_[stored->mark_value] = true;
  }
}

// Whether a node of the graph will be there without being computed again.
bool GraphKey::is_stored(const Node* node) const {
  while (!node->is_leaf() && !stored_[node->mark_value]) {
    if (!is_view(*node)) return false;
    node = node->inputs()[0];
  }
  return true;
}

void GraphKey::look_at(Node* node, ValuesBeside& all) {
  ValueBeside value{node};
  value.light = is_light(node->op());
  for (const Node* input : node->inputs()) {
    int64_t width = 0;
    if (input->mark == epoch_ && !input->is_leaf()) {
      width = input->numel();
      value.reads = value.reads || !is_stored(input);
    } else if (const ValueBeside* other = all.find(input)) {
      width = other->width;
      value.reads = value.reads || other->reads;
      value.light = value.light && other->light;
    } else {
      value.light = value.light && input->is_leaf() && (input->op() != Op::Input || input->payload());
    }
    value.width = node->op() == Op::Cat ? value.width + width : std::max(value.width, width);
  }
  if (!value.reads) return;
  value.light = value.light && node->numel() <= value.width;
  if (is_held(*node)) {  // its readers find it stored, or still have to wait for it
    value.reads = false;
    value.needed = !value.light;
    value.width = node->numel();
    if (value.light) beside_.push_back(ir::reference_to(*node));
    if (value.light && !beside_.back()) beside_.pop_back();
  }
  all.add(value);
}

void GraphKey::share_operands(const Node& node, ValuesBeside& all) {
  for (Node* input : node.inputs()) {
    if (input->mark != epoch_) {
      if (ValueBeside* other = all.find(input)) other->needed = true;
    } else if (!input->is_leaf() && !is_stored(input)) {
      const int32_t stored = stored_for(input)->mark_value;
      stored_[stored] = true;
      shared.push_back(stored);
    }
  }
}

}  // namespace tenon::runtime
