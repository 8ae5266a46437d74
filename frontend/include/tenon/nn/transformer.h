// Transformers (Vaswani et al., "Attention is all you need", 2017), each layer normalised after it: sequences are
// [length, batch, d_model], masks as MultiheadAttention takes them.
//
//   nn::TransformerEncoder encoder(nn::TransformerEncoderOptions(nn::TransformerEncoderLayerOptions(64, 4).dropout(0.1), 2));
//   Tensor y = encoder(x, mask);
#pragma once

#include "tenon/function.h"
#include "tenon/nn/containers.h"
#include "tenon/nn/layers.h"

namespace tenon::nn {

// Between the two linear layers: kReLU, kGELU, or a function of a tensor.
class FeedForwardActivation {
 public:
  FeedForwardActivation(enumtype::kReLU);
  FeedForwardActivation(enumtype::kGELU);
  template <typename F>
  requires std::is_invocable_r_v<Tensor, F&, const Tensor&> FeedForwardActivation(F f) : function_(std::move(f)) {}
  Tensor operator()(const Tensor& x) const { return function_(x); }

 private:
  Function<Tensor(const Tensor&)> function_;
};
using activation_t = FeedForwardActivation;

// The options of an encoder's and of a decoder's layer.
struct TransformerLayerOptions {
  TransformerLayerOptions(int64_t d_model, int64_t nhead) : d_model_(d_model), nhead_(nhead) {}
  TENON_ARG(int64_t, d_model);
  TENON_ARG(int64_t, nhead);
  TENON_ARG(int64_t, dim_feedforward) = 2048;
  TENON_ARG(double, dropout) = 0.1;
  TENON_ARG(FeedForwardActivation, activation) = kReLU;
};
using TransformerEncoderLayerOptions = TransformerLayerOptions;
using TransformerDecoderLayerOptions = TransformerLayerOptions;

// Attention to itself, then a network of two linear layers; each added to its input and normalised.
class TransformerEncoderLayerImpl : public Module {
 public:
  TransformerEncoderLayerImpl(int64_t d_model, int64_t nhead)
      : TransformerEncoderLayerImpl(TransformerEncoderLayerOptions(d_model, nhead)) {}
  explicit TransformerEncoderLayerImpl(const TransformerEncoderLayerOptions& options);
  Tensor forward(const Operand& src, const Operand& src_mask = {}, const Operand& src_key_padding_mask = {}) const;
  TransformerEncoderLayerOptions options;
  MultiheadAttention self_attn{nullptr};
  Linear linear1{nullptr}, linear2{nullptr};
  Dropout dropout{nullptr}, dropout1{nullptr}, dropout2{nullptr};
  LayerNorm norm1{nullptr}, norm2{nullptr};
};
TENON_MODULE(TransformerEncoderLayer);

// Attention to itself, attention to `memory` [source length, batch, d_model], then the network.
class TransformerDecoderLayerImpl : public Module {
 public:
  TransformerDecoderLayerImpl(int64_t d_model, int64_t nhead)
      : TransformerDecoderLayerImpl(TransformerDecoderLayerOptions(d_model, nhead)) {}
  explicit TransformerDecoderLayerImpl(const TransformerDecoderLayerOptions& options);
  Tensor forward(const Operand& tgt, const Operand& memory, const Operand& tgt_mask = {}, const Operand& memory_mask = {},
                 const Operand& tgt_key_padding_mask = {}, const Operand& memory_key_padding_mask = {}) const;
  TransformerDecoderLayerOptions options;
  MultiheadAttention self_attn{nullptr}, multihead_attn{nullptr};
  Linear linear1{nullptr}, linear2{nullptr};
  Dropout dropout{nullptr}, dropout1{nullptr}, dropout2{nullptr}, dropout3{nullptr};
  LayerNorm norm1{nullptr}, norm2{nullptr}, norm3{nullptr};
};
TENON_MODULE(TransformerDecoderLayer);

struct TransformerEncoderOptions {
  TransformerEncoderOptions(TransformerEncoderLayer encoder_layer, int64_t num_layers)
      : encoder_layer_(std::move(encoder_layer)), num_layers_(num_layers) {}
  TransformerEncoderOptions(const TransformerEncoderLayerOptions& encoder_layer_options, int64_t num_layers);
  TENON_ARG(TransformerEncoderLayer, encoder_layer);
  TENON_ARG(int64_t, num_layers);
  TENON_ARG(AnyModule, norm);
};
struct TransformerDecoderOptions {
  TransformerDecoderOptions(TransformerDecoderLayer decoder_layer, int64_t num_layers)
      : decoder_layer_(std::move(decoder_layer)), num_layers_(num_layers) {}
  TransformerDecoderOptions(const TransformerDecoderLayerOptions& decoder_layer_options, int64_t num_layers);
  TENON_ARG(TransformerDecoderLayer, decoder_layer);
  TENON_ARG(int64_t, num_layers);
  TENON_ARG(AnyModule, norm);
};

// Clones of a layer one after another, then the norm if there is one.
class TransformerEncoderImpl : public Module {
 public:
  TransformerEncoderImpl(TransformerEncoderLayer encoder_layer, int64_t num_layers)
      : TransformerEncoderImpl(TransformerEncoderOptions(std::move(encoder_layer), num_layers)) {}
  explicit TransformerEncoderImpl(const TransformerEncoderOptions& options);
  std::shared_ptr<Module> clone(const optional<Device>& device = nullopt) const override;
  Tensor forward(const Operand& src, const Operand& src_mask = {}, const Operand& src_key_padding_mask = {}) const;
  TransformerEncoderOptions options;
  ModuleList layers;
  AnyModule norm;
};
TENON_MODULE(TransformerEncoder);
class TransformerDecoderImpl : public Module {
 public:
  TransformerDecoderImpl(TransformerDecoderLayer decoder_layer, int64_t num_layers)
      : TransformerDecoderImpl(TransformerDecoderOptions(std::move(decoder_layer), num_layers)) {}
  explicit TransformerDecoderImpl(const TransformerDecoderOptions& options);
  std::shared_ptr<Module> clone(const optional<Device>& device = nullopt) const override;
  Tensor forward(const Operand& tgt, const Operand& memory, const Operand& tgt_mask = {}, const Operand& memory_mask = {},
                 const Operand& tgt_key_padding_mask = {}, const Operand& memory_key_padding_mask = {}) const;
  TransformerDecoderOptions options;
  ModuleList layers;
  AnyModule norm;
};
TENON_MODULE(TransformerDecoder);

struct TransformerOptions {
  TransformerOptions() = default;
  TransformerOptions(int64_t d_model, int64_t nhead) : d_model_(d_model), nhead_(nhead) {}
  TransformerOptions(int64_t d_model, int64_t nhead, int64_t num_encoder_layers, int64_t num_decoder_layers)
      : d_model_(d_model), nhead_(nhead), num_encoder_layers_(num_encoder_layers), num_decoder_layers_(num_decoder_layers) {}
  TENON_ARG(int64_t, d_model) = 512;
  TENON_ARG(int64_t, nhead) = 8;
  TENON_ARG(int64_t, num_encoder_layers) = 6;
  TENON_ARG(int64_t, num_decoder_layers) = 6;
  TENON_ARG(int64_t, dim_feedforward) = 2048;
  TENON_ARG(double, dropout) = 0.1;
  TENON_ARG(FeedForwardActivation, activation) = kReLU;
  TENON_ARG(AnyModule, custom_encoder);  // forward(src, src_mask, src_key_padding_mask)
  TENON_ARG(AnyModule, custom_decoder);  // forward(tgt, memory and four masks)
};
class TransformerImpl : public Module {
 public:
  TransformerImpl() : TransformerImpl(TransformerOptions()) {}
  TransformerImpl(int64_t d_model, int64_t nhead) : TransformerImpl(TransformerOptions(d_model, nhead)) {}
  explicit TransformerImpl(const TransformerOptions& options);
  void reset_parameters();  // Glorot's uniform distribution for all parameters of two dims
  std::shared_ptr<Module> clone(const optional<Device>& device = nullopt) const override;
  Tensor forward(const Operand& src, const Operand& tgt, const Operand& src_mask = {}, const Operand& tgt_mask = {},
                 const Operand& memory_mask = {}, const Operand& src_key_padding_mask = {}, const Operand& tgt_key_padding_mask = {},
                 const Operand& memory_key_padding_mask = {}) const;
  // [size, size]: 0 where a place may look, at itself and before, minus infinity after.
  static Tensor generate_square_subsequent_mask(int64_t size);
  TransformerOptions options;
  AnyModule encoder, decoder;
};
TENON_MODULE(Transformer);

}  // namespace tenon::nn
