// The context of the CPU schedules: lanes from the kernel's dtypes, costs, phases; and along which axis lanes lie best.
#include "passes/schedule/cpu/context.h"

#include <algorithm>
#include <array>
#include <bit>
#include <optional>

namespace tenon::passes::cpu {

using ir::AxisKind;
using ir::Op;
using ir::Value;
using ir::ValueId;

namespace {
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
      add(ir::item_size(kernel.instr(in.args[0]).dtype), has_index ? 6 : 1);
      if (has_index) add(8, 3);
    } else if (axis < 0 || varies[v]) {
      int size = ir::item_size(in.dtype);
      for (Value a : in.args) size = std::max(size, ir::item_size(kernel.instr(a).dtype));
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

Context::Context(const ir::Kernel& k, Lowered& lowered, const ir::CpuTarget& machine)
    : kernel(k), out(lowered), target(machine), builder(lowered.tree), nest(k, builder, lowered.sizes) {
  lanes = std::clamp(target.vector_bits / (8 * bytes_of_lane(k)), 1, 64);
  double bytes = 0, work = 0;
  for (const ir::Instr& in : k.instrs) {
    work += ir::info(in.op).cost;
    if (in.op == Op::Load || in.op == Op::Store) bytes += ir::item_size(in.dtype);
  }
  ns_per_element = std::max(work / (2.5 * lanes), bytes * kNsPerByte);
  ir::LoopTree& tree = lowered.tree;
  tree.name = k.name;
  tree.target = ir::TargetKind::Cpu;
  tree.lanes = lanes;
  for (const ir::KernelBuffer& buffer : k.buffers) {
    builder.add_buffer(
        {buffer.name, buffer.dtype, buffer.role == ir::Role::In ? ir::Space::In : ir::Space::Out, -1, 0});
  }
  for (const ir::KernelScalar& scalar : k.scalars) tree.scalars.push_back(scalar.dtype);
}

const ReduceLoops& Context::loops() {
  if (!loops_) loops_ = plan_loops(kernel);
  return *loops_;
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

}  // namespace

int best_lane_axis(const ir::Kernel& kernel) {
  int best = -1;
  int64_t best_bytes = -1;
  for (int a : ir::axes_of(kernel, AxisKind::Parallel)) {
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
  int64_t lines = kernel.extent(across);
  if (kernel.extent(serial) < kShortLine && lines >= kManyLines) return false;
  return contiguous_bytes(kernel, serial) > contiguous_bytes(kernel, across);
}

}  // namespace tenon::passes::cpu
