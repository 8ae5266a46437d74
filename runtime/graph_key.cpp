// One iterative walk that numbers the nodes and writes the key.
#include "runtime/graph_key.h"

#include <stdexcept>
#include <string>

namespace tenon::runtime {
namespace {

using ir::Node;
using ir::Op;

enum Flag : uint64_t { kHeld = 1, kBitsFollow = 2 };

// Marks of the runtime have the top bit set, so that they never meet the counters of other traversals.
uint64_t next_epoch() {
  static uint64_t epoch = uint64_t{1} << 63;
  return ++epoch;
}

}  // namespace

bool changes_code(ir::DType dtype, uint64_t bits) {
  if (bits == 0 || dtype == ir::DType::Bool) return true;
  double value = ir::to_double({dtype, bits});
  return value == 0 || value == 1 || value == -1;
}

void GraphKey::read(std::span<const ir::NodeRef> given, uint64_t salt, bool inputs_have_data) {
  nodes.clear();
  roots.clear();
  words.clear();
  stack_.clear();
  pending = false;
  inputs_have_data_ = inputs_have_data;
  epoch_ = next_epoch();
  words.push_back(salt);
  for (const ir::NodeRef& root : given) {
    if (!root) throw std::runtime_error("evaluate: an undefined tensor");
    pending = pending || root->op() != Op::Input || !root->payload();
    if (root->mark != epoch_) {
      root->mark = epoch_;
      root->mark_value = -1;
      stack_.push_back({root.get(), 0});
    }
    while (!stack_.empty()) {
      Visit& visit = stack_.back();
      if (visit.next == visit.node->inputs().size()) {
        Node* node = visit.node;
        stack_.pop_back();
        finish(node);
        continue;
      }
      Node* operand = visit.node->inputs()[visit.next++];
      if (operand->mark == epoch_) continue;
      operand->mark = epoch_;
      operand->mark_value = -1;
      stack_.push_back({operand, 0});
    }
    roots.push_back(root->mark_value);
  }
  for (int32_t root : roots) words.push_back(static_cast<uint64_t>(root));
}

void GraphKey::finish(Node* node) {
  node->mark_value = static_cast<int32_t>(nodes.size());
  nodes.push_back(node);
  bool leaf = node->is_leaf();
  if (leaf) check_leaf(*node);

  uint64_t flags = 0;
  if (!leaf && node->holders.load(std::memory_order_relaxed) > 0) flags |= kHeld;
  bool with_bits = node->op() == Op::Const && changes_code(node->dtype(), node->bits());
  if (with_bits) flags |= kBitsFollow;
  const ir::Dims& ints = node->ints();
  words.push_back(static_cast<uint64_t>(node->op()) | static_cast<uint64_t>(node->dtype()) << 8 |
                  uint64_t{static_cast<uint8_t>(node->device())} << 16 | flags << 24);
  words.push_back(node->inputs().size() | (leaf ? node->shape().size() : ints.size()) << 32);
  for (const Node* input : node->inputs()) words.push_back(static_cast<uint64_t>(input->mark_value));
  for (int64_t value : ints) words.push_back(static_cast<uint64_t>(value));
  if (leaf) {
    for (int64_t extent : node->shape()) words.push_back(static_cast<uint64_t>(extent));
  }
  if (with_bits) words.push_back(node->bits());
  if (node->op() == Op::Pad) words.push_back(node->inputs()[1]->bits());
}

void GraphKey::check_leaf(const Node& node) const {
  if (inputs_have_data_ && node.op() == Op::Input && !node.payload()) {
    throw std::runtime_error("evaluate: the graph has an input without data");
  }
  if (node.device() != 0) {
    throw std::runtime_error("evaluate: device " + std::to_string(node.device()) + " is not available");
  }
}

int32_t GraphKey::number(const Node* node) const { return node->mark == epoch_ ? node->mark_value : -1; }

}  // namespace tenon::runtime
