// Replaces every op marked Expands by basic ops: takes a kernel without half-precision arithmetic
// (expand_half has run), gives the same kernel with our own polynomials in place of exp, sin, pow, ... The
// CPU, CUDA and interpreter back ends then execute the same roundings, so that results are the same bits
// everywhere.
//
//   map i : %1 = log %0 : f32     becomes     map i : %1 = bitcast %0 : i32;  %2 = sub %1, 1060439723;  ...
//
// This file holds the driver and the expression language of expand_math.h; the functions stand in
// expand_math_*.cpp.
#include "passes/kernel/expand_math.h"

#include <algorithm>
#include <vector>

#include "passes/kernel/rewrite_kernel.h"
#include "passes/passes.h"

namespace tenon::passes {
namespace math {

Expr constant(Expr like, double x) { return {like.builder, like.builder->constant(like.dtype(), x)}; }

Expr bits_constant(Expr like, DType dtype, uint64_t bits) { return {like.builder, like.builder->constant(ir::Constant{dtype, bits})}; }

Expr Term::in(Expr like) const { return is_number ? constant(like, number) : expr; }

Expr apply(Op op, std::initializer_list<Expr> args, DType to) {
  SmallVector<ir::Value, 3> values;
  for (const Expr& e : args) values.push_back(e.value);
  ir::KernelBuilder* builder = args.begin()->builder;
  return {builder, builder->op(op, std::span<const ir::Value>(values.begin(), values.size()), to)};
}

Real real_for(Expr like, Real number) {
  const auto high = static_cast<double>(static_cast<float>(number.hi));
  return is_single(like) ? Real{high, number.hi - high} : number;
}

Expr polynomial(Expr x, std::initializer_list<double> c) {
  const double* next = c.end() - 1;
  Expr sum = constant(x, *next);
  while (next != c.begin()) sum = fma(sum, x, *--next);
  return sum;
}

const Format& format(DType dtype) {
  static const Format single{DType::I32, 23, 127, 32}, wide{DType::I64, 52, 1023, 64};
  return dtype == DType::F32 || dtype == DType::I32 ? single : wide;
}

Expr to_bits(Expr x) { return bitcast(x, format(x.dtype()).integer); }
Expr from_bits(Expr bits) { return bitcast(bits, bits.dtype() == DType::I32 ? DType::F32 : DType::F64); }
Expr sign_bit(Expr x) { return to_bits(x) < 0.0; }

Expr with_sign_of(Expr x, Expr sign) {
  const Expr bits = to_bits(sign);
  const Expr mask = bits_constant(bits, bits.dtype(), uint64_t{1} << (format(x.dtype()).width - 1));
  return from_bits(to_bits(abs(x)) | (bits & mask));
}

// An i64 has no vector conversion before AVX-512; added to the bits of 1.5 * 2^52 it needs none.
Expr small_to_float(Expr n) {
  if (n.dtype() == DType::I32) return cast(n, DType::F32);
  constexpr double shift = 0x1.8p52;
  return from_bits(n + bits_constant(n, DType::I64, 0x4338000000000000)) - shift;
}

Expr is_normal(Expr x) {
  const Expr bits = to_bits(x);
  const uint64_t exponent = is_single(x) ? 0x7F800000 : 0x7FF0000000000000;
  return unequal(bits & bits_constant(bits, bits.dtype(), exponent), 0.0);
}

// Where the sum cancels, it is 0 or a multiple of 2^-123.
Expr away_from_zero(Expr x) { return x + 0x1p-100; }

Expr zero_if_tiny(Expr x) { return select(abs(x) < (is_single(x) ? 0x1p-26 : 0x1p-55), 0.0, x); }

Pair two_sum(Expr a, Expr b) {
  const Expr sum = a + b, b_part = sum - a;
  return {sum, (a - (sum - b_part)) + (b - b_part)};
}

Pair fast_two_sum(Expr a, Expr b) {
  const Expr sum = a + b;
  return {sum, b - (sum - a)};
}

Pair two_product(Expr a, Expr b) {
  const Expr product = a * b;
  return {product, fma(a, b, -product)};
}

namespace {

Expr expand(Op op, const Expr* x) {
  for (const auto& list : {exp_formulas(), log_formulas(), trig_formulas(), special_formulas(), power_formulas()}) {
    for (const Formula& formula : list) {
      if (formula.op == op) return formula(x);
    }
  }
  throw ir::IrError("no expansion of " + std::string(ir::info(op).text));
}

}  // namespace
}  // namespace math

ir::Kernel expand_math(ir::Kernel kernel) {
  const auto expands = [](const ir::Instr& in) { return ir::is_elementwise(in.op) && ir::has_trait(in.op, ir::TraitExpands); };
  if (std::ranges::none_of(kernel.instrs, expands)) return kernel;
  return rewrite_kernel(kernel, [&](ir::KernelBuilder& builder, const ir::Instr& instr, std::span<const ir::Value> args) -> ir::Value {
    if (!expands(instr)) return kKeep;
    math::Expr x[2] = {};
    for (size_t i = 0; i < args.size(); ++i) x[i] = {&builder, args[i]};
    return math::expand(instr.op, x).value;
  });
}

}  // namespace tenon::passes
