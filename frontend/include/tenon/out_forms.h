// LibTorch's name_out(out, operands...) for the functions that out.h does not declare: whatever arguments a
// function takes, its _out form takes after the tensors that get the results, which behave as those of out.h.
// For programs written for LibTorch (tenon/compat.h); braces may stand for the tensors of a list and for the
// first sizes after the operand.
//
//   amax_out(out, x, {1});
//   sort_out(values, indices, x, 0);
#pragma once

#include <concepts>
#include <tuple>
#include <utility>

#include "tenon/nn/functional.h"
#include "tenon/out.h"
#include "tenon/tenon.h"

namespace tenon {

namespace detail {
Tensor& put_out(Tensor& out, const Tensor& result, const char* name);
}  // namespace detail

#define TENON_OUT_FORM(name)                                                                           \
  template <typename... Args>                                                                          \
  requires requires(Args && ... args) {                                                                \
    { name(std::forward<Args>(args)...) } -> std::same_as<Tensor>;                                     \
  }                                                                                                    \
  Tensor& name##_out(Tensor& out, Args&&... args) {                                                    \
    return detail::put_out(out, name(std::forward<Args>(args)...), #name);                             \
  }                                                                                                    \
  template <typename... Args>                                                                          \
  requires requires(const Operand& self, IntArrayRef list, Args&&... args) {                           \
    { name(self, list, std::forward<Args>(args)...) } -> std::same_as<Tensor>;                         \
  }                                                                                                    \
  Tensor& name##_out(Tensor& out, const Operand& self, IntArrayRef list, Args&&... args) {             \
    return detail::put_out(out, name(self, list, std::forward<Args>(args)...), #name);                 \
  }                                                                                                    \
  template <typename... Args>                                                                          \
  requires requires(const Operand& self, IntArrayRef a, IntArrayRef b, Args&&... args) {               \
    { name(self, a, b, std::forward<Args>(args)...) } -> std::same_as<Tensor>;                         \
  }                                                                                                    \
  Tensor& name##_out(Tensor& out, const Operand& self, IntArrayRef a, IntArrayRef b, Args&&... args) { \
    return detail::put_out(out, name(self, a, b, std::forward<Args>(args)...), #name);                 \
  }                                                                                                    \
  template <typename... Args>                                                                          \
  requires requires(TensorList tensors, Args && ... args) {                                            \
    { name(tensors, std::forward<Args>(args)...) } -> std::same_as<Tensor>;                            \
  }                                                                                                    \
  Tensor& name##_out(Tensor& out, TensorList tensors, Args&&... args) {                                \
    return detail::put_out(out, name(tensors, std::forward<Args>(args)...), #name);                    \
  }                                                                                                    \
  template <typename... Args>                                                                          \
  requires requires(Args && ... args) {                                                                \
    { name(std::forward<Args>(args)...) } -> std::same_as<std::tuple<Tensor, Tensor>>;                 \
  }                                                                                                    \
  std::tuple<Tensor&, Tensor&> name##_out(Tensor& first, Tensor& second, Args&&... args) {             \
    const auto [a, b] = name(std::forward<Args>(args)...);                                             \
    detail::put_out(first, a, #name);                                                                  \
    detail::put_out(second, b, #name);                                                                 \
    return {first, second};                                                                            \
  }
// What is made anew has the dtype of `out`.
#define TENON_OUT_FORM_OF_NEW(name)                                                                    \
  template <typename... Args>                                                                          \
  Tensor& name##_out(Tensor& out, Args&&... args) {                                                    \
    return detail::put_out(out, name(std::forward<Args>(args)..., TensorOptions(out.dtype())), #name); \
  }
#define TENON_OUT_FORM_OF_SIZE(name)                                            \
  inline Tensor& name##_out(Tensor& out, IntArrayRef size) {                    \
    return detail::put_out(out, name(size, TensorOptions(out.dtype())), #name); \
  }

#define TENON_OUT_FORMS(X) \
  X(adaptive_avg_pool1d) X(adaptive_avg_pool2d) X(adaptive_avg_pool3d) X(adaptive_max_pool2d) \
  X(adaptive_max_pool3d) X(addbmm) X(addcdiv) X(addcmul) X(addmv) X(addr) X(affine_grid_generator) \
  X(all) X(amax) X(amin) X(aminmax) X(any) X(argsort) X(as_strided_scatter) X(avg_pool1d) \
  X(avg_pool2d) X(avg_pool3d) X(baddbmm) X(bernoulli) X(binary_cross_entropy) \
  X(binary_cross_entropy_with_logits) X(bincount) X(block_diag) X(bucketize) X(celu) X(chain_matmul) \
  X(channel_shuffle) X(clamp_max) X(clamp_min) X(clip) X(clone) X(col2im) X(column_stack) X(concat) \
  X(concatenate) X(constant_pad_nd) X(convolution) X(count_nonzero) X(cross) X(cummax) X(cummin) \
  X(cumprod) X(diag) X(diag_embed) X(diagonal_scatter) X(diff) X(dist) X(divide) X(dstack) X(elu) \
  X(embedding) X(empty_like) X(flip) X(float_power) X(fractional_max_pool2d) X(fractional_max_pool3d) \
  X(frexp) X(frobenius_norm) X(full_like) X(gelu) X(ger) X(glu) X(grid_sampler_2d) X(grid_sampler_3d) \
  X(hardshrink) X(hardsigmoid) X(hardswish) X(hardtanh) X(histc) X(histogram) X(hstack) X(huber_loss) \
  X(im2col) X(index_add) X(index_copy) X(index_fill) X(index_put) X(index_reduce) X(inner) X(isin) \
  X(kron) X(kthvalue) X(leaky_relu) X(lerp) X(linalg_cross) X(linalg_matmul) X(linalg_matrix_norm) \
  X(linalg_matrix_power) X(linalg_multi_dot) X(linalg_norm) X(linalg_vecdot) X(linalg_vector_norm) \
  X(linear) X(log_sigmoid) X(log_softmax) X(logcumsumexp) X(logit) X(logsumexp) X(masked_fill) \
  X(masked_scatter) X(masked_select) X(matrix_power) X(max) X(max_pool2d_with_indices) \
  X(max_pool3d_with_indices) X(median) X(min) X(mish) X(mode) X(mse_loss) X(msort) \
  X(multi_margin_loss) X(multilabel_margin_loss) X(multinomial) X(mvlgamma) X(nan_to_num) X(nanmean) \
  X(nanmedian) X(nanquantile) X(nansum) X(nll_loss) X(nll_loss2d) X(nonzero) X(nonzero_static) X(norm) \
  X(normal) X(ones_like) X(pixel_shuffle) X(pixel_unshuffle) X(poisson) X(polygamma) X(prod) X(put) \
  X(quantile) X(rand_like) X(randint_like) X(randn_like) X(reflection_pad1d) X(reflection_pad2d) \
  X(reflection_pad3d) X(renorm) X(repeat_interleave) X(replication_pad1d) X(replication_pad2d) \
  X(replication_pad3d) X(roll) X(rot90) X(row_stack) X(rsub) X(scatter) X(scatter_add) \
  X(scatter_reduce) X(searchsorted) X(select_scatter) X(silu) X(slice_scatter) X(smooth_l1_loss) \
  X(soft_margin_loss) X(softmax) X(softplus) X(softshrink) X(sort) X(special_bessel_j0) \
  X(special_bessel_j1) X(special_bessel_y0) X(special_bessel_y1) X(special_digamma) X(special_entr) \
  X(special_erf) X(special_erfc) X(special_erfcx) X(special_erfinv) X(special_exp2) X(special_expit) \
  X(special_expm1) X(special_gammaln) X(special_i0) X(special_i0e) X(special_i1) X(special_i1e) \
  X(special_log1p) X(special_log_ndtr) X(special_modified_bessel_i0) X(special_modified_bessel_k0) \
  X(special_modified_bessel_k1) X(special_ndtr) X(special_ndtri) X(special_psi) \
  X(special_scaled_modified_bessel_k0) X(special_scaled_modified_bessel_k1) X(special_sinc) \
  X(special_spherical_bessel_j0) X(std) X(std_mean) X(subtract) X(take) X(take_along_dim) X(tensordot) \
  X(threshold) X(topk) X(trace) X(tril) X(triu) X(var) X(var_mean) X(vdot) X(vstack) X(zeros_like)
TENON_OUT_FORMS(TENON_OUT_FORM)
#undef TENON_OUT_FORMS
TENON_OUT_FORM_OF_NEW(bartlett_window) TENON_OUT_FORM_OF_NEW(blackman_window) TENON_OUT_FORM_OF_NEW(eye)
TENON_OUT_FORM_OF_NEW(hamming_window) TENON_OUT_FORM_OF_NEW(hann_window) TENON_OUT_FORM_OF_NEW(kaiser_window)
TENON_OUT_FORM_OF_NEW(linspace) TENON_OUT_FORM_OF_NEW(logspace) TENON_OUT_FORM_OF_NEW(randint)
TENON_OUT_FORM_OF_NEW(randperm) TENON_OUT_FORM_OF_NEW(range) TENON_OUT_FORM_OF_NEW(scalar_tensor)
TENON_OUT_FORM_OF_NEW(tril_indices) TENON_OUT_FORM_OF_NEW(triu_indices)
TENON_OUT_FORM_OF_SIZE(empty) TENON_OUT_FORM_OF_SIZE(rand) TENON_OUT_FORM_OF_SIZE(randn)
#undef TENON_OUT_FORM
#undef TENON_OUT_FORM_OF_NEW
#undef TENON_OUT_FORM_OF_SIZE

}  // namespace tenon
