// The layers: their parameters, their calls into the functional interface, their printed forms.
#include "tenon/nn/layers.h"

#include <algorithm>
#include <cmath>
#include <ostream>

#include "frontend/src/autograd/open_step.h"
#include "frontend/src/nn/layer_text.h"
#include "frontend/src/tensor/text.h"
#include "tenon/autograd.h"
#include "tenon/creation.h"
#include "tenon/nn/init.h"
#include "tenon/random.h"

namespace tenon::nn {
namespace {

namespace F = functional;

template <typename Options>
std::string shown_inplace(const Options& options) {
  return options.inplace() ? text(", inplace=", shown(true)) : "";
}

bool is(IntArrayRef values, int64_t all) {
  for (int64_t v : values) {
    if (v != all) return false;
  }
  return true;
}

// PyTorch's initialisation of linear and convolutional layers: both uniform, within bounds by the fan-in.
void reset_linear(Tensor& weight, Tensor& bias) {
  init::kaiming_uniform_(weight, std::sqrt(5.0));
  if (!bias.defined()) return;
  const int64_t fan_in = weight.numel() / std::max<int64_t>(weight.size(0), 1);
  const double bound = fan_in > 0 ? 1 / std::sqrt(static_cast<double>(fan_in)) : 0;
  init::uniform_(bias, -bound, bound);
}

}  // namespace

// --- linear maps

LinearImpl::LinearImpl(const LinearOptions& given) : options(given) {
  weight = register_parameter("weight", empty({options.out_features(), options.in_features()}));
  bias = register_parameter("bias", options.bias() ? empty({options.out_features()}) : Tensor(), options.bias());
  reset_parameters();
}
void LinearImpl::reset_parameters() { reset_linear(weight, bias); }
Tensor LinearImpl::forward(const Operand& input) const { return F::linear(input, weight, bias); }
void LinearImpl::pretty_print(std::ostream& out) const {
  out << own("Linear") << "(in_features=" << options.in_features() << ", out_features=" << options.out_features()
      << ", bias=" << shown(options.bias()) << ')';
}

BilinearImpl::BilinearImpl(const BilinearOptions& given) : options(given) {
  weight = register_parameter(
      "weight", empty({options.out_features(), options.in1_features(), options.in2_features()}));
  bias = register_parameter("bias", options.bias() ? empty({options.out_features()}) : Tensor(), options.bias());
  reset_parameters();
}
void BilinearImpl::reset_parameters() {
  const double bound = 1 / std::sqrt(static_cast<double>(weight.size(1)));
  init::uniform_(weight, -bound, bound);
  if (bias.defined()) init::uniform_(bias, -bound, bound);
}
Tensor BilinearImpl::forward(const Operand& input1, const Operand& input2) const {
  return F::bilinear(input1, input2, weight, bias);
}
void BilinearImpl::pretty_print(std::ostream& out) const {
  out << own("Bilinear") << "(in1_features=" << options.in1_features() << ", in2_features=" << options.in2_features()
      << ", out_features=" << options.out_features() << ", bias=" << shown(options.bias()) << ')';
}

void IdentityImpl::pretty_print(std::ostream& out) const { out << own("Identity") << "()"; }
void FunctionalImpl::pretty_print(std::ostream& out) const { out << own("Functional") << "()"; }
void FlattenImpl::pretty_print(std::ostream& out) const {
  out << own("Flatten") << "(start_dim=" << options.start_dim() << ", end_dim=" << options.end_dim() << ')';
}
void UnflattenImpl::pretty_print(std::ostream& out) const {
  out << own("Unflatten") << "(dim=" << options.dim() << ", unflattened_size=" << (as_libtorch() ? listed(options.sizes(), "{}") : shown(options.sizes())) << ')';
}

// --- convolution

namespace {

template <typename Options>
void check_groups(const Options& o) {
  check<ValueError>(o.in_channels() > 0 && o.groups() > 0 && o.out_channels() > 0,
                    "in_channels, groups and out_channels must be a positive integer.");
  check<ValueError>(o.in_channels() % o.groups() == 0, "in_channels must be divisible by groups");
  check<ValueError>(o.out_channels() % o.groups() == 0, "out_channels must be divisible by groups");
}

template <size_t D, typename Options>
std::vector<int64_t> weight_sizes(const Options& o, int64_t first, int64_t second) {
  std::vector<int64_t> sizes{first, second};
  for (int64_t k : o.kernel_size()) sizes.push_back(k);
  return sizes;
}

template <size_t D>
Tensor convolve(const Tensor& x, const Tensor& weight, const F::ConvFuncOptions<D>& options) {
  if constexpr (D == 1) return F::conv1d(x, weight, options);
  if constexpr (D == 2) return F::conv2d(x, weight, options);
  if constexpr (D == 3) return F::conv3d(x, weight, options);
}
template <size_t D>
Tensor convolve_transposed(const Tensor& x, const Tensor& weight,
                           const F::ConvTransposeFuncOptions<D>& options) {
  if constexpr (D == 1) return F::conv_transpose1d(x, weight, options);
  if constexpr (D == 2) return F::conv_transpose2d(x, weight, options);
  if constexpr (D == 3) return F::conv_transpose3d(x, weight, options);
}

// Both sides of each dim, the last first, as pad takes them.
template <size_t D>
std::vector<int64_t> pad_amounts(const ConvOptions<D>& o) {
  std::vector<int64_t> result;
  for (size_t d = D; d-- > 0;) {
    int64_t before = o.padding().values()[d], after = before;
    if (o.padding().name()) {
      const bool same = std::string_view(o.padding().name()) == "same";
      const int64_t total = same ? o.dilation()[d] * (o.kernel_size()[d] - 1) : 0;
      before = total / 2;
      after = total - before;
    }
    result.push_back(before);
    result.push_back(after);
  }
  return result;
}

}  // namespace

template <size_t D>
ConvNdImpl<D>::ConvNdImpl(const ConvOptions<D>& given)
    : options(given) {
  check_groups(options);
  const char* padding = options.padding().name();
  check<ValueError>(!padding || std::string_view(padding) != "same" || is(options.stride(), 1),
                    "padding='same' is not supported for strided convolutions");
  weight =
      register_parameter("weight", tenon::empty(weight_sizes<D>(options, options.out_channels(),
                                                                 options.in_channels() / options.groups())));
  bias = register_parameter("bias", options.bias() ? empty({options.out_channels()}) : Tensor(), options.bias());
  reset_parameters();
}
template <size_t D>
void ConvNdImpl<D>::reset_parameters() {
  reset_linear(weight, bias);
}
template <size_t D>
Tensor ConvNdImpl<D>::forward(const Operand& input) const {
  F::ConvFuncOptions<D> call;
  call.bias(bias)
      .stride(options.stride())
      .padding(options.padding())
      .dilation(options.dilation())
      .groups(options.groups());
  if (options.padding_mode() == Tag::Constant) return convolve<D>(input, weight, call);
  call.padding(0);
  return convolve<D>(F::pad(input, F::PadFuncOptions(pad_amounts(options)).mode(options.padding_mode())),
                     weight, call);
}
template <size_t D>
void ConvNdImpl<D>::pretty_print(std::ostream& out) const {
  out << printed_name() << '(' << options.in_channels() << ", " << options.out_channels()
      << ", kernel_size=" << shown_dims(options.kernel_size()) << ", stride=" << shown_dims(options.stride());
  const char* quote = as_libtorch() ? "'" : "";
  if (options.padding().name())
    out << ", padding=" << quote << options.padding().name() << quote;
  else if (!is(options.padding().values(), 0))
    out << ", padding=" << shown_dims(options.padding().values());
  if (!is(options.dilation(), 1)) out << ", dilation=" << shown_dims(options.dilation());
  if (options.groups() != 1) out << ", groups=" << options.groups();
  if (!options.bias()) out << ", bias=" << shown(false);
  const auto mode = [&](Tag tag, const char* name, const char* libtorch) {
    if (options.padding_mode() == tag) out << ", padding_mode=" << (as_libtorch() ? libtorch : name);
  };
  mode(Tag::Reflect, "reflect", "kReflect");
  mode(Tag::Replicate, "replicate", "kReplicate");
  mode(Tag::Circular, "circular", "kCircular");
  out << ')';
}

template <size_t D>
ConvTransposeNdImpl<D>::ConvTransposeNdImpl(const ConvTransposeOptions<D>& given)
    : options(given) {
  check_groups(options);
  weight =
      register_parameter("weight", tenon::empty(weight_sizes<D>(options, options.in_channels(),
                                                                 options.out_channels() / options.groups())));
  bias = register_parameter("bias", options.bias() ? empty({options.out_channels()}) : Tensor(), options.bias());
  reset_parameters();
}
template <size_t D>
void ConvTransposeNdImpl<D>::reset_parameters() {
  reset_linear(weight, bias);
}
template <size_t D>
Tensor ConvTransposeNdImpl<D>::forward(const Operand& input) const {
  F::ConvTransposeFuncOptions<D> call;
  call.bias(bias)
      .stride(options.stride())
      .padding(options.padding())
      .output_padding(options.output_padding());
  call.groups(options.groups()).dilation(options.dilation());
  return convolve_transposed<D>(input, weight, call);
}
template <size_t D>
void ConvTransposeNdImpl<D>::pretty_print(std::ostream& out) const {
  out << printed_name() << '(' << options.in_channels() << ", " << options.out_channels()
      << ", kernel_size=" << shown_dims(options.kernel_size()) << ", stride=" << shown_dims(options.stride());
  if (!is(options.padding(), 0)) out << ", padding=" << shown_dims(options.padding());
  if (!is(options.dilation(), 1)) out << ", dilation=" << shown_dims(options.dilation());
  if (!is(options.output_padding(), 0)) out << ", output_padding=" << shown_dims(options.output_padding());
  if (options.groups() != 1) out << ", groups=" << options.groups();
  if (!options.bias()) out << ", bias=" << shown(false);
  out << ')';
}
template class ConvNdImpl<1>;
template class ConvNdImpl<2>;
template class ConvNdImpl<3>;
template class ConvTransposeNdImpl<1>;
template class ConvTransposeNdImpl<2>;
template class ConvTransposeNdImpl<3>;

// --- pooling

#define TENON_LAYER(D)                                                                                       \
  Tensor MaxPool##D##dImpl::forward(const Operand& input) const { return F::max_pool##D##d(input, options); } \
  Tensor AvgPool##D##dImpl::forward(const Operand& input) const { return F::avg_pool##D##d(input, options); } \
  Tensor AdaptiveAvgPool##D##dImpl::forward(const Operand& input) const {                                     \
    return F::adaptive_avg_pool##D##d(input, options);                                                       \
  }                                                                                                          \
  Tensor AdaptiveMaxPool##D##dImpl::forward(const Operand& input) const {                                     \
    return F::adaptive_max_pool##D##d(input, options);                                                       \
  }                                                                                                          \
  void MaxPool##D##dImpl::pretty_print(std::ostream& out) const {                                            \
    out << own("MaxPool" #D "d") << "(kernel_size=" << shown_as_given(options.kernel_size())                              \
        << ", stride=" << shown_as_given(options.stride()) << ", padding=" << shown_as_given(options.padding())  \
        << ", dilation=" << shown_as_given(options.dilation())                                                 \
        << ", ceil_mode=" << shown(options.ceil_mode()) << ')';                                             \
  }                                                                                                          \
  void AvgPool##D##dImpl::pretty_print(std::ostream& out) const {                                            \
    out << own("AvgPool" #D "d") << "(kernel_size=" << shown_as_given(options.kernel_size())                              \
        << ", stride=" << shown_as_given(options.stride()) << ", padding=" << shown_as_given(options.padding())  \
        << ')';                                                                                              \
  }                                                                                                          \
  void AdaptiveAvgPool##D##dImpl::pretty_print(std::ostream& out) const {                                    \
    out << own("AdaptiveAvgPool" #D "d") << "(output_size=" << shown_output(options.output_size()) << ')';              \
  }                                                                                                          \
  void AdaptiveMaxPool##D##dImpl::pretty_print(std::ostream& out) const {                                    \
    out << own("AdaptiveMaxPool" #D "d") << "(output_size=" << shown_output(options.output_size()) << ')';              \
  }
TENON_LAYER(1)
TENON_LAYER(2)
TENON_LAYER(3)
#undef TENON_LAYER

// --- activations

// The call, and what stands between the brackets when printed.
#define TENON_LAYER(Name, call, ...)                                     \
  Tensor Name##Impl::forward(const Operand& input) const { return call; } \
  void Name##Impl::pretty_print(std::ostream& out) const { out << own(#Name) << "(" __VA_ARGS__ << ')'; }
TENON_LAYER(ReLU, F::relu(input, options), << (options.inplace() ? text("inplace=", shown(true)) : ""))
TENON_LAYER(ReLU6, F::relu6(input, options), << (options.inplace() ? text("inplace=", shown(true)) : ""))
TENON_LAYER(SELU, F::selu(input, options), << (options.inplace() ? text("inplace=", shown(true)) : ""))
TENON_LAYER(ELU, F::elu(input, options), << "alpha=" << shown(options.alpha()) << shown_inplace(options))
TENON_LAYER(CELU, F::celu(input, options), << "alpha=" << shown(options.alpha()) << shown_inplace(options))
TENON_LAYER(GELU, F::gelu(input, options), << (as_libtorch() ? "" : "approximate='" + options.approximate() + "'"))
TENON_LAYER(GLU, F::glu(input, options), << "dim=" << options.dim())
TENON_LAYER(LeakyReLU, F::leaky_relu(input, options),
            << "negative_slope=" << shown(options.negative_slope()) << shown_inplace(options))
TENON_LAYER(Hardtanh, F::hardtanh(input, options),
            << "min_val=" << shown(options.min_val()) << ", max_val=" << shown(options.max_val()) << shown_inplace(options))
TENON_LAYER(Hardshrink, F::hardshrink(input, options), << shown(options.lambda()))
TENON_LAYER(Softshrink, F::softshrink(input, options), << shown(options.lambda()))
TENON_LAYER(Softplus, F::softplus(input, options),
            << "beta=" << shown(options.beta()) << ", threshold=" << shown(options.threshold()))
TENON_LAYER(Sigmoid, sigmoid(input))
TENON_LAYER(Tanh, tanh(input))
TENON_LAYER(SiLU, silu(input))
TENON_LAYER(Mish, mish(input))
TENON_LAYER(Hardsigmoid, hardsigmoid(input))
TENON_LAYER(Hardswish, hardswish(input))
TENON_LAYER(Softsign, softsign(input))
TENON_LAYER(Tanhshrink, tanhshrink(input))
TENON_LAYER(LogSigmoid, log_sigmoid(input))
TENON_LAYER(Softmax, F::softmax(input, options.dim()), << "dim=" << options.dim())
TENON_LAYER(LogSoftmax, F::log_softmax(input, options.dim()), << "dim=" << options.dim())
TENON_LAYER(Softmin, F::softmin(input, options.dim()), << "dim=" << options.dim())
TENON_LAYER(PReLU, prelu(input, weight), << "num_parameters=" << options.num_parameters())
#undef TENON_LAYER

PReLUImpl::PReLUImpl(const PReLUOptions& given) : options(given) {
  weight = register_parameter(
      "weight", full({options.num_parameters()}, options.init(), TensorOptions(get_default_dtype_as_scalartype())));
}

// --- dropout

#define TENON_LAYER(Name, function)                                                                    \
  Name##Impl::Name##Impl(const DropoutOptions& given) : options(given) {                               \
    check<ValueError>(options.p() >= 0 && options.p() <= 1,                                            \
                      "dropout probability has to be between 0 and 1, but got ", shown(options.p())); \
  }                                                                                                    \
  Tensor Name##Impl::forward(const Operand& input) const {                                              \
    Tensor result = function(input, options.p(), is_training());                                       \
    if (!options.inplace()) return result;                                                             \
    Tensor self = input;                                                                               \
    return self.copy_(result);                                                                         \
  }                                                                                                    \
  void Name##Impl::pretty_print(std::ostream& out) const {                                             \
    out << own(#Name) << "(p=" << shown(options.p()) << ", inplace=" << shown(options.inplace()) << ')';     \
  }
TENON_LAYER(Dropout, dropout)
TENON_LAYER(Dropout2d, feature_dropout)
TENON_LAYER(Dropout3d, feature_dropout)
TENON_LAYER(AlphaDropout, alpha_dropout)
#undef TENON_LAYER

// --- normalisation

BatchNormBase::BatchNormBase(const BatchNormOptions& given) : options(given) {
  const int64_t features = options.num_features();
  weight = register_parameter("weight", options.affine() ? ones({features}) : Tensor(), options.affine());
  bias = register_parameter("bias", options.affine() ? zeros({features}) : Tensor(), options.affine());
  if (!options.track_running_stats()) return;
  running_mean = register_buffer("running_mean", zeros({features}));
  running_var = register_buffer("running_var", ones({features}));
  num_batches_tracked = register_buffer("num_batches_tracked", tensor(int64_t{0}, TensorOptions(kLong)));
}
void BatchNormBase::reset_parameters() {
  reset_running_stats();
  if (weight.defined()) init::ones_(weight);
  if (bias.defined()) init::zeros_(bias);
}
void BatchNormBase::reset_running_stats() {
  if (!running_mean.defined()) return;
  running_mean.zero_();
  running_var.fill_(1);
  num_batches_tracked.zero_();
}
Tensor BatchNormBase::forward(const Operand& input) {
  check_input_dim(input);
  const BufferScope buffers;
  optional<double> momentum = options.momentum();
  if (is_training() && num_batches_tracked.defined()) {
    num_batches_tracked.add_(1);
    if (!momentum) momentum = 1 / num_batches_tracked.item<double>();
  }
  const bool training = is_training() || !running_mean.defined();
  F::BatchNormFuncOptions call;
  call.weight(weight).bias(bias).training(training).momentum(momentum.value_or(0)).eps(options.eps());
  return F::batch_norm(input, running_mean, running_var, call);
}
void BatchNormBase::pretty_print(std::ostream& out) const {
  out << printed_name() << '(' << options.num_features() << ", eps=" << shown(options.eps()) << ", momentum=";
  if (options.momentum())
    out << shown(*options.momentum());
  else
    out << "None";
  out << ", affine=" << shown(options.affine())
      << ", track_running_stats=" << shown(options.track_running_stats()) << ')';
}
void BatchNorm1dImpl::check_input_dim(const Tensor& input) const {
  check<ValueError>(input.dim() == 2 || input.dim() == 3, "expected 2D or 3D input (got ", input.dim(),
                    "D input)");
}
void BatchNorm2dImpl::check_input_dim(const Tensor& input) const {
  check<ValueError>(input.dim() == 4, "expected 4D input (got ", input.dim(), "D input)");
}
void BatchNorm3dImpl::check_input_dim(const Tensor& input) const {
  check<ValueError>(input.dim() == 5, "expected 5D input (got ", input.dim(), "D input)");
}

LayerNormImpl::LayerNormImpl(const LayerNormOptions& given) : options(given) {
  weight = register_parameter("weight",
                              options.elementwise_affine() ? ones(options.normalized_shape()) : Tensor(), options.elementwise_affine());
  bias =
      register_parameter("bias", options.elementwise_affine() ? zeros(options.normalized_shape()) : Tensor(), options.elementwise_affine());
}
Tensor LayerNormImpl::forward(const Operand& input) const {
  return F::layer_norm(
      input,
      F::LayerNormFuncOptions(options.normalized_shape()).weight(weight).bias(bias).eps(options.eps()));
}
void LayerNormImpl::pretty_print(std::ostream& out) const {
  out << own("LayerNorm") << "(" << shown(options.normalized_shape()) << ", eps=" << shown(options.eps())
      << ", elementwise_affine=" << shown(options.elementwise_affine()) << ')';
}

GroupNormImpl::GroupNormImpl(const GroupNormOptions& given) : options(given) {
  check<ValueError>(options.num_groups() > 0 && options.num_channels() % options.num_groups() == 0,
                    "num_channels must be divisible by num_groups");
  weight = register_parameter("weight", options.affine() ? ones({options.num_channels()}) : Tensor(), options.affine());
  bias = register_parameter("bias", options.affine() ? zeros({options.num_channels()}) : Tensor(), options.affine());
}
Tensor GroupNormImpl::forward(const Operand& input) const {
  return F::group_norm(
      input, F::GroupNormFuncOptions(options.num_groups()).weight(weight).bias(bias).eps(options.eps()));
}
void GroupNormImpl::pretty_print(std::ostream& out) const {
  out << own("GroupNorm") << "(" << options.num_groups() << ", " << options.num_channels()
      << ", eps=" << shown(options.eps()) << ", affine=" << shown(options.affine()) << ')';
}

// --- embedding

EmbeddingImpl::EmbeddingImpl(const EmbeddingOptions& given) : options(given) {
  weight = register_parameter("weight", empty({options.num_embeddings(), options.embedding_dim()}));
  init::normal_(weight);
  if (!options.padding_idx()) return;
  const int64_t row = *options.padding_idx();
  check(row >= -options.num_embeddings() && row < options.num_embeddings(),
        "Padding_idx must be within num_embeddings");
  const NoGradGuard no_grad;
  weight.select(0, row).fill_(0);
}
Tensor EmbeddingImpl::forward(const Operand& indices) const {
  return F::embedding(indices, weight, F::EmbeddingFuncOptions().padding_idx(options.padding_idx()));
}
void EmbeddingImpl::pretty_print(std::ostream& out) const {
  const bool names = as_libtorch();
  out << own("Embedding") << (names ? "(num_embeddings=" : "(") << options.num_embeddings()
      << (names ? ", embedding_dim=" : ", ") << options.embedding_dim();
  if (options.padding_idx()) out << ", padding_idx=" << *options.padding_idx();
  out << ')';
}

// --- losses

#define TENON_LAYER(Name, function)                                             \
  Tensor Name##Impl::forward(const Operand& input, const Operand& target) const { \
    return F::function(input, target, options);                                 \
  }                                                                             \
  void Name##Impl::pretty_print(std::ostream& out) const {                      \
    /* LibTorch forgets the brackets of two */                                  \
    const bool bare = std::is_same_v<Name##Impl, SmoothL1LossImpl> || std::is_same_v<Name##Impl, HuberLossImpl>; \
    out << own(#Name) << (bare && as_libtorch() ? "" : "()");                   \
  }
TENON_LAYER(CrossEntropyLoss, cross_entropy)
TENON_LAYER(NLLLoss, nll_loss)
TENON_LAYER(MSELoss, mse_loss)
TENON_LAYER(L1Loss, l1_loss)
TENON_LAYER(SmoothL1Loss, smooth_l1_loss)
TENON_LAYER(HuberLoss, huber_loss)
TENON_LAYER(BCELoss, binary_cross_entropy)
TENON_LAYER(BCEWithLogitsLoss, binary_cross_entropy_with_logits)
TENON_LAYER(KLDivLoss, kl_div)
#undef TENON_LAYER

}  // namespace tenon::nn
