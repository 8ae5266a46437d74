// Printed from frontend/functions.def by scripts/print/make_functions.py.
// LibTorch's name_out(out, operands...) for the functions that out.h does not declare: whatever arguments a
// function takes, its _out form takes after the tensors that get the results, which behave as those of out.h.
// For programs written for LibTorch (tenon/compat.h).
//
//   amax_out(out, x, {1});
//   sort_out(values, indices, x, 0);
#pragma once

#include "tenon/neural.h"
#include "tenon/out.h"

namespace tenon {

// --- elementwise
Tensor& silu_out(Tensor& out, const Operand& self);
Tensor& mish_out(Tensor& out, const Operand& self);
Tensor& hardsigmoid_out(Tensor& out, const Operand& self);
Tensor& hardswish_out(Tensor& out, const Operand& self);
Tensor& log_sigmoid_out(Tensor& out, const Operand& self);
Tensor& rsub_out(Tensor& out, const Operand& self, const Scalar& other, const Scalar& alpha = 1);
Tensor& float_power_out(Tensor& out, const Operand& self, const Operand& exponent);
Tensor& float_power_out(Tensor& out, const Operand& self, const Scalar& exponent);
Tensor& masked_fill_out(Tensor& out, const Operand& self, const Operand& mask, const Scalar& value);
Tensor& masked_fill_out(Tensor& out, const Operand& self, const Operand& mask, const Operand& value);
Tensor& clamp_min_out(Tensor& out, const Operand& self, const Scalar& min);
Tensor& clamp_min_out(Tensor& out, const Operand& self, const Operand& min);
Tensor& clamp_max_out(Tensor& out, const Operand& self, const Scalar& max);
Tensor& clamp_max_out(Tensor& out, const Operand& self, const Operand& max);
Tensor& lerp_out(Tensor& out, const Operand& self, const Operand& end, const Scalar& weight);
Tensor& lerp_out(Tensor& out, const Operand& self, const Operand& end, const Operand& weight);
Tensor& addcmul_out(Tensor& out, const Operand& self, const Operand& tensor1, const Operand& tensor2,
                    const Scalar& value = 1);
Tensor& addcdiv_out(Tensor& out, const Operand& self, const Operand& tensor1, const Operand& tensor2,
                    const Scalar& value = 1);
Tensor& nan_to_num_out(Tensor& out, const Operand& self, optional<double> nan = nullopt,
                       optional<double> posinf = nullopt, optional<double> neginf = nullopt);
Tensor& logit_out(Tensor& out, const Operand& self, optional<double> eps = nullopt);
Tensor& leaky_relu_out(Tensor& out, const Operand& self, const Scalar& negative_slope = 0.01);
Tensor& elu_out(Tensor& out, const Operand& self, const Scalar& alpha = 1, const Scalar& scale = 1,
                const Scalar& input_scale = 1);
Tensor& celu_out(Tensor& out, const Operand& self, const Scalar& alpha = 1.0);
Tensor& gelu_out(Tensor& out, const Operand& self, std::string_view approximate = "none");
Tensor& softplus_out(Tensor& out, const Operand& self, const Scalar& beta = 1, const Scalar& threshold = 20);
Tensor& hardtanh_out(Tensor& out, const Operand& self, const Scalar& min_val = -1, const Scalar& max_val = 1);
Tensor& hardshrink_out(Tensor& out, const Operand& self, const Scalar& lambd = 0.5);
Tensor& softshrink_out(Tensor& out, const Operand& self, const Scalar& lambd = 0.5);
Tensor& threshold_out(Tensor& out, const Operand& self, const Scalar& threshold, const Scalar& value);

// --- shape: new tensors
Tensor& clone_out(Tensor& out, const Operand& self);
Tensor& flip_out(Tensor& out, const Operand& self, IntArrayRef dims);
Tensor& roll_out(Tensor& out, const Operand& self, IntArrayRef shifts, IntArrayRef dims = {});
Tensor& concat_out(Tensor& out, TensorList tensors, int64_t dim = 0);
Tensor& vstack_out(Tensor& out, TensorList tensors);
Tensor& hstack_out(Tensor& out, TensorList tensors);
Tensor& dstack_out(Tensor& out, TensorList tensors);
Tensor& constant_pad_nd_out(Tensor& out, const Operand& self, IntArrayRef pad, const Scalar& value = 0);

// --- reductions
Tensor& nansum_out(Tensor& out, const Operand& self, OptionalIntArrayRef dim = nullopt, bool keepdim = false,
                   optional<ScalarType> dtype = nullopt);
Tensor& prod_out(Tensor& out, const Operand& self, optional<ScalarType> dtype = nullopt);
Tensor& prod_out(Tensor& out, const Operand& self, int64_t dim, bool keepdim = false,
                 optional<ScalarType> dtype = nullopt);
Tensor& var_out(Tensor& out, const Operand& self, bool unbiased = true);
Tensor& var_out(Tensor& out, const Operand& self, OptionalIntArrayRef dim, bool unbiased = true,
                bool keepdim = false);
Tensor& var_out(Tensor& out, const Operand& self, OptionalIntArrayRef dim, const optional<Scalar>& correction,
                bool keepdim = false);
Tensor& std_out(Tensor& out, const Operand& self, bool unbiased = true);
Tensor& std_out(Tensor& out, const Operand& self, OptionalIntArrayRef dim, bool unbiased = true,
                bool keepdim = false);
Tensor& std_out(Tensor& out, const Operand& self, OptionalIntArrayRef dim, const optional<Scalar>& correction,
                bool keepdim = false);
std::tuple<Tensor&, Tensor&> var_mean_out(Tensor& first, Tensor& second, const Operand& self,
                                          bool unbiased = true);
std::tuple<Tensor&, Tensor&> var_mean_out(Tensor& first, Tensor& second, const Operand& self,
                                          OptionalIntArrayRef dim, bool unbiased = true,
                                          bool keepdim = false);
std::tuple<Tensor&, Tensor&> std_mean_out(Tensor& first, Tensor& second, const Operand& self,
                                          bool unbiased = true);
std::tuple<Tensor&, Tensor&> std_mean_out(Tensor& first, Tensor& second, const Operand& self,
                                          OptionalIntArrayRef dim, bool unbiased = true,
                                          bool keepdim = false);
Tensor& var_out(Tensor& out, const Operand& self, DimList dim, bool unbiased = true, bool keepdim = false);
Tensor& std_out(Tensor& out, const Operand& self, DimList dim, bool unbiased = true, bool keepdim = false);
std::tuple<Tensor&, Tensor&> var_mean_out(Tensor& first, Tensor& second, const Operand& self, DimList dim,
                                          bool unbiased = true, bool keepdim = false);
std::tuple<Tensor&, Tensor&> std_mean_out(Tensor& first, Tensor& second, const Operand& self, DimList dim,
                                          bool unbiased = true, bool keepdim = false);
Tensor& var_out(Tensor& out, const Operand& self, int dim);
Tensor& var_out(Tensor& out, const Operand& self, int64_t dim);
Tensor& std_out(Tensor& out, const Operand& self, int dim);
Tensor& std_out(Tensor& out, const Operand& self, int64_t dim);
std::tuple<Tensor&, Tensor&> var_mean_out(Tensor& first, Tensor& second, const Operand& self, int dim);
std::tuple<Tensor&, Tensor&> var_mean_out(Tensor& first, Tensor& second, const Operand& self, int64_t dim);
std::tuple<Tensor&, Tensor&> std_mean_out(Tensor& first, Tensor& second, const Operand& self, int dim);
std::tuple<Tensor&, Tensor&> std_mean_out(Tensor& first, Tensor& second, const Operand& self, int64_t dim);
Tensor& max_out(Tensor& out, const Operand& self);
Tensor& max_out(Tensor& out, const Operand& self, const Operand& other);
std::tuple<Tensor&, Tensor&> max_out(Tensor& first, Tensor& second, const Operand& self, int64_t dim,
                                     bool keepdim = false);
Tensor& min_out(Tensor& out, const Operand& self);
Tensor& min_out(Tensor& out, const Operand& self, const Operand& other);
std::tuple<Tensor&, Tensor&> min_out(Tensor& first, Tensor& second, const Operand& self, int64_t dim,
                                     bool keepdim = false);
Tensor& amax_out(Tensor& out, const Operand& self, IntArrayRef dim = {}, bool keepdim = false);
Tensor& amin_out(Tensor& out, const Operand& self, IntArrayRef dim = {}, bool keepdim = false);
std::tuple<Tensor&, Tensor&> aminmax_out(Tensor& first, Tensor& second, const Operand& self,
                                         optional<int64_t> dim = nullopt, bool keepdim = false);
Tensor& any_out(Tensor& out, const Operand& self);
Tensor& any_out(Tensor& out, const Operand& self, int64_t dim, bool keepdim = false);
Tensor& all_out(Tensor& out, const Operand& self);
Tensor& all_out(Tensor& out, const Operand& self, int64_t dim, bool keepdim = false);
Tensor& norm_out(Tensor& out, const Operand& self, const Scalar& p = 2);
Tensor& norm_out(Tensor& out, const Operand& self, const optional<Scalar>& p, IntArrayRef dim,
                 bool keepdim = false);
Tensor& logsumexp_out(Tensor& out, const Operand& self, IntArrayRef dim, bool keepdim = false);
Tensor& count_nonzero_out(Tensor& out, const Operand& self, IntArrayRef dim = {});
Tensor& softmax_out(Tensor& out, const Operand& self, int64_t dim, optional<ScalarType> dtype = nullopt);
Tensor& log_softmax_out(Tensor& out, const Operand& self, int64_t dim, optional<ScalarType> dtype = nullopt);

// --- matrix products
Tensor& addmv_out(Tensor& out, const Operand& self, const Operand& mat, const Operand& vec,
                  const Scalar& beta = 1, const Scalar& alpha = 1);
Tensor& baddbmm_out(Tensor& out, const Operand& self, const Operand& batch1, const Operand& batch2,
                    const Scalar& beta = 1, const Scalar& alpha = 1);

// --- other names
Tensor& subtract_out(Tensor& out, const Operand& self, const Operand& other, const Scalar& alpha = 1);
Tensor& subtract_out(Tensor& out, const Operand& self, const Scalar& other, const Scalar& alpha = 1);
Tensor& divide_out(Tensor& out, const Operand& self, const Operand& other);
Tensor& divide_out(Tensor& out, const Operand& self, const Scalar& other);
Tensor& divide_out(Tensor& out, const Operand& self, const Operand& other,
                   optional<std::string_view> rounding_mode);
Tensor& divide_out(Tensor& out, const Operand& self, const Scalar& other,
                   optional<std::string_view> rounding_mode);
Tensor& clip_out(Tensor& out, const Operand& self, const optional<Scalar>& min,
                 const optional<Scalar>& max = nullopt);
Tensor& clip_out(Tensor& out, const Operand& self, const optional<Tensor>& min, const optional<Tensor>& max);

// --- a number first
Tensor& rsub_out(Tensor& out, const Operand& self, const Operand& other, const Scalar& alpha = 1);
Tensor& float_power_out(Tensor& out, const Scalar& self, const Operand& exponent);
std::tuple<Tensor&, Tensor&> frexp_out(Tensor& first, Tensor& second, const Operand& self);

// --- of the gamma function
Tensor& polygamma_out(Tensor& out, int64_t n, const Operand& self);
Tensor& mvlgamma_out(Tensor& out, const Operand& self, int64_t p);

// --- bounds on norms
Tensor& renorm_out(Tensor& out, const Operand& self, const Scalar& p, int64_t dim, const Scalar& maxnorm);

// --- products
Tensor& tensordot_out(Tensor& out, const Operand& self, const Operand& other, IntArrayRef dims_self,
                      IntArrayRef dims_other);
Tensor& kron_out(Tensor& out, const Operand& self, const Operand& other);
Tensor& inner_out(Tensor& out, const Operand& self, const Operand& other);
Tensor& vdot_out(Tensor& out, const Operand& self, const Operand& other);
Tensor& ger_out(Tensor& out, const Operand& self, const Operand& vec2);
Tensor& addr_out(Tensor& out, const Operand& self, const Operand& vec1, const Operand& vec2,
                 const Scalar& beta = 1, const Scalar& alpha = 1);
Tensor& addbmm_out(Tensor& out, const Operand& self, const Operand& batch1, const Operand& batch2,
                   const Scalar& beta = 1, const Scalar& alpha = 1);
Tensor& chain_matmul_out(Tensor& out, TensorList matrices);
Tensor& cross_out(Tensor& out, const Operand& self, const Operand& other, optional<int64_t> dim = nullopt);
Tensor& linalg_cross_out(Tensor& out, const Operand& self, const Operand& other, int64_t dim = -1);

// --- diagonals and triangles
Tensor& diag_out(Tensor& out, const Operand& self, int64_t diagonal = 0);
Tensor& diag_embed_out(Tensor& out, const Operand& self, int64_t offset = 0, int64_t dim1 = -2,
                       int64_t dim2 = -1);
Tensor& trace_out(Tensor& out, const Operand& self);
Tensor& tril_out(Tensor& out, const Operand& self, int64_t diagonal = 0);
Tensor& triu_out(Tensor& out, const Operand& self, int64_t diagonal = 0);
Tensor& tril_indices_out(Tensor& out, int64_t row, int64_t col, int64_t offset = 0);
Tensor& triu_indices_out(Tensor& out, int64_t row, int64_t col, int64_t offset = 0);
Tensor& block_diag_out(Tensor& out, TensorList tensors);

// --- rearranging and repeating
Tensor& rot90_out(Tensor& out, const Operand& self, int64_t k = 1, IntArrayRef dims = {0, 1});
Tensor& repeat_interleave_out(Tensor& out, const Operand& self, int64_t repeats,
                              optional<int64_t> dim = nullopt);
Tensor& repeat_interleave_out(Tensor& out, const Operand& self, const Operand& repeats,
                              optional<int64_t> dim = nullopt, optional<int64_t> output_size = nullopt);
Tensor& repeat_interleave_out(Tensor& out, const Operand& repeats, optional<int64_t> output_size = nullopt);

// --- statistics
Tensor& nanmean_out(Tensor& out, const Operand& self, OptionalIntArrayRef dim = nullopt, bool keepdim = false,
                    optional<ScalarType> dtype = nullopt);
Tensor& diff_out(Tensor& out, const Operand& self, int64_t n = 1, int64_t dim = -1,
                 const optional<Tensor>& prepend = nullopt, const optional<Tensor>& append = nullopt);
Tensor& dist_out(Tensor& out, const Operand& self, const Operand& other, const Scalar& p = 2);
Tensor& linalg_vector_norm_out(Tensor& out, const Operand& self, const Scalar& ord = 2,
                               OptionalIntArrayRef dim = nullopt, bool keepdim = false,
                               optional<ScalarType> dtype = nullopt);

// --- reductions, with more ways to say what
Tensor& any_out(Tensor& out, const Operand& self, OptionalIntArrayRef dim, bool keepdim = false);
Tensor& all_out(Tensor& out, const Operand& self, OptionalIntArrayRef dim, bool keepdim = false);
Tensor& norm_out(Tensor& out, const Operand& self, const optional<Scalar>& p, ScalarType dtype);
Tensor& norm_out(Tensor& out, const Operand& self, const optional<Scalar>& p, IntArrayRef dim, bool keepdim,
                 ScalarType dtype);

// --- joining
Tensor& concatenate_out(Tensor& out, TensorList tensors, int64_t dim = 0);
Tensor& column_stack_out(Tensor& out, TensorList tensors);
Tensor& row_stack_out(Tensor& out, TensorList tensors);

// --- sets and counts
Tensor& isin_out(Tensor& out, const Operand& elements, const Operand& test_elements,
                 bool assume_unique = false, bool invert = false);
Tensor& isin_out(Tensor& out, const Operand& elements, const Scalar& test_element, bool assume_unique = false,
                 bool invert = false);
Tensor& isin_out(Tensor& out, const Scalar& element, const Operand& test_elements, bool assume_unique = false,
                 bool invert = false);
Tensor& nonzero_static_out(Tensor& out, const Operand& self, int64_t size, int64_t fill_value = -1);

// --- choices and grids
Tensor& range_out(Tensor& out, const Scalar& start, const Scalar& end, const Scalar& step = 1);
Tensor& matrix_power_out(Tensor& out, const Operand& self, int64_t n);

// --- places
Tensor& as_strided_scatter_out(Tensor& out, const Operand& self, const Operand& src, IntArrayRef size,
                               IntArrayRef stride, optional<int64_t> storage_offset = nullopt);
Tensor& index_reduce_out(Tensor& out, const Operand& self, int64_t dim, const Operand& index,
                         const Operand& source, std::string_view reduce, bool include_self = true);
Tensor& clone_out(Tensor& out, const Operand& self, MemoryFormat format);

// --- running along a dim; sums and products of bools and integers are int64
Tensor& cumprod_out(Tensor& out, const Operand& self, int64_t dim, optional<ScalarType> dtype = nullopt);
std::tuple<Tensor&, Tensor&> cummax_out(Tensor& first, Tensor& second, const Operand& self, int64_t dim);
std::tuple<Tensor&, Tensor&> cummin_out(Tensor& first, Tensor& second, const Operand& self, int64_t dim);
Tensor& logcumsumexp_out(Tensor& out, const Operand& self, int64_t dim);

// --- sorting: always stable; nan is greater than every number
std::tuple<Tensor&, Tensor&> sort_out(Tensor& first, Tensor& second, const Operand& self, int64_t dim = -1,
                                      bool descending = false);
std::tuple<Tensor&, Tensor&> sort_out(Tensor& first, Tensor& second, const Operand& self,
                                      optional<bool> stable, int64_t dim = -1, bool descending = false);
Tensor& argsort_out(Tensor& out, const Operand& self, int64_t dim = -1, bool descending = false);
Tensor& argsort_out(Tensor& out, const Operand& self, bool stable, int64_t dim, bool descending = false);
Tensor& msort_out(Tensor& out, const Operand& self);
std::tuple<Tensor&, Tensor&> topk_out(Tensor& first, Tensor& second, const Operand& self, int64_t k,
                                      int64_t dim = -1, bool largest = true, bool sorted = true);
std::tuple<Tensor&, Tensor&> kthvalue_out(Tensor& first, Tensor& second, const Operand& self, int64_t k,
                                          int64_t dim = -1, bool keepdim = false);
Tensor& median_out(Tensor& out, const Operand& self);
std::tuple<Tensor&, Tensor&> median_out(Tensor& first, Tensor& second, const Operand& self, int64_t dim,
                                        bool keepdim = false);
Tensor& nanmedian_out(Tensor& out, const Operand& self);
std::tuple<Tensor&, Tensor&> nanmedian_out(Tensor& first, Tensor& second, const Operand& self, int64_t dim,
                                           bool keepdim = false);
std::tuple<Tensor&, Tensor&> mode_out(Tensor& first, Tensor& second, const Operand& self, int64_t dim = -1,
                                      bool keepdim = false);
Tensor& quantile_out(Tensor& out, const Operand& self, double q, optional<int64_t> dim = nullopt,
                     bool keepdim = false, std::string_view interpolation = "linear");
Tensor& quantile_out(Tensor& out, const Operand& self, const Operand& q, optional<int64_t> dim = nullopt,
                     bool keepdim = false, std::string_view interpolation = "linear");
Tensor& nanquantile_out(Tensor& out, const Operand& self, double q, optional<int64_t> dim = nullopt,
                        bool keepdim = false, std::string_view interpolation = "linear");
Tensor& nanquantile_out(Tensor& out, const Operand& self, const Operand& q, optional<int64_t> dim = nullopt,
                        bool keepdim = false, std::string_view interpolation = "linear");

// --- sets and counts. The sizes of these results depend on values: the operand is evaluated at the call.
Tensor& histc_out(Tensor& out, const Operand& self, int64_t bins = 100, const Scalar& min = 0,
                  const Scalar& max = 0);
std::tuple<Tensor&, Tensor&> histogram_out(Tensor& first, Tensor& second, const Operand& self,
                                           const Operand& bins, const optional<Tensor>& weight = nullopt,
                                           bool density = false);
std::tuple<Tensor&, Tensor&> histogram_out(Tensor& first, Tensor& second, const Operand& self,
                                           int64_t bins = 100, optional<ArrayRef<double>> range = nullopt,
                                           const optional<Tensor>& weight = nullopt, bool density = false);
Tensor& bincount_out(Tensor& out, const Operand& self, const optional<Tensor>& weights = nullopt,
                     int64_t minlength = 0);

// --- places in a sorted sequence: the first that keeps the order (right: the last)
Tensor& searchsorted_out(Tensor& out, const Operand& sorted_sequence, const Operand& self,
                         bool out_int32 = false, bool right = false,
                         optional<std::string_view> side = nullopt, const optional<Tensor>& sorter = nullopt);
Tensor& searchsorted_out(Tensor& out, const Operand& sorted_sequence, const Scalar& self,
                         bool out_int32 = false, bool right = false,
                         optional<std::string_view> side = nullopt, const optional<Tensor>& sorter = nullopt);
Tensor& bucketize_out(Tensor& out, const Operand& self, const Operand& boundaries, bool out_int32 = false,
                      bool right = false);
Tensor& bucketize_out(Tensor& out, const Scalar& self, const Operand& boundaries, bool out_int32 = false,
                      bool right = false);

// --- reading
Tensor& take_out(Tensor& out, const Operand& self, const Operand& index);
Tensor& take_along_dim_out(Tensor& out, const Operand& self, const Operand& indices,
                           optional<int64_t> dim = nullopt);

// --- where something holds: these sizes depend on values, so the mask is evaluated at the call
Tensor& masked_select_out(Tensor& out, const Operand& self, const Operand& mask);
Tensor& nonzero_out(Tensor& out, const Operand& self);

// --- writing: copies of self with some elements replaced or combined, in order where places repeat
Tensor& scatter_out(Tensor& out, const Operand& self, int64_t dim, const Operand& index, const Operand& src);
Tensor& scatter_out(Tensor& out, const Operand& self, int64_t dim, const Operand& index, const Scalar& value);
Tensor& scatter_out(Tensor& out, const Operand& self, int64_t dim, const Operand& index, const Operand& src,
                    std::string_view reduce);
Tensor& scatter_out(Tensor& out, const Operand& self, int64_t dim, const Operand& index, const Scalar& value,
                    std::string_view reduce);
Tensor& scatter_add_out(Tensor& out, const Operand& self, int64_t dim, const Operand& index,
                        const Operand& src);
Tensor& scatter_reduce_out(Tensor& out, const Operand& self, int64_t dim, const Operand& index,
                           const Operand& src, std::string_view reduce, bool include_self = true);
Tensor& index_add_out(Tensor& out, const Operand& self, int64_t dim, const Operand& index,
                      const Operand& source, const Scalar& alpha = 1);
Tensor& index_copy_out(Tensor& out, const Operand& self, int64_t dim, const Operand& index,
                       const Operand& source);
Tensor& index_fill_out(Tensor& out, const Operand& self, int64_t dim, const Operand& index,
                       const Scalar& value);
Tensor& index_fill_out(Tensor& out, const Operand& self, int64_t dim, const Operand& index,
                       const Operand& value);
Tensor& put_out(Tensor& out, const Operand& self, const Operand& index, const Operand& source,
                bool accumulate = false);
Tensor& masked_scatter_out(Tensor& out, const Operand& self, const Operand& mask, const Operand& source);

// --- views.h
Tensor& select_scatter_out(Tensor& out, const Operand& self, const Operand& src, int64_t dim, int64_t index);
Tensor& slice_scatter_out(Tensor& out, const Operand& self, const Operand& src, int64_t dim = 0,
                          optional<int64_t> start = nullopt, optional<int64_t> end = nullopt,
                          int64_t step = 1);
Tensor& diagonal_scatter_out(Tensor& out, const Operand& self, const Operand& src, int64_t offset = 0,
                             int64_t dim1 = 0, int64_t dim2 = 1);

// --- uniform in [0, 1), standard normal
Tensor& rand_out(Tensor& out, IntArrayRef size);
Tensor& rand_out(Tensor& out, IntArrayRef size, const optional<Generator>& generator);
Tensor& randn_out(Tensor& out, IntArrayRef size);
Tensor& randn_out(Tensor& out, IntArrayRef size, const optional<Generator>& generator);
Tensor& rand_like_out(Tensor& out, const Operand& self);
Tensor& randn_like_out(Tensor& out, const Operand& self);

// --- integers in [low, high), int64 unless the options say otherwise; a permutation of 0 ... n-1
Tensor& randint_out(Tensor& out, int64_t high, IntArrayRef size);
Tensor& randint_out(Tensor& out, int64_t high, IntArrayRef size, const optional<Generator>& generator);
Tensor& randint_out(Tensor& out, int64_t low, int64_t high, IntArrayRef size);
Tensor& randint_out(Tensor& out, int64_t low, int64_t high, IntArrayRef size,
                    const optional<Generator>& generator);
Tensor& randint_like_out(Tensor& out, const Operand& self, int64_t high);
Tensor& randint_like_out(Tensor& out, const Operand& self, int64_t low, int64_t high);
Tensor& randperm_out(Tensor& out, int64_t n);
Tensor& randperm_out(Tensor& out, int64_t n, const optional<Generator>& generator);

// --- draws that depend on tensors: those whose checks need values evaluate them
Tensor& bernoulli_out(Tensor& out, const Operand& self, const optional<Generator>& generator = nullopt);
Tensor& bernoulli_out(Tensor& out, const Operand& self, double p,
                      const optional<Generator>& generator = nullopt);
Tensor& normal_out(Tensor& out, const Operand& mean, double std = 1,
                   const optional<Generator>& generator = nullopt);
Tensor& normal_out(Tensor& out, double mean, const Operand& std,
                   const optional<Generator>& generator = nullopt);
Tensor& normal_out(Tensor& out, const Operand& mean, const Operand& std,
                   const optional<Generator>& generator = nullopt);
Tensor& normal_out(Tensor& out, double mean, double std, IntArrayRef size,
                   const optional<Generator>& generator = nullopt);
Tensor& multinomial_out(Tensor& out, const Operand& self, int64_t num_samples, bool replacement = false,
                        const optional<Generator>& generator = nullopt);
Tensor& poisson_out(Tensor& out, const Operand& self, const optional<Generator>& generator = nullopt);

// --- creation.h
Tensor& scalar_tensor_out(Tensor& out, const Scalar& value);
Tensor& empty_out(Tensor& out, IntArrayRef size);
Tensor& zeros_like_out(Tensor& out, const Tensor& self);
Tensor& ones_like_out(Tensor& out, const Tensor& self);
Tensor& empty_like_out(Tensor& out, const Tensor& self);
Tensor& full_like_out(Tensor& out, const Tensor& self, const Scalar& fill_value);
Tensor& linspace_out(Tensor& out, const Scalar& start, const Scalar& end, int64_t steps);
Tensor& linspace_out(Tensor& out, const Tensor& start, const Tensor& end, int64_t steps);
Tensor& linspace_out(Tensor& out, const Tensor& start, const Scalar& end, int64_t steps);
Tensor& linspace_out(Tensor& out, const Scalar& start, const Tensor& end, int64_t steps);
Tensor& logspace_out(Tensor& out, const Scalar& start, const Scalar& end, int64_t steps, double base = 10.0);
Tensor& logspace_out(Tensor& out, const Tensor& start, const Tensor& end, int64_t steps, double base = 10.0);
Tensor& logspace_out(Tensor& out, const Tensor& start, const Scalar& end, int64_t steps, double base = 10.0);
Tensor& logspace_out(Tensor& out, const Scalar& start, const Tensor& end, int64_t steps, double base = 10.0);
Tensor& eye_out(Tensor& out, int64_t n);
Tensor& eye_out(Tensor& out, int64_t n, int64_t m);

// --- linalg.h
Tensor& linalg_norm_out(Tensor& out, const Operand& self, const optional<Scalar>& ord = nullopt,
                        OptionalIntArrayRef dim = nullopt, bool keepdim = false,
                        optional<ScalarType> dtype = nullopt);
Tensor& linalg_norm_out(Tensor& out, const Operand& self, std::string_view ord,
                        OptionalIntArrayRef dim = nullopt, bool keepdim = false,
                        optional<ScalarType> dtype = nullopt);
Tensor& linalg_matrix_norm_out(Tensor& out, const Operand& self, const Scalar& ord,
                               IntArrayRef dim = {-2, -1}, bool keepdim = false,
                               optional<ScalarType> dtype = nullopt);
Tensor& linalg_matrix_norm_out(Tensor& out, const Operand& self, std::string_view ord = "fro",
                               IntArrayRef dim = {-2, -1}, bool keepdim = false,
                               optional<ScalarType> dtype = nullopt);
Tensor& linalg_matrix_power_out(Tensor& out, const Operand& self, int64_t n);
Tensor& linalg_multi_dot_out(Tensor& out, TensorList tensors);
Tensor& linalg_vecdot_out(Tensor& out, const Operand& x, const Operand& y, int64_t dim = -1);
Tensor& linalg_matmul_out(Tensor& out, const Operand& self, const Operand& other);
Tensor& frobenius_norm_out(Tensor& out, const Operand& self, IntArrayRef dim, bool keepdim = false);

// --- of one tensor
Tensor& special_entr_out(Tensor& out, const Operand& self);
Tensor& special_erfcx_out(Tensor& out, const Operand& self);
Tensor& special_ndtr_out(Tensor& out, const Operand& self);
Tensor& special_ndtri_out(Tensor& out, const Operand& self);
Tensor& special_log_ndtr_out(Tensor& out, const Operand& self);
Tensor& special_i0e_out(Tensor& out, const Operand& self);
Tensor& special_i1_out(Tensor& out, const Operand& self);
Tensor& special_i1e_out(Tensor& out, const Operand& self);
Tensor& special_bessel_j0_out(Tensor& out, const Operand& self);
Tensor& special_bessel_j1_out(Tensor& out, const Operand& self);
Tensor& special_bessel_y0_out(Tensor& out, const Operand& self);
Tensor& special_bessel_y1_out(Tensor& out, const Operand& self);
Tensor& special_modified_bessel_k0_out(Tensor& out, const Operand& self);
Tensor& special_modified_bessel_k1_out(Tensor& out, const Operand& self);
Tensor& special_scaled_modified_bessel_k0_out(Tensor& out, const Operand& self);
Tensor& special_scaled_modified_bessel_k1_out(Tensor& out, const Operand& self);
Tensor& special_spherical_bessel_j0_out(Tensor& out, const Operand& self);
Tensor& special_digamma_out(Tensor& out, const Operand& self);
Tensor& special_psi_out(Tensor& out, const Operand& self);
Tensor& special_erf_out(Tensor& out, const Operand& self);
Tensor& special_erfc_out(Tensor& out, const Operand& self);
Tensor& special_erfinv_out(Tensor& out, const Operand& self);
Tensor& special_exp2_out(Tensor& out, const Operand& self);
Tensor& special_expit_out(Tensor& out, const Operand& self);
Tensor& special_expm1_out(Tensor& out, const Operand& self);
Tensor& special_gammaln_out(Tensor& out, const Operand& self);
Tensor& special_i0_out(Tensor& out, const Operand& self);
Tensor& special_log1p_out(Tensor& out, const Operand& self);
Tensor& special_sinc_out(Tensor& out, const Operand& self);
Tensor& special_modified_bessel_i0_out(Tensor& out, const Operand& self);

// --- convolution
Tensor& convolution_out(Tensor& out, const Operand& input, const Operand& weight,
                        const optional<Tensor>& bias, IntArrayRef stride, IntArrayRef padding,
                        IntArrayRef dilation, bool transposed, IntArrayRef output_padding, int64_t groups);

// --- pooling; an empty stride is the kernel's size. Indices are positions in the unpadded plane.
Tensor& adaptive_avg_pool1d_out(Tensor& out, const Operand& self, IntArrayRef output_size);
std::tuple<Tensor&, Tensor&> max_pool2d_with_indices_out(Tensor& first, Tensor& second, const Operand& self,
                                                         IntArrayRef kernel_size, IntArrayRef stride = {},
                                                         IntArrayRef padding = 0, IntArrayRef dilation = 1,
                                                         bool ceil_mode = false);
Tensor& adaptive_avg_pool2d_out(Tensor& out, const Operand& self, IntArrayRef output_size);
std::tuple<Tensor&, Tensor&> adaptive_max_pool2d_out(Tensor& first, Tensor& second, const Operand& self,
                                                     IntArrayRef output_size);
std::tuple<Tensor&, Tensor&> max_pool3d_with_indices_out(Tensor& first, Tensor& second, const Operand& self,
                                                         IntArrayRef kernel_size, IntArrayRef stride = {},
                                                         IntArrayRef padding = 0, IntArrayRef dilation = 1,
                                                         bool ceil_mode = false);
Tensor& adaptive_avg_pool3d_out(Tensor& out, const Operand& self, IntArrayRef output_size);
std::tuple<Tensor&, Tensor&> adaptive_max_pool3d_out(Tensor& first, Tensor& second, const Operand& self,
                                                     IntArrayRef output_size);
Tensor& avg_pool1d_out(Tensor& out, const Operand& self, IntArrayRef kernel_size, IntArrayRef stride = {},
                       IntArrayRef padding = 0, bool ceil_mode = false, bool count_include_pad = true);
Tensor& avg_pool2d_out(Tensor& out, const Operand& self, IntArrayRef kernel_size, IntArrayRef stride = {},
                       IntArrayRef padding = 0, bool ceil_mode = false, bool count_include_pad = true,
                       optional<int64_t> divisor_override = nullopt);
Tensor& avg_pool3d_out(Tensor& out, const Operand& self, IntArrayRef kernel_size, IntArrayRef stride = {},
                       IntArrayRef padding = 0, bool ceil_mode = false, bool count_include_pad = true,
                       optional<int64_t> divisor_override = nullopt);
std::tuple<Tensor&, Tensor&> fractional_max_pool2d_out(Tensor& first, Tensor& second, const Operand& self,
                                                       IntArrayRef kernel_size, IntArrayRef output_size,
                                                       const Operand& random_samples);
std::tuple<Tensor&, Tensor&> fractional_max_pool3d_out(Tensor& first, Tensor& second, const Operand& self,
                                                       IntArrayRef kernel_size, IntArrayRef output_size,
                                                       const Operand& random_samples);
Tensor& im2col_out(Tensor& out, const Operand& self, IntArrayRef kernel_size, IntArrayRef dilation,
                   IntArrayRef padding, IntArrayRef stride);
Tensor& col2im_out(Tensor& out, const Operand& self, IntArrayRef output_size, IntArrayRef kernel_size,
                   IntArrayRef dilation, IntArrayRef padding, IntArrayRef stride);

// --- padding and resizing. `pad` is (before, after) pairs from the last dim backwards.
Tensor& reflection_pad1d_out(Tensor& out, const Operand& self, IntArrayRef padding);
Tensor& reflection_pad2d_out(Tensor& out, const Operand& self, IntArrayRef padding);
Tensor& reflection_pad3d_out(Tensor& out, const Operand& self, IntArrayRef padding);
Tensor& replication_pad1d_out(Tensor& out, const Operand& self, IntArrayRef padding);
Tensor& replication_pad2d_out(Tensor& out, const Operand& self, IntArrayRef padding);
Tensor& replication_pad3d_out(Tensor& out, const Operand& self, IntArrayRef padding);
Tensor& pixel_shuffle_out(Tensor& out, const Operand& self, int64_t upscale_factor);
Tensor& pixel_unshuffle_out(Tensor& out, const Operand& self, int64_t downscale_factor);
Tensor& channel_shuffle_out(Tensor& out, const Operand& self, int64_t groups);

// --- sampling. input [N, C, spatial...] at points of grid [N, points..., dims], x first, from -1 to 1.
Tensor& grid_sampler_2d_out(Tensor& out, const Operand& input, const Operand& grid,
                            int64_t interpolation_mode, int64_t padding_mode, bool align_corners);
Tensor& grid_sampler_3d_out(Tensor& out, const Operand& input, const Operand& grid,
                            int64_t interpolation_mode, int64_t padding_mode, bool align_corners);
Tensor& affine_grid_generator_out(Tensor& out, const Operand& theta, IntArrayRef size, bool align_corners);

// --- activations with operands
Tensor& glu_out(Tensor& out, const Operand& self, int64_t dim = -1);

// --- embedding: the rows of weight at indices, which are read and checked
Tensor& embedding_out(Tensor& out, const Operand& weight, const Operand& indices, int64_t padding_idx = -1,
                      bool scale_grad_by_freq = false, bool sparse = false);

// --- losses
Tensor& mse_loss_out(Tensor& out, const Operand& self, const Operand& target,
                     int64_t reduction = Reduction::Mean);
Tensor& smooth_l1_loss_out(Tensor& out, const Operand& self, const Operand& target,
                           int64_t reduction = Reduction::Mean, double beta = 1.0);
Tensor& huber_loss_out(Tensor& out, const Operand& self, const Operand& target,
                       int64_t reduction = Reduction::Mean, double delta = 1.0);
Tensor& binary_cross_entropy_out(Tensor& out, const Operand& self, const Operand& target,
                                 const optional<Tensor>& weight = nullopt,
                                 int64_t reduction = Reduction::Mean);
Tensor& binary_cross_entropy_with_logits_out(Tensor& out, const Operand& self, const Operand& target,
                                             const optional<Tensor>& weight = nullopt,
                                             const optional<Tensor>& pos_weight = nullopt,
                                             int64_t reduction = Reduction::Mean);
Tensor& nll_loss_out(Tensor& out, const Operand& self, const Operand& target,
                     const optional<Tensor>& weight = nullopt, int64_t reduction = Reduction::Mean,
                     int64_t ignore_index = -100);
Tensor& nll_loss2d_out(Tensor& out, const Operand& self, const Operand& target,
                       const optional<Tensor>& weight = nullopt, int64_t reduction = Reduction::Mean,
                       int64_t ignore_index = -100);
Tensor& soft_margin_loss_out(Tensor& out, const Operand& self, const Operand& target,
                             int64_t reduction = Reduction::Mean);
Tensor& multi_margin_loss_out(Tensor& out, const Operand& self, const Operand& target, const Scalar& p = 1,
                              const Scalar& margin = 1, const optional<Tensor>& weight = nullopt,
                              int64_t reduction = Reduction::Mean);
Tensor& multilabel_margin_loss_out(Tensor& out, const Operand& self, const Operand& target,
                                   int64_t reduction = Reduction::Mean);

// --- products
Tensor& linear_out(Tensor& out, const Operand& input, const Operand& weight,
                   const optional<Tensor>& bias = nullopt);

// --- windows.h
Tensor& hann_window_out(Tensor& out, int64_t window_length);
Tensor& hann_window_out(Tensor& out, int64_t window_length, bool periodic);
Tensor& hamming_window_out(Tensor& out, int64_t window_length);
Tensor& hamming_window_out(Tensor& out, int64_t window_length, bool periodic);
Tensor& blackman_window_out(Tensor& out, int64_t window_length);
Tensor& blackman_window_out(Tensor& out, int64_t window_length, bool periodic);
Tensor& bartlett_window_out(Tensor& out, int64_t window_length);
Tensor& bartlett_window_out(Tensor& out, int64_t window_length, bool periodic);
Tensor& kaiser_window_out(Tensor& out, int64_t window_length);
Tensor& kaiser_window_out(Tensor& out, int64_t window_length, bool periodic);
Tensor& hamming_window_out(Tensor& out, int64_t window_length, bool periodic, double alpha);
Tensor& hamming_window_out(Tensor& out, int64_t window_length, bool periodic, double alpha, double beta);
Tensor& kaiser_window_out(Tensor& out, int64_t window_length, bool periodic, double beta);

// --- more methods: they have no function of their own
Tensor& index_put_out(Tensor& out, const Operand& self, ArrayRef<indexing::TensorIndex> indices,
                      const Operand& value, bool accumulate = false);

}  // namespace tenon
