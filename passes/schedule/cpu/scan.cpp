// Schedules for scans. The order along the serial axis is fixed (ir/op/scan_order.h), so vectors lie across the lines; where that
// would mean to jump from line to line in memory, what stands before and after a scan is vectorised and the
// scan itself goes element by element.
//
//   columns                                        lines
//   phase columns: parallel (outer, tile)          phase lines: parallel line
//     acc = start                                    for chunk in 0..n step 1024
//     for s in 0..n {                                  for v in chunk { kept0[v] = exp(x[v]) } vectors
//       acc += x[s, tile]                              for s in chunk { acc += kept0[s]; kept1[s] = acc }
//       y[s, tile] = acc }                             for v in chunk { y[v] = kept1[v] * 2 } vectors
#include <map>

#include "passes/schedule/cpu/context.h"
#include "passes/schedule/staged.h"

namespace tenon::passes::cpu {

namespace {

constexpr int64_t kScanChunk = 1024;  // elements of a line whose values are kept between the loops: whole runs

class Lines : Staged {
 public:
  explicit Lines(Context& c) : Staged(c, c.loops()), c_(c), serial_(static_cast<int>(c.kernel.axes.size()) - 1) { c.set_lanes(serial_); }

  void lower() {
    const int64_t length = c_.extent(serial_);
    keep_values();
    const std::vector<int> parallel = c_.axes(AxisKind::Parallel);
    ValueId line = c_.begin_phase("lines", c_.product(parallel), (c_.ns_per_element + 1) * static_cast<double>(length) + 20);
    nest_.bind_linear(parallel, line);
    std::vector<Value> inner;
    for (Value v = 0; v < static_cast<Value>(c_.kernel.instrs.size()); ++v) {
      const Instr& in = nest_.instr(v);
      if (in.op == Op::Const || in.op == Op::Scalar) continue;
      nest_.varies(v) ? inner.push_back(v) : nest_.emit(v);
      if (!ir::is_scan(in.op)) continue;
      if (by_runs_ && ir::scan_by_runs(in.op, in.dtype)) {
        by_run_.try_emplace(v, c_, v, 1, length);
      } else {
        registers_[v] = c_.reducer(v).open(c_.reducer(v).identity());
      }
    }
    nest_.prepare(inner);
    ValueId end = nest_.extent(serial_);
    c_.loop(c_.literal(0), end, kScanChunk, [&](ValueId begin) {
      begin_ = begin;
      end_ = c_.minimum(c_.add(begin, c_.literal(kScanChunk)), end);
      for (int l = 0; l < plan_.loops; ++l) {
        c_.in_scope([&] {
          vector_loop(l);
          scan_loop(l);
        });
      }
    });
    c_.end_phase();
  }

 private:
  void each(Value, const std::function<void(int)>& f) override { f(0); }

  // A buffer for each value that a scan takes or gives, or that a later loop needs.
  void keep_values() {
    auto keep = [&](Value v) {
      if (!nest_.varies(v) || carry_.count(v) != 0) return;
      carry_[v] = c_.fixed_buffer("kept" + std::to_string(c_.out.tree.buffers.size()), nest_.instr(v).dtype, Space::Local, kScanChunk);
    };
    for (Value v : plan_.carried) keep(v);
    for (const std::vector<Value>& scans : plan_.reductions) {
      for (Value v : scans) keep(nest_.instr(v).args[0]);
    }
  }

  void vector_loop(int l) {
    std::vector<Value> inner;
    for (Value v : full(l)) {
      if (nest_.varies(v)) inner.push_back(v);
    }
    if (inner.empty()) return;
    c_.vector_loop(serial_, begin_, end_, c_.unroll_for(inner.size()), [&] {
      const ValueId position = c_.sub(nest_.axis_value(serial_), begin_);
      point(l, inner, [&](int) { return position; });
    });
  }

  void scan_loop(int l) {
    const std::vector<Value>& scans = plan_.reductions[l];
    if (scans.empty()) return;
    const auto element = [&](ValueId at) {
      const ValueId position = c_.sub(at, begin_);
      for (Value v : scans) {
        Value operand = nest_.instr(v).args[0];
        const ValueId x = nest_.varies(operand) ? b_.load(carry_.at(operand), position, 1) : nest_.get(operand);
        const auto line = by_run_.find(v);
        const ValueId next = line == by_run_.end() ? c_.reducer(v).take(registers_.at(v), {x}).value : line->second.take(x);
        if (auto it = carry_.find(v); it != carry_.end()) b_.store(it->second, position, next);
      }
    };
    if (!by_runs_) return c_.loop(begin_, end_, 1, element);
    c_.loop(begin_, end_, ir::kScanRun, [&](ValueId run) {
      for (Value v : scans) {
        if (const auto line = by_run_.find(v); line != by_run_.end()) line->second.begin_run(run);
      }
      c_.loop(run, c_.minimum(c_.add(run, c_.literal(ir::kScanRun)), end_), 1, element);
    });
  }

  Context& c_;
  int serial_;
  bool by_runs_ = scans_by_runs(c_.kernel);
  std::map<Value, Accumulator> registers_;
  std::map<Value, ScanLine> by_run_;
  ValueId begin_ = kNone, end_ = kNone;  // of the chunk
};

}  // namespace

void lower_scan_lines(Context& c) { Lines(c).lower(); }

void lower_scan_columns(Context& c) {
  ColumnTiles tiles(c);
  const double ns = c.ns_per_element * static_cast<double>(c.extent(c.axes(AxisKind::Serial).front()) * tiles.width()) + 20;
  tiles.run("columns", ns,
            [&](int vectors) { walk_lines(c, [&](Value v, const std::function<void(int)>& f) { tiles.each(v, vectors, f); }); });
}

}  // namespace tenon::passes::cpu
