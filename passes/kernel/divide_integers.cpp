// For CPUs, which divide integers one by one and floats a vector at a time: the quotient of two integers is that of two floats that hold
// them, rounded toward zero. It is exact where the dividend is below 2^53 in f64 (2^24 in f32): a fraction is at least 1 / divisor away
// from an integer, which is more than the quotient's rounding.
//
//   map i : %2 = div %0, %1 : i32     becomes     map i : %2 = cast %0 : f64;  %3 = cast %1 : f64;  %4 = div %2, %3;  %5 = trunc %4;  ...
//
// Where an i64 needs more bits, the machine's division is taken, behind a branch (passes/schedule/branches.h). A zero divisor gives 0.
#include <algorithm>

#include "passes/kernel/expand_math.h"
#include "passes/kernel/rewrite_kernel.h"
#include "passes/passes.h"

namespace tenon::passes {
namespace {

using math::Expr;

Expr divide_narrow(Expr x, Expr y) {
  const ir::DType wide = ir::item_size(x.dtype()) < 4 ? ir::DType::F32 : ir::DType::F64;
  return math::cast(math::trunc(math::cast(x, wide) / math::cast(y, wide)), x.dtype());
}

// An i64 below 2^51 in size and a double: added to the bits of 1.5 * 2^52 and taken from them, since not every CPU converts vectors.
Expr divide_wide(Expr x, Expr y) {
  constexpr double shift = 0x1.8p52;
  const Expr quotient = math::trunc(math::small_to_float(x) / math::small_to_float(y));
  const Expr near = math::to_bits(quotient + shift) - math::bits_constant(x, ir::DType::I64, 0x4338000000000000);
  const Expr half = math::bits_constant(x, ir::DType::I64, uint64_t{1} << 51);
  const Expr upper = ((x + half) | (y + half)) & math::bits_constant(x, ir::DType::I64, ~((uint64_t{1} << 52) - 1));
  return math::select(math::unequal(upper, 0.0), x / y, near);
}

}  // namespace

ir::Kernel divide_integers(ir::Kernel kernel) {
  const auto divides = [](const ir::Instr& in) { return in.op == ir::Op::Div && ir::is_int(in.dtype); };
  if (std::ranges::none_of(kernel.instrs, divides)) return kernel;
  return rewrite_kernel(kernel, [&](ir::KernelBuilder& builder, const ir::Instr& instr, std::span<const ir::Value> args) -> ir::Value {
    if (!divides(instr)) return kKeep;
    const Expr x{&builder, args[0]}, y{&builder, args[1]};
    const Expr quotient = ir::item_size(instr.dtype) == 8 ? divide_wide(x, y) : divide_narrow(x, y);
    return math::select(math::equal(y, 0.0), 0.0, quotient).value;
  });
}

}  // namespace tenon::passes
