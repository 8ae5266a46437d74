// torch::nn::functional: reads the options, checks what LibTorch checks at this level and calls the operators. Functions that only pass
// their options on are in printed_functional.cpp.
#include "tenon/nn/functional.h"

#include <algorithm>
#include <cmath>

#include "frontend/src/neural/resize.h"
#include "frontend/src/nn/call_options.h"
#include "frontend/src/nn/layer_text.h"
#include "frontend/src/tensor/call.h"
#include "frontend/src/tensor/text.h"
#include "tenon/creation.h"
#include "tenon/out.h"
#include "tenon/random.h"

namespace tenon {

void detail::check_count(size_t got, size_t wanted) { check(got == wanted, "Expected ", wanted, " values, but instead got ", got); }

namespace nn::functional {
namespace {

template <typename F>
std::string size_text(const F& sizes) {  // torch.Size([2, 3])
  return text("torch.Size(", sizes, ")");
}

}  // namespace

// --- activations

Tensor glu(const Operand& x, const GLUFuncOptions& o) {
  const CallScope call("glu", x);
  check(x.dim() != 0, "glu does not suppport scalars because halving size must be even");
  return tenon::glu(x, o.dim());
}
Tensor prelu(const Operand& x, const Operand& weight) { return tenon::prelu(x, weight); }
Tensor softmin(const Operand& x, const SoftminFuncOptions& o) { return tenon::softmax(neg(x), o.dim(), o.dtype()); }

// --- linear maps and convolution

Tensor linear(const Operand& x, const Operand& weight, const Operand& bias) { return tenon::linear(x, weight, bias); }
Tensor bilinear(const Operand& a, const Operand& b, const Operand& weight, const Operand& bias) {
  return tenon::bilinear(a, b, weight, bias);
}

#define TENON_DEFINE(D)                                                                                                                   \
  Tensor conv##D##d(const Operand& x, const Operand& weight, const Conv##D##dFuncOptions& o) {                                            \
    if (const char* name = o.padding().name()) return tenon::conv##D##d(x, weight, o.bias(), o.stride(), name, o.dilation(), o.groups()); \
    return tenon::conv##D##d(x, weight, o.bias(), o.stride(), o.padding().values(), o.dilation(), o.groups());                            \
  }
TENON_DEFINE(1)
TENON_DEFINE(2)
TENON_DEFINE(3)
#undef TENON_DEFINE

// --- pooling

namespace {

// The values at their places in planes of zeros.
template <size_t D, typename Options>
Tensor unpooled(const Tensor& x, const Tensor& indices, const Options& o, const optional<std::vector<int64_t>>& output_size) {
  check(x.sizes() == indices.sizes(), "Expected shape of indices to be same as that of the input tensor (", x.sizes(),
        ") but got indices tensor with shape: ", indices.sizes());
  check(indices.scalar_type() == kLong, "elements in indices should be type int64 but got: ", indices.scalar_type());
  constexpr int64_t dims = D;
  check(x.dim() == dims + 1 || x.dim() == dims + 2, "Input to max_unpooling", D, "d should be a ", D + 1, "d or ", D + 2,
        "d Tensor, but got a tensor with dim ", x.dim());
  std::vector<int64_t> shape(x.sizes().begin(), x.sizes().end() - D);
  std::vector<int64_t> flat = shape;
  int64_t plane = 1;
  for (size_t d = 0; d < D; ++d) {
    const int64_t in = x.size(x.dim() - dims + static_cast<int64_t>(d));
    int64_t out = (in - 1) * o.stride()[d] - 2 * o.padding()[d] + o.kernel_size()[d];
    if (output_size) {
      check(output_size->size() == D || output_size->size() == D + 2, "output_size should be a sequence containing ", D, " or ", D + 2,
            " elements, but it has a length of '", output_size->size(), "'");
      const int64_t wanted = (*output_size)[output_size->size() - D + d], least = out - o.stride()[d], most = out + o.stride()[d];
      check(wanted > least && wanted < most, "invalid output_size ", IntArrayRef(*output_size), " (dim ", d, " must be between ", least,
            " and ", most, ")");
      out = wanted;
    }
    shape.push_back(out);
    plane *= out;
  }
  checked_numel(shape);
  flat.push_back(plane);
  std::vector<int64_t> rows(flat.begin(), flat.end() - 1);
  rows.push_back(-1);
  if (x.numel() == 0) return zeros(shape, x.options());
  return reshape(scatter(zeros(flat, x.options()), -1, reshape(indices, rows), reshape(x, rows)), shape);
}

template <size_t D>
Tensor lp_root(const Tensor& mean_of_powers, const LPPoolOptions<D>& o) {
  int64_t kernel = 1;
  for (int64_t size : o.kernel_size()) kernel *= size;
  return pow(mul(mul(sign(mean_of_powers), tenon::relu(abs(mean_of_powers))), kernel), 1 / o.norm_type());
}

}  // namespace

#define TENON_DEFINE(D)                                                                                                \
  Tensor max_unpool##D##d(const Operand& x, const Operand& indices, const MaxUnpool##D##dFuncOptions& o) {             \
    return unpooled<D>(x, indices, o, o.output_size());                                                                \
  }                                                                                                                    \
  Tensor lp_pool##D##d(const Operand& x, const LPPool##D##dFuncOptions& o) {                                           \
    return lp_root<D>(tenon::avg_pool##D##d(pow(x, o.norm_type()), o.kernel_size(), o.stride(), 0, o.ceil_mode()), o); \
  }
TENON_DEFINE(1)
TENON_DEFINE(2)
TENON_DEFINE(3)
#undef TENON_DEFINE

Tensor avg_pool1d(const Operand& x, const AvgPool1dFuncOptions& o) {
  return tenon::avg_pool1d(x, o.kernel_size(), o.stride(), o.padding(), o.ceil_mode(), o.count_include_pad());
}

// --- windows, padding, resizing

Tensor pad(const Operand& x, const PadFuncOptions& o) {
  const Tag mode = o.mode().tag();
  if (mode == Tag::Constant) return constant_pad_nd(x, o.pad(), o.value());
  check(o.value() == 0, "Padding mode \"", name_of(mode).python, "\" doesn't take in value argument");
  return tenon::pad(x, o.pad(), name_of(mode).python);
}

namespace {

// The size to resize to; also the factors that count as distances, if they were given.
std::vector<int64_t> output_size(const Tensor& x, const InterpolateFuncOptions& o, std::vector<double>& factors) {
  const size_t dims = x.sizes().size() - 2;
  check(o.size() || o.scale_factor(), "either size or scale_factor should be defined");
  check(!o.size() || !o.scale_factor(), "only one of size or scale_factor should be defined");
  const auto spread = [&](const auto& values, const char* name) {
    check(values.size() == 1 || values.size() == dims, name, " shape must match input shape. Input is ", dims, "D, ", name, " is ",
          values.size());
    auto all = values;
    all.resize(dims, values[0]);
    return all;
  };
  if (o.size()) return spread(*o.size(), "size");
  const std::vector<double> scale = spread(*o.scale_factor(), "scale_factor");
  std::vector<int64_t> size;
  for (size_t d = 0; d < dims; ++d) {
    const double wanted = std::floor(static_cast<double>(x.sizes()[2 + d]) * scale[d]);
    check(wanted >= 0 && wanted < 0x1p31, "scale_factor ", scale[d], " gives an impossible size");
    size.push_back(static_cast<int64_t>(wanted));
  }
  if (!o.recompute_scale_factor().value_or(false)) factors = scale;
  const bool whole = std::all_of(scale.begin(), scale.end(), [](double s) { return std::floor(s) == s; });
  if (!o.recompute_scale_factor() && !whole)
    warn_user(
        "The default behavior for interpolate/upsample with float scale_factor changed in 1.6.0 to align with "
        "other frameworks/libraries, and uses scale_factor directly, instead of relying on the computed output "
        "size. If you wish to keep the old behavior, please set recompute_scale_factor=True. See the documentation "
        "of nn.Upsample for details. ");
  return size;
}

}  // namespace

Tensor interpolate(const Operand& x, const InterpolateFuncOptions& o) {
  const CallScope call("interpolate", x);
  const Tag mode = o.mode().tag();
  const bool blends = mode == Tag::Linear || mode == Tag::Bilinear || mode == Tag::Bicubic || mode == Tag::Trilinear;
  check(blends || !o.align_corners(),
        "align_corners option can only be set with the interpolating modes: linear | bilinear | bicubic | "
        "trilinear");
  if (blends && !o.align_corners())
    warn_user(text("Default upsampling behavior when mode=", name_of(mode).libtorch,
                   " is changed to align_corners=False since 0.4.0. Please specify align_corners=True if the old "
                   "behavior is desired. See the documentation of nn.Upsample for details."));
  check(x.dim() >= 3 && x.dim() <= 5, "Input Error: Only 3D, 4D and 5D input Tensors supported (got ", x.dim(),
        "D) for the modes: nearest | linear | bilinear | bicubic | trilinear | lanczos | area | "
        "nearest-exact (got ",
        name_of(mode).python, ")");
  check(!o.antialias() || (x.dim() == 4 && (mode == Tag::Bilinear || mode == Tag::Bicubic)),
        "Anti-alias option is only supported for bilinear and bicubic modes");
  check(!o.recompute_scale_factor().value_or(false) || !o.size(), "recompute_scale_factor is not meaningful with an explicit size.");
  std::vector<double> factors;
  const std::vector<int64_t> size = output_size(x, o, factors);
  if (mode == Tag::Area) {
    return x.dim() == 3   ? tenon::adaptive_avg_pool1d(x, size)
           : x.dim() == 4 ? tenon::adaptive_avg_pool2d(x, size)
                          : tenon::adaptive_avg_pool3d(x, size);
  }
  const int64_t wanted = mode == Tag::Linear ? 3 : mode == Tag::Trilinear ? 5 : 4;
  check(!blends || x.dim() == wanted, "Got ", x.dim(), "D input, but ", name_of(mode).python, " mode needs ", wanted, "D input");
  const ResizeMode how = mode == Tag::Nearest        ? ResizeMode::Nearest
                         : mode == Tag::NearestExact ? ResizeMode::NearestExact
                         : mode == Tag::Bicubic      ? ResizeMode::Cubic
                                                     : ResizeMode::Linear;
  if (o.antialias()) return resize_antialiased(x, size, how, o.align_corners().value_or(false), factors);
  return resize_planes(x, size, how, o.align_corners().value_or(false), factors);
}

// --- normalisation

Tensor batch_norm(const Operand& x, const Operand& running_mean, const Operand& running_var, const BatchNormFuncOptions& o) {
  check(x.dim() >= 2, "Expected at least 2 input dimensions, but got ", x.dim());
  check<ValueError>(!o.training() || x.size(1) == 0 || x.numel() != x.size(1),
                    "Expected more than 1 value per channel when training, got input size ", size_text(x.sizes()));
  return tenon::batch_norm(x, o.weight(), o.bias(), running_mean, running_var, o.training(), o.momentum().value_or(0.0), o.eps());
}
Tensor instance_norm(const Operand& x, const InstanceNormFuncOptions& o) {
  if (o.use_input_stats() && x.dim() >= 2 && x.numel() > 0) {
    check<ValueError>(x.numel() != x.size(0) * x.size(1), "Expected more than 1 spatial element when training, got input size ",
                      size_text(x.sizes()));
  }
  return tenon::instance_norm(x, o.weight(), o.bias(), o.running_mean(), o.running_var(), o.use_input_stats(), o.momentum(), o.eps());
}
Tensor normalize(const Operand& x, const NormalizeFuncOptions& o) {
  const Tensor length = expand(clamp_min(norm(x, Scalar(o.p()), o.dim(), true), o.eps()), x.sizes());
  if (!given(o.out())) return div(x, length);
  Tensor out = *o.out();
  return div_out(out, x, length);
}

// --- dropout

#define TENON_DEFINE(name, Options, function)                            \
  Tensor name(Tensor x, const Options& o) {                              \
    const Tensor result = tenon::function(x, o.p(), o.training());       \
    return result.is_same(x) || !o.inplace() ? result : x.copy_(result); \
  }
TENON_DEFINE(dropout, DropoutFuncOptions, dropout)
TENON_DEFINE(dropout2d, Dropout2dFuncOptions, feature_dropout)
TENON_DEFINE(dropout3d, Dropout3dFuncOptions, feature_dropout)
TENON_DEFINE(alpha_dropout, AlphaDropoutFuncOptions, alpha_dropout)
TENON_DEFINE(feature_alpha_dropout, FeatureAlphaDropoutFuncOptions, feature_alpha_dropout)
#undef TENON_DEFINE

// --- embedding

Tensor embedding(const Operand& input, const Operand& weight, const EmbeddingFuncOptions& o) {
  int64_t padding_idx = -1;
  if (o.padding_idx()) {
    const int64_t rows = weight.dim() ? weight.size(0) : 0;
    padding_idx = *o.padding_idx();
    check(padding_idx < rows && padding_idx >= -rows, "Padding_idx must be within num_embeddings");
    if (padding_idx < 0) padding_idx += rows;
  }
  if (o.max_norm()) {
    const NoGradGuard no_grad;
    const Tensor index = reshape(input, {input.numel()}), rows = index_select(weight, 0, index);
    const Tensor length = norm(rows, Scalar(o.norm_type()), 1, true);
    const Tensor scale = where(length > *o.max_norm(), *o.max_norm() / (length + 1e-7), Scalar(1.0));
    weight.copy_(index_copy(weight, 0, index, mul(rows, scale)));
  }
  return tenon::embedding(weight, input, padding_idx, o.scale_grad_by_freq(), o.sparse());
}
Tensor one_hot(const Operand& x, int64_t num_classes) { return tenon::one_hot(x, num_classes); }

// --- distances and losses

Tensor pdist(const Operand& x, double p) { return tenon::pdist(x, p); }

namespace {
void warn_of_broadcast(const Tensor& x, const Tensor& t) {
  if (x.sizes() == t.sizes()) return;
  warn_user(text("Using a target size (", t.sizes(), ") that is different to the input size (", x.sizes(),
                 "). This will likely lead to incorrect results due to broadcasting. Please ensure they have the "
                 "same size."));
}
}  // namespace

Tensor mse_loss(const Operand& x, const Operand& t, const MSELossFuncOptions& o) {
  const CallScope call("mse_loss", x, t);
  warn_of_broadcast(x, t);
  return tenon::mse_loss(x, t, reduction_of(o));
}
Tensor smooth_l1_loss(const Operand& x, const Operand& t, const SmoothL1LossFuncOptions& o) {
  const CallScope call("smooth_l1_loss", x, t);
  warn_of_broadcast(x, t);
  return tenon::smooth_l1_loss(x, t, reduction_of(o), o.beta().value_or(1.0));
}
Tensor smooth_l1_loss(const Operand& x, const Operand& t, const SmoothL1LossFuncOptions& o, double beta) {
  const CallScope call("smooth_l1_loss", x, t);
  warn_of_broadcast(x, t);
  check(!o.beta(), "expected beta not to be provided in 'options', but got ", o.beta().value_or(0));
  return tenon::smooth_l1_loss(x, t, reduction_of(o), beta);
}
Tensor huber_loss(const Operand& x, const Operand& t, const HuberLossFuncOptions& o) {
  const CallScope call("huber_loss", x, t);
  warn_of_broadcast(x, t);
  return tenon::huber_loss(x, t, reduction_of(o), o.delta());
}
Tensor kl_div(const Operand& x, const Operand& t, const KLDivFuncOptions& o) {
  const Tag reduction = o.reduction().tag();
  if (reduction == Tag::Mean)
    warn_user(
        "reduction: 'mean' divides the total loss by both the batch size and the support size.'batchmean' divides "
        "only by the batch size, and aligns with the KL div math definition.'mean' will be changed to behave the "
        "same as 'batchmean' in the next major release.");
  if (reduction != Tag::BatchMean) return tenon::kl_div(x, t, reduction_of(reduction), o.log_target());
  const Tensor total = tenon::kl_div(x, t, Reduction::Sum, o.log_target());
  return x.dim() ? div(total, x.size(0)) : total;
}
Tensor binary_cross_entropy(const Operand& x, const Operand& t, const BinaryCrossEntropyFuncOptions& o) {
  const CallScope call("binary_cross_entropy", x, t);
  check<ValueError>(x.sizes() == t.sizes(), "Using a target size (", size_text(t.sizes()), ") that is different to the input size (",
                    size_text(x.sizes()), ") is deprecated. Please ensure they have the same size.");
  const Tensor weight = o.weight().defined() ? broadcast_tensors({o.weight(), t})[0] : o.weight();
  return tenon::binary_cross_entropy(x, t, weight, reduction_of(o));
}
Tensor binary_cross_entropy_with_logits(const Operand& x, const Operand& t, const BinaryCrossEntropyWithLogitsFuncOptions& o) {
  const CallScope call("binary_cross_entropy_with_logits", x, t);
  check<ValueError>(x.sizes() == t.sizes(), "Target size (", size_text(t.sizes()), ") must be the same as input size (",
                    size_text(x.sizes()), ")");
  return tenon::binary_cross_entropy_with_logits(x, t, o.weight(), o.pos_weight(), reduction_of(o));
}
Tensor multilabel_soft_margin_loss(const Operand& x, const Operand& t, const MultilabelSoftMarginLossFuncOptions& o) {
  Tensor loss = neg(add(mul(t, log_sigmoid(x)), mul(1 - t, log_sigmoid(neg(x)))));
  if (o.weight().defined()) loss = mul(loss, o.weight());
  loss = mean(loss, -1);
  const int64_t reduction = reduction_of(o);
  return reduction == Reduction::None ? loss : reduction == Reduction::Mean ? mean(loss) : sum(loss);
}
Tensor margin_ranking_loss(const Operand& a, const Operand& b, const Operand& t, const MarginRankingLossFuncOptions& o) {
  const CallScope call("margin_ranking_loss", a, b, t);
  check(a.dim() == b.dim() && a.dim() == t.dim(),
        "margin_ranking_loss : All input tensors should have same dimension but got sizes: input1: ", a.sizes(), ", input2: ", b.sizes(),
        ", target: ", t.sizes());
  return tenon::margin_ranking_loss(a, b, t, o.margin(), reduction_of(o));
}

}  // namespace nn::functional
}  // namespace tenon
