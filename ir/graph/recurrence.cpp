// The steps of recurrent layers and of their gradients.
#include "ir/graph/recurrence.h"

#include <string>

#include "ir/graph/expr.h"
#include "ir/graph/semantics.h"

namespace tenon::ir {
namespace {

constexpr int64_t kAttributes = 3;  // cell, backwards, and: all, or whether c has a gradient

struct Sizes {
  RecurrentCell cell;
  bool backwards, flag;
  int64_t rows, batch, hidden;
  int64_t columns(int64_t blocks) const { return blocks * hidden; }
};

// The columns of each block, in units of H.
std::vector<int64_t> blocks_of(Op op, RecurrentCell cell, bool all) {
  const int64_t gates = gate_count(cell);
  if (op == Op::RecurrentGrad) {
    switch (cell) {
      case RecurrentCell::Lstm: return {gates, 1, 1};
      case RecurrentCell::Gru: return {gates, gates, 1};
      default: return {gates, 1};
    }
  }
  switch (cell) {
    case RecurrentCell::Lstm: return all ? std::vector<int64_t>(6, 1) : std::vector<int64_t>(2, 1);
    case RecurrentCell::Gru: return all ? std::vector<int64_t>(5, 1) : std::vector<int64_t>(1, 1);
    default: return {1};
  }
}

Sizes sizes_of(Op op, std::span<Node* const> inputs, std::span<const int64_t> ints) {
  const Dims& h = inputs[1]->shape();
  const auto cell = static_cast<RecurrentCell>(ints[0]);
  const size_t sequence = op == Op::Recurrent ? 0 : cell == RecurrentCell::Lstm ? 4 : 3;
  return {cell, ints[1] != 0, ints[2] != 0, inputs[sequence]->shape()[0], h[0], h[1]};
}

// The elements that the blocks before block k have for each row.
int64_t before_block(const Sizes& s, std::span<const int64_t> blocks, size_t k) {
  int64_t before = 0;
  for (size_t i = 0; i < k; ++i) before += blocks[i];
  return before * s.batch * s.hidden;
}

Expr part(const Expr& x, int64_t k, int64_t hidden) { return {slice(x.node, Dims{0, k * hidden}, Dims{1, 1}, Dims{x.shape()[0], hidden})}; }
Expr sigmoid(const Expr& x) { return 1.0 / (1.0 + exp(-x)); }
Expr side_by_side(std::initializer_list<Expr> parts) {
  std::vector<NodeRef> nodes;
  for (const Expr& p : parts) nodes.push_back(p.node);
  return {cat(nodes, 1)};
}
Expr product(const Expr& a, const Expr& b) { return {dot(a.node, b.node)}; }
Expr of_sigmoid(const Expr& y, const Expr& gradient) { return gradient * (1.0 - y) * y; }
Expr of_tanh(const Expr& y, const Expr& gradient) { return gradient * (1.0 - y * y); }

// The inputs of a step, each with its source.
class Maker {
 public:
  explicit Maker(const Node& node)
      : node_(node), s_(sizes_of(node.op(), node.inputs(), node.ints())), blocks_(blocks_of(node.op(), s_.cell, s_.flag)) {
    step_.last_first = s_.backwards != (node.op() == Op::RecurrentGrad);
  }

  RecurrentStep make() {
    if (node_.op() == Op::Recurrent) forward();
    else gradient();
    return std::move(step_);
  }

 private:
  Expr input(Dims shape, RecurrentStep::Source source) {
    step_.inputs.push_back(make_input(node_.dtype(), shape, nullptr, node_.device()));
    step_.sources.push_back(source);
    return {step_.inputs.back()};
  }
  Expr whole(int32_t operand) { return input(node_.inputs()[static_cast<size_t>(operand)]->shape(), {operand}); }
  Expr row(int32_t operand, int64_t before = 0, int64_t blocks = 1, int64_t shift = 0, int32_t outside = -1) {
    return input({s_.batch, s_.columns(blocks)}, {operand, false, before, shift, outside});
  }
  // What the step before gave for this operation's block k.
  Expr before(int64_t k, int32_t outside) {
    const auto block = static_cast<size_t>(k < 0 ? k + std::ssize(blocks_) : k);
    return row(RecurrentStep::Source::kMade, before_block(s_, blocks_, block), 1, step_.last_first ? 1 : -1, outside);
  }
  void give(std::initializer_list<Expr> results) {
    for (const Expr& result : results) {
      step_.before.push_back(before_block(s_, blocks_, step_.outputs.size()));
      step_.outputs.push_back(result.node);
    }
  }

  void forward() {
    const bool lstm = s_.cell == RecurrentCell::Lstm;
    const int64_t gates = gate_count(s_.cell);
    const int32_t weight = lstm ? 3 : 2;
    const Expr x = row(0, 0, gates), h = before(-1, 1);
    Expr from_h = product(h, {permute(whole(weight).node, Dims{1, 0})});
    if (std::ssize(node_.inputs()) > weight + 1) {
      const Expr bias = {reshape(whole(weight + 1).node, Dims{1, s_.columns(gates)})};
      from_h = from_h + Expr{expand(bias.node, from_h.shape())};
    }
    switch (s_.cell) {
      case RecurrentCell::Tanh: return give({tanh(x + from_h)});
      case RecurrentCell::Relu: return give({larger(0.0, x + from_h)});
      case RecurrentCell::Lstm: return lstm_forward(x + from_h, before(-2, 2));
      case RecurrentCell::Gru: return gru_forward(x, from_h, h);
    }
  }
  void lstm_forward(const Expr& sums, const Expr& c) {
    const int64_t n = s_.hidden;
    const Expr in = sigmoid(part(sums, 0, n)), forget = sigmoid(part(sums, 1, n)), cell = tanh(part(sums, 2, n)),
               out = sigmoid(part(sums, 3, n));
    const Expr next = forget * c + in * cell, h = out * tanh(next);
    s_.flag ? give({in, forget, cell, out, next, h}) : give({next, h});
  }
  void gru_forward(const Expr& x, const Expr& from_h, const Expr& h) {
    const int64_t n = s_.hidden;
    const Expr reset = sigmoid(part(x, 0, n) + part(from_h, 0, n)), update = sigmoid(part(x, 1, n) + part(from_h, 1, n));
    const Expr read = part(from_h, 2, n), fresh = tanh(part(x, 2, n) + reset * read);
    const Expr next = (1.0 - update) * fresh + update * h;
    s_.flag ? give({read, reset, update, fresh, next}) : give({next});
  }

  // Row by row of what was made: operand 0. The state before a row is that of the step before, on the other side.
  Expr made(size_t k, int32_t outside = -1) {
    const std::vector<int64_t> blocks = blocks_of(Op::Recurrent, s_.cell, true);
    return row(0, before_block(s_, blocks, k), 1, outside < 0 ? 0 : s_.backwards ? 1 : -1, outside);
  }
  void gradient() {
    const bool lstm = s_.cell == RecurrentCell::Lstm;
    const int32_t sequence = lstm ? 4 : 3, zero = static_cast<int32_t>(node_.inputs().size()) - 1;
    const Expr dh = row(sequence) + before(lstm ? -2 : -1, zero), weight = whole(lstm ? 3 : 2);
    switch (s_.cell) {
      case RecurrentCell::Tanh: {
        const Expr h = made(0), sums = dh * (1.0 - h * h);
        return give({sums, product(sums, weight)});
      }
      case RecurrentCell::Relu: {
        const Expr sums = select(made(0) <= 0.0, number(dh, 0), dh);
        return give({sums, product(sums, weight)});
      }
      case RecurrentCell::Lstm: return lstm_gradient(dh, weight, zero);
      case RecurrentCell::Gru: return gru_gradient(dh, weight);
    }
  }
  void lstm_gradient(const Expr& dh, const Expr& weight, int32_t zero) {
    const Expr in = made(0), forget = made(1), cell = made(2), out = made(3), t = tanh(made(4));
    Expr given = before(-1, zero);
    if (s_.flag) given = row(5) + given;
    const Expr dc = dh * out * (1.0 - t * t) + given;
    const Expr sums =
        side_by_side({of_sigmoid(in, dc * cell), of_sigmoid(forget, dc * made(4, 2)), of_tanh(cell, dc * in), of_sigmoid(out, dh * t)});
    give({sums, product(sums, weight), dc * forget});
  }
  void gru_gradient(const Expr& dh, const Expr& weight) {
    const Expr read = made(0), reset = made(1), update = made(2), fresh = made(3), h = made(4, 1);
    const Expr new_sum = of_tanh(fresh, dh * (1.0 - update)), reset_sum = of_sigmoid(reset, new_sum * read);
    const Expr update_sum = of_sigmoid(update, dh * (h - fresh));
    const Expr sums = side_by_side({reset_sum, update_sum, new_sum * reset});
    give({side_by_side({reset_sum, update_sum, new_sum}), sums, dh * update + product(sums, weight)});
  }

  const Node& node_;
  Sizes s_;
  std::vector<int64_t> blocks_;
  RecurrentStep step_;
};

std::vector<NodeRef> states_and_weight(const RecurrentOperands& o) {
  std::vector<NodeRef> operands{o.h};
  if (o.c) operands.push_back(o.c);
  operands.push_back(o.weight);
  return operands;
}

}  // namespace

NodeRef recurrent(const RecurrentOperands& o, const NodeRef& x, const NodeRef& bias, bool all) {
  std::vector<NodeRef> operands = states_and_weight(o);
  operands.insert(operands.begin(), x);
  if (bias) operands.push_back(bias);
  return make_node(Op::Recurrent, operands, Dims{static_cast<int64_t>(o.cell), o.backwards, all});
}

NodeRef recurrent_gradient(const RecurrentOperands& o, const NodeRef& made, const NodeRef& h_gradient, const NodeRef& c_gradient) {
  std::vector<NodeRef> operands = states_and_weight(o);
  operands.insert(operands.begin(), made);
  operands.push_back(h_gradient);
  if (c_gradient) operands.push_back(c_gradient);
  operands.push_back(make_const(constant(o.h->dtype(), 0.0), o.h->shape(), o.h->device()));
  return make_node(Op::RecurrentGrad, operands, Dims{static_cast<int64_t>(o.cell), o.backwards, c_gradient ? 1 : 0});
}

NodeRef recurrent_block(const NodeRef& made, int64_t k) {
  const Sizes s = sizes_of(made->op(), made->inputs(), made->ints());
  const std::vector<int64_t> blocks = blocks_of(made->op(), s.cell, s.flag);
  const auto block = static_cast<size_t>(k < 0 ? k + std::ssize(blocks) : k);
  const int64_t columns = s.columns(blocks[block]);
  const NodeRef part = slice(made, Dims{s.rows * before_block(s, blocks, block)}, Dims{1}, Dims{s.rows * s.batch * columns});
  return reshape(part, Dims{s.rows, s.batch, columns});
}

Dims recurrent_shape(Op op, std::span<const NodeRef> inputs, std::span<const int64_t> ints) {
  require(std::ssize(ints) == kAttributes && ints[0] >= 0 && ints[0] <= 3, op, "takes a cell, 0 to 3, and two of 0 and 1");
  const auto cell = static_cast<RecurrentCell>(ints[0]);
  const size_t states = cell == RecurrentCell::Lstm ? 2 : 1, weight = states + 1;
  const bool gradient = op == Op::RecurrentGrad, flag = ints[2] != 0;
  require(!gradient || !flag || states == 2, op, "only an LSTM has a c");
  const size_t least = weight + (gradient ? (flag ? 4 : 3) : 1);
  require(inputs.size() == least || (!gradient && inputs.size() == least + 1), op, "has a wrong number of operands");
  const NodeRef& sequence = inputs[gradient ? weight + 1 : 0];
  require(inputs[1]->rank() == 2 && sequence->rank() == 3 && sequence->shape()[0] > 0, op,
          "takes states [B, H] and a sequence [T, B, ...], T > 0");
  const int64_t rows = sequence->shape()[0], batch = inputs[1]->shape()[0], hidden = inputs[1]->shape()[1];
  const int64_t gates = gate_count(cell) * hidden;
  require(states == 1 || inputs[2]->shape() == inputs[1]->shape(), op, "h and c differ in shape");
  require(inputs[weight]->shape() == Dims{gates, hidden}, op, "the weight is not [G, H]");
  require(sequence->shape() == Dims{rows, batch, gradient ? hidden : gates}, op,
          "the sequence is not [T, B, G], or that of gradients [T, B, H]");
  const auto count = [&](Op made, bool all) {
    int64_t blocks = 0;
    for (int64_t columns : blocks_of(made, cell, all)) blocks += columns;
    return blocks * rows * batch * hidden;
  };
  if (!gradient) {
    require(inputs.size() == least || inputs.back()->shape() == Dims{gates}, op, "the bias is not [G]");
  } else {
    require(inputs[0]->shape() == Dims{count(Op::Recurrent, true)}, op, "operand 0 is not all that was made");
    require(!flag || inputs[weight + 2]->shape() == sequence->shape(), op, "the gradients of h and c differ in shape");
    require(inputs.back()->shape() == inputs[1]->shape(), op, "the last operand is not [B, H]");
  }
  return Dims{count(op, flag)};
}

RecurrentStep recurrent_step(const Node& node) { return Maker(node).make(); }
int64_t recurrent_rows(const Node& node) { return sizes_of(node.op(), node.inputs(), node.ints()).rows; }

}  // namespace tenon::ir
