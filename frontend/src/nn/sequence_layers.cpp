// The layers of sequences: recurrent networks and attention.
#include <cmath>
#include <ostream>

#include "frontend/src/nn/attention.h"
#include "frontend/src/nn/layer_text.h"
#include "frontend/src/nn/recurrent.h"
#include "frontend/src/tensor/call.h"
#include "frontend/src/tensor/impl.h"
#include "frontend/src/tensor/text.h"
#include "tenon/creation.h"
#include "tenon/native.h"
#include "tenon/nn/init.h"
#include "tenon/nn/layers.h"
#include "tenon/random.h"

namespace tenon::nn {
namespace {

std::string parameter_name(const char* kind, int64_t layer, int64_t direction) {
  return text(kind, "_l", layer, direction ? "_reverse" : "");
}

}  // namespace

RecurrentBase::RecurrentBase(const RecurrentOptions& given, int64_t gates)
    : options_base(given) {
  const RecurrentOptions& o = options_base;
  check<ValueError>(o.hidden_size() > 0, "hidden_size must be greater than zero");
  check<ValueError>(o.num_layers() > 0, "num_layers must be greater than zero");
  check<ValueError>(o.dropout() >= 0 && o.dropout() <= 1,
                    "dropout should be a number in range [0, 1] representing the "
                    "probability of an element being zeroed");
  if (o.dropout() > 0 && o.num_layers() == 1)
    warn_user(text(
        "dropout option adds dropout after all but last recurrent layer, so non-zero dropout expects num_layers "
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
  return {cell, std::move(parameters), o.num_layers(), o.bias(), o.bidirectional(), o.batch_first(), o.dropout(), training, o.proj_size() > 0, {}};
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
  check(input.size(2) == o.input_size(), "input.size(-1) must be equal to input_size. Expected ",
        o.input_size(), ", got ", input.size(2));
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
    out << text NAMED(input_size) NAMED(hidden_size) NAMED(num_layers) NAMED(bias) NAMED(batch_first) NAMED(dropout) NAMED(bidirectional).named_if(options.proj_size() > 0, "proj_size", options.proj_size()).text();
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
std::tuple<utils::rnn::PackedSequence, Tensor> RNNImpl::forward_with_packed_input(const utils::rnn::PackedSequence& packed_input, Tensor hx) const {
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
std::tuple<utils::rnn::PackedSequence, Tensor> GRUImpl::forward_with_packed_input(const utils::rnn::PackedSequence& packed_input, Tensor hx) const {
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
    Tensor state = states[i].defined() ? states[i] : zeros({batch[0].size(0), options_base.hidden_size()}, input.options().requires_grad(false));
    if (states[i].defined()) check_dims(state, "hidden");
    if (state.dim() == 1) state = state.unsqueeze(0);
    check(state.size(0) == batch[0].size(0), "Input batch size ", batch[0].size(0), " doesn't match hidden", i, " batch size ", state.size(0));
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

namespace {

// The masks of a layer as one for scaled_dot_product_attention: theirs are true where nothing takes part. Nothing if there is none.
MaybeTensor joined_mask(const Tensor& mask, const Tensor& padding) {
  if (!padding.defined()) return !mask.defined() ? MaybeTensor() : mask.scalar_type() == kBool ? logical_not(mask) : mask;
  if (mask.defined() && mask.scalar_type() != kBool) return where(padding, -HUGE_VAL, mask);
  return logical_not(mask.defined() ? logical_or(mask, padding) : padding);
}

}  // namespace

MultiheadAttentionImpl::MultiheadAttentionImpl(const MultiheadAttentionOptions& given) : options(given) {
  const int64_t size = options.embed_dim();
  check(options.num_heads() > 0 && size % options.num_heads() == 0,
        "embed_dim must be divisible by num_heads");
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

std::tuple<Tensor, Tensor> MultiheadAttentionImpl::forward(const Operand& query, const Operand& key,
                                                           const Operand& value,
                                                           const Operand& key_padding_mask, bool need_weights,
                                                           const Operand& attn_mask,
                                                           bool average_attn_weights) const {
  const CallScope call("multi_head_attention_forward", query, key, value);
  const int64_t size = options.embed_dim(), heads = options.num_heads(), depth = size / heads;
  check(query.dim() == 3 && key.dim() == 3 && value.dim() == 3,
        "MultiheadAttention: query, key and value are [length, batch, features]");
  check(query.size(2) == size, "was expecting embedding dimension of ", size, ", but got ", query.size(2));
  if (_qkv_same_embed_dim)
    check(key.sizes() == value.sizes(), "key shape ", key.sizes(), " does not match value shape ", value.sizes());
  else
    check(key.sizes().slice(0, 2) == value.sizes().slice(0, 2), "key's sequence and batch dims ", key.sizes().slice(0, 2),
          " do not match value's ", value.sizes().slice(0, 2));
  const int64_t length = query.size(0), batch = query.size(1), given = key.size(0);
  const int64_t added = options.add_bias_kv() + options.add_zero_attn(), sources = given + added;
  // [batch, heads, length, depth] of x under `parts` of the three projections from `first` on, as one product. Nothing is copied, but each
  // part is a value of its own: its gradient is that of a chunk, where a view's would be written into the memory of all.
  const auto heads_of = [&](const Tensor& x, int64_t first, int64_t parts) {
    const Tensor bias = options.bias() ? in_proj_bias.narrow(0, first * size, parts * size) : Tensor();
    const Tensor weight = _qkv_same_embed_dim ? in_proj_weight.narrow(0, first * size, parts * size)
                          : first == 0        ? q_proj_weight
                          : first == 1        ? k_proj_weight
                                              : v_proj_weight;
    std::vector<Tensor> results = functional::linear(x, weight, bias).chunk(parts, 2);
    for (Tensor& result : results) result = result.contiguous().reshape({x.size(0), batch, heads, depth}).permute({1, 2, 0, 3});
    return results;
  };
  const bool drops = is_training() && options.dropout() > 0;
  const auto out = [&](const Tensor& mixed) { return out_proj(mixed.permute({2, 0, 1, 3}).reshape({length, batch, size})); };
  Tensor mask = attn_mask, padding = key_padding_mask;
  if (added && mask.defined()) mask = constant_pad_nd(mask, {0, added});
  if (added && padding.defined()) padding = constant_pad_nd(padding, {0, added});
  if (mask.defined() && mask.dim() == 3) mask = mask.reshape({batch, heads, length, sources});
  if (padding.defined()) padding = padding.reshape({batch, 1, 1, sources});
  const bool mask_adds = mask.defined() && mask.scalar_type() != kBool;
  const bool masks_fit = (!mask_adds || mask.scalar_type() == query.scalar_type()) && (!padding.defined() || padding.scalar_type() == kBool);
  const bool one_source = key.is_same(value) && _qkv_same_embed_dim, packed = one_source && query.is_same(key);
  std::vector<Tensor> projected = heads_of(query, 0, packed ? 3 : 1);
  const auto append = [&](const Tensor& x, int64_t first, int64_t parts) {
    for (Tensor& part : heads_of(x, first, parts)) projected.push_back(std::move(part));
  };
  if (!packed) append(key, 1, one_source ? 2 : 1);
  if (!one_source) append(value, 2, 1);
  const auto with_added = [&](const Tensor& x, const Tensor& learned) {
    std::vector<Tensor> parts{x};
    if (learned.defined()) parts.push_back(learned.reshape({1, heads, 1, depth}).expand({batch, heads, 1, depth}));
    if (options.add_zero_attn()) parts.push_back(zeros({batch, heads, 1, depth}, x.options()));
    return parts.size() == 1 ? x : cat(parts, 2);
  };
  const Tensor q = projected[0], k = with_added(projected[1], bias_k), v = with_added(projected[2], bias_v);
  const bool at_once = !drops && masks_fit && attends_at_once(q, k, v);
  Tensor mixed;
  if (at_once) mixed = out(scaled_dot_product_attention(q, k, v, joined_mask(mask, padding)));
  if (at_once && !need_weights) return {mixed, Tensor()};
  // Weights are a value apart then: nothing computes them for a program that only looks at the result.
  Tensor scores = matmul(q * std::sqrt(1 / static_cast<double>(depth)), k.transpose(2, 3));  // a half might not hold the product itself
  const double minus_infinity = -HUGE_VAL;
  if (mask.defined()) scores = mask_adds ? scores + mask : scores.masked_fill(mask, minus_infinity);
  if (padding.defined()) scores = scores.masked_fill(padding, minus_infinity);
  const Tensor attention = softmax(scores, -1);
  if (!at_once) mixed = out(matmul(dropout(attention, options.dropout(), drops), v));
  if (!need_weights) return {mixed, Tensor()};
  return {mixed, average_attn_weights ? attention.mean({1}) : attention};
}

}  // namespace tenon::nn
