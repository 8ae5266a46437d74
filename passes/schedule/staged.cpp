// Values of rows and elements between the loops of a kernel with reductions; see staged.h.
#include "passes/schedule/staged.h"

#include <algorithm>

#include "ir/kernel/reduce_tree.h"

namespace tenon::passes {

void Staged::emit_values(int available) {
  for (Value v : plan_.rows[available]) {
    if (nest_.instr(v).op != Op::Store && !nest_.known(v)) each(v, [&](int) { nest_.emit(v); });
  }
}

void Staged::emit_stores(int available) {
  for (Value v : plan_.rows[available]) {
    if (nest_.instr(v).op == Op::Store) each(v, [&](int) { nest_.emit(v); });
  }
}

bool Staged::has_stores(int available) const {
  const std::vector<Value>& rows = plan_.rows[available];
  return std::ranges::any_of(rows, [&](Value v) { return nest_.instr(v).op == Op::Store; });
}

void Staged::point(int l, std::span<const Value> instrs, const Place& place) {
  const auto mask = [&](Value v) { return nest_.varies(v) && !carries_whole_ ? nest_.mask() : kAlways; };
  for (Value v : plan_.carried_in[l]) {
    const auto carried = carry_.find(v);
    if (carried == carry_.end()) continue;  // known all along
    each(v, [&](int q) { nest_.set(v, b_.load(carried->second, place(q), nest_.lanes(v), mask(v))); });
  }
  for (Value v : instrs) each(v, [&](int) { nest_.emit(v); });
  for (Value v : full(l)) {
    if (const auto it = carry_.find(v); it != carry_.end()) {
      each(v, [&](int q) { b_.store(it->second, place(q), nest_.get(v), mask(v)); });
    }
  }
}

void Staged::recall(int l, const Place& place) {
  emit_values(0);
  for (const auto& [v, buffer] : remembered_) {
    if (plan_.available[v] > l) continue;
    each(v, [&](int q) { nest_.set(v, b_.load(buffer, place(q), nest_.lanes(v))); });
  }
}

// A phase's body may stand more than once, for whole tiles and for what is left over.
void Staged::remember(int l, const Place& place, int64_t count) {
  for (Value v : plan_.values_after(c_.kernel, l)) {
    auto it = std::ranges::find_if(remembered_, [&](const auto& known) { return known.first == v; });
    if (it == remembered_.end()) {
      it = remembered_.emplace(it, v, c_.buffer("row", nest_.instr(v).dtype, Space::Global, count));
    }
    each(v, [&](int q) { b_.store(it->second, place(q), nest_.get(v)); });
  }
}

// --- columns

namespace {
constexpr size_t kUnrolled = 3;  // instructions of a body that stands once for each element of a chain
}

ColumnStages::ColumnStages(Context& context, const ReduceLoops& plan)
    : Staged(context, plan), inner_(c_.axes(AxisKind::Inner)), count_(c_.product(inner_)), blocks_(ceil_div(count_, ir::kColumnBlock)) {}

std::vector<ColumnStages::Column> ColumnStages::open(int l, bool totals) {
  std::vector<Column> columns;
  for (size_t r = 0; r < reductions(l).size(); ++r) {
    const Value v = reductions(l)[r];
    Reducer reduce = totals ? c_.reducer(v).total() : c_.reducer(v);
    each(v, [&](int q) { columns.push_back({v, r, q, reduce, reduce.open(reduce.identity(nest_.lanes(v)))}); });
  }
  return columns;
}
std::vector<ColumnStages::Column> ColumnStages::open(int l) { return open(l, false); }
std::vector<ColumnStages::Column> ColumnStages::open_totals(int l) { return open(l, true); }

void ColumnStages::give_results(std::vector<Column>& columns) {
  for (Column& column : columns) {
    nest_.set_sub(column.sub);
    nest_.set(column.reduction, column.reduce.result(column.read()));
  }
  nest_.set_sub(0);
}

void ColumnStages::all_loops() {
  for (int l = 0; l < plan_.loops; ++l) {
    emit_rows(l);
    const bool one_block = (blocks_ == 1 && !any_count_) || reductions(l).empty();
    std::vector<Column> totals = one_block ? open(l) : open_totals(l);
    const ValueId begin = c_.literal(0), end = count();
    if (one_block) {
      block(l, begin, end, 1, totals);
    } else {
      c_.loop(begin, end, ir::kColumnBlock, [&](ValueId first) {
        std::vector<Column> sums = open(l);
        block(l, first, block_end(first), 1, sums);
        for (size_t i = 0; i < sums.size(); ++i) totals[i].take(sums[i].read());
      });
    }
    give_results(totals);
  }
  emit_rows(plan_.loops);
}

// The columns' registers take a chain at a time, and what the block comes to in the end.
void ColumnStages::block(int l, ValueId begin, ValueId end, int together, std::vector<Column>& columns) {
  for (Value v : full(l)) each(v, [&](int) { nest_.prepare({&v, 1}); });
  std::vector<std::pair<size_t, Column>> totals;
  for (size_t i = 0; i < columns.size(); ++i) {
    const Column& column = columns[i];
    if (!in_chains(column.reduction)) continue;
    Reducer total = column.reduce.total();
    const Accumulator start = total.open(total.identity(nest_.lanes(column.reduction)));
    totals.push_back({i, {column.reduction, column.number, column.sub, total, start}});
  }
  if (totals.empty()) return elements(l, begin, end, together, columns);
  const auto end_chain = [&] {
    for (auto& [i, total] : totals) {
      total.take(columns[i].read());
      columns[i].reduce.write(columns[i].registers, columns[i].reduce.identity(nest_.lanes(total.reduction)));
    }
  };
  each_chain(l, begin, end, together, columns, end_chain);
  for (auto& [i, total] : totals) columns[i].reduce.write(columns[i].registers, total.reduce.whole(total.read()));
}

// A few instructions stand once for each element of a chain; what is left over is one more chain.
void ColumnStages::each_chain(int l, ValueId begin, ValueId end, int together, std::vector<Column>& columns,
                              const std::function<void()>& end_chain) {
  const bool is_short = count_ <= ir::kShortReduce;
  if (full(l).size() <= kUnrolled && (nest_.lanes() > 1 || chains_ahead_ > 1) && !is_rest_) {
    const int64_t elements_ahead = ir::kReduceChain * chains_ahead_;
    const bool has_rest = chains_ahead_ == 1 || count_ % elements_ahead != 0;
    const ValueId whole = any_count_ ? nest_.size(is_short ? 0 : -elements_ahead) : c_.literal(-elements_ahead);
    const ValueId rest = has_rest ? c_.add(begin, b_.op(Op::And, {c_.sub(end, begin), whole})) : end;
    c_.loop(begin, rest, elements_ahead, [&](ValueId first) {
      for (int64_t j = 0; j < elements_ahead; ++j) {
        c_.in_scope([&] { element(l, c_.offset(first, j), together, columns, j % ir::kReduceChain == 0); });
        if (j % ir::kReduceChain == ir::kReduceChain - 1) end_chain();
      }
    });
    if (!has_rest) return;
    if (chains_ahead_ > 1) {
      return c_.loop(rest, end, ir::kReduceChain, [&](ValueId first) {
        elements(l, first, c_.piece_end(first, c_.literal(ir::kReduceChain), end), together, columns);
        end_chain();
      });
    }
    return nest_.when(c_.less(rest, end), [&] {
      elements(l, rest, end, together, columns);
      end_chain();
    });
  }
  const auto chain = [&](ValueId first, ValueId length) {
    elements(l, first, c_.piece_end(first, length, end), together, columns);
    end_chain();
  };
  if (!any_count_) return c_.loop(begin, end, ir::kReduceChain, [&](ValueId first) { chain(first, c_.literal(ir::kReduceChain)); });
  const ValueId length = nest_.size(is_short ? ir::kShortReduce : ir::kReduceChain), last = c_.sub(length, c_.literal(1));
  c_.loop(c_.literal(0), b_.quotient(c_.add(c_.sub(end, begin), last), length), 1,
          [&](ValueId number) { chain(c_.add(begin, c_.mul(number, length)), length); });
}

void ColumnStages::elements(int l, ValueId begin, ValueId end, int together, std::vector<Column>& columns) {
  c_.loop(begin, end, 1, [&](ValueId at) { element(l, at, together, columns); });
}

void ColumnStages::element(int l, ValueId at, int together, std::vector<Column>& columns, bool first) {
  std::vector<ValueId> position;  // by block
  for (int block = 0; block < together; ++block) {
    position.push_back(c_.offset(at, block * ir::kColumnBlock));
    for (int q = 0; q < vectors_; ++q) {
      nest_.set_sub(block * vectors_ + q);
      nest_.bind_linear(inner_, position.back());
    }
  }
  point(l, full(l), [&](int q) { return carried_place(position[q / vectors_], q % vectors_); });
  for (Column& column : columns) {
    nest_.set_sub(column.sub);
    const Value v = column.reduction, operand = nest_.instr(v).args[0];
    Accumulator next{nest_.varies(v) ? nest_.vector(operand) : nest_.get(operand)};
    if (c_.reducer(v).has_index()) next.beside = b_.splat(nest_.position(position[column.sub / vectors_]), nest_.lanes(v));
    first&& in_chains(v) ? column.reduce.write(column.registers, next) : column.take(next);
  }
  nest_.set_sub(0);
}

std::vector<AccumulatorBuffers> ColumnStages::partial_buffers(int l, int64_t count) {
  std::vector<AccumulatorBuffers> partials;
  for (Value v : reductions(l)) partials.push_back(c_.partials(v, Space::Global, count));
  return partials;
}

void ColumnStages::fold_blocks(int l, const std::vector<AccumulatorBuffers>& partials, const BlockPlace& block_place, const Place& place,
                               int64_t count) {
  recall(l, place);
  std::vector<Column> totals = open_totals(l);
  c_.loop(c_.literal(0), nest_.size(blocks_), 1, [&](ValueId block) {
    std::map<int, ValueId> places;
    for (Column& column : totals) {
      const auto [at, fresh] = places.try_emplace(column.sub, kNone);
      if (fresh) at->second = block_place(block, column.sub);
      column.take(c_.reducer(column.reduction).load(partials[column.number], at->second, nest_.lanes(column.reduction)));
    }
  });
  give_results(totals);
  emit_after(l);
  remember(l, place, count);
}

// --- rows

RowBlocks row_blocks(int64_t count, int64_t length) {
  const int64_t rows = ir::lane_block(ir::kLaneBlock, length).rows;
  if (length < ir::kLaneBlock) return {1, rows, ceil_div(count, rows)};
  const int64_t along = ceil_div(length, ir::kLaneBlock);
  return {along, rows, count * along};
}

RowStages::RowStages(Context& context, const ReduceLoops& plan) : Staged(context, plan) {
  rows_ = c_.axes(AxisKind::Parallel);
  outer_ = c_.axes(AxisKind::Inner);
  lane_ = outer_.back();
  outer_.pop_back();
  length_ = c_.extent(lane_);
  count_ = c_.product(outer_);
  const RowBlocks blocks = row_blocks(count_, length_);
  blocks_along_ = blocks.along;
  rows_per_block_ = blocks.rows;
  blocks_ = blocks.count;
  one_chain_ = ir::lane_block(count_, length_).steps() <= ir::kShortReduce;
}

RowStages::Range RowStages::whole_row() {
  const bool outer = !outer_.empty();
  return {outer ? c_.literal(0) : kNone, outer ? nest_.size(count_) : kNone, c_.literal(0), nest_.extent(lane_)};
}

RowStages::Range RowStages::block_range(ValueId block) {
  if (blocks_ <= 1 && !any_length_) return whole_row();
  // One form for pieces of a run of lanes (of one point of the other axes) and for groups of whole runs.
  ValueId outer = kNone, outer_end = kNone;
  if (!outer_.empty()) {
    std::tie(outer, block) = c_.divide(block, nest_.size(blocks_along_));
    const ValueId step = nest_.size(rows_per_block_);
    outer = c_.mul(outer, step);
    outer_end = c_.minimum(c_.add(outer, step), nest_.size(count_));
  }
  const ValueId length = c_.literal(ir::kLaneBlock), begin = c_.mul(block, length);
  return {outer, outer_end, begin, c_.minimum(c_.add(begin, length), nest_.extent(lane_))};
}

void RowStages::for_outer(int l, const Range& range, const std::function<void(ValueId base)>& body) {
  const auto one = [&](ValueId base) {
    inner_.clear();
    // What is computed from a value that is read back stays with it, though it may not vary.
    std::vector<bool> late(c_.kernel.instrs.size(), false);
    for (Value v : plan_.carried_in[l]) late[v] = true;
    for (Value v : full(l)) {
      const Instr& in = nest_.instr(v);
      late[v] = std::ranges::any_of(in.args, [&](Value a) { return late[a]; });
      if (nest_.varies(v) || nest_.lanes() == 1 || late[v]) {
        inner_.push_back(v);
      } else {
        each(v, [&](int) { nest_.emit(v); });
      }
    }
    prepare(inner_);
    body(base);
  };
  if (outer_.empty()) return c_.in_scope([&] { one(kZero); });
  c_.loop(range.outer_begin, range.outer_end, 1, [&](ValueId outer) {
    nest_.bind_linear(outer_, outer);
    one(c_.mul(outer, nest_.extent(lane_)));
  });
}

// --- scans

ScanLine::ScanLine(Context& c, Value scan, int lanes, int64_t length, Earlier earlier)
    : c_(c), reduce_(c.reducer(scan)), length_(length), earlier_(std::move(earlier)), identity_(reduce_.identity(lanes)) {
  for (Accumulator* registers : {&elements_, &runs_, &before_}) *registers = reduce_.open(identity_);
  if (length_ > ir::kScanBlock) earlier_blocks_ = reduce_.open(identity_);
  if (length_ > ir::kScanBlock && !earlier_) blocks_ = reduce_.open(identity_);
  if (length_ > ir::kScanSpan && !earlier_) spans_ = reduce_.open(identity_);
}

void ScanLine::move_up(Accumulator part, Accumulator whole) {
  reduce_.take(whole, reduce_.read(part));
  reduce_.write(part, identity_);
}

void ScanLine::begin_run(ValueId at) {
  move_up(elements_, runs_);
  if (length_ > ir::kScanBlock) {
    const ValueId in_block = c_.divide(at, c_.literal(ir::kScanBlock)).second;
    c_.nest.when(c_.builder.op(Op::Eq, {in_block, c_.literal(0)}), [&] { begin_block(at); });
  }
  set_before();
}

void ScanLine::pass_run(ValueId total) {
  reduce_.take(runs_, {total});
  set_before();
}

void ScanLine::skip_run(ValueId total) { set(elements_, total); }

void ScanLine::set_before() { set(before_, length_ > ir::kScanBlock ? combine(get(earlier_blocks_), get(runs_)) : get(runs_)); }

void ScanLine::begin_block(ValueId at) {
  if (earlier_) {
    reduce_.write(runs_, identity_);
    return set(earlier_blocks_, earlier_(at));
  }
  move_up(runs_, blocks_);
  if (length_ <= ir::kScanSpan) return set(earlier_blocks_, get(blocks_));
  const ValueId in_span = c_.divide(at, c_.literal(ir::kScanSpan)).second;
  c_.nest.when(c_.builder.op(Op::Eq, {in_span, c_.literal(0)}), [&] { move_up(blocks_, spans_); });
  set(earlier_blocks_, combine(get(spans_), get(blocks_)));
}

ValueId ScanLine::take(ValueId element) {
  const ValueId sum = reduce_.take(elements_, {element}).value;
  return combine(get(before_), sum);
}

ValueId ScanLine::block() { return combine(get(runs_), get(elements_)); }

bool scans_by_runs(const ir::Kernel& kernel) {
  const std::vector<int> serial = ir::axes_of(kernel, AxisKind::Serial);
  return kernel.extent(serial.front()) > ir::kScanRun &&
         std::ranges::any_of(kernel.instrs, [](const Instr& i) { return ir::scan_by_runs(i.op, i.dtype); });
}

ScanRegisters walk_lines(Context& c, const EachSub& each, const LinePart* part) {
  Nest& nest = c.nest;
  const int serial = c.axes(AxisKind::Serial).front();
  const bool by_runs = scans_by_runs(c.kernel);
  std::vector<Value> full;
  ScanRegisters registers;
  std::map<std::pair<Value, int>, ScanLine> lines;  // of those by runs
  for (Value v = 0; v < static_cast<Value>(c.kernel.instrs.size()); ++v) {
    const Instr& in = nest.instr(v);
    if (in.op == Op::Const || in.op == Op::Scalar || (part && !part->takes(v))) continue;
    if (in.level == Level::Row) {
      each(v, [&](int) { nest.emit(v); });
      continue;
    }
    full.push_back(v);
    each(v, [&](int q) {
      if (by_runs && ir::scan_by_runs(in.op, in.dtype)) {
        lines.try_emplace({v, q}, c, v, nest.lanes(v), c.extent(serial));
      } else if (ir::is_scan(in.op)) {
        registers[{v, q}] = part ? part->start(v) : c.reducer(v).open(c.reducer(v).identity(nest.lanes(v)));
      }
      nest.prepare({&v, 1});
    });
  }
  const auto element = [&](ValueId at) {
    nest.bind(serial, at);
    for (Value v : full) {
      each(v, [&](int q) {
        if (!ir::is_scan(nest.instr(v).op)) return nest.emit(v);
        const Value operand = nest.instr(v).args[0];
        const ValueId x = nest.varies(v) ? nest.vector(operand) : nest.get(operand);
        const auto line = lines.find({v, q});
        nest.set(v, line == lines.end() ? c.reducer(v).take(registers.at({v, q}), {x}).value : line->second.take(x));
      });
    }
  };
  const ValueId begin = part ? part->begin : c.literal(0), end = part ? part->end : nest.extent(serial);
  if (!by_runs) {
    c.loop(begin, end, 1, element);
    return registers;
  }
  c.loop(begin, end, ir::kScanRun, [&](ValueId run) {
    for (auto& [scan, line] : lines) line.begin_run(run);
    c.loop(run, c.minimum(c.add(run, c.literal(ir::kScanRun)), end), 1, element);
  });
  return registers;
}

}  // namespace tenon::passes
