// Recurrent networks over a sequence: what the modules RNN, LSTM, GRU and the functions rnn_tanh, lstm, gru
// share.
#pragma once

#include <cstdint>
#include <vector>

#include "tenon/tensor.h"

namespace tenon {

using States = std::vector<Tensor>;  // h, or h and c
namespace detail {
enum class RecurrentCell : uint8_t { Tanh, Relu, Lstm, Gru };
}
using detail::RecurrentCell;

struct Recurrence {
  RecurrentCell cell;
  std::vector<Tensor>
      parameters;  // of each layer, of each direction: weight_ih, weight_hh and, with bias, bias_ih, bias_hh; with a projection weight_hr
  int64_t layers;
  bool bias, bidirectional, batch_first;
  double dropout;  // between layers
  bool training;
  bool projects = false;                  // h is the projection of an LSTM's output
  std::vector<int64_t> batch_sizes = {};  // of a packed sequence: the rows of each step, which lie one behind the other
};
// The last layer's h at each time; `states`, [layers * directions, batch, hidden] each, move on. input: [time, batch, features], or the
// packed rows [rows, features].
Tensor run(const Recurrence& net, const Tensor& input, States& states);

}  // namespace tenon
