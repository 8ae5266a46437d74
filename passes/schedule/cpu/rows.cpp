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
#include <map>

#include "passes/schedule/cpu/context.h"

namespace tenon::passes::cpu {

using ir::AxisKind;
using ir::DType;
using ir::kLaneBlock;
using ir::kReduceLanes;
using ir::Op;
using ir::Value;
using ir::ValueId;

namespace {

constexpr int kMostTogether = 4;      // rows side by side
constexpr size_t kShortBody = 8;      // instructions of a loop that is worth unrolling so

class Rows {
 public:
  explicit Rows(Context& c) : c_(c), nest_(c.nest), b_(c.builder), plan_(c.loops()) {
    rows_ = c.axes(AxisKind::Parallel);
    std::vector<int> inner = c.axes(AxisKind::Inner);
    lane_ = inner.back();
    outer_.assign(inner.begin(), inner.end() - 1);
    length_ = c.extent(lane_);
    count_ = c.product(outer_);
    // Lanes without elements do not change a result, so short rows use only as many as they have elements.
    auto wanted = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(std::min(length_, kReduceLanes))));
    group_ = static_cast<int>(wanted);
    nest_.set_lane_axis(lane_, std::min(c.lanes, group_));
    for (const auto& full : plan_.full) {
      for (Value v : full) {
        if (nest_.instr(v).op == Op::Load && c.beyond_cache(c.bytes_read(v))) nest_.prefetch(v, kAhead);
      }
    }
    blocks_along_ = length_ >= kLaneBlock ? (length_ + kLaneBlock - 1) / kLaneBlock : 1;
    rows_per_block_ =
        length_ >= kLaneBlock ? 1 : std::max<int64_t>(1, kLaneBlock / std::max<int64_t>(1, length_));
    blocks_ =
        length_ >= kLaneBlock ? count_ * blocks_along_ : (count_ + rows_per_block_ - 1) / rows_per_block_;
    for (Value v : plan_.carried) carry_.emplace(v, -1);
  }

  void lower_rows() {
    for (auto& [v, buffer] : carry_) buffer = local("kept", nest_.instr(v).dtype, count_ * length_);
    double ns = c_.ns_per_element * static_cast<double>(count_ * length_) + 20;
    if (epilogue_pays()) return rows_by_blocks(ns);
    if (int together = rows_together(); together > 1) return rows_side_by_side(together, ns);
    ValueId row = c_.begin_phase("rows", c_.product(rows_), ns);
    nest_.bind_linear(rows_, row);
    loops_of_row();
    emit_rows(plan_.loops, true);
    c_.end_phase();
  }

  void lower_split() {
    int64_t rows = c_.product(rows_);
    for (auto& [v, buffer] : carry_) buffer = global("kept", nest_.instr(v).dtype, rows * count_ * length_);
    for (int l = 0; l < plan_.loops; ++l) {
      std::vector<AccumulatorBuffers> partials = loop_phase(l, rows);
      if (!partials.empty()) fold_phase(l, rows, partials);
    }
  }

 private:
  struct Range {
    ValueId outer_begin, outer_end, begin, end;
  };

  int32_t local(std::string name, DType dtype, int64_t count) {
    return b_.add_buffer({name + std::to_string(c_.out.tree.buffers.size()), dtype, ir::Space::Local,
                          nest_.size_slot(count), 0});
  }
  int32_t global(std::string name, DType dtype, int64_t count) {
    return b_.add_buffer({name + std::to_string(c_.out.tree.buffers.size()), dtype, ir::Space::Global,
                          nest_.size_slot(count), 0});
  }

  Reducer reducer(Value reduction) {
    const ir::Instr& in = nest_.instr(reduction);
    return Reducer(b_, in, nest_.instr(in.args[0]).dtype);
  }

  void loops_of_row() {
    for (int l = 0; l < plan_.loops; ++l) {
      emit_rows(l, true);
      prepare(plan_.full[static_cast<size_t>(l)]);
      if (plan_.reductions[static_cast<size_t>(l)].empty()) {
        map_loop(l, whole_row(), nest_.literal(0));
      } else {
        reduce_row(l);
      }
    }
  }

  // --- rows by blocks: what follows a row's last loop is done for as many rows at once as a vector has lanes

  // Whether it is a good part of the work and there are rows enough.
  bool epilogue_pays() const {
    double epilogue = 0, loops = 0;
    for (Value v : plan_.rows[static_cast<size_t>(plan_.loops)]) epilogue += ir::info(nest_.instr(v).op).cost;
    for (const auto& full : plan_.full) {
      for (Value v : full) loops += std::max<int>(1, ir::info(nest_.instr(v).op).cost);
    }
    return !rows_.empty() && c_.extent(rows_.back()) >= 4 * c_.lanes && epilogue >= 6 &&
           epilogue * 10 * c_.lanes > loops * static_cast<double>(count_ * length_);
  }

  void rows_by_blocks(double ns) {
    int across = rows_.back(), lanes = c_.lanes;
    std::vector<int> outer(rows_.begin(), rows_.end() - 1);
    int64_t extent = c_.extent(across), blocks = (extent + lanes - 1) / lanes;
    ValueId t = c_.begin_phase("rows", c_.product(outer) * blocks, ns * lanes);
    auto [row, block] = c_.divide(t, nest_.size(blocks));
    if (!outer.empty()) nest_.bind_linear(outer, row);
    ValueId begin = c_.mul(outer.empty() ? t : block, nest_.literal(lanes));
    ValueId end = c_.minimum(c_.add(begin, nest_.literal(lanes)), nest_.size(extent));
    std::vector<std::pair<Value, int32_t>> results = results_for_epilogue();
    ValueId at = b_.begin_for(begin, end, 1);
    nest_.push();
    nest_.bind(across, at);
    loops_of_row();
    for (auto& [v, buffer] : results) b_.store(buffer, c_.sub(at, begin), nest_.get(v));
    nest_.pop();
    b_.end_for();

    nest_.set_lane_axis(across, lanes);
    nest_.push();
    nest_.bind(across, begin);
    nest_.set_mask(nest_.tail_mask(begin, end));
    for (auto& [v, buffer] : results) {
      nest_.set(v, b_.load(buffer, nest_.literal(0), nest_.varies(v) ? lanes : 1));
    }
    emit_rows(0, false);
    emit_rows(plan_.loops, true);
    nest_.set_mask(-1);
    nest_.pop();
    c_.end_phase();
  }

  // The rows' values that the epilogue reads, each with a buffer for a block of rows; what depends on no reduction is
  // computed again.
  std::vector<std::pair<Value, int32_t>> results_for_epilogue() {
    std::vector<std::pair<Value, int32_t>> results;
    const std::vector<Value>& epilogue = plan_.rows[static_cast<size_t>(plan_.loops)];
    auto add = [&](Value v) {
      bool computed = ir::is_reduce(nest_.instr(v).op) || plan_.available[static_cast<size_t>(v)] < plan_.loops;
      if (plan_.available[static_cast<size_t>(v)] == 0 || !computed) return;
      for (auto& [known, buffer] : results) {
        if (known == v) return;
      }
      results.emplace_back(v, local("result", nest_.instr(v).dtype, c_.lanes));
    };
    for (Value v : epilogue) {
      for (Value a : nest_.instr(v).args) add(a);
    }
    return results;
  }

  // --- rows side by side: each is a sub-vector of the nest

  // How many rows pay: as many as leave half the registers free, where all is read as it lies and something is shared.
  // Not with a masked loop as well: four times that code takes longer to compile than it saves.
  int rows_together() const {
    if (rows_.empty() || plan_.loops != 1 || plan_.full[0].size() > kShortBody || length_ % group_ != 0) return 1;
    const std::vector<bool> apart = varying_along(c_.kernel, rows_.back());
    bool shared = false;
    for (Value v : plan_.full[0]) {
      const ir::Instr& in = nest_.instr(v);
      if (in.op != Op::Load || !nest_.varies(v)) continue;
      const ir::Index::Stride stride = in.index.stride(lane_);
      if (!stride.ok || stride.value != 1 || in.scale != 0) return 1;
      shared = shared || !apart[static_cast<size_t>(v)];
    }
    const int accumulators = group_ / nest_.lanes() * static_cast<int>(plan_.reductions[0].size());
    const int most = std::min(kMostTogether, c_.target.vector_registers() / 2 / std::max(accumulators, 1));
    return shared && c_.extent(rows_.back()) >= most ? most : 1;
  }

  void rows_side_by_side(int together, double ns) {
    const int across = rows_.back();
    const std::vector<int> outer(rows_.begin(), rows_.end() - 1);
    const int64_t extent = c_.extent(across), groups = (extent + together - 1) / together;
    nest_.set_sub_axes({&across, 1});
    ValueId t = c_.begin_phase("rows", c_.product(outer) * groups, ns * together);
    if (!outer.empty()) {
      auto [row, group] = c_.divide(t, nest_.size(groups));
      nest_.bind_linear(outer, row);
      t = group;
    }
    ValueId begin = c_.mul(t, nest_.literal(together)), end = nest_.size(extent);
    const auto rows = [&](ValueId first, int count) {
      nest_.push();
      together_ = count;
      for (int j = 0; j < count; ++j) {
        nest_.set_sub(j);
        nest_.bind(across, j == 0 ? first : c_.add(first, nest_.literal(j)));
      }
      nest_.set_sub(0);
      loops_of_row();
      emit_rows(plan_.loops, true);
      nest_.pop();
    };
    c_.whole_or_rest(
        begin, end, extent, together, [&] { rows(begin, together); },
        [&] {
          ValueId at = b_.begin_for(begin, end, 1);
          rows(at, 1);
          b_.end_for();
        });
    c_.end_phase();
  }

  // f() for each of the rows side by side if the value differs from one to the next, else once.
  template <typename F>
  void each(Value v, const F& f) {
    for (int j = 0; j < (together_ > 1 && nest_.apart(v) ? together_ : 1); ++j) {
      nest_.set_sub(j);
      f();
    }
    nest_.set_sub(0);
  }
  void emit(Value v) {
    each(v, [&] { nest_.emit(v); });
  }
  void prepare(const std::vector<Value>& values) {
    for (int j = 0; j < together_; ++j) {
      nest_.set_sub(j);
      nest_.prepare(values);
    }
    nest_.set_sub(0);
  }

  // --- row-level instructions

  void emit_rows(int available, bool stores) {
    for (Value v : plan_.rows[static_cast<size_t>(available)]) {
      if (nest_.instr(v).op != Op::Store ? !nest_.known(v) : stores) emit(v);
    }
  }

  // --- loops

  // Every element of the row; the outer axes have no range where there are none.
  Range whole_row() {
    bool outer = !outer_.empty();
    return {outer ? nest_.literal(0) : -1, outer ? nest_.size(count_) : -1, nest_.literal(0),
            nest_.size(length_)};
  }

  // The elements of a block; the whole row if there is only one.
  Range block_range(ValueId block) {
    if (blocks_ == 1) return whole_row();
    if (length_ >= kLaneBlock) {
      auto [outer, along] = c_.divide(block, nest_.size(blocks_along_));
      ValueId begin = c_.mul(along, nest_.literal(kLaneBlock));
      return {outer, c_.add(outer, nest_.literal(1)), begin,
              c_.minimum(c_.add(begin, nest_.literal(kLaneBlock)), nest_.size(length_))};
    }
    ValueId step = nest_.size(rows_per_block_), begin = c_.mul(block, step);
    return {begin, c_.minimum(c_.add(begin, step), nest_.size(count_)), nest_.literal(0),
            nest_.size(length_)};
  }

  // Runs `body(base)` for each point of the outer inner axes in the range, in a scope of its own; `base` is
  // the position of the point's first element in the row. What does not vary along the lanes is computed
  // there.
  template <typename Body>
  void for_outer(int l, const Range& range, const Body& body) {
    nest_.push();
    ValueId base = nest_.literal(0);
    if (!outer_.empty()) {
      ValueId outer = b_.begin_for(range.outer_begin, range.outer_end, 1);
      nest_.bind_linear(outer_, outer);
      base = c_.mul(outer, nest_.size(length_));
    }
    inner_.clear();
    // What is computed from a value that is read back stays with it, though it may not vary.
    std::vector<bool> late(c_.kernel.instrs.size(), false);
    for (Value v : plan_.carried_in[static_cast<size_t>(l)]) late[static_cast<size_t>(v)] = true;
    for (Value v : plan_.full[static_cast<size_t>(l)]) {
      const ir::Instr& in = nest_.instr(v);
      late[static_cast<size_t>(v)] = std::any_of(in.args.begin(), in.args.end(),
                                                 [&](Value a) { return late[static_cast<size_t>(a)]; });
      if (nest_.varies(v) || nest_.lanes() == 1 || late[static_cast<size_t>(v)]) {
        inner_.push_back(v);
      } else {
        emit(v);
      }
    }
    prepare(inner_);
    body(base);
    if (!outer_.empty()) b_.end_for();
    nest_.pop();
  }

  // The instructions of loop l at the bound position: carried values in, everything computed, carried values
  // out.
  void point(int l, ValueId kept_base, ValueId mask) {
    for (Value v : plan_.carried_in[static_cast<size_t>(l)]) {
      nest_.set(v, b_.load(carry_.at(v), kept_position(kept_base), nest_.varies(v) ? nest_.lanes() : 1,
                           nest_.varies(v) ? mask : -1));
    }
    for (Value v : inner_) emit(v);
    for (Value v : plan_.full[static_cast<size_t>(l)]) {
      auto it = carry_.find(v);
      if (it == carry_.end()) continue;
      b_.store(it->second, kept_position(kept_base), nest_.get(v), nest_.varies(v) ? mask : -1);
    }
  }
  ValueId kept_position(ValueId base) { return c_.add(base, nest_.axis_value(lane_)); }

  void map_loop(int l, const Range& range, ValueId row_base) {
    for_outer(l, range, [&](ValueId base) {
      ValueId kept = carry_.empty() ? -1 : c_.add(row_base, base);
      vector_loop(nest_, lane_, range.begin, range.end, unroll_for(inner_.size()),
                  [&] { point(l, kept, nest_.mask()); });
    });
  }

  // One block: 64 lanes (or fewer, for short rows) over the range, folded to a scalar for each reduction of
  // the loop, and for each row of it.
  std::vector<Accumulator> reduce_block(int l, const Range& range, ValueId row_base) {
    const std::vector<Value>& reductions = plan_.reductions[static_cast<size_t>(l)];
    int vectors = group_ / nest_.lanes();
    std::vector<std::vector<Accumulator>> registers;
    for (Value v : reductions) {
      each(v, [&] {
        Reducer reduce = reducer(v);
        std::vector<Accumulator>& row = registers.emplace_back();
        for (int q = 0; q < vectors; ++q) row.push_back(reduce.open(reduce.identity(nest_.lanes())));
      });
    }
    for_outer(l, range, [&](ValueId base) {
      ValueId kept = carry_.empty() ? -1 : c_.add(row_base, base);
      if (length_ % group_ == 0) return lane_group(l, range.begin, range.end, kept, base, registers, false);
      ValueId whole =
          c_.add(range.begin, b_.op(Op::And, {c_.sub(range.end, range.begin), nest_.literal(-group_)}));
      lane_group(l, range.begin, whole, kept, base, registers, false);
      lane_group(l, whole, range.end, kept, base, registers, true);
    });
    std::vector<Accumulator> results;
    for (Value v : reductions) {
      each(v, [&] {
        Reducer reduce = reducer(v);
        std::vector<Accumulator> parts;
        for (const Accumulator& a : registers[results.size()]) parts.push_back(reduce.read(a));
        results.push_back(reduce.fold(std::move(parts)));
      });
    }
    return results;
  }

  void lane_group(int l, ValueId begin, ValueId end, ValueId kept, ValueId base,
                  const std::vector<std::vector<Accumulator>>& registers, bool masked) {
    const std::vector<Value>& reductions = plan_.reductions[static_cast<size_t>(l)];
    ValueId at = b_.begin_for(begin, end, group_);
    for (int q = 0; q < group_ / nest_.lanes(); ++q) {
      nest_.push();
      ValueId position = q == 0 ? at : c_.add(at, nest_.literal(int64_t{q} * nest_.lanes()));
      nest_.bind(lane_, position);
      ValueId mask = masked ? nest_.tail_mask(position, end) : -1;
      nest_.set_mask(mask);
      point(l, kept, mask);
      size_t row = 0;
      for (Value v : reductions) {
        each(v, [&] { accumulate(v, registers[row++][static_cast<size_t>(q)], base, position, mask); });
      }
      nest_.set_mask(-1);
      nest_.pop();
    }
    b_.end_for();
  }

  void accumulate(Value reduction, Accumulator registers, ValueId base, ValueId position, ValueId mask) {
    Reducer reduce = reducer(reduction);
    Accumulator element{nest_.vector(nest_.instr(reduction).args[0]), -1};
    if (reduce.has_index()) element.index = lane_positions(c_.add(base, position));
    Accumulator before = reduce.read(registers), after = reduce.combine(before, element);
    reduce.write(registers, mask < 0 ? after : reduce.select(mask, after, before));
  }

  ValueId lane_positions(ValueId position) {
    if (nest_.lanes() == 1) return position;
    return b_.let(Op::Ramp, {position, nest_.literal(1)},
                  ir::VType{DType::I64, static_cast<int16_t>(nest_.lanes())});
  }

  // A row's block values, `blocks_` of them from `base` on, reduced as one row of 64 lanes.
  Accumulator fold_partials(Value reduction, AccumulatorBuffers partial, ValueId base) {
    Reducer reduce = reducer(reduction);
    int lanes = nest_.lanes(), vectors = static_cast<int>(kReduceLanes) / lanes;
    std::vector<Accumulator> registers;
    for (int q = 0; q < vectors; ++q) registers.push_back(reduce.open(reduce.identity(lanes)));
    ValueId end = nest_.size(blocks_);
    ValueId at = b_.begin_for(nest_.literal(0), end, kReduceLanes);
    for (int q = 0; q < vectors; ++q) {
      ValueId position = c_.add(at, nest_.literal(int64_t{q} * lanes));
      ValueId mask = nest_.tail_mask(position, end), from = c_.add(base, position);
      const Accumulator element = reduce.load(partial, from, lanes, mask);
      Accumulator& a = registers[static_cast<size_t>(q)];
      Accumulator before = reduce.read(a);
      reduce.write(a, reduce.select(mask, reduce.combine(before, element), before));
    }
    b_.end_for();
    std::vector<Accumulator> parts;
    for (const Accumulator& a : registers) parts.push_back(reduce.read(a));
    return reduce.fold(std::move(parts));
  }

  void store_partials(int l, const std::vector<Accumulator>& blocks, const std::vector<AccumulatorBuffers>& partials, ValueId at) {
    size_t row = 0;
    for (Value v : plan_.reductions[static_cast<size_t>(l)]) {
      each(v, [&] {
        reducer(v).store(partials[row], at, blocks[row]);
        ++row;
      });
    }
  }

  std::vector<AccumulatorBuffers> partial_buffers(int l, ir::Space space, int64_t count) {
    std::vector<AccumulatorBuffers> result;
    for (Value v : plan_.reductions[static_cast<size_t>(l)]) {
      each(v, [&] {
        const std::string name = "part" + std::to_string(c_.out.tree.buffers.size());
        result.push_back(reducer(v).buffers(name, space, nest_.size_slot(count), 0));
      });
    }
    return result;
  }

  // Loop l of one row, in the row's own iteration.
  void reduce_row(int l) {
    const std::vector<Value>& reductions = plan_.reductions[static_cast<size_t>(l)];
    ValueId zero = nest_.literal(0);
    std::vector<Accumulator> results;
    if (blocks_ == 1) {
      results = reduce_block(l, block_range(zero), zero);
    } else {
      auto partials = partial_buffers(l, ir::Space::Local, blocks_);
      ValueId block = b_.begin_for(zero, nest_.size(blocks_), 1);
      store_partials(l, reduce_block(l, block_range(block), zero), partials, block);
      b_.end_for();
      for (Value v : reductions) {
        each(v, [&] { results.push_back(fold_partials(v, partials[results.size()], zero)); });
      }
    }
    size_t row = 0;
    for (Value v : reductions) {
      each(v, [&] { nest_.set(v, reducer(v).result(results[row++])); });
    }
  }

  // --- split

  // Row values known before loop l, as the phase needs them: those that depend on no reduction are computed
  // again, the others were left in memory by the fold phases.
  void recall_rows(int l, ValueId row) {
    emit_rows(0, false);
    for (auto& [v, buffer] : row_value_) {
      if (plan_.available[static_cast<size_t>(v)] <= l) nest_.set(v, b_.load(buffer, row, 1));
    }
  }

  std::vector<AccumulatorBuffers> loop_phase(int l, int64_t rows) {
    auto partials = partial_buffers(l, ir::Space::Global, rows * blocks_);
    double ns = c_.ns_per_element * static_cast<double>(kLaneBlock) + 20;
    ValueId t = c_.begin_phase("loop" + std::to_string(l), rows * blocks_, ns);
    auto [row, block] = c_.divide(t, nest_.size(blocks_));
    nest_.bind_linear(rows_, row);
    recall_rows(l, row);
    nest_.prepare(plan_.full[static_cast<size_t>(l)]);
    ValueId row_base = carry_.empty() ? nest_.literal(0) : c_.mul(row, nest_.size(count_ * length_));
    if (plan_.reductions[static_cast<size_t>(l)].empty()) {
      map_loop(l, block_range(block), row_base);
    } else {
      store_partials(l, reduce_block(l, block_range(block), row_base), partials, t);
    }
    c_.end_phase();
    return partials;
  }

  void fold_phase(int l, int64_t rows, const std::vector<AccumulatorBuffers>& partials) {
    const std::vector<Value>& reductions = plan_.reductions[static_cast<size_t>(l)];
    ValueId row = c_.begin_phase("fold" + std::to_string(l), rows, static_cast<double>(blocks_) * 0.5 + 50);
    nest_.bind_linear(rows_, row);
    recall_rows(l, row);
    if (l == 0) {
      for (Value v : plan_.rows[0]) {
        if (nest_.instr(v).op == Op::Store) nest_.emit(v);
      }
    }
    ValueId base = c_.mul(row, nest_.size(blocks_));
    for (size_t r = 0; r < reductions.size(); ++r) {
      nest_.set(reductions[r],
                reducer(reductions[r]).result(fold_partials(reductions[r], partials[r], base)));
    }
    emit_rows(l + 1, true);
    for (Value v : plan_.values_after(c_.kernel, l)) {
      int32_t buffer = global("row", nest_.instr(v).dtype, rows);
      row_value_.emplace_back(v, buffer);
      b_.store(buffer, row, nest_.get(v));
    }
    c_.end_phase();
  }

  Context& c_;
  Nest& nest_;
  ir::TreeBuilder& b_;
  const ReduceLoops& plan_;
  std::vector<int> rows_, outer_;
  int lane_;
  int64_t length_, count_;  // extents of the lane axis and of the outer inner axes
  int group_;               // virtual lanes in use
  int together_ = 1;        // rows side by side in the current scope
  int64_t blocks_along_, rows_per_block_, blocks_;
  std::map<Value, int32_t> carry_;  // value -> its buffer
  std::vector<std::pair<Value, int32_t>> row_value_;
  std::vector<Value> inner_;  // what varies along the lanes in the current loop
};

}  // namespace

bool splits_rows(const ir::Kernel& kernel) {
  return kernel.extent_of(AxisKind::Parallel) < 16 && kernel.extent_of(AxisKind::Inner) >= 16 * ir::kLaneBlock;
}

void lower_rows(Context& c) { Rows(c).lower_rows(); }
void lower_split(Context& c) { Rows(c).lower_split(); }

}  // namespace tenon::passes::cpu
