// Printed from frontend/functions.def by scripts/print/make_functions.py.
// Operations as functions, with LibTorch's names, argument order and defaults. Each checks its operands at
// once and throws at the call that is wrong; it computes nothing until a value is needed. Shapes broadcast as
// in PyTorch, types promote as in PyTorch; results are new tensors except where a comment says "view":
// row-major, but elementwise ones have the order of dims in memory that their operands have.
#pragma once

#include "tenon/function_types.h"

namespace tenon {

// --- elementwise
Tensor abs(const Operand& self);
Tensor absolute(const Operand& self);
Tensor neg(const Operand& self);
Tensor negative(const Operand& self);
Tensor sign(const Operand& self);
Tensor sgn(const Operand& self);
Tensor square(const Operand& self);
Tensor sqrt(const Operand& self);
Tensor rsqrt(const Operand& self);
Tensor reciprocal(const Operand& self);
Tensor exp(const Operand& self);
Tensor exp2(const Operand& self);
Tensor expm1(const Operand& self);
Tensor log(const Operand& self);
Tensor log2(const Operand& self);
Tensor log10(const Operand& self);
Tensor log1p(const Operand& self);
Tensor sin(const Operand& self);
Tensor cos(const Operand& self);
Tensor tan(const Operand& self);
Tensor asin(const Operand& self);
Tensor arcsin(const Operand& self);
Tensor acos(const Operand& self);
Tensor arccos(const Operand& self);
Tensor atan(const Operand& self);
Tensor arctan(const Operand& self);
Tensor sinh(const Operand& self);
Tensor cosh(const Operand& self);
Tensor tanh(const Operand& self);
Tensor asinh(const Operand& self);
Tensor arcsinh(const Operand& self);
Tensor acosh(const Operand& self);
Tensor arccosh(const Operand& self);
Tensor atanh(const Operand& self);
Tensor arctanh(const Operand& self);
Tensor sigmoid(const Operand& self);
Tensor erf(const Operand& self);
Tensor erfc(const Operand& self);
Tensor erfinv(const Operand& self);
Tensor lgamma(const Operand& self);
Tensor floor(const Operand& self);
Tensor ceil(const Operand& self);
Tensor trunc(const Operand& self);
Tensor fix(const Operand& self);
Tensor round(const Operand& self);
Tensor frac(const Operand& self);
Tensor logical_not(const Operand& self);
Tensor bitwise_not(const Operand& self);
Tensor relu(const Operand& self);
Tensor deg2rad(const Operand& self);
Tensor rad2deg(const Operand& self);
Tensor digamma(const Operand& self);
Tensor i0(const Operand& self);
Tensor sinc(const Operand& self);
Tensor conj_physical(const Operand& self);
Tensor positive(const Operand& self);
Tensor signbit(const Operand& self);
Tensor isnan(const Operand& self);
Tensor isinf(const Operand& self);
Tensor isfinite(const Operand& self);
Tensor isposinf(const Operand& self);
Tensor isneginf(const Operand& self);
Tensor isreal(const Operand& self);
Tensor angle(const Operand& self);
Tensor relu6(const Operand& self);
Tensor selu(const Operand& self);
Tensor silu(const Operand& self);
Tensor mish(const Operand& self);
Tensor hardsigmoid(const Operand& self);
Tensor hardswish(const Operand& self);
Tensor softsign(const Operand& self);
Tensor tanhshrink(const Operand& self);
Tensor log_sigmoid(const Operand& self);
Tensor atan2(const Operand& self, const Operand& other);
Tensor arctan2(const Operand& self, const Operand& other);
Tensor hypot(const Operand& self, const Operand& other);
Tensor logical_and(const Operand& self, const Operand& other);
Tensor logical_or(const Operand& self, const Operand& other);
Tensor logical_xor(const Operand& self, const Operand& other);
Tensor heaviside(const Operand& self, const Operand& other);
Tensor nextafter(const Operand& self, const Operand& other);
Tensor ldexp(const Operand& self, const Operand& other);
Tensor gcd(const Operand& self, const Operand& other);
Tensor lcm(const Operand& self, const Operand& other);
Tensor maximum(const Operand& self, const Operand& other);
Tensor minimum(const Operand& self, const Operand& other);
Tensor fmax(const Operand& self, const Operand& other);
Tensor fmin(const Operand& self, const Operand& other);
Tensor logaddexp(const Operand& self, const Operand& other);
Tensor logaddexp2(const Operand& self, const Operand& other);
Tensor mul(const Operand& self, const Operand& other);
Tensor mul(const Operand& self, const Scalar& other);
Tensor multiply(const Operand& self, const Operand& other);
Tensor multiply(const Operand& self, const Scalar& other);
Tensor remainder(const Operand& self, const Operand& other);
Tensor remainder(const Operand& self, const Scalar& other);
Tensor fmod(const Operand& self, const Operand& other);
Tensor fmod(const Operand& self, const Scalar& other);
Tensor floor_divide(const Operand& self, const Operand& other);
Tensor floor_divide(const Operand& self, const Scalar& other);
Tensor true_divide(const Operand& self, const Operand& other);
Tensor true_divide(const Operand& self, const Scalar& other);
Tensor copysign(const Operand& self, const Operand& other);
Tensor copysign(const Operand& self, const Scalar& other);
Tensor xlogy(const Operand& self, const Operand& other);
Tensor xlogy(const Operand& self, const Scalar& other);
Tensor eq(const Operand& self, const Operand& other);
Tensor eq(const Operand& self, const Scalar& other);
Tensor ne(const Operand& self, const Operand& other);
Tensor ne(const Operand& self, const Scalar& other);
Tensor lt(const Operand& self, const Operand& other);
Tensor lt(const Operand& self, const Scalar& other);
Tensor le(const Operand& self, const Operand& other);
Tensor le(const Operand& self, const Scalar& other);
Tensor gt(const Operand& self, const Operand& other);
Tensor gt(const Operand& self, const Scalar& other);
Tensor ge(const Operand& self, const Operand& other);
Tensor ge(const Operand& self, const Scalar& other);
Tensor not_equal(const Operand& self, const Operand& other);
Tensor not_equal(const Operand& self, const Scalar& other);
Tensor less(const Operand& self, const Operand& other);
Tensor less(const Operand& self, const Scalar& other);
Tensor less_equal(const Operand& self, const Operand& other);
Tensor less_equal(const Operand& self, const Scalar& other);
Tensor greater(const Operand& self, const Operand& other);
Tensor greater(const Operand& self, const Scalar& other);
Tensor greater_equal(const Operand& self, const Operand& other);
Tensor greater_equal(const Operand& self, const Scalar& other);
Tensor bitwise_and(const Operand& self, const Operand& other);
Tensor bitwise_and(const Operand& self, const Scalar& other);
Tensor bitwise_or(const Operand& self, const Operand& other);
Tensor bitwise_or(const Operand& self, const Scalar& other);
Tensor bitwise_xor(const Operand& self, const Operand& other);
Tensor bitwise_xor(const Operand& self, const Scalar& other);
Tensor bitwise_left_shift(const Operand& self, const Operand& other);
Tensor bitwise_left_shift(const Operand& self, const Scalar& other);
Tensor bitwise_right_shift(const Operand& self, const Operand& other);
Tensor bitwise_right_shift(const Operand& self, const Scalar& other);

Tensor round(const Operand& self, int64_t decimals);
Tensor add(const Operand& self, const Operand& other, const Scalar& alpha = 1);  // self + alpha * other
Tensor add(const Operand& self, const Scalar& other, const Scalar& alpha = 1);
Tensor sub(const Operand& self, const Operand& other, const Scalar& alpha = 1);  // self - alpha * other
Tensor sub(const Operand& self, const Scalar& other, const Scalar& alpha = 1);
Tensor rsub(const Operand& self, const Scalar& other, const Scalar& alpha = 1);  // other - alpha * self
Tensor div(const Operand& self, const Operand& other);  // true division
Tensor div(const Operand& self, const Scalar& other);
Tensor div(const Operand& self, const Operand& other, optional<std::string_view> rounding_mode);  // "trunc", "floor"
Tensor div(const Operand& self, const Scalar& other, optional<std::string_view> rounding_mode);
Tensor pow(const Operand& self, const Operand& exponent);
Tensor pow(const Operand& self, const Scalar& exponent);
Tensor pow(const Scalar& self, const Operand& exponent);
Tensor float_power(const Operand& self, const Operand& exponent);  // in double
Tensor float_power(const Operand& self, const Scalar& exponent);

Tensor where(const Operand& condition, const Operand& self, const Operand& other);
Tensor where(const Operand& condition, const Scalar& self, const Operand& other);
Tensor where(const Operand& condition, const Operand& self, const Scalar& other);
Tensor where(const Operand& condition, const Scalar& self, const Scalar& other);
Tensor masked_fill(const Operand& self, const Operand& mask, const Scalar& value);
Tensor masked_fill(const Operand& self, const Operand& mask, const Operand& value);  // value: 0-dim
Tensor clamp(const Operand& self, const optional<Scalar>& min, const optional<Scalar>& max = nullopt);
Tensor clamp(const Operand& self, const optional<Tensor>& min, const optional<Tensor>& max);
Tensor clamp_min(const Operand& self, const Scalar& min);
Tensor clamp_min(const Operand& self, const Operand& min);
Tensor clamp_max(const Operand& self, const Scalar& max);
Tensor clamp_max(const Operand& self, const Operand& max);
Tensor lerp(const Operand& self, const Operand& end, const Scalar& weight);
Tensor lerp(const Operand& self, const Operand& end, const Operand& weight);
Tensor addcmul(const Operand& self, const Operand& tensor1, const Operand& tensor2, const Scalar& value = 1);
Tensor addcdiv(const Operand& self, const Operand& tensor1, const Operand& tensor2, const Scalar& value = 1);
Tensor nan_to_num(const Operand& self, optional<double> nan = nullopt, optional<double> posinf = nullopt,
                  optional<double> neginf = nullopt);
Tensor logit(const Operand& self, optional<double> eps = nullopt);

Tensor leaky_relu(const Operand& self, const Scalar& negative_slope = 0.01);
Tensor prelu(const Operand& self, const Operand& weight);
Tensor elu(const Operand& self, const Scalar& alpha = 1, const Scalar& scale = 1,
           const Scalar& input_scale = 1);
Tensor celu(const Operand& self, const Scalar& alpha = 1.0);
Tensor gelu(const Operand& self, std::string_view approximate = "none");  // or "tanh"
Tensor softplus(const Operand& self, const Scalar& beta = 1, const Scalar& threshold = 20);
Tensor hardtanh(const Operand& self, const Scalar& min_val = -1, const Scalar& max_val = 1);
Tensor hardshrink(const Operand& self, const Scalar& lambd = 0.5);
Tensor softshrink(const Operand& self, const Scalar& lambd = 0.5);
Tensor threshold(const Operand& self, const Scalar& threshold, const Scalar& value);

// --- shape: views where PyTorch makes views
Tensor reshape(const Operand& self, IntArrayRef shape);  // view where strides allow, else a copy
Tensor view(const Operand& self, IntArrayRef shape);  // view, or an Error
Tensor flatten(const Operand& self, int64_t start_dim = 0, int64_t end_dim = -1);
Tensor unflatten(const Operand& self, int64_t dim, IntArrayRef sizes);
Tensor ravel(const Operand& self);
Tensor permute(const Operand& self, IntArrayRef dims);
Tensor transpose(const Operand& self, int64_t dim0, int64_t dim1);
Tensor swapaxes(const Operand& self, int64_t axis0, int64_t axis1);
Tensor t(const Operand& self);
Tensor movedim(const Operand& self, IntArrayRef source, IntArrayRef destination);
Tensor expand(const Operand& self, IntArrayRef size);
Tensor broadcast_to(const Operand& self, IntArrayRef size);
std::vector<Tensor> broadcast_tensors(TensorList tensors);
Tensor squeeze(const Operand& self);
Tensor squeeze(const Operand& self, int64_t dim);
Tensor squeeze(const Operand& self, IntArrayRef dims);
Tensor unsqueeze(const Operand& self, int64_t dim);
Tensor select(const Operand& self, int64_t dim, int64_t index);
Tensor slice(const Operand& self, int64_t dim = 0, optional<int64_t> start = nullopt,
             optional<int64_t> end = nullopt, int64_t step = 1);
Tensor narrow(const Operand& self, int64_t dim, int64_t start, int64_t length);
// A view if all indices are integers, slices, None and "..."; with tensors among them a copy of what they select.
Tensor index(const Operand& self, ArrayRef<indexing::TensorIndex> indices);
std::vector<Tensor> chunk(const Operand& self, int64_t chunks, int64_t dim = 0);
std::vector<Tensor> split(const Operand& self, int64_t split_size, int64_t dim = 0);
std::vector<Tensor> split(const Operand& self, IntArrayRef split_sizes, int64_t dim = 0);
std::vector<Tensor> split_with_sizes(const Operand& self, IntArrayRef split_sizes, int64_t dim = 0);
std::vector<Tensor> unbind(const Operand& self, int64_t dim = 0);

// --- shape: new tensors
Tensor clone(const Operand& self);
Tensor flip(const Operand& self, IntArrayRef dims);
Tensor fliplr(const Operand& self);
Tensor flipud(const Operand& self);
Tensor roll(const Operand& self, IntArrayRef shifts, IntArrayRef dims = {});
Tensor tile(const Operand& self, IntArrayRef dims);
Tensor cat(TensorList tensors, int64_t dim = 0);
Tensor concat(TensorList tensors, int64_t dim = 0);
Tensor stack(TensorList tensors, int64_t dim = 0);
Tensor vstack(TensorList tensors);
Tensor hstack(TensorList tensors);
Tensor dstack(TensorList tensors);
Tensor atleast_1d(const Tensor& self);
Tensor atleast_2d(const Tensor& self);
Tensor atleast_3d(const Tensor& self);
// Constant padding; `pad` is (before, after) pairs from the last dim backwards, negative to crop.
Tensor constant_pad_nd(const Operand& self, IntArrayRef pad, const Scalar& value = 0);

// --- reductions
// Without dims: over all of them, to a 0-dim tensor. keepdim leaves size 1.
Tensor sum(const Operand& self, optional<ScalarType> dtype = nullopt);
Tensor sum(const Operand& self, OptionalIntArrayRef dim, bool keepdim = false,
           optional<ScalarType> dtype = nullopt);
Tensor nansum(const Operand& self, OptionalIntArrayRef dim = nullopt, bool keepdim = false,
              optional<ScalarType> dtype = nullopt);
Tensor prod(const Operand& self, optional<ScalarType> dtype = nullopt);
Tensor prod(const Operand& self, int64_t dim, bool keepdim = false, optional<ScalarType> dtype = nullopt);
Tensor mean(const Operand& self, optional<ScalarType> dtype = nullopt);
Tensor mean(const Operand& self, OptionalIntArrayRef dim, bool keepdim = false,
            optional<ScalarType> dtype = nullopt);
Tensor var(const Operand& self, bool unbiased = true);
Tensor var(const Operand& self, OptionalIntArrayRef dim, bool unbiased = true, bool keepdim = false);
Tensor var(const Operand& self, OptionalIntArrayRef dim, const optional<Scalar>& correction,
           bool keepdim = false);
Tensor std(const Operand& self, bool unbiased = true);
Tensor std(const Operand& self, OptionalIntArrayRef dim, bool unbiased = true, bool keepdim = false);
Tensor std(const Operand& self, OptionalIntArrayRef dim, const optional<Scalar>& correction,
           bool keepdim = false);
std::tuple<Tensor, Tensor> var_mean(const Operand& self, bool unbiased = true);
std::tuple<Tensor, Tensor> var_mean(const Operand& self, OptionalIntArrayRef dim, bool unbiased = true,
                                    bool keepdim = false);
std::tuple<Tensor, Tensor> std_mean(const Operand& self, bool unbiased = true);
std::tuple<Tensor, Tensor> std_mean(const Operand& self, OptionalIntArrayRef dim, bool unbiased = true,
                                    bool keepdim = false);
// Braces are dims: without these, {1} would be unbiased = true.
Tensor var(const Operand& self, DimList dim, bool unbiased = true, bool keepdim = false);
Tensor std(const Operand& self, DimList dim, bool unbiased = true, bool keepdim = false);
std::tuple<Tensor, Tensor> var_mean(const Operand& self, DimList dim, bool unbiased = true,
                                    bool keepdim = false);
std::tuple<Tensor, Tensor> std_mean(const Operand& self, DimList dim, bool unbiased = true,
                                    bool keepdim = false);
// A number is a dim: without these it would be `unbiased`.
Tensor var(const Operand& self, int dim);
Tensor var(const Operand& self, int64_t dim);
Tensor std(const Operand& self, int dim);
Tensor std(const Operand& self, int64_t dim);
std::tuple<Tensor, Tensor> var_mean(const Operand& self, int dim);
std::tuple<Tensor, Tensor> var_mean(const Operand& self, int64_t dim);
std::tuple<Tensor, Tensor> std_mean(const Operand& self, int dim);
std::tuple<Tensor, Tensor> std_mean(const Operand& self, int64_t dim);
Tensor max(const Operand& self);
Tensor max(const Operand& self, const Operand& other);  // elementwise
std::tuple<Tensor, Tensor> max(const Operand& self, int64_t dim, bool keepdim = false);  // values, first indices
Tensor min(const Operand& self);
Tensor min(const Operand& self, const Operand& other);
std::tuple<Tensor, Tensor> min(const Operand& self, int64_t dim, bool keepdim = false);
Tensor amax(const Operand& self, IntArrayRef dim = {}, bool keepdim = false);
Tensor amin(const Operand& self, IntArrayRef dim = {}, bool keepdim = false);
std::tuple<Tensor, Tensor> aminmax(const Operand& self, optional<int64_t> dim = nullopt,
                                   bool keepdim = false);
Tensor argmax(const Operand& self, optional<int64_t> dim = nullopt, bool keepdim = false);
Tensor argmin(const Operand& self, optional<int64_t> dim = nullopt, bool keepdim = false);
Tensor any(const Operand& self);
Tensor any(const Operand& self, int64_t dim, bool keepdim = false);
Tensor all(const Operand& self);
Tensor all(const Operand& self, int64_t dim, bool keepdim = false);
Tensor norm(const Operand& self, const Scalar& p = 2);
Tensor norm(const Operand& self, const optional<Scalar>& p, IntArrayRef dim, bool keepdim = false);
Tensor logsumexp(const Operand& self, IntArrayRef dim, bool keepdim = false);
Tensor count_nonzero(const Operand& self, IntArrayRef dim = {});
Tensor softmax(const Operand& self, int64_t dim, optional<ScalarType> dtype = nullopt);
Tensor log_softmax(const Operand& self, int64_t dim, optional<ScalarType> dtype = nullopt);

// --- matrix products
Tensor matmul(const Operand& self, const Operand& other);  // any ranks >= 1; batch dims broadcast
Tensor mm(const Operand& self, const Operand& mat2);
Tensor mv(const Operand& self, const Operand& vec);
Tensor bmm(const Operand& self, const Operand& mat2);
Tensor dot(const Operand& self, const Operand& tensor);
Tensor outer(const Operand& self, const Operand& vec2);
Tensor addmm(const Operand& self, const Operand& mat1, const Operand& mat2, const Scalar& beta = 1,
             const Scalar& alpha = 1);
Tensor addmv(const Operand& self, const Operand& mat, const Operand& vec, const Scalar& beta = 1,
             const Scalar& alpha = 1);
Tensor baddbmm(const Operand& self, const Operand& batch1, const Operand& batch2, const Scalar& beta = 1,
               const Scalar& alpha = 1);

// --- comparing whole tensors: these evaluate
bool equal(const Operand& self, const Operand& other);
bool allclose(const Operand& self, const Operand& other, double rtol = 1e-05, double atol = 1e-08,
              bool equal_nan = false);
Tensor isclose(const Operand& self, const Operand& other, double rtol = 1e-05, double atol = 1e-08,
               bool equal_nan = false);

// The type that an operation on these would have.
ScalarType result_type(const Operand& tensor, const Operand& other);
ScalarType result_type(const Operand& tensor, const Scalar& other);

}  // namespace tenon
