// Scans that are rounded at every step, so that their order is fixed. A block takes up to 32 lines (more of short ones), and tile
// by tile leaves what they begin from in shared memory; there a thread walks each line. Both sides of the tile are computed by all
// threads, which go along what is contiguous: the lines, or from line to line.
//
//   for tile {
//     for e in thread..tile step 256 { kept[e's line, e's position] = x[...] }    barrier
//     if thread < lines { for s in 0..width { acc += kept[thread, s]; kept[thread, s] = acc } }    barrier
//     for e in thread..tile step 256 { y[...] = kept[e's line, e's position] } }
#include <algorithm>
#include <bit>
#include <map>

#include "passes/schedule/gpu/scan.h"
#include "passes/schedule/staged.h"

namespace tenon::passes::gpu {

namespace {

constexpr int64_t kTile = 2048;      // elements of a tile
constexpr int64_t kNarrow = 64;      // positions of a tile of many lines: 32 lines
constexpr int64_t kAhead = 8;        // positions a thread reads before it goes through them

int64_t power_of_two_from(int64_t n) { return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(n))); }
int64_t power_of_two_to(int64_t n) { return static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(n))); }

class Tiles : Staged {
 public:
  Tiles(Context& c, bool along)
      : Staged(c, c.loops), c_(c), along_(along), lines_(c.axes(AxisKind::Parallel)), serial_(c.axes(AxisKind::Serial).front()),
        count_(c.product(lines_)), length_(c.extent(serial_)) {
    const int64_t most = std::min<int64_t>(kTile / std::min(power_of_two_from(length_), kNarrow), c.target.threads);
    together_ = std::min(power_of_two_to(most), power_of_two_to(std::max<int64_t>(1, count_ / c.target.multiprocessors)));
    width_ = std::min(power_of_two_from(length_), kTile / together_);
    std::map<Value, DType> kept;
    for (Value v : plan_.carried) kept[v] = nest_.instr(v).dtype;
    for (const std::vector<Value>& scans : plan_.reductions) {
      for (Value v : scans) kept[v] = nest_.instr(v).dtype;
    }
    int64_t item_bytes = 0;
    for (const auto& [v, dtype] : kept) item_bytes += ir::item_size(dtype);
    while (together_ * pitch() * item_bytes > c.target.static_shared_bytes() && width_ > 1) width_ /= 2;
    while (together_ * pitch() * item_bytes > c.target.static_shared_bytes() && together_ > 1) together_ /= 2;
    for (const auto& [v, dtype] : kept) {
      carry_[v] = b_.add_buffer({"kept" + std::to_string(v), dtype, Space::Shared, -1, together_ * pitch()});
    }
    ahead_ = std::min(kAhead, width_);
    for (const std::vector<Value>& scans : plan_.reductions) {
      for (Value v : scans) read_[v] = b_.add_buffer({"ahead" + std::to_string(v), nest_.instr(v).dtype, Space::Local, -1, ahead_});
    }
  }

  void lower() {
    const ValueId block = c_.begin_phase("lines", ceil_div(count_, together_));
    first_line_ = c_.mul(block, c_.literal(together_));
    for (const std::vector<Value>& scans : plan_.reductions) {
      for (Value v : scans) registers_[v] = c_.reducer(v).open(c_.reducer(v).identity());
    }
    c_.loop(c_.literal(0), nest_.extent(serial_), width_, [&](ValueId base) {
      for (int l = 0; l < plan_.loops; ++l) {
        elements(l, base);
        if (reductions(l).empty()) continue;
        b_.barrier();
        walk(l, base);
        b_.barrier();
      }
    });
    c_.end_phase();
  }

 private:
  void each(Value, const std::function<void(int)>& f) override { f(0); }

  int64_t pitch() const { return width_ + 1; }  // odd, so that neighbouring lines are in other banks

  // The elements of a tile, each by the same thread in every loop: only walks meet what another thread has left.
  void elements(int l, ValueId base) {
    c_.loop(c_.thread(), c_.literal(together_ * width_), c_.target.threads, [&](ValueId element) {
      const auto [outer, inner] = c_.divide(element, c_.literal(along_ ? width_ : together_));
      const ValueId in_block = along_ ? outer : inner, in_tile = along_ ? inner : outer;
      const ValueId line = c_.add(first_line_, in_block), position = c_.add(base, in_tile);
      const ValueId before_end = length_ % width_ == 0 ? -1 : c_.less(position, nest_.extent(serial_));
      nest_.when(c_.below(line, count_, together_), [&] {
        nest_.when(before_end, [&] {
          nest_.bind_linear(lines_, line);
          emit_values(0);
          if (l == 0 && has_stores(0)) {
            nest_.when(b_.op(Op::Eq, {position, c_.literal(0)}), [&] { emit_stores(0); });
          }
          nest_.bind(serial_, position);
          const ValueId place = c_.add(c_.mul(in_block, c_.literal(pitch())), in_tile);
          point(l, full(l), [&](int) { return place; });
          for (Value v : reductions(l)) b_.store(carry_.at(v), place, nest_.get(nest_.instr(v).args[0]));
        });
      });
    });
  }

  // A thread for each line. What lies past a line's end is walked too, to the end of the last few, and read by nobody.
  void walk(int l, ValueId base) {
    const ValueId zero = c_.literal(0), few = c_.literal(ahead_);
    const ValueId end = length_ % width_ == 0 ? c_.literal(width_) : c_.minimum(c_.literal(width_), c_.sub(nest_.extent(serial_), base));
    nest_.when(c_.less(c_.thread(), c_.literal(together_)), [&] {
      const ValueId line = c_.mul(c_.thread(), c_.literal(pitch()));
      for (Value v : reductions(l)) {
        c_.loop(zero, end, ahead_, [&](ValueId from) {
          const ValueId first = c_.add(line, from);
          c_.loop(zero, few, 1, [&](ValueId k) { b_.store(read_.at(v), k, b_.load(carry_.at(v), c_.add(first, k), 1)); }, true);
          c_.loop(zero, few, 1, [&](ValueId k) {
            const Accumulator next = c_.reducer(v).take(registers_.at(v), {b_.load(read_.at(v), k, 1), -1});
            b_.store(carry_.at(v), c_.add(first, k), next.value);
          }, true);
        });
      }
    });
  }

  Context& c_;
  bool along_;  // neighbours in memory belong to the same line
  std::vector<int> lines_;
  int serial_;
  int64_t count_, length_;
  int64_t together_, width_;  // lines of a block, positions of a tile: powers of two
  int64_t ahead_;
  std::map<Value, int32_t> read_;           // by a walk: the next few elements
  std::map<Value, Accumulator> registers_;  // of a line, its thread's
  ValueId first_line_ = -1;
};

}  // namespace

void scan_in_tiles(Context& c, bool along) {
  const std::vector<bool> dear = dear_values(c.kernel);
  const auto is_overwritten = [&](const Instr& load) { return load.op == Op::Load && c.kernel.buffer(load.slot).role == ir::Role::InOut; };
  c.loops = plan_loops(c.kernel, [&](Value v) { return dear[v] || is_overwritten(c.kernel.instr(v)); });
  Tiles(c, along).lower();
}

}  // namespace tenon::passes::gpu
