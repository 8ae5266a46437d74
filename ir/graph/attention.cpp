// The composition of attention and of its gradients, and the nodes that stand for them.
#include "ir/graph/attention.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <numeric>
#include <vector>

#include "ir/graph/expr.h"
#include "ir/graph/product.h"

namespace tenon::ir {
namespace {

std::array<int64_t, 4> attributes(const Attention& a, int64_t result) {
  return {a.causal ? 1 : 0, std::bit_cast<int64_t>(a.scale), a.query->rank() - 2, result};
}

std::vector<NodeRef> with_mask(std::vector<NodeRef> inputs, const Attention& a) {
  if (a.mask) inputs.push_back(a.mask);
  return inputs;
}

Expr transposed(const Expr& x) { return {swap_last_dims(x.node)}; }
Expr expanded(const Expr& x, const Dims& shape) { return x.shape() == shape ? x : Expr{expand(x.node, shape)}; }
Dims last_dim(const Expr& x) { return {x.node->rank() - 1}; }
Expr summable(const Expr& x) { return cast(x, type_of_sums(x.dtype())); }

// The product of matrices whose batch dims repeat where they are 1; the right one may be given as its transpose.
Expr multiplied(const Expr& a, const Expr& b, bool right_along_columns, bool transposed = false) {
  Dims left = a.shape(), right = b.shape();
  for (size_t d = 0; d + 2 < left.size(); ++d) left[d] = right[d] = std::max(left[d], right[d]);
  const Expr x = expanded(a, left), y = expanded(b, right);
  return {product(x.node, transposed ? swap_last_dims(y.node) : y.node, {.right_along_columns = right_along_columns})};
}

Expr without(const Expr& left_out, const Expr& s) {
  return select(expanded(left_out, s.shape()), number(s, -std::numeric_limits<double>::infinity()), s);
}

Expr scores(const Attention& a, const AttentionLayout& layout) {
  const bool scales_first = is_half(a.query->dtype());  // a half might not hold the product itself
  const auto scaled = [&](const Expr& x) { return cast(summable(x) * a.scale, x.dtype()); };
  Expr s = multiplied(scales_first ? scaled({a.query}) : Expr{a.query}, {a.key}, layout.keys_along_rows, true);
  if (!scales_first) s = scaled(s);
  if (a.mask) {
    Dims shape = s.shape();
    for (size_t d = 0; d < shape.size(); ++d) shape[d] = std::max(shape[d], a.mask->shape()[d]);
    const Expr mask{a.mask};
    s = expanded(s, shape);
    s = mask.dtype() == DType::Bool ? without(!mask, s) : s + expanded(mask, shape);
  }
  if (!a.causal) return s;
  Dims places(s.shape().size(), 1);
  std::copy(s.shape().end() - 2, s.shape().end(), places.end() - 2);
  const auto positions = [&](int64_t d) { return Expr{make_iota(places, s.node->rank() - d, s.node->device())}; };
  return without(positions(1) > positions(2), s);
}

// exp(scores - the greatest of their row), the sum of each row, and that greatest. A row whose mask leaves no key has zeros, a sum of 1 and
// a greatest of 0.
struct Exponentials {
  Expr e, sum, most;
};
Exponentials exponentials(const Attention& a, const Expr& scores) {
  const Expr s = summable(scores);
  Expr most = reduce(Op::ReduceMax, s, last_dim(s));
  if (a.mask) most = select(most == -std::numeric_limits<double>::infinity(), number(most, 0.0), most);
  const Expr e = exp(s - expanded(most, s.shape()));
  Expr sum = reduce(Op::Sum, e, last_dim(e));
  if (a.mask) sum = select(sum == 0.0, number(sum, 1.0), sum);
  return {e, sum, most};
}

}  // namespace

bool is_attention_gradient(const Node& node) { return node.op() == Op::AttentionGrad; }
AttentionResult result_of_attention(const Node& node) { return static_cast<AttentionResult>(node.ints()[3]); }
AttentionGradient gradient_of_attention(const Node& node) { return static_cast<AttentionGradient>(node.ints()[3]); }

Attention attention_of(const Node& node, std::span<const NodeRef> inputs) {
  const size_t operands = is_attention_gradient(node) ? 6 : 3;
  const NodeRef mask = inputs.size() > operands ? inputs.back() : NodeRef();
  return {inputs[0], inputs[1], inputs[2], mask, node.ints()[0] != 0, attention_scale(node.ints())};
}

Attention whole_attention_of(const Node& node, std::span<const NodeRef> inputs) {
  Attention a = attention_of(node, inputs);
  Dims shape;
  for (const int64_t d : attention_dims(node)) shape.push_back(node.shape()[d]);
  for (NodeRef* x : {&a.query, &a.key, &a.value}) {
    std::copy((*x)->shape().end() - 2, (*x)->shape().end(), shape.end() - 2);
    *x = expand(*x, shape);
  }
  return a;
}

double attention_scale(std::span<const int64_t> ints) { return std::bit_cast<double>(ints[1]); }
int64_t attention_rows(std::span<const int64_t> ints) { return ints[2]; }

NodeRef attention_with_rows(const Node& node, std::span<const NodeRef> inputs, int64_t rows) {
  const std::array<int64_t, 4> ints{node.ints()[0], node.ints()[1], rows, node.ints()[3]};
  const NodeRef result = make_node(node.op(), inputs, ints);
  return permute(result, attention_dims(*result));
}

Dims attention_dims(const Node& node) {
  const int64_t rank = node.rank(), rows = attention_rows(node.ints());
  Dims dims(static_cast<size_t>(rank), 0);
  std::iota(dims.begin(), dims.end(), int64_t{0});
  std::rotate(dims.begin() + rows, dims.begin() + rows + 1, dims.end() - 1);
  return dims;
}

NodeRef attention(const Attention& a, AttentionResult result) {
  return make_node(Op::Attention, with_mask({a.query, a.key, a.value}, a), attributes(a, static_cast<int64_t>(result)));
}

NodeRef attention_gradient(const Attention& a, AttentionGradient which, const NodeRef& gradient, const NodeRef& output) {
  const std::vector<NodeRef> inputs = with_mask({a.query, a.key, a.value, gradient, attention(a, AttentionResult::Lse), output}, a);
  return make_node(Op::AttentionGrad, inputs, attributes(a, static_cast<int64_t>(which)));
}

NodeRef composed_attention(const Attention& a, const AttentionLayout& layout) {
  const Expr s = scores(a, layout);
  const auto [e, sum, most] = exponentials(a, s);
  const Expr p = cast(e * expanded(1.0 / sum, e.shape()), s.dtype());
  return multiplied(p, {a.value}, !layout.values_along_rows).node;
}

namespace {

// From lse and the result, as a schedule has them; `a` is in the dtype of sums.
Expr evaluated_gradient(const Attention& a, AttentionGradient which, const NodeRef& gradient, const NodeRef& lse, const NodeRef& result) {
  const auto dotted = [](const Expr& x, const Expr& y) { return multiplied(x, y, false); };
  const Expr g = summable({gradient}), s = scores(a, {}), p = exp(s - expanded({lse}, s.shape()));
  if (which == AttentionGradient::Value) return dotted(transposed(p), g);
  const Expr delta = reduce(Op::Sum, g * summable({result}), last_dim(g));
  const Expr back = p * (dotted(g, transposed({a.value})) - expanded(delta, p.shape()));
  return (which == AttentionGradient::Query ? dotted(back, {a.key}) : dotted(transposed(back), {a.query})) * a.scale;
}

Expr evaluated(const Node& node, const Attention& a, std::span<const NodeRef> inputs) {
  if (is_attention_gradient(node)) return evaluated_gradient(a, gradient_of_attention(node), inputs[3], inputs[4], inputs[5]);
  if (result_of_attention(node) == AttentionResult::Output) return {composed_attention(a)};
  const auto [e, sum, most] = exponentials(a, scores(a, {}));
  return most + log(sum);
}

}  // namespace

// A schedule rounds to halves once, at the end, and so does this.
NodeRef evaluated_attention(const Node& node, std::span<const NodeRef> inputs) {
  Attention a = whole_attention_of(node, inputs);
  for (NodeRef* x : {&a.query, &a.key, &a.value, &a.mask}) {
    if (*x && (*x)->dtype() != DType::Bool) *x = cast(*x, type_of_sums((*x)->dtype()));
  }
  return with_rows_at(cast(evaluated(node, a, inputs), node.dtype()).node, attention_rows(node.ints()));
}

NodeRef with_rows_at(const NodeRef& whole, int64_t rows) {
  Dims order(static_cast<size_t>(whole->rank()), 0);
  std::iota(order.begin(), order.end(), int64_t{0});
  std::rotate(order.begin() + rows, order.end() - 2, order.end() - 1);
  return permute(whole, order);
}

}  // namespace tenon::ir
