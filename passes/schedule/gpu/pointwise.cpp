// Maps on a GPU.
//
//   pointwise   256 threads a block; a thread takes one element, or four neighbours where every store, and
//               whatever load can, moves them as one aligned vector:
//                 if item < s1 {
//                   %v = load x[4*item] : f32x4; for l in 0..4 unroll { ... }; store y[4*item] : f32x4 }
//   transpose   some load is contiguous along another axis than the stores: 32x32 tiles pass through shared
//               memory, so that both sides of the tile are read and written in rows.
#include <algorithm>
#include <cstdlib>

#include "passes/schedule/gpu/context.h"
#include "passes/schedule/nest.h"

namespace tenon::passes::gpu {

using ir::Op;
using ir::ValueId;

namespace {

constexpr int64_t kVector = 4;
constexpr int64_t kTile = 32;
constexpr int64_t kTileRows = 8;        // rows of a tile that 256 threads take at a time
constexpr int64_t kMinTransposed = 16;  // shorter axes would leave most of a tile empty

// Whether neighbours along `axis` are neighbours in memory.
bool contiguous(const ir::Instr& instr, int axis) {
  const ir::Index::Stride stride = instr.index.stride(axis);
  return stride.ok && stride.value == 1;
}

// Whether four elements at a multiple of four along `axis` can move as one aligned vector, without a guard.
// `varies`: which values change along the axis.
bool moves_as_vector(const ir::Instr& instr, int axis, const std::vector<bool>& varies) {
  if (!instr.guards.empty() || !contiguous(instr, axis)) return false;
  if (instr.scale != 0 && (instr.scale % kVector != 0 || varies[static_cast<size_t>(instr.position())]))
    return false;
  const ir::Index start = instr.index.substitute(
      [&](int id, int64_t extent) { return id == axis ? ir::Index(0) : ir::Index::axis(id, extent); });
  return start.divisor() % kVector == 0;
}

// For each instruction: does its value change along `axis`?
std::vector<bool> varying(const ir::Kernel& kernel, int axis) {
  std::vector<bool> varies(kernel.instrs.size(), false);
  for (size_t v = 0; v < kernel.instrs.size(); ++v) {
    const ir::Instr& instr = kernel.instrs[v];
    varies[v] = depends_on(instr, axis) ||
                std::any_of(instr.args.begin(), instr.args.end(),
                            [&](ir::Value arg) { return varies[static_cast<size_t>(arg)]; });
  }
  return varies;
}

// The innermost axis with more than one element; the last one if there is none.
int innermost(const ir::Kernel& kernel) {
  int axis = static_cast<int>(kernel.axes.size()) - 1;
  for (int i = axis; i >= 0; --i) {
    if (kernel.extent(i) != 1) return i;
  }
  return axis;
}

bool vectorizable(const ir::Kernel& kernel, int axis) {
  if (axis < 0 || kernel.extent(axis) % kVector != 0) return false;
  const std::vector<bool> varies = varying(kernel, axis);
  return std::all_of(kernel.instrs.begin(), kernel.instrs.end(), [&](const ir::Instr& instr) {
    return instr.op != Op::Store || moves_as_vector(instr, axis, varies);
  });
}

int64_t point_count(const ir::Kernel& kernel) {
  int64_t points = 1;
  for (const ir::Axis& axis : kernel.axes) points *= axis.extent;
  return points;
}

// Every instruction once, for one element a thread.
void scalar_body(Context& context) {
  for (size_t v = 0; v < context.kernel.instrs.size(); ++v) context.lower(static_cast<ir::Value>(v));
}

// Four elements a thread: whatever does not vary along the axis, and the vector loads, before the loop over
// lanes; the vector stores, from small arrays, after it.
void vector_body(Context& context, int axis) {
  const ir::Kernel& kernel = context.kernel;
  const ValueId first = context.axis(axis);  // of the four elements
  const std::vector<bool> varies = varying(kernel, axis);
  const ValueId zero = context.number(0);
  std::vector<ValueId> vectors(kernel.instrs.size(), -1);
  std::vector<int32_t> results(kernel.instrs.size(), -1);
  for (size_t v = 0; v < kernel.instrs.size(); ++v) {
    const ir::Instr& instr = kernel.instrs[v];
    if (!varies[v]) {
      if (instr.op != Op::Store) context.lower(static_cast<ir::Value>(v));
    } else if (instr.op == Op::Load && moves_as_vector(instr, axis, varies)) {
      vectors[v] = context.b.load(instr.slot, context.place(instr), kVector);
    } else if (instr.op == Op::Store) {
      results[v] = context.b.add_buffer({"lanes" + std::to_string(context.out.tree.buffers.size()),
                                         instr.dtype, ir::Space::Local, -1, kVector});
    }
  }
  const ValueId lane = context.begin_for(zero, context.number(kVector), 1, true);
  context.bind_axis(axis, context.add(first, lane));
  for (size_t v = 0; v < kernel.instrs.size(); ++v) {
    const ir::Instr& instr = kernel.instrs[v];
    if (vectors[v] >= 0) {
      context.bind(static_cast<ir::Value>(v),
                   context.b.let(Op::Extract, {vectors[v], lane}, {instr.dtype, 1}));
    } else if (instr.op == Op::Store) {
      if (results[v] < 0) refuse(kernel, "a store does not vary along the innermost axis");
      context.b.store(results[v], lane, context.value(instr.args[0]));
    } else if (varies[v]) {
      context.lower(static_cast<ir::Value>(v));
    }
  }
  context.end_for();
  for (size_t v = 0; v < kernel.instrs.size(); ++v) {
    if (results[v] < 0) continue;
    const ir::Instr& instr = kernel.instrs[v];
    const ValueId vector = context.b.load(results[v], zero, kVector);
    context.b.store(instr.slot, context.place(instr), vector);
  }
}

}  // namespace

Lowered lower_pointwise(const ir::Kernel& kernel, const ir::GpuTarget& target) {
  Context context(kernel, "pointwise", target.threads);
  const int inner = innermost(kernel);
  const int64_t width = vectorizable(kernel, inner) ? kVector : 1;
  const int64_t items = point_count(kernel) / width;

  context.begin_phase("map", ceil_div(items, target.threads));
  const ValueId item = context.item();
  if (items % target.threads != 0)
    context.begin_if(context.less(item, context.size(SizeRole::Points, 0, items)));
  const std::vector<int> axes = ir::axes_of(kernel, ir::AxisKind::Parallel);
  if (width == 1) {
    context.bind_flat(axes, item);
    scalar_body(context);
  } else {
    context.bind_flat(axes, context.mul(item, context.number(kVector)));
    vector_body(context, inner);
  }
  if (items % target.threads != 0) context.end_if();
  context.end_phase();
  return std::move(context.out);
}

// --- transpose

namespace {

// A load worth turning around: its neighbours along the stores' axis lie far apart, those along `axis` side
// by side.
bool transposed(const ir::Instr& instr, int inner, int axis) {
  if (instr.op != Op::Load || instr.scale != 0 || !contiguous(instr, axis)) return false;
  const ir::Index::Stride stride = instr.index.stride(inner);
  return stride.ok && std::abs(stride.value) >= kMinTransposed;
}

}  // namespace

int transposed_axis(const ir::Kernel& kernel, const ir::GpuTarget& target) {
  const int inner = innermost(kernel);
  const auto long_enough = [&](int axis) {
    return kernel.extent(axis) >= kMinTransposed;
  };
  if (inner < 0 || !long_enough(inner)) return -1;
  for (const ir::Instr& instr : kernel.instrs) {
    if (instr.op == Op::Store && !contiguous(instr, inner)) return -1;
  }
  for (int axis = inner - 1; axis >= 0; --axis) {
    int64_t bytes = 0;
    for (const ir::Instr& instr : kernel.instrs) {
      if (transposed(instr, inner, axis)) bytes += kTile * (kTile + 1) * ir::item_size(instr.dtype);
    }
    if (long_enough(axis) && bytes > 0 && bytes <= target.shared_bytes) return axis;
  }
  return -1;
}

namespace {

// One 32x32 tile of the plane (axis, inner). `across` runs over threads side by side, `down` over the eight
// rows of threads and four steps.
struct Tile {
  Context& context;
  int axis, inner;
  ValueId axis_start, inner_start, across, down_start;

  // Calls body(down) for this thread's four elements; `by_axis` says which axis runs across.
  template <typename Body>
  void each(bool by_axis, const Body& body) {
    const ValueId step = context.begin_for(context.number(0), context.number(kTile), kTileRows, true);
    const ValueId down = context.add(down_start, step);
    context.bind_axis(axis, context.add(axis_start, by_axis ? across : down));
    context.bind_axis(inner, context.add(inner_start, by_axis ? down : across));
    const bool ragged_axis = context.kernel.extent(axis) % kTile != 0;
    const bool ragged_inner = context.kernel.extent(inner) % kTile != 0;
    if (ragged_axis) context.begin_if(context.less(context.axis(axis), context.extent(axis)));
    if (ragged_inner) context.begin_if(context.less(context.axis(inner), context.extent(inner)));
    body(down);
    if (ragged_inner) context.end_if();
    if (ragged_axis) context.end_if();
    context.end_for();
  }
};

}  // namespace

Lowered lower_transpose(const ir::Kernel& kernel, const ir::GpuTarget& target) {
  Context context(kernel, "transpose", target.threads);
  const int inner = innermost(kernel), axis = transposed_axis(kernel, target);
  std::vector<int> batch = ir::axes_of(kernel, ir::AxisKind::Parallel);
  std::erase_if(batch, [&](int id) { return id == axis || id == inner; });
  const int64_t inner_tiles = ceil_div(kernel.extent(inner), kTile);
  const int64_t axis_tiles = ceil_div(kernel.extent(axis), kTile);
  int64_t blocks = inner_tiles * axis_tiles;
  for (int id : batch) blocks *= kernel.extent(id);

  std::vector<int32_t> tiles(kernel.instrs.size(), -1);
  for (size_t v = 0; v < kernel.instrs.size(); ++v) {
    if (!transposed(kernel.instrs[v], inner, axis)) continue;
    tiles[v] = context.b.add_buffer(
        {"tile" + std::to_string(v), kernel.instrs[v].dtype, ir::Space::Shared, -1, kTile * (kTile + 1)});
  }

  context.begin_phase("tiles", blocks);
  const ValueId block = context.b.phase_index();
  const ValueId inner_count = context.size(SizeRole::Tiles, inner, inner_tiles);
  const ValueId axis_count = context.size(SizeRole::Tiles, axis, axis_tiles);
  const ValueId width = context.number(kTile);
  const ValueId rest = context.div(block, inner_count);
  context.bind_flat(batch, context.div(rest, axis_count));
  Tile tile{context,
            axis,
            inner,
            context.mul(context.rem(rest, axis_count), width),
            context.mul(context.rem(block, inner_count), width),
            context.rem(context.thread(), width),
            context.div(context.thread(), width)};
  const ValueId pitch = context.number(kTile + 1);

  tile.each(true, [&](ValueId down) {
    const ValueId place = context.add(context.mul(down, pitch), tile.across);
    for (size_t v = 0; v < kernel.instrs.size(); ++v) {
      if (tiles[v] < 0) continue;
      const ir::Instr& instr = kernel.instrs[v];
      const ValueId loaded = context.b.load(instr.slot, context.index(instr.index), 1, context.guard(instr));
      context.b.store(tiles[v], place, loaded);
    }
  });
  context.b.barrier();
  tile.each(false, [&](ValueId down) {
    const ValueId place = context.add(context.mul(tile.across, pitch), down);
    for (size_t v = 0; v < kernel.instrs.size(); ++v) {
      const ir::Instr& instr = kernel.instrs[v];
      if (tiles[v] < 0) {
        context.lower(static_cast<ir::Value>(v));
        continue;
      }
      ValueId element = context.b.load(tiles[v], place, 1);
      const ValueId mask = context.guard(instr);
      if (mask >= 0) element = context.b.op(Op::Where, {mask, element, context.value(instr.args[0])});
      context.bind(static_cast<ir::Value>(v), element);
    }
  });
  context.end_phase();
  return std::move(context.out);
}

}  // namespace tenon::passes::gpu
