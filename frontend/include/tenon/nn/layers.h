// The layers: modules around the functions of tenon/nn/functional.h. Parameters are drawn in the order in
// which PyTorch draws them, so that a seed gives the same network.
#pragma once

#include "tenon/nn/functional.h"
#include "tenon/nn/module.h"
#include "tenon/nn/utils.h"

namespace tenon {
namespace detail {
enum class RecurrentCell : uint8_t;
}
}  // namespace tenon

namespace tenon::nn {

// --- layers that only forward to a function: the rows of layers.def
namespace detail {
inline void check_options(const auto&) {}
void check_options(const DropoutOptions& options);              // ValueError if p is no probability
void check_options(const HardtanhOptions& options);             // Error unless max_val is greater
void check_options(const FractionalMaxPool2dOptions& options);  // Error unless it has a size or a ratio
void check_options(const FractionalMaxPool3dOptions& options);
void check_options(const MultiMarginLossOptions& options);  // Error unless p is 1 or 2 and the weights a vector
}  // namespace detail

// A layer made from its options, or from the arguments that make these: MaxPool2d(3).
template <typename Options>
class LayerOf : public Module {
 public:
  template <typename... Args>
  requires std::is_constructible_v<Options, Args...>
  explicit LayerOf(Args&&... args) : options(std::forward<Args>(args)...) { detail::check_options(options); }
  Options options;
};

// A loss with weights, which move with the module: those of its options are its buffers.
template <typename Options>
class WeightedLossOf : public LayerOf<Options> {
 public:
  template <typename... Args>
  requires std::is_constructible_v<Options, Args...>
  explicit WeightedLossOf(Args&&... args) : LayerOf<Options>(std::forward<Args>(args)...), weight(add("weight", this->options.weight())) {
    if constexpr (requires { this->options.pos_weight(); }) add("pos_weight", this->options.pos_weight());
  }
  Tensor weight;

 private:
  // The given memory, but a tensor of its own: a clone changes that alone.
  Tensor add(const char* name, const Tensor& given) { return this->register_buffer(name, given.defined() ? given.detach() : given); }
};

#define TENON_CLASS(Name, Base, constructors, parameters, ...)       \
  class Name##Impl : public Base {                                   \
   public:                                                           \
    constructors;                                                    \
    Tensor forward parameters const;                                 \
    __VA_ARGS__ void pretty_print(std::ostream& out) const override; \
  };                                                                 \
  TENON_MODULE(Name);
#define TENON_LAYER(Name, parameters, result, shown) \
  TENON_CLASS(Name, LayerOf<Name##Options>, using LayerOf<Name##Options>::LayerOf, parameters)
#define TENON_PLAIN(Name, parameters, result) TENON_CLASS(Name, Module, Name##Impl() = default, parameters)
#define TENON_POOL(Name, function, shown)                                                                  \
  TENON_CLASS(Name, LayerOf<Name##Options>, using LayerOf<Name##Options>::LayerOf, (const Operand& input), \
              std::tuple<Tensor, Tensor> forward_with_indices(const Operand& input) const;)
#define TENON_WEIGHTED(Name, function, shown)                                                           \
  TENON_CLASS(Name, WeightedLossOf<Name##Options>, using WeightedLossOf<Name##Options>::WeightedLossOf, \
              (const Operand& input, const Operand& target))
#include "tenon/nn/layers.def"
#undef TENON_CLASS

// --- pooling, reversed
#define TENON_UNPOOL(D)                                                                                                              \
  class MaxUnpool##D##dImpl : public LayerOf<MaxUnpool##D##dOptions> {                                                               \
   public:                                                                                                                           \
    using LayerOf::LayerOf;                                                                                                          \
    Tensor forward(const Operand& input, const Operand& indices, const optional<std::vector<int64_t>>& output_size = nullopt) const; \
    void pretty_print(std::ostream& out) const override;                                                                             \
  };                                                                                                                                 \
  TENON_MODULE(MaxUnpool##D##d);
TENON_UNPOOL(1)
TENON_UNPOOL(2)
TENON_UNPOOL(3)
#undef TENON_UNPOOL

// --- linear maps
struct LinearOptions {
  LinearOptions(int64_t in_features, int64_t out_features) : in_features_(in_features), out_features_(out_features) {}
  TENON_ARG(int64_t, in_features);
  TENON_ARG(int64_t, out_features);
  TENON_ARG(bool, bias) = true;
};
class LinearImpl : public Module {  // [*, in] -> [*, out]
 public:
  LinearImpl(int64_t in_features, int64_t out_features) : LinearImpl(LinearOptions(in_features, out_features)) {}
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
  TENON_ARG(ConvPadMode, padding_mode) = kZeros;
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
#define TENON_LAYER(D)                                                                                                              \
  using Conv##D##dOptions = ConvOptions<D>;                                                                                         \
  using ConvTranspose##D##dOptions = ConvTransposeOptions<D>;                                                                       \
  extern template class ConvNdImpl<D>;                                                                                              \
  extern template class ConvTransposeNdImpl<D>;                                                                                     \
  class Conv##D##dImpl : public ConvNdImpl<D> {                                                                                     \
   public:                                                                                                                          \
    using ConvNdImpl<D>::ConvNdImpl;                                                                                                \
    Conv##D##dImpl(int64_t in, int64_t out, ExpandingArray<D> kernel_size) : ConvNdImpl<D>(ConvOptions<D>(in, out, kernel_size)) {} \
  };                                                                                                                                \
  class ConvTranspose##D##dImpl : public ConvTransposeNdImpl<D> {                                                                   \
   public:                                                                                                                          \
    using ConvTransposeNdImpl<D>::ConvTransposeNdImpl;                                                                              \
    ConvTranspose##D##dImpl(int64_t in, int64_t out, ExpandingArray<D> kernel_size)                                                 \
        : ConvTransposeNdImpl<D>(ConvTransposeOptions<D>(in, out, kernel_size)) {}                                                  \
  };                                                                                                                                \
  TENON_MODULE(Conv##D##d);                                                                                                         \
  TENON_MODULE(ConvTranspose##D##d);
TENON_LAYER(1)
TENON_LAYER(2)
TENON_LAYER(3)
#undef TENON_LAYER

// --- activations with parameters
class PReLUImpl : public Module {
 public:
  explicit PReLUImpl(const PReLUOptions& options = {});
  Tensor forward(const Operand& input) const;
  void pretty_print(std::ostream& out) const override;
  PReLUOptions options;
  Tensor weight;
};
TENON_MODULE(PReLU);

// --- normalisation
template <bool kOfBatch>
struct NormOptions {
  using Momentum = std::conditional_t<kOfBatch, optional<double>, double>;  // nullopt: the mean over all batches
  NormOptions(int64_t num_features) : num_features_(num_features) {}
  TENON_ARG(int64_t, num_features);
  TENON_ARG(double, eps) = 1e-5;
  TENON_ARG(Momentum, momentum) = 0.1;
  TENON_ARG(bool, affine) = kOfBatch;
  TENON_ARG(bool, track_running_stats) = kOfBatch;
};
using BatchNormOptions = NormOptions<true>;
using InstanceNormOptions = NormOptions<false>;
// Over the batch, or over each sample alone.
template <bool kOfBatch>
class NormBase : public Module {
 public:
  explicit NormBase(const NormOptions<kOfBatch>& options);
  void reset_parameters();
  void reset_running_stats();
  Tensor forward(const Operand& input);
  void pretty_print(std::ostream& out) const override;
  NormOptions<kOfBatch> options;
  Tensor weight, bias, running_mean, running_var, num_batches_tracked;

 protected:
  virtual bool check_input_dim(const Tensor& input) const = 0;  // false for one sample without a batch
};
extern template class NormBase<true>;
extern template class NormBase<false>;
using BatchNormBase = NormBase<true>;
using InstanceNormBase = NormBase<false>;
#define TENON_NORM(Name, Kind)                                                    \
  using Name##Options = Kind##Options;                                            \
  class Name##Impl : public Kind##Base {                                          \
   public:                                                                        \
    using Kind##Base::Kind##Base;                                                 \
    Name##Impl(int64_t num_features) : Kind##Base(Kind##Options(num_features)) {} \
                                                                                  \
   protected:                                                                     \
    bool check_input_dim(const Tensor& input) const override;                     \
  };                                                                              \
  TENON_MODULE(Name);
TENON_NORM(BatchNorm1d, BatchNorm)
TENON_NORM(BatchNorm2d, BatchNorm)
TENON_NORM(BatchNorm3d, BatchNorm)
TENON_NORM(InstanceNorm1d, InstanceNorm)
TENON_NORM(InstanceNorm2d, InstanceNorm)
TENON_NORM(InstanceNorm3d, InstanceNorm)
#undef TENON_NORM

struct LayerNormOptions {
  LayerNormOptions(std::vector<int64_t> normalized_shape) : normalized_shape_(std::move(normalized_shape)) {}
  TENON_ARG(std::vector<int64_t>, normalized_shape);
  TENON_ARG(double, eps) = 1e-5;
  TENON_ARG(bool, elementwise_affine) = true;
};
class LayerNormImpl : public Module {
 public:
  LayerNormImpl(std::vector<int64_t> normalized_shape) : LayerNormImpl(LayerNormOptions(std::move(normalized_shape))) {}
  explicit LayerNormImpl(const LayerNormOptions& options);
  Tensor forward(const Operand& input) const;
  void pretty_print(std::ostream& out) const override;
  LayerNormOptions options;
  Tensor weight, bias;
};
TENON_MODULE(LayerNorm);

struct GroupNormOptions {
  GroupNormOptions(int64_t num_groups, int64_t num_channels) : num_groups_(num_groups), num_channels_(num_channels) {}
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
struct EmbeddingFromPretrainedOptions {
  TENON_ARG(bool, freeze) = true;  // the weight needs no gradient
  TENON_ARG(optional<int64_t>, padding_idx) = nullopt;
  TENON_ARG(optional<double>, max_norm) = nullopt;  // rows that are looked up are scaled down to it, in place
  TENON_ARG(double, norm_type) = 2.0;
  TENON_ARG(bool, scale_grad_by_freq) = false;
  TENON_ARG(bool, sparse) = false;
};
struct EmbeddingOptions {
  EmbeddingOptions(int64_t num_embeddings, int64_t embedding_dim) : num_embeddings_(num_embeddings), embedding_dim_(embedding_dim) {}
  TENON_ARG(int64_t, num_embeddings);
  TENON_ARG(int64_t, embedding_dim);
  TENON_ARG(optional<int64_t>, padding_idx) = nullopt;
  TENON_ARG(optional<double>, max_norm) = nullopt;
  TENON_ARG(double, norm_type) = 2.0;
  TENON_ARG(bool, scale_grad_by_freq) = false;
  TENON_ARG(bool, sparse) = false;
  TENON_ARG(Tensor, _weight) = {};  // the rows, drawn unless given
};
struct EmbeddingBagFromPretrainedOptions {
  TENON_ARG(bool, freeze) = true;
  TENON_ARG(optional<double>, max_norm) = nullopt;
  TENON_ARG(double, norm_type) = 2.0;
  TENON_ARG(bool, scale_grad_by_freq) = false;
  TENON_ARG(EmbeddingBagMode, mode) = kMean;
  TENON_ARG(bool, sparse) = false;
  TENON_ARG(bool, include_last_offset) = false;
  TENON_ARG(optional<int64_t>, padding_idx) = nullopt;
};
struct EmbeddingBagOptions {
  EmbeddingBagOptions(int64_t num_embeddings, int64_t embedding_dim) : num_embeddings_(num_embeddings), embedding_dim_(embedding_dim) {}
  TENON_ARG(int64_t, num_embeddings);
  TENON_ARG(int64_t, embedding_dim);
  TENON_ARG(optional<double>, max_norm) = nullopt;
  TENON_ARG(double, norm_type) = 2.0;
  TENON_ARG(bool, scale_grad_by_freq) = false;
  TENON_ARG(EmbeddingBagMode, mode) = kMean;
  TENON_ARG(bool, sparse) = false;
  TENON_ARG(Tensor, _weight) = {};
  TENON_ARG(bool, include_last_offset) = false;
  TENON_ARG(optional<int64_t>, padding_idx) = nullopt;
};
class EmbeddingImpl : public Module {
 public:
  EmbeddingImpl(int64_t count, int64_t dim) : EmbeddingImpl(EmbeddingOptions(count, dim)) {}
  explicit EmbeddingImpl(const EmbeddingOptions& options);
  void reset_parameters();
  Tensor forward(const Operand& indices) const;
  void pretty_print(std::ostream& out) const override;
  EmbeddingOptions options;
  Tensor weight;
};
class Embedding : public ModuleHolder<EmbeddingImpl> {
 public:
  using ModuleHolder<EmbeddingImpl>::ModuleHolder;
  using Impl_ [[maybe_unused]] = EmbeddingImpl;
  static Embedding from_pretrained(const Tensor& embeddings, const EmbeddingFromPretrainedOptions& options = {});
};
class EmbeddingBagImpl : public Module {  // indices [bags, size], or [n] and where each bag begins
 public:
  EmbeddingBagImpl(int64_t count, int64_t dim) : EmbeddingBagImpl(EmbeddingBagOptions(count, dim)) {}
  explicit EmbeddingBagImpl(const EmbeddingBagOptions& options);
  void reset_parameters();
  Tensor forward(const Operand& input, const Operand& offsets = {}, const Operand& per_sample_weights = {}) const;
  void pretty_print(std::ostream& out) const override;
  EmbeddingBagOptions options;
  Tensor weight;
};
class EmbeddingBag : public ModuleHolder<EmbeddingBagImpl> {
 public:
  using ModuleHolder<EmbeddingBagImpl>::ModuleHolder;
  using Impl_ [[maybe_unused]] = EmbeddingBagImpl;
  static EmbeddingBag from_pretrained(const Tensor& embeddings, const EmbeddingBagFromPretrainedOptions& options = {});
};

// --- recurrent networks: input [time, batch, features], or [batch, time, features] if batch_first
template <typename S>
struct RecurrentArgs {
  RecurrentArgs(int64_t input_size, int64_t hidden_size) : input_size_(input_size), hidden_size_(hidden_size) {}
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
    if constexpr (requires(const S& all) { all.proj_size(); }) proj_size_ = static_cast<const S&>(o).proj_size();
  }
  TENON_ARG(int64_t, proj_size) = 0;
};
using RNNNonlinearity = OneOf<Tag::Tanh, Tag::ReLU>;
struct RNNOptions : RecurrentArgs<RNNOptions> {
  using RecurrentArgs::RecurrentArgs;
  using nonlinearity_t = RNNNonlinearity;
  TENON_ARG(RNNNonlinearity, nonlinearity) = kTanh;
};
struct LSTMOptions : RecurrentArgs<LSTMOptions> {
  using RecurrentArgs::RecurrentArgs;
  TENON_ARG(int64_t, proj_size) = 0;  // h is projected to so many features, unless 0
};
struct GRUOptions : RecurrentArgs<GRUOptions> {
  using RecurrentArgs::RecurrentArgs;
};

class RecurrentBase : public Module {
 public:
  void reset_parameters();
  void flatten_parameters() {}  // they may lie anywhere
  std::vector<Tensor> all_weights() const { return parameters(); }
  void pretty_print(std::ostream& out) const override;
  RecurrentOptions options_base;

 protected:
  RecurrentBase(const RecurrentOptions& options, int64_t gates);
  using States = std::vector<Tensor>;  // h, and c for an LSTM: [batch, hidden]
  using Cell = tenon::detail::RecurrentCell;
  // The sequence through all layers; `states` [layers * directions, batch, hidden], zeros where undefined, become the last ones.
  Tensor run(const Tensor& input, States& states, Cell cell) const;
  utils::rnn::PackedSequence run(const utils::rnn::PackedSequence& input, States& states, Cell cell) const;

 private:
  void fill(States& states, int64_t batch, const Tensor& like) const;
};
class RNNImpl : public RecurrentBase {
 public:
  RNNImpl(int64_t input_size, int64_t hidden_size) : RNNImpl(RNNOptions(input_size, hidden_size)) {}
  explicit RNNImpl(const RNNOptions& options_) : RecurrentBase(options_, 1), options(options_) {}
  std::tuple<Tensor, Tensor> forward(const Operand& input, Tensor hx = {}) const;
  std::tuple<utils::rnn::PackedSequence, Tensor> forward_with_packed_input(const utils::rnn::PackedSequence& packed_input,
                                                                           Tensor hx = {}) const;
  RNNOptions options;

 private:
  Cell cell() const;
};
TENON_MODULE(RNN);
class LSTMImpl : public RecurrentBase {
 public:
  LSTMImpl(int64_t input_size, int64_t hidden_size) : LSTMImpl(LSTMOptions(input_size, hidden_size)) {}
  explicit LSTMImpl(const LSTMOptions& options_) : RecurrentBase(options_, 4), options(options_) {}
  std::tuple<Tensor, std::tuple<Tensor, Tensor>> forward(const Operand& input, optional<std::tuple<Tensor, Tensor>> hx = {}) const;
  std::tuple<utils::rnn::PackedSequence, std::tuple<Tensor, Tensor>> forward_with_packed_input(
      const utils::rnn::PackedSequence& packed_input, optional<std::tuple<Tensor, Tensor>> hx = {}) const;
  LSTMOptions options;
};
TENON_MODULE(LSTM);
class GRUImpl : public RecurrentBase {
 public:
  GRUImpl(int64_t input_size, int64_t hidden_size) : GRUImpl(GRUOptions(input_size, hidden_size)) {}
  explicit GRUImpl(const GRUOptions& options_) : RecurrentBase(options_, 3), options(options_) {}
  std::tuple<Tensor, Tensor> forward(const Operand& input, Tensor hx = {}) const;
  std::tuple<utils::rnn::PackedSequence, Tensor> forward_with_packed_input(const utils::rnn::PackedSequence& packed_input,
                                                                           Tensor hx = {}) const;
  GRUOptions options;
};
TENON_MODULE(GRU);

// --- one step of a recurrent network: input [batch, features] or [features], the state before it
struct RecurrentCellOptions {
  RecurrentCellOptions(int64_t input_size, int64_t hidden_size) : input_size_(input_size), hidden_size_(hidden_size) {}
  TENON_ARG(int64_t, input_size);
  TENON_ARG(int64_t, hidden_size);
  TENON_ARG(bool, bias) = true;
};
using LSTMCellOptions = RecurrentCellOptions;
using GRUCellOptions = RecurrentCellOptions;
struct RNNCellOptions {
  using nonlinearity_t = RNNNonlinearity;
  RNNCellOptions(int64_t input_size, int64_t hidden_size) : input_size_(input_size), hidden_size_(hidden_size) {}
  TENON_ARG(int64_t, input_size);
  TENON_ARG(int64_t, hidden_size);
  TENON_ARG(bool, bias) = true;
  TENON_ARG(nonlinearity_t, nonlinearity) = kTanh;
};
class RecurrentCellBase : public Module {
 public:
  void reset_parameters();
  RecurrentCellOptions options_base;
  Tensor weight_ih, weight_hh, bias_ih, bias_hh;

 protected:
  RecurrentCellBase(const RecurrentCellOptions& options, int64_t gates);
  // As one batch; a state that is undefined is zeros. Error if a size is wrong.
  std::vector<Tensor> batch_of(const Tensor& input, std::vector<Tensor> states) const;
  void print(std::ostream& out, const char* name, const char* nonlinearity = nullptr) const;
};
class RNNCellImpl : public RecurrentCellBase {
 public:
  RNNCellImpl(int64_t input_size, int64_t hidden_size) : RNNCellImpl(RNNCellOptions(input_size, hidden_size)) {}
  explicit RNNCellImpl(const RNNCellOptions& options);
  Tensor forward(const Operand& input, const Operand& hx = {}) const;
  void pretty_print(std::ostream& out) const override;
  RNNCellOptions options;
};
TENON_MODULE(RNNCell);
class LSTMCellImpl : public RecurrentCellBase {
 public:
  LSTMCellImpl(int64_t input_size, int64_t hidden_size) : LSTMCellImpl(LSTMCellOptions(input_size, hidden_size)) {}
  explicit LSTMCellImpl(const LSTMCellOptions& options);
  std::tuple<Tensor, Tensor> forward(const Operand& input, optional<std::tuple<Tensor, Tensor>> hx = {}) const;
  void pretty_print(std::ostream& out) const override;
  LSTMCellOptions options;
};
TENON_MODULE(LSTMCell);
class GRUCellImpl : public RecurrentCellBase {
 public:
  GRUCellImpl(int64_t input_size, int64_t hidden_size) : GRUCellImpl(GRUCellOptions(input_size, hidden_size)) {}
  explicit GRUCellImpl(const GRUCellOptions& options);
  Tensor forward(const Operand& input, const Operand& hx = {}) const;
  void pretty_print(std::ostream& out) const override;
  GRUCellOptions options;
};
TENON_MODULE(GRUCell);

// --- attention: query [L, N, E], key and value [S, N, E]
struct MultiheadAttentionOptions {
  MultiheadAttentionOptions(int64_t embed_dim, int64_t num_heads)
      : embed_dim_(embed_dim), num_heads_(num_heads), kdim_(embed_dim), vdim_(embed_dim) {}
  TENON_ARG(int64_t, embed_dim);
  TENON_ARG(int64_t, num_heads);
  TENON_ARG(double, dropout) = 0.0;
  TENON_ARG(bool, bias) = true;
  TENON_ARG(bool, add_bias_kv) = false;    // one more source, which is learned
  TENON_ARG(bool, add_zero_attn) = false;  // and one of zeros
  TENON_ARG(int64_t, kdim);                // the features of key and value
  TENON_ARG(int64_t, vdim);
};
class MultiheadAttentionImpl : public Module {
 public:
  MultiheadAttentionImpl(int64_t embed_dim, int64_t num_heads) : MultiheadAttentionImpl(MultiheadAttentionOptions(embed_dim, num_heads)) {}
  explicit MultiheadAttentionImpl(const MultiheadAttentionOptions& options);
  // The output [L, N, E], and the attention [N, L, S], averaged over the heads unless told otherwise.
  std::tuple<Tensor, Tensor> forward(const Operand& query, const Operand& key, const Operand& value, const Operand& key_padding_mask = {},
                                     bool need_weights = true, const Operand& attn_mask = {}, bool average_attn_weights = true) const;
  void _reset_parameters();
  MultiheadAttentionOptions options;
  bool _qkv_same_embed_dim;  // then one weight projects query, key and value, else each has its own
  Tensor in_proj_weight, in_proj_bias, bias_k, bias_v;
  Linear out_proj{nullptr};
  Tensor q_proj_weight, k_proj_weight, v_proj_weight;
  int64_t head_dim;
};
TENON_MODULE(MultiheadAttention);

}  // namespace tenon::nn
