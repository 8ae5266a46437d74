// The composition of attention and of its gradients, and the nodes that stand for them.
#include "ir/graph/attention.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <numeric>
#include <vector>

#include "ir/graph/expr.h"
#include "ir/graph/recipe.h"

namespace tenon::ir {
namespace {

std::array<int64_t, 3> attributes(const Attention& a) { return {a.causal ? 1 : 0, std::bit_cast<int64_t>(a.scale), a.query->rank() - 2}; }

std::vector<NodeRef> with_mask(std::vector<NodeRef> inputs, const Attention& a) {
  if (a.mask) inputs.push_back(a.mask);
  return inputs;
}

DType type_of_sums(DType dtype) { return is_half(dtype) ? DType::F32 : dtype; }

Expr turned(const Expr& x) {
  Dims order;
  for (int64_t d = 0; d < x.node->rank(); ++d) order.push_back(d);
  std::swap(order[order.size() - 2], order[order.size() - 1]);
  return {permute(x.node, order)};
}
Expr product(const Expr& a, const Expr& b) { return {dot(a.node, b.node)}; }
Expr expanded(const Expr& x, const Dims& shape) { return {expand(x.node, shape)}; }
Dims last_dim(const Expr& x) { return {static_cast<int64_t>(x.shape().size()) - 1}; }

// The operands in the dtype of sums, with all batch dims in full; and what comes of them.
class Composition {
 public:
  explicit Composition(const Attention& a) : a_(a), batch_(attention(a)->shape()) {
    query_ = whole(a.query);
    key_ = whole(a.key);
    value_ = whole(a.value);
  }

  Expr whole(const NodeRef& x) const {
    Dims shape = batch_;
    for (size_t d = shape.size() - 2; d < shape.size(); ++d) shape[d] = x->shape()[d];
    return expanded({cast(x, type_of_sums(x->dtype()))}, shape);
  }
  const Expr& query() const { return query_; }
  const Expr& key() const { return key_; }
  const Expr& value() const { return value_; }

  Expr scores() const {
    Expr s = product(query_, turned(key_)) * a_.scale;
    const Expr out = number(s, -std::numeric_limits<double>::infinity());
    if (a_.mask && a_.mask->dtype() == DType::Bool) s = select(expanded({a_.mask}, s.shape()), s, out);
    else if (a_.mask) s = s + expanded({cast(a_.mask, s.dtype())}, s.shape());
    if (!a_.causal) return s;
    const auto positions = [&](int64_t d) { return Expr{make_iota(s.shape(), s.node->rank() - d, s.node->device())}; };
    return select(positions(1) > positions(2), out, s);
  }

  // The softmax p of the rows of the scores, and log(sum(exp(scores))) of each row.
  struct Softmax {
    Expr p, lse;
  };
  static Softmax softmax(const Expr& scores) {
    const Expr most = reduce(Op::ReduceMax, scores, last_dim(scores));
    const Expr e = exp(scores - expanded(most, scores.shape())), sum = reduce(Op::Sum, e, last_dim(e));
    return {e / expanded(sum, e.shape()), most + log(sum)};
  }

  // The gradient of the scores.
  Expr back(const Expr& p, const Expr& g, const Expr& delta) const {
    return p * (product(g, turned(value_)) - expanded(delta, p.shape()));
  }
  Expr back_to(size_t which, const Expr& p, const Expr& scores_back, const Expr& g) const {
    switch (which) {
      case 0: return product(scores_back, key_) * a_.scale;
      case 1: return product(turned(scores_back), query_) * a_.scale;
      case 2: return product(turned(p), g);
      default: return scores_back;
    }
  }

 private:
  const Attention& a_;
  Dims batch_;
  Expr query_, key_, value_;
};

}  // namespace

double attention_scale(std::span<const int64_t> ints) { return std::bit_cast<double>(ints[1]); }
int64_t attention_rows(std::span<const int64_t> ints) { return ints[2]; }

NodeRef attention_with_rows(const Node& node, std::span<const NodeRef> inputs, int64_t rows) {
  const std::array<int64_t, 3> ints{node.ints()[0], node.ints()[1], rows};
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

NodeRef attention(const Attention& a) { return make_node(Op::Attention, with_mask({a.query, a.key, a.value}, a), attributes(a)); }

NodeRef attention_gradient(const Attention& a, size_t which, const NodeRef& gradient, const NodeRef& result) {
  if (which == 3 || Tape::current) {
    const Composition c(a);
    const Expr g = {cast(gradient, type_of_sums(result->dtype()))}, p = Composition::softmax(c.scores()).p;
    const Expr delta = reduce(Op::Sum, p * product(g, turned(c.value())), last_dim(p));
    return cast(c.back_to(which, p, c.back(p, g, delta), g).node, result->dtype());
  }
  const std::array<int64_t, 3> ints = attributes(a);
  const NodeRef lse = make_node(Op::AttentionLse, with_mask({a.query, a.key, a.value}, a), ints);
  const std::vector<NodeRef> inputs = with_mask({a.query, a.key, a.value, gradient, lse, result}, a);
  constexpr Op ops[] = {Op::AttentionGradQuery, Op::AttentionGradKey, Op::AttentionGradValue};
  return make_node(ops[which], inputs, ints);
}

namespace {

// With rows in the last but one dim.
NodeRef composition(Op op, std::span<const NodeRef> inputs, std::span<const int64_t> ints) {
  const size_t operands = is_attention_gradient(op) ? 6 : 3;
  const NodeRef mask = inputs.size() > operands ? inputs.back() : NodeRef();
  const Attention a{inputs[0], inputs[1], inputs[2], mask, ints[0] != 0, attention_scale(ints)};
  const Composition c(a);
  const Expr scores = c.scores();
  if (!is_attention_gradient(op)) {
    const Composition::Softmax rows = Composition::softmax(scores);
    return op == Op::AttentionLse ? rows.lse.node : cast(product(rows.p, c.value()).node, inputs[0]->dtype());
  }
  const Expr g = c.whole(inputs[3]), p = exp(scores - expanded({inputs[4]}, scores.shape()));
  const Expr delta = reduce(Op::Sum, g * c.whole(inputs[5]), last_dim(g));
  const size_t which = static_cast<size_t>(op) - static_cast<size_t>(Op::AttentionGradQuery);
  return cast(c.back_to(which, p, c.back(p, g, delta), g).node, inputs[0]->dtype());
}

}  // namespace

NodeRef composed_attention(Op op, std::span<const NodeRef> inputs, std::span<const int64_t> ints) {
  const NodeRef whole = composition(op, inputs, ints);
  Dims order(static_cast<size_t>(whole->rank()), 0);
  std::iota(order.begin(), order.end(), int64_t{0});
  std::rotate(order.begin() + attention_rows(ints), order.end() - 2, order.end() - 1);
  return permute(whole, order);
}

}  // namespace tenon::ir
