// A layer is one operation of the graph for each direction (ir/graph/recurrence.h). Where it cannot be, each step is an operation of
// its own, whose graph and gradient are known from the third one on (replayed_call.h).
#include "frontend/src/neural/recurrent.h"

#include <algorithm>

#include "frontend/src/autograd/replayed_call.h"
#include "frontend/src/tensor/text.h"
#include "ir/graph/recurrence.h"
#include "tenon/native.h"
#include "tenon/neural.h"

namespace tenon {
namespace {

// All that a step makes of the products of the input and of h with their weights, in the order in which it is made; h is the last one,
// and of an LSTM c the one before. Its gradient reads the others.

// The gates input, forget, cell, output.
std::vector<Tensor> lstm_step(const Tensor& from_input, const Tensor& from_state, const Tensor& c) {
  const std::vector<Tensor> gates = (from_input + from_state).chunk(4, 1);
  const Tensor in = sigmoid(gates[0]), forget = sigmoid(gates[1]), cell = tanh(gates[2]), out = sigmoid(gates[3]);
  const Tensor next = forget * c + in * cell;
  return {in, forget, cell, out, next, out * tanh(next)};
}

// What h contributes to the last gate, and the gates reset, update, new.
std::vector<Tensor> gru_step(const Tensor& from_input, const Tensor& from_state, const Tensor& h) {
  const std::vector<Tensor> x = from_input.chunk(3, 1), s = from_state.chunk(3, 1);
  const Tensor reset = sigmoid(x[0] + s[0]), update = sigmoid(x[1] + s[1]);
  const Tensor fresh = tanh(x[2] + reset * s[2]);
  return {s[2], reset, update, fresh, (1 - update) * fresh + update * h};
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

// What the gradients of a step are made of: all that it made, and their gradients (undefined for none), which of all but h and c there
// are in a second pass alone.
struct StepValues {
  std::vector<Tensor> made, given;
  Tensor h, c, weight;  // h and c before it
};
// From_h: of the sums h * weight^T + bias, from which those of the weight and the bias come. C: of an LSTM.
struct StepGradients {
  Tensor from_input, from_h, h, c;
};

// With what is given for result k.
Tensor total(const StepValues& v, const Tensor& gradient, size_t k) {
  const Tensor& given = v.given[k];
  return !gradient.defined() ? given : given.defined() ? gradient + given : gradient;
}
Tensor times(const Tensor& gradient, const Tensor& factor) { return gradient.defined() ? gradient * factor : Tensor(); }
Tensor of_sigmoid(const Tensor& y, const Tensor& gradient) { return gradient.defined() ? gradient * (1 - y) * y : zeros_like(y); }
Tensor of_tanh(const Tensor& y, const Tensor& gradient) { return gradient.defined() ? gradient * (1 - y * y) : zeros_like(y); }
Tensor h_gradient(const StepValues& v) { return v.given.back().defined() ? v.given.back() : zeros_like(v.made.back()); }

StepGradients tanh_gradients(const StepValues& v) {
  const Tensor sums = h_gradient(v) * (1 - v.made[0] * v.made[0]);
  return {sums, sums, sums.mm(v.weight), {}};
}

StepGradients relu_gradients(const StepValues& v) {
  const Tensor sums = where(v.made[0] <= 0, 0, h_gradient(v));
  return {sums, sums, sums.mm(v.weight), {}};
}

StepGradients lstm_gradients(const StepValues& v) {
  const Tensor &in = v.made[0], &forget = v.made[1], &cell = v.made[2], &out = v.made[3];
  const Tensor dh = v.given[5], t = tanh(v.made[4]);
  const Tensor dc = total(v, dh.defined() ? dh * out * (1 - t * t) : Tensor(), 4);
  const Tensor sums = cat({of_sigmoid(in, total(v, times(dc, cell), 0)), of_sigmoid(forget, total(v, times(dc, v.c), 1)),
                           of_tanh(cell, total(v, times(dc, in), 2)), of_sigmoid(out, total(v, times(dh, t), 3))},
                          1);
  return {sums, sums, sums.mm(v.weight), times(dc, forget)};
}

StepGradients gru_gradients(const StepValues& v) {
  const Tensor &read = v.made[0], &reset = v.made[1], &update = v.made[2], &fresh = v.made[3], dh = h_gradient(v);
  const Tensor new_sum = of_tanh(fresh, total(v, dh * (1 - update), 3)), reset_sum = of_sigmoid(reset, total(v, new_sum * read, 1));
  const Tensor update_sum = of_sigmoid(update, total(v, dh * (v.h - fresh), 2));
  const Tensor sums = cat({reset_sum, update_sum, total(v, new_sum * reset, 0)}, 1);
  return {cat({reset_sum, update_sum, new_sum}, 1), sums, dh * update + sums.mm(v.weight), {}};
}

StepGradients gradients(RecurrentCell cell, const StepValues& v) {
  switch (cell) {
    case RecurrentCell::Tanh: return tanh_gradients(v);
    case RecurrentCell::Relu: return relu_gradients(v);
    case RecurrentCell::Lstm: return lstm_gradients(v);
    case RecurrentCell::Gru: return gru_gradients(v);
  }
  return {};
}

// How many values a step makes.
size_t made_count(RecurrentCell cell) { return cell == RecurrentCell::Lstm ? 6 : cell == RecurrentCell::Gru ? 5 : 1; }
size_t state_count(RecurrentCell cell) { return cell == RecurrentCell::Lstm ? 2 : 1; }

// The operands that the derivative reads. They are from_input, h, c of an LSTM, weight and bias: all but the first and the last.
uint32_t operands_read(RecurrentCell cell) {
  return reads_operand(1) | reads_operand(2) | (cell == RecurrentCell::Lstm ? reads_operand(3) : kReadsNothing);
}

void differentiate_step(RecurrentCell cell, GradCall& call) {
  const size_t states = state_count(cell), weight = states + 1;
  StepValues v{{}, {}, call.operand(1), states == 2 ? call.operand(2) : Tensor(), call.operand(weight)};
  for (size_t k = 0; k < made_count(cell); ++k) {
    v.made.push_back(call.output(k));
    v.given.push_back(call.given(k));
  }
  const StepGradients g = gradients(cell, v);
  call.give(0, g.from_input);
  if (call.wants(1)) call.give(1, g.h);
  if (states == 2) call.give(2, g.c);
  if (call.wants(weight)) call.give(weight, g.from_h.t().mm(v.h));
  if (call.wants(weight + 1)) call.give(weight + 1, g.from_h.sum(0));
}

const char* name_of_step(RecurrentCell cell) {
  constexpr const char* names[] = {"RnnTanhStepBackward0", "RnnReluStepBackward0", "LstmStepBackward0", "GruStepBackward0"};
  return names[static_cast<size_t>(cell)];
}

// The states of what a step makes.
States states_after(std::vector<Tensor> made, bool has_c) {
  States states{made.back()};
  if (has_c) states.push_back(made[made.size() - 2]);
  return states;
}

// A step as one operation.
States step(RecurrentCell cell, const Tensor& from_input, const States& states, const Tensor& weight, const Tensor& bias) {
  const char* const name = name_of_step(cell);
  const Tensor c = states.size() > 1 ? states[1] : Tensor();
  const ReplayedCall call(ReplayedCall::When::WithGradients, name, {}, from_input, states[0], c, weight, bias);
  if (call.can_replay()) return states_after(call.replay_all(), c.defined());
  std::vector<Tensor> made;
  {
    GradScope scope(name, from_input, states[0], c, weight, bias);
    scope.rule(kReadsOutput | operands_read(cell), [cell](GradCall& grad) { differentiate_step(cell, grad); });
    made = step(cell, from_input, linear(states[0], weight, bias.defined() ? optional<Tensor>(bias) : nullopt), states);
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

// --- a layer as one operation

ir::RecurrentOperands operands_of(RecurrentCell cell, bool backwards, const Tensor& h, const Tensor& c, const Tensor& weight) {
  return {static_cast<ir::RecurrentCell>(cell), backwards, node_of(h), c.defined() ? node_of(c) : NodeRef(), node_of(weight)};
}

// The h before each row, [T, B, H], from all h.
Tensor before_each(const Tensor& all, const Tensor& first, bool backwards) {
  const int64_t rows = all.size(0);
  return backwards ? cat({all.slice(0, 1, rows), first.unsqueeze(0)}) : cat({first.unsqueeze(0), all.slice(0, 0, rows - 1)});
}

// The gradients by row, [T, B, ...], from operations that have gradients themselves: of what was made, and given for it or for all h and c.
struct LayerGradients {
  Tensor from_input, from_h, h, c;  // h and c: of the first states
};
LayerGradients differentiate_rows(RecurrentCell cell, bool backwards, const GradCall& call) {
  const size_t states = state_count(cell), count = made_count(cell);
  const Tensor h = call.operand(1), made = call.output(0);
  const int64_t rows = call.output(1).size(0), columns = h.size(1);
  const auto by_block = [&](const Tensor& x) { return x.view({static_cast<int64_t>(count), rows, h.size(0), columns}); };
  const Tensor blocks = by_block(made), given = call.given(0).defined() ? by_block(call.given(0)) : Tensor();
  std::vector<Tensor> from_input(static_cast<size_t>(rows)), from_h(static_cast<size_t>(rows));
  StepGradients later;
  for (int64_t i = rows; i-- > 0;) {
    const int64_t row = backwards ? rows - 1 - i : i, before = backwards ? row + 1 : row - 1;
    StepValues v{{},
                 {},
                 i == 0 ? h : blocks[-1][before],
                 states == 1 ? Tensor()
                 : i == 0    ? call.operand(2)
                             : blocks[-2][before],
                 call.operand(states + 1)};
    for (size_t k = 0; k < count; ++k) {
      v.made.push_back(blocks[static_cast<int64_t>(k)][row]);
      v.given.push_back(given.defined() ? given[static_cast<int64_t>(k)][row] : Tensor());
    }
    const auto add = [&](size_t k, const Tensor& more) {
      if (more.defined()) v.given[k] = total(v, more, k);
    };
    add(count - 1, later.h);
    if (states == 2) add(count - 2, later.c);
    for (size_t k = 1; k <= states; ++k) {
      if (const Tensor all = call.given(k); all.defined()) add(count - k, all[row]);
    }
    later = gradients(cell, v);
    from_input[static_cast<size_t>(row)] = later.from_input;
    from_h[static_cast<size_t>(row)] = later.from_h;
  }
  return {stack(from_input), stack(from_h), later.h, later.c};
}

LayerGradients gradients_of_layer(RecurrentCell cell, bool backwards, const GradCall& call) {
  const size_t states = state_count(cell);
  if (GradMode::is_enabled() || call.given(0).defined()) return differentiate_rows(cell, backwards, call);
  const Tensor c = states == 2 ? call.operand(2) : Tensor(), dc = states == 2 ? call.given(2) : Tensor();
  const NodeRef made = ir::recurrent_gradient(operands_of(cell, backwards, call.operand(1), c, call.operand(states + 1)),
                                              node_of(call.output(0)), node_of(call.grad(1)), dc.defined() ? node_of(dc) : NodeRef());
  const auto block = [&](int64_t k) { return record(ir::recurrent_block(made, k)); };
  const int64_t first = backwards ? call.output(1).size(0) - 1 : 0;
  const Tensor from_input = block(0);
  return {from_input, cell == RecurrentCell::Gru ? block(1) : from_input, block(states == 2 ? -2 : -1)[first],
          states == 2 ? block(-1)[first] : Tensor()};
}

void differentiate_layer(RecurrentCell cell, bool backwards, GradCall& call) {
  const size_t states = state_count(cell), weight = states + 1;
  const LayerGradients g = gradients_of_layer(cell, backwards, call);
  call.give(0, g.from_input);
  call.give(1, g.h);
  if (states == 2) call.give(2, g.c);
  if (call.wants(weight)) {
    const Tensor h = before_each(call.output(1), call.operand(1), backwards);
    call.give(weight, g.from_h.flatten(0, 1).t().mm(h.flatten(0, 1)));
  }
  if (call.wants(weight + 1)) call.give(weight + 1, g.from_h.sum({0, 1}));
}

// Whether one operation computes all of it. Halves round after each operation of a step; within another operation the steps must have
// gradients.
bool is_one_operation(const Tensor& from_input, const States& states, const Tensor& weight, const Tensor& bias) {
  const ScalarType type = from_input.scalar_type();
  const auto fits = [&](const Tensor& x) { return !x.defined() || (x.scalar_type() == type && x.device() == from_input.device()); };
  return from_input.numel() > 0 && (type == kFloat || type == kDouble) && std::ranges::all_of(states, fits) && fits(weight) && fits(bias) &&
         !GradScope::is_open();
}

// All h; the states move on to the last ones.
Tensor run_rows(RecurrentCell cell, bool backwards, const Tensor& from_input, const Tensor& weight, const Tensor& bias, States& states) {
  const Tensor h = states[0], c = states.size() > 1 ? states[1] : Tensor();
  Tensor made, all_h, all_c;
  {
    GradScope scope("StackBackward0", from_input, h, c, weight, bias);
    scope.rule(kReadsOutput | operands_read(cell), [cell, backwards](GradCall& call) { differentiate_layer(cell, backwards, call); });
    scope.saves(operands_read(cell));  // the result is PyTorch's copy of what the steps made
    const NodeRef node = ir::recurrent(operands_of(cell, backwards, h, c, weight), node_of(from_input),
                                       bias.defined() ? node_of(bias) : NodeRef(), GradScope::is_recording());
    made = record(node);
    all_h = record(ir::recurrent_block(node, -1));
    if (c.defined()) all_c = record(ir::recurrent_block(node, -2));
  }
  const int64_t last = backwards ? 0 : -1;
  states[0] = all_h[last];
  if (c.defined()) states[1] = all_c[last];
  return all_h;
}

// The weights of one direction of one layer.
struct LayerWeights {
  Tensor input, state, input_bias, state_bias, projection;
};
LayerWeights weights_at(const Recurrence& net, const Tensor*& next) {
  LayerWeights w{next[0], next[1], {}, {}, {}};
  next += 2;
  if (net.bias) {
    w.input_bias = next[0];
    w.state_bias = next[1];
    next += 2;
  }
  if (net.projects) w.projection = *next++;
  return w;
}
optional<Tensor> if_defined(const Tensor& x) { return x.defined() ? optional<Tensor>(x) : nullopt; }

// A step of a layer whose h is projected.
States projected_step(const Tensor& from_input, const States& states, const LayerWeights& w) {
  const std::vector<Tensor> made = lstm_step(from_input, linear(states[0], w.state, if_defined(w.state_bias)), states[1]);
  return {linear(made[5], w.projection), made[4]};
}
States any_step(const Recurrence& net, const Tensor& from_input, const States& states, const LayerWeights& w) {
  return net.projects ? projected_step(from_input, states, w) : step(net.cell, from_input, states, w.state, w.state_bias);
}

// One direction of one layer over packed rows: step t has the first batch_sizes[t] sequences. Backwards, sequences join as they begin.
Tensor run_packed_layer(const Recurrence& net, const Tensor& rows, const LayerWeights& w, bool backwards, States& states) {
  const Tensor from_input = linear(rows, w.input, if_defined(w.input_bias));
  const std::vector<Tensor> inputs = from_input.split_with_sizes(net.batch_sizes);
  const size_t steps = inputs.size();
  std::vector<Tensor> outputs(steps);
  std::vector<std::vector<Tensor>> ended(states.size());  // the last states of sequences that have ended, the shortest first
  const auto rows_of = [](const States& all, int64_t begin, int64_t end) {
    States part;
    for (const Tensor& state : all) part.push_back(state.slice(0, begin, end));
    return part;
  };
  const States first = states;
  int64_t running = net.batch_sizes[backwards ? steps - 1 : 0];
  states = rows_of(first, 0, running);
  for (size_t i = 0; i < steps; ++i) {
    const size_t t = backwards ? steps - 1 - i : i;
    const int64_t count = net.batch_sizes[t];
    for (size_t k = 0; k < states.size(); ++k) {
      if (count > running) states[k] = cat({states[k], first[k].slice(0, running, count)});
      if (count < running) ended[k].push_back(states[k].slice(0, count, running));
    }
    if (count < running) states = rows_of(states, 0, count);
    running = count;
    states = any_step(net, inputs[t], states, w);
    outputs[t] = states[0];
  }
  for (size_t k = 0; k < states.size(); ++k) {
    if (ended[k].empty()) continue;
    ended[k].push_back(states[k]);
    std::reverse(ended[k].begin(), ended[k].end());
    states[k] = cat(ended[k]);
  }
  return cat(outputs);
}

// One direction of one layer.
Tensor run_layer(const Recurrence& net, const Tensor& sequence, const LayerWeights& w, bool backwards, States& states) {
  if (!net.batch_sizes.empty()) return run_packed_layer(net, sequence, w, backwards, states);
  const Tensor from_input = linear(sequence, w.input, if_defined(w.input_bias));
  if (!net.projects && is_one_operation(from_input, states, w.state, w.state_bias))
    return run_rows(net.cell, backwards, from_input, w.state, w.state_bias, states);
  const std::vector<Tensor> rows = parts_of(from_input);
  const size_t steps = rows.size();
  std::vector<Tensor> outputs(steps);
  for (size_t i = 0; i < steps; ++i) {
    const size_t t = backwards ? steps - 1 - i : i;
    states = any_step(net, rows[t], states, w);
    outputs[t] = states[0];
  }
  return stack(outputs);
}

// h, and of an LSTM c, are [layers * directions, batch, hidden].
void check_states(const Recurrence& net, int64_t directions, int64_t batch, const States& states) {
  const int64_t count = net.layers * directions, cells = net.cell == RecurrentCell::Lstm ? net.parameters[0].size(0) / 4 : 0;
  for (size_t i = 0; i < states.size(); ++i) {
    const Tensor& state = states[i];
    const int64_t hidden = i == 0 ? net.parameters[1].size(1) : cells;
    check(state.dim() == 3 && state.size(0) == count && state.size(1) == batch && state.size(2) == hidden, "Expected hidden",
          states.size() == 1 ? "" : text("[", i, "]"), " size (", count, ", ", batch, ", ", hidden, "), got ", state.sizes());
  }
}

}  // namespace

Tensor run(const Recurrence& net, const Tensor& input, States& states) {
  const int64_t directions = net.bidirectional ? 2 : 1;
  const bool packed = !net.batch_sizes.empty(), batch_first = net.batch_first && !packed;
  Tensor x = batch_first ? input.transpose(0, 1) : input;
  check_states(net, directions, packed ? net.batch_sizes[0] : x.size(1), states);
  std::vector<std::vector<Tensor>> last(states.size());
  const Tensor* weights = net.parameters.data();
  for (int64_t layer = 0; layer < net.layers; ++layer) {
    std::vector<Tensor> outputs;
    for (int64_t d = 0; d < directions; ++d) {
      const LayerWeights w = weights_at(net, weights);
      States current;
      for (const Tensor& all : states) current.push_back(all.select(0, layer * directions + d));
      outputs.push_back(run_layer(net, x, w, d == 1, current));
      for (size_t i = 0; i < states.size(); ++i) last[i].push_back(current[i]);
    }
    x = directions == 1 ? outputs[0] : cat(outputs, -1);
    if (layer + 1 < net.layers) x = dropout(x, net.dropout, net.training && net.dropout > 0);
  }
  for (size_t i = 0; i < states.size(); ++i) states[i] = stack(last[i]);
  return batch_first ? x.transpose(0, 1) : x;
}

// --- as functions

namespace {

void check_sequence(const Tensor& input, TensorList params, bool bias, int64_t layers, bool bidirectional) {
  check(input.dim() == 3, "Expected input to be 3D, got ", input.dim(), "D instead");
  const auto wanted = static_cast<size_t>(layers * (bidirectional ? 2 : 1) * (bias ? 4 : 2));
  check(params.size() == wanted, "expected ", wanted, " weights and biases, but got ", params.size());
}

}  // namespace

std::tuple<Tensor, Tensor, Tensor> lstm(const Operand& input, TensorList hx, TensorList params, bool has_biases, int64_t num_layers,
                                        double dropout, bool train, bool bidirectional, bool batch_first) {
  check(hx.size() == 2, "lstm expects two hidden states");
  check_sequence(input, params, has_biases, num_layers, bidirectional);
  States states = hx.vec();
  const Tensor out =
      run({RecurrentCell::Lstm, params.vec(), num_layers, has_biases, bidirectional, batch_first, dropout, train}, input, states);
  return {out, states[0], states[1]};
}
#define TENON_DEFINE(name, cell)                                                                                                      \
  std::tuple<Tensor, Tensor> name(const Operand& input, const Operand& hx, TensorList params, bool has_biases, int64_t num_layers,    \
                                  double dropout, bool train, bool bidirectional, bool batch_first) {                                 \
    check_sequence(input, params, has_biases, num_layers, bidirectional);                                                             \
    States states{hx};                                                                                                                \
    const Tensor out = run({cell, params.vec(), num_layers, has_biases, bidirectional, batch_first, dropout, train}, input, states);  \
    return {out, states[0]};                                                                                                          \
  }                                                                                                                                   \
  Tensor name##_cell(const Operand& input, const Operand& hx, const Operand& w_ih, const Operand& w_hh, const optional<Tensor>& b_ih, \
                     const optional<Tensor>& b_hh) {                                                                                  \
    return step(cell, linear(input, w_ih, b_ih), linear(hx, w_hh, b_hh), {hx}).back();                                                \
  }
TENON_DEFINE(gru, RecurrentCell::Gru)
TENON_DEFINE(rnn_tanh, RecurrentCell::Tanh)
TENON_DEFINE(rnn_relu, RecurrentCell::Relu)
#undef TENON_DEFINE
std::tuple<Tensor, Tensor> lstm_cell(const Operand& input, TensorList hx, const Operand& w_ih, const Operand& w_hh,
                                     const optional<Tensor>& b_ih, const optional<Tensor>& b_hh) {
  check(hx.size() == 2, "lstm_cell expects two hidden states");
  const std::vector<Tensor> made = lstm_step(linear(input, w_ih, b_ih), linear(hx[0], w_hh, b_hh), hx[1]);
  return {made[5], made[4]};
}

}  // namespace tenon
