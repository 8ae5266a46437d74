// The options that functions of tenon/nn/functional.h and modules take, in LibTorch's style: each field has a
// setter that returns the options, and a getter of the same name.
//
//   F::max_pool2d(x, F::MaxPool2dFuncOptions(3).stride(2).padding(1))
#pragma once

#include <array>
#include <iosfwd>
#include <limits>
#include <vector>

#include "tenon/enum.h"
#include "tenon/function.h"
#include "tenon/tensor.h"

// An option with its setter and getters, for option structs of programs too (in LibTorch: TORCH_ARG). In a struct of
// options that others extend, a template of the extending one, the setter returns that: TENON_ARG_OF.
#define TENON_ARG(T, name) TENON_ARG_AS(decltype(*this), *this, T, name)
#define TENON_ARG_OF(Returned, T, name) TENON_ARG_AS(Returned, static_cast<Returned>(*this), T, name)
#define TENON_ARG_AS(Returned, result, T, name)      \
 public:                                             \
  auto name(T new_##name)->Returned {                \
    name##_ = std::move(new_##name);                 \
    return result;                                   \
  }                                                  \
  const T& name() const noexcept { return name##_; } \
  T& name() noexcept { return name##_; }             \
                                                     \
 private:                                            \
  T name##_

namespace tenon {

namespace detail {
void check_count(size_t got, size_t wanted);  // Error "Expected 2 values, but instead got 3"
}  // namespace detail

// One number for each of D dims; a single one stands for all.
template <size_t D, typename T = int64_t>
class ExpandingArray {
 public:
  ExpandingArray(T value) { values_.fill(value); }
  ExpandingArray(std::initializer_list<T> values) { assign(values.begin(), values.size()); }
  ExpandingArray(ArrayRef<T> values) { assign(values.data(), values.size()); }
  ExpandingArray(const std::vector<T>& values) { assign(values.data(), values.size()); }
  ExpandingArray(const std::array<T, D>& values) : values_(values) {}
  operator ArrayRef<T>() const { return {values_.data(), D}; }
  std::array<T, D>& operator*() { return values_; }
  const std::array<T, D>& operator*() const { return values_; }
  std::array<T, D>* operator->() { return &values_; }
  const std::array<T, D>* operator->() const { return &values_; }
  T operator[](size_t i) const { return values_[i]; }
  T& operator[](size_t i) { return values_[i]; }
  const T* begin() const { return values_.data(); }
  const T* end() const { return values_.data() + D; }
  static constexpr size_t size() { return D; }

 private:
  void assign(const T* values, size_t count) {
    if (count != 1) detail::check_count(count, D);
    for (size_t i = 0; i < D; ++i) values_[i] = values[count == 1 ? 0 : i];
  }
  std::array<T, D> values_;
};
template <size_t D>
std::ostream& operator<<(std::ostream& out, const ExpandingArray<D>& values) {  // [3, 2], and 3 for D = 1
  if constexpr (D == 1) return out << Scalar(values[0]);
  else return out << IntArrayRef(values);
}

// As ExpandingArray; nullopt keeps the input's size.
template <size_t D>
class ExpandingArrayWithOptionalElem : public ExpandingArray<D> {
 public:
  using ExpandingArray<D>::ExpandingArray;
  static constexpr int64_t kAbsent = std::numeric_limits<int64_t>::min();  // what an absent element holds
  ExpandingArrayWithOptionalElem(optional<int64_t> value) : ExpandingArray<D>(value.value_or(kAbsent)) {}
  ExpandingArrayWithOptionalElem(int64_t value) : ExpandingArray<D>(value) {}
  ExpandingArrayWithOptionalElem(int value) : ExpandingArray<D>(int64_t{value}) {}
  ExpandingArrayWithOptionalElem(std::initializer_list<optional<int64_t>> values) : ExpandingArray<D>(kAbsent) {
    if (values.size() != 1) detail::check_count(values.size(), D);
    for (size_t i = 0; i < D; ++i) (*this)[i] = values.begin()[values.size() == 1 ? 0 : i].value_or(kAbsent);
  }
};

namespace nn {

using LossReduction = OneOf<Tag::None, Tag::Mean, Tag::Sum>;
using KLDivLossReduction = OneOf<Tag::None, Tag::BatchMean, Tag::Sum, Tag::Mean>;
using PadMode = OneOf<Tag::Constant, Tag::Reflect, Tag::Replicate, Tag::Circular>;
using ConvPadMode = OneOf<Tag::Zeros, Tag::Constant, Tag::Reflect, Tag::Replicate, Tag::Circular>;  // kConstant: as kZeros
using InterpolateMode = OneOf<Tag::Nearest, Tag::Linear, Tag::Bilinear, Tag::Bicubic, Tag::Trilinear, Tag::Area, Tag::NearestExact>;

// Numbers, kSame or kValid.
template <size_t D>
class ConvPadding {
 public:
  ConvPadding(int64_t value) : values_(value) {}
  ConvPadding(int value) : values_(int64_t{value}) {}
  ConvPadding(std::initializer_list<int64_t> values) : values_(values) {}
  ConvPadding(const ExpandingArray<D>& values) : values_(values) {}
  ConvPadding(const std::vector<int64_t>& values) : values_(values) {}
  ConvPadding(enumtype::kSame) : values_(0), name_("same") {}
  ConvPadding(enumtype::kValid) : values_(0), name_("valid") {}
  const char* name() const { return name_; }  // "same", "valid", or null for numbers
  const ExpandingArray<D>& values() const { return values_; }

 private:
  ExpandingArray<D> values_;
  const char* name_ = nullptr;
};

// --- activations
struct ELUOptions {
  TENON_ARG(double, alpha) = 1.0;
  TENON_ARG(bool, inplace) = false;
};
struct SELUOptions {
  SELUOptions(bool inplace = false) : inplace_(inplace) {}
  TENON_ARG(bool, inplace);
};
using ReLUOptions = SELUOptions;
using ReLU6Options = SELUOptions;
using SiLUOptions = SELUOptions;
struct GLUOptions {
  GLUOptions(int64_t dim = -1) : dim_(dim) {}
  TENON_ARG(int64_t, dim);
};
struct GELUOptions {
  TENON_ARG(std::string, approximate) = "none";
};
struct HardshrinkOptions {
  HardshrinkOptions(double lambda = 0.5) : lambda_(lambda) {}
  TENON_ARG(double, lambda);
};
using SoftshrinkOptions = HardshrinkOptions;
struct HardtanhOptions {
  TENON_ARG(double, min_val) = -1.0;
  TENON_ARG(double, max_val) = 1.0;
  TENON_ARG(bool, inplace) = false;
};
struct LeakyReLUOptions {
  TENON_ARG(double, negative_slope) = 1e-2;
  TENON_ARG(bool, inplace) = false;
};
struct CELUOptions {
  TENON_ARG(double, alpha) = 1.0;
  TENON_ARG(bool, inplace) = false;
};
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
using SoftminOptions = DimOptions;
using LogSoftmaxOptions = DimOptions;
struct PReLUOptions {
  TENON_ARG(int64_t, num_parameters) = 1;
  TENON_ARG(double, init) = 0.25;
};
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
template <size_t D>
struct AdaptivePoolOptions {
  AdaptivePoolOptions(ExpandingArrayWithOptionalElem<D> output_size) : output_size_(output_size) {}
  TENON_ARG(ExpandingArrayWithOptionalElem<D>, output_size);
};
template <size_t D, typename S>
struct MaxUnpoolArgs {
  MaxUnpoolArgs(ExpandingArray<D> kernel_size) : kernel_size_(kernel_size), stride_(kernel_size) {}
  TENON_ARG_OF(S&, ExpandingArray<D>, kernel_size);
  TENON_ARG_OF(S&, ExpandingArray<D>, stride);
  TENON_ARG_OF(S&, ExpandingArray<D>, padding) = 0;
};
template <size_t D>
struct MaxUnpoolOptions : MaxUnpoolArgs<D, MaxUnpoolOptions<D>> {
  using MaxUnpoolArgs<D, MaxUnpoolOptions>::MaxUnpoolArgs;
};
template <size_t D>
struct LPPoolOptions {
  LPPoolOptions(double norm_type, ExpandingArray<D> kernel_size) : norm_type_(norm_type), kernel_size_(kernel_size), stride_(kernel_size) {}
  TENON_ARG(double, norm_type);
  TENON_ARG(ExpandingArray<D>, kernel_size);
  TENON_ARG(ExpandingArray<D>, stride);
  TENON_ARG(bool, ceil_mode) = false;
};
#define TENON_DIMS(name)                    \
  using name##1dOptions = name##Options<1>; \
  using name##2dOptions = name##Options<2>; \
  using name##3dOptions = name##Options<3>;
TENON_DIMS(MaxPool)
TENON_DIMS(AvgPool)
TENON_DIMS(MaxUnpool)
TENON_DIMS(LPPool)
#undef TENON_DIMS
using AdaptiveAvgPool1dOptions = AdaptivePoolOptions<1>;
using AdaptiveAvgPool2dOptions = AdaptivePoolOptions<2>;
using AdaptiveAvgPool3dOptions = AdaptivePoolOptions<3>;
using AdaptiveMaxPool1dOptions = AdaptivePoolOptions<1>;
using AdaptiveMaxPool2dOptions = AdaptivePoolOptions<2>;
using AdaptiveMaxPool3dOptions = AdaptivePoolOptions<3>;

template <size_t D>
struct FractionalMaxPoolOptions {
  using ExpandingArrayDouble = ExpandingArray<D, double>;
  FractionalMaxPoolOptions(ExpandingArray<D> kernel_size) : kernel_size_(kernel_size) {}
  TENON_ARG(ExpandingArray<D>, kernel_size);
  TENON_ARG(optional<ExpandingArray<D>>, output_size) = nullopt;
  TENON_ARG(optional<ExpandingArrayDouble>, output_ratio) = nullopt;  // of the input's size
  TENON_ARG(Tensor, _random_samples) = {};                            // [N, C, D] in [0, 1); drawn if undefined
};
using FractionalMaxPool2dOptions = FractionalMaxPoolOptions<2>;
using FractionalMaxPool3dOptions = FractionalMaxPoolOptions<3>;

struct FoldOptions {
  FoldOptions(ExpandingArray<2> output_size, ExpandingArray<2> kernel_size) : output_size_(output_size), kernel_size_(kernel_size) {}
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

template <size_t D>
struct PadOptions {
  PadOptions(ExpandingArray<D * 2> padding) : padding_(padding) {}
  TENON_ARG(ExpandingArray<D * 2>, padding);  // before and after, the last dim first
};
template <size_t D>
struct ConstantPadOptions {
  ConstantPadOptions(ExpandingArray<D * 2> padding, double value) : padding_(padding), value_(value) {}
  TENON_ARG(ExpandingArray<D * 2>, padding);
  TENON_ARG(double, value);
};
#define TENON_PADS(D)                                \
  using ReflectionPad##D##dOptions = PadOptions<D>;  \
  using ReplicationPad##D##dOptions = PadOptions<D>; \
  using ZeroPad##D##dOptions = PadOptions<D>;        \
  using ConstantPad##D##dOptions = ConstantPadOptions<D>;
TENON_PADS(1)
TENON_PADS(2)
TENON_PADS(3)
#undef TENON_PADS
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

// --- normalisation and distances
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
#define TENON_REDUCTION(T) \
 public:                   \
  using reduction_t = T;   \
  TENON_ARG(reduction_t, reduction)
struct L1LossOptions {
  L1LossOptions(LossReduction reduction = kMean) : reduction_(reduction) {}
  template <Tag tag>
  L1LossOptions(enumtype::Is<tag> reduction) : reduction_(reduction) {}
  TENON_REDUCTION(LossReduction);
};
using MSELossOptions = L1LossOptions;
using MultiLabelMarginLossOptions = L1LossOptions;
using SoftMarginLossOptions = L1LossOptions;
struct KLDivLossOptions {
  KLDivLossOptions(KLDivLossReduction reduction = kMean) : reduction_(reduction) {}
  template <Tag tag>
  KLDivLossOptions(enumtype::Is<tag> reduction) : reduction_(reduction) {}
  TENON_REDUCTION(KLDivLossReduction);
  TENON_ARG(bool, log_target) = false;
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
struct HingeEmbeddingLossOptions {
  TENON_ARG(double, margin) = 1.0;
  TENON_REDUCTION(LossReduction) = kMean;
};
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
struct SmoothL1LossOptions {
  SmoothL1LossOptions(LossReduction reduction = kMean) : reduction_(reduction) {}
  template <Tag tag>
  SmoothL1LossOptions(enumtype::Is<tag> reduction) : reduction_(reduction) {}
  TENON_REDUCTION(LossReduction);
  TENON_ARG(optional<double>, beta) = nullopt;  // 1
};
struct HuberLossOptions {
  HuberLossOptions(LossReduction reduction = kMean) : reduction_(reduction) {}
  template <Tag tag>
  HuberLossOptions(enumtype::Is<tag> reduction) : reduction_(reduction) {}
  TENON_REDUCTION(LossReduction);
  TENON_ARG(double, delta) = 1.0;
};
struct TripletMarginLossOptions {
  TENON_ARG(double, margin) = 1.0;
  TENON_ARG(double, p) = 2.0;
  TENON_ARG(double, eps) = 1e-6;
  TENON_ARG(bool, swap) = false;
  TENON_REDUCTION(LossReduction) = kMean;
};
struct PoissonNLLLossOptions {
  TENON_ARG(bool, log_input) = true;
  TENON_ARG(bool, full) = false;
  TENON_ARG(double, eps) = 1e-8;
  TENON_REDUCTION(LossReduction) = kMean;
};
struct NLLLossOptions {
  TENON_ARG(Tensor, weight) = {};
  TENON_ARG(int64_t, ignore_index) = -100;
  TENON_REDUCTION(LossReduction) = kMean;
};
struct CrossEntropyLossOptions {
  TENON_ARG(Tensor, weight) = {};
  TENON_ARG(int64_t, ignore_index) = -100;
  TENON_REDUCTION(LossReduction) = kMean;
  TENON_ARG(double, label_smoothing) = 0.0;
};
struct CTCLossOptions {
  TENON_ARG(int64_t, blank) = 0;
  TENON_REDUCTION(LossReduction) = kMean;
  TENON_ARG(bool, zero_infinity) = false;
};
struct TripletMarginWithDistanceLossOptions {
  using distance_function_t = Function<Tensor(const Tensor&, const Tensor&)>;
  TENON_ARG(optional<distance_function_t>, distance_function) = nullopt;  // pairwise_distance unless given
  TENON_ARG(double, margin) = 1.0;
  TENON_ARG(bool, swap) = false;
  TENON_REDUCTION(LossReduction) = kMean;
};
#undef TENON_REDUCTION

}  // namespace nn
}  // namespace tenon
