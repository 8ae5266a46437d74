// The layers: modules around the functions of tenon/nn/functional.h. Parameters are drawn in the order in
// which PyTorch draws them, so that a seed gives the same network.
#pragma once

#include "tenon/nn/functional.h"
#include "tenon/nn/module.h"

namespace tenon {
namespace detail {
enum class RecurrentCell : uint8_t;
}
}

namespace tenon::nn {

// --- linear maps
struct LinearOptions {
  LinearOptions(int64_t in_features, int64_t out_features)
      : in_features_(in_features), out_features_(out_features) {}
  TENON_ARG(int64_t, in_features);
  TENON_ARG(int64_t, out_features);
  TENON_ARG(bool, bias) = true;
};
class LinearImpl : public Module {  // [*, in] -> [*, out]
 public:
  LinearImpl(int64_t in_features, int64_t out_features)
      : LinearImpl(LinearOptions(in_features, out_features)) {}
  explicit LinearImpl(const LinearOptions& options);
  void reset_parameters();
  Tensor forward(const Operand& input) const;
  void pretty_print(std::ostream& out) const override;
  LinearOptions options;
  Tensor weight, bias;
};
TENON_MODULE(Linear);

struct BilinearOptions {
  BilinearOptions(int64_t in1_features, int64_t in2_features, int64_t out_features)
      : in1_features_(in1_features), in2_features_(in2_features), out_features_(out_features) {}
  TENON_ARG(int64_t, in1_features);
  TENON_ARG(int64_t, in2_features);
  TENON_ARG(int64_t, out_features);
  TENON_ARG(bool, bias) = true;
};
class BilinearImpl : public Module {
 public:
  BilinearImpl(int64_t in1, int64_t in2, int64_t out) : BilinearImpl(BilinearOptions(in1, in2, out)) {}
  explicit BilinearImpl(const BilinearOptions& options);
  void reset_parameters();
  Tensor forward(const Operand& input1, const Operand& input2) const;
  void pretty_print(std::ostream& out) const override;
  BilinearOptions options;
  Tensor weight, bias;
};
TENON_MODULE(Bilinear);

class IdentityImpl : public Module {
 public:
  Tensor forward(const Operand& input) const { return input; }
  void pretty_print(std::ostream& out) const override;
};
TENON_MODULE(Identity);

// A function as a module. It takes a tensor and the arguments that follow it here, and gives a tensor:
//   Sequential(Linear(3, 4), Functional(relu), Functional(elu, 1, 1, 1))
class FunctionalImpl : public Module {
 public:
  using Function = tenon::Function<Tensor(Tensor)>;
  explicit FunctionalImpl(Function function) : function_(std::move(function)) {}
  template <typename F, typename... Args>
  requires(sizeof...(Args) > 0) explicit FunctionalImpl(F function, Args&&... args)
      : function_([function = std::move(function), ... args = std::decay_t<Args>(std::forward<Args>(args))](
                      const Tensor& x) mutable -> Tensor { return function(x, args...); }) {}
  Tensor forward(Tensor input) const { return function_(std::move(input)); }
  bool is_serializable() const override { return false; }
  void pretty_print(std::ostream& out) const override;

 private:
  Function function_;
};
TENON_MODULE(Functional);

struct FlattenOptions {
  TENON_ARG(int64_t, start_dim) = 1;
  TENON_ARG(int64_t, end_dim) = -1;
};
class FlattenImpl : public Module {
 public:
  explicit FlattenImpl(const FlattenOptions& options_ = {}) : options(options_) {}
  Tensor forward(const Operand& input) const { return input.flatten(options.start_dim(), options.end_dim()); }
  void pretty_print(std::ostream& out) const override;
  FlattenOptions options;
};
TENON_MODULE(Flatten);

struct UnflattenOptions {
  UnflattenOptions(int64_t dim, std::vector<int64_t> sizes) : dim_(dim), sizes_(std::move(sizes)) {}
  TENON_ARG(int64_t, dim);
  TENON_ARG(std::vector<int64_t>, sizes);
};
class UnflattenImpl : public Module {
 public:
  UnflattenImpl(int64_t dim, std::vector<int64_t> sizes) : options(dim, std::move(sizes)) {}
  explicit UnflattenImpl(const UnflattenOptions& options_) : options(options_) {}
  Tensor forward(const Operand& input) const { return input.unflatten(options.dim(), options.sizes()); }
  void pretty_print(std::ostream& out) const override;
  UnflattenOptions options;
};
TENON_MODULE(Unflatten);

// --- convolution
template <size_t D>
struct ConvOptions {
  ConvOptions(int64_t in_channels, int64_t out_channels, ExpandingArray<D> kernel_size)
      : in_channels_(in_channels), out_channels_(out_channels), kernel_size_(kernel_size) {}
  TENON_ARG(int64_t, in_channels);
  TENON_ARG(int64_t, out_channels);
  TENON_ARG(ExpandingArray<D>, kernel_size);
  TENON_ARG(ExpandingArray<D>, stride) = 1;
  TENON_ARG(ConvPadding<D>, padding) = 0;
  TENON_ARG(ExpandingArray<D>, dilation) = 1;
  TENON_ARG(int64_t, groups) = 1;
  TENON_ARG(bool, bias) = true;
  TENON_ARG(PadMode, padding_mode) = nn::PadMode(kConstant);  // kConstant: zeros
};
template <size_t D>
struct ConvTransposeOptions {
  ConvTransposeOptions(int64_t in_channels, int64_t out_channels, ExpandingArray<D> kernel_size)
      : in_channels_(in_channels), out_channels_(out_channels), kernel_size_(kernel_size) {}
  TENON_ARG(int64_t, in_channels);
  TENON_ARG(int64_t, out_channels);
  TENON_ARG(ExpandingArray<D>, kernel_size);
  TENON_ARG(ExpandingArray<D>, stride) = 1;
  TENON_ARG(ExpandingArray<D>, padding) = 0;
  TENON_ARG(ExpandingArray<D>, output_padding) = 0;
  TENON_ARG(int64_t, groups) = 1;
  TENON_ARG(bool, bias) = true;
  TENON_ARG(ExpandingArray<D>, dilation) = 1;
};
template <size_t D>
class ConvNdImpl : public Module {  // [N, in, *] -> [N, out, *], the N optional
 public:
  explicit ConvNdImpl(const ConvOptions<D>& options);
  void reset_parameters();
  Tensor forward(const Operand& input) const;
  void pretty_print(std::ostream& out) const override;
  ConvOptions<D> options;
  Tensor weight, bias;
};
template <size_t D>
class ConvTransposeNdImpl : public Module {
 public:
  explicit ConvTransposeNdImpl(const ConvTransposeOptions<D>& options);
  void reset_parameters();
  Tensor forward(const Operand& input) const;
  void pretty_print(std::ostream& out) const override;
  ConvTransposeOptions<D> options;
  Tensor weight, bias;
};
#define TENON_LAYER(D)                                                              \
  using Conv##D##dOptions = ConvOptions<D>;                                         \
  using ConvTranspose##D##dOptions = ConvTransposeOptions<D>;                       \
  extern template class ConvNdImpl<D>;                                              \
  extern template class ConvTransposeNdImpl<D>;                                     \
  class Conv##D##dImpl : public ConvNdImpl<D> {                                     \
   public:                                                                          \
    using ConvNdImpl<D>::ConvNdImpl;                                                \
    Conv##D##dImpl(int64_t in, int64_t out, ExpandingArray<D> kernel_size)          \
        : ConvNdImpl<D>(ConvOptions<D>(in, out, kernel_size)) {}                    \
  };                                                                                \
  class ConvTranspose##D##dImpl : public ConvTransposeNdImpl<D> {                   \
   public:                                                                          \
    using ConvTransposeNdImpl<D>::ConvTransposeNdImpl;                              \
    ConvTranspose##D##dImpl(int64_t in, int64_t out, ExpandingArray<D> kernel_size) \
        : ConvTransposeNdImpl<D>(ConvTransposeOptions<D>(in, out, kernel_size)) {}  \
  };                                                                                \
  TENON_MODULE(Conv##D##d);                                                         \
  TENON_MODULE(ConvTranspose##D##d);
TENON_LAYER(1)
TENON_LAYER(2)
TENON_LAYER(3)
#undef TENON_LAYER

// --- pooling
#define TENON_LAYER(Name, Size)                                             \
  class Name##Impl : public Module {                                        \
   public:                                                                  \
    explicit Name##Impl(const Name##Options& options_) : options(options_) {} \
    Name##Impl(Size size) : options(size) {}                                \
    Tensor forward(const Operand& input) const;                              \
    void pretty_print(std::ostream& out) const override;                    \
    Name##Options options;                                                  \
  };                                                                        \
  TENON_MODULE(Name);
TENON_LAYER(MaxPool1d, ExpandingArray<1>)
TENON_LAYER(MaxPool2d, ExpandingArray<2>)
TENON_LAYER(MaxPool3d, ExpandingArray<3>)
TENON_LAYER(AvgPool1d, ExpandingArray<1>)
TENON_LAYER(AvgPool2d, ExpandingArray<2>)
TENON_LAYER(AvgPool3d, ExpandingArray<3>)
TENON_LAYER(AdaptiveAvgPool1d, ExpandingArrayWithOptionalElem<1>)
TENON_LAYER(AdaptiveAvgPool2d, ExpandingArrayWithOptionalElem<2>)
TENON_LAYER(AdaptiveAvgPool3d, ExpandingArrayWithOptionalElem<3>)
TENON_LAYER(AdaptiveMaxPool1d, ExpandingArrayWithOptionalElem<1>)
TENON_LAYER(AdaptiveMaxPool2d, ExpandingArrayWithOptionalElem<2>)
TENON_LAYER(AdaptiveMaxPool3d, ExpandingArrayWithOptionalElem<3>)
#undef TENON_LAYER

// --- activations
#define TENON_LAYER(Name)                                                        \
  class Name##Impl : public Module {                                             \
   public:                                                                       \
    explicit Name##Impl(const Name##Options& options_ = {}) : options(options_) {} \
    Tensor forward(const Operand& input) const;                                   \
    void pretty_print(std::ostream& out) const override;                         \
    Name##Options options;                                                       \
  };                                                                             \
  TENON_MODULE(Name);
TENON_LAYER(ReLU)
TENON_LAYER(ReLU6)
TENON_LAYER(SELU)
TENON_LAYER(ELU)
TENON_LAYER(CELU)
TENON_LAYER(GELU)
TENON_LAYER(GLU)
TENON_LAYER(LeakyReLU)
TENON_LAYER(Hardtanh)
TENON_LAYER(Hardshrink)
TENON_LAYER(Softshrink)
TENON_LAYER(Softplus)
#undef TENON_LAYER
#define TENON_LAYER(Name)                                \
  class Name##Impl : public Module {                     \
   public:                                               \
    Tensor forward(const Operand& input) const;           \
    void pretty_print(std::ostream& out) const override; \
  };                                                     \
  TENON_MODULE(Name);
TENON_LAYER(Sigmoid)
TENON_LAYER(Tanh)
TENON_LAYER(SiLU)
TENON_LAYER(Mish)
TENON_LAYER(Hardsigmoid)
TENON_LAYER(Hardswish)
TENON_LAYER(Softsign)
TENON_LAYER(Tanhshrink)
TENON_LAYER(LogSigmoid)
#undef TENON_LAYER
struct DimOptions {
  DimOptions(int64_t dim) : dim_(dim) {}
  TENON_ARG(int64_t, dim);
};
#define TENON_LAYER(Name)                                                   \
  using Name##Options = DimOptions;                                         \
  class Name##Impl : public Module {                                        \
   public:                                                                  \
    Name##Impl(int64_t dim) : options(dim) {}                               \
    explicit Name##Impl(const Name##Options& options_) : options(options_) {} \
    Tensor forward(const Operand& input) const;                              \
    void pretty_print(std::ostream& out) const override;                    \
    Name##Options options;                                                  \
  };                                                                        \
  TENON_MODULE(Name);
TENON_LAYER(Softmax)
TENON_LAYER(LogSoftmax)
TENON_LAYER(Softmin)
#undef TENON_LAYER
struct PReLUOptions {
  TENON_ARG(int64_t, num_parameters) = 1;
  TENON_ARG(double, init) = 0.25;
};
class PReLUImpl : public Module {
 public:
  explicit PReLUImpl(const PReLUOptions& options = {});
  Tensor forward(const Operand& input) const;
  void pretty_print(std::ostream& out) const override;
  PReLUOptions options;
  Tensor weight;
};
TENON_MODULE(PReLU);

// --- dropout: the identity unless training
using Dropout2dOptions = DropoutOptions;
using Dropout3dOptions = DropoutOptions;
using AlphaDropoutOptions = DropoutOptions;
#define TENON_LAYER(Name)                                                                            \
  class Name##Impl : public Module {                                                                 \
   public:                                                                                           \
    explicit Name##Impl(double p) : Name##Impl(DropoutOptions(p)) {}                                 \
    explicit Name##Impl(const DropoutOptions& options = {}); /* ValueError if p is no probability */ \
    Tensor forward(const Operand& input) const;                                                       \
    void pretty_print(std::ostream& out) const override;                                             \
    DropoutOptions options;                                                                          \
  };                                                                                                 \
  TENON_MODULE(Name);
TENON_LAYER(Dropout)
TENON_LAYER(Dropout2d)
TENON_LAYER(Dropout3d)
TENON_LAYER(AlphaDropout)
#undef TENON_LAYER

// --- normalisation
struct BatchNormOptions {
  BatchNormOptions(int64_t num_features) : num_features_(num_features) {}
  TENON_ARG(int64_t, num_features);
  TENON_ARG(double, eps) = 1e-5;
  TENON_ARG(optional<double>, momentum) = 0.1;  // nullopt: the mean over all batches
  TENON_ARG(bool, affine) = true;
  TENON_ARG(bool, track_running_stats) = true;
};
class BatchNormBase : public Module {
 public:
  explicit BatchNormBase(const BatchNormOptions& options);
  void reset_parameters();
  void reset_running_stats();
  Tensor forward(const Operand& input);
  void pretty_print(std::ostream& out) const override;
  BatchNormOptions options;
  Tensor weight, bias, running_mean, running_var, num_batches_tracked;

 protected:
  virtual void check_input_dim(const Tensor& input) const = 0;
};
#define TENON_LAYER(Name)                                                       \
  using Name##Options = BatchNormOptions;                                       \
  class Name##Impl : public BatchNormBase {                                     \
   public:                                                                      \
    using BatchNormBase::BatchNormBase;                                         \
    Name##Impl(int64_t features) : BatchNormBase(BatchNormOptions(features)) {} \
                                                                                \
   protected:                                                                   \
    void check_input_dim(const Tensor& input) const override;                   \
  };                                                                            \
  TENON_MODULE(Name);
TENON_LAYER(BatchNorm1d)
TENON_LAYER(BatchNorm2d)
TENON_LAYER(BatchNorm3d)
#undef TENON_LAYER

struct LayerNormOptions {
  LayerNormOptions(std::vector<int64_t> normalized_shape) : normalized_shape_(std::move(normalized_shape)) {}
  TENON_ARG(std::vector<int64_t>, normalized_shape);
  TENON_ARG(double, eps) = 1e-5;
  TENON_ARG(bool, elementwise_affine) = true;
};
class LayerNormImpl : public Module {
 public:
  LayerNormImpl(std::vector<int64_t> normalized_shape)
      : LayerNormImpl(LayerNormOptions(std::move(normalized_shape))) {}
  explicit LayerNormImpl(const LayerNormOptions& options);
  Tensor forward(const Operand& input) const;
  void pretty_print(std::ostream& out) const override;
  LayerNormOptions options;
  Tensor weight, bias;
};
TENON_MODULE(LayerNorm);

struct GroupNormOptions {
  GroupNormOptions(int64_t num_groups, int64_t num_channels)
      : num_groups_(num_groups), num_channels_(num_channels) {}
  TENON_ARG(int64_t, num_groups);
  TENON_ARG(int64_t, num_channels);
  TENON_ARG(double, eps) = 1e-5;
  TENON_ARG(bool, affine) = true;
};
class GroupNormImpl : public Module {
 public:
  GroupNormImpl(int64_t groups, int64_t channels) : GroupNormImpl(GroupNormOptions(groups, channels)) {}
  explicit GroupNormImpl(const GroupNormOptions& options);
  Tensor forward(const Operand& input) const;
  void pretty_print(std::ostream& out) const override;
  GroupNormOptions options;
  Tensor weight, bias;
};
TENON_MODULE(GroupNorm);

// --- embedding
struct EmbeddingOptions {
  EmbeddingOptions(int64_t num_embeddings, int64_t embedding_dim)
      : num_embeddings_(num_embeddings), embedding_dim_(embedding_dim) {}
  TENON_ARG(int64_t, num_embeddings);
  TENON_ARG(int64_t, embedding_dim);
  TENON_ARG(optional<int64_t>, padding_idx) = nullopt;
};
class EmbeddingImpl : public Module {
 public:
  EmbeddingImpl(int64_t count, int64_t dim) : EmbeddingImpl(EmbeddingOptions(count, dim)) {}
  explicit EmbeddingImpl(const EmbeddingOptions& options);
  Tensor forward(const Operand& indices) const;
  void pretty_print(std::ostream& out) const override;
  EmbeddingOptions options;
  Tensor weight;
};
TENON_MODULE(Embedding);

// --- recurrent networks: input [time, batch, features], or [batch, time, features] if batch_first
template <typename S>
struct RecurrentArgs {
  RecurrentArgs(int64_t input_size, int64_t hidden_size)
      : input_size_(input_size), hidden_size_(hidden_size) {}
  TENON_ARG_OF(S&, int64_t, input_size);
  TENON_ARG_OF(S&, int64_t, hidden_size);
  TENON_ARG_OF(S&, int64_t, num_layers) = 1;
  TENON_ARG_OF(S&, bool, bias) = true;
  TENON_ARG_OF(S&, bool, batch_first) = false;
  TENON_ARG_OF(S&, double, dropout) = 0.0;  // between the layers, while training
  TENON_ARG_OF(S&, bool, bidirectional) = false;
};
// What the three have in common.
struct RecurrentOptions : RecurrentArgs<RecurrentOptions> {
  using RecurrentArgs::RecurrentArgs;
  template <typename S>
  RecurrentOptions(const RecurrentArgs<S>& o) : RecurrentArgs(o.input_size(), o.hidden_size()) {
    num_layers(o.num_layers()).bias(o.bias()).batch_first(o.batch_first());
    dropout(o.dropout()).bidirectional(o.bidirectional());
  }
};
using RNNNonlinearity = OneOf<Tag::Tanh, Tag::ReLU>;
struct RNNOptions : RecurrentArgs<RNNOptions> {
  using RecurrentArgs::RecurrentArgs;
  TENON_ARG(RNNNonlinearity, nonlinearity) = kTanh;
};
struct LSTMOptions : RecurrentArgs<LSTMOptions> {
  using RecurrentArgs::RecurrentArgs;
};
struct GRUOptions : RecurrentArgs<GRUOptions> {
  using RecurrentArgs::RecurrentArgs;
};

class RecurrentBase : public Module {
 public:
  void reset_parameters();
  void pretty_print(std::ostream& out) const override;
  RecurrentOptions options_base;

 protected:
  RecurrentBase(const RecurrentOptions& options, int64_t gates);
  using States = std::vector<Tensor>;  // h, and c for an LSTM: [batch, hidden]
  // The sequence through all layers; `states` [layers * directions, batch, hidden] become the last ones.
  Tensor run(const Tensor& input, States& states, tenon::detail::RecurrentCell cell) const;

 private:
  int64_t gates_;
};
class RNNImpl : public RecurrentBase {
 public:
  RNNImpl(int64_t input_size, int64_t hidden_size) : RNNImpl(RNNOptions(input_size, hidden_size)) {}
  explicit RNNImpl(const RNNOptions& options_) : RecurrentBase(options_, 1), options(options_) {}
  std::tuple<Tensor, Tensor> forward(const Operand& input, Tensor hx = {}) const;
  RNNOptions options;
};
TENON_MODULE(RNN);
class LSTMImpl : public RecurrentBase {
 public:
  LSTMImpl(int64_t input_size, int64_t hidden_size) : LSTMImpl(LSTMOptions(input_size, hidden_size)) {}
  explicit LSTMImpl(const LSTMOptions& options_) : RecurrentBase(options_, 4), options(options_) {}
  std::tuple<Tensor, std::tuple<Tensor, Tensor>> forward(const Operand& input,
                                                         optional<std::tuple<Tensor, Tensor>> hx = {}) const;
  LSTMOptions options;
};
TENON_MODULE(LSTM);
class GRUImpl : public RecurrentBase {
 public:
  GRUImpl(int64_t input_size, int64_t hidden_size) : GRUImpl(GRUOptions(input_size, hidden_size)) {}
  explicit GRUImpl(const GRUOptions& options_) : RecurrentBase(options_, 3), options(options_) {}
  std::tuple<Tensor, Tensor> forward(const Operand& input, Tensor hx = {}) const;
  GRUOptions options;
};
TENON_MODULE(GRU);

// --- attention: query [L, N, E], key and value [S, N, E]
struct MultiheadAttentionOptions {
  MultiheadAttentionOptions(int64_t embed_dim, int64_t num_heads)
      : embed_dim_(embed_dim), num_heads_(num_heads) {}
  TENON_ARG(int64_t, embed_dim);
  TENON_ARG(int64_t, num_heads);
  TENON_ARG(double, dropout) = 0.0;
  TENON_ARG(bool, bias) = true;
};
class MultiheadAttentionImpl : public Module {
 public:
  MultiheadAttentionImpl(int64_t embed_dim, int64_t num_heads)
      : MultiheadAttentionImpl(MultiheadAttentionOptions(embed_dim, num_heads)) {}
  explicit MultiheadAttentionImpl(const MultiheadAttentionOptions& options);
  // The output [L, N, E], and the attention [N, L, S], averaged over the heads unless told otherwise.
  std::tuple<Tensor, Tensor> forward(const Operand& query, const Operand& key, const Operand& value,
                                     const Operand& key_padding_mask = {}, bool need_weights = true,
                                     const Operand& attn_mask = {}, bool average_attn_weights = true) const;
  MultiheadAttentionOptions options;
  Tensor in_proj_weight, in_proj_bias;
  Linear out_proj{nullptr};
};
TENON_MODULE(MultiheadAttention);

// --- losses
#define TENON_LAYER(Name)                                                        \
  class Name##Impl : public Module {                                             \
   public:                                                                       \
    explicit Name##Impl(const Name##Options& options_ = {}) : options(options_) {} \
    Tensor forward(const Operand& input, const Operand& target) const;             \
    void pretty_print(std::ostream& out) const override;                         \
    Name##Options options;                                                       \
  };                                                                             \
  TENON_MODULE(Name);
TENON_LAYER(CrossEntropyLoss)
TENON_LAYER(NLLLoss)
TENON_LAYER(MSELoss)
TENON_LAYER(L1Loss)
TENON_LAYER(SmoothL1Loss)
TENON_LAYER(HuberLoss)
TENON_LAYER(BCELoss)
TENON_LAYER(BCEWithLogitsLoss)
TENON_LAYER(KLDivLoss)
#undef TENON_LAYER

}  // namespace tenon::nn
