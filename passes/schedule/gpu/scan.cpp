// Scans on a GPU. What a scan combines in order may be grouped at will where the bits stay the same: integers wrap, and an
// extreme is one of the operands (the first nan, else the last of the best). Sums and products of floats are rounded, so these have
// the order of ir/op/scan_order.h.
//
//   columns  neighbouring lines are neighbours in memory: a thread takes a line. If the lines are few, and their scans
//            associative, a line is cut into pieces, in two phases (each of which reads the line: reduce, then scan):
//              phase totals0: a thread a piece: total[piece, line] = sum x[piece's elements, line]
//              phase lines:   acc = sum total[earlier pieces, line]; for s in the piece { acc += x[s, line]; y[s, line] = acc }
//   groups   lines that are contiguous, associative scans: scan_groups.cpp
//   tiles    the same, rounded: scan_tiles.cpp
//
// Reduce-then-scan, and what else there is: D. Merrill, M. Garland, Single-pass Parallel Prefix Scan with Decoupled Look-back,
// NVIDIA 2016. The look-back itself reads a line once, but needs blocks that wait for others.
#include "passes/schedule/gpu/scan.h"

#include <algorithm>
#include <cstdlib>
#include <map>

namespace tenon::passes::gpu {

namespace {

constexpr int64_t kManyLines = 1 << 14;  // that fill a GPU with a thread each
constexpr int64_t kFewestLines = 16;     // side by side in memory, so that threads of a warp share what is read
constexpr int64_t kShortLine = 4;        // not worth a tile in shared memory
constexpr int64_t kFewestSteps = 64;     // of a piece

// Bytes of an element of what neighbours along the axis find beside each other in memory.
int64_t contiguous_bytes(const ir::Kernel& kernel, int axis) {
  int64_t bytes = 0;
  for (const Instr& instr : kernel.instrs) {
    if (instr.op != Op::Load && instr.op != Op::Store) continue;
    const Index::Stride stride = instr.index.stride(axis);
    if (stride.ok && std::abs(stride.value) == 1) bytes += ir::item_size(instr.dtype);
  }
  return bytes;
}

// Row-level stores are done by the thread that takes a line, which is then whole.
bool stores_rows(const ir::Kernel& kernel) {
  return std::ranges::any_of(kernel.instrs, [](const Instr& i) { return i.op == Op::Store && i.level == Level::Row; });
}

void one_by_one(Value, const std::function<void(int)>& f) { f(0); }

LinePieces pieces_of_columns(const ir::Kernel& kernel) {
  const int64_t lines = kernel.extent_of(AxisKind::Parallel), length = kernel.extent_of(AxisKind::Serial);
  const bool whole = stores_rows(kernel) || !scans_are_associative(kernel);
  return whole ? LinePieces{1, length} : cut_lines(lines, length, kFewestSteps, kManyLines);
}

class ScanColumns : Scan {
 public:
  explicit ScanColumns(Context& c) : Scan(c, std::any_cast<LinePieces>(c.plan)) {}

  void lower() {
    if (!is_split()) {
      return c_.each_item("lines", count_, [&](ValueId line) {
        nest_.bind_linear(lines_, line);
        walk_lines(c_, one_by_one);
      });
    }
    for (const std::vector<Value>& scans : plan_.reductions) {
      for (Value v : scans) totals_[v] = c_.partials(v, Space::Global, count_ * pieces_.count);
    }
    for (int l = 0; l < scan_loops_; ++l) phase("totals" + std::to_string(l), l);
    phase("lines", scan_loops_);
  }

 private:
  // A thread for each piece of each line, neighbours for neighbouring lines. Scans before loop `last` begin with what the earlier
  // pieces come to. Those of loop `last` leave the totals of their piece; if it has none, all is known: the results.
  void phase(std::string name, int last) {
    const bool stores = plan_.reductions.size() <= static_cast<size_t>(last) || reductions(last).empty();
    c_.each_item(std::move(name), count_ * pieces_.count, [&](ValueId item) {
      const auto [piece, line] = c_.divide(item, nest_.size(count_));
      nest_.bind_linear(lines_, line);
      const auto start = [&, piece = piece, line = line](Value v) {
        Reducer reduce = c_.reducer(v);
        const Accumulator registers = reduce.open(reduce.identity());
        if (plan_.available[v] > last) return registers;
        c_.loop(c_.literal(0), piece, 1, [&](ValueId earlier) {
          reduce.take(registers, reduce.load(totals_.at(v), c_.add(c_.mul(earlier, nest_.size(count_)), line)));
        });
        return registers;
      };
      const auto takes = [&](Value v) {
        const Op op = c_.kernel.instr(v).op;
        return op == Op::Store ? stores : plan_.available[v] <= last + (ir::is_scan(op) ? 1 : 0);
      };
      const auto [begin, end] = ends_of(piece, pieces_.steps);
      const LinePart part{begin, end, start, takes};
      const ScanRegisters registers = walk_lines(c_, one_by_one, &part);
      if (stores) return;
      for (Value v : reductions(last)) {
        Reducer reduce = c_.reducer(v);
        reduce.store(totals_.at(v), item, reduce.read(registers.at({v, 0})));
      }
    });
  }

  std::map<Value, AccumulatorBuffers> totals_;  // [piece, line]
};

}  // namespace

bool scans_are_associative(const ir::Kernel& kernel) {
  return std::ranges::all_of(kernel.instrs, [](const Instr& i) { return !ir::is_scan(i.op) || ir::scan_is_associative(i.op, i.dtype); });
}

LinePieces cut_lines(int64_t lines, int64_t steps, int64_t fewest, int64_t at_once) {
  const int64_t wanted = std::clamp<int64_t>(at_once / lines, 1, std::max<int64_t>(1, steps / fewest));
  const int64_t of_piece = ceil_div(steps, wanted);
  return {ceil_div(steps, of_piece), of_piece};
}

Scan::Scan(Context& c, LinePieces pieces)
    : Staged(c, c.loops),
      c_(c),
      lines_(c.axes(AxisKind::Parallel)),
      serial_(c.axes(AxisKind::Serial).front()),
      count_(c.product(lines_)),
      length_(c.extent(serial_)),
      pieces_(pieces) {
  for (const std::vector<Value>& scans : plan_.reductions) scan_loops_ += scans.empty() ? 0 : 1;
}

std::pair<ValueId, ValueId> Scan::piece_of(ValueId number) {
  if (!is_split()) return {number, kNone};
  return c_.divide(number, nest_.size(pieces_.count));
}

std::pair<ValueId, ValueId> Scan::ends_of(ValueId piece, int64_t elements) {
  if (piece < 0) return {c_.literal(0), nest_.extent(serial_)};
  const ValueId of_piece = nest_.size(elements), begin = c_.mul(piece, of_piece);
  return {begin, c_.piece_end(begin, of_piece, nest_.extent(serial_))};
}

std::vector<Value> Scan::of_element(int l, bool stores) const {
  std::vector<Value> instrs = full(l);
  std::erase_if(instrs, [&](Value v) { return !stores && nest_.instr(v).op == Op::Store; });
  return instrs;
}

bool lies_along_lines(const ir::Kernel& kernel) {
  const std::vector<int> lines = ir::axes_of(kernel, AxisKind::Parallel);
  const auto inner = std::find_if(lines.rbegin(), lines.rend(), [&](int a) { return kernel.extent(a) != 1; });
  return inner == lines.rend() ||
         contiguous_bytes(kernel, ir::axes_of(kernel, AxisKind::Serial).front()) >= contiguous_bytes(kernel, *inner);
}

Choice choose_scan(const ir::Kernel& kernel, const ir::GpuTarget& target) {
  const int64_t lines = kernel.extent_of(AxisKind::Parallel), length = kernel.extent_of(AxisKind::Serial);
  const bool across = !lies_along_lines(kernel), associative = scans_are_associative(kernel);
  if (associative ? across && lines >= kFewestLines : length <= kShortLine || (across && lines >= kManyLines)) {
    const LinePieces pieces = pieces_of_columns(kernel);
    return {pieces.count > 1 ? ScanProgram::ColumnsSplit : ScanProgram::Columns, pieces};
  }
  return associative ? choose_scan_in_groups(kernel, target) : choose_scan_in_tiles(kernel, target);
}

void scan_columns(Context& c) {
  c.loops = plan_loops(c.kernel);
  ScanColumns(c).lower();
}

}  // namespace tenon::passes::gpu
