#include "frontend/src/nn/recurrent.h"

#include "frontend/src/tensor/text.h"
#include "tenon/native.h"
#include "tenon/neural.h"

namespace tenon {

States rnn_tanh_step(const Tensor& from_input, const Tensor& from_state, const States&) {
  return {tanh(from_input + from_state)};
}
States rnn_relu_step(const Tensor& from_input, const Tensor& from_state, const States&) {
  return {relu(from_input + from_state)};
}

// Gates in the order input, forget, cell, output.
States lstm_step(const Tensor& from_input, const Tensor& from_state, const States& states) {
  const std::vector<Tensor> gates = (from_input + from_state).chunk(4, 1);
  const Tensor c = sigmoid(gates[1]) * states[1] + sigmoid(gates[0]) * tanh(gates[2]);
  return {sigmoid(gates[3]) * tanh(c), c};
}

// Gates in the order reset, update, new.
States gru_step(const Tensor& from_input, const Tensor& from_state, const States& states) {
  const std::vector<Tensor> x = from_input.chunk(3, 1), h = from_state.chunk(3, 1);
  const Tensor reset = sigmoid(x[0] + h[0]), update = sigmoid(x[1] + h[1]);
  const Tensor fresh = tanh(x[2] + reset * h[2]);
  return {(1 - update) * fresh + update * states[0]};
}

namespace {

// One direction of one layer, whose weights begin at `weights`.
Tensor run_layer(const Tensor& sequence, const Tensor* weights, bool bias, bool backwards, States& states,
                 const RecurrentStep& step) {
  const auto maybe = [&](int i) { return bias ? optional<Tensor>(weights[i]) : nullopt; };
  const Tensor from_input = linear(sequence, weights[0], maybe(2));
  const int64_t steps = sequence.size(0);
  std::vector<Tensor> outputs(static_cast<size_t>(steps));
  for (int64_t i = 0; i < steps; ++i) {
    const int64_t t = backwards ? steps - 1 - i : i;
    states = step(from_input.select(0, t), linear(states[0], weights[1], maybe(3)), states);
    outputs[t] = states[0];
  }
  return stack(outputs);
}

}  // namespace

Tensor run(const Recurrence& net, const Tensor& input, States& states, const RecurrentStep& step) {
  const int64_t directions = net.bidirectional ? 2 : 1;
  Tensor x = net.batch_first ? input.transpose(0, 1) : input;
  std::vector<std::vector<Tensor>> last(states.size());
  const Tensor* weights = net.parameters.data();
  for (int64_t layer = 0; layer < net.layers; ++layer) {
    std::vector<Tensor> outputs;
    for (int64_t d = 0; d < directions; ++d, weights += net.bias ? 4 : 2) {
      States current;
      for (const Tensor& all : states) current.push_back(all.select(0, layer * directions + d));
      outputs.push_back(run_layer(x, weights, net.bias, d == 1, current, step));
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
  const Tensor out = run({params.vec(), num_layers, has_biases, bidirectional, batch_first, dropout, train},
                         input, states, lstm_step);
  return {out, states[0], states[1]};
}
#define TENON_DEFINE(name)                                                                              \
  std::tuple<Tensor, Tensor> name(const Operand& input, const Operand& hx, TensorList params,           \
                                  bool has_biases, int64_t num_layers, double dropout, bool train,      \
                                  bool bidirectional, bool batch_first) {                               \
    check_sequence(input, params, has_biases, num_layers, bidirectional);                               \
    States states{hx};                                                                                  \
    const Tensor out =                                                                                  \
        run({params.vec(), num_layers, has_biases, bidirectional, batch_first, dropout, train}, input,  \
            states, name##_step);                                                                       \
    return {out, states[0]};                                                                            \
  }                                                                                                     \
  Tensor name##_cell(const Operand& input, const Operand& hx, const Operand& w_ih, const Operand& w_hh, \
                     const optional<Tensor>& b_ih, const optional<Tensor>& b_hh) {                      \
    return name##_step(linear(input, w_ih, b_ih), linear(hx, w_hh, b_hh), {hx})[0];                     \
  }
TENON_DEFINE(gru)
TENON_DEFINE(rnn_tanh)
TENON_DEFINE(rnn_relu)
#undef TENON_DEFINE
std::tuple<Tensor, Tensor> lstm_cell(const Operand& input, TensorList hx, const Operand& w_ih,
                                     const Operand& w_hh, const optional<Tensor>& b_ih,
                                     const optional<Tensor>& b_hh) {
  check(hx.size() == 2, "lstm_cell expects two hidden states");
  const States after = lstm_step(linear(input, w_ih, b_ih), linear(hx[0], w_hh, b_hh), hx.vec());
  return {after[0], after[1]};
}

}  // namespace tenon
