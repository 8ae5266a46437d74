// The graph: immutable, hash-consed nodes of tensor operations. Making a node checks it, infers its type and
// shape, folds algebraic identities and finds an equal node that already exists, so common subexpressions
// never arise.
//
//   graph @softmax(%x: f32[4096,1024]) {
//     %m = reduce.max %x dims=[1] : f32[4096,1]
//     %1 = expand %m [4096,1024] : f32[4096,1024]
//     %2 = sub %x, %1 : f32[4096,1024]
//     ...
//     return %5
//   }
//
// Broadcasting is explicit: the operands of an elementwise node have its shape. Every function is
// thread-safe.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ir/graph/node.h"

namespace tenon::ir {

// --- building
// All throw IrError if the operation is malformed (the frontend has checked the user's call with PyTorch's
// words).

// Off: neither identities nor constants fold; equal nodes are still shared. Unshared: not even those.
enum class Folding : uint8_t { On, Off, Unshared };

NodeRef make_input(DType dtype, std::span<const int64_t> shape, std::shared_ptr<Payload> payload = nullptr,
                   DeviceTag device = 0);  // never shared with another input
// An input of memory that others than this graph's evaluation may write at any time.
NodeRef make_volatile_input(DType dtype, std::span<const int64_t> shape, std::shared_ptr<Payload> payload, DeviceTag device = 0);
NodeRef make_const(Constant value, std::span<const int64_t> shape, DeviceTag device = 0);
NodeRef make_iota(std::span<const int64_t> shape, int64_t dim, DeviceTag device = 0);
// Any other graph op. `ints` as in ops.def; `to` is the result dtype of Cast and Bitcast.
NodeRef make_node(Op op, std::span<const NodeRef> inputs, std::span<const int64_t> ints = {}, DType to = DType::F32,
                  Folding folding = Folding::On);
// The same, of operands that the caller gives up: a new node takes the references over, and counts none of its own.
NodeRef make_node_given(Op op, std::span<NodeRef> operands, std::span<const int64_t> ints = {}, DType to = DType::F32);
// The operation of `node` on other operands; nothing folds.
NodeRef make_like(const Node& node, std::span<const NodeRef> operands);
// The same operation where it is known already that `equal` has its bits: that node, unless the tape must tell the two apart.
NodeRef make_equal(const NodeRef& equal, Op op, std::span<const NodeRef> inputs, std::span<const int64_t> ints);

// Conveniences over make_node. Operands by value are given up.
NodeRef unary(Op op, NodeRef x);
NodeRef binary(Op op, NodeRef a, NodeRef b);
NodeRef where(NodeRef condition, NodeRef a, NodeRef b);
NodeRef cast(NodeRef x, DType to);
NodeRef reduce(Op op, const NodeRef& x, std::span<const int64_t> dims);  // keeps the dims with size 1
NodeRef reshape(NodeRef x, std::span<const int64_t> shape);
NodeRef permute(const NodeRef& x, std::span<const int64_t> dims);
NodeRef expand(NodeRef x, std::span<const int64_t> shape);
NodeRef slice(const NodeRef& x, std::span<const int64_t> starts, std::span<const int64_t> steps, std::span<const int64_t> sizes);
NodeRef flip(const NodeRef& x, std::span<const int64_t> dims);
NodeRef pad(const NodeRef& x, const NodeRef& value, std::span<const int64_t> lo, std::span<const int64_t> hi);
NodeRef cat(std::span<const NodeRef> parts, int64_t dim);
NodeRef strided(const NodeRef& x, std::span<const int64_t> sizes, std::span<const int64_t> strides, int64_t offset);
NodeRef update(const NodeRef& base, const NodeRef& value, std::span<const int64_t> strides, int64_t offset);
NodeRef gather(const NodeRef& x, const NodeRef& index, int64_t dim);
NodeRef scatter(Op op, const NodeRef& base, const NodeRef& index, const NodeRef& value, int64_t dim);
NodeRef scan(Op op, const NodeRef& x, int64_t dim);
NodeRef sort(const NodeRef& x, int64_t dim, bool descending);
NodeRef sort_part(const NodeRef& x, int64_t dim, bool descending, int64_t first, int64_t count);
NodeRef nonzero(const NodeRef& mask, int64_t count);
NodeRef compress(const NodeRef& x, const NodeRef& mask, int64_t count);
NodeRef scatter_mask(const NodeRef& base, const NodeRef& mask, const NodeRef& value);
NodeRef dot(const NodeRef& a, const NodeRef& b);

// --- whole graphs
// `nodes` holds every node in topological order, operands first: the reachable ones and, for a graph parsed
// with Folding::Unshared, equal and dead ones too. `inputs` are the Input nodes in the order of the printed parameters.
struct Graph {
  std::string name = "graph";
  std::vector<NodeRef> inputs;
  std::vector<NodeRef> nodes;
  std::vector<NodeRef> outputs;
  std::vector<std::string> names;  // parallel to nodes; empty for nodes without a given name

  // Everything reachable from `outputs`; inputs in order of first use.
  static Graph of(std::span<const NodeRef> outputs, std::string name = "graph");
};

std::string print(const Graph& graph);
Graph parse_graph(std::string_view text, Folding folding = Folding::Unshared, std::string_view file = "<text>");
void verify(const Graph& graph);  // throws IrError naming the node and the rule broken

// Topological order of everything reachable from the roots, operands first, deterministic; iterative.
std::vector<Node*> topological_order(std::span<const NodeRef> roots);

}  // namespace tenon::ir
