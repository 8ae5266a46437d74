// Schedule for Columns reductions: each lane is a result of its own, the inner axes are a serial loop, and a
// parallel iteration takes a tile of neighbouring columns. Blocks of 256 elements are summed apart and added
// in order.
//
//   phase columns: parallel (outer, tile)
//     for b in 0..rows step 256 {
//       block = identity; for r in b..b+256 { block += x[r, tile] }; total += block }
//
// Few long columns are split: the blocks of a loop run in parallel, some of them side by side, and leave partial results,
// a second phase adds these, and the columns' values go through memory to the phases that follow.
//
//   phase loop0: parallel (outer, tile, 4 blocks)
//     for r in 0..256 { for each block: block += x[256 block + r, tile] }; block -> partial[block]
//   phase fold0: parallel (outer, tile)
//     for each block { total += partial[block] } -> column values
//
// What comes from memory is read in long runs, some rows of each block at once, for many streams bring more than one; the
// partial results stay in the first cache meanwhile.
//
//   phase loop0: parallel (outer, run of 1024 columns, block)
//     for r in 0..256 step 8 { for c in run { partial[block, c] += x[256 block + r, c]; ... += x[256 block + r + 7, c] } }
#include <algorithm>
#include <array>

#include "passes/schedule/cpu/context.h"
#include "passes/schedule/staged.h"

namespace tenon::passes::cpu {

using ir::kColumnBlock;

namespace {

constexpr size_t kSmallBody = 6, kMediumBody = 24;  // instructions
constexpr int kLongRun = 16, kLongRunOfTotals = 8;

// Vectors of columns side by side. A plain sum takes long runs of each row, which memory likes better than
// short ones; larger bodies have other uses for the registers. A scan stores every row again, far from the one
// before, so that single lines of cache would cost more than registers do.
int columns_at_once(const Context& c) {
  size_t instrs = c.kernel.instrs.size();
  int vectors = instrs <= kSmallBody ? kLongRun : instrs <= kMediumBody ? 4 : instrs <= 60 ? 2 : 1;
  const bool totals =
      std::ranges::any_of(c.kernel.instrs, [](const Instr& in) { return ir::is_reduce(in.op) && ir::keeps_rest(in.op, in.dtype); });
  if (totals) vectors = std::min(vectors, kLongRunOfTotals);  // a total has two registers
  if (c.kernel.has(AxisKind::Serial)) vectors = std::max(vectors, 4);
  return vectors;
}

// The vectors of a tile if lines are shorter than the widest tile. What is left over goes vector by vector, so the code distinguishes
// few classes of a line's length: one vector holds it, a narrow tile or one of half the width fits into it, or the widest does. It
// distinguishes none if the work is little: each vector is a tile.
int columns_of_few(int widest, int64_t columns, int lanes) {
  const int half = std::max(widest / 2, 1);
  return columns <= lanes ? 1 : columns < int64_t{half} * lanes ? std::min(half, 4) : half;
}

// Whether something is read with gaps along the lanes: under a mask that takes several times as long, so that code for a full vector
// is worth a class of its own.
bool reads_apart(const ir::Kernel& kernel, int lane) {
  return std::ranges::any_of(kernel.instrs, [&](const Instr& in) {
    const Index::Stride along = in.index.stride(lane);
    return in.op == Op::Load && !(along.ok && (along.value == 0 || along.value == 1));
  });
}

}  // namespace

ColumnTiles::ColumnTiles(Context& c) : c_(c), lane_(best_lane_axis(c.kernel)), outer_(c.parallel_but({lane_})) {
  c.set_lanes(lane_);
  const int64_t columns = c.extent(lane_);
  const int widest = columns_at_once(c);
  few_ = columns < int64_t{widest} * c.lanes;
  vectors_ = c.is_small() ? 1 : few_ ? columns_of_few(widest, columns, c.lanes) : widest;
  const bool is_other_often = columns > c.lanes || (columns == c.lanes && reads_apart(c.kernel, lane_));
  if (c.is_small() && is_other_often) c.out.better_often = true;
  width_ = int64_t{vectors_} * c.lanes;
  columns_.resize(static_cast<size_t>(vectors_));
  tiles_ = ceil_div(columns, width_);
}

void ColumnTiles::run(std::string phase, double ns, const std::function<void(int vectors)>& body, int64_t parts) {
  Nest& nest = c_.nest;
  ValueId tile = c_.begin_phase(std::move(phase), tiles() * parts, ns);
  if (parts > 1) std::tie(tile, part_) = c_.divide(tile, nest.size(parts));
  std::tie(line_, tile) = c_.bind_outer(outer_, tile, tiles_);
  const ValueId begin = c_.mul(tile, c_.literal(width_)), end = nest.extent(lane_);
  const auto at = [&](ValueId first, int vectors, ValueId mask) {
    for (int q = 0; q < vectors; ++q) bind(q, c_.offset(first, int64_t{q} * nest.lanes()), mask);
    body(vectors);
  };
  const auto whole = [&] { at(begin, vectors_, kAlways); };
  const auto masked = [&](ValueId first) { at(first, 1, nest.tail_mask(first, end)); };
  const auto rest = [&] { c_.loop(begin, end, nest.lanes(), masked); };
  const size_t instrs = c_.kernel.instrs.size();
  const int64_t columns = c_.extent(lane_);
  if (c_.is_small()) {
    c_.in_scope([&] { masked(begin); });
  } else if (columns == nest.lanes() && reads_apart(c_.kernel, lane_)) {
    c_.in_scope(whole);
  } else if (columns <= nest.lanes() || (vectors_ == 1 && columns % width_ != 0 && c_.unroll_for(instrs) == 0)) {
    c_.in_scope([&] { masked(begin); });
  } else if (instrs > kMediumBody) {
    c_.whole_or_rest(begin, end, columns, width_, whole, rest);
  } else {
    nest.when(c_.builder.op(Op::Le, {c_.add(begin, c_.literal(width_)), end}), whole, rest);
  }
  c_.end_phase();
}

void ColumnTiles::bind(int sub, ValueId position, ValueId mask) {
  c_.nest.set_sub(sub);
  c_.nest.bind(lane_, position);
  c_.nest.set_sub(0);
  columns_[sub] = position;
  mask_ = mask;
}

void ColumnTiles::each(Value v, int vectors, const std::function<void(int q)>& f) {
  Nest& nest = c_.nest;
  for (int q = 0; q < (nest.apart(v) ? vectors * copies_ : 1); ++q) {
    nest.set_sub(q);
    nest.set_mask(nest.varies(v) ? mask_ : kAlways);
    f(q);
  }
  nest.set_sub(0);
  nest.set_mask(kAlways);
}

namespace {

constexpr int64_t kFewTiles = 16, kManyBlocks = 16;    // of tall tiles: split
constexpr size_t kBusyInstrs = 16, kMostTogether = 4;  // side by side
constexpr int64_t kVectorsOfAnyCount = 4;              // of a tile: their chains and totals fit the registers
constexpr int64_t kRun = 1024;                         // columns
constexpr int kRowsAtOnce = 8, kRowsWithTotals = 4;
constexpr int64_t kFewRows = 32;     // whose lines the processor fetches ahead side by side
constexpr int64_t kShortLine = 640;  // columns: eight rows of them fit it
constexpr int64_t kFarBytes = 12;    // times the second cache: what is so large comes from memory beyond all caches

class Columns : ColumnStages {
 public:
  explicit Columns(Context& c) : ColumnStages(c, c.loops()), c_(c), tiles_(c) {
    any_count_ = tiles_.width() <= kVectorsOfAnyCount * c.lanes;
    if (any_count_ && blocks_ <= 1) know_count();
  }

  ColumnProgram program() {
    if (comes_from_memory()) return ColumnProgram::Runs;
    return tiles_.tiles() < kFewTiles && blocks_ >= kManyBlocks ? ColumnProgram::Split : ColumnProgram::Whole;
  }

  void lower_whole() {
    keep(Space::Local, count_ * tiles_.width());
    carries_whole_ = true;
    const bool serves_others = any_count_ && plan_.carried.empty() && inner_.size() == 1;
    if (serves_others) lengths_ = {inner_, {c_.is_small(), tiles_.width(), count_ <= ir::kShortReduce}, {count_}};
    if (serves_others && c_.is_known(lengths_, c_.target)) return c_.out.phase_cost.push_back(ns_of(count_));
    tiles_.run("columns", ns_of(count_), [&](int vectors) {
      set_vectors(vectors);
      all_loops();
    });
    if (serves_others) c_.keep(std::move(lengths_), c_.target);
  }

  void lower_split() {
    split_ = true;
    keep(Space::Global, global_count(count_));
    for (int l = 0; l < plan_.loops; ++l) {
      const std::vector<AccumulatorBuffers> partials = partial_buffers(l, global_count(blocks_));
      loop_phase(l, partials);
      if (!partials.empty()) fold_phase(l, partials);
    }
  }

  void lower_runs() {
    split_ = true;
    keep(Space::Global, global_count(count_));
    const std::vector<AccumulatorBuffers> partials = partial_buffers(0, global_count(blocks_));
    run_phase(partials);
    fold_phase(0, partials);
  }

 private:
  // The code for any count takes up to four times as long for a block or less: it is not used where it runs often, or for many columns.
  void know_count() {
    constexpr int64_t kManyColumns = 16384;
    any_count_ = !c_.target.often && c_.kernel.extent_of(AxisKind::Parallel) < kManyColumns;
    c_.out.better_often = c_.out.better_often || any_count_;
  }

  void each(Value v, const std::function<void(int)>& f) override { tiles_.each(v, vectors_, f); }
  void set_vectors(int vectors) {
    vectors_ = vectors;
    is_rest_ = vectors * nest_.lanes() < tiles_.width();
  }
  double ns_of(int64_t rows) const { return c_.ns_per_element * static_cast<double>(rows * tiles_.width()) + 20; }
  // The place among rows as wide as a tile.
  ValueId carried_place(ValueId row, int q) override {
    if (split_) return global_place(row, q);
    return c_.offset(c_.mul(row, c_.literal(tiles_.width())), int64_t{q} * nest_.lanes());
  }
  // For the phases to come: so many rows for all columns, those of a line filled up to whole tiles.
  int64_t global_count(int64_t rows) const { return rows * tiles_.tiles() * tiles_.width(); }
  ValueId global_place(ValueId row, ValueId line, ValueId column) {
    const int64_t columns = tiles_.tiles_of_line() * tiles_.width(), lines = tiles_.tiles() / tiles_.tiles_of_line();
    if (line >= 0) row = c_.add(c_.mul(row, nest_.size(lines)), line);
    return c_.add(c_.mul(row, nest_.size(columns)), column);
  }
  ValueId global_place(ValueId row, int q) { return global_place(row, tiles_.line(), tiles_.column(q)); }
  Place only_row() {
    return [this](int q) { return global_place(c_.literal(0), q % vectors_); };
  }

  // --- split

  // Each sum waits for the one before. Unless a row gives the processor enough to do meanwhile, several blocks are summed
  // side by side.
  int blocks_together(int l, int vectors) {
    size_t instrs = full(l).size();
    for (Value v : reductions(l)) {
      if (!nest_.varies(v)) return 1;  // one sum for all columns is one for all sub-vectors
      instrs += c_.reducer(v).has_index() ? 4 : 1;
    }
    const auto width = static_cast<size_t>(vectors);
    return reductions(l).empty() ? 1 : static_cast<int>(std::clamp<size_t>(kBusyInstrs / (instrs * width), 1, kMostTogether));
  }

  // A part has as many blocks as the narrowest tile takes at once, wider ones take some of these after the others.
  void loop_phase(int l, const std::vector<AccumulatorBuffers>& partials) {
    const int whole = static_cast<int>(tiles_.width() / nest_.lanes()), most = blocks_together(l, tiles_.few() ? 1 : whole);
    std::vector<int> axes = inner_;
    axes.push_back(tiles_.lane());
    nest_.set_sub_axes(axes);
    const auto body = [&](int vectors) {
      set_vectors(vectors);
      int together = std::min(most, blocks_together(l, vectors));
      while (most % together != 0) --together;
      ValueId first = c_.mul(tiles_.part(), c_.literal(most)), end = c_.add(first, c_.literal(most));
      const auto one_by_one = [&] {
        c_.loop(first, c_.minimum(end, nest_.size(blocks_)), 1, [&](ValueId block) { blocks_of_loop(l, block, 1, partials); });
      };
      const auto all = [&] {
        if (together == most) return blocks_of_loop(l, first, together, partials);
        c_.loop(first, end, together, [&](ValueId block) { blocks_of_loop(l, block, together, partials); });
      };
      if (together == 1) return one_by_one();
      nest_.when(b_.op(Op::Le, {c_.mul(end, c_.literal(kColumnBlock)), nest_.size(count_)}), all, one_by_one);
    };
    tiles_.run("loop" + std::to_string(l), ns_of(most * kColumnBlock), body, ceil_div(blocks_, most));
    nest_.set_sub_axes(std::array{tiles_.lane()});
  }

  void blocks_of_loop(int l, ValueId first, int together, const std::vector<AccumulatorBuffers>& partials) {
    for (int q = vectors_; q < together * vectors_; ++q) {
      nest_.set_sub(q % vectors_);
      ValueId column = nest_.axis_value(tiles_.lane());
      nest_.set_sub(q);
      nest_.bind(tiles_.lane(), column);
    }
    nest_.set_sub(0);
    tiles_.set_copies(together);
    recall(l, only_row());
    std::vector<Column> columns = open(l);
    const ValueId begin = block_begin(first);
    block(l, begin, block_end(begin), together, columns);
    for (Column& column : columns) {
      ValueId at = global_place(c_.add(first, c_.literal(column.sub / vectors_)), column.sub % vectors_);
      column.reduce.store(partials[column.number], at, column.read());
    }
    tiles_.set_copies(1);
  }

  // --- split, in runs

  // Whether the loop does little but read more than a cache holds, row by row as it lies, and many rows.
  bool comes_from_memory() {
    if (count_ <= kFewRows || plan_.loops != 1 || tiles_.width() < kLongRunOfTotals * nest_.lanes() || c_.extent(tiles_.lane()) < kRun / 2)
      return false;
    for (Value v : plan_.full[0]) {
      const Instr& in = nest_.instr(v);
      if (in.op == Op::Store) return false;
      for (Value a : in.args) {
        const Instr& arg = nest_.instr(a);
        if (arg.level != Level::Full && arg.op != Op::Const && arg.op != Op::Scalar) return false;
      }
      if (in.op != Op::Load || !nest_.varies(v)) continue;
      const Index::Stride stride = in.index.stride(tiles_.lane());
      if (!stride.ok || stride.value != 1 || in.scale != 0 || !in.guards.empty()) return false;
    }
    const auto plain = [&](Value v) { return nest_.varies(v) && nest_.instr(v).op != Op::ArgMax && nest_.instr(v).op != Op::ArgMin; };
    return c_.beyond_cache(bytes_of_columns()) && std::all_of(reductions(0).begin(), reductions(0).end(), plain);
  }

  int64_t bytes_of_columns() const {
    int64_t bytes = 0;
    for (Value v : plan_.full[0]) {
      if (nest_.instr(v).op == Op::Load && nest_.varies(v)) bytes += c_.bytes_read(v);
    }
    return bytes;
  }

  void run_phase(const std::vector<AccumulatorBuffers>& partials) {
    const int64_t runs = ceil_div(c_.extent(tiles_.lane()), kRun), lines = tiles_.tiles() / tiles_.tiles_of_line();
    ValueId t = c_.begin_phase("loop0", lines * runs * blocks_, c_.ns_per_element * static_cast<double>(kColumnBlock * kRun));
    auto [runs_before, block] = c_.divide(t, nest_.size(blocks_));
    auto [line, run] = c_.bind_outer(tiles_.outer(), runs_before, runs);
    ValueId begin = c_.mul(run, c_.literal(kRun)), end = c_.minimum(c_.add(begin, c_.literal(kRun)), nest_.extent(tiles_.lane()));
    ValueId base = global_place(block, line, c_.literal(0));
    // A run's sums, each vector with what a total keeps beside it next to it. So they lie twice as far apart as the columns: a processor
    // takes a read for one of what it has just stored where the last bits of the addresses agree, and waits. Sums that keep pace with
    // a row can do so all along.
    std::vector<int32_t> sums;
    for (Value v : reductions(0)) {
      const std::string name = "sums" + std::to_string(c_.out.tree.buffers.size());
      sums.push_back(c_.fixed_buffer(name, nest_.instr(nest_.instr(v).args[0]).dtype, Space::Local, 2 * kRun));
    }
    // next(number of the reduction, its place)
    const auto each_vector = [&](const std::function<void(size_t r, ValueId at)>& next) {
      c_.vector_loop(tiles_.lane(), begin, end, 1, [&] {
        const ValueId at = c_.mul(c_.sub(nest_.axis_value(tiles_.lane()), begin), c_.literal(2));
        for (size_t r = 0; r < reductions(0).size(); ++r) next(r, at);
      });
    };
    const auto beside = [&](ValueId at) { return c_.add(at, c_.literal(nest_.lanes())); };
    const auto store = [&](size_t r, ValueId at, Accumulator sum) {
      b_.store(sums[r], at, sum.value, nest_.mask());
      if (sum.beside >= 0) b_.store(sums[r], beside(at), sum.beside, nest_.mask());
    };
    const auto load = [&](size_t r, ValueId at) {
      const auto vector = [&](ValueId place) { return b_.load(sums[r], place, nest_.lanes(), nest_.mask()); };
      const ValueId value = vector(at);
      return Accumulator{value, in_chains(reductions(0)[r]) ? vector(beside(at)) : kNone};
    };
    each_vector([&](size_t r, ValueId at) { store(r, at, of_run(reductions(0)[r]).identity(nest_.lanes())); });
    const ValueId first = block_begin(block), last = block_end(first);
    nest_.set_sub_axes(inner_);
    const auto emit_unknown = [&](bool varying) {
      for (Value u : full(0)) {
        if ((varying || !nest_.varies(u)) && !nest_.known(u)) nest_.emit(u);
      }
    };
    ValueId from = first;
    const auto rows_of_run = [&](ValueId to, int at_once) {
      c_.loop(from, to, at_once, [&](ValueId r) {
        for (int j = 0; j < at_once; ++j) {
          nest_.set_sub(j);
          nest_.bind_linear(inner_, c_.offset(r, j));
          emit_unknown(false);
          nest_.prepare(full(0));
        }
        nest_.set_sub(0);
        each_vector([&](size_t n, ValueId at) { store(n, at, add_rows(reductions(0)[n], load(n, at), at_once, emit_unknown)); });
      });
      from = to;
    };
    const bool chained = std::any_of(reductions(0).begin(), reductions(0).end(), [&](Value v) { return in_chains(v); });
    // The totals of a run and more than four rows of it do not fit the first cache together. More rows are better all the same where
    // they come from far.
    const bool comes_from_far = bytes_of_columns() >= kFarBytes * c_.target.l2_bytes;
    const int at_once = chained && !comes_from_far && c_.extent(tiles_.lane()) > kShortLine ? kRowsWithTotals : kRowsAtOnce;
    rows_of_run(c_.add(first, b_.op(Op::And, {c_.sub(last, first), c_.literal(-at_once)})), at_once);
    chained ? last_chains(from, last, each_vector, load, store) : rows_of_run(last, 1);
    nest_.set_sub_axes(std::array{tiles_.lane()});
    each_vector([&](size_t r, ValueId at) {
      const Value v = reductions(0)[r];
      const ValueId place = c_.add(base, nest_.axis_value(tiles_.lane()));
      c_.reducer(v).store(partials[r], place, of_run(v).whole(load(r, at)), nest_.mask());
    });
    c_.end_phase();
  }

  // The rows that are left, however many: chain by chain, each in registers.
  template <typename EachVector, typename Load, typename Store>
  void last_chains(ValueId begin, ValueId end, const EachVector& each_vector, const Load& load, const Store& store) {
    const auto chain = [&](const std::vector<ValueId>& places, ValueId first, ValueId last) {
      std::vector<Column> chains;
      for (size_t r = 0; r < places.size(); ++r) {
        const Value v = reductions(0)[r];
        Reducer reduce = c_.reducer(v);
        chains.push_back({v, r, 0, reduce, reduce.open(in_chains(v) ? reduce.identity(nest_.lanes()) : load(r, places[r]))});
      }
      c_.loop(first, last, 1, [&](ValueId row) {
        nest_.bind_linear(inner_, row);
        for (Value v : full(0)) nest_.emit(v);
        for (Column& sum : chains) sum.take({nest_.vector(nest_.instr(sum.reduction).args[0])});
      });
      for (Column& sum : chains) {
        const ValueId at = places[sum.number];
        store(sum.number, at, in_chains(sum.reduction) ? of_run(sum.reduction).combine(load(sum.number, at), sum.read()) : sum.read());
      }
    };
    c_.loop(begin, end, ir::kReduceChain, [&](ValueId first) {
      const ValueId last = c_.piece_end(first, c_.literal(ir::kReduceChain), end);
      std::vector<ValueId> places;
      each_vector([&](size_t r, ValueId at) {
        if (r == 0) places.clear();
        places.push_back(at);
        if (places.size() == reductions(0).size()) chain(places, first, last);
      });
    });
  }

  // What a run's elements are added to.
  Reducer of_run(Value v) { return in_chains(v) ? c_.reducer(v).total() : c_.reducer(v); }

  // `sum` with the next rows, sub-vectors of the nest: chains if it is a total.
  template <typename Emit>
  Accumulator add_rows(Value v, Accumulator sum, int rows, const Emit& emit_unknown) {
    Accumulator chain;
    for (int j = 0; j < rows; ++j) {
      nest_.set_sub(j);
      emit_unknown(true);
      const Accumulator element{nest_.vector(nest_.instr(v).args[0])};
      if (!in_chains(v)) {
        sum = c_.reducer(v).combine(sum, element);
        continue;
      }
      chain = j % ir::kReduceChain == 0 ? element : c_.reducer(v).combine(chain, element);
      if (j + 1 == rows || (j + 1) % ir::kReduceChain == 0) sum = of_run(v).combine(sum, chain);
    }
    nest_.set_sub(0);
    return sum;
  }

  void fold_phase(int l, const std::vector<AccumulatorBuffers>& partials) {
    const double ns = static_cast<double>(blocks_ * tiles_.width()) / nest_.lanes() + 50;
    tiles_.run("fold" + std::to_string(l), ns, [&](int vectors) {
      set_vectors(vectors);
      fold_blocks(
          l, partials, [&](ValueId block, int q) { return global_place(block, q); }, only_row(), global_count(1));
    });
  }

  Context& c_;
  ColumnTiles tiles_;
  bool split_ = false;
};

}  // namespace

Choice choose_columns(const ir::Kernel& kernel, const ir::CpuTarget& target) {
  if (kernel.extent_of(AxisKind::Inner) <= kFewRows) return ColumnProgram::Whole;
  Lowered unused;  // a context of its own tells lanes and tiles
  Context context(kernel, unused, target);
  return Columns(context).program();
}

void lower_columns(Context& c) { Columns(c).lower_whole(); }
void lower_columns_split(Context& c) { Columns(c).lower_split(); }
void lower_columns_in_runs(Context& c) { Columns(c).lower_runs(); }

}  // namespace tenon::passes::cpu
