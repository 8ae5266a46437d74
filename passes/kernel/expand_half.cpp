// Takes f16 and bf16 arithmetic apart: operands are widened to f32, the op is computed in f32 and its result
// rounded back, after every single op, so that a fused kernel gives the same bits as separate ones.
//
//   map i : %2 = add %0, %1 : f16     becomes     map i : %2 = cast %0 : f32    %4 = add %2, %3 : f32
//                                                 map i : %3 = cast %1 : f32    %5 = cast %4 : f16
//
// A reduction, scan or contraction widens its operands, accumulates in f32 and rounds what it gives. Afterwards,
// only const, scalar, load, store, cast and bitcast have a half dtype, as operand or as result.
#include <algorithm>

#include "passes/kernel/rewrite_kernel.h"
#include "passes/passes.h"

namespace tenon::passes {
namespace {

using ir::DType, ir::Op;

bool computes(Op op) {
  if (op == Op::Cast || op == Op::Bitcast) return false;
  return ir::is_elementwise(op) || ir::is_reduce(op) || ir::is_scan(op) || op == Op::Contract;
}

}  // namespace

ir::Kernel expand_half(ir::Kernel kernel) {
  const auto is_half = [](const ir::Instr& in) { return ir::is_half(in.dtype); };
  if (std::ranges::none_of(kernel.instrs, is_half)) return kernel;
  return rewrite_kernel(kernel, [](ir::KernelBuilder& builder, const ir::Instr& instr, std::span<const ir::Value> args) -> ir::Value {
    if (!computes(instr.op)) return kKeep;
    SmallVector<ir::Value, 3> wide;
    bool any = false;
    for (ir::Value arg : args) {
      const bool half = ir::is_half(builder.dtype(arg));
      any |= half;
      wide.push_back(half ? builder.cast(arg, DType::F32) : arg);
    }
    if (!any) return kKeep;
    const ir::Value result = copy_instr(builder, instr, std::span<const ir::Value>(wide.begin(), wide.size()));
    return ir::is_half(instr.dtype) ? builder.cast(result, instr.dtype) : result;
  });
}

}  // namespace tenon::passes
