// Kernel -> loop tree for a CPU: picks the schedule, and holds the simplest one, pointwise.
//
//   pointwise, contiguous: a phase over chunks         pointwise, transposed: a phase over tiles of 32 x 64,
//   of 4096 elements                                   so that a cache line read along the other axis is
//     for v in chunk step 4 vectors { ... }            used up before it leaves the cache
//     for v in rest step 1 vector, masked { ... }
#include "passes/schedule/cpu/schedule.h"

#include <algorithm>
#include <array>
#include <bit>
#include <optional>
#include <tuple>

namespace tenon::passes {
namespace cpu {

using ir::AxisKind;
using ir::DType;
using ir::Op;
using ir::Value;
using ir::ValueId;

namespace {
constexpr int64_t kChunk = 4096;                     // elements of a contiguous run that one iteration takes
constexpr int64_t kTileOuter = 32, kTileInner = 64;  // transposed tiles
constexpr int64_t kTileStride = 40;                  // of a staged tile: not a multiple of many cache sets
constexpr double kNsPerByte = 0.08;

// The axis that will run along the lanes; -1 if that is not known yet.
int expected_lane_axis(const ir::Kernel& kernel) {
  if (kernel.has(AxisKind::Contract)) return -1;
  if (std::optional<ShortRows> rows = short_rows(kernel)) return rows->lane;
  if (kernel.has(AxisKind::Serial) && scans_along_lines(kernel)) return static_cast<int>(kernel.axes.size()) - 1;
  bool lanes = std::any_of(kernel.instrs.begin(), kernel.instrs.end(), [](const ir::Instr& in) {
    return ir::is_reduce(in.op) && in.tree == ir::ReduceTree::Lanes;
  });
  return lanes ? static_cast<int>(kernel.axes.size()) - 1 : best_lane_axis(kernel);
}

// What vectors do, by the bytes of an element: [0] of 1 byte, [1] of 2, [2] of 4, [3] of 8.
using WorkBySize = std::array<double, 4>;

WorkBySize vector_work(const ir::Kernel& kernel) {
  WorkBySize work{};
  auto add = [&](int item_size, double cost) {
    work[static_cast<size_t>(std::countr_zero(static_cast<unsigned>(item_size)))] += cost;
  };
  int axis = expected_lane_axis(kernel);
  std::vector<bool> varies = varying_along(kernel, axis);
  for (size_t v = 0; v < kernel.instrs.size(); ++v) {
    const ir::Instr& in = kernel.instrs[v];
    if (ir::is_reduce(in.op)) {
      bool has_index = in.op == Op::ArgMax || in.op == Op::ArgMin;
      add(ir::item_size(kernel.instrs[static_cast<size_t>(in.args[0])].dtype), has_index ? 6 : 1);
      if (has_index) add(8, 3);
    } else if (axis < 0 || varies[v]) {
      int size = ir::item_size(in.dtype);
      for (Value a : in.args) size = std::max(size, ir::item_size(kernel.instrs[static_cast<size_t>(a)].dtype));
      add(size, std::max<int>(1, ir::info(in.op).cost));
    }
  }
  return work;
}

// Bytes that each lane has of a vector. A contraction's are those of the sums that it keeps in registers. Else the
// widest element's; or half of that where no more than half of the work is as wide: such values then lie in two
// vectors each.
int bytes_of_lane(const ir::Kernel& kernel) {
  for (const ir::Instr& in : kernel.instrs) {
    if (in.op == Op::Contract) return ir::item_size(in.dtype);
  }
  WorkBySize work = vector_work(kernel);
  int widest = 3;
  while (widest > 0 && work[static_cast<size_t>(widest)] == 0) --widest;
  double narrower = 0;
  for (int s = 0; s < widest; ++s) narrower += work[static_cast<size_t>(s)];
  return work[static_cast<size_t>(widest)] <= narrower ? 1 << (widest - 1) : 1 << widest;
}

}  // namespace

int unroll_for(size_t instrs) { return instrs <= 16 ? 4 : instrs <= 48 ? 2 : 1; }

Context::Context(const ir::Kernel& k, Lowered& lowered, const CpuTarget& target)
    : kernel(k), out(lowered), builder(lowered.tree), nest(k, builder, lowered.sizes) {
  lanes = std::clamp(target.vector_bits / (8 * bytes_of_lane(k)), 1, 64);
  vector_registers = target.vector_bits == 512 ? 32 : 16;
  double bytes = 0, work = 0;
  for (const ir::Instr& in : k.instrs) {
    work += ir::info(in.op).cost;
    if (in.op == Op::Load || in.op == Op::Store) bytes += ir::item_size(in.dtype);
  }
  ns_per_element = std::max(work / (2.5 * lanes), bytes * kNsPerByte);
  ir::LoopTree& tree = lowered.tree;
  tree.name = k.name;
  tree.target = ir::Target::Cpu;
  tree.lanes = lanes;
  for (const ir::KernelBuffer& buffer : k.buffers) {
    builder.add_buffer(
        {buffer.name, buffer.dtype, buffer.role == ir::Role::In ? ir::Space::In : ir::Space::Out, -1, 0});
  }
  for (const ir::KernelScalar& scalar : k.scalars) tree.scalars.push_back(scalar.dtype);
}

std::vector<int> Context::axes(AxisKind kind) const {
  std::vector<int> result;
  for (size_t a = 0; a < kernel.axes.size(); ++a) {
    if (kernel.axes[a].kind == kind) result.push_back(static_cast<int>(a));
  }
  return result;
}

int64_t Context::product(std::span<const int> of) const {
  int64_t result = 1;
  for (int a : of) result *= extent(a);
  return result;
}

int64_t Context::bytes_read(Value load) const {
  const ir::Instr& in = nest.instr(load);
  int64_t bytes = ir::item_size(in.dtype);
  for (size_t a = 0; a < kernel.axes.size(); ++a) {
    if (in.index.depends_on(static_cast<int>(a))) bytes *= kernel.axes[a].extent;
  }
  return bytes;
}

ValueId Context::begin_phase(std::string name, int64_t count, double ns) {
  builder.begin_phase(std::move(name), nest.size_slot(count));
  out.phase_cost.push_back(ns);
  nest.push();
  return builder.phase_index();
}

void Context::end_phase() {
  nest.pop();
  builder.end_phase();
}

void Context::whole_or_rest(ValueId begin, ValueId end, int64_t extent, int64_t tile,
                            const std::function<void()>& whole, const std::function<void()>& rest) {
  if (extent % tile == 0) return whole();
  if (extent < tile) return rest();
  builder.begin_if(builder.op(Op::Le, {add(begin, nest.literal(tile)), end}));
  whole();
  builder.begin_else();
  rest();
  builder.end_if();
}

std::pair<ValueId, ValueId> Context::divide(ValueId linear, ValueId divisor) {
  ValueId quotient = builder.quotient(linear, divisor);
  return {quotient, sub(linear, mul(quotient, divisor))};
}

namespace {

// Bytes accessed with stride 1 along the axis, an element of the kernel; stores count double.
int64_t contiguous_bytes(const ir::Kernel& kernel, int axis) {
  int64_t bytes = 0;
  for (const ir::Instr& in : kernel.instrs) {
    if (in.op != Op::Load && in.op != Op::Store) continue;
    ir::Index::Stride stride = in.index.stride(axis);
    if (stride.ok && stride.value == 1) bytes += ir::item_size(in.dtype) * (in.op == Op::Store ? 2 : 1);
  }
  return bytes;
}

std::vector<int> parallel_axes(const ir::Kernel& kernel) {
  std::vector<int> result;
  for (size_t a = 0; a < kernel.axes.size(); ++a) {
    if (kernel.axes[a].kind == AxisKind::Parallel) result.push_back(static_cast<int>(a));
  }
  return result;
}

}  // namespace

int best_lane_axis(const ir::Kernel& kernel) {
  int best = -1;
  int64_t best_bytes = -1;
  for (int a : parallel_axes(kernel)) {
    int64_t bytes = contiguous_bytes(kernel, a);
    if (bytes >= best_bytes) {  // the last of equals: the innermost
      best = a;
      best_bytes = bytes;
    }
  }
  return best;
}

bool scans_along_lines(const ir::Kernel& kernel) {
  constexpr int64_t kShortLine = 32, kManyLines = 64;
  int serial = static_cast<int>(kernel.axes.size()) - 1, across = best_lane_axis(kernel);
  if (across < 0) return true;
  int64_t lines = kernel.axes[static_cast<size_t>(across)].extent;
  if (kernel.axes[static_cast<size_t>(serial)].extent < kShortLine && lines >= kManyLines) return false;
  return contiguous_bytes(kernel, serial) > contiguous_bytes(kernel, across);
}

namespace {

std::vector<Value> all_instrs(const ir::Kernel& kernel) {
  std::vector<Value> result;
  for (size_t v = 0; v < kernel.instrs.size(); ++v) result.push_back(static_cast<Value>(v));
  return result;
}

// Emits what does not vary along the lanes, then prepares the rest for the loop.
std::vector<Value> hoist(Nest& nest, const std::vector<Value>& instrs) {
  std::vector<Value> inner;
  for (Value v : instrs) {
    const ir::Instr& in = nest.instr(v);
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

// A second axis along which some access is contiguous though it is not along the lane axis; -1 if none pays.
int transposed_axis(const Context& c, int lane_axis) {
  for (int a : c.axes(AxisKind::Parallel)) {
    if (a == lane_axis || c.extent(a) < 8 || c.extent(lane_axis) < 8) continue;
    for (const ir::Instr& in : c.kernel.instrs) {
      if ((in.op != Op::Load && in.op != Op::Store) || in.scale != 0) continue;
      ir::Index::Stride along = in.index.stride(a), across = in.index.stride(lane_axis);
      if (along.ok && along.value == 1 && !(across.ok && (across.value == 0 || across.value == 1))) return a;
    }
  }
  return -1;
}

// A transposed operand of a tile: read along its own contiguous axis into a local buffer [lane][other], from
// which the tile's vectors then gather. Reading it in place would hit the same cache sets again and again for
// wide rows.
struct Staged {
  Value load;
  int32_t buffer;
};

void stage(Context& c, const std::vector<Staged>& staged, int lane_axis, int other, ValueId column,
           ValueId column_end, ValueId row, ValueId row_end) {
  Nest& nest = c.nest;
  if (staged.empty()) return;
  nest.set_lane_axis(other, c.lanes);
  ValueId at = c.builder.begin_for(column, column_end, 1);
  nest.push();
  nest.bind(lane_axis, at);
  ValueId base = c.mul(c.sub(at, column), nest.literal(kTileStride));
  for (const Staged& s : staged) {
    nest.push();
    nest.prepare({&s.load, 1});
    vector_loop(nest, other, row, row_end, 1, [&] {
      nest.emit(s.load);
      c.builder.store(s.buffer, c.add(base, c.sub(nest.axis_value(other), row)), nest.get(s.load),
                      nest.mask());
    });
    nest.pop();
  }
  nest.pop();
  c.builder.end_for();
  nest.set_lane_axis(lane_axis, c.lanes);
}

void lower_tiles(Context& c, int lane_axis, int other) {
  c.out.schedule = "transpose";
  Nest& nest = c.nest;
  std::vector<int> outer;
  for (int a : c.axes(AxisKind::Parallel)) {
    if (a != lane_axis && a != other) outer.push_back(a);
  }
  std::vector<Staged> staged;
  std::vector<Value> direct;
  for (Value v : all_instrs(c.kernel)) {
    const ir::Instr& in = nest.instr(v);
    ir::Index::Stride along = in.index.stride(other), across = in.index.stride(lane_axis);
    if (in.op == Op::Load && in.guards.empty() && in.scale == 0 && along.ok && along.value == 1 && across.ok &&
        across.value != 0) {
      staged.push_back({v, c.builder.add_buffer({"tile" + std::to_string(staged.size()), in.dtype,
                                                 ir::Space::Local, -1, kTileInner * kTileStride})});
    } else {
      direct.push_back(v);
    }
  }
  int64_t rows = (c.extent(other) + kTileOuter - 1) / kTileOuter,
          columns = (c.extent(lane_axis) + kTileInner - 1) / kTileInner;
  ValueId t = c.begin_phase("tiles", c.product(outer) * rows * columns,
                            2 * c.ns_per_element * kTileOuter * kTileInner);
  auto [row_tile, column_tile] = c.divide(t, nest.size(columns));
  if (!outer.empty()) {
    auto [o, r] = c.divide(row_tile, nest.size(rows));
    nest.bind_linear(outer, o);
    row_tile = r;
  }
  ValueId row = c.mul(row_tile, nest.literal(kTileOuter)),
          column = c.mul(column_tile, nest.literal(kTileInner));
  ValueId row_end = c.minimum(c.add(row, nest.literal(kTileOuter)), nest.size(c.extent(other)));
  ValueId column_end = c.minimum(c.add(column, nest.literal(kTileInner)), nest.size(c.extent(lane_axis)));
  stage(c, staged, lane_axis, other, column, column_end, row, row_end);
  ValueId at = c.builder.begin_for(row, row_end, 1);
  nest.push();
  nest.bind(other, at);
  std::vector<Value> inner = hoist(nest, direct);
  ValueId in_tile = c.sub(at, row);
  vector_loop(nest, lane_axis, column, column_end, 1, [&] {
    ValueId position =
        c.add(c.mul(c.sub(nest.axis_value(lane_axis), column), nest.literal(kTileStride)), in_tile);
    for (const Staged& s : staged) {
      nest.set(s.load, c.builder.load_strided(s.buffer, position, nest.literal(kTileStride), nest.lanes(),
                                              nest.mask()));
    }
    emit_all(nest, inner);
  });
  nest.pop();
  c.builder.end_for();
  c.end_phase();
}

}  // namespace

void lower_pointwise(Context& c) {
  c.out.schedule = "pointwise";
  Nest& nest = c.nest;
  int lane_axis = best_lane_axis(c.kernel);
  if (lane_axis < 0) {  // a single element
    c.begin_phase("once", 1, c.ns_per_element * c.lanes);
    emit_all(nest, all_instrs(c.kernel));
    c.end_phase();
    return;
  }
  nest.set_lane_axis(lane_axis, c.lanes);
  if (int other = transposed_axis(c, lane_axis); other >= 0) return lower_tiles(c, lane_axis, other);
  std::vector<int> outer;
  for (int a : c.axes(AxisKind::Parallel)) {
    if (a != lane_axis) outer.push_back(a);
  }
  int64_t extent = c.extent(lane_axis);
  bool chunked = outer.empty() || extent > 2 * kChunk;
  int64_t chunks = chunked ? (extent + kChunk - 1) / kChunk : 1;
  ValueId t =
      c.begin_phase("elements", c.product(outer) * chunks,
                    c.ns_per_element * static_cast<double>(std::min(extent, chunked ? kChunk : extent)));
  ValueId begin = nest.literal(0), end = nest.size(extent), chunk = t;
  if (!outer.empty()) {
    ValueId row = t;
    if (chunked) std::tie(row, chunk) = c.divide(t, nest.size(chunks));
    nest.bind_linear(outer, row);
  }
  if (chunked) {
    begin = c.mul(chunk, nest.literal(kChunk));
    end = c.minimum(c.add(begin, nest.literal(kChunk)), end);
  }
  std::vector<Value> inner = hoist(nest, all_instrs(c.kernel));
  vector_loop(nest, lane_axis, begin, end, unroll_for(inner.size()), [&] { emit_all(nest, inner); });
  c.end_phase();
}

// (out, in) pairs where every read of `in` is at the index at which `out` is written, not after that in time.
std::vector<std::pair<int, int>> in_place_pairs(const ir::Kernel& kernel) {
  ReduceLoops plan = plan_loops(kernel);
  std::vector<std::pair<int, int>> pairs;
  for (size_t s = 0; s < kernel.instrs.size(); ++s) {
    const ir::Instr& store = kernel.instrs[s];
    if (store.op != Op::Store || !store.guards.empty() || store.scale != 0) continue;
    // What is updated starts as its base, not as another input.
    if (kernel.buffers[static_cast<size_t>(store.slot)].role != ir::Role::Out) continue;
    // A store before the last loop could be read again by a later one.
    if ((kernel.has(AxisKind::Inner) || kernel.has(AxisKind::Serial)) &&
        (store.level != ir::Level::Full || plan.available[s] != plan.loops - 1))
      continue;
    for (size_t b = 0; b < kernel.buffers.size(); ++b) {
      const ir::KernelBuffer& in = kernel.buffers[b];
      const ir::KernelBuffer& out = kernel.buffers[static_cast<size_t>(store.slot)];
      if (in.role != ir::Role::In || in.numel != out.numel ||
          ir::item_size(in.dtype) != ir::item_size(out.dtype))
        continue;
      bool same = std::all_of(kernel.instrs.begin(), kernel.instrs.end(), [&](const ir::Instr& i) {
        return i.op != Op::Load || i.slot != static_cast<int>(b) ||
               (i.index == store.index && i.guards.empty() && i.scale == 0 && i.level == store.level);
      });
      if (same) pairs.emplace_back(store.slot, static_cast<int>(b));
    }
  }
  return pairs;
}

}  // namespace cpu

Acceptance accepts(const ir::Kernel& kernel) {
  if (kernel.has(ir::AxisKind::Contract) && kernel.has(ir::AxisKind::Inner)) {
    return {false, "no schedule takes a reduction beside a contraction"};
  }
  if (kernel.has(ir::AxisKind::Serial) &&
      (kernel.has(ir::AxisKind::Inner) || kernel.has(ir::AxisKind::Contract))) {
    return {false, "no schedule takes a scan beside a reduction or contraction"};
  }
  std::optional<ir::ReduceTree> tree;
  for (const ir::Instr& in : kernel.instrs) {
    if (!ir::is_reduce(in.op)) continue;
    if (tree && *tree != in.tree) return {false, "no schedule takes reductions of both kinds of tree"};
    tree = in.tree;
  }
  return {true, ""};
}

Lowered lower_cpu(const ir::Kernel& kernel, const CpuTarget& target) {
  Acceptance acceptance = accepts(kernel);
  if (!acceptance.accepted) throw ir::IrError("no CPU schedule takes kernel '" + kernel.name + "': " + acceptance.reason);
  Lowered lowered;
  cpu::Context c(kernel, lowered, target);
  if (kernel.has(ir::AxisKind::Contract)) {
    cpu::lower_contraction(c);
  } else if (kernel.has(ir::AxisKind::Serial)) {
    cpu::scans_along_lines(kernel) ? cpu::lower_scan_lines(c) : cpu::lower_scan_columns(c);
  } else if (std::optional<cpu::ShortRows> rows = cpu::short_rows(kernel)) {
    cpu::lower_short_rows(c, *rows);
  } else if (!kernel.has(ir::AxisKind::Inner)) {
    cpu::lower_pointwise(c);
  } else {
    ir::ReduceTree tree = ir::ReduceTree::Lanes;
    for (const ir::Instr& in : kernel.instrs) {
      if (ir::is_reduce(in.op)) tree = in.tree;
    }
    int64_t rows = kernel.extent_of(ir::AxisKind::Parallel), inner = kernel.extent_of(ir::AxisKind::Inner);
    if (tree == ir::ReduceTree::Columns) {
      cpu::lower_columns(c);
    } else if (rows < 16 && inner >= 16 * ir::kLaneBlock) {
      cpu::lower_split(c);
    } else {
      cpu::lower_rows(c);
    }
  }
  lowered.donations = cpu::in_place_pairs(kernel);
  return lowered;
}

Lowered lower(const ir::Kernel& kernel, const Target& target) {
  const auto* cpu = std::get_if<CpuTarget>(&target);
  return cpu ? lower_cpu(kernel, *cpu) : lower_gpu(kernel, std::get<GpuTarget>(target));
}

}  // namespace tenon::passes
