// Each step is one operation, whose graph and gradient are known from the third one on (known_call.h). The steps are alike, so that a
// long sequence is computed by the plans of a few steps (runtime/repeats.h).
#include "frontend/src/nn/recurrent.h"

#include <algorithm>

#include "frontend/src/autograd/known_call.h"
#include "frontend/src/tensor/text.h"
#include "tenon/native.h"
#include "tenon/neural.h"

namespace tenon {
namespace {

// All that a step makes of the products of the input and of h with their weights, in the order in which it is made; h is the last one, and of
// an LSTM c the one before. Its gradient reads the others.

// The gates input, forget, cell, output.
std::vector<Tensor> lstm_step(const Tensor& from_input, const Tensor& from_state, const Tensor& c) {
  const std::vector<Tensor> gates = (from_input + from_state).chunk(4, 1);
  const Tensor in = sigmoid(gates[0]), forget = sigmoid(gates[1]), cell = tanh(gates[2]), out = sigmoid(gates[3]);
  const Tensor next = forget * c + in * cell;
  return {in, forget, cell, out, next, out * tanh(next)};
}

// The product with h, and the gates reset, update, new.
std::vector<Tensor> gru_step(const Tensor& from_input, const Tensor& from_state, const Tensor& h) {
  const std::vector<Tensor> x = from_input.chunk(3, 1), s = from_state.chunk(3, 1);
  const Tensor reset = sigmoid(x[0] + s[0]), update = sigmoid(x[1] + s[1]);
  const Tensor fresh = tanh(x[2] + reset * s[2]);
  return {from_state, reset, update, fresh, (1 - update) * fresh + update * h};
}

std::vector<Tensor> step(RecurrentCell cell, const Tensor& from_input, const Tensor& from_state, const States& states) {
  switch (cell) {
    case RecurrentCell::Tanh: return {tanh(from_input + from_state)};
    case RecurrentCell::Relu: return {relu(from_input + from_state)};
    case RecurrentCell::Lstm: return lstm_step(from_input, from_state, states[1]);
    case RecurrentCell::Gru: return gru_step(from_input, from_state, states[0]);
  }
  return {};
}

// The gradients of a step, which has the operands from_input, h, c of an LSTM, the weight and the bias. Of what only the step knows there are
// gradients in a second pass.
class StepGradient {
 public:
  explicit StepGradient(GradCall& call) : call_(call) {}

  void tanh_step() {
    const Tensor h = call_.output(0);
    const Tensor sums = call_.grad(0) * (1 - h * h);
    call_.give(0, sums);
    give_products(sums, 2);
  }

  void lstm_step() {
    const Tensor in = call_.output(0), forget = call_.output(1), cell = call_.output(2), out = call_.output(3);
    const Tensor dh = call_.given(5), t = tanh(call_.output(4));
    const Tensor dc = total(dh.defined() ? dh * out * (1 - t * t) : Tensor(), 4);
    if (dc.defined()) call_.give(2, dc * forget);
    const Tensor sums = cat({of_sigmoid(in, total(times(dc, cell), 0)), of_sigmoid(forget, total(times(dc, call_.operand(2)), 1)),
                             of_tanh(cell, total(times(dc, in), 2)), of_sigmoid(out, total(times(dh, t), 3))},
                            1);
    call_.give(0, sums);
    give_products(sums, 3);
  }

  void gru_step() {
    const Tensor reset = call_.output(1), update = call_.output(2), fresh = call_.output(3), h = call_.operand(1);
    const Tensor dh = call_.grad(4), product = call_.output(0).chunk(3, 1)[2];
    const Tensor new_sum = of_tanh(fresh, total(dh * (1 - update), 3));
    const Tensor reset_sum = of_sigmoid(reset, total(new_sum * product, 1));
    const Tensor update_sum = of_sigmoid(update, total(dh * (h - fresh), 2));
    call_.give(0, cat({reset_sum, update_sum, new_sum}, 1));
    give_products(total(cat({reset_sum, update_sum, new_sum * reset}, 1), 0), 2, dh * update);
  }

 private:
  // With the gradient of output k.
  Tensor total(const Tensor& gradient, size_t k) const {
    const Tensor given = call_.given(k);
    return !gradient.defined() ? given : given.defined() ? gradient + given : gradient;
  }
  static Tensor times(const Tensor& gradient, const Tensor& factor) { return gradient.defined() ? gradient * factor : Tensor(); }
  static Tensor of_sigmoid(const Tensor& y, const Tensor& gradient) {
    return gradient.defined() ? gradient * (1 - y) * y : zeros_like(y);
  }
  static Tensor of_tanh(const Tensor& y, const Tensor& gradient) { return gradient.defined() ? gradient * (1 - y * y) : zeros_like(y); }

  // The gradients of h, which is read elsewhere too, and of the weight and the bias, from those of the sums h * weight^T + bias.
  void give_products(const Tensor& sums, size_t weight, const Tensor& elsewhere = {}) {
    if (call_.wants(1)) {
      const Tensor through = sums.mm(call_.operand(weight));
      call_.give(1, elsewhere.defined() ? elsewhere + through : through);
    }
    if (call_.wants(weight)) call_.give(weight, sums.t().mm(call_.operand(1)));
    if (call_.wants(weight + 1)) call_.give(weight + 1, sums.sum(0));
  }

  GradCall& call_;
};

struct StepRule {
  const char* name;
  void (StepGradient::*gradient)();
  uint32_t reads;
};

// Relu has a rule of its own at 0.
const StepRule* rule_of(RecurrentCell cell) {
  static const StepRule tanh_rule{"RnnTanhStepBackward0", &StepGradient::tanh_step, kReadsOutput | reads_operand(1) | reads_operand(2)};
  static const StepRule lstm_rule{"LstmStepBackward0", &StepGradient::lstm_step,
                                  kReadsOutput | reads_operand(1) | reads_operand(2) | reads_operand(3)};
  static const StepRule gru_rule{"GruStepBackward0", &StepGradient::gru_step, kReadsOutput | reads_operand(1) | reads_operand(2)};
  switch (cell) {
    case RecurrentCell::Tanh: return &tanh_rule;
    case RecurrentCell::Lstm: return &lstm_rule;
    case RecurrentCell::Gru: return &gru_rule;
    case RecurrentCell::Relu: break;
  }
  return nullptr;
}

// The states of what a step makes.
States states_after(std::vector<Tensor> made, bool has_c) {
  States states{made.back()};
  if (has_c) states.push_back(made[made.size() - 2]);
  return states;
}

// A step as one operation.
States step(RecurrentCell cell, const Tensor& from_input, const States& states, const Tensor& weight, const Tensor& bias) {
  const auto recorded = [&] {
    return step(cell, from_input, linear(states[0], weight, bias.defined() ? optional<Tensor>(bias) : nullopt), states);
  };
  const StepRule* rule = rule_of(cell);
  const Tensor c = states.size() > 1 ? states[1] : Tensor();
  if (!rule) return states_after(recorded(), c.defined());
  const KnownCall call(rule->name, {}, from_input, states[0], c, weight, bias);
  if (call.is_known()) return states_after(call.make_all(), c.defined());
  std::vector<Tensor> made;
  {
    GradScope scope(rule->name, from_input, states[0], c, weight, bias);
    scope.rule(rule->reads, [gradient = rule->gradient](GradCall& grad) { (StepGradient(grad).*gradient)(); });
    made = recorded();
  }
  call.note(made);
  return states_after(std::move(made), c.defined());
}

// The parts of x along its first dim. No views: each is an operand of its own.
std::vector<Tensor> parts_of(const Tensor& x) {
  GradScope scope("UnbindBackward0", x);
  scope.rule(kReadsNothing, [count = x.size(0)](GradCall& call) {
    std::vector<Tensor> grads;
    for (int64_t i = 0; i < count; ++i) grads.push_back(call.grad(static_cast<size_t>(i)));
    call.give(0, stack(grads));
  });
  const NodeRef value = node_of(x);
  Dims starts(value->shape().size(), 0), sizes = value->shape();
  const Dims steps(sizes.size(), 1), shape(span_of({sizes.data() + 1, sizes.size() - 1}));
  sizes[0] = 1;
  std::vector<Tensor> parts;
  for (int64_t i = 0; i < x.size(0); ++i) {
    starts[0] = i;
    parts.push_back(record(ir::reshape(ir::slice(value, starts, steps, sizes), shape)));
  }
  return parts;
}

// One direction of one layer, whose weights begin at `weights`.
Tensor run_layer(const Tensor& sequence, const Tensor* weights, bool bias, bool backwards, States& states, RecurrentCell cell) {
  const std::vector<Tensor> from_input = parts_of(linear(sequence, weights[0], bias ? optional<Tensor>(weights[2]) : nullopt));
  const size_t steps = from_input.size();
  std::vector<Tensor> outputs(steps);
  for (size_t i = 0; i < steps; ++i) {
    const size_t t = backwards ? steps - 1 - i : i;
    states = step(cell, from_input[t], states, weights[1], bias ? weights[3] : Tensor());
    outputs[t] = states[0];
  }
  return stack(outputs);
}

}  // namespace

Tensor run(const Recurrence& net, const Tensor& input, States& states) {
  const int64_t directions = net.bidirectional ? 2 : 1;
  Tensor x = net.batch_first ? input.transpose(0, 1) : input;
  std::vector<std::vector<Tensor>> last(states.size());
  const Tensor* weights = net.parameters.data();
  for (int64_t layer = 0; layer < net.layers; ++layer) {
    std::vector<Tensor> outputs;
    for (int64_t d = 0; d < directions; ++d, weights += net.bias ? 4 : 2) {
      States current;
      for (const Tensor& all : states) current.push_back(all.select(0, layer * directions + d));
      outputs.push_back(run_layer(x, weights, net.bias, d == 1, current, net.cell));
      for (size_t i = 0; i < states.size(); ++i) last[i].push_back(current[i]);
    }
    x = directions == 1 ? outputs[0] : cat(outputs, 2);
    if (layer + 1 < net.layers) x = dropout(x, net.dropout, net.training && net.dropout > 0);
  }
  for (size_t i = 0; i < states.size(); ++i) states[i] = stack(last[i]);
  return net.batch_first ? x.transpose(0, 1) : x;
}

// --- as functions

namespace {

void check_sequence(const Tensor& input, TensorList params, bool bias, int64_t layers, bool bidirectional) {
  check(input.dim() == 3, "Expected input to be 3D, got ", input.dim(), "D instead");
  const auto wanted = static_cast<size_t>(layers * (bidirectional ? 2 : 1) * (bias ? 4 : 2));
  check(params.size() == wanted, "expected ", wanted, " weights and biases, but got ", params.size());
}

}  // namespace

std::tuple<Tensor, Tensor, Tensor> lstm(const Operand& input, TensorList hx, TensorList params,
                                        bool has_biases, int64_t num_layers, double dropout, bool train,
                                        bool bidirectional, bool batch_first) {
  check(hx.size() == 2, "lstm expects two hidden states");
  check_sequence(input, params, has_biases, num_layers, bidirectional);
  States states = hx.vec();
  const Tensor out =
      run({RecurrentCell::Lstm, params.vec(), num_layers, has_biases, bidirectional, batch_first, dropout, train}, input, states);
  return {out, states[0], states[1]};
}
#define TENON_DEFINE(name, cell)                                                                        \
  std::tuple<Tensor, Tensor> name(const Operand& input, const Operand& hx, TensorList params,           \
                                  bool has_biases, int64_t num_layers, double dropout, bool train,      \
                                  bool bidirectional, bool batch_first) {                               \
    check_sequence(input, params, has_biases, num_layers, bidirectional);                               \
    States states{hx};                                                                                  \
    const Tensor out =                                                                                  \
        run({cell, params.vec(), num_layers, has_biases, bidirectional, batch_first, dropout, train},   \
            input, states);                                                                             \
    return {out, states[0]};                                                                            \
  }                                                                                                     \
  Tensor name##_cell(const Operand& input, const Operand& hx, const Operand& w_ih, const Operand& w_hh, \
                     const optional<Tensor>& b_ih, const optional<Tensor>& b_hh) {                      \
    return step(cell, linear(input, w_ih, b_ih), linear(hx, w_hh, b_hh), {hx}).back();                  \
  }
TENON_DEFINE(gru, RecurrentCell::Gru)
TENON_DEFINE(rnn_tanh, RecurrentCell::Tanh)
TENON_DEFINE(rnn_relu, RecurrentCell::Relu)
#undef TENON_DEFINE
std::tuple<Tensor, Tensor> lstm_cell(const Operand& input, TensorList hx, const Operand& w_ih,
                                     const Operand& w_hh, const optional<Tensor>& b_ih,
                                     const optional<Tensor>& b_hh) {
  check(hx.size() == 2, "lstm_cell expects two hidden states");
  const std::vector<Tensor> made = lstm_step(linear(input, w_ih, b_ih), linear(hx[0], w_hh, b_hh), hx[1]);
  return {made[5], made[4]};
}

}  // namespace tenon
