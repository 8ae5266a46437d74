// Formulas (ir/graph/expr.h) over tensors and PyTorch's numbers: their operands, what they are computed in, their results.
#pragma once

#include "frontend/src/tensor/impl.h"
#include "ir/graph/expr.h"

namespace tenon {

using ir::Expr;

inline Expr number(const Expr& like, const Scalar& value) {  // an Error if it does not fit
  return constant_like(like, element_of(value, scalar_type(like.dtype())));
}
// The number as `type` rounds it, in the dtype of `like`.
inline Expr rounded_number(const Expr& like, const Scalar& value, ScalarType type) {
  return constant_like(like, ir::cast(element_of(value, type), like.dtype()));
}
// A bound of clamp. One on integers may lie outside their range where it excludes nothing; if it excludes
// all, that is an Error.
enum class Bound : uint8_t { Min, Max };
Expr bound_number(const Expr& like, const Scalar& value, Bound which);

// x * y + z, of floats rounded once.
Expr multiply_add(const Expr& x, const Expr& y, const Expr& z);

// log(1 / (1 + exp(-x))) by branches, which have the gradient's gradient at 0 too.
inline Expr log_sigmoid(const Expr& x) {
  const Expr negative = x < 0.0;
  return select(negative, x, number(x, 0.0)) - log1p(exp(select(negative, x, -x)));
}

// The values over `shape`: size-1 dims repeated, dims added in front.
NodeRef broadcast(const NodeRef& node, IntArrayRef shape);
inline Expr broadcast(const Expr& x, IntArrayRef shape) { return {broadcast(x.node, shape)}; }
inline Expr broadcast(const Expr& x, const Dims& shape) { return broadcast(x, ref(shape)); }

// What a formula is computed in: PyTorch computes the 16-bit floats in float32 and rounds once at the end.
constexpr DType formula_type(DType t) { return ir::is_half(t) ? DType::F32 : t; }

// The tensor's elements as `type`, whose formulas are computed in formula_type.
Expr operand(const Tensor& tensor, ScalarType type);
Expr formula_operand(const Tensor& tensor, ScalarType type);
template <typename... Operands>
Tensor record_as(Expr x, ScalarType type, const Operands&... operands) {
  return record(ir::cast(std::move(x.node), ir_type(type)), operands...);
}

// f over the elements of one tensor. Float formulas turn integers into the default float type.
template <typename F>
Tensor map_formula(const Tensor& x, ScalarType type, F f) {
  return record_as(f(formula_operand(x, type)), type, x);
}

// Common shape of operands that broadcast, or PyTorch's Error about the first dim from the end that does not
// fit.
Dims broadcast_shape(IntArrayRef a, IntArrayRef b);
// Error, unless one of them is a number (0-dim) of the host, which `operand` moves to the call's device.
void check_same_device(const Tensor& a, const Tensor& b);
// Which operands of a difference are bools: none may be.
void refuse_bool_difference(bool a, bool b);

}  // namespace tenon
