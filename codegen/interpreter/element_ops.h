// Elementwise ops and reductions over arrays of elements held as raw bits (ir::Constant::bits, one in 64).
// The meaning is ir::evaluate's; the common ops are written out for speed.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "ir/kernel/kernel.h"

namespace tenon::codegen {

// out[i] = op(args[0][i], ...); `operand` is the dtype of the last operand, `result` that of the value.
void apply(ir::Op op, ir::DType operand, ir::DType result, std::span<const uint64_t* const> args, uint64_t* out, int64_t count);

// What a reduction reads: the elements from position `at` on, at most `limit` of them. Asked in order,
// without gaps.
struct Elements {
  const uint64_t* bits;
  int64_t count;
};
using ElementSource = std::function<Elements(int64_t at)>;

// One row of a Reduce op over `extents`, in the order of its tree. f16 and bf16 accumulate in f32, rounded at
// the end.
uint64_t reduce_row(ir::Op op, ir::ReduceTree tree, ir::DType operand, std::span<const int64_t> extents, const ElementSource& source);

// What a contraction multiplies, likewise.
struct Factors {
  const uint64_t *a, *b;
  int64_t count;
};
using FactorSource = std::function<Factors(int64_t at)>;

// The sum of `count` products, fused for floats, in the order of ir/op/sum_order.h. f16 and bf16 accumulate in
// f32, rounded at the end.
uint64_t contract_row(ir::DType operand, int64_t count, const FactorSource& source);

}  // namespace tenon::codegen
