// Printed from frontend/layers.def by scripts/print/make_layers.py.
// The options that functions of tenon/nn/functional.h and modules take, in LibTorch's style: each field has a
// setter that returns the options, and a getter of the same name.
//
//   F::max_pool2d(x, F::MaxPool2dFuncOptions(3).stride(2).padding(1))
#pragma once

#include "tenon/nn/arg.h"

namespace tenon::nn {

#define TENON_REDUCTION(T) \
 public:                   \
  using reduction_t = T;   \
  TENON_ARG(reduction_t, reduction)

// --- activations
struct SELUOptions {
  SELUOptions(bool inplace = false) : inplace_(inplace) {}
  TENON_ARG(bool, inplace);
};
using ReLUOptions = SELUOptions;
using ReLU6Options = SELUOptions;
struct ELUOptions {
  TENON_ARG(double, alpha) = 1.0;
  TENON_ARG(bool, inplace) = false;
};
struct CELUOptions {
  TENON_ARG(double, alpha) = 1.0;
  TENON_ARG(bool, inplace) = false;
};
struct GELUOptions {
  TENON_ARG(std::string, approximate) = "none";
};
struct GLUOptions {
  GLUOptions(int64_t dim = -1) : dim_(dim) {}
  TENON_ARG(int64_t, dim);
};
struct LeakyReLUOptions {
  TENON_ARG(double, negative_slope) = 1e-2;
  TENON_ARG(bool, inplace) = false;
};
struct HardtanhOptions {
  TENON_ARG(double, min_val) = -1.0;
  TENON_ARG(double, max_val) = 1.0;
  TENON_ARG(bool, inplace) = false;
};
struct HardshrinkOptions {
  HardshrinkOptions(double lambda = 0.5) : lambda_(lambda) {}
  TENON_ARG(double, lambda);
};
using SoftshrinkOptions = HardshrinkOptions;
struct SoftplusOptions {
  TENON_ARG(double, beta) = 1.0;
  TENON_ARG(double, threshold) = 20.0;
};
struct ThresholdOptions {
  ThresholdOptions(double threshold, double value) : threshold_(threshold), value_(value) {}
  TENON_ARG(double, threshold);
  TENON_ARG(double, value);
  TENON_ARG(bool, inplace) = false;
};
struct RReLUOptions {
  TENON_ARG(double, lower) = 1.0 / 8.0;
  TENON_ARG(double, upper) = 1.0 / 3.0;
  TENON_ARG(bool, inplace) = false;
};
struct DimOptions {
  DimOptions(int64_t dim) : dim_(dim) {}
  TENON_ARG(int64_t, dim);
};
using SoftmaxOptions = DimOptions;
using LogSoftmaxOptions = DimOptions;
using SoftminOptions = DimOptions;
using SiLUOptions = SELUOptions;
struct PReLUOptions {
  TENON_ARG(int64_t, num_parameters) = 1;
  TENON_ARG(double, init) = 0.25;
};

// --- dropout: the identity unless training
struct DropoutOptions {
  DropoutOptions(double p = 0.5) : p_(p) {}
  TENON_ARG(double, p);
  TENON_ARG(bool, inplace) = false;
};
using Dropout2dOptions = DropoutOptions;
using Dropout3dOptions = DropoutOptions;
using AlphaDropoutOptions = DropoutOptions;
using FeatureAlphaDropoutOptions = DropoutOptions;

// --- pooling
template <size_t D>
struct MaxPoolOptions {
  MaxPoolOptions(ExpandingArray<D> kernel_size) : kernel_size_(kernel_size), stride_(kernel_size) {}
  TENON_ARG(ExpandingArray<D>, kernel_size);
  TENON_ARG(ExpandingArray<D>, stride);
  TENON_ARG(ExpandingArray<D>, padding) = 0;
  TENON_ARG(ExpandingArray<D>, dilation) = 1;
  TENON_ARG(bool, ceil_mode) = false;
};
using MaxPool1dOptions = MaxPoolOptions<1>;
using MaxPool2dOptions = MaxPoolOptions<2>;
using MaxPool3dOptions = MaxPoolOptions<3>;
template <size_t D>
struct AvgPoolOptions {
  AvgPoolOptions(ExpandingArray<D> kernel_size) : kernel_size_(kernel_size), stride_(kernel_size) {}
  TENON_ARG(ExpandingArray<D>, kernel_size);
  TENON_ARG(ExpandingArray<D>, stride);
  TENON_ARG(ExpandingArray<D>, padding) = 0;
  TENON_ARG(bool, ceil_mode) = false;
  TENON_ARG(bool, count_include_pad) = true;
  TENON_ARG(optional<int64_t>, divisor_override) = nullopt;
};
using AvgPool1dOptions = AvgPoolOptions<1>;
using AvgPool2dOptions = AvgPoolOptions<2>;
using AvgPool3dOptions = AvgPoolOptions<3>;
template <size_t D>
struct LPPoolOptions {
  LPPoolOptions(double norm_type, ExpandingArray<D> kernel_size)
      : norm_type_(norm_type),
        kernel_size_(kernel_size),
        stride_(kernel_size) {}
  TENON_ARG(double, norm_type);
  TENON_ARG(ExpandingArray<D>, kernel_size);
  TENON_ARG(ExpandingArray<D>, stride);
  TENON_ARG(bool, ceil_mode) = false;
};
using LPPool1dOptions = LPPoolOptions<1>;
using LPPool2dOptions = LPPoolOptions<2>;
using LPPool3dOptions = LPPoolOptions<3>;
template <size_t D>
struct AdaptivePoolOptions {
  AdaptivePoolOptions(ExpandingArrayWithOptionalElem<D> output_size) : output_size_(output_size) {}
  TENON_ARG(ExpandingArrayWithOptionalElem<D>, output_size);
};
using AdaptiveAvgPool1dOptions = AdaptivePoolOptions<1>;
using AdaptiveAvgPool2dOptions = AdaptivePoolOptions<2>;
using AdaptiveAvgPool3dOptions = AdaptivePoolOptions<3>;
using AdaptiveMaxPool1dOptions = AdaptivePoolOptions<1>;
using AdaptiveMaxPool2dOptions = AdaptivePoolOptions<2>;
using AdaptiveMaxPool3dOptions = AdaptivePoolOptions<3>;
// output_ratio: of the input's size; _random_samples: [N, C, D] in [0, 1), drawn if undefined
template <size_t D>
struct FractionalMaxPoolOptions {
  using ExpandingArrayDouble = ExpandingArray<D, double>;
  FractionalMaxPoolOptions(ExpandingArray<D> kernel_size) : kernel_size_(kernel_size) {}
  TENON_ARG(ExpandingArray<D>, kernel_size);
  TENON_ARG(optional<ExpandingArray<D>>, output_size) = nullopt;
  TENON_ARG(optional<ExpandingArrayDouble>, output_ratio) = nullopt;
  TENON_ARG(Tensor, _random_samples) = {};
};
using FractionalMaxPool2dOptions = FractionalMaxPoolOptions<2>;
using FractionalMaxPool3dOptions = FractionalMaxPoolOptions<3>;

// --- windows, padding, resizing
struct FoldOptions {
  FoldOptions(ExpandingArray<2> output_size, ExpandingArray<2> kernel_size)
      : output_size_(output_size),
        kernel_size_(kernel_size) {}
  TENON_ARG(ExpandingArray<2>, output_size);
  TENON_ARG(ExpandingArray<2>, kernel_size);
  TENON_ARG(ExpandingArray<2>, dilation) = 1;
  TENON_ARG(ExpandingArray<2>, padding) = 0;
  TENON_ARG(ExpandingArray<2>, stride) = 1;
};
struct UnfoldOptions {
  UnfoldOptions(ExpandingArray<2> kernel_size) : kernel_size_(kernel_size) {}
  TENON_ARG(ExpandingArray<2>, kernel_size);
  TENON_ARG(ExpandingArray<2>, dilation) = 1;
  TENON_ARG(ExpandingArray<2>, padding) = 0;
  TENON_ARG(ExpandingArray<2>, stride) = 1;
};
struct PixelShuffleOptions {
  PixelShuffleOptions(int64_t upscale_factor) : upscale_factor_(upscale_factor) {}
  TENON_ARG(int64_t, upscale_factor);
};
struct PixelUnshuffleOptions {
  PixelUnshuffleOptions(int64_t downscale_factor) : downscale_factor_(downscale_factor) {}
  TENON_ARG(int64_t, downscale_factor);
};
// before and after, the last dim first
template <size_t D>
struct PadOptions {
  PadOptions(ExpandingArray<D * 2> padding) : padding_(padding) {}
  TENON_ARG(ExpandingArray<D * 2>, padding);
};
using ReflectionPad1dOptions = PadOptions<1>;
using ReflectionPad2dOptions = PadOptions<2>;
using ReflectionPad3dOptions = PadOptions<3>;
using ReplicationPad1dOptions = PadOptions<1>;
using ReplicationPad2dOptions = PadOptions<2>;
using ReplicationPad3dOptions = PadOptions<3>;
using ZeroPad1dOptions = PadOptions<1>;
using ZeroPad2dOptions = PadOptions<2>;
using ZeroPad3dOptions = PadOptions<3>;
template <size_t D>
struct ConstantPadOptions {
  ConstantPadOptions(ExpandingArray<D * 2> padding, double value) : padding_(padding), value_(value) {}
  TENON_ARG(ExpandingArray<D * 2>, padding);
  TENON_ARG(double, value);
};
using ConstantPad1dOptions = ConstantPadOptions<1>;
using ConstantPad2dOptions = ConstantPadOptions<2>;
using ConstantPad3dOptions = ConstantPadOptions<3>;
struct UpsampleOptions {
  using mode_t = OneOf<Tag::Nearest, Tag::Linear, Tag::Bilinear, Tag::Bicubic, Tag::Trilinear>;
  TENON_ARG(optional<std::vector<int64_t>>, size) = nullopt;
  TENON_ARG(optional<std::vector<double>>, scale_factor) = nullopt;
  TENON_ARG(mode_t, mode) = kNearest;
  TENON_ARG(optional<bool>, align_corners) = nullopt;
};
struct FlattenOptions {
  TENON_ARG(int64_t, start_dim) = 1;
  TENON_ARG(int64_t, end_dim) = -1;
};
struct UnflattenOptions {
  UnflattenOptions(int64_t dim, std::vector<int64_t> sizes) : dim_(dim), sizes_(std::move(sizes)) {}
  TENON_ARG(int64_t, dim);
  TENON_ARG(std::vector<int64_t>, sizes);
};

// --- normalisation
struct LocalResponseNormOptions {
  LocalResponseNormOptions(int64_t size) : size_(size) {}
  TENON_ARG(int64_t, size);
  TENON_ARG(double, alpha) = 1e-4;
  TENON_ARG(double, beta) = 0.75;
  TENON_ARG(double, k) = 1.0;
};
struct CrossMapLRN2dOptions {
  CrossMapLRN2dOptions(int64_t size) : size_(size) {}
  TENON_ARG(int64_t, size);
  TENON_ARG(double, alpha) = 1e-4;
  TENON_ARG(double, beta) = 0.75;
  TENON_ARG(int64_t, k) = 1;
};
struct LayerNormOptions {
  LayerNormOptions(std::vector<int64_t> normalized_shape) : normalized_shape_(std::move(normalized_shape)) {}
  TENON_ARG(std::vector<int64_t>, normalized_shape);
  TENON_ARG(double, eps) = 1e-5;
  TENON_ARG(bool, elementwise_affine) = true;
};
struct GroupNormOptions {
  GroupNormOptions(int64_t num_groups, int64_t num_channels) : num_groups_(num_groups), num_channels_(num_channels) {}
  TENON_ARG(int64_t, num_groups);
  TENON_ARG(int64_t, num_channels);
  TENON_ARG(double, eps) = 1e-5;
  TENON_ARG(bool, affine) = true;
};

// --- distances
struct CosineSimilarityOptions {
  TENON_ARG(int64_t, dim) = 1;
  TENON_ARG(double, eps) = 1e-8;
};
struct PairwiseDistanceOptions {
  TENON_ARG(double, p) = 2.0;
  TENON_ARG(double, eps) = 1e-6;
  TENON_ARG(bool, keepdim) = false;
};

// --- losses
struct L1LossOptions {
  L1LossOptions(LossReduction reduction = kMean) : reduction_(reduction) {}
  template <Tag tag>
  L1LossOptions(enumtype::Is<tag> reduction) : reduction_(reduction) {}
  TENON_REDUCTION(LossReduction);
};
using MSELossOptions = L1LossOptions;
using MultiLabelMarginLossOptions = L1LossOptions;
using SoftMarginLossOptions = L1LossOptions;
// beta: 1 unless given
struct SmoothL1LossOptions {
  SmoothL1LossOptions(LossReduction reduction = kMean) : reduction_(reduction) {}
  template <Tag tag>
  SmoothL1LossOptions(enumtype::Is<tag> reduction) : reduction_(reduction) {}
  TENON_REDUCTION(LossReduction);
  TENON_ARG(optional<double>, beta) = nullopt;
};
struct HuberLossOptions {
  HuberLossOptions(LossReduction reduction = kMean) : reduction_(reduction) {}
  template <Tag tag>
  HuberLossOptions(enumtype::Is<tag> reduction) : reduction_(reduction) {}
  TENON_REDUCTION(LossReduction);
  TENON_ARG(double, delta) = 1.0;
};
struct KLDivLossOptions {
  KLDivLossOptions(KLDivLossReduction reduction = kMean) : reduction_(reduction) {}
  template <Tag tag>
  KLDivLossOptions(enumtype::Is<tag> reduction) : reduction_(reduction) {}
  TENON_REDUCTION(KLDivLossReduction);
  TENON_ARG(bool, log_target) = false;
};
struct HingeEmbeddingLossOptions {
  TENON_ARG(double, margin) = 1.0;
  TENON_REDUCTION(LossReduction) = kMean;
};
struct PoissonNLLLossOptions {
  TENON_ARG(bool, log_input) = true;
  TENON_ARG(bool, full) = false;
  TENON_ARG(double, eps) = 1e-8;
  TENON_REDUCTION(LossReduction) = kMean;
};
struct CrossEntropyLossOptions {
  TENON_ARG(Tensor, weight) = {};
  TENON_ARG(int64_t, ignore_index) = -100;
  TENON_REDUCTION(LossReduction) = kMean;
  TENON_ARG(double, label_smoothing) = 0.0;
};
struct NLLLossOptions {
  TENON_ARG(Tensor, weight) = {};
  TENON_ARG(int64_t, ignore_index) = -100;
  TENON_REDUCTION(LossReduction) = kMean;
};
struct BCELossOptions {
  TENON_ARG(Tensor, weight) = {};
  TENON_REDUCTION(LossReduction) = kMean;
};
struct BCEWithLogitsLossOptions {
  TENON_ARG(Tensor, weight) = {};
  TENON_REDUCTION(LossReduction) = kMean;
  TENON_ARG(Tensor, pos_weight) = {};
};
using MultiLabelSoftMarginLossOptions = BCELossOptions;
struct MultiMarginLossOptions {
  TENON_ARG(int64_t, p) = 1;
  TENON_ARG(double, margin) = 1.0;
  TENON_ARG(Tensor, weight) = {};
  TENON_REDUCTION(LossReduction) = kMean;
};
struct CosineEmbeddingLossOptions {
  TENON_ARG(double, margin) = 0.0;
  TENON_REDUCTION(LossReduction) = kMean;
};
using MarginRankingLossOptions = CosineEmbeddingLossOptions;
struct TripletMarginLossOptions {
  TENON_ARG(double, margin) = 1.0;
  TENON_ARG(double, p) = 2.0;
  TENON_ARG(double, eps) = 1e-6;
  TENON_ARG(bool, swap) = false;
  TENON_REDUCTION(LossReduction) = kMean;
};
// distance_function: pairwise_distance unless given
struct TripletMarginWithDistanceLossOptions {
  using distance_function_t = Function<Tensor(const Tensor&, const Tensor&)>;
  TENON_ARG(optional<distance_function_t>, distance_function) = nullopt;
  TENON_ARG(double, margin) = 1.0;
  TENON_ARG(bool, swap) = false;
  TENON_REDUCTION(LossReduction) = kMean;
};
struct CTCLossOptions {
  TENON_ARG(int64_t, blank) = 0;
  TENON_REDUCTION(LossReduction) = kMean;
  TENON_ARG(bool, zero_infinity) = false;
};

// --- with parameters, or called otherwise
struct LinearOptions {
  LinearOptions(int64_t in_features, int64_t out_features) : in_features_(in_features), out_features_(out_features) {}
  TENON_ARG(int64_t, in_features);
  TENON_ARG(int64_t, out_features);
  TENON_ARG(bool, bias) = true;
};
struct BilinearOptions {
  BilinearOptions(int64_t in1_features, int64_t in2_features, int64_t out_features)
      : in1_features_(in1_features),
        in2_features_(in2_features),
        out_features_(out_features) {}
  TENON_ARG(int64_t, in1_features);
  TENON_ARG(int64_t, in2_features);
  TENON_ARG(int64_t, out_features);
  TENON_ARG(bool, bias) = true;
};
// padding_mode kConstant: as kZeros
template <size_t D>
struct ConvOptions {
  ConvOptions(int64_t in_channels, int64_t out_channels, ExpandingArray<D> kernel_size)
      : in_channels_(in_channels),
        out_channels_(out_channels),
        kernel_size_(kernel_size) {}
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
using Conv1dOptions = ConvOptions<1>;
using Conv2dOptions = ConvOptions<2>;
using Conv3dOptions = ConvOptions<3>;
template <size_t D>
struct ConvTransposeOptions {
  ConvTransposeOptions(int64_t in_channels, int64_t out_channels, ExpandingArray<D> kernel_size)
      : in_channels_(in_channels),
        out_channels_(out_channels),
        kernel_size_(kernel_size) {}
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
using ConvTranspose1dOptions = ConvTransposeOptions<1>;
using ConvTranspose2dOptions = ConvTransposeOptions<2>;
using ConvTranspose3dOptions = ConvTransposeOptions<3>;
// max_norm: rows that are looked up are scaled down to it, in place; _weight: the rows, drawn unless given
struct EmbeddingOptions {
  EmbeddingOptions(int64_t num_embeddings, int64_t embedding_dim)
      : num_embeddings_(num_embeddings),
        embedding_dim_(embedding_dim) {}
  TENON_ARG(int64_t, num_embeddings);
  TENON_ARG(int64_t, embedding_dim);
  TENON_ARG(optional<int64_t>, padding_idx) = nullopt;
  TENON_ARG(optional<double>, max_norm) = nullopt;
  TENON_ARG(double, norm_type) = 2.0;
  TENON_ARG(bool, scale_grad_by_freq) = false;
  TENON_ARG(bool, sparse) = false;
  TENON_ARG(Tensor, _weight) = {};
};
struct EmbeddingBagOptions {
  EmbeddingBagOptions(int64_t num_embeddings, int64_t embedding_dim)
      : num_embeddings_(num_embeddings),
        embedding_dim_(embedding_dim) {}
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
// freeze: the weight needs no gradient
struct EmbeddingFromPretrainedOptions {
  TENON_ARG(bool, freeze) = true;
  TENON_ARG(optional<int64_t>, padding_idx) = nullopt;
  TENON_ARG(optional<double>, max_norm) = nullopt;
  TENON_ARG(double, norm_type) = 2.0;
  TENON_ARG(bool, scale_grad_by_freq) = false;
  TENON_ARG(bool, sparse) = false;
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
struct RecurrentCellOptions {
  RecurrentCellOptions(int64_t input_size, int64_t hidden_size) : input_size_(input_size), hidden_size_(hidden_size) {}
  TENON_ARG(int64_t, input_size);
  TENON_ARG(int64_t, hidden_size);
  TENON_ARG(bool, bias) = true;
};
struct RNNCellOptions {
  using nonlinearity_t = RNNNonlinearity;
  RNNCellOptions(int64_t input_size, int64_t hidden_size) : input_size_(input_size), hidden_size_(hidden_size) {}
  TENON_ARG(int64_t, input_size);
  TENON_ARG(int64_t, hidden_size);
  TENON_ARG(bool, bias) = true;
  TENON_ARG(nonlinearity_t, nonlinearity) = kTanh;
};
using LSTMCellOptions = RecurrentCellOptions;
using GRUCellOptions = RecurrentCellOptions;
// add_bias_kv: one more source, which is learned; add_zero_attn: and one of zeros; kdim, vdim: the features of key and value
struct MultiheadAttentionOptions {
  MultiheadAttentionOptions(int64_t embed_dim, int64_t num_heads)
      : embed_dim_(embed_dim),
        num_heads_(num_heads),
        kdim_(embed_dim),
        vdim_(embed_dim) {}
  TENON_ARG(int64_t, embed_dim);
  TENON_ARG(int64_t, num_heads);
  TENON_ARG(double, dropout) = 0.0;
  TENON_ARG(bool, bias) = true;
  TENON_ARG(bool, add_bias_kv) = false;
  TENON_ARG(bool, add_zero_attn) = false;
  TENON_ARG(int64_t, kdim);
  TENON_ARG(int64_t, vdim);
};
// cutoffs: where each cluster but the first begins; div_value: by how much a cluster's projection is narrower than the one before it
struct AdaptiveLogSoftmaxWithLossOptions {
  AdaptiveLogSoftmaxWithLossOptions(int64_t in_features, int64_t n_classes, std::vector<int64_t> cutoffs)
      : in_features_(in_features),
        n_classes_(n_classes),
        cutoffs_(std::move(cutoffs)) {}
  TENON_ARG(int64_t, in_features);
  TENON_ARG(int64_t, n_classes);
  TENON_ARG(std::vector<int64_t>, cutoffs);
  TENON_ARG(double, div_value) = 4.0;
  TENON_ARG(bool, head_bias) = false;
};
#undef TENON_REDUCTION

namespace functional {

// --- activations
using SELUFuncOptions = SELUOptions;
using ReLUFuncOptions = ReLUOptions;
using ReLU6FuncOptions = ReLU6Options;
using ELUFuncOptions = ELUOptions;
using CELUFuncOptions = CELUOptions;
using GELUFuncOptions = GELUOptions;
using GLUFuncOptions = GLUOptions;
using LeakyReLUFuncOptions = LeakyReLUOptions;
using HardtanhFuncOptions = HardtanhOptions;
using HardshrinkFuncOptions = HardshrinkOptions;
using SoftshrinkFuncOptions = SoftshrinkOptions;
using SoftplusFuncOptions = SoftplusOptions;
using ThresholdFuncOptions = ThresholdOptions;
struct SoftmaxFuncOptions {
  SoftmaxFuncOptions(int64_t dim) : dim_(dim) {}
  TENON_ARG(int64_t, dim);
  TENON_ARG(optional<ScalarType>, dtype) = nullopt;
};
using SoftminFuncOptions = SoftmaxFuncOptions;
using LogSoftmaxFuncOptions = SoftmaxFuncOptions;
struct RReLUFuncOptions {
  TENON_ARG(double, lower) = 1.0 / 8.0;
  TENON_ARG(double, upper) = 1.0 / 3.0;
  TENON_ARG(bool, training) = false;
  TENON_ARG(bool, inplace) = false;
};
struct GumbelSoftmaxFuncOptions {
  TENON_ARG(double, tau) = 1.0;
  TENON_ARG(bool, hard) = false;
  TENON_ARG(int, dim) = -1;
};

// --- dropout: the identity unless training
struct DropoutFuncOptions {
  TENON_ARG(double, p) = 0.5;
  TENON_ARG(bool, training) = true;
  TENON_ARG(bool, inplace) = false;
};
using Dropout2dFuncOptions = DropoutFuncOptions;
using Dropout3dFuncOptions = DropoutFuncOptions;
struct AlphaDropoutFuncOptions {
  TENON_ARG(double, p) = 0.5;
  TENON_ARG(bool, training) = false;
  TENON_ARG(bool, inplace) = false;
};
using FeatureAlphaDropoutFuncOptions = AlphaDropoutFuncOptions;

// --- pooling
using MaxPool1dFuncOptions = MaxPool1dOptions;
using MaxPool2dFuncOptions = MaxPool2dOptions;
using MaxPool3dFuncOptions = MaxPool3dOptions;
using AvgPool1dFuncOptions = AvgPool1dOptions;
using AvgPool2dFuncOptions = AvgPool2dOptions;
using AvgPool3dFuncOptions = AvgPool3dOptions;
using LPPool1dFuncOptions = LPPool1dOptions;
using LPPool2dFuncOptions = LPPool2dOptions;
using LPPool3dFuncOptions = LPPool3dOptions;
using AdaptiveAvgPool1dFuncOptions = AdaptiveAvgPool1dOptions;
using AdaptiveAvgPool2dFuncOptions = AdaptiveAvgPool2dOptions;
using AdaptiveAvgPool3dFuncOptions = AdaptiveAvgPool3dOptions;
using AdaptiveMaxPool1dFuncOptions = AdaptiveMaxPool1dOptions;
using AdaptiveMaxPool2dFuncOptions = AdaptiveMaxPool2dOptions;
using AdaptiveMaxPool3dFuncOptions = AdaptiveMaxPool3dOptions;
using FractionalMaxPool2dFuncOptions = FractionalMaxPool2dOptions;
using FractionalMaxPool3dFuncOptions = FractionalMaxPool3dOptions;

// --- windows, padding, resizing
using FoldFuncOptions = FoldOptions;
using UnfoldFuncOptions = UnfoldOptions;
using PixelShuffleFuncOptions = PixelShuffleOptions;
using PixelUnshuffleFuncOptions = PixelUnshuffleOptions;
struct PadFuncOptions {
  PadFuncOptions(std::vector<int64_t> pad) : pad_(std::move(pad)) {}
  TENON_ARG(std::vector<int64_t>, pad);
  TENON_ARG(PadMode, mode) = kConstant;
  TENON_ARG(double, value) = 0;
};
struct InterpolateFuncOptions {
  TENON_ARG(optional<std::vector<int64_t>>, size) = nullopt;
  TENON_ARG(optional<std::vector<double>>, scale_factor) = nullopt;
  TENON_ARG(InterpolateMode, mode) = kNearest;
  TENON_ARG(optional<bool>, align_corners) = nullopt;
  TENON_ARG(optional<bool>, recompute_scale_factor) = nullopt;
  TENON_ARG(bool, antialias) = false;
};
struct GridSampleFuncOptions {
  using Mode = OneOf<Tag::Bilinear, Tag::Nearest, Tag::Bicubic>;
  using PaddingMode = OneOf<Tag::Zeros, Tag::Border, Tag::Reflection>;
  TENON_ARG(Mode, mode) = kBilinear;
  TENON_ARG(PaddingMode, padding_mode) = kZeros;
  TENON_ARG(optional<bool>, align_corners) = nullopt;
};

// --- normalisation
using LocalResponseNormFuncOptions = LocalResponseNormOptions;
struct BatchNormFuncOptions {
  TENON_ARG(Tensor, weight) = {};
  TENON_ARG(Tensor, bias) = {};
  TENON_ARG(bool, training) = false;
  TENON_ARG(optional<double>, momentum) = 0.1;
  TENON_ARG(double, eps) = 1e-5;
};
struct InstanceNormFuncOptions {
  TENON_ARG(Tensor, running_mean) = {};
  TENON_ARG(Tensor, running_var) = {};
  TENON_ARG(Tensor, weight) = {};
  TENON_ARG(Tensor, bias) = {};
  TENON_ARG(bool, use_input_stats) = true;
  TENON_ARG(double, momentum) = 0.1;
  TENON_ARG(double, eps) = 1e-5;
};
struct LayerNormFuncOptions {
  LayerNormFuncOptions(std::vector<int64_t> normalized_shape) : normalized_shape_(std::move(normalized_shape)) {}
  TENON_ARG(std::vector<int64_t>, normalized_shape);
  TENON_ARG(Tensor, weight) = {};
  TENON_ARG(Tensor, bias) = {};
  TENON_ARG(double, eps) = 1e-5;
};
struct GroupNormFuncOptions {
  GroupNormFuncOptions(int64_t num_groups) : num_groups_(num_groups) {}
  TENON_ARG(int64_t, num_groups);
  TENON_ARG(Tensor, weight) = {};
  TENON_ARG(Tensor, bias) = {};
  TENON_ARG(double, eps) = 1e-5;
};
// out takes the result
struct NormalizeFuncOptions {
  TENON_ARG(double, p) = 2.0;
  TENON_ARG(int64_t, dim) = 1;
  TENON_ARG(double, eps) = 1e-12;
  TENON_ARG(optional<Tensor>, out) = nullopt;
};

// --- distances
using CosineSimilarityFuncOptions = CosineSimilarityOptions;
using PairwiseDistanceFuncOptions = PairwiseDistanceOptions;

// --- losses
using L1LossFuncOptions = L1LossOptions;
using MSELossFuncOptions = MSELossOptions;
using MultilabelMarginLossFuncOptions = MultiLabelMarginLossOptions;
using SoftMarginLossFuncOptions = SoftMarginLossOptions;
using SmoothL1LossFuncOptions = SmoothL1LossOptions;
using HuberLossFuncOptions = HuberLossOptions;
using KLDivFuncOptions = KLDivLossOptions;
using HingeEmbeddingLossFuncOptions = HingeEmbeddingLossOptions;
using PoissonNLLLossFuncOptions = PoissonNLLLossOptions;
using CrossEntropyFuncOptions = CrossEntropyLossOptions;
using NLLLossFuncOptions = NLLLossOptions;
using BinaryCrossEntropyFuncOptions = BCELossOptions;
using BinaryCrossEntropyWithLogitsFuncOptions = BCEWithLogitsLossOptions;
using MultilabelSoftMarginLossFuncOptions = MultiLabelSoftMarginLossOptions;
using MultiMarginLossFuncOptions = MultiMarginLossOptions;
using CosineEmbeddingLossFuncOptions = CosineEmbeddingLossOptions;
using MarginRankingLossFuncOptions = MarginRankingLossOptions;
using TripletMarginLossFuncOptions = TripletMarginLossOptions;
using TripletMarginWithDistanceLossFuncOptions = TripletMarginWithDistanceLossOptions;
using CTCLossFuncOptions = CTCLossOptions;

// --- with parameters, or called otherwise
template <size_t D>
struct ConvFuncOptions {
  TENON_ARG(Tensor, bias) = {};
  TENON_ARG(ExpandingArray<D>, stride) = 1;
  TENON_ARG(ConvPadding<D>, padding) = 0;
  TENON_ARG(ExpandingArray<D>, dilation) = 1;
  TENON_ARG(int64_t, groups) = 1;
};
using Conv1dFuncOptions = ConvFuncOptions<1>;
using Conv2dFuncOptions = ConvFuncOptions<2>;
using Conv3dFuncOptions = ConvFuncOptions<3>;
template <size_t D>
struct ConvTransposeFuncOptions {
  TENON_ARG(Tensor, bias) = {};
  TENON_ARG(ExpandingArray<D>, stride) = 1;
  TENON_ARG(ExpandingArray<D>, padding) = 0;
  TENON_ARG(ExpandingArray<D>, output_padding) = 0;
  TENON_ARG(int64_t, groups) = 1;
  TENON_ARG(ExpandingArray<D>, dilation) = 1;
};
using ConvTranspose1dFuncOptions = ConvTransposeFuncOptions<1>;
using ConvTranspose2dFuncOptions = ConvTransposeFuncOptions<2>;
using ConvTranspose3dFuncOptions = ConvTransposeFuncOptions<3>;
struct EmbeddingFuncOptions {
  TENON_ARG(optional<int64_t>, padding_idx) = nullopt;
  TENON_ARG(optional<double>, max_norm) = nullopt;
  TENON_ARG(double, norm_type) = 2.0;
  TENON_ARG(bool, scale_grad_by_freq) = false;
  TENON_ARG(bool, sparse) = false;
};
// its input is [bags, indices], or [indices] with offsets
struct EmbeddingBagFuncOptions {
  TENON_ARG(Tensor, offsets) = {};
  TENON_ARG(optional<double>, max_norm) = nullopt;
  TENON_ARG(double, norm_type) = 2.0;
  TENON_ARG(bool, scale_grad_by_freq) = false;
  TENON_ARG(EmbeddingBagMode, mode) = kMean;
  TENON_ARG(bool, sparse) = false;
  TENON_ARG(Tensor, per_sample_weights) = {};
  TENON_ARG(bool, include_last_offset) = false;
  TENON_ARG(optional<int64_t>, padding_idx) = nullopt;
};

}  // namespace functional
}  // namespace tenon::nn
