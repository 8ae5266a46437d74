// The reductions and scans of a kernel, loop after loop, for schedules of all devices: what is the same wherever a loop runs and
// whichever threads take its elements. A schedule derives from Staged, RowStages (the Lanes tree) or ColumnStages, opens the loops or
// threads, and asks here for what stands in them.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <span>
#include <tuple>
#include <vector>

#include "ir/op/scan_order.h"
#include "passes/schedule/context.h"
#include "passes/schedule/loops.h"

namespace tenon::passes {

class Staged {
 protected:
  Staged(Context& context, const ReduceLoops& plan) : c_(context), nest_(context.nest), b_(context.builder), plan_(plan) {}
  virtual ~Staged() = default;

  // f(q) for each of several values side by side if v differs from one to the next, else once.
  virtual void each(Value v, const std::function<void(int q)>& f) = 0;

  const std::vector<Value>& full(int l) const { return plan_.full[l]; }
  const std::vector<Value>& reductions(int l) const { return plan_.reductions[l]; }

  // What is known of a row when so many loops are over: values not known yet, and stores.
  void emit_values(int available);
  void emit_stores(int available);
  void emit_rows(int available) {
    emit_values(available);
    emit_stores(available);
  }
  bool has_stores(int available) const;

  // The instructions of loop l for one element, or a vector of them: carried values in, `instrs`, carried values out.
  // `place` says where carried values lie.
  using Place = std::function<ValueId(int q)>;
  void point(int l, std::span<const Value> instrs, const Place& place);
  std::map<Value, int32_t> carry_;         // values that are carried -> their buffers
  void keep(Space space, int64_t count) {  // makes these, with `count` elements each
    for (Value v : plan_.carried) carry_[v] = c_.buffer("kept", nest_.instr(v).dtype, space, count);
  }
  // They have room for whole vectors, and no other values lie behind: no masks, for a processor that reads what it has just
  // written under a mask waits until it is in the cache.
  bool carries_whole_ = false;

  // Loops in phases of their own: what is known of a row goes to the phases that follow through memory. What depends on no
  // reduction is computed again.
  void recall(int l, const Place& place);                   // the row's values known before loop l
  void remember(int l, const Place& place, int64_t count);  // those that loop l made known, in buffers of `count`
  // The first phase that folds also stores what waits for no reduction.
  void emit_after(int l) {
    emit_values(l + 1);
    if (l == 0) emit_stores(0);
    emit_stores(l + 1);
  }

  Context& c_;
  Nest& nest_;
  ir::TreeBuilder& b_;
  const ReduceLoops& plan_;

 private:
  std::vector<std::pair<Value, int32_t>> remembered_;
};

// Reductions of the Columns tree: each sub-vector is a result of its own, and the inner axes are one loop in
// order. Blocks of ir::kColumnBlock elements are combined apart, in chains and a total, then one after
// another.
class ColumnStages : protected Staged {
 protected:
  ColumnStages(Context& context, const ReduceLoops& plan);

  // A reduction's registers for one sub-vector.
  struct Column {
    Value reduction;
    size_t number;  // among the loop's reductions
    int sub;
    Reducer reduce;
    Accumulator registers;
    Accumulator read() { return reduce.read(registers); }
    void take(Accumulator part) { reduce.take(registers, part); }
  };
  std::vector<Column> open(int l);         // the loop's reductions, each sub-vector at the identity
  std::vector<Column> open_totals(int l);  // the same, for what blocks come to
  // Whether it adds its elements in chains (ir/op/sum_order.h).
  bool in_chains(Value reduction) { return (any_count_ || count_ > ir::kShortReduce) && c_.reducer(reduction).keeps_rest(); }
  void give_results(std::vector<Column>& columns);

  // All loops with what stands between them, in one phase.
  void all_loops();
  // Loop l for a block, the elements begin .. end of a column; also for the same ones of the `together` - 1
  // blocks that follow, whose sub-vectors come after this one's.
  void block(int l, ValueId begin, ValueId end, int together, std::vector<Column>& columns);
  // Where the value of sub-vector q at this element is carried.
  virtual ValueId carried_place(ValueId element, int) { return element; }
  ValueId block_begin(ValueId block) { return c_.mul(block, c_.literal(ir::kColumnBlock)); }
  ValueId block_end(ValueId begin) { return c_.minimum(c_.add(begin, c_.literal(ir::kColumnBlock)), count()); }
  ValueId count() { return lengths_.numbers.empty() ? nest_.size(count_) : c_.length(lengths_, 0); }

  // Blocks in a phase of their own leave their values in memory, by reduction; in a second one they are combined in order.
  std::vector<AccumulatorBuffers> partial_buffers(int l, int64_t count);
  using BlockPlace = std::function<ValueId(ValueId block, int q)>;  // where the value of sub-vector q lies
  void fold_blocks(int l, const std::vector<AccumulatorBuffers>& partials, const BlockPlace& block_place, const Place& place,
                   int64_t count);

  // Whether the code suits columns of any number of elements: a short one is a single chain, and a block. Registers to spare are
  // the price.
  bool any_count_ = false;
  int64_t chains_ahead_ = 1;  // whose elements, if they take few instructions, stand side by side: a GPU's loads are under way together
  int vectors_ = 1;           // side by side in the current body
  bool is_rest_ = false;      // it is for the columns that are left over
  std::vector<int> inner_;
  int64_t count_, blocks_;  // elements and blocks of a column
  CodeLengths lengths_;     // of code that serves other counts: the first number is the count

 private:
  std::vector<Column> open(int l, bool totals);
  void elements(int l, ValueId begin, ValueId end, int together, std::vector<Column>& columns);
  // `first`: of a chain, which so needs no addition to nothing.
  void element(int l, ValueId at, int together, std::vector<Column>& columns, bool first = false);
  void each_chain(int l, ValueId begin, ValueId end, int together, std::vector<Column>& columns, const std::function<void()>& end_chain);
};

// The blocks of a row of `count` runs of `length` elements in the Lanes tree: pieces of one run, `along` of each, or groups of `rows`
// whole ones.
struct RowBlocks {
  int64_t along, rows, count;
};
RowBlocks row_blocks(int64_t count, int64_t length);

// Reductions of the Lanes tree: the innermost axis runs along the lanes, its blocks are those of ir/kernel/reduce_tree.h.
class RowStages : protected Staged {
 protected:
  RowStages(Context& context, const ReduceLoops& plan);

  struct Range {
    ValueId outer_begin, outer_end, begin, end;  // of the other inner axes, if there are any, and of the lanes
  };
  Range whole_row();
  Range block_range(ValueId block);  // the whole row if there is only one
  // body(base) for each point of the other inner axes in the range, in a scope of its own; `base` is the position of the
  // point's first element in the row. What does not vary along the lanes is computed there; inner_ is
  // the rest.
  void for_outer(int l, const Range& range, const std::function<void(ValueId base)>& body);
  ValueId at(ValueId base, ValueId position) { return base < 0 ? position : c_.add(base, position); }
  // Whether it adds the elements of a lane in chains (ir/op/sum_order.h).
  bool in_chains(Value reduction) { return (any_length_ || !one_chain_) && c_.reducer(reduction).keeps_rest(); }
  bool in_chains(const std::vector<Value>& reductions) {
    return std::ranges::any_of(reductions, [&](Value v) { return in_chains(v); });
  }
  // The emission of scalars of a point, and what is prepared for the loop over the lanes.
  virtual void prepare(const std::vector<Value>& values) { nest_.prepare(values); }

  std::vector<int> rows_, outer_;  // parallel axes; inner axes but the lanes'
  int lane_;
  int64_t length_, count_;  // extents of the lane axis and of the other inner axes
  int64_t blocks_along_, rows_per_block_, blocks_;
  bool one_chain_;           // a lane of a block
  bool any_length_ = false;  // blocks are pieces of one run of lanes, the code does not know how many
  std::vector<Value> inner_;
};

// Whether there are scans by runs, and lines of more than one run.
bool scans_by_runs(const ir::Kernel& kernel);

// The registers of a scan by runs (ir/op/scan_order.h), for a line of `length` elements that is walked from first to last, or `lanes`
// lines side by side.
class ScanLine {
 public:
  // `earlier`: what the blocks before that at a position come to; if it is missing, they are walked too.
  using Earlier = std::function<ValueId(ValueId at)>;
  ScanLine(Context& c, Value scan, int lanes, int64_t length, Earlier earlier = {});
  void begin_run(ValueId at);                // at a multiple of ir::kScanRun
  ValueId take(ValueId element);             // the result there
  void pass_run(ValueId total);              // past a whole run, to the next one of the same block
  void skip_run(ValueId total);              // past the elements of the run that was begun
  ValueId before() { return get(before_); }  // what comes before this run
  ValueId block();                           // what has been taken of this block

 private:
  void begin_block(ValueId at);
  void set_before();
  ValueId get(Accumulator registers) { return reduce_.read(registers).value; }
  void set(Accumulator registers, ValueId value) { reduce_.write(registers, {value}); }
  ValueId combine(ValueId a, ValueId b) { return reduce_.combine({a}, {b}).value; }
  void move_up(Accumulator part, Accumulator whole);

  Context& c_;
  Reducer reduce_;
  int64_t length_;
  Earlier earlier_;
  Accumulator identity_, elements_, runs_, blocks_, spans_;
  Accumulator earlier_blocks_, before_;
};

// A piece of a line, and what of it is computed.
struct LinePart {
  ValueId begin, end;
  std::function<Accumulator(Value scan)> start;  // the scan's registers, with what comes before the piece
  std::function<bool(Value)> takes;              // which instructions
};
// Scans in the order of their axis, which is bound here, for lines side by side; `each` as in Staged. `part`: of a line, null for
// all of it. Gives the registers of each scan and sub-vector.
using EachSub = std::function<void(Value v, const std::function<void(int q)>& f)>;
using ScanRegisters = std::map<std::pair<Value, int>, Accumulator>;
ScanRegisters walk_lines(Context& c, const EachSub& each, const LinePart* part = nullptr);

}  // namespace tenon::passes
