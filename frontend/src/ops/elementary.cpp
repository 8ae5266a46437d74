// Elementwise functions beside those of ops.h.
#include "tenon/elementary.h"

#include <cmath>
#include <limits>
#include <numbers>

#include "frontend/src/autograd/grad.h"
#include "frontend/src/tensor/expr.h"
#include "frontend/src/tensor/promote.h"
#include "frontend/src/tensor/text.h"
#include "tenon/creation.h"

namespace tenon {
namespace {

using ir::kInfinity;

// The bits of a float as an integer of its size, and back.
DType bits_type(DType type) {
  const int64_t size = ir::item_size(type);
  return size == 2 ? DType::I16 : size == 4 ? DType::I32 : DType::I64;
}
Expr retype(const Expr& x, DType type) { return {ir::make_node(Op::Bitcast, {&x.node, 1}, {}, type)}; }
Expr whole(const Expr& like, int64_t value) { return number(like, Scalar(value)); }
Expr shift_right(const Expr& x, int64_t count) { return apply(Op::Shr, x, whole(x, count)); }

// Two tensors of one type over their common shape.
struct Operands {
  Expr a, b;
};
Operands same_type_operands(const Tensor& a, const Tensor& b, ScalarType type) {
  check_same_device(a, b);
  const Dims shape = broadcast_shape(a.sizes(), b.sizes());
  return {broadcast(operand(a, type), ref(shape)), broadcast(operand(b, type), ref(shape))};
}

}  // namespace

// --- other names

ScalarType result_type(const Scalar& scalar, const Operand& tensor) { return promoted(scalar, tensor); }
ScalarType result_type(const Scalar& scalar1, const Scalar& scalar2) { return promoted(scalar1, scalar2); }
Tensor conj_physical(const Operand& x) { return x; }
Tensor isreal(const Operand& x) { return ones_like(x, kBool); }

// --- a number first

Tensor rsub(const Operand& self, const Operand& other, const Scalar& alpha) {
  GradScope scope("RsubBackward0", self, other);
  return sub(other, self, alpha);
}
Tensor float_power(const Scalar& self, const Operand& exponent) { return pow(Scalar(self.toDouble()), exponent.to(kDouble)); }
Tensor remainder(const Scalar& self, const Operand& other) { return self % other; }
#define TENON_NUMBER_FIRST(name) \
  Tensor name(const Scalar& self, const Operand& other) { return name(number_operand(self, other), other); }
TENON_NUMBER_FIRST(bitwise_and)
TENON_NUMBER_FIRST(bitwise_or)
TENON_NUMBER_FIRST(bitwise_xor)
TENON_NUMBER_FIRST(bitwise_left_shift)
TENON_NUMBER_FIRST(bitwise_right_shift)
#undef TENON_NUMBER_FIRST

// --- questions

namespace {
Tensor is_infinity(const Tensor& x, double infinity) {
  if (!x.is_floating_point()) return zeros_like(x, kBool);
  return record((Expr{node_of(x)} == infinity).node, x);
}
}  // namespace
Tensor isposinf(const Operand& x) { return is_infinity(x, kInfinity); }
Tensor isneginf(const Operand& x) { return is_infinity(x, -kInfinity); }

Tensor angle(const Operand& x) {
  GradScope scope("AngleBackward0", x);
  scope.rule(kReadsNothing, [](GradCall& c) { c.give(0, zeros_like(c.grad())); });
  return map_formula(x, float_type(x.scalar_type()),
                     [](const Expr& v) { return select(v != v, v, select(v < 0.0, number(v, std::numbers::pi), number(v, 0.0))); });
}

// --- divisors and multiples of integers

namespace {
Operands integer_operands(const Tensor& a, const Tensor& b, const char* kernel) {
  const ScalarType type = promoted(a, b);
  check(isIntegralType(type, false), '"', kernel, "\" not implemented for '", type, "'");
  return same_type_operands(a, b, type);
}
}  // namespace
Tensor gcd(const Operand& a, const Operand& b) {
  const CallScope call("gcd", a, b);
  const auto [x, y] = integer_operands(a, b, "gcd_cpu");
  return record(apply(Op::Gcd, x, y).node, a, b);
}
Tensor lcm(const Operand& a, const Operand& b) {
  const CallScope call("lcm", a, b);
  const auto [x, y] = integer_operands(a, b, "lcm_cpu");
  return record(abs(x / apply(Op::Gcd, x, y) * y).node, a, b);
}

// --- steps and parts of floats

Tensor heaviside(const Operand& x, const Operand& values) {
  GradScope scope("NotImplemented", x, values);
  scope.no_derivative("heaviside");
  check(x.scalar_type() == values.scalar_type(), "heaviside is not yet implemented for tensors with different dtypes.");
  const auto [v, at_zero] = same_type_operands(x, values, x.scalar_type());
  const Expr positive = cast(v > number(v, Scalar(0)), v.dtype());
  return record(select(v == number(v, Scalar(0)), at_zero, positive).node, x, values);
}

// The neighbour of x in the direction of y: one more or less in its bits, which are ordered like its
// magnitude.
Tensor nextafter(const Operand& x, const Operand& y) {
  GradScope scope("NextafterBackward0", x, y);
  scope.rule(reads_operand(0) | reads_operand(1), [](GradCall& c) {
    const Tensor x = c.operand(0), y = c.operand(1);
    c.give(0, gradient_for(x, where(x == y, 0, c.grad())));
    c.give(1, zeros_like(y));
  });
  const ScalarType type = promoted(x, y);
  check(isFloatingType(type), "\"nextafter_cpu\" not implemented for '", type, "'");
  const auto [from, to] = same_type_operands(x, y, type);
  const Expr bits = retype(from, bits_type(from.dtype()));
  const Expr zero = number(from, 0.0), one = whole(bits, 1);
  const Expr grows = (from < to) == (from > zero);
  const Expr moved = retype(select(grows, bits + one, bits - one), from.dtype());
  const Expr smallest = copysign(retype(one, from.dtype()), to);
  const Expr next = select(from == zero, smallest, moved);
  const Expr unordered = (from != from) | (to != to);
  return record(select(unordered, number(from, std::numeric_limits<double>::quiet_NaN()), select(from == to, to, next)).node, x, y);
}

Tensor ldexp(const Operand& x, const Operand& other) {
  GradScope scope("LdexpBackward0", x, other);
  scope.saves((requires_grad(x) ? reads_operand(1) : 0) | kReadsOutput);
  return mul(x, pow(Scalar(2.0), other));
}

std::tuple<Tensor, Tensor> frexp(const Operand& x) {
  GradScope scope("FrexpBackward0", x);
  scope.rule(reads_operand(0),
             [](GradCall& c) { c.give(0, c.grad() / exp2(std::get<1>(frexp(c.operand(0))).to(c.grad().scalar_type()))); });
  scope.saves(kReadsIndices);
  check(x.is_floating_point(), "torch.frexp() only supports floating-point dtypes");
  const Expr v = formula_operand(x, x.scalar_type());
  const bool single = v.dtype() == DType::F32;
  const int64_t mantissa_bits = single ? 23 : 52, bias = single ? 127 : 1023;
  const int64_t exponent_mask = 2 * bias + 1;
  // Subnormal numbers are scaled up first; then the exponent is replaced by that of [0.5, 1).
  const Expr tiny = abs(v) < (single ? 0x1p-126 : 0x1p-1022);
  const Expr bits = retype(select(tiny, v * (single ? 0x1p64 : 0x1p256), v), bits_type(v.dtype()));
  const Expr biased = shift_right(bits, mantissa_bits) & whole(bits, exponent_mask);
  const Expr kept = bits & whole(bits, ~(exponent_mask << mantissa_bits));
  const Expr half = retype(kept | whole(bits, (bias - 1) << mantissa_bits), v.dtype());
  const Expr scaled_up = select(tiny, whole(bits, single ? 64 : 256), whole(bits, 0));
  const Expr itself = (v == number(v, 0.0)) | (biased == whole(bits, exponent_mask));
  const Expr exponent = select(itself, whole(bits, 0), biased - whole(bits, bias - 1) - scaled_up);
  return {record_as(select(itself, v, half), x.scalar_type(), x), record_as(exponent, kInt, x)};
}

// --- bounds on norms

Tensor renorm(const Operand& x, const Scalar& p, int64_t dim, const Scalar& maxnorm) {
  GradScope scope("RenormBackward0", x);
  check(p.toDouble() > 0, "renorm: non-positive-norm not supported");
  check(maxnorm.toDouble() >= 0, "renorm: expected maxnorm to be >= 0 but got ", maxnorm.toDouble());
  check(x.dim() > 1, "renorm: input needs at least 2 dimensions, got ", x.dim(), " dimensions");
  check(x.is_floating_point(), "linalg.vector_norm: Expected a floating point or complex tensor as input. Got ", x.scalar_type());
  dim = wrap_dim(dim, x.dim());
  Dims others;
  for (int64_t d = 0; d < x.dim(); ++d) {
    if (d != dim) others.push_back(d);
  }
  const Tensor norms = norm(x.to(scalar_type(formula_type(ir_type(x.scalar_type())))), p, ref(others), true);
  const Tensor factor = where(gt(norms, maxnorm), maxnorm / add(norms, 1e-7), ones_like(norms));
  return mul(x, factor).to(x.scalar_type());
}

Tensor norm_except_dim(const Operand& v, int64_t pow, int64_t dim) {
  check<NotImplementedError>(v.is_floating_point(), "norm(): input dtype should be either floating point or complex. Got ", v.scalar_type(),
                             " instead.");
  if (dim == -1) return norm(v, pow);
  dim = wrap_dim(dim, v.dim());
  Dims others;
  for (int64_t d = 0; d < v.dim(); ++d) {
    if (d != dim) others.push_back(d);
  }
  return norm(v, Scalar(pow), ref(others), true);
}

}  // namespace tenon
