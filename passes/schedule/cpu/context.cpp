// The context of the CPU schedules: lanes from the kernel's dtypes, costs, phases; and along which axis lanes lie best.
#include "passes/schedule/cpu/context.h"

#include <algorithm>
#include <array>
#include <bit>
#include <optional>

namespace tenon::passes::cpu {

namespace {
constexpr double kNsPerByte = 0.08;

// What vectors do, by the bytes of an element: [0] of 1 byte, [1] of 2, [2] of 4, [3] of 8.
using WorkBySize = std::array<double, 4>;

WorkBySize vector_work(const ir::Kernel& kernel, int axis) {
  WorkBySize work{};
  auto add = [&](int item_size, double cost) { work[std::countr_zero(static_cast<unsigned>(item_size))] += cost; };
  std::vector<bool> varies = varying_along(kernel, axis);
  for (size_t v = 0; v < kernel.instrs.size(); ++v) {
    const Instr& in = kernel.instrs[v];
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
int bytes_of_lane(const ir::Kernel& kernel, int axis) {
  for (const Instr& in : kernel.instrs) {
    if (in.op == Op::Contract) return ir::item_size(in.dtype);
  }
  WorkBySize work = vector_work(kernel, axis);
  int widest = 3;
  while (widest > 0 && work[widest] == 0) --widest;
  double narrower = 0;
  for (int s = 0; s < widest; ++s) narrower += work[s];
  return widest > 0 && work[widest] <= narrower ? 1 << (widest - 1) : 1 << widest;
}

}  // namespace

Context::Context(const ir::Kernel& k, Lowered& lowered, const ir::CpuTarget& machine, KnownLowered known)
    : passes::Context(k, lowered, ir::TargetKind::Cpu, DType::I64, known), target(machine) {
  nest.take_any_numbers(is_small());
  for (const int64_t item : {4, 2, 1}) {
    if (machine.masks(item)) nest.take_lines(item);
  }
}

bool Context::is_small() const {
  if (target.often || kernel.has(AxisKind::Serial)) return false;
  const int64_t points = kernel.extent_of(AxisKind::Parallel) * kernel.extent_of(AxisKind::Inner) * kernel.extent_of(AxisKind::Contract);
  return points < (kernel.has(AxisKind::Contract) ? kManyProducts : kManyPoints);
}

void Context::set_lanes(int axis) {
  lanes = std::clamp(target.vector_bits / (8 * bytes_of_lane(kernel, axis)), 1, 64);
  out.tree.lanes = lanes;
  nest.set_lane_axis(axis, axis < 0 ? 1 : lanes);
  double bytes = 0, work = 0;
  for (const Instr& in : kernel.instrs) {
    work += ir::info(in.op).cost;
    if (in.op == Op::Load || in.op == Op::Store) bytes += ir::item_size(in.dtype);
  }
  ns_per_element = std::max(work / (2.5 * lanes), bytes * kNsPerByte);
}

// Cheaper to do again than to keep: a load, and the widening of one.
static bool reloads(const ir::Kernel& kernel, Value v) {
  const Instr& in = kernel.instr(v);
  if (in.op == Op::Cast) return reloads(kernel, in.args[0]);
  return in.op == Op::Load || in.op == Op::IndexOf;
}

const ReduceLoops& Context::loops() {
  if (!loops_) loops_ = plan_loops(kernel, [&](Value v) { return !reloads(kernel, v); });
  return *loops_;
}

int64_t Context::bytes_read(Value load) const {
  const Instr& in = nest.instr(load);
  int64_t bytes = ir::item_size(in.dtype);
  for (size_t a = 0; a < kernel.axes.size(); ++a) {
    if (in.index.depends_on(static_cast<int>(a))) bytes *= kernel.axes[a].extent;
  }
  return bytes;
}

void Context::whole_or_rest(ValueId begin, ValueId end, int64_t extent, int64_t tile, const std::function<void()>& whole,
                            const std::function<void()>& rest) {
  if (extent % tile == 0) return in_scope(whole);
  if (extent < tile) return in_scope(rest);
  nest.when(builder.op(Op::Le, {add(begin, nest.literal(tile)), end}), whole, rest);
}

int Context::unroll_for(size_t instrs) const {
  if (instrs <= 16) return 4;
  if (instrs <= 48) return 2;
  const bool masks = std::ranges::all_of(
      kernel.instrs, [&](const Instr& in) { return (in.op != Op::Load && in.op != Op::Store) || target.masks(ir::item_size(in.dtype)); });
  return instrs > kLongBody && masks ? 0 : 1;
}

void Context::vector_loop(int axis, ValueId begin, ValueId end, int unroll, const std::function<void()>& body) {
  if (unroll == 0) return masked_loop(axis, begin, end, body);
  const int64_t step = int64_t{unroll} * nest.lanes();
  ValueId main_end = end;
  if (step > 1) main_end = add(begin, builder.op(Op::And, {sub(end, begin), literal(-step)}));
  ValueId at = builder.begin_for(begin, main_end, step);
  for (int u = 0; u < unroll; ++u) {
    in_scope([&] {
      nest.bind(axis, u == 0 ? at : add(at, literal(int64_t{u} * nest.lanes())));
      body();
    });
  }
  builder.end_for();
  if (step > 1) masked_loop(axis, main_end, end, body);
}

void Context::run_phase(std::string name, std::span<const int> outer, int axis, int64_t chunk, double ns, Phases phases,
                        const std::function<void(ValueId, ValueId)>& body) {
  enum { kTasks, kChunks };
  const int64_t length = extent(axis), chunks = outer.empty() || length > 2 * chunk ? ceil_div(length, chunk) : 1;
  const bool whole = chunks == 1 && !outer.empty();
  ns *= static_cast<double>(whole ? length : std::min(length, chunk));
  CodeLengths lengths{{axis}, {is_small(), whole}, {product(outer) * chunks, chunks}};
  const auto outermost = std::ranges::find_if(outer, [&](int a) { return extent(a) > 1; });
  if (outermost != outer.end()) lengths.free.push_back(*outermost);
  if (phases == Phases::One && is_known(lengths, target)) return out.phase_cost.push_back(ns);
  ValueId number = begin_phase_of(std::move(name), length_slot(lengths, kTasks), ns);
  ValueId begin = literal(0), end = nest.extent(axis), point = number;
  if (!outer.empty()) {
    if (!whole) std::tie(point, number) = divide(number, this->length(lengths, kChunks));
    nest.bind_linear(outer, point);
  }
  if (!whole) {
    begin = mul(number, literal(chunk));
    end = minimum(add(begin, literal(chunk)), end);
  }
  body(begin, end);
  end_phase();
  if (phases == Phases::One) keep(std::move(lengths), target);
}

void Context::masked_loop(int axis, ValueId begin, ValueId end, const std::function<void()>& body) {
  loop(begin, end, nest.lanes(), [&](ValueId at) {
    nest.bind(axis, at);
    nest.set_mask(nest.tail_mask(at, end));
    body();
    nest.set_mask(kAlways);
  });
}

namespace {

// Bytes accessed with stride 1 along the axis, an element of the kernel; stores count double.
int64_t contiguous_bytes(const ir::Kernel& kernel, int axis) {
  int64_t bytes = 0;
  for (const Instr& in : kernel.instrs) {
    if (in.op != Op::Load && in.op != Op::Store) continue;
    Index::Stride stride = in.index.stride(axis);
    if (stride.ok && stride.value == 1) bytes += ir::item_size(in.dtype) * (in.op == Op::Store ? 2 : 1);
  }
  return bytes;
}

}  // namespace

int best_lane_axis(const ir::Kernel& kernel) {
  int best = kNoAxis;
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
