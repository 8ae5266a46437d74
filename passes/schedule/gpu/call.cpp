// What the generated calls share.
#include "passes/schedule/gpu/call.h"

#include <limits>

#include "passes/schedule/gpu/thread_group.h"

namespace tenon::passes::gpu {

ValueId combined(Context& c, Op op, ValueId a, ValueId b) {
  const DType dtype = c.builder.type(a).dtype;
  if (!ir::is_half(dtype)) return c.builder.op(op, {a, b});
  const auto wide = [&](ValueId x) { return c.builder.op(Op::Cast, {x}, DType::F32); };
  return c.builder.op(Op::Cast, {c.builder.op(op, {wide(a), wide(b)})}, dtype);
}

ValueId index_cast(Context& c, ValueId x, DType to) { return c.builder.type(x).dtype == to ? x : c.builder.op(Op::Cast, {x}, to); }

CheckedIndex checked(Context& c, ValueId index, ValueId size) {
  const ValueId zero = c.builder.constant(ir::constant(DType::I64, int64_t{0}));
  const ValueId inside = c.builder.op(Op::And, {c.builder.op(Op::Ge, {index, zero}), c.builder.op(Op::Lt, {index, size})});
  return {inside, index_cast(c, index, c.out.tree.index_type)};
}

int64_t greatest_of(DType key) { return key == DType::I32 ? std::numeric_limits<int32_t>::max() : std::numeric_limits<int64_t>::max(); }

void widen_index(Context& c, int64_t elements) {
  constexpr int64_t kMost = int64_t{1} << 30;
  if (elements > kMost) c.out.tree.index_type = DType::I64;
}

BlockSums add_over_block(Context& c, ValueId x, int32_t shared) {
  ir::TreeBuilder& b = c.builder;
  const auto [warp, lane] = place_in_group(c, c.target.warp);
  ValueId sum = x;  // of the warp's threads up to this one
  for (int64_t distance = 1; distance < c.target.warp; distance *= 2) {
    const ValueId back = c.sub(lane, c.literal(distance)), has = b.op(Op::Ge, {back, c.literal(0)});
    const ValueId other = shuffled(b, sum, b.op(Op::Max, {back, c.literal(0)}));
    sum = b.op(Op::Where, {has, c.add(sum, other), sum});
  }
  c.nest.when(b.op(Op::Eq, {lane, c.literal(c.target.warp - 1)}), [&, warp = warp] { b.store(shared, warp, sum); });
  b.barrier();
  BlockSums sums{c.sub(sum, x), c.literal(0)};
  for (int64_t w = 0; w < c.target.threads / c.target.warp; ++w) {
    const ValueId of_warp = b.load(shared, c.literal(w), 1);
    const ValueId earlier = b.op(Op::Gt, {warp, c.literal(w)});
    sums.before = b.op(Op::Where, {earlier, c.add(sums.before, of_warp), sums.before});
    sums.total = c.add(sums.total, of_warp);
  }
  return sums;
}

}  // namespace tenon::passes::gpu
