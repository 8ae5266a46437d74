// torch.nn.functional: convolution, pooling, norms, losses.
#include <tenon/nn/functional.h>

#include "frontend/python/call.h"

namespace python {

namespace {

namespace F = tenon::nn::functional;
using tenon::IntArrayRef;
using tenon::Tensor;

constexpr size_t kNamed = Call::kNamed;

// The tag of reduction='mean'.
template <typename Choice>
Choice reduction(const Call& c, size_t i) {
  const std::string name = c.string(i, "reduction", "mean");
  if (name == "none") return tenon::kNone;
  if (name == "sum") return tenon::kSum;
  if constexpr (std::is_same_v<Choice, tenon::nn::KLDivLossReduction>) {
    if (name == "batchmean") return tenon::kBatchMean;
  }
  if (name != "mean") throw Unsupported("reduction='" + name + "' is no tag in C++");
  return tenon::kMean;
}
tenon::nn::LossReduction loss_reduction(const Call& c, size_t i) { return reduction<tenon::nn::LossReduction>(c, i); }

template <size_t D, typename Convolution>
Function conv_entry(Convolution convolution) {
  return [=](const Call& c) -> Value {
    F::ConvFuncOptions<D> o;
    o.bias(c.tensor_or_undefined(2, "bias"));
    o.stride(c.ints(3, "stride", {1}));
    if (c.has(4, "padding") && c.need(4, "padding").template is<std::string>()) {
      const std::string name = c.string(4, "padding", "");
      if (name == "same") o.padding(tenon::kSame);
      else o.padding(tenon::kValid);
    } else {
      o.padding(c.ints(4, "padding", {0}));
    }
    o.dilation(c.ints(5, "dilation", {1}));
    o.groups(c.integer(6, "groups", 1));
    return convolution(c.tensor(0), c.tensor(1, "weight"), o);
  };
}

template <size_t D, typename Convolution>
Function conv_transpose_entry(Convolution convolution) {
  return [=](const Call& c) -> Value {
    F::ConvTransposeFuncOptions<D> o;
    o.bias(c.tensor_or_undefined(2, "bias"));
    o.stride(c.ints(3, "stride", {1}));
    o.padding(c.ints(4, "padding", {0}));
    o.output_padding(c.ints(5, "output_padding", {0}));
    o.groups(c.integer(6, "groups", 1));
    o.dilation(c.ints(7, "dilation", {1}));
    return convolution(c.tensor(0), c.tensor(1, "weight"), o);
  };
}

template <size_t D, typename Pool, typename WithIndices>
Function max_pool_entry(Pool pool, WithIndices with_indices) {
  return [=](const Call& c) -> Value {
    tenon::nn::MaxPoolOptions<D> o(c.ints(1, "kernel_size"));
    if (c.has(2, "stride")) o.stride(c.ints(2, "stride"));
    o.padding(c.ints(3, "padding", {0}));
    o.dilation(c.ints(4, "dilation", {1}));
    o.ceil_mode(c.flag(5, "ceil_mode", false));
    if (c.flag(6, "return_indices", false)) return pair_of(with_indices(c.tensor(0), o));
    return pool(c.tensor(0), o);
  };
}

template <size_t D, typename Pool>
Function avg_pool_entry(Pool pool) {
  return [=](const Call& c) -> Value {
    tenon::nn::AvgPoolOptions<D> o(c.ints(1, "kernel_size"));
    if (c.has(2, "stride")) o.stride(c.ints(2, "stride"));
    o.padding(c.ints(3, "padding", {0}));
    o.ceil_mode(c.flag(4, "ceil_mode", false));
    o.count_include_pad(c.flag(5, "count_include_pad", true));
    o.divisor_override(c.maybe_integer(6, "divisor_override"));
    return pool(c.tensor(0), o);
  };
}

void add_windows(Table& t) {
  t["conv1d"] = conv_entry<1>(F::conv1d);
  t["conv2d"] = conv_entry<2>(F::conv2d);
  t["conv3d"] = conv_entry<3>(F::conv3d);
  t["conv_transpose1d"] = conv_transpose_entry<1>(F::conv_transpose1d);
  t["conv_transpose2d"] = conv_transpose_entry<2>(F::conv_transpose2d);
  t["conv_transpose3d"] = conv_transpose_entry<3>(F::conv_transpose3d);
  t["max_pool1d"] = max_pool_entry<1>(F::max_pool1d, F::max_pool1d_with_indices);
  t["max_pool2d"] = max_pool_entry<2>(F::max_pool2d, F::max_pool2d_with_indices);
  t["max_pool3d"] = max_pool_entry<3>(F::max_pool3d, F::max_pool3d_with_indices);
  t["avg_pool1d"] = avg_pool_entry<1>(F::avg_pool1d);
  t["avg_pool2d"] = avg_pool_entry<2>(F::avg_pool2d);
  t["avg_pool3d"] = avg_pool_entry<3>(F::avg_pool3d);
  const auto adaptive = [](Tensor (*pool)(const tenon::Operand&, IntArrayRef)) -> Function {
    return [=](const Call& c) -> Value { return pool(c.tensor(0), c.ints(1, "output_size")); };
  };
  t["adaptive_avg_pool1d"] = adaptive(tenon::adaptive_avg_pool1d);
  t["adaptive_avg_pool2d"] = adaptive(tenon::adaptive_avg_pool2d);
  t["adaptive_avg_pool3d"] = adaptive(tenon::adaptive_avg_pool3d);
  const auto adaptive_max = [](std::tuple<Tensor, Tensor> (*pool)(const tenon::Operand&, IntArrayRef)) -> Function {
    return [=](const Call& c) -> Value {
      const auto both = pool(c.tensor(0), c.ints(1, "output_size"));
      if (c.flag(2, "return_indices", false)) return pair_of(both);
      return std::get<0>(both);
    };
  };
  t["adaptive_max_pool1d"] = adaptive_max(tenon::adaptive_max_pool1d);
  t["adaptive_max_pool2d"] = adaptive_max(tenon::adaptive_max_pool2d);
  t["adaptive_max_pool3d"] = adaptive_max(tenon::adaptive_max_pool3d);
  t["F.unfold"] = [](const Call& c) -> Value {
    return F::unfold(c.tensor(0), F::UnfoldFuncOptions(c.ints(1, "kernel_size"))
                                      .dilation(c.ints(2, "dilation", {1}))
                                      .padding(c.ints(3, "padding", {0}))
                                      .stride(c.ints(4, "stride", {1})));
  };
  t["F.fold"] = [](const Call& c) -> Value {
    return F::fold(c.tensor(0), F::FoldFuncOptions(c.ints(1, "output_size"), c.ints(2, "kernel_size"))
                                    .dilation(c.ints(3, "dilation", {1}))
                                    .padding(c.ints(4, "padding", {0}))
                                    .stride(c.ints(5, "stride", {1})));
  };
}

Value pad(const Call& c) {
  F::PadFuncOptions o(c.ints(1, "pad"));
  const std::string mode = c.string(2, "mode", "constant");
  if (mode == "reflect") o.mode(tenon::kReflect);
  if (mode == "replicate") o.mode(tenon::kReplicate);
  if (mode == "circular") o.mode(tenon::kCircular);
  return F::pad(c.tensor(0), o.value(c.real(3, "value", 0)));
}

Value interpolate(const Call& c) {
  F::InterpolateFuncOptions o;
  if (c.has(1, "size")) o.size(c.ints(1, "size"));
  if (c.has(2, "scale_factor")) {
    const Value& v = c.need(2, "scale_factor");
    std::vector<double> factors;
    if (v.is<List>()) {
      for (const Value& item : v.as<List>().items) factors.push_back(to_scalar(item).toDouble());
    } else {
      factors.push_back(to_scalar(v).toDouble());
    }
    o.scale_factor(factors);
  }
  const std::string mode = c.string(3, "mode", "nearest");
  if (mode == "linear") o.mode(tenon::kLinear);
  if (mode == "bilinear") o.mode(tenon::kBilinear);
  if (mode == "bicubic") o.mode(tenon::kBicubic);
  if (mode == "trilinear") o.mode(tenon::kTrilinear);
  if (mode == "area") o.mode(tenon::kArea);
  if (mode == "nearest-exact") o.mode(tenon::kNearestExact);
  if (c.has(4, "align_corners")) o.align_corners(c.flag(4, "align_corners", false));
  return F::interpolate(c.tensor(0), o);
}

Value grid_sample(const Call& c) {
  F::GridSampleFuncOptions o;
  const std::string mode = c.string(2, "mode", "bilinear"), padding = c.string(3, "padding_mode", "zeros");
  if (mode == "nearest") o.mode(tenon::kNearest);
  if (mode == "bicubic") o.mode(tenon::kBicubic);
  if (padding == "border") o.padding_mode(tenon::kBorder);
  if (padding == "reflection") o.padding_mode(tenon::kReflection);
  if (c.has(4, "align_corners")) o.align_corners(c.flag(4, "align_corners", false));
  return F::grid_sample(c.tensor(0), c.tensor(1, "grid"), o);
}

void add_norms(Table& t) {
  t["batch_norm"] = [](const Call& c) -> Value {
    return F::batch_norm(c.tensor(0), c.tensor_or_undefined(1, "running_mean"), c.tensor_or_undefined(2, "running_var"),
                         F::BatchNormFuncOptions()
                             .weight(c.tensor_or_undefined(3, "weight"))
                             .bias(c.tensor_or_undefined(4, "bias"))
                             .training(c.flag(5, "training", false))
                             .momentum(c.real(6, "momentum", 0.1))
                             .eps(c.real(7, "eps", 1e-5)));
  };
  t["group_norm"] = [](const Call& c) -> Value {
    return F::group_norm(c.tensor(0), F::GroupNormFuncOptions(c.integer(1, "num_groups"))
                                          .weight(c.tensor_or_undefined(2, "weight"))
                                          .bias(c.tensor_or_undefined(3, "bias"))
                                          .eps(c.real(4, "eps", 1e-5)));
  };
  t["instance_norm"] = [](const Call& c) -> Value {
    return F::instance_norm(c.tensor(0), F::InstanceNormFuncOptions()
                                             .running_mean(c.tensor_or_undefined(1, "running_mean"))
                                             .running_var(c.tensor_or_undefined(2, "running_var"))
                                             .weight(c.tensor_or_undefined(3, "weight"))
                                             .bias(c.tensor_or_undefined(4, "bias"))
                                             .use_input_stats(c.flag(5, "use_input_stats", true)));
  };
  t["local_response_norm"] = [](const Call& c) -> Value {
    return F::local_response_norm(c.tensor(0), F::LocalResponseNormFuncOptions(c.integer(1, "size"))
                                                   .alpha(c.real(2, "alpha", 1e-4))
                                                   .beta(c.real(3, "beta", 0.75))
                                                   .k(c.real(4, "k", 1)));
  };
  t["normalize"] = [](const Call& c) -> Value {
    return F::normalize(c.tensor(0),
                        F::NormalizeFuncOptions().p(c.real(1, "p", 2)).dim(c.integer(2, "dim", 1)).eps(c.real(3, "eps", 1e-12)));
  };
  t["cosine_similarity"] = [](const Call& c) -> Value {
    return F::cosine_similarity(c.tensor(0), c.tensor(1, "x2"),
                                F::CosineSimilarityFuncOptions().dim(c.integer(2, "dim", 1)).eps(c.real(3, "eps", 1e-8)));
  };
  t["pairwise_distance"] = [](const Call& c) -> Value {
    return F::pairwise_distance(
        c.tensor(0), c.tensor(1, "x2"),
        F::PairwiseDistanceFuncOptions().p(c.real(2, "p", 2)).eps(c.real(3, "eps", 1e-6)).keepdim(c.flag(4, "keepdim", false)));
  };
  t["pdist"] = [](const Call& c) -> Value { return F::pdist(c.tensor(0), c.real(1, "p", 2)); };
}

void add_losses(Table& t) {
  t["mse_loss"] = [](const Call& c) -> Value { return F::mse_loss(c.tensor(0), c.tensor(1, "target"), loss_reduction(c, kNamed)); };
  t["l1_loss"] = [](const Call& c) -> Value { return F::l1_loss(c.tensor(0), c.tensor(1, "target"), loss_reduction(c, kNamed)); };
  t["smooth_l1_loss"] = [](const Call& c) -> Value {
    return F::smooth_l1_loss(c.tensor(0), c.tensor(1, "target"),
                             F::SmoothL1LossFuncOptions(loss_reduction(c, kNamed)).beta(c.real(kNamed, "beta", 1)));
  };
  t["huber_loss"] = [](const Call& c) -> Value {
    return F::huber_loss(c.tensor(0), c.tensor(1, "target"),
                         F::HuberLossFuncOptions(loss_reduction(c, kNamed)).delta(c.real(kNamed, "delta", 1)));
  };
  t["F.soft_margin_loss"] = [](const Call& c) -> Value { return F::soft_margin_loss(c.tensor(0), c.tensor(1, "target")); };
  t["F.hinge_embedding_loss"] = [](const Call& c) -> Value { return F::hinge_embedding_loss(c.tensor(0), c.tensor(1, "target")); };
  t["F.poisson_nll_loss"] = [](const Call& c) -> Value { return F::poisson_nll_loss(c.tensor(0), c.tensor(1, "target")); };
  t["kl_div"] = [](const Call& c) -> Value {
    return F::kl_div(
        c.tensor(0), c.tensor(1, "target"),
        F::KLDivFuncOptions(reduction<tenon::nn::KLDivLossReduction>(c, kNamed)).log_target(c.flag(kNamed, "log_target", false)));
  };
  t["binary_cross_entropy"] = [](const Call& c) -> Value {
    return F::binary_cross_entropy(
        c.tensor(0), c.tensor(1, "target"),
        F::BinaryCrossEntropyFuncOptions().weight(c.tensor_or_undefined(2, "weight")).reduction(loss_reduction(c, kNamed)));
  };
  t["binary_cross_entropy_with_logits"] = [](const Call& c) -> Value {
    return F::binary_cross_entropy_with_logits(c.tensor(0), c.tensor(1, "target"),
                                               F::BinaryCrossEntropyWithLogitsFuncOptions()
                                                   .weight(c.tensor_or_undefined(2, "weight"))
                                                   .pos_weight(c.tensor_or_undefined(kNamed, "pos_weight"))
                                                   .reduction(loss_reduction(c, kNamed)));
  };
  t["nll_loss"] = [](const Call& c) -> Value {
    return F::nll_loss(c.tensor(0), c.tensor(1, "target"),
                       F::NLLLossFuncOptions()
                           .weight(c.tensor_or_undefined(2, "weight"))
                           .ignore_index(c.integer(kNamed, "ignore_index", -100))
                           .reduction(loss_reduction(c, kNamed)));
  };
  t["cross_entropy"] = [](const Call& c) -> Value {
    return F::cross_entropy(c.tensor(0), c.tensor(1, "target"),
                            F::CrossEntropyFuncOptions()
                                .weight(c.tensor_or_undefined(2, "weight"))
                                .ignore_index(c.integer(kNamed, "ignore_index", -100))
                                .reduction(loss_reduction(c, kNamed))
                                .label_smoothing(c.real(kNamed, "label_smoothing", 0)));
  };
}

}  // namespace

void add_functional(Table& t) {
  add_windows(t);
  add_norms(t);
  add_losses(t);
  t["pad"] = pad;
  t["interpolate"] = interpolate;
  t["grid_sample"] = grid_sample;
  t["softmin"] = [](const Call& c) -> Value { return F::softmin(c.tensor(0), c.integer(1, "dim")); };
  t["glu"] = [](const Call& c) -> Value { return F::glu(c.tensor(0), c.integer(1, "dim", -1)); };
  t["bilinear"] = [](const Call& c) -> Value {
    return F::bilinear(c.tensor(0), c.tensor(1, "input2"), c.tensor(2, "weight"), c.tensor_or_undefined(3, "bias"));
  };
  t["embedding"] = [](const Call& c) -> Value {
    return F::embedding(c.tensor(0), c.tensor(1, "weight"), F::EmbeddingFuncOptions().padding_idx(c.maybe_integer(2, "padding_idx")));
  };
  t["F.one_hot"] = [](const Call& c) -> Value { return F::one_hot(c.tensor(0), c.integer(1, "num_classes", -1)); };
}

}  // namespace python
