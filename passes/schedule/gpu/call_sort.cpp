// Stable sorting of lines on a GPU. Elements become keys in whose order they sort (as in runtime/cpu/sort_keys.h, but
// signed), each beside its place in the line.
//
//   phase tiles    a block sorts a tile of up to 2048 keys in shared memory: one run of a long line, or several short
//                  lines, each filled up to a power of two. Batcher's bitonic network, every comparator in one direction:
//                    for t in 0..log2(run) { for u in 0..t+1 { half = 1 << (t - u)
//                      a = i with a zero inserted at bit t - u; b = a ^ (u == 0 ? 2*half - 1 : half); order(a, b) } }
//   phase merge0.. pairs of runs become one: each key finds by bisection how many of the other run go before it. Keys and
//                  places go to and fro between two buffers; the last phase writes the result.
//
// If only the first few ranks are wanted, each run keeps only so many, so that all further phases are short.
#include <algorithm>
#include <bit>
#include <limits>

#include "passes/schedule/gpu/call.h"

namespace tenon::passes::gpu {
namespace {

constexpr int64_t kSortedTile = 2048;

// Keys and places of all runs, line by line.
struct Runs {
  int32_t keys, places;
};

class Sorter {
 public:
  Sorter(Context& c, const SortedLines& lines) : c_(c), b_(c.builder), l_(lines) {
    const int64_t wanted_end = l_.first + l_.wanted;
    runs_ = ceil_div(l_.count, kSortedTile);
    if (runs_ == 1) {
      run_ = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(l_.count)));
      const auto all = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(std::min(kSortedTile, l_.lines * run_))));
      tile_ = std::max(all, static_cast<int64_t>(std::bit_ceil(2 * static_cast<uint64_t>(c.target.threads))));
    } else {
      cut_ = wanted_end < kSortedTile;
      kept_ = cut_ ? wanted_end : kSortedTile;
    }
    keys_ = c_.fixed_buffer("keys0", l_.key, Space::Shared, tile_);
    places_ = c_.fixed_buffer("places0", DType::I32, Space::Shared, tile_);
    if (runs_ == 1) return;
    length_ = cut_ ? runs_ * kept_ : l_.count;
    from_ = scratch(l_.lines * length_);
    if (runs_ > 2) to_ = scratch(l_.lines * (cut_ ? ceil_div(runs_, 2) * kept_ : l_.count));
  }

  void lower() {
    sort_tiles();
    for (int phase = 0; runs_ > 1; ++phase) merge("merge" + std::to_string(phase));
  }

 private:
  Runs scratch(int64_t count) {
    return {c_.buffer("keys", l_.key, Space::Global, count), c_.buffer("places", c_.out.tree.index_type, Space::Global, count)};
  }

  // --- tiles

  // Where slot `s` of a tile belongs: at(line, place in the line, whether there is such an element).
  struct Slot {
    ValueId line, run, at, exists;
  };
  Slot slot(ValueId block, ValueId s) {
    Slot slot;
    if (runs_ == 1) {
      const auto [line, at] = c_.divide(s, c_.nest.size(run_));
      slot = {c_.add(c_.mul(block, c_.nest.size(tile_ / run_)), line), kNone, at, kNone};
      slot.exists = b_.op(Op::And, {c_.less(slot.line, c_.nest.size(l_.lines)), c_.less(at, c_.nest.size(l_.count))});
    } else {
      const auto [line, run] = c_.divide(block, c_.nest.size(runs_));
      slot = {line, run, c_.add(c_.mul(run, c_.literal(kSortedTile)), s), kNone};
      slot.exists = c_.less(slot.at, c_.nest.size(l_.count));
    }
    return slot;
  }

  // Threads go through the slots of a tile as neighbours lie in memory: along the lines, or across them.
  ValueId slot_of(ValueId i) {
    const int64_t lines = runs_ == 1 ? tile_ / run_ : 1;
    if (!l_.side_by_side || lines == 1) return i;
    const auto [at, line] = c_.divide(i, c_.nest.size(lines));
    return c_.add(c_.mul(line, c_.nest.size(run_)), at);
  }

  // body(i) for i of 0..count that are this thread's.
  template <typename Body>
  void share(int64_t count, const Body& body) {
    c_.unrolled(c_.literal(0), c_.literal(count), c_.target.threads, [&](ValueId base) {
      const ValueId i = c_.add(base, c_.thread());
      c_.nest.when(c_.below(i, count, c_.target.threads), [&] { body(i); });
    });
  }

  void sort_tiles() {
    const ValueId block = c_.begin_phase("tiles", runs_ == 1 ? ceil_div(l_.lines, tile_ / run_) : l_.lines * runs_);
    share(tile_, [&](ValueId i) { fill(block, slot_of(i)); });
    const ValueId levels = c_.nest.size(std::bit_width(static_cast<uint64_t>(run_)) - 1);
    c_.loop(c_.literal(0), levels, 1, [&](ValueId t) {
      c_.loop(c_.literal(0), c_.add(t, c_.literal(1)), 1, [&](ValueId u) {
        b_.barrier();
        exchange(t, u);
      });
    });
    b_.barrier();
    share(tile_, [&](ValueId i) { take(block, slot_of(i)); });
    c_.end_phase();
  }

  // Elements that do not exist sort behind all that do: their key is the greatest, their place greater than those.
  void fill(ValueId block, ValueId s) {
    const Slot own = slot(block, s);
    const ValueId key = b_.var(greatest());
    c_.nest.when(own.exists, [&] { b_.set(key, l_.read(own.line, own.at)); });
    b_.store(keys_, s, b_.get(key));
    b_.store(places_, s, index_cast(c_, runs_ == 1 ? own.at : s, DType::I32));
  }

  ValueId greatest() { return b_.constant(ir::constant(l_.key, greatest_of(l_.key))); }

  void exchange(ValueId t, ValueId u) {
    const ValueId one = c_.literal(1), half = b_.op(Op::Shl, {one, c_.sub(t, u)}), low = b_.op(Op::Sub, {half, one});
    const ValueId mirrored = b_.op(Op::Add, {half, low});
    const ValueId flip = b_.op(Op::Where, {b_.op(Op::Eq, {u, c_.literal(0)}), mirrored, half});
    share(tile_ / 2, [&](ValueId i) {
      const ValueId below = b_.op(Op::And, {i, low});
      const ValueId first = c_.sub(c_.add(i, i), below), second = b_.op(Op::Xor, {first, flip});
      const ValueId key_a = b_.load(keys_, first, 1), key_b = b_.load(keys_, second, 1);
      const ValueId place_a = b_.load(places_, first, 1), place_b = b_.load(places_, second, 1);
      const ValueId tie = b_.op(Op::And, {b_.op(Op::Eq, {key_b, key_a}), c_.less(place_b, place_a)});
      c_.nest.when(b_.op(Op::Or, {c_.less(key_b, key_a), tie}), [&] {
        b_.store(keys_, first, key_b);
        b_.store(keys_, second, key_a);
        b_.store(places_, first, place_b);
        b_.store(places_, second, place_a);
      });
    });
  }

  // The element that has come to a slot goes to the result, or to its run.
  void take(ValueId block, ValueId s) {
    const Slot own = slot(block, s);
    const ValueId key = b_.load(keys_, s, 1), place = index_cast(c_, b_.load(places_, s, 1), c_.out.tree.index_type);
    if (runs_ == 1) {
      c_.nest.when(own.exists, [&] { write(own.line, own.at, key, place); });
      return;
    }
    c_.nest.when(cut_ ? c_.less(s, c_.nest.size(kept_)) : own.exists, [&] {
      const ValueId in_line = cut_ ? c_.add(c_.mul(own.run, c_.nest.size(kept_)), s) : own.at;
      const ValueId to = c_.add(c_.mul(own.line, c_.nest.size(length_)), in_line);
      b_.store(from_.keys, to, key);
      b_.store(from_.places, to, c_.add(place, c_.mul(own.run, c_.literal(kSortedTile))));
    });
  }

  // --- merging

  void merge(std::string name) {
    const int64_t next_runs = ceil_div(runs_, 2), next_kept = cut_ ? kept_ : 2 * kept_;
    const int64_t next_length = cut_ ? next_runs * kept_ : l_.count;
    c_.each_item(std::move(name), l_.lines * length_, [&](ValueId item) {
      const auto [line, at] = c_.divide(item, c_.nest.size(length_));
      const auto [run, i] = c_.divide(at, c_.nest.size(kept_));
      const ValueId key = b_.load(from_.keys, item, 1), place = b_.load(from_.places, item, 1);
      const auto [pair, odd] = c_.divide(run, c_.literal(2));
      const ValueId second = b_.op(Op::Eq, {odd, c_.literal(1)});
      const ValueId rank = c_.add(i, before_in_other(c_.sub(item, at), run, second, key));
      if (next_runs == 1) return write(line, rank, key, place);
      c_.nest.when(cut_ ? c_.less(rank, c_.nest.size(kept_)) : kAlways, [&, line = line, pair = pair] {
        const ValueId start = c_.add(c_.mul(line, c_.nest.size(next_length)), c_.mul(pair, c_.nest.size(next_kept)));
        b_.store(to_.keys, c_.add(start, rank), key);
        b_.store(to_.places, c_.add(start, rank), place);
      });
    });
    std::swap(from_, to_);
    runs_ = next_runs;
    kept_ = next_kept;
    length_ = next_length;
  }

  // How many keys of the pair's other run go before this one: the lesser ones, and the equal ones too if it is the first run.
  ValueId before_in_other(ValueId line_start, ValueId run, ValueId second, ValueId key) {
    const ValueId kept = c_.nest.size(kept_), length = c_.nest.size(length_), one = c_.literal(1);
    const ValueId other = b_.op(Op::Where, {second, c_.sub(run, one), c_.add(run, one)});
    const ValueId begin = c_.minimum(c_.mul(other, kept), length), end = c_.piece_end(begin, kept, length);
    const ValueId past = first_beyond(c_, begin, end, kept_, [&](ValueId place) {
      const ValueId there = b_.load(from_.keys, c_.add(line_start, place), 1);
      const ValueId equal = b_.op(Op::And, {second, b_.op(Op::Eq, {there, key})});
      return b_.op(Op::Or, {c_.less(there, key), equal});
    });
    return c_.sub(past, begin);
  }

  // Writes to the result, if the rank is wanted.
  void write(ValueId line, ValueId rank, ValueId key, ValueId place) {
    if (l_.first == 0 && l_.wanted == l_.count) return l_.write(line, rank, key, place);
    const ValueId first = c_.nest.size(l_.first), end = c_.nest.size(l_.first + l_.wanted);
    c_.nest.when(b_.op(Op::And, {b_.op(Op::Ge, {rank, first}), c_.less(rank, end)}),
                 [&] { l_.write(line, c_.sub(rank, first), key, place); });
  }

  Context& c_;
  ir::TreeBuilder& b_;
  const SortedLines& l_;
  int64_t tile_ = kSortedTile, run_ = kSortedTile;  // keys in a tile, and in a run of it
  int64_t runs_;                                    // of a line
  bool cut_ = false;                                // a run keeps the first `kept_` keys alone
  int64_t kept_ = 0;                                // keys of a run, of all but a line's last one at least
  int64_t length_ = 0;                              // keys of a line, in all its runs
  int32_t keys_, places_;
  Runs from_{kNone, kNone}, to_{kNone, kNone};
};

// Signed numbers in whose order the elements sort: floats by sign and magnitude, so that both zeros are 0; every nan is the
// greatest.
ValueId key_of(Context& c, ValueId x, bool descending) {
  ir::TreeBuilder& b = c.builder;
  const DType dtype = b.type(x).dtype, key = key_type(dtype);
  ValueId result = x;
  if (!ir::is_float(dtype)) {
    result = index_cast(c, x, key);
  } else {
    const DType bits = ir::is_half(dtype) ? DType::I16 : key;
    const int64_t but_sign = std::numeric_limits<int64_t>::max() >> (64 - 8 * ir::item_size(dtype));
    const auto number = [&](int64_t value) { return b.constant(ir::constant(key, value)); };
    const ValueId whole = index_cast(c, b.op(Op::Bitcast, {x}, bits), key), magnitude = b.op(Op::And, {whole, number(but_sign)});
    const ValueId negative = c.less(whole, number(0));
    const auto infinity = static_cast<int64_t>(ir::constant(dtype, std::numeric_limits<double>::infinity()).bits);
    result = b.op(Op::Where, {negative, b.op(Op::Neg, {magnitude}), magnitude});
    result = b.op(Op::Where, {b.op(Op::Gt, {magnitude, number(infinity)}), number(greatest_of(key)), result});
  }
  return descending ? b.op(Op::Not, {result}) : result;
}

}  // namespace

DType key_type(DType dtype) { return ir::item_size(dtype) == 8 ? DType::I64 : DType::I32; }

int64_t SortedLines::elements() const { return lines * ceil_div(count, kSortedTile) * kSortedTile; }

void sort_lines(Context& c, const SortedLines& lines) { Sorter(c, lines).lower(); }

void call_sort(Context& c, const Call& call) {
  const ir::Node &node = call.node(), &x = *node.inputs()[0];
  const auto dim = static_cast<size_t>(node.ints()[0]);
  const bool part = node.op() == Op::SortPart, descending = node.ints()[1] != 0;
  int64_t stride = 1;
  for (size_t d = dim + 1; d < x.shape().size(); ++d) stride *= x.shape()[d];
  const int64_t count = x.shape()[dim], wanted = node.shape()[dim];
  SortedLines lines{x.numel() / count, count, key_type(x.dtype()), part ? node.ints()[2] : 0, wanted, stride > 1, {}, {}};
  widen_index(c, lines.elements());
  // Element `at` of a line, where each line has `length`.
  const auto place = [&c, stride](ValueId line, ValueId at, int64_t length) {
    if (stride == 1) return c.add(c.mul(line, c.nest.size(length)), at);
    const auto [outer, inner] = c.divide(line, c.nest.size(stride));
    return c.add(c.add(c.mul(outer, c.nest.size(length * stride)), inner), c.mul(at, c.nest.size(stride)));
  };
  lines.read = [&](ValueId line, ValueId at) { return key_of(c, c.builder.load(0, place(line, at, count), 1), descending); };
  lines.write = [&](ValueId line, ValueId rank, ValueId, ValueId from) {
    c.builder.store(1, place(line, rank, wanted), index_cast(c, from, DType::I64));
  };
  sort_lines(c, lines);
}

}  // namespace tenon::passes::gpu
