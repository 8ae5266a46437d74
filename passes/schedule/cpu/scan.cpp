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
//
// An element of a line waits for the one before it, so four go side by side. If there are many lines, those of four lines: a chunk
// has the vectors of each line, then steps for all of them. Else those of four parts of the line, where these may be scanned on their
// own (runs of a sum of floats; any parts if grouping changes nothing), and then take in what comes before them:
//
//   for e in part { for p in 0..4 { acc[p] += kept0[p, e]; kept1[p, e] = acc[p] } }
//   for p in 0..4 { before = the parts before p; for v in part { kept1[p, v] = before + kept1[p, v] } } vectors
#include <map>

#include "passes/schedule/cpu/context.h"
#include "passes/schedule/staged.h"

namespace tenon::passes::cpu {

namespace {

constexpr int64_t kScanChunk = 1024;  // elements whose values are kept between the loops, of each line: whole runs
constexpr int kSides = 4;             // lines or parts that go side by side
constexpr int64_t kApart = 512;       // bytes: a load waits for a store to another buffer if their last 12 bits are the same

class Lines : Staged {
 public:
  explicit Lines(Context& c) : Staged(c, c.loops()), c_(c), serial_(static_cast<int>(c.kernel.axes.size()) - 1) { c.set_lanes(serial_); }

  void lower() {
    parallel_ = c_.axes(AxisKind::Parallel);
    const int64_t length = c_.extent(serial_), lines = c_.product(parallel_);
    if (takes_lines(lines)) lines_ = kSides, chunk_ = kScanChunk / kSides;
    keep_values();
    const ValueId task = c_.begin_phase("lines", ceil_div(lines, lines_),
                                        static_cast<double>(lines_) * ((c_.ns_per_element + 1) * static_cast<double>(length) + 20));
    if (lines_ == 1) begin_line(task);
    open_scans(length);
    ValueId end = nest_.extent(serial_);
    c_.loop(c_.literal(0), end, chunk_, [&](ValueId begin) {
      begin_ = begin;
      end_ = c_.minimum(c_.add(begin, c_.literal(chunk_)), end);
      for (int l = 0; l < plan_.loops; ++l) {
        c_.in_scope([&] {
          each_line(task, lines, [&](ValueId kept) { vector_loop(l, kept); });
          scan_loop(l);
        });
      }
    });
    c_.end_phase();
  }

 private:
  // Whether there are enough for all cores, any scan waits, and each takes what it scans from memory.
  bool takes_lines(int64_t lines) const {
    if (lines < 2 * kSides * std::max(c_.target.cores, 1)) return false;
    bool any_waits = false;
    for (const Instr& in : c_.kernel.instrs) {
      if (!ir::is_scan(in.op)) continue;
      if (!nest_.varies(in.args[0])) return false;
      any_waits = any_waits || waits(in);
    }
    return any_waits;
  }

  // What holds along the line.
  void begin_line(ValueId line) {
    nest_.bind_linear(parallel_, line);
    std::vector<Value> inner;
    for (Value v = 0; v < static_cast<Value>(c_.kernel.instrs.size()); ++v) {
      const Op op = nest_.instr(v).op;
      if (op == Op::Const || op == Op::Scalar) continue;
      nest_.varies(v) ? inner.push_back(v) : nest_.emit(v);
    }
    nest_.prepare(inner);
  }

  // body(where the line's values are kept), for the lines that there are: behind the last one a side scans what lies in the buffers, and
  // nobody takes it. (Computed again, the last line would read what it has stored, where its result takes its memory.)
  void each_line(ValueId task, int64_t lines, const std::function<void(ValueId kept)>& body) {
    if (lines_ == 1) return body(kZero);
    const ValueId first = c_.mul(task, c_.literal(lines_)), left = c_.sub(nest_.size(lines), first);
    c_.loop(c_.literal(0), c_.minimum(c_.literal(lines_), left), 1, [&](ValueId side) {
      begin_line(c_.add(first, side));
      body(c_.mul(side, c_.literal(chunk_)));
    });
  }

  void open_scans(int64_t length) {
    for (Value v = 0; v < static_cast<Value>(c_.kernel.instrs.size()); ++v) {
      if (!ir::is_scan(nest_.instr(v).op)) continue;
      for (int side = 0; side < lines_; ++side) {
        if (is_by_run(v)) by_run_.try_emplace({v, side}, c_, v, 1, length);
        else registers_[{v, side}] = c_.reducer(v).open(c_.reducer(v).identity());
      }
    }
  }

  void each(Value, const std::function<void(int)>& f) override { f(0); }

  // A buffer for each value that a scan takes or gives, or that a later loop needs.
  void keep_values() {
    auto keep = [&](Value v) {
      if (!nest_.varies(v) || carry_.count(v) != 0) return;
      const DType dtype = nest_.instr(v).dtype;
      const int64_t count = lines_ * chunk_ + kApart / ir::item_size(dtype);
      carry_[v] = c_.fixed_buffer("kept" + std::to_string(c_.out.tree.buffers.size()), dtype, Space::Local, count);
    };
    for (Value v : plan_.carried) keep(v);
    for (const std::vector<Value>& scans : plan_.reductions) {
      for (Value v : scans) keep(nest_.instr(v).args[0]);
      if (goes_in_parts(scans)) std::ranges::for_each(scans, keep);
    }
  }

  void vector_loop(int l, ValueId kept) {
    std::vector<Value> inner;
    for (Value v : full(l)) {
      if (nest_.varies(v)) inner.push_back(v);
    }
    if (inner.empty()) return;
    c_.vector_loop(serial_, begin_, end_, c_.unroll_for(inner.size()), [&] {
      ValueId position = c_.sub(nest_.axis_value(serial_), begin_);
      if (kept != kZero) position = c_.add(kept, position);
      point(l, inner, [&](int) { return position; });
    });
  }

  void scan_loop(int l) {
    const std::vector<Value>& scans = plan_.reductions[l];
    if (scans.empty()) return;
    const ValueId begin = goes_in_parts(scans) ? scan_parts(scans) : begin_;
    const auto element = [&](ValueId at) {
      for (int side = 0; side < lines_; ++side) {
        const ValueId position = c_.add(c_.sub(at, begin_), c_.literal(side * chunk_));
        for (Value v : scans) {
          const auto line = by_run_.find({v, side});
          const ValueId x = operand(v, position);
          const ValueId next = line == by_run_.end() ? c_.reducer(v).take(registers_.at({v, side}), {x}).value : line->second.take(x);
          if (auto it = carry_.find(v); it != carry_.end()) b_.store(it->second, position, next);
        }
      }
    };
    if (!by_runs_) return c_.loop(begin, end_, 1, element);
    c_.loop(begin, end_, ir::kScanRun, [&](ValueId run) {
      for (auto& [scan, line] : by_run_) {
        if (std::ranges::count(scans, scan.first) > 0) line.begin_run(run);
      }
      c_.loop(run, c_.minimum(c_.add(run, c_.literal(ir::kScanRun)), end_), 1, element);
    });
  }

  ValueId operand(Value scan, ValueId position) {
    const Value x = nest_.instr(scan).args[0];
    return nest_.varies(x) ? b_.load(carry_.at(x), position, 1) : nest_.get(x);
  }

  bool is_by_run(Value scan) const { return by_runs_ && ir::scan_by_runs(nest_.instr(scan).op, nest_.instr(scan).dtype); }
  int64_t least_part(const std::vector<Value>& scans) const {
    return std::ranges::any_of(scans, [&](Value v) { return is_by_run(v); }) ? ir::kScanRun : nest_.lanes();
  }
  // An addition of integers takes one cycle: a line of them waits for nothing.
  static bool waits(const Instr& scan) { return scan.op != Op::ScanSum || ir::is_float(scan.dtype); }
  bool goes_in_parts(const std::vector<Value>& scans) const {
    if (lines_ > 1 || scans.empty() || c_.extent(serial_) < kSides * least_part(scans)) return false;
    return std::ranges::all_of(scans, [&](Value v) {
      const Instr& in = nest_.instr(v);
      return is_by_run(v) || (waits(in) && ir::scan_is_associative(in.op, in.dtype));
    });
  }

  // Of the chunk, as much as goes in parts. Gives where that ends.
  ValueId scan_parts(const std::vector<Value>& scans) {
    const ValueId count = c_.sub(end_, begin_), parts = c_.literal(kSides);
    if (least_part(scans) == ir::kScanRun) {
      constexpr int64_t kGroup = kSides * ir::kScanRun;
      const ValueId end = c_.add(begin_, b_.op(Op::And, {count, c_.literal(-kGroup)}));
      c_.loop(begin_, end, kGroup, [&](ValueId at) { scan_side_by_side(scans, at, c_.literal(ir::kScanRun)); });
      return end;
    }
    const ValueId part = b_.op(Op::And, {c_.divide(count, parts).first, c_.literal(-nest_.lanes())});
    nest_.when(b_.op(Op::Gt, {part, c_.literal(0)}), [&] { scan_side_by_side(scans, begin_, part); });
    return c_.add(begin_, c_.mul(part, parts));
  }

  // Parts of `length` elements from `at` on.
  void scan_side_by_side(const std::vector<Value>& scans, ValueId at, ValueId length) {
    const ValueId first = c_.sub(at, begin_);
    std::vector<ValueId> starts;
    std::vector<Accumulator> parts;
    for (int p = 0; p < kSides; ++p) {
      starts.push_back(c_.add(first, c_.mul(length, c_.literal(p))));
      for (Value v : scans) parts.push_back(c_.reducer(v).open(c_.reducer(v).identity()));
    }
    c_.loop(c_.literal(0), length, 1, [&](ValueId e) {
      auto part = parts.begin();
      for (ValueId start : starts) {
        const ValueId position = c_.add(start, e);
        for (Value v : scans) b_.store(carry_.at(v), position, c_.reducer(v).take(*part++, {operand(v, position)}).value);
      }
    });
    c_.loop(c_.literal(0), c_.literal(kSides), 1, [&](ValueId p) {
      const ValueId start = c_.mul(length, p), begin = c_.add(first, start), end = c_.add(begin, length);
      for (Value v : scans) take_in_earlier(v, c_.add(at, start), begin, end);
    });
  }

  // What comes before the part at `at`, whose results are begin..end of those kept.
  void take_in_earlier(Value v, ValueId at, ValueId begin, ValueId end) {
    Reducer reduce = c_.reducer(v);
    const int32_t kept = carry_.at(v);
    const Accumulator whole{b_.load(kept, c_.sub(end, c_.literal(1)), 1)};
    ValueId before = kNone;
    if (const auto line = by_run_.find({v, 0}); line != by_run_.end()) {
      line->second.begin_run(at);
      before = line->second.before();
      line->second.skip_run(whole.value);
    } else {
      before = reduce.read(registers_.at({v, 0})).value;
      reduce.take(registers_.at({v, 0}), whole);
    }
    const int lanes = nest_.lanes();
    before = b_.splat(before, lanes);
    c_.loop(begin, end, lanes, [&](ValueId i) { b_.store(kept, i, reduce.combine({before}, {b_.load(kept, i, lanes)}).value); });
  }

  Context& c_;
  int serial_;
  bool by_runs_ = scans_by_runs(c_.kernel);
  std::vector<int> parallel_;
  int lines_ = 1;  // side by side
  int64_t chunk_ = kScanChunk;
  std::map<std::pair<Value, int>, Accumulator> registers_;  // by scan and line
  std::map<std::pair<Value, int>, ScanLine> by_run_;
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
