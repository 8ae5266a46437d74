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

#define BIAS_IN_PYTHON(x) .named_if(!as_libtorch(), "bias", options.x())
#define ROWS                                                                       \
  .add((as_libtorch() ? "num_embeddings=" : "") + shown(options.num_embeddings())) \
      .add((as_libtorch() ? "embedding_dim=" : "") + shown(options.embedding_dim()))

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
void LinearImpl::pretty_print(std::ostream& out) const { out << Shown("Linear") NAMED(in_features) NAMED(out_features) NAMED(bias).text(); }

BilinearImpl::BilinearImpl(const BilinearOptions& given) : options(given) {
  weight = register_parameter("weight", empty({options.out_features(), options.in1_features(), options.in2_features()}));
  bias = register_parameter("bias", options.bias() ? empty({options.out_features()}) : Tensor(), options.bias());
  reset_parameters();
}
void BilinearImpl::reset_parameters() {
  const double bound = 1 / std::sqrt(static_cast<double>(weight.size(1)));
  init::uniform_(weight, -bound, bound);
  if (bias.defined()) init::uniform_(bias, -bound, bound);
}
Tensor BilinearImpl::forward(const Operand& input1, const Operand& input2) const { return F::bilinear(input1, input2, weight, bias); }
void BilinearImpl::pretty_print(std::ostream& out) const {
  out << Shown("Bilinear") NAMED(in1_features) NAMED(in2_features) NAMED(out_features) NAMED(bias).text();
}

void IdentityImpl::pretty_print(std::ostream& out) const { out << own("Identity") << "()"; }
void FunctionalImpl::pretty_print(std::ostream& out) const { out << own("Functional") << "()"; }
void UnflattenImpl::pretty_print(std::ostream& out) const {
  const std::string sizes = as_libtorch() ? listed(options.sizes(), "{}") : shown(options.sizes());
  out << Shown("Unflatten") NAMED(dim).add("unflattened_size=" + sizes).text();
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
Tensor convolve_transposed(const Tensor& x, const Tensor& weight, const F::ConvTransposeFuncOptions<D>& options) {
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

bool pads_zeros(ConvPadMode mode) { return mode == Tag::Zeros || mode == Tag::Constant; }
PadMode pad_mode(ConvPadMode mode) {  // of one that pads no zeros
  switch (mode.tag()) {
    case Tag::Reflect: return kReflect;
    case Tag::Replicate: return kReplicate;
    default: return kCircular;
  }
}

}  // namespace

template <size_t D>
ConvNdImpl<D>::ConvNdImpl(const ConvOptions<D>& given) : options(given) {
  check_groups(options);
  const char* padding = options.padding().name();
  check<ValueError>(!padding || std::string_view(padding) != "same" || is(options.stride(), 1),
                    "padding='same' is not supported for strided convolutions");
  weight = register_parameter("weight",
                              tenon::empty(weight_sizes<D>(options, options.out_channels(), options.in_channels() / options.groups())));
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
  call.bias(bias).stride(options.stride()).padding(options.padding()).dilation(options.dilation()).groups(options.groups());
  if (pads_zeros(options.padding_mode())) return convolve<D>(input, weight, call);
  call.padding(0);
  return convolve<D>(F::pad(input, F::PadFuncOptions(pad_amounts(options)).mode(pad_mode(options.padding_mode()))), weight, call);
}
template <size_t D>
void ConvNdImpl<D>::pretty_print(std::ostream& out) const {
  Shown text(printed_name());
  text BARE(in_channels) BARE(out_channels) SIZES(kernel_size) SIZES(stride);
  const char* quote = as_libtorch() ? "'" : "";
  if (options.padding().name()) text.add("padding=" + (quote + std::string(options.padding().name()) + quote));
  else if (!is(options.padding().values(), 0)) text.add("padding=" + shown_dims(options.padding().values()));
  if (!is(options.dilation(), 1)) text SIZES(dilation);
  text.named_if(options.groups() != 1, "groups", options.groups()).named_if(!options.bias(), "bias", false);
  const TagName& mode = name_of(options.padding_mode().tag());
  if (!pads_zeros(options.padding_mode())) text.add(std::string("padding_mode=") + (as_libtorch() ? mode.libtorch : mode.python));
  out << text.text();
}

template <size_t D>
ConvTransposeNdImpl<D>::ConvTransposeNdImpl(const ConvTransposeOptions<D>& given) : options(given) {
  check_groups(options);
  weight = register_parameter("weight",
                              tenon::empty(weight_sizes<D>(options, options.in_channels(), options.out_channels() / options.groups())));
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
  call.bias(bias).stride(options.stride()).padding(options.padding()).output_padding(options.output_padding());
  call.groups(options.groups()).dilation(options.dilation());
  return convolve_transposed<D>(input, weight, call);
}
template <size_t D>
void ConvTransposeNdImpl<D>::pretty_print(std::ostream& out) const {
  Shown text(printed_name());
  text BARE(in_channels) BARE(out_channels) SIZES(kernel_size) SIZES(stride);
  if (!is(options.padding(), 0)) text SIZES(padding);
  if (!is(options.dilation(), 1)) text SIZES(dilation);
  if (!is(options.output_padding(), 0)) text SIZES(output_padding);
  out << text.named_if(options.groups() != 1, "groups", options.groups()).named_if(!options.bias(), "bias", false).text();
}
template class ConvNdImpl<1>;
template class ConvNdImpl<2>;
template class ConvNdImpl<3>;
template class ConvTransposeNdImpl<1>;
template class ConvTransposeNdImpl<2>;
template class ConvTransposeNdImpl<3>;

// --- activations with parameters

void PReLUImpl::pretty_print(std::ostream& out) const { out << Shown("PReLU") NAMED(num_parameters).text(); }
Tensor PReLUImpl::forward(const Operand& input) const { return prelu(input, weight); }
PReLUImpl::PReLUImpl(const PReLUOptions& given) : options(given) {
  weight = register_parameter("weight", full({options.num_parameters()}, options.init(), TensorOptions(get_default_dtype_as_scalartype())));
}

// --- normalisation

template <bool kOfBatch>
NormBase<kOfBatch>::NormBase(const NormOptions<kOfBatch>& given) : options(given) {
  const int64_t features = options.num_features();
  weight = register_parameter("weight", options.affine() ? ones({features}) : Tensor(), options.affine());
  bias = register_parameter("bias", options.affine() ? zeros({features}) : Tensor(), options.affine());
  if (!options.track_running_stats()) return;
  running_mean = register_buffer("running_mean", zeros({features}));
  running_var = register_buffer("running_var", ones({features}));
  num_batches_tracked = register_buffer("num_batches_tracked", tensor(int64_t{0}, TensorOptions(kLong)));
  reset_running_stats();
}
template <bool kOfBatch>
void NormBase<kOfBatch>::reset_parameters() {
  reset_running_stats();
  if (weight.defined()) init::ones_(weight);
  if (bias.defined()) init::zeros_(bias);
}
template <bool kOfBatch>
void NormBase<kOfBatch>::reset_running_stats() {
  if (!running_mean.defined()) return;
  running_mean.zero_();
  running_var.fill_(1);
  num_batches_tracked.zero_();
  for (const Tensor& statistic : {running_mean, running_var, num_batches_tracked}) start_in_memory(statistic);
}
template <bool kOfBatch>
Tensor NormBase<kOfBatch>::forward(const Operand& input) {
  const bool batched = check_input_dim(input);
  const BufferScope buffers;
  const bool training = is_training() || !running_mean.defined();
  if constexpr (kOfBatch) {
    optional<double> momentum = options.momentum();
    if (is_training() && num_batches_tracked.defined()) {
      num_batches_tracked.add_(1);
      if (!momentum) momentum = 1 / num_batches_tracked.item<double>();
    }
    F::BatchNormFuncOptions call;
    call.weight(weight).bias(bias).training(training).momentum(momentum.value_or(0)).eps(options.eps());
    return F::batch_norm(input, running_mean, running_var, call);
  } else {
    F::InstanceNormFuncOptions call;
    call.running_mean(running_mean).running_var(running_var).weight(weight).bias(bias).momentum(options.momentum()).eps(options.eps());
    call.use_input_stats(training);
    return batched ? F::instance_norm(input, call) : F::instance_norm(input.unsqueeze(0), call).squeeze(0);
  }
}
template <bool kOfBatch>
void NormBase<kOfBatch>::pretty_print(std::ostream& out) const {
  out << Shown(printed_name()) BARE(num_features) NAMED(eps) NAMED(momentum) NAMED(affine) BIAS_IN_PYTHON(affine) NAMED(track_running_stats)
             .text();
}
template class NormBase<true>;
template class NormBase<false>;

namespace {
// Whether the input has all dims: InstanceNorm takes one sample too.
bool check_dims(const Tensor& input, int64_t least, int64_t most) {
  if (input.dim() < least || input.dim() > most)
    throw ValueError(least == most ? text("expected ", most, "D input (got ", input.dim(), "D input)")
                                   : text("expected ", least, "D or ", most, "D input (got ", input.dim(), "D input)"));
  return input.dim() == most;
}
}  // namespace
#define TENON_NORM(Name, least, most) \
  bool Name##Impl::check_input_dim(const Tensor& input) const { return check_dims(input, least, most); }
TENON_NORM(BatchNorm1d, 2, 3)
TENON_NORM(BatchNorm2d, 4, 4)
TENON_NORM(BatchNorm3d, 5, 5)
TENON_NORM(InstanceNorm1d, 2, 3)
TENON_NORM(InstanceNorm2d, 3, 4)
TENON_NORM(InstanceNorm3d, 4, 5)
#undef TENON_NORM

LayerNormImpl::LayerNormImpl(const LayerNormOptions& given) : options(given) {
  weight = register_parameter("weight", options.elementwise_affine() ? ones(options.normalized_shape()) : Tensor(),
                              options.elementwise_affine());
  bias =
      register_parameter("bias", options.elementwise_affine() ? zeros(options.normalized_shape()) : Tensor(), options.elementwise_affine());
}
Tensor LayerNormImpl::forward(const Operand& input) const {
  return F::layer_norm(input, F::LayerNormFuncOptions(options.normalized_shape()).weight(weight).bias(bias).eps(options.eps()));
}
void LayerNormImpl::pretty_print(std::ostream& out) const {
  out << Shown("LayerNorm")
             .add(shown(IntArrayRef(options.normalized_shape()))) NAMED(eps) NAMED(elementwise_affine) BIAS_IN_PYTHON(elementwise_affine)
             .text();
}

GroupNormImpl::GroupNormImpl(const GroupNormOptions& given) : options(given) {
  check<ValueError>(options.num_groups() > 0 && options.num_channels() % options.num_groups() == 0,
                    "num_channels must be divisible by num_groups");
  weight = register_parameter("weight", options.affine() ? ones({options.num_channels()}) : Tensor(), options.affine());
  bias = register_parameter("bias", options.affine() ? zeros({options.num_channels()}) : Tensor(), options.affine());
}
Tensor GroupNormImpl::forward(const Operand& input) const {
  return F::group_norm(input, F::GroupNormFuncOptions(options.num_groups()).weight(weight).bias(bias).eps(options.eps()));
}
void GroupNormImpl::pretty_print(std::ostream& out) const {
  out << Shown("GroupNorm") BARE(num_groups) BARE(num_channels) NAMED(eps) NAMED(affine) BIAS_IN_PYTHON(affine).text();
}

// --- embedding

namespace {

// A row that stands for padding, counted from the front.
template <typename Options>
void check_padding(Options& options) {
  if (!options.padding_idx()) return;
  const int64_t row = *options.padding_idx(), rows = options.num_embeddings();
  check(row < rows && row >= -rows, "Padding_idx must be within num_embeddings");
  if (row < 0) options.padding_idx(rows + row);
}

// Rows that are given, or empty ones.
template <typename Options>
Tensor rows_of(const Options& options) {
  const Tensor& given = options._weight();
  if (!given.defined()) return empty({options.num_embeddings(), options.embedding_dim()});
  check(given.sizes() == IntArrayRef({options.num_embeddings(), options.embedding_dim()}),
        "Shape of _weight does not match num_embeddings and embedding_dim");
  return given.detach();  // the same memory, but a clone changes its own data alone
}

template <typename Holder, typename Options, typename Given>
Holder pretrained(const Tensor& embeddings, const Given& given) {
  check(embeddings.dim() == 2, "Embeddings parameter is expected to be 2-dimensional");
  Options options(embeddings.size(0), embeddings.size(1));
  options._weight(embeddings).padding_idx(given.padding_idx()).max_norm(given.max_norm()).norm_type(given.norm_type());
  options.scale_grad_by_freq(given.scale_grad_by_freq()).sparse(given.sparse());
  if constexpr (requires { given.mode(); }) options.mode(given.mode()).include_last_offset(given.include_last_offset());
  Holder result(options);
  result->weight.set_requires_grad(!given.freeze());
  return result;
}

}  // namespace

EmbeddingImpl::EmbeddingImpl(const EmbeddingOptions& given) : options(given) {
  check_padding(options);
  weight = register_parameter("weight", rows_of(options));
  if (!options._weight().defined()) reset_parameters();
}
void EmbeddingImpl::reset_parameters() {
  init::normal_(weight);
  if (!options.padding_idx()) return;
  const NoGradGuard no_grad;
  weight.select(0, *options.padding_idx()).fill_(0);
}
Tensor EmbeddingImpl::forward(const Operand& indices) const {
  F::EmbeddingFuncOptions call;
  call.padding_idx(options.padding_idx()).max_norm(options.max_norm()).norm_type(options.norm_type());
  return F::embedding(indices, weight, call.scale_grad_by_freq(options.scale_grad_by_freq()).sparse(options.sparse()));
}
Embedding Embedding::from_pretrained(const Tensor& embeddings, const EmbeddingFromPretrainedOptions& given) {
  return pretrained<Embedding, EmbeddingOptions>(embeddings, given);
}
void EmbeddingImpl::pretty_print(std::ostream& out) const {
  Shown text("Embedding");
  text ROWS GIVEN(padding_idx) GIVEN(max_norm);
  out << text.named_if(options.norm_type() != 2, "norm_type", options.norm_type()) ON(scale_grad_by_freq) ON(sparse).text();
}

EmbeddingBagImpl::EmbeddingBagImpl(const EmbeddingBagOptions& given) : options(given) {
  check_padding(options);
  weight = register_parameter("weight", rows_of(options));
  if (!options._weight().defined()) reset_parameters();
}
void EmbeddingBagImpl::reset_parameters() { init::normal_(weight); }  // LibTorch draws the row of the padding too
Tensor EmbeddingBagImpl::forward(const Operand& input, const Operand& offsets, const Operand& per_sample_weights) const {
  F::EmbeddingBagFuncOptions call;
  call.offsets(offsets).per_sample_weights(per_sample_weights).mode(options.mode()).max_norm(options.max_norm());
  call.norm_type(options.norm_type()).scale_grad_by_freq(options.scale_grad_by_freq()).sparse(options.sparse());
  return F::embedding_bag(input, weight, call.include_last_offset(options.include_last_offset()).padding_idx(options.padding_idx()));
}
EmbeddingBag EmbeddingBag::from_pretrained(const Tensor& embeddings, const EmbeddingBagFromPretrainedOptions& given) {
  return pretrained<EmbeddingBag, EmbeddingBagOptions>(embeddings, given);
}
// LibTorch leaves out the mode that is not asked for, Python what a bag has beside it.
void EmbeddingBagImpl::pretty_print(std::ostream& out) const {
  Shown text("EmbeddingBag");
  text ROWS GIVEN(max_norm).named_if(options.norm_type() != 2, "norm_type", options.norm_type()) ON(scale_grad_by_freq);
  text.named_if(as_libtorch() && options.sparse(), "sparse", true)
      .named_if(!as_libtorch() || !(options.mode() == Tag::Mean), "mode", options.mode());
  text.named_if(as_libtorch() && options.include_last_offset(), "include_last_offset", true);
  out << text GIVEN(padding_idx).text();
}

}  // namespace tenon::nn
