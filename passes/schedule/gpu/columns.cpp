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

class Columns : ColumnStages {
 public:
  explicit Columns(Context& c) : ColumnStages(c, c.loops), c_(c), parallel_(c.axes(AxisKind::Parallel)), columns_(c.product(parallel_)) {}

  void lower() {
    if (columns_ >= kManyColumns || blocks_ < kSplitBlocks) {
      return each_column("columns", [&](ValueId) { all_loops(); });
    }
    c_.out.schedule = "split";
    for (int l = 0; l < plan_.loops; ++l) split(l);
  }

 private:
  void each(Value, const std::function<void(int)>& f) override { f(0); }

  // A phase with a thread for each column: body(column).
  template <typename Body>
  void each_column(std::string name, const Body& body) {
    c_.each_item(std::move(name), columns_, [&](ValueId column) {
      nest_.bind_linear(parallel_, column);
      body(column);
    });
  }

  void split(int l) {
    const std::vector<AccumulatorBuffers> partials = partial_buffers(l, columns_ * blocks_);
    c_.each_item("blocks" + std::to_string(l), columns_ * blocks_, [&](ValueId item) {
      auto [number, column] = c_.divide(item, nest_.size(columns_));
      nest_.bind_linear(parallel_, column);
      recall(l, [column = column](int) { return column; });
      const std::vector<Column> sums = open(l);
      const ValueId begin = block_begin(number);
      elements(l, begin, block_end(begin), 1, sums);
      for (const Column& sum : sums) {
        Reducer reduce = c_.reducer(sum.reduction);
        reduce.store(partials[sum.number], item, reduce.read(sum.registers));
      }
    });
    if (partials.empty()) return;
    each_column("columns" + std::to_string(l), [&](ValueId column) {
      const auto block_place = [&](ValueId number, int) { return c_.add(c_.mul(number, nest_.size(columns_)), column); };
      fold_blocks(l, partials, block_place, [column](int) { return column; }, columns_);
    });
  }

  Context& c_;
  std::vector<int> parallel_;
  int64_t columns_;
};

}  // namespace

void lower_columns(Context& c) {
  c.loops = plan_loops(c.kernel, [](Value) { return false; });
  Columns(c).lower();
}

}  // namespace tenon::passes::gpu
