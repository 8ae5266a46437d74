// For processors that take a hundred times as long for a product with a denormal number (CpuTarget::slow_denormals): the products of
// an exponential, which is denormal from e^-87 on, are computed in f64, where none is. Two f32 have their exact product there, so it is
// rounded once, and the bits stay.
//
//   map i : %1 = exp %0 : f32             map i : %1 = exp %0 : f32       map i : %4 = cast %2 : f64
//   map i : %3 = mul %1, %2 : f32   ->    map i : %3 = cast %1 : f64      map i : %5 = mul %3, %4 : f64
//                                                                         map i : %6 = cast %5 : f32
#include <algorithm>

#include "passes/kernel/rewrite_kernel.h"
#include "passes/passes.h"

namespace tenon::passes {

ir::Kernel widen_products(ir::Kernel kernel) {
  const auto is_exponential = [&](ir::Value value) {
    const ir::Op op = kernel.instrs[static_cast<size_t>(value)].op;
    return op == ir::Op::Exp || op == ir::Op::Exp2;
  };
  const auto widens = [&](const ir::Instr& in) {
    return in.op == ir::Op::Mul && in.dtype == ir::DType::F32 && (is_exponential(in.args[0]) || is_exponential(in.args[1]));
  };
  if (std::ranges::none_of(kernel.instrs, widens)) return kernel;
  return rewrite_kernel(kernel, [&](ir::KernelBuilder& builder, const ir::Instr& instr, std::span<const ir::Value> args) -> ir::Value {
    if (!widens(instr)) return kKeep;
    const ir::Value wide[] = {builder.cast(args[0], ir::DType::F64), builder.cast(args[1], ir::DType::F64)};
    return builder.cast(builder.op(ir::Op::Mul, wide), ir::DType::F32);
  });
}

}  // namespace tenon::passes
