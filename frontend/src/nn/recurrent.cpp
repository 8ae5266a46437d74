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

// The derivative of a whole step is that of the operations below, and that of 1 / (1 + exp(-x)) has no value where exp(-x) overflows.
// There the gate is shut all the same.
Tensor gate(const Tensor& x) { return sigmoid(clamp_min(x, -80)); }

// Gates in the order input, forget, cell, output.
States lstm_step(const Tensor& from_input, const Tensor& from_state, const States& states) {
  const std::vector<Tensor> gates = (from_input + from_state).chunk(4, 1);
  const Tensor c = gate(gates[1]) * states[1] + gate(gates[0]) * tanh(gates[2]);
  return {gate(gates[3]) * tanh(c), c};
}

// Gates in the order reset, update, new.
States gru_step(const Tensor& from_input, const Tensor& from_state, const States& states) {
  const std::vector<Tensor> x = from_input.chunk(3, 1), h = from_state.chunk(3, 1);
  const Tensor reset = gate(x[0] + h[0]), update = gate(x[1] + h[1]);
  const Tensor fresh = tanh(x[2] + reset * h[2]);
  return {(1 - update) * fresh + update * states[0]};
}

// The states after a step, from the products of the input and of h with their weights.
States step(RecurrentCell cell, const Tensor& from_input, const Tensor& from_state, const States& states) {
  switch (cell) {
    case RecurrentCell::Tanh: return {tanh(from_input + from_state)};
    case RecurrentCell::Relu: return {relu(from_input + from_state)};
    case RecurrentCell::Lstm: return lstm_step(from_input, from_state, states);
    case RecurrentCell::Gru: return gru_step(from_input, from_state, states);
  }
  return {};
}

constexpr const char* kStepNames[] = {"RnnTanhStepBackward0", "RnnReluStepBackward0", "LstmStepBackward0", "GruStepBackward0"};

// The same as one operation; but relu has a rule of its own at 0.
States step(RecurrentCell cell, const Tensor& from_input, const States& states, const Tensor& weight, const Tensor& bias) {
  const auto recorded = [&] {
    return step(cell, from_input, linear(states[0], weight, bias.defined() ? optional<Tensor>(bias) : nullopt), states);
  };
  if (cell == RecurrentCell::Relu) return recorded();
  const char* const name = kStepNames[static_cast<size_t>(cell)];
  const Tensor c = states.size() > 1 ? states[1] : Tensor();
  const KnownCall call(name, {}, from_input, states[0], c, weight, bias);
  States made;
  if (call.is_known()) {
    made = call.make_all();
    std::reverse(made.begin(), made.end());  // h is made last
    return made;
  }
  {
    GradScope scope(name, from_input, states[0], c, weight, bias);
    made = recorded();
  }
  call.note(States(made.rbegin(), made.rend()));
  return made;
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
    return step(cell, linear(input, w_ih, b_ih), linear(hx, w_hh, b_hh), {hx})[0];                      \
  }
TENON_DEFINE(gru, RecurrentCell::Gru)
TENON_DEFINE(rnn_tanh, RecurrentCell::Tanh)
TENON_DEFINE(rnn_relu, RecurrentCell::Relu)
#undef TENON_DEFINE
std::tuple<Tensor, Tensor> lstm_cell(const Operand& input, TensorList hx, const Operand& w_ih,
                                     const Operand& w_hh, const optional<Tensor>& b_ih,
                                     const optional<Tensor>& b_hh) {
  check(hx.size() == 2, "lstm_cell expects two hidden states");
  const States after = lstm_step(linear(input, w_ih, b_ih), linear(hx[0], w_hh, b_hh), hx.vec());
  return {after[0], after[1]};
}

}  // namespace tenon
