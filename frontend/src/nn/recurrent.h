// Recurrent networks over a sequence: what the modules RNN, LSTM, GRU and the functions rnn_tanh, lstm, gru
// share.
#pragma once

#include <functional>
#include <vector>

#include "tenon/tensor.h"

namespace tenon {

using States = std::vector<Tensor>;  // h, or h and c
// The states after a step, from the products of the input and of h with their weights.
using RecurrentStep =
    std::function<States(const Tensor& from_input, const Tensor& from_state, const States& states)>;

States rnn_tanh_step(const Tensor& from_input, const Tensor& from_state, const States& states);
States rnn_relu_step(const Tensor& from_input, const Tensor& from_state, const States& states);
States lstm_step(const Tensor& from_input, const Tensor& from_state, const States& states);
States gru_step(const Tensor& from_input, const Tensor& from_state, const States& states);

struct Recurrence {
  std::vector<Tensor>
      parameters;  // of each layer, of each direction: weight_ih, weight_hh and, with bias, bias_ih, bias_hh
  int64_t layers;
  bool bias, bidirectional, batch_first;
  double dropout;  // between layers
  bool training;
};
// The last layer's h at each time; `states`, [layers * directions, batch, hidden] each, move on.
Tensor run(const Recurrence& net, const Tensor& input, States& states, const RecurrentStep& step);

}  // namespace tenon
