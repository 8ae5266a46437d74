// Elementwise functions of two and three operands: arithmetic, comparisons, logic, bits, closeness.
#include <cmath>
#include <cstring>

#include "frontend/src/autograd/grad.h"
#include "frontend/src/autograd/replayed_call.h"
#include "frontend/src/ops/elementwise.h"
#include "frontend/src/tensor/expr.h"
#include "frontend/src/tensor/promote.h"
#include "frontend/src/tensor/text.h"
#include "frontend/src/views/index_check.h"
#include "runtime/memory/buffer.h"

namespace tenon {
namespace {

using ir::kInfinity;

struct Pair {
  Expr a, b;
};

Pair operands(const Tensor& a, const Tensor& b, ScalarType type) {
  check_same_device(a, b);
  Pair pair{operand(a, type), operand(b, type)};
  if (a.sizes() == b.sizes()) return pair;
  const Dims shape = broadcast_shape(a.sizes(), b.sizes());
  return {broadcast(pair.a, ref(shape)), broadcast(pair.b, ref(shape))};
}
Pair operands(const Tensor& a, const Scalar& b, ScalarType type) {
  Expr x = operand(a, type), number = constant_like(x, wrapped(b, x.dtype()));
  return {std::move(x), std::move(number)};
}
Pair operands(const Scalar& a, const Tensor& b, ScalarType type) {
  Expr y = operand(b, type), number = constant_like(y, wrapped(a, y.dtype()));
  return {std::move(number), std::move(y)};
}

// f(a, b) in one type, computed as PyTorch computes that type.
template <typename A, typename B, typename F>
Tensor formula(const A& a, const B& b, ScalarType type, F f) {
  Pair p = operands(a, b, type);
  const DType inner = formula_type(ir_type(type));
  return record_as(f(cast(std::move(p.a), inner), cast(std::move(p.b), inner)), type, a, b);
}

// Where a 16-bit type is multiplied or divided by a number, or by a 0-dim tensor of another type, that is
// read in the type of the formula: 100. / 100000 is no 100. / inf, and 0.1 keeps its digits.
bool keeps_digits(const Scalar&, ScalarType type) { return ir::is_half(ir_type(type)); }
bool keeps_digits(const Tensor& x, ScalarType type) { return ir::is_half(ir_type(type)) && x.dim() == 0 && x.scalar_type() != type; }

// f(a, b) where b keeps its digits; a does if it is a number, but is rounded to the type if it is a tensor.
template <typename A, typename B, typename F>
Tensor scaling_formula(const A& a, const B& b, ScalarType type, F f) {
  const bool left = std::is_same_v<A, Scalar> && keeps_digits(a, type), right = keeps_digits(b, type);
  if (!left && !right) return formula(a, b, type, f);
  const ScalarType inner = scalar_type(formula_type(ir_type(type)));
  const Pair wide = operands(a, b, inner), rounded = operands(a, b, type);
  return record_as(f(left ? wide.a : cast(rounded.a, wide.a.dtype()), right ? wide.b : cast(rounded.b, wide.b.dtype())), type, a, b);
}

// One op in the promoted type.
template <typename A, typename B>
Tensor promoted_op(Op op, const A& a, const B& b) {
  Pair p = operands(a, b, promoted(a, b));
  return record(ir::binary(op, std::move(p.a.node), std::move(p.b.node)), a, b);
}

// Operands that are equal (0 and -0): the graph's max and min take the second, PyTorch takes the first.
Tensor first_extreme(Op op, const Tensor& a, const Tensor& b) {
  Pair p = operands(a, b, promoted(a, b));
  return record(ir::binary(op, std::move(p.b.node), std::move(p.a.node)), a, b);
}

bool is_empty(const Tensor& x) { return x.numel() == 0; }
bool is_empty(const Scalar&) { return false; }
bool is_bool(const Tensor& x) { return x.scalar_type() == kBool; }
bool is_bool(const Scalar& x) { return x.isBoolean(); }

void check_alpha(ScalarType type, const Scalar& alpha) {
  check(type == kBool || !alpha.isBoolean(), "Boolean alpha only supported for Boolean results.");
  check(isFloatingType(type) || alpha.isIntegral(true), "For integral input tensors, argument alpha must not be a floating point number.");
}

template <typename A, typename B>
Tensor add_any(const A& a, const B& b, const Scalar& alpha) {
  const ScalarType type = promoted(a, b);
  check_alpha(type, alpha);
  const bool plain = alpha == Scalar(1);
  if (type == kBool) {
    const Pair p = operands(a, b, type);
    return record(plain ? (p.a | p.b).node : (p.a | (p.b & number(p.b, alpha))).node, a, b);
  }
  if (plain) {
    Pair p = operands(a, b, type);
    return record((std::move(p.a) + std::move(p.b)).node, a, b);
  }
  return formula(a, b, type, [&](const Expr& x, const Expr& y) { return multiply_add(y, rounded_number(y, alpha, type), x); });
}

template <typename A, typename B>
Tensor sub_any(const A& a, const B& b, const Scalar& alpha) {
  refuse_bool_difference(is_bool(a), is_bool(b));
  const ScalarType type = promoted(a, b);
  check_alpha(type, alpha);
  if (alpha == Scalar(1)) return promoted_op(Op::Sub, a, b);
  return formula(a, b, type, [&](const Expr& x, const Expr& y) { return multiply_add(y, rounded_number(y, -alpha, type), x); });
}

template <typename A, typename B>
Tensor mul_any(const A& a, const B& b) {
  const ScalarType type = promoted(a, b);
  if (type == kBool) return promoted_op(Op::And, a, b);
  return scaling_formula(a, b, type, [](Expr x, Expr y) { return std::move(x) * std::move(y); });
}

template <typename A, typename B>
Tensor true_divide_any(const A& a, const B& b) {
  return scaling_formula(a, b, float_type(promoted(a, b)), [](Expr x, Expr y) { return std::move(x) / std::move(y); });
}

// --- integer division

constexpr const char* kZeroDivision = "ZeroDivisionError";

// 1 if the element is 0, as a number of its size: so a loop over elements takes vectors.
template <typename T>
T is_zero(const unsigned char* element) {
  T x;
  std::memcpy(&x, element, sizeof x);
  return x == 0;
}

// Whether one of the elements along a dim and those behind it is 0.
template <typename T>
bool has_zero(const unsigned char* data, const HostView& view, size_t dim) {
  const int64_t size = view.sizes[dim], item = sizeof(T), step = view.strides[dim] * item;
  T found = 0;
  if (dim + 1 < view.sizes.size()) {
    for (int64_t i = 0; i < size && !found; ++i) found = has_zero<T>(data + i * step, view, dim + 1);
  } else if (step == item) {
    for (int64_t i = 0; i < size; ++i) found |= is_zero<T>(data + i * item);
  } else {
    for (int64_t i = 0; i < size; ++i) found |= is_zero<T>(data + i * step);
  }
  return found != 0;
}

bool has_zero(const HostView& divisor) {
  HostView view = divisor;
  view.sizes = view.strides = {1};
  for (size_t d = 0; d < divisor.sizes.size(); ++d) {  // dims that lie one behind the other are one
    const int64_t size = divisor.sizes[d], stride = divisor.strides[d];
    if (view.strides.back() == size * stride || view.sizes.back() == 1) {
      view.sizes.back() *= size;
      view.strides.back() = stride;
    } else {
      view.sizes.push_back(size);
      view.strides.push_back(stride);
    }
  }
  switch (ir::item_size(view.dtype)) {
    case 1: return has_zero<uint8_t>(view.data, view, 0);
    case 2: return has_zero<uint16_t>(view.data, view, 0);
    case 4: return has_zero<uint32_t>(view.data, view, 0);
    default: return has_zero<uint64_t>(view.data, view, 0);
  }
}

// Only where the values are known without evaluating anything; a zero that appears later gives 0.
void refuse_zero(const Tensor& divisor) {
  const NodeRef value = impl(divisor).storage().value();
  if (value->op() == Op::Const) check(value->bits() != 0 || divisor.numel() == 0, kZeroDivision);
  if (runtime::buffer_of(*value) && divisor.numel() > 0) check(!has_zero(host_view(divisor)), kZeroDivision);
}

// Where the kernel that divides notes that a divisor on a GPU is 0. Null if the divisor is certain not to be 0, or the host has looked.
void* zero_note(const Tensor& divisor) {
  const NodeRef value = node_of(divisor);
  if (value->op() == Op::Const) return nullptr;
  const auto range = known_range(*value);
  if (range && (range->first > 0 || range->second < 0)) return nullptr;
  return value_note(impl(divisor).device(), kZeroDivision, "integer division");
}

// What a division is computed in, and the divisor as it is to be used there.
struct Division {
  ScalarType type;
  void* note = nullptr;
  Expr checked(const Expr& y) const { return note ? Expr{noted_where(y.node, (y == 0.0).node, note)} : y; }
};

void refuse_zero(const Scalar& divisor, Division& division) { check(wrapped(divisor, ir_type(division.type)).bits != 0, kZeroDivision); }
void refuse_zero(const Tensor& divisor, Division& division) {
  division.note = zero_note(divisor);
  if (!division.note) refuse_zero(divisor);
}

template <typename A, typename B>
Division division_of(const A& a, const B& b, const char* kernel) {
  Division division{promoted(a, b)};
  check<NotImplementedError>(division.type != kBool, '"', kernel, "\" not implemented for 'Bool'");
  if (!isFloatingType(division.type) && !is_empty(a)) refuse_zero(b, division);
  return division;
}

Expr adjust_if(const Expr& condition, const Expr& adjusted, const Expr& x) { return select(condition, adjusted, x); }

// Signs differ: one of them is negative and the other is not.
Expr opposite(const Expr& a, const Expr& b) { return (a < 0.0) ^ (b < 0.0); }

template <typename A, typename B>
Tensor remainder_any(const A& a, const B& b) {
  const Division division = division_of(a, b, "remainder_cpu");
  return formula(a, b, division.type, [&](const Expr& x, const Expr& divisor) {
    const Expr y = division.checked(divisor), r = rem(x, y);
    return adjust_if((r != 0.0) & opposite(r, y), r + y, r);
  });
}

template <typename A, typename B>
Tensor fmod_any(const A& a, const B& b) {
  const Division division = division_of(a, b, "fmod_cpu");
  const Pair p = operands(a, b, division.type);
  return record(rem(p.a, division.checked(p.b)).node, a, b);
}

template <typename A, typename B>
Tensor floor_divide_any(const A& a, const B& b) {
  const Division division = division_of(a, b, "div_floor_cpu");
  return scaling_formula(a, b, division.type, [&](const Expr& x, const Expr& divisor) {
    const Expr y = division.checked(divisor);
    if (!isFloatingType(division.type)) {
      const Expr q = x / y;
      return adjust_if((rem(x, y) != 0.0) & opposite(x, y), q - 1.0, q);
    }
    // Through the exact remainder, so that 1. // 0.1 is 9; then the quotient is all but an integer and is
    // rounded.
    const Expr r = rem(x, y);
    Expr q = (x - r) / y;
    q = adjust_if((r != 0.0) & opposite(r, y), q - 1.0, q);
    const Expr down = floor(q);
    const Expr nearest = select(q - down > 0.5, down + 1.0, down);
    return select(y == 0.0, x / y, select(q != 0.0, nearest, copysign(number(x, 0.0), x / y)));
  });
}

template <typename A, typename B>
Tensor trunc_divide_any(const A& a, const B& b) {
  const Division division = division_of(a, b, "div_trunc_cpu");
  return scaling_formula(a, b, division.type, [&](const Expr& x, const Expr& y) {
    return isFloatingType(division.type) ? trunc(x / y) : x / division.checked(y);
  });
}

template <typename B>
Tensor divide_rounded(const Tensor& a, const B& b, optional<std::string_view> mode) {
  if (!mode) return true_divide_any(a, b);
  if (*mode == "floor") return floor_divide_any(a, b);
  check(*mode == "trunc", "div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '", *mode, "'");
  return trunc_divide_any(a, b);
}

// --- the rest of the two-operand families

template <typename A, typename B>
Tensor bitwise_any(Op op, const char* kernel, const A& a, const B& b) {
  const ScalarType type = promoted(a, b);
  check<NotImplementedError>(!isFloatingType(type), '"', kernel, "\" not implemented for '", type, "'");
  return promoted_op(op, a, b);
}

template <typename A, typename B>
Tensor shift_any(Op op, const char* kernel, const A& a, const B& b) {
  const ScalarType type = promoted(a, b);
  check<NotImplementedError>(type != kBool && !isFloatingType(type), '"', kernel, "\" not implemented for '", type, "'");
  return promoted_op(op, a, b);
}

template <typename A, typename B>
Tensor copysign_any(const A& a, const B& b) {
  const Pair p = operands(a, b, float_type(promoted(a, b)));
  return record(copysign(p.a, p.b).node, a, b);
}

template <typename A, typename B>
Tensor xlogy_any(const A& a, const B& b) {
  const ScalarType type = float_type(promoted(a, b));
  return formula(a, b, type, [&](const Expr& x, const Expr& y) {
    const Expr logarithm = cast(cast(log(y), ir_type(type)), y.dtype());  // rounded to the type, as in PyTorch
    return select(y != y, y, select(x == 0.0, number(x, 0.0), x * logarithm));
  });
}

void require_float(const Tensor& a, const Tensor& b, const char* kernel) {
  const ScalarType type = promoted(a, b);
  check<NotImplementedError>(isFloatingType(type), '"', kernel, "\" not implemented for '", type, "'");
}

// fmax and fmin: a nan loses against a number; equal ones, and so zeros, give the first.
Tensor ignoring_nan(Op op, const Tensor& a, const Tensor& b) {
  const Pair p = operands(a, b, promoted(a, b));
  if (!ir::is_float(p.a.dtype())) return record(ir::binary(op, p.a.node, p.b.node), a, b);
  const Expr first = op == Op::Max ? p.a >= p.b : p.a <= p.b;
  return record(select(first | (p.b != p.b), p.a, p.b).node, a, b);
}

Tensor logical(Op op, const Tensor& a, const Tensor& b) {
  const Pair p = operands(a, b, kBool);
  return record(ir::binary(op, p.a.node, p.b.node), a, b);
}

// log(e^a + e^b) with base e or 2, stable; equal infinities give themselves.
template <typename Grow, typename Tail>
Tensor log_add(const Tensor& a, const Tensor& b, Grow grow, Tail tail) {
  return formula(a, b, float_type(promoted(a, b)), [&](const Expr& x, const Expr& y) {
    const Expr less = x < y;  // branches have the gradient's gradient at x == y too
    const Expr sum = select(less, y, x) + tail(grow(select(less, x - y, y - x)));
    return select((abs(x) == kInfinity) & (x == y), x, sum);
  });
}

// What gradients are made of, also if it is a constant 1, which no recipe reads: the other factor for each factor; the divisor, and
// the dividend for the divisor's own gradient.
void save_factors(GradScope& scope, const Tensor& a, const Tensor& b) {
  scope.saves((requires_grad(b) ? reads_operand(0) : kReadsNothing) | (requires_grad(a) ? reads_operand(1) : kReadsNothing));
}
void save_signed(GradScope& scope, const Tensor& a) { scope.saves((requires_grad(a) ? reads_operand(0) : kReadsNothing) | kReadsOutput); }
void save_quotient(GradScope& scope, const Tensor& b) {
  scope.saves((requires_grad(b) ? reads_operand(0) : kReadsNothing) | reads_operand(1));
}
// The operands of a remainder, whose derivative by the dividend is 1.
void save_divided(GradScope& scope, const Tensor& b) {
  scope.saves(requires_grad(b) ? reads_operand(0) | reads_operand(1) : kReadsNothing);
}

}  // namespace

Tensor float_binary_op(const char* grad_name, Op op, const Tensor& a, const Tensor& b) {
  GradScope scope(grad_name, a, b);
  const Pair p = operands(a, b, float_type(promoted(a, b)));
  return record(ir::binary(op, p.a.node, p.b.node), a, b);
}
Tensor compare(const char* name, Op op, const Tensor& a, const Tensor& b) {
  const CallScope place(name, a, b);
  return promoted_op(op, a, b);
}
Tensor compare(const char* name, Op op, const Tensor& a, const Scalar& b) {
  const CallScope place(name, a, b);
  return promoted_op(op, a, b);
}

// The names are those of the forms with a tensor and with a number; `saved` and `number_saved` say what they save.
#define TENON_BOTH(name, tensor_grad, number_grad, saved, number_saved, call) \
  Tensor name(const Operand& a, const Operand& b) {                           \
    const CallScope place(#name, a, b);                                       \
    const auto recorded = [&] {                                               \
      GradScope scope(tensor_grad, a, b);                                     \
      saved;                                                                  \
      return call;                                                            \
    };                                                                        \
    return replayed_call(#name, {}, recorded, a, b);                          \
  }                                                                           \
  Tensor name(const Operand& a, const Scalar& b) {                            \
    const CallScope place(#name, a, b);                                       \
    GradScope scope(number_grad, a);                                          \
    number_saved;                                                             \
    return call;                                                              \
  }
TENON_BOTH(mul, "MulBackward0", "MulBackward1", save_factors(scope, a, b), , mul_any(a, b))
TENON_BOTH(multiply, "MulBackward0", "MulBackward1", save_factors(scope, a, b), , mul_any(a, b))
TENON_BOTH(div, "DivBackward0", "DivBackward1", save_quotient(scope, b), , true_divide_any(a, b))
TENON_BOTH(true_divide, "DivBackward0", "DivBackward1", save_quotient(scope, b), , true_divide_any(a, b))
TENON_BOTH(remainder, "RemainderBackward1", "RemainderBackward0", save_divided(scope, b), scope.saves(kReadsNothing), remainder_any(a, b))
TENON_BOTH(fmod, "FmodBackward1", "FmodBackward0", save_divided(scope, b), scope.saves(kReadsNothing), fmod_any(a, b))
TENON_BOTH(copysign, "CopysignBackward0", "CopysignBackward1", save_signed(scope, a), save_signed(scope, a), copysign_any(a, b))
#undef TENON_BOTH

Tensor floor_divide(const Operand& a, const Operand& b) {
  const CallScope place("floor_divide", a, b);
  const auto recorded = [&] {
    GradScope scope("NotImplemented", a, b);
    scope.no_derivative("floor_divide");
    return floor_divide_any(a, b);
  };
  return replayed_call("floor_divide", {}, recorded, a, b);
}
Tensor floor_divide(const Operand& a, const Scalar& b) {
  const CallScope place("floor_divide", a, b);
  GradScope scope("NotImplemented", a);
  scope.no_derivative("floor_divide");
  return floor_divide_any(a, b);
}

namespace {
Tensor recorded_xlogy(const char* name, const Tensor& a, const Tensor& b) {
  GradScope scope(name, a, b);
  scope.rule(reads_operand(0) | reads_operand(1), [](GradCall& c) {
    const Tensor x = c.operand(0), y = c.operand(1);
    c.give(0, gradient_for(x, where(logical_and(x == 0, y <= 0), 0, xlogy(c.grad(), y))));
    c.give(1, gradient_for(y, c.grad() * x / y));
  });
  return xlogy_any(a, b);
}
}  // namespace

Tensor xlogy(const Operand& a, const Operand& b) {
  const CallScope place("xlogy", a, b);
  return replayed_call(
      "xlogy", {}, [&] { return recorded_xlogy("XlogyBackward0", a, b); }, a, b);
}
Tensor xlogy(const Scalar& a, const Operand& b) { return recorded_xlogy("XlogyBackward1", number_operand(a, b), b); }
Tensor xlogy(const Operand& a, const Scalar& b) {
  const CallScope place("xlogy", a, b);
  GradScope scope("XlogyBackward2", a);
  scope.rule(reads_operand(0), [b](GradCall& c) {
    const Tensor slope = xlogy(c.grad(), b);
    c.give(0, b.toDouble() <= 0 ? where(c.operand(0) == 0, 0, slope) : slope);
  });
  return xlogy_any(a, b);
}

// Without a gradient.
#define TENON_BOTH(name, call)                      \
  Tensor name(const Operand& a, const Operand& b) { \
    const CallScope place(#name, a, b);             \
    return call;                                    \
  }                                                 \
  Tensor name(const Operand& a, const Scalar& b) {  \
    const CallScope place(#name, a, b);             \
    return call;                                    \
  }
TENON_BOTH(not_equal, ne(a, b))
TENON_BOTH(less, lt(a, b))
TENON_BOTH(less_equal, le(a, b))
TENON_BOTH(greater, gt(a, b))
TENON_BOTH(greater_equal, ge(a, b))
TENON_BOTH(bitwise_and, bitwise_any(Op::And, "bitwise_and_cpu", a, b))
TENON_BOTH(bitwise_or, bitwise_any(Op::Or, "bitwise_or_cpu", a, b))
TENON_BOTH(bitwise_xor, bitwise_any(Op::Xor, "bitwise_xor_cpu", a, b))
TENON_BOTH(bitwise_left_shift, shift_any(Op::Shl, "lshift_cpu", a, b))
TENON_BOTH(bitwise_right_shift, shift_any(Op::Shr, "rshift_cpu", a, b))
#undef TENON_BOTH

#define TENON_SUM(name, tensor_grad, number_grad)                                      \
  Tensor name(const Operand& a, const Operand& b, const Scalar& alpha) {               \
    const CallScope call(#name, a, b, alpha);                                          \
    const auto recorded = [&] {                                                        \
      GradScope scope(tensor_grad, a, b);                                              \
      return name##_any(a, b, alpha);                                                  \
    };                                                                                 \
    return alpha == Scalar(1) ? replayed_call(#name, {}, recorded, a, b) : recorded(); \
  }                                                                                    \
  Tensor name(const Operand& a, const Scalar& b, const Scalar& alpha) {                \
    const CallScope call(#name, a, b, alpha);                                          \
    GradScope scope(number_grad, a);                                                   \
    return name##_any(a, b, alpha);                                                    \
  }
TENON_SUM(add, "AddBackward0", "AddBackward1")
TENON_SUM(sub, "SubBackward0", "SubBackward1")
#undef TENON_SUM
Tensor rsub(const Operand& a, const Scalar& b, const Scalar& alpha) {
  const CallScope call("rsub", a, b, alpha);
  GradScope scope("NumberSubBackward", a);
  return sub_any(b, a, alpha);
}
Tensor div(const Operand& a, const Operand& b, optional<std::string_view> mode) {
  GradScope scope("DivBackward2", a, b);
  if (mode) zero_gradients(scope, a, b);  // in steps, also where the quotient is not finite
  return divide_rounded(a, b, mode);
}
Tensor div(const Operand& a, const Scalar& b, optional<std::string_view> mode) {
  const CallScope call("div", a, b);
  GradScope scope("DivBackward3", a);
  if (mode) zero_gradients(scope, a);
  return divide_rounded(a, b, mode);
}
Tensor operator/(const Scalar& a, const Operand& b) {
  const CallScope call("div", a, b);
  GradScope scope("NumberDivBackward", b);  // see GradFn::name
  scope.saves(kReadsNothing);               // the reciprocal
  return true_divide_any(a, b);
}
Tensor operator%(const Scalar& a, const Operand& b) {
  GradScope scope("RemainderBackward1", b);
  return remainder_any(a, b);
}

Tensor maximum(const Operand& a, const Operand& b) {
  GradScope scope("MaximumBackward0", a, b);
  scope.saves(reads_operand(0) | reads_operand(1));
  return first_extreme(Op::Max, a, b);
}
Tensor minimum(const Operand& a, const Operand& b) {
  GradScope scope("MinimumBackward0", a, b);
  scope.saves(reads_operand(0) | reads_operand(1));
  return first_extreme(Op::Min, a, b);
}
namespace {
// Equal operands get a half each.
void chosen_rule(GradScope& scope, Op op) {
  scope.rule(reads_operand(0) | reads_operand(1), [op](GradCall& c) {
    const Tensor x = c.operand(0), y = c.operand(1), g = c.grad(), half = g * 0.5, equal = x == y;
    const Tensor first = logical_or(op == Op::Max ? x > y : x < y, isnan(y));
    c.give(0, gradient_for(x, where(equal, half, where(first, g, 0))));
    c.give(1, gradient_for(y, where(equal, half, where(first, 0, g))));
  });
}
}  // namespace
Tensor fmax(const Operand& a, const Operand& b) {
  GradScope scope("FmaxBackward0", a, b);
  chosen_rule(scope, Op::Max);
  return ignoring_nan(Op::Max, a, b);
}
Tensor fmin(const Operand& a, const Operand& b) {
  GradScope scope("FminBackward0", a, b);
  chosen_rule(scope, Op::Min);
  return ignoring_nan(Op::Min, a, b);
}
Tensor hypot(const Operand& a, const Operand& b) {
  const CallScope call("hypot", a, b);
  require_float(a, b, "hypot_cpu");
  return float_binary_op("HypotBackward0", Op::Hypot, a, b);
}
Tensor logical_and(const Operand& a, const Operand& b) {
  const CallScope call("logical_and", a, b);
  return logical(Op::And, a, b);
}
Tensor logical_or(const Operand& a, const Operand& b) {
  const CallScope call("logical_or", a, b);
  return logical(Op::Or, a, b);
}
Tensor logical_xor(const Operand& a, const Operand& b) {
  const CallScope call("logical_xor", a, b);
  return logical(Op::Xor, a, b);
}
Tensor logaddexp(const Operand& a, const Operand& b) {
  require_float(a, b, "logaddexp_cpu");
  GradScope scope("LogaddexpBackward0", a, b);
  return log_add(
      a, b, [](const Expr& v) { return exp(v); }, [](const Expr& v) { return log1p(v); });
}
Tensor logaddexp2(const Operand& a, const Operand& b) {
  require_float(a, b, "logaddexp2_cpu");
  GradScope scope("Logaddexp2Backward0", a, b);
  return log_add(
      a, b, [](const Expr& v) { return apply(Op::Exp2, v); }, [](const Expr& v) { return log1p(v) * (1 / std::log(2.0)); });
}

// --- powers

Tensor pow(const Operand& x, const Scalar& exponent) {
  const CallScope call("pow", x, exponent);
  GradScope scope("PowBackward0", x);
  if (exponent.toDouble() != 0) scope.derivative_reads(reads_operand(0));
  scope.saves(reads_operand(0));
  const ScalarType type = promoted(x, exponent);
  const bool integers = !isFloatingType(type), single = type == kFloat || type == kDouble;
  check(!integers || exponent.toLong() >= 0, "Integers to negative integer powers are not allowed.");
  const double p = exponent.toDouble();
  check<NotImplementedError>(type != kBool || p == 0 || p == 1, "\"pow\" not implemented for 'Bool'");
  return map_formula(x, type, [&](const Expr& v) -> Expr {
    if (p == 0) return number(v, 1.0);
    if (p == 1) return v;
    const Expr power = single ? constant_like(v, wrapped(exponent, v.dtype())) : rounded_number(v, exponent, type);
    if (p == 2) return v * v;
    if (p == 3) return v * v * v;
    if (!integers) {
      if (p == 0.5) return sqrt(v);
      if (p == -0.5) return 1.0 / sqrt(v);
      if (p == -1) return 1.0 / v;
      if (p == -2) return 1.0 / (v * v);
    }
    return apply(Op::Pow, v, power);
  });
}
Tensor pow(const Operand& x, const Operand& exponent) {
  GradScope scope("PowBackward1", x, exponent);
  scope.saves(reads_operand(0) | reads_operand(1) | kReadsOutput);
  const ScalarType type = promoted(x, exponent);
  check<NotImplementedError>(type != kBool, "\"pow\" not implemented for 'Bool'");
  return promoted_op(Op::Pow, x, exponent);
}
Tensor pow(const Scalar& base, const Operand& exponent) {
  const CallScope call("pow", base, exponent);
  GradScope scope("PowBackward2", exponent);
  const ScalarType type = promoted(base, exponent);
  check<NotImplementedError>(type != kBool, "\"pow\" not implemented for 'Bool'");
  return promoted_op(Op::Pow, base, exponent);
}
Tensor float_power(const Operand& x, const Operand& exponent) {
  const CallScope call("float_power", x, exponent);
  return pow(x.to(kDouble), exponent.to(kDouble));
}
Tensor float_power(const Operand& x, const Scalar& exponent) { return pow(x.to(kDouble), exponent); }

// --- three operands

namespace {

// f(a, b, c) in the type that all three promote to.
template <typename F>
Tensor ternary_formula(const Tensor& a, const Tensor& b, const Tensor& c, ScalarType type, F f) {
  check_same_device(a, b);
  check_same_device(b, c);
  Dims shape = broadcast_shape(a.sizes(), b.sizes());
  shape = broadcast_shape(ref(shape), c.sizes());
  auto in = [&](const Tensor& t) { return broadcast(formula_operand(t, type), ref(shape)); };
  return record_as(f(in(a), in(b), in(c)), type, a, b, c);
}

void check_lerp(const Tensor& x, const Tensor& end) {
  check<NotImplementedError>(x.is_floating_point(), "\"lerp_kernel_scalar\" not implemented for '", x.scalar_type(), "'");
  check(x.scalar_type() == end.scalar_type(), "expected dtype ", x.dtype(), " for `end` but got dtype ", end.dtype());
}

}  // namespace

Tensor lerp(const Operand& x, const Operand& end, const Scalar& weight) {
  const CallScope call("lerp", x, end, weight);
  GradScope scope("LerpBackward0", x, end);
  check_lerp(x, end);
  const double w = weight.toDouble();
  return formula(x, end, x.scalar_type(), [&](const Expr& a, const Expr& b) {
    const Expr number_w = number(a, weight);
    return std::abs(w) < 0.5 ? a + number_w * (b - a) : b - (b - a) * (1.0 - number_w);
  });
}
Tensor lerp(const Operand& x, const Operand& end, const Operand& weight) {
  GradScope scope("LerpBackward1", x, end, weight);
  check_lerp(x, end);
  return ternary_formula(x, end, weight, x.scalar_type(), [](const Expr& a, const Expr& b, const Expr& w) {
    const Expr d = b - a;
    return select(abs(w) < 0.5, a + w * d, b - d * (1.0 - w));
  });
}
Tensor addcmul(const Operand& x, const Operand& tensor1, const Operand& tensor2, const Scalar& value) {
  const CallScope call("addcmul", x, tensor1, tensor2, value);
  GradScope scope("AddcmulBackward0", x, tensor1, tensor2);
  const ScalarType type = promoted(x, tensor1, tensor2);
  check<NotImplementedError>(type != kBool, "\"addcmul_cpu_out\" not implemented for 'Bool'");
  return ternary_formula(x, tensor1, tensor2, type,
                         [&](const Expr& a, const Expr& b, const Expr& c) { return a + number(b, value) * b * c; });
}
Tensor addcdiv(const Operand& x, const Operand& tensor1, const Operand& tensor2, const Scalar& value) {
  const CallScope call("addcdiv", x, tensor1, tensor2, value);
  GradScope scope("AddcdivBackward0", x, tensor1, tensor2);
  check(tensor1.is_floating_point() || tensor2.is_floating_point(),
        "Integer division with addcdiv is no longer supported, and in a future  release addcdiv will perform a "
        "true "
        "division of tensor1 and tensor2. The historic addcdiv behavior can be implemented as (input + value * "
        "torch.trunc(tensor1 / tensor2)).to(input.dtype) for integer inputs and as (input + value * tensor1 / "
        "tensor2) "
        "for float inputs. The future addcdiv behavior is just the latter implementation: (input + value * "
        "tensor1 / "
        "tensor2), for all dtypes.");
  return ternary_formula(x, tensor1, tensor2, promoted(x, tensor1, tensor2),
                         [&](const Expr& a, const Expr& b, const Expr& c) { return a + number(b, value) * b / c; });
}

// --- closeness

Tensor isclose(const Operand& a, const Operand& b, double rtol, double atol, bool equal_nan) {
  const CallScope call("isclose", a, b);
  check(a.scalar_type() == b.scalar_type(), a.scalar_type(), " did not match ", b.scalar_type());
  check(rtol >= 0, "rtol must be greater than or equal to zero, but got ", rtol);
  check(atol >= 0, "atol must be greater than or equal to zero, but got ", atol);
  const ScalarType type = a.is_floating_point() ? a.scalar_type() : kDouble;
  const Pair p = operands(a, b, type);
  const DType inner = formula_type(ir_type(type));
  const Expr x = cast(p.a, inner), y = cast(p.b, inner);
  const Expr difference = abs(x - y);
  Expr close = (x == y) | ((difference < kInfinity) & (difference <= atol + abs(rtol * y)));
  if (equal_nan) close = close | ((x != x) & (y != y));
  return record(close.node, a, b);
}
bool allclose(const Operand& a, const Operand& b, double rtol, double atol, bool equal_nan) {
  const CallScope call("allclose", a, b);
  return all(isclose(a, b, rtol, atol, equal_nan)).item<bool>();
}
bool equal(const Operand& a, const Operand& b) {
  const CallScope call("equal", a, b);
  check_same_device(a, b);
  check(a.scalar_type() == b.scalar_type(), "Expected object of data type ", a.scalar_type(), " but got data type ", b.scalar_type(),
        " for argument 'other' in call to equal");
  if (!(a.sizes() == b.sizes())) return false;
  return all(eq(a, b)).item<bool>();
}

}  // namespace tenon
