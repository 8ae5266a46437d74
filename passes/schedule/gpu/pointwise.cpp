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
#include <map>
#include <tuple>

#include "passes/schedule/gpu/context.h"
#include "passes/schedule/gpu/quads.h"

namespace tenon::passes::gpu {

namespace {

constexpr int64_t kTile = 32;
constexpr int64_t kTileRows = 8;        // rows of a tile that 256 threads take at a time
constexpr int64_t kMinTransposed = 16;  // shorter axes would leave most of a tile empty

// Whether neighbours along `axis` are neighbours in memory.
bool contiguous(const Instr& instr, int axis) {
  const Index::Stride stride = instr.index.stride(axis);
  return stride.ok && stride.value == 1;
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
  if (axis < 0 || kernel.extent(axis) % kQuad != 0) return false;
  const std::vector<bool> varies = varying_along(kernel, axis);
  return std::all_of(kernel.instrs.begin(), kernel.instrs.end(), [&](const Instr& instr) {
    return instr.op != Op::Store || moves_as_quad(kernel, instr, axis, varies);
  });
}

// Four elements a thread: whatever does not vary along the axis before the loop over them.
void quad_body(Context& c, int axis, ValueId first) {
  const ir::Kernel& kernel = c.kernel;
  const std::vector<bool> varies = varying_along(kernel, axis);
  std::vector<Value> vectors, single;
  for (Value v = 0; v < static_cast<Value>(kernel.instrs.size()); ++v) {
    const Instr& instr = kernel.instr(v);
    if (instr.op == Op::Store || (instr.op == Op::Load && varies[v] && moves_as_quad(kernel, instr, axis, varies))) {
      vectors.push_back(v);
    } else if (varies[v]) {
      single.push_back(v);
    } else {
      c.nest.emit(v);
    }
  }
  Quads quads(c);
  c.in_scope([&] {
    c.nest.bind(axis, first);
    for (Value v : vectors) {
      const Instr& instr = kernel.instr(v);
      const ValueId place = c.nest.position_of(v);
      instr.op == Op::Load ? quads.read(v, instr.slot, place) : quads.write(instr.args[0], instr.slot, place);
    }
  });
  c.nest.prepare(single);
  quads.each([&](ValueId k) {
    c.nest.bind(axis, c.add(first, k));
    for (Value v : single) c.nest.emit(v);
  });
}

}  // namespace

void lower_pointwise(Context& c) {
  std::vector<int> axes = c.axes(AxisKind::Parallel);
  const int inner = innermost(c.kernel);
  const bool vectors = vectorizable(c.kernel, inner);
  c.each_item("map", c.product(axes) / (vectors ? kQuad : 1), [&](ValueId item) {
    if (!vectors) {
      c.nest.bind_linear(axes, item);
      for (Value v = 0; v < static_cast<Value>(c.kernel.instrs.size()); ++v) c.nest.emit(v);
      return;
    }
    std::erase_if(axes, [&](int axis) { return axis == inner || c.extent(axis) == 1; });
    const ValueId four = c.bind_outer(axes, item, c.extent(inner) / kQuad).second;
    quad_body(c, inner, c.mul(four, c.literal(kQuad)));
  });
}

// --- transpose

namespace {

// A load worth turning around: its neighbours along the stores' axis lie far apart, those along `axis` side
// by side.
bool transposed(const Instr& instr, int inner, int axis) {
  if (instr.op != Op::Load || instr.scale != 0 || !contiguous(instr, axis)) return false;
  const Index::Stride stride = instr.index.stride(inner);
  return stride.ok && std::abs(stride.value) >= kMinTransposed;
}

}  // namespace

int transposed_axis(const ir::Kernel& kernel, const ir::GpuTarget& target) {
  const int inner = innermost(kernel);
  const auto long_enough = [&](int axis) {
    return kernel.extent(axis) >= kMinTransposed;
  };
  if (inner < 0 || !long_enough(inner)) return -1;
  for (const Instr& instr : kernel.instrs) {
    if (instr.op == Op::Store && !contiguous(instr, inner)) return -1;
  }
  for (int axis = inner - 1; axis >= 0; --axis) {
    int64_t bytes = 0;
    for (const Instr& instr : kernel.instrs) {
      if (transposed(instr, inner, axis)) bytes += kTile * (kTile + 1) * ir::item_size(instr.dtype);
    }
    if (long_enough(axis) && bytes > 0 && bytes <= target.static_shared_bytes()) return axis;
  }
  return -1;
}

void lower_transpose(Context& c) {
  const ir::Kernel& kernel = c.kernel;
  const int inner = innermost(kernel), axis = transposed_axis(kernel, c.target);
  const std::vector<int> batch = c.parallel_but({axis, inner});
  const int64_t inner_tiles = ceil_div(c.extent(inner), kTile), axis_tiles = ceil_div(c.extent(axis), kTile);

  std::map<Value, int32_t> tiles;
  for (Value v = 0; v < static_cast<Value>(kernel.instrs.size()); ++v) {
    if (!transposed(kernel.instr(v), inner, axis)) continue;
    tiles[v] = c.builder.add_buffer({"tile" + std::to_string(v), kernel.instr(v).dtype, Space::Shared, -1, kTile * (kTile + 1)});
  }

  const ValueId block = c.begin_phase("tiles", inner_tiles * axis_tiles * c.product(batch));
  auto [rest, inner_tile] = c.divide(block, c.nest.size(inner_tiles));
  auto [point, axis_tile] = c.divide(rest, c.nest.size(axis_tiles));
  c.nest.bind_linear(batch, point);
  const ValueId width = c.literal(kTile), pitch = c.literal(kTile + 1);
  const ValueId axis_start = c.mul(axis_tile, width), inner_start = c.mul(inner_tile, width);
  auto [first_down, across] = c.divide(c.thread(), width);

  // body(place) for this thread's four elements of the tile, `down` in the eight rows of threads and four steps;
  // by_axis says which axis runs across.
  const auto each = [&, first_down = first_down, across = across](bool by_axis, const auto& body) {
    c.loop(c.literal(0), width, kTileRows, [&](ValueId step) {
      const ValueId down = c.add(first_down, step);
      const ValueId at_axis = c.add(axis_start, by_axis ? across : down), at_inner = c.add(inner_start, by_axis ? down : across);
      c.nest.bind(axis, at_axis);
      c.nest.bind(inner, at_inner);
      const ValueId whole = by_axis ? c.add(c.mul(down, pitch), across) : c.add(c.mul(across, pitch), down);
      const auto before_end = [&](int a, ValueId at) { return c.extent(a) % kTile == 0 ? -1 : c.less(at, c.nest.extent(a)); };
      c.nest.when(before_end(axis, at_axis), [&] { c.nest.when(before_end(inner, at_inner), [&] { body(whole); }); });
    }, true);
  };
  each(true, [&](ValueId place) {
    for (const auto& [v, tile] : tiles) {
      c.builder.store(tile, place, c.builder.load(kernel.instr(v).slot, c.nest.position_of(v), 1, c.nest.inside(v)));
    }
  });
  c.builder.barrier();
  each(false, [&](ValueId place) {
    for (Value v = 0; v < static_cast<Value>(kernel.instrs.size()); ++v) {
      const auto tile = tiles.find(v);
      if (tile == tiles.end()) {
        c.nest.emit(v);
        continue;
      }
      ValueId element = c.builder.load(tile->second, place, 1);
      if (const ValueId inside = c.nest.inside(v); inside >= 0) {
        element = c.builder.op(Op::Where, {inside, element, c.nest.get(kernel.instr(v).args[0])});
      }
      c.nest.set(v, element);
    }
  });
  c.end_phase();
}

}  // namespace tenon::passes::gpu
