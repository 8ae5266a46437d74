// What the generated calls share.
#include "passes/schedule/gpu/call.h"

#include <tuple>
#include <utility>
#include <vector>

#include "passes/passes.h"

namespace tenon::passes::gpu {

void Points::dim(int64_t extent, std::vector<int64_t> steps) {
  if (extent == 1) return;
  const auto continues = [&](const Dim& outer) {
    for (size_t b = 0; b < buffers_; ++b) {
      if (outer.steps[b] != extent * steps[b]) return false;
    }
    return true;
  };
  if (!dims_.empty() && continues(dims_.back())) {
    dims_.back() = {dims_.back().extent * extent, std::move(steps)};
  } else {
    dims_.push_back({extent, std::move(steps)});
  }
}

int64_t Points::count() const {
  int64_t count = 1;
  for (const Dim& dim : dims_) count *= dim.extent;
  return count;
}

std::vector<ValueId> Points::places(Context& c, ValueId point) const {
  std::vector<ValueId> places(buffers_, -1);
  for (size_t d = dims_.size(); d-- > 0;) {
    const Dim& dim = dims_[d];
    ValueId digit = point;
    if (d > 0) std::tie(point, digit) = c.divide(point, c.nest.size(dim.extent));
    for (size_t b = 0; b < buffers_; ++b) {
      if (dim.steps[b] == 0) continue;
      const ValueId term = dim.steps[b] == 1 ? digit : c.mul(digit, c.nest.size(dim.steps[b]));
      places[b] = places[b] < 0 ? term : c.add(places[b], term);
    }
  }
  for (ValueId& place : places) {
    if (place < 0) place = c.literal(0);
  }
  return places;
}

ValueId combined(Context& c, Op op, ValueId a, ValueId b) {
  const DType dtype = c.builder.type(a).dtype;
  if (!ir::is_half(dtype)) return c.builder.op(op, {a, b});
  const auto wide = [&](ValueId x) { return c.builder.op(Op::Cast, {x}, DType::F32); };
  return c.builder.op(Op::Cast, {c.builder.op(op, {wide(a), wide(b)})}, dtype);
}

// By a kernel of that one operation, which the passes over kernels expand.
ValueId elementary(Context& c, Op op, ValueId x) {
  const DType dtype = c.builder.type(x).dtype;
  ir::Kernel kernel;
  ir::KernelBuilder builder(kernel);
  builder.store(kernel.add_buffer("y", dtype, ir::Role::Out, 1), ir::Index(), builder.op(op, {builder.scalar(kernel.add_scalar("x", dtype))}),
                Level::Row);
  const ir::Kernel basic = expand_math(kernel);
  std::vector<ValueId> values;
  for (const Instr& in : basic.instrs) {
    std::vector<ValueId> args;
    for (const Value arg : in.args) args.push_back(values[static_cast<size_t>(arg)]);
    switch (in.op) {
      case Op::Scalar: values.push_back(x); break;
      case Op::Const: values.push_back(c.builder.constant({in.dtype, in.bits})); break;
      case Op::Store: return args[0];
      default: values.push_back(c.builder.op(in.op, args, in.dtype));
    }
  }
  return -1;
}

ValueId index_cast(Context& c, ValueId x, DType to) {
  return c.builder.type(x).dtype == to ? x : c.builder.op(Op::Cast, {x}, to);
}

CheckedIndex checked(Context& c, ValueId index, ValueId size) {
  const ValueId zero = c.builder.constant(ir::constant(DType::I64, int64_t{0}));
  const ValueId inside = c.builder.op(Op::And, {c.builder.op(Op::Ge, {index, zero}), c.builder.op(Op::Lt, {index, size})});
  return {inside, index_cast(c, index, c.out.tree.index_type)};
}

void widen_index(Context& c, int64_t elements) {
  constexpr int64_t kMost = int64_t{1} << 30;
  if (elements > kMost) c.out.tree.index_type = DType::I64;
}

BlockSums add_over_block(Context& c, ValueId x, int32_t shared) {
  ir::TreeBuilder& b = c.builder;
  const auto [warp, lane] = c.divide(c.thread(), c.literal(c.target.warp));
  ValueId sum = x;  // of the warp's threads up to this one
  for (int64_t distance = 1; distance < c.target.warp; distance *= 2) {
    const ValueId back = c.sub(lane, c.literal(distance)), has = b.op(Op::Ge, {back, c.literal(0)});
    const ValueId other = b.let(Op::Shuffle, {sum, b.op(Op::Max, {back, c.literal(0)})}, b.type(sum));
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
