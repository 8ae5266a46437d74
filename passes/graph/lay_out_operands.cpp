// Left operands of large products on a CPU are stored as the product reads them, element by element along k. One that is read across its
// rows, as the gradient of a layer's weights reads that of the layer's result, is a line of the cache for each k, and lines that lie a
// power of two apart leave the cache before the next rows want them. So it is copied, unless k is so long that the product turns it itself:
//
//   %t = permute %a [1,0] : f32[1024,512]          %t = permute %a [1,0] : f32[1024,512]
//   %d = dot %t, %b                          ->    %s = cast %t : f32[1024,512]
//                                                  %d = dot %s, %b
//
// So are the mirrored weights of a transposed convolution: k would be divided for each element of theirs.
//
// Halves are widened once, not for each tile of columns. Those of the right operand the product widens as it packs them:
//
//   %d = dot %a, %b : f16[256,1024]          ->    %s = cast (cast %a : f32) : f32[256,512]
//                                                  %d = cast (dot %s, (cast %b : f32)) : f16[256,1024]
//
// A border is stored with its image where a long sum reads windows over it, as the gradient of a depthwise convolution's weights does: else
// each tap would ask for each element whether it is inside.
//
//   %p = pad %x ... : f32[32,64,30,30]                    %s = cast (pad %x ...) : f32[32,64,30,30]
//   %w = strided %p ... : f32[32,64,3,3,28,28]     ->     %w = strided %s ... : f32[32,64,3,3,28,28]
//   %d = reduce.sum (mul (reshape %w), %g) dims=[0,3]     %d = reduce.sum (mul (reshape %w), %g) dims=[0,3]
//
// So is a permuted value that a norm reads: its rows are several dims that do not lie one behind the other, and each reading would divide
// their positions.
//
//   %p = permute %x [0,2,1] : f32[64,28,32]               %s = cast (permute %x [0,2,1])
//   %m = div (reduce.sum %p dims=[1,2]), 896       ->     %m = div (reduce.sum %s dims=[1,2]), 896
//   %c = sub %p, %m                                       %c = sub %s, %m
//
// No bit changes: halves are multiplied and added in float32 in any case.
#include <algorithm>
#include <optional>
#include <span>
#include <variant>

#include "passes/graph/rebuild_graph.h"
#include "passes/passes.h"

namespace tenon::passes {
namespace {

using ir::Node, ir::NodeRef, ir::Op;

// For so many columns that a tile of the product does not hold them all, and so much work that a copy is little beside it.
bool reads_left_often(const Node& dot, int64_t least_rows, int64_t least_depth, int64_t least_products) {
  constexpr int64_t kLeastColumns = 64;
  const ir::Dims &left = dot.inputs()[0]->shape(), &right = dot.inputs()[1]->shape();
  const int64_t rows = left[left.size() - 2], depth = left.back(), columns = right.back();
  if (rows < least_rows || depth < least_depth || columns < kLeastColumns) return false;
  return dot.numel() >= least_products / depth;
}

// Whether the operand is a view of all of a value in another order, some of it backwards: its elements along k do not lie at equal steps.
bool is_mirrored(const Node* x) {
  while (x->op() == Op::Expand) x = x->inputs()[0];
  bool flips = false;
  for (; x->op() == Op::Reshape || x->op() == Op::Permute || x->op() == Op::Flip; x = x->inputs()[0]) flips = flips || x->op() == Op::Flip;
  return flips;
}

// The transpose of a matrix, which a product of long k turns itself, chain by chain.
bool is_transposed(const Node& x) {
  const int64_t rank = x.rank();
  return x.op() == Op::Permute && x.ints()[rank - 1] == rank - 2 && x.ints()[rank - 2] == rank - 1;
}

bool turns_left(const Node& dot, const ir::CpuTarget& target) {
  constexpr int64_t kLeastRows = 16, kLeastDepth = 256, kLeastProducts = 1 << 24;
  if (!reads_left_often(dot, kLeastRows, kLeastDepth, kLeastProducts)) return false;
  const Node& left = *dot.inputs()[0];
  if (is_mirrored(&left)) return true;
  if (lies_along_rows(&left)) return false;
  return !is_transposed(left) || !product_goes_by_chains(target, dot.dtype(), left.shape().back(), dot.shape().back());
}

bool widens_left(const Node& dot) {
  constexpr int64_t kLeastRows = 4, kLeastDepth = 16, kLeastProducts = 1 << 18;
  return ir::is_half(dot.dtype()) && reads_left_often(dot, kLeastRows, kLeastDepth, kLeastProducts);
}

// The taps of windows over an image with a border ([N, C, taps.., places..]), of which x is a view; 0: it is none.
int64_t taps_of(const Node* x) {
  while (x->op() == Op::Expand || x->op() == Op::Reshape || x->op() == Op::Permute) x = x->inputs()[0];
  if (x->op() != Op::Strided || x->inputs()[0]->op() != Op::Pad) return 0;
  const int64_t rank = x->inputs()[0]->rank();
  if (rank < 3 || x->rank() != 2 * rank - 2) return 0;
  return ir::element_count(std::span(x->shape().data() + 2, static_cast<size_t>(rank) - 2));
}

// A convolution's own sums are as long as it has taps: their image is staged.
bool sums_places(const Node& node) {
  constexpr int64_t kLeastTaps = 4, kLeastTerms = 64;
  if (node.op() != Op::Sum || node.inputs()[0]->op() != Op::Mul || node.numel() == 0) return false;
  const Node& product = *node.inputs()[0];
  const int64_t terms = product.numel() / node.numel(), taps = std::max(taps_of(product.inputs()[0]), taps_of(product.inputs()[1]));
  return taps >= kLeastTaps && terms >= kLeastTerms && terms > taps;
}

// The same value, its border stored.
NodeRef with_stored_border(const NodeRef& x) {
  const NodeRef source(x->inputs()[0]);
  const NodeRef operand[] = {x->op() == Op::Strided ? copied(source) : with_stored_border(source)};
  return remake_as_is(*x, operand);
}

NodeRef summed(const Node& sum, std::span<const NodeRef> operands) {
  const auto factor = [&](size_t i) {
    const NodeRef x(operands[0]->inputs()[i]);
    return taps_of(x.get()) > 0 ? with_stored_border(x) : x;
  };
  const NodeRef factors[] = {factor(0), factor(1)}, product[] = {remake_as_is(*operands[0], factors)};
  return remake_as_is(sum, product);
}

// A copy of a matrix in float32, or as it is; once of one that is the same for all products.
NodeRef stored(const NodeRef& x, bool widens) {
  const auto matrix = [](const Node& node) { return std::span(node.shape().data() + node.rank() - 2, 2); };
  if (x->op() == Op::Expand && x->inputs()[0]->rank() == x->rank() && std::ranges::equal(matrix(*x), matrix(*x->inputs()[0])))
    return ir::expand(stored(NodeRef(x->inputs()[0]), widens), x->shape());
  return copied(widens ? ir::cast(x, ir::DType::F32) : x);
}

// The permuted value that a node is the same elements of, or null.
const Node* permuted(const Node* x) {
  const auto passes = [](const Node& node) {
    return node.op() == Op::Reshape || (node.op() == Op::Cast && node.dtype() != node.inputs()[0]->dtype());
  };
  while (passes(*x)) x = x->inputs()[0];
  return x->op() == Op::Permute ? x : nullptr;
}

// Whether the last `count` elements are of dims that do not lie one behind the other before they are permuted.
bool splits_rows(const Node& permute, int64_t count) {
  const ir::Dims strides = ir::contiguous_strides(permute.inputs()[0]->shape());
  int64_t taken = 1, whole = 0;  // elements; the stride of a dim in front of those taken, 0: any
  for (size_t d = permute.shape().size(); d-- > 0 && taken < count;) {
    if (permute.shape()[d] == 1) continue;
    const int64_t stride = strides[permute.ints()[d]];
    if (whole != 0 && stride != whole) return true;
    taken *= permute.shape()[d];
    whole = stride * permute.shape()[d];
  }
  return false;
}

// Permuted values whose split rows are summed, and read by others too.
ir::NodeMap<bool> permuted_rows(const ir::Graph& graph) {
  constexpr int64_t kLeast = 1 << 12;
  ir::NodeMap<bool> result;
  std::optional<Readers> readers;
  for (const NodeRef& node : graph.nodes) {
    if (node->op() != Op::Sum || node->numel() == 0) continue;
    const Node* x = node->inputs()[0];
    const Node* permute = permuted(x);
    const int64_t reduced = static_cast<int64_t>(node->ints().size());
    if (!permute || permute->numel() < kLeast || node->ints()[0] != x->rank() - reduced) continue;
    if (!splits_rows(*permute, x->numel() / node->numel())) continue;
    if (!readers) readers = readers_of(graph);
    if (readers->at(x).size() > 1) result[permute] = true;
  }
  return result;
}

NodeRef laid_out(const Node& node, std::span<const NodeRef> operands) {
  if (node.op() == Op::Permute) return copied(remake_as_is(node, operands));
  if (node.op() == Op::Sum) return summed(node, operands);
  const Node& dot = node;
  if (!widens_left(dot)) return ir::dot(stored(operands[0], false), operands[1]);
  const NodeRef right = ir::cast(operands[1], ir::DType::F32);
  return ir::cast(ir::dot(stored(operands[0], true), right), dot.dtype());
}

}  // namespace

ir::Graph lay_out_operands(const ir::Graph& graph, const ir::Targets& targets) {
  const ir::NodeMap<bool> rows = permuted_rows(graph);
  const auto pays = [&](const Node& node) {
    const auto* target = std::get_if<ir::CpuTarget>(&ir::target_of(targets, node.device()));
    if (!target) return false;
    return rows.contains(&node) || sums_places(node) || (node.op() == Op::Dot && (turns_left(node, *target) || widens_left(node)));
  };
  return rebuild_some(graph, pays, laid_out);
}

}  // namespace tenon::passes
