// Products are stored as they are read. A product is computed transposed if only its transpose is read, as the gradient of keys that
// were transposed for their product with queries:
//
//   %d = dot %a, %b : f32[16,64]                   %0 = permute %b [1,0] : f32[64,32]
//   %t = permute %d [1,0] : f32[64,16]      ->     %1 = permute %a [1,0] : f32[32,16]
//   return %t                                      %2 = dot %0, %1 : f32[64,16]
//                                                  return %2
//
// A product whose dims are only read in another order and joined, as the heads of an attention are, is stored in that order: the cast
// to its own type is an operation that takes the product in. A reader then finds rows, and divides no index.
//
//   %d = dot %a, %b : f32[4,64,16]                 %d = dot %a, %b : f32[4,64,16]
//   %p = permute %d [1,0,2] : f32[64,4,16]  ->     %p = permute %d [1,0,2] : f32[64,4,16]
//   %r = reshape %p [64,64] : f32[64,64]           %s = cast %p : f32[64,4,16]
//                                                  %r = reshape %s [64,64] : f32[64,64]
#include <algorithm>
#include <numeric>
#include <utility>

#include "ir/graph/graph_map.h"
#include "passes/graph/rebuild_graph.h"
#include "passes/passes.h"

namespace tenon::passes {
namespace {

using ir::Node, ir::NodeRef, ir::Op;

bool is_view_of_product(const Node& node) { return node.op() == Op::Permute && node.inputs()[0]->op() == Op::Dot; }

int64_t rank(const Node& node) { return static_cast<int64_t>(node.shape().size()); }

// Whether the columns of a product are the rows of this view of it.
bool turns(const Node& node) { return is_view_of_product(node) && node.ints().back() == rank(node) - 2; }

// The last two dims exchanged.
NodeRef turned(const NodeRef& x) {
  ir::Dims order(x->shape().size(), 0);
  std::iota(order.begin(), order.end(), int64_t{0});
  std::swap(order[order.size() - 2], order[order.size() - 1]);
  return ir::permute(x, order);
}

// The view of `product` in which only its transpose is read, as one of the transposed product.
NodeRef view_of_turned(const Node& view, const Node& product) {
  ir::Dims order(view.ints());
  const int64_t last = rank(view) - 1;
  for (int64_t& dim : order) dim = dim == last ? last - 1 : dim == last - 1 ? last : dim;
  return ir::permute(ir::dot(turned(NodeRef(product.inputs()[1])), turned(NodeRef(product.inputs()[0]))), order);
}

// Whether a reshape of a permuted product, which has no other readers, is better read from a copy in its order.
bool wants_rows(const Node& node, const Readers& readers) {
  if (node.op() != Op::Reshape || !is_view_of_product(*node.inputs()[0])) return false;
  const Node &view = *node.inputs()[0], &product = *view.inputs()[0];
  if (view.ints().back() != rank(view) - 1 || readers.at(&product).size() > 1) return false;
  return all_readers(readers, &view, [](const Node& reader) { return reader.op() == Op::Reshape && joins_moved_dims(reader); });
}

// A permutation of a product, perhaps with dims of size 1 that came or went in between, as one of the product itself that has such dims
// in front, and a reshape.
NodeRef with_ones_first(const Node& view, const NodeRef& source) {
  NodeRef product = source;
  if (source->op() == Op::Reshape) product = NodeRef(source->inputs()[0]);
  if (product->op() != Op::Dot || !same_but_for_ones(source->shape(), product->shape())) return {};
  const ir::Dims from = long_dims(source->shape()), to = long_dims(product->shape());
  ir::Dims order;
  for (int64_t d = 0; d < rank(*product); ++d) {
    if (product->shape()[d] == 1) order.push_back(d);
  }
  for (const int64_t dim : view.ints()) {
    const auto it = std::ranges::find(from, dim);
    if (it != from.end()) order.push_back(to[it - from.begin()]);
  }
  return ir::reshape(ir::permute(product, order), view.shape());
}

ir::Graph put_ones_first(const ir::Graph& graph) {
  return rebuild(graph, [&](const Node& node, std::span<const NodeRef> operands) {
    if (node.op() == Op::Reshape) return ir::reshape(operands[0], node.shape());
    const NodeRef view = node.op() == Op::Permute ? with_ones_first(node, operands[0]) : NodeRef();
    return view ? view : remake_as_is(node, operands);
  });
}

ir::Graph turn_products(const ir::Graph& graph) {
  const Readers readers = readers_of(graph);
  return rebuild(graph, [&](const Node& node, std::span<const NodeRef> operands) {
    const bool better = turns(node) && all_readers(readers, node.inputs()[0], turns);
    return better ? view_of_turned(node, *operands[0]) : remake_as_is(node, operands);
  });
}

ir::Graph copy_into_rows(const ir::Graph& graph) {
  const Readers readers = readers_of(graph);
  return rebuild(graph, [&](const Node& node, std::span<const NodeRef> operands) {
    if (!wants_rows(node, readers)) return remake_as_is(node, operands);
    return ir::reshape(copied(operands[0]), node.shape());
  });
}

}  // namespace

ir::Graph lay_out_products(const ir::Graph& graph) {
  const auto moves_product = [](const NodeRef& node) {
    if (node->op() != Op::Permute) return false;
    const Node* source = node->inputs()[0];
    return (source->op() == Op::Reshape ? source->inputs()[0] : source)->op() == Op::Dot;
  };
  if (std::ranges::none_of(graph.nodes, moves_product)) return graph;
  return copy_into_rows(turn_products(put_ones_first(graph)));
}

}  // namespace tenon::passes
