// Maps on a CPU.
//
//   pointwise, contiguous: a phase over chunks         transpose: a phase over tiles of 32 x 64, so that a
//   of 4096 elements                                   cache line read along the other axis is used up
//     for v in chunk step 4 vectors { ... }            before it leaves the cache
//     for v in rest step 1 vector, masked { ... }
#include <algorithm>
#include <map>
#include <optional>

#include "passes/passes.h"
#include "passes/schedule/cpu/context.h"

namespace tenon::passes::cpu {

namespace {

constexpr int64_t kChunk = 4096;                     // elements of a contiguous run that one iteration takes
constexpr int64_t kTileOuter = 32, kTileInner = 64;  // transposed tiles

std::vector<Value> all_instrs(const ir::Kernel& kernel) {
  std::vector<Value> result;
  for (size_t v = 0; v < kernel.instrs.size(); ++v) result.push_back(static_cast<Value>(v));
  return result;
}

// Emits what does not vary along the lanes, then prepares the rest for the loop.
std::vector<Value> hoist(Nest& nest, const std::vector<Value>& instrs) {
  std::vector<Value> inner;
  for (Value v : instrs) {
    const Instr& in = nest.instr(v);
    if (in.op == Op::Const || in.op == Op::Scalar) continue;
    if (nest.varies(v) || nest.lanes() == 1) {
      inner.push_back(v);
    } else {
      nest.emit(v);
    }
  }
  nest.prepare(inner);
  return inner;
}

void emit_all(Nest& nest, const std::vector<Value>& instrs) {
  for (Value v : instrs) nest.emit(v);
}

}  // namespace

Choice choose_transpose(const ir::Kernel& kernel) {
  const int lane_axis = best_lane_axis(kernel);
  if (lane_axis < 0) return false;
  for (int a : ir::axes_of(kernel, AxisKind::Parallel)) {
    const auto extent = [&](int axis) { return kernel.extent(axis); };
    if (a == lane_axis || extent(a) < 8 || extent(lane_axis) < 8) continue;
    for (const Instr& in : kernel.instrs) {
      if ((in.op != Op::Load && in.op != Op::Store) || in.scale != 0) continue;
      Index::Stride along = in.index.stride(a), across = in.index.stride(lane_axis);
      if (along.ok && along.value == 1 && !(across.ok && (across.value == 0 || across.value == 1))) return {true, a};
    }
  }
  return false;
}

Choice choose_split_transpose(const ir::Kernel& kernel) {
  std::optional<ir::Kernel> split = split_axes(kernel);
  if (!split) return false;
  Choice choice = choose_transpose(*split);
  if (choice.program == 0) return false;
  constexpr int64_t kLeastTile = 1024;  // elements; instead of smaller ones a gather along the whole axis is as fast
  const int64_t outer = split->extent(std::any_cast<int>(choice.plan)), inner = split->extent(best_lane_axis(*split));
  if (std::min(outer, kTileOuter) * std::min(inner, kTileInner) < kLeastTile) return false;
  return {true, SplitAxes{*std::move(split), std::move(choice.plan)}};
}

void lower_transpose(Context& c) {
  Nest& nest = c.nest;
  const int lane_axis = best_lane_axis(c.kernel), other = std::any_cast<int>(c.plan);
  c.set_lanes(lane_axis);
  const std::vector<int> outer = c.parallel_but({lane_axis, other});
  std::map<Value, Panel> packed;  // read in place, they would hit the same cache sets again and again for wide rows
  std::vector<Value> direct;
  for (Value v : all_instrs(c.kernel)) {
    const Instr& in = nest.instr(v);
    const Index::Stride along = in.index.stride(other), across = in.index.stride(lane_axis);
    if (in.op == Op::Load && in.guards.empty() && in.scale == 0 && along.ok && along.value == 1 && across.ok && across.value != 0) {
      const int64_t pitch = kTileInner + 64 / ir::item_size(in.dtype);  // a cache line more: not a multiple of many cache sets
      const int64_t count = (kTileOuter + packed_slack(c, v, other)) * pitch;
      packed[v] = {c.fixed_buffer("tile" + std::to_string(packed.size()), in.dtype, Space::Local, count), kZero, pitch};
    } else {
      direct.push_back(v);
    }
  }
  const int64_t rows = ceil_div(c.extent(other), kTileOuter), columns = ceil_div(c.extent(lane_axis), kTileInner);
  ValueId t = c.begin_phase("tiles", c.product(outer) * rows * columns, 2 * c.ns_per_element * kTileOuter * kTileInner);
  auto [row_tiles, column_tile] = c.divide(t, nest.size(columns));
  ValueId row = c.mul(c.bind_outer(outer, row_tiles, rows).second, c.literal(kTileOuter)),
          column = c.mul(column_tile, c.literal(kTileInner));
  ValueId row_end = c.minimum(c.add(row, c.literal(kTileOuter)), nest.size(c.extent(other)));
  ValueId column_end = c.minimum(c.add(column, c.literal(kTileInner)), nest.size(c.extent(lane_axis)));
  PackedTile tile{lane_axis, other, column, static_cast<int>(kTileInner) / nest.lanes(), column_end};
  tile.row_begin = row;
  tile.row_end = row_end;
  for (const auto& [load, panel] : packed) pack(c, {&load, 1}, tile, panel);
  c.loop(row, row_end, 1, [&](ValueId at) {
    nest.bind(other, at);
    const std::vector<Value> inner = hoist(nest, direct);
    c.vector_loop(lane_axis, column, column_end, 1, [&] {
      for (const auto& [load, panel] : packed) {
        const ValueId place = c.add(panel.row(c, c.sub(at, row)), c.sub(nest.axis_value(lane_axis), column));
        nest.set(load, c.builder.load(panel.buffer, place, nest.lanes(), nest.mask()));
      }
      emit_all(nest, inner);
    });
  });
  c.end_phase();
}

void lower_pointwise(Context& c) {
  Nest& nest = c.nest;
  int lane_axis = best_lane_axis(c.kernel);
  c.set_lanes(lane_axis);
  if (lane_axis < 0) {  // a single element
    c.begin_phase("once", 1, c.ns_per_element * c.lanes);
    emit_all(nest, all_instrs(c.kernel));
    c.end_phase();
    return;
  }
  c.run_phase("elements", c.parallel_but({lane_axis}), lane_axis, kChunk, c.ns_per_element, Context::Phases::One,
              [&](ValueId begin, ValueId end) {
                std::vector<Value> inner = hoist(nest, all_instrs(c.kernel));
                c.vector_loop(lane_axis, begin, end, c.unroll_for(inner.size()), [&] { emit_all(nest, inner); });
              });
}

}  // namespace tenon::passes::cpu
