// Values by age, the operands of each that are not in a batch yet, then what crosses from batch to batch.
#include "runtime/batches.h"

#include <algorithm>

#include "runtime/analysis.h"

namespace tenon::runtime {
namespace {

using ir::Node;
using ir::NodeRef;
using ir::Op;

constexpr int64_t kSmallBytes = 64 << 10;  // copying so much costs no more than to plan for it

class Batches {
 public:
  Batches(const GraphKey& key, int64_t size)
      : key_(key), size_(static_cast<size_t>(size)), least_(size_ * kFewestBatches) {}

  std::vector<std::vector<NodeRef>> cut() {
    if (key_.nodes.size() < least_) return {};
    is_value_.assign(key_.nodes.size(), false);
    find_values();
    if (values_.size() < least_) return {};
    // An operand is older than what it is an operand of, so it is in the same batch or in one before.
    std::sort(values_.begin(), values_.end(), [](const Node* a, const Node* b) { return a->id() < b->id(); });
    batch_.assign(key_.nodes.size(), -1);
    for (size_t i = 0; i < values_.size(); ++i) {
      if (i % size_ == 0) result_.emplace_back();
      result_.back().emplace_back(values_[i]);
      take_in(values_[i]);
    }
    for (const Node* node : key_.nodes) {
      for (Node* operand : node->inputs()) {
        if (!operand->is_leaf() && batch(operand) < batch(node) && !is_value_[number(operand)]) add_value(stored_for(operand));
      }
    }
    return std::move(result_);
  }

 private:
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
        const bool small = operand->numel() * ir::item_size(operand->dtype()) <= kSmallBytes;
        if (small && !operand->is_leaf() && stored_for(operand)) value(operand);
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
  std::vector<bool> is_value_;    // by number
  std::vector<Node*> values_;
  std::vector<int32_t> batch_;    // by number; -1: a leaf
  std::vector<std::vector<NodeRef>> result_;
};

}  // namespace

std::vector<std::vector<NodeRef>> batches_of(const GraphKey& key, int64_t size) {
  if (size == 0) return {};
  return Batches(key, size).cut();
}

}  // namespace tenon::runtime
