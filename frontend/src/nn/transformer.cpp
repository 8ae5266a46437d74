#include "tenon/nn/transformer.h"

#include <limits>

#include "frontend/src/tensor/text.h"
#include "tenon/creation.h"
#include "tenon/generator.h"
#include "tenon/neural.h"
#include "tenon/nn/init.h"

namespace tenon::nn {
namespace {

MultiheadAttention attention_of(const TransformerLayerOptions& o) {
  return MultiheadAttention(MultiheadAttentionOptions(o.d_model(), o.nhead()).dropout(o.dropout()));
}
LayerNorm norm_of(int64_t features) { return LayerNorm(LayerNormOptions({features})); }

// A query's attention to a sequence.
Tensor attend(const MultiheadAttention& attention, const Tensor& query, const Tensor& sequence, const Operand& mask,
              const Operand& padding) {
  return std::get<0>(attention->forward(query, sequence, sequence, padding, /*need_weights=*/false, mask));
}

template <typename Layer>
Tensor feed_forward(const Layer& layer, const Tensor& x) {
  return layer.linear2(layer.dropout(layer.options.activation()(layer.linear1(x))));
}

// The layers of a stack, and its norm. Copies of a layer draw no random numbers, so that a seed gives the values of PyTorch.
template <typename Stack, typename Layer>
void fill(Stack& stack, const Layer& layer) {
  stack.layers = stack.register_module("layers", ModuleList());
  Generator generator = tenon::detail::getDefaultCPUGenerator();
  const Tensor state = generator.get_state();
  for (int64_t i = 0; i < stack.options.num_layers(); ++i) stack.layers->push_back(layer->clone());
  generator.set_state(state);
  stack.norm = stack.options.norm();
  if (!stack.norm.is_empty()) stack.register_module("norm", stack.norm.ptr());
}
// Options for a clone: its own norm.
template <typename Stack>
std::shared_ptr<Stack> with_own_norm(const Stack& stack, const optional<Device>& device) {
  auto options = stack.options;
  if (!stack.norm.is_empty()) options.norm(stack.norm.clone(device));
  return std::make_shared<Stack>(options);
}

}  // namespace

FeedForwardActivation::FeedForwardActivation(enumtype::kReLU) : function_([](const Tensor& x) { return relu(x); }) {}
FeedForwardActivation::FeedForwardActivation(enumtype::kGELU) : function_([](const Tensor& x) { return gelu(x); }) {}

// --- layers

TransformerEncoderLayerImpl::TransformerEncoderLayerImpl(const TransformerEncoderLayerOptions& given) : options(given) {
  const int64_t size = options.d_model(), hidden = options.dim_feedforward();
  self_attn = register_module("self_attn", attention_of(options));
  linear1 = register_module("linear1", Linear(size, hidden));
  dropout = register_module("dropout", Dropout(options.dropout()));
  linear2 = register_module("linear2", Linear(hidden, size));
  norm1 = register_module("norm1", norm_of(size));
  norm2 = register_module("norm2", norm_of(size));
  dropout1 = register_module("dropout1", Dropout(options.dropout()));
  dropout2 = register_module("dropout2", Dropout(options.dropout()));
}

Tensor TransformerEncoderLayerImpl::forward(const Operand& src, const Operand& src_mask, const Operand& src_key_padding_mask) const {
  const Tensor x = norm1(src + dropout1(attend(self_attn, src, src, src_mask, src_key_padding_mask)));
  return norm2(x + dropout2(feed_forward(*this, x)));
}

TransformerDecoderLayerImpl::TransformerDecoderLayerImpl(const TransformerDecoderLayerOptions& given) : options(given) {
  const int64_t size = options.d_model(), hidden = options.dim_feedforward();
  self_attn = register_module("self_attn", attention_of(options));
  multihead_attn = register_module("multihead_attn", attention_of(options));
  linear1 = register_module("linear1", Linear(size, hidden));
  dropout = register_module("dropout", Dropout(options.dropout()));
  linear2 = register_module("linear2", Linear(hidden, size));
  norm1 = register_module("norm1", norm_of(size));
  norm2 = register_module("norm2", norm_of(size));
  norm3 = register_module("norm3", norm_of(size));
  dropout1 = register_module("dropout1", Dropout(options.dropout()));
  dropout2 = register_module("dropout2", Dropout(options.dropout()));
  dropout3 = register_module("dropout3", Dropout(options.dropout()));
}

Tensor TransformerDecoderLayerImpl::forward(const Operand& tgt, const Operand& memory, const Operand& tgt_mask, const Operand& memory_mask,
                                            const Operand& tgt_key_padding_mask, const Operand& memory_key_padding_mask) const {
  Tensor x = norm1(tgt + dropout1(attend(self_attn, tgt, tgt, tgt_mask, tgt_key_padding_mask)));
  x = norm2(x + dropout2(attend(multihead_attn, x, memory, memory_mask, memory_key_padding_mask)));
  return norm3(x + dropout3(feed_forward(*this, x)));
}

// --- stacks of layers

TransformerEncoderOptions::TransformerEncoderOptions(const TransformerEncoderLayerOptions& layer, int64_t num_layers)
    : encoder_layer_(layer), num_layers_(num_layers) {}

TransformerEncoderImpl::TransformerEncoderImpl(const TransformerEncoderOptions& given) : options(given) {
  fill(*this, options.encoder_layer());
}
std::shared_ptr<Module> TransformerEncoderImpl::clone(const optional<Device>& device) const {
  const auto copy = with_own_norm(*this, device);
  copy->take_values(*this, device);
  return copy;
}
Tensor TransformerEncoderImpl::forward(const Operand& src, const Operand& src_mask, const Operand& src_key_padding_mask) const {
  Tensor x = src;
  for (const auto& layer : *layers) x = layer->as<TransformerEncoderLayer>()->forward(x, src_mask, src_key_padding_mask);
  return norm.is_empty() ? x : norm.forward(x);
}

TransformerDecoderOptions::TransformerDecoderOptions(const TransformerDecoderLayerOptions& layer, int64_t num_layers)
    : decoder_layer_(layer), num_layers_(num_layers) {}

TransformerDecoderImpl::TransformerDecoderImpl(const TransformerDecoderOptions& given) : options(given) {
  fill(*this, options.decoder_layer());
}
std::shared_ptr<Module> TransformerDecoderImpl::clone(const optional<Device>& device) const {
  const auto copy = with_own_norm(*this, device);
  copy->take_values(*this, device);
  return copy;
}
Tensor TransformerDecoderImpl::forward(const Operand& tgt, const Operand& memory, const Operand& tgt_mask, const Operand& memory_mask,
                                       const Operand& tgt_key_padding_mask, const Operand& memory_key_padding_mask) const {
  Tensor x = tgt;
  for (const auto& layer : *layers)
    x = layer->as<TransformerDecoderLayer>()->forward(x, memory, tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask);
  return norm.is_empty() ? x : norm.forward(x);
}

// --- encoder and decoder

TransformerImpl::TransformerImpl(const TransformerOptions& given) : options(given) {
  const TransformerOptions& o = options;
  const auto layer =
      TransformerLayerOptions(o.d_model(), o.nhead()).dim_feedforward(o.dim_feedforward()).dropout(o.dropout()).activation(o.activation());
  encoder = o.custom_encoder();
  if (encoder.is_empty()) encoder = TransformerEncoder(TransformerEncoderOptions(layer, o.num_encoder_layers()).norm(norm_of(o.d_model())));
  register_module("encoder", encoder.ptr());
  decoder = o.custom_decoder();
  if (decoder.is_empty()) decoder = TransformerDecoder(TransformerDecoderOptions(layer, o.num_decoder_layers()).norm(norm_of(o.d_model())));
  register_module("decoder", decoder.ptr());
  reset_parameters();
}

void TransformerImpl::reset_parameters() {
  for (const Tensor& parameter : parameters()) {
    if (parameter.dim() > 1) init::xavier_uniform_(parameter);
  }
}

std::shared_ptr<Module> TransformerImpl::clone(const optional<Device>& device) const {
  auto own = options;
  if (!own.custom_encoder().is_empty()) own.custom_encoder(encoder.clone(device));
  if (!own.custom_decoder().is_empty()) own.custom_decoder(decoder.clone(device));
  const auto copy = std::make_shared<TransformerImpl>(own);
  copy->take_values(*this, device);
  return copy;
}

Tensor TransformerImpl::forward(const Operand& src, const Operand& tgt, const Operand& src_mask, const Operand& tgt_mask,
                                const Operand& memory_mask, const Operand& src_key_padding_mask, const Operand& tgt_key_padding_mask,
                                const Operand& memory_key_padding_mask) const {
  check(src.dim() == 3 && tgt.dim() == 3, "src and tgt should have 3 dimensions, but got ", src.dim(), " and ", tgt.dim());
  check(src.size(1) == tgt.size(1), "src and tgt should have equal batch size (at dim 1), but got ", src.size(1), " and ", tgt.size(1));
  check(src.size(2) == options.d_model() && tgt.size(2) == options.d_model(),
        "src and tgt should have same feature size as d_model (at dim 2), but got ", src.size(2), " and ", tgt.size(2),
        " while d_model is ", options.d_model());
  const Tensor memory = encoder.forward(src, src_mask, src_key_padding_mask);
  return decoder.forward(tgt, memory, tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask);
}

Tensor TransformerImpl::generate_square_subsequent_mask(int64_t size) {
  check(size >= 0, "Input size must be non-negative to generate a valid square subsequent mask, but got ", size);
  return triu(full({size, size}, -std::numeric_limits<float>::infinity()), 1);
}

}  // namespace tenon::nn
