// Results into a tensor that is there: name_out(out, operands...). `out` takes the result's shape (an out of
// another shape is resized) and keeps its dtype, to which the result's type must be castable. Error if out or
// the result requires grad.
#pragma once

#include "tenon/algebra.h"
#include "tenon/creation.h"
#include "tenon/tensor.h"

namespace tenon {

#define TENON_DECLARE(name) Tensor& name##_out(Tensor& out, const Operand& self);
TENON_UNARY_OPS(TENON_DECLARE)
#undef TENON_DECLARE
#define TENON_DECLARE(name) Tensor& name##_out(Tensor& out, const Operand& self, const Operand& other);
TENON_BINARY_TENSOR_OPS(TENON_DECLARE)
TENON_BINARY_OPS(TENON_DECLARE)
TENON_DECLARE(matmul)
TENON_DECLARE(div)
TENON_DECLARE(pow)
TENON_DECLARE(mm)
TENON_DECLARE(mv)
TENON_DECLARE(bmm)
TENON_DECLARE(dot)
TENON_DECLARE(outer)
#undef TENON_DECLARE
#define TENON_DECLARE(name) Tensor& name##_out(Tensor& out, const Operand& self, const Scalar& other);
TENON_BINARY_OPS(TENON_DECLARE)
TENON_DECLARE(pow)
#undef TENON_DECLARE

Tensor& add_out(Tensor& out, const Operand& self, const Operand& other, const Scalar& alpha = 1);
Tensor& sub_out(Tensor& out, const Operand& self, const Operand& other, const Scalar& alpha = 1);
Tensor& addmm_out(Tensor& out, const Operand& self, const Operand& mat1, const Operand& mat2,
                  const Scalar& beta = 1, const Scalar& alpha = 1);
Tensor& clamp_out(Tensor& out, const Operand& self, const optional<Scalar>& min,
                  const optional<Scalar>& max = nullopt);
Tensor& where_out(Tensor& out, const Operand& condition, const Operand& self, const Operand& other);
Tensor& sum_out(Tensor& out, const Operand& self, OptionalIntArrayRef dim, bool keepdim = false,
                optional<ScalarType> dtype = nullopt);
Tensor& mean_out(Tensor& out, const Operand& self, OptionalIntArrayRef dim, bool keepdim = false,
                 optional<ScalarType> dtype = nullopt);
Tensor& argmax_out(Tensor& out, const Operand& self, optional<int64_t> dim = nullopt, bool keepdim = false);
Tensor& argmin_out(Tensor& out, const Operand& self, optional<int64_t> dim = nullopt, bool keepdim = false);
Tensor& cumsum_out(Tensor& out, const Operand& self, int64_t dim, optional<ScalarType> dtype = nullopt);
Tensor& cat_out(Tensor& out, TensorList tensors, int64_t dim = 0);
Tensor& stack_out(Tensor& out, TensorList tensors, int64_t dim = 0);
Tensor& index_select_out(Tensor& out, const Operand& self, int64_t dim, const Operand& index);
Tensor& gather_out(Tensor& out, const Operand& self, int64_t dim, const Operand& index);
Tensor& arange_out(Tensor& out, const Scalar& start, const Scalar& end, const Scalar& step = 1);
Tensor& zeros_out(Tensor& out, IntArrayRef size);
Tensor& ones_out(Tensor& out, IntArrayRef size);
Tensor& full_out(Tensor& out, IntArrayRef size, const Scalar& fill_value);

}  // namespace tenon
