// Whole graphs of nodes, and the short ways to make a node of each kind.
#include "ir/graph/graph.h"

#include <algorithm>

#include "ir/graph/graph_map.h"

namespace tenon::ir {

NodeRef unary(Op op, NodeRef x) { return make_node_given(op, {&x, 1}); }

NodeRef binary(Op op, NodeRef a, NodeRef b) {
  NodeRef operands[] = {std::move(a), std::move(b)};
  return make_node_given(op, operands);
}

NodeRef where(NodeRef condition, NodeRef a, NodeRef b) {
  NodeRef operands[] = {std::move(condition), std::move(a), std::move(b)};
  return make_node_given(Op::Where, operands);
}

// These three often change nothing: then the reference goes through them, without a key and without counting.
NodeRef cast(NodeRef x, DType to) {
  if (x->dtype() == to) return x;
  return make_node_given(Op::Cast, {&x, 1}, {}, to);
}

NodeRef reshape(NodeRef x, std::span<const int64_t> shape) {
  if (std::ranges::equal(x->shape(), shape)) return x;
  return make_node_given(Op::Reshape, {&x, 1}, shape);
}

NodeRef expand(NodeRef x, std::span<const int64_t> shape) {
  if (std::ranges::equal(x->shape(), shape)) return x;
  return make_node_given(Op::Expand, {&x, 1}, shape);
}

NodeRef reduce(Op op, const NodeRef& x, std::span<const int64_t> dims) { return make_node(op, {&x, 1}, dims); }

NodeRef permute(const NodeRef& x, std::span<const int64_t> dims) { return make_node(Op::Permute, {&x, 1}, dims); }

NodeRef slice(const NodeRef& x, std::span<const int64_t> starts, std::span<const int64_t> steps, std::span<const int64_t> sizes) {
  SmallVector<int64_t, 12> ints;
  for (const auto part : {starts, steps, sizes}) ints.append(part.data(), part.size());
  return make_node(Op::Slice, {&x, 1}, ints);
}

NodeRef flip(const NodeRef& x, std::span<const int64_t> dims) { return make_node(Op::Flip, {&x, 1}, dims); }

NodeRef pad(const NodeRef& x, const NodeRef& value, std::span<const int64_t> lo, std::span<const int64_t> hi) {
  SmallVector<int64_t, 12> ints;
  for (const auto part : {lo, hi}) ints.append(part.data(), part.size());
  const NodeRef inputs[] = {x, value};
  return make_node(Op::Pad, inputs, ints);
}

NodeRef cat(std::span<const NodeRef> parts, int64_t dim) { return make_node(Op::Cat, parts, {&dim, 1}); }

NodeRef strided(const NodeRef& x, std::span<const int64_t> sizes, std::span<const int64_t> strides, int64_t offset) {
  SmallVector<int64_t, 12> ints;
  for (const auto part : {sizes, strides}) ints.append(part.data(), part.size());
  ints.push_back(offset);
  return make_node(Op::Strided, {&x, 1}, ints);
}

NodeRef update(const NodeRef& base, const NodeRef& value, std::span<const int64_t> strides, int64_t offset) {
  SmallVector<int64_t, 12> ints;
  ints.append(strides.data(), strides.size());
  ints.push_back(offset);
  const NodeRef inputs[] = {base, value};
  return make_node(Op::Update, inputs, ints);
}

NodeRef gather(const NodeRef& x, const NodeRef& index, int64_t dim) {
  const NodeRef inputs[] = {x, index};
  return make_node(Op::Gather, inputs, {&dim, 1});
}

NodeRef scatter(Op op, const NodeRef& base, const NodeRef& index, const NodeRef& value, int64_t dim) {
  const NodeRef inputs[] = {base, index, value};
  return make_node(op, inputs, {&dim, 1});
}

NodeRef scan(Op op, const NodeRef& x, int64_t dim) { return make_node(op, {&x, 1}, {&dim, 1}); }

NodeRef sort(const NodeRef& x, int64_t dim, bool descending) {
  const int64_t ints[] = {dim, descending};
  return make_node(Op::Sort, {&x, 1}, ints);
}

NodeRef sort_part(const NodeRef& x, int64_t dim, bool descending, int64_t first, int64_t count) {
  const int64_t ints[] = {dim, descending, first, count};
  return make_node(Op::SortPart, {&x, 1}, ints);
}

NodeRef nonzero(const NodeRef& mask, int64_t count) { return make_node(Op::Nonzero, {&mask, 1}, {&count, 1}); }

NodeRef compress(const NodeRef& x, const NodeRef& mask, int64_t count) {
  const NodeRef inputs[] = {x, mask};
  return make_node(Op::Compress, inputs, {&count, 1});
}

NodeRef scatter_mask(const NodeRef& base, const NodeRef& mask, const NodeRef& value) {
  const NodeRef inputs[] = {base, mask, value};
  return make_node(Op::ScatterMask, inputs);
}

NodeRef dot(const NodeRef& a, const NodeRef& b) { return binary(Op::Dot, a, b); }

// --- whole graphs

std::vector<Node*> topological_order(std::span<const NodeRef> roots) {
  struct Visit {
    Node* node;
    size_t next;  // the operand to look at next
  };
  std::vector<Node*> order;
  std::vector<Visit> stack;
  NodeMap<char> seen;
  seen.reserve(roots.size());
  order.reserve(roots.size());
  for (const NodeRef& root : roots) {
    if (seen.insert(root.get()).second) stack.push_back({root.get(), 0});
    while (!stack.empty()) {
      Visit& visit = stack.back();
      if (visit.next == visit.node->inputs().size()) {
        order.push_back(visit.node);
        stack.pop_back();
        continue;
      }
      Node* operand = visit.node->inputs()[visit.next++];
      if (seen.insert(operand).second) stack.push_back({operand, 0});
    }
  }
  return order;
}

Graph Graph::of(std::span<const NodeRef> outputs, std::string name) {
  Graph graph;
  graph.name = std::move(name);
  graph.outputs.assign(outputs.begin(), outputs.end());
  const std::vector<Node*> order = topological_order(outputs);
  graph.nodes.reserve(order.size());
  for (Node* node : order) {
    graph.nodes.emplace_back(node);
    if (node->op() == Op::Input) graph.inputs.emplace_back(node);
  }
  graph.names.resize(graph.nodes.size());
  return graph;
}

}  // namespace tenon::ir
