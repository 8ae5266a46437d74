// Maps on a GPU.
//
//   pointwise   256 threads a block; a thread takes one element, or four neighbours where every store, and
//               whatever load can, moves them as one aligned vector:
//                 if item < s1 {
//                   %v = load x[4*item] : f32x4; for l in 0..4 unroll { ... }; store y[4*item] : f32x4 }
//   transpose   some load is contiguous along another axis than the stores: 32x32 tiles pass through shared
//               memory, so that both sides of the tile are read and written in rows; or 64x64, whose rows are aligned vectors
//               of four in memory.
#include <algorithm>
#include <cstdlib>
#include <functional>
#include <map>
#include <tuple>

#include "passes/schedule/gpu/context.h"
#include "passes/schedule/gpu/vector_access.h"

namespace tenon::passes::gpu {

namespace {

constexpr int64_t kScalarTile = 32, kVectorTile = 64;
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
  if (axis < 0 || kernel.extent(axis) % kVector != 0) return false;
  const std::vector<bool> varies = varying_along(kernel, axis);
  return std::ranges::all_of(kernel.instrs,
                             [&](const Instr& instr) { return instr.op != Op::Store || moves_as_vector(kernel, instr, axis, varies); });
}

// Four elements a thread: whatever does not vary along the axis before the loop over them. Those of `staged` are what
// staged(v, k) gives.
using Staged = std::map<Value, std::function<ValueId(ValueId k)>>;
void vector_body(Context& c, int axis, ValueId first, const Staged& staged = {}) {
  const ir::Kernel& kernel = c.kernel;
  const std::vector<bool> varies = varying_along(kernel, axis);
  std::vector<Value> vectors, single;
  for (Value v = 0; v < static_cast<Value>(kernel.instrs.size()); ++v) {
    const Instr& instr = kernel.instr(v);
    if (staged.count(v) != 0) continue;
    if (instr.op == Op::Store || (instr.op == Op::Load && varies[v] && moves_as_vector(kernel, instr, axis, varies))) {
      vectors.push_back(v);
    } else if (varies[v]) {
      single.push_back(v);
    } else {
      c.nest.emit(v);
    }
  }
  VectorAccess access(c);
  access.move(vectors, axis, first);
  c.nest.prepare(single);
  access.each([&](ValueId k) {
    c.nest.bind(axis, c.add(first, k));
    for (const auto& [v, element] : staged) c.nest.set(v, element(k));
    for (Value v : single) c.nest.emit(v);
  });
}

}  // namespace

void lower_pointwise(Context& c) {
  std::vector<int> axes = c.axes(AxisKind::Parallel);
  const int inner = innermost(c.kernel);
  const bool vectors = vectorizable(c.kernel, inner);
  c.each_item("map", c.product(axes) / (vectors ? kVector : 1), [&](ValueId item) {
    if (!vectors) {
      c.nest.bind_linear(axes, item);
      for (Value v = 0; v < static_cast<Value>(c.kernel.instrs.size()); ++v) c.nest.emit(v);
      return;
    }
    std::erase_if(axes, [&](int axis) { return axis == inner || c.extent(axis) == 1; });
    const ValueId four = c.bind_outer(axes, item, c.extent(inner) / kVector).second;
    vector_body(c, inner, c.mul(four, c.literal(kVector)));
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

Choice choose_transpose(const ir::Kernel& kernel, const ir::GpuTarget& target) {
  const int inner = innermost(kernel);
  const auto long_enough = [&](int axis) { return kernel.extent(axis) >= kMinTransposed; };
  if (target.threads != 8 * target.warp || inner < 0 || !long_enough(inner)) return false;
  for (const Instr& instr : kernel.instrs) {
    if (instr.op == Op::Store && !contiguous(instr, inner)) return false;
  }
  for (int axis = inner - 1; axis >= 0; --axis) {
    int64_t bytes = 0;
    for (const Instr& instr : kernel.instrs) {
      if (transposed(instr, inner, axis)) bytes += kScalarTile * (kScalarTile + 1) * ir::item_size(instr.dtype);
    }
    if (long_enough(axis) && bytes > 0 && bytes <= target.static_shared_bytes()) return {true, axis};
  }
  return false;
}

namespace {

// Tiles through which operands are turned around. `width`: neighbours that a thread moves as one vector.
class Transpose {
 public:
  explicit Transpose(Context& c) : c_(c), inner_(innermost(c.kernel)), axis_(std::any_cast<int>(c.plan)) {
    int64_t item_bytes = 0;
    bool vectors = vectorizable(c.kernel, inner_) && c.kernel.extent(axis_) % kVector == 0;
    const std::vector<bool> varies = varying_along(c.kernel, axis_);
    for (Value v = 0; v < static_cast<Value>(c.kernel.instrs.size()); ++v) {
      const Instr& instr = c.kernel.instr(v);
      if (!transposed(instr, inner_, axis_)) continue;
      tiles_[v] = kNone;
      item_bytes += ir::item_size(instr.dtype);
      vectors = vectors && moves_as_vector(c.kernel, instr, axis_, varies);
    }
    if (vectors && kVectorTile * (kVectorTile + 1) * item_bytes <= c.target.static_shared_bytes()) {
      tile_ = kVectorTile;
      width_ = kVector;
    }
    pitch_ = tile_ + 1;
    for (auto& [v, buffer] : tiles_) {
      buffer = c.fixed_buffer("tile" + std::to_string(v), c.kernel.instr(v).dtype, Space::Shared, tile_ * pitch_);
    }
  }

  void lower() {
    const std::vector<int> batch = c_.parallel_but({axis_, inner_});
    const int64_t inner_tiles = ceil_div(c_.extent(inner_), tile_), axis_tiles = ceil_div(c_.extent(axis_), tile_);
    const ValueId block = c_.begin_phase("tiles", inner_tiles * axis_tiles * c_.product(batch));
    auto [rest, inner_tile] = c_.divide(block, c_.nest.size(inner_tiles));
    auto [point, axis_tile] = c_.divide(rest, c_.nest.size(axis_tiles));
    c_.nest.bind_linear(batch, point);
    axis_start_ = c_.mul(axis_tile, c_.literal(tile_));
    inner_start_ = c_.mul(inner_tile, c_.literal(tile_));
    std::tie(first_down_, across_) = c_.divide(c_.thread(), c_.literal(tile_ / width_));
    if (width_ > 1) across_ = c_.mul(across_, c_.literal(width_));
    each(true, [&](ValueId down) { width_ > 1 ? take_vectors(down) : take(down); });
    c_.builder.barrier();
    each(false, [&](ValueId down) { width_ > 1 ? give_vectors(down) : give(down); });
    c_.end_phase();
  }

 private:
  // body(down) for this thread's elements of the tile, in the rows that all threads take at a time; by_axis says which axis runs
  // across.
  template <typename Body>
  void each(bool by_axis, const Body& body) {
    c_.unrolled(c_.literal(0), c_.literal(tile_), c_.out.tree.threads * width_ / tile_, [&](ValueId step) {
      const ValueId down = c_.add(first_down_, step);
      const ValueId at_axis = c_.add(axis_start_, by_axis ? across_ : down), at_inner = c_.add(inner_start_, by_axis ? down : across_);
      c_.nest.bind(axis_, at_axis);
      c_.nest.bind(inner_, at_inner);
      const auto before_end = [&](int a, ValueId at) { return c_.extent(a) % tile_ == 0 ? kAlways : c_.less(at, c_.nest.extent(a)); };
      c_.nest.when(before_end(axis_, at_axis), [&] { c_.nest.when(before_end(inner_, at_inner), [&] { body(down); }); });
    });
  }
  ValueId place(ValueId row, ValueId column) { return c_.add(c_.mul(row, c_.literal(pitch_)), column); }

  void take(ValueId down) {
    for (const auto& [v, tile] : tiles_) {
      const ValueId element = c_.builder.load(c_.kernel.instr(v).slot, c_.nest.position_of(v), 1, c_.nest.inside(v));
      c_.builder.store(tile, place(down, across_), element);
    }
  }
  void take_vectors(ValueId down) {
    VectorAccess access(c_);
    for (const auto& [v, tile] : tiles_) access.read(v, c_.kernel.instr(v).slot, c_.nest.position_of(v));
    access.each([&](ValueId k) {
      for (const auto& [v, tile] : tiles_) c_.builder.store(tile, place(down, c_.add(across_, k)), c_.nest.get(v));
    });
  }

  void give(ValueId down) {
    for (Value v = 0; v < static_cast<Value>(c_.kernel.instrs.size()); ++v) {
      const auto tile = tiles_.find(v);
      if (tile == tiles_.end()) {
        c_.nest.emit(v);
        continue;
      }
      ValueId element = c_.builder.load(tile->second, place(across_, down), 1);
      if (const ValueId inside = c_.nest.inside(v); inside >= 0) {
        element = c_.builder.op(Op::Where, {inside, element, c_.nest.get(c_.kernel.instr(v).args[0])});
      }
      c_.nest.set(v, element);
    }
  }
  void give_vectors(ValueId down) {
    Staged staged;
    for (const auto& [v, tile] : tiles_) {
      staged[v] = [&, tile = tile](ValueId k) { return c_.builder.load(tile, place(c_.add(across_, k), down), 1); };
    }
    vector_body(c_, inner_, c_.add(inner_start_, across_), staged);
  }

  Context& c_;
  int inner_, axis_;
  int64_t tile_ = kScalarTile, pitch_ = 0, width_ = 1;
  std::map<Value, int32_t> tiles_;  // by load: in shared memory
  ValueId axis_start_ = kNone, inner_start_ = kNone, first_down_ = kNone, across_ = kNone;
};

}  // namespace

void lower_transpose(Context& c) { Transpose(c).lower(); }

}  // namespace tenon::passes::gpu
