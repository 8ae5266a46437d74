// Schedules for Lanes reductions. rows: a parallel iteration takes a whole row through all its loops, values
// carried between loops lie in a row buffer. split: few long rows; the blocks of a loop run in parallel and
// leave partial results, a second phase folds them, and the row values go through memory to the phases that
// follow. Rows that share an operand (a matrix times a vector) are taken a few at a time, so that it is loaded once.
//
//   rows                                            split
//   phase rows: parallel r                          phase loop0: parallel (r, block)
//     loop 0: 64 lanes, fold -> %max                  fold block -> partial[r, block]
//     loop 1: ... carried to row[], fold -> %sum    phase fold0: parallel r
//     loop 2: ... store                               fold partials -> row values
//                                                   phase loop1: parallel (r, block) ...
#include <algorithm>
#include <bit>

#include "passes/schedule/cpu/context.h"
#include "passes/schedule/staged.h"

namespace tenon::passes::cpu {

using ir::kReduceLanes;

namespace {

constexpr int kMostTogether = 4;        // rows side by side
constexpr size_t kShortBody = 8;        // instructions of a loop that is worth unrolling so
constexpr size_t kUnrolled = 3;         // that stand for each element of a chain
constexpr int64_t kFewElements = 4096;  // of a single row: with fewer a launch takes longer than what other code would save

// The loops over rows and blocks of rows, 64 lanes at a time.
class LaneLoops : protected RowStages {
 protected:
  using Registers = std::vector<std::vector<Accumulator>>;  // by reduction and row, then by vector
  struct Lanes {
    Registers sums, totals;  // of a chain, and of the chains, where there are such
  };

  explicit LaneLoops(Context& c) : RowStages(c, c.loops()), c_(c) {
    // Lanes without elements do not change a result, so rows that one vector holds have no other lanes. That is most of what the
    // code knows of a row's length; it knows nothing of a single row, and of few elements in all, which have little to gain.
    c.set_lanes(lane_);
    const bool many = c.product(rows_) > 1;
    const bool single_run = !many && outer_.empty();
    is_small_ = c.is_small() && (blocks_ <= 1 || single_run || !outer_.empty());
    one_vector_ = many && length_ <= c.lanes && !is_small_;
    one_group_ = many && length_ <= kReduceLanes && !is_small_;
    any_length_ = (is_small_ && !outer_.empty()) || (single_run && (is_small_ || !one_chain_));
    group_ = one_vector_ ? c.lanes : static_cast<int>(kReduceLanes);
    if (many && length_ <= kReduceLanes) know_length();
    if (is_small_) c.out.better_often = many || length_ >= kFewElements;
  }

  // It does not pay for rows side by side: a processor follows so few by itself, and hints for each held it up.
  void ask_ahead() {
    for (const auto& full : plan_.full) {
      for (Value v : full) {
        if (nest_.instr(v).op == Op::Load && c_.beyond_cache(c_.bytes_read(v))) nest_.prefetch(v, kAhead);
      }
    }
  }

  // Code that runs often has no more lanes than such a row has elements, and no masks where it fills them.
  void know_length() {
    const int group = std::max(c_.lanes, static_cast<int>(std::bit_ceil(static_cast<uint64_t>(length_))));
    const bool fills = length_ == group;
    if (!c_.target.often) {
      c_.out.better_often = c_.out.better_often || group < group_ || fills;
      return;
    }
    one_group_ = true;
    group_ = group;
    no_rest_ = fills;
  }

  void each(Value v, const std::function<void(int)>& f) override {
    for (int j = 0; j < (together_ > 1 && nest_.apart(v) ? together_ : 1); ++j) {
      nest_.set_sub(j);
      f(j);
    }
    nest_.set_sub(0);
  }
  // f(v, n) for each reduction of loop l and each row of it, numbered.
  void each_result(int l, const std::function<void(Value v, size_t n)>& f) {
    size_t n = 0;
    for (Value v : reductions(l)) each(v, [&](int) { f(v, n++); });
  }
  void prepare(const std::vector<Value>& values) override {
    for (int j = 0; j < together_; ++j) {
      nest_.set_sub(j);
      nest_.prepare(values);
    }
    nest_.set_sub(0);
  }

  // The elements of loop l at the bound position of the lane axis.
  void elements(int l, ValueId kept) {
    point(l, inner_, [&](int) { return at(kept, nest_.axis_value(lane_)); });
  }

  void map_loop(int l, const Range& range, ValueId row_base) {
    for_outer(l, range, [&](ValueId base) {
      ValueId kept = kept_base(row_base, base);
      c_.vector_loop(lane_, range.begin, range.end, c_.unroll_for(inner_.size()), [&] { elements(l, kept); });
    });
  }

  ValueId kept_base(ValueId row_base, ValueId base) {
    if (carry_.empty() || row_base < 0) return base;
    return at(base, row_base);
  }

  // One block: 64 lanes (or fewer, for short rows) over the range, folded to a scalar for each reduction of
  // the loop, and for each row of it.
  std::vector<Accumulator> reduce_block(int l, const Range& range, ValueId row_base) {
    const int vectors = group_ / nest_.lanes();
    Lanes lanes;
    each_result(l, [&](Value v, size_t) {
      Reducer sum = c_.reducer(v), total = sum.total();
      lanes.sums.push_back(open(sum, vectors));
      lanes.totals.push_back(in_chains(v) ? open(total, vectors) : std::vector<Accumulator>{});
    });
    for_outer(l, range, [&](ValueId base) {
      const ValueId kept = kept_base(row_base, base);
      if (vectors > 1 && (is_small_ || inner_.size() > kLongBody)) {
        return each_chain(l, range.begin, range.end, lanes,
                          [&](ValueId begin, ValueId end) { in_memory(l, begin, end, kept, base, lanes.sums); });
      }
      const auto vector = [&](ValueId position, int q, bool masked, bool begins) {
        nest_.bind(lane_, position);
        nest_.set_mask(masked ? nest_.tail_mask(position, range.end) : kAlways);
        elements(l, kept);
        accumulate(l, lanes.sums, q, at(base, position), begins);
        nest_.set_mask(kAlways);
      };
      const auto group = [&](ValueId first, bool masked, bool begins) {
        for (int q = 0; q < vectors; ++q) {
          const ValueId position = c_.offset(first, int64_t{q} * nest_.lanes());
          // A vector past the end is skipped: it would take as long as any other.
          const ValueId some = masked && q > 0 ? c_.less(position, range.end) : kAlways;
          nest_.when(some, [&] { vector(position, q, masked, begins); });
        }
      };
      if (one_group_) {
        end_chains(l, lanes);
        return group(range.begin, !no_rest_, true);
      }
      ValueId whole = range.end;
      if (!no_rest_) whole = c_.add(range.begin, b_.op(Op::And, {c_.sub(range.end, range.begin), c_.literal(-group_)}));
      const auto groups = [&](ValueId begin, ValueId end) {
        c_.loop(begin, end, group_, [&](ValueId first) { group(first, false, false); });
      };
      const auto one_group = [&](ValueId first, bool begins) { group(first, false, begins); };
      each_chain(l, range.begin, whole, lanes, groups, inner_.size() <= kUnrolled ? one_group : Group());
      if (no_rest_) return;
      nest_.when(c_.less(whole, range.end), [&] {
        if (in_chains(reductions(l))) {  // what is left ends the last chain, or is one
          const ValueId of_chain = b_.op(Op::And, {c_.sub(whole, range.begin), c_.literal(chain_length() - 1)});
          nest_.when(b_.op(Op::Eq, {of_chain, c_.literal(0)}), [&] { end_chains(l, lanes); });
        }
        vectors == 1 || inner_.size() <= kShortBody ? group(whole, true, false) : in_memory(l, whole, range.end, kept, base, lanes.sums);
      });
    });
    end_chains(l, lanes);
    std::vector<Accumulator> results;
    each_result(l, [&](Value v, size_t n) {
      Reducer sum = c_.reducer(v), total = sum.total();
      std::vector<Accumulator> parts;
      for (size_t q = 0; q < lanes.sums[n].size(); ++q) {
        parts.push_back(in_chains(v) ? total.whole(total.read(lanes.totals[n][q])) : sum.read(lanes.sums[n][q]));
      }
      results.push_back(sum.fold(std::move(parts)));
    });
    return results;
  }

  // Elements of a lane's chain, times the lanes.
  int64_t chain_length() const { return group_ * ir::kReduceChain; }

  // body(begin, end) for each chain of a row's elements from `begin` to `end`; where there is a `group`,
  // whole chains are its groups of lanes one by one, without a loop.
  using Group = std::function<void(ValueId first, bool begins)>;  // `begins`: a chain
  void each_chain(int l, ValueId begin, ValueId end, const Lanes& lanes, const std::function<void(ValueId begin, ValueId end)>& body,
                  const Group& group = {}) {
    if (!in_chains(reductions(l))) return body(begin, end);
    if (group) {
      const ValueId whole = c_.add(begin, b_.op(Op::And, {c_.sub(end, begin), c_.literal(-chain_length())}));
      c_.loop(begin, whole, chain_length(), [&](ValueId first) {
        end_chains(l, lanes);
        for (int64_t j = 0; j < ir::kReduceChain; ++j) group(c_.offset(first, j * group_), j == 0);
      });
      begin = whole;
    }
    if (!is_small_) {
      return c_.loop(begin, end, chain_length(), [&](ValueId first) {
        end_chains(l, lanes);
        body(first, c_.piece_end(first, c_.literal(chain_length()), end));
      });
    }
    // Whether the row is one chain or many the code does not know: one goes on from each point of the outer axes to the next.
    const ValueId length = nest_.size(one_chain_ ? ir::kLaneBlock : chain_length());
    const ValueId chains = b_.quotient(c_.sub(c_.add(c_.sub(end, begin), length), c_.literal(1)), length);
    const ValueId ends = outer_.empty() ? kAlways : b_.op(Op::Ne, {nest_.size(one_chain_ ? 0 : 1), c_.literal(0)});
    c_.loop(c_.literal(0), chains, 1, [&](ValueId number) {
      nest_.when(ends, [&] { end_chains(l, lanes); });
      const ValueId first = c_.add(begin, c_.mul(number, length));
      body(first, c_.piece_end(first, length, end));
    });
  }

  // What the lanes have summed goes to the totals.
  void end_chains(int l, const Lanes& lanes) {
    each_result(l, [&](Value v, size_t n) {
      Reducer sum = c_.reducer(v), total = sum.total();
      for (size_t q = 0; q < lanes.totals[n].size(); ++q) {
        total.take(lanes.totals[n][q], sum.read(lanes.sums[n][q]));
        sum.write(lanes.sums[n][q], sum.identity(nest_.lanes()));
      }
    });
  }

  // Elements from the first of a group on: a loop over single masked vectors with the registers in memory
  // meanwhile, so that the instructions stand once.
  void in_memory(int l, ValueId begin, ValueId end, ValueId kept, ValueId base, const Registers& registers) {
    std::vector<AccumulatorBuffers> buffers;
    const auto place = [&](size_t q) { return c_.literal(static_cast<int64_t>(q) * nest_.lanes()); };
    each_result(l, [&](Value v, size_t n) {
      Reducer reduce = c_.reducer(v);
      buffers.push_back(reduce.buffers("sums" + std::to_string(c_.out.tree.buffers.size()), Space::Local, group_));
      for (size_t q = 0; q < registers[n].size(); ++q) reduce.store(buffers[n], place(q), reduce.read(registers[n][q]));
    });
    c_.masked_loop(lane_, begin, end, [&] {
      const ValueId position = nest_.axis_value(lane_), in_group = b_.op(Op::And, {c_.sub(position, begin), c_.literal(group_ - 1)});
      elements(l, kept);
      Registers current;
      each_result(l, [&](Value v, size_t n) {
        Reducer reduce = c_.reducer(v);
        current.push_back({reduce.open(reduce.load(buffers[n], in_group, nest_.lanes()))});
      });
      accumulate(l, current, 0, at(base, position));
      each_result(l, [&](Value v, size_t n) {
        Reducer reduce = c_.reducer(v);
        reduce.store(buffers[n], in_group, reduce.read(current[n][0]));
      });
    });
    each_result(l, [&](Value v, size_t n) {
      Reducer reduce = c_.reducer(v);
      for (size_t q = 0; q < registers[n].size(); ++q) reduce.write(registers[n][q], reduce.load(buffers[n], place(q), nest_.lanes()));
    });
  }

  std::vector<Accumulator> open(Reducer& reduce, int vectors) {
    std::vector<Accumulator> registers;
    for (int q = 0; q < vectors; ++q) registers.push_back(reduce.open(reduce.identity(nest_.lanes())));
    return registers;
  }

  // The current elements into register q of each reduction of the loop, and of each row. The first ones of chains are added to
  // nothing.
  void accumulate(int l, const Registers& registers, int q, ValueId position, bool begins = false) {
    each_result(l, [&](Value v, size_t n) {
      Reducer reduce = c_.reducer(v);
      Accumulator element{nest_.vector(nest_.instr(v).args[0])};
      if (reduce.has_index()) element.beside = lane_positions(position);
      begins&& nest_.mask() < 0 && in_chains(v) ? reduce.write(registers[n][q], element)
                                                : take(reduce, registers[n][q], element, nest_.mask());
    });
  }

  // Lanes that the mask leaves out stay as they are.
  void take(Reducer& reduce, Accumulator registers, Accumulator element, ValueId mask) {
    Accumulator before = reduce.read(registers), after = reduce.combine(before, element);
    reduce.write(registers, mask < 0 ? after : reduce.select(mask, after, before));
  }

  ValueId lane_positions(ValueId position) {
    if (nest_.lanes() == 1) return position;
    return b_.let(Op::Ramp, {position, c_.literal(1)}, VType{DType::I64, static_cast<int16_t>(nest_.lanes())});
  }

  // A row's block values, `blocks_` of them from `base` on, reduced as one row of 64 lanes.
  Accumulator fold_partials(Value reduction, AccumulatorBuffers partial, ValueId base) {
    Reducer block = c_.reducer(reduction), reduce = block.total();
    const int lanes = nest_.lanes();
    const std::vector<Accumulator> registers = open(reduce, static_cast<int>(kReduceLanes) / lanes);
    ValueId end = nest_.size(blocks_);
    c_.loop(c_.literal(0), end, kReduceLanes, [&](ValueId first) {
      for (size_t q = 0; q < registers.size(); ++q) {
        ValueId position = c_.offset(first, static_cast<int64_t>(q) * lanes);
        ValueId mask = nest_.tail_mask(position, end);
        take(reduce, registers[q], block.load(partial, at(base, position), lanes, mask), mask);
      }
    });
    std::vector<Accumulator> parts;
    for (const Accumulator& a : registers) parts.push_back(reduce.read(a));
    return reduce.whole(reduce.fold(std::move(parts)));
  }

  void store_partials(int l, const std::vector<Accumulator>& blocks, const std::vector<AccumulatorBuffers>& partials, ValueId place) {
    each_result(l, [&](Value v, size_t n) { c_.reducer(v).store(partials[n], place, blocks[n]); });
  }

  std::vector<AccumulatorBuffers> partial_buffers(int l, Space space, int64_t count) {
    std::vector<AccumulatorBuffers> result;
    each_result(l, [&](Value v, size_t) { result.push_back(c_.partials(v, space, count)); });
    return result;
  }

  // Loop l of one row, in the row's own iteration.
  void reduce_row(int l) {
    std::vector<Accumulator> results;
    if (blocks_ <= 1 && !any_length_) {
      results = reduce_block(l, whole_row(), kZero);
    } else {
      auto partials = partial_buffers(l, Space::Local, blocks_);
      c_.loop(c_.literal(0), nest_.size(blocks_), 1,
              [&](ValueId block) { store_partials(l, reduce_block(l, block_range(block), kZero), partials, block); });
      each_result(l, [&](Value v, size_t n) { results.push_back(fold_partials(v, partials[n], kZero)); });
    }
    each_result(l, [&](Value v, size_t n) { nest_.set(v, c_.reducer(v).result(results[n])); });
  }

  Context& c_;
  int group_;                    // virtual lanes in use
  bool one_vector_, one_group_;  // a row is not longer
  bool is_small_;                // vector by vector in a loop, whatever a row's length is
  bool no_rest_ = false;         // rows are known to be whole groups
  int together_ = 1;             // rows side by side in the current scope, each a sub-vector of the nest
};

class Rows : LaneLoops {
 public:
  explicit Rows(Context& c) : LaneLoops(c) {}

  void lower_rows() {
    carries_whole_ = true;  // lines are written in their order: what a line's last vector has too much, the next one overwrites
    keep(Space::Local, count_ * length_ + c_.lanes - 1);
    double ns = c_.ns_per_element * static_cast<double>(count_ * length_) + 20;
    if (epilogue_pays()) return rows_by_blocks(ns);
    if (int together = rows_together(); together > 1) {
      no_rest_ = true;
      is_small_ = false;
      return rows_side_by_side(together, ns);
    }
    ask_ahead();
    nest_.bind_linear(rows_, c_.begin_phase("rows", c_.product(rows_), ns));
    whole_rows();
    c_.end_phase();
  }

  void lower_split() {
    int64_t rows = c_.product(rows_);
    ask_ahead();
    keep(Space::Global, rows * count_ * length_);
    for (int l = 0; l < plan_.loops; ++l) {
      std::vector<AccumulatorBuffers> partials = loop_phase(l, rows);
      if (!partials.empty()) fold_phase(l, rows, partials);
    }
  }

 private:
  void loops_of_row() {
    for (int l = 0; l < plan_.loops; ++l) {
      emit_rows(l);
      prepare(full(l));
      reductions(l).empty() ? map_loop(l, whole_row(), kZero) : reduce_row(l);
    }
  }
  void whole_rows() {
    loops_of_row();
    emit_rows(plan_.loops);
  }

  // --- rows by blocks: what follows a row's last loop is done for as many rows at once as a vector has lanes

  // Whether it is a good part of the work.
  bool epilogue_pays() const {
    double epilogue = 0, loops = 0;
    for (Value v : plan_.rows[plan_.loops]) epilogue += ir::info(nest_.instr(v).op).cost;
    for (const auto& full : plan_.full) {
      for (Value v : full) loops += std::max<int>(1, ir::info(nest_.instr(v).op).cost);
    }
    return !rows_.empty() && epilogue >= 6 && (is_small_ || epilogue * 10 * c_.lanes > loops * static_cast<double>(count_ * length_));
  }

  void rows_by_blocks(double ns) {
    const int across = rows_.back(), lanes = c_.lanes;
    ask_ahead();
    ValueId begin = group_phase(lanes, ns);
    ValueId end = c_.minimum(c_.add(begin, c_.literal(lanes)), nest_.extent(across));
    std::vector<std::pair<Value, int32_t>> results = results_for_epilogue();
    c_.loop(begin, end, 1, [&](ValueId at) {
      nest_.bind(across, at);
      loops_of_row();
      for (auto& [v, buffer] : results) b_.store(buffer, c_.sub(at, begin), nest_.get(v));
    });
    nest_.set_lane_axis(across, lanes);
    c_.in_scope([&] {
      nest_.bind(across, begin);
      nest_.set_mask(nest_.tail_mask(begin, end));
      for (auto& [v, buffer] : results) nest_.set(v, b_.load(buffer, c_.literal(0), nest_.lanes(v)));
      emit_values(0);
      emit_rows(plan_.loops);
      nest_.set_mask(kAlways);
    });
    c_.end_phase();
  }

  // The rows' values that the epilogue reads, each with a buffer for a block of rows; what depends on no reduction is
  // computed again.
  std::vector<std::pair<Value, int32_t>> results_for_epilogue() {
    std::vector<std::pair<Value, int32_t>> results;
    const std::vector<Value>& epilogue = plan_.rows[plan_.loops];
    auto add = [&](Value v) {
      bool computed = ir::is_reduce(nest_.instr(v).op) || plan_.available[v] < plan_.loops;
      if (plan_.available[v] == 0 || !computed) return;
      for (auto& [known, buffer] : results) {
        if (known == v) return;
      }
      results.emplace_back(v, c_.buffer("result", nest_.instr(v).dtype, Space::Local, c_.lanes));
    };
    for (Value v : epilogue) {
      for (Value a : nest_.instr(v).args) add(a);
    }
    return results;
  }

  // --- rows side by side: each is a sub-vector of the nest

  // How many rows pay: as many as leave half the registers free, where all is read as it lies and something
  // is shared. A masked loop as well does not pay: four times that code takes longer to compile than it saves.
  int rows_together() {
    if (rows_.empty() || plan_.loops != 1 || plan_.full[0].size() > kShortBody || length_ % group_ != 0) return 1;
    const std::vector<bool> apart = varying_along(c_.kernel, rows_.back());
    bool shared = false;
    for (Value v : plan_.full[0]) {
      const Instr& in = nest_.instr(v);
      if (in.op != Op::Load || !nest_.varies(v)) continue;
      const Index::Stride stride = in.index.stride(lane_);
      if (!stride.ok || stride.value != 1 || in.scale != 0) return 1;
      shared = shared || !apart[v];
    }
    // A lane has a sum, or with a total three registers, of which two rest between chains.
    const bool chains = in_chains(plan_.reductions[0]);
    const int accumulators = group_ / nest_.lanes() * static_cast<int>(plan_.reductions[0].size()) * (chains ? 3 : 1);
    const int registers = c_.target.vector_registers() / (chains ? 1 : 2);
    const int most = std::min(kMostTogether, registers / std::max(accumulators, 1));
    return shared ? most : 1;
  }

  void rows_side_by_side(int together, double ns) {
    const int across = rows_.back();
    nest_.set_sub_axes({&across, 1});
    ValueId begin = group_phase(together, ns), end = nest_.extent(across);
    const auto rows = [&](ValueId first, int count) {
      c_.in_scope([&] {
        together_ = count;
        for (int j = 0; j < count; ++j) {
          nest_.set_sub(j);
          nest_.bind(across, c_.offset(first, j));
        }
        nest_.set_sub(0);
        whole_rows();
      });
    };
    nest_.when(
        b_.op(Op::Le, {c_.add(begin, c_.literal(together)), end}), [&] { rows(begin, together); },
        [&] { c_.loop(begin, end, 1, [&](ValueId at) { rows(at, 1); }); });
    c_.end_phase();
  }

  // A phase of groups of rows that are neighbours along the last parallel axis; gives a group's first.
  ValueId group_phase(int rows, double ns) {
    const std::vector<int> outer(rows_.begin(), rows_.end() - 1);
    const int64_t groups = ceil_div(c_.extent(rows_.back()), rows);
    const ValueId number = c_.begin_phase("rows", c_.product(outer) * groups, ns * rows);
    return c_.mul(c_.bind_outer(outer, number, groups).second, c_.literal(rows));
  }

  // --- split

  std::vector<AccumulatorBuffers> loop_phase(int l, int64_t rows) {
    auto partials = partial_buffers(l, Space::Global, rows * blocks_);
    double ns = c_.ns_per_element * static_cast<double>(ir::kLaneBlock) + 20;
    ValueId t = c_.begin_phase("loop" + std::to_string(l), rows * blocks_, ns);
    auto [row, block] = c_.divide(t, nest_.size(blocks_));
    nest_.bind_linear(rows_, row);
    recall(l, [row = row](int) { return row; });
    nest_.prepare(full(l));
    ValueId row_base = carry_.empty() ? kZero : c_.mul(row, nest_.size(count_ * length_));
    if (reductions(l).empty()) {
      map_loop(l, block_range(block), row_base);
    } else {
      store_partials(l, reduce_block(l, block_range(block), row_base), partials, t);
    }
    c_.end_phase();
    return partials;
  }

  void fold_phase(int l, int64_t rows, const std::vector<AccumulatorBuffers>& partials) {
    ValueId row = c_.begin_phase("fold" + std::to_string(l), rows, static_cast<double>(blocks_) * 0.5 + 50);
    const auto place = [row](int) { return row; };
    nest_.bind_linear(rows_, row);
    recall(l, place);
    ValueId base = c_.mul(row, nest_.size(blocks_));
    each_result(l, [&](Value v, size_t n) { nest_.set(v, c_.reducer(v).result(fold_partials(v, partials[n], base))); });
    emit_after(l);
    remember(l, place, rows);
    c_.end_phase();
  }
};

}  // namespace

bool splits_rows(const ir::Kernel& kernel, const ir::CpuTarget& target) {
  const int64_t rows = kernel.extent_of(AxisKind::Parallel), elements = rows * kernel.extent_of(AxisKind::Inner);
  return rows < 16 && elements >= rows * 16 * ir::kLaneBlock && (target.often || elements >= kManyPoints);
}

void lower_rows(Context& c) { Rows(c).lower_rows(); }
void lower_rows_split(Context& c) { Rows(c).lower_split(); }

}  // namespace tenon::passes::cpu
