// Reductions along columns on a GPU: neighbouring threads take neighbouring columns, so that each step down
// reads a row; a column is walked in the order of ir/kernel.h's Columns tree, blocks of 256 elements one
// after another.
//
//   columns   a thread takes a column:
//               if column < s1 {
//                 total = 0
//                 for b in 0..s2 step 256 {
//                   acc = 0; for e in b..min(b + 256, s2) { acc += x[s3*e + column] }; total += acc }
//                 store y[column], total
//               }
//   split     few columns, long: a thread takes one block of a column and writes its value to global memory;
//             in a second phase a thread takes a column and adds the block values. One such pair for each
//             pass that reduces.
#include "passes/schedule/gpu/context.h"
#include "passes/schedule/staged.h"

namespace tenon::passes::gpu {

namespace {

constexpr int64_t kManyColumns = 1 << 14;  // that fill a GPU with a thread each
constexpr int64_t kSplitBlocks = 4;        // shorter columns are not worth a second launch

class Columns : Staged {
 public:
  explicit Columns(Context& c) : Staged(c, c.loops), c_(c), columns_(c.product(c.axes(AxisKind::Parallel))), elements_(c.product(c.axes(AxisKind::Inner))) {}

  void lower() {
    if (columns_ < kManyColumns && blocks_ >= kSplitBlocks) {
      c_.out.schedule = "split";
      return split_program();
    }
    each_column("columns", [&](ValueId) {
      for (int l = 0; l < plan_.loops; ++l) {
        emit_rows(l);
        const Registers totals = open(l);
        nest_.prepare(full(l));
        c_.loop(c_.literal(0), nest_.size(elements_), ir::kColumnBlock, [&](ValueId begin) {
          const Registers sums = block(l, begin);
          for (size_t r = 0; r < sums.size(); ++r) take(l, r, totals, c_.reducer(reductions(l)[r]).read(sums[r]));
        });
        finish(l, totals);
      }
      emit_rows(plan_.loops);
    });
  }

 private:
  using Registers = std::vector<Accumulator>;  // mutable registers of each reduction of a loop

  void each(Value, const std::function<void(int)>& f) override { f(0); }

  // A phase with a thread for each column: body(column).
  template <typename Body>
  void each_column(std::string name, const Body& body) {
    c_.each_item(std::move(name), columns_, [&](ValueId column) {
      nest_.bind_linear(c_.axes(AxisKind::Parallel), column);
      body(column);
    });
  }

  Registers open(int l) {
    Registers registers;
    for (Value v : reductions(l)) {
      Reducer reduce = c_.reducer(v);
      registers.push_back(reduce.open(reduce.identity()));
    }
    return registers;
  }

  void take(int l, size_t r, const Registers& registers, Accumulator next) {
    Reducer reduce = c_.reducer(reductions(l)[r]);
    reduce.write(registers[r], reduce.combine(reduce.read(registers[r]), next));
  }

  void finish(int l, const Registers& totals) {
    for (size_t r = 0; r < totals.size(); ++r) {
      Reducer reduce = c_.reducer(reductions(l)[r]);
      nest_.set(reductions(l)[r], reduce.result(reduce.read(totals[r])));
    }
  }

  // One block of a column, which begins at element `begin`, into fresh registers.
  Registers block(int l, ValueId begin) {
    const Registers sums = open(l);
    const ValueId end = c_.minimum(nest_.size(elements_), c_.add(begin, c_.literal(ir::kColumnBlock)));
    c_.loop(begin, end, 1, [&](ValueId position) {
      nest_.bind_linear(c_.axes(AxisKind::Inner), position);
      point(l, full(l), {});
      for (size_t r = 0; r < sums.size(); ++r) {
        const Value v = reductions(l)[r];
        Accumulator next{nest_.get(nest_.instr(v).args[0]), -1};
        if (c_.reducer(v).has_index()) next.index = nest_.position(position);
        take(l, r, sums, next);
      }
    });
    return sums;
  }

  void split_program() {
    for (int l = 0; l < plan_.loops; ++l) {
      std::vector<AccumulatorBuffers> partials;  // block values, by reduction
      for (Value v : reductions(l)) partials.push_back(c_.partials(v, Space::Global, columns_ * blocks_));
      split_blocks(l, partials);
      if (!partials.empty()) split_columns(l, partials);
    }
  }

  void split_blocks(int l, const std::vector<AccumulatorBuffers>& partials) {
    c_.each_item("blocks" + std::to_string(l), columns_ * blocks_, [&](ValueId item) {
      auto [number, column] = c_.divide(item, nest_.size(columns_));
      nest_.bind_linear(c_.axes(AxisKind::Parallel), column);
      recall(l, [column = column](int) { return column; });
      nest_.prepare(full(l));
      const Registers sums = block(l, c_.mul(number, c_.literal(ir::kColumnBlock)));
      for (size_t r = 0; r < sums.size(); ++r) {
        Reducer reduce = c_.reducer(reductions(l)[r]);
        reduce.store(partials[r], item, reduce.read(sums[r]));
      }
    });
  }

  void split_columns(int l, const std::vector<AccumulatorBuffers>& partials) {
    each_column("columns" + std::to_string(l), [&](ValueId column) {
      const auto place = [column](int) { return column; };
      recall(l, place);
      const Registers totals = open(l);
      c_.loop(c_.literal(0), nest_.size(blocks_), 1, [&](ValueId number) {
        const ValueId at = c_.add(c_.mul(number, nest_.size(columns_)), column);
        for (size_t r = 0; r < totals.size(); ++r) take(l, r, totals, c_.reducer(reductions(l)[r]).load(partials[r], at));
      });
      finish(l, totals);
      emit_values(l + 1);
      remember(l, place, columns_);
      stores_after(l, [&](int available) { emit_stores(available); });
    });
  }

  Context& c_;
  int64_t columns_, elements_;
  int64_t blocks_ = ceil_div(elements_, ir::kColumnBlock);
};

}  // namespace

void lower_columns(Context& c) {
  c.loops = plan_loops(c.kernel, [](Value) { return false; });
  Columns(c).lower();
}

}  // namespace tenon::passes::gpu
