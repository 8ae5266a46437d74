// Associative scans of contiguous lines: a group of threads takes a line. It is part of a warp, with a thread for each element,
// for up to 32 elements; a warp for up to 512; else a CUDA block. A line passes through the group's registers tile by tile, 32
// neighbours of each 32 threads at a time:
//
//   for tile {
//     kept[i] = x[...]                                        i of up to 4 elements a thread
//     kept[i] = scan of 32 by shuffles, of all i by the last thread's value: a warp's run of the tile
//     totals[warp] = the run's total; barrier                 if the group is a block
//     kept[i] = carry + totals[warps before] + kept[i]; carry += totals[all]
//     y[...] = kept[i] }
//
// Scans of scans (an index of cummax) are loops of the same tile. Few long lines are cut into pieces, a block for each, in a
// phase more for every loop: it leaves the totals of the loop's scans, and the next one begins with those of the earlier pieces.
#include <algorithm>
#include <bit>
#include <map>
#include <tuple>

#include "passes/schedule/gpu/scan.h"
#include "passes/schedule/gpu/thread_group.h"

namespace tenon::passes::gpu {

namespace {

constexpr int64_t kItems = 4;        // elements a thread has of a tile
constexpr int64_t kWarpLine = 512;   // longer lines are a block's
constexpr int64_t kFewestTiles = 4;  // of a piece: less is not worth a phase
constexpr int64_t kBlocks = 4;       // of pieces, on each multiprocessor

// How threads take lines.
struct Shape {
  bool is_block;           // a CUDA block takes a line
  int64_t of_warp, group;  // threads that scan by shuffles, and those that take a line
  int64_t items, tile;     // elements of a tile that a thread has, and all
  LinePieces pieces;       // in tiles
};

Shape shape_of(const ir::Kernel& kernel, const ir::GpuTarget& target) {
  const int64_t lines = kernel.extent_of(AxisKind::Parallel), length = kernel.extent_of(AxisKind::Serial);
  Shape s{.is_block = length > kWarpLine,
          .of_warp = std::min(kWarp, static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(length)))),
          .group = 0,
          .items = 1,
          .tile = 0,
          .pieces = {1, 1}};
  s.group = s.is_block ? target.threads : s.of_warp;
  while (s.items < kItems && s.items * s.group < length) s.items *= 2;
  s.tile = s.items * s.group;
  const int64_t tiles = ceil_div(length, s.tile);
  s.pieces = s.is_block ? cut_lines(lines, tiles, kFewestTiles, kBlocks * target.multiprocessors) : LinePieces{1, tiles};
  return s;
}

class ScanGroups : Scan {
 public:
  ScanGroups(Context& c, const Shape& shape) : Scan(c, shape.pieces), warps_(c.target.threads / kWarp), shape_(shape) {
    for (Value v : plan_.carried) keep(v);
    for (const std::vector<Value>& scans : plan_.reductions) {
      for (Value v : scans) keep_scan(v);
    }
  }

  void lower() {
    for (int l = 0; l < scan_loops_ && is_split(); ++l) phase("totals" + std::to_string(l), l, false);
    phase("lines", plan_.loops - 1, true);
  }

 private:
  void keep(Value v) {
    if (kept_.count(v) == 0) kept_[v] = c_.fixed_buffer("kept" + std::to_string(v), nest_.instr(v).dtype, Space::Local, shape_.items);
  }
  void keep_scan(Value v) {
    keep(v);
    if (shape_.is_block) totals_[v] = c_.reducer(v).buffers("totals" + std::to_string(v), Space::Shared, 2 * warps_);
    if (is_split()) of_pieces_[v] = c_.partials(v, Space::Global, count_ * pieces_.count);
  }

  // body() by the group's first thread.
  template <typename Body>
  void once(const Body& body) {
    const ValueId first = b_.op(Op::Eq, {shape_.is_block ? c_.thread() : lane_, c_.literal(0)});
    nest_.when(within_ < 0 ? first : b_.op(Op::And, {first, within_}), body);
  }

  // The loops up to `last` for each line. Stores the totals of its scans if not `stores`.
  void phase(std::string name, int last, bool stores) {
    const int64_t together = c_.target.threads / shape_.group;
    const auto [line, piece] =
        piece_of(c_.begin_phase(std::move(name), shape_.is_block ? count_ * pieces_.count : ceil_div(count_, together)));
    bind_group(line, together);
    carry_ = read_up_to(last);
    emit_values(0);
    if (stores && has_stores(0)) {
      const ValueId first = piece < 0 ? kAlways : b_.op(Op::Eq, {piece, c_.literal(0)});
      nest_.when(first, [&] { once([&] { emit_stores(0); }); });
    }
    for (int l = 0; l <= last; ++l) {
      for (Value v : reductions(l)) carries_[v] = c_.reducer(v).open(c_.reducer(v).identity());
    }
    for (int l = 0; l < (stores ? scan_loops_ : last) && piece >= 0; ++l) {
      for (Value v : reductions(l)) add_earlier(v, c_.mul(line_, nest_.size(pieces_.count)), piece);
    }
    const auto loops = [&](ValueId base) {
      for (int l = 0; l <= last; ++l) {
        elements(l, base, stores);
        scan(l, base);
      }
    };
    if (length_ <= shape_.tile) {
      loops(c_.literal(0));
    } else {
      const auto [begin, end] = ends_of(piece, pieces_.steps * shape_.tile);
      c_.loop(begin, end, shape_.tile, loops);
    }
    if (!stores) {
      once([&, piece = piece] {
        const ValueId place = c_.add(c_.mul(line_, nest_.size(pieces_.count)), piece);
        for (Value v : reductions(last)) c_.reducer(v).store(of_pieces_.at(v), place, c_.reducer(v).read(carries_.at(v)));
      });
    }
    c_.end_phase();
  }

  // The kept values that some loop up to `last` reads.
  std::map<Value, int32_t> read_up_to(int last) const {
    std::map<Value, int32_t> read;
    for (int l = 0; l <= last; ++l) {
      for (Value v : plan_.carried_in[l]) read[v] = kept_.at(v);
    }
    return read;
  }

  // Whose line this thread works on, and which of the group it is. A group past the last line takes the last one, without elements.
  void bind_group(ValueId line, int64_t together) {
    std::tie(warp_, lane_in_warp_) = place_in_group(c_, kWarp);
    lane_ = lane_in_warp_;
    if (!shape_.is_block) {
      ValueId group = warp_;
      if (shape_.of_warp < kWarp) std::tie(group, lane_) = place_in_group(c_, shape_.of_warp);
      line = c_.add(c_.mul(line, c_.literal(together)), group);
      within_ = c_.below(line, count_, together);
      if (within_ >= 0) line = c_.minimum(line, c_.sub(nest_.size(count_), c_.literal(1)));
    }
    line_ = line;
    nest_.bind_linear(lines_, line);
    steps_.clear();
    for (int64_t distance = 1; distance < shape_.of_warp; distance *= 2) {
      const ValueId back = b_.op(Op::Max, {c_.sub(lane_in_warp_, c_.literal(distance)), c_.literal(0)});
      steps_.push_back({back, b_.op(Op::Ge, {lane_, c_.literal(distance)})});
    }
    first_ = shape_.is_block ? c_.add(c_.mul(warp_, c_.literal(kWarp * shape_.items)), lane_) : lane_;
  }

  // This thread's elements of a tile, and what its scans begin from; past the end that is their identity.
  void elements(int l, ValueId base, bool stores) {
    const std::vector<Value> instrs = of_element(l, stores);
    c_.unrolled(shape_.items, [&](ValueId item) {
      const ValueId position = c_.add(c_.add(base, first_), c_.mul(item, c_.literal(kWarp)));
      ValueId inside = within_;
      if (length_ % shape_.tile != 0) {
        inside = c_.less(position, nest_.extent(serial_));
        if (within_ >= 0) inside = b_.op(Op::And, {inside, within_});
      }
      for (Value v : reductions(l)) {
        if (inside >= 0) b_.store(kept_.at(v), item, c_.reducer(v).identity().value);
      }
      nest_.when(inside, [&] {
        nest_.bind(serial_, position);
        point(l, instrs, [&](int) { return item; });
        for (Value v : reductions(l)) b_.store(kept_.at(v), item, nest_.get(nest_.instr(v).args[0]));
      });
    });
  }

  ValueId combine(Value v, ValueId a, ValueId b) { return c_.reducer(v).combine({a}, {b}).value; }

  // x of this thread after those of the group's threads in the warp before it.
  ValueId scan_in_warp(Value v, ValueId x) {
    for (const auto& [back, has] : steps_) x = b_.op(Op::Where, {has, combine(v, shuffled(b_, x, back), x), x});
    return x;
  }

  void scan(int l, ValueId base) {
    std::map<Value, ValueId> runs;  // of a block: this warp's total so far
    const ValueId last_thread = c_.literal(kWarp - 1);
    for (Value v : reductions(l)) {
      const bool alone = !shape_.is_block && length_ <= shape_.group;
      const ValueId so_far = shape_.is_block ? b_.var(c_.reducer(v).identity().value) : carries_.at(v).value;
      c_.unrolled(shape_.items, [&](ValueId item) {
        ValueId x = scan_in_warp(v, b_.load(kept_.at(v), item, 1));
        if (!alone) {
          x = combine(v, b_.get(so_far), x);
          b_.set(so_far, shuffled(b_, x, last_thread));
        }
        b_.store(kept_.at(v), item, x);
      });
      runs[v] = so_far;
    }
    if (!shape_.is_block || reductions(l).empty()) return;
    // Tiles take turns with two sets of places: a thread that writes one has met all that read it.
    const ValueId turn = c_.divide(b_.quotient(base, c_.literal(shape_.tile)), c_.literal(2)).second;
    const ValueId places = c_.mul(turn, c_.literal(warps_));
    leave_totals(reductions(l), places, [&](Value v) { return b_.get(runs.at(v)); });
    for (Value v : reductions(l)) {
      const ValueId before = take_totals(v, places);
      c_.unrolled(shape_.items, [&](ValueId item) { b_.store(kept_.at(v), item, combine(v, before, b_.load(kept_.at(v), item, 1))); });
    }
  }

  // The total of each warp, by its last thread; then the block has met.
  template <typename Total>
  void leave_totals(std::span<const Value> scans, ValueId places, const Total& total) {
    nest_.when(b_.op(Op::Eq, {lane_, c_.literal(kWarp - 1)}), [&] {
      for (Value v : scans) b_.store(totals_.at(v).value, c_.add(places, warp_), total(v));
    });
    b_.barrier();
  }

  // What comes before this warp: the carry and the warps before it; the carry has all of them then.
  ValueId take_totals(Value v, ValueId places) {
    ValueId before = b_.get(carries_.at(v).value), all = before;
    for (int64_t w = 0; w < warps_; ++w) {
      const ValueId total = b_.load(totals_.at(v).value, c_.add(places, c_.literal(w)), 1);
      all = combine(v, all, total);
      if (w + 1 < warps_) before = b_.op(Op::Where, {c_.less(c_.literal(w), warp_), all, before});
    }
    b_.set(carries_.at(v).value, all);
    return before;
  }

  // The carry of a scan from the totals of the line's pieces before this one.
  void add_earlier(Value v, ValueId first, ValueId piece) {
    c_.loop(c_.literal(0), piece, c_.target.threads, [&](ValueId from) {
      const ValueId at = c_.add(from, c_.thread()), x = b_.var(c_.reducer(v).identity().value);
      nest_.when(c_.less(at, piece), [&] { b_.set(x, b_.load(of_pieces_.at(v).value, c_.add(first, at), 1)); });
      const ValueId sum = scan_in_warp(v, b_.get(x));
      leave_totals({&v, 1}, c_.literal(0), [&](Value) { return sum; });
      take_totals(v, c_.literal(0));
      b_.barrier();
    });
  }

  const int64_t warps_;
  const Shape shape_;
  std::map<Value, int32_t> kept_;                  // registers: values that a later loop reads, and scans
  std::map<Value, AccumulatorBuffers> totals_;     // of a tile's warps, twice
  std::map<Value, AccumulatorBuffers> of_pieces_;  // [line, piece]
  std::map<Value, Accumulator> carries_;           // of all tiles before
  struct Step {
    ValueId back, has;  // the thread at a distance, and whether the group has it
  };
  std::vector<Step> steps_;
  ValueId warp_ = kNone, lane_in_warp_ = kNone, lane_ = kNone, line_ = kNone, within_ = kAlways, first_ = kNone;
};

}  // namespace

Choice choose_scan_in_groups(const ir::Kernel& kernel, const ir::GpuTarget& target) {
  const Shape shape = shape_of(kernel, target);
  return {shape.pieces.count > 1 ? ScanProgram::GroupsSplit : ScanProgram::Groups, shape};
}

// All values that are computed in one loop and needed in a later one stay in registers, except indices (IndexOf).
void scan_in_groups(Context& c) {
  c.loops = plan_loops(c.kernel, [&](Value v) { return c.kernel.instr(v).op != Op::IndexOf; });
  ScanGroups(c, std::any_cast<const Shape&>(c.plan)).lower();
}

}  // namespace tenon::passes::gpu
