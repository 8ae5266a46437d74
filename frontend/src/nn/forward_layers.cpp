// The layers that only forward to a function, from the rows of layers.def: what they give and how they are printed.
#include "frontend/src/nn/layer_text.h"
#include "frontend/src/tensor/text.h"
#include "tenon/creation.h"
#include "tenon/custom_function.h"
#include "tenon/nn/layers.h"

namespace tenon::nn {

// --- options that a layer refuses

void detail::check_options(const DropoutOptions& o) {
  check<ValueError>(o.p() >= 0 && o.p() <= 1, "dropout probability has to be between 0 and 1, but got ", shown(o.p()));
}
void detail::check_options(const HardtanhOptions& o) { check(o.min_val() < o.max_val(), "max_val must be greater than min_val"); }
void detail::check_options(const MultiMarginLossOptions& o) {
  check(o.p() == 1 || o.p() == 2, "only p == 1 and p == 2 supported");
  check(!o.weight().defined() || o.weight().dim() == 1, "weight must be one-dimensional");
}

namespace {

namespace F = functional;

template <size_t D>
void check_fractional(const FractionalMaxPoolOptions<D>& o) {
  check(o.output_size() || o.output_ratio(), "FractionalMaxPool", D, "d requires specifying either an output size, or a pooling ratio");
  check(!o.output_size() || !o.output_ratio(), "only one of output_size and output_ratio may be specified");
  if (!o.output_ratio()) return;
  const std::vector<double> ratios(o.output_ratio()->begin(), o.output_ratio()->end());
  for (const double ratio : ratios) check(ratio > 0 && ratio < 1, "output_ratio must be between 0 and 1 (got ", shown(ratios), ")");
}

// --- the calls' options

// Those of a function that needs to know whether the layer is training.
template <typename FuncOptions, typename Options>
FuncOptions in_mode(const Options& o, bool training) {
  FuncOptions result;
  result.training(training).inplace(o.inplace());
  if constexpr (requires { o.p(); }) result.p(o.p());
  else result.lower(o.lower()).upper(o.upper());
  return result;
}

template <typename Options>
F::PadFuncOptions padded(const Options& o) {
  return F::PadFuncOptions(std::vector<int64_t>(o.padding().begin(), o.padding().end()));
}

F::InterpolateFuncOptions resizing(const UpsampleOptions& o) {
  F::InterpolateFuncOptions result;
  result.size(o.size()).scale_factor(o.scale_factor()).align_corners(o.align_corners());
  switch (o.mode().tag()) {
    case Tag::Linear: return result.mode(kLinear);
    case Tag::Bilinear: return result.mode(kBilinear);
    case Tag::Bicubic: return result.mode(kBicubic);
    case Tag::Trilinear: return result.mode(kTrilinear);
    default: return result.mode(kNearest);
  }
}

template <typename Options>
Options with_weights(Options options, const Tensor& weight, const OrderedDict<std::string, Tensor>& buffers) {
  options.weight(weight);
  if constexpr (requires { options.pos_weight(); }) options.pos_weight(buffers["pos_weight"]);
  return options;
}

// --- results that are no function of F

Tensor softmax_of_channels(const Tensor& input) {
  check(input.dim() == 4 || input.dim() == 3, "Softmax2d requires a 3D or 4D tensor as input");
  return softmax(input, -3);
}

// Sums over neighbouring channels: [N, C, *] by a matrix [C, C] of ones and zeros.
Tensor over_channels(const Tensor& matrix, const Tensor& x) { return matmul(matrix, x.flatten(2)).view_as(x); }

// PyTorch's: the sum of squares of channel c never loses channel 0, its gradient does.
struct CrossMapLRN : autograd::Function<CrossMapLRN> {
  static Tensor forward(autograd::AutogradContext* context, const Tensor& x, CrossMapLRN2dOptions o) {
    check(x.dim() == 4, "CrossMapLRN2d: Expected input to be 4D, got ", x.dim(), "D instead.");
    const int64_t channels = x.size(1), before = (o.size() - 1) / 2 + 1;
    const Tensor c = arange(channels, x.options()).unsqueeze(1), other = arange(channels, x.options()).unsqueeze(0);
    const Tensor window = (other - c).abs().lt(before).logical_or(other.eq(0)).to(x.scalar_type());
    const Tensor scale = over_channels(window, x * x) * (o.alpha() / static_cast<double>(o.size())) + o.k();
    const Tensor output = x * scale.pow(-o.beta());
    context->save_for_backward({x, output, scale});
    context->saved_data["size"] = o.size();
    context->saved_data["alpha"] = o.alpha();
    context->saved_data["beta"] = o.beta();
    return output;
  }
  static autograd::tensor_list backward(autograd::AutogradContext* context, autograd::tensor_list grads) {
    const auto saved = context->get_saved_variables();
    const Tensor &x = saved[0], &output = saved[1], &scale = saved[2];
    const int64_t size = context->saved_data["size"].toInt(), first = size - (size - 1) / 2;
    const double alpha = context->saved_data["alpha"].toDouble(), beta = context->saved_data["beta"].toDouble();
    const Tensor c = arange(x.size(1), x.options()).unsqueeze(1), other = arange(x.size(1), x.options()).unsqueeze(0) + first;
    const Tensor window = other.ge(c).logical_and(other.lt(c + size)).to(x.scalar_type());
    const Tensor ratio = over_channels(window, grads[0] * output / scale);
    return {grads[0] * scale.pow(-beta) - x * ratio * (2 * alpha * beta / static_cast<double>(size)), Tensor()};
  }
};
Tensor cross_map_lrn(const Tensor& x, const CrossMapLRN2dOptions& options) { return CrossMapLRN::apply(x, options); }

}  // namespace

void detail::check_options(const FractionalMaxPool2dOptions& o) { check_fractional(o); }
void detail::check_options(const FractionalMaxPool3dOptions& o) { check_fractional(o); }

// --- the rows

#define TENON_PRINTED(Name, shown) \
  void Name##Impl::pretty_print(std::ostream& out) const { out << Shown(#Name) shown.text(); }
#define TENON_LAYER(Name, parameters, result, shown)             \
  Tensor Name##Impl::forward parameters const { return result; } \
  TENON_PRINTED(Name, shown)
#define TENON_PLAIN(Name, parameters, result) TENON_LAYER(Name, parameters, result, )
#define TENON_POOL(Name, function, shown)                                                   \
  TENON_LAYER(Name, (const Operand& input), F::function(input, options), shown)             \
  std::tuple<Tensor, Tensor> Name##Impl::forward_with_indices(const Operand& input) const { \
    return F::function##_with_indices(input, options);                                      \
  }
#define TENON_WEIGHTED(Name, function, shown)                                                                                           \
  TENON_LAYER(Name, (const Operand& input, const Operand& target), F::function(input, target, with_weights(options, weight, buffers_)), \
              shown)
#include "tenon/nn/layer_list.def"

#define TENON_UNPOOL(D)                                                                                                                \
  Tensor MaxUnpool##D##dImpl::forward(const Operand& input, const Operand& indices, const optional<std::vector<int64_t>>& output_size) \
      const {                                                                                                                          \
    return F::max_unpool##D##d(input, indices, F::MaxUnpool##D##dFuncOptions(options).output_size(output_size));                       \
  }                                                                                                                                    \
  TENON_PRINTED(MaxUnpool##D##d, SIZES(kernel_size) SIZES(stride) SIZES(padding))
TENON_UNPOOL(1)
TENON_UNPOOL(2)
TENON_UNPOOL(3)

}  // namespace tenon::nn
