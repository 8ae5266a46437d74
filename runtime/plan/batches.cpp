// Values by age, the operands of each that are not in a batch yet, then what crosses from batch to batch.
#include "runtime/plan/batches.h"

#include <algorithm>

#include "runtime/memory/buffer.h"
#include "runtime/plan/analysis.h"
#include "runtime/plan/repeats.h"

namespace tenon::runtime {
namespace {

using ir::Node;
using ir::NodeRef;
using ir::Op;

constexpr size_t kFewNodes = 8;            // of a value: so many in a batch are planned at once
constexpr int64_t kSmallBytes = 64 << 10;  // copying so much costs no more than to plan for it

class Batches {
 public:
  Batches(const GraphKey& key, int64_t size) : key_(key), size_(static_cast<size_t>(size)), least_(size_ * kFewestBatches) {}

  std::vector<std::vector<NodeRef>> cut() {
    is_value_.assign(key_.nodes.size(), false);
    find_values();
    const bool many_values = values_.size() >= least_;
    if (!(many_values && key_.nodes.size() <= kFewNodes * values_.size()) && cut_rounds()) return take_values();
    if (!many_values) return {};
    // An operand is older than what it is an operand of, so it is in the same batch or in one before.
    std::sort(values_.begin(), values_.end(), [](const Node* a, const Node* b) { return a->id() < b->id(); });
    batch_.assign(key_.nodes.size(), -1);
    for (size_t i = 0; i < values_.size(); ++i) {
      if (i % size_ == 0) result_.emplace_back();
      result_.back().emplace_back(values_[i]);
      take_in(values_[i]);
    }
    add_crossing();
    return std::move(result_);
  }

 private:
  // Cuts a loop that the program recorded round after round between its rounds. False if there is none to speak of.
  bool cut_rounds() {
    std::vector<const Node*> ordered;
    for (const Node* node : key_.nodes) {
      if (!node->is_leaf()) ordered.push_back(node);
    }
    std::sort(ordered.begin(), ordered.end(), [](const Node* a, const Node* b) { return a->id() < b->id(); });
    std::vector<size_t> begins{0};
    size_t repeated = 0;
    for (const Repeat& repeat : find_repeats(ordered)) {
      if (!is_small(ordered, repeat)) continue;
      repeated += repeat.period * repeat.count;
      cut(repeat, begins);
    }
    if (2 * repeated < ordered.size()) return false;
    begins.push_back(ordered.size());
    batch_.assign(key_.nodes.size(), -1);
    for (size_t b = 0; b + 1 < begins.size(); ++b) {
      for (size_t i = begins[b]; i < begins[b + 1]; ++i) batch_[number(ordered[i])] = static_cast<int32_t>(b);
    }
    result_.resize(begins.size() - 1);
    return true;
  }

  // Rounds together as long as they are few nodes; what is left over by quarters, so that other numbers of rounds find all plans.
  void cut(const Repeat& repeat, std::vector<size_t>& begins) const {
    size_t together = 1;
    while (2 * together * repeat.period <= size_) together *= 2;
    size_t at = repeat.begin;
    for (size_t left = repeat.count; left > 0; left -= together) {
      while (together > left) together = std::max<size_t>(together / 4, 1);
      if (at != begins.back()) begins.push_back(at);
      at += together * repeat.period;
    }
    begins.push_back(at);
  }

  // Storing what crosses a cut costs less than planning for it.
  static bool is_small(const std::vector<const Node*>& nodes, const Repeat& repeat) {
    int64_t bytes = 0;
    for (size_t i = repeat.begin; i < repeat.begin + repeat.period; ++i) bytes += bytes_of(*nodes[i]);
    return bytes <= kSmallBytes * static_cast<int64_t>(repeat.period);
  }

  std::vector<std::vector<NodeRef>> take_values() {
    for (Node* value : values_) result_[std::max(batch(value), 0)].emplace_back(value);  // a constant goes anywhere
    add_crossing();
    std::erase_if(result_, [](const auto& roots) { return roots.empty(); });
    return std::move(result_);
  }

  void add_crossing() {
    std::vector<Node*> crossing;
    std::vector<bool> seen(key_.nodes.size(), false);
    for (const Node* node : key_.nodes) {
      for (Node* operand : node->inputs()) {
        if (operand->is_leaf() || batch(operand) >= batch(node) || is_value_[number(operand)] || seen[number(operand)]) continue;
        seen[number(operand)] = true;
        crossing.push_back(operand);
      }
    }
    std::vector<int64_t> sliced(key_.nodes.size(), 0);  // elements of a value that cross as slices of it
    for (Node* operand : crossing) {
      if (const Node* slice = slice_below(operand)) sliced[number(slice->inputs()[0])] += slice->numel();
    }
    for (Node* operand : crossing) {
      const Node* slice = slice_below(operand);
      Node* source = slice ? slice->inputs()[0] : nullptr;
      add_value(source && 2 * sliced[number(source)] >= source->numel() ? source : stored_for(operand));
    }
  }

  // The slice that the operand is, perhaps reshaped; or null.
  static const Node* slice_below(const Node* operand) {
    while (operand->op() == Op::Reshape) operand = operand->inputs()[0];
    return operand->op() == Op::Slice && !operand->inputs()[0]->is_leaf() ? operand : nullptr;
  }

  // Roots, what the program holds, and the small operands of a wide Cat: otherwise they would be written where they belong.
  void find_values() {
    const auto value = [&](Node* node) {
      if (!node || node->op() == Op::Input || is_value_[number(node)]) return;
      is_value_[number(node)] = true;
      values_.push_back(node);
    };
    for (int32_t root : key_.roots) value(key_.nodes[root]);
    for (int32_t shared : key_.shared) value(key_.nodes[shared]);
    for (Node* node : key_.nodes) {
      if (!node->is_leaf() && node->holders.load(std::memory_order_relaxed) > 0) value(stored_for(node));
      if (node->op() != Op::Cat || node->inputs().size() < least_) continue;
      for (Node* operand : node->inputs()) {
        if (bytes_of(*operand) <= kSmallBytes && !operand->is_leaf() && stored_for(operand)) value(operand);
      }
    }
  }

  void take_in(Node* value) {
    std::vector<Node*> stack{value};
    while (!stack.empty()) {
      Node* node = stack.back();
      stack.pop_back();
      if (node->is_leaf() || batch(node) >= 0) continue;
      batch_[number(node)] = static_cast<int32_t>(result_.size()) - 1;
      for (Node* operand : node->inputs()) stack.push_back(operand);
    }
  }

  void add_value(Node* node) {
    if (!node || is_value_[number(node)]) return;
    is_value_[number(node)] = true;
    result_[batch(node)].emplace_back(node);
  }

  size_t number(const Node* node) const { return static_cast<size_t>(key_.number(node)); }
  int32_t batch(const Node* node) const { return batch_[number(node)]; }

  const GraphKey& key_;
  const size_t size_, least_;
  std::vector<bool> is_value_;  // by number
  std::vector<Node*> values_;
  std::vector<int32_t> batch_;  // by number; -1: a leaf
  std::vector<std::vector<NodeRef>> result_;
};

}  // namespace

std::vector<std::vector<NodeRef>> batches_of(const GraphKey& key, int64_t size) {
  if (size == 0 || key.nodes.size() < static_cast<size_t>(size * kFewestBatches)) return {};
  return Batches(key, size).cut();
}

}  // namespace tenon::runtime
