// Scans that are rounded at every step, so that their order is fixed (ir/op/scan_order.h). A block takes up to 32 lines (more of short
// ones), and tile by tile leaves what they begin from in shared memory; there threads walk rows of it. Both sides of the tile are
// computed by all threads, which go along what is contiguous: the lines, or from line to line.
//
//   for tile {
//     for e in thread..tile step 256 { kept[e's row, e's position] = x[...] }    barrier
//     if thread < rows { for s in 0..width { acc += kept[thread, s]; kept[thread, s] = acc } }    barrier
//     for e in thread..tile step 256 { y[...] = kept[e's row, e's position] } }
//
// A row is a line's part of the tile. If the scans go by runs, and a line has several in a tile, each is a row of its own:
//
//     if thread < rows { sum = 0; for s in 0..64 { sum += kept[thread, s]; kept[thread, s] = sum }; totals[thread] = sum }    barrier
//     if thread < lines { for its rows { total = totals[row]; totals[row] = before; before += total } }    barrier
//     for e in thread..tile step 256 { kept[e's row, e's position] += totals[e's row] }
//
// Few long lines are cut into pieces of whole scan blocks (4096 elements), a CUDA block for each. In phases before, for each loop:
//
//   phase totals0: a block a piece: sums[line, scan block] = the scan block's sum
//   phase starts0: a block a line:  sums[line, scan block] = what comes before it, tile by tile as above
#include <algorithm>
#include <bit>
#include <map>
#include <set>
#include <tuple>

#include "passes/schedule/gpu/scan.h"

namespace tenon::passes::gpu {

namespace {

constexpr int64_t kTileElements = 2048;  // elements of a tile
constexpr int64_t kNarrow = 64;          // positions of a tile of many lines: 32 lines
constexpr int64_t kAhead = 8;            // positions a thread reads before it goes through them
constexpr int64_t kBlocks = 4;           // CUDA blocks for each multiprocessor, at least
constexpr int64_t kFewestBlocks = 4;     // of a line that is cut: less is not worth two launches more
// Threads of a multiprocessor: as many as may be, since most of a block wait for those that walk. Compute capabilities 8.6 and 8.9 have
// 1536.
constexpr int64_t kThreadsAtOnce = 1536, kThreadsBefore80 = 1024;
constexpr size_t kUnrolled = 8;         // instructions of a kernel whose threads' parts of a tile stand side by side
constexpr int64_t kOtherRegisters = 8;  // of a thread, and for each value that is kept, beside three times what it reads ahead of that
constexpr int64_t kSideBySide = 8;      // lines that are read together, at least: 32 bytes of float32
static_assert(kTileElements % ir::kScanRun == 0 && ir::kScanBlock % kTileElements == 0);

int64_t power_of_two_from(int64_t n) { return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(n))); }
int64_t power_of_two_to(int64_t n) { return static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(n))); }

// Whether lines can be cut: not if some scan has one order only.
bool is_cuttable(const ir::Kernel& kernel) {
  return std::ranges::all_of(kernel.instrs, [](const Instr& i) {
    return !ir::is_scan(i.op) || ir::scan_is_associative(i.op, i.dtype) || ir::scan_by_runs(i.op, i.dtype);
  });
}

ReduceLoops loops_of(const ir::Kernel& kernel) {
  const std::vector<bool> costly = costly_values(kernel);
  const auto is_overwritten = [&](const Instr& load) { return load.op == Op::Load && kernel.buffer(load.slot).role == ir::Role::InOut; };
  return plan_loops(kernel, [&](Value v) { return costly[v] || is_overwritten(kernel.instr(v)); });
}

// What has a tile: values that a later loop reads, and scans.
std::set<Value> kept_values(const ReduceLoops& plan) {
  std::set<Value> kept(plan.carried.begin(), plan.carried.end());
  for (const std::vector<Value>& scans : plan.reductions) kept.insert(scans.begin(), scans.end());
  return kept;
}

struct TileShape {
  int64_t together = 1, width = 1;           // lines of a block, positions of a tile: powers of two
  int64_t row = 1, runs = 1, rows = 1;       // positions of a row, rows of a line, rows of a tile
  LinePieces pieces{1, 1};                   // of a line, in scan blocks
  int resident = 1;                          // blocks that a multiprocessor has registers for
  int64_t pitch() const { return row + 1; }  // odd, so that neighbouring rows are in other banks
};

// How many lines of how many positions, so that the tiles of what is kept fit and all multiprocessors have some; then the pieces.
TileShape choose_tile(const ir::Kernel& kernel, const ir::GpuTarget& target, const ReduceLoops& plan) {
  TileShape tile;
  int64_t registers = kOtherRegisters, item_bytes = 0;
  for (Value v : kept_values(plan)) {
    const int item_size = ir::item_size(kernel.instr(v).dtype);
    registers += kOtherRegisters + 3 * kAhead * std::max<int64_t>(1, item_size / 4);
    item_bytes += item_size;
  }
  tile.resident = resident_blocks((target.compute >= 80 ? kThreadsAtOnce : kThreadsBefore80) / target.threads, target.threads, registers);
  const int64_t count = kernel.extent_of(AxisKind::Parallel), length = kernel.extent_of(AxisKind::Serial);
  const int64_t blocks = ceil_div(length, ir::kScanBlock);
  const bool by_runs = scans_by_runs(kernel), along = lies_along_lines(kernel);
  const bool is_cut = by_runs && blocks >= kFewestBlocks && is_cuttable(kernel);
  const int64_t most = power_of_two_to(std::min<int64_t>(kTileElements / std::min(power_of_two_from(length), kNarrow), target.threads));
  // Runs fill a tile of one line as well as many lines do; lines side by side are read together.
  const int64_t resident = target.multiprocessors * std::max<int64_t>(kBlocks, tile.resident);
  const int64_t at_once = by_runs && (along || is_cut) ? resident : target.multiprocessors;
  const int64_t beside = std::min(power_of_two_from(count), std::max(kSideBySide, power_of_two_to(count * blocks / at_once)));
  const int64_t wanted = is_cut && !along ? beside : power_of_two_to(std::max<int64_t>(1, count / at_once));
  tile.together = std::min(most, wanted);
  tile.width = std::min(power_of_two_from(length), kTileElements / tile.together);
  const auto fits = [&] {
    tile.row = by_runs ? std::min(tile.width, ir::kScanRun) : tile.width;
    tile.runs = tile.width / tile.row;
    tile.rows = tile.together * tile.runs;
    return tile.rows * (tile.pitch() + 1) * item_bytes <= target.static_shared_bytes();
  };
  while (!fits() && tile.width > (by_runs ? ir::kScanRun : 1)) tile.width /= 2;
  while (!fits() && tile.together > 1) tile.together /= 2;
  if (is_cut) tile.pieces = cut_lines(ceil_div(count, tile.together), blocks, 1, resident);
  return tile;
}

struct TilePlan {
  ReduceLoops loops;
  TileShape tile = {};
};

class Tiles : Scan {
 public:
  Tiles(Context& c, const TileShape& tile)
      : Scan(c, tile.pieces),
        along_(lies_along_lines(c.kernel)),
        blocks_(ceil_div(length_, ir::kScanBlock)),
        by_runs_(scans_by_runs(c.kernel)),
        tile_(tile) {
    c_.out.tree.resident = tile_.resident;
    const auto buffer = [&](const char* name, Value v, Space space, int64_t count) {
      return c_.fixed_buffer(name + std::to_string(v), nest_.instr(v).dtype, space, count);
    };
    for (Value v : kept_values(plan_)) kept_[v] = buffer("kept", v, Space::Shared, tile_.rows * pitch());
    ahead_ = std::min(kAhead, tile_.row);
    for (const std::vector<Value>& scans : plan_.reductions) {
      for (Value v : scans) {
        read_[v] = buffer("ahead", v, Space::Local, ahead_);
        if (!goes_by_runs(v)) continue;
        if (tile_.runs > 1 || is_split()) totals_[v] = buffer("totals", v, Space::Shared, tile_.rows);
        if (is_split()) sums_[v] = c_.partials(v, Space::Global, count_ * blocks_).value;
      }
    }
  }

  void lower() {
    for (int l = 0; l < scan_loops_ && is_split(); ++l) {
      phase("totals" + std::to_string(l), l, false);
      starts("starts" + std::to_string(l), l);
    }
    phase("lines", plan_.loops - 1, true);
  }

 private:
  // All scans of a kernel with runs go by them if their bits allow it.
  bool goes_by_runs(Value v) const {
    const Instr& scan = nest_.instr(v);
    return by_runs_ && (ir::scan_by_runs(scan.op, scan.dtype) || ir::scan_is_associative(scan.op, scan.dtype));
  }

  int64_t pitch() const { return tile_.pitch(); }
  ValueId row_of(ValueId run, ValueId in_block) { return c_.add(c_.mul(run, c_.literal(tile_.together)), in_block); }
  ValueId place_of(ValueId row, ValueId position) { return c_.add(c_.mul(row, c_.literal(pitch())), position); }

  // The loops up to `last` for each line, or piece of one. Stores the sums of the scan blocks if not `stores`.
  void phase(std::string name, int last, bool stores) {
    const auto [group, piece] = piece_of(c_.begin_phase(std::move(name), ceil_div(count_, tile_.together) * pieces_.count));
    first_line_ = c_.mul(group, c_.literal(tile_.together));
    carry_.clear();
    for (int l = 0; l <= last; ++l) {
      for (Value v : plan_.carried_in[l]) carry_[v] = kept_.at(v);
    }
    registers_.clear();
    by_run_.clear();
    for (int l = 0; l <= last; ++l) {
      for (Value v : reductions(l)) open(v, stores || l < last);
    }
    ValueId begin = c_.literal(0), end = nest_.extent(serial_);
    if (piece >= 0) std::tie(begin, end) = ends_of(piece, pieces_.steps * ir::kScanBlock);
    c_.loop(begin, end, tile_.width, [&](ValueId base) {
      for (int l = 0; l <= last; ++l) {
        elements(l, base, stores);
        if (reductions(l).empty()) continue;
        b_.barrier();
        walk(l, base);
        if (!stores && l == last) store_sums(l, base);
        b_.barrier();
        if (stores || l < last) add_earlier_runs(l);
      }
    });
    c_.end_phase();
  }

  // A line's registers, of the thread that has the line. `is_started`: whether the scan blocks' starts are in memory.
  void open(Value v, bool is_started) {
    if (!goes_by_runs(v)) {
      registers_[v] = c_.reducer(v).open(c_.reducer(v).identity());
      return;
    }
    ScanLine::Earlier earlier;
    if (is_split() && is_started) {
      earlier = [this, v](ValueId at) { return b_.load(sums_.at(v), block_of_line(at), 1); };
    } else if (is_split()) {
      earlier = [this, v](ValueId) { return c_.reducer(v).identity().value; };
    }
    by_run_.try_emplace(v, c_, v, 1, length_, std::move(earlier));
  }
  // Where the scan block that `at` is in has its sum, for this thread's line. A line past the last one is the last one.
  ValueId block_of_line(ValueId at) {
    ValueId line = c_.add(first_line_, c_.thread());
    if (count_ % tile_.together != 0) line = c_.minimum(line, c_.sub(nest_.size(count_), c_.literal(1)));
    return c_.add(c_.mul(line, nest_.size(blocks_)), b_.quotient(at, c_.literal(ir::kScanBlock)));
  }

  // body(Element) for the elements of a tile, each by the same thread every time: only walks meet what another thread has left.
  struct Element {
    ValueId row, in_block, in_tile, place;
  };
  template <typename Body>
  void each_element(const Body& body) {
    const auto with = [&](ValueId element) {
      const auto [outer, inner] = c_.divide(element, c_.literal(along_ ? tile_.width : tile_.together));
      const ValueId in_block = along_ ? outer : inner, in_tile = along_ ? inner : outer;
      if (tile_.runs == 1) return body(Element{in_block, in_block, in_tile, place_of(in_block, in_tile)});
      const auto [run, position] = c_.divide(in_tile, c_.literal(tile_.row));
      const ValueId row = row_of(run, in_block);
      body(Element{row, in_block, in_tile, place_of(row, position)});
    };
    const ValueId count = c_.literal(tile_.together * tile_.width);
    const bool unrolls =
        tile_.together * tile_.width % c_.target.threads == 0 && c_.kernel.instrs.size() <= kUnrolled;  // all loads are under way at once
    if (!unrolls) return c_.loop(c_.thread(), count, c_.target.threads, with);
    c_.unrolled(c_.literal(0), count, c_.target.threads, [&](ValueId first) { with(c_.add(first, c_.thread())); });
  }

  void elements(int l, ValueId base, bool stores) {
    const std::vector<Value> instrs = of_element(l, stores);
    each_element([&](const Element& e) {
      const ValueId line = c_.add(first_line_, e.in_block), position = c_.add(base, e.in_tile);
      const ValueId before_end = length_ % tile_.width == 0 ? kAlways : c_.less(position, nest_.extent(serial_));
      nest_.when(c_.below(line, count_, tile_.together), [&] {
        nest_.when(before_end, [&] {
          nest_.bind_linear(lines_, line);
          emit_values(0);
          if (stores && l == 0 && has_stores(0)) {
            nest_.when(b_.op(Op::Eq, {position, c_.literal(0)}), [&] { emit_stores(0); });
          }
          nest_.bind(serial_, position);
          point(l, instrs, [&](int) { return e.place; });
          for (Value v : reductions(l)) b_.store(kept_.at(v), e.place, nest_.get(nest_.instr(v).args[0]));
        });
      });
    });
  }

  // step(x) for what is kept in a row, up to `end`; what it gives stands there then. The walk goes past a line's end, to
  // the end of the last few, which nothing reads.
  template <typename Step>
  void walk_row(Value v, ValueId row, ValueId end, const Step& step) {
    const ValueId zero = c_.literal(0), few = c_.literal(ahead_), first = c_.mul(row, c_.literal(pitch()));
    c_.loop(zero, end, ahead_, [&](ValueId from) {
      const ValueId place = c_.add(first, from);
      c_.unrolled(zero, few, 1, [&](ValueId k) { b_.store(read_.at(v), k, b_.load(kept_.at(v), c_.add(place, k), 1)); });
      c_.unrolled(zero, few, 1, [&](ValueId k) { b_.store(kept_.at(v), c_.add(place, k), step(b_.load(read_.at(v), k, 1))); });
    });
  }
  // The end of a row that begins at a position, in lines of `length`.
  ValueId end_of_row(ValueId begin, ValueId length) { return c_.minimum(c_.literal(tile_.row), c_.sub(length, begin)); }

  void walk(int l, ValueId base) {
    const ValueId length = nest_.extent(serial_);
    const auto row_end = [&] { return length_ % tile_.width == 0 ? c_.literal(tile_.row) : end_of_row(base, length); };
    const auto has_line = [&] { return c_.less(c_.thread(), c_.literal(tile_.together)); };
    for (Value v : reductions(l)) {
      if (!goes_by_runs(v)) {
        nest_.when(has_line(), [&] {
          const auto step = [&](ValueId x) { return c_.reducer(v).take(registers_.at(v), {x}).value; };
          if (tile_.runs == 1) return walk_row(v, c_.thread(), row_end(), step);
          c_.loop(c_.literal(0), c_.literal(tile_.runs), 1, [&](ValueId run) {
            walk_row(v, row_of(run, c_.thread()), end_of_row(c_.add(base, c_.mul(run, c_.literal(tile_.row))), length), step);
          });
        });
      } else if (tile_.runs == 1) {
        nest_.when(has_line(), [&] {
          ScanLine& line = by_run_.at(v);
          line.begin_run(base);
          walk_row(v, c_.thread(), row_end(), [&](ValueId x) { return line.take(x); });
        });
      } else {
        walk_rows(v, base, length, false);
      }
    }
    if (tile_.runs == 1 || std::none_of(reductions(l).begin(), reductions(l).end(), [&](Value v) { return goes_by_runs(v); })) return;
    b_.barrier();
    nest_.when(has_line(), [&] {
      for (Value v : reductions(l)) {
        if (!goes_by_runs(v)) continue;
        ScanLine& line = by_run_.at(v);
        line.begin_run(base);
        pass_totals(
            v, tile_.runs, [&](ValueId run) { return row_of(run, c_.thread()); },
            [&](ValueId total) {
              const ValueId before = line.before();
              line.pass_run(total);
              return before;
            });
      }
    });
  }

  // A thread for each row, from its own beginning; `exclusive`: each place gets what comes before it. The totals stand beside.
  void walk_rows(Value v, ValueId base, ValueId length, bool exclusive) {
    nest_.when(c_.less(c_.thread(), c_.literal(tile_.rows)), [&] {
      Reducer reduce = c_.reducer(v);
      const Accumulator sum = reduce.open(reduce.identity());
      const ValueId run = exclusive ? c_.thread() : b_.quotient(c_.thread(), c_.literal(tile_.together));
      walk_row(v, c_.thread(), end_of_row(c_.add(base, c_.mul(run, c_.literal(tile_.row))), length), [&](ValueId x) {
        const ValueId before = reduce.read(sum).value, after = reduce.take(sum, {x}).value;
        return exclusive ? before : after;
      });
      b_.store(totals_.at(v), c_.thread(), reduce.read(sum).value);
    });
  }

  // The totals of so many rows, in order, are replaced by what pass(total) gives: what comes before each.
  template <typename Row, typename Pass>
  void pass_totals(Value v, int64_t count, const Row& row, const Pass& pass) {
    const ValueId zero = c_.literal(0), few = c_.literal(std::min(ahead_, count));
    c_.loop(zero, c_.literal(count), std::min(ahead_, count), [&](ValueId from) {
      c_.unrolled(zero, few, 1, [&](ValueId k) { b_.store(read_.at(v), k, b_.load(totals_.at(v), row(c_.add(from, k)), 1)); });
      c_.unrolled(zero, few, 1, [&](ValueId k) { b_.store(totals_.at(v), row(c_.add(from, k)), pass(b_.load(read_.at(v), k, 1))); });
    });
  }

  ValueId after_earlier(Value v, ValueId row, ValueId place) {
    return c_.reducer(v).combine({b_.load(totals_.at(v), row, 1)}, {b_.load(kept_.at(v), place, 1)}).value;
  }

  void add_earlier_runs(int l) {
    if (tile_.runs == 1) return;
    for (Value v : reductions(l)) {
      if (goes_by_runs(v)) each_element([&](const Element& e) { b_.store(kept_.at(v), e.place, after_earlier(v, e.row, e.place)); });
    }
  }

  // Stores the sums of the scan block that ends with this tile, if one does.
  void store_sums(int l, ValueId base) {
    const ValueId end = c_.add(base, c_.literal(tile_.width));
    const ValueId ends = b_.op(Op::Eq, {c_.divide(end, c_.literal(ir::kScanBlock)).second, c_.literal(0)});
    const ValueId in_block = c_.thread();
    nest_.when(b_.op(Op::And, {ends, c_.less(in_block, c_.literal(tile_.together))}), [&] {
      nest_.when(c_.below(c_.add(first_line_, in_block), count_, tile_.together), [&] {
        for (Value v : reductions(l)) b_.store(sums_.at(v), block_of_line(base), by_run_.at(v).block());
      });
    });
  }

  // Each line's scan blocks: from their sums to what comes before each, a scan block standing for an element. The sum of a last one
  // that is not whole is neither known nor needed.
  void starts(std::string name, int l) {
    const ValueId line = c_.begin_phase(std::move(name), count_);
    const ValueId blocks = nest_.size(blocks_), first = c_.mul(line, blocks);
    for (Value v : reductions(l)) {
      Reducer reduce = c_.reducer(v);
      const Accumulator spans = reduce.open(reduce.identity());
      const auto each_block = [&](ValueId base, const std::function<void(ValueId row, ValueId place, ValueId block)>& body) {
        c_.loop(c_.thread(), c_.literal(tile_.rows * tile_.row), c_.target.threads, [&](ValueId element) {
          const ValueId block = c_.add(base, element);
          const auto [row, position] = c_.divide(element, c_.literal(tile_.row));
          nest_.when(c_.less(block, blocks),
                     [&, row = row, position = position] { body(row, place_of(row, position), c_.add(first, block)); });
        });
      };
      c_.loop(c_.literal(0), blocks, tile_.rows * tile_.row, [&](ValueId base) {
        each_block(base, [&](ValueId, ValueId place, ValueId at) { b_.store(kept_.at(v), place, b_.load(sums_.at(v), at, 1)); });
        b_.barrier();
        walk_rows(v, base, blocks, true);
        b_.barrier();
        nest_.when(b_.op(Op::Eq, {c_.thread(), c_.literal(0)}), [&] {
          pass_totals(
              v, tile_.rows, [](ValueId row) { return row; },
              [&](ValueId total) {
                const ValueId before = reduce.read(spans).value;
                reduce.take(spans, {total});
                return before;
              });
        });
        b_.barrier();
        each_block(base, [&](ValueId row, ValueId place, ValueId at) { b_.store(sums_.at(v), at, after_earlier(v, row, place)); });
      });
    }
    c_.end_phase();
  }

  const bool along_;      // neighbours in memory belong to the same line
  const int64_t blocks_;  // scan blocks of a line
  const bool by_runs_;
  const TileShape tile_;
  int64_t ahead_ = 1;
  std::map<Value, int32_t> kept_;           // the tiles: values that a later loop reads, and scans
  std::map<Value, int32_t> read_;           // by a walk: the next few elements
  std::map<Value, int32_t> totals_;         // of rows, then what comes before each
  std::map<Value, int32_t> sums_;           // [line, scan block], then what comes before each
  std::map<Value, Accumulator> registers_;  // of a line, its thread's
  std::map<Value, ScanLine> by_run_;        // the same, of those by runs
  ValueId first_line_ = kNone;
};

}  // namespace

Choice choose_scan_in_tiles(const ir::Kernel& kernel, const ir::GpuTarget& target) {
  TilePlan plan{loops_of(kernel)};
  plan.tile = choose_tile(kernel, target, plan.loops);
  return {plan.tile.pieces.count > 1 ? ScanProgram::TilesSplit : ScanProgram::Tiles, std::move(plan)};
}

void scan_in_tiles(Context& c) {
  auto& plan = std::any_cast<TilePlan&>(c.plan);
  c.loops = std::move(plan.loops);
  Tiles(c, plan.tile).lower();
}

}  // namespace tenon::passes::gpu
