// The layers of sequences: recurrent networks and attention.
#include <cmath>
#include <ostream>

#include "frontend/src/neural/recurrent.h"
#include "frontend/src/nn/layer_text.h"
#include "frontend/src/tensor/call.h"
#include "frontend/src/tensor/impl.h"
#include "frontend/src/tensor/text.h"
#include "tenon/creation.h"
#include "tenon/native.h"
#include "tenon/nn/init.h"
#include "tenon/nn/layers.h"
#include "tenon/nn/multi_head_attention.h"
#include "tenon/random.h"

namespace tenon::nn {
namespace {

std::string parameter_name(const char* kind, int64_t layer, int64_t direction) {
  return text(kind, "_l", layer, direction ? "_reverse" : "");
}

}  // namespace

RecurrentBase::RecurrentBase(const RecurrentOptions& given, int64_t gates) : options_base(given) {
  const RecurrentOptions& o = options_base;
  check<ValueError>(o.hidden_size() > 0, "hidden_size must be greater than zero");
  check<ValueError>(o.num_layers() > 0, "num_layers must be greater than zero");
  check<ValueError>(o.dropout() >= 0 && o.dropout() <= 1,
                    "dropout should be a number in range [0, 1] representing the "
                    "probability of an element being zeroed");
  if (o.dropout() > 0 && o.num_layers() == 1)
    warn_user(
        text("dropout option adds dropout after all but last recurrent layer, so non-zero dropout expects num_layers "
             "greater than 1, but got dropout=",
             o.dropout(), " and num_layers=", o.num_layers()));
  check<ValueError>(o.proj_size() >= 0, "proj_size has to be a positive integer, got ", o.proj_size());
  check<ValueError>(o.proj_size() < o.hidden_size(), "proj_size has to be smaller than hidden_size.");
  const int64_t directions = o.bidirectional() ? 2 : 1, rows = gates * o.hidden_size();
  for (int64_t layer = 0; layer < o.num_layers(); ++layer) {
    const int64_t out = o.proj_size() > 0 ? o.proj_size() : o.hidden_size(), in = layer == 0 ? o.input_size() : out * directions;
    for (int64_t d = 0; d < directions; ++d) {
      register_parameter(parameter_name("weight_ih", layer, d), empty({rows, in}));
      register_parameter(parameter_name("weight_hh", layer, d), empty({rows, out}));
      if (o.bias()) register_parameter(parameter_name("bias_ih", layer, d), empty({rows}));
      if (o.bias()) register_parameter(parameter_name("bias_hh", layer, d), empty({rows}));
      if (o.proj_size() > 0) register_parameter(parameter_name("weight_hr", layer, d), empty({out, o.hidden_size()}));
    }
  }
  reset_parameters();
}

void RecurrentBase::reset_parameters() {
  const double bound = 1 / std::sqrt(static_cast<double>(options_base.hidden_size()));
  for (const Tensor& parameter : parameters()) init::uniform_(parameter, -bound, bound);
}

void RecurrentBase::fill(States& states, int64_t batch, const Tensor& like) const {
  const RecurrentOptions& o = options_base;
  for (size_t i = 0; i < states.size(); ++i) {
    const int64_t features = i == 0 && o.proj_size() > 0 ? o.proj_size() : o.hidden_size();
    if (states[i].defined()) continue;
    states[i] = zeros({o.num_layers() * (o.bidirectional() ? 2 : 1), batch, features}, like.options().requires_grad(false));
    if (states[i].is_cpu()) start_in_memory(states[i]);  // so the states before a single row are no constants either
  }
}

namespace {

Recurrence recurrence_of(const RecurrentOptions& o, RecurrentCell cell, std::vector<Tensor> parameters, bool training) {
  return {
      cell, std::move(parameters), o.num_layers(), o.bias(), o.bidirectional(), o.batch_first(), o.dropout(), training, o.proj_size() > 0,
      {}};
}

// As the functions are called.
const char* name_of(RecurrentCell cell) {
  switch (cell) {
    case RecurrentCell::Tanh: return "rnn_tanh";
    case RecurrentCell::Relu: return "rnn_relu";
    case RecurrentCell::Lstm: return "lstm";
    default: return "gru";
  }
}

}  // namespace

Tensor RecurrentBase::run(const Tensor& input, States& states, Cell cell) const {
  const CallScope call(name_of(cell), input);
  const RecurrentOptions& o = options_base;
  check(input.dim() == 3, printed_name(), ": Expected input to be 3D, got ", input.dim(), "D instead");
  check(input.size(2) == o.input_size(), "input.size(-1) must be equal to input_size. Expected ", o.input_size(), ", got ", input.size(2));
  check(input.size(o.batch_first() ? 1 : 0) > 0, "Expected sequence length to be larger than 0 in RNN");
  fill(states, input.size(o.batch_first() ? 0 : 1), input);
  return tenon::run(recurrence_of(o, cell, parameters(), is_training()), input, states);
}

utils::rnn::PackedSequence RecurrentBase::run(const utils::rnn::PackedSequence& input, States& states, Cell cell) const {
  const RecurrentOptions& o = options_base;
  const Tensor& rows = input.data();
  const CallScope call(name_of(cell), rows);
  check(rows.dim() == 2, "input must have 2 dimensions, got ", rows.dim());
  check(rows.size(1) == o.input_size(), "input.size(-1) must be equal to input_size. Expected ", o.input_size(), ", got ", rows.size(1));
  Recurrence net = recurrence_of(o, cell, parameters(), is_training());
  const Tensor sizes = input.batch_sizes().contiguous();
  net.batch_sizes.assign(sizes.data_ptr<int64_t>(), sizes.data_ptr<int64_t>() + sizes.numel());
  // The states are those of the sequences as they were given, the rows those of the sorted ones.
  if (input.sorted_indices().defined()) {
    for (Tensor& state : states) {
      if (state.defined()) state = state.index_select(1, input.sorted_indices());
    }
  }
  fill(states, net.batch_sizes[0], rows);
  const Tensor output = tenon::run(net, rows, states);
  if (input.unsorted_indices().defined()) {
    for (Tensor& state : states) state = state.index_select(1, input.unsorted_indices());
  }
  return utils::rnn::PackedSequence(output, input.batch_sizes(), input.sorted_indices(), input.unsorted_indices());
}

void RecurrentBase::pretty_print(std::ostream& out) const {
  const RecurrentOptions& options = options_base;
  Shown text(printed_name());
  if (as_libtorch()) {
    out << text NAMED(input_size) NAMED(hidden_size) NAMED(num_layers) NAMED(bias) NAMED(batch_first) NAMED(dropout) NAMED(bidirectional)
               .named_if(options.proj_size() > 0, "proj_size", options.proj_size())
               .text();
    return;
  }
  text BARE(input_size) BARE(hidden_size).named_if(options.proj_size() > 0, "proj_size", options.proj_size());
  text.named_if(options.num_layers() != 1, "num_layers", options.num_layers());
  text.named_if(!options.bias(), "bias", false) ON(batch_first).named_if(options.dropout() != 0, "dropout", options.dropout());
  out << text ON(bidirectional).text();
}

RNNImpl::Cell RNNImpl::cell() const { return options.nonlinearity() == Tag::Tanh ? RecurrentCell::Tanh : RecurrentCell::Relu; }
std::tuple<Tensor, Tensor> RNNImpl::forward(const Operand& input, Tensor hx) const {
  States states{hx};
  Tensor output = run(input, states, cell());
  return {output, states[0]};
}
std::tuple<utils::rnn::PackedSequence, Tensor> RNNImpl::forward_with_packed_input(const utils::rnn::PackedSequence& packed_input,
                                                                                  Tensor hx) const {
  States states{hx};
  auto output = run(packed_input, states, cell());
  return {output, states[0]};
}

std::tuple<Tensor, std::tuple<Tensor, Tensor>> LSTMImpl::forward(const Operand& input, optional<std::tuple<Tensor, Tensor>> hx) const {
  States states = hx ? States{std::get<0>(*hx), std::get<1>(*hx)} : States(2);
  Tensor output = run(input, states, RecurrentCell::Lstm);
  return {output, {states[0], states[1]}};
}
std::tuple<utils::rnn::PackedSequence, std::tuple<Tensor, Tensor>> LSTMImpl::forward_with_packed_input(
    const utils::rnn::PackedSequence& packed_input, optional<std::tuple<Tensor, Tensor>> hx) const {
  States states = hx ? States{std::get<0>(*hx), std::get<1>(*hx)} : States(2);
  auto output = run(packed_input, states, RecurrentCell::Lstm);
  return {output, {states[0], states[1]}};
}

std::tuple<Tensor, Tensor> GRUImpl::forward(const Operand& input, Tensor hx) const {
  States states{hx};
  Tensor output = run(input, states, RecurrentCell::Gru);
  return {output, states[0]};
}
std::tuple<utils::rnn::PackedSequence, Tensor> GRUImpl::forward_with_packed_input(const utils::rnn::PackedSequence& packed_input,
                                                                                  Tensor hx) const {
  States states{hx};
  auto output = run(packed_input, states, RecurrentCell::Gru);
  return {output, states[0]};
}

// --- one step

namespace {

RecurrentCellOptions common(const RNNCellOptions& o) { return RecurrentCellOptions(o.input_size(), o.hidden_size()).bias(o.bias()); }

}  // namespace

RecurrentCellBase::RecurrentCellBase(const RecurrentCellOptions& given, int64_t gates) : options_base(given) {
  const int64_t rows = gates * given.hidden_size();
  weight_ih = register_parameter("weight_ih", empty({rows, given.input_size()}));
  weight_hh = register_parameter("weight_hh", empty({rows, given.hidden_size()}));
  bias_ih = register_parameter("bias_ih", given.bias() ? empty({rows}) : Tensor(), given.bias());
  bias_hh = register_parameter("bias_hh", given.bias() ? empty({rows}) : Tensor(), given.bias());
  reset_parameters();
}

void RecurrentCellBase::reset_parameters() {
  const double bound = options_base.hidden_size() > 0 ? 1 / std::sqrt(static_cast<double>(options_base.hidden_size())) : 0;
  for (const Tensor& parameter : parameters()) init::uniform_(parameter, -bound, bound);
}

std::vector<Tensor> RecurrentCellBase::batch_of(const Tensor& input, std::vector<Tensor> states) const {
  const auto check_dims = [](const Tensor& x, const char* name) {
    check(x.dim() == 1 || x.dim() == 2, "Expected ", name, " to be 1D or 2D, got ", x.dim(), "D instead");
  };
  check_dims(input, "input");
  std::vector<Tensor> batch{input.dim() == 1 ? input.unsqueeze(0) : input};
  check(batch[0].size(1) == options_base.input_size(), "input has inconsistent input_size: got ", batch[0].size(1), " expected ",
        options_base.input_size());
  for (size_t i = 0; i < states.size(); ++i) {
    Tensor state =
        states[i].defined() ? states[i] : zeros({batch[0].size(0), options_base.hidden_size()}, input.options().requires_grad(false));
    if (states[i].defined()) check_dims(state, "hidden");
    if (state.dim() == 1) state = state.unsqueeze(0);
    check(state.size(0) == batch[0].size(0), "Input batch size ", batch[0].size(0), " doesn't match hidden", i, " batch size ",
          state.size(0));
    check(state.size(1) == options_base.hidden_size(), "hidden", i, " has inconsistent hidden_size: got ", state.size(1), ", expected ",
          options_base.hidden_size());
    batch.push_back(state);
  }
  return batch;
}

void RecurrentCellBase::print(std::ostream& out, const char* name, const char* nonlinearity) const {
  const RecurrentCellOptions& options = options_base;
  Shown text(name);
  text BARE(input_size) BARE(hidden_size).named_if(!options.bias(), "bias", false);
  if (nonlinearity) text.add(std::string("nonlinearity=") + nonlinearity);
  out << text.text();
}

RNNCellImpl::RNNCellImpl(const RNNCellOptions& given) : RecurrentCellBase(common(given), 1), options(given) {}
Tensor RNNCellImpl::forward(const Operand& input, const Operand& hx) const {
  const CallScope call(options.nonlinearity() == Tag::Tanh ? "rnn_tanh_cell" : "rnn_relu_cell", input, hx);
  const std::vector<Tensor> x = batch_of(input, {hx});
  const auto cell = options.nonlinearity() == Tag::Tanh ? rnn_tanh_cell : rnn_relu_cell;
  const Tensor h = cell(x[0], x[1], weight_ih, weight_hh, bias_ih, bias_hh);
  return input.dim() == 1 ? h.squeeze(0) : h;
}
void RNNCellImpl::pretty_print(std::ostream& out) const {
  print(out, "RNNCell", options.nonlinearity() == Tag::Tanh ? nullptr : as_libtorch() ? "kReLU" : "relu");
}

LSTMCellImpl::LSTMCellImpl(const LSTMCellOptions& given) : RecurrentCellBase(given, 4), options(given) {}
std::tuple<Tensor, Tensor> LSTMCellImpl::forward(const Operand& input, optional<std::tuple<Tensor, Tensor>> hx) const {
  const CallScope call("lstm_cell", input);
  const std::vector<Tensor> x = batch_of(input, hx ? std::vector{std::get<0>(*hx), std::get<1>(*hx)} : std::vector<Tensor>(2));
  auto [h, c] = lstm_cell(x[0], {x[1], x[2]}, weight_ih, weight_hh, bias_ih, bias_hh);
  if (input.dim() == 1) return {h.squeeze(0), c.squeeze(0)};
  return {h, c};
}
void LSTMCellImpl::pretty_print(std::ostream& out) const { print(out, "LSTMCell"); }

GRUCellImpl::GRUCellImpl(const GRUCellOptions& given) : RecurrentCellBase(given, 3), options(given) {}
Tensor GRUCellImpl::forward(const Operand& input, const Operand& hx) const {
  const CallScope call("gru_cell", input, hx);
  const std::vector<Tensor> x = batch_of(input, {hx});
  const Tensor h = gru_cell(x[0], x[1], weight_ih, weight_hh, bias_ih, bias_hh);
  return input.dim() == 1 ? h.squeeze(0) : h;
}
void GRUCellImpl::pretty_print(std::ostream& out) const { print(out, "GRUCell"); }

// --- attention

MultiheadAttentionImpl::MultiheadAttentionImpl(const MultiheadAttentionOptions& given) : options(given) {
  const int64_t size = options.embed_dim();
  check(options.num_heads() > 0 && size % options.num_heads() == 0, "embed_dim must be divisible by num_heads");
  head_dim = size / options.num_heads();
  _qkv_same_embed_dim = options.kdim() == size && options.vdim() == size;
  const auto add = [&](const char* name, bool wanted, std::vector<int64_t> sizes) {
    return wanted ? register_parameter(name, tenon::empty(sizes)) : Tensor();
  };
  in_proj_weight = add("in_proj_weight", _qkv_same_embed_dim, {3 * size, size});
  q_proj_weight = add("q_proj_weight", !_qkv_same_embed_dim, {size, size});
  k_proj_weight = add("k_proj_weight", !_qkv_same_embed_dim, {size, options.kdim()});
  v_proj_weight = add("v_proj_weight", !_qkv_same_embed_dim, {size, options.vdim()});
  in_proj_bias = add("in_proj_bias", options.bias(), {3 * size});
  out_proj = register_module("out_proj", Linear(LinearOptions(size, size).bias(options.bias())));
  bias_k = add("bias_k", options.add_bias_kv(), {1, 1, size});
  bias_v = add("bias_v", options.add_bias_kv(), {1, 1, size});
  _reset_parameters();
}

void MultiheadAttentionImpl::_reset_parameters() {
  for (const Tensor& weight : {in_proj_weight, q_proj_weight, k_proj_weight, v_proj_weight}) {
    if (weight.defined()) init::xavier_uniform_(weight);
  }
  if (in_proj_bias.defined()) {
    init::zeros_(in_proj_bias);
    init::zeros_(out_proj->bias);
  }
  if (!bias_k.defined()) return;
  init::xavier_normal_(bias_k);
  init::xavier_normal_(bias_v);
}

std::tuple<Tensor, Tensor> MultiheadAttentionImpl::forward(const Operand& query, const Operand& key, const Operand& value,
                                                           const Operand& key_padding_mask, bool need_weights, const Operand& attn_mask,
                                                           bool average_attn_weights) const {
  functional::MultiheadAttentionForwardFuncOptions call(options.embed_dim(), options.num_heads(), in_proj_weight, in_proj_bias, bias_k,
                                                        bias_v, options.add_zero_attn(), options.dropout(), out_proj->weight,
                                                        out_proj->bias);
  call.training(is_training()).key_padding_mask(key_padding_mask).need_weights(need_weights).attn_mask(attn_mask);
  call.average_attn_weights(average_attn_weights).use_separate_proj_weight(!_qkv_same_embed_dim);
  call.q_proj_weight(q_proj_weight).k_proj_weight(k_proj_weight).v_proj_weight(v_proj_weight);
  return functional::multi_head_attention_forward(query, key, value, call);
}

}  // namespace tenon::nn
