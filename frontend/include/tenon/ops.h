// Operations as functions, with LibTorch's names, argument order and defaults. Each checks its operands at
// once and throws at the call that is wrong; it computes nothing until a value is needed. Shapes broadcast as
// in PyTorch, types promote as in PyTorch; results are new tensors except where a comment says "view":
// row-major, but elementwise ones have the order of dims in memory that their operands have.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "tenon/array_ref.h"
#include "tenon/op_list.h"
#include "tenon/types.h"

namespace tenon {

class Tensor;
namespace indexing {
class TensorIndex;
}
using TensorList = ArrayRef<Tensor>;

// --- elementwise
#define TENON_DECLARE(name) Tensor name(const Tensor& self);
TENON_UNARY_OPS(TENON_DECLARE)
TENON_ACTIVATIONS(TENON_DECLARE)
#undef TENON_DECLARE
#define TENON_DECLARE(name) Tensor name(const Tensor& self, const Tensor& other);
TENON_BINARY_TENSOR_OPS(TENON_DECLARE)
TENON_BINARY_OPS(TENON_DECLARE)
#undef TENON_DECLARE
#define TENON_DECLARE(name) Tensor name(const Tensor& self, const Scalar& other);
TENON_BINARY_OPS(TENON_DECLARE)
#undef TENON_DECLARE

Tensor round(const Tensor& self, int64_t decimals);
Tensor add(const Tensor& self, const Tensor& other, const Scalar& alpha = 1);  // self + alpha * other
Tensor add(const Tensor& self, const Scalar& other, const Scalar& alpha = 1);
Tensor sub(const Tensor& self, const Tensor& other, const Scalar& alpha = 1);  // self - alpha * other
Tensor sub(const Tensor& self, const Scalar& other, const Scalar& alpha = 1);
Tensor rsub(const Tensor& self, const Scalar& other, const Scalar& alpha = 1);  // other - alpha * self
Tensor div(const Tensor& self, const Tensor& other);                            // true division
Tensor div(const Tensor& self, const Scalar& other);
Tensor div(const Tensor& self, const Tensor& other,
           optional<std::string_view> rounding_mode);  // "trunc", "floor"
Tensor div(const Tensor& self, const Scalar& other, optional<std::string_view> rounding_mode);
Tensor pow(const Tensor& self, const Tensor& exponent);
Tensor pow(const Tensor& self, const Scalar& exponent);
Tensor pow(const Scalar& self, const Tensor& exponent);
Tensor float_power(const Tensor& self, const Tensor& exponent);  // in double
Tensor float_power(const Tensor& self, const Scalar& exponent);

Tensor where(const Tensor& condition, const Tensor& self, const Tensor& other);
Tensor where(const Tensor& condition, const Scalar& self, const Tensor& other);
Tensor where(const Tensor& condition, const Tensor& self, const Scalar& other);
Tensor where(const Tensor& condition, const Scalar& self, const Scalar& other);
Tensor masked_fill(const Tensor& self, const Tensor& mask, const Scalar& value);
Tensor masked_fill(const Tensor& self, const Tensor& mask, const Tensor& value);  // value: 0-dim
Tensor clamp(const Tensor& self, const optional<Scalar>& min, const optional<Scalar>& max = nullopt);
Tensor clamp(const Tensor& self, const optional<Tensor>& min, const optional<Tensor>& max);
Tensor clamp_min(const Tensor& self, const Scalar& min);
Tensor clamp_min(const Tensor& self, const Tensor& min);
Tensor clamp_max(const Tensor& self, const Scalar& max);
Tensor clamp_max(const Tensor& self, const Tensor& max);
Tensor lerp(const Tensor& self, const Tensor& end, const Scalar& weight);
Tensor lerp(const Tensor& self, const Tensor& end, const Tensor& weight);
Tensor addcmul(const Tensor& self, const Tensor& tensor1, const Tensor& tensor2, const Scalar& value = 1);
Tensor addcdiv(const Tensor& self, const Tensor& tensor1, const Tensor& tensor2, const Scalar& value = 1);
Tensor nan_to_num(const Tensor& self, optional<double> nan = nullopt, optional<double> posinf = nullopt,
                  optional<double> neginf = nullopt);
Tensor logit(const Tensor& self, optional<double> eps = nullopt);

Tensor leaky_relu(const Tensor& self, const Scalar& negative_slope = 0.01);
Tensor elu(const Tensor& self, const Scalar& alpha = 1, const Scalar& scale = 1,
           const Scalar& input_scale = 1);
Tensor celu(const Tensor& self, const Scalar& alpha = 1.0);
Tensor gelu(const Tensor& self, std::string_view approximate = "none");  // or "tanh"
Tensor softplus(const Tensor& self, const Scalar& beta = 1, const Scalar& threshold = 20);
Tensor hardtanh(const Tensor& self, const Scalar& min_val = -1, const Scalar& max_val = 1);
Tensor hardshrink(const Tensor& self, const Scalar& lambd = 0.5);
Tensor softshrink(const Tensor& self, const Scalar& lambd = 0.5);
Tensor threshold(const Tensor& self, const Scalar& threshold, const Scalar& value);

// --- shape: views where PyTorch makes views
Tensor reshape(const Tensor& self, IntArrayRef shape);  // view where strides allow, else a copy
Tensor view(const Tensor& self, IntArrayRef shape);     // view, or an Error
Tensor flatten(const Tensor& self, int64_t start_dim = 0, int64_t end_dim = -1);
Tensor unflatten(const Tensor& self, int64_t dim, IntArrayRef sizes);
Tensor ravel(const Tensor& self);
Tensor permute(const Tensor& self, IntArrayRef dims);
Tensor transpose(const Tensor& self, int64_t dim0, int64_t dim1);
Tensor swapaxes(const Tensor& self, int64_t axis0, int64_t axis1);
Tensor t(const Tensor& self);
Tensor movedim(const Tensor& self, IntArrayRef source, IntArrayRef destination);
Tensor expand(const Tensor& self, IntArrayRef size);
Tensor broadcast_to(const Tensor& self, IntArrayRef size);
std::vector<Tensor> broadcast_tensors(TensorList tensors);
Tensor squeeze(const Tensor& self);
Tensor squeeze(const Tensor& self, int64_t dim);
Tensor squeeze(const Tensor& self, IntArrayRef dims);
Tensor unsqueeze(const Tensor& self, int64_t dim);
Tensor select(const Tensor& self, int64_t dim, int64_t index);
Tensor slice(const Tensor& self, int64_t dim = 0, optional<int64_t> start = nullopt,
             optional<int64_t> end = nullopt, int64_t step = 1);
Tensor narrow(const Tensor& self, int64_t dim, int64_t start, int64_t length);
// A view if all indices are integers, slices, None and "..."; with tensors among them a copy of what they select.
Tensor index(const Tensor& self, ArrayRef<indexing::TensorIndex> indices);
std::vector<Tensor> chunk(const Tensor& self, int64_t chunks, int64_t dim = 0);
std::vector<Tensor> split(const Tensor& self, int64_t split_size, int64_t dim = 0);
std::vector<Tensor> split(const Tensor& self, IntArrayRef split_sizes, int64_t dim = 0);
std::vector<Tensor> split_with_sizes(const Tensor& self, IntArrayRef split_sizes, int64_t dim = 0);
std::vector<Tensor> unbind(const Tensor& self, int64_t dim = 0);

// --- shape: new tensors
Tensor clone(const Tensor& self);
Tensor flip(const Tensor& self, IntArrayRef dims);
Tensor fliplr(const Tensor& self);
Tensor flipud(const Tensor& self);
Tensor roll(const Tensor& self, IntArrayRef shifts, IntArrayRef dims = {});
Tensor tile(const Tensor& self, IntArrayRef dims);
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
Tensor constant_pad_nd(const Tensor& self, IntArrayRef pad, const Scalar& value = 0);

// --- reductions
// Without dims: over all of them, to a 0-dim tensor. keepdim leaves size 1.
Tensor sum(const Tensor& self, optional<ScalarType> dtype = nullopt);
Tensor sum(const Tensor& self, OptionalIntArrayRef dim, bool keepdim = false,
           optional<ScalarType> dtype = nullopt);
Tensor nansum(const Tensor& self, OptionalIntArrayRef dim = nullopt, bool keepdim = false,
              optional<ScalarType> dtype = nullopt);
Tensor prod(const Tensor& self, optional<ScalarType> dtype = nullopt);
Tensor prod(const Tensor& self, int64_t dim, bool keepdim = false, optional<ScalarType> dtype = nullopt);
Tensor mean(const Tensor& self, optional<ScalarType> dtype = nullopt);
Tensor mean(const Tensor& self, OptionalIntArrayRef dim, bool keepdim = false,
            optional<ScalarType> dtype = nullopt);
Tensor var(const Tensor& self, bool unbiased = true);
Tensor var(const Tensor& self, OptionalIntArrayRef dim, bool unbiased = true, bool keepdim = false);
Tensor var(const Tensor& self, OptionalIntArrayRef dim, optional<Scalar> correction, bool keepdim = false);
Tensor std(const Tensor& self, bool unbiased = true);
Tensor std(const Tensor& self, OptionalIntArrayRef dim, bool unbiased = true, bool keepdim = false);
Tensor std(const Tensor& self, OptionalIntArrayRef dim, optional<Scalar> correction, bool keepdim = false);
std::tuple<Tensor, Tensor> var_mean(const Tensor& self, bool unbiased = true);
std::tuple<Tensor, Tensor> var_mean(const Tensor& self, OptionalIntArrayRef dim, bool unbiased = true,
                                    bool keepdim = false);
std::tuple<Tensor, Tensor> std_mean(const Tensor& self, bool unbiased = true);
std::tuple<Tensor, Tensor> std_mean(const Tensor& self, OptionalIntArrayRef dim, bool unbiased = true,
                                    bool keepdim = false);
// Braces are dims: without these, {1} would be unbiased = true.
using DimList = std::initializer_list<int64_t>;
Tensor var(const Tensor& self, DimList dim, bool unbiased = true, bool keepdim = false);
Tensor std(const Tensor& self, DimList dim, bool unbiased = true, bool keepdim = false);
std::tuple<Tensor, Tensor> var_mean(const Tensor& self, DimList dim, bool unbiased = true,
                                    bool keepdim = false);
std::tuple<Tensor, Tensor> std_mean(const Tensor& self, DimList dim, bool unbiased = true,
                                    bool keepdim = false);
template <typename T>
requires(std::is_integral_v<T> && !std::is_same_v<T, bool>) Tensor var(const Tensor& self, T)
= delete;  // a dim, or unbiased? LibTorch takes var(x, 0) as unbiased = false
template <typename T>
requires(std::is_integral_v<T> && !std::is_same_v<T, bool>) Tensor std(const Tensor& self, T)
= delete;
Tensor max(const Tensor& self);
Tensor max(const Tensor& self, const Tensor& other);  // elementwise
std::tuple<Tensor, Tensor> max(const Tensor& self, int64_t dim,
                               bool keepdim = false);  // values, first indices
Tensor min(const Tensor& self);
Tensor min(const Tensor& self, const Tensor& other);
std::tuple<Tensor, Tensor> min(const Tensor& self, int64_t dim, bool keepdim = false);
Tensor amax(const Tensor& self, IntArrayRef dim = {}, bool keepdim = false);
Tensor amin(const Tensor& self, IntArrayRef dim = {}, bool keepdim = false);
std::tuple<Tensor, Tensor> aminmax(const Tensor& self, optional<int64_t> dim = nullopt, bool keepdim = false);
Tensor argmax(const Tensor& self, optional<int64_t> dim = nullopt, bool keepdim = false);
Tensor argmin(const Tensor& self, optional<int64_t> dim = nullopt, bool keepdim = false);
Tensor any(const Tensor& self);
Tensor any(const Tensor& self, int64_t dim, bool keepdim = false);
Tensor all(const Tensor& self);
Tensor all(const Tensor& self, int64_t dim, bool keepdim = false);
Tensor norm(const Tensor& self, const Scalar& p = 2);
Tensor norm(const Tensor& self, const optional<Scalar>& p, IntArrayRef dim, bool keepdim = false);
Tensor logsumexp(const Tensor& self, IntArrayRef dim, bool keepdim = false);
Tensor count_nonzero(const Tensor& self, IntArrayRef dim = {});
Tensor softmax(const Tensor& self, int64_t dim, optional<ScalarType> dtype = nullopt);
Tensor log_softmax(const Tensor& self, int64_t dim, optional<ScalarType> dtype = nullopt);

// --- matrix products
Tensor matmul(const Tensor& self, const Tensor& other);  // any ranks >= 1; batch dims broadcast
Tensor mm(const Tensor& self, const Tensor& mat2);
Tensor mv(const Tensor& self, const Tensor& vec);
Tensor bmm(const Tensor& self, const Tensor& mat2);
Tensor dot(const Tensor& self, const Tensor& tensor);
Tensor outer(const Tensor& self, const Tensor& vec2);
Tensor addmm(const Tensor& self, const Tensor& mat1, const Tensor& mat2, const Scalar& beta = 1,
             const Scalar& alpha = 1);
Tensor addmv(const Tensor& self, const Tensor& mat, const Tensor& vec, const Scalar& beta = 1,
             const Scalar& alpha = 1);
Tensor baddbmm(const Tensor& self, const Tensor& batch1, const Tensor& batch2, const Scalar& beta = 1,
               const Scalar& alpha = 1);

// --- comparing whole tensors: these evaluate
bool equal(const Tensor& self, const Tensor& other);
bool allclose(const Tensor& self, const Tensor& other, double rtol = 1e-05, double atol = 1e-08,
              bool equal_nan = false);
Tensor isclose(const Tensor& self, const Tensor& other, double rtol = 1e-05, double atol = 1e-08,
               bool equal_nan = false);

// The type that an operation on these would have.
ScalarType result_type(const Tensor& tensor, const Tensor& other);
ScalarType result_type(const Tensor& tensor, const Scalar& other);

}  // namespace tenon
