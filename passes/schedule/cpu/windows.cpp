// Schedule for short reductions over windows, as depthwise convolutions and pools with a border are: the plane that the windows lie on
// is staged with its border first, so that no point asks what lies outside. Then a tile of lines and vectors adds up tap by tap, in
// registers.
//
//   x[784*j + 28*k + l + 28*(r / 3) + r mod 3 - 29] if 0 <= k + r / 3 - 1 < 28 and 0 <= l + r mod 3 - 1 < 28 else 0
//
//   phase windows: parallel (planes j)
//     plane[30][30] = 0; for y in 0..28 { plane[y + 1][1 ..] = x[784*j + 28*y ..] }
//     for l in 0..28 step 2 vectors, k in 0..28 step 4 lines {
//       sum[4][2] = 0; for r in 0..9 { sum += plane[k + r / 3][l + r mod 3] * w[9*j + r] }; store }
//
// Windows that move by two take every second element: a line of the plane has its even elements first, then the odd ones.
//
// Few planes, and large ones, are staged in bands of lines.
//
// The order of a sum is that of any schedule for Columns reductions.
#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "passes/schedule/cpu/context.h"
#include "passes/schedule/staged.h"

namespace tenon::passes::cpu {

namespace {

constexpr int64_t kLeastTasks = 8;   // of fewer planes, bands are shared out
constexpr int64_t kBandLines = 8;    // of a band: a multiple
constexpr double kLeastReads = 1.5;  // of an element that is staged
constexpr int kMostVectors = 4;      // of a line
constexpr int64_t kMostStep = 4;     // of windows along a line

// A dim of a staged plane: the places first .. first + count of the operand, of which those in lo .. hi exist.
struct PlaneDim {
  int axis;  // along which windows move
  Index place;
  int64_t first, count, lo, hi;
  int64_t stride;         // of the operand
  int64_t step;           // of windows: elements that lie so far apart are neighbours in the plane's lines
  int64_t pitch = 1;      // of the plane
  int64_t each() const {  // elements of one remainder
    return ceil_div(count, step);
  }
};

// A load of a plane; the last of its dims is that of the lanes.
struct Plane {
  Value load, outside, begin;  // what lies outside; where in the operand place 0 would be
  Value shift;                 // less where a band begins in the plane, if there are bands
  int32_t slot = kNone;        // the operand
  std::vector<PlaneDim> dims;
  int64_t length() const { return dims.back().step * dims.back().each(); }  // of a line
  int64_t elements() const { return dims.size() == 1 ? length() : dims.front().count * dims.front().pitch; }
};

// A kernel whose loads of planes are those of buffers of the tree, which stand behind the parameters.
struct StagedWindows {
  ir::Kernel kernel;
  std::vector<Plane> planes;
  int lane = kNoAxis, line = kNoAxis;
  int64_t band = 0;  // lines of one; 0: all
  int64_t bands() const { return band == 0 ? 1 : ceil_div(kernel.extent(line), band); }
};

bool is_parallel(const ir::Kernel& kernel, int axis) { return kernel.axes[static_cast<size_t>(axis)].kind == AxisKind::Parallel; }

// The dim that a guard is about; nothing if windows do not move along it by equal steps.
std::optional<PlaneDim> dim_of(const ir::Kernel& kernel, const Instr& load, const ir::Guard& guard) {
  int axis = kNoAxis;
  for (const int a : guard.value.axes()) {
    if (!is_parallel(kernel, a)) continue;
    if (axis >= 0) return {};
    axis = a;
  }
  if (axis < 0) return {};
  const Index::Stride step = guard.value.stride(axis), along = load.index.stride(axis);
  if (!step.ok || !along.ok || step.value < 1 || along.value % step.value != 0) return {};
  const ir::Bounds reach = guard.value.bounds();
  return PlaneDim{axis, guard.value, reach.lo, reach.hi - reach.lo + 1, guard.lo, guard.hi, along.value / step.value, step.value};
}

// A guarded load as one of a plane; `begin` becomes the part of its index that is the same for a plane.
std::optional<Plane> plane_of(const ir::Kernel& kernel, Value v, int lane, Index& begin) {
  const Instr& in = kernel.instr(v);
  if (in.op != Op::Load || in.level != Level::Full || in.guards.empty() || in.scale != 0) return {};
  const Op outside = kernel.instr(in.args[0]).op;
  if (outside != Op::Const && outside != Op::Scalar) return {};
  Plane plane{v, in.args[0], kNone, kNone, in.slot, {}};
  begin = in.index;
  for (const ir::Guard& guard : in.guards) {
    std::optional<PlaneDim> dim = dim_of(kernel, in, guard);
    if (!dim || std::ranges::any_of(plane.dims, [&](const PlaneDim& d) { return d.axis == dim->axis; })) return {};
    begin = begin - guard.value * dim->stride;
    plane.dims.push_back(std::move(*dim));
  }
  std::ranges::stable_sort(plane.dims, {}, [&](const PlaneDim& d) { return d.axis == lane; });
  const PlaneDim& line = plane.dims.back();
  if (line.axis != lane || line.stride != 1 || line.step > kMostStep) return {};
  for (const int a : begin.axes()) {
    if (!is_parallel(kernel, a) || std::ranges::any_of(plane.dims, [&](const PlaneDim& d) { return d.axis == a; })) return {};
  }
  int64_t pitch = plane.length();
  for (size_t d = plane.dims.size() - 1; d-- > 0; pitch *= plane.dims[d].count) plane.dims[d].pitch = pitch;
  return plane;
}

// Where an element of a plane lies.
Index place_in(const Plane& plane) {
  const PlaneDim& line = plane.dims.back();
  const Index x = line.place - Index(line.first);
  Index place = floor_mod(x, line.step) * line.each() + floor_div(x, line.step);
  for (size_t d = 0; d + 1 < plane.dims.size(); ++d)
    place = place + (plane.dims[d].place - Index(plane.dims[d].first)) * plane.dims[d].pitch;
  return place;
}

Value add_index(ir::Kernel& kernel, const Index& index) {
  Instr position{};
  position.op = Op::IndexOf;
  position.dtype = DType::I64;
  position.level = Level::Row;
  position.index = index;
  kernel.instrs.push_back(std::move(position));
  return static_cast<Value>(kernel.instrs.size()) - 1;
}

// The load of a plane in place of that of the operand, and behind all instructions where the plane begins.
void stage(StagedWindows& windows, Plane plane, const Index& begin) {
  ir::Kernel& kernel = windows.kernel;
  Instr& load = kernel.instr(plane.load);
  load.slot = static_cast<int32_t>(kernel.buffers.size() + windows.planes.size());
  load.guards.clear();
  load.args.clear();
  load.index = place_in(plane);
  plane.begin = add_index(kernel, begin);
  windows.planes.push_back(std::move(plane));
}

// One line axis for all planes, and no more than that beside the lanes. A plane that has no border along it begins in the same place for
// all lines: it is staged once.
bool find_line(StagedWindows& windows) {
  for (const Plane& plane : windows.planes) {
    for (const PlaneDim& d : plane.dims) {
      if (d.axis == windows.lane || d.axis == windows.line) continue;
      if (windows.line >= 0) return false;
      windows.line = d.axis;
    }
  }
  return std::ranges::none_of(windows.planes, [&](const Plane& plane) {
    const auto axes = windows.kernel.instr(plane.begin).index.axes();
    return std::ranges::find(axes, windows.line) != axes.end();
  });
}

std::vector<int> planes_axes(const ir::Kernel& kernel, const StagedWindows& windows) {
  std::vector<int> axes = ir::axes_of(kernel, AxisKind::Parallel);
  std::erase_if(axes, [&](int a) { return a == windows.lane || a == windows.line; });
  return axes;
}

int64_t staged_bytes(const StagedWindows& windows) {
  int64_t bytes = 0;
  for (const Plane& plane : windows.planes) bytes += plane.elements() * ir::item_size(windows.kernel.instr(plane.load).dtype);
  return bytes;
}

// Whether elements are read so often that staging them is little beside it.
bool reads_often(const StagedWindows& windows) {
  int64_t elements = 0;
  for (const Plane& plane : windows.planes) elements += plane.elements();
  const ir::Kernel& kernel = windows.kernel;
  const int64_t points = kernel.extent_of(AxisKind::Parallel) / product_of(kernel, planes_axes(kernel, windows));
  return static_cast<double>(points * kernel.extent_of(AxisKind::Inner) * std::ssize(windows.planes)) >=
         kLeastReads * static_cast<double>(elements);
}

// Cuts planes into bands of lines where they are few, or more than a part of the second cache. A load is shifted by where its band begins.
void cut_into_bands(StagedWindows& windows, const ir::CpuTarget& target) {
  const int64_t planes = product_of(windows.kernel, planes_axes(windows.kernel, windows)), bytes = staged_bytes(windows);
  if (windows.line < 0 || (planes >= kLeastTasks && bytes <= target.l2_bytes / 4)) return;
  const int64_t lines = windows.kernel.extent(windows.line), of_cache = ceil_div(bytes, target.l2_bytes / 16);
  const int64_t band = ceil_div(ceil_div(lines, std::max(of_cache, ceil_div(kLeastTasks, planes))), kBandLines) * kBandLines;
  if (band >= lines) return;
  windows.band = band;
  for (Plane& plane : windows.planes) {
    PlaneDim& line = plane.dims.front();
    if (line.axis != windows.line) continue;
    line.count -= line.step * (lines - band);
    plane.shift = add_index(windows.kernel, Index());
    Instr& load = windows.kernel.instr(plane.load);
    load.scale = 1;
    load.args = {plane.shift};
  }
}

// A part of the second cache holds what is staged, and planes without bands are work for several threads.
bool fits(const StagedWindows& windows, const ir::CpuTarget& target) {
  const int64_t planes = product_of(windows.kernel, planes_axes(windows.kernel, windows));
  return staged_bytes(windows) <= target.l2_bytes / 4 && (windows.line >= 0 || planes >= kLeastTasks);
}

class WindowSums : ColumnStages {
 public:
  WindowSums(Context& c, const StagedWindows& windows)
      : ColumnStages(c, c.loops()), c_(c), windows_(windows), outer_(planes_axes(c.kernel, windows)) {
    c.set_lanes(windows.lane);
    const int64_t columns = c.extent(windows.lane), lines = windows.line < 0 ? 1 : c.extent(windows.line);
    const bool totals = std::ranges::any_of(reductions(0), [&](Value v) { return in_chains(v); });
    const int tile = c.target.vector_registers() / (totals ? 8 : 4);  // sums, what their totals keep, operands
    vectors_of_line_ = vectors_of(ceil_div(columns, c.lanes), windows.line < 0 ? kMostVectors : kMostVectors / 2);
    lines_ = lines_of(lines, tile / vectors_of_line_);
  }

  void lower() {
    for (const Plane& plane : windows_.planes) make(plane);
    const int64_t tasks = c_.product(outer_) * windows_.bands(), points = c_.kernel.extent_of(AxisKind::Parallel) / tasks;
    ValueId number = c_.begin_phase("windows", tasks, c_.ns_per_element * static_cast<double>(points * count_));
    if (windows_.band > 0) number = begin_band(number);
    if (!outer_.empty()) nest_.bind_linear(outer_, number);
    for (const Plane& plane : windows_.planes) fill(plane);
    const int64_t step = int64_t{vectors_of_line_} * nest_.lanes();
    c_.loop(c_.literal(0), nest_.extent(windows_.lane), step, [&](ValueId column) {
      masks_.clear();
      for (int q = 0; q < vectors_of_line_; ++q) {
        const bool whole = c_.extent(windows_.lane) % step == 0;
        masks_.push_back(whole ? kAlways : nest_.tail_mask(c_.offset(column, int64_t{q} * nest_.lanes()), nest_.extent(windows_.lane)));
      }
      columns_of_lines(column);
    });
    c_.end_phase();
  }

 private:
  // As few as the line needs, of the most side by side.
  static int vectors_of(int64_t needed, int most) {
    int best = 1;
    for (int vectors = 2; vectors <= most; ++vectors) {
      if (ceil_div(needed, vectors) * vectors <= ceil_div(needed, best) * best) best = vectors;
    }
    return best;
  }
  // As many as divide all lines, unless that is few.
  static int lines_of(int64_t lines, int most) {
    int even = std::max(most, 1);
    while (lines % even != 0) --even;
    return lines > most && 2 * even < most ? most : even;
  }

  // The plane that the band is one of.
  ValueId begin_band(ValueId number) {
    const auto [plane, band] = c_.divide(number, nest_.size(windows_.bands()));
    first_line_ = c_.mul(band, nest_.size(windows_.band));
    end_line_ = c_.minimum(c_.add(first_line_, nest_.size(windows_.band)), nest_.extent(windows_.line));
    for (const Plane& p : windows_.planes) {
      const PlaneDim& line = p.dims.front();
      if (p.shift >= 0) nest_.set(p.shift, c_.sub(c_.literal(0), c_.mul(first_line_, nest_.size(line.step * line.pitch))));
    }
    return plane;
  }

  void make(const Plane& plane) {
    const int64_t columns = c_.extent(windows_.lane), width = int64_t{vectors_of_line_} * nest_.lanes();
    const int64_t beyond = ceil_div(columns, width) * width - columns;
    const int64_t count = ceil_div(plane.elements() + beyond, nest_.lanes()) * nest_.lanes();
    c_.buffer("plane", nest_.instr(plane.load).dtype, Space::Local, count);  // its number is the load's slot
    counts_.push_back(count);
  }

  // What lies outside everywhere, then the operand's lines.
  void fill(const Plane& plane) {
    const int32_t buffer = nest_.instr(plane.load).slot;
    for (const Value v : {plane.outside, plane.begin}) {
      if (!nest_.known(v)) nest_.emit(v);
    }
    const ValueId outside = nest_.vector(plane.outside), count = nest_.size(counts_[static_cast<size_t>(&plane - windows_.planes.data())]);
    c_.loop(c_.literal(0), count, nest_.lanes(), [&](ValueId at) { b_.store(buffer, at, outside); });
    copy(plane, 0, nest_.get(plane.begin), c_.literal(0));
  }

  void copy(const Plane& plane, size_t d, ValueId from, ValueId to) {
    const PlaneDim& dim = plane.dims[d];
    const int64_t begin = std::max(dim.lo, dim.first), end = std::max(std::min(dim.hi, dim.first + dim.count), begin);
    ValueId first = nest_.size(begin), last = nest_.size(end), origin = nest_.size(dim.first);
    if (d == 0 && plane.shift >= 0) {
      origin = c_.add(origin, c_.mul(first_line_, nest_.size(dim.step)));
      first = b_.op(Op::Max, {nest_.size(dim.lo), origin});
      last = c_.minimum(nest_.size(dim.hi), c_.add(origin, nest_.size(dim.count)));
    }
    if (d + 1 == plane.dims.size()) return copy_line(plane, from, to, first, last, origin);
    c_.loop(first, last, 1, [&](ValueId x) {
      const ValueId place = c_.mul(c_.sub(x, origin), nest_.size(dim.pitch));
      copy(plane, d + 1, c_.add(from, c_.mul(x, nest_.size(dim.stride))), c_.add(to, place));
    });
  }

  // Its elements first .. last, which lie from `from` on.
  void copy_line(const Plane& plane, ValueId from, ValueId to, ValueId first, ValueId last, ValueId origin) {
    const auto step = static_cast<int>(plane.dims.back().step);
    const int32_t buffer = nest_.instr(plane.load).slot;
    c_.loop(first, last, int64_t{step} * nest_.lanes(), [&](ValueId x) {
      std::vector<ValueId> vectors;
      for (int i = 0; i < step; ++i) {
        const ValueId at = c_.offset(x, int64_t{i} * nest_.lanes()), mask = nest_.tail_mask(at, last);
        vectors.push_back(b_.load(plane.slot, c_.add(from, at), nest_.lanes(), mask));
        if (step == 1) b_.store(buffer, c_.add(to, c_.sub(at, origin)), vectors.back(), mask);
      }
      for (int i = 0; i < (step == 1 ? 0 : step); ++i) {
        const ValueId at = c_.offset(x, i), left = b_.quotient(c_.offset(c_.sub(last, at), step - 1), c_.literal(step));
        const auto [place, remainder] = c_.divide(c_.sub(at, origin), c_.literal(step));
        const ValueId there = c_.add(c_.add(to, place), c_.mul(remainder, nest_.size(plane.dims.back().each())));
        b_.store(buffer, there, b_.deal(vectors, i), nest_.tail_mask(c_.literal(0), left));
      }
    });
  }

  void columns_of_lines(ValueId column) {
    nest_.set_sub_axes(std::array{windows_.lane, windows_.line});
    if (windows_.line < 0) return c_.in_scope([&] { tile(column, kNone, 1); });
    const int64_t lines = c_.extent(windows_.line);
    const bool bands = windows_.band > 0;
    const ValueId first = bands ? first_line_ : c_.literal(0), end = bands ? end_line_ : nest_.size(lines);
    const ValueId middle = c_.add(first, c_.mul(b_.quotient(c_.sub(end, first), c_.literal(lines_)), c_.literal(lines_)));
    c_.loop(first, middle, lines_, [&](ValueId line) { tile(column, line, lines_); });
    if (lines % lines_ != 0 || windows_.band % lines_ != 0) c_.loop(middle, end, 1, [&](ValueId line) { tile(column, line, 1); });
  }

  void tile(ValueId column, ValueId line, int lines) {
    vectors_ = lines * vectors_of_line_;
    for (int q = 0; q < vectors_; ++q) {
      nest_.set_sub(q);
      nest_.bind(windows_.lane, c_.offset(column, int64_t{q % vectors_of_line_} * nest_.lanes()));
      if (line >= 0) nest_.bind(windows_.line, c_.offset(line, q / vectors_of_line_));
    }
    nest_.set_sub(0);
    all_loops();
  }

  bool is_staged(Value v) const { return nest_.instr(v).op == Op::Load && nest_.instr(v).slot >= std::ssize(c_.kernel.buffers); }

  // A plane has room for whole vectors.
  void each(Value v, const std::function<void(int)>& f) override {
    for (int q = 0; q < (nest_.apart(v) ? vectors_ : 1); ++q) {
      nest_.set_sub(q);
      nest_.set_mask(nest_.varies(v) && !is_staged(v) ? masks_[static_cast<size_t>(q % vectors_of_line_)] : kAlways);
      f(q);
    }
    nest_.set_sub(0);
    nest_.set_mask(kAlways);
  }

  Context& c_;
  const StagedWindows& windows_;
  const std::vector<int> outer_;
  int vectors_of_line_ = 1, lines_ = 1;            // of a tile
  std::vector<int64_t> counts_;                    // of the planes' buffers
  std::vector<ValueId> masks_;                     // of a line's vectors
  ValueId first_line_ = kNone, end_line_ = kNone;  // of a band
};

}  // namespace

Choice choose_windows(const ir::Kernel& kernel, const ir::CpuTarget& target) {
  Lowered unused;
  if (Context(kernel, unused, target).is_small() || kernel.extent_of(AxisKind::Inner) > ir::kColumnBlock) return false;
  const ReduceLoops plan = plan_loops(kernel);
  const auto stores = [&](const Instr& in) { return in.op == Op::Store && in.level == Level::Full; };
  if (plan.loops != 1 || std::ranges::any_of(kernel.instrs, stores)) return false;
  StagedWindows windows{kernel, {}, best_lane_axis(kernel), kNoAxis};
  for (Value v = 0; v < static_cast<Value>(kernel.instrs.size()); ++v) {
    Index begin;
    std::optional<Plane> plane = plane_of(kernel, v, windows.lane, begin);
    if (!plane) continue;
    const Index::Stride along = place_in(*plane).stride(windows.lane);
    if (along.ok && along.value == 1) stage(windows, std::move(*plane), begin);
  }
  if (windows.planes.empty() || !find_line(windows) || !reads_often(windows)) return false;
  cut_into_bands(windows, target);
  if (!fits(windows, target)) return false;
  return {true, std::move(windows)};
}

const ir::Kernel& kernel_of_windows(const std::any& plan) { return std::any_cast<const StagedWindows&>(plan).kernel; }

void lower_windows(Context& c) { WindowSums(c, std::any_cast<const StagedWindows&>(c.plan)).lower(); }

}  // namespace tenon::passes::cpu
