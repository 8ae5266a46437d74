// Printed from frontend/functions.def by scripts/print/make_functions.py.
// Results into a tensor that is there: name_out(out, operands...). `out` takes the result's shape (an out of
// another shape is resized) and keeps its dtype, to which the result's type must be castable. Error if out or
// the result requires grad.
#pragma once

#include "tenon/tensor.h"

namespace tenon {

// --- elementwise
Tensor& abs_out(Tensor& out, const Operand& self);
Tensor& absolute_out(Tensor& out, const Operand& self);
Tensor& neg_out(Tensor& out, const Operand& self);
Tensor& negative_out(Tensor& out, const Operand& self);
Tensor& sign_out(Tensor& out, const Operand& self);
Tensor& sgn_out(Tensor& out, const Operand& self);
Tensor& square_out(Tensor& out, const Operand& self);
Tensor& sqrt_out(Tensor& out, const Operand& self);
Tensor& rsqrt_out(Tensor& out, const Operand& self);
Tensor& reciprocal_out(Tensor& out, const Operand& self);
Tensor& exp_out(Tensor& out, const Operand& self);
Tensor& exp2_out(Tensor& out, const Operand& self);
Tensor& expm1_out(Tensor& out, const Operand& self);
Tensor& log_out(Tensor& out, const Operand& self);
Tensor& log2_out(Tensor& out, const Operand& self);
Tensor& log10_out(Tensor& out, const Operand& self);
Tensor& log1p_out(Tensor& out, const Operand& self);
Tensor& sin_out(Tensor& out, const Operand& self);
Tensor& cos_out(Tensor& out, const Operand& self);
Tensor& tan_out(Tensor& out, const Operand& self);
Tensor& asin_out(Tensor& out, const Operand& self);
Tensor& arcsin_out(Tensor& out, const Operand& self);
Tensor& acos_out(Tensor& out, const Operand& self);
Tensor& arccos_out(Tensor& out, const Operand& self);
Tensor& atan_out(Tensor& out, const Operand& self);
Tensor& arctan_out(Tensor& out, const Operand& self);
Tensor& sinh_out(Tensor& out, const Operand& self);
Tensor& cosh_out(Tensor& out, const Operand& self);
Tensor& tanh_out(Tensor& out, const Operand& self);
Tensor& asinh_out(Tensor& out, const Operand& self);
Tensor& arcsinh_out(Tensor& out, const Operand& self);
Tensor& acosh_out(Tensor& out, const Operand& self);
Tensor& arccosh_out(Tensor& out, const Operand& self);
Tensor& atanh_out(Tensor& out, const Operand& self);
Tensor& arctanh_out(Tensor& out, const Operand& self);
Tensor& sigmoid_out(Tensor& out, const Operand& self);
Tensor& erf_out(Tensor& out, const Operand& self);
Tensor& erfc_out(Tensor& out, const Operand& self);
Tensor& erfinv_out(Tensor& out, const Operand& self);
Tensor& lgamma_out(Tensor& out, const Operand& self);
Tensor& floor_out(Tensor& out, const Operand& self);
Tensor& ceil_out(Tensor& out, const Operand& self);
Tensor& trunc_out(Tensor& out, const Operand& self);
Tensor& fix_out(Tensor& out, const Operand& self);
Tensor& round_out(Tensor& out, const Operand& self);
Tensor& frac_out(Tensor& out, const Operand& self);
Tensor& logical_not_out(Tensor& out, const Operand& self);
Tensor& bitwise_not_out(Tensor& out, const Operand& self);
Tensor& relu_out(Tensor& out, const Operand& self);
Tensor& deg2rad_out(Tensor& out, const Operand& self);
Tensor& rad2deg_out(Tensor& out, const Operand& self);
Tensor& digamma_out(Tensor& out, const Operand& self);
Tensor& i0_out(Tensor& out, const Operand& self);
Tensor& sinc_out(Tensor& out, const Operand& self);
Tensor& conj_physical_out(Tensor& out, const Operand& self);
Tensor& positive_out(Tensor& out, const Operand& self);
Tensor& signbit_out(Tensor& out, const Operand& self);
Tensor& isnan_out(Tensor& out, const Operand& self);
Tensor& isinf_out(Tensor& out, const Operand& self);
Tensor& isfinite_out(Tensor& out, const Operand& self);
Tensor& isposinf_out(Tensor& out, const Operand& self);
Tensor& isneginf_out(Tensor& out, const Operand& self);
Tensor& isreal_out(Tensor& out, const Operand& self);
Tensor& angle_out(Tensor& out, const Operand& self);
Tensor& atan2_out(Tensor& out, const Operand& self, const Operand& other);
Tensor& arctan2_out(Tensor& out, const Operand& self, const Operand& other);
Tensor& hypot_out(Tensor& out, const Operand& self, const Operand& other);
Tensor& logical_and_out(Tensor& out, const Operand& self, const Operand& other);
Tensor& logical_or_out(Tensor& out, const Operand& self, const Operand& other);
Tensor& logical_xor_out(Tensor& out, const Operand& self, const Operand& other);
Tensor& heaviside_out(Tensor& out, const Operand& self, const Operand& other);
Tensor& nextafter_out(Tensor& out, const Operand& self, const Operand& other);
Tensor& ldexp_out(Tensor& out, const Operand& self, const Operand& other);
Tensor& gcd_out(Tensor& out, const Operand& self, const Operand& other);
Tensor& lcm_out(Tensor& out, const Operand& self, const Operand& other);
Tensor& maximum_out(Tensor& out, const Operand& self, const Operand& other);
Tensor& minimum_out(Tensor& out, const Operand& self, const Operand& other);
Tensor& fmax_out(Tensor& out, const Operand& self, const Operand& other);
Tensor& fmin_out(Tensor& out, const Operand& self, const Operand& other);
Tensor& logaddexp_out(Tensor& out, const Operand& self, const Operand& other);
Tensor& logaddexp2_out(Tensor& out, const Operand& self, const Operand& other);
Tensor& mul_out(Tensor& out, const Operand& self, const Operand& other);
Tensor& mul_out(Tensor& out, const Operand& self, const Scalar& other);
Tensor& multiply_out(Tensor& out, const Operand& self, const Operand& other);
Tensor& multiply_out(Tensor& out, const Operand& self, const Scalar& other);
Tensor& remainder_out(Tensor& out, const Operand& self, const Operand& other);
Tensor& remainder_out(Tensor& out, const Operand& self, const Scalar& other);
Tensor& fmod_out(Tensor& out, const Operand& self, const Operand& other);
Tensor& fmod_out(Tensor& out, const Operand& self, const Scalar& other);
Tensor& floor_divide_out(Tensor& out, const Operand& self, const Operand& other);
Tensor& floor_divide_out(Tensor& out, const Operand& self, const Scalar& other);
Tensor& true_divide_out(Tensor& out, const Operand& self, const Operand& other);
Tensor& true_divide_out(Tensor& out, const Operand& self, const Scalar& other);
Tensor& copysign_out(Tensor& out, const Operand& self, const Operand& other);
Tensor& copysign_out(Tensor& out, const Operand& self, const Scalar& other);
Tensor& xlogy_out(Tensor& out, const Operand& self, const Operand& other);
Tensor& xlogy_out(Tensor& out, const Operand& self, const Scalar& other);
Tensor& eq_out(Tensor& out, const Operand& self, const Operand& other);
Tensor& eq_out(Tensor& out, const Operand& self, const Scalar& other);
Tensor& ne_out(Tensor& out, const Operand& self, const Operand& other);
Tensor& ne_out(Tensor& out, const Operand& self, const Scalar& other);
Tensor& lt_out(Tensor& out, const Operand& self, const Operand& other);
Tensor& lt_out(Tensor& out, const Operand& self, const Scalar& other);
Tensor& le_out(Tensor& out, const Operand& self, const Operand& other);
Tensor& le_out(Tensor& out, const Operand& self, const Scalar& other);
Tensor& gt_out(Tensor& out, const Operand& self, const Operand& other);
Tensor& gt_out(Tensor& out, const Operand& self, const Scalar& other);
Tensor& ge_out(Tensor& out, const Operand& self, const Operand& other);
Tensor& ge_out(Tensor& out, const Operand& self, const Scalar& other);
Tensor& not_equal_out(Tensor& out, const Operand& self, const Operand& other);
Tensor& not_equal_out(Tensor& out, const Operand& self, const Scalar& other);
Tensor& less_out(Tensor& out, const Operand& self, const Operand& other);
Tensor& less_out(Tensor& out, const Operand& self, const Scalar& other);
Tensor& less_equal_out(Tensor& out, const Operand& self, const Operand& other);
Tensor& less_equal_out(Tensor& out, const Operand& self, const Scalar& other);
Tensor& greater_out(Tensor& out, const Operand& self, const Operand& other);
Tensor& greater_out(Tensor& out, const Operand& self, const Scalar& other);
Tensor& greater_equal_out(Tensor& out, const Operand& self, const Operand& other);
Tensor& greater_equal_out(Tensor& out, const Operand& self, const Scalar& other);
Tensor& bitwise_and_out(Tensor& out, const Operand& self, const Operand& other);
Tensor& bitwise_and_out(Tensor& out, const Operand& self, const Scalar& other);
Tensor& bitwise_or_out(Tensor& out, const Operand& self, const Operand& other);
Tensor& bitwise_or_out(Tensor& out, const Operand& self, const Scalar& other);
Tensor& bitwise_xor_out(Tensor& out, const Operand& self, const Operand& other);
Tensor& bitwise_xor_out(Tensor& out, const Operand& self, const Scalar& other);
Tensor& bitwise_left_shift_out(Tensor& out, const Operand& self, const Operand& other);
Tensor& bitwise_left_shift_out(Tensor& out, const Operand& self, const Scalar& other);
Tensor& bitwise_right_shift_out(Tensor& out, const Operand& self, const Operand& other);
Tensor& bitwise_right_shift_out(Tensor& out, const Operand& self, const Scalar& other);
Tensor& add_out(Tensor& out, const Operand& self, const Operand& other, const Scalar& alpha = 1);
Tensor& sub_out(Tensor& out, const Operand& self, const Operand& other, const Scalar& alpha = 1);
Tensor& div_out(Tensor& out, const Operand& self, const Operand& other);
Tensor& pow_out(Tensor& out, const Operand& self, const Operand& exponent);
Tensor& pow_out(Tensor& out, const Operand& self, const Scalar& exponent);
Tensor& where_out(Tensor& out, const Operand& condition, const Operand& self, const Operand& other);
Tensor& clamp_out(Tensor& out, const Operand& self, const optional<Scalar>& min,
                  const optional<Scalar>& max = nullopt);

// --- shape: new tensors
Tensor& cat_out(Tensor& out, TensorList tensors, int64_t dim = 0);
Tensor& stack_out(Tensor& out, TensorList tensors, int64_t dim = 0);

// --- reductions
Tensor& sum_out(Tensor& out, const Operand& self, OptionalIntArrayRef dim, bool keepdim = false,
                optional<ScalarType> dtype = nullopt);
Tensor& mean_out(Tensor& out, const Operand& self, OptionalIntArrayRef dim, bool keepdim = false,
                 optional<ScalarType> dtype = nullopt);
Tensor& argmax_out(Tensor& out, const Operand& self, optional<int64_t> dim = nullopt, bool keepdim = false);
Tensor& argmin_out(Tensor& out, const Operand& self, optional<int64_t> dim = nullopt, bool keepdim = false);

// --- matrix products
Tensor& matmul_out(Tensor& out, const Operand& self, const Operand& other);
Tensor& mm_out(Tensor& out, const Operand& self, const Operand& mat2);
Tensor& mv_out(Tensor& out, const Operand& self, const Operand& vec);
Tensor& bmm_out(Tensor& out, const Operand& self, const Operand& mat2);
Tensor& dot_out(Tensor& out, const Operand& self, const Operand& tensor);
Tensor& outer_out(Tensor& out, const Operand& self, const Operand& vec2);
Tensor& addmm_out(Tensor& out, const Operand& self, const Operand& mat1, const Operand& mat2,
                  const Scalar& beta = 1, const Scalar& alpha = 1);

// --- running along a dim; sums and products of bools and integers are int64
Tensor& cumsum_out(Tensor& out, const Operand& self, int64_t dim, optional<ScalarType> dtype = nullopt);

// --- reading
Tensor& gather_out(Tensor& out, const Operand& self, int64_t dim, const Operand& index,
                   bool sparse_grad = false);
Tensor& index_select_out(Tensor& out, const Operand& self, int64_t dim, const Operand& index);

// --- creation.h
Tensor& zeros_out(Tensor& out, IntArrayRef size);
Tensor& ones_out(Tensor& out, IntArrayRef size);
Tensor& full_out(Tensor& out, IntArrayRef size, const Scalar& fill_value);
Tensor& arange_out(Tensor& out, const Scalar& end);
Tensor& arange_out(Tensor& out, const Scalar& start, const Scalar& end);
Tensor& arange_out(Tensor& out, const Scalar& start, const Scalar& end, const Scalar& step);

}  // namespace tenon
